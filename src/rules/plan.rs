//! Computes the steps from the wanted files, the registry and the files on disk.
//!
//! Read [`Planner::text`]: it decides about one generated file. Skills, links and taking back stand in `plan/`.

mod discover;
mod links;
mod originals;
mod others;
mod skills;
mod take_back;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::ByteSlice as _;

use super::backup::Backup;
use super::block;
use super::generate;
use super::registry::{Entry, Original, Owned, Registry};
use super::report::{Change, Drift, Left};
use super::store::Store;
use super::want::{Wanted, What, Wishes};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::managed::Step;
use crate::managed::disk::{self, Node};
use crate::managed::file::digest;

/// How to deal with what is in the way.
#[derive(Clone, Copy, Debug)]
pub struct Ways<'o> {
    /// The agent that the operation is limited to.
    pub only: Option<&'o str>,
    /// Whether what was changed since goes, into a backup.
    pub is_forced: bool,
    /// Whether links are written through.
    pub follows: bool,
    /// Whether edits are looked for that are to be taken into the store: then each change is one.
    pub adopts: bool,
    /// The files with edits that were found so.
    pub edited: &'o BTreeSet<PathBuf>,
    /// The files whose edits are in the store already.
    pub adopted: &'o BTreeSet<PathBuf>,
    pub now: Time,
}

/// A plan that is being made.
pub struct Planner<'o> {
    store: &'o Store,
    ways: Ways<'o>,
    /// The registry after the steps.
    pub registry: Registry,
    pub backup: Backup,
    pub steps: Vec<Step>,
    pub changes: Vec<Change>,
    pub drift: Vec<Drift>,
    /// What stays as it is, while all else is done.
    pub left: Vec<Left>,
    /// Why the operation cannot be done.
    pub refused: Vec<String>,
    pub warnings: Vec<String>,
    /// Where entries of the registry are now that links are followed: the former and the new path.
    pub moved: Vec<(PathBuf, PathBuf)>,
    /// Paths that stay as they are.
    wanted: HashSet<PathBuf>,
    /// The directories above what is wanted, and above what was known when the plan was begun.
    above: HashSet<PathBuf>,
    made: HashSet<PathBuf>,
    /// Names in the archive that this plan gives away.
    archived: HashSet<PathBuf>,
    /// What is generated, and was not written down: nobody knows whether the user has edited it.
    discovered: HashSet<PathBuf>,
    /// Directories that are no links, and in no links below the base.
    plain: HashSet<PathBuf>,
    /// Directories that are not ours, and in none of ours.
    free: HashSet<PathBuf>,
    /// Whether directories are Git's.
    gits: HashMap<PathBuf, bool>,
    /// The files that the settings name, once they were looked for.
    named: Option<Rc<BTreeMap<PathBuf, &'static str>>>,
    /// The skills of the store that were read, by where they are.
    skills: HashMap<PathBuf, Rc<skills::Skill>>,
    /// What homes and repositories have written, by the directory that they are in.
    others: HashMap<PathBuf, Vec<others::Other>>,
    /// The paths whose originals are in backups of this place, and whether one is not settled.
    saved: Option<BTreeMap<PathBuf, bool>>,
    /// The commit that is checked out in the repository whose store this is, once it was looked for.
    head: OnceCell<Option<(Repository, ObjectId)>>,
    /// The digest of the text that each path would get, once it was looked for; `None` if that cannot be told.
    digests: OnceCell<Option<HashMap<PathBuf, String>>>,
    /// Paths that are not ours any more: what was there before is back, or the user has put something else there.
    pub settled: BTreeSet<PathBuf>,
}

/// In how many places of a file a block is looked for whose first line is gone.
const MAX_BEGINNINGS: usize = 16;

