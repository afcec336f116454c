//! What the records of a note say of their sessions, whichever tool or version wrote them.

use std::collections::HashMap;

use super::{Hidden, Note, Record, Unit};
use crate::transcript::{SessionKey, Tokens};

/// What a record says about its session, whichever tool wrote it.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The session.
    pub key: SessionKey,
    /// The model.
    pub model: Option<String>,
    /// When the record was made; RFC 3339.
    pub time: String,
    /// The first prompt of the increment, shortened.
    pub prompt: Option<String>,
    /// What the conversation comes to, if somebody had it summarised.
    pub summary: Option<String>,
    /// How many prompts the increment has.
    pub turns: u64,
    /// How many prompts and texts of the assistant the increment has.
    pub messages: u64,
    /// What the increment cost.
    pub tokens: Option<Tokens>,
    /// Whether others say that it was removed; then `prompt` says who.
    pub is_removed: bool,
    /// The version of the format that the record has, if that is newer than what this program knows.
    pub newer_version: Option<u64>,
}

impl Summary {
    /// Returns what stands in the place of a record that is not shown.
    pub(super) fn of_hidden(hidden: &Hidden) -> Summary {
        Summary {
            key: hidden.key.clone(),
            model: None,
            time: hidden.time.clone(),
            prompt: Some(hidden.removed_by.clone()),
            summary: None,
            turns: 0,
            messages: 0,
            tokens: None,
            is_removed: true,
            newer_version: None,
        }
    }

    fn of_record(record: &Record) -> Summary {
        Summary {
            key: record.key(),
            model: record.model.clone(),
            time: record.time.clone(),
            prompt: record.prompt.clone(),
            summary: record.summary.clone(),
            turns: record.turns,
            messages: record.messages,
            tokens: record.tokens,
            is_removed: false,
            newer_version: None,
        }
    }

    /// Returns the sentence for people about a record of a newer version; `None` for any other.
    pub fn newer_notice(&self) -> Option<String> {
        let version = self.newer_version?;
        Some(format!(
            "recorded by a newer version of git-shiftlog (format {version}); what this version does not know of it is \
             left out"
        ))
    }

    /// Returns what a unit says; `None` for a line that is no record.
    pub(super) fn of(unit: &Unit) -> Option<Summary> {
        match unit {
            Unit::Record(record) => Some(Summary::of_record(record)),
            Unit::Newer(newer) => {
                Some(Summary { newer_version: Some(newer.version), ..Summary::of_record(&newer.record) })
            }
            Unit::Earlier(earlier, _) => Some(Summary {
                key: earlier.key(),
                turns: earlier.turns(),
                messages: earlier.message_count,
                tokens: earlier.tokens(),
                model: earlier.model.clone(),
                time: earlier.timestamp.clone(),
                prompt: None,
                summary: None,
                is_removed: false,
                newer_version: None,
            }),
            Unit::Foreign(_) => None,
        }
    }
}

impl Note {
    /// Returns what the records say, sub-agents behind their sessions.
    pub fn summaries(&self) -> Vec<Summary> {
        let hidden: Vec<Summary> = self.hidden().iter().map(Summary::of_hidden).collect();
        let summaries = self.units().iter().filter_map(|unit| Some((Summary::of(unit)?, ()))).collect();
        in_order(summaries).into_iter().map(|(summary, ())| summary).chain(hidden).collect()
    }
}

/// Puts sub-agents behind their sessions.
pub(super) fn in_order<T>(mut units: Vec<(Summary, T)>) -> Vec<(Summary, T)> {
    if units.iter().any(|(summary, _)| summary.key.parent_id().is_some()) {
        let mut order: HashMap<SessionKey, usize> = HashMap::new();
        for (at, (summary, _)) in units.iter().enumerate() {
            order.entry(summary.key.clone()).or_insert(at);
        }
        let at = |key: &SessionKey| order.get(key).copied();
        units.sort_by_cached_key(|(summary, _)| {
            let parent = summary.key.parent_id().map(|id| SessionKey::new(&summary.key.agent, id));
            (parent.as_ref().and_then(at).or_else(|| at(&summary.key)), parent.is_some())
        });
    }
    units
}
