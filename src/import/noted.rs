//! What notes say of sessions already, before anything is imported.

use std::collections::{HashMap, HashSet};

use crate::capture::segment_end::SegmentEnd;
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::record::{Note, Reader};
use crate::transcript::SessionKey;

/// What notes say already.
pub struct Noted {
    /// The sessions on each commit, wherever they are read from.
    pub sessions: HashMap<ObjectId, HashSet<SessionKey>>,
    /// The commits that each session is on.
    pub commits: HashMap<SessionKey, Vec<ObjectId>>,
    /// The ends of all records that our own notes have of each session.
    pub recorded: HashMap<SessionKey, Vec<SegmentEnd>>,
}

impl Noted {
    /// Reads the notes under `notes_ref`, and those that others have shared.
    pub fn read(repo: &Repository, notes_ref: &str) -> Result<Self> {
        let reader = Reader::beside(repo, notes_ref);
        let mut sessions = HashMap::new();
        let mut commits: HashMap<SessionKey, Vec<ObjectId>> = HashMap::new();
        for (commit_id, blob_ids) in reader.noted()? {
            let note = reader.note_of_blobs(&blob_ids)?;
            let keys: HashSet<SessionKey> = note.summaries().into_iter().map(|summary| summary.key).collect();
            keys.iter().for_each(|key| commits.entry(key.clone()).or_default().push(commit_id));
            if !keys.is_empty() {
                sessions.insert(commit_id, keys);
            }
        }
        let mut recorded: HashMap<SessionKey, Vec<SegmentEnd>> = HashMap::new();
        for entry in notes::list(repo, notes_ref)? {
            let note = Note::parse_unjoined(&notes::read(repo, entry.note_blob_id)?);
            for record in note.records() {
                recorded.entry(record.key()).or_default().push(SegmentEnd::of_record(record));
            }
        }
        Ok(Noted { sessions, commits, recorded })
    }
}
