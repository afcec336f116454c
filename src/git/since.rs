//! The history of files: when a path was last changed, and the later changes, renames and deletions of a commit's
//! files.

use bstr::{BStr, BString, ByteSlice as _};

use super::{ObjectId, Repository, git};

/// How many files of a commit are looked at.
const MAX_FILES: usize = 100;
/// How many of the files that are no longer at their paths are followed.
const MAX_FOLLOWED: usize = 10;
/// How often a file can be renamed and still be followed.
const MAX_RENAMES: usize = 10;

/// The later history of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileSince {
    /// How many commits have changed it, or its name.
    pub changes: u64,
    /// Its path now; `None` if it was deleted.
    pub path: Option<BString>,
}

/// The later history of all files of a commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FilesSince {
    /// How many commits have changed one of them.
    pub changes: u64,
    /// How many of them were deleted, and not only renamed.
    pub deleted: usize,
}

impl Repository {
    /// Returns the history of the files that a commit has changed, from there to the commit `until`; `None` if Git
    /// cannot tell. Of a commit with many files, the first hundred count.
    pub fn files_since(&self, commit_id: ObjectId, until: ObjectId) -> Option<FilesSince> {
        let mut paths = self.changed_paths(&self.commit(commit_id).ok()?).ok()?;
        paths.truncate(MAX_FILES);
        if paths.is_empty() {
            return Some(FilesSince { changes: 0, deleted: 0 });
        }
        let changes = self.count_changes(commit_id, until, &paths)?;
        let is_at = |id: ObjectId, path: &BString| self.blob_at(id, path.as_bstr()).is_ok_and(|blob| blob.is_some());
        let missing = paths.iter().filter(|path| !is_at(until, path) && is_at(commit_id, path));
        let is_deleted = |path: &&BString| {
            self.file_since(commit_id, path.as_bstr(), until).is_some_and(|since| since.path.is_none())
        };
        Some(FilesSince { changes, deleted: missing.take(MAX_FOLLOWED).filter(is_deleted).count() })
    }

    /// Returns the history of a file from a commit that has it to the commit `until`; `None` if Git cannot tell.
    /// Follows the file where it was renamed.
    pub fn file_since(&self, commit_id: ObjectId, path: &BStr, until: ObjectId) -> Option<FileSince> {
        let (mut from, mut since) = (commit_id, FileSince { changes: 0, path: Some(path.to_owned()) });
        for _ in 0..=MAX_RENAMES {
            let path = since.path.take()?;
            if self.blob_at(until, path.as_bstr()).ok()?.is_some() {
                since.changes += self.count_changes(from, until, std::slice::from_ref(&path))?;
                since.path = Some(path);
                return Some(since);
            }
            let Some(removed) = self.last_of(from, until, &path)? else { return Some(since) };
            since.changes += self.count_changes(from, removed, std::slice::from_ref(&path))?;
            since.path = self.new_name(removed, &path)?;
            if since.path.is_none() {
                return Some(since);
            }
            from = removed;
        }
        None
    }

    /// Returns when the commit was written that last changed a path, seen from a commit; in seconds since the epoch.
    /// `None` if none did or Git cannot tell.
    pub fn last_change(&self, from: Option<ObjectId>, path: &BStr) -> Option<i64> {
        let (from, path) = (from?.to_string(), format!(":(top,literal){}", path.to_str().ok()?));
        let args = ["log", "-1", "--no-show-signature", "--format=%at", &from, "--", &path];
        git(args).repository(self).capture().ok()?.trim().to_str().ok()?.parse().ok()
    }

    /// Counts the commits of a range that have changed one of some paths.
    fn count_changes(&self, from: ObjectId, until: ObjectId, paths: &[BString]) -> Option<u64> {
        let range = format!("{from}..{until}");
        let args = ["rev-list", "--count", &range, "--"].map(str::to_owned).into_iter().chain(literal(paths)?);
        git(args.collect::<Vec<_>>()).repository(self).capture().ok()?.trim().to_str().ok()?.parse().ok()
    }

    /// Returns the last commit of a range that has changed a path.
    fn last_of(&self, from: ObjectId, until: ObjectId, path: &BString) -> Option<Option<ObjectId>> {
        let range = format!("{from}..{until}");
        let args = ["rev-list", "-1", &range, "--"].map(str::to_owned).into_iter();
        let args = args.chain(literal(std::slice::from_ref(path))?);
        let output = git(args.collect::<Vec<_>>()).repository(self).capture().ok()?;
        Some(output.trim().to_str().ok().and_then(|hex| self.parse_id(hex)))
    }

    /// Returns the name that a commit has given a file; `None` within if it has deleted it.
    fn new_name(&self, commit_id: ObjectId, path: &BString) -> Option<Option<BString>> {
        let id = commit_id.to_string();
        let args = ["diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", "--no-commit-id", &id];
        let output = git(args).repository(self).capture().ok()?;
        let words: Vec<&[u8]> = output.split_str("\0").collect();
        // A letter, the old name, the new one.
        let renamed = words.chunks_exact(3).find(|renamed| renamed[1] == path.as_slice());
        Some(renamed.map(|renamed| renamed[2].into()))
    }
}

fn literal(paths: &[BString]) -> Option<Vec<String>> {
    paths.iter().map(|path| Some(format!(":(top,literal){}", path.to_str().ok()?))).collect()
}
