//! Several commits by one tool call, such as `git commit … && git commit …`: each gets the words that led to the call.
//!
//! The first commit takes all that was said. At the later ones the session has nothing new to say.

use super::increment::Increment;
use super::new_commit::NewCommit;
use super::recorder::Recorder;
use super::rewritten::{self, Rewrite};
use super::tracked::{AwaitedResult, TrackedSession};
use crate::error::Result;
use crate::git::{Commit, ObjectId};
use crate::notes;
use crate::record::Note;

/// How many seconds a tool call may take for two commits to count as its own.
const MAX_CALL_SECS: i64 = 600;

/// Returns the commit that the same tool call made before `commit`, if no hook has told: the session that runs `commit` still
/// waits for the result of the call that made its parent. `awaited` is what the session waited for before.
///
/// A person's commit in a terminal that the agent has opened is no such commit: the transcript has no call that makes it.
pub(super) fn earlier_of_call(
    live: &TrackedSession,
    new_commit: &NewCommit,
    commit: &Commit,
    awaited: Option<&AwaitedResult>,
) -> Option<ObjectId> {
    let parent_id = *commit.parent_ids.first()?;
    let parent = parent_id.to_string();
    let awaited = awaited.filter(|awaited| awaited.commit == parent)?;
    // A hook tells when a call has ended.
    let may_run = awaited.call.is_some() && (!live.has_tool_hooks || new_commit.transcript_bytes.is_some());
    let is_soon = (0..=MAX_CALL_SECS).contains(&(new_commit.time - awaited.time));
    let has_run_it = new_commit.runners.contains(&live.key());
    (has_run_it && is_soon && may_run && !awaited.is_unsure).then_some(parent_id)
}

/// Carries the records of a session from `earlier` to a later commit of the same call, if the session has said nothing
/// in between: `increment` has at most results of calls.
///
/// # Errors
///
/// If the note cannot be read, or the records neither be carried nor kept for the next command.
pub(super) fn carry_words_of_call(
    recorder: &mut Recorder<'_>,
    live: &TrackedSession,
    earlier: ObjectId,
    later: ObjectId,
    increment: Option<&Increment<'_>>,
) -> Result<()> {
    let has_words = increment.is_some_and(|increment| increment.survey.has_words());
    if has_words || earlier == later || recorder.must_wait(&live.key()) {
        return Ok(());
    }
    let Some(note) = notes::get(recorder.repo, &recorder.notes_ref, earlier)? else { return Ok(()) };
    let end = live.progress.recorded.segment.as_deref();
    if !Note::parse_unjoined(&note).has_record_through(&live.key(), end) {
        return Ok(());
    }
    let rewrite = Rewrite::copied("commit", &[earlier], later).only_of(live.key());
    rewritten::carry_or_keep(recorder, &rewrite)
}
