//! Planning the links to skills and the copies of skills.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;

use super::super::block;
use super::super::generate::{self, stable_digest};
use super::super::manifest::Conflict;
use super::super::registry::{Entry, Original, Owned};
use super::super::report::Change;
use super::super::tree::{
    META, Meta, Tree, has_same, meta_text, skill_tree, source_in, tree_digest, tree_steps, whole_tree,
};
use super::super::want::Wanted;
use super::super::{STORE, Scope};
use super::originals::as_original;
use super::{Planner, as_there};
use crate::error::{Error, Result};
use crate::managed::Step;
use crate::managed::disk::{self, Node};
use crate::managed::step::stamp;

/// A skill of the store.
pub(super) struct Skill {
    tree: Tree,
    digest: String,
}

impl Planner<'_> {
    /// Plans a link to a skill.
    pub(super) fn link(
        &mut self,
        wanted: &Wanted,
        path: PathBuf,
        known: Option<Entry>,
        target: &Path,
        conflict: Conflict,
    ) -> Result<()> {
        let seen = std::fs::read_link(&path).map_or_else(|_| disk::observe(&path), |target| Ok(Node::Link(target)));
        let Some(node) = self.as_free(&path, seen) else { return Ok(()) };
        let digest = target.display().to_string();
        let is_same = match &node {
            Node::Link(there) => there == target || self.store.has(there) && disk::is_same(there, target),
            _ => false,
        };
        let original = self.skill_original(wanted, &path, known.as_ref(), &node, conflict, is_same)?;
        let Some(original) = original else { return Ok(()) };
        if !is_same {
            self.make_above(&path);
            let before = if let Node::Link(_) = node { &node } else { &Node::Absent };
            self.steps.push(Step::link(path.clone(), target.to_owned(), before));
            self.changes.push(Change { path: path.clone(), action: "link", before: None, after: None });
        }
        let entry = Entry { owned: Owned::Link, target: wanted.target.to_owned(), digest, original };
        self.know(path, known.as_ref(), entry);
        Ok(())
    }

    /// Plans a copy of a skill.
    pub(super) fn copy(
        &mut self,
        wanted: &Wanted,
        path: PathBuf,
        known: Option<Entry>,
        [now, source]: [&Path; 2],
        conflict: Conflict,
    ) -> Result<()> {
        let skill = match self.skill(now) {
            Ok(skill) => skill,
            Err(error) if disk::odd_name(now).is_some() => return self.left_out(now, error),
            Err(error) => {
                self.leave(now, &format!("is copied to no agent: {error}"), None);
                return Ok(());
            }
        };
        let new = skill.digest.clone();
        let Some(node) = self.as_free(&path, disk::observe(&path)) else { return Ok(()) };
        let is_ours = node == Node::Directory
            && (known.as_ref().is_some_and(|known| known.owned == Owned::Tree) || self.is_copy(&path));
        // What cannot be read in it was put there by somebody, and goes to the backup with it.
        let (there, is_read) = match is_ours.then(|| disk::tree(&path)).transpose() {
            Ok(there) => (there.unwrap_or_default(), true),
            Err(error) if disk::odd_name(&path).is_some() => return self.left_out(&path, error),
            Err(_) => (Tree::new(), false),
        };
        let meta = there.get(Path::new(META));
        let is_copy = || meta.filter(|meta| Meta::of(meta) != Meta::Users).and_then(|meta| self.source_in(meta));
        let is_same = is_ours
            && is_read
            && has_same(&there, &skill.tree)
            && is_copy().is_some_and(|source| self.store.has(&source));
        let original = self.skill_original(wanted, &path, known.as_ref(), &node, conflict, is_same)?;
        let Some(original) = original else { return Ok(()) };
        if !is_same {
            let mut tree = skill.tree.clone();
            if let Node::Link(_) = node {
                self.steps.push(Step::Remove { path: path.clone(), before: stamp(&node) });
            }
            let place = &self.store.place;
            let meta = match source.strip_prefix(&place.base).ok().filter(|_| place.scope == Scope::Repository) {
                // It is committed: the same for everybody, wherever the repository is, and whenever it was made.
                Some(below) => json!({ "source": below, "sync_mode": "copy" }),
                None => json!({ "source": source, "synced_at": self.ways.now.to_rfc3339(), "sync_mode": "copy" }),
            };
            let (bytes, mode) = (meta_text(&meta).into_bytes(), 0o644);
            tree.insert(PathBuf::from(META), Node::File { bytes, mode });
            self.make_above(&path);
            // What somebody has changed in it was moved to the backup.
            let is_moved = self.steps.iter().any(|step| matches!(step, Step::Move { from, .. } if *from == path));
            let there = if is_moved { Tree::new() } else { there };
            self.steps.extend(tree_steps(&path, &there, &tree, is_ours && !is_moved)?);
            self.changes.push(Change { path: path.clone(), action: "copy", before: None, after: None });
        }
        let entry = Entry { owned: Owned::Tree, target: wanted.target.to_owned(), digest: new, original };
        self.know(path, known.as_ref(), entry);
        Ok(())
    }

    /// Leaves a folder as it is that has a file whose name is not UTF-8: no step can name it. Any other error is returned.
    pub(super) fn left_out(&mut self, folder: &Path, error: Error) -> Result<()> {
        let Some(odd) = disk::odd_name(folder) else { return Err(error) };
        let (folder, odd) = (self.store.place.shown(folder), odd.to_string_lossy().into_owned());
        let (folder, odd) = (crate::outside::line(&folder), crate::outside::line(&odd));
        self.warnings.push(format!("    Warning: '{folder}' is left as it is: the name of '{odd}' in it is not UTF-8"));
        Ok(())
    }

    /// Reads a skill of the store, once for all agents that get a copy.
    fn skill(&mut self, now: &Path) -> Result<Rc<Skill>> {
        if let Some(skill) = self.skills.get(now) {
            return Ok(Rc::clone(skill));
        }
        let tree = skill_tree(&self.store.place, now)?;
        let skill = Rc::new(Skill { digest: tree_digest(&tree), tree });
        self.skills.insert(now.to_owned(), Rc::clone(&skill));
        Ok(skill)
    }

    /// Plans that a copy of ours goes.
    pub(super) fn remove_tree(&mut self, top: &Path) -> Result<()> {
        let there = disk::tree(top)?;
        self.steps.extend(tree_steps(top, &there, &Tree::new(), true)?);
        self.steps.push(Step::RemoveDirectory { path: top.to_owned() });
        Ok(())
    }

    /// Returns what was in the place of a skill before, and plans that it makes room; `None` if it stays.
    fn skill_original(
        &mut self,
        wanted: &Wanted,
        path: &Path,
        known: Option<&Entry>,
        node: &Node,
        conflict: Conflict,
        is_same: bool,
    ) -> Result<Option<Original>> {
        if *node == Node::Other {
            self.leave_no_file(path);
            return Ok(None);
        }
        if let Some(entry) = known {
            // A copy that is to go can go when some of it is gone already.
            let is_rest = matches!(&wanted.what, super::What::Link { .. })
                && *node == Node::Directory
                && entry.owned == Owned::Tree
                && self.is_rest_of_copy(path);
            let is_disturbed = !is_same && !is_rest && self.is_skill_disturbed(path, node, entry)?;
            // An edit that is in the store already goes with the copy.
            let is_disturbed = is_disturbed && !self.ways.adopted.contains(path);
            if is_disturbed && !self.ways.is_forced {
                self.drifted(path, "changed since it was written");
                return Ok(None);
            }
            match node {
                _ if is_same => {}
                _ if is_disturbed || self.is_unknown_copy(path, node, entry) => {
                    self.make_room(path, node, false);
                }
                // A link becomes a copy, or the other way round.
                Node::Directory if matches!(&wanted.what, super::What::Link { .. }) => self.remove_tree(path)?,
                Node::File { .. } => self.steps.push(Step::Remove { path: path.to_owned(), before: stamp(node) }),
                _ => {}
            }
            return Ok(Some(entry.original.clone()));
        }
        Ok(Some(match node {
            Node::Absent => Original::Absent,
            Node::Link(target) if self.store.has(target) => self.earlier_skill(path)?,
            Node::Directory if self.is_copy(path) => {
                if !is_same {
                    // Nobody has written down what it had, so it can have an edit of the user's.
                    self.make_room(path, node, false);
                }
                self.earlier_skill(path)?
            }
            // A setting named the path, and nobody has written down that a text of ours is there.
            Node::File { bytes, mode } if self.has_ours(path) => {
                self.make_room(path, node, false);
                match block::split(bytes) {
                    Some(split) => self.keep_users(path, split.users(), *mode, true),
                    None => self.earlier_skill(path)?,
                }
            }
            node => {
                if conflict == Conflict::Archive && *node == Node::Directory && !self.archive(path, wanted.target)? {
                    return Ok(None);
                }
                self.make_room(path, node, true)
            }
        }))
    }

    /// Puts what is in the place of a skill into the backup.
    fn make_room(&mut self, path: &Path, node: &Node, is_original: bool) -> Original {
        let original = self.keep(path, node, is_original);
        match node {
            // The link is replaced in one step; for a copy the step that makes the directory removes it first.
            Node::Link(_) => {}
            Node::File { .. } => self.steps.push(Step::Remove { path: path.to_owned(), before: stamp(node) }),
            Node::Directory => {
                self.changes.push(Change { path: path.to_owned(), action: "move", before: None, after: None });
            }
            Node::Absent | Node::Other => {}
        }
        original
    }

    /// Plans that a folder of the user's becomes an archived skill. Returns whether there is room for it.
    fn archive(&mut self, path: &Path, target: &str) -> Result<bool> {
        let tree = match disk::tree(path) {
            Ok(tree) => tree,
            Err(error) => {
                let shown = self.store.place.shown(path);
                self.warnings.push(format!("    Warning: '{shown}' is kept in the backup alone: {error}"));
                return Ok(true);
            }
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut to = self.store.archive().join(format!("{target}-{name}"));
        if self.has_no_room(&to) {
            return Ok(false);
        }
        let mut number = 2;
        while disk::is_there(&to) || self.archived.contains(&to) {
            if disk::is_directory(&to) && disk::tree(&to).is_ok_and(|there| there == tree) {
                return Ok(true);
            }
            to = self.store.archive().join(format!("{target}-{name}-{number}"));
            number += 1;
        }
        self.archived.insert(to.clone());
        self.make_above(&to);
        self.steps.extend(tree_steps(&to, &Tree::new(), &tree, false)?);
        self.changes.push(Change { path: to, action: "create", before: None, after: None });
        Ok(true)
    }

    /// Says whether a skill that we have written was changed since.
    pub(super) fn is_skill_disturbed(&self, path: &Path, node: &Node, entry: &Entry) -> Result<bool> {
        Ok(match (node, entry.owned) {
            (Node::Absent, _) => false,
            _ if self.is_original(node, entry) => false,
            // In a home that was moved or copied it leads to the store of the other.
            (Node::Link(target), Owned::Link) if *target.display().to_string() == *entry.digest => false,
            (Node::Link(target), _) => !self.store.has(target),
            (Node::Directory, Owned::Tree) if is_unwritten(path, entry) => {
                !self.is_copy(path) && !self.is_rest_of_copy(path)
            }
            (Node::Directory, Owned::Tree) => match disk::tree(path) {
                Ok(tree) => {
                    let is_changed = tree_digest(&tree) != entry.digest;
                    is_changed && !self.is_pulled_copy(path, entry) || Meta::at(path) == Meta::Users
                }
                Err(error) if disk::odd_name(path).is_some() => return Err(error),
                // Somebody has put something there that cannot be read.
                Err(_) => true,
            },
            (Node::Directory, _) => !self.is_copy(path),
            // Another setting had a text of ours there.
            (Node::File { bytes, .. }, Owned::Whole | Owned::Block) => {
                let entry = &as_there(entry.clone(), node);
                let split = self.split(path, bytes, Some(entry));
                let written = split.as_ref().map_or(&bytes[..], |split| split.block);
                let users = match &split {
                    _ if entry.owned != Owned::Block => Vec::new(),
                    Some(split) => split.users(),
                    None => bytes.clone(),
                };
                split.as_ref().is_some_and(|split| split.is_open)
                    || stable_digest(written) != entry.digest
                    || !users.is_empty() && self.bytes_of(&entry.original)? != users
            }
            _ => true,
        })
    }

    /// Says whether a directory is a copy of a skill that differs from the skill, and nobody has written down what it had: the
    /// earlier tool has made it in the place of a link or a copy of ours, or not all of it could be written or removed. It can
    /// have an edit of the user's.
    pub(super) fn is_unknown_copy(&self, path: &Path, node: &Node, entry: &Entry) -> bool {
        let is_unknown = match entry.owned {
            Owned::Link => true,
            Owned::Tree => (is_unwritten(path, entry) || self.is_pulled_copy(path, entry)) && !entry.is_at(path),
            Owned::Whole | Owned::Block => false,
        };
        *node == Node::Directory && is_unknown && self.is_copy(path) && !self.is_rest_of_copy(path)
    }

    /// Says whether a copy of a skill is as the commit has it that is checked out, and the skill is not the one that we had copied: a
    /// pull or a checkout can have brought both.
    fn is_pulled_copy(&self, path: &Path, entry: &Entry) -> bool {
        let source = self.store.skills_directory().join(path.file_name().unwrap_or_default());
        let is_as_copied =
            || skill_tree(&self.store.place, &source).is_ok_and(|tree| tree_digest(&tree) == entry.digest);
        let is_ours = self.store.place.scope == Scope::Repository && self.is_copy(path);
        !self.is_to_be_adopted(path) && is_ours && !is_as_copied() && self.is_copy_committed(path)
    }

    /// Says whether a directory has nothing but files of a skill of this store, as they are there: the rest of a copy of which
    /// something could not be removed.
    pub(super) fn is_rest_of_copy(&self, path: &Path) -> bool {
        let source = self.store.skills_directory().join(path.file_name().unwrap_or_default());
        let Ok(rest) = disk::tree(path) else { return false };
        let skill = whole_tree(&self.store.place, &source).unwrap_or_default();
        let rest: Tree = rest.into_iter().filter(|(path, node)| !is_meta(path, node)).collect();
        let same = skill.into_iter().filter(|(path, _)| rest.contains_key(path)).collect();
        has_same(&rest, &same) && Meta::at(path) != Meta::Users
    }

    /// Says whether a directory is a copy of a skill of this store.
    pub(super) fn is_copy(&self, path: &Path) -> bool {
        self.copied_from(path).is_some_and(|source| self.store.has(&source))
    }

    /// Returns what a directory says that it is a copy of.
    pub(super) fn copied_from(&self, path: &Path) -> Option<PathBuf> {
        self.source_in(&disk::observe(&path.join(META)).ok()?)
    }

    /// Returns what the file that makes a directory a copy names as its source.
    fn source_in(&self, meta: &Node) -> Option<PathBuf> {
        // That of a repository is relative to its top.
        source_in(meta).map(|source| self.store.place.base.join(source))
    }

    /// Says whether a path is in this store, or was before its base was moved.
    pub(super) fn is_of_store(&self, path: &Path) -> bool {
        let moved_from = self.registry.moved_from.as_ref();
        self.store.has(path) || moved_from.is_some_and(|base| path.starts_with(base.join(STORE)))
    }

    /// Returns what was in the place of a skill before an earlier tool put it there.
    pub(super) fn earlier_skill(&self, path: &Path) -> Result<Original> {
        let is_original = |kept: &Path| match disk::observe(kept) {
            Ok(Node::Directory) => !self.is_copy(kept),
            Ok(Node::Link(target)) => !self.store.has(&target),
            Ok(Node::File { bytes, .. }) => !generate::is_generated(&bytes),
            _ => false,
        };
        self.earlier_kept(path, is_original).map_or(Ok(Original::Absent), as_original)
    }
}

/// Says whether nobody has written down what a copy of ours has: not all of it could be written or removed, or the earlier tool
/// has written it since.
fn is_unwritten(path: &Path, entry: &Entry) -> bool {
    entry.digest.is_empty() || Meta::at(path) == Meta::Of { is_earlier_tool: true }
}

/// Says whether something in a copy is the file that says where the copy is from.
fn is_meta(path: &Path, node: &Node) -> bool {
    path == Path::new(META) && matches!(node, Node::File { .. })
}
