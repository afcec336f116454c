//! Taking the steps, so that a process that is killed leaves each file old or new, and the next one finishes.
//!
//! The journal has everything that the steps need. It is written before the first step, and each step can be taken twice.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::Place;
use super::backup::Backup;
use super::disk::{self, Modified, Node};
use super::registry::Registry;
use super::report::Change;
use crate::error::{Error, Kind, Result};
use crate::git::{fault_point, private};
use crate::managed::LOCK_TIMEOUT;
use crate::managed::file::{self, digest};

/// One step.
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
    fn paths(&self) -> [&Path; 2] {
        match self {
            Step::MakeDirectory { path }
            | Step::Write { path, .. }
            | Step::Link { path, .. }
            | Step::Remove { path, .. }
            | Step::RemoveDirectory { path } => [path, path],
            Step::Move { from, to } => [from, to],
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
}

/// Returns the changes that steps make in a store.
pub fn changes(steps: &[Step]) -> Vec<Change> {
    let change = |step: &Step| {
        let (path, action) = match step {
            Step::Write { path, before, .. } => (path, if before == "absent" { "create" } else { "update" }),
            Step::Link { path, .. } => (path, "link"),
            Step::Remove { path, .. } => (path, "remove"),
            Step::Move { to, .. } => (to, "move"),
            Step::MakeDirectory { .. } | Step::RemoveDirectory { .. } => return None,
        };
        Some(Change { path: path.clone(), action, before: None, after: None })
    };
    steps.iter().filter_map(change).collect()
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

/// The steps of one operation, with what is known when they are done.
#[derive(Debug, Deserialize, Serialize)]
struct Journal {
    steps: Vec<Step>,
    /// The registry when all steps are taken.
    registry: Registry,
    /// The registry as it was.
    #[serde(default)]
    previous: Registry,
}

fn journal_path(place: &Place) -> PathBuf {
    place.state.join("journal.json")
}

/// Takes the lock of a store, and finishes what a process that was killed has begun.
///
/// # Errors
///
/// [`Kind::Busy`] if another process holds it for long.
pub fn lock(place: &Place) -> Result<private::Lock> {
    let lock = private::lock(&place.state.join("lock"), Instant::now() + LOCK_TIMEOUT).map_err(|error| match error
        .kind()
    {
        Kind::Busy => error.hint("another 'git shiftlog rules' is running; try again when it has ended"),
        _ => error,
    })?;
    if let Some(text) = disk::text(&journal_path(place))? {
        // The journal comes into being in one piece.
        let path = journal_path(place);
        let journal: Journal = serde_json::from_str(&text)
            .map_err(|error| Error::new(Kind::Corrupt, format!("cannot read '{}'", path.display())).because(error))?;
        finish(place, &journal)?;
    }
    Ok(lock)
}

/// Says whether a process that was killed has left something to finish.
pub fn is_unfinished(place: &Place) -> bool {
    disk::is_there(&journal_path(place))
}

/// Writes the backup and the journal, takes the steps, and writes the registry. The lock must be held.
///
/// # Errors
///
/// If something cannot be written. The next command tries again.
pub fn carry_out(
    place: &Place,
    backup: &Backup,
    steps: Vec<Step>,
    registry: Registry,
    previous: Registry,
) -> Result<()> {
    if steps.is_empty() && registry == previous {
        return Ok(());
    }
    backup.write()?;
    fault_point("rules-backed-up");
    let journal = Journal { steps, registry, previous };
    let bytes =
        serde_json::to_vec(&journal).map_err(|error| Error::other("cannot write the journal").because(error))?;
    private::write_synced(&journal_path(place), &bytes)?;
    finish(place, &journal)
}

/// Takes the steps of a journal. If one fails, those at its path and below it are left out, and the registry says of these
/// paths what it said before: what cannot be written at one place must not keep a later command from all others. A step
/// that fails in the store itself ends all.
fn finish(place: &Place, journal: &Journal) -> Result<()> {
    let mut registry = journal.registry.clone();
    let mut failed: Option<Error> = None;
    let mut left_out: Vec<&Path> = Vec::new();
    for (number, step) in journal.steps.iter().enumerate() {
        fault_point(&format!("rules-step-{number}"));
        let paths = step.paths();
        if left_out.iter().any(|left| paths.iter().any(|path| path.starts_with(left))) {
            continue;
        }
        if let Err(error) = take(step) {
            let is_in_store = paths.iter().all(|path| path.starts_with(place.store()));
            left_out.extend(if is_in_store { [Path::new("/"); 2] } else { paths });
            failed.get_or_insert(error);
        }
    }
    let is_left_out = |path: &PathBuf| left_out.iter().any(|left| path.starts_with(left));
    registry.entries.retain(|path, _| !is_left_out(path));
    let before = journal.previous.entries.iter().filter(|(path, _)| is_left_out(path));
    registry.entries.extend(before.map(|(path, entry)| (path.clone(), entry.clone())));
    fault_point("rules-stepped");
    private::write(&Registry::path(place), &registry.to_bytes())?;
    fault_point("rules-registered");
    private::remove(&journal_path(place))?;
    failed.map_or(Ok(()), Err)
}

/// Takes a step. One that is done already, or whose file somebody has changed meanwhile, is left out.
fn take(step: &Step) -> Result<()> {
    match step {
        Step::MakeDirectory { path } => fs::create_dir_all(path).map_err(|error| Error::io("create", path, error)),
        Step::Write { path, content, mode, modified, before } => {
            let bytes =
                STANDARD.decode(content).map_err(|error| Error::other("cannot read the journal").because(error))?;
            if !is_as_planned(path, before)? {
                return Ok(());
            }
            // Nobody else reads it before it has its mode; a new file gets what the umask leaves.
            let first = if mode.is_some() { 0o600 } else { 0o666 };
            let written = file::replace(path, |unfinished| {
                let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(first).open(unfinished)?;
                file.write_all(&bytes)?;
                fault_point("rules-half-written");
                mode.map_or(Ok(()), |mode| disk::set_mode(unfinished, mode))?;
                disk::set_modified(unfinished, *modified);
                Ok(())
            });
            written.map_err(|error| Error::io("write", path, error))
        }
        Step::Link { path, target, modified, before } => {
            if !is_as_planned(path, before)? {
                return Ok(());
            }
            let made = file::replace(path, |unfinished| {
                std::os::unix::fs::symlink(target, unfinished)?;
                disk::set_modified(unfinished, *modified);
                Ok(())
            });
            made.map_err(|error| Error::io("write", path, error))
        }
        Step::Remove { path, before } => {
            if !is_as_planned(path, before)? {
                return Ok(());
            }
            let _ = fs::remove_file(file::unfinished(path));
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
            if disk::is_there(to) || !disk::is_there(from) {
                return Ok(());
            }
            let above = to.parent().unwrap_or(to);
            fs::create_dir_all(above).map_err(|error| Error::io("create", above, error))?;
            match fs::rename(from, to) {
                Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => move_far(from, to),
                outcome => outcome.map_err(|error| Error::io("move", from, error)),
            }
        }
    }
}

/// Says whether there is at a path what the plan has seen there.
fn is_as_planned(path: &Path, before: &str) -> Result<bool> {
    Ok(stamp(&disk::observe(path)?) == before)
}

/// Moves a directory to another file system: copied under another name, then renamed, then removed.
fn move_far(from: &Path, to: &Path) -> Result<()> {
    let unfinished = file::unfinished(to);
    let _ = fs::remove_dir_all(&unfinished);
    let fail = |error| Error::io("move", from, error);
    fs::create_dir(&unfinished).map_err(fail)?;
    let tree = disk::tree(from)?;
    for (path, node) in &tree {
        let (source, copy) = (from.join(path), unfinished.join(path));
        match node {
            Node::File { bytes, mode } => {
                fs::write(&copy, bytes).and_then(|()| disk::set_mode(&copy, *mode)).map_err(fail)?
            }
            Node::Link(target) => std::os::unix::fs::symlink(target, &copy).map_err(fail)?,
            _ => fs::create_dir(&copy)
                .and_then(|()| fs::set_permissions(&copy, fs::metadata(&source)?.permissions()))
                .map_err(fail)?,
        }
    }
    // A directory gets its time when everything is in it.
    for path in tree.keys().rev().map(PathBuf::as_path).chain([Path::new("")]) {
        disk::set_modified(&unfinished.join(path), disk::modified(&from.join(path)));
    }
    fs::rename(&unfinished, to).map_err(fail)?;
    fs::remove_dir_all(from).map_err(fail)
}
