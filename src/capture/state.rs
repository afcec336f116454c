//! What we keep beside the repository: a small file per live session, a lock, a log.
//!
//! All of it lives in `$GIT_COMMON_DIR/shiftlog`. Losing it costs duplicates that readers drop, never words.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::process::Process;
use crate::error::{Error, Result};
use crate::git::ObjectId;
pub use crate::git::private::Lock;
pub use crate::git::private::write as write_private;
use crate::git::private::{self, is_shared};
use crate::transcript::SessionKey;
use crate::{agent, outside};

/// The log is started afresh beyond this size; the old one stays beside it.
const MAX_LOG_BYTES: u64 = 1 << 20;
/// How many commits are remembered that Git's hook has looked at.
const MAX_JUDGED: usize = 200;
/// So many sessions are remembered to have run elsewhere.
const MAX_ELSEWHERE: usize = 1000;
/// What a process has not finished writing by then, it never will.
const UNFINISHED: Duration = Duration::from_secs(60 * 60);
/// As long a system may take to tell one moment from the next.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The end of a segment in a session's transcript.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Mark {
    /// The segment's blob id in hex; `None` at the beginning of the session.
    pub segment: Option<String>,
    /// The length of the transcript there, as it is stored.
    pub bytes: u64,
    /// The length that the agent's own file had there; redaction makes the two differ. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<u64>,
}

/// How far a transcript is stored, and how far it is recorded on commits.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Progress {
    /// What the archive has.
    #[serde(default)]
    pub stored: Mark,
    /// What commits have; never beyond `stored`.
    #[serde(default)]
    pub recorded: Mark,
    /// The state of SHA-256 after the stored bytes, in hex, so that they need not be hashed again.
    #[serde(default)]
    pub digest: Option<String>,
    /// XXH3 of the agent's bytes that are stored, in hex: tells whether it has rewritten them since.
    #[serde(default)]
    pub check: Option<String>,
    /// Line ends near the end of a stored document or database, the first one first. Its last lines (about the whole, and
    /// messages that wait for a tool's answer) change in place; a capture resumes before those that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<Head>,
    /// Size and modification time (ns) of a document or database when commits last had all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<(u64, u64)>,
}

/// A line end of the stored transcript at which a capture can resume.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Head {
    /// The length of the stored transcript there.
    pub bytes: u64,
    /// The length of the agent's lines there.
    pub raw: u64,
    /// As in [`Progress`].
    pub digest: String,
    /// As in [`Progress`].
    pub check: String,
}

/// A commit whose tool call had not ended when it was recorded.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Open {
    /// The commit, in hex.
    pub commit: String,
    /// The tool call, once its hook has told us.
    pub call: Option<String>,
}

/// A session that is going on, or ended with words that no commit has yet.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Live {
    /// The agent's name.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// Where the agent writes its transcript.
    #[serde(with = "crate::capture::paths")]
    pub transcript: PathBuf,
    /// The model that a hook told last; not every transcript has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The top of the working tree the session works in.
    #[serde(default, with = "crate::capture::paths::option")]
    pub worktree: Option<PathBuf>,
    /// The agent's process.
    #[serde(default)]
    pub process: Option<Process>,
    /// When a hook last ran for it, in seconds since the epoch.
    #[serde(default)]
    pub seen: i64,
    /// Whether it is over.
    #[serde(default)]
    pub is_over: bool,
    /// Whether a hook has run for it after a tool call: then one follows after a commit that it makes, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_tool_hooks: bool,
    /// Where HEAD of its worktree was when a hook last looked.
    #[serde(default)]
    pub head: Option<String>,
    /// How far its transcript is stored.
    #[serde(default)]
    pub progress: Progress,
    /// How far the transcripts of its sub-agents are stored, by the session id they have.
    #[serde(default)]
    pub sub_agents: BTreeMap<String, Progress>,
    /// The commit that still waits for its tool call's result.
    #[serde(default)]
    pub open: Option<Open>,
}

impl Live {
    /// Returns the session's name.
    pub fn key(&self) -> SessionKey {
        SessionKey::new(&self.agent, &self.session)
    }

    /// Says whether it is over with nothing left to record: a commit need not look at it.
    fn is_settled(&self) -> bool {
        self.is_over && self.open.is_none() && self.is_recorded() && (self.has_no_news() || self.is_rendered())
    }

