//! Noticing that files of the working tree change while an agent is asked. An agent that has tools can write wherever
//! its user can; nothing here prevents that.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::changed::known;
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::outside;

/// How many files are named.
const MAX_NAMED: usize = 10;

/// The files of a working tree that Git knows or would add, as they are at one time.
#[derive(Debug)]
pub struct WorktreeFiles {
    files: BTreeMap<PathBuf, Stat>,
}

/// The properties that differ once a file has changed: its type and mode, its size, and its time in nanoseconds.
type Stat = (u32, u64, i64, i64);

impl WorktreeFiles {
    /// Looks at all files but those of indexes.
    ///
    /// # Errors
    ///
    /// If there is no working tree, or Git fails.
    pub fn take(repo: &Repository) -> Result<Self> {
        let top = repo.worktree().ok_or_else(|| Error::other("this operation must be run in a work tree"))?;
        let mut paths = known(repo, "".as_ref())?;
        paths.retain(|path| !path.iter().any(|part| part == ".memo"));
        let stat = |path: PathBuf| {
            let found = top.join(&path).symlink_metadata().ok()?;
            Some((path, (found.mode(), found.size(), found.mtime(), found.mtime_nsec())))
        };
        Ok(WorktreeFiles { files: paths.into_iter().filter_map(stat).collect() })
    }

    /// Says which files have changed, appeared or gone since, while `agent` was asked; `None` if none has.
    ///
    /// # Errors
    ///
    /// As [`WorktreeFiles::take`].
    pub fn changed_since(&self, repo: &Repository, agent: &str) -> Result<Option<String>> {
        let now = WorktreeFiles::take(repo)?;
        let differs = |path: &&PathBuf| self.files.get(*path) != now.files.get(*path);
        let mut changed: Vec<&PathBuf> = self.files.keys().chain(now.files.keys()).filter(differs).collect();
        changed.sort();
        changed.dedup();
        if changed.is_empty() {
            return Ok(None);
        }
        let mut names: Vec<String> =
            changed.iter().take(MAX_NAMED).map(|path| outside::line(&path.to_string_lossy())).collect();
        if changed.len() > MAX_NAMED {
            names.push(format!("and {} more", changed.len() - MAX_NAMED));
        }
        let files = if changed.len() == 1 { "1 file".to_owned() } else { format!("{} files", changed.len()) };
        let names = names.join(", ");
        Ok(Some(format!("{files} changed while {agent} was asked, by it or by somebody else: {names}")))
    }
}
