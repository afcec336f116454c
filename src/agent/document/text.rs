//! JSON as text: its tokens, and the whitespace between them.

use std::borrow::Cow;
use std::ops::Range;

use bstr::ByteSlice as _;

/// Nothing nested deeper is indented: the indentation of a few brackets would outgrow everything else.
const MAX_DEPTH: usize = 128;

/// Returns the tokens of a JSON text with their places: strings, brackets, commas, colons and what else is not
/// whitespace. Any text has some.
pub fn tokens(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    std::iter::from_fn(move || {
        next += text[next..].iter().position(|byte| !is_whitespace(*byte))?;
        let start = next;
        let rest = &text[start..];
        next += match rest[0] {
            b'"' => string_length(rest),
            byte if is_punctuation(byte) => 1,
            _ => rest.iter().position(|byte| ends_word(*byte)).unwrap_or(rest.len()),
        };
        Some((start, &text[start..next]))
    })
}

fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_punctuation(byte: u8) -> bool {
    matches!(byte, b'[' | b']' | b'{' | b'}' | b',' | b':')
}

fn ends_word(byte: u8) -> bool {
    byte == b'"' || is_whitespace(byte) || is_punctuation(byte)
}

/// Returns the length of the string that a text begins with; one that does not end takes all of it.
fn string_length(text: &[u8]) -> usize {
    let mut length = 1;
    while let Some(found) = text.get(length..).and_then(|rest| rest.find_byteset(b"\"\\")) {
        length += found + 1;
        if text[length - 1] == b'"' {
            return length;
        }
        // What follows a backslash ends nothing.
        length += 1;
    }
    text.len()
}

/// Returns a JSON text with other whitespace between its tokens: this indentation, or none at all for 0; `None` if a bracket
/// closes that was not opened.
pub fn spelt(text: &[u8], indent: usize) -> Option<Vec<u8>> {
    if indent == 0 {
        return squeezed(text).map(Cow::into_owned);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut last: &[u8] = b"";
    for (_, token) in tokens(text) {
        let closes = matches!(token, b"]" | b"}");
        if closes {
            depth = depth.checked_sub(1)?;
        }
        let breaks = match last {
            b"" => false,
            b"[" | b"{" => !closes,
            b"," => true,
            _ => closes,
        };
        if breaks {
            bytes.push(b'\n');
            bytes.resize(bytes.len() + depth * indent, b' ');
        }
        bytes.extend_from_slice(token);
        match token {
            b"[" | b"{" => depth += 1,
            b":" => bytes.push(b' '),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return None;
        }
        last = token;
    }
    Some(bytes)
}

/// Returns a JSON text without whitespace between its tokens.
pub fn squeezed(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut bytes = Vec::new();
    let mut depth = 0_usize;
    // What stands together is copied together.
    let mut run = 0..0;
    for (start, token) in tokens(text) {
        match token {
            b"[" | b"{" => depth += 1,
            b"]" | b"}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if start != run.end {
            bytes.extend_from_slice(&text[run]);
            run = start..start;
        }
        run.end = start + token.len();
    }
    if run == (0..text.len()) {
        return Some(Cow::Borrowed(text));
    }
    bytes.extend_from_slice(&text[run]);
    Some(Cow::Owned(bytes))
}

/// Returns the places of what the commas of an array or object separate: one, which is empty, if it has nothing.
pub fn parts(text: &[u8]) -> Option<Vec<Range<usize>>> {
    if !matches!(text.first()?, b'[' | b'{') {
        return None;
    }
    let mut parts = Vec::new();
    let mut start = 1;
    let mut depth = 0_usize;
    for (place, token) in tokens(text) {
        match token {
            b"[" | b"{" => depth += 1,
            b"]" | b"}" => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && token == b"," {
            parts.push(start..place);
            start = place + 1;
        }
        if depth == 0 {
            return (start == text.len()).then_some(parts);
        }
    }
    None
}
