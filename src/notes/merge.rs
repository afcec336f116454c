//! What differs between two notes trees, and making one of two.

use std::collections::{BTreeMap, BTreeSet};
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

/// Entries of a tree by their names: whether each is a tree, and its id.
type Entries = BTreeMap<BString, (bool, ObjectId)>;

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
    changed_where(repo, before, after, None)
}

/// Does the same for some objects alone: subtrees that cannot hold the note of one of them are not read either.
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
    let mut comparison = Comparison { repo, wanted: hex, prefix: String::new(), found: BTreeMap::new(), trees: 0 };
    comparison.add([Some(before), Some(after)])?;
    let differing = comparison.found.into_iter().filter(|(_, (before, after))| before != after);
    Ok(differing.map(|(id, _)| id).filter(|id| wanted.is_none_or(|wanted| wanted.contains(id))).collect())
}

/// What a walk through two notes trees has met.
struct Comparison<'a> {
    repo: &'a Repository,
    /// The ids of the objects whose notes are asked for, sorted; `None` for all.
    wanted: Option<Vec<String>>,
    /// What the path to the present subtrees spells.
    prefix: String,
    /// The notes of both trees that are not in a subtree which both have. Where the fanout differs, a note is met at two
    /// places.
    found: BTreeMap<ObjectId, Blobs>,
    trees: usize,
}

impl Comparison<'_> {
    /// Says whether an object whose note is asked for has an id that begins with the prefix and this name.
    fn may_have_wanted(&self, name: &[u8]) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        let beginning = || self.prefix.bytes().chain(name.iter().copied());
        let at = wanted.partition_point(|hex| hex.bytes().lt(beginning()));
        wanted.get(at).is_some_and(|hex| hex.bytes().take(self.prefix.len() + name.len()).eq(beginning()))
    }

    /// Returns the entries of a tree that may be, or hold, a note that is asked for.
    fn entries(&self, tree_id: Option<ObjectId>) -> Result<Entries> {
        let mut entries = Entries::new();
        let Some(tree_id) = tree_id else { return Ok(entries) };
        each_entry(self.repo, tree_id, |name, is_tree, id| {
            if self.may_have_wanted(name) {
                entries.insert(name.to_owned(), (is_tree, id));
            }
        })?;
        Ok(entries)
    }

    fn add(&mut self, sides: [Option<ObjectId>; 2]) -> Result<()> {
        self.trees += 1;
        if self.trees > MAX_TREES {
            return Err(Error::new(Kind::Corrupt, "the notes tree has more subtrees than any fanout needs"));
        }
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
            // Everything below stands on one side alone.
            [one, other] => {
                let mut all = Vec::new();
                if let Some(tree_id) = one.or(other) {
                    collect(self.repo, tree_id, &mut self.prefix, &mut all, &mut self.trees)?;
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
