//! Homes that share one store by symbolic links: each has a registry, a journal and backups of its own in it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::STORE;
use crate::git::private;
use crate::managed::disk;

/// The most homes that share a store.
const MAX_HOMES: usize = 100;
/// How much of a file is read to find whose it is.
const MAX_HEAD_BYTES: u64 = 32 << 10;

/// Returns the directory of the registry of a home: the first one in its store that is its own, or else the first one that is
/// of no other home which shares the store.
pub fn state(base: &Path) -> PathBuf {
    let first = base.join(STORE).join("shiftlog");
    if !disk::is_there(&first) {
        return first;
    }
    let others = (2..=MAX_HOMES).map(|number| first.join(format!("home-{number}")));
    let mut free = None;
    for state in std::iter::once(first.clone()).chain(others) {
        match owner(&state) {
            Some(owner) if owner == base => return state,
            Some(owner) if shares(&owner, base) => {}
            _ => free = free.or(Some(state)),
        }
    }
    free.unwrap_or(first)
}

/// Says whether another home has the same store as a home.
fn shares(other: &Path, base: &Path) -> bool {
    other.is_absolute() && !disk::is_same(other, base) && disk::is_same(&other.join(STORE), &base.join(STORE))
}

/// Returns the base that the registry in a directory names, or the journal if there is no registry yet.
fn owner(state: &Path) -> Option<PathBuf> {
    let registry = state.join("registry.json");
    if disk::is_there(&registry) { base_in(&registry) } else { base_in(&state.join("journal.json")) }
}

/// Returns the base that a file of ours names, in its first bytes.
fn base_in(path: &Path) -> Option<PathBuf> {
    let file = private::open_no_link(path).ok().filter(is_regular)?;
    let mut head = Vec::new();
    file.take(MAX_HEAD_BYTES).read_to_end(&mut head).ok()?;
    let (_, value) = head.split_at_checked(head.windows(KEY.len()).position(|window| window == KEY)? + KEY.len())?;
    serde_json::Deserializer::from_slice(value).into_iter::<PathBuf>().next()?.ok()
}

/// The key of the base, which is the first one of a journal and the second one of a registry.
const KEY: &[u8] = b"\"base\":";

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}
