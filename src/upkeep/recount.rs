//! Counting tokens and times of records again that an earlier version of this program wrote.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::record::{Note, Reader, Record};

/// Counts records again that lack the working time or the changed files, and returns how many it replaced. Records
/// whose words are not all here stay as they are.
///
/// # Errors
///
/// If a note cannot be read, or the notes ref cannot be written before the deadline.
pub fn recount(repo: &Repository, notes_ref: &str, deadline: Instant) -> Result<usize> {
    let reader = Reader::new(repo, Some(notes_ref));
    let mut changes: BTreeMap<ObjectId, Vec<(Record, Record)>> = BTreeMap::new();
    for entry in notes::list(repo, notes_ref)? {
        let note = Note::parse_unjoined(&notes::read(repo, entry.note_blob_id)?);
        let is_older = |record: &&Record| record.active.is_none() || record.edits.is_empty();
        for record in note.records().filter(is_older) {
            if let Some(counted) = reader.recounted(entry.annotated_id, record) {
                changes.entry(entry.annotated_id).or_default().push((record.clone(), counted));
            }
        }
    }
    if changes.is_empty() {
        return Ok(0);
    }
    let mut count = 0;
    notes::edit(repo, notes_ref, "shiftlog: records counted again\n", deadline, |editor| {
        count = 0;
        for (commit_id, changes) in &changes {
            let mut note = Note::parse_unjoined(&editor.get(*commit_id)?.unwrap_or_default());
            note.map_records(|record| {
                let changed = changes.iter().find(|(old, _)| *old == record).map(|(_, counted)| counted.clone());
                count += usize::from(changed.is_some());
                Some(changed.unwrap_or(record))
            });
            editor.replace(*commit_id, &note.to_bytes())?;
        }
        Ok(())
    })?;
    Ok(count)
}
