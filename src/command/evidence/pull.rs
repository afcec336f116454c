//! Fetching the logs that an org has made since the last time, and attaching them to a commit.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::{TIMEOUT, removal, tell_attached};
use crate::cli::{self, Interruption, Outcome, Progress};
use crate::error::{Error, Kind, Result};
use crate::evidence::apex::{self, Kept, Listing, LogQuery, Pull, Pulled};
use crate::evidence::{self, Observed};
use crate::git::{ObjectId, Repository};
use crate::{outside, pretty};

/// The most logs that one pull attaches: a note is read whole by everything that lists commits.
const MAX_ATTACHED: usize = 100;

/// The options of `pull`.
#[derive(Debug, clap::Args)]
pub struct PullOptions {
    /// With 'pull', fetch logs that began since a date, instead of since the last pull
    #[arg(long, value_name = "date", value_hint = clap::ValueHint::Other)]
    since: Option<String>,
    /// With 'pull', fetch logs that began until a date
    #[arg(long, value_name = "date", value_hint = clap::ValueHint::Other)]
    until: Option<String>,
    /// With 'pull', fetch the logs of this user
    #[arg(long, value_name = "name")]
    user: Option<String>,
    /// With 'pull', fetch only logs whose status tells a failure
    #[arg(long)]
    failed: bool,
    /// With 'pull', fetch at most this many logs, the newest
    #[arg(long, value_name = "number")]
    max_count: Option<usize>,
    /// With 'pull', ask this org, by its alias or the name of a user
    #[arg(short = 'o', long, value_name = "org")]
    target: Option<String>,
    /// With 'pull', attach the logs to this commit
    #[arg(long, value_name = "commit")]
    attach: Option<String>,
}

