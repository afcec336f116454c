//! What a commit changes: paths with what was and is there, and Git's patch id.

use std::cmp::Ordering;
use std::collections::HashMap;

use bstr::{BString, ByteSlice as _, ByteVec as _};
use gix::objs::tree::EntryRef;
use gix::objs::{FindExt as _, TreeRefIter};
use twox_hash::XxHash3_64;

use super::{Commit, ObjectId, Repository, git, gix_error};
use crate::error::Result;

/// What is at a path: the mode as a number, and the blob (or the commit of a submodule).
pub type Version = (u16, ObjectId);

/// A path that differs between two trees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathChange {
    /// The path from the top.
    pub path: BString,
    /// What was there.
    pub before: Option<Version>,
    /// What is there.
    pub after: Option<Version>,
}

impl Repository {
    /// Returns the paths that differ between a commit and its first parent (or nothing, for a root commit).
    ///
    /// # Errors
    ///
    /// As [`Repository::tree_changes`].
    pub fn changed_paths(&self, commit: &Commit) -> Result<Vec<BString>> {
        Ok(self.changes_of(commit)?.into_iter().map(|change| change.path).collect())
    }

    /// Returns what a commit changes beside its first parent (or nothing, for a root commit), in the order of paths.
    ///
    /// # Errors
    ///
    /// As [`Repository::tree_changes`]. A parent that a shallow clone lacks counts as none.
    pub fn changes_of(&self, commit: &Commit) -> Result<Vec<PathChange>> {
        let old = match commit.parent_ids.first() {
            Some(parent) => self.commit(*parent).map(|parent| parent.tree_id).ok(),
            None => None,
        };
        self.tree_changes(old, commit.tree_id)
    }

