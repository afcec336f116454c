//! Carrying records from commits that `git reset` took back to the commits that make their changes again: a squash, a split
//! or a new order by hand.
//!
//! Read [`carry_taken_back`].

use std::collections::BTreeMap;
use std::path::Path;

use super::new_commit::NewCommit;
use super::recorder::Recorder;
use super::rewritten::{self, Rewrite};
use crate::error::Result;
use crate::git::{ObjectId, PathChange, ReflogEntry, Repository};
use crate::record::{Note, Reader, Record};
use crate::transcript::SessionKey;

/// How many moves of HEAD are read.
const MAX_MOVES: usize = 50;
/// How many commits a reset may have taken back.
const MAX_TAKEN_BACK: usize = 200;

/// Commits that a reset, or several in a row, took back.
struct TakenBack {
    /// Where HEAD was before.
    tip: ObjectId,
    /// Where HEAD was after: a first-parent ancestor of the tip.
    base: ObjectId,
    /// The commits from the tip to the base, oldest first.
    commit_ids: Vec<ObjectId>,
}

/// Carries records to commits that were just made here, if HEAD was reset before them and they make changes of the commits
/// that the reset took back, or were made with the author, time and message of one (`git commit -C`). Otherwise only equal
/// content of a path shows that: after `git reset --hard` the same path may be written anew.
///
/// # Errors
///
/// If the repository cannot be read.
pub(super) fn carry_taken_back(recorder: &mut Recorder<'_>, commit_ids: &[ObjectId]) -> Result<()> {
    carry_to(recorder, commit_ids, &[], None)
}

/// As [`carry_taken_back`], for a commit that is stored later, perhaps from another worktree. What it became by amending meanwhile
/// gets the records, too.
///
/// # Errors
///
/// If the repository cannot be read.
pub(super) fn carry_taken_back_late(recorder: &mut Recorder<'_>, new_commit: &NewCommit) -> Result<()> {
    match new_commit.commit_ids.split_first() {
        Some((first, became)) => carry_to(recorder, &[*first], became, new_commit.worktree.as_deref()),
        None => Ok(()),
    }
}

fn carry_to(
    recorder: &mut Recorder<'_>,
    commit_ids: &[ObjectId],
    became: &[ObjectId],
    worktree: Option<&Path>,
) -> Result<()> {
    // Each worktree has a HEAD of its own.
    let other =
        worktree.filter(|top| Some(*top) != recorder.repo.worktree()).and_then(|top| Repository::open(top).ok());
    let there = other.as_ref().unwrap_or(recorder.repo);
    let moves = there.head_reflog(MAX_MOVES);
    if there.is_rebasing() || !moves.iter().any(ReflogEntry::is_reset) {
        return Ok(());
    }
    for commit_id in commit_ids {
        let Some(index) = moves.iter().position(|entry| entry.new_id == *commit_id && entry.is_new_work()) else {
            continue;
        };
        let Some(taken_back) = taken_back_before(recorder.repo, &moves[index..]) else { continue };
        for (key, sources) in sources(recorder, &taken_back, moves[index].old_id, *commit_id)? {
            for new_id in std::iter::once(commit_id).chain(became) {
                let rewrite = Rewrite::copied("reset", &sources, *new_id).only_of(key.clone());
                rewritten::carry_or_keep(recorder, &rewrite)?;
            }
        }
    }
    Ok(())
}

