//! The database of a chat: blobs named by their SHA-256, and a root that says in which order they belong.
//!
//! As lines, each message is one, as it is in its blob, in the order in which the root leads to them. The last line has
//! what holds them together: the blobs that name others, with the others' line numbers in place of their names, and the
//! table `meta`. So the lines have no digests, which redaction would change, and the names are made anew from what is
//! there. Blobs that nothing leads to, such as earlier roots, are left out.

use std::hash::BuildHasherDefault;

use bstr::ByteSlice as _;
use rusqlite::{Connection, OptionalExtension as _, Statement, params};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::super::sqlite::{MAGIC, unreadable};
use super::super::{Anchor, Rendered, Wanted, json as record, sqlite};
use super::names::{ByName, Id, Ids, NAMED_BYTES, hex, id, run, unhex};
use super::pieces::{Form, Places, cut, cut_text, joined};
use crate::error::{Error, Kind, Result};
use crate::transcript::{complete_lines, without_last_line};

const TABLES: &str =
    "CREATE TABLE blobs(id text primary key,data blob);CREATE TABLE meta(key text primary key,value text);";
/// How the last line begins.
const STORE: &[u8] = b"{\"shiftlog\":\"store\",";
/// What is larger is not read before it is needed.
const MAX_MESSAGE_BYTES: i64 = 32 << 10;
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

/// Reads a chat as lines, without those of the messages that are known, unless the whole is wanted: the root must still
/// name them first. What a blob holds never changes, since that is what its name is made of.
///
/// # Errors
///
/// If the database cannot be read.
pub fn read(database: &Connection, known: Option<&Anchor>, wanted: Wanted) -> Result<Rendered> {
    // One moment of it, while the agent writes.
    let change = database.unchecked_transaction().map_err(unreadable)?;
    let database: &Connection = &change;
    let query = "SELECT key, CAST(value AS TEXT) AS value FROM meta ORDER BY rowid";
    let meta: Vec<MetaRow> = sqlite::rows(database, query, [])?
        .into_iter()
        .filter_map(|row| {
            let value = row.get("value")?.as_str()?.to_owned();
            let decoded = unhex(&value).and_then(|bytes| String::from_utf8(bytes).ok());
            Some((row.get("key")?.as_str()?.to_owned(), decoded, value))
        })
        .collect();
    let root = |text: &String| id(serde_json::from_str::<Value>(text).ok()?.get("latestRootBlobId")?.as_str()?);
    let root = meta.iter().filter_map(|(_, decoded, _)| decoded.as_ref()).find_map(root);
    if meta.is_empty() && ids(database, "SELECT id FROM blobs LIMIT 1")?.is_empty() {
        return Err(Error::new(Kind::Missing, "the database has no chat"));
    }
    let mut walk = Walk::new(database)?;
    let last_row = last_row(database)?;
    if let Some(row) = known.and_then(|known| known.more.parse().ok()).filter(|_| wanted != Wanted::Whole) {
        walk.read_behind(row)?;
    }
    let root = match root {
        Some(root) => walk.blob(root)?.map(|data| (root, data)),
        None => None,
    };
    let data = root.as_ref().map_or(&[][..], |(_, data)| data);
    let beginning = known.and_then(|known| Beginning::of(data, known));
    if beginning.is_none() {
        walk.names()?;
    }
    let Beginning { mut children, messages: mut first, seen } = beginning.unwrap_or_default();
    let rest = walk.children(&data[children.len() * NAMED_BYTES..])?;
    let mut also = Ids::default();
    first.extend(rest.iter().copied().filter(|id| !seen.contains(id) && also.insert(*id)));
    children.extend(rest);
    let count = known.and_then(|known| usize::try_from(known.text).ok()).unwrap_or(0);
    let known = known.filter(|known| count > 0 && first.get(..count).is_some_and(|first| check(first) == known.check));
    let holds = known.is_some();
    let known = known.filter(|_| wanted != Wanted::Whole);
    if known.is_some() {
        walk.passed = first[..count].to_vec();
        walk.seen = if seen.len() == count { seen } else { walk.passed.iter().copied().collect() };
    }
    match root {
        Some((root, data)) => walk.visit_all(root, data, &children, 0)?,
        None => self::ids(database, "SELECT id FROM blobs ORDER BY rowid")?
            .into_iter()
            .try_for_each(|id| walk.visit(id, 1))?,
    }
    let mut rendered = lines_of(walk, meta, &first, known);
    if let Some(anchor) = &mut rendered.anchor {
        anchor.more = last_row.map_or_else(String::new, |row| row.to_string());
    }
    Ok(Rendered { holds, ..rendered })
}

