//! Tokens, counted without a model: four letters of ASCII are about one, and so is any other character.

use crate::outside;

/// How many of these a token is.
const QUARTERS: usize = 4;

fn quarters(c: char) -> usize {
    if c.is_ascii() { 1 } else { QUARTERS }
}

/// Returns about how many tokens a text is.
pub fn tokens(text: &str) -> usize {
    text.chars().map(quarters).sum::<usize>().div_ceil(QUARTERS)
}

/// Returns how many bytes the first characters have that are at most so many tokens.
fn within(chars: impl Iterator<Item = char>, max_tokens: usize) -> usize {
    let mut left = max_tokens.saturating_mul(QUARTERS);
    let fits = |c: &char| {
        let fits = quarters(*c) <= left;
        left = left.saturating_sub(quarters(*c));
        fits
    };
    chars.take_while(fits).map(char::len_utf8).sum()
}

/// Returns a text on one line, or its beginning.
pub fn short(text: &str, max_tokens: usize) -> String {
    let line = folded(text);
    match within(line.chars(), max_tokens) {
        end if end < line.len() => format!("{}…", &line[..end]),
        _ => line,
    }
}

/// Returns a text on one line, or its end.
pub fn short_end(text: &str, max_tokens: usize) -> String {
    let line = folded(text);
    match within(line.chars().rev(), max_tokens) {
        length if length < line.len() => format!("…{}", &line[line.len() - length..]),
        _ => line,
    }
}

/// Returns the words around a place in a text, on one line.
pub fn excerpt(text: &str, around: usize, max_tokens: usize) -> String {
    let start = around - within(text[..around].chars().rev(), max_tokens / 3);
    let end = start + within(text[start..].chars(), max_tokens);
    let (first, last) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    format!("{first}{}{last}", outside::line(&text[start..end]).trim())
}

fn folded(text: &str) -> String {
    outside::line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_what_it_costs_in_any_script() {
        assert_eq!((tokens(""), tokens("abcde"), tokens("断开")), (0, 2, 2));
        assert_eq!(short("one two three", 2), "one two …");
        assert_eq!(short_end("one two three", 2), "…wo three");
        assert_eq!(short("断开连接", 2), "断开…");
        assert_eq!(short("断开", 2), "断开");
        let text = "断".repeat(500) + "x" + &"开".repeat(500);
        for max_tokens in [0, 1, 78] {
            let cut = excerpt(&text, 1500, max_tokens);
            assert!(tokens(&cut) <= max_tokens + 2, "{cut}");
        }
        assert!(excerpt(&text, 1500, 78).contains('x'));
        assert_eq!(excerpt("a b", 2, 78), "a b");
    }
}
