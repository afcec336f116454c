//! The turns of a conversation as HTML.

use std::io::{self, Write};

use maud::{Markup, html};

use super::super::call;
use super::super::clock::duration;
use super::super::place::Directories;
use super::super::sub_agent::SubAgent;
use super::call::Calls;
use super::item::{Answers, Item, ItemKind, groups};
use super::texts::PageTexts;
use super::words::{attached, beginning, markdown};
use super::{Outlet, PageOptions, Span, address};
use crate::git::date::{Format, Time};
use crate::outside;
use crate::transcript::{Message, Part, ToolResult};

/// How many of the hunks that a turn wrote are named.
const MAX_WROTE: usize = 12;

/// Writes the items of a conversation.
pub struct Turns<'a> {
    pub(super) shape: &'a PageOptions,
    /// The prefix of the ids of this conversation.
    pub(super) prefix: String,
    pub(super) answers: Answers<'a>,
    pub(super) calls: Calls,
    pub(super) sub_agents: &'a [SubAgent],
    /// Whether these are the words of a sub-agent: they have no numbers of their own.
    pub(super) is_sub_agent: bool,
    /// The offset of the clock by which times are shown, in seconds.
    pub(super) offset: i32,
    /// The id of the last place that has one.
    pub(super) place: String,
    /// The id of the heading of the session.
    pub(super) session_name: Option<&'a str>,
    /// The texts so far, if they are collected.
    pub(super) texts: Option<PageTexts>,
}

