//! What `show` and `log` print for people. May change at any time.

use std::io::{self, Write};

use bstr::ByteSlice as _;

use super::{Style, count, diff, markdown, size};
use crate::git::Commit;
use crate::outside;
use crate::record::{Conversation, Listed, Summary};
use crate::transcript::{Message, Part, Role, Tokens, ToolCall, ToolResult};

/// How much of a tool's answer is shown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ToolOutput {
    /// Nothing.
    None,
    /// The first lines.
    #[default]
    Short,
    /// Everything.
    Full,
}

/// What of a conversation is shown.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Whether the model's thinking is shown.
    pub has_thinking: bool,
    /// Whether tool calls are shown.
    pub has_tools: bool,
    /// How much of their answers.
    pub tool_output: ToolOutput,
}

/// Lines of a file edit that are shown.
const EDIT_LINES: usize = 12;
/// Lines of a tool's answer that are shown by `short`.
const RESULT_LINES: usize = 4;
/// Lines of thinking that are shown.
const THINKING_LINES: usize = 3;

/// Writes the head of a commit as `git show` does.
///
/// # Errors
///
/// If writing fails.
pub fn write_commit(out: &mut dyn Write, commit: &Commit, style: &Style) -> io::Result<()> {
    writeln!(out, "{}", style.paint(&style.commit, &format!("commit {}", commit.commit_id)))?;
    let author = format!("{} <{}>", commit.author.name, commit.author.email);
    writeln!(out, "Author: {}", outside::line(&author))?;
    writeln!(out, "Date:   {}", style.date.show(commit.author.time))?;
    writeln!(out, "\n    {}\n", outside::line(&commit.subject().to_str_lossy()))
}

/// Writes a conversation: its head, then prompts, answers, thinking, tool calls and their results.
///
/// # Errors
///
/// If writing fails.
pub fn write_conversation(
    out: &mut dyn Write,
    conversation: &Conversation,
    depth: Depth,
    style: &Style,
) -> io::Result<()> {
    write_head(out, conversation, style)?;
    if let Some(summary) = &conversation.summary.summary {
        writeln!(out)?;
        let text = outside::text(summary);
        markdown::styled(&text, style).lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    }
    let notice = conversation.summary.newer_notice();
    for problem in notice.iter().chain(&conversation.problems) {
        writeln!(out, "{}", style.paint(&style.old, &format!("[{}]", outside::line(problem))))?;
    }
    let mut printer = Printer { out, depth, style, has_printed: false };
    for message in &conversation.messages {
        printer.message(message)?;
    }
    // Where the words are not here, the record still has the first of them.
    let has_words = !conversation.bytes.is_empty() || conversation.summary.is_removed;
    if let Some(prompt) = conversation.summary.prompt.as_deref().filter(|_| !has_words) {
        printer.block(&[format!("> {}", outside::line(prompt))])?;
    }
    writeln!(printer.out)
}

fn write_head(out: &mut dyn Write, conversation: &Conversation, style: &Style) -> io::Result<()> {
    let summary = &conversation.summary;
    let kind = if summary.key.parent_id().is_some() { "sub-agent" } else { "session" };
    let mut facts = vec![format!("{} {}", outside::line(&summary.key.agent), outside::line(&summary.key.id))];
    if summary.is_removed {
        return writeln!(out, "{}", style.paint(&style.strong, &format!("{kind} {}", facts.join(", "))));
    }
    facts.extend(summary.model.as_deref().map(outside::line));
    facts.push(format!("{}, {}", count(summary.turns, "turn"), count(summary.messages, "message")));
    facts.push(size(conversation.bytes.len() as u64));
    facts.extend(summary.tokens.map(tokens));
    writeln!(out, "{}", style.paint(&style.strong, &format!("{kind} {}", facts.join(", "))))
}

fn tokens(tokens: Tokens) -> String {
    let cached = tokens.cache_read.saturating_add(tokens.cache_write);
    format!("tokens {} in, {} out, {cached} cached", tokens.input, tokens.output)
}

struct Printer<'a> {
    out: &'a mut dyn Write,
    depth: Depth,
    style: &'a Style,
    has_printed: bool,
}

