//! Finding records that stock Git lost in a race between two writers. They are still in the history of the notes ref.

use std::collections::{BTreeMap, HashMap};

use crate::error::Result;
use crate::git::{ObjectId, Order, Range, Repository};
use crate::notes;
use crate::record::{Headers, Note, Reader, Record};

/// Returns, by commit, the records that a notes ref lost in a race and does not have now, alone or within another record.
///
/// # Errors
///
/// If the history of the ref cannot be read.
pub fn lost_records(repo: &Repository, notes_ref: &str) -> Result<BTreeMap<ObjectId, Vec<Record>>> {
    let mut lost: BTreeMap<ObjectId, Vec<Record>> = BTreeMap::new();
    let Some(tip) = repo.tip(notes_ref)? else { return Ok(lost) };
    let range = Range { tips: vec![tip.commit_id], hidden: Vec::new() };
    let reader = Reader::new(repo, Some(notes_ref));
    let records = |tree_id, id| -> Result<Vec<Record>> {
        let note = notes::get_at(repo, tree_id, id)?.unwrap_or_default();
        Ok(Note::parse_for_showing(&note).records().cloned().collect())
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
                removed.entry(annotated_id).or_default().extend(records(before, annotated_id)?);
            }
            continue;
        }
        if changed.len() < 2 {
            continue;
        }
        for annotated_id in changed {
            let kept = records(commit.tree_id, annotated_id)?;
            let mut now = records(tip.tree_id, annotated_id)?;
            now.extend(removed.get(&annotated_id).into_iter().flatten().cloned());
            let mut headers = Headers::new();
            let mut has =
                |known: &Record, record: &Record| known.covers(record) || reader.contains(known, record, &mut headers);
            let mut gone = records(before, annotated_id)?;
            gone.retain(|record| !kept.iter().chain(&now).any(|known| has(known, record)));
            if !gone.is_empty() {
                lost.entry(annotated_id).or_default().extend(gone);
            }
        }
    }
    Ok(lost)
}
