//! What a command that was interrupted has done, where it cannot be finished: the home was copied, or moved to another file
//! system. The registry is written last, so it knows nothing of that yet.

use std::path::Path;

use super::Place;
use super::registry::{Entry, Original, Owned, Registry};
use super::tree::{META, Meta, tree_digest};
use crate::error::Result;
use crate::git::private;
use crate::managed::Step;
use crate::managed::disk::{self, Node};
use crate::managed::step::stamp;

/// Writes down what is at the paths of an interrupted command, as far as it has got, so that a `clean` takes it back. `planned`
/// is the registry that it would have written after `steps`, with paths of this place; `base` is where it ran, and `is_own` says
/// that this was here.
///
/// A store that came from elsewhere can name any path. It is believed no more than its registry: what is named outside of
/// this place is left out, and so is what does not look as if it was written.
///
/// # Errors
///
/// If the registry cannot be read or written.
pub fn write_down(place: &Place, base: &Path, is_own: bool, steps: &[Step], planned: &Registry) -> Result<()> {
    let mut registry = Registry::read(place)?;
    let before = registry.clone();
    registry.entries.retain(|path, entry| planned.entries.contains_key(path) || !is_back(path, entry));
    for (path, entry) in &planned.entries {
        let known = place.own(path, is_own).zip(entry.clone().here(place));
        let Some((path, entry)) = known.filter(|(path, entry)| is_done(place, base, path, entry)) else { continue };
        registry.entries.insert(path, entry);
    }
    for (path, entry) in registry.entries.iter_mut().filter(|(_, entry)| entry.owned == Owned::Tree) {
        entry.digest = part_of_copy(steps, path).unwrap_or_else(|| entry.digest.clone());
    }
    for directory in planned.directories.iter().filter_map(|directory| place.own(directory, is_own)) {
        if disk::is_directory(&directory) && !registry.directories.contains(&directory) {
            registry.directories.push(directory);
        }
    }
    registry.directories.sort();
    registry.copied_from(place, base);
    if registry == before {
        return Ok(());
    }
    private::write(&Registry::path(place), &registry.to_bytes(place))
}

/// Says whether the interrupted command has written an entry: our file, link or copy is at the path, or nothing is there because
/// the original was moved to the backup.
fn is_done(place: &Place, base: &Path, path: &Path, entry: &Entry) -> bool {
    match (entry.owned, disk::observe(path)) {
        (_, Ok(Node::Absent)) => entry.original != Original::Absent,
        (Owned::Link, Ok(Node::Link(target))) => {
            [base, &place.base].iter().any(|base| target.starts_with(base.join(super::STORE)))
        }
        // A part of a copy; what was there before was moved away.
        (Owned::Tree, Ok(Node::Directory)) => match &entry.original {
            Original::Directory { kept } => disk::is_there(kept),
            _ => true,
        },
        _ => entry.is_at(path),
    }
}

/// Returns the digest of a part of a copy, if it has nothing but what the steps write there, replace or were to remove.
fn part_of_copy(steps: &[Step], top: &Path) -> Option<String> {
    let tree = disk::tree(top).ok()?;
    let is_of_step = |path: &Path, node: &Node| {
        let at = top.join(path);
        steps.iter().filter(|step| step.paths()[0] == at).any(|step| match (step, node) {
            (Step::Write { before, .. }, Node::File { bytes, .. }) => step.has_written(bytes) || *before == stamp(node),
            (Step::Remove { before, .. }, node) => *before == stamp(node),
            (Step::Link { .. }, Node::Link(_)) => true,
            _ => false,
        })
    };
    // An update leaves the mark as it is.
    let is_mark = |path: &Path, node: &Node| path == Path::new(META) && matches!(Meta::of(node), Meta::Of { .. });
    let is_ours = |path: &Path, node: &Node| *node == Node::Directory || is_mark(path, node) || is_of_step(path, node);
    let is_ours = tree.iter().all(|(path, node)| is_ours(path, node));
    is_ours.then(|| tree_digest(&tree))
}

/// Says whether what was at a path before is there again.
fn is_back(path: &Path, entry: &Entry) -> bool {
    match (&entry.original, disk::observe(path)) {
        (Original::Absent, Ok(Node::Absent)) => true,
        (Original::File { kept, .. }, Ok(node @ Node::File { .. })) => {
            disk::observe(kept).is_ok_and(|kept| kept == node)
        }
        (Original::Link { target, .. }, Ok(Node::Link(there))) => *target == there,
        (Original::Directory { kept }, Ok(Node::Directory)) => !disk::is_there(kept),
        _ => false,
    }
}
