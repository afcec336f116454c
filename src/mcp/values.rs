//! Reading single values by path, from the project's index in `.memo/index` and from recorded data.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::arguments::{Arguments, commit_id};
use super::texts::cleaned;
use super::{Answer, Context, Refusal, Server, conversations, refusal};
use crate::index::{self, Project, ROOTS as INDEX_ROOTS};
use crate::outside;
use crate::path::{self, Document, Keys, Segment};
use crate::pretty;
use crate::record::Unit;
use crate::transcript::{Message, turn_numbers};

/// The roots of recorded data, followed by those of the index.
const ROOTS: &[&str] = &["conversation", "commit", "branches", "arch", "interface", "stories", "issues"];
/// The roots whose next segment is a revision.
const REVISION_ROOTS: &[&str] = &["conversation", "commit"];
/// The longest transcript, and the largest number of messages, that one answer may have as a whole.
const MAX_WHOLE_BYTES: usize = 8 << 20;
const MAX_WHOLE_MESSAGES: usize = 20_000;
/// The longest answer.
const MAX_ANSWER_BYTES: usize = 200_000;

impl Server {
    /// Returns the directory of the project's index, if there is one.
    pub(super) fn index(&self) -> Option<PathBuf> {
        if let Some(directory) = &self.index_directory {
            // What a checkout can have made a link leads nowhere else.
            let is_linked = self.project().is_some_and(|project| is_below_link(directory, project.top()));
            return Some(directory.clone()).filter(|_| !is_linked);
        }
        index::below(self.project()?.top())
    }

    /// Returns the project that is served.
    fn project(&self) -> Option<Project> {
        let here = self.directory.clone().or_else(|| std::env::current_dir().ok())?;
        Some(Project::around(here))
    }

    /// Says why there is no index.
    pub(super) fn no_index(&self) -> Refusal {
        self.project().unwrap_or_else(|| Project::at("")).absence(Path::new(index::DIRECTORY))
    }
}

/// Says whether a path leads through a symbolic link below a directory.
fn is_below_link(path: &Path, top: &Path) -> bool {
    let Ok(whole) = std::path::absolute(path) else { return true };
    let Ok(rest) = whole.strip_prefix(top) else { return false };
    let ways = rest.ancestors().filter(|way| !way.as_os_str().is_empty());
    ways.map(|way| top.join(way)).any(|way| way.is_symlink())
}

/// Returns the keys of the value at a path, as the tools answer.
pub(super) fn keys(context: &Context<'_>, path: &str, is_index: bool) -> Result<Value, Refusal> {
    with_value(context, path, is_index, false, |value| {
        Ok(match value.keys()? {
            Keys::Dict(keys) => json!({ "type": "dict", "keys": keys }),
            Keys::List(length) => json!({ "type": "list", "length": length }),
        })
    })
}

/// Returns the value at a path as compact JSON.
pub(super) fn value(context: &Context<'_>, path: &str, is_index: bool) -> Result<String, Refusal> {
    with_value(context, path, is_index, true, |value| value.compact().map(outside::json_text))
}

