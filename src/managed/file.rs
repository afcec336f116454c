//! Editing a file so that the edit can be taken back byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bstr::{ByteSlice as _, ByteVec as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::disk;
use crate::compare::{DiffOp, steps};
use crate::error::{Error, Result};
use crate::git::private;

const EXCLUDE_MARK: &str = "# git-shiftlog: settings of agents that are private to this clone";

/// The suffix of a file's name while the file is being written.
const UNFINISHED: &str = ".shiftlog-new";
/// The longest name of a file.
pub const MAX_NAME_BYTES: usize = 255;
/// How many names such a file can have.
const MAX_UNFINISHED: usize = 99;

/// How many links are followed that lead to nothing, one after the other.
const MAX_LINKS: usize = 40;

/// The directory that logs of a Salesforce org are fetched into, which is kept out of commits.
pub const APEX_LOGS: &str = "apexlogs";

/// A place where an edited file differs from the original.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Splice {
    /// Where, in bytes of the edited file.
    at: usize,
    /// How many bytes of the edited file go.
    remove: usize,
    /// What comes in their place; base64.
    insert: String,
}

/// Returns what turns `after` back into `before`. Only lines that differ are in it, never the rest of the file.
pub fn splices(before: &[u8], after: &[u8]) -> Vec<Splice> {
    let old: Vec<&[u8]> = before.lines_with_terminator().collect();
    let new: Vec<&[u8]> = after.lines_with_terminator().collect();
    let ends = |lines: &[&[u8]]| {
        lines.iter().scan(0, |end, line| Some(std::mem::replace(end, *end + line.len()))).collect::<Vec<usize>>()
    };
    let (old_starts, new_starts) = (ends(&old), ends(&new));
    let start = |starts: &[usize], index: usize, length: usize| starts.get(index).copied().unwrap_or(length);
    let mut splices = Vec::new();
    for step in steps(&old, &new, None) {
        if let DiffOp::Equal { .. } = step {
            continue;
        }
        let (from, to) = (step.old_range(), step.new_range());
        let at = start(&new_starts, to.start, after.len());
        let original = start(&old_starts, from.start, before.len())..start(&old_starts, from.end, before.len());
        splices.push(Splice {
            at,
            remove: start(&new_starts, to.end, after.len()) - at,
            insert: STANDARD.encode(&before[original]),
        });
    }
    splices
}

/// Applies splices; `None` if they do not fit.
pub fn unsplice(after: &[u8], splices: &[Splice]) -> Option<Vec<u8>> {
    let mut before = Vec::new();
    let mut position = 0;
    for splice in splices {
        before.extend_from_slice(after.get(position..splice.at)?);
        before.extend(STANDARD.decode(&splice.insert).ok()?);
        position = splice.at.checked_add(splice.remove)?;
    }
    before.extend_from_slice(after.get(position..)?);
    Some(before)
}

/// Returns the SHA-256 of a file's bytes, in hex.
pub fn digest(bytes: &[u8]) -> String {
    crate::archive::hex(&Sha256::digest(bytes))
}

/// Reads a file; `None` if there is none. Nothing is opened that is no regular file.
///
/// # Errors
///
/// If it is there but cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match private::read(path, u64::MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// Returns the bytes of a file that may be missing, unreadable or none at all.
pub fn contents(path: &Path) -> Option<Vec<u8>> {
    read(path).ok().flatten()
}

/// Does the same for a text.
pub fn text(path: &Path) -> Option<String> {
    String::from_utf8(contents(path)?).ok()
}

/// Replaces a file or a link in one step: `make` makes the new one under the name of an [`unfinished`] file.
///
/// # Errors
///
/// If it cannot be made. What was there stays then.
pub fn replace(path: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    let unfinished = unfinished(path)?;
    let made = make(&unfinished);
    // What somebody else has made under this name meanwhile is not ours.
    if made.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists) {
        return made;
    }
    let made = made.and_then(|()| fs::rename(&unfinished, path));
    if made.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    made
}

/// Returns the directories that must be made before a file can be written, outermost first.
pub fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let target = target(path);
    let above = target.ancestors().skip(1);
    let mut missing: Vec<PathBuf> = above.take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Returns the file that is written for `path`: where a symbolic link leads, even if nothing is there yet.
pub(super) fn target(path: &Path) -> PathBuf {
    let nearest = path.ancestors().find(|above| disk::is_there(above));
    let is_linked = nearest.is_some_and(|nearest| nearest.is_symlink() && (nearest == path || !nearest.exists()));
    if is_linked { real(path) } else { path.to_owned() }
}

