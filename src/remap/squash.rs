//! Finding the commits that a commit has squashed.
//!
//! Read [`Mapper::squashed`].

use std::collections::HashSet;

use bstr::ByteSlice as _;

use super::facts::{Facts, path_hashes};
use super::lines::Lines;
use super::origins::{CLOCK_SKEW_SECS, MAX_TIPS, Mapper};
use crate::error::Result;
use crate::git::{Commit, ObjectId, Order, Range};

/// How far before the oldest source history is numbered: branches may begin earlier.
const LINES_SECS: i64 = 90 * 24 * 60 * 60;

impl Mapper<'_, '_> {
    /// Returns the commits with records of each range whose combined change is that of a commit.
    pub(super) fn squashed(&mut self, commit: &Commit, facts: &Facts) -> Result<Vec<Vec<ObjectId>>> {
        let Some(parent_id) = commit.parent_ids.first().copied() else { return Ok(Vec::new()) };
        let mut ranges: Vec<Vec<ObjectId>> = Vec::new();
        for tip in self.tips(commit, facts) {
            self.check_time()?;
            if ranges.iter().any(|range| range.contains(&tip)) {
                continue;
            }
            let Some(base) = self.merge_base(parent_id, tip)?.filter(|base| *base != tip) else { continue };
            if !self.differ_by(base, tip, facts) {
                continue;
            }
            let (Ok(parent), Ok(base)) = (self.repo.commit(parent_id), self.repo.commit(base)) else { continue };
            let Ok(end) = self.repo.commit(tip) else { continue };
            let changes = |before: &Commit, after: &Commit| self.repo.tree_changes(Some(before.tree_id), after.tree_id);
            let (Ok(change), Ok(theirs)) = (changes(&parent, commit), changes(&base, &end)) else { continue };
            let (before, after) = ([Some(base.tree_id), Some(parent.tree_id)], [end.tree_id, commit.tree_id]);
            if !self.is_same(before, after, [&theirs, &change]) {
                continue;
            }
            let range = Range { tips: vec![tip], hidden: vec![parent_id] };
            let mut with_records = Vec::new();
            for step in self.repo.walk(&range, Order::NewestFirst)? {
                let step = step?.commit_id;
                if step != commit.commit_id && !self.records(&[step])?.is_empty() {
                    with_records.push(step);
                }
            }
            with_records.reverse();
            if !with_records.is_empty() {
                ranges.push(with_records);
            }
        }
        Ok(ranges)
    }

    /// Returns the best common ancestor of two commits.
    fn merge_base(&mut self, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
        let lines = match self.lines.take() {
            Some(lines) => lines,
            None => {
                let since = self.sources.oldest().unwrap_or(i64::MIN).saturating_sub(LINES_SECS);
                Lines::new(self.repo, &self.heads, since, || self.check_time())?
            }
        };
        let lines = self.lines.insert(lines);
        Ok(match lines.merge_base(self.repo, one, other) {
            Some(base) => Some(base),
            None => self.repo.merge_base(one, other).unwrap_or_default(),
        })
    }

    /// Says whether two commits differ by the paths that a commit changes.
    fn differ_by(&mut self, before: ObjectId, after: ObjectId, facts: &Facts) -> bool {
        let repo = self.repo;
        let find = || {
            let trees = [before, after].map(|id| repo.commit(id).map(|commit| commit.tree_id));
            let [Ok(before), Ok(after)] = trees else { return Vec::new() };
            repo.tree_changes(Some(before), after).map(|changes| path_hashes(&changes)).unwrap_or_default()
        };
        *self.between.entry([before, after]).or_insert_with(find) == facts.paths
    }

    /// Returns commits that may be the tip of a squashed range, the likeliest first: named in the message, heads of
    /// branches, and commits with records that change no other paths.
    fn tips(&mut self, commit: &Commit, facts: &Facts) -> Vec<ObjectId> {
        let named = commit.message.lines().filter_map(|line| {
            let hex = line.trim().strip_prefix(b"commit ")?;
            self.repo.parse_id(&hex.to_str_lossy())
        });
        let mut tips: Vec<ObjectId> = named.filter(|id| self.repo.commit(*id).is_ok()).take(1).collect();
        let latest = facts.time + CLOCK_SKEW_SECS;
        for within in
            [self.ends.within(&facts.paths, latest, MAX_TIPS), self.sources.within(&facts.paths, latest, MAX_TIPS)]
        {
            tips.extend(within.into_iter().filter(|source| *source != commit.commit_id));
        }
        let mut seen = HashSet::new();
        tips.retain(|tip| seen.insert(*tip));
        tips
    }
}
