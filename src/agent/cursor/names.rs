//! The names of blobs: their SHA-256, as such or in hex.

use std::collections::HashSet;

use indexmap::IndexSet;

use crate::hex::unhex;

/// The name of a blob.
pub type Id = [u8; 32];
pub type Ids = HashSet<Id>;
/// Blob names in order: the index of a name is its line number.
pub type Names = IndexSet<Id>;

/// The bytes before the name of a message in a root: a tag and a length.
pub const NAMED: &[u8] = b"\x0a\x20";
pub const NAMED_BYTES: usize = NAMED.len() + 32;

/// Returns the names that a root begins with.
pub fn run(data: &[u8]) -> impl Iterator<Item = Id> {
    data.chunks_exact(NAMED_BYTES).map_while(|chunk| chunk.strip_prefix(NAMED)?.try_into().ok())
}

/// Parses a name in hex.
pub fn id(text: &str) -> Option<Id> {
    unhex(text)?.try_into().ok()
}
