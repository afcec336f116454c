//! The end of a segment in a session's transcript, and which one commits have it up to.

use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::error::Result;
use crate::git::ObjectId;
use crate::record::Record;
use crate::transcript::SessionKey;

/// The end of a segment in a session's transcript.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct SegmentEnd {
    /// The segment's blob id in hex; `None` at the beginning of the session.
    pub segment: Option<String>,
    /// The length of the stored (redacted) transcript at this segment, or less if the agent has rewritten its file since: then
    /// only so much of it is still there.
    pub bytes: u64,
    /// The length of the agent's own file at this segment, before redaction; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<u64>,
}

impl SegmentEnd {
    /// Returns the end of a segment of the archive.
    ///
    /// # Errors
    ///
    /// If the segment cannot be read.
    pub fn of(archive: &Archive<'_>, segment_id: ObjectId) -> Result<Self> {
        let bytes = archive.header(segment_id)?.total_bytes();
        Ok(SegmentEnd { segment: Some(segment_id.to_string()), bytes, raw: None })
    }

    /// Returns the end of a record's increment.
    pub fn of_record(record: &Record) -> Self {
        SegmentEnd { segment: Some(record.through.clone()), bytes: record.bytes, raw: None }
    }

    /// Returns the last of some ends of records that the chain of segments up to `newest` has. The longest is not always the
    /// last: an agent can make its file shorter. If the chain has none of them, nothing of it is recorded; where its beginning
    /// cannot be read, the longest is taken.
    pub fn last_recorded(archive: &Archive<'_>, key: &SessionKey, newest: ObjectId, recorded: &[SegmentEnd]) -> Self {
        let Some(longest) = recorded.iter().max_by_key(|end| end.bytes) else { return SegmentEnd::default() };
        let is_recorded = |id: &str| recorded.iter().any(|end| end.segment.as_deref() == Some(id));
        match on_chain(archive, key, newest, is_recorded) {
            Ok(found) => found.unwrap_or_default(),
            Err(_) => longest.clone(),
        }
    }

    /// Says whether the segments of an increment, from behind `since` up to `through`, have this end, and go on behind it.
    pub fn is_within(&self, archive: &Archive<'_>, key: &SessionKey, since: Option<&str>, through: ObjectId) -> bool {
        // To know this, no segment needs to be read.
        if self.segment.is_none() || self.segment == Some(through.to_string()) {
            return false;
        }
        let is_end = |id: &str| self.segment.as_deref() == Some(id) || since == Some(id);
        let found = on_chain(archive, key, through, is_end).ok().flatten();
        found.is_some_and(|found| found.segment == self.segment)
    }

    /// Returns how much of this end is left in the transcript that ends with the segment `newest`.
    pub fn left_in(self, archive: &Archive<'_>, key: &SessionKey, newest: ObjectId) -> Self {
        let is_it = |id: &str| self.segment.as_deref() == Some(id);
        on_chain(archive, key, newest, is_it).ok().flatten().unwrap_or(self)
    }
}

/// Finds a segment on the chain up to `newest`. Its end is at most what all segments after it keep.
fn on_chain(
    archive: &Archive<'_>,
    key: &SessionKey,
    newest: ObjectId,
    is_it: impl Fn(&str) -> bool,
) -> Result<Option<SegmentEnd>> {
    let (links, error) = archive.only(key).chain(newest, None);
    let mut kept = u64::MAX;
    for link in links {
        let segment = link.segment_id.to_string();
        if is_it(&segment) {
            let bytes = link.header.total_bytes().min(kept);
            return Ok(Some(SegmentEnd { segment: Some(segment), bytes, raw: None }));
        }
        kept = kept.min(link.header.keep);
    }
    error.map_or(Ok(None), Err)
}
