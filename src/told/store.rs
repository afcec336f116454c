//! Texts of instruction files in the archive.

use std::collections::HashMap;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::{AGENT, InstructionFile, MAX_FILE_BYTES};
use crate::archive::{Archive, Chunk, Header, hex};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::transcript::SessionKey;

/// The longest text that is read, in bytes. Placeholders of redacted words can be longer than these.
const MAX_TEXT_BYTES: u64 = 4 * MAX_FILE_BYTES as u64;

/// Returns the session in the archive that has a text, by the text's SHA-256 in hex.
pub fn session_of(sha256: &str) -> SessionKey {
    SessionKey::new(AGENT, sha256)
}

/// Says whether a session of the archive is a text of an instruction file.
pub fn is_text(session: &SessionKey) -> bool {
    session.agent == AGENT
}

/// Stores texts, given with their SHA-256 in hex, and returns the segment of each. A text that the archive has is not
/// stored again, unless `is_purged` holds for its segment.
///
/// # Errors
///
/// As [`Archive::add`].
pub fn store<'t>(
    archive: &Archive<'_>,
    texts: impl Iterator<Item = (&'t str, &'t [u8])>,
    is_purged: impl Fn(ObjectId) -> bool,
    deadline: Instant,
) -> Result<HashMap<String, ObjectId>> {
    let mut segments = HashMap::new();
    let mut new = Vec::new();
    for (sha256, text) in texts {
        if segments.contains_key(sha256) {
            continue;
        }
        let key = session_of(sha256);
        let known = archive.newest(&key)?.filter(|id| !is_purged(*id) && read(archive, *id, sha256).is_ok());
        let segment_id = match known {
            Some(segment_id) => segment_id,
            None => {
                let segment_id = archive.write(&header(sha256, text), text)?;
                new.push((key, vec![segment_id]));
                segment_id
            }
        };
        segments.insert(sha256.to_owned(), segment_id);
    }
    if !new.is_empty() {
        archive.add_all(&new, "shiftlog: instruction files\n", deadline)?;
    }
    Ok(segments)
}

fn header(sha256: &str, text: &[u8]) -> Header {
    Header {
        shiftlog: 1,
        agent: AGENT.to_owned(),
        session: sha256.to_owned(),
        parent: None,
        keep: 0,
        bytes: text.len() as u64,
        sha256: sha256.to_owned(),
        time: Time::now().to_rfc3339(),
    }
}

/// Reads the text of an instruction file.
///
/// # Errors
///
/// [`Kind::Missing`] if only its digest is kept, if the repository lacks the text, or if others have removed it;
/// [`Kind::Corrupt`] if the segment does not have that text.
pub fn text(archive: &Archive<'_>, file: &InstructionFile) -> Result<Vec<u8>> {
    let missing = |why: &str| Error::new(Kind::Missing, why.to_owned());
    if let Some(why) = &file.left {
        return Err(missing(&format!("left out: {why}")));
    }
    let Some(hex) = &file.text else {
        let why = if file.sha256.is_some() { "only the digest is kept" } else { "removed" };
        return Err(missing(why));
    };
    let segment_id = archive.repo().parse_id(hex);
    let segment_id = segment_id.ok_or_else(|| Error::new(Kind::Corrupt, format!("'{hex}' is no object id")))?;
    read(archive, segment_id, file.sha256.as_deref().unwrap_or_default())
}

/// Reads a segment that must have the text with this SHA-256. Anyone can write a record that names another segment.
fn read(archive: &Archive<'_>, segment_id: ObjectId, sha256: &str) -> Result<Vec<u8>> {
    let key = session_of(sha256);
    let archive = archive.only(&key);
    let header = archive.header(segment_id)?;
    if header.keep != 0 || header.bytes > MAX_TEXT_BYTES {
        return Err(Error::new(Kind::Corrupt, format!("segment {segment_id} is no instruction file")));
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
        return Err(Error::new(Kind::Corrupt, format!("segment {segment_id} has another text than its record says")));
    }
    Ok(text)
}
