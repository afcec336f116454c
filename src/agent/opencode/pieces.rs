//! A message of OpenCode as lines of its own: its beginning, and what each end of a step adds.
//!
//! OpenCode writes tokens, cost and the end of a step into a message after the tools of the step have answered. A commit
//! that a tool makes is recorded before that. If the message were one line, that line would change then, and the record of
//! the next commit would repeat its words. So the lines of a message only grow in number.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::json as record;

/// The member of a line that continues the message of the line before.
pub const MARK: &str = "shiftlog";
/// Its value.
const CONTINUES: &str = "continues";

/// Adds the lines of a message, whose row and parts are JSON in one line each.
pub fn add_lines(lines: &mut String, info: &str, parts: &[&str]) {
    let whole = Some(info).filter(|info| info.contains("\"assistant\"")).and_then(record::parse);
    let Some(Value::Object(whole)) = whole.filter(|info| info["role"] == "assistant") else {
        return add_line(lines, info, parts, false);
    };
    let mut ends: Vec<usize> = (0..parts.len()).filter(|index| is_end_of_step(parts[*index])).collect();
    ends.push(parts.len());
    let beginning = beginning_of(&whole);
    let ids = || whole.iter().filter(|(name, _)| ["id", "sessionID", "role"].contains(&name.as_str()));
    let later = whole.iter().filter(|(name, value)| beginning.get(*name) != Some(value));
    let later: Map<String, Value> = ids().chain(later).map(|(name, value)| (name.clone(), value.clone())).collect();
    let own: Map<String, Value> = ids().map(|(name, value)| (name.clone(), value.clone())).collect();
    let has_more = later.len() > own.len();
    add_line(lines, &Value::Object(beginning).to_string(), &parts[..ends[0]], false);
    let count = ends.len() - 1;
    for (number, range) in ends.windows(2).enumerate() {
        let info = if number + 1 == count { &later } else { &own };
        add_line(lines, &json!(info).to_string(), &parts[range[0]..range[1]], true);
    }
    if count == 0 && has_more {
        add_line(lines, &json!(later).to_string(), &[], true);
    }
}

fn add_line(lines: &mut String, info: &str, parts: &[&str], continues: bool) {
    lines.extend(["{\"info\":", info, ",\"parts\":["]);
    for (index, part) in parts.iter().enumerate() {
        lines.extend([if index > 0 { "," } else { "" }, part]);
    }
    lines.push(']');
    if continues {
        lines.extend([",\"", MARK, "\":\"", CONTINUES, "\""]);
    }
    lines.push_str("}\n");
}

/// Returns the row of a message as it is before any step has ended.
fn beginning_of(info: &Map<String, Value>) -> Map<String, Value> {
    let mut beginning = info.clone();
    for name in ["finish", "error", "structured"] {
        beginning.shift_remove(name);
    }
    if let Some(tokens) = beginning.get_mut("tokens") {
        *tokens = json!({ "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } });
    }
    if let Some(cost) = beginning.get_mut("cost") {
        *cost = json!(0);
    }
    if let Some(time) = beginning.get_mut("time").and_then(Value::as_object_mut) {
        time.shift_remove("completed");
    }
    beginning
}

fn is_end_of_step(part: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind<'p> {
        #[serde(rename = "type")]
        kind: &'p str,
    }
    const END: &str = "step-finish";
    part.contains(END) && serde_json::from_str(part).is_ok_and(|Kind { kind }| kind == END)
}

/// Puts the lines of each message together again, as elements of a document's list. Says whether there were any.
pub fn put_together(messages: &mut Vec<Value>) -> bool {
    let before = messages.len();
    let mut whole: Vec<Value> = Vec::with_capacity(before);
    for mut message in messages.drain(..) {
        let last = whole.last_mut().filter(|last| {
            message.get(MARK).is_some_and(|mark| mark == CONTINUES) && last["info"]["id"] == message["info"]["id"]
        });
        let Some(last) = last else {
            whole.push(message);
            continue;
        };
        if let (Some(info), Some(Value::Object(more))) =
            (last.get_mut("info").and_then(Value::as_object_mut), message.get_mut("info").map(Value::take))
        {
            info.extend(more);
        }
        if let (Some(parts), Some(Value::Array(more))) =
            (last.get_mut("parts").and_then(Value::as_array_mut), message.get_mut("parts").map(Value::take))
        {
            parts.extend(more);
        }
    }
    *messages = whole;
    messages.len() < before
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"id":"p1","type":"text","text":"I commit it."}"#;
    const CALL: &str =
        r#"{"id":"p2","type":"tool","tool":"bash","state":{"input":{"type":"step-finish"},"output":"[main 1] x"}}"#;
    const END: &str = r#"{"id":"p3","type":"step-finish","reason":"tool-calls"}"#;
    const PATCH: &str = r#"{"id":"p4","type":"patch"}"#;

    fn info(is_over: bool) -> String {
        let (tokens, cost) =
            if is_over { (r#"{"total":3,"input":1,"output":2}"#, "0.5") } else { ("{\"input\":0}", "0") };
        let (time, finish) = if is_over { (r#","completed":9"#, r#","finish":"stop""#) } else { ("", "") };
        format!(
            r#"{{"id":"m","sessionID":"s","role":"assistant","cost":{cost},"tokens":{tokens},"time":{{"created":1{time}}}{finish}}}"#
        )
    }

    fn lines(info: &str, parts: &[&str]) -> String {
        let mut lines = String::new();
        add_lines(&mut lines, info, parts);
        lines
    }

    #[test]
    fn the_end_of_a_step_changes_no_line_that_was_there() {
        let before = lines(&info(false), &[TEXT, CALL]);
        let first = before.lines().next().unwrap();
        for parts in [&[TEXT, CALL][..], &[TEXT, CALL, END], &[TEXT, CALL, END, PATCH], &[TEXT, CALL, END, TEXT, END]] {
            let after = lines(&info(true), parts);
            assert!(after.starts_with(first), "{after}");
            assert_eq!(after.matches("I commit it.").count(), parts.iter().filter(|part| **part == TEXT).count());
        }
        assert_eq!(lines(&info(true), &[TEXT, END, CALL, END]).lines().count(), 3, "a line for each step, and its end");
    }

    #[test]
    fn the_lines_of_a_message_are_put_together_as_the_message() {
        let other = json!({ "info": { "id": "u", "role": "user" }, "parts": [] });
        for parts in [&[][..], &[TEXT, CALL], &[TEXT, CALL, END, PATCH], &[TEXT, END, CALL, END]] {
            let text = format!("{other}\n{}{other}\n", lines(&info(true), parts));
            let mut messages: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(put_together(&mut messages), "{text}");
            let parts: Vec<Value> = parts.iter().map(|part| serde_json::from_str(part).unwrap()).collect();
            let info: Value = serde_json::from_str(&info(true)).unwrap();
            assert_eq!(messages, [other.clone(), json!({ "info": info, "parts": parts }), other.clone()]);
        }
    }

    #[test]
    fn a_prompt_stays_one_line() {
        let info = r#"{"id":"u","role":"user","time":{"created":1,"completed":2},"x":"\"assistant\""}"#;
        assert_eq!(lines(info, &[TEXT, END]), format!("{{\"info\":{info},\"parts\":[{TEXT},{END}]}}\n"));
    }
}
