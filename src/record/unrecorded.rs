//! Sessions in the archive that no commit has.

use std::collections::{HashMap, HashSet};

use super::Reader;
use crate::archive::{self, session_of_path, text};
use crate::error::Result;
use crate::git::ObjectId;
use crate::transcript::SessionKey;

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
}
