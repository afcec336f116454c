//! Our own state on disk: a small file per session, a lock and a log.
//!
//! All of it is in `$GIT_COMMON_DIR/shiftlog`. If it is lost, the next captures store some words twice, which readers
//! drop; no word is lost.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::tracked::TrackedSession;
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
pub use crate::git::private::Lock;
use crate::git::private::{self, is_shared};
use crate::outside;
use crate::transcript::SessionKey;

/// The log is renamed to `log.old` when it is larger than this.
const MAX_LOG_BYTES: u64 = 1 << 20;
/// How many commits that `post-commit` has examined are remembered.
const MAX_EXAMINED: usize = 200;
/// The beginning of the name of a pending file that a repair has moved out of the way.
pub const JUNK: &str = "junk-";
/// The beginning of the name of the file of an object that a repair has moved out of the way.
pub const DAMAGED: &str = "damaged-";
/// A temporary file older than this was left by a process that was killed.
const UNFINISHED_SECS: i64 = 60 * 60;
/// How long a command waits for another one before it says so.
const ANNOUNCE_AFTER: Duration = Duration::from_secs(1);

/// The time and the length of a session's first message. A copy of the message has the same; the text itself is not kept.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstMessage {
    /// When it was written, in seconds since the epoch, and nanoseconds after that.
    pub time: (i64, u32),
    /// The length of its text, in bytes.
    pub text_bytes: usize,
}

/// The directory with our state.
#[derive(Clone, Debug)]
pub struct State {
    root: PathBuf,
}

impl State {
    /// Returns the state of the repository with this common directory. Creates nothing.
    pub fn new(common_dir: &Path) -> Self {
        State { root: common_dir.join("shiftlog") }
    }

    /// Returns `$GIT_COMMON_DIR/shiftlog`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of captures and commits that are still to be stored.
    pub fn pending_dir(&self) -> PathBuf {
        self.root.join("pending")
    }

