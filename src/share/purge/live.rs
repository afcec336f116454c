//! Updating our own state after a purge.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};

use crate::agent::{self, Agent, FoundTranscript};
use crate::archive::{Archive, hex};
use crate::capture::pending::{self, Pending};
use crate::capture::progress::Progress;
use crate::capture::segment_end::SegmentEnd;
use crate::capture::sessions::recent_unreported;
use crate::capture::state::FirstMessage;
use crate::capture::{State, fork};
use crate::error::{Error, Result};
use crate::git::{Repository, private};
use crate::record::tombstone::Tombstones;
use crate::redact::Redactor;
use crate::transcript::{SessionKey, line_ends, without_last_line};

/// Moves the resume points of a session, whose transcript now ends with the segment at `stored`, to where their lines are.
fn move_resume_points(repo: &Repository, agent: Option<&dyn Agent>, progress: &mut Progress, stored: &SegmentEnd) {
    let archive = Archive::new(repo);
    let segment_id = stored.segment.as_deref().and_then(|hex| repo.parse_id(hex));
    let text = segment_id.map(|id| archive.transcript(id).bytes()).unwrap_or_default();
    let digest_of = |text: &[u8]| hex(&Sha256::new().chain_update(text).serialize());
    progress.sha256_state = Some(digest_of(&text));
    // If no line was removed, a resume point is found by its line number. Otherwise it is found from the end: before
    // the line about the whole document, and the lines between it and the resume point.
    let segment_id = progress.stored.segment.as_deref().and_then(|hex| repo.parse_id(hex));
    let before = segment_id.map(|id| archive.transcript(id).bytes()).unwrap_or_default();
    let (ends, new_ends): (Vec<_>, Vec<_>) = (line_ends(&before).collect(), line_ends(&text).collect());
    let moved = |bytes: u64| {
        let line = ends.iter().position(|end| *end as u64 == bytes).filter(|_| ends.len() == new_ends.len());
        line.map(|line| new_ends[line])
    };
    let longest = progress.resume_points.last().cloned();
    let staying = agent.map_or(0, |agent| agent.lines_that_stay(&text));
    // A transcript without a line about the whole document: its last line can change in place.
    let is_of_lines =
        staying == text.len() && longest.as_ref().is_some_and(|head| Some(head.raw) < progress.stored.raw);
    let staying = if is_of_lines { without_last_line(&text) } else { staying };
    let at = |bytes: u64| {
        let end = longest.as_ref().map_or(bytes, |head| head.bytes);
        let behind = before.get(bytes as usize..end as usize).filter(|behind| text[..staying].ends_with(behind));
        moved(bytes).unwrap_or(staying - behind.map_or(0, <[u8]>::len))
    };
    for head in &mut progress.resume_points {
        let bytes = at(head.bytes);
        (head.bytes, head.sha256_state) = (bytes as u64, digest_of(&text[..bytes]));
    }
}

/// Returns those files of a session and of its sub-agents that are of `wanted`.
fn files_of(agent: &dyn Agent, session: &SessionKey, transcript: &Path, wanted: &BTreeSet<SessionKey>) -> Vec<PathBuf> {
    let own = FoundTranscript { session_id: session.id.clone(), transcript: transcript.to_owned() };
    let mut found = agent.sub_agents(transcript);
    found.push(own);
    found.retain(|found| wanted.contains(&SessionKey::new(&session.agent, &found.session_id)));
    found.into_iter().map(|found| found.transcript).collect()
}

/// Returns the sessions whose agents' files have matches that are not recorded yet: the next commit would have them.
///
/// Reads what each known session's file has behind what is stored of it. Skips what cannot be read.
pub(super) fn unrecorded_matches(repo: &Repository, redactor: &Redactor) -> BTreeSet<SessionKey> {
    let state = State::new(&repo.common_dir());
    let has_match = |agent: &dyn Agent, transcript: &Path, progress: &Progress| {
        let stored = match (&progress.stored.segment, progress.stored.raw) {
            (None, None) => 0,
            (_, Some(raw)) => raw,
            // Nothing tells how much of the file is stored.
            (Some(_), None) => return false,
        };
        let behind = match agent.is_rendered(transcript) {
            // A document is written anew as a whole: nothing stands behind what is stored.
            true => agent.read(transcript).ok().filter(|_| stored == 0),
            false => read_behind(transcript, stored).ok(),
        };
        behind.is_some_and(|behind| !redactor.scan(&behind).is_empty())
    };
    let mut sessions = BTreeSet::new();
    let marks = Tombstones::read(repo).unwrap_or_default();
    // If the archive has a session and our state does not know it, how much of its file is stored is unknown.
    let progress_of = |key: &SessionKey, known: Option<&Progress>| {
        let is_stored = || Archive::new(repo).segments_of(key).is_ok_and(|segments| !segments.is_empty());
        known.cloned().or_else(|| (!is_stored()).then(Progress::default))
    };
    let known = state.all_sessions();
    let unreported = recent_unreported(&state, repo.worktree(), &known);
    let all = known.iter().map(|live| (live, Some(&live.progress))).chain(unreported.iter().map(|live| (live, None)));
    // Of a session that was purged as a whole, nothing is recorded any more.
    for (live, progress) in all.filter(|(live, _)| !marks.bars(&live.key())) {
        let Some(agent) = agent::find(&live.agent) else { continue };
        let own = FoundTranscript { session_id: live.session.clone(), transcript: live.transcript.clone() };
        let sub_agents = agent.sub_agents(&live.transcript).into_iter();
        let sub_agents = sub_agents.map(|found| (live.sub_agents.get(&found.session_id), found));
        for (progress, found) in [(progress, own)].into_iter().chain(sub_agents) {
            let key = SessionKey::new(&live.agent, &found.session_id);
            let progress = progress_of(&key, progress);
            if progress.is_some_and(|progress| has_match(agent, &found.transcript, &progress)) {
                sessions.insert(key);
            }
        }
    }
    sessions
}

