//! The turns of an increment that have the words of a search.

use std::borrow::Cow;
use std::ops::Range;

use super::stored_words::{StoredWords, each_line_with, place_in, prompt_marks, redacted, too_large};
use super::text::texts;
use super::{LineAddress, PartKind, PlannedIncrement, Terms, Worker};
use crate::agent::Wording;
use crate::error::{Error, Kind, Result};
use crate::record::readable;
use crate::transcript::Message;

/// How many turns of an increment are looked at: each takes a kilobyte of memory, and no session has as many.
const MAX_TURNS: usize = 50_000;

/// A turn that has words of a search.
#[derive(Clone, Debug)]
pub struct TurnFound {
    /// The place of its first message in the archive.
    pub(super) place: LineAddress,
    /// Its number in the increment: 1 for the first prompt, 0 before it.
    pub number: usize,
    /// How often each word is in it, by the weight of the parts.
    pub(super) counts: Vec<f64>,
    /// How long it is in the transcript, in bytes.
    pub(super) length: usize,
}

/// The turns that were found in an increment.
#[derive(Debug, Default)]
pub struct Census {
    /// For each word, whether the increment may have it outside secrets: the count must not depend on secrets.
    pub(super) has: Vec<bool>,
    /// The turns that may have enough of the words.
    pub turns: Vec<TurnFound>,
    /// The reason if a part of the increment could not be searched.
    pub problem: Option<Error>,
}

/// Finds the turns of an increment that have the words of a search.
///
/// # Errors
///
/// If a note of an earlier tool cannot be read. Missing words are reported in [`Census::problem`].
pub fn turns_of(worker: &mut Worker<'_>, session: &PlannedIncrement, terms: &Terms) -> Result<Census> {
    let mut census = Census { has: vec![false; terms.count()], ..Census::default() };
    let messages = if session.through.is_none() {
        census.has.fill(true);
        worker.messages_of_earlier(session)?
    } else {
        let Some(words) = worker.words(session, &mut census.problem) else { return Ok(census) };
        let mut may_have = census.has.clone();
        if words.wording == Wording::InPieces {
            may_have.fill(true);
            census.has.fill(true);
        } else {
            for piece in &words.pieces {
                match worker.unpacker.bytes(piece) {
                    Ok(bytes) => {
                        terms.look_outside_secrets(bytes, &worker.redactor, &mut may_have, &mut census.has);
                    }
                    Err(error) => census.problem = Some(error),
                }
            }
        }
        if !terms.may_be_enough(&may_have) {
            return Ok(census);
        }
        if words.wording == Wording::InLines {
            census.turns = worker.turns_in_lines(session, &words, terms, &may_have, &mut census.problem);
            return Ok(census);
        }
        worker.messages(session, &words, None, &mut census.problem)
    };
    let mut open: Option<Tally> = None;
    for numbered in messages {
        if open.as_ref().is_none_or(|tally| tally.number != numbered.turn) {
            census.turns.extend(open.take().and_then(|tally| tally.finish(terms)));
            open = Some(Tally::new(terms, numbered.turn, numbered.place.clone()));
        }
        if let Some(tally) = &mut open {
            tally.length += numbered.message.span.len();
            tally.add(&numbered.message, terms);
        }
    }
    census.turns.extend(open.and_then(|tally| tally.finish(terms)));
    Ok(census)
}

/// A turn of a transcript whose lines are read one by one.
struct Stretch {
    number: usize,
    /// Its lines: the number of a piece, and their place in it.
    lines: Vec<(usize, Range<usize>)>,
    /// For each word, whether the turn may have it.
    has: Vec<bool>,
}

