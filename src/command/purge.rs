//! `git shiftlog purge`: remove a conversation, or a secret inside it, for good.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use super::removal::{self, Refusal, RemovalRequest};
use super::target::{Named, targets};
use crate::cli::{self, NotesRef, Outcome};
use crate::error::{Error, Kind, Result};
use crate::find;
use crate::git::{ObjectId, Repository};
use crate::outside;
use crate::record::{Reader, redaction};
use crate::share::purge::Target;

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
    #[arg(long = "match", value_name = "regex", group = "target", value_hint = clap::ValueHint::Other)]
    pattern: Option<String>,
    /// Remove the secrets that 'git shiftlog scan' finds
    #[arg(long, group = "target")]
    secrets: bool,
    /// Remove what was captured before a date
    #[arg(long, value_name = "date", value_hint = clap::ValueHint::Other, group = "target")]
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
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let notes_ref = options.notes_ref.full_name(&repo);
        if options.notes_ref.name().is_some() && repo.tip(&notes_ref)?.is_none() {
            return Err(Error::other(format!("there is no notes ref '{}'", outside::line(&notes_ref))));
        }
        let finished = removal::finish_first(&repo, options.dry_run)?;
        // HEAD may be elsewhere by the time of the answer.
        let named = match commits(&repo, &notes_ref, &options.commits) {
            Err(error) if error.kind() == Kind::Missing => {
                cli::error(&error);
                return Ok(Outcome::No);
            }
            named => named?,
        };
        let request = RemovalRequest {
            notes_ref,
            target: target(&repo, &options, named)?,
            refusal: refusal(&options),
            finished,
            is_dry_run: options.dry_run,
            is_confirmed: options.yes,
            is_json: options.json,
        };
        removal::remove(&repo, &request)
    })
}

/// Says when a removal of everything is refused. A pattern leaves the words around what it matches.
fn refusal(options: &Options) -> Refusal {
    match &options.pattern {
        _ if options.all => Refusal::Never,
        Some(pattern) if matches_all_words(pattern) => Refusal::Always,
        Some(_) => Refusal::Never,
        None => Refusal::OfEverything,
    }
}

/// Says whether a pattern fits nearly any text: a lone letter, or a good part of ordinary words.
fn matches_all_words(pattern: &str) -> bool {
    const SAMPLE: &[u8] = b"the quick brown fox jumps over the lazy dog and runs away";
    let Ok(pattern) = regex::bytes::RegexBuilder::new(pattern).unicode(false).multi_line(true).build() else {
        return false;
    };
    let matched: usize = pattern.find_iter(SAMPLE).map(|found| found.len()).sum();
    matched * 4 > SAMPLE.len() || (b'a'..=b'z').any(|letter| pattern.is_match(&[letter]))
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

fn target(repo: &Repository, options: &Options, named: Vec<ObjectId>) -> Result<Target> {
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
        return repo.parse_whole_date(date).map(Target::Before);
    }
    if options.received {
        return removal::only_signed(repo).map(|only_signed| Target::Received { only_signed });
    }
    if named.is_empty() {
        let message = "name a commit, or give --session, --match, --secrets, --before or --received";
        return Err(Error::new(Kind::Usage, message));
    }
    Ok(Target::Commits(named))
}
