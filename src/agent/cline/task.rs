//! The messages of a task: those that went to the model, with tool calls as records of their own or marked up in the
//! answer's words.

use serde_json_borrow::Value;

use super::super::json::{self, at, field, flag, list, string, text};
use super::super::{Parser, document, prompt, tool};
use crate::transcript::{Message, Part, Role, ToolResult};

/// The member of a document that holds the messages; in the documents of older releases they are all there is.
pub const MESSAGES: &str = "messages";
/// The name of that list if the document is the list itself.
pub const ITSELF: &str = "";
/// The tags that Cline puts around the words of a person.
const TYPED: &[&str] = &["task", "feedback", "user_message", "answer"];
/// The tags of text that Cline adds to a prompt.
const NOISE: &[&str] = &["environment_details", "file_content", "explicit_instructions"];
/// The tools that are read out of an answer's words.
const TOOLS: &[&str] = &["execute_command", "write_to_file", "replace_in_file"];
/// The arguments of those tools.
const ARGUMENTS: &[&str] = &["command", "path", "content", "diff"];

/// Returns the member of a document that holds its messages.
pub fn list_of(document: &[u8]) -> &'static str {
    if document.trim_ascii_start().starts_with(b"[") { ITSELF } else { MESSAGES }
}

/// The state of parsing a task.
#[derive(Default)]
pub struct Task {
    /// The last call that was read out of an answer's words.
    open_call: Option<String>,
}

impl Parser for Task {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        document::each(lines, list_of(lines), |record, span| {
            let mut message = Message::new(Role::User, span);
            json::set_time(&mut message, record, "ts");
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
                    let words = user_input(words).unwrap_or(words);
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
                        let (text, is_error) = result(block);
                        let result = ToolResult::new(call_id, text, is_error);
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
                message.parts.push(Part::ToolResult(ToolResult::new(call_id, text, false)));
            }
        }
    }

    fn read_answer(&mut self, record: &Value<'_>, message: &mut Message) {
        message.role = Role::Assistant;
        let model = ["modelId", "id"].iter().find_map(|key| at(record, &["modelInfo", key])?.as_str());
        message.model = model.map(str::to_owned);
        message.usage = field(record, "metrics").filter(|metrics| metrics.is_object()).map(json::usage);
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

/// Returns the typed words: `<user_input mode="act">words</user_input>`.
fn user_input(words: &str) -> Option<&str> {
    let (_, rest) = words.strip_prefix("<user_input")?.split_once('>')?;
    Some(rest.split_once("</user_input>").map_or(rest, |(inside, _)| inside).trim())
}

/// Returns a tool's answer, and whether the tool failed: words, or JSON with the `result` of each command.
fn result(block: &Value<'_>) -> (String, bool) {
    let mut is_error = flag(block, "is_error");
    let mut read = |part: &Value<'_>| {
        is_error |= field(part, "success").and_then(Value::as_bool) == Some(false);
        string(part, "result").or_else(|| string(part, "text"))
    };
    let words = match text(block, "content") {
        Some(words) if words.starts_with('{') => {
            json::read_line(words.as_bytes(), &mut read).unwrap_or_else(|| words.to_owned())
        }
        Some(words) => words.to_owned(),
        None => list(block, "content").iter().filter_map(read).collect::<Vec<_>>().join("\n"),
    };
    (words, is_error)
}

/// Returns the text before a tool call that is written as tags in an answer, and the call.
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
