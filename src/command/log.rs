//! `git shiftlog log`: the commits that have a conversation, newest first.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::Parser;

use crate::agent;
use crate::cli::{self, Outcome, Printing, Screen};
use crate::error::{Error, Kind, Result};
use crate::git::{Names, Paths, Range, Repository, date};
use crate::outside;
use crate::pretty::{self, Format};
use crate::record::{Listed, Query, Summary};

/// List commits that have a conversation
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-log",
    override_usage = "git shiftlog log [<options>] [<revision-range>] [[--] <path>...]"
)]
pub struct Options {
    /// List at most this many commits
    #[arg(short = 'n', long, value_name = "number")]
    max_count: Option<usize>,
    /// Leave out this many commits at the beginning
    #[arg(long, value_name = "number", default_value_t = 0, hide_default_value = true)]
    skip: usize,
    /// List commits made at or after a date
    #[arg(long, visible_alias = "after", value_name = "date")]
    since: Option<String>,
    /// List commits made at or before a date
    #[arg(long, visible_alias = "before", value_name = "date")]
    until: Option<String>,
    /// List commits whose author matches a pattern
    #[arg(long, value_name = "pattern")]
    author: Option<String>,
    /// List commits whose subject matches a pattern
    #[arg(long, value_name = "pattern")]
    grep: Option<String>,
    /// List commits with a session of this agent
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// List commits with a session whose model name contains this
    #[arg(long, value_name = "string")]
    model: Option<String>,
    /// Start from all refs
    #[arg(long)]
    all: bool,
    /// Start from all local branches
    #[arg(long)]
    branches: bool,
    /// Print the abbreviated id and the subject
    #[arg(long)]
    oneline: bool,
    /// Print each commit in this format
    #[arg(long, visible_alias = "pretty", value_name = "format")]
    format: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Print a stable format for scripts
    #[arg(long, value_name = "version", require_equals = true, num_args = 0..=1, default_missing_value = "v1")]
    porcelain: Option<String>,
    #[command(flatten)]
    printing: Printing,
    /// Revisions and paths
    #[arg(value_name = "revision-range")]
    words: Vec<OsString>,
}

/// How a commit is printed.
enum Voice {
    Human,
    Format(Format),
    Porcelain,
    Json,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        crate::command::add::store_pending(&repo);
        if !options.printing.has_own_ref() {
            crate::command::elsewhere::look_at_new(&repo);
        }
        let reader = options.printing.reader(&repo);
        let query = query(&repo, &options)?;
        let voice = voice(&options)?;
        // One line a commit has no room for more than the day.
        let default = if options.format.is_none() { date::Format::SHORT } else { date::Format::default() };
        let dates = options.printing.dates(&repo, default)?;
        let mut screen = options.printing.screen(&repo, dates);
        let mut end = [0; 1];
        let end = options.printing.end().encode_utf8(&mut end).as_bytes();
        let mut is_first = true;
        let mut names = repo.names();
        let mut outcome = Outcome::Done;
        let mut newer_notice = None;
        let mut has_listed = false;
        reader.each(&query, |listed| {
            for problem in &listed.problems {
                cli::warning(problem);
                outcome = Outcome::No;
            }
            if listed.summaries.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            has_listed = true;
            newer_notice = newer_notice.take().or_else(|| listed.summaries.iter().find_map(Summary::newer_notice));
            print(&mut names, &mut screen, &voice, &listed, end, std::mem::replace(&mut is_first, false))?;
            Ok(ControlFlow::Continue(()))
        })?;
        screen.out.finish()?;
        for problem in reader.problems() {
            cli::warning(problem);
            outcome = Outcome::No;
        }
        if let Some(notice) = newer_notice {
            cli::warning(&format!("some of these were {notice}"));
        }
        if let Some(name) = options.agent.as_deref().filter(|name| !has_listed && agent::find(name).is_none()) {
            // A colleague may have described one that is not known here, so what is recorded counts first.
            return agent::named(name).map(|_| outcome);
        }
        Ok(outcome)
    })
}

