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
use crate::git::{Commit, ObjectId, git, private};
use crate::record::Reader;
use crate::transcript::SessionKey;

/// How many edits of a session are remembered.
const MAX_EDITS: usize = 100;
/// How much of the edited files is read.
const MAX_BYTES: u64 = 16 << 20;

/// Remembers those of some paths whose files differ from what `commit_id` has: a session has edited them, and its words
/// about them were recorded there. Remembers nothing of a commit that HEAD has left: the files may be of a later time.
///
/// # Errors
///
/// If Git cannot compute the ids of files.
pub(super) fn remember(
    recorder: &Recorder<'_>,
    live: &mut TrackedSession,
    worktree: Option<&Path>,
    commit_id: ObjectId,
    edited: &BTreeSet<String>,
) -> Result<()> {
    let repo = recorder.repo;
    let Some(top) = worktree.filter(|top| live.worktree.as_deref() == Some(*top)) else { return Ok(()) };
    let is_at_head = || repo.head().is_ok_and(|head| head.commit_id == Some(commit_id));
    if edited.is_empty() || repo.is_mid_operation() || !is_at_head() {
        return Ok(());
    }
    // A relative path is relative to the directory that the session runs in.
    let directory = live.directory.as_deref().unwrap_or(top);
    let named =
        edited.iter().filter_map(|named| below(top, &directory.join(named))?.into_os_string().into_string().ok());
    let committed = |path: &str| repo.blob_at(commit_id, path.as_bytes().as_bstr()).ok().flatten();
    // HEAD has moved to this commit last.
    let moved = repo.git_dir().join("logs/HEAD").metadata().and_then(|log| log.modified()).ok();
    let (mut paths, mut bytes) = (Vec::new(), 0);
    for path in named {
        let Ok(file) = top.join(&path).symlink_metadata() else { continue };
        bytes += file.len();
        if paths.len() == MAX_EDITS || bytes > MAX_BYTES {
            break;
        }
        // What was changed after the commit was left out by nobody.
        let is_later = file.modified().ok().zip(moved).is_some_and(|(modified, moved)| modified > moved);
        let is_same =
            || private::read_whole(&top.join(&path)).is_ok_and(|text| repo.blob_id(&text) == committed(&path));
        if file.is_file() && !is_later && !path.contains('\n') && !is_same() {
            paths.push(path);
        }
    }
    let ids = ids_in_worktree(recorder, top, &paths)?;
    for (path, id) in paths.into_iter().zip(ids) {
        let blob = id.to_string();
        // What an earlier commit left of the same file was changed together with it.
        live.left_edits.iter_mut().filter(|left| left.path == path).for_each(|left| left.blob.clone_from(&blob));
        let left = LeftEdit { commit: commit_id.to_string(), path, blob };
        if committed(&left.path) != Some(id) && !live.left_edits.contains(&left) {
            live.left_edits.push(left);
        }
    }
    let surplus = live.left_edits.len().saturating_sub(MAX_EDITS);
    live.left_edits.drain(..surplus);
    Ok(())
}

/// Carries the records of sessions and their sub-agents to a commit that has edits which earlier commits left out: it has the file as it was at
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
    let Some(top) = worktree else { return Ok(()) };
    let is_concerned = |live: &&mut TrackedSession| !live.left_edits.is_empty() && live.worktree.as_deref() == worktree;
    let mut changed: Option<BTreeMap<BString, ObjectId>> = None;
    for live in sessions.iter_mut().filter(is_concerned) {
        let repo = recorder.repo;
        if changed.is_none() {
            // A change of the mode alone takes no edit, nor does a removal.
            let content = |version: Option<(u16, ObjectId)>| version.map(|(_, id)| id);
            let changes = repo.changes_of(commit)?.into_iter();
            let changes = changes.filter(|change| content(change.before) != content(change.after));
            changed = Some(changes.filter_map(|change| Some((change.path, content(change.after)?))).collect());
        }
        let after = |left: &LeftEdit| Some(*changed.as_ref()?.get(left.path.as_bytes().as_bstr())?);
        let is_whole = |left: &LeftEdit| after(left).is_some_and(|after| repo.parse_id(&left.blob) == Some(after));
        let is_touched = |left: &&LeftEdit| after(left).is_some();
        let (whole, rest): (Vec<_>, Vec<_>) =
            live.left_edits.iter().filter(is_touched).partition(|left| is_whole(left));
        let rest: Vec<&LeftEdit> = rest.into_iter().filter(|left| top.join(&left.path).is_file()).collect();
        let paths: Vec<String> = rest.iter().map(|left| left.path.clone()).collect();
        let present = ids_in_worktree(recorder, top, &paths)?;
        let is_part = |(left, present): &(&LeftEdit, ObjectId)| repo.parse_id(&left.blob) == Some(*present);
        let parts = rest.into_iter().zip(present).filter(is_part).map(|(left, _)| left);
        let commits = whole.into_iter().chain(parts).filter_map(|left| repo.parse_id(&left.commit));
        let sources: BTreeSet<ObjectId> = commits.filter(|source| *source != commit.commit_id).collect();
        let present = records_on(recorder, &live.key(), commit.commit_id)?;
        let mut wanted = Vec::new();
        for source in sources {
            // A commit of the same tool call has them already.
            if records_on(recorder, &live.key(), source)?.iter().any(|through| !present.contains(through)) {
                wanted.push(source);
            }
        }
        live.left_edits.retain(|left| !is_whole(left));
        if !wanted.is_empty() {
            let rewrite = Rewrite::copied("commit", &wanted, commit.commit_id).only_of_all(live.key());
            rewritten::carry_or_keep(recorder, &rewrite)?;
        }
    }
    Ok(())
}

/// Returns the segments that a commit's records of a session end with.
fn records_on(recorder: &Recorder<'_>, key: &SessionKey, commit_id: ObjectId) -> Result<Vec<String>> {
    let note = Reader::beside(recorder.repo, &recorder.notes_ref).note(commit_id)?.unwrap_or_default();
    Ok(note.records().filter(|record| record.key() == *key).map(|record| record.through.clone()).collect())
}

/// Returns the ids of the blobs that `git add` would make of files of the working tree, with Git's filters.
fn ids_in_worktree(recorder: &Recorder<'_>, top: &Path, paths: &[String]) -> Result<Vec<ObjectId>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let args = ["-C".as_ref(), top.as_os_str(), "hash-object".as_ref(), "--stdin-paths".as_ref()];
    let input: String = paths.iter().map(|path| format!("{path}\n")).collect();
    let listed = git(args).input(input.into_bytes()).until(recorder.deadline).capture()?;
    let ids: Vec<ObjectId> = listed.to_str_lossy().lines().filter_map(|hex| recorder.repo.parse_id(hex)).collect();
    Ok(if ids.len() == paths.len() { ids } else { Vec::new() })
}
