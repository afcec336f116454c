//! The text of evidence: from the archive, or from its file.

use std::io::ErrorKind;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::archive::{Archive, text};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, private};
use crate::hex::hex;
use crate::record::Evidence;

/// The longest text that is read from the archive, in bytes. Placeholders of redacted words can be longer than these.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// Returns the text of evidence: the stored one, or that of its file if this is still there and has not changed.
///
/// # Errors
///
/// [`Kind::Missing`] with the reason.
pub fn text_of(archive: &Archive<'_>, evidence: &Evidence) -> Result<Vec<u8>> {
    let missing = |reason: &str| Error::new(Kind::Missing, format!("cannot show '{}'", evidence.name)).because(reason);
    let stored = evidence.blob.as_ref().map(|_| stored_text(archive, evidence));
    if let Some(Ok(text)) = stored {
        return Ok(text);
    }
    // What is stored is not in this clone, but the file may be.
    file_text(archive.repo(), evidence).map_err(|reason| match &stored {
        Some(Err(error)) => missing(&error.to_string()),
        _ => missing(reason),
    })
}

/// Returns the stored text of evidence.
///
/// # Errors
///
/// [`Kind::Missing`] if it is not stored or not in this repository; [`Kind::Corrupt`] if the segment has another text.
pub fn stored_text(archive: &Archive<'_>, evidence: &Evidence) -> Result<Vec<u8>> {
    let hex = evidence.blob.as_deref().ok_or_else(|| Error::new(Kind::Missing, "the text is not stored"))?;
    let corrupt = || Error::new(Kind::Corrupt, format!("'{hex}' is no object id"));
    let segment_id = archive.repo().parse_id(hex).ok_or_else(corrupt)?;
    archive.text(text::EVIDENCE, segment_id, &evidence.sha256, MAX_TEXT_BYTES)
}

fn file_text(repo: &Repository, evidence: &Evidence) -> Result<Vec<u8>, &'static str> {
    if evidence.sha256.is_empty() {
        return Err("its digest is not known");
    }
    let path = path_of(repo, &evidence.name).ok_or("it is not in this working tree")?;
    let text = private::read(&path, evidence.size).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge | ErrorKind::Other => "the file has changed",
        ErrorKind::NotFound => "the file is not here",
        _ => "the file cannot be read",
    })?;
    if hex(&Sha256::digest(&text)) != evidence.sha256 {
        return Err("the file has changed");
    }
    Ok(text)
}

/// Returns the file that a name in a note stands for. A note can come from somebody else: nothing outside the working
/// tree is read, also not through a link.
fn path_of(repo: &Repository, name: &str) -> Option<PathBuf> {
    let top = repo.worktree()?.canonicalize().ok()?;
    let path = top.join(name).canonicalize().ok()?;
    let is_inside = path.starts_with(&top) && !path.starts_with(repo.git_dir().canonicalize().ok()?);
    is_inside.then_some(path)
}
