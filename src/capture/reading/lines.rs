//! Reading a transcript by whole lines, in chunks that are redacted before other code sees them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use super::{Redaction, cannot_redact};
use crate::capture::left_out::MAX_LINE_BYTES;
use crate::error::{Error, Kind, Result, kind_of_io};
use crate::transcript::{complete_lines, line_ends};

/// How many bytes are redacted at once; larger than any private key in plain text.
pub const CHUNK_BYTES: usize = 256 << 10;

/// How many bytes are read at once when only a digest or a line end is wanted.
const STEP_BYTES: usize = 64 << 10;

/// A transcript's bytes: a file, the archive, or memory.
pub trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// The first `length` bytes of a source, followed by `tail`.
pub struct Bounded<S> {
    source: S,
    length: u64,
    tail: &'static [u8],
    position: u64,
}

impl<S: Source> Bounded<S> {
    /// Returns the first `length` bytes of `source`, followed by `tail`.
    pub fn new(source: S, length: u64, tail: &'static [u8]) -> Self {
        Bounded { source, length, tail, position: 0 }
    }
}

impl<S: Source> Read for Bounded<S> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = match self.position.checked_sub(self.length) {
            None => self.source.by_ref().take(self.length - self.position).read(buffer)?,
            Some(offset) => self.tail.get(offset as usize..).unwrap_or_default().read(buffer)?,
        };
        self.position += read as u64;
        Ok(read)
    }
}

impl<S: Source> Seek for Bounded<S> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => (self.length + self.tail.len() as u64).checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        self.source.seek(SeekFrom::Start(self.position.min(self.length)))?;
        Ok(self.position)
    }
}

/// Consecutive whole lines of a transcript, both as the agent wrote them and redacted.
pub struct LineChunk {
    from: u64,
    /// The end position that the caller asked for.
    to: u64,
    /// About how many bytes the caller asked for.
    target: usize,
    lines: Vec<u8>,
    /// `None` if redaction changed nothing.
    redacted: Option<Vec<u8>>,
    /// The end of each line after and before redaction; computed when first needed, and only if `redacted` is present.
    ends: OnceCell<Vec<(usize, usize)>>,
}

impl LineChunk {
    /// Returns the lines as the agent wrote them.
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Returns the lines as they are stored, after redaction.
    pub fn redacted(&self) -> &[u8] {
        self.redacted.as_deref().unwrap_or(&self.lines)
    }

    /// Says whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Says whether this is what a caller asks for, and not more than that.
    fn is(&self, from: u64, to: u64, target: usize) -> bool {
        (self.from, self.to) == (from, to) && (self.target <= target || self.lines.len() <= target)
    }

    /// Returns the position behind the last line.
    pub fn end(&self) -> u64 {
        self.from + self.lines.len() as u64
    }

    /// Returns the position of the line end at `offset` of the redacted text; of the last line end before it if
    /// `offset` is not one.
    pub fn position(&self, offset: usize) -> u64 {
        let Some(redacted) = &self.redacted else { return self.from + offset as u64 };
        let ends = self.ends.get_or_init(|| line_ends(redacted).zip(line_ends(&self.lines)).collect());
        let before = ends[..ends.partition_point(|(end, _)| *end <= offset)].last();
        self.from + before.map_or(0, |(_, end)| *end as u64)
    }
}

/// The lines of a transcript.
pub struct Lines<'a> {
    source: Box<dyn Source + 'a>,
    redaction: Redaction,
    /// Redaction fails when this has passed.
    deadline: Option<Instant>,
    /// The end of the last complete line.
    end: u64,
    /// The chunk that was read last: new lines are read twice, first to survey and then to store them.
    last: Option<Rc<LineChunk>>,
}

