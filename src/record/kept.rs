//! Restoring notes, segments and marks that a forced fetch or a rewrite of history removed from our refs.
//!
//! Read [`rejoin`]. The `git` room keeps a second ref for each of ours and detects a loss by it.

use std::collections::HashSet;
use std::time::Instant;

use super::Note;
use super::tombstone::{self, Tombstones};
use crate::archive::{self, Archive};
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::notes;

/// Restores the content of our refs after our last write, if it was lost since. Returns the refs that moved.
///
/// Purged words are not restored. Reads six refs if nothing was lost.
///
/// # Errors
///
/// If a ref is damaged or cannot be written.
pub fn rejoin(repo: &Repository, notes_ref: &str, deadline: Instant) -> Result<Vec<String>> {
    let mut joined = Vec::new();
    // The purge marks come first: they say what must not be restored in the other refs.
    for name in [tombstone::REF, archive::REF, notes_ref] {
        if repo.lost_tree(name)?.is_none() {
            continue;
        }
        let purged = Tombstones::read(repo)?;
        let has_moved = if name == notes_ref {
            notes::rejoin(repo, name, deadline, |ours, kept| {
                let mut kept = Note::parse_unjoined(kept);
                purged.apply(repo, &mut kept);
                let mut note = Note::parse_unjoined(ours.unwrap_or_default());
                super::merge_proven(repo, &mut note, kept);
                note.to_bytes()
            })?
        } else {
            rejoin_paths(repo, name, deadline, &purged)?
        };
        joined.extend(has_moved.then(|| name.to_owned()));
    }
    Ok(joined)
}

/// Restores the paths of a ref's lost tree: segments, or purge marks.
fn rejoin_paths(repo: &Repository, ref_name: &str, deadline: Instant, purged: &Tombstones) -> Result<bool> {
    let archive = Archive::new(repo);
    let is_barred = |path: &str, id: ObjectId| ref_name == archive::REF && purged.bars_path(path, id);
    repo.rejoin_ref(ref_name, "shiftlog: join what was lost\n", deadline, |tip, lost| {
        let root = tip.map_or(repo.empty_tree_id(), |tip| tip.tree_id);
        let present: HashSet<String> = archive.listing_of(root)?.into_iter().map(|(path, _)| path).collect();
        let mut new = archive.listing_of(lost)?;
        new.retain(|(path, id)| !present.contains(path) && !is_barred(path, *id));
        archive.edited(root, new, &[])
    })
}

/// Writes the second ref of each of our refs that has none yet, as in repositories of earlier versions.
///
/// # Errors
///
/// If a ref is damaged or cannot be written.
pub fn keep(repo: &Repository, notes_ref: &str, deadline: Instant) -> Result<()> {
    let is_new = |name: &&str| !repo.is_kept(name);
    [tombstone::REF, archive::REF, notes_ref]
        .iter()
        .filter(|name| is_new(name))
        .try_for_each(|name| repo.keep_ref(name, deadline))
}

/// Sets the second refs to the present trees of our refs, so that purged words are no longer reachable. Those of other notes
/// refs of ours stay, too: they tell that these are ours.
///
/// # Errors
///
/// If a ref cannot be written.
pub(crate) fn forget(repo: &Repository, notes_ref: &str, deadline: Instant) -> Result<()> {
    let others = repo.written_notes_refs();
    for name in [tombstone::REF, archive::REF, notes_ref].into_iter().chain(others.iter().map(String::as_str)) {
        // With the ref its reflog goes, which has the earlier trees. What is gone, or damaged, gets none.
        repo.forget_kept(name)?;
        if let Ok(Some(_)) = repo.tip(name) {
            repo.keep_ref(name, deadline)?;
        }
    }
    Ok(())
}
