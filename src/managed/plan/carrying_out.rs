//! Carrying out a plan: each step is written down before it is taken.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Edit, Plan};
use crate::error::{Error, Kind, Result};
use crate::git::private::{self, Lock};
use crate::git::{Repository, fault_point};
use crate::managed::installed::{EditedFile, Installed, Original};
use crate::managed::step::{self, Step};
use crate::managed::{FileKind, LOCK_TIMEOUT, disk, file};

impl Plan {
    /// Takes the steps. Each one that can be taken back is written down before it is taken, so that a process that is killed
    /// leaves nothing that is not known.
    ///
    /// # Errors
    ///
    /// If a step fails; those before it are done and written down. [`Kind::Busy`] if a file or the set-up has changed since.
    pub fn carry_out(mut self, repo: &Repository) -> Result<()> {
        let lock_path = lock_path(&self.common_dir);
        let lock = private::lock(&lock_path, Instant::now() + LOCK_TIMEOUT)?;
        let mut installed = Installed::read(&self.common_dir, &self.places)?;
        installed.follow(repo);
        if installed != self.installed {
            return Err(Error::new(Kind::Busy, "another process has changed the set-up meanwhile"));
        }
        for (path, digest) in &self.read {
            if file::read(path)?.as_deref().map(file::digest) != *digest {
                let message = format!("'{}' has changed meanwhile; try again", path.display());
                return Err(Error::new(Kind::Busy, message));
            }
        }
        if self.edits.iter().any(|step| matches!(step, Edit::AddConfig { .. } | Edit::RemoveConfig { .. })) {
            repo.require_unlocked_config()?;
        }
        self.installed.sweep();
        // A removal that was killed can have left a copy of the config. Nobody else gives a file in Git's directory that name.
        file::sweep(&self.config_path(), |_| false)?;
        let mut steps = std::mem::take(&mut self.edits);
        if self.is_removal {
            self.restore_config(&mut steps)?;
        }
        let config = self.original_config();
        let outcome = steps.iter().enumerate().try_for_each(|(number, step)| self.take(repo, &lock, number, step));
        self.keep_config(config);
        if self.is_removal && outcome.is_ok() {
            let directories = std::mem::take(&mut self.installed.directories);
            let is_left = |path: &Path| self.left.iter().any(|left| left.path.starts_with(path));
            let is_needed = |directory: &PathBuf| is_left(directory) || self.has_obstructed(directory);
            let (needed, done): (Vec<_>, Vec<_>) = directories.into_iter().partition(is_needed);
            for directory in done.iter().rev().chain(&self.emptied) {
                // Only if it is empty: what the user put there since stays.
                let _ = std::fs::remove_dir(directory);
            }
            self.installed.directories = needed;
            // A hook is written down by its own name, also where it is a link.
            let is_kept = |EditedFile { path, .. }: &EditedFile| {
                let is_left = |left: &super::LeftAlone| left.path == *path || left.link.as_ref() == Some(path);
                self.left.iter().any(is_left) || self.obstructed.contains(path)
            };
            let kept = self.installed.files.iter().filter(|file| is_kept(file)).cloned().collect();
            self.installed.files = kept;
        }
        self.installed.write(&self.common_dir, &self.places)?;
        if self.is_removal && outcome.is_ok() && self.installed.is_empty() {
            private::remove(&lock_path)?;
            // Conversations that wait, and what else is recorded, stay.
            let _ = std::fs::remove_dir(self.common_dir.join("shiftlog"));
        }
        outcome
    }

    fn take(&mut self, repo: &Repository, lock: &Lock, number: usize, step: &Edit) -> Result<()> {
        self.write_down(step)?;
        fault_point(&format!("init-{number}-planned"));
        match step {
            Edit::Write { path, after, kind, .. } => {
                let is_executable = matches!(kind, FileKind::Hook | FileKind::Own { is_executable: true });
                write(path, after, is_executable)?;
            }
            Edit::Clean { path, after } => write(path, after, false)?,
            Edit::Remove { target, .. } => {
                let before = step::stamp(&disk::observe(target)?);
                Step::Remove { path: target.clone(), before }.take(true)?;
            }
            Edit::AddConfig { key, value } => repo.config_add(key, value, lock)?,
            Edit::RemoveConfig { key, value } if key.starts_with("remote.") || key.starts_with("shiftlog.") => {
                repo.config_remove_one(key, value, lock)?;
            }
            Edit::RemoveConfig { key, value } => repo.config_remove(key, value, lock)?,
        }
        fault_point(&format!("init-{number}-done"));
        match step {
            Edit::Write { path, is_restore: true, .. } | Edit::Remove { path, .. } => {
                self.installed.files.retain(|file| file.path != *path);
            }
            Edit::Write { path, .. } => self.installed.keep_newest(path),
            Edit::RemoveConfig { key, value } => self.installed.config.retain(|(k, v)| k != key || v != value),
            Edit::Clean { .. } | Edit::AddConfig { .. } => {}
        }
        Ok(())
    }

    /// Writes down what a step is about to add.
    fn write_down(&mut self, step: &Edit) -> Result<()> {
        let unfinished = |path: &Path| {
            let unfinished = file::unfinished(&file::target(path)).ok();
            unfinished.and_then(|it| Some(it.file_name()?.to_str()?.to_owned()))
        };
        match step {
            Edit::Write { path, before, after, is_restore: false, .. } => {
                let (is_new, splices) = match before {
                    Original::Absent => (true, Vec::new()),
                    Original::Bytes(before) => (false, file::splices(before, after)),
                };
                let (unfinished, path, after) = (unfinished(path), path.clone(), file::digest(after));
                self.installed.add_file(EditedFile { path, is_new, after, splices, unfinished });
            }
            Edit::Write { path, .. } => {
                let known = self.installed.files.iter_mut().filter(|file| file.path == *path);
                known.for_each(|file| file.unfinished = unfinished(path));
            }
            Edit::AddConfig { key, value } => {
                let added = (key.clone(), value.clone());
                if !self.installed.config.contains(&added) {
                    self.installed.config.push(added);
                }
            }
            _ => {}
        }
        self.installed.write(&self.common_dir, &self.places)
    }
}

/// Returns the file that is locked while a plan is carried out.
fn lock_path(common_dir: &Path) -> PathBuf {
    common_dir.join("shiftlog/init.lock")
}

/// Opens a repository when nothing is being set up in it. A `git config` that a killed command has started can go on after that
/// command.
///
/// # Errors
///
/// If it cannot be opened; [`Kind::Busy`] if the lock is held for long.
pub fn open_when_free(open: impl Fn() -> Result<Repository>) -> Result<Repository> {
    let repo = open()?;
    // What was read before the wait can be old.
    let has_waited = private::wait_for(&lock_path(&repo.common_dir()), Instant::now() + LOCK_TIMEOUT)?;
    if has_waited { open() } else { Ok(repo) }
}

/// Writes a file, through symbolic links, with the mode it had; a new one is executable or not.
fn write(path: &Path, bytes: &[u8], is_executable: bool) -> Result<()> {
    let target = file::target(path);
    Step::MakeDirectory { path: target.parent().unwrap_or(Path::new("/")).to_owned() }.take(true)?;
    let before = disk::observe(&target)?;
    let mode = match &before {
        disk::Node::File { mode, .. } => Some(*mode),
        _ => is_executable.then(file::new_executable_mode),
    };
    match Step::write(target, bytes, mode, &before)?.take(true)? {
        true => Ok(()),
        false => Err(Error::new(Kind::Busy, format!("'{}' has changed meanwhile; try again", path.display()))),
    }
}
