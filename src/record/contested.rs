//! Segments that we have purged and others as well, leaving different words.
//!
//! If two people purge words of one session before either knows of it, the replacement of each has what the other removed.
//! So theirs is not merged, and their mark for the purged segment counts as a mark for our replacement, too.

use std::cell::RefCell;
use std::collections::HashMap;

use super::tombstone::{MAX_MARK_BYTES, Mark, REF, Replacement, Tombstones, mark_of_path};
use crate::archive::Archive;
use crate::git::{ObjectId, Repository, Tip};

/// How many marks of others for segments that we have purged are compared with ours.
const MAX_COMPARED: usize = 10_000;
/// How often in a row a segment can have been purged by others.
const MAX_PURGES: usize = 100;
/// How many segments are looked at to tell which replacement is a segment before another. What cannot be told within it counts
/// as no.
const MAX_STEPS: usize = 1_000_000;

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
    pub(super) fn concerns_ours(&self, parents: &Parents) -> bool {
        let (Some(ours), Some(theirs)) = (self.ours, self.theirs) else { return self.ours.is_some() };
        parents.are_known(theirs) && !parents.is_before(ours, theirs)
    }

    /// Says whether their mark must be taken for a mark of their replacement. It need not if that has no words of the purged
    /// segment: then it is a segment before ours.
    pub(super) fn concerns_theirs(&self, parents: &Parents) -> bool {
        let (Some(ours), Some(theirs)) = (self.ours, self.theirs) else { return self.theirs.is_some() };
        !parents.is_before(theirs, ours)
    }

    /// Says whether both replacements have the same words of the purged segment.
    pub fn has_same_words(&self, repo: &Repository) -> bool {
        let words = |id: Option<ObjectId>| Archive::new(repo).read(id?).ok().map(|(_, words)| words);
        words(self.ours).is_some_and(|ours| words(self.theirs) == Some(ours))
    }
}

/// The parents of segments, each read once.
pub(super) struct Parents<'r> {
    repo: &'r Repository,
    /// The parent of each segment that was read; `None` for one that cannot be read.
    known: RefCell<HashMap<ObjectId, Option<Option<ObjectId>>>>,
    steps: RefCell<usize>,
}

impl<'r> Parents<'r> {
    pub(super) fn new(repo: &'r Repository) -> Self {
        Parents { repo, known: RefCell::default(), steps: RefCell::default() }
    }

    fn of(&self, segment_id: ObjectId) -> Option<Option<ObjectId>> {
        let read = || {
            let header = Archive::new(self.repo).header(segment_id).ok()?;
            Some(header.parent.as_deref().and_then(|hex| self.repo.parse_id(hex)))
        };
        *self.known.borrow_mut().entry(segment_id).or_insert_with(read)
    }

    /// Says whether a segment can be read.
    fn are_known(&self, segment_id: ObjectId) -> bool {
        self.of(segment_id).is_some()
    }

    /// Says whether a segment is `later`, or comes before it in its session.
    fn is_before(&self, segment_id: ObjectId, later: ObjectId) -> bool {
        let mut next = Some(later);
        while let Some(at) = next {
            let mut steps = self.steps.borrow_mut();
            *steps += 1;
            if at == segment_id || *steps > MAX_STEPS {
                return at == segment_id;
            }
            drop(steps);
            next = self.of(at).flatten();
        }
        false
    }
}

/// The replacements of a segment, one after the other: a replacement can have been purged in turn.
struct Course {
    /// The segments that replaced it, oldest first.
    steps: Vec<ObjectId>,
    /// The last replacement; `None` if nothing of the transcript is left.
    last: Option<ObjectId>,
    /// Whether one of the purges was typed by a user, and was not because of a mark of others.
    is_own: bool,
}

impl Course {
    /// Follows a replacement. `next` returns the mark of a segment.
    fn follow(repo: &Repository, first: Replacement, next: impl Fn(ObjectId) -> Option<Replacement>) -> Self {
        let mut course = Course { steps: Vec::new(), last: None, is_own: false };
        let mut mark = Some(first);
        while let Some(replacement) = mark.take().filter(|_| course.steps.len() < MAX_PURGES) {
            course.is_own |= replacement.own;
            course.last = replacement.became.as_deref().and_then(|hex| repo.parse_id(hex));
            let is_new = course.last.filter(|last| !course.steps.contains(last));
            course.steps.extend(is_new);
            mark = is_new.and_then(&next);
        }
        course
    }

    /// Returns the courses that begin with the replacements in `others` of a mark.
    fn of_others(repo: &Repository, mark: &Replacement, next: impl Fn(ObjectId) -> Option<Replacement>) -> Vec<Self> {
        let replacement = |hex: &String| Replacement { became: Some(hex.clone()), own: true, ..Replacement::nothing() };
        mark.others.iter().map(|hex| Course::follow(repo, replacement(hex), &next)).collect()
    }
}

/// Compares the marks of a fetched ref with ours. Reads only marks that differ from ours.
pub(super) fn contested(repo: &Repository, ours: &Tombstones, theirs: Tip, parents: &Parents<'_>) -> Vec<Contested> {
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
    let replacement = |segment_id: ObjectId| -> Option<Replacement> {
        serde_json::from_slice(&repo.read_blob(*received.get(&segment_id)?, MAX_MARK_BYTES).ok()?).ok()
    };
    let differing =
        known.iter().filter_map(|(purged, ours)| Some((*purged, *received.get(purged).filter(|id| *id != ours)?)));
    let mut found = Vec::new();
    for (purged, mark) in differing.take(MAX_COMPARED) {
        let (Some(of_ours), Some(of_theirs)) = (ours.segments.get(&purged), replacement(purged)) else { continue };
        // If all our purges were because of marks of others, our replacement has no words that we purged. A replacement of others
        // that our own mark names counts as ours while it is in our archive.
        let mut all_ours = Course::of_others(repo, of_ours, |_| None);
        all_ours.retain(|ours| ours.last.is_some_and(|id| !known.contains_key(&id)));
        let ours = Course::follow(repo, of_ours.clone(), |id| ours.segments.get(&id).cloned());
        all_ours.extend(Some(ours).filter(|ours| ours.is_own));
        let mut all_theirs = Course::of_others(repo, &of_theirs, replacement);
        all_theirs.push(Course::follow(repo, of_theirs, replacement));
        for ours in &all_ours {
            for theirs in all_theirs.iter().filter(|theirs| theirs.is_own || theirs.last.is_some()) {
                let one = Contested { purged, ours: ours.last, theirs: theirs.last, mark };
                let is_later = |id: Option<ObjectId>, course: &Course| id.is_some_and(|id| course.steps.contains(&id));
                let is_settled = one.ours == one.theirs
                    || one.theirs.is_some_and(|id| known.contains_key(&id))
                    || is_later(one.ours, theirs)
                    || is_later(one.theirs, ours)
                    || !theirs.is_own && !one.concerns_theirs(parents);
                found.extend((!is_settled).then_some(one));
            }
        }
    }
    found
}
