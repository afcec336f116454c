//! `git shiftlog sync`: exchange conversations with a remote.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use super::removal;
use crate::cli::{self, NotesRef, Outcome, Quiet};
use crate::error::{Error, Kind, Result};
use crate::git::{Asking, Repository};
use crate::remap::Scope;
use crate::share::sync::{self, Level, Synced, Syncer};
use crate::{outside, pretty};

/// Exchange conversations with a remote
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-sync", override_usage = "git shiftlog sync [pull|push] [<options>] [<remote>]")]
pub struct Options {
    /// Leave transcripts out
    #[arg(long, conflicts_with = "all")]
    notes_only: bool,
    /// Exchange transcripts too, also where shiftlog.push says notes
    #[arg(long, conflicts_with = "notes_only")]
    all: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    notes_ref: NotesRef,
    #[command(flatten)]
    quiet: Quiet,
    /// 'pull' or 'push', and the remote
    #[arg(value_name = "remote", num_args = 0..=2)]
    words: Vec<String>,
}

/// Which way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Pull,
    Push,
    Both,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        // Unless the purge is finished first, the words would be sent, and nothing can be stored.
        removal::finish_before(&repo, options.dry_run)?;
        if !options.dry_run {
            crate::command::open::store_missed(&repo);
        }
        let (way, remote) = words(&options.words)?;
        let remote = remote.map_or_else(|| repo.default_remote(), Ok)?;
        require_remote(&repo, &remote)?;
        let plan = plan(&repo, &options, way, &remote)?;
        let notes_ref = options.notes_ref.full_name(&repo);
        let asking = if options.quiet.is_on { Asking::Quietly } else { Asking::Allowed };
        let synced = Syncer::new(&repo, &notes_ref, asking).sync(&remote, plan)?;
        report(&options, &remote, plan, &synced)?;
        if plan.pull != Level::None && !plan.is_dry_run {
            // What came may belong to commits that came earlier, by a squash on the server.
            if let Err(error) = crate::remap::remap_new(&repo, &notes_ref, &Scope::Notes) {
                cli::warning(&error.to_string());
            }
        }
        synced.left_out.iter().for_each(|entry| cli::warning(entry));
        synced.refused.iter().for_each(cli::error);
        if !synced.kept.is_empty() {
            cli::warning(&format!(
                "'{remote}' may still have what was purged, in copies of our refs that 'git push --mirror' has put there"
            ));
            let names = synced.kept.join(" ");
            let mirror = format!("remote.{remote}.mirror");
            // Git deletes no single refs of a mirror.
            let options = match repo.config_bool(&mirror) {
                Some(true) => format!("-c {} ", outside::shell(&format!("{mirror}=false"))),
                _ => String::new(),
            };
            let remote = outside::shell(&remote);
            cli::hint(&repo, &format!("git {options}push --no-verify {remote} --delete {names}"));
        }
        if synced.has_purged {
            let does = match repo.config_string("shiftlog.trustPurges").as_deref() {
                Some("signed") => "lists them, and removes here what a trusted signature asks for",
                _ => "lists them and does it here",
            };
            let what = "others have removed words that are here; 'git shiftlog purge --received'";
            cli::hint(&repo, &format!("{what} {does}"));
        }
        if synced.lacks_words && options.all && way != Way::Push && !options.quiet.is_on && !options.json {
            let remote = outside::line(&remote);
            cli::hint(&repo, &format!("'{remote}' has no transcripts: who recorded these notes has not shared them"));
        }
        if way == Way::Both && plan.push == Level::None && !options.quiet.is_on && !options.json {
            let (_, key) = Level::decided(&repo, &remote)?;
            cli::hint(
                &repo,
                &match key.as_str() {
                    "shiftlog.push" => "sharing is off; 'git shiftlog init --share' turns it on".to_owned(),
                    key => format!("nothing is sent to '{}', as {} says", outside::line(&remote), outside::line(key)),
                },
            );
        }
        Ok(if synced.refused.is_empty() { Outcome::Done } else { Outcome::No })
    })
}

