//! `git shiftlog`: finds the command that was named and runs it.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::ALL;
use crate::cli::{self, Outcome};
use crate::error::{Error, Kind, Result};

/// Other words for commands.
const ALIASES: &[(&str, &str)] =
    &[("list", "log"), ("mcp-server", "mcp"), ("summarize", "summarise"), ("tldr", "summarise")];

/// Runs `git-shiftlog [<command> [<args>]]`, or the command by whose name this program was called: a link
/// `git-shiftlog-show` to it serves as well as the program of that name.
pub fn run() -> ExitCode {
    let mut args = std::env::args_os();
    if let Some(name) = args.next().as_deref().and_then(called_as) {
        return execute(&name, args.collect());
    }
    let Some(first) = args.next() else {
        return cli::finish(print_usage().map(|()| Outcome::No));
    };
    match first.to_string_lossy().as_ref() {
        "-h" => cli::finish(print_usage().map(|()| Outcome::Done)),
        "--help" | "help" => {
            let page = args.next().map_or_else(|| "git-shiftlog".into(), |name| page_name(&name));
            cli::finish(cli::show_page(&page).map(|()| Outcome::Done))
        }
        "--version" | "-v" | "version" => {
            let version = format!("git-shiftlog version {}\n", env!("CARGO_PKG_VERSION"));
            cli::finish(cli::print(&version).map(|()| Outcome::Done))
        }
        option if option.starts_with('-') => {
            cli::finish(Err(Error::new(Kind::Usage, format!("unknown option '{option}'"))
                .hint("'git shiftlog -h' lists the commands")))
        }
        name => execute(name, args.collect()),
    }
}

/// Returns the command that a link to this program is named after.
fn called_as(program: &OsStr) -> Option<String> {
    let name = command_name(Path::new(program).file_stem()?.to_str()?.strip_prefix("git-shiftlog-")?);
    ALL.iter().any(|command| command.name == name).then(|| name.to_owned())
}

fn page_name(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    if name.starts_with("git") { name.into_owned() } else { format!("git-shiftlog-{}", command_name(&name)) }
}

/// Returns what a command is called that goes by another word too.
fn command_name(word: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |(_, name)| name)
}

fn print_usage() -> Result<()> {
    let mut text = String::from("usage: git shiftlog [-h] [--version] <command> [<args>]\n\n");
    let commands = ALL.iter().map(|command| (command.name, command.summary));
    for (name, summary) in commands {
        text.push_str(&format!("   {name:<14}{summary}\n"));
    }
    text.push_str("\n'git shiftlog <command> --help' shows the manual page of a command.\n");
    cli::print(&text)
}

/// Runs a command: one of ours, or a program of that name that somebody else has put beside ours or on `PATH`.
fn execute(name: &str, args: Vec<OsString>) -> ExitCode {
    let name = command_name(name);
    let program = format!("git-shiftlog-{name}");
    if let Some(command) = ALL.iter().find(|command| command.name == name) {
        return (command.run)(std::iter::once(program.into()).chain(args).collect());
    }
    if let Some(path) = find(&program) {
        return replace(&path, args)
            .unwrap_or_else(|error| cli::finish(Err(Error::other(format!("cannot run '{program}'")).because(error))));
    }
    let error = Error::other(format!("'{name}' is not a git shiftlog command; see 'git shiftlog -h'"));
    let error = match nearest(name).as_slice() {
        [] => error,
        [near] => error.hint(format!("the most similar command is: git shiftlog {near}")),
        near => error.hint(format!("the most similar commands are: git shiftlog {}", near.join(", "))),
    };
    cli::error(&error);
    ExitCode::from(1)
}

/// Runs a program in place of this one.
///
/// # Errors
///
/// If it cannot be run; otherwise this does not return.
fn replace(program: &Path, args: impl IntoIterator<Item = OsString>) -> std::io::Result<ExitCode> {
    Err(Command::new(program).args(args).exec())
}

/// Finds a program beside this one, then where Git keeps its own, then on `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    // A name from the command line becomes part of a path only as one plain component.
    if name.contains(['/', '\\']) {
        return None;
    }
    let file =
        |dir: &Path| Some(dir.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))).filter(|path| path.is_file());
    let beside = || file(std::env::current_exe().ok()?.parent()?);
    let libexec = || {
        let dir = std::env::var_os("GIT_EXEC_PATH").map(PathBuf::from).or_else(|| {
            let output = Command::new("git").arg("--exec-path").output().ok()?;
            Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()))
        })?;
        file(&dir)
    };
    let on_path = || std::env::split_paths(&std::env::var_os("PATH")?).find_map(|dir| file(&dir));
    beside().or_else(libexec).or_else(on_path)
}

/// Returns the commands whose names are most like a word, if some are like it at all.
fn nearest(word: &str) -> Vec<&'static str> {
    let names = || ALL.iter().map(|command| command.name).chain(ALIASES.iter().map(|(alias, _)| *alias));
    let longer = names().find(|name| name.starts_with(word) && !word.is_empty());
    // A word of which much must be changed is no mistyped one.
    let limit = word.chars().count().div_ceil(3).min(2);
    // 'prune' means no harm in Git: what removes words for good is named only if hardly anything else can be meant.
    let limit_of = |name: &str| if name == "purge" { limit.min(1) } else { limit };
    if let Some(longer) = longer {
        return vec![longer];
    }
    let near: Vec<(usize, &str)> =
        names().map(|name| (distance(word, name), name)).filter(|(far, name)| *far <= limit_of(name)).collect();
    let least = near.iter().map(|(far, _)| *far).min();
    let mut nearest: Vec<&str> =
        near.into_iter().filter(|(far, _)| Some(*far) == least).map(|(_, name)| name).collect();
    nearest.sort_unstable();
    nearest
}

/// Returns how many letters must be changed, added, left out or swapped with the next one to turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let change = rows[i][j] + usize::from(a[i] != b[j]);
            let is_swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            let swap = if is_swapped { rows[i - 1][j - 1] + 1 } else { usize::MAX };
            row.push(change.min(rows[i][j + 1] + 1).min(row[j] + 1).min(swap));
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_command_finds_its_neighbour() {
        assert_eq!(nearest("shwo"), ["show"]);
        assert_eq!(nearest("lgo"), ["log"]);
        assert_eq!(nearest("brnches"), ["branches"]);
        assert_eq!(nearest("doc"), ["doctor"]);
        assert_eq!(nearest("pruge"), ["purge"]);
        assert_eq!(nearest("statsu"), ["stats", "status"]);
        for word in ["frobnicate", "foo", "x", "diff", "annotate", "prune", ""] {
            assert!(nearest(word).is_empty(), "{word:?}");
        }
        assert_eq!(called_as(OsStr::new("/usr/bin/git-shiftlog-show")).as_deref(), Some("show"));
        assert_eq!(called_as(OsStr::new("/usr/bin/git-shiftlog")), None);
        assert_eq!(called_as(OsStr::new("/usr/bin/git-shiftlog--hook")), None);
        assert_eq!(page_name(OsStr::new("tldr")), "git-shiftlog-summarise");
    }
}
