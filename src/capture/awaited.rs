//! The result of the tool call that made a commit: which result it is, and how long a session waits for it.

use super::reading::{Extent, ResultLine};
use super::recorder::Recorder;
use super::state::{AwaitedResult, LiveSession};
use crate::agent;
use crate::error::Result;
use crate::transcript::SessionKey;

/// Whether an awaited result can still be written. An agent may write it after the hooks for its tool and its turn have run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Patience {
    /// The result can still be written.
    Turn,
    /// The session has ended: if its transcript has results, the awaited one is among them; otherwise the agent has not
    /// written them yet.
    Session,
    /// The result is written by now, or never will be.
    Over,
}

impl AwaitedResult {
    /// Returns the awaited result among those of a transcript: the one of the call, or else one that names the commit. Some
    /// agents give a call one id in hooks and another in the transcript.
    pub(super) fn find_in<'a>(&self, results: &'a [ResultLine]) -> Option<&'a ResultLine> {
        let short_id = self.commit.get(..7).unwrap_or(&self.commit);
        let is_of_call = |result: &&ResultLine| self.call.as_deref() == Some(&*result.call_id);
        results.iter().find(is_of_call).or_else(|| results.iter().find(|result| result.text.contains(short_id)))
    }
}

impl Recorder<'_> {
    /// Extends a sub-agent's record of a commit through the awaited result, if a sub-agent's transcript has it. Says
    /// whether one has.
    ///
    /// # Errors
    ///
    /// If a transcript cannot be read.
    pub(super) fn extend_record_of_sub_agent(
        &mut self,
        live: &mut LiveSession,
        awaited: &AwaitedResult,
    ) -> Result<bool> {
        let Some(commit_id) = self.repo.parse_id(&awaited.commit) else { return Ok(false) };
        let agent = agent::named(&live.agent)?;
        for found in agent.sub_agents(&live.transcript) {
            let key = SessionKey::new(&live.agent, &found.session_id);
            let progress = live.sub_agents.entry(found.session_id).or_default();
            let increment = self.unrecorded_in(key, agent, &found.transcript, Extent::Complete, progress)?;
            let Some(mut increment) = increment else { continue };
            let Some(result) = awaited.find_in(&increment.survey.results) else { continue };
            let until = result.end.max(increment.reading.kept());
            let amended = self.amended_since(commit_id, &increment.key, increment.since.segment.as_deref());
            increment.commit_ids.push(commit_id);
            increment.commit_ids.extend(amended);
            if increment.until > until && !agent.is_rendered(&found.transcript) {
                let from = increment.reading.position(&increment.since)?;
                increment.survey = increment.reading.survey(from, until)?;
                increment.until = until;
            }
            self.record_increment(&mut increment, progress);
            return Ok(true);
        }
        Ok(false)
    }
}
