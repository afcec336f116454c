//! `git shiftlog why`: the conversation behind a line.

use std::ffi::OsString;
use std::process::ExitCode;

use bstr::ByteSlice as _;
use clap::Parser;

use super::asked::{self, Asked};
use super::blamed::{self, Blaming, Explained, How};
use super::machine::{self, Machine};
use crate::cli::{self, Json, Outcome, Printing};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, date};
use crate::outside;
use crate::pretty::{WhyView, why_format, why_line, why_object, write_why};
use crate::record::{MissingWords, redaction};
use crate::replay::{Block, Certainty, blocks};

/// Show the conversation behind a line
#[derive(Clone, Debug, Parser)]
#[command(
    name = "git-shiftlog-why",
    override_usage = "git shiftlog why [<options>] <file>:<line>[-<line>] [<revision>]\n       \
                      git shiftlog why [<options>] -L <start>,<end> <file> [<revision>]"
)]
pub struct Options {
    #[command(flatten)]
    blaming: Blaming,
    /// Show whole turns' words and whole edits
    #[arg(long)]
    full: bool,
    /// Leave out what the model thought
    #[arg(long)]
    no_thinking: bool,
    /// Show at most this many edits and sessions
    #[arg(short = 'n', long, value_name = "number", value_parser = cli::limit, allow_negative_numbers = true)]
    max_count: Option<usize>,
    #[command(flatten)]
    json: Json,
    /// Print in this format
    #[arg(long, value_name = "format", value_parser = why_format,
          conflicts_with_all = ["porcelain", "line_porcelain", "incremental", "json"])]
    format: Option<String>,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    printing: Printing,
    /// The file with the line, and a revision
    #[arg(value_name = "file")]
    words: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(blamed::with_stuck_numbers(args), |options: Options| {
        let mut repo = super::open::repository(options.printing.source())?;
        repo.keep_bases();
        let asked = asked::asked(&repo, &options.words, "git shiftlog why <file>:<line>")?;
        if asked.range.is_none() && !options.blaming.has_lines() {
            return Err(Error::new(Kind::Usage, "no line is named").hint("git shiftlog why <file>:<line>"));
        }
        let reader = options.printing.reader(&repo);
        if let Some(format) = options.machine.format() {
            return machine::print(format, &reader, &options.blaming, &asked, &options.printing, How::FewLines);
        }
        let mut explained: Explained = Vec::new();
        options.blaming.each(&reader, &asked, How::FewLines, |lines, found| {
            explained.push((lines, found));
            Ok(())
        })?;
        let mut blocks = blocks(&explained);
        let is_found = blocks.iter().any(|block| block.found.certainty != Certainty::None);
        let lacks_words = blocks.iter().any(|block| block.found.source.lack == Some(MissingWords::NotFetched));
        blocks.truncate(options.max_count.unwrap_or(usize::MAX));
        options.print(&repo, &asked, &blocks)?;
        if lacks_words {
            cli::hint(&repo, "'git shiftlog sync pull --all' fetches transcripts that others share");
        }
        Ok(if is_found { Outcome::Done } else { Outcome::No })
    })
}

impl Options {
    fn print(&self, repo: &Repository, asked: &Asked, blocks: &[Block]) -> Result<()> {
        let dates = self.printing.dates(repo, date::Format::SHORT)?;
        let mut screen = self.printing.screen(repo, dates);
        let (commits, redactor) = (blamed::commits(repo, blocks)?, redaction::redactor(repo)?);
        let (mut names, end) = (repo.names(), self.printing.end());
        let path = asked.path.to_str_lossy();
        for (at, block) in blocks.iter().enumerate() {
            let commit = commits.get(&block.commit.commit_id);
            let commit_name = commit.map(|commit| names.shorten(commit.commit_id)).unwrap_or_default();
            let view = WhyView {
                path: &path,
                revision: asked.revision.map(|id| id.to_string()),
                commit,
                commit_name: &commit_name,
                is_whole: self.full,
                more: Some("--full"),
                is_without_thinking: self.no_thinking,
                redactor: Some(&redactor),
            };
            screen.write(|out, style| {
                if self.json.is_on {
                    return write!(out, "{}{end}", outside::json(&why_object(block, &view)));
                }
                if let Some(format) = &self.format {
                    return write!(out, "{}{end}", why_line(format, block, &view, style));
                }
                if at > 0 {
                    write!(out, "{end}")?;
                }
                write_why(out, block, &view, style)
            })?;
        }
        screen.out.finish()
    }
}
