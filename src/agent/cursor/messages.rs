//! The messages of Cursor, in both forms: records with a role and a list of parts.

use std::ops::Range;

use serde_json_borrow::Value;

use super::super::json::{self, at, field, flag, string, text};
use super::super::tool;
use crate::transcript::{Message, Part, Role, ToolResult};

/// The text that Cursor writes in place of the model's thoughts.
const HIDDEN: &str = "[REDACTED]";
/// The tags of text that Cursor adds to a prompt.
const NOISE: &[&str] = &["<user_info>", "<system_reminder>", "<system-reminder>", "<open_and_recently_viewed_files>"];

/// Reads a transcript of lines, or the lines that stand for a database.
pub fn parse(lines: &[u8]) -> Vec<Message> {
    let read = |(span, line)| json::read_line(line, |record| message(record, span));
    json::lines(lines).filter_map(read).collect()
}

fn message(record: &Value<'_>, span: Range<usize>) -> Option<Message> {
    let role = match text(record, "role")? {
        "user" | "tool" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let mut message = Message::new(role, span);
    match at(record, &["message", "content"]).or_else(|| field(record, "content"))? {
        Value::Str(words) => say(&mut message, words),
        Value::Array(parts) => parts.iter().for_each(|part| read_part(part, &mut message)),
        _ => {}
    }
    if role == Role::Assistant {
        let model = at(record, &["providerOptions", "cursor", "modelName"]);
        message.model = model.and_then(|model| Some(model.as_str()?.to_owned()));
    }
    (!message.parts.is_empty()).then_some(message)
}

fn say(message: &mut Message, words: &str) {
    let words = match message.role {
        Role::User => typed(words),
        _ => Some(words.trim_end().trim_end_matches(HIDDEN).trim_end().to_owned()),
    };
    message.parts.extend(words.filter(|words| !words.is_empty()).map(Part::Text));
}

/// Returns the typed part of a prompt.
fn typed(prompt: &str) -> Option<String> {
    let queries = prompt.split("<user_query>").skip(1);
    let queries: Vec<&str> =
        queries.map(|rest| rest.split("</user_query>").next().unwrap_or_default().trim()).collect();
    if !queries.is_empty() {
        return Some(queries.join("\n"));
    }
    let words = prompt.trim();
    (!NOISE.iter().any(|tag| words.starts_with(tag))).then(|| words.to_owned())
}

fn read_part(part: &Value<'_>, message: &mut Message) {
    let first = |keys: &[&str]| keys.iter().find_map(|key| text(part, key));
    let call_id = || first(&["toolCallId", "id"]).unwrap_or_default().to_owned();
    match text(part, "type").unwrap_or_default() {
        "text" => say(message, text(part, "text").unwrap_or_default()),
        "reasoning" => {
            let words = string(part, "text").filter(|words| !words.trim().is_empty() && words != HIDDEN);
            message.parts.extend(words.map(Part::Thinking));
        }
        "tool_use" | "tool-call" => {
            let input = ["input", "args"].iter().find_map(|key| field(part, key));
            let name = first(&["name", "toolName"]).unwrap_or_default();
            let call = tool::call(call_id(), name, input.map(Into::into).unwrap_or_default());
            message.parts.push(Part::ToolCall(call));
        }
        "tool-result" => {
            let text = match field(part, "result").or_else(|| field(part, "output")) {
                Some(Value::Str(text)) => text.to_string(),
                Some(other) => serde_json::Value::from(other).to_string(),
                None => String::new(),
            };
            let is_error = flag(part, "isError");
            message.parts.push(Part::ToolResult(ToolResult::new(call_id(), text, is_error)));
        }
        "image" | "file" => {
            message.parts.push(Part::Attachment(first(&["filename", "mimeType"]).unwrap_or("a file").into()));
        }
        _ => {}
    }
}
