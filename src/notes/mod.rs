//! Notes as Git stores them: bytes attached to objects, in a tree with fanout, under a ref.
//!
//! Read [`get`] and [`edit`]. This room does not know what the bytes mean; see `record`.

mod merge;

use std::time::Instant;

use bstr::ByteSlice as _;

pub use self::merge::{Resolved, Versions, changed, changed_among, merge, rejoin};
use crate::error::{Error, Kind, Result};
use crate::git::{EntryBudget, ObjectId, Replaced, Repository, Tip};

/// The ref that holds our notes unless the user says otherwise.
pub const DEFAULT_REF: &str = "refs/notes/shiftlog";

/// The largest note that is read, in bytes. Notes of the earlier tools hold whole transcripts.
pub const MAX_NOTE_BYTES: u64 = 48 * 1024 * 1024;

/// How many bytes of notes are in memory at once when many are read.
const MANY_BYTES: usize = 8 * 1024 * 1024;

/// How many trees are read to list notes: enough for a fanout of two levels.
const MAX_TREES: usize = 100_000;

/// The trees and notes that one walk through notes trees may still read. Trees that name one subtree many times could
/// make a small repository take forever to list.
#[derive(Default)]
struct Budget {
    trees: usize,
    entries: EntryBudget,
}

impl Budget {
    /// Counts one tree.
    fn take_tree(&mut self) -> Result<()> {
        self.trees += 1;
        if self.trees > MAX_TREES {
            return Err(Error::new(Kind::Corrupt, "the notes tree has more subtrees than any fanout needs"));
        }
        Ok(())
    }
}

/// One entry of a notes tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry {
    /// The object that the note is attached to.
    pub annotated_id: ObjectId,
    /// The blob with the note's bytes.
    pub note_blob_id: ObjectId,
}

/// Returns the full name of a notes ref from what the user typed, as `git notes --ref` does.
pub fn expand_ref(name: &str) -> String {
    if name.starts_with("refs/notes/") || name.starts_with("refs/shiftlog/") {
        name.to_owned()
    } else if name.starts_with("notes/") {
        format!("refs/{name}")
    } else {
        format!("refs/notes/{name}")
    }
}

/// Returns the note attached to `annotated_id` under `ref_name`, or `None` if there is none.
///
/// The bytes are exactly those of the note blob. A missing notes ref counts as "no note", as in `git notes show`.
/// Costs one tree lookup per two hex digits of fanout. Where a foreign tree holds several entries for one object,
/// their bytes are joined by a line break, as Git does.
///
/// # Errors
///
/// [`Kind::Corrupt`] if the notes tree names an object that is not a blob.
pub fn get(repo: &Repository, ref_name: &str, annotated_id: ObjectId) -> Result<Option<Vec<u8>>> {
    let Some(tip) = repo.tip(ref_name)? else { return Ok(None) };
    get_at(repo, tip.tree_id, annotated_id)
}

/// Returns the note blobs of `annotated_id` in the notes tree `tree_id`: usually one.
///
/// # Errors
///
/// If a tree cannot be read.
pub fn blobs_at(repo: &Repository, tree_id: ObjectId, annotated_id: ObjectId) -> Result<Vec<ObjectId>> {
    let mut found = Vec::new();
    find(repo, tree_id, &annotated_id.to_string(), &mut found)?;
    Ok(found)
}

/// Returns the note attached to `annotated_id` in the notes tree `tree_id`; see [`get`].
pub fn get_at(repo: &Repository, tree_id: ObjectId, annotated_id: ObjectId) -> Result<Option<Vec<u8>>> {
    let mut bytes: Option<Vec<u8>> = None;
    for blob_id in blobs_at(repo, tree_id, annotated_id)? {
        let note = read(repo, blob_id)?;
        match &mut bytes {
            None => bytes = Some(note),
            Some(bytes) => {
                bytes.push(b'\n');
                bytes.extend(note);
                if bytes.len() as u64 > MAX_NOTE_BYTES {
                    return Err(Error::new(Kind::Corrupt, format!("the note of '{annotated_id}' is too large")));
                }
            }
        }
    }
    Ok(bytes)
}

/// Returns the bytes of a note blob.
///
/// # Errors
///
/// As [`Repository::read_blob`].
pub fn read(repo: &Repository, note_blob_id: ObjectId) -> Result<Vec<u8>> {
    repo.read_blob(note_blob_id, MAX_NOTE_BYTES)
}

/// Returns the bytes of many note blobs, in the given order. `None` for large and unreadable ones; the caller reads them
/// one by one.
pub fn read_many(repo: &Repository, note_blob_ids: &[ObjectId]) -> Vec<Option<Vec<u8>>> {
    repo.read_blobs(note_blob_ids, MANY_BYTES)
}

/// Returns all notes under `ref_name`, in the order of the tree; none if there is no such ref.
///
/// Reads trees only, never a note: about 20 ms for ten thousand. Skips entries that are not notes.
///
/// # Errors
///
/// If a tree cannot be read.
pub fn list(repo: &Repository, ref_name: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    if let Some(tip) = repo.tip(ref_name)? {
        collect(repo, tip.tree_id, &mut String::new(), &mut entries, &mut Budget::default())?;
    }
    Ok(entries)
}

