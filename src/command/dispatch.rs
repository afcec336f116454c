//! `git shiftlog`: finds the program of a command and becomes it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::ALL;
use crate::cli::{self, Outcome};
use crate::error::{Error, Kind, Result};
use crate::git::git;

/// Other words for commands.
const ALIASES: &[(&str, &str)] =
    &[("list", "log"), ("mcp-server", "mcp"), ("summarize", "summarise"), ("tldr", "summarise")];

/// Runs `git-shiftlog [<command> [<args>]]`.
pub fn run() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(first) = args.next() else {
        return cli::finish(print_usage().map(|()| Outcome::No));
    };
    match first.to_string_lossy().as_ref() {
        "-h" => cli::finish(print_usage().map(|()| Outcome::Done)),
        "--help" | "help" => {
            let page = args.next().map_or_else(|| "git-shiftlog".into(), |name| page_name(&name));
            cli::finish(cli::show_page(&page).map(|()| Outcome::Done))
        }
        "--version" | "-v" => {
            let version = format!("git-shiftlog version {}\n", env!("CARGO_PKG_VERSION"));
            cli::finish(cli::print(&version).map(|()| Outcome::Done))
        }
        option if option.starts_with('-') => {
            cli::finish(Err(Error::new(Kind::Usage, format!("unknown option '{option}'")).hint("git shiftlog -h")))
        }
        name => execute(name, args.collect()),
    }
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

/// Runs the program of a command in place of this one.
fn execute(name: &str, args: Vec<OsString>) -> ExitCode {
    let name = command_name(name);
    let Some(program) = find(&format!("git-shiftlog-{name}")) else {
        let message = format!("'{name}' is not a git shiftlog command; see 'git shiftlog -h'");
        let error = Error::other(message);
        let error = match nearest(name) {
            Some(near) => error.hint(format!("the most similar command is: git shiftlog {near}")),
            None => error,
        };
        cli::error(&error);
        return ExitCode::from(1);
    };
    let mut command = Command::new(&program);
    command.args(args);
    #[cfg(unix)]
    let failure = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let failure = match command.status() {
        Ok(status) => return ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(error) => error,
    };
    cli::finish(Err(Error::other(format!("cannot run '{}'", program.display())).because(failure)))
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
            let output = git(["--exec-path"]).capture().ok()?;
            Some(PathBuf::from(String::from_utf8_lossy(&output).trim_end().to_owned()))
        })?;
        file(&dir)
    };
    let on_path = || std::env::split_paths(&std::env::var_os("PATH")?).find_map(|dir| file(&dir));
    beside().or_else(libexec).or_else(on_path)
}

/// Returns the command whose name is most like a word, if one is like it at all.
fn nearest(word: &str) -> Option<&'static str> {
    let names = || ALL.iter().map(|command| command.name).chain(ALIASES.iter().map(|(alias, _)| *alias));
    let longer = names().find(|name| name.starts_with(word) && !word.is_empty());
    let near = || names().map(|name| (distance(word, name), name)).min().filter(|(distance, _)| *distance <= 2);
    longer.or_else(|| near().map(|(_, name)| name))
}

/// Returns how many letters must be changed, added or left out to turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_command_finds_its_neighbour() {
        assert_eq!(nearest("shwo"), Some("show"));
        assert_eq!(nearest("brnches"), Some("branches"));
        assert_eq!(nearest("doc"), Some("doctor"));
        assert_eq!(nearest("frobnicate"), None);
        assert_eq!(page_name(OsStr::new("tldr")), "git-shiftlog-summarise");
    }
}
