//! A pattern, and the lines of a text that match it.

use std::ops::Range;

use bstr::ByteSlice as _;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use super::literal;
use super::needles::Needles;
use crate::agent::JOINED_MARKS;
use crate::error::{Error, Result};
use crate::outside;

/// How deep groups within groups of a pattern may be.
const MAX_DEPTH: u32 = 100;
/// The largest compiled pattern, in bytes; words that stand for themselves may take more.
const MAX_COMPILED_BYTES: usize = 1 << 20;
const MAX_FIXED_BYTES: usize = 10 << 20;
/// How many parts of a pattern may be repeated, each counted as often as it may follow itself. Every one of them can be in
/// progress at every character of a text, and each takes time there.
const MAX_REPEATED: usize = 500;

/// Makes a regular expression. Letters beyond ASCII match themselves; classes are those of ASCII, as in Git.
///
/// # Errors
///
/// The pattern and the reason if it is none.
pub fn expression(text: &str) -> Result<Regex> {
    let built = RegexBuilder::new(text).unicode(false).build();
    let bad = || Error::other(format!("'{}' is not a regular expression", outside::quoted(text)));
    built.map_err(|error| bad().because(last_line(&error)))
}

/// How patterns are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct PatternOptions {
    /// Every character stands for itself.
    pub is_fixed: bool,
    /// Small and capital letters of ASCII are the same.
    pub is_folded: bool,
    /// A match begins and ends where a word does.
    pub is_word: bool,
    /// A line end in a pattern is one in the text, rather than a border between patterns.
    pub is_across_lines: bool,
}

/// One or more patterns, of which one must match. A clone is for another thread.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// Literals of which one is in every text that matches.
    in_text: Option<Needles>,
    /// The forms that these literals can have in a transcript.
    in_json: Option<Needles>,
    is_across_lines: bool,
}

