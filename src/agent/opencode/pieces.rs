//! A message of OpenCode as several lines: one for its beginning, and one more for each end of a step.
//!
//! OpenCode writes tokens, cost and the end of a step into a message after the tools of the step have answered. A commit
//! that a tool makes is recorded before that. If the message were one line, that line would change then, and the record of
//! the next commit would repeat its words. So the lines of a message only grow in number.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::json as record;
use crate::path::Members;

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
    let changed = whole.iter().filter(|(name, value)| beginning.get(*name) != Some(value));
    let mut later: Map<String, Value> =
        ids().chain(changed).map(|(name, value)| (name.clone(), value.clone())).collect();
    let own: Map<String, Value> = ids().map(|(name, value)| (name.clone(), value.clone())).collect();
    let has_more = later.len() > own.len();
    if has_more && !order_after(&beginning, &later).into_iter().eq(whole.keys()) {
        later.clone_from(&whole);
    }
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

/// Returns the names of a message's members after [`MessageLine::add`] has added a line to it.
fn order_after<'m>(info: &'m Map<String, Value>, more: &'m Map<String, Value>) -> Vec<&'m String> {
    if info.keys().all(|name| more.contains_key(name)) {
        return more.keys().collect();
    }
    info.keys().chain(more.keys().filter(|name| !info.contains_key(*name))).collect()
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

/// One line of a message. Its values stay as they are spelled.
pub struct MessageLine<'t> {
    members: IndexMap<&'t str, &'t RawValue>,
    info: IndexMap<&'t str, &'t RawValue>,
    parts: Vec<&'t RawValue>,
}

impl<'t> MessageLine<'t> {
    /// Parses a line; `None` if it is no object with `info` and `parts`.
    pub fn parse(text: &'t str) -> Option<Self> {
        let members = members(text)?;
        let info = self::members(members.get("\"info\"")?.get())?;
        let parts = serde_json::from_str(members.get("\"parts\"")?.get()).ok()?;
        Some(MessageLine { members, info, parts })
    }

    fn parse_continuing(text: &'t str) -> Option<Self> {
        let line = text.contains(CONTINUES).then(|| MessageLine::parse(text)).flatten()?;
        let mark = line.members.get("\"shiftlog\"")?;
        (mark.get() == "\"continues\"").then_some(line)
    }

    /// Returns the id of the message, as JSON.
    pub fn id(&self) -> Option<&'t str> {
        self.info.get("\"id\"").map(|id| id.get())
    }

    /// Sets a member of `info`, whose name is JSON.
    pub fn set(&mut self, name: &'t str, value: &'t RawValue) {
        self.info.insert(name, value);
    }

    /// Adds a line that continues this one. If its `info` has all members of this one, it also has their order.
    fn add(&mut self, more: MessageLine<'t>) {
        if self.info.keys().all(|name| more.info.contains_key(name)) {
            self.info = more.info;
        } else {
            self.info.extend(more.info);
        }
        self.parts.extend(more.parts);
    }

    /// Returns the line as text, without a line end.
    pub fn text(&self) -> String {
        let info = object(&self.info.iter().map(|(name, value)| (*name, value.get())).collect::<Vec<_>>());
        let parts: Vec<&str> = self.parts.iter().map(|part| part.get()).collect();
        let parts = format!("[{}]", parts.join(","));
        let members = self.members.iter().map(|(name, value)| match *name {
            "\"info\"" => (*name, &*info),
            "\"parts\"" => (*name, &*parts),
            _ => (*name, value.get()),
        });
        object(&members.collect::<Vec<_>>())
    }
}

/// Returns the members of an object by their names, which are JSON. Of several with one name the last counts.
pub fn members(object: &str) -> Option<IndexMap<&str, &RawValue>> {
    let members: Members<'_> = serde_json::from_str(object).ok()?;
    Some(members.0.into_iter().map(|(name, value)| (name.get(), value)).collect())
}

/// Returns an object with these members as text. Their names are JSON.
pub fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Joins the lines of each message: the opposite of [`add_lines`].
pub fn put_together<'t>(lines: &[&'t str]) -> Vec<Cow<'t, str>> {
    let mut whole = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let [first, after @ ..] = rest {
        rest = after;
        let next = after.first().and_then(|line| MessageLine::parse_continuing(line));
        let Some(mut message) = next.and_then(|_| MessageLine::parse(first)) else {
            whole.push(Cow::Borrowed(*first));
            continue;
        };
        let id = message.id();
        while let [line, after @ ..] = rest {
            let Some(more) = MessageLine::parse_continuing(line).filter(|more| id.is_some() && more.id() == id) else {
                break;
            };
            message.add(more);
            rest = after;
        }
        let is_alone = rest.len() == after.len();
        whole.push(if is_alone { Cow::Borrowed(*first) } else { Cow::Owned(message.text()) });
    }
    whole
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
            let lines: Vec<&str> = text.lines().collect();
            let messages = put_together(&lines);
            assert!(messages.len() < lines.len(), "{text}");
            let messages: Vec<Value> = messages.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            let parts: Vec<Value> = parts.iter().map(|part| serde_json::from_str(part).unwrap()).collect();
            let info: Value = serde_json::from_str(&info(true)).unwrap();
            assert_eq!(messages, [other.clone(), json!({ "info": info, "parts": parts }), other.clone()]);
        }
    }

    #[test]
    fn the_members_of_a_message_keep_their_order() {
        let (id, own) = (r#""id":"m","sessionID":"s","role":"assistant""#, r#""time":{"created":1,"completed":2}"#);
        let finish = r#""finish":"stop""#;
        for info in [
            format!(r#"{{{id},{own},"cost":0.50,{finish}}}"#),
            format!(r#"{{{id},{finish},"agent":"build","cost":1,{own}}}"#),
            format!(r#"{{{own},"cost":1,{finish},{id}}}"#),
            format!(r#"{{{finish},{id}}}"#),
            format!("{{{id},{own}}}"),
        ] {
            let text = lines(&info, &[TEXT, END]);
            let whole: Value = serde_json::from_str(&info).unwrap();
            let expected = format!("{{\"info\":{whole},\"parts\":[{TEXT},{END}]}}");
            assert_eq!(put_together(&text.lines().collect::<Vec<_>>()), [expected], "{text}");
        }
    }

    #[test]
    fn a_prompt_stays_one_line() {
        let info = r#"{"id":"u","role":"user","time":{"created":1,"completed":2},"x":"\"assistant\""}"#;
        assert_eq!(lines(info, &[TEXT, END]), format!("{{\"info\":{info},\"parts\":[{TEXT},{END}]}}\n"));
    }
}
