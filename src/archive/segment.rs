//! One segment: a zstd skippable frame with a JSON header, then one zstd frame with the bytes.
//!
//! The plain `zstd -d` skips the header and prints the bytes.

use std::io::Read as _;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Kind, Result};

/// The magic number of a skippable frame, variant 0; RFC 8878, section 3.1.2.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;
/// The longest header that is read. Ours are about 400 bytes, and a chain has many.
const MAX_HEADER_BYTES: usize = 4096;
/// New text longer than this becomes several segments, in bytes.
pub const TARGET_BYTES: usize = 8 * 1024 * 1024;
/// The largest segment, unpacked, in bytes. It is larger than the target because a single line is not split.
const MAX_BODY_BYTES: u64 = 128 << 20;
/// How many bytes may be unpacked in any case: one line repeated a thousand times compresses to almost nothing.
const SMALL_BYTES: u64 = 64 << 20;
/// How many further bytes may be unpacked for each stored byte. Transcripts compress to a fifth or an eighth.
const MAX_RATIO: u64 = 100;

/// Returns how many bytes may be unpacked from `stored_bytes`: an attacker who wants to fill the reader's memory must
/// first have stored much.
pub fn unpacked_limit(stored_bytes: u64) -> u64 {
    SMALL_BYTES.saturating_add(stored_bytes.saturating_mul(MAX_RATIO))
}

/// The header of a segment. Keys are written in this order.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Header {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The agent that wrote the transcript.
    pub agent: String,
    /// The id of the session.
    pub session: String,
    /// The segment before this one, as a hex object id.
    pub parent: Option<String>,
    /// How many bytes of the parent's transcript come before this segment's bytes.
    pub keep: u64,
    /// How many bytes this segment adds.
    pub bytes: u64,
    /// SHA-256, in hex, of the whole transcript after this segment.
    pub sha256: String,
    /// When the segment was captured; RFC 3339 in UTC.
    pub time: String,
}

/// The part of a header that every version has.
#[derive(Deserialize)]
struct Version {
    shiftlog: u64,
}

impl Header {
    /// Returns the length of the transcript after this segment.
    pub fn total_bytes(&self) -> u64 {
        self.keep.saturating_add(self.bytes)
    }
}

