//! `git shiftlog verify`: whether the records of commits are intact, and who signed them.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use crate::cli::{self, Json, NotesRef, Outcome, Silent};
use crate::error::{Error, Kind};
use crate::git::sign::SignatureState;
use crate::git::{Names, Order, Range};
use crate::share::sync;
use crate::upkeep::verify::{Verification, Verified, verify};
use crate::{outside, pretty};

/// Check that records are intact, and who signed them
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-verify", override_usage = "git shiftlog verify [<options>] [<revision-range>]")]
pub struct Options {
    /// Fail unless each record has a good signature
    #[arg(long)]
    signed: bool,
    /// Fail unless each record was made for the tree of its commit
    #[arg(long)]
    own_tree: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    notes_ref: NotesRef,
    #[command(flatten)]
    quiet: Silent,
    /// Commits; HEAD alone by default
    #[arg(value_name = "revision-range")]
    revisions: Vec<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        cli::without_paths(&repo, &options.revisions)?;
        let notes_ref = options.notes_ref.full_name(&repo);
        options.notes_ref.warn_if_missing(&repo);
        let mut commit_ids = Vec::new();
        if options.revisions.is_empty() {
            commit_ids.push(repo.resolve("HEAD")?);
        } else {
            let mut range = Range::default();
            options.revisions.iter().try_for_each(|revision| repo.add_to_range(&mut range, revision))?;
            for step in repo.walk(&range, Order::NewestFirst)? {
                commit_ids.push(step?.commit_id);
            }
        }
        let Verification { records: verified, unread } = verify(&repo, &notes_ref, &commit_ids)?;
        if verified.is_empty() && options.quiet.is_on {
            return Ok(Outcome::No);
        }
        if !options.quiet.is_on {
            let warn =
                |(id, what): &(_, String)| cli::warning(&format!("the note of {id} is not verified whole: {what}"));
            unread.iter().for_each(warn);
        }
        if verified.is_empty() && !unread.is_empty() {
            return Ok(Outcome::No);
        }
        if verified.is_empty() {
            let error = Error::new(Kind::Missing, "no record on these commits");
            cli::error(&match sync::has_unjoined(&repo, &notes_ref) {
                true => error.hint("fetched notes are verified once 'git shiftlog sync pull' has joined them"),
                false => error,
            });
            return Ok(Outcome::No);
        }
        let mut names = repo.names();
        if !options.quiet.is_on {
            let line = |each: &Verified| if options.json.is_on { object(each) } else { line(&mut names, each) };
            let text: String = verified.iter().map(line).collect();
            cli::print(&text)?;
        }
        let is_fine = |each: &Verified| {
            each.problem.is_none()
                && each.newer_version.is_none()
                && each.signature.state != SignatureState::Bad
                && (!options.signed || each.signature.state == SignatureState::Good)
                && (!options.own_tree || each.is_own_tree == Some(true))
        };
        Ok(if unread.is_empty() && verified.iter().all(is_fine) { Outcome::Done } else { Outcome::No })
    })
}

fn state(each: &Verified) -> &'static str {
    match (&each.problem, each.is_elsewhere) {
        _ if each.newer_version.is_some() => "newer",
        (Some(_), _) => "damaged",
        (None, true) => "elsewhere",
        (None, false) => "intact",
    }
}

fn line(names: &mut Names<'_>, each: &Verified) -> String {
    let mut line = format!("{} {} {}", names.shorten(each.commit_id), each.key, state(each));
    if let Some(problem) = &each.problem {
        line += &format!(" ({problem})");
    }
    if let Some(version) = each.newer_version {
        line += &format!(" (format {version}; only a newer version of git-shiftlog can verify it)");
    }
    line += ", ";
    line += &pretty::provenance(each);
    outside::line(&line) + "\n"
}

fn object(each: &Verified) -> String {
    let object = json!({"version": 1, "commit": each.commit_id.to_string(), "session": each.key.to_string(),
        "state": state(each), "problem": each.problem, "signature": each.signature.state.name(),
        "signer": each.signature.signer, "key": each.signature.key,
        "writtenBy": each.written_by.map(|id| id.to_string()), "writer": each.writer,
        "carriedBy": each.carried_by, "ownTree": each.is_own_tree});
    outside::json(&object) + "\n"
}
