//! Reading objects: blobs by their ids and by their paths, one or many.

use std::collections::HashSet;

use bstr::{BStr, ByteSlice as _};
use gix::odb::pack::Find as _;

use super::{MAX_OBJECT_BYTES, ObjectId, Repository, git, gix_error, names};
use crate::error::{Error, Kind, Result};

/// The size of the cache of delta bases; see [`Repository::reopened_for_many`].
const BASES_BYTES: usize = 64 * 1024 * 1024;

/// Objects larger than this bypass gix's object cache, which copies even objects that it does not keep.
const CACHED_BYTES: u64 = 1024 * 1024;

/// For fewer objects, finding their places costs more than it saves.
const MIN_OBJECTS: usize = 32;

impl Repository {
    /// Says whether an object is in this repository. In a partial clone, a missing object may still be fetched.
    pub fn has_object(&self, id: ObjectId) -> bool {
        self.inner.has_object(id)
    }

    /// Returns those of many objects that are not in this repository.
    ///
    /// [`Repository::has_object`] looks for new packs for each missing object; this function looks once for all of them.
    pub fn absent(&self, ids: Vec<ObjectId>) -> HashSet<ObjectId> {
        let among = |ids: Vec<ObjectId>| -> Vec<ObjectId> {
            let mut objects = self.inner.objects.clone();
            objects.refresh_never();
            ids.into_iter().filter(|id| !gix::objs::Exists::exists(&objects, id)).collect()
        };
        let packs = self.inner.objects.store_ref().path().join("pack");
        let written = || packs.metadata().and_then(|packs| packs.modified()).ok();
        let mut absent = ids;
        for _ in 0..2 {
            let before = written();
            // Asking for an object that cannot exist makes gix look for new packs.
            let _ = self.has_object(self.null_id());
            absent = among(absent);
            // If a pack was written, 'git gc' may have moved objects into it meanwhile.
            if written() == before {
                break;
            }
        }
        absent.into_iter().collect()
    }

    /// Returns the bytes of a blob of at most `max_bytes`.
    ///
    /// In a partial clone a blob that is not here is fetched by `git`, unless [`Repository::stay_offline`] was called.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if there is no such object, [`Kind::Corrupt`] if it is no blob or larger than allowed.
    pub fn read_blob(&self, blob_id: ObjectId, max_bytes: u64) -> Result<Vec<u8>> {
        let fail = |error: gix::Error| gix_error(format!("cannot read object '{blob_id}'"), &error);
        // The size is asked for first: a small file can hold an object of any size.
        let mut header = self.inner.try_find_header(blob_id).map_err(fail)?;
        if header.is_none() && self.is_partial() && !self.is_offline.get() {
            // To look at the object, Git fetches it.
            git(["cat-file", "-e", &blob_id.to_string()]).repository(self).capture()?;
            header = self.inner.try_find_header(blob_id).map_err(fail)?;
        }
        let missing = || Error::new(Kind::Missing, format!("object '{blob_id}' is missing"));
        let header = header.ok_or_else(missing)?;
        if header.kind() != gix::object::Kind::Blob {
            return Err(Error::new(Kind::Corrupt, format!("object '{blob_id}' is not a blob")));
        }
        if header.size() > max_bytes.min(MAX_OBJECT_BYTES) {
            return Err(Error::new(Kind::Corrupt, format!("object '{blob_id}' is too large: {} bytes", header.size())));
        }
        if header.size() > CACHED_BYTES {
            let (mut bytes, mut no_bases) = (Vec::new(), gix::odb::pack::cache::Never);
            // Not in a file: a new object in memory.
            let found = (**self.inner.objects).try_find_cached(&blob_id, &mut bytes, &mut no_bases).map_err(fail)?;
            if found.is_some() {
                return Ok(bytes);
            }
        }
        let object = self.inner.find_object(blob_id).map_err(fail)?;
        Ok(object.detach().data)
    }

    /// Opens the repository again with a cache of delta bases, for reading many objects once in the order of their packs:
    /// without the cache, gix unpacks a base again for each object that is a delta of it. Costs about a millisecond.
    ///
    /// # Errors
    ///
    /// As [`Repository::open`].
    pub fn reopened_for_many(&self) -> Result<Self> {
        let mut repo = Self::open_git_dir(self.git_dir())?;
        repo.keep_bases();
        repo.inner.objects.unset_object_cache();
        repo.is_offline.set(self.is_offline.get());
        Ok(repo)
    }

    /// Keeps delta bases in memory from now on, for reading many versions of a few files.
    pub fn keep_bases(&mut self) {
        self.inner
            .objects
            .set_pack_cache(|| Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(BASES_BYTES)));
    }

    /// Returns the bytes of many blobs, in the order asked for. `None` for a blob that does not fit into `max_bytes` with
    /// the others, or that cannot be read: reading it alone tells what is wrong with it.
    ///
    /// They are read in the order of their packs, where a delta base comes before its deltas.
    pub fn read_blobs(&self, blob_ids: &[ObjectId], max_bytes: usize) -> Vec<Option<Vec<u8>>> {
        let mut order: Vec<usize> = (0..blob_ids.len()).collect();
        let places = places(self, blob_ids);
        order.sort_by_key(|index| places[*index]);
        let mut blobs = vec![None; blob_ids.len()];
        let mut room = max_bytes;
        for index in order {
            blobs[index] = self.read_blob(blob_ids[index], room as u64).ok();
            room -= blobs[index].as_ref().map_or(0, Vec::len);
        }
        blobs
    }

    /// Sorts objects by their place in their packs, where a delta base comes before its deltas.
    pub fn sort_as_packed(&self, ids: &mut Vec<ObjectId>) {
        let places = places(self, ids);
        let mut placed: Vec<_> = places.into_iter().zip(ids.iter().copied()).collect();
        placed.sort_unstable();
        *ids = placed.into_iter().map(|(_, id)| id).collect();
    }

    /// Returns the blob at a path of a tree-ish commit; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If an object cannot be read.
    pub fn blob_at(&self, commit_id: ObjectId, path: &BStr) -> Result<Option<ObjectId>> {
        let fail = |error: gix::Error| gix_error(format!("cannot read the tree of '{commit_id}'"), &error);
        let tree_id = self.commit(commit_id)?.tree_id;
        let tree = self.gix().find_tree(tree_id).map_err(fail)?;
        let entry = tree.lookup_entry(path.split_str("/")).map_err(fail)?;
        Ok(entry.filter(|entry| entry.mode().is_blob()).map(|entry| entry.object_id()))
    }

    /// Returns the id of a blob with these bytes. Writes nothing.
    pub fn blob_id(&self, bytes: &[u8]) -> Option<ObjectId> {
        gix::objs::compute_hash(self.null_id().kind(), gix::object::Kind::Blob, bytes).ok()
    }
}

/// Returns for each object the number of its pack and its offset there; `None` for one that is in no pack of this
/// repository itself.
fn places(repo: &Repository, ids: &[ObjectId]) -> Vec<Option<(usize, u64)>> {
    let mut places = vec![None; ids.len()];
    if ids.len() < MIN_OBJECTS {
        return places;
    }
    for (number, index) in names::indexes(repo).iter().enumerate() {
        for (id, place) in ids.iter().zip(&mut places).filter(|(_, place)| place.is_none()) {
            *place = index.lookup(id).map(|at| (number, index.pack_offset_at_index(at)));
        }
    }
    places
}
