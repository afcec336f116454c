//! `git shiftlog blame`: each line of a file with the session and the turn that wrote it.

use std::ffi::OsString;
use std::process::ExitCode;
use std::rc::Rc;

use bstr::ByteSlice as _;
use clap::Parser;

use super::asked::{self, Asked};
use super::blamed::{self, Blaming, Explained, How};
use super::machine;
use crate::cli::{self, Json, Outcome, Printing};
use crate::error::Result;
use crate::git::{Repository, date};
use crate::outside;
use crate::pretty::{BlameColumns, BlameTable, WhyView, why_format, why_line, why_object};
use crate::record::{MissingWords, Reader, redaction};
use crate::replay::{Block, BlockLine, Certainty, blocks};

/// Show which turn of which session wrote each line of a file
#[derive(Clone, Debug, Parser)]
#[command(name = "git-shiftlog-blame", override_usage = "git shiftlog blame [<options>] [<revision>...] [--] <file>")]
pub struct Options {
    #[command(flatten)]
    blaming: Blaming,
    /// Show ids in full
    #[arg(short = 'l')]
    long: bool,
    /// Leave out author and date
    #[arg(short = 's')]
    short: bool,
    /// Show addresses instead of names
    #[arg(short = 'e', long)]
    show_email: bool,
    /// Leave the ids of boundary commits blank
    #[arg(short = 'b')]
    blank_boundaries: bool,
    /// Show the path in the commit
    #[arg(short = 'f', long)]
    show_name: bool,
    /// Show the number of the line in the commit
    #[arg(short = 'n', long)]
    show_number: bool,
    #[command(flatten)]
    json: Json,
    /// Print each line in this format
    #[arg(long, value_name = "format", value_parser = why_format,
          conflicts_with_all = ["porcelain", "line_porcelain", "incremental", "json"])]
    format: Option<String>,
    #[command(flatten)]
    machine: machine::Machine,
    #[command(flatten)]
    printing: Printing,
    /// A revision and the file
    #[arg(value_name = "file")]
    words: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(blamed::with_stuck_numbers(args), |options: Options| {
        let mut repo = super::open::repository(options.printing.source())?;
        repo.keep_bases();
        let asked = asked::asked(&repo, &options.words, "git shiftlog blame <file>")?;
        let reader = options.printing.reader(&repo);
        if let Some(format) = options.machine.format() {
            return machine::print(format, &reader, &options.blaming, &asked, &options.printing, How::InOrder);
        }
        options.blame(&reader, &asked)
    })
}

impl Options {
    fn blame(&self, reader: &Reader<'_>, asked: &Asked) -> Result<Outcome> {
        let repo = reader.repo();
        let mut explained: Explained = Vec::new();
        self.blaming.each(reader, asked, How::InOrder, |lines, found| {
            explained.push((lines, found));
            Ok(())
        })?;
        match self.json.is_on || self.format.is_some() {
            true => self.print_blocks(repo, asked, &explained)?,
            false => self.print_table(repo, asked, &explained)?,
        }
        let all = || explained.iter().flat_map(|(_, found)| found);
        if all().any(|found| found.source.lack == Some(MissingWords::NotFetched)) {
            cli::hint(repo, "'git shiftlog sync pull --all' fetches transcripts that others share");
        }
        let is_found = all().any(|found| found.certainty != Certainty::None);
        Ok(if is_found { Outcome::Done } else { Outcome::No })
    }

    fn dates(&self, repo: &Repository) -> Result<date::Format> {
        let named = self.printing.date().map(str::to_owned).or_else(|| repo.config_string("blame.date"));
        date::Format::parse(named.as_deref().unwrap_or("iso"))
    }

    fn print_table(&self, repo: &Repository, asked: &Asked, explained: &Explained) -> Result<()> {
        let mut screen = self.printing.screen(repo, self.dates(repo)?);
        let is_configured = |key: &str| repo.config_bool(key).unwrap_or(false);
        let columns = BlameColumns {
            has_long_ids: self.long,
            is_without_author: self.short,
            has_emails: self.show_email || is_configured("blame.showEmail"),
            has_blank_boundaries: self.blank_boundaries || is_configured("blame.blankBoundary"),
            has_names: self.show_name,
            has_numbers: self.show_number,
            end: self.printing.end(),
        };
        let mut names = repo.names();
        let path = asked.path.as_bstr();
        let table = BlameTable::new(explained, path, columns, &screen.style, |id| names.shorten(id));
        let is_screen = screen.is_screen;
        screen.write(|out, style| table.write(out, style, is_screen))?;
        screen.out.finish()
    }

    /// Prints an object for each call with its lines, or each line in a format.
    fn print_blocks(&self, repo: &Repository, asked: &Asked, explained: &Explained) -> Result<()> {
        let mut screen = self.printing.screen(repo, self.dates(repo)?);
        let mut blocks = blocks(explained);
        if self.format.is_some() {
            blocks = blocks.iter().flat_map(of_lines).collect();
        }
        blocks.sort_by_key(|block| block.lines.first().map(|line| line.number));
        let (commits, redactor) = (blamed::commits(repo, &blocks)?, redaction::redactor(repo)?);
        let (mut names, path) = (repo.names(), asked.path.to_str_lossy());
        for block in &blocks {
            let commit = commits.get(&block.commit.commit_id);
            let commit_name = commit.map(|commit| names.shorten(commit.commit_id)).unwrap_or_default();
            let revision = asked.revision.map(|id| id.to_string());
            let redactor = Some(&redactor);
            let view =
                WhyView { path: &path, revision, commit, commit_name: &commit_name, redactor, ..WhyView::default() };
            let end = self.printing.end();
            screen.write(|out, style| match &self.format {
                Some(format) => write!(out, "{}{end}", why_line(format, block, &view, style)),
                None => write!(out, "{}{end}", outside::json(&why_object(block, &view))),
            })?;
        }
        screen.out.finish()
    }
}

/// Returns a block for each line of one.
fn of_lines(block: &Block) -> Vec<Block> {
    let of_line = |line: &BlockLine| Block {
        commit: Rc::clone(&block.commit),
        file: Rc::clone(&block.file),
        lines: vec![line.clone()],
        found: block.found.clone(),
    };
    block.lines.iter().map(of_line).collect()
}
