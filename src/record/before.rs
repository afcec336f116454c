//! What comes before an increment: answers that may go on in it, and when the last message was written.

use crate::agent;
use crate::archive::Archive;
use crate::git::ObjectId;
use crate::transcript::{Before, SessionKey, Tally};

/// How many segments are read at most: most have the words of a few messages.
const MAX_SEGMENTS: usize = 16;
/// No further segment is read once those read have so many bytes.
const ENOUGH_BYTES: u64 = 256 << 10;

/// Returns what comes before the words that follow a segment, from the archive; nothing if it is not here. See [`Tally::after`].
pub(crate) fn before(archive: &Archive<'_>, key: &SessionKey, through: ObjectId) -> Before {
    before_segment(archive, key, through).0
}

/// Does the same, and returns how many bytes were unpacked for it.
pub(super) fn before_segment(archive: &Archive<'_>, key: &SessionKey, through: ObjectId) -> (Before, u64) {
    let archive = archive.only(key);
    let Ok(last) = archive.header(through) else { return (Before::default(), 0) };
    let end = last.total_bytes();
    let mut since = last.parent.as_deref().and_then(|hex| archive.repo().parse_id(hex));
    for _ in 1..MAX_SEGMENTS {
        let Some(header) = since.and_then(|id| archive.header(id).ok()) else { break };
        if end.saturating_sub(header.total_bytes()) >= ENOUGH_BYTES {
            break;
        }
        since = header.parent.as_deref().and_then(|hex| archive.repo().parse_id(hex));
    }
    let contents = archive.increment(since, through);
    let unpacked = contents.segment_bytes;
    (end_of(key, &contents.into_bytes()), unpacked)
}

/// Returns what comes before a position of the transcript that ends with `through`, and how many bytes were unpacked for it.
pub(super) fn before_position(
    archive: &Archive<'_>,
    key: &SessionKey,
    through: ObjectId,
    position: u64,
) -> (Before, u64) {
    let start = position.saturating_sub(ENOUGH_BYTES);
    let contents = archive.only(key).range(through, start..position);
    let unpacked = contents.segment_bytes;
    let bytes = contents.into_bytes();
    // The first line can be the end of one.
    let whole =
        if start == 0 { 0 } else { bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1) };
    (end_of(key, &bytes[whole..]), unpacked)
}

fn end_of(key: &SessionKey, bytes: &[u8]) -> Before {
    let Some(agent) = agent::find(&key.agent) else { return Before::default() };
    let mut tally = Tally::default();
    tally.add(&agent.parse(bytes));
    tally.end()
}
