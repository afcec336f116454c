//! Going on with a document: while the beginning of its list is the same, no lines are made of it again.
//!
//! Read [`read`]. The document is looked at in three parts: what is before the list, which is short and may change; the
//! elements that are known, whose bytes need only be what they were; and all the rest. The first and the last part make a
//! document of their own, with a shorter list, and lines are made of that one.

use std::hash::Hasher as _;
use std::io::{Read, Result, Seek, SeekFrom};

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::text::tokens;
use super::{first_line, in_one_piece, taken_apart};
use crate::transcript::without_last_line;

/// How far a list may be from the beginning of its document; most begin much earlier, which is tried first.
const HEAD_BYTES: [usize; 2] = [4 << 10, 64 << 10];
const STEP_BYTES: usize = 64 << 10;

/// What is wanted of a transcript of which something is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// All of it.
    Whole,
    /// What follows, if the beginning is what it was; all of it otherwise.
    Rest,
    /// The same, for somebody who waits: where it takes long to see whether the beginning is what it was, it is taken for
    /// granted, unless something speaks against it.
    RestAtOnce,
}

/// How much of a document's list was made lines of, and what it was like.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Anchor {
    /// The length of those lines in bytes, with that of the first.
    pub lines: u64,
    /// The first of them, which says how the document is written.
    first_line: String,
    /// The length of the document's own text for the others, from the list's bracket on; of a database, how many messages
    /// there are, or names of them.
    pub(in crate::agent) text: u64,
    /// XXH3 of that text, in hex; of a database, what the messages are known by.
    pub(in crate::agent) check: String,
    /// What else its reader wants to know the next time, in a form of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::agent) more: String,
}

/// A transcript as lines.
#[derive(Debug, Default)]
pub struct Rendered {
    /// So many bytes of lines come before these: they are what they were.
    pub skipped: u64,
    /// The lines behind them.
    pub lines: Vec<u8>,
    /// Whether those up to where an earlier reading ended are what they were.
    pub holds: bool,
    /// Whether that is only taken for granted; see [`Wanted::RestAtOnce`].
    pub is_granted: bool,
    /// From where the next reading can go on.
    pub anchor: Option<Anchor>,
}

impl Rendered {
    /// Makes it of the lines behind `known`. `total` tells where those end that need not be made again, how many messages
    /// that is with the known ones, and what they are known by.
    pub(in crate::agent) fn of_lines(
        lines: Vec<u8>,
        known: Option<&Anchor>,
        total: Option<(usize, u64, String)>,
    ) -> Self {
        let skipped = known.map_or(0, |known| known.lines);
        let anchor =
            total.map(|(end, text, check)| Anchor { lines: skipped + end as u64, text, check, ..Anchor::default() });
        Rendered { skipped, lines, holds: known.is_some(), anchor, ..Rendered::default() }
    }
}

/// What follows the known beginning of a document's list, if that is still the same: [`Rest::prove`] says so.
#[derive(Debug)]
pub struct Rest<S> {
    source: S,
    known: Anchor,
    /// Where the list begins.
    start: u64,
    /// What has been added to its text.
    text: Vec<u8>,
    lines: Vec<u8>,
    /// How much of them is about the list's elements.
    of_list: usize,
}

/// Reads a document as lines; if its list begins as it was at `known`, only those of what follows, unless the whole is
/// wanted.
///
/// # Errors
///
/// If reading fails.
pub fn read<S: Read + Seek>(mut source: S, list: &str, known: Option<&Anchor>, wanted: Wanted) -> Result<Rendered> {
    if let Some(known) = known.filter(|_| wanted != Wanted::Whole)
        && let Some(mut rest) = Rest::read(&mut source, list, known)?
        && let Some(anchor) = rest.prove()?
    {
        let (skipped, anchor) = (known.lines, Some(anchor));
        return Ok(Rendered { skipped, lines: rest.lines, holds: true, anchor, ..Rendered::default() });
    }
    source.seek(SeekFrom::Start(0))?;
    let mut document = Vec::new();
    source.read_to_end(&mut document)?;
    let Some((lines, place)) = taken_apart(&document, list) else {
        return Ok(Rendered { lines: in_one_piece(&document), ..Rendered::default() });
    };
    let text = &document[place];
    let first_line = first_line(&document, list).unwrap_or_default();
    let holds = known.is_some_and(|known| known.first_line == first_line && known.begins(text));
    let (text_bytes, check) = (text.len() as u64, hex(XxHash3_64::oneshot(text)));
    let list_end = of_list(&lines, list) as u64;
    let anchor = Anchor { lines: list_end, first_line, text: text_bytes, check, ..Anchor::default() };
    Ok(Rendered { lines, holds, anchor: Some(anchor), ..Rendered::default() })
}

