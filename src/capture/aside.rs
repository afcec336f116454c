//! An increment of a session, and keeping it in a file when it cannot be stored.

use std::path::{Path, PathBuf};

use super::State;
use super::choose::below;
use super::pending::{self, Capture, Pending, Unredacted};
use super::reading::{Reading, Survey};
use super::state::{Progress, SegmentEnd};
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Repository};
use crate::record::edits;
use crate::told::Told;
use crate::transcript::{EditedPath, SessionKey};

/// How many bytes are kept in a pending file at most. Longer words stay in the agent's own transcript: they would be held in
/// memory to be written, and again to be stored.
const MAX_ASIDE_BYTES: u64 = 16 << 20;

/// The part of a session's transcript that is not recorded yet.
pub(super) struct Increment<'a> {
    pub key: SessionKey,
    pub reading: Reading<'a>,
    /// The agent's own transcript; `None` for one that is only in memory.
    pub transcript: Option<PathBuf>,
    /// Size and modification time of the transcript before it was read; see [`Progress::size_and_mtime`].
    pub size_and_mtime: Option<(u64, u64)>,
    /// The model that a hook named, for transcripts that do not name it.
    pub model: Option<String>,
    /// Its prompts, tool results, edited paths and tokens.
    pub survey: Survey,
    /// Where the increment begins.
    pub since: SegmentEnd,
    /// The position in the agent's file where the increment ends.
    pub until: u64,
    /// The commits to record it on; none if the words are only to be archived.
    pub commit_ids: Vec<ObjectId>,
    /// The instruction files that the session had read, if they are known.
    pub rules: Option<Told>,
}

impl<'a> Increment<'a> {
    /// Returns the part of a transcript that `survey` counted, for no commit yet.
    pub(super) fn new(key: SessionKey, reading: Reading<'a>, survey: Survey, since: SegmentEnd) -> Self {
        let until = survey.until;
        let (transcript, size_and_mtime, model, commit_ids, rules) = Default::default();
        Increment { key, reading, transcript, size_and_mtime, model, survey, since, until, commit_ids, rules }
    }

    /// Returns the files of the repository that its calls changed.
    pub(super) fn edits(&self, repo: &Repository) -> Vec<EditedPath> {
        edits::placed(self.survey.tally.edits(), |named| {
            let path = Path::new(named);
            if path.is_absolute() {
                return below(repo.worktree()?, path)?.into_os_string().into_string().ok();
            }
            // The agent may have been in a directory below the top.
            let has_file = |id: &ObjectId| repo.blob_at(*id, named.into()).is_ok_and(|blob| blob.is_some());
            self.commit_ids.first().is_some_and(has_file).then(|| named.to_owned())
        })
    }

    /// Returns the first line of a pending file whose bytes follow `from`.
    pub(super) fn capture(&self, from: SegmentEnd) -> Capture {
        Capture::new(&self.key, &self.commit_ids, from, self.since.clone())
    }

    /// Makes the increment end at a position, if it reaches further.
    pub(super) fn end_at(&mut self, until: u64) -> Result<()> {
        if self.until > until {
            let from = self.reading.position(&self.since)?;
            self.survey = self.reading.survey(from, until)?;
            self.until = until;
        }
        Ok(())
    }
}

/// Keeps an increment that could not be archived in a pending file, and returns the warning for the user, made from
/// `error`.
///
/// `is_redacted` says whether there is a redactor, `kept_bytes` how much of the stored transcript was unchanged before
/// the failed attempt.
///
/// # Errors
///
/// The warning for the user, if no file could be written either.
pub(super) fn put_aside(
    state: &State,
    is_redacted: bool,
    increment: &mut Increment<'_>,
    progress: &Progress,
    kept_bytes: u64,
    error: Error,
) -> Result<Error> {
    let stored = &progress.stored;
    let from = match kept_bytes < stored.bytes {
        true => SegmentEnd { bytes: kept_bytes, raw: None, ..stored.clone() },
        false => stored.clone(),
    };
    let capture = increment.capture(from.clone());
    let until = increment.until;
    let in_transcript = increment.transcript.clone().map(|path| Unredacted { path, until });
    let keep = |capture: Capture, bytes: &[u8]| pending::keep(state, &Pending::Capture(capture), bytes);
    let keep_in_transcript = |capture: Capture| keep(Capture { transcript: in_transcript.clone(), ..capture }, b"");
    let kept = match &in_transcript {
        // Unredacted words must not be written to disk.
        Some(_) if !is_redacted => keep_in_transcript(capture),
        named => {
            let bytes = match increment.reading.position(&from) {
                Ok(start) if named.is_some() && until.saturating_sub(start) > MAX_ASIDE_BYTES => {
                    Err(Error::new(Kind::Busy, "it is long"))
                }
                start => start.and_then(|start| increment.reading.bytes(start, until)),
            };
            match bytes {
                // A disk that has no room for the words may have room for the name of the file that has them.
                Ok(bytes) => keep(capture.clone(), &bytes).or_else(|error| match named {
                    Some(_) => keep_in_transcript(capture),
                    None => Err(error),
                }),
                // It is long, or the deadline passed before it was redacted.
                Err(error) if named.is_some() && error.kind() == Kind::Busy => keep_in_transcript(capture),
                Err(error) => Err(error),
            }
        }
    };
    match kept {
        Ok(path) => Ok(with_pending_hint(error, &path)),
        Err(second) => {
            let what = format!("{error}; nor could it be kept in a file: {second}");
            let error = Error::other(format!("session {} is not stored: {what}", increment.key));
            Err(error.hint("it is stored with the next commit if the agent still has its transcript then"))
        }
    }
}

/// Keeps a pending file that names a transcript which could not be read within the deadline, and returns the warning
/// for the user. A later command records the transcript on the commit, up to its present length.
pub(super) fn keep_unread(
    state: &State,
    key: &SessionKey,
    transcript: &Path,
    progress: &Progress,
    commit_id: Option<ObjectId>,
    error: Error,
) -> Error {
    let until = transcript.metadata().map_or(u64::MAX, |file| file.len());
    let transcript = Some(Unredacted { path: transcript.to_owned(), until });
    let (stored, recorded) = (progress.stored.clone(), progress.recorded.clone());
    let capture = Capture { transcript, ..Capture::new(key, commit_id.as_slice(), stored, recorded) };
    match pending::keep(state, &Pending::Capture(capture), b"") {
        Ok(path) => with_pending_hint(error, &path),
        Err(second) => second.because(error),
    }
}

/// Adds to an error the hint that names the pending file.
pub(super) fn with_pending_hint(error: Error, path: &Path) -> Error {
    error.hint(format!("the session is kept in '{}'; the next git shiftlog command stores it", path.display()))
}
