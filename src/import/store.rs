//! Storing the sessions of a plan, each through the same path as a hook.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use twox_hash::XxHash3_64;

use super::{Done, Fate, Import, Planned, Source};
use crate::agent::Agent;
use crate::capture;
use crate::capture::parts::record_parts;
use crate::capture::progress::Progress;
use crate::capture::recorder::Recorder;
use crate::capture::segment_end::SegmentEnd;
use crate::capture::sessions::new_live;
use crate::error::{Error, Result};
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::progress::Tell;
use crate::record::Note;
use crate::transcript::end_last_line;

/// How long the writes of one session may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long to wait for a hook that is running.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Stores the sessions of a plan and records them on their commits, each through the same path as a hook.
///
/// A session that somebody else has recorded since is left alone. One that fails is a problem, and the others go on. What
/// has been done when this is ended early stays, and is not done again. `tell` gets how many sessions of how many are done.
pub fn carry_out(repo: &Repository, notes_ref: &str, plan: &Import, tell: Tell<'_>) -> Done {
    let mut done = Done::default();
    let mut recorder = capture::recorder(repo, notes_ref);
    for (number, planned) in plan.sessions.iter().enumerate() {
        tell("Recording sessions", number, plan.sessions.len());
        recorder.release_lock(Instant::now() + TIMEOUT);
        if !matches!(planned.fate, Fate::Recorded | Fate::Archived) {
            continue;
        }
        let before = recorder.report.recorded.len();
        match import(&mut recorder, planned) {
            Ok(Imported::More) => drop(done.archived.insert(planned.key.clone())),
            Ok(Imported::Nothing) => {}
            Ok(Imported::Changed) => drop(done.changed.insert(planned.key.clone())),
            Err(error) => {
                done.problems.push(Error::other(format!("session {}", planned.key)).because(error.to_string()))
            }
        }
        let commit_ids: BTreeSet<ObjectId> = recorder.report.recorded[before..].iter().map(|(id, _)| *id).collect();
        if !commit_ids.is_empty() {
            done.archived.remove(&planned.key);
            done.recorded.insert(planned.key.clone(), commit_ids);
        }
    }
    done.report = recorder.finish();
    done
}

/// What storing a session came to.
enum Imported {
    /// The archive has more than before.
    More,
    /// It has the same as before.
    Nothing,
    /// It was not tried: the session is not any more what the plan saw.
    Changed,
}

/// Stores one session, and brings our own state up to date.
fn import(recorder: &mut Recorder<'_>, planned: &Planned) -> Result<Imported> {
    // From the second look on, no hook comes in between.
    let _lock = recorder.state.lock(Instant::now() + LOCK_TIMEOUT)?;
    if let Some(error) = recorder.state.interrupted_purge() {
        return Err(error);
    }
    let before = recorder.state.session(&planned.key);
    if before != planned.live || has_changed(recorder, planned)? {
        return Ok(Imported::Changed);
    }
    let path = planned.sources.first().map(|source| source.path.clone()).unwrap_or_default();
    let mut live = before.clone().unwrap_or_else(|| {
        let mut live = new_live(&planned.key, path);
        (live.is_over, live.worktree) = (true, Some(planned.worktree.clone()));
        live
    });
    let mut has_more = false;
    let mut outcome = Ok(());
    for source in &planned.sources {
        let progress = match source.key == planned.key {
            true => &mut live.progress,
            false => live.sub_agents.entry(source.key.id.clone()).or_default(),
        };
        if progress.stored == SegmentEnd::default() {
            *progress = source.progress.clone();
        }
        let stored = progress.stored.clone();
        outcome = outcome.and_then(|()| import_source(recorder, planned.agent, source, progress));
        has_more |= progress.stored.segment != stored.segment;
    }
    // What was recorded before a failure must be known next time.
    if recorder.state.session(&planned.key) == before {
        if before.is_some() { recorder.state.update(&live)? } else { recorder.state.save_imported(&live)? }
    }
    outcome.map(|()| if has_more { Imported::More } else { Imported::Nothing })
}

/// Says whether the archive has another end of a session than it had, or its commits have records of it by now.
fn has_changed(recorder: &Recorder<'_>, planned: &Planned) -> Result<bool> {
    for source in &planned.sources {
        if recorder.archive.newest(&source.key)? != source.newest {
            return Ok(true);
        }
    }
    for link in &planned.links {
        let note = notes::get(recorder.repo, &recorder.notes_ref, link.commit_id)?.unwrap_or_default();
        if Note::parse(&note).records().any(|record| record.key() == planned.key) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn import_source(
    recorder: &mut Recorder<'_>,
    agent: &dyn Agent,
    source: &Source,
    progress: &mut Progress,
) -> Result<()> {
    let mut bytes = agent.read(&source.path)?;
    let is_same = bytes.get(..source.length).is_some_and(|start| XxHash3_64::oneshot(start) == source.check);
    if !is_same {
        return Err(Error::other(format!("'{}' has changed meanwhile", source.path.display())));
    }
    if source.is_finished && bytes.len() == source.length {
        end_last_line(&mut bytes);
    }
    record_parts(recorder, &source.key, bytes, &source.ends, progress)
}
