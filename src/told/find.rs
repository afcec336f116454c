//! Reading the instruction files of a working tree and of a home directory.
//!
//! Everything here may be hostile: a repository decides which files there are, how large they are, where links lead, and
//! what is imported. So files are read only if they are regular files below the working tree or the agent's own directory,
//! and only up to fixed limits. A file that is left out is still named.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::imports::{imports, is_prose, is_secret};
use super::{MAX_ENTRIES, MAX_FILE_BYTES, Root};
use crate::agent::{Choice, FilePatterns, HomeFolder, Instructions, Reach};
use crate::git::private;

/// How many files are read.
const MAX_FILES: usize = 64;
/// How many bytes are read of all files together.
const MAX_TOTAL_BYTES: usize = 1 << 20;
/// The longest path that is named, in bytes.
const MAX_PATH_BYTES: usize = 255;
/// How many bytes the paths have together. The line of a record must not get too long to be read.
const MAX_NAMES_BYTES: usize = 8 << 10;
/// How many imports follow each other.
const MAX_DEPTH: usize = 5;
/// How many directories are looked into, with those of edited files.
const MAX_DIRECTORIES: usize = 256;
/// How many entries of directories are looked at for patterns.
const MAX_LISTED: usize = 4096;
/// How deep `**` goes.
const MAX_NESTING: usize = 4;
/// How many names from an agent's settings are looked for.
const MAX_NAMES: usize = 8;
/// How many directories above the working tree are looked into.
const MAX_ABOVE: usize = 32;

/// Where instruction files are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The top of the working tree.
    pub top: &'a Path,
    /// The directory in which the session runs; `None` if it is not known.
    pub directory: Option<&'a Path>,
    /// The files that the session has edited.
    pub edited: &'a BTreeSet<String>,
    /// The files that its agent reads.
    pub instructions: &'a Instructions,
    /// The names that its settings give to such files instead; empty if they give none.
    pub names: &'a [String],
    /// The files that it reads in the directories above the working tree, and the user's home directory: those outside
    /// of it are left out.
    pub above: Option<(FilePatterns, &'a Path)>,
}

/// An instruction file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundFile {
    /// Where it is.
    pub root: Root,
    /// The path from there.
    pub path: String,
    /// Its text.
    pub content: Content,
}

/// The text of an instruction file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// It was read.
    Text(Vec<u8>),
    /// It was left out: `size`, `number`, `link` (it leads out of its root), `kind` (no regular file), `name` (not in
    /// UTF-8, or with control characters) or `secret`.
    Left(&'static str),
}

/// A directory that files must not lead out of.
struct Base {
    root: Root,
    /// The directory with symbolic links resolved.
    directory: PathBuf,
    /// What is put before paths in it: empty, or the usual path of the agent's directory below the home directory.
    prefix: &'static str,
    /// Whether files in it may be imported by others.
    is_open: bool,
}

/// Returns the instruction files that an agent reads, in its order, with what they import.
pub fn find(search: Search<'_>) -> Vec<FoundFile> {
    let mut finder = Finder::default();
    let Ok(top) = search.top.canonicalize() else { return Vec::new() };
    let directory = search.directory.and_then(|directory| directory.canonicalize().ok());
    let path = between(&top, directory.as_deref());
    let mut edited = path.clone();
    for file in search.edited {
        let file = below(search.top, &top, directory.as_deref(), file);
        edited.extend(file.and_then(|file| Some(file.parent()?.to_owned())).into_iter().flat_map(ancestors));
    }
    finder.bases.push(Base { root: Root::Repo, directory: top.clone(), prefix: "", is_open: true });
    for folder in &search.instructions.home {
        // A path that leads nowhere has no files.
        let directory = folder.directory.canonicalize().unwrap_or_else(|_| folder.directory.clone());
        finder.bases.push(Base { root: Root::Home, directory, prefix: folder.name, is_open: true });
    }
    finder.has_imports = search.instructions.has_imports;
    finder.names = search.names.iter().filter(|name| is_name(name)).take(MAX_NAMES).cloned().collect();
    for (index, HomeFolder { patterns, choice, .. }) in search.instructions.home.iter().enumerate() {
        let is_wanted = *choice != Choice::Fallback || finder.found.is_empty();
        if is_wanted {
            finder.directory(index + 1, Path::new(""), patterns, *choice);
        }
    }
    if let Some((place, home)) = search.above {
        finder.above(&top, place, home);
    }
    let of_home = finder.found.len();
    for place in search.instructions.repo {
        if place.choice == Choice::Fallback && finder.found.len() > of_home {
            continue;
        }
        let directories: Vec<&PathBuf> = match place.reach {
            Reach::Top => path.iter().take(1).collect(),
            Reach::Path => path.iter().collect(),
            Reach::Edited => edited.iter().collect(),
        };
        for directory in directories.into_iter().take(MAX_DIRECTORIES) {
            finder.directory(0, directory, place.patterns, place.choice);
        }
    }
    finder.found
}

