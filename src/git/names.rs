//! Abbreviating many object ids as Git does, with one look at the disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gix::odb::pack::index::File as Index;
use gix::prelude::ObjectIdExt as _;

use super::{ObjectId, Repository};

/// The smallest number of digits that Git chooses by itself.
const MIN_DIGITS: usize = 7;

/// Shortens ids. Reads pack indexes and directories of loose objects once, when first needed.
pub struct Names<'r> {
    repo: &'r Repository,
    indexes: Vec<Index>,
    loose: HashMap<u8, Vec<String>>,
    /// The number of digits of an unambiguous id; `None` if gix has to shorten each id.
    digits: Option<usize>,
    /// The number of digits that were asked for.
    least: usize,
}

impl Repository {
    /// Returns a shortener for many ids; `core.abbrev` says how short.
    pub fn names(&self) -> Names<'_> {
        self.names_with(None)
    }

    /// Returns a shortener for many ids, which leaves at least `digits` of each; `core.abbrev` says how short without.
    pub fn names_with(&self, digits: Option<usize>) -> Names<'_> {
        let indexes = indexes(self);
        let packed: u64 = indexes.iter().map(|index| u64::from(index.num_objects())).sum();
        // As many digits as keep the odds of a clash low; find_unique_abbrev() in Git's object-name.c.
        let automatic = ((64 - packed.leading_zeros()) as usize).div_ceil(2).max(MIN_DIGITS);
        let hex_digits = self.null_id().kind().len_in_hex();
        let wanted = digits.map(|digits| digits.to_string()).or_else(|| self.config_string("core.abbrev"));
        let wanted = wanted.unwrap_or_default();
        let chosen = match wanted.as_str() {
            "" | "auto" => automatic,
            "no" | "off" | "false" => hex_digits,
            number => number.parse().unwrap_or(automatic).clamp(4, hex_digits),
        };
        let least = digits.unwrap_or_default().min(hex_digits);
        // Objects of an alternate repository can make an id ambiguous too.
        let borrows = self.common_dir().join("objects/info/alternates").exists();
        Names { repo: self, indexes, loose: HashMap::new(), digits: (!borrows).then_some(chosen), least }
    }
}

impl Names<'_> {
    /// Returns the shortest name of `id` that is unique here.
    pub fn shorten(&mut self, id: ObjectId) -> String {
        let full = id.to_string();
        let Some(digits) = self.digits else {
            let short = id.attach(self.repo.gix()).shorten_or_id().to_string();
            return if short.len() < self.least { full[..self.least].to_owned() } else { short };
        };
        (digits..full.len())
            .find(|digits| !self.is_ambiguous(id, &full, *digits))
            .map_or(full.clone(), |digits| full[..digits].to_owned())
    }

    /// Says whether another object's id begins with the same digits.
    fn is_ambiguous(&mut self, id: ObjectId, full: &str, digits: usize) -> bool {
        let Ok(prefix) = gix::hash::Prefix::new(&id, digits) else { return false };
        let in_packs = self.indexes.iter().any(|index| match index.lookup_prefix(prefix, None) {
            Some(Ok(at)) => index.oid_at_index(at) != id,
            Some(Err(())) => true,
            None => false,
        });
        let objects = self.repo.common_dir().join("objects");
        let first = id.as_bytes()[0];
        let loose = self.loose.entry(first).or_insert_with(|| names_in(&objects.join(&full[..2])));
        let rest = &full[2..digits];
        in_packs || loose.iter().any(|name| name.starts_with(rest) && *name != full[2..])
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns the indexes of the packs of this repository itself.
pub(super) fn indexes(repo: &Repository) -> Vec<Index> {
    let entries = std::fs::read_dir(repo.common_dir().join("objects/pack")).into_iter().flatten().flatten();
    let is_index = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "idx");
    let paths = entries.map(|entry| entry.path()).filter(is_index);
    paths.filter_map(|path| Index::at(path, repo.null_id().kind()).ok()).collect()
}
