//! `git shiftlog stats`: what recorded work has used, counted from notes.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::chosen::Chosen;
use crate::cli::{self, Color, Json, NotesSource, Outcome, Progress, Screen};
use crate::error::{Error, Kind, Result};
use crate::git::{Paths, Repository, date};
use crate::pretty::{self, Statistics};
use crate::record::{Query, Reader, redaction};
use crate::stats::{self, CountedCalls, Key, Prices, Unread};
use crate::transcript::SessionKey;
use crate::{agent, outside, replay};

/// How wide a chart is where no terminal says it.
const COLUMNS: usize = 80;

/// Count commits, turns, tokens and their cost
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-stats",
    override_usage = "git shiftlog stats [<options>] [<revision-range>] [[--] <path>...]"
)]
pub struct Options {
    /// Group by these keys: agent, model, author, branch, commit, day, week, month, session, path
    #[arg(
        long,
        value_name = "key,...",
        value_delimiter = ',',
        default_value = "agent,model",
        hide_default_value = true
    )]
    by: Vec<Key>,
    /// Put files into groups by so many components of their paths
    #[arg(long, value_name = "number")]
    depth: Option<NonZeroUsize>,
    #[command(flatten)]
    chosen: Chosen,
    /// Count each answer in the recorded words
    #[arg(long)]
    words: bool,
    /// Count the lines that commits add instead, and who wrote them
    #[arg(long, conflicts_with_all = ["words", "chart", "no_cost", "prices"])]
    lines: bool,
    /// With --lines, count how many of them are still there
    #[arg(long, requires = "lines")]
    survival: bool,
    /// With --lines, leave out files that this pathspec matches (may be repeated)
    #[arg(long, value_name = "pathspec", requires = "lines")]
    exclude: Vec<OsString>,
    /// Count the calls of tools instead, and how many failed
    #[arg(long, conflicts_with_all = ["lines", "words", "chart", "no_cost", "prices", "depth", "unrecorded"])]
    tools: bool,
    /// Count the sessions that no commit has, too
    #[arg(long, conflicts_with = "lines")]
    unrecorded: bool,
    /// Leave out costs
    #[arg(long)]
    no_cost: bool,
    /// Take prices from this file first
    #[arg(long, value_name = "file")]
    prices: Option<PathBuf>,
    /// Draw a bar for each group, or one for each day from the first to the last
    #[arg(long, value_name = "form", num_args = 0..=1, require_equals = true, default_missing_value = "bars")]
    #[arg(conflicts_with_all = ["json", "csv", "lines", "tools"])]
    chart: Option<Chart>,
    /// Draw bars without block characters
    #[arg(long, requires = "chart")]
    ascii: bool,
    /// Print each group in this format
    #[arg(long, alias = "pretty", value_name = "format", value_parser = pretty::why_format)]
    #[arg(conflicts_with_all = ["json", "csv", "chart", "lines", "tools"])]
    format: Option<String>,
    #[command(flatten)]
    json: Json,
    /// Print values separated by commas
    #[arg(long, conflicts_with = "json")]
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

/// The keys to group by without `--by`.
const DEFAULT_KEYS: [Key; 2] = [Key::Agent, Key::Model];

/// The forms of a chart.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Chart {
    /// One bar for each group.
    Bars,
    /// One bar for each day from the first to the last.
    Days,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |mut options: Options| {
        if options.chart == Some(Chart::Days) {
            if options.by != DEFAULT_KEYS && options.by != [Key::Day] {
                return Err(Error::new(Kind::Usage, "--chart=days has days alone, and takes no --by"));
            }
            options.by = vec![Key::Day];
        }
        // A key that is given twice is one.
        options.by = options
            .by
            .iter()
            .enumerate()
            .filter(|(at, key)| !options.by[..*at].contains(key))
            .map(|(_, key)| *key)
            .collect();
        let repo = crate::command::open::repository(&options.source)?;
        let reader = options.source.reader(&repo);
        let query = options.chosen.query(&repo, &options.operands)?;
        if options.depth.is_some() && !options.by.contains(&Key::Path) {
            return Err(Error::new(Kind::Usage, "option '--depth' needs '--by=path'"));
        }
        if options.lines {
            return options.count_lines(&reader, &query);
        }
        options.check(&query)?;
        let prices = Prices::configured(&repo, options.prices.as_deref())?;
        let mut found = stats::collect(&reader, &query)?;
        let mut outcome = Outcome::Done;
        for problem in found.problems.iter().map(String::as_str).chain(reader.problems().iter().map(String::as_str)) {
            cli::warning(problem);
            outcome = Outcome::No;
        }
        let lack = |unread: Unread, what: &str, then: &str| {
            unread.warnings(what, then).iter().for_each(|text| cli::warning(text));
        };
        found.uncounted.warnings().iter().for_each(|text| cli::warning(text));
        if options.tools {
            let mut counted = stats::counted_calls(&reader, &found, &options.by, options.chosen.model.as_deref())?;
            options.clean(&repo, counted.groups.iter_mut().map(|(values, _)| values))?;
            lack(counted.unread, "record", "what they called is not counted");
            let printed = options.print_calls(&repo, &counted)?;
            return Ok(if outcome == Outcome::Done { printed } else { outcome });
        }
        if options.words {
            lack(stats::read_words(&reader, &mut found, &prices)?, "record", "notes count instead");
        }
        if options.unrecorded {
            lack(found.add_unrecorded(&reader, &query)?, "session", "they are not counted");
        }
        if let Some(part) = &options.chosen.model {
            found.retain_model(part);
        }
        if let Some(depth) = options.depth {
            found.shorten_paths(depth.get());
        }
        if found.entries.is_empty() {
            options.chosen.agent.as_deref().map(agent::named).transpose()?;
            return cli::or_no(Err::<(), _>(Error::new(Kind::Missing, "no conversation recorded")));
        }
        let mut counted = stats::counted(&reader, &query, &found, &options.by, &prices)?;
        if options.chart == Some(Chart::Days) {
            counted.fill_days();
        }
        let redactor = redaction::redactor(&repo)?;
        counted.clean(&options.by, &redactor);
        let prices = (!options.no_cost).then_some(&prices);
        let statistics = Statistics { counted: &counted, keys: &options.by, prices };
        options.print(&repo, statistics)?;
        Ok(outcome)
    })
}

