//! The words of sessions that go on in a worktree, for a reader who cannot wait for a commit. Stores nothing.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use super::progress::Progress;
use super::reading::{Extent, Reading, SessionContext};
use super::sessions::{named_by_environment, recent_unreported};
use super::state::State;
use super::tracked::TrackedSession;
use crate::agent;
use crate::archive::Archive;
use crate::error::Result;
use crate::git::Repository;
use crate::record::redaction;
use crate::record::tombstone::Tombstones;
use crate::transcript::SessionKey;

/// The longest transcript that is read whole, in bytes; of a longer one only the unrecorded part is read.
const MAX_BYTES: u64 = 32 << 20;

/// The words of a session.
#[derive(Debug)]
pub struct Spoken {
    /// The session.
    pub key: SessionKey,
    /// The model that a hook named last.
    pub model: Option<String>,
    /// Its lines without secrets, or why they cannot be read.
    pub words: Result<Vec<u8>>,
}

/// Returns the words of this worktree's sessions that commits may not have, each session followed by its sub-agents. A session
/// with purged words is left out: the agent's own file may still have these words.
pub fn spoken(repo: &Repository, deadline: Instant) -> Vec<Spoken> {
    let state = State::new(&repo.common_dir());
    let mut sessions = state.sessions();
    sessions.extend(recent_unreported(&state, repo.worktree(), &sessions));
    sessions.extend(named_by_environment(&state, repo.worktree(), &sessions));
    let is_here = |live: &TrackedSession| live.worktree.is_none() || live.worktree.as_deref() == repo.worktree();
    let mut found = Vec::new();
    let redaction = Rc::new(redaction::redactor(repo));
    // Without the marks, purged words could be returned again.
    let Ok(purged) = Tombstones::read(repo) else { return Vec::new() };
    let is_purged = |key: &SessionKey| purged.concern(repo, key, &[]).unwrap_or(true);
    for live in sessions.into_iter().filter(is_here) {
        let Some(agent) = agent::find(&live.agent) else { continue };
        let read = |key: &SessionKey, transcript: &Path, progress: &Progress| {
            let archive = Archive::new(repo);
            let context = SessionContext {
                archive: &archive,
                agent,
                key,
                redaction: &redaction,
                purged: Some(&purged),
                deadline: Some(deadline),
            };
            let extent = if live.is_over { Extent::Over } else { Extent::Complete };
            let mut reading = Reading::open(context, progress, transcript, extent)?;
            let end = reading.end();
            let from = if end <= MAX_BYTES { 0 } else { reading.position(&progress.recorded)? };
            reading.bytes(from, end)
        };
        let key = live.key();
        if is_purged(&key) {
            continue;
        }
        let words = read(&key, &live.transcript, &live.progress);
        found.push(Spoken { key, model: live.model.clone(), words });
        for sub_agent in agent.sub_agents(&live.transcript) {
            let key = SessionKey::new(&live.agent, sub_agent.session_id);
            if is_purged(&key) {
                continue;
            }
            let progress = live.sub_agents.get(&key.id).cloned().unwrap_or_default();
            let words = read(&key, &sub_agent.transcript, &progress);
            found.push(Spoken { key, model: None, words });
        }
    }
    found
}