/// Says whether a name from settings is that of a file in a directory, and no pattern.
fn is_name(name: &str) -> bool {
    let is_plain = Path::new(name).components().map(|part| matches!(part, Component::Normal(_))).eq([true]);
    is_plain && !name.contains(['*', '/'])
}

/// Returns the directories from the top to another one, from the top down, as paths below the top.
fn between(top: &Path, directory: Option<&Path>) -> BTreeSet<PathBuf> {
    let below = directory.and_then(|directory| directory.strip_prefix(top).ok());
    ancestors(below.unwrap_or(Path::new("")).to_owned()).collect()
}

/// Returns a path below the top, and the directories above it up to the top, which is empty.
fn ancestors(below: PathBuf) -> impl Iterator<Item = PathBuf> {
    let ancestors: Vec<PathBuf> = below.ancestors().map(Path::to_owned).collect();
    ancestors.into_iter()
}

/// Returns the path below the top of a file that a session has edited; `None` if it is elsewhere.
fn below(top: &Path, resolved: &Path, directory: Option<&Path>, file: &str) -> Option<PathBuf> {
    let file = Path::new(file);
    let below = match file.is_absolute() {
        true => file.strip_prefix(top).or_else(|_| file.strip_prefix(resolved)).ok()?.to_owned(),
        false => directory.unwrap_or(resolved).join(file).strip_prefix(resolved).ok()?.to_owned(),
    };
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && below.components().count() < 32).then_some(below)
}

#[derive(Default)]
struct Finder {
    /// The working tree, then the agent's directories.
    bases: Vec<Base>,
    has_imports: bool,
    /// The names of files that are looked for instead of the agent's own.
    names: Vec<String>,
    found: Vec<FoundFile>,
    seen: HashSet<(Root, String)>,
    /// The files whose imports were followed, with symbolic links resolved.
    imported: HashSet<PathBuf>,
    files: usize,
    bytes: usize,
    name_bytes: usize,
    listed: usize,
}

impl Finder {
    /// Reads the files in the directories above the top, from the home directory down. All of the home directory is a base
    /// then, so nothing can be imported from there.
    fn above(&mut self, top: &Path, place: FilePatterns, home: &Path) {
        let Ok(home) = home.canonicalize() else { return };
        let Some(below) = top.parent().and_then(|above| above.strip_prefix(&home).ok()) else { return };
        let mut directories: Vec<&Path> = below.ancestors().collect();
        directories.reverse();
        self.bases.push(Base { root: Root::Home, directory: home.clone(), prefix: "", is_open: false });
        let base = self.bases.len() - 1;
        for directory in directories.into_iter().take(MAX_ABOVE) {
            self.directory(base, directory, place.patterns, place.choice);
        }
    }

    /// Reads the files of one directory, given by its base and its path below it.
    fn directory(&mut self, base: usize, directory: &Path, patterns: &[&str], choice: Choice) {
        let names = std::mem::take(&mut self.names);
        // What settings name in a home directory could be any file of the agent's.
        let is_allowed = |name: &&str| self.bases[base].root == Root::Repo || is_prose(name);
        let named: Vec<&str> = names.iter().map(String::as_str).filter(is_allowed).collect();
        let patterns = if names.is_empty() { patterns } else { &named };
        self.in_directory(base, directory, patterns, choice);
        self.names = names;
    }

    fn in_directory(&mut self, base: usize, directory: &Path, patterns: &[&str], choice: Choice) {
        for pattern in patterns {
            let before = self.found.len();
            match pattern.rsplit_once('/').map_or(("", *pattern), |(folder, name)| (folder, name)) {
                (folder, name) if name.contains('*') => {
                    let (folder, nesting) = match folder.strip_suffix("**") {
                        Some(folder) => (folder, MAX_NESTING),
                        None => (folder, 0),
                    };
                    self.pattern(base, &directory.join(folder), name, nesting);
                }
                _ => drop(self.file(base, &directory.join(pattern), 0)),
            }
            if choice == Choice::First && self.found.len() > before {
                return;
            }
        }
    }

