//! `git shiftlog remap`: conversations follow commits that were rewritten behind Git's back.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::json;

use super::open;
use crate::cli::{self, Json, Outcome, Progress, Writing};
use crate::error::{Kind, Result};
use crate::git::{Range, Repository};
use crate::remap::{Carried, Remapped, Scope, remap};

/// How many commits without a place are named.
const MAX_NAMED: usize = 10;

/// Carry conversations over rewritten history
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-remap", override_usage = "git shiftlog remap [<options>] [<revision-range>]")]
pub struct Options {
    /// Say what would be carried, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    writing: Writing,
    /// Commits
    #[arg(value_name = "revision-range")]
    revisions: Vec<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        if !options.dry_run {
            open::store_missed(&repo);
        }
        let notes_ref = options.writing.notes_ref(&repo);
        options.writing.warn_if_missing(&repo);
        let scope = scope(&repo, &options.revisions)?;
        // A person can stop it; there is no need for a limit.
        let deadline = Instant::now() + Duration::from_secs(24 * 60 * 60);
        let mut progress = Progress::new(!options.writing.is_quiet());
        let mut tell = |title, done, total| progress.tell(title, done, total);
        let remapped = remap(&repo, &notes_ref, &scope, options.dry_run, deadline, &mut tell);
        progress.end();
        let remapped = match remapped {
            // Nothing is lost: the next one that can write finds the same.
            Err(error) if error.kind() == Kind::Storage => {
                cli::error(&error);
                return Ok(Outcome::No);
            }
            remapped => remapped?,
        };
        report(&repo, &options, &remapped)?;
        Ok(if remapped.ambiguous.is_empty() { Outcome::Done } else { Outcome::No })
    })
}

fn scope(repo: &Repository, revisions: &[String]) -> Result<Scope> {
    if revisions.is_empty() {
        if repo.head()?.commit_id.is_none() && repo.branches(true, true)?.is_empty() {
            return Err(repo.no_commits());
        }
        return Ok(Scope::All);
    }
    let mut range = Range::default();
    for revision in revisions {
        repo.add_to_range(&mut range, revision)?;
    }
    Ok(Scope::Range(range))
}

fn report(repo: &Repository, options: &Options, remapped: &Remapped) -> Result<()> {
    let mut names = repo.names();
    let mut text = String::new();
    if options.json.is_on {
        let mut add = |what: &str, carried: &Carried| {
            let from: Vec<String> = carried.from.iter().map(ToString::to_string).collect();
            text += &format!("{}\n", json!({"version": 1, what: carried.to.to_string(), "from": from}));
        };
        remapped.carried.iter().for_each(|carried| add("carried", carried));
        remapped.ambiguous.iter().for_each(|carried| add("ambiguous", carried));
        for commit_id in &remapped.unplaced {
            text += &format!("{}\n", json!({"version": 1, "unplaced": commit_id.to_string()}));
        }
    } else if !options.writing.is_quiet() {
        let verb = if options.dry_run { "would get" } else { "has" };
        for carried in &remapped.carried {
            text += &format!(
                "{} {verb} what was said on {}\n",
                names.shorten(carried.to),
                open::listed(&mut names, &carried.from)
            );
        }
    }
    cli::print(&text)?;
    for carried in &remapped.ambiguous {
        open::warn_of_ambiguous(repo, &mut names, carried);
    }
    if !options.writing.is_quiet() && !options.json.is_on && !remapped.unplaced.is_empty() {
        let count = remapped.unplaced.len();
        let named = open::listed(&mut names, &remapped.unplaced[..count.min(MAX_NAMED)]);
        let more = if count > MAX_NAMED { ", ..." } else { "" };
        let commits = if count == 1 { "a commit" } else { "commits" };
        cli::warning(&format!("no branch has the change of {commits} with a conversation: {named}{more}"));
    }
    Ok(())
}
