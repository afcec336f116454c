//! `git shiftlog show`: the conversation of a commit.

mod observed;
mod paths;
mod session;
mod shown;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use self::paths::Pathspecs;
use self::shown::Shown;
use super::change::Change;
use super::target::{self, Named};
use crate::cli::{self, Json, Outcome, Printing};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, date};
use crate::pretty::{self, Depth, TurnRange};
use crate::record::Reader;

/// Show the conversation of a commit
#[derive(Clone, Debug, Parser)]
#[command(
    name = "git-shiftlog-show",
    override_usage = "git shiftlog show [<options>] [<revision>...] [[--] <path>...]"
)]
pub struct Options {
    /// Show the whole session up to the commit
    #[arg(long)]
    full: bool,
    /// Show only this session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Print the transcript's bytes exactly
    #[arg(long, conflicts_with_all = ["json", "format", "show_signature", "stat", "patch"])]
    raw: bool,
    #[command(flatten)]
    json: Json,
    /// Print in this format (medium or markdown)
    #[arg(long, value_name = "format", conflicts_with = "json")]
    format: Option<Layout>,
    /// Say who wrote and signed each record, and who only carried it
    #[arg(long, conflicts_with = "json")]
    show_signature: bool,
    /// Show only these turns
    #[arg(long, value_name = "n..m", value_parser = turn_range, conflicts_with = "raw")]
    turn: Option<TurnRange>,
    /// Print what is cut by default; given twice, also the inputs of tools
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Show this much of the model's thinking (none, short or full)
    #[arg(long, value_name = "amount", overrides_with = "no_thinking")]
    thinking: Option<Amount>,
    /// Leave out the model's thinking
    #[arg(long, overrides_with = "thinking")]
    no_thinking: bool,
    /// Leave out tool calls
    #[arg(long)]
    no_tools: bool,
    /// Show this much of the output of tools (none, short or full)
    #[arg(long, value_name = "amount")]
    tool_output: Option<Amount>,
    /// Show this much of evidence (none, short or full)
    #[arg(long, value_name = "amount")]
    evidence: Option<Amount>,
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    printing: Printing,
    /// Commits, ranges of commits and sessions, then paths
    #[arg(value_name = "revision")]
    words: Vec<OsString>,
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

impl From<Amount> for pretty::Amount {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::None => pretty::Amount::None,
            Amount::Short => pretty::Amount::Short,
            Amount::Full => pretty::Amount::Full,
        }
    }
}

fn turn_range(text: &str) -> Result<TurnRange, String> {
    TurnRange::parse(text).ok_or_else(|| "<n>, <n>..<m>, <n>.. or ..<m>".to_owned())
}

impl Options {
    /// Says whether evidence is shown: not with a part of a conversation, a document or bare bytes.
    fn wants_evidence(&self) -> bool {
        let is_part = self.raw || self.turn.is_some() || self.format == Some(Layout::Markdown);
        !is_part && self.evidence != Some(Amount::None)
    }

    /// Says whether sub-agents are looked for in earlier commits and in what was left out of the note, where one session or the
    /// whole of it was asked for. Objects and bytes of one session are wanted alone.
    fn wants_sub_agents(&self) -> bool {
        !self.raw
            && if self.json.is_on { self.full && self.session.is_none() } else { self.full || self.session.is_some() }
    }

    /// Returns how much of a conversation is shown.
    fn depth(&self) -> Depth {
        let amount = if self.verbose > 0 { pretty::Amount::Full } else { pretty::Amount::Short };
        let of = |option: Option<Amount>| option.map_or(amount, Into::into);
        let tool_output = of(self.tool_output);
        Depth {
            thinking: if self.no_thinking { pretty::Amount::None } else { of(self.thinking) },
            has_tools: !self.no_tools,
            tool_output,
            has_inputs: self.verbose > 1,
            folds_sub_agents: tool_output != pretty::Amount::Full,
            more: Some("-v"),
        }
    }
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        crate::command::open::store_missed_or_leave(&repo);
        let reader = options.printing.reader(&repo);
        // What is neither a revision nor a path may be a session.
        let words = cli::split_words_or(&repo, &options.words, |_| Ok(()))?;
        let paths = options.paths(&repo, &words.paths)?;
        let targets = match options.targets(&reader, words) {
            Err(error) if error.kind() == Kind::Missing => {
                cli::error(&error);
                return Ok(Outcome::No);
            }
            targets => targets?,
        };
        // A word that is no revision is found before the first conversation fills the screen.
        targets.iter().try_for_each(|(revision, _)| commit_of(&repo, revision))?;
        let dates = options.printing.dates(&repo, date::Format::default())?;
        let mut shown = Shown::new(&repo, &options, paths, dates);
        let mut outcome = Outcome::Done;
        for (revision, options) in &targets {
            if options.printing.source().name().is_none() {
                crate::command::open::carry_to(&reader, revision);
            }
            shown.follow(options);
            match shown.commit(&reader, revision) {
                Ok(()) => {}
                Err(error) if error.kind() == Kind::Missing => {
                    cli::error(&error);
                    outcome = Outcome::No;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(if shown.finish()? { Outcome::No } else { outcome })
    })
}

impl Options {
    /// Returns the commits to show, each with the options for it: of a session, all is shown up to its last commit.
    fn targets(&self, reader: &Reader<'_>, words: cli::Words) -> Result<Vec<(String, Options)>> {
        if words.revisions.is_empty() {
            return Ok(vec![("HEAD".into(), self.clone())]);
        }
        let with_options = |target| match target {
            Named::Commit(revision) => (revision, self.clone()),
            Named::Session { commit_id, key } => {
                (commit_id.to_string(), Options { session: Some(key.id), full: true, ..self.clone() })
            }
        };
        let is_narrow = self.session.is_some() || !words.paths.is_empty();
        let has_evidence = self.wants_evidence() && !is_narrow;
        Ok(target::targets(reader, &words.revisions, has_evidence)?.into_iter().map(with_options).collect())
    }

    /// Returns the paths that turns are wanted about.
    fn paths(&self, repo: &Repository, paths: &[OsString]) -> Result<Pathspecs> {
        let refuse = |what: &str| Err(Error::new(Kind::Usage, format!("{what} cannot be used together")));
        if self.raw && !paths.is_empty() {
            return refuse("'--raw' and paths");
        }
        let of_people = self.change.name().or(self.show_signature.then_some("--show-signature"));
        if let Some(option) = of_people.filter(|_| self.format == Some(Layout::Markdown)) {
            return refuse(&format!("options '--format=markdown' and '{option}'"));
        }
        Pathspecs::read(repo, paths)
    }
}

/// Looks whether a word names a commit: as in Git, one that does not could have been meant as a path, too.
fn commit_of(repo: &Repository, word: &str) -> Result<()> {
    target::commit_of(repo, word).map(drop).map_err(|error| {
        let says_no_more = error.hints().is_empty() && error.to_string() == format!("bad revision '{word}'");
        if says_no_more { cli::neither(word) } else { error }
    })
}
