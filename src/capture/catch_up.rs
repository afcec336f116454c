//! Storing the pending files of earlier commands and hooks. Every recorder begins with this.

use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use super::availability::{Availability, availability};
use super::awaited::record_awaited_results;
use super::commit::{record_commit, was_deleted};
use super::increment::Increment;
use super::new_commit::NewCommit;
use super::new_words::{archive_repeated, increment_since};
use super::pending::{self, Capture, Pending, PendingCommit};
use super::progress::Progress;
use super::reading::{Extent, Reading, Source};
use super::recorder::{HOOK_TIMEOUT_SECS, LOCK_TIMEOUT, Recorder};
use super::rewritten;
use super::segment_end::SegmentEnd;
use super::sessions::{KEEP_SECS, save_changed};
use super::taken_back::carry_taken_back_late;
use super::tracked::TrackedSession;
use crate::agent::{self, Agent};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{Repository, private};
use crate::hex;
use crate::record::kept;
use crate::transcript::{SessionKey, line_ends};

/// How long a command may take to store pending files.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a hook may take to store pending files before its own work.
const PENDING_SHARE: Duration = Duration::from_millis(200);

/// The largest file of an agent's in which lines are counted, in bytes.
const MAX_COUNTED_BYTES: u64 = 32 << 20;

/// Which pending commits a new recorder leaves unstored.
#[derive(Clone, Copy, Debug)]
pub enum Leave<'k> {
    /// None: everything pending is stored.
    Nothing,
    /// Those that this session made: the caller stores them, together with the tool call that made them. And those of other
    /// running sessions.
    CommitsOf(&'k SessionKey),
    /// Those that other running sessions made: their own hooks know whether the same call has undone a commit.
    CommitsOfOthers(&'k SessionKey),
    /// All of them.
    Commits,
}

/// Makes a recorder for a command. Waits for other hooks and commands to finish, then stores pending captures.
pub fn recorder<'r>(repo: &'r Repository, notes_ref: &str) -> Recorder<'r> {
    command_recorder(repo, notes_ref, LOCK_TIMEOUT)
}

/// Makes a recorder for a command that waits for the lock at most for `lock_limit`.
pub(super) fn command_recorder<'r>(repo: &'r Repository, notes_ref: &str, lock_limit: Duration) -> Recorder<'r> {
    let mut recorder =
        within(Recorder::open(repo, notes_ref, COMMAND_TIMEOUT, lock_limit), COMMAND_TIMEOUT, Leave::Nothing);
    if recorder.hindrance().is_none()
        && let Err(error) = record_awaited_results(&mut recorder)
    {
        recorder.warn(error);
    }
    recorder
}

/// Makes a recorder for a hook. Its deadline is `shiftlog.hookTimeout`; pending commits of `leave` are left to the
/// caller.
pub fn hook_recorder<'r>(repo: &'r Repository, notes_ref: &str, leave: Leave<'_>) -> Recorder<'r> {
    // Pending files must not use up the time for the new commit.
    within(Recorder::open(repo, notes_ref, hook_timeout(repo), LOCK_TIMEOUT), PENDING_SHARE, leave)
}

/// Returns `shiftlog.hookTimeout`.
pub fn hook_timeout(repo: &Repository) -> Duration {
    let seconds = repo.config_integer("shiftlog.hookTimeout").unwrap_or(HOOK_TIMEOUT_SECS).clamp(0, 3600);
    Duration::from_secs(seconds.unsigned_abs())
}

