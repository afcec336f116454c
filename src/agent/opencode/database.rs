//! A session in OpenCode's database: rows of messages and of their parts, put together as lines.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use bstr::ByteSlice as _;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::super::json as record;
use super::super::sqlite::{self, unreadable};
use super::pieces;
use crate::error::{Error, Kind, Result};
use crate::{outside, path};

/// How deep a row may be nested. The message around it adds some levels, and the JSON parser must accept the sum.
const MAX_ROW_DEPTH: usize = 120;

/// A session, read from a store.
#[derive(Default)]
pub struct Session {
    /// The JSON about the session as a whole; null if there is none.
    pub info: Value,
    /// Its messages in JSON, as lines.
    pub lines: String,
    /// The summaries that were added to prompts later, by the ids of their messages.
    pub summaries: Map<String, Value>,
}

/// Reads a session.
///
/// # Errors
///
/// [`Kind::Missing`] if it is not there, [`Kind::Busy`] if reading takes until `deadline`; otherwise if the database
/// cannot be read.
pub fn session(path: &Path, session_id: &str, deadline: Option<Instant>) -> Result<Session> {
    let database = sqlite::open(path)?;
    // One moment of it, while the agent writes.
    let database = database.unchecked_transaction().map_err(unreadable)?;
    let row = sqlite::rows(&database, "SELECT * FROM session WHERE id = ?1", [session_id])?.into_iter().next();
    let info = row.map(info).unwrap_or_default();
    let mut messages = Messages { session_id, deadline, ids: Vec::new(), text: String::new(), infos: Vec::new() };
    let summaries = messages.read(&database)?;
    if info.is_null() && messages.ids.is_empty() {
        return Err(Error::new(Kind::Missing, format!("the database has no session '{session_id}'")));
    }
    Ok(Session { info, lines: messages.with_parts(&database)?, summaries })
}

/// The rows of a session's messages.
struct Messages<'s> {
    session_id: &'s str,
    /// When reading ends.
    deadline: Option<Instant>,
    /// The ids of the messages, in order.
    ids: Vec<Vec<u8>>,
    /// JSON text: all message rows, then all part rows.
    text: String,
    /// The range of each message row in `text`.
    infos: Vec<Range<usize>>,
}

impl Messages<'_> {
    /// Reads the messages without their parts; returns the summaries that were added to prompts later.
    fn read(&mut self, database: &Connection) -> Result<Map<String, Value>> {
        let mut summaries = Map::new();
        let query = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id";
        sqlite::each(database, query, [self.session_id], |row| {
            sqlite::in_time(self.deadline)?;
            let (id, data) = (text(row, 0)?, text(row, 1)?);
            let summary = summary_of(data);
            let ids = [("id", id), ("sessionID", self.session_id.as_bytes())];
            self.infos.push(add_row(&mut self.text, &ids, data, summary.is_some()));
            self.ids.push(id.to_owned());
            summaries.extend(summary.map(|summary| (id.to_str_lossy().into_owned(), summary)));
            Ok(())
        })?;
        Ok(summaries)
    }

    /// Reads the parts of the messages, and returns the lines of all messages.
    fn with_parts(mut self, database: &Connection) -> Result<String> {
        let query = "SELECT message_id, id, data FROM part WHERE session_id = ?1";
        let ids = std::mem::take(&mut self.ids);
        let places: HashMap<&[u8], usize> = ids.iter().map(Vec::as_slice).zip(0..).collect();
        let mut parts: Vec<(usize, Vec<u8>, Range<usize>)> = Vec::new();
        sqlite::each(database, query, [self.session_id], |row| {
            sqlite::in_time(self.deadline)?;
            let (message_id, id, data) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
            if let Some(place) = places.get(message_id).copied() {
                let ids = [("id", id), ("sessionID", self.session_id.as_bytes()), ("messageID", message_id)];
                parts.push((place, id.to_owned(), add_row(&mut self.text, &ids, data, false)));
            }
            Ok(())
        })?;
        parts.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut rest = parts.as_slice();
        let mut lines = String::with_capacity(self.text.len() + parts.len() + self.infos.len() * 32);
        for (place, info) in self.infos.drain(..).enumerate() {
            let (own, others) = rest.split_at(rest.partition_point(|(of, ..)| *of <= place));
            let own: Vec<&str> = own.iter().map(|(.., part)| &self.text[part.clone()]).collect();
            pieces::add_lines(&mut lines, &self.text[info], &own);
            rest = others;
        }
        Ok(lines)
    }
}

