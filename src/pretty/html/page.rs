//! A page with conversations: sessions, the commits between their turns, contents.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;

use bstr::ByteSlice as _;
use maud::{Markup, html};

use super::super::count;
use super::super::place::Directories;
use super::super::stats::short;
use super::super::sub_agent::SubAgent;
use super::super::tasks::Tasks;
use super::super::told::told_line;
use super::super::view::uncalled;
use super::call::Calls;
use super::commit::Bar;
use super::head::{end, head, header};
use super::item::{Answers, tally};
use super::packed::Packed;
use super::texts::PageTexts;
use super::turn::Turns;
use super::words::{beginning, markdown};
use super::{Outlet, PageOptions, Span};
use crate::record::{Conversation, Summary};
use crate::stats::{Cost, Uncounted};
use crate::told::{Changes, Told};
use crate::transcript::{SessionKey, turns};
use crate::{agent, outside};

/// The data above the conversation of a session.
#[derive(Clone, Debug)]
pub struct SessionHead<'a> {
    /// The session.
    pub key: &'a SessionKey,
    /// The summaries of its records, in the order of the page.
    pub summaries: &'a [Summary],
    /// Its cost with its sub-agents; `None` if no tokens are known.
    pub cost: Option<Cost>,
    /// The reasons why its counts can be wrong.
    pub uncounted: Uncounted,
    /// The id that a link to the session has.
    pub id: &'a str,
    /// The address of the whole session, if it has a page of its own.
    pub address: Option<String>,
    /// The address of its transcript, if it has one.
    pub raw: Option<String>,
}

/// A conversation as one commit has it.
#[derive(Debug)]
pub struct PageConversation<'a> {
    /// The conversation.
    pub conversation: &'a Conversation,
    /// The sub-agents of its session.
    pub sub_agents: &'a [SubAgent],
    /// The abbreviated id of the commit whose conversation goes on in this one, and the prompt that is answered here.
    pub continues: Option<&'a (String, String)>,
    /// The tasks that its session made before; `None` if none is changed here.
    pub tasks: Option<&'a Tasks>,
    /// The prefix of the ids of its turns; empty if the page has no other part.
    pub prefix: &'a str,
    /// The offset of the author's clock, in seconds.
    pub offset: i32,
    /// The commits that were made meanwhile, each after the messages that it has; the last stands at the end.
    pub bars: &'a [(usize, Bar)],
    /// The hunks that turns wrote, by the numbers of the turns: the address of each hunk, and the text of the link.
    pub wrote: &'a HashMap<usize, Vec<(String, String)>>,
}

/// The parts of a page above and beside its conversations.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The title.
    pub title: &'a str,
    /// The line below the title.
    pub lead: &'a str,
    /// The address of the overview.
    pub up: Option<&'a str>,
    /// Whether a change stands beside the conversations: that of [`Page::change`].
    pub has_change: bool,
}

/// An entry of the contents.
#[derive(Debug)]
enum Entry {
    Session { id: String, text: String },
    Turn { id: String, number: usize, text: String, tally: String },
    Commit { id: String, name: String, text: String },
}

/// A page that is being written.
pub struct Page<'p> {
    out: &'p mut dyn Write,
    shape: &'p PageOptions,
    contents: Vec<Entry>,
    /// The id of the heading of the session that is being written: what is within it is named by both headings.
    session_name: Option<String>,
    /// The instruction files of the last conversation of the session whose record has such.
    told: Option<Told>,
    /// The texts of the page, if an overview beside it searches them.
    texts: Option<PageTexts>,
    /// The answers of tools, if they stand at the end.
    packed: Option<Rc<RefCell<Packed>>>,
}

