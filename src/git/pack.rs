//! The places of objects in their packs, which is the fastest order to read many.

use super::{ObjectId, Repository, names};

/// For fewer objects, finding their places costs more than it saves.
const MIN_OBJECTS: usize = 32;

/// Returns for each object the number of its pack and its offset there; `None` for one that is in no pack of this
/// repository itself.
pub(super) fn places(repo: &Repository, ids: &[ObjectId]) -> Vec<Option<(usize, u64)>> {
    let mut places = vec![None; ids.len()];
    if ids.len() < MIN_OBJECTS {
        return places;
    }
    for (number, index) in names::indexes(repo).iter().enumerate() {
        for (id, place) in ids.iter().zip(&mut places).filter(|(_, place)| place.is_none()) {
            *place = index.lookup(id).map(|at| (number, index.pack_offset_at_index(at)));
        }
    }
    places
}
