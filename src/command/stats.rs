//! `git shiftlog stats`: what recorded work has used, counted from notes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::chosen::Chosen;
use crate::cli::{self, Color, NotesSource, Outcome, Screen};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, date};
use crate::pretty::{self, Statistics};
use crate::stats::{self, Key, Prices};
use crate::{agent, outside};

/// How wide a chart is where no terminal says it.
const COLUMNS: usize = 80;

/// Count commits, turns, tokens and their cost
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-stats",
    override_usage = "git shiftlog stats [<options>] [<revision-range>] [[--] <path>...]"
)]
pub struct Options {
    /// Group by these keys: agent, model, author, branch, commit, day, week, month, session
    #[arg(
        long,
        value_name = "key,...",
        value_delimiter = ',',
        default_value = "agent,model",
        hide_default_value = true
    )]
    by: Vec<Key>,
    #[command(flatten)]
    chosen: Chosen,
    /// Count each answer in the recorded words
    #[arg(long)]
    words: bool,
    /// Leave out costs
    #[arg(long)]
    no_cost: bool,
    /// Take prices from this file first
    #[arg(long, value_name = "file")]
    prices: Option<PathBuf>,
    /// Draw a bar for each group
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    chart: bool,
    /// Print one JSON object a line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print values separated by commas
    #[arg(long)]
    csv: bool,
    /// End each entry with NUL
    #[arg(short = 'z')]
    nul: bool,
    #[command(flatten)]
    source: NotesSource,
    #[command(flatten)]
    color: Color,
    /// Revisions and paths
    #[arg(value_name = "revision-range")]
    operands: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = crate::command::elsewhere::repository(&options.source)?;
        let reader = options.source.reader(&repo);
        let prices = Prices::configured(&repo, options.prices.as_deref())?;
        let query = options.chosen.query(&repo, &options.operands)?;
        let mut found = stats::collect(&reader, &query)?;
        let mut outcome = Outcome::Done;
        for problem in found.problems.iter().map(String::as_str).chain(reader.problems().iter().map(String::as_str)) {
            cli::warning(problem);
            outcome = Outcome::No;
        }
        if options.words {
            let lacking = stats::read_words(&reader, &mut found)?;
            if lacking > 0 {
                cli::warning(&format!(
                    "words of {} are not here; notes count instead",
                    pretty::count(lacking as u64, "record")
                ));
            }
        }
        if let Some(part) = &options.chosen.model {
            found.retain_model(part);
        }
        if found.entries.is_empty() {
            options.chosen.agent.as_deref().map(agent::named).transpose()?;
            return cli::or_no(Err::<(), _>(Error::new(Kind::Missing, "no conversation recorded")));
        }
        let counted = stats::counted(&reader, &query, &found, &options.by, &prices)?;
        let prices = (!options.no_cost).then_some(&prices);
        let statistics = Statistics { counted: &counted, keys: &options.by, prices };
        options.print(&repo, statistics)?;
        Ok(outcome)
    })
}

impl Options {
    fn print(&self, repo: &Repository, of: Statistics<'_>) -> Result<()> {
        let mut screen = Screen::paged(repo, self.color, date::Format::SHORT);
        let end = if self.nul { '\0' } else { '\n' };
        let room = screen.columns;
        let names = self.names(repo, of);
        screen.write(|out, style| match () {
            () if self.json => {
                let groups = of.counted.groups.iter().map(|group| pretty::group_object(group, of.keys, !self.no_cost));
                let mut objects = groups.chain([pretty::total_object(of)]);
                objects.try_for_each(|object| write!(out, "{}{end}", outside::json(&object)))
            }
            () if self.csv => pretty::write_values(out, of, if self.nul { "\0" } else { "\r\n" }),
            () if self.chart => pretty::write_chart(out, of, &names, (room.unwrap_or(COLUMNS), !is_utf8()), end),
            () => pretty::write_table(out, of, &names, style, (room, end)),
        })?;
        screen.out.finish()
    }

    /// Returns what people read as the values of each group.
    fn names(&self, repo: &Repository, of: Statistics<'_>) -> Vec<Vec<String>> {
        let mut ids = repo.names();
        let mut name = |(key, value): (&Key, &String)| match repo.parse_id(value).filter(|_| *key == Key::Commit) {
            Some(id) => ids.shorten(id),
            None => outside::line(value),
        };
        of.counted.groups.iter().map(|group| of.keys.iter().zip(&group.values).map(&mut name).collect()).collect()
    }
}

/// Says whether the terminal shows UTF-8.
fn is_utf8() -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    named.is_some_and(|name| name.to_ascii_lowercase().replace('-', "").contains("utf8"))
}
