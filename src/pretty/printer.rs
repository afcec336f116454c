//! The messages of a conversation, as `show` prints them for people.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use super::call::{self, Act, TodoItem};
use super::depth::{Amount, Depth};
use super::input;
use super::place::Directories;
use super::sub_agent::SubAgent;
use super::tasks::Tasks;
use super::{Style, diff, markdown, size};
use crate::outside;
use crate::transcript::{Attachment, Message, Part, Role, ToolCall, ToolResult};

/// Lines of a file edit that are shown in short.
const EDIT_LINES: usize = 12;
/// Lines of a command that are shown in short.
const COMMAND_LINES: usize = 8;
/// Lines of a tool's answer that are shown in short; of a command's output, half of them from its end.
const RESULT_LINES: usize = 4;
/// Lines of thinking and of notices that are shown in short.
const THINKING_LINES: usize = 3;
/// Characters of a line of a tool call or of its answer that are shown in short.
const LINE_CHARS: usize = 200;
/// Characters of a line of thinking or of a notice that are shown in short: it may be a whole paragraph.
const GLANCED_CHARS: usize = 600;

/// Prints messages one after the other, each tool's answer below its call.
pub struct Printer<'a> {
    out: &'a mut dyn Write,
    depth: Depth,
    style: &'a Style,
    /// The prefix of each line.
    margin: &'static str,
    /// Where paths are shown from.
    place: Directories,
    sub_agents: &'a [SubAgent],
    /// Whether these are the messages of a sub-agent.
    is_sub_agent: bool,
    /// The answers that are not printed yet, by the ids of their calls.
    answers: HashMap<&'a str, &'a ToolResult>,
    /// The answers that are printed below their calls.
    printed: HashSet<*const ToolResult>,
    tasks: Tasks,
}

/// The prefix of each line of a sub-agent.
const SUB_AGENT_MARGIN: &str = "  | ";

impl<'a> Printer<'a> {
    /// Makes a printer of a session that ran in `directory`.
    pub fn new(
        out: &'a mut dyn Write,
        depth: Depth,
        style: &'a Style,
        directory: Option<String>,
        sub_agents: &'a [SubAgent],
    ) -> Self {
        Printer {
            out,
            depth,
            style,
            margin: "",
            place: Directories::new(directory.as_deref(), style.top.as_deref()),
            sub_agents,
            is_sub_agent: false,
            answers: HashMap::new(),
            printed: HashSet::new(),
            tasks: Tasks::default(),
        }
    }

    /// Returns a printer of a sub-agent's messages.
    pub fn of_sub_agent(self) -> Self {
        Printer { margin: SUB_AGENT_MARGIN, is_sub_agent: true, ..self }
    }

    /// Returns a printer that knows tasks that were made before.
    pub fn with_tasks(self, tasks: Tasks) -> Self {
        Printer { tasks, ..self }
    }

    /// Prints messages; above the first prompt among them stands `head`.
    pub fn messages(&mut self, messages: &'a [Message], head: Option<&str>) -> io::Result<()> {
        for result in messages.iter().flat_map(|message| &message.parts).filter_map(as_result) {
            // Some agents number no calls; their answers stand where they came.
            if !result.call_id.is_empty() {
                self.answers.entry(&result.call_id).or_insert(result);
            }
        }
        let mut head = head;
        for run in messages.chunk_by(|one, next| one.is_sidechain == next.is_sidechain) {
            if run[0].is_sidechain && !self.is_sub_agent {
                self.sidechain(run)?;
                continue;
            }
            for message in run {
                self.message(message, &mut head)?;
            }
        }
        Ok(())
    }

    /// Prints the heading above messages without a prompt.
    pub fn head(&mut self, head: &str) -> io::Result<()> {
        self.block(&[self.dim(head)])
    }

    /// Prints a stretch of a sub-agent's words that stands within this transcript.
    fn sidechain(&mut self, run: &'a [Message]) -> io::Result<()> {
        if self.depth.is_whole() {
            return self.within(run, self.place.clone());
        }
        let said = SubAgent::said(run);
        if said.is_empty() {
            return Ok(());
        }
        self.block(&[self.dim(&format!("  | sub-agent: {said}{}", self.depth.how_to_see()))])
    }

    /// Prints a sub-agent's messages within those of its session.
    fn within(&mut self, messages: &'a [Message], place: Directories) -> io::Result<()> {
        let printer = Printer::new(&mut *self.out, self.depth, self.style, None, self.sub_agents).of_sub_agent();
        Printer { place, ..printer }.messages(messages, None)
    }

