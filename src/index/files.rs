//! Where the files of an index are, and reading them. No symbolic link is followed: it could lead to any file of the
//! user's.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{Error, Kind, Result};
use crate::git::{Repository, locate, private};

/// The files of an index without `.json`; each is a root of paths.
pub const ROOTS: &[&str] = &["arch", "interface", "stories", "issues"];
/// The content of each file of a new index, in the order of [`ROOTS`].
pub const SKELETONS: &[&str] = &[
    r#"{"modules": [], "relationships": ""}"#,
    r#"{"external": [], "internal": []}"#,
    r#"{"stories": []}"#,
    r#"{"issues": []}"#,
];
/// Where an index lies below the top of a project.
pub const DIRECTORY: &str = ".memo/index";
/// The largest file of an index that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// The largest file of the history that is read.
const MAX_HISTORY_BYTES: u64 = 256 << 20;
/// The names that Git is to ignore in `.memo`.
const IGNORED: &[&str] = &["watcher.lock", "status.json", ".history"];

/// A directory that has an index, or can have one.
#[derive(Clone, Debug)]
pub struct Project {
    top: PathBuf,
}

impl Project {
    /// Returns the project in a directory.
    pub fn at(top: impl Into<PathBuf>) -> Self {
        Project { top: top.into() }
    }

    /// Returns the project in the working tree that a directory is in, or in the directory itself outside of any.
    pub fn around(here: PathBuf) -> Self {
        Project { top: locate(&here).and_then(|location| location.worktree).unwrap_or(here) }
    }

    /// Returns the directory of the project.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Returns where the directory of the index is, or would be.
    pub fn directory(&self) -> PathBuf {
        self.top.join(DIRECTORY)
    }

    /// Returns the directory that has the index and what is kept beside it.
    pub fn memo(&self) -> PathBuf {
        self.top.join(".memo")
    }

    /// Returns the directory for earlier versions of the index and for what only this clone needs.
    pub fn history(&self) -> PathBuf {
        self.top.join(".memo/.history")
    }

    /// Says why there is no index; `shown` is the directory as the reader knows it.
    pub fn absence(&self, shown: &Path) -> String {
        match self.linked() {
            Some(path) => format!("{path} is a symbolic link, which is not followed"),
            None => format!("Index not found: {}; 'git shiftlog index init' makes one", shown.display()),
        }
    }

