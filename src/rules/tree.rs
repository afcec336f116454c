//! Copies of skills: directories as values, told from each other and made of steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Place;
use crate::error::{Error, Result};
use crate::managed::Step;
use crate::managed::disk::{self, Node};
use crate::managed::file::digest;
use crate::managed::step::stamp;

/// The file that makes a directory a copy of a skill.
pub const META: &str = ".sync-meta";

/// The largest file that can say that a directory is a copy. Others can have made it, and values take more memory than text.
const MAX_META_BYTES: usize = 64 << 10;

/// The members of that file.
const META_KEYS: &[&str] = &["source", "synced_at", "sync_mode"];

/// The state of `.sync-meta` in a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Meta {
    Absent,
    /// The file, as one of the tools writes it.
    Of {
        /// Whether it is the earlier tool, which puts spaces between the members, and no line end behind them.
        is_earlier_tool: bool,
    },
    /// Something of a user's.
    Users,
}

impl Meta {
    /// Returns what is in a directory.
    pub fn at(top: &Path) -> Self {
        disk::observe(&top.join(META)).map_or(Meta::Users, |node| Meta::of(&node))
    }

    /// Says what something is that was seen there.
    pub fn of(node: &Node) -> Self {
        let bytes = match node {
            Node::Absent => return Meta::Absent,
            Node::File { bytes, .. } if bytes.len() <= MAX_META_BYTES => bytes,
            _ => return Meta::Users,
        };
        let meta: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let is_known = |key: &String| META_KEYS.contains(&key.as_str());
        match meta.as_object() {
            Some(members) if meta["source"].is_string() && members.keys().all(is_known) => {
                Meta::Of { is_earlier_tool: meta_text(&meta).as_bytes() != *bytes }
            }
            _ => Meta::Users,
        }
    }
}

/// Says whether a directory has the mark of a copy, of this or of the earlier tool.
pub fn is_marked(directory: &Path) -> bool {
    matches!(Meta::at(directory), Meta::Of { .. })
}

/// Returns the file that makes a directory a copy.
pub fn meta_text(meta: &Value) -> String {
    format!("{meta}\n")
}

/// Returns the source that such a file names; `None` if it names none.
pub fn source_in(meta: &Node) -> Option<String> {
    let Node::File { bytes, .. } = meta else { return None };
    if bytes.len() > MAX_META_BYTES {
        return None;
    }
    let meta: Value = serde_json::from_slice(bytes).unwrap_or_default();
    meta["source"].as_str().map(str::to_owned)
}

/// The files and links below a directory, by the path from there.
pub type Tree = BTreeMap<PathBuf, Node>;

/// Returns everything below the directory of a skill, as a copy elsewhere has it: in the place of a link that leads out of
/// the directory stands what it leads to, since from another place it would lead elsewhere. Links that stay inside, and
/// those that lead nowhere, are kept.
///
/// # Errors
///
/// As [`disk::tree`]; and in a repository, if a link leads out of its store.
pub fn whole_tree(place: &Place, top: &Path) -> Result<Tree> {
    let mut tree = disk::tree(top)?;
    let mut links: Vec<PathBuf> = Vec::new();
    links.extend(tree.iter().filter(|(_, node)| matches!(node, Node::Link(_))).map(|(path, _)| path.clone()));
    if links.is_empty() {
        return Ok(tree);
    }
    let base = top.canonicalize().map_err(|error| Error::io("read", top, error))?;
    while let Some(path) = links.pop() {
        let Ok(resolved) = top.join(&path).canonicalize() else { continue };
        if resolved.starts_with(&base) {
            continue;
        }
        place.check_inside(&resolved)?;
        let node = disk::observe(&resolved)?;
        if node == Node::Directory {
            let is_endless = base.starts_with(&resolved) || path.components().count() > disk::MAX_DEPTH;
            if is_endless || tree.len() > disk::MAX_ENTRIES {
                let link = top.join(&path);
                return Err(Error::other(format!("'{}' is a link that cannot be copied", link.display())));
            }
            for (below, node) in disk::tree(&resolved)? {
                let path = path.join(below);
                if let Node::Link(_) = node {
                    links.push(path.clone());
                }
                tree.insert(path, node);
            }
        }
        if node != Node::Other {
            tree.insert(path, node);
        }
    }
    Ok(tree)
}

/// Returns what copies of a skill have, but for the file that makes a directory a copy.
///
/// # Errors
///
/// As [`whole_tree`].
pub fn skill_tree(place: &Place, top: &Path) -> Result<Tree> {
    let mut tree = whole_tree(place, top)?;
    tree.retain(|path, _| !path.starts_with(META));
    Ok(tree)
}

/// Returns a digest of all paths and contents of a copy, except `.sync-meta`.
pub fn tree_digest(tree: &Tree) -> String {
    let parts = tree.iter().filter(|(path, _)| *path != Path::new(META));
    let lines: String = parts.map(|(path, node)| format!("{}\0{}\0", path.display(), stamp(node))).collect();
    digest(lines.as_bytes())
}

/// Says whether two copies have the same paths and contents, and the same files that can be run, except `.sync-meta`. Other
/// permissions depend on who has made a copy.
pub fn has_same(one: &Tree, other: &Tree) -> bool {
    let is_run = |mode: &u32| mode & 0o100 != 0;
    let is_same = |one: &Node, other: &Node| match (one, other) {
        (Node::File { bytes: one, mode }, Node::File { bytes: other, mode: there }) => {
            is_run(mode) == is_run(there) && one == other
        }
        _ => one == other,
    };
    let is_content = |path: &Path| path != Path::new(META);
    let mut parts = one.iter().filter(|(path, _)| is_content(path));
    let mut others = other.iter().filter(|(path, _)| is_content(path));
    loop {
        match (parts.next(), others.next()) {
            (None, None) => return true,
            (Some((path, node)), Some((at, there))) if path == at && is_same(node, there) => {}
            _ => return false,
        }
    }
}

/// Returns the steps after which a directory has what is in `tree`; now it has what is in `there`. `is_there` says whether
/// the directory is there.
pub fn tree_steps(top: &Path, there: &Tree, tree: &Tree, is_there: bool) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let is_gone = |path: &PathBuf, node: &Node| match tree.get(path) {
        None => true,
        Some(other) => (*other == Node::Directory) != (*node == Node::Directory),
    };
    // What makes it a copy goes last: what is left, if something cannot be removed, is the rest of a copy then.
    let is_meta = |path: &Path| path == Path::new(META);
    let (metas, rest): (Vec<_>, Vec<_>) = there.iter().rev().partition(|(path, _)| is_meta(path));
    for (path, node) in rest.into_iter().chain(metas).filter(|(path, node)| is_gone(path, node)) {
        let path = top.join(path);
        steps.push(match node {
            Node::Directory => Step::RemoveDirectory { path },
            node => Step::Remove { path, before: stamp(node) },
        });
    }
    if !is_there {
        steps.push(Step::MakeDirectory { path: top.to_owned() });
    }
    for (path, node) in tree.iter().filter(|(path, node)| there.get(*path) != Some(*node)) {
        let before = there.get(path).filter(|node| **node != Node::Directory).unwrap_or(&Node::Absent);
        let path = top.join(path);
        match node {
            Node::Directory => steps.push(Step::MakeDirectory { path }),
            Node::File { bytes, mode } => steps.push(Step::write(path, bytes, Some(*mode), before)?),
            Node::Link(target) => steps.push(Step::link(path, target.clone(), before)),
            Node::Absent | Node::Other => {}
        }
    }
    Ok(steps)
}
