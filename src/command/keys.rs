//! `git shiftlog keys`: the keys of a value by its path.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use super::value_path::{about, required};
use crate::cli;
use crate::error::Result;
use crate::{mcp, outside};

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

fn print(options: &Options) -> Result<()> {
    let path = required(options.path.as_deref())?;
    let keys = mcp::keys(path).map_err(|error| about(path, error))?;
    let lines = keys.into_iter().map(|key| outside::line(&key) + "\n");
    cli::print(&lines.collect::<String>())
}
