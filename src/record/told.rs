//! The instruction files in the records of commits.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use super::{Query, Reader, Summary};
use crate::error::Result;
use crate::git::{ObjectId, Order, Range};
use crate::told::{Changes, InstructionFile};

/// How many commits are gone back for one record that is shown.
const MAX_STEPS: usize = 64;

impl Reader<'_> {
    /// Returns how the files that a session of a commit was told differ from those that the same agent was told at the last
    /// commit before whose record has any, and that commit. `None` if the session's are not known, or if there is no such commit
    /// among the nearest ones.
    pub fn told_changes(&self, commit_id: ObjectId, summary: &Summary) -> Option<(ObjectId, Changes)> {
        self.told_changes_within(MAX_STEPS, commit_id, summary)
    }

    fn told_changes_within(
        &self,
        max_steps: usize,
        commit_id: ObjectId,
        summary: &Summary,
    ) -> Option<(ObjectId, Changes)> {
        let after = summary.rules.as_ref()?.files();
        let range = Range { tips: vec![commit_id], hidden: Vec::new() };
        let steps = self.repo().walk(&range, Order::NewestFirst).ok()?.flatten();
        steps.filter(|step| step.commit_id != commit_id).take(max_steps).find_map(|step| {
            let note = self.note(step.commit_id).ok()??;
            let before = told(&note.summaries()).remove(&summary.key.agent)?;
            Some((step.commit_id, Changes::between(&before, &after)))
        })
    }

    /// Returns the commits of a query's range at which an agent was told something else than at the commit before, as
    /// [`Reader::told_changes`] says, however far that is. Reads all notes of the range, and for each the one before.
    ///
    /// # Errors
    ///
    /// As [`Reader::each`].
    pub fn commits_with_changed_rules(&self, query: &Query) -> Result<HashSet<ObjectId>> {
        let mut changed = HashSet::new();
        self.each(&Query { range: query.range.clone(), ..Query::default() }, |listed| {
            let commit_id = listed.commit.commit_id;
            let has_changed = |summary: &Summary| {
                let changes = self.told_changes_within(usize::MAX, commit_id, summary);
                changes.is_some_and(|(_, changes)| !changes.is_empty())
            };
            if listed.summaries.iter().any(has_changed) {
                changed.insert(commit_id);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(changed)
    }
}

/// Returns the files that each agent was told at a commit, for each of its sessions.
pub fn told(summaries: &[Summary]) -> BTreeMap<String, Vec<Vec<InstructionFile>>> {
    let mut told: BTreeMap<String, Vec<Vec<InstructionFile>>> = BTreeMap::new();
    for summary in summaries {
        if let Some(rules) = &summary.rules {
            told.entry(summary.key.agent.clone()).or_default().push(rules.files());
        }
    }
    told
}
