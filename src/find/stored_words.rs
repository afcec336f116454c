//! The words of an increment: where they are stored, and its messages if they are all read.

use std::borrow::Cow;

use bstr::ByteSlice as _;

use super::needles::Needles;
use super::{LineAddress, PlannedIncrement, Worker};
use crate::agent::{self, Agent, Wording};
use crate::archive::SegmentSpan;
use crate::error::{Error, Kind, Result};
use crate::record::readable;
use crate::redact::Redactor;
use crate::transcript::{Message, line_ends};

/// A shorter piece costs as much as one of so many bytes: somebody can make thousands of records that each read
/// thousands of pieces of a few bytes.
const MIN_PIECE_BYTES: u64 = 1024;

/// The place of an increment's words in the archive.
pub(super) struct StoredWords {
    pub agent: &'static dyn Agent,
    pub pieces: Vec<SegmentSpan>,
    pub wording: Wording,
}

/// A message of an increment.
pub(super) struct NumberedMessage {
    pub message: Message,
    /// The number of its turn: 1 for the first prompt, 0 before it.
    pub turn: usize,
    /// Its number among the messages that say something.
    pub number: usize,
    pub place: LineAddress,
}

impl Worker<'_> {
    /// Finds the words of an increment; `None` if there are none, or only an agent that is not known here could read them.
    /// `problem` gets the reason if some of them are missing.
    pub(super) fn words(&mut self, session: &PlannedIncrement, problem: &mut Option<Error>) -> Option<StoredWords> {
        let agent = agent::find(&session.key.agent)?;
        let stored = self.unpacker.archive().pieces(session.since, session.through?);
        let pieces = stored.pieces;
        *problem = stored.problem;
        let cost = |piece: &SegmentSpan| piece.length().max(MIN_PIECE_BYTES);
        if !self.begins(pieces.iter().map(cost).fold(0, u64::saturating_add), stored.links) {
            return None;
        }
        self.unpacker.begin(&session.key);
        let mut wording = None;
        for piece in &pieces {
            // What cannot be read is reported when it is searched.
            let beginning = self.unpacker.bytes(piece).unwrap_or_default();
            if !beginning.is_empty() {
                wording = Some(agent.wording(beginning));
                break;
            }
        }
        let wording = wording.unwrap_or(Wording::InPieces);
        (!pieces.is_empty()).then_some(StoredWords { agent, pieces, wording })
    }

    /// Reads all messages of an increment, without secrets. Nothing if none of the needles is in it.
    pub(super) fn messages(
        &mut self,
        session: &PlannedIncrement,
        words: &StoredWords,
        needles: Option<&Needles>,
        problem: &mut Option<Error>,
    ) -> Vec<NumberedMessage> {
        let (mut raw, mut starts) = (Vec::new(), Vec::new());
        for piece in &words.pieces {
            match self.unpacker.bytes(piece) {
                Ok(bytes) => {
                    starts.push((raw.len(), *piece));
                    raw.extend_from_slice(bytes);
                }
                Err(error) => *problem = Some(error),
            }
        }
        if readable(&raw, self.unpacker.stored_bytes()) < raw.len() {
            *problem = Some(too_large(session));
            raw.truncate(readable(&raw, self.unpacker.stored_bytes()));
        }
        let needles = needles.filter(|_| words.wording != Wording::InPieces);
        if needles.is_some_and(|needles| !needles.is_in(&raw)) {
            return Vec::new();
        }
        let Some(text) = redacted(&self.redactor, &raw, needles) else { return Vec::new() };
        let messages = words.agent.parse(&text);
        // Redaction keeps the lines, but not their places.
        let ends = |text: &[u8]| line_ends(text).collect::<Vec<usize>>();
        let moved = matches!(text, Cow::Owned(_)).then(|| (ends(&text), ends(&raw)));
        let place = |at: usize| {
            let at = match &moved {
                None => raw[..at].rfind_byte(b'\n').map_or(0, |end| end + 1),
                Some((ends, raw_ends)) => match ends.partition_point(|end| *end <= at) {
                    0 => 0,
                    line => raw_ends.get(line - 1).copied().unwrap_or(0),
                },
            };
            let (start, piece) = starts[starts.partition_point(|(start, _)| *start <= at).saturating_sub(1)];
            place_in(&piece, at - start)
        };
        numbered(messages, place)
    }

    /// Reads the messages of a document of an earlier tool, which has the words itself.
    pub(super) fn messages_of_earlier(&mut self, session: &PlannedIncrement) -> Result<Vec<NumberedMessage>> {
        let Some(commit_id) = session.commit_id else { return Ok(Vec::new()) };
        let documents = match &mut self.documents {
            Some(documents) if documents.commit_id == commit_id => documents,
            documents => documents.insert(self.reader.documents(commit_id)?),
        };
        let Some(mut conversation) = self.reader.document(documents, &session.key) else { return Ok(Vec::new()) };
        conversation.redact(&self.redactor);
        let of = session.key.to_string();
        Ok(numbered(conversation.messages, |at| LineAddress { of: of.clone(), at: at as u64 }))
    }
}

