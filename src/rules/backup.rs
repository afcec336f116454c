//! Backups: one for each operation that replaces something of the user's, never overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Place, folders};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::{fault_point, private};
use crate::managed::Step;
use crate::managed::disk::{self, Modified, Node};

/// The end of the name of a second thing that was at the same path.
const EDITED: &str = ".edited";
/// How the name of a backup begins while it is written. No other folder is called so.
const UNFINISHED: &str = ".shiftlog-unfinished-";
/// The key that says that an original is back, or that the user has put something else in its place.
const SETTLED: &str = "settled";

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
    /// Whether the same operation puts it back.
    pub is_settled: bool,
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
    /// A directory that a step moves here, or a file that cannot be read.
    Moved,
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
        let path = path.to_owned();
        self.saved.push(Saved { path, kept: kept.clone(), what, modified, is_original, is_settled: false });
        kept
    }

    /// Writes the backup, but for the directories that are moved to it. It gets its name when all of it is there.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self) -> Result<()> {
        if self.saved.is_empty() {
            return Ok(());
        }
        let unfinished = self.directory.with_file_name(format!("{UNFINISHED}{}", self.id));
        let written = self.write_to(&unfinished).and_then(|()| {
            fs::rename(&unfinished, &self.directory).map_err(|error| Error::io("write", &self.directory, error))
        });
        if written.is_err() {
            let _ = fs::remove_dir_all(&unfinished);
        }
        written
    }

    /// Writes the backup to a directory.
    fn write_to(&self, directory: &Path) -> Result<()> {
        for saved in &self.saved {
            let kept = directory.join(saved.kept.strip_prefix(&self.directory).unwrap_or(&saved.kept));
            let above = kept.parent().unwrap_or(directory);
            // What is copied here may be private.
            disk::make_directories(above, 0o700).map_err(|error| Error::io("create", above, error))?;
            let fail = |error| Error::io("write", &kept, error);
            match &saved.what {
                What::File { bytes, mode } => {
                    let mut options = fs::OpenOptions::new();
                    let opened = options.write(true).create_new(true).mode(0o600).open(&kept);
                    // Soon nothing else has these bytes.
                    let mut file = opened.map_err(fail)?;
                    private::hand_over(&file, above);
                    fault_point("rules-backing-up");
                    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(fail)?;
                    disk::set_mode(&kept, *mode).map_err(fail)?;
                }
                What::Link { target } => {
                    std::os::unix::fs::symlink(target, &kept).map_err(fail)?;
                    private::hand_over_path(&kept, above);
                }
                What::Moved => continue,
            }
            disk::set_modified(&kept, saved.modified);
        }
        let meta = directory.join("meta.json");
        private::write(&meta, (self.meta(directory).to_string() + "\n").as_bytes())
    }

    /// Removes the backup of an operation of which no step was taken.
    pub fn discard(&self) {
        if !self.saved.is_empty() {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }

    /// Returns the list of a backup that is written to a directory.
    fn meta(&self, directory: &Path) -> Value {
        let file = |saved: &Saved| {
            let kept = saved.kept.strip_prefix(&self.directory).unwrap_or(&saved.kept);
            let mut file = json!({ "path": saved.path, "file": kept, "original": saved.is_original });
            if saved.is_settled {
                file[SETTLED] = true.into();
            }
            file
        };
        let files: Vec<Value> = self.saved.iter().map(file).collect();
        let inode = inode(directory);
        json!({ "created": self.id, "command": self.command, "base": self.base, "inode": inode, "files": files })
    }
}

/// Returns the backups that a process that was killed has not finished: no step of it was taken. Also one that is being written.
pub fn unfinished(place: &Place) -> Vec<PathBuf> {
    // The rest of the name is a time.
    let is_time = |id: &str| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_digit() || b"TZ".contains(&byte));
    let entries = fs::read_dir(&place.backups).into_iter().flatten().flatten();
    let is_one = |entry: &fs::DirEntry| {
        entry.file_name().to_str().and_then(|name| name.strip_prefix(UNFINISHED)).is_some_and(is_time)
    };
    entries.filter(is_one).map(|entry| entry.path()).collect()
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

/// Returns what tells a directory from a copy of it, and from one that came in an archive.
fn inode(directory: &Path) -> Option<u64> {
    fs::symlink_metadata(directory).ok().map(|metadata| metadata.ino())
}

/// Reads the list of a backup; `None` if it has none.
fn meta(backup: &Path) -> Option<Value> {
    serde_json::from_str(&disk::text(&backup.join("meta.json")).ok()??).ok()
}

/// What the list of a backup says of a thing in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Listed {
    /// It is an original that is not back yet.
    Original,
    /// It is something else, or it is settled.
    Other,
    /// Nothing: an earlier tool has made the backup.
    Nothing,
    /// There is no list: an earlier tool has not finished the backup, and it may have a part of the file alone.
    Unfinished,
}

