//! `git shiftlog fsck`: whether everything that is recorded is there and says what it should.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};

use super::removal;
use crate::capture::{self, State};
use crate::cli::{self, Json, NotesRef, Outcome, Porcelain, Progress};
use crate::error::{Error, Kind};
use crate::record::{kept, may_be_fetched};
use crate::share::sync;
use crate::upkeep::fsck::{Checked, Problem, check};
use crate::upkeep::{recount, repair};
use crate::{outside, pretty};

/// How long other commands and hooks are waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// Check that everything recorded can be read
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-fsck", override_usage = "git shiftlog fsck [<options>]")]
pub struct Options {
    /// Repair what can be repaired, from history, remotes and the agents' own files
    #[arg(long)]
    repair: bool,
    /// With --repair, print what would be repaired, and repair nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// With --repair, count tokens and times of older records again
    #[arg(long, conflicts_with = "dry_run")]
    recount: bool,
    /// List commits with a note that no ref reaches, or that are not here
    #[arg(long)]
    unreachable: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    porcelain: Porcelain,
    #[command(flatten)]
    notes_ref: NotesRef,
    /// Print only problems, and what is repaired
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        if options.recount && !options.repair {
            return Err(Error::new(Kind::Usage, "option '--recount' needs '--repair'"));
        }
        let repo = cli::repository()?;
        let is_repairing = options.repair && !options.dry_run;
        let notes_ref = options.notes_ref.full_name(&repo);
        options.notes_ref.warn_if_missing(&repo);
        removal::finish_before(&repo, options.dry_run)?;
        if !options.dry_run {
            match removal::remove_fetched_again(&repo, &notes_ref) {
                // What cannot be read is found, and repaired, below.
                Err(error) if matches!(error.kind(), Kind::Missing | Kind::Corrupt) => {}
                removed => drop(removed?),
            }
        }
        let finish = || is_repairing.then(|| capture::recorder(&repo, &notes_ref).finish());
        let mut finished = finish();
        let deadline = Instant::now() + LOCK_TIMEOUT;
        let mut progress = Progress::new(!options.quiet);
        let mut tell = |title, done, total| progress.tell(title, done, total);
        let mut repaired = || {
            // Hooks must not store more of a session that is stored anew.
            let _lock = is_repairing.then(|| State::new(&repo.common_dir()).lock(deadline)).transpose()?;
            let checked = check(&repo, &notes_ref, &mut tell)?;
            let done = match options.repair && !checked.problems.is_empty() {
                true => repair::repair(&repo, &notes_ref, &checked, options.dry_run)?,
                false => Vec::new(),
            };
            let recounted = if options.recount { recount(&repo, &notes_ref, deadline)? } else { 0 };
            Ok((checked, done, recounted))
        };
        let (mut checked, mut done, recounted) = repaired().inspect_err(|_: &Error| {
            finished.iter().for_each(|finished| cli::tell(&repo, finished));
        })?;
        if !done.is_empty() {
            // What could not be stored because of damage can be now.
            finished = finish();
        }
        if is_repairing && !checked.problems.is_empty() {
            checked = check(&repo, &notes_ref, &mut tell)?;
        }
        progress.end();
        if let Some(finished) = finished {
            cli::tell(&repo, &finished);
        }
        if recounted > 0 {
            done.push(format!("counted {} again", pretty::count(recounted as u64, "record")));
        }
        if is_repairing && checked.problems.is_empty() {
            kept::keep(&repo, &notes_ref, deadline)?;
        }
        let text =
            if options.json.is_on { objects(&options, &checked, &done) } else { lines(&options, &checked, &done) };
        cli::print(&text)?;
        let is_for_people = !options.json.is_on && !options.porcelain.is_on();
        if !checked.problems.is_empty() && !options.repair && is_for_people {
            cli::hint(&repo, "'git shiftlog fsck --repair' repairs what can be repaired");
            if capture::why_waiting(&repo, &capture::waiting(&repo)).is_some() {
                cli::hint(&repo, "'git shiftlog doctor' says why something is pending");
            }
        }
        let is_for_people = is_for_people && !options.quiet;
        if is_for_people && checked.elsewhere > 0 && may_be_fetched(&repo) {
            cli::hint(&repo, "'git shiftlog sync pull --all' fetches transcripts that others share");
        }
        // What a plain 'git fetch' brought.
        if is_for_people && sync::has_unjoined(&repo, &notes_ref) {
            cli::hint(&repo, "fetched notes are checked once 'git shiftlog sync pull' has joined them");
        }
        Ok(if checked.problems.is_empty() { Outcome::Done } else { Outcome::No })
    })
}

