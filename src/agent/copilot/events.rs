//! Copilot's event streams, which its CLI and its chat in VS Code write alike: `{type, data, id, timestamp, parentId}`,
//! one a line.

use std::collections::HashSet;
use std::ops::Range;

use serde_json_borrow::Value;

use crate::agent::json::{self, at, field, list, string, text};
use crate::agent::{INTERRUPTED, Parser, tool};
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

/// The sources of prompts that a person typed.
const TYPED: &[&str] = &["user", "other"];

/// The state of parsing an event stream.
#[derive(Default)]
pub struct Events {
    /// Whether parsing began at the start of the session: the counts of a shutdown event start there.
    is_whole: bool,
    model: Option<String>,
    /// The tool calls that were returned already: an event repeats a request when it is carried out.
    calls: HashSet<String>,
    /// The thoughts returned last, which an answer may repeat.
    thoughts: Option<String>,
    /// The tokens that answers and requests have reported so far.
    reported: Tokens,
    /// Whether requests report their tokens; then answers need not.
    has_requests: bool,
}

impl Parser for Events {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        for (span, line) in json::lines(lines) {
            json::read_line(line, |event| {
                self.read(event, span, &mut messages);
                Some(())
            });
        }
        messages
    }
}

/// Returns the session that an event stream names.
pub fn session_id(stream: &[u8]) -> Option<String> {
    json::find(stream, |event| string(field(event, "data")?, "sessionId").filter(|_| is_begin(event)))
}

/// Says whether an event begins a session, or takes it up again.
fn is_begin(event: &Value<'_>) -> bool {
    matches!(text(event, "type"), Some("session.start" | "session.resume"))
}

/// Returns the member of a session's first event that tells where the session runs.
pub fn context<'v>(event: &'v Value<'v>) -> Option<&'v Value<'v>> {
    at(event, &["data", "context"]).filter(|_| is_begin(event))
}

impl Events {
    /// Reads an event and adds its messages.
    pub fn read(&mut self, event: &Value<'_>, span: Range<usize>, messages: &mut Vec<Message>) {
        let (Some(kind), Some(data)) = (text(event, "type"), field(event, "data")) else { return };
        let mut message = Message::new(Role::System, span.clone());
        json::set_time(&mut message, event, "timestamp");
        message.is_sidechain = text(event, "agentId")
            .or_else(|| text(data, "agentId"))
            .or_else(|| text(data, "parentToolCallId"))
            .is_some();
        if !message.is_sidechain && self.learn(kind, data) {
            // An answer without words: so that the model is known even if the answer is in another increment.
            let mut named = Message::new(Role::Assistant, span);
            (named.time, named.model) = (message.time, self.model.clone());
            messages.push(named);
        }
        self.read_data(kind, data, &mut message);
        if message.role == Role::Assistant && !message.is_sidechain {
            message.model.clone_from(&self.model);
        }
        if !message.parts.is_empty() || message.usage.is_some() {
            messages.push(message);
        }
    }

    /// Sets the model that an event names, and says whether it has changed.
    fn learn(&mut self, kind: &str, data: &Value<'_>) -> bool {
        let named = match kind {
            "session.start" | "session.resume" => text(data, "selectedModel"),
            "session.model_change" => text(data, "newModel"),
            "assistant.message" => text(data, "model"),
            "tool.execution_complete" => text(data, "model").filter(|_| self.model.is_none()),
            "session.shutdown" => text(data, "currentModel").filter(|_| self.model.is_none()),
            _ => None,
        };
        let Some(model) = named.filter(|model| *model != "auto" && self.model.as_deref() != Some(model)) else {
            return false;
        };
        self.model = Some(model.to_owned());
        true
    }

    fn read_data(&mut self, kind: &str, data: &Value<'_>, message: &mut Message) {
        let notice = |words: &str| Part::Notice(words.to_owned());
        match kind {
            "session.start" => self.is_whole = true,
            "user.message" => {
                message.role = Role::User;
                if text(data, "source").is_none_or(|source| TYPED.contains(&source)) {
                    message.parts = prompt(data);
                }
            }
            "assistant.reasoning" => self.think(string(data, "content"), message),
            "assistant.message" => self.read_answer(data, message),
            "tool.execution_start" => {
                message.role = Role::Assistant;
                self.call(data, text(data, "toolName"), message);
            }
            "tool.execution_complete" => {
                let (text, is_error) = answer(data);
                let call_id = string(data, "toolCallId").unwrap_or_default();
                message.role = Role::User;
                message.parts.push(Part::ToolResult(ToolResult::new(call_id, text, is_error)));
            }
            "session.compaction_complete" => message.parts.push(notice("conversation compacted")),
            "abort" => message.parts.push(notice(INTERRUPTED)),
            "session.error" => message.parts.extend(string(data, "message").map(Part::Notice)),
            "session.usage_record" => {
                if let Some(usage) = field(data, "usage") {
                    self.has_requests = true;
                    message.role = Role::Assistant;
                    message.usage = Some(self.tell(json::usage(usage)));
                }
            }
            "session.shutdown" if self.is_whole => {
                // Each shutdown counts from the beginning; the latest stands for all.
                message.role = Role::Assistant;
                message.answer_id = Some(format!("@{kind}"));
                message.usage = field(data, "modelMetrics").map(|metrics| self.rest(metrics));
            }
            _ => {}
        }
    }

