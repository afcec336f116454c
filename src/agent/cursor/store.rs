//! The database of a chat: blobs named by their SHA-256, and a root that says in which order they belong.
//!
//! As lines, each message is one, as it is in its blob, in the order in which the root leads to them. The last line has
//! what holds them together: the blobs that name others, with the others' line numbers in place of their names, and the
//! table `meta`. So the lines have no digests, which redaction would change, and the names are made anew from what is
//! there. Blobs that nothing leads to, such as earlier roots, are left out.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rusqlite::{Connection, OptionalExtension as _, Statement, params};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::super::sqlite::{MAGIC, unreadable};
use super::super::{Anchor, Rendered, json as record, sqlite};
use crate::error::{Error, Kind, Result};
use crate::transcript::{complete_lines, without_last_line};

/// The name of a blob.
type Id = [u8; 32];
type Ids = HashSet<Id, BuildHasherDefault<FirstBytes>>;
/// The line numbers of blobs.
type Places = HashMap<Id, usize, BuildHasherDefault<FirstBytes>>;

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
pub fn read(database: &mut Connection, known: Option<&Anchor>, is_whole: bool) -> Result<Rendered> {
    // One moment of it, while the agent writes.
    let change = database.transaction().map_err(unreadable)?;
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
    // In no order they are in their index, which is far shorter than the table.
    let ids = ids(database, "SELECT id FROM blobs")?;
    if meta.is_empty() && ids.is_empty() {
        return Err(Error::new(Kind::Missing, "the database has no chat"));
    }
    let root = |text: &String| id(serde_json::from_str::<Value>(text).ok()?.get("latestRootBlobId")?.as_str()?);
    let root = meta.iter().filter_map(|(_, decoded, _)| decoded.as_ref()).find_map(root);
    let mut walk = Walk::new(database, ids.iter().copied().collect())?;
    let root = root.filter(|root| walk.known.contains(root));
    let root_blob = root.map(|root| walk.blob(root)).transpose()?.flatten();
    let mut first = walk.children(&root_blob.unwrap_or_default());
    // What is said twice is one blob, and one line.
    let mut seen = Ids::default();
    first.retain(|id| seen.insert(*id));
    let count = known.and_then(|known| usize::try_from(known.text).ok()).unwrap_or(0);
    let known = known.filter(|known| count > 0 && first.get(..count).is_some_and(|first| check(first) == known.check));
    let holds = known.is_some();
    let known = known.filter(|_| !is_whole);
    if known.is_some() {
        walk.pass(&first[..count]);
    }
    match root {
        Some(root) => walk.visit(root, 0)?,
        None => self::ids(database, "SELECT id FROM blobs ORDER BY rowid")?
            .into_iter()
            .try_for_each(|id| walk.visit(id, 1))?,
    }
    let Walk { passed, leaves, nodes, .. } = walk;
    let messages: Vec<Id> = passed.iter().copied().chain(leaves.iter().map(|(id, _)| *id)).collect();
    let is_simple = first.starts_with(&messages) && !messages.is_empty();
    let total = is_simple.then(|| (messages.len() as u64, check(&messages)));
    let places: Places = messages.iter().copied().chain(nodes.iter().map(|(id, _)| *id)).zip(0..).collect();
    let mut lines = Vec::new();
    for (_, data) in &leaves {
        match is_message(data) {
            true => lines.extend_from_slice(data),
            false => {
                lines.extend(format!("{{\"shiftlog\":\"blob\",\"data\":{}}}", cut(data, &Places::default())).bytes())
            }
        }
        lines.push(b'\n');
    }
    let nodes: Vec<String> = nodes.iter().map(|(_, data)| cut(data, &places)).collect();
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
    Ok(Rendered { holds, ..Rendered::of_lines(lines, known, total) })
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
    select: Statement<'d>,
    known: Ids,
    seen: Ids,
    /// Blobs that are known, and were not read.
    passed: Vec<Id>,
    /// Blobs that name no others, in the order of the chat.
    leaves: Vec<(Id, Vec<u8>)>,
    /// Blobs that name others, each behind those.
    nodes: Vec<(Id, Vec<u8>)>,
}

