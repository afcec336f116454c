//! Symbolic links on the way to agents' files, and directories of Git's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::super::registry::{Entry, Original, Owned};
use super::super::{Scope, is_gits};
use super::Planner;
use crate::managed::disk::{self, Node};

impl Planner<'_> {
    /// Returns the path to write for a path: itself, or where links lead if these may be followed; `None` if nothing is
    /// written there. `is_link` says whether a link is at the path; `None` if that does not matter.
    pub(super) fn real(&mut self, path: &Path, is_link: Option<bool>) -> Option<PathBuf> {
        let has_final = is_link.is_some();
        let itself = || (is_link == Some(true)).then(|| path.to_owned());
        let real = match self.link_above(path).or_else(itself) {
            None => path.to_owned(),
            // The link itself is replaced.
            Some(link) if self.ways.is_forced && !self.ways.follows && link == path => path.to_owned(),
            Some(link) => self.followed(path, &link, has_final)?,
        };
        if self.has_no_room(&real) {
            return None;
        }
        if self.is_in_gits(&real) {
            self.leave(path, "is in a directory of Git's, where nothing is written", None);
            return None;
        }
        Some(real)
    }

    /// Returns where a path leads of which one component is a link, if the link may be followed.
    fn followed(&mut self, path: &Path, link: &Path, has_final: bool) -> Option<PathBuf> {
        let resolved =
            if has_final && disk::is_there(path) { path.canonicalize().ok() } else { disk::real_above(path) };
        let is_known = resolved.is_some() && self.registry.followed.get(path) == resolved.as_ref();
        match resolved {
            Some(resolved) if self.store.has(&resolved) => self.leave(link, "is a link into the store", None),
            Some(resolved) if !self.store.place.allows(&resolved) => {
                let why = match self.store.place.scope {
                    Scope::Home => "is a symbolic link that leads into a directory of Git's",
                    Scope::Repository => "is a symbolic link that leads out of the working tree",
                };
                self.leave(link, why, None);
            }
            Some(resolved) if self.ways.follows || is_known => {
                self.registry.followed.insert(path.to_owned(), resolved.clone());
                return Some(resolved);
            }
            Some(_) => self.leave(link, "is a symbolic link; --follow writes to where it leads", None),
            None => {
                let how = "make what it leads to, or remove it, and run the command again";
                self.leave(link, "is a symbolic link that leads nowhere", Some(how));
            }
        }
        None
    }

    /// Returns the first link on the way from the base to what a path is in. Outside of the base all links count but those in
    /// the root directory, such as '/tmp' and '/home' on some systems.
    pub(super) fn link_above(&mut self, path: &Path) -> Option<PathBuf> {
        let base = &self.store.place.base;
        let first: PathBuf = path.components().take(2).collect();
        let base = if path.starts_with(base) { base } else { &first };
        let above = path.parent().unwrap_or(base);
        if !self.plain.contains(above) {
            let mut here = base.clone();
            for part in path.strip_prefix(base).ok()?.parent().unwrap_or(Path::new("")) {
                here.push(part);
                if here.is_symlink() {
                    return Some(here);
                }
            }
            self.plain.insert(above.to_owned());
        }
        None
    }

    /// Says whether something that is no directory is where a path needs one. It is left as it is.
    pub(super) fn has_no_room(&mut self, path: &Path) -> bool {
        let above = path.ancestors().skip(1).find(|above| disk::is_there(above));
        let Some(above) = above.filter(|above| !above.is_dir()).map(Path::to_owned) else { return false };
        if self.registry.get(&above).is_some() {
            // It goes, if it is not wanted any more.
            return false;
        }
        self.leave(&above, "is in the place of a directory", Some("move it away, and run the command again"));
        true
    }

    /// Says whether a path is in a directory of Git's.
    pub(super) fn is_in_gits(&mut self, path: &Path) -> bool {
        let Some(above) = path.parent().filter(|above| *above != self.store.place.base) else { return false };
        if let Some(is_in) = self.gits.get(above) {
            return *is_in;
        }
        let is_in = is_gits(above) || self.is_in_gits(above);
        self.gits.insert(above.to_owned(), is_in);
        is_in
    }

    /// Where links may be followed: has the registry know what was written below a directory by where it is now that the
    /// directory has become a link.
    pub(super) fn follow_entries(&mut self) {
        if !self.ways.follows {
            return;
        }
        let paths: Vec<PathBuf> = self.registry.entries.keys().cloned().collect();
        let mut ends: Vec<PathBuf> = Vec::new();
        for path in paths {
            let Some(end) = self.end_of(&path) else {
                if let Some(end) = self.end_of_text(&path) {
                    self.follow_entry(&path, &end);
                    self.registry.followed.insert(path, end);
                }
                continue;
            };
            if self.registry.entries.contains_key(&end) || self.is_in_gits(&end) {
                continue;
            }
            let is_ours = self.registry.get(&path).cloned().is_some_and(|entry| self.is_moved_to(&entry, &end));
            let Some(entry) = self.registry.entries.remove(&path) else { continue };
            if is_ours || !disk::is_there(&end) {
                self.registry.entries.insert(end.clone(), entry);
                self.moved.push((path, end.clone()));
                ends.extend(is_ours.then_some(end));
            } else {
                let (path, end) = (self.store.place.shown(&path), self.store.place.shown(&end));
                let what = "is not of ours; what was there before the first sync stays in the backup";
                self.warnings.push(format!("    Warning: '{path}' leads to '{end}' now, which {what}"));
            }
        }
        let directories = std::mem::take(&mut self.registry.directories);
        for directory in directories {
            let end = self.end_of(&directory).filter(|end| ends.iter().any(|below| below.starts_with(end)));
            self.registry.directories.push(end.unwrap_or(directory));
        }
    }

    /// Updates the registry after the user has renamed a directory to which a followed link led, and has made the link anew: the
    /// entries get the paths where the link leads now.
    pub(super) fn follow_moved(&mut self) {
        let mut folders: Vec<(PathBuf, PathBuf)> = Vec::new();
        let mut ends: HashMap<PathBuf, PathBuf> = HashMap::new();
        let mut gone: Vec<(PathBuf, PathBuf, PathBuf)> = Vec::new();
        for (path, end) in self.registry.followed.clone() {
            // The link can have led to another's files meanwhile.
            let end = match self.registry.get(&end) {
                None if !ends.contains_key(&end) => self.away_like(&path).unwrap_or(end),
                _ => end,
            };
            let entry = self.registry.get(&end).cloned();
            if disk::is_there(&end) || entry.is_none() && !ends.contains_key(&end) {
                continue;
            }
            // A skill can be a link of ours.
            let is_text = entry.as_ref().is_none_or(is_text);
            let now = if is_text && path.is_symlink() { path.canonicalize().ok() } else { self.end_of(&path) };
            let Some(now) = now.filter(|now| self.store.place.allows(now) && !self.store.has(now)) else { continue };
            if ends.get(&end) == Some(&now) {
                // Another link that leads there.
                self.registry.followed.insert(path, now);
                continue;
            }
            let Some(entry) = entry.filter(|_| !self.is_in_gits(&now)) else { continue };
            // A command that was killed can have put it back before, or removed it.
            match disk::observe(&now) {
                Ok(Node::Absent) if entry.original == Original::Absent => {
                    gone.push((path, end, now));
                    continue;
                }
                Ok(node) if self.is_original(&node, &entry) => {
                    folders.extend(folders_that_differ(&end, &now));
                    self.settle_followed(&path, end);
                    continue;
                }
                _ if !self.is_moved_to(&entry, &now) => continue,
                _ => {}
            }
            self.registry.entries.remove(&end);
            self.registry.entries.insert(now.clone(), entry);
            self.registry.followed.insert(path, now.clone());
            folders.extend(folders_that_differ(&end, &now));
            ends.insert(end.clone(), now.clone());
            self.moved.push((end, now));
        }
        // Something else shows that this folder was moved there.
        for (path, end, now) in gone {
            if folders_that_differ(&end, &now).is_some_and(|pair| folders.contains(&pair)) {
                self.settle_followed(&path, end);
            }
        }
        self.move_directories(&folders);
    }

    /// Returns the path of the only entry with the file name of a link whose directory is away; `None` if there are none or several.
    fn away_like(&self, link: &Path) -> Option<PathBuf> {
        let is_away = |path: &&PathBuf| {
            path.file_name() == link.file_name() && path.parent().is_some_and(|above| !disk::is_there(above))
        };
        let mut found = self.registry.entries.keys().filter(is_away);
        found.next().filter(|_| found.next().is_none()).cloned()
    }

    /// Removes the entry of a path where a followed link led, since nothing of ours is left of it.
    fn settle_followed(&mut self, link: &Path, end: PathBuf) {
        self.registry.entries.remove(&end);
        self.registry.followed.remove(link);
        self.settled.insert(end);
    }

    /// Says whether the generated file or skill of an entry may have been moved to a path. It has not if another home or repository
    /// has that path in its registry.
    fn is_moved_to(&mut self, entry: &Entry, to: &Path) -> bool {
        // An equal copy of a skill can be another's.
        let is_ours = self.has_ours(to) || !disk::is_directory(to) && entry.is_at(to);
        is_ours
            && !self.registry.entries.contains_key(to)
            && !self.registry.is_elsewhere(&self.store.place, to)
            && self.other(to).is_none()
            && self.home_of(to).is_none()
    }

    /// Updates the paths of the directories that we made below folders which were moved.
    fn move_directories(&mut self, folders: &[(PathBuf, PathBuf)]) {
        for directory in &mut self.registry.directories {
            let mut moved = folders.iter().filter_map(|(from, to)| Some(to.join(directory.strip_prefix(from).ok()?)));
            if let Some(now) = moved.find(|now| disk::is_directory(now) && !disk::is_there(directory)) {
                *directory = now;
            }
        }
    }

    /// Has the registry know what was written where a link has led by the path of that link, if the user has put it back there.
    pub(super) fn return_entries(&mut self) {
        let mut folders: Vec<(PathBuf, PathBuf)> = Vec::new();
        for (path, end) in self.registry.followed.clone() {
            let entry = self.registry.get(&end).cloned();
            // A skill can be a link of ours.
            let is_link = path.is_symlink() && !entry.as_ref().is_some_and(|entry| entry.is_at(&path));
            if is_link || !disk::is_there(&path) {
                continue;
            }
            // The link can have been in a folder that is followed, too.
            let is_below_link = self.link_above(&path).is_some();
            let here = if is_below_link { disk::real_above(&path) } else { Some(path.clone()) };
            let may_be_written = |here: &PathBuf| self.store.place.allows(here) && !self.store.has(here);
            let Some(here) = here.filter(|here| *here != end && may_be_written(here)) else { continue };
            // If both end alike, the link leads to another folder now, which has originals of its own.
            if is_below_link && (!disk::is_there(&end) || folders_that_differ(&end, &here).is_some()) {
                continue;
            }
            let Some(entry) = entry.filter(|entry| self.is_moved_to(entry, &here)) else { continue };
            match is_below_link {
                true => drop(self.registry.followed.insert(path.clone(), here.clone())),
                false => drop(self.registry.followed.remove(&path)),
            }
            if disk::is_there(&end) {
                // A copy of the user's in the place of the link, as an editor makes it. It can have an edit.
                let original = match entry.original.clone() {
                    Original::Directory { .. } => Original::Absent,
                    original => original,
                };
                self.registry.entries.insert(here, Entry { original, ..entry });
                continue;
            }
            self.registry.entries.remove(&end);
            self.registry.entries.insert(path.clone(), entry);
            folders.extend(folders_that_differ(&end, &path));
            self.moved.push((end, path));
        }
        self.move_directories(&folders);
    }

    /// Returns where a text of ours is that the user has moved, with a link in its place; `None` if that is not so, or if nothing may
    /// be written there.
    pub(super) fn end_of_text(&mut self, path: &Path) -> Option<PathBuf> {
        if !path.is_symlink() || !self.registry.get(path).is_some_and(is_text) {
            return None;
        }
        let end = path.canonicalize().ok()?;
        let may_be_written = self.store.place.allows(&end) && !self.store.has(&end) && !self.is_in_gits(&end);
        let entry = self.registry.get(path).cloned()?;
        (may_be_written && self.has_ours(&end) && self.is_moved_to(&entry, &end)).then_some(end)
    }

    /// Has the registry know what was written at a path, where the user has put a link since that is followed to `end` from now
    /// on: what the user has moved there is ours still, and anything else is not. The link stays.
    pub(super) fn follow_entry(&mut self, path: &Path, end: &Path) {
        let Some(entry) = self.registry.entries.remove(path) else { return };
        if self.is_moved_to(&entry, end) {
            self.registry.entries.insert(end.to_owned(), entry);
            self.moved.push((path.to_owned(), end.to_owned()));
        } else if entry.original != Original::Absent {
            let shown = self.store.place.shown(path);
            let what = "is a link of yours now; what was there before the first sync stays in the backup";
            self.warnings.push(format!("    Warning: '{shown}' {what}"));
        }
    }

    /// Returns where a path is that has a link above it, if something may be written there.
    fn end_of(&mut self, path: &Path) -> Option<PathBuf> {
        self.link_above(path)?;
        disk::real_above(path).filter(|end| self.store.place.allows(end) && !self.store.has(end))
    }
}

fn is_text(entry: &Entry) -> bool {
    matches!(entry.owned, Owned::Whole | Owned::Block)
}

/// Returns the folders in which two paths end alike; `None` if they end in different names.
fn folders_that_differ(one: &Path, other: &Path) -> Option<(PathBuf, PathBuf)> {
    let (mut one, mut other) = (one, other);
    let is_alike = |one: &Path, other: &Path| one.file_name().is_some() && one.file_name() == other.file_name();
    if !is_alike(one, other) {
        return None;
    }
    while is_alike(one, other) {
        (one, other) = (one.parent()?, other.parent()?);
    }
    Some((one.to_owned(), other.to_owned()))
}
