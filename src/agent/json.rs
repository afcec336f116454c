//! Reading records of JSON, one a line, as leniently as agents write them.

use std::io::{BufRead as _, Read as _};
use std::ops::Range;
use std::path::Path;

use bstr::ByteSlice as _;
use serde_json_borrow::Value;

use crate::git::private;
use crate::transcript::{Attachment, Message, Picture, Tokens};

/// How much of a file is read where only its beginning matters.
const HEAD_BYTES: u64 = 256 * 1024;

/// Reads a line as JSON and returns what `read` makes of it. Strings without escapes are not copied for that.
pub fn read_line<T>(line: &[u8], read: impl FnOnce(&Value<'_>) -> Option<T>) -> Option<T> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(line);
    if line.is_empty() {
        return None;
    }
    // Text is looked at once, not string by string.
    if let Ok(record) =
        std::str::from_utf8(line).map_err(drop).and_then(|text| serde_json::from_str(text).map_err(drop))
    {
        return read(&record);
    }
    let text = whole_characters(&String::from_utf8_lossy(line));
    serde_json::from_str(&text).ok().and_then(|record| read(&record))
}

/// Parses JSON; unpaired surrogate escapes become U+FFFD.
pub fn parse(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&whole_characters(text))).ok()
}

/// Replaces escapes of half a character by U+FFFD: some agents cut words within an emoji, and write the half that stays
/// as `\\ud83d`.
fn whole_characters(text: &str) -> String {
    let unit = |at: usize| u16::from_str_radix(text.get(at..at + 6)?.strip_prefix("\\u")?, 16).ok();
    let (mut whole, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(found) = text[at..].find('\\') {
        whole.push_str(&text[at..at + found]);
        at += found;
        let length = match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.push_str("\\ufffd");
                at += 6;
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&text[at..at + length]);
        at += length;
    }
    whole.push_str(&text[at..]);
    whole
}

/// Returns the lines of a text with their places in it.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (Range<usize>, &[u8])> {
    let mut start = 0;
    text.lines_with_terminator().map(move |line| {
        let span = start..start + line.len();
        start = span.end;
        (span, line)
    })
}

/// Returns the first thing that `read` finds in the records of a text.
pub fn find<T>(text: &[u8], mut read: impl FnMut(&Value<'_>) -> Option<T>) -> Option<T> {
    text.split(|byte| *byte == b'\n').find_map(|line| read_line(line, &mut read))
}

/// Returns the first thing that `read` finds in the records at the beginning of a file.
pub fn find_in_file<T>(path: &Path, mut read: impl FnMut(&Value<'_>) -> Option<T>) -> Option<T> {
    let mut head = std::io::BufReader::new(private::open(path).ok()?.take(HEAD_BYTES));
    let mut line = Vec::new();
    while head.read_until(b'\n', &mut line).ok()? > 0 {
        if let Some(found) = read_line(&line, &mut read) {
            return Some(found);
        }
        line.clear();
    }
    None
}

/// Returns a member of an object.
pub fn field<'v>(record: &'v Value<'v>, key: &str) -> Option<&'v Value<'v>> {
    record.as_object()?.get(key)
}

/// Returns the value at a path of nested keys.
pub fn at<'v>(record: &'v Value<'v>, keys: &[&str]) -> Option<&'v Value<'v>> {
    keys.iter().try_fold(record, |value, key| field(value, key))
}

/// Returns a member that is text.
pub fn string(record: &Value<'_>, key: &str) -> Option<String> {
    text(record, key).map(str::to_owned)
}

/// Returns a member that is text, without a copy.
pub fn text<'v>(record: &'v Value<'v>, key: &str) -> Option<&'v str> {
    field(record, key)?.as_str()
}

