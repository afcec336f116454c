//! Storing what earlier commands had to put aside.

use std::io::Cursor;
use std::path::Path;
use std::time::Instant;

use super::hook::Made;
use super::pending::{self, Capture, Link, Pending};
use super::reading::{Extent, Reading, Source};
use super::recorder::{Leave, Recorder, Stretch};
use super::state::{Live, Progress};
use crate::agent::{self, Agent};
use crate::error::{Error, Kind, Result};
use crate::transcript::SessionKey;

/// Stores what is pending, oldest first. Where something takes too long, later words of the same sessions wait behind it
/// and the others are stored.
///
/// # Errors
///
/// What stands in the way: of [`Kind::Busy`] it is in the way of `Recorder::waiting` alone, otherwise of everything.
pub fn store_pending(recorder: &mut Recorder<'_>, leave: Leave<'_>) -> Result<()> {
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
                recorder.waiting.extend(pending.sessions());
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
    let outcome = recorder.link_commit(&made, &mut sessions);
    recorder.save_changed(&before, &sessions).and(outcome)
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
