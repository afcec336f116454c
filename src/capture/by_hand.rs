//! Attaching a transcript to a commit by hand.

use std::io::Cursor;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use super::State;
use super::fork::{COMMAND_TIMEOUT, repeated_purged};
use super::increment::Increment;
use super::new_words::{increment_since, record_sub_agents};
use super::progress::Progress;
use super::reading::{Extent, Reading, SessionContext, Source, open_file};
use super::recorder::Recorder;
use super::segment_end::SegmentEnd;
use super::sessions::new_live;
use super::tracked::TrackedSession;
use crate::agent;
use crate::archive::Archive;
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Repository};
use crate::record::foreign_marks::ForeignMarks;
use crate::record::redaction;
use crate::record::tombstone::Tombstones;
use crate::transcript::{SessionKey, end_last_line};

/// A transcript to attach to a commit.
#[derive(Debug)]
pub struct Addition {
    /// The session.
    pub key: SessionKey,
    /// The session that the transcript itself names, if that is another one.
    pub named: Option<SessionKey>,
    /// The transcript itself.
    pub transcript: Words,
    /// The file that it is from, beside which an agent can keep the transcripts of sub-agents.
    pub file: Option<PathBuf>,
    /// The segment that the increment begins after; `None` for the one that the session was last recorded up to.
    pub since: Option<ObjectId>,
}

/// The lines of a transcript, in memory or in a file.
#[derive(Clone, Debug)]
pub enum Words {
    /// The lines themselves.
    Lines(Vec<u8>),
    /// A regular file with these lines. It is read in chunks, so a long one takes no more memory than a short one.
    File(PathBuf),
}

impl Words {
    /// Returns the length of the lines in bytes.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn len_bytes(&self) -> Result<u64> {
        match self {
            Words::Lines(lines) => Ok(lines.len() as u64),
            Words::File(path) => path.metadata().map(|file| file.len()).map_err(|error| Error::io("read", path, error)),
        }
    }

    /// Opens the lines for reading. A last line without a line end counts if the session `is_over`; otherwise the agent may
    /// still be writing it.
    fn open(self, is_over: bool) -> Result<Box<dyn Source>> {
        match self {
            Words::Lines(mut lines) => {
                if is_over {
                    end_last_line(&mut lines);
                }
                Ok(Box::new(Cursor::new(lines)))
            }
            Words::File(path) => open_file(&path, if is_over { Extent::Over } else { Extent::Complete }),
        }
    }
}

/// Refuses a transcript that may have words which were purged, here or by others: those of its session, of the session that it
/// names itself, or of the one that it is a fork of. One that begins with all that is stored of its session is not refused.
/// Writes nothing.
///
/// # Errors
///
/// If it is refused; or if the agent is unknown, or the purge marks or the transcript cannot be read.
pub fn refuse_purged(repo: &Repository, addition: &Addition) -> Result<()> {
    let (state, purged) = (State::new(&repo.common_dir()), Tombstones::read(repo)?);
    let foreign = ForeignMarks::read(repo, &purged);
    let removed_by_others = foreign.sessions(repo);
    let has_lost = |key: &SessionKey| -> Result<bool> { Ok(state.is_purged(key) || purged.concern(repo, key, &[])?) };
    let refusal = |key: &SessionKey, how: &str| {
        let why = format!("words of session {key} were removed {how}, and this transcript may have them");
        Err(Error::other(why).hint("--force records it all the same"))
    };
    let repeated = addition.file.as_deref().and_then(|file| {
        let agent = agent::named(&addition.key.agent).ok()?;
        repeated_purged(&state, agent, file, Instant::now() + COMMAND_TIMEOUT)
    });
    if let Some((key, _)) = &repeated
        && *key != addition.key
    {
        return refusal(key, "by 'git shiftlog purge'");
    }
    let keys = [Some(&addition.key), addition.named.as_ref()];
    for key in keys.into_iter().flatten() {
        let is_whole = || match *key == addition.key {
            true => begins_with_what_is_stored(repo, &state, addition),
            false => Ok(false),
        };
        if has_lost(key)? && !is_whole()? {
            return refusal(key, "by 'git shiftlog purge'");
        }
        if (foreign.of_session(key).is_some() || removed_by_others.contains(key)) && !is_whole()? {
            return refusal(key, "by others ('git shiftlog purge --received')");
        }
    }
    Ok(())
}

