//! Reads files and directories without following symbolic links, and gives them times and permissions.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, DirEntry, FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::git::private;

/// The largest file that is read.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
/// The most files and directories of one tree.
pub const MAX_ENTRIES: usize = 20_000;
/// The deepest directory of a tree.
pub const MAX_DEPTH: usize = 32;

/// What is at a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Node {
    Absent,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    Directory,
    /// A pipe, a socket, a device.
    Other,
}

/// Returns what is at a path. A link is not followed, and a pipe not opened.
///
/// # Errors
///
/// If a file cannot be read, or is too large.
pub fn observe(path: &Path) -> Result<Node> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(Node::Absent);
        }
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let kind = metadata.file_type();
    Ok(if kind.is_symlink() {
        Node::Link(fs::read_link(path).map_err(|error| Error::io("read", path, error))?)
    } else if kind.is_dir() {
        Node::Directory
    } else if kind.is_file() {
        file(path, &metadata, || private::open_no_link(path))?
    } else {
        Node::Other
    })
}

/// Returns a file whose metadata is known.
fn file(path: &Path, metadata: &Metadata, open: impl FnOnce() -> std::io::Result<File>) -> Result<Node> {
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Error::other(format!("'{}' is too large (at most {MAX_FILE_BYTES} bytes)", path.display())));
    }
    let read = open().and_then(|file| read(file, metadata.len()));
    let bytes = read.map_err(|error| Error::io("read", path, error))?;
    Ok(Node::File { bytes, mode: metadata.permissions().mode() & 0o7777 })
}

/// Reads a file whose length is known, so that most files take one call. What somebody appends meanwhile is not read.
fn read(mut file: File, len: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(std::io::Error::other)?];
    let mut end = 0;
    while end < bytes.len() {
        match file.read(&mut bytes[end..]) {
            Ok(0) => break,
            Ok(count) => end += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(end);
    Ok(bytes)
}

/// Says whether something is at a path, be it a link that leads nowhere.
pub fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Says whether a path is a directory and no link to one.
pub fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Says whether two paths lead to the same thing, be it through links.
pub fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Returns what a directory keeps where it is moved and no other has: its inode, which another one can get once it is gone, and
/// when it was made, if the file system knows. `None` if there is no such directory.
pub fn identity(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let made = metadata.created().ok().and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    let made = made.map(|made| format!("-{}", made.as_nanos())).unwrap_or_default();
    Some(format!("{}{made}", metadata.ino()))
}

/// Returns the rest of a path below a directory, which the path may name in another way.
pub fn below(top: &Path, path: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path.strip_prefix(top) {
        return Some(rest.to_owned());
    }
    let above = path.ancestors().skip(1).find(|above| is_same(above, top))?;
    path.strip_prefix(above).ok().map(Path::to_owned)
}

/// Returns where a file is that may be kept elsewhere: where a link leads, else the path itself.
///
/// # Errors
///
/// If it is a link that leads nowhere.
pub fn resolved(path: &Path) -> Result<PathBuf> {
    match fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        true => path.canonicalize().map_err(|error| Error::io("read", path, error)),
        false => Ok(path.to_owned()),
    }
}

/// Returns a path with the symbolic links of its parent directories resolved; missing directories are kept as they are.
/// `None` if a parent is a dangling link.
pub fn real_above(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().skip(1).find(|above| is_there(above))?;
    Some(there.canonicalize().ok()?.join(path.strip_prefix(there).ok()?))
}

/// Reads a text; `None` if there is none. A link to a file is followed.
///
/// # Errors
///
/// If it cannot be read, is too large, or is not UTF-8.
pub fn text(path: &Path) -> Result<Option<String>> {
    let node = match observe(path)? {
        // What a user keeps may be kept elsewhere, file by file.
        Node::Link(_) => observe(&resolved(path)?)?,
        node => node,
    };
    match node {
        Node::Absent => Ok(None),
        Node::File { bytes, .. } => {
            String::from_utf8(bytes).map(Some).map_err(|_| Error::other(format!("'{}' is not UTF-8", path.display())))
        }
        _ => Err(Error::other(format!("'{}' is not a file", path.display()))),
    }
}

/// Returns everything below a directory, by its path relative to it, directories before what is in them.
///
/// # Errors
///
/// If something cannot be read or is no file, directory or link, and if there is too much of it.
pub fn tree(top: &Path) -> Result<BTreeMap<PathBuf, Node>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let here = top.join(&directory);
        let fail = |error: rustix::io::Errno| Error::io("read", &here, error.into());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut listing = Dir::new(rustix::fs::open(&here, flags, Mode::empty()).map_err(fail)?).map_err(fail)?;
        let entries = listing.by_ref().collect::<Result<Vec<_>, _>>().map_err(fail)?;
        for entry in entries.iter().filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b"..")) {
            let path = directory.join(OsStr::from_bytes(entry.file_name().to_bytes()));
            let node = match entry.file_type() {
                // What a file system lists as a directory needs no look of its own.
                FileType::Directory => Node::Directory,
                FileType::RegularFile => observe_listed(&listing, entry, &top.join(&path))?,
                _ => observe(&top.join(&path))?,
            };
            if node == Node::Other || path.to_str().is_none() {
                return Err(Error::other(format!("'{}' cannot be copied", top.join(&path).display())));
            }
            if node == Node::Directory {
                directories.push(path.clone());
            }
            found.insert(path, node);
        }
        if found.len() > MAX_ENTRIES || directory.components().count() > MAX_DEPTH {
            return Err(Error::other(format!("'{}' has too many files", top.display())));
        }
    }
    Ok(found)
}

