//! Evidence in a note: a line that says what was observed while the commit was made, such as a log or the output of a test.
//!
//! To code that knows nothing of evidence, such a line is one of somebody else, which is kept as it stands. The text
//! itself stays in its file.

use serde::{Deserialize, Serialize};

use super::{Note, Unit};

/// The longest line of a note that is read as evidence, in bytes.
const MAX_LINE_BYTES: usize = 16 << 10;

/// One line of a note: something that was observed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Evidence {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The kind: `apex`, `ci`, `log` or `test`.
    pub evidence: String,
    /// The id of a log in its org, or the beginning of the digest.
    pub id: String,
    /// When the text was written; RFC 3339 in UTC.
    #[serde(default)]
    pub time: String,
    /// The length of the text in bytes.
    #[serde(default)]
    pub size: u64,
    /// SHA-256 of the text, in hex.
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
    /// Parses a line of a note; `None` if it is no evidence of version 1.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let has_head = line.starts_with(b"{\"shiftlog\":1,\"evidence\":") && line.len() <= MAX_LINE_BYTES;
        let evidence: Evidence = has_head.then(|| serde_json::from_slice(line).ok()).flatten()?;
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
}

impl Unit {
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
    /// Returns the evidence, in the order of the note. What stands twice counts once.
    pub fn evidence(&self) -> Vec<Evidence> {
        let mut found: Vec<Evidence> = Vec::new();
        for evidence in self.units().iter().filter_map(Unit::evidence) {
            if !found.iter().any(|known| known.is_same(&evidence)) {
                found.push(evidence);
            }
        }
        // A merge of Git's may have sorted the lines.
        found.sort_by(|a, b| (&a.time, &a.evidence, &a.id).cmp(&(&b.time, &b.evidence, &b.id)));
        found
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
        for other in [
            r#"{"shiftlog":1,"evidence":"","id":"x"}"#,
            r#"{"shiftlog":1,"evidence":"apex"}"#,
            r#"{"shiftlog":2,"evidence":"apex","id":"x"}"#,
            "a remark",
        ] {
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
