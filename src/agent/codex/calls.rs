//! Tool calls of Codex and their results, from the rollout's items and events.
//!
//! Newer models have one tool, which runs a program that calls the others. Only events tell what those did.

use std::borrow::Cow;

use serde_json_borrow::Value;

use super::super::json::{self, at, field, list, string, text};
use super::super::tool;
use crate::transcript::{Edit, Part, ToolCall, ToolResult};

/// Beginnings of what Codex itself says of a call that was refused, interrupted or not possible.
const FAILURES: &[&str] =
    &["aborted by user", "apply_patch verification failed", "execution error", "patch rejected", "rejected by user"];

/// Says whether an event about a change says that it was not made.
pub fn has_failed(report: &Value<'_>) -> bool {
    field(report, "success").and_then(Value::as_bool) == Some(false)
        || matches!(text(report, "status"), Some("failed" | "declined"))
}

/// Returns the id of the sub-agent that a call has started, by the answer of `spawn_agent`.
pub fn started(answer: &str) -> Option<String> {
    answer.starts_with("{\"agent_id\":").then_some(())?;
    let answer: serde_json::Value = serde_json::from_str(answer).ok()?;
    Some(answer.get("agent_id")?.as_str()?.to_owned())
}

/// Returns the result of a change that was not made, from the event that reports it.
pub fn failure(report: &Value<'_>, call_id: &str) -> ToolResult {
    let said = ["stderr", "stdout", "status"].iter().filter_map(|key| text(report, key));
    let said = said.map(str::trim).find(|said| !said.is_empty());
    ToolResult::new(call_id, said.unwrap_or("failed"), true)
}

/// Returns a call that changed files, from an event that reports which; without edits if it failed.
pub fn change(report: &Value<'_>, call_id: &str) -> ToolCall {
    let changed = field(report, "changes").and_then(Value::as_object).filter(|_| !has_failed(report));
    let mut call = tool::call(call_id, "apply_patch", serde_json::Value::Null);
    call.edits =
        changed.into_iter().flat_map(|changes| changes.iter()).flat_map(|(path, one)| edits(path, one)).collect();
    call
}

/// Reads what was done to one file: `{"type":"update",...}`, or `{"update":{...}}` of older versions.
fn edits(path: &str, change: &Value<'_>) -> Vec<Edit> {
    let member = |kind: &str, key: &str| {
        at(change, &[kind, key]).or_else(|| field(change, key).filter(|_| text(change, "type") == Some(kind)))?.as_str()
    };
    let edit =
        |path: &str, old: Option<String>, new: Option<String>| Edit { path: path.to_owned(), old, new, under: None };
    let Some(diff) = member("update", "unified_diff") else {
        let content = member("add", "content").or_else(|| member("update", "content"));
        return vec![edit(path, None, content.map(str::to_owned))];
    };
    let hunks = tool::patch_edits(&format!("*** Update File: {path}\n{diff}")).into_iter();
    let moved = member("update", "move_path").map(|path| edit(path, None, None));
    hunks.map(|hunk| Edit { path: path.to_owned(), ..hunk }).chain(moved).collect()
}

/// Returns the call of a shell and its result, from an event that tells both.
pub fn execution(item: &Value<'_>) -> [Part; 2] {
    let call_id = string(item, "id").unwrap_or_default();
    let words = list(item, "command").iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let call = tool::call(&*call_id, "exec_command", serde_json::json!({ "command": words }));
    let result = ToolResult::new(
        call_id,
        string(item, "aggregated_output").unwrap_or_default(),
        field(item, "exit_code").and_then(Value::as_i64).unwrap_or(0) != 0,
    );
    [Part::ToolCall(call), Part::ToolResult(result)]
}

