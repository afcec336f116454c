//! A block of ours in a file of the user's, between two marker lines.
//!
//! Text between these lines that is not generated is the user's, and so are the lines then.
//! The block stands at the top of the file, so that the user's text behind it stays as it is, whatever ends it.

use std::borrow::Cow;
use std::ops::Range;

use bstr::ByteSlice as _;

use super::generate;

pub const BEGIN: &str = "<!-- git-shiftlog rules: begin -->\n";
pub const END: &str = "<!-- git-shiftlog rules: end -->\n";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What the marker lines begin with.
const MARKER: &str = "<!-- git-shiftlog rules: ";

/// A file's text around a block, and the block without its markers.
#[derive(Clone, Debug)]
pub struct Split<'b> {
    pub before: &'b [u8],
    pub block: &'b [u8],
    pub after: Cow<'b, [u8]>,
    /// Whether the line that ends the block is gone. Then the block goes on to the end of the file, as far as this module
    /// can tell.
    pub is_open: bool,
}

impl Split<'_> {
    /// Returns the user's text: the file without the block.
    pub fn users(&self) -> Vec<u8> {
        [self.before, &self.after].concat()
    }

    /// Returns the file with another block in the place of this one.
    pub fn with(&self, block: &str) -> Vec<u8> {
        [self.before, BEGIN.as_bytes(), block.as_bytes(), END.as_bytes(), &self.after].concat()
    }
}

/// Splits a file at its block; `None` if it has none. Text between two marker lines that is not generated is the user's.
pub fn split(bytes: &[u8]) -> Option<Split<'_>> {
    splits(bytes).into_iter().find(|split| !split.is_open && generate::is_generated(split.block))
}

/// Splits a file at its block, or else at one whose last line is gone.
pub fn split_or_open(bytes: &[u8]) -> Option<Split<'_>> {
    let mut found = splits(bytes);
    found.retain(|split| generate::is_generated(split.block));
    let at = found.iter().position(|split| !split.is_open).or_else(|| found.first().map(|_| 0))?;
    Some(found.swap_remove(at))
}

/// Splits a file at a block of ours whose last line is gone; `None` if it has none.
pub fn open(bytes: &[u8]) -> Option<Split<'_>> {
    splits(bytes).into_iter().find(|split| split.is_open && generate::is_generated(split.block))
}

/// Splits a file that begins with a block of ours whose first line is gone; `None` if it begins otherwise. Where the block ends
/// this module cannot tell.
pub fn begun(bytes: &[u8]) -> Option<Split<'_>> {
    let block = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let before = &bytes[..bytes.len() - block.len()];
    let split = Split { before, block, after: Cow::Borrowed(b""), is_open: true };
    generate::is_generated(block).then_some(split)
}

/// Splits a file at each line within it that begins a generated text: there a block of ours can begin whose first line is gone,
/// and that has text of the user's above it.
pub fn begun_within(bytes: &[u8]) -> impl Iterator<Item = Split<'_>> {
    let line_starts = bytes.find_iter("\n").map(|end| end + 1);
    let starts = line_starts.filter(|at| bytes[*at..].starts_with(b"# ") && generate::is_generated(&bytes[*at..]));
    starts.map(|at| Split { before: &bytes[..at], block: &bytes[at..], after: Cow::Borrowed(b""), is_open: true })
}

/// Returns the user's text behind a block: without the line that ends the block, if that is there.
pub fn behind(bytes: &[u8]) -> &[u8] {
    match markers(bytes).first() {
        Some((end, false)) if end.start == 0 => &bytes[end.end..],
        _ => bytes,
    }
}

/// Splits a file at its first marker lines, whatever stands there.
pub fn any(bytes: &[u8]) -> Option<Split<'_>> {
    splits(bytes).into_iter().next()
}

/// Says whether a file has a block of ours, or what is left of one.
pub fn is_in(bytes: &[u8]) -> bool {
    split_or_open(bytes).is_some()
}

