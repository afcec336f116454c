//! Checking trees that came from elsewhere, before anything of ours names what is in them.
//!
//! Our refs hold files in trees, and nothing else. A link to a commit of another repository, a symbolic link, an object
//! that is missing or of another type, or a name that no file should have is a misfit. Git itself would carry a misfit on
//! to everybody who fetches, and 'git gc' stops at some of them.

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::objs::tree::{Entry, EntryKind};

use super::{ObjectId, Order, Range, Repository, gix_error};
use crate::error::Result;

/// How deep trees may be nested: a fanout of two digits needs 31.
const MAX_DEPTH: usize = 40;
/// The most trees that are looked at. A history with more of them is none that we or Git made from notes.
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
    /// Whether objects may be missing, or damaged: another check tells of those, and they can come back.
    pub missing: bool,
}

struct Checker<'r> {
    repo: &'r Repository,
    allowed: Allowed,
    checked: Checked,
    /// The checked form of each tree, by its id and depth; `None` if nothing of it is left.
    known: HashMap<(ObjectId, usize), Option<ObjectId>>,
    /// What is wrong with each file: many entries can name the same one.
    files: HashMap<ObjectId, Option<String>>,
}

impl Repository {
    /// Checks the trees of a commit and of its history since the commits `known`, which count as sound.
    ///
    /// Costs in proportion to what is new.
    ///
    /// # Errors
    ///
    /// If the commit itself, or its history, cannot be read.
    pub fn check_trees(&self, commit_id: ObjectId, known: &[ObjectId], allowed: Allowed) -> Result<Checked> {
        let (known_trees, files) = (HashMap::new(), HashMap::new());
        let mut checker = Checker { repo: self, allowed, checked: Checked::default(), known: known_trees, files };
        let mut sound = None;
        for known in known {
            sound = Some(self.commit(*known)?.tree_id);
        }
        let root = self.commit(commit_id)?.tree_id;
        let tree_id = checker.tree(root, sound, &mut BString::default(), 0)?;
        checker.checked.tree_id = Some(tree_id.unwrap_or_else(|| self.empty_tree_id()));
        let range = Range { tips: vec![commit_id], hidden: known.to_vec() };
        for step in self.walk(&range, Order::AsFound)? {
            let root = self.commit(step?.commit_id)?.tree_id;
            checker.tree(root, sound, &mut BString::default(), 0)?;
        }
        Ok(checker.checked)
    }

    /// Makes the commit that stands for another one whose trees have misfits: a tree without them, and no history. Doing
    /// it again makes the same commit.
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
}

impl Checker<'_> {
    fn misfit(&mut self, what: &str, path: &BString) {
        if self.checked.misfits.len() < MAX_NAMED {
            self.checked.misfits.push(format!("{what} at '{path}'"));
        }
    }

    /// Returns a tree without its misfits; `None` if nothing can be left of it. `sound` is the tree that is known to be
    /// sound at this path.
    fn tree(
        &mut self,
        tree_id: ObjectId,
        sound: Option<ObjectId>,
        path: &mut BString,
        depth: usize,
    ) -> Result<Option<ObjectId>> {
        if Some(tree_id) == sound {
            return Ok(Some(tree_id));
        }
        if let Some(known) = self.known.get(&(tree_id, depth)) {
            return Ok(*known);
        }
        if depth > MAX_DEPTH || self.known.len() > MAX_TREES {
            self.misfit("too many trees", path);
            return Ok(None);
        }
        // A tree that is met within itself cannot be; this ends the search all the same.
        self.known.insert((tree_id, depth), None);
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
    ) -> Result<Option<ObjectId>> {
        let Some(before) = self.entries(tree_id) else {
            if self.allowed.missing {
                return Ok(Some(tree_id));
            }
            self.misfit("a tree that cannot be read", path);
            return Ok(None);
        };
        let sound = sound.and_then(|sound| self.entries(sound)).unwrap_or_default();
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
            if !names.insert(&entry.filename) {
                self.misfit("a name twice", path);
            } else if same == Some(entry) {
                after.push(entry.clone());
            } else if !is_name(&entry.filename) {
                self.misfit("a name that no file should have", path);
            } else if entry.mode.is_tree() {
                let same = same.filter(|same| same.mode.is_tree()).map(|same| same.oid);
                let subtree = self.tree(entry.oid, same, path, depth + 1)?;
                after.extend(subtree.map(|oid| Entry { oid, ..entry.clone() }));
            } else if let Some(what) = self.misfit_of(entry) {
                self.misfit(&what, path);
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
            return Ok(Some(tree_id));
        }
        let tree = gix::objs::Tree { entries: after };
        let written = self.repo.gix().write_object(&tree);
        Ok(Some(written.map_err(|error| gix_error("cannot write a tree", &error))?.detach()))
    }

    /// Returns what is wrong with an entry that should be a file.
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

    /// Returns what is wrong with an object that should be a file.
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

    fn entries(&self, tree_id: ObjectId) -> Option<Vec<Entry>> {
        let tree = self.repo.gix().find_object(tree_id).ok()?;
        if tree.kind != gix::object::Kind::Tree {
            return None;
        }
        let entries = gix::objs::TreeRefIter::from_bytes(&tree.data, tree_id.kind());
        entries.map(|entry| entry.ok().map(Entry::from)).collect()
    }
}

/// Says whether an entry of our trees may have this name: one that is a file's name wherever it is checked out.
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
