//! `git shiftlog summarise`: an agent says what the conversation of a commit comes to.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use clap::Parser;

use super::target;
use crate::agent::{self, Ask};
use crate::cli::{self, Json, NotesRef, Outcome};
use crate::error::{Error, Kind, Result};
use crate::git::{Commit, Repository};
use crate::record::{Conversation, Reader, redaction, save_summary, saved_summary};
use crate::redact::Redactor;
use crate::{outside, pretty};

/// How long saving may take while other processes keep moving the ref.
const SAVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Have an agent summarise the conversation of a commit
///
/// The conversation is sent to the provider of the agent that is asked.
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-summarise", override_usage = "git shiftlog summarise [<options>] [<commit>...]")]
pub struct Options {
    /// Tell the agent what to look at above all
    #[arg(long, value_name = "words")]
    focus: Option<String>,
    /// Ask this agent; the conversation goes to its provider
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// Let the agent use this model
    #[arg(long, value_name = "name")]
    model: Option<String>,
    /// Keep the summary in the record of the conversation
    #[arg(long)]
    save: bool,
    /// Ask again for commits that have a saved summary
    #[arg(short = 'f', long)]
    force: bool,
    /// Print what would be sent and saved, and ask nobody
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Wait this long for an answer (default: 120)
    #[arg(long, value_name = "seconds", default_value_t = 120, hide_default_value = true,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    notes_ref: NotesRef,
    /// Commits; HEAD by default
    #[arg(value_name = "commit")]
    revisions: Vec<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |mut options: Options| {
        let repo = cli::repository()?;
        cli::without_paths(&repo, &options.revisions)?;
        if !options.dry_run {
            crate::command::open::store_missed(&repo);
        }
        if options.revisions.is_empty() {
            options.revisions.push("HEAD".into());
        }
        // Nobody is asked before all that was typed is known to be right.
        options.revisions.iter().try_for_each(|revision| repo.resolve(revision).map(drop))?;
        redaction::redactor(&repo)?;
        options.notes_ref.warn_if_missing(&repo);
        let mut outcome = Outcome::Done;
        let mut has_printed = false;
        for revision in &options.revisions {
            match summarise(&repo, &options, revision, &mut has_printed) {
                // Where the others would fare no better, there is no need to try.
                Err(error) if matches!(error.kind(), Kind::Usage | Kind::Unsupported | Kind::ReaderGone) => {
                    return Err(error);
                }
                Err(error) => {
                    cli::error(&error);
                    outcome = Outcome::No;
                }
                Ok(()) => {}
            }
        }
        Ok(outcome)
    })
}

/// Prints the summary of a commit: the one that is saved, or what an agent says now.
fn summarise(repo: &Repository, options: &Options, revision: &str, has_printed: &mut bool) -> Result<()> {
    let reader = reader(repo, options);
    let conversations = target::conversations_of(&reader, revision)?;
    let commit = repo.commit(repo.resolve(revision)?)?;
    let saved = saved_summary(&reader, commit.commit_id)?;
    if let Some(saved) = saved.filter(|_| !options.force) {
        if options.focus.is_some() {
            cli::hint(repo, "this summary was saved earlier; '--force' asks anew");
        }
        return print(repo, options, &commit, &saved, true, has_printed);
    }
    let ask = choose(repo, options, &conversations)?;
    let redactor = redaction::redactor(repo)?;
    let question = question(repo, options, ask, revision, &commit, conversations, &redactor)?;
    if options.dry_run {
        ask.required_program()?;
        return print_plan(repo, options, &commit, ask, question.len() as u64);
    }
    let answer = ask.answer(&question, options.model.as_deref(), Duration::from_secs(options.timeout))?;
    let text = redactor.redact_text(outside::text(&answer).trim()).trim().to_owned();
    if text.is_empty() {
        return Err(Error::other(format!("nothing is left of the answer of {} without its secrets", ask.name)));
    }
    let saved = if options.save { save(repo, options, &commit, &text).map(|()| true) } else { Ok(false) };
    // What cannot be saved can still be read.
    print(repo, options, &commit, &text, matches!(saved, Ok(true)), has_printed)?;
    saved.map(drop)
}