impl<'o> Planner<'o> {
    /// Begins a plan.
    pub fn new(store: &'o Store, registry: Registry, command: &str, ways: Ways<'o>) -> Self {
        Planner {
            backup: Backup::new(&store.place, command, ways.now),
            store,
            ways,
            registry,
            steps: Vec::new(),
            changes: Vec::new(),
            drift: Vec::new(),
            left: Vec::new(),
            refused: Vec::new(),
            warnings: Vec::new(),
            moved: Vec::new(),
            wanted: HashSet::new(),
            above: HashSet::new(),
            made: HashSet::new(),
            archived: HashSet::new(),
            discovered: HashSet::new(),
            plain: HashSet::new(),
            free: HashSet::new(),
            gits: HashMap::new(),
            named: None,
            skills: HashMap::new(),
            others: HashMap::new(),
            saved: None,
            head: OnceCell::new(),
            digests: OnceCell::new(),
            settled: BTreeSet::new(),
        }
    }

    /// Plans that the agents have what they should, and nothing else of ours.
    ///
    /// # Errors
    ///
    /// If something cannot be read, or if it cannot be done: nothing has been written then.
    pub fn plan(&mut self, wishes: &Wishes) -> Result<()> {
        self.return_entries();
        self.follow_moved();
        self.follow_entries();
        self.forget_what_is_back();
        self.registry.entries.keys().for_each(|path| add_above(&mut self.above, path));
        for wanted in &wishes.wanted {
            // A file is looked at once; the place of a skill only when it is known that something is to be written there.
            let node = matches!(wanted.what, What::Text { .. }).then(|| disk::observe(&wanted.path));
            let Some(path) = self.real(&wanted.path, node.as_ref().map(|node| matches!(node, Ok(Node::Link(_)))))
            else {
                // What was written there, or where the link has led to, stays.
                if let Some(end) = self.registry.followed.get(&wanted.path).cloned() {
                    self.want(&end);
                }
                self.want(&wanted.path);
                continue;
            };
            if path != wanted.path && matches!(node, Some(Ok(Node::Link(_)))) {
                self.follow_entry(&wanted.path, &path);
            }
            if self.registry.is_elsewhere(&self.store.place, &path) {
                let shown = self.store.place.shown(&path);
                self.warnings
                    .push(format!("    Warning: '{shown}' belongs to what this is a copy of, and is left as it is"));
                continue;
            }
            let known = self.registry.get(&path).cloned();
            if known.is_none() && self.is_of_another(&path) {
                self.stays_for_another(&path);
                self.want(&path);
                continue;
            }
            if !self.want(&path) {
                let (one, other) = (self.store.place.shown(&wanted.path), self.store.place.shown(&path));
                self.warnings.push(match one == other {
                    true => format!("    Warning: '{one}' has the text of another file already, by a symbolic link"),
                    false => format!("    Warning: '{one}' leads to '{other}', which has the text of another file"),
                });
                continue;
            }
            if let Some(other) = self.managed_above(&path).or_else(|| self.managed_below(&path)) {
                let (shown, place) = (self.store.place.shown(&path), &self.store.place);
                // What is not wanted any more goes first; the next sync finds the place free.
                match self.wanted.contains(&other) || other == place.store() {
                    true => self
                        .refuse(format!("cannot write '{shown}' and '{}': one is in the other", place.shown(&other))),
                    false => self.warnings.push(format!("    Warning: '{shown}' is written by the next sync")),
                }
                continue;
            }
            match &wanted.what {
                What::Text { pieces, is_block } => {
                    let node = node.filter(|_| path == wanted.path).unwrap_or_else(|| disk::observe(&path));
                    if let Some(node) = self.as_written(&path, node) {
                        let text = generate::whole(pieces);
                        self.text(wanted, path, known, node, &text, *is_block)?;
                    }
                }
                What::Link { target, conflict } => self.link(wanted, path, known, target, *conflict)?,
                What::Copy { now, source, conflict } => self.copy(wanted, path, known, [now, source], *conflict)?,
            }
        }
        self.discover()?;
        self.take_back_others()?;
        self.refused.sort();
        self.refused.dedup();
        match self.refused.first() {
            None => Ok(()),
            Some(first) => {
                let error = Error::other(first.clone());
                Err(self.refused.iter().skip(1).take(20).fold(error, |error, other| error.hint(other.clone())))
            }
        }
    }

