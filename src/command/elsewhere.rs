//! History that was rewritten where no hook runs: what reading commands do about a commit without a conversation.

use std::time::{Duration, Instant};

use crate::capture;
use crate::cli::{self, NotesSource};
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::progress::silent;
use crate::record::{Note, Reader};
use crate::remap::{Remapped, Scope, remap, remap_one};

/// How long a reader waits for it.
const PATIENCE: Duration = Duration::from_millis(200);
/// How many commits are named.
const MAX_NAMED: usize = 10;

/// Carries records to what a revision names if it has none and makes the change of a commit that has, and tells so.
///
/// A repository that cannot be read or written is not told about: the reader finds that out.
pub(super) fn look_at(reader: &Reader<'_>, revision: &str) {
    let repo = reader.repo();
    let Some(commit_id) = repo.resolve(revision).ok().filter(|_| is_wanted(repo)) else { return };
    // What cannot be read may be a conversation.
    let is_noted = |note: Option<Note>| note.is_some_and(|note| note.has_conversation() || !note.problems().is_empty());
    if reader.note(commit_id).map_or(true, is_noted) {
        return;
    }
    let notes_ref = cli::full_notes_ref(repo, None);
    let remapped = offline(repo, |repo| remap_one(repo, &notes_ref, commit_id, Instant::now() + PATIENCE));
    if let Ok(remapped) = remapped {
        tell(repo, &remapped);
    }
}

/// Opens the repository for a command that reads many commits: stores what earlier commands had to put aside, and carries
/// records to what was rewritten where no hook ran, unless notes are read from a ref that was named.
pub(super) fn repository(source: &NotesSource) -> Result<Repository> {
    let repo = cli::repository()?;
    store_missed(&repo);
    if source.name().is_none() {
        look_at_new(&repo);
    }
    Ok(repo)
}

/// Stores what no hook has stored; what still cannot be stored is a warning.
pub(super) fn store_missed(repo: &Repository) {
    capture::store_missed(repo).iter().for_each(|report| cli::tell(repo, report));
}

/// Does the same as [`look_at`] for the commits that are new since it was last done.
fn look_at_new(repo: &Repository) {
    if !is_wanted(repo) {
        return;
    }
    let (notes_ref, deadline) = (cli::full_notes_ref(repo, None), Instant::now() + PATIENCE);
    let remapped = offline(repo, |repo| remap(repo, &notes_ref, &Scope::New, false, deadline, &mut silent()));
    if let Ok(remapped) = remapped {
        tell(repo, &remapped);
    }
}

/// Does something in a repository without fetching what a partial clone lacks: each note would be a fetch of its own, and the
/// command that is run fetches all that it needs at once.
fn offline<T>(repo: &Repository, act: impl FnOnce(&Repository) -> Result<T>) -> Result<T> {
    if !repo.is_partial() {
        return act(repo);
    }
    let apart = Repository::open_git_dir(repo.git_dir())?;
    apart.stay_offline();
    act(&apart)
}

fn is_wanted(repo: &Repository) -> bool {
    repo.config_bool("shiftlog.carryOnRead") != Some(false)
}

fn tell(repo: &Repository, remapped: &Remapped) {
    let mut names = repo.names();
    let mut list = |ids: &[ObjectId]| ids.iter().map(|id| names.shorten(*id)).collect::<Vec<_>>().join(", ");
    for carried in remapped.carried.iter().take(MAX_NAMED) {
        let (to, from) = (list(&[carried.to]), list(&carried.from));
        cli::warning(&format!("'{to}' was made where no hook ran; the conversation of {from} was carried to it"));
    }
    if let Some(more) = remapped.carried.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        cli::warning(&format!("conversations were carried to {more} more such commits"));
    }
    for carried in remapped.ambiguous.iter().take(MAX_NAMED) {
        let (to, from) = (list(&[carried.to]), list(&carried.from));
        cli::warning(&format!("'{to}' makes the same change as commits with different conversations: {from}"));
        cli::hint(repo, &format!("git notes --ref=shiftlog copy <commit> {to}"));
    }
}
