//! A conversation as a Markdown document, for a pull request or a wiki.

use std::collections::HashMap;
use std::io::{self, Write};

use bstr::ByteSlice as _;

use super::call::{self, Act, TodoItem};
use super::count;
use super::depth::{Amount, Depth};
use super::input;
use super::markdown::{inert, quotation};
use super::place::Directories;
use super::printer::{attachment, with_sizes};
use super::sub_agent::SubAgent;
use super::tasks::Tasks;
use super::told::told_line;
use super::view::View;
use crate::git::{Commit, date};
use crate::record::Conversation;
use crate::transcript::{Message, Part, Role, ToolCall, ToolResult};
use crate::{agent, outside};

/// Longer text is shown as it stands, as code.
const MAX_MARKDOWN_BYTES: usize = 1 << 20;
/// Lines of a tool's answer that are shown in short.
const RESULT_LINES: usize = 20;

/// Writes a conversation as Markdown.
///
/// # Errors
///
/// If writing fails.
pub fn write_document(out: &mut dyn Write, view: &View<'_>, depth: Depth) -> io::Result<()> {
    write_head(out, view.commit, view.conversation)?;
    let summary = &view.conversation.summary;
    // Where the words are not here, the record still has the first of them.
    let has_words = !view.conversation.bytes.is_empty() || summary.is_removed;
    if let Some(prompt) = summary.shown_prompt().filter(|_| !has_words) {
        writeln!(out, "\n> {}", inert(&outside::line(&prompt)))?;
    }
    let mut document = Document::new(depth, view.conversation, view.sub_agents, view.top);
    document.tasks = view.known_tasks();
    for (head, messages) in view.turns_with_heads(&date::Format::default()) {
        if !head.is_empty() {
            writeln!(out, "\n### {}", prose(&first_upper(&head)))?;
        }
        document.write_messages(out, messages, summary.key.parent_id().is_some())?;
    }
    view.uncalled().try_for_each(|other| document.write_sub_agent(out, other))
}

/// Returns the heading above the messages of a conversation.
pub fn document_head(commit: &Commit, conversation: &Conversation) -> String {
    let mut head = Vec::new();
    // Writing to memory does not fail.
    let _ = write_head(&mut head, commit, conversation);
    String::from_utf8_lossy(&head).into_owned()
}

/// Returns one message as [`write_document`] has it.
pub fn document_message(message: &Message, depth: Depth) -> String {
    let mut text = Vec::new();
    let _ = Document::empty(depth).write_message(&mut text, message);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes a list of documents: of each its address, its name, and the subjects of its commits.
///
/// # Errors
///
/// If writing fails.
pub fn write_document_index(
    out: &mut dyn Write,
    title: &str,
    documents: &[(String, String, Vec<String>)],
) -> io::Result<()> {
    writeln!(out, "# {}\n", prose(title))?;
    documents.iter().try_for_each(|(address, name, subjects)| {
        let subjects: Vec<String> = subjects.iter().map(|subject| prose(subject)).collect();
        writeln!(out, "- [{}](<{address}>): {}", prose(name), subjects.join("; "))
    })
}

fn write_head(out: &mut dyn Write, commit: &Commit, conversation: &Conversation) -> io::Result<()> {
    let summary = &conversation.summary;
    writeln!(out, "# {}\n", prose(&outside::line(&commit.subject().to_str_lossy())))?;
    writeln!(out, "- commit: `{}`", commit.commit_id)?;
    writeln!(out, "- date: {}", date::Format::STRICT.show(commit.author.time))?;
    writeln!(out, "- session: {} {}", prose(&summary.key.agent), code(&summary.key.id))?;
    if let Some(model) = &summary.model {
        writeln!(out, "- model: {}", prose(model))?;
    }
    if summary.key.parent_id().is_none() || summary.turns > 0 || summary.messages > 0 {
        writeln!(out, "- size: {}, {}", count(summary.turns, "turn"), count(summary.messages, "message"))?;
    }
    if let Some(line) = summary.rules.as_ref().and_then(|rules| told_line(&rules.files(), None)) {
        writeln!(out, "- {}", prose(&line))?;
    }
    let notice = summary.newer_notice();
    let label = if conversation.lack.is_some() { "note" } else { "problem" };
    for problem in notice.iter().chain(&conversation.problems) {
        writeln!(out, "- {label}: {}", prose(problem))?;
    }
    if let Some(text) = &summary.summary {
        writeln!(out, "\n**Summary:** {}", inert(&outside::text(text)))?;
    }
    Ok(())
}

/// A document that is being written.
struct Document<'a> {
    depth: Depth,
    /// Where paths are shown from.
    place: Directories,
    /// The top of the reader's working tree.
    top: Option<&'a str>,
    sub_agents: &'a [SubAgent],
    /// The calls that have been written, by their ids.
    calls: HashMap<&'a str, &'a ToolCall>,
    tasks: Tasks,
}

impl<'a> Document<'a> {
    fn empty(depth: Depth) -> Self {
        let (place, tasks) = (Directories::default(), Tasks::default());
        Document { depth, place, top: None, sub_agents: &[], calls: HashMap::new(), tasks }
    }

