//! Checking that the commits and trees of a ref can be read, and resetting a damaged ref.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;

use bstr::ByteSlice as _;

use super::{ObjectId, Order, Range, Repository, git, gix_error};
use crate::error::{Error, Kind, Result};

impl Repository {
    /// Checks that a commit, its trees and the commits of its history can be read. Reads neither blobs nor trees of the
    /// history.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read.
    pub fn check_whole(&self, commit_id: ObjectId) -> Result<()> {
        self.require_trees(self.commit(commit_id)?.tree_id)?;
        let range = Range { tips: vec![commit_id], hidden: Vec::new() };
        for step in self.walk(&range, Order::AsFound)? {
            step?;
        }
        Ok(())
    }

    /// Checks that a tree and the trees below it can be read.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read.
    pub fn require_trees(&self, tree_id: ObjectId) -> Result<()> {
        let (mut trees, mut seen) = (vec![tree_id], HashSet::new());
        while let Some(tree_id) = trees.pop() {
            if !seen.insert(tree_id) {
                continue;
            }
            let action = || format!("cannot read tree '{tree_id}'");
            let tree = self.gix().find_tree(tree_id).map_err(|error| gix_error(action(), &error))?;
            for entry in gix::objs::TreeRefIter::from_bytes(&tree.data, tree_id.kind()) {
                let entry = entry.map_err(|_| Error::new(Kind::Corrupt, action()))?;
                trees.extend(entry.mode.is_tree().then(|| entry.oid.to_owned()));
            }
        }
        Ok(())
    }

    /// Returns the commit of a ref and its former ones, newest first, from its reflog and its history. Works for a damaged
    /// ref.
    pub fn present_and_former_tips(&self, ref_name: &str) -> Vec<ObjectId> {
        let log = super::private::read_whole(&self.common_dir().join("logs").join(ref_name)).unwrap_or_default();
        let ids = |line: &[u8]| {
            let mut ids = line.fields().map(|field| self.parse_id(&field.to_str_lossy()));
            let (old, new) = (ids.next().flatten(), ids.next().flatten());
            [new, old].into_iter().flatten().filter(|id| !id.is_null()).collect::<Vec<ObjectId>>()
        };
        let mut next = self.ref_targets(ref_name).into_iter().find(|(name, _)| name == ref_name).map(|(_, id)| id);
        let lines: Vec<&[u8]> = log.lines().collect();
        let mut tips: Vec<ObjectId> = next.into_iter().chain(lines.into_iter().rev().flat_map(ids)).collect();
        // A commit whose tree is missing still names its parents.
        while let Some(commit) = next.and_then(|id| self.commit(id).ok()) {
            next = commit.parent_ids.first().copied();
            tips.extend(&commit.parent_ids);
        }
        let mut seen = HashSet::new();
        tips.retain(|id| seen.insert(*id));
        tips
    }

    /// Adds the reflog of a ref to the end of a file, before the ref is deleted and the reflog with it. Returns whether
    /// there is one.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save_reflog(&self, ref_name: &str, file: &Path) -> Result<bool> {
        let log = super::private::read_whole(&self.common_dir().join("logs").join(ref_name)).unwrap_or_default();
        if log.is_empty() {
            return Ok(false);
        }
        let directory = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        let open = || std::fs::OpenOptions::new().create(true).append(true).open(file);
        let saved = directory.and_then(|()| open()).and_then(|mut file| file.write_all(&log));
        saved.map(|()| true).map_err(|error| Error::io("write", file, error))
    }

    /// Resets a damaged ref to a commit; deletes it for `None`.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn reset_ref(&self, ref_name: &str, commit_id: Option<ObjectId>) -> Result<()> {
        let reset = || match commit_id {
            Some(id) => git(["update-ref", "-m", "shiftlog: back to the last whole state", ref_name, &id.to_string()])
                .repository(self)
                .capture(),
            None => git(["update-ref", "-d", ref_name]).repository(self).capture(),
        };
        if reset().is_ok() && self.ref_targets(ref_name).first().map(|(_, id)| *id) == commit_id {
            return Ok(());
        }
        // Git does not update a ref whose file is empty, as a power cut can leave it.
        let file = self.common_dir().join(ref_name);
        std::fs::remove_file(&file).map_err(|error| Error::io("remove", &file, error))?;
        match commit_id {
            Some(_) => reset().map(drop),
            None => Ok(()),
        }
    }
}
