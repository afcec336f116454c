//! The records of a Claude Code transcript: one JSON object a line, in the order they were written.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use bstr::ByteSlice as _;
use serde_json_borrow::Value;

use crate::transcript::{Edit, Message, Part, Role, Tokens, ToolCall, ToolResult};

/// What Claude Code wraps around words that nobody typed; such text is left out of prompts.
const NOISE: &[&str] = &[
    "system-reminder",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-args",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
];

/// A message with its place in the tree of records.
struct Node {
    message: Message,
    record_id: Option<String>,
    parent_id: Option<String>,
}

/// Reads the records that say something; see [`Agent::parse`](crate::agent::Agent::parse).
pub fn parse(transcript: &[u8]) -> Vec<Message> {
    if let Some(messages) = parse_web_export(transcript) {
        return messages;
    }
    let mut nodes = Vec::new();
    let mut start = 0;
    for line in transcript.split_inclusive(|byte| *byte == b'\n') {
        let span = start..start + line.len();
        start = span.end;
        nodes.extend(read_line(line, |record| node(record, span)));
    }
    mark_abandoned(&mut nodes);
    nodes.into_iter().map(|node| node.message).collect()
}

/// Reads what Claude Code on the web exports: one object whose `loglines` are the records.
fn parse_web_export(transcript: &[u8]) -> Option<Vec<Message>> {
    let head = &transcript[..transcript.len().min(4096)];
    if !head.windows(10).any(|window| window == b"\"loglines\"") {
        return None;
    }
    let document: Value<'_> = serde_json::from_slice(transcript).ok()?;
    let records = field(&document, "loglines")?.as_array()?;
    Some(records.iter().filter_map(|record| node(record, 0..transcript.len())).map(|node| node.message).collect())
}

/// Returns the session that a transcript's records name.
pub fn session_id(transcript: &[u8]) -> Option<String> {
    first_in(&transcript[..transcript.len().min(1 << 20)], "sessionId")
}

/// Returns the first value that the records at the beginning of a file have for a key.
pub fn first_string(path: &Path, key: &str) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(64 * 1024).read_to_end(&mut head).ok()?;
    first_in(&head, key)
}

fn first_in(head: &[u8], key: &str) -> Option<String> {
    head.split(|byte| *byte == b'\n').find_map(|line| read_line(line, |record| string(record, key)))
}

/// Reads a line as JSON and returns what `read` makes of it. Strings without escapes are not copied for that.
fn read_line<T>(line: &[u8], read: impl FnOnce(&Value<'_>) -> Option<T>) -> Option<T> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(line);
    if line.is_empty() {
        return None;
    }
    if let Ok(record) = serde_json::from_slice(line) {
        return read(&record);
    }
    let text = String::from_utf8_lossy(line);
    serde_json::from_str(&text).ok().and_then(|record| read(&record))
}

fn field<'v>(record: &'v Value<'v>, key: &str) -> Option<&'v Value<'v>> {
    record.as_object()?.get(key)
}

fn string(record: &Value<'_>, key: &str) -> Option<String> {
    field(record, key)?.as_str().map(str::to_owned)
}

fn flag(record: &Value<'_>, key: &str) -> bool {
    field(record, key).and_then(Value::as_bool).unwrap_or(false)
}

