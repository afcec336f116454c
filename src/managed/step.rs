//! Steps that change files of others. Each leaves its file old or new, does nothing where the file is no longer as the plan
//! has seen it, and can be taken twice, so that what a process that was killed has begun is finished by doing it again.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::disk::{self, Modified, Node};
use super::file::{self, digest};
use crate::error::{Error, Result};
use crate::git::{fault_point, private};

/// The mode of a new directory, of which the umask takes away.
const NEW_DIRECTORY: u32 = 0o777;

/// A step.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Step {
    /// Make a directory.
    MakeDirectory { path: PathBuf },
    /// Make or replace a file.
    Write {
        path: PathBuf,
        content: String,
        mode: Option<u32>,
        /// The time that it gets, if it is not that of the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modified: Option<Modified>,
        before: String,
    },
    /// Make or replace a link.
    Link {
        path: PathBuf,
        target: PathBuf,
        /// As for a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modified: Option<Modified>,
        before: String,
    },
    /// Remove a file or a link.
    Remove { path: PathBuf, before: String },
    /// Remove a directory, if it is empty.
    RemoveDirectory { path: PathBuf },
    /// Move something to where nothing is.
    Move { from: PathBuf, to: PathBuf },
}

impl Step {
    /// Returns the step that writes a file.
    ///
    /// # Errors
    ///
    /// If something else than a file or a link is there.
    pub fn write(path: PathBuf, bytes: &[u8], mode: Option<u32>, before: &Node) -> Result<Self> {
        if matches!(before, Node::Directory | Node::Other) {
            return Err(Error::other(format!("cannot write '{}': it is no file", path.display())));
        }
        Ok(Step::Write { path, content: STANDARD.encode(bytes), mode, modified: None, before: stamp(before) })
    }

    /// Returns the paths that it changes; twice the same, if it is one.
    pub fn paths(&self) -> [&Path; 2] {
        match self {
            Step::MakeDirectory { path }
            | Step::Write { path, .. }
            | Step::Link { path, .. }
            | Step::Remove { path, .. }
            | Step::RemoveDirectory { path } => [path, path],
            Step::Move { from, to } => [from, to],
        }
    }

    /// Returns the same step at other paths. What it writes, and what was there before it, stay: a link that it has made already
    /// must be known as its own.
    pub fn map_paths(self, change: impl Fn(&Path) -> PathBuf) -> Self {
        let path = |path: PathBuf| change(&path);
        match self {
            Step::MakeDirectory { path: at } => Step::MakeDirectory { path: path(at) },
            Step::Write { path: at, content, mode, modified, before } => {
                Step::Write { path: path(at), content, mode, modified, before }
            }
            Step::Link { path: at, target, modified, before } => {
                Step::Link { path: path(at), target, modified, before }
            }
            Step::Remove { path: at, before } => Step::Remove { path: path(at), before },
            Step::RemoveDirectory { path: at } => Step::RemoveDirectory { path: path(at) },
            Step::Move { from, to } => Step::Move { from: path(from), to: path(to) },
        }
    }

    /// Says whether these are the bytes that the step writes.
    pub fn has_written(&self, bytes: &[u8]) -> bool {
        matches!(self, Step::Write { content, .. } if *content == STANDARD.encode(bytes))
    }

    /// Says whether the step makes what is at a path now.
    pub fn leaves(&self, path: &Path, node: &Node) -> bool {
        match (self, node) {
            (Step::Write { path: at, .. }, Node::File { bytes, .. }) => at == path && self.has_written(bytes),
            (Step::Link { path: at, target, .. }, Node::Link(there)) => at == path && target == there,
            (Step::MakeDirectory { path: at }, Node::Directory) => at == path,
            (Step::Remove { path: at, .. } | Step::RemoveDirectory { path: at }, Node::Absent) => at == path,
            (Step::Move { from, .. }, Node::Absent) => from == path,
            (Step::Move { from, to }, _) => to == path && !disk::is_there(from),
            _ => false,
        }
    }

    /// Says whether the plan has seen what is at its path now.
    pub fn is_due(&self) -> Result<bool> {
        match self {
            Step::MakeDirectory { .. } | Step::RemoveDirectory { .. } => Ok(true),
            Step::Write { path, before, .. } | Step::Link { path, before, .. } | Step::Remove { path, before } => {
                is_as_planned(path, before)
            }
            Step::Move { from, to } => Ok(disk::is_there(from) && !disk::is_there(to)),
        }
    }

    /// Returns the step that makes a link, where `before` is now.
    pub fn link(path: PathBuf, target: PathBuf, before: &Node) -> Self {
        Step::Link { path, target, modified: None, before: stamp(before) }
    }