fn words(words: &[String]) -> Result<(Way, Option<String>)> {
    let (way, rest) = match words.first().map(String::as_str) {
        Some("pull") => (Way::Pull, &words[1..]),
        Some("push") => (Way::Push, &words[1..]),
        _ => (Way::Both, words),
    };
    match rest {
        [] => Ok((way, None)),
        [remote] if remote.is_empty() => Err(Error::new(Kind::Usage, "the name of the remote is empty")),
        [remote] => Ok((way, Some(remote.clone()))),
        _ => Err(Error::new(Kind::Usage, "more than one remote")),
    }
}

/// Refuses a word that names neither a remote nor a repository.
fn require_remote(repo: &Repository, remote: &str) -> Result<()> {
    let remotes = repo.remotes();
    let is_place = remote.contains(['/', ':']) || std::path::Path::new(remote).exists();
    if is_place || remotes.iter().any(|name| name == remote) {
        return Ok(());
    }
    if ["pull", "push"].contains(&remote) {
        return Err(
            Error::new(Kind::Usage, "'pull' and 'push' cannot be used together").hint("'git shiftlog sync' does both")
        );
    }
    let error = Error::other(format!("no such remote '{remote}'"));
    let error = match remotes.is_empty() {
        true => error.hint("git remote add <name> <url>"),
        false => error.hint(format!("the remotes are: {}", remotes.join(", "))),
    };
    let action = ["pull", "push"].into_iter().find(|action| action.starts_with(remote) || remote.starts_with(action));
    Err(match action {
        Some(action) => error.hint(format!("git shiftlog sync {action}")),
        None => error,
    })
}

fn plan(repo: &Repository, options: &Options, way: Way, remote: &str) -> Result<sync::Exchange> {
    let (configured, key) = Level::decided(repo, remote)?;
    let asked = match (options.notes_only, options.all) {
        (true, _) => Some(Level::Notes),
        (_, true) => Some(Level::All),
        _ => None,
    };
    // What is fetched harms nobody; a team that shares notes alone has nothing else to fetch.
    let pull = asked.unwrap_or(if configured == Level::Notes { Level::Notes } else { Level::All });
    // Only a push that is asked for in words goes beyond the configuration.
    let push = match way {
        Way::Push => asked.unwrap_or(configured),
        Way::Both if configured != Level::None => asked.unwrap_or(configured),
        _ => Level::None,
    };
    if way == Way::Push && push == Level::None {
        let once = "'git shiftlog sync push --notes-only' or '--all' pushes once";
        if key == "shiftlog.push" {
            return Err(Error::other("shiftlog.push is 'none': nothing may leave this machine")
                .hint("'git shiftlog init --share' shares notes, 'git shiftlog init --share=all' transcripts too")
                .hint(once));
        }
        let key = outside::line(&key);
        return Err(Error::other(format!("{key} is 'none': nothing may go to '{}'", outside::line(remote))).hint(once));
    }
    Ok(sync::Exchange { pull: if way == Way::Push { Level::None } else { pull }, push, is_dry_run: options.dry_run })
}

fn report(options: &Options, remote: &str, plan: sync::Exchange, synced: &Synced) -> Result<()> {
    let (received, sent) = (synced.received, synced.sent);
    let text = if options.json {
        let amount = |amount: crate::share::sync::Amount| serde_json::json!({"notes": amount.notes, "segments": amount.segments});
        let refused: Vec<String> = synced.refused.iter().map(ToString::to_string).collect();
        let object = serde_json::json!({"version": 1, "remote": remote, "dryRun": plan.is_dry_run,
            "received": amount(received), "sent": amount(sent), "sentMarks": synced.has_sent_marks, "refused": refused, "would": synced.would});
        outside::json(&object) + "\n"
    } else if options.quiet.is_on {
        String::new()
    } else if plan.is_dry_run && synced.would.is_empty() {
        "nothing to do\n".to_owned()
    } else if plan.is_dry_run {
        synced.would.iter().map(|line| format!("would {line}\n")).collect()
    } else {
        let count = |number: usize, noun: &str| pretty::count(number as u64, noun);
        let removed = if synced.has_sent_marks { ", and what a purge has marked" } else { "" };
        format!(
            "{remote}: received {}, {}; sent {}, {}{removed}\n",
            count(received.notes, "note"),
            count(received.segments, "segment"),
            count(sent.notes, "note"),
            count(sent.segments, "segment"),
        )
    };
    cli::print(&text)
}