impl Printer<'_> {
    fn message(&mut self, message: &Message) -> io::Result<()> {
        for part in &message.parts {
            match part {
                Part::Text(text) => self.words(message, text)?,
                Part::Attachment(what) if message.role == Role::User => self.words(message, &format!("[{what}]"))?,
                Part::Attachment(what) => self.block(&[self.style.paint(&self.style.dim, &format!("[{what}]"))])?,
                Part::Notice(text) => self.notice(text)?,
                Part::Thinking(text) if self.depth.has_thinking => self.thinking(text)?,
                Part::ToolCall(call) if self.depth.has_tools => self.call(call)?,
                Part::ToolResult(result) if self.depth.has_tools => self.result(result)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes lines as a paragraph of its own.
    fn block(&mut self, lines: &[String]) -> io::Result<()> {
        writeln!(self.out)?;
        self.has_printed = true;
        lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))
    }

    fn words(&mut self, message: &Message, text: &str) -> io::Result<()> {
        let text = outside::text(text.trim_end());
        let taken_back = if message.is_abandoned { " (taken back)" } else { "" };
        if message.role == Role::User && !message.is_sidechain {
            let prompt = |line: &str| self.style.paint(&self.style.user, &format!("> {line}"));
            let mut lines: Vec<String> = text.lines().map(prompt).collect();
            if let Some(last) = lines.last_mut() {
                last.push_str(taken_back);
            }
            self.block(&lines)
        } else {
            let styled = markdown::styled(&text, self.style);
            let mut lines: Vec<String> = styled.lines().map(str::to_owned).collect();
            if message.is_sidechain {
                lines.iter_mut().for_each(|line| line.insert_str(0, "  | "));
            }
            self.block(&lines)
        }
    }

    fn notice(&mut self, text: &str) -> io::Result<()> {
        let lines: Vec<String> = outside::text(text).lines().map(str::to_owned).collect();
        let lines = diff::shortened(lines, THINKING_LINES, self.style);
        let lines: Vec<String> =
            lines.iter().map(|line| self.style.paint(&self.style.dim, &format!("-- {line}"))).collect();
        self.block(&lines)
    }

    fn thinking(&mut self, text: &str) -> io::Result<()> {
        let text = outside::text(text);
        let lines: Vec<String> = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        let lines = diff::shortened(lines, THINKING_LINES, self.style);
        let lines: Vec<String> =
            lines.iter().map(|line| self.style.paint(&self.style.dim, &format!("  ~ {line}"))).collect();
        self.block(&lines)
    }

    fn call(&mut self, call: &ToolCall) -> io::Result<()> {
        let name = self.style.paint(&self.style.tool, &outside::line(&call.name));
        let mut lines = vec![format!("  {name} {}", shortened_line(self.style.path(&argument(call)), 160))];
        for edit in &call.edits {
            lines.extend(diff::lines(edit, EDIT_LINES, self.style).into_iter().map(|line| format!("    {line}")));
        }
        self.block(&lines)
    }

    fn result(&mut self, result: &ToolResult) -> io::Result<()> {
        let text = outside::text(result.text.trim_end());
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let lines = match self.depth.tool_output {
            ToolOutput::None => return Ok(()),
            ToolOutput::Short => {
                let lines = lines.iter().map(|line| shortened_line(line, 200)).collect();
                diff::shortened(lines, RESULT_LINES, self.style)
            }
            ToolOutput::Full => lines,
        };
        let mark = if result.is_error { "    ! " } else { "    " };
        for line in lines {
            writeln!(self.out, "{}", self.style.paint(&self.style.dim, &format!("{mark}{line}")))?;
        }
        if let Some(sub_agent) = &result.sub_agent {
            let note = format!("    by sub-agent {}", outside::line(sub_agent));
            writeln!(self.out, "{}", self.style.paint(&self.style.dim, &note))?;
        }
        Ok(())
    }
}

/// Returns what a tool call is about, on one line: its command, its path, or the first text of its input.
pub fn argument(call: &ToolCall) -> String {
    if let Some(command) = &call.command {
        return outside::line(command);
    }
    if let Some(edit) = call.edits.first() {
        return outside::line(&edit.path);
    }
    let keys = ["file_path", "path", "pattern", "url", "query", "description", "prompt"];
    let named = keys.iter().find_map(|key| call.input.get(key)?.as_str());
    let first = || call.input.as_object().and_then(|input| input.values().find_map(|value| value.as_str()));
    named.or_else(first).map_or_else(|| outside::line(&call.input.to_string()), outside::line)
}

fn shortened_line(line: &str, max_chars: usize) -> String {
    match line.char_indices().nth(max_chars) {
        Some((index, _)) => format!("{}...", &line[..index]),
        None => line.to_owned(),
    }
}

/// Writes one line for a commit: its abbreviated id, date, agents, messages, and the summary, the prompt or the subject.
///
/// # Errors
///
/// If writing fails.
pub fn write_listed(out: &mut dyn Write, listed: &Listed, abbreviated: &str, style: &Style) -> io::Result<()> {
    let mut agents: Vec<&str> = Vec::new();
    for agent in listed.summaries.iter().map(|summary| summary.key.agent.as_str()) {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    let agents = outside::line(&agents.join(","));
    let messages: u64 = main_sessions(&listed.summaries).map(|summary| summary.messages).fold(0, u64::saturating_add);
    let prompt = || listed.summaries.iter().find_map(|summary| summary.prompt.as_deref());
    let what = match listed.summaries.iter().find_map(|summary| summary.summary.as_deref()).or_else(prompt) {
        Some(words) => outside::line(words),
        None => outside::line(&listed.commit.subject().to_str_lossy()),
    };
    let id = style.paint(&style.commit, abbreviated);
    let date = style.date.show(listed.commit.committer.time);
    writeln!(out, "{id} {date} {:<8} {messages:>4} {}", agents, shortened_line(&what, 100))
}

/// Returns the summaries that are no sub-agent's.
pub fn main_sessions(summaries: &[Summary]) -> impl Iterator<Item = &Summary> {
    summaries.iter().filter(|summary| summary.key.parent_id().is_none())
}