/// Says whether a call runs a program that calls tools which events report.
pub fn is_program(call: &Value<'_>) -> bool {
    const REPORTED: &[&str] = &["tools.exec_command(", "tools.apply_patch("];
    text(call, "name") == Some("exec")
        && text(call, "input").is_some_and(|program| REPORTED.iter().any(|tool| program.contains(tool)))
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

/// Returns a tool's output without the lines that Codex puts before it, and whether these say that the tool failed.
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
    // A shell that was interrupted has no output.
    let reason = match said.split_once('\n') {
        Some((first, rest)) if first.starts_with("Wall time: ") && rest.starts_with("aborted by user") => rest,
        _ => said,
    };
    let is_of_codex = said.len() == text.len() && FAILURES.iter().any(|failure| reason.starts_with(failure));
    (said, is_error || is_of_codex)
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
    fn the_answer_of_a_spawned_agent_names_it() {
        assert_eq!(started(r#"{"agent_id":"a-1","nickname":"Mill"}"#).as_deref(), Some("a-1"));
        assert_eq!(started(r#"{"agent_id":"a-1""#), None);
        assert_eq!(started("agent_id"), None);
    }

    #[test]
    fn an_event_tells_what_a_patch_has_done_to_each_file() {
        let read =
            |told: &str| json::read_line(told.as_bytes(), |told| Some(change(told, "c").edits)).unwrap_or_default();
        let edit = |path: &str, old: Option<&str>, new: Option<&str>| Edit {
            path: path.into(),
            old: old.map(Into::into),
            new: new.map(Into::into),
            under: None,
        };
        let under = |under: &str, edit: Edit| Edit { under: Some(under.into()), ..edit };
        let diff = r"@@ -1,2 +1,2 @@\n keep\n-notes\n+better notes\n@@ -9 +9,2 @@\n end\n+more\n";
        let update = [
            under("-1,2 +1,2 @@", edit("/w/a", Some("keep\nnotes\n"), Some("keep\nbetter notes\n"))),
            under("-9 +9,2 @@", edit("/w/a", Some("end\n"), Some("end\nmore\n"))),
        ];
        let new = format!(r#"{{"changes":{{"/w/a":{{"type":"update","unified_diff":"{diff}","move_path":null}}}}}}"#);
        assert_eq!(read(&new), update);
        let old = format!(r#"{{"success":true,"changes":{{"/w/a":{{"update":{{"unified_diff":"{diff}"}}}}}}}}"#);
        assert_eq!(read(&old), update);
        let moved =
            r#"{"changes":{"/w/a":{"type":"update","unified_diff":"@@ -1 +1 @@\n-x\n+y\n","move_path":"/w/b"}}}"#;
        assert_eq!(read(moved), [under("-1 +1 @@", edit("/w/a", Some("x\n"), Some("y\n"))), edit("/w/b", None, None)]);
        let added = r#"{"changes":{"/w/a":{"type":"add","content":"x\n"},"/w/b":{"type":"delete","content":"y\n"}}}"#;
        assert_eq!(read(added), [edit("/w/a", None, Some("x\n")), edit("/w/b", None, None)]);
        let add = r#""changes":{"/w/a":{"type":"add","content":"x\n"}}"#;
        for failed in [r#""success":false"#, r#""status":"failed""#, r#""status":"declined""#] {
            assert_eq!(read(&format!("{{{failed},{add}}}")), [], "{failed}");
        }
    }

    #[test]
    fn what_codex_says_of_a_tool_is_no_part_of_what_the_tool_said() {
        let read = |text: &str| output(&Value::Str(text.into()));
        let chunk = "Chunk ID: bca3a5\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n[main 4e1c2aa] x\n";
        assert_eq!(read(chunk), ("[main 4e1c2aa] x\n".into(), false));
        let twice = "Wall time: 0.1 seconds\nOutput:\nExit code: 1\nWall time: 0 seconds\nOutput:\nno\n";
        assert_eq!(read(twice), ("no\n".into(), true));
        for failed in [
            "patch rejected by user",
            "apply_patch verification failed: Failed to find expected lines in f",
            "aborted by user after 3.2s",
            "Wall time: 3.2 seconds\naborted by user",
            "execution error: Io(Custom { kind: Other })",
        ] {
            assert_eq!(read(failed), (failed.into(), true));
        }
        let printed = "Exit code: 0\nWall time: 0 seconds\nOutput:\nexecution error: none\n";
        assert_eq!(read(printed), ("execution error: none\n".into(), false), "a program may say so itself");
        assert_eq!(read("Wall time: long\n"), ("Wall time: long\n".into(), false), "a tool may say so itself");
    }
}
