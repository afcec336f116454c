//! `git shiftlog import`: what agents did before anybody recorded it.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;

use super::removal;
use crate::agent::{self, Agent};
use crate::capture::State;
use crate::cli::{self, Json, Outcome, Progress, Writing};
use crate::error::Result;
use crate::git::{Repository, has_fault};
use crate::import::claims::{Confidence, Reason};
use crate::import::{self, Fate, Link, Planned, Request, carry_out, plan};
use crate::{outside, pretty};

/// Record past sessions
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-import", override_usage = "git shiftlog import [<options>]")]
pub struct Options {
    /// Read the store of this agent; may be given several times (default: all)
    #[arg(long, value_name = "name", action = clap::ArgAction::Append)]
    agent: Vec<String>,
    /// Leave out sessions that were last written before a date
    #[arg(long, value_name = "date", value_hint = clap::ValueHint::Other)]
    since: Option<String>,
    /// Record only matches of at least this confidence (high, medium or low)
    #[arg(
        long,
        value_name = "level",
        default_value = "medium",
        hide_default_value = true,
        hide_possible_values = true
    )]
    min_confidence: Least,
    /// Say what would be recorded, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    writing: Writing,
}

/// The value of `--min-confidence`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Least {
    High,
    Medium,
    Low,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let agents = agents(&options.agent)?;
        let since = options.since.as_deref().map_or(Ok(0), |date| repo.parse_date(date))?;
        let notes_ref = options.writing.notes_ref(&repo);
        let least = match options.min_confidence {
            Least::High => Confidence::High,
            Least::Medium => Confidence::Medium,
            Least::Low => Confidence::Low,
        };
        let tell_waiting = || cli::warning("waiting for another 'git shiftlog import' to end");
        let wait = || State::new(&repo.common_dir()).wait_for_lock(import::LOCK, tell_waiting);
        let _lock = (!options.dry_run).then(wait).transpose()?;
        removal::finish_before(&repo, options.dry_run)?;
        let mut progress = Progress::new(!options.writing.is_quiet());
        let mut tell = |title, done, total| progress.tell(title, done, total);
        let request = Request { agents: &agents, since, least };
        let plan = plan(&repo, &notes_ref, &request, &mut tell)?;
        pause_if_asked();
        let done = if options.dry_run { None } else { Some(carry_out(&repo, &notes_ref, &plan, &mut tell)) };
        progress.end();
        report(&repo, &options, &plan, done.as_ref())?;
        let problems = plan.problems.iter().chain(done.iter().flat_map(|done| &done.problems));
        let has_failed = problems.map(cli::error).count() > 0;
        if let Some(done) = &done {
            cli::tell(&repo, &done.report);
        }
        Ok(if has_failed { Outcome::No } else { Outcome::Done })
    })
}

/// Waits for the end of the input where a test asks for it, so that something else can happen before the plan is carried
/// out.
fn pause_if_asked() {
    if has_fault("import-planned") {
        cli::warning("planned");
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    }
}

fn agents(names: &[String]) -> Result<Vec<&'static dyn Agent>> {
    if names.is_empty() {
        return Ok(agent::all().collect());
    }
    names.iter().map(|name| agent::named(name)).collect()
}

/// Returns what became of a session, or would; `None` if it could not be stored.
fn outcome<'p>(planned: &'p Planned, done: Option<&import::Done>) -> Option<(Fate, Vec<&'p Link>)> {
    let Some(done) = done.filter(|_| matches!(planned.fate, Fate::Recorded | Fate::Archived)) else {
        return Some((planned.fate, planned.links.iter().collect()));
    };
    if let Some(commit_ids) = done.recorded.get(&planned.key) {
        return Some((
            Fate::Recorded,
            planned.links.iter().filter(|link| commit_ids.contains(&link.commit_id)).collect(),
        ));
    }
    if done.changed.contains(&planned.key) {
        return Some((Fate::Changed, Vec::new()));
    }
    done.archived.contains(&planned.key).then_some((Fate::Archived, Vec::new()))
}