impl<'p> Page<'p> {
    /// Begins a page.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn begin(out: &'p mut dyn Write, frame: Frame<'_>, shape: &'p PageOptions) -> io::Result<Self> {
        let title = outside::line(frame.title);
        let class = frame.has_change.then_some("beside");
        let markup = html! {
            (header(frame.up, shape, true))
            main #main tabindex="-1" class=[class] {
                header.title { h1 { (title) } @if !frame.lead.is_empty() { p.lead { (outside::line(frame.lead)) } } }
            }
        };
        let markup = markup.into_string();
        let opening = markup.strip_suffix("</main>").unwrap_or(&markup);
        write!(out, "{}{opening}", head(&title, shape))?;
        if frame.has_change {
            write!(out, "<div class=\"said\">")?;
        }
        let texts = (frame.up.is_some() && shape.outlet == Outlet::File).then(PageTexts::default);
        let packed = shape.is_packed.then(|| Rc::new(RefCell::new(Packed::new())));
        Ok(Page { out, shape, contents: Vec::new(), session_name: None, told: None, texts, packed })
    }

    /// Writes the change that stands beside the conversations, after all of them.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn change(&mut self, bar: &Bar) -> io::Result<()> {
        self.end_session()?;
        write!(self.out, "</div><div class=\"change\">")?;
        bar.write(self.out, None)?;
        self.contents.push(entry(bar));
        write!(self.out, "</div>")
    }

    /// Writes a commit that has no conversation, after all sessions.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn commit(&mut self, bar: &Bar) -> io::Result<()> {
        self.end_session()?;
        bar.write(self.out, None)?;
        self.contents.push(entry(bar));
        Ok(())
    }

    /// Begins a session.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn session(&mut self, head: &SessionHead<'_>) -> io::Result<()> {
        self.end_session()?;
        self.told = None;
        let agent = agent_name(&head.key.agent);
        let short: String = outside::line(&head.key.id).chars().take(8).collect();
        self.contents.push(Entry::Session { id: head.id.to_owned(), text: format!("{agent} {short}") });
        let name = format!("{}-name", head.id);
        let markup = html! {
            header.session-head {
                h2 id=(name) { a.self href={ "#" (head.id) } { (agent) " " code { (short) } } }
                ul.facts {
                    @for fact in facts(head.summaries, head.uncounted.is_at_least()) { li { (fact) } }
                    @if let Some(cost) = head.cost { li { (cost_text(cost)) } }
                    @if let Some(address) = &head.address { li { a href=(address) { "whole session" } } }
                    @if let Some(address) = &head.raw { li { a href=(address) download { "transcript" } } }
                }
                @for warning in head.uncounted.warnings() { p.notice { (warning) } }
            }
        };
        write!(self.out, "<section class=\"session\" id=\"{}\" aria-labelledby=\"{name}\">", head.id)?;
        self.session_name = Some(name);
        self.out.write_all(markup.into_string().as_bytes())
    }

    /// Writes the conversation of a session as one commit has it.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn part(&mut self, part: &PageConversation<'_>) -> io::Result<()> {
        let conversation = part.conversation;
        let summary = &conversation.summary;
        let notice = summary.newer_notice();
        let class = if conversation.lack.is_some() { "notice" } else { "problem" };
        let told = self.told_line(summary);
        let has_words = !conversation.bytes.is_empty() || summary.is_removed;
        let head = html! {
            @for problem in notice.iter().chain(&conversation.problems) { p.(class) { (outside::line(problem)) } }
            @if let Some(told) = told { p.notice.told { (told) } }
            @if let Some(text) = &summary.summary { div.summary { span.who { "Summary" } (markdown(text)) } }
            @if let Some(prompt) = summary.shown_prompt().filter(|_| !has_words) {
                div.prompt { span.who { "Prompt" } div.typed { (outside::text(&prompt)) } }
            }
        };
        self.out.write_all(head.into_string().as_bytes())?;
        let directory = agent::directory(&conversation.bytes);
        let place = Directories::new(directory.as_deref(), self.shape.top.as_deref());
        let mut writer = Turns {
            shape: self.shape,
            prefix: part.prefix.to_owned(),
            answers: Answers::of(&conversation.messages),
            calls: Calls::new(place, part.tasks, self.packed.clone()),
            sub_agents: part.sub_agents,
            is_sub_agent: summary.key.parent_id().is_some(),
            offset: part.offset,
            place: String::new(),
            session_name: self.session_name.as_deref(),
            texts: self.texts.take(),
        };
        let mut bars = part.bars.iter().peekable();
        for turn in turns(&conversation.messages) {
            let messages = &conversation.messages[turn.messages.clone()];
            let id = format!("{}t{}", part.prefix, turn.number);
            let (head, text) = match (turn.number, part.continues) {
                (0, Some((commit, prompt))) => {
                    let prompt = beginning(prompt, 120);
                    (html! { "Turn 0, continues " code { (commit) } ": " span.cited { (prompt) } }, prompt.clone())
                }
                (number, _) => {
                    let text = messages.iter().find(|message| message.is_prompt()).map(|prompt| prompt.text());
                    let text = beginning(&text.unwrap_or_default(), 90);
                    (writer.head(number, turn.start, turn.duration_secs()), text)
                }
            };
            let wrote = part.wrote.get(&turn.number).map_or(&[][..], Vec::as_slice);
            writer.write(self.out, (turn.number, &head), messages, wrote)?;
            let tally = if self.shape.has_tools { tally(messages) } else { String::new() };
            self.contents.push(Entry::Turn { id, number: turn.number, text, tally });
            while let Some((_, bar)) = bars.next_if(|(at, _)| *at <= turn.messages.end) {
                bar.write(self.out, self.session_name.as_deref())?;
                self.contents.push(entry(bar));
            }
        }
        for other in uncalled(conversation, part.sub_agents) {
            if self.shape.has_tools && self.shape.span != Span::Focused {
                writer.write_sub_agent(self.out, other)?;
            }
        }
        for (_, bar) in bars {
            bar.write(self.out, self.session_name.as_deref())?;
            self.contents.push(entry(bar));
        }
        self.texts = writer.texts;
        Ok(())
    }

    /// Returns a line with the instruction files of a record, unless they are those of the record before in this
    /// session.
    fn told_line(&mut self, summary: &Summary) -> Option<String> {
        let told = summary.rules.clone()?;
        let before = self.told.replace(told.clone());
        if before.as_ref() == Some(&told) {
            return None;
        }
        let files = told.files();
        let changes = before.map(|before| Changes::between(&[before.files()], &files));
        told_line(&files, changes.as_ref().map(|changes| ("the commit before", changes)))
    }

    fn end_session(&mut self) -> io::Result<()> {
        if self.session_name.take().is_some() { writeln!(self.out, "</section>") } else { Ok(()) }
    }

    /// Ends the page with its contents. Returns the texts of the page, if an overview beside it searches them.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn end(mut self) -> io::Result<Option<PageTexts>> {
        self.end_session()?;
        let nav = html! {
            nav #contents aria-label="Contents" {
                h2.contents { "Contents" }
                ol {
                    @for entry in &self.contents {
                        @match entry {
                            Entry::Session { id, text } => li.of-session { a href={ "#" (id) } { (text) } },
                            Entry::Turn { id, number, text, tally } => li.of-turn {
                                a href={ "#" (id) } {
                                    span.number { (number) } " " span.text { @if text.is_empty() { "…" } @else { (text) } }
                                    @if !tally.is_empty() { span.tally { (tally) } }
                                }
                            },
                            Entry::Commit { id, name, text } => li.of-commit {
                                a href={ "#" (id) } { code { (name) } " " span.text { (text) } }
                            },
                        }
                    }
                }
            }
        };
        write!(self.out, "</main>{}", nav.into_string())?;
        if let Some(packed) = self.packed.take().and_then(Rc::into_inner) {
            self.out.write_all(packed.into_inner().element()?.as_bytes())?;
        }
        self.out.write_all(end().as_bytes())?;
        Ok(self.texts)
    }
}

