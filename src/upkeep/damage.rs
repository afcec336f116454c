//! Finding damaged refs of ours and resetting them to the newest state that can be read.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::archive::{self, Archive};
use crate::capture::progress::Progress;
use crate::capture::state::State;
use crate::capture::tracked::TrackedSession;
use crate::error::Result;
use crate::git::{ObjectId, REMOTES_PREFIX, Repository};
use crate::record::{kept, tombstone};
use crate::share::sync;

/// Returns our damaged refs with a description of the damage.
pub fn find(repo: &Repository, notes_ref: &str) -> Vec<(String, String)> {
    let is_whole = |name: &str| repo.tip(name)?.map_or(Ok(()), |tip| repo.check_whole(tip.commit_id));
    let names = [tombstone::REF, archive::REF, notes_ref].into_iter();
    names.filter_map(|name| Some((name.to_owned(), is_whole(name).err()?.to_string()))).collect()
}

/// The best of what is left of a damaged ref.
enum Left {
    /// A commit that can be read with all its history.
    Whole(ObjectId),
    /// The tree of a commit, without all of its history, and the newest commit that can be read with all of its.
    Tree { commit_id: ObjectId, tree_id: ObjectId, whole: Option<ObjectId> },
    /// No tree of any commit that the ref names or has named.
    Nothing,
}

/// Resets damaged refs to the newest commit in their reflog or history whose tree can be read, then merges what the
/// kept tree of our last write and remotes have beyond that. If the history of that commit cannot be read, a new commit
/// takes its tree. Returns the repairs, one line each.
///
/// # Errors
///
/// If a ref cannot be written.
pub(super) fn mend(repo: &Repository, notes_ref: &str, ref_names: &[&str], deadline: Instant) -> Result<Vec<String>> {
    let mut done = Vec::new();
    for name in ref_names {
        done.push(match left_of(repo, name) {
            Left::Whole(id) => {
                repo.reset_ref(name, Some(id))?;
                format!("let '{name}' go back to {id}")
            }
            Left::Tree { commit_id, tree_id, whole } => {
                let message =
                    format!("shiftlog: the tree of {}, whose history is damaged\n", commit_id.to_hex_with_len(12));
                repo.reset_ref(name, Some(repo.carry(name, &message, tree_id, whole.as_slice())?))?;
                format!("kept what '{name}' has at {commit_id}, without history that cannot be read")
            }
            Left::Nothing => {
                let file = repo.common_dir().join("shiftlog").join(format!("reflog-of-{}", name.replace('/', "-")));
                let has_log = repo.save_reflog(name, &file)?;
                repo.reset_ref(name, None)?;
                let log = if has_log { format!("; its reflog is in '{}'", file.display()) } else { String::new() };
                format!("removed '{name}', of which nothing can be read{log}")
            }
        });
        // The reflog names missing commits, which 'git fsck' reports.
        let _ = repo.forget_reflog(name);
        if repo.lost_tree(name)?.is_some_and(|tree_id| repo.require_trees(tree_id).is_err()) {
            repo.forget_kept(name)?;
        }
    }
    // A remote sends nothing again that a ref here reaches.
    for name in repo.ref_names(REMOTES_PREFIX) {
        if repo.tip(&name).and_then(|tip| tip.map_or(Ok(()), |tip| repo.check_whole(tip.commit_id))).is_err() {
            repo.delete_ref(&name)?;
            done.push(format!("removed '{name}', a damaged copy of what a remote has"));
        }
    }
    let joined = kept::rejoin(repo, notes_ref, deadline)?;
    done.extend(joined.iter().map(|name| format!("joined again what '{name}' had")));
    sync::join_fetched(repo, notes_ref)?;
    forget_lost_segments(repo, &BTreeSet::new())?;
    Ok(done)
}

/// Returns the first repairs that [`mend`] would make, one line each. Further damage shows only after them.
pub(super) fn planned(repo: &Repository, ref_names: &[&str]) -> Vec<String> {
    let line = |name: &&str| match left_of(repo, name) {
        Left::Whole(id) => format!("would let '{name}' go back to {id}"),
        Left::Tree { commit_id, .. } => {
            format!("would keep what '{name}' has at {commit_id}, without history that cannot be read")
        }
        Left::Nothing => format!("would remove '{name}', of which nothing can be read"),
    };
    ref_names.iter().map(line).collect()
}

/// Returns the rest of a damaged ref: the newest state in its reflog or history whose tree can be read.
fn left_of(repo: &Repository, name: &str) -> Left {
    let tips = repo.present_and_former_tips(name);
    let is_whole = |id: &ObjectId| repo.check_whole(*id).is_ok();
    for (index, commit_id) in tips.iter().copied().enumerate() {
        let Ok(commit) = repo.commit(commit_id) else { continue };
        if repo.require_trees(commit.tree_id).is_err() {
            continue;
        }
        if is_whole(&commit_id) {
            return Left::Whole(commit_id);
        }
        let whole = tips[index + 1..].iter().copied().find(is_whole);
        return Left::Tree { commit_id, tree_id: commit.tree_id, whole };
    }
    Left::Nothing
}

/// Resets the progress of sessions whose last segments are missing or in `gone`, so that the next capture builds on what is there.
///
/// # Errors
///
/// If a file of the state cannot be written.
pub(super) fn forget_lost_segments(repo: &Repository, gone: &BTreeSet<ObjectId>) -> Result<()> {
    let archive = Archive::new(repo);
    let state = State::new(&repo.common_dir());
    let is_lost = |progress: &Progress| {
        let segment_id = progress.stored.segment.as_deref().and_then(|hex| repo.parse_id(hex));
        segment_id.is_some_and(|id| gone.contains(&id) || archive.chain(id, None).1.is_some())
    };
    for mut live in state.all_sessions() {
        let TrackedSession { progress, sub_agents, .. } = &mut live;
        let mut has_changed = false;
        for progress in [progress].into_iter().chain(sub_agents.values_mut()) {
            if is_lost(progress) {
                *progress = Progress::default();
                has_changed = true;
            }
        }
        if has_changed {
            state.update(&live)?;
        }
    }
    Ok(())
}
