//! A tool call that has just ended, and the commits that it may have made.

use std::path::PathBuf;

use super::choose::CommitKind;
use super::pending::PendingCommit;
use super::recorder::Recorder;
use super::tracked::{AwaitedResult, TrackedSession};
use crate::agent::Payload;
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::record::Note;
use crate::transcript::SessionKey;

/// A commit that a tool call may have made.
pub(super) struct CallCommit {
    pub(super) commit_id: ObjectId,
    pub(super) kind: CommitKind,
    /// The commit that it became, if the call itself went on with the rebase and another commit was melded with it.
    pub(super) became: Option<ObjectId>,
    /// The command that made it while a rebase was stopped; `None` if no rebase was. `post-commit` does not run meanwhile.
    pub(super) stop: Option<AtStop>,
    /// The commit that was amended to this one, as far as moves of HEAD tell.
    pub(super) amended: Option<ObjectId>,
    /// The pending file that `post-commit` left for the session, and its content.
    pub(super) pending: Option<(PathBuf, PendingCommit)>,
}

impl CallCommit {
    /// Says whether a note of this commit has only what the commit had before it was amended.
    pub(super) fn is_carried(&self, recorder: &Recorder<'_>, note: &[u8]) -> Result<bool> {
        let Some(amended) = self.amended else { return Ok(false) };
        let before = notes::get(recorder.repo, &recorder.notes_ref, amended)?.unwrap_or_default();
        let before = Note::parse_unjoined(&before);
        Ok(Note::parse_unjoined(note).units().iter().all(|unit| before.units().contains(unit)))
    }
}

/// The command that made a commit while a rebase was stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AtStop {
    /// By `git commit`.
    Committed,
    /// By `git rebase --continue`, of what was staged.
    Continued,
}

/// A tool call that has just ended.
pub(super) struct ToolCall<'a> {
    pub(super) payload: &'a Payload,
    /// The session that made the call.
    pub(super) key: SessionKey,
    /// Whether no other session is running in the worktree.
    pub(super) is_alone: bool,
    /// HEAD after the call.
    pub(super) head: Option<ObjectId>,
}

impl<'a> ToolCall<'a> {
    /// Returns the call of `payload` that the session at `position` made.
    pub(super) fn new(
        repo: &Repository,
        sessions: &[TrackedSession],
        position: usize,
        payload: &'a Payload,
    ) -> Result<Self> {
        let (key, worktree) = (sessions[position].key(), &sessions[position].worktree);
        let is_alone = sessions.iter().filter(|live| live.worktree == *worktree && !live.is_over).count() == 1;
        Ok(ToolCall { payload, key, is_alone, head: repo.head()?.commit_id })
    }

    pub(super) fn call_id(&self) -> Option<String> {
        self.payload.call_id().map(str::to_owned)
    }

    pub(super) fn is_of_sub_agent(&self) -> bool {
        self.payload.sub_agent().is_some()
    }

    /// Returns the result that a session waits for after the call has made a commit.
    pub(super) fn awaited(&self, commit_id: ObjectId, pending: Option<&PendingCommit>) -> AwaitedResult {
        let (commit, call) = (commit_id.to_string(), self.call_id());
        let rewritten = pending.map(|pending| pending.rewritten.clone()).unwrap_or_default();
        let time = pending.map_or(0, |pending| pending.time);
        AwaitedResult { commit, call, is_of_sub_agent: self.is_of_sub_agent(), is_unsure: false, rewritten, time }
    }

    /// Says whether the result of the call names a commit.
    pub(super) fn names(&self, commit_id: ObjectId) -> bool {
        self.payload.response_mentions(&commit_id.to_hex_with_len(7).to_string())
    }

    /// Says whether the result of the call tells of making a commit. A result that only names it may be that of `git log`.
    pub(super) fn tells_of_making(&self, commit_id: ObjectId) -> bool {
        let id = commit_id.to_hex_with_len(7).to_string();
        let may_commit = || self.payload.may_commit() || !self.payload.tells_input();
        self.payload.response_reports_commit(&id) || (may_commit() && self.payload.response_mentions(&id))
    }

    /// Says whether the result of the call reports making a commit, as `git commit` does.
    pub(super) fn reports(&self, commit_id: ObjectId) -> bool {
        self.payload.response_reports_commit(&commit_id.to_hex_with_len(7).to_string())
    }

    /// Says whether the call may have made a commit, as far as its input and its result show.
    pub(super) fn may_have_made(&self, commit: &CallCommit) -> bool {
        match commit.stop {
            Some(_) => self.has_made(commit),
            None => self.tells_of_making(commit.commit_id) || self.payload.may_commit() || !self.payload.tells_input(),
        }
    }

    /// Says whether the session is known to have made a commit. If not, another process may have committed while the
    /// tool ran.
    pub(super) fn has_made(&self, commit: &CallCommit) -> bool {
        let has_run_it = match commit.stop {
            None => return self.has_made_outside_of_rebase(commit),
            Some(AtStop::Committed) => self.payload.commit_count() > 0,
            Some(AtStop::Continued) => self.payload.continues_rebase(),
        };
        // No hook of Git's tells who committed there, and a result that only names the commit may be that of `git log`.
        let made = format!("[detached HEAD {}", commit.commit_id.to_hex_with_len(7));
        commit.pending.is_some()
            || has_run_it && (self.is_alone || self.names(commit.commit_id))
            || self.payload.response_mentions(&made)
    }

    pub(super) fn has_made_outside_of_rebase(&self, commit: &CallCommit) -> bool {
        commit.pending.is_some()
            || self.tells_of_making(commit.commit_id)
            || (self.is_alone && self.payload.may_commit() && !self.tells_of_others(commit))
    }

    /// Says whether the result tells what became of each `git commit` of the call, and so that none of them made this commit:
    /// another program did, whose hooks did not run or had to wait.
    fn tells_of_others(&self, commit: &CallCommit) -> bool {
        let told = self.payload.told_commits();
        commit.kind != CommitKind::Merge && told > 0 && told >= self.payload.commit_count()
    }

    /// Says whether the call itself has undone a commit: HEAD of the same worktree no longer reaches it.
    pub(super) fn has_undone(&self, repo: &Repository, commit_id: ObjectId, pending: &PendingCommit) -> bool {
        let is_reached = |head| repo.merge_base(commit_id, head).is_ok_and(|base| base == Some(commit_id));
        pending.worktree.as_deref() == repo.worktree() && self.head.is_some_and(|head| !is_reached(head))
    }
}
