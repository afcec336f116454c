//! Comparing a transcript with its stored part in the archive, and storing the new part.
//!
//! Read [`Reading::open`]: it opens the transcript and finds how much of it is stored (`resume`). Then
//! [`Reading::survey`] counts the new part and [`Reading::store`] archives it. A transcript is read in chunks, so that
//! two hundred megabytes take no more memory than eight, and each chunk is redacted before other code sees it.
//!
//! A *position* is an offset in the agent's own file; *bytes* are a length of the stored (redacted) transcript.
//! Redaction keeps lines, so line ends of the two correspond.

mod lines;
mod resume;
mod store;
mod survey;

use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

pub use self::lines::Source;
use self::lines::{Bounded, CHUNK_BYTES, Lines};
pub use self::survey::Survey;
use super::left_out::is_too_large;
use super::progress::{Progress, ResumePoint};
use super::segment_end::SegmentEnd;
use crate::agent::{self, Agent};
use crate::archive::Archive;
use crate::archive::segment::TARGET_BYTES;
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::record::before;
use crate::record::tombstone::Tombstones;
use crate::redact::Redactor;
use crate::transcript::{Before, SessionKey, Tally};

/// How many bytes of a document are counted at once.
const DOCUMENT_BYTES: usize = 32 << 20;

/// The redactor, or the reason why there is none; without one nothing is stored.
pub type Redaction = Rc<Result<Redactor>>;

/// A session, and the data for reading its transcript.
#[derive(Clone, Copy)]
pub struct SessionContext<'s, 'a> {
    /// The archive to compare with.
    pub archive: &'s Archive<'a>,
    /// Its agent.
    pub agent: &'static dyn Agent,
    /// Its name.
    pub key: &'s SessionKey,
    /// The redactor.
    pub redaction: &'s Redaction,
    /// The purge marks: purged words are not stored again, although the agent's file still has them. `None` for a
    /// transcript that the user names.
    pub purged: Option<&'s Tombstones>,
    /// Reading and redaction fail when this has passed.
    pub deadline: Option<Instant>,
}

/// The part of the agent's file that a capture takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Extent {
    /// All complete lines: a last line without a line end is still being written.
    Complete,
    /// Everything: the session is over, so a last line without a line end is complete too.
    Over,
    /// The complete lines before this position.
    Until(u64),
}

/// A transcript, and how much of it the archive has.
pub struct Reading<'a> {
    agent: &'static dyn Agent,
    key: SessionKey,
    lines: Lines<'a>,
    /// Whether the lines were rendered from a document or a database, which the agent changes in place.
    is_rendered: bool,
    /// Whether the stored part of the agent's file is byte for byte unchanged, so that known positions in it are valid.
    is_same: bool,
    /// The newest segment of the session, which becomes the parent of the next one.
    parent: Option<ObjectId>,
    /// The length of the stored transcript at `parent`.
    parent_bytes: u64,
    /// The position up to which the transcript is stored and unchanged.
    kept: u64,
    /// The length of the stored transcript at `kept`; less than `parent_bytes` after the agent rewrote its file.
    kept_bytes: u64,
    /// SHA-256 of the stored transcript up to `kept_bytes`.
    sha256: Sha256,
    /// XXH3 of the agent's file up to `kept`.
    xxh3: XxHash3_64,
    /// See [`Progress::resume_points`].
    resume_points: Vec<ResumePoint>,
    /// Whether the agent's file counts as stored although it is not, because purged words may be in it.
    is_skipped: bool,
    /// When the transcript was captured; `None` for now.
    time: Option<Time>,
    archive: Archive<'a>,
    /// The segment that commits have the transcript up to.
    recorded: Option<String>,
    /// The last answers and the time of the last message before the words after `recorded`; `None` if they are not known.
    before: Option<Before>,
}

