//! Reading the lines of records. If each line of a transcript can be parsed alone, only one segment of it is in memory.

use bstr::ByteSlice as _;
use sha2::{Digest as _, Sha256};

use super::{Reader, Summary, Uncountable, bounds};
use crate::agent::{self, Wording};
use crate::archive::{SegmentSpan, Stored, Unpacker};
use crate::hex::hex;
use crate::transcript::{SessionKey, complete_lines, line_blocks};

/// Reads the lines of records that name segments, one record after the other. How much is read for all of them together is
/// limited as for the conversations of a note.
pub struct LineReader<'r> {
    reader: &'r Reader<'r>,
    unpacker: Unpacker<'r>,
    budget: bounds::Budget,
}

impl Reader<'_> {
    /// Returns a reader of the lines of records that one note has.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn line_reader(&self) -> crate::error::Result<LineReader<'_>> {
        let unpacker = Unpacker::new(self.archive())?;
        Ok(LineReader { reader: self, unpacker, budget: bounds::Budget::default() })
    }
}

impl LineReader<'_> {
    /// Visits the lines of a record in blocks, for one parser of its agent: all at once, or a few at a time if each line can be
    /// parsed alone ([`Wording::InLines`]). A message of such a block does not know whether a later one takes it back.
    ///
    /// # Errors
    ///
    /// If not all words can be read; only some of them were visited then.
    pub fn each_block(&mut self, summary: &Summary, visit: impl FnMut(&[u8])) -> Result<(), Uncountable> {
        let parse = |hex: &str| self.reader.repo.parse_id(hex);
        let through = summary.through.as_deref().and_then(parse).ok_or(Uncountable::Missing)?;
        let archive = self.reader.archive();
        let archive = archive.only(&summary.key);
        let stored = match &summary.within {
            Some(within) => archive.pieces_within(through, within.clone()),
            None => archive.pieces(summary.since.as_deref().and_then(parse), through),
        };
        self.each_stored(&summary.key, &stored, visit)
    }

    /// Visits the lines of a part of a session's transcript in blocks.
    ///
    /// # Errors
    ///
    /// As [`LineReader::each_block`].
    pub(super) fn each_stored(
        &mut self,
        key: &SessionKey,
        stored: &Stored,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<(), Uncountable> {
        if self.budget.is_spent() {
            return Err(Uncountable::TooLarge);
        }
        if stored.problem.is_some() {
            return Err(Uncountable::Missing);
        }
        self.budget.spend_stored(stored);
        let length = stored.pieces.iter().map(SegmentSpan::length).fold(0, u64::saturating_add);
        if length > self.budget.readable_of(&[]) {
            return Err(Uncountable::TooLarge);
        }
        self.unpacker.begin(key);
        let (budget, agent) = (&mut self.budget, agent::find(&key.agent));
        let mut digest = Sha256::new();
        let mut is_in_lines = None;
        // All bytes, or the beginning of a line that goes on in the next segment.
        let mut begun = Vec::new();
        for piece in &stored.pieces {
            let bytes = self.unpacker.bytes(piece).map_err(|_| Uncountable::Missing)?;
            // Of a barred segment there are none.
            if bytes.len() as u64 != piece.length() {
                return Err(Uncountable::Missing);
            }
            if stored.sha256.is_some() {
                digest.update(bytes);
            }
            let wording = || agent.is_some_and(|agent| agent.wording(bytes) == Wording::InLines);
            match *is_in_lines.get_or_insert_with(wording) {
                true => each_block_of(bytes, &mut begun, budget, &mut visit)?,
                false => begun.extend_from_slice(bytes),
            }
        }
        if is_in_lines == Some(true) {
            visit_blocks(&begun, budget, &mut visit)?;
        } else if budget.readable(&begun) < begun.len() {
            return Err(Uncountable::TooLarge);
        } else if !begun.is_empty() {
            visit(&begun);
        }
        let is_same = stored.sha256.as_ref().is_none_or(|expected| hex(&digest.finalize()) == *expected);
        is_same.then_some(()).ok_or(Uncountable::Missing)
    }
}

/// Visits the whole lines of a segment's bytes. `begun` is the line that the segment before has begun, and then the one that this
/// segment begins.
fn each_block_of(
    mut bytes: &[u8],
    begun: &mut Vec<u8>,
    budget: &mut bounds::Budget,
    visit: &mut impl FnMut(&[u8]),
) -> Result<(), Uncountable> {
    if !begun.is_empty() {
        let end = bytes.find_byte(b'\n').map_or(bytes.len(), |at| at + 1);
        begun.extend_from_slice(&bytes[..end]);
        bytes = &bytes[end..];
        if begun.ends_with(b"\n") {
            visit_blocks(begun, budget, visit)?;
            begun.clear();
        }
    }
    let whole = complete_lines(bytes);
    visit_blocks(&bytes[..whole], budget, visit)?;
    begun.extend_from_slice(&bytes[whole..]);
    Ok(())
}

fn visit_blocks(lines: &[u8], budget: &mut bounds::Budget, visit: &mut impl FnMut(&[u8])) -> Result<(), Uncountable> {
    for block in line_blocks(lines) {
        let block = &lines[block];
        if !budget.may_parse_apart(block) {
            return Err(Uncountable::TooLarge);
        }
        visit(block);
    }
    Ok(())
}