    /// Says whether there is neither a live session nor anything pending. Costs two `readdir`s at most.
    pub fn is_idle(&self) -> bool {
        let is_whole = |entry: std::io::Result<std::fs::DirEntry>| entry.is_ok_and(|entry| !is_unfinished(&entry));
        let is_empty = |dir: PathBuf| match std::fs::read_dir(dir) {
            Ok(mut entries) => !entries.any(is_whole),
            // A directory that cannot be read may hold sessions.
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        is_empty(self.root.join("live")) && is_empty(self.pending_dir())
    }

    /// Takes the lock on our state; waits for other processes until `deadline`.
    ///
    /// Refs move by compare-and-swap and need no lock. But the file of a session and the archive must change together,
    /// so a process without the lock changes neither.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`](crate::error::Kind::Busy) when the deadline passes, another kind if the lock file cannot be
    /// created; the message names the file.
    pub fn lock(&self, deadline: Instant) -> Result<Lock> {
        self.lock_file("lock", deadline)
    }

    /// Takes another lock beside the state, under `name`, for long work that hooks need not wait for. Waits until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`State::lock`].
    pub fn lock_file(&self, name: &str, deadline: Instant) -> Result<Lock> {
        private::lock(&self.root.join(name), deadline)
    }

    /// Takes such a lock together with others that call this; [`State::lock_file`] waits for all of them.
    ///
    /// # Errors
    ///
    /// As [`State::lock`].
    pub fn lock_file_shared(&self, name: &str, deadline: Instant) -> Result<Lock> {
        private::lock_shared(&self.root.join(name), deadline)
    }

    /// Takes another lock beside the state, under `name`, and waits as long as it takes. Calls `tell` once if that is more
    /// than a second.
    ///
    /// # Errors
    ///
    /// If the lock file cannot be created.
    pub fn wait_for_lock(&self, name: &str, tell: impl FnOnce()) -> Result<Lock> {
        let mut tell = Some(tell);
        loop {
            match self.lock_file(name, Instant::now() + ANNOUNCE_AFTER) {
                Err(error) if error.kind() == Kind::Busy => tell.take().map_or((), |tell| tell()),
                outcome => return outcome,
            }
        }
    }

    /// Returns the sessions that are running, or have ended with words that no commit has, ordered by agent and id.
    /// Files that cannot be read are skipped.
    pub fn sessions(&self) -> Vec<TrackedSession> {
        let mut sessions = self.sessions_in("live");
        sessions.sort_by(|a, b| (&a.agent, &a.session).cmp(&(&b.agent, &b.session)));
        sessions
    }

    /// Returns all known sessions, including settled and imported ones.
    pub fn all_sessions(&self) -> Vec<TrackedSession> {
        let mut sessions = self.sessions();
        sessions.extend(["settled", "imported"].into_iter().flat_map(|name| self.sessions_in(name)));
        sessions
    }

    fn sessions_in(&self, directory: &str) -> Vec<TrackedSession> {
        let entries = std::fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        // A process that was killed while writing leaves a temporary copy of the session's file.
        let whole = entries.filter(|entry| !is_unfinished(entry));
        whole.filter_map(|entry| serde_json::from_slice(&private::read_whole(&entry.path()).ok()?).ok()).collect()
    }

    /// Returns the temporary files of processes that were killed: those that were written before `time` (epoch).
    pub fn unfinished(&self, time: i64) -> Vec<PathBuf> {
        let directories = ["", "live", "settled", "imported", "purged", "begun-late", "pending"];
        let entries = directories.iter().flat_map(|directory| std::fs::read_dir(self.root.join(directory)));
        let files = entries.flatten().flatten().filter(is_unfinished).map(|entry| entry.path());
        files.filter(|file| private::modified_secs(file).is_some_and(|written| written < time)).collect()
    }

    /// Returns the files that repairs have moved out of the way; nobody knows what they say.
    pub fn moved_aside(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.root).into_iter().flatten().flatten();
        let name = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let is_aside = |name: &str| [JUNK, DAMAGED].iter().any(|begins| name.starts_with(begins));
        let mut files: Vec<PathBuf> =
            entries.filter(|entry| is_aside(&name(entry))).map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    /// Removes temporary files of processes that were killed, and takes away other users' access to our directory
    /// unless the repository is shared.
    pub fn sweep(&self) {
        for file in self.unfinished(Time::now().seconds - UNFINISHED_SECS) {
            let _ = std::fs::remove_file(file);
        }
        if !is_shared(&self.root) {
            let _ = std::fs::set_permissions(&self.root, std::fs::Permissions::from_mode(0o700));
        }
    }

    /// Opens our directory to the group that it belongs to, as far as this user may, unless that is done. For a repository that
    /// became a shared one later: [`is_shared`] then holds for all files of ours.
    pub(super) fn share_with_group(&self) {
        if is_shared(&self.root) || !self.root.is_dir() {
            return;
        }
        let group = self.root.parent().and_then(|git_dir| git_dir.metadata().ok()).map(|metadata| metadata.gid());
        let mut paths = vec![self.root.clone()];
        while let Some(path) = paths.pop() {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let mode = match metadata.is_dir() {
                true => 0o2770,
                false if metadata.is_file() => 0o660,
                false => continue,
            };
            // Giving it to another group takes the bit away that new files inherit the group by.
            let _ = std::os::unix::fs::lchown(&path, None, group);
            let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
            if metadata.is_dir() {
                paths.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            }
        }
    }

    /// Remembers that `post-commit` has examined a commit and did not record every session on it.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub(super) fn mark_examined(&self, commit_id: ObjectId) -> Result<()> {
        let path = self.root.join("judged");
        let known = private::text(&path);
        private::write(&path, with_line(&known, &commit_id.to_string(), MAX_EXAMINED).as_bytes())
    }

    /// Says whether [`State::mark_examined`] was called for a commit.
    pub(super) fn is_examined(&self, commit_id: ObjectId) -> bool {
        let known = private::text(&self.root.join("judged"));
        let id = commit_id.to_string();
        known.lines().any(|line| line == id)
    }

    /// Returns the state of the session `key`; `None` if there is none, or its file cannot be read.
    pub fn session(&self, key: &SessionKey) -> Option<TrackedSession> {
        let mut files = ["live", "settled", "imported"].into_iter().map(|name| self.file(name, key));
        serde_json::from_slice(&files.find_map(|file| private::read_whole(&file).ok())?).ok()
    }

