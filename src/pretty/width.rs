//! How many columns of a terminal text takes.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::outside;

/// Returns how many columns text takes at most: terminals differ in whether they draw a sequence of emoji as one.
pub fn width(text: &str) -> usize {
    let apart: usize = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    apart.max(text.width())
}

/// Returns the text with spaces behind it up to a width.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns facts with commas between them. Where the next one does not fit, a line begins, two columns further in than the
/// first. A fact that is wider than a line goes on in the next one.
pub fn listed(indent: usize, facts: &[String], columns: Option<usize>) -> String {
    let mut text = " ".repeat(indent);
    let mut column = indent;
    for (number, fact) in facts.iter().enumerate() {
        // A comma follows all but the last one.
        let comma = usize::from(number + 1 < facts.len());
        let is_wide = |columns: usize| indent + 2 + width(fact) + comma > columns;
        let words: Vec<&str> = if columns.is_some_and(is_wide) { fact.split(' ').collect() } else { vec![fact] };
        for (at, word) in words.iter().enumerate() {
            let needed = width(word) + if at + 1 == words.len() { comma } else { 0 };
            let is_first = number == 0 && at == 0;
            text.push_str(if is_first || at > 0 { "" } else { "," });
            if !is_first && columns.is_some_and(|columns| column + 1 + needed > columns) {
                text.push('\n');
                text.push_str(&" ".repeat(indent + 2));
                column = indent + 2;
            } else if !is_first {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += needed;
        }
    }
    text
}

/// Returns the text, or its beginning and `…` if it is wider. No sequence is cut apart.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut end = 0;
    for (at, _) in text.char_indices().filter(|(at, c)| is_start(&text[..*at], *c)) {
        if width(&text[..at]) + 1 > columns {
            break;
        }
        end = at;
    }
    if columns == 0 { String::new() } else { format!("{}…", &text[..end]) }
}

/// Returns the text, or if it is wider its beginning and its end with `…` between them: names often differ at their end.
pub fn cut_within(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let head = cut(text, columns / 2);
    let room = columns - width(&head);
    let fits = |(at, _): &(usize, char)| width(&text[*at..]) <= room;
    let starts = text.char_indices().rev().take_while(fits).filter(|(at, c)| is_start(&text[..*at], *c));
    let start = starts.last().map_or(text.len(), |(at, _)| at);
    format!("{head}{}", &text[start..])
}

/// Says whether a character begins something that is shown as one. What takes no column belongs to what is before it, what
/// follows a joiner to what is before that, a colour of skin to its emoji, and the second letter of a flag to the first.
fn is_start(before: &str, c: char) -> bool {
    let is_of_flag = |c: &char| ('\u{1f1e6}'..='\u{1f1ff}').contains(c);
    let is_second = is_of_flag(&c) && before.chars().rev().take_while(is_of_flag).count() % 2 == 1;
    let is_color = ('\u{1f3fb}'..='\u{1f3ff}').contains(&c);
    c.width().unwrap_or(0) > 0 && !is_second && !is_color && !before.ends_with('\u{200d}')
}

/// Returns a line as [`cut`] has it. Its colours take no column.
pub fn cut_colored(line: &str, columns: usize) -> String {
    let plain = outside::text(line);
    if width(&plain) <= columns {
        return line.to_owned();
    }
    let cut = cut(&plain, columns);
    let (mut rest, mut left, mut kept) = (line, cut.trim_end_matches('…').len(), String::new());
    while left > 0 && !rest.is_empty() {
        let color = outside::color_length(rest);
        let length = if color > 0 { color } else { rest.chars().next().map_or(1, char::len_utf8) };
        kept.push_str(&rest[..length]);
        rest = &rest[length..];
        left -= if color > 0 { 0 } else { length.min(left) };
    }
    let has_colors = kept.len() + '…'.len_utf8() > cut.len();
    format!("{kept}…{}", if has_colors { "\u{1b}[m" } else { "" })
}

