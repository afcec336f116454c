//! Conversations as pages and documents: what `git shiftlog export` writes to files and the server sends to browsers.
//!
//! Read [`Selection`] for what is exported, then [`Pages::write`], which writes the page of some of its sessions. Secrets are removed
//! once more: an earlier version or another tool may have recorded them.

mod bars;
mod plan;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;

use bstr::ByteSlice as _;

use self::bars::Bars;
pub use self::plan::{Made, Selection, Session, SessionCounts, Wanted, clean_commit, clean_summary, read_commit};
use crate::error::{Error, Result};
use crate::git::{Commit, ObjectId};
use crate::pretty::html::{
    Frame, Outlet, Page, PageConversation, PageOptions, PageTexts, SessionHead, Span, address, beginning,
};
use crate::pretty::{SubAgent, Tasks};
use crate::record::redaction::{clean, clean_key};
use crate::record::{Conversation, MissingWords, Reader, Sessions, Summary};
use crate::redact::{Redactor, without_key_parts};
use crate::stats::{Prices, Uncounted};

/// A page with more bytes is a large one.
const MAX_SMALL_BYTES: usize = 8 << 20;
/// So many notes are kept, for the sessions that share them.
const MAX_NOTES: usize = 256;
/// The longest title that is made of a prompt, in characters.
const TITLE_CHARS: usize = 72;

/// Reads the conversations of a plan, and writes them as pages.
pub struct Pages<'a, 'r> {
    reader: &'a Reader<'r>,
    redactor: &'a Redactor,
    plan: &'a Selection,
    shape: PageOptions,
    has_patch: bool,
    /// The notes that were read last: a commit can have thousands of sessions, and they are limited together.
    notes: HashMap<ObjectId, Sessions>,
    /// The counts of the sessions that were written.
    counts: HashMap<usize, Rc<SessionCounts>>,
    packing: Packing,
    met: Met,
    /// Gets the number of commits whose conversations were read, and that of all.
    tell: Box<dyn FnMut(usize, usize) + 'a>,
    all: usize,
}

/// When the answers of tools are packed, by which a page is much smaller, and needs JavaScript to show them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Packing {
    /// Never.
    #[default]
    Never,
    /// On pages that would have more than 8 MiB.
    Large,
    /// Always.
    Always,
}

/// The numbers of what was met in the conversations that were read.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    redacted: u64,
    damaged: u64,
    too_large: u64,
    missing: u64,
    is_fetchable: bool,
    /// The commits whose conversations were read.
    commits: usize,
}

/// What one page holds.
#[derive(Clone, Copy, Debug)]
pub struct PageContents<'c> {
    /// Sessions of the plan, by their positions.
    pub sessions: &'c [usize],
    /// Commits that have evidence alone.
    pub observed: &'c [Rc<Commit>],
    /// The title.
    pub title: &'c str,
    /// The address of the overview.
    pub up: Option<&'c str>,
}

/// A page in memory, of [`MAX_SMALL_BYTES`] at most.
struct SmallPage {
    bytes: Vec<u8>,
    is_exceeded: bool,
}

/// A conversation with what belongs to it.
#[derive(Debug)]
pub struct ShownConversation {
    /// The conversation.
    pub conversation: Conversation,
    /// Where each message begins in the transcript that is stored, which can have secrets.
    pub starts: Vec<usize>,
    /// The sub-agents of its session.
    pub sub_agents: Vec<SubAgent>,
    /// The commit whose conversation goes on in this one, and its last prompt.
    pub continues: Option<(String, String)>,
    /// The tasks that the session made before, if some are changed here.
    pub tasks: Option<Tasks>,
}

impl<'a, 'r> Pages<'a, 'r> {
    /// Prepares the pages of a plan. With `has_patch` they have the changes that the commits made.
    pub fn new(
        reader: &'a Reader<'r>,
        redactor: &'a Redactor,
        plan: &'a Selection,
        shape: PageOptions,
        has_patch: bool,
    ) -> Self {
        let (notes, counts) = (HashMap::new(), HashMap::new());
        let tell = Box::new(|_, _| ());
        let all = plan.sessions.iter().map(|session| session.reads().len()).sum();
        Pages {
            reader,
            redactor,
            plan,
            shape,
            has_patch,
            notes,
            counts,
            packing: Packing::Never,
            met: Met::default(),
            tell,
            all,
        }
    }

    /// Tells how many of how many conversations were read.
    #[must_use]
    pub fn telling(self, tell: impl FnMut(usize, usize) + 'a) -> Self {
        Pages { tell: Box::new(tell), ..self }
    }

    /// Packs the answers of tools.
    #[must_use]
    pub fn packing(self, packing: Packing) -> Self {
        Pages { packing, ..self }
    }

    /// Returns how many conversations had secrets.
    pub fn redacted(&self) -> u64 {
        self.met.redacted
    }

