//! Files that another home or repository has written, and that stay as they are.
//!
//! Read [`Planner::is_of_another`]. What is known is in the registries of the homes and repositories that a path is in.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use bstr::BStr;

use super::super::registry::Registry;
use super::super::{Place, STORE, Scope, backup, block, generate};
use super::Planner;
use crate::git::Repository;
use crate::managed::disk::{self, Node};

/// Another home or repository, and what it has written.
pub(super) struct Other {
    place: Place,
    registry: Registry,
}

impl Planner<'_> {
    /// Says whether a path that this place has not written down is of another home or repository: it has written it down, it is
    /// the home that the path is in, or the file is generated, and nobody here knows what was there before.
    pub(super) fn is_of_another(&mut self, path: &Path) -> bool {
        if self.registry.get(path).is_some() {
            return false;
        }
        if self.other(path).is_some() {
            return true;
        }
        if self.home_of(path).is_some() {
            return !self.is_saved(path);
        }
        let Ok(Node::File { bytes, .. }) = disk::observe(path) else { return false };
        let is_whole = generate::is_generated(&bytes);
        if !is_whole && !block::is_in(&bytes) {
            return false;
        }
        if self.is_of_other_scope(&bytes) {
            return true;
        }
        let is_outside = !path.starts_with(&self.store.place.base) && !generate::is_of_earlier_tool(&bytes);
        (is_outside || self.nearer_store(path).is_some()) && !self.is_saved(path)
    }

    /// Says whether a file, or the block in it, is generated and of the other scope.
    fn is_of_other_scope(&self, bytes: &[u8]) -> bool {
        let split = block::split_or_open(bytes);
        generate::is_of_other_scope(split.as_ref().map_or(bytes, |split| split.block), self.store.place.scope)
    }

    /// Returns the base of another home or repository that has written a path down.
    pub(super) fn other(&mut self, path: &Path) -> Option<PathBuf> {
        for above in path.ancestors().skip(1) {
            let place = &self.store.place;
            let others = self.others.entry(above.to_owned()).or_insert_with(|| others(place, above));
            let rest = path.strip_prefix(above).ok()?;
            let has = |other: &&Other| other.registry.get(&other.place.base.join(rest)).is_some();
            if let Some(other) = others.iter().find(has) {
                return Some(other.place.base.clone());
            }
        }
        None
    }

    /// Returns the base of a store that is nearer to a path than this one, and that can have written it: in a repository that is
    /// no home only files of the other scope are its own.
    fn nearer_store<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let place = &self.store.place;
        let is_store = |above: &&Path| {
            let can_be = || place.scope == Scope::Repository || !disk::is_there(&above.join(".git"));
            let store = above.join(STORE);
            disk::is_there(&store.join("manifest.json")) && (can_be() || disk::is_there(&store.join("shiftlog")))
        };
        path.ancestors().skip(1).take_while(|above| *above != place.base).find(is_store)
    }

    /// Returns the home with a store that a path outside of this place is in. That home would not find out who has written there.
    pub(super) fn home_of<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if path.starts_with(&self.store.place.base) { None } else { self.nearer_store(path) }
    }

    /// Says whether a file of a repository is as the commit that is checked out has it: then a pull or a checkout can have put it
    /// there, as another has generated it. An edit that was committed is in the history of the repository.
    pub(super) fn is_committed(&self, path: &Path, bytes: &[u8]) -> bool {
        let place = &self.store.place;
        if place.scope != Scope::Repository {
            return false;
        }
        let head = self.head.get_or_init(|| {
            let repo = Repository::open(&place.base).ok()?;
            let commit_id = repo.head().ok()?.commit_id?;
            Some((repo, commit_id))
        });
        let (Some((repo, commit_id)), Ok(below)) = (head, path.strip_prefix(&place.base)) else { return false };
        let known = repo.blob_at(*commit_id, BStr::new(below.as_os_str().as_bytes()));
        known.is_ok_and(|known| known.is_some() && known == repo.blob_id(bytes))
    }

    /// Does the same for all files of a copy of a skill.
    pub(super) fn is_copy_committed(&self, path: &Path) -> bool {
        let is_committed = |(below, node): (&PathBuf, &Node)| match node {
            Node::Directory => true,
            Node::File { bytes, .. } => self.is_committed(&path.join(below), bytes),
            _ => false,
        };
        self.store.place.scope == Scope::Repository && disk::tree(path).is_ok_and(|tree| tree.iter().all(is_committed))
    }

    /// Says whether a backup of this place has what was at a path before, and it is not back.
    fn is_saved(&mut self, path: &Path) -> bool {
        self.saved().get(path) == Some(&true)
    }

    pub(super) fn saved(&mut self) -> &BTreeMap<PathBuf, bool> {
        self.saved.get_or_insert_with(|| backup::saved(&self.store.place))
    }

    pub(super) fn stays_for_another(&mut self, path: &Path) {
        let shown = self.store.place.shown(path);
        let warning = match (self.other(path), self.home_of(path)) {
            (Some(base), _) => {
                format!("    Warning: the rules of '{}' have written '{shown}'; it stays", base.display())
            }
            (None, Some(home)) => {
                format!("    Warning: '{shown}' is left to the rules of '{}', the home that it is in", home.display())
            }
            (None, None) => format!("    Warning: nobody has written down who generated '{shown}'; it stays"),
        };
        // Two agents can have rules at one path.
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Returns the home and the repository that a directory is, but for `place` itself, if they have written anything.
fn others(place: &Place, top: &Path) -> Vec<Other> {
    let git_dir = || {
        let file = top.join(".git");
        if disk::is_directory(&file) {
            return Some(file);
        }
        Some(top.join(disk::text(&file).ok()??.strip_prefix("gitdir:")?.trim()))
    };
    let home = Place::of_home(top).ok();
    let repository = git_dir().and_then(|git_dir| Place::of_repository(top, &git_dir, &place.home).ok());
    let is_other = |other: &Place| {
        let is_own = other.scope == place.scope && disk::is_same(&other.base, &place.base);
        !is_own && disk::is_there(&Registry::path(other))
    };
    let read = |place: Place| Some(Other { registry: Registry::read(&place).ok()?, place });
    [home, repository].into_iter().flatten().filter(is_other).filter_map(read).collect()
}
