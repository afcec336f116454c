//! The records of a Claude Code transcript: one JSON object a line, in the order they were written.

use std::path::Path;

use bstr::ByteSlice as _;
use serde_json_borrow::Value;

use crate::agent::branches::{self, Node};
use crate::agent::json::{self, field, flag, string};
use crate::agent::{prompt, tool};
use crate::transcript::{Attachment, Message, Part, Role, Tokens, ToolCall, ToolResult};

/// The tags of text that Claude Code adds to a prompt; such text is left out.
pub const NOISE: &[&str] = &[
    "system-reminder",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-args",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
];

/// Reads the records that say something; see [`Agent::parse`](crate::agent::Agent::parse).
pub fn parse(transcript: &[u8]) -> Vec<Message> {
    if let Some(messages) = parse_web_export(transcript) {
        return messages;
    }
    let mut nodes = Vec::new();
    for (span, line) in json::lines(transcript) {
        nodes.extend(json::read_line(line, |record| node(record, span)));
    }
    branches::messages(nodes)
}

/// Reads what Claude Code on the web exports: one object whose `loglines` are the records.
fn parse_web_export(transcript: &[u8]) -> Option<Vec<Message>> {
    if !is_web_export(transcript) {
        return None;
    }
    let document: Value<'_> = serde_json::from_slice(transcript).ok()?;
    let records = field(&document, "loglines")?.as_array()?;
    Some(records.iter().filter_map(|record| node(record, 0..transcript.len())).map(|node| node.message).collect())
}

/// Says, cheaply, whether a text may be what Claude Code on the web exports.
pub fn is_web_export(transcript: &[u8]) -> bool {
    transcript[..transcript.len().min(4096)].contains_str("\"loglines\"")
}

/// A text that every line with a prompt has.
pub const PROMPT_MARK: &str = "\"user\"";

/// Says, cheaply, whether a line with [`PROMPT_MARK`] may be a prompt. Most lines that the user's side writes are results of tools.
pub fn may_be_prompt(line: &[u8]) -> bool {
    let has = |word: &str| line.contains_str(word);
    !has("\"tool_result\"") || has("\"text\"") || has("\"image\"") || has("\"document\"")
}

/// Returns the session that a transcript's records name.
pub fn session_id(transcript: &[u8]) -> Option<String> {
    json::find(&transcript[..transcript.len().min(1 << 20)], |record| string(record, "sessionId"))
}

/// Returns the first value that the records at the beginning of a file have for a key.
pub fn first_string(path: &Path, key: &str) -> Option<String> {
    json::find_in_file(path, |record| string(record, key))
}

/// How much older than a fork the first words are that it repeats, at least. Records of one moment are not in order.
const FORK_AGE: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

/// Returns the length of the part of a transcript that is copied from the session it was forked from; `None` if there is no
/// such part.
///
/// No record marks the copy. But a fork begins with new records, and the copied records are older than these.
pub fn repeated_bytes(mut transcript: impl std::io::BufRead) -> Option<u64> {
    let (mut begun, mut at, mut end) = (None, 0, None);
    let mut line = Vec::new();
    while transcript.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        at += line.len() as u64;
        let told = json::read_line(&line, |record| {
            let time: jiff::Timestamp = json::text(record, "timestamp")?.parse().ok()?;
            Some((matches!(json::text(record, "type"), Some("user" | "assistant")), time))
        });
        line.clear();
        let Some((is_message, time)) = told else { continue };
        let age = begun.get_or_insert(time).duration_since(time);
        if is_message && (age <= jiff::SignedDuration::ZERO || end.is_none() && age < FORK_AGE) {
            break;
        }
        if age > jiff::SignedDuration::ZERO && (is_message || end.is_some()) {
            end = Some(at);
        }
    }
    end
}

fn node(record: &Value<'_>, span: std::ops::Range<usize>) -> Option<Node> {
    let inner = field(record, "message").unwrap_or(&Value::Null);
    let mut message = Message::new(Role::System, span);
    message.time = json::time(record, "timestamp");
    message.is_sidechain = flag(record, "isSidechain");
    match field(record, "type").and_then(Value::as_str)? {
        "user" => read_user(record, inner, &mut message),
        "assistant" => {
            message.role = Role::Assistant;
            message.parts = parts(field(inner, "content").unwrap_or(&Value::Null), record);
            message.model = string(inner, "model").filter(|model| model != "<synthetic>");
            message.answer_id = string(inner, "id");
            message.usage = field(inner, "usage").map(usage).filter(|_| message.model.is_some());
            message.tier = field(inner, "usage").and_then(tier);
            if message.model.is_none() && flag(record, "isApiErrorMessage") {
                message.role = Role::System;
                message.parts = vec![Part::Notice(message.text())];
            }
        }
        "system" if string(record, "subtype").as_deref() == Some("compact_boundary") => {
            message.parts.push(Part::Notice("conversation compacted".into()));
        }
        "system" | "attachment" | "progress" => {}
        _ => return None,
    }
    Some(Node { message, record_id: string(record, "uuid"), parent_id: string(record, "parentUuid"), is_rewind: false })
}

fn read_user(record: &Value<'_>, inner: &Value<'_>, message: &mut Message) {
    message.parts = parts(field(inner, "content").unwrap_or(&Value::Null), record);
    let first = message.texts().next().unwrap_or_default();
    let is_interruption = first.starts_with("[Request interrupted by user");
    let is_warm_up = first.trim() == "Warmup" && message.texts().count() == 1;
    if flag(record, "isCompactSummary") {
        message.parts = vec![Part::Notice(message.text())];
    } else if is_interruption {
        message.parts = vec![Part::Notice("interrupted by the user".into())];
    } else {
        message.role = Role::User;
        let is_typed = !flag(record, "isMeta") && !is_warm_up;
        message.parts.retain_mut(|part| match part {
            Part::Text(text) => {
                *text = prompt::without(text, NOISE);
                is_typed && !text.is_empty()
            }
            _ => true,
        });
    }
}

