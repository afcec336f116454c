//! Keys that fill lines, and passages that the user marks as private.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::class::{B64, URL64, is_in};
use super::text::Text;

/// The longest key that is looked at.
const KEY_BYTES: usize = 16 * 1024;
/// How far a private passage goes that nobody ends: to the end of its string, but no further than this.
const PRIVATE_BYTES: usize = 4 * 1024;
/// What a line of base64 in a key has at least, if another follows.
const LINE_BYTES: usize = 32;

/// Returns a key from its first line to its last, and whether it may go on behind the text; what stands between may be
/// indented, numbered, quoted, or the strings of a list.
pub fn pem(text: &mut Text<'_>, word: Range<usize>) -> Option<(Range<usize>, bool)> {
    let bytes = text.bytes;
    let label = &bytes[word.end..bytes.len().min(word.end + 64)];
    let dashes = label.find("-----")?;
    let label = &label[..dashes];
    if !(label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK")) || label.contains(&b'\n') {
        return None;
    }
    let body = word.end + dashes + 5;
    let mut at = body;
    let mut digits = 0;
    // The end is looked for only as far as a key can reach, and as another does not begin.
    while at < bytes.len() && at - body < KEY_BYTES {
        if bytes[at] == b'-' && bytes[at..].starts_with(b"-----END ") {
            let end = at + 9 + bytes[at + 9..].iter().take(64).position(|byte| *byte == b'-')? + 5;
            // A mere mention has no key between its lines.
            return (digits >= 32).then_some((word.start..end.min(bytes.len()), false));
        }
        if bytes[at] == b'-' && bytes[at..].starts_with(b"-----BEGIN") {
            break;
        }
        // A quote ends the text that the key stands in, but not a line of a list of lines.
        if matches!(bytes[at], b'"' | b'\'' | b'`') && digits >= 32 {
            let next = text.skip(at + 1, 40, |byte| matches!(byte, b',' | b' ' | b'\n' | b'+' | b'\r'));
            if next == at + 1 || text.at(next) != Some(bytes[at]) {
                break;
            }
            at = next;
        }
        digits += usize::from(is_in(bytes[at], B64));
        at += 1;
    }
    text.work += at - body;
    let rest = &bytes[body..at.max(body)];
    let is_last_line = at == bytes.len() && rest.iter().all(|byte| !byte.is_ascii_alphanumeric());
    if is_last_line {
        return Some((word.start..body, true));
    }
    // Cut off: what looks like a key still is one.
    let end = lines_end(text, body, 0);
    (end - body >= 32).then_some((word.start..end, end == bytes.len()))
}

/// Returns what a file holds in base64, and whether it may go on behind the text.
pub fn encoded(text: &mut Text<'_>, word: Range<usize>) -> Option<(Range<usize>, bool)> {
    let end = lines_end(text, word.end, word.len());
    let is_open = end == text.bytes.len();
    // Where lines are looked at one by one, the first can hold no more than the word and a number.
    (end - word.end >= 60 || (is_open && end - word.end <= 4)).then_some((word.start..end, is_open))
}

/// Returns where lines of base64 end that begin at `from`, the first with so many bytes before it. A line belongs to them if it is as long as the one before, or
/// the last.
fn lines_end(text: &mut Text<'_>, from: usize, before: usize) -> usize {
    let bytes = text.bytes;
    // The line ends behind the key's first line.
    let mut at = margin_end(text, from);
    let mut end = from;
    let mut longest = 0;
    while at < bytes.len() && at - from < KEY_BYTES {
        let line = text.end(B64, at).min(from + KEY_BYTES);
        let padded = text.skip(line, 2, |byte| byte == b'=');
        let length = padded - at + if at == from { before } else { 0 };
        let is_end = text.at(padded).is_none_or(|byte| !is_in(byte, URL64) && byte != b' ' && byte != b'.');
        if padded == at || (longest > 0 && !(length == longest || (length < longest && is_end))) {
            break;
        }
        end = padded;
        // The first line is cut by the word before it.
        let is_number = padded - at <= 4 && at == from;
        let is_last = !is_number && (length < LINE_BYTES || (longest > 0 && length < longest));
        longest = if is_number { 0 } else { longest.max(length) };
        let next = margin_end(text, padded);
        if is_last && end - from > 4 || next == padded {
            break;
        }
        at = next;
    }
    // A line end alone is no part of it, unless nothing follows.
    if bytes[end..].iter().take(4).all(|byte| matches!(byte, b'\n' | b'\r')) && bytes.len() - end <= 2 {
        bytes.len()
    } else {
        end
    }
}

