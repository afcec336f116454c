//! Checking fetched trees before they are merged into our refs.
//!
//! The trees of our refs have files and directories only. A *misfit* is any other entry: a submodule, a symbolic link, an
//! object that is missing or has the wrong type, or an unsafe name. Git would pass misfits on to everybody who fetches, and
//! 'git gc' fails at some of them.

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::objs::tree::{Entry, EntryKind};

use super::{ObjectId, Order, Range, Repository, gix_error};
use crate::error::{Error, Kind, Result};

/// How many entries are listed of the trees of one ref. Three small trees that name each other many times have more
/// paths than any memory can hold; a repository with a million noted commits stays below.
pub const MAX_ENTRIES: usize = 2_000_000;
/// Up to this many new paths, the paths of known commits are not counted.
const FEW_PATHS: usize = 1_000;

/// How deep trees may be nested: a fanout of two digits needs 31.
const MAX_DEPTH: usize = 40;
/// The largest number of trees that are checked. Neither we nor Git make a notes history with more.
const MAX_TREES: usize = 2_000_000;
/// The longest name of an entry, in bytes.
const MAX_NAME: usize = 255;
/// How many misfits are named.
const MAX_NAMED: usize = 20;

/// The result of checking the trees of a commit and of its new history.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The first twenty bad entries, each with its path: `a link to another repository at '12/34'`.
    pub misfits: Vec<String>,
    /// The tree of the commit without its misfits.
    pub tree_id: Option<ObjectId>,
}

/// The entries that trees may have.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// How large a file may be.
    pub max_bytes: u64,
    /// How many paths a tree may have, together with those of the commits that are known; `usize::MAX` for no limit.
    pub max_paths: usize,
    /// Whether missing and damaged objects are accepted. 'fsck' reports them, and a remote may still have them.
    pub missing: bool,
    /// Whether the root may have nothing but notes. Git keeps other files beside them, and with these, what is signed next
    /// would look like a commit of the project; see `is_root_of_ours`.
    pub notes_only: bool,
}

/// Counts the entries of the trees that one listing reads, up to [`MAX_ENTRIES`].
#[derive(Debug)]
pub struct EntryBudget(usize);

impl EntryBudget {
    /// Returns a budget of which nothing is used.
    pub fn new() -> Self {
        EntryBudget(MAX_ENTRIES)
    }

    /// Counts one entry.
    ///
    /// # Errors
    ///
    /// [`Kind::Corrupt`] if the budget is used up.
    pub fn take(&mut self) -> Result<()> {
        let too_many = || Error::new(Kind::Corrupt, format!("the tree has more than {MAX_ENTRIES} entries"));
        self.0 = self.0.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }
}

impl Default for EntryBudget {
    fn default() -> Self {
        EntryBudget::new()
    }
}

struct Checker<'r> {
    repo: &'r Repository,
    allowed: Allowed,
    checked: Checked,
    /// The checked form of each tree, by its id and depth; `None` if nothing of it is left.
    known: HashMap<(ObjectId, usize), CheckedTree>,
    /// The trees of the commits that count as sound.
    sound_trees: Vec<ObjectId>,
    /// The number of paths in these trees; counted when first needed.
    sound_paths: Option<usize>,
    /// The misfit of each file, if it is one, by blob id: many entries can name the same blob.
    files: HashMap<ObjectId, Option<String>>,
}

/// A tree without its misfits; `None` if nothing is left of it.
#[derive(Clone, Copy)]
struct CheckedTree {
    tree_id: Option<ObjectId>,
    /// The number of new paths in it, including directories. A subtree that is named twice counts twice.
    paths: usize,
}

impl Repository {
    /// Checks the trees of a commit and of its history since the commits `known`, which count as sound.
    ///
    /// The cost is proportional to the new history.
    ///
    /// # Errors
    ///
    /// If the commit itself, or its history, cannot be read.
    pub fn check_trees(&self, commit_id: ObjectId, known: &[ObjectId], allowed: Allowed) -> Result<Checked> {
        let sound_trees = known.iter().map(|known| Ok(self.commit(*known)?.tree_id)).collect::<Result<Vec<_>>>()?;
        let sound = sound_trees.last().copied();
        let mut checker = Checker {
            repo: self,
            allowed,
            checked: Checked::default(),
            known: HashMap::new(),
            sound_trees,
            sound_paths: None,
            files: HashMap::new(),
        };
        let root = self.commit(commit_id)?.tree_id;
        let tree_id = checker.root(root, sound)?;
        checker.checked.tree_id = Some(tree_id.unwrap_or_else(|| self.empty_tree_id()));
        let range = Range { tips: vec![commit_id], hidden: known.to_vec() };
        for step in self.walk(&range, Order::AsFound)? {
            let root = self.commit(step?.commit_id)?.tree_id;
            checker.root(root, sound)?;
        }
        Ok(checker.checked)
    }

