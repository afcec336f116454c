//! Merging our note of an object with a fetched one.
//!
//! Anyone who can push can write a huge note. A note beyond the limits of readers is not parsed: missing lines are only
//! appended to it.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

use bstr::ByteSlice as _;

use crate::git::Repository;
use crate::notes::{MAX_NOTE_BYTES, Resolved, Versions};
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Record, Unit, has_all_of};

/// How many comparisons with the archive one note may cost: each can read a long chain.
const MAX_PROVED: u32 = 32;

/// Merges two versions of a note. Records of both sides are kept as their writers wrote them; another paragraph is dropped if
/// one side has removed it since the merge base. Purged words are removed from theirs.
///
/// If one side has everything, its bytes are kept unchanged, so that clones that merge in turn reach the same note.
pub(super) fn resolve(repo: &Repository, purged: &Tombstones, mut versions: Versions) -> Resolved {
    let parse = |bytes: &Option<Vec<u8>>| Note::read_lines(bytes.as_deref().unwrap_or_default());
    let (ours, mut theirs, base) = (parse(&versions.ours), parse(&versions.theirs), parse(&versions.base));
    if [&ours, &theirs].iter().any(|note| !note.problems().is_empty()) {
        return resolve_large(purged, [ours, theirs], versions);
    }
    let proved = Cell::new(0);
    let has_all_of = |later: &Record, record: &Record| {
        proved.set(proved.get() + 1);
        proved.get() <= MAX_PROVED && has_all_of(repo, later, record)
    };
    let bars_theirs = purged.apply(repo, &mut theirs);
    if bars_theirs {
        versions.theirs = Some(theirs.to_bytes());
    }
    let mut union = ours.clone();
    union.merge_lines(&theirs);
    let is_removed = |unit: &Unit| {
        let (in_ours, in_theirs) = (ours.units().contains(unit), theirs.units().contains(unit));
        if in_ours && in_theirs || !base.units().contains(unit) {
            return false;
        }
        match unit {
            Unit::Foreign(_) => true,
            // Our side has extended this record.
            Unit::Record(record) if in_theirs => ours.records().any(|later| later.goes_on_with(record)),
            Unit::Record(record) => {
                let replaces = |later: &Record| later.through == record.through || has_all_of(later, record);
                theirs.records().any(|later| later.goes_on_with(record) && replaces(later))
            }
            Unit::Earlier(..) | Unit::Newer(_) => false,
        }
    };
    union.retain(|unit| !is_removed(unit));
    let note = if union.has_same_units(&theirs) {
        versions.theirs
    } else if union.has_same_units(&ours) {
        versions.ours
    } else {
        Some(union.to_bytes())
    };
    Resolved { note: note.filter(|note| !note.is_empty()), bars_theirs }
}

/// Merges two versions of a note of which at least one is too large for readers. If only one changed since the merge base,
/// takes that one; otherwise appends to the large one what it lacks.
///
/// Keeps ours if both are too large and both changed, and if we have purge marks, which cannot be applied to such a note.
fn resolve_large(purged: &Tombstones, read: [Note; 2], versions: Versions) -> Resolved {
    let is_whole = read.each_ref().map(|note| note.problems().is_empty());
    let bars_theirs = !purged.is_empty() && versions.theirs.is_some();
    let note = match (versions.ours, versions.theirs) {
        (ours, _) if bars_theirs => ours,
        (ours, theirs) if ours == versions.base => theirs,
        (ours, theirs) if theirs == versions.base => ours,
        (None, theirs) => theirs,
        (Some(ours), None) => Some(ours),
        (Some(ours), Some(theirs)) => match is_whole {
            [true, _] => Some(with_units(theirs, read[0].units()).unwrap_or(ours)),
            [_, true] => Some(with_units(ours.clone(), read[1].units()).unwrap_or(ours)),
            _ => Some(ours),
        },
    };
    Resolved { note: note.filter(|note| !note.is_empty()), bars_theirs }
}

/// Returns a note with the units appended that it lacks; `None` if it gets too large to be read.
fn with_units(mut note: Vec<u8>, units: &[Unit]) -> Option<Vec<u8>> {
    let texts: Vec<Cow<'_, [u8]>> = units.iter().map(Unit::text).collect();
    let mut missing: HashSet<&[u8]> = texts.iter().map(|text| text.trim()).collect();
    // A document of an earlier tool, and a remark, can have several lines.
    missing.retain(|text| !text.contains(&b'\n') || note.find(text).is_none());
    for line in note.lines() {
        missing.remove(line.trim());
    }
    let missing: Vec<&Cow<'_, [u8]>> = texts.iter().filter(|text| missing.contains(text.trim())).collect();
    if !missing.is_empty() && !note.ends_with(b"\n") {
        note.push(b'\n');
    }
    for text in missing {
        note.extend_from_slice(text);
        note.push(b'\n');
    }
    (note.len() as u64 <= MAX_NOTE_BYTES).then_some(note)
}
