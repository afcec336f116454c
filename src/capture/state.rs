//! Our own state on disk: a small file per session, a lock and a log.
//!
//! All of it is in `$GIT_COMMON_DIR/shiftlog`. If it is lost, the next captures store some words twice, which readers
//! drop; no word is lost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::left_out::LeftOut;
use super::process::Process;
pub use super::segment_end::SegmentEnd;
use super::stamp::size_and_mtime;
use crate::archive::Archive;
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
pub use crate::git::private::Lock;
pub use crate::git::private::write as write_private;
use crate::git::private::{self, is_shared};
use crate::transcript::{Before, LastAnswers, SessionKey};
use crate::{agent, outside};

/// The log is renamed to `log.old` when it is larger than this.
const MAX_LOG_BYTES: u64 = 1 << 20;
/// How many commits that `post-commit` has examined are remembered.
const MAX_EXAMINED: usize = 200;
/// A temporary file older than this was left by a process that was killed.
const UNFINISHED_SECS: i64 = 60 * 60;
/// How long a command waits for another one before it says so.
const ANNOUNCE_AFTER: Duration = Duration::from_secs(1);

/// How far a transcript is stored, and how far it is recorded on commits.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Progress {
    /// The end of the part that the archive has.
    #[serde(default)]
    pub stored: SegmentEnd,
    /// The end of the part that commits have; never beyond `stored`.
    #[serde(default)]
    pub recorded: SegmentEnd,
    /// The state of SHA-256 after the stored bytes, in hex, so that a capture hashes only new bytes.
    #[serde(default, rename = "digest")]
    pub sha256_state: Option<String>,
    /// XXH3, in hex, of the stored part of the agent's file, before redaction: shows whether the agent has rewritten
    /// that part.
    #[serde(default, rename = "check")]
    pub xxh3: Option<String>,
    /// Line ends near the end of a stored document or database, in order. The agent changes the last lines (the one
    /// about the whole document, and messages that wait for a tool's result) in place; a capture resumes before the
    /// first line that changed.
    #[serde(default, rename = "heads", skip_serializing_if = "Vec::is_empty")]
    pub resume_points: Vec<ResumePoint>,
    /// Size and modification time (ns) of a document or database when commits last had all of it.
    #[serde(default, rename = "stamp", skip_serializing_if = "Option::is_none")]
    pub size_and_mtime: Option<(u64, u64)>,
    /// The last answers that commits have, which may go on behind `recorded`; `None` if they are not known.
    #[serde(default, rename = "answers", skip_serializing_if = "Option::is_none")]
    pub last_answers: Option<LastAnswers>,
    /// When the last message before `recorded` was written; `None` if that is not known.
    #[serde(default, rename = "last", skip_serializing_if = "Option::is_none")]
    pub last_time: Option<i64>,
    /// Why the transcript is not recorded to its end, if so.
    #[serde(default, rename = "left", skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

impl Progress {
    /// Returns how far the archive has a session, with nothing recorded.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn archived(archive: &Archive<'_>, key: &SessionKey) -> Result<Self> {
        let newest = archive.newest(key)?.map(|newest| SegmentEnd::of(archive, newest)).transpose()?;
        Ok(Progress { stored: newest.unwrap_or_default(), ..Progress::default() })
    }

    /// Returns what comes before the words that are not recorded yet; `None` if nobody has kept it.
    pub fn before(&self) -> Option<Before> {
        let time = self.last_time;
        self.last_answers.clone().map(|answers| Before { answers, time })
    }

    /// Keeps what comes before the words that are not recorded yet.
    pub fn set_before(&mut self, before: Option<Before>) {
        self.last_time = before.as_ref().and_then(|before| before.time);
        self.last_answers = before.map(|before| before.answers);
    }
}

/// A line end of the stored transcript at which a capture can resume.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ResumePoint {
    /// The length of the stored transcript at this line end.
    pub bytes: u64,
    /// The length of the agent's lines, before redaction, at this line end.
    pub raw: u64,
    /// The state of SHA-256 at this line end; see [`Progress::sha256_state`].
    #[serde(rename = "digest")]
    pub sha256_state: String,
    /// XXH3 up to this line end; see [`Progress::xxh3`].
    #[serde(rename = "check")]
    pub xxh3: String,
}

