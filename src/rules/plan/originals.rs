//! Originals: the file, link or directory that a path had before the first write, and its place in the backup.

use std::path::{Path, PathBuf};

use super::super::backup;
use super::super::block;
use super::super::generate;
use super::super::registry::{Entry, Original, Owned};
use super::super::report::Change;
use super::Planner;
use crate::error::{Error, Result};
use crate::managed::Step;
use crate::managed::disk::{self, Modified, Node};

impl Planner<'_> {
    /// Forgets the folders that the user has moved back out of the backup: they are the user's again.
    pub(super) fn forget_what_is_back(&mut self) {
        let is_back = |(path, entry): &(&PathBuf, &Entry)| match &entry.original {
            Original::Directory { kept } => {
                // It can be a copy of another store's.
                !disk::is_there(kept) && disk::is_directory(path) && !self.is_copy(path)
            }
            _ => false,
        };
        let back: Vec<PathBuf> = self.registry.entries.iter().filter(is_back).map(|(path, _)| path.clone()).collect();
        for path in back {
            self.registry.entries.remove(&path);
            self.settled.insert(path);
        }
    }

    /// Puts what is at a path into the backup, and returns it as an original. A directory is moved there by a step.
    pub(super) fn keep(&mut self, path: &Path, node: &Node, is_original: bool) -> Original {
        let what = match node {
            Node::Absent | Node::Other => return Original::Absent,
            Node::File { bytes, mode } => backup::What::File { bytes: bytes.clone(), mode: *mode },
            Node::Link(target) => backup::What::Link { target: target.clone() },
            Node::Directory => backup::What::Moved,
        };
        let kept = self.backup.add(path, what, is_original);
        match node {
            Node::File { mode, .. } => Original::File { kept, mode: *mode },
            Node::Link(target) => Original::Link { target: target.clone(), modified: disk::modified(path) },
            _ => {
                self.steps.push(Step::Move { from: path.to_owned(), to: kept.clone() });
                Original::Directory { kept }
            }
        }
    }

    /// Returns what was seen at a path that gets text, or had it. A path that we have written and can no longer read was
    /// changed by the user: with force it is planned to move to the backup (returns `Node::Absent`), otherwise it is reported
    /// as drift (`None`).
    pub(super) fn as_written(&mut self, path: &Path, seen: Result<Node>) -> Option<Node> {
        if seen.is_ok() || self.registry.get(path).is_none() || !disk::is_there(path) {
            return self.as_free(path, seen);
        }
        if !self.ways.is_forced {
            self.drifted(path, "changed since it was written, and cannot be read");
            return None;
        }
        let kept = self.backup.add(path, backup::What::Moved, false);
        self.steps.push(Step::Move { from: path.to_owned(), to: kept });
        self.changes.push(Change { path: path.to_owned(), action: "move", before: None, after: None });
        Some(Node::Absent)
    }

    /// Returns what was seen at a path that we have not written. What cannot be read is left as it is (`None`).
    pub(super) fn as_free(&mut self, path: &Path, seen: Result<Node>) -> Option<Node> {
        let why = match seen {
            Ok(node) => return Some(node),
            Err(error) => format!("is left as it is: {error}"),
        };
        self.leave(path, &why, Some("move it away, and run the command again"));
        None
    }

    /// Keeps the user's part of a file that has a block. `can_be_absent` says that without it there need not be a file.
    pub(super) fn keep_users(&mut self, path: &Path, users: Vec<u8>, mode: u32, can_be_absent: bool) -> Original {
        if users.is_empty() && can_be_absent {
            return Original::Absent;
        }
        let known = self.registry.get(path).map_or_else(|| self.earlier_original(path), |it| Ok(it.original.clone()));
        let known = known.ok();
        // The time of the file is that of the block, unless the user has changed the text around it.
        let modified = known.filter(|known| self.bytes_of(known).is_ok_and(|bytes| bytes == users));
        let modified = modified.and_then(|known| self.modified_of(&known));
        let original = self.keep(path, &Node::File { bytes: users, mode }, true);
        if let (Some(saved), Some(_)) = (self.backup.saved.last_mut(), modified) {
            saved.modified = modified;
        }
        original
    }

    /// Returns what was at a path before an earlier tool wrote there.
    pub(super) fn earlier_original(&self, path: &Path) -> Result<Original> {
        let is_original = |kept: &Path, can_have_block: bool| match disk::observe(kept) {
            Ok(Node::File { bytes, .. }) => {
                !generate::is_generated(&bytes) && (can_have_block || !block::is_in(&bytes))
            }
            Ok(Node::Link(target)) => !self.store.has(&target),
            _ => false,
        };
        // A file that had a block of ours when the earlier tool replaced it is a user's text only where nothing else is.
        let original = |can_have_block| self.earlier_kept(path, |kept| is_original(kept, can_have_block));
        match original(false).or_else(|| original(true)) {
            Some(kept) => {
                let original = as_original(kept.clone())?;
                let has_block = matches!(disk::observe(&kept), Ok(Node::File { bytes, .. }) if block::is_in(&bytes));
                Ok(if has_block && self.bytes_of(&original)?.is_empty() { Original::Absent } else { original })
            }
            None => Ok(Original::Absent),
        }
    }

    /// Returns the backup of a path from before an earlier tool wrote there, among those that `is_original` accepts. The earlier
    /// tool writes through links and names backups by the path of the link; of those the newest is taken, since the link may
    /// have led to another file before.
    pub(super) fn earlier_kept(&self, path: &Path, is_original: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let place = &self.store.place;
        let through =
            |link: &Path| backup::newest_of_earlier_tool(place, link, |kept| !kept.is_symlink() && is_original(kept));
        let links = || self.registry.followed.iter().filter(|(_, end)| *end == path).map(|(link, _)| link);
        backup::original(place, path, &is_original).or_else(|| links().find_map(|link| through(link)))
    }

    /// Returns the user's text beside a block of ours, with the mode of the file, where the earlier tool has replaced the whole
    /// file since and has kept it; `None` if the text is that of the original.
    pub(super) fn users_beside(&self, path: &Path, entry: &Entry, there: &[u8]) -> Result<Option<(Vec<u8>, u32)>> {
        if entry.owned != Owned::Block || block::is_in(there) || !generate::is_of_earlier_tool(there) {
            return Ok(None);
        }
        let users_in = |kept: &Path| match disk::observe(kept) {
            Ok(Node::File { bytes, mode }) => block::split(&bytes)
                .filter(|split| generate::stable_digest(split.block) == entry.digest)
                .map(|split| (split.users(), mode)),
            _ => None,
        };
        let kept = backup::newest_of_earlier_tool(&self.store.place, path, |kept| users_in(kept).is_some());
        let users = kept.and_then(|kept| users_in(&kept));
        let original = self.bytes_of(&entry.original)?;
        Ok(users.filter(|(users, _)| !users.is_empty() && *users != original))
    }

    /// Returns when an original was changed last; `None` if it was no file.
    pub(super) fn modified_of(&self, original: &Original) -> Option<Modified> {
        let Original::File { kept, .. } = original else { return None };
        match self.backup.saved.iter().find(|saved| saved.kept == *kept) {
            Some(planned) => planned.modified,
            None => disk::modified(kept),
        }
    }

    /// Says whether what was there before is back: the user has put it there, or the earlier tool.
    pub(super) fn is_original(&self, node: &Node, entry: &Entry) -> bool {
        match (node, &entry.original) {
            (Node::File { bytes, .. }, Original::File { .. }) => {
                self.bytes_of(&entry.original).is_ok_and(|kept| kept == *bytes)
            }
            (Node::Link(there), Original::Link { target, .. }) => there == target && !self.store.has(there),
            _ => false,
        }
    }

    /// Returns the bytes of an original; none, if it was no file.
    pub(super) fn bytes_of(&self, original: &Original) -> Result<Vec<u8>> {
        let Original::File { kept, .. } = original else { return Ok(Vec::new()) };
        let planned = self.backup.saved.iter().find(|saved| saved.kept == *kept);
        if let Some(backup::What::File { bytes, .. }) = planned.map(|saved| &saved.what) {
            return Ok(bytes.clone());
        }
        match disk::observe(kept)? {
            // The earlier tool keeps what it replaces with a block of ours in it.
            Node::File { bytes, .. } => Ok(block::without(&bytes)),
            _ => Err(Error::other(format!("cannot restore: the backup '{}' is gone", kept.display()))),
        }
    }
}

/// Returns something in a backup as an original.
pub(super) fn as_original(kept: PathBuf) -> Result<Original> {
    Ok(match disk::observe(&kept)? {
        Node::File { mode, .. } => Original::File { kept, mode },
        Node::Link(target) => Original::Link { target, modified: disk::modified(&kept) },
        Node::Directory => Original::Directory { kept },
        Node::Absent | Node::Other => Original::Absent,
    })
}
