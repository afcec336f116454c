//! Temporary files and directories; in `/tmp` if `TMPDIR` names no directory, as after a `nix-shell` has ended.

use std::fs::File;
use std::io;

use tempfile::TempDir;

/// Makes a file without a name, which is gone once it is closed.
///
/// # Errors
///
/// If neither the directory that `TMPDIR` names nor `/tmp` can be written.
pub fn file() -> io::Result<File> {
    tempfile::tempfile().or_else(|error| tempfile::tempfile_in(ELSEWHERE).map_err(|_| told(&error)))
}

/// Makes a directory, which is removed when what is returned is dropped.
///
/// # Errors
///
/// If neither the directory that `TMPDIR` names nor `/tmp` can be written.
pub fn directory() -> io::Result<TempDir> {
    tempfile::tempdir().or_else(|error| tempfile::tempdir_in(ELSEWHERE).map_err(|_| told(&error)))
}

/// Where every system has a directory for them.
const ELSEWHERE: &str = "/tmp";

/// Tells of the directory that was asked for, since that is what can be mended.
fn told(error: &io::Error) -> io::Error {
    let directory = std::env::temp_dir();
    io::Error::new(error.kind(), format!("nothing can be made in '{}': {error}", directory.display()))
}
