//! `git shiftlog purge`: remove a conversation, or a secret inside it, for good.

use std::collections::HashSet;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::json;

use super::target::{Named, targets};
use crate::archive::{self, Archive};
use crate::capture::{self, Lock, State};
use crate::cli::{self, NotesRef, Outcome, Progress};
use crate::error::{Error, Kind, Result};
use crate::find;
use crate::git::sign::State as Signed;
use crate::git::{ObjectId, Repository};
use crate::progress::silent;
use crate::record::{Reader, may_be_fetched, redaction};
use crate::share::purge::{self, Purged, Target, carry_out, is_unfinished, plan};
use crate::share::sync;
use crate::transcript::SessionKey;
use crate::upkeep::verify::{Verified, verify};
use crate::{outside, pretty};

/// How long to wait for hooks that are running.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Remove conversations permanently
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-purge",
    override_usage = "git shiftlog purge [<options>] (<commit>... | --session=<id> | --match=<regex> | --secrets | --before=<date> | --received)"
)]
pub struct Options {
    /// Remove the session with this id, and never store it again
    #[arg(long, value_name = "id", group = "target")]
    session: Option<String>,
    /// Remove what this regular expression matches, and leave the rest
    #[arg(long = "match", value_name = "regex", group = "target")]
    pattern: Option<String>,
    /// Remove the secrets that 'git shiftlog scan' finds
    #[arg(long, group = "target")]
    secrets: bool,
    /// Remove what was captured before a date
    #[arg(long, value_name = "date", group = "target")]
    before: Option<String>,
    /// Remove here what others have removed
    #[arg(long, group = "target")]
    received: bool,
    /// Allow removing everything that is recorded here
    #[arg(long)]
    all: bool,
    /// Say what would be removed, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short = 'y', long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    notes_ref: NotesRef,
    /// Commits, and ranges of commits
    #[arg(value_name = "commit", group = "target")]
    commits: Vec<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| purge(&cli::repository()?, &options))
}

/// Does what `git shiftlog purge --secrets` does.
pub(super) fn secrets(repo: &Repository, is_confirmed: bool, is_dry_run: bool) -> Result<Outcome> {
    let mut options = Options::parse_from(["git-shiftlog-purge", "--secrets"]);
    (options.yes, options.dry_run) = (is_confirmed, is_dry_run);
    purge(repo, &options)
}

fn purge(repo: &Repository, options: &Options) -> Result<Outcome> {
    let notes_ref = options.notes_ref.full_name(repo);
    let finished = if options.dry_run { None } else { finish_interrupted(repo)? };
    // HEAD may be elsewhere by the time of the answer.
    let named = match commits(repo, &notes_ref, &options.commits) {
        Err(error) if error.kind() == Kind::Missing => {
            cli::error(&error);
            return Ok(Outcome::No);
        }
        named => named?,
    };
    let wanted = target(repo, options, &named)?;
    if !options.dry_run {
        // What waits, and what was fetched, may hold it too.
        cli::tell(repo, &capture::recorder(repo, &notes_ref).finish());
        sync::join_fetched(repo, &notes_ref)?;
    }
    let mut progress = Progress::new(!options.json);
    let plan = plan(repo, &notes_ref, wanted, &mut |title, done, total| progress.tell(title, done, total))?;
    progress.end();
    if options.received && (!options.json || options.dry_run) {
        list(options, &plan)?;
    }
    if plan.is_empty() {
        if let Some(is_gone) = finished.filter(|_| options.received) {
            return Ok(if is_gone { Outcome::Done } else { Outcome::No });
        }
        let what = if options.received {
            "others have removed nothing that is recorded here"
        } else {
            "nothing that is recorded matches"
        };
        let error = Error::new(Kind::Missing, what);
        // What is removed for good is named in full.
        let whole = options.session.as_deref().and_then(|id| Reader::beside(repo, &notes_ref).find_session(id).ok()?);
        cli::error(&match whole {
            Some((key, _)) => error.hint(format!("the whole id is needed: --session={}", outside::shell(&key.id))),
            None => error,
        });
        return Ok(Outcome::No);
    }
    // The segments that a record follows are known only where they are.
    let may_come_back = plan.absent > 0 && may_be_fetched(repo);
    let is_refused = !options.all && is_everything(repo, options, &plan)?;
    if !options.json {
        // Nothing is removed before somebody has agreed.
        tell(&plan, options.dry_run || is_refused || may_come_back || !options.yes)?;
    }
    if options.dry_run {
        if is_refused {
            cli::warning("this is everything that is recorded here: it is removed only with --all");
        }
        if may_come_back {
            cli::warning(&format!("{}; nothing is removed before they are", words_elsewhere(&plan)));
        }
        return Ok(Outcome::Done);
    }
    if is_refused {
        return Err(Error::other("refusing to remove everything that is recorded here")
            .hint("'git shiftlog purge --all' with the same options does it"));
    }
    if may_come_back {
        return Err(Error::other(words_elsewhere(&plan))
            .hint("'git shiftlog sync pull --all' fetches transcripts that others share"));
    }
    if !options.yes && !is_confirmed()? {
        return Ok(Outcome::No);
    }
    // While somebody thought about it, a session may have gone on: look again, and let no hook in between.
    let _lock = lock(repo)?;
    let mut plan = crate::share::purge::plan(repo, &notes_ref, target(repo, options, &named)?, &mut silent())?;
    plan.signed = signed(repo, &notes_ref, &plan.noted);
    let purged = carry_out(repo, &notes_ref, &plan)?;
    report(repo, options, &plan, &purged)?;
    let is_gone = purged.left.is_empty() && purged.other_refs.is_empty();
    Ok(if is_gone { Outcome::Done } else { Outcome::No })
}

