//! Carrying records to what became of their commits: where history was rewritten and Git did not say so.
//!
//! Read [`remap`], then `Mapper::find` in `origins`. A commit without a record gets those of the commits whose change it
//! makes. What fits several, and they say different things, is told and not guessed.

pub(crate) mod candidates;
pub(crate) mod changes;
pub(crate) mod lines;
pub(crate) mod origins;
mod scope;
pub(crate) mod sources;
pub(crate) mod squash;

use std::collections::BTreeMap;
use std::time::Instant;

use self::origins::{Mapper, Origin};
pub use self::scope::Scope;
use self::scope::{SeenRefs, new_notes};
use crate::capture::state::write_private;
use crate::capture::{self, State};
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::record::{Note, Reader, merge_proven};

/// Records that were carried.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The commit that has them now.
    pub to: ObjectId,
    /// The commits that had them, oldest first.
    pub from: Vec<ObjectId>,
}

/// What was carried, and what was not.
#[derive(Clone, Debug, Default)]
pub struct Remapped {
    /// What was carried.
    pub carried: Vec<Carried>,
    /// Commits that make the same change as several others, which say different things.
    pub ambiguous: Vec<Carried>,
    /// Commits that no branch reaches and whose records no commit has that one does; only looked for with [`Scope::All`].
    pub unplaced: Vec<ObjectId>,
}

/// Does [`remap`] within the time of a hook, after commits or notes came in.
///
/// # Errors
///
/// As [`remap`].
pub fn remap_new(repo: &Repository, notes_ref: &str, scope: &Scope) -> Result<Remapped> {
    remap(repo, notes_ref, scope, false, Instant::now() + capture::hook_timeout(repo))
}

/// Carries records to the commits of a scope, and writes them under `notes_ref`.
///
/// With nothing new since the last time it reads refs alone. Otherwise history is walked back to the oldest commit with
/// a record, and what each commit changes is looked at once and then remembered.
///
/// # Errors
///
/// If history or the notes cannot be read or written, or at `deadline`; what was found by then is not carried.
pub fn remap(
    repo: &Repository,
    notes_ref: &str,
    scope: &Scope,
    is_dry_run: bool,
    deadline: Instant,
) -> Result<Remapped> {
    let file = State::new(&repo.common_dir()).root().join("remapped");
    let last: SeenRefs =
        std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
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
    // The oldest first: a copy of a copy finds the first copy's records.
    candidates.reverse();
    let mut remapped = Remapped::default();
    for commit_id in candidates {
        mapper.check_time()?;
        match mapper.find(commit_id)? {
            Origin::Nothing => {}
            Origin::Records(from) => {
                mapper.take(commit_id, &from)?;
                remapped.carried.push(Carried { to: commit_id, from });
            }
            Origin::Several(from) => remapped.ambiguous.push(Carried { to: commit_id, from }),
        }
    }
    mapper.changes.save();
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
        // Our own writing is not news; what others did meanwhile is.
        let notes = if mapper.taken.is_empty() { now.notes } else { SeenRefs::now(repo, notes_ref)?.notes };
        let heads = if is_after_sync { last.heads } else { now.heads };
        let text = serde_json::to_vec(&SeenRefs { heads, notes }).unwrap_or_default();
        write_private(&file, &text)?;
    }
    Ok(remapped)
}

/// Carries records to one commit that has none, as [`remap`] would, if that can be found out until `deadline`. For readers: a
/// commit that Git, a forge or an editor made anew without running a hook.
///
/// What it learns about other commits is kept, so that a question that takes too long is answered when it is asked again.
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
        Origin::Nothing => {}
        Origin::Several(from) => remapped.ambiguous.push(Carried { to: commit_id, from }),
        Origin::Records(from) => {
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
            let mut merged = Note::parse_lines(there.as_deref().unwrap_or_default());
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
