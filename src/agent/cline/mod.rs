//! Cline: one document of JSON per task, a list of messages as they went to the model, written anew each time.
//!
//! No data of a real session was seen. Hooks and their payloads are as in data written after the vendor's pages; where a
//! task is kept and how it reads is from reference alone, so what does not fit is passed over. Tool calls are records of
//! their own, or marked up in the answer's words.

use std::path::{Path, PathBuf};

use serde_json_borrow::Value;

use super::hooks::{Commands, HookFile, Shape};
use super::json::{self, at, field, flag, list, string, text};
use super::place;
use super::{Agent, Event, Found, Parser, document, payload, prompt, tool};
use crate::outside;
use crate::transcript::{Message, Part, Role, ToolResult};

/// Cline.
pub struct Cline;

/// The document is the list itself.
const ITSELF: &str = "";
/// The file of a task that has all that was said.
const FILE: &str = "api_conversation_history.json";
/// What Cline puts around the words of a person.
const TYPED: &[&str] = &["task", "feedback", "user_message", "answer"];
/// What it adds to them.
const NOISE: &[&str] = &["environment_details", "file_content", "explicit_instructions"];
/// The tools that are read out of an answer's words.
const TOOLS: &[&str] = &["execute_command", "write_to_file", "replace_in_file"];
/// The arguments of those tools.
const ARGUMENTS: &[&str] = &["command", "path", "content", "diff"];

impl Agent for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn title(&self) -> &'static str {
        "Cline"
    }

    fn is_installed(&self) -> bool {
        tasks().iter().any(|tasks| tasks.is_dir()) || place::has_program("cline")
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Task::default())
    }

    fn session_id(&self, _: &[u8]) -> Option<String> {
        None
    }

    fn is_rendered(&self, _: &Path) -> bool {
        true
    }

    fn list(&self) -> Option<&'static str> {
        Some(ITSELF)
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let tasks = tasks().into_iter().filter(|_| outside::is_plain_id(session_id));
        tasks.map(|tasks| tasks.join(session_id).join(FILE)).find(|path| path.is_file())
    }

    fn recent(&self, _: &Path, _: i64) -> Vec<Found> {
        // A task does not tell where it ran.
        Vec::new()
    }

    fn events(&self) -> &'static [(&'static str, Event)] {
        &[("TaskStart", Event::SessionStart), ("TaskResume", Event::SessionStart), ("TaskCancel", Event::SessionEnd)]
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys {
            session: &["taskId"],
            event: &["hookName"],
            model: &["model.slug"],
            input: &["parameters"],
            envelopes: &["postToolUse", "preToolUse"],
            ..payload::NONE
        }
    }

    fn tools(&self) -> &'static tool::Words {
        &tool::Words { shells: &["run_commands"], editors: &["replace_in_file"], command: &["commands"], ..tool::NONE }
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        const REMARK: &str = "Cline runs hooks once they are enabled in its settings";
        let script = |path, text, remark| HookFile { path, shape: Shape::Own(text, true), handlers: &[], remark };
        vec![
            script(".clinerules/hooks/TaskStart", |commands| script_for(commands, "TaskStart"), Some(REMARK)),
            script(".clinerules/hooks/TaskResume", |commands| script_for(commands, "TaskResume"), None),
            script(".clinerules/hooks/PostToolUse", |commands| script_for(commands, "PostToolUse"), None),
            script(".clinerules/hooks/TaskComplete", |commands| script_for(commands, "TaskComplete"), None),
            script(".clinerules/hooks/TaskCancel", |commands| script_for(commands, "TaskCancel"), None),
        ]
    }
}

/// Returns a hook's script. Cline waits for an answer, and for somebody to read what it says.
fn script_for(commands: &Commands<'_>, event: &str) -> String {
    let command = (commands.shell)(event);
    format!(
        "#!/bin/sh\n\
         # Made by 'git shiftlog init', removed by 'git shiftlog deinit': tells git-shiftlog which task makes a commit.\n\
         {{ {command}; }} >/dev/null 2>&1\n\
         cat >/dev/null\n\
         echo '{{\"cancel\":false}}'\n"
    )
}

/// Returns where tasks are kept: for each editor that it may run in, and without one.
fn tasks() -> Vec<PathBuf> {
    const EDITORS: &[&str] = &["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
    let Some(home) = place::home() else { return Vec::new() };
    let supports = [place::config().unwrap_or_default(), home.join("Library/Application Support")];
    let users = supports.iter().flat_map(|support| EDITORS.iter().map(move |editor| support.join(editor).join("User")));
    let users = users.chain([home.join(".vscode-server/data/User")]);
    let tasks = users.map(|user| user.join("globalStorage/saoudrizwan.claude-dev/tasks"));
    tasks.chain([home.join(".cline/data/tasks")]).collect()
}

/// What is known of a task so far.
#[derive(Default)]
struct Task {
    /// The last call that was read out of an answer's words.
    open_call: Option<String>,
}

impl Parser for Task {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        document::each(lines, ITSELF, |record, span| {
            let mut message = Message::new(Role::User, span);
            message.time = json::time(record, "ts");
            match text(record, "role") {
                Some("user") => self.read_user(record, &mut message),
                Some("assistant") => self.read_answer(record, &mut message),
                _ => return,
            }
            if !message.parts.is_empty() {
                messages.push(message);
            }
        });
        messages
    }
}

