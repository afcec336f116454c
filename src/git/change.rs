//! The change of a commit: paths with their content before and after, and Git's patch id.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;

use bstr::{BString, ByteSlice as _};
use gix::diff::tree::recorder::Change;
use gix::diff::tree::{Recorder, State};
use gix::objs::tree::EntryMode;
use gix::objs::{FindExt as _, TreeRefIter};
use twox_hash::XxHash3_64;

use super::{Commit, ObjectId, Paths, Repository, git, gix_error};
use crate::error::Result;

/// The content of a path: its mode as a number, and its blob (or the commit of a submodule).
pub type Version = (u16, ObjectId);

/// A path that differs between two trees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathChange {
    /// The path from the top.
    pub path: BString,
    /// The content before.
    pub before: Option<Version>,
    /// The content after.
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

    /// Returns the changes of a commit against its first parent (for a root commit, against nothing), ordered by path.
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

    /// Returns the paths that each of many commits changes against its first parent. Leaves out merges and commits without
    /// changes.
    ///
    /// Runs `git diff-tree`, which caches unpacked objects: for many commits it is several times as fast as
    /// [`Repository::changes_of`]. It is fastest in the order of [`Repository::sort_as_packed`].
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

    /// Returns the files of a commit that another commit lacks, or has with another content.
    ///
    /// # Errors
    ///
    /// If Git fails.
    pub fn files_changed_since(&self, before: Option<ObjectId>, commit_id: ObjectId) -> Result<Vec<BString>> {
        let before = before.unwrap_or_else(|| self.empty_tree_id()).to_string();
        let (options, after) = (["-r", "-z", "--name-only", "--no-renames", "--diff-filter=d"], commit_id.to_string());
        let told = git([&["diff-tree"][..], &options, &[&before, &after]].concat()).repository(self).capture()?;
        Ok(told.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(BString::from).collect())
    }

    /// Returns the files that paths stand for in the tree of a commit or in its change: pathspecs mean what they mean
    /// to Git.
    ///
    /// # Errors
    ///
    /// If Git cannot read the commit, or refuses a pathspec.
    pub fn files_at(&self, commit_id: ObjectId, paths: &Paths) -> Result<HashSet<String>> {
        let mut files = HashSet::new();
        let (empty, commit) = (self.empty_tree_id().to_string(), commit_id.to_string());
        for compared in [&[&*empty, &*commit][..], &["--root", "--no-commit-id", "-m", &*commit]] {
            let mut args: Vec<OsString> = vec!["-C".into(), paths.directory.clone().into()];
            args.extend(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-relative"].map(Into::into));
            args.extend(compared.iter().map(Into::into));
            args.push("--".into());
            args.extend(paths.specs.iter().cloned());
            // Pathspecs are relative to the directory where they were typed.
            let output = git(args).capture()?;
            let names = output.split_str("\0").filter(|name| !name.is_empty());
            files.extend(names.map(|name| name.to_str_lossy().into_owned()));
        }
        Ok(files)
    }

    /// Says whether `new`, which was made from `old`, has lost its change: it has the tree of its parent, and `old` does
    /// not. A merge never counts as empty.
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

    /// Returns the differences between two trees, ordered by path. `None` means the empty tree.
    ///
    /// Reads two trees for each directory that differs. A rename is a removed and an added path.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn tree_changes(&self, before: Option<ObjectId>, after: ObjectId) -> Result<Vec<PathChange>> {
        let hash = self.null_id().kind();
        let trees = (self.tree_bytes(before)?, self.tree_bytes(Some(after))?);
        let entries = |bytes| TreeRefIter::from_bytes(bytes, hash);
        let mut recorder = Recorder::default();
        let compared =
            gix::diff::tree(entries(&trees.0), entries(&trees.1), State::default(), &self.gix().objects, &mut recorder);
        compared.map_err(|error| gix_error("cannot read a tree", &gix::Error::from_error(error)))?;
        let mut changes: Vec<PathChange> = recorder.records.into_iter().filter_map(path_change).collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
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

    /// Returns a hash that is equal for two changes with the same patch id: for each path, the sum of the hashes of the
    /// lines after the change, without white space, minus that of the lines before.
    ///
    /// Unchanged lines cancel out, so the hash does not depend on the base. Reads each file once and runs no process. A
    /// large or missing file, and anything but a file, counts by its id.
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

/// Returns a change of a path; `None` for that of a directory, whose paths have changes of their own.
fn path_change(change: Change) -> Option<PathChange> {
    let version = |mode: EntryMode, id| (!mode.is_tree()).then_some((mode.value(), id));
    let (path, before, after) = match change {
        Change::Addition { path, entry_mode, oid, .. } => (path, None, version(entry_mode, oid)),
        Change::Deletion { path, entry_mode, oid, .. } => (path, version(entry_mode, oid), None),
        Change::Modification { path, previous_entry_mode, previous_oid, entry_mode, oid } => {
            (path, version(previous_entry_mode, previous_oid), version(entry_mode, oid))
        }
    };
    (before.is_some() || after.is_some()).then_some(PathChange { path, before, after })
}
