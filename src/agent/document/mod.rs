//! Transcripts that are one JSON document, which the agent rewrites as a whole: as lines, so that only new messages are
//! stored.
//!
//! The first line says how the document was written, then each element of its list has a line, and the rest of the
//! document is the last line. Only whitespace between tokens changes; numbers and strings keep their spelling.
//! [`from_lines`] restores the document byte for byte; a document for which it could not is stored in one piece.

mod spelling;

use std::ops::Range;

use bstr::ByteSlice as _;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use serde_json_borrow::Value as Record;

use self::spelling::{Put, write};
use super::{Agent, json};
use crate::path::{Members, tokens};
use crate::transcript::without_last_line;

/// How our lines begin.
const HEAD: &[u8] = b"{\"shiftlog\":";

/// Returns a document as lines; `list` is the member that holds its messages, or empty if the document is that list.
pub fn to_lines(document: &[u8], list: &str) -> Vec<u8> {
    let is_same = |lines: &Vec<u8>| {
        let mut rest = document;
        let compare = &mut |bytes: &[u8]| rest.strip_prefix(bytes).map(|after| rest = after);
        put_together(lines, compare).is_some() && rest.is_empty()
    };
    taken_apart(document, list).filter(is_same).unwrap_or_else(|| in_one_piece(document))
}

/// Returns a document behind a line of ours, unchanged, with a line end after it.
pub fn in_one_piece(document: &[u8]) -> Vec<u8> {
    let head = json!({ "shiftlog": "document" });
    [format!("{head}\n").as_bytes(), document, b"\n"].concat()
}

/// Returns the lines of a document, if it is JSON and has such a list.
fn taken_apart(document: &[u8], list: &str) -> Option<Vec<u8>> {
    let document = document.to_str().ok()?;
    let text = document.trim_ascii_end();
    let indent = indent(text.as_bytes());
    let mut lines = first_line_of(list, indent, &document[text.len()..]).into_bytes();
    let mut append = |bytes: &[u8]| {
        lines.extend_from_slice(bytes);
        Some(())
    };
    let root: &RawValue = serde_json::from_str(text).ok()?;
    let around = match list {
        "" => None,
        list => {
            let members: Members<'_> = serde_json::from_str(root.get()).ok()?;
            let values: Vec<&RawValue> = values_of(&members, list).collect();
            // Only one could be the messages.
            let [value] = values[..] else { return None };
            Some((value, split(root, value)))
        }
    };
    for element in elements(around.map_or(root, |(value, _)| value))? {
        write(tokens(element.get().as_bytes()), 0, &mut append)?;
        append(b"\n")?;
    }
    if let Some((_, (before, after))) = around {
        let empty = [&b"["[..], b"]"].into_iter();
        write(tokens(before).chain(empty).chain(tokens(after)), 0, &mut append)?;
        append(b"\n")?;
    }
    Some(lines)
}

/// Returns the elements of an array.
fn elements(array: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(array.get()).ok()
}

/// Returns the values of an object's members that are called `list`.
fn values_of<'l>(members: &Members<'l>, list: &str) -> impl DoubleEndedIterator<Item = &'l RawValue> {
    let name = json!(list).to_string();
    members.0.iter().filter(move |(key, _)| key.get() == name).map(|(_, value)| *value)
}

/// Returns the text before and after a value that is a part of another.
fn split<'l>(whole: &'l RawValue, part: &RawValue) -> (&'l [u8], &'l [u8]) {
    let start = part.get().as_ptr() as usize - whole.get().as_ptr() as usize;
    let (before, rest) = whole.get().as_bytes().split_at(start);
    (before, &rest[part.get().len()..])
}

/// Returns the first line of a document that is to be written with this indentation (0 for none) and this end. It is
/// followed by the elements of the list, each as JSON in one line, and by the document with an empty list.
pub fn first_line_of(list: &str, indent: usize, end: &str) -> String {
    format!("{}\n", json!({ "shiftlog": "document", "list": list, "indent": indent, "end": end }))
}

/// Returns the length of the lines of a document without the last line, if that is the document with an empty list.
pub fn lines_that_stay(lines: &[u8], list: &str) -> usize {
    let before = without_last_line(lines);
    let last = serde_json::from_slice(lines[before..].trim_ascii()).ok();
    let is_around = !list.is_empty() && last.is_some_and(|last| around(last, list).is_some());
    if is_around { before } else { lines.len() }
}

/// Says whether a text is the lines of a document.
pub fn is_lines(text: &[u8]) -> bool {
    let end = text.find_byte(b'\n').unwrap_or(text.len());
    header(&text[..end]).is_some()
}

