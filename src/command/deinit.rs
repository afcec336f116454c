//! `git shiftlog deinit`: takes back what init did.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::archive::{self, Archive};
use crate::capture::{self, State};
use crate::cli::{self, Outcome, Quiet};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, git};
use crate::notes;
use crate::outside;
use crate::pretty;
use crate::record::tombstone;
use crate::record::{self, Note, Unit};
use crate::rules;
use crate::setup;
use crate::share::sync;

/// How long hooks that are running are waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Undo what init did
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-deinit", override_usage = "git shiftlog deinit [<options>]")]
pub struct Options {
    /// Also remove everything recorded: all refs of git-shiftlog, and pending captures
    #[arg(long)]
    purge_refs: bool,
    /// Print what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short = 'y', long)]
    yes: bool,
    #[command(flatten)]
    quiet: Quiet,
}

/// Runs the command. What was recorded stays, unless its removal is asked for.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        // Only the removal of what was recorded has to know where it is.
        let open = if options.purge_refs { cli::repository } else { cli::repository_as_it_is };
        let repo = setup::open_when_free(open)?;
        let mut plan = setup::remove(&repo, false)?;
        // Whoever agrees to the removal of refs has not agreed to change hooks that other repositories run, too.
        if options.yes && !options.purge_refs {
            setup::changed_for_all(plan.left()).iter().for_each(|warning| cli::warning(warning));
            plan = setup::remove(&repo, true)?;
        }
        if crate::share::purge::is_unfinished(&repo) {
            cli::warning(
                "a purge was interrupted, and what it was to remove is still here; our hook no longer keeps it from a push",
            );
            cli::hint(&repo, "'git shiftlog fsck' finishes it");
        }
        let waiting = capture::waiting(&repo).len();
        if waiting > 0 && !options.purge_refs {
            let waits = if waiting == 1 { "waits" } else { "wait" };
            cli::warning(&format!("{} {waits} to be recorded", pretty::count(waiting as u64, "capture")));
            cli::hint(&repo, "'git shiftlog log' records what waits, also when this is done");
        }
        let refs = if options.purge_refs { our_refs(&repo)? } else { Vec::new() };
        let (others, refs): (Vec<_>, Vec<_>) = refs.into_iter().partition(|name| has_others(&repo, name));
        for name in &others {
            cli::warning(&format!("'{name}' also has notes of others, and is kept"));
        }
        if !others.is_empty() {
            cli::hint(&repo, "'git shiftlog purge --before=now --all' removes from it what was recorded");
        }
        if refs.iter().any(|name| name == tombstone::REF) {
            cli::warning(
                "this also deletes the purge marks: a later import records purged words again if agents still have them",
            );
        }
        if options.purge_refs && !options.dry_run && !options.yes && !is_confirmed(&repo, &refs)? {
            return Ok(Outcome::No);
        }
        if let Some(question) = setup::question(plan.left(), "Take ours out of them?", "Edit it there?") {
            if !options.dry_run && !options.yes && cli::confirm(&question)? == Some(true) {
                plan = setup::remove(&repo, true)?;
            } else {
                setup::left_alone(plan.left()).iter().for_each(|warning| cli::warning(warning));
                let hint = match setup::has_hooks_of_others(plan.left()) {
                    true => "'git shiftlog deinit --yes' takes ours out of them, for all of these repositories",
                    false => "'git shiftlog deinit --yes' edits it there",
                };
                cli::hint(&repo, hint);
            }
        }
        plan.remarks().iter().for_each(|remark| cli::warning(remark));
        plan.hints().iter().for_each(|hint| cli::hint(&repo, hint));
        plan.failures().iter().for_each(cli::error);
        let is_whole = plan.failures().is_empty();
        let has_left = !plan.left().is_empty() || !is_whole;
        let mut steps = setup::describe(&plan);
        steps.extend(refs.iter().map(|name| format!("delete {name}")));
        if !refs.is_empty() {
            steps.push(format!("these are {}", amount(&repo, &refs)?));
        }
        // Before a dry run the hook is still there, and stops such a push.
        let is_stopped = |repo: &Repository| Ok::<bool, Error>(!options.dry_run && setup::stops_pushes(repo)?);
        if !options.dry_run {
            // A push that began before would bring refs of ours back.
            let _exchanges = if options.purge_refs { Some(sync::lock_against_exchanges(&repo)?) } else { None };
            // A lock that somebody has left on one of them ends this before anything else is taken back.
            delete(&repo, &refs)?;
            plan.carry_out(&repo)?;
            if options.purge_refs {
                // A hook can have run until its removal.
                let again = our_refs(&repo)?.into_iter().filter(|name| !others.contains(name)).collect::<Vec<_>>();
                delete(&repo, &again)?;
                remove_files(&repo, &refs, has_left)?;
            }
            remove_lone_lock(&repo);
        }
        // What stopped such a push is gone, unless somebody has put it into a hook of their own.
        if !options.purge_refs && !our_refs(&repo)?.is_empty() && !is_stopped(&repo)? {
            warn_of_mirrors(&repo);
        }
        cli::print_steps(&steps, options.quiet.is_on && !options.dry_run)?;
        Ok(if is_whole { Outcome::Done } else { Outcome::No })
    })
}

/// Says what publishes the records that stay, once no hook of ours stops it.
fn warn_of_mirrors(repo: &Repository) {
    let mirrors = setup::mirrored(repo);
    if mirrors.is_empty() && !repo.remotes().is_empty() {
        cli::warning(
            "what is recorded stays, and 'git push --mirror' then publishes it; 'git shiftlog deinit --purge-refs' removes it",
        );
    }
    for remote in &mirrors {
        cli::warning(&format!("a push to the mirror '{}' takes what is recorded along", outside::line(remote)));
        cli::hint(repo, "'git shiftlog deinit --purge-refs' removes what is recorded");
    }
}

