//! A transcript, or a part of one, put together from its segments.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::{Archive, Link, MAX_FILE_BYTES, hex, segment};
use crate::error::{Error, Kind};
use crate::git::ObjectId;

/// A part of a transcript that was read back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Chunk {
    /// Bytes that were read.
    Bytes(Vec<u8>),
    /// This many bytes are missing, because their segment is missing, damaged or barred.
    Gap(u64),
}

/// The bytes `from..to` of a transcript, which are stored in one segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SegmentSpan {
    /// The segment.
    pub segment_id: ObjectId,
    /// The position in the transcript at which the bytes of the segment begin.
    pub keep: u64,
    /// How many bytes the segment has.
    pub segment_bytes: u64,
    /// The size of its file.
    pub stored_bytes: u64,
    /// Where the piece begins in the transcript.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
}

impl SegmentSpan {
    /// Returns how many bytes it has.
    pub fn length(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// Where an increment is stored.
#[derive(Debug)]
pub struct Stored {
    /// The places of its bytes, oldest first.
    pub pieces: Vec<SegmentSpan>,
    /// How many segments were read to find them.
    pub links: usize,
    /// The reason if some of its bytes are nowhere.
    pub problem: Option<Error>,
    /// The SHA-256 of the bytes in hex, if they are a whole transcript.
    pub sha256: Option<String>,
}

impl Stored {
    /// Returns how many bytes the segments have: all of each, also where only a part of it is wanted.
    pub fn segment_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.segment_bytes).fold(0, u64::saturating_add)
    }

    /// Finds the bytes between two positions. `links` is a chain, newest first; `error` is the reason why it ends too early.
    fn of(links: &[Link], range: Range<u64>, error: Option<Error>) -> Self {
        let start = range.start;
        let (mut pieces, limit) = pieces(links, range);
        pieces.reverse();
        Stored { pieces, links: links.len(), problem: error.filter(|_| limit > start), sha256: None }
    }
}

/// A transcript, or a part of one, read back from its segments.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The pieces in order.
    pub pieces: Vec<Chunk>,
    /// Descriptions of what is wrong: missing segments, or a digest that differs.
    pub problems: Vec<String>,
    /// The segments that were unpacked, each with the size of its file.
    pub sources: Vec<(ObjectId, u64)>,
    /// How many segments were read.
    pub links: usize,
    /// How many bytes the segments have that were read: all of each, also where only a part of it is here.
    pub segment_bytes: u64,
    /// How many bytes follow that were not read, because only the beginning was wanted.
    pub left_bytes: u64,
}

impl Contents {
    /// Returns the bytes, without gaps.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            if let Chunk::Bytes(piece) = piece {
                bytes.extend_from_slice(piece);
            }
        }
        bytes
    }

    /// Returns the bytes, without gaps, and drops the pieces one by one, so that a transcript is not in memory twice.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in self.pieces {
            match piece {
                Chunk::Bytes(piece) if bytes.is_empty() => bytes = piece,
                Chunk::Bytes(piece) => bytes.extend_from_slice(&piece),
                Chunk::Gap(_) => {}
            }
        }
        bytes
    }

    /// Returns how many bytes were unpacked.
    pub fn unpacked_bytes(&self) -> u64 {
        let lengths = self.pieces.iter().map(|piece| match piece {
            Chunk::Bytes(bytes) => bytes.len() as u64,
            Chunk::Gap(_) => 0,
        });
        lengths.sum()
    }
}

