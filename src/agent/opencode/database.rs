//! A session in OpenCode's database. Messages that are known are only looked at: whether they are what they were.
//!
//! That takes as long as there are messages. Who cannot wait gets the rows behind those that are known, see [`added`]:
//! OpenCode adds rows, and what it changes is in the last message, which is never among the known ones.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use bstr::ByteSlice as _;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use twox_hash::XxHash3_64;

use super::super::sqlite::{self, unreadable};
use super::super::{document, json as record};
use super::store::info;
use crate::error::{Error, Kind, Result};
use crate::outside;

/// How much room is left for what is said about a session.
const AROUND_BYTES: usize = 2 << 10;
/// What names the number of a row.
const ROWID: &str = "rowid";

/// What a store has of a session.
#[derive(Default)]
pub struct Session {
    /// What is said about the whole; null if nothing is.
    pub info: Value,
    /// Its messages in JSON, a line for each, without those that are known.
    pub lines: String,
    /// What was added to prompts later, by the ids of their messages.
    pub summaries: Map<String, Value>,
    /// A digest of each message that was looked at; none if nothing tells whether they have changed.
    pub digests: Vec<u64>,
    /// Where the rows of all messages but the last end, if those of the last come behind them.
    pub rows: Option<Rows>,
}

/// Where the rows of the messages that are known end.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Rows {
    messages: End,
    parts: End,
    /// Whether something was added to prompts later.
    has_summaries: bool,
}

/// The last of some rows of a session in a table.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
struct End {
    /// The number of the row, its id, and when it was made.
    rowid: i64,
    id: String,
    time: i64,
}

impl End {
    fn add(&mut self, rowid: i64, id: &[u8], time: i64) {
        if rowid > self.rowid {
            (self.rowid, self.time) = (rowid, time);
            self.id.clear();
            self.id.push_str(&id.to_str_lossy());
        }
    }
}

/// Reads a session; of its first `known` messages only what was added to them later, and their digests.
///
/// # Errors
///
/// [`Kind::Missing`] if it is not there; otherwise if the database cannot be read.
pub fn session(path: &Path, session_id: &str, known: usize) -> Result<Session> {
    let database = sqlite::open(path)?;
    // One moment of it, while the agent writes.
    let database = database.unchecked_transaction().map_err(unreadable)?;
    let mut reader = Reader::new(&database, session_id, known)?;
    // In the order in which they were made they are in the table already, as a rule.
    let (rowid, rowid_of_parts) = (rowid(&database, "message"), rowid(&database, "part"));
    if !reader.read_messages(rowid, None, "")? {
        reader = Reader::new(&database, session_id, known)?;
        reader.read_messages(rowid, None, "ORDER BY time_created, id")?;
    }
    reader.read_parts(rowid_of_parts, None)?;
    if reader.session.info.is_null() && reader.session.digests.is_empty() {
        return Err(Error::new(Kind::Missing, format!("the database has no session '{session_id}'")));
    }
    let session = reader.finish();
    let has_rowids = [rowid, rowid_of_parts] == [ROWID; 2];
    Ok(Session { rows: session.rows.filter(|_| has_rowids), ..session })
}

/// Reads the messages of a session that come behind those that are known; `None` if the last of those is not there any
/// more, or if something else than new messages comes behind it. Costs as much as there is to read, a look at an index of
/// all messages at most, and at the prompts if something was added to those later.
///
/// # Errors
///
/// If the database cannot be read.
pub fn added(path: &Path, session_id: &str, known: &Rows) -> Result<Option<Session>> {
    let database = sqlite::open(path)?;
    let database = database.unchecked_transaction().map_err(unreadable)?;
    let mut reader = Reader { rows: known.clone(), ..Reader::new(&database, session_id, 0)? };
    let is_sorted = reader.read_messages(ROWID, Some(&known.messages), "")?;
    let before = (known.messages.time, known.messages.id.as_bytes());
    let follows = reader.messages.first().is_some_and(|(id, time, _)| (*time, id.as_slice()) > before);
    if !(is_sorted && follows && reader.read_parts(ROWID, Some(&known.parts))?) {
        return Ok(None);
    }
    if known.has_summaries {
        let query = "SELECT id, data FROM message WHERE session_id = ?1 AND rowid <= ?2 ORDER BY time_created, id";
        let mut summaries = Map::new();
        sqlite::each(&database, query, (session_id, known.messages.rowid), |row| {
            let (id, data) = (text(row, 0)?, text(row, 1)?);
            summaries.extend(look_at(id, data).1.map(|summary| (id.to_str_lossy().into_owned(), summary)));
            Ok(())
        })?;
        summaries.append(&mut reader.session.summaries);
        reader.session.summaries = summaries;
    }
    Ok(Some(reader.finish()))
}

