//! Which commits get records, and which notes are new since the last run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::git::{ObjectId, REMOTES_PREFIX, Range, Repository};
use crate::notes;

/// Which commits get records.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Those that are new since the last run, up to a limit: for hooks.
    New,
    /// Those whose source has a note that is new since the last run: after a sync. New commits are left for the next run
    /// with [`Scope::New`].
    Notes,
    /// All that a branch reaches, unless no ref has moved since the last run.
    All,
    /// Those of a range.
    Range(Range),
}

/// The ids of refs at the last run.
#[derive(Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct SeenRefs {
    /// The heads of all branches.
    pub heads: BTreeSet<String>,
    /// The commits of all notes refs.
    pub notes: BTreeSet<String>,
}

impl SeenRefs {
    /// Returns the present ids.
    pub fn now(repo: &Repository, notes_ref: &str) -> Result<Self> {
        let hex = |refs: Vec<(String, ObjectId)>| refs.into_iter().map(|(_, id)| id.to_string()).collect::<Vec<_>>();
        let mut heads: BTreeSet<String> = hex(repo.ref_targets("refs/heads/")).into_iter().collect();
        heads.extend(hex(repo.ref_targets("refs/remotes/")));
        heads.extend(repo.head()?.commit_id.map(|id| id.to_string()));
        let mut notes: BTreeSet<String> = hex(repo.ref_targets(notes_ref)).into_iter().collect();
        let fetched = repo.ref_targets(REMOTES_PREFIX).into_iter().filter(|(name, _)| name.ends_with("/notes"));
        notes.extend(hex(fetched.collect()));
        Ok(SeenRefs { heads, notes })
    }

    /// Returns the heads that are commits of this repository.
    pub fn head_ids(&self, repo: &Repository) -> Vec<ObjectId> {
        // The commit of a deleted branch can be missing, and a ref can name another kind of object.
        self.heads.iter().filter_map(|hex| repo.parse_id(hex)).filter(|id| repo.commit(*id).is_ok()).collect()
    }
}

/// Returns the commits whose notes have changed since the last run; `None` if an old notes commit is missing.
pub fn new_notes(repo: &Repository, last: &SeenRefs, now: &SeenRefs) -> Result<Option<BTreeSet<ObjectId>>> {
    let tree = |hex: &String| Some(repo.commit(repo.parse_id(hex)?).ok()?.tree_id);
    let old: Option<Vec<ObjectId>> = last.notes.iter().map(tree).collect();
    let Some(old) = old.filter(|old| !old.is_empty()) else { return Ok(None) };
    let mut new = BTreeSet::new();
    for hex in now.notes.difference(&last.notes) {
        let Some(after) = tree(hex) else { return Ok(None) };
        // A note that any of the refs had before is not new.
        let mut changed: Option<BTreeSet<ObjectId>> = None;
        for before in &old {
            let differing: BTreeSet<ObjectId> = notes::changed(repo, *before, after)?.into_iter().collect();
            changed = Some(match changed {
                None => differing,
                Some(changed) => changed.intersection(&differing).copied().collect(),
            });
        }
        new.extend(changed.unwrap_or_default());
    }
    Ok(Some(new))
}
