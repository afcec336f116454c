//! Transcripts that are not recorded to their end, because a line of them or the whole is too large.
//!
//! Converting such a document takes seconds and much memory. As long as it has not become shorter, it is not read again.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// The longest line that is recorded, since redacting it takes five times its size in memory. Nothing from a longer
/// line on is recorded.
pub const MAX_LINE_BYTES: u64 = 40 << 20;
/// The largest document, or session in a database, that is converted to lines.
pub const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// Why a transcript is not recorded to its end.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LeftOut {
    /// The reason.
    pub why: String,
    /// The length that the agent's file had, or the session in its database. While it has at least this length, it is not
    /// read. `None` while words before the line that is too long are still to be recorded.
    bytes: Option<u64>,
    /// Whether the user has been warned.
    #[serde(default, rename = "told")]
    pub is_warned: bool,
}

impl LeftOut {
    /// Returns the omission for a document, or a session in a database, that is too large to be converted; `None` for any
    /// other.
    pub fn of_document(agent: &dyn Agent, transcript: &Path, known: Option<&LeftOut>) -> Option<Self> {
        let is_too_large = is_too_large(agent, transcript);
        let why = format!("it has more than {} MiB, and nothing more of it is recorded", MAX_DOCUMENT_BYTES >> 20);
        is_too_large.then(|| LeftOut { is_warned: is_warned(known, &why), why, bytes: Some(MAX_DOCUMENT_BYTES + 1) })
    }

    /// Returns the omission for a transcript with a line that is too long. `length` was the length of the agent's
    /// file, `has_more` says that words before that line are still to be recorded.
    pub fn of_line(length: u64, has_more: bool, known: Option<&LeftOut>) -> Self {
        let why = format!("a line has more than {} MiB, and nothing from it on is recorded", MAX_LINE_BYTES >> 20);
        LeftOut { is_warned: is_warned(known, &why), why, bytes: Some(length).filter(|_| !has_more) }
    }

    /// Says whether a transcript is still too large. It grows, so a line that was too long remains, unless the agent made
    /// the file shorter.
    pub fn holds(&self, agent: &dyn Agent, transcript: &Path) -> bool {
        self.bytes.is_none() || self.bytes <= agent.stored_bytes(transcript)
    }

    /// Says whether a transcript has nothing that could be recorded, so that it need not be read.
    pub fn is_all(&self, agent: &dyn Agent, transcript: &Path) -> bool {
        self.bytes.is_some() && self.holds(agent, transcript)
    }
}

/// Says whether a document, or a session in a database, is too large to be converted to lines.
pub fn is_too_large(agent: &dyn Agent, transcript: &Path) -> bool {
    agent.stored_bytes(transcript).is_some_and(|bytes| bytes > MAX_DOCUMENT_BYTES)
}

fn is_warned(known: Option<&LeftOut>, why: &str) -> bool {
    known.is_some_and(|known| known.is_warned && known.why == why)
}
