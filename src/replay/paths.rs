//! Whether a path in a transcript is a path of the repository.

use std::cell::RefCell;
use std::collections::HashMap;

/// Tells the paths of transcripts, which are usually absolute and may be those of another machine or worktree, by what
/// there is in a commit.
pub struct Places<'a> {
    /// The top of the working tree.
    top: Option<&'a str>,
    /// Says whether the commit, or the one before it, has a file at a path from the top.
    has_file: Box<dyn Fn(&str) -> bool + 'a>,
    known: RefCell<HashMap<String, Option<String>>>,
}

impl<'a> Places<'a> {
    /// Makes one for a commit.
    pub fn new(top: Option<&'a str>, has_file: impl Fn(&str) -> bool + 'a) -> Self {
        Places { top, has_file: Box::new(has_file), known: RefCell::new(HashMap::new()) }
    }

    /// Says whether a path is below the top of this working tree.
    pub fn is_below_top(&self, named: &str) -> bool {
        self.top.is_some_and(|top| named.strip_prefix(top).is_some_and(|rest| rest.starts_with('/')))
    }

    /// Says whether `named` in a transcript is `path`, which is relative to the top.
    ///
    /// Below the top of this working tree a path is what follows the top. Elsewhere it is the longest end that the commit
    /// has a file at, unless the session `is_local`: it also works below the top, so that elsewhere is elsewhere. A relative
    /// path may be relative to a directory below the top.
    pub fn is_at(&self, named: &str, path: &str, is_local: bool) -> bool {
        let named = plain(named);
        let leads_out = named.split('/').any(|part| part == "..");
        if path.is_empty() || !named.ends_with(last(path)) || leads_out {
            return false;
        }
        if !named.starts_with('/') {
            let is_below = || path.strip_suffix(&*named).is_some_and(|front| front.ends_with('/'));
            return named == path || (!(self.has_file)(&named) && is_below());
        }
        let below_top = self.top.and_then(|top| named.strip_prefix(top)?.strip_prefix('/'));
        let may_be_elsewhere = below_top.is_some() || !is_local;
        below_top == Some(path) || (may_be_elsewhere && self.place_of(&named).as_deref() == Some(path))
    }

    /// Returns the longest end of an absolute path that the commit has a file at.
    fn place_of(&self, named: &str) -> Option<String> {
        if let Some(known) = self.known.borrow().get(named) {
            return known.clone();
        }
        let below_top = self.top.and_then(|top| named.strip_prefix(top)?.strip_prefix('/'));
        let ends = below_top.unwrap_or(named).match_indices('/').map(|(at, _)| at + 1);
        let base = below_top.unwrap_or(named);
        let whole = below_top.map(|_| 0);
        let mut ends = whole.into_iter().chain(ends).map(|at| &base[at..]);
        let found = ends.find(|end| (self.has_file)(end)).map(str::to_owned);
        self.known.borrow_mut().insert(named.to_owned(), found.clone());
        found
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a path without `.` and `..`.
fn plain(path: &str) -> String {
    if !path.split('/').any(|part| matches!(part, "." | "..")) {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            // What leads out of where it begins stays as it is, and is no path of ours.
            ".." if parts.last().is_some_and(|part| !matches!(*part, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_elsewhere_is_its_longest_end_that_is_there() {
        let files = ["src/a.rs", "vendor/src/a.rs", "b.rs"];
        let places = Places::new(Some("/repo"), |path| files.contains(&path));
        assert!(places.is_at("/repo/src/a.rs", "src/a.rs", false));
        assert!(places.is_at("/repo/new.rs", "new.rs", false), "what is below the top needs not be there");
        assert!(places.is_at("/home/else/work/src/a.rs", "src/a.rs", false));
        assert!(!places.is_at("/home/else/work/vendor/src/a.rs", "src/a.rs", false));
        assert!(places.is_at("/repo/.worktrees/x/src/a.rs", "src/a.rs", false), "a worktree within another");
        assert!(places.is_at("./src/../b.rs", "b.rs", false) && places.is_at("a.rs", "src/a.rs", false));
        assert!(!places.is_at("b.rs", "src/b.rs", false), "there is a file of that name");
        assert!(!places.is_at("../../x/b.rs", "b.rs", false) && !places.is_at("/etc/xb.rs", "b.rs", false));
        assert!(!places.is_at("/home/else/work/src/a.rs", "src/a.rs", true), "elsewhere on this machine");
        assert!(places.is_at("/repo/.worktrees/x/src/a.rs", "src/a.rs", true));
        assert!(!places.is_at("", "b.rs", false) && !places.is_at("/", "b.rs", false));
    }
}
