//! One independent part of a note: a record, evidence, a document of an earlier tool, or a remark.

use std::borrow::Cow;

use bstr::BString;
use serde_json::{Map, Value};

use super::remark::Remark;
use super::{Earlier, Evidence, Newer, Record};
use crate::transcript::SessionKey;

/// One independent part of a note.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// A record of this version, one line.
    Record(Box<Record>),
    /// A record of a newer version, one line.
    Newer(Box<Newer>),
    /// A document of an earlier tool, and its unchanged text.
    Earlier(Box<Earlier>, BString),
    /// A paragraph that is none of these, such as a remark by a person.
    Foreign(Remark),
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

    /// Returns a line of a note with other evidence; keys that this version does not know stay.
    pub(super) fn with_evidence(line: &[u8], evidence: &Evidence) -> Unit {
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
