//! Limits of reading: how much of the archive is read for one note, and how much of a transcript is parsed.
//!
//! A parsed JSON value takes fifty times its text in memory, and repeated text compresses to almost nothing, so a small
//! hostile repository could fill the reader's memory. The limits grow with the stored size; real transcripts do not
//! reach them.

use std::collections::HashSet;

use crate::archive::{Contents, Link, Stored, segment};
use crate::git::ObjectId;
use crate::transcript::BLOCK_BYTES;

/// How many segments are read for one note.
pub const MAX_LINKS: usize = 20_000;
/// How many bytes of the transcripts of a note are parsed in any case.
const SHOWN_BYTES: u64 = 32 << 20;
/// How many further bytes are parsed for each stored byte. Transcripts compress to a fifth or an eighth.
const SHOWN_RATIO: u64 = 16;
/// The limit in words, for messages.
pub const READ_LIMIT: &str = "at most 32 MiB are read, and 16 bytes more for each one that is stored";
/// How many JSON values of the transcripts of a note are parsed in any case.
const SHOWN_VALUES: u64 = 300_000;
/// For how many stored bytes one JSON value more is parsed. Real transcripts have one for ten.
const BYTES_FOR_A_VALUE: u64 = 6;

/// How much of what is stored was parsed so far: the limits are for all transcripts of a note together, as all of them can
/// be in memory at once.
#[derive(Default)]
struct Shown {
    bytes: u64,
    values: u64,
}

impl Shown {
    /// Returns how many bytes more may be parsed.
    fn left(&self, stored_bytes: u64) -> u64 {
        SHOWN_BYTES.saturating_add(stored_bytes.saturating_mul(SHOWN_RATIO)).saturating_sub(self.bytes)
    }

    /// Returns how many bytes at the beginning of a transcript are parsed, and counts them: all, or up to a line end.
    fn readable(&mut self, transcript: &[u8], stored_bytes: u64) -> usize {
        let max_bytes = self.left(stored_bytes);
        let beginning = match transcript.get(..usize::try_from(max_bytes).unwrap_or(usize::MAX)) {
            Some(beginning) if beginning.len() < transcript.len() => {
                &beginning[..crate::transcript::complete_lines(beginning)]
            }
            _ => transcript,
        };
        let max_values = (SHOWN_VALUES + stored_bytes / BYTES_FOR_A_VALUE).saturating_sub(self.values);
        // Those within strings count here, too; that takes a tenth of the time.
        let marks = beginning.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count() as u64;
        let (length, values) =
            if marks <= max_values { (beginning.len(), marks) } else { values_end(beginning, max_values) };
        self.bytes += length as u64;
        self.values += values;
        length
    }
}

/// Returns how many bytes at the beginning of a transcript are parsed: all, or up to a line end.
pub(crate) fn readable(transcript: &[u8], stored_bytes: u64) -> usize {
    Shown::default().readable(transcript, stored_bytes)
}

/// Returns the start of the line in which the number of JSON values exceeds `max_values`, or the length of the text if
/// none does, and the number of values before that.
fn values_end(text: &[u8], max_values: u64) -> (usize, u64) {
    let (mut values, mut line_start, mut is_string, mut is_escaped) = (0, 0, false, false);
    let mut values_before = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' => (line_start, values_before, is_string, is_escaped) = (at + 1, values, false, false),
            _ if std::mem::take(&mut is_escaped) => {}
            b'"' => is_string = !is_string,
            b'\\' => is_escaped = is_string,
            b',' | b'[' | b'{' if !is_string => values += 1,
            _ => {}
        }
        if values > max_values {
            return (line_start, values_before);
        }
    }
    (text.len(), values)
}

/// What was read for one note so far.
#[derive(Default)]
pub(super) struct Budget {
    links: usize,
    stored_bytes: u64,
    unpacked_bytes: u64,
    seen: HashSet<ObjectId>,
    shown: Shown,
}

impl Budget {
    /// Adds the size of contents that were read from the archive.
    pub(super) fn spend(&mut self, contents: &Contents) {
        self.links += contents.links;
        self.unpacked_bytes = self.unpacked_bytes.saturating_add(contents.unpacked_bytes());
        for (segment_id, bytes) in &contents.sources {
            // Many records can name the same segment, which is stored only once.
            if self.seen.insert(*segment_id) {
                self.stored_bytes += bytes;
            }
        }
    }

