//! Lines of history, that is chains of first parents, numbered so that a merge base is found without a walk.
//!
//! A walk from one commit to another reads all that lies between. A mapper asks for the merge bases of each commit with up
//! to 64 others; on one long line that would make its time grow with the square of the history.

use std::collections::HashMap;

use crate::error::Result;
use crate::git::{ObjectId, Order, Range, Repository};

/// How many merges are followed from one line to another before the answer is left to Git's own way.
const MAX_DEPTH: usize = 16;
/// How many merges of one line are looked at for one answer.
const MAX_MERGES: usize = 256;
/// How many merges are looked at for one answer on all lines together: each leads to others.
const MAX_STEPS: usize = 10_000;

/// The place of a commit: its line, and the number of commits before it there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct LinePosition {
    line: usize,
    position: usize,
}

#[derive(Default)]
struct Line {
    /// The commits, each the first parent of the one before.
    commits: Vec<ObjectId>,
    /// The positions of merges among them.
    merges: Vec<usize>,
    /// The first parent of the last commit, if there is one.
    base: Option<LinePosition>,
    /// The commits of this line that are other parents of merges, and those merges, by position.
    merged: Vec<(usize, ObjectId)>,
}

/// The lines that some commits are on, with their ancestors back to a moment.
#[derive(Default)]
pub struct Lines {
    /// Commits before this second (epoch) are not followed.
    since: i64,
    parents: HashMap<ObjectId, Vec<ObjectId>>,
    places: HashMap<ObjectId, LinePosition>,
    lines: Vec<Line>,
}

impl Lines {
    /// Numbers the commits since the second `since` (epoch) that `heads` reach. Calls `check` at each step and stops at its
    /// error.
    ///
    /// # Errors
    ///
    /// If history cannot be read, or what `check` returns.
    pub fn new(repo: &Repository, heads: &[ObjectId], since: i64, check: impl Fn() -> Result<()>) -> Result<Self> {
        let mut lines = Lines { since, ..Lines::default() };
        let range = Range { tips: heads.to_vec(), hidden: Vec::new() };
        for step in repo.walk(&range, Order::NewestFirst)? {
            check()?;
            let step = step?;
            if step.time.is_some_and(|time| time < since) {
                break;
            }
            lines.parents.insert(step.commit_id, step.parent_ids);
        }
        heads.iter().for_each(|head| lines.number(repo, *head));
        check()?;
        Ok(lines)
    }

    /// Returns the best common ancestor of two commits; `None` if the lines do not show it.
    pub fn merge_base(&mut self, repo: &Repository, one: ObjectId, other: ObjectId) -> Option<ObjectId> {
        self.number(repo, one);
        self.number(repo, other);
        let (one, mut at) = (*self.places.get(&one)?, *self.places.get(&other)?);
        let mut steps = MAX_STEPS;
        loop {
            let line = &self.lines[at.line];
            if self.reaches(one, at, 0, &mut steps)? {
                return line.commits.get(at.position).copied();
            }
            let mut below: Vec<usize> = self.first_parent_on(one, at.line).into_iter().collect();
            let merged = line.merged.iter().filter(|(position, _)| *position > at.position);
            let merged: Vec<usize> = merged.map(|(position, _)| *position).take(MAX_MERGES).collect();
            below.extend(merged);
            below.sort_unstable();
            let mut met = None;
            for position in below {
                if self.reaches(one, LinePosition { position, ..at }, 0, &mut steps)? {
                    met = Some(position);
                    break;
                }
            }
            // A commit on a merged line may be a better ancestor.
            let end = met.unwrap_or(line.commits.len());
            if line.merges.iter().any(|merge| (at.position..end).contains(merge)) {
                return None;
            }
            match met {
                Some(position) => return line.commits.get(position).copied(),
                None => at = line.base?,
            }
        }
    }

