//! Blobs in pieces, as lists in JSON: text stays text, so that secrets in it are found, and names are line numbers.

use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::names::{Id, NAMED, NAMED_BYTES, Names, id, run};
use crate::hex::hex;

/// How deep messages within messages are looked into.
const MAX_NESTING: usize = 8;
/// Text in binary data is left readable from this length on, so that secrets in it are found.
const TEXT_BYTES: usize = 6;

/// Returns the lines whose names a root begins with, in stretches.
fn stretches(root: &[u8], names: &Names) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = Vec::new();
    // Where the messages go on that were not named before.
    let mut next = 0;
    for id in run(root) {
        let is_next = names.get_index(next) == Some(&id);
        let Some(place) = (if is_next { Some(next) } else { names.get_index_of(&id) }) else { break };
        match stretches.last_mut() {
            Some(last) if is_next && last.end == place => last.end += 1,
            _ => stretches.push(place..place + 1),
        }
        next += usize::from(is_next);
    }
    stretches
}

/// Returns bytes in pieces, as a list in JSON: a number for the blob that is named there, text as it is, anything else as
/// base64 in a list. That a root begins with the names of messages is one piece, with the stretches of their lines.
pub fn cut(data: &[u8], names: &Names, is_root: bool) -> String {
    let mut seams = Vec::new();
    let mut pieces = Pieces::default();
    let named = if is_root { stretches(data, names) } else { Vec::new() };
    let mut at = named.iter().map(Range::len).sum::<usize>() * NAMED_BYTES;
    let mut start = at;
    if !named.is_empty() {
        let stretches: Vec<[usize; 2]> = named.iter().map(|stretch| [stretch.start, stretch.end]).collect();
        pieces.push(&json!({ "named": stretches }).to_string());
    }
    find_seams(&data[at..], at, at > 0, 0, &mut seams);
    while let Some(id) = data[at..].first_chunk() {
        if let Some(place) = names.get_index_of(id) {
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

/// The JSON of a list's elements.
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

/// Returns a text in pieces, as [`cut`] returns bytes; the blobs are named in hex there.
pub fn cut_text(text: &str, names: &Names) -> Value {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at + 64 <= text.len() {
        if let Some(place) = text.get(at..at + 64).and_then(id).and_then(|id| names.get_index_of(&id)) {
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

/// The form in which a blob names other blobs.
#[derive(Clone, Copy)]
pub enum Form {
    Bytes,
    /// Digests as bytes, in a root, where the first lines may be named as one.
    Root,
    Hex,
}

/// Joins pieces. A blob that is not among `ids` is left out where names are hex; elsewhere the result is `None`.
pub fn joined(pieces: &Value, ids: &[Id], form: Form) -> Option<Vec<u8>> {
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
                        serde_json::from_str(&cut(&data, &Names::default(), false)).expect("it is JSON");
                    let texts = pieces.as_array().expect("a list").iter().filter_map(Value::as_str);
                    assert_eq!(texts.collect::<Vec<_>>(), [&text, &text], "behind {:?}", char::from(length));
                    assert_eq!(joined(&pieces, &[], Form::Bytes), Some(data));
                }
            }
        }
    }
}