/// Returns the records of some commits that have a good signature, if records are signed here.
fn signed(repo: &Repository, notes_ref: &str, commit_ids: &[ObjectId]) -> HashSet<(ObjectId, SessionKey)> {
    if !repo.signs(notes_ref) {
        return HashSet::new();
    }
    let verified = verify(repo, notes_ref, commit_ids).unwrap_or_default();
    let (good, other): (Vec<_>, Vec<_>) = verified.iter().partition(|each| each.signature.state == Signed::Good);
    let keys = |verified: Vec<&Verified>| -> HashSet<(ObjectId, SessionKey)> {
        verified.into_iter().map(|each| (each.commit_id, each.key.clone())).collect()
    };
    &keys(good) - &keys(other)
}

/// Says of how many conversations words may still be fetched.
fn words_elsewhere(plan: &purge::Removal) -> String {
    format!("the words of {} are not here yet", count(plan.absent, "conversation"))
}

/// Says whether a selection leaves nothing of what is recorded. One commit or one session that is named is what the user
/// means, even if there is no other.
fn is_everything(repo: &Repository, options: &Options, plan: &purge::Removal) -> Result<bool> {
    if let Some(pattern) = &options.pattern {
        return Ok(matches_all_words(pattern));
    }
    let is_one = |word: &String| !word.contains("..");
    if options.session.is_some() || options.commits.len() == 1 && options.commits.iter().all(is_one) {
        return Ok(false);
    }
    let segments = Archive::new(repo).listing(archive::REF)?.len();
    // Words that follow the last commit of a session are on no commit: a selection of all commits does not name them. What
    // an earlier tool recorded has its words in the notes. What others have removed is listed by them.
    let is_every_note = plan.notes > 0 && plan.notes_left == 0 && !options.received;
    Ok(segments > 0 && plan.dropped == segments || is_every_note)
}

/// Says whether a pattern fits nearly any text: it matches most letters, or what is between two.
fn matches_all_words(pattern: &str) -> bool {
    let pattern = regex::bytes::RegexBuilder::new(pattern).unicode(false).build();
    pattern.is_ok_and(|pattern| (b'a'..=b'z').filter(|letter| pattern.is_match(&[*letter])).count() > 13)
}

