//! The messages of OpenCode: one for each prompt and each step of an answer, with its parts.

use std::ops::Range;

use serde_json_borrow::Value;

use super::super::json::{self, at, field, flag, list, number, string, text};
use super::super::{document, tool};
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

/// Reads an export, as a document or as lines of it.
pub fn parse(lines: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    document::each(lines, "messages", |record, span| messages.extend(message(record, span)));
    messages
}

/// Returns the length of the messages at the beginning that are older than the session, by its export in lines: those
/// of the session that it was forked from, which it has under new ids. `None` if there are none.
pub fn repeated_bytes(lines: &[u8]) -> Option<u64> {
    let created = |info: &Value<'_>| at(info, &["time", "created"]).and_then(Value::as_i64);
    let mut messages: Vec<(usize, Option<i64>)> = Vec::new();
    let mut begun = None;
    document::each(lines, "messages", |record, span| match field(record, "info") {
        Some(info) if field(info, "role").is_some() => messages.push((span.start, created(info))),
        Some(info) => begun = created(info),
        None => {}
    });
    let begun = begun?;
    // A line that only continues a message has no time.
    let own = messages.iter().position(|(_, created)| created.is_some_and(|created| created >= begun))?;
    (own > 0).then(|| messages[own].0 as u64)
}

fn message(record: &Value<'_>, span: Range<usize>) -> Option<Message> {
    let info = field(record, "info")?;
    let role = match text(info, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    let mut message = Message::new(role, span);
    if let Some(time) = field(info, "time") {
        json::set_time(&mut message, time, "created");
    }
    for part in list(record, "parts") {
        read_part(part, flag(info, "summary"), &mut message);
    }
    if let Some(error) = field(info, "error") {
        let words = at(error, &["data", "message"]).and_then(Value::as_str).or_else(|| text(error, "name"));
        message.parts.push(Part::Notice(words.unwrap_or("failed").to_owned()));
    }
    if role == Role::Assistant {
        (message.model, message.answer_id) = (string(info, "modelID"), string(info, "id"));
        let told_cost = json::dollars(info, "cost");
        message.usage = field(info, "tokens").map(|tokens| Tokens { told_cost, ..usage(tokens) });
    }
    (!message.parts.is_empty() || message.usage.is_some()).then_some(message)
}

fn read_part(part: &Value<'_>, is_summary: bool, message: &mut Message) {
    let words = || string(part, "text").filter(|words| !words.trim().is_empty());
    match text(part, "type").unwrap_or_default() {
        "text" if flag(part, "synthetic") || flag(part, "ignored") => {}
        "text" if is_summary => message.parts.extend(words().map(Part::Notice)),
        "text" => message.parts.extend(words().map(Part::Text)),
        "reasoning" => message.parts.extend(words().map(Part::Thinking)),
        "tool" => read_tool(part, message),
        "file" => {
            let what = ["filename", "mime"].iter().find_map(|key| text(part, key)).unwrap_or("a file");
            message.parts.push(Part::Attachment(json::attachment(what, part)));
        }
        "subtask" => message.parts.extend(string(part, "prompt").map(Part::Text)),
        "compaction" => message.parts.push(Part::Notice("conversation compacted".into())),
        "retry" => {
            let why = at(part, &["error", "data", "message"]).and_then(Value::as_str).unwrap_or_default();
            message.parts.push(Part::Notice(format!("tried again {why}").trim_end().to_owned()));
        }
        _ => {}
    }
}

fn read_tool(part: &Value<'_>, message: &mut Message) {
    let call_id = string(part, "callID").or_else(|| string(part, "id")).unwrap_or_default();
    let Some(state) = field(part, "state") else { return };
    let input = field(state, "input").map(Into::into).unwrap_or_default();
    message.parts.push(Part::ToolCall(tool::call(call_id.as_str(), text(part, "tool").unwrap_or_default(), input)));
    let (answer, is_error) = match text(state, "status") {
        Some("completed") => {
            let code = at(state, &["metadata", "exit"]).and_then(Value::as_i64).unwrap_or(0);
            (string(state, "output"), code != 0)
        }
        Some("error") => (string(state, "error"), true),
        _ => return,
    };
    // The session of a sub-agent.
    let sub_agent = at(state, &["metadata", "sessionId"]).and_then(|id| Some(id.as_str()?.to_owned()));
    let text = answer.unwrap_or_default();
    message.parts.push(Part::ToolResult(ToolResult { call_id, text, is_error, sub_agent, pictures: Vec::new() }));
}

/// Reasoning is counted apart, and is written by the model too.
fn usage(tokens: &Value<'_>) -> Tokens {
    let cached = |key| field(tokens, "cache").map_or(0, |cache| number(cache, key));
    Tokens {
        input: number(tokens, "input"),
        output: number(tokens, "output").saturating_add(number(tokens, "reasoning")),
        cache_read: cached("read"),
        cache_write: cached("write"),
        ..Tokens::default()
    }
}
