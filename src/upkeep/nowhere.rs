//! Removing the names of segments that are nowhere from the archive: 'git gc' and 'git push' fail at a missing object.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::archive::{self, Archive};
use crate::error::Result;
use crate::git::{ObjectId, Replaced, Repository};

/// Returns the segments that the archive names and this repository lacks, with the sessions of their paths. In a partial clone
/// a missing segment can be fetched at any time, so there are none.
///
/// # Errors
///
/// If the archive's tree cannot be read.
pub(super) fn lost_entries(repo: &Repository) -> Result<BTreeMap<ObjectId, String>> {
    if repo.is_partial() {
        return Ok(BTreeMap::new());
    }
    let listed = Archive::new(repo).listing(archive::REF)?;
    let absent = repo.absent(listed.iter().map(|(_, id)| *id).collect());
    let lost = listed.into_iter().filter(|(_, id)| absent.contains(id));
    Ok(lost.map(|(path, id)| (id, session_of(&path))).collect())
}

/// Returns the name of the session of a path.
fn session_of(path: &str) -> String {
    archive::session_of_path(path).map_or_else(|| format!("'{path}'"), |session| session.to_string())
}

/// Removes segments from the archive, with its history, and our copies of remotes' archives that name lost ones; the next
/// exchange fetches these again, with all that they name. Returns the copies.
///
/// # Errors
///
/// If a ref cannot be written.
pub(super) fn take_out(repo: &Repository, gone: &BTreeSet<ObjectId>, deadline: Instant) -> Result<Vec<String>> {
    let archive = Archive::new(repo);
    let has_moved = repo.replace_ref(archive::REF, "shiftlog: remove names of lost segments\n", deadline, |tip| {
        let named = archive.listing_of(tip.tree_id)?.into_iter().filter(|(_, id)| gone.contains(id));
        let paths: Vec<String> = named.map(|(path, _)| path).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let tree_id = archive.edited(tip.tree_id, Vec::new(), &paths)?;
        Ok(Some(Replaced { carried_tree_id: tree_id, tree_id }))
    })?;
    if has_moved {
        repo.forget_reflog(archive::REF)?;
    }
    let mut removed = Vec::new();
    for name in repo.fetched_refs("sessions") {
        let names_lost = |(_, id): &(String, ObjectId)| gone.contains(id) && !repo.has_object(*id);
        if archive.listing(&name).is_ok_and(|listed| listed.iter().any(names_lost)) {
            repo.delete_ref(&name)?;
            removed.push(name);
        }
    }
    Ok(removed)
}
