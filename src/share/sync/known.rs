//! Which commits of remotes must not be fetched once more.

use std::collections::BTreeSet;

use crate::capture::State;
use crate::capture::state::write_private;
use crate::error::Result;
use crate::git::{ObjectId, Repository};

/// Where remotes' refs were when they were joined to ours for the last time before something was removed for good.
///
/// To fetch them once more would bring back what was removed; they are pushed over instead.
#[derive(Default)]
pub struct Known {
    tips: BTreeSet<(String, String)>,
}

impl Known {
    /// Reads what was written down.
    pub fn read(repo: &Repository) -> Self {
        let text = std::fs::read_to_string(Self::file(repo)).unwrap_or_default();
        let pair = |line: &str| line.split_once(' ').map(|(name, hex)| (name.to_owned(), hex.to_owned()));
        Known { tips: text.lines().filter_map(pair).collect() }
    }

    /// Adds where a ref is that repeats a remote's.
    pub fn add(&mut self, tracking: &str, commit_id: ObjectId) {
        self.tips.insert((tracking.to_owned(), commit_id.to_string()));
    }

    /// Writes it down.
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
