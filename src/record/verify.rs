//! Whether what a note says of a commit is intact, who vouches for it, and whether it was said for this very commit.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Note, Record};
use crate::archive::Archive;
use crate::error::Result;
use crate::git::sign::{Signature, State};
use crate::git::{ObjectId, Order, Range, Repository, Tip};
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
    /// The commit of the notes ref that wrote the note as it stands; of several, the one with the worst signature.
    pub written_by: Option<ObjectId>,
    /// Its signature.
    pub signature: Signature,
}

/// Verifies the records of some commits under `notes_ref`, in the order given.
///
/// All of the history of the notes ref is looked at.
///
/// # Errors
///
/// If a note, or the history of its ref, cannot be read.
pub fn verify(repo: &Repository, notes_ref: &str, commit_ids: &[ObjectId]) -> Result<Vec<Verified>> {
    let Some(tip) = repo.tip(notes_ref)? else { return Ok(Vec::new()) };
    let mut noted = Vec::new();
    for commit_id in commit_ids {
        let note = notes::get_at(repo, tip.tree_id, *commit_id)?.unwrap_or_default();
        let note = Note::read(&note);
        if note.records().next().is_some() {
            noted.push((*commit_id, note));
        }
    }
    let writers = writers(repo, &tip, noted.iter().map(|(commit_id, _)| *commit_id).collect())?;
    let written_by: BTreeSet<ObjectId> = writers.values().flatten().copied().collect();
    let signatures = repo.signatures(&written_by.into_iter().collect::<Vec<_>>())?;
    let unsigned = || Signature { state: State::None, signer: String::new(), key: String::new() };
    let mut verified = Vec::new();
    let mut transcripts = HashMap::new();
    for (commit_id, note) in &noted {
        let tree = repo.commit(*commit_id).ok().map(|commit| commit.tree_id.to_string());
        for record in note.records() {
            let (problem, is_elsewhere) = problem(repo, record, &mut transcripts);
            // Where several wrote the same, the worst of them counts: any of them may have made it up.
            let signed = writers.get(commit_id).into_iter().flatten().map(|id| (*id, signatures.get(id).cloned()));
            let signed = signed.map(|(id, signature)| (id, signature.unwrap_or_else(unsigned)));
            let (written_by, signature) = match signed.min_by_key(|(_, signature)| signature.state) {
                Some((id, signature)) => (Some(id), signature),
                None => (None, unsigned()),
            };
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

/// Returns what is wrong with a record's words, and whether they are not here at all. `transcripts` keeps what is wrong
/// with each transcript by its last segment, which many records can name.
fn problem(
    repo: &Repository,
    record: &Record,
    transcripts: &mut HashMap<ObjectId, Option<String>>,
) -> (Option<String>, bool) {
    let Some(through) = repo.parse_id(&record.through) else {
        return (Some(format!("'{}' is no object id", record.through)), false);
    };
    if !repo.has_object(through) && !repo.is_partial() {
        return (None, true);
    }
    let archive = Archive::new(repo);
    let read = || archive.transcript(through).problems.into_iter().next();
    if let Some(problem) = transcripts.entry(through).or_insert_with(read) {
        return (Some(problem.clone()), false);
    }
    let is_it = archive
        .header(through)
        .is_ok_and(|header| header.sha256 == record.sha256 && header.total_bytes() == record.bytes);
    ((!is_it).then(|| "the record tells of another transcript than its segments hold".to_owned()), false)
}

/// Returns, for each noted commit, the commits of the notes ref that wrote its note as it stands: byte for byte this
/// one, and not what any parent had.
///
/// All of the ref's history is looked at: a commit can have any date that its maker wants.
fn writers(repo: &Repository, tip: &Tip, wanted: HashSet<ObjectId>) -> Result<HashMap<ObjectId, Vec<ObjectId>>> {
    let mut writers: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    let mut standing = HashMap::new();
    for commit_id in &wanted {
        standing.insert(*commit_id, notes::blobs_at(repo, tip.tree_id, *commit_id)?);
    }
    let range = Range { tips: vec![tip.commit_id], hidden: Vec::new() };
    for step in repo.walk(&range, Order::AsFound)? {
        let step = step?;
        let tree_id = repo.commit(step.commit_id)?.tree_id;
        let mut parents = Vec::new();
        for parent in &step.parent_ids {
            parents.push(repo.commit(*parent)?.tree_id);
        }
        if parents.is_empty() {
            parents.push(repo.empty_tree_id());
        }
        let mut written: Option<HashSet<ObjectId>> = None;
        for parent in parents {
            let changed: HashSet<ObjectId> = notes::changed(repo, parent, tree_id)?.into_iter().collect();
            written = Some(match written {
                None => changed,
                Some(written) => written.intersection(&changed).copied().collect(),
            });
        }
        for commit_id in written.unwrap_or_default().intersection(&wanted) {
            if standing.get(commit_id) == Some(&notes::blobs_at(repo, tree_id, *commit_id)?) {
                writers.entry(*commit_id).or_default().push(step.commit_id);
            }
        }
    }
    Ok(writers)
}
