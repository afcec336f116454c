//! What was removed for good: a mark for each segment and session, shared with the notes, so that nobody brings them back.
//!
//! The marks are files in the tree of a ref of their own: `segments/<two hex>/<segment id>`, with what became of it, and
//! `sessions/<session>`. They say nothing of what the words were.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Note, Record};
use crate::archive::{self, Archive};
use crate::error::Result;
use crate::git::{Merged, ObjectId, Repository};
use crate::transcript::SessionKey;

/// The ref that holds the marks.
pub const REF: &str = "refs/shiftlog/purged";

/// What became of a segment: the one that stands in its place.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Became {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The segment in its place; `None` if nothing of its transcript is left.
    pub became: Option<String>,
    /// The length of the transcript at that segment.
    pub bytes: u64,
    /// SHA-256, in hex, of the transcript at that segment.
    pub sha256: String,
}

/// Everything that was removed for good.
#[derive(Clone, Debug, Default)]
pub struct Tombstones {
    /// What became of segments.
    pub segments: HashMap<ObjectId, Became>,
    /// The file names of sessions of which nothing may be stored any more.
    pub sessions: HashSet<String>,
}

impl Tombstones {
    /// Reads the marks of a repository. Costs a look for the ref where there are none.
    ///
    /// # Errors
    ///
    /// If the ref or its tree cannot be read. A mark that cannot be read bars its segment.
    pub fn read(repo: &Repository) -> Result<Self> {
        let mut tombstones = Tombstones::default();
        for (path, blob_id) in Archive::new(repo).listing(REF)? {
            match path.split('/').collect::<Vec<_>>().as_slice() {
                ["segments", _, hex] => {
                    let Some(segment_id) = repo.parse_id(hex) else { continue };
                    let text = repo.read_blob(blob_id, 4096).unwrap_or_default();
                    let nothing = Became { shiftlog: 1, became: None, bytes: 0, sha256: String::new() };
                    tombstones.segments.insert(segment_id, serde_json::from_slice(&text).unwrap_or(nothing));
                }
                ["sessions", name] => {
                    tombstones.sessions.insert((*name).to_owned());
                }
                _ => {}
            }
        }
        Ok(tombstones)
    }

    /// Says whether nothing was ever removed.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.sessions.is_empty()
    }

    /// Says whether nothing of a session may be stored.
    pub fn bars(&self, session: &SessionKey) -> bool {
        let parent = session.parent_id().map(|id| SessionKey::new(&session.agent, id));
        self.sessions.contains(&session.file_name())
            || parent.is_some_and(|parent| self.sessions.contains(&parent.file_name()))
    }

    /// Adds marks to those that are there.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn write(&self, repo: &Repository, deadline: Instant) -> Result<()> {
        let mut files = Vec::new();
        for (segment_id, became) in &self.segments {
            let text = serde_json::to_string(became).expect("a mark has only strings and numbers");
            let hex = segment_id.to_string();
            files.push((format!("segments/{}/{hex}", &hex[..2]), repo.write_blob(format!("{text}\n").as_bytes())?));
        }
        for name in &self.sessions {
            files.push((format!("sessions/{name}"), repo.write_blob(b"{\"shiftlog\":1}\n")?));
        }
        repo.update_ref(REF, "shiftlog: purge\n", deadline, |tip| {
            let root = tip.map_or(repo.empty_tree_id(), |tip| tip.tree_id);
            Archive::new(repo).edited(root, files.clone(), &[]).map(Some)
        })?;
        Ok(())
    }

    /// Returns a record as it is without what was removed; `None` if nothing of it is left.
    pub fn changed(&self, repo: &Repository, mut record: Record) -> Option<Record> {
        if self.bars(&record.key()) {
            return None;
        }
        let became = |hex: &str| repo.parse_id(hex).and_then(|id| self.final_of(repo, id));
        if let Some(since) = record.since.as_deref().and_then(became) {
            record.since = since.became;
        }
        if let Some(through) = became(&record.through) {
            record.through = through.became?;
            (record.bytes, record.sha256) = (through.bytes, through.sha256);
            // They may repeat what was removed; whoever removed it has kept the rest of them.
            (record.prompt, record.summary, record.summary_time) = (None, None, None);
        }
        (record.since.as_deref() != Some(&*record.through)).then_some(record)
    }

    /// Returns what stands in the place of a segment in the end: what replaced it can have been removed in its turn.
    pub fn final_of(&self, repo: &Repository, segment_id: ObjectId) -> Option<Became> {
        let mut became = self.segments.get(&segment_id)?;
        for _ in 0..self.segments.len() {
            let next = became.became.as_deref().and_then(|hex| repo.parse_id(hex));
            match next.and_then(|id| self.segments.get(&id)) {
                Some(later) => became = later,
                None => break,
            }
        }
        Some(became.clone())
    }

    /// Takes out of a note what was removed for good. Returns whether there was any.
    pub fn apply(&self, repo: &Repository, note: &mut Note) -> bool {
        if self.is_empty() {
            return false;
        }
        let before = note.clone();
        note.map_records(|record| self.changed(repo, record));
        note.retain(|unit| match unit {
            super::Unit::Earlier(document, _) => !self.bars(&document.key()),
            _ => true,
        });
        *note != before
    }
}

/// Joins the marks of the commit `theirs` to ours. Returns whether there are new ones.
///
/// # Errors
///
/// As [`Repository::merge_ref`].
pub fn merge(repo: &Repository, theirs: ObjectId, deadline: Instant) -> Result<bool> {
    let archive = Archive::new(repo);
    let message = "shiftlog: merge what was purged\n";
    let mut has_new = false;
    repo.merge_ref(REF, theirs, message, deadline, |ours, theirs, _| {
        let root = ours.map_or(repo.empty_tree_id(), |ours| ours.tree_id);
        let known: HashSet<String> = match ours {
            Some(_) => archive.listing(REF)?.into_iter().map(|(path, _)| path).collect(),
            None => HashSet::new(),
        };
        let theirs_files = archive.listing_of(theirs.tree_id)?;
        let is_mark = |path: &str| {
            let part = |part: &str| !part.starts_with('.') && part.bytes().all(archive::is_name_byte);
            path.len() <= 300 && path.split('/').all(part)
        };
        let new: Vec<(String, ObjectId)> =
            theirs_files.into_iter().filter(|(path, _)| is_mark(path) && !known.contains(path)).collect();
        has_new |= !new.is_empty();
        Ok(Merged { tree_id: archive.edited(root, new, &[])?, joins_ours: true, joins_theirs: true })
    })?;
    Ok(has_new)
}