fn reader<'r>(repo: &'r Repository, options: &Options) -> Reader<'r> {
    Reader::new(repo, cli::notes_ref(repo, options.notes_ref.name()).as_deref())
}

/// Returns how the agent called `name` is asked.
fn find(name: &str) -> Option<&'static Ask> {
    agent::find(name)?.ask()
}

/// Chooses the agent: the option, then the config, then who had the conversation, then any that is there.
fn choose(repo: &Repository, options: &Options, conversations: &[Conversation]) -> Result<&'static Ask> {
    let known = || agent::ALL.iter().filter_map(|agent| Some(agent.ask()?.name)).collect::<Vec<_>>().join(", ");
    let named = options.agent.clone().or_else(|| repo.config_string("shiftlog.summariseAgent"));
    if let Some(name) = named {
        let unknown =
            || Error::new(Kind::Usage, format!("cannot ask agent '{name}'")).hint(format!("known: {}", known()));
        return find(&name).ok_or_else(unknown);
    }
    let of_session = conversations.iter().filter_map(|each| find(&each.summary.key.agent));
    let none =
        || Error::new(Kind::Unsupported, "no agent that can be asked is installed").hint(format!("known: {}", known()));
    of_session.chain(agent::ALL.iter().filter_map(|agent| agent.ask())).find(|ask| ask.is_installed()).ok_or_else(none)
}

/// Returns what the agent is asked, without secrets: another tool may have stored some, and a subject or path may have one.
fn question(
    repo: &Repository,
    options: &Options,
    ask: &Ask,
    revision: &str,
    commit: &Commit,
    mut conversations: Vec<Conversation>,
    redactor: &Redactor,
) -> Result<String> {
    conversations.iter_mut().for_each(|conversation| {
        conversation.redact(redactor);
    });
    let problems = conversations.iter().flat_map(|conversation| &conversation.problems);
    if conversations.iter().all(|conversation| conversation.messages.is_empty()) {
        let nothing = Error::other(format!("there are no words to summarise for {revision}"));
        return Err(problems.take(1).fold(nothing, |error, problem| error.because(problem.clone())));
    }
    problems.for_each(|problem| cli::warning(problem));
    let paths = repo.changed_paths(commit)?;
    let focus = options.focus.as_deref();
    let question = pretty::summary_question(commit, &paths, &conversations, focus, ask.max_question_bytes());
    Ok(redactor.redact_text(&question))
}

fn save(repo: &Repository, options: &Options, commit: &Commit, text: &str) -> Result<()> {
    // It took a while: what is recorded now need not be what was read.
    let reader = reader(repo, options);
    let notes_ref = options.notes_ref.full_name(repo);
    save_summary(&reader, &notes_ref, commit.commit_id, text, Instant::now() + SAVE_TIMEOUT)
}

/// Prints who would be asked about a commit, how much would be sent, and what would be done with the answer.
fn print_plan(repo: &Repository, options: &Options, commit: &Commit, ask: &Ask, bytes: u64) -> Result<()> {
    if options.json.is_on {
        let mut object = pretty::commit_object(commit);
        object["agent"] = ask.name.into();
        object["bytes"] = bytes.into();
        object["save"] = options.save.into();
        return cli::print(&format!("{}\n", outside::json(&object)));
    }
    let saving = if options.save { " and save its answer" } else { "" };
    let (short, size) = (repo.abbreviate(commit.commit_id), pretty::size(bytes));
    cli::print(&format!("would send {size} about {short} to {}{saving}\n", ask.name))
}

fn print(
    repo: &Repository,
    options: &Options,
    commit: &Commit,
    summary: &str,
    is_saved: bool,
    has_printed: &mut bool,
) -> Result<()> {
    let summary = outside::text(summary);
    let mut text = String::new();
    if options.json.is_on {
        let mut object = pretty::commit_object(commit);
        object["summary"] = summary.into();
        object["saved"] = is_saved.into();
        text = format!("{}\n", outside::json(&object));
    } else {
        if options.revisions.len() > 1 {
            let subject = outside::line(&commit.subject().to_str_lossy());
            let gap = if std::mem::replace(has_printed, true) { "\n" } else { "" };
            text = format!("{gap}{} {subject}\n\n", repo.abbreviate(commit.commit_id));
        }
        text += &format!("{summary}\n");
    }
    cli::print(&text)
}
