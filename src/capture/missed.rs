//! Storing what no hook has stored, before a command reads.

use std::time::Duration;

use super::State;
use super::awaited::awaits_words;
use super::catch_up::command_recorder;
use super::recorder::{LOCK_TIMEOUT, Report};
use super::unseen::{other_worktrees, record_unseen, unseen};
use crate::archive;
use crate::git::Repository;
use crate::record;

/// Stores pending captures, the results that agents wrote after their last hook, commits that no hook reported, and data of
/// ours that a rewrite of refs removed. Returns a report for each worktree in which there was something to do.
pub fn store_missed(repo: &Repository) -> Vec<Report> {
    store(repo, LOCK_TIMEOUT)
}

/// Does the same for a command that only reads: waits for locks as long as Git would for those of refs. What it cannot store
/// then, the next command does.
pub fn store_missed_or_leave(repo: &Repository) -> Vec<Report> {
    let lock_limit = repo.limit_lock_waits_as_git();
    store(repo, lock_limit.unwrap_or(LOCK_TIMEOUT))
}

fn store(repo: &Repository, lock_limit: Duration) -> Vec<Report> {
    let mut reports = Vec::new();
    let state = State::new(&repo.common_dir());
    let has_pending = std::fs::read_dir(state.pending_dir()).is_ok_and(|mut entries| entries.next().is_some());
    let notes_ref = record::notes_ref(repo);
    let is_lost =
        || [archive::REF, &notes_ref].iter().any(|name| repo.lost_tree(name).is_ok_and(|tree| tree.is_some()));
    let here = unseen(repo, &notes_ref);
    if has_pending || here.is_some() || awaits_words(&state) || is_lost() {
        let mut recorder = command_recorder(repo, &notes_ref, lock_limit);
        if let Some(error) = recorder.hindrance() {
            // Another process is soon done; an interrupted purge waits for the user.
            if recorder.has_lock() {
                recorder.warn(error);
            }
            return vec![recorder.finish()];
        }
        if let Some(here) = here {
            record_unseen(&mut recorder, here);
        }
        reports.push(recorder.finish());
    }
    for top in other_worktrees(repo, &notes_ref) {
        let Ok(other) = Repository::open(&top) else { continue };
        if let Some(there) = unseen(&other, &notes_ref) {
            let mut recorder = command_recorder(&other, &notes_ref, lock_limit);
            record_unseen(&mut recorder, there);
            reports.push(recorder.finish());
        }
    }
    reports
}
