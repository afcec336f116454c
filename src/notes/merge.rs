//! Comparing and merging notes trees.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use bstr::BString;

use super::{Budget, Editor, MAX_NOTE_BYTES, blobs_at, collect, each_entry, get_at};
use crate::error::Result;
use crate::git::{Merged, ObjectId, Repository};

/// The note of one object on both sides and in their merge base. `None` where there is no note.
#[derive(Clone, Debug)]
pub struct Versions {
    /// Our note.
    pub ours: Option<Vec<u8>>,
    /// Their note.
    pub theirs: Option<Vec<u8>>,
    /// The note in the merge base.
    pub base: Option<Vec<u8>>,
}

/// The result of merging two versions of a note.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The merged note; `None` for no note.
    pub note: Option<Vec<u8>>,
    /// Whether their note has purged words, so that their history must not be joined to ours.
    pub bars_theirs: bool,
}

/// The note blobs of one object in two trees: usually one each.
type Blobs = (Vec<ObjectId>, Vec<ObjectId>);

/// The entries of a tree by name: whether an entry is a tree, and its id.
type Entries = BTreeMap<BString, (bool, ObjectId)>;

/// Merges the notes of the commit `theirs` into `ref_name`. Returns whether the ref moved.
///
/// `resolve` merges the note of each object whose notes differ; equal notes are not read. The cost is proportional to
/// the difference. If we have no notes yet and `takes_all` is set, their tree is taken unchanged.
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
    let message = format!("shiftlog: merge notes of {}\n", theirs.to_hex_with_len(12));
    repo.merge_ref(ref_name, theirs, &message, deadline, |ours, theirs, base| {
        if ours.is_none() && takes_all {
            return Ok(Merged { tree_id: theirs.tree_id, joins_ours: true, joins_theirs: true });
        }
        let root = ours.map_or(repo.empty_tree_id(), |ours| ours.tree_id);
        let mut editor = Editor::new(repo, root)?;
        let mut joins_theirs = true;
        for annotated_id in changed(repo, root, theirs.tree_id)? {
            let at = |tree_id| get_at(repo, tree_id, annotated_id);
            let versions = Versions {
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
        Ok(Merged { tree_id: editor.write()?, joins_ours: true, joins_theirs })
    })
}

/// Restores the notes that `ref_name` has lost; see [`Repository::lost_tree`]. Returns whether the ref moved.
///
/// `join` gets our present note of an object, if there is one, and the lost note. It returns the note to store; empty
/// for none.
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
    repo.rejoin_ref(ref_name, "shiftlog: join what was lost\n", deadline, |tip, lost| {
        let root = tip.map_or(repo.empty_tree_id(), |tip| tip.tree_id);
        let mut editor = Editor::new(repo, root)?;
        for annotated_id in changed(repo, root, lost)? {
            // A note that is lost itself must not keep the others from being joined.
            let readable = |tree_id| match get_at(repo, tree_id, annotated_id) {
                Err(_) if is_lost(repo, tree_id, annotated_id) => Ok(None),
                note => note,
            };
            let Some(kept) = readable(lost)? else { continue };
            let ours = readable(root)?;
            let note = join(ours.as_deref(), &kept);
            if !note.is_empty() && ours.as_deref() != Some(&note[..]) {
                editor.replace(annotated_id, &note)?;
            }
        }
        editor.write()
    })
}

/// Says whether the note of an object is lost: see [`Repository::is_lost`].
fn is_lost(repo: &Repository, tree_id: ObjectId, annotated_id: ObjectId) -> bool {
    blobs_at(repo, tree_id, annotated_id)
        .is_ok_and(|blob_ids| blob_ids.into_iter().any(|blob_id| repo.is_lost(blob_id, MAX_NOTE_BYTES)))
}

/// Returns the objects whose notes differ between two notes trees, sorted. Does not read subtrees that are equal.
///
/// # Errors
///
/// If a tree cannot be read.
pub fn changed(repo: &Repository, before: ObjectId, after: ObjectId) -> Result<Vec<ObjectId>> {
    changed_where(repo, before, after, None)
}

/// Returns those of the objects `wanted` whose notes differ between two notes trees, sorted. Does not read subtrees
/// that cannot have such a note.
///
/// # Errors
///
/// As [`changed`].
pub fn changed_among(
    repo: &Repository,
    before: ObjectId,
    after: ObjectId,
    wanted: &BTreeSet<ObjectId>,
) -> Result<Vec<ObjectId>> {
    changed_where(repo, before, after, Some(wanted))
}

