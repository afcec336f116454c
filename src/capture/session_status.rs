//! The present state: the words of sessions since they were last recorded on a commit, and pending captures. Stores and
//! records nothing.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::pending;
use super::reading::{Extent, Reading, SessionContext};
use super::sessions::{is_going_on, named_by_environment, recent_unreported};
use super::state::State;
use super::tracked::TrackedSession;
use crate::agent;
use crate::archive::Archive;
use crate::error::Result;
use crate::git::Repository;
use crate::git::date::Time;
use crate::record::redaction;
use crate::transcript::{SessionKey, Tally};

/// The advice for a pending capture whose transcript cannot be read.
pub const HOW_TO_READ: &str = "make the transcript readable, or delete it, and run 'git shiftlog log'";

/// How long reading all transcripts may take in all.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A session that is running, or that has words which no commit has.
#[derive(Debug)]
pub struct SessionStatus {
    /// The session.
    pub key: SessionKey,
    /// The top of the working tree that the session works in, if known.
    pub worktree: Option<PathBuf>,
    /// Whether the session is running, as far as its hooks and its process show.
    pub is_going_on: bool,
    /// When a hook last ran for the session, in seconds since the epoch.
    pub seen: i64,
    /// The counts of the words that no commit has.
    pub tally: Tally,
    /// The length of these words in its transcript.
    pub bytes: u64,
    /// Why its transcript could not be read.
    pub problem: Option<String>,
}

/// A file with words or a commit that could not be stored.
#[derive(Debug)]
pub struct PendingFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The sessions in the file, as `agent/session`.
    pub sessions: Vec<String>,
    /// The commits that are to get a record, in hex.
    pub commits: Vec<String>,
}

/// Returns the sessions that a commit made now would examine, by agent and id.
pub fn session_statuses(repo: &Repository) -> Vec<SessionStatus> {
    let state = State::new(&repo.common_dir());
    let mut sessions = state.sessions();
    sessions.extend(recent_unreported(&state, repo.worktree(), &sessions));
    sessions.extend(named_by_environment(&state, repo.worktree(), &sessions));
    let deadline = Instant::now() + TIME_LIMIT;
    let now = Time::now().seconds;
    let mut found = Vec::new();
    for live in sessions {
        let left_out = live.left_out();
        let (tally, bytes, problem) = match news(repo, &live, deadline) {
            _ if left_out.is_some() => (Tally::default(), 0, left_out),
            Ok((tally, bytes)) => (tally, bytes, None),
            Err(error) => (Tally::default(), 0, Some(error.to_string())),
        };
        let is_going_on = is_going_on(&live, now);
        if is_going_on || bytes > 0 || problem.is_some() {
            let (key, worktree, seen) = (live.key(), live.worktree, live.seen);
            found.push(SessionStatus { key, worktree, is_going_on, seen, tally, bytes, problem });
        }
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

/// Counts the words of a session that no commit has, and returns their length in its transcript.
fn news(repo: &Repository, live: &TrackedSession, deadline: Instant) -> Result<(Tally, u64)> {
    if live.has_nothing_new() {
        return Ok((Tally::default(), 0));
    }
    let (archive, key) = (Archive::new(repo), live.key());
    let redaction = Rc::new(redaction::redactor(repo));
    let agent = agent::named(&live.agent)?;
    let context = SessionContext {
        archive: &archive,
        agent,
        key: &key,
        redaction: &redaction,
        purged: None,
        deadline: Some(deadline),
    };
    let extent = if live.is_over { Extent::Over } else { Extent::Complete };
    let mut reading = Reading::open(context, &live.progress, &live.transcript, extent)?;
    let (from, end) = (reading.position(&live.progress.recorded)?, reading.end());
    let survey = reading.survey(&live.progress.recorded, from, end)?;
    Ok((survey.tally, survey.until.saturating_sub(from)))
}

/// Returns the pending files, oldest first.
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

/// Returns why something cannot be stored yet: the first problem with the transcript of a session that it waits for. What waits
/// is as [`waiting`] has it.
pub fn why_waiting(repo: &Repository, waiting: &[PendingFile]) -> Option<String> {
    let is_waited_for = |key: &SessionKey| waiting.iter().any(|file| file.sessions.contains(&key.to_string()));
    if waiting.is_empty() {
        return None;
    }
    session_statuses(repo).into_iter().filter(|session| is_waited_for(&session.key)).find_map(|session| session.problem)
}
