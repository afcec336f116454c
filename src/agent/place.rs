//! The places where agents keep their files: home directories, programs, files of sessions.

use std::ffi::{CStr, OsStr};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags};

use crate::git::private;
use crate::outside;

/// A transcript found in the agent's own store.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundTranscript {
    /// The session's id.
    pub session_id: String,
    /// Where its transcript is; see [`super::Agent::read`].
    pub transcript: PathBuf,
}

/// Returns the user's home directory.
pub fn home() -> Option<PathBuf> {
    variable("HOME")
}

/// Returns the path that an environment variable holds, unless it is empty.
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns a directory below the home directory, or the one that an environment variable names in its place.
pub fn root(name: &str, below_home: &str) -> Option<PathBuf> {
    variable(name).or_else(|| Some(home()?.join(below_home)))
}

/// Returns the directory for data of this user: `$XDG_DATA_HOME`, else `~/.local/share`.
pub fn data() -> Option<PathBuf> {
    root("XDG_DATA_HOME", ".local/share")
}

/// Returns the directory for configuration of this user: `$XDG_CONFIG_HOME`, else `~/.config`.
pub fn config() -> Option<PathBuf> {
    root("XDG_CONFIG_HOME", ".config")
}

/// Says whether a program is on `PATH` or in `~/.local/bin`.
pub fn has_program(name: &str) -> bool {
    let on_path = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.is_absolute() && dir.join(name).is_file()));
    on_path || home().is_some_and(|home| home.join(".local/bin").join(name).is_file())
}

/// Says whether a file was written at or after `seconds` (epoch).
pub fn is_written_since(path: &Path, seconds: i64) -> bool {
    rustix::fs::stat(path).is_ok_and(|file| file.st_mtime >= seconds)
}

/// Returns a directory with symbolic links resolved, or as it is.
pub fn resolved(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

/// Says whether a session that ran in `cwd` ran in `directory` or below it.
pub fn is_below(cwd: &str, directory: &Path) -> bool {
    resolved(Path::new(cwd)).starts_with(resolved(directory))
}

/// Returns the files and directories in a directory, sorted; nothing if it cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    entries_that(folder, |_| true)
}

/// Returns the files and directories in a directory that were written at or after `seconds` (epoch) and whose names are wanted, sorted.
///
/// Thousands of old sessions cost a hook a look at each file's time and no more: paths are made, sorted and read only for
/// those that are recent.
pub fn recent_entries(folder: &Path, seconds: i64, is_wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(directory) = rustix::fs::open(folder, flags, Mode::empty()) else { return Vec::new() };
    let Ok(entries) = Dir::read_from(&directory) else { return Vec::new() };
    let is_written = |name: &CStr| {
        let file = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            // The entry's own time is that of the link.
            Ok(file) if FileType::from_raw_mode(file.st_mode).is_symlink() => {
                rustix::fs::statat(&directory, name, AtFlags::empty())
            }
            file => file,
        };
        let can_be_read = |mode| matches!(FileType::from_raw_mode(mode), FileType::RegularFile | FileType::Directory);
        file.is_ok_and(|file| file.st_mtime >= seconds && can_be_read(file.st_mode))
    };
    let path_of = |entry: DirEntry| {
        let name = Path::new(OsStr::from_bytes(entry.file_name().to_bytes()));
        let is_itself = entry.file_name() == c"." || entry.file_name() == c"..";
        (!is_itself && is_wanted(name) && is_written(entry.file_name())).then(|| folder.join(name))
    };
    let mut paths: Vec<PathBuf> = entries.flatten().filter_map(path_of).collect();
    paths.sort();
    paths
}

fn entries_that(folder: &Path, is_wanted: impl Fn(&std::fs::DirEntry) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let can_be_read = |entry: &std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_symlink() => entry.path().metadata().map_or(true, |end| end.is_file() || end.is_dir()),
        Ok(kind) => kind.is_file() || kind.is_dir(),
        Err(_) => true,
    };
    let wanted = entries.filter(|entry| is_wanted(entry) && can_be_read(entry));
    let mut paths: Vec<PathBuf> = wanted.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Reads a file of an agent's.
