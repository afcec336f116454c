//! Conversations as pages and documents: what `git shiftlog export` writes to files and the server sends to browsers.
//!
//! Read [`Plan`] for what is exported, then [`Pages::write`], which writes the page of some of its sessions. Secrets are removed
//! once more: an earlier version or another tool may have recorded them.

mod bars;
mod plan;

use std::io::Write;
use std::ops::ControlFlow;

use bstr::ByteSlice as _;

use self::bars::Bars;
pub use self::plan::{Made, Plan, Session, Wanted, clean, clean_commit, clean_summary};
use crate::error::{Error, Result};
use crate::pretty::SubAgent;
use crate::pretty::html::{Frame, Outlet, Page, Part, SessionHead, Shape, Span, address, beginning};
use crate::record::{Conversation, Reader, Words};
use crate::redact::Redactor;
use crate::stats::{Prices, cost_of};

/// The longest title that is made of a prompt, in characters.
const TITLE_CHARS: usize = 72;

/// Reads the conversations of a plan, and writes them as pages.
pub struct Pages<'a, 'r> {
    reader: &'a Reader<'r>,
    redactor: &'a Redactor,
    plan: &'a Plan,
    shape: Shape,
    has_patch: bool,
    redacted: u64,
    damaged: u64,
}

/// A conversation with what belongs to it.
#[derive(Debug)]
pub struct Told {
    /// The conversation.
    pub conversation: Conversation,
    /// The sub-agents of its session.
    pub sub_agents: Vec<SubAgent>,
    /// The commit whose conversation goes on in this one, and its last prompt.
    pub continues: Option<(String, String)>,
}

impl<'a, 'r> Pages<'a, 'r> {
    /// Prepares the pages of a plan. With `has_patch` they have the changes that the commits made.
    pub fn new(reader: &'a Reader<'r>, redactor: &'a Redactor, plan: &'a Plan, shape: Shape, has_patch: bool) -> Self {
        Pages { reader, redactor, plan, shape, has_patch, redacted: 0, damaged: 0 }
    }

    /// Returns how many conversations had secrets.
    pub fn redacted(&self) -> u64 {
        self.redacted
    }

    /// Returns how many conversations have damaged words.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Writes the page of some sessions of the plan. `up` is the address of the overview.
    ///
    /// # Errors
    ///
    /// If a conversation cannot be read, Git fails, or writing fails.
    pub fn write(&mut self, out: &mut dyn Write, sessions: &[usize], title: &str, up: Option<&str>) -> Result<()> {
        let (plan, shape) = (self.plan, self.shape.clone());
        let has_patch = self.has_patch && shape.span != Span::Focused;
        let has_pages = shape.outlet == Outlet::Server;
        // What somebody pays is nobody else's business; a file is handed on.
        let prices = if has_pages { Prices::configured(self.reader.repo(), None) } else { Ok(Prices::default()) };
        let prices = prices.unwrap_or_default();
        let mut bars = Bars::new(self.reader, self.redactor, plan, sessions, has_pages)?;
        let change = match plan.only_commit(sessions).filter(|_| has_patch) {
            Some(made) => bars.beside(made)?,
            None => None,
        };
        let frame = Frame { title, lead: &plan.lead(sessions), up, has_change: change.is_some() };
        let mut page = Page::begin(out, frame, &shape).map_err(Error::output)?;
        for at in sessions {
            let session = &plan.sessions[*at];
            let (id, summaries) = (format!("s{}", at + 1), session.summaries());
            let address = (has_pages && !session.is_full).then(|| address::session(&session.key));
            let raw = (has_pages && session.is_full).then(|| address::raw(&session.key));
            let used = session.made.iter().flat_map(|made| [&made.summary].into_iter().chain(&made.sub_agents));
            let cost = cost_of(&prices, used);
            let head = SessionHead { key: &session.key, summaries: &summaries, cost, id: &id, address, raw };
            page.session(&head).map_err(Error::output)?;
            for made in session.reads() {
                let told = self.told(session, made)?;
                let count = told.len();
                for (number, Told { conversation, sub_agents, continues }) in told.into_iter().enumerate() {
                    let prefix = plan.prefix(sessions, *at, made, number);
                    let after = match number + 1 == count && change.is_none() {
                        true => bars.after(session, made, &conversation, has_patch)?,
                        false => Vec::new(),
                    };
                    let part = Part {
                        conversation: &conversation,
                        sub_agents: &sub_agents,
                        continues: continues.as_ref(),
                        prefix: &prefix,
                        offset: made.commit.author.time.offset,
                        bars: &after,
                        wrote: bars.wrote(&prefix),
                    };
                    page.part(&part).map_err(Error::output)?;
                }
            }
        }
        if let Some(bar) = &change {
            page.change(bar).map_err(Error::output)?;
        }
        page.end().map_err(Error::output)
    }

    /// Reads the conversations that a commit has of a session, without secrets.
    ///
    /// # Errors
    ///
    /// If the note cannot be read.
    pub fn told(&mut self, session: &Session, made: &Made) -> Result<Vec<Told>> {
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
                let short =
                    |(id, prompt): (_, String)| (self.reader.repo().abbreviate(id), clean(self.redactor, &prompt));
                each.continues = before.map(short);
            }
        }
        Ok(told)
    }

    /// Takes secrets out of a conversation that an earlier version or another tool has recorded.
    fn clean(&mut self, mut conversation: Conversation) -> Conversation {
        let summary = &conversation.summary;
        let is_damaged = !summary.is_removed && conversation.lack.is_none() && !conversation.problems.is_empty();
        self.damaged += u64::from(is_damaged);
        self.redacted += u64::from(conversation.redact(self.redactor));
        clean_summary(self.redactor, &mut conversation.summary);
        conversation
    }
}

impl Plan {
    /// Returns a title for a page with some sessions: the subject of their only commit, or the first prompt.
    pub fn title(&self, sessions: &[usize]) -> String {
        let mut made = sessions.iter().flat_map(|at| &self.sessions[*at].made);
        let Some(first) = made.next() else { return String::new() };
        let is_one_commit = made.all(|made| made.commit.commit_id == first.commit.commit_id);
        match (is_one_commit, sessions, &first.summary.prompt) {
            (true, ..) => first.commit.subject().to_str_lossy().into_owned(),
            (false, [_], Some(prompt)) => beginning(prompt, TITLE_CHARS),
            _ => "Conversations".to_owned(),
        }
    }
}
