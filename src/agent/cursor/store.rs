//! The database of a chat: blobs named by their SHA-256, and a root that says in which order they belong.
//!
//! As lines, each message is one, as it is in its blob, in the order in which the root leads to them. The last line has
//! what holds them together: the blobs that name others, with the others' line numbers in place of their names, and the
//! table `meta`. So the lines have no digests, which redaction would change, and the names are made anew from what is
//! there. Blobs that nothing leads to, such as earlier roots, are left out.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bstr::ByteSlice as _;
use rusqlite::{Connection, OptionalExtension as _, Statement, params};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::super::sqlite::{MAGIC, unreadable};
use super::super::{Anchor, Rendered, Wanted, json as record, sqlite};
use crate::error::{Error, Kind, Result};
use crate::transcript::{complete_lines, without_last_line};

/// The name of a blob.
type Id = [u8; 32];
type Ids = HashSet<Id, BuildHasherDefault<FirstBytes>>;
type ByName<T> = HashMap<Id, T, BuildHasherDefault<FirstBytes>>;

/// What a table of names is sorted by: names are digests already.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        // Before the name comes its length, which is always the same.
        self.0 = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

const TABLES: &str =
    "CREATE TABLE blobs(id text primary key,data blob);CREATE TABLE meta(key text primary key,value text);";
/// How the last line begins.
const STORE: &[u8] = b"{\"shiftlog\":\"store\",";
/// What stands before the name of a message in a root: a tag and a length.
const NAMED: &[u8] = b"\x0a\x20";
const NAMED_BYTES: usize = NAMED.len() + 32;
/// What is larger is not read before it is needed.
const MAX_MESSAGE_BYTES: i64 = 32 << 10;
/// How deep blobs that name others are followed.
const MAX_DEPTH: usize = 64;
/// How deep messages within messages are looked into.
const MAX_NESTING: usize = 8;
/// Text in binary data is left readable from this length on, so that secrets in it are found.
const TEXT_BYTES: usize = 6;

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
    let meta: Vec<(String, Option<String>, String)> = sqlite::rows(database, query, [])?
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
    let mut rendered = Rendered::of_lines(lines, known, total);
    if let Some(anchor) = &mut rendered.anchor {
        anchor.more = last_row.map_or_else(String::new, |row| row.to_string());
    }
    Ok(Rendered { holds, ..rendered })
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

