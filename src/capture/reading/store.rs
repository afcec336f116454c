//! Storing the new part of a transcript.

use std::hash::Hasher as _;
use std::time::Instant;

use sha2::Digest as _;
use sha2::digest::common::hazmat::SerializableState as _;
use twox_hash::XxHash3_64;

use super::Reading;
use super::lines::LineChunk;
use crate::archive::segment::TARGET_BYTES;
use crate::archive::{Archive, Header, hex};
use crate::capture::progress::{Progress, ResumePoint};
use crate::capture::segment_end::SegmentEnd;
use crate::error::Result;
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::transcript::line_ends;

/// How many resume points are kept of a rendered transcript. Its line about the whole document and its last message
/// change in place, and the message before may still get its tool's result. Of some agents a message is two lines.
const MAX_RESUME_POINTS: usize = 5;

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
        if self.kept < until {
            // Segments that no ref will reach are not written.
            archive.wait_while_locked(deadline)?;
        }
        let segment_ids = self.write(archive, until)?;
        if !segment_ids.is_empty() {
            archive.add(&self.key, &segment_ids, deadline)?;
        }
        self.update(progress);
        Ok(())
    }

    /// Sets the capture time, for a transcript that was captured in the past.
    pub fn captured_at(self, time: Time) -> Self {
        Reading { time: Some(time), ..self }
    }

    /// Writes everything up to the line end at `until` as segments and returns their ids. No ref reaches them yet.
    ///
    /// # Errors
    ///
    /// As [`Archive::write`], or if nothing can be redacted.
    pub fn write(&mut self, archive: &Archive<'_>, until: u64) -> Result<Vec<ObjectId>> {
        self.lines.can_redact()?;
        let mut segment_ids = Vec::new();
        while self.kept < until {
            let chunk = self.lines.chunk(self.kept, until, TARGET_BYTES)?;
            let body = chunk.redacted();
            if chunk.is_empty() {
                break;
            }
            let (mut body_start, mut line_start) = (0, 0);
            for (body_end, line_end) in self.resume_points_in(&chunk, until) {
                self.sha256.update(&body[body_start..body_end]);
                self.xxh3.write(&chunk.lines()[line_start..line_end]);
                (body_start, line_start) = (body_end, line_end);
                self.resume_points.push(ResumePoint {
                    bytes: self.kept_bytes + body_end as u64,
                    raw: self.kept + line_end as u64,
                    sha256_state: hex(&self.sha256.serialize()),
                    xxh3: hex_of(&self.xxh3),
                });
            }
            self.sha256.update(&body[body_start..]);
            self.xxh3.write(&chunk.lines()[line_start..]);
            let segment_id = archive.write(&self.header(body.len() as u64), body)?;
            segment_ids.push(segment_id);
            self.parent = Some(segment_id);
            self.kept = chunk.end();
            self.kept_bytes += body.len() as u64;
            self.parent_bytes = self.kept_bytes;
        }
        self.resume_points.drain(..self.resume_points.len().saturating_sub(MAX_RESUME_POINTS));
        Ok(segment_ids)
    }

    /// Returns the resume points in the last chunk of a rendered transcript, as line ends of the redacted text and of
    /// the agent's lines.
    fn resume_points_in(&self, chunk: &LineChunk, until: u64) -> Vec<(usize, usize)> {
        if chunk.end() != until || !self.is_rendered {
            return Vec::new();
        }
        let mut ends: Vec<(usize, usize)> = line_ends(chunk.redacted()).zip(line_ends(chunk.lines())).collect();
        ends.pop();
        ends.split_off(ends.len().saturating_sub(MAX_RESUME_POINTS))
    }

    /// Makes the stored transcript end at `kept_bytes`, although the archive has more. Uses the segment of the chain
    /// that ends there, or writes one without bytes and returns it. Does nothing if the archive has no more.
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

    /// Returns the header of a segment that adds `bytes` bytes; they must be in `self.sha256` already.
    fn header(&self, bytes: u64) -> Header {
        Header {
            shiftlog: 1,
            agent: self.key.agent.clone(),
            session: self.key.id.clone(),
            parent: self.parent.map(|id| id.to_string()),
            keep: self.kept_bytes,
            bytes,
            sha256: hex(&self.sha256.clone().finalize()),
            time: self.time.unwrap_or_else(Time::now).to_rfc3339(),
        }
    }

    /// Updates `progress` to the stored length.
    pub fn update(&self, progress: &mut Progress) {
        let is_fully_kept = self.kept_bytes == self.parent_bytes;
        let segment = self.parent.map(|id| id.to_string());
        progress.resume_points.clone_from(&self.resume_points);
        progress.stored = SegmentEnd { segment, bytes: self.parent_bytes, raw: is_fully_kept.then_some(self.kept) };
        progress.sha256_state = is_fully_kept.then(|| hex(&self.sha256.serialize()));
        progress.xxh3 = is_fully_kept.then(|| hex_of(&self.xxh3));
    }

    /// Returns the SHA-256, in hex, of the stored transcript.
    ///
    /// # Errors
    ///
    /// If the newest segment cannot be read. It is only read after the agent cut its file short.
    pub fn stored_sha256(&self, archive: &Archive<'_>) -> Result<String> {
        match self.parent.filter(|_| self.kept_bytes != self.parent_bytes) {
            Some(parent) => Ok(archive.header(parent)?.sha256),
            None => Ok(hex(&self.sha256.clone().finalize())),
        }
    }
}

/// Returns a hash as [`Progress::xxh3`] has it.
pub(super) fn hex_of(xxh3: &XxHash3_64) -> String {
    hex(&xxh3.finish().to_be_bytes())
}
