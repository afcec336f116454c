//! Opening files that others may have replaced: no named pipe is waited for. And files of our own in the repository's
//! directory, readable by their owner, or by the group of a shared repository.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, lchown};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result};

/// The beginning of the name of a file that is being written.
const UNFINISHED: &str = ".tmp-";

/// A lock that other processes of ours wait for; the system releases it when the process ends, and each child that holds it.
pub struct Lock {
    file: File,
}

impl Lock {
    /// Returns a file for a child's standard input with which the child, too, holds the lock as long as it runs.
    ///
    /// # Errors
    ///
    /// If the process has too many open files.
    pub fn for_child(&self) -> Result<File> {
        self.file.try_clone().map_err(|error| Error::other("cannot hand a lock on").because(error))
    }
}

/// Takes the lock file `path`, which is created if needed. Waits at most until `deadline`.
///
/// # Errors
///
/// [`Kind::Busy`] when the deadline passes, another kind if the file cannot be created; the message names the file.
pub fn lock(path: &Path, deadline: Instant) -> Result<Lock> {
    lock_with(File::try_lock, path, deadline)
}

/// Takes the lock file `path` together with others that call this; [`lock`] waits for all of them.
///
/// # Errors
///
/// As [`lock`].
pub fn lock_shared(path: &Path, deadline: Instant) -> Result<Lock> {
    lock_with(File::try_lock_shared, path, deadline)
}

fn lock_with(
    try_lock: fn(&File) -> std::result::Result<(), std::fs::TryLockError>,
    path: &Path,
    deadline: Instant,
) -> Result<Lock> {
    loop {
        let file = open_own(path, false)?;
        match try_lock(&file) {
            Ok(()) if is_at(&file, path) => return Ok(Lock { file }),
            Err(std::fs::TryLockError::Error(error)) => return Err(Error::io("lock", path, error)),
            // Another process holds it, or who held it has removed it and another one may have made it again.
            Ok(()) | Err(std::fs::TryLockError::WouldBlock) => {}
        }
        if Instant::now() >= deadline {
            return Err(Error::new(Kind::Busy, format!("another process holds the lock '{}'", path.display())));
        }
        super::fault_point("lock-awaited");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Waits until nobody holds the lock file `path`, at most until `deadline`. Returns whether there is such a file.
///
/// # Errors
///
/// [`Kind::Busy`] when the deadline passes.
pub fn wait_for(path: &Path, deadline: Instant) -> Result<bool> {
    let Ok(file) = open_no_link(path) else { return Ok(false) };
    while let Err(std::fs::TryLockError::WouldBlock) = file.try_lock_shared() {
        if Instant::now() >= deadline {
            return Err(Error::new(Kind::Busy, format!("another process holds the lock '{}'", path.display())));
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    Ok(true)
}

/// Opens a file of ours for writing, with the directories above it; they and the file are created if needed.
fn open_own(path: &Path, is_appended_to: bool) -> Result<File> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_dir(directory)?;
    let is_shared = is_shared(directory);
    let options = || {
        let mut options = options(is_shared);
        if is_appended_to {
            options.append(true);
        } else {
            // A lock is nowhere else, and where a link leads is nobody's to make.
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
            options.custom_flags(flags.bits().cast_signed());
        }
        options
    };
    let is = |outcome: &std::io::Result<File>, kind| outcome.as_ref().is_err_and(|error| error.kind() == kind);
    let mut opened = options().open(path);
    if is(&opened, std::io::ErrorKind::NotFound) {
        opened = options().create_new(true).open(path).inspect(|file| hand_over(file, directory));
        // Another process was faster, or it is a link to what is not there.
        if is(&opened, std::io::ErrorKind::AlreadyExists) {
            opened = options().create(true).truncate(false).open(path);
        }
    }
    let regular = opened.and_then(|file| if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) });
    let file = regular.map_err(|error| match error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
        // A named pipe that nobody reads.
        true => Error::io("open", path, not_regular()),
        false => Error::io("open", path, error),
    })?;
    share(&file, is_shared);
    Ok(file)
}

fn not_regular() -> std::io::Error {
    std::io::Error::other("it is not a regular file")
}

/// Returns the owner and the group of a file or directory, if we are root and the owner is not: what we make there
/// would lock the owner out.
fn owner(path: &Path) -> Option<(Option<u32>, Option<u32>)> {
    let metadata = if rustix::process::geteuid().is_root() { path.metadata().ok()? } else { return None };
    (metadata.uid() != 0).then_some((Some(metadata.uid()), Some(metadata.gid())))
}

/// Gives an open file that root has just made to the owner of the directory that it is in, as far as that is permitted.
pub fn hand_over(made: impl AsFd, directory: &Path) {
    if let Some((user, group)) = owner(directory) {
        let _ = fchown(made, user, group);
    }
}

/// Like [`hand_over`], for a path; a symbolic link itself is changed.
pub fn hand_over_path(made: &Path, directory: &Path) {
    if let Some((user, group)) = owner(directory) {
        let _ = lchown(made, user, group);
    }
}

/// Says whether an open file is still the one of this name.
fn is_at(file: &File, path: &Path) -> bool {
    let number = |metadata: std::io::Result<std::fs::Metadata>| metadata.ok().map(|it| (it.dev(), it.ino()));
    number(file.metadata()) == number(path.metadata())
}

