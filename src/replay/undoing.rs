//! Commands that take back what was edited: `git checkout -- <file>`, `git restore <file>`, `git reset --hard`, `rm
//! <file>`.
//!
//! Where it is not known what a command takes back, it is taken to be more: an edit that may have been undone is no
//! proof of who wrote a line.

use super::paths::{is_within, plain};
use crate::transcript::shell::commands_in;

/// The edits that a command takes back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Undoing {
    /// All edits in the repository that has this directory, or one that is not known.
    All(Option<String>),
    /// The edits of this path, and of all that is below it.
    Below(String),
    /// The edits of this file.
    File(String),
}

impl Undoing {
    /// Returns the edits that a command line takes back. `directory` is where it was run, if that is known.
    pub fn of(line: &str, directory: Option<&str>) -> Vec<Undoing> {
        // Most command lines have nothing to do with it.
        if !["checkout", "restore", "reset", "switch", "rm"].iter().any(|word| line.contains(word)) {
            return Vec::new();
        }
        let mut directory = directory.map(str::to_owned);
        let mut found = Vec::new();
        for words in commands_in(line) {
            let Some((program, args)) = words.split_first() else { continue };
            match program.rsplit('/').next().unwrap_or_default() {
                "cd" | "pushd" => directory = args.first().map(|to| joined(directory.as_deref(), to)).or(directory),
                "git" => found.extend(of_git(args, directory.as_deref())),
                "rm" => found.extend(below(paths_in(args), directory.as_deref())),
                _ => {}
            }
        }
        found
    }

    /// Says whether an edit of a path is taken back that a session made which ran in `directory`. `is_here` says whether a
    /// path is in this working tree.
    pub fn takes_back(&self, edited: &str, directory: Option<&str>, is_here: impl Fn(&str) -> bool) -> bool {
        let edited = joined(directory, edited);
        let is_same = |path: &str| match (path.starts_with('/'), edited.starts_with('/')) {
            (false, true) => edited.strip_suffix(path).is_some_and(|front| front.ends_with('/')),
            (true, false) => path.strip_suffix(&*edited).is_some_and(|front| front.ends_with('/')),
            _ => path == edited,
        };
        match self {
            Undoing::All(Some(within)) if within.starts_with('/') && edited.starts_with('/') => {
                is_within(&edited, within) || (is_here(within) && is_here(&edited))
            }
            Undoing::All(_) => true,
            Undoing::File(path) => is_same(path),
            // Where one of the two directories is not known, all may be below the other.
            Undoing::Below(path) if path.is_empty() || path == "." => true,
            Undoing::Below(path) => {
                let is_around = match (path.starts_with('/'), edited.starts_with('/')) {
                    (false, true) => edited.contains(&format!("/{path}/")),
                    (true, false) => false,
                    _ => is_within(&edited, path),
                };
                is_same(path) || is_around
            }
        }
    }
}

/// Returns the edits that a `git` command takes back.
fn of_git(args: &[String], directory: Option<&str>) -> Vec<Undoing> {
    let mut directory = directory.map(str::to_owned);
    let mut args = args.iter();
    let command = loop {
        match args.next().map(String::as_str) {
            Some("-C") => directory = args.next().map(|to| joined(directory.as_deref(), to)),
            Some("-c" | "--git-dir" | "--work-tree" | "--namespace") => drop(args.next()),
            Some(option) if option.starts_with('-') => {}
            Some(command) => break command,
            None => return Vec::new(),
        }
    };
    let (args, directory) = (args.as_slice(), directory.as_deref());
    let has_option = |letter: char, names: &[&str]| {
        let mut options = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.strip_prefix('-'));
        options.any(|option| match option.strip_prefix('-') {
            Some(name) => names.contains(&name),
            None => option.contains(letter),
        })
    };
    let all = || vec![Undoing::All(directory.map(str::to_owned))];
    match command {
        "checkout" if args.iter().any(|arg| arg == "--") => {
            below(args.iter().skip_while(|arg| *arg != "--").skip(1).map(String::as_str), directory)
        }
        "checkout" | "switch" if has_option('f', &["force", "discard-changes"]) => all(),
        // What follows may be branches.
        "checkout" => {
            let found = below(paths_in(args), directory).into_iter().zip(paths_in(args));
            let file = |(undoing, path): (Undoing, &str)| match undoing {
                Undoing::Below(file) if !path.trim_end_matches('/').ends_with('.') => Undoing::File(file),
                undoing => undoing,
            };
            found.map(file).collect()
        }
        "restore" if has_option('S', &["staged"]) && !has_option('W', &["worktree"]) => Vec::new(),
        "restore" => below(paths_in(args), directory),
        "rm" if !has_option('n', &["cached", "dry-run"]) => below(paths_in(args), directory),
        "reset" if has_option('\0', &["hard"]) => all(),
        _ => Vec::new(),
    }
}