    /// Adds the size of what will be read from the archive.
    pub(super) fn spend_stored(&mut self, stored: &Stored) {
        self.links += stored.links;
        for piece in &stored.pieces {
            self.unpacked_bytes = self.unpacked_bytes.saturating_add(piece.length());
            if self.seen.insert(piece.segment_id) {
                self.stored_bytes += piece.stored_bytes;
            }
        }
    }

    /// Adds bytes that were unpacked from the note itself.
    pub(super) fn spend_bytes(&mut self, unpacked_bytes: u64, stored_bytes: u64) {
        self.unpacked_bytes = self.unpacked_bytes.saturating_add(unpacked_bytes);
        self.stored_bytes += stored_bytes;
    }

    /// Returns how many bytes more may be parsed if these segments are read.
    pub(super) fn readable_of(&self, links: &[Link]) -> u64 {
        let new = links.iter().filter(|link| !self.seen.contains(&link.segment_id)).map(|link| link.stored_bytes);
        self.shown.left(new.fold(self.stored_bytes, u64::saturating_add))
    }

    /// Returns how many bytes at the beginning of a transcript are parsed, after those before it: all, or up to a line end.
    /// Its stored size must have been added with [`Budget::spend`] before.
    pub(super) fn readable(&mut self, transcript: &[u8]) -> usize {
        self.shown.readable(transcript, self.stored_bytes)
    }

    /// Says whether lines may be parsed that do not stay in memory, and counts their bytes. Of their JSON values only those of
    /// one long line could take much memory.
    pub(super) fn may_parse_apart(&mut self, lines: &[u8]) -> bool {
        self.shown.bytes += lines.len() as u64;
        let max_values = SHOWN_VALUES + self.stored_bytes / BYTES_FOR_A_VALUE;
        lines.len() <= BLOCK_BYTES || values_end(lines, max_values).0 == lines.len()
    }

    /// Says whether a limit is reached, so that nothing more may be read.
    pub(super) fn is_spent(&self) -> bool {
        self.links > MAX_LINKS || self.unpacked_bytes > segment::unpacked_limit(self.stored_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Header;

    #[test]
    fn values_are_counted_outside_of_strings_and_end_a_line() {
        let line = "{\"a\":[1,2],\"b\":\"[,{\\\",\"}\n";
        let text = line.repeat(3);
        assert_eq!(values_end(text.as_bytes(), 12), (text.len(), 12));
        assert_eq!(values_end(text.as_bytes(), 11), (2 * line.len(), 8));
        assert_eq!(values_end(text.as_bytes(), 0), (0, 0));
    }

    #[test]
    fn a_long_transcript_is_read_whole_if_as_much_is_stored() {
        let text = "a line of words\n".repeat(4 << 20);
        assert_eq!(readable(text.as_bytes(), 8 << 20), text.len());
        assert_eq!(readable(text.as_bytes(), 0), 32 << 20);
    }

    #[test]
    fn a_segment_that_many_records_name_gives_its_share_once() {
        let header = Header {
            shiftlog: 1,
            agent: "claude".into(),
            session: "s".into(),
            parent: None,
            keep: 0,
            bytes: 64 << 20,
            sha256: String::new(),
            time: String::new(),
        };
        let segment_id = ObjectId::from_hex(&[b'1'; 40]).expect("an id");
        let links = [Link { segment_id, header, stored_bytes: 1 << 20 }];
        let mut budget = Budget::default();
        assert_eq!(budget.readable_of(&links), 48 << 20);
        budget.spend(&Contents { sources: vec![(segment_id, 1 << 20)], ..Contents::default() });
        let text = "a line of words\n".repeat(4 << 20);
        assert_eq!(budget.readable(text.as_bytes()), 48 << 20);
        assert_eq!(budget.readable_of(&links), 0, "nothing more is unpacked for the next record");
    }

    #[test]
    fn the_transcripts_of_a_note_are_limited_together() {
        let text = "a line of words\n".repeat(1 << 20);
        let mut budget = Budget::default();
        assert_eq!([(); 4].map(|()| budget.readable(text.as_bytes())), [16 << 20, 16 << 20, 0, 0]);
        budget.spend_bytes(0, 1 << 20);
        assert_eq!(budget.readable(text.as_bytes()), 16 << 20);
        let text = "[1,2,3,4]\n".repeat(30_000);
        let mut budget = Budget::default();
        let values = [(); 3].map(|()| budget.readable(text.as_bytes()) / 10);
        assert_eq!(values, [30_000, 30_000, 15_000]);
    }
}