impl<'a> Lines<'a> {
    /// Opens a source and finds the end of its last complete line.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn new(source: Box<dyn Source + 'a>, redaction: &Redaction, deadline: Option<Instant>) -> Result<Self> {
        let mut lines = Lines { source, redaction: Rc::clone(redaction), deadline, end: 0, last: None };
        let length = lines.source.seek(SeekFrom::End(0)).map_err(|error| unreadable(error, None))?;
        lines.end = lines.last_line_end(length)?;
        Ok(lines)
    }

    /// Returns when nothing more is read.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn seek(&mut self, position: u64) -> Result<()> {
        self.source.seek(SeekFrom::Start(position)).map(drop).map_err(|error| unreadable(error, None))
    }

    /// Returns the end of the last complete line.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Checks that there is a redactor; without one nothing may be stored.
    ///
    /// # Errors
    ///
    /// The reason why there is no redactor.
    pub fn can_redact(&self) -> Result<()> {
        self.redaction.as_ref().as_ref().map(drop).map_err(cannot_redact)
    }

    /// Returns about `target` bytes of whole lines from `from` on, redacted. Lines at the end that can only be redacted
    /// together with later ones (an unfinished private key) are left out; the chunk is empty if no line is left.
    /// Without a redactor the lines are returned as the agent wrote them.
    ///
    /// # Errors
    ///
    /// If reading fails; [`Kind::Busy`](crate::error::Kind::Busy) if the deadline has passed.
    pub fn chunk(&mut self, from: u64, to: u64, target: usize) -> Result<Rc<LineChunk>> {
        if let Some(last) = self.last.as_ref().filter(|last| last.is(from, to, target)) {
            return Ok(Rc::clone(last));
        }
        self.last = None;
        let wanted = target;
        let mut target = target;
        loop {
            let mut lines = self.lines_at(from, to, target)?;
            let (redacted, dealt) = match self.redaction.as_ref() {
                Ok(redactor) => {
                    let (redacted, dealt) = match self.deadline {
                        Some(deadline) => redactor.redact_until(&lines, deadline)?,
                        None => redactor.redact(&lines),
                    };
                    (if let Cow::Owned(redacted) = redacted { Some(redacted) } else { None }, dealt)
                }
                Err(_) => (None, lines.len()),
            };
            let may_be_more = !lines.is_empty() && (target as u64) < MAX_LINE_BYTES;
            if dealt == 0 && may_be_more && from + (lines.len() as u64) < to {
                target *= 2;
                continue;
            }
            lines.truncate(dealt);
            let chunk = Rc::new(LineChunk { from, to, target: wanted, lines, redacted, ends: OnceCell::new() });
            // Only a chunk that reaches the end is read again; if there are several, the first is not.
            if chunk.end() == to {
                self.last = Some(Rc::clone(&chunk));
            }
            return Ok(chunk);
        }
    }

    /// Reads whole lines from `from` on: about `target` bytes, more if one line is longer, never beyond `to`. Returns
    /// nothing if the first line is longer than [`MAX_LINE_BYTES`].
    fn lines_at(&mut self, from: u64, to: u64, target: usize) -> Result<Vec<u8>> {
        self.seek(from)?;
        let mut lines = Vec::with_capacity((to.saturating_sub(from)).min(target as u64) as usize);
        // A line that is longer than `target` is read on in small steps, so that its limit is the same for all of them.
        let mut step = target;
        loop {
            let wanted = (to - from - lines.len() as u64).min(step as u64);
            step = CHUNK_BYTES;
            let read =
                self.source.by_ref().take(wanted).read_to_end(&mut lines).map_err(|error| unreadable(error, None))?;
            if from + lines.len() as u64 >= to {
                return Ok(lines);
            }
            if read == 0 {
                return Err(Error::other("the transcript became shorter while it was read"));
            }
            // Only the bytes just read are searched: a line can be many times longer than one read.
            let complete = complete_lines(&lines[lines.len() - read..]);
            if complete > 0 {
                lines.truncate(lines.len() - read + complete);
                return Ok(lines);
            }
            if lines.len() as u64 > MAX_LINE_BYTES {
                return Ok(Vec::new());
            }
        }
    }

    /// Visits the bytes between two positions, as the agent wrote them, in steps of at most [`STEP_BYTES`].
    ///
    /// # Errors
    ///
    /// If reading fails; [`Kind::Busy`](crate::error::Kind::Busy) if the deadline has passed.
    pub fn each_step(&mut self, from: u64, to: u64, mut visit: impl FnMut(&[u8])) -> Result<()> {
        self.seek(from)?;
        let mut left = to.saturating_sub(from);
        let mut buffer = vec![0; STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES))];
        while left > 0 {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::new(crate::error::Kind::Busy, "reading the transcript takes too long"));
            }
            let step = STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES));
            self.source.read_exact(&mut buffer[..step]).map_err(|error| unreadable(error, None))?;
            visit(&buffer[..step]);
            left -= step as u64;
        }
        Ok(())
    }

    /// Returns the end of the last complete line before `length`. Reads backwards from the end.
    fn last_line_end(&mut self, length: u64) -> Result<u64> {
        let (mut end, mut step) = (length, 4096);
        while end > 0 {
            let start = end.saturating_sub(step);
            step = STEP_BYTES as u64;
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

/// Makes an error about a transcript, whose file may be known. One that may not be read keeps its session waiting, and is no
/// reason to store nothing of the others.
pub fn unreadable(error: std::io::Error, transcript: Option<&Path>) -> Error {
    let kind = match kind_of_io(&error) {
        Kind::Storage => Kind::Busy,
        kind => kind,
    };
    let name = transcript.map(|path| format!(" '{}'", path.display())).unwrap_or_default();
    Error::new(kind, format!("cannot read the transcript{name}")).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_that_may_not_be_read_keeps_only_its_own_session_waiting() {
        let kind = |kind: ErrorKind| unreadable(kind.into(), Some(Path::new("t.jsonl"))).kind();
        assert_eq!([kind(ErrorKind::PermissionDenied), kind(ErrorKind::NotFound)], [Kind::Busy, Kind::Missing]);
    }
}
