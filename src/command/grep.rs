//! `git shiftlog grep`: lines of recorded conversations that match a pattern.

use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::ExitCode;

use bstr::ByteSlice as _;
use clap::Parser;

use super::chosen::{Chosen, Problems};
use crate::cli::{self, Json, Outcome, Printing, Screen, Silent};
use crate::error::{Error, Kind, Result};
use crate::find::{
    self, Found, Increments, Limits, LineAddress, LineSearch, Match, Parts, Pattern, PatternOptions, PlannedIncrement,
    Worker, matches_of,
};
use crate::git::{Names, Repository, date};
use crate::pretty::{self, FoundLayout, FoundPlace};
use crate::record::Reader;
use crate::{agent, outside};

/// Print lines of conversations that match a pattern
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-grep",
    disable_help_flag = true,
    override_usage = "git shiftlog grep [<options>] [-e] <pattern> [<revision-range>] [-- <path>...]"
)]
pub struct Options {
    /// Look for this pattern; given several times, for any of them
    #[arg(short = 'e', value_name = "pattern", allow_hyphen_values = true)]
    patterns: Vec<String>,
    /// Take patterns as plain text
    #[arg(short = 'F', long, overrides_with = "extended_regexp")]
    fixed_strings: bool,
    /// Take patterns as regular expressions, which is the default
    #[arg(short = 'E', long, overrides_with = "fixed_strings")]
    extended_regexp: bool,
    /// Take small and capital letters of ASCII as the same
    #[arg(short = 'i', long)]
    ignore_case: bool,
    /// Match whole words only
    #[arg(short = 'w', long)]
    word_regexp: bool,
    /// Look in these parts: prompts, answers, thinking, calls, results, notices or all (default: all but results)
    #[arg(long = "in", value_name = "part,...")]
    parts: Option<Parts>,
    /// Look only in calls of this tool
    #[arg(long, value_name = "name")]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    tool: Option<String>,
    /// Look in the sessions of the archive that no commit has
    #[arg(long)]
    unrecorded: bool,
    /// Print the number of each line, which is the default
    #[arg(short = 'n', long, overrides_with = "no_line_number")]
    line_number: bool,
    /// Print no numbers of lines
    #[arg(long, overrides_with = "line_number")]
    no_line_number: bool,
    /// Print the column of the first match
    #[arg(long)]
    column: bool,
    /// Print only the sessions that have a match
    #[arg(short = 'l', long, conflicts_with_all = ["without_match", "count", "json"])]
    name_only: bool,
    /// Print only the sessions that have no match
    #[arg(short = 'L', id = "without_match", conflicts_with_all = ["count", "json"])]
    without_match: bool,
    /// Print the number of lines that match in each session
    #[arg(short = 'c', long, conflicts_with = "json")]
    count: bool,
    /// Print only what matches
    #[arg(short = 'o', long)]
    only_matching: bool,
    #[command(flatten)]
    quiet: Silent,
    /// Print at most this many lines of a session
    #[arg(short = 'm', long, value_name = "number", allow_negative_numbers = true)]
    max_count: Option<i64>,
    /// Print this many lines after each match
    #[arg(short = 'A', long, value_name = "number")]
    after_context: Option<usize>,
    /// Print this many lines before each match
    #[arg(short = 'B', long, value_name = "number")]
    before_context: Option<usize>,
    /// Print this many lines around each match
    #[arg(short = 'C', long, value_name = "number")]
    context: Option<usize>,
    /// Print the commit and the session in front of each line, which is the default
    #[arg(short = 'H', overrides_with = "without_place")]
    with_place: bool,
    /// Print neither the commit nor the session; alone, print this usage
    #[arg(short = 'h', overrides_with = "with_place")]
    without_place: bool,
    /// Print the commit and the session above their lines
    #[arg(long)]
    heading: bool,
    /// Print an empty line between sessions
    #[arg(long = "break")]
    has_break: bool,
    /// Print long lines whole
    #[arg(long)]
    no_cut: bool,
    #[command(flatten)]
    json: Json,
    /// Use this many threads
    #[arg(long, value_name = "number")]
    threads: Option<usize>,
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    printing: Printing,
    /// The pattern, revisions and paths
    #[arg(value_name = "pattern")]
    words: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let (pattern, words) = options.pattern()?;
        // As for 'git grep'.
        if options.max_count == Some(0) {
            return Ok(Outcome::No);
        }
        let repo = crate::command::open::repository(options.printing.source())?;
        let reader = options.printing.reader(&repo);
        let plan = options.plan(&repo, &reader, words)?;
        plan.problems.iter().for_each(|problem| cli::warning(problem));
        let wanted = options.wanted(pattern);
        let dates = options.printing.dates(&repo, date::Format::SHORT)?;
        let mut list = List {
            options: &options,
            plan: &plan,
            short_ids: plan.short_ids(),
            screen: options.printing.screen(&repo, dates),
            names: repo.names(),
            seen: HashMap::new(),
            last: None,
            has_found: false,
        };
        let mut problems = Problems::default();
        let threads = options.threads.filter(|threads| *threads > 0).unwrap_or_else(find::default_threads);
        let limits = Limits { threads, ..Limits::default() };
        let work = |worker: &mut Worker<'_>, _: usize, session: &PlannedIncrement| matches_of(worker, session, &wanted);
        let left_out = find::run(&reader, &plan, limits, work, |number, found: Found| {
            problems.add(found.problem);
            list.session(number, found.matches)
        })?;
        let List { screen, has_found, .. } = list;
        screen.out.finish()?;
        problems.add(left_out);
        problems.tell(&repo);
        if let Some(name) = options.chosen.agent.as_deref().filter(|name| !has_found && agent::find(name).is_none()) {
            // A colleague may have described one that is not known here, so what is recorded counts first.
            agent::named(name)?;
        }
        Ok(if has_found { Outcome::Done } else { Outcome::No })
    })
}

