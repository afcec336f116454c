//! `git shiftlog lsp`: the conversation behind a line, for editors.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Outcome};
use crate::lsp;

/// Show editors the conversation behind a line
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-lsp", override_usage = "git shiftlog lsp")]
pub struct Options {
    /// Speak over standard input and output, which is the default
    #[arg(long)]
    stdio: bool,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |_: Options| {
        let is_ended_well = lsp::serve()?;
        Ok(if is_ended_well { Outcome::Done } else { Outcome::No })
    })
}