impl Task {
    fn read_user(&mut self, record: &Value<'_>, message: &mut Message) {
        let mut is_answer = false;
        for block in blocks(record) {
            match block {
                Block::Text(words) => {
                    let words = words.trim();
                    let typed: Vec<&str> = TYPED.iter().filter_map(|tag| prompt::inside(words, tag)).collect();
                    if words.starts_with('[') && words.lines().next().is_some_and(|line| line.contains("] Result:")) {
                        is_answer = true;
                    }
                    if !typed.is_empty() {
                        message.parts.push(Part::Text(typed.join("\n")));
                    } else if is_answer {
                        let text = words.split_once("] Result:").map_or(words, |(_, answer)| answer).trim().to_owned();
                        self.answer(text, message);
                    } else if !words.starts_with("[ERROR]") && !words.starts_with("[TASK RESUMPTION]") {
                        let typed = prompt::without(words, NOISE);
                        message.parts.extend(Some(typed).filter(|typed| !typed.is_empty()).map(Part::Text));
                    }
                }
                Block::Other(block) => match text(block, "type") {
                    Some("tool_result") => {
                        let call_id = string(block, "tool_use_id").unwrap_or_default();
                        let (text, is_error) = (words(block), flag(block, "is_error"));
                        let result = ToolResult { call_id, text, is_error, sub_agent: None };
                        message.parts.push(Part::ToolResult(result));
                    }
                    Some("image") => message.parts.push(Part::Attachment(json::attachment("image", block))),
                    _ => {}
                },
            }
        }
    }

    /// Adds what a tool answered in words; more than one passage can belong to it.
    fn answer(&mut self, text: String, message: &mut Message) {
        match message.parts.last_mut() {
            Some(Part::ToolResult(result)) => {
                result.text.push('\n');
                result.text.push_str(&prompt::without(&text, NOISE));
            }
            _ => {
                let call_id = self.open_call.take().unwrap_or_default();
                message.parts.push(Part::ToolResult(ToolResult { call_id, text, is_error: false, sub_agent: None }));
            }
        }
    }

    fn read_answer(&mut self, record: &Value<'_>, message: &mut Message) {
        message.role = Role::Assistant;
        message.model = at(record, &["modelInfo", "modelId"]).and_then(|model| Some(model.as_str()?.to_owned()));
        for block in blocks(record) {
            match block {
                Block::Text(words) => {
                    let (words, call) = marked_up(words);
                    let words = prompt::without(words, &["thinking"]);
                    message.parts.extend(Some(words).filter(|words| !words.is_empty()).map(Part::Text));
                    if let Some((name, input)) = call {
                        let call_id = format!("at-{}", message.span.start);
                        message.parts.push(Part::ToolCall(tool::call(&*call_id, name, input)));
                        self.open_call = Some(call_id);
                    }
                }
                Block::Other(block) => match text(block, "type") {
                    Some("tool_use") => {
                        let input = field(block, "input").map(Into::into).unwrap_or_default();
                        let call_id = string(block, "id").unwrap_or_default();
                        let call = tool::call(call_id, text(block, "name").unwrap_or_default(), input);
                        message.parts.push(Part::ToolCall(call));
                    }
                    Some("thinking") => message.parts.extend(string(block, "thinking").map(Part::Thinking)),
                    _ => {}
                },
            }
        }
    }
}

/// A block of a message.
enum Block<'v> {
    Text(&'v str),
    Other(&'v Value<'v>),
}

fn blocks<'v>(record: &'v Value<'v>) -> Vec<Block<'v>> {
    if let Some(words) = text(record, "content") {
        return vec![Block::Text(words)];
    }
    let is_text = |block: &&Value<'_>| text(block, "type") == Some("text");
    let block = |block: &'v Value<'v>| match text(block, "text").filter(|_| is_text(&block)) {
        Some(words) => Block::Text(words),
        None => Block::Other(block),
    };
    list(record, "content").iter().map(block).collect()
}

fn words(block: &Value<'_>) -> String {
    if let Some(words) = text(block, "content") {
        return words.to_owned();
    }
    list(block, "content").iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n")
}

/// Returns the words in front of a tool call that is marked up in them, and the call.
fn marked_up(words: &str) -> (&str, Option<(&'static str, serde_json::Value)>) {
    for name in TOOLS {
        let Some(body) = prompt::inside(words, name) else { continue };
        let argument = |key: &&str| Some(((*key).to_owned(), prompt::inside(body, key)?.into()));
        let input: serde_json::Map<String, serde_json::Value> = ARGUMENTS.iter().filter_map(argument).collect();
        let before = words.split(&format!("<{name}>")).next().unwrap_or_default();
        return (before, Some((name, input.into())));
    }
    (words, None)
}
