//! The commits of remotes that must not be fetched again.

use std::collections::BTreeSet;

use crate::capture::State;
use crate::capture::state::write_private;
use crate::error::Result;
use crate::git::{ObjectId, Repository};

/// The tips of remotes' refs that were merged before a purge.
///
/// Fetching them again would bring purged words back; they are overwritten by the next push instead.
#[derive(Default)]
pub struct Known {
    tips: BTreeSet<(String, String)>,
}

impl Known {
    /// Reads them.
    pub fn read(repo: &Repository) -> Self {
        let text = std::fs::read_to_string(Self::file(repo)).unwrap_or_default();
        let pair = |line: &str| line.split_once(' ').map(|(name, hex)| (name.to_owned(), hex.to_owned()));
        Known { tips: text.lines().filter_map(pair).collect() }
    }

    /// Adds the tip of a fetched ref.
    pub fn add(&mut self, tracking: &str, commit_id: ObjectId) {
        self.tips.insert((tracking.to_owned(), commit_id.to_string()));
    }

    /// Writes them.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub fn write(&self, repo: &Repository) -> Result<()> {
        let text: String = self.tips.iter().map(|(name, hex)| format!("{name} {hex}\n")).collect();
        write_private(&Self::file(repo), text.as_bytes())
    }

    pub(super) fn has(&self, tracking: &str, commit_id: ObjectId) -> bool {
        self.tips.contains(&(tracking.to_owned(), commit_id.to_string()))
    }

    fn file(repo: &Repository) -> std::path::PathBuf {
        State::new(&repo.common_dir()).root().join("joined")
    }
}
