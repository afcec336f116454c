//! Capturing: what a transcript says beyond what the archive has, and putting it there.
//!
//! Read [`Reading::open`]. A transcript is read from its file in pieces, so that two hundred megabytes cost no more
//! memory than eight.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
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
use crate::transcript::{Part, SessionKey, Tally, complete_lines};

/// How much is read at once where only a digest or a count is wanted: little enough to stay in the processor's cache.
const STEP_BYTES: usize = 64 << 10;

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Where a tool's answer stands in a transcript.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The tool call.
    pub call_id: String,
    /// The end of its line, in bytes of the transcript.
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
}

/// A transcript laid beside what the archive has of it.
pub struct Reading<'a> {
    agent: &'a dyn Agent,
    key: SessionKey,
    source: Box<dyn ReadSeek>,
    /// The segment that new bytes follow.
    parent: Option<ObjectId>,
    /// The length of the transcript at that segment.
    parent_bytes: u64,
    /// How many bytes of the transcript are stored, and still the same; less than `parent_bytes` after a rewrite.
    kept: u64,
    digest: Sha256,
    check: Xxh3Default,
    /// The end of the last complete line.
    end: u64,
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
        progress: &Progress,
        transcript: &Path,
    ) -> Result<Self> {
        match File::open(transcript) {
            Ok(file) => Self::of_source(archive, agent, key, progress, Box::new(file)),
            Err(error) => {
                let Some(stored) = parse_id(progress.stored.segment.as_deref()) else {
                    return Err(Error::io("read the transcript", transcript, error));
                };
                let bytes = archive.transcript(stored).bytes();
                Self::of_source(archive, agent, key, progress, Box::new(Cursor::new(bytes)))
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
        progress: &Progress,
        bytes: Vec<u8>,
    ) -> Result<Self> {
        Self::of_source(archive, agent, key, progress, Box::new(Cursor::new(bytes)))
    }

    fn of_source(
        archive: &Archive<'_>,
        agent: &'a dyn Agent,
        key: &SessionKey,
        progress: &Progress,
        source: Box<dyn ReadSeek>,
    ) -> Result<Self> {
        let mut reading = Reading {
            agent,
            key: key.clone(),
            source,
            parent: None,
            parent_bytes: 0,
            kept: 0,
            digest: Sha256::new(),
            check: Xxh3Default::new(),
            end: 0,
        };
        let length = reading.source.seek(SeekFrom::End(0)).map_err(unreadable)?;
        reading.end = reading.last_line_end(length)?;
        if !reading.resume(progress)? {
            reading.compare(archive, progress)?;
        }
        Ok(reading)
    }

    /// Takes up where `progress` says, if the stored bytes are still the same.
    fn resume(&mut self, progress: &Progress) -> Result<bool> {
        let (Some(check), Some(digest), Some(segment)) = (&progress.check, &progress.digest, &progress.stored.segment)
        else {
            return Ok(false);
        };
        if self.end < progress.stored.bytes {
            return Ok(false);
        }
        let mut seen = Xxh3Default::new();
        self.each_step(0, progress.stored.bytes, |bytes| seen.update(bytes))?;
        let (Some(digest), Some(parent)) = (restore_digest(digest), parse_id(Some(segment))) else { return Ok(false) };
        if format!("{:016x}", seen.digest()) != *check {
            return Ok(false);
        }
        (self.check, self.digest) = (seen, digest);
        (self.parent, self.parent_bytes, self.kept) = (Some(parent), progress.stored.bytes, progress.stored.bytes);
        Ok(true)
    }

    /// Finds the longest common beginning with what the archive has.
    fn compare(&mut self, archive: &Archive<'_>, progress: &Progress) -> Result<()> {
        let known = parse_id(progress.stored.segment.as_deref());
        let Some(newest) = known.map_or_else(|| archive.newest(&self.key), |id| Ok(Some(id)))? else { return Ok(()) };
        self.parent_bytes = archive.header(newest)?.total_bytes();
        let stored = archive.transcript(newest);
        // Across a gap nothing can be compared; what comes then is stored anew, from the beginning.
        let stored = if stored.problems.is_empty() { stored.bytes() } else { Vec::new() };
        let mut same = 0;
        let mut is_same = true;
        self.each_step(0, self.end.min(stored.len() as u64), |bytes| {
            if is_same {
                let rest = &stored[same..];
                let common = bytes.iter().zip(rest).take_while(|(a, b)| a == b).count();
                same += common;
                is_same = common == bytes.len();
            }
        })?;
        let kept = complete_lines(&stored[..same]);
        self.digest.update(&stored[..kept]);
        self.check.update(&stored[..kept]);
        (self.parent, self.kept) = (Some(newest), kept as u64);
        Ok(())
    }

    /// Returns the end of the last complete line.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns how many bytes are stored and still the same.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Counts what stands between two line ends.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn survey(&mut self, from: u64, to: u64) -> Result<Survey> {
        let mut survey = Survey::default();
        let mut position = from;
        while position < to {
            let chunk = self.lines_at(position, to, STEP_BYTES)?;
            let messages = self.agent.parse(&chunk);
            survey.tally.add(&messages);
            for message in &messages {
                let end = position + message.span.end as u64;
                survey.answers.extend(message.parts.iter().filter_map(|part| match part {
                    Part::ToolResult(result) => Some(Answer {
                        call_id: result.call_id.clone(),
                        end,
                        text: result.text.chars().take(256).collect(),
                    }),
                    _ => None,
                }));
            }
            position += chunk.len() as u64;
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
            let body = self.lines_at(self.kept, until, TARGET_BYTES)?;
            self.digest.update(&body);
            self.check.update(&body);
            let header = Header {
                shiftlog: 1,
                agent: self.key.agent.clone(),
                session: self.key.id.clone(),
                parent: self.parent.map(|id| id.to_string()),
                keep: self.kept,
                bytes: body.len() as u64,
                sha256: hex(&self.digest.clone().finalize()),
                time: Time::now().to_rfc3339(),
            };
            let segment_id = archive.write(&header, &body)?;
            segment_ids.push(segment_id);
            self.parent = Some(segment_id);
            self.kept += body.len() as u64;
            self.parent_bytes = self.kept;
        }
        if !segment_ids.is_empty() {
            archive.add(&self.key, &segment_ids, deadline)?;
        }
        progress.stored = Mark { segment: self.parent.map(|id| id.to_string()), bytes: self.parent_bytes };
        let is_level = self.kept == self.parent_bytes;
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
        match self.parent.filter(|_| self.kept != self.parent_bytes) {
            Some(parent) => Ok(archive.header(parent)?.sha256),
            None => Ok(hex(&self.digest.clone().finalize())),
        }
    }

    /// Returns the bytes between two positions.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn bytes(&mut self, from: u64, to: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.each_step(from, to, |step| bytes.extend_from_slice(step))?;
        Ok(bytes)
    }

    /// Reads whole lines from `from` on: about `target` bytes, more if one line is longer, never beyond `to`.
    fn lines_at(&mut self, from: u64, to: u64, target: usize) -> Result<Vec<u8>> {
        self.source.seek(SeekFrom::Start(from)).map_err(unreadable)?;
        let mut lines = Vec::new();
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
