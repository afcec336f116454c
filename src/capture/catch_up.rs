//! Storing what earlier commands and hooks had to put aside. Every recorder begins with it.

use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use super::aside::Stretch;
use super::commit::{Made, link_commit};
use super::pending::{self, Capture, Link, Pending};
use super::reading::{Extent, Reading, Source};
use super::recorder::{HOOK_TIMEOUT_SECS, Recorder};
use super::rewritten;
use super::sessions::save_changed;
use super::state::{Live, Progress};
use crate::agent::{self, Agent};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::record::kept;
use crate::transcript::SessionKey;

/// How long a command that somebody has typed may take to store what is pending.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a hook may take to store what is pending before its own work.
const PENDING_SHARE: Duration = Duration::from_millis(200);

/// What a new recorder does not store, of what is pending.
#[derive(Clone, Copy, Debug)]
pub enum Leave<'k> {
    /// It stores everything.
    Nothing,
    /// The commits that this session made: the caller knows of which tool call they are.
    CommitsOf(&'k SessionKey),
    /// All commits whose sessions have not been looked at.
    Commits,
}

/// Makes a recorder for a command: it waits for other hooks to finish, and stores what is pending first.
pub fn recorder<'r>(repo: &'r Repository, notes_ref: &str) -> Recorder<'r> {
    within(repo, notes_ref, COMMAND_TIMEOUT, COMMAND_TIMEOUT, Leave::Nothing)
}

/// Makes a recorder for a hook, which has `shiftlog.hookTimeout` and leaves some of what is pending to the caller.
pub fn hook_recorder<'r>(repo: &'r Repository, notes_ref: &str, leave: Leave<'_>) -> Recorder<'r> {
    // What was put aside must not use up the time for what is new.
    within(repo, notes_ref, hook_timeout(repo), PENDING_SHARE, leave)
}

/// Returns how long a hook may take.
fn hook_timeout(repo: &Repository) -> Duration {
    let seconds = repo.config_integer("shiftlog.hookTimeout").unwrap_or(HOOK_TIMEOUT_SECS).clamp(0, 3600);
    Duration::from_secs(seconds.unsigned_abs())
}

fn within<'r>(
    repo: &'r Repository,
    notes_ref: &str,
    time_limit: Duration,
    pending_share: Duration,
    leave: Leave<'_>,
) -> Recorder<'r> {
    let mut recorder = Recorder::open(repo, notes_ref, time_limit);
    if let Some(error) = recorder.hindrance() {
        // Who has something to store is told when that fails.
        recorder.state.log(&format!("warning: {error}"));
        return recorder;
    }
    let deadline = recorder.deadline;
    match kept::rejoin(repo, notes_ref, deadline) {
        Ok(joined) => joined.iter().for_each(|name| recorder.state.log(&format!("joined again what '{name}' had"))),
        Err(error) => recorder.state.log(&format!("warning: {error}")),
    }
    recorder.deadline = deadline.min(Instant::now() + pending_share);
    // Notes are carried behind the captures: these may belong to the old commits.
    match store_pending(&mut recorder, leave).and_then(|()| rewritten::carry_pending(&mut recorder)) {
        Ok(()) => {}
        // Only the sessions that it is about must wait.
        Err(error) if !recorder.waiting.is_empty() => recorder.warn(error),
        Err(error) => {
            recorder.is_blocked = true;
            recorder.warn(error);
        }
    }
    recorder.deadline = deadline;
    recorder
}

/// Stores what is pending, oldest first. Where something takes too long, later words of the same sessions wait behind it
/// and the others are stored.
///
/// # Errors
///
/// What stands in the way: of [`Kind::Busy`] it is in the way of `Recorder::waiting` alone, otherwise of everything.
fn store_pending(recorder: &mut Recorder<'_>, leave: Leave<'_>) -> Result<()> {
    let is_left = |link: &Link| match leave {
        Leave::Nothing => false,
        Leave::CommitsOf(session) => link.ran.contains(&session.to_string()),
        Leave::Commits => true,
    };
    let mut unfinished = Ok(());
    for path in pending::list(&recorder.state) {
        let pending = match pending::read_head(&path) {
            Ok(Pending::Link(link)) if is_left(&link) => continue,
            Ok(pending) => pending,
            // Another process has stored it meanwhile.
            Err(_) if !path.exists() => continue,
            Err(error) => {
                cannot_be_stored(recorder, &path, error);
                continue;
            }
        };
        let must_wait = pending.sessions().iter().any(|session| recorder.waiting.contains(session));
        let is_late = Instant::now() >= recorder.deadline;
        let outcome = match &pending {
            _ if must_wait || is_late => {
                Err(Error::new(Kind::Busy, format!("there was no time to store '{}'", path.display())))
            }
            Pending::Link(link) => store_link(recorder, link),
            Pending::Capture(capture) => match agent::named(&capture.agent) {
                Ok(agent) => pending::read(&path).and_then(|(_, bytes)| store_capture(recorder, agent, capture, bytes)),
                Err(error) => {
                    cannot_be_stored(recorder, &path, error);
                    continue;
                }
            },
        };
        match outcome {
            Ok(()) => {
                std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
                recorder.state.log(&format!("stored '{}'", path.display()));
            }
            Err(error) if error.kind() == Kind::Storage => return Err(error),
            Err(error) if error.kind() == Kind::Busy => {
                match pending {
                    // The others are recorded.
                    Pending::Link(_) if !must_wait && !is_late => pending::keep_sessions(&path, &recorder.waiting)?,
                    pending => recorder.waiting.extend(pending.sessions()),
                }
                unfinished = unfinished.and(Err(error));
            }
            // What cannot be stored must not keep the others waiting.
            Err(error) => recorder.warn(Error::other(format!("cannot store '{}'", path.display())).because(error)),
        }
    }
    unfinished
}

