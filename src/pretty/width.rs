//! How many columns of a terminal text takes.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns how many columns text takes at most: terminals differ in whether they draw a sequence of emoji as one.
pub fn width(text: &str) -> usize {
    let apart: usize = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    apart.max(text.width())
}

/// Returns the text with spaces behind it up to a width.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns the text, or its beginning and `…` if it is wider. No sequence is cut apart.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (mut end, mut is_joined) = (0, false);
    for (at, c) in text.char_indices() {
        // What takes no column belongs to what is before it, and what follows a joiner to what is before that.
        if c.width().unwrap_or(0) > 0 && !std::mem::replace(&mut is_joined, false) {
            if width(&text[..at]) + 1 > columns {
                break;
            }
            end = at;
        }
        is_joined |= c == '\u{200d}';
    }
    if columns == 0 { String::new() } else { format!("{}…", &text[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_text_is_cut_where_it_fits() {
        assert_eq!(cut("plain text", 10), "plain text");
        assert_eq!(cut("plain text", 9), "plain te…");
        assert_eq!(cut("日本語の文", 10), "日本語の文");
        assert_eq!(cut("日本語の文", 9), "日本語の…");
        assert_eq!(cut("日本語の文", 8), "日本語…");
        assert_eq!(cut("日本", 1), "…");
        assert_eq!(cut("日本", 0), "");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        let family = "👩\u{200d}👩\u{200d}👦";
        assert_eq!(cut(&format!("{family}{family}"), 8), format!("{family}…"), "a sequence stays whole");
        assert_eq!(cut(&format!("ab{family}"), 5), "ab…");
    }

    #[test]
    fn nothing_that_is_cut_is_wider_than_was_said() {
        for text in ["日本語 and plain", "👩\u{200d}👩\u{200d}👦 x ❤\u{fe0f}❤\u{fe0f}", "می\u{200c}خواهم", "한국어"]
        {
            for columns in 0..20 {
                let cut = cut(text, columns);
                assert!(width(&cut) <= columns, "{cut:?} is wider than {columns}");
            }
        }
        assert_eq!(padded("日本", 6), "日本  ");
    }
}