    /// Returns the same step, after which the file or link is as old as it was.
    pub fn at(mut self, time: Option<Modified>) -> Self {
        if let Step::Write { modified, .. } | Step::Link { modified, .. } = &mut self {
            *modified = time;
        }
        self
    }

    /// Takes the step. One that is done already, or whose file somebody has changed meanwhile, is left out, and `false` is
    /// returned. With `is_synced` a written file is on the disk when the step is taken: such a file can be made again from
    /// nothing else.
    ///
    /// # Errors
    ///
    /// If something cannot be written, moved or removed. What was there stays then.
    pub fn take(&self, is_synced: bool) -> Result<bool> {
        let taken = match self {
            Step::MakeDirectory { path } => {
                disk::make_directories(path, NEW_DIRECTORY).map_err(|error| Error::io("create", path, error))
            }
            Step::Write { path, content, mode, modified, before } => {
                let bytes =
                    STANDARD.decode(content).map_err(|error| Error::other("cannot read the journal").because(error))?;
                if !is_as_planned(path, before)? {
                    return Ok(false);
                }
                // Nobody else reads it before it has its mode; a new file gets what the umask leaves.
                let first = if mode.is_some() { 0o600 } else { 0o666 };
                let written = file::replace(path, |unfinished| {
                    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(first).open(unfinished)?;
                    file.write_all(&bytes)?;
                    fault_point("half-written");
                    disk::copy_ownership(&file, path);
                    if let Some(mode) = *mode {
                        file.set_permissions(fs::Permissions::from_mode(mode))?;
                    }
                    if is_synced {
                        file.sync_all()?;
                    }
                    disk::set_modified(unfinished, *modified);
                    Ok(())
                });
                written.map_err(|error| Error::io("write", path, error))
            }
            Step::Link { path, target, modified, before } => {
                if !is_as_planned(path, before)? {
                    return Ok(false);
                }
                let made = file::replace(path, |unfinished| {
                    std::os::unix::fs::symlink(target, unfinished)?;
                    private::hand_over_path(unfinished, path.parent().unwrap_or(path));
                    disk::set_modified(unfinished, *modified);
                    Ok(())
                });
                made.map_err(|error| Error::io("write", path, error))
            }
            Step::Remove { path, before } => {
                if !is_as_planned(path, before)? {
                    return Ok(false);
                }
                match fs::remove_file(path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
                    _ => Ok(()),
                }
            }
            Step::RemoveDirectory { path } => {
                // What the user put there since stays.
                let _ = fs::remove_dir(path);
                Ok(())
            }
            Step::Move { from, to } => {
                if is_moved_in_part(from, to) {
                    return remove_moved(from).map(|()| true);
                }
                if disk::is_there(to) || !disk::is_there(from) {
                    return Ok(false);
                }
                let above = to.parent().unwrap_or(to);
                disk::make_directories(above, NEW_DIRECTORY).map_err(|error| Error::io("create", above, error))?;
                match fs::rename(from, to) {
                    Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => move_far(from, to),
                    outcome => outcome.map_err(|error| Error::io("move", from, error)),
                }
            }
        };
        taken.map(|()| true)
    }
}

/// Returns the kind of a node and a digest of its content, to compare with a later look.
pub fn stamp(node: &Node) -> String {
    match node {
        Node::Absent => "absent".to_owned(),
        Node::File { bytes, .. } => format!("file {}", digest(bytes)),
        Node::Link(target) => format!("link {}", target.display()),
        Node::Directory => "directory".to_owned(),
        Node::Other => "other".to_owned(),
    }
}

/// Says whether there is at a path what the plan has seen there.
fn is_as_planned(path: &Path, before: &str) -> Result<bool> {
    Ok(stamp(&disk::observe(path)?) == before)
}

/// Moves a directory or a file to another file system: copied under another name, then renamed, then removed.
fn move_far(from: &Path, to: &Path) -> Result<()> {
    let fail = |error| Error::io("move", from, error);
    // The source is removed when all of it is copied: what cannot be removed is not begun.
    if let Some(locked) = locked_directory(from) {
        let error = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        return Err(Error::io("remove what is in", &locked, error));
    }
    let unfinished = file::unfinished(to).map_err(fail)?;
    let copied = match disk::is_directory(from) {
        true => copy_directory(from, &unfinished),
        false => copy_file(from, &unfinished, to.parent().unwrap_or(to)),
    };
    if let Err(error) = copied.and_then(|()| fs::rename(&unfinished, to).map_err(fail)) {
        // A later run would take it for somebody else's.
        let _ = disk::remove(&unfinished);
        return Err(error);
    }
    fault_point("far-copied");
    remove_moved(from)
}

