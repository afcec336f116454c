//! The records of a rollout as messages.

use std::collections::HashSet;

use serde_json_borrow::Value;

use super::super::json::{self, at, field, list, number, string, text};
use super::super::{INTERRUPTED, Parser, tool};
use super::calls;
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

/// The beginnings of messages that Codex adds to those of the person.
const NOISE: &[&str] = &[
    "<environment_context>",
    "<permissions instructions>",
    "<user_instructions>",
    "<turn_aborted>",
    "<collaboration_mode>",
    "<skills_instructions>",
    "<apps_instructions>",
    "# AGENTS.md instructions",
];
/// The heading that an editor puts between its list of open files and the prompt.
const REQUEST: &str = "## My request for Codex:";

/// The state of parsing a rollout.
#[derive(Default)]
pub struct Rollout {
    /// Whether the rollout has prompts and answers as `event_msg` records.
    has_events: bool,
    model: Option<String>,
    /// The total of the last `token_count` event.
    total: Option<TotalUsage>,
    /// The calls whose edits are known from their input.
    patches: HashSet<String>,
    /// The calls that the model has made.
    calls: HashSet<String>,
    /// Calls of which events tell that they changed nothing.
    failed: HashSet<String>,
    /// Calls that run a program of the model's; events tell what the program called.
    programs: HashSet<String>,
}

impl Parser for Rollout {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        self.has_events |= json::lines(lines).any(|(_, line)| is_event_of_somebody(line));
        let mut messages: Vec<Message> = Vec::new();
        for (span, line) in json::lines(lines) {
            let read = json::read_line(line, |record| {
                let (kind, payload) = match (text(record, "type"), field(record, "payload")) {
                    (Some(kind), Some(payload)) => (kind, payload),
                    // Before there were envelopes.
                    (Some(_), None) => ("response_item", record),
                    _ => return None,
                };
                if kind == "event_msg" && text(payload, "type") == Some("thread_rolled_back") {
                    take_back(&mut messages, number(payload, "num_turns"));
                }
                let mut message = self.message(kind, payload, span)?;
                json::set_time(&mut message, record, "timestamp");
                Some(message)
            });
            messages.extend(read);
        }
        messages
    }
}

/// Says, cheaply, whether a line is an event that tells a prompt or an answer.
fn is_event_of_somebody(line: &[u8]) -> bool {
    use bstr::ByteSlice as _;
    let head = &line[..line.len().min(512)];
    head.contains_str("event_msg")
        && ["\"user_message\"", "\"agent_message\"", "\"UserMessage\"", "\"AgentMessage\""]
            .iter()
            .any(|kind| head.contains_str(kind))
}

/// Marks the last turns as taken back.
fn take_back(messages: &mut [Message], turns: u64) {
    let mut left = turns;
    for message in messages.iter_mut().rev().filter(|message| !message.is_abandoned) {
        if left == 0 {
            break;
        }
        left -= u64::from(message.is_prompt());
        message.is_abandoned = true;
    }
}

impl Rollout {
    fn message(&mut self, kind: &str, payload: &Value<'_>, span: std::ops::Range<usize>) -> Option<Message> {
        let mut message = Message::new(Role::System, span);
        match kind {
            "turn_context" => {
                self.model = string(payload, "model").or_else(|| self.model.take());
                // An answer without words: so that the model is known even if the answer is in another increment.
                (message.role, message.model) = (Role::Assistant, self.model.clone());
                return Some(message);
            }
            "compacted" => message.parts.extend(string(payload, "message").map(Part::Notice)),
            "event_msg" => self.read_event(payload, &mut message),
            "response_item" => self.read_item(payload, &mut message),
            _ => return None,
        }
        if message.role == Role::Assistant {
            message.model.clone_from(&self.model);
        }
        (!message.parts.is_empty() || message.usage.is_some()).then_some(message)
    }

    fn read_event(&mut self, event: &Value<'_>, message: &mut Message) {
        match text(event, "type").unwrap_or_default() {
            "user_message" => {
                say(message, Role::User, text(event, "message").and_then(typed));
                let given = list(event, "images").iter().chain(list(event, "local_images")).filter_map(Value::as_str);
                message.parts.extend(given.map(|image| Part::Attachment(json::image(image))));
            }
            "agent_message" => say(message, Role::Assistant, string(event, "message")),
            "item_completed" => {
                let Some(item) = field(event, "item") else { return };
                let words = list(item, "content").iter().filter_map(|part| text(part, "text"));
                let words = words.collect::<Vec<_>>().join("\n");
                match text(item, "type").unwrap_or_default() {
                    "UserMessage" => say(message, Role::User, typed(&words)),
                    "AgentMessage" => say(message, Role::Assistant, Some(words)),
                    "ContextCompaction" => message.parts.push(Part::Notice("conversation compacted".into())),
                    "FileChange" => self.change(item, text(item, "id"), message),
                    "CommandExecution" if text(item, "id").is_some_and(|id| !self.calls.contains(id)) => {
                        message.role = Role::Assistant;
                        message.parts.extend(calls::execution(item));
                    }
                    _ => {}
                }
            }
            "token_count" => {
                message.role = Role::Assistant;
                // Codex repeats the event when a turn begins or the history is compacted; then the total has not grown.
                let total = at(event, &["info", "total_token_usage"]).map(total_of);
                if total.is_none() || total != self.total {
                    message.usage = at(event, &["info", "last_token_usage"]).map(usage);
                }
                // The event does not name its answer, but no other answer of the session ends with the same total. The
                // repeated event may be in another increment.
                message.answer_id = total.map(|[input, cached, output]| format!("@{input}/{cached}/{output}"));
                self.total = total.or(self.total);
            }
            "turn_aborted" => message.parts.push(Part::Notice(INTERRUPTED.into())),
            "thread_rolled_back" => message.parts.push(Part::Notice("taken back".into())),
            "context_compacted" => message.parts.push(Part::Notice("conversation compacted".into())),
            // The patch itself may be in a shell's command, where nobody finds it.
            "patch_apply_end" => self.change(event, text(event, "call_id"), message),
            _ => {}
        }
    }

