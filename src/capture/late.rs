//! Text that the first commit of a session must not get: the part copied from the session it was forked from, and the part
//! that belongs to commits made before the transcript was written.

use super::availability::{Availability, availability};
use super::commit::kind_of_move;
use super::reading::Extent;
use super::recorder::Recorder;
use super::sessions::save_changed;
use super::state::{LiveSession, Patience, State};
use crate::agent::{self, Agent};
use crate::error::Result;
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::notes;

/// How many moves of HEAD are looked at for commits that a session made before its transcript was written.
const MAX_MOVES: usize = 50;

/// How long a commit waits for a result that may be another process's, by its own time.
const UNSURE_SECS: i64 = 60 * 60;

/// Says whether the last commit of a session waits for words, and no hook will tell that the agent has written them.
pub fn awaits_words(state: &State) -> bool {
    state.sessions().iter().any(is_awaiting)
}

fn is_awaiting(live: &LiveSession) -> bool {
    let is_gone = || live.process.is_some_and(|process| !process.is_alive());
    let is_there =
        || agent::find(&live.agent).is_some_and(|agent| availability(agent, &live.transcript) == Availability::Present);
    live.awaited_result.is_some() && (live.is_over || !live.is_told_by_hooks() || is_gone()) && is_there()
}

impl Recorder<'_> {
    /// Records what sessions have written about their last commits after their last hooks, or without any hook.
    ///
    /// # Errors
    ///
    /// If our own state cannot be written.
    pub(super) fn record_after_the_end(&mut self) -> Result<()> {
        let mut sessions = self.state.sessions();
        let before = sessions.clone();
        for live in sessions.iter_mut().filter(|live| is_awaiting(live)) {
            if self.must_wait(&live.key()) {
                continue;
            }
            // A process that has ended proves nothing: it may have been a shell of the agent's.
            let patience = if live.is_over { Patience::Session } else { Patience::Turn };
            let extended = self.extend_awaited_record(live, patience, false, None);
            let extended = extended.and_then(|_| self.extend_record_of_sub_agent(live));
            if live.awaited_result.as_ref().is_some_and(|awaited| awaited.is_unsure && self.is_old(&awaited.commit)) {
                live.awaited_result = None;
            }
            let archived = extended.and_then(|()| if live.is_over { self.archive_session(live) } else { Ok(()) });
            if let Err(error) = archived {
                self.state.log(&format!("warning: {}: {error}", live.key()));
            }
        }
        save_changed(self, &before, &sessions)
    }

    /// Says whether a commit is too old to wait for a result that may never come.
    fn is_old(&self, commit: &str) -> bool {
        let commit = self.repo.parse_id(commit).and_then(|commit_id| self.repo.commit(commit_id).ok());
        commit.is_none_or(|commit| commit.committer.time.seconds < Time::now().seconds - UNSURE_SECS)
    }

    /// Archives the part of a session that is copied from the session it was forked from. This part counts as recorded: the
    /// commits of that session have it.
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
    /// their answer. These are the commits without a note whose ids are in results of Git commands.
    ///
    /// # Errors
    ///
    /// If the transcript, the reflog's commits or the notes cannot be read.
    pub(super) fn record_late(&mut self, live: &mut LiveSession) -> Result<()> {
        if live.progress.stored.segment.is_some() || live.awaited_result.is_some() || self.must_wait(&live.key()) {
            return Ok(());
        }
        let mut moves = self.repo.head_reflog(MAX_MOVES);
        moves.reverse();
        let last = self.repo.head()?.commit_id;
        let made = moves.iter().filter(|entry| Some(entry.new_id) != last && kind_of_move(entry).is_some());
        let made: Vec<ObjectId> = made.map(|entry| entry.new_id).collect();
        self.record_told(live, &made, true)
    }

    /// Records a session on commits, oldest first, that have no note and whose ids are in the results of the calls that made
    /// them. Commits that were made by one command get the same record, since that command has one result.
    ///
    /// `has_next_commit` says that a further commit was made, which gets the words behind the last result.
    ///
    /// # Errors
    ///
    /// If the transcript, the commits or the notes cannot be read.
    pub(super) fn record_told(
        &mut self,
        live: &mut LiveSession,
        commit_ids: &[ObjectId],
        has_next_commit: bool,
    ) -> Result<()> {
        let is_rendered = agent::named(&live.agent)?.is_rendered(&live.transcript);
        while let Some(mut increment) = self.unrecorded(live, None)? {
            // What a session read of older commits may look like what Git prints of a new one.
            let begun = increment.survey.tally.first_time.unwrap_or(i64::MIN);
            let mut told = Vec::new();
            for commit_id in commit_ids {
                let is_new = self.repo.commit(*commit_id).is_ok_and(|made| made.committer.time.seconds >= begun);
                let hex = commit_id.to_string();
                let result = increment.survey.results.iter().find(|result| result.tells_of_making(&hex));
                if let Some(result) = result.filter(|_| is_new)
                    && notes::get(self.repo, &self.notes_ref, *commit_id)?.is_none()
                {
                    told.push((result.end, *commit_id));
                }
            }
            let Some(first) = told.iter().map(|(end, _)| *end).min() else { return Ok(()) };
            let of_first = told.iter().filter(|(end, _)| *end == first).map(|(_, commit_id)| *commit_id);
            increment.commit_ids.extend(of_first);
            // The last line of a rendered transcript is about the whole document.
            let is_whole = is_rendered && !has_next_commit && increment.commit_ids.len() == told.len();
            let until = if is_whole { increment.until } else { first.max(increment.reading.kept()) };
            increment.end_at(until)?;
            let (last, before) = (increment.commit_ids.last().copied(), live.progress.recorded.clone());
            self.record_increment(&mut increment, &mut live.progress);
            self.record_sub_agents(last, live)?;
            // What could not be stored waits in a pending file.
            if is_whole || live.progress.recorded == before {
                return Ok(());
            }
        }
        Ok(())
    }
}
