//! Limits of reading: how much of the archive is read for one note, and how much of a transcript is parsed.
//!
//! A parsed JSON value takes fifty times its text in memory, and repeated text compresses to almost nothing, so a small
//! hostile repository could fill the reader's memory. The limits grow with the stored size; real transcripts do not
//! reach them.

use std::collections::HashSet;

use crate::archive::{Contents, segment};
use crate::git::ObjectId;

/// How many segments are read for one note.
pub(super) const MAX_LINKS: usize = 20_000;
/// How many bytes of any transcript are parsed.
const SHOWN_BYTES: u64 = 32 << 20;
/// How many further bytes are parsed for each stored byte. Transcripts compress to a fifth or an eighth.
const SHOWN_RATIO: u64 = 16;
/// The limit in words, for messages.
pub const READ_LIMIT: &str = "at most 32 MiB are read, and 16 bytes more for each one that is stored";
/// In a text up to this length JSON values are not counted.
const UNCOUNTED_BYTES: usize = 4 << 20;
/// How many JSON values of any transcript are parsed, plus one for every four stored bytes. Real transcripts have one value for
/// ten stored bytes.
const SHOWN_VALUES: u64 = 400_000;

/// Returns how many bytes at the beginning of a transcript are parsed: all, or up to a line end.
pub(crate) fn readable(transcript: &[u8], stored_bytes: u64) -> usize {
    let max_bytes = SHOWN_BYTES.saturating_add(stored_bytes.saturating_mul(SHOWN_RATIO));
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let beginning = match transcript.get(..max_bytes) {
        Some(beginning) if beginning.len() < transcript.len() => {
            &beginning[..crate::transcript::complete_lines(beginning)]
        }
        _ => transcript,
    };
    if beginning.len() <= UNCOUNTED_BYTES {
        return beginning.len();
    }
    let max_values = SHOWN_VALUES + stored_bytes / 4;
    // Those within strings count here, too; that takes a tenth of the time.
    let marks = beginning.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    if marks as u64 <= max_values { beginning.len() } else { values_end(beginning, max_values) }
}

/// Returns the start of the line in which the number of JSON values exceeds `max_values`; the length of the text if
/// none does.
fn values_end(text: &[u8], max_values: u64) -> usize {
    let (mut values, mut line_start, mut is_string, mut is_escaped) = (0, 0, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' => (line_start, is_string, is_escaped) = (at + 1, false, false),
            _ if std::mem::take(&mut is_escaped) => {}
            b'"' => is_string = !is_string,
            b'\\' => is_escaped = is_string,
            b',' | b'[' | b'{' if !is_string => values += 1,
            _ => {}
        }
        if values > max_values {
            return line_start;
        }
    }
    text.len()
}

/// What was read for one note so far.
#[derive(Default)]
pub(super) struct Budget {
    links: usize,
    stored_bytes: u64,
    unpacked_bytes: u64,
    seen: HashSet<ObjectId>,
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

    /// Adds bytes that were unpacked from the note itself.
    pub(super) fn spend_bytes(&mut self, unpacked_bytes: u64, stored_bytes: u64) {
        self.unpacked_bytes = self.unpacked_bytes.saturating_add(unpacked_bytes);
        self.stored_bytes += stored_bytes;
    }

    /// Says whether a limit is reached, so that nothing more may be read.
    pub(super) fn is_spent(&self) -> bool {
        self.links > MAX_LINKS || self.unpacked_bytes > segment::unpacked_limit(self.stored_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings_and_end_a_line() {
        let line = "{\"a\":[1,2],\"b\":\"[,{\\\",\"}\n";
        let text = line.repeat(3);
        assert_eq!(values_end(text.as_bytes(), 12), text.len());
        assert_eq!(values_end(text.as_bytes(), 11), 2 * line.len());
        assert_eq!(values_end(text.as_bytes(), 0), 0);
    }

    #[test]
    fn a_long_transcript_is_read_whole_if_as_much_is_stored() {
        let text = "a line of words\n".repeat(4 << 20);
        assert_eq!(readable(text.as_bytes(), 8 << 20), text.len());
        assert_eq!(readable(text.as_bytes(), 0), 32 << 20);
    }
}
