//! Reading the lines of records with one segment in memory, however long a record is.

use sha2::{Digest as _, Sha256};

use super::{Reader, Summary, Uncountable, bounds};
use crate::archive::{Stored, Unpacker};
use crate::hex::hex;
use crate::transcript::{SessionKey, complete_lines, line_blocks};

/// How many bytes are parsed at once at best: parsed messages take many times as much memory.
const BLOCK_BYTES: usize = 64 << 10;

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
    /// Visits the lines of a record in blocks, each of whole lines and short enough to be parsed at once.
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
        self.unpacker.begin(key);
        let budget = &mut self.budget;
        let mut blocks = |lines: &[u8]| {
            for block in line_blocks(lines, BLOCK_BYTES) {
                let block = &lines[block];
                if budget.readable(block) < block.len() {
                    return Err(Uncountable::TooLarge);
                }
                visit(block);
            }
            Ok(())
        };
        let mut digest = Sha256::new();
        // A line can go on in the next segment.
        let mut begun = Vec::new();
        for piece in &stored.pieces {
            let mut bytes = self.unpacker.bytes(piece).map_err(|_| Uncountable::Missing)?;
            // Of a barred segment there are none.
            if bytes.len() as u64 != piece.length() {
                return Err(Uncountable::Missing);
            }
            if stored.sha256.is_some() {
                digest.update(bytes);
            }
            if !begun.is_empty() {
                let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
                begun.extend_from_slice(&bytes[..end]);
                bytes = &bytes[end..];
                if begun.ends_with(b"\n") {
                    blocks(&begun)?;
                    begun.clear();
                }
            }
            let whole = complete_lines(bytes);
            blocks(&bytes[..whole])?;
            begun.extend_from_slice(&bytes[whole..]);
        }
        blocks(&begun)?;
        let is_same = stored.sha256.as_ref().is_none_or(|expected| hex(&digest.finalize()) == *expected);
        is_same.then_some(()).ok_or(Uncountable::Missing)
    }
}