/// Returns the file of a segment: its header, and a frame with its bytes.
///
/// zstd level 6 up to 32 KiB, 1 up to 1 MiB, 3 above, because a commit waits for it. Level 9 saves a tenth of the space
/// for eight times the time; below a megabyte level 3 saves a fortieth, and half its time goes into its larger tables.
///
/// # Errors
///
/// If zstd cannot allocate its tables.
pub fn encode(header: &Header, body: &[u8]) -> Result<Vec<u8>> {
    let level = match body.len() {
        0..=0x8000 => 6,
        0x8001..=0x10_0000 => 1,
        _ => 3,
    };
    let mut compressor = zstd::bulk::Compressor::new(level).map_err(fail)?;
    // The SHA-256 covers the whole transcript and cannot be checked when only an increment is read; this checksum can.
    compressor.include_checksum(true).map_err(fail)?;
    let frame = compressor.compress(body).map_err(fail)?;
    let json = serde_json::to_vec(header).map_err(|error| fail(error.into()))?;
    let mut file = Vec::with_capacity(json.len() + frame.len() + 8);
    file.extend(SKIPPABLE_MAGIC.to_le_bytes());
    file.extend(u32::try_from(json.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.extend(json);
    file.extend(frame);
    Ok(file)
}

fn fail(error: std::io::Error) -> Error {
    Error::other("cannot compress a segment").because(error)
}

/// Returns the header of a segment file and the frame behind it.
///
/// # Errors
///
/// [`Kind::Corrupt`] if the file is not a segment, [`Kind::Unsupported`] if it is one of another version.
pub fn split(file: &[u8]) -> Result<(Header, &[u8])> {
    let corrupt = |why: &str| Error::new(Kind::Corrupt, format!("not a segment: {why}"));
    let (magic, rest) = file.split_at_checked(4).ok_or_else(|| corrupt("too short"))?;
    if magic != SKIPPABLE_MAGIC.to_le_bytes() {
        return Err(corrupt("no header frame"));
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| corrupt("too short"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_HEADER_BYTES || length > rest.len() {
        return Err(corrupt("the header is longer than the file"));
    }
    let (json, frame) = rest.split_at(length);
    match serde_json::from_slice::<Header>(json) {
        Ok(header) if header.shiftlog == 1 => Ok((header, frame)),
        // A newer version can have other keys.
        read => match serde_json::from_slice::<Version>(json) {
            Ok(Version { shiftlog }) if shiftlog != 1 => {
                let why = format!("a segment of format {shiftlog}, which a newer version of git-shiftlog reads");
                Err(Error::new(Kind::Unsupported, why))
            }
            _ => Err(read.map_or_else(|error| corrupt("bad header").because(error), |_| corrupt("bad header"))),
        },
    }
}

/// Returns the header of a segment file and the frame behind it, unless the frame may unpack to more than is allowed.
///
/// # Errors
///
/// As [`split`], and [`Kind::Corrupt`] if the header claims too much.
pub(super) fn split_bounded(file: &[u8]) -> Result<(Header, &[u8])> {
    let (header, frame) = split(file)?;
    if header.bytes > MAX_BODY_BYTES.min(unpacked_limit(frame.len() as u64)) {
        return Err(Error::new(Kind::Corrupt, format!("a segment claims {} bytes", header.bytes)));
    }
    Ok((header, frame))
}

/// Returns the header and the bytes of a segment file.
///
/// Never unpacks more than the header says, more than 128 MiB, or more than [`unpacked_limit`].
///
/// # Errors
///
/// [`Kind::Corrupt`] if the frame is damaged or its length is not what the header says.
pub fn decode(file: &[u8]) -> Result<(Header, Vec<u8>)> {
    let (header, frame) = split_bounded(file)?;
    let corrupt = || Error::new(Kind::Corrupt, "a segment is damaged");
    let mut body = Vec::with_capacity(usize::try_from(header.bytes).map_err(|_| corrupt())?);
    let decoder = zstd::stream::read::Decoder::with_buffer(frame).map_err(|error| corrupt().because(error))?;
    let mut bounded = decoder.single_frame().take(header.bytes + 1);
    bounded.read_to_end(&mut body).map_err(|error| corrupt().because(error))?;
    if body.len() as u64 != header.bytes {
        return Err(corrupt().because("its length is not what its header says"));
    }
    Ok((header, body))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(bytes: &[u8]) -> Header {
        Header {
            shiftlog: 1,
            agent: "claude".into(),
            session: "s".into(),
            parent: None,
            keep: 0,
            bytes: bytes.len() as u64,
            sha256: "00".into(),
            time: "2026-11-20T13:49:00Z".into(),
        }
    }

    proptest! {
        #[test]
        fn a_segment_reads_back_as_it_was_written(body in proptest::collection::vec(any::<u8>(), 0..5000)) {
            let file = encode(&header(&body), &body).expect("compresses");
            prop_assert_eq!(decode(&file).expect("decodes"), (header(&body), body));
        }

        #[test]
        fn arbitrary_bytes_are_no_segment_and_no_crash(file in proptest::collection::vec(any::<u8>(), 0..500)) {
            prop_assert!(decode(&file).is_err());
        }

        #[test]
        fn a_cut_segment_is_corrupt(body in proptest::collection::vec(any::<u8>(), 1..500), cut in 1usize..200) {
            let file = encode(&header(&body), &body).expect("compresses");
            prop_assert!(decode(&file[..file.len() - cut.min(file.len())]).is_err());
        }
    }

    #[test]
    fn a_frame_that_unpacks_to_more_than_its_header_says_is_corrupt() {
        let bomb = vec![0; 1 << 20];
        let mut small = header(&bomb);
        small.bytes = 10;
        let file = encode(&small, &bomb).expect("compresses");
        assert_eq!(decode(&file).expect_err("a bomb").kind(), Kind::Corrupt);
    }
}
