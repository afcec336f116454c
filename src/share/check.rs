//! Checking fetched commits before they are merged, and our own refs.

use std::time::Instant;

use crate::error::Result;
use crate::git::{Allowed, MAX_ENTRIES, ObjectId, Replaced, Repository};
use crate::record::tombstone::{self, MAX_MARK_BYTES};
use crate::{archive, notes};

/// The content of a ref.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Holds {
    /// Notes.
    Notes,
    /// Segments.
    Sessions,
    /// Purge marks.
    Marks,
}

/// The result of checking a fetched commit.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The misfits, one entry each.
    pub bad: Vec<String>,
    /// A commit without the misfits; `None` if there are none.
    pub clean: Option<ObjectId>,
}

impl Holds {
    fn max_bytes(self) -> u64 {
        match self {
            Holds::Notes => notes::MAX_NOTE_BYTES,
            Holds::Sessions => archive::MAX_FILE_BYTES,
            Holds::Marks => MAX_MARK_BYTES,
        }
    }

    /// Returns the entries that our own refs may have. Missing notes and segments are accepted, because a remote may still
    /// have them. The number of paths is not limited: the check must not remove our own data because there is much of it.
    fn own(self) -> Allowed {
        Allowed { max_bytes: u64::MAX, max_paths: usize::MAX, missing: self != Holds::Marks }
    }
}

/// Checks the fetched commit `theirs` and its history since `known`.
///
/// # Errors
///
/// If history cannot be read.
pub fn fetched(repo: &Repository, holds: Holds, theirs: ObjectId, known: &[ObjectId]) -> Result<Fetched> {
    for known in known {
        if repo.merge_base(*known, theirs)? == Some(theirs) {
            return Ok(Fetched::default());
        }
    }
    let allowed = Allowed { max_bytes: holds.max_bytes(), max_paths: MAX_ENTRIES, missing: false };
    let checked = repo.check_trees(theirs, known, allowed)?;
    let clean = match checked.tree_id.filter(|_| !checked.misfits.is_empty()) {
        Some(tree_id) => Some(repo.stand_in(theirs, tree_id)?),
        None => None,
    };
    Ok(Fetched { bad: checked.misfits, clean })
}

/// Checks our own refs with all their history. Returns each misfit with the ref.
///
/// # Errors
///
/// If a ref or its history cannot be read.
pub fn own(repo: &Repository, notes_ref: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (name, holds) in refs(notes_ref) {
        let Some(tip) = repo.tip(name)? else { continue };
        let checked = repo.check_trees(tip.commit_id, &[], holds.own())?;
        found.extend(checked.misfits.into_iter().map(|misfit| (name.to_owned(), misfit)));
    }
    Ok(found)
}

/// Removes misfits from those of our own refs that have any, now or in their history. Their history is dropped, because
/// 'git gc' fails at it. Returns the refs.
///
/// # Errors
///
/// As [`Repository::replace_ref`].
pub fn mend(repo: &Repository, notes_ref: &str, deadline: Instant) -> Result<Vec<String>> {
    let mut mended = Vec::new();
    for (name, holds) in refs(notes_ref) {
        let is_mended =
            repo.replace_ref(name, "shiftlog: remove entries that do not belong here\n", deadline, |tip| {
                let checked = repo.check_trees(tip.commit_id, &[], holds.own())?;
                let tree_id = checked.tree_id.filter(|_| !checked.misfits.is_empty());
                Ok(tree_id.map(|tree_id| Replaced { carried_tree_id: tree_id, tree_id }))
            })?;
        if is_mended {
            repo.forget_reflog(name)?;
            mended.push(name.to_owned());
        }
    }
    Ok(mended)
}

fn refs(notes_ref: &str) -> [(&str, Holds); 3] {
    [(tombstone::REF, Holds::Marks), (archive::REF, Holds::Sessions), (notes_ref, Holds::Notes)]
}