impl<'a> Reading<'a> {
    /// Opens a transcript and finds how much of it is stored.
    ///
    /// Normally the agent has appended: XXH3 of the stored part equals the one in `progress`. Otherwise, or if
    /// `progress` is lost, the transcript is compared with the archive segment by segment, and the longest common
    /// prefix that ends at a line end counts as stored. If the agent's file is gone, the stored transcript is read in
    /// its place.
    ///
    /// If words of the session were purged and `progress` is lost, purged words cannot be distinguished from words that
    /// were never stored. Then all of the file counts as stored, and [`Reading::skipped`] returns a warning.
    ///
    /// # Errors
    ///
    /// If neither the file nor the archive has anything, or reading fails; [`Kind::Busy`] if the deadline passes first.
    pub fn open(
        context: SessionContext<'_, 'a>,
        progress: &Progress,
        transcript: &Path,
        extent: Extent,
    ) -> Result<Self> {
        let SessionContext { archive, agent, purged, .. } = context;
        let is_rendered = agent.is_rendered(transcript);
        let opened = match is_rendered {
            true => open_rendered(context, transcript, extent, progress.stored.bytes > 0),
            false => open_file(transcript, extent),
        };
        let source: Box<dyn Source + 'a> = match opened {
            Ok(source) => source,
            // The archive replaces only a missing file; a file that cannot be read now may have more than the archive.
            Err(error) if error.kind() != Kind::Missing => return Err(error),
            Err(error) => {
                let stored = parse_id(progress.stored.segment.as_deref()).ok_or(error)?;
                let reading = Self::of_source(context, progress, Box::new(archive.open(stored)?))?;
                return Ok(Reading { is_rendered, ..reading });
            }
        };
        let mut reading = Reading { is_rendered, ..Self::unresumed(context, progress, source)? };
        if !reading.resume(progress)? {
            let may_be_purged = |purged| reading.may_have_purged_words(archive, purged, progress);
            match purged.map_or(Ok(false), may_be_purged)? {
                true => reading.skip_to_end(archive)?,
                false => reading.compare(archive, progress)?,
            }
        }
        Ok(reading)
    }

    /// Opens a transcript that is not in a file of the agent; otherwise as [`Reading::open`].
    ///
    /// # Errors
    ///
    /// As [`Reading::open`].
    pub fn of_source(
        context: SessionContext<'_, 'a>,
        progress: &Progress,
        source: Box<dyn Source + 'a>,
    ) -> Result<Self> {
        let archive = context.archive;
        let mut reading = Self::unresumed(context, progress, source)?;
        if !reading.resume(progress)? {
            reading.compare(archive, progress)?;
        }
        Ok(reading)
    }

    /// Opens a transcript as if nothing of it was stored.
    fn unresumed(context: SessionContext<'_, 'a>, progress: &Progress, source: Box<dyn Source + 'a>) -> Result<Self> {
        let SessionContext { archive, agent, key, redaction, deadline, .. } = context;
        Ok(Reading {
            agent,
            key: key.clone(),
            lines: Lines::new(source, redaction, deadline)?,
            is_rendered: agent.rewrites_last_lines(),
            is_same: false,
            parent: None,
            parent_bytes: 0,
            kept: 0,
            kept_bytes: 0,
            sha256: Sha256::new(),
            xxh3: XxHash3_64::new(),
            resume_points: Vec::new(),
            is_skipped: false,
            time: None,
            archive: *archive,
            recorded: progress.recorded.segment.clone(),
            before: progress.before(),
        })
    }

    /// Opens a transcript in memory; otherwise as [`Reading::open`].
    ///
    /// # Errors
    ///
    /// As [`Reading::open`].
    pub fn of_bytes(context: SessionContext<'_, 'a>, progress: &Progress, bytes: Vec<u8>) -> Result<Self> {
        Self::of_source(context, progress, Box::new(Cursor::new(bytes)))
    }

    /// Returns the position in the agent's file of a line end of the stored transcript, at most `kept`.
    ///
    /// Costs nothing if the position is known; otherwise everything before it is redacted again.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn position(&mut self, mark: &SegmentEnd) -> Result<u64> {
        if mark.bytes >= self.kept_bytes || self.is_skipped {
            return Ok(self.kept);
        }
        if let Some(raw) = mark.raw.filter(|raw| self.is_same && *raw <= self.kept) {
            return Ok(raw);
        }
        let (mut position, mut stored) = (0, 0);
        while stored < mark.bytes {
            let chunk = self.lines.chunk(position, self.kept, CHUNK_BYTES)?;
            let left = usize::try_from(mark.bytes - stored).unwrap_or(usize::MAX);
            if left <= chunk.redacted().len() || chunk.is_empty() {
                return Ok(chunk.position(left.min(chunk.redacted().len())));
            }
            position = chunk.end();
            stored += chunk.redacted().len() as u64;
        }
        Ok(position)
    }

    /// Returns the end of the last complete line.
    pub fn end(&self) -> u64 {
        self.lines.end()
    }

    /// Returns the newest segment of the session, which becomes the parent of the next one.
    pub fn parent(&self) -> Option<ObjectId> {
        self.parent
    }

    /// Returns the position up to which the transcript is stored and unchanged.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Says whether the transcript is known to begin with all that is stored of the session, and something is.
    pub fn has_all_that_is_stored(&self) -> bool {
        self.is_same || self.parent.is_some() && self.kept_bytes == self.parent_bytes
    }

    /// Returns the length of the stored transcript at [`kept`](Reading::kept).
    pub fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    /// Takes over that commits have the transcript up to another segment.
    pub fn set_recorded(&mut self, progress: &Progress) {
        self.recorded.clone_from(&progress.recorded.segment);
        self.before = progress.before();
    }

    /// Returns what comes before the words after a segment. If nobody has kept it, the segment's words are read.
    fn before(&self, since: &SegmentEnd) -> Before {
        let known = self.before.as_ref().filter(|_| self.recorded == since.segment);
        let read = |segment_id| before(&self.archive, &self.key, segment_id);
        known.cloned().or_else(|| parse_id(since.segment.as_deref()).map(read)).unwrap_or_default()
    }

    /// Counts the messages and tool results between two line ends, of an increment that begins after `since`: what earlier
    /// increments have counted of its answers does not count.
    ///
    /// Without a redactor the unredacted lines are counted; none of them will be stored.
    ///
    /// # Errors
    ///
    /// If reading fails; [`Kind::Busy`] if the deadline passes.
    pub fn survey(&mut self, since: &SegmentEnd, from: u64, to: u64) -> Result<Survey> {
        let tally = Tally::after(self.before(since));
        let mut survey = Survey { tally, until: from, ..Survey::default() };
        if from >= to {
            return Ok(survey);
        }
        let mut parser = self.agent.parser();
        let mut chunk = self.lines.chunk(from, to, CHUNK_BYTES)?;
        let is_in_pieces = self.agent.is_counted_in_pieces(chunk.redacted());
        let at_once = match is_in_pieces {
            true => CHUNK_BYTES,
            // A document is in memory as a whole anyway.
            false if self.is_rendered => DOCUMENT_BYTES,
            false => TARGET_BYTES,
        };
        if !is_in_pieces && chunk.end() < to {
            chunk = self.lines.chunk(from, to, at_once)?;
        }
        while !chunk.is_empty() {
            survey.add(&chunk, is_in_pieces, &mut *parser, self.lines.deadline())?;
            if survey.until >= to {
                break;
            }
            chunk = self.lines.chunk(survey.until, to, at_once)?;
        }
        Ok(survey)
    }

    /// Returns the redacted bytes between two positions.
    ///
    /// # Errors
    ///
    /// If reading fails, or nothing can be redacted.
    pub fn bytes(&mut self, from: u64, to: u64) -> Result<Vec<u8>> {
        self.lines.can_redact()?;
        let (mut bytes, mut position) = (Vec::new(), from);
        while position < to {
            let chunk = self.lines.chunk(position, to, CHUNK_BYTES)?;
            if chunk.is_empty() {
                break;
            }
            bytes.extend_from_slice(chunk.redacted());
            position = chunk.end();
        }
        Ok(bytes)
    }
}