/// Returns the names that a root begins with.
fn run(data: &[u8]) -> impl Iterator<Item = Id> {
    data.chunks_exact(NAMED_BYTES).map_while(|chunk| chunk.strip_prefix(NAMED)?.try_into().ok())
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

/// The line numbers of blobs.
#[derive(Default)]
struct Places {
    ids: Vec<Id>,
    all: OnceCell<ByName<usize>>,
}

impl Places {
    fn new(ids: Vec<Id>) -> Self {
        Places { ids, all: OnceCell::new() }
    }

    fn get(&self, id: &Id) -> Option<usize> {
        // The last is the root, for which the table asks.
        if self.ids.last()? == id {
            return Some(self.ids.len() - 1);
        }
        self.all.get_or_init(|| self.ids.iter().copied().zip(0..).collect()).get(id).copied()
    }

    /// Returns the lines whose names a root begins with, in stretches.
    fn named(&self, root: &[u8]) -> Vec<Range<usize>> {
        let mut stretches: Vec<Range<usize>> = Vec::new();
        // Where the messages go on that were not named before.
        let mut next = 0;
        for id in run(root) {
            let is_next = self.ids.get(next) == Some(&id);
            let Some(place) = (if is_next { Some(next) } else { self.get(&id) }) else { break };
            match stretches.last_mut() {
                Some(last) if is_next && last.end == place => last.end += 1,
                _ => stretches.push(place..place + 1),
            }
            next += usize::from(is_next);
        }
        stretches
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

/// Returns bytes in pieces, as a list in JSON: a number for the blob that is named there, text as it is, anything else as
/// base64 in a list. That a root begins with the names of messages is one piece, with the stretches of their lines.
fn cut(data: &[u8], places: &Places, is_root: bool) -> String {
    let mut seams = Vec::new();
    let mut pieces = Pieces::default();
    let named = if is_root { places.named(data) } else { Vec::new() };
    let mut at = named.iter().map(Range::len).sum::<usize>() * NAMED_BYTES;
    let mut start = at;
    if !named.is_empty() {
        let stretches: Vec<[usize; 2]> = named.iter().map(|stretch| [stretch.start, stretch.end]).collect();
        pieces.push(&json!({ "named": stretches }).to_string());
    }
    find_seams(&data[at..], at, at > 0, 0, &mut seams);
    while let Some(id) = data[at..].first_chunk() {
        if let Some(place) = places.get(id) {
            cut_plain(data, start..at, &seams, &mut pieces);
            pieces.push(&place.to_string());
            at += 32;
            start = at;
        } else {
            at += 1;
        }
    }
    cut_plain(data, start..data.len(), &seams, &mut pieces);
    format!("[{}]", pieces.0)
}

/// What is in a list, in JSON.
#[derive(Default)]
struct Pieces(String);

impl Pieces {
    fn push(&mut self, piece: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(piece);
    }
}

/// Finds where the strings of a message begin and end, in the wire format of protocol buffers, those of messages within
/// it too. A tag or a length that happens to be a letter would else stand before a secret and hide it.
fn find_seams(data: &[u8], offset: usize, is_message: bool, depth: usize, seams: &mut Vec<usize>) {
    for field in strings(data, is_message).into_iter().flatten() {
        seams.push(offset + field.start);
        if depth < MAX_NESTING {
            find_seams(&data[field.clone()], offset + field.start, false, depth + 1, seams);
        }
        seams.push(offset + field.end);
    }
}

/// Returns the strings of a message; `None` if it is none.
fn strings(data: &[u8], is_message: bool) -> Option<Vec<Range<usize>>> {
    // Text is a message only if it is nothing but strings: prose shall not be taken for one.
    let is_text = !is_message && std::str::from_utf8(data).is_ok_and(|text| text.chars().all(is_readable));
    let mut strings = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let tag = varint(data, &mut at)?;
        match tag & 7 {
            _ if tag >> 3 == 0 => return None,
            2 => {
                let length = usize::try_from(varint(data, &mut at)?).ok()?;
                let end = at.checked_add(length).filter(|end| *end <= data.len())?;
                strings.push(at..end);
                at = end;
            }
            _ if is_text => return None,
            0 => drop(varint(data, &mut at)?),
            1 => at += 8,
            5 => at += 4,
            _ => return None,
        }
    }
    (at == data.len()).then_some(strings)
}

fn varint(data: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let byte = *data.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn is_readable(c: char) -> bool {
    !c.is_control() || matches!(c, '\n' | '\t' | '\r')
}

/// Cuts a stretch of `data` that names no blobs; no text goes across one of the `seams`.
fn cut_plain(data: &[u8], stretch: Range<usize>, seams: &[usize], pieces: &mut Pieces) {
    let mut binary = Vec::new();
    let flush = |binary: &mut Vec<u8>, pieces: &mut Pieces| {
        if !binary.is_empty() {
            pieces.push(&format!("[\"{}\"]", BASE64_STANDARD.encode(std::mem::take(binary))));
        }
    };
    let mut at = stretch.start;
    while at < stretch.end {
        let seam = seams.get(seams.partition_point(|seam| *seam <= at));
        let rest = &data[at..seam.map_or(stretch.end, |seam| stretch.end.min(*seam))];
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        let text = valid.find(|c| !is_readable(c)).map_or(valid, |end| &valid[..end]);
        let length = text.len().max(1);
        if text.len() >= TEXT_BYTES {
            flush(&mut binary, pieces);
            pieces.push(&Value::from(text).to_string());
        } else {
            binary.extend_from_slice(&rest[..length]);
        }
        at += length;
    }
    flush(&mut binary, pieces);
}

/// Does the same for text in which blobs are named in hex.
fn cut_text(text: &str, places: &Places) -> Value {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at + 64 <= text.len() {
        if let Some(place) = text.get(at..at + 64).and_then(id).and_then(|id| places.get(&id)) {
            pieces.push(json!(&text[start..at]));
            pieces.push(json!(place));
            at += 64;
            start = at;
        } else {
            at += 1;
        }
    }
    pieces.push(json!(&text[start..]));
    Value::Array(pieces)
}

/// How a blob is named.
#[derive(Clone, Copy)]
enum Form {
    Bytes,
    /// The same, where the first lines may be named as one.
    Root,
    Hex,
}

/// Puts pieces together again. A blob that is not among `ids` is left out where names are hex, else nothing comes of it.
fn joined(pieces: &Value, ids: &[Id], form: Form) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for piece in pieces.as_array()? {
        match piece {
            Value::Number(place) => match (ids.get(usize::try_from(place.as_u64()?).ok()?), form) {
                (Some(id), Form::Bytes | Form::Root) => data.extend_from_slice(id),
                (Some(id), Form::Hex) => data.extend(hex(id).bytes()),
                (None, Form::Hex) => {}
                (None, Form::Bytes | Form::Root) => return None,
            },
            Value::String(text) => data.extend(text.bytes()),
            Value::Object(run) if matches!(form, Form::Root) && data.is_empty() => {
                data = named(&serde_json::from_value::<Vec<[usize; 2]>>(run.get("named")?.clone()).ok()?, ids)?;
            }
            Value::Array(binary) => data.extend(BASE64_STANDARD.decode(binary.first()?.as_str()?).ok()?),
            _ => return None,
        }
    }
    Some(data)
}

/// Returns the beginning of a root that names blobs in stretches.
fn named(stretches: &[[usize; 2]], ids: &[Id]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    // A few bytes must not become any number of them: what is named again has a stretch of its own.
    let most = (ids.len() + stretches.len()) * NAMED_BYTES;
    for [start, end] in stretches {
        for id in ids.get(*start..*end)? {
            data.extend_from_slice(NAMED);
            data.extend_from_slice(id);
        }
        if data.len() > most {
            return None;
        }
    }
    Some(data)
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

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks();
    if text.is_empty() || !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|pair| byte_of(*pair)).collect()
}

/// Returns the byte that two digits stand for.
fn byte_of(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    });
    Some(high? << 4 | low?)
}

