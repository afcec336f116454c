//! A turn as the items that a page shows: each call with its answer, runs of like calls together.

use std::collections::{HashMap, HashSet};

use crate::transcript::{Attachment, Message, Part, Role, ToolCall, ToolResult};

/// So many calls of one tool in a row become one line.
const MIN_RUN: usize = 3;

/// The kind of an item, with its data.
#[derive(Debug)]
pub enum ItemKind<'a> {
    /// The person's words.
    Prompt(&'a Message),
    /// The agent's words.
    Answer(&'a str),
    /// The model's thinking.
    Thinking(&'a str),
    /// An event of the session.
    Notice(&'a str),
    /// A part that is not text.
    Attachment(&'a Attachment),
    /// A call and the tool's answer.
    Call(&'a ToolCall, Option<&'a ToolResult>),
    /// An answer whose call is not here.
    Result(&'a ToolResult),
    /// The words of a sub-agent within this transcript.
    Aside(&'a [Message]),
}

/// An item with its place.
#[derive(Debug)]
pub struct Item<'a> {
    /// The number of its message in the turn, from 1, and whether it is the first of it.
    pub message: (usize, bool),
    /// Its kind.
    pub kind: ItemKind<'a>,
    /// Whether its branch of the conversation was taken back.
    pub is_abandoned: bool,
    /// Whether it is the last answer of the turn.
    pub is_last_answer: bool,
}

impl<'a> Item<'a> {
    fn tool(&self) -> Option<&'a str> {
        match &self.kind {
            // Edits are what people look for.
            ItemKind::Call(call, _) if call.edits.is_empty() => Some(&call.name),
            _ => None,
        }
    }
}

/// The answers of tools in a conversation, by the ids of their calls.
#[derive(Debug, Default)]
pub struct Answers<'a> {
    waiting: HashMap<&'a str, &'a ToolResult>,
    given: HashSet<*const ToolResult>,
}

impl<'a> Answers<'a> {
    /// Finds the answers in messages.
    pub fn of(messages: &'a [Message]) -> Self {
        let mut answers = Answers::default();
        for part in messages.iter().flat_map(|message| &message.parts) {
            // Some agents number no calls; their answers stand where they came.
            if let Part::ToolResult(result) = part
                && !result.call_id.is_empty()
            {
                answers.waiting.entry(&result.call_id).or_insert(result);
            }
        }
        answers
    }

    /// Returns the items of a turn.
    pub fn items(&mut self, messages: &'a [Message], is_sub_agent: bool) -> Vec<Item<'a>> {
        let mut items: Vec<Item<'a>> = Vec::new();
        let mut number = 0;
        for run in messages.chunk_by(|one, next| one.is_sidechain == next.is_sidechain) {
            if run[0].is_sidechain && !is_sub_agent {
                number += 1;
                items.push(Item {
                    message: (number, true),
                    kind: ItemKind::Aside(run),
                    is_abandoned: false,
                    is_last_answer: false,
                });
                continue;
            }
            for message in run.iter().filter(|message| !message.parts.is_empty()) {
                number += 1;
                let start = items.len();
                items.extend(self.of_message(message).into_iter().map(|kind| Item {
                    message: (number, false),
                    kind,
                    is_abandoned: message.is_abandoned,
                    is_last_answer: false,
                }));
                if let Some(first) = items.get_mut(start) {
                    first.message.1 = true;
                }
            }
        }
        let is_answer = |item: &&mut Item<'_>| matches!(item.kind, ItemKind::Answer(_)) && !item.is_abandoned;
        if let Some(last) = items.iter_mut().rfind(is_answer) {
            last.is_last_answer = true;
        }
        items
    }

    fn of_message(&mut self, message: &'a Message) -> Vec<ItemKind<'a>> {
        let is_user = message.role == Role::User;
        let is_said = |part: &Part| matches!(part, Part::Text(_) | Part::Attachment(_));
        let prompt = (is_user && message.parts.iter().any(is_said)).then_some(ItemKind::Prompt(message));
        let parts = message.parts.iter().filter_map(|part| match part {
            Part::Text(_) | Part::Attachment(_) if is_user => None,
            Part::Text(text) => (!text.trim().is_empty()).then_some(ItemKind::Answer(text)),
            Part::Thinking(text) => (!text.trim().is_empty()).then_some(ItemKind::Thinking(text)),
            Part::Notice(text) => Some(ItemKind::Notice(text)),
            Part::Attachment(what) => Some(ItemKind::Attachment(what)),
            Part::ToolCall(call) => {
                let result = self.waiting.remove(call.call_id.as_str());
                result.map(|result| self.given.insert(result));
                Some(ItemKind::Call(call, result))
            }
            Part::ToolResult(result) if self.given.contains(&std::ptr::from_ref(result)) => None,
            Part::ToolResult(result) => Some(ItemKind::Result(result)),
        });
        prompt.into_iter().chain(parts).collect()
    }
}

/// Returns the items in groups: calls of one tool in a row, if they are at least three, else each alone.
pub fn groups<'i, 'a>(items: &'i [Item<'a>]) -> Vec<&'i [Item<'a>]> {
    let is_one = |one: &Item<'a>, next: &Item<'a>| one.tool().is_some() && one.tool() == next.tool();
    let runs = items.chunk_by(is_one);
    runs.flat_map(|run| if run.len() < MIN_RUN { run.chunks(1) } else { run.chunks(run.len()) }).collect()
}

/// Returns how often each tool was called, in the order of the first calls: `3 Read, 1 Edit`.
pub fn tally(messages: &[Message]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for part in messages.iter().filter(|message| !message.is_sidechain).flat_map(|message| &message.parts) {
        let Part::ToolCall(call) = part else { continue };
        match counts.iter_mut().find(|(name, _)| *name == call.name) {
            Some((_, count)) => *count += 1,
            None => counts.push((&call.name, 1)),
        }
    }
    let told: Vec<String> =
        counts.iter().map(|(name, count)| format!("{count} {}", crate::outside::line(name))).collect();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, parts: Vec<Part>) -> Message {
        Message { parts, ..Message::new(role, 0..0) }
    }

    fn call(id: &str, name: &str) -> Part {
        let input = serde_json::Value::Null;
        Part::ToolCall(ToolCall { call_id: id.into(), name: name.into(), input, command: None, edits: Vec::new() })
    }

    fn result(id: &str) -> Part {
        Part::ToolResult(ToolResult::new(id, "x", false))
    }

    #[test]
    fn an_answer_stands_with_its_call_and_like_calls_stand_together() {
        let mut messages = vec![message(Role::User, vec![Part::Text("do".into())])];
        for id in ["a", "b", "c"] {
            messages.push(message(Role::Assistant, vec![call(id, "Read")]));
            messages.push(message(Role::User, vec![result(id)]));
        }
        messages.push(message(Role::Assistant, vec![Part::Text("well".into()), call("d", "Bash")]));
        messages.push(message(Role::User, vec![result("z")]));
        messages.push(message(Role::Assistant, vec![Part::Text("done".into())]));
        let items = Answers::of(&messages).items(&messages, false);
        let kinds: Vec<usize> = groups(&items).iter().map(|group| group.len()).collect();
        assert_eq!(kinds, [1, 3, 1, 1, 1, 1]);
        assert!(
            matches!(items[1].kind, ItemKind::Call(_, Some(_))) && matches!(items[5].kind, ItemKind::Call(_, None))
        );
        assert!(matches!(items[6].kind, ItemKind::Result(_)), "an answer without its call is not lost");
        let places: Vec<_> = items.iter().map(|item| (item.message, item.is_last_answer)).collect();
        assert_eq!(places[4..6], [((8, true), false), ((8, false), false)]);
        assert_eq!(places.last(), Some(&((10, true), true)));
        assert_eq!(tally(&messages), "3 Read, 1 Bash");
    }
}
