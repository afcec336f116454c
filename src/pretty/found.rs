//! Lines that a search has found: as `git grep` prints them, and as JSON.

use std::io::{self, Write};
use std::ops::Range;

use bstr::ByteSlice as _;
use serde_json::{Value, json};

use super::Style;
use super::width::width;
use crate::find::{FoundLine, Hit, Match, PartKind, PlannedIncrement};
use crate::git::{Commit, date};
use crate::outside;

/// The longest line that is printed whole, in characters.
const MAX_CHARS: usize = 2000;
/// How much of a line is printed for an answer of a search, in characters.
const HIT_CHARS: usize = 300;
/// How far the line of a hit is indented.
const INDENT_COLUMNS: usize = 4;
/// The colon behind the name of its part, and the marks of what is cut.
const MARKS_COLUMNS: usize = 4;
/// The least room of a hit's line on a narrow terminal.
const MIN_HIT_COLUMNS: usize = 20;

/// How lines are printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FoundLayout {
    /// The commit and the session stand above their lines.
    pub has_heading: bool,
    /// Lines have neither the commit nor the session in front.
    pub is_without_place: bool,
    /// Each line has its number in the text.
    pub has_line_numbers: bool,
    /// Each line has the column of its first match.
    pub has_columns: bool,
    /// Only what matches is printed.
    pub is_only_matching: bool,
    /// Long lines are printed whole.
    pub is_uncut: bool,
}

/// The part of a conversation that lines come from.
#[derive(Debug)]
pub struct FoundPlace<'a> {
    /// The abbreviated id of the commit.
    pub commit: &'a str,
    /// The agent and the session, shortened.
    pub session: &'a str,
}

impl FoundPlace<'_> {
    /// Returns the place as it stands in front of a line.
    pub fn text(&self, style: &Style) -> String {
        format!("{} {}", style.paint(&style.commit, self.commit), style.paint(&style.place, self.session))
    }
}

/// Returns the name of a part of a conversation in front of its lines: the tool of a call, else the kind.
pub fn part_name(kind: PartKind, tool: &str) -> String {
    if kind == PartKind::Call && !tool.is_empty() { outside::line(tool) } else { kind.word().to_owned() }
}

/// Writes a line that was found, or one of its context.
///
/// # Errors
///
/// If writing fails.
pub fn write_found(
    out: &mut dyn Write,
    style: &Style,
    layout: FoundLayout,
    place: &FoundPlace<'_>,
    of: &Match,
    line: &FoundLine,
    end: &[u8],
) -> io::Result<()> {
    let sign = if line.spans.is_some() { ":" } else { "-" };
    let separator = style.paint(&style.separator, sign);
    let number = |number: usize| style.paint(&style.number, &number.to_string());
    let name = part_name(of.kind, &of.tool);
    let prefix = |column: Option<usize>| {
        let mut prefix = match layout.has_heading {
            true => format!("{} {name}{separator}", number(of.turn)),
            false if layout.is_without_place => format!("{}{separator}{name}{separator}", number(of.turn)),
            false => format!("{}{separator}{}{separator}{name}{separator}", place.text(style), number(of.turn)),
        };
        let column = column.filter(|_| layout.has_columns && line.spans.is_some());
        for shown in layout.has_line_numbers.then_some(line.number).into_iter().chain(column) {
            prefix += &format!("{}{separator}", number(shown));
        }
        if layout.has_heading { prefix + " " } else { prefix }
    };
    let spans = line.spans.as_deref().unwrap_or_default();
    if layout.is_only_matching {
        for span in spans {
            let text = style.paint(&style.found, &outside::line(&line.text[span.clone()]));
            out.write_all(prefix(Some(span.start + 1)).as_bytes())?;
            out.write_all(text.as_bytes())?;
            out.write_all(end)?;
        }
        return Ok(());
    }
    let column = spans.first().map_or(1, |span| span.start + 1);
    out.write_all(prefix(Some(column)).as_bytes())?;
    let max_chars = if layout.is_uncut { usize::MAX } else { MAX_CHARS };
    out.write_all(marked(&line.text, spans, max_chars, style).as_bytes())?;
    out.write_all(end)
}

/// Returns a text on one line, with what was found painted. One of more than `max_chars` characters is cut around the first
/// match.
pub fn marked(text: &str, spans: &[Range<usize>], max_chars: usize, style: &Style) -> String {
    let pieces = pieces(text, spans, max_chars).into_iter();
    pieces.map(|(piece, is_found)| if is_found { style.paint(&style.found, &piece) } else { piece }).collect()
}

/// Returns a text on one line as pieces, each with whether it was found; cut as [`marked`] cuts it.
fn pieces(text: &str, spans: &[Range<usize>], max_chars: usize) -> Vec<(String, bool)> {
    let window = window(text, spans.first(), max_chars);
    let mut pieces = Vec::new();
    if window.start > 0 {
        pieces.push(("…".to_owned(), false));
    }
    let (mut from, mut until) = (window.start, Vec::new());
    for span in spans {
        let (start, end) = (span.start.max(from), span.end.min(window.end));
        if start >= end {
            continue;
        }
        until.extend([start - window.start, end - window.start]);
        from = end;
    }
    until.push(window.len());
    let lines = outside::line_in_pieces(&text[window.clone()], &until);
    pieces.extend(lines.into_iter().enumerate().map(|(number, piece)| (piece, number % 2 == 1)));
    if window.end < text.len() {
        pieces.push(("…".to_owned(), false));
    }
    pieces
}

