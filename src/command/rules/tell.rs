//! What the commands print.

use serde_json::{Value, json};

use super::Options;
use crate::cli::{self, Outcome};
use crate::error::{Error, Result};
use crate::outside;
use crate::rules::{Report, Work};

fn print_json(mut value: Value) -> Result<()> {
    if let Some(members) = value.as_object_mut() {
        members.shift_insert(0, "version".into(), json!(1));
    }
    cli::print(&(outside::json(&value) + "\n"))
}

fn print_lines(lines: &[String]) -> Result<()> {
    cli::print(&lines.iter().map(|line| outside::line(line) + "\n").collect::<String>())
}

/// Prints the state of a store.
pub fn status(options: &Options, work: &Work) -> Result<Outcome> {
    let overview = work.overview()?;
    if options.json.is_on {
        print_json(overview.value)?;
    } else {
        print_lines(&overview.lines())?;
    }
    if work.is_unfinished() {
        cli::warning("a command was interrupted; the next one that writes finishes what it began");
    }
    Ok(Outcome::Done)
}

/// Prints the names of archived skills.
pub fn archived(options: &Options, work: &Work) -> Result<Outcome> {
    let names = work.archived()?;
    if options.json.is_on {
        print_json(json!({ "archived_skills": names }))?;
    } else {
        print_lines(&names)?;
    }
    Ok(Outcome::Done)
}

/// Prints that there is nothing to clean.
pub fn nothing_to_clean(report: &Report) -> Result<Outcome> {
    let mut lines = report.warnings.clone();
    lines.push(report.nothing_to_clean().to_owned());
    print_lines(&lines)?;
    Ok(left(report))
}

/// Names what is in the way; then the command has not done everything.
fn left(report: &Report) -> Outcome {
    for left in &report.left {
        let error = Error::other(outside::line(&left.why));
        cli::error(&left.hint.iter().fold(error, |error, hint| error.hint(outside::line(hint))));
    }
    if report.left.is_empty() { Outcome::Done } else { Outcome::No }
}

/// Prints what a sync would change.
pub fn diff(options: &Options, report: &Report) -> Result<Outcome> {
    let place = options.place()?;
    let diff = report.diff(&place);
    if options.json.is_on {
        let mut value = report.to_json();
        value["diff"] = json!(diff);
        print_json(value)?;
    } else {
        cli::print(&diff)?;
    }
    Ok(left(report))
}

/// Says whether everything generated is what a sync would write.
pub fn check(options: &Options, work: &Work) -> Result<Outcome> {
    let report = work.preview()?;
    let mut problems: Vec<(&str, &std::path::Path)> =
        report.drift.iter().map(|drift| ("changed", drift.path.as_path())).collect();
    problems.extend(report.changes.iter().map(|change| {
        let problem = match change.action {
            "create" | "link" | "copy" => "missing",
            "remove" | "restore" => "left over",
            "move" => "in the way",
            _ => "outdated",
        };
        (problem, change.path.as_path())
    }));
    problems.extend(report.left.iter().map(|left| ("in the way", left.path.as_path())));
    left(&report);
    if options.json.is_on {
        let list: Vec<Value> =
            problems.iter().map(|(problem, path)| json!({ "path": path, "problem": problem })).collect();
        print_json(json!({ "ok": problems.is_empty(), "problems": list }))?;
    } else {
        let line = |(problem, path): &(&str, &std::path::Path)| format!("{problem}: {}", work.place.shown(path));
        print_lines(&problems.iter().map(line).collect::<Vec<_>>())?;
    }
    if problems.is_empty() { Ok(Outcome::Done) } else { Ok(Outcome::Differs) }
}

/// Prints the changes; if generated files were edited, prints these and exits with 3.
pub fn report(options: &Options, work: &Work, report: &Report, is_sync: bool) -> Result<Outcome> {
    if options.json.is_on {
        print_json(report.to_json())?;
    } else if report.drift.is_empty() {
        if options.diff {
            cli::print(&report.diff(&work.place))?;
        }
        let mut lines = report.warnings.clone();
        if options.verbose || options.dry_run || !is_sync {
            lines.extend(report.lines(&work.place));
        }
        lines.extend(report.backup.iter().filter(|_| !report.is_dry_run).map(|id| format!("  backup {id}")));
        lines.extend(is_sync.then(|| report.summary()));
        print_lines(&lines)?;
    }
    let outcome = left(report);
    if report.drift.is_empty() {
        return Ok(outcome);
    }
    for drift in &report.drift {
        cli::error(&Error::other(format!("'{}': {}", work.place.shown(&drift.path), drift.what)));
    }
    let hint = match options.command.as_str() {
        "clean" => {
            "nothing was removed; --force removes them and keeps a backup, 'git shiftlog rules sync --adopt' takes changes into \
             the rules first, where these have a place for them"
        }
        _ if options.adopt => {
            "nothing was written; no rule has a place for some of the changes: take them out, or --force replaces them and keeps \
             a backup"
        }
        _ => {
            "nothing was written; --adopt takes changes into the rules where these have a place for them, --force replaces them \
             and keeps a backup"
        }
    };
    cli::error(&Error::other("generated files were changed").hint(hint));
    Ok(Outcome::Differs)
}