    /// Reads the files whose names fit a pattern with one `*`, also in directories below.
    fn pattern(&mut self, base: usize, directory: &Path, name: &str, nesting: usize) {
        let (start, end) = name.split_once('*').unwrap_or((name, ""));
        let above = &self.bases[base].directory;
        // A directory can be a link that leads elsewhere. Not even the names there are anybody's business.
        if !above.join(directory).canonicalize().is_ok_and(|resolved| resolved.starts_with(above)) {
            return;
        }
        let mut names: Vec<(OsString, bool)> = Vec::new();
        for entry in std::fs::read_dir(self.bases[base].directory.join(directory)).into_iter().flatten().flatten() {
            self.listed += 1;
            if self.listed > MAX_LISTED {
                break;
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            names.push((entry.file_name(), is_directory));
        }
        names.sort();
        for (name, is_directory) in names {
            let bytes = name.as_encoded_bytes();
            let is_long = bytes.len() >= start.len() + end.len();
            let fits = is_long && bytes.starts_with(start.as_bytes()) && bytes.ends_with(end.as_bytes());
            if is_directory && nesting > 0 {
                self.pattern(base, &directory.join(&name), &format!("{start}*{end}"), nesting - 1);
            } else if fits && !is_directory {
                self.file(base, &directory.join(&name), 0);
            }
        }
    }

    /// Reads a file, given by its base and its path below it, and what it imports.
    fn file(&mut self, base: usize, below: &Path, depth: usize) -> Option<()> {
        let Base { root, directory, prefix, .. } = &self.bases[base];
        let (root, file) = (*root, directory.join(below));
        // An entry that is not there is the usual case.
        file.symlink_metadata().ok()?;
        let name = Path::new(prefix).join(below);
        let is_odd = name.to_str().is_none_or(|name| name.chars().any(char::is_control));
        // No record has such a name, but it says that there was a file.
        let path = name.to_string_lossy().replace(char::is_control, "\u{fffd}");
        let has_room = path.len() <= MAX_PATH_BYTES && self.name_bytes + path.len() <= MAX_NAMES_BYTES;
        if !has_room || self.found.len() >= MAX_ENTRIES || !self.seen.insert((root, path.clone())) {
            return None;
        }
        let resolved = file.canonicalize().ok()?;
        let content = if is_odd { Some(Err("name")) } else { self.content(&resolved, base, &path) };
        let content = match content? {
            Ok(text) => {
                (self.files, self.bytes) = (self.files + 1, self.bytes + text.len());
                Content::Text(text)
            }
            Err(why) => Content::Left(why),
        };
        let imported = match &content {
            Content::Text(text) if self.has_imports && depth < MAX_DEPTH && self.imported.insert(resolved.clone()) => {
                std::str::from_utf8(text).map(imports).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        self.name_bytes += path.len();
        self.found.push(FoundFile { root, path, content });
        for path in imported {
            self.import(&resolved, &path, depth + 1);
        }
        Some(())
    }

    /// Reads a file that another one imports, if it is below one of the bases.
    fn import(&mut self, by: &Path, path: &str, depth: usize) -> Option<()> {
        let file = match path.strip_prefix("~/") {
            Some(path) => PathBuf::from(std::env::var_os("HOME")?).join(path),
            None => by.parent()?.join(path),
        };
        let resolved = file.canonicalize().ok()?;
        if self.imported.contains(&resolved) || !resolved.is_file() {
            return None;
        }
        // A link out of the bases is named by its own path. Where a directory leads is nobody's business.
        let linked = || Some(file.parent()?.canonicalize().ok()?.join(file.file_name()?));
        let base_of =
            |path: &Path| self.bases.iter().position(|base| base.is_open && path.starts_with(&base.directory));
        let found = base_of(&resolved).map(|base| (base, resolved.clone()));
        let (base, path) = found.or_else(|| linked().and_then(|path| Some((base_of(&path)?, path))))?;
        let below = path.strip_prefix(&self.bases[base].directory).ok()?.to_owned();
        // An agent's directory also has its credentials.
        let is_allowed = self.bases[base].root == Root::Repo || is_prose(below.to_str()?);
        if is_allowed { self.file(base, &below, depth) } else { None }
    }

    /// Returns the text of a file, or why it is left out; `None` if it is no file.
    fn content(&self, resolved: &Path, base: usize, path: &str) -> Option<Result<Vec<u8>, &'static str>> {
        let Ok(below) = resolved.strip_prefix(&self.bases[base].directory) else { return Some(Err("link")) };
        if is_secret(path) || below.to_str().is_none_or(is_secret) {
            return Some(Err("secret"));
        }
        let metadata = resolved.metadata().ok()?;
        if metadata.is_dir() {
            return None;
        }
        if !metadata.is_file() {
            return Some(Err("kind"));
        }
        if self.files >= MAX_FILES {
            return Some(Err("number"));
        }
        let room = MAX_FILE_BYTES.min(MAX_TOTAL_BYTES - self.bytes);
        if metadata.len() > room as u64 {
            return Some(Err("size"));
        }
        // It may have been replaced or written meanwhile.
        match private::read_open(private::open_no_link(resolved).ok()?, room as u64) {
            Ok(text) => Some(Ok(text)),
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Some(Err("size")),
            Err(error) if error.kind() == std::io::ErrorKind::Other => Some(Err("kind")),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests;
