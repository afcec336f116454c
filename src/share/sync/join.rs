//! Merging our note of an object with a fetched one.
//!
//! Anyone who can push can write any note. Our records stay, and a note of ours never grows beyond the limits of readers:
//! padding would hide what it has.

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

/// Merges two versions of a note. Records of both sides are kept as their writers wrote them; ours goes only if theirs goes on
/// with it and the archive proves that it has all words of ours. Another paragraph is dropped if one side has removed it since
/// the merge base. Purged words are removed from theirs. Says also whether theirs was left out because the note would be too
/// large.
///
/// If one side has everything, its bytes are kept unchanged, so that clones that merge in turn reach the same note.
pub(super) fn resolve(repo: &Repository, purged: &Tombstones, mut versions: Versions) -> (Resolved, bool) {
    let parse = |bytes: &Option<Vec<u8>>| Note::parse_for_joining(bytes.as_deref().unwrap_or_default());
    let ((ours, is_ours_whole), (mut theirs, is_theirs_whole)) = (parse(&versions.ours), parse(&versions.theirs));
    if !is_theirs_whole {
        // Purge marks cannot be applied to it.
        return (Resolved { note: versions.ours, bars_theirs: !purged.is_empty() }, true);
    }
    if !is_ours_whole {
        return (resolve_large(purged, &theirs, versions), false);
    }
    let (base, _) = parse(&versions.base);
    let bars_theirs = purged.apply(repo, &mut theirs);
    if bars_theirs {
        versions.theirs = Some(theirs.to_bytes());
    }
    let proved = Cell::new(0);
    let has_all_of = |later: &Record, record: &Record| {
        proved.set(proved.get() + 1);
        proved.get() <= MAX_PROVED && has_all_of(repo, later, record)
    };
    let mut union = ours.clone();
    union.merge_lines(&theirs);
    let is_removed = |unit: &Unit| {
        if !base.units().contains(unit) {
            return false;
        }
        let (in_ours, in_theirs) = (ours.units().contains(unit), theirs.units().contains(unit));
        match unit {
            _ if in_ours && in_theirs => false,
            Unit::Foreign(_) => true,
            // Our side has extended this record.
            Unit::Record(record) if in_theirs => ours.records().any(|later| later.goes_on_with(record)),
            // Whoever adds a summary to a record of ours does not take its place: the words and the signature are ours.
            Unit::Record(record) => theirs.records().any(|later| {
                later.goes_on_with(record) && later.through != record.through && has_all_of(later, record)
            }),
            Unit::Earlier(..) | Unit::Newer(_) => false,
        }
    };
    union.retain(|unit| !is_removed(unit));
    let (note, is_left_out) = if union.has_same_units(&theirs) {
        (versions.theirs, false)
    } else if union.has_same_units(&ours) {
        (versions.ours, false)
    } else if union.may_be_joined() {
        (Some(union.to_bytes()), false)
    } else {
        (versions.ours, true)
    };
    (Resolved { note: note.filter(|note| !note.is_empty()), bars_theirs }, is_left_out)
}

/// Merges two versions of a note of which ours is too large for readers: takes theirs if only that has changed, or appends to
/// ours what it lacks.
///
/// Keeps ours if we have purge marks, which cannot be applied to such a note.
fn resolve_large(purged: &Tombstones, theirs: &Note, versions: Versions) -> Resolved {
    let bars_theirs = !purged.is_empty() && versions.theirs.is_some();
    let is_unchanged = versions.ours == versions.base;
    let note = match (versions.ours, versions.theirs) {
        (ours, _) if bars_theirs => ours,
        (_, theirs) if is_unchanged => theirs,
        (Some(ours), Some(_)) => Some(with_units(ours.clone(), theirs.units()).unwrap_or(ours)),
        (ours, _) => ours,
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
