//! Writing loose objects.
//!
//! Small objects are collected in memory while a ref's new commit is built, and written together right before the ref
//! moves. They are stored uncompressed: trees and commits are mostly ids, which do not compress, and segments are
//! compressed already. Setting up a deflater takes longer than writing the file.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gix::objs::Kind as ObjectKind;

use super::{ObjectId, Repository, gix_error};
use crate::error::{Error, Result};

/// The longest block of a deflate stream that is stored as it is; RFC 1951, section 3.2.4.
const MAX_STORED_BYTES: usize = 0xffff;

impl Repository {
    /// Writes a blob and returns its id.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`](crate::error::Kind::Storage) when the disk is full or read-only.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<ObjectId> {
        let id = gix::objs::compute_hash(self.null_id().kind(), ObjectKind::Blob, bytes)
            .map_err(|error| gix_error("cannot write an object", &error))?;
        self.write_loose(id, ObjectKind::Blob, bytes)?;
        Ok(id)
    }

    /// Returns the file of a loose object of at most `max_bytes` if the object cannot be unpacked; Git fails at such a file.
    pub fn damaged_file(&self, id: ObjectId, max_bytes: u64) -> Option<PathBuf> {
        let is_whole = match self.gix().try_find_header(id) {
            Ok(Some(header)) => header.size() > max_bytes || self.gix().find_object(id).is_ok(),
            Ok(None) => true,
            Err(_) => false,
        };
        let file = self.loose_file(id);
        // A file that cannot be read now may be whole.
        (!is_whole && file.is_file() && std::fs::read(&file).is_ok()).then_some(file)
    }

    /// Says whether an object of at most `max_bytes` is not here, or is the file of a loose object that cannot be unpacked. In a
    /// partial clone any object may be somewhere else, so none is.
    pub fn is_lost(&self, id: ObjectId, max_bytes: u64) -> bool {
        let is_nowhere = || matches!(self.gix().try_find_header(id), Ok(None));
        !self.is_partial() && (is_nowhere() || self.damaged_file(id, max_bytes).is_some())
    }

    /// Returns where the file of an object is if it is loose.
    fn loose_file(&self, id: ObjectId) -> PathBuf {
        let hex = id.to_string();
        self.gix().objects.store_ref().path().join(&hex[..2]).join(&hex[2..])
    }

    /// Drops the objects that were collected in memory.
    pub(super) fn discard_objects(&self) {
        self.gix().objects.reset_object_memory();
    }

    /// Writes the objects that were collected in memory, each after the objects it names: after a crash, no object names a
    /// missing one.
    ///
    /// # Errors
    ///
    /// As [`Repository::write_blob`].
    pub(super) fn write_objects(&self) -> Result<()> {
        let Some(mut objects) = self.gix().objects.reset_object_memory() else { return Ok(()) };
        let commits: Vec<ObjectId> =
            objects.iter().filter(|(_, (kind, _))| *kind == ObjectKind::Commit).map(|(id, _)| *id).collect();
        let trees: Vec<ObjectId> = objects.keys().filter(|id| !commits.contains(id)).copied().collect();
        for id in trees.into_iter().chain(commits) {
            self.write_after_its_entries(&mut objects, id)?;
        }
        Ok(())
    }

    fn write_after_its_entries(&self, objects: &mut gix::odb::memory::Storage, id: ObjectId) -> Result<()> {
        let Some((kind, bytes)) = objects.remove(&id) else { return Ok(()) };
        if kind == ObjectKind::Tree {
            for entry in gix::objs::TreeRefIter::from_bytes(&bytes, id.kind()).flatten() {
                self.write_after_its_entries(objects, entry.oid.to_owned())?;
            }
        }
        self.write_loose(id, kind, &bytes)
    }

    fn write_loose(&self, id: ObjectId, kind: ObjectKind, bytes: &[u8]) -> Result<()> {
        let objects = self.gix().objects.store_ref().path().to_owned();
        let hex = id.to_string();
        let (directory, path) = (objects.join(&hex[..2]), objects.join(&hex[..2]).join(&hex[2..]));
        // An object that is in a pack is written again, and 'git gc' removes it. To be sure that it is in no pack, gix
        // would look for new packs each time.
        if is_freshened(&path) {
            return Ok(());
        }
        let fail = |error| Error::io("write", &path, error);
        // 'git gc' removes old files with this prefix.
        let mut builder = tempfile::Builder::new();
        builder.prefix("tmp_obj_");
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o444));
        let mut file = builder.tempfile_in(&objects).map_err(fail)?;
        file.write_all(&stored(kind, bytes)).map_err(fail)?;
        let mut temporary = file.into_temp_path();
        let mut attempts = 0;
        loop {
            let Err(error) = temporary.persist(&path) else { return Ok(()) };
            // The directory does not exist yet, or 'git gc' has removed it because it was empty.
            attempts += 1;
            if error.error.kind() != std::io::ErrorKind::NotFound || attempts > 8 {
                return Err(fail(error.error));
            }
            match std::fs::create_dir(&directory) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(fail(error)),
                _ => temporary = error.path,
            }
        }
    }
}

/// Sets the time of an object's file to now, as Git does: 'git gc' deletes old objects that no ref reaches yet. Returns
/// whether the file exists and has the new time.
fn is_freshened(path: &Path) -> bool {
    File::open(path).and_then(|file| file.set_modified(SystemTime::now())).is_ok()
}

/// Returns the file of a loose object: a zlib stream (RFC 1950) of stored blocks.
fn stored(kind: ObjectKind, bytes: &[u8]) -> Vec<u8> {
    let mut object = format!("{kind} {}\0", bytes.len()).into_bytes();
    object.extend_from_slice(bytes);
    let mut file = Vec::with_capacity(object.len() + object.len() / MAX_STORED_BYTES * 5 + 16);
    file.extend([0x78, 0x01]);
    let mut blocks = object.chunks(MAX_STORED_BYTES).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        file.push(u8::from(blocks.peek().is_none()));
        file.extend(length.to_le_bytes());
        file.extend((!length).to_le_bytes());
        file.extend_from_slice(block);
    }
    file.extend(adler2::adler32_slice(&object).to_be_bytes());
    file
}
