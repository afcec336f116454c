//! `git shiftlog export`: conversations as files that a colleague opens.

mod bars;
mod plan;
mod target;

use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;

use bstr::ByteSlice as _;
use clap::Parser;

use self::bars::Bars;
use self::plan::{Made, Plan, Session};
use self::target::Target;
use crate::cli::{self, Outcome};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::outside;
use crate::pretty::html::{Indexed, Page, Part, SessionHead, Shape, Span, Theme, write_index};
use crate::pretty::{self, Amount, Depth, SubAgent, View};
use crate::record::{Conversation, Reader, Words, redaction};
use crate::redact::Redactor;

/// The longest title that is made of a prompt, in characters.
const TITLE_CHARS: usize = 72;

/// Write conversations to files, as pages or Markdown
#[derive(Clone, Debug, Parser)]
#[command(
    name = "git-shiftlog-export",
    override_usage = "git shiftlog export (--html | --markdown) [<options>] [<revision>...]"
)]
pub struct Options {
    /// Write pages for a browser
    #[arg(long, overrides_with = "markdown")]
    html: bool,
    /// Write Markdown
    #[arg(long, overrides_with = "html")]
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
    /// Leave out the changes that the commits made
    #[arg(long)]
    no_patch: bool,
    /// Give a page this title
    #[arg(long, value_name = "title")]
    title: Option<String>,
    /// Give a page these colours (auto, light or dark)
    #[arg(long, value_name = "theme")]
    theme: Option<Colors>,
    /// Read notes from this ref
    #[arg(long = "ref", value_name = "notes-ref")]
    notes_ref: Option<String>,
    /// Say nothing when it is done
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

impl Options {
    fn shape(&self, repo: &Repository) -> Shape {
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
        Shape { span, has_thinking: !self.no_thinking, has_tools: !self.no_tools, theme, top }
    }

    fn depth(&self) -> Depth {
        let is_focused = self.view == Some(Seen::Focused);
        let amount = if self.view == Some(Seen::Full) { Amount::Full } else { Amount::Short };
        Depth {
            thinking: if self.no_thinking || is_focused { Amount::None } else { amount },
            has_tools: !self.no_tools && !is_focused,
            tool_output: amount,
            has_inputs: false,
            more: None,
        }
    }
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        if !options.html && !options.markdown {
            return Err(Error::new(Kind::Usage, "a format is missing: '--html' or '--markdown'"));
        }
        let repo = cli::repository()?;
        crate::command::add::store_pending(&repo);
        let reader = Reader::new(&repo, cli::notes_ref(&repo, options.notes_ref.as_deref()).as_deref());
        let redactor = redaction::redactor(&repo)?;
        let plan = match Plan::of(&reader, &options.words, options.session.as_deref(), options.full, &redactor) {
            Err(error) if error.kind() == Kind::Missing => {
                cli::error(&error);
                return Ok(Outcome::No);
            }
            plan => plan?,
        };
        let target = Target::new(options.output.as_deref(), options.force);
        let mut export = Export {
            reader: &reader,
            redactor: &redactor,
            options: &options,
            shape: options.shape(&repo),
            plan: &plan,
            redacted: 0,
            has_problems: false,
        };
        export.run(&target)?;
        if export.redacted > 0 && !options.quiet {
            let sessions = pretty::count(export.redacted, "conversation");
            cli::warning(&format!("secrets were removed from {sessions}"));
        }
        Ok(if export.has_problems { Outcome::No } else { Outcome::Done })
    })
}

/// One run of the command.
struct Export<'a, 'r> {
    reader: &'a Reader<'r>,
    redactor: &'a Redactor,
    options: &'a Options,
    shape: Shape,
    plan: &'a Plan,
    /// How many conversations had secrets.
    redacted: u64,
    has_problems: bool,
}

/// A conversation with what belongs to it.
struct Told {
    conversation: Conversation,
    sub_agents: Vec<SubAgent>,
    /// The commit whose conversation goes on in this one, and its last prompt.
    continues: Option<(String, String)>,
}

impl Export<'_, '_> {
    fn run(&mut self, target: &Target) -> Result<()> {
        let (plan, extension) = (self.plan, if self.options.html { "html" } else { "md" });
        if !target.is_directory() {
            let all: Vec<usize> = (0..plan.sessions.len()).collect();
            target.prepare(&[])?;
            return target.write(None, |out| self.write(out, &all, None));
        }
        let index = format!("index.{extension}");
        let names: Vec<String> = plan.sessions.iter().map(|session| session.file_name(extension)).collect();
        target.prepare(&[&names[..], std::slice::from_ref(&index)].concat())?;
        for (at, name) in names.iter().enumerate() {
            target.write(Some(name), |out| self.write(out, &[at], Some(&index)))?;
        }
        target.write(Some(&index), |out| self.write_index(out, &names).map_err(Error::output))
    }

    fn write(&mut self, out: &mut dyn Write, sessions: &[usize], up: Option<&str>) -> Result<()> {
        if self.options.html { self.write_page(out, sessions, up) } else { self.write_document(out, sessions) }
    }