fn report(repo: &Repository, options: &Options, plan: &import::Import, done: Option<&import::Done>) -> Result<()> {
    let outcomes = plan.sessions.iter().filter_map(|planned| Some((planned, outcome(planned, done)?)));
    let outcomes: Vec<(&Planned, (Fate, Vec<&Link>))> = outcomes.collect();
    let mut text = String::new();
    if options.json.is_on {
        for (planned, (fate, links)) in &outcomes {
            text += &objects(planned, *fate, links);
        }
    } else if !options.writing.is_quiet() {
        let mut names = repo.names();
        for (planned, (fate, links)) in &outcomes {
            for link in links {
                let verb = if done.is_some() { "has" } else { "would get" };
                let (confidence, why) = (confidence(link.reason), reason(link.reason));
                let name = names.shorten(link.commit_id);
                text += &format!("{name} {verb} session {} ({confidence}: {why})\n", planned.key);
            }
            text += &match fate {
                Fate::Recorded => String::new(),
                Fate::Archived if done.is_some() => format!("archived session {}\n", planned.key),
                Fate::Archived => format!("would archive session {}\n", planned.key),
                Fate::GoingOn => format!("left session {} alone: it is going on\n", planned.key),
                Fate::Purged => format!("left session {} alone: words of it were purged\n", planned.key),
                Fate::PurgedByOthers => {
                    let key = &planned.key;
                    format!(
                        "left session {key} alone: others have purged words of it ('git shiftlog purge --received')\n"
                    )
                }
                Fate::Changed => format!("left session {} alone: it was recorded meanwhile\n", planned.key),
            };
        }
        let of = |wanted: Fate| outcomes.iter().filter(move |(_, (fate, _))| *fate == wanted);
        let commits: std::collections::BTreeSet<_> =
            of(Fate::Recorded).flat_map(|(_, (_, links))| links.iter().map(|link| link.commit_id)).collect();
        let sessions = pretty::count(of(Fate::Recorded).count() as u64, "session");
        let commits = pretty::count(commits.len() as u64, "commit");
        let archived = of(Fate::Archived).count();
        text += &match done {
            Some(_) => format!("recorded {sessions} on {commits}, archived {archived}\n"),
            None => format!("would record {sessions} on {commits}, archive {archived}\n"),
        };
    }
    cli::print(&text)
}

/// Returns the objects of a session, a line each: one for each of its commits, or one if it has none.
fn objects(planned: &Planned, fate: Fate, links: &[&Link]) -> String {
    let fate = match fate {
        Fate::Recorded => "recorded",
        Fate::Archived => "archived",
        Fate::GoingOn => "going-on",
        Fate::Purged => "purged",
        Fate::PurgedByOthers => "purged-by-others",
        Fate::Changed => "changed",
    };
    let (agent, session) = (&planned.key.agent, &planned.key.id);
    if links.is_empty() {
        let object = json!({"version": 1, "agent": agent, "session": session, "fate": fate});
        return outside::json(&object) + "\n";
    }
    let object = |link: &&Link| {
        let (commit, confidence) = (link.commit_id.to_string(), confidence(link.reason));
        let object = json!({"version": 1, "agent": agent, "session": session, "fate": fate, "commit": commit,
            "confidence": confidence, "evidence": evidence(link.reason)});
        outside::json(&object) + "\n"
    };
    links.iter().map(object).collect()
}

fn confidence(reason: Reason) -> &'static str {
    match reason.confidence() {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}

fn evidence(reason: Reason) -> &'static str {
    match reason {
        Reason::Id => "id",
        Reason::Content | Reason::Foreign => "content",
        Reason::Subject => "subject",
        Reason::Paths => "paths",
        Reason::Time => "time",
    }
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Id => "git told the session this id",
        Reason::Foreign => "it wrote this change, but somebody else committed it",
        Reason::Content => "it wrote this change",
        Reason::Subject => "it ran 'git commit' with this subject",
        Reason::Paths => "it edited the changed files",
        Reason::Time => "no other session was going on",
    }
}