/// Returns where a file really is: symbolic links are followed, also those that lead to nothing yet.
pub fn real(path: &Path) -> PathBuf {
    follow(path, MAX_LINKS)
}

fn follow(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    match path.read_link() {
        Ok(target) if links > 0 => follow(&parent.join(target), links - 1),
        _ => follow(parent, links).join(name),
    }
}

/// Returns the names that a file can have until it is written, in the order in which they are tried.
fn unfinished_names(target: &Path) -> impl Iterator<Item = PathBuf> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let room = MAX_NAME_BYTES - ".-99".len() - UNFINISHED.len();
    // A file system has no room for more.
    let name = if name.len() > room { digest(name.as_bytes()) } else { name.into_owned() };
    (1..=MAX_UNFINISHED).map(move |number| match number {
        1 => target.with_file_name(format!(".{name}{UNFINISHED}")),
        _ => target.with_file_name(format!(".{name}{UNFINISHED}-{number}")),
    })
}

/// Returns the name that a file has until it is written: the first one that nothing has.
///
/// # Errors
///
/// If all are taken.
pub fn unfinished(target: &Path) -> std::io::Result<PathBuf> {
    let free = unfinished_names(target).find(|name| !disk::is_there(name));
    free.ok_or_else(|| std::io::Error::other("each name that it could have until it is written is taken"))
}

/// Returns the candidate names for the unfinished file that already exist, up to the first free one.
pub fn occupied(target: &Path) -> impl Iterator<Item = PathBuf> {
    unfinished_names(target).take_while(|name| disk::is_there(name))
}

/// Removes what a process that was killed had made of a file, or had not removed yet of what it has moved. That has the first
/// name that was not [`occupied`].
///
/// # Errors
///
/// If it is there, and cannot be removed.
pub fn sweep(target: &Path, is_occupied: impl Fn(&Path) -> bool) -> Result<()> {
    let Some(unfinished) = unfinished_names(target).find(|name| !is_occupied(name)) else { return Ok(()) };
    match disk::remove(&unfinished) {
        Err(error) if disk::is_there(&unfinished) => Err(Error::io("remove", &unfinished, error)),
        _ => Ok(()),
    }
}

/// Returns the mode of a new file that is run: what the umask leaves.
pub(super) fn new_executable_mode() -> u32 {
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    0o777 & !umask.as_raw_mode()
}

/// Returns `info/exclude` with a line for `file`, below a remark of ours; those for other files stay.
pub fn add_exclude(text: &[u8], file: &str) -> Vec<u8> {
    let line = format!("{EXCLUDE_MARK}\n/{file}\n");
    let mut after = text.to_vec();
    if text.contains_str(&line) {
        return after;
    }
    if !after.is_empty() && !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    after.push_str(line);
    after
}

/// Returns `info/exclude` without our remarks and the lines below them, which name the files that `is_ours` says.
pub fn remove_exclude(text: &[u8], is_ours: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut lines = text.lines_with_terminator().peekable();
    while let Some(line) = lines.next() {
        if line.trim_end() == EXCLUDE_MARK.as_bytes() {
            // The user may have removed the line, and written another there.
            let file = |line: &&[u8]| {
                line.trim_end().strip_prefix(b"/").and_then(|file| file.to_str().ok().map(str::to_owned))
            };
            lines.next_if(|line| file(line).is_some_and(|file| is_ours(&file)));
        } else {
            kept.extend_from_slice(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_edit_can_be_taken_back_byte_for_byte(before in "([a-c]?\r?\n?){0,12}", after in "([a-c]?\r?\n?){0,12}") {
            let splices = splices(before.as_bytes(), after.as_bytes());
            prop_assert_eq!(unsplice(after.as_bytes(), &splices).expect("fits"), before.into_bytes());
        }
    }

    #[test]
    fn the_exclude_line_comes_once_and_goes() {
        let once = add_exclude(b"*.o\n", ".claude/settings.local.json");
        assert_eq!(add_exclude(&once, ".claude/settings.local.json"), once);
        let both = add_exclude(&once, ".vscode/mcp.json");
        assert!(both.contains_str("/.claude/settings.local.json\n") && both.contains_str("/.vscode/mcp.json\n"));
        assert_eq!(remove_exclude(&both, |_| true), b"*.o\n");
        let edited = both.replace("/.vscode/mcp.json", "mine.txt");
        assert_eq!(remove_exclude(&edited, |file| file.starts_with('.')), b"*.o\nmine.txt\n");
    }
}
