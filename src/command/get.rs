//! `git shiftlog get`: one value by its path, as JSON.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use super::value_path::{about, required};
use crate::cli;
use crate::mcp;

/// Read one recorded value by its path
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-get", override_usage = "git shiftlog get <path>")]
pub struct Options {
    /// The path, such as [conversation][HEAD][messages][0][text]
    #[arg(value_name = "path")]
    path: Option<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| cli::or_no(print(&options)))
}

fn print(options: &Options) -> crate::error::Result<()> {
    let path = required(options.path.as_deref())?;
    let value = mcp::value(path).map_err(|error| about(path, error))?;
    cli::print(&(value + "\n"))
}
