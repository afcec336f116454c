//! Where an export goes: stdout, a file, or files in a directory. A file is there whole or not at all.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::cli;
use crate::error::{Error, Kind, Result};

/// How many symbolic links are followed from one to the next, as on Linux.
const MAX_LINKS: usize = 40;

/// Where an export goes.
#[derive(Debug)]
pub struct Target {
    place: Destination,
    /// Whether files that are there are replaced.
    is_forced: bool,
}

#[derive(Debug)]
enum Destination {
    Stdout,
    /// The path that the user named, and the file that it leads to if it is a symbolic link.
    File {
        link: PathBuf,
        file: PathBuf,
    },
    Directory(PathBuf),
}

impl Target {
    /// Tells from the option where an export goes.
    pub fn new(output: Option<&OsStr>, is_forced: bool) -> Self {
        let place = match output {
            None => Destination::Stdout,
            Some(path) if path == "-" => Destination::Stdout,
            Some(path) if path.as_encoded_bytes().ends_with(b"/") || Path::new(path).is_dir() => {
                Destination::Directory(path.into())
            }
            Some(path) => Destination::File { link: path.into(), file: led_to(path.into()) },
        };
        Target { place, is_forced }
    }

    /// Says whether there are to be several files.
    pub fn is_directory(&self) -> bool {
        matches!(self.place, Destination::Directory(_))
    }

    /// Says whether all goes to stdout.
    pub fn is_stdout(&self) -> bool {
        matches!(self.place, Destination::Stdout)
    }

    /// Makes the directory, and looks whether any of the files is there already.
    ///
    /// # Errors
    ///
    /// If one is, and files are not to be replaced, or if it is no regular file.
    pub fn prepare(&self, names: &[String]) -> Result<()> {
        if let Destination::Directory(directory) = &self.place {
            std::fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
        }
        let files = match &self.place {
            Destination::Stdout => Vec::new(),
            Destination::File { file, .. } => vec![file.clone()],
            Destination::Directory(directory) => names.iter().map(|name| directory.join(name)).collect(),
        };
        // What is in there is Git's.
        if let Some(path) = files.iter().find(|path| is_in_git(path)) {
            return Err(Error::other(format!("'{}' is in a directory of Git", path.display())));
        }
        if let Destination::File { file, .. } = &self.place
            && file.is_symlink()
        {
            return Err(Error::other(format!("'{}' leads through too many symbolic links", file.display())));
        }
        // To replace a device or a pipe would break it for everybody.
        if let Some(path) = files.iter().find(|path| path.metadata().is_ok_and(|metadata| !metadata.is_file())) {
            let error = Error::other(format!("'{}' is not a regular file", path.display()));
            return Err(error.hint("'-o -' writes to stdout"));
        }
        // A link that leads nowhere is there, too.
        let named = match &self.place {
            Destination::File { link, .. } => std::slice::from_ref(link),
            _ => &files[..],
        };
        match named.iter().find(|path| !self.is_forced && path.symlink_metadata().is_ok()) {
            Some(path) => Err(exists(path)),
            None => Ok(()),
        }
    }

    /// Writes one file, which appears when it is complete. `name` is that of a file in the directory.
    ///
    /// # Errors
    ///
    /// The error of `write`, or one of its own if the file cannot be written or another process has just made it.
    pub fn write(&self, name: Option<&str>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let path = match (&self.place, name) {
            (Destination::Stdout, _) => {
                let mut out = cli::Output::plain();
                write(&mut out)?;
                return out.finish();
            }
            (Destination::Directory(directory), Some(name)) => directory.join(name),
            (Destination::File { file: path, .. } | Destination::Directory(path), _) => path.clone(),
        };
        let failed = |error: std::io::Error| match Error::io("write", &path, error) {
            // A directory that is not there is no missing conversation.
            error if error.kind() == Kind::Missing => Error::other(error.to_string()),
            error => error,
        };
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // As any file that a program creates: what the umask leaves.
        let permissions = Permissions::from_mode(0o666);
        let temporary = tempfile::Builder::new().prefix(".shiftlog-").permissions(permissions).tempfile_in(directory);
        let mut out = BufWriter::with_capacity(1 << 16, temporary.map_err(failed)?);
        write(&mut out)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        if self.is_forced {
            return file.persist(&path).map(drop).map_err(|error| failed(error.error));
        }
        file.persist_noclobber(&path).map(drop).map_err(|error| match error.error.kind() {
            std::io::ErrorKind::AlreadyExists => exists(&path),
            _ => failed(error.error),
        })
    }
}

/// Returns the file that a path leads to, which need not exist: a symbolic link that the user names is written through, as by
/// `git format-patch --output`. Where links lead in a circle, one of them
/// is returned.
fn led_to(mut file: PathBuf) -> PathBuf {
    for _ in 0..MAX_LINKS {
        let Ok(next) = std::fs::read_link(&file) else { break };
        file = file.parent().unwrap_or(Path::new("")).join(next);
    }
    file
}

fn exists(path: &Path) -> Error {
    Error::other(format!("'{}' already exists", path.display())).hint("'-f' replaces it")
}

/// Says whether a path leads into the `.git` of a repository.
fn is_in_git(path: &Path) -> bool {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    directory.canonicalize().is_ok_and(|whole| whole.components().any(|part| part.as_os_str() == ".git"))
}