/// Says whether a directory belongs to a group that shares the repository: `git init --shared` makes new files in it
/// belong to the group, and lets the group write.
pub fn is_shared(directory: &Path) -> bool {
    directory.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o2020 == 0o2020)
}

/// Returns options that create files for their owner, or for the group of a shared repository. A named pipe does not block.
pub fn options(is_shared: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options.mode(if is_shared { 0o660 } else { 0o600 });
    options
}

/// Lets the group write a file of a shared repository, whatever the umask says. Only its owner can.
pub fn share(file: &File, is_shared: bool) {
    if is_shared {
        let _ = file.set_permissions(Permissions::from_mode(0o660));
    }
}

/// Appends to a file, which is created if needed.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn append(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = open_own(path, true)?;
    file.write_all(bytes).map_err(|error| Error::io("write", path, error))
}

/// Opens a file to append to, which is created if needed.
///
/// # Errors
///
/// As [`append`].
pub fn open_appended(path: &Path) -> Result<File> {
    open_own(path, true)
}

/// Removes a file, if it is there.
///
/// # Errors
///
/// If it is there and cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// Returns when a file was last written, in seconds since the epoch; `None` if there is no such file.
pub fn modified_secs(path: &Path) -> Option<i64> {
    let age = path.metadata().ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(age.as_secs()).ok()
}

/// Creates a directory and its parents, accessible to the group if its parent is, and to nobody else.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn create_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let fail = |error| Error::io("create", path, error);
    let above = path.parent().unwrap_or(Path::new("/"));
    create_dir(above)?;
    match std::fs::create_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        made => made.map_err(fail)?,
    }
    hand_over_path(path, above);
    let mode = if is_shared(above) { 0o2770 } else { 0o700 };
    std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(fail)
}

/// Opens a file for reading that is no symbolic link. A named pipe does not block.
///
/// # Errors
///
/// If it is a symbolic link, or cannot be read.
pub fn open_no_link(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a file of others for reading. A symbolic link is followed.
///
/// # Errors
///
/// If it is no regular file, or cannot be opened.
pub fn open(path: &Path) -> std::io::Result<File> {
    // To open a named pipe without this waits for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Reads a file of at most `max_bytes` that a user or a repository names. A symbolic link is followed.
///
/// # Errors
///
/// If it is no regular file, is larger, or cannot be read.
pub fn read(path: &Path, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    // To open a named pipe without this waits for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    read_open(file, max_bytes)
}

/// Reads a regular file of ours or of Git's, of any size. A named pipe in its place is an error; nothing waits for its writer.
///
/// # Errors
///
/// If it is no regular file, or cannot be read.
pub fn read_whole(path: &Path) -> std::io::Result<Vec<u8>> {
    read(path, u64::MAX)
}

/// As [`read_whole`], for a text; an empty one if it cannot be read or is not UTF-8.
pub fn text(path: &Path) -> String {
    read_whole(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Reads an open file; see [`read`].
///
/// The length that the system tells decides nothing: that of a device is 0, and a file can grow while it is read.
///
/// # Errors
///
/// As [`read`].
pub fn read_open(file: File, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    let mut bytes = Vec::new();
    if metadata.len() <= max_bytes {
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if metadata.len() > max_bytes || bytes.len() as u64 > max_bytes {
        let why = format!("it is too large (at most {max_bytes} bytes)");
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Writes a file in one step: readers see the old one or the new one, never a part.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    put(path, bytes, false)
}

/// Like [`write()`], then syncs to disk.
///
/// # Errors
///
/// As [`write()`].
pub fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    put(path, bytes, true)
}

/// Removes from a directory of ours the files that processes which were killed have not finished. No other process may be
/// writing in it.
pub fn sweep(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn put(path: &Path, bytes: &[u8], is_synced: bool) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_dir(directory)?;
    // tempfile makes files with mode 0600.
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(directory)
        .map_err(|error| Error::io("write", path, error))?;
    hand_over(file.as_file(), directory);
    share(file.as_file(), is_shared(directory));
    file.write_all(bytes).map_err(|error| Error::io("write", path, error))?;
    if is_synced {
        file.as_file().sync_all().map_err(|error| Error::io("write", path, error))?;
    }
    super::fault_point("file-written");
    file.persist(path).map_err(|error| Error::io("write", path, error.error))?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_named_file_is_regular_and_no_larger_than_was_said() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&link, 5).unwrap(), b"12345");
        // A table of prices from /dev/zero took all memory, one from a named pipe waited for ever.
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        for other in [pipe.as_path(), Path::new("/dev/zero"), directory.path()] {
            let error = read(other, 5).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{}", other.display());
        }
        // So did a lock and a log.
        let deadline = Instant::now() + Duration::from_secs(60);
        for error in [lock(&pipe, deadline).map(drop).unwrap_err(), append(&pipe, b"").unwrap_err()] {
            assert_eq!(error.to_string(), format!("cannot open '{}': it is not a regular file", pipe.display()));
        }
        // The length of such a file is reported as 0.
        assert_eq!(read(Path::new("/proc/self/status"), 5).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
