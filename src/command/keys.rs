//! `git shiftlog keys`: the keys of a value by its path.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use crate::cli;
use crate::error::Error;
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
pub fn run() -> ExitCode {
    cli::main(|options: Options| cli::or_no(print(&options)))
}

fn print(options: &Options) -> crate::error::Result<()> {
    let mut out = std::io::stdout().lock();
    for key in mcp::keys(&options.path)? {
        writeln!(out, "{}", outside::line(&key)).map_err(Error::output)?;
    }
    Ok(())
}
