//! Where OpenCode keeps sessions, and one of them as the document that it exports.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bstr::ByteSlice as _;
use indexmap::IndexMap;
use rusqlite::Connection;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{document, place, sqlite};
use super::database::{self, Session};
use super::pieces::{self, MessageLine};
use crate::error::{Error, Kind, Result};
use crate::outside;

/// The member with the summaries that OpenCode added to prompts later; see [`Store::read`].
const LATER: &str = pieces::MARK;

/// A place with sessions.
pub enum Store {
    /// A database, since release 1.2.
    Database(PathBuf),
    /// The directory `storage` of older releases, with a file for each session, message and part.
    Files(PathBuf),
}

impl Store {
    /// Returns the stores in a directory with data; newer ones come first. The names of databases begin with `beginning`;
    /// the environment variable may name another one.
    pub fn all(data: &Path, beginning: &str, variable: &str) -> Vec<Store> {
        let is_database = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(beginning) && name.ends_with(".db")
        };
        let entries = place::entries(data);
        let moved = place::variable(variable).map(|path| data.join(path)).filter(|path| path.is_file());
        let known = entries.iter().filter(|path| is_database(path) && Some(*path) != moved.as_ref()).cloned();
        let mut stores: Vec<Store> = moved.iter().cloned().chain(known).map(Store::Database).collect();
        stores.extend(entries.into_iter().find(|path| path.ends_with("storage")).map(Store::Files));
        stores
    }

    /// Splits the path of a session into the store and the session's id.
    pub fn of(transcript: &Path) -> Option<(Store, String)> {
        let store = transcript.parent()?;
        let session_id = transcript.file_name()?.to_str().filter(|id| outside::is_plain_id(id))?.to_owned();
        if store.is_file() {
            Some((Store::Database(store.to_owned()), session_id))
        } else {
            store.join("message").is_dir().then(|| (Store::Files(store.to_owned()), session_id))
        }
    }

    /// Returns the path that stands for a session.
    pub fn transcript(&self, session_id: &str) -> PathBuf {
        let (Store::Database(path) | Store::Files(path)) = self;
        path.join(session_id)
    }

    /// Says whether a session is here.
    pub fn has(&self, session_id: &str) -> bool {
        match self {
            Store::Database(path) => sqlite::open(path).is_ok_and(|database| {
                ["SELECT id FROM session WHERE id = ?1", "SELECT id FROM message WHERE session_id = ?1 LIMIT 1"]
                    .into_iter()
                    .any(|query| sqlite::rows(&database, query, [session_id]).is_ok_and(|rows| !rows.is_empty()))
            }),
            Store::Files(root) => root.join("message").join(session_id).is_dir(),
        }
    }

    /// Returns the sessions of people that ran in `directory` or below it and have changed since `seconds` (epoch).
    pub fn recent(&self, directory: &Path, seconds: i64) -> Vec<String> {
        let sessions = match self {
            // Opening it is what costs.
            Store::Database(path) if !sqlite::is_written_since(path, seconds) => Vec::new(),
            Store::Database(path) => {
                let query = "SELECT * FROM session WHERE time_updated >= ?1";
                let rows = |opened: Connection| sqlite::rows(&opened, query, [seconds.saturating_mul(1000)]);
                sqlite::open(path).and_then(rows).unwrap_or_default().into_iter().map(database::info).collect()
            }
            Store::Files(root) => files_of_sessions(root)
                .filter(|path| place::is_written_since(path, seconds))
                .filter_map(|path| read(&path))
                .collect(),
        };
        let is_wanted = |session: &Value| {
            let is_here = session["directory"].as_str().is_some_and(|place| place::is_below(place, directory));
            is_here && session["parentID"].is_null()
        };
        sessions.into_iter().filter(is_wanted).filter_map(|session| id_of(&session)).collect()
    }

    /// Says whether a session may have been written after the second `seconds` (epoch): OpenCode writes down when somebody
    /// prompts it, and when a part is made.
    pub fn is_written_since(&self, session_id: &str, seconds: i64) -> bool {
        let Store::Database(path) = self else { return true };
        let is_before = |database: &Connection, query| {
            let rows = sqlite::rows(database, query, [session_id]).unwrap_or_default();
            let time = rows.first().and_then(|row| row.get("time_updated")?.as_i64());
            time.is_some_and(|milliseconds| milliseconds / 1000 <= seconds)
        };
        let is_at_rest = |database| {
            is_before(&database, "SELECT time_updated FROM session WHERE id = ?1")
                && is_before(
                    &database,
                    "SELECT time_updated FROM part WHERE session_id = ?1 ORDER BY rowid DESC LIMIT 1",
                )
        };
        !sqlite::open(path).is_ok_and(is_at_rest)
    }

    /// Returns the sessions of the sub-agents of a session.
    pub fn children(&self, session_id: &str) -> Vec<String> {
        let sessions: Vec<Value> = match self {
            Store::Database(path) => {
                let query = "SELECT id FROM session WHERE parent_id = ?1 ORDER BY time_created, id";
                let rows = |database: Connection| sqlite::rows(&database, query, [session_id]);
                sqlite::open(path).and_then(rows).unwrap_or_default().into_iter().map(Value::Object).collect()
            }
            Store::Files(root) => {
                let own = format!("{session_id}.json");
                let folder = files_of_sessions(root).find(|path| path.ends_with(&own));
                let beside = folder.and_then(|path| Some(place::entries(path.parent()?))).unwrap_or_default();
                let sessions = beside.iter().filter_map(|path| read(path));
                sessions.filter(|session| session["parentID"] == session_id).collect()
            }
        };
        sessions.iter().filter_map(id_of).collect()
    }

    /// Returns how many bytes a session's messages and their parts have, without reading them; `None` if that is unknown.
    pub fn bytes_of(&self, session_id: &str) -> Option<u64> {
        match self {
            Store::Database(path) => {
                // SQLite knows the length of a column without reading it.
                let query = "SELECT (SELECT total(octet_length(data)) FROM message WHERE session_id = ?1)
                    + (SELECT total(octet_length(data)) FROM part WHERE session_id = ?1) AS bytes";
                let rows = sqlite::rows(&sqlite::open(path).ok()?, query, [session_id]).ok()?;
                rows.first()?.get("bytes")?.as_f64().map(|bytes| bytes as u64)
            }
            Store::Files(root) => {
                let folder = root.join("message").join(session_id);
                let messages = place::entries(&folder.is_dir().then_some(folder)?);
                let parts = messages.iter().filter_map(|path| path.file_stem());
                let parts = parts.flat_map(|id| place::entries(&root.join("part").join(id)));
                let lengths = messages.iter().cloned().chain(parts).filter_map(|path| path.metadata().ok());
                Some(lengths.map(|file| file.len()).sum())
            }
        }
    }

    /// Returns a session as lines. The first lines stay unchanged while the session grows.
    ///
    /// Therefore a summary that OpenCode adds to a prompt after the answer is in the last line.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if it is not here, [`Kind::Busy`] if reading a database takes until `deadline`; otherwise if it
    /// cannot be read.
    pub fn read(&self, session_id: &str, deadline: Option<Instant>) -> Result<Vec<u8>> {
        let session = match self {
            Store::Database(path) => database::session(path, session_id, deadline)?,
            Store::Files(root) => from_files(root, session_id),
        };
        if session.info.is_null() && session.lines.is_empty() {
            return Err(Error::new(Kind::Missing, format!("there is no session '{session_id}'")));
        }
        let info = if session.info.is_null() { json!({ "id": session_id }) } else { session.info };
        let mut around = json!({ "info": info, "messages": [] });
        if !session.summaries.is_empty() {
            around[LATER] = json!({ "summaries": session.summaries });
        }
        let first = document::first_line_of("messages", 2, "\n");
        Ok([&*first, &*session.lines, &*around.to_string(), "\n"].concat().into_bytes())
    }
}

