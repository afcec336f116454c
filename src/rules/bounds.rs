//! Bounds of configured paths. Others can set them, over MCP or in a repository, and each command looks at all of them.

use std::path::Path;

use crate::error::{Error, Result};
use crate::managed::file::MAX_NAME_BYTES;

/// The most paths of one setting.
const MAX_PATHS: usize = 1000;
/// The most directories of a path.
const MAX_DIRECTORIES: usize = 64;
/// The longest path, which leaves room for the home and the name of a file.
const MAX_PATH_BYTES: usize = 2048;
/// How much of a path that is refused is shown.
const MAX_SHOWN: usize = 60;

/// Fails if a setting has too many paths, or one that no file can have or that takes too long to look at.
///
/// # Errors
///
/// Says which path it is, and why.
pub fn check_paths(paths: &[String]) -> Result<()> {
    if paths.len() > MAX_PATHS {
        return Err(Error::other(format!("these are {} paths, and at most {MAX_PATHS} can be set", paths.len())));
    }
    paths.iter().try_for_each(|path| check_path(path))
}

/// Fails if a configured path is one that no file can have, or that takes too long to look at.
///
/// # Errors
///
/// Says why.
pub fn check_path(configured: &str) -> Result<()> {
    let parts = || Path::new(configured).components();
    let longest = parts().map(|part| part.as_os_str().len()).max().unwrap_or_default();
    let why = if configured.len() > MAX_PATH_BYTES {
        format!("it is longer than {MAX_PATH_BYTES} bytes")
    } else if longest > MAX_NAME_BYTES {
        format!("a name in it is longer than {MAX_NAME_BYTES} bytes")
    } else if parts().count() > MAX_DIRECTORIES {
        format!("it has more than {MAX_DIRECTORIES} directories")
    } else {
        return Ok(());
    };
    let start: String = crate::outside::line(configured).chars().take(MAX_SHOWN).collect();
    Err(Error::other(format!("the path that begins with '{start}' cannot be used: {why}")))
}
