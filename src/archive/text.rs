//! Texts in the archive that are no transcripts: instruction files, and logs that are evidence.
//!
//! A text is one segment, the transcript of a session of its own, whose agent says what kind of text it is and whose id is
//! the SHA-256 of the text. So everything that reads, checks, shares and purges segments also does so with these texts.

use std::collections::HashMap;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::{Archive, Chunk, Header, hex};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::transcript::SessionKey;

/// The agent's name for texts of instruction files. No agent has this name.
pub const RULES: &str = "rules";
/// The agent's name for texts that are evidence. No agent has this name.
pub const EVIDENCE: &str = "evidence";

/// Says whether a session of the archive is a text.
pub fn is_text(session: &SessionKey) -> bool {
    [RULES, EVIDENCE].contains(&session.agent.as_str())
}

impl Archive<'_> {
    /// Stores texts of one kind, given with their SHA-256 in hex, and returns the segment of each. A text that the
    /// archive has already is not stored again, unless `is_purged` holds for its segment. `message` is that of the
    /// commit.
    ///
    /// # Errors
    ///
    /// As [`Archive::add`].
    pub fn store_texts<'t>(
        &self,
        kind: &str,
        texts: impl Iterator<Item = (&'t str, &'t [u8])>,
        is_purged: impl Fn(ObjectId) -> bool,
        message: &str,
        deadline: Instant,
    ) -> Result<HashMap<String, ObjectId>> {
        let mut segments = HashMap::new();
        let mut new = Vec::new();
        for (sha256, text) in texts {
            if segments.contains_key(sha256) {
                continue;
            }
            let key = SessionKey::new(kind, sha256);
            let is_whole = |id: &ObjectId| self.text(kind, *id, sha256, text.len() as u64).is_ok();
            let known = self.newest(&key)?.filter(|id| !is_purged(*id) && is_whole(id));
            let segment_id = match known {
                Some(segment_id) => segment_id,
                None => {
                    let mut time = Time::now();
                    let mut segment_id = self.write(&header(kind, sha256, text, time), text)?;
                    // What is stored again in the second in which it was stored before would be what was purged.
                    while is_purged(segment_id) {
                        time.seconds += 1;
                        segment_id = self.write(&header(kind, sha256, text, time), text)?;
                    }
                    new.push((key, vec![segment_id]));
                    segment_id
                }
            };
            segments.insert(sha256.to_owned(), segment_id);
        }
        if !new.is_empty() {
            self.add_all(&new, message, deadline)?;
        }
        Ok(segments)
    }

    /// Reads a segment that must have the text of this kind with this SHA-256, of at most `max_bytes`. Anyone can write a
    /// note that names another segment.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if the repository lacks the segment, or if others have removed it; [`Kind::Corrupt`] if it
    /// does not have that text.
    pub fn text(&self, kind: &str, segment_id: ObjectId, sha256: &str, max_bytes: u64) -> Result<Vec<u8>> {
        let key = SessionKey::new(kind, sha256);
        let archive = self.only(&key);
        let header = archive.header(segment_id)?;
        if header.keep != 0 || header.bytes > max_bytes {
            return Err(Error::new(Kind::Corrupt, format!("segment {segment_id} is no text of this kind")));
        }
        let contents = archive.transcript(segment_id);
        if let Some(problem) = contents.problems.first() {
            return Err(Error::new(Kind::Corrupt, problem.clone()));
        }
        if contents.pieces.iter().any(|piece| matches!(piece, Chunk::Gap(_))) {
            return Err(Error::new(Kind::Missing, "removed by others"));
        }
        let text = contents.into_bytes();
        if hex(&Sha256::digest(&text)) != sha256 {
            let why = format!("segment {segment_id} has another text than the note says");
            return Err(Error::new(Kind::Corrupt, why));
        }
        Ok(text)
    }
}

fn header(kind: &str, sha256: &str, text: &[u8], time: Time) -> Header {
    Header {
        shiftlog: 1,
        agent: kind.to_owned(),
        session: sha256.to_owned(),
        parent: None,
        keep: 0,
        bytes: text.len() as u64,
        sha256: sha256.to_owned(),
        time: time.to_rfc3339(),
    }
}
