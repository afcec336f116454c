//! What differs between two notes trees, and making one of two.

use std::collections::BTreeMap;
use std::time::Instant;

use bstr::BString;

use super::{Editor, MAX_TREES, collect, each_entry, get_at};
use crate::error::{Error, Kind, Result};
use crate::git::{Merged, ObjectId, Repository};

/// The note of one object on both sides, and where they parted. `None` where there is no note.
#[derive(Clone, Debug)]
pub struct Versions {
    /// The object that carries the note.
    pub annotated_id: ObjectId,
    /// Ours.
    pub ours: Option<Vec<u8>>,
    /// Theirs.
    pub theirs: Option<Vec<u8>>,
    /// The one both began with.
    pub base: Option<Vec<u8>>,
}

/// What two versions of a note become.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The note to have; `None` for none.
    pub note: Option<Vec<u8>>,
    /// Whether theirs holds what may not come back, so that their history must not be joined to ours.
    pub bars_theirs: bool,
}

/// The note blobs of one object in two trees: one each, as a rule.
type Blobs = (Vec<ObjectId>, Vec<ObjectId>);

/// Merges the notes of the commit `theirs` into `ref_name`. Returns whether the ref moved.
///
/// `resolve` decides about each object whose note differs; notes that are alike are not read. Costs in proportion to
/// what differs. Where we have no notes yet, `takes_all` takes theirs as they are.
///
/// # Errors
///
/// As [`Repository::merge_ref`].
pub fn merge(
    repo: &Repository,
    ref_name: &str,
    theirs: ObjectId,
    takes_all: bool,
    deadline: Instant,
    mut resolve: impl FnMut(Versions) -> Result<Resolved>,
) -> Result<bool> {
    let fail = |error: gix::Error| crate::git::gix_error(format!("cannot edit '{ref_name}'"), &error);
    let message = format!("shiftlog: merge notes of {}\n", theirs.to_hex_with_len(12));
    repo.merge_ref(ref_name, theirs, &message, deadline, |ours, theirs, base| {
        if ours.is_none() && takes_all {
            return Ok(Merged { tree_id: theirs.tree_id, joins_ours: true, joins_theirs: true });
        }
        let root = ours.map_or(repo.empty_tree_id(), |ours| ours.tree_id);
        let state = gix::note::plumbing::State::new(root, repo.gix()).map_err(fail)?;
        let mut editor = Editor { repo, base: Some(root), state };
        let mut joins_theirs = true;
        for annotated_id in changed(repo, root, theirs.tree_id)? {
            let at = |tree_id| get_at(repo, tree_id, annotated_id);
            let versions = Versions {
                annotated_id,
                ours: at(root)?,
                theirs: at(theirs.tree_id)?,
                base: base.map_or(Ok(None), |base| at(base.tree_id))?,
            };
            let before = versions.ours.clone();
            let resolved = resolve(versions)?;
            joins_theirs &= !resolved.bars_theirs;
            match resolved.note {
                note if note == before => {}
                Some(note) => editor.replace(annotated_id, &note)?,
                None => editor.remove(annotated_id)?,
            }
        }
        let tree_id = editor.state.write(repo.gix()).map_err(fail)?;
        Ok(Merged { tree_id, joins_ours: true, joins_theirs })
    })
}

