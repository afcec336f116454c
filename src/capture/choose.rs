//! Which sessions belong to a commit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use crate::transcript::Tally;

/// What is known about a session when a commit has just been made.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// Whether the session ran the commit.
    pub has_run_it: bool,
    /// Whether the session works in the worktree of the commit.
    pub is_in_worktree: bool,
    /// What it said since it was last recorded.
    pub tally: &'a Tally,
}

/// How a commit was made, as far as that tells who may have made it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Making {
    /// By committing what somebody did.
    #[default]
    Plain,
    /// By squashing commits that were there: what it changes was talked about on those.
    Squash,
    /// By merging: what it changes is the other side's.
    Merge,
}

/// What is known about the commit.
#[derive(Debug)]
pub struct Change {
    /// How it was made.
    pub making: Making,
    /// The top of the working tree it was made in.
    pub worktree: Option<PathBuf>,
    /// The paths it changes.
    pub paths: Vec<BString>,
    /// The time of its parent, in seconds since the epoch.
    pub parent_time: i64,
}

/// Returns the positions of the sessions to record on the commit.
///
/// Those that ran the commit, and those that edited a path which it changes. If there is none, the only session with
/// a prompt since the parent commit in this worktree, unless its edits say that it worked on something else; if there
/// are several with such a prompt, nobody can tell and none is recorded. A squash is only recorded for a reason of its
/// own, and a merge only for whoever ran it.
pub fn choose(change: &Change, sessions: &[Evidence<'_>]) -> Vec<usize> {
    let changed: HashSet<&Path> = change.paths.iter().filter_map(|path| path.to_path().ok()).collect();
    let has_edited =
        |session: &Evidence<'_>| change.making != Making::Merge && edits_a_changed_path(change, &changed, session);
    let qualifies = |session: &Evidence<'_>| session.has_run_it || has_edited(session);
    let chosen: Vec<usize> = sessions.iter().enumerate().filter(|(_, s)| qualifies(s)).map(|(i, _)| i).collect();
    if !chosen.is_empty() || change.making != Making::Plain {
        return chosen;
    }
    let is_prompted = |session: &Evidence<'_>| {
        let is_recent = session.tally.last_prompt_time.is_none_or(|time| time >= change.parent_time);
        session.is_in_worktree && session.tally.turns > 0 && is_recent
    };
    let prompted: Vec<usize> = sessions.iter().enumerate().filter(|(_, s)| is_prompted(s)).map(|(i, _)| i).collect();
    // The edits of a session that is here are of files that the commit leaves alone: its own commit is still to come.
    match prompted[..] {
        [only] if sessions[only].tally.edited_paths.is_empty() => prompted,
        _ => Vec::new(),
    }
}

fn edits_a_changed_path(change: &Change, changed: &HashSet<&Path>, session: &Evidence<'_>) -> bool {
    session.tally.edited_paths.iter().map(Path::new).filter(|edited| edited.file_name().is_some()).any(|edited| {
        match &change.worktree {
            Some(top) if edited.is_absolute() => {
                below(top, edited).is_some_and(|path| changed.contains(path.as_path()))
            }
            // A relative path is relative to where the agent was, which is the worktree or below it.
            _ if edited.is_absolute() || !session.is_in_worktree => false,
            _ => {
                let edited = edited.strip_prefix(".").unwrap_or(edited);
                changed.contains(edited) || changed.iter().any(|path| path.ends_with(edited))
            }
        }
    })
}

/// Returns a path from the top of the working tree, if it is below it; symbolic links in its directories are followed
/// only if it does not seem to be.
pub(crate) fn below(top: &Path, path: &Path) -> Option<PathBuf> {
    if let Ok(path) = path.strip_prefix(top) {
        return Some(path.to_owned());
    }
    let resolved = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
    resolved.strip_prefix(top.canonicalize().ok()?).ok().map(Path::to_owned)
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
        chosen_for(Making::Plain, sessions)
    }

    fn chosen_for(making: Making, sessions: &[(bool, bool, Tally)]) -> Vec<usize> {
        let paths = vec!["src/a.rs".into(), "b".into()];
        let change = Change { making, worktree: Some("/repo".into()), paths, parent_time: 100 };
        let evidence = |(has_run_it, is_in_worktree, tally): &'_ (bool, bool, Tally)| {
            (*has_run_it, *is_in_worktree, tally.clone())
        };
        let owned: Vec<_> = sessions.iter().map(evidence).collect();
        let evidence: Vec<_> = owned
            .iter()
            .map(|(has_run_it, is_in_worktree, tally)| Evidence {
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
        assert_eq!(chosen_for(Making::Squash, &sessions), [0, 1]);
        assert_eq!(chosen_for(Making::Merge, &sessions), [0], "who edited the path did not merge");
        assert_eq!(chosen_for(Making::Squash, &sessions[2..]), Vec::<usize>::new());
        assert_eq!(chosen_for(Making::Merge, &sessions[1..]), Vec::<usize>::new());
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
