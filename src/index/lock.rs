//! Locks of an index: files that are locked while a process lives and that can name it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::error::{Error, Kind, Result};

/// The lock of scans, in the history.
pub const SCANNING: &str = "lock";
/// The number of attempts to take a lock. A process that only asks who holds the lock holds it for a moment.
const TRIES: u32 = 5;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A lock that ends with the process.
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes a lock file, which is created if needed.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] with `busy` as its message if another process has it.
    pub fn take(path: &Path, busy: &str) -> Result<Self> {
        let directory = path.parent().unwrap_or(path);
        std::fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
        let file = open(path, true)?;
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { file }),
                Err(std::fs::TryLockError::WouldBlock) if tries < TRIES => std::thread::sleep(PAUSE),
                Err(std::fs::TryLockError::WouldBlock) => return Err(Error::new(Kind::Busy, busy)),
                Err(std::fs::TryLockError::Error(error)) => return Err(Error::io("lock", path, error)),
            }
            tries += 1;
        }
    }

    /// Writes who has the lock into its file; nothing if `holder` is empty.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn name(&mut self, holder: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(holder.as_bytes())
    }

    /// Returns the text that the holder of a lock has written into its file; `None` if no process holds it.
    pub fn holder(path: &Path) -> Option<String> {
        let mut file = open(path, false).ok()?;
        match file.try_lock_shared() {
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                Some(text.trim().to_owned())
            }
            _ => None,
        }
    }
}

/// Creates a file, unless it is there.
///
/// # Errors
///
/// If it cannot be created, or is no regular file.
pub fn touch(path: &Path) -> Result<()> {
    let directory = path.parent().unwrap_or(path);
    std::fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
    open(path, true).map(drop)
}

/// Opens a lock file: a regular file, not through a symbolic link.
fn open(path: &Path, is_created: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(is_created).create(is_created).truncate(false);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    let is_link = || path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let file = opened.map_err(|error| match is_link() {
        true => Error::other(format!("'{}' is a symbolic link, which is not followed", path.display())),
        false => Error::io("open", path, error),
    })?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        _ => Err(Error::other(format!("'{}' is not a regular file", path.display()))),
    }
}