    /// Reads the files that a call has changed, unless its input names them.
    fn change(&mut self, report: &Value<'_>, call_id: Option<&str>, message: &mut Message) {
        let call_id = call_id.unwrap_or_default();
        let has_failed = calls::has_failed(report);
        if !self.patches.contains(call_id) {
            message.role = Role::Assistant;
            message.parts.push(Part::ToolCall(calls::change(report, call_id)));
            message.parts.extend(has_failed.then(|| Part::ToolResult(calls::failure(report, call_id))));
        } else if has_failed {
            // The result of the call follows; it does not always say so.
            self.failed.insert(call_id.to_owned());
        }
    }

    fn call(&mut self, message: &mut Message, call_id: String, name: Option<&str>, input: Option<&Value<'_>>) {
        let call = tool::call(call_id, name.unwrap_or_default(), input.map(Into::into).unwrap_or_default());
        if !call.edits.is_empty() {
            self.patches.insert(call.call_id.clone());
        }
        self.calls.insert(call.call_id.clone());
        message.role = Role::Assistant;
        message.parts.push(Part::ToolCall(call));
    }

    fn read_item(&mut self, item: &Value<'_>, message: &mut Message) {
        let call_id = || string(item, "call_id").or_else(|| string(item, "id")).unwrap_or_default();
        match text(item, "type").unwrap_or_default() {
            "message" if !self.has_events => {
                let words = list(item, "content").iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>();
                let words = words.join("\n");
                match text(item, "role") {
                    Some("user") => say(message, Role::User, typed(&words)),
                    Some("assistant") => say(message, Role::Assistant, Some(words)),
                    _ => {}
                }
            }
            "reasoning" => {
                let texts = list(item, "summary").iter().chain(list(item, "content"));
                let texts: Vec<&str> = texts.filter_map(|part| text(part, "text")).collect();
                message.role = Role::Assistant;
                if !texts.is_empty() {
                    message.parts.push(Part::Thinking(texts.join("\n")));
                }
            }
            "function_call" => {
                self.call(message, call_id(), text(item, "name"), field(item, "arguments"));
            }
            "custom_tool_call" if calls::is_program(item) => {
                self.programs.insert(call_id());
            }
            "custom_tool_call" => self.call(message, call_id(), text(item, "name"), field(item, "input")),
            "local_shell_call" => {
                self.call(message, call_id(), Some("local_shell"), field(item, "action"));
            }
            "custom_tool_call_output" if self.programs.contains(&call_id()) => {}
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let (text, is_error) = calls::output(field(item, "output").unwrap_or(&Value::Null));
                let is_error = is_error || self.failed.contains(&call_id());
                message.role = Role::User;
                let sub_agent = calls::started(&text);
                let result = ToolResult { sub_agent, ..ToolResult::new(call_id(), text, is_error) };
                message.parts.push(Part::ToolResult(result));
            }
            _ => {}
        }
    }
}

fn say(message: &mut Message, role: Role, words: Option<String>) {
    message.role = role;
    message.parts.extend(words.filter(|words| !words.trim().is_empty()).map(Part::Text));
}

/// Returns the typed part of a prompt.
fn typed(prompt: &str) -> Option<String> {
    let words = prompt.split_once(REQUEST).map_or(prompt, |(_, request)| request).trim();
    let is_noise = NOISE.iter().any(|tag| words.starts_with(tag));
    (!is_noise && !words.is_empty()).then(|| words.to_owned())
}

/// The tokens of a session so far: input, cached input and output.
type TotalUsage = [u64; 3];

fn total_of(usage: &Value<'_>) -> TotalUsage {
    ["input_tokens", "cached_input_tokens", "output_tokens"].map(|name| number(usage, name))
}

fn usage(usage: &Value<'_>) -> Tokens {
    let cached = number(usage, "cached_input_tokens");
    Tokens {
        input: number(usage, "input_tokens").saturating_sub(cached),
        output: number(usage, "output_tokens"),
        cache_read: cached,
        ..Tokens::default()
    }
}
