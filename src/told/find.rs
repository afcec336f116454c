//! Reading the instruction files of a working tree and of a home directory.
//!
//! Everything here may be hostile: a repository decides which files there are, how large they are, where links lead, and
//! what is imported. So files are read only if they are regular files below the working tree or the agent's own directory,
//! and only up to fixed limits. A file that is left out is still named.

use std::collections::{BTreeSet, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::imports::{imports, is_prose, is_secret};
use super::{MAX_ENTRIES, MAX_FILE_BYTES, Root};
use crate::agent::{Choice, HomeFolder, Instructions, Reach};

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
}

/// An instruction file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
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
    /// It was left out: `size`, `number`, `link` (it leads out of its root), `kind` (no regular file) or `secret`.
    Left(&'static str),
}

/// A directory that files must not lead out of.
struct Base {
    root: Root,
    /// The directory with symbolic links resolved.
    directory: PathBuf,
    /// What is put before paths in it: empty, or the usual path of the agent's directory below the home directory.
    prefix: &'static str,
}

/// Returns the instruction files that an agent reads, in its order, with what they import.
pub fn find(search: Search<'_>) -> Vec<Found> {
    let mut finder = Finder::default();
    let Ok(top) = search.top.canonicalize() else { return Vec::new() };
    let directory = search.directory.and_then(|directory| directory.canonicalize().ok());
    let path = between(&top, directory.as_deref());
    let mut edited = path.clone();
    for file in search.edited {
        let file = below(search.top, &top, directory.as_deref(), file);
        edited.extend(file.and_then(|file| Some(file.parent()?.to_owned())).into_iter().flat_map(ancestors));
    }
    finder.bases.push(Base { root: Root::Repo, directory: top, prefix: "" });
    for folder in &search.instructions.home {
        // A path that leads nowhere has no files.
        let directory = folder.directory.canonicalize().unwrap_or_else(|_| folder.directory.clone());
        finder.bases.push(Base { root: Root::Home, directory, prefix: folder.name });
    }
    finder.has_imports = search.instructions.has_imports;
    for (index, HomeFolder { patterns, choice, .. }) in search.instructions.home.iter().enumerate() {
        let is_wanted = *choice != Choice::Fallback || finder.found.is_empty();
        if is_wanted {
            finder.directory(index + 1, Path::new(""), patterns, *choice);
        }
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
    found: Vec<Found>,
    seen: HashSet<(Root, String)>,
    /// The files whose imports were followed, with symbolic links resolved.
    imported: HashSet<PathBuf>,
    files: usize,
    bytes: usize,
    name_bytes: usize,
    listed: usize,
}

impl Finder {
    /// Reads the files of one directory, given by its base and its path below it.
    fn directory(&mut self, base: usize, directory: &Path, patterns: &[&str], choice: Choice) {
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
        let mut names: Vec<(String, bool)> = Vec::new();
        for entry in std::fs::read_dir(self.bases[base].directory.join(directory)).into_iter().flatten().flatten() {
            self.listed += 1;
            if self.listed > MAX_LISTED {
                break;
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            names.extend(entry.file_name().to_str().map(|name| (name.to_owned(), is_directory)));
        }
        names.sort();
        for (name, is_directory) in names {
            let fits = name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
            if is_directory && nesting > 0 {
                self.pattern(base, &directory.join(&name), &format!("{start}*{end}"), nesting - 1);
            } else if fits && !is_directory {
                self.file(base, &directory.join(&name), 0);
            }
        }
    }

    /// Reads a file, given by its base and its path below it, and what it imports.
    fn file(&mut self, base: usize, below: &Path, depth: usize) -> Option<()> {
        let Base { root, directory, prefix } = &self.bases[base];
        let (root, file) = (*root, directory.join(below));
        // An entry that is not there is the usual case.
        file.symlink_metadata().ok()?;
        let path = Path::new(prefix).join(below).to_str()?.to_owned();
        let has_room = path.len() <= MAX_PATH_BYTES && self.name_bytes + path.len() <= MAX_NAMES_BYTES;
        let is_named_well = has_room && !path.chars().any(char::is_control);
        if !is_named_well || self.found.len() >= MAX_ENTRIES || !self.seen.insert((root, path.clone())) {
            return None;
        }
        let resolved = file.canonicalize().ok()?;
        let content = match self.content(&resolved, base, &path)? {
            Ok(text) => {
                (self.files, self.bytes) = (self.files + 1, self.bytes + text.len());
                Content::Text(text)
            }
            Err(why) => Content::Left(why),
        };
        let imported = match &content {
            Content::Text(text) if self.has_imports && depth < MAX_DEPTH && self.imported.insert(resolved.clone()) => {
                std::str::from_utf8(text).map(imports).unwrap_or_default().into_iter().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        self.name_bytes += path.len();
        self.found.push(Found { root, path, content });
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
        let is_below = |base: &Base| resolved.strip_prefix(&base.directory).is_ok();
        let base = self.bases.iter().position(is_below)?;
        let below = resolved.strip_prefix(&self.bases[base].directory).ok()?.to_owned();
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
        let mut text = Vec::new();
        let file = open(resolved).ok()?;
        // It may have been replaced meanwhile.
        if !file.metadata().ok()?.is_file() {
            return Some(Err("kind"));
        }
        file.take(room as u64 + 1).read_to_end(&mut text).ok()?;
        Some(if text.len() > room { Err("size") } else { Ok(text) })
    }
}

/// Opens a file without waiting, as opening a pipe would.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0)).open(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::agent::{self, Place};

    struct Tree {
        root: tempfile::TempDir,
    }

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = Tree { root: tempfile::tempdir().unwrap() };
            for folder in ["repo", "home/.claude"] {
                fs::create_dir_all(tree.root.path().join(folder)).unwrap();
            }
            for (path, text) in files {
                let path = tree.root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            tree
        }

        fn find(&self, agent: &str, directory: &str, edited: &[&str]) -> Vec<String> {
            let mut instructions = agent::find(agent).unwrap().instructions().unwrap();
            // Not the home directory of whoever runs the tests.
            instructions.home = HomeFolder::all(Some(self.root.path().join("home/.claude")), ".claude", &["CLAUDE.md"]);
            let top = self.root.path().join("repo");
            let directory = top.join(directory);
            let edited = edited.iter().map(|path| (*path).to_owned()).collect();
            let search =
                Search { top: &top, directory: Some(&directory), edited: &edited, instructions: &instructions };
            let found = find(search).into_iter().map(|found| match (found.root, found.content) {
                (Root::Repo, Content::Text(_)) => found.path,
                (Root::Home, Content::Text(_)) => format!("~/{}", found.path),
                (_, Content::Left(why)) => format!("{}: {why}", found.path),
            });
            found.collect()
        }
    }

    #[test]
    fn each_agent_reads_its_own_files_from_the_top_to_where_it_works() {
        let files = [
            "repo/AGENTS.md",
            "repo/CLAUDE.md",
            "repo/GEMINI.md",
            "repo/.cursor/rules/a/style.mdc",
            "repo/.claude/rules/tests.md",
            "repo/sub/AGENTS.md",
            "repo/sub/AGENTS.override.md",
            "repo/other/CLAUDE.md",
            "repo/other/GEMINI.md",
            "home/.claude/CLAUDE.md",
        ];
        let tree = Tree::new(&files.map(|path| (path, path)));
        let home = "~/.claude/CLAUDE.md";
        assert_eq!(tree.find("claude", "sub", &[]), [home, "CLAUDE.md", ".claude/rules/tests.md"]);
        assert_eq!(
            tree.find("claude", "", &["other/deep/a.rs"]),
            [home, "CLAUDE.md", ".claude/rules/tests.md", "other/CLAUDE.md"]
        );
        assert_eq!(tree.find("codex", "sub", &["other/a.rs"]), [home, "AGENTS.md", "sub/AGENTS.override.md"]);
        assert_eq!(tree.find("gemini", "", &["other/a.rs"]), [home, "GEMINI.md", "other/GEMINI.md"]);
        assert_eq!(
            tree.find("cursor", "sub", &[]),
            [home, ".cursor/rules/a/style.mdc", "AGENTS.md", "sub/AGENTS.md", "CLAUDE.md"]
        );
        fs::remove_file(tree.root.path().join("repo/CLAUDE.md")).unwrap();
        assert_eq!(tree.find("claude", "", &[]), [home, "AGENTS.md", ".claude/rules/tests.md"], "AGENTS.md instead");
        assert!(agent::find("aider").unwrap().instructions().is_none());
    }

    #[test]
    fn imports_are_followed_within_the_repository_and_the_agents_directory_and_end_in_a_circle() {
        let tree = Tree::new(&[
            ("repo/CLAUDE.md", "@docs/a.md @../outside.md @/etc/passwd @.env @missing.md"),
            ("repo/docs/a.md", "@b.md @../CLAUDE.md"),
            ("repo/docs/b.md", "@a.md"),
            ("repo/.env", "KEY=1"),
            ("outside.md", "no"),
            ("home/.claude/CLAUDE.md", "@own.md @.credentials.json @settings.json"),
            ("home/.claude/own.md", "mine"),
            ("home/.claude/.credentials.json", "{}"),
            ("home/.claude/settings.json", "{}"),
        ]);
        let expected =
            ["~/.claude/CLAUDE.md", "~/.claude/own.md", "CLAUDE.md", "docs/a.md", "docs/b.md", ".env: secret"];
        assert_eq!(tree.find("claude", "", &[]), expected);
        assert_eq!(tree.find("codex", "", &[]), ["~/.claude/CLAUDE.md"], "Codex has no imports");
        let long: Vec<(String, String)> = (0..9).map(|n| (format!("repo/{n}.md"), format!("@{}.md", n + 1))).collect();
        let mut files: Vec<(&str, &str)> = long.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        files.push(("repo/CLAUDE.md", "@0.md"));
        let found = Tree::new(&files).find("claude", "", &[]);
        assert_eq!(found, ["CLAUDE.md", "0.md", "1.md", "2.md", "3.md", "4.md"], "five imports deep");
    }

    #[test]
    fn links_out_pipes_and_large_files_are_named_and_not_read() {
        let tree = Tree::new(&[("repo/AGENTS.md", "x"), ("outside.md", "no")]);
        let top = tree.root.path().join("repo");
        for (target, link) in [
            ("../outside.md", "CLAUDE.md"),
            ("AGENTS.md", "CLAUDE.local.md"),
            ("nowhere.md", ".claude/CLAUDE.md"),
            ("/etc", ".claude/rules"),
        ] {
            fs::create_dir_all(top.join(link).parent().unwrap()).unwrap();
            symlink(target, top.join(link)).unwrap();
        }
        assert_eq!(tree.find("claude", "", &[]), ["CLAUDE.md: link", "CLAUDE.local.md"]);
        fs::remove_file(top.join("CLAUDE.md")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(top.join("CLAUDE.md")).status().unwrap().success());
        fs::remove_file(top.join("CLAUDE.local.md")).unwrap();
        File::create(top.join("CLAUDE.local.md")).unwrap().set_len(100 << 20).unwrap();
        assert_eq!(tree.find("claude", "", &[]), ["CLAUDE.md: kind", "CLAUDE.local.md: size"]);
    }

    #[test]
    fn there_is_an_end_to_files_and_bytes() {
        let names: Vec<String> = (0..200).map(|n| format!("repo/.claude/rules/{n:03}.md")).collect();
        let many = Tree::new(&names.iter().map(|path| (path.as_str(), "x")).collect::<Vec<_>>());
        let found = many.find("claude", "", &[]);
        let left = found.iter().filter(|name| name.ends_with(": number")).count();
        assert_eq!((found.len(), left), (MAX_ENTRIES, MAX_ENTRIES - MAX_FILES));
        let text = "x".repeat(MAX_FILE_BYTES);
        let large = Tree::new(&names[..6].iter().map(|path| (path.as_str(), text.as_str())).collect::<Vec<_>>());
        let left = large.find("claude", "", &[]).iter().filter(|name| name.ends_with(": size")).count();
        assert_eq!(left, 2, "four of them make a megabyte");
    }

    #[test]
    fn every_list_of_an_agent_names_relative_paths_that_stay_below() {
        let mut count = 0;
        for instructions in agent::ALL.iter().filter_map(|agent| agent.instructions()) {
            let of_repo = instructions.repo.iter().flat_map(|place: &Place| place.patterns);
            let of_home = instructions.home.iter().flat_map(|folder| folder.patterns);
            for pattern in of_repo.chain(of_home) {
                count += 1;
                let is_plain = Path::new(pattern).components().all(|part| matches!(part, Component::Normal(_)));
                assert!(is_plain && pattern.matches("/*").count() <= 2, "{pattern}");
            }
        }
        assert!(count > 40);
    }
}
