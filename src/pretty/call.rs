//! The kind of a tool call, by its content: agents have many names for the same kind.
//!
//! Read [`Act`]. The command line and the edits of a call are found by `agent`, which knows the names of tools.

use std::borrow::Cow;

use serde_json::Value;

use crate::transcript::{Edit, ToolCall, ToolResult};

/// A tool call by its kind.
#[derive(Debug, PartialEq)]
pub enum Act<'c> {
    /// A command line, of one or more lines.
    Command(&'c str),
    /// Changes of files.
    Edits(&'c [Edit]),
    /// A file that is read.
    Reading(&'c str),
    /// A plan that the person is to approve, in Markdown.
    Plan(&'c str),
    /// A to-do list.
    List(Vec<TodoItem<'c>>),
    /// A change of one item in such a list: the item's id if it is known, and its new content.
    Task(Option<String>, TodoItem<'c>),
    /// Questions to the person.
    Questions(Vec<Question<'c>>),
    /// Work for a sub-agent: its description and the prompt.
    Delegation(&'c str, &'c str),
    /// Any other call: its subject in a few words, and the path that it names.
    Other(Cow<'c, str>, Option<&'c str>),
}

/// An item of a to-do list.
#[derive(Clone, Debug, PartialEq)]
pub struct TodoItem<'c> {
    /// The text; empty if the call does not have it.
    pub text: Cow<'c, str>,
    /// Its state.
    pub state: TodoState,
}

/// The state of an item of a to-do list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TodoState {
    /// Not begun.
    Open,
    /// Begun.
    Doing,
    /// Done.
    Done,
    /// Given up.
    Dropped,
}

/// A question to the person.
#[derive(Debug, PartialEq)]
pub struct Question<'c> {
    /// The question.
    pub text: &'c str,
    /// The answers to choose from, each with its explanation.
    pub options: Vec<(&'c str, Option<&'c str>)>,
}

/// The words before the length of an answer whose call is in an earlier record.
pub const EARLIER_ANSWER: &str = "answer to an earlier call: ";

/// Says whether an answer of so many lines gets a mark in its place although its call is not known: the call is in an earlier
/// record, so the answer may be a file that was read, or only confirm an edit. Any other single line is not worth a mark.
pub fn is_folded_without_call(result: &ToolResult, lines: usize) -> bool {
    !result.call_id.is_empty() && (lines > 1 || result.text.contains(" successfully"))
}

impl<'c> Act<'c> {
    /// Returns the kind of a call, with its parts.
    pub fn of(call: &'c ToolCall) -> Self {
        let input = &call.input;
        if let Some(command) = &call.command {
            return Act::Command(command);
        }
        if !call.edits.is_empty() {
            return Act::Edits(&call.edits);
        }
        let questions = questions(input);
        if !questions.is_empty() {
            return Act::Questions(questions);
        }
        let list = list(input);
        if !list.is_empty() {
            return Act::List(list);
        }
        if let Some(plan) = text(input, &["plan"]) {
            return Act::Plan(plan);
        }
        if let Some(task) = task(call) {
            return task;
        }
        let path = text(input, &["file_path", "filePath", "absolute_path", "target_file", "path", "filename"]);
        let pattern = text(input, &["pattern", "query", "regex", "search_term"]);
        let name = call.name.to_ascii_lowercase();
        if let Some(path) = path.filter(|_| pattern.is_none() && (name.contains("read") || name.contains("view"))) {
            return Act::Reading(path);
        }
        if let (Some(what), Some(prompt)) = (text(input, &["description", "subagent_type"]), text(input, &["prompt"])) {
            return Act::Delegation(what, prompt);
        }
        match (pattern, path) {
            (None, None) => Act::Other(about(input), None),
            (pattern, path) => Act::Other(pattern.unwrap_or_default().into(), path),
        }
    }

    /// Says whether a successful answer adds nothing to the call.
    pub fn answers_itself(&self) -> bool {
        matches!(self, Act::Edits(_) | Act::List(_) | Act::Task(..))
    }

    /// Says whether the answer is the text of a file.
    pub fn is_reading(&self) -> bool {
        match self {
            Act::Reading(_) => true,
            Act::Command(command) => prints_files(command),
            _ => false,
        }
    }
}

impl TodoState {
    fn of(status: &str) -> Self {
        let status = status.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| status.contains(word));
        if has(&["progress", "doing", "active", "started"]) && !status.contains("not") {
            TodoState::Doing
        } else if has(&["complete", "done", "finished"]) {
            TodoState::Done
        } else if has(&["cancel", "delete", "skip", "abandon"]) {
            TodoState::Dropped
        } else {
            TodoState::Open
        }
    }

    /// Returns the box of an item, as a list in Markdown has it; two more states have a sign of their own.
    pub fn mark(self) -> &'static str {
        match self {
            TodoState::Open => "[ ]",
            TodoState::Doing => "[>]",
            TodoState::Done => "[x]",
            TodoState::Dropped => "[-]",
        }
    }
}

impl Question<'_> {
    /// Returns the person's answer, if the tool's answer repeats it beside the question. `all` are the questions of the call: an
    /// answer ends where the next one of them stands, and the last one with the last quotation mark.
    pub fn answer<'a>(&self, result: &'a str, all: &[Question<'_>]) -> Option<&'a str> {
        let (_, after) = result.split_once(&format!("\"{}\"=\"", self.text))?;
        let known = all.iter().filter_map(|next| after.find(&format!("\", \"{}\"=\"", next.text)));
        let is_next = |at: &usize| after[at + 4..].split_once('"').is_some_and(|(_, rest)| rest.starts_with("=\""));
        let next = after.match_indices("\", \"").map(|(at, _)| at).find(is_next).into_iter().chain(known).min();
        let last = || after.rfind("\". ").or_else(|| after.rfind("\"\n")).or_else(|| after.rfind('"'));
        Some(&after[..next.or_else(last).unwrap_or(after.len())])
    }
}

pub(super) fn text<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| value.get(key)?.as_str()).filter(|text| !text.trim().is_empty())
}

