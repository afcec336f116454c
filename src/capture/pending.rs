//! What could not be stored yet, in files that a later command stores.
//!
//! Read [`Pending`]. A file is one line of JSON and then, for words, the transcript's bytes after redaction. Where nothing
//! could be redacted the file holds no bytes, and says where the agent has them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::State;
use super::choose::Making;
use super::state::{Live, Mark, write_private};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::record::Record;
use crate::redact::Redactor;
use crate::transcript::SessionKey;

/// The extension of a file that cannot be stored, once the user has been told.
pub const TOLD: &str = "told";

/// What the names of files begin with that say what became of commits; see `rewritten`.
pub const REWRITTEN: &str = "rewritten-";

/// Says whether a file says what became of commits.
pub fn is_rewritten(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(REWRITTEN.as_bytes()))
}

/// What waits in a file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Pending {
    /// A commit was made; its sessions have not been looked at yet.
    Link(Link),
    /// A stretch of a session, or its record.
    Capture(Capture),
}

/// A commit that a session made, left for the session's own hook, which follows at once and sees the tool's answer too.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The commit, in hex.
    pub commit: String,
    /// What became of it since, by amending or rebasing: these get the same record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// The sessions that ran the commit, as `agent/session`.
    pub ran: Vec<String>,
    /// How long each session's transcript was in bytes, by `agent/session`: what was said later belongs to the next
    /// commit.
    pub ends: BTreeMap<String, u64>,
    /// How it was made.
    #[serde(default)]
    pub making: Making,
    /// The top of the working tree that it was made in.
    #[serde(default, with = "super::paths::option", skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// The sessions that were looked at and that no hook here has reported: their agents write transcripts elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Live>,
}

/// A stretch of a session that is to be recorded on commits.
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
    /// The end of what the archive had; the file's bytes follow it. The stretch ends where they end.
    pub from: Mark,
    /// The end of what commits had; the stretch begins there unless later ones have been recorded since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Mark>,
    /// The agent's own transcript, if the words were left there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Unredacted>,
    /// The record, if the words are archived and only the note could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Box<Record>>,
}

/// Words that are still where the agent wrote them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Unredacted {
    /// The agent's file.
    #[serde(with = "crate::capture::paths")]
    pub path: PathBuf,
    /// The position in it at which the stretch ends.
    pub until: u64,
}

impl Pending {
    /// Returns the sessions whose later words must wait for it, as `agent/session`.
    pub fn sessions(&self) -> Vec<String> {
        match self {
            Pending::Link(link) => link.ends.keys().cloned().collect(),
            Pending::Capture(capture) => vec![SessionKey::new(&capture.agent, &capture.session).to_string()],
        }
    }

    /// Returns the commits that wait for it, in hex.
    pub fn commits(&self) -> Vec<&str> {
        match self {
            Pending::Link(link) => std::iter::once(&link.commit).chain(&link.rewritten).map(String::as_str).collect(),
            Pending::Capture(capture) => capture.commits.iter().map(String::as_str).collect(),
        }
    }
}

/// Keeps something with the bytes that belong to it, and returns the file's path.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn keep(state: &State, pending: &Pending, bytes: &[u8]) -> Result<PathBuf> {
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let path = state.pending_dir().join(format!("{nanos}-{}", std::process::id()));
    write(&path, pending, bytes)?;
    Ok(path)
}

fn write(path: &Path, pending: &Pending, bytes: &[u8]) -> Result<()> {
    let mut contents =
        serde_json::to_vec(pending).map_err(|error| Error::other("cannot keep a capture").because(error))?;
    contents.push(b'\n');
    contents.extend_from_slice(bytes);
    write_private(path, &contents)
}

/// Returns the pending files, oldest first.
pub fn list(state: &State) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state.pending_dir()).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
    let is_capture = |path: &PathBuf| is_ours(path) && !is_rewritten(path);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_capture).collect();
    paths.sort();
    paths
}