/// Returns a directory at or below a path, or the one that it is in, in which nothing may be removed.
fn locked_directory(path: &Path) -> Option<PathBuf> {
    let below = if disk::is_directory(path) { disk::tree(path).unwrap_or_default() } else { Default::default() };
    let below = below.into_iter().filter(|(_, node)| *node == Node::Directory).map(|(below, _)| path.join(below));
    let own = Some(path.to_owned()).filter(|path| disk::is_directory(path));
    let mut directories = below.chain(own).chain(path.parent().map(Path::to_owned));
    directories.find(|directory| rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_err())
}

/// Removes what was copied elsewhere. It has the name of an unfinished file first, so that a process that is killed meanwhile
/// leaves nothing in its place.
fn remove_moved(from: &Path) -> Result<()> {
    let fail = |error| Error::io("move", from, error);
    let aside = file::unfinished(from).map_err(fail)?;
    // Some file systems give no directory another name.
    let removed = if fs::rename(from, &aside).is_ok() { &aside } else { from };
    fault_point("far-aside");
    disk::remove(removed).map_err(fail)
}

/// Says whether something was moved to another file system by a process that was killed while it removed the source: all that
/// is left of it is at the destination, too. An empty directory can be a new one of a user's.
fn is_moved_in_part(from: &Path, to: &Path) -> bool {
    if !disk::is_there(from) || !disk::is_there(to) || disk::is_same(from, to) {
        return false;
    }
    match (disk::is_directory(from), disk::is_directory(to)) {
        (true, true) => match (disk::tree(from), disk::tree(to)) {
            (Ok(left), Ok(moved)) => !left.is_empty() && left.iter().all(|(path, node)| moved.get(path) == Some(node)),
            _ => false,
        },
        (false, false) => match (disk::observe(from), disk::observe(to)) {
            (Ok(left), Ok(moved)) => left == moved && left != Node::Other,
            _ => false,
        },
        _ => false,
    }
}

/// Copies a file or a link, for the owner of a directory.
fn copy_file(from: &Path, copy: &Path, directory: &Path) -> Result<()> {
    let fail = |error| Error::io("move", from, error);
    match fs::read_link(from) {
        Ok(target) => std::os::unix::fs::symlink(target, copy).map_err(fail)?,
        // Opening a named pipe would block.
        Err(_) if !from.symlink_metadata().is_ok_and(|file| file.is_file()) => {
            return Err(Error::other(format!("'{}' cannot be copied", from.display())));
        }
        Err(_) => drop(fs::copy(from, copy).map_err(fail)?),
    }
    disk::set_modified(copy, disk::modified(from));
    private::hand_over_path(copy, directory);
    Ok(())
}

