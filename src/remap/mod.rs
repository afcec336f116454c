//! Copying records to rewritten commits, where history was rewritten without running our hook.
//!
//! Read [`remap`], then `Mapper::find` in `origins`. A commit without a record gets the records, and the evidence, of
//! the commits that make the same change. If several such commits have different records, that is reported and nothing
//! is copied.

mod candidates;
mod facts;
mod lines;
mod origins;
mod parts;
mod scope;
mod sources;
mod squash;

use std::collections::BTreeMap;
use std::time::Instant;

use self::origins::{Mapper, SourceCommits};
pub use self::scope::Scope;
use self::scope::{SeenRefs, new_notes};
use crate::capture::{self, State};
use crate::error::Result;
use crate::git::private;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::progress::{Tell, silent};
use crate::record::{Note, Reader, merge_proven};

/// Records copied to a commit.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The commit that got them.
    pub to: ObjectId,
    /// The commits that had them, oldest first.
    pub from: Vec<ObjectId>,
}

/// The result of [`remap`].
#[derive(Clone, Debug, Default)]
pub struct Remapped {
    /// The copied records.
    pub carried: Vec<Carried>,
    /// Commits that make the same change as several others, which have different records.
    pub ambiguous: Vec<Carried>,
    /// Commits that no branch reaches and whose records no commit has that one does; only looked for with [`Scope::All`].
    pub unplaced: Vec<ObjectId>,
}

/// Runs [`remap`] within the time limit of a hook, after new commits or notes have arrived.
///
/// # Errors
///
/// As [`remap`].
pub fn remap_new(repo: &Repository, notes_ref: &str, scope: &Scope) -> Result<Remapped> {
    remap(repo, notes_ref, scope, false, Instant::now() + capture::hook_timeout(repo), &mut silent())
}

/// Copies records to the commits of a scope, in the notes under `notes_ref`.
///
/// If no ref has moved since the last run, reads only refs. Otherwise walks history back to the oldest commit with a
/// record. The changed paths of each commit are computed once and kept in a file.
///
/// # Errors
///
/// If history or the notes cannot be read or written, or at `deadline`; then nothing is copied.
pub fn remap(
    repo: &Repository,
    notes_ref: &str,
    scope: &Scope,
    is_dry_run: bool,
    deadline: Instant,
    tell: Tell<'_>,
) -> Result<Remapped> {
    let file = State::new(&repo.common_dir()).root().join("remapped");
    let last: SeenRefs =
        private::read_whole(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let now = SeenRefs::now(repo, notes_ref)?;
    let is_range = matches!(scope, Scope::Range(_));
    let is_after_sync = matches!(scope, Scope::Notes) && !last.notes.is_empty();
    let is_known = now == last || (is_after_sync && now.notes == last.notes);
    if !is_range && (is_known || now.notes.is_empty()) {
        return Ok(Remapped::default());
    }
    let reader = Reader::beside(repo, notes_ref);
    let new_notes = if matches!(scope, Scope::New | Scope::Notes) { new_notes(repo, &last, &now)? } else { None };
    let heads = now.head_ids(repo);
    let mut mapper = Mapper::new(&reader, heads.clone(), new_notes, deadline);
    let mut candidates = mapper.candidates(scope, last.head_ids(repo))?;
    if !candidates.is_empty() {
        mapper.add_sources()?;
        mapper.learn(&candidates)?;
    }
    // The oldest first, so that a copy of a copy finds the records of the first copy.
    candidates.reverse();
    let mut remapped = Remapped::default();
    let count = candidates.len();
    for (number, commit_id) in candidates.into_iter().enumerate() {
        tell("Comparing commits", number, count);
        mapper.check_time()?;
        match mapper.find(commit_id)? {
            SourceCommits::Nothing => {}
            // A commit with evidence alone can have been a copy before.
            SourceCommits::Records(from) if mapper.has_all(commit_id, &from)? => {}
            SourceCommits::Records(from) => {
                mapper.take(commit_id, &from)?;
                remapped.carried.push(Carried { to: commit_id, from });
            }
            SourceCommits::Several(from) => remapped.ambiguous.push(Carried { to: commit_id, from }),
        }
    }
    if !is_dry_run {
        mapper.changes.save();
    }
    if matches!(scope, Scope::All) {
        remapped.unplaced = mapper.unplaced(&heads)?;
    }
    if is_dry_run {
        return Ok(remapped);
    }
    if !mapper.taken.is_empty() {
        carry(repo, notes_ref, &mapper.taken, deadline)?;
    }
    if !is_range {
        // The notes that this run wrote are not new at the next run.
        let notes = if mapper.taken.is_empty() { now.notes } else { SeenRefs::now(repo, notes_ref)?.notes };
        let heads = if is_after_sync { last.heads } else { now.heads };
        let text = serde_json::to_vec(&SeenRefs { heads, notes }).unwrap_or_default();
        private::write(&file, &text)?;
    }
    Ok(remapped)
}

/// Copies records to one commit that has none, as [`remap`] would. For readers of a commit that Git, a forge or an
/// editor has rewritten without running a hook.
///
/// The changed paths of other commits are kept, so that a run that hits `deadline` succeeds when it is repeated.
///
/// # Errors
///
/// As [`remap`]; [`Kind::Busy`](crate::error::Kind::Busy) at the deadline.
pub fn remap_one(repo: &Repository, notes_ref: &str, commit_id: ObjectId, deadline: Instant) -> Result<Remapped> {
    let mut remapped = Remapped::default();
    let now = SeenRefs::now(repo, notes_ref)?;
    if now.notes.is_empty() {
        return Ok(remapped);
    }
    let reader = Reader::beside(repo, notes_ref);
    let mut mapper = Mapper::new(&reader, now.head_ids(repo), None, deadline);
    mapper.add_sources()?;
    match mapper.find(commit_id)? {
        SourceCommits::Nothing => {}
        SourceCommits::Several(from) => remapped.ambiguous.push(Carried { to: commit_id, from }),
        SourceCommits::Records(from) if mapper.has_all(commit_id, &from)? => {}
        SourceCommits::Records(from) => {
            mapper.take(commit_id, &from)?;
            carry(repo, notes_ref, &mapper.taken, deadline)?;
            remapped.carried.push(Carried { to: commit_id, from });
        }
    }
    mapper.changes.save();
    Ok(remapped)
}

fn carry(repo: &Repository, notes_ref: &str, taken: &BTreeMap<ObjectId, Note>, deadline: Instant) -> Result<()> {
    notes::carry(repo, notes_ref, "shiftlog: notes carried over by remap\n", deadline, |editor| {
        for (commit_id, note) in taken {
            let there = editor.get(*commit_id)?;
            let mut merged = Note::parse_unjoined(there.as_deref().unwrap_or_default());
            merge_proven(repo, &mut merged, note.clone());
            let bytes = merged.to_bytes();
            if there.as_deref() != Some(&bytes[..]) {
                editor.replace(*commit_id, &bytes)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}