/// Says whether a text is the lines of a document with a line for each element of the list.
pub fn has_line_for_each(text: &[u8]) -> bool {
    let end = text.find_byte(b'\n').unwrap_or(text.len());
    header(&text[..end]).is_some_and(|head| head.get("list").is_some())
}

/// Says whether the lines of a transcript are those of a whole document, not of one that the agent is just writing. One that
/// `had_messages` before has some.
pub fn is_whole(agent: &dyn Agent, lines: &[u8], had_messages: bool) -> bool {
    let start = lines.find_byte(b'\n').map_or(lines.len(), |end| end + 1);
    match agent.list() {
        None => true,
        Some(_) if has_line_for_each(lines) => !had_messages || agent.lines_that_stay(lines) > start,
        // A document that is spelt in an odd way is in one piece, too.
        Some(_) => {
            let is_json = serde_json::from_slice::<IgnoredAny>(&lines[start..]).is_ok();
            is_json && (!had_messages || !agent.parse(lines).is_empty())
        }
    }
}

/// Returns the document of which the lines were made; any other text is returned as it is.
pub fn from_lines(lines: &[u8]) -> Vec<u8> {
    let mut document = Vec::with_capacity(lines.len());
    let append = &mut |bytes: &[u8]| {
        document.extend_from_slice(bytes);
        Some(())
    };
    if put_together(lines, append).is_some() { document } else { lines.to_vec() }
}

/// Passes the document of which the lines were made to `put`, piece by piece. Returns `None` for any other text, or if
/// `put` does.
fn put_together(lines: &[u8], put: Put<'_>) -> Option<()> {
    let (head, body) = lines.split_at(lines.find_byte(b'\n')? + 1);
    let head = header(head)?;
    let Some(list) = head.get("list").and_then(Value::as_str) else {
        return put(body.strip_suffix(b"\n")?);
    };
    // A line that is not one value would become something else between its neighbours.
    let lines = body.to_str().ok()?.split('\n').map(str::trim_ascii).filter(|line| !line.is_empty());
    let mut elements: Vec<&RawValue> = lines.map(|line| serde_json::from_str(line).ok()).collect::<Option<_>>()?;
    let indent = usize::try_from(head.get("indent")?.as_u64()?).ok()?.min(16);
    let (before, after) = match elements.last().and_then(|last| around(last, list)) {
        _ if list.is_empty() => (Vec::new(), Vec::new()),
        Some((before, after)) => {
            elements.pop();
            (before.to_vec(), after.to_vec())
        }
        // A transcript that was cut short has no last line; then all that is left is its messages.
        None => (format!("{{{}:", json!(list)).into_bytes(), b"}".to_vec()),
    };
    let comma = |index| if index > 0 { Some(&b","[..]) } else { None };
    let inner = elements
        .iter()
        .enumerate()
        .flat_map(|(index, element)| comma(index).into_iter().chain(tokens(element.get().as_bytes())));
    let opened = tokens(&before).chain([&b"["[..]]);
    write(opened.chain(inner).chain([&b"]"[..]]).chain(tokens(&after)), indent, put)?;
    put(head.get("end")?.as_str()?.as_bytes())
}

/// Returns the text of an object before and after an empty list. Of several with one name the last counts.
fn around<'l>(line: &'l RawValue, list: &str) -> Option<(&'l [u8], &'l [u8])> {
    let members: Members<'_> = serde_json::from_str(line.get()).ok()?;
    let value = values_of(&members, list).next_back()?;
    elements(value)?.is_empty().then(|| split(line, value))
}

fn header(line: &[u8]) -> Option<Value> {
    let value: Value = line.starts_with(HEAD).then(|| serde_json::from_slice(line).ok())??;
    (value.get("shiftlog")?.as_str()? == "document").then_some(value)
}

/// Returns how far the first member of a document is indented; 0 if the document is one line.
fn indent(document: &[u8]) -> usize {
    match document.find_byte(b'\n') {
        Some(end) => document[end + 1..].iter().take_while(|byte| **byte == b' ').count(),
        None => 0,
    }
}

