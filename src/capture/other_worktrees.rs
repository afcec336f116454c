//! The sessions that ran in other worktrees, remembered so that commits do not read their transcripts again.

use std::path::{Path, PathBuf};

use super::state::{State, with_line};
use crate::git::private;
use crate::outside;
use crate::transcript::SessionKey;

/// How many sessions that ran in another worktree are remembered.
const MAX_SESSIONS: usize = 1000;

/// A cache of sessions that ran in other worktrees, one line each: it saves reading their transcripts at every commit.
pub(super) struct SessionsOfOtherWorktrees {
    path: PathBuf,
    lines: String,
    worktree: String,
}

impl SessionsOfOtherWorktrees {
    fn line(&self, key: &SessionKey) -> String {
        format!("{key} {}", self.worktree)
    }

    /// Says whether the cache names this session.
    pub fn contains(&self, key: &SessionKey) -> bool {
        let line = self.line(key);
        self.lines.lines().any(|known| known == line)
    }

    /// Adds a session. A failed write costs only time at the next commit.
    pub fn add(&mut self, key: &SessionKey) {
        self.lines = with_line(&self.lines, &self.line(key), MAX_SESSIONS);
        let _ = private::write(&self.path, self.lines.as_bytes());
    }
}

impl State {
    /// Reads the cache of sessions that did not run in `worktree`.
    pub(super) fn sessions_of_other_worktrees(&self, worktree: &Path) -> SessionsOfOtherWorktrees {
        let path = self.root().join("elsewhere");
        let lines = private::text(&path);
        SessionsOfOtherWorktrees { path, lines, worktree: outside::line(&worktree.to_string_lossy()) }
    }
}
