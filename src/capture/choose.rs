//! Choosing the sessions that belong to a commit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use crate::git::{ReflogEntry, Repository};
use crate::transcript::Tally;

/// A session that may belong to a commit.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// Whether the session ran `git commit`.
    pub has_run_it: bool,
    /// Whether the session works in the worktree of the commit.
    pub is_in_worktree: bool,
    /// The counts of the session since it was last recorded.
    pub tally: &'a Tally,
}

/// How a commit was made, as far as it matters for choosing sessions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CommitKind {
    /// An ordinary commit of new work.
    #[default]
    Plain,
    /// A squash of existing commits: its changes were discussed on those.
    Squash,
    /// A merge: its changes were made on the other branch.
    Merge,
}

/// The properties of a commit that decide which sessions belong to it.
#[derive(Debug)]
pub struct CommitFacts {
    /// How the commit was made.
    pub kind: CommitKind,
    /// The top of the working tree that the commit was made in.
    pub worktree: Option<PathBuf>,
    /// The paths that the commit changes.
    pub paths: Vec<BString>,
    /// The committer time of the first parent, in seconds since the epoch.
    pub parent_time: i64,
    /// Whether a session that ran the commit was recorded on it earlier, while the present candidates had to wait.
    pub is_runner_recorded: bool,
}

/// Returns the positions in `candidates` of the sessions to record on the commit.
///
/// Chosen are the sessions that ran the commit, and those that edited a path which it changes. If there is none: the
/// only session of this worktree that was prompted since the parent commit, unless it edited other paths; if several
/// were prompted, none is chosen. That last rule does not hold for squashes, merges and commits on which the session that
/// ran them was recorded before, and for a merge edits do not count.
pub fn choose(commit: &CommitFacts, candidates: &[Candidate<'_>]) -> Vec<usize> {
    let changed: HashSet<&Path> = commit.paths.iter().filter_map(|path| path.to_path().ok()).collect();
    let has_edited = |candidate: &Candidate<'_>| {
        commit.kind != CommitKind::Merge && edits_a_changed_path(commit, &changed, candidate)
    };
    let qualifies = |candidate: &Candidate<'_>| candidate.has_run_it || has_edited(candidate);
    let chosen = positions(candidates, qualifies);
    if !chosen.is_empty() || commit.is_runner_recorded || commit.kind != CommitKind::Plain {
        return chosen;
    }
    let is_prompted = |candidate: &Candidate<'_>| {
        let is_recent = candidate.tally.last_prompt_time.is_none_or(|time| time >= commit.parent_time);
        candidate.is_in_worktree && candidate.tally.turns > 0 && is_recent
    };
    let prompted = positions(candidates, is_prompted);
    // A session that edited only other files will get a commit of its own later.
    match prompted[..] {
        [only] if candidates[only].tally.edited_paths.is_empty() => prompted,
        _ => Vec::new(),
    }
}

fn positions<'a>(candidates: &[Candidate<'a>], is_wanted: impl Fn(&Candidate<'a>) -> bool) -> Vec<usize> {
    (0..candidates.len()).filter(|index| is_wanted(&candidates[*index])).collect()
}

fn edits_a_changed_path(commit: &CommitFacts, changed: &HashSet<&Path>, candidate: &Candidate<'_>) -> bool {
    candidate.tally.edited_paths.iter().map(Path::new).filter(|edited| edited.file_name().is_some()).any(|edited| {
        match &commit.worktree {
            Some(top) if edited.is_absolute() => {
                below(top, edited).is_some_and(|path| changed.contains(path.as_path()))
            }
            // A relative path is relative to the agent's working directory, which is the worktree or below it.
            _ if edited.is_absolute() || !candidate.is_in_worktree => false,
            _ => {
                let edited = edited.strip_prefix(".").unwrap_or(edited);
                changed.contains(edited) || changed.iter().any(|path| path.ends_with(edited))
            }
        }
    })
}

/// Returns `path` relative to `top`; `None` if it is not below `top`. Symbolic links in its directories are followed
/// only if it does not seem to be below `top`.
pub(crate) fn below(top: &Path, path: &Path) -> Option<PathBuf> {
    if let Ok(path) = path.strip_prefix(top) {
        return Some(path.to_owned());
    }
    let resolved = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
    resolved.strip_prefix(top.canonicalize().ok()?).ok().map(Path::to_owned)
}