fn listed(backup: &Path, name: &Path) -> Listed {
    let Some(meta) = meta(backup) else {
        return if disk::is_there(&backup.join("meta.json")) { Listed::Nothing } else { Listed::Unfinished };
    };
    let is_it = |file: &&Value| file["file"].as_str().map(Path::new) == Some(name);
    let file = meta["files"].as_array().and_then(|files| files.iter().find(is_it));
    match file.and_then(|file| file["original"].as_bool().map(|is_original| is_original && file[SETTLED] != true)) {
        Some(true) => Listed::Original,
        Some(false) => Listed::Other,
        None => Listed::Nothing,
    }
}

/// Finds what was at a path before an earlier tool wrote there, or this one before the registry was lost, among the things in
/// the backups that `is_original` takes. This one saves an original only if nothing of ours is at the path, and so the newest
/// of those counts; of others the oldest.
pub fn original(place: &Place, path: &Path, is_original: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut found = kept(place, path, is_original);
    let is = |wanted: Listed| move |(listed, _): &(Listed, PathBuf)| *listed == wanted;
    let newest = found.iter().rposition(is(Listed::Original));
    let oldest = |wanted: Listed| found.iter().position(is(wanted));
    let at = newest.or_else(|| oldest(Listed::Nothing)).or_else(|| oldest(Listed::Unfinished))?;
    Some(found.swap_remove(at).1)
}

/// Finds what the earlier tool has kept last of a path, among the things in its backups that `is_wanted` takes.
pub fn newest_of_earlier_tool(place: &Place, path: &Path, is_wanted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let found = kept(place, path, is_wanted).into_iter().rfind(|(listed, _)| *listed == Listed::Nothing);
    found.map(|(_, kept)| kept)
}

/// Returns what backups keep of a path, oldest first, if `is_wanted` takes it.
fn kept(place: &Place, path: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<(Listed, PathBuf)> {
    let name = name(&place.base, path);
    let found = |id: &String| {
        let backup = place.backups.join(id);
        let kept = place.own_backup(&backup.join(&name))?;
        (disk::is_there(&kept) && is_wanted(&kept)).then(|| (listed(&backup, &name), kept))
    };
    folders(&place.backups).iter().filter_map(found).collect()
}

/// Returns the paths whose originals this place itself has put into its backups, and whether one of them is not settled. A
/// backup that was copied here, or came here in an archive, says nothing.
pub fn saved(place: &Place) -> BTreeMap<PathBuf, bool> {
    let mut saved = BTreeMap::new();
    for id in folders(&place.backups) {
        let backup = place.backups.join(&id);
        let Some(meta) = place.own_backup(&backup.join("meta.json")).and_then(|_| meta(&backup)) else { continue };
        let is_here = meta["base"].as_str().map(Path::new) == Some(&place.base);
        if !is_here || meta["inode"].as_u64().is_none_or(|known| Some(known) != inode(&backup)) {
            continue;
        }
        for file in meta["files"].as_array().into_iter().flatten().filter(|file| file["original"] == true) {
            let (Some(path), Some(kept)) = (file["path"].as_str().map(Path::new), file["file"].as_str()) else {
                continue;
            };
            if name(&place.base, path) == Path::new(kept) {
                *saved.entry(path.to_owned()).or_default() |= file[SETTLED] != true;
            }
        }
    }
    saved
}

/// Returns the lists of all backups.
pub fn lists(place: &Place) -> Vec<PathBuf> {
    let list = |id: String| place.own_backup(&place.backups.join(id).join("meta.json"));
    folders(&place.backups).into_iter().filter_map(list).collect()
}

/// Returns the steps after which no list has an original of these paths that is not settled.
///
/// # Errors
///
/// If a list cannot be written.
pub fn settle(place: &Place, paths: &BTreeSet<PathBuf>) -> Result<Vec<Step>> {
    let names: BTreeSet<PathBuf> = paths.iter().map(|path| name(&place.base, path)).collect();
    let is_open = |file: &Value| {
        let is_named = file["file"].as_str().is_some_and(|kept| names.contains(Path::new(kept)));
        is_named && file["original"] == true && file[SETTLED] != true
    };
    let mut steps = Vec::new();
    for path in if names.is_empty() { Vec::new() } else { lists(place) } {
        let Ok(node) = disk::observe(&path) else { continue };
        let Node::File { bytes, mode } = &node else { continue };
        let mut meta: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let files = meta.get_mut("files").and_then(Value::as_array_mut);
        let open: Vec<&mut Value> = files.into_iter().flatten().filter(|file| is_open(file)).collect();
        if open.is_empty() {
            continue;
        }
        open.into_iter().for_each(|file| file[SETTLED] = true.into());
        let text = meta.to_string() + "\n";
        steps.push(Step::write(path, text.as_bytes(), Some(*mode), &node)?);
    }
    Ok(steps)
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
