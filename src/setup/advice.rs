//! Commands of `git config` that change a value where it is set: an entry of the repository's own file does nothing about one
//! that an included file or the user's own file has.

use std::path::PathBuf;

use bstr::ByteSlice as _;

use crate::git::{Repository, git};
use crate::outside;

/// Where a value of the config stands.
struct Origin {
    scope: String,
    file: PathBuf,
}

impl Origin {
    /// Says whether the value is one for this repository alone.
    fn is_own(&self) -> bool {
        !matches!(&*self.scope, "global" | "system")
    }
}

/// Returns where the values of a key stand, in the order Git reads them. Those of the environment are in no file.
fn origins(repo: &Repository, key: &str) -> Vec<Origin> {
    let listed = git(["config", "--show-scope", "--show-origin", "-z", "--get-all", key]).repository(repo).capture();
    let listed = listed.unwrap_or_default();
    let words: Vec<&[u8]> = listed.split_str("\0").collect();
    let top = repo.worktree().unwrap_or(repo.git_dir());
    let origin = |words: &[&[u8]]| {
        let file = words[1].strip_prefix(b"file:")?.to_path_lossy();
        Some(Origin { scope: words[0].to_str_lossy().into_owned(), file: top.join(file) })
    };
    words.chunks_exact(3).filter_map(origin).collect()
}

/// Returns the options with which `git config` edits the file that a value stands in.
fn place(repo: &Repository, origin: &Origin) -> String {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    match real(&origin.file) == real(&repo.common_dir().join("config")) {
        true => String::new(),
        false => format!("--file {} ", outside::shell(&origin.file.to_string_lossy())),
    }
}

/// Returns the command that gives a key another value, which is written for a shell. What the user or the machine sets for
/// all repositories is not changed: the repository's own file wins over it.
pub fn set(repo: &Repository, key: &str, value: &str) -> String {
    let origins = origins(repo, key);
    let last = origins.last().filter(|origin| origin.is_own());
    let place_of_last = last.map(|last| place(repo, last)).unwrap_or_default();
    let is_there = |origin: &&Origin| last.is_some_and(|last| origin.file == last.file);
    let all = if origins.iter().filter(is_there).count() > 1 { "--replace-all " } else { "" };
    format!("git config {place_of_last}{all}{} {value}", outside::shell(key))
}

/// Returns the command that removes the values of a key that belong to this repository; if there are none, those that the user
/// or the machine sets for all.
pub fn unset(repo: &Repository, key: &str) -> String {
    let origins = origins(repo, key);
    let has_own = origins.iter().any(Origin::is_own);
    let meant = origins.iter().filter(|origin| origin.is_own() == has_own);
    let mut places: Vec<String> = meant.map(|origin| place(repo, origin)).collect();
    places.dedup();
    if places.is_empty() {
        return format!("git config --show-origin --get {}    # says where that is set", outside::shell(key));
    }
    let command = |place: String| format!("git config {place}--unset-all {}", outside::shell(key));
    places.into_iter().map(command).collect::<Vec<_>>().join(" && ")
}