fn cannot_redact(error: &Error) -> Error {
    Error::new(error.kind(), "cannot redact secrets").because(error.to_string())
}

/// Renders a document, or a session in a database, as lines.
///
/// # Errors
///
/// If the transcript cannot be read; [`Kind::Busy`] if reading a database takes until the deadline. [`Kind::Unsupported`] if it
/// is too large to be rendered: the caller must not read the archived part in its place, since the file still exists.
/// [`Kind::Other`] if the agent is just writing a document: part of it would pass for a conversation without its messages.
fn open_rendered(
    SessionContext { agent, deadline, .. }: SessionContext<'_, '_>,
    transcript: &Path,
    extent: Extent,
    had_words: bool,
) -> Result<Box<dyn Source>> {
    if is_too_large(agent, transcript) {
        let message = format!("the transcript '{}' is too large", transcript.display());
        return Err(Error::new(Kind::Unsupported, message));
    }
    let mut lines = agent.read_until(transcript, deadline)?;
    if !agent::is_whole(agent, &lines, had_words) {
        return Err(Error::other(format!("the transcript '{}' is not complete", transcript.display())));
    }
    if let Extent::Until(position) = extent {
        lines.truncate(usize::try_from(position).unwrap_or(usize::MAX));
    }
    Ok(Box::new(Cursor::new(lines)))
}

/// Opens a file of lines.
///
/// # Errors
///
/// If it cannot be opened, or is no regular file.
pub(super) fn open_file(transcript: &Path, extent: Extent) -> Result<Box<dyn Source>> {
    let open = || -> std::io::Result<Box<dyn Source>> {
        let metadata = transcript.metadata()?;
        // Opening a named pipe would block.
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
    open().map_err(|error| lines::unreadable(error, Some(transcript)))
}

fn parse_id(hex: Option<&str>) -> Option<ObjectId> {
    ObjectId::from_hex(hex?.as_bytes()).ok()
}