/// Returns the refs that this program has made, also the copies of remotes' refs and those that keep what was lost.
fn our_refs(repo: &Repository) -> Result<Vec<String>> {
    let mut own = repo.written_notes_refs();
    own.extend([record::notes_ref(repo), notes::DEFAULT_REF.to_owned()]);
    let listed = git(["for-each-ref", "--format=%(refname)", "refs/shiftlog/", "refs/notes/"]).repository(repo);
    let is_ours = |name: &String| name.starts_with("refs/shiftlog/") || own.contains(name);
    let names = String::from_utf8_lossy(&listed.capture()?).lines().map(str::to_owned).collect::<Vec<_>>();
    Ok(names.into_iter().filter(is_ours).collect())
}

/// Says whether a notes ref has notes that this program did not write. Of a ref that the user has named, what cannot be read
/// may be such.
fn has_others(repo: &Repository, name: &str) -> bool {
    let is_named = name != notes::DEFAULT_REF;
    let is_other = |entry: notes::Entry| match notes::read(repo, entry.note_blob_id) {
        Ok(bytes) => Note::parse(&bytes).units().iter().any(Unit::is_remark),
        Err(_) => is_named,
    };
    name.starts_with("refs/notes/")
        && notes::list(repo, name).map_or(is_named, |entries| entries.into_iter().any(is_other))
}

/// Returns in words how much refs have.
fn amount(repo: &Repository, refs: &[String]) -> Result<String> {
    let mut commits = HashSet::new();
    for name in refs.iter().filter(|name| name.starts_with("refs/notes/")) {
        commits.extend(notes::list(repo, name)?.into_iter().map(|entry| entry.annotated_id));
    }
    let segments = Archive::new(repo).listing(archive::REF)?.len();
    let count = |number: usize, noun: &str| pretty::count(number as u64, noun);
    let pending = match capture::waiting(repo).len() {
        0 => String::new(),
        number => format!(", and {}", count(number, "pending capture")),
    };
    Ok(format!(
        "{} with {} of transcripts and the notes of {}{pending}",
        count(refs.len(), "ref"),
        count(segments, "segment"),
        count(commits.len(), "commit"),
    ))
}

/// Says how much there is, and asks twice.
fn is_confirmed(repo: &Repository, refs: &[String]) -> Result<bool> {
    let question = format!("Delete {}?", amount(repo, refs)?);
    for question in [&question, "This cannot be undone, and remotes may not have all of it. Delete it?"] {
        match cli::confirm(question)? {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => return Err(Error::new(Kind::Other, "refusing to delete refs without a terminal; use --yes")),
        }
    }
    Ok(true)
}

/// Removes our directory in the Git directory if nothing is in it but a lock that nobody holds.
fn remove_lone_lock(repo: &Repository) {
    let state = State::new(&repo.common_dir());
    let names: Vec<OsString> =
        std::fs::read_dir(state.root()).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    if names == ["lock"]
        && let Ok(_lock) = state.lock(Instant::now())
    {
        // A process that waits for it looks whether it is still there.
        let _ = std::fs::remove_file(state.root().join("lock"));
        let _ = std::fs::remove_dir(state.root());
    }
}

/// Removes a directory, and those in it, if no file is in any of them.
fn remove_empty(directory: &Path) {
    if directory.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        std::fs::read_dir(directory).into_iter().flatten().flatten().for_each(|entry| remove_empty(&entry.path()));
        // Fails if something is in it.
        let _ = std::fs::remove_dir(directory);
    }
}

/// Deletes refs, all or none.
fn delete(repo: &Repository, refs: &[String]) -> Result<()> {
    if refs.is_empty() {
        return Ok(());
    }
    let _lock = State::new(&repo.common_dir()).lock(Instant::now() + LOCK_TIMEOUT)?;
    let input: String = refs.iter().map(|name| format!("delete {name}\n")).collect();
    git(["update-ref", "--no-deref", "--stdin"]).repository(repo).input(input.into_bytes()).capture().map(drop)
}

/// Removes our files in the Git directory, once the refs are deleted. `has_left` says that something is still installed, which
/// the next run must know about.
fn remove_files(repo: &Repository, refs: &[String], has_left: bool) -> Result<()> {
    let directory = repo.common_dir().join("shiftlog");
    // Git leaves the topmost directories of refs that are gone.
    ["refs/shiftlog", "logs/refs/shiftlog"].iter().for_each(|name| remove_empty(&repo.common_dir().join(name)));
    // They are the user's, and nowhere else.
    let keeps_originals = rules::has_originals(&repo.common_dir());
    if keeps_originals {
        cli::warning(&format!("'{}' stays, with files that rules have replaced", directory.join("rules").display()));
        cli::hint(repo, "'git shiftlog rules clean --scope=repo' puts them back");
    }
    for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
        if has_left && entry.file_name() == "installed" || keeps_originals && entry.file_name() == "rules" {
            continue;
        }
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = if is_directory { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(|error| Error::io("remove", &path, error))?;
    }
    // Something else may be in it.
    let _ = std::fs::remove_dir(&directory);
    let others = refs.iter().filter(|name| name.starts_with("refs/notes/") && !name.starts_with(notes::DEFAULT_REF));
    let others: String = others.map(|name| format!(" {}", outside::shell(name))).collect();
    for remote in repo.remotes() {
        let patterns = format!("\"refs/notes/shiftlog*\" \"refs/shiftlog/*\"{others}");
        cli::hint(repo, &format!("'git ls-remote {remote} {patterns}' lists what it has"));
    }
    if !refs.is_empty() {
        cli::hint(repo, "'git gc' removes the objects once they are two weeks old");
    }
    Ok(())
}