/// An edit of the notes of one ref; see [`edit`].
pub struct Editor<'r> {
    repo: &'r Repository,
    /// The tree before this edit.
    root: ObjectId,
    state: gix::note::plumbing::State,
}

impl<'r> Editor<'r> {
    fn new(repo: &'r Repository, root: ObjectId) -> Result<Self> {
        let state = gix::note::plumbing::State::new(root, repo.gix()).map_err(cannot_edit)?;
        Ok(Editor { repo, root, state })
    }

    /// Returns the note of `annotated_id` before this edit.
    pub fn get(&self, annotated_id: ObjectId) -> Result<Option<Vec<u8>>> {
        get_at(self.repo, self.root, annotated_id)
    }

    /// Attaches `note` to `annotated_id`; replaces an existing note.
    pub fn replace(&mut self, annotated_id: ObjectId, note: &[u8]) -> Result<()> {
        let blob_id = self.repo.write_blob(note)?;
        self.change(annotated_id, Some(blob_id))
    }

    /// Removes the note of `annotated_id`, if there is one.
    pub fn remove(&mut self, annotated_id: ObjectId) -> Result<()> {
        self.change(annotated_id, None)
    }

    fn change(&mut self, annotated_id: ObjectId, blob_id: Option<ObjectId>) -> Result<()> {
        self.state.edit(annotated_id, blob_id, self.repo.gix()).map(drop).map_err(cannot_edit)
    }

    /// Writes the edited tree and returns its id.
    fn write(mut self) -> Result<ObjectId> {
        self.state.write(self.repo.gix()).map_err(cannot_edit)
    }
}

fn cannot_edit(error: gix::Error) -> Error {
    crate::git::gix_error("cannot edit the notes tree", &error)
}

/// Edits the notes under `ref_name` by compare-and-swap and returns whether anything changed.
///
/// `change` may run several times, each time on the ref's present tip: it must read through the editor, and keep the
/// parts of a note that it does not mean to change. Notes of other objects, and entries that are not notes, are kept.
/// The fanout is the one that Git would choose.
///
/// # Errors
///
/// As [`Repository::update_ref`].
pub fn edit(
    repo: &Repository,
    ref_name: &str,
    message: &str,
    deadline: Instant,
    change: impl FnMut(&mut Editor<'_>) -> Result<()>,
) -> Result<bool> {
    repo.update_ref(ref_name, message, deadline, edited(repo, change))
}

/// Edits notes as [`edit`] does, but without signing the commit: for records that were written before and are only
/// carried.
///
/// # Errors
///
/// As [`Repository::update_ref`].
pub fn carry(
    repo: &Repository,
    ref_name: &str,
    message: &str,
    deadline: Instant,
    change: impl FnMut(&mut Editor<'_>) -> Result<()>,
) -> Result<bool> {
    repo.carry_ref(ref_name, message, deadline, edited(repo, change))
}

/// Returns the notes tree `root` with the notes of some objects replaced.
///
/// # Errors
///
/// If a tree cannot be read or written.
pub fn tree_with(repo: &Repository, root: ObjectId, changed: &[(ObjectId, Vec<u8>)]) -> Result<ObjectId> {
    let mut editor = Editor::new(repo, root)?;
    for (annotated_id, note) in changed {
        editor.replace(*annotated_id, note)?;
    }
    editor.write()
}

/// Returns the function that makes the tree of an edit from the ref's tip, for [`Repository::update_ref`].
fn edited<'r>(
    repo: &'r Repository,
    mut change: impl FnMut(&mut Editor<'_>) -> Result<()> + 'r,
) -> impl FnMut(Option<Tip>) -> Result<Option<ObjectId>> + 'r {
    move |tip: Option<Tip>| {
        let root = tip.map_or(repo.empty_tree_id(), |tip| tip.tree_id);
        let mut editor = Editor::new(repo, root)?;
        change(&mut editor)?;
        let tree_id = editor.write()?;
        Ok((tree_id != root).then_some(tree_id))
    }
}

/// The new content of a note.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// The part that is not signed, in any case what is unchanged.
    pub carried: Vec<u8>,
    /// The whole content; empty to remove the note.
    pub note: Vec<u8>,
}

/// Changes the notes under `ref_name` and drops the ref's history. Returns whether anything changed; if not, the ref
/// stays. See [`Repository::replace_ref`] for what is signed.
///
/// `change` returns the new content of a note, or `None` to keep it. Reads every note.
///
/// # Errors
///
/// As [`Repository::replace_ref`].
pub fn rewrite(
    repo: &Repository,
    ref_name: &str,
    message: &str,
    deadline: Instant,
    change: impl Fn(Entry, &[u8]) -> Option<Changed>,
) -> Result<bool> {
    repo.replace_ref(ref_name, message, deadline, |tip| {
        let (mut carried, mut editor) = (Editor::new(repo, tip.tree_id)?, Editor::new(repo, tip.tree_id)?);
        let mut entries = Vec::new();
        collect(repo, tip.tree_id, &mut String::new(), &mut entries, &mut Budget::default())?;
        let mut has_changed = false;
        for entry in entries {
            let Some(changed) = change(entry, &read(repo, entry.note_blob_id)?) else { continue };
            has_changed = true;
            for (editor, note) in [(&mut carried, &changed.carried), (&mut editor, &changed.note)] {
                if note.is_empty() {
                    editor.remove(entry.annotated_id)?;
                } else {
                    editor.replace(entry.annotated_id, note)?;
                }
            }
        }
        if !has_changed {
            return Ok(None);
        }
        Ok(Some(Replaced { carried_tree_id: carried.write()?, tree_id: editor.write()? }))
    })
}

