//! Parsing a note: records, documents of earlier tools, and remarks of people.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::remark::{self, Remark};
use super::{Earlier, Newer, Note, Record, Unit};

/// How many lines of one note are parsed for showing; a document of an earlier tool counts as one.
const MAX_SHOWN_LINES: usize = 4096;

/// How many bytes of one note are parsed for showing, without transcripts of earlier tools.
const MAX_SHOWN_BYTES: usize = 2 << 20;

/// The longest line that is parsed as a record for showing, in bytes. Our records have a few hundred.
const MAX_SHOWN_LINE_BYTES: usize = 64 << 10;

/// How much of a note is parsed.
struct Bounds {
    lines: usize,
    bytes: usize,
    line_bytes: usize,
}

impl Bounds {
    /// Everything, for code that writes the note again.
    const NONE: Bounds = Bounds { lines: usize::MAX, bytes: usize::MAX, line_bytes: usize::MAX };
    /// Half of the limits for showing: a larger note of somebody else is not joined to ours. A long line may be a remark, so
    /// it counts like others.
    const JOINED: Bounds = Bounds { lines: MAX_SHOWN_LINES / 2, bytes: MAX_SHOWN_BYTES / 2, line_bytes: usize::MAX };
    /// As much as is shown.
    const SHOWN: Bounds = Bounds { lines: MAX_SHOWN_LINES, bytes: MAX_SHOWN_BYTES, line_bytes: MAX_SHOWN_LINE_BYTES };
}

/// The paragraph at the present place in a note: empty, or its lines with the blank lines before them.
struct Paragraph<'n> {
    note: &'n [u8],
    lines: Range<usize>,
}

impl Paragraph<'_> {
    /// Ends the paragraph and returns it, unless it is empty.
    fn take(&mut self) -> Option<Unit> {
        let text = &self.note[self.lines.clone()];
        self.lines.start = self.lines.end;
        (!text.is_empty()).then(|| Unit::Foreign(Remark::new(text)))
    }

    /// Begins an empty paragraph at a place.
    fn begin_at(&mut self, at: usize) {
        self.lines = at..at;
    }
}

/// `parse` is for a note that is written again, and takes all of it; `…_for_showing` leaves out what is too much. The records
/// of one session are joined to one, except by `…_unjoined…`.
impl Note {
    /// Parses a whole note, to be written again. Never fails: paragraphs that are not records are kept byte for byte.
    /// Blank lines before records are dropped, duplicate records count once, and records of one session that continue each
    /// other are joined.
    pub fn parse(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::NONE, Note::add)
    }

    /// Parses a whole note, to be written again, without joining records. Notes of other people must stay as they are:
    /// a joined record would have no author.
    pub(crate) fn parse_unjoined(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::NONE, Note::add_record_line)
    }

    /// Parses a note for showing: of a note larger than any that real work makes, the rest is left out, and
    /// [`Note::problems`] says so.
    pub fn parse_for_showing(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::SHOWN, Note::add)
    }

    /// Parses a note for showing, without joining records.
    pub(crate) fn parse_unjoined_for_showing(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::SHOWN, Note::add_record_line)
    }

    fn add_record_line(&mut self, record: Record) {
        self.add_line(Unit::Record(Box::new(record)));
    }

    /// Parses a note for joining it with another one, without joining records. Says also whether that is all of it.
    pub(crate) fn parse_for_joining(bytes: &[u8]) -> (Self, bool) {
        let note = Self::parse_within(bytes, Bounds::JOINED, Note::add_record_line);
        let is_whole = note.problems().is_empty();
        (note, is_whole)
    }

    /// Says whether [`Note::parse_for_joining`] would find all of the note.
    pub(crate) fn may_be_joined(&self) -> bool {
        let (mut lines, mut bytes) = (0, 0);
        for unit in self.units() {
            match unit {
                Unit::Earlier(..) => lines += 1,
                unit => {
                    let text = unit.text();
                    lines += text.lines().count();
                    bytes += text.len();
                }
            }
        }
        lines <= Bounds::JOINED.lines && bytes <= Bounds::JOINED.bytes
    }

    /// Parses a note within `bounds`; `add` adds a record.
    fn parse_within(bytes: &[u8], mut bounds: Bounds, mut add: impl FnMut(&mut Self, Record)) -> Self {
        let mut note = Note::default();
        let mut left_out = 0;
        let mut at = 0;
        let mut paragraph = Paragraph { note: bytes, lines: 0..0 };
        while at < bytes.len() {
            let rest = &bytes[at..];
            let end = at + rest.find_byte(b'\n').map_or(rest.len(), |end| end + 1);
            let line = bytes[at..end].trim();
            if line.is_empty() {
                note.extend(paragraph.take());
                at = end;
                continue;
            }
            let is_fragment = remark::is_fragment(line);
            if bounds.lines == 0 || (bounds.bytes < line.len() && line.len() <= bounds.line_bytes && !is_fragment) {
                left_out += rest.lines().filter(|line| !line.trim().is_empty()).count();
                break;
            }
            bounds.lines -= 1;
            let is_short = line.len() <= bounds.line_bytes;
            if remark::stands_alone(line) {
                note.extend(paragraph.take());
            }
            let is_object = line.first() == Some(&b'{');
            if let Some(record) = (is_object && is_short).then(|| Record::parse(line)).flatten() {
                add(&mut note, record);
                paragraph.begin_at(end);
            } else if let Some(newer) = (is_object && is_short).then(|| Newer::parse(line)).flatten() {
                note.add_line(Unit::Newer(Box::new(newer)));
                paragraph.begin_at(end);
            } else if let Some((document, text)) = is_object.then(|| Earlier::parse_prefix(rest)).flatten() {
                at += text.len();
                // The line end behind the document is no blank line.
                let behind = &bytes[at..];
                let is_blank = |end: &usize| behind[..*end].trim().is_empty();
                at += behind.find_byte(b'\n').filter(is_blank).map_or(0, |end| end + 1);
                paragraph.begin_at(at);
                if text.len() - document.packed_bytes() <= bounds.line_bytes {
                    note.add_line(Unit::Earlier(Box::new(document), text.trim().into()));
                } else {
                    left_out += 1;
                }
                continue;
            } else if is_short || is_fragment {
                paragraph.lines.end = end;
                if remark::stands_alone(line) {
                    note.extend(paragraph.take());
                }
            } else {
                left_out += 1;
                note.extend(paragraph.take());
                paragraph.begin_at(end);
            }
            if is_short {
                bounds.bytes = bounds.bytes.saturating_sub(line.len());
            }
            at = end;
        }
        note.extend(paragraph.take());
        note.take_problem(left_out);
        note
    }
}
