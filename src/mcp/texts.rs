//! The texts of an answer: on one line, without invisible characters; and times.

use serde_json::Value;

use crate::git::date::{Format, Time};
use crate::outside;

/// The most bytes that a list answers with; clients cut what is longer.
pub const LIST_BYTES: usize = 18_000;
/// The longest subject, in characters.
const EXCERPT_CHARS: usize = 240;

/// Returns a text on one line, or its beginning.
pub fn shortened(text: &str) -> String {
    let line = outside::line(text);
    if line.chars().count() <= EXCERPT_CHARS { line } else { line.chars().take(EXCERPT_CHARS).chain(['…']).collect() }
}

/// Returns how long ago something was, in words.
pub fn age(time: Time) -> String {
    Format::parse("relative").map(|format| format.show(time)).unwrap_or_default()
}

/// Returns a time, given in seconds since the epoch, as RFC 3339.
pub fn date(seconds: i64) -> String {
    Time { seconds, offset: 0 }.to_rfc3339()
}

/// Returns a value without invisible characters in its strings.
pub fn cleaned(mut value: Value) -> Value {
    clean(&mut value);
    value
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = outside::text(text),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(map) => {
            if map.keys().any(|key| outside::line(key) != *key) {
                *map = std::mem::take(map).into_iter().map(|(key, value)| (outside::line(&key), value)).collect();
            }
            map.values_mut().for_each(clean);
        }
        _ => {}
    }
}
