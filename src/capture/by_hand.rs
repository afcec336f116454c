//! Attaching a transcript to a commit by hand.

use std::path::PathBuf;

use super::new_words::{increment_since, record_sub_agents};
use super::reading::Reading;
use super::recorder::Recorder;
use super::segment_end::SegmentEnd;
use super::sessions::new_live;
use super::tracked::TrackedSession;
use crate::agent;
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::record::tombstone::Tombstones;
use crate::transcript::{SessionKey, end_last_line};

/// A transcript to attach to a commit.
#[derive(Debug)]
pub struct Addition {
    /// The session.
    pub key: SessionKey,
    /// The transcript's bytes.
    pub transcript: Vec<u8>,
    /// The file that they are from, beside which an agent can keep the transcripts of sub-agents.
    pub file: Option<PathBuf>,
    /// The segment that the increment begins after; `None` for the one that the session was last recorded up to.
    pub since: Option<ObjectId>,
    /// Whether it is taken although it may have words that were purged.
    pub is_forced: bool,
}

/// Attaches a transcript to a commit by hand, and those of the session's sub-agents.
///
/// # Errors
///
/// If the agent is unknown, the transcript has no complete line, or it cannot be stored; and if words of the session were purged,
/// and the transcript does not begin with what is left of them.
pub fn add(recorder: &mut Recorder<'_>, commit_id: ObjectId, addition: Addition) -> Result<bool> {
    let agent = agent::named(&addition.key.agent)?;
    let key = addition.key.clone();
    let live = recorder.state.session(&key);
    let mut progress = live.as_ref().map(|live| live.progress.clone()).unwrap_or_default();
    recorder.recover_progress(&addition.key, &mut progress);
    let mut transcript = addition.transcript;
    // Only a live session can have a line that is still being written.
    if live.is_none() {
        end_last_line(&mut transcript);
    }
    let reading = Reading::of_bytes(recorder.context(agent, &addition.key), &progress, transcript)?;
    let since = match addition.since {
        Some(since) => {
            let since = SegmentEnd::of(&recorder.archive, since)?;
            let newest = progress.stored.segment.as_deref().and_then(|hex| recorder.repo.parse_id(hex));
            newest.map_or(since.clone(), |newest| since.left_in(&recorder.archive, &addition.key, newest))
        }
        None => progress.recorded.clone(),
    };
    if reading.end() == 0 {
        return Err(Error::new(Kind::Missing, "the transcript is empty"));
    }
    if !addition.is_forced
        && !reading.has_all_that_is_stored()
        && (recorder.state.is_purged(&key) || Tombstones::read(recorder.repo)?.concern(recorder.repo, &key, &[])?)
    {
        let why =
            format!("words of session {key} were removed by 'git shiftlog purge', and this transcript may have them");
        return Err(Error::other(why).hint("--force records it all the same"));
    }
    let before = recorder.report.recorded.len();
    if let Some(mut increment) = increment_since(recorder, addition.key, reading, since)? {
        increment.commit_ids.push(commit_id);
        recorder.try_record(&mut increment, &mut progress)?;
    }
    let is_known = live.is_some();
    let mut live = live.unwrap_or_else(|| TrackedSession {
        is_over: true,
        ..new_live(&key, addition.file.clone().unwrap_or_default())
    });
    live.progress = progress;
    if addition.file.is_some_and(|file| file == live.transcript) {
        record_sub_agents(recorder, Some(commit_id), &mut live)?;
    }
    if is_known {
        recorder.state.save(&live)?;
    }
    Ok(recorder.report.recorded.len() > before)
}
