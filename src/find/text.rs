//! The texts of a message that can be searched.

use std::borrow::Cow;
use std::str::FromStr;

use crate::agent::OWN_NOTICES;
use crate::transcript::{Message, Part, Role, ToolCall};

/// The kind of a text in a conversation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PartKind {
    /// A prompt.
    Prompt,
    /// A text of the model.
    Answer,
    /// A thought of the model.
    Thinking,
    /// The strings in the input of a tool call.
    Call,
    /// The result of a tool call.
    Result,
    /// An event of the session, as the agent words it.
    Notice,
}

impl PartKind {
    /// All kinds, each with the word for it in an option.
    pub const NAMED: [(&'static str, PartKind); 6] = [
        ("prompts", PartKind::Prompt),
        ("answers", PartKind::Answer),
        ("thinking", PartKind::Thinking),
        ("calls", PartKind::Call),
        ("results", PartKind::Result),
        ("notices", PartKind::Notice),
    ];

    /// Returns the word for one such part.
    pub fn word(self) -> &'static str {
        match self {
            PartKind::Prompt => "prompt",
            PartKind::Answer => "answer",
            PartKind::Thinking => "thinking",
            PartKind::Call => "call",
            PartKind::Result => "result",
            PartKind::Notice => "notice",
        }
    }

    /// Returns the kind that a word of an option names, in singular or plural.
    pub fn named(word: &str) -> Option<PartKind> {
        PartKind::NAMED.iter().find(|(name, kind)| *name == word || kind.word() == word).map(|(_, kind)| *kind)
    }
}

/// Some kinds of parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parts(u8);

impl Parts {
    /// All kinds.
    pub const ALL: Parts = Parts(0b11_1111);
    /// All but results, which are mostly files that were read.
    pub const USUAL: Parts = Parts(Self::ALL.0 & !(1 << PartKind::Result as u8));

    /// Says whether a kind is among them.
    pub fn has(self, kind: PartKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }
}

impl FromStr for Parts {
    type Err = &'static str;

    /// Returns the kinds in a list such as `prompts,answers`. `all` names all kinds.
    fn from_str(list: &str) -> Result<Self, Self::Err> {
        let mut parts = Parts(0);
        for word in list.split(',') {
            let kind = || PartKind::named(word).ok_or("prompts, answers, thinking, calls, results, notices or all");
            parts.0 |= if word == "all" { Self::ALL.0 } else { 1 << kind()? as u8 };
        }
        Ok(parts)
    }
}

/// A text of a message.
#[derive(Debug)]
pub struct Text<'m> {
    /// The kind of the text.
    pub kind: PartKind,
    /// The tool, of a call.
    pub tool: &'m str,
    /// The text.
    pub text: Cow<'m, str>,
}

/// Returns the texts of a message.
pub fn texts(message: &Message) -> impl Iterator<Item = Text<'_>> {
    message.parts.iter().filter_map(|part| {
        let (kind, tool, text) = match part {
            Part::Text(text) => (of_role(message.role), "", Cow::from(text)),
            Part::Thinking(text) => (PartKind::Thinking, "", Cow::from(text)),
            Part::ToolCall(call) => (PartKind::Call, call.name.as_str(), Cow::from(call_text(call))),
            Part::ToolResult(result) => (PartKind::Result, "", Cow::from(&result.text)),
            Part::Notice(text) if !OWN_NOTICES.contains(&text.as_str()) => (PartKind::Notice, "", Cow::from(text)),
            Part::Notice(_) | Part::Attachment(_) => return None,
        };
        Some(Text { kind, tool, text })
    })
}

fn of_role(role: Role) -> PartKind {
    match role {
        Role::User => PartKind::Prompt,
        Role::Assistant => PartKind::Answer,
        Role::System => PartKind::Notice,
    }
}

/// Returns the strings in the input of a call, each from a line of its own on; without an input, what it changes.
fn call_text(call: &ToolCall) -> String {
    let mut text = String::new();
    let mut add = |string: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(string);
    };
    if call.input.is_null() {
        for edit in &call.edits {
            add(&edit.path);
            [&edit.old, &edit.new].into_iter().flatten().for_each(|string| add(string));
        }
    }
    each_string(&call.input, &mut add);
    text
}

fn each_string(value: &serde_json::Value, visit: &mut impl FnMut(&str)) {
    use serde_json::Value;
    match value {
        Value::String(text) => visit(text),
        Value::Array(values) => values.iter().for_each(|value| each_string(value, visit)),
        Value::Object(members) => members.values().for_each(|value| each_string(value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named_in_a_list() {
        assert_eq!("all".parse(), Ok(Parts::ALL));
        let some: Parts = "prompts,call".parse().expect("a list");
        assert!(some.has(PartKind::Prompt) && some.has(PartKind::Call) && !some.has(PartKind::Answer));
        assert!("prompts,".parse::<Parts>().is_err());
        assert!(!Parts::USUAL.has(PartKind::Result) && Parts::USUAL.has(PartKind::Notice));
    }
}