    /// Says whether it is over with nothing left to record, and was not written since a hook last ran for it, which has made
    /// sure of that. Its agent tells of sessions that are no files.
    pub fn is_left(&self) -> bool {
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

    /// Says whether commits have all that its transcript says, as far as the look of its file tells.
    pub fn has_no_news(&self) -> bool {
        let is_as_it_was = || match self.is_rendered() {
            true => self.progress.stamp.is_some_and(|before| stamp(&self.transcript) == Some(before)),
            // A line end was added where the last line had none.
            false => self.transcript.metadata().is_ok_and(|file| {
                let stored = self.progress.stored.raw;
                stored == Some(file.len()) || self.is_over && stored == Some(file.len() + 1)
            }),
        };
        self.open.is_none() && self.is_recorded() && is_as_it_was()
    }
}

/// Returns the size of a file and when it was written, in nanoseconds since the epoch; `None` if that is so lately that it
/// can be written again at what passes for the same time, or if it is a database with something in its log.
pub(super) fn stamp(path: &Path) -> Option<(u64, u64)> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if Path::new(&log).metadata().is_ok_and(|log| log.len() > 0) {
        return None;
    }
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file())?;
    let written = metadata.modified().ok()?;
    let is_past = SystemTime::now().duration_since(written).is_ok_and(|age| age > CLOCK_TICK);
    let written = written.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((metadata.len(), u64::try_from(written.as_nanos()).ok()?)).filter(|_| is_past)
}

/// Sessions that ran in other worktrees: a file with a line for each, which saves a look at their transcripts.
pub(super) struct Elsewhere {
    path: PathBuf,
    lines: String,
    worktree: String,
}

impl Elsewhere {
    fn line(&self, key: &SessionKey) -> String {
        format!("{key} {}", self.worktree)
    }

    /// Says whether a session is known to have run elsewhere.
    pub fn contains(&self, key: &SessionKey) -> bool {
        let line = self.line(key);
        self.lines.lines().any(|known| known == line)
    }

    /// Remembers a session. If that cannot be written, nothing is lost but time.
    pub fn add(&mut self, key: &SessionKey) {
        let kept = self.lines.lines().count().saturating_sub(MAX_ELSEWHERE);
        let start = self.lines.split_inclusive('\n').take(kept).map(str::len).sum();
        self.lines = format!("{}{}\n", &self.lines[start..], self.line(key));
        let _ = write_private(&self.path, self.lines.as_bytes());
    }
}

/// The directory with our state.
#[derive(Clone, Debug)]
pub struct State {
    root: PathBuf,
}

impl State {
    /// Returns the state of the repository with this common directory; nothing is created yet.
    pub fn new(common_dir: &Path) -> Self {
        State { root: common_dir.join("shiftlog") }
    }

    /// Returns the directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory for what could not be stored.
    pub fn pending_dir(&self) -> PathBuf {
        self.root.join("pending")
    }

    /// Says whether there is neither a live session nor anything pending. Costs two `readdir`s at most.
    pub fn is_idle(&self) -> bool {
        let is_whole = |entry: std::io::Result<std::fs::DirEntry>| entry.is_ok_and(|entry| !is_unfinished(&entry));
        let is_empty = |dir: PathBuf| match std::fs::read_dir(dir) {
            Ok(mut entries) => !entries.any(is_whole),
            // What may not be read can hold anything.
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        is_empty(self.root.join("live")) && is_empty(self.pending_dir())
    }

    /// Waits for other processes that change our state, at most until `deadline`.
    ///
    /// Refs move by compare-and-swap and need no lock. What is known of a session and what the archive has of it must
    /// change together, so whoever does not get the lock changes neither.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`](crate::error::Kind::Busy) when the deadline passes, another kind if there can be no lock; the message names the file.
    pub fn lock(&self, deadline: Instant) -> Result<Lock> {
        self.lock_file("lock", deadline)
    }

    /// Does the same with a lock of another name, for what hooks need not wait for.
    ///
    /// # Errors
    ///
    /// As [`State::lock`].
    pub fn lock_file(&self, name: &str, deadline: Instant) -> Result<Lock> {
        private::lock(&self.root.join(name), deadline)
    }

    /// Returns all sessions that are live, or over with words that no commit has; files that cannot be read are skipped.
    pub fn sessions(&self) -> Vec<Live> {
        let mut sessions = self.sessions_in("live");
        sessions.sort_by(|a, b| (&a.agent, &a.session).cmp(&(&b.agent, &b.session)));
        sessions
    }

    /// Returns all sessions that are known, settled and imported ones too.
    pub fn all_sessions(&self) -> Vec<Live> {
        let mut sessions = self.sessions();
        sessions.extend(["settled", "imported"].into_iter().flat_map(|name| self.sessions_in(name)));
        sessions
    }

    fn sessions_in(&self, directory: &str) -> Vec<Live> {
        let entries = std::fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        // A process that was killed while it wrote leaves what looks like a second session.
        let whole = entries.filter(|entry| !is_unfinished(entry));
        whole.filter_map(|entry| serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()).collect()
    }

    /// Removes what processes left that were killed while they wrote, and closes our directory to others.
    pub fn sweep(&self) {
        for directory in ["", "live", "settled", "imported", "purged", "pending"] {
            for entry in std::fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten() {
                let written = entry.metadata().and_then(|metadata| metadata.modified()).ok();
                let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
                if is_unfinished(&entry) && age.is_some_and(|age| age > UNFINISHED) {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
        #[cfg(unix)]
        if !is_shared(&self.root) {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
            let _ = std::fs::set_permissions(&self.root, mode);
        }
    }

    /// Notes that Git's hook has looked at a commit and found that some session has no part in it.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub(super) fn note_judged(&self, commit_id: ObjectId) -> Result<()> {
        let path = self.root.join("judged");
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let skipped = known.lines().count().saturating_sub(MAX_JUDGED);
        let mut lines: String = known.lines().skip(skipped).map(|line| format!("{line}\n")).collect();
        lines.push_str(&format!("{commit_id}\n"));
        write_private(&path, lines.as_bytes())
    }

    /// Says whether Git's hook has looked at a commit; see [`State::note_judged`].
    pub(super) fn is_judged(&self, commit_id: ObjectId) -> bool {
        let known = std::fs::read_to_string(self.root.join("judged")).unwrap_or_default();
        let id = commit_id.to_string();
        known.lines().any(|line| line == id)
    }

    /// Returns the sessions that are known to have run elsewhere than in a worktree.
    pub(super) fn elsewhere(&self, worktree: &Path) -> Elsewhere {
        let path = self.root.join("elsewhere");
        let lines = std::fs::read_to_string(&path).unwrap_or_default();
        Elsewhere { path, lines, worktree: outside::line(&worktree.to_string_lossy()) }
    }

    /// Returns the session called `key`, if it is known.
    pub fn session(&self, key: &SessionKey) -> Option<Live> {
        let mut files = ["live", "settled", "imported"].into_iter().map(|name| self.file(name, key));
        serde_json::from_slice(&files.find_map(|file| std::fs::read(file).ok())?).ok()
    }

    /// Writes down a session.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub fn save(&self, live: &Live) -> Result<()> {
        let bytes =
            serde_json::to_vec(live).map_err(|error| Error::other("cannot write a session's state").because(error))?;
        // Those that are settled stand apart, so that the next hooks need not read them.
        let (here, there) = if live.is_settled() { ("settled", "live") } else { ("live", "settled") };
        write_private(&self.file(here, &live.key()), &bytes)?;
        for there in [there, "imported"] {
            let _ = std::fs::remove_file(self.file(there, &live.key()));
        }
        Ok(())
    }

    /// Writes down a session of the past: no hook looks at it, but how far it is stored is known.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn save_imported(&self, live: &Live) -> Result<()> {
        let bytes =
            serde_json::to_vec(live).map_err(|error| Error::other("cannot write a session's state").because(error))?;
        write_private(&self.file("imported", &live.key()), &bytes)
    }

    /// Writes down a session that is known already: one that is known from an import alone stays one.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn update(&self, live: &Live) -> Result<()> {
        let has = |name| self.file(name, &live.key()).exists();
        let is_imported = has("imported") && !has("live") && !has("settled");
        if is_imported { self.save_imported(live) } else { self.save(live) }
    }