impl Pattern {
    /// Makes a pattern. Each line of a text given is one of its own, as for `git grep`, unless the options say otherwise.
    ///
    /// # Errors
    ///
    /// If one is no regular expression, or if searching for it could take very long.
    pub fn new(patterns: &[String], options: PatternOptions) -> Result<Self> {
        let bad = |pattern: &str| Error::other(format!("'{}' is not a regular expression", outside::quoted(pattern)));
        let mut branches = Vec::new();
        let each = |pattern: &'_ String| match options.is_across_lines {
            true => vec![pattern.clone()],
            false => pattern.split('\n').map(str::to_owned).collect(),
        };
        for pattern in &patterns.iter().flat_map(each).collect::<Vec<String>>() {
            let branch = if options.is_fixed { regex::escape(pattern) } else { pattern.clone() };
            // By itself: a parenthesis too many must not close ours.
            parsed(&branch, || bad(pattern))?;
            branches.push(match options.is_word {
                true => format!(r"\b{{start-half}}(?:{branch})\b{{end-half}}"),
                false => format!("(?:{branch})"),
            });
        }
        let whole = branches.join("|");
        let bad_whole = || bad(&patterns.join("|"));
        let syntax = parsed(&whole, bad_whole)?;
        if repeated(&syntax) > MAX_REPEATED {
            return Err(too_large());
        }
        let max_bytes = if options.is_fixed { MAX_FIXED_BYTES } else { MAX_COMPILED_BYTES };
        let mut builder = RegexBuilder::new(&whole);
        let build = builder.unicode(false).case_insensitive(options.is_folded).size_limit(max_bytes).build();
        let regex = build.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => too_large(),
            error => bad_whole().because(last_line(&error)),
        })?;
        let required =
            literal::required(&syntax).filter(|all| !all.is_empty() && all.iter().all(|one| !one.is_empty()));
        let needles = |literals: Vec<Vec<u8>>| Needles::new(&literals, options.is_folded);
        let mut in_json = required.as_deref().and_then(literal::in_json);
        if let Some(literals) = in_json.as_mut().filter(|all| all.iter().any(|literal| literal.contains(&b' '))) {
            literals.extend(JOINED_MARKS.iter().map(|mark| mark.as_bytes().to_vec()));
        }
        let in_json = in_json.and_then(needles);
        Ok(Pattern { regex, in_text: required.and_then(needles), in_json, is_across_lines: options.is_across_lines })
    }

    /// Returns needles, one of which is in every transcript with a match; `None` if there are none.
    pub fn needles(&self) -> Option<&Needles> {
        self.in_json.as_ref()
    }

    /// Visits the lines of a text that match, each with its number, its place, and the places of its matches in it. Of
    /// a pattern that may match across lines, only the line in which the first match begins.
    pub fn each_line(&self, text: &str, mut visit: impl FnMut(usize, Range<usize>, Vec<Range<usize>>)) {
        if self.is_across_lines {
            if let Some(found) = self.regex.find(text.as_bytes()) {
                let start = text.as_bytes()[..found.start()].rfind_byte(b'\n').map_or(0, |at| at + 1);
                let end = text.as_bytes()[start..].find_byte(b'\n').map_or(text.len(), |at| start + at);
                let number = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
                visit(number, start..end, Vec::new());
            }
            return;
        }
        let (mut number, mut counted) = (1, 0);
        let mut line = |place: Range<usize>| {
            let content = &text[place.clone()];
            let is_ended = place.end < text.len();
            let content = content.strip_suffix('\r').filter(|_| is_ended).unwrap_or(content);
            if let Some(spans) = self.spans(content) {
                number += text.as_bytes()[counted..place.start].iter().filter(|byte| **byte == b'\n').count();
                counted = place.start;
                visit(number, place.start..place.start + content.len(), spans);
            }
        };
        if let Some(needles) = &self.in_text {
            return needles.each_line(text.as_bytes(), line);
        }
        let mut start = 0;
        for piece in text.split_inclusive('\n') {
            let end = start + piece.len();
            line(start..end - usize::from(piece.ends_with('\n')));
            start = end;
        }
    }

    /// Returns the matches in a line, without the empty ones; `None` if there is no match.
    fn spans(&self, line: &str) -> Option<Vec<Range<usize>>> {
        let mut matches = self.regex.find_iter(line.as_bytes()).peekable();
        matches.peek()?;
        // A pattern is one of bytes; text is cut only between characters.
        let whole = |range: Range<usize>| {
            let start = (0..=range.start).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
            let end = (range.end..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
            start..end
        };
        let mut spans: Vec<Range<usize>> = Vec::new();
        for range in matches.map(|found| found.range()).filter(|range| !range.is_empty()).map(whole) {
            match spans.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => spans.push(range),
            }
        }
        Some(spans)
    }
}

/// Parses a pattern; `bad` is the error of one that is no regular expression.
fn parsed(pattern: &str, bad: impl FnOnce() -> Error) -> Result<Hir> {
    use regex_syntax::ast::ErrorKind::NestLimitExceeded;
    let mut parser = ParserBuilder::new();
    let parsed = parser.unicode(false).utf8(false).nest_limit(MAX_DEPTH).build().parse(pattern);
    parsed.map_err(|error| match &error {
        regex_syntax::Error::Parse(inner) if matches!(inner.kind(), NestLimitExceeded(_)) => too_large(),
        error => bad().because(last_line(error)),
    })
}

fn too_large() -> Error {
    Error::other("pattern too large")
}

/// Returns how many parts of a pattern are repeated, each as often as it may follow itself.
fn repeated(pattern: &Hir) -> usize {
    match pattern.kind() {
        HirKind::Repetition(_) => parts(pattern),
        HirKind::Capture(capture) => repeated(&capture.sub),
        HirKind::Concat(all) | HirKind::Alternation(all) => all.iter().map(repeated).fold(0, usize::saturating_add),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => 0,
    }
}

