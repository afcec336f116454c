//! Storing what is new of a transcript.

use std::hash::Hasher as _;
use std::time::Instant;

use sha2::Digest as _;
use sha2::digest::common::hazmat::SerializableState as _;
use twox_hash::XxHash3_64;

use super::Reading;
use super::lines::Piece;
use crate::archive::segment::TARGET_BYTES;
use crate::archive::{Archive, Header, hex};
use crate::capture::state::{Head, Mark, Progress};
use crate::error::Result;
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::transcript::line_ends;

/// How many line ends before the last one are remembered of a rendered transcript: the line about the whole document and
/// the last message change in place, and a message before it may still get its tool's answer.
const HEADS: usize = 3;

impl Reading<'_> {
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
        let segment_ids = self.write(archive, until)?;
        if !segment_ids.is_empty() {
            archive.add(&self.key, &segment_ids, deadline)?;
        }
        self.update(progress);
        Ok(())
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
            let piece = self.lines.piece(self.kept, until, TARGET_BYTES)?;
            let body = piece.redacted();
            if piece.is_empty() {
                break;
            }
            let (mut body_start, mut line_start) = (0, 0);
            for (body_end, line_end) in self.heads_of(&piece, until) {
                self.digest.update(&body[body_start..body_end]);
                self.check.write(&piece.lines()[line_start..line_end]);
                (body_start, line_start) = (body_end, line_end);
                self.heads.push(Head {
                    bytes: self.kept_bytes + body_end as u64,
                    raw: self.kept + line_end as u64,
                    digest: hex(&self.digest.serialize()),
                    check: hex_of(&self.check),
                });
            }
            self.digest.update(&body[body_start..]);
            self.check.write(&piece.lines()[line_start..]);
            let segment_id = archive.write(&self.header(body.len() as u64), body)?;
            segment_ids.push(segment_id);
            self.parent = Some(segment_id);
            self.kept = piece.end();
            self.kept_bytes += body.len() as u64;
            self.parent_bytes = self.kept_bytes;
        }
        self.heads.drain(..self.heads.len().saturating_sub(HEADS));
        Ok(segment_ids)
    }

    /// Returns the line ends in the last piece of a rendered transcript that are remembered, in the stored text and in the
    /// agent's lines.
    fn heads_of(&self, piece: &Piece, until: u64) -> Vec<(usize, usize)> {
        if piece.end() != until || !self.is_rendered {
            return Vec::new();
        }
        let mut ends: Vec<(usize, usize)> = line_ends(piece.redacted()).zip(line_ends(piece.lines())).collect();
        ends.pop();
        ends.split_off(ends.len().saturating_sub(HEADS))
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

    /// Returns the header of a segment that adds so many bytes to what is kept; they must be in the digest already.
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
        progress.heads.clone_from(&self.heads);
        progress.stored = Mark { segment, bytes: self.parent_bytes, raw: is_level.then_some(self.kept) };
        progress.digest = is_level.then(|| hex(&self.digest.serialize()));
        progress.check = is_level.then(|| hex_of(&self.check));
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

/// Returns a check as [`Progress`] has it.
pub(super) fn hex_of(check: &XxHash3_64) -> String {
    format!("{:016x}", check.finish())
}
