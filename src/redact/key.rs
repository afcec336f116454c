//! Keys that fill lines, and passages that the user marks as private.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::class::{B64, URL64, is_in};
use super::text::Text;

/// The longest key that is found, in bytes.
const KEY_BYTES: usize = 16 * 1024;
/// The longest private passage without an end mark, in bytes; it also ends with its string.
const PRIVATE_BYTES: usize = 4 * 1024;
/// The shortest line of base64 in a key that is followed by another line.
const LINE_BYTES: usize = 32;
/// The longest line of a key whose beginning is not there.
const MAX_LINE_BYTES: usize = 200;

/// Returns a key from its first line to its last, and whether it may continue after the text. Its lines may be
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
    // The end is searched only up to the longest key and up to the beginning of another.
    while at < bytes.len() && at - body < KEY_BYTES {
        if bytes[at] == b'-' && bytes[at..].starts_with(b"-----END ") {
            let end = at + 9 + bytes[at + 9..].iter().take(64).position(|byte| *byte == b'-')? + 5;
            // If there is no base64 in between, the text only mentions the marks.
            return (digits >= 32).then_some((word.start..end.min(bytes.len()), false));
        }
        if bytes[at] == b'-' && bytes[at..].starts_with(b"-----BEGIN") {
            break;
        }
        // A quote ends the text that contains the key, unless it ends a line in a list of lines.
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
    // The key is cut off; the lines that look like a key are redacted.
    let end = lines_end(text, body, 0);
    (end - body >= 32).then_some((word.start..end, end == bytes.len()))
}

/// Returns the lines of a key in front of its last line, and that: a text can begin within a key, as where a tool reads the end
/// of a file. `word` is the beginning of the last line.
pub fn pem_end(text: &mut Text<'_>, word: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.bytes;
    let label = &bytes[word.end..bytes.len().min(word.end + 64)];
    let dashes = label.find("-----")?;
    if !(label[..dashes].ends_with(b"PRIVATE KEY") || label[..dashes].ends_with(b"PRIVATE KEY BLOCK")) {
        return None;
    }
    let is_between =
        |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b',' | b'|' | b'>') || byte >= 0x80;
    let (mut start, mut at, mut digits) = (word.start, word.start, 0);
    while at > 0 && word.start - at < KEY_BYTES {
        let end = at - bytes[..at].iter().rev().take(40).take_while(|byte| is_between(**byte)).count();
        let length = bytes[..end].iter().rev().take(MAX_LINE_BYTES + 1).take_while(|byte| !is_between(**byte)).count();
        let line = &bytes[end - length..end];
        let sign = usize::from(matches!(line.first(), Some(b'+' | b'-')));
        let body = &line[sign..];
        let is_number = body.len() <= 6 && body.iter().all(u8::is_ascii_digit);
        let is_base64 = body.iter().all(|byte| is_in(*byte, B64) || *byte == b'=');
        let is_long = body.len() >= 16 || (digits == 0 && body.len() >= 4);
        if length == 0 || length > MAX_LINE_BYTES || !(is_number || is_base64 && is_long) {
            break;
        }
        if !is_number {
            digits += body.len();
            start = end - body.len();
        }
        at = end - length;
    }
    text.work += word.start - at;
    (digits >= LINE_BYTES).then_some(start..word.end + dashes + 5)
}

/// Returns a file encoded in base64, and whether it may continue after the text.
pub fn encoded(text: &mut Text<'_>, word: Range<usize>) -> Option<(Range<usize>, bool)> {
    let end = lines_end(text, word.end, word.len());
    let is_open = end == text.bytes.len();
    // In plain text, which is read line by line, the first line may have only the word and a number.
    (end - word.end >= 60 || (is_open && end - word.end <= 4)).then_some((word.start..end, is_open))
}

/// Returns the end of the lines of base64 that begin at `from`, the first with `before` bytes in front of it. A line
/// belongs to them if it is as long as the one before, or if it is the last.
fn lines_end(text: &mut Text<'_>, from: usize, before: usize) -> usize {
    let bytes = text.bytes;
    // Skips the line ends after the key's first line.
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
        // The first line is shorter by the word before it.
        let is_number = padded - at <= 4 && at == from;
        let is_last = !is_number && (length < LINE_BYTES || (longest > 0 && length < longest));
        longest = if is_number { 0 } else { longest.max(length) };
        let next = margin_end(text, padded);
        if is_last && end - from > 4 || next == padded {
            break;
        }
        at = next;
    }
    // A line end alone is not part of the key, unless the text ends there.
    if bytes[end..].iter().take(4).all(|byte| matches!(byte, b'\n' | b'\r')) && bytes.len() - end <= 2 {
        bytes.len()
    } else {
        end
    }
}

/// Returns where the next line of a key begins: after line ends, spaces, a line number and its sign, and the quotes of
/// a list of lines.
fn margin_end(text: &Text<'_>, from: usize) -> usize {
    let is_break = |byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b',');
    let breaks = text.skip(from, 8, is_break);
    if breaks == from {
        return text.skip(from, 8, |byte| byte == b' ');
    }
    let spaces = text.skip(breaks, 40, |byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'+' | b'\n'));
    let number = text.skip(spaces, 6, |byte| byte.is_ascii_digit());
    // An arrow between number and line is not ASCII: one byte in a view, three in the text.
    let sign = text.skip(number, 6, |byte| matches!(byte, b'\t' | b'|' | b':' | b' ' | b'>') || byte >= 0x80);
    if number > spaces && sign > number { sign } else { spaces }
}

/// Returns the length of what stands in front of the digits of a line: spaces, its number and the sign behind that.
pub fn margin(line: &[u8]) -> usize {
    let last = line.iter().take(16).rposition(|byte| matches!(byte, b' ' | b'\t' | b'|' | b'>') || *byte >= 0x80);
    last.map_or(0, |position| position + 1)
}

/// Says whether a line can be part of a key: base64, perhaps after a margin, or a header.
pub fn is_key_line(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let body = &line[margin(line)..];
    let body = body.strip_prefix(b"+").or_else(|| body.strip_prefix(b"-")).unwrap_or(body);
    // As in `Proc-Type: 4,ENCRYPTED`.
    let name = line.iter().take_while(|byte| is_in(**byte, URL64)).count();
    let is_header = (3..=24).contains(&name) && line[name..].starts_with(b": ") && line.len() < 100;
    is_header
        || (body.len() <= 200
            && body.iter().all(|byte| is_in(*byte, B64) || matches!(byte, b'=' | b'\\' | b'"' | b',')))
}

/// Finds the private passages from `from` on: from `<private>` to `</private>`, or to the end of the text. They can be
/// nested.
pub fn privates(text: &mut Text<'_>, from: usize, spans: &mut Vec<Range<usize>>) {
    let bytes = text.bytes;
    let mut open: Vec<usize> = Vec::new();
    let mut at = from;
    while let Some(mark) = bytes[at..].find_byte(b'<').map(|offset| at + offset) {
        if text.has(mark, "</private>") {
            if let Some(start) = open.pop() {
                // A nested passage is part of the outer one.
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

/// Says whether `<private` at `mark` is a mark, with or without attributes. A mention in Markdown is not.
fn is_mark(text: &Text<'_>, mark: usize) -> bool {
    // A type parameter is not a mark either.
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
