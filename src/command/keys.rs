//! `git shiftlog keys`: the keys of a value by its path.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli;
use crate::error::{Error, Kind, Result};
use crate::{mcp, outside, path};

/// List the keys at a path of the recorded data
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-keys", override_usage = "git shiftlog keys <path>")]
pub struct Options {
    /// The path, such as [conversation][HEAD][messages][0][text]
    #[arg(value_name = "path")]
    path: Option<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| cli::or_no(print(&options)))
}

/// Returns the error for a path at which nothing was found; if it is no path, the error says how paths are written.
pub(super) fn about(path: &str, error: Error) -> Error {
    if error.kind() != Kind::Missing {
        return error;
    }
    let is_path = path::parse(path, &["conversation", "commit"]).is_ok_and(|path| path[0].index().is_none());
    if is_path {
        // What a client of the server calls, somebody at a shell types.
        let text = error.to_string();
        return match text.split_once("; call shiftlog_") {
            Some((what, _)) => {
                Error::new(error.kind(), what).hint("'git shiftlog log' lists the commits that have a conversation")
            }
            None => error,
        };
    }
    with_examples(Error::new(Kind::Usage, format!("'{}' is not a path", outside::line(path))).because(error))
}

/// Returns the path that was typed.
pub(super) fn required(path: Option<&str>) -> Result<&str> {
    path.ok_or_else(|| with_examples(Error::new(Kind::Usage, "no path is named")))
}

fn with_examples(error: Error) -> Error {
    error
        .hint("git shiftlog get '[conversation][HEAD][messages][0][text]'")
        .hint("'git shiftlog get --help' lists what a path can begin with")
}

fn print(options: &Options) -> Result<()> {
    let path = required(options.path.as_deref())?;
    let keys = mcp::keys(path).map_err(|error| about(path, error))?;
    let lines = keys.into_iter().map(|key| outside::line(&key) + "\n");
    cli::print(&lines.collect::<String>())
}
