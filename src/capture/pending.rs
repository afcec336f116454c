//! Files with captures that could not be stored yet; a later hook or command stores them.
//!
//! Read [`Pending`]. A file is one line of JSON, followed by redacted bytes of the transcript if it holds any. If the
//! bytes could not be redacted, the file names the agent's transcript instead.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::State;
use super::choose::CommitKind;
use super::segment_end::SegmentEnd;
use super::tracked::TrackedSession;
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Repository, private};
use crate::record::Record;
use crate::redact::Redactor;
use crate::transcript::SessionKey;

/// The extension of a file that cannot be stored and that the user has been warned of.
pub const WARNED: &str = "told";

/// The beginning of the names of files that hold rewritten commits; see `rewritten`.
pub const REWRITTEN: &str = "rewritten-";

/// The content of a pending file.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Pending {
    /// A commit for which no session has been examined yet.
    Commit(PendingCommit),
    /// Words of a session that are not archived, or a record that is not written.
    Capture(Capture),
}

/// A commit that is still to be recorded. `post-commit` writes it for the hook that the agent runs after the tool call,
/// because that hook also sees the call's result; or the first attempt to record it failed.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PendingCommit {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The commit, in hex.
    pub commit: String,
    /// What the commit became by amending or rebasing, in hex: these get the same record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// When the commit was made, in seconds since the epoch; 0 if a version wrote the file that did not say.
    #[serde(default)]
    pub time: i64,
    /// The sessions that ran `git commit`, as `agent/session`.
    #[serde(rename = "ran")]
    pub runners: Vec<String>,
    /// The length of each session's transcript when the commit was made, by `agent/session`: later words belong to the
    /// next commit.
    #[serde(rename = "ends")]
    pub transcript_bytes: BTreeMap<String, u64>,
    /// How the commit was made.
    #[serde(default, rename = "making")]
    pub kind: CommitKind,
    /// The top of the working tree that the commit was made in.
    #[serde(default, with = "super::paths::option", skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// Sessions to examine that no hook of this repository has reported: found in the agents' own stores or named by
    /// the environment.
    #[serde(default, rename = "others", skip_serializing_if = "Vec::is_empty")]
    pub unreported: Vec<TrackedSession>,
}

impl PendingCommit {
    /// Says whether the repository has the commit, or one that it became. Only some processes know other places for objects
    /// (`GIT_OBJECT_DIRECTORY`).
    pub fn is_there(&self, repo: &Repository) -> bool {
        let mut ids = std::iter::once(&self.commit).chain(&self.rewritten).filter_map(|hex| repo.parse_id(hex));
        ids.any(|id| repo.has_object(id))
    }
}

/// An increment of a session that is to be recorded on commits.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Capture {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The agent's name.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The commits to record the session on, in hex; none if the words are only to be archived.
    pub commits: Vec<String>,
    /// The end of the part that the archive had. The bytes in this file follow it, and the increment ends where they end.
    pub from: SegmentEnd,
    /// The end of the part that commits had. The increment begins there, unless later words have been recorded since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<SegmentEnd>,
    /// The agent's own transcript, if the bytes are not in this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Unredacted>,
    /// The record, if the words are archived and only the note could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Box<Record>>,
}

impl Capture {
    /// Returns the first line of a file for an increment that begins after `since` and whose bytes follow `from`.
    pub fn new(key: &SessionKey, commit_ids: &[ObjectId], from: SegmentEnd, since: SegmentEnd) -> Self {
        let commits = commit_ids.iter().map(ToString::to_string).collect();
        let (agent, session) = (key.agent.clone(), key.id.clone());
        Capture { shiftlog: 1, agent, session, commits, from, since: Some(since), transcript: None, record: None }
    }
}

/// Words that could not be redacted and are left in the agent's transcript.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Unredacted {
    /// The agent's file.
    #[serde(with = "crate::capture::paths")]
    pub path: PathBuf,
    /// The position in the agent's file at which the increment ends.
    pub until: u64,
}

impl<'de> Deserialize<'de> for Pending {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An enum without a tag would be read from what serde keeps of it, which has no text for a record's `rules`.
        let value = serde_json::Value::deserialize(deserializer)?;
        match PendingCommit::deserialize(&value) {
            Ok(commit) => Ok(Pending::Commit(commit)),
            Err(_) => Capture::deserialize(value).map(Pending::Capture).map_err(serde::de::Error::custom),
        }
    }
}

impl Pending {
    /// Returns the sessions, as `agent/session`, whose later words must not be stored before this.
    pub fn sessions(&self) -> Vec<String> {
        match self {
            Pending::Commit(pending) => pending.transcript_bytes.keys().cloned().collect(),
            Pending::Capture(capture) => vec![SessionKey::new(&capture.agent, &capture.session).to_string()],
        }
    }

    /// Returns the commits that are to get a record from this, in hex.
    pub fn commits(&self) -> Vec<&str> {
        match self {
            Pending::Commit(pending) => {
                std::iter::once(&pending.commit).chain(&pending.rewritten).map(String::as_str).collect()
            }
            Pending::Capture(capture) => capture.commits.iter().map(String::as_str).collect(),
        }
    }
}