fn changed_where(
    repo: &Repository,
    before: ObjectId,
    after: ObjectId,
    wanted: Option<&BTreeSet<ObjectId>>,
) -> Result<Vec<ObjectId>> {
    let hex = wanted.map(|ids| ids.iter().map(ToString::to_string).collect());
    let (prefix, found, budget) = (String::new(), BTreeMap::new(), Budget::default());
    let mut comparison = Comparison { repo, wanted: hex, prefix, found, budget };
    comparison.add([Some(before), Some(after)])?;
    let differing = comparison.found.into_iter().filter(|(_, (before, after))| before != after);
    Ok(differing.map(|(id, _)| id).filter(|id| wanted.is_none_or(|wanted| wanted.contains(id))).collect())
}

/// A walk through two notes trees at once.
struct Comparison<'a> {
    repo: &'a Repository,
    /// The hex ids of the wanted objects, sorted; `None` for all.
    wanted: Option<Vec<String>>,
    /// The beginning of the hex id that the path to the present subtrees spells.
    prefix: String,
    /// The notes of both trees outside subtrees that are equal. If the fanouts differ, a note is found at two places.
    found: BTreeMap<ObjectId, Blobs>,
    budget: Budget,
}

impl Comparison<'_> {
    /// Says whether the id of a wanted object begins with `prefix` and `name`.
    fn may_have_wanted(&self, name: &[u8]) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        let beginning = || self.prefix.bytes().chain(name.iter().copied());
        let at = wanted.partition_point(|hex| hex.bytes().lt(beginning()));
        wanted.get(at).is_some_and(|hex| hex.bytes().take(self.prefix.len() + name.len()).eq(beginning()))
    }

    /// Returns the entries of a tree that may be, or contain, a wanted note.
    fn entries(&mut self, tree_id: Option<ObjectId>) -> Result<Entries> {
        let mut entries = Entries::new();
        let Some(tree_id) = tree_id else { return Ok(entries) };
        let mut count = 0;
        each_entry(self.repo, tree_id, |name, is_tree, id| {
            count += 1;
            if self.may_have_wanted(name) {
                entries.insert(name.to_owned(), (is_tree, id));
            }
        })?;
        (0..count).try_for_each(|_| self.budget.entries.take())?;
        Ok(entries)
    }

    fn add(&mut self, sides: [Option<ObjectId>; 2]) -> Result<()> {
        self.budget.take_tree()?;
        let (before, after) = (self.entries(sides[0])?, self.entries(sides[1])?);
        let names: BTreeSet<&BString> = before.keys().chain(after.keys()).collect();
        for name in names {
            let pair = [before.get(name), after.get(name)];
            let Ok(text) = std::str::from_utf8(name) else { continue };
            let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if pair[0] == pair[1] || !is_hex || self.prefix.len() + text.len() > 64 {
                continue;
            }
            self.prefix.push_str(text);
            if text.len() == 2 {
                self.add_subtrees(pair.map(|entry| entry.filter(|entry| entry.0).map(|entry| entry.1)))?;
            }
            if let Some(annotated_id) = self.repo.parse_id(&self.prefix) {
                let blobs = self.found.entry(annotated_id).or_default();
                let blob = |entry: Option<&(bool, ObjectId)>| entry.filter(|entry| !entry.0).map(|entry| entry.1);
                blobs.0.extend(blob(pair[0]));
                blobs.1.extend(blob(pair[1]));
            }
            self.prefix.truncate(self.prefix.len() - text.len());
        }
        Ok(())
    }

    fn add_subtrees(&mut self, subtrees: [Option<ObjectId>; 2]) -> Result<()> {
        match subtrees {
            [None, None] => {}
            [Some(_), Some(_)] => self.add(subtrees)?,
            // Only one side has notes here.
            [one, other] => {
                let mut all = Vec::new();
                if let Some(tree_id) = one.or(other) {
                    collect(self.repo, tree_id, &mut self.prefix, &mut all, &mut self.budget)?;
                }
                for entry in all {
                    let blobs = self.found.entry(entry.annotated_id).or_default();
                    if one.is_some() { &mut blobs.0 } else { &mut blobs.1 }.push(entry.note_blob_id);
                }
            }
        }
        Ok(())
    }
}
