//! Texts that the build packs into the programs: manual pages and completions.

use std::io::Read as _;

use flate2::read::GzDecoder;

/// Returns a manual page or a completion as the build has packed it; see [`unpacked`].
macro_rules! packed {
    ($file:expr) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".gz"))
    };
}
pub(crate) use packed;

/// Returns a text that the build has packed.
pub fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    // What the build has packed can be read.
    let _ = GzDecoder::new(packed).read_to_string(&mut text);
    text
}
