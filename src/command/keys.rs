//! `git shiftlog keys`: the keys of a value by its path.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli;
use crate::mcp;
use crate::outside;

/// List what is at a path of the recorded data
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-keys", override_usage = "git shiftlog keys <path>")]
pub struct Options {
    /// The path, such as [conversation][HEAD][messages][0][text]
    #[arg(value_name = "path")]
    path: String,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| cli::or_no(print(&options)))
}

fn print(options: &Options) -> crate::error::Result<()> {
    let lines = mcp::keys(&options.path)?.into_iter().map(|key| outside::line(&key) + "\n");
    cli::print(&lines.collect::<String>())
}
