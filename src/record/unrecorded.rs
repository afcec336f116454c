//! Sessions in the archive that no commit has.

use std::collections::{HashMap, HashSet};

use super::{Reader, Record, Summary};
use crate::archive::{self, session_of_path, text};
use crate::error::Result;
use crate::git::ObjectId;
use crate::transcript::{SessionKey, Tally};

impl Reader<'_> {
    /// Returns the sessions in the archive that no commit has, each with its newest segment. Reads all notes.
    ///
    /// # Errors
    ///
    /// If the notes or the archive cannot be read.
    pub fn unrecorded(&self) -> Result<HashMap<SessionKey, ObjectId>> {
        let mut recorded = HashSet::new();
        for blob_ids in self.noted()?.values() {
            let Ok(note) = self.note_of_blobs(blob_ids) else { continue };
            recorded.extend(note.summaries().into_iter().map(|summary| summary.key));
        }
        let mut newest = HashMap::new();
        for (path, segment_id) in self.archive().listing(archive::REF)? {
            // Paths are in order, so the last segment of a session is its newest.
            let is_session = |key: &SessionKey| !recorded.contains(key) && !text::is_text(key);
            if let Some(key) = session_of_path(&path).filter(is_session) {
                newest.insert(key, segment_id);
            }
        }
        Ok(newest)
    }

    /// Returns the summary of a whole session up to a segment, as a record would have it, without `edits`; `None` if words
    /// are missing or the agent is unknown.
    pub fn counted(&self, key: &SessionKey, segment_id: ObjectId) -> Option<Summary> {
        let header = self.archive().header(segment_id).ok()?;
        let place = Record { through: segment_id.to_string(), ..Record::of(key, &Tally::default()) };
        let (tally, _) = self.tally(&place)?;
        let bytes = header.total_bytes();
        let record = Record { time: header.time, bytes, ..Record::of(key, &tally) };
        Some(Summary::of_record(&record))
    }
}
