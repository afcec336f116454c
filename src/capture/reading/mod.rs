//! Laying a transcript beside what the archive has of it, and storing what is new.
//!
//! Read [`Reading::open`]: it opens the transcript and finds out how much of it is stored (`resume`), [`Reading::survey`]
//! counts what is new, and [`Reading::store`] puts it into the archive. A transcript is read in pieces, so that two hundred
//! megabytes take no more memory than eight, and each piece is redacted before anything else looks at it. A *position* here
//! is one in the agent's own file, unless it is said to be one in the stored transcript; lines correspond one to one.

mod lines;
mod resume;
mod store;

use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use self::lines::{Bounded, Lines, PIECE_BYTES, Piece};
pub use self::lines::{MAX_LINE_BYTES, Source};
use super::state::{Head, Mark, Progress};
use crate::agent::{Agent, Parser};
use crate::archive::Archive;
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::redact::Redactor;
use crate::transcript::{Part, SessionKey, Tally, complete_lines};

/// How many characters of a tool's answer are kept for finding the commit it names.
const ANSWER_CHARS: usize = 256;
/// How much text is parsed at once: the messages of one part take as much memory as its text.
const PARSED_BYTES: usize = 64 << 10;
/// The largest document or database that is converted to lines.
const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// The redactor, or why there is none: then nothing is stored.
pub type Redaction = Rc<Result<Redactor>>;

/// The session whose transcript is read, and what it is read with.
#[derive(Clone, Copy)]
pub struct Subject<'s, 'a> {
    /// Where its words are stored.
    pub archive: &'s Archive<'a>,
    /// Its agent.
    pub agent: &'static dyn Agent,
    /// Its name.
    pub key: &'s SessionKey,
    /// With what its words are redacted.
    pub redaction: &'s Redaction,
    /// When redacting is given up.
    pub deadline: Option<Instant>,
}

/// How much of the agent's file belongs to a capture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Extent {
    /// All complete lines: a last line without a line end is still being written.
    Complete,
    /// Everything: the session is over, so a last line without a line end is complete too.
    Over,
    /// The complete lines before this position.
    Until(u64),
}

/// A tool's answer in a transcript.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The id of the tool call.
    pub call_id: String,
    /// The position behind its line.
    pub end: u64,
    /// The first characters of the answer.
    pub text: String,
}

/// Counts and answers of a stretch of a transcript.
#[derive(Default)]
pub struct Survey {
    /// Counts, prompts, edited paths.
    pub tally: Tally,
    /// The answers of tools, in order.
    pub answers: Vec<Answer>,
    /// The position behind the last line that was counted. A private key whose end is not written yet is left for the
    /// next capture.
    pub until: u64,
}

impl Survey {
    /// Counts the next piece.
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
    agent: &'static dyn Agent,
    key: SessionKey,
    lines: Lines<'a>,
    /// Whether the lines were made of a document or a database, which the agent changes in place.
    is_rendered: bool,
    /// Whether the stored part of the agent's file was found to be byte for byte what it was: positions in it still hold.
    is_same: bool,
    /// The segment that new bytes follow.
    parent: Option<ObjectId>,
    /// The length of the stored transcript at that segment.
    parent_bytes: u64,
    /// The position up to which the transcript is stored and unchanged.
    kept: u64,
    /// The same in the stored transcript; less than `parent_bytes` after the agent rewrote its file.
    kept_bytes: u64,
    /// SHA-256 of the stored transcript up to `kept_bytes`.
    digest: Sha256,
    /// XXH3 of the agent's file up to `kept`.
    check: XxHash3_64,
    /// Line ends near the end of a rendered transcript; see [`Progress::heads`].
    heads: Vec<Head>,
    /// When the transcript was captured, if that is not now.
    time: Option<Time>,
}

