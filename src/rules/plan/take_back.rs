//! Planning that what we have written goes, and that what was there comes back.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::Scope;
use super::super::backup;
use super::super::block;
use super::super::generate::{self, stable_digest};
use super::super::places;
use super::super::registry::{Entry, Original, Owned};
use super::super::report::Change;
use super::super::want::{self, Wanted, What};
use super::{Planner, as_there};
use crate::error::{Error, Result};
use crate::managed::disk::{self, Modified, Node};
use crate::managed::step::stamp;
use crate::managed::{Step, made_directories};

/// Says whether a path can be that of a generated text.
fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md" || end == "mdc")
}

impl Planner<'_> {
    /// Plans that everything goes that we have written and that is not wanted.
    pub(super) fn take_back_others(&mut self) -> Result<()> {
        // What an earlier tool wrote where the settings name nothing from now on is found no more after this.
        let is_last_chance = |path: &PathBuf| {
            self.discovered.contains(path) && self.store.unnamed.iter().any(|(_, unnamed)| unnamed == path)
        };
        let is_left = |(path, entry): &(&PathBuf, &Entry)| {
            !self.wanted.contains(*path) && (want::is_chosen(self.ways.only, &entry.target) || is_last_chance(path))
        };
        let left: Vec<(PathBuf, Entry)> =
            self.registry.entries.iter().filter(is_left).map(|(path, entry)| (path.clone(), entry.clone())).collect();
        let mut unknown = 0;
        for (path, entry) in left {
            if let Some(link) = self.link_above(&path) {
                let what = "has become a symbolic link, and what was written below it stays";
                let how = match self.ways.follows {
                    false => {
                        "--follow takes it back where the link leads; or put the directory back in the place of the link"
                    }
                    true => "put the directory back in the place of the link, and run the command again",
                };
                self.leave(&link, what, Some(how));
                continue;
            }
            if self.is_in_gits(&path) {
                self.leave(&path, "is in a directory of Git's now, and stays", None);
                continue;
            }
            if entry.original != Original::Absent && self.has_no_room(&path) {
                continue;
            }
            let is_above_there = path.parent().is_some_and(disk::is_there);
            if !is_above_there && self.is_away(&path, &entry) {
                self.leave(&path, "was in a directory that is away, and comes back when that is there", None);
                continue;
            }
            let is_ours = self.has_ours(&path) || entry.is_at(&path);
            if !is_ours && !self.is_expected(&path, &entry) && !self.is_gone(&path, &entry) {
                // A registry that somebody else has written could name any file.
                let shown = self.store.place.shown(&path);
                self.warnings
                    .push(format!("    Warning: nothing of ours is at '{shown}' any more; it is left as it is"));
                self.registry.entries.remove(&path);
                self.settled.insert(path);
                continue;
            }
            let is_taken = match self.take_back(&path, &entry) {
                Ok(is_taken) => is_taken,
                Err(error) => {
                    self.left_out(&path, error)?;
                    false
                }
            };
            if is_taken {
                unknown += usize::from(self.discovered.contains(&path) && entry.original == Original::Absent);
                self.registry.entries.remove(&path);
                self.registry.followed.retain(|_, resolved| *resolved != path);
                self.settled.insert(path);
            }
        }
        // Later this would be taken for what was there before something else.
        for saved in self.backup.saved.iter_mut().filter(|saved| self.settled.contains(&saved.path)) {
            saved.is_settled = saved.is_original;
        }
        if self.wanted.is_empty() && unknown > 0 {
            self.warnings.push(format!(
                "    Warning: nobody has written down what was there before ({unknown}); where no backup has it, nothing comes back"
            ));
        }
        // Whether those that stay were edited is known no better after this.
        self.registry.entries.retain(|path, _| !self.discovered.contains(path));
        Ok(())
    }

    /// Says whether what we have written is gone from a path to which a link led, and not from a place of an agent's.
    fn is_away(&mut self, path: &Path, entry: &Entry) -> bool {
        if self.registry.followed.values().any(|end| end == path) {
            return true;
        }
        let is_in_place = match entry.owned {
            Owned::Link | Owned::Tree => self.is_expected(path, entry),
            Owned::Whole | Owned::Block => {
                let below = path.strip_prefix(&self.store.place.base);
                below.is_ok_and(places::is_own_text) || self.named().contains_key(path)
            }
        };
        !is_in_place && self.is_gone(path, entry)
    }

    /// Says whether a path is one for something of ours: a text of an agent's or that the settings name, or a skill.
    fn is_expected(&mut self, path: &Path, entry: &Entry) -> bool {
        let store = self.store;
        let Ok(below) = path.strip_prefix(&store.place.base) else { return false };
        match entry.owned {
            Owned::Whole | Owned::Block => places::is_text(below) || self.named().contains_key(path),
            Owned::Link | Owned::Tree => places::is_skill(below),
        }
    }

    /// Says whether a text or a skill is gone that can have been ours: below the base, or where a backup has what was there before.
    fn is_gone(&self, path: &Path, entry: &Entry) -> bool {
        let place = &self.store.place;
        let kept = match &entry.original {
            Original::File { kept, .. } | Original::Directory { kept } => Some(kept),
            Original::Absent | Original::Link { .. } => None,
        };
        let is_kept = kept.is_some_and(|kept| backup::is_from(place, kept, path));
        let is_skill = matches!(entry.owned, Owned::Link | Owned::Tree);
        let can_be_ours = if is_skill { is_kept } else { is_text(path) && (path.starts_with(&place.base) || is_kept) };
        can_be_ours && !disk::is_there(path)
    }

    /// Says whether the rules would be written to a path as they were. What cannot be told counts as yes: then a change is an edit.
    fn is_store_as_then(&self, path: &Path, entry: &Entry) -> bool {
        let digests = self.digests.get_or_init(|| {
            let mut wishes = want::wishes(self.store, None, self.ways.now).ok()?;
            want::without_repetition(self.store, &self.registry, &mut wishes, self.ways.now);
            let digest = |wanted: &Wanted| match &wanted.what {
                What::Text { pieces, .. } => {
                    let end = self.registry.followed.get(&wanted.path).unwrap_or(&wanted.path);
                    Some((end.clone(), stable_digest(generate::whole(pieces).as_bytes())))
                }
                What::Copy { .. } | What::Link { .. } => None,
            };
            Some(wishes.wanted.iter().filter_map(digest).collect())
        });
        digests.as_ref().is_none_or(|digests| digests.get(path).is_some_and(|digest| *digest == entry.digest))
    }

    /// Says whether something generated is at a path.
    pub(super) fn has_ours(&self, path: &Path) -> bool {
        match disk::observe(path) {
            Ok(Node::File { bytes, .. }) => block::is_in(&bytes) || generate::is_generated(&bytes),
            Ok(Node::Link(target)) => self.is_of_store(&target),
            Ok(Node::Directory) => self.copied_from(path).is_some_and(|source| self.is_of_store(&source)),
            _ => false,
        }
    }

    /// Plans that one thing goes. Returns whether it does.
    fn take_back(&mut self, path: &Path, entry: &Entry) -> Result<bool> {
        let Some(node) = self.as_written(path, disk::observe(path)) else { return Ok(false) };
        let entry = &as_there(entry.clone(), &node);
        let is_text = matches!(entry.owned, Owned::Whole | Owned::Block);
        if node == Node::Other || node == Node::Directory && is_text && !self.ways.is_forced {
            self.leave_no_file(path);
            return Ok(false);
        }
        if self.is_original(&node, entry) {
            return Ok(true);
        }
        if !self.ways.is_forced && self.end_of_text(path).is_some() {
            let what = "has become a symbolic link, and what was written stays where it leads";
            self.leave(path, what, Some("--follow takes it back there; or put the file back in the place of the link"));
            return Ok(false);
        }
        // What is generated and nobody has written down can have an edit of the user's in it.
        let mut is_unknown = self.discovered.contains(path) && matches!(node, Node::File { .. } | Node::Directory)
            || self.is_unknown_copy(path, &node, entry);
        let is_disturbed = match (entry.owned, &node) {
            (Owned::Tree, Node::Directory) => {
                (is_unknown || !self.is_rest_of_copy(path)) && self.is_skill_disturbed(path, &node, entry)?
            }
            (Owned::Link | Owned::Tree, node) => self.is_skill_disturbed(path, node, entry)?,
            (_, Node::Absent) => false,
            (_, Node::File { bytes, .. }) => {
                let split = self.split(path, bytes, Some(entry));
                let is_open = split.as_ref().is_some_and(|split| split.is_open);
                let there = stable_digest(split.as_ref().map_or(bytes, |split| split.block));
                let is_users = entry.owned == Owned::Block && split.is_none();
                let is_changed = is_open || !is_users && !entry.digest.is_empty() && there != entry.digest;
                is_unknown |= entry.digest.is_empty();
                let is_of_earlier_tool = generate::is_of_earlier_tool(bytes);
                is_unknown |= is_changed && is_of_earlier_tool || is_users && generate::is_generated(bytes);
                let is_text_of_ours = split.is_some() || generate::is_generated(bytes);
                let is_committed = is_changed
                    && is_text_of_ours
                    && !is_open
                    && self.is_committed(path, bytes)
                    && !self.is_store_as_then(path, entry);
                is_unknown |= is_committed;
                is_changed && !is_of_earlier_tool && !is_committed
            }
            _ => true,
        };
        if is_disturbed && !self.ways.is_forced {
            self.drifted(path, "changed since it was written");
            return Ok(false);
        }
        // Whatever the registry says: what is not generated is somebody's.
        is_unknown |=
            entry.owned != Owned::Block && matches!(node, Node::File { .. } | Node::Directory) && !self.has_ours(path);
        let mut node = node;
        if is_disturbed || is_unknown {
            self.keep(path, &node, false);
            if node == Node::Directory {
                // The step that keeps it has moved it away.
                self.changes.push(Change { path: path.to_owned(), action: "remove", before: None, after: None });
                node = Node::Absent;
            }
        }
        if let (Owned::Block, Node::File { bytes, .. }) = (entry.owned, &node) {
            let split = self.split(path, bytes, Some(entry));
            let has_block = split.is_some();
            let users = split.map_or_else(|| bytes.clone(), |split| split.users());
            // Without text of the user's, what was there before comes back, be it nothing or a link.
            let is_empty = users.is_empty() && !matches!(entry.original, Original::File { .. });
            if has_block && !is_empty {
                let is_original = self.bytes_of(&entry.original).is_ok_and(|bytes| bytes == users);
                let modified = is_original.then(|| self.modified_of(&entry.original)).flatten();
                self.write_back(path, users, &node, None, modified)?;
                return Ok(true);
            }
            if !has_block && !generate::is_generated(bytes) {
                // The user has taken the block out; the file is theirs.
                return Ok(true);
            }
            if let Some((users, mode)) = self.users_beside(path, entry, bytes)? {
                self.write_back(path, users, &node, Some(mode), None)?;
                return Ok(true);
            }
        } else if entry.owned == Owned::Block && !disk::is_there(path) {
            return Ok(true);
        }
        if node == Node::Directory {
            self.remove_tree(path)?;
            self.changes.push(Change { path: path.to_owned(), action: "remove", before: None, after: None });
            node = Node::Absent;
        }
        self.restore(path, &entry.original, &node)?;
        Ok(true)
    }

    fn remove(&mut self, path: &Path, node: &Node) {
        self.steps.push(Step::Remove { path: path.to_owned(), before: stamp(node) });
        let before = if let Node::File { bytes, .. } = node { Some(bytes.clone()) } else { None };
        self.changes.push(Change { path: path.to_owned(), action: "remove", before, after: None });
    }

    /// Plans that a file gets its bytes back, and its time.
    fn write_back(
        &mut self,
        path: &Path,
        bytes: Vec<u8>,
        node: &Node,
        mode: Option<u32>,
        modified: Option<Modified>,
    ) -> Result<()> {
        self.write(path, bytes, node, mode, "restore")?;
        if let Some(step) = self.steps.pop() {
            self.steps.push(step.at(modified));
        }
        Ok(())
    }

    /// Plans that an original comes back to where `node` is now.
    fn restore(&mut self, path: &Path, original: &Original, node: &Node) -> Result<()> {
        match original {
            Original::Absent if *node == Node::Absent => {}
            Original::Absent => self.remove(path, node),
            Original::File { mode, .. } => match self.bytes_of(original) {
                Ok(bytes) => self.write_back(path, bytes, node, Some(*mode), self.modified_of(original))?,
                Err(error) => self.without_original(path, node, error)?,
            },
            Original::Link { target, modified } => {
                self.make_above(path);
                self.steps.push(Step::link(path.to_owned(), target.clone(), node).at(*modified));
                self.changes.push(Change { path: path.to_owned(), action: "restore", before: None, after: None });
            }
            Original::Directory { kept } if !disk::is_there(kept) => {
                let error = Error::other(format!("cannot restore: the backup '{}' is gone", kept.display()));
                self.without_original(path, node, error)?;
            }
            Original::Directory { kept } => {
                if *node != Node::Absent {
                    self.steps.push(Step::Remove { path: path.to_owned(), before: stamp(node) });
                }
                self.make_above(path);
                self.steps.push(Step::Move { from: kept.clone(), to: path.to_owned() });
                self.changes.push(Change { path: path.to_owned(), action: "restore", before: None, after: None });
            }
        }
        Ok(())
    }

    /// Plans that nothing comes back where the backup is gone, if the user wants that.
    fn without_original(&mut self, path: &Path, node: &Node, error: Error) -> Result<()> {
        if !self.ways.is_forced {
            return Err(error.hint("--force removes what was written there, and restores nothing"));
        }
        self.warnings.push(format!("    Warning: the backup of '{}' is gone", self.store.place.shown(path)));
        if *node != Node::Absent {
            self.remove(path, node);
        }
        Ok(())
    }

    /// Has the registry know the directories that `init` has made and that our files are in: if `deinit` finds these there, the
    /// directories cannot go with it.
    fn know_directories_of_init(&mut self) {
        let place = &self.store.place;
        let Some(ours) = place.state.parent().and_then(Path::parent).filter(|_| place.scope == Scope::Repository)
        else {
            return;
        };
        let registry = &self.registry;
        let has_ours = |directory: &PathBuf| registry.entries.keys().any(|path| path.starts_with(directory));
        let is_new = |directory: &PathBuf| {
            let is_inside = super::super::is_plain(directory) && directory.starts_with(&place.base);
            is_inside && !registry.directories.contains(directory) && has_ours(directory)
        };
        let made: Vec<PathBuf> = made_directories(ours, &place.base).into_iter().filter(is_new).collect();
        self.registry.directories.extend(made);
        self.registry.directories.sort();
    }

    /// Plans that directories go that we have made and that are not needed any more, where nothing else is in them. One that
    /// cannot go yet is known until it can.
    pub fn remove_directories(&mut self) {
        self.know_directories_of_init();
        let mut needed: HashSet<&Path> = HashSet::new();
        for path in self.registry.entries.keys().chain(&self.wanted) {
            // What is above a directory that is needed is in the set already.
            let _ = path.ancestors().find(|above| !needed.insert(above));
        }
        let is_needed = |directory: &PathBuf| needed.contains(directory.as_path());
        let is_there = |directory: &PathBuf| is_needed(directory) || disk::is_directory(directory);
        let (known, _): (Vec<_>, Vec<_>) = self.registry.directories.iter().cloned().partition(is_there);
        for directory in known.iter().rev().filter(|directory| !is_needed(directory)) {
            let has_users = std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
            let is_below = |step: &Step| step.paths().iter().any(|path| path.starts_with(directory));
            if (!has_users || self.steps.iter().any(is_below)) && self.store.place.allows(directory) {
                self.steps.push(Step::RemoveDirectory { path: directory.clone() });
            }
        }
        self.registry.directories = known;
    }
}
