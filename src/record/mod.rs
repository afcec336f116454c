//! Records: a session recorded on a commit. Parsing notes, reading the recorded words back, listing the commits that
//! have a record.
//!
//! Read [`Record`] first, then [`Reader::note`] for one commit and [`Query`] for many. The stored form is described in
//! gitshiftlog-format(5).

mod before;
mod bounds;
mod branches;
pub(crate) mod contested;
mod continued;
mod conversation;
mod earlier;
pub(crate) mod edits;
mod evidence;
pub(crate) mod foreign_marks;
mod joining;
pub mod kept;
mod line_reader;
mod missing_words;
mod named;
mod newer;
mod note;
mod parse;
mod proven;
mod read;
mod recount;
pub mod redaction;
mod remark;
mod saved_summary;
mod sessions;
mod summary;
mod told;
pub(crate) mod tombstone;
mod unit;
mod unrecorded;
mod walk;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use self::before::before;
pub(crate) use self::bounds::readable;
pub use self::bounds::{MAX_LINKS, READ_LIMIT};
pub use self::branches::BranchSummary;
pub(crate) use self::conversation::Documents;
pub use self::conversation::{Conversation, Words};
pub use self::earlier::Earlier;
pub use self::edits::edited_paths;
pub use self::evidence::{Evidence, cleaned_line};
pub(crate) use self::joining::{add_proven, merge_proven};
pub use self::line_reader::LineReader;
pub use self::missing_words::{MissingWords, may_be_fetched, may_have_more, remember_words};
pub use self::newer::Newer;
pub use self::note::{Hidden, Note};
pub(crate) use self::proven::{Headers, has_all_of};
pub(crate) use self::read::EARLIER_REF;
pub use self::read::{NoteTrees, Reader};
pub use self::recount::{CountedWords, Uncountable};
pub use self::remark::Remark;
pub use self::saved_summary::{save_summary, saved_summary};
pub use self::sessions::{Sessions, SubAgents};
pub use self::summary::Summary;
pub use self::told::told;
pub use self::unit::Unit;
pub use self::walk::{Listed, Query};
use crate::git::Repository;
use crate::told::Told;
use crate::transcript::{EditedPath, ModelUsage, SessionKey, Tally, Tokens};

/// The longest prompt in a record, in characters.
const MAX_PROMPT_CHARS: usize = 200;

/// How many trees one record, or all records of one note, may name: more than the commits of any squash. A line with more
/// would soon be too long for readers.
const MAX_JOINED_TREES: usize = 1_024;

/// One line of a note: an increment of a session that led to the commit.
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
    /// A summary of the conversation, in a few sentences, if one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When the summary was written; RFC 3339 in UTC.
    #[serde(default, rename = "summaryTime", skip_serializing_if = "Option::is_none")]
    pub summary_time: Option<String>,
    /// The number of prompts in the increment.
    #[serde(default)]
    pub turns: u64,
    /// The number of prompts and assistant texts in the increment.
    #[serde(default)]
    pub messages: u64,
    /// The tokens that the increment used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The tokens by model. Empty if one model in the usual service tier used all of them: then [`Record::model`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<ModelUsage>,
    /// The files of the repository that calls of the increment changed, sorted by path. Empty if none did or nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditedPath>,
    /// The seconds of the increment in which somebody was at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<u64>,
    /// The segment that the increment begins after, as a hex blob id; `None` if it begins with the session.
    #[serde(default)]
    pub since: Option<String>,
    /// The segment that the increment ends with, as a hex blob id.
    pub through: String,
    /// The length of the whole transcript up to `through`.
    #[serde(default)]
    pub bytes: u64,
    /// SHA-256, in hex, of the whole transcript up to `through`.
    #[serde(default)]
    pub sha256: String,
    /// The tree of the commit that the record was made for, in hex. A commit that the record was carried to has another
    /// tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The trees of the other commits whose records were joined to this one, sorted, as after a squash.
    #[serde(default, rename = "joinedTrees", skip_serializing_if = "Vec::is_empty")]
    pub joined_trees: Vec<String>,
    /// The checksums of the documents of an earlier tool that `git shiftlog migrate` made the record of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// The instruction files that the agent had read; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Told>,
    /// Unknown keys, which a later version may have added; kept when the record is written again.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Record {
    /// Returns a record with the counts of an increment. The caller sets the time, `edits`, `since`, `through`, `bytes` and
    /// `sha256`.
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
            usage: apart(tally.usage(), tally.model.as_deref()),
            edits: Vec::new(),
            active: tally.first_time.map(|_| tally.active_secs),
            since: None,
            through: String::new(),
            bytes: 0,
            sha256: String::new(),
            tree: None,
            joined_trees: Vec::new(),
            earlier: Vec::new(),
            rules: None,
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

    /// Parses a line of a note; `None` if the line is not a record of version 1, or names more trees than any of ours.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let record: Record = serde_json::from_slice(line).ok()?;
        let is_ours = record.joined_trees.len() <= MAX_JOINED_TREES;
        (record.shiftlog == 1 && is_ours && !record.through.is_empty()).then_some(record)
    }

    /// Returns the tokens of each model; empty if they are unknown.
    pub fn usage_by_model(&self) -> Vec<ModelUsage> {
        if !self.usage.is_empty() {
            return self.usage.clone();
        }
        let one = |tokens| ModelUsage { model: self.model.clone(), tier: None, tokens };
        self.tokens.map(one).into_iter().collect()
    }

    fn is_same_session(&self, other: &Record) -> bool {
        self.session == other.session && self.agent == other.agent
    }

    /// Says whether both are records of the same increment.
    fn is_same_increment(&self, other: &Record) -> bool {
        self.is_same_session(other) && self.since == other.since && self.through == other.through
    }
}

/// Returns the tokens by model as a record has them: nothing if all are those of its one model.
fn apart(usage: Vec<ModelUsage>, model: Option<&str>) -> Vec<ModelUsage> {
    match usage.as_slice() {
        [one] if one.tier.is_none() && (one.model.is_none() || one.model.as_deref() == model) => Vec::new(),
        _ => usage,
    }
}

/// Returns the notes ref that `shiftlog.notesRef` names.
pub fn configured_notes_ref(repo: &Repository) -> Option<String> {
    repo.config_string("shiftlog.notesRef").filter(|name| !name.is_empty())
}

/// Returns the full name of the notes ref that `shiftlog.notesRef` names, or of the default.
pub fn notes_ref(repo: &Repository) -> String {
    crate::notes::expand_ref(configured_notes_ref(repo).as_deref().unwrap_or(crate::notes::DEFAULT_REF))
}

/// Returns a prompt of a record for people. One that is as long as a record holds may be cut, so an ellipsis follows.
fn shown_prompt(prompt: &str) -> String {
    let mark = if prompt.chars().count() < MAX_PROMPT_CHARS { "" } else { "…" };
    format!("{prompt}{mark}")
}

/// Returns a prompt as a record holds it: white space folded, cut at 200 characters; `None` if it is blank.
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
