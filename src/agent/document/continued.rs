//! Going on with a document: while the beginning of its list is the same, no lines are made of it again.
//!
//! Read [`read`]. The document is looked at in three parts: what is before the list, which is short and may change; the
//! elements that are known, whose bytes need only be what they were; and all the rest. The first and the last part make a
//! document of their own, with a shorter list, and lines are made of that one.

use std::hash::Hasher as _;
use std::io::{Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::{first_line, taken_apart, to_lines, tokens};
use crate::transcript::without_last_line;

/// How far a list may be from the beginning of its document.
const HEAD_BYTES: u64 = 64 << 10;
const STEP_BYTES: usize = 64 << 10;

/// How much of a document's list was made lines of, and what it was like.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Anchor {
    /// The length of those lines in bytes, with that of the first.
    pub lines: u64,
    /// The length of the document's own text for them, from the list's bracket on.
    list: u64,
    /// XXH3 of that text and of the first line, in hex.
    list_check: String,
}

/// A transcript as lines.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// So many bytes of lines come before these: they are what they were.
    pub skipped: u64,
    /// The lines behind them.
    pub lines: Vec<u8>,
    /// From where the next reading can go on.
    pub anchor: Option<Anchor>,
}

/// Reads a document as lines; if its list begins as it was at `known`, only those of what follows.
///
/// # Errors
///
/// If reading fails.
pub fn read(source: &mut (impl Read + Seek), list: &str, known: Option<&Anchor>) -> std::io::Result<Rendered> {
    if let Some(known) = known
        && let Some(rendered) = go_on(source, list, known)?
    {
        return Ok(rendered);
    }
    source.seek(SeekFrom::Start(0))?;
    let mut document = Vec::new();
    source.read_to_end(&mut document)?;
    let lines = to_lines(&document, list);
    let anchor = anchor_of(&document, list, &lines);
    Ok(Rendered { skipped: 0, lines, anchor })
}

fn anchor_of(document: &[u8], list: &str, lines: &[u8]) -> Option<Anchor> {
    let first_line = first_line(document, list)?;
    if !lines.starts_with(first_line.as_bytes()) {
        return None;
    }
    let start = list_start(document, list)?;
    let text = &document[start..start + list_length(&document[start..])?];
    let mut check = XxHash3_64::new();
    check.write(text);
    Some(Anchor {
        lines: of_list(lines, list).len() as u64,
        list: text.len() as u64,
        list_check: with_first_line(check, &first_line),
    })
}

fn go_on(source: &mut (impl Read + Seek), list: &str, known: &Anchor) -> std::io::Result<Option<Rendered>> {
    let mut head = Vec::new();
    source.seek(SeekFrom::Start(0))?;
    source.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let Some(start) = list_start(&head, list) else { return Ok(None) };
    head.truncate(start + 1);
    source.seek(SeekFrom::Start(start as u64))?;
    let mut check = XxHash3_64::new();
    let mut buffer = vec![0; STEP_BYTES];
    let mut left = known.list;
    while left > 0 {
        let step = STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES));
        let read = source.read(&mut buffer[..step])?;
        if read == 0 {
            return Ok(None);
        }
        check.write(&buffer[..read]);
        left -= read as u64;
    }
    let mut rest = Vec::new();
    source.read_to_end(&mut rest)?;
    Ok(rest_of(head, &rest, list, known, check))
}

/// Makes lines of what follows the elements that are known; `check` has seen their text.
fn rest_of(head: Vec<u8>, rest: &[u8], list: &str, known: &Anchor, mut check: XxHash3_64) -> Option<Rendered> {
    // The comma in front of what is new belongs to neither part.
    let skipped = usize::from(rest.starts_with(b","));
    let start = head.len();
    let document = [&head, &rest[skipped..]].concat();
    let first_line = first_line(&document, list)?;
    if with_first_line(check.clone(), &first_line) != known.list_check {
        return None;
    }
    let mut lines = taken_apart(&document, list)?;
    lines.drain(..first_line.len());
    let new = list_length(&document[start - 1..])? - 1;
    // A comma with nothing behind it is no list.
    if (new > 0) != (skipped > 0) {
        return None;
    }
    check.write(&rest[..skipped + new]);
    let anchor = Anchor {
        lines: known.lines + of_list(&lines, list).len() as u64,
        list: known.list + (skipped + new) as u64,
        list_check: with_first_line(check, &first_line),
    };
    Some(Rendered { skipped: known.lines, lines, anchor: Some(anchor) })
}

fn with_first_line(mut check: XxHash3_64, first_line: &str) -> String {
    check.write(first_line.as_bytes());
    format!("{:016x}", check.finish())
}

/// Returns the lines without the one about what is around the list.
fn of_list<'l>(lines: &'l [u8], list: &str) -> &'l [u8] {
    if list.is_empty() { lines } else { &lines[..without_last_line(lines)] }
}