fn id(hex: &str) -> Option<Id> {
    let (pairs, rest) = hex.as_bytes().as_chunks();
    let mut id = Id::default();
    if pairs.len() != id.len() || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(pairs) {
        *byte = byte_of(*pair)?;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::expand;

    #[test]
    fn neither_a_length_nor_a_tag_is_glued_to_a_text() {
        for secret in [expand("ghp_{a36}"), expand("AKIA{u16}")] {
            let lengths = (secret.len()..128).filter_map(|length| u8::try_from(length).ok());
            for length in lengths.filter(u8::is_ascii_alphanumeric) {
                let text = format!("{secret}{}", " ".repeat(usize::from(length) - secret.len()));
                let field = |tag| [&[tag, length][..], text.as_bytes()].concat();
                let fields = [field(b'\n'), field(b'2'), vec![b'8', 1]].concat();
                let outer = [vec![0x12, 0x80 | (fields.len() & 0x7F) as u8, (fields.len() >> 7) as u8], fields.clone()];
                for data in [fields.clone(), outer.concat()] {
                    let pieces: Value =
                        serde_json::from_str(&cut(&data, &Places::default(), false)).expect("it is JSON");
                    let texts = pieces.as_array().expect("a list").iter().filter_map(Value::as_str);
                    assert_eq!(texts.collect::<Vec<_>>(), [&text, &text], "behind {:?}", char::from(length));
                    assert_eq!(joined(&pieces, &[], Form::Bytes), Some(data));
                }
            }
        }
    }
}
