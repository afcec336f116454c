//! Numbers of a manifest, as they are written.
//!
//! A value has 64 bits for a number. One that it would write in another way, such as `1e400` or `-0`, is a string here with a
//! mark in front, and is written as the number that it was.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// What a string begins with that stands for a number.
const MARK: &str = "\0#";

/// Parses a text of JSON.
///
/// # Errors
///
/// If it is none.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    // What is no number must not become a string.
    let _: &RawValue = serde_json::from_str(text)?;
    serde_json::from_str(&marked(text))
}

/// Returns a text of JSON with strings in the place of numbers that a value does not keep.
fn marked(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit()) {
        marked.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_string = rest.starts_with('"');
        let end = if is_string { string_end(rest) } else { rest.find(|letter| !is_of_number(letter)) };
        let (token, behind) = rest.split_at(end.unwrap_or(rest.len()));
        match is_string || is_kept(token) {
            true => marked.push_str(token),
            false => marked.push_str(&format!("\"\\u0000#{token}\"")),
        }
        rest = behind;
    }
    marked + rest
}

fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '-' | '+' | '.' | 'e' | 'E')
}

/// Says whether a value writes a number as it was read.
fn is_kept(token: &str) -> bool {
    serde_json::from_str::<Number>(token).is_ok_and(|number| number.to_string() == token)
}

/// Returns where the string ends that a text begins with.
fn string_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    // The quotation marks count.
    end.map(|length| length + 2)
}

/// Returns the number that a string stands for, as it was written.
fn number(text: &str) -> Option<Box<RawValue>> {
    let written = text.strip_prefix(MARK).filter(|written| written.chars().all(is_of_number))?;
    RawValue::from_string(written.to_owned()).ok()
}

/// Returns the text of a value, if it is a string and stands for no number.
pub fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| number(text).is_none())
}

/// Returns a value in which numbers are what people see, be it as strings.
pub fn shown(value: &Value) -> Value {
    let Some(members) = value.as_object() else { return value.clone() };
    let member = |(key, value): (&String, &Value)| {
        let number = value.as_str().and_then(number).map(|number| Value::from(number.get()));
        (key.clone(), number.unwrap_or_else(|| value.clone()))
    };
    Value::Object(members.iter().map(member).collect())
}

/// Returns the text of an object.
pub fn to_text(value: &Map<String, Value>) -> String {
    serde_json::to_string_pretty(&Members(value)).unwrap_or_default()
}

struct Members<'v>(&'v Map<String, Value>);

struct Written<'v>(&'v Value);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, Written(value))))
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => Members(members).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Written)),
            Value::String(text) => match number(text) {
                Some(number) => number.serialize(serializer),
                None => serializer.serialize_str(text),
            },
            other => other.serialize(serializer),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        to_text(parse(text).unwrap().as_object().unwrap())
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        let text = "{\n  \"a\": [\n    12345678901234567890123,\n    100000000000000000000,\n    -0,\n    1e400,\n    1E5,\n    0.10,\n    7,\n    -7,\n    1.5\n  ],\n  \"b\": {\n    \"-0\": \"-0 1e400 \\\" 1e400\\\\\",\n    \"c\": 1e400\n  }\n}";
        assert_eq!(again(text), text);
        let value = parse(text).unwrap();
        assert_eq!((text_of(&value["a"][3]), text_of(&value["b"]["-0"])), (None, Some("-0 1e400 \" 1e400\\")));
        assert_eq!(shown(&value["b"])["c"], "1e400");
        for wrong in ["{\"a\":01}", "{\"a\":-}", "{\"a\":1e}", "{\"a\":1-2}", "{\"a\":.5}", "{\"a\":1", "-", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let other = "{\n  \"a\": \"\\u0000#1 2\"\n}";
        assert_eq!(again(other), other, "a string that only looks like a mark is a string");
    }

    fn text_of(value: &Value) -> Option<&str> {
        super::text(value)
    }
}