    fn new(depth: Depth, of: &Conversation, sub_agents: &'a [SubAgent], top: Option<&'a str>) -> Self {
        let place = Directories::new(agent::directory(&of.bytes).as_deref(), top);
        Document { place, top, sub_agents, tasks: Tasks::of(&of.messages), ..Document::empty(depth) }
    }

    /// Writes a sub-agent as a passage that the reader opens, or as a line that says how much it said.
    fn write_sub_agent(&self, out: &mut dyn Write, of: &SubAgent) -> io::Result<()> {
        let more = self.depth.more.filter(|_| of.conversation.is_none());
        let name = format!("sub-agent {}{}", of.id, of.folded(more));
        for problem in &of.problems {
            writeln!(out, "\n*problem: {}*", prose(problem))?;
        }
        let Some(conversation) = &of.conversation else { return writeln!(out, "\n*{}*", prose(&name)) };
        writeln!(out, "\n<details><summary>{}</summary>", prose(&name))?;
        let mut document = Document::new(self.depth, conversation, &[], self.top);
        document.write_messages(out, &conversation.messages, true)?;
        writeln!(out, "\n</details>")
    }

    /// Writes messages. With `is_sub_agent` they are a sub-agent's; else what a sub-agent said among them is a passage of its
    /// own.
    fn write_messages(&mut self, out: &mut dyn Write, messages: &'a [Message], is_sub_agent: bool) -> io::Result<()> {
        for run in messages.chunk_by(|one, next| one.is_sidechain == next.is_sidechain) {
            let is_passage = run[0].is_sidechain && !is_sub_agent;
            let said = SubAgent::said(run);
            if is_passage && self.depth.folds_sub_agents {
                if !said.is_empty() {
                    writeln!(out, "\n*sub-agent: {said}{}*", self.depth.how_to_see())?;
                }
                continue;
            }
            if is_passage {
                writeln!(out, "\n<details><summary>sub-agent: {said}</summary>")?;
            }
            run.iter().try_for_each(|message| self.write_message(out, message))?;
            if is_passage {
                writeln!(out, "\n</details>")?;
            }
        }
        Ok(())
    }

    fn write_message(&mut self, out: &mut dyn Write, message: &'a Message) -> io::Result<()> {
        for part in &message.parts {
            match part {
                // To read that much as Markdown would take many times its size.
                Part::Text(text) | Part::Notice(text) if text.len() > MAX_MARKDOWN_BYTES => {
                    write_fenced(out, "", &outside::text(text))?;
                }
                Part::Text(text) if message.role == Role::User => {
                    writeln!(out)?;
                    out.write_all(quotation(&inert(&outside::text(text))).as_bytes())?;
                }
                Part::Text(text) => writeln!(out, "\n{}", inert(&outside::text(text.trim_end())))?,
                Part::Thinking(_) if self.depth.thinking == Amount::None => {}
                Part::Thinking(text) if text.len() > MAX_MARKDOWN_BYTES => {
                    write_fenced(out, "", &outside::text(text))?;
                }
                Part::Thinking(text) => {
                    let text = inert(&outside::text(text.trim()));
                    writeln!(out, "\n<details><summary>thinking</summary>\n\n{text}\n\n</details>")?;
                }
                Part::ToolCall(call) if self.depth.has_tools => self.write_call(out, call)?,
                Part::ToolResult(result) if self.depth.has_tools => self.write_result(out, result)?,
                Part::Attachment(what) => writeln!(out, "\n*{}*", prose(&attachment(what)))?,
                Part::Notice(text) => writeln!(out, "\n*{}*", prose(text))?,
                Part::ToolCall(_) | Part::ToolResult(_) => {}
            }
        }
        Ok(())
    }

