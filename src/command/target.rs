//! What `show` is asked for: commits, ranges of commits, sessions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Range, Repository};
use crate::record::{Query, Reader, Summary};
use crate::transcript::SessionKey;

/// The shortest beginning of an id that stands for a session.
const MIN_CHARS: usize = 4;
/// How many sessions are listed where a beginning of an id has several.
const MAX_LISTED: usize = 10;

/// Something to show.
#[derive(Debug)]
pub(super) enum Target {
    /// A commit, as it was typed.
    Commit(String),
    /// A session, to be shown whole up to its last commit.
    Session { commit_id: ObjectId, key: SessionKey },
}

/// Finds out what words mean: revisions and ranges as `git show` has them, and ids of sessions. Of a range, the commits with a
/// conversation count, newest first.
///
/// # Errors
///
/// [`Kind::Missing`] if a range has no conversation; another kind if a word is the beginning of several ids.
pub(super) fn targets(reader: &Reader<'_>, words: &[String]) -> Result<Vec<Target>> {
    let repo = reader.repo();
    let mut targets = Vec::new();
    let mut range = Range::default();
    for word in words {
        let mut of_word = Range::default();
        // A session can be meant only where no commit is.
        if repo.add_to_range(&mut of_word, word).is_err() {
            targets.push(match find_session(reader, word)? {
                Some((key, commit_id)) => Target::Session { commit_id, key },
                None => Target::Commit(word.clone()),
            });
            continue;
        }
        match of_word.tips.as_slice() {
            [_] if of_word.hidden.is_empty() && !word.ends_with("^@") => targets.push(Target::Commit(word.clone())),
            tips => targets.extend(tips.iter().map(|id| Target::Commit(id.to_string()))),
        }
        range.tips.extend(of_word.tips);
        range.hidden.extend(of_word.hidden);
    }
    if range.hidden.is_empty() {
        return Ok(targets);
    }
    // With something to leave out, history is walked, as in Git.
    targets.retain(|target| matches!(target, Target::Session { .. }));
    let mut has_some = false;
    reader.each(&Query { range, ..Query::default() }, |listed| {
        if !listed.summaries.is_empty() {
            has_some = true;
            targets.push(Target::Commit(listed.commit.commit_id.to_string()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if !has_some {
        return Err(Error::new(Kind::Missing, format!("no conversation recorded for {}", words.join(" "))));
    }
    Ok(targets)
}

/// Finds the session that goes by a name, and the last commit that it made: its id, a unique beginning of it, or
/// `<agent>/<id>`.
fn find_session(reader: &Reader<'_>, name: &str) -> Result<Option<(SessionKey, ObjectId)>> {
    if name.chars().count() < MIN_CHARS {
        return Ok(None);
    }
    let repo = reader.repo();
    // Of each session: when it was recorded last, how long it was then, and where.
    let mut found: BTreeMap<SessionKey, (String, u64, ObjectId)> = BTreeMap::new();
    for (commit_id, blob_ids) in reader.noted()? {
        let Ok(note) = reader.note_of_blobs(&blob_ids) else { continue };
        for Summary { key, time, .. } in note.summaries() {
            let names = [key.id.clone(), key.to_string()];
            // A sub-agent is named by its whole id.
            let is_meant = names.iter().any(|known| known == name)
                || (key.parent_id().is_none() && names.iter().any(|known| known.starts_with(name)));
            if !is_meant || !repo.has_object(commit_id) {
                continue;
            }
            let bytes = note.records().filter(|record| record.key() == key).map(|record| record.bytes).max();
            let last = (time, bytes.unwrap_or(0), commit_id);
            if found.get(&key).is_none_or(|known| last > *known) {
                found.insert(key, last);
            }
        }
    }
    let exact = found.iter().find(|(key, _)| key.id == name || key.to_string() == name);
    if let Some((key, (.., commit_id))) = exact {
        return Ok(Some((key.clone(), *commit_id)));
    }
    let mut keys = found.iter();
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some((key, (.., commit_id))), None) => Ok(Some((key.clone(), *commit_id))),
        _ => {
            let error = Error::other(format!("session '{name}' is ambiguous")).hint("the sessions are:");
            let listed = found
                .iter()
                .take(MAX_LISTED)
                .fold(error, |error, (key, (time, ..))| error.hint(format!("  {key} {}", crate::outside::line(time))));
            Err(match found.len().saturating_sub(MAX_LISTED) {
                0 => listed,
                more => listed.hint(format!("  and {more} more")),
            })
        }
    }
}

/// Returns paths as they are from the top of the working tree, with `/` between components.
///
/// # Errors
///
/// If one is outside.
pub(super) fn paths_from_top(repo: &Repository, paths: &[OsString]) -> Result<Vec<String>> {
    let here =
        std::env::current_dir().map_err(|error| Error::other("cannot read the current directory").because(error))?;
    let top = match repo.worktree() {
        Some(top) => top.canonicalize().unwrap_or_else(|_| top.to_owned()),
        // Without a working tree, paths begin at its top.
        None => here.clone(),
    };
    let from_top = |path: &OsString| {
        let whole = plain(&here.join(path));
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
