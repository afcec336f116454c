//! Capturing: what a transcript says beyond what the archive has, and putting it there.
//!
//! Read [`Reading::open`]. A transcript is read from its file in pieces, so that two hundred megabytes cost no more
//! memory than eight. Each piece is redacted before anything else looks at it, but for a count that is thrown away if that
//! changed something. A position here is one in the agent's own
//! file, unless it says that it is one in the stored transcript; between the two, lines correspond one to one.

mod ahead;
mod piece;
mod resume;
mod store;

use std::fs::File;
use std::hash::Hasher as _;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use self::ahead::Ready;
pub use self::ahead::{Ahead, Known};
pub use self::piece::MAX_LINE_BYTES;
use self::piece::{Lines, PIECE_BYTES, Piece, ReadSeek};
use super::state::{Base, Head, Mark, Progress};
use crate::agent::{Agent, Anchor, Parser, Rendered, Wanted};
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::redact::Redactor;
use crate::transcript::{Part, SessionKey, Tally, complete_lines};

/// How much is read at once where only a digest or a count is wanted: little enough to stay in the processor's cache.
const STEP_BYTES: usize = 64 << 10;
/// How much of a tool's answer is looked at.
const ANSWER_CHARS: usize = 256;
/// The largest document that is made lines of.
const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// What redacts, or why nothing can: then nothing is stored either.
pub type Redaction = Arc<Result<Redactor>>;

/// Where a tool's answer stands in a transcript.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The tool call.
    pub call_id: String,
    /// The end of its line.
    pub end: u64,
    /// The beginning of what the tool answered.
    pub text: String,
}

/// What a stretch of a transcript holds.
#[derive(Default)]
pub struct Survey {
    /// Counts, prompts, edited paths.
    pub tally: Tally,
    /// The answers of tools.
    pub answers: Vec<Answer>,
    /// How far it goes: a key in plain text whose end is not there yet is left for the next time.
    pub until: u64,
}

impl Survey {
    /// Counts a piece too, which follows.
    fn add(&mut self, piece: &Piece, parser: &mut dyn Parser) {
        for part in in_parts(piece.redacted()) {
            let messages = parser.parse(&piece.redacted()[part.clone()]);
            self.tally.add(&messages);
            for message in &messages {
                self.answers.extend(message.parts.iter().filter_map(|each| match each {
                    Part::ToolResult(result) => Some(Answer {
                        call_id: result.call_id.clone(),
                        end: piece.position(part.start + message.span.end),
                        text: beginning(&result.text).to_owned(),
                    }),
                    _ => None,
                }));
            }
        }
        self.until = piece.end();
    }
}

/// A transcript laid beside what the archive has of it.
pub struct Reading<'a> {
    agent: &'a dyn Agent,
    key: SessionKey,
    lines: Lines,
    /// Whether the stored part of the agent's file is byte for byte what it was, or passes for that as long as nothing is
    /// proved: positions in it still hold then.
    is_same: bool,
    /// The segment that new bytes follow.
    parent: Option<ObjectId>,
    /// The length of the stored transcript at that segment.
    parent_bytes: u64,
    /// How far the transcript is stored, and still the same.
    kept: u64,
    /// The same, in the stored transcript; less than `parent_bytes` after a rewrite.
    kept_bytes: u64,
    /// Of the stored transcript.
    digest: Sha256,
    /// Of the agent's file, from `base` on.
    check: XxHash3_64,
    /// When it was captured, if that is not now.
    time: Option<Time>,
    /// Whether the lines were made of a document.
    is_document: bool,
    /// Where the lines about a document's list end, if it can be gone on with from there.
    list_end: Option<u64>,
    /// From where the next reading of this document can go on, once it is stored.
    anchor: Option<Anchor>,
    /// What still finds that out; until then the stored beginning passes for what it was.
    proof: Option<Known>,
    /// Whether it was found out that it is not.
    is_disproved: bool,
    /// Whether nobody does: the beginning was not looked at.
    is_granted: bool,
    /// The length of the stored lines about the list, once they are written.
    list_bytes: Option<u64>,
    /// The beginning of it that need not be read again, where there is one.
    base: Option<Base>,
    /// The length of the stored transcript where what was read begins.
    start_bytes: u64,
    /// The beginnings of it that are remembered; see [`Progress::heads`].
    heads: Vec<Head>,
    /// What is known ahead.
    known: Option<Known>,
    /// What was redacted ahead.
    ready: Option<Ready>,
    /// What was counted ahead, from where and to where.
    counted: Option<(u64, u64, Survey)>,
}

