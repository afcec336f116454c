//! `git shiftlog search`: the turns of recorded conversations that have words, best first.

use std::ffi::OsString;
use std::process::ExitCode;

use bstr::ByteSlice as _;
use clap::Parser;

use super::chosen::{Chosen, Problems};
use crate::cli::{self, Json, Outcome, Printing};
use crate::error::{Error, Result};
use crate::find::{self, Case, Increments, Limits, Parts, SearchOptions, Terms};
use crate::git::{Range, Repository, date};
use crate::pretty;
use crate::{agent, outside};

/// How many answers are printed by default.
const ANSWERS: usize = 10;

/// Find turns of conversations by words, best first
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-search",
    override_usage = "git shiftlog search [<options>] <word>... [<revision-range>] [-- <path>...]"
)]
pub struct Options {
    /// Print at most this many answers (default: 10)
    #[arg(short = 'n', long, value_name = "number", value_parser = cli::limit, allow_negative_numbers = true)]
    max_count: Option<usize>,
    /// Leave out turns with this word
    #[arg(long, value_name = "word")]
    not: Vec<String>,
    /// Look in these parts: prompts, answers, thinking, calls, results, notices or all, which is the default
    #[arg(long = "in", value_name = "part,...")]
    parts: Option<Parts>,
    #[command(flatten)]
    json: Json,
    /// Use this many threads
    #[arg(long, value_name = "number")]
    threads: Option<usize>,
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    printing: Printing,
    /// Words, ranges of revisions and paths
    #[arg(value_name = "word")]
    words: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = crate::command::open::repository(options.printing.source())?;
        let reader = options.printing.reader(&repo);
        let (words, rest) = options.told_apart(&repo)?;
        let terms = Terms::new(&words, &options.not, Case::Smart, 1.0)?.within(options.parts.unwrap_or(Parts::ALL));
        let plan = Increments::new(&reader, &options.chosen.query(&repo, &rest)?, false)?;
        plan.problems.iter().for_each(|problem| cli::warning(problem));
        let threads = options.threads.filter(|threads| *threads > 0).unwrap_or_else(find::default_threads);
        let wanted = SearchOptions {
            max_count: options.max_count.unwrap_or(ANSWERS),
            limits: Limits { threads, ..Limits::default() },
            now: date::Time::now().seconds,
        };
        let found = find::search(&reader, &plan, &terms, wanted, &|| Ok(()))?;
        let hits = found.hits;
        let dates = options.printing.dates(&repo, date::Format::SHORT)?;
        let mut screen = options.printing.screen(&repo, dates);
        let (short_ids, mut names) = (plan.short_ids(), repo.names());
        let (end, columns) = (options.printing.end(), screen.columns);
        for hit in &hits {
            let session = &plan.sessions[hit.answer.session];
            let commit = session.commit.map(|commit| &plan.commits[commit]);
            let short = commit.map_or_else(|| "-".to_owned(), |commit| names.shorten(commit.commit_id));
            screen.write(|out, style| {
                if options.json.is_on {
                    return write!(out, "{}{end}", outside::json(&pretty::hit_object(commit, session, hit)));
                }
                let id = short_ids.get(session.key.id.as_str()).unwrap_or(&session.key.id);
                let day = commit.map(|commit| style.date.show(commit.committer.time)).unwrap_or_default();
                let subject = commit.map(|commit| outside::line(&commit.subject().to_str_lossy())).unwrap_or_default();
                let name = format!("{}/{}", outside::component(&session.key.agent), outside::component(id));
                let head = format!("{} {day} {}", style.paint(&style.commit, &short), style.paint(&style.place, &name));
                // A sub-agent answers nobody's prompt.
                let turn = match session.key.parent_id() {
                    Some(_) if hit.answer.turn == 0 => String::new(),
                    _ => format!(" turn {}", style.paint(&style.number, &hit.answer.turn.to_string())),
                };
                let head = format!("{head}{turn}: {subject}");
                writeln!(
                    out,
                    "{}",
                    columns.map_or_else(|| head.clone(), |columns| pretty::cut_colored(&head, columns))
                )?;
                write!(out, "    {}{end}", pretty::hit_line(hit, style))
            })?;
        }
        screen.out.finish()?;
        let mut problems = Problems::default();
        found.problems.into_iter().for_each(|problem| problems.add(Some(problem)));
        problems.tell(&repo);
        if let Some(name) =
            options.chosen.agent.as_deref().filter(|name| hits.is_empty() && agent::find(name).is_none())
        {
            agent::named(name)?;
        }
        Ok(if hits.is_empty() { Outcome::No } else { Outcome::Done })
    })
}

impl Options {
    /// Tells the words to search for from revisions and paths. A word is a revision only with two dots, `^`, `~` or `@{`,
    /// since every branch has a word for a name.
    ///
    /// # Errors
    ///
    /// If only one end of a range is a revision.
    fn told_apart(&self, repo: &Repository) -> Result<(Vec<String>, Vec<OsString>)> {
        let (before, paths) = cli::split_at_dashes(&self.words);
        let (mut words, mut rest) = (Vec::new(), Vec::new());
        for word in before {
            let text = word.to_string_lossy();
            let is_marked = ["..", "^", "~", "@{"].iter().any(|mark| text.contains(mark));
            match repo.add_to_range(&mut Range::default(), &text) {
                Ok(()) if is_marked => rest.push(word.clone()),
                Err(error) if is_half_a_range(repo, &text) => return Err(Error::other(error.to_string())),
                _ => words.push(text.into_owned()),
            }
        }
        rest.extend(paths.iter().cloned());
        Ok((words, rest))
    }
}

/// Says whether a word has two dots with a revision on one side of them.
fn is_half_a_range(repo: &Repository, word: &str) -> bool {
    let is_revision = |end: &str| !end.is_empty() && repo.resolve(end).is_ok();
    word.split_once("..").is_some_and(|(from, to)| is_revision(from) || is_revision(to.trim_start_matches('.')))
}