fn usage(usage: &Value<'_>) -> Tokens {
    let number = |key: &str| json::number(usage, key);
    Tokens {
        input: number("input_tokens"),
        output: number("output_tokens"),
        cache_read: number("cache_read_input_tokens"),
        cache_write: number("cache_creation_input_tokens"),
        cache_write_long: field(usage, "cache_creation").map(|kept| json::number(kept, "ephemeral_1h_input_tokens")),
    }
}

/// Returns the service tier of an answer; `None` for the usual one.
fn tier(usage: &Value<'_>) -> Option<String> {
    let named = |key: &str| string(usage, key).filter(|name| name != "standard" && !name.is_empty());
    named("speed").or_else(|| named("service_tier"))
}

/// Reads `message.content`: a string, or an array of blocks (or, in odd files, of strings).
pub fn parts(content: &Value<'_>, record: &Value<'_>) -> Vec<Part> {
    match content {
        Value::Str(text) if !text.is_empty() => vec![Part::Text(text.to_string())],
        Value::Array(blocks) => blocks.iter().filter_map(|block| part(block, record)).collect(),
        _ => Vec::new(),
    }
}

fn part(block: &Value<'_>, record: &Value<'_>) -> Option<Part> {
    if let Some(text) = block.as_str() {
        return Some(Part::Text(text.to_owned()));
    }
    Some(match field(block, "type").and_then(Value::as_str)? {
        "text" => Part::Text(string(block, "text").filter(|text| !text.is_empty())?),
        "thinking" => Part::Thinking(string(block, "thinking").filter(|text| !text.is_empty())?),
        "redacted_thinking" => Part::Attachment("redacted thinking".into()),
        "tool_use" | "server_tool_use" => Part::ToolCall(tool_call(block)),
        "tool_result" => Part::ToolResult(ToolResult {
            call_id: string(block, "tool_use_id").unwrap_or_default(),
            text: plain_text(field(block, "content").unwrap_or(&Value::Null)),
            is_error: flag(block, "is_error"),
            sub_agent: field(record, "toolUseResult").and_then(|result| string(result, "agentId")),
            pictures: pictures(field(block, "content").unwrap_or(&Value::Null)),
        }),
        kind @ ("image" | "document") => Part::Attachment(json::attachment(kind, block)),
        _ => return None,
    })
}

/// Returns the file that the tool of a result has changed, as it was before.
pub fn file_before(record: &[u8]) -> Option<String> {
    let is_told = record.contains_str("\"originalFile\"");
    let read = |record: &Value<'_>| string(field(record, "toolUseResult")?, "originalFile");
    if is_told { json::read_line(record, read) } else { None }
}

fn plain_text(content: &Value<'_>) -> String {
    match content {
        Value::Str(text) => text.to_string(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match field(block, "text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => block.as_str().map_or_else(|| format!("[{}]", attached(block)), str::to_owned),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns the pictures that a tool answered with.
fn pictures(content: &Value<'_>) -> Vec<Attachment> {
    let images =
        content.as_array().unwrap_or_default().iter().filter(|block| field(block, "type") == Some(&"image".into()));
    images.map(|block| json::attachment("image", block)).collect()
}

/// Returns what a block without text is, as far as it says: `image/png`, else `image`.
fn attached(block: &Value<'_>) -> String {
    let attachment = json::attachment(json::text(block, "type").unwrap_or("content"), block);
    attachment.name.unwrap_or(attachment.kind)
}

fn tool_call(block: &Value<'_>) -> ToolCall {
    let input = field(block, "input").unwrap_or(&Value::Null);
    tool::call(string(block, "id").unwrap_or_default(), json::text(block, "name").unwrap_or_default(), input.into())
}

/// Returns a transcript as if it had been made in `directory`: the `cwd` of its records begins with it where it began
/// with that of the first record. Every other byte stays.
pub fn moved(transcript: &[u8], directory: &Path) -> Vec<u8> {
    let first = transcript.lines().find_map(|line| {
        let value: serde_json::Value = serde_json::from_slice(line).ok()?;
        value.get("cwd")?.as_str().map(str::to_owned)
    });
    let Some(old) = first.filter(|old| Path::new(old) != directory && !old.is_empty()) else {
        return transcript.to_vec();
    };
    let escaped = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let (old, new) = (escaped(&old), escaped(&directory.to_string_lossy()));
    let mut moved = Vec::with_capacity(transcript.len());
    let mut rest = transcript;
    // Within a string of a record the quotes have a backslash in front of them.
    while let Some(at) = rest.find(b"\"cwd\":") {
        let key_end = at + b"\"cwd\":".len();
        let space = rest[key_end..].iter().take_while(|byte| **byte == b' ').count();
        let value = key_end + space;
        moved.extend_from_slice(&rest[..value]);
        rest = &rest[value..];
        let after = rest.strip_prefix(b"\"").and_then(|text| text.strip_prefix(old.as_bytes()));
        if let Some(after) = after.filter(|after| after.starts_with(b"\"") || after.starts_with(b"/")) {
            moved.push(b'"');
            moved.extend_from_slice(new.as_bytes());
            rest = after;
        }
    }
    moved.extend_from_slice(rest);
    moved
}