/// Stores what waits, within `pending_share`, and returns the recorder.
fn within<'r>(mut recorder: Recorder<'r>, pending_share: Duration, leave: Leave<'_>) -> Recorder<'r> {
    if let Some(error) = recorder.hindrance() {
        // The user is warned only when there is something to store, by the code that stores it.
        recorder.state.log(&format!("warning: {error}"));
        return recorder;
    }
    let deadline = recorder.deadline;
    match kept::rejoin(recorder.repo, &recorder.notes_ref, deadline) {
        Ok(joined) => joined.iter().for_each(|name| recorder.state.log(&format!("restored what '{name}' had lost"))),
        Err(error) => recorder.state.log(&format!("warning: {error}")),
    }
    recorder.deadline = deadline.min(Instant::now() + pending_share);
    // Notes are carried after the captures are stored, because a capture may add to the note of an old commit.
    let stored = store_pending(&mut recorder, leave);
    recorder.begin(None);
    match stored.and_then(|()| rewritten::carry_pending(&mut recorder)) {
        Ok(()) => {}
        // Only the sessions in `waiting` are held up.
        Err(error) if !recorder.waiting.is_empty() => recorder.warn(error),
        Err(error) => {
            recorder.is_blocked = true;
            recorder.warn(error);
        }
    }
    recorder.deadline = deadline;
    recorder
}

/// Stores pending files, oldest first. If one does not fit into the time, later files of the same sessions are skipped
/// and those of other sessions stored.
///
/// # Errors
///
/// [`Kind::Busy`] if only the sessions in `Recorder::waiting` are held up. [`Kind::Storage`] if nothing can be stored.
fn store_pending(recorder: &mut Recorder<'_>, leave: Leave<'_>) -> Result<()> {
    let pending_files = pending::list(&recorder.state);
    // Usually nothing waits, and nobody needs to know who is running.
    let running: Vec<SessionKey> = match leave {
        Leave::CommitsOf(_) | Leave::CommitsOfOthers(_) if !pending_files.is_empty() => {
            recorder.state.sessions().iter().filter(|live| will_report(live)).map(TrackedSession::key).collect()
        }
        _ => Vec::new(),
    };
    let is_of = |commit: &PendingCommit, session: &SessionKey| commit.runners.contains(&session.to_string());
    let is_left = |commit: &PendingCommit| match leave {
        Leave::Nothing => false,
        Leave::CommitsOf(own) => is_of(commit, own) || running.iter().any(|other| is_of(commit, other)),
        Leave::CommitsOfOthers(own) => running.iter().any(|other| other != own && is_of(commit, other)),
        Leave::Commits => true,
    };
    let is_new = |commit: &PendingCommit| commit.time > Time::now().seconds - KEEP_SECS;
    let mut unfinished = Ok(());
    for path in pending_files {
        let pending = match pending::read_head(&path) {
            Ok(Pending::Commit(commit)) if is_left(&commit) => continue,
            // Its objects may come.
            Ok(Pending::Commit(commit)) if is_new(&commit) && !commit.is_there(recorder.repo) => continue,
            Ok(pending) => pending,
            // Another process has stored and removed it.
            Err(_) if !path.exists() => continue,
            Err(error) => {
                warn_once(recorder, &path, error);
                continue;
            }
        };
        recorder.begin(Some(path.clone()));
        let must_wait = pending.sessions().iter().any(|session| recorder.waiting.contains(session));
        let is_late = Instant::now() >= recorder.deadline;
        let outcome = match &pending {
            _ if must_wait || is_late => {
                Err(Error::new(Kind::Busy, format!("there was no time to store '{}'", path.display())))
            }
            Pending::Commit(commit) => store_commit(recorder, commit).map(|()| commit.is_there(recorder.repo)),
            Pending::Capture(capture) => match agent::named(&capture.agent) {
                Ok(agent) if is_lost(agent, capture, &path) => {
                    recorder.warn(was_deleted(&SessionKey::new(&capture.agent, &capture.session).to_string()));
                    Ok(false)
                }
                Ok(agent) => {
                    let read = pending::read(&path);
                    read.and_then(|(_, bytes)| store_capture(recorder, agent, capture, bytes)).map(|()| true)
                }
                Err(error) => {
                    warn_once(recorder, &path, error);
                    continue;
                }
            },
        };
        match outcome {
            Ok(is_stored) => {
                std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
                let done = if is_stored { "stored" } else { "gave up" };
                recorder.state.log(&format!("{done} '{}'", path.display()));
            }
            Err(error) if error.kind() == Kind::Storage => return Err(error),
            Err(error) if error.kind() == Kind::Busy => {
                match pending {
                    // Its other sessions are recorded.
                    Pending::Commit(_) if !must_wait && !is_late => pending::keep_sessions(&path, &recorder.waiting)?,
                    pending => recorder.waiting.extend(pending.sessions()),
                }
                unfinished = unfinished.and(Err(error));
            }
            // One file that cannot be stored must not hold up the others.
            Err(error) => recorder.warn(Error::other(format!("cannot store '{}'", path.display())).because(error)),
        }
    }
    unfinished
}

