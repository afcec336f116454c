//! `git shiftlog deinit`: takes back what init did.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli;
use crate::setup;

/// Take back what init did
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-deinit", override_usage = "git shiftlog deinit [<options>]")]
pub struct Options {
    /// Print what would be done
    #[arg(long)]
    dry_run: bool,
    /// Say nothing when it is done
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// Runs the command. What was recorded stays.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let plan = setup::remove(&repo)?;
        let steps = setup::describe(&plan);
        if !options.dry_run {
            plan.carry_out(&repo)?;
        }
        super::init::report(&steps, options.quiet && !options.dry_run)
    })
}
