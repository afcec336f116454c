//! Opens the repository for a command that reads, and first records what no hook recorded: pending captures, and the
//! conversations of commits that were rewritten where no hook ran.

use std::time::{Duration, Instant};

use crate::capture;
use crate::cli::{self, NotesSource};
use crate::error::Result;
use crate::git::{Names, ObjectId, Repository};
use crate::progress::silent;
use crate::record::{Note, Reader};
use crate::remap::{Carried, Remapped, Scope, remap, remap_one};
use crate::share::purge;

/// How long a command may take to carry records.
const CARRY_TIMEOUT: Duration = Duration::from_millis(200);
/// The message about a purge with a journal, of commands that do not finish it.
pub(super) const UNFINISHED_PURGE: &str = "a purge was interrupted, or is running; 'git shiftlog fsck' finishes it";
/// How many commits are named.
const MAX_NAMED: usize = 10;

/// Carries records to the commit that a revision names, if it has none and makes the same change as a commit that has some.
/// Warns of each commit that got records.
///
/// Failures are not reported: the command meets the same ones when it reads.
pub(super) fn carry_to(reader: &Reader<'_>, revision: &str) {
    let repo = reader.repo();
    let Some(commit_id) = repo.resolve(revision).ok().filter(|_| may_carry(repo)) else { return };
    // What cannot be read may be a conversation.
    let is_noted = |note: Option<Note>| note.is_some_and(|note| note.has_conversation() || !note.problems().is_empty());
    if reader.note(commit_id).map_or(true, is_noted) {
        return;
    }
    let notes_ref = cli::full_notes_ref(repo, None);
    let remapped = offline(repo, |repo| remap_one(repo, &notes_ref, commit_id, Instant::now() + CARRY_TIMEOUT));
    if let Ok(remapped) = remapped {
        warn_of_carried(repo, &remapped);
    }
}

/// Opens the repository for a command that reads many commits. Stores what hooks have missed, and carries records to commits
/// that were rewritten where no hook ran, unless the user has named the notes ref to read from.
pub(super) fn repository(source: &NotesSource) -> Result<Repository> {
    let repo = cli::repository()?;
    store_missed_or_leave(&repo);
    if source.name().is_none() {
        carry_to_new(&repo);
    }
    Ok(repo)
}

/// Stores what no hook has stored, for a command that only reads: another process that holds a lock keeps it from its answer no
/// longer than it would keep Git. Says so if a purge was interrupted, which keeps everything waiting, and leaves it to others to
/// finish it.
pub(super) fn store_missed_or_leave(repo: &Repository) {
    let reports = capture::store_missed_or_leave(repo);
    reports.iter().for_each(|report| cli::tell(repo, report));
    // If something waits, the report names the purge.
    if reports.is_empty() && purge::is_unfinished(repo) {
        cli::warning(UNFINISHED_PURGE);
    }
}

/// Stores what no hook has stored, and warns of what still cannot be stored.
pub(super) fn store_missed(repo: &Repository) {
    capture::store_missed(repo).iter().for_each(|report| cli::tell(repo, report));
}

/// Warns of what waits to be stored, for a dry run, which stores nothing.
pub(super) fn warn_of_waiting(repo: &Repository) {
    if !capture::waiting(repo).is_empty() {
        cli::warning("something waits to be stored, and a dry run does not look at it");
    }
}

/// Carries records to all commits that are new since the last time.
fn carry_to_new(repo: &Repository) {
    if !may_carry(repo) {
        return;
    }
    let (notes_ref, deadline) = (cli::full_notes_ref(repo, None), Instant::now() + CARRY_TIMEOUT);
    let remapped = offline(repo, |repo| remap(repo, &notes_ref, &Scope::New, false, deadline, &mut silent()));
    if let Ok(remapped) = remapped {
        warn_of_carried(repo, &remapped);
    }
}

/// Runs `act` without fetching the objects that a partial clone lacks: each note would be a fetch of its own, while the
/// command itself fetches all that it needs at once.
fn offline<T>(repo: &Repository, act: impl FnOnce(&Repository) -> Result<T>) -> Result<T> {
    if !repo.is_partial() {
        return act(repo);
    }
    let apart = Repository::open_git_dir(repo.git_dir())?;
    apart.stay_offline();
    act(&apart)
}

/// Says whether commands that read may carry records: `shiftlog.carryOnRead`.
fn may_carry(repo: &Repository) -> bool {
    repo.config_bool("shiftlog.carryOnRead") != Some(false)
}

/// Warns of the commits that got records, and of those for which several candidates differ.
fn warn_of_carried(repo: &Repository, remapped: &Remapped) {
    let mut names = repo.names();
    for carried in remapped.carried.iter().take(MAX_NAMED) {
        let (to, from) = (names.shorten(carried.to), listed(&mut names, &carried.from));
        cli::warning(&format!("the conversation of {from} was carried to '{to}'"));
    }
    if let Some(more) = remapped.carried.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        let commits = if more == 1 { "commit" } else { "commits" };
        cli::warning(&format!("conversations were carried to {more} more {commits}"));
    }
    for carried in remapped.ambiguous.iter().take(MAX_NAMED) {
        warn_of_ambiguous(repo, &mut names, carried);
    }
}

/// Warns of a commit that may get the records of several commits, which differ.
pub(super) fn warn_of_ambiguous(repo: &Repository, names: &mut Names<'_>, carried: &Carried) {
    let (to, from) = (names.shorten(carried.to), listed(names, &carried.from));
    cli::warning(&format!("'{to}' makes the same change as commits with different conversations: {from}"));
    cli::hint(repo, &format!("git notes --ref=shiftlog copy <commit> {to}"));
}

/// Returns the abbreviated ids of commits, each once, with commas between them.
pub(super) fn listed(names: &mut Names<'_>, ids: &[ObjectId]) -> String {
    let is_first = |(at, id): &(usize, &ObjectId)| !ids[..*at].contains(id);
    ids.iter().enumerate().filter(is_first).map(|(_, id)| names.shorten(*id)).collect::<Vec<_>>().join(", ")
}
