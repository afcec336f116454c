//! `git shiftlog logs`: debug logs of a Salesforce org, as files.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Interruption, Outcome};
use crate::evidence::apex::{self, SyncOptions};
use crate::outside;

/// Fetch debug logs of a Salesforce org
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-logs", override_usage = "git shiftlog logs sync [<options>]")]
pub struct Options {
    /// Fetch this many of the newest logs, from 1 to 200
    #[arg(long, value_name = "n", default_value_t = apex::DEFAULT_LIMIT, hide_default_value = true)]
    #[arg(allow_negative_numbers = true)]
    limit: i64,
    /// Ask this org, by its alias or the name of a user
    #[arg(short = 'o', long, value_name = "org")]
    target: Option<String>,
    /// Print which logs would be fetched, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// What to do
    #[arg(value_name = "action", value_parser = ["sync"], required = true)]
    action: String,
}

/// Runs the command. What is printed is always JSON.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let synced =
            std::env::current_dir().map_err(|error| apex::Failure::no_directory(&error)).and_then(|directory| {
                let logs_of = directory.clone();
                let _interruption = Interruption::catch(move || apex::remove_unfinished(&logs_of)).ok();
                let (limit, target) = (options.limit, options.target.as_deref());
                apex::sync(&directory, SyncOptions { limit, target, is_dry_run: options.dry_run }, &|| false)
            });
        let (answer, outcome) = match synced {
            Ok(answer) => (answer, Outcome::Done),
            Err(failure) => (failure.to_json(), Outcome::No),
        };
        cli::print(&format!("{}\n", outside::json(&answer)))?;
        Ok(outcome)
    })
}
