//! The registry of everything that was written, with the first original of each path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Place, generate};
use crate::error::{Error, Kind, Result};
use crate::managed::disk::{self, Modified};
use crate::managed::file::digest;

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

/// The registry of a store.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Registry {
    /// The version of the format: 1.
    pub version: u32,
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
}

impl Registry {
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
        let Some(text) = disk::text(&path)? else { return Ok(Registry { version: 1, ..Registry::default() }) };
        let corrupt = || {
            let how = "if you move the file away, what is generated is found again, and originals are looked for in the backups";
            Error::new(Kind::Corrupt, format!("cannot read '{}'", path.display())).hint(how)
        };
        let registry: Registry = serde_json::from_str(&text).map_err(|error| corrupt().because(error))?;
        if registry.version == 1 { Ok(registry) } else { Err(corrupt().because("it is of a newer version")) }
    }

    /// Returns the registry as it is written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Returns what is known of a path.
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(path)
    }
}

/// Returns the digest of a generated text, whoever wrote it and when.
pub fn stable_digest(bytes: &[u8]) -> String {
    digest(&generate::stable(bytes))
}
