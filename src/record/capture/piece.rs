//! Reading what an agent wrote: whole lines, in pieces that are redacted before anything else looks at them, but for
//! [`Lines::as_written`].

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, OnceLock};

use super::{Redaction, STEP_BYTES, cannot_redact};
use crate::error::{Error, Result};
use crate::transcript::{complete_lines, line_ends};

/// How much is redacted at once; more than a key in plain text can have.
pub const PIECE_BYTES: usize = 256 << 10;

/// The longest line that is recorded: to look for secrets in it takes five times as much memory. What a transcript says
/// from a longer line on is not recorded.
pub const MAX_LINE_BYTES: u64 = 40 << 20;

pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Whole lines of the transcript, as they are and as they are to be stored.
pub struct Piece {
    from: u64,
    /// How far it was asked for.
    to: u64,
    lines: Vec<u8>,
    /// `None` if redaction changes nothing.
    redacted: Option<Vec<u8>>,
    /// If it does, where each line ends after it, and before; made when it is asked for.
    ends: OnceLock<Vec<(usize, usize)>>,
}

impl Piece {
    fn new(from: u64, to: u64, lines: Vec<u8>, redacted: Option<Vec<u8>>) -> Self {
        Piece { from, to, lines, redacted, ends: OnceLock::new() }
    }

    /// Returns the lines as the agent wrote them.
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Returns the lines as they are to be stored.
    pub fn redacted(&self) -> &[u8] {
        self.redacted.as_deref().unwrap_or(&self.lines)
    }

    /// Says whether this is what was asked for from `from` to `to`, and what is to be stored are just these lines.
    pub fn is_stored_as(&self, lines: &[u8], from: u64, to: u64) -> bool {
        self.is(from, to) && self.redacted() == lines
    }

    /// Says whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Says whether this is what was asked for from `from` to `to`.
    pub fn is(&self, from: u64, to: u64) -> bool {
        (self.from, self.to) == (from, to)
    }

    /// Returns the position behind the last line.
    pub fn end(&self) -> u64 {
        self.from + self.lines.len() as u64
    }

    /// Returns the line end of the redacted text for one of the lines; the position is within the piece.
    pub fn offset(&self, position: u64) -> Option<usize> {
        let offset = usize::try_from(position.checked_sub(self.from)?).ok()?;
        let Some(redacted) = self.redacted.as_ref().filter(|_| offset > 0) else { return Some(offset) };
        line_ends(redacted).zip(line_ends(&self.lines)).find(|(_, end)| *end == offset).map(|(end, _)| end)
    }

    /// Returns the position of a line end of the redacted text.
    pub fn position(&self, offset: usize) -> u64 {
        let Some(redacted) = &self.redacted else { return self.from + offset as u64 };
        let ends = self.ends.get_or_init(|| line_ends(redacted).zip(line_ends(&self.lines)).collect());
        let before = ends[..ends.partition_point(|(end, _)| *end <= offset)].last();
        self.from + before.map_or(0, |(_, end)| *end as u64)
    }
}

/// The lines of a transcript.
pub struct Lines {
    source: Box<dyn ReadSeek>,
    /// Where the source begins: what is before it is known and not read.
    start: u64,
    redaction: Redaction,
    /// The end of the last complete line.
    end: u64,
    /// For steps; one buffer, so that its memory is asked of the system once.
    buffer: Vec<u8>,
    /// The piece read last: what is new is surveyed first and then stored.
    last: Option<Arc<Piece>>,
}

