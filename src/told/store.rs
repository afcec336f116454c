//! Texts of instruction files in the archive.

use std::collections::HashMap;
use std::time::Instant;

use super::{InstructionFile, MAX_FILE_BYTES};
use crate::archive::{Archive, text};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// The longest text that is read, in bytes. Placeholders of redacted words can be longer than these.
const MAX_TEXT_BYTES: u64 = 4 * MAX_FILE_BYTES as u64;

/// Returns the session in the archive that has a text, by the text's SHA-256 in hex.
pub fn session_of(sha256: &str) -> SessionKey {
    SessionKey::new(text::RULES, sha256)
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
    archive.store_texts(text::RULES, texts, is_purged, "shiftlog: instruction files\n", deadline)
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
    archive.text(text::RULES, segment_id, file.sha256.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)
}