/// Returns the commits that a session made and that wait for it, with their files, oldest first.
pub fn links_of(state: &State, session: &SessionKey) -> Vec<(PathBuf, Link)> {
    let session = session.to_string();
    let link = |path: PathBuf| match read_head(&path) {
        Ok(Pending::Link(link)) if link.ran.contains(&session) => Some((path, link)),
        _ => None,
    };
    list(state).into_iter().filter_map(link).collect()
}

/// Reads what a pending file is about, without the words in it.
///
/// # Errors
///
/// As [`read`].
pub fn read_head(path: &Path) -> Result<Pending> {
    let fail = |error| Error::io("read", path, error);
    let mut line = Vec::new();
    BufReader::new(File::open(path).map_err(fail)?).read_until(b'\n', &mut line).map_err(fail)?;
    let corrupt = || Error::new(Kind::Corrupt, format!("'{}' is not a pending capture", path.display()));
    serde_json::from_slice(&line).map_err(|error| corrupt().because(error))
}

/// Reads a pending file.
///
/// # Errors
///
/// [`Kind::Corrupt`] if it is none.
pub fn read(path: &Path) -> Result<(Pending, Vec<u8>)> {
    let mut contents = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
    let corrupt = || Error::new(Kind::Corrupt, format!("'{}' is not a pending capture", path.display()));
    let end = contents.iter().position(|byte| *byte == b'\n').ok_or_else(corrupt)?;
    let pending = serde_json::from_slice(&contents[..end]).map_err(|error| corrupt().because(error))?;
    contents.drain(..=end);
    Ok((pending, contents))
}

/// Leaves of a commit that waits only these sessions, as `agent/session`: the others are recorded.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn keep_sessions(path: &Path, sessions: &BTreeSet<String>) -> Result<()> {
    let Pending::Link(mut link) = read_head(path)? else { return Ok(()) };
    if !link.ends.keys().any(|session| sessions.contains(session)) {
        // Something else stood in the way, of all of them.
        return Ok(());
    }
    link.ends.retain(|session, _| sessions.contains(session));
    write(path, &Pending::Link(link), b"")
}

/// Takes note that commits were rewritten: what waits for an old one is for the new one too.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn follow_rewrites(state: &State, pairs: &[(ObjectId, ObjectId)]) -> Result<()> {
    for path in list(state) {
        let Ok(mut pending) = read_head(&path) else { continue };
        let waits = |id: &ObjectId| pending.commits().contains(&id.to_string().as_str());
        let new: Vec<String> =
            pairs.iter().filter(|(old, new)| waits(old) && !waits(new)).map(|(_, new)| new.to_string()).collect();
        if new.is_empty() {
            continue;
        }
        match &mut pending {
            Pending::Link(link) => link.rewritten.extend(new),
            Pending::Capture(capture) => capture.commits.extend(new),
        }
        let (_, bytes) = read(&path)?;
        write(&path, &pending, &bytes)?;
    }
    Ok(())
}

/// Takes out of a pending file what a redactor finds.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn redact(state: &State, path: &Path, mut pending: Pending, bytes: &[u8], redactor: &Redactor) -> Result<()> {
    let clean = |bytes: &[u8]| {
        let (clean, dealt) = redactor.redact(bytes);
        [&clean[..], &bytes[dealt..]].concat()
    };
    let clean_bytes = clean(bytes);
    let mut is_changed = clean_bytes != bytes;
    if let Pending::Capture(Capture { record: Some(record), .. }) = &mut pending {
        for text in [&mut record.prompt, &mut record.summary].into_iter().flatten() {
            let clean_text = String::from_utf8_lossy(&clean(text.as_bytes())).into_owned();
            is_changed |= clean_text != *text;
            *text = clean_text;
        }
    }
    if is_changed {
        keep(state, &pending, &clean_bytes)?;
        std::fs::remove_file(path).map_err(|error| Error::io("remove", path, error))?;
    }
    Ok(())
}
