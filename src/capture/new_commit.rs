//! A commit that hooks are to record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::choose::CommitKind;
use super::pending::PendingCommit;
use super::tracked::AwaitedResult;
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::transcript::SessionKey;

/// A commit to record, and how it was made as far as that is known.
#[derive(Clone, Debug)]
pub(super) struct NewCommit {
    /// The commit, followed by the commits that it became by amending or rebasing.
    pub commit_ids: Vec<ObjectId>,
    /// When it was made, in seconds since the epoch, by this machine's clock.
    pub time: i64,
    pub kind: CommitKind,
    /// The top of the working tree that the commit was made in.
    pub worktree: Option<PathBuf>,
    /// The sessions that are known to have run `git commit`.
    pub runners: Vec<SessionKey>,
    /// The id of the tool call that ran `git commit`.
    pub call_id: Option<String>,
    /// Whether a sub-agent made that call.
    pub is_of_sub_agent: bool,
    /// The call that made it and what the call made before, as far as the agent's hook tells.
    pub of_call: Option<OfCall>,
    /// The length of each session's transcript when the commit was made, by the session's name; `None` if the commit was
    /// made just now.
    pub transcript_bytes: Option<BTreeMap<String, u64>>,
}

/// A tool call that made a commit.
#[derive(Clone, Debug, Default)]
pub(super) struct OfCall {
    /// Its id.
    pub call: Option<String>,
    /// The commits that it made before.
    pub made: Vec<ObjectId>,
    /// How long the transcript was when the commit was made, if that was noted.
    pub length: Option<u64>,
}

impl NewCommit {
    /// Returns [`NewCommit::made_in`] this worktree.
    pub fn made_here(repo: &Repository, runners: Vec<SessionKey>) -> Self {
        Self::made_in(repo.worktree().map(Path::to_owned), runners)
    }

    /// Returns a description without a commit id, for a plain commit that `runners` have just made in a worktree.
    pub(super) fn made_in(worktree: Option<PathBuf>, runners: Vec<SessionKey>) -> Self {
        NewCommit {
            commit_ids: Vec::new(),
            time: Time::now().seconds,
            kind: CommitKind::Plain,
            worktree,
            runners,
            call_id: None,
            is_of_sub_agent: false,
            of_call: None,
            transcript_bytes: None,
        }
    }

    /// Returns the result of the tool call `call` that made the commit; `None` if there is no commit.
    pub(super) fn awaited(&self, call: Option<String>, is_unsure: bool) -> Option<AwaitedResult> {
        let mut hexes = self.commit_ids.iter().map(ToString::to_string);
        let commit = hexes.next()?;
        let is_of_sub_agent = self.is_of_sub_agent && !is_unsure;
        Some(AwaitedResult { commit, call, is_of_sub_agent, is_unsure, rewritten: hexes.collect(), time: self.time })
    }

    /// Returns the description that a pending file has.
    pub fn from_pending(repo: &Repository, pending: &PendingCommit) -> Self {
        let hexes = std::iter::once(&pending.commit).chain(&pending.rewritten);
        let exists = |id: &ObjectId| repo.commit(*id).is_ok();
        NewCommit {
            commit_ids: hexes.filter_map(|hex| repo.parse_id(hex)).filter(exists).collect(),
            time: pending.time,
            kind: pending.kind,
            worktree: pending.worktree.clone().or_else(|| repo.worktree().map(Path::to_owned)),
            runners: pending.runners.iter().filter_map(|name| SessionKey::of_name(name)).collect(),
            call_id: None,
            is_of_sub_agent: false,
            of_call: None,
            transcript_bytes: Some(pending.transcript_bytes.clone()),
        }
    }
}