    /// Adds a path to those that stay as they are. Returns whether it is new there.
    fn want(&mut self, path: &Path) -> bool {
        add_above(&mut self.above, path);
        self.wanted.insert(path.to_owned())
    }

    /// Returns a path above another that is ours, or is the store.
    fn managed_above(&mut self, path: &Path) -> Option<PathBuf> {
        // What becomes ours later is refused if something of ours is below it.
        let directory = path.parent()?;
        if self.free.contains(directory) {
            return None;
        }
        let is_managed = |above: &&Path| {
            self.wanted.contains(*above)
                || self.registry.entries.contains_key(*above)
                || **above == self.store.place.store()
        };
        let found = path.ancestors().skip(1).find(is_managed).map(Path::to_owned);
        if found.is_none() {
            self.free.insert(directory.to_owned());
        }
        found
    }

    /// Returns a path of ours below another.
    fn managed_below(&self, path: &Path) -> Option<PathBuf> {
        if !self.above.contains(path) {
            return None;
        }
        let is_below = |below: &&PathBuf| below.as_path() != path && below.starts_with(path);
        let wanted = self.wanted.iter().filter(is_below).min();
        wanted.or_else(|| self.registry.entries.keys().find(is_below)).cloned()
    }

    fn refuse(&mut self, why: String) {
        self.refused.push(why);
    }

    /// Leaves what is at a path as it is. `why` follows the path in the message.
    fn leave(&mut self, path: &Path, why: &str, hint: Option<&str>) {
        let why = format!("'{}' {why}", self.store.place.shown(path));
        if !self.left.iter().any(|left| left.why == why) {
            self.left.push(Left { path: path.to_owned(), why, hint: hint.map(str::to_owned) });
        }
    }

    /// Leaves what is no file, at a path for a file.
    fn leave_no_file(&mut self, path: &Path) {
        self.leave(path, "is no file, and is left as it is", Some("move it away, and run the command again"));
    }

    fn drifted(&mut self, path: &Path, what: &'static str) {
        self.drift.push(Drift { path: path.to_owned(), what });
    }

