//! Lists the files changed since the last scan and splits them into questions.
//!
//! Read [`Snapshot`]. Git says which files there are: tracked ones, and untracked ones that it does not ignore. Files
//! that hold secrets by their names are left out: not even the name is sent.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Project;
use super::files::read_history;
use crate::error::{Error, Result};
use crate::git::{Repository, git, private};
use crate::told;

/// The most files that one question tells of.
pub const MAX_FILES: usize = 100;
/// How much of a file is sent.
pub const MAX_SENT_BYTES: usize = 32_000;
/// The largest file that is read. One that is larger has changed when its size or its time has; its content is not sent.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// The cost of a file beside its name and content, in bytes.
const HEAD_BYTES: usize = 60;

/// The files of a project at one time: their ids, by their paths from the top.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Snapshot {
    files: BTreeMap<String, String>,
}

/// How a file has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChangeKind {
    /// It is new, or its content is another.
    Changed,
    /// It is gone.
    Deleted,
}

/// A file that has changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileChange {
    /// Its path from the top of the project.
    pub path: String,
    /// How it has changed.
    pub kind: ChangeKind,
    /// How much of it is sent at most, without its name.
    pub bytes: usize,
}

impl Snapshot {
    /// Looks at all files that Git knows or would add. Those in `.memo` are not the project's own.
    ///
    /// # Errors
    ///
    /// If the project is in no working tree.
    pub fn take(repo: &Repository, project: &Project) -> Result<Self> {
        let id = |path: &String| Some((path.clone(), file_id(repo, &project.top().join(path))?));
        Ok(Snapshot { files: listed(repo, project)?.iter().filter_map(id).collect() })
    }

    /// Returns the snapshot of the last scan; an empty one if there was none, or if it cannot be read.
    pub fn of_last_scan(project: &Project) -> Self {
        let value = last_scan(project);
        let files = value["files"].as_object().into_iter().flatten();
        let files = files.filter_map(|(path, id)| Some((path.clone(), id.as_str()?.to_owned())));
        Snapshot { files: files.collect() }
    }

    /// Returns the text that [`Snapshot::of_last_scan`] reads.
    pub fn to_text(&self, time: &str) -> String {
        format!("{}\n", json!({ "version": 1, "time": time, "files": self.files }))
    }

    /// Takes over the ids of some files from a later snapshot.
    pub fn advance(&mut self, changes: &[FileChange], later: &Self) {
        for FileChange { path, .. } in changes {
            match later.files.get(path) {
                Some(id) => self.files.insert(path.clone(), id.clone()),
                None => self.files.remove(path),
            };
        }
    }

    /// Returns the changes since another snapshot, by path.
    pub fn changes_since(&self, earlier: &Self, project: &Project) -> Vec<FileChange> {
        let size = |path: &String| project.top().join(path).symlink_metadata().map_or(0, |metadata| metadata.len());
        let bytes = |path: &String| usize::try_from(size(path)).unwrap_or(MAX_SENT_BYTES).min(MAX_SENT_BYTES);
        let is_new = |(path, id): &(&String, &String)| earlier.files.get(*path) != Some(*id);
        let changed = self.files.iter().filter(is_new);
        let changed =
            changed.map(|(path, _)| FileChange { path: path.clone(), kind: ChangeKind::Changed, bytes: bytes(path) });
        let is_gone = |path: &&String| !self.files.contains_key(*path) && !told::is_secret_data(path);
        let gone = earlier.files.keys().filter(is_gone);
        let gone = gone.map(|path| FileChange { path: path.clone(), kind: ChangeKind::Deleted, bytes: 0 });
        let mut changes: Vec<FileChange> = changed.chain(gone).collect();
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }
}

/// Returns when the last scan was, in RFC 3339; `None` if there was none.
pub fn last_scan_time(project: &Project) -> Option<String> {
    last_scan(project)["time"].as_str().map(str::to_owned)
}