/// Tells once of a file that is damaged, or of an agent that nobody here knows. It stays, and is tried again: a later
/// release may know more.
fn cannot_be_stored(recorder: &mut Recorder<'_>, path: &Path, error: Error) {
    let is_told = path.extension().is_some_and(|extension| extension == pending::TOLD);
    let mut told = path.as_os_str().to_owned();
    told.push(".");
    told.push(pending::TOLD);
    if !is_told && std::fs::rename(path, told).is_ok() {
        recorder.warn(Error::other(format!("cannot store '{}'", path.display())).because(error));
    }
}

/// Records the sessions that belong to a commit which was left for later.
///
/// # Errors
///
/// If the repository or our own state cannot be read or written.
fn store_link(recorder: &mut Recorder<'_>, link: &Link) -> Result<()> {
    let made = Made::of(recorder.repo, link);
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    let known: Vec<SessionKey> = sessions.iter().map(Live::key).collect();
    let is_new = |live: &&Live| !known.contains(&live.key());
    sessions.extend(
        link.others.iter().filter(is_new).map(|live| recorder.state.session(&live.key()).unwrap_or(live.clone())),
    );
    let outcome = link_commit(recorder, &made, &mut sessions);
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
    // What is known of a sub-agent stands with its session.
    let owner = key.parent_id().map_or_else(|| key.clone(), |parent| SessionKey::new(&key.agent, parent));
    let mut live = recorder.state.session(&owner);
    let mut unknown = Progress::default();
    let progress = match &mut live {
        Some(live) if owner == key => &mut live.progress,
        Some(live) => live.sub_agents.entry(key.id.clone()).or_default(),
        None => &mut unknown,
    };
    recorder.recover_progress(&key, progress);
    let mut reading = match &capture.transcript {
        // Where the agent has deleted its file meanwhile, nothing is left to store.
        Some(unredacted) if !unredacted.path.exists() => {
            recorder.state.log(&format!("warning: '{}' is gone before it could be stored", unredacted.path.display()));
            return Ok(());
        }
        Some(unredacted) => {
            recorder.reading(agent, &key, progress, &unredacted.path, Extent::Until(unredacted.until))?
        }
        None => {
            let from = capture.from.segment.as_deref().and_then(|hex| recorder.repo.parse_id(hex));
            let source: Box<dyn Source> = match from {
                Some(segment_id) => Box::new(recorder.archive.open(segment_id)?.followed_by(capture.from.bytes, bytes)),
                None => Box::new(Cursor::new(bytes)),
            };
            Reading::of_source(recorder.subject(agent, &key), progress, source)?
        }
    };
    // If later words have been recorded meanwhile, this capture still ends where it ended.
    let is_overtaken = reading.end() > 0 && reading.position(&progress.recorded)? >= reading.end();
    let since = match is_overtaken {
        true => capture.since.clone().unwrap_or_default(),
        false => progress.recorded.clone(),
    };
    let Some(mut stretch) = recorder.stretch(key, reading, since)? else { return Ok(()) };
    stretch.commit_ids = commit_ids;
    if is_overtaken {
        return record_overtaken(recorder, stretch);
    }
    recorder.try_record(&mut stretch, progress)?;
    live.map_or(Ok(()), |live| recorder.state.save(&live))
}

/// Records a stretch whose words are archived already, with more behind them.
fn record_overtaken(recorder: &mut Recorder<'_>, mut stretch: Stretch<'_>) -> Result<()> {
    let segment_ids: Vec<_> = stretch.reading.cut(&recorder.archive)?.into_iter().collect();
    if !segment_ids.is_empty() {
        recorder.archive.add(&stretch.key, &segment_ids, recorder.deadline)?;
    }
    let mut own = Progress::default();
    stretch.reading.update(&mut own);
    let record = recorder.record_of(&stretch, &own.stored)?;
    recorder.write_record(&record, &stretch.commit_ids)
}
