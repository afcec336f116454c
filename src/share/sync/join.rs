//! Making one note of two: ours, and what was fetched.

use crate::git::Repository;
use crate::notes::{Resolved, Versions};
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Unit, has_all_of};

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
            Unit::Earlier(..) | Unit::Newer(_) => false,
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