    /// Writes the commit that replaces a fetched one with misfits: the tree without them, no parents, the same author and
    /// time. The same input always gives the same commit.
    ///
    /// # Errors
    ///
    /// As [`Repository::carry`].
    pub fn stand_in(&self, commit_id: ObjectId, tree_id: ObjectId) -> Result<ObjectId> {
        let author = self.commit(commit_id)?.author;
        let plain = |text: &BString| -> BString {
            text.bytes().filter(|byte| !byte.is_ascii_control() && !b"<>".contains(byte)).collect()
        };
        let (name, email) = (plain(&author.name), plain(&author.email));
        let name = if name.trim().is_empty() { "unknown".into() } else { name };
        let time = gix::date::Time::new(author.time.seconds.clamp(0, i64::from(u32::MAX)), 0);
        let message = format!("shiftlog: what may be here of {}\n", commit_id.to_hex_with_len(12));
        self.write_commit(&gix::actor::Signature { name, email, time }, &message, tree_id, &[])
    }

    /// Says whether a tree can be that of a ref with notes or purge marks: its root has nothing else.
    ///
    /// A commit of the project fails this. Whoever has a patch merged can put our files into the project, and then push the
    /// commit to one of our refs, with the signature of the person who merged it.
    pub(super) fn is_root_of_ours(&self, tree_id: ObjectId) -> bool {
        let is_marks =
            |entry: &Entry| entry.mode.is_tree() && ["segments", "sessions"].iter().any(|name| entry.filename == *name);
        let entries = self.tree_entries(tree_id);
        entries.is_some_and(|entries| entries.iter().all(|entry| is_note(entry) || is_marks(entry)))
    }

    /// Returns the entries of a tree, in their order; `None` if it cannot be read.
    fn tree_entries(&self, tree_id: ObjectId) -> Option<Vec<Entry>> {
        let tree = self.gix().find_object(tree_id).ok()?;
        if tree.kind != gix::object::Kind::Tree {
            return None;
        }
        let entries = gix::objs::TreeRefIter::from_bytes(&tree.data, tree_id.kind());
        entries.map(|entry| entry.ok().map(Entry::from)).collect()
    }
}

