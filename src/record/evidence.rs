//! Evidence in a note: a line that says what was observed while the commit was made, such as a log or the output of a test.
//!
//! To code that knows nothing of evidence, such a line is one of somebody else, which is kept as it stands. The text
//! itself stays in its file, or is in the archive, see [`crate::archive::text`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::remark::Remark;
use super::{Note, Unit, newer};
use crate::archive::text;
use crate::transcript::SessionKey;

/// The longest line of a note that is read as evidence, in bytes.
const MAX_LINE_BYTES: usize = 16 << 10;

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
        let evidence = (line.len() <= MAX_LINE_BYTES).then(|| newer::evidence_of(line)).flatten()?;
        (!evidence.evidence.is_empty() && !evidence.id.is_empty()).then_some(evidence)
    }

    /// Returns the evidence as the line that a note holds, without the line end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("evidence has only strings and numbers")
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

impl Unit {
    /// Returns a line of a note with other evidence; keys that this version does not know stay.
    fn with_evidence(line: &[u8], evidence: &Evidence) -> Unit {
        let mut object: Map<String, Value> = serde_json::from_slice(line).unwrap_or_default();
        if let Ok(Value::Object(changed)) = serde_json::to_value(evidence) {
            object.extend(changed);
        }
        Unit::Foreign(Remark::new(Value::Object(object).to_string().as_bytes()))
    }

    /// Returns the evidence that a line of a note is; `None` for other units.
    pub fn evidence(&self) -> Option<Evidence> {
        match self {
            Unit::Foreign(line) => Evidence::parse(line),
            Unit::Record(_) | Unit::Newer(_) | Unit::Earlier(..) => None,
        }
    }

    /// Says whether a unit is a remark of somebody: a line that is neither ours nor of an earlier tool.
    pub(crate) fn is_remark(&self) -> bool {
        matches!(self, Unit::Foreign(_)) && self.evidence().is_none()
    }
}

impl Note {
    /// Returns the evidence, by time. What stands twice counts once; a line whose text is stored is taken first.
    pub fn evidence(&self) -> Vec<Evidence> {
        let mut found: Vec<Evidence> = Vec::new();
        for evidence in self.units().iter().filter_map(Unit::evidence).chain(self.removed_evidence.iter().cloned()) {
            match found.iter_mut().find(|known| known.is_same(&evidence)) {
                Some(known) if known.blob.is_none() && evidence.blob.is_some() => *known = evidence,
                Some(_) => {}
                None => found.push(evidence),
            }
        }
        // A merge of Git's may have sorted the lines.
        found.sort_by(|a, b| (&a.time, &a.evidence, &a.id).cmp(&(&b.time, &b.evidence, &b.id)));
        found
    }

    /// Says whether the note has a conversation or evidence: what is carried to a rewritten commit.
    pub fn is_carried(&self) -> bool {
        self.has_conversation() || self.units().iter().any(|unit| unit.evidence().is_some())
    }

    /// Replaces each evidence by what `change` returns; drops it for `None`. A line that does not change stays as it is.
    pub(crate) fn map_evidence(&mut self, change: impl Fn(Evidence) -> Option<Evidence>) {
        self.map_units(|unit| {
            let Unit::Foreign(line) = &unit else { return Some(unit) };
            let Some(before) = Evidence::parse(line) else { return Some(unit) };
            let after = change(before.clone())?;
            Some(if after == before { unit } else { Unit::with_evidence(line, &after) })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