/// Joins to the notes of `ref_name` those that were lost with it; see [`Repository::lost_tree`]. Returns whether the ref
/// moved.
///
/// `join` gets our note of an object, if there is one, and the lost one, and returns the note to have; empty for none.
///
/// # Errors
///
/// As [`Repository::rejoin_ref`].
pub fn rejoin(
    repo: &Repository,
    ref_name: &str,
    deadline: Instant,
    join: impl Fn(Option<&[u8]>, &[u8]) -> Vec<u8>,
) -> Result<bool> {
    let fail = |error: gix::Error| crate::git::gix_error(format!("cannot edit '{ref_name}'"), &error);
    repo.rejoin_ref(ref_name, "shiftlog: join what was lost\n", deadline, |tip, lost| {
        let root = tip.map_or(repo.empty_tree_id(), |tip| tip.tree_id);
        let state = gix::note::plumbing::State::new(root, repo.gix()).map_err(fail)?;
        let mut editor = Editor { repo, base: Some(root), state };
        for annotated_id in changed(repo, root, lost)? {
            let Some(kept) = get_at(repo, lost, annotated_id)? else { continue };
            let ours = get_at(repo, root, annotated_id)?;
            let note = join(ours.as_deref(), &kept);
            if !note.is_empty() && ours.as_deref() != Some(&note[..]) {
                editor.replace(annotated_id, &note)?;
            }
        }
        editor.state.write(repo.gix()).map_err(fail)
    })
}

/// Returns the objects whose notes differ between two notes trees, sorted. Subtrees that are the same are not read.
///
/// # Errors
///
/// If a tree cannot be read.
pub fn changed(repo: &Repository, before: ObjectId, after: ObjectId) -> Result<Vec<ObjectId>> {
    let mut found = BTreeMap::new();
    compare(repo, [Some(before), Some(after)], &mut String::new(), &mut found, &mut 0)?;
    Ok(found.into_iter().filter(|(_, (before, after))| before != after).map(|(id, _)| id).collect())
}

/// Collects the notes of both trees that are not in a subtree which both have. Where the fanout differs, a note is met
/// at two places.
fn compare(
    repo: &Repository,
    sides: [Option<ObjectId>; 2],
    prefix: &mut String,
    found: &mut BTreeMap<ObjectId, Blobs>,
    trees: &mut usize,
) -> Result<()> {
    *trees += 1;
    if *trees > MAX_TREES {
        return Err(Error::new(Kind::Corrupt, "the notes tree has more subtrees than any fanout needs"));
    }
    let mut entries: [BTreeMap<BString, (bool, ObjectId)>; 2] = Default::default();
    for (side, entries) in sides.iter().zip(&mut entries) {
        if let Some(tree_id) = side {
            each_entry(repo, *tree_id, |name, is_tree, id| {
                entries.insert(name.to_owned(), (is_tree, id));
            })?;
        }
    }
    let [before, after] = &entries;
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for name in names {
        let pair = [before.get(name), after.get(name)];
        if pair[0] == pair[1] {
            continue;
        }
        let Ok(text) = std::str::from_utf8(name) else { continue };
        if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) || prefix.len() + text.len() > 64 {
            continue;
        }
        prefix.push_str(text);
        if text.len() == 2 {
            let subtree = |entry: Option<&(bool, ObjectId)>| entry.filter(|entry| entry.0).map(|entry| entry.1);
            let subtrees = pair.map(subtree);
            match subtrees {
                [None, None] => {}
                [Some(_), Some(_)] => compare(repo, subtrees, prefix, found, trees)?,
                // Everything below stands on one side alone.
                [one, other] => {
                    let mut all = Vec::new();
                    if let Some(tree_id) = one.or(other) {
                        collect(repo, tree_id, prefix, &mut all, trees)?;
                    }
                    for entry in all {
                        let blobs = found.entry(entry.annotated_id).or_default();
                        if one.is_some() { &mut blobs.0 } else { &mut blobs.1 }.push(entry.note_blob_id);
                    }
                }
            }
        }
        if let Some(annotated_id) = repo.parse_id(prefix) {
            let blobs = found.entry(annotated_id).or_default();
            let blob = |entry: Option<&(bool, ObjectId)>| entry.filter(|entry| !entry.0).map(|entry| entry.1);
            blobs.0.extend(blob(pair[0]));
            blobs.1.extend(blob(pair[1]));
        }
        prefix.truncate(prefix.len() - text.len());
    }
    Ok(())
}