/// Says whether a hook of a session will follow the tool call that it makes.
fn will_report(live: &TrackedSession) -> bool {
    live.has_tool_hooks && !live.is_over && live.process.is_some_and(|process| process.is_alive())
}

/// Says whether the words of a pending file are only in a transcript that was deleted, or that has been out of reach for as
/// long as sessions are kept.
fn is_lost(agent: &dyn Agent, capture: &Capture, path: &Path) -> bool {
    let kept = Duration::from_secs(KEEP_SECS.unsigned_abs());
    let is_old = || {
        path.metadata().and_then(|file| file.modified()).is_ok_and(|time| time.elapsed().is_ok_and(|age| age > kept))
    };
    let unredacted = capture.transcript.as_ref().filter(|_| capture.record.is_none());
    unredacted.is_some_and(|unredacted| match availability(agent, &unredacted.path) {
        Availability::Present => false,
        Availability::Deleted => true,
        Availability::Unreachable => is_old(),
    })
}

/// Warns, once, of a file that is damaged or of an unknown agent. The file stays and is tried again, since a later
/// release may be able to store it.
fn warn_once(recorder: &mut Recorder<'_>, path: &Path, error: Error) {
    let is_warned = path.extension().is_some_and(|extension| extension == pending::WARNED);
    let mut warned = path.as_os_str().to_owned();
    warned.push(".");
    warned.push(pending::WARNED);
    if !is_warned && std::fs::rename(path, warned).is_ok() {
        recorder.warn(Error::other(format!("cannot store '{}'", path.display())).because(error));
    }
}

/// Records the sessions that belong to a pending commit.
///
/// # Errors
///
/// If the repository or our own state cannot be read or written.
fn store_commit(recorder: &mut Recorder<'_>, pending: &PendingCommit) -> Result<()> {
    let new_commit = NewCommit::from_pending(recorder.repo, pending);
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    let known: Vec<SessionKey> = sessions.iter().map(TrackedSession::key).collect();
    let is_new = |live: &&TrackedSession| !known.contains(&live.key());
    sessions.extend(
        pending
            .unreported
            .iter()
            .filter(is_new)
            .map(|live| recorder.state.session(&live.key()).unwrap_or(live.clone())),
    );
    let outcome = record_commit(recorder, &new_commit, &mut sessions);
    // The hook that would have done so may never come.
    if outcome.is_ok()
        && let Err(error) = carry_taken_back_late(recorder, &new_commit)
    {
        recorder.warn(error);
    }
    save_changed(recorder, &before, &sessions).and(outcome)
}

