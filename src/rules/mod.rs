//! Rules and skills for coding agents: one store, from which each agent's own files are written.
//!
//! Read [`Work`]: it opens a store, and each of its methods is one command. A command changes a [`Store`] in memory,
//! `want` says which files the agents should have, `plan` compares these with the disk and with the registry of everything
//! that was written before, and `apply` carries the steps out under a journal.
//!
//! The engine of [`crate::managed`] puts a part of ours into files of a repository, and keeps what turns the edited file
//! back. Here whole files, links and folders are owned in a home, drift must be told from what we wrote, and steps of many
//! files are finished by the next run if this one is killed. Only the first is needed there and only the rest here, so
//! the two share the reading of files and the digests, and nothing else.

mod adopt;
mod apply;
mod backup;
mod block;
mod disk;
mod edit;
mod generate;
mod glob;
mod import;
mod manifest;
mod places;
mod plan;
mod registry;
mod report;
mod store;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests;
mod want;
mod work;

use std::path::{Path, PathBuf};

pub use self::import::{Choice, Found};
pub use self::manifest::{Conflict, Manifest, Rule, SkillTarget, SyncMode};
pub use self::places::{INSTRUCTION_TARGETS, RULE_TARGETS, SKILL_TARGETS};
pub use self::report::{Change, Drift, Overview, Report};
pub use self::store::Store;
pub use self::work::{NewRule, Options, Targets, Work, has_store};
use crate::error::{Error, Result};

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

/// Where a store lies, and where its agents' files are.
#[derive(Clone, Debug)]
pub struct Place {
    /// Whose agents it serves.
    pub scope: Scope,
    /// The directory below which agents' files are: the home, or the top of the working tree.
    pub base: PathBuf,
    /// The home that `~` means.
    pub home: PathBuf,
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
        check_base(home)?;
        let store = home.join(STORE);
        Ok(Place {
            scope: Scope::Home,
            base: home.to_owned(),
            home: home.to_owned(),
            state: store.join("shiftlog"),
            backups: store.join("backups"),
        })
    }

    /// Returns the place of the store of a working tree. What was written is remembered in `git_dir`, never committed.
    ///
    /// # Errors
    ///
    /// As [`Place::of_home`].
    pub fn of_repository(top: &Path, git_dir: &Path, home: &Path) -> Result<Self> {
        check_base(top)?;
        let state = git_dir.join("shiftlog/rules");
        Ok(Place {
            scope: Scope::Repository,
            base: top.to_owned(),
            home: home.to_owned(),
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

fn check_base(base: &Path) -> Result<()> {
    if !base.is_absolute() || base.to_str().is_none() {
        return Err(Error::other(format!(
            "cannot keep rules in '{}': it is no absolute path in UTF-8",
            base.display()
        )));
    }
    Ok(())
}

/// Says whether a word can name a rule or a skill: `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`. Such a word is one component of a path.
pub fn is_id(word: &str) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let bytes = word.as_bytes();
    (1..=100).contains(&bytes.len()) && bytes[0].is_ascii_alphanumeric() && bytes.iter().all(is_inner)
}
