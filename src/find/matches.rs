//! The lines of an increment that match a pattern.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

use super::stored_words::{StoredWords, each_line_with, place_in, prompt_marks, redacted, too_large};
use super::text::{Text, texts};
use super::{LineAddress, PartKind, Parts, Pattern, PlannedIncrement, Worker};
use crate::agent::Wording;
use crate::error::{Error, Kind, Result};
use crate::record::readable;
use crate::transcript::Message;

/// A search for lines that match a pattern.
#[derive(Clone, Debug)]
pub struct LineSearch {
    /// The pattern that a line must match.
    pub pattern: Pattern,
    /// The parts of a conversation that are searched.
    pub parts: Parts,
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// How many lines are shown before a line that matches, and behind it.
    pub context: (usize, usize),
    /// Whether messages are numbered; all of an increment is parsed for that.
    pub has_numbers: bool,
}

/// A line of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundLine {
    /// Its number in the text, from 1.
    pub number: usize,
    /// The line without its end.
    pub text: String,
    /// The matches in it, in bytes; `None` for a line of the context.
    pub spans: Option<Vec<Range<usize>>>,
}

/// A part of a message with lines that match.
#[derive(Clone, Debug)]
pub struct Match {
    /// The place of its message in the archive.
    pub place: LineAddress,
    /// The number of its turn in the increment: 1 for the first prompt, 0 before it.
    pub turn: usize,
    /// The number of its message in the increment, from 0, if it was wanted.
    pub message: Option<usize>,
    /// The kind of the text.
    pub kind: PartKind,
    /// The tool, of a call.
    pub tool: String,
    /// When it was said, in seconds since the epoch.
    pub time: Option<i64>,
    /// The lines, in order.
    pub lines: Vec<FoundLine>,
}

/// The matches in an increment.
#[derive(Debug, Default)]
pub struct Found {
    /// The matches, in the order of the transcript.
    pub matches: Vec<Match>,
    /// The reason if a part of the increment could not be searched.
    pub problem: Option<Error>,
}

/// Finds the matches in an increment.
///
/// # Errors
///
/// If a note of an earlier tool cannot be read. Missing words are reported in [`Found::problem`].
pub fn matches_of(worker: &mut Worker<'_>, session: &PlannedIncrement, wanted: &LineSearch) -> Result<Found> {
    let mut found = Found::default();
    let messages = if session.through.is_none() {
        worker.messages_of_earlier(session)?
    } else {
        let Some(words) = worker.words(session, &mut found.problem) else { return Ok(found) };
        if words.wording == Wording::InLines {
            found.matches = worker.in_lines(session, &words, wanted, &mut found.problem);
            return Ok(found);
        }
        worker.messages(session, &words, wanted.pattern.needles(), &mut found.problem)
    };
    for numbered in messages {
        let number = wanted.has_numbers.then_some(numbered.number);
        add(&numbered.message, wanted, &numbered.place, (numbered.turn, number), &mut found.matches);
    }
    Ok(found)
}

/// A line that may have a match: its piece, its place in the piece, and the number of matches before it.
struct Candidate {
    piece: usize,
    start: usize,
    matches: Range<usize>,
}

impl Worker<'_> {
    /// Finds the matches of a transcript whose lines are read one by one.
    fn in_lines(
        &mut self,
        session: &PlannedIncrement,
        words: &StoredWords,
        wanted: &LineSearch,
        problem: &mut Option<Error>,
    ) -> Vec<Match> {
        let (mut matches, mut candidates) = (Vec::new(), Vec::new());
        for (number, piece) in words.pieces.iter().enumerate() {
            let stored_bytes = self.unpacker.stored_bytes();
            let bytes = match self.unpacker.bytes(piece) {
                Ok(bytes) => bytes,
                Err(error) => {
                    *problem = Some(error);
                    continue;
                }
            };
            let (redactor, deadline) = (&self.redactor, self.deadline);
            let mut look = |line: Range<usize>| {
                let (start, text) = (line.start, &bytes[line]);
                // Some patterns take a second for each line.
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    *problem = Some(Error::new(Kind::Busy, "there was no time to search all of it"));
                    return;
                }
                if readable(text, stored_bytes) < text.len() {
                    *problem = Some(too_large(session));
                    return;
                }
                let before = matches.len();
                let needles = wanted.pattern.needles();
                let mut messages = words.agent.parse(text);
                // Most lines are results, or nothing that is shown, and need not be redacted.
                if !messages.iter().any(|message| texts(message).any(|text| wanted.has(&text))) {
                    return;
                }
                let Some(clean) = redacted(redactor, text, needles) else { return };
                if matches!(clean, Cow::Owned(_)) {
                    messages = words.agent.parse(&clean);
                }
                let place = place_in(piece, start);
                for (at, message) in messages.iter().enumerate() {
                    // Until the line is counted, the number is that of the message in its line.
                    add(message, wanted, &place, (0, Some(at)), &mut matches);
                }
                if matches.len() > before {
                    candidates.push(Candidate { piece: number, start, matches: before..matches.len() });
                }
            };
            each_line_with(wanted.pattern.needles(), bytes, &mut look);
        }
        self.count(words, &candidates, wanted, &mut matches);
        matches
    }

    /// Numbers the turns, and the messages if that is wanted, of the lines that have matches.
    fn count(&mut self, words: &StoredWords, candidates: &[Candidate], wanted: &LineSearch, matches: &mut [Match]) {
        let Some(last) = candidates.last() else { return };
        let stored_bytes = self.unpacker.stored_bytes();
        let marks = if wanted.has_numbers { None } else { prompt_marks(words.agent) };
        let mut counted = Counted::default();
        let mut candidates = candidates.iter().peekable();
        for (index, piece) in words.pieces[..=last.piece].iter().enumerate() {
            // What cannot be read was reported before.
            let bytes = self.unpacker.bytes(piece).unwrap_or_default();
            let mut line = |line: Range<usize>| {
                let (start, text) = (line.start, &bytes[line]);
                // Lines that are left out are no prompts.
                while let Some(next) = candidates.next_if(|next| next.piece == index && next.start < start) {
                    counted.number(&mut matches[next.matches.clone()], &[], wanted);
                }
                let candidate = candidates.next_if(|next| next.piece == index && next.start == start);
                let is_counted = wanted.has_numbers || words.agent.may_be_prompt(text);
                let messages = match is_counted && readable(text, stored_bytes) == text.len() {
                    true => words.agent.parse(text),
                    false => Vec::new(),
                };
                if let Some(candidate) = candidate {
                    counted.number(&mut matches[candidate.matches.clone()], &messages, wanted);
                }
                counted.add(&messages);
            };
            each_line_with(marks.as_ref(), bytes, &mut line);
            while let Some(next) = candidates.next_if(|next| next.piece == index) {
                counted.number(&mut matches[next.matches.clone()], &[], wanted);
            }
        }
    }
}

