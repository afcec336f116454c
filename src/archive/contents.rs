//! A transcript, or a part of one, put together from its segments.

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
        // A segment that keeps nothing of its parent does not need the older segments.
        let (links, error) = self.chain_until(through, |link| link.header.keep == 0);
        let mut contents = self.assemble(&links, 0, error);
        let is_whole = !contents.pieces.iter().any(|piece| matches!(piece, Chunk::Gap(_)));
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

    /// Returns the increment from `since` to `through`; only its own segments are unpacked.
    pub fn increment(&self, since: Option<ObjectId>, through: ObjectId) -> Contents {
        let Some(since) = since else { return self.transcript(through) };
        let (links, error) = self.chain(through, Some(since));
        let start = increment_start(&links, since);
        // If the file was rewritten, the increment can begin before `since`; then older segments are needed.
        let reaches = links.last().is_some_and(|link| link.header.keep <= start);
        if reaches || error.is_some() {
            self.assemble(&links, start, error)
        } else {
            let (links, error) = self.chain(through, None);
            self.assemble(&links, start, error)
        }
    }

    /// Reads the bytes from `start` on. `links` is a chain, newest first; `error` is the reason why it ends too early.
    fn assemble(&self, links: &[Link], start: u64, mut error: Option<Error>) -> Contents {
        let mut contents = Contents::default();
        let mut limit = u64::MAX;
        let mut reversed = Vec::new();
        let (mut stored, mut unpacked) = (0, 0);
        contents.links = links.len();
        for link in links {
            let (from, to) = (link.header.keep.max(start), link.header.total_bytes().min(limit));
            if from < to && self.barred.is_some_and(|barred| barred.contains(&link.segment_id)) {
                reversed.push(Chunk::Gap(to - from));
            } else if from < to {
                let file = self.repo.read_blob(link.segment_id, MAX_FILE_BYTES);
                let file_bytes = file.as_ref().map_or(0, |file| file.len() as u64);
                stored += file_bytes;
                unpacked = link.header.bytes.saturating_add(unpacked);
                contents.sources.push((link.segment_id, file_bytes));
                // Each segment can be within its limit, and all together unpack to far too much.
                let is_too_much = unpacked > segment::unpacked_limit(stored);
                let read = file.and_then(|file| match is_too_much {
                    true => {
                        Err(Error::new(Kind::Corrupt, "the session unpacks to far more than its stored size allows"))
                    }
                    false => segment::decode(&file),
                });
                match read {
                    Ok((header, mut body)) => {
                        body.truncate((to - header.keep) as usize);
                        body.drain(..((from - header.keep) as usize).min(body.len()));
                        reversed.push(Chunk::Bytes(body));
                    }
                    Err(problem) => {
                        contents.problems.push(format!("segment {} cannot be read: {problem}", link.segment_id));
                        reversed.push(Chunk::Gap(to - from));
                    }
                }
            }
            limit = link.header.keep.min(limit);
            if limit <= start {
                error = None;
                break;
            }
        }
        if let Some(error) = error {
            contents.problems.push(error.to_string());
            if limit > start && limit != u64::MAX {
                reversed.push(Chunk::Gap(limit - start));
            }
        }
        reversed.reverse();
        contents.pieces = reversed;
        contents
    }
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