impl<'a> Reading<'a> {
    /// Opens a transcript and finds out how much of it is stored.
    ///
    /// Normally the agent appended: the stored part is run through XXH3 once and compared with what `progress` says. Of a
    /// document that another thread reads, what is `known`, that comes last: see [`Reading::prove`].
    /// If it was rewritten, or `progress` was lost, the archive is read and the longest common beginning that ends
    /// at a line end counts as stored. A file that is gone reads as what the archive has of it.
    ///
    /// # Errors
    ///
    /// If neither the file nor the archive has anything, or reading fails.
    pub fn open(
        archive: &Archive<'_>,
        agent: &'a dyn Agent,
        key: &SessionKey,
        redaction: &Redaction,
        progress: &Progress,
        transcript: &Path,
        known: Option<Known>,
    ) -> Result<Self> {
        let is_document = agent.is_rendered(transcript);
        if is_document && transcript.metadata().is_ok_and(|metadata| metadata.len() > MAX_DOCUMENT_BYTES) {
            // It is not gone: what is archived must not pass for all of it.
            return Err(Error::other(format!("the transcript '{}' is too large", transcript.display())));
        }
        let opened = match is_document {
            true => Self::of_document(agent, key, redaction, transcript, progress, known),
            false => Self::of_file(agent, key, redaction, transcript, known),
        };
        let mut reading = match opened {
            Ok(reading) => reading,
            Err(error) => {
                let stored = parse_id(progress.stored.segment.as_deref()).ok_or(error)?;
                let bytes = archive.transcript(stored).bytes();
                return Self::of_bytes(archive, agent, key, redaction, progress, bytes);
            }
        };
        if reading.resume(progress)? {
            return Ok(reading);
        }
        if reading.base.is_some() {
            // Its beginning is needed after all.
            reading = Self::of_document(agent, key, redaction, transcript, &Progress::default(), None)?;
        }
        reading.compare(archive, progress)?;
        Ok(reading)
    }

    fn of_file(
        agent: &'a dyn Agent,
        key: &SessionKey,
        redaction: &Redaction,
        transcript: &Path,
        known: Option<Known>,
    ) -> Result<Self> {
        let source: Box<dyn ReadSeek> = match known.as_ref().and_then(Known::source) {
            Some(source) => Box::new(source),
            None => Box::new(open_file(transcript)?),
        };
        let reading = Self::of_lines(agent, key, Lines::new(source, 0, redaction)?);
        Ok(Reading { known, ..reading })
    }

    /// Reads a document; its stored beginning only to see whether it is the same, if commits have all of that.
    fn of_document(
        agent: &'a dyn Agent,
        key: &SessionKey,
        redaction: &Redaction,
        transcript: &Path,
        progress: &Progress,
        known: Option<Known>,
    ) -> Result<Self> {
        let continued = progress.continued_base();
        let ahead = continued.and_then(|base| Some((base, known.as_ref()?.rest(base)?)));
        let (source, rendered, list_end, known): (Box<dyn ReadSeek>, _, _, _) = match ahead {
            Some((base, new)) => {
                let (skipped, is_granted) = (base.anchor.lines, new.is_granted);
                let rendered = Rendered { skipped, holds: true, is_granted, ..Rendered::default() };
                (Box::new(Cursor::new(new.lines.clone())), rendered, Some(new.list_end), known)
            }
            None => {
                let anchor = progress.base.as_ref().map(|base| &base.anchor);
                let wanted = if continued.is_some() { Wanted::Rest } else { Wanted::Whole };
                let mut rendered = agent.read_on(transcript, anchor, wanted)?;
                let list_end = rendered.anchor.as_ref().map(|anchor| anchor.lines);
                (Box::new(Cursor::new(std::mem::take(&mut rendered.lines))), rendered, list_end, None)
            }
        };
        let base = progress.base.clone().filter(|_| rendered.holds);
        let lines = Lines::new(source, rendered.skipped, redaction)?;
        let reading = Self::of_lines(agent, key, lines);
        let start_bytes = base.as_ref().filter(|_| reading.lines.start() > 0).map_or(0, |base| base.bytes);
        let Rendered { anchor, is_granted, .. } = rendered;
        Ok(Reading { is_document: true, list_end, anchor, is_granted, base, start_bytes, known, ..reading })
    }

    /// Does the same for a transcript in memory.
    ///
    /// # Errors
    ///
    /// As [`Reading::open`].
    pub fn of_bytes(
        archive: &Archive<'_>,
        agent: &'a dyn Agent,
        key: &SessionKey,
        redaction: &Redaction,
        progress: &Progress,
        bytes: Vec<u8>,
    ) -> Result<Self> {
        let mut reading = Self::of_lines(agent, key, Lines::new(Box::new(Cursor::new(bytes)), 0, redaction)?);
        if !reading.resume(progress)? {
            reading.compare(archive, progress)?;
        }
        Ok(reading)
    }