    /// Returns the first of our directories that is a symbolic link.
    pub fn linked(&self) -> Option<&'static str> {
        let is_link = |path: &str| self.top.join(path).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        [".memo", DIRECTORY, ".memo/.history"].into_iter().find(|path| is_link(path))
    }

    /// Fails unless there is an index whose directories are no links.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if there is none.
    pub fn require(&self) -> Result<()> {
        match below(&self.top) {
            Some(_) if self.linked().is_none() => Ok(()),
            _ => Err(self.gone()),
        }
    }

    /// Returns the error of an index that is absent or a link.
    pub fn gone(&self) -> Error {
        Error::new(Kind::Missing, self.absence(&self.shown()))
    }

    /// Returns the directory of the index as a message names it: from the current directory where that is shorter.
    fn shown(&self) -> PathBuf {
        let directory = self.directory();
        let here = std::env::current_dir().unwrap_or_default();
        directory.strip_prefix(&here).map_or_else(|_| directory.clone(), Path::to_owned)
    }

    /// Returns where the project is below the top of the working tree that it is in; empty in a bare repository.
    ///
    /// # Errors
    ///
    /// If it is in another one.
    pub fn prefix(&self, repo: &Repository) -> Result<PathBuf> {
        let Some(top) = repo.worktree() else { return Ok(PathBuf::new()) };
        let plain = |path: &Path| path.canonicalize().map_err(|error| Error::io("find", path, error));
        let (top, inside) = (plain(top)?, plain(&self.top)?);
        inside
            .strip_prefix(&top)
            .map(Path::to_owned)
            .map_err(|_| Error::other(format!("'{}' is outside repository at '{}'", self.top.display(), top.display())))
    }

    /// Creates the directories and files of an index that are absent, and returns which, from the top; only returns them if
    /// `is_dry_run`. What is there stays as it is; a `.gitignore` gets the lines that it lacks.
    ///
    /// # Errors
    ///
    /// If one of the directories is a link, or something cannot be written.
    pub fn create(&self, is_dry_run: bool) -> Result<Vec<String>> {
        if let Some(path) = self.linked() {
            return Err(Error::other(format!("{path} is a symbolic link, which is not followed")));
        }
        let directory = self.directory();
        if !is_dry_run {
            std::fs::create_dir_all(&directory).map_err(|error| Error::io("create", &directory, error))?;
        }
        let mut written = Vec::new();
        for (root, skeleton) in ROOTS.iter().zip(SKELETONS) {
            let path = directory.join(format!("{root}.json"));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            if !is_dry_run {
                let file = OpenOptions::new().write(true).create_new(true).open(&path);
                let written = file.and_then(|mut file| file.write_all(format!("{skeleton}\n").as_bytes()));
                written.map_err(|error| Error::io("write", &path, error))?;
            }
            written.push(format!("{DIRECTORY}/{root}.json"));
        }
        if self.ignore(is_dry_run)? {
            written.push(".memo/.gitignore".into());
        }
        Ok(written)
    }

    /// Has Git ignore what only this clone needs; says whether a line is added.
    fn ignore(&self, is_dry_run: bool) -> Result<bool> {
        let path = self.memo().join(".gitignore");
        let fail = |error| Error::io("write", &path, error);
        if is_dry_run && !path.exists() {
            return Ok(true);
        }
        let mut options = OpenOptions::new();
        // Opening a named pipe would wait for somebody who reads.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.read(true).append(true).create(true).custom_flags(flags.bits().cast_signed());
        let mut file = options.open(&path).map_err(fail)?;
        if !file.metadata().map_err(fail)?.is_file() {
            return Err(Error::other(format!("'{}' is not a regular file", path.display())));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        let is_there = |line: &&&str| text.lines().any(|other| other.trim_matches('/') == **line);
        let absent: Vec<&str> = IGNORED.iter().filter(|line| !is_there(line)).copied().collect();
        if absent.is_empty() || is_dry_run {
            return Ok(!absent.is_empty());
        }
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        file.write_all(format!("{gap}{}\n", absent.join("\n")).as_bytes()).map_err(fail)?;
        Ok(true)
    }
}

/// Returns the index below the top of a project, if there is one.
pub fn below(top: &Path) -> Option<PathBuf> {
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let index = top.join(DIRECTORY);
    (index.parent().is_some_and(is_directory) && is_directory(&index)).then_some(index)
}

/// Finds the index that a directory is, or holds in `.memo/index`.
pub fn find(directory: &Path) -> Option<PathBuf> {
    if let Some(below) = below(directory) {
        return Some(below);
    }
    let has_file = |root: &&str| directory.join(format!("{root}.json")).symlink_metadata().is_ok();
    ROOTS.iter().any(has_file).then(|| directory.to_owned())
}

/// Reads a file of the history: a regular one, not through a symbolic link, which a checkout can have brought. Returns
/// `None` if there is none.
pub fn read_history(project: &Project, name: &str) -> Option<Vec<u8>> {
    let file = private::open_no_link(&project.history().join(name)).ok()?;
    private::read_open(file, MAX_HISTORY_BYTES).ok()
}

/// Reads a file of the index in `directory`: opened once, a regular file, not through a symbolic link.
///
/// # Errors
///
/// The reason, to be put behind the file's name: "is missing".
pub fn read(directory: &Path, root: &str) -> Result<String, String> {
    let path = directory.join(format!("{root}.json"));
    let is_link = || path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let file = private::open_no_link(&path).map_err(|error| match error.kind() {
        _ if is_link() => "is a symbolic link",
        std::io::ErrorKind::NotFound => "is missing",
        _ => "cannot be opened",
    })?;
    let text = private::read_open(file, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => format!("is too large (max {MAX_FILE_BYTES} bytes)"),
        std::io::ErrorKind::Other => "is not a regular file".to_owned(),
        _ => "cannot be read".to_owned(),
    })?;
    String::from_utf8(text).map_err(|_| "cannot be read as JSON: it is not UTF-8".into())
}