/// Copies a directory with all that is in it.
fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    let fail = |error| Error::io("move", from, error);
    let tree = disk::tree(from)?;
    // Nobody else reads what is in it before it has its mode.
    let make = |directory: &Path| fs::DirBuilder::new().mode(0o700).create(directory);
    make(to).map_err(fail)?;
    private::hand_over_path(to, from);
    for (path, node) in &tree {
        let copy = to.join(path);
        match node {
            Node::File { bytes, .. } => fs::write(&copy, bytes),
            Node::Link(target) => std::os::unix::fs::symlink(target, &copy),
            _ => make(&copy),
        }
        .map_err(fail)?;
        private::hand_over_path(&copy, from);
        // A change of the owner clears some of the permissions.
        if let Node::File { mode, .. } = node {
            disk::set_mode(&copy, *mode).map_err(fail)?;
        }
    }
    // A directory gets its mode and its time when everything is in it.
    for path in tree.keys().rev().map(PathBuf::as_path).chain([Path::new("")]) {
        let (source, copy) = (from.join(path), to.join(path));
        if disk::is_directory(&copy) {
            fs::metadata(&source).and_then(|it| fs::set_permissions(&copy, it.permissions())).map_err(fail)?;
        }
        disk::set_modified(&copy, disk::modified(&source));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_file_that_is_replaced_keeps_its_owner_and_what_its_user_has_noted_on_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, "before\n").unwrap();
        // Only root may give a file away, and not each file system has attributes.
        let is_given = std::os::unix::fs::chown(&path, Some(12345), Some(23456)).is_ok();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o2750)).unwrap();
        #[cfg(target_os = "linux")]
        let is_noted = rustix::fs::setxattr(&path, "user.note", b"mine", rustix::fs::XattrFlags::empty()).is_ok();
        let Node::File { bytes, mode } = disk::observe(&path).unwrap() else { panic!("a file") };
        let step = Step::write(path.clone(), b"after\n", Some(mode), &Node::File { bytes, mode }).unwrap();
        assert!(step.take(false).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"after\n");
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o2750);
        if is_given {
            assert_eq!((metadata.uid(), metadata.gid()), (12345, 23456));
        }
        #[cfg(target_os = "linux")]
        if is_noted {
            let mut value = [0; 16];
            let length = rustix::fs::getxattr(&path, "user.note", &mut value[..]).unwrap();
            assert_eq!(&value[..length], b"mine");
        }
    }

    #[test]
    fn what_is_left_of_a_move_to_another_file_system_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
        let step = Step::Move { from: from.clone(), to: to.clone() };
        for at in [&from, &to] {
            fs::create_dir(at).unwrap();
            fs::write(at.join("a"), "a").unwrap();
        }
        fs::write(to.join("removed already"), "b").unwrap();
        assert!(is_moved_in_part(&from, &to));
        fs::write(from.join("of the user's"), "c").unwrap();
        assert!(!is_moved_in_part(&from, &to));
        fs::remove_dir_all(&from).unwrap();
        fs::write(&from, "x").unwrap();
        assert!(!is_moved_in_part(&from, &to), "a file is no rest of a directory");
        fs::remove_file(&from).unwrap();
        assert!(!is_moved_in_part(&from, &to));
        fs::create_dir(&from).unwrap();
        assert!(!is_moved_in_part(&from, &to), "it can be a new one");
        fs::write(from.join("a"), "a").unwrap();
        assert!(step.take(false).unwrap());
        assert!(!from.exists() && to.join("removed already").exists());
        // What cannot be removed is not moved, and stays whole.
        fs::create_dir(to.join("sub")).unwrap();
        fs::write(to.join("sub/b"), "b").unwrap();
        disk::set_mode(&to.join("sub"), 0o500).unwrap();
        if rustix::fs::access(to.join("sub"), rustix::fs::Access::WRITE_OK).is_err() {
            move_far(&to, &from).unwrap_err();
            assert!(to.join("a").exists() && !from.exists());
        }
        disk::set_mode(&to.join("sub"), 0o700).unwrap();
    }

    /// Its source has another name then, under which the next run finds it.
    #[test]
    fn what_was_being_removed_after_a_move_is_swept_away_whatever_becomes_of_what_was_moved() {
        let directory = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("sub/a"), "a").unwrap();
        let aside = file::unfinished(&from).unwrap();
        move_far(&from, &to).unwrap();
        assert!(!from.exists() && !aside.exists());
        // A process was killed before all of it was removed.
        fs::create_dir_all(aside.join("sub")).unwrap();
        fs::write(aside.join("sub/a"), "a").unwrap();
        disk::set_mode(&aside.join("sub"), 0o500).unwrap();
        fs::write(to.join("sub/a"), "the user goes on").unwrap();
        file::sweep(&from, |_| false).unwrap();
        assert!(!Step::Move { from: from.clone(), to: to.clone() }.take(false).unwrap(), "it is done");
        assert!(!from.exists() && !aside.exists());
        assert_eq!(fs::read(to.join("sub/a")).unwrap(), b"the user goes on");
    }

    #[test]
    fn what_is_moved_to_another_file_system_is_there_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        fs::create_dir(&from).unwrap();
        fs::write(from.join("a"), "a").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, from.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        move_far(&from, &to).unwrap_err();
        assert_eq!(names(), ["from"], "nothing is left of what was not copied");
        let pipe = directory.path().join("pipe");
        fs::rename(from.join("pipe"), &pipe).unwrap();
        move_far(&pipe, &to).unwrap_err();
        assert_eq!(names(), ["from", "pipe"], "a pipe is not waited for");
        fs::create_dir(from.join("sub")).unwrap();
        fs::write(from.join("sub/run"), "#!/bin/sh\n").unwrap();
        let modes = [("", 0o700), ("a", 0o640), ("sub", 0o2750), ("sub/run", 0o4755)];
        modes.iter().rev().for_each(|(path, mode)| disk::set_mode(&from.join(path), *mode).unwrap());
        move_far(&from, &to).unwrap();
        assert_eq!(names(), ["pipe", "to"]);
        for (path, mode) in modes {
            assert_eq!(to.join(path).metadata().unwrap().mode() & 0o7777, mode, "{path}");
        }
        assert_eq!(fs::read(to.join("a")).unwrap(), b"a");
    }
}