/// Finds the bracket that begins the list.
fn list_start(document: &[u8], list: &str) -> Option<usize> {
    let name = serde_json::Value::from(list).to_string();
    let mut depth = 0_usize;
    let mut before: [&[u8]; 2] = [b"", b""];
    for (place, token) in tokens(document) {
        let is_value = match list {
            "" => depth == 0,
            _ => depth == 1 && before == [name.as_bytes(), b":"],
        };
        match token {
            _ if is_value => return (token == b"[").then_some(place),
            b"[" | b"{" => depth += 1,
            b"]" | b"}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        before = [before[1], token];
    }
    None
}

/// Returns the length of a list's text, from its bracket to the end of its last element.
fn list_length(list: &[u8]) -> Option<usize> {
    let (mut depth, mut end) = (0_usize, 0);
    for (place, token) in tokens(list) {
        match token {
            b"[" | b"{" => depth += 1,
            b"]" | b"}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(end);
        }
        end = place + token.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::from_lines;
    use super::*;

    fn read_at(document: &str, list: &str, known: Option<&Anchor>) -> Rendered {
        read(&mut Cursor::new(document), list, known).expect("it is in memory")
    }

    fn written(document: &Value, is_pretty: bool) -> String {
        if is_pretty { serde_json::to_string_pretty(document).expect("it is JSON") } else { document.to_string() }
    }

    #[test]
    fn what_is_new_in_a_document_is_read_alone() {
        for is_pretty in [false, true] {
            let thread =
                |version: u32, texts: &[&str]| written(&json!({"a": version, "list": texts, "z": {}}), is_pretty);
            let one = read_at(&thread(9, &["a", "b"]), "list", None);
            let longer = thread(10, &["a", "b", "c \" ]"]);
            let two = read_at(&longer, "list", one.anchor.as_ref());
            let whole = read_at(&longer, "list", None);
            let known = one.anchor.expect("it has a list").lines;
            assert_eq!((two.skipped, one.lines.len() as u64 > known), (known, true));
            assert_eq!(two.lines, whole.lines[known as usize..]);
            assert_eq!(two.anchor, whole.anchor, "the next one goes on from the same place");
            assert_eq!(from_lines(&whole.lines), longer.as_bytes());
        }
    }

    #[test]
    fn what_was_changed_is_read_again() {
        let document = r#"{"v":1,"list":["a","b"]}"#;
        let known = read_at(document, "list", None).anchor.expect("it has a list");
        for other in [
            r#"{"v":1,"list":["a","B","c"]}"#,
            r#"{"v":1,"list":["a"]}"#,
            r#"{"v":1,"list":["a","b",]}"#,
            r#"{"v":1,"list":["a","b""c"]}"#,
            r#"{"v":1,"list":["a","bc"]}"#,
            r#"{"v":1,"list":["a","b","c"],"list":["d"]}"#,
            r#"{"v":1,"other":["a","b","c"]}"#,
            r#"{"v":1,"list":["a","b","c"]"#,
            "{\"v\":1,\"list\":[\"a\",\"b\",\"c\"]}\n",
            "{\"v\":1,\"list\":[\"a\",\"b\",\n\"c\"]}",
            "",
        ] {
            let rendered = read_at(other, "list", Some(&known));
            assert_eq!(rendered.skipped, 0, "{other}");
            assert_eq!(from_lines(&rendered.lines), other.as_bytes());
        }
    }

    fn element() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<i64>().prop_map(Value::from), "[a\\[\\]{},:\"\\\\ \n]{0,12}".prop_map(Value::from)];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a-c]", inner, 0..3).prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        #[test]
        fn going_on_gives_what_a_whole_reading_gives(
            elements in prop::collection::vec(element(), 0..8),
            kept in 0..8_usize,
            is_pretty: bool,
            is_list: bool,
            version in 0..20_u32,
        ) {
            let kept = kept.min(elements.len());
            let of = |version: u32, elements: &[Value]| match is_list {
                true => written(&json!(elements), is_pretty),
                false => written(&json!({"a": version, "list": elements, "z": [1, {}]}), is_pretty),
            };
            let list = if is_list { "" } else { "list" };
            let before = read_at(&of(9, &elements[..kept]), list, None);
            let now = of(version, &elements);
            let whole = read_at(&now, list, None);
            let rest = read_at(&now, list, before.anchor.as_ref());
            let (skipped, known) = whole.lines.split_at(rest.skipped as usize);
            prop_assert_eq!(&rest.lines, known);
            prop_assert_eq!(&rest.anchor, &whole.anchor);
            prop_assert_eq!(skipped, &before.lines[..skipped.len()]);
            prop_assert_eq!(from_lines(&whole.lines), now.as_bytes());
            let is_expected = match (kept, elements.len()) {
                (0, 0) => true,
                (kept, length) if kept == length => !is_pretty,
                (kept, _) => kept > 0,
            };
            prop_assert_eq!(rest.skipped > 0, is_expected);
        }
    }
}
