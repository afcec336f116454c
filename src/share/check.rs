//! Checking fetched commits before they are merged, and our own refs.

use std::time::Instant;

use crate::archive::Archive;
use crate::error::Result;
use crate::git::{Allowed, Checked, MAX_ENTRIES, ObjectId, Replaced, Repository};
use crate::record::tombstone::{self, MAX_MARK_BYTES};
use crate::{archive, notes};

/// How many misplaced files are named.
const MAX_NAMED: usize = 20;

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
        Allowed { max_bytes: u64::MAX, max_paths: usize::MAX, missing: self != Holds::Marks, notes_only: false }
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
    let (max_bytes, notes_only) = (holds.max_bytes(), holds == Holds::Notes);
    let allowed = Allowed { max_bytes, max_paths: MAX_ENTRIES, missing: false, notes_only };
    let mut checked = repo.check_trees(theirs, known, allowed)?;
    if holds == Holds::Sessions {
        leave_out_misplaced(repo, &mut checked, known)?;
    }
    let clean = match checked.tree_id.filter(|_| !checked.misfits.is_empty()) {
        Some(tree_id) => Some(repo.stand_in(theirs, tree_id)?),
        None => None,
    };
    Ok(Fetched { bad: checked.misfits, clean })
}

/// Takes files out of a checked archive tree that are in the directory of a session and are no segments of it: each later
/// commit of that session would write the directory again, with thousands of them.
fn leave_out_misplaced(repo: &Repository, checked: &mut Checked, known: &[ObjectId]) -> Result<()> {
    let Some(tree_id) = checked.tree_id else { return Ok(()) };
    let before =
        known.last().map_or(Ok(repo.empty_tree_id()), |known| repo.commit(*known).map(|known| known.tree_id))?;
    let archive = Archive::new(repo);
    let misplaced = archive.misplaced(before, tree_id)?;
    if !misplaced.is_empty() {
        let named = misplaced.iter().take(MAX_NAMED);
        checked.misfits.extend(named.map(|path| format!("a file that is no segment of its session at '{path}'")));
        checked.tree_id = Some(archive.edited(tree_id, Vec::new(), &misplaced)?);
    }
    Ok(())
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
/// 'git gc' fails at it. Purge marks stay, also those that cannot be read. Returns the refs.
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
                let mut tree_id = checked.tree_id.filter(|_| !checked.misfits.is_empty());
                if holds == Holds::Marks && tree_id.is_some() {
                    let marks = |tree_id| tombstone::marks_in(repo, tree_id);
                    let (before, after) = (marks(tip.tree_id)?, tree_id.map(marks).transpose()?);
                    tree_id = tree_id.filter(|_| Some(before) == after);
                }
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
