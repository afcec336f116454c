//! Rules and skills for coding agents: one store, from which each agent's own files are written.
//!
//! Read [`Work`]: it opens a store, and each of its methods is one command. A command changes a [`Store`] in memory,
//! `want` says which files the agents should have, `plan` compares these with the disk and with the registry of everything
//! that was written before, and `apply` carries the steps out under a journal.
//!
//! The steps are those of [`crate::managed`], as for what `init` sets up; there a part of a file is ours, here whole files,
//! links and folders.

mod adopt;
mod apply;
mod backup;
mod block;
mod bounds;
mod edit;
mod generate;
mod glob;
mod import;
mod interrupted;
mod manifest;
mod places;
mod plan;
mod registry;
mod report;
mod shared;
mod store;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests;
mod tree;
mod want;
mod work;

use std::path::{Component, Path, PathBuf};

pub use self::bounds::check_paths;
pub use self::edit::words;
pub use self::glob::is_pattern;
pub use self::import::{Choice, FoundRule};
pub use self::manifest::{Conflict, Manifest, Rule, SkillTarget, SyncMode};
pub use self::places::{FOLDERS, INSTRUCTION_TARGETS, RULE_TARGETS, SKILL_TARGETS};
pub use self::registry::has_originals;
pub use self::report::{Change, Drift, Left, Overview, Report};
pub use self::store::Store;
pub use self::work::{NewRule, Options, Targets, Work, has_store};
use crate::error::{Error, Result};
use crate::managed::{Step, disk};

/// The directory of a store, below a home or the top of a working tree.
pub const STORE: &str = ".ai-agent";

/// Whose agents a store serves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// A person's: files below the home directory.
    Home,
    /// A repository's: files below the top of the working tree, to be committed.
    Repository,
}

/// The directory of a store, and that of its agents' files.
#[derive(Clone, Debug)]
pub struct Place {
    /// Whose agents it serves.
    pub scope: Scope,
    /// The directory below which agents' files are: the home, or the top of the working tree.
    pub base: PathBuf,
    /// The home that `~` means.
    pub home: PathBuf,
    /// Whether the user lets the rules of the home into the files of a repository whose manifest asks for them.
    pub shares_home: bool,
    /// The directory of the registry, the journal and the lock.
    state: PathBuf,
    /// The directory of backups.
    backups: PathBuf,
}

impl Place {
    /// Returns the place of the store of a home.
    ///
    /// # Errors
    ///
    /// If the path is not absolute or not UTF-8.
    pub fn of_home(home: &Path) -> Result<Self> {
        let base = one_name(home)?;
        let (store, state) = (base.join(STORE), shared::state(&base));
        // Where the store is another home's as well, the earlier tool's backups are that home's.
        let is_first = state.parent() == Some(&store);
        let backups = if is_first { &store } else { &state }.join("backups");
        Ok(Place { scope: Scope::Home, home: base.clone(), base, shares_home: false, state, backups })
    }

    /// Returns the place of the store of a working tree. What was written is remembered in `git_dir`, never committed.
    ///
    /// # Errors
    ///
    /// As [`Place::of_home`].
    pub fn of_repository(top: &Path, git_dir: &Path, home: &Path) -> Result<Self> {
        let base = one_name(top)?;
        let git_dir = git_dir.canonicalize().unwrap_or_else(|_| git_dir.to_owned());
        let state = git_dir.join("shiftlog/rules");
        Ok(Place {
            scope: Scope::Repository,
            base,
            home: one_name(home).unwrap_or_else(|_| home.to_owned()),
            shares_home: false,
            backups: state.join("backups"),
            state,
        })
    }

    /// Returns the directory of the store.
    pub fn store(&self) -> PathBuf {
        self.base.join(STORE)
    }

    /// Returns the file that makes a directory a store.
    pub fn manifest(&self) -> PathBuf {
        self.store().join("manifest.json")
    }

    /// Returns the file with the steps of a command that is running, or was killed.
    fn journal_path(&self) -> PathBuf {
        self.state.join("journal.json")
    }

    /// Returns the file that says how many of these steps are taken.
    fn progress_path(&self) -> PathBuf {
        self.state.join("journal-progress")
    }

    /// Says whether a command that was killed has left something to finish.
    fn is_unfinished(&self) -> bool {
        disk::is_there(&self.journal_path())
    }

    /// Returns the file that is locked while the store is written.
    fn lock_path(&self) -> PathBuf {
        match self.scope {
            Scope::Home => self.store().join("shiftlog/lock"),
            Scope::Repository => self.state.join("lock"),
        }
    }

    /// Fails if a path of the store of a repository leads out of it by a symbolic link: others have made the repository,
    /// and what its store has is copied into its files. The store of a home may be kept elsewhere, file by file.
    fn check_inside(&self, path: &Path) -> Result<()> {
        if self.scope == Scope::Home {
            return Ok(());
        }
        let is_inside = |path: PathBuf| match path.canonicalize() {
            Ok(resolved) => self.base.canonicalize().is_ok_and(|base| resolved.starts_with(base.join(STORE))),
            // What is not there leads nowhere.
            Err(_) => !disk::is_there(&path),
        };
        if is_inside(self.store()) && is_inside(path.to_owned()) {
            return Ok(());
        }
        Err(Error::other(format!("'{}' leads out of the repository's store by a symbolic link", self.shown(path))))
    }

    /// Says whether files may be written at a path: nowhere in a directory of Git's, and for a repository in its working tree
    /// alone.
    fn allows(&self, path: &Path) -> bool {
        self.allows_name(path) && !path.ancestors().take_while(|above| **above != self.base).any(is_gits)
    }

