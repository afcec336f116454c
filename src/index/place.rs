//! Putting new files of the index in place, so that a reader sees each whole and a process that dies leaves the old ones or
//! the new ones.
//!
//! Read [`put`]. New files are staged in `.memo/.history/staged`; the directory's new name `next` says that it is
//! complete, and from then on the files only have to be moved. Whoever scans next moves those that were left.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::{Project, ROOTS, read};
use super::schema;
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::fault_point;

/// How many earlier versions of the index are kept, one for each scan.
const MAX_KEPT: usize = 10;

/// Puts new texts of files in place, in the order of [`ROOTS`], `None` for a file that stays, and the text of the snapshot
/// that they go with. The old files are copied to the history. The caller has the lock of scans.
///
/// # Errors
///
/// If something cannot be written; then either nothing has changed, or the next scan moves what is left.
pub fn put(project: &Project, texts: &[Option<String>], scanned: &str) -> Result<()> {
    let (staged, next) = (project.history().join("staged"), project.history().join("next"));
    remove(&staged)?;
    std::fs::create_dir_all(&staged).map_err(|error| Error::io("create", &staged, error))?;
    let names = ROOTS.iter().map(|root| format!("{root}.json"));
    let files = names.zip(texts).filter_map(|(name, text)| Some((name, text.as_deref()?)));
    for (name, text) in files.chain([("scanned.json".to_owned(), scanned)]) {
        let path = staged.join(name);
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| Error::io("write", &path, error))?;
        fault_point("index-staged");
    }
    std::fs::rename(&staged, &next).map_err(|error| Error::io("write", &next, error))?;
    fault_point("index-complete");
    finish(project)
}

/// Moves files in place that are complete, and were not moved because a process died. What is no valid file of an index is
/// none of ours: a checkout has brought it, and it is removed.
///
/// # Errors
///
/// If a file cannot be moved, or would replace a link.
pub fn finish(project: &Project) -> Result<()> {
    let next = project.history().join("next");
    if !next.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    let is_there = |root: &&str| next.join(format!("{root}.json")).symlink_metadata().is_ok();
    let waiting: Vec<&str> = ROOTS.iter().copied().filter(is_there).collect();
    let is_valid = |root: &&str| {
        let text = read(&next, root);
        schema::check(root, text.as_deref().map_err(String::as_str)).is_empty()
    };
    if !waiting.iter().all(is_valid) {
        return remove(&next);
    }
    if !waiting.is_empty() {
        keep(project)?;
    }
    fault_point("index-kept");
    for root in waiting {
        let (from, to) = (next.join(format!("{root}.json")), project.directory().join(format!("{root}.json")));
        if to.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Error::other(format!("'{}' is not a regular file", to.display())));
        }
        std::fs::rename(&from, &to).map_err(|error| Error::io("write", &to, error))?;
        fault_point("index-moved");
    }
    let scanned = project.history().join("scanned.json");
    match std::fs::rename(next.join("scanned.json"), &scanned) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::io("write", &scanned, error));
        }
        _ => {}
    }
    remove(&next)
}

/// Copies the files of the index as they are, and removes the oldest copies.
fn keep(project: &Project) -> Result<()> {
    let history = project.history();
    let time: String = Time::now().to_rfc3339().chars().filter(char::is_ascii_alphanumeric).collect();
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let copy = history.join(format!("{time}-{nanos:09}"));
    std::fs::create_dir_all(&copy).map_err(|error| Error::io("create", &copy, error))?;
    for name in ROOTS.iter().map(|root| format!("{root}.json")) {
        let (from, to) = (project.directory().join(&name), copy.join(&name));
        if from.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            std::fs::copy(&from, &to).map_err(|error| Error::io("write", &to, error))?;
        }
    }
    let entries = std::fs::read_dir(&history).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_copy = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut copies: Vec<_> = entries.filter(is_copy).collect();
    copies.sort();
    let old = copies.len().saturating_sub(MAX_KEPT);
    copies[..old].iter().try_for_each(|path| remove(path))
}

/// Removes a directory, if it is there.
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}