/// Returns where the next line of a key begins: behind line ends, spaces, a line number and its sign, the quotes of a
/// list of lines.
fn margin_end(text: &Text<'_>, from: usize) -> usize {
    let is_break = |byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b',');
    let breaks = text.skip(from, 8, is_break);
    if breaks == from {
        return text.skip(from, 8, |byte| byte == b' ');
    }
    let spaces = text.skip(breaks, 40, |byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'+' | b'\n'));
    let number = text.skip(spaces, 6, |byte| byte.is_ascii_digit());
    // An arrow between number and line is no ASCII: one byte in a view, three in the text.
    let sign = text.skip(number, 6, |byte| matches!(byte, b'\t' | b'|' | b':' | b' ' | b'>') || byte >= 0x80);
    if number > spaces && sign > number { sign } else { spaces }
}

/// Says whether a line of text can stand within a key: digits of base64, perhaps behind a margin, or a header.
pub fn is_key_line(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let margin = line.iter().take(16).rposition(|byte| matches!(byte, b' ' | b'\t' | b'|' | b'>') || *byte >= 0x80);
    let body = &line[margin.map_or(0, |position| position + 1)..];
    let body = body.strip_prefix(b"+").or_else(|| body.strip_prefix(b"-")).unwrap_or(body);
    // As in `Proc-Type: 4,ENCRYPTED`.
    let name = line.iter().take_while(|byte| is_in(**byte, URL64)).count();
    let is_header = (3..=24).contains(&name) && line[name..].starts_with(b": ") && line.len() < 100;
    is_header
        || (body.len() <= 200
            && body.iter().all(|byte| is_in(*byte, B64) || matches!(byte, b'=' | b'\\' | b'"' | b',')))
}

/// Finds the private passages from `from` on: each from its mark to the one that ends it, or to the end of the text if
/// none does. Marks can stand within each other.
pub fn privates(text: &mut Text<'_>, from: usize, spans: &mut Vec<Range<usize>>) {
    let bytes = text.bytes;
    let mut open: Vec<usize> = Vec::new();
    let mut at = from;
    while let Some(mark) = bytes[at..].find_byte(b'<').map(|offset| at + offset) {
        if text.has(mark, "</private>") {
            if let Some(start) = open.pop() {
                // What stands within is part of it.
                while spans.last().is_some_and(|span| span.start > start) {
                    spans.pop();
                }
                spans.push(start..mark + 10);
            }
        } else if text.has(mark, "<private") && is_mark(text, mark) {
            open.push(mark);
        }
        at = mark + 1;
    }
    text.work += bytes.len() - from;
    for start in open {
        let end = bytes.len().min(start + PRIVATE_BYTES);
        match spans.last_mut() {
            Some(last) if last.start <= start && start <= last.end => last.end = last.end.max(end),
            _ => spans.push(start..end),
        }
    }
}

/// Says whether `<private` at `mark` is a mark, attributes and all; a mention in Markdown is none.
fn is_mark(text: &Text<'_>, mark: usize) -> bool {
    // Nor is the parameter of a type.
    let is_part = |byte: &u8| matches!(byte, b'`' | b'\\') || is_in(*byte, URL64);
    if text.bytes[..mark].last().is_some_and(is_part)
        || text.bytes[mark + 1].is_ascii_uppercase() != text.bytes[mark + 2].is_ascii_uppercase()
    {
        return false;
    }
    let rest = &text.bytes[mark + 8..text.bytes.len().min(mark + 208)];
    match rest.first() {
        Some(b'>') => true,
        Some(b' ' | b'\n' | b'\t') => rest.find_byteset("<>").is_some_and(|end| rest[end] == b'>'),
        _ => false,
    }
}
