//! Homes that share one store by symbolic links: each has a registry, a journal and backups of its own in it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::STORE;
use crate::git::private;
use crate::managed::disk;

/// How much of a file is read to find whose it is. The base and its identity are among the first keys.
const MAX_HEAD_BYTES: u64 = 32 << 10;

/// Returns the directory of the registry of a home: the one in its store that is its own, or else the first one that is of no
/// home. A store inside of a home has one registry, which is moved and copied with it; in a store that homes share by links
/// each home is known by its path, or else by its identity, since it can be moved while another one is looking.
pub fn state(base: &Path) -> PathBuf {
    let store = base.join(STORE);
    let first = store.join("shiftlog");
    if !disk::is_there(&first) {
        return first;
    }
    let is_shared = store.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let states: Vec<PathBuf> = std::iter::once(first.clone()).chain(further(&first)).collect();
    let identity = disk::identity(base);
    let is_own = |owner: &Owner| owner.base == base;
    let is_moved = |owner: &Owner| owner.identity.is_some() && owner.identity == identity && !shares(&owner.base, base);
    let owners: Vec<Option<Owner>> = states.iter().map(|state| owner(state)).collect();
    let find = |is_wanted: &dyn Fn(&Owner) -> bool| {
        owners.iter().position(|owner| owner.as_ref().is_some_and(is_wanted)).map(|at| states[at].clone())
    };
    if let Some(state) = find(&is_own).or_else(|| find(&is_moved)) {
        return state;
    }
    let is_of_another = |owner: &Owner| is_shared || shares(&owner.base, base);
    // What cannot be read is of a home that is not known.
    let is_free = |at: &usize| match &owners[*at] {
        Some(owner) => !is_of_another(owner),
        None => !is_shared || !is_used(&states[*at]),
    };
    let free = (0..states.len()).find(is_free).map(|at| states[at].clone());
    free.unwrap_or_else(|| {
        let mut numbers = 2..;
        let next = numbers.find_map(|number: usize| {
            let state = first.join(format!("{FURTHER}{number}"));
            (!disk::is_there(&state)).then_some(state)
        });
        next.unwrap_or(first)
    })
}

/// How the directories of the second home and the further ones begin.
const FURTHER: &str = "home-";

/// Returns the directories of the second home and the further ones, in their order.
fn further(first: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(first).into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix(FURTHER)?.parse::<usize>().ok();
    let mut states: Vec<(usize, PathBuf)> =
        entries.filter_map(|entry| Some((number(&entry.path())?, entry.path()))).collect();
    states.sort();
    states.into_iter().map(|(_, path)| path).collect()
}

/// Says whether another home has the same store as a home.
fn shares(other: &Path, base: &Path) -> bool {
    other.is_absolute() && !disk::is_same(other, base) && disk::is_same(&other.join(STORE), &base.join(STORE))
}

/// The home that a registry is of.
struct Owner {
    base: PathBuf,
    identity: Option<String>,
}

/// Says whether there is a registry or a journal in a directory.
fn is_used(state: &Path) -> bool {
    ["registry.json", "journal.json"].iter().any(|name| disk::is_there(&state.join(name)))
}

/// Returns the home that the registry in a directory names, or the journal if there is no registry yet.
fn owner(state: &Path) -> Option<Owner> {
    let registry = state.join("registry.json");
    if disk::is_there(&registry) { owner_in(&registry) } else { owner_in(&state.join("journal.json")) }
}

/// Returns the home that a file of ours names, in its first bytes.
fn owner_in(path: &Path) -> Option<Owner> {
    let file = private::open_no_link(path).ok().filter(is_regular)?;
    let mut head = Vec::new();
    file.take(MAX_HEAD_BYTES).read_to_end(&mut head).ok()?;
    let base = value(&head, b"\"base\":")?;
    Some(Owner { base, identity: value(&head, b"\"identity\":") })
}

/// Returns the first value of a key, of which the beginning of a file has no other.
fn value<T: serde::de::DeserializeOwned>(head: &[u8], key: &[u8]) -> Option<T> {
    let (_, value) = head.split_at_checked(head.windows(key.len()).position(|window| window == key)? + key.len())?;
    serde_json::Deserializer::from_slice(value).into_iter::<T>().next()?.ok()
}

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}