    /// Splits a file at the block of ours; `None` if it has none. `entry` is what is known of the file. Where the first or the
    /// last line of the block is gone, the text with the digest of the block is the block; if there is none, the block goes on
    /// to the end, and what was behind it is the original.
    fn split<'b>(&self, path: &Path, bytes: &'b [u8], entry: Option<&Entry>) -> Option<block::Split<'b>> {
        let original = || {
            let original = entry.map_or_else(|| self.earlier_original(path), |entry| Ok(entry.original.clone()));
            original.and_then(|original| self.bytes_of(&original)).unwrap_or_default()
        };
        let entry = entry.filter(|entry| entry.owned == Owned::Block);
        // The user can have changed the first line of the block, too.
        let changed = || block::any(entry.map(|_| bytes)?).filter(|_| block::any(&original()).is_none());
        // The earlier tool writes whole files.
        let begun = || block::begun(entry.map(|_| bytes)?).filter(|_| !generate::is_of_earlier_tool(bytes));
        let below = || {
            let digest = &entry?.digest;
            block::begun_within(bytes)
                .take(MAX_BEGINNINGS)
                .find(|split| generate::end_of(split.block, digest).is_some())
        };
        let mut split = block::split_or_open(bytes).or_else(changed).or_else(begun).or_else(below)?;
        if split.is_open {
            let end = entry.and_then(|entry| generate::end_of(split.block, &entry.digest));
            split.after = Cow::Owned(end.map_or_else(original, |end| block::behind(&split.block[end..]).to_vec()));
            split.block = &split.block[..end.unwrap_or(split.block.len())];
        }
        Some(split)
    }

    /// Plans one generated text. `owned` is what is known of the path, and `node` what is there.
    #[allow(clippy::too_many_arguments, reason = "each is looked up once, for all kinds of what is wanted")]
    fn text(
        &mut self,
        wanted: &Wanted,
        path: PathBuf,
        owned: Option<Entry>,
        node: Node,
        text: &str,
        is_block: Option<bool>,
    ) -> Result<()> {
        if matches!(node, Node::Directory | Node::Other) {
            self.leave_no_file(&path);
            return Ok(());
        }
        if block::has_marker(text) {
            // The end of the block would be found in it.
            let shown = self.store.place.shown(&path);
            self.refuse(format!("cannot write '{shown}': its text has a marker line of a block of ours"));
            return Ok(());
        }
        let owned = owned.map(|entry| as_there(entry, &node));
        let current: &[u8] = if let Node::File { bytes, .. } = &node { bytes } else { b"" };
        let split = self.split(&path, current, owned.as_ref());
        let is_open = split.as_ref().is_some_and(|split| split.is_open);
        let users = split.as_ref().map_or(Cow::Borrowed(current), |split| Cow::Owned(split.users()));
        let is_imported = self.registry.imported.get(&path).is_some_and(|known| *known == digest(&users));
        let wants_block = is_block.unwrap_or_else(|| {
            !is_imported
                && match owned.as_ref().map(|entry| entry.owned) {
                    Some(Owned::Block) => true,
                    Some(_) => false,
                    None => !generate::is_generated(current) && !users.trim().is_empty(),
                }
        });
        let is_generated = generate::is_generated(current);
        let has_block = split.is_some();
        // What we have written and what the earlier tool has written is replaced; anything else is somebody's edit.
        let generated = split.as_ref().map_or(current, |split| split.block);
        let new = generate::stable_digest(text.as_bytes());
        let is_equal = generate::is_same(generated, text.as_bytes());
        let there = if is_equal { new.clone() } else { generate::stable_digest(generated) };
        let is_disturbed = match &owned {
            _ if is_open => true,
            // Nobody knows whether it was edited.
            Some(entry) if entry.digest.is_empty() => false,
            Some(entry) if entry.owned == Owned::Block && !has_block => {
                !is_generated && !users.trim().is_empty() && !wants_block && !self.is_original(&node, entry)
            }
            Some(entry) => {
                node != Node::Absent
                    && !matches!(node, Node::Link(_))
                    && there != entry.digest
                    && there != new
                    && (has_block || !generate::is_of_earlier_tool(current))
                    && !self.is_original(&node, entry)
            }
            None => false,
        };
        // Where the rules are those of then, this is an edit of one who has committed it, and can be adopted.
        let is_committed = is_disturbed
            && !self.is_to_be_adopted(&path)
            && !is_open
            && (has_block || is_generated)
            && owned.as_ref().is_some_and(|entry| entry.digest != new)
            && self.is_committed(&path, current);
        if is_disturbed && !is_committed && !self.ways.is_forced && !self.ways.adopted.contains(&path) {
            self.drifted(&path, "changed since it was written");
            return Ok(());
        }
        let original = match (&owned, &node) {
            (Some(entry), Node::File { mode, .. })
                if entry.owned == Owned::Block
                    && has_block
                    && !wants_block
                    && (!users.is_empty() || matches!(entry.original, Original::File { .. })) =>
            {
                self.keep_users(&path, users.to_vec(), *mode, false)
            }
            // The user has put a link there, which comes back in its turn.
            (Some(_), Node::Link(target)) if !self.store.has(target) => self.keep(&path, &node, true),
            // The user has removed the file, and their own text with it.
            (Some(entry), Node::Absent) if entry.owned == Owned::Block && !disk::is_there(&path) => Original::Absent,
            (Some(entry), _) => match self.users_beside(&path, entry, current)? {
                Some((users, mode)) => self.keep_users(&path, users, mode, false),
                None => entry.original.clone(),
            },
            (None, Node::File { mode, .. }) if has_block => self.keep_users(&path, users.to_vec(), *mode, true),
            (None, Node::File { .. }) if is_generated => self.earlier_original(&path)?,
            (None, _) => self.keep(&path, &node, true),
        };
        let after = match &split {
            _ if !wants_block => text.as_bytes().to_vec(),
            Some(split) => split.with(text),
            None if is_generated || owned.as_ref().is_some_and(|entry| entry.owned == Owned::Whole) => {
                block::on_top(&self.bytes_of(&original)?, text)
            }
            None => block::on_top(current, text),
        };
        let is_same = has_block == wants_block && !is_open && there == new && matches!(node, Node::File { .. });
        if !is_same {
            // What nobody has written down, or others have written, can have an edit of the user's in it; what is not generated
            // is the user's, whatever the registry says.
            let is_users = !is_generated && !has_block;
            let is_unknown = match &owned {
                None => is_generated || has_block,
                Some(entry) => {
                    is_disturbed
                        || entry.digest.is_empty()
                        || entry.owned == Owned::Whole && is_users
                        || generate::is_of_earlier_tool(current)
                }
            };
            if is_unknown && matches!(node, Node::File { .. }) {
                self.keep(&path, &node, false);
            }
            let action = if node == Node::Absent { "create" } else { "update" };
            self.write(&path, after, &node, None, action)?;
        }
        let whole_or_block = if wants_block { Owned::Block } else { Owned::Whole };
        let entry = Entry { owned: whole_or_block, target: wanted.target.to_owned(), digest: new, original };
        self.know(path, owned.as_ref(), entry);
        Ok(())
    }

    /// Says whether a change of a file is an edit that is to be taken into the store, so that it may not go.
    fn is_to_be_adopted(&self, path: &Path) -> bool {
        self.ways.adopts || self.ways.edited.contains(path)
    }

    /// Has the registry know what is at a path from now on.
    fn know(&mut self, path: PathBuf, known: Option<&Entry>, entry: Entry) {
        if known != Some(&entry) {
            self.registry.entries.insert(path, entry);
        }
    }

    /// Plans that a file gets these bytes, in directories that are made if needed.
    fn write(
        &mut self,
        path: &Path,
        after: Vec<u8>,
        node: &Node,
        mode: Option<u32>,
        action: &'static str,
    ) -> Result<()> {
        if after.len() as u64 > disk::MAX_FILE_BYTES {
            let shown = self.store.place.shown(path);
            self.refuse(format!("cannot write '{shown}': it would have more than {} bytes", disk::MAX_FILE_BYTES));
        }
        self.make_above(path);
        let (before, there) = match node {
            Node::File { bytes, mode } => (Some(bytes.clone()), Some(*mode)),
            _ => (None, None),
        };
        self.steps.push(Step::write(path.to_owned(), &after, mode.or(there), node)?);
        self.changes.push(Change { path: path.to_owned(), action, before, after: Some(after) });
        Ok(())
    }

    /// Plans the directories that a path needs.
    fn make_above(&mut self, path: &Path) {
        let above = path.ancestors().skip(1);
        let mut missing: Vec<PathBuf> = above
            .take_while(|directory| !disk::is_there(directory) && !self.made.contains(*directory))
            .map(Path::to_owned)
            .collect();
        missing.reverse();
        for directory in missing {
            self.made.insert(directory.clone());
            self.steps.push(Step::MakeDirectory { path: directory.clone() });
            if !self.store.has(&directory) && !self.registry.directories.contains(&directory) {
                self.registry.directories.push(directory);
            }
        }
    }
}

/// Returns an entry as it must be read with what is there: a file that we have written as a whole, and that has a block of ours
/// and text of the user's now, has become a file with a block.
pub(super) fn as_there(entry: Entry, node: &Node) -> Entry {
    let has_users = |bytes: &[u8]| block::split(bytes).is_some_and(|split| !split.users().is_empty());
    match node {
        Node::File { bytes, .. } if entry.owned == Owned::Whole && has_users(bytes) => {
            Entry { owned: Owned::Block, ..entry }
        }
        _ => entry,
    }
}

/// Adds the directories above a path to a set that has those above each of its own.
fn add_above(set: &mut HashSet<PathBuf>, path: &Path) {
    for above in path.ancestors().skip(1) {
        if set.contains(above) {
            break;
        }
        set.insert(above.to_owned());
    }
}
