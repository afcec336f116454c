//! Names of edited files that hold when a repository is moved. In a copy of it they name the copy's files, never those of
//! the original.
//!
//! Read [`Places::name`] and [`Places::resolve`]. A file is named by the directory of this repository that it is in. A
//! name that leads out of the repository is never followed, but to a hook that the user had us add to.

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::file::{self, real};
use crate::git::{Repository, Worktree, git};

/// What the name of a file outside the repository begins with.
const OUTSIDE: &str = "outside:";

/// The directories that belong to a repository.
#[derive(Debug)]
pub struct Places {
    /// The names, without the colon that follows them, and the directories. A directory within another comes before it.
    bases: Vec<(String, PathBuf)>,
}

impl Places {
    /// Finds the directories of a repository.
    pub fn of(repo: &Repository) -> Self {
        let common_dir = repo.common_dir();
        let mut bases = vec![("git".to_owned(), common_dir.clone())];
        for Worktree { top, git_dir } in repo.worktrees() {
            let is_main = is_same(&git_dir, &common_dir);
            if is_main || Some(top.as_path()) == repo.worktree() || is_its_own(&top, &git_dir) {
                let id = git_dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                bases.push((if is_main { "top".into() } else { format!("worktree {id}") }, top));
            }
        }
        bases.sort_by_key(|(_, base)| std::cmp::Reverse(base.components().count()));
        Places { bases }
    }

    /// Returns the name by which a file is written down.
    pub fn name(&self, path: &Path) -> PathBuf {
        let within = |(name, base): &(String, PathBuf)| {
            let rest = path.strip_prefix(base).ok()?;
            Some(format!("{name}:{}", rest.display()))
        };
        self.bases.iter().find_map(within).unwrap_or_else(|| format!("{OUTSIDE}{}", path.display())).into()
    }

    /// Returns the file that goes by a name, or `None` if it is none of this repository.
    ///
    /// Earlier versions wrote down absolute paths: in a copy these are the files of the original.
    pub fn resolve(&self, name: &Path) -> Option<PathBuf> {
        if name.is_absolute() {
            return self.bases.iter().any(|(_, base)| name.starts_with(base)).then(|| name.to_owned());
        }
        let text = name.to_str()?;
        if let Some(path) = text.strip_prefix(OUTSIDE) {
            return Some(path.into());
        }
        let (base, rest) = text.split_once(':')?;
        let rest = Path::new(rest);
        let is_plain = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let base = self.bases.iter().find(|(name, _)| name == base).filter(|_| is_plain)?;
        Some(base.1.join(rest))
    }

    /// Says whether a file is in one of the repository's directories, whatever it is a link to.
    pub fn have(&self, path: &Path) -> bool {
        self.bases.iter().any(|(_, base)| path.starts_with(base))
    }

    /// Says whether a file, or what it is a link to, is in none of the repository's directories.
    pub fn is_outside(&self, path: &Path) -> bool {
        let real = real(path);
        let is_in = |base: &PathBuf| real.starts_with(base) || base.canonicalize().is_ok_and(|it| real.starts_with(it));
        !self.bases.iter().any(|(_, base)| is_in(base))
    }

    /// Returns the directories in a working tree that a file is in, the innermost first. Neither its top nor the Git
    /// directory is one of them.
    pub fn directories_above(&self, path: &Path) -> Vec<PathBuf> {
        let base = self.bases.iter().find(|(_, base)| path.starts_with(base)).filter(|(name, _)| name != "git");
        let above =
            |base: &PathBuf| path.ancestors().skip(1).take_while(|dir| *dir != base).map(Path::to_owned).collect();
        base.map(|(_, base)| above(base)).unwrap_or_default()
    }

    /// Returns the path without the links that lead from it to another place in this repository, or out of it.
    pub fn settled(&self, path: &Path) -> PathBuf {
        let real = real(path);
        let within =
            |(_, base): &(String, PathBuf)| Some(base.join(real.strip_prefix(base.canonicalize().ok()?).ok()?));
        let settled = self.bases.iter().find_map(within);
        settled.unwrap_or_else(|| if self.have(path) { real.clone() } else { path.to_owned() })
    }
}

/// Says whether a directory with hooks is another repository's own: it is in its Git directory, or its own config names it. One
/// that a config of the user's names is for all repositories.
pub fn is_of_one_repository(hooks: &Path) -> bool {
    let hooks = real(hooks);
    let is_git_dir = |directory: &Path| directory.join("HEAD").is_file() && directory.join("objects").is_dir();
    for directory in hooks.ancestors() {
        if is_git_dir(directory) {
            return true;
        }
        let git_dir = directory.join(".git");
        if is_git_dir(&git_dir) {
            let config = git_dir.join("config");
            let args = ["config".as_ref(), "--file".as_ref(), config.as_os_str(), "core.hooksPath".as_ref()];
            let named = git(args).capture();
            return named.is_ok_and(|named| is_same(&directory.join(named.trim_end().to_path_lossy()), &hooks));
        }
    }
    false
}

/// Says whether a linked worktree names this git directory. One of the repository that this is a copy of names that.
fn is_its_own(top: &Path, git_dir: &Path) -> bool {
    let text = file::text(&top.join(".git")).unwrap_or_default();
    text.trim_end().strip_prefix("gitdir: ").is_some_and(|named| is_same(&top.join(named), git_dir))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