/// Visits the elements of a document's list and then the document around them, each with its place in the text, which
/// is the lines of a document or the document itself.
pub fn each(text: &[u8], list: &str, mut visit: impl FnMut(&Record<'_>, Range<usize>)) {
    let mut visit_all = |record: &Record<'_>, span: Range<usize>| {
        let elements = if list.is_empty() { record.as_array() } else { Some(json::list(record, list)) };
        elements.unwrap_or_default().iter().for_each(|element| visit(element, span.clone()));
        visit(record, span);
    };
    let first = text.find_byte(b'\n').map_or(text.len(), |end| end + 1);
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
    use proptest::prelude::*;

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

    /// Tokens that a reader and writer of JSON would spell otherwise, or refuse.
    const ODD: [&str; 8] = [
        r#"{"text":"a","cost":0.000003}"#,
        r#"{"text":"a","n":[1e+21,1E5,-0,-0.0,1.50,12345678901234567890123]}"#,
        r#"{"text":"\ud83d cut \udc00"}"#,
        r#"{"text":"a","text":"b","":{"":{}}}"#,
        r#"{"text":"\/ \u00e9 \u0041 \\","quote":"\\\"[{,:"}"#,
        r#""a string, with ] and \\""#,
        "[[],{},[[{}]],[null,true]]",
        "\"\u{7f}\u{2028}\"",
    ];

    fn pretty(document: &str, indent: usize) -> String {
        let mut bytes = Vec::new();
        let put: Put<'_> = &mut |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Some(())
        };
        let value: &RawValue = serde_json::from_str(document).expect("it is JSON");
        write(tokens(value.get().as_bytes()), indent, put).expect("it is not nested too deeply");
        String::from_utf8(bytes).expect("it was text")
    }

    fn count(lines: &[u8]) -> usize {
        lines.iter().filter(|byte| **byte == b'\n').count()
    }

    #[test]
    fn what_serde_would_spell_otherwise_is_taken_apart_and_comes_back() {
        let list = format!("[{}]", ODD.join(","));
        let object = format!(r#"{{"cost":1e+21,"messages":{list},"o":{{}},"cost":2.50,"v":[]}}"#);
        for (document, name, count_of_lines) in [(list, "", 9), (object, "messages", 10)] {
            for indent in [0, 1, 2, 4] {
                for end in ["", "\n", "\r\n", "\n\n \t"] {
                    let document = format!("{}{end}", pretty(&document, indent));
                    let lines = to_lines(document.as_bytes(), name);
                    assert_eq!(count(&lines), count_of_lines, "it is taken apart: {document}");
                    assert_eq!(String::from_utf8_lossy(&from_lines(&lines)), document);
                    let lines = String::from_utf8(lines).expect("it is text");
                    assert_eq!(lines.lines().skip(1).take(ODD.len()).collect::<Vec<_>>(), ODD, "as it was spelt");
                }
            }
        }
    }

    #[test]
    fn what_is_not_written_so_stays_in_one_piece() {
        let deep = format!("[\n  {}1{}\n]", "[".repeat(200_000), "]".repeat(200_000));
        let crlf = pretty(r#"{"messages":[{"text":"a"},2]}"#, 2).replace('\n', "\r\n");
        let other = [
            "[1, 2]",
            " [1]",
            "[1,,2]",
            "[1,]",
            "[1 2]",
            "[\"a\nb\"]",
            "[\"\\q\"]",
            "[\"\t\"]",
            "[1]]",
            "[1",
            "[\"",
            "[\"\\",
            "]",
            "[}",
            "}{",
            "{\"x\"\"messages\":[1]}",
            "{\"messages\":[1],\"messages\":[2]}",
            "1",
            "[\n\t1\n]",
            "[1]\u{feff}",
            "{\"messages\":1}",
            "{\"messages\":{\"a\":[1]}}",
            "{\"mess\\u0061ges\":[1]}",
            "{\"a\":{\"messages\":[1]}}",
            "{\"shiftlog\":\"document\"}\n[1]\n",
            &deep,
            &crlf,
        ];
        for document in other {
            for list in ["", "messages"] {
                let lines = to_lines(document.as_bytes(), list);
                let piece = format!("{{\"shiftlog\":\"document\"}}\n{document}\n");
                let is_object = list.is_empty() && document.starts_with("{\"messages\"");
                assert!(lines == piece.as_bytes() || is_object, "{document}");
                assert_eq!(from_lines(&lines), document.as_bytes(), "{document}");
            }
        }
    }

    #[test]
    fn what_is_nested_without_end_comes_back_and_costs_no_stack() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for (document, list, count_of_lines) in [
            (format!("[{deep},{deep}]"), "", 3),
            (format!("{{\"a\":{deep},\"list\":[{deep}]}}\n"), "list", 3),
            (format!("[\n  {deep}\n]"), "", 3),
        ] {
            let lines = to_lines(document.as_bytes(), list);
            assert_eq!(count(&lines), count_of_lines + usize::from(document.contains("\n]")));
            assert!(from_lines(&lines) == document.as_bytes());
            assert_eq!(lines_that_stay(&lines, list) < lines.len(), list == "list");
            each(&lines, list, |_, _| {});
        }
    }

    #[test]
    fn indentation_is_that_of_other_writers_of_json() {
        let value = json!({"a": [], "b": {}, "c": [1, [2, {"d": null}], "x: [,]"], "e": {"f": {}, "g": [[]]}});
        for indent in 1..5 {
            let mut bytes = Vec::new();
            let spaces = " ".repeat(indent);
            let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
            let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
            serde::Serialize::serialize(&value, &mut serializer).expect("it is JSON");
            assert_eq!(pretty(&value.to_string(), indent).as_bytes(), bytes);
        }
    }

    #[test]
    fn a_value_becomes_the_lines_of_its_text() {
        let value = json!({"id": "T-1", "messages": [{"text": "a"}, 2], "v": []});
        let text = serde_json::to_string_pretty(&value).expect("it is JSON") + "\n";
        let mut around = value.clone();
        around["messages"] = json!([]);
        let elements = value["messages"].as_array().expect("a list").iter().chain([&around]);
        let lines: String = elements.map(|element| format!("{element}\n")).collect();
        let lines = first_line_of("messages", 2, "\n") + &lines;
        assert_eq!(lines.as_bytes(), to_lines(text.as_bytes(), "messages"));
    }

    #[test]
    fn lines_that_were_changed_or_lost_still_make_a_document() {
        let head = r#"{"shiftlog":"document","list":"messages","indent":0,"end":"\n"}"#;
        let document = |body: &str| {
            let bytes = from_lines(format!("{head}\n{body}").as_bytes());
            String::from_utf8(bytes).expect("it is text")
        };
        let all = "{ \"text\": \"[gone]\" }\r\n\n7\n{\"id\" : 1e+21, \"messages\" : [ ]}";
        assert_eq!(document(all), "{\"id\":1e+21,\"messages\":[{\"text\":\"[gone]\"},7]}\n");
        assert_eq!(document("{\"messages\":[1]}\n"), "{\"messages\":[{\"messages\":[1]}]}\n", "this is a message");
        assert_eq!(document(""), "{\"messages\":[]}\n");
        for body in ["1,2\n", "\"a\n", "]\n[\n", "[\n]\n", "}\n"] {
            assert_eq!(document(body), format!("{head}\n{body}"), "a line that is not one value: {body}");
        }
    }

    #[test]
    fn what_is_added_leaves_the_lines_before_as_they_are_however_it_is_spelt() {
        for indent in [0, 2, 4] {
            let mut before = Vec::new();
            for length in 1..=ODD.len() {
                let document = format!(r#"{{"updated":{length}e+21,"messages":[{}]}}"#, ODD[..length].join(","));
                let lines = to_lines(pretty(&document, indent).as_bytes(), "messages");
                assert!(lines.starts_with(&before), "{document}");
                assert_eq!(count(&lines), length + 2);
                let rest = lines[..lines.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("it has lines");
                before = lines[..=rest].to_vec();
            }
        }
    }

    fn json_texts() -> impl Strategy<Value = String> {
        let word = proptest::sample::select(vec![
            "null",
            "-0.0",
            "0.000003",
            "1e+21",
            r#""\ud83d""#,
            r#""\/\\""#,
            r#"",[\"""#,
        ]);
        word.prop_map(str::to_owned).prop_recursive(4, 24, 5, |value| {
            let name = proptest::sample::select(vec!["messages", "a", ""]);
            let member = (name, value.clone()).prop_map(|(name, value)| format!("\"{name}\":{value}"));
            let array = proptest::collection::vec(value, 0..5).prop_map(|values| format!("[{}]", values.join(",")));
            let object =
                proptest::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")));
            prop_oneof![array, object]
        })
    }

    proptest! {
        #[test]
        fn any_json_comes_back(text in json_texts(), indent in 0usize..5, end in "[ \r\n]{0,3}", list in "(messages)?") {
            let document = pretty(&text, indent) + &end;
            let lines = to_lines(document.as_bytes(), &list);
            prop_assert_eq!(from_lines(&lines), document.as_bytes());
            if list.is_empty() && text.starts_with('[') {
                let is_one_piece = lines.starts_with(br#"{"shiftlog":"document"}"#);
                prop_assert!(!is_one_piece, "it is taken apart");
            }
        }

        #[test]
        fn any_text_comes_back(text in "[\\[\\]{}:,\"\\\\ \n1a]{0,24}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            for list in ["", "a"] {
                for text in [text.as_bytes(), &bytes] {
                    prop_assert_eq!(&from_lines(&to_lines(text, list)), text);
                }
                let head = json!({ "shiftlog": "document", "list": list, "indent": 2, "end": "" });
                from_lines(&[format!("{head}\n").as_bytes(), text.as_bytes(), b"\n", &bytes].concat());
            }
            if !bytes.starts_with(HEAD) {
                prop_assert_eq!(from_lines(&bytes), bytes, "a text that is none of ours");
            }
        }
    }
}