/// A recorded commit whose record still lacks the result of the tool call that ran `git commit`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AwaitedResult {
    /// The commit, in hex.
    pub commit: String,
    /// The id of the tool call, once the agent's hook has named it.
    pub call: Option<String>,
    /// Whether a sub-agent made the call. Then the result is in the sub-agent's transcript; a result in the session's own
    /// transcript that names the commit is that of another call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_sub_agent: bool,
    /// Whether another process may have made the commit, since no hook has reported the session that did. Then only a
    /// result that reports making this commit counts.
    #[serde(default, rename = "unsure", skip_serializing_if = "std::ops::Not::not")]
    pub is_unsure: bool,
}

/// Whether an awaited result can still be written. An agent may write it after the hooks for its tool and its turn have run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Patience {
    /// The result can still be written.
    Turn,
    /// The session has ended: if its transcript has results, the awaited one is among them; otherwise the agent has not
    /// written them yet.
    Session,
    /// The result is written by now, or never will be.
    Over,
}

/// A session of an agent, running or over, as our state keeps it: its transcript, its process, and how much of it is stored.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TrackedSession {
    /// The agent's name.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The agent's transcript: a file of lines, a document or a database.
    #[serde(with = "crate::capture::paths")]
    pub transcript: PathBuf,
    /// The model that a hook named last; not every transcript names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The top of the working tree the session works in.
    #[serde(default, with = "crate::capture::paths::option")]
    pub worktree: Option<PathBuf>,
    /// The directory that the session runs in, if that is not the top of the working tree.
    #[serde(default, with = "crate::capture::paths::option", skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// The agent's process.
    #[serde(default)]
    pub process: Option<Process>,
    /// When a hook last ran for this session, in seconds since the epoch.
    #[serde(default)]
    pub seen: i64,
    /// Whether the session has ended.
    #[serde(default)]
    pub is_over: bool,
    /// Whether the agent runs a hook after tool calls. If so, one will follow each commit of this session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_tool_hooks: bool,
    /// The commit (hex) that HEAD of `worktree` named when a hook last looked; empty on an unborn branch.
    #[serde(default)]
    pub head: Option<String>,
    /// How far the transcript is stored and recorded.
    #[serde(default)]
    pub progress: Progress,
    /// The same for each sub-agent, by the session id of the sub-agent.
    #[serde(default)]
    pub sub_agents: BTreeMap<String, Progress>,
    /// The commit whose tool result is still to come.
    #[serde(default, rename = "open")]
    pub awaited_result: Option<AwaitedResult>,
    /// The last commit, in hex, whose record has got the result of its tool call.
    #[serde(default, rename = "answered", skip_serializing_if = "Option::is_none")]
    pub answered_commit: Option<String>,
}

impl TrackedSession {
    /// Returns the session's name.
    pub fn key(&self) -> SessionKey {
        SessionKey::new(&self.agent, &self.session)
    }

    /// Returns why the transcript is not recorded to its end; `None` if it is.
    pub fn left_out(&self) -> Option<String> {
        let agent = agent::find(&self.agent)?;
        let left_out = self.progress.left_out.as_ref().filter(|left_out| left_out.holds(agent, &self.transcript));
        left_out.map(|left_out| left_out.why.clone())
    }

    /// Says whether a hook of the agent has reported the session; otherwise it was found in the agent's store.
    pub fn is_reported_by_hooks(&self) -> bool {
        self.head.is_some()
    }

    /// Says whether the session has ended and commits have all of it: a commit need not look at it.
    fn is_settled(&self) -> bool {
        self.is_over
            && self.awaited_result.is_none()
            && self.is_recorded()
            && (self.has_nothing_new() || self.is_rendered())
    }

    /// Says whether the session is settled and its transcript was not written since its last hook. For sessions that
    /// are not files of their own, the agent answers.
    pub fn is_settled_and_unchanged(&self) -> bool {
        let is_written = || agent::find(&self.agent).is_none_or(|a| a.is_written_since(&self.transcript, self.seen));
        self.is_settled() && !is_written()
    }

    fn is_recorded(&self) -> bool {
        let is_recorded = |progress: &Progress| progress.recorded == progress.stored && progress.stored.raw.is_some();
        is_recorded(&self.progress) && self.sub_agents.values().all(is_recorded)
    }

    fn is_rendered(&self) -> bool {
        agent::find(&self.agent).is_some_and(|agent| agent.is_rendered(&self.transcript))
    }