/// Removes the notes of some objects, which need not be readable, and drops the ref's history.
///
/// # Errors
///
/// As [`Repository::replace_ref`].
pub fn take_out(
    repo: &Repository,
    ref_name: &str,
    message: &str,
    deadline: Instant,
    annotated_ids: &[ObjectId],
) -> Result<()> {
    let replaced = repo.replace_ref(ref_name, message, deadline, |tip| {
        let mut editor = Editor::new(repo, tip.tree_id)?;
        annotated_ids.iter().try_for_each(|id| editor.remove(*id))?;
        let tree_id = editor.write()?;
        Ok(Some(Replaced { carried_tree_id: tree_id, tree_id }))
    });
    replaced.map(drop)
}

/// Returns earlier contents of a note, newest first, from the history of its ref.
///
/// For repairing a note that a merge has damaged. Walks the whole history of the ref.
///
/// # Errors
///
/// If the history cannot be walked.
pub fn earlier_contents(repo: &Repository, ref_name: &str, annotated_id: ObjectId) -> Result<Vec<Vec<u8>>> {
    let Some(tip) = repo.tip(ref_name)? else { return Ok(Vec::new()) };
    let range = crate::git::Range { tips: vec![tip.commit_id], hidden: Vec::new() };
    let mut seen = Vec::new();
    for step in repo.walk(&range, crate::git::Order::NewestFirst)? {
        let commit = repo.commit(step?.commit_id)?;
        if let Ok(Some(note)) = get_at(repo, commit.tree_id, annotated_id)
            && !seen.contains(&note)
        {
            seen.push(note);
        }
    }
    Ok(seen)
}

/// Finds the entries for the rest of a hex id below `tree_id`, with any fanout, even mixed.
fn find(repo: &Repository, tree_id: ObjectId, rest: &str, found: &mut Vec<ObjectId>) -> Result<()> {
    let mut subtrees = Vec::new();
    each_entry(repo, tree_id, |name, is_tree, id| {
        let Some(tail) = name.to_str().ok().and_then(|name| rest.strip_prefix(name)) else { return };
        match (is_tree, tail.is_empty()) {
            (false, true) => found.push(id),
            (true, false) if name.len() == 2 && subtrees.is_empty() => subtrees.push((id, tail)),
            _ => {}
        }
    })?;
    for (id, tail) in subtrees {
        find(repo, id, tail, found)?;
    }
    Ok(())
}

/// Collects the notes below `tree_id`. `prefix` is the part of the hex id that the path to this tree spells.
fn collect(
    repo: &Repository,
    tree_id: ObjectId,
    prefix: &mut String,
    entries: &mut Vec<Entry>,
    budget: &mut Budget,
) -> Result<()> {
    budget.take_tree()?;
    let mut subtrees = Vec::new();
    let mut is_within = Ok(());
    each_entry(repo, tree_id, |name, is_tree, id| {
        if is_within.is_ok() {
            is_within = budget.entries.take();
        }
        let Ok(name) = name.to_str() else { return };
        if !name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return;
        }
        if is_tree {
            if name.len() == 2 {
                subtrees.push((name.to_owned(), id));
            }
        } else if is_within.is_ok() {
            prefix.push_str(name);
            entries.extend(repo.parse_id(prefix).map(|annotated_id| Entry { annotated_id, note_blob_id: id }));
            prefix.truncate(prefix.len() - name.len());
        }
    })?;
    is_within?;
    for (name, id) in subtrees {
        if prefix.len() < 64 {
            prefix.push_str(&name);
            collect(repo, id, prefix, entries, budget)?;
            prefix.truncate(prefix.len() - 2);
        }
    }
    Ok(())
}

fn each_entry(repo: &Repository, tree_id: ObjectId, mut visit: impl FnMut(&bstr::BStr, bool, ObjectId)) -> Result<()> {
    let fail = |error: gix::Error| crate::git::gix_error(format!("cannot read tree '{tree_id}'"), &error);
    let tree = repo.gix().find_tree(tree_id).map_err(fail)?;
    let iter = gix::objs::TreeRefIter::from_bytes(&tree.data, tree_id.kind());
    for entry in iter {
        let entry = entry.map_err(|_| Error::new(Kind::Corrupt, format!("tree '{tree_id}' cannot be read")))?;
        visit(entry.filename, entry.mode.is_tree(), entry.oid.to_owned());
    }
    Ok(())
}
