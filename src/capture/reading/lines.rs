//! Reading what an agent wrote: whole lines, in pieces that are redacted before anything else looks at them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::time::Instant;

use super::{Redaction, cannot_redact};
use crate::error::{Error, Result};
use crate::transcript::{complete_lines, line_ends};

/// How many bytes are redacted at once; more than a private key in plain text can have.
pub const PIECE_BYTES: usize = 256 << 10;

/// The longest line that is recorded: looking for secrets in it takes five times as much memory. A transcript is not
/// recorded from a longer line on.
pub const MAX_LINE_BYTES: u64 = 40 << 20;

/// How much is read at once where only a digest or a line end is wanted.
const STEP_BYTES: usize = 64 << 10;

/// A transcript's bytes, wherever they are.
pub trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// The first bytes of a source, and a tail behind them.
pub struct Bounded<S> {
    source: S,
    length: u64,
    tail: &'static [u8],
    position: u64,
}

impl<S: Source> Bounded<S> {
    /// Returns the first `length` bytes of a source with `tail` behind them.
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

/// Consecutive whole lines of a transcript, as the agent wrote them and as they are stored.
pub struct Piece {
    from: u64,
    /// The end that was asked for.
    to: u64,
    lines: Vec<u8>,
    /// `None` if redaction changes nothing.
    redacted: Option<Vec<u8>>,
    /// If it does, the end of each line after it and before it; computed when first needed.
    ends: OnceCell<Vec<(usize, usize)>>,
}

impl Piece {
    /// Returns the lines as the agent wrote them.
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Returns the lines as they are stored.
    pub fn redacted(&self) -> &[u8] {
        self.redacted.as_deref().unwrap_or(&self.lines)
    }

    /// Says whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn is(&self, from: u64, to: u64) -> bool {
        (self.from, self.to) == (from, to)
    }

    /// Returns the position behind the last line.
    pub fn end(&self) -> u64 {
        self.from + self.lines.len() as u64
    }

    /// Returns the position of a line end of the redacted text; the line end before it if `offset` is none.
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
    /// When redacting is given up.
    deadline: Option<Instant>,
    /// The end of the last complete line.
    end: u64,
    /// The piece that was read last: what is new is surveyed first and then stored.
    last: Option<Rc<Piece>>,
}

impl<'a> Lines<'a> {
    /// Opens a source and finds out how far its whole lines go.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn new(source: Box<dyn Source + 'a>, redaction: &Redaction, deadline: Option<Instant>) -> Result<Self> {
        let mut lines = Lines { source, redaction: Rc::clone(redaction), deadline, end: 0, last: None };
        let length = lines.source.seek(SeekFrom::End(0)).map_err(unreadable)?;
        lines.end = lines.last_line_end(length)?;
        Ok(lines)
    }

    fn seek(&mut self, position: u64) -> Result<()> {
        self.source.seek(SeekFrom::Start(position)).map(drop).map_err(unreadable)
    }

    /// Returns the end of the last complete line.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Says whether something can be redacted; nothing is stored otherwise.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn can_redact(&self) -> Result<()> {
        self.redaction.as_ref().as_ref().map(drop).map_err(cannot_redact)
    }

    /// Returns about `target` bytes of whole lines from `from` on, redacted. Lines that can only be redacted together with
    /// later ones (the beginning of a private key) are left out; the piece is empty if all of them are. Without a redactor
    /// the lines are as the agent wrote them.
    ///
    /// # Errors
    ///
    /// If reading fails; [`Kind::Busy`](crate::error::Kind::Busy) if the deadline has passed.
    pub fn piece(&mut self, from: u64, to: u64, target: usize) -> Result<Rc<Piece>> {
        if let Some(last) = self.last.as_ref().filter(|last| last.is(from, to)) {
            return Ok(Rc::clone(last));
        }
        self.last = None;
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
            let piece = Rc::new(Piece { from, to, lines, redacted, ends: OnceCell::new() });
            // Of several pieces none is asked for again soon.
            if piece.end() == to {
                self.last = Some(Rc::clone(&piece));
            }
            return Ok(piece);
        }
    }

    /// Reads whole lines from `from` on: about `target` bytes, more if one line is longer, never beyond `to`; none if the
    /// first is too long.
    fn lines_at(&mut self, from: u64, to: u64, target: usize) -> Result<Vec<u8>> {
        self.seek(from)?;
        let mut lines = Vec::with_capacity((to.saturating_sub(from)).min(target as u64) as usize);
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
            // Whoever reads larger steps takes every line that smaller ones have taken.
            if lines.len() as u64 > MAX_LINE_BYTES {
                return Ok(Vec::new());
            }
        }
    }

    /// Visits what stands between two positions, as the agent wrote it, in steps.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn each_step(&mut self, from: u64, to: u64, mut visit: impl FnMut(&[u8])) -> Result<()> {
        self.seek(from)?;
        let mut left = to.saturating_sub(from);
        let mut buffer = vec![0; STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES))];
        while left > 0 {
            let step = STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES));
            self.source.read_exact(&mut buffer[..step]).map_err(unreadable)?;
            visit(&buffer[..step]);
            left -= step as u64;
        }
        Ok(())
    }

    /// Finds the end of the last complete line before `length`, from the end backwards.
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

fn unreadable(error: std::io::Error) -> Error {
    Error::new(crate::error::kind_of_io(&error), "cannot read the transcript").because(error)
}
