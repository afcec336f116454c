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

#[cfg(test)]
mod tests {
    use super::{line, text};

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        let hostile = "a\x1b]52;c;x\x07b\u{9b}31m\u{202e}c\u{200b}\td\r\ne";
        assert_eq!(text(hostile), "a]52;c;xb31mc\td\ne");
        assert_eq!(line(hostile), "a]52;c;xb31mc d  e");
        assert_eq!(text("déjà vu 🎉 日本"), "déjà vu 🎉 日本");
    }
}
