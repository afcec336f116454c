//! Having an agent bring the index up to date.

use std::time::Duration;

use super::Options;
use crate::agent::Ask;
use crate::cli::{self, Outcome};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::index::{self, Project, Scan, WorktreeFiles};
use crate::{outside, pretty};

/// Opens the repository that a project is in.
pub fn repository(project: &Project) -> Result<Repository> {
    let repo = Repository::open(project.top()).map_err(|error| Error::other(error.to_string()))?;
    crate::capture::agents::define(&repo);
    Ok(repo)
}

/// Asks an agent about what has changed since the last scan, and puts its answer in place.
pub fn scan(project: &Project, options: &Options) -> Result<Outcome> {
    let repo = repository(project)?;
    project.require()?;
    let ask = index::choose(&repo, options.agent.as_deref())?;
    let outcome = scan_with(&repo, project, options, ask);
    let is_done = !options.dry_run && matches!(outcome, Ok(Outcome::Done));
    if is_done && index::refresh::is_waiting(&repo, project) {
        // The hook of a commit that was made meanwhile has left it to this process.
        if let Err(error) = index::refresh::refresh(&repo, project) {
            cli::warning(&format!("a commit that was made meanwhile is not in the index yet: {error}"));
        }
    }
    match outcome {
        Err(error) if matches!(error.kind(), Kind::Busy | Kind::ReaderGone | Kind::Usage) => Err(error),
        // The index is as it was.
        Err(error) => {
            cli::error(&error);
            Ok(Outcome::No)
        }
        outcome => outcome,
    }
}

fn scan_with(repo: &Repository, project: &Project, options: &Options, ask: &'static Ask) -> Result<Outcome> {
    let plan = Scan::new(repo, project, ask)?;
    if plan.is_empty() {
        if !options.quiet.is_on {
            cli::print("nothing to do\n")?;
        }
        return Ok(Outcome::Done);
    }
    let what = planned(&plan, ask);
    let has_questions = !plan.changes().is_empty();
    if options.dry_run && !has_questions {
        cli::print("would put in place what an earlier scan was answered\n")?;
        return Ok(Outcome::Done);
    }
    if options.dry_run {
        let paths: String =
            plan.changes().iter().map(|change| format!("  {}\n", outside::line(&change.path))).collect();
        cli::print(&format!("would send {what}\n{paths}"))?;
        return Ok(Outcome::Done);
    }
    if has_questions {
        cli::print(&format!("sending {what}\n"))?;
    }
    if has_questions && !options.yes && cli::confirm("Send it?")? == Some(false) {
        return Ok(Outcome::No);
    }
    let mut progress = cli::Progress::new(!options.quiet.is_on);
    let limit = Duration::from_secs(options.timeout);
    let before = WorktreeFiles::take(repo)?;
    let ran = plan.run(options.model.as_deref(), limit, |done, total| progress.tell("Asking", done, total));
    progress.end();
    if let Some(told) = before.changed_since(repo, ask.name)? {
        cli::warning(&told);
    }
    let changed = ran?;
    if !options.quiet.is_on {
        let lines: String = changed.iter().map(|root| format!("wrote {}/{root}.json\n", index::DIRECTORY)).collect();
        cli::print(if lines.is_empty() { "the index stays as it is\n" } else { &lines })?;
    }
    Ok(Outcome::Done)
}

/// Says what is sent to whom.
fn planned(plan: &Scan<'_>, ask: &Ask) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let (files, questions) = (count(plan.changes().len(), "file"), count(plan.questions(), "question"));
    let size = pretty::size(plan.bytes());
    format!("{files} and the index, {size}, to the provider of {} in {questions}", ask.name)
}