impl<'d> Walk<'d> {
    fn new(database: &'d Connection, known: Ids) -> Result<Self> {
        Ok(Walk {
            select: database.prepare("SELECT CAST(data AS BLOB) FROM blobs WHERE id = ?1").map_err(unreadable)?,
            known,
            seen: Ids::default(),
            passed: Vec::new(),
            leaves: Vec::new(),
            nodes: Vec::new(),
        })
    }

    /// Counts blobs as visited.
    fn pass(&mut self, ids: &[Id]) {
        self.seen.extend(ids);
        self.passed.extend(ids);
    }

    fn blob(&mut self, id: Id) -> Result<Option<Vec<u8>>> {
        self.select.query_row([hex(&id)], |row| row.get(0)).optional().map_err(unreadable)
    }

    fn visit(&mut self, id: Id, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH || !self.seen.insert(id) {
            return Ok(());
        }
        let Some(data) = self.blob(id)? else { return Ok(()) };
        let children = if is_message(&data) { Vec::new() } else { self.children(&data) };
        for child in &children {
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

    fn children(&self, data: &[u8]) -> Vec<Id> {
        let (mut children, mut rest) = (Vec::new(), data);
        while let Some(id) = rest.first_chunk() {
            let is_child = self.known.contains(id);
            children.extend(is_child.then_some(*id));
            rest = &rest[if is_child { 32 } else { 1 }..];
        }
        children
    }
}

/// Says whether a blob is a message, which can be a line as it stands.
fn is_message(data: &[u8]) -> bool {
    let is_line = data.starts_with(b"{") && !data.contains(&b'\n');
    let value = || serde_json::from_slice::<serde_json_borrow::Value<'_>>(data);
    is_line && value().is_ok_and(|value| record::field(&value, "shiftlog").is_none())
}

/// Returns bytes in pieces, as a list in JSON: a number for the blob that is named there, text as it is, anything else as
/// base64 in a list.
fn cut(data: &[u8], places: &Places) -> String {
    let mut seams = Vec::new();
    find_seams(data, 0, 0, &mut seams);
    let mut pieces = Pieces::default();
    let mut start = 0;
    let mut at = 0;
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
fn find_seams(data: &[u8], offset: usize, depth: usize, seams: &mut Vec<usize>) {
    for field in strings(data).into_iter().flatten() {
        seams.push(offset + field.start);
        if depth < MAX_NESTING {
            find_seams(&data[field.clone()], offset + field.start, depth + 1, seams);
        }
        seams.push(offset + field.end);
    }
}

/// Returns the strings of a message; `None` if it is none.
fn strings(data: &[u8]) -> Option<Vec<Range<usize>>> {
    // Text is a message only if it is nothing but strings: prose shall not be taken for one.
    let is_text = std::str::from_utf8(data).is_ok_and(|text| text.chars().all(is_readable));
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
    Hex,
}

/// Puts pieces together again. A blob that is not among `ids` is left out where names are hex, else nothing comes of it.
fn joined(pieces: &Value, ids: &[Id], form: Form) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for piece in pieces.as_array()? {
        match piece {
            Value::Number(place) => match (ids.get(usize::try_from(place.as_u64()?).ok()?), form) {
                (Some(id), Form::Bytes) => data.extend_from_slice(id),
                (Some(id), Form::Hex) => data.extend(hex(id).bytes()),
                (None, Form::Hex) => {}
                (None, Form::Bytes) => return None,
            },
            Value::String(text) => data.extend(text.bytes()),
            Value::Array(binary) => data.extend(BASE64_STANDARD.decode(binary.first()?.as_str()?).ok()?),
            _ => return None,
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
    for pieces in last.get("blobs")?.as_array()? {
        let data = joined(pieces, &ids, Form::Bytes)?;
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
                    let pieces: Value = serde_json::from_str(&cut(&data, &Places::default())).expect("it is JSON");
                    let texts = pieces.as_array().expect("a list").iter().filter_map(Value::as_str);
                    assert_eq!(texts.collect::<Vec<_>>(), [&text, &text], "behind {:?}", char::from(length));
                    assert_eq!(joined(&pieces, &[], Form::Bytes), Some(data));
                }
            }
        }
    }
}