/// Reads the rows of a session: first its messages, then their parts.
struct Reader<'d> {
    database: &'d Connection,
    session_id: &'d str,
    /// How many messages are only looked at.
    known: usize,
    session: Session,
    /// In JSON, one after the other, what is said about messages that are not known, and their parts.
    text: String,
    /// Where in it something is said about such a message.
    infos: Vec<Range<usize>>,
    /// The ids of the messages, when they were made, and the numbers of their rows.
    messages: Vec<(Vec<u8>, i64, i64)>,
    /// Where the rows end that belong to all messages but the last.
    rows: Rows,
    /// The first row of a part of the last message.
    last_part: i64,
}

impl<'d> Reader<'d> {
    fn new(database: &'d Connection, session_id: &'d str, known: usize) -> Result<Self> {
        let row = sqlite::rows(database, "SELECT * FROM session WHERE id = ?1", [session_id])?.into_iter().next();
        let session = Session { info: row.map(info).unwrap_or_default(), ..Session::default() };
        Ok(Reader {
            database,
            session_id,
            known,
            session,
            text: String::new(),
            infos: Vec::new(),
            messages: Vec::new(),
            rows: Rows::default(),
            last_part: i64::MAX,
        })
    }

    /// Reads the messages behind a row; says whether that is still there, and they come in the order in which they were
    /// made.
    fn read_messages(&mut self, rowid: &str, behind: Option<&End>, order: &str) -> Result<bool> {
        let condition = condition(rowid, behind);
        let query =
            format!("SELECT id, data, time_created, {rowid} FROM message WHERE session_id = ?1 {condition} {order}");
        let (mut is_sorted, mut is_there) = (true, behind.is_none_or(|end| end.rowid == 0));
        sqlite::each(self.database, &query, [self.session_id], |row| {
            let (id, data, time, rowid) = (text(row, 0)?, text(row, 1)?, number(row, 2)?, number(row, 3)?);
            if let Some(end) = behind.filter(|end| end.rowid == rowid) {
                is_there = end.id.as_bytes() == id;
                return Ok(());
            }
            let (digest, summary) = look_at(id, data);
            is_sorted &= self.messages.last().is_none_or(|(last, then, _)| (*then, &**last) < (time, id));
            if self.messages.len() >= self.known {
                let ids = [("id", id), ("sessionID", self.session_id.as_bytes())];
                self.infos.push(add_row(&mut self.text, &ids, data, summary.is_some()));
            }
            self.session.digests.push(digest);
            self.session.summaries.extend(summary.map(|summary| (id.to_str_lossy().into_owned(), summary)));
            self.messages.push((id.to_owned(), time, rowid));
            Ok(())
        })?;
        Ok(is_sorted && is_there)
    }

    /// Reads the parts behind a row; says whether that is still there, and each is one of a message that was read.
    fn read_parts(&mut self, rowid: &str, behind: Option<&End>) -> Result<bool> {
        let condition = condition(rowid, behind);
        let query = format!("SELECT message_id, id, data, {rowid} FROM part WHERE session_id = ?1 {condition}");
        let ids = std::mem::take(&mut self.messages);
        let mut places = Places { messages: &ids, next: 0, all: None };
        let mut parts: Vec<(usize, Vec<u8>, Range<usize>)> = Vec::new();
        let (mut is_complete, mut is_there) = (true, behind.is_none_or(|end| end.rowid == 0));
        sqlite::each(self.database, &query, [self.session_id], |row| {
            let (message_id, id, data, rowid) = (text(row, 0)?, text(row, 1)?, text(row, 2)?, number(row, 3)?);
            if let Some(end) = behind.filter(|end| end.rowid == rowid) {
                is_there = end.id.as_bytes() == id;
                return Ok(());
            }
            let Some(place) = places.find(message_id) else {
                is_complete = false;
                return Ok(());
            };
            match place + 1 < ids.len() {
                true => self.rows.parts.add(rowid, id, 0),
                false => self.last_part = self.last_part.min(rowid),
            }
            // In whatever order they come, the sum is the same.
            let digests = &mut self.session.digests;
            digests[place] = digests[place].wrapping_add(digest(id, data));
            if place >= self.known {
                let ids = [("id", id), ("sessionID", self.session_id.as_bytes()), ("messageID", message_id)];
                parts.push((place - self.known, id.to_owned(), add_row(&mut self.text, &ids, data, false)));
            }
            Ok(())
        })?;
        parts.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut rest = parts.as_slice();
        let lines = &mut self.session.lines;
        lines.reserve(self.text.len() + parts.len() + self.infos.len() * 32 + AROUND_BYTES);
        for (place, info) in self.infos.drain(..).enumerate() {
            let (own, others) = rest.split_at(rest.partition_point(|(of, ..)| *of <= place));
            lines.extend(["{\"info\":", &self.text[info], ",\"parts\":["]);
            for (index, (.., part)) in own.iter().enumerate() {
                lines.extend([if index > 0 { "," } else { "" }, &self.text[part.clone()]]);
            }
            lines.push_str("]}\n");
            rest = others;
        }
        self.messages = ids;
        Ok(is_complete && is_there)
    }