/// Returns the words that are no options.
fn paths_in(args: &[String]) -> impl Iterator<Item = &str> {
    let mut is_over = false;
    args.iter().map(String::as_str).filter(move |arg| {
        let is_path = is_over || !arg.starts_with('-');
        is_over |= *arg == "--";
        is_path
    })
}

/// Returns that the edits of some paths, and of all below them, are taken back.
fn below<'p>(paths: impl Iterator<Item = &'p str>, directory: Option<&str>) -> Vec<Undoing> {
    let one = |path: &str| {
        // A pathspec with magic, or what the shell puts there.
        if path.starts_with(':') || path.contains(['$', '`']) {
            return Undoing::All(directory.map(str::to_owned));
        }
        let known =
            path.find(['*', '?', '[', '{']).map_or(path, |at| &path[..path[..at].rfind('/').map_or(0, |end| end + 1)]);
        let is_any = known.is_empty() && !path.is_empty();
        Undoing::Below(joined(directory, if is_any { "." } else { known }))
    };
    paths.map(one).collect()
}

/// Returns a path as seen from a directory.
fn joined(directory: Option<&str>, path: &str) -> String {
    let path = path.trim_end_matches('/');
    let whole = match directory {
        Some(directory) if !path.starts_with(['/', '~']) => {
            plain(&format!("{}/{path}", directory.trim_end_matches('/')))
        }
        _ => plain(path),
    };
    whole.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes_back(command: &str, edited: &str, directory: Option<&str>) -> bool {
        let is_here = |path: &str| is_within(path, "/repo");
        Undoing::of(command, directory).iter().any(|undoing| undoing.takes_back(edited, directory, is_here))
    }

    #[test]
    fn a_command_takes_back_the_edits_of_what_it_names() {
        for command in [
            "git checkout -- src/a.rs",
            "git checkout HEAD~1 -- src/a.rs",
            "git checkout src/a.rs",
            "git checkout .",
            "git checkout -- .",
            "git checkout -- 'src/*.rs'",
            "git checkout -- '*.rs'",
            "git checkout -- :/",
            "git restore src/",
            "git restore --source=HEAD -SW src/a.rs",
            "git restore --source HEAD~2 ./src/../src/a.rs",
            "cd src && git restore a.rs",
            "cd /repo/src; git checkout -- a.rs",
            "git -C src checkout -- a.rs",
            "git -C /repo -c x.y=z checkout -q -- src/a.rs",
            "bash -lc 'make || git checkout -- src/a.rs'",
            "git reset -q --hard HEAD",
            "git checkout -qf main",
            "git switch --discard-changes main",
            "for f in src/*.rs; do git checkout -- $f; done",
            "rm -f src/a.rs",
            "git rm -q src/a.rs",
        ] {
            assert!(takes_back(command, "/repo/src/a.rs", Some("/repo")), "{command}");
            assert!(takes_back(command, "src/a.rs", Some("/repo")), "{command}");
            let is_absolute = command.contains("/repo");
            assert!(is_absolute || takes_back(command, "src/a.rs", None), "{command}");
        }
        assert!(takes_back("git checkout -- a.rs", "/repo/src/a.rs", None), "the directory is not known");
        assert!(takes_back("git reset --hard", "/repo/src/a.rs", Some("/repo/docs")));
    }

    #[test]
    fn other_commands_and_other_files_are_left_alone() {
        for command in [
            "git checkout main",
            "git checkout -b src",
            "git checkout src",
            "git checkout -- src/b.rs src/a.rs.orig",
            "git checkout -- docs/",
            "git restore --staged src/a.rs",
            "git restore -S src/a.rs",
            "git reset HEAD src/a.rs",
            "git rm --cached src/a.rs",
            "git switch main",
            "cd /elsewhere && git checkout -- src/a.rs",
            "cd /elsewhere && git reset --hard",
            "git -C ../other checkout -- .",
            "echo 'git checkout -- src/a.rs'",
            "git diff -- src/a.rs",
            "rm -rf target",
        ] {
            assert!(!takes_back(command, "/repo/src/a.rs", Some("/repo")), "{command}");
        }
    }
}
