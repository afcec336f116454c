//! The database of a chat: blobs named by their SHA-256, and a root that says in which order they belong.
//!
//! As lines, each message is one line with the content of its blob, in the order of the root. The last line has the
//! blobs that name others, with line numbers instead of names, and the table `meta`. So the lines have no digests,
//! which redaction would make wrong, and the names are computed when the database is restored. Blobs that cannot be
//! reached from the root, such as earlier roots, are left out.

use std::time::Instant;

use bstr::ByteSlice as _;
use rusqlite::{Connection, OptionalExtension as _, Statement, params};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::sqlite::{MAGIC, unreadable};
use super::super::{json as record, sqlite};
use super::names::{Id, Ids, NAMED_BYTES, Names, id, run};
use super::pieces::{Form, cut, cut_text, joined};
use crate::error::{Error, Kind, Result};
use crate::hex::{hex, unhex};
use crate::transcript::complete_lines;

const TABLES: &str =
    "CREATE TABLE blobs(id text primary key,data blob);CREATE TABLE meta(key text primary key,value text);";
/// How the last line begins.
const STORE: &[u8] = b"{\"shiftlog\":\"store\",";
/// How deep blobs that name others are followed.
const MAX_DEPTH: usize = 64;

/// Opens a database that is in memory.
///
/// # Errors
///
/// If it is none.
pub fn from_bytes(bytes: &[u8]) -> Result<Connection> {
    if !bytes.starts_with(MAGIC) {
        return Err(Error::other("it is no database"));
    }
    let mut bytes = bytes.to_vec();
    // In memory there is no log beside it.
    if let Some(versions) = bytes.get_mut(18..20) {
        versions.fill(1);
    }
    let mut database = Connection::open_in_memory().map_err(unreadable)?;
    database.deserialize_read_exact("main", &bytes[..], bytes.len(), true).map_err(unreadable)?;
    Ok(database)
}

/// A row of the table `meta`: its key, its value as text if that is text in hex, and its value.
type MetaRow = (String, Option<String>, String);

/// Reads a chat as lines.
///
/// # Errors
///
/// If the database cannot be read; [`Kind::Busy`] if reading takes until `deadline`.
pub fn read(database: &Connection, deadline: Option<Instant>) -> Result<Vec<u8>> {
    // One moment of it, while the agent writes.
    let change = database.unchecked_transaction().map_err(unreadable)?;
    let database: &Connection = &change;
    let query = "SELECT key, CAST(value AS TEXT) AS value FROM meta ORDER BY rowid";
    let meta: Vec<MetaRow> = sqlite::rows(database, query, [])?
        .into_iter()
        .filter_map(|row| {
            let value = row.get("value")?.as_str()?.to_owned();
            let decoded =
                unhex(&value).filter(|bytes| !bytes.is_empty()).and_then(|bytes| String::from_utf8(bytes).ok());
            Some((row.get("key")?.as_str()?.to_owned(), decoded, value))
        })
        .collect();
    let names = ids(database, "SELECT id FROM blobs ORDER BY rowid")?;
    if meta.is_empty() && names.is_empty() {
        return Err(Error::new(Kind::Missing, "the database has no chat"));
    }
    let root = |text: &String| id(serde_json::from_str::<Value>(text).ok()?.get("latestRootBlobId")?.as_str()?);
    let root = meta.iter().filter_map(|(_, decoded, _)| decoded.as_ref()).find_map(root);
    let mut walk = Walk::new(database, &names, deadline)?;
    let root = match root {
        Some(root) => walk.blob(root)?.map(|data| (root, data)),
        None => None,
    };
    match root {
        Some((root, data)) => {
            let children = walk.children(&data);
            walk.visit_node(root, data, &children, 0)?;
        }
        None => names.iter().try_for_each(|id| walk.visit(*id, 1))?,
    }
    Ok(lines_of(walk, meta))
}