fn with_value<T>(
    context: &Context<'_>,
    path: &str,
    is_index: bool,
    is_whole: bool,
    read: impl FnOnce(Document<'_>) -> Result<T, String>,
) -> Result<T, Refusal> {
    let segments = path::parse(path, if is_index { &[] } else { REVISION_ROOTS })?;
    let (root, rest) = path::root(&segments, if is_index { INDEX_ROOTS } else { ROOTS })?;
    if INDEX_ROOTS.contains(&root) {
        let name = format!("index file {root}.json");
        let directory = context.server.index().ok_or_else(|| context.server.no_index())?;
        let text = index::read(&directory, root).map_err(|reason| format!("{name} {reason}"))?;
        let document = Document::new(&text).map_err(|error| format!("{name} cannot be read as JSON: {error}"))?;
        return read(document.walk(rest, 0)?);
    }
    let (recorded, rest, first) = recorded(context, root, rest, is_whole)?;
    let (value, left) = descend(recorded, rest);
    let text = value.to_string();
    drop(value);
    read(Document::new(&text)?.walk(left, first + rest.len() - left.len())?)
}

/// Follows a path in a value as far as it leads, and returns the segments that are left. Converting a long value to text
/// and parsing it again for each segment would be slow.
fn descend(mut value: Value, mut rest: &[Segment]) -> (Value, &[Segment]) {
    while let Some((segment, behind)) = rest.split_first() {
        let found = match &mut value {
            Value::Object(members) => members.get_mut(&segment.text),
            Value::Array(items) => segment.index().and_then(|index| items.get_mut(usize::try_from(index).ok()?)),
            _ => None,
        };
        let Some(found) = found.map(Value::take) else { break };
        (value, rest) = (found, behind);
    }
    (value, rest)
}

/// Returns the value of a root of recorded data, the segments to follow in it, and the number of the first of these.
fn recorded<'p>(
    context: &Context<'_>,
    root: &str,
    rest: &'p [Segment],
    is_whole: bool,
) -> Result<(Value, &'p [Segment], usize), Refusal> {
    if root == "branches" {
        let answer = conversations::branches(context, &Map::new())?;
        return Ok((answer.text, rest, 0));
    }
    let Some((revision, rest)) = rest.split_first() else {
        return Err(format!("name a revision behind [{root}], as in [{root}][HEAD]"));
    };
    let repo = context.repository()?;
    let id = commit_id(&repo, &revision.text)?;
    let fail = |error: crate::error::Error| refusal(&error);
    if root == "commit" {
        let commit = repo.commit(id).map_err(fail)?;
        let note = context.reader(&repo).note(id).map_err(fail)?;
        let records: Vec<Value> = note
            .iter()
            .flat_map(|note| note.units())
            .filter_map(|unit| match unit {
                Unit::Record(record) => serde_json::to_value(record).ok(),
                Unit::Newer(newer) => serde_json::from_slice(&newer.text).ok(),
                Unit::Earlier(..) | Unit::Foreign(_) => None,
            })
            .map(cleaned)
            .collect();
        let evidence = note.map(|note| note.evidence()).unwrap_or_default();
        let mut value = pretty::observed_object(&commit, &evidence);
        value["records"] = json!(records);
        return Ok((cleaned(value), rest, 1));
    }
    let mut read = conversations::read(context, &repo, id, None, true)?;
    if let (Some(_), Some(segment)) = (read.conversation.lack, rest.first().filter(|part| part.text == "messages")) {
        let why = read.conversation.problems.first().map(String::as_str).unwrap_or_default();
        return Err(format!("the {} of {} are not here: {why}", segment.text, revision.text));
    }
    // From here on, only their number is needed.
    let bytes = std::mem::take(&mut read.conversation.bytes).len();
    let messages = messages(&read.conversation.messages, bytes, rest, is_whole)?;
    let mut value = json!({
        "sha": id.to_string(),
        "sessionId": outside::line(&read.conversation.summary.key.id),
        "timestamp": outside::line(&read.conversation.summary.time),
        "messages": messages,
    });
    if let Some(notice) = read.conversation.summary.newer_notice() {
        value["note"] = json!(notice);
    } else if let Some(lack) = read.conversation.lack {
        value["note"] = json!(lack.sentence());
    }
    Ok((value, rest, 1))
}

/// Returns the messages of a conversation for a path that continues with `rest`. If the path names one message, or only
/// their number is needed, the others are null.
fn messages(messages: &[Message], bytes: usize, rest: &[Segment], is_whole: bool) -> Result<Vec<Value>, Refusal> {
    let of_messages = || messages.iter().zip(turn_numbers(messages));
    let wanted = match rest {
        [_, index, ..] => index.index().and_then(|index| usize::try_from(index).ok()),
        _ if !is_whole => None,
        _ if bytes <= MAX_WHOLE_BYTES && messages.len() <= MAX_WHOLE_MESSAGES => {
            return Ok(of_messages().map(|(message, turn)| conversations::message_with_text(message, turn)).collect());
        }
        _ => {
            return Err(format!(
                "the conversation is too long for one answer; read its {} messages one by one, as in \
                 [conversation][<revision>][messages][0]",
                messages.len()
            ));
        }
    };
    let one = |(at, (message, turn))| match Some(at) == wanted {
        true => conversations::message_with_text(message, turn),
        false => Value::Null,
    };
    Ok(of_messages().enumerate().map(one).collect())
}

fn path_of(arguments: &Arguments) -> &str {
    arguments.get("path").and_then(Value::as_str).unwrap_or_default()
}

fn answer(value: Value) -> Result<Answer, Refusal> {
    if value.to_string().len() > MAX_ANSWER_BYTES {
        return Err("the value is too long for one answer; list its keys and read them one by one".into());
    }
    Ok(Answer { text: value.clone(), structured: value })
}

/// `list_keys`, of the recorded data or of the index.
pub fn list_keys(context: &Context<'_>, arguments: &Arguments, is_index: bool) -> Result<Answer, Refusal> {
    answer(keys(context, path_of(arguments), is_index)?)
}

/// `get_value`, of the recorded data or of the index.
pub fn get_value(context: &Context<'_>, arguments: &Arguments, is_index: bool) -> Result<Answer, Refusal> {
    answer(json!({ "value": value(context, path_of(arguments), is_index)? }))
}
