//! Evidence in a note: a line that says what was observed while the commit was made, such as a log or the output of a test.
//!
//! To code that knows nothing of evidence, such a line is one of somebody else, which is kept as it stands. The text
//! itself stays in its file, or is in the archive, see [`crate::archive::text`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::newer::{self, KNOWN_VERSION};
use crate::archive::text;
use crate::transcript::SessionKey;

/// The longest line of a note that is read as evidence, in bytes.
const MAX_LINE_BYTES: usize = 16 << 10;
/// The longest line that is written. A line becomes longer when its text is stored or purged later.
const MAX_WRITTEN_BYTES: usize = MAX_LINE_BYTES - 512;

/// One line of a note: something that was observed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Evidence {
    /// The version of the format.
    pub shiftlog: u32,
    /// The kind: `apex`, `ci`, `log` or `test`.
    pub evidence: String,
    /// The id of a log in its org, or the beginning of the digest.
    pub id: String,
    /// When the text was written; RFC 3339 in UTC.
    #[serde(default)]
    pub time: String,
    /// The length of the text in bytes; of a text in the archive, after redaction.
    #[serde(default)]
    pub size: u64,
    /// SHA-256 of the same text, in hex.
    #[serde(default)]
    pub sha256: String,
    /// `failed` if the text tells of a failure; empty if it tells of none.
    #[serde(default)]
    pub status: String,
    /// The first failure that the text tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What else a reader of the text should know, in a few lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triage: Vec<String>,
    /// What the person who attached it said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The file: from the top of the working tree, or its name alone if it is elsewhere.
    #[serde(default)]
    pub name: String,
    /// The segment that has the text, as a hex blob id; `None` if the text is in its file alone.
    #[serde(default)]
    pub blob: Option<String>,
}

impl Evidence {
    /// Parses a line of a note, of this or a newer version; `None` if it is no evidence.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let evidence = (line.len() <= MAX_LINE_BYTES).then(|| keys_of(line)).flatten()?;
        (!evidence.evidence.is_empty() && !evidence.id.is_empty()).then_some(evidence)
    }

    /// Returns the notice that is shown for evidence of a newer version; `None` for other evidence.
    pub fn newer_notice(&self) -> Option<String> {
        let version = u64::from(self.shiftlog);
        (version > KNOWN_VERSION).then(|| newer::notice(version))
    }

    /// Returns the evidence as the line that a note holds, without the line end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("evidence has only strings and numbers")
    }

    /// Says whether the line is longer than what is written. Nobody would read it.
    pub fn is_too_long(&self) -> bool {
        self.to_line().len() > MAX_WRITTEN_BYTES
    }

    /// Says whether both are about the same text.
    pub fn is_same(&self, other: &Evidence) -> bool {
        (&self.evidence, &self.id, &self.sha256) == (&other.evidence, &other.id, &other.sha256)
    }

    /// Returns the session in the archive that has the text, if it is stored.
    pub fn key(&self) -> SessionKey {
        SessionKey::new(text::EVIDENCE, &self.sha256)
    }

    /// Returns evidence whose text was replaced by another one, after a purge.
    #[must_use]
    pub fn with_text(mut self, blob: String, size: u64, sha256: String) -> Self {
        if let Some(digits) = self.sha256.get(..self.id.len()).filter(|digits| *digits == self.id) {
            self.id = sha256.get(..digits.len()).unwrap_or(&sha256).to_owned();
        }
        (self.blob, self.size, self.sha256) = (Some(blob), size, sha256);
        self
    }

    /// Returns what stands in the place of evidence that others have removed.
    pub(super) fn removed(self, removed_by: String) -> Self {
        Evidence {
            status: String::new(),
            error: None,
            triage: Vec::new(),
            note: Some(removed_by),
            blob: None,
            sha256: String::new(),
            ..self
        }
    }
}

/// Parses a line of evidence of this or a newer version. Of a newer one, a key that has another type has its default value.
fn keys_of(line: &[u8]) -> Option<Evidence> {
    let (version, rest) = newer::version_of(line)?;
    if !rest.starts_with(b"\"evidence\":") {
        return None;
    }
    if version == KNOWN_VERSION {
        return serde_json::from_slice(line).ok();
    }
    let mut keys: Map<String, Value> = serde_json::from_slice(line).ok()?;
    keys.retain(|name, value| match name.as_str() {
        "shiftlog" | "size" => value.is_u64(),
        "triage" => newer::is_list_of_strings(value),
        "error" | "note" | "blob" => value.is_string() || value.is_null(),
        _ => value.is_string(),
    });
    serde_json::from_value(Value::Object(keys)).ok()
}

