//! Finding damaged refs of ours and resetting them to the last undamaged state.

use std::time::Instant;

use crate::archive::{self, Archive};
use crate::capture::state::{LiveSession, Progress, State};
use crate::error::Result;
use crate::git::Repository;
use crate::record::{kept, tombstone};
use crate::share::sync;

/// Returns our damaged refs with a description of the damage.
pub(super) fn find(repo: &Repository, notes_ref: &str) -> Vec<(String, String)> {
    let is_whole = |name: &str| repo.tip(name)?.map_or(Ok(()), |tip| repo.check_whole(tip.commit_id));
    let names = [tombstone::REF, archive::REF, notes_ref].into_iter();
    names.filter_map(|name| Some((name.to_owned(), is_whole(name).err()?.to_string()))).collect()
}

/// Resets damaged refs to the last undamaged commit in their reflog or history, then merges what the kept tree of our last
/// write and remotes have beyond that. Returns what was done, one line each.
///
/// # Errors
///
/// If a ref cannot be written.
pub(super) fn mend(repo: &Repository, notes_ref: &str, ref_names: &[&str], deadline: Instant) -> Result<Vec<String>> {
    let mut done = Vec::new();
    for name in ref_names {
        let whole = last_whole(repo, name);
        repo.reset_ref(name, whole)?;
        // The reflog names missing commits, which 'git fsck' reports.
        let _ = repo.forget_reflog(name);
        done.push(match whole {
            Some(id) => format!("let '{name}' go back to {id}"),
            None => format!("removed '{name}', of which nothing can be read"),
        });
        if repo.lost_tree(name)?.is_some_and(|tree_id| repo.require_trees(tree_id).is_err()) {
            repo.forget_kept(name)?;
        }
    }
    let joined = kept::rejoin(repo, notes_ref, deadline)?;
    done.extend(joined.iter().map(|name| format!("joined again what '{name}' had")));
    sync::join_fetched(repo, notes_ref)?;
    forget_lost_segments(repo)?;
    Ok(done)
}

/// Returns what [`mend`] would do first, one line each. What remains to be repaired then shows only after that.
pub(super) fn planned(repo: &Repository, ref_names: &[&str]) -> Vec<String> {
    let line = |name: &&str| match last_whole(repo, name) {
        Some(id) => format!("would let '{name}' go back to {id}"),
        None => format!("would remove '{name}', of which nothing can be read"),
    };
    ref_names.iter().map(line).collect()
}

/// Returns the last undamaged commit in the reflog or the history of a ref.
fn last_whole(repo: &Repository, name: &str) -> Option<crate::git::ObjectId> {
    repo.former_tips(name).into_iter().find(|id| repo.check_whole(*id).is_ok())
}

/// Resets the progress of sessions whose last segments are missing, so that the next capture stores them again.
fn forget_lost_segments(repo: &Repository) -> Result<()> {
    let archive = Archive::new(repo);
    let state = State::new(&repo.common_dir());
    let is_lost = |progress: &Progress| {
        let segment_id = progress.stored.segment.as_deref().and_then(|hex| repo.parse_id(hex));
        segment_id.is_some_and(|id| archive.chain(id, None).1.is_some())
    };
    for mut live in state.all_sessions() {
        let LiveSession { progress, sub_agents, .. } = &mut live;
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