/// Splits a file at each line that begins a block.
fn splits(bytes: &[u8]) -> Vec<Split<'_>> {
    let markers = markers(bytes);
    let split = |(at, (begin, is_begin)): (usize, &(Range<usize>, bool))| {
        let next = markers.get(at + 1).filter(|(_, is_begin)| !is_begin).map(|(end, _)| end);
        let (end, after) = next.map_or((bytes.len(), bytes.len()), |end| (end.start, end.end));
        is_begin.then(|| Split {
            before: &bytes[..begin.start],
            block: &bytes[begin.end..end],
            after: Cow::Borrowed(&bytes[after..]),
            is_open: next.is_none(),
        })
    };
    markers.iter().enumerate().filter_map(split).collect()
}

/// Finds the marker lines, and whether each begins a block. An editor may have changed the ends of lines to CRLF.
fn markers(bytes: &[u8]) -> Vec<(Range<usize>, bool)> {
    let marker = |at: usize| {
        // The user can have put text above a byte order mark.
        let before = bytes[..at].strip_suffix(BYTE_ORDER_MARK).unwrap_or(&bytes[..at]);
        let is_line = before.last().is_none_or(|byte| *byte == b'\n');
        let (line, is_begin) =
            [(BEGIN, true), (END, false)].into_iter().find(|(line, _)| bytes[at..].starts_with_str(line.trim_end()))?;
        let length = line.trim_end().len();
        let end = [&b"\n"[..], b"\r\n"].into_iter().find(|end| bytes[at + length..].starts_with(end))?;
        is_line.then(|| (at..at + length + end.len(), is_begin))
    };
    bytes.find_iter(MARKER).filter_map(marker).collect()
}

/// Returns the user's text: a file without its block.
pub fn without(bytes: &[u8]) -> Vec<u8> {
    split(bytes).map_or_else(|| bytes.to_vec(), |split| split.users())
}

/// Returns a file with a block at its top.
pub fn on_top(bytes: &[u8], block: &str) -> Vec<u8> {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mark = &bytes[..bytes.len() - text.len()];
    [mark, BEGIN.as_bytes(), block.as_bytes(), END.as_bytes(), text].concat()
}

/// Says whether a text could be mistaken for the end of a block.
pub fn has_marker(text: &str) -> bool {
    let lines = text.lines().map(|line| line.strip_prefix('\u{feff}').unwrap_or(line));
    lines.into_iter().any(|line| line == BEGIN.trim_end() || line == END.trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::generate::MARK;
    use super::*;

    #[test]
    fn a_block_whose_line_ends_an_editor_has_changed_is_still_one() {
        let block = format!("{MARK}\nblock\n");
        let text = String::from_utf8(on_top(b"mine\n", &block)).expect("text").replace('\n', "\r\n");
        assert_eq!(without(text.as_bytes()), b"mine\r\n");
        let other = split(text.as_bytes()).expect("a block").with("new\n");
        assert_eq!(other, format!("{BEGIN}new\n{END}mine\r\n").as_bytes());
    }

    #[test]
    fn only_a_generated_text_between_the_markers_is_a_block() {
        let users = format!("one\n{BEGIN}mine\n{END}two\n{BEGIN}three\n");
        assert!(!is_in(users.as_bytes()), "these lines are the user's");
        let block = format!("{MARK}\nblock\n");
        let with = on_top(users.as_bytes(), &block);
        assert_eq!(without(&with), users.as_bytes());
        let below = [users.as_bytes(), &on_top(b"", &block)].concat();
        assert_eq!(without(&below), users.as_bytes(), "wherever the user moves it");
        let opened = String::from_utf8(with).expect("text").replacen(END, "", 1);
        let split = open(opened.as_bytes()).expect("a block without an end");
        assert!(split.block.starts_with(block.as_bytes()) && super::split(opened.as_bytes()).is_none());
    }

    proptest! {
        #[test]
        fn a_block_goes_without_a_trace(text in "(\u{feff})?([a-c<!-]?\r?\n?){0,12}", block in "([a-c]{0,3}\n){0,3}") {
            let block = format!("{MARK}\n{block}");
            let with = on_top(text.as_bytes(), &block);
            prop_assert_eq!(without(&with), text.as_bytes());
            let split = split(&with).expect("a block");
            prop_assert_eq!(split.with(&block), with.clone());
            prop_assert_eq!(split.block, block.as_bytes());
        }
    }
}