/// Returns what a directory lists as a file. It is opened from there, so that the system walks its path once.
fn observe_listed(listing: &Dir, entry: &DirEntry, path: &Path) -> Result<Node> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(listing.fd()?, entry.file_name(), flags, Mode::empty());
    // Somebody may have put something else there meanwhile.
    let Ok(opened) = open().map(File::from) else { return observe(path) };
    match opened.metadata() {
        Ok(metadata) if metadata.is_file() => file(path, &metadata, || Ok(opened)),
        _ => observe(path),
    }
}

/// Returns a path below a directory that is not UTF-8, relative to the directory; `None` if there is none.
pub fn odd_name(top: &Path) -> Option<PathBuf> {
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(top.join(&directory)).into_iter().flatten().flatten() {
            let path = directory.join(entry.file_name());
            if path.to_str().is_none() {
                return Some(path);
            }
            if is_directory(&top.join(&path)) && path.components().count() <= MAX_DEPTH {
                directories.push(path);
            }
        }
    }
    None
}

/// When a file was changed last.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Modified {
    pub secs: i64,
    pub nanos: i64,
}

/// Returns when a file or a link was changed last.
pub fn modified(path: &Path) -> Option<Modified> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some(Modified { secs: metadata.mtime(), nanos: metadata.mtime_nsec() })
}

/// Gives a file, a directory or a link the time at which it was changed last. One that cannot be set stays as it is: a time
/// is not worth a failure.
pub fn set_modified(path: &Path, modified: Option<Modified>) {
    let Some(Modified { secs, nanos }) = modified else { return };
    let last_access = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let last_modification = rustix::fs::Timespec { tv_sec: secs, tv_nsec: nanos };
    let times = rustix::fs::Timestamps { last_access, last_modification };
    let _ = rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
}

/// Makes a directory and those above it, each with this mode as far as the umask leaves it. What root makes belongs to the
/// owner of the directory that it is in.
///
/// # Errors
///
/// If it cannot be made.
pub fn make_directories(path: &Path, mode: u32) -> std::io::Result<()> {
    let Some(above) = path.parent().filter(|_| !path.is_dir()) else { return Ok(()) };
    make_directories(above, mode)?;
    match fs::DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.map(|()| private::hand_over_path(path, above)),
    }
}

/// Gives a new file the owner, the group and, on Linux, the extended attributes and the ACL of the file that it replaces;
/// if there is none, the owner and the group of its directory. Does what is permitted. Set permissions after this: a
/// change of the owner clears some of them.
pub fn copy_ownership(file: &fs::File, replaced: &Path) {
    let (Ok(there), Ok(new)) = (fs::symlink_metadata(replaced), file.metadata()) else {
        return private::hand_over(file, replaced.parent().unwrap_or(replaced));
    };
    if (there.uid(), there.gid()) != (new.uid(), new.gid()) {
        let owner = rustix::process::Uid::from_raw(there.uid());
        let group = Some(rustix::process::Gid::from_raw(there.gid()));
        // Only root gives files away; others give them to groups that they are in.
        if rustix::fs::fchown(file, Some(owner), group).is_err() {
            let _ = rustix::fs::fchown(file, None, group);
        }
    }
    #[cfg(target_os = "linux")]
    if there.is_file() {
        copy_attributes(replaced, file);
    }
}

/// Copies extended attributes, as far as that is possible, but for those that are the system's.
#[cfg(target_os = "linux")]
fn copy_attributes(from: &Path, to: &fs::File) {
    /// The longest list, and the longest value, that Linux has.
    const MAX_BYTES: usize = 64 << 10;
    let Ok(from) = private::open_no_link(from) else { return };
    let mut names = vec![0; MAX_BYTES];
    let length = rustix::fs::flistxattr(&from, &mut names[..]).unwrap_or(0);
    let is_copied = |name: &&[u8]| name.starts_with(b"user.") || *name == b"system.posix_acl_access";
    for name in names[..length].split(|byte| *byte == 0).filter(is_copied) {
        let mut value = vec![0; MAX_BYTES];
        if let Ok(length) = rustix::fs::fgetxattr(&from, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(to, name, &value[..length], rustix::fs::XattrFlags::empty());
        }
    }
}

/// Removes a file, a link or a directory of ours with all that is in it, be it in directories that were made read-only.
///
/// # Errors
///
/// If something cannot be removed.
pub fn remove(path: &Path) -> std::io::Result<()> {
    if !is_directory(path) {
        return fs::remove_file(path);
    }
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    let mut directories = vec![path.to_owned()];
    while let Some(directory) = directories.pop() {
        set_mode(&directory, 0o700)?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            directories.extend(entry.file_type()?.is_dir().then(|| entry.path()));
        }
    }
    fs::remove_dir_all(path)
}

/// Gives a file the permissions of a mode.
pub fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
