//! Where agents keep things: home directories, programs, files of sessions.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::Found;

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

/// Says whether an id can be a file name and an argument as it stands.
pub fn is_plain_id(id: &str) -> bool {
    !id.is_empty()
        && !id.starts_with('-')
        && id.len() <= 128
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Says whether a file was written at or after `seconds` (epoch).
pub fn is_written_since(path: &Path, seconds: i64) -> bool {
    let since = UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    path.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|modified| modified >= since)
}

/// Returns a directory with symbolic links resolved, or as it is.
pub fn resolved(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

/// Says whether a session that ran in `cwd` ran in `directory` or below it.
pub fn is_below(cwd: &str, directory: &Path) -> bool {
    resolved(Path::new(cwd)).starts_with(resolved(directory))
}

/// Returns the entries of a directory, sorted; nothing if it cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the files of a directory with this extension as sessions named by their stems.
pub fn sessions(folder: &Path, extension: &str) -> Vec<Found> {
    let is_wanted = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    let found = entries(folder).into_iter().filter(is_wanted);
    found
        .filter_map(|path| Some(Found { session_id: path.file_stem()?.to_str()?.to_owned(), transcript: path }))
        .collect()
}