impl<'a> Reading<'a> {
    /// Opens a transcript and finds out how much of it is stored.
    ///
    /// Normally the agent appended: XXH3 of the stored part equals what `progress` says. Otherwise, or if `progress` was
    /// lost, the transcript is compared with the archive segment by segment, and the longest common beginning that ends at a
    /// line end counts as stored. If the agent's file is gone, the stored transcript is read in its place.
    ///
    /// # Errors
    ///
    /// If neither the file nor the archive has anything, or reading fails; [`Kind::Busy`] if the deadline passes first.
    pub fn open(subject: Subject<'_, 'a>, progress: &Progress, transcript: &Path, extent: Extent) -> Result<Self> {
        let Subject { archive, agent, .. } = subject;
        let is_rendered = agent.is_rendered(transcript);
        let opened = match is_rendered {
            true => open_rendered(agent, transcript, extent),
            false => open_file(transcript, extent),
        };
        let source: Box<dyn Source + 'a> = match opened {
            Ok(source) => source,
            Err(error) if error.kind() == Kind::Unsupported => return Err(error),
            Err(error) => {
                let stored = parse_id(progress.stored.segment.as_deref()).ok_or(error)?;
                Box::new(archive.open(stored)?)
            }
        };
        let reading = Self::of_source(subject, progress, source)?;
        Ok(Reading { is_rendered, ..reading })
    }

    /// Does the same for a transcript that is not in the agent's file.
    ///
    /// # Errors
    ///
    /// As [`Reading::open`].
    pub fn of_source(subject: Subject<'_, 'a>, progress: &Progress, source: Box<dyn Source + 'a>) -> Result<Self> {
        let Subject { archive, agent, key, redaction, deadline } = subject;
        let mut reading = Reading {
            agent,
            key: key.clone(),
            lines: Lines::new(source, redaction, deadline)?,
            is_rendered: false,
            is_same: false,
            parent: None,
            parent_bytes: 0,
            kept: 0,
            kept_bytes: 0,
            digest: Sha256::new(),
            check: XxHash3_64::new(),
            heads: Vec::new(),
            time: None,
        };
        if !reading.resume(progress)? {
            reading.compare(archive, progress)?;
        }
        Ok(reading)
    }

    /// Does the same for a transcript in memory.
    ///
    /// # Errors
    ///
    /// As [`Reading::open`].
    pub fn of_bytes(subject: Subject<'_, 'a>, progress: &Progress, bytes: Vec<u8>) -> Result<Self> {
        Self::of_source(subject, progress, Box::new(Cursor::new(bytes)))
    }

    /// Returns the position of a line end of the stored transcript that is not beyond what is kept.
    ///
    /// Costs nothing where it is known; otherwise everything before it is redacted once more.
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
        let (mut position, mut stored) = (0, 0);
        while stored < mark.bytes {
            let piece = self.lines.piece(position, self.kept, PIECE_BYTES)?;
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

    /// Returns the segment that new bytes follow.
    pub fn parent(&self) -> Option<ObjectId> {
        self.parent
    }

    /// Returns the position up to which the transcript is stored and unchanged.
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
    /// If reading fails; [`Kind::Busy`] if the deadline passes.
    pub fn survey(&mut self, from: u64, to: u64) -> Result<Survey> {
        let mut survey = Survey { until: from, ..Survey::default() };
        let mut parser = self.agent.parser();
        while survey.until < to {
            let piece = self.lines.piece(survey.until, to, PIECE_BYTES)?;
            if piece.is_empty() {
                break;
            }
            survey.add(&piece, &mut *parser);
        }
        Ok(survey)
    }

    /// Returns what stands between two positions, as it is stored.
    ///
    /// # Errors
    ///
    /// If reading fails, or nothing can be redacted.
    pub fn bytes(&mut self, from: u64, to: u64) -> Result<Vec<u8>> {
        self.lines.can_redact()?;
        let (mut bytes, mut position) = (Vec::new(), from);
        while position < to {
            let piece = self.lines.piece(position, to, PIECE_BYTES)?;
            if piece.is_empty() {
                break;
            }
            bytes.extend_from_slice(piece.redacted());
            position = piece.end();
        }
        Ok(bytes)
    }
}

/// Cuts lines into parts that are parsed one after the other.
fn in_parts(lines: &[u8]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let near = lines.len().min(start + PARSED_BYTES);
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

/// Opens a document or a session of a database as lines.
///
/// # Errors
///
/// If it cannot be read; [`Kind::Unsupported`] if it is too large to be converted to lines: it is not gone, so what is
/// archived must not pass for all of it.
fn open_rendered(agent: &dyn Agent, transcript: &Path, extent: Extent) -> Result<Box<dyn Source>> {
    if transcript.metadata().is_ok_and(|metadata| metadata.len() > MAX_DOCUMENT_BYTES) {
        let message = format!("the transcript '{}' is too large", transcript.display());
        return Err(Error::new(Kind::Unsupported, message));
    }
    let mut lines = agent.read(transcript)?;
    if let Extent::Until(position) = extent {
        lines.truncate(usize::try_from(position).unwrap_or(usize::MAX));
    }
    Ok(Box::new(Cursor::new(lines)))
}

/// Opens a file of lines.
fn open_file(transcript: &Path, extent: Extent) -> Result<Box<dyn Source>> {
    let open = || -> std::io::Result<Box<dyn Source>> {
        let metadata = transcript.metadata()?;
        // A pipe that somebody put there would keep us waiting for whoever writes to it.
        if !metadata.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        let file = File::open(transcript)?;
        let length = metadata.len();
        Ok(match extent {
            Extent::Until(position) if position < length => Box::new(Bounded::new(file, position, b"")),
            Extent::Over if length > 0 => {
                let mut last = [0];
                file.read_exact_at(&mut last, length - 1)?;
                Box::new(Bounded::new(file, length, if last == *b"\n" { b"" } else { b"\n" }))
            }
            _ => Box::new(file),
        })
    };
    open().map_err(|error| Error::io("read the transcript", transcript, error))
}

fn parse_id(hex: Option<&str>) -> Option<ObjectId> {
    ObjectId::from_hex(hex?.as_bytes()).ok()
}