///
/// # Errors
///
/// If it is no regular file, or cannot be read. A named pipe is not waited for.
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    private::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file of an agent's as text.
///
/// # Errors
///
/// As [`read`]; and if it is not UTF-8.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    private::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the files of a directory with this extension as sessions named by their stems.
pub fn sessions(folder: &Path, extension: &str) -> Vec<FoundTranscript> {
    sessions_named(folder, "", extension)
}

/// Returns those of [`sessions`] whose ids begin with `beginning`.
pub fn sessions_named(folder: &Path, beginning: &str, extension: &str) -> Vec<FoundTranscript> {
    by_stem(entries_that(folder, |entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(beginning.as_bytes()) && has_extension(Path::new(&name), extension)
    }))
}

/// Returns those of [`sessions`] whose files were written at or after `seconds` (epoch).
pub fn recent_sessions(folder: &Path, extension: &str, seconds: i64) -> Vec<FoundTranscript> {
    by_stem(recent_entries(folder, seconds, |name| has_extension(name, extension)))
}

fn by_stem(paths: Vec<PathBuf>) -> Vec<FoundTranscript> {
    let found =
        |path: PathBuf| Some(FoundTranscript { session_id: path.file_stem()?.to_str()?.to_owned(), transcript: path });
    paths.into_iter().filter_map(found).collect()
}

fn has_extension(name: &Path, extension: &str) -> bool {
    name.extension().is_some_and(|found| found == extension)
}

/// Returns the absolute path that a `file:` address names, with its percent codes as the bytes they stand for.
pub fn path_of_uri(uri: &str) -> Option<String> {
    outside::decoded(uri.strip_prefix("file://")?).filter(|path| path.starts_with('/'))
}

/// Returns the path in a text: a `file:` address as [`path_of_uri`] reads it, or a path as it stands.
pub fn path_or_uri(text: &str) -> String {
    path_of_uri(text).unwrap_or_else(|| text.strip_prefix("file://").unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
    fn recent_entries_are_those_whose_files_were_written_lately_also_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - Duration::from_secs(1000);
        for name in ["new.jsonl", "old.jsonl", "new.txt"] {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            if name.starts_with("old") {
                file.set_modified(old).unwrap();
            }
        }
        std::os::unix::fs::symlink("old.jsonl", dir.path().join("a-link-to-old.jsonl")).unwrap();
        std::os::unix::fs::symlink("new.jsonl", dir.path().join("b-link-to-new.jsonl")).unwrap();
        let since = old.duration_since(UNIX_EPOCH).unwrap().as_secs() + 500;
        let found = recent_sessions(dir.path(), "jsonl", i64::try_from(since).unwrap());
        let names: Vec<&str> = found.iter().map(|found| found.session_id.as_str()).collect();
        assert_eq!(names, ["b-link-to-new", "new"]);
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
    fn a_pipe_is_no_session_and_neither_is_a_link_to_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe.jsonl"), Mode::RUSR | Mode::WUSR).unwrap();
        std::os::unix::fs::symlink("pipe.jsonl", path("link.jsonl")).unwrap();
        std::fs::write(path("file.jsonl"), "{}").unwrap();
        for found in [sessions(dir.path(), "jsonl"), recent_sessions(dir.path(), "jsonl", 0)] {
            let names: Vec<&str> = found.iter().map(|found| found.session_id.as_str()).collect();
            assert_eq!(names, ["file"]);
        }
    }

    #[test]
    fn a_path_is_read_from_its_address() {
        assert_eq!(path_of_uri("file:///home/dev/demo%20app").as_deref(), Some("/home/dev/demo app"));
        assert_eq!(path_of_uri("file:///home/%D0%B4%D0%BE%D0%BC").as_deref(), Some("/home/дом"));
        assert_eq!(path_of_uri("file:///100%/%zz%").as_deref(), Some("/100%/%zz%"), "what is no code stays");
        assert_eq!(path_of_uri("file:///%ff"), None, "no text");
    }
}