/// Returns a session as OpenCode exports it, from the lines of [`Store::read`]: summaries and the ends of steps go back to
/// their messages.
pub fn export(transcript: &[u8]) -> Vec<u8> {
    let text = transcript.to_str().ok().filter(|_| document::has_line_for_each(transcript));
    match text.and_then(whole) {
        Some(lines) => document::from_lines(lines.as_bytes()),
        None => document::from_lines(transcript),
    }
}

/// Returns the lines of a document that has a line for each whole message.
fn whole(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').map(str::trim_ascii).filter(|line| !line.is_empty()).collect();
    let (first, lines) = lines.split_first()?;
    let mut lines = pieces::put_together(lines);
    if let Some(mut around) = lines.last().cloned().as_deref().and_then(pieces::members)
        && around.get("\"messages\"").is_some_and(|list| list.get() == "[]")
        && let Some(summaries) = around.shift_remove("\"shiftlog\"").and_then(|later| summaries_of(later.get()))
    {
        lines.pop();
        for line in &mut lines {
            let text = line.clone();
            let Some(mut message) = MessageLine::parse(&text) else { continue };
            if let Some(summary) = message.id().and_then(|id| summaries.get(id)) {
                message.set("\"summary\"", summary);
                *line = message.text().into();
            }
        }
        let around: Vec<(&str, &str)> = around.iter().map(|(name, value)| (*name, value.get())).collect();
        lines.push(pieces::object(&around).into());
    }
    Some(format!("{first}\n{}\n", lines.join("\n")))
}

