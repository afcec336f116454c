//! Words that a session's first commit must not get: what it repeats of the session that it was forked from, and what led
//! to commits that were made before its transcript was written.

use super::commit::kind_of_move;
use super::reading::Extent;
use super::recorder::Recorder;
use super::state::{AwaitedResult, LiveSession, Patience};
use crate::agent::Agent;
use crate::error::Result;
use crate::notes;

/// How many moves of HEAD are looked at for commits that a session made before its transcript was written.
const MAX_MOVES: usize = 50;

impl Recorder<'_> {
    /// Archives what a session repeats of the one that it was forked from. It counts as recorded: the commits of that session
    /// have it.
    ///
    /// # Errors
    ///
    /// If the transcript cannot be read, or not be stored.
    pub(super) fn archive_repeated(&mut self, live: &mut LiveSession, agent: &'static dyn Agent) -> Result<()> {
        let key = live.key();
        self.recover_progress(&key, &mut live.progress);
        if live.progress.stored.segment.is_some() || self.must_wait(&key) {
            return Ok(());
        }
        let Some(until) = agent.repeated_bytes(&live.transcript, self.deadline) else { return Ok(()) };
        let extent = Extent::Until(until);
        if let Some(mut increment) = self.unrecorded_in(key, agent, &live.transcript, extent, &mut live.progress)? {
            self.try_record(&mut increment, &mut live.progress)?;
            live.progress.recorded = live.progress.stored.clone();
        }
        Ok(())
    }

    /// Records a session on the commits before HEAD that it made before its transcript was written, as some agents do after
    /// their answer: on those without a note whose ids Git told it.
    ///
    /// # Errors
    ///
    /// If the transcript, the reflog's commits or the notes cannot be read.
    pub(super) fn record_late(&mut self, live: &mut LiveSession) -> Result<()> {
        if live.progress.stored.segment.is_some() || live.awaited_result.is_some() || self.must_wait(&live.key()) {
            return Ok(());
        }
        let Some(increment) = self.unrecorded(live, None)? else { return Ok(()) };
        let mut moves = self.repo.head_reflog(MAX_MOVES);
        moves.reverse();
        let last = self.repo.head()?.commit_id;
        for entry in moves.iter().filter(|entry| Some(entry.new_id) != last && kind_of_move(entry).is_some()) {
            let commit_id = entry.new_id.to_string();
            let is_told = increment.survey.results.iter().any(|result| result.tells_of_making(&commit_id));
            // What a session read of older commits may look like what Git prints of a new one.
            let begun = increment.survey.tally.first_time;
            let is_older =
                |begun: i64| self.repo.commit(entry.new_id).is_ok_and(|made| made.committer.time.seconds < begun);
            let is_told = is_told && !begun.is_some_and(is_older);
            if is_told && notes::get(self.repo, &self.notes_ref, entry.new_id)?.is_none() {
                live.awaited_result = Some(AwaitedResult { commit: commit_id, call: None });
                self.extend_awaited_record(live, Patience::Turn, true, None)?;
                live.awaited_result = None;
            }
        }
        Ok(())
    }
}