    fn message(&mut self, message: &'a Message, head: &mut Option<&str>) -> io::Result<()> {
        if message.role == Role::User {
            self.prompt(message, head)?;
        }
        for part in &message.parts {
            match part {
                Part::Text(_) | Part::Attachment(_) if message.role == Role::User => {}
                Part::Text(text) => self.answer(text)?,
                Part::Attachment(what) => self.block(&[self.dim(&attachment(what))])?,
                Part::Notice(text) => {
                    let is_full = self.depth.is_whole() || self.depth.thinking == Amount::Full;
                    self.glanced("-- ", text, if is_full { Amount::Full } else { Amount::Short })?;
                }
                Part::Thinking(text) if self.depth.thinking != Amount::None => {
                    self.glanced("  ~ ", text, self.depth.thinking)?;
                }
                Part::ToolCall(call) if self.depth.has_tools => self.call(call)?,
                Part::ToolResult(result)
                    if self.depth.has_tools && !self.printed.contains(&std::ptr::from_ref(result)) =>
                {
                    let lines = self.result(None, result);
                    if !lines.is_empty() {
                        self.block(&lines)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes lines as a paragraph of its own.
    fn block(&mut self, lines: &[String]) -> io::Result<()> {
        writeln!(self.out, "{}", self.margin.trim_end())?;
        self.lines(lines)
    }

    fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| match line.trim().is_empty() {
            true => writeln!(self.out, "{}", self.margin.trim_end()),
            false => writeln!(self.out, "{}{line}", self.margin),
        })
    }

    fn dim(&self, text: &str) -> String {
        self.style.paint(&self.style.dim, text)
    }

    /// Prints a prompt: the first line behind `> `, so that a search finds each prompt once, and the others behind `|
    /// `.
    fn prompt(&mut self, message: &Message, head: &mut Option<&str>) -> io::Result<()> {
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(outside::text(text.trim_end())),
            Part::Attachment(what) => Some(attachment(what)),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        if text.is_empty() {
            return Ok(());
        }
        let user = |line: &str| self.style.paint(&self.style.user, line);
        let line = |(at, line): (usize, &str)| user(format!("{} {line}", if at == 0 { '>' } else { '|' }).trim_end());
        let mut lines: Vec<String> = text.lines().enumerate().map(line).collect();
        if let Some(last) = lines.last_mut().filter(|_| message.is_abandoned) {
            last.push_str(" (taken back)");
        }
        if let Some(head) = head.take() {
            lines.insert(0, self.dim(head));
        }
        self.block(&lines)
    }

    /// Prints the agent's words.
    fn answer(&mut self, text: &str) -> io::Result<()> {
        let text = outside::text(text.trim_end());
        let styled = markdown::styled(&text, self.style);
        // A quotation would look like a prompt.
        let line = |line: &str| if line.starts_with('>') { format!(" {line}") } else { line.to_owned() };
        let lines: Vec<String> = styled.lines().map(line).collect();
        self.block(&lines)
    }

    /// Prints thinking or a notice, behind a mark.
    fn glanced(&mut self, mark: &str, text: &str, amount: Amount) -> io::Result<()> {
        let text = outside::text(text.trim_end());
        let is_shown = |line: &&str| amount == Amount::Full || !line.trim().is_empty();
        let cut = |line: &str| self.depth.line(line, amount, GLANCED_CHARS);
        let lines: Vec<String> = text.lines().filter(is_shown).map(cut).collect();
        let line = |line: &str| self.dim(&format!("{mark}{line}"));
        let lines = self.depth.shortened(lines, amount, THINKING_LINES, 0).map(line, line);
        self.block(&lines)
    }

    fn call(&mut self, call: &'a ToolCall) -> io::Result<()> {
        let act = Act::of(call);
        let result = self.answers.remove(call.call_id.as_str()).filter(|result| self.printed.insert(*result));
        self.tasks.remember(call, result);
        let mut lines = self.call_lines(call, &act, result);
        if self.depth.has_inputs {
            lines.extend(input::input_lines(&call.input).iter().map(|line| format!("    {line}")));
        } else {
            let words = input::further_words(call, &act);
            match self.depth.tool_output {
                Amount::Full => lines.extend(words.iter().map(|line| format!("    {line}"))),
                Amount::Short if !words.is_empty() => {
                    lines.push(self.cut(&self.depth.cut(words.len(), "more line")));
                }
                _ => {}
            }
        }
        let Some(result) = result else { return self.block(&lines) };
        let mut answer = self.result(Some(&act), result);
        if let (Act::Reading(_), [mark], Some(title)) = (&act, answer.as_slice(), lines.last_mut())
            && self.is_short()
            && !result.is_error
        {
            // One line says what was read, and how much that was.
            title.push_str(&format!(" {}", mark.trim_start()));
            answer.clear();
        }
        self.block(&lines)?;
        let ran = result.sub_agent.as_deref().and_then(|id| self.sub_agents.iter().find(|other| other.id == id));
        if let Some(conversation) = ran.and_then(|ran| ran.conversation.as_ref()) {
            let directory = crate::agent::directory(&conversation.bytes);
            self.within(&conversation.messages, Directories::new(directory.as_deref(), self.style.top.as_deref()))?;
            writeln!(self.out, "{}", self.margin.trim_end())?;
        }
        self.lines(&answer)
    }

    /// Returns a call as lines: its name and its subject; then the rest. Each question has its answer below it.
    fn call_lines(&self, call: &ToolCall, act: &Act<'_>, result: Option<&ToolResult>) -> Vec<String> {
        let name = outside::line(&call.name);
        match act {
            Act::Command(command) => self.titled(&name, command),
            Act::Edits(edits) => {
                let mut lines = Vec::new();
                for file in edits.chunk_by(|one, next| one.path == next.path) {
                    lines.extend(self.titled(&name, &self.place.path(&file[0].path)));
                    let changed = diff::lines(file, &self.depth);
                    let painted = |line: &str| format!("    {}", diff::painted(line, self.style));
                    lines.extend(self.short(changed, EDIT_LINES, 0).map(painted, |mark| self.cut(mark)));
                }
                lines
            }
            Act::Reading(path) => self.titled(&name, &self.place.path(path)),
            Act::Plan(plan) => {
                let plan = outside::text(plan.trim_end());
                let mut lines = self.titled(&name, "");
                lines.extend(markdown::styled(&plan, self.style).lines().map(|line| format!("    {line}")));
                lines
            }
            Act::List(items) => {
                let mut lines = self.titled(&name, "");
                lines.extend(items.iter().map(|item| format!("    {}", self.item(item, None))));
                lines
            }
            Act::Task(id, item) => self.titled(&name, &self.item(item, id.as_deref())),
            Act::Questions(questions) => {
                let mut lines = Vec::new();
                for question in questions {
                    lines.extend(self.titled(&name, question.text));
                    for (label, description) in &question.options {
                        let about = description.map(|about| format!(": {}", outside::line(about))).unwrap_or_default();
                        lines.push(format!("    - {}{about}", outside::line(label)));
                    }
                    let answer = result
                        .filter(|result| !result.is_error)
                        .and_then(|result| question.answer(&result.text, questions));
                    lines.extend(answer.into_iter().flat_map(str::lines).map(|line| self.said(line)));
                }
                lines
            }
            Act::Delegation(what, prompt) => {
                let mut lines = self.titled(&name, what);
                let is_shown_below = self.sub_agents.iter().any(|ran| ran.conversation.is_some());
                // A sub-agent that is known says what shows it.
                let ran =
                    |id: &str| self.sub_agents.iter().any(|other| other.id == id && !other.folded(None).is_empty());
                let is_marked_below = result.and_then(|result| result.sub_agent.as_deref()).is_some_and(ran);
                let prompt = outside::text(prompt.trim_end());
                if self.depth.is_whole() && !is_shown_below {
                    lines.extend(prompt.lines().map(|line| format!("    {line}")));
                } else if self.is_short() && !is_shown_below && !is_marked_below {
                    lines.push(self.cut(&self.depth.cut(prompt.lines().count(), "line")));
                }
                lines
            }
            Act::Other(about, path) => {
                let path = path.map(|path| self.place.path(path)).unwrap_or_default();
                let space = if about.is_empty() || path.is_empty() { "" } else { " " };
                self.titled(&name, &format!("{}{space}{path}", self.place.text(about)))
            }
        }
    }

    /// Returns the name of a tool with text behind it; further lines of the text stand below the first.
    fn titled(&self, name: &str, text: &str) -> Vec<String> {
        let text = outside::text(text.trim_end());
        let mut lines: Vec<String> =
            text.lines().map(|line| self.depth.line(line, self.depth.tool_output, LINE_CHARS)).collect();
        let first = if lines.is_empty() { String::new() } else { format!(" {}", lines.remove(0)) };
        let indent = " ".repeat(name.chars().count() + 3);
        let rest = self.short(lines, COMMAND_LINES - 1, 0).map(|line| format!("{indent}{line}"), |mark| self.cut(mark));
        [format!("  {}{first}", self.style.paint(&self.style.tool, name))].into_iter().chain(rest).collect()
    }

    fn item(&self, item: &TodoItem<'_>, id: Option<&str>) -> String {
        format!("{} {}", item.state.mark(), outside::line(&self.tasks.name(item, id)))
    }

    /// Returns a tool's answer, as lines below its call.
    fn result(&self, act: Option<&Act<'_>>, result: &ToolResult) -> Vec<String> {
        let mut lines = match act {
            Some(Act::Questions(questions)) if !result.is_error => {
                let is_shown = questions.iter().any(|question| question.answer(&result.text, questions).is_some());
                let rest = if is_shown && self.is_short() { "" } else { result.text.trim_end() };
                rest.lines().map(|line| self.said(line)).collect()
            }
            _ => self.output(act, result),
        };
        if let Some(sub_agent) = result.sub_agent.as_deref().filter(|_| self.depth.tool_output != Amount::None) {
            let ran = self.sub_agents.iter().find(|other| other.id == sub_agent);
            let problems = ran.into_iter().flat_map(|ran| &ran.problems);
            let problem = |text: &String| self.style.paint(&self.style.old, &format!("    [{}]", outside::line(text)));
            lines.extend(problems.map(problem));
            let said = ran.filter(|ran| ran.conversation.is_none()).map(|ran| ran.folded(self.depth.more));
            lines.push(self.dim(&format!("    by sub-agent {}{}", outside::line(sub_agent), said.unwrap_or_default())));
        }
        lines
    }

    /// Returns a line of a person's answer to a question.
    fn said(&self, line: &str) -> String {
        self.style.paint(&self.style.user, &format!("    = {}", outside::line(line)))
    }

    fn output(&self, act: Option<&Act<'_>>, result: &ToolResult) -> Vec<String> {
        let is_short = self.is_short();
        let answers_itself = act.is_some_and(Act::answers_itself);
        if self.depth.tool_output == Amount::None || (is_short && answers_itself && !result.is_error) {
            return Vec::new();
        }
        let text = match act {
            Some(Act::Plan(plan)) if is_short => call::without_plan(&result.text, plan),
            _ if is_short => call::without_frame(&result.text),
            _ => &result.text,
        };
        let text = self.depth.placed(outside::text(&with_sizes(text, &result.pictures)), &self.place);
        let lines: Vec<String> =
            text.lines().map(|line| self.depth.line(line, self.depth.tool_output, LINE_CHARS)).collect();
        let is_folded = act.map_or_else(|| call::is_folded_without_call(result, lines.len()), Act::is_reading);
        if is_short && is_folded && !result.is_error && result.pictures.is_empty() {
            let mark = self.depth.cut(lines.len(), "line");
            let mark = if act.is_none() { format!("{}{mark}", call::EARLIER_ANSWER) } else { mark };
            return if lines.is_empty() { lines } else { vec![format!("    {}", self.dim(&mark))] };
        }
        let (first, last) = match act {
            Some(Act::Command(_)) => (RESULT_LINES / 2, RESULT_LINES / 2),
            _ => (RESULT_LINES, 0),
        };
        let mark = if result.is_error { "    ! " } else { "    " };
        self.short(lines, first, last).map(|line| self.dim(&format!("{mark}{line}")), |mark| self.cut(mark))
    }

    fn is_short(&self) -> bool {
        self.depth.tool_output == Amount::Short
    }

    /// Returns lines cut as far as calls and answers are.
    fn short(&self, lines: Vec<String>, first: usize, last: usize) -> super::depth::Shortened {
        self.depth.shortened(lines, self.depth.tool_output, first, last)
    }

    /// Returns the mark of a cut as it stands below a call.
    fn cut(&self, mark: &str) -> String {
        format!("    {}", self.dim(mark))
    }
}

fn as_result(part: &Part) -> Option<&ToolResult> {
    match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    }
}

/// Returns the text of an answer, with the sizes of its pictures.
pub fn with_sizes(text: &str, pictures: &[Attachment]) -> String {
    let mut pictures = pictures.iter().peekable();
    let line = |line: &str| {
        let has_it = |picture: &&Attachment| line == attachment(&Attachment { size_bytes: None, ..(*picture).clone() });
        pictures.next_if(has_it).map_or_else(|| line.to_owned(), attachment)
    };
    text.trim_end().split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Returns an attachment: its kind, in brackets.
pub fn attachment(what: &Attachment) -> String {
    let kind = outside::line(&what.kind);
    let name = what.name.as_deref().map(outside::line);
    let called = match name {
        Some(name) if name.starts_with(&format!("{kind}/")) => name,
        Some(name) => format!("{kind} {name}"),
        None => kind,
    };
    let bytes = what.size_bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    format!("[{called}{bytes}]")
}