impl Archive<'_> {
    /// Returns the whole transcript that ends with `through`, checked against its SHA-256.
    ///
    /// Costs one read and one decompression per segment. A missing segment shows as a gap and as a problem, a different
    /// digest as a problem.
    pub fn transcript(&self, through: ObjectId) -> Contents {
        self.increment(None, through)
    }

    /// Returns the increment from `since` to `through`; only its own segments are unpacked. Without `since` it is the whole
    /// transcript, as [`Archive::transcript`] returns it.
    pub fn increment(&self, since: Option<ObjectId>, through: ObjectId) -> Contents {
        self.beginning(since, through, |_| u64::MAX)
    }

    /// Returns the beginning of an increment, as long as `limit` says of its segments, in bytes. What follows is not unpacked,
    /// and then no digest is checked.
    pub fn beginning(
        &self,
        since: Option<ObjectId>,
        through: ObjectId,
        limit: impl FnOnce(&[Link]) -> u64,
    ) -> Contents {
        let (links, start, error) = self.links(since, through);
        let end = start.saturating_add(limit(&links));
        let mut contents = self.assemble(&links, start..end, error);
        contents.left_bytes = links.first().map_or(0, |last| last.header.total_bytes().saturating_sub(end));
        let is_gap = |piece: &Chunk| matches!(piece, Chunk::Gap(_));
        let is_whole = since.is_none() && contents.left_bytes == 0 && !contents.pieces.iter().any(is_gap);
        if let Some(last) = links.first().filter(|_| is_whole) {
            let mut digest = Sha256::new();
            for piece in &contents.pieces {
                if let Chunk::Bytes(bytes) = piece {
                    digest.update(bytes);
                }
            }
            if hex(&digest.finalize()) != last.header.sha256 {
                contents.problems.push(format!("the transcript does not match the digest in segment {through}"));
            }
        }
        contents
    }

    /// Returns the bytes between two positions of the transcript that ends with `through`; only the segments that have
    /// them are unpacked.
    pub fn range(&self, through: ObjectId, range: Range<u64>) -> Contents {
        let (links, _, error) = self.links(None, through);
        self.assemble(&links, range, error)
    }

    /// Returns where the bytes of the increment from `since` to `through` are stored. Unpacks nothing.
    pub fn pieces(&self, since: Option<ObjectId>, through: ObjectId) -> Stored {
        let (links, start, error) = self.links(since, through);
        let sha256 = links.first().filter(|_| since.is_none()).map(|last| last.header.sha256.clone());
        Stored { sha256, ..Stored::of(&links, start..u64::MAX, error) }
    }

    /// Returns where the bytes between two positions of the transcript that ends with `through` are stored. Unpacks nothing.
    pub fn pieces_within(&self, through: ObjectId, range: Range<u64>) -> Stored {
        let (links, _, error) = self.links(None, through);
        Stored::of(&links, range, error)
    }

    /// Returns the segments, newest first, that have the increment from `since` to `through`, and where it begins. The
    /// error is the reason why the chain ends too early.
    fn links(&self, since: Option<ObjectId>, through: ObjectId) -> (Vec<Link>, u64, Option<Error>) {
        let Some(since) = since else {
            // A segment that keeps nothing of its parent does not need the older segments.
            let (links, error) = self.chain_until(through, |link| link.header.keep == 0);
            return (links, 0, error);
        };
        let (links, error) = self.chain(through, Some(since));
        let start = increment_start(&links, since);
        // If the file was rewritten, the increment can begin before `since`; then older segments are needed.
        let reaches = links.last().is_some_and(|link| link.header.keep <= start);
        if let Some(error) = error {
            // The increment does not need the words of `since` itself.
            let parent = links.last().and_then(|link| self.repo.parse_id(link.header.parent.as_deref()?));
            let end =
                if parent == Some(since) { start } else { self.header(since).map_or(0, |since| since.total_bytes()) };
            return (links, start.min(end), Some(error));
        }
        if reaches {
            return (links, start, None);
        }
        let (links, error) = self.chain(through, None);
        (links, start, error)
    }

    /// Reads the bytes between two positions. `links` is a chain, newest first; `error` is the reason why it ends too
    /// early.
    fn assemble(&self, links: &[Link], range: Range<u64>, error: Option<Error>) -> Contents {
        let Range { start, end } = range.clone();
        let mut contents = Contents { links: links.len(), ..Contents::default() };
        let mut reversed = Vec::new();
        let (mut stored, mut unpacked) = (0, 0);
        let (pieces, limit) = pieces(links, range);
        for piece in pieces {
            if self.is_barred(piece.segment_id) {
                reversed.push(Chunk::Gap(piece.length()));
                continue;
            }
            let file = self.repo.read_blob(piece.segment_id, MAX_FILE_BYTES);
            let file_bytes = file.as_ref().map_or(0, |file| file.len() as u64);
            stored += file_bytes;
            unpacked = piece.segment_bytes.saturating_add(unpacked);
            contents.sources.push((piece.segment_id, file_bytes));
            contents.segment_bytes = unpacked;
            // Each segment can be within its limit, and all together unpack to far too much.
            let read = file.and_then(|file| match unpacked > segment::unpacked_limit(stored) {
                true => Err(too_much()),
                false => segment::decode(&file),
            });
            match read {
                Ok((_, mut body)) => {
                    body.truncate((piece.to - piece.keep) as usize);
                    body.drain(..((piece.from - piece.keep) as usize).min(body.len()));
                    reversed.push(Chunk::Bytes(body));
                }
                Err(problem) => {
                    contents.problems.push(format!("segment {} cannot be read: {problem}", piece.segment_id));
                    reversed.push(Chunk::Gap(piece.length()));
                }
            }
        }
        if let Some(error) = error.filter(|_| limit > start) {
            contents.problems.push(error.to_string());
            if limit != u64::MAX {
                reversed.push(Chunk::Gap(limit.min(end).saturating_sub(start)));
            }
        }
        reversed.reverse();
        contents.pieces = reversed;
        contents
    }

    /// Says whether the words of a segment must not be read.
    pub(super) fn is_barred(&self, segment_id: ObjectId) -> bool {
        self.barred.is_some_and(|barred| barred.contains(&segment_id))
    }
}

pub(super) fn too_much() -> Error {
    Error::new(Kind::Corrupt, "the session unpacks to far more than its stored size allows")
}

/// Returns where the bytes between two positions are, newest first, and the position that the chain reaches back to;
/// [`u64::MAX`] for an empty chain.
fn pieces(links: &[Link], Range { start, end }: Range<u64>) -> (Vec<SegmentSpan>, u64) {
    let (mut pieces, mut limit) = (Vec::new(), u64::MAX);
    for Link { segment_id, header, stored_bytes } in links {
        let (from, to) = (header.keep.max(start), header.total_bytes().min(limit).min(end));
        if from < to {
            let (segment_id, stored_bytes) = (*segment_id, *stored_bytes);
            let (keep, segment_bytes) = (header.keep, header.bytes);
            pieces.push(SegmentSpan { segment_id, keep, segment_bytes, stored_bytes, from, to });
        }
        limit = header.keep.min(limit);
        if limit <= start {
            break;
        }
    }
    (pieces, limit)
}

/// Returns where the increment after `since` begins, in bytes of the transcript at the end of a chain.
///
/// This is the length of the transcript at `since`, or the smallest `keep` of the segments in between if that is less:
/// then the agent rewrote its file.
fn increment_start(links: &[Link], since: ObjectId) -> u64 {
    let mut start = u64::MAX;
    for link in links {
        if link.segment_id == since {
            return start.min(link.header.total_bytes());
        }
        start = start.min(link.header.keep);
    }
    // `since` is not on this chain. Both share at most what the oldest segment read keeps.
    if start == u64::MAX { 0 } else { start }
}
