//! The transcripts of past sessions that ran in this repository, as the agents' own stores have them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Request;
use crate::agent::{Agent, FoundTranscript};
use crate::capture;
use crate::git::Worktree;
use crate::transcript::SessionKey;

/// How many directories below the top of a worktree are asked for.
const MAX_SUBDIRECTORIES: usize = 256;

/// A transcript in an agent's store, with where it was found.
pub struct Stored {
    pub agent: &'static dyn Agent,
    pub found: FoundTranscript,
    pub directory: PathBuf,
    pub worktree: PathBuf,
}

/// Returns the transcripts of the sessions that ran in the worktrees, or right below their tops. The deepest directory
/// that has a session counts.
pub fn find(request: &Request<'_>, worktrees: &[Worktree]) -> Vec<Stored> {
    let mut stored = Vec::new();
    let mut seen = HashSet::new();
    for worktree in worktrees {
        // Which sessions ran in it at all is asked once.
        let mut ran_here = HashMap::new();
        let mut directories = subdirectories(&worktree.top);
        directories.push(worktree.top.clone());
        for directory in directories {
            for agent in request.agents {
                for found in agent.recent(&directory, request.since) {
                    if capture::is_checked_out(&found.transcript, &worktree.top) {
                        continue;
                    }
                    let key = SessionKey::new(agent.name(), &found.session_id);
                    let ran_in = |directory: &Path| agent.ran_in(&found.transcript, directory) == Some(true);
                    let is_here = !seen.contains(&key)
                        && *ran_here.entry(key.clone()).or_insert_with(|| ran_in(&worktree.top))
                        && (directory == worktree.top || ran_in(&directory));
                    if is_here && seen.insert(key) {
                        let (directory, worktree) = (directory.clone(), worktree.top.clone());
                        stored.push(Stored { agent: *agent, found, directory, worktree });
                    }
                }
            }
        }
    }
    stored.sort_by(|a, b| (a.agent.name(), &a.found.session_id).cmp(&(b.agent.name(), &b.found.session_id)));
    stored
}

/// Returns the directories right below a top that belong to the same repository.
fn subdirectories(top: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(top).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut paths: Vec<PathBuf> = directories.map(|entry| entry.path()).collect();
    paths.retain(|path| !path.ends_with(".git") && !path.join(".git").exists());
    paths.sort();
    paths.truncate(MAX_SUBDIRECTORIES);
    paths
}
