//! Reading many segments of one session after the other into the same memory.

use std::time::Instant;

use super::contents::too_much;
use super::{Archive, MAX_FILE_BYTES, SegmentSpan, segment};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// Unpacks segments into one buffer.
pub struct Unpacker<'r> {
    archive: Archive<'r>,
    decompressor: zstd::bulk::Decompressor<'static>,
    /// The session whose segments are read.
    session: Option<SessionKey>,
    /// The bytes of the segment that was read last, which is one of the session.
    body: Vec<u8>,
    loaded: Option<ObjectId>,
    /// When nothing more is unpacked.
    deadline: Option<Instant>,
    /// The stored bytes that were read since [`Unpacker::begin`].
    stored: u64,
    unpacked: u64,
    /// The segments that were read since then, with the sizes of their files.
    sources: Vec<(ObjectId, u64)>,
}

impl<'r> Unpacker<'r> {
    /// Returns an unpacker for an archive.
    ///
    /// # Errors
    ///
    /// If zstd cannot allocate its tables.
    pub fn new(archive: Archive<'r>) -> Result<Self> {
        let failed = |error: std::io::Error| Error::other("cannot unpack segments").because(error);
        let decompressor = zstd::bulk::Decompressor::new().map_err(failed)?;
        Ok(Unpacker {
            archive,
            decompressor,
            session: None,
            body: Vec::new(),
            loaded: None,
            deadline: None,
            stored: 0,
            unpacked: 0,
            sources: Vec::new(),
        })
    }

    /// Returns the archive.
    pub fn archive(&self) -> Archive<'r> {
        self.archive
    }

    /// Unpacks nothing more after `deadline`: reading then fails.
    #[must_use]
    pub fn until(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Begins with an increment of a session: the limit on unpacked bytes counts anew, and segments of other sessions
    /// cannot be read. Anybody can push a record that names words of another session.
    pub fn begin(&mut self, session: &SessionKey) {
        (self.stored, self.unpacked) = (0, 0);
        self.sources.clear();
        if self.session.as_ref() != Some(session) {
            self.session = Some(session.clone());
            self.loaded = None;
        }
    }

    /// Returns the segments that were read since [`Unpacker::begin`], with the sizes of their files.
    pub fn take_sources(&mut self) -> Vec<(ObjectId, u64)> {
        std::mem::take(&mut self.sources)
    }

    /// Returns the stored size of the segments that were read since [`Unpacker::begin`].
    pub fn stored_bytes(&self) -> u64 {
        self.stored
    }

    /// Returns the bytes of a piece; nothing if its segment is barred.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if the repository lacks the segment, [`Kind::Corrupt`] if it is damaged or belongs to another
    /// session, or if the session unpacks to far more than is stored; [`Kind::Busy`] after the deadline.
    pub fn bytes(&mut self, piece: &SegmentSpan) -> Result<&[u8]> {
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

    fn load(&mut self, piece: &SegmentSpan) -> Result<()> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::new(Kind::Busy, "the time for reading is over"));
        }
        let file = self.archive.repo.read_blob(piece.segment_id, MAX_FILE_BYTES)?;
        let (header, frame) = segment::split_bounded(&file)?;
        if let Some(session) = &self.session
            && (session.agent != header.agent || session.id != header.session)
        {
            return Err(Error::new(Kind::Corrupt, format!("a record of {session} names words of another session")));
        }
        self.stored += file.len() as u64;
        self.sources.push((piece.segment_id, file.len() as u64));
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
