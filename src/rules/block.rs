//! A block of ours in a file of the user's, between two marker lines.
//!
//! The block stands at the top of the file, so that the user's text behind it stays as it is, whatever ends it.

use std::ops::Range;

use bstr::ByteSlice as _;

pub const BEGIN: &str = "<!-- git-shiftlog rules: begin -->\n";
pub const END: &str = "<!-- git-shiftlog rules: end -->\n";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A file's text around a block, and the block without its markers.
pub struct Split<'b> {
    pub before: &'b [u8],
    pub block: &'b [u8],
    pub after: &'b [u8],
}

/// Splits a file at its block; `None` if it has none.
pub fn split(bytes: &[u8]) -> Option<Split<'_>> {
    let begin = find_line(bytes, BEGIN, 0)?;
    let end = find_line(bytes, END, begin.end)?;
    Some(Split { before: &bytes[..begin.start], block: &bytes[begin.end..end.start], after: &bytes[end.end..] })
}

/// Finds a marker line. An editor may have changed the ends of lines to CRLF.
fn find_line(bytes: &[u8], line: &str, from: usize) -> Option<Range<usize>> {
    let words = line.trim_end();
    let mut from = from;
    loop {
        let at = from + bytes[from..].find(words)?;
        let behind = &bytes[at + words.len()..];
        let end = [&b"\n"[..], b"\r\n"].into_iter().find(|end| behind.starts_with(end));
        if let Some(end) = end.filter(|_| at == 0 || bytes[at - 1] == b'\n' || &bytes[..at] == BYTE_ORDER_MARK) {
            return Some(at..at + words.len() + end.len());
        }
        from = at + 1;
    }
}

/// Returns the user's text: a file without its block.
pub fn without(bytes: &[u8]) -> Vec<u8> {
    match split(bytes) {
        Some(split) => [split.before, split.after].concat(),
        None => bytes.to_vec(),
    }
}

/// Returns a file with this block: in the place of the one it has, or at its top.
pub fn with(bytes: &[u8], block: &str) -> Vec<u8> {
    let block = [BEGIN.as_bytes(), block.as_bytes(), END.as_bytes()].concat();
    match split(bytes) {
        Some(split) => [split.before, &block, split.after].concat(),
        None => {
            let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
            let mark = &bytes[..bytes.len() - text.len()];
            [mark, &block, text].concat()
        }
    }
}

/// Says whether a text could be mistaken for the end of a block.
pub fn has_marker(text: &str) -> bool {
    text.lines().any(|line| line == BEGIN.trim_end() || line == END.trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_whose_line_ends_an_editor_has_changed_is_still_one() {
        let text = String::from_utf8(with(b"mine\n", "block\n")).expect("text").replace('\n', "\r\n");
        assert_eq!(without(text.as_bytes()), b"mine\r\n");
        assert_eq!(with(text.as_bytes(), "new\n"), format!("{BEGIN}new\n{END}mine\r\n").as_bytes());
    }

    proptest! {
        #[test]
        fn a_block_goes_without_a_trace(text in "(\u{feff})?([a-c<!-]?\r?\n?){0,12}", block in "([a-c]{0,3}\n){0,3}") {
            let with = with(text.as_bytes(), &block);
            prop_assert_eq!(without(&with), text.as_bytes());
            prop_assert_eq!(super::with(&with, &block), with.clone());
            prop_assert_eq!(split(&with).expect("a block").block, block.as_bytes());
        }
    }
}