    fn think(&mut self, thoughts: Option<String>, message: &mut Message) {
        let news = thoughts.filter(|thoughts| !thoughts.is_empty() && self.thoughts.as_ref() != Some(thoughts));
        if let Some(news) = news {
            self.thoughts = Some(news.clone());
            message.role = Role::Assistant;
            message.parts.push(Part::Thinking(news));
        }
    }

    fn read_answer(&mut self, data: &Value<'_>, message: &mut Message) {
        message.role = Role::Assistant;
        message.answer_id = string(data, "messageId");
        self.think(string(data, "reasoningText"), message);
        message.parts.extend(string(data, "content").filter(|words| !words.trim().is_empty()).map(Part::Text));
        for request in list(data, "toolRequests") {
            self.call(request, text(request, "name"), message);
        }
        if let Some(output) = field(data, "outputTokens").and_then(Value::as_u64).filter(|_| !self.has_requests) {
            message.usage = Some(self.tell(Tokens { output, ..Tokens::default() }));
        }
    }

    fn tell(&mut self, tokens: Tokens) -> Tokens {
        self.reported = self.reported.plus(tokens);
        tokens
    }

    fn call(&mut self, call: &Value<'_>, name: Option<&str>, message: &mut Message) {
        let (Some(call_id), Some(name)) = (string(call, "toolCallId"), name) else { return };
        if self.calls.insert(call_id.clone()) {
            let input = field(call, "arguments").map(Into::into).unwrap_or_default();
            message.parts.push(Part::ToolCall(tool::call(call_id, name, input)));
        }
    }

    /// Returns the tokens in the metrics of a shutdown that no earlier event reported.
    fn rest(&self, metrics: &Value<'_>) -> Tokens {
        let models = metrics.as_object().into_iter().flat_map(|models| models.iter());
        let sum = models
            .filter_map(|(_, model)| field(model, "usage").map(json::usage))
            .fold(Tokens::default(), Tokens::plus);
        Tokens {
            input: sum.input.saturating_sub(self.reported.input),
            output: sum.output.saturating_sub(self.reported.output),
            cache_read: sum.cache_read.saturating_sub(self.reported.cache_read),
            cache_write: sum.cache_write.saturating_sub(self.reported.cache_write),
            ..Tokens::default()
        }
    }
}

/// Returns a prompt: the typed text and the attachments.
fn prompt(data: &Value<'_>) -> Vec<Part> {
    let words = string(data, "content").filter(|words| !words.trim().is_empty());
    let given = list(data, "attachments").iter().filter_map(|each| string(each, "type"));
    words.map(Part::Text).into_iter().chain(given.map(|kind| Part::Attachment(kind.into()))).collect()
}

/// Returns a tool's answer, and whether the tool failed.
fn answer(data: &Value<'_>) -> (String, bool) {
    const TEXT: &[&str] = &["content", "text_result_for_llm", "textResultForLlm", "detailedContent", "message"];
    let words = |value: &Value<'_>| match value {
        Value::Str(words) => Some(words.to_string()),
        value => TEXT.iter().find_map(|key| string(value, key)),
    };
    let (result, error) = (field(data, "result"), field(data, "error"));
    let said = result.and_then(words).or_else(|| error.and_then(words)).unwrap_or_default();
    let kind = result.and_then(|result| text(result, "result_type").or_else(|| text(result, "resultType")));
    let code = said.trim_end().rsplit_once("exited with exit code ").map(|(_, code)| code.trim_end_matches('>'));
    let is_error = field(data, "success").and_then(Value::as_bool) == Some(false)
        || kind.is_some_and(|kind| kind != "success")
        || code.is_some_and(|code| code != "0" && code.bytes().all(|digit| digit.is_ascii_digit()));
    (said, is_error)
}