impl<'a> Turns<'a> {
    /// Writes one turn. `number` is that of `show`, `head` says when it was, `wrote` are links to what it wrote.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write(
        &mut self,
        out: &mut dyn Write,
        (number, head): (usize, &Markup),
        messages: &'a [Message],
        wrote: &[(String, String)],
    ) -> io::Result<()> {
        let id = format!("{}t{number}", self.prefix);
        let name = format!("{id}-name");
        let names = self.session_name.map_or_else(|| name.clone(), |session| format!("{session} {name}"));
        let items = self.answers.items(messages, false);
        self.place.clone_from(&id);
        let turn = html! { h3 id=(name) { a.self href={ "#" (id) } { (head) } } };
        write!(out, "<section class=\"turn\" id=\"{id}\" aria-labelledby=\"{names}\">{}", turn.into_string())?;
        self.write_items(out, &items, Some(&id))?;
        if !wrote.is_empty() {
            let links = html! {
                p.wrote {
                    "wrote "
                    @for (at, (address, text)) in wrote.iter().take(MAX_WROTE).enumerate() {
                        @if at > 0 { ", " } a href=(address) { (text) }
                    }
                    @if wrote.len() > MAX_WROTE { " and " (wrote.len() - MAX_WROTE) " more" }
                }
            };
            out.write_all(links.into_string().as_bytes())?;
        }
        writeln!(out, "</section>")
    }

    fn write_items(&mut self, out: &mut dyn Write, items: &[Item<'a>], id: Option<&str>) -> io::Result<()> {
        for group in groups(items) {
            if !group.iter().any(|item| self.is_shown(item)) {
                continue;
            }
            match group {
                [item] => self.write_item(out, item, id)?,
                many => {
                    let name = many.iter().find_map(|item| match &item.kind {
                        ItemKind::Call(call, _) => Some(outside::line(&call.name)),
                        _ => None,
                    });
                    let about: Vec<String> = many.iter().take(3).filter_map(|item| self.about(item)).collect();
                    let about = format!("{}{}", about.join(", "), if many.len() > 3 { ", …" } else { "" });
                    let summary = html! {
                        span.count { (many.len()) } " " span.tool { (name.unwrap_or_default()) } " " span.about { (about) }
                    };
                    write!(out, "<details class=\"work run\"><summary>{}</summary>", summary.into_string())?;
                    many.iter().try_for_each(|item| self.write_item(out, item, id))?;
                    writeln!(out, "</details>")?;
                }
            }
        }
        Ok(())
    }

    fn is_shown(&self, item: &Item<'_>) -> bool {
        if self.shape.span == Span::Focused {
            return matches!(item.kind, ItemKind::Prompt(_)) || item.is_last_answer;
        }
        match item.kind {
            ItemKind::Thinking(_) => self.shape.has_thinking,
            ItemKind::Call(..) | ItemKind::Result(_) | ItemKind::Aside(_) => self.shape.has_tools,
            _ => true,
        }
    }

    /// Returns the subject of a call of a run, in a few words.
    fn about(&self, item: &Item<'_>) -> Option<String> {
        match &item.kind {
            ItemKind::Call(call, _) => Some(beginning(&self.calls.about(call), 40)).filter(|about| !about.is_empty()),
            _ => None,
        }
    }

    fn write_item(&mut self, out: &mut dyn Write, item: &Item<'a>, id: Option<&str>) -> io::Result<()> {
        let own = id.filter(|_| item.message.1 && !self.is_sub_agent).map(|id| format!("{id}m{}", item.message.0));
        if let Some(own) = &own {
            self.place.clone_from(own);
        }
        self.remember(item);
        let gone = if item.is_abandoned { " gone" } else { "" };
        let whole = self.shape.span == Span::Full;
        let markup = match &item.kind {
            ItemKind::Prompt(message) => html! {
                div.prompt.(gone.trim()) id=[own] {
                    @if self.is_sub_agent { span.who { "Task" } } @else { span.who { "Prompt" } }
                    @if item.is_abandoned { " " span.badge { "taken back" } }
                    (self.prompt(message))
                }
            },
            ItemKind::Answer(text) => html! {
                div.answer.(gone.trim()).(if item.is_last_answer { "last" } else { "" }) id=[own] { (markdown(text)) }
            },
            ItemKind::Thinking(text) => html! {
                details.work.thinking id=[own] open[whole] {
                    summary { span.tool { "Thinking" } " " span.about { (beginning(text, 90)) } }
                    div.body { (markdown(text)) }
                }
            },
            ItemKind::Notice(text) => html! { p.notice.work id=[own] { (outside::text(text)) } },
            ItemKind::Attachment(what) => html! { div id=[own] { (attached(what)) } },
            ItemKind::Call(call, result) => {
                self.calls.remember(call, *result);
                let ran = result.and_then(|result| result.sub_agent.as_deref());
                let ran = ran.and_then(|id| self.sub_agents.iter().find(|other| other.id == id));
                return self.write_call(out, own, self.calls.call(call, *result, whole), ran);
            }
            ItemKind::Result(result) => html! {
                details.work.call id=[own] open[whole] {
                    summary { span.tool { "Answer" } " " span.about { (about_answer(result)) } }
                    (self.calls.result(None, result))
                }
            },
            ItemKind::Aside(messages) => {
                let said = SubAgent::said(messages);
                let summary = html! { span.tool { "Sub-agent" } " " span.about { (said) } };
                write!(
                    out,
                    "<details class=\"work call sub\"{}><summary>{}</summary>",
                    opened(whole),
                    summary.into_string()
                )?;
                self.write_within(out, messages)?;
                return writeln!(out, "</details>");
            }
        };
        writeln!(out, "{}", markup.into_string())
    }

    /// Collects the text of an item.
    fn remember(&mut self, item: &Item<'_>) {
        let Some(texts) = &mut self.texts else { return };
        let (text, is_said) = match &item.kind {
            ItemKind::Prompt(message) => (message.text(), true),
            ItemKind::Answer(text) | ItemKind::Notice(text) => ((*text).to_owned(), true),
            ItemKind::Thinking(text) => ((*text).to_owned(), false),
            ItemKind::Call(call, result) => {
                let answer = result.map(|result| result.text.as_str()).unwrap_or_default();
                (format!("{} {}\n{answer}", call.name, self.calls.about(call)), false)
            }
            ItemKind::Result(result) => (result.text.clone(), false),
            ItemKind::Attachment(_) | ItemKind::Aside(_) => return,
        };
        texts.add(&self.place, &text, is_said);
    }

    /// Writes a call, and the words of the sub-agent that it has started.
    fn write_call(
        &mut self,
        out: &mut dyn Write,
        id: Option<String>,
        call: super::call::Shown,
        ran: Option<&'a SubAgent>,
    ) -> io::Result<()> {
        let class = format!("work call{}", if call.has_failed { " failed" } else { "" });
        let id = id.map(|id| format!(" id=\"{id}\"")).unwrap_or_default();
        if call.body.0.is_empty() && ran.is_none() {
            return writeln!(out, "<p class=\"{class} bare\"{id}>{}</p>", call.summary.into_string());
        }
        let open = opened(call.is_open);
        writeln!(out, "<details class=\"{class}\"{id}{open}><summary>{}</summary>", call.summary.into_string())?;
        out.write_all(call.body.0.as_bytes())?;
        if let Some(ran) = ran {
            self.write_sub_agent(out, ran)?;
        }
        writeln!(out, "</details>")
    }

    /// Writes a sub-agent with its words.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write_sub_agent(&mut self, out: &mut dyn Write, ran: &'a SubAgent) -> io::Result<()> {
        let whole = opened(self.shape.span == Span::Full);
        let summary = html! {
            span.tool { "Sub-agent" } " " span.about { (outside::line(&ran.id)) (outside::line(&ran.folded(None))) }
        };
        write!(out, "<details class=\"work call sub\"{whole}><summary>{}</summary>", summary.into_string())?;
        let alone = (self.shape.outlet == Outlet::Server).then(|| address::session(&ran.summary.key));
        let problems = html! {
            @if let Some(address) = alone { p.notice { a href=(address) { "this sub-agent alone" } } }
            @for problem in &ran.problems { p.problem { (outside::line(problem)) } }
        };
        out.write_all(problems.into_string().as_bytes())?;
        if let Some(conversation) = &ran.conversation {
            let directory = crate::agent::directory(&conversation.bytes);
            let place = Directories::new(directory.as_deref(), self.shape.top.as_deref());
            let outer = std::mem::replace(&mut self.answers, Answers::of(&conversation.messages));
            let own = Calls::new(place, None, self.calls.packed());
            let calls = std::mem::replace(&mut self.calls, own);
            let written = self.write_within(out, &conversation.messages);
            (self.answers, self.calls) = (outer, calls);
            written?;
        }
        writeln!(out, "</details>")
    }

    fn write_within(&mut self, out: &mut dyn Write, messages: &'a [Message]) -> io::Result<()> {
        let items = self.answers.items(messages, true);
        let was_sub_agent = std::mem::replace(&mut self.is_sub_agent, true);
        let written = self.write_items(out, &items, None);
        self.is_sub_agent = was_sub_agent;
        written
    }

    /// Returns a prompt: its text as it was typed, and its attachments.
    fn prompt(&self, message: &Message) -> Markup {
        html! {
            @for part in &message.parts {
                @match part {
                    Part::Text(text) => div.typed { (outside::text(text.trim())) },
                    Part::Attachment(what) => (attached(what)),
                    _ => {},
                }
            }
        }
    }

    /// Returns the heading of a turn.
    pub fn head(&self, number: usize, start: Option<i64>, secs: Option<i64>) -> Markup {
        html! {
            "Turn " (number)
            @if let Some(start) = start { " " (time_html(start, self.offset)) }
            @if let Some(took) = secs.and_then(duration) { " " span.took { (took) } }
        }
    }
}

fn opened(is_open: bool) -> &'static str {
    if is_open { " open" } else { "" }
}

/// Returns a time as HTML: day and time of day, by the clock with this offset in seconds.
pub fn time_html(seconds: i64, offset: i32) -> Markup {
    let time = Time { seconds, offset };
    let (day, clock) = Format::default().day_and_clock(time);
    html! { time datetime=(Format::STRICT.show(time)) { (day) " " (clock) } }
}

/// Returns a time as HTML where its day stands above it: the time of day.
pub fn clock_html(seconds: i64, offset: i32) -> Markup {
    let time = Time { seconds, offset };
    html! { time datetime=(Format::STRICT.show(time)) { (Format::default().day_and_clock(time).1) } }
}

/// Returns the closed line of an answer without a call: its length, or its beginning.
fn about_answer(result: &ToolResult) -> String {
    match result.text.trim().lines().count() {
        lines if call::is_folded_without_call(result, lines) && !result.is_error => {
            format!("to an earlier call, {}", super::super::count(lines as u64, "line"))
        }
        _ => beginning(&result.text, 90),
    }
}
