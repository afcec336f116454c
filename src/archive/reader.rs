//! Reading a stored transcript like a file, with one segment in memory at a time.

use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

use super::{Archive, Link};
use crate::git::ObjectId;

/// A transcript in the archive, perhaps followed by further bytes in memory.
pub struct Transcript<'r> {
    archive: Archive<'r>,
    parts: Vec<Part>,
    position: u64,
    /// The index of the part that was read last, and the bytes of its segment.
    loaded: Option<(usize, Vec<u8>)>,
    unpacked_bytes: u64,
}

/// A part of the transcript that is stored in one place.
struct Part {
    /// The range of the part in the transcript.
    start: u64,
    end: u64,
    source: PartSource,
}

enum PartSource {
    /// In a segment whose own bytes begin at position `keep` of the transcript.
    Segment { segment_id: ObjectId, keep: u64 },
    /// In memory.
    Bytes(Vec<u8>),
}

impl<'r> Transcript<'r> {
    /// Returns the transcript of a whole chain of segments, newest first. Reads nothing.
    pub(super) fn new(archive: Archive<'r>, links: &[Link]) -> Self {
        let mut parts = Vec::new();
        let mut limit = links.first().map_or(0, |link| link.header.total_bytes());
        for link in links {
            let keep = link.header.keep;
            if keep < limit {
                let source = PartSource::Segment { segment_id: link.segment_id, keep };
                parts.push(Part { start: keep, end: limit, source });
                limit = keep;
            }
        }
        parts.reverse();
        Transcript { archive, parts, position: 0, loaded: None, unpacked_bytes: 0 }
    }

    /// Returns the length of the transcript in bytes.
    pub fn length(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    /// Returns how many bytes were unpacked to read it, also those of segments that were read in part.
    pub fn unpacked_bytes(&self) -> u64 {
        self.unpacked_bytes
    }

    /// Returns the first `length` bytes of the transcript, followed by `bytes`.
    pub fn followed_by(mut self, length: u64, bytes: Vec<u8>) -> Self {
        self.parts.retain(|part| part.start < length);
        if let Some(last) = self.parts.last_mut() {
            last.end = last.end.min(length);
        }
        let start = self.length();
        self.parts.push(Part {
            start,
            end: start.saturating_add(bytes.len() as u64),
            source: PartSource::Bytes(bytes),
        });
        self
    }

    /// Returns all bytes of a part.
    fn load(&mut self, index: usize) -> Result<&[u8]> {
        let too_short = || Error::new(ErrorKind::InvalidData, "a segment is shorter than its header says");
        let part = &self.parts[index];
        let length = part.end.checked_sub(part.start).and_then(|length| usize::try_from(length).ok());
        let length = length.ok_or_else(too_short)?;
        let (segment_id, skipped) = match &part.source {
            PartSource::Bytes(bytes) => return bytes.get(..length).ok_or_else(too_short),
            PartSource::Segment { segment_id, keep } => (*segment_id, part.start.checked_sub(*keep)),
        };
        let skipped = skipped.and_then(|skipped| usize::try_from(skipped).ok()).ok_or_else(too_short)?;
        let end = skipped.checked_add(length).ok_or_else(too_short)?;
        if self.loaded.as_ref().is_none_or(|(loaded, _)| *loaded != index) {
            self.loaded = None;
            let (_, body) = self.archive.read(segment_id).map_err(|error| Error::other(error.to_string()))?;
            self.unpacked_bytes = self.unpacked_bytes.saturating_add(body.len() as u64);
            self.loaded = Some((index, body));
        }
        let bytes = self.loaded.as_ref().and_then(|(_, body)| body.get(skipped..end));
        bytes.ok_or_else(too_short)
    }
}

impl Read for Transcript<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let position = self.position;
        let index = self.parts.partition_point(|part| part.end <= position);
        let Some(part) = self.parts.get(index) else { return Ok(0) };
        let gap = || Error::new(ErrorKind::InvalidData, "a part of the transcript is missing");
        let offset =
            position.checked_sub(part.start).and_then(|offset| usize::try_from(offset).ok()).ok_or_else(gap)?;
        let bytes = self.load(index)?.get(offset..).ok_or_else(gap)?;
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for Transcript<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.length().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
