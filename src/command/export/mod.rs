//! `git shiftlog export`: conversations as files that a colleague opens.

mod target;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;
use std::rc::Rc;

use bstr::ByteSlice as _;
use clap::Parser;

use self::target::Target;
use super::target::{Named, nothing_on, nothing_recorded, targets};
use crate::cli::{self, NotesSource, Outcome, Progress};
use crate::error::{Error, Kind, Result};
use crate::export::{Packing, PageContents, Pages, Selection, ShownConversation, Wanted};
use crate::git::{Commit, Repository};
use crate::outside;
use crate::pretty::html::{Indexed, ObservedCommit, Outlet, PageOptions, PageTexts, Span, Theme, write_index};
use crate::pretty::{self, Amount, Depth, View};
use crate::record::{READ_LIMIT, Reader, redaction};
use crate::stats::Prices;

/// Write conversations to files, as pages or Markdown
#[derive(Clone, Debug, Parser)]
#[command(
    name = "git-shiftlog-export",
    override_usage = "git shiftlog export (--html | --markdown) [<options>] [<revision>...]"
)]
pub struct Options {
    /// Write pages for a browser
    #[arg(long, conflicts_with = "markdown")]
    html: bool,
    /// Write Markdown
    #[arg(long)]
    markdown: bool,
    /// Write to this file, or into this directory if it ends with '/' or exists (default: '-', stdout)
    #[arg(short = 'o', long, value_name = "file")]
    output: Option<OsString>,
    /// Replace files that are there
    #[arg(short = 'f', long)]
    force: bool,
    /// Write whole sessions up to their commits
    #[arg(long)]
    full: bool,
    /// Write only this session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// How much is shown at first (focused, normal or full); focused leaves out all but prompts and last answers
    #[arg(long, value_name = "view")]
    view: Option<Seen>,
    /// Leave out the model's thinking
    #[arg(long)]
    no_thinking: bool,
    /// Leave out tool calls
    #[arg(long)]
    no_tools: bool,
    /// Show pictures on pages: PNG, JPEG, GIF and WebP, of 2 MiB at most
    #[arg(long, conflicts_with = "markdown")]
    images: bool,
    /// Pack the answers of tools, which JavaScript then unpacks: always, never, or on pages above 8 MiB (auto, the default)
    #[arg(long, value_name = "when", conflicts_with = "markdown")]
    embed: Option<Embed>,
    /// Link each commit to this address; '%H' in it stands for the commit's id
    #[arg(long, value_name = "address", conflicts_with = "markdown")]
    url_template: Option<String>,
    /// Leave out the changes that the commits made
    #[arg(long)]
    no_patch: bool,
    /// Give a page this title
    #[arg(long, value_name = "title")]
    title: Option<String>,
    /// Give a page these colours (auto, light or dark)
    #[arg(long, value_name = "theme")]
    theme: Option<Colors>,
    #[command(flatten)]
    source: NotesSource,
    /// Do not say that secrets were removed
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Commits, ranges of commits and sessions (default: HEAD)
    #[arg(value_name = "revision")]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Seen {
    Focused,
    Normal,
    Full,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Colors {
    Auto,
    Light,
    Dark,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Embed {
    Always,
    Auto,
    Never,
}

impl Options {
    fn packing(&self) -> Packing {
        match self.embed {
            Some(Embed::Always) => Packing::Always,
            Some(Embed::Never) => Packing::Never,
            Some(Embed::Auto) | None => Packing::Large,
        }
    }

    fn shape(&self, repo: &Repository) -> PageOptions {
        let span = match self.view {
            Some(Seen::Focused) => Span::Focused,
            Some(Seen::Full) => Span::Full,
            Some(Seen::Normal) | None => Span::Normal,
        };
        let theme = match self.theme {
            Some(Colors::Light) => Theme::Light,
            Some(Colors::Dark) => Theme::Dark,
            Some(Colors::Auto) | None => Theme::Auto,
        };
        let top = repo.worktree().map(|top| top.to_string_lossy().into_owned());
        PageOptions {
            span,
            has_thinking: !self.no_thinking,
            has_tools: !self.no_tools,
            has_pictures: self.images,
            theme,
            top,
            commit_address: self.url_template.clone(),
            outlet: Outlet::File,
            is_packed: false,
        }
    }

    /// Returns the commits and sessions that words mean, the oldest first.
    fn wanted(&self, reader: &Reader<'_>, words: &[String]) -> Result<Vec<Wanted>> {
        // Ranges are listed with the newest first; a story begins with the oldest.
        let targets = targets(reader, words, self.html)?.into_iter().rev();
        let wanted = targets.map(|target| match target {
            Named::Commit(revision) => {
                let commit_id = reader.repo().resolve(&revision).map_err(|error| match error.kind() {
                    Kind::Missing => Error::other(error.to_string()),
                    _ => error,
                })?;
                Ok(Wanted { commit_id, session: None, is_whole: false })
            }
            Named::Session { commit_id, key } => Ok(Wanted { commit_id, session: Some(key), is_whole: true }),
        });
        wanted.collect()
    }

    fn depth(&self) -> Depth {
        let is_focused = self.view == Some(Seen::Focused);
        let amount = if self.view == Some(Seen::Full) { Amount::Full } else { Amount::Short };
        Depth {
            thinking: if self.no_thinking || is_focused { Amount::None } else { amount },
            has_tools: !self.no_tools && !is_focused,
            tool_output: amount,
            has_inputs: false,
            folds_sub_agents: false,
            more: (amount == Amount::Short).then_some("--view=full"),
        }
    }
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        if !options.html && !options.markdown {
            return Err(Error::new(Kind::Usage, "a format is missing: '--html' or '--markdown'"));
        }
        if let Some(address) = options.url_template.as_ref().filter(|address| !is_template(address)) {
            let why = "it needs 'https://' or 'http://' in front, and '%H' where the commit's id stands";
            return Err(Error::new(Kind::Usage, format!("cannot use the address '{address}'")).because(why));
        }
        if options.html && options.output.is_none() && std::io::stdout().is_terminal() {
            return Err(Error::other("refusing to write a page to a terminal").hint("'-o <file>' writes it to a file"));
        }
        let repo = crate::command::open::repository(&options.source)?;
        let reader = options.source.reader(&repo);
        let redactor = redaction::redactor(&repo)?;
        cli::without_paths(&repo, &options.words)?;
        let words = if options.words.is_empty() { vec!["HEAD".to_owned()] } else { options.words.clone() };
        let plan = options.wanted(&reader, &words).and_then(|wanted| {
            let mut plan = Selection::of(&reader, wanted, options.session.as_deref(), options.full, &redactor)?;
            if options.markdown {
                plan.observed.clear();
            }
            let nothing = || match (options.session.as_deref(), words.as_slice()) {
                (None, [word]) => {
                    nothing_on(&repo, word, if options.html { "export --html" } else { "export --markdown" })
                }
                (session, words) => nothing_recorded(session, &words.join(" ")),
            };
            if plan.is_empty() { Err(nothing()) } else { Ok(plan) }
        });
        let plan = match plan {
            Err(error) if error.kind() == Kind::Missing => {
                cli::error(&error);
                return Ok(Outcome::No);
            }
            plan => plan?,
        };
        let shape = options.shape(&repo);
        let target = Target::new(options.output.as_deref(), options.force);
        // What is printed on a terminal shows itself how far it has come.
        let mut progress = Progress::new(!(options.quiet || target.is_stdout() && std::io::stdout().is_terminal()));
        let pages = Pages::new(&reader, &redactor, &plan, shape.clone(), !options.no_patch).telling(|done, total| {
            progress.tell("Writing conversations", done, total);
            if done == total {
                progress.end();
            }
        });
        let pages = pages.packing(options.packing());
        let title = options.title.as_deref().map(|title| redaction::clean(&redactor, title));
        let mut export = Export { options: &options, title, shape, plan: &plan, pages };
        export.run(&target)?;
        let redacted = export.pages.redacted();
        if redacted > 0 && !options.quiet {
            cli::warning(&format!("secrets were removed from {}", pretty::count(redacted, "conversation")));
        }
        if !options.quiet {
            export.pages.uncounted().warnings().iter().for_each(|text| cli::warning(text));
        }
        let damaged = export.pages.damaged();
        if damaged > 0 {
            cli::warning(&format!("words of {} are damaged", pretty::count(damaged, "conversation")));
            cli::hint(&repo, "'git shiftlog fsck' says which, and 'git shiftlog fsck --repair' restores what it can");
        }
        let (missing, is_fetchable) = export.pages.missing();
        if missing > 0 {
            cli::warning(&format!("words of {} are not here", pretty::count(missing, "conversation")));
            if is_fetchable {
                cli::hint(&repo, "'git shiftlog sync pull --all' fetches transcripts that others share");
            }
        }
        let too_large = export.pages.too_large();
        if too_large > 0 {
            let of = pretty::count(too_large, "conversation");
            cli::warning(&format!("{of} too large to be shown whole; {}", READ_LIMIT));
            cli::hint(&repo, "'git shiftlog show --raw' prints all of it");
        }
        Ok(if damaged + too_large > 0 { Outcome::No } else { Outcome::Done })
    })
}