/// Numbers messages and their turns.
fn numbered(messages: Vec<Message>, place: impl Fn(usize) -> LineAddress) -> Vec<NumberedMessage> {
    let (mut turn, mut number) = (0, 0);
    let tell = |message: Message| {
        turn += usize::from(message.is_prompt());
        let numbered = NumberedMessage { turn, number, place: place(message.span.start), message };
        number += usize::from(!numbered.message.parts.is_empty());
        numbered
    };
    messages.into_iter().map(tell).collect()
}

/// Returns lines without their secrets. `None` if a needle is in them only as a part of a secret: what is found must not
/// depend on the secret.
pub(super) fn redacted<'t>(redactor: &Redactor, lines: &'t [u8], needles: Option<&Needles>) -> Option<Cow<'t, [u8]>> {
    let (clean, dealt) = redactor.redact(lines);
    if matches!(clean, Cow::Borrowed(_)) {
        return Some(Cow::Borrowed(&lines[..dealt]));
    }
    if let Some(needles) = needles {
        let secrets = redactor.scan(lines);
        let is_open = |hit: &std::ops::Range<usize>| {
            secrets.iter().all(|(_, secret)| hit.end <= secret.span.start || hit.start >= secret.span.end)
        };
        let mut hits = std::iter::successors(needles.next(lines, 0), |hit| needles.next(lines, hit.start + 1));
        hits.find(is_open)?;
    }
    Some(clean)
}

/// Returns the problem of words that are too many for what is stored of them.
pub(super) fn too_large(session: &PlannedIncrement) -> Error {
    Error::new(Kind::Corrupt, format!("the transcript of {} is too large for what is stored of it", session.key))
}

/// Returns needles for the text that every line with a prompt has, if the agent has such a text.
pub(super) fn prompt_marks(agent: &dyn Agent) -> Option<Needles> {
    Needles::new(&[agent.prompt_mark()?.as_bytes().to_vec()], false)
}

/// A shorter line has no message in any format; somebody can store millions of them in a few bytes.
const MIN_LINE_BYTES: usize = 8;

/// Visits the lines of a text that can have a message, without their ends.
fn each_line(text: &[u8], visit: &mut impl FnMut(std::ops::Range<usize>)) {
    let mut start = 0;
    while start < text.len() {
        let end = text[start..].find_byte(b'\n').map_or(text.len(), |at| start + at);
        if end - start >= MIN_LINE_BYTES {
            visit(start..end);
        }
        start = end + 1;
    }
}

/// Visits the lines that have one of the needles, or all lines.
pub(super) fn each_line_with(needles: Option<&Needles>, text: &[u8], visit: &mut impl FnMut(std::ops::Range<usize>)) {
    match needles {
        Some(needles) => needles.each_line(text, visit),
        None => each_line(text, visit),
    }
}

/// Returns where byte `at` of a piece is stored.
pub(super) fn place_in(piece: &SegmentSpan, at: usize) -> LineAddress {
    LineAddress { of: piece.segment_id.to_string(), at: piece.from.saturating_sub(piece.keep) + at as u64 }
}