    fn finish(mut self) -> Session {
        if let Some(((_, _, last), before)) = self.messages.split_last() {
            before.iter().for_each(|(id, time, rowid)| self.rows.messages.add(*rowid, id, *time));
            let is_behind = *last > self.rows.messages.rowid && self.last_part > self.rows.parts.rowid;
            self.rows.has_summaries |= !self.session.summaries.is_empty();
            self.session.rows = is_behind.then_some(self.rows);
        }
        self.session
    }
}

/// Finds messages by their ids. Parts come in the order of their messages, as a rule.
struct Places<'m> {
    messages: &'m [(Vec<u8>, i64, i64)],
    /// Where the one is that was found last.
    next: usize,
    all: Option<HashMap<&'m [u8], usize>>,
}

impl Places<'_> {
    fn find(&mut self, id: &[u8]) -> Option<usize> {
        let near = (self.next..self.messages.len().min(self.next + 2)).find(|place| self.messages[*place].0 == id);
        let place = near.or_else(|| {
            let places = || self.messages.iter().zip(0..).map(|((id, ..), place)| (id.as_slice(), place)).collect();
            self.all.get_or_insert_with(places).get(id).copied()
        })?;
        self.next = place;
        Some(place)
    }
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

/// Returns a condition for the rows behind one, and for that: numbers are given out again, that of a row that is gone, or
/// all when the database is tidied up.
fn condition(rowid: &str, behind: Option<&End>) -> String {
    behind.map(|end| format!("AND {rowid} >= {}", end.rowid.max(1))).unwrap_or_default()
}

/// Returns what names the number of a row; a table can have none.
fn rowid(database: &Connection, table: &str) -> &'static str {
    if database.prepare(&format!("SELECT {ROWID} FROM {table}")).is_ok() { ROWID } else { "NULL" }
}

/// Returns a column as text; empty if it is none.
fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8]> {
    Ok(match row.get_ref(column).map_err(unreadable)? {
        ValueRef::Text(text) => text,
        _ => b"",
    })
}

/// Returns a column as a number; 0 if it is none.
fn number(row: &Row<'_>, column: usize) -> Result<i64> {
    Ok(row.get_ref(column).map_err(unreadable)?.as_i64().unwrap_or(0))
}

/// Adds what a row holds as JSON in one line, with the ids before it, which stand in columns of their own; returns where.
fn add_row(text: &mut String, ids: &[(&str, &[u8])], data: &[u8], has_summary: bool) -> Range<usize> {
    let start = text.len();
    // Mostly it is JSON in one line already, and has no ids.
    let is_plain = |text: &str| {
        let has_none = |ids: Ids| !(ids.id.0 || ids.session.0 || ids.message.0);
        // Half characters are written so.
        let is_whole = !has_summary && !text.contains('\n') && !text.contains("\\ud");
        is_whole && document::is_readable(text.as_bytes()) && serde_json::from_str(text).is_ok_and(has_none)
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
    if document::is_readable(data)
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

/// Whether a member is there, whatever it is.
#[derive(Default)]
struct IsThere(bool);

impl<'de> Deserialize<'de> for IsThere {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| IsThere(true))
    }
}