impl Options {
    /// Returns the pattern, and the words that are none.
    fn pattern(&self) -> Result<(Pattern, &[OsString])> {
        let (patterns, words) = match (self.patterns.is_empty(), self.words.split_first()) {
            (false, _) => (self.patterns.clone(), &self.words[..]),
            (true, Some((first, words))) => (vec![first.to_string_lossy().into_owned()], words),
            (true, None) => return Err(Error::new(Kind::Usage, "no pattern given")),
        };
        let options = PatternOptions {
            is_fixed: self.fixed_strings,
            is_folded: self.ignore_case,
            is_word: self.word_regexp,
            is_across_lines: false,
        };
        Ok((Pattern::new(&patterns, options)?, words))
    }

    fn plan(&self, repo: &Repository, reader: &Reader<'_>, words: &[OsString]) -> Result<Increments> {
        if !self.unrecorded {
            return Increments::new(reader, &self.chosen.query(repo, words)?, false);
        }
        if !words.is_empty() {
            return Err(Error::new(Kind::Usage, "--unrecorded takes no revisions and no paths"));
        }
        Increments::unrecorded(reader, self.chosen.agent.as_deref(), self.chosen.session.as_deref())
    }

    fn wanted(&self, pattern: Pattern) -> LineSearch {
        let lines = |own: Option<usize>| own.or(self.context).unwrap_or(0);
        LineSearch {
            parts: self.parts.unwrap_or(if self.tool.is_some() { Parts::ALL } else { Parts::USUAL }),
            tool: self.tool.clone(),
            context: (lines(self.before_context), lines(self.after_context)),
            has_numbers: self.json.is_on,
            ..LineSearch::new(pattern)
        }
    }

    /// Returns how many lines of a session are printed at most.
    fn max_lines(&self) -> usize {
        // A negative number is no limit.
        self.max_count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
    }

    fn layout(&self) -> FoundLayout {
        FoundLayout {
            has_heading: self.heading && !self.without_place,
            is_without_place: self.without_place,
            has_line_numbers: !self.no_line_number,
            has_columns: self.column,
            is_only_matching: self.only_matching,
            is_uncut: self.no_cut,
        }
    }
}

/// What is printed, and how.
struct List<'a> {
    options: &'a Options,
    plan: &'a Increments,
    short_ids: HashMap<&'a str, String>,
    screen: Screen,
    names: Names<'a>,
    /// The increment in which each message was printed: several commits can have the same.
    seen: HashMap<LineAddress, usize>,
    /// The increment whose lines were printed last.
    last: Option<usize>,
    has_found: bool,
}