fn node(record: &Value<'_>, span: std::ops::Range<usize>) -> Option<Node> {
    let inner = field(record, "message").unwrap_or(&Value::Null);
    let mut message = Message {
        role: Role::System,
        parts: Vec::new(),
        time: string(record, "timestamp").and_then(|text| Some(text.parse::<jiff::Timestamp>().ok()?.as_second())),
        model: None,
        answer_id: None,
        usage: None,
        span,
        is_abandoned: false,
        is_sidechain: flag(record, "isSidechain"),
    };
    match field(record, "type").and_then(Value::as_str)? {
        "user" => read_user(record, inner, &mut message),
        "assistant" => {
            message.role = Role::Assistant;
            message.parts = parts(field(inner, "content").unwrap_or(&Value::Null), record);
            message.model = string(inner, "model").filter(|model| model != "<synthetic>");
            message.answer_id = string(inner, "id");
            message.usage = field(inner, "usage").map(usage).filter(|_| message.model.is_some());
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
    Some(Node { message, record_id: string(record, "uuid"), parent_id: string(record, "parentUuid") })
}

fn read_user(record: &Value<'_>, inner: &Value<'_>, message: &mut Message) {
    message.parts = parts(field(inner, "content").unwrap_or(&Value::Null), record);
    let text = message.text();
    if flag(record, "isCompactSummary") {
        message.parts = vec![Part::Notice(text)];
    } else if text.starts_with("[Request interrupted by user") {
        message.parts = vec![Part::Notice("interrupted by the user".into())];
    } else {
        message.role = Role::User;
        let is_typed = !flag(record, "isMeta") && text.trim() != "Warmup";
        message.parts.retain_mut(|part| match part {
            Part::Text(text) => {
                *text = without_noise(text);
                is_typed && !text.is_empty()
            }
            _ => true,
        });
    }
}

/// Returns a prompt without the passages that the program added, and without space around the rest.
fn without_noise(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        // Somebody may ask about such a tag: only one that is closed was put there by the program.
        let passage = NOISE.iter().find_map(|tag| {
            let inside = from.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
            inside.split_once(&format!("</{tag}>")).map(|(_, after)| after)
        });
        rest = passage.unwrap_or_else(|| {
            kept.push('<');
            &from[1..]
        });
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

fn usage(usage: &Value<'_>) -> Tokens {
    let number = |key: &str| field(usage, key).and_then(Value::as_u64).unwrap_or(0);
    Tokens {
        input: number("input_tokens"),
        output: number("output_tokens"),
        cache_read: number("cache_read_input_tokens"),
        cache_write: number("cache_creation_input_tokens"),
    }
}

/// Reads `message.content`: a string, or an array of blocks (or, in odd files, of strings).
fn parts(content: &Value<'_>, record: &Value<'_>) -> Vec<Part> {
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
        }),
        kind @ ("image" | "document") => Part::Attachment(kind.to_owned()),
        _ => return None,
    })
}

fn plain_text(content: &Value<'_>) -> String {
    match content {
        Value::Str(text) => text.to_string(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match field(block, "text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => block.as_str().map_or_else(
                    || format!("[{}]", field(block, "type").and_then(Value::as_str).unwrap_or("content")),
                    str::to_owned,
                ),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn tool_call(block: &Value<'_>) -> ToolCall {
    let name = string(block, "name").unwrap_or_default();
    let input = field(block, "input").unwrap_or(&Value::Null);
    let command = string(input, "command").filter(|_| matches!(name.as_str(), "Bash" | "PowerShell"));
    let path = string(input, "file_path").or_else(|| string(input, "notebook_path"));
    let edit = |old: Option<String>, new: Option<String>| {
        path.iter().map(|path| Edit { path: path.clone(), old: old.clone(), new: new.clone() }).collect::<Vec<_>>()
    };
    let edits = match name.as_str() {
        "Write" => edit(None, string(input, "content")),
        "Edit" => edit(string(input, "old_string"), string(input, "new_string")),
        "MultiEdit" => {
            let changes = field(input, "edits").and_then(Value::as_array).into_iter().flatten();
            changes.flat_map(|change| edit(string(change, "old_string"), string(change, "new_string"))).collect()
        }
        "NotebookEdit" => edit(None, string(input, "new_source")),
        _ => Vec::new(),
    };
    ToolCall { call_id: string(block, "id").unwrap_or_default(), name, input: input.into(), command, edits }
}

/// Marks what was taken back: when a prompt continues from an earlier point, what first came after that point.
///
/// Parallel tool calls also make siblings, so only a prompt starts a new branch.
fn mark_abandoned(nodes: &mut [Node]) {
    let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent_id.as_deref().filter(|_| !node.message.is_sidechain) {
            children.entry(parent).or_default().push(index);
        }
    }
    let mut abandoned = Vec::new();
    for siblings in children.values() {
        let Some(last_prompt) = siblings.iter().rposition(|index| nodes[*index].message.is_prompt()) else { continue };
        abandoned.extend(siblings[..last_prompt].iter().copied());
    }
    let mut is_abandoned = vec![false; nodes.len()];
    while let Some(index) = abandoned.pop() {
        if std::mem::replace(&mut is_abandoned[index], true) {
            continue;
        }
        let below = nodes[index].record_id.as_deref().and_then(|id| children.get(id));
        abandoned.extend(below.into_iter().flatten().copied());
    }
    drop(children);
    for (node, is_abandoned) in nodes.iter_mut().zip(is_abandoned) {
        node.message.is_abandoned = is_abandoned;
    }
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