/// How many turns and messages were before a line.
#[derive(Default)]
struct Counted {
    turns: usize,
    messages: usize,
}

impl Counted {
    fn add(&mut self, messages: &[Message]) {
        self.turns += messages.iter().filter(|message| message.is_prompt()).count();
        self.messages += messages.iter().filter(|message| !message.parts.is_empty()).count();
    }

    /// Numbers the matches of a line that has these messages.
    fn number(&self, matches: &mut [Match], messages: &[Message], wanted: &LineSearch) {
        for found in matches {
            let at = found.message.unwrap_or(0);
            let upto = &messages[..messages.len().min(at + 1)];
            found.turn = self.turns + upto.iter().filter(|message| message.is_prompt()).count();
            let said = upto.iter().take(at).filter(|message| !message.parts.is_empty()).count();
            found.message = wanted.has_numbers.then_some(self.messages + said);
        }
    }
}

impl LineSearch {
    /// Returns a search for lines that match a pattern, in the parts that are usually searched and without context.
    pub fn new(pattern: Pattern) -> Self {
        LineSearch { pattern, parts: Parts::USUAL, tool: None, context: (0, 0), has_numbers: false }
    }

    fn has(&self, text: &Text<'_>) -> bool {
        let is_tool = |tool: &String| text.kind == PartKind::Call && text.tool.eq_ignore_ascii_case(tool);
        self.parts.has(text.kind) && self.tool.as_ref().is_none_or(is_tool)
    }
}

/// Adds the matches in a message, with its turn and its number.
fn add(
    message: &Message,
    wanted: &LineSearch,
    place: &LineAddress,
    at: (usize, Option<usize>),
    matches: &mut Vec<Match>,
) {
    for text in texts(message).filter(|text| wanted.has(text)) {
        let mut hits = Vec::new();
        wanted.pattern.each_line(&text.text, |number, place, spans| hits.push((number, place, spans)));
        if hits.is_empty() {
            continue;
        }
        let lines = if wanted.context == (0, 0) {
            let line = |(number, place, spans): (usize, Range<usize>, _)| FoundLine {
                number,
                text: text.text[place].to_owned(),
                spans: Some(spans),
            };
            hits.into_iter().map(line).collect()
        } else {
            with_context(&text.text, hits, wanted.context)
        };
        matches.push(Match {
            place: place.clone(),
            turn: at.0,
            message: at.1,
            kind: text.kind,
            tool: text.tool.to_owned(),
            time: message.time,
            lines,
        });
    }
}

/// Returns lines of a text with those before and behind each.
fn with_context(
    text: &str,
    hits: Vec<(usize, Range<usize>, Vec<Range<usize>>)>,
    context: (usize, usize),
) -> Vec<FoundLine> {
    let mut lines = Vec::new();
    let mut hits = hits.into_iter().peekable();
    let mut until = 0;
    let ahead: Vec<usize> = hits.clone().map(|(number, ..)| number).collect();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let spans = hits.next_if(|(hit, ..)| *hit == number).map(|(.., spans)| spans);
        if spans.is_some() {
            until = number.saturating_add(context.1);
        }
        let next = ahead.get(ahead.partition_point(|hit| *hit < number));
        let is_before = next.is_some_and(|next| *next <= number.saturating_add(context.0));
        if number <= until || is_before {
            lines.push(FoundLine { number, text: line.to_owned(), spans });
        }
    }
    lines
}
