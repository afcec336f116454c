//! A stretch of a transcript, and putting it aside when it cannot be stored.

use std::path::{Path, PathBuf};

use super::State;
use super::pending::{self, Capture, Pending, Unredacted};
use super::reading::{Reading, Survey};
use super::state::{Mark, Progress};
use crate::error::{Error, Kind};
use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// A stretch of a transcript to record.
pub(super) struct Stretch<'a> {
    pub key: SessionKey,
    pub reading: Reading<'a>,
    /// The agent's own file, if there is one.
    pub transcript: Option<PathBuf>,
    /// Size and time of its file before it was read; see [`Progress::stamp`].
    pub stamp: Option<(u64, u64)>,
    /// The model, where the transcript does not tell it.
    pub model: Option<String>,
    /// Its prompts, tool calls, edits and tokens, counted.
    pub survey: Survey,
    /// Where it begins.
    pub since: Mark,
    /// Where it ends, in the agent's file.
    pub until: u64,
    /// The commits to record it on; none if the words are only to be kept.
    pub commit_ids: Vec<ObjectId>,
}

impl Stretch<'_> {
    /// Returns the first line of a pending file for it, for bytes that follow `from`.
    pub(super) fn capture(&self, from: Mark) -> Capture {
        Capture {
            shiftlog: 1,
            agent: self.key.agent.clone(),
            session: self.key.id.clone(),
            commits: self.commit_ids.iter().map(ToString::to_string).collect(),
            from,
            since: Some(self.since.clone()),
            transcript: None,
            record: None,
        }
    }
}

/// Keeps what could not be archived in a file, and returns what to tell the user. `is_redacted` says
/// whether the words can be redacted, `kept` how much of the stored
/// transcript was unchanged before.
pub(super) fn put_aside(
    state: &State,
    is_redacted: bool,
    stretch: &mut Stretch<'_>,
    progress: &Progress,
    kept: u64,
    error: Error,
) -> Error {
    let stored = &progress.stored;
    let from = match kept < stored.bytes {
        true => Mark { bytes: kept, raw: None, ..stored.clone() },
        false => stored.clone(),
    };
    let mut capture = stretch.capture(from.clone());
    let bytes = match &stretch.transcript {
        // What cannot be redacted is written nowhere.
        Some(path) if !is_redacted => {
            capture.transcript = Some(Unredacted { path: path.clone(), until: stretch.until });
            Ok(Vec::new())
        }
        path => {
            let bytes = stretch.reading.position(&from).and_then(|start| stretch.reading.bytes(start, stretch.until));
            match (bytes, path) {
                // There was no time left to redact it.
                (Err(error), Some(path)) if error.kind() == Kind::Busy => {
                    capture.transcript = Some(Unredacted { path: path.clone(), until: stretch.until });
                    Ok(Vec::new())
                }
                (bytes, _) => bytes,
            }
        }
    };
    match bytes.and_then(|bytes| pending::keep(state, &Pending::Capture(capture), &bytes)) {
        Ok(path) => kept_at(error, &path),
        Err(second) => {
            Error::other(format!("session {} is not stored: {error}; nor could it be put aside: {second}", stretch.key))
                .hint("it is stored with the next commit if the agent still has its transcript then")
        }
    }
}

/// Leaves a transcript for which no time was left to a later command, which records it on a commit as far as it goes now.
pub(super) fn leave_unread(
    state: &State,
    key: SessionKey,
    transcript: &Path,
    progress: &Progress,
    commit_id: Option<ObjectId>,
    error: Error,
) -> Error {
    let until = transcript.metadata().map_or(u64::MAX, |file| file.len());
    let capture = Capture {
        shiftlog: 1,
        agent: key.agent,
        session: key.id,
        commits: commit_id.iter().map(ToString::to_string).collect(),
        from: progress.stored.clone(),
        since: Some(progress.recorded.clone()),
        transcript: Some(Unredacted { path: transcript.to_owned(), until }),
        record: None,
    };
    match pending::keep(state, &Pending::Capture(capture), b"") {
        Ok(path) => kept_at(error, &path),
        Err(second) => second.because(error),
    }
}

/// Says where words are kept that could not be stored.
pub(super) fn kept_at(error: Error, path: &Path) -> Error {
    error.hint(format!("the session is kept in '{}'; the next git shiftlog command stores it", path.display()))
}
