//! Several commits by one tool call, such as `git commit … && git commit …`: each gets the words that led to the call.
//!
//! The first commit takes all that was said. At the later ones the session has nothing new to say.

use std::time::Instant;

use super::increment::Increment;
use super::new_commit::NewCommit;
use super::pending;
use super::recorder::Recorder;
use super::tracked::{AwaitedResult, LastWords, TrackedSession};
use crate::error::{Error, Kind, Result};
use crate::git::{Commit, ObjectId, Repository};
use crate::record::{Note, Record};
use crate::transcript::SessionKey;

/// How many seconds a tool call may take for two commits to count as its own, where no hook of the agent tells.
pub(super) const MAX_CALL_SECS: i64 = 600;

/// Returns what this process has recorded on a commit of a session and its sub-agents. `increment` is that of the session.
pub(super) fn words_of(
    recorder: &Recorder<'_>,
    key: &SessionKey,
    commit_id: ObjectId,
    increment: &Increment<'_>,
) -> LastWords {
    let is_wanted = |(made, record): &&(ObjectId, Record)| *made == commit_id && is_of_session(&record.key(), key);
    let lines: Vec<String> = recorder.written.iter().filter(is_wanted).map(|(_, record)| record.to_line()).collect();
    let records = lines.join("\n");
    LastWords { commit: commit_id.to_string(), calls: increment.survey.committing_calls().to_vec(), records }
}

/// Says whether the last words of a session led to a commit: the call that made it is among them. `awaited` is what the session
/// waited for before this commit.
///
/// The answer is no for a commit that a person makes in a terminal that the agent has opened: no call made it, or the call has
/// its result already.
pub(super) fn led_to(
    repo: &Repository,
    live: &TrackedSession,
    words: &LastWords,
    new_commit: &NewCommit,
    commit: &Commit,
    awaited: Option<&AwaitedResult>,
) -> bool {
    let has_call = |call: &Option<String>| call.as_ref().is_some_and(|call| words.calls.contains(call));
    let first = repo.parse_id(&words.commit);
    if !new_commit.runners.contains(&live.key()) {
        return false;
    }
    if let Some(of_call) = &new_commit.of_call
        && (has_call(&of_call.call) || of_call.made.iter().any(|made| Some(*made) == first))
    {
        return true;
    }
    let Some(awaited) = awaited else { return false };
    let is_answered = live.answered_commit.as_ref() == Some(&awaited.commit);
    let is_soon = (0..=MAX_CALL_SECS).contains(&(new_commit.time - awaited.time));
    if is_answered || !is_soon || !has_call(&awaited.call) || awaited.is_unsure {
        return false;
    }
    if !live.is_rendered() {
        // Whatever was written since then shows that the call had ended.
        let noted =
            new_commit.transcript_bytes.as_ref().and_then(|lengths| lengths.get(&live.key().to_string()).copied());
        let noted = new_commit.of_call.as_ref().and_then(|of_call| of_call.length).or(noted);
        let length = noted.or_else(|| Some(live.transcript.metadata().ok()?.len()));
        return length.is_some_and(|length| live.progress.recorded.raw.is_some_and(|recorded| length <= recorded));
    }
    let made = awaited.commit_ids(repo);
    let parent_of =
        |commit_id: &ObjectId| repo.commit(*commit_id).ok().map(|commit| commit.parent_ids.first().copied());
    // The call may have amended the earlier commit, made this one in its place, or begun another branch where it was made.
    let is_beside = || made.iter().any(|id| parent_of(id) == Some(commit.parent_ids.first().copied()));
    commit.parent_ids.iter().any(|parent_id| made.contains(parent_id)) || is_beside()
}

/// Records the last words of a session on a further commit. Those that still wait in pending files will be recorded there, too.
/// Does nothing if the session has said something since; results of calls do not count. Returns whether it has done something.
///
/// # Errors
///
/// If a record can neither be written nor kept for the next command.
pub(super) fn record_again(
    recorder: &mut Recorder<'_>,
    live: &TrackedSession,
    words: &LastWords,
    later: ObjectId,
    increment: Option<&Increment<'_>>,
) -> Result<bool> {
    let key = live.key();
    let has_words = increment.is_some_and(|increment| increment.survey.has_words());
    let is_purged = recorder.purged.bars(&key) || recorder.state.is_purged(&key);
    let Some(earlier) = recorder.repo.parse_id(&words.commit).filter(|earlier| *earlier != later) else {
        return Ok(false);
    };
    if has_words || is_purged {
        return Ok(false);
    }
    let waits = pending::record_also_on(&recorder.state, earlier, later, |waiting| is_of_session(waiting, &key))?;
    let records: Vec<Record> = Note::parse_unjoined(words.records.as_bytes()).records().cloned().collect();
    if records.is_empty() {
        return Ok(waits);
    }
    let written = match Instant::now() < recorder.deadline {
        true => recorder.write_records(&records, &[later]),
        false => Err(Error::new(Kind::Busy, "there is no time left to write records")),
    };
    if let Err(error) = written {
        let why = error.to_string();
        for record in records {
            let error = Error::new(Kind::Busy, why.clone());
            recorder.keep_record(record, &[later], &live.progress.stored, error)?;
        }
    }
    Ok(true)
}

/// Says whether a session is `session` or one of its sub-agents.
fn is_of_session(key: &SessionKey, session: &SessionKey) -> bool {
    key == session || key.parent().as_ref() == Some(session)
}
