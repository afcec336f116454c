//! Packing again without some objects.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gix::odb::pack;

use super::{ObjectId, Repository, fault_point, git, private};
use crate::error::Result;

/// The files of a pack. The objects go first: whoever is killed then leaves nothing of them, and Git passes over an index without
/// its pack.
const PARTS: [&str; 5] = ["pack", "idx", "rev", "bitmap", "mtimes"];
/// Files that keep a pack as it is: `.keep` is a user's wish, and of `.promisor` Git needs each object.
const KEPT: [&str; 2] = ["keep", "promisor"];
/// The index of several packs, and what belongs to it; all of it is a cache.
const INDEX_OF_PACKS: &str = "multi-pack-index";
/// A file that nobody has written to for so long is of a program that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// How deep directories of temporary objects are looked into.
const MAX_DEPTH: usize = 3;

impl Repository {
    /// Packs everything again that is in a pack with one of these objects, but for the objects themselves. Packs with a `.keep`
    /// file, those of a partial clone's remote and borrowed ones stay.
    ///
    /// The new packs are there before the old ones go, and no removed object is written anywhere, not even into a temporary
    /// file: `git repack` would make all unreachable ones loose first.
    ///
    /// # Errors
    ///
    /// If a pack cannot be removed, or `git pack-objects` fails.
    pub(super) fn pack_without(&self, ids: &[ObjectId]) -> Result<()> {
        let gone: HashSet<ObjectId> = ids.iter().copied().collect();
        let directory = self.objects_directory().join("pack");
        let mut replaced = Vec::new();
        for index in with_extension(&directory, "idx") {
            if KEPT.iter().any(|kept| index.with_extension(kept).exists()) || !index.with_extension("pack").exists() {
                continue;
            }
            // Git passes over an index that it cannot read, and a 'git gc' may have removed it.
            let Ok(file) = pack::index::File::at(&index, self.null_id().kind()) else { continue };
            let (left_out, rest): (Vec<_>, Vec<_>) =
                file.iter().map(|entry| entry.oid).partition(|id| gone.contains(id));
            if left_out.is_empty() {
                continue;
            }
            if !rest.is_empty() {
                let input: String = rest.iter().map(|id| format!("{id}\n")).collect();
                let prefix = directory.join("pack");
                let pack_objects =
                    git(["pack-objects".as_ref(), "-q".as_ref(), "--delta-base-offset".as_ref(), prefix.as_os_str()]);
                pack_objects.repository(self).input(input.into_bytes()).capture()?;
            }
            replaced.push(index);
        }
        fault_point("objects-packed");
        if replaced.is_empty() {
            return Ok(());
        }
        let had_index = self.forget_index_of_packs(&directory)?;
        for index in &replaced {
            PARTS.iter().try_for_each(|part| {
                private::remove(&index.with_extension(part))?;
                fault_point("pack-removed");
                Ok(())
            })?;
        }
        if had_index {
            // Without packs there is nothing to write; the next 'git maintenance' makes up for another failure.
            let _ = git([INDEX_OF_PACKS, "write"]).repository(self).capture();
        }
        Ok(())
    }

    /// Removes the index of several packs. Says whether there was one.
    fn forget_index_of_packs(&self, directory: &Path) -> Result<bool> {
        let is_of_index = |path: &PathBuf| name(path).starts_with(INDEX_OF_PACKS) && !name(path).ends_with(".lock");
        let files = entries(directory).filter(is_of_index).collect::<Vec<_>>();
        for path in &files {
            // It is a cache; of a chain of several, the parts are in a directory.
            if fs::remove_dir_all(path).is_err() {
                private::remove(path)?;
            }
        }
        Ok(!files.is_empty())
    }

    /// Removes temporary files in the object database that killed programs have left: an object that was being written can be
    /// read from them. Returns what may still be written to, because it changed within the last day, and packs without an index,
    /// which a user may want to index.
    ///
    /// # Errors
    ///
    /// If one cannot be removed.
    pub fn remove_left_objects(&self) -> Result<Vec<PathBuf>> {
        let objects = self.objects_directory();
        let directories = entries(&objects).filter(|path| path.is_dir()).collect::<Vec<_>>();
        let inside = directories.iter().filter(|path| !name(path).starts_with("tmp_")).flat_map(|path| entries(path));
        let mut left = Vec::new();
        for path in entries(&objects).chain(inside) {
            let name = name(&path);
            let is_pack = path.extension().is_some_and(|extension| extension == "pack");
            // Git reads a pack of any name that has an index: it may have the only copy of what is in it.
            let is_read = path.with_extension("idx").exists();
            let is_temporary = name.starts_with("tmp_") || (name.starts_with(".tmp") && !is_read);
            if is_temporary && is_old(&path, MAX_DEPTH) {
                if std::fs::remove_dir_all(&path).is_err() {
                    private::remove(&path)?;
                }
            } else if is_temporary || (is_pack && !is_read) {
                left.push(path);
            }
        }
        left.sort();
        Ok(left)
    }

    /// Says whether some pack of this repository must stay as it is, or other repositories lend it objects.
    pub fn has_kept_packs(&self) -> bool {
        let objects = self.objects_directory();
        objects.join("info/alternates").exists() || !with_extension(&objects.join("pack"), "keep").is_empty()
    }

    /// Returns the directory of objects, also for a program that runs in another one.
    pub(super) fn objects_directory(&self) -> PathBuf {
        let path = self.gix().objects.store_ref().path();
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
    }

    /// Says whether no object may be removed, as others may borrow them: `extensions.preciousObjects`.
    pub fn has_precious_objects(&self) -> bool {
        self.config_bool("extensions.preciousObjects") == Some(true)
    }
}

/// Says whether a file, or all files of a directory, have not been written to for [`LEFT_AFTER`].
fn is_old(path: &Path, depth: usize) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age > LEFT_AFTER)
        && (!path.is_dir() || (depth > 0 && entries(path).all(|path| is_old(&path, depth - 1))))
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn with_extension(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        entries(directory).filter(|path| path.extension().is_some_and(|there| there == extension)).collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
