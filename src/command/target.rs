//! The commits, ranges of commits, sessions and paths that a command line names, and what is recorded for them.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};

use crate::cli;
use crate::error::{Error, Kind, Result};
use crate::git::{Commit, ObjectId, Range, Repository};
use crate::outside;
use crate::record::{Conversation, Query, Reader};
use crate::transcript::SessionKey;

/// A commit or a session that the command line names.
#[derive(Debug)]
pub(super) enum Named {
    /// A commit, as it was typed.
    Commit(String),
    /// A session, to be shown whole up to its last commit.
    Session { commit_id: ObjectId, key: SessionKey },
}

/// Finds out what words mean: revisions and ranges as `git show` has them, and ids of sessions. Of a range, the commits with a
/// conversation count, newest first; with `has_evidence` also those with evidence alone.
///
/// # Errors
///
/// [`Kind::Missing`] if a range has no such commit; another kind if a word is the beginning of several ids.
pub(super) fn targets(reader: &Reader<'_>, words: &[String], has_evidence: bool) -> Result<Vec<Named>> {
    let repo = reader.repo();
    let mut targets = Vec::new();
    let mut range = Range::default();
    for word in words {
        let mut of_word = Range::default();
        // A session can be meant only where no commit is.
        if repo.add_to_range(&mut of_word, word).is_err() {
            targets.push(match reader.find_session(word)? {
                Some((key, commit_id)) => Named::Session { commit_id, key },
                None => on_no_commit(reader, word).map_or_else(|| Ok(Named::Commit(word.clone())), Err)?,
            });
            continue;
        }
        match of_word.tips.as_slice() {
            [_] if of_word.hidden.is_empty() && !word.ends_with("^@") => targets.push(Named::Commit(word.clone())),
            tips => targets.extend(tips.iter().map(|id| Named::Commit(id.to_string()))),
        }
        range.tips.extend(of_word.tips);
        range.hidden.extend(of_word.hidden);
    }
    if range.hidden.is_empty() {
        return Ok(targets);
    }
    // With something to leave out, history is walked, as in Git.
    targets.retain(|target| matches!(target, Named::Session { .. }));
    let mut has_some = false;
    reader.each(&Query { range, has_evidence, ..Query::default() }, |listed| {
        if !listed.summaries.is_empty() || has_evidence && !listed.evidence.is_empty() {
            has_some = true;
            targets.push(Named::Commit(listed.commit.commit_id.to_string()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if !has_some {
        return Err(nothing_recorded(None, &words.join(" ")));
    }
    Ok(targets)
}

/// Finds the commit that a revision names.
///
/// # Errors
///
/// With a hint if the word is a file, or a file of a commit as `git show` names it.
pub(super) fn commit_of(repo: &Repository, revision: &str) -> Result<ObjectId> {
    repo.resolve(revision).map_err(|error| match (error.kind(), revision.split_once(':')) {
        (Kind::Missing, _) if !revision.is_empty() && Path::new(revision).exists() => {
            let path = outside::shell(revision);
            Error::other(error.to_string())
                .hint(format!("git shiftlog log -- {path}    # lists the conversations about a file"))
        }
        // As 'git show' names a file.
        (Kind::Missing, Some((commit, path))) if !path.is_empty() && repo.resolve(commit).is_ok() => {
            let (commit, path) = (outside::shell(commit), outside::shell(path));
            Error::other(error.to_string())
                .hint(format!("git shiftlog show {commit} -- {path}    # shows the turns about a file"))
        }
        (Kind::Missing, _) => Error::other(error.to_string()),
        _ => error,
    })
}

/// Finds the commit that a word names, or else the session whose id it begins, and its last commit.
///
/// # Errors
///
/// If it is neither, or the beginning of several ids.
pub(super) fn commit_or_session(reader: &Reader<'_>, word: &str) -> Result<(ObjectId, Option<SessionKey>)> {
    match reader.repo().resolve(word) {
        Err(error) if error.kind() == Kind::Missing => match reader.find_session(word)? {
            Some((key, commit_id)) => Ok((commit_id, Some(key))),
            None => Err(on_no_commit(reader, word).unwrap_or(error)),
        },
        resolved => Ok((resolved?, None)),
    }
}

/// The shortest beginning of a session's id by which one that no commit has is known.
const MIN_ID_BYTES: usize = 4;

/// Returns the error that says that a session is in the archive, and on no commit; `None` if the word begins none.
fn on_no_commit(reader: &Reader<'_>, word: &str) -> Option<Error> {
    let is_meant = |key: &SessionKey| key.to_string() == word || word.len() >= MIN_ID_BYTES && key.id.starts_with(word);
    let key = reader.unrecorded().ok()?.into_keys().filter(is_meant).min_by_key(ToString::to_string)?;
    let error = Error::new(Kind::Missing, format!("no commit has session {key}, which is in the archive"));
    Some(
        error.hint(format!(
            "'git shiftlog grep --unrecorded --session={} .' prints what it says",
            outside::shell(&key.id)
        )),
    )
}

/// Returns the error that says that nothing is recorded for revisions, or not the session that is asked for.
pub(super) fn nothing_recorded(session: Option<&str>, revisions: &str) -> Error {
    let what = session.map_or("conversation".to_owned(), |session| format!("session '{}'", outside::line(session)));
    Error::new(Kind::Missing, format!("no {what} recorded for {revisions}"))
}

/// Returns the error that says that nothing is recorded for a commit, and what shows or lists the commits that have something.
/// `command` is what was typed to see it, such as `show`.
pub(super) fn nothing_on(repo: &Repository, revision: &str, command: &str) -> Error {
    let commit = repo.resolve(revision).and_then(|commit_id| repo.commit(commit_id));
    let is_stash = revision.strip_prefix("refs/").unwrap_or(revision).starts_with("stash");
    // Behind the end of a shallow clone nothing can be named.
    let is_merge = |commit: &Commit| commit.parent_ids.len() > 1 && repo.has_object(commit.parent_ids[0]);
    let is_merge = !is_stash && commit.is_ok_and(|commit| is_merge(&commit));
    let hint = match is_merge {
        true => {
            let verb = if command == "show" { "shows" } else { "writes" };
            format!(
                "'git shiftlog {command} {revision}^..{revision}' {verb} the conversations of what this merge brought"
            )
        }
        false => "'git shiftlog log' lists the commits that have a conversation".to_owned(),
    };
    nothing_recorded(None, revision).hint(hint)
}

/// Finds the conversations of a commit.
///
/// # Errors
///
/// [`Kind::Missing`] if nothing is recorded for the commit; another kind if there is no such commit.
pub(super) fn conversations_of(reader: &Reader<'_>, revision: &str) -> Result<Vec<Conversation>> {
    let commit_id = commit_of(reader.repo(), revision)?;
    let note = reader.note(commit_id)?.ok_or_else(|| nothing_on(reader.repo(), revision, "show"))?;
    let conversations = reader.conversations(&note, None, false)?;
    if conversations.is_empty() { Err(nothing_on(reader.repo(), revision, "show")) } else { Ok(conversations) }
}

/// Returns paths as they are from the top of the working tree, with `/` between components.
///
/// # Errors
///
/// If one is outside.
pub(super) fn paths_from_top(repo: &Repository, paths: &[OsString]) -> Result<Vec<String>> {
    let here = cli::current_directory()?;
    let top = match repo.worktree() {
        Some(top) => top.canonicalize().unwrap_or_else(|_| top.to_owned()),
        // Without a working tree, paths begin at its top.
        None => here.clone(),
    };
    // As in Git, paths begin at the top if they are typed outside the working tree.
    let base = if here.starts_with(&top) { here } else { top.clone() };
    let from_top = |path: &OsString| {
        let whole = plain(&base.join(path));
        let inside = whole.strip_prefix(&top).map_err(|_| {
            Error::other(format!("'{}' is outside repository at '{}'", Path::new(path).display(), top.display()))
        })?;
        let parts: Vec<_> = inside.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        Ok(parts.join("/"))
    };
    paths.iter().map(from_top).collect()
}

/// Returns a path without `.` and `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}