fn questions(input: &Value) -> Vec<Question<'_>> {
    match input.get("questions").and_then(Value::as_array) {
        Some(list) => list.iter().filter_map(question).collect(),
        None => question(input).into_iter().collect(),
    }
}

fn question(value: &Value) -> Option<Question<'_>> {
    let options = value.get("options").and_then(Value::as_array).into_iter().flatten();
    Some(Question { text: text(value, &["question"])?, options: options.filter_map(option).collect() })
}

fn option(value: &Value) -> Option<(&str, Option<&str>)> {
    let label = value.as_str().or_else(|| text(value, &["label", "title", "value"]))?;
    Some((label, text(value, &["description"])))
}

/// The members that have a to-do list.
pub(super) const LISTS: &[&str] = &["todos", "todoList", "todo_list", "plan", "tasks", "steps"];

fn list(input: &Value) -> Vec<TodoItem<'_>> {
    let list = LISTS.iter().find_map(|key| input.get(key));
    match list {
        Some(Value::Array(items)) if items.iter().any(|item| text(item, &["status", "state"]).is_some()) => {
            items.iter().filter_map(item).collect()
        }
        // Some write the list as text, with the state of each in brackets.
        Some(Value::String(lines)) if input.get("todos").is_some() => lines.lines().filter_map(line_item).collect(),
        _ => Vec::new(),
    }
}

fn item(value: &Value) -> Option<TodoItem<'_>> {
    let text_of = |value| text(value, &["content", "text", "title", "description", "step", "subject", "task"]);
    let what = value.as_str().or_else(|| text_of(value))?;
    Some(TodoItem { text: what.into(), state: TodoState::of(text(value, &["status", "state"]).unwrap_or_default()) })
}

fn line_item(line: &str) -> Option<TodoItem<'_>> {
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || " .-*".contains(c));
    let (state, text) = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(("x" | "X", text)) => (TodoState::Done, text),
        Some((status, text)) => (TodoState::of(status), text),
        None => (TodoState::Open, line),
    };
    (!text.trim().is_empty()).then(|| TodoItem { text: text.trim().into(), state })
}

