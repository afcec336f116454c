//! Copies of skills: directories as values, told from each other and made of steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::apply::{Step, stamp};
use super::disk::Node;
use crate::error::Result;
use crate::managed::file::digest;

/// The file that makes a directory a copy of a skill.
pub const META: &str = ".sync-meta";

/// What is below a directory, by the path from there.
pub type Tree = BTreeMap<PathBuf, Node>;

/// Returns a digest of all paths and contents of a copy, except `.sync-meta`.
pub fn tree_digest(tree: &Tree) -> String {
    let parts = tree.iter().filter(|(path, _)| *path != Path::new(META));
    let lines: String = parts.map(|(path, node)| format!("{}\0{}\0", path.display(), stamp(node))).collect();
    digest(lines.as_bytes())
}

/// Returns the steps after which a directory has what is in `tree`; now it has what is in `there`. `is_there` says whether
/// the directory is there.
pub fn tree_steps(top: &Path, there: &Tree, tree: &Tree, is_there: bool) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let is_gone = |path: &PathBuf, node: &Node| match tree.get(path) {
        None => true,
        Some(other) => (*other == Node::Directory) != (*node == Node::Directory),
    };
    for (path, node) in there.iter().rev().filter(|(path, node)| is_gone(path, node)) {
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
