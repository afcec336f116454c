//! JSON, one object a line, each with a `version`. Only ever extended.

use std::io::{self, Write};

use bstr::ByteSlice as _;
use serde_json::{Map, Value, json};

use super::evidence::evidence_object;
use crate::git::{Commit, Person, date};
use crate::outside;
use crate::record::{BranchSummary, Conversation, Evidence, Listed, Summary};
use crate::transcript::{Message, Part, Role};

/// The version of the objects.
const VERSION: u32 = 1;

fn person(person: &Person) -> Value {
    json!({
        "name": person.name.to_str_lossy(),
        "email": person.email.to_str_lossy(),
        "date": date::Format::STRICT.show(person.time),
    })
}

fn commit(commit: &Commit) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("version".into(), VERSION.into());
    object.insert("commit".into(), commit.commit_id.to_string().into());
    object.insert("author".into(), person(&commit.author));
    object.insert("committer".into(), person(&commit.committer));
    object.insert("subject".into(), commit.subject().to_str_lossy().into());
    object
}

fn summary(summary: &Summary) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("agent".into(), summary.key.agent.clone().into());
    object.insert("session".into(), summary.key.id.clone().into());
    object.insert("model".into(), summary.model.clone().into());
    object.insert("time".into(), summary.time.clone().into());
    object.insert("prompt".into(), summary.prompt.clone().into());
    if let Some(text) = &summary.summary {
        object.insert("summary".into(), text.clone().into());
    }
    if let Some(rules) = &summary.rules {
        object.insert("rules".into(), super::told::told_value(&rules.files()));
    }
    if summary.is_removed {
        object.insert("removed".into(), true.into());
    }
    if let Some(version) = summary.newer_version {
        object.insert("recordVersion".into(), version.into());
    }
    object.insert("turns".into(), summary.turns.into());
    object.insert("messages".into(), summary.messages.into());
    object.insert("tokens".into(), serde_json::to_value(summary.tokens).unwrap_or_default());
    object
}

/// Returns the members that all objects have for a commit.
pub fn commit_object(of: &Commit) -> Value {
    Value::Object(commit(of))
}

/// Returns the object of a commit in `log --json`.
pub fn listed_object(listed: &Listed) -> Value {
    let mut object = commit(&listed.commit);
    object.insert("sessions".into(), listed.summaries.iter().map(|each| Value::Object(summary(each))).collect());
    add_evidence(&mut object, &listed.evidence);
    Value::Object(object)
}

/// Adds the evidence of a commit, if there is some.
fn add_evidence(object: &mut Map<String, Value>, evidence: &[Evidence]) {
    if !evidence.is_empty() {
        object.insert("evidence".into(), evidence.iter().map(evidence_object).collect());
    }
}

/// Returns the object of a commit with its evidence, without its conversations.
pub fn observed_object(of: &Commit, evidence: &[Evidence]) -> Value {
    let mut object = commit(of);
    add_evidence(&mut object, evidence);
    Value::Object(object)
}

/// Writes the object of a conversation, as `show --json` has it, and consumes the conversation: the messages of a long
/// one do not fit into memory twice. `turns` has the number of each message's turn.
///
/// # Errors
///
/// If writing fails.
pub fn write_conversation_object(
    out: &mut dyn Write,
    of: &Commit,
    mut conversation: Conversation,
    turns: &[usize],
    evidence: &[Evidence],
) -> io::Result<()> {
    let mut object = commit(of);
    object.append(&mut summary(&conversation.summary));
    object.insert("bytes".into(), conversation.bytes.len().into());
    object.insert("problems".into(), std::mem::take(&mut conversation.problems).into());
    add_evidence(&mut object, evidence);
    conversation.bytes = Vec::new();
    let head = outside::json(&Value::Object(object));
    write!(out, "{},\"conversation\":[", head.strip_suffix('}').unwrap_or(&head))?;
    let mut separator = "";
    for (message, turn) in conversation.messages.into_iter().zip(turns) {
        if let Some(mut object) = message_object(&message) {
            drop(message);
            object["turn"] = (*turn).into();
            write!(out, "{separator}{}", outside::json(&object))?;
            separator = ",";
        }
    }
    write!(out, "]}}")
}

/// Returns the object of a branch in `branches --json`.
pub fn branch_object(summary: &BranchSummary) -> Value {
    let last = summary.last_time.map(|seconds| date::Time { seconds, offset: 0 }.to_rfc3339());
    json!({
        "version": VERSION,
        "name": summary.branch.name,
        "ref": summary.branch.full_name,
        "head": summary.branch.commit_id.to_string(),
        "current": summary.is_current,
        "conversations": summary.conversations,
        "last": last,
    })
}

/// Returns the object of a message in `show --json`; `None` if nothing is said in it.
pub fn message_object(message: &Message) -> Option<Value> {
    if message.parts.is_empty() {
        return None;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    let mut object = Map::new();
    object.insert("role".into(), role.into());
    object.insert("time".into(), message.time.map(|seconds| date::Time { seconds, offset: 0 }.to_rfc3339()).into());
    if let Some(model) = &message.model {
        object.insert("model".into(), model.clone().into());
    }
    if message.is_abandoned {
        object.insert("abandoned".into(), true.into());
    }
    if message.is_sidechain {
        object.insert("sidechain".into(), true.into());
    }
    object.insert("parts".into(), message.parts.iter().map(part).collect());
    Some(Value::Object(object))
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Thinking(text) => json!({ "type": "thinking", "text": text }),
        Part::ToolCall(call) => json!({ "type": "call", "id": call.call_id, "tool": call.name, "input": call.input }),
        Part::ToolResult(result) => {
            json!({ "type": "result", "id": result.call_id, "text": result.text, "error": result.is_error })
        }
        Part::Attachment(what) => json!({ "type": "attachment", "kind": what.kind }),
        Part::Notice(text) => json!({ "type": "notice", "text": text }),
    }
}