/// Returns what was taken back before a commit was made. `moves` are the moves of HEAD, newest first, that of the commit
/// before all; between it and the reset there may be other new commits.
fn taken_back_before(repo: &Repository, moves: &[ReflogEntry]) -> Option<TakenBack> {
    let mut tip = moves.first()?.new_id;
    let mut base = None;
    // A change of branches that stays on the commit, and what `git stash` does, move nothing.
    for entry in moves.iter().filter(|entry| entry.old_id != entry.new_id) {
        if entry.new_id != tip {
            break;
        }
        if entry.is_reset() {
            base = base.or(Some(entry.new_id));
        } else if base.is_some() || !entry.is_new_work() {
            break;
        }
        tip = entry.old_id;
    }
    let base = base?;
    let mut commit_ids = Vec::new();
    let mut next = Some(tip);
    while let Some(commit_id) = next.filter(|id| *id != base) {
        if commit_ids.len() == MAX_TAKEN_BACK {
            return None;
        }
        commit_ids.push(commit_id);
        next = repo.commit(commit_id).ok()?.parent_ids.first().copied();
    }
    commit_ids.reverse();
    next.map(|_| TakenBack { tip, base, commit_ids })
}

/// Returns the commits that were taken back whose changes a new commit has, by the sessions whose records of them it gets: all,
/// if it has every change; otherwise the records that tell of an edit of one of its paths, or of no edits, on the commits that
/// change one. The one whose author, time and message the new commit has, and that changes one of its paths, gives all records
/// that it has. `before` is where HEAD was before the new commit.
fn sources(
    recorder: &Recorder<'_>,
    taken_back: &TakenBack,
    before: ObjectId,
    commit_id: ObjectId,
) -> Result<BTreeMap<SessionKey, Vec<ObjectId>>> {
    let repo = recorder.repo;
    let tree = |commit_id: ObjectId| repo.commit(commit_id).map(|commit| commit.tree_id);
    let theirs = repo.tree_changes(Some(tree(taken_back.base)?), tree(taken_back.tip)?)?;
    let before = if before.is_null() { None } else { Some(tree(before)?) };
    let commit = repo.commit(commit_id)?;
    let made = repo.tree_changes(before, commit.tree_id)?;
    let is_made =
        |change: &&PathChange| made.iter().any(|other| other.path == change.path && other.after == change.after);
    let again: Vec<&PathChange> = theirs.iter().filter(is_made).collect();
    let is_whole = again.len() == theirs.len();
    let has_again = |path: &[u8]| again.iter().any(|change| change.path == path);
    let reader = Reader::beside(repo, &recorder.notes_ref);
    // Of a squash or a cherry-pick Git names the sources, and their records are there.
    let present = reader.note(commit_id)?.unwrap_or_default();
    let is_present = |record: &Record| {
        present.records().filter(|other| other.key() == record.key()).any(|other| {
            let joined = || record.tree.as_ref().is_some_and(|tree| other.joined_trees.contains(tree));
            other.through == record.through || joined()
        })
    };
    let is_told = |record: &Record| {
        is_whole || record.edits.is_empty() || record.edits.iter().any(|edit| has_again(edit.path.as_bytes()))
    };
    let mut sources: BTreeMap<SessionKey, Vec<ObjectId>> = BTreeMap::new();
    for source in taken_back.commit_ids.iter().copied().filter(|source| *source != commit_id) {
        let taken = repo.commit(source)?;
        // Within one second, what is committed anew has the same time by itself.
        let may_be_reused = commit.author.time.seconds < commit.committer.time.seconds
            && (&taken.author.email, taken.author.time.seconds, &taken.message)
                == (&commit.author.email, commit.author.time.seconds, &commit.message);
        let needs_changes = may_be_reused || !again.is_empty() && !is_whole;
        let changes = if needs_changes { repo.changes_of(&taken)? } else { Vec::new() };
        let is_reused =
            may_be_reused && changes.iter().any(|change| made.iter().any(|other| other.path == change.path));
        let is_again = !again.is_empty() && (is_whole || changes.iter().any(|change| has_again(&change.path)));
        if !is_reused && !is_again {
            continue;
        }
        for record in reader.note(source)?.iter().flat_map(Note::records) {
            if !is_present(record) && (is_reused || is_told(record)) {
                let of_session = sources.entry(record.key()).or_default();
                if of_session.last() != Some(&source) {
                    of_session.push(source);
                }
            }
        }
    }
    Ok(sources)
}