    /// Returns how many conversations have damaged words.
    pub fn damaged(&self) -> u64 {
        self.met.damaged
    }

    /// Returns how many conversations are not there whole because they are too large to read.
    pub fn too_large(&self) -> u64 {
        self.met.too_large
    }

    /// Returns how many conversations have no words here although nothing is damaged, and whether some may be fetched.
    pub fn missing(&self) -> (u64, bool) {
        (self.met.missing, self.met.is_fetchable)
    }

    /// Returns what a session of the plan counts.
    pub fn counts(&mut self, at: usize) -> Rc<SessionCounts> {
        let counted = || Rc::new(self.plan.sessions[at].counted(self.reader));
        Rc::clone(self.counts.entry(at).or_insert_with(counted))
    }

    /// Returns what could not be counted as it should be of the sessions that were written.
    pub fn uncounted(&self) -> Uncounted {
        self.counts.values().map(|counts| counts.uncounted).fold(Uncounted::default(), Uncounted::plus)
    }

    /// Writes a page. Returns its texts for the search of the overview, if it stands in a file.
    ///
    /// # Errors
    ///
    /// If a conversation cannot be read, Git fails, or writing fails.
    pub fn write(&mut self, out: &mut dyn Write, contents: PageContents<'_>) -> Result<PageTexts> {
        let met = self.met;
        if self.packing == Packing::Large {
            let mut small = SmallPage { bytes: Vec::new(), is_exceeded: false };
            let written = self.write_page(&mut small, contents, false);
            if !small.is_exceeded {
                let texts = written?;
                return out.write_all(&small.bytes).map(|()| texts).map_err(Error::output);
            }
            // All is read once more, within the same limits.
            self.met = met;
            self.notes.clear();
        }
        self.write_page(out, contents, self.packing != Packing::Never)
    }

