//! Parts of private keys: lines that stand in a text without the first line of their key, as where a tool reads a file from
//! its middle.

use std::borrow::Cow;

use super::class::{B64, is_in};
use super::key::margin;

/// The text in place of a line that can be part of a key.
pub const KEY_PART: &str = "[left out: it can be part of a key]";
/// The shortest and the longest line that is taken for a part of a key whatever stands beside it. The lines of a key have
/// 64 bytes as a rule, and 70 in files of OpenSSH.
const LONE_BYTES: std::ops::RangeInclusive<usize> = 60..=200;
/// The shortest one beside such a line, unless it ends with padding.
const NEXT_BYTES: usize = 16;

/// Says whether a line beside others of a key can be one of it.
pub fn is_like_key_line(line: &str) -> bool {
    let line = line.trim();
    line.len() >= NEXT_BYTES && is_base64(line)
}

/// Returns a text without the lines that can be part of a private key. Those of a certificate or of a public key stay. In a
/// text of one line, as in the prompt of a record, which had several, words stand for lines.
pub fn without_key_parts(text: &str) -> Cow<'_, str> {
    let end = if text.contains('\n') { '\n' } else { ' ' };
    if !text.split(end).any(|line| is_alone_like_key(&line[body(line)])) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.split_inclusive(end).collect();
    let mut hidden = vec![false; lines.len()];
    let mut is_public = false;
    for (at, line) in lines.iter().enumerate() {
        let body = &line[body(line)];
        is_public = line.contains("-----BEGIN ") || is_public && is_next_to_key(body);
        hidden[at] = !is_public && (is_alone_like_key(body) || at > 0 && hidden[at - 1] && is_next_to_key(body));
    }
    for at in (1..lines.len()).rev() {
        hidden[at - 1] |= hidden[at] && is_next_to_key(&lines[at - 1][body(lines[at - 1])]);
    }
    let mut kept = String::with_capacity(text.len());
    for (line, is_hidden) in lines.into_iter().zip(hidden) {
        let body = body(line);
        match is_hidden {
            true => [&line[..body.start], KEY_PART, &line[body.end..]].iter().for_each(|part| kept.push_str(part)),
            false => kept.push_str(line),
        }
    }
    Cow::Owned(kept)
}

/// Returns where the digits of a line are: behind its number, and without quotes.
fn body(line: &str) -> std::ops::Range<usize> {
    let end = line.trim_end().len();
    let start = margin(&line.as_bytes()[..end]);
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | ',' | ';' | '\\');
    match line.get(start..end) {
        Some(body) => {
            let start = end - body.trim_start_matches(|c| is_quote(c) || matches!(c, '+' | '-')).len();
            start..start.max(line[..end].trim_end_matches(is_quote).len())
        }
        None => end..end,
    }
}

fn is_alone_like_key(body: &str) -> bool {
    let has = |is: fn(&u8) -> bool| body.bytes().any(|byte| is(&byte));
    let has_all = || {
        has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
            // A path has more slashes than chance gives.
            && body.bytes().filter(|byte| *byte == b'/').count() <= body.len() / 10
    };
    LONE_BYTES.contains(&body.len()) && is_base64(body) && has_all()
}

fn is_next_to_key(body: &str) -> bool {
    is_like_key_line(body) || (body.len() >= 4 && body.ends_with('=') && is_base64(body))
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len() - digits.len() <= 2 && digits.bytes().all(|byte| is_in(byte, B64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEpAIBAAKCAQEA7yn0g3Xw1bYVd5Zr6Pq0x2f3L9aU4kT8mS1hN6eRwQcJ5vBz";

    #[test]
    fn lines_of_a_key_are_left_out_wherever_it_is_cut() {
        let shown = |text: &str| without_key_parts(text).into_owned();
        assert_eq!(shown(LINE), KEY_PART);
        assert_eq!(shown(&format!("is it {LINE} or not")), format!("is it {KEY_PART} or not"));
        assert_eq!(
            shown(&format!("    12\u{2192}{LINE}\r\n    13\u{2192}aB3dE5gH7jK9mN1pQ3==\r\nend\r\n")),
            format!("    12\u{2192}{KEY_PART}\r\n    13\u{2192}{KEY_PART}\r\nend\r\n")
        );
        assert_eq!(
            shown(&format!("[\n  \"{LINE}\",\n  'Qw=='\n]")),
            format!("[\n  \"{KEY_PART}\",\n  '{KEY_PART}'\n]")
        );
        assert_eq!(
            shown(&format!("aB3dE5gH7jK9mN1pQ3\n+{LINE}\n-{LINE}")),
            format!("{KEY_PART}\n+{KEY_PART}\n-{KEY_PART}")
        );
    }

    #[test]
    fn other_lines_stay() {
        let path = format!("/{}", "usr/share/icons/HighContrast/256x256/".repeat(2));
        let certificate = format!("-----BEGIN CERTIFICATE-----\n{LINE}\n{LINE}\n-----END CERTIFICATE-----\n");
        let sum = "0f5c7d6f7a1e4bb0c3d2e1f0".repeat(3);
        for text in
            [&path, &certificate, &sum, &format!("see {LINE} there\n"), "aNameOfAClass1", "", "é\n→\n日本語\u{2192}"]
        {
            assert!(matches!(without_key_parts(text), Cow::Borrowed(_)) || without_key_parts(text) == *text, "{text}");
        }
    }
}
