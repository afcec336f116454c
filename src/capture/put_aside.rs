//! Keeping an increment in a pending file when it cannot be stored.

use std::path::Path;

use super::increment::Increment;
use super::pending::{self, Capture, Pending, Unredacted};
use super::progress::Progress;
use super::segment_end::SegmentEnd;
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// How many bytes are kept in a pending file at most. Longer words stay in the agent's own transcript: they would be held in
/// memory to be written, and again to be stored.
const MAX_ASIDE_BYTES: u64 = 16 << 20;

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
    path: &Path,
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
    let keep = |capture: Capture, bytes: &[u8]| pending::write(path, &Pending::Capture(capture), bytes);
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
        Ok(()) => Ok(with_pending_hint(error, path)),
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
    path: &Path,
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
    match pending::write(path, &Pending::Capture(capture), b"") {
        Ok(()) => with_pending_hint(error, path),
        Err(second) => second.because(error),
    }
}

/// How the hint begins that names a pending file.
pub const NOTED_IN: &str = "what waits is noted in '";

/// Adds to an error the hint that names the pending file.
pub(super) fn with_pending_hint(error: Error, path: &Path) -> Error {
    error.hint(format!("{NOTED_IN}{}'; the next 'git shiftlog log' stores it", path.display()))
}