/// Returns the commits that words name. Of a range these are the commits with a conversation or evidence.
///
/// # Errors
///
/// [`Kind::Missing`] if a range has none; another kind if a word names no commit.
fn commits(repo: &Repository, notes_ref: &str, words: &[String]) -> Result<Vec<ObjectId>> {
    cli::without_paths(repo, words)?;
    let is_plain = |word: &String| !word.contains("..") && !word.starts_with('^') && !word.ends_with("^@");
    let words = match words.iter().all(is_plain) {
        true => words.to_vec(),
        false => {
            let named = targets(&Reader::beside(repo, notes_ref), words, true)?;
            let commit = |target| match target {
                Named::Commit(revision) => Ok(revision),
                Named::Session { key, .. } => {
                    let id = outside::shell(&key.id);
                    Err(Error::new(Kind::Usage, format!("'{}' is a session", outside::line(&key.id)))
                        .hint(format!("git shiftlog purge --session={id}    # removes it")))
                }
            };
            named.into_iter().map(commit).collect::<Result<_>>()?
        }
    };
    let session = |word: &String| Some(Reader::beside(repo, notes_ref).find_session(word).ok()??.0);
    let resolve = |word: &String| {
        repo.resolve(word).map_err(|error| match error.kind() {
            Kind::Missing => match session(word) {
                Some(key) => Error::other(error.to_string()).hint(format!(
                    "git shiftlog purge --session={}    # removes that session",
                    outside::shell(&key.id)
                )),
                None => Error::other(error.to_string()),
            },
            _ => error,
        })
    };
    words.iter().map(resolve).collect()
}

fn lock(repo: &Repository) -> Result<Lock> {
    State::new(&repo.common_dir()).lock(Instant::now() + LOCK_TIMEOUT)
}

/// Finishes a purge that was interrupted, and says so. Returns whether everything is gone; `None` if there was none.
///
/// # Errors
///
/// As [`carry_out`].
pub(super) fn finish_interrupted(repo: &Repository) -> Result<Option<bool>> {
    let is_unfinished = is_unfinished(repo);
    let finished = {
        let _lock = lock(repo)?;
        crate::share::purge::finish_interrupted(repo)?
    };
    let Some(purged) = finished else { return Ok(None) };
    if is_unfinished {
        cli::warning(&format!(
            "a purge was interrupted; it is finished now: {} gone from this repository",
            count(purged.objects, "object")
        ));
    }
    tell_what_is_left(&purged);
    Ok(Some(purged.left.is_empty() && purged.other_refs.is_empty()))
}

fn target(repo: &Repository, options: &Options, named: &[ObjectId]) -> Result<Target> {
    if let Some(id) = &options.session {
        return Ok(Target::Session(id.clone()));
    }
    if let Some(pattern) = &options.pattern {
        if pattern.is_empty() {
            return Err(Error::new(Kind::Usage, "option '--match' requires a value"));
        }
        find::expression(pattern)?;
        return redaction::of_pattern(pattern).map(Target::Matches);
    }
    if options.secrets {
        return redaction::scanner(repo).map(Target::Matches);
    }
    if let Some(date) = &options.before {
        return repo.parse_date(date).map(Target::Before);
    }
    if options.received {
        return only_signed(repo).map(|only_signed| Target::Received { only_signed });
    }
    if named.is_empty() {
        let message = "name a commit, or give --session, --match, --secrets, --before or --received";
        return Err(Error::new(Kind::Usage, message));
    }
    Ok(Target::Commits(named.to_vec()))
}

/// Says whether only marks with a trusted signature are accepted: `shiftlog.trustPurges`.
fn only_signed(repo: &Repository) -> Result<bool> {
    match repo.config_string("shiftlog.trustPurges").as_deref() {
        None | Some("all") => Ok(false),
        Some("signed") => Ok(true),
        Some(other) => Err(Error::new(Kind::Usage, format!("bad value '{other}' for shiftlog.trustPurges"))
            .hint("it is 'all' or 'signed'")),
    }
}

