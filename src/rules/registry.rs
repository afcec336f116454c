//! The registry of everything that was written, with the first original of each path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::generate::stable_digest;
use super::tree::{META, tree_digest};
use super::{Place, STORE, block, generate};
use crate::error::{Error, Kind, Result};
use crate::managed::disk::{self, Modified, Node};

/// Our own file, link or copy at a path.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Owned {
    /// The whole file.
    Whole,
    /// A block of the file.
    Block,
    /// A link into the store.
    Link,
    /// A directory with a copy of a skill.
    Tree,
}

/// The original of a path: what was there before the first write.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Original {
    /// Nothing.
    Absent,
    /// A file, kept in a backup.
    File { kept: PathBuf, mode: u32 },
    /// A link.
    Link {
        target: PathBuf,
        /// When it was made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modified: Option<Modified>,
    },
    /// A directory, kept in a backup.
    Directory { kept: PathBuf },
}

impl Original {
    /// Returns the original with another path of what is kept of it; `None` if there is none.
    fn map_kept(self, change: impl Fn(PathBuf) -> Option<PathBuf>) -> Option<Self> {
        Some(match self {
            Original::File { kept, mode } => Original::File { kept: change(kept)?, mode },
            Original::Directory { kept } => Original::Directory { kept: change(kept)? },
            other => other,
        })
    }
}

/// A path that we have written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Entry {
    pub owned: Owned,
    /// The agent it is for.
    pub target: String,
    /// SHA-256 of what was written, without the lines that say which program wrote it and when; of a link, its target. What
    /// differs from it was edited by the user.
    pub digest: String,
    pub original: Original,
}

impl Entry {
    /// Says whether what was written is still at a path, unchanged.
    pub fn is_at(&self, path: &Path) -> bool {
        match (self.owned, disk::observe(path)) {
            (Owned::Whole, Ok(Node::File { bytes, .. })) => {
                let is_generated = generate::is_generated(&bytes);
                is_generated && stable_digest(&bytes) == self.digest
            }
            (Owned::Block, Ok(Node::File { bytes, .. })) => {
                block::split(&bytes).is_some_and(|split| stable_digest(split.block) == self.digest)
            }
            (Owned::Link, Ok(Node::Link(target))) => {
                let leads_into_store = target.iter().any(|part| part == STORE);
                leads_into_store && *target.display().to_string() == *self.digest
            }
            (Owned::Tree, Ok(Node::Directory)) => {
                disk::is_there(&path.join(META)) && disk::tree(path).is_ok_and(|tree| tree_digest(&tree) == self.digest)
            }
            _ => false,
        }
    }

    /// Returns the entry, if what is kept of its original is in the backups of a place.
    pub fn here(self, place: &Place) -> Option<Self> {
        let original = self.original.map_kept(|kept| place.own_backup(&kept))?;
        Some(Entry { original, ..self })
    }

    /// Returns the entry with other paths.
    fn map_paths(self, change: impl Fn(&Path) -> PathBuf) -> Self {
        let original = self.original.clone().map_kept(|kept| Some(change(&kept)));
        Entry { original: original.unwrap_or(Original::Absent), ..self }
    }
}

/// The version of the format. Version 1 had absolute paths, and did not say whose.
const VERSION: u32 = 2;

/// The registry of a store.
///
/// In memory all paths are absolute. In the file those below the base are relative to it, and those of backups to the
/// directory of backups, so that a store that is moved or copied with its base speaks of its own files. Other paths belong to
/// the base that the file names; what another base has written elsewhere is left alone.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Registry {
    /// The version of the format.
    version: u32,
    /// The base of the place that wrote the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<PathBuf>,
    /// The identity of that base, which it keeps when it is moved; see [`disk::identity`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    /// The bases that this one is a copy of. Nothing is written there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    elsewhere: BTreeSet<PathBuf>,
    /// Our files, links and copies, by path.
    #[serde(default)]
    pub entries: BTreeMap<PathBuf, Entry>,
    /// The directories that were made, outermost first.
    #[serde(default)]
    pub directories: Vec<PathBuf>,
    /// The digests of user's files whose text was taken into the store.
    #[serde(default)]
    pub imported: BTreeMap<PathBuf, String>,
    /// The links that the user let us write through, and where they led.
    #[serde(default)]
    pub followed: BTreeMap<PathBuf, PathBuf>,
    /// The paths that the file names and that are not this place's.
    #[serde(skip)]
    pub dropped: Vec<PathBuf>,
    /// The base that wrote the file, if that is this one before it was moved.
    #[serde(skip)]
    pub moved_from: Option<PathBuf>,
}

/// Says whether the rules of a working tree, whose Git directory this is, have replaced files that nobody has put back yet. A
/// registry that cannot be read may name some.
pub fn has_originals(git_dir: &Path) -> bool {
    let path = git_dir.join("shiftlog/rules/registry.json");
    let read = |text: Option<String>| text.map(|text| serde_json::from_str::<Registry>(&text));
    match disk::text(&path).map(read) {
        Ok(None) => false,
        Ok(Some(Ok(registry))) => registry.entries.values().any(|entry| entry.original != Original::Absent),
        Ok(Some(Err(_))) | Err(_) => true,
    }
}

impl Registry {
    /// Returns the registry of a store that has written nothing.
    pub fn empty() -> Self {
        Registry { version: VERSION, ..Registry::default() }
    }

    /// Returns the file.
    pub fn path(place: &Place) -> PathBuf {
        place.state.join("registry.json")
    }