fn entry(bar: &Bar) -> Entry {
    let text = beginning(&bar.commit.subject().to_str_lossy(), 60);
    Entry::Commit { id: bar.id.clone(), name: bar.name.clone(), text }
}

/// Returns the name of an agent as people write it, without its maker's.
pub(super) fn agent_name(name: &str) -> String {
    let title = agent::find(name).map(|agent| agent.title()).unwrap_or_default();
    let words = title.match_indices(' ').map(|(at, _)| &title[at + 1..]);
    if let Some(own) = [title].into_iter().chain(words).find(|end| end.replace(' ', "").eq_ignore_ascii_case(name)) {
        return own.to_owned();
    }
    let name = outside::line(name);
    let mut chars = name.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>())
        .into_iter()
        .chain([chars.as_str().to_owned()])
        .collect()
}

/// Returns a cost as a list of facts has it.
pub(super) fn cost_text(cost: Cost) -> String {
    if cost.is_unknown_in_cents() { "cost unknown".to_owned() } else { format!("{} USD", cost.rounded()) }
}

/// Returns the facts about a session: the model, counts, tokens, the id.
fn facts(summaries: &[Summary], is_at_least: bool) -> Vec<Markup> {
    let sum = |of: fn(&Summary) -> u64| summaries.iter().map(of).fold(0, u64::saturating_add);
    let model = summaries.iter().rev().find_map(|summary| summary.model.as_deref());
    let tokens = summaries.iter().filter_map(|summary| summary.tokens).reduce(|a, b| a.plus(b));
    let mut facts = Vec::new();
    facts.extend(model.map(|model| html! { (outside::line(model)) }));
    let bound = if is_at_least { "at least " } else { "" };
    facts.push(html! { (bound) (count(sum(|summary| summary.turns), "turn")) });
    facts.push(html! { (bound) (count(sum(|summary| summary.messages), "message")) });
    facts.extend(tokens.map(|tokens| {
        html! { (bound) (short(tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write))) " tokens in, "
        (short(tokens.output)) " out" }
    }));
    facts
}