    /// Says whether commits have the whole transcript, judged by its size or modification time; the file is not read.
    pub fn has_nothing_new(&self) -> bool {
        let is_unchanged = || match self.is_rendered() {
            true => self.progress.size_and_mtime.is_some_and(|before| size_and_mtime(&self.transcript) == Some(before)),
            // When a session ends, a missing final line end is added to the stored transcript.
            false => self.transcript.metadata().is_ok_and(|file| {
                let stored = self.progress.stored.raw;
                stored == Some(file.len()) || self.is_over && stored == Some(file.len() + 1)
            }),
        };
        self.awaited_result.is_none() && self.is_recorded() && is_unchanged()
    }
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
        whole.filter_map(|entry| serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()).collect()
    }

    /// Removes temporary files of processes that were killed, and takes away other users' access to our directory
    /// unless the repository is shared.
    pub fn sweep(&self) {
        let now = Time::now().seconds;
        for directory in ["", "live", "settled", "imported", "purged", "pending"] {
            for entry in std::fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten() {
                let written = || private::modified_secs(&entry.path());
                if is_unfinished(&entry) && written().is_some_and(|written| written < now - UNFINISHED_SECS) {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
        if !is_shared(&self.root) {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
            let _ = std::fs::set_permissions(&self.root, mode);
        }
    }

    /// Remembers that `post-commit` has examined a commit and did not record every session on it.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub(super) fn mark_examined(&self, commit_id: ObjectId) -> Result<()> {
        let path = self.root.join("judged");
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        write_private(&path, with_line(&known, &commit_id.to_string(), MAX_EXAMINED).as_bytes())
    }

    /// Says whether [`State::mark_examined`] was called for a commit.
    pub(super) fn is_examined(&self, commit_id: ObjectId) -> bool {
        let known = std::fs::read_to_string(self.root.join("judged")).unwrap_or_default();
        let id = commit_id.to_string();
        known.lines().any(|line| line == id)
    }

    /// Returns the state of the session `key`; `None` if there is none, or its file cannot be read.
    pub fn session(&self, key: &SessionKey) -> Option<TrackedSession> {
        let mut files = ["live", "settled", "imported"].into_iter().map(|name| self.file(name, key));
        serde_json::from_slice(&files.find_map(|file| std::fs::read(file).ok())?).ok()
    }

    /// Writes the file of a session.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub fn save(&self, live: &TrackedSession) -> Result<()> {
        // Settled sessions have a directory of their own, so that hooks do not read their files.
        let (directory, other) = if live.is_settled() { ("settled", "live") } else { ("live", "settled") };
        self.write(directory, live)?;
        for other in [other, "imported"] {
            let _ = std::fs::remove_file(self.file(other, &live.key()));
        }
        Ok(())
    }

    /// Writes the file of an imported session: hooks do not read it, later imports see how far the session is stored.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn save_imported(&self, live: &TrackedSession) -> Result<()> {
        self.write("imported", live)
    }

    fn write(&self, directory: &str, live: &TrackedSession) -> Result<()> {
        let bytes = serde_json::to_vec(live);
        let bytes = bytes.map_err(|error| Error::other("cannot write a session's state").because(error))?;
        write_private(&self.file(directory, &live.key()), &bytes)
    }

    /// Writes the file of a known session again, in the directory where it is.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn update(&self, live: &TrackedSession) -> Result<()> {
        let has = |name| self.file(name, &live.key()).exists();
        let is_imported = has("imported") && !has("live") && !has("settled");
        if is_imported { self.save_imported(live) } else { self.save(live) }
    }

    /// Remembers that words of a session were purged: an import must not bring them back.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn mark_purged(&self, key: &SessionKey) -> Result<()> {
        write_private(&self.file("purged", key), b"{}")
    }

    /// Says whether [`State::mark_purged`] was called for a session.
    pub fn is_purged(&self, key: &SessionKey) -> bool {
        self.file("purged", key).exists()
    }

    /// Removes the file of an unsettled session, unless words of it were purged.
    pub fn forget(&self, key: &SessionKey) {
        if self.is_purged(key) {
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
            let is_purged = self.root.join("purged").join(entry.file_name()).exists();
            if is_old && !is_purged {
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

/// Says whether an entry is a temporary file of [`write_private`].
fn is_unfinished(entry: &std::fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with('.')
}

/// Returns lines with another one behind them. Of those before it, at most `max` stay, the last ones.
pub(super) fn with_line(lines: &str, line: &str, max: usize) -> String {
    let start = lines.split_inclusive('\n').take(lines.lines().count().saturating_sub(max)).map(str::len).sum();
    format!("{}{line}\n", &lines[start..])
}
