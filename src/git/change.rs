//! What a commit changes: paths with what was and is there, and Git's patch id.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _, ByteVec as _};

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
        let (old, new) = (self.tree_entries(old)?, self.tree_entries(new)?);
        let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for name in names {
            let (before, after) = (old.get(name).copied(), new.get(name).copied());
            if before == after {
                continue;
            }
            let mut path = prefix.clone();
            path.push_str(name);
            let is_tree = |version: &Version| version.0 == TREE_MODE;
            let (file_before, file_after) = (before.filter(|v| !is_tree(v)), after.filter(|v| !is_tree(v)));
            if file_before.is_some() || file_after.is_some() {
                changes.push(PathChange { path: path.clone(), before: file_before, after: file_after });
            }
            let tree = |version: Option<Version>| version.filter(is_tree).map(|version| version.1);
            if tree(before).is_some() || tree(after).is_some() {
                path.push(b'/');
                self.compare_trees(tree(before), tree(after), &path, changes)?;
            }
        }
        Ok(())
    }

    /// Returns the entries of a tree. No id means no entries.
    fn tree_entries(&self, tree_id: Option<ObjectId>) -> Result<BTreeMap<BString, Version>> {
        let Some(tree_id) = tree_id else { return Ok(BTreeMap::new()) };
        let fail = |error: gix::Error| gix_error(format!("cannot read tree '{tree_id}'"), &error);
        let tree = self.gix().find_tree(tree_id).map_err(fail)?;
        let decoded = tree.decode().map_err(fail)?;
        let entries = decoded.entries.iter();
        Ok(entries.map(|entry| (entry.filename.to_owned(), (entry.mode.value(), entry.oid.to_owned()))).collect())
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

/// The mode of a tree entry that is a tree.
const TREE_MODE: u16 = 0o040_000;
