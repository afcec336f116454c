//! Evidence as `show` and `evidence` print it.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::{Style, size};
use crate::outside;
use crate::record::Evidence;

/// Writes evidence: a line with its kind, id, size and name, then its findings.
///
/// # Errors
///
/// If writing fails.
pub fn write_evidence(out: &mut dyn Write, number: usize, evidence: &Evidence, style: &Style) -> io::Result<()> {
    let what = evidence_head(evidence);
    writeln!(out, "{} {what}", style.paint(&style.strong, &format!("evidence {number}")))?;
    evidence_lines(evidence).iter().try_for_each(|line| writeln!(out, "  {line}"))
}

/// Returns the first line of evidence: its kind, id, size and name.
pub fn evidence_head(evidence: &Evidence) -> String {
    outside::line(&format!("{} {}, {}, {}", evidence.evidence, evidence.id, size(evidence.size), evidence.name))
}

/// Returns the findings of evidence, a line each.
pub fn evidence_lines(evidence: &Evidence) -> Vec<String> {
    let lines = evidence.note.iter().chain(&evidence.error).chain(&evidence.triage);
    let notice = evidence.newer_notice().map(|notice| format!("[{notice}]"));
    notice.into_iter().chain(lines.map(|line| outside::line(line))).collect()
}

/// Returns evidence as JSON has it: the keys of the note, and `recordVersion` if it is of a newer version.
pub fn evidence_object(evidence: &Evidence) -> Value {
    let mut object = match serde_json::to_value(evidence) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    };
    let version = object.shift_remove("shiftlog");
    if evidence.newer_notice().is_some() {
        object.extend(version.map(|version| ("recordVersion".to_owned(), version)));
    }
    Value::Object(object)
}
