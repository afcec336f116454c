//! Transcripts that are one JSON document, written anew each time: as lines, so that only what is new is stored.
//!
//! The first line says how the document was written, then each element of its list has a line, and what is around the
//! list comes last. [`from_lines`] gives the document back byte for byte; where that cannot be, it stays in one piece.

use std::ops::Range;

use serde::Serialize as _;
use serde_json::{Map, Value, json};
use serde_json_borrow::Value as Record;

use super::json;

/// Documents beyond this size stay in one piece: as a value they take several times as much memory.
const MAX_BYTES: usize = 64 << 20;

/// Returns a document as lines; `list` is the member that holds its messages, or empty if the document is that list.
pub fn to_lines(document: &[u8], list: &str) -> Vec<u8> {
    taken_apart(document, list).unwrap_or_else(|| {
        let head = json!({ "shiftlog": "document" });
        [format!("{head}\n").as_bytes(), document, b"\n"].concat()
    })
}

fn taken_apart(document: &[u8], list: &str) -> Option<Vec<u8>> {
    if document.len() > MAX_BYTES {
        return None;
    }
    let value: Value = serde_json::from_slice(document).ok()?;
    let text = document.trim_ascii_end();
    let end = std::str::from_utf8(&document[text.len()..]).ok()?;
    let indent = indent(text);
    // What is written so again and again is written so from its lines, too.
    let is_the_same = written(&value, indent)? == text;
    is_the_same.then(|| lines(value, list, indent, end))?
}

/// Returns a value as such lines, to be written with this indentation (0 for none) and this end.
pub fn lines(mut document: Value, list: &str, indent: usize, end: &str) -> Option<Vec<u8>> {
    let place = if list.is_empty() { &mut document } else { document.as_object_mut()?.get_mut(list)? };
    let Value::Array(elements) = std::mem::replace(place, Value::Array(Vec::new())) else { return None };
    let head = json!({ "shiftlog": "document", "list": list, "indent": indent, "end": end });
    let rest = (!list.is_empty()).then_some(document);
    let mut lines = Vec::new();
    for line in [head].into_iter().chain(elements).chain(rest) {
        serde_json::to_writer(&mut lines, &line).ok()?;
        lines.push(b'\n');
    }
    Some(lines)
}

/// Says whether a text is such lines.
pub fn is_lines(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    text.starts_with(b"{\"shiftlog\":") && header(&text[..end]).is_some()
}

/// Returns the document that lines were made of; a text that is none of ours is returned as it is.
pub fn from_lines(lines: &[u8]) -> Vec<u8> {
    put_together(lines).unwrap_or_else(|| lines.to_vec())
}

fn put_together(lines: &[u8]) -> Option<Vec<u8>> {
    let (head, body) = lines.split_at(lines.iter().position(|byte| *byte == b'\n')? + 1);
    let head = header(head)?;
    let Some(list) = head.get("list").and_then(Value::as_str) else {
        return body.strip_suffix(b"\n").map(<[u8]>::to_vec);
    };
    let mut elements = Vec::new();
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        elements.push(serde_json::from_slice::<Value>(line).ok()?);
    }
    let document = if list.is_empty() { Value::Array(elements) } else { with_elements(elements, list)? };
    let indent = usize::try_from(head.get("indent")?.as_u64()?).ok()?.min(16);
    let mut bytes = written(&document, indent)?;
    bytes.extend_from_slice(head.get("end")?.as_str()?.as_bytes());
    Some(bytes)
}

/// Returns the object whose elements these are, itself the last of them.
fn with_elements(mut elements: Vec<Value>, list: &str) -> Option<Value> {
    let Value::Object(mut document) = elements.pop()? else { return None };
    // A transcript that was cut short has no last line; then all that is left is its messages.
    match document.get_mut(list) {
        Some(place) => *place = Value::Array(elements),
        None => {
            elements.push(Value::Object(document));
            document = Map::from_iter([(list.to_owned(), Value::Array(elements))]);
        }
    }
    Some(Value::Object(document))
}

fn header(line: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(line).ok()?;
    (value.get("shiftlog")?.as_str()? == "document").then_some(value)
}

fn written(value: &Value, indent: usize) -> Option<Vec<u8>> {
    if indent == 0 {
        return serde_json::to_vec(value).ok();
    }
    let spaces = vec![b' '; indent];
    let mut bytes = Vec::new();
    let pretty = serde_json::ser::PrettyFormatter::with_indent(&spaces);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, pretty)).ok()?;
    Some(bytes)
}

