//! The result of a tool call that a sub-agent made: it is in the sub-agent's transcript, while the session waits for it.

use super::reading::Extent;
use super::recorder::Recorder;
use super::state::LiveSession;
use crate::agent;
use crate::error::Result;
use crate::transcript::SessionKey;

impl Recorder<'_> {
    /// Extends a sub-agent's record of a commit through the awaited result, if a sub-agent's transcript has it. Then the
    /// session waits no longer.
    ///
    /// # Errors
    ///
    /// If a transcript cannot be read.
    pub(super) fn extend_record_of_sub_agent(&mut self, live: &mut LiveSession) -> Result<()> {
        let Some(awaited) = live.awaited_result.clone() else { return Ok(()) };
        let Some(commit_id) = self.repo.parse_id(&awaited.commit) else { return Ok(()) };
        let agent = agent::named(&live.agent)?;
        for found in agent.sub_agents(&live.transcript) {
            let key = SessionKey::new(&live.agent, &found.session_id);
            let progress = live.sub_agents.entry(found.session_id).or_default();
            let increment = self.unrecorded_in(key, agent, &found.transcript, Extent::Complete, progress)?;
            let Some(mut increment) = increment else { continue };
            let Some(result) = increment.survey.result_of(&awaited) else { continue };
            let until = result.end.max(increment.reading.kept());
            let amended = self.amended_since(commit_id, &increment.key, increment.since.segment.as_deref());
            increment.commit_ids.push(commit_id);
            increment.commit_ids.extend(amended);
            if !agent.is_rendered(&found.transcript) {
                increment.end_at(until)?;
            }
            self.record_increment(&mut increment, progress);
            live.awaited_result = None;
            return Ok(());
        }
        Ok(())
    }
}