impl Options {
    /// Says what does not go together.
    fn check(&self, query: &Query) -> Result<()> {
        if self.unrecorded && (query.author.is_some() || query.grep.is_some() || query.paths.is_some()) {
            let why = "--unrecorded takes no --author, no --grep and no paths: no commit has such a session";
            return Err(Error::new(Kind::Usage, why));
        }
        if self.tools && self.by.contains(&Key::Path) {
            return Err(Error::new(Kind::Usage, "--tools counts no calls by path"));
        }
        Ok(())
    }

    /// Prints the calls of tools.
    fn print_calls(&self, repo: &Repository, counted: &CountedCalls) -> Result<Outcome> {
        if counted.total.calls == 0 {
            return cli::or_no(Err::<Outcome, Error>(Error::new(Kind::Missing, "no call of a tool recorded")));
        }
        let mut screen = Screen::paged(repo, self.color, date::Format::SHORT);
        let (room, end) = (screen.columns, if self.nul { '\0' } else { '\n' });
        let mut names = self.names(repo, counted.groups.iter().map(|(values, _)| values));
        for (names, (values, _)) in names.iter_mut().zip(&counted.groups) {
            names.extend(values.last().map(|tool| outside::line(tool)));
        }
        screen.write(|out, style| match () {
            () if self.json.is_on => pretty::write_call_objects(out, counted, &self.by, end),
            () if self.csv => pretty::write_call_values(out, counted, &self.by, if self.nul { "\0" } else { "\r\n" }),
            () => pretty::write_call_table(out, counted, &self.by, &names, style, (room, end)),
        })?;
        screen.out.finish()?;
        Ok(Outcome::Done)
    }

