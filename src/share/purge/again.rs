//! Words that were purged here and fetched again since: a plain `git fetch` or `git pull` fetches what a remote still has until
//! a push has replaced it there.

use super::journal::{carry_out, has_marked};
use super::{Purged, Removal};
use crate::error::Result;
use crate::git::{REMOTES_PREFIX, Repository};
use crate::record::tombstone::Tombstones;
use crate::share::sync;

/// Says whether a fetched ref has something that was purged here. Reads all fetched notes.
///
/// # Errors
///
/// If the purge marks cannot be read.
pub fn is_fetched_again(repo: &Repository) -> Result<bool> {
    let marks = Tombstones::read(repo)?;
    let has_some = |name: &String| !name.ends_with("/purged") && has_marked(repo, &marks, name);
    Ok(!marks.is_empty() && repo.ref_names(REMOTES_PREFIX).iter().any(has_some))
}

/// Removes what was purged here and fetched again; `None` if there is nothing.
///
/// No hook and no exchange with a remote may run meanwhile, as for [`carry_out`].
///
/// # Errors
///
/// As [`carry_out`].
pub fn remove_fetched_again(repo: &Repository, notes_ref: &str) -> Result<Option<Purged>> {
    if !is_fetched_again(repo)? {
        return Ok(None);
    }
    // Other notes that were fetched with it stay.
    sync::join_fetched(repo, notes_ref)?;
    carry_out(repo, notes_ref, &Removal::default()).map(Some)
}
