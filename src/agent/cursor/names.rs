//! The names of blobs: their SHA-256, as such or in hex.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use indexmap::IndexSet;

/// The name of a blob.
pub type Id = [u8; 32];
pub type Ids = HashSet<Id, BuildHasherDefault<FirstBytes>>;
/// Names in an order; where one stands in it is the number of its line.
pub type Names = IndexSet<Id, BuildHasherDefault<FirstBytes>>;

/// What a table of names is sorted by: names are digests already.
#[derive(Default)]
pub struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        // Before the name comes its length, which is always the same.
        self.0 = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What stands before the name of a message in a root: a tag and a length.
pub const NAMED: &[u8] = b"\x0a\x20";
pub const NAMED_BYTES: usize = NAMED.len() + 32;

/// Returns the names that a root begins with.
pub fn run(data: &[u8]) -> impl Iterator<Item = Id> {
    data.chunks_exact(NAMED_BYTES).map_while(|chunk| chunk.strip_prefix(NAMED)?.try_into().ok())
}

pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks();
    if text.is_empty() || !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|pair| byte_of(*pair)).collect()
}

/// Returns the byte that two digits stand for.
fn byte_of(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    });
    Some(high? << 4 | low?)
}

pub fn id(hex: &str) -> Option<Id> {
    let (pairs, rest) = hex.as_bytes().as_chunks();
    let mut id = Id::default();
    if pairs.len() != id.len() || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(pairs) {
        *byte = byte_of(*pair)?;
    }
    Some(id)
}