/// Returns at most `max_chars` characters of a text, around a place in it.
fn window(text: &str, around: Option<&Range<usize>>, max_chars: usize) -> Range<usize> {
    if text.len() <= max_chars || text.chars().count() <= max_chars {
        return 0..text.len();
    }
    let place = around.map_or(0, |place| place.start);
    let before = text[..place].char_indices().rev().take(max_chars / 4).last().map_or(place, |(at, _)| at);
    let end = text[before..].char_indices().nth(max_chars).map_or(text.len(), |(at, _)| before + at);
    // Near the end of a text there is room for more in front.
    let spare = max_chars.saturating_sub(text[before..end].chars().count());
    let start = text[..before].char_indices().rev().take(spare).last().map_or(before, |(at, _)| at);
    start..end
}

/// Returns the object of a line that was found, as `grep --json` has it.
pub fn found_object(commit: Option<&Commit>, session: &PlannedIncrement, of: &Match, line: &FoundLine) -> Value {
    let spans: Vec<[usize; 2]> = line.spans.iter().flatten().map(|span| [span.start, span.end]).collect();
    let said = of.time.map(|seconds| date::Time { seconds, offset: 0 }.to_rfc3339());
    json!({
        "version": 1,
        "commit": commit.map(|commit| commit.commit_id.to_string()),
        "agent": session.key.agent,
        "session": session.key.id,
        "turn": of.turn,
        "message": of.message,
        "part": of.kind.word(),
        "tool": Some(&of.tool).filter(|tool| !tool.is_empty()),
        "line": line.number,
        "column": spans.first().map_or(1, |span| span[0] + 1),
        "text": line.text,
        "submatches": spans,
        "time": said.unwrap_or_else(|| session.time.clone()),
        "author": commit.map(|commit| commit.author.name.to_str_lossy()),
    })
}

/// Returns the line of a turn that answers a search, with its words painted.
pub fn hit_line(hit: &Hit, style: &Style) -> String {
    let (line, spans) = trimmed_line_of(hit);
    let name = part_name(hit.excerpt.kind, &hit.excerpt.tool);
    let fits = |columns: usize| {
        let room = columns.saturating_sub(INDENT_COLUMNS + width(&name) + MARKS_COLUMNS).max(MIN_HIT_COLUMNS);
        // Some characters are wider than one column.
        let is_narrow = |chars: &usize| width(&line[window(line, spans.first(), *chars)]) <= room;
        (1..=room.min(HIT_CHARS)).rev().find(is_narrow).unwrap_or(1)
    };
    let max_chars = style.columns.map_or(HIT_CHARS, fits);
    format!("{name}: {}", marked(line, &spans, max_chars, style))
}

/// Returns the line of a turn that answers a search as pieces, each with whether it is one of the words.
pub(super) fn hit_pieces(hit: &Hit) -> Vec<(String, bool)> {
    let (line, spans) = trimmed_line_of(hit);
    pieces(line, &spans, HIT_CHARS)
}

/// Returns the line of an excerpt without white space around it, and the words in it.
fn trimmed_line_of(hit: &Hit) -> (&str, Vec<Range<usize>>) {
    let (line, spans) = line_of(hit);
    let indent = line.len() - line.trim_start().len();
    (line.trim(), spans.iter().map(|span| span.start - indent..span.end - indent).collect())
}

/// Returns the object of a turn that answers a search, as `search --json` has it.
pub fn hit_object(commit: Option<&Commit>, session: &PlannedIncrement, hit: &Hit) -> Value {
    let (line, spans) = line_of(hit);
    let line = FoundLine { number: hit.excerpt.number, text: line.to_owned(), spans: Some(spans) };
    let of = Match {
        place: hit.answer.place.clone(),
        turn: hit.answer.turn,
        message: Some(hit.excerpt.message),
        kind: hit.excerpt.kind,
        tool: hit.excerpt.tool.clone(),
        time: hit.excerpt.time,
        lines: Vec::new(),
    };
    let mut object = found_object(commit, session, &of, &line);
    object["score"] = json!((hit.answer.score * 1000.0).round() / 1000.0);
    object
}

/// Returns the line of an excerpt, and the words in it.
fn line_of(hit: &Hit) -> (&str, Vec<Range<usize>>) {
    let (text, line) = (&hit.excerpt.text, &hit.excerpt.line);
    let spans = hit.excerpt.spans.iter().map(|span| span.start - line.start..span.end - line.start).collect();
    (&text[line.clone()], spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let text = format!("{}needle{}", "é".repeat(50), "x".repeat(50));
        let at = text.find("needle").expect("it is there");
        let style = Style { found: "<".into(), reset: ">".into(), ..Style::default() };
        let cut = marked(&text, std::slice::from_ref(&(at..at + 6)), 20, &style);
        assert_eq!(cut, "…ééééé<needle>xxxxxxxxx…");
        assert_eq!(marked("a needle", std::slice::from_ref(&(2..8)), 20, &style), "a <needle>");
        assert_eq!(marked("bad\u{1b}[31m", &[], 20, &style), "bad");
        let end = format!("{}ab", "x".repeat(30));
        assert_eq!(marked(&end, std::slice::from_ref(&(30..32)), 8, &Style::default()), "…xxxxxxab");
    }
}
