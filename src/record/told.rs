//! The instruction files in the records of commits.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::{Query, Reader, Summary};
use crate::error::Result;
use crate::git::{ObjectId, Order, Range};
use crate::told::{Changes, Told};

/// How many commits are gone back.
const MAX_STEPS: usize = 64;

impl Reader<'_> {
    /// Returns the last commit before another one whose record has instruction files, and these files. `None` if there is
    /// none among the nearest commits.
    pub fn told_before(&self, commit_id: ObjectId, agent: &str) -> Option<(ObjectId, Told)> {
        let range = Range { tips: vec![commit_id], hidden: Vec::new() };
        let steps = self.repo().walk(&range, Order::NewestFirst).ok()?.flatten();
        steps.filter(|step| step.commit_id != commit_id).take(MAX_STEPS).find_map(|step| {
            let note = self.note(step.commit_id).ok()??;
            let told = told(&note.summaries()).remove(agent)?;
            Some((step.commit_id, told))
        })
    }

    /// Returns the commits reachable from the tips of a query at which an agent was told something else than at the commit
    /// before, of those whose records say what this agent was told. Reads all notes.
    ///
    /// # Errors
    ///
    /// As [`Reader::each`].
    pub fn commits_with_changed_rules(&self, query: &Query) -> Result<HashSet<ObjectId>> {
        let range = Range { tips: query.range.tips.clone(), hidden: Vec::new() };
        let mut changed = HashSet::new();
        let mut later: HashMap<String, (ObjectId, Told)> = HashMap::new();
        self.each(&Query { range, ..Query::default() }, |listed| {
            for (agent, before) in told(&listed.summaries) {
                let here = (listed.commit.commit_id, before.clone());
                let Some((commit_id, after)) = later.insert(agent, here) else { continue };
                if before != after && !Changes::between(&before.files(), &after.files()).is_empty() {
                    changed.insert(commit_id);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(changed)
    }
}

/// Returns the files that each agent was told at a commit. Of several sessions of one agent, the last one counts.
fn told(summaries: &[Summary]) -> HashMap<String, Told> {
    let of_agent = |summary: &Summary| Some((summary.key.agent.clone(), summary.rules.clone()?));
    summaries.iter().filter_map(of_agent).collect()
}
