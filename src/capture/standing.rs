//! How things stand: what sessions have said since they were last recorded on a commit, and what waits to be stored.
//! Nothing is stored or recorded here.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::pending;
use super::reading::{Extent, Reading, SessionContext};
use super::sessions::{is_going_on, named_by_environment, recent_unreported};
use super::state::{LiveSession, State};
use crate::agent;
use crate::archive::Archive;
use crate::error::Result;
use crate::git::Repository;
use crate::git::date::Time;
use crate::record::redaction;
use crate::transcript::{SessionKey, Tally};

/// How long reading all transcripts together may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A session that goes on, or that has words which no commit has.
#[derive(Debug)]
pub struct Standing {
    /// Its name.
    pub key: SessionKey,
    /// The top of the working tree that it works in, if that is known.
    pub worktree: Option<PathBuf>,
    /// Whether it goes on, as far as its hooks have told.
    pub is_going_on: bool,
    /// When a hook last ran for it, in seconds since the epoch.
    pub seen: i64,
    /// What it has said that no commit has.
    pub tally: Tally,
    /// How many bytes of its transcript that is.
    pub bytes: u64,
    /// Why its transcript could not be read.
    pub problem: Option<String>,
}

/// Something that waits in a file because it could not be stored.
#[derive(Debug)]
pub struct PendingFile {
    /// The file.
    pub path: PathBuf,
    /// The sessions that it is about, as `agent/session`.
    pub sessions: Vec<String>,
    /// The commits that it is for, in hex.
    pub commits: Vec<String>,
}

/// Returns the sessions that a commit made now would be compared with, by agent and id.
pub fn standing(repo: &Repository) -> Vec<Standing> {
    let state = State::new(&repo.common_dir());
    let mut sessions = state.sessions();
    sessions.extend(recent_unreported(&state, repo.worktree(), &sessions));
    sessions.extend(named_by_environment(&state, repo.worktree(), &sessions));
    let deadline = Instant::now() + TIME_LIMIT;
    let now = Time::now().seconds;
    let mut found = Vec::new();
    for live in sessions {
        let (tally, bytes, problem) = match news(repo, &live, deadline) {
            Ok((tally, bytes)) => (tally, bytes, None),
            Err(error) => (Tally::default(), 0, Some(error.to_string())),
        };
        let is_going_on = is_going_on(&live, now);
        if is_going_on || bytes > 0 {
            let (key, worktree, seen) = (live.key(), live.worktree, live.seen);
            found.push(Standing { key, worktree, is_going_on, seen, tally, bytes, problem });
        }
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

/// Counts what a session has said that no commit has, and its bytes.
fn news(repo: &Repository, live: &LiveSession, deadline: Instant) -> Result<(Tally, u64)> {
    if live.has_nothing_new() {
        return Ok((Tally::default(), 0));
    }
    let (archive, key) = (Archive::new(repo), live.key());
    let redaction = Rc::new(redaction::redactor(repo));
    let agent = agent::named(&live.agent)?;
    let context =
        SessionContext { archive: &archive, agent, key: &key, redaction: &redaction, deadline: Some(deadline) };
    let extent = if live.is_over { Extent::Over } else { Extent::Complete };
    let mut reading = Reading::open(context, &live.progress, &live.transcript, extent)?;
    let (from, end) = (reading.position(&live.progress.recorded)?, reading.end());
    let survey = reading.survey(from, end)?;
    Ok((survey.tally, survey.until.saturating_sub(from)))
}

/// Returns what waits to be stored, oldest first.
pub fn waiting(repo: &Repository) -> Vec<PendingFile> {
    let state = State::new(&repo.common_dir());
    let read = |path: PathBuf| {
        let pending = pending::read_head(&path).ok();
        let sessions = pending.as_ref().map(|pending| pending.sessions()).unwrap_or_default();
        let commits = pending.iter().flat_map(|pending| pending.commits()).map(str::to_owned).collect();
        PendingFile { path, sessions, commits }
    };
    pending::list(&state).into_iter().map(read).collect()
}