    fn write_page(&mut self, out: &mut dyn Write, sessions: &[usize], up: Option<&str>) -> Result<()> {
        let (plan, shape, has_patch) = (self.plan, self.shape.clone(), !self.options.no_patch);
        let (title, lead) = (self.title(sessions), plan.lead(sessions));
        let mut bars = Bars::new(self.reader, self.redactor, plan, sessions)?;
        let mut page = Page::begin(out, &title, &lead, up, &shape).map_err(Error::output)?;
        for at in sessions {
            let session = &plan.sessions[*at];
            let (id, summaries) = (format!("s{}", at + 1), session.summaries());
            let head = SessionHead { key: &session.key, summaries: &summaries, id: &id };
            page.session(&head).map_err(Error::output)?;
            for made in session.reads() {
                let told = self.told(session, made)?;
                let count = told.len();
                for (number, Told { conversation, sub_agents, continues }) in told.into_iter().enumerate() {
                    let prefix = plan.prefix(sessions, *at, made, number);
                    let after = match number + 1 == count {
                        true => bars.after(session, made, &conversation, has_patch && shape.span != Span::Focused)?,
                        false => Vec::new(),
                    };
                    let part = Part {
                        conversation: &conversation,
                        sub_agents: &sub_agents,
                        continues: continues.as_ref(),
                        prefix: &prefix,
                        offset: made.commit.author.time.offset,
                        bars: &after,
                    };
                    page.part(&part).map_err(Error::output)?;
                }
            }
        }
        page.end().map_err(Error::output)
    }

    fn write_document(&mut self, out: &mut dyn Write, sessions: &[usize]) -> Result<()> {
        let (plan, depth) = (self.plan, self.options.depth());
        let mut is_first = true;
        for session in sessions.iter().map(|at| &plan.sessions[*at]) {
            for made in session.reads() {
                for Told { conversation, sub_agents, continues } in self.told(session, made)? {
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
                    };
                    pretty::write_document(out, &view, depth).map_err(Error::output)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the conversations that a commit has of a session, without secrets.
    fn told(&mut self, session: &Session, made: &Made) -> Result<Vec<Told>> {
        let Some(note) = self.reader.note(made.commit.commit_id)? else { return Ok(Vec::new()) };
        let mut told: Vec<Told> = Vec::new();
        for id in session.ids(&note) {
            self.reader.each_conversation(&note, Some(&id), session.is_full, Words::Shown, |conversation| {
                if conversation.summary.key.agent != session.key.agent {
                    return Ok(ControlFlow::Continue(()));
                }
                let conversation = self.clean(conversation);
                match told.last_mut().filter(|_| id != session.key.id) {
                    Some(told) => told.sub_agents.push(SubAgent::new(conversation, true)),
                    None => told.push(Told { conversation, sub_agents: Vec::new(), continues: None }),
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        for each in &mut told {
            let first = each.conversation.messages.iter().find(|message| !message.parts.is_empty());
            let begins_within = first.is_some_and(|message| !message.is_prompt() && !message.is_sidechain);
            if begins_within && !session.is_full {
                let before = self.reader.continued(made.commit.commit_id, &each.conversation.summary);
                let short = |(id, prompt): (_, String)| {
                    (self.reader.repo().abbreviate(id), plan::clean(self.redactor, &prompt))
                };
                each.continues = before.map(short);
            }
        }
        Ok(told)
    }

    /// Takes secrets out of a conversation that an earlier version or another tool has recorded.
    fn clean(&mut self, mut conversation: Conversation) -> Conversation {
        let summary = &conversation.summary;
        self.has_problems |= !summary.is_removed && conversation.lack.is_none() && !conversation.problems.is_empty();
        self.redacted += u64::from(conversation.redact(self.redactor));
        plan::clean_summary(self.redactor, &mut conversation.summary);
        conversation
    }

    fn title(&self, sessions: &[usize]) -> String {
        if let Some(title) = &self.options.title {
            return title.clone();
        }
        let mut made = sessions.iter().flat_map(|at| &self.plan.sessions[*at].made);
        let Some(first) = made.next() else { return String::new() };
        let is_one_commit = made.all(|made| made.commit.commit_id == first.commit.commit_id);
        match (is_one_commit, sessions, &first.summary.prompt) {
            (true, ..) => first.commit.subject().to_str_lossy().into_owned(),
            (false, [_], Some(prompt)) => pretty::html::beginning(prompt, TITLE_CHARS),
            _ => "Conversations".to_owned(),
        }
    }

    fn write_index(&self, out: &mut dyn Write, names: &[String]) -> std::io::Result<()> {
        let title = self.options.title.as_deref().unwrap_or("Conversations");
        let sessions = self.plan.sessions.iter().zip(names);
        if self.options.html {
            let indexed = sessions.map(|(session, name)| Indexed {
                address: outside::component(name),
                made: session.made.iter().map(|made| (&made.commit, &made.summary)).collect(),
            });
            return write_index(out, title, &indexed.collect::<Vec<_>>(), &self.shape);
        }
        let entries = sessions.map(|(session, name)| {
            let subjects = session.made.iter().map(|made| made.commit.subject().to_str_lossy().into_owned());
            (outside::component(name), session.key.to_string(), subjects.collect())
        });
        pretty::write_document_index(out, title, &entries.collect::<Vec<_>>())
    }
}
