//! Commits that may be the source of another, indexed by changed paths and by author and time.

use std::collections::HashMap;

use super::facts::Facts;
use crate::git::ObjectId;

/// Commits that change the same paths.
#[derive(Default)]
struct Group {
    paths: Vec<u32>,
    /// Each with its time, the newest last.
    commits: Vec<(i64, ObjectId)>,
    /// The commits by the hash of their change, as far as it was computed.
    by_print: HashMap<u64, Vec<ObjectId>>,
    /// The commits that are not in `by_print` yet.
    not_printed: Vec<ObjectId>,
}

/// The possible sources.
#[derive(Default)]
pub struct Sources {
    groups: Vec<Group>,
    by_paths: HashMap<Vec<u32>, usize>,
    /// Each group under one of its paths.
    by_path: HashMap<u32, Vec<usize>>,
    /// Each group under all its paths; made when it is first asked for, with the number of groups that it has.
    with_path: (usize, HashMap<u32, Vec<usize>>),
    by_author: HashMap<u64, Vec<ObjectId>>,
    merges_by_author: HashMap<u64, Vec<ObjectId>>,
}

impl Sources {
    /// Adds a commit. One that changes nothing is no source.
    pub fn add(&mut self, commit_id: ObjectId, facts: &Facts) {
        if facts.paths.is_empty() {
            return;
        }
        self.by_author.entry(facts.author).or_default().push(commit_id);
        let new = self.groups.len();
        let index = *self.by_paths.entry(facts.paths.clone()).or_insert(new);
        if index == new {
            self.groups.push(Group { paths: facts.paths.clone(), ..Group::default() });
            // Some paths are changed by nearly all commits; the rarest path tells groups apart best.
            let rarest = facts.paths.iter().min_by_key(|path| self.by_path.get(path).map_or(0, Vec::len));
            self.by_path.entry(*rarest.unwrap_or(&0)).or_default().push(new);
        }
        let group = &mut self.groups[index];
        let at = group.commits.partition_point(|known| *known < (facts.time, commit_id));
        group.commits.insert(at, (facts.time, commit_id));
        group.not_printed.push(commit_id);
    }

    /// Adds a merge, which makes no change of its own.
    pub fn add_merge(&mut self, commit_id: ObjectId, facts: &Facts) {
        self.merges_by_author.entry(facts.author).or_default().push(commit_id);
    }

    /// Returns the merges with this hash of author and author time.
    pub fn merges_by_author(&self, author: u64) -> &[ObjectId] {
        self.merges_by_author.get(&author).map_or(&[], Vec::as_slice)
    }

    /// Returns the commits with this hash of author and author time.
    pub fn by_author(&self, author: u64) -> &[ObjectId] {
        self.by_author.get(&author).map_or(&[], Vec::as_slice)
    }

    /// Returns when the oldest commit was made, in seconds since the epoch.
    pub fn oldest(&self) -> Option<i64> {
        self.groups.iter().filter_map(|group| Some(group.commits.first()?.0)).min()
    }

    /// Says whether a commit changes exactly these paths.
    pub fn has_paths(&self, paths: &[u32]) -> bool {
        self.by_paths.contains_key(paths)
    }

    /// Returns the commits that change exactly these paths and whose change has this hash. `print` computes a hash; it returns
    /// `None` when no time is left.
    pub fn printed_alike(
        &mut self,
        paths: &[u32],
        wanted: u64,
        print: impl Fn(ObjectId) -> Option<u64>,
    ) -> Vec<ObjectId> {
        let Some(group) = self.by_paths.get(paths).map(|index| &mut self.groups[*index]) else { return Vec::new() };
        while let Some(commit_id) = group.not_printed.last().copied() {
            let Some(print) = print(commit_id) else { break };
            group.by_print.entry(print).or_default().push(commit_id);
            group.not_printed.pop();
        }
        group.by_print.get(&wanted).cloned().unwrap_or_default()
    }

    /// Returns commits made until `latest` that change none but these paths, the newest first, at most `limit`.
    pub fn within(&self, paths: &[u32], latest: i64, limit: usize) -> Vec<ObjectId> {
        let groups = paths.iter().filter_map(|path| self.by_path.get(path)).flatten().map(|index| &self.groups[*index]);
        newest(groups.filter(|group| group.paths.iter().all(|path| paths.binary_search(path).is_ok())), latest, limit)
    }

    /// Returns commits made until `latest` that change these paths and others, the newest first, at most `limit`.
    pub fn with_more(&mut self, paths: &[u32], latest: i64, limit: usize) -> Vec<ObjectId> {
        let (known, with_path) = &mut self.with_path;
        for (index, group) in self.groups.iter().enumerate().skip(*known) {
            group.paths.iter().for_each(|path| with_path.entry(*path).or_default().push(index));
        }
        *known = self.groups.len();
        let groups_with = |path: &u32| with_path.get(path).map_or(&[][..], Vec::as_slice);
        let rarest = paths.iter().map(groups_with).min_by_key(|groups| groups.len()).unwrap_or_default();
        let groups = rarest.iter().map(|index| &self.groups[*index]).filter(|group| {
            group.paths.len() > paths.len() && paths.iter().all(|path| group.paths.binary_search(path).is_ok())
        });
        newest(groups, latest, limit)
    }
}

/// Returns the commits of some groups that were made until `latest`, the newest first, at most `limit`.
fn newest<'g>(groups: impl Iterator<Item = &'g Group>, latest: i64, limit: usize) -> Vec<ObjectId> {
    let mut found: Vec<(i64, ObjectId)> = Vec::new();
    for group in groups {
        let until = group.commits.partition_point(|(time, _)| *time <= latest);
        found.extend(group.commits[..until].iter().rev().take(limit));
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.truncate(limit);
    found.into_iter().map(|(_, commit_id)| commit_id).collect()
}
