//! The result of the tool call that made a commit: the agent writes it after the commit was recorded, into the transcript of the
//! session or of the sub-agent that made the call.

use super::aside::Increment;
use super::reading::Extent;
use super::recorder::Recorder;
use super::state::{LiveSession, Patience};
use crate::agent;
use crate::error::Result;
use crate::git::ObjectId;
use crate::notes;
use crate::record::Note;
use crate::transcript::SessionKey;

impl<'r> Recorder<'r> {
    /// Extends the record that waits for a tool result, if the transcript has that result now. Then returns the
    /// words of the session since then, as [`Recorder::unrecorded`] does, with the same `limit`.
    ///
    /// `patience` says whether the result can still be written. If no result names the call or the commit, the first one
    /// counts as soon as it cannot.
    ///
    /// `has_next_commit` says that a further commit was made, which gets the words behind the result.
    ///
    /// # Errors
    ///
    /// If the transcript cannot be read.
    pub(super) fn extend_awaited_record(
        &mut self,
        live: &mut LiveSession,
        patience: Patience,
        has_next_commit: bool,
        limit: Option<u64>,
    ) -> Result<Option<Increment<'r>>> {
        if live.awaited_result.as_ref().is_some_and(|awaited| awaited.is_of_sub_agent) {
            self.extend_record_of_sub_agent(live)?;
        }
        let increment = self.unrecorded(live, limit)?;
        let Some(awaited) = live.awaited_result.clone() else { return Ok(increment) };
        // An agent may write nothing before its commit: then all that led to it stands before the result.
        let commit_id = self.repo.parse_id(&awaited.commit);
        let has_record = match commit_id {
            Some(commit_id) => self.has_record(commit_id, &live.key())?,
            None => false,
        };
        // Once there is a further prompt, the result is written or never will be, and the first one is another call's.
        let has_prompt = increment.as_ref().is_some_and(|increment| increment.survey.tally.turns > 0);
        let is_next_turn = has_prompt && has_record;
        let may_guess = patience != Patience::Turn && !is_next_turn && !awaited.is_of_sub_agent && !awaited.is_unsure;
        let guess = || {
            let increment = increment.as_ref().filter(|_| may_guess)?;
            match has_record {
                true => increment.survey.results.first().map(|result| result.end),
                false => Some(increment.until).filter(|_| !has_next_commit),
            }
        };
        let survey = increment.as_ref().map(|increment| &increment.survey).filter(|_| !awaited.is_of_sub_agent);
        let wanted = survey.and_then(|survey| survey.result_of(&awaited)).map(|result| result.end);
        let until = wanted.or_else(guess);
        // What was there when the session ended may lack the end.
        let is_all = wanted.is_some() || has_record;
        if until.is_some() && is_all || is_next_turn || patience == Patience::Over {
            live.awaited_result = None;
        }
        if until.is_some() && is_all {
            live.answered_commit = Some(awaited.commit.clone());
        }
        let (Some(until), Some(commit_id)) = (until, commit_id) else { return Ok(increment) };
        let Some(mut increment) = increment else { return Ok(None) };
        // Archived text is not split again, so all of it goes with this commit. A rendered transcript is kept whole if
        // possible, because its last line is about the whole document.
        let is_whole = !has_next_commit && agent::named(&live.agent)?.is_rendered(&live.transcript);
        let until = if is_whole { increment.until } else { until.max(increment.reading.kept()) };
        increment.commit_ids.push(commit_id);
        increment.commit_ids.extend(self.amended_since(commit_id, &increment.key, increment.since.segment.as_deref()));
        increment.end_at(until)?;
        // The increment begins where the existing record ends, so the two records are joined.
        self.record_increment(&mut increment, &mut live.progress);
        self.unrecorded(live, limit)
    }

    /// Says whether a commit has a record of a session.
    ///
    /// # Errors
    ///
    /// If the notes cannot be read.
    pub(super) fn has_record(&self, commit_id: ObjectId, key: &SessionKey) -> Result<bool> {
        let note = notes::get(self.repo, &self.notes_ref, commit_id)?;
        Ok(note.is_some_and(|note| Note::parse_lines(&note).records().any(|record| record.key() == *key)))
    }

    /// Returns HEAD if `commit_id` was amended to it: a different commit whose note has a record of this session that
    /// ends with the same segment.
    pub(super) fn amended_since(
        &self,
        commit_id: ObjectId,
        key: &SessionKey,
        through: Option<&str>,
    ) -> Option<ObjectId> {
        let head = self.repo.head().ok()?.commit_id.filter(|head| *head != commit_id)?;
        let note = notes::get(self.repo, &self.notes_ref, head).ok()??;
        let has_it =
            Note::parse(&note).records().any(|record| record.key() == *key && Some(&*record.through) == through);
        has_it.then_some(head)
    }

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
            live.answered_commit = Some(awaited.commit);
            return Ok(());
        }
        Ok(())
    }
}
