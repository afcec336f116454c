//! The database of a chat: blobs named by their SHA-256, and a root that says in which order they belong.
//!
//! As lines, each message is one, as it is in its blob, in the order in which the root leads to them. The last line has
//! what holds them together: the blobs that name others, with the others' line numbers in place of their names, and the
//! table `meta`. So the lines have no digests, which redaction would change, and the names are made anew from what is
//! there. Blobs that nothing leads to, such as earlier roots, are left out.

use bstr::ByteSlice as _;
use rusqlite::{Connection, OptionalExtension as _, Statement, params};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::super::sqlite::{MAGIC, unreadable};
use super::super::{Anchor, Rendered, Wanted, json as record, sqlite};
use super::names::{ByName, Id, Ids, NAMED_BYTES, Names, hex, id, run, unhex};
use super::pieces::{Form, cut, cut_text, joined};
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
    let known = known.filter(|known| named_before(data, known).is_some());
    let holds = known.is_some();
    let known = known.filter(|_| wanted != Wanted::Whole);
    let before = known.and_then(|known| named_before(data, known)).unwrap_or_default();
    if before.is_empty() {
        walk.names()?;
    }
    walk.messages.reserve(before.len() / NAMED_BYTES);
    walk.messages.extend(run(before));
    walk.passed = walk.messages.len();
    let start = before.len();
    let total = match root {
        Some((root, data)) => {
            let children = walk.children(&data[start..])?;
            walk.visit_node(root, data, &children, 0)?;
            walk.named(start)
        }
        None => {
            self::ids(database, "SELECT id FROM blobs ORDER BY rowid")?
                .into_iter()
                .try_for_each(|id| walk.visit(id, 1))?;
            None
        }
    };
    let mut rendered = lines_of(walk, meta, known, total);
    if let Some(anchor) = &mut rendered.anchor {
        anchor.more = last_row.map_or_else(String::new, |row| row.to_string());
    }
    Ok(Rendered { holds, ..rendered })
}

/// Returns the beginning of a root that names the messages that are known, if it is the same; they need not be looked up.
fn named_before<'r>(root: &'r [u8], known: &Anchor) -> Option<&'r [u8]> {
    let bytes = usize::try_from(known.text).ok().filter(|count| *count > 0)?.checked_mul(NAMED_BYTES)?;
    root.get(..bytes).filter(|before| check(before) == known.check)
}

/// Makes lines of what a walk has found, and of the table `meta`. `total` is how many names the root has of the messages,
/// and what those are known by.
fn lines_of(walk: Walk<'_>, meta: Vec<MetaRow>, known: Option<&Anchor>, total: Option<(u64, String)>) -> Rendered {
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

fn ids(database: &Connection, query: &str) -> Result<Vec<Id>> {
    let mut ids = Vec::new();
    sqlite::each(database, query, [], |row| {
        ids.extend(row.get_ref(0).map_err(unreadable)?.as_str().ok().and_then(id));
        Ok(())
    })?;
    Ok(ids)
}

/// Returns what messages are known by: of how they are named in a root.
fn check(named: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(named))
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
    /// The blobs that name no others, in the order of the chat. What is named twice is one blob, and one line.
    messages: Names,
    /// How many of them are known, and were not read.
    passed: usize,
    /// The others, and whether they can be lines as they stand.
    leaves: Vec<(Vec<u8>, bool)>,
    /// Those of the nodes that are visited or about to be.
    seen: Ids,
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
            messages: Names::default(),
            passed: 0,
            leaves: Vec::new(),
            seen: Ids::default(),
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
        if self.is_seen(&id) || self.read.contains_key(&id) {
            return Ok(true);
        }
        let data = self.blob(id)?;
        let is_there = data.is_some();
        self.read.extend(data.map(|data| (id, data)));
        Ok(is_there)
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
        let children = if is_message { Vec::new() } else { self.children(&data)? };
        if !children.is_empty() {
            return self.visit_node(id, data, &children, depth);
        }
        self.messages.insert(id);
        self.leaves.push((data, is_message));
        Ok(())
    }

    /// Visits those that a blob names, and then it. A root is none of the messages, also when there are none yet.
    fn visit_node(&mut self, id: Id, data: Vec<u8>, children: &[Id], depth: usize) -> Result<()> {
        self.seen.insert(id);
        for child in children {
            self.visit(*child, depth + 1)?;
        }
        self.nodes.push((id, data));
        Ok(())
    }

    /// Returns how many names the root begins with, and what they are known by, if they are those of the messages, in that
    /// order. Up to `start` they are.
    fn named(&self, start: usize) -> Option<(u64, String)> {
        let (_, root) = self.nodes.last()?;
        let mut next = self.passed;
        let is_next = |id: &Id| {
            let place = self.messages.get_index_of(id);
            let is_new = place == Some(next);
            next += usize::from(is_new);
            is_new || place.is_some_and(|place| place < next)
        };
        let bytes = start + run(&root[start..]).take_while(is_next).count() * NAMED_BYTES;
        let is_all = next > 0 && next == self.messages.len();
        is_all.then(|| ((bytes / NAMED_BYTES) as u64, check(&root[..bytes])))
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
