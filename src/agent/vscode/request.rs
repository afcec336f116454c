//! A request of the chat store: a prompt and everything that was answered to it.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use crate::agent::tool;
use crate::transcript::{Edit, Message, Part, Role, Tokens, ToolResult};

/// How deep the answer of a tool may be nested.
const MAX_DEPTH: u32 = 64;

/// The parts of a request that were returned already; a request can be read more than once.
#[derive(Debug, Default)]
pub struct Returned {
    has_prompt: bool,
    /// The ids of the calls, in their order: the same call has another id at first.
    calls: Vec<String>,
    results: HashSet<String>,
    words: HashSet<String>,
    edited: HashSet<String>,
    notices: usize,
}

/// A tool call, from any part of a request that has it.
struct Call {
    id: String,
    name: String,
    input: Value,
}

/// Returns the messages of a request that were not returned before.
pub fn read(request: &Value, selected: Option<&str>, returned: &mut Returned, span: &Range<usize>) -> Vec<Message> {
    let model = model(request, selected);
    let mut messages = Vec::new();
    let mut say = |role: Role, parts: Vec<Part>| {
        let mut message = Message::new(role, span.clone());
        let millis = request["timestamp"].as_f64().map(|millis| millis as i64);
        message.time = millis.map(|millis| millis / 1000);
        message.time_nanos = u32::try_from(millis.unwrap_or(0) % 1000).unwrap_or(0) * 1_000_000;
        message.parts = parts;
        if role == Role::Assistant {
            message.model.clone_from(&model);
        }
        messages.push(message);
    };
    if let Some(prompt) = prompt(request).filter(|_| !returned.has_prompt) {
        returned.has_prompt = true;
        say(Role::User, prompt);
    }
    let mut calls = 0;
    for (parts, called) in answer(request) {
        let mut parts: Vec<Part> = parts.into_iter().filter(|part| is_news(part, returned)).collect();
        let mut results = Vec::new();
        for call in called {
            let id = returned.calls.get(calls).unwrap_or(&call.id).clone();
            results.extend(result(request, &call.id, &id).filter(|_| returned.results.insert(id.clone())));
            if returned.calls.len() <= calls {
                returned.calls.push(id.clone());
                let call = tool::call(id, &call.name, call.input);
                returned.edited.extend(call.edits.iter().map(|edit| edit.path.clone()));
                parts.push(Part::ToolCall(call));
            }
            calls += 1;
        }
        if !parts.is_empty() {
            say(Role::Assistant, parts);
        }
        if !results.is_empty() {
            say(Role::User, results);
        }
    }
    let edits = other_edits(request, returned);
    if !edits.is_empty() {
        say(Role::Assistant, edits);
    }
    let notices = notices(request);
    if notices.len() > returned.notices {
        say(Role::System, notices[std::mem::replace(&mut returned.notices, notices.len())..].to_vec());
    }
    let has_model = messages.iter().any(|message| message.model.is_some());
    let usage = usage(request);
    // What it cost stands at its end; and so does the model, if nothing was said with it.
    if usage.is_some() || (model.is_some() && !has_model) {
        let mut message = Message::new(Role::Assistant, span.clone());
        (message.usage, message.model) = (usage, model);
        message.answer_id = request["requestId"].as_str().map(str::to_owned);
        messages.push(message);
    }
    let is_removed = request.get("shouldBeRemovedOnSend").is_some_and(|value| !value.is_null() && *value != false);
    messages.iter_mut().for_each(|message| message.is_abandoned = is_removed);
    messages
}

/// Returns the model that answered, from the first member that names it.
pub fn model(request: &Value, selected: Option<&str>) -> Option<String> {
    let result = &request["result"];
    let details = || result["details"].as_str()?.split(" • ").next();
    let named = [result["metadata"]["resolvedModel"].as_str(), request["modelId"].as_str(), details(), selected];
    named.into_iter().flatten().find_map(known_model)
}

