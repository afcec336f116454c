//! Finding the commits of which a commit makes a part: who picks a commit without committing it, takes files of another
//! branch, or divides a commit by hand leaves no trace of that in Git.
//!
//! Read [`Mapper::parted`].

use super::facts::Facts;
use super::origins::Mapper;
use crate::error::Result;
use crate::git::{Commit, ObjectId, PathChange};

/// The mode of a commit of a submodule in a tree.
const SUBMODULE: u16 = 0o160000;
/// How many sources are compared with one commit.
const MAX_SOURCES: usize = 16;

impl Mapper<'_, '_> {
    /// Returns commits with records that make every change of a commit, file by file and byte for byte, and others beside
    /// them, by the same author and before it. What is a part of one file is not found: a line that two commits add is no
    /// evidence. Nor is a commit found in whose history such a commit is: what was reverted there and made again is new work.
    pub(super) fn parted(&mut self, commit: &Commit, facts: &Facts) -> Result<Vec<Vec<ObjectId>>> {
        if commit.parent_ids.len() > 1 || self.compared_left == 0 {
            return Ok(Vec::new());
        }
        let sources = self.sources.with_more(&facts.paths, facts.time, MAX_SOURCES);
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(change) = self.repo.changes_of(commit) else { return Ok(Vec::new()) };
        if !change.iter().any(|change| self.is_evidence(change)) {
            return Ok(Vec::new());
        }
        let mut parted = Vec::new();
        for source_id in sources {
            self.check_time()?;
            let Some(left) = self.compared_left.checked_sub(1) else { break };
            self.compared_left = left;
            let Ok(source) = self.repo.commit(source_id) else { continue };
            let is_before = source.author.time.seconds <= commit.author.time.seconds;
            if !is_before || source.author.email != commit.author.email {
                continue;
            }
            let Ok(theirs) = self.repo.changes_of(&source) else { continue };
            if change.iter().all(|change| theirs.contains(change)) {
                if self.repo.merge_base(commit.commit_id, source_id)? == Some(source_id) {
                    return Ok(Vec::new());
                }
                parted.push(vec![source_id]);
            }
        }
        Ok(parted)
    }

    /// Says whether two people seldom make a change by chance: a file with something in it. An empty file, one that goes, a mode or
    /// a submodule is none.
    fn is_evidence(&self, change: &PathChange) -> bool {
        let Some((mode, id)) = change.after else { return false };
        mode != SUBMODULE && Some(id) != self.repo.blob_id(b"") && change.before.is_none_or(|(_, before)| before != id)
    }
}