/// Makes lines of what a walk has found, and of the table `meta`. `first` is what the root names, in its order.
fn lines_of(walk: Walk<'_>, meta: Vec<MetaRow>, first: &[Id], known: Option<&Anchor>) -> Rendered {
    let Walk { passed, leaves, nodes, .. } = walk;
    let messages: Vec<Id> = passed.iter().copied().chain(leaves.iter().map(|(id, _)| *id)).collect();
    let is_simple = first.starts_with(&messages) && !messages.is_empty();
    let total = is_simple.then(|| (messages.len() as u64, check(&messages)));
    let places = Places::new(messages.into_iter().chain(nodes.iter().map(|(id, _)| *id)).collect());
    let mut lines = Vec::new();
    for (_, data) in &leaves {
        match is_message(data) {
            true => lines.extend_from_slice(data),
            false => {
                let data = cut(data, &Places::default(), false);
                lines.extend(format!("{{\"shiftlog\":\"blob\",\"data\":{data}}}").bytes())
            }
        }
        lines.push(b'\n');
    }
    let is_last = |index| index + 1 == nodes.len();
    let nodes: Vec<String> =
        nodes.iter().enumerate().map(|(index, (_, data))| cut(data, &places, is_last(index))).collect();
    let meta: Vec<Value> = meta
        .into_iter()
        .map(|(key, decoded, value)| match decoded {
            Some(text) => json!({ "key": key, "hex": cut_text(&text, &places) }),
            None => json!({ "key": key, "value": value }),
        })
        .collect();
    lines.extend_from_slice(STORE);
    lines.extend(format!("\"blobs\":[{}],\"meta\":{}}}\n", nodes.join(","), Value::from(meta)).bytes());
    let total = total.map(|(count, check)| (without_last_line(&lines), count, check));
    Rendered::of_lines(lines, known, total)
}

/// Returns the number of the last row with a blob.
fn last_row(database: &Connection) -> Result<Option<i64>> {
    let mut last = None;
    sqlite::each(database, "SELECT max(rowid) FROM blobs", [], |row| {
        last = row.get_ref(0).map_err(unreadable)?.as_i64().ok();
        Ok(())
    })?;
    Ok(last)
}

/// The beginning of a root: the names of the messages that are known. They need not be looked up.
#[derive(Default)]
struct Beginning {
    /// What is named.
    children: Vec<Id>,
    /// The same without what is named twice: that is one blob, and one line.
    messages: Vec<Id>,
    seen: Ids,
}

impl Beginning {
    /// Returns it if a root begins so.
    fn of(root: &[u8], known: &Anchor) -> Option<Self> {
        let count = usize::try_from(known.text).ok().filter(|count| *count > 0)?;
        // What was known can be more than there is.
        let capacity = count.min(root.len() / NAMED_BYTES);
        let mut beginning = Beginning {
            children: Vec::with_capacity(capacity),
            messages: Vec::with_capacity(capacity),
            seen: Ids::with_capacity_and_hasher(capacity, BuildHasherDefault::default()),
        };
        for id in run(root) {
            beginning.children.push(id);
            beginning.messages.extend(beginning.seen.insert(id).then_some(id));
            if beginning.messages.len() == count {
                return (check(&beginning.messages) == known.check).then_some(beginning);
            }
        }
        None
    }
}

fn ids(database: &Connection, query: &str) -> Result<Vec<Id>> {
    let mut ids = Vec::new();
    sqlite::each(database, query, [], |row| {
        ids.extend(row.get_ref(0).map_err(unreadable)?.as_str().ok().and_then(id));
        Ok(())
    })?;
    Ok(ids)
}