/// Writes a pending file with its bytes and returns its path.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn keep(state: &State, pending: &Pending, bytes: &[u8]) -> Result<PathBuf> {
    let path = new_path(state, "");
    write(&path, pending, bytes)?;
    Ok(path)
}

/// Returns the path of a new file: `prefix`, then the time, so that older files sort first.
pub fn new_path(state: &State, prefix: &str) -> PathBuf {
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    state.pending_dir().join(format!("{prefix}{nanos}-{}", std::process::id()))
}

/// Returns the path of a new file that sorts behind `place` and before all later ones, for what is left of that file.
pub fn path_behind(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let own = name.split(['+', '.']).next().unwrap_or_default();
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    place.with_file_name(format!("{own}+{nanos}"))
}

/// Writes a pending file, in the place of one that may be there.
///
/// # Errors
///
/// If it cannot be written.
pub fn write(path: &Path, pending: &Pending, bytes: &[u8]) -> Result<()> {
    let mut contents =
        serde_json::to_vec(pending).map_err(|error| Error::other("cannot write a pending capture").because(error))?;
    contents.push(b'\n');
    contents.extend_from_slice(bytes);
    private::write(path, &contents)
}

/// Returns the pending files, oldest first.
pub fn list(state: &State) -> Vec<PathBuf> {
    files(state, |name| !name.starts_with('.') && !name.starts_with(REWRITTEN))
}

/// Returns the files of rewritten commits, oldest first; see `rewritten`.
pub fn list_rewritten(state: &State) -> Vec<PathBuf> {
    files(state, |name| name.starts_with(REWRITTEN))
}

fn files(state: &State, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state.pending_dir()).into_iter().flatten().flatten();
    let wanted = entries.filter(|entry| is_wanted(&entry.file_name().to_string_lossy()));
    let mut paths: Vec<PathBuf> = wanted.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the pending commits that a session made, oldest first, with their files.
pub fn commits_left_to(state: &State, session: &SessionKey) -> Vec<(PathBuf, PendingCommit)> {
    let session = session.to_string();
    let made_by_session = |path: PathBuf| match read_head(&path) {
        Ok(Pending::Commit(commit)) if commit.runners.contains(&session) => Some((path, commit)),
        _ => None,
    };
    list(state).into_iter().filter_map(made_by_session).collect()
}

/// Reads the first line of a pending file, without the transcript's bytes.
///
/// # Errors
///
/// As [`read`].
pub fn read_head(path: &Path) -> Result<Pending> {
    let fail = |error| Error::io("read", path, error);
    let mut line = Vec::new();
    BufReader::new(private::open(path).map_err(fail)?).read_until(b'\n', &mut line).map_err(fail)?;
    serde_json::from_slice(&line).map_err(|error| corrupt(path).because(error))
}

/// Reads a pending file.
///
/// # Errors
///
/// [`Kind::Corrupt`] if the file is not a pending capture.
pub fn read(path: &Path) -> Result<(Pending, Vec<u8>)> {
    let mut contents = private::read_whole(path).map_err(|error| Error::io("read", path, error))?;
    let end = contents.iter().position(|byte| *byte == b'\n').ok_or_else(|| corrupt(path))?;
    let pending = serde_json::from_slice(&contents[..end]).map_err(|error| corrupt(path).because(error))?;
    contents.drain(..=end);
    Ok((pending, contents))
}

fn corrupt(path: &Path) -> Error {
    Error::new(Kind::Corrupt, format!("'{}' is not a pending capture", path.display()))
}

/// Removes from a pending commit all sessions but these (`agent/session`): the others have been recorded.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn keep_sessions(path: &Path, sessions: &BTreeSet<String>) -> Result<()> {
    let Pending::Commit(mut commit) = read_head(path)? else { return Ok(()) };
    if !commit.transcript_bytes.keys().any(|session| sessions.contains(session)) {
        // None of its sessions is the reason for waiting, so none has been recorded.
        return Ok(());
    }
    commit.transcript_bytes.retain(|session, _| sessions.contains(session));
    write(path, &Pending::Commit(commit), b"")
}

/// Adds the new commits of a rewrite to all pending files that name the old ones.
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
            Pending::Commit(commit) => commit.rewritten.extend(new),
            Pending::Capture(capture) => capture.commits.extend(new),
        }
        let (_, bytes) = read(&path)?;
        write(&path, &pending, &bytes)?;
    }
    Ok(())
}

/// Adds `later` to the commits of the captures of some sessions that are to be recorded on `earlier`. Returns whether there are any.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn record_also_on(
    state: &State,
    earlier: ObjectId,
    later: ObjectId,
    is_wanted: impl Fn(&SessionKey) -> bool,
) -> Result<bool> {
    let (earlier, later) = (earlier.to_string(), later.to_string());
    let mut is_there = false;
    for path in list(state) {
        let Ok(Pending::Capture(mut capture)) = read_head(&path) else { continue };
        let key = SessionKey::new(&capture.agent, &capture.session);
        if !capture.commits.contains(&earlier) || !is_wanted(&key) {
            continue;
        }
        is_there = true;
        if !capture.commits.contains(&later) {
            capture.commits.push(later.clone());
            let (_, bytes) = read(&path)?;
            write(&path, &Pending::Capture(capture), &bytes)?;
        }
    }
    Ok(is_there)
}

/// Redacts the bytes, prompt and summary in a pending file; a changed file is written anew.
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