/// Returns a line as [`cut_colored`] has it, but with its end, which has no colours.
pub fn cut_before(line: &str, end: &str, columns: usize) -> String {
    let Some(start) = line.strip_suffix(end).filter(|_| !end.is_empty() && width(end) < columns) else {
        return cut_colored(line, columns);
    };
    format!("{}{end}", cut_colored(start, columns - width(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_facts_goes_on_in_the_next_line_where_it_is_full() {
        let facts = ["one", "two", "three"].map(str::to_owned);
        assert_eq!(listed(0, &facts, None), "one, two, three");
        assert_eq!(listed(2, &facts, Some(17)), "  one, two, three");
        assert_eq!(listed(2, &facts, Some(16)), "  one, two,\n    three");
        assert_eq!(listed(0, &facts, Some(8)), "one,\n  two,\n  three");
        assert_eq!(listed(0, &facts, Some(1)), "one,\n  two,\n  three", "a fact is never cut");
        let facts = ["claude 3f6b1c9e", "going on"].map(str::to_owned);
        assert_eq!(listed(0, &facts, Some(12)), "claude\n  3f6b1c9e,\n  going on", "nor is a word of it");
        assert_eq!(listed(0, &facts, Some(16)), "claude 3f6b1c9e,\n  going on");
    }

    #[test]
    fn colours_take_no_column() {
        let line = "\u{1b}[31m*\u{1b}[m \u{1b}[33m7c1f0e2\u{1b}[m 日本語の文";
        assert_eq!(cut_colored(line, 20), line);
        assert_eq!(cut_colored(line, 16), "\u{1b}[31m*\u{1b}[m \u{1b}[33m7c1f0e2\u{1b}[m 日本…\u{1b}[m");
        assert_eq!(cut_colored("* 7c1f0e2 plain", 12), "* 7c1f0e2 p…");
    }

    #[test]
    fn the_end_of_a_line_can_be_kept() {
        assert_eq!(cut_before("* 7c1f0e2 a prompt (merge)", " (merge)", 22), "* 7c1f0e2 a p… (merge)");
        assert_eq!(cut_before("* 7c1f0e2 a prompt (merge)", " (merge)", 26), "* 7c1f0e2 a prompt (merge)");
        assert_eq!(cut_before("* 7c1f0e2 a prompt", "", 12), "* 7c1f0e2 a…");
        assert_eq!(cut_before("* a (merge)", " (merge)", 6), "* a (…");
    }

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
        let flags = "🇮🇷🇩🇪🇯🇵";
        assert_eq!((cut(flags, 5), cut(flags, 4)), ("🇮🇷🇩🇪…".to_owned(), "🇮🇷…".to_owned()));
        assert_eq!(
            (cut("👍🏽👍🏽", 5), cut("a👍🏽", 4)),
            ("👍🏽…".to_owned(), "a…".to_owned()),
            "a colour stays with its emoji"
        );
        assert_eq!(cut_within("src/a/b/file.rs", 15), "src/a/b/file.rs");
        assert_eq!(cut_within("src/a/b/file.rs", 14), "src/a/…file.rs");
        assert_eq!(cut_within(&format!("{family}{family}ab"), 5), "…ab", "a sequence stays whole");
    }

    #[test]
    fn nothing_that_is_cut_is_wider_than_was_said() {
        for text in ["日本語 and plain", "👩\u{200d}👩\u{200d}👦 x ❤\u{fe0f}❤\u{fe0f}", "می\u{200c}خواهم", "한국어"]
        {
            for columns in 0..20 {
                let cut = cut(text, columns);
                assert!(width(&cut) <= columns, "{cut:?} is wider than {columns}");
                let within = cut_within(text, columns);
                assert!(width(&within) <= columns, "{within:?} is wider than {columns}");
            }
        }
        assert_eq!(padded("日本", 6), "日本  ");
    }
}
