//! `git shiftlog rules`: what agents are told.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use super::told;
use crate::cli::{self, Printing};
use crate::error::{Error, Kind};

/// Show what agents were told
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-rules",
    override_usage = "git shiftlog rules [<options>] (diff <revision> <revision> | show [<revision>])"
)]
pub struct Options {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    printing: Printing,
    /// What to do, and commits
    #[arg(value_name = "word", required = true)]
    words: Vec<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let words: Vec<&str> = options.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["show"] => told::show(&repo, &options.printing, options.json, "HEAD"),
            ["show", revision] => told::show(&repo, &options.printing, options.json, revision),
            ["diff", old, new] => told::diff(&repo, &options.printing, options.json, [old, new]),
            ["diff", ..] => Err(Error::new(Kind::Usage, "two revisions are needed").hint("git shiftlog rules -h")),
            _ => Err(Error::new(Kind::Usage, "the first word is 'show' or 'diff'").hint("git shiftlog rules -h")),
        }
    })
}