fn task(call: &ToolCall) -> Option<Act<'_>> {
    let input = &call.input;
    let id = ["taskId", "task_id"].iter().find_map(|key| input.get(key)).and_then(|id| match id {
        Value::String(id) => Some(id.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    let status = text(input, &["status"]);
    let what = text(input, &["subject"]);
    // Other tools than those for lists take the id of a task, too.
    let is_task =
        call.name.to_ascii_lowercase().contains("task") && (what.is_some() || (id.is_some() && status.is_some()));
    is_task.then(|| {
        let state = TodoState::of(status.unwrap_or_default());
        Act::Task(id, TodoItem { text: what.unwrap_or_default().into(), state })
    })
}

/// Returns the subject of a call: the text in its input that tells most, else the input itself.
fn about(input: &Value) -> Cow<'_, str> {
    let named = || text(input, &["url", "description", "prompt", "name"]);
    let first = || input.as_object().and_then(|input| input.values().find_map(Value::as_str));
    match input.as_str().or_else(named).or_else(first) {
        Some(text) => text.into(),
        None if input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty) => "".into(),
        None => input.to_string().into(),
    }
}

/// Says whether a command does no more than print files.
fn prints_files(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let prints = match words.next() {
        Some("cat" | "head" | "tail" | "nl" | "bat") => true,
        Some("sed") => words.next() == Some("-n"),
        _ => false,
    };
    prints && !command.contains(['|', ';', '&', '>', '<', '\n', '`', '$'])
}

/// Returns a tool's answer without the lines that its agent puts in front: how long the call took, and that it
/// succeeded.
pub fn without_frame(text: &str) -> &str {
    let is_frame = |line: &str| {
        let known = ["Chunk ID:", "Wall time", "Original token count:", "Total output lines:", "Script completed"];
        let is_success = line == "Process exited with code 0" || line == "Exit code: 0" || line == "Output:";
        is_success || line.is_empty() || known.iter().any(|known| line.starts_with(known))
    };
    let Some((frame, rest)) = text.split_once("Output:\n").or_else(|| Some((text.strip_suffix("Output:")?, ""))) else {
        return text;
    };
    if frame.lines().all(is_frame) { rest.trim_start_matches('\n') } else { text }
}

