//! Records in a newer format: shown as far as this version knows their keys, kept unchanged.
//!
//! gitshiftlog-format(5) promises for every version that a record is one line beginning with `{"shiftlog":<version>,`,
//! that evidence is one beginning with `{"shiftlog":<version>,"evidence":`, and that a key keeps its meaning. So the known
//! keys may be shown.

use bstr::{BString, ByteSlice as _};
use serde_json::{Map, Value};

use super::{MAX_JOINED_TREES, Record};
use crate::transcript::{EditedPath, ModelUsage, Tokens};

/// The beginning of a record's line.
const HEAD: &[u8] = b"{\"shiftlog\":";
/// The newest version that this program knows.
pub(super) const KNOWN_VERSION: u64 = 1;

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
        let (version, _) = version_of(line)?;
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

    /// Returns the record with the segments, prompt and summary of `changed`, and without files if it has none; other keys are
    /// unchanged.
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
        if changed.edits.is_empty() {
            keys.shift_remove("edits");
        }
        let text = serde_json::to_string(&keys).ok()?;
        Some(Newer { record: changed.clone(), text: text.into(), ..self.clone() })
    }
}

/// Returns the version at the beginning of a line, and the text after the comma that follows it.
pub(super) fn version_of(line: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, rest) = line.strip_prefix(HEAD)?.split_once_str(b",")?;
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// Returns the notice that is shown for a record or evidence of a newer version.
pub(super) fn notice(version: u64) -> String {
    format!(
        "recorded by a newer version of git-shiftlog (format {version}); what this version does not know of it is left out"
    )
}

pub(super) fn is_list_of_strings(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
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
        "earlier" => is_list_of_strings(value),
        "joinedTrees" => {
            is_list_of_strings(value) && value.as_array().is_some_and(|list| list.len() <= MAX_JOINED_TREES)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Note;

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
    fn every_key_of_a_record_is_known() {
        let record = Record {
            agent: "a".into(),
            session: "s".into(),
            model: Some("m".into()),
            prompt: Some("p".into()),
            summary: Some("s".into()),
            summary_time: Some("t".into()),
            since: Some("x".into()),
            tree: Some("t".into()),
            joined_trees: vec!["u".into()],
            earlier: vec!["e".into()],
            ..Newer::parse(br#"{"shiftlog":2,"agent":"a","session":"s"}"#).expect("a record").record
        };
        let line = record.to_line().replacen(":1,", ":2,", 1);
        assert_eq!(Newer::parse(line.as_bytes()).expect("a record").record, record);
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