    /// Says whether `to` is an ancestor of `from`, or the same; `None` if that takes too long.
    fn reaches(&self, from: LinePosition, to: LinePosition, depth: usize, steps: &mut usize) -> Option<bool> {
        if self.first_parent_on(from, to.line).is_some_and(|position| position <= to.position) {
            return Some(true);
        }
        let merged = &self.lines[to.line].merged;
        let newer = &merged[..merged.partition_point(|(position, _)| *position <= to.position)];
        if depth > MAX_DEPTH || newer.len() > MAX_MERGES {
            return None;
        }
        // Usually the oldest merge that reaches it is the nearest one on the line.
        for (_, merge) in newer.iter().rev() {
            *steps = steps.checked_sub(1)?;
            let Some(merge) = self.places.get(merge) else { continue };
            if self.reaches(from, *merge, depth + 1, steps)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Returns the position at which the chain of first parents of a commit meets a line.
    fn first_parent_on(&self, from: LinePosition, line: usize) -> Option<usize> {
        let mut at = from;
        while at.line != line {
            at = self.lines[at.line].base?;
        }
        Some(at.position)
    }

    /// Numbers a commit and its ancestors, unless they are numbered.
    fn number(&mut self, repo: &Repository, commit_id: ObjectId) {
        let mut heads = vec![(commit_id, None)];
        let mut merged: Vec<(ObjectId, ObjectId)> = Vec::new();
        while let Some((head, merge)) = heads.pop() {
            merged.extend(merge.map(|merge| (head, merge)));
            if self.places.contains_key(&head) {
                continue;
            }
            let mut line = Line::default();
            let mut next = Some(head);
            while let Some(commit_id) = next {
                if let Some(place) = self.places.get(&commit_id) {
                    line.base = Some(*place);
                    break;
                }
                let position = line.commits.len();
                self.places.insert(commit_id, LinePosition { line: self.lines.len(), position });
                line.commits.push(commit_id);
                let known = self.parents.remove(&commit_id);
                let parents = known.unwrap_or_else(|| match repo.commit(commit_id) {
                    Ok(commit) if commit.committer.time.seconds >= self.since => commit.parent_ids,
                    // A commit that is not here ends a line, too, as at the boundary of a shallow clone.
                    _ => Vec::new(),
                });
                if parents.len() > 1 {
                    line.merges.push(position);
                    heads.extend(parents[1..].iter().map(|parent| (*parent, Some(commit_id))));
                }
                next = parents.first().copied();
            }
            self.lines.push(line);
        }
        for (commit_id, merge) in merged {
            if let Some(LinePosition { line, position }) = self.places.get(&commit_id).copied() {
                let merged = &mut self.lines[line].merged;
                merged.insert(merged.partition_point(|(known, _)| *known <= position), (position, merge));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use super::*;
    use crate::git::git;

    /// A history of random branches and merges; returns its commits, the oldest first.
    fn history(repo: &Repository, seed: u64, count: usize) -> Vec<ObjectId> {
        let mut state = seed;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut stream = String::new();
        for number in 1..=count {
            let _ = write!(
                stream,
                "commit refs/heads/c{number}\nmark :{number}\ncommitter A <a@x> {number} +0000\ndata 0\n"
            );
            if number > 1 {
                let near = |back: usize| number - 1 - back.min(number - 2);
                let first = near(random(4));
                let _ = writeln!(stream, "from :{first}");
                let other = near(random(6));
                if random(4) == 0 && other != first {
                    let _ = writeln!(stream, "merge :{other}");
                }
            }
        }
        git(["fast-import", "--quiet"]).repository(repo).input(stream.into()).capture().unwrap();
        (1..=count).map(|number| repo.resolve(&format!("refs/heads/c{number}")).unwrap()).collect()
    }

    #[test]
    fn a_merge_base_that_the_lines_tell_is_one_of_those_that_git_finds() {
        for (seed, since) in [(1, 0), (2, 0), (3, 0), (4, 20)] {
            let dir = tempfile::tempdir().unwrap();
            git(["init", "-q", dir.path().to_str().unwrap()]).capture().unwrap();
            let repo = Repository::open(dir.path()).unwrap();
            let commits = history(&repo, seed, 60);
            // Only some of the commits are known at first; the others are met when they are asked for.
            let mut lines = Lines::new(&repo, &commits[30..33], since, || Ok(())).unwrap();
            let mut told = 0;
            for one in commits.iter().step_by(7) {
                for other in commits.iter().step_by(3) {
                    let Some(base) = lines.merge_base(&repo, *one, *other) else { continue };
                    told += 1;
                    let pair = [one.to_string(), other.to_string()];
                    let all = git(["merge-base", "--all", &pair[0], &pair[1]]).repository(&repo).capture().unwrap();
                    let all: BTreeSet<String> = String::from_utf8_lossy(&all).lines().map(str::to_owned).collect();
                    assert!(all.contains(&base.to_string()), "{pair:?}: {base}, not {all:?} (seed {seed})");
                }
            }
            assert!(told > if since == 0 { 60 } else { 20 }, "the lines tell hardly any: {told} of 180 (seed {seed})");
        }
    }
}
