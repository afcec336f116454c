//! Whether what a note says of a commit is intact, who vouches for it, and whether it was said for this very commit.

use std::collections::{HashMap, HashSet};

use super::{Note, Record};
use crate::archive::Archive;
use crate::error::Result;
use crate::git::sign::{Signature, State};
use crate::git::{ObjectId, Order, Range, Repository};
use crate::notes;
use crate::transcript::SessionKey;

/// What is known of one record.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The commit.
    pub commit_id: ObjectId,
    /// The session.
    pub key: SessionKey,
    /// What is wrong with it or with its words; `None` if all of it is there and has the digest that the record says.
    pub problem: Option<String>,
    /// Whether the words are not here, so that they cannot be looked at.
    pub is_elsewhere: bool,
    /// Whether the record was made for the tree of this commit; `None` if it does not tell.
    pub is_own_tree: Option<bool>,
    /// The commit of the notes ref that wrote the note as it stands.
    pub written_by: Option<ObjectId>,
    /// Its signature.
    pub signature: Signature,
}

/// Verifies the records of some commits under `notes_ref`, in the order given.
///
/// The history of the notes ref is walked back until the commits are found that wrote these notes.
///
/// # Errors
///
/// If a note, or the history of its ref, cannot be read.
pub fn verify(repo: &Repository, notes_ref: &str, commit_ids: &[ObjectId]) -> Result<Vec<Verified>> {
    let Some(tip) = repo.tip(notes_ref)? else { return Ok(Vec::new()) };
    let mut noted = Vec::new();
    for commit_id in commit_ids {
        let note = notes::get_at(repo, tip.tree_id, *commit_id)?.unwrap_or_default();
        let note = Note::parse(&note);
        if note.records().next().is_some() {
            noted.push((*commit_id, note));
        }
    }
    let writers = writers(repo, tip.commit_id, noted.iter().map(|(commit_id, _)| *commit_id).collect())?;
    let written_by: Vec<ObjectId> = writers.values().copied().collect();
    let signatures: HashMap<ObjectId, Signature> =
        written_by.iter().copied().zip(repo.signatures(&written_by)?).collect();
    let unsigned = || Signature { state: State::None, signer: String::new(), key: String::new() };
    let mut verified = Vec::new();
    for (commit_id, note) in &noted {
        let tree = repo.commit(*commit_id).ok().map(|commit| commit.tree_id.to_string());
        for record in note.records() {
            let (problem, is_elsewhere) = problem(repo, record);
            let written_by = writers.get(commit_id).copied();
            let signature = written_by.and_then(|id| signatures.get(&id).cloned()).unwrap_or_else(unsigned);
            verified.push(Verified {
                commit_id: *commit_id,
                key: record.key(),
                problem,
                is_elsewhere,
                is_own_tree: record.tree.as_ref().and_then(|made_for| Some(made_for == tree.as_ref()?)),
                written_by,
                signature,
            });
        }
    }
    Ok(verified)
}

/// Returns what is wrong with a record's words, and whether they are not here at all.
fn problem(repo: &Repository, record: &Record) -> (Option<String>, bool) {
    let Some(through) = repo.parse_id(&record.through) else {
        return (Some(format!("'{}' is no object id", record.through)), false);
    };
    if !repo.has_object(through) && !repo.is_partial() {
        return (None, true);
    }
    let archive = Archive::new(repo);
    let contents = archive.transcript(through);
    if let Some(problem) = contents.problems.into_iter().next() {
        return (Some(problem), false);
    }
    let is_it = archive
        .header(through)
        .is_ok_and(|header| header.sha256 == record.sha256 && header.total_bytes() == record.bytes);
    ((!is_it).then(|| "the record tells of another transcript than its segments hold".to_owned()), false)
}

/// Returns, for each noted commit, the commit of the notes ref that wrote its note as it stands: the note differs from
/// that of every parent.
fn writers(repo: &Repository, tip: ObjectId, mut wanted: HashSet<ObjectId>) -> Result<HashMap<ObjectId, ObjectId>> {
    let mut writers = HashMap::new();
    let range = Range { tips: vec![tip], hidden: Vec::new() };
    for step in repo.walk(&range, Order::NewestFirst)? {
        if wanted.is_empty() {
            break;
        }
        let step = step?;
        let tree_id = repo.commit(step.commit_id)?.tree_id;
        let mut written: Option<HashSet<ObjectId>> = None;
        for parent in &step.parent_ids {
            let parent_tree = repo.commit(*parent)?.tree_id;
            let changed: HashSet<ObjectId> = notes::changed(repo, parent_tree, tree_id)?.into_iter().collect();
            written = Some(match written {
                None => changed,
                Some(written) => written.intersection(&changed).copied().collect(),
            });
        }
        let written = match written {
            Some(written) => written,
            None => notes::changed(repo, repo.empty_tree_id(), tree_id)?.into_iter().collect(),
        };
        for commit_id in written.intersection(&wanted.clone()) {
            writers.insert(*commit_id, step.commit_id);
            wanted.remove(commit_id);
        }
    }
    Ok(writers)
}