/// Returns how many parts a pattern has where repetitions are written out.
fn parts(pattern: &Hir) -> usize {
    match pattern.kind() {
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            parts(&repetition.sub).saturating_mul(usize::try_from(times).unwrap_or(usize::MAX))
        }
        HirKind::Capture(capture) => parts(&capture.sub),
        HirKind::Concat(all) | HirKind::Alternation(all) => all.iter().map(parts).fold(0, usize::saturating_add),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => 1,
    }
}

fn last_line(error: &dyn std::error::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line: its number, its text, and the places of its matches.
    type FoundLine = (usize, String, Vec<(usize, usize)>);

    fn lines(pattern: &str, options: PatternOptions, text: &str) -> Vec<FoundLine> {
        let mut found = Vec::new();
        let pattern = Pattern::new(&[pattern.to_owned()], options).expect("a pattern");
        pattern.each_line(text, |number, place, spans| {
            let spans = spans.into_iter().map(|span| (span.start, span.end)).collect();
            found.push((number, text[place].to_owned(), spans));
        });
        found
    }

    #[test]
    fn lines_are_numbered_and_matches_are_placed() {
        let plain = PatternOptions::default();
        let text = "one\r\ntwo two\n\nthree\n";
        assert_eq!(lines("two", plain, text), [(2, "two two".to_owned(), vec![(0, 3), (4, 7)])]);
        assert_eq!(lines("one$", plain, text), [(1, "one".to_owned(), vec![(0, 3)])]);
        assert_eq!(lines("^$", plain, text), [(3, String::new(), vec![])]);
        assert_eq!(lines("", plain, "a").len(), 1, "an empty pattern matches every line");
        assert_eq!(lines("TWO", PatternOptions { is_folded: true, ..plain }, text).len(), 1);
        assert_eq!(lines("tw", PatternOptions { is_word: true, ..plain }, text).len(), 0);
        assert_eq!(lines("t.o", PatternOptions { is_fixed: true, ..plain }, text).len(), 0);
        assert_eq!(lines("x.", plain, "xé"), [(1, "xé".to_owned(), vec![(0, 3)])], "a character is not cut");
        assert_eq!(lines("one\nthree", plain, text).len(), 2, "each line is a pattern");
    }

    #[test]
    fn a_parenthesis_too_many_is_no_pattern() {
        for bad in ["a)(b", "(", "a{,"] {
            assert!(Pattern::new(&[bad.to_owned()], PatternOptions::default()).is_err() || bad == "a{,", "{bad}");
        }
        assert!(Pattern::new(&["(a*)*b".to_owned()], PatternOptions::default()).is_ok());
        let long = Pattern::new(&["(".to_owned() + &"x".repeat(1000)], PatternOptions::default()).err();
        let short = format!("'({}…' is not a regular expression: unclosed group", "x".repeat(59));
        assert_eq!(long.map(|error| error.to_string()), Some(short), "a long pattern is not repeated whole");
    }

    #[test]
    fn a_pattern_that_would_take_minutes_is_refused() {
        let made = |pattern: String, is_fixed: bool| {
            let options = PatternOptions { is_fixed, ..PatternOptions::default() };
            Pattern::new(&[pattern], options).map(drop).map_err(|error| error.to_string())
        };
        let deep = |depth: usize| "(".repeat(depth) + "a" + &")".repeat(depth);
        let words = vec!["reconnect"; 2000].join("|");
        for (pattern, is_fixed) in [
            ("x*".repeat(2000), false),
            ("(?:a{1000}){1000}".to_owned(), false),
            ("(?:x*y?){300}".to_owned(), false),
            (deep(200), false),
            ("ab".repeat(1 << 20), true),
        ] {
            assert_eq!(made(pattern, is_fixed), Err("pattern too large".to_owned()));
        }
        for pattern in ["x*".repeat(100), ".{0,300}end".to_owned(), deep(90), words, "(a|b)*c+\\d{4}".to_owned()] {
            assert_eq!(made(pattern, false), Ok(()));
        }
        assert_eq!(made("x*".repeat(2000), true), Ok(()), "each character stands for itself");
    }
}
