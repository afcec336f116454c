//! The commits of remotes that must not be fetched again.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::capture::State;
use crate::error::Result;
use crate::git::private;
use crate::git::{ObjectId, Repository, Tip};

/// How long another process may take to write its tips.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

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
        let text = private::text(&Self::file(repo));
        let pair = |line: &str| line.split_once(' ').map(|(name, hex)| (name.to_owned(), hex.to_owned()));
        Known { tips: text.lines().filter_map(pair).collect() }
    }

    /// Adds the tips of fetched refs, by the names of these refs, to those that are known.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only, [`Kind::Busy`](crate::error::Kind::Busy)
    /// when another process keeps the lock.
    pub fn add(repo: &Repository, tips: impl IntoIterator<Item = (String, ObjectId)>) -> Result<()> {
        // Two syncs with different remotes must not overwrite each other's tips.
        let _lock = State::new(&repo.common_dir()).lock_file("joined.lock", Instant::now() + LOCK_TIMEOUT)?;
        let mut known = Known::read(repo);
        known.tips.extend(tips.into_iter().map(|(tracking, commit_id)| (tracking, commit_id.to_string())));
        let text: String = known.tips.iter().map(|(name, hex)| format!("{name} {hex}\n")).collect();
        private::write(&Self::file(repo), text.as_bytes())
    }

    pub(super) fn has(&self, tracking: &str, commit_id: ObjectId) -> bool {
        self.tips.contains(&(tracking.to_owned(), commit_id.to_string()))
    }

    /// Returns the names of those fetched refs that an earlier purge has removed here, and that have not been fetched since.
    pub fn unfetched(&self, repo: &Repository) -> BTreeSet<String> {
        let names = self.tips.iter().map(|(name, _)| name);
        names.filter(|name| matches!(repo.tip(name), Ok(None))).cloned().collect()
    }

    /// Says whether a purge knew the state of a remote's refs.
    pub fn has_remote(&self, repo: &Repository, remote: &str) -> bool {
        let prefix = repo.tracking_ref(remote, "");
        self.tips.iter().any(|(name, _)| name.starts_with(&prefix))
    }

    fn file(repo: &Repository) -> std::path::PathBuf {
        State::new(&repo.common_dir()).root().join("joined")
    }
}

/// Says whether notes were fetched, as by a plain `git fetch`, that are not joined to ours yet.
pub fn has_unjoined(repo: &Repository, notes_ref: &str) -> bool {
    let is_in = |name: &String| {
        let (Ok(Some(theirs)), Ok(ours)) = (repo.tip(name), repo.tip(notes_ref)) else { return true };
        let base = |ours: Tip| repo.merge_base(theirs.commit_id, ours.commit_id);
        ours.is_some_and(|ours| base(ours).is_ok_and(|base| base == Some(theirs.commit_id)))
    };
    !repo.fetched_refs(&super::notes_name(notes_ref)).iter().all(is_in)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    #[test]
    fn tips_that_several_add_at_once_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let words = ["init".as_ref(), "-q".as_ref(), dir.path().as_os_str()];
        crate::git::git(words).capture().unwrap();
        let open = || Repository::open(dir.path()).unwrap();
        let add = |remote: usize| {
            let repo = open();
            for number in 0..20 {
                Known::add(&repo, [(format!("{remote}/{number}"), repo.empty_tree_id())]).unwrap();
            }
        };
        std::thread::scope(|scope| {
            for remote in 0..4 {
                let add = &add;
                scope.spawn(move || add(remote));
            }
        });
        assert_eq!(Known::read(&open()).tips.len(), 80);
    }
}