/// Keys of evidence that say what it is about. Without them a text is not found.
const IDENTITY: [&str; 7] = ["shiftlog", "evidence", "id", "time", "size", "sha256", "blob"];
/// Keys of evidence that have words.
const WORDS: [&str; 5] = ["status", "error", "triage", "note", "name"];

/// Returns a line of evidence in which `clean` has changed words, but nothing that says what it is about; `None` if the line
/// is no evidence.
pub fn cleaned_line(line: &[u8], clean: impl Fn(&[u8]) -> Vec<u8>) -> Option<Vec<u8>> {
    Evidence::parse(line)?;
    let mut object: Map<String, Value> = serde_json::from_slice(line).ok()?;
    let count = object.len();
    object.retain(|key, _| {
        IDENTITY.contains(&key.as_str()) || WORDS.contains(&key.as_str()) || clean(key.as_bytes()) == key.as_bytes()
    });
    let mut has_changed = object.len() != count;
    for (_, value) in object.iter_mut().filter(|(key, _)| !IDENTITY.contains(&key.as_str())) {
        let before = value.to_string();
        let after = clean(before.as_bytes());
        if after != before.as_bytes() {
            has_changed = true;
            *value = serde_json::from_slice(&after).unwrap_or_default();
        }
    }
    // A line that nothing has changed keeps its spaces.
    Some(if has_changed { Value::Object(object).to_string().into_bytes() } else { line.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Note;

    const LINE: &str = r#"{"shiftlog":1,"evidence":"apex","id":"07L1","time":"2026-11-20T12:00:00Z","size":3,"sha256":"00","status":"failed","error":"e","triage":["t"],"note":"n","name":"apexlogs/x.log","blob":null}"#;

    #[test]
    fn evidence_is_written_as_the_format_page_says() {
        let evidence = Evidence::parse(LINE.as_bytes()).expect("evidence");
        assert_eq!(evidence.to_line(), LINE);
        for other in [r#"{"shiftlog":1,"evidence":"","id":"x"}"#, r#"{"shiftlog":1,"evidence":"apex"}"#, "a remark"] {
            assert_eq!(Evidence::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn what_is_written_is_read_also_when_its_text_was_stored() {
        let named = |length: usize| Evidence {
            shiftlog: 1,
            evidence: "test".into(),
            id: "0".repeat(12),
            sha256: "0".repeat(64),
            name: "x".repeat(length),
            ..Evidence::default()
        };
        let longest = (0..MAX_LINE_BYTES).rev().map(named).find(|one| !one.is_too_long()).expect("one fits");
        let stored = longest.with_text("0".repeat(64), u64::MAX, "1".repeat(64));
        assert_eq!(Evidence::parse(stored.to_line().as_bytes()), Some(stored));
        assert!(named(MAX_LINE_BYTES).is_too_long());
    }

    #[test]
    fn known_keys_of_evidence_are_read() {
        let line = br#"{"shiftlog":2,"evidence":"ci","id":"x","size":"large","error":"e","mood":[1],"blob":null}"#;
        let evidence = Evidence::parse(line).expect("evidence");
        assert_eq!((evidence.size, evidence.error.as_deref()), (0, Some("e")));
        assert!(evidence.newer_notice().is_some_and(|notice| notice.contains("format 2")));
        for other in
            [&br#"{"shiftlog":2,"id":"x","evidence":"ci"}"#[..], br#"{"shiftlog":"x","evidence":"ci","id":"x"}"#]
        {
            assert_eq!(Evidence::parse(other), None);
        }
    }

    #[test]
    fn a_note_tells_each_evidence_once_and_keeps_its_lines() {
        let later = LINE.replace("12:00", "13:00").replace("07L1", "07L2");
        let again = LINE.replace("\"note\":\"n\",", "");
        let text = format!("{later}\na remark\n{LINE}\n{again}\n");
        let note = Note::parse(text.as_bytes());
        assert_eq!(note.to_bytes(), text.as_bytes());
        let ids: Vec<String> = note.evidence().into_iter().map(|evidence| evidence.id).collect();
        assert_eq!(ids, ["07L1", "07L2"]);
        assert_eq!(note.units().iter().filter(|unit| unit.is_remark()).count(), 1);
        assert!(!note.has_conversation());
    }
}
