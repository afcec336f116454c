//! The output of `show` and `log` for people. May change at any time.

use std::io::{self, Write};

use bstr::ByteSlice as _;

use super::depth::Depth;
use super::printer::Printer;
use super::sub_agent::SubAgent;
use super::test_runs::{failed_commands, test_runs};
use super::told::told_line;
use super::view::View;
use super::{Style, count, listed, markdown, size};
use crate::git::Commit;
use crate::stats::cost_of;
use crate::transcript::{Message, Tokens};
use crate::{agent, outside};

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
pub fn write_conversation(out: &mut dyn Write, view: &View<'_>, depth: Depth, style: &Style) -> io::Result<()> {
    let conversation = view.conversation;
    write_head(out, view, style)?;
    let before = view.told_before.map(|(commit, changes)| (commit.as_str(), changes));
    let rules = conversation.summary.rules.as_ref();
    if let Some(line) = rules.and_then(|rules| told_line(&rules.files(), before)) {
        writeln!(out, "{}", style.paint(&style.dim, &line))?;
    }
    if view.turns.is_none() && view.about.is_none() {
        for line in [test_runs(&conversation.messages), failed_commands(&conversation.messages)].iter().flatten() {
            writeln!(out, "{line}")?;
        }
    }
    if let Some(origin) = view.origin {
        writeln!(out, "{}", style.paint(&style.dim, &origin.sentence()))?;
    }
    if let Some(summary) = &conversation.summary.summary {
        writeln!(out)?;
        let text = outside::text(summary);
        markdown::styled(&text, style).lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    }
    let notice = conversation.summary.newer_notice();
    let color = if conversation.lack.is_some() { &style.dim } else { &style.old };
    write_problems(out, notice.iter().chain(&conversation.problems), color, style)?;
    let is_sub_agent = conversation.summary.key.parent_id().is_some();
    let directory = agent::directory(&conversation.bytes);
    let mut printer = Printer::new(out, depth, style, directory, view.sub_agents).with_tasks(view.known_tasks());
    if is_sub_agent {
        printer = printer.of_sub_agent();
    }
    for (head, messages) in view.turns_with_heads(&style.date) {
        let is_prompt = messages.first().is_some_and(Message::is_prompt);
        if !is_prompt && !head.is_empty() {
            printer.head(&head)?;
        }
        printer.messages(messages, Some(head.as_str()).filter(|_| is_prompt))?;
    }
    // Where the words are not here, the record still has the first of them.
    let has_words = !conversation.bytes.is_empty() || conversation.summary.is_removed;
    if let Some(prompt) = conversation.summary.shown_prompt().filter(|_| !has_words) {
        writeln!(out, "\n> {}", outside::line(&prompt))?;
    }
    writeln!(out)?;
    view.uncalled().try_for_each(|other| write_sub_agent(out, view.commit, other, depth, style))
}

/// Writes a sub-agent that no call in its session's part has started.
fn write_sub_agent(out: &mut dyn Write, commit: &Commit, of: &SubAgent, depth: Depth, style: &Style) -> io::Result<()> {
    if let Some(conversation) = &of.conversation {
        let (turns, about, origin, continues, told_before, tasks) = (None, None, None, None, None, None);
        let view = View {
            commit,
            conversation,
            sub_agents: &[],
            turns,
            about,
            origin,
            continues,
            told_before,
            tasks,
            top: None,
        };
        return write_conversation(out, &view, depth, style);
    }
    let name = format!("sub-agent {} {}", outside::line(&of.summary.key.agent), outside::line(&of.summary.key.id));
    writeln!(out, "{}", style.paint(&style.strong, &format!("{name}{}", of.folded(depth.more))))?;
    write_problems(out, of.problems.iter(), &style.old, style)?;
    writeln!(out)
}

fn write_problems<'p>(
    out: &mut dyn Write,
    mut problems: impl Iterator<Item = &'p String>,
    color: &str,
    style: &Style,
) -> io::Result<()> {
    problems.try_for_each(|problem| writeln!(out, "{}", style.paint(color, &format!("[{}]", outside::line(problem)))))
}

fn write_head(out: &mut dyn Write, view: &View<'_>, style: &Style) -> io::Result<()> {
    let conversation = view.conversation;
    let summary = &conversation.summary;
    let kind = if summary.key.parent_id().is_some() { "sub-agent" } else { "session" };
    let mut facts = vec![format!("{} {}", outside::line(&summary.key.agent), outside::line(&summary.key.id))];
    if summary.is_removed {
        return writeln!(out, "{}", style.paint(&style.strong, &format!("{kind} {}", facts.join(", "))));
    }
    facts.extend(summary.model.as_deref().map(outside::line));
    facts[0] = format!("{kind} {}", facts[0]);
    for line in listed(0, &facts, style.columns).lines() {
        writeln!(out, "{}", style.paint(&style.strong, line))?;
    }
    // Records do not count the turns and messages of sub-agents.
    let is_counted = summary.key.parent_id().is_none() || summary.turns > 0 || summary.messages > 0;
    let counts = is_counted.then(|| [count(summary.turns, "turn"), count(summary.messages, "message")]);
    let amount = (!conversation.bytes.is_empty()).then(|| match conversation.said_bytes() {
        // No message is known in it.
        0 => size(conversation.bytes.len() as u64),
        said => size(said),
    });
    let cost = cost_of(&style.prices, [(view.commit.author.time, summary)]).filter(|cost| !cost.is_unknown_in_cents());
    let cost = cost.map(|cost| format!("{} USD by list prices", cost.rounded()));
    let facts: Vec<String> =
        counts.into_iter().flatten().chain(amount).chain(summary.tokens.map(tokens)).chain(cost).collect();
    writeln!(out, "{}", listed(0, &facts, style.columns))
}

fn tokens(tokens: Tokens) -> String {
    let cached = tokens.cache_read.saturating_add(tokens.cache_write);
    format!("tokens {} in, {} out, {cached} cached", tokens.input, tokens.output)
}
