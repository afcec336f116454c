//! Backups: one for each operation that replaces something of the user's, never overwritten.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Place, folders};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::managed::disk::{self, Modified};

/// The end of the name of a second thing that was at the same path.
const EDITED: &str = ".edited";

/// One thing in a backup.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The absolute path it was at.
    pub path: PathBuf,
    /// The absolute path at which it is kept.
    pub kept: PathBuf,
    pub what: What,
    /// When it was changed last.
    pub modified: Option<Modified>,
    /// Whether it is what a user made, not what was generated.
    pub is_original: bool,
}

/// A file, link or directory as a backup keeps it.
#[derive(Clone, Debug)]
pub enum What {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link {
        target: PathBuf,
    },
    /// A directory that a step moves here.
    Directory,
}

/// A backup that is being planned.
#[derive(Clone, Debug)]
pub struct Backup {
    pub id: String,
    directory: PathBuf,
    base: PathBuf,
    command: String,
    pub saved: Vec<Saved>,
}

impl Backup {
    /// Begins a backup with a name that none has yet.
    pub fn new(place: &Place, command: &str, now: Time) -> Self {
        let mut time = now;
        let (id, directory) = loop {
            let id: String = time.to_rfc3339().chars().filter(|letter| !matches!(letter, '-' | ':')).collect();
            let directory = place.backups.join(&id);
            if !disk::is_there(&directory) {
                break (id, directory);
            }
            time.seconds += 1;
        };
        Backup { id, directory, base: place.base.clone(), command: command.to_owned(), saved: Vec::new() }
    }

    /// Adds what is at a path. Returns where it is kept.
    pub fn add(&mut self, path: &Path, what: What, is_original: bool) -> PathBuf {
        let mut kept = self.directory.join(name(&self.base, path));
        // What the user has made of a generated file is kept beside what was there before.
        while self.saved.iter().any(|saved| saved.kept == kept) {
            let name = kept.file_name().unwrap_or_default().to_string_lossy().into_owned();
            kept.set_file_name(format!("{name}{EDITED}"));
        }
        let modified = disk::modified(path);
        self.saved.push(Saved { path: path.to_owned(), kept: kept.clone(), what, modified, is_original });
        kept
    }

    /// Writes the backup, but for the directories that are moved to it. Without `meta.json` it is not one yet.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self) -> Result<()> {
        if self.saved.is_empty() {
            return Ok(());
        }
        // What is copied here may be private.
        let mut directories = fs::DirBuilder::new();
        directories.recursive(true).mode(0o700);
        for saved in &self.saved {
            let above = saved.kept.parent().unwrap_or(&self.directory);
            directories.create(above).map_err(|error| Error::io("create", above, error))?;
            let fail = |error| Error::io("write", &saved.kept, error);
            match &saved.what {
                What::File { bytes, mode } => {
                    let mut options = fs::OpenOptions::new();
                    let opened = options.write(true).create_new(true).mode(0o600).open(&saved.kept);
                    // Soon nothing else has these bytes.
                    opened.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all())).map_err(fail)?;
                    disk::set_mode(&saved.kept, *mode).map_err(fail)?;
                }
                What::Link { target } => std::os::unix::fs::symlink(target, &saved.kept).map_err(fail)?,
                What::Directory => continue,
            }
            disk::set_modified(&saved.kept, saved.modified);
        }
        let meta = self.directory.join("meta.json");
        fs::write(&meta, self.meta().to_string() + "\n").map_err(|error| Error::io("write", &meta, error))
    }

    fn meta(&self) -> Value {
        let file = |saved: &Saved| {
            let kept = saved.kept.strip_prefix(&self.directory).unwrap_or(&saved.kept);
            json!({ "path": saved.path, "file": kept, "original": saved.is_original })
        };
        let files: Vec<Value> = self.saved.iter().map(file).collect();
        json!({ "created": self.id, "command": self.command, "base": self.base, "files": files })
    }
}

/// Returns where a backup keeps what is at a path, relative to the backup.
fn name(base: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(base) {
        Ok(rest) => Path::new("files").join(rest),
        Err(_) => Path::new("outside").join(path.strip_prefix("/").unwrap_or(path)),
    }
}

/// Says whether something in a backup was at a path, by where it is kept.
pub fn is_from(place: &Place, kept: &Path, path: &Path) -> bool {
    let Ok(rest) = kept.strip_prefix(&place.backups) else { return false };
    let below: PathBuf = rest.components().skip(1).collect();
    let whole = below.to_str().map(|below| below.trim_end_matches(EDITED));
    whole.is_some_and(|below| Path::new(below) == name(&place.base, path))
}

/// Says whether a backup of ours lists a thing in it as an original; `None` if it lists nothing.
fn lists_as_original(backup: &Path, name: &Path) -> Option<bool> {
    let text = disk::text(&backup.join("meta.json")).ok()??;
    let meta: Value = serde_json::from_str(&text).ok()?;
    let file = meta["files"].as_array()?.iter().find(|file| file["file"].as_str().map(Path::new) == Some(name))?;
    file["original"].as_bool()
}

/// Finds what was at a path before an earlier tool wrote there, or this one before the registry was lost: the oldest thing in
/// the backups that `is_original` takes, and that no list says to be something else.
pub fn oldest(place: &Place, path: &Path, is_original: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let backups = folders(&place.backups);
    let name = name(&place.base, path);
    let kept = |id: &String| place.backups.join(id).join(&name);
    let is_listed = |id: &String| lists_as_original(&place.backups.join(id), &name) != Some(false);
    let found = |id: &&String| disk::is_there(&kept(id)) && is_original(&kept(id)) && is_listed(id);
    // One of ours without a list was not finished, and may have a part of the file alone.
    let is_finished = |id: &&String| disk::is_there(&place.backups.join(id).join("meta.json"));
    let finished = backups.iter().filter(is_finished).find(found);
    finished.or_else(|| backups.iter().find(found)).map(kept)
}

/// Returns the absolute paths of the files of which backups keep something. The first twenty thousand are looked at.
pub fn paths(place: &Place) -> BTreeSet<PathBuf> {
    let (mut found, mut count) = (BTreeSet::new(), 0);
    for id in folders(&place.backups) {
        let top = place.backups.join(id).join("files");
        let mut directories = vec![top.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                count += 1;
                if count > disk::MAX_ENTRIES {
                    return found;
                }
                let path = entry.path();
                if disk::is_directory(&path) {
                    directories.push(path);
                } else if let Ok(below) = path.strip_prefix(&top) {
                    found.insert(place.base.join(below));
                }
            }
        }
    }
    found
}