    /// Reads the registry of a store; an empty one, if nothing was written.
    ///
    /// # Errors
    ///
    /// If it is there but is none of ours.
    pub fn read(place: &Place) -> Result<Self> {
        let path = Self::path(place);
        let how =
            "if you move the file away, what is generated is found again, and originals are looked for in the backups";
        let corrupt = || Error::new(Kind::Corrupt, format!("cannot read '{}'", path.display())).hint(how);
        let Some(text) = disk::text(&path).map_err(|error| error.hint(how))? else { return Ok(Registry::empty()) };
        let registry: Registry = serde_json::from_str(&text).map_err(|error| corrupt().because(error))?;
        match registry.version {
            1 | VERSION => Ok(registry.at(place)),
            _ => Err(corrupt().because("it is of a newer version")),
        }
    }

    /// Returns what a file says about a place: absolute paths, without those that are not the place's.
    fn at(self, place: &Place) -> Self {
        let is_here = self.base.as_ref().is_some_and(|base| *base == place.base);
        // Another name of this base, or that of before a move. A registry of somebody else's can name such a base, too.
        let is_moved = self.base.as_ref().is_some_and(|base| disk::is_same(base, &place.base) || !disk::is_there(base));
        let own = |path: &Path| place.own(path, is_here);
        let moved_from = self.base.clone().filter(|base| is_moved && !is_here && base.is_absolute());
        let mut here = Registry { elsewhere: self.elsewhere, moved_from, ..Registry::empty() };
        here.elsewhere.retain(|base| !disk::is_same(base, &place.base));
        if let Some(base) = &self.base {
            here.copied_from(place, base);
        }
        let mut entries = Vec::with_capacity(self.entries.len());
        for (path, entry) in self.entries {
            let own = own(&path).or_else(|| place.own(&path, is_moved && entry.is_at(&path)));
            match own.zip(entry.here(place)) {
                Some(known) => entries.push(known),
                None => here.dropped.push(path),
            }
        }
        here.entries = entries.into_iter().collect();
        // One elsewhere is known by what is in it.
        let own_directory = |path: &Path| {
            let has_written = || here.entries.keys().any(|written| written.starts_with(path));
            own(path).or_else(|| place.own(path, is_moved && has_written()))
        };
        here.directories = self.directories.iter().filter_map(|path| own_directory(path)).collect();
        let imported = self.imported.into_iter().filter_map(|(path, digest)| Some((own(&path)?, digest)));
        here.imported = imported.collect();
        // Where it led to a file that the home has written before it was moved, it still does.
        let own_end = |end: &Path| {
            let is_written = || here.entries.keys().any(|path| path.starts_with(end));
            own(end).or_else(|| place.own(end, is_moved && is_written()))
        };
        let followed = self.followed.iter().filter_map(|(path, end)| Some((own(path)?, own_end(end)?)));
        here.followed = followed.collect();
        here
    }

    /// Returns the registry as it is written.
    pub fn to_bytes(&self, place: &Place) -> Vec<u8> {
        let below = |top: &Path, path: &Path| match path.strip_prefix(top) {
            Ok(rest) if rest != Path::new("") => rest.to_owned(),
            _ => path.to_owned(),
        };
        let of_base = |path: &PathBuf| below(&place.base, path);
        let entry = |(path, entry): (&PathBuf, &Entry)| {
            let original = entry.original.clone().map_kept(|kept| Some(below(&place.backups, &kept)))?;
            Some((of_base(path), Entry { original, ..entry.clone() }))
        };
        let written = Registry {
            version: VERSION,
            base: Some(place.base.clone()),
            identity: disk::identity(&place.base),
            elsewhere: self.elsewhere.clone(),
            entries: self.entries.iter().filter_map(entry).collect(),
            directories: self.directories.iter().map(of_base).collect(),
            imported: self.imported.iter().map(|(path, digest)| (of_base(path), digest.clone())).collect(),
            followed: self.followed.iter().map(|(path, end)| (of_base(path), of_base(end))).collect(),
            dropped: Vec::new(),
            moved_from: None,
        };
        let mut bytes = serde_json::to_vec(&written).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Returns the registry with other paths.
    pub fn map_paths(self, change: impl Fn(&Path) -> PathBuf) -> Self {
        let path = |path: PathBuf| change(&path);
        Registry {
            entries: self.entries.into_iter().map(|(at, entry)| (path(at), entry.map_paths(&change))).collect(),
            directories: self.directories.into_iter().map(path).collect(),
            imported: self.imported.into_iter().map(|(at, digest)| (path(at), digest)).collect(),
            followed: self.followed.into_iter().map(|(link, end)| (path(link), path(end))).collect(),
            ..self
        }
    }

    /// Notes that a place is a copy of another base, if that is there.
    pub fn copied_from(&mut self, place: &Place, base: &Path) {
        if base.is_absolute() && disk::is_directory(base) && !disk::is_same(base, &place.base) {
            self.elsewhere.insert(base.to_owned());
        }
    }

    /// Says whether a path is below a base that this one is a copy of.
    pub fn is_elsewhere(&self, place: &Place, path: &Path) -> bool {
        let is_own = |base: &PathBuf| path.starts_with(&place.base) && place.base.starts_with(base);
        self.elsewhere.iter().any(|base| path.starts_with(base) && !is_own(base))
    }

    /// Returns what is known of a path.
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(path)
    }
}
