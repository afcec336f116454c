//! The tokens of a JSON text, which need not be valid.

use bstr::ByteSlice as _;

/// Returns the tokens of a JSON text: strings, brackets, commas, colons and other runs without whitespace. The text
/// need not be valid.
pub fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let length = match rest.first()? {
            b'"' => string_length(rest),
            b'[' | b']' | b'{' | b'}' | b',' | b':' => 1,
            _ => rest.find_byteset(b"\"[]{},: \t\n\r\x0c").unwrap_or(rest.len()),
        };
        let token;
        (token, rest) = rest.split_at(length);
        Some(token)
    })
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

/// Returns how deep a JSON text is nested.
pub fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for token in tokens(text) {
        match token {
            b"[" | b"{" => depth += 1,
            b"]" | b"}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