/// Says whether a transcript begins with all that is stored of its session, and something is.
fn begins_with_what_is_stored(repo: &Repository, state: &State, addition: &Addition) -> Result<bool> {
    let (archive, agent) = (Archive::new(repo), agent::named(&addition.key.agent)?);
    let progress = match state.session(&addition.key) {
        Some(live) => live.progress,
        None => Progress::archived(&archive, &addition.key)?,
    };
    let redaction = Rc::new(redaction::redactor(repo));
    let (key, transcript) = (&addition.key, addition.transcript.clone().open(true)?);
    let context = SessionContext { archive: &archive, agent, key, redaction: &redaction, purged: None, deadline: None };
    Ok(Reading::of_source(context, &progress, transcript)?.has_all_that_is_stored())
}

/// Says whether [`add`] would record something, as far as that can be known without storing it: of sub-agents, only whether
/// there are any.
///
/// # Errors
///
/// As [`add`].
pub fn has_unrecorded(repo: &Repository, notes_ref: &str, addition: &Addition) -> Result<bool> {
    let recorder = &mut Recorder::without_lock(repo, notes_ref, None);
    recorder.deadline = Instant::now() + COMMAND_TIMEOUT;
    let (agent, live) = (agent::named(&addition.key.agent)?, recorder.state.session(&addition.key));
    let words = (addition.transcript.clone(), addition.since);
    let (increment, _) = unrecorded_in(recorder, &addition.key, words, live.as_ref())?;
    let has_sub_agents = || addition.file.as_deref().is_some_and(|file| !agent.sub_agents(file).is_empty());
    Ok(increment.is_some() || has_sub_agents())
}

/// Attaches a transcript to a commit by hand, and those of the session's sub-agents. Does not ask [`refuse_purged`].
///
/// # Errors
///
/// If the agent is unknown, the transcript has no complete line, or it cannot be stored.
pub fn add(recorder: &mut Recorder<'_>, commit_id: ObjectId, addition: Addition) -> Result<bool> {
    let live = recorder.state.session(&addition.key);
    let words = (addition.transcript, addition.since);
    let (increment, mut progress) = unrecorded_in(recorder, &addition.key, words, live.as_ref())?;
    let before = recorder.report.recorded.len();
    if let Some(mut increment) = increment {
        increment.commit_ids.push(commit_id);
        recorder.try_record(&mut increment, &mut progress)?;
    }
    let is_known = live.is_some();
    let mut live = live.unwrap_or_else(|| TrackedSession {
        is_over: true,
        ..new_live(&addition.key, addition.file.clone().unwrap_or_default())
    });
    live.progress = progress;
    if addition.file.as_ref().is_some_and(|file| *file == live.transcript) {
        record_sub_agents(recorder, Some(commit_id), &mut live)?;
    }
    if is_known {
        recorder.state.save(&live)?;
    }
    Ok(recorder.report.recorded.len() > before)
}

/// Returns what a transcript has that is not recorded, from a segment on if one is named, and how far its session is stored.
fn unrecorded_in<'r>(
    recorder: &mut Recorder<'r>,
    key: &SessionKey,
    (transcript, since): (Words, Option<ObjectId>),
    live: Option<&TrackedSession>,
) -> Result<(Option<Increment<'r>>, Progress)> {
    let agent = agent::named(&key.agent)?;
    let mut progress = live.map(|live| live.progress.clone()).unwrap_or_default();
    recorder.recover_progress(key, &mut progress);
    // Only a live session can have a line that is still being written.
    let transcript = transcript.open(live.is_none())?;
    let reading = Reading::of_source(recorder.context(agent, key), &progress, transcript)?;
    let since = match since {
        Some(since) => {
            let since = SegmentEnd::of(&recorder.archive, since)?;
            let newest = progress.stored.segment.as_deref().and_then(|hex| recorder.repo.parse_id(hex));
            newest.map_or(since.clone(), |newest| since.left_in(&recorder.archive, key, newest))
        }
        None => progress.recorded.clone(),
    };
    if reading.end() == 0 {
        return Err(Error::new(Kind::Missing, "the transcript is empty"));
    }
    Ok((increment_since(recorder, key.clone(), reading, since)?, progress))
}