    fn write_page(&mut self, out: &mut dyn Write, contents: PageContents<'_>, is_packed: bool) -> Result<PageTexts> {
        let PageContents { sessions, observed, title, up } = contents;
        let (plan, shape) = (self.plan, PageOptions { is_packed, ..self.shape.clone() });
        let has_patch = self.has_patch && shape.span != Span::Focused;
        let has_pages = shape.outlet == Outlet::Server;
        // What somebody pays is nobody else's business; a file is handed on.
        let prices = if has_pages { Prices::configured(self.reader.repo(), None) } else { Ok(Prices::listed()) };
        let prices = prices.unwrap_or_else(|_| Prices::listed());
        let mut bars = Bars::new(self.reader, self.redactor, plan, sessions, &shape);
        let change = match plan.only_commit(sessions).filter(|_| has_patch && observed.is_empty()) {
            Some(made) => bars.beside(made)?,
            None => None,
        };
        let frame = Frame { title, lead: &plan.lead(sessions, observed), up, has_change: change.is_some() };
        let mut page = Page::begin(out, frame, &shape).map_err(Error::output)?;
        for at in sessions {
            let session = &plan.sessions[*at];
            let (id, counts) = (format!("s{}", at + 1), self.counts(*at));
            let own = counts.records.iter().map(|(_, summary)| summary).filter(|summary| summary.key == session.key);
            let mut summaries: Vec<Summary> = own.cloned().collect();
            // What was counted from words was not read from a record.
            summaries.iter_mut().for_each(|summary| clean_summary(self.redactor, summary));
            let address = (has_pages && !session.is_full).then(|| address::session(&session.shown));
            let mut first = session.reads().first().map(|made| self.conversations(session, made)).transpose()?;
            let is_here = first.iter().flatten().any(|shown| !shown.conversation.bytes.is_empty());
            let raw = (has_pages && session.is_full && is_here).then(|| address::raw(&session.shown));
            let (cost, uncounted) = (counts.cost(&prices), counts.uncounted);
            let head =
                SessionHead { key: &session.shown, summaries: &summaries, cost, uncounted, id: &id, address, raw };
            page.session(&head).map_err(Error::output)?;
            for made in session.reads() {
                let shown = first.take().map_or_else(|| self.conversations(session, made), Ok)?;
                let count = shown.len();
                for (number, shown) in shown.into_iter().enumerate() {
                    let ShownConversation { conversation, starts, sub_agents, continues, tasks } = shown;
                    let prefix = plan.prefix(sessions, *at, made, number);
                    let after = match number + 1 == count && change.is_none() {
                        true => bars.after(session, made, &starts, has_patch)?,
                        false => Vec::new(),
                    };
                    let part = PageConversation {
                        conversation: &conversation,
                        sub_agents: &sub_agents,
                        continues: continues.as_ref(),
                        tasks: tasks.as_ref(),
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
        for commit in observed {
            page.commit(&bars.observed(commit, has_patch)?).map_err(Error::output)?;
        }
        Ok(page.end().map_err(Error::output)?.unwrap_or_default())
    }

    /// Reads the conversations that a commit has of a session, without secrets.
    ///
    /// # Errors
    ///
    /// If the note cannot be read.
    pub fn conversations(&mut self, session: &Session, made: &Made) -> Result<Vec<ShownConversation>> {
        self.met.commits += 1;
        (self.tell)(self.met.commits, self.all);
        let commit_id = made.commit.commit_id;
        let known = self.notes.remove(&commit_id);
        let Some(mut note) = known.map_or_else(|| self.reader.sessions(commit_id), |note| Ok(Some(note)))? else {
            return Ok(Vec::new());
        };
        let mut shown: Vec<ShownConversation> = Vec::new();
        let sub_agents = note.sub_agents(&session.key).to_vec();
        for key in [&session.key].into_iter().chain(&sub_agents) {
            self.reader.each_of_session(&mut note, key, session.is_full, |conversation| {
                let messages = conversation.messages.iter().filter(|message| !message.parts.is_empty());
                let starts = messages.map(|message| message.span.start).collect();
                let conversation = self.clean(conversation);
                match shown.last_mut().filter(|_| *key != session.key) {
                    Some(shown) => shown.sub_agents.push(SubAgent::new(conversation, true)),
                    None => {
                        let (sub_agents, continues, tasks) = (Vec::new(), None, None);
                        shown.push(ShownConversation { conversation, starts, sub_agents, continues, tasks });
                    }
                }
                Ok(())
            })?;
        }
        if self.notes.len() >= MAX_NOTES {
            self.notes.clear();
        }
        self.notes.insert(commit_id, note);
        for each in &mut shown {
            let first = each.conversation.messages.iter().find(|message| !message.parts.is_empty());
            let begins_within = first.is_some_and(|message| !message.is_prompt() && !message.is_sidechain);
            if begins_within && !session.is_full {
                let summary = &each.conversation.summary;
                let since = summary.since.as_deref();
                let before = self.reader.continued(made.commit.commit_id, &session.key, since);
                let short = |(id, prompt): (_, String)| {
                    (self.reader.repo().abbreviate(id), clean_words(self.redactor, &prompt))
                };
                each.continues = before.map(short);
            }
            if !session.is_full && Tasks::are_made_before(&each.conversation.messages) {
                each.tasks = Tasks::until(self.reader, commit_id, &session.key)?;
                each.tasks.iter_mut().for_each(|tasks| tasks.redact(self.redactor));
            }
        }
        Ok(shown)
    }

    /// Takes secrets out of a conversation that an earlier version or another tool has recorded.
    fn clean(&mut self, mut conversation: Conversation) -> Conversation {
        self.met.damaged += u64::from(conversation.is_damaged());
        self.met.too_large += u64::from(conversation.is_too_large);
        let has_secrets = conversation.redact(self.redactor);
        self.met.redacted += u64::from(conversation.leave_out_key_parts() || has_secrets);
        if let Some(lack) = conversation.lack {
            self.met.missing += 1;
            self.met.is_fetchable |= lack == MissingWords::NotFetched;
        }
        let (is_shown, redactor) = (self.shape.has_pictures, self.redactor);
        conversation.retain_pictures(|bytes| is_shown && matches!(redactor.redact(bytes).0, Cow::Borrowed(_)));
        clean_summary(self.redactor, &mut conversation.summary);
        conversation.summary.key = clean_key(self.redactor, &conversation.summary.key);
        // Some name people.
        conversation.problems.iter_mut().for_each(|problem| *problem = clean(self.redactor, problem));
        conversation
    }
}

impl Write for SmallPage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_exceeded |= self.bytes.len() + bytes.len() > MAX_SMALL_BYTES;
        if self.is_exceeded {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns words of people and agents without secrets, and without lines that can be part of a key.
fn clean_words(redactor: &Redactor, text: &str) -> String {
    without_key_parts(&clean(redactor, text)).into_owned()
}

impl Selection {
    /// Returns a title for a page with some sessions and commits: the subject of their only commit, or the first prompt.
    pub fn title(&self, sessions: &[usize], observed: &[Rc<Commit>]) -> String {
        let mut made = sessions.iter().flat_map(|at| &self.sessions[*at].made);
        let Some(first) = made.next() else {
            return match observed {
                [commit] => commit.subject().to_str_lossy().into_owned(),
                _ => "Commits".to_owned(),
            };
        };
        let is_one_commit = observed.is_empty() && made.all(|made| made.commit.commit_id == first.commit.commit_id);
        match (is_one_commit, sessions, &first.summary.prompt) {
            (true, ..) => first.commit.subject().to_str_lossy().into_owned(),
            (false, [_], Some(prompt)) => beginning(prompt, TITLE_CHARS),
            _ => "Conversations".to_owned(),
        }
    }
}