    /// Takes secrets out of the values of groups: names of models, tools and branches are handed on with the counts.
    fn clean<'g>(&self, repo: &Repository, groups: impl Iterator<Item = &'g mut Vec<String>>) -> Result<()> {
        let redactor = redaction::redactor(repo)?;
        groups.for_each(|values| stats::clean_values(&self.by, values, &redactor));
        Ok(())
    }

    fn print(&self, repo: &Repository, of: Statistics<'_>) -> Result<()> {
        let mut screen = Screen::paged(repo, self.color, date::Format::SHORT);
        let end = if self.nul { '\0' } else { '\n' };
        let room = screen.columns;
        let names = self.names(repo, of.counted.groups.iter().map(|group| &group.values));
        screen.write(|out, style| match () {
            () if self.json.is_on => {
                let groups = of.counted.groups.iter().map(|group| pretty::group_object(group, of.keys, !self.no_cost));
                let mut objects = groups.chain([pretty::total_object(of)]);
                objects.try_for_each(|object| write!(out, "{}{end}", outside::json(&object)))
            }
            () if self.csv => pretty::write_values(out, of, if self.nul { "\0" } else { "\r\n" }),
            () if self.chart.is_some() => {
                let is_plain = self.ascii || !is_utf8();
                pretty::write_chart(out, of, &names, (room.unwrap_or(COLUMNS), is_plain), end)
            }
            () if self.format.is_some() => {
                let format = self.format.as_deref().unwrap_or_default();
                let mut groups = of.counted.groups.iter();
                groups.try_for_each(|group| write!(out, "{}{end}", pretty::group_line(format, group, of)))
            }
            () => pretty::write_table(out, of, &names, style, (room, end)),
        })?;
        screen.out.finish()
    }

    /// Returns what people read as the values of each group.
    fn names<'g>(&self, repo: &Repository, groups: impl Iterator<Item = &'g Vec<String>>) -> Vec<Vec<String>> {
        let mut ids = repo.names();
        let mut name = |(key, value): (&Key, &String)| match repo.parse_id(value).filter(|_| *key == Key::Commit) {
            Some(id) => ids.shorten(id),
            None => outside::line(value),
        };
        groups.map(|values| self.by.iter().zip(values).map(&mut name).collect()).collect()
    }

    /// Counts the lines that commits add, by who wrote them.
    fn count_lines(&self, reader: &Reader<'_>, query: &Query) -> Result<Outcome> {
        let repo = reader.repo();
        let commits = reader.commits(query)?;
        let mut progress = Progress::new(true);
        let mut added = replay::added(reader, &commits, self.paths(query)?.as_ref(), &mut |title, done, total| {
            progress.tell(title, done, total);
        })?;
        if self.survival {
            // Of several ends, the one that is checked out counts.
            let tip = match query.range.tips.as_slice() {
                [tip] => Some(*tip),
                _ => repo.head()?.commit_id,
            };
            if let Some(tip) = tip {
                replay::count_left(reader, &commits, &mut added.lines, tip, &mut |title, done, total| {
                    progress.tell(title, done, total);
                })?;
            }
        }
        progress.end();
        added.problems.sort();
        added.problems.dedup();
        added.problems.iter().for_each(|problem| cli::warning(problem));
        if added.unread.missing > 0 {
            let of_commits = pretty::count(added.unread.missing as u64, "commit");
            cli::warning(&format!("not all words of {of_commits} are here; what they lack counts as not recorded"));
        }
        let too_large = Unread { missing: 0, ..added.unread };
        too_large.warnings("commit", "the rest counts as not recorded").iter().for_each(|text| cli::warning(text));
        let mut lines = added.lines;
        let mut written = stats::written(reader, query, &commits, &lines)?;
        lines.retain(|lines| self.is_wanted(lines.session.as_ref()));
        written.retain(|written| self.is_wanted(Some(&written.session)));
        if let Some(depth) = self.depth {
            let paths = lines.iter_mut().map(|lines| &mut lines.path);
            let paths = paths.chain(written.iter_mut().map(|written| &mut written.path));
            paths.for_each(|path| stats::shorten(path, depth.get()));
        }
        let mut counted = stats::counted_lines(repo, &commits, &lines, &written, &self.by)?;
        self.clean(repo, counted.groups.iter_mut().map(|(values, _)| values))?;
        if counted.total.added == 0 {
            return cli::or_no(Err::<Outcome, Error>(Error::new(Kind::Missing, "no commit adds lines")));
        }
        let mut screen = Screen::paged(repo, self.color, date::Format::SHORT);
        let (room, end) = (screen.columns, if self.nul { '\0' } else { '\n' });
        let names = self.names(repo, counted.groups.iter().map(|(values, _)| values));
        screen.write(|out, style| match () {
            () if self.json.is_on => pretty::write_line_objects(out, &counted, &self.by, end),
            () if self.csv => pretty::write_line_values(out, &counted, &self.by, if self.nul { "\0" } else { "\r\n" }),
            () => pretty::write_line_table(out, &counted, &self.by, &names, style, (room, end)),
        })?;
        screen.out.finish()?;
        Ok(Outcome::Done)
    }

    /// Returns the pathspecs of the files whose lines count; `None` if those of all files do.
    fn paths(&self, query: &Query) -> Result<Option<Paths>> {
        if self.exclude.is_empty() {
            return Ok(query.paths.clone());
        }
        let mut paths = match &query.paths {
            Some(paths) => paths.clone(),
            None => Paths { specs: Vec::new(), directory: cli::current_directory()? },
        };
        let excluded = self.exclude.iter().map(|spec| [OsStr::new(":(exclude)"), spec].into_iter().collect());
        paths.specs.extend(excluded);
        Ok(Some(paths))
    }

    /// Says whether the options choose what a session wrote; `None` stands for what nobody recorded.
    fn is_wanted(&self, session: Option<&(SessionKey, Option<String>)>) -> bool {
        let Chosen { agent, model, session: id, .. } = &self.chosen;
        match session {
            None => agent.is_none() && model.is_none() && id.is_none(),
            Some((key, own_model)) => {
                agent.as_ref().is_none_or(|agent| *agent == key.agent)
                    && model.as_ref().is_none_or(|part| own_model.as_ref().is_some_and(|model| model.contains(part)))
                    && id.as_ref().is_none_or(|id| key.id.starts_with(id.as_str()))
            }
        }
    }
}

/// Says whether the terminal shows UTF-8.
fn is_utf8() -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    named.is_some_and(|name| name.to_ascii_lowercase().replace('-', "").contains("utf8"))
}