/// Returns the name of a model; `None` for the automatic choice.
fn known_model(name: &str) -> Option<String> {
    let name = name.trim();
    let name = name.strip_prefix("copilot/").unwrap_or(name);
    (!name.is_empty() && !name.eq_ignore_ascii_case("auto")).then(|| name.to_owned())
}

fn prompt(request: &Value) -> Option<Vec<Part>> {
    // The program asks, too, for instance to go on.
    if request["isSystemInitiated"] == true {
        return None;
    }
    let message = &request["message"];
    let words = message.as_str().or_else(|| message["text"].as_str()).map(str::trim).filter(|words| !words.is_empty());
    let variables = request["variableData"]["variables"].as_array().into_iter().flatten();
    let images = variables.filter(|variable| variable["kind"] == "image").map(|_| Part::Attachment("image".into()));
    let parts: Vec<Part> = words.map(|words| Part::Text(words.to_owned())).into_iter().chain(images).collect();
    (!parts.is_empty()).then_some(parts)
}

/// Says whether words were not returned yet, and remembers them.
fn is_news(part: &Part, returned: &mut Returned) -> bool {
    match part {
        Part::Text(words) | Part::Thinking(words) => returned.words.insert(words.clone()),
        _ => true,
    }
}

/// Returns the answer in steps: words, then tools. The rounds that the model was asked in have it best, but come only
/// when the answer is complete.
fn answer(request: &Value) -> Vec<(Vec<Part>, Vec<Call>)> {
    let rounds = request["result"]["metadata"]["toolCallRounds"].as_array().filter(|rounds| !rounds.is_empty());
    match rounds {
        Some(rounds) => rounds.iter().map(round).collect(),
        None => shown(request),
    }
}

fn round(round: &Value) -> (Vec<Part>, Vec<Call>) {
    let thinking = plain(&round["thinking"]["text"]);
    let words = [(thinking, Part::Thinking as fn(String) -> Part), (plain(&round["response"]), Part::Text)];
    let parts = words.into_iter().filter(|(words, _)| !words.trim().is_empty()).map(|(words, part)| part(words));
    let calls = round["toolCalls"].as_array().into_iter().flatten().map(|call| Call {
        id: plain(&call["id"]),
        name: plain(&call["name"]),
        input: call["arguments"].clone(),
    });
    (parts.collect(), calls.collect())
}

