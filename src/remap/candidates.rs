//! The commits that may get records: those of a scope that have none.

use std::collections::HashSet;

use super::origins::{CLOCK_SKEW_SECS, Mapper};
use super::scope::Scope;
use crate::error::Result;
use crate::git::{ObjectId, Order, Range};

/// The changed paths of this many commits are found by one process; those of fewer, one by one.
const MANY: usize = 500;
/// How many commits are examined in a hook.
const MAX_UNASKED: usize = 2000;

impl Mapper<'_, '_> {
    /// Returns the commits of a scope that have no record, the newest first.
    ///
    /// Commits that none of `old_heads` reaches are new and can have any source. Older ones were examined before, so only
    /// commits with new notes can be their sources.
    pub fn candidates(&mut self, scope: &Scope, old_heads: Vec<ObjectId>) -> Result<Vec<ObjectId>> {
        let everything = Range { tips: self.heads.clone(), hidden: Vec::new() };
        let (range, limit) = match scope {
            Scope::Range(range) => (range.clone(), usize::MAX),
            Scope::All => (everything, usize::MAX),
            Scope::New | Scope::Notes if self.new_notes.is_none() => (everything, MAX_UNASKED),
            Scope::New | Scope::Notes => {
                let new = Range { tips: self.heads.clone(), hidden: old_heads };
                let mut candidates = match scope {
                    Scope::Notes => Vec::new(),
                    _ => self.without_records(&new, MAX_UNASKED, i64::MIN)?,
                };
                let fresh: Vec<ObjectId> = self.new_notes.iter().flatten().copied().collect();
                if !candidates.is_empty() {
                    self.list_noted()?;
                }
                if let Some(oldest) = self.oldest(&fresh)? {
                    candidates.extend(self.without_records(&everything, MAX_UNASKED, oldest)?);
                }
                let mut seen = HashSet::new();
                candidates.retain(|id| seen.insert(*id));
                let time = |id: &ObjectId| self.repo.commit(*id).map(|commit| commit.committer.time.seconds).ok();
                candidates.sort_by_cached_key(|id| std::cmp::Reverse(time(id)));
                return Ok(candidates);
            }
        };
        let noted: Vec<ObjectId> = self.list_noted()?.keys().copied().collect();
        let oldest = if self.map.is_empty() { self.oldest(&noted)?.unwrap_or(i64::MAX) } else { i64::MIN };
        self.without_records(&range, limit, oldest)
    }

    /// Finds the changed paths of commits, if they are unknown for many of them.
    pub fn learn(&mut self, commit_ids: &[ObjectId]) -> Result<()> {
        let mut unknown: Vec<_> = commit_ids.iter().copied().filter(|id| self.changes.is_unknown(*id)).collect();
        self.repo.sort_as_packed(&mut unknown);
        for some in unknown.chunks_exact(MANY) {
            self.check_time()?;
            self.changes.learn(some);
        }
        Ok(())
    }

    /// Returns the earliest time of a copy of one of these commits: a copy is not older than its source.
    fn oldest(&self, sources: &[ObjectId]) -> Result<Option<i64>> {
        let mut oldest = None;
        for source in sources {
            self.check_time()?;
            let time = self.repo.commit(*source).map(|commit| commit.committer.time.seconds).ok();
            oldest = time.into_iter().chain(oldest).min();
        }
        Ok(oldest.map(|time| time.saturating_sub(CLOCK_SKEW_SECS)))
    }

    /// Returns the commits of a range that have no record and were made since `oldest`, the newest first.
    fn without_records(&self, range: &Range, limit: usize, oldest: i64) -> Result<Vec<ObjectId>> {
        let mut candidates = Vec::new();
        for step in self.repo.walk(range, Order::NewestFirst)?.take(limit) {
            self.check_time()?;
            let step = step?;
            if step.time.is_some_and(|time| time < oldest) {
                break;
            }
            if !self.has_conversation(step.commit_id)? {
                candidates.push(step.commit_id);
            }
        }
        Ok(candidates)
    }
}
