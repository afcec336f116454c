//! Counting the conversations of each branch, in one walk over all branches.

use std::collections::HashMap;

use super::Reader;
use crate::error::Result;
use crate::git::{Branch, ObjectId, Order, Range};

/// A branch and the number of its conversations.
#[derive(Clone, Debug)]
pub struct BranchSummary {
    /// The branch.
    pub branch: Branch,
    /// Whether it is checked out in this worktree.
    pub is_current: bool,
    /// The number of commits with a conversation that the branch reaches.
    pub conversations: usize,
    /// The newest committer time of these, in seconds since the epoch; `None` if there are none.
    pub last_time: Option<i64>,
}

impl Reader<'_> {
    /// Returns the branches with their counts, in the given order. With `contains`, only those that reach that commit.
    ///
    /// Each commit is visited once, after all its children. It holds the set of branches that reach it, as bits, and
    /// adds this set to those of its parents; then its own set is dropped.
    ///
    /// # Errors
    ///
    /// If history or a notes tree cannot be read.
    pub fn branches(&self, branches: Vec<Branch>, contains: Option<ObjectId>) -> Result<Vec<BranchSummary>> {
        let noted = self.noted()?;
        let current = self.repo().head()?.branch;
        let range = Range { tips: branches.iter().map(|branch| branch.commit_id).collect(), hidden: Vec::new() };
        let mut steps = Vec::new();
        for step in self.repo().walk(&range, Order::NewestFirst)? {
            steps.push(step?);
        }
        let index: HashMap<ObjectId, usize> = steps.iter().enumerate().map(|(at, step)| (step.commit_id, at)).collect();
        let mut waiting_children = vec![0u32; steps.len()];
        for parent in steps.iter().flat_map(|step| &step.parent_ids).filter_map(|id| index.get(id)) {
            waiting_children[*parent] += 1;
        }
        let words = branches.len().div_ceil(64);
        let mut sets: Vec<Option<Box<[u64]>>> = vec![None; steps.len()];
        for (number, branch) in branches.iter().enumerate() {
            if let Some(at) = index.get(&branch.commit_id) {
                sets[*at].get_or_insert_with(|| vec![0; words].into())[number / 64] |= 1 << (number % 64);
            }
        }
        let mut counts = vec![(0usize, None::<i64>); branches.len()];
        let mut has_commit = vec![contains.is_none(); branches.len()];
        let mut ready: Vec<usize> = (0..steps.len()).filter(|at| waiting_children[*at] == 0).collect();
        while let Some(at) = ready.pop() {
            let set = sets[at].take().unwrap_or_default();
            let members = || {
                (0..branches.len())
                    .filter(|number| set.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1))
            };
            if noted.contains_key(&steps[at].commit_id) {
                for number in members() {
                    counts[number].0 += 1;
                    counts[number].1 = counts[number].1.max(steps[at].time);
                }
            }
            if contains == Some(steps[at].commit_id) {
                members().for_each(|number| has_commit[number] = true);
            }
            for parent in steps[at].parent_ids.iter().filter_map(|id| index.get(id)) {
                let theirs = sets[*parent].get_or_insert_with(|| vec![0; words].into());
                theirs.iter_mut().zip(set.iter()).for_each(|(theirs, ours)| *theirs |= ours);
                waiting_children[*parent] -= 1;
                if waiting_children[*parent] == 0 {
                    ready.push(*parent);
                }
            }
        }
        let summaries = branches.into_iter().zip(counts).zip(has_commit).filter(|(_, has_commit)| *has_commit);
        Ok(summaries
            .map(|((branch, (conversations, last_time)), _)| BranchSummary {
                is_current: current.as_deref() == Some(&branch.full_name),
                branch,
                conversations,
                last_time,
            })
            .collect())
    }
}