/// Says whether an address leads to a commit on the web.
fn is_template(address: &str) -> bool {
    let is_web = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
    is_web && address.contains("%H") && !address.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// One run of the command.
struct Export<'a, 'r> {
    options: &'a Options,
    /// The title that the user gives, without secrets.
    title: Option<String>,
    shape: PageOptions,
    plan: &'a Selection,
    pages: Pages<'a, 'r>,
}

impl Export<'_, '_> {
    fn run(&mut self, target: &Target) -> Result<()> {
        let (plan, extension) = (self.plan, if self.options.html { "html" } else { "md" });
        if !target.is_directory() {
            let all: Vec<usize> = (0..plan.sessions.len()).collect();
            target.prepare(&[])?;
            return target.write(None, |out| self.write(out, &all, &plan.observed, None).map(drop));
        }
        let index = format!("index.{extension}");
        let names: Vec<String> = plan.sessions.iter().map(|session| session.file_name(extension)).collect();
        let observed: Vec<String> = plan.observed.iter().map(|commit| format!("{}.html", commit.commit_id)).collect();
        target.prepare(&[&names[..], &observed, std::slice::from_ref(&index)].concat())?;
        let mut texts = Vec::new();
        for (at, name) in names.iter().enumerate() {
            target.write(Some(name), |out| {
                texts.push(self.write(out, &[at], &[], Some(&index))?);
                Ok(())
            })?;
        }
        for (commit, name) in plan.observed.iter().zip(&observed) {
            let commit = std::slice::from_ref(commit);
            target.write(Some(name), |out| self.write(out, &[], commit, Some(&index)).map(drop))?;
        }
        target.write(Some(&index), |out| self.write_index(out, &names, &observed, &texts).map_err(Error::output))
    }

    fn write(
        &mut self,
        out: &mut dyn Write,
        sessions: &[usize],
        observed: &[Rc<Commit>],
        up: Option<&str>,
    ) -> Result<PageTexts> {
        if !self.options.html {
            return self.write_document(out, sessions).map(|()| PageTexts::default());
        }
        let title = self.title.clone().unwrap_or_else(|| self.plan.title(sessions, observed));
        self.pages.write(out, PageContents { sessions, observed, title: &title, up })
    }

    fn write_document(&mut self, out: &mut dyn Write, sessions: &[usize]) -> Result<()> {
        let (plan, depth) = (self.plan, self.options.depth());
        let top = self.shape.top.clone();
        let mut is_first = true;
        for session in sessions.iter().map(|at| &plan.sessions[*at]) {
            for made in session.reads() {
                for ShownConversation { conversation, sub_agents, continues, .. } in
                    self.pages.conversations(session, made)?
                {
                    if !std::mem::take(&mut is_first) {
                        writeln!(out).map_err(Error::output)?;
                    }
                    let view = View {
                        commit: &made.commit,
                        conversation: &conversation,
                        sub_agents: &sub_agents,
                        turns: None,
                        about: None,
                        origin: None,
                        continues: continues.as_ref(),
                        told_before: None,
                        tasks: None,
                        top: top.as_deref(),
                    };
                    pretty::write_document(out, &view, depth).map_err(Error::output)?;
                }
            }
        }
        Ok(())
    }

    fn write_index(
        &mut self,
        out: &mut dyn Write,
        names: &[String],
        observed: &[String],
        texts: &[PageTexts],
    ) -> std::io::Result<()> {
        let title = self.title.as_deref().unwrap_or("Conversations");
        let sessions = self.plan.sessions.iter().zip(names);
        let pages = &mut self.pages;
        if self.options.html {
            // As on the pages of the sessions: at list prices, since a file is handed on.
            let prices = Prices::listed();
            let indexed = sessions.zip(texts).enumerate().map(|(at, ((session, name), texts))| {
                let counts = pages.counts(at);
                Indexed {
                    address: outside::component(name),
                    agent: &session.shown.agent,
                    made: session.made.iter().map(|made| (made.commit.as_ref(), &made.summary)).collect(),
                    cost: counts.cost(&prices),
                    counted: counts.records.iter().map(|(_, summary)| summary.clone()).collect(),
                    is_at_least: counts.uncounted.is_at_least(),
                    texts,
                }
            });
            let observed = self.plan.observed.iter().zip(observed);
            let observed = observed.map(|(commit, name)| ObservedCommit { address: outside::component(name), commit });
            let (indexed, observed): (Vec<_>, Vec<_>) = (indexed.collect(), observed.collect());
            return write_index(out, title, &indexed, &observed, &self.shape);
        }
        let entries = sessions.map(|(session, name)| {
            let subjects = session.made.iter().map(|made| made.commit.subject().to_str_lossy().into_owned());
            (outside::component(name), session.shown.to_string(), subjects.collect())
        });
        pretty::write_document_index(out, title, &entries.collect::<Vec<_>>())
    }
}