/// Returns the summaries of prompts by the ids of their messages, which are JSON.
fn summaries_of(later: &str) -> Option<IndexMap<&str, &RawValue>> {
    pieces::members(pieces::members(later)?.get("\"summaries\"")?.get())
}

fn from_files(root: &Path, session_id: &str) -> Session {
    let own = format!("{session_id}.json");
    let mut session = Session::default();
    let known = files_of_sessions(root).find(|path| path.ends_with(&own)).and_then(|path| read(&path));
    session.info = known.unwrap_or_default();
    let mut messages: Vec<(Option<i64>, String, String)> = Vec::new();
    for mut info in place::entries(&root.join("message").join(session_id)).iter().filter_map(|path| read(path)) {
        let Some(id) = id_of(&info) else { continue };
        let mut parts: Vec<Value> =
            place::entries(&root.join("part").join(&id)).iter().filter_map(|path| read(path)).collect();
        parts.sort_by_key(id_of);
        let created = info["time"]["created"].as_i64();
        if let Some(info) = info.as_object_mut().filter(|info| info.get("role").is_some_and(|role| role == "user")) {
            session.summaries.extend(info.shift_remove("summary").map(|summary| (id.clone(), summary)));
        }
        let parts: Vec<String> = parts.iter().map(Value::to_string).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let mut lines = String::new();
        pieces::add_lines(&mut lines, &info.to_string(), &parts);
        messages.push((created, id, lines));
    }
    messages.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    session.lines = messages.into_iter().map(|(_, _, lines)| lines).collect();
    session
}

/// Returns the files of sessions, which are in a folder for each project.
fn files_of_sessions(root: &Path) -> impl Iterator<Item = PathBuf> {
    place::entries(&root.join("session")).into_iter().flat_map(|project| place::entries(&project))
}

fn read(path: &Path) -> Option<Value> {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    serde_json::from_slice(&place::read(path).ok().filter(|_| is_json)?).ok()
}

/// Returns the id of a session, a message or a part, which becomes a part of a path.
fn id_of(value: &Value) -> Option<String> {
    value["id"].as_str().filter(|id| outside::is_plain_id(id)).map(str::to_owned)
}