/// Returns the answer as it was shown, piece by piece.
fn shown(request: &Value) -> Vec<(Vec<Part>, Vec<Call>)> {
    let pieces = request["response"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut steps = Vec::new();
    let (mut parts, mut words) = (Vec::new(), String::new());
    let finish = |words: &mut String, parts: &mut Vec<Part>| {
        let text = std::mem::take(words);
        // Around an edit stands an empty block of code.
        if !text.trim_matches(|c: char| c == '`' || c.is_whitespace()).is_empty() {
            parts.push(Part::Text(text.trim().to_owned()));
        }
    };
    for (index, piece) in pieces.iter().enumerate() {
        match piece["kind"].as_str() {
            None | Some("markdownContent") => words += &plain(piece.get("value").unwrap_or(&piece["content"])),
            Some("inlineReference") => words += &format!("`{}`", reference(piece)),
            Some("thinking") => {
                finish(&mut words, &mut parts);
                let thoughts = plain(&piece["value"]);
                parts.extend((!thoughts.trim().is_empty()).then_some(Part::Thinking(thoughts)));
            }
            Some("toolInvocationSerialized") => {
                let id = plain(&piece["toolCallId"]);
                let is_same = |other: &Value| {
                    other["kind"] == "toolInvocationSerialized" && other["toolCallId"].as_str() == Some(&id)
                };
                let name = plain(&piece["toolId"]);
                // The last of several is the complete one; some tools call others that nobody sees.
                if name.ends_with("_internal") || pieces[index + 1..].iter().any(is_same) {
                    continue;
                }
                finish(&mut words, &mut parts);
                let name = name.strip_prefix("copilot_").unwrap_or(&name).to_owned();
                let call = Call { id, name, input: terminal(piece) };
                steps.push((std::mem::take(&mut parts), vec![call]));
            }
            _ => {}
        }
    }
    finish(&mut words, &mut parts);
    steps.push((parts, Vec::new()));
    steps
}

/// Returns the command line of a terminal.
fn terminal(piece: &Value) -> Value {
    let data = &piece["toolSpecificData"];
    let line = &data["commandLine"];
    let command = ["userEdited", "toolEdited", "original"].iter().find_map(|key| line[key].as_str());
    match command.or_else(|| data["command"].as_str()) {
        Some(command) => serde_json::json!({ "command": command }),
        None => Value::Null,
    }
}

/// Returns how a reference inside words is shown: the name of a file or a symbol.
fn reference(piece: &Value) -> String {
    let target = &piece["inlineReference"];
    let path = path(target).or_else(|| path(&target["uri"])).or_else(|| path(&target["location"]["uri"]));
    let name = piece["name"].as_str().or_else(|| target["name"].as_str()).map(str::to_owned);
    name.or_else(|| Some(path?.rsplit('/').next()?.to_owned())).unwrap_or_default()
}

fn path(uri: &Value) -> Option<String> {
    uri["fsPath"].as_str().or_else(|| uri["path"].as_str()).map(str::to_owned)
}

/// Returns the edits that no tool call tells.
fn other_edits(request: &Value, returned: &mut Returned) -> Vec<Part> {
    let groups = request["response"].as_array().into_iter().flatten();
    let groups = groups.filter(|piece| piece["kind"] == "textEditGroup");
    let mut parts = Vec::new();
    for path in groups.filter_map(|group| path(&group["uri"])) {
        if returned.edited.insert(path.clone()) {
            let mut call = tool::call(format!("edit {path}"), "textEditGroup", Value::Null);
            call.edits.push(Edit { path, ..Edit::default() });
            parts.push(Part::ToolCall(call));
        }
    }
    parts
}

/// Returns a tool's answer to the call `id`, whose id in the messages is `call_id`.
fn result(request: &Value, id: &str, call_id: &str) -> Option<Part> {
    let result = request["result"]["metadata"]["toolCallResults"].get(id)?;
    let mut text = String::new();
    for piece in result["content"].as_array().into_iter().flatten() {
        collect(&piece["value"], &mut text, MAX_DEPTH);
    }
    let is_error = result["isError"] == true || result["hasError"] == true;
    Some(Part::ToolResult(ToolResult::new(call_id, text, is_error)))
}

/// Adds the words of a tree of nodes.
fn collect(node: &Value, words: &mut String, depth: u32) {
    if let Some(text) = node.as_str().or_else(|| node["text"].as_str()) {
        if node["lineBreakBefore"] == true && !words.is_empty() && !words.ends_with('\n') {
            words.push('\n');
        }
        words.push_str(text);
    }
    if depth > 0 {
        let children = node["children"].as_array().into_iter().flatten();
        children.chain(node.get("node")).for_each(|child| collect(child, words, depth - 1));
    }
}

fn notices(request: &Value) -> Vec<Part> {
    let cancelled = (request["isCanceled"] == true).then(|| crate::agent::INTERRUPTED.to_owned());
    let failed = request["result"]["errorDetails"]["message"].as_str().map(str::to_owned);
    cancelled.into_iter().chain(failed).map(Part::Notice).collect()
}

fn usage(request: &Value) -> Option<Tokens> {
    let usage = request["result"].get("usage")?;
    let number = |key: &str| usage[key].as_u64().unwrap_or(0);
    Some(Tokens { input: number("promptTokens"), output: number("completionTokens"), ..Tokens::default() })
}

/// Returns words: text, Markdown, or a list of them.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => value["value"].as_str().unwrap_or_default().to_owned(),
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