    fn write_call(&mut self, out: &mut dyn Write, call: &'a ToolCall) -> io::Result<()> {
        self.calls.insert(&call.call_id, call);
        let titled = |out: &mut dyn Write, what: &str| {
            let space = if what.is_empty() { "" } else { " " };
            writeln!(out, "\n- **{}**{space}{what}", prose(&call.name))
        };
        let act = Act::of(call);
        let further = if self.depth.has_inputs { Vec::new() } else { input::further_words(call, &act) };
        match act {
            Act::Command(command) if command.trim().contains('\n') => {
                titled(out, "")?;
                write_fenced(out, "sh", &outside::text(command.trim_end()))?;
            }
            Act::Command(command) => titled(out, &code(command.trim()))?,
            Act::Edits(edits) => {
                for file in edits.chunk_by(|one, next| one.path == next.path) {
                    titled(out, &code(&self.place.path(&file[0].path)))?;
                    let lines = super::diff::lines(file, &self.depth);
                    write_fenced(out, "diff", &lines.join("\n"))?;
                }
            }
            Act::Reading(path) => titled(out, &code(&self.place.path(path)))?,
            Act::Plan(plan) => {
                titled(out, "")?;
                writeln!(out, "\n{}", inert(&outside::text(plan.trim_end())))?;
            }
            Act::List(items) => {
                titled(out, "")?;
                items.iter().try_for_each(|each| writeln!(out, "  - {}", item(each, &each.text)))?;
            }
            Act::Task(id, each) => titled(out, &item(&each, &self.tasks.name(&each, id.as_deref())))?,
            Act::Questions(questions) => {
                for question in questions {
                    titled(out, &prose(question.text))?;
                    for (label, about) in question.options {
                        let about = about.map(|about| format!(": {}", prose(about))).unwrap_or_default();
                        writeln!(out, "  - {}{about}", prose(label))?;
                    }
                }
            }
            Act::Delegation(what, prompt) => {
                titled(out, &prose(what))?;
                let prompt = outside::text(prompt.trim_end());
                let is_shown_below = self.sub_agents.iter().any(|ran| ran.conversation.is_some());
                match self.depth.tool_output {
                    Amount::Full if !is_shown_below => write_fenced(out, "", &prompt)?,
                    // A sub-agent that is known says what shows it.
                    Amount::Short if self.sub_agents.is_empty() => {
                        writeln!(out, "\n*{}*", self.depth.cut(prompt.lines().count(), "line"))?;
                    }
                    _ => {}
                }
            }
            Act::Other(about, path) => {
                let about = self.place.text(&about);
                let path = path.map(|path| self.place.path(path)).unwrap_or_default();
                let about = [about.as_ref(), path.as_ref()];
                let words: Vec<String> = about.iter().filter(|word| !word.is_empty()).map(|word| code(word)).collect();
                titled(out, &words.join(" "))?;
            }
        }
        if self.depth.has_inputs {
            write_fenced(out, "", &input::input_lines(&call.input).join("\n"))?;
        }
        match self.depth.tool_output {
            Amount::Full if !further.is_empty() => write_fenced(out, "", &further.join("\n"))?,
            Amount::Short if !further.is_empty() => {
                writeln!(out, "\n*{}*", self.depth.cut(further.len(), "more line"))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn write_result(&mut self, out: &mut dyn Write, result: &ToolResult) -> io::Result<()> {
        if let Some(call) = self.calls.get(result.call_id.as_str()) {
            self.tasks.remember(call, Some(result));
        }
        self.write_answer(out, result)?;
        let ran = result.sub_agent.as_deref().and_then(|id| self.sub_agents.iter().find(|other| other.id == id));
        ran.map_or(Ok(()), |ran| self.write_sub_agent(out, ran))
    }

    fn write_answer(&self, out: &mut dyn Write, result: &ToolResult) -> io::Result<()> {
        let act = self.calls.get(result.call_id.as_str()).map(|call| Act::of(call));
        if let Some(Act::Questions(questions)) = &act
            && !result.is_error
        {
            let given: Vec<_> = questions
                .iter()
                .filter_map(|question| Some((question, question.answer(&result.text, questions)?)))
                .collect();
            if !given.is_empty() {
                return given.iter().try_for_each(|(question, answer)| {
                    let asked = if questions.len() > 1 { format!("{} ", prose(question.text)) } else { String::new() };
                    writeln!(out, "\n> {asked}{}", prose(answer))
                });
            }
        }
        let is_short = self.depth.tool_output == Amount::Short;
        let answers_itself = is_short && !result.is_error && act.as_ref().is_some_and(Act::answers_itself);
        if self.depth.tool_output == Amount::None || answers_itself {
            return Ok(());
        }
        let text = match &act {
            Some(Act::Plan(plan)) if is_short => call::without_plan(&result.text, plan),
            _ if is_short => call::without_frame(&result.text),
            _ => &result.text,
        };
        let text = self.depth.placed(outside::text(&with_sizes(text, &result.pictures)), &self.place);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let is_folded = act.as_ref().map_or_else(|| call::is_folded_without_call(result, lines.len()), Act::is_reading);
        if is_short && !result.is_error && !lines.is_empty() && is_folded && result.pictures.is_empty() {
            let earlier = if act.is_none() { call::EARLIER_ANSWER } else { "" };
            return writeln!(out, "\n*{earlier}{}*", self.depth.cut(lines.len(), "line"));
        }
        let shortened = self.depth.shortened(lines, self.depth.tool_output, RESULT_LINES, 0);
        write_fenced(out, "", &shortened.first.join("\n"))?;
        shortened.cut.map_or(Ok(()), |cut| writeln!(out, "\n*{cut}*"))
    }
}

/// Returns an item of a list of what is to be done.
fn item(item: &TodoItem<'_>, name: &str) -> String {
    format!("{} {}", item.state.mark(), prose(name))
}

fn first_upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

/// Returns a name as Markdown, on one line.
fn prose(text: &str) -> String {
    inert(&outside::line(text))
}

/// Returns text as inline code, with as many backticks as it needs.
fn code(text: &str) -> String {
    let text = &outside::line(text);
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn write_fenced(out: &mut dyn Write, language: &str, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    writeln!(out, "\n{fence}{language}\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
