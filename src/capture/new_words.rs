//! The words of a session that no commit has: finding them in its transcripts, and archiving them.

use std::path::Path;

use super::availability::{Availability, availability};
use super::fork::repeated_purged;
use super::increment::Increment;
use super::left_out::{LeftOut, MAX_LINE_BYTES};
use super::progress::Progress;
use super::put_aside::keep_unread;
use super::reading::{Extent, Reading};
use super::recorder::Recorder;
use super::segment_end::SegmentEnd;
use super::stamp::size_and_mtime;
use super::tracked::TrackedSession;
use crate::agent::{self, Agent};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// Archives the words of a session that no commit has, so that they outlive the agent's own files.
pub(super) fn archive_session(recorder: &mut Recorder<'_>, live: &mut TrackedSession) -> Result<()> {
    match unrecorded(recorder, live, None) {
        Ok(Some(mut increment)) => recorder.record_increment(&mut increment, &mut live.progress),
        Ok(None) => {}
        Err(error) if error.kind() == Kind::Busy => {
            let error =
                keep_unread(&recorder.pending_path(), &live.key(), &live.transcript, &live.progress, None, error);
            recorder.warn(error);
        }
        Err(error) => return Err(error),
    }
    record_sub_agents(recorder, None, live)
}

/// Records the sub-agents of a session, each as a session of its own; without a commit only archives them.
pub(super) fn record_sub_agents(
    recorder: &mut Recorder<'_>,
    commit_id: Option<ObjectId>,
    live: &mut TrackedSession,
) -> Result<()> {
    let agent = agent::named(&live.agent)?;
    for found in agent.sub_agents(&live.transcript) {
        let session_id = of_session(&live.session, &live.transcript, found.session_id);
        let key = SessionKey::new(&live.agent, &session_id);
        let progress = live.sub_agents.entry(session_id).or_default();
        let known = progress.left_out.as_ref();
        if known.is_some_and(|left_out| left_out.is_all(agent, &found.transcript)) {
            continue;
        }
        if agent.is_rendered(&found.transcript)
            && let Some(new) = LeftOut::of_document(agent, &found.transcript, known)
        {
            progress.left_out = Some(new);
            continue;
        }
        let extent = if live.is_over { Extent::Over } else { Extent::Complete };
        match unrecorded_in(recorder, key.clone(), agent, &found.transcript, extent, progress) {
            Ok(Some(mut increment)) => {
                increment.commit_ids.extend(commit_id);
                recorder.record_increment(&mut increment, progress);
            }
            Ok(None) => {}
            Err(error) if error.kind() == Kind::Busy && commit_id.is_some() => {
                let error = keep_unread(&recorder.pending_path(), &key, &found.transcript, progress, commit_id, error);
                recorder.warn(error);
            }
            Err(error) => recorder.warn(error),
        }
    }
    Ok(())
}

/// Returns the id of a sub-agent, which begins with that of its session: where the session's file was copied under another name,
/// the agent knows only that.
fn of_session(session_id: &str, transcript: &Path, sub_agent_id: String) -> String {
    let name = transcript.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match sub_agent_id.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.')) {
        Some(own) if !name.is_empty() => format!("{session_id}.{own}"),
        _ => sub_agent_id,
    }
}

/// Reads what a session said since it was last recorded; `None` if nothing. The words that a fork repeats are archived first. In a file of lines, only the first
/// `limit` bytes are read.
///
/// # Errors
///
/// If the transcript cannot be read, or not within the deadline.
pub(super) fn unrecorded<'r>(
    recorder: &mut Recorder<'r>,
    live: &mut TrackedSession,
    limit: Option<u64>,
) -> Result<Option<Increment<'r>>> {
    // Most known sessions have nothing new. Size and modification time show that without opening the file.
    let agent = agent::named(&live.agent)?;
    if live.transcript.as_os_str().is_empty() {
        // Some agents write it only after the first hooks of the session have run.
        let directory = live.worktree.as_deref().unwrap_or(Path::new("."));
        let Some(found) = agent.transcript(&live.session, directory) else { return Ok(None) };
        live.transcript = found;
    }
    let is_at_any_length = limit.is_none_or(|limit| limit == u64::MAX);
    if is_at_any_length
        && live.progress.stored.segment.is_none()
        && availability(agent, &live.transcript) == Availability::Deleted
    {
        // Some agents name the file in hooks before they write it. If somebody has deleted it, the log says why nothing is
        // recorded.
        let (key, path) = (live.key(), live.transcript.display());
        recorder.state.log(&format!("warning: {key}: cannot read the transcript '{path}': it is not there"));
        return Ok(None);
    }
    let left_out = &mut live.progress.left_out;
    if left_out.as_ref().is_some_and(|left_out| left_out.is_all(agent, &live.transcript)) {
        return Ok(None);
    }
    let is_rendered = agent.is_rendered(&live.transcript);
    if is_rendered && let Some(new) = LeftOut::of_document(agent, &live.transcript, left_out.as_ref()) {
        *left_out = Some(new);
        return Ok(None);
    }
    let key = live.key();
    if live.progress.stored.segment.is_none() && !recorder.must_wait(&key) {
        archive_repeated(recorder, agent, &key, &live.transcript, &mut live.progress)?;
    }
    let recorded = live.progress.recorded.raw.filter(|raw| *raw > 0 && !is_rendered);
    if limit.is_some_and(|limit| recorded.is_some_and(|recorded| recorded >= limit)) {
        // A later commit has these words already.
        return Ok(None);
    }
    if recorded.is_some_and(|recorded| live.transcript.metadata().is_ok_and(|file| file.len() == recorded)) {
        return Ok(None);
    }
    // Rendering a document costs much more than reading its size and modification time.
    let size_and_mtime = if is_rendered { size_and_mtime(&live.transcript) } else { None };
    if size_and_mtime.is_some() && size_and_mtime == live.progress.size_and_mtime {
        return Ok(None);
    }
    let extent = match limit.filter(|limit| !is_rendered && live.progress.stored.raw <= Some(*limit)) {
        Some(limit) => Extent::Until(limit),
        None if live.is_over => Extent::Over,
        None => Extent::Complete,
    };
    let increment = unrecorded_in(recorder, key, agent, &live.transcript, extent, &mut live.progress)?;
    live.progress.size_and_mtime = size_and_mtime.filter(|_| increment.is_none());
    Ok(increment.map(|increment| Increment { model: live.model.clone(), size_and_mtime, ..increment }))
}