/// Makes lines of what a walk has found, and of the table `meta`.
fn lines_of(walk: Walk<'_>, meta: Vec<MetaRow>) -> Vec<u8> {
    let Walk { messages: mut names, leaves, nodes, .. } = walk;
    names.extend(nodes.iter().map(|(id, _)| *id));
    let mut lines = Vec::with_capacity(leaves.iter().map(|(data, _)| data.len() + 1).sum());
    for (data, is_message) in &leaves {
        match is_message {
            true => lines.extend_from_slice(data),
            false => {
                let data = cut(data, &Names::default(), false);
                lines.extend(format!("{{\"shiftlog\":\"blob\",\"data\":{data}}}").bytes())
            }
        }
        lines.push(b'\n');
    }
    let is_last = |index| index + 1 == nodes.len();
    let nodes: Vec<String> =
        nodes.iter().enumerate().map(|(index, (_, data))| cut(data, &names, is_last(index))).collect();
    let meta: Vec<Value> = meta
        .into_iter()
        .map(|(key, decoded, value)| match decoded {
            Some(text) => json!({ "key": key, "hex": cut_text(&text, &names) }),
            None => json!({ "key": key, "value": value }),
        })
        .collect();
    lines.extend_from_slice(STORE);
    lines.extend(format!("\"blobs\":[{}],\"meta\":{}}}\n", nodes.join(","), Value::from(meta)).bytes());
    lines
}

fn ids(database: &Connection, query: &str) -> Result<Vec<Id>> {
    let mut ids = Vec::new();
    sqlite::each(database, query, [], |row| {
        ids.extend(row.get_ref(0).map_err(unreadable)?.as_str().ok().and_then(id));
        Ok(())
    })?;
    Ok(ids)
}

/// Returns the database that lines stand for; `None` if they stand for none.
pub fn to_bytes(lines: &[u8]) -> Option<Vec<u8>> {
    let (blobs, meta) = rebuilt(lines)?;
    let make = || -> rusqlite::Result<Vec<u8>> {
        let mut database = Connection::open_in_memory()?;
        database.execute_batch(TABLES)?;
        let change = database.transaction()?;
        for (id, data) in &blobs {
            change.execute("INSERT OR IGNORE INTO blobs VALUES(?1, ?2)", params![hex(id), data])?;
        }
        for (key, value) in &meta {
            change.execute("INSERT OR IGNORE INTO meta VALUES(?1, ?2)", params![key, value])?;
        }
        change.commit()?;
        Ok(database.serialize("main")?.to_vec())
    };
    make().ok()
}

/// Returns the length of the lines without the last one, if that holds the others together.
pub fn lines_that_stay(lines: &[u8]) -> usize {
    last_line(lines).filter(|(_, last)| last.starts_with(STORE)).map_or(lines.len(), |(before, _)| before.len())
}

/// Returns the id of a chat, from the last of its lines.
pub fn chat_id(lines: &[u8]) -> Option<String> {
    let last: Value = serde_json::from_slice(last_line(lines)?.1).ok()?;
    last.get("meta")?.as_array()?.iter().find_map(|row| {
        let text = joined(row.get("hex")?, &[], Form::Hex)?;
        let value: Value = serde_json::from_slice(&text).ok()?;
        Some(value.get("agentId")?.as_str()?.to_owned())
    })
}

/// Finds what belongs to a chat.
struct Walk<'d> {
    select: Statement<'d>,
    /// When reading ends.
    deadline: Option<Instant>,
    /// The names of all blobs.
    names: Ids,
    /// The blobs that name no others, in the order of the chat. What is named twice is one blob, and one line.
    messages: Names,
    /// The data of those messages, and whether each is one line of JSON already.
    leaves: Vec<(Vec<u8>, bool)>,
    /// The nodes that are visited or in the queue.
    seen: Ids,
    /// Blobs that name others, each behind those.
    nodes: Vec<(Id, Vec<u8>)>,
}

impl<'d> Walk<'d> {
    fn new(database: &'d Connection, names: &[Id], deadline: Option<Instant>) -> Result<Self> {
        Ok(Walk {
            select: database.prepare("SELECT CAST(data AS BLOB) FROM blobs WHERE id = ?1").map_err(unreadable)?,
            deadline,
            names: names.iter().copied().collect(),
            messages: Names::default(),
            leaves: Vec::new(),
            seen: Ids::default(),
            nodes: Vec::new(),
        })
    }

    fn blob(&mut self, id: Id) -> Result<Option<Vec<u8>>> {
        sqlite::in_time(self.deadline)?;
        self.select.query_row([hex(&id)], |row| row.get(0)).optional().map_err(unreadable)
    }

