//! The words of a turn that answer a search best.

use std::ops::Range;

use super::ranked::weight;
use super::stored_words::{NumberedMessage, StoredWords, each_line_with, place_in, redacted};
use super::text::texts;
use super::{PartKind, PlannedIncrement, Terms, Worker};
use crate::agent::Wording;
use crate::error::Result;
use crate::record::readable;
use crate::transcript::Message;

/// A text of a turn, and the line in it that has most of the words.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The kind of the text.
    pub kind: PartKind,
    /// The tool, of a call.
    pub tool: String,
    /// The text; a long one is cut to the surroundings of the line.
    pub text: String,
    /// The line without its end, as a range of bytes in the text; a very long one is cut.
    pub line: Range<usize>,
    /// The number of the line, from 1.
    pub number: usize,
    /// The words in the line, in bytes of the text.
    pub spans: Vec<Range<usize>>,
    /// The number of the message in the increment, from 0.
    pub message: usize,
    /// When it was said, in seconds since the epoch.
    pub time: Option<i64>,
}

/// How much of a text is kept before the first word in the line, and behind it, in bytes.
const AROUND_BYTES: [usize; 2] = [4 << 10, 12 << 10];

impl Excerpt {
    /// Keeps of a whole text what is around a place in the line. A text can have many megabytes.
    fn cut(&mut self, whole: &str, at: usize) {
        let boundary = |from: usize, end: usize| (from..=end).find(|at| whole.is_char_boundary(*at)).unwrap_or(end);
        let start = boundary(at.saturating_sub(AROUND_BYTES[0]), at);
        let end = boundary((at + AROUND_BYTES[1]).min(whole.len()), whole.len());
        let moved = |range: &Range<usize>| range.start.clamp(start, end) - start..range.end.clamp(start, end) - start;
        whole[start..end].clone_into(&mut self.text);
        self.line = moved(&self.line);
        self.spans = self.spans.iter().map(moved).filter(|span| !span.is_empty()).collect();
    }
}

/// Returns the words of a turn that answer a search best; `None` if they are gone.
///
/// # Errors
///
/// As [`turns_of`](super::turns_of).
pub fn excerpt_of(
    worker: &mut Worker<'_>,
    session: &PlannedIncrement,
    turn: usize,
    terms: &Terms,
) -> Result<Option<Excerpt>> {
    let mut problem = None;
    let messages = if session.through.is_none() {
        worker.messages_of_earlier(session)?
    } else {
        let Some(words) = worker.words(session, &mut problem) else { return Ok(None) };
        match words.wording {
            Wording::InLines => worker.messages_in_turn(&words, turn),
            Wording::InOnePiece | Wording::InPieces => worker.messages(session, &words, None, &mut problem),
        }
    };
    let mut best: Option<(f64, Excerpt)> = None;
    for numbered in messages.iter().filter(|numbered| numbered.turn == turn) {
        consider(&numbered.message, numbered.number, terms, &mut best);
    }
    Ok(best.map(|(_, excerpt)| excerpt))
}

impl Worker<'_> {
    /// Reads those messages of one turn that may have a word, of a transcript whose lines are read one by one.
    fn messages_in_turn(&mut self, words: &StoredWords, wanted: usize) -> Vec<NumberedMessage> {
        let (mut turn, mut number, mut found) = (0, 0, Vec::new());
        for piece in &words.pieces {
            let stored_bytes = self.unpacker.stored_bytes();
            let bytes = self.unpacker.bytes(piece).unwrap_or_default();
            let redactor = &self.redactor;
            each_line_with(None, bytes, &mut |line: Range<usize>| {
                let (start, text) = (line.start, &bytes[line]);
                if turn > wanted || readable(text, stored_bytes) < text.len() {
                    return;
                }
                let mut messages = words.agent.parse(text);
                let is_wanted = turn + messages.iter().filter(|message| message.is_prompt()).count() >= wanted;
                // All lines of the turn: what the parser makes of a line may have a word that its bytes have not.
                if is_wanted {
                    let clean = redacted(redactor, text, None);
                    messages = clean.map(|clean| words.agent.parse(&clean)).unwrap_or_default();
                }
                for message in messages {
                    turn += usize::from(message.is_prompt());
                    let place = place_in(piece, start);
                    let is_said = !message.parts.is_empty();
                    if turn == wanted {
                        found.push(NumberedMessage { message, turn, number, place });
                    }
                    number += usize::from(is_said);
                }
            });
        }
        found
    }
}

/// Takes the best line of a message, if it is better than the best so far: more of the words, then the weightier part.
fn consider(message: &Message, number: usize, terms: &Terms, best: &mut Option<(f64, Excerpt)>) {
    for text in texts(message) {
        let words = terms.spoken(&text.text);
        let (places, _) = terms.places(text.kind, &text.text, &words);
        let mut all: Vec<(Range<usize>, usize)> = Vec::new();
        for (term, places) in places.into_iter().enumerate() {
            all.extend(places.into_iter().map(|place| (place, term)));
        }
        all.sort_by_key(|(place, _)| place.start);
        let mut from = 0;
        while let Some((first, _)) = all.get(from) {
            let start = text.text[..first.start].rfind('\n').map_or(0, |at| at + 1);
            let end = text.text[first.start..].find('\n').map_or(text.text.len(), |at| first.start + at);
            let until = all[from..].iter().take_while(|(place, _)| place.start < end).count() + from;
            let mut kinds: Vec<usize> = all[from..until].iter().map(|(_, term)| *term).collect();
            kinds.sort_unstable();
            kinds.dedup();
            let score = kinds.len() as f64 + weight(text.kind) / 8.0;
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                let spans = all[from..until].iter().map(|(place, _)| place.start..place.end.min(end)).collect();
                let mut excerpt = Excerpt {
                    kind: text.kind,
                    tool: text.tool.to_owned(),
                    line: start..end,
                    number: text.text[..start].matches('\n').count() + 1,
                    spans,
                    message: number,
                    time: message.time,
                    text: String::new(),
                };
                excerpt.cut(&text.text, first.start);
                *best = Some((score, excerpt));
            }
            from = until;
        }
    }
}
