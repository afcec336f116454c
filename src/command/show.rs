//! `git shiftlog show`: the conversation of a commit.

use std::borrow::Cow;
use std::process::ExitCode;

use clap::Parser;

use crate::agent;
use crate::cli::{self, Outcome, Printing, Screen};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, date};
use crate::outside;
use crate::pretty::{self, Depth, ToolOutput};
use crate::record::{Conversation, Reader};

/// Show the conversation of a commit
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-show", override_usage = "git shiftlog show [<options>] [<revision>...]")]
pub struct Options {
    /// Show the whole session up to the commit
    #[arg(long)]
    full: bool,
    /// Show only this session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Print the transcript's bytes exactly
    #[arg(long)]
    raw: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Print in this format (medium or markdown)
    #[arg(long, value_name = "format")]
    format: Option<Layout>,
    /// Leave out what the model thought
    #[arg(long)]
    no_thinking: bool,
    /// Leave out tool calls
    #[arg(long)]
    no_tools: bool,
    /// Show this much of what tools answered (none, short or full)
    #[arg(long, value_name = "amount")]
    tool_output: Option<Amount>,
    #[command(flatten)]
    printing: Printing,
    /// Commits
    #[arg(value_name = "revision")]
    revisions: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Layout {
    Medium,
    Markdown,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Amount {
    None,
    Short,
    Full,
}

/// Runs the command.
pub fn run() -> ExitCode {
    cli::main(|mut options: Options| {
        let repo = cli::repository()?;
        super::add::store_pending(&repo);
        let reader = options.printing.reader(&repo);
        if options.revisions.is_empty() {
            options.revisions.push("HEAD".into());
        }
        let dates = options.printing.dates(&repo, date::Format::default())?;
        let mut outcome = Outcome::Done;
        let mut lacks_words = false;
        let mut screen = None;
        for revision in &options.revisions {
            let conversations = match find(&reader, revision, options.session.as_deref(), options.full) {
                Ok(found) => found,
                Err(error) if error.kind() == Kind::Missing => {
                    cli::error(&error);
                    outcome = Outcome::No;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // The pager starts with the first thing to show, so that an error alone does not flash by in it.
            let screen = screen.get_or_insert_with(|| options.printing.screen(&repo, dates.clone()));
            print(&repo, screen, &options, revision, &conversations)?;
            if conversations.iter().any(|conversation| !conversation.problems.is_empty()) {
                outcome = Outcome::No;
            }
            lacks_words |= conversations.iter().any(|each| each.bytes.is_empty() && !each.problems.is_empty());
        }
        screen.map_or(Ok(()), |screen| screen.out.finish())?;
        if lacks_words && !repo.remotes().is_empty() {
            cli::hint(Some(&repo), "'git shiftlog sync pull --all' fetches transcripts that others share");
        }
        Ok(outcome)
    })
}

/// Finds the conversations of a commit.
///
/// # Errors
///
/// [`Kind::Missing`] if none is recorded; another kind if there is no such commit.
pub(super) fn find(
    reader: &Reader<'_>,
    revision: &str,
    session: Option<&str>,
    is_full: bool,
) -> Result<Vec<Conversation>> {
    let commit_id = reader.repo().resolve(revision).map_err(|error| match error.kind() {
        Kind::Missing => Error::other(error.to_string()),
        _ => error,
    })?;
    let nothing = || Error::new(Kind::Missing, format!("no conversation recorded for {revision}"));
    let note = reader.note(commit_id)?.ok_or_else(nothing)?;
    let conversations = reader.conversations(&note, session, is_full)?;
    if conversations.is_empty() { Err(nothing()) } else { Ok(conversations) }
}

fn print(
    repo: &Repository,
    screen: &mut Screen,
    options: &Options,
    revision: &str,
    conversations: &[Conversation],
) -> Result<()> {
    let commit = repo.commit(repo.resolve(revision)?)?;
    if options.raw || options.json {
        for problem in conversations.iter().flat_map(|conversation| &conversation.problems) {
            cli::warning(problem);
        }
    }
    let depth = Depth {
        has_thinking: !options.no_thinking,
        has_tools: !options.no_tools,
        tool_output: match options.tool_output {
            Some(Amount::None) => ToolOutput::None,
            Some(Amount::Full) => ToolOutput::Full,
            Some(Amount::Short) | None => ToolOutput::Short,
        },
    };
    let is_screen = screen.is_screen;
    screen.write(|out, style| {
        if options.raw {
            // Bytes on their way into a file stay as they are; a terminal would act on some of them.
            return conversations.iter().map(|conversation| raw(conversation, options.full)).try_for_each(|raw| {
                if is_screen { outside::write_text(out, &raw) } else { out.write_all(&raw) }
            });
        }
        if options.json {
            let end = options.printing.end();
            let objects = conversations.iter().map(|conversation| pretty::conversation_object(&commit, conversation));
            return objects.into_iter().try_for_each(|object| write!(out, "{}{end}", outside::json(&object)));
        }
        if options.format == Some(Layout::Markdown) {
            return conversations.iter().try_for_each(|each| pretty::write_document(out, &commit, each, depth));
        }
        pretty::write_commit(out, &commit, style)?;
        conversations.iter().try_for_each(|conversation| pretty::write_conversation(out, conversation, depth, style))
    })
}

/// Returns the transcript: as the agent had it if it is whole, else as it is stored.
fn raw(conversation: &Conversation, is_whole: bool) -> Cow<'_, [u8]> {
    match agent::find(&conversation.summary.key.agent).filter(|_| is_whole) {
        Some(agent) => agent.native(&conversation.bytes),
        None => Cow::Borrowed(&conversation.bytes),
    }
}
