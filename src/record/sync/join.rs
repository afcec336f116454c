//! Making one note of two: ours, and what was fetched.

use sha2::{Digest as _, Sha256};

use crate::archive::{self, Archive};
use crate::git::Repository;
use crate::notes::{Resolved, Versions};
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Record, Unit};

/// Makes one note of two. Every record of either stays the line that its writer wrote; of other lines, those go that one
/// side has removed since both parted.
///
/// Whichever side has all of the other's stands byte for byte, so that clones which merge in turn come to rest.
///
/// What was removed for good here is taken out of theirs.
pub(super) fn resolve(repo: &Repository, purged: &Tombstones, mut versions: Versions) -> Resolved {
    let parse = |bytes: &Option<Vec<u8>>| Note::parse_lines(bytes.as_deref().unwrap_or_default());
    let (ours, mut theirs, base) = (parse(&versions.ours), parse(&versions.theirs), parse(&versions.base));
    let bars_theirs = purged.apply(repo, &mut theirs);
    if bars_theirs {
        versions.theirs = Some(theirs.to_bytes());
    }
    let mut union = ours.clone();
    theirs.units().iter().for_each(|unit| union.add_line(unit.clone()));
    let is_removed = |unit: &Unit| {
        let (in_ours, in_theirs) = (ours.units().contains(unit), theirs.units().contains(unit));
        if in_ours && in_theirs || !base.units().contains(unit) {
            return false;
        }
        match unit {
            Unit::Foreign(_) => true,
            // One side has gone on with a record that the other has as it was.
            Unit::Record(record) if in_theirs => ours.records().any(|later| later.goes_on_with(record)),
            Unit::Record(record) => {
                theirs.records().any(|later| later.goes_on_with(record) && has_all_of(repo, later, record))
            }
            Unit::Earlier(..) => false,
        }
    };
    union.retain(|unit| !is_removed(unit));
    let has_all = |side: &Note| {
        union.units().len() == side.units().len() && union.units().iter().all(|unit| side.units().contains(unit))
    };
    let note = if has_all(&theirs) {
        versions.theirs
    } else if has_all(&ours) {
        versions.ours
    } else {
        Some(union.to_bytes())
    };
    Resolved { note: note.filter(|note| !note.is_empty()), bars_theirs }
}

/// Says whether a record of others has all the words of one that is here, as their segments tell: only then may it take
/// its place. The words of a record that are not here cannot be lost.
pub(in crate::record) fn has_all_of(repo: &Repository, later: &Record, record: &Record) -> bool {
    let Some(through) = repo.parse_id(&record.through) else { return false };
    if !repo.has_object(through) {
        return true;
    }
    let Some(later) = repo.parse_id(&later.through) else { return false };
    let archive = Archive::new(repo);
    let (links, _) = archive.chain(later, Some(through));
    if links.last().is_some_and(|link| link.segment_id == through) {
        return links.iter().take_while(|link| link.segment_id != through).all(|link| link.header.keep >= record.bytes);
    }
    // Two clones can have stored the same words in other segments.
    let text = archive.transcript(later).bytes();
    let beginning = usize::try_from(record.bytes).ok().and_then(|length| text.get(..length));
    beginning.is_some_and(|text| archive::hex(&Sha256::digest(text)) == record.sha256)
}
