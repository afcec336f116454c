//! Captures that could not be stored, kept as files until a later command can.
//!
//! A file is one line of JSON and then the transcript's bytes, redacted, from where the archive ends. Where nothing could
//! be redacted it holds no bytes, and says where the agent has them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::State;
use super::state::{Mark, write_private};
use crate::error::{Error, Kind, Result};

/// The first line of a pending file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Capture {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The agent's name.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The commits to record the session on, in hex; none if the words are only to be kept.
    pub commits: Vec<String>,
    /// What the archive had; the bytes follow it.
    pub from: Mark,
    /// The agent's own transcript, if the words were left there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Elsewhere>,
}

/// Words that are still where the agent wrote them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Elsewhere {
    /// The agent's file.
    pub path: PathBuf,
    /// How far it belongs to the commits.
    pub until: u64,
}

/// Keeps a capture and returns the file's path.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn keep(state: &State, capture: &Capture, bytes: &[u8]) -> Result<PathBuf> {
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let path = state.pending_dir().join(format!("{nanos}-{}", std::process::id()));
    let mut contents =
        serde_json::to_vec(capture).map_err(|error| Error::other("cannot keep a capture").because(error))?;
    contents.push(b'\n');
    contents.extend_from_slice(bytes);
    write_private(&path, &contents)?;
    Ok(path)
}

/// Returns the pending files, oldest first.
pub fn list(state: &State) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state.pending_dir()).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    paths.sort();
    paths
}

/// Reads a pending file.
///
/// # Errors
///
/// [`Kind::Corrupt`] if it is none.
pub fn read(path: &Path) -> Result<(Capture, Vec<u8>)> {
    let mut contents = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
    let corrupt = || Error::new(Kind::Corrupt, format!("'{}' is not a pending capture", path.display()));
    let end = contents.iter().position(|byte| *byte == b'\n').ok_or_else(corrupt)?;
    let capture: Capture = serde_json::from_slice(&contents[..end]).map_err(|error| corrupt().because(error))?;
    contents.drain(..=end);
    Ok((capture, contents))
}
