//! Records in a newer format: shown as far as this version knows their keys, kept unchanged.
//!
//! gitshiftlog-format(5) promises for every version that a record is one line beginning with `{"shiftlog":<version>,`
//! and that a key keeps its meaning. So the known keys may be shown.

use std::borrow::Cow;

use bstr::BString;
use serde_json::{Map, Value};

use super::{Note, Record, Unit};
use crate::transcript::{EditedPath, ModelUsage, SessionKey, Tokens};

/// The beginning of a record's line.
const HEAD: &[u8] = b"{\"shiftlog\":";
/// The newest version that this program knows.
const KNOWN_VERSION: u64 = 1;

/// A record of a newer version.
#[derive(Clone, Debug, PartialEq)]
pub struct Newer {
    /// The version of the format.
    pub version: u64,
    /// The keys that this version knows. A key that is absent or has another type has its default value.
    pub record: Record,
    /// The line, unchanged.
    pub text: BString,
}

impl Newer {
    /// Parses a line of a note; `None` if it is not a record of a newer version or does not name its session.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let digits = line.strip_prefix(HEAD)?.split(|byte| *byte == b',').next()?;
        let version: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        if version <= KNOWN_VERSION {
            return None;
        }
        let mut keys: Map<String, Value> = serde_json::from_slice(line).ok()?;
        keys.retain(|name, value| has_known_type(name, value));
        keys.insert("shiftlog".into(), KNOWN_VERSION.into());
        keys.entry("through").or_insert_with(|| "".into());
        let record = serde_json::from_value(Value::Object(keys)).ok()?;
        Some(Newer { version, record, text: line.into() })
    }

    /// Returns the record with the segments, prompt and summary of `changed`; other keys are unchanged.
    pub(super) fn with(&self, changed: &Record) -> Option<Self> {
        let mut keys: Map<String, Value> = serde_json::from_slice(&self.text).ok()?;
        let known = serde_json::to_value(changed).ok()?;
        for name in ["prompt", "summary", "summaryTime", "since", "through", "bytes", "sha256", "rules"] {
            match known.get(name) {
                Some(value) if keys.contains_key(name) => drop(keys.insert(name.into(), value.clone())),
                Some(_) => {}
                None => drop(keys.shift_remove(name)),
            }
        }
        let text = serde_json::to_string(&keys).ok()?;
        Some(Newer { record: changed.clone(), text: text.into(), ..self.clone() })
    }
}

/// Says whether a key exists in version 1 and its value has the type of version 1.
fn has_known_type(name: &str, value: &Value) -> bool {
    match name {
        "agent" | "session" | "time" | "through" | "sha256" => value.is_string(),
        "model" | "prompt" | "summary" | "summaryTime" | "since" | "tree" => value.is_string() || value.is_null(),
        "turns" | "messages" | "bytes" | "active" => value.is_u64(),
        "usage" => serde_json::from_value::<Vec<ModelUsage>>(value.clone()).is_ok(),
        "edits" => serde_json::from_value::<Vec<EditedPath>>(value.clone()).is_ok(),
        "tokens" => serde_json::from_value::<Tokens>(value.clone()).is_ok(),
        "rules" => value.is_array(),
        "earlier" => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        _ => false,
    }
}

impl Unit {
    /// Returns the record of this or a newer version; `None` for other units.
    pub fn record(&self) -> Option<&Record> {
        match self {
            Unit::Record(record) => Some(record),
            Unit::Newer(newer) => Some(&newer.record),
            Unit::Earlier(..) | Unit::Foreign(_) => None,
        }
    }

    /// Returns the session of a record or document; `None` for another line.
    pub fn key(&self) -> Option<SessionKey> {
        match self {
            Unit::Earlier(document, _) => Some(document.key()),
            unit => unit.record().map(Record::key),
        }
    }

    /// Returns the text of the unit in a note, without a line end.
    pub fn text(&self) -> Cow<'_, [u8]> {
        match self {
            Unit::Record(record) => Cow::Owned(record.to_line().into_bytes()),
            Unit::Newer(newer) => Cow::Borrowed(&newer.text),
            Unit::Earlier(_, text) => Cow::Borrowed(text),
            Unit::Foreign(remark) => Cow::Borrowed(remark.text()),
        }
    }
}

impl Note {
    /// Returns the records in order, including those of newer versions, of which only known keys are read.
    pub fn records_of_all_versions(&self) -> impl Iterator<Item = &Record> {
        self.units().iter().filter_map(Unit::record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_read_and_all_of_the_line_is_kept() {
        let line = br#"{"shiftlog":2,"agent":"claude","session":"s","turns":"three","prompt":"p","mood":[1]}"#;
        let newer = Newer::parse(line).expect("a record");
        assert_eq!((newer.version, newer.record.turns, newer.record.prompt.as_deref()), (2, 0, Some("p")));
        assert_eq!(Note::parse(line).to_bytes(), [line, &b"\n"[..]].concat());
        for other in [&br#"{"shiftlog":1,"agent":"claude"}"#[..], br#"{"shiftlog":2}"#, br#"{"shiftlog":"document"}"#] {
            assert_eq!(Newer::parse(other), None);
        }
    }

    #[test]
    fn what_was_purged_goes_and_unknown_keys_stay() {
        let line = br#"{"shiftlog":2,"agent":"a","session":"s","prompt":"secret","through":"x","mood":{"z":1,"a":2}}"#;
        let newer = Newer::parse(line).expect("a record");
        let changed = Record { prompt: None, through: "y".into(), ..newer.record.clone() };
        let text = newer.with(&changed).expect("it is JSON").text;
        assert_eq!(text, br#"{"shiftlog":2,"agent":"a","session":"s","through":"y","mood":{"z":1,"a":2}}"#.as_slice());
    }
}
