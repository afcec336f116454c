//! A session recorded on a commit: the record, reading it back, walking the commits that have one.
//!
//! Read [`Record`] first, then [`Reader`] for a commit and [`Query`] for many. The stored form is described in
//! gitshiftlog-format(5).

pub(crate) mod bars;
mod bounds;
mod branches;
mod conversation;
mod covers;
mod earlier;
pub mod kept;
mod newer;
mod note;
mod overlap;
mod overview;
mod read;
pub mod redaction;
mod summary;
pub(crate) mod tombstone;
mod walk;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::branches::BranchSummary;
pub use self::conversation::{Conversation, Words};
pub(crate) use self::covers::{add_proven, has_all_of, merge_proven};
pub use self::earlier::Earlier;
pub use self::newer::Newer;
pub use self::note::{Hidden, Note, Unit};
pub use self::overview::Summary;
pub(crate) use self::read::EARLIER_REF;
pub use self::read::Reader;
pub use self::summary::{save_summary, saved_summary};
pub use self::walk::{Listed, Query};
use crate::git::Repository;
use crate::transcript::{SessionKey, Tally, Tokens};

/// The longest prompt that a record repeats, in characters.
const MAX_PROMPT_CHARS: usize = 200;

/// One line of a note: these segments of this session led to this commit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Record {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The agent, such as `claude`.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The last model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When the record was made; RFC 3339 in UTC.
    #[serde(default)]
    pub time: String,
    /// The first prompt of the increment, cut at 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the conversation comes to, in a few sentences, if somebody had it summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was summarised; RFC 3339 in UTC.
    #[serde(default, rename = "summaryTime", skip_serializing_if = "Option::is_none")]
    pub summary_time: Option<String>,
    /// How many prompts the increment has.
    #[serde(default)]
    pub turns: u64,
    /// How many prompts and texts of the assistant the increment has.
    #[serde(default)]
    pub messages: u64,
    /// What the increment cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The segment that the increment begins after, as a hex blob id; `None` for the beginning of the session.
    #[serde(default)]
    pub since: Option<String>,
    /// The segment that the increment ends with.
    pub through: String,
    /// The length of the whole transcript up to `through`.
    #[serde(default)]
    pub bytes: u64,
    /// SHA-256, in hex, of the whole transcript up to `through`.
    #[serde(default)]
    pub sha256: String,
    /// The tree of the commit that it was made for, in hex; a commit that the record was carried to has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The checksums of the earlier tools' documents that it was made of, by `git shiftlog migrate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// Keys that a later version may have added.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Record {
    /// Returns a record of what was counted of a stretch of a session. When it was made, and where the stretch begins and
    /// ends, is still to be said.
    pub(crate) fn of(key: &SessionKey, tally: &Tally) -> Self {
        Record {
            shiftlog: 1,
            agent: key.agent.clone(),
            session: key.id.clone(),
            model: tally.model.clone(),
            time: String::new(),
            prompt: tally.prompt.as_deref().and_then(short_prompt),
            summary: None,
            summary_time: None,
            turns: tally.turns,
            messages: tally.messages,
            tokens: tally.tokens(),
            since: None,
            through: String::new(),
            bytes: 0,
            sha256: String::new(),
            tree: None,
            earlier: Vec::new(),
            other: Map::new(),
        }
    }

    /// Returns the name of the session.
    pub fn key(&self) -> SessionKey {
        SessionKey::new(&self.agent, &self.session)
    }

    /// Returns the record as the line that a note holds, without the line end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a record has only strings, numbers and maps with string keys")
    }

    /// Parses a line of a note; `None` if it is no record of a version we know.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let record: Record = serde_json::from_slice(line).ok()?;
        (record.shiftlog == 1 && !record.through.is_empty()).then_some(record)
    }

    fn is_same_session(&self, other: &Record) -> bool {
        self.session == other.session && self.agent == other.agent
    }

    /// Says whether both are about the same stretch of the same session.
    fn is_same_stretch(&self, other: &Record) -> bool {
        self.is_same_session(other) && self.since == other.since && self.through == other.through
    }

    /// Says whether this record has all that `other` has.
    pub(crate) fn covers(&self, other: &Record) -> bool {
        self.is_same_stretch(other) || (self.joined(other).is_some() && self.bytes >= other.bytes)
    }

    /// Says whether this record begins where `other` does, and reaches as far or farther. Of one stretch, no more than
    /// the summary may differ.
    pub(crate) fn goes_on_with(&self, other: &Record) -> bool {
        let is_same = self.without_summary() == other.without_summary();
        is_same || (self.since == other.since && self.through != other.through && self.covers(other))
    }

    /// Returns what decides between two summaries: the newer stands.
    fn summary_rank(&self) -> Option<(Option<&str>, &str)> {
        self.summary.as_deref().map(|summary| (self.summary_time.as_deref(), summary))
    }

    fn without_summary(&self) -> Record {
        Record { summary: None, summary_time: None, ..self.clone() }
    }

    /// Returns one record for both if they are about one stretch, or if one continues the other; else `None`.
    ///
    /// Of two summaries the newer stands, whichever of the records has it: it says nothing about which record stands, or
    /// clones that meet the same records in another order would not agree.
    fn joined(&self, other: &Record) -> Option<Record> {
        if !self.is_same_session(other) {
            return None;
        }
        let newest = if other.summary_rank() > self.summary_rank() { other } else { self };
        let (summary, summary_time) = (newest.summary.clone(), newest.summary_time.clone());
        let stretch = self.joined_stretch(other)?;
        Some(Record { summary, summary_time, ..stretch })
    }

    /// Returns one record for both, whatever their summaries.
    ///
    /// Of two that begin at the same segment the longer stands: the shorter was extended.
    fn joined_stretch(&self, other: &Record) -> Option<Record> {
        if !self.is_same_session(other) {
            return None;
        }
        if self.since == other.since {
            // Whichever is asked first must not matter, or two clones that join the same notes would never agree.
            // Without its tree a record cannot be verified; one made of an earlier tool's document has none.
            let rank =
                |record: &Record| (record.bytes, record.tree.is_some(), record.time.clone(), record.prompt.is_some());
            let line = |record: &Record| record.without_summary().to_line();
            let is_more = rank(other) > rank(self) || (rank(other) == rank(self) && line(other) > line(self));
            let (longer, shorter) = if is_more { (other, self) } else { (self, other) };
            let tree = longer.tree.clone().or_else(|| shorter.tree.clone());
            return Some(Record { tree, earlier: self.earlier_with(other), ..longer.clone() });
        }
        let (first, second) = if other.since.as_deref() == Some(&self.through) {
            (self, other)
        } else if self.since.as_deref() == Some(&other.through) {
            (other, self)
        } else {
            return None;
        };
        let tokens = match (first.tokens, second.tokens) {
            (Some(a), Some(b)) => Some(a.plus(b)),
            (a, b) => a.or(b),
        };
        Some(Record {
            since: first.since.clone(),
            prompt: first.prompt.clone().or_else(|| second.prompt.clone()),
            model: second.model.clone().or_else(|| first.model.clone()),
            turns: first.turns.saturating_add(second.turns),
            messages: first.messages.saturating_add(second.messages),
            tokens,
            earlier: self.earlier_with(other),
            ..second.clone()
        })
    }

    /// Returns the checksums of the documents that either was made of.
    fn earlier_with(&self, other: &Record) -> Vec<String> {
        let mut earlier = [&self.earlier[..], &other.earlier].concat();
        earlier.sort();
        earlier.dedup();
        earlier
    }
}

/// Returns the notes ref that `shiftlog.notesRef` names.
pub fn configured_notes_ref(repo: &Repository) -> Option<String> {
    repo.config_string("shiftlog.notesRef").filter(|name| !name.is_empty())
}

/// Returns a prompt as a record repeats it: white space folded, cut at 200 characters.
fn short_prompt(prompt: &str) -> Option<String> {
    let mut short = String::new();
    for word in prompt.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        if short.len() > MAX_PROMPT_CHARS * 4 {
            break;
        }
    }
    let cut = short.char_indices().nth(MAX_PROMPT_CHARS).map(|(index, _)| index);
    short.truncate(cut.unwrap_or(short.len()));
    (!short.is_empty()).then_some(short)
}