    /// Returns the paths that each of many commits changes beside its first parent. Merges, and commits that change nothing,
    /// are left out.
    ///
    /// `git diff-tree` finds them. For many commits it is several times as fast as [`Repository::changes_of`], since it keeps
    /// what it has unpacked. That serves best in the order of [`Repository::sort_as_packed`].
    ///
    /// # Errors
    ///
    /// If Git fails, or if an object would have to be fetched.
    pub fn changed_paths_of(&self, commit_ids: &[ObjectId]) -> Result<HashMap<ObjectId, Vec<BString>>> {
        let input: String = commit_ids.iter().map(|id| format!("{id}\n")).collect();
        let args = ["diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"];
        let output = git(args).repository(self).env("GIT_NO_LAZY_FETCH", "1").input(input.into_bytes()).capture()?;
        let mut changed: HashMap<ObjectId, Vec<BString>> = HashMap::new();
        let mut paths = &mut Vec::new();
        let mut words = output.split_str("\0").filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            if word.starts_with(b":") {
                paths.extend(words.next().map(BString::from));
            } else if let Some(commit_id) = word.to_str().ok().and_then(|hex| self.parse_id(hex)) {
                paths = changed.entry(commit_id).or_default();
            }
        }
        Ok(changed)
    }

    /// Says whether the change of a commit was left out of the commit that was made of it: this one changes nothing beside
    /// its only parent, and the old one changed something. A merge is never empty.
    pub fn has_become_empty(&self, old: ObjectId, new: ObjectId) -> bool {
        let is_empty = |commit_id: ObjectId| -> Result<bool> {
            let commit = self.commit(commit_id)?;
            Ok(match commit.parent_ids[..] {
                [] => commit.tree_id == self.empty_tree_id(),
                [parent] => commit.tree_id == self.commit(parent)?.tree_id,
                _ => false,
            })
        };
        is_empty(new).unwrap_or(false) && !is_empty(old).unwrap_or(false)
    }

    /// Returns what differs between two trees, in the order of paths; no tree before means an empty one.
    ///
    /// Costs two reads for each directory that differs. A rename counts as one path gone and one new.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn tree_changes(&self, before: Option<ObjectId>, after: ObjectId) -> Result<Vec<PathChange>> {
        let mut changes = Vec::new();
        self.compare_trees(before, Some(after), &BString::default(), &mut changes)?;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    fn compare_trees(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        prefix: &BString,
        changes: &mut Vec<PathChange>,
    ) -> Result<()> {
        let (old, new) = (self.tree_bytes(old)?, self.tree_bytes(new)?);
        let hash = self.null_id().kind();
        let (mut old, mut new) = (TreeRefIter::from_bytes(&old, hash), TreeRefIter::from_bytes(&new, hash));
        let (mut before, mut after) = (next(&mut old)?, next(&mut new)?);
        loop {
            let (gone, come) = match (before, after) {
                (None, None) => return Ok(()),
                (Some(gone), Some(come)) => match order(&gone, &come) {
                    Ordering::Less => (Some(gone), None),
                    Ordering::Greater => (None, Some(come)),
                    Ordering::Equal => (Some(gone), Some(come)),
                },
                rest => rest,
            };
            if gone.is_some() {
                before = next(&mut old)?;
            }
            if come.is_some() {
                after = next(&mut new)?;
            }
            let version = |entry: &EntryRef<'_>| (entry.mode.value(), entry.oid.to_owned());
            let versions = (gone.as_ref().map(version), come.as_ref().map(version));
            let Some(entry) = come.or(gone).filter(|_| versions.0 != versions.1) else { continue };
            let mut path = prefix.clone();
            path.push_str(entry.filename);
            // A tree and a file of one name stand apart, and are never met as a pair.
            if entry.mode.is_tree() {
                path.push(b'/');
                let tree = |version: Option<Version>| version.map(|version| version.1);
                self.compare_trees(tree(versions.0), tree(versions.1), &path, changes)?;
            } else {
                changes.push(PathChange { path, before: versions.0, after: versions.1 });
            }
        }
    }

    /// Returns the bytes of a tree; none for no id.
    fn tree_bytes(&self, tree_id: Option<ObjectId>) -> Result<Vec<u8>> {
        let mut buffer = Vec::new();
        if let Some(tree_id) = tree_id {
            let fail = |error: gix::Error| gix_error(format!("cannot read tree '{tree_id}'"), &error);
            buffer = self.gix().find_tree(tree_id).map_err(fail)?.detach().data;
        }
        Ok(buffer)
    }

    /// Returns a number that two changes of the same paths have in common if they have the same patch id: what their
    /// lines come to, without white space, less what the lines before came to.
    ///
    /// Lines around a change do not count, so it is the same on another base. Each file is read and hashed once, and no
    /// process runs. A file that is too large, is no file or is not here counts by its id.
    pub fn change_print(&self, changes: &[PathChange]) -> u64 {
        let sum = |version: Option<Version>| version.map_or(0, |version| self.sum_of_lines(version));
        let print = |change: &PathChange| {
            let lines = sum(change.after).wrapping_sub(sum(change.before));
            lines.wrapping_mul(XxHash3_64::oneshot(&change.path) | 1)
        };
        changes.iter().map(print).fold(0, u64::wrapping_add)
    }

    fn sum_of_lines(&self, version: Version) -> u64 {
        let (mode, id) = version;
        let size = || self.gix().find_header(id).ok().map(|header| header.size());
        let mut buffer = Vec::new();
        let blob = match mode & 0o170_000 == 0o100_000 && size().is_some_and(|size| size <= MAX_PRINTED_BYTES) {
            true => self.gix().objects.find_blob(&id, &mut buffer).ok(),
            false => None,
        };
        let Some(blob) = blob else { return XxHash3_64::oneshot(id.as_slice()) };
        let mut line_without_space = Vec::new();
        let hash = |line: &[u8]| {
            line_without_space.clear();
            line_without_space.extend(line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()));
            XxHash3_64::oneshot(&line_without_space)
        };
        blob.data.lines().map(hash).fold(0, u64::wrapping_add)
    }

    /// Returns the stable patch id of the change from one tree to another, as `git patch-id` computes it; `None` if there
    /// is no change. Two processes run; the user's configuration for diffs does not count.
    ///
    /// # Errors
    ///
    /// If an object is missing.
    pub fn patch_id(&self, before: Option<ObjectId>, after: ObjectId) -> Result<Option<String>> {
        let before = before.unwrap_or_else(|| self.empty_tree_id()).to_string();
        let after = after.to_string();
        let patch = git([
            "diff-tree",
            "-r",
            "-p",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--full-index",
            "--binary",
            "--diff-algorithm=myers",
            "--unified=3",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            &before,
            &after,
        ])
        .repository(self)
        .capture()?;
        let printed = git(["patch-id", "--stable"]).repository(self).input(patch.into()).capture()?;
        Ok(printed.fields().next().map(|id| id.to_str_lossy().into_owned()))
    }
}

/// The largest file that [`Repository::change_print`] reads.
const MAX_PRINTED_BYTES: u64 = 16 * 1024 * 1024;

fn next<'t>(entries: &mut TreeRefIter<'t>) -> Result<Option<EntryRef<'t>>> {
    entries.next().transpose().map_err(|error| gix_error("cannot read a tree", &error))
}

/// Compares two entries by Git's order: a tree as if its name ended in a slash.
fn order(one: &EntryRef<'_>, other: &EntryRef<'_>) -> Ordering {
    let end = |entry: &EntryRef<'_>| entry.mode.is_tree().then_some(b'/');
    let common = one.filename.len().min(other.filename.len());
    one.filename[..common].cmp(&other.filename[..common]).then_with(|| {
        let next = |entry: &EntryRef<'_>| entry.filename.get(common).copied().or_else(|| end(entry));
        next(one).cmp(&next(other))
    })
}
