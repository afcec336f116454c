//! Finding records that stock Git lost in a race between two writers. They are still in the history of the notes ref.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::{Kind, Result};
use crate::git::{ObjectId, Order, Range, Repository};
use crate::notes;
use crate::record::{Headers, Note, Reader, Record};

/// The records and notes that a notes ref has lost.
#[derive(Default)]
pub struct Lost {
    /// The records that it lost in a race and does not have now, alone or within another record, by commit.
    pub records: BTreeMap<ObjectId, Vec<Record>>,
    /// Earlier notes whose blobs are missing or damaged.
    pub earlier_blob_ids: BTreeSet<ObjectId>,
}

/// Finds the records and notes that a notes ref has lost. A commit with a note that cannot be read is left out.
///
/// # Errors
///
/// If the history of the ref cannot be read.
pub fn lost_records(repo: &Repository, notes_ref: &str) -> Result<Lost> {
    let mut all = Lost::default();
    let Lost { records: lost, earlier_blob_ids } = &mut all;
    let Some(tip) = repo.tip(notes_ref)? else { return Ok(all) };
    let range = Range { tips: vec![tip.commit_id], hidden: Vec::new() };
    let reader = Reader::new(repo, Some(notes_ref));
    // None for a note that cannot be read.
    let mut records = |tree_id, id| -> Result<Option<Vec<Record>>> {
        let note = match notes::get_at(repo, tree_id, id) {
            Err(error) if matches!(error.kind(), Kind::Missing | Kind::Corrupt) => {
                let is_lost = |blob_id: &ObjectId| repo.is_lost(*blob_id, notes::MAX_NOTE_BYTES);
                earlier_blob_ids.extend(notes::blobs_at(repo, tree_id, id)?.into_iter().filter(is_lost));
                return Ok(None);
            }
            note => note?.unwrap_or_default(),
        };
        Ok(Some(Note::parse_for_showing(&note).records().cloned().collect()))
    };
    // A record that was removed on purpose later is not lost.
    let mut removed: HashMap<ObjectId, Vec<Record>> = HashMap::new();
    for step in repo.walk(&range, Order::NewestFirst)? {
        let step = step?;
        let [parent] = step.parent_ids.as_slice() else { continue };
        let commit = repo.commit(step.commit_id)?;
        let is_removal = commit.message.starts_with(b"Notes removed by");
        // Commits of ours are compare-and-swap, so only Git's own can lose records.
        if !is_removal && !commit.message.starts_with(b"Notes added by") {
            continue;
        }
        let before = repo.commit(*parent)?.tree_id;
        let changed = notes::changed(repo, before, commit.tree_id)?;
        if is_removal {
            for annotated_id in changed {
                removed.entry(annotated_id).or_default().extend(records(before, annotated_id)?.unwrap_or_default());
            }
            continue;
        }
        if changed.len() < 2 {
            continue;
        }
        for annotated_id in changed {
            let (kept, now) = (records(commit.tree_id, annotated_id)?, records(tip.tree_id, annotated_id)?);
            let (Some(kept), Some(mut now), Some(mut gone)) = (kept, now, records(before, annotated_id)?) else {
                continue;
            };
            now.extend(removed.get(&annotated_id).into_iter().flatten().cloned());
            let mut headers = Headers::new();
            let mut has =
                |known: &Record, record: &Record| known.covers(record) || reader.contains(known, record, &mut headers);
            gone.retain(|record| !kept.iter().chain(&now).any(|known| has(known, record)));
            if !gone.is_empty() {
                lost.entry(annotated_id).or_default().extend(gone);
            }
        }
    }
    Ok(all)
}