fn last_scan(project: &Project) -> Value {
    let text = read_history(project, "scanned.json").unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Returns the paths of the files that may be sent, from the top of the project.
fn listed(repo: &Repository, project: &Project) -> Result<Vec<String>> {
    let prefix = project.prefix(repo)?;
    let paths = known(repo, &prefix)?;
    let inside = paths.iter().filter_map(|path| path.strip_prefix(&prefix).ok());
    let paths = inside.filter(|path| !path.starts_with(".memo")).filter_map(Path::to_str);
    Ok(paths.filter(|path| !told::is_secret_data(path)).map(str::to_owned).collect())
}

/// Returns the paths of the files below `prefix` that Git knows or would add, from the top of the working tree.
///
/// # Errors
///
/// If there is no working tree, or Git fails.
pub(super) fn known(repo: &Repository, prefix: &Path) -> Result<Vec<PathBuf>> {
    if repo.worktree().is_none() {
        return Err(Error::other("this operation must be run in a work tree"));
    }
    let mut args: Vec<std::ffi::OsString> =
        ["ls-files", "-z", "--cached", "--others", "--exclude-standard"].map(Into::into).to_vec();
    if !prefix.as_os_str().is_empty() {
        let mut pattern = std::ffi::OsString::from(":(top,literal)");
        pattern.push(prefix);
        args.extend(["--".into(), pattern]);
    }
    let output = git(args).repository(repo).capture()?;
    let paths = output.split_str("\0").filter(|path| !path.is_empty());
    Ok(paths.map(|path| OsStr::from_bytes(path).into()).collect())
}

/// Returns the id by which a changed file is told apart; `None` for anything but a regular file.
fn file_id(repo: &Repository, path: &Path) -> Option<String> {
    let file = private::open_no_link(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    if metadata.len() > MAX_FILE_BYTES {
        let time = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        return Some(format!("{}-{}", metadata.len(), time.as_nanos()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(repo.blob_id(&bytes)?.to_string())
}

/// Returns the content of a file as text; `None` if it is gone, too large or binary.
pub fn content(project: &Project, path: &str) -> Option<String> {
    let file = private::open_no_link(&project.top().join(path)).ok()?;
    let bytes = private::read_open(file, MAX_FILE_BYTES).ok()?;
    // As Git tells binary files.
    let is_binary = bytes.iter().take(8000).any(|byte| *byte == 0);
    (!is_binary).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

impl FileChange {
    /// Returns how many bytes of a question the file takes at most.
    pub fn cost(&self) -> usize {
        self.bytes + self.path.len() + HEAD_BYTES
    }
}

/// Splits changes, which are sorted by path, into as many parts as there are questions: at most [`MAX_FILES`] files and
/// `max_bytes` each. A folder is not split unless it is too large.
pub fn parts(changes: &[FileChange], max_bytes: usize) -> Vec<&[FileChange]> {
    let mut joined: Vec<(usize, usize)> = Vec::new();
    let mut end = 0;
    for group in groups(changes, 0, max_bytes) {
        let start = end;
        end += group.len();
        match joined.last_mut() {
            Some(last) if fits(&changes[last.0..end], max_bytes) => last.1 = end,
            _ => joined.push((start, end)),
        }
    }
    joined.into_iter().filter(|(start, end)| start < end).map(|(start, end)| &changes[start..end]).collect()
}

fn fits(changes: &[FileChange], max_bytes: usize) -> bool {
    changes.len() <= MAX_FILES && changes.iter().map(FileChange::cost).sum::<usize>() <= max_bytes
}

/// Returns groups of changes that fit, one after the other: whole folders, or what is in them.
fn groups(changes: &[FileChange], depth: usize, max_bytes: usize) -> Vec<&[FileChange]> {
    if fits(changes, max_bytes) || changes.len() < 2 {
        return vec![changes];
    }
    fn folder(change: &FileChange, depth: usize) -> Option<&str> {
        let mut parts = change.path.split('/').skip(depth);
        let folder = parts.next()?;
        parts.next().map(|_| folder)
    }
    let parts: Vec<&[FileChange]> = changes.chunk_by(|one, other| folder(one, depth) == folder(other, depth)).collect();
    match parts.as_slice() {
        [all] if folder(&all[0], depth).is_some() => groups(all, depth + 1, max_bytes),
        [all] => {
            let (first, second) = all.split_at(all.len() / 2);
            [groups(first, depth, max_bytes), groups(second, depth, max_bytes)].concat()
        }
        parts => parts.iter().flat_map(|part| groups(part, depth, max_bytes)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(paths: impl IntoIterator<Item = String>, bytes: usize) -> Vec<FileChange> {
        paths.into_iter().map(|path| FileChange { path, kind: ChangeKind::Changed, bytes }).collect()
    }

    fn split(changes: &[FileChange], max_bytes: usize) -> Vec<usize> {
        let parts = parts(changes, max_bytes);
        assert_eq!(parts.concat(), changes, "each file is in one part, in order");
        parts.iter().map(|part| part.len()).collect()
    }

    #[test]
    fn up_to_a_hundred_files_are_one_part_and_more_are_split_between_folders() {
        let files = |folder: &str, count: usize| (0..count).map(|n| format!("{folder}/f{n:03}")).collect::<Vec<_>>();
        assert_eq!(split(&[], 1 << 20), [0; 0]);
        assert_eq!(split(&changes(files("a", 100), 0), 1 << 20), [100]);
        let two = changes([files("a", 60), files("b", 60)].concat(), 0);
        assert_eq!(split(&two, 1 << 20), [60, 60]);
        let small = changes([files("a", 30), files("b", 30), files("c", 30), files("d", 30)].concat(), 0);
        assert_eq!(split(&small, 1 << 20), [90, 30], "small folders share a question");
        let deep = changes([files("a/b/c", 80), files("a/b/d", 80)].concat(), 0);
        assert_eq!(split(&deep, 1 << 20), [80, 80]);
        assert_eq!(split(&changes(files("a", 250), 0), 1 << 20), [62, 63, 62, 63], "by halves");
    }

    #[test]
    fn a_part_is_no_longer_than_a_question_unless_it_is_one_file() {
        let large = changes((0..10).map(|n| format!("a/f{n}")), 1000);
        let cost = large[0].cost();
        assert_eq!(split(&large, 5 * cost), [5, 5]);
        assert_eq!(split(&large, 1), [1; 10]);
    }
}