fn voice(options: &Options) -> Result<Voice> {
    if let Some(version) = options.porcelain.as_deref().filter(|version| *version != "v1") {
        return Err(Error::new(Kind::Usage, format!("unknown porcelain version '{version}'")));
    }
    Ok(match (&options.format, &options.porcelain, options.json) {
        (Some(format), None, false) => Voice::Format(Format::named(format)?),
        (None, Some(_), false) => Voice::Porcelain,
        (None, None, true) => Voice::Json,
        (None, None, false) if options.oneline => Voice::Format(Format::parse("%h %s")),
        (None, None, false) => Voice::Human,
        _ => return Err(Error::new(Kind::Usage, "--format, --porcelain and --json exclude each other")),
    })
}

fn query(repo: &Repository, options: &Options) -> Result<Query> {
    let words = cli::split_words(repo, &options.words)?;
    let mut range = Range::default();
    for revision in &words.revisions {
        repo.add_to_range(&mut range, revision)?;
    }
    if options.all || options.branches {
        range.tips.extend(repo.branches(true, options.all)?.into_iter().map(|branch| branch.commit_id));
    }
    if options.all {
        for name in repo.ref_names("refs/tags/") {
            // A tag can name something that is no commit.
            let _ = repo.add_to_range(&mut range, &name);
        }
    }
    let is_default = words.revisions.is_empty() && !options.all && !options.branches;
    if is_default || (options.all && words.revisions.is_empty()) {
        match repo.head()?.commit_id {
            Some(head) => range.tips.push(head),
            None if is_default => return Err(no_commits(repo)),
            None => {}
        }
    }
    let paths = match words.paths.is_empty() {
        true => None,
        false => {
            let directory = std::env::current_dir()
                .map_err(|error| Error::other("cannot read the current directory").because(error))?;
            Some(Paths { specs: words.paths, directory })
        }
    };
    let pattern = |text: &Option<String>| match text {
        // Letters beyond ASCII match themselves; classes are those of ASCII, as in Git.
        Some(text) => regex::bytes::RegexBuilder::new(text)
            .unicode(false)
            .build()
            .map(Some)
            .map_err(|_| Error::new(Kind::Usage, format!("'{text}' is not a regular expression"))),
        None => Ok(None),
    };
    let time = |text: &Option<String>| text.as_deref().map(|text| repo.parse_date(text)).transpose();
    Ok(Query {
        range,
        paths,
        since: time(&options.since)?,
        until: time(&options.until)?,
        author: pattern(&options.author)?,
        grep: pattern(&options.grep)?,
        agent: options.agent.clone(),
        model: options.model.clone(),
        skip: options.skip,
        max_count: options.max_count,
    })
}

/// Says that there is no commit yet.
pub(super) fn no_commits(repo: &Repository) -> Error {
    let branch = repo.head().ok().and_then(|head| head.branch).unwrap_or_default();
    let name = branch.trim_start_matches("refs/heads/");
    Error::other(format!("your current branch '{name}' does not have any commits yet"))
}

fn print(
    names: &mut Names<'_>,
    screen: &mut Screen,
    voice: &Voice,
    listed: &Listed,
    end: &[u8],
    is_first: bool,
) -> Result<()> {
    let mut abbreviate = || names.shorten(listed.commit.commit_id);
    screen.write(|out, style| match voice {
        Voice::Human => pretty::write_listed(out, listed, &abbreviate(), style),
        Voice::Json => {
            write!(out, "{}", outside::json(&pretty::listed_object(listed))).and_then(|()| out.write_all(end))
        }
        Voice::Porcelain => pretty::write_porcelain(out, listed, end),
        Voice::Format(format) => {
            if format.has_separator() && !is_first {
                out.write_all(end)?;
            }
            out.write_all(&format.expand(listed, abbreviate, style))?;
            if format.has_separator() { Ok(()) } else { out.write_all(end) }
        }
    })
}
