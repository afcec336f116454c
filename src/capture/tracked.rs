//! A session that hooks track, as its file in our state has it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::process::Process;
use super::progress::Progress;
use super::stamp::size_and_mtime;
use crate::agent;
use crate::git::{ObjectId, Repository};
use crate::transcript::SessionKey;

/// A recorded commit whose record still lacks the result of the tool call that ran `git commit`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
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
    /// The commits, in hex, that amending or rebasing has made of it. They get the result, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// When the commit was made, in seconds since the epoch, by this machine's clock; 0 if unknown.
    #[serde(default)]
    pub time: i64,
}

impl AwaitedResult {
    /// Returns the commit and those that amending or rebasing has made of it, as far as they exist.
    pub fn commit_ids(&self, repo: &Repository) -> Vec<ObjectId> {
        let ids = std::iter::once(&self.commit).chain(&self.rewritten).filter_map(|hex| repo.parse_id(hex));
        ids.filter(|id| repo.has_object(*id)).collect()
    }

    /// Adds the new commits of those `pairs` of an old and a new commit whose old one is this commit, or was made of it.
    pub fn follow(&mut self, pairs: &[(ObjectId, ObjectId)]) {
        for (old, new) in pairs {
            let (old, new) = (old.to_string(), new.to_string());
            let is_known = |hex: &String| self.commit == *hex || self.rewritten.contains(hex);
            if is_known(&old) && !is_known(&new) {
                self.rewritten.push(new);
            }
        }
    }
}

/// A file that a session has edited and that a commit with its words left out, wholly or in part.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LeftEdit {
    /// The commit that has the words, in hex.
    pub commit: String,
    /// The file's path from the top of the working tree.
    pub path: String,
    /// The id of a blob with the content that the file had then, in hex.
    pub blob: String,
}

/// The last words of a session that led to a commit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LastWords {
    /// The commit that they were recorded on first, in hex.
    pub commit: String,
    /// The calls among them that run `git commit` and had no result then.
    pub calls: Vec<String>,
    /// The records of the session and its sub-agents, as lines of a note.
    pub records: String,
}

/// A session of an agent, running or over, as our state keeps it: its transcript, its process, and how much of it is stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
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
    /// The last words that led to a commit: further commits of a call in them get the same.
    #[serde(default, rename = "words", skip_serializing_if = "Option::is_none")]
    pub last_words: Option<LastWords>,
    /// Its edits that no commit has yet, although its words about them are recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_edits: Vec<LeftEdit>,
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

    /// Says whether the session has ended and commits have all of it and of its edits: a commit need not look at it.
    pub(super) fn is_settled(&self) -> bool {
        self.is_over
            && self.awaited_result.is_none()
            && self.left_edits.is_empty()
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

    /// Says whether the transcript is a document or a part of a database, whose lines we make.
    pub(super) fn is_rendered(&self) -> bool {
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