/// Returns how the commit that HEAD moved to was made; `None` if the move was neither new work nor a merge.
pub(super) fn kind_of_move(last_move: &ReflogEntry) -> Option<CommitKind> {
    match last_move {
        entry if entry.is_new_work() => Some(CommitKind::Plain),
        entry => entry.is_merge().then_some(CommitKind::Merge),
    }
}

/// Returns how the commit of an entry was made, as [`kind_of_move`], also where `GIT_REFLOG_ACTION` named the action: then
/// the commit is read.
pub(super) fn kind_of_entry(repo: &Repository, entry: &ReflogEntry) -> Option<CommitKind> {
    let is_new = || entry.is_unknown() && repo.commit(entry.new_id).is_ok_and(|commit| entry.has_made(&commit));
    kind_of_move(entry).or_else(|| is_new().then_some(CommitKind::Plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(paths: &[&str], prompt_time: Option<i64>) -> Tally {
        let mut tally = Tally::default();
        tally.turns = u64::from(prompt_time.is_some());
        tally.last_prompt_time = prompt_time;
        tally.edited_paths = paths.iter().map(|path| (*path).to_owned()).collect();
        tally
    }

    fn chosen(sessions: &[(bool, bool, Tally)]) -> Vec<usize> {
        chosen_for(CommitKind::Plain, sessions)
    }

    fn chosen_for(kind: CommitKind, sessions: &[(bool, bool, Tally)]) -> Vec<usize> {
        let paths = vec!["src/a.rs".into(), "b".into()];
        let worktree = Some("/repo".into());
        let change = CommitFacts { kind, worktree, paths, parent_time: 100, is_runner_recorded: false };
        let evidence = |(has_run_it, is_in_worktree, tally): &'_ (bool, bool, Tally)| {
            (*has_run_it, *is_in_worktree, tally.clone())
        };
        let owned: Vec<_> = sessions.iter().map(evidence).collect();
        let evidence: Vec<_> = owned
            .iter()
            .map(|(has_run_it, is_in_worktree, tally)| Candidate {
                has_run_it: *has_run_it,
                is_in_worktree: *is_in_worktree,
                tally,
            })
            .collect();
        choose(&change, &evidence)
    }

    #[test]
    fn who_ran_the_commit_or_edited_its_paths_is_recorded() {
        let sessions = [
            (true, false, tally(&[], None)),
            (false, false, tally(&["/repo/src/a.rs"], None)),
            (false, true, tally(&["/repo/src/c.rs"], Some(200))),
            (false, true, tally(&["src/a.rs"], None)),
        ];
        assert_eq!(chosen(&sessions), [0, 1, 3], "the bystander is not recorded");
    }

    #[test]
    fn without_better_evidence_only_a_single_prompted_session_counts() {
        let bystander = (false, true, tally(&[], Some(200)));
        assert_eq!(chosen(&[bystander.clone(), (false, false, tally(&[], Some(200)))]), [0]);
        assert_eq!(chosen(&[bystander.clone(), bystander]), Vec::<usize>::new(), "nobody can tell");
        assert_eq!(chosen(&[(false, true, tally(&[], Some(50)))]), Vec::<usize>::new(), "before the parent commit");
    }

    #[test]
    fn a_squash_and_a_merge_need_better_evidence() {
        let sessions = [
            (true, true, tally(&[], Some(200))),
            (false, true, tally(&["b"], Some(200))),
            (false, true, tally(&[], Some(200))),
        ];
        assert_eq!(chosen_for(CommitKind::Squash, &sessions), [0, 1]);
        assert_eq!(chosen_for(CommitKind::Merge, &sessions), [0], "who edited the path did not merge");
        assert_eq!(chosen_for(CommitKind::Squash, &sessions[2..]), Vec::<usize>::new());
        assert_eq!(chosen_for(CommitKind::Merge, &sessions[1..]), Vec::<usize>::new());
    }

    #[test]
    fn a_session_that_edited_other_files_does_not_count_for_want_of_a_better_one() {
        for path in ["/repo/src/c.rs", "src/c.rs", "/elsewhere/b"] {
            assert_eq!(chosen(&[(false, true, tally(&[path], Some(200)))]), Vec::<usize>::new(), "{path}");
        }
        let (worker, talker) = ((false, true, tally(&["c"], Some(200))), (false, true, tally(&[], Some(200))));
        assert_eq!(chosen(&[worker, talker]), Vec::<usize>::new(), "two were asked for something: nobody can tell");
    }
}