impl List<'_> {
    /// Prints what was found in an increment.
    fn session(&mut self, number: usize, mut matches: Vec<Match>) -> Result<ControlFlow<()>> {
        let options = self.options;
        if !options.without_match {
            // What a newer commit has printed is still in this session.
            matches.retain(|found| *self.seen.entry(found.place.clone()).or_insert(number) == number);
        }
        let after = options.after_context.or(options.context).unwrap_or(0);
        let count = first_matches(&mut matches, options.max_lines(), after);
        let is_listed = if options.without_match { count == 0 } else { count > 0 };
        if !is_listed {
            return Ok(ControlFlow::Continue(()));
        }
        self.has_found = true;
        if options.quiet.is_on {
            return Ok(ControlFlow::Break(()));
        }
        if options.name_only || options.without_match || options.count {
            let counted = options.count.then_some(count);
            self.name(number, counted)?;
        } else {
            self.lines(number, &matches)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the commit and the session of an increment, shortened.
    fn place(&mut self, number: usize) -> (String, String) {
        let plan = self.plan;
        let session = &plan.sessions[number];
        let commit = session.commit_id.map_or_else(|| "-".to_owned(), |id| self.names.shorten(id));
        let id = self.short_ids.get(session.key.id.as_str()).unwrap_or(&session.key.id);
        (commit, format!("{}/{}", outside::component(&session.key.agent), outside::component(id)))
    }

    /// Prints a session, perhaps with the number of its lines.
    fn name(&mut self, number: usize, count: Option<usize>) -> Result<()> {
        let (commit, session) = self.place(number);
        let mut end = [0; 1];
        let end = self.options.printing.end().encode_utf8(&mut end).as_bytes();
        // As for 'git grep', a name that is asked for is printed in any case.
        let has_place = count.is_none() || !self.options.without_place;
        self.screen.write(|out, style| {
            let place = FoundPlace { commit: &commit, session: &session };
            if has_place {
                out.write_all(place.text(style).as_bytes())?;
            }
            if let Some(count) = count {
                let separator = if has_place { style.paint(&style.separator, ":") } else { String::new() };
                write!(out, "{separator}{count}")?;
            }
            out.write_all(end)
        })
    }

    /// Prints the lines of a session.
    fn lines(&mut self, number: usize, matches: &[Match]) -> Result<()> {
        let (commit, session) = self.place(number);
        let place = FoundPlace { commit: &commit, session: &session };
        let (plan, options) = (self.plan, self.options);
        let of = &plan.sessions[number];
        let commit = of.commit.map(|commit| &plan.commits[commit]);
        let mut end = [0; 1];
        let end = options.printing.end().encode_utf8(&mut end).as_bytes();
        let last = self.last.replace(number);
        let has_context = [options.context, options.after_context, options.before_context].iter().any(Option::is_some);
        self.screen.write(|out, style| {
            if options.json.is_on {
                for (found, line) in matches.iter().flat_map(|found| found.lines.iter().map(move |line| (found, line)))
                {
                    if line.spans.is_none() {
                        continue;
                    }
                    write!(out, "{}", outside::json(&pretty::found_object(commit, of, found, line)))?;
                    out.write_all(end)?;
                }
                return Ok(());
            }
            if last.is_some() && options.has_break {
                out.write_all(end)?;
            } else if last.is_some() && has_context {
                out.write_all(b"--")?;
                out.write_all(end)?;
            }
            if options.layout().has_heading {
                let is_new = last.is_none_or(|last| plan.sessions[last].commit != of.commit);
                if let Some(commit) = commit.filter(|_| is_new) {
                    let day = style.date.show(commit.committer.time);
                    let subject = outside::line(&commit.subject().to_str_lossy());
                    write!(out, "{} {day} {subject}", style.paint(&style.commit, place.commit))?;
                    out.write_all(end)?;
                }
                write!(out, "{}", style.paint(&style.place, place.session))?;
                out.write_all(end)?;
            }
            let mut is_first = true;
            for found in matches {
                let mut before = None;
                for line in &found.lines {
                    let is_apart = before.is_none_or(|before| line.number > before + 1);
                    if has_context && is_apart && !is_first {
                        out.write_all(b"--")?;
                        out.write_all(end)?;
                    }
                    pretty::write_found(out, style, options.layout(), &place, found, line, end)?;
                    (before, is_first) = (Some(line.number), false);
                }
            }
            Ok(())
        })
    }
}

/// Keeps the first `max_count` lines that match, each with the lines before it and `after` lines behind it, and returns how
/// many there are.
fn first_matches(matches: &mut Vec<Match>, max_count: usize, after: usize) -> usize {
    let mut count = 0;
    for found in matches.iter_mut() {
        let hits = found.lines.iter().filter(|line| line.spans.is_some()).map(|line| line.number);
        let kept: Vec<usize> = hits.take(max_count - count).collect();
        let last = kept.last().copied().unwrap_or(0);
        let end = if last == 0 { 0 } else { last.saturating_add(after) };
        found.lines.retain(|line| line.number <= if line.spans.is_some() { last } else { end });
        count += kept.len();
    }
    matches.retain(|found| !found.lines.is_empty());
    count
}