impl PullOptions {
    /// Returns the first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--since", self.since.is_some()),
            ("--until", self.until.is_some()),
            ("--user", self.user.is_some()),
            ("--failed", self.failed),
            ("--max-count", self.max_count.is_some()),
            ("--target", self.target.is_some()),
            ("--attach", self.attach.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// Fetches logs into `apexlogs/` of the current directory, and attaches them if a commit is named.
pub fn pull(repo: &Repository, options: &super::Options, words: &[String]) -> Result<Outcome> {
    match words {
        [source] if source == "apex" => {}
        [] => return Err(Error::new(Kind::Usage, "name what to pull from: apex")),
        [source] => return Err(Error::new(Kind::Usage, format!("cannot pull from '{source}'; known: apex"))),
        [_, word, ..] => return Err(super::too_many(word)),
    }
    if options.has_words && options.pull.attach.is_none() {
        return Err(Error::new(Kind::Usage, "option '--words' needs '--attach'"));
    }
    let here = cli::current_directory()?;
    let commit_id = options.pull.attach.as_deref().map(|revision| repo.resolve(revision)).transpose()?;
    let wanted = wanted(repo, &options.pull)?;
    let fatal = |failure: apex::Failure| failure.to_error();
    let directory = here.clone();
    let interruption = Interruption::catch(move || apex::remove_unfinished(&directory))?;
    let mut progress = Progress::new(!options.writing.is_quiet() && !options.json);
    let mut pull = Pull::new(repo, &here, wanted).map_err(fatal)?;
    let listing = pull.list(|count| progress.tell("Listing logs", count, 0)).map_err(fatal)?;
    if commit_id.is_some() && listing.after() > MAX_ATTACHED {
        let message =
            format!("{} logs are too many for one commit, which gets {MAX_ATTACHED} at most", listing.after());
        return Err(Error::other(message).hint("choose some with --failed, --since or --max-count"));
    }
    if options.dry_run {
        return tell_planned(&listing);
    }
    removal::finish_before(repo, false)?;
    let total = listing.logs.len();
    let pulled = pull.fetch(&listing, |done| progress.tell("Fetching logs", done, total)).map_err(fatal)?;
    progress.end();
    drop(interruption);
    tell(options, &pulled)?;
    let are_attached = match commit_id {
        Some(commit_id) => attach(repo, options, commit_id, &here, &pulled)?,
        None => true,
    };
    if let Some(problem) = &listing.problem {
        cli::error(&Error::other("some logs are not listed").because(outside::line(problem)));
    }
    pull.finish(&listing, &pulled)?;
    let has_all = listing.problem.is_none() && pulled.iter().all(|log| matches!(log.kept, Kept::Saved { .. }));
    Ok(if has_all && are_attached { Outcome::Done } else { Outcome::Partly })
}

fn wanted(repo: &Repository, options: &PullOptions) -> Result<LogQuery> {
    let date = |text: &Option<String>| text.as_deref().map(|text| repo.parse_date(text)).transpose();
    if let Some(user) = options.user.as_deref().filter(|user| user.is_empty() || user.contains(char::is_control)) {
        return Err(Error::new(Kind::Usage, format!("'{}' is not the name of a user", outside::line(user))));
    }
    if options.max_count == Some(0) {
        return Err(Error::new(Kind::Usage, "the number of logs must be at least 1"));
    }
    Ok(LogQuery {
        target: options.target.clone(),
        since: date(&options.since)?,
        until: date(&options.until)?,
        user: options.user.clone(),
        is_failed: options.failed,
        max_count: options.max_count,
    })
}

/// Prints which logs would be fetched.
fn tell_planned(listing: &Listing) -> Result<Outcome> {
    let line = |log: &apex::Log| Some(format!("would fetch {}, {}\n", log.file()?, pretty::size(log.size())));
    cli::print(&listing.logs.iter().filter_map(line).collect::<String>())?;
    Ok(Outcome::Done)
}

/// Prints what became of the logs. Those that were there before are printed for programs alone.
fn tell(options: &super::Options, pulled: &[Pulled]) -> Result<()> {
    let mut text = String::new();
    for log in pulled {
        let id = outside::line(&log.id);
        let failed =
            |reason: &str| cli::error(&Error::other(format!("log '{id}' is not fetched")).because(reason.to_owned()));
        let mut object = json!({ "version": 1, "id": log.id });
        match &log.kept {
            Kept::Saved { file, size, is_new } => {
                if *is_new && !options.json && !options.writing.is_quiet() {
                    text += &format!("fetched {file}, {}\n", pretty::size(*size));
                }
                object["state"] = if *is_new { "fetched" } else { "there" }.into();
                (object["file"], object["size"]) = (file.as_str().into(), (*size).into());
            }
            Kept::Skipped(reason) | Kept::Failed(reason) => {
                failed(&outside::line(reason));
                object["state"] = "failed".into();
                object["reason"] = reason.as_str().into();
            }
        }
        if options.json {
            text += &format!("{}\n", outside::json(&object));
        }
    }
    cli::print(&text)
}

/// Attaches the logs of this pull to a commit. One that cannot be attached, such as one whose text was purged, is warned of and keeps
/// no other back; returns whether there is none.
fn attach(
    repo: &Repository,
    options: &super::Options,
    commit_id: ObjectId,
    directory: &Path,
    pulled: &[Pulled],
) -> Result<bool> {
    let files = pulled.iter().filter(|log| log.is_new).filter_map(|log| match &log.kept {
        Kept::Saved { file, .. } => Some(directory.join(file)),
        Kept::Skipped(_) | Kept::Failed(_) => None,
    });
    let mut are_attached = true;
    let observe = |file: std::path::PathBuf| match evidence::observe(repo, &file, "log", None, options.has_words) {
        Ok(observed) => Some(observed),
        Err(error) => {
            cli::error(&error);
            are_attached = false;
            None
        }
    };
    let observed: Vec<Observed> = files.filter_map(observe).collect();
    if observed.is_empty() {
        return Ok(are_attached);
    }
    let notes_ref = options.writing.notes_ref(repo);
    let is_new = evidence::attach(repo, &notes_ref, commit_id, &observed, Instant::now() + TIMEOUT)?;
    let short = repo.abbreviate(commit_id);
    for (one, _) in observed.iter().zip(is_new).filter(|(_, is_new)| *is_new) {
        if !options.writing.is_quiet() && !options.json {
            tell_attached("attached", &one.evidence, &short)?;
        }
    }
    Ok(are_attached)
}
