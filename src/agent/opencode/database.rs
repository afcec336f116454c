//! A session in OpenCode's database. Messages that are known are only looked at: whether they are what they were.

use std::collections::HashMap;
use std::path::Path;

use bstr::ByteSlice as _;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use twox_hash::XxHash3_64;

use super::super::json as record;
use super::super::sqlite::{self, unreadable};
use super::store::{Session, info};
use crate::error::{Error, Kind, Result};

/// Reads a session; of its first `known` messages only what was added to them later, and their digests.
///
/// # Errors
///
/// [`Kind::Missing`] if it is not there; otherwise if the database cannot be read.
pub fn session(path: &Path, session_id: &str, known: usize) -> Result<Session> {
    let database = sqlite::open(path)?;
    // One moment of it, while the agent writes.
    let database = database.unchecked_transaction().map_err(unreadable)?;
    let row = sqlite::rows(&database, "SELECT * FROM session WHERE id = ?1", [session_id])?.into_iter().next();
    let mut session = Session { info: row.map(info).unwrap_or_default(), ..Session::default() };
    let mut places: HashMap<String, usize> = HashMap::new();
    let query = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id";
    sqlite::each(&database, query, [session_id], |row| {
        let (id, data) = (text(row, 0)?, text(row, 1)?);
        let (digest, summary) = look_at(id, data);
        let (id, place) = (id.to_str_lossy(), session.digests.len());
        session.digests.push(digest);
        if place >= known {
            let mut message = with_data(json!({ "id": id, "sessionID": session_id }), &data.to_str_lossy());
            if let (Some(message), Some(_)) = (message.as_object_mut(), &summary) {
                message.shift_remove("summary");
            }
            session.messages.push(json!({ "info": message, "parts": [] }));
        }
        session.summaries.extend(summary.map(|summary| (id.to_string(), summary)));
        places.insert(id.into_owned(), place);
        Ok(())
    })?;
    let mut parts: Vec<(usize, String, Value)> = Vec::new();
    sqlite::each(&database, "SELECT message_id, id, data FROM part WHERE session_id = ?1", [session_id], |row| {
        let (message_id, id, data) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
        let message_id = message_id.to_str_lossy();
        let Some(place) = places.get(&*message_id).copied() else { return Ok(()) };
        // In whatever order they come, the sum is the same.
        session.digests[place] = session.digests[place].wrapping_add(digest(id, data));
        if place >= known {
            let id = id.to_str_lossy().into_owned();
            let ids = json!({ "id": id, "sessionID": session_id, "messageID": message_id });
            parts.push((place - known, id, with_data(ids, &data.to_str_lossy())));
        }
        Ok(())
    })?;
    parts.sort_by(|(_, a, _), (_, b, _)| a.cmp(b));
    for (place, _, part) in parts {
        if let Some(parts) = session.messages[place]["parts"].as_array_mut() {
            parts.push(part);
        }
    }
    if session.info.is_null() && session.digests.is_empty() {
        return Err(Error::new(Kind::Missing, format!("the database has no session '{session_id}'")));
    }
    Ok(session)
}

/// Returns the digest of a message's own row, and the summary of what came of it: that is added to a prompt later.
fn look_at(id: &[u8], data: &[u8]) -> (u64, Option<Value>) {
    let parsed = data.contains_str("\"summary\"").then(|| record::parse(&data.to_str_lossy())).flatten();
    if let Some(Value::Object(mut message)) = parsed
        && message.get("role").is_some_and(|role| role == "user")
        && let Some(summary) = message.shift_remove("summary")
    {
        return (digest(id, Value::Object(message).to_string().as_bytes()), Some(summary));
    }
    (digest(id, data), None)
}

fn digest(id: &[u8], data: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(id), data)
}

/// Returns a column as text; empty if it is none.
fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8]> {
    Ok(match row.get_ref(column).map_err(unreadable)? {
        ValueRef::Text(text) => text,
        _ => b"",
    })
}

/// Adds what a row holds as JSON to the ids, which stand in columns of their own.
fn with_data(mut ids: Value, data: &str) -> Value {
    if let (Some(ids), Some(Value::Object(data))) = (ids.as_object_mut(), record::parse(data)) {
        data.into_iter().for_each(|(name, value)| {
            ids.entry(name).or_insert(value);
        });
    }
    ids
}
