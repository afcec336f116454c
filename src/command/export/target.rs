//! Where an export goes: stdout, a file, or files in a directory. A file is there whole or not at all.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cli::{self, Interruption};
use crate::error::{Error, Kind, Result};

/// How many symbolic links are followed from one to the next, as on Linux.
const MAX_LINKS: usize = 40;

/// Where an export goes.
pub struct Target {
    place: Destination,
    /// Whether files that are there are replaced.
    is_forced: bool,
    /// The temporary file that is being written, which a signal that ends us removes.
    unfinished: Arc<Mutex<Option<PathBuf>>>,
    _interruption: Option<Interruption>,
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
        let unfinished: Arc<Mutex<Option<PathBuf>>> = Arc::default();
        let left = Arc::clone(&unfinished);
        let tidy = move || {
            let path = left.lock().unwrap_or_else(PoisonError::into_inner).take();
            path.map(std::fs::remove_file);
        };
        let is_file = !matches!(place, Destination::Stdout);
        let interruption = if is_file { Interruption::catch(tidy).ok() } else { None };
        Target { place, is_forced, unfinished, _interruption: interruption }
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
        let failed = |error: io::Error| match Error::io("write", &path, error) {
            // A directory that is not there is no missing conversation.
            error if error.kind() == Kind::Missing => Error::other(error.to_string()),
            error => error,
        };
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // As any file that a program creates: what the umask leaves.
        let permissions = Permissions::from_mode(0o666);
        let temporary = {
            let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
            let made = tempfile::Builder::new().prefix(".shiftlog-").permissions(permissions).tempfile_in(directory);
            let made = made.map_err(|error| failed(without_path(error)))?;
            *unfinished = Some(made.path().to_owned());
            made
        };
        let (file, temporary) = temporary.into_parts();
        let mut out = Watched { out: BufWriter::with_capacity(1 << 16, file), error: None };
        let written = write(&mut out);
        let written = match out.error.take() {
            Some(error) => Err(failed(error)),
            None => written.and_then(|()| out.flush().map_err(failed)),
        };
        drop(out);
        let persisted = written.and_then(|()| match self.is_forced {
            true => temporary.persist(&path).map_err(|error| failed(error.error)),
            false => temporary.persist_noclobber(&path).map_err(|error| match error.error.kind() {
                io::ErrorKind::AlreadyExists => exists(&path),
                _ => failed(error.error),
            }),
        });
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner).take();
        persisted
    }
}

/// Returns an error without the path of the temporary file, which says nothing to the user.
fn without_path(error: io::Error) -> io::Error {
    let source = error.get_ref().and_then(std::error::Error::source);
    let code = source.and_then(|source| source.downcast_ref::<io::Error>()).and_then(io::Error::raw_os_error);
    code.map_or(error, io::Error::from_raw_os_error)
}

/// Writes a file, and keeps the error of the system that says why it cannot be written.
struct Watched {
    out: BufWriter<File>,
    error: Option<io::Error>,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        if let Err(error) = &written {
            let code = error.raw_os_error();
            self.error = Some(code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error));
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
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