impl Lines {
    /// Finds out how far whole lines go. The source has those from `start` on.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn new(source: Box<dyn ReadSeek>, start: u64, redaction: &Redaction) -> Result<Self> {
        let mut lines =
            Lines { source, start, redaction: Arc::clone(redaction), end: start, buffer: Vec::new(), last: None };
        let length = lines.source.seek(SeekFrom::End(0)).map_err(unreadable)?;
        lines.end = lines.last_line_end(start + length)?;
        Ok(lines)
    }

    fn seek(&mut self, position: u64) -> Result<()> {
        let Some(place) = position.checked_sub(self.start) else {
            return Err(Error::other("the beginning of the transcript was not read"));
        };
        self.source.seek(SeekFrom::Start(place)).map(drop).map_err(unreadable)
    }

    /// Returns where they begin.
    pub fn start(&self) -> u64 {
        self.start
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

    /// Returns about `target` bytes of whole lines from `from` on, redacted. Lines that must wait for more are left out;
    /// there is nothing if all of them must. Without a redactor they are as the agent wrote them.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn piece(&mut self, from: u64, to: u64, target: usize) -> Result<Arc<Piece>> {
        if let Some(last) = self.last.as_ref().filter(|last| last.is(from, to)) {
            return Ok(Arc::clone(last));
        }
        self.last = None;
        let mut target = target;
        loop {
            let mut lines = self.lines_at(from, to, target)?;
            let (redacted, dealt) = match self.redaction.as_ref() {
                Ok(redactor) => match redactor.redact(&lines) {
                    (Cow::Borrowed(_), dealt) => (None, dealt),
                    (Cow::Owned(redacted), dealt) => (Some(redacted), dealt),
                },
                Err(_) => (None, lines.len()),
            };
            let may_be_more = !lines.is_empty() && (target as u64) < MAX_LINE_BYTES;
            if dealt == 0 && may_be_more && from + (lines.len() as u64) < to {
                target *= 2;
                continue;
            }
            lines.truncate(dealt);
            let piece = Arc::new(Piece::new(from, to, lines, redacted));
            // Where there is more than one piece, none is asked for again soon.
            if piece.end() == to {
                self.last = Some(Arc::clone(&piece));
            }
            return Ok(piece);
        }
    }

    /// Returns the lines between two positions as the agent wrote them, to be counted and never stored; `None` if they are
    /// too long for one piece, or cannot be read.
    pub fn as_written(&mut self, from: u64, to: u64) -> Option<Piece> {
        if to.saturating_sub(from) > PIECE_BYTES as u64 {
            return None;
        }
        let lines = self.lines_at(from, to, PIECE_BYTES).ok()?;
        (lines.len() as u64 == to - from).then(|| Piece::new(from, to, lines, None))
    }

    /// Reads whole lines from `from` on: about `target` bytes, more if one line is longer, never beyond `to`; none if the
    /// first is too long.
    fn lines_at(&mut self, from: u64, to: u64, target: usize) -> Result<Vec<u8>> {
        self.seek(from)?;
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
        each_step(&mut self.source, to.saturating_sub(from), &mut self.buffer, &mut visit).map_err(unreadable)
    }

    /// Finds the end of the last complete line before `length`, from the end backwards.
    fn last_line_end(&mut self, length: u64) -> Result<u64> {
        let (mut end, mut step) = (length, 4096);
        while end > self.start {
            let start = end.saturating_sub(step).max(self.start);
            step = STEP_BYTES as u64;
            let mut found = 0;
            self.each_step(start, end, |bytes| found = complete_lines(bytes))?;
            if found > 0 {
                return Ok(start + found as u64);
            }
            end = start;
        }
        Ok(self.start)
    }
}

/// Visits the next `length` bytes of a source in steps. A buffer is taken, so that its memory is asked of the system once.
///
/// # Errors
///
/// If there are fewer, or reading fails.
pub fn each_step(
    source: &mut impl Read,
    length: u64,
    buffer: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]),
) -> std::io::Result<()> {
    let mut left = length;
    while left > 0 {
        let step = STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES));
        buffer.resize(buffer.len().max(step), 0);
        source.read_exact(&mut buffer[..step])?;
        visit(&buffer[..step]);
        left -= step as u64;
    }
    Ok(())
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(crate::error::kind_of_io(&error), "cannot read the transcript").because(error)
}
