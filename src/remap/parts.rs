//! Finding the commits of which a commit makes a part: who picks a commit without committing it, takes files of another
//! branch, or divides a commit by hand leaves no trace of that in Git.
//!
//! Read [`Mapper::parted`].

use super::facts::Facts;
use super::origins::{CLOCK_SKEW_SECS, Mapper};
use crate::error::Result;
use crate::git::{Commit, ObjectId};

/// How many sources are compared with one commit.
const MAX_SOURCES: usize = 16;

impl Mapper<'_, '_> {
    /// Returns commits with records that make every change of a commit, file by file and byte for byte, and others beside
    /// them. What is a part of one file is not found: a line that two commits add is no evidence.
    pub(super) fn parted(&mut self, commit: &Commit, facts: &Facts) -> Result<Vec<Vec<ObjectId>>> {
        let mut parted = Vec::new();
        if commit.parent_ids.len() > 1 {
            return Ok(parted);
        }
        let sources = self.sources.with_more(&facts.paths, facts.time + CLOCK_SKEW_SECS, MAX_SOURCES);
        if sources.is_empty() {
            return Ok(parted);
        }
        let Ok(change) = self.repo.changes_of(commit) else { return Ok(parted) };
        for source in sources {
            self.check_time()?;
            let Some(left) = self.compared_left.checked_sub(1) else { break };
            self.compared_left = left;
            let Ok(theirs) = self.repo.commit(source).and_then(|source| self.repo.changes_of(&source)) else {
                continue;
            };
            // What a commit of the same history did is done again after it was reverted: that is new work.
            if change.iter().all(|change| theirs.contains(change))
                && self.repo.merge_base(commit.commit_id, source)? != Some(source)
            {
                parted.push(vec![source]);
            }
        }
        Ok(parted)
    }
}