/// Returns a member that is a number of things; a negative one counts as none.
pub fn number(record: &Value<'_>, key: &str) -> u64 {
    field(record, key).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns the text of a message's `content`: a string, or parts.
pub fn content(message: &Value<'_>) -> String {
    if let Some(words) = text(message, "content") {
        return words.to_owned();
    }
    list(message, "content").iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n")
}

/// Returns the tokens of an answer by the names that several agents use. Cached tokens are part of `inputTokens`.
pub fn usage(record: &Value<'_>) -> Tokens {
    let cached = number(record, "cacheReadTokens");
    Tokens {
        input: number(record, "inputTokens").saturating_sub(cached),
        output: number(record, "outputTokens"),
        cache_read: cached,
        cache_write: number(record, "cacheWriteTokens"),
        ..Tokens::default()
    }
}

/// Returns a member that is a cost in dollars, in billionths of one.
pub fn dollars(record: &Value<'_>, key: &str) -> Option<u64> {
    let dollars = field(record, key).and_then(Value::as_f64).filter(|dollars| *dollars >= 0.0)?;
    // What is too large becomes the largest number.
    Some((dollars * 1e9).round() as u64)
}

/// Says whether a member is `true`.
pub fn flag(record: &Value<'_>, key: &str) -> bool {
    field(record, key).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the elements of a member that is an array.
pub fn list<'v>(record: &'v Value<'v>, key: &str) -> &'v [Value<'v>] {
    field(record, key).and_then(Value::as_array).unwrap_or_default()
}

/// Returns a member that is a time, in seconds since the epoch: RFC 3339, or milliseconds as a number.
pub fn time(record: &Value<'_>, key: &str) -> Option<i64> {
    Some(moment(field(record, key)?)?.0)
}

/// Gives a message the time in a member of its record; none if there is none.
pub fn set_time(message: &mut Message, record: &Value<'_>, key: &str) {
    let moment = field(record, key).and_then(moment);
    message.time = moment.map(|(seconds, _)| seconds);
    message.time_nanos = moment.map_or(0, |(_, nanos)| nanos);
}

/// Returns a time in seconds since the epoch, and the nanoseconds after that.
fn moment(value: &Value<'_>) -> Option<(i64, u32)> {
    if let Value::Str(text) = value {
        let time = text.parse::<jiff::Timestamp>().ok()?;
        return Some((time.as_second(), u32::try_from(time.subsec_nanosecond()).unwrap_or(0)));
    }
    let millis = value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))?;
    Some((millis / 1000, u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000))
}

/// Returns the attachment in a block without text, with its name and size as far as the block has them. The content is
/// base64 in `data` or an address with it, in the block itself or in its `source`. An address elsewhere stands for a name that
/// is missing.
pub fn attachment(kind: &str, block: &Value<'_>) -> Attachment {
    let source = field(block, "source").filter(|source| source.is_object()).unwrap_or(block);
    let find = |keys: &[&str]| keys.iter().find_map(|key| text(block, key).or_else(|| text(source, key)));
    let content = find(&["data", "url"]);
    let size_bytes = content.and_then(content_bytes);
    let name = find(&["filename", "title", "name", "media_type", "mediaType", "mimeType", "mime"]);
    let elsewhere = || content.filter(|content| !content.starts_with("data:") && content.contains("://"));
    let name = name.filter(|name| *name != kind).or_else(elsewhere).map(str::to_owned);
    Attachment { kind: kind.to_owned(), name, size_bytes, picture: content.and_then(Picture::of) }
}

/// Returns the attachment for an image that is given by its path, or by an address with its content.
pub fn image(place: &str) -> Attachment {
    let name = Some(place).filter(|place| !place.starts_with("data:")).and_then(|path| path.rsplit(['/', '\\']).next());
    let content = Some(place).filter(|place| place.starts_with("data:"));
    let (size_bytes, picture) = (content.and_then(content_bytes), content.and_then(Picture::of));
    Attachment { kind: "image".into(), name: name.map(str::to_owned), size_bytes, picture }
}

/// Returns the size in bytes of a content that a record has as base64 or as a `data:` address.
fn content_bytes(content: &str) -> Option<u64> {
    let base64 = match content.strip_prefix("data:") {
        Some(address) => address.split_once(";base64,")?.1,
        None => Some(content).filter(|content| !content.contains("://"))?,
    };
    Some(base64.trim_end_matches('=').len() as u64 * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_has_a_name_and_a_size() {
        let read = |block: &str| read_line(block.as_bytes(), |block| Some(attachment("image", block)));
        let named = |name: &str, size_bytes| {
            Some(Attachment { name: Some(name.into()), size_bytes, ..Attachment::from("image") })
        };
        let claude = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}}"#;
        assert_eq!(read(claude), named("image/png", Some(5)));
        assert_eq!(read(r#"{"filename":"a.png","url":"data:image/png;base64,aGVsbG8h"}"#), named("a.png", Some(6)));
        assert_eq!(read(r#"{"filename":"a.png","url":"https://example.com/a.png"}"#), named("a.png", None));
        let address = "https://example.com/a.png";
        assert_eq!(read(&format!(r#"{{"source":{{"type":"url","url":"{address}"}}}}"#)), named(address, None));
        assert_eq!(read("{}"), Some("image".into()));
        assert_eq!(Some(image("/home/dev/a.png")), named("a.png", None));
        assert_eq!(image("data:image/png;base64,aGVsbG8=").size_bytes, Some(5));
    }

    #[test]
    fn half_a_character_does_not_take_the_rest_with_it() {
        let said = |line: &str| read_line(line.as_bytes(), |record| string(record, "text"));
        assert_eq!(said(r#"{"text":"cut \ud83d"}"#).as_deref(), Some("cut \u{fffd}"));
        let line = r#"{"text":"\udc00 \ud83d\ude00 \\ud83d \ud83d\n"}"#;
        assert_eq!(said(line).as_deref(), Some("\u{fffd} \u{1f600} \\ud83d \u{fffd}\n"));
        assert_eq!(said("{\"text\":\"\\"), None);
        assert_eq!(parse(r#"["\ud83d"]"#), Some(serde_json::json!(["\u{fffd}"])));
    }
}