fn lines(options: &Options, checked: &Checked, done: &[String]) -> String {
    let is_porcelain = options.porcelain.is_on();
    let mut text = String::new();
    let mark = match (is_porcelain, options.dry_run) {
        (false, _) => "",
        (true, false) => "repaired ",
        (true, true) => "planned ",
    };
    for line in done {
        text += &format!("{mark}{}\n", outside::line(line));
    }
    for problem in &checked.problems {
        text += &outside::line(&line_of(problem));
        text.push('\n');
    }
    if options.unreachable || is_porcelain {
        checked.unreachable.iter().for_each(|id| text += &format!("unreachable {id}\n"));
        checked.absent.iter().for_each(|id| text += &format!("absent {id}\n"));
    }
    if options.quiet || is_porcelain {
        return text;
    }
    let count = |number: usize, noun: &str| pretty::count(number as u64, noun);
    text += &format!(
        "checked {}, {}, {}: {}\n",
        count(checked.notes, "note"),
        count(checked.records, "record"),
        count(checked.segments, "segment"),
        count(checked.problems.len(), "problem"),
    );
    let apart = [
        (checked.unreachable.len(), ["a commit that no ref reaches", "commits that no ref reaches"]),
        (checked.absent.len(), ["a commit that is not here", "commits that are not here"]),
    ];
    for (number, [one, several]) in apart.into_iter().filter(|(number, _)| *number > 0) {
        text += &format!("{} on {}\n", count(number, "note"), if number == 1 { one } else { several });
    }
    if checked.elsewhere > 0 {
        text += &format!("the words of {} are not here\n", count(checked.elsewhere, "record"));
    }
    if checked.newer > 0 {
        text += &format!("not checked, recorded by a newer version of git-shiftlog: {}\n", checked.newer);
    }
    if checked.unchecked > 0 {
        text += &format!("the digest of {} was not computed\n", count(checked.unchecked, "segment"));
    }
    text
}

fn line_of(problem: &Problem) -> String {
    let mut line = format!("{} {}", problem.flaw.name(), problem.subject);
    if let Some(session) = &problem.session {
        line += &format!(" {session}");
    }
    if !problem.detail.is_empty() {
        line += &format!(": {}", problem.detail);
    }
    line
}

fn objects(options: &Options, checked: &Checked, done: &[String]) -> String {
    let key = if options.dry_run { "planned" } else { "repaired" };
    let mut objects: Vec<Value> = done.iter().map(|line| json!({"version": 1, key: line})).collect();
    for problem in &checked.problems {
        objects.push(json!({"version": 1, "problem": problem.flaw.name(), "subject": problem.subject,
            "commit": problem.commit_id.map(|id| id.to_string()),
            "session": problem.session.as_ref().map(ToString::to_string), "detail": problem.detail}));
    }
    if options.quiet {
        return objects.iter().map(|object| outside::json(object) + "\n").collect();
    }
    let hex = |ids: &[crate::git::ObjectId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    objects.push(json!({"version": 1, "notes": checked.notes, "records": checked.records,
        "segments": checked.segments, "problems": checked.problems.len(), "elsewhere": checked.elsewhere,
        "newer": checked.newer, "unchecked": checked.unchecked,
        "unreachable": hex(&checked.unreachable), "absent": hex(&checked.absent)}));
    objects.iter().map(|object| outside::json(object) + "\n").collect()
}
