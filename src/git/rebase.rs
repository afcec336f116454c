//! A rebase in progress, read from Git's files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Location, ObjectId, Repository};

/// The directories of a git directory in which Git keeps a rebase that is under way; `git am` uses the second one, too.
const DIRECTORIES: [&str; 2] = ["rebase-merge", "rebase-apply"];

/// Returns the directory of the rebase, or of the `git am`, that is under way in the worktree with this git directory.
fn directory(git_dir: &Path) -> Option<PathBuf> {
    DIRECTORIES.iter().map(|name| git_dir.join(name)).find(|directory| directory.is_dir())
}

/// The instruction of a rebase for a commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RebaseStep {
    /// `squash` or `fixup`: the commit is melded into the one before it.
    Meld,
    /// `edit`: the commit is picked, and the rebase stops there.
    Edit,
    /// `pick` and others: the commit is picked.
    Pick,
}

/// A rebase whose directory still exists, as it does while `post-rewrite` runs.
#[derive(Clone, Debug, Default)]
pub struct Rebase {
    /// The head of the branch before the rebase, and the commit that it was rebased onto.
    pub before: Vec<ObjectId>,
    /// The instructions that were carried out, each with its commit in hex, which may be abbreviated.
    steps: Vec<(RebaseStep, String)>,
}

impl Rebase {
    /// Returns the instruction for a commit; `None` if it is not known.
    pub fn step(&self, commit_id: ObjectId) -> Option<RebaseStep> {
        let hex = commit_id.to_string();
        self.steps.iter().find(|(_, prefix)| hex.starts_with(prefix)).map(|(step, _)| *step)
    }
}

impl Location {
    /// Says whether a rebase or `git am` is under way in this worktree.
    pub fn is_rebasing(&self) -> bool {
        directory(&self.git_dir).is_some()
    }

    /// Says whether a rebase is under way in this worktree that makes its commits one by one, as all do but those with
    /// `--apply`: Git runs its hooks for each of them.
    pub fn is_picking(&self) -> bool {
        self.git_dir.join(DIRECTORIES[0]).is_dir()
    }
}

/// How many moves of HEAD a rebase makes at most.
const MAX_MOVES: usize = 20_000;

impl Repository {
    /// Says whether a rebase or `git am` is under way in this worktree.
    pub fn is_rebasing(&self) -> bool {
        directory(self.git_dir()).is_some()
    }

    /// Returns the commits that others took the place of since the present or last rebase of this worktree began, by amending
    /// or melding, each with the commit that stands there now.
    pub fn replaced_in_rebase(&self) -> HashMap<ObjectId, ObjectId> {
        let moves = self.head_reflog_while(MAX_MOVES, |entry| !entry.begins_rebase());
        let has_its_place = |new: ObjectId, old: ObjectId| match (self.commit(new), self.commit(old)) {
            (Ok(new), Ok(old)) => new.parent_ids == old.parent_ids,
            _ => false,
        };
        let mut replaced: HashMap<ObjectId, ObjectId> = HashMap::new();
        // The newest come first, so where a new commit led is known before those that it replaced.
        for entry in moves.iter().filter(|entry| entry.may_replace() && has_its_place(entry.new_id, entry.old_id)) {
            let last = replaced.get(&entry.new_id).copied().unwrap_or(entry.new_id);
            if last != entry.old_id {
                replaced.entry(entry.old_id).or_insert(last);
            }
        }
        replaced
    }

    /// Returns the rebase that is under way in this worktree.
    pub fn rebase(&self) -> Option<Rebase> {
        let directory = directory(self.git_dir())?;
        let read = |name: &str| super::private::read_whole(&directory.join(name)).unwrap_or_default();
        let id = |name: &str| self.parse_id(String::from_utf8_lossy(&read(name)).trim());
        Some(Rebase {
            before: ["orig-head", "onto"].into_iter().filter_map(id).collect(),
            steps: String::from_utf8_lossy(&read("done")).lines().filter_map(step).collect(),
        })
    }
}

/// Reads a line of a rebase's list: `pick <commit> <subject>`, `fixup -C <commit> <subject>`, or a letter for the word
/// where `rebase.abbreviateCommands` is set.
fn step(line: &str) -> Option<(RebaseStep, String)> {
    let mut words = line.split_whitespace();
    let step = match words.next()? {
        "pick" | "p" | "reword" | "r" | "merge" | "m" => RebaseStep::Pick,
        "edit" | "e" => RebaseStep::Edit,
        "squash" | "s" | "fixup" | "f" => RebaseStep::Meld,
        _ => return None,
    };
    let commit = words.find(|word| !word.starts_with('-'))?;
    let is_hex = commit.len() >= 4 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| (step, commit.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_tells_what_becomes_of_its_commit() {
        for (line, expected) in [
            ("pick 53962f2fece1 A", Some(RebaseStep::Pick)),
            ("fixup -C 53962f2fece1 A", Some(RebaseStep::Meld)),
            ("s 53962f2fece1", Some(RebaseStep::Meld)),
            ("merge -C 53962f2fece1 topic # Merge", Some(RebaseStep::Pick)),
            ("e 53962f2fece1 A", Some(RebaseStep::Edit)),
            ("exec make 53962f2fece1", None),
            ("label onto", None),
            ("merge topic", None),
            ("break", None),
            ("", None),
        ] {
            assert_eq!(step(line), expected.map(|step| (step, "53962f2fece1".to_owned())), "{line}");
        }
    }
}
