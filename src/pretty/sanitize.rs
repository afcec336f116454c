//! Text of others, made safe for a terminal.

/// Says whether a character can move the cursor, change the terminal's state, or reorder what is read.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns text on one line: line ends and tabs become spaces, control, bidi and zero-width characters go.
pub fn line(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' | '\r' => Some(' '),
            c if is_unsafe(c) => None,
            c => Some(c),
        })
        .collect()
}

/// Returns text with its line ends and tabs, but without control, bidi and zero-width characters.
pub fn text(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_unsafe(*c)).collect()
}

/// Returns a JSON value as text, with escapes for what a terminal would act on: it reads back as the same value.
pub fn json(value: &serde_json::Value) -> String {
    use std::fmt::Write as _;
    let text = value.to_string();
    if text.is_ascii() && !text.contains('\u{7f}') {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            // Outside strings, JSON has none of these.
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(safe, "\\u{unit:04x}");
            });
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{json, line, text};

    #[test]
    fn json_reads_back_as_it_was_and_has_nothing_for_the_terminal() {
        let hostile = serde_json::json!({ "a": "x\u{1b}[31m\u{9b}\u{202e}\u{7f}\u{e0041}é🎉\u{200b}" });
        let safe = json(&hostile);
        assert_eq!(text(&safe), safe);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("JSON"), hostile);
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        let hostile = "a\x1b]52;c;x\x07b\u{9b}31m\u{202e}c\u{200b}\td\r\ne";
        assert_eq!(text(hostile), "a]52;c;xb31mc\td\ne");
        assert_eq!(line(hostile), "a]52;c;xb31mc d  e");
        assert_eq!(text("déjà vu 🎉 日本"), "déjà vu 🎉 日本");
    }
}
