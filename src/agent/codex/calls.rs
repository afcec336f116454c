//! Tool calls of Codex and their results, from the rollout's items and events.
//!
//! Newer models have one tool, which runs a program that calls the others. Only events tell what those did.

use std::borrow::Cow;

use serde_json_borrow::Value;

use super::super::json::{self, at, field, list, string, text};
use super::super::tool;
use crate::transcript::{Edit, Part, ToolCall, ToolResult};

/// Returns a call that changed files, from an event that tells which.
pub fn change(told: &Value<'_>, call_id: &str) -> ToolCall {
    let changed = field(told, "changes").and_then(Value::as_object);
    let content = |change| at(change, &["add", "content"]).or_else(|| field(change, "content"));
    let edits = changed.into_iter().flat_map(|changes| changes.iter()).map(|(path, change)| Edit {
        path: path.to_owned(),
        old: None,
        new: content(change).and_then(|text| Some(text.as_str()?.to_owned())),
    });
    let mut call = tool::call(call_id, "apply_patch", serde_json::Value::Null);
    call.edits = edits.collect();
    call
}

/// Returns the call of a shell and its result, from an event that tells both.
pub fn execution(item: &Value<'_>) -> [Part; 2] {
    let call_id = string(item, "id").unwrap_or_default();
    let words = list(item, "command").iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let call = tool::call(&*call_id, "exec_command", serde_json::json!({ "command": words }));
    let result = ToolResult {
        call_id,
        text: string(item, "aggregated_output").unwrap_or_default(),
        is_error: field(item, "exit_code").and_then(Value::as_i64).unwrap_or(0) != 0,
        sub_agent: None,
    };
    [Part::ToolCall(call), Part::ToolResult(result)]
}

/// Says whether a call runs a program that calls tools of which events tell.
pub fn is_program(call: &Value<'_>) -> bool {
    const TOLD: &[&str] = &["tools.exec_command(", "tools.apply_patch("];
    text(call, "name") == Some("exec")
        && text(call, "input").is_some_and(|program| TOLD.iter().any(|tool| program.contains(tool)))
}

/// Returns the text of a tool's result, and whether the tool failed: text, JSON in a string, or parts.
pub fn output(output: &Value<'_>) -> (String, bool) {
    let text: Cow<'_, str> = match output {
        Value::Str(text) => Cow::Borrowed(text),
        Value::Array(parts) => {
            Cow::Owned(parts.iter().filter_map(|part| json::text(part, "text")).collect::<Vec<_>>().join("\n"))
        }
        Value::Object(_) => return inner_output(output),
        _ => Cow::Borrowed(""),
    };
    let inner = text.starts_with('{').then(|| json::read_line(text.as_bytes(), |value| Some(inner_output(value))));
    if let Some(Some(inner)) = inner.filter(|inner| inner.as_ref().is_some_and(|(text, _)| !text.is_empty())) {
        return inner;
    }
    let (said, is_error) = without_preamble(&text);
    (said.to_owned(), is_error)
}

/// Returns what a tool printed, without the lines that Codex puts before it, and whether those say that it failed.
fn without_preamble(text: &str) -> (&str, bool) {
    const BEGINNINGS: &[&str] = &["Chunk ID: ", "Exit code: ", "Wall time: "];
    let (mut said, mut is_error) = (text, false);
    // A tool that is called by another has such lines twice.
    while BEGINNINGS.iter().any(|beginning| said.starts_with(beginning)) {
        let Some((preamble, output)) = said.split_once("\nOutput:\n") else { break };
        let codes = preamble.lines().filter_map(|line| {
            line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))
        });
        is_error |= codes.into_iter().any(|code| code.trim() != "0");
        said = output;
    }
    (said, is_error)
}

fn inner_output(value: &Value<'_>) -> (String, bool) {
    let code = at(value, &["metadata", "exit_code"]).and_then(Value::as_i64).unwrap_or(0);
    let text = string(value, "output").or_else(|| string(value, "content")).unwrap_or_default();
    (text, code != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_codex_says_of_a_tool_is_no_part_of_what_the_tool_said() {
        let read = |text: &str| output(&Value::Str(text.into()));
        let chunk = "Chunk ID: bca3a5\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n[main 4e1c2aa] x\n";
        assert_eq!(read(chunk), ("[main 4e1c2aa] x\n".into(), false));
        let twice = "Wall time: 0.1 seconds\nOutput:\nExit code: 1\nWall time: 0 seconds\nOutput:\nno\n";
        assert_eq!(read(twice), ("no\n".into(), true));
        assert_eq!(read("Wall time: long\n"), ("Wall time: long\n".into(), false), "a tool may say so itself");
    }
}
