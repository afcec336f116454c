//! The forms in which VS Code writes a conversation: the event stream that hooks name, and the chat store, which is one
//! document or a log of changes to it.
//!
//! A change can concern an earlier request, so the log is replayed, and the messages of a request are returned when all
//! given lines are read. If these begin in the middle of a log, the earlier requests are unknown: changes to them are
//! returned without their prompts.

use std::ops::Range;

use serde_json::Value;
use serde_json_borrow::Value as Record;

use super::request;
use super::requests::Requests;
use crate::agent::copilot::events::{self, Events};
use crate::agent::json::{at, field, string, text};
use crate::agent::{Parser, document};
use crate::transcript::{Message, Role};

/// How deep a change may reach; real ones stay far below.
const MAX_DEPTH: usize = 64;

/// The state of parsing a conversation.
#[derive(Default)]
pub struct Chat {
    events: Events,
    requests: Requests,
    /// The model that is chosen for what comes next.
    selected: Option<String>,
    has_model: bool,
    /// Whether the log was seen from its beginning.
    is_whole: bool,
}

/// Returns the session that a transcript names.
pub fn session_id(transcript: &[u8]) -> Option<String> {
    let mut id = None;
    document::each(transcript, super::LIST, |record, _| {
        let is_of_store = field(record, "type").is_none() && field(record, "kind").is_none();
        let of_store = || string(record, "sessionId").filter(|_| is_of_store);
        let of_log = || at(record, &["v", "sessionId"])?.as_str().map(str::to_owned);
        if id.is_none() {
            id = of_store().or_else(of_log);
        }
    });
    id.or_else(|| events::session_id(transcript))
}

impl Parser for Chat {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        document::each(lines, super::LIST, |record, span| self.read(record, span, &mut messages));
        let end = lines.len()..lines.len();
        messages.extend(self.tell(&end));
        messages
    }
}

impl Chat {
    fn read(&mut self, record: &Record<'_>, span: Range<usize>, messages: &mut Vec<Message>) {
        if text(record, "type").is_some() {
            self.events.read(record, span, messages);
        } else if field(record, "kind").is_some_and(Record::is_number) {
            self.change(&record.into(), &span);
        } else if field(record, "requestId").is_some() {
            self.append(record.into(), &span);
        } else {
            self.select(&Value::from(record));
        }
    }

    /// Returns the messages of the requests that changed.
    fn tell(&mut self, end: &Range<usize>) -> Vec<Message> {
        let mut messages = Vec::new();
        self.requests.each_changed(|request| {
            let Some(span) = request.news.take() else { return };
            let mut news = request::read(&request.value, self.selected.as_deref(), &mut request.returned, &span);
            news.iter_mut().for_each(|message| message.is_abandoned |= request.is_gone);
            self.has_model |= news.iter().any(|message| message.model.is_some());
            messages.extend(news);
        });
        // In a document the choice stands behind all requests.
        if let Some(model) = self.selected.as_ref().filter(|_| !self.has_model && !self.requests.is_empty()) {
            self.has_model = true;
            let mut named = Message::new(Role::Assistant, end.clone());
            named.model = Some(model.clone());
            messages.push(named);
        }
        messages
    }

    /// Sets the model that is selected in a state.
    fn select(&mut self, state: &Value) {
        let chosen = state["inputState"]["selectedModel"]["identifier"].as_str();
        self.selected = request::model(&Value::Null, chosen).or_else(|| self.selected.take());
    }

    /// Plays a change: 0 the whole state, 1 sets, 2 cuts a list and appends to it, 3 removes.
    fn change(&mut self, change: &Value, span: &Range<usize>) {
        let path = change["k"].as_array().map(Vec::as_slice).unwrap_or_default();
        if path.len() > MAX_DEPTH {
            return;
        }
        let (kind, value) = (change["kind"].as_u64(), &change["v"]);
        match path {
            [] if kind == Some(0) => {
                self.is_whole = true;
                self.select(value);
                self.requests.take_back(0);
                self.append_all(&value[super::LIST], span);
            }
            [list] if list == super::LIST => {
                match (kind, change["i"].as_u64()) {
                    (Some(2), Some(length)) => self.requests.take_back(length),
                    (Some(2), None) => {}
                    _ => self.requests.take_back(0),
                }
                self.append_all(value, span);
            }
            [list, index, rest @ ..] if list == super::LIST => {
                let Some(index) = index.as_u64() else { return };
                if rest.is_empty() && kind == Some(3) {
                    self.requests.remove(index, span);
                } else {
                    self.requests.change(index, span, |request| play(request, rest, change));
                }
            }
            [state, rest @ ..] if state == "inputState" => {
                let mut whole = serde_json::json!({ "inputState": {} });
                play(&mut whole["inputState"], rest, change);
                self.select(&whole);
            }
            _ => {}
        }
    }

    fn append_all(&mut self, list: &Value, span: &Range<usize>) {
        list.as_array().into_iter().flatten().for_each(|value| self.append(value.clone(), span));
    }

    fn append(&mut self, value: Value, span: &Range<usize>) {
        self.requests.append(value, self.is_whole.then_some(0), span);
    }
}

/// Plays a change at a path below a value.
fn play(value: &mut Value, path: &[Value], change: &Value) {
    let (kind, new) = (change["kind"].as_u64(), &change["v"]);
    let Some((key, rest)) = path.split_first() else {
        return match (kind, new.as_array()) {
            (Some(2), Some(items)) => append(value, change["i"].as_u64(), items),
            (Some(2), None) => append(value, change["i"].as_u64(), &[]),
            (Some(3), _) => *value = Value::Null,
            _ => *value = new.clone(),
        };
    };
    if let (Some(3), [], Some(name), Some(object)) = (kind, rest, key.as_str(), value.as_object_mut()) {
        object.remove(name);
        return;
    }
    let place = match key {
        Value::String(name) => {
            if !value.is_object() {
                *value = serde_json::json!({});
            }
            &mut value[name.as_str()]
        }
        key => {
            let Some(index) = key.as_u64().and_then(|index| usize::try_from(index).ok()) else { return };
            let list = list(value);
            // Beyond the end of a list whose beginning is unknown something is added to it.
            let index = index.min(list.len());
            if index == list.len() {
                list.push(Value::Null);
            }
            &mut list[index]
        }
    };
    play(place, rest, change);
}

fn append(value: &mut Value, length: Option<u64>, items: &[Value]) {
    let list = list(value);
    if let Some(length) = length.and_then(|length| usize::try_from(length).ok()) {
        list.truncate(length);
    }
    list.extend_from_slice(items);
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut().expect("it is an array")
}