/// Lists what others have removed, by who did.
fn list(options: &Options, plan: &purge::Removal) -> Result<()> {
    if options.json {
        let object = json!({"version": 1, "received": received(plan)});
        return cli::print(&(outside::json(&object) + "\n"));
    }
    let mut text = String::new();
    for (by, from) in &plan.received {
        let mut parts = Vec::new();
        parts.extend((from.segments > 0).then(|| count(from.segments, "segment")));
        parts.extend(from.sessions.iter().map(|session| format!("session {session}")));
        parts.extend((from.elsewhere > 0).then(|| format!("{} that is not here", from.elsewhere)));
        let note = if from.is_taken { "" } else { " (left alone: shiftlog.trustPurges is 'signed')" };
        text += &outside::line(&format!("{by}: {}{note}", parts.join(", ")));
        text.push('\n');
    }
    cli::print(&text)
}

fn received(plan: &purge::Removal) -> Vec<serde_json::Value> {
    let object = |(by, from): (&String, &crate::share::purge::Received)| {
        json!({"by": by, "segments": from.segments, "sessions": from.sessions, "elsewhere": from.elsewhere,
            "taken": from.is_taken})
    };
    plan.received.iter().map(object).collect()
}

fn count(number: usize, noun: &str) -> String {
    pretty::count(number as u64, noun)
}

fn tell(plan: &purge::Removal, is_dry_run: bool) -> Result<()> {
    let (remove, change) = if is_dry_run { ("would remove", "change") } else { ("removing", "changing") };
    let mut text = format!(
        "{remove} {} and {change} {} and {}\n",
        count(plan.dropped, "segment"),
        count(plan.changed, "segment"),
        count(plan.notes, "note"),
    );
    let is_of = |other: &SessionKey, session: &SessionKey| {
        other.agent == session.agent && other.parent_id() == Some(&session.id)
    };
    let is_told = |session: &&SessionKey| !plan.sessions.iter().any(|parent| is_of(session, parent));
    for session in plan.sessions.iter().filter(is_told) {
        let sub_agents = plan.sessions.iter().filter(|other| is_of(other, session)).count();
        let and = if sub_agents > 0 { format!(" and {}", count(sub_agents, "sub-agent")) } else { String::new() };
        text += &format!("session {session}{and}\n");
    }
    plan.evidence.iter().for_each(|name| text += &format!("evidence {}\n", outside::line(name)));
    cli::print(&text)
}

/// Asks on the terminal; without one, somebody must have said so before.
fn is_confirmed() -> Result<bool> {
    let answer = cli::confirm("This cannot be undone. Remove it?")?;
    answer.ok_or_else(|| Error::other("refusing to purge without a terminal; use --yes"))
}

fn report(repo: &Repository, options: &Options, plan: &purge::Removal, purged: &Purged) -> Result<()> {
    if options.json {
        let sessions: Vec<String> = plan.sessions.iter().map(ToString::to_string).collect();
        let object = json!({"version": 1, "dropped": plan.dropped, "changed": plan.changed, "notes": plan.notes,
            "sessions": sessions, "evidence": plan.evidence, "received": received(plan), "objects": purged.objects,
            "left": purged.left.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "otherRefs": purged.other_refs, "agentFiles": purged.agent_files, "remotes": purged.remotes});
        return cli::print(&(outside::json(&object) + "\n"));
    }
    let text = format!("{} gone from this repository\n", count(purged.objects, "object"));
    cli::print(&text)?;
    tell_what_is_left(purged);
    for path in &purged.agent_files {
        cli::warning(&format!("the agent's own file still has the words: '{}'", path.display()));
    }
    for remote in &purged.remotes {
        cli::hint(repo, &format!("git shiftlog sync push {remote}    # replaces what '{remote}' has"));
    }
    if !purged.remotes.is_empty() {
        cli::hint(repo, "colleagues then run 'git shiftlog sync pull' and 'git shiftlog purge --received'");
        cli::hint(repo, "the server keeps unreachable objects until its own 'git gc' prunes them");
    }
    Ok(())
}

fn tell_what_is_left(purged: &Purged) {
    if !purged.left.is_empty() {
        let error = Error::other(format!(
            "{} cannot be removed: kept packs or borrowed objects have them",
            count(purged.left.len(), "object")
        ));
        cli::error(&error);
    }
    for name in &purged.other_refs {
        cli::error(
            &Error::other(format!("'{name}' still has the removed words")).hint(format!("git update-ref -d {name}")),
        );
    }
}
