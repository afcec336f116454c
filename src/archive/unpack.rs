//! Reading many segments one after the other into the same memory.

use super::contents::too_much;
use super::{Archive, MAX_FILE_BYTES, Piece, segment};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;

/// Unpacks segments into one buffer.
pub struct Unpacker<'r> {
    archive: Archive<'r>,
    decompressor: zstd::bulk::Decompressor<'static>,
    /// The bytes of the segment that was read last.
    body: Vec<u8>,
    loaded: Option<ObjectId>,
    /// What was read since [`Unpacker::begin`], in bytes.
    stored: u64,
    unpacked: u64,
}

impl<'r> Unpacker<'r> {
    /// Makes one for an archive.
    ///
    /// # Errors
    ///
    /// If zstd cannot allocate its tables.
    pub fn new(archive: Archive<'r>) -> Result<Self> {
        let failed = |error: std::io::Error| Error::other("cannot unpack segments").because(error);
        let decompressor = zstd::bulk::Decompressor::new().map_err(failed)?;
        Ok(Unpacker { archive, decompressor, body: Vec::new(), loaded: None, stored: 0, unpacked: 0 })
    }

    /// Returns the archive.
    pub fn archive(&self) -> Archive<'r> {
        self.archive
    }

    /// Begins with another session: the limit on unpacked bytes counts anew.
    pub fn begin(&mut self) {
        (self.stored, self.unpacked) = (0, 0);
    }

    /// Returns the stored size of the segments that were read since [`Unpacker::begin`].
    pub fn stored_bytes(&self) -> u64 {
        self.stored
    }

    /// Returns the bytes of a piece; nothing if its segment is barred.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if the repository lacks the segment, [`Kind::Corrupt`] if it is damaged, or if the session unpacks
    /// to far more than is stored.
    pub fn bytes(&mut self, piece: &Piece) -> Result<&[u8]> {
        if self.archive.is_barred(piece.segment_id) {
            return Ok(&[]);
        }
        if self.loaded != Some(piece.segment_id) {
            self.loaded = None;
            self.load(piece)?;
            self.loaded = Some(piece.segment_id);
        }
        let place = |at: u64| usize::try_from(at.saturating_sub(piece.keep)).unwrap_or(usize::MAX).min(self.body.len());
        Ok(&self.body[place(piece.from)..place(piece.to)])
    }

    fn load(&mut self, piece: &Piece) -> Result<()> {
        let file = self.archive.repo.read_blob(piece.segment_id, MAX_FILE_BYTES)?;
        let (header, frame) = segment::split_bounded(&file)?;
        self.stored += file.len() as u64;
        self.unpacked = self.unpacked.saturating_add(header.bytes);
        // Each segment can be within its limit, and all together unpack to far too much.
        if self.unpacked > segment::unpacked_limit(self.stored) {
            return Err(too_much());
        }
        let corrupt = || Error::new(Kind::Corrupt, "a segment is damaged");
        let bytes = usize::try_from(header.bytes).map_err(|_| corrupt())?;
        self.body.clear();
        // The capacity bounds what is written.
        self.body.shrink_to(segment::TARGET_BYTES);
        self.body.reserve_exact(bytes);
        self.decompressor.decompress_to_buffer(frame, &mut self.body).map_err(|error| corrupt().because(error))?;
        if self.body.len() != bytes {
            return Err(corrupt().because("its length is not what its header says"));
        }
        Ok(())
    }
}