fn store_capture(
    recorder: &mut Recorder<'_>,
    agent: &'static dyn Agent,
    capture: &Capture,
    bytes: Vec<u8>,
) -> Result<()> {
    let commit_ids: Vec<_> = capture.commits.iter().filter_map(|hex| recorder.repo.parse_id(hex)).collect();
    if let Some(record) = &capture.record {
        return recorder.write_record(record, &commit_ids);
    }
    let key = SessionKey::new(&capture.agent, &capture.session);
    // The progress of a sub-agent is in the file of its session.
    let owner = key.parent_id().map_or_else(|| key.clone(), |parent| SessionKey::new(&key.agent, parent));
    let mut live = recorder.state.session(&owner);
    let mut unknown = Progress::default();
    let progress = match &mut live {
        Some(live) if owner == key => &mut live.progress,
        Some(live) => live.sub_agents.entry(key.id.clone()).or_default(),
        None => &mut unknown,
    };
    recorder.recover_progress(&key, progress);
    let line_count = line_ends(&bytes).count();
    let mut reading = match &capture.transcript {
        Some(unredacted) if availability(agent, &unredacted.path) != Availability::Present => {
            let message = format!("the transcript '{}' is out of reach", unredacted.path.display());
            return Err(Error::new(Kind::Busy, message));
        }
        Some(unredacted) => {
            if owner == key {
                archive_repeated(recorder, agent, &key, &unredacted.path, progress)?;
            }
            recorder.reading(agent, &key, progress, &unredacted.path, Extent::Until(unredacted.until))?
        }
        None => {
            let from = capture.from.segment.as_deref().and_then(|hex| recorder.repo.parse_id(hex));
            let source: Box<dyn Source> = match from {
                Some(segment_id) => Box::new(recorder.archive.open(segment_id)?.followed_by(capture.from.bytes, bytes)),
                None => Box::new(Cursor::new(bytes)),
            };
            // This text was redacted before, so the places where an earlier capture could resume may be others here.
            let known = Progress { resume_points: Vec::new(), ..progress.clone() };
            Reading::of_source(recorder.context(agent, &key), &known, source)?
        }
    };
    // If later words have been recorded since, this capture keeps its own beginning and end.
    let is_overtaken = reading.end() > 0 && reading.position(&progress.recorded)? >= reading.end();
    let since = match is_overtaken {
        true => capture.since.clone().unwrap_or_default(),
        false => progress.recorded.clone(),
    };
    let Some(mut increment) = increment_since(recorder, key.clone(), reading, since)? else { return Ok(()) };
    increment.commit_ids = commit_ids;
    if is_overtaken {
        return record_overtaken(recorder, increment);
    }
    recorder.try_record(&mut increment, progress)?;
    if let Some(live) = &mut live
        && owner == key
        && capture.transcript.is_none()
        && recorder.state.is_purged(&key)
    {
        set_position(live, &capture.from, line_count);
    }
    live.map_or(Ok(()), |live| recorder.state.save(&live))
}

/// Sets how far the agent's own file is stored, after `line_count` of its lines behind `from` were stored from a pending file. After
/// a purge the archive does not tell it: its lines have other lengths than those of the file.
fn set_position(live: &mut TrackedSession, from: &SegmentEnd, line_count: usize) {
    let Some((file, start)) = private::read(&live.transcript, MAX_COUNTED_BYTES).ok().zip(from.raw) else { return };
    let Some(behind) = usize::try_from(start).ok().and_then(|start| file.get(start..)) else { return };
    let Some(length) = line_ends(behind).nth(line_count.saturating_sub(1)).filter(|_| line_count > 0) else { return };
    let end = start + length as u64;
    let is_recorded = live.progress.recorded == live.progress.stored;
    live.progress.stored.raw = Some(end);
    live.progress.xxh3 = Some(hex::xxh3(&file[..start as usize + length]));
    if is_recorded {
        live.progress.recorded = live.progress.stored.clone();
    }
}

/// Records an increment that is already archived, with later words behind it.
fn record_overtaken(recorder: &mut Recorder<'_>, mut increment: Increment<'_>) -> Result<()> {
    let segment_ids: Vec<_> = increment.reading.cut(&recorder.archive)?.into_iter().collect();
    if !segment_ids.is_empty() {
        recorder.archive.add(&increment.key, &segment_ids, recorder.deadline)?;
    }
    let mut own = Progress::default();
    increment.reading.update(&mut own);
    let record = recorder.record_of(&increment, &own.stored)?;
    recorder.write_record(&record, &increment.commit_ids)
}
