//! Edits of a session that the commit with its words left out: the commit that takes them gets those words, too.
//!
//! A person often commits the work of one turn in parts. The session has nothing new to say at the later parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::{BString, ByteSlice as _};

use super::choose::below;
use super::recorder::Recorder;
use super::rewritten::{self, Rewrite};
use super::tracked::{LeftEdit, TrackedSession};
use crate::error::Result;
use crate::git::{Commit, ObjectId, Repository};

/// How many edits of a session are remembered.
const MAX_EDITS: usize = 100;
/// A larger file is not compared.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Remembers those of some paths whose files differ from what `commit_id` has: a session has edited them, and its words
/// about them were recorded there. Remembers nothing of a commit that HEAD has left: the files may be of a later time.
pub(super) fn remember(
    repo: &Repository,
    live: &mut TrackedSession,
    worktree: Option<&Path>,
    commit_id: ObjectId,
    edited: &BTreeSet<String>,
) {
    let Some(top) = worktree.filter(|top| live.worktree.as_deref() == Some(*top)) else { return };
    let is_at_head = || repo.head().is_ok_and(|head| head.commit_id == Some(commit_id));
    if edited.is_empty() || repo.is_mid_operation() || !is_at_head() {
        return;
    }
    for named in edited {
        let path = if Path::new(named).is_absolute() { below(top, Path::new(named)) } else { Some(named.into()) };
        let Some(path) = path.and_then(|path| path.into_os_string().into_string().ok()) else { continue };
        let Some(blob_id) = blob_in_worktree(repo, top, &path) else { continue };
        let blob = blob_id.to_string();
        // What an earlier commit left of the same file was changed together with it.
        live.left_edits.iter_mut().filter(|left| left.path == path).for_each(|left| left.blob.clone_from(&blob));
        let committed = repo.blob_at(commit_id, path.as_bytes().as_bstr()).ok().flatten();
        if committed == Some(blob_id) {
            continue;
        }
        let left = LeftEdit { commit: commit_id.to_string(), path, blob };
        if !live.left_edits.contains(&left) {
            live.left_edits.push(left);
        }
    }
    let surplus = live.left_edits.len().saturating_sub(MAX_EDITS);
    live.left_edits.drain(..surplus);
}

/// Carries the records of sessions to a commit that has edits which earlier commits left out: it has the file as it was at
/// the earlier commit, or only a part of what has been in the file since then.
///
/// # Errors
///
/// If the repository cannot be read, or the notes cannot be written or kept for the next command.
pub(super) fn carry_left_edits(
    recorder: &mut Recorder<'_>,
    commit: &Commit,
    worktree: Option<&Path>,
    sessions: &mut [TrackedSession],
) -> Result<()> {
    let is_concerned = |live: &&mut TrackedSession| !live.left_edits.is_empty() && live.worktree.as_deref() == worktree;
    let mut changed: Option<BTreeMap<BString, Option<ObjectId>>> = None;
    for live in sessions.iter_mut().filter(is_concerned) {
        let repo = recorder.repo;
        if changed.is_none() {
            let changes = repo.changes_of(commit)?.into_iter();
            changed = Some(changes.map(|change| (change.path, change.after.map(|(_, id)| id))).collect());
        }
        let mut sources = BTreeSet::new();
        live.left_edits.retain(|left| {
            let Some(after) = changed.as_ref().and_then(|changed| changed.get(left.path.as_bytes().as_bstr())) else {
                return true;
            };
            let left_id = repo.parse_id(&left.blob);
            let is_whole = left_id.is_some() && *after == left_id;
            let is_part = || {
                let present = worktree.and_then(|top| blob_in_worktree(repo, top, &left.path));
                left_id.is_some() && present == left_id
            };
            if is_whole || is_part() {
                sources.extend(repo.parse_id(&left.commit).filter(|source| *source != commit.commit_id));
            }
            !is_whole
        });
        if !sources.is_empty() {
            let sources: Vec<ObjectId> = sources.into_iter().collect();
            let rewrite = Rewrite::copied("commit", &sources, commit.commit_id).only_of(live.key());
            rewritten::carry_or_keep(recorder, &rewrite)?;
        }
    }
    Ok(())
}

/// Returns the id of a blob with the content of a file of the working tree; `None` if there is no such regular file, or it
/// is large.
fn blob_in_worktree(repo: &Repository, top: &Path, path: &str) -> Option<ObjectId> {
    let file = top.join(path);
    file.symlink_metadata().ok().filter(|file| file.is_file() && file.len() <= MAX_FILE_BYTES)?;
    repo.blob_id(&std::fs::read(file).ok()?)
}