/// Returns a row of the table of sessions as the export has it.
pub fn info(row: Map<String, Value>) -> Value {
    const NAMES: &[(&str, &str)] = &[
        ("id", "id"),
        ("slug", "slug"),
        ("version", "version"),
        ("project_id", "projectID"),
        ("directory", "directory"),
        ("parent_id", "parentID"),
        ("title", "title"),
    ];
    const TIMES: &[&str] = &["created", "updated", "compacting", "archived"];
    let column = |name: &str| row.get(name).filter(|value| !value.is_null()).cloned();
    let mut info: Map<String, Value> =
        NAMES.iter().filter_map(|(name, key)| Some(((*key).to_owned(), column(name)?))).collect();
    if let Some(url) = column("share_url") {
        info.insert("share".into(), json!({ "url": url }));
    }
    let times = TIMES.iter().filter_map(|name| Some(((*name).to_owned(), column(&format!("time_{name}"))?)));
    info.insert("time".into(), Value::Object(times.collect()));
    for name in ["permission", "revert"] {
        let value = column(name).and_then(|text| serde_json::from_str(text.as_str()?).ok());
        info.extend(value.map(|value: Value| (name.to_owned(), value)));
    }
    Value::Object(info)
}

/// Returns the summary of the answer to a prompt, which OpenCode adds to the prompt's row later.
fn summary_of(data: &[u8]) -> Option<Value> {
    let parsed = data.contains_str("\"summary\"").then(|| record::parse(&data.to_str_lossy())).flatten()?;
    let Value::Object(mut message) = parsed else { return None };
    message.get("role").filter(|role| *role == "user")?;
    message.shift_remove("summary")
}

/// Returns a column as text; empty if it has another type.
fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8]> {
    Ok(match row.get_ref(column).map_err(unreadable)? {
        ValueRef::Text(text) => text,
        _ => b"",
    })
}

/// Says whether the JSON of a row is nested so little that it can be read as a part of a message.
fn is_readable(data: &[u8]) -> bool {
    path::depth(data) <= MAX_ROW_DEPTH
}

/// Adds the JSON of a row in one line, with the ids from its other columns in front; returns its place in `text`.
fn add_row(text: &mut String, ids: &[(&str, &[u8])], data: &[u8], has_summary: bool) -> Range<usize> {
    let start = text.len();
    // Mostly it is JSON in one line already, and has no ids.
    let is_plain = |text: &str| {
        let has_none = |ids: Ids| !(ids.id.0 || ids.session.0 || ids.message.0);
        // Half characters are written so.
        let is_whole = !has_summary && !text.contains('\n') && !text.contains("\\ud");
        is_whole && is_readable(text.as_bytes()) && serde_json::from_str(text).is_ok_and(has_none)
    };
    if let Some(members) = data.to_str().ok().filter(|text| is_plain(text)).and_then(|text| text.strip_prefix("{\"")) {
        for (name, id) in ids {
            text.extend([if text.len() == start { "{\"" } else { ",\"" }, name, "\":"]);
            match id.to_str().ok().filter(|id| outside::is_plain_id(id)) {
                Some(id) => text.extend(["\"", id, "\""]),
                None => text.push_str(&Value::from(id.to_str_lossy()).to_string()),
            }
        }
        text.extend([",\"", members]);
        return start..text.len();
    }
    let mut object: Map<String, Value> =
        ids.iter().map(|(name, id)| ((*name).to_owned(), id.to_str_lossy().into())).collect();
    if is_readable(data)
        && let Some(Value::Object(data)) = record::parse(&data.to_str_lossy())
    {
        for (name, value) in data.into_iter().filter(|(name, _)| !has_summary || name != "summary") {
            object.entry(name).or_insert(value);
        }
    }
    text.push_str(&Value::Object(object).to_string());
    start..text.len()
}

/// The ids that a row can hold, which its columns have as well.
#[derive(Deserialize)]
struct Ids {
    #[serde(default)]
    id: IsThere,
    #[serde(default, rename = "sessionID")]
    session: IsThere,
    #[serde(default, rename = "messageID")]
    message: IsThere,
}

/// Whether a member exists, with any value.
#[derive(Default)]
struct IsThere(bool);

impl<'de> Deserialize<'de> for IsThere {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| IsThere(true))
    }
}
