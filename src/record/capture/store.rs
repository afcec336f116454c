//! Storing what is new of a transcript.

use std::hash::Hasher as _;
use std::sync::Arc;
use std::time::Instant;

use sha2::Digest as _;
use sha2::digest::common::hazmat::SerializableState as _;
use twox_hash::XxHash3_64;

use super::ahead::Ready;
use super::piece::Piece;
use super::{Reading, hex_of};
use crate::archive::segment::{self, TARGET_BYTES};
use crate::archive::{Archive, Header, hex};
use crate::error::Result;
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::record::state::{Base, Head, Mark, Progress};
use crate::transcript::without_last_line;

impl Reading<'_> {
    /// Stores everything up to the line end at `until` and brings `progress` up to date. If it turns out that a document
    /// does not begin as it did, another one is stored than there is: `false` is returned, and it is to be read anew.
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
    ) -> Result<bool> {
        let segment_ids = self.write(archive, until)?;
        if !segment_ids.is_empty() {
            archive.add(&self.key, &segment_ids, deadline)?;
        }
        let holds = self.prove();
        self.update(progress);
        if !holds {
            progress.forget_beginning();
        }
        Ok(holds)
    }

    /// Sets when the transcript was captured, for what was captured long ago.
    pub fn captured_at(self, time: Time) -> Self {
        Reading { time: Some(time), ..self }
    }

    /// Writes segments with everything up to the line end at `until`, and returns them: nothing reaches them yet.
    ///
    /// # Errors
    ///
    /// As [`Archive::write`], or if nothing can be redacted.
    pub fn write(&mut self, archive: &Archive<'_>, until: u64) -> Result<Vec<ObjectId>> {
        self.lines.can_redact()?;
        let mut segment_ids = Vec::new();
        while self.kept < until {
            let piece = self.piece(self.kept, until, TARGET_BYTES)?;
            let body = piece.redacted();
            if piece.is_empty() {
                break;
            }
            let mut done = (0, 0);
            for (head, raw) in self.ends(&piece, until) {
                self.digest.update(&body[done.0..head]);
                self.check.write(&piece.lines()[done.1..raw]);
                done = (head, raw);
                if self.list_end == Some(self.kept + raw as u64) && self.list_bytes.is_none() {
                    self.list_bytes = Some(self.kept_bytes + head as u64);
                    self.check = XxHash3_64::new();
                    self.heads.clear();
                }
                let head = Head {
                    bytes: self.kept_bytes + head as u64,
                    raw: self.kept + raw as u64,
                    digest: hex(&self.digest.serialize()),
                    check: hex_of(&self.check),
                };
                if self.heads.last().is_none_or(|last| last.raw < head.raw) {
                    self.heads.push(head);
                }
            }
            self.digest.update(&body[done.0..]);
            self.check.write(&piece.lines()[done.1..]);
            let ready = self.ready.take().filter(|ready| Arc::ptr_eq(&ready.piece, &piece));
            let frame = ready.and_then(Ready::frame).map_or_else(|| segment::compress(body).map(Arc::new), Ok)?;
            let segment_id = archive.write_frame(&self.header(body.len() as u64), &frame)?;
            segment_ids.push(segment_id);
            self.parent = Some(segment_id);
            self.kept = piece.end();
            self.kept_bytes += body.len() as u64;
            self.parent_bytes = self.kept_bytes;
        }
        Ok(segment_ids)
    }

    /// Returns the line ends in the last piece of a document that are remembered, in the text as it is stored and in the
    /// lines: where those about the list end that can be gone on with, and where the last line begins.
    fn ends(&self, piece: &Piece, until: u64) -> Vec<(usize, usize)> {
        if piece.end() != until || !self.is_document {
            return Vec::new();
        }
        let list_end = self.list_end.filter(|end| (self.kept..=until).contains(end));
        let list_end = list_end.and_then(|end| Some((piece.offset(end)?, (end - self.kept) as usize)));
        let last = (without_last_line(piece.redacted()), without_last_line(piece.lines()));
        list_end.into_iter().chain(list_end.is_none_or(|end| end < last).then_some(last)).collect()
    }

    /// Makes the transcript end where it is kept, though what is stored goes on: with the segment of the chain that
    /// ends there, or a new one without bytes, which is returned. Does nothing if nothing else is stored.
    ///
    /// # Errors
    ///
    /// As [`Archive::write`].
    pub fn cut(&mut self, archive: &Archive<'_>) -> Result<Option<ObjectId>> {
        let Some(parent) = self.parent.filter(|_| self.kept_bytes < self.parent_bytes) else { return Ok(None) };
        let header = self.header(0);
        let (links, _) = archive.chain(parent, None);
        let ends_here = |link: &&crate::archive::Link| {
            link.header.total_bytes() == self.kept_bytes && link.header.sha256 == header.sha256
        };
        let known = links.iter().find(ends_here).map(|link| link.segment_id);
        let new = if known.is_none() { Some(archive.write(&header, b"")?) } else { None };
        self.parent = known.or(new);
        self.parent_bytes = self.kept_bytes;
        Ok(new)
    }

    /// Returns the header of a segment that adds so many bytes to what is kept; they are in the digest already.
    fn header(&self, bytes: u64) -> Header {
        Header {
            shiftlog: 1,
            agent: self.key.agent.clone(),
            session: self.key.id.clone(),
            parent: self.parent.map(|id| id.to_string()),
            keep: self.kept_bytes,
            bytes,
            sha256: hex(&self.digest.clone().finalize()),
            time: self.time.unwrap_or_else(Time::now).to_rfc3339(),
        }
    }

    /// Brings `progress` up to date with what is written.
    pub fn update(&self, progress: &mut Progress) {
        let is_level = self.kept_bytes == self.parent_bytes;
        let segment = self.parent.map(|id| id.to_string());
        // What was known is about what was stored.
        if segment != progress.stored.segment {
            progress.heads.clone_from(&self.heads);
        }
        progress.stored = Mark { segment, bytes: self.parent_bytes, raw: is_level.then_some(self.kept) };
        progress.digest = is_level.then(|| hex(&self.digest.serialize()));
        progress.check = is_level.then(|| hex_of(&self.check));
        let base = match self.list_bytes {
            Some(bytes) => self.anchor.clone().map(|anchor| Base { bytes, anchor }),
            None => self.base.clone(),
        };
        progress.base = base.filter(|_| is_level);
        progress.is_granted = self.is_granted;
    }

    /// Waits until it is known whether a document begins as it did when that was stored, and says so.
    pub fn prove(&mut self) -> bool {
        if let Some(known) = self.proof.take() {
            self.anchor = known.anchor();
            self.is_disproved = self.anchor.is_none();
        }
        !self.is_disproved
    }

    /// Says whether the stored part was found to be what it was, and is not only taken for that.
    pub fn is_same(&self) -> bool {
        self.is_same && !self.is_granted && !self.is_disproved
    }

    /// Says whether nobody has looked at the stored part.
    pub fn is_granted(&self) -> bool {
        self.is_granted
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
}
