//! `git shiftlog stats`: what recorded work has used, counted from notes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::chosen::Chosen;
use crate::cli::{self, Color, Outcome, Screen};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, date};
use crate::pretty::{self, Statistics};
use crate::record::Reader;
use crate::stats::{self, Collected, Counted, Key, Prices};
use crate::{agent, notes, outside};

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
    /// Read notes from this ref
    #[arg(long = "ref", value_name = "notes-ref")]
    notes_ref: Option<String>,
    #[command(flatten)]
    color: Color,
    /// Revisions and paths
    #[arg(value_name = "revision-range")]
    operands: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        crate::command::add::store_pending(&repo);
        if options.notes_ref.is_none() {
            crate::command::elsewhere::look_at_new(&repo);
        }
        let notes_ref = cli::notes_ref(&repo, options.notes_ref.as_deref());
        let reader = Reader::new(&repo, notes_ref.as_deref().map(notes::expand_ref).as_deref());
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
            return cli::or_no(Err(Error::new(Kind::Missing, "no conversation recorded")));
        }
        let all = reader.count_commits(&query)?;
        let counted = options.counted(&repo, &found, &prices)?;
        let recorded = found.commits.iter().filter(|commit| commit.parent_ids.len() < 2).count() as u64;
        let statistics = Statistics {
            counted: &counted,
            keys: &options.by,
            coverage: (all, recorded),
            prices: (!options.no_cost).then_some(&prices),
        };
        options.print(&repo, statistics)?;
        Ok(outcome)
    })
}

impl Options {
    fn counted(&self, repo: &Repository, found: &Collected, prices: &Prices) -> Result<Counted> {
        let ids: Vec<_> = found.commits.iter().map(|commit| commit.commit_id).collect();
        let has_branches = self.by.contains(&Key::Branch);
        let branches = if has_branches { stats::branches_of(repo, &ids)? } else { HashMap::new() };
        Ok(stats::count(found, &self.by, prices, &branches))
    }

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
