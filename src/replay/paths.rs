//! Whether a path in a transcript is a path of the repository.

use std::cell::RefCell;
use std::collections::HashMap;

/// Compares paths in transcripts, which are usually absolute and may be those of another machine or worktree, with the
/// files of a commit.
pub struct Places<'a> {
    /// The top of the working tree.
    top: Option<&'a str>,
    /// Says whether the commit, or the one before it, has a file at a path from the top.
    has_file: Box<dyn Fn(&str) -> bool + 'a>,
    known: RefCell<HashMap<String, Option<String>>>,
}

/// The directories that a session works in, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Home<'t> {
    /// The directory that it ran in.
    pub directory: Option<&'t str>,
    /// Whether it works below the top of this working tree.
    pub is_local: bool,
}

impl Home<'_> {
    /// Says whether a directory may be the top of what the session works on: the directory that it ran in, or one above or
    /// below that.
    fn may_be_top(&self, top: &str) -> bool {
        let Some(directory) = self.directory.map(|directory| directory.trim_end_matches('/')) else { return true };
        // The root directory is above all others.
        if top.is_empty() { directory.is_empty() } else { is_within(directory, top) || is_within(top, directory) }
    }
}

impl<'a> Places<'a> {
    /// Returns the places of a commit.
    pub fn new(top: Option<&'a str>, has_file: impl Fn(&str) -> bool + 'a) -> Self {
        Places { top, has_file: Box::new(has_file), known: RefCell::new(HashMap::new()) }
    }

    /// Says whether a path is the top of this working tree or below it.
    pub fn is_here(&self, named: &str) -> bool {
        self.top.is_some_and(|top| is_within(named, top))
    }

    /// Says whether `named` in a transcript is `path`, which is relative to the top.
    ///
    /// Below the top of this working tree a path is what follows the top. Elsewhere it is the longest end that the
    /// commit has a file at, if what is before it may be the top of what the session works on. A session that works in
    /// this working tree works nowhere else. A relative path is relative to the directory that the session ran in;
    /// where that is not known, or has no such file, it may be relative to any directory below the top.
    pub fn is_at(&self, named: &str, path: &str, home: Home<'_>) -> bool {
        if let Some(resolved) = self.resolved(named, home)
            && (resolved == path || (self.has_file)(&resolved))
        {
            return resolved == path;
        }
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
        let top = named.strip_suffix(path).and_then(|front| front.strip_suffix('/'));
        let may_be_top = below_top.is_some() || (!home.is_local && top.is_some_and(|top| home.may_be_top(top)));
        below_top == Some(path) || (may_be_top && self.place_of(&named).as_deref() == Some(path))
    }

    /// Returns the path from the top that a relative path has in the directory of a session, if that is in this working
    /// tree.
    fn resolved(&self, named: &str, home: Home<'_>) -> Option<String> {
        let directory = home.directory.filter(|_| !named.starts_with('/'))?;
        let below = self.top.and_then(|top| directory.strip_prefix(top))?;
        let below = if below.is_empty() { below } else { below.strip_prefix('/')? };
        let resolved = plain(&format!("{}/{named}", below.trim_end_matches('/')));
        let resolved = resolved.trim_start_matches('/');
        let is_inside = !resolved.is_empty() && !resolved.split('/').any(|part| part == "..");
        is_inside.then(|| resolved.to_owned())
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

/// Says whether a path is a directory or below it.
pub(super) fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a path without `.` and `..`.
pub(super) fn plain(path: &str) -> String {
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
        let anywhere = Home::default();
        let here = Home { is_local: true, ..anywhere };
        assert!(places.is_at("/repo/src/a.rs", "src/a.rs", anywhere));
        assert!(places.is_at("/repo/new.rs", "new.rs", anywhere), "what is below the top needs not be there");
        assert!(places.is_at("/home/else/work/src/a.rs", "src/a.rs", anywhere));
        assert!(!places.is_at("/home/else/work/vendor/src/a.rs", "src/a.rs", anywhere));
        assert!(places.is_at("/repo/.worktrees/x/src/a.rs", "src/a.rs", anywhere), "a worktree within another");
        assert!(places.is_at("./src/../b.rs", "b.rs", anywhere) && places.is_at("a.rs", "src/a.rs", anywhere));
        assert!(!places.is_at("b.rs", "src/b.rs", anywhere), "there is a file of that name");
        assert!(!places.is_at("../../x/b.rs", "b.rs", anywhere) && !places.is_at("/etc/xb.rs", "b.rs", anywhere));
        assert!(!places.is_at("/home/else/work/src/a.rs", "src/a.rs", here), "elsewhere on this machine");
        assert!(places.is_at("/repo/.worktrees/x/src/a.rs", "src/a.rs", here));
        assert!(!places.is_at("", "b.rs", anywhere) && !places.is_at("/", "b.rs", anywhere));
    }

    #[test]
    fn a_relative_path_is_that_of_the_directory_that_the_session_ran_in() {
        let files = ["pkg/a/src/m.py", "pkg/b/src/m.py", "src/n.py"];
        let places = Places::new(Some("/repo"), |path| files.contains(&path));
        let is_at = |named: &str, path: &str, directory: &str| {
            places.is_at(named, path, Home { directory: Some(directory), is_local: true })
        };
        assert!(is_at("src/m.py", "pkg/b/src/m.py", "/repo/pkg/b"));
        assert!(!is_at("src/m.py", "pkg/a/src/m.py", "/repo/pkg/b"));
        assert!(is_at("../a/src/m.py", "pkg/a/src/m.py", "/repo/pkg/b/"));
        assert!(!is_at("../a/src/m.py", "pkg/b/src/m.py", "/repo/pkg/b/"));
        assert!(is_at("src/new.py", "pkg/b/src/new.py", "/repo/pkg/b"), "no commit has it yet");
        assert!(is_at("n.py", "src/n.py", "/repo/pkg/b"), "there is no such file: it is guessed");
        assert!(is_at("src/m.py", "pkg/a/src/m.py", "/elsewhere"), "that directory says nothing");
        assert!(is_at("./src/n.py", "src/n.py", "/repo") && !is_at("../../../src/n.py", "src/n.py", "/repo/pkg/b"));
    }

    #[test]
    fn a_session_works_around_the_directory_that_it_ran_in() {
        let places = Places::new(Some("/repo"), |path| path == "src/a.rs");
        let is_at = |named: &str, directory: &str| {
            let home = Home { directory: Some(directory), is_local: false };
            places.is_at(named, "src/a.rs", home)
        };
        assert!(is_at("/srv/src/a.rs", "/srv"));
        assert!(is_at("/srv/src/a.rs", "/srv/src/deep/"), "it ran below the top");
        assert!(is_at("/srv/.worktrees/x/src/a.rs", "/srv"), "it ran above the top");
        assert!(!is_at("/tmp/other/src/a.rs", "/srv") && !is_at("/srvs/src/a.rs", "/srv"));
        assert!(!is_at("/src/a.rs", "/srv"), "all directories are below the root");
        assert!(is_at("/src/a.rs", "/"));
        assert!(is_at("/repo/src/a.rs", "/srv"), "this is the working tree");
    }
}
