//! How far a transcript is stored in the archive, and how far it is recorded on commits.

use serde::{Deserialize, Serialize};

use super::left_out::LeftOut;
use super::segment_end::SegmentEnd;
use crate::archive::Archive;
use crate::error::Result;
use crate::transcript::{Before, LastAnswers, SessionKey};

/// How far a transcript is stored, and how far it is recorded on commits.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Progress {
    /// The end of the part that the archive has.
    #[serde(default)]
    pub stored: SegmentEnd,
    /// The end of the part that commits have; never beyond `stored`.
    #[serde(default)]
    pub recorded: SegmentEnd,
    /// The state of SHA-256 after the stored bytes, in hex, so that a capture hashes only new bytes.
    #[serde(default, rename = "digest")]
    pub sha256_state: Option<String>,
    /// XXH3, in hex, of the stored part of the agent's file, before redaction: shows whether the agent has rewritten
    /// that part.
    #[serde(default, rename = "check")]
    pub xxh3: Option<String>,
    /// Line ends near the end of a stored document or database, in order. The agent changes the last lines (the one
    /// about the whole document, and messages that wait for a tool's result) in place; a capture resumes before the
    /// first line that changed.
    #[serde(default, rename = "heads", skip_serializing_if = "Vec::is_empty")]
    pub resume_points: Vec<ResumePoint>,
    /// Size and modification time (ns) of a document or database when commits last had all of it.
    #[serde(default, rename = "stamp", skip_serializing_if = "Option::is_none")]
    pub size_and_mtime: Option<(u64, u64)>,
    /// The last answers that commits have, which may go on behind `recorded`; `None` if they are not known.
    #[serde(default, rename = "answers", skip_serializing_if = "Option::is_none")]
    pub last_answers: Option<LastAnswers>,
    /// When the last message before `recorded` was written; `None` if that is not known.
    #[serde(default, rename = "last", skip_serializing_if = "Option::is_none")]
    pub last_time: Option<i64>,
    /// Why the transcript is not recorded to its end, if so.
    #[serde(default, rename = "left", skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

impl Progress {
    /// Returns how far the archive has a session, with nothing recorded.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn archived(archive: &Archive<'_>, key: &SessionKey) -> Result<Self> {
        let newest = archive.newest(key)?.map(|newest| SegmentEnd::of(archive, newest)).transpose()?;
        Ok(Progress { stored: newest.unwrap_or_default(), ..Progress::default() })
    }

    /// Returns the last answers and the time of the last message before the words that are not recorded yet; `None` if they are
    /// not stored.
    pub fn before(&self) -> Option<Before> {
        let time = self.last_time;
        self.last_answers.clone().map(|answers| Before { answers, time })
    }

    /// Stores the last answers and the time of the last message before the words that are not recorded yet.
    pub fn set_before(&mut self, before: Option<Before>) {
        self.last_time = before.as_ref().and_then(|before| before.time);
        self.last_answers = before.map(|before| before.answers);
    }
}

/// A line end of the stored transcript at which a capture can resume.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ResumePoint {
    /// The length of the stored transcript at this line end.
    pub bytes: u64,
    /// The length of the agent's lines, before redaction, at this line end.
    pub raw: u64,
    /// The state of SHA-256 at this line end; see [`Progress::sha256_state`].
    #[serde(rename = "digest")]
    pub sha256_state: String,
    /// XXH3 up to this line end; see [`Progress::xxh3`].
    #[serde(rename = "check")]
    pub xxh3: String,
}