/// Reads a file from a position on.
fn read_behind(file: &Path, position: u64) -> std::io::Result<Vec<u8>> {
    let (mut open, mut behind) = (private::open(file)?, Vec::new());
    open.seek(SeekFrom::Start(position))?;
    open.read_to_end(&mut behind)?;
    Ok(behind)
}

/// Removes purged words from our own files and updates how far sessions are stored. Returns the agents' files that still
/// have the words.
///
/// # Errors
///
/// If a file cannot be written or removed.
pub(super) fn update(
    repo: &Repository,
    marks: &Tombstones,
    sessions: &BTreeSet<SessionKey>,
    beginnings: &BTreeMap<String, FirstMessage>,
    gone: &[String],
) -> Result<Vec<PathBuf>> {
    let state = State::new(&repo.common_dir());
    // These documents repeat conversations.
    let handed_over = crate::resume::handed_over(&state);
    if let Err(error) = std::fs::remove_dir_all(&handed_over)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(Error::io("remove", &handed_over, error));
    }
    let changed = |mark: &SegmentEnd| -> SegmentEnd {
        let segment_id = mark.segment.as_deref().and_then(|hex| repo.parse_id(hex));
        match segment_id.and_then(|id| marks.final_of(repo, id)) {
            Some(became) => SegmentEnd { segment: became.became, bytes: became.bytes, raw: mark.raw },
            None => mark.clone(),
        }
    };
    let update = |agent: Option<&dyn Agent>, progress: &mut Progress| {
        let stored = changed(&progress.stored);
        if stored != progress.stored {
            move_resume_points(repo, agent, progress, &stored);
        }
        (progress.stored, progress.recorded) = (stored, changed(&progress.recorded));
    };
    let mut files = BTreeSet::new();
    for mut live in state.all_sessions() {
        let before = live.clone();
        let agent = agent::find(&live.agent);
        update(agent, &mut live.progress);
        live.sub_agents.values_mut().for_each(|progress| update(agent, progress));
        // Its records have prompts, and name segments that may be gone.
        live.last_words = None;
        if live != before {
            state.update(&live)?;
        }
        if let Some(agent) = agent.filter(|_| live.transcript.exists()) {
            files.extend(files_of(agent, &live.key(), &live.transcript, sessions));
        }
    }
    let here = repo.worktree().unwrap_or(repo.git_dir()).to_owned();
    for session in sessions {
        let owner = session.parent_id().unwrap_or(&session.id);
        let found = agent::find(&session.agent).and_then(|agent| Some((agent, agent.transcript(owner, &here)?)));
        let owner = SessionKey::new(&session.agent, owner);
        // A fork copies the words under another name; it is known by the first message.
        let own = state.session(&owner).map(|live| live.transcript);
        let first = agent::find(&session.agent).and_then(|agent| {
            let path = found.as_ref().map(|(_, path)| path).or(own.as_ref())?;
            fork::first_message_of(agent, path)
        });
        match first.or_else(|| beginnings.get(&session.file_name()).copied()) {
            Some(first) => state.mark_purged_with(session, &first)?,
            None => state.mark_purged(session)?,
        }
        files.extend(found.into_iter().flat_map(|(agent, file)| files_of(agent, &owner, &file, sessions)));
    }
    // Unfinished files of a hook that was killed.
    for file in state.unfinished(i64::MAX) {
        private::remove(&file)?;
    }
    gone.iter().try_for_each(|name| private::remove(&state.pending_dir().join(name)))?;
    // Pending captures name segments that were replaced.
    for path in pending::list(&state) {
        let Ok((Pending::Capture(mut capture), bytes)) = pending::read(&path) else { continue };
        let (from, since) = (changed(&capture.from), capture.since.as_ref().map(changed));
        let record = capture.record.as_deref().and_then(|record| marks.changed(repo, record.clone()));
        if from == capture.from && since == capture.since && record.as_ref() == capture.record.as_deref() {
            continue;
        }
        (capture.from, capture.since) = (from, since);
        if let Some(record) = record {
            capture.record = Some(Box::new(record));
        }
        pending::write(&path, &Pending::Capture(capture), &bytes)?;
    }
    Ok(files.into_iter().collect())
}
