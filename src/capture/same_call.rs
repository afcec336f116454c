//! Several commits by one tool call, such as `git commit … && git commit …`: each gets the words that led to the call.
//!
//! The first commit takes all that was said. At the later ones the session has nothing new to say.

use super::increment::Increment;
use super::new_commit::NewCommit;
use super::recorder::Recorder;
use super::tracked::{AwaitedResult, TrackedSession};
use crate::error::Result;
use crate::git::{Commit, ObjectId, Repository};
use crate::notes;
use crate::record::{Note, Record};

/// How many seconds a tool call may take for two commits to count as its own.
const MAX_CALL_SECS: i64 = 600;

/// Returns the commit that the same tool call made before `commit`, if no hook has told: the session that runs `commit` still
/// waits for the result of the call that made one on which or beside which `commit` stands. `awaited` is what the session
/// waited for before.
///
/// A person's commit in a terminal that the agent has opened is no such commit: the transcript has no call that makes it.
pub(super) fn earlier_of_call(
    repo: &Repository,
    live: &TrackedSession,
    new_commit: &NewCommit,
    commit: &Commit,
    awaited: Option<&AwaitedResult>,
) -> Option<ObjectId> {
    let awaited = awaited?;
    let made = awaited.commit_ids(repo);
    let parent_of =
        |commit_id: &ObjectId| repo.commit(*commit_id).ok().map(|commit| commit.parent_ids.first().copied());
    // The call may have amended the earlier commit, made this one in its place, or begun another branch where it was made.
    let is_beside = || made.iter().any(|id| parent_of(id) == Some(commit.parent_ids.first().copied()));
    if !commit.parent_ids.iter().any(|parent_id| made.contains(parent_id)) && !is_beside() {
        return None;
    }
    let is_soon = (0..=MAX_CALL_SECS).contains(&(new_commit.time - awaited.time));
    let has_run_it = new_commit.runners.contains(&live.key());
    repo.parse_id(&awaited.commit).filter(|_| has_run_it && is_soon && awaited.call.is_some() && !awaited.is_unsure)
}

/// Records on a later commit of a tool call what was recorded on `earlier` of the session and its sub-agents, if the session
/// has said nothing in between: `increment` has at most results of calls. Returns whether it has.
///
/// # Errors
///
/// If the note of the earlier commit cannot be read, or a record neither be written nor kept for the next command.
pub(super) fn record_words_of_call(
    recorder: &mut Recorder<'_>,
    live: &TrackedSession,
    earlier: ObjectId,
    later: ObjectId,
    increment: Option<&Increment<'_>>,
) -> Result<bool> {
    let key = live.key();
    let has_words = increment.is_some_and(|increment| increment.survey.has_words());
    if has_words || earlier == later || recorder.must_wait(&key) {
        return Ok(false);
    }
    let is_wanted = |record: &&Record| record.key() == key || record.key().parent().as_ref() == Some(&key);
    let written = recorder.written.iter().filter(|(commit_id, _)| *commit_id == earlier).map(|(_, record)| record);
    let mut records: Vec<Record> = written.filter(is_wanted).cloned().collect();
    if records.is_empty()
        && let Some(note) = notes::get(recorder.repo, &recorder.notes_ref, earlier)?
    {
        records = Note::parse_unjoined(&note).records().filter(is_wanted).cloned().collect();
    }
    let end = live.progress.recorded.segment.as_deref();
    if !records.iter().any(|record| record.key() == key && Some(&*record.through) == end) {
        return Ok(false);
    }
    for record in records {
        let record = Record { summary: None, summary_time: None, joined_trees: Vec::new(), ..record };
        recorder.write_or_keep(record, &[later], &live.progress.stored)?;
    }
    Ok(true)
}
