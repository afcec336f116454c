//! What `show` and `log` print for people. May change at any time.

use std::collections::HashSet;
use std::io::{self, Write};

use bstr::ByteSlice as _;

use super::clock::{Clock, duration};
use super::depth::Depth;
use super::printer::Printer;
use super::sub_agent::SubAgent;
use super::tasks::Tasks;
use super::test_runs::{failed_commands, test_runs};
use super::told::told_line;
use super::{Origin, Style, count, listed, markdown, size};
use crate::git::{Commit, date};
use crate::record::Conversation;
use crate::stats::cost_of;
use crate::told::Changes;
use crate::transcript::{Message, Part, Tokens, Turn, turns};
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

/// A conversation to be shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The commit that it is recorded on.
    pub commit: &'a Commit,
    /// The conversation.
    pub conversation: &'a Conversation,
    /// The sub-agents that its session had.
    pub sub_agents: &'a [SubAgent],
    /// The turns that are wanted; `None` for all.
    pub turns: Option<&'a TurnRange>,
    /// For each message, whether its turn is wanted; `None` for all.
    pub about: Option<&'a [bool]>,
    /// Where its records came from, if they were made for other commits.
    pub origin: Option<Origin>,
    /// The abbreviated id of the commit whose conversation goes on in this one, and the prompt that is answered here.
    pub continues: Option<&'a (String, String)>,
    /// The abbreviated id of the last earlier commit whose record has instruction files, and the changes since then.
    pub told_before: Option<&'a (String, Changes)>,
    /// The tasks that the session made before; `None` if none is changed here.
    pub tasks: Option<&'a Tasks>,
}

impl<'a> View<'a> {
    /// Returns the turns that are wanted.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let mut turns = turns(&self.conversation.messages);
        let is_about = |turn: &Turn| self.about.is_none_or(|about| about[turn.messages.clone()].contains(&true));
        turns.retain(|turn| self.turns.is_none_or(|wanted| wanted.contains(turn.number)) && is_about(turn));
        turns
    }

    /// Returns the wanted turns, each with what stands above it, and its messages.
    pub(super) fn turns_with_heads(&self, dates: &date::Format) -> Vec<(String, &'a [Message])> {
        let mut clock = Clock::new(dates, self.commit.author.time);
        let conversation = self.conversation;
        let with_head = |turn: Turn| {
            let messages = &conversation.messages[turn.messages.clone()];
            let head = match (turn.number, self.continues) {
                (0, Some((commit, prompt))) => format!("continues {commit}: {}", outside::line(prompt)),
                (0, None) => String::new(),
                (number, _) => {
                    let start = turn.start.map(|start| clock.tell(start));
                    let facts = [start, turn.duration_secs().and_then(duration)];
                    let facts = facts.into_iter().flatten().map(|fact| format!(", {fact}"));
                    format!("turn {number}{}", facts.collect::<String>())
                }
            };
            (head, messages)
        };
        self.turns().into_iter().map(with_head).collect()
    }

    /// Returns the tasks that are known before the first turn that is wanted.
    pub(super) fn known_tasks(&self) -> Tasks {
        let mut tasks = self.tasks.cloned().unwrap_or_default();
        // Also those that were made in a turn that is not wanted.
        tasks.add(Tasks::of(&self.conversation.messages));
        tasks
    }

    /// Returns the sub-agents that no shown call has started.
    pub(super) fn uncalled(&self) -> impl Iterator<Item = &'a SubAgent> {
        let is_all = self.turns.is_none();
        uncalled(self.conversation, self.sub_agents).filter(move |_| is_all)
    }
}

/// Returns the sub-agents that no call in a conversation has started.
pub(super) fn uncalled<'s>(of: &Conversation, sub_agents: &'s [SubAgent]) -> impl Iterator<Item = &'s SubAgent> {
    let parts = of.messages.iter().flat_map(|message| &message.parts);
    let called: HashSet<String> = parts
        .filter_map(|part| match part {
            Part::ToolResult(result) => result.sub_agent.clone(),
            _ => None,
        })
        .collect();
    sub_agents.iter().filter(move |other| !called.contains(&other.id))
}

/// A choice of turns by their numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TurnRange {
    first: usize,
    last: usize,
}

impl TurnRange {
    /// Reads `<n>`, `<n>..<m>`, `<n>..` or `..<m>`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |digits: &str| {
            Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<usize>().ok()
        };
        let (first, last) = match text.split_once("..") {
            Some(("", "")) => return None,
            Some(("", last)) => (0, number(last)?),
            Some((first, "")) => (number(first)?, usize::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        (first <= last).then_some(TurnRange { first, last })
    }

    /// Says whether a turn is in it.
    pub fn contains(&self, number: usize) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// Says whether it is one turn.
    pub fn is_one(&self) -> bool {
        self.first == self.last
    }
}

impl std::fmt::Display for TurnRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.first, self.last) {
            (first, last) if first == last => write!(f, "turn {first}"),
            (0, last) => write!(f, "turns ..{last}"),
            (first, usize::MAX) => write!(f, "turns {first}.."),
            (first, last) => write!(f, "turns {first}..{last}"),
        }
    }
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
        let view = View { commit, conversation, sub_agents: &[], turns, about, origin, continues, told_before, tasks };
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
    let amount = (!conversation.bytes.is_empty()).then(|| size(conversation.said_bytes()));
    let cost = cost_of(&style.prices, [(view.commit.author.time, summary)]).filter(|cost| !cost.is_unknown());
    let cost = cost.map(|cost| format!("{} USD by list prices", cost.rounded()));
    let facts: Vec<String> =
        counts.into_iter().flatten().chain(amount).chain(summary.tokens.map(tokens)).chain(cost).collect();
    writeln!(out, "{}", listed(0, &facts, style.columns))
}

fn tokens(tokens: Tokens) -> String {
    let cached = tokens.cache_read.saturating_add(tokens.cache_write);
    format!("tokens {} in, {} out, {cached} cached", tokens.input, tokens.output)
}

#[cfg(test)]
mod tests {
    use super::TurnRange;

    #[test]
    fn turns_are_chosen_as_revisions_are() {
        let chosen = |text: &str| {
            TurnRange::parse(text).map(|range| (0..6).filter(|number| range.contains(*number)).collect::<Vec<_>>())
        };
        assert_eq!(chosen("2"), Some(vec![2]));
        assert_eq!(chosen("2..4"), Some(vec![2, 3, 4]));
        assert_eq!(chosen("4.."), Some(vec![4, 5]));
        assert_eq!(chosen("..1"), Some(vec![0, 1]));
        for wrong in ["", "..", "x", "-1", "4..2", "1..2..3", "+1"] {
            assert_eq!(chosen(wrong), None, "{wrong}");
        }
    }
}