/// Returns how far the first member of a document is indented; 0 if the document is one line.
fn indent(document: &[u8]) -> usize {
    match document.iter().position(|byte| *byte == b'\n') {
        Some(end) => document[end + 1..].iter().take_while(|byte| **byte == b' ').count(),
        None => 0,
    }
}

/// Visits the elements of a document's list and then what is around them, in such lines or in the document itself; with
/// the place of each in the text.
pub fn each(text: &[u8], list: &str, mut visit: impl FnMut(&Record<'_>, Range<usize>)) {
    let mut visit_all = |record: &Record<'_>, span: Range<usize>| {
        let elements = if list.is_empty() { record.as_array() } else { Some(json::list(record, list)) };
        elements.unwrap_or_default().iter().for_each(|element| visit(element, span.clone()));
        visit(record, span);
    };
    let first = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
    let start = match header(&text[..first]) {
        Some(head) if head.get("list").is_none() => first,
        _ => 0,
    };
    // A document of several lines has nothing but a bracket in its first.
    if start > 0 || matches!(text[..first].trim_ascii(), b"{" | b"[") {
        json::read_line(&text[start..], |document| {
            visit_all(document, start..text.len());
            Some(())
        });
        return;
    }
    for (span, line) in json::lines(text) {
        json::read_line(line, |record| {
            visit_all(record, span);
            Some(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &[u8]) -> Vec<String> {
        let mut texts = Vec::new();
        each(text, "messages", |record, _| texts.extend(json::string(record, "text")));
        texts
    }

    #[test]
    fn a_document_comes_back_byte_for_byte_however_it_was_written() {
        let compact = r#"{"id":"T-1","messages":[{"text":"a\nb"},{"text":"c","n":0.5}],"v":[],"o":{}}"#;
        let value: Value = serde_json::from_str(compact).expect("it is JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("it is JSON");
        for document in [compact.to_owned(), format!("{compact}\n"), pretty.clone(), format!("{pretty}\n\n")] {
            let lines = to_lines(document.as_bytes(), "messages");
            assert_eq!(from_lines(&lines), document.as_bytes());
            assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 4, "a line for each message: {document}");
            assert_eq!(texts(&lines), ["a\nb", "c"]);
            assert_eq!(texts(document.as_bytes()), ["a\nb", "c"], "the document itself reads the same");
        }
        let odd = "{ \"messages\" :[{\"text\":\"a\"}], \"messages\":[{\"text\":\"b\", \"n\": 1.50}]}";
        for document in [odd, "no JSON\nat all", "", "[1,2]"] {
            assert_eq!(from_lines(&to_lines(document.as_bytes(), "messages")), document.as_bytes(), "{document}");
        }
    }

    #[test]
    fn a_document_that_is_a_list_comes_back_too() {
        let value: Value = serde_json::from_str(r#"[{"text":"a"},{"text":"b"}]"#).expect("it is JSON");
        for document in [value.to_string(), serde_json::to_string_pretty(&value).expect("it is JSON"), "[]".into()] {
            let lines = to_lines(document.as_bytes(), "");
            assert_eq!(from_lines(&lines), document.as_bytes());
            let read = |text: &[u8]| {
                let mut texts = Vec::new();
                each(text, "", |record, _| texts.extend(json::string(record, "text")));
                texts
            };
            assert_eq!(read(&lines), read(document.as_bytes()));
            assert_eq!(read(&lines).is_empty(), document == "[]");
        }
    }

    #[test]
    fn what_is_added_to_a_document_is_added_to_its_lines() {
        let one = to_lines(br#"{"updated":1,"messages":[{"text":"a"}]}"#, "messages");
        let two = to_lines(br#"{"updated":2,"messages":[{"text":"a"},{"text":"b"}]}"#, "messages");
        let common = one.iter().zip(&two).take_while(|(a, b)| a == b).count();
        let common = crate::transcript::complete_lines(&one[..common]);
        assert_eq!(one[..common].iter().filter(|byte| **byte == b'\n').count(), 2);
        assert_eq!(from_lines(&one[..common]), br#"{"messages":[{"text":"a"}]}"#, "also without its last line");
    }
}
