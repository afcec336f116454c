//! The paths that a pattern of the manifest names.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use super::Place;
use crate::error::{Error, Result};
use crate::git::has_fault;
use crate::managed::disk;

/// The most entries of directories that all patterns of a store look at.
const MAX_ENTRIES: usize = 200_000;
/// How long they may take.
const MAX_TIME: Duration = Duration::from_secs(5);

/// How much all patterns of a store may look at together: others can have written them.
#[derive(Debug)]
pub struct Budget {
    most: usize,
    left: usize,
    time: Duration,
    deadline: Instant,
    /// Why it was not enough, with the pattern at which that was.
    pub shortage: Option<String>,
}

impl Budget {
    /// Returns the budget of one look at the patterns of a store.
    pub fn new() -> Self {
        Self::of(MAX_ENTRIES, if has_fault("globs-late") { Duration::ZERO } else { MAX_TIME })
    }

    fn of(most: usize, time: Duration) -> Self {
        Budget { most, left: most, time, deadline: Instant::now() + time, shortage: None }
    }

    /// Takes one entry of a directory. Says whether it may be looked at.
    fn take(&mut self) -> bool {
        if self.shortage.is_none() {
            // The clock is not free.
            let is_late = self.left.is_multiple_of(64) && Instant::now() >= self.deadline;
            self.shortage = match self.left.checked_sub(1) {
                None => Some(format!("look at more than {} entries of directories", self.most)),
                Some(_) if is_late => Some(format!("take longer than {} seconds", self.time.as_secs())),
                Some(left) => {
                    self.left = left;
                    None
                }
            };
        }
        self.shortage.is_none()
    }
}

/// Returns the absolute path that a configured one means: `~` is the home, a relative one begins at the base. A path below the
/// base begins with the base, whatever the setting calls that.
pub fn absolute(place: &Place, configured: &str) -> PathBuf {
    let path = match configured.strip_prefix('~') {
        Some("") => place.home.clone(),
        Some(rest) if rest.starts_with('/') => place.home.join(rest.trim_start_matches('/')),
        _ => place.base.join(configured),
    };
    let path = without_dots(&path);
    if path.starts_with(&place.base) {
        return path;
    }
    match disk::below(&place.base, &path) {
        Some(rest) => place.base.join(rest),
        None if disk::is_same(&place.base, &path) => place.base.clone(),
        None => path,
    }
}

