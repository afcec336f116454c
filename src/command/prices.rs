//! `git shiftlog prices`: the table of list prices that `stats` uses.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Outcome};
use crate::git::date::Time;
use crate::outside;
use crate::stats::{Prices, Row};

/// Print the list prices of models
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-prices", override_usage = "git shiftlog prices [<options>] [<model>...]")]
pub struct Options {
    /// Take prices from this file first
    #[arg(long, value_name = "file")]
    prices: Option<PathBuf>,
    /// Models, as agents spell them
    #[arg(value_name = "model")]
    models: Vec<String>,
}

/// The head of the table.
const HEAD: &str = "# model\tfrom\tinput\toutput\tcacheRead\tcacheWrite\tcacheWriteLong\tabove\tinput\toutput\tcacheRead\tcacheWrite\tcacheWriteLong";

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let prices = Prices::configured(&repo, options.prices.as_deref())?;
        let mut outcome = Outcome::Done;
        let now = Time::now().to_rfc3339();
        let rows: Vec<&Row> = match options.models.is_empty() {
            true => prices.rows(),
            false => {
                let known = options.models.iter().filter_map(|model| {
                    let row = prices.find(model, None, &now);
                    if row.is_none() {
                        cli::error(&crate::error::Error::other(format!(
                            "no price known for '{}'",
                            outside::line(model)
                        )));
                        outcome = Outcome::No;
                    }
                    row
                });
                known.collect()
            }
        };
        let mut text = format!("# prices of {} in US dollars for a million tokens\n{HEAD}\n", Prices::date());
        rows.iter().for_each(|row| text += &format!("{}\n", row.line));
        cli::print(&text)?;
        Ok(outcome)
    })
}