impl Checker<'_> {
    fn misfit(&mut self, what: &str, path: &BString) {
        if self.checked.misfits.len() < MAX_NAMED {
            self.checked.misfits.push(format!("{what} at '{path}'"));
        }
    }

    /// Returns the tree of a commit without its misfits; `None` if it has too many paths, or nothing can be left of it.
    fn root(&mut self, tree_id: ObjectId, sound: Option<ObjectId>) -> Result<Option<ObjectId>> {
        let checked = self.tree(tree_id, sound, &mut BString::default(), 0)?;
        let mut paths = checked.paths;
        if paths > FEW_PATHS {
            let sound_paths = self.sound_paths.unwrap_or_else(|| {
                let mut counted = HashMap::new();
                self.sound_trees
                    .iter()
                    .map(|tree_id| self.count(*tree_id, 0, &mut counted))
                    .fold(0, usize::saturating_add)
            });
            self.sound_paths = Some(sound_paths);
            paths = paths.saturating_add(sound_paths);
        }
        if paths > self.allowed.max_paths {
            let misfit = format!("with what is here, more than {} paths", self.allowed.max_paths);
            if !self.checked.misfits.contains(&misfit) {
                self.checked.misfits.push(misfit);
            }
            return Ok(None);
        }
        Ok(checked.tree_id)
    }

    /// Returns the number of paths in a tree, including directories.
    fn count(&self, tree_id: ObjectId, depth: usize, counted: &mut HashMap<ObjectId, usize>) -> usize {
        if let Some(paths) = counted.get(&tree_id) {
            return *paths;
        }
        let mut paths = 0_usize;
        for entry in self.repo.tree_entries(tree_id).unwrap_or_default() {
            let is_below = entry.mode.is_tree() && depth < MAX_DEPTH;
            let below = if is_below { self.count(entry.oid, depth + 1, counted) } else { 0 };
            paths = paths.saturating_add(1).saturating_add(below);
        }
        counted.insert(tree_id, paths);
        paths
    }

    /// Returns a tree without its misfits. `sound` is the tree that is known to be sound at this path.
    fn tree(
        &mut self,
        tree_id: ObjectId,
        sound: Option<ObjectId>,
        path: &mut BString,
        depth: usize,
    ) -> Result<CheckedTree> {
        if Some(tree_id) == sound {
            return Ok(CheckedTree { tree_id: Some(tree_id), paths: 0 });
        }
        if let Some(known) = self.known.get(&(tree_id, depth)) {
            return Ok(*known);
        }
        if depth > MAX_DEPTH || self.known.len() > MAX_TREES {
            self.misfit("too many trees", path);
            return Ok(CheckedTree { tree_id: None, paths: 0 });
        }
        // No tree can contain itself; if one did, this would end the recursion.
        self.known.insert((tree_id, depth), CheckedTree { tree_id: None, paths: 0 });
        let clean = self.clean(tree_id, sound, path, depth)?;
        self.known.insert((tree_id, depth), clean);
        Ok(clean)
    }

    fn clean(
        &mut self,
        tree_id: ObjectId,
        sound: Option<ObjectId>,
        path: &mut BString,
        depth: usize,
    ) -> Result<CheckedTree> {
        let Some(before) = self.repo.tree_entries(tree_id) else {
            if self.allowed.missing {
                return Ok(CheckedTree { tree_id: Some(tree_id), paths: 0 });
            }
            self.misfit("a tree that cannot be read", path);
            return Ok(CheckedTree { tree_id: None, paths: 0 });
        };
        let mut paths = 0_usize;
        let sound = sound.and_then(|sound| self.repo.tree_entries(sound)).unwrap_or_default();
        let sound: HashMap<&BString, &Entry> = sound.iter().map(|entry| (&entry.filename, entry)).collect();
        let mut after: Vec<Entry> = Vec::new();
        let mut names = HashSet::new();
        for entry in &before {
            let length = path.len();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry.filename);
            let same = sound.get(&entry.filename).copied();
            let is_foreign = depth == 0 && self.allowed.notes_only && !is_note(entry);
            paths = paths.saturating_add(usize::from(same != Some(entry)));
            if !names.insert(&entry.filename) {
                self.misfit("a name twice", path);
            } else if same == Some(entry) {
                after.push(entry.clone());
            } else if !is_name(&entry.filename) {
                self.misfit("a name that no file should have", path);
            } else if entry.mode.is_tree() && !is_foreign {
                let same = same.filter(|same| same.mode.is_tree()).map(|same| same.oid);
                let subtree = self.tree(entry.oid, same, path, depth + 1)?;
                paths = paths.saturating_add(subtree.paths);
                after.extend(subtree.tree_id.map(|oid| Entry { oid, ..entry.clone() }));
            } else if let Some(what) = self.misfit_of(entry) {
                self.misfit(&what, path);
            } else if is_foreign {
                self.misfit("a file that is no note", path);
            } else {
                after.push(entry.clone());
            }
            path.truncate(length);
        }
        let unsorted = after.clone();
        after.sort();
        if after != unsorted {
            self.misfit("entries out of order", path);
        }
        if after == before {
            return Ok(CheckedTree { tree_id: Some(tree_id), paths });
        }
        let tree = gix::objs::Tree { entries: after };
        let written = self.repo.gix().write_object(&tree).map_err(|error| gix_error("cannot write a tree", &error))?;
        Ok(CheckedTree { tree_id: Some(written.detach()), paths })
    }

    /// Returns why an entry that should be a file is a misfit, if it is one.
    fn misfit_of(&mut self, entry: &Entry) -> Option<String> {
        match entry.mode.kind() {
            EntryKind::Commit => return Some("a link to another repository".into()),
            EntryKind::Link => return Some("a symbolic link".into()),
            _ => {}
        }
        if !self.files.contains_key(&entry.oid) {
            self.files.insert(entry.oid, self.misfit_of_file(entry.oid));
        }
        self.files.get(&entry.oid).cloned().flatten()
    }

    /// Returns why an object that should be a file is a misfit, if it is one.
    fn misfit_of_file(&self, id: ObjectId) -> Option<String> {
        match self.repo.gix().try_find_header(id) {
            Ok(Some(header)) if header.kind() != gix::object::Kind::Blob => {
                Some(format!("a {} as a file", header.kind()))
            }
            Ok(Some(header)) if header.size() > self.allowed.max_bytes => Some(format!("{} bytes", header.size())),
            Ok(Some(_)) => None,
            Ok(None) | Err(_) if self.allowed.missing || self.repo.is_partial() => None,
            Ok(None) => Some("a file that is missing".into()),
            Err(_) => Some("a file that cannot be read".into()),
        }
    }
}

/// Says whether an entry at the root of a tree is a note, named as the object that it is for, or a directory of notes.
fn is_note(entry: &Entry) -> bool {
    let is_hex = entry.filename.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let length = entry.filename.len();
    is_hex && if entry.mode.is_tree() { length == 2 } else { matches!(length, 40 | 64) }
}

/// Says whether an entry of our trees may have this name: it must be a safe file name on every system.
fn is_name(name: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() || b"/\\:".contains(byte);
    let lower = name.to_ascii_lowercase();
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.iter().any(is_odd)
        && ![&b"."[..], b".."].contains(&name)
        && !lower.starts_with(b".git")
        && !lower.starts_with(b"git~")
}