/// Returns what messages are known by.
fn check(ids: &[Id]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(ids.as_flattened()))
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
    database: &'d Connection,
    select: Statement<'d>,
    /// The names of all blobs, once they are needed.
    names: Option<Ids>,
    /// Blobs that were read to see whether they are there.
    read: ByName<Vec<u8>>,
    seen: Ids,
    /// Blobs that are known, and were not read.
    passed: Vec<Id>,
    /// Blobs that name no others, in the order of the chat.
    leaves: Vec<(Id, Vec<u8>)>,
    /// Blobs that name others, each behind those.
    nodes: Vec<(Id, Vec<u8>)>,
}

impl<'d> Walk<'d> {
    fn new(database: &'d Connection) -> Result<Self> {
        Ok(Walk {
            database,
            select: database.prepare("SELECT CAST(data AS BLOB) FROM blobs WHERE id = ?1").map_err(unreadable)?,
            names: None,
            read: ByName::default(),
            seen: Ids::default(),
            passed: Vec::new(),
            leaves: Vec::new(),
            nodes: Vec::new(),
        })
    }

    /// Reads the blobs in the rows behind one, which most likely are those that are wanted: one by one it takes three times
    /// as long. The roots of long chats are left out: there is one for each step.
    fn read_behind(&mut self, row: i64) -> Result<()> {
        let query = "SELECT id, CAST(data AS BLOB) FROM blobs WHERE rowid > ?1 AND length(data) < ?2";
        sqlite::each(self.database, query, [row, MAX_MESSAGE_BYTES], |row| {
            if let (Some(id), Ok(data)) = (row.get_ref(0).map_err(unreadable)?.as_str().ok().and_then(id), row.get(1)) {
                self.read.insert(id, data);
            }
            Ok(())
        })
    }

    fn blob(&mut self, id: Id) -> Result<Option<Vec<u8>>> {
        if let Some(data) = self.read.remove(&id) {
            return Ok(Some(data));
        }
        self.select.query_row([hex(&id)], |row| row.get(0)).optional().map_err(unreadable)
    }

    fn names(&mut self) -> Result<&Ids> {
        if self.names.is_none() {
            // In no order they are in their index, which is far shorter than the table.
            self.names = Some(ids(self.database, "SELECT id FROM blobs")?.into_iter().collect());
        }
        Ok(self.names.get_or_insert_default())
    }

    /// Says whether a blob has this name; what it holds is wanted next.
    fn is_there(&mut self, id: Id) -> Result<bool> {
        if let Some(names) = &self.names {
            return Ok(names.contains(&id));
        }
        if self.seen.contains(&id) || self.read.contains_key(&id) {
            return Ok(true);
        }
        let data = self.blob(id)?;
        let is_there = data.is_some();
        self.read.extend(data.map(|data| (id, data)));
        Ok(is_there)
    }

    fn visit(&mut self, id: Id, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH || self.seen.contains(&id) {
            return Ok(());
        }
        let Some(data) = self.blob(id)? else { return Ok(()) };
        let children = if is_message(&data) { Vec::new() } else { self.children(&data)? };
        self.visit_all(id, data, &children, depth)
    }

    /// Visits a blob, and first those that it names.
    fn visit_all(&mut self, id: Id, data: Vec<u8>, children: &[Id], depth: usize) -> Result<()> {
        self.seen.insert(id);
        for child in children {
            self.visit(*child, depth + 1)?;
        }
        // A root is none of the messages, also when there are none yet.
        let is_node = !children.is_empty() || depth == 0;
        if is_node {
            self.nodes.push((id, data))
        } else {
            self.leaves.push((id, data))
        }
        Ok(())
    }

    /// Returns the names of blobs that stand in this one.
    fn children(&mut self, data: &[u8]) -> Result<Vec<Id>> {
        let (mut children, mut rest) = (Vec::new(), data);
        while let Some(id) = run(rest).next()
            && self.is_there(id)?
        {
            children.push(id);
            rest = &rest[NAMED_BYTES..];
        }
        if rest.len() < 32 {
            return Ok(children);
        }
        let names = self.names()?;
        while let Some(id) = rest.first_chunk() {
            let is_child = names.contains(id);
            children.extend(is_child.then_some(*id));
            rest = &rest[if is_child { 32 } else { 1 }..];
        }
        Ok(children)
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

/// Returns what stands before the last line, and that.
fn last_line(lines: &[u8]) -> Option<(&[u8], &[u8])> {
    let lines = lines.strip_suffix(b"\n")?;
    Some(lines.split_at(complete_lines(lines)))
}
