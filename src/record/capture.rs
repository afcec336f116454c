//! Capturing: what a transcript says beyond what the archive has, and putting it there.
//!
//! Read [`Reading::open`]. A transcript is read from its file in pieces, so that two hundred megabytes cost no more
//! memory than eight. Each piece is redacted before anything else looks at it. A position here is one in the agent's own
//! file, unless it says that it is one in the stored transcript; between the two, lines correspond one to one.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use xxhash_rust::xxh3::Xxh3Default;

use super::state::{Mark, Progress};
use crate::agent::Agent;
use crate::archive::segment::TARGET_BYTES;
use crate::archive::{Archive, Header, hex};
use crate::error::{Error, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::redact::Redactor;
use crate::transcript::{Part, SessionKey, Tally, complete_lines};

/// How much is read at once where only a digest or a count is wanted: little enough to stay in the processor's cache.
const STEP_BYTES: usize = 64 << 10;
/// How much is redacted at once; more than a key in plain text can have.
const PIECE_BYTES: usize = 256 << 10;
/// From this length on the stored part is checked by a second thread.
const MIN_SHARED_BYTES: u64 = 512 << 10;

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// What redacts, or why nothing can: then nothing is stored either.
pub type Redaction = Rc<Result<Redactor>>;

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
    source: Box<dyn ReadSeek>,
    redaction: Redaction,
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
    /// Of the agent's file.
    check: Xxh3Default,
    /// The end of the last complete line.
    end: u64,
    /// What was surveyed while the stored part was checked: from where, and what.
    ahead: Option<(u64, Survey)>,
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
    ) -> Result<Self> {
        match File::open(transcript) {
            Ok(file) => {
                let mut reading = Self::of_source(agent, key, redaction, Box::new(file))?;
                if !reading.resume(progress, Some(transcript))? {
                    reading.compare(archive, progress)?;
                }
                Ok(reading)
            }
            Err(error) => {
                let Some(stored) = parse_id(progress.stored.segment.as_deref()) else {
                    return Err(Error::io("read the transcript", transcript, error));
                };
                let bytes = archive.transcript(stored).bytes();
                Self::of_bytes(archive, agent, key, redaction, progress, bytes)
            }
        }
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
        let mut reading = Self::of_source(agent, key, redaction, Box::new(Cursor::new(bytes)))?;
        if !reading.resume(progress, None)? {
            reading.compare(archive, progress)?;
        }
        Ok(reading)
    }

    fn of_source(
        agent: &'a dyn Agent,
        key: &SessionKey,
        redaction: &Redaction,
        source: Box<dyn ReadSeek>,
    ) -> Result<Self> {
        let mut reading = Reading {
            agent,
            key: key.clone(),
            source,
            redaction: Rc::clone(redaction),
            parent: None,
            parent_bytes: 0,
            kept: 0,
            kept_bytes: 0,
            digest: Sha256::new(),
            check: Xxh3Default::new(),
            end: 0,
            ahead: None,
        };
        let length = reading.source.seek(SeekFrom::End(0)).map_err(unreadable)?;
        reading.end = reading.last_line_end(length)?;
        Ok(reading)
    }

    /// Takes up where `progress` says, if the stored part of the agent's file is still the same.
    ///
    /// With a `path` and enough to check, a second thread does that while this one surveys what is new.
    fn resume(&mut self, progress: &Progress, path: Option<&Path>) -> Result<bool> {
        let (Some(check), Some(digest), Some(raw)) = (&progress.check, &progress.digest, progress.stored.raw) else {
            return Ok(false);
        };
        let parent = parse_id(progress.stored.segment.as_deref());
        let (Some(digest), Some(parent), true) = (restore_digest(digest), parent, self.end >= raw) else {
            return Ok(false);
        };
        let seen = match (path, progress.recorded.raw) {
            (Some(path), Some(recorded)) if raw >= MIN_SHARED_BYTES => std::thread::scope(|scope| {
                let check = scope.spawn(|| {
                    let mut file = File::open(path).map_err(unreadable)?;
                    check_of(&mut file, raw)
                });
                let survey = self.survey(recorded, self.end)?;
                self.ahead = Some((recorded, survey));
                check.join().unwrap_or_else(|_| Err(Error::other("cannot read the transcript: a thread ended early")))
            })?,
            _ => check_of(&mut self.source, raw)?,
        };
        if format!("{:016x}", seen.digest()) != *check {
            self.ahead = None;
            return Ok(false);
        }
        (self.check, self.digest, self.parent) = (seen, digest, Some(parent));
        (self.kept, self.kept_bytes, self.parent_bytes) = (raw, progress.stored.bytes, progress.stored.bytes);
        Ok(true)
    }

    /// Finds the longest common beginning with what the archive has. Without a redactor that cannot be told, nor is
    /// anything stored then.
    fn compare(&mut self, archive: &Archive<'_>, progress: &Progress) -> Result<()> {
        if self.redaction.is_err() {
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
        while self.kept < self.end {
            let (lines, redacted) = self.piece(self.kept, self.end)?;
            let common = redacted.iter().zip(rest).take_while(|(a, b)| a == b).count();
            let kept = complete_lines(&redacted[..common]);
            let kept_raw = raw_offset(&lines, &redacted, kept);
            self.digest.update(&redacted[..kept]);
            self.check.update(&lines[..kept_raw]);
            self.kept += kept_raw as u64;
            self.kept_bytes += kept as u64;
            rest = &rest[kept..];
            if kept < redacted.len() || lines.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Returns about `PIECE_BYTES` of whole lines from `from` on, as they are and as they are to be stored. Lines that
    /// must wait for more are left out; if nothing is left, both are empty.
    fn piece(&mut self, from: u64, to: u64) -> Result<(Vec<u8>, Vec<u8>)> {
        let mut lines = self.lines_at(from, to, PIECE_BYTES)?;
        let (redacted, dealt) = self.redacted(&lines)?;
        lines.truncate(dealt);
        let redacted = redacted.unwrap_or_else(|| lines.clone());
        Ok((lines, redacted))
    }

    /// Redacts lines: `None` if nothing has changed, and how many bytes of them are dealt with.
    fn redacted(&self, lines: &[u8]) -> Result<(Option<Vec<u8>>, usize)> {
        let redactor = self.redaction.as_ref().as_ref().map_err(cannot_redact)?;
        let (redacted, dealt) = redactor.redact(lines);
        Ok(match redacted {
            std::borrow::Cow::Borrowed(_) => (None, dealt),
            std::borrow::Cow::Owned(redacted) => (Some(redacted), dealt),
        })
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
        if let Some(raw) = mark.raw.filter(|raw| *raw <= self.kept) {
            return Ok(raw);
        }
        let (mut raw, mut stored) = (0, 0);
        while stored < mark.bytes {
            let (lines, redacted) = self.piece(raw, self.kept)?;
            let left = usize::try_from(mark.bytes - stored).unwrap_or(usize::MAX);
            if left <= redacted.len() || lines.is_empty() {
                return Ok(raw + raw_offset(&lines, &redacted, left.min(redacted.len())) as u64);
            }
            raw += lines.len() as u64;
            stored += redacted.len() as u64;
        }
        Ok(raw)
    }

    /// Returns the end of the last complete line.
    pub fn end(&self) -> u64 {
        self.end
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
        if let Some((_, survey)) = self.ahead.take_if(|(start, survey)| *start == from && survey.until == to) {
            return Ok(survey);
        }
        let mut survey = Survey { until: from, ..Survey::default() };
        while survey.until < to {
            let mut lines = self.lines_at(survey.until, to, STEP_BYTES)?;
            let mut changed = None;
            if self.redaction.is_ok() {
                let (redacted, mut dealt) = self.redacted(&lines)?;
                changed = redacted;
                if dealt == 0 {
                    (lines, changed) = self.piece(survey.until, to).map(|(lines, redacted)| (lines, Some(redacted)))?;
                    dealt = lines.len();
                }
                lines.truncate(dealt);
            }
            if lines.is_empty() {
                break;
            }
            let text = changed.as_deref().unwrap_or(&lines);
            let messages = self.agent.parse(text);
            survey.tally.add(&messages);
            for message in &messages {
                let end = || match changed.as_deref() {
                    Some(text) => survey.until + raw_offset(&lines, text, message.span.end) as u64,
                    None => survey.until + message.span.end as u64,
                };
                survey.answers.extend(message.parts.iter().filter_map(|part| match part {
                    Part::ToolResult(result) => Some(Answer {
                        call_id: result.call_id.clone(),
                        end: end(),
                        text: result.text.chars().take(256).collect(),
                    }),
                    _ => None,
                }));
            }
            survey.until += lines.len() as u64;
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
        let mut segment_ids = Vec::new();
        while self.kept < until {
            let lines = self.lines_at(self.kept, until, TARGET_BYTES)?;
            let (changed, dealt) = self.redacted(&lines)?;
            let body = changed.as_deref().unwrap_or(&lines[..dealt]);
            if dealt == 0 {
                break;
            }
            self.digest.update(body);
            self.check.update(&lines[..dealt]);
            let header = Header {
                shiftlog: 1,
                agent: self.key.agent.clone(),
                session: self.key.id.clone(),
                parent: self.parent.map(|id| id.to_string()),
                keep: self.kept_bytes,
                bytes: body.len() as u64,
                sha256: hex(&self.digest.clone().finalize()),
                time: Time::now().to_rfc3339(),
            };
            let segment_id = archive.write(&header, body)?;
            segment_ids.push(segment_id);
            self.parent = Some(segment_id);
            self.kept += dealt as u64;
            self.kept_bytes += body.len() as u64;
            self.parent_bytes = self.kept_bytes;
        }
        if !segment_ids.is_empty() {
            archive.add(&self.key, &segment_ids, deadline)?;
        }
        let is_level = self.kept_bytes == self.parent_bytes;
        progress.stored = Mark {
            segment: self.parent.map(|id| id.to_string()),
            bytes: self.parent_bytes,
            raw: is_level.then_some(self.kept),
        };
        progress.digest = is_level.then(|| hex(&self.digest.serialize()));
        progress.check = is_level.then(|| format!("{:016x}", self.check.digest()));
        Ok(())
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
        let (mut bytes, mut position) = (Vec::new(), from);
        while position < to {
            let (lines, redacted) = self.piece(position, to)?;
            if lines.is_empty() {
                break;
            }
            bytes.extend_from_slice(&redacted);
            position += lines.len() as u64;
        }
        Ok(bytes)
    }

    /// Reads whole lines from `from` on: about `target` bytes, more if one line is longer, never beyond `to`.
    fn lines_at(&mut self, from: u64, to: u64, target: usize) -> Result<Vec<u8>> {
        self.source.seek(SeekFrom::Start(from)).map_err(unreadable)?;
        // Read in one go: a vector that grows by doubling asks the system a dozen times.
        let mut lines = Vec::with_capacity((to.saturating_sub(from)).min(target as u64) as usize + 32);
        loop {
            let wanted = (to - from - lines.len() as u64).min(target as u64);
            let read = self.source.by_ref().take(wanted).read_to_end(&mut lines).map_err(unreadable)?;
            if from + lines.len() as u64 >= to {
                return Ok(lines);
            }
            if read == 0 {
                return Err(Error::other("the transcript became shorter while it was read"));
            }
            // Only what is new is searched: a line can be many times longer than one step.
            let complete = complete_lines(&lines[lines.len() - read..]);
            if complete > 0 {
                lines.truncate(lines.len() - read + complete);
                return Ok(lines);
            }
        }
    }

    fn each_step(&mut self, from: u64, to: u64, mut visit: impl FnMut(&[u8])) -> Result<()> {
        self.source.seek(SeekFrom::Start(from)).map_err(unreadable)?;
        let mut left = to.saturating_sub(from);
        let mut buffer = vec![0; STEP_BYTES.min(left as usize)];
        while left > 0 {
            let wanted = buffer.len().min(left as usize);
            self.source.read_exact(&mut buffer[..wanted]).map_err(unreadable)?;
            visit(&buffer[..wanted]);
            left -= wanted as u64;
        }
        Ok(())
    }

    /// Finds the end of the last complete line before `length`, from the end backwards.
    fn last_line_end(&mut self, length: u64) -> Result<u64> {
        let mut end = length;
        while end > 0 {
            let start = end.saturating_sub(64 * 1024);
            let mut found = 0;
            self.each_step(start, end, |bytes| found = complete_lines(bytes))?;
            if found > 0 {
                return Ok(start + found as u64);
            }
            end = start;
        }
        Ok(0)
    }
}

/// Returns XXH3 of the first bytes of a source.
fn check_of(source: &mut dyn ReadSeek, length: u64) -> Result<Xxh3Default> {
    let mut seen = Xxh3Default::new();
    source.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    let mut buffer = vec![0; STEP_BYTES];
    let mut left = length;
    while left > 0 {
        let wanted = STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES));
        source.read_exact(&mut buffer[..wanted]).map_err(unreadable)?;
        seen.update(&buffer[..wanted]);
        left -= wanted as u64;
    }
    Ok(seen)
}

/// Returns where in `lines` the line ends that ends at `offset` of their redacted form.
fn raw_offset(lines: &[u8], redacted: &[u8], offset: usize) -> usize {
    if lines.len() == redacted.len() && (offset == lines.len() || lines == redacted) {
        return offset;
    }
    let count = redacted[..offset].iter().filter(|byte| **byte == b'\n').count();
    let mut ends = lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    if count == 0 { 0 } else { ends.nth(count - 1).unwrap_or(lines.len()) }
}

fn cannot_redact(error: &Error) -> Error {
    Error::new(error.kind(), "cannot redact secrets").because(error.to_string())
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(crate::error::kind_of_io(&error), "cannot read the transcript").because(error)
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