    /// Remembers of a session that words of it were removed for good: an import must not bring them back.
    ///
    /// # Errors
    ///
    /// As [`State::save`].
    pub fn mark_purged(&self, key: &SessionKey) -> Result<()> {
        write_private(&self.file("purged", key), b"{}")
    }

    /// Says whether words of a session were removed for good here.
    pub fn is_purged(&self, key: &SessionKey) -> bool {
        self.file("purged", key).exists()
    }

    /// Forgets a session that is not settled.
    pub fn forget(&self, key: &SessionKey) {
        if self.is_purged(key) {
            return;
        }
        let _ = std::fs::remove_file(self.file("live", key));
    }

    /// Forgets the settled sessions that were written down before `seconds` (epoch), and sweeps.
    pub fn forget_settled(&self, seconds: i64) {
        self.sweep();
        for entry in std::fs::read_dir(self.root.join("settled")).into_iter().flatten().flatten() {
            let written = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let age = written.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            let is_old = age.is_some_and(|age| i64::try_from(age.as_secs()).is_ok_and(|written| written < seconds));
            // What was taken out of a session would come back from its agent's file if it were taken for a new one.
            let is_purged = self.root.join("purged").join(entry.file_name()).exists();
            if is_old && !is_purged {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn file(&self, directory: &str, key: &SessionKey) -> PathBuf {
        self.root.join(directory).join(format!("{}.json", key.file_name()))
    }

    /// Adds a line to the log. A log that cannot be written stops nobody.
    pub fn log(&self, line: &str) {
        self.try_log(line);
    }

    /// Adds a line to the log, and says whether that could be written.
    pub fn try_log(&self, line: &str) -> bool {
        let path = self.root.join("log");
        if path.metadata().is_ok_and(|metadata| metadata.len() > MAX_LOG_BYTES) {
            let _ = std::fs::rename(&path, self.root.join("log.old"));
        }
        let line = format!("{} {}\n", crate::git::date::Time::now().to_rfc3339(), outside::line(line));
        let _ = private::create_dir(&self.root);
        let is_shared = is_shared(&self.root);
        let Ok(mut file) = private::options(is_shared).create(true).append(true).open(path) else { return false };
        private::share(&file, is_shared);
        file.write_all(line.as_bytes()).is_ok()
    }
}

/// Says whether a file is the beginning of another, which [`write_private`] had not finished.
fn is_unfinished(entry: &std::fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with('.')
}
