//! Storing what no hook has stored, before a command reads.

use super::State;
use super::awaited::awaits_words;
use super::catch_up::recorder;
use super::recorder::Report;
use super::unseen::{other_worktrees, record_unseen, unseen};
use crate::archive;
use crate::git::Repository;
use crate::record;

/// Stores pending captures, the results that agents wrote after their last hook, commits that no hook reported, and data of
/// ours that a rewrite of refs removed. Returns a report for each worktree in which there was something to do.
pub fn store_missed(repo: &Repository) -> Vec<Report> {
    let mut reports = Vec::new();
    let state = State::new(&repo.common_dir());
    let has_pending = std::fs::read_dir(state.pending_dir()).is_ok_and(|mut entries| entries.next().is_some());
    let notes_ref = record::notes_ref(repo);
    let is_lost =
        || [archive::REF, &notes_ref].iter().any(|name| repo.lost_tree(name).is_ok_and(|tree| tree.is_some()));
    let here = unseen(repo, &notes_ref);
    if has_pending || here.is_some() || awaits_words(&state) || is_lost() {
        let mut recorder = recorder(repo, &notes_ref);
        if let Some(here) = here {
            record_unseen(&mut recorder, here);
        }
        reports.push(recorder.finish());
    }
    for top in other_worktrees(repo, &notes_ref) {
        let Ok(other) = Repository::open(&top) else { continue };
        if let Some(there) = unseen(&other, &notes_ref) {
            let mut recorder = recorder(&other, &notes_ref);
            record_unseen(&mut recorder, there);
            reports.push(recorder.finish());
        }
    }
    reports
}
