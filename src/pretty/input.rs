//! The members of a tool call's input that the line of the call does not show.

use serde_json::Value;

use super::call::{Act, LISTS, text};
use crate::outside;
use crate::transcript::ToolCall;

/// Returns the members of a call's input, as lines, that the parts of its kind do not have. Commands and edits are left out: what
/// else such calls have says how they are run.
pub fn unshown(call: &ToolCall, act: &Act<'_>) -> Vec<String> {
    let shown: &[&str] = match act {
        Act::Command(_) | Act::Edits(_) | Act::Reading(_) | Act::Other(..) => return Vec::new(),
        Act::Plan(_) => &["plan"],
        Act::List(_) => LISTS,
        Act::Task(..) => &["taskId", "task_id", "status", "subject"],
        Act::Questions(_) => &["questions", "question", "options"],
        Act::Delegation(what, _) if text(&call.input, &["description"]) == Some(what) => &["description", "prompt"],
        Act::Delegation(..) => &["subagent_type", "prompt"],
    };
    let mut rest = call.input.clone();
    if let Some(members) = rest.as_object_mut() {
        members.retain(|name, _| !shown.contains(&name.as_str()));
        return input_lines(&rest);
    }
    Vec::new()
}

/// Returns the members of a call's input, as lines, that are words and that the line of the call does not show. Options, such
/// as numbers and names, are none.
pub fn further_words(call: &ToolCall, act: &Act<'_>) -> Vec<String> {
    let shown: &[&str] = match act {
        Act::Task(..) => &["subject"],
        Act::Other(about, path) => &[about, path.unwrap_or_default()],
        _ => return Vec::new(),
    };
    let mut rest = call.input.clone();
    let Some(members) = rest.as_object_mut() else { return Vec::new() };
    let is_shown = |name: &str, text: &str| match act {
        Act::Task(..) => shown.contains(&name),
        _ => shown.contains(&text),
    };
    members.retain(|name, value| {
        let is_words = has_words(value) || value.is_string() && WORDS.contains(&name.as_str());
        is_words && !value.as_str().is_some_and(|text| is_shown(name, text))
    });
    input_lines(&rest)
}

/// The members whose text is words even if it is a single one.
const WORDS: &[&str] = &["prompt", "message", "text", "body", "content", "comment", "question"];

/// Says whether a value has a text of several words in it.
fn has_words(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().contains(char::is_whitespace),
        Value::Array(items) => items.iter().any(has_words),
        Value::Object(members) => members.values().any(has_words),
        _ => false,
    }
}

/// Returns the members of an input as lines, each under its name.
pub fn input_lines(input: &Value) -> Vec<String> {
    let Some(members) = input.as_object() else {
        let text = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
        return outside::text(&text).lines().map(str::to_owned).collect();
    };
    let member = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = outside::text(&text);
        let mut lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
        let name = outside::line(name);
        match lines.as_mut_slice() {
            [one] => lines = vec![format!("{name}: {}", one.trim_start())],
            _ => lines.insert(0, format!("{name}:")),
        }
        lines
    };
    members.iter().flat_map(member).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, input: Value) -> ToolCall {
        ToolCall { call_id: "1".into(), name: name.into(), input, command: None, edits: Vec::new() }
    }

    #[test]
    fn what_a_kind_of_call_does_not_show_is_known() {
        let unshown = |name: &str, input: Value| {
            let call = call(name, input);
            super::unshown(&call, &Act::of(&call)).join("; ")
        };
        let question = json!({ "questions": [{ "question": "which?" }], "statement": "drop it" });
        assert_eq!(unshown("mcp__db__ask", question), "statement: drop it");
        assert_eq!(
            unshown("TaskCreate", json!({ "subject": "a", "description": "all of it" })),
            "description: all of it"
        );
        let work = json!({ "description": "look", "prompt": "p", "subagent_type": "reader" });
        assert_eq!(unshown("Task", work), "subagent_type: reader");
        assert_eq!(unshown("x", json!({ "plan": "p", "owner": "me" })), "owner: me");
        assert_eq!(unshown("todo", json!({ "todos": [{ "content": "a", "status": "done" }], "note": "n" })), "note: n");
        assert_eq!(unshown("Bash", json!({ "url": "u", "b": 1 })), "", "the whole input of another call is shown");
        let further = |name: &str, input: Value| {
            let call = call(name, input);
            super::further_words(&call, &Act::of(&call)).join("; ")
        };
        let query = json!({ "database": "prod", "sql": "DELETE FROM users", "limit": 1 });
        assert_eq!(further("mcp__postgres__query", query), "sql: DELETE FROM users");
        assert_eq!(
            further("TaskCreate", json!({ "subject": "a b", "description": "all of it" })),
            "description: all of it"
        );
        assert_eq!(further("Grep", json!({ "pattern": "fn a", "path": "src", "output_mode": "content" })), "");
        let list = json!({ "a": "first", "items": ["one two", "three"], "ids": ["x", 1], "on": true });
        assert_eq!(further("mcp__db__list", list), "items: [\"one two\",\"three\"]");
        assert_eq!(further("WebFetch", json!({ "url": "https://a", "prompt": "Summarise" })), "prompt: Summarise");
    }
}