impl Anchor {
    /// Says whether the text of a list begins with what is known of it.
    fn begins(&self, text: &[u8]) -> bool {
        let known = usize::try_from(self.text).ok().and_then(|length| text.split_at_checked(length));
        known.is_some_and(|(known, rest)| {
            // In the middle of an element nothing ends.
            (rest.is_empty() || rest.starts_with(b",")) && hex(XxHash3_64::oneshot(known)) == self.check
        })
    }
}

impl<S: Read + Seek> Rest<S> {
    /// Reads what follows; `None` if the document has another form than it had.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn read(mut source: S, list: &str, known: &Anchor) -> Result<Option<Self>> {
        let Some(head) = read_head(&mut source, list)? else { return Ok(None) };
        let start = head.len() - 1;
        let mut rest = Vec::new();
        source.seek(SeekFrom::Start(start as u64 + known.text))?;
        source.read_to_end(&mut rest)?;
        Ok(Self::of(source, head, rest, list, known))
    }

    /// Makes lines of what is around the elements that are known: what is before them, and what follows.
    fn of(source: S, head: Vec<u8>, mut rest: Vec<u8>, list: &str, known: &Anchor) -> Option<Self> {
        // The comma in front of what is new belongs to neither part.
        let comma = usize::from(rest.starts_with(b","));
        let document = [&head, &rest[comma..]].concat();
        let (mut lines, place) =
            taken_apart(&document, list).filter(|(lines, _)| lines.starts_with_str(&known.first_line))?;
        lines.drain(..known.first_line.len());
        let new = place.end - head.len();
        // A comma with nothing behind it is no list.
        if (new > 0) != (comma > 0) {
            return None;
        }
        rest.truncate(comma + new);
        let of_list = of_list(&lines, list);
        Some(Rest { source, known: known.clone(), start: place.start as u64, text: rest, lines, of_list })
    }

    /// Returns the lines, once.
    pub fn take_lines(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.lines)
    }

    /// Returns where those about the list's elements end, counted from the document's beginning on.
    pub fn list_end(&self) -> u64 {
        self.known.lines + self.of_list as u64
    }

    /// Finds out whether the beginning is what it was; then the next reading can go on from what is returned.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn prove(&mut self) -> Result<Option<Anchor>> {
        self.source.seek(SeekFrom::Start(self.start))?;
        let mut check = XxHash3_64::new();
        let mut buffer = vec![0; STEP_BYTES];
        let mut left = self.known.text;
        while left > 0 {
            let step = STEP_BYTES.min(usize::try_from(left).unwrap_or(STEP_BYTES));
            let read = self.source.read(&mut buffer[..step])?;
            if read == 0 {
                return Ok(None);
            }
            check.write(&buffer[..read]);
            left -= read as u64;
        }
        if hex(check.finish()) != self.known.check {
            return Ok(None);
        }
        check.write(&self.text);
        Ok(Some(Anchor {
            lines: self.list_end(),
            first_line: self.known.first_line.clone(),
            text: self.known.text + self.text.len() as u64,
            check: hex(check.finish()),
            ..Anchor::default()
        }))
    }
}

fn hex(check: u64) -> String {
    format!("{check:016x}")
}

/// Returns how much of the lines is about the list, and not about what is around it.
fn of_list(lines: &[u8], list: &str) -> usize {
    if list.is_empty() { lines.len() } else { without_last_line(lines) }
}

/// Reads a document up to the bracket that begins the list; `None` if that is too far.
fn read_head(source: &mut (impl Read + Seek), list: &str) -> Result<Option<Vec<u8>>> {
    for bytes in HEAD_BYTES {
        // With room for all of it, it is read in one go.
        let mut head = Vec::with_capacity(bytes);
        source.seek(SeekFrom::Start(0))?;
        source.take(bytes as u64).read_to_end(&mut head)?;
        if let Some(start) = list_start(&head, list) {
            head.truncate(start + 1);
            return Ok(Some(head));
        }
    }
    Ok(None)
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::from_lines;
    use super::*;

    fn read_at(document: &str, list: &str, known: Option<&Anchor>) -> Rendered {
        read(Cursor::new(document), list, known, Wanted::Rest).expect("it is in memory")
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
        let leaf =
            prop_oneof![any::<i64>().prop_map(Value::from), "[a\\[\\]{},:\"\\\\ \n]{0,12}".prop_map(Value::from)];
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
            let all = read(Cursor::new(&now), list, before.anchor.as_ref(), Wanted::Whole).expect("it is in memory");
            prop_assert_eq!((all.skipped, &all.lines), (0, &whole.lines));
            prop_assert!(rest.holds && all.holds || kept == 0);
        }
    }
}