    /// Writes the file of a session.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub fn save(&self, tracked: &TrackedSession) -> Result<()> {
        // Settled sessions have a directory of their own, so that hooks do not read their files.
        let (directory, other) = if tracked.is_settled() { ("settled", "live") } else { ("live", "settled") };
        self.write(directory, tracked)?;
        for other in [other, "imported"] {
            let _ = std::fs::remove_file(self.file(other, &tracked.key()));
        }
        Ok(())
    }

    /// Writes the file of an imported session: hooks do not read it, later imports see how far the session is stored.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn save_imported(&self, tracked: &TrackedSession) -> Result<()> {
        self.write("imported", tracked)
    }

    fn write(&self, directory: &str, tracked: &TrackedSession) -> Result<()> {
        let bytes = serde_json::to_vec(tracked);
        let bytes = bytes.map_err(|error| Error::other("cannot write a session's state").because(error))?;
        private::write(&self.file(directory, &tracked.key()), &bytes)
    }

    /// Writes the file of a known session again, in the directory where it is.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn update(&self, tracked: &TrackedSession) -> Result<()> {
        let has = |name| self.file(name, &tracked.key()).exists();
        let is_imported = has("imported") && !has("live") && !has("settled");
        if is_imported { self.save_imported(tracked) } else { self.save(tracked) }
    }

    /// Remembers that words of a session were purged: an import must not bring them back.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn mark_purged(&self, key: &SessionKey) -> Result<()> {
        if self.is_purged(key) { Ok(()) } else { private::write(&self.file("purged", key), b"{}") }
    }

    /// Remembers with which message a session began of which words were purged, so that a copy of it is known.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn mark_purged_with(&self, key: &SessionKey, first: &FirstMessage) -> Result<()> {
        let text = serde_json::to_vec(first).expect("it has only numbers");
        private::write(&self.file("purged", key), &text)
    }

    /// Says whether words of any session were purged.
    pub fn has_purged(&self) -> bool {
        std::fs::read_dir(self.root.join("purged")).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Returns the sessions for which [`State::mark_purged_with`] was called, with their first messages. One whose name is too
    /// long for a file is left out.
    pub fn purged_beginnings(&self) -> Vec<(SessionKey, FirstMessage)> {
        let entries = std::fs::read_dir(self.root.join("purged")).into_iter().flatten().flatten();
        let read = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let first = serde_json::from_slice(&private::read_whole(&entry.path()).ok()?).ok()?;
            Some((SessionKey::of_file_name(name.strip_suffix(".json")?)?, first))
        };
        entries.filter_map(read).collect()
    }

    /// Remembers that a session is recorded only from somewhere on, since what was before may have purged words.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn mark_begun_late(&self, key: &SessionKey) -> Result<()> {
        private::write(&self.file("begun-late", key), b"{}")
    }

    /// Says whether [`State::mark_begun_late`] was called for a session.
    pub fn is_begun_late(&self, key: &SessionKey) -> bool {
        self.file("begun-late", key).exists()
    }

    /// Says whether [`State::mark_purged`] was called for a session.
    pub fn is_purged(&self, key: &SessionKey) -> bool {
        self.file("purged", key).exists()
    }

    /// Returns the journal of a purge: it is there from before the first step until after the last.
    pub fn purge_journal(&self) -> PathBuf {
        self.root.join("purging")
    }

    /// Returns why nothing may be stored, if a purge was interrupted: what is stored meanwhile would go on from segments that are
    /// to be removed. Only for a process that holds the lock: without it, the purge may be running.
    pub(crate) fn interrupted_purge(&self) -> Option<Error> {
        let is_there = self.purge_journal().symlink_metadata().is_ok();
        is_there.then(|| Error::new(Kind::Busy, "a purge was interrupted; 'git shiftlog fsck' finishes it"))
    }

    /// Removes the file of an unsettled session, unless words of it were purged.
    pub fn forget(&self, key: &SessionKey) {
        if self.is_purged(key) || self.is_begun_late(key) {
            return;
        }
        let _ = std::fs::remove_file(self.file("live", key));
    }

    /// Removes the files of settled sessions that were last written before `seconds` (epoch), and
    /// [sweeps](State::sweep).
    pub fn forget_settled(&self, seconds: i64) {
        self.sweep();
        for entry in std::fs::read_dir(self.root.join("settled")).into_iter().flatten().flatten() {
            let is_old = private::modified_secs(&entry.path()).is_some_and(|written| written < seconds);
            // Without this file, the session would be taken for a new one and its purged words stored again from the
            // agent's file.
            let is_marked =
                || ["purged", "begun-late"].iter().any(|name| self.root.join(name).join(entry.file_name()).exists());
            if is_old && !is_marked() {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn file(&self, directory: &str, key: &SessionKey) -> PathBuf {
        self.root.join(directory).join(format!("{}.json", key.file_name()))
    }

    /// Adds a line to the log. Failure is ignored.
    pub fn log(&self, line: &str) {
        self.try_log(line);
    }

    /// Adds a line to the log. Returns whether it was written.
    pub fn try_log(&self, line: &str) -> bool {
        let path = self.root.join("log");
        if path.metadata().is_ok_and(|metadata| metadata.len() > MAX_LOG_BYTES) {
            let _ = std::fs::rename(&path, self.root.join("log.old"));
        }
        let line = format!("{} {}\n", Time::now().to_rfc3339(), outside::line(line));
        private::append(&path, line.as_bytes()).is_ok()
    }
}

/// Says whether an entry is a temporary file of [`private::write`].
fn is_unfinished(entry: &std::fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with('.')
}

/// Returns lines with another one behind them. Of those before it, at most `max` stay, the last ones.
pub(super) fn with_line(lines: &str, line: &str, max: usize) -> String {
    let start = lines.split_inclusive('\n').take(lines.lines().count().saturating_sub(max)).map(str::len).sum();
    format!("{}{line}\n", &lines[start..])
}
