//! The files that the calls of an increment changed, for the member `edits` of a record.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use crate::git::{ObjectId, Repository};
use crate::transcript::EditedPath;

/// The largest number of files in a record: those with the most changed lines.
const MAX_EDITED: usize = 64;
/// The largest number of files of a record that are read: one that was joined from several can have more than each of them.
pub(super) const MAX_READ: usize = 256;
/// The longest path in a record, in bytes.
const MAX_PATH_BYTES: usize = 1024;

/// Returns the edits for a record: only files of the repository, by their paths from its top. `place` returns that path, or
/// `None` for another file.
pub fn placed(edited: Vec<EditedPath>, place: impl Fn(&str) -> Option<String>) -> Vec<EditedPath> {
    let placed = edited.into_iter().filter_map(|edited| {
        let is_plain = |path: &String| {
            let has_odd_part = path.split('/').any(|part| matches!(part, "" | "." | ".."));
            !has_odd_part && path.len() <= MAX_PATH_BYTES
        };
        let path = place(&edited.path).filter(is_plain)?;
        Some(EditedPath { path, ..edited })
    });
    few(joined(placed), MAX_EDITED)
}

/// Returns at most so many files: those with the most changed lines. Paths that no record of ours has are left out.
pub(super) fn few(mut edits: Vec<EditedPath>, max: usize) -> Vec<EditedPath> {
    edits.retain(|edited| edited.path.len() <= MAX_PATH_BYTES);
    if edits.len() > max {
        edits.sort_by(|a, b| b.lines().cmp(&a.lines()).then_with(|| a.path.cmp(&b.path)));
        edits.truncate(max);
        edits.sort_by(|a, b| a.path.cmp(&b.path));
    }
    edits
}

/// Returns the files that the records of a note name as edited, without reading more of the note.
pub fn edited_paths(note: &[u8]) -> impl Iterator<Item = String> {
    #[derive(serde::Deserialize)]
    struct Named {
        #[serde(default)]
        edits: Vec<EditedPath>,
    }
    let read = |line: &[u8]| serde_json::from_slice::<Named>(line).ok();
    note.lines().filter_map(read).flat_map(|named| named.edits).map(|edited| edited.path)
}

/// Adds up edits by path. All files stay, so that the order in which records are joined does not matter.
pub(super) fn joined(edits: impl IntoIterator<Item = EditedPath>) -> Vec<EditedPath> {
    let mut by_path: BTreeMap<String, EditedPath> = BTreeMap::new();
    for edited in edits {
        let new = || EditedPath { path: edited.path.clone(), ..EditedPath::default() };
        by_path.entry(edited.path.clone()).or_insert_with(new).add(&edited);
    }
    by_path.into_values().collect()
}

/// Returns the path, from the top of the repository, of a file that a transcript names: the part after this worktree's top.
/// In a transcript from another machine it is the part after the session's directory, or after a directory above it, that
/// names a file of the commit.
pub(super) fn place_of(
    repo: &Repository,
    commit_id: ObjectId,
    directory: Option<&str>,
) -> impl Fn(&str) -> Option<String> {
    let top = repo.worktree().map(|top| top.to_string_lossy().into_owned());
    move |named| {
        let rest_below =
            |top: &str| named.strip_prefix(top.trim_end_matches('/'))?.strip_prefix('/').map(str::to_owned);
        let has_file = |path: &str| repo.blob_at(commit_id, path.as_bytes().as_bstr()).is_ok_and(|blob| blob.is_some());
        if let Some(path) = top.as_deref().and_then(rest_below) {
            return Some(path);
        }
        if !named.starts_with('/') {
            return has_file(named).then(|| named.to_owned());
        }
        match directory {
            Some(directory) => {
                let mut tops = std::path::Path::new(directory).ancestors().filter_map(|top| rest_below(top.to_str()?));
                tops.find(|path| has_file(path))
            }
            None => {
                named.match_indices('/').map(|(at, _)| &named[at + 1..]).find(|path| has_file(path)).map(str::to_owned)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(path: &str, added: u64) -> EditedPath {
        EditedPath { path: path.into(), calls: 1, added, removed: 0 }
    }

    #[test]
    fn files_of_other_places_are_not_told_and_names_of_one_file_are_one() {
        let place = |named: &str| named.strip_prefix("/top/").or(named.strip_prefix("/link/")).map(str::to_owned);
        let edits = vec![edited("/top/b", 1), edited("/etc/passwd", 9), edited("/link/b", 2), edited("/top/a/../b", 4)];
        assert_eq!(placed(edits, place), [EditedPath { calls: 2, ..edited("b", 3) }]);
        assert_eq!(placed(vec![edited(&format!("/top/{}", "x".repeat(2000)), 1)], place), []);
    }

    #[test]
    fn of_very_many_files_those_with_the_most_lines_are_told() {
        let many = (0..100).map(|number| edited(&format!("{number:03}"), number));
        let told = placed(many.collect(), |path| Some(path.to_owned()));
        assert_eq!((told.len(), told[0].path.as_str(), told[63].path.as_str()), (MAX_EDITED, "036", "099"));
    }
}