impl Worker<'_> {
    fn turns_in_lines(
        &mut self,
        session: &PlannedIncrement,
        words: &StoredWords,
        terms: &Terms,
        may_have: &[bool],
        problem: &mut Option<Error>,
    ) -> Vec<TurnFound> {
        let stretches = self.stretches(words, terms, may_have);
        if stretches.len() > MAX_TURNS {
            let told =
                format!("the transcript of {} has more than {MAX_TURNS} turns; the rest is not searched", session.key);
            *problem = Some(Error::new(Kind::Corrupt, told));
        }
        let mut turns = Vec::new();
        for stretch in stretches.iter().take(MAX_TURNS).filter(|stretch| terms.may_be_enough(&stretch.has)) {
            let Some((first, lines)) = stretch.lines.first() else { continue };
            let place = place_in(&words.pieces[*first], lines.start);
            let mut tally = Tally::new(terms, stretch.number, place);
            for (piece, lines) in &stretch.lines {
                let stored_bytes = self.unpacker.stored_bytes();
                let Some(bytes) =
                    self.unpacker.bytes(&words.pieces[*piece]).ok().and_then(|all| all.get(lines.clone()))
                else {
                    continue;
                };
                let redactor = &self.redactor;
                tally.length += bytes.len();
                // A line without any of the words is not read.
                each_line_with(terms.lines.as_ref(), bytes, &mut |line: Range<usize>| {
                    let text = &bytes[line];
                    if readable(text, stored_bytes) < text.len() {
                        *problem = Some(too_large(session));
                        return;
                    }
                    let mut messages = words.agent.parse(text);
                    if messages.iter().all(|message| message.parts.is_empty()) {
                        return;
                    }
                    if let Some(Cow::Owned(clean)) = redacted(redactor, text, None) {
                        messages = words.agent.parse(&clean);
                    }
                    messages.iter().for_each(|message| tally.add(message, terms));
                });
            }
            turns.extend(tally.finish(terms));
        }
        turns
    }

    /// Divides a transcript, which may have some of the words, into turns: at most one more than [`MAX_TURNS`].
    fn stretches(&mut self, words: &StoredWords, terms: &Terms, may_have: &[bool]) -> Vec<Stretch> {
        let fresh = |number| Stretch { number, lines: Vec::new(), has: vec![false; terms.count()] };
        let marks = prompt_marks(words.agent);
        let mut stretches = vec![fresh(0)];
        for (index, piece) in words.pieces.iter().enumerate() {
            let stored_bytes = self.unpacker.stored_bytes();
            // What cannot be read was reported before.
            let bytes = self.unpacker.bytes(piece).unwrap_or_default();
            let mut from = 0;
            let mut close = |stretches: &mut Vec<Stretch>, to: usize| {
                if let Some(stretch) = stretches.last_mut().filter(|_| from < to) {
                    terms.look(&bytes[from..to], may_have, &mut stretch.has);
                    stretch.lines.push((index, from..to));
                }
                from = to;
            };
            each_line_with(marks.as_ref(), bytes, &mut |line: Range<usize>| {
                let text = &bytes[line.clone()];
                if stretches.len() > MAX_TURNS {
                    return;
                }
                if words.agent.may_be_prompt(text) && readable(text, stored_bytes) == text.len() {
                    let prompts = words.agent.parse(text).iter().filter(|message| message.is_prompt()).count();
                    if prompts > 0 {
                        close(&mut stretches, line.start);
                        let number = stretches.last().map_or(0, |last| last.number) + prompts;
                        stretches.push(fresh(number));
                    }
                }
            });
            close(&mut stretches, bytes.len());
        }
        stretches
    }
}

/// The words of a turn, counted.
struct Tally {
    number: usize,
    place: LineAddress,
    counts: Vec<f64>,
    length: usize,
    is_excluded: bool,
}

impl Tally {
    fn new(terms: &Terms, number: usize, place: LineAddress) -> Self {
        Tally { number, place, counts: vec![0.0; terms.count()], length: 0, is_excluded: false }
    }

    fn add(&mut self, message: &Message, terms: &Terms) {
        for text in texts(message) {
            let words = terms.spoken(&text.text);
            let (places, is_excluded) = terms.places(text.kind, &text.text, &words);
            self.is_excluded |= is_excluded;
            for (count, places) in self.counts.iter_mut().zip(places) {
                *count += places.len() as f64 * weight(text.kind);
            }
        }
    }

    fn finish(self, terms: &Terms) -> Option<TurnFound> {
        let has: Vec<bool> = self.counts.iter().map(|count| *count > 0.0).collect();
        let is_found = !self.is_excluded && has.contains(&true) && terms.may_be_enough(&has);
        let Tally { number, place, counts, length, .. } = self;
        is_found.then_some(TurnFound { place, number, counts, length })
    }
}

/// Returns the weight of a word by its part: a person's words are the best sign of a turn's subject.
pub(super) fn weight(kind: PartKind) -> f64 {
    match kind {
        PartKind::Prompt => 4.0,
        PartKind::Answer => 2.0,
        PartKind::Thinking | PartKind::Call | PartKind::Notice => 1.0,
        PartKind::Result => 0.5,
    }
}