/// Archives the part of a session that is copied from the session it was forked from. This part counts as recorded: the
/// commits of that session have it.
///
/// # Errors
///
/// If the transcript cannot be read, or not be stored.
pub(super) fn archive_repeated(
    recorder: &mut Recorder<'_>,
    agent: &'static dyn Agent,
    key: &SessionKey,
    transcript: &Path,
    progress: &mut Progress,
) -> Result<()> {
    recorder.recover_progress(key, progress);
    // Purged words that were left out have no segment.
    if progress.stored.segment.is_some() || progress.stored.raw.is_some() {
        return Ok(());
    }
    if let Some((purged, until)) = repeated_purged(&recorder.state, agent, transcript, recorder.deadline) {
        let mut reading = recorder.reading(agent, key, progress, transcript, Extent::Until(until))?;
        reading.skip_to_end(&recorder.archive)?;
        if reading.skipped(progress).is_some() {
            let what = format!("it repeats {purged}, of which words were purged, up to byte {until}");
            recorder.state.log(&format!("warning: {key}: {what}; only what comes after is stored"));
            recorder.state.mark_begun_late(key)?;
        }
        return Ok(());
    }
    let Some(until) = agent.repeated_bytes(transcript, recorder.deadline) else { return Ok(()) };
    let extent = Extent::Until(until);
    if let Some(mut increment) = unrecorded_in(recorder, key.clone(), agent, transcript, extent, progress)? {
        recorder.try_record(&mut increment, progress)?;
        progress.recorded = progress.stored.clone();
        progress.set_before(Some(increment.survey.tally.end()));
    }
    Ok(())
}

/// Reads the unrecorded part of one transcript, without the cheap check for changes.
pub(super) fn unrecorded_in<'r>(
    recorder: &mut Recorder<'r>,
    key: SessionKey,
    agent: &'static dyn Agent,
    path: &Path,
    extent: Extent,
    progress: &mut Progress,
) -> Result<Option<Increment<'r>>> {
    recorder.recover_progress(&key, progress);
    let reading = recorder.reading(agent, &key, progress, path, extent)?;
    if let Some(warning) = reading.skipped(progress) {
        recorder.state.log(&warning);
        let is_ours = || recorder.purged.concern(recorder.repo, &key, &[]).unwrap_or(true);
        if !recorder.state.is_purged(&key) && !is_ours() {
            let what = format!("others have purged words of session {key}, and what it has so far is not recorded");
            recorder.warn(Error::other(what).hint("'git shiftlog purge --received' lists what they have purged"));
        }
        recorder.state.mark_begun_late(&key)?;
        return Ok(None);
    }
    let (increment, is_cut) = surveyed(recorder, key, reading, progress.recorded.clone())?;
    let known = progress.left_out.take();
    let length = || agent.stored_bytes(path).unwrap_or_default();
    progress.left_out = is_cut.then(|| LeftOut::of_line(length(), increment.is_some(), known.as_ref()));
    Ok(increment.map(|increment| Increment { transcript: Some(path.to_owned()), ..increment }))
}

/// Returns the increment from `since` to the end of a transcript; `None` if it is empty.
pub(super) fn increment_since<'a>(
    recorder: &Recorder<'_>,
    key: SessionKey,
    reading: Reading<'a>,
    since: SegmentEnd,
) -> Result<Option<Increment<'a>>> {
    surveyed(recorder, key, reading, since).map(|(increment, _)| increment)
}

/// Returns the increment from `since`, and whether it stops before a line that is too long.
fn surveyed<'a>(
    recorder: &Recorder<'_>,
    key: SessionKey,
    mut reading: Reading<'a>,
    since: SegmentEnd,
) -> Result<(Option<Increment<'a>>, bool)> {
    let (from, end) = (reading.position(&since)?, reading.end());
    let survey = reading.survey(&since, from, end)?;
    let until = survey.until;
    let is_cut = end.saturating_sub(until) >= MAX_LINE_BYTES;
    if is_cut {
        recorder.state.log(&format!("warning: {key}: a line is too long; nothing is recorded from it on"));
    }
    let increment = Increment::new(key, reading, survey, since);
    Ok(((until > from).then_some(increment), is_cut))
}