    /// Says whether the name of a path allows that files are written there. Looks at no directory.
    fn allows_name(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.base).ok();
        let is_gits = below.unwrap_or(path).iter().any(|part| part.eq_ignore_ascii_case(".git"));
        !is_gits && (self.scope == Scope::Home || below.is_some())
    }

    /// Returns the absolute path that a configured one means.
    ///
    /// # Errors
    ///
    /// If no file may be written there, or none can.
    fn allowed(&self, configured: &str) -> Result<PathBuf> {
        bounds::check_path(configured)?;
        let absolute = self.absolute(configured);
        if self.allows(&absolute) {
            return Ok(absolute);
        }
        let path = crate::outside::line(configured);
        Err(Error::other(match self.scope {
            Scope::Home => format!("'{path}' is in a directory of Git's"),
            Scope::Repository => format!("'{path}' is not in the working tree, and a repository's rules stay there"),
        }))
    }

    /// Says whether a symbolic link on the way to a path below the base leads out of the base, or nowhere.
    fn leads_out(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.base) else { return false };
        let mut here = self.base.clone();
        below.iter().any(|part| {
            here.push(part);
            let is_link = here.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
            let base = self.base.canonicalize();
            is_link && !here.canonicalize().is_ok_and(|end| base.is_ok_and(|base| end.starts_with(base)))
        })
    }

    /// Fails if a step would change something outside of the working tree of a repository: others have made the repository, and
    /// its links can lead anywhere.
    fn check_steps(&self, steps: &[Step]) -> Result<()> {
        if self.scope == Scope::Home {
            return Ok(());
        }
        let is_outside = |path: &&Path| {
            let leads_out = || path.parent().is_none_or(|above| self.leads_out(above));
            !path.starts_with(&self.backups) && (!path.starts_with(&self.base) || leads_out())
        };
        match steps.iter().flat_map(Step::paths).find(is_outside) {
            None => Ok(()),
            Some(path) => {
                let why = "leads out of the working tree by a symbolic link";
                Err(Error::other(format!("'{}' {why}, and nothing is written", self.shown(path))))
            }
        }
    }

    /// Returns the absolute path that a registry has written down, if it is this place's: below the base, whatever the base was
    /// called then, or elsewhere if this place has written the registry, which `is_here` says.
    fn own(&self, written: &Path, is_here: bool) -> Option<PathBuf> {
        let path = match disk::below(&self.base, &self.base.join(written)) {
            Some(rest) => self.base.join(rest),
            None if is_here => written.to_owned(),
            None => return None,
        };
        (is_plain(&path) && self.allows_name(&path) && !path.starts_with(self.store())).then_some(path)
    }

    /// Returns the absolute path of something that a registry says is kept, if it is in this place's backups.
    fn own_backup(&self, written: &Path) -> Option<PathBuf> {
        let kept = self.backups.join(disk::below(&self.backups, &self.backups.join(written))?);
        let is_inside = match (kept.parent()?.canonicalize(), self.backups.canonicalize()) {
            (Ok(above), Ok(backups)) => above.starts_with(backups),
            // What is not there leads nowhere.
            _ => true,
        };
        (is_plain(&kept) && is_inside).then_some(kept)
    }

    /// Returns the absolute path that a configured one means: `~` is the home, a relative one begins at the base.
    pub fn absolute(&self, configured: &str) -> PathBuf {
        glob::absolute(self, configured)
    }

    /// Returns a path as people write it: with `~` for the home, relative to the top of a repository.
    pub fn shown(&self, path: &Path) -> String {
        match (path.strip_prefix(&self.base), self.scope) {
            (Ok(rest), Scope::Home) => format!("~/{}", rest.display()),
            (Ok(rest), Scope::Repository) => rest.display().to_string(),
            (Err(_), _) => path.display().to_string(),
        }
    }
}

/// Returns the one name of a base that has more of them, by links or by `..`.
fn one_name(base: &Path) -> Result<PathBuf> {
    let resolved = base.canonicalize().unwrap_or_else(|_| glob::without_dots(base));
    if !base.is_absolute() || resolved.to_str().is_none() {
        return Err(Error::other(format!(
            "cannot keep rules in '{}': it is no absolute path in UTF-8",
            base.display()
        )));
    }
    Ok(resolved)
}

/// Says whether a directory is one of Git's, whatever it is called: a bare repository, the separate directory of one, or that
/// of a submodule or a linked working tree.
fn is_gits(directory: &Path) -> bool {
    let has = |name: &str| directory.join(name).is_dir();
    disk::is_there(&directory.join("HEAD")) && (has("objects") && has("refs") || directory.join("commondir").is_file())
}

/// Says whether a path leads only down.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// Says whether a word can name a rule or a skill: `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`. Such a word is one component of a path.
pub fn is_id(word: &str) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let bytes = word.as_bytes();
    (1..=100).contains(&bytes.len()) && bytes[0].is_ascii_alphanumeric() && bytes.iter().all(is_inner)
}

/// Returns the names of the directories in a directory that can be skills, sorted. Links to directories count.
fn folders(directory: &Path) -> Vec<String> {
    all_folders(directory).0
}

/// Returns the names of the directories in a directory: those that can be skills, and the others, but for hidden ones.
fn all_folders(directory: &Path) -> (Vec<String>, Vec<String>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if !kind.is_symlink() => kind.is_dir(),
        _ => entry.path().is_dir(),
    };
    let folders = entries.filter(is_folder);
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let (ids, mut others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_id(name));
    others.retain(|name| !name.starts_with('.'));
    (ids, others)
}