/// Returns an answer to a plan without the plan, which some agents repeat below a heading.
pub fn without_plan<'t>(text: &'t str, plan: &str) -> &'t str {
    if text.starts_with("User has approved your plan.") {
        // What follows tells the model to begin.
        return "approved by the user";
    }
    let first = plan.trim().lines().next().unwrap_or_default();
    match text.split_once(first) {
        Some((answer, _)) if !first.is_empty() && !answer.trim().is_empty() => {
            let answer = answer.trim_end();
            let (before, last) = answer.rsplit_once('\n').unwrap_or((answer, ""));
            if last.starts_with('#') { before.trim_end() } else { answer }
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, input: Value) -> ToolCall {
        ToolCall { call_id: "1".into(), name: name.into(), input, command: None, edits: Vec::new() }
    }

    fn items(input: Value) -> String {
        match Act::of(&call("todo", input)) {
            Act::List(items) => items.iter().map(|item| format!("{} {};", item.state.mark(), item.text)).collect(),
            other => panic!("no list: {other:?}"),
        }
    }

    #[test]
    fn a_list_is_known_however_the_agent_writes_it() {
        let claude = json!({ "todos": [{ "content": "a", "status": "completed", "activeForm": "x" }, "b"] });
        assert_eq!(items(claude), "[x] a;[ ] b;");
        let codex = json!({ "explanation": "x", "plan": [{ "step": "a", "status": "in_progress" }] });
        assert_eq!(items(codex), "[>] a;");
        let vscode = json!({ "todoList": [{ "id": 1, "title": "a", "status": "not-started" }] });
        assert_eq!(items(vscode), "[ ] a;");
        assert_eq!(items(json!({ "todos": "1. [in_progress] a\n2. [cancelled] b\n- [x] c" })), "[>] a;[-] b;[x] c;");
        assert!(matches!(Act::of(&call("ExitPlanMode", json!({ "plan": "# Plan" }))), Act::Plan("# Plan")));
    }

    #[test]
    fn questions_have_options_and_answers() {
        let input = json!({ "questions": [{ "question": "Which?", "header": "x",
            "options": [{ "label": "1 s", "description": "fast" }, "5 s"] }] });
        let asked = call("AskUserQuestion", input);
        let Act::Questions(questions) = Act::of(&asked) else { panic!("no question") };
        assert_eq!(questions[0].options, [("1 s", Some("fast")), ("5 s", None)]);
        let said = "User has answered your questions: \"Which?\"=\"say \"1\" s\", \"And?\"=\"no\". You can go on.";
        assert_eq!(questions[0].answer(said, &questions), Some("say \"1\" s"));
        assert_eq!(questions[0].answer("{\"answers\":{}}", &questions), None);
        let said = "User has answered your questions: \"Which?\"=\"\"foo\", \"bar\" and \"baz\"\". You can go on.";
        assert_eq!(questions[0].answer(said, &questions), Some("\"foo\", \"bar\" and \"baz\""));
        let simple = call("ask_followup_question", json!({ "question": "Which?" }));
        assert!(matches!(Act::of(&simple), Act::Questions(_)));
    }

    #[test]
    fn a_task_is_made_and_updated() {
        let task = |name: &str, input: Value| match Act::of(&call(name, input)) {
            Act::Task(id, item) => Some((id, item.text.into_owned(), item.state)),
            _ => None,
        };
        let made = task("TaskCreate", json!({ "subject": "a", "description": "b" }));
        assert_eq!(made, Some((None, "a".into(), TodoState::Open)));
        let updated = task("TaskUpdate", json!({ "taskId": "3", "status": "completed" }));
        assert_eq!(updated, Some((Some("3".into()), String::new(), TodoState::Done)));
        assert_eq!(task("TaskOutput", json!({ "task_id": "b1", "block": true })), None);
    }

    #[test]
    fn what_a_call_is_about_is_what_tells_most() {
        let about = |name: &str, input: Value| match Act::of(&call(name, input)) {
            Act::Other(about, path) => format!("{about}{}", path.map(|path| format!(" in {path}")).unwrap_or_default()),
            Act::Reading(path) => format!("reads {path}"),
            Act::Delegation(what, prompt) => format!("{what}: {prompt}"),
            other => format!("{other:?}"),
        };
        assert_eq!(about("Grep", json!({ "pattern": "x", "path": "src", "output_mode": "content" })), "x in src");
        assert_eq!(about("read_file", json!({ "path": "a.rs" })), "reads a.rs");
        assert_eq!(
            about("Task", json!({ "description": "look", "prompt": "Look.", "subagent_type": "E" })),
            "look: Look."
        );
        assert_eq!(about("Barometer", json!({ "unit": "hPa" })), "hPa");
        assert_eq!(about("Barometer", json!({ "n": 1 })), "{\"n\":1}");
        assert_eq!(about("Barometer", json!({})), "");
    }

    #[test]
    fn a_plan_is_not_repeated() {
        let plan = "# Plan\n\n1. a file";
        let rest = |text| without_plan(text, plan);
        assert_eq!(rest("Approved.\n\n## Approved Plan:\n# Plan\n\n1. a file"), "Approved.");
        assert_eq!(rest("Approved.\nGo on.\n# Plan"), "Approved.\nGo on.");
        assert_eq!((rest("No: do it later."), rest("# Plan")), ("No: do it later.", "# Plan"));
        assert_eq!(without_plan("yes", ""), "yes");
        assert_eq!(rest("User has approved your plan. You can now start.\n\n# Plan"), "approved by the user");
    }

    #[test]
    fn only_what_prints_files_is_reading() {
        for command in ["cat a.rs", "sed -n '1,20p' a.rs", "head -5 a b"] {
            assert!(Act::Command(command).is_reading(), "{command}");
        }
        for command in ["cat a | wc", "cat > a <<E\nE", "sed -i s/a/b/ a", "cargo test", "cat $(x)", ""] {
            assert!(!Act::Command(command).is_reading(), "{command}");
        }
    }

    #[test]
    fn a_frame_goes_unless_it_tells_of_a_failure() {
        let frame =
            "Chunk ID: a6d20f\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 26\n";
        assert_eq!(without_frame(&format!("{frame}Output:\n[main 1] x\n")), "[main 1] x\n");
        assert_eq!(without_frame("Exit code: 0\nWall time: 0 seconds\nOutput:\nDone\n"), "Done\n");
        assert_eq!(without_frame("Script completed\nWall time 0.1 seconds\nOutput:\n\n{}"), "{}");
        for kept in ["Exit code: 1\nOutput:\nx", "x\nOutput:\ny", "plain"] {
            assert_eq!(without_frame(kept), kept);
        }
    }
}
