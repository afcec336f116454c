//! Segments that we have purged and others as well, leaving different words.
//!
//! If two people purge words of one session before either knows of it, the replacement of each has what the other removed.
//! So theirs is not merged, and their mark for the purged segment counts as a mark for our replacement, too.

use std::collections::HashMap;

use super::tombstone::{MAX_MARK_BYTES, Mark, REF, Replacement, Tombstones, mark_of_path};
use crate::archive::Archive;
use crate::git::{ObjectId, Repository, Tip};

/// How many marks of others for segments that we have purged are compared with ours.
const MAX_COMPARED: usize = 10_000;
/// How often in a row a segment can have been purged by others.
const MAX_PURGES: usize = 100;

/// A replacement of others for a segment that we have purged.
#[derive(Clone, Copy, Debug)]
pub struct Contested {
    /// The segment that both have purged.
    pub purged: ObjectId,
    /// Our replacement; `None` if nothing of the transcript is left.
    pub ours: Option<ObjectId>,
    /// Their replacement.
    pub theirs: Option<ObjectId>,
    /// The blob of their mark.
    pub(super) mark: ObjectId,
}

impl Contested {
    /// Says whether their mark must be taken for a mark of our replacement. It need not if ours has no words of the purged
    /// segment at all: then ours is a segment before it.
    ///
    /// Reads the chain of their replacement. If that cannot be read, our words stay as they are until it can.
    pub fn concerns_ours(&self, repo: &Repository) -> bool {
        let (Some(ours), Some(theirs)) = (self.ours, self.theirs) else { return self.ours.is_some() };
        let (links, problem) = Archive::new(repo).chain(theirs, Some(ours));
        (problem.is_none() || links.len() > 1) && !links.iter().any(|link| link.segment_id == ours)
    }

    /// Says whether their mark must be taken for a mark of their replacement. It need not if that has no words of the purged
    /// segment: then it is a segment before ours.
    pub fn concerns_theirs(&self, repo: &Repository) -> bool {
        let (Some(ours), Some(theirs)) = (self.ours, self.theirs) else { return self.theirs.is_some() };
        let (links, _) = Archive::new(repo).chain(ours, Some(theirs));
        !links.iter().any(|link| link.segment_id == theirs)
    }

    /// Says whether both replacements have the same words of the purged segment.
    pub fn has_same_words(&self, repo: &Repository) -> bool {
        let words = |id: Option<ObjectId>| Archive::new(repo).read(id?).ok().map(|(_, words)| words);
        words(self.ours).is_some_and(|ours| words(self.theirs) == Some(ours))
    }
}

/// Compares the marks of a fetched ref with ours. Reads only marks that differ from ours.
pub(super) fn contested(repo: &Repository, ours: &Tombstones, theirs: Tip) -> Vec<Contested> {
    let marks_of = |tip: Tip| -> HashMap<ObjectId, ObjectId> {
        let listing = Archive::new(repo).listing_of(tip.tree_id).unwrap_or_default();
        let segment = |(path, blob_id): (String, ObjectId)| match mark_of_path(repo, &path) {
            Some(Mark::Segment(segment_id)) => Some((segment_id, blob_id)),
            _ => None,
        };
        listing.into_iter().filter_map(segment).collect()
    };
    let (known, received) = match repo.tip(REF) {
        Ok(Some(tip)) if tip.tree_id != theirs.tree_id => (marks_of(tip), marks_of(theirs)),
        _ => return Vec::new(),
    };
    let id = |replacement: &Replacement| replacement.became.as_deref().and_then(|hex| repo.parse_id(hex));
    let replacement = |blob_id: &ObjectId| -> Option<Replacement> {
        serde_json::from_slice(&repo.read_blob(*blob_id, MAX_MARK_BYTES).ok()?).ok()
    };
    // What they put in the place of a segment can have been purged by them in turn.
    let last_of_theirs = |blob_id: &ObjectId| -> Option<Replacement> {
        let mut last = replacement(blob_id).filter(|mark| mark.own)?;
        for _ in 0..received.len().min(MAX_PURGES) {
            let next = id(&last).filter(|next| !known.contains_key(next));
            let Some(later) = next.and_then(|next| replacement(received.get(&next)?)) else { break };
            last = later;
        }
        Some(last)
    };
    let differing =
        known.iter().filter_map(|(purged, ours)| Some((*purged, received.get(purged).filter(|id| *id != ours)?)));
    let both = differing.take(MAX_COMPARED).filter_map(|(purged, blob_id)| {
        // A mark that was taken over from them leaves other words than theirs, but no purged ones.
        ours.segments.get(&purged).filter(|mark| mark.own)?;
        let (ours, theirs) = (id(&ours.final_of(repo, purged)?), id(&last_of_theirs(blob_id)?));
        Some(Contested { purged, ours, theirs, mark: *blob_id })
    });
    let is_open = |one: &Contested| one.ours != one.theirs && !one.theirs.is_some_and(|id| known.contains_key(&id));
    both.filter(is_open).collect()
}
