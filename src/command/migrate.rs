//! `git shiftlog migrate`: a repository of the earlier tools of this name becomes one of ours.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use super::removal;
use crate::capture::State;
use crate::cli::{self, Outcome, Progress, Writing};
use crate::error::Result;
use crate::git::Repository;
use crate::migrate;
use crate::setup::{self, Directory};
use crate::{outside, pretty};

/// Convert the notes of earlier tools of this name
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-migrate", override_usage = "git shiftlog migrate [<options>]")]
pub struct Options {
    /// Print what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    writing: Writing,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let is_quiet = options.writing.is_quiet() && !options.dry_run;
        let notes_ref = options.writing.notes_ref(&repo);
        let directories = setup::earlier_directories(&repo);
        let others: Vec<String> = directories.iter().filter_map(|directory| directory.notes_ref.clone()).collect();
        removal::finish_before(&repo, options.dry_run)?;
        if !options.dry_run {
            crate::command::open::store_missed(&repo);
        }
        let _lock = (!options.dry_run).then(|| {
            let tell = || cli::warning("waiting for another 'git shiftlog migrate' in this repository");
            State::new(&repo.common_dir()).wait_for_lock(migrate::LOCK, tell)
        });
        let _lock = _lock.transpose()?;
        let mut progress = Progress::new(!is_quiet);
        let mut tell = |title, done, total| progress.tell(title, done, total);
        let mut plan = migrate::plan(&repo, &notes_ref, &others, &mut tell)?;
        let set_up = setup::remove_earlier(&repo)?;
        let mut lines = describe(&plan, &notes_ref);
        lines.extend(setup::describe(&set_up));
        let remarks = set_up.remarks().to_vec();
        let mut left = std::mem::take(&mut plan.left);
        if !options.dry_run {
            if !plan.is_empty() {
                left.extend(migrate::carry_out(&repo, plan, &mut tell)?);
            }
            if !set_up.edits().is_empty() {
                set_up.carry_out(&repo)?;
            }
        }
        progress.end();
        let lines: Vec<String> = lines.iter().map(|line| outside::line(line)).collect();
        cli::print_steps(&lines, is_quiet)?;
        left.iter().for_each(cli::error);
        remarks.iter().for_each(|remark| cli::warning(remark));
        if !is_quiet {
            advise(&repo, &directories)?;
        }
        Ok(if left.is_empty() { Outcome::Done } else { Outcome::No })
    })
}

/// Returns what a plan does with the notes, a line each.
fn describe(plan: &migrate::Migration, notes_ref: &str) -> Vec<String> {
    let count = |number: usize, noun: &str| pretty::count(number as u64, noun);
    let mut lines = Vec::new();
    for backup in &plan.backups {
        lines.push(format!("keep {} as {}", backup.ref_name, backup.backup_name));
    }
    for session in &plan.sessions {
        lines.push(format!("migrate session {} on {}", session.key, count(session.commits(), "commit")));
    }
    if plan.repeated > 0 {
        lines.push(format!("remove {} that had been migrated", count(plan.repeated, "document")));
    }
    for name in &plan.merged_refs {
        lines.push(format!("leave {name}, whose sessions are under {notes_ref} as well"));
    }
    lines
}

/// Tells what is left for the user to look at.
fn advise(repo: &Repository, directories: &[Directory]) -> Result<()> {
    for directory in directories {
        cli::warning(&format!("the directory of an earlier tool is left as it is: '{}'", directory.name));
        directory.advice.iter().for_each(|advice| cli::hint(repo, advice));
    }
    if !setup::is_complete(repo)? {
        cli::hint(repo, "run 'git shiftlog init' to record new sessions");
    }
    Ok(())
}