/// Returns a path without `.` and `..`.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Says whether a path is a pattern.
pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// Returns the paths that an absolute pattern fits, sorted. If the pattern begins with `start`, that part fits itself alone. `**`
/// fits any number of directories; hidden names are fitted only by patterns that begin with a dot; links to directories are not
/// followed below `**`.
///
/// # Errors
///
/// If the budget is not enough: with a part of the paths, rules would be taken from the others.
pub fn expand(start: &Path, pattern: &Path, budget: &mut Budget) -> Result<Vec<PathBuf>> {
    let below = pattern.strip_prefix(start).unwrap_or(pattern);
    let parts: Vec<String> = below
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    if !walk(if below == pattern { Path::new("/") } else { start }, &parts, budget, &mut found) {
        let pattern = crate::outside::line(&pattern.display().to_string());
        let why = format!("the globs up to '{pattern}' {}", budget.shortage.as_deref().unwrap_or_default());
        return Err(Error::other(why).hint("name fewer places, or with less of '*' and '**'"));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns whether all entries were looked at.
fn walk(here: &Path, parts: &[String], budget: &mut Budget, found: &mut Vec<PathBuf>) -> bool {
    let Some((part, rest)) = parts.split_first() else {
        found.push(here.to_owned());
        return true;
    };
    if !is_pattern(part) {
        let next = here.join(part);
        return next.symlink_metadata().is_err() || walk(&next, rest, budget, found);
    }
    let mut is_whole = part != "**" || walk(here, rest, budget, found);
    for entry in fs::read_dir(here).into_iter().flatten().flatten() {
        if !is_whole || !budget.take() {
            return false;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_hidden = name.starts_with('.');
        if part == "**" {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match is_directory {
                true if !is_hidden => is_whole = walk(&here.join(&name), parts, budget, found),
                false if !is_hidden && rest.is_empty() => found.push(here.join(&name)),
                _ => {}
            }
        } else if (!is_hidden || part.starts_with('.')) && fits(part.as_bytes(), name.as_bytes()) {
            is_whole = walk(&here.join(&name), rest, budget, found);
        }
    }
    is_whole
}

/// Says whether a name fits a pattern of one component.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // Where to go on after the last star: the pattern behind it, and the name from where it may end.
    let (mut p, mut n, mut star) = (0, 0, None);
    loop {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(b'?') if n < name.len() => Some(p + 1),
            Some(b'[') if n < name.len() => class(pattern, p, name[n]),
            Some(byte) if name.get(n) == Some(byte) => Some(p + 1),
            None if n == name.len() => return true,
            _ => None,
        };
        match (step, star) {
            (Some(next), _) => (p, n) = (next, n + 1),
            (None, Some((behind, from))) if from < name.len() => {
                (p, n) = (behind, from + 1);
                star = Some((behind, from + 1));
            }
            _ => return false,
        }
    }
}

/// Returns where the pattern goes on behind a class, if the byte is in it.
fn class(pattern: &[u8], open: usize, byte: u8) -> Option<usize> {
    let is_negated = matches!(pattern.get(open + 1), Some(b'!'));
    let first = open + 1 + usize::from(is_negated);
    let close = (first + 1..pattern.len()).find(|at| pattern[*at] == b']');
    let Some(close) = close else { return (byte == b'[').then_some(open + 1) };
    let (mut at, mut is_in) = (first, false);
    while at < close {
        if at + 2 < close && pattern[at + 1] == b'-' {
            is_in |= (pattern[at]..=pattern[at + 2]).contains(&byte);
            at += 3;
        } else {
            is_in |= pattern[at] == byte;
            at += 1;
        }
    }
    (is_in != is_negated).then_some(close + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("?", "", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[", "[", true),
            ("[]]", "]", true),
            ("*.md", "x.md", true),
            ("*a*b*", "xxaxxbxx", true),
            ("**a", "ba", true),
            ("a?", "a", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
        let many = "a*".repeat(40) + "b";
        assert!(!fits(many.as_bytes(), "a".repeat(5000).as_bytes()));
    }

    #[test]
    fn patterns_find_paths_sorted_and_no_hidden_ones() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().canonicalize().unwrap();
        for path in ["b/AGENTS.md", "a/AGENTS.md", "a/x/AGENTS.md", ".h/AGENTS.md"] {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(&top, top.join("a/loop")).unwrap();
        let found = |pattern: &str| -> Vec<String> {
            expand(&top, &top.join(pattern), &mut Budget::new())
                .unwrap()
                .iter()
                .map(|path| path.strip_prefix(&top).unwrap().display().to_string())
                .collect()
        };
        assert_eq!(found("*/AGENTS.md"), ["a/AGENTS.md", "b/AGENTS.md"]);
        assert_eq!(found("**/AGENTS.md"), ["a/AGENTS.md", "a/x/AGENTS.md", "b/AGENTS.md"]);
        assert_eq!(found("[ab]"), ["a", "b"]);
        assert!(found("nosuch/*").is_empty());
        let pattern = top.join("**/AGENTS.md");
        let within = |budget: &mut Budget| expand(Path::new("/"), &pattern, budget).map_err(|error| error.to_string());
        let mut budget = Budget::of(50, MAX_TIME);
        within(&mut budget).unwrap();
        let expected = |why: &str| Err(format!("the globs up to '{}' {why}", pattern.display()));
        let later: Vec<_> = (0..50).map(|_| within(&mut budget)).collect();
        let why = "look at more than 50 entries of directories";
        assert_eq!(later.last(), Some(&expected(why)), "all patterns have one budget");
        assert_eq!(within(&mut Budget::of(64, Duration::ZERO)), expected("take longer than 0 seconds"));
    }
}