    fn of_lines(agent: &'a dyn Agent, key: &SessionKey, lines: Lines) -> Self {
        Reading {
            agent,
            key: key.clone(),
            lines,
            is_same: false,
            parent: None,
            parent_bytes: 0,
            kept: 0,
            kept_bytes: 0,
            digest: Sha256::new(),
            check: XxHash3_64::new(),
            time: None,
            is_document: false,
            list_end: None,
            anchor: None,
            proof: None,
            is_disproved: false,
            is_granted: false,
            list_bytes: None,
            base: None,
            start_bytes: 0,
            heads: Vec::new(),
            known: None,
            ready: None,
            counted: None,
        }
    }

    /// Returns a piece; see [`Lines::piece`].
    fn piece(&mut self, from: u64, to: u64, target: usize) -> Result<Arc<Piece>> {
        match &self.ready {
            Some(ready) if ready.piece.is(from, to) => Ok(Arc::clone(&ready.piece)),
            _ => self.lines.piece(from, to, target),
        }
    }

    /// Returns where in the agent's file a line end of the stored transcript is, if it is not beyond what is kept.
    ///
    /// Costs nothing where it is known; else everything before it is redacted once more.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn position(&mut self, mark: &Mark) -> Result<u64> {
        if mark.bytes >= self.kept_bytes {
            return Ok(self.kept);
        }
        if let Some(raw) = mark.raw.filter(|raw| self.is_same && *raw <= self.kept) {
            return Ok(raw);
        }
        let is_read = self.start_bytes <= mark.bytes;
        let (mut position, mut stored) = if is_read { (self.lines.start(), self.start_bytes) } else { (0, 0) };
        while stored < mark.bytes {
            let piece = self.piece(position, self.kept, PIECE_BYTES)?;
            let left = usize::try_from(mark.bytes - stored).unwrap_or(usize::MAX);
            if left <= piece.redacted().len() || piece.is_empty() {
                return Ok(piece.position(left.min(piece.redacted().len())));
            }
            position = piece.end();
            stored += piece.redacted().len() as u64;
        }
        Ok(position)
    }

    /// Returns the end of the last complete line.
    pub fn end(&self) -> u64 {
        self.lines.end()
    }

    /// Returns the segment that what is new follows.
    pub fn parent(&self) -> Option<ObjectId> {
        self.parent
    }

    /// Returns how far it is stored and still the same.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Returns the same as a length of the stored transcript.
    pub fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    /// Counts what stands between two line ends.
    ///
    /// Without a redactor the agent's own words are counted: nothing of them will be stored.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn survey(&mut self, from: u64, to: u64) -> Result<Survey> {
        if let Some((_, _, counted)) = self.counted.take().filter(|(start, end, _)| (*start, *end) == (from, to)) {
            return Ok(counted);
        }
        let mut survey = Survey { until: from, ..Survey::default() };
        let mut parser = self.agent.parser();
        while survey.until < to {
            let piece = self.piece(survey.until, to, PIECE_BYTES)?;
            if piece.is_empty() {
                break;
            }
            survey.add(&piece, &mut *parser);
        }
        Ok(survey)
    }

    /// Returns what stands between two positions, as it is to be stored.
    ///
    /// # Errors
    ///
    /// If reading fails, or nothing can be redacted.
    pub fn bytes(&mut self, from: u64, to: u64) -> Result<Vec<u8>> {
        self.lines.can_redact()?;
        let (mut bytes, mut position) = (Vec::new(), from);
        while position < to {
            let piece = self.piece(position, to, PIECE_BYTES)?;
            if piece.is_empty() {
                break;
            }
            bytes.extend_from_slice(piece.redacted());
            position = piece.end();
        }
        Ok(bytes)
    }
}

/// Cuts lines into parts that are parsed one after the other: the messages of one take as much memory as its text.
fn in_parts(lines: &[u8]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let near = lines.len().min(start + STEP_BYTES);
        let end = match complete_lines(&lines[start..near]) {
            0 => lines[near..].iter().position(|byte| *byte == b'\n').map_or(lines.len(), |rest| near + rest + 1),
            length => start + length,
        };
        parts.push(start..end);
        start = end;
    }
    parts
}

fn cannot_redact(error: &Error) -> Error {
    Error::new(error.kind(), "cannot redact secrets").because(error.to_string())
}

/// Returns the first characters of a text.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(ANSWER_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// Opens a file of lines.
fn open_file(transcript: &Path) -> Result<File> {
    // A pipe that somebody put there would keep us waiting for whoever writes to it.
    let opened = transcript.metadata().and_then(|metadata| match metadata.is_file() {
        true => File::open(transcript),
        false => Err(std::io::Error::other("it is not a file")),
    });
    opened.map_err(|error| Error::io("read the transcript", transcript, error))
}

fn hex_of(check: &XxHash3_64) -> String {
    format!("{:016x}", check.finish())
}

fn parse_id(hex: Option<&str>) -> Option<ObjectId> {
    ObjectId::from_hex(hex?.as_bytes()).ok()
}