    fn is_seen(&self, id: &Id) -> bool {
        self.messages.contains(id) || self.seen.contains(id)
    }

    fn visit(&mut self, id: Id, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH || self.is_seen(&id) {
            return Ok(());
        }
        let Some(data) = self.blob(id)? else { return Ok(()) };
        let is_message = is_message(&data);
        let children = if is_message { Vec::new() } else { self.children(&data) };
        if !children.is_empty() {
            return self.visit_node(id, data, &children, depth);
        }
        self.messages.insert(id);
        self.leaves.push((data, is_message));
        Ok(())
    }

    /// Visits the blobs that a blob names, and then the blob itself. A root is no message, even if there are no
    /// messages yet.
    fn visit_node(&mut self, id: Id, data: Vec<u8>, children: &[Id], depth: usize) -> Result<()> {
        self.seen.insert(id);
        for child in children {
            self.visit(*child, depth + 1)?;
        }
        self.nodes.push((id, data));
        Ok(())
    }

    /// Returns the names of blobs that stand in this one.
    fn children(&self, data: &[u8]) -> Vec<Id> {
        let mut children: Vec<Id> = run(data).take_while(|id| self.names.contains(id)).collect();
        let mut rest = &data[children.len() * NAMED_BYTES..];
        while let Some(id) = rest.first_chunk() {
            let is_child = self.names.contains(id);
            children.extend(is_child.then_some(*id));
            rest = &rest[if is_child { 32 } else { 1 }..];
        }
        children
    }
}

/// Says whether a blob is a message, which can be a line as it stands.
fn is_message(data: &[u8]) -> bool {
    let is_line = data.starts_with(b"{") && !data.contains(&b'\n');
    // A name can be written with escapes.
    let is_plain = || !data.contains_str("shiftlog") && !data.contains_str("\\u") && data.to_str().is_ok();
    let is_json = || serde_json::from_slice::<IgnoredAny>(data).is_ok();
    let value = || serde_json::from_slice::<serde_json_borrow::Value<'_>>(data);
    let is_foreign = || value().is_ok_and(|value| record::field(&value, "shiftlog").is_none());
    is_line && if is_plain() { is_json() } else { is_foreign() }
}

type Blobs = Vec<(Id, Vec<u8>)>;
type Meta = Vec<(String, String)>;

/// Makes the rows of both tables, from the bottom up: a name is the digest of what has it.
fn rebuilt(lines: &[u8]) -> Option<(Blobs, Meta)> {
    let (messages, last) = last_line(lines)?;
    let last: Value = serde_json::from_slice(last).ok()?;
    if last.get("shiftlog")?.as_str()? != "store" {
        return None;
    }
    let mut blobs: Blobs = Vec::new();
    for line in messages.strip_suffix(b"\n").into_iter().flat_map(|lines| lines.split(|byte| *byte == b'\n')) {
        let data = match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.get("shiftlog").is_some() => joined(value.get("data")?, &[], Form::Bytes)?,
            _ => line.to_vec(),
        };
        blobs.push((Sha256::digest(&data).into(), data));
    }
    let mut ids: Vec<Id> = blobs.iter().map(|(id, _)| *id).collect();
    let nodes = last.get("blobs")?.as_array()?;
    for (index, pieces) in nodes.iter().enumerate() {
        let form = if index + 1 == nodes.len() { Form::Root } else { Form::Bytes };
        let data = joined(pieces, &ids, form)?;
        let id = Sha256::digest(&data).into();
        ids.push(id);
        blobs.push((id, data));
    }
    let row = |row: &Value| {
        let value = match row.get("hex") {
            Some(pieces) => hex(&joined(pieces, &ids, Form::Hex)?),
            None => row.get("value")?.as_str()?.to_owned(),
        };
        Some((row.get("key")?.as_str()?.to_owned(), value))
    };
    let meta = last.get("meta")?.as_array()?.iter().map(row).collect::<Option<Meta>>()?;
    Some((blobs, meta))
}

/// Splits lines into those before the last one, and the last one.
fn last_line(lines: &[u8]) -> Option<(&[u8], &[u8])> {
    let lines = lines.strip_suffix(b"\n")?;
    Some(lines.split_at(complete_lines(lines)))
}
