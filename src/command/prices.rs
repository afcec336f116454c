//! `git shiftlog prices`: the table of list prices that `stats` uses.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use bstr::ByteSlice as _;
use clap::Parser;

use crate::cli::{self, Color, Outcome, Screen};
use crate::error::{Error, Kind, Result};
use crate::git::date::{self, Time};
use crate::git::{Repository, git};
use crate::stats::{Prices, Row, fetch_prices};
use crate::{outside, pretty};

/// Print the list prices of models
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-prices",
    override_usage = "git shiftlog prices [<options>] [<model>...]\n       git shiftlog prices --update[=<repository>] [-n]"
)]
pub struct Options {
    /// Take prices from this file first
    #[arg(long, value_name = "file")]
    prices: Option<PathBuf>,
    /// Keep newer list prices, fetched from a clone of the project (default: shiftlog.pricesFrom)
    #[arg(long, value_name = "repository", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["prices", "models"])]
    update: Option<String>,
    /// With --update, only say what would change
    #[arg(short = 'n', long, requires = "update")]
    dry_run: bool,
    /// Models, as agents spell them
    #[arg(value_name = "model")]
    models: Vec<String>,
}

/// The head of the table.
const HEAD: &str = "# model\tfrom\tinput\toutput\tcacheRead\tcacheWrite\tcacheWriteLong\tabove\tinput\toutput\tcacheRead\tcacheWrite\tcacheWriteLong";

/// The head of the columns for people: the last three are prices of what is read from the cache, written to it, and written
/// to stay for an hour.
const COLUMNS: [&str; 6] = ["# model", "input", "output", "read", "written", "1 hour"];
/// The index of the field that says above how many tokens the prices behind it hold.
const LONGER: usize = 7;

/// The name of the setting with the repository from which prices are fetched.
const REPOSITORY_KEY: &str = "shiftlog.pricesFrom";

/// How many models a hint names.
const MAX_ALIKE: usize = 5;

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        // Prices have nothing to do with a repository; one can name a table of its own.
        let repo = match cli::repository() {
            Err(error) if error.kind() == Kind::Missing => None,
            repo => Some(repo?),
        };
        if let Some(named) = &options.update {
            return update(repo.as_ref(), named, options.dry_run);
        }
        let file = options.prices.as_deref();
        let prices = repo.as_ref().map_or_else(|| Prices::of_user(file), |repo| Prices::configured(repo, file))?;
        let mut outcome = Outcome::Done;
        let now = Time::now().to_rfc3339();
        let rows: Vec<&Row> = match options.models.is_empty() {
            true => prices.rows(),
            false => {
                let known = options.models.iter().filter_map(|model| {
                    let row = prices.find(model, None, &now);
                    if row.is_none() {
                        let error = Error::other(format!("no price known for '{}'", outside::line(model)));
                        cli::error(&error.hint(alike(&prices, model)));
                        outcome = Outcome::No;
                    }
                    row
                });
                known.collect()
            }
        };
        if rows.is_empty() {
            return Ok(outcome);
        }
        let lines: Vec<&str> = [HEAD].into_iter().chain(rows.iter().map(|row| row.line.as_str())).collect();
        // A file of prices has tabs; people see columns.
        let table =
            if Screen::is_seen() { aligned(&rows) } else { lines.iter().map(|line| format!("{line}\n")).collect() };
        let title = format!("# prices of {} in US dollars for a million tokens\n", prices.date());
        let text = outside::text(&(title + &table));
        let Some(repo) = repo else { return cli::print(&text).map(|()| outcome) };
        let mut screen = Screen::paged(&repo, Color { color: None }, date::Format::SHORT);
        screen.write(|out, _| out.write_all(text.as_bytes()))?;
        screen.out.finish()?;
        Ok(outcome)
    })
}

/// Fetches a newer table of list prices, and keeps it.
fn update(repo: Option<&Repository>, named: &str, is_dry_run: bool) -> Result<Outcome> {
    let configured = || match repo {
        Some(repo) => repo.config_string(REPOSITORY_KEY),
        None => Some(git(["config", "--get", REPOSITORY_KEY]).capture().ok()?.trim_end().to_str_lossy().into_owned()),
    };
    let given = Some(named.to_owned()).filter(|named| !named.is_empty());
    let Some(repository) = given.or_else(configured).filter(|repository| !repository.is_empty()) else {
        let error = Error::new(Kind::Usage, "no repository is named to fetch prices from");
        return Err(error.hint(format!("'git config --global {REPOSITORY_KEY} <url>' names one for good")));
    };
    let known = Prices::listed();
    let fetched = fetch_prices(&repository)?;
    if !fetched.is_newer(&known) {
        cli::print(&format!("The prices of {} are as new as those there.\n", known.date()))?;
        return Ok(Outcome::Done);
    }
    if !is_dry_run {
        fetched.keep()?;
    }
    let models = pretty::count(fetched.models() as u64, "model");
    let (would, date) = (if is_dry_run { "Would take" } else { "Took" }, &fetched.date);
    cli::print(&format!("{would} the prices of {date}, of {models}; those before are of {}.\n", known.date()))?;
    Ok(Outcome::Done)
}

/// Returns what to type instead of a model that has no price.
fn alike(prices: &Prices, model: &str) -> String {
    let wanted = model.to_lowercase();
    let mut names: Vec<&str> = prices.rows().into_iter().map(|row| row.model.as_str()).collect();
    names.retain(|name| !wanted.is_empty() && name.contains(&wanted));
    names.dedup();
    match names.len() {
        0 => "'git shiftlog prices' lists the models with a price".to_owned(),
        1..=MAX_ALIKE => format!("there are prices for {}", names.join(", ")),
        _ => format!("there are prices for {} and more", names[..MAX_ALIKE].join(", ")),
    }
}

/// Puts rows into columns for people. What holds for longer input alone stands in a line of its own.
fn aligned(rows: &[&Row]) -> String {
    let mut lines = vec![COLUMNS.map(str::to_owned).to_vec()];
    for row in rows {
        let fields: Vec<&str> = row.line.split('\t').collect();
        let (name, from) = (fields[0], fields.get(1).filter(|from| **from != "-"));
        let name = from.map_or_else(|| name.to_owned(), |from| format!("{name} from {from}"));
        let line = |name: String, prices: &[&str]| {
            [name].into_iter().chain(prices.iter().map(|price| (*price).to_owned())).collect()
        };
        lines.push(line(name, fields.get(2..fields.len().min(LONGER)).unwrap_or_default()));
        if let Some((above, prices)) = fields.get(LONGER..).and_then(<[&str]>::split_first) {
            lines.push(line(format!("  above {above} tokens"), prices));
        }
    }
    let mut widths = [0; COLUMNS.len()];
    for line in &lines {
        line.iter().zip(&mut widths).for_each(|(field, most)| *most = pretty::width(field).max(*most));
    }
    let padded = |line: &Vec<String>| {
        let fields: Vec<String> = line.iter().zip(widths).map(|(field, width)| pretty::padded(field, width)).collect();
        format!("{}\n", fields.join("  ").trim_end())
    };
    lines.iter().map(padded).collect()
}
