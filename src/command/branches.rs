//! `git shiftlog branches`: branches with the conversations that can be reached from them.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Json, Outcome, Porcelain, Printing};
use crate::error::Result;
use crate::git::date;
use crate::record::BranchSummary;
use crate::{outside, pretty};

/// The least columns of a name.
const MIN_NAME: usize = 8;

/// List branches with their conversations
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-branches", override_usage = "git shiftlog branches [<options>]")]
pub struct Options {
    /// List remote-tracking branches
    #[arg(short = 'r', long)]
    remotes: bool,
    /// List local and remote-tracking branches
    #[arg(short = 'a', long)]
    all: bool,
    /// List only branches that reach a commit
    #[arg(long, value_name = "commit")]
    contains: Option<String>,
    /// Sort by a key (refname, conversations or date); a leading '-' reverses
    #[arg(long, value_name = "key", allow_hyphen_values = true, value_parser = parse_key)]
    sort: Option<(Key, bool)>,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    porcelain: Porcelain,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Key {
    RefName,
    Conversations,
    Date,
}

fn parse_key(text: &str) -> Result<(Key, bool), String> {
    let (name, is_reversed) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
    let key = match name {
        "refname" | "name" => Key::RefName,
        "conversations" => Key::Conversations,
        "date" | "last" => Key::Date,
        _ => return Err("refname, conversations or date".to_owned()),
    };
    Ok((key, is_reversed))
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        crate::command::open::store_missed_or_leave(&repo);
        let reader = options.printing.reader(&repo);
        let branches = repo.branches(!options.remotes || options.all, options.remotes || options.all)?;
        let contains = options.contains.as_deref().map(|revision| repo.resolve(revision)).transpose()?;
        let mut summaries = reader.branches(branches, contains)?;
        reader.problems().iter().for_each(|problem| cli::warning(problem));
        sort(&mut summaries, options.sort);
        let dates = options.printing.dates(&repo, date::Format::SHORT)?;
        let mut screen = options.printing.screen(&repo, dates);
        let end = options.printing.end();
        // As for 'log', a header says on a terminal what the number is.
        let has_header = screen.columns.is_some() && !options.json.is_on && !options.porcelain.is_on();
        let name_of = |summary: &BranchSummary| outside::line(&summary.branch.name);
        let widths = summaries.iter().map(|summary| pretty::width(&name_of(summary)));
        let width = widths.chain(has_header.then_some("branch".len())).max().unwrap_or(0);
        let mut names = repo.names();
        let newest = |summary: &BranchSummary| match summary.last_time {
            Some(seconds) => screen.style.date.show(date::Time { seconds, offset: 0 }),
            None => "-".to_owned(),
        };
        // On a narrow terminal the names are cut.
        let room = summaries.first().zip(screen.columns).map(|(first, columns)| {
            let head_width = names.shorten(first.branch.commit_id).len();
            let widths = summaries.iter().map(|summary| pretty::width(&newest(summary)));
            let newest_width = widths.chain(has_header.then_some("newest".len())).max().unwrap_or(0);
            columns.saturating_sub("  ".len() + " ".len() + head_width + " convs ".len() + newest_width).max(MIN_NAME)
        });
        let width = room.map_or(width, |room| width.min(room));
        if let Some(first) = summaries.first().filter(|_| has_header) {
            let head = pretty::padded("head", names.shorten(first.branch.commit_id).len());
            let header = format!("  {} {head} convs newest", pretty::padded("branch", width));
            screen.write(|out, style| writeln!(out, "{}", style.paint(&style.dim, &header)))?;
        }
        for summary in &summaries {
            screen.write(|out, style| {
                if options.json.is_on {
                    return write!(out, "{}{end}", outside::json(&pretty::branch_object(summary)));
                }
                if options.porcelain.is_on() {
                    let last = summary.last_time.map_or_else(|| "-".into(), |seconds| seconds.to_string());
                    let mark = if summary.is_current { '*' } else { '-' };
                    let (name, head) = (&summary.branch.full_name, summary.branch.commit_id);
                    return write!(out, "{name}\t{head}\t{mark}\t{}\t{last}{end}", summary.conversations);
                }
                let mark = if summary.is_current { "*" } else { " " };
                let last = summary.last_time.map(|seconds| style.date.show(date::Time { seconds, offset: 0 }));
                let name = pretty::padded(&pretty::cut(&name_of(summary), width), width);
                let name = style.paint(if summary.is_current { &style.new } else { "" }, &name);
                let head = style.paint(&style.commit, &names.shorten(summary.branch.commit_id));
                write!(
                    out,
                    "{mark} {name} {head} {:>5} {}{end}",
                    summary.conversations,
                    last.unwrap_or_else(|| "-".into())
                )
            })?;
        }
        screen.out.finish()?;
        Ok(Outcome::Done)
    })
}

fn sort(summaries: &mut [BranchSummary], key: Option<(Key, bool)>) {
    let Some((key, is_reversed)) = key else { return };
    match key {
        Key::RefName => summaries.sort_by(|a, b| a.branch.full_name.cmp(&b.branch.full_name)),
        // Most and newest first, as a reader wants them.
        Key::Conversations => summaries.sort_by_key(|summary| Reverse(summary.conversations)),
        Key::Date => summaries.sort_by_key(|summary| Reverse(summary.last_time)),
    }
    if is_reversed {
        summaries.reverse();
    }
}
