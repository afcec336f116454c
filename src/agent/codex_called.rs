//! What tool calls of Codex did, as its events tell it.
//!
//! Newer models have one tool, which runs a program that calls the others. Only events tell what those did.

use serde_json_borrow::Value;

use super::json::{at, field, list, string, text};
use super::tool;
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
