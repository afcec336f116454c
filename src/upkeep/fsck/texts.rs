//! Checking the texts that are no transcripts: instruction files, and evidence.

use sha2::Digest as _;

use super::{Checker, Segment};
use crate::archive::hex;
use crate::git::ObjectId;
use crate::record::{Evidence, Record};
use crate::told::{self, Told};
use crate::transcript::SessionKey;

impl Checker<'_> {
    /// Checks the texts of instruction files that a record names.
    pub(super) fn rules(&mut self, commit_id: ObjectId, record: &Record) {
        for file in record.rules.iter().flat_map(Told::files) {
            let (Some(hex_id), Some(sha256)) = (&file.text, &file.sha256) else { continue };
            let (key, what) = (told::session_of(sha256), format!("'{}'", file.name()));
            self.text(commit_id, (hex_id, sha256), &key, &record.key(), &what);
        }
    }

    /// Checks the stored text of evidence.
    pub(super) fn evidence(&mut self, commit_id: ObjectId, evidence: &Evidence) {
        let Some(hex_id) = &evidence.blob else { return };
        let what = format!("evidence '{}'", evidence.name);
        self.text(commit_id, (hex_id, &evidence.sha256), &evidence.key(), &evidence.key(), &what);
    }

    /// Checks a text that is no transcript, which a line of a note names by its segment and its digest. `key` is its
    /// session in the archive, `of` that of the line.
    fn text(&mut self, commit_id: ObjectId, text: (&str, &str), key: &SessionKey, of: &SessionKey, what: &str) {
        let (hex_id, sha256) = text;
        // What is no id is reported as missing.
        let segment_id = self.repo.parse_id(hex_id).unwrap_or(self.repo.null_id());
        match self.segments.get(&segment_id) {
            Some(Segment { end: Some((_, digest)), .. }) if hex(&digest.clone().finalize()) != *sha256 => {
                self.wrong(commit_id, of.clone(), format!("{what} has another text than it says"));
            }
            Some(_) => {}
            // Only the notes were shared.
            None if self.has_remotes && !self.sessions.contains_key(key) && !self.repo.has_object(segment_id) => {}
            None => self.missing(segment_id, Some(commit_id), key, &format!("the note of {commit_id} names it")),
        }
    }
}
