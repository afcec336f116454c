//! Capturing: what a transcript says beyond what the archive has, and putting it there.
//!
//! Read [`Reading::open`]. A transcript is read from its file in pieces, so that two hundred megabytes cost no more
//! memory than eight. Each piece is redacted before anything else looks at it. A position here is one in the agent's own
//! file, unless it says that it is one in the stored transcript; between the two, lines correspond one to one.

mod ahead;
mod piece;

use std::fs::File;
use std::hash::Hasher as _;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

pub use self::ahead::{Ahead, Known};
use self::ahead::{NewLines, Ready};
pub use self::piece::MAX_LINE_BYTES;
use self::piece::{Lines, PIECE_BYTES, Piece, ReadSeek};
use super::state::{Base, Head, Mark, Progress};
use crate::agent::{Agent, Anchor, Rendered, Wanted};
use crate::archive::segment::{self, TARGET_BYTES};
use crate::archive::{Archive, Header, hex};
use crate::error::{Error, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::redact::Redactor;
use crate::transcript::{Part, SessionKey, Tally, complete_lines, without_last_line};

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

/// A transcript laid beside what the archive has of it.
pub struct Reading<'a> {
    agent: &'a dyn Agent,
    key: SessionKey,
    lines: Lines,
    /// Whether the stored part of the agent's file is byte for byte what it was: positions in it still hold then.
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
    /// Whether nobody does: the beginning was not looked at.
    is_granted: bool,
    /// The length of the stored lines about the list, once they are written.
    list_bytes: Option<u64>,
    /// The beginning of it that need not be read again, where there is one.
    base: Option<Base>,
    /// The length of the stored transcript where what was read begins.
    start_bytes: u64,
    /// What was written last without its last line.
    head: Option<Head>,
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
    /// Normally the agent appended: the stored part is run through XXH3 once and compared with what `progress` says.
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
        let rest = continued.and_then(|base| {
            let NewLines { lines, list_end, is_granted } = known.as_ref()?.rest(base)?;
            Some((
                Rendered { skipped: base.anchor.lines, lines, holds: true, anchor: None, is_granted },
                Some(list_end),
            ))
        });
        let (mut rendered, list_end, known) = match rest {
            Some((rest, list_end)) => (rest, list_end, known),
            None => {
                let anchor = progress.base.as_ref().map(|base| &base.anchor);
                let wanted = if continued.is_some() { Wanted::Rest } else { Wanted::Whole };
                let rendered = agent.read_on(transcript, anchor, wanted)?;
                let list_end = rendered.anchor.as_ref().map(|anchor| anchor.lines);
                (rendered, list_end, None)
            }
        };
        let base = progress.base.clone().filter(|_| rendered.holds);
        let lines =
            Lines::new(Box::new(Cursor::new(std::mem::take(&mut rendered.lines))), rendered.skipped, redaction)?;
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
            is_granted: false,
            list_bytes: None,
            base: None,
            start_bytes: 0,
            head: None,
            known: None,
            ready: None,
            counted: None,
        }
    }

    /// Takes up where `progress` says, if the stored part of the agent's file is still the same.
    fn resume(&mut self, progress: &Progress) -> Result<bool> {
        let (Some(check), Some(digest), Some(raw)) = (&progress.check, &progress.digest, progress.stored.raw) else {
            return Ok(false);
        };
        if self.base != progress.base {
            return Ok(false);
        }
        if self.is_document
            && let Some(known) = self.known.take()
        {
            self.count_ahead(&known, self.lines.start(), progress)?;
            self.proof = Some(known);
        }
        let whole = Head { bytes: progress.stored.bytes, raw, digest: digest.clone(), check: check.clone() };
        for head in [Some(&whole), progress.head.as_ref()].into_iter().flatten() {
            if self.resume_at(head, progress)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn resume_at(&mut self, head: &Head, progress: &Progress) -> Result<bool> {
        let parent = parse_id(progress.stored.segment.as_deref());
        // Of what was removed for good nothing may be left, and yet it counts as stored.
        let has_parent = parent.is_some() || (head.bytes == 0 && head.raw > 0);
        let start = self.base.as_ref().map_or(0, |base| base.anchor.lines);
        let is_there = (start..=self.end()).contains(&head.raw);
        let (Some(digest), true, true) = (restore_digest(&head.digest), has_parent, is_there) else {
            return Ok(false);
        };
        let known = self.known.take();
        if let Some(known) = &known {
            self.count_ahead(known, head.raw, progress)?;
        }
        let seen = match known.and_then(|known| known.digest(head.raw)) {
            Some(seen) => seen,
            None => {
                let mut seen = XxHash3_64::new();
                self.lines.each_step(start, head.raw, |bytes| seen.write(bytes))?;
                seen
            }
        };
        if hex_of(&seen) != head.check {
            if !self.is_document {
                (self.ready, self.counted) = (None, None);
            }
            return Ok(false);
        }
        (self.check, self.digest, self.parent, self.is_same) = (seen, digest, parent, true);
        (self.kept, self.kept_bytes, self.parent_bytes) = (head.raw, head.bytes, progress.stored.bytes);
        Ok(true)
    }

    /// Counts what most likely will be asked for, while the other thread looks at what is stored.
    fn count_ahead(&mut self, known: &Known, from: u64, progress: &Progress) -> Result<()> {
        self.ready = known.piece();
        let to = self.end();
        if progress.recorded.raw >= Some(from) && from < to {
            self.counted = Some((from, to, self.survey(from, to)?));
        }
        Ok(())
    }

    /// Finds the longest common beginning with what the archive has. Without a redactor that cannot be told, nor is
    /// anything stored then.
    fn compare(&mut self, archive: &Archive<'_>, progress: &Progress) -> Result<()> {
        if self.lines.can_redact().is_err() {
            return Ok(());
        }
        let known = parse_id(progress.stored.segment.as_deref());
        let Some(newest) = known.map_or_else(|| archive.newest(&self.key), |id| Ok(Some(id)))? else { return Ok(()) };
        self.parent = Some(newest);
        self.parent_bytes = archive.header(newest)?.total_bytes();
        let stored = archive.transcript(newest);
        // Across a gap nothing can be compared; what comes then is stored anew, from the beginning.
        let stored = if stored.problems.is_empty() { stored.bytes() } else { Vec::new() };
        let mut rest = &stored[..];
        while self.kept < self.end() {
            let piece = self.piece(self.kept, self.end(), PIECE_BYTES)?;
            let redacted = piece.redacted();
            let common = redacted.iter().zip(rest).take_while(|(a, b)| a == b).count();
            let kept = complete_lines(&redacted[..common]);
            let position = piece.position(kept);
            self.digest.update(&redacted[..kept]);
            self.check.write(&piece.lines()[..(position - self.kept) as usize]);
            self.kept = position;
            self.kept_bytes += kept as u64;
            rest = &rest[kept..];
            if kept < redacted.len() || piece.is_empty() {
                break;
            }
        }
        Ok(())
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
            for part in in_parts(piece.redacted()) {
                let messages = parser.parse(&piece.redacted()[part.clone()]);
                survey.tally.add(&messages);
                for message in &messages {
                    survey.answers.extend(message.parts.iter().filter_map(|each| match each {
                        Part::ToolResult(result) => Some(Answer {
                            call_id: result.call_id.clone(),
                            end: piece.position(part.start + message.span.end),
                            text: beginning(&result.text).to_owned(),
                        }),
                        _ => None,
                    }));
                }
            }
            survey.until = piece.end();
        }
        Ok(survey)
    }

    /// Stores everything up to the line end at `until` and brings `progress` up to date.
    ///
    /// New text of more than 8 MiB becomes several segments.
    ///
    /// # Errors
    ///
    /// As [`Archive::add`]; `progress` is then unchanged.
    pub fn store(
        &mut self,
        archive: &Archive<'_>,
        progress: &mut Progress,
        until: u64,
        deadline: Instant,
    ) -> Result<()> {
        let segment_ids = self.write(archive, until)?;
        if !segment_ids.is_empty() {
            archive.add(&self.key, &segment_ids, deadline)?;
        }
        self.update(progress);
        Ok(())
    }

    /// Sets when the transcript was captured, for what was captured long ago.
    pub fn captured_at(self, time: Time) -> Self {
        Reading { time: Some(time), ..self }
    }

    /// Writes segments with everything up to the line end at `until`, and returns them: nothing reaches them yet.
    ///
    /// # Errors
    ///
    /// As [`Archive::write`], or if nothing can be redacted.
    pub fn write(&mut self, archive: &Archive<'_>, until: u64) -> Result<Vec<ObjectId>> {
        self.lines.can_redact()?;
        let mut segment_ids = Vec::new();
        while self.kept < until {
            let piece = self.piece(self.kept, until, TARGET_BYTES)?;
            let body = piece.redacted();
            if piece.is_empty() {
                break;
            }
            let list_end = self.list_end.filter(|_| self.list_bytes.is_none());
            let is_last = piece.end() == until && self.is_document;
            let known = list_end.filter(|end| is_last && (self.kept..=until).contains(end));
            let known = known.and_then(|end| Some((piece.offset(end)?, (end - self.kept) as usize)));
            let (head, raw) = match known {
                Some(known) => known,
                None if is_last => (without_last_line(body), without_last_line(piece.lines())),
                None => (0, 0),
            };
            self.digest.update(&body[..head]);
            self.check.write(&piece.lines()[..raw]);
            if list_end == Some(self.kept + raw as u64) {
                self.list_bytes = Some(self.kept_bytes + head as u64);
                self.check = XxHash3_64::new();
            }
            self.head = self.is_document.then(|| Head {
                bytes: self.kept_bytes + head as u64,
                raw: self.kept + raw as u64,
                digest: hex(&self.digest.serialize()),
                check: hex_of(&self.check),
            });
            self.digest.update(&body[head..]);
            self.check.write(&piece.lines()[raw..]);
            let ready = self.ready.take().filter(|ready| Arc::ptr_eq(&ready.piece, &piece));
            let frame = ready.and_then(Ready::frame).map_or_else(|| segment::compress(body), Ok)?;
            let segment_id = archive.write_frame(&self.header(body.len() as u64), &frame)?;
            segment_ids.push(segment_id);
            self.parent = Some(segment_id);
            self.kept = piece.end();
            self.kept_bytes += body.len() as u64;
            self.parent_bytes = self.kept_bytes;
        }
        Ok(segment_ids)
    }

    /// Makes the transcript end where it is kept, though what is stored goes on: with the segment of the chain that
    /// ends there, or a new one without bytes, which is returned. Does nothing if nothing else is stored.
    ///
    /// # Errors
    ///
    /// As [`Archive::write`].
    pub fn cut(&mut self, archive: &Archive<'_>) -> Result<Option<ObjectId>> {
        let Some(parent) = self.parent.filter(|_| self.kept_bytes < self.parent_bytes) else { return Ok(None) };
        let header = self.header(0);
        let (links, _) = archive.chain(parent, None);
        let ends_here = |link: &&crate::archive::Link| {
            link.header.total_bytes() == self.kept_bytes && link.header.sha256 == header.sha256
        };
        let known = links.iter().find(ends_here).map(|link| link.segment_id);
        let new = if known.is_none() { Some(archive.write(&header, b"")?) } else { None };
        self.parent = known.or(new);
        self.parent_bytes = self.kept_bytes;
        Ok(new)
    }

    /// Returns the header of a segment that adds so many bytes to what is kept; they are in the digest already.
    fn header(&self, bytes: u64) -> Header {
        Header {
            shiftlog: 1,
            agent: self.key.agent.clone(),
            session: self.key.id.clone(),
            parent: self.parent.map(|id| id.to_string()),
            keep: self.kept_bytes,
            bytes,
            sha256: hex(&self.digest.clone().finalize()),
            time: self.time.unwrap_or_else(Time::now).to_rfc3339(),
        }
    }

    /// Brings `progress` up to date with what is written.
    pub fn update(&self, progress: &mut Progress) {
        let is_level = self.kept_bytes == self.parent_bytes;
        let segment = self.parent.map(|id| id.to_string());
        // What was known is about what was stored.
        if segment != progress.stored.segment {
            progress.head.clone_from(&self.head);
        }
        progress.stored = Mark { segment, bytes: self.parent_bytes, raw: is_level.then_some(self.kept) };
        progress.digest = is_level.then(|| hex(&self.digest.serialize()));
        progress.check = is_level.then(|| hex_of(&self.check));
        let base = match self.list_bytes {
            Some(bytes) => self.anchor.clone().map(|anchor| Base { bytes, anchor }),
            None => self.base.clone(),
        };
        progress.base = base.filter(|_| is_level);
    }

    /// Says whether a document was taken to begin as it did, without a look.
    pub fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Waits until it is known whether a document begins as it did when that was stored, and brings `progress` up to date
    /// with it. If it does not, what is stored and recorded is another document: it is to be read anew, and `false` is
    /// returned.
    pub fn settle(&mut self, progress: &mut Progress) -> bool {
        let Some(known) = self.proof.take() else { return true };
        self.anchor = known.anchor();
        if self.anchor.is_some() {
            if self.list_bytes.is_some() {
                self.update(progress);
            }
            return true;
        }
        (progress.check, progress.digest, progress.head, progress.base) = (None, None, None, None);
        progress.stamp = None;
        false
    }

    /// Returns the SHA-256, in hex, of the transcript as it is stored.
    ///
    /// # Errors
    ///
    /// If the archive's newest segment cannot be read, which only matters after the agent cut its file short.
    pub fn stored_sha256(&self, archive: &Archive<'_>) -> Result<String> {
        match self.parent.filter(|_| self.kept_bytes != self.parent_bytes) {
            Some(parent) => Ok(archive.header(parent)?.sha256),
            None => Ok(hex(&self.digest.clone().finalize())),
        }
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

fn restore_digest(hex: &str) -> Option<Sha256> {
    let digits = hex.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    Sha256::deserialize(bytes?.as_slice().try_into().ok()?).ok()
}
