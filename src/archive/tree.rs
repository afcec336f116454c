//! The archive's tree: `<two hex digits>/<agent>~<session>/<number>-<beginning of the blob id>.zst`.

use std::collections::{HashMap, HashSet};

use bstr::ByteSlice as _;
use sha2::{Digest as _, Sha256};

use super::{Archive, MAX_CHAIN, hex};
use crate::error::{Error, Kind, Result};
use crate::git::{EntryBudget, ObjectId, Tip};
use crate::transcript::SessionKey;

impl Archive<'_> {
    /// Returns the paths and ids of the segments that the archive tree `after` has and `before` lacks. Does not read
    /// subtrees that are equal.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn added(&self, before: ObjectId, after: ObjectId) -> Result<Vec<(String, ObjectId)>> {
        let mut found = Vec::new();
        let mut budget = EntryBudget::new();
        // Each tree is read once; looking up single entries would unpack it each time.
        let by_name = |tree_id: Option<ObjectId>, budget: &mut EntryBudget| -> Result<HashMap<String, ObjectId>> {
            Ok(tree_id.map_or_else(|| Ok(Vec::new()), |tree_id| self.subtrees(tree_id, budget))?.into_iter().collect())
        };
        let directories_before = by_name(Some(before), &mut budget)?;
        for (directory, after) in self.subtrees(after, &mut budget)? {
            let before = directories_before.get(&directory).copied();
            if before == Some(after) {
                continue;
            }
            let sessions_before = by_name(before, &mut budget)?;
            for (session, after) in self.subtrees(after, &mut budget)? {
                let before = sessions_before.get(&session).copied();
                if before == Some(after) {
                    continue;
                }
                let known = before.map_or_else(|| Ok(Vec::new()), |before| self.files(before, &mut budget))?;
                let known: HashSet<(String, ObjectId)> = known.into_iter().collect();
                let new = self.files(after, &mut budget)?.into_iter().filter(|file| !known.contains(file));
                found.extend(new.map(|(name, id)| (format!("{directory}/{session}/{name}"), id)));
            }
        }
        Ok(found)
    }

    /// Returns those of the [`added`](Archive::added) paths that no archive of ours would have: files that are no segments
    /// of the session in whose directory they are, and files beyond `MAX_CHAIN` in one directory.
    ///
    /// Reads each segment. A segment of a newer version counts as one of the session; in a partial clone, where
    /// segments are fetched when they are read, all do.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn misplaced(&self, before: ObjectId, after: ObjectId) -> Result<Vec<String>> {
        let is_partial = self.repo.is_partial();
        let is_of_its_session = |path: &str, id: ObjectId| match self.header(id) {
            _ if is_partial => true,
            Ok(header) => is_path_of(path, &SessionKey::new(&header.agent, &header.session), id),
            Err(error) => error.kind() != Kind::Corrupt,
        };
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut misplaced = Vec::new();
        for (path, id) in self.added(before, after)? {
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let count = match counts.get_mut(directory) {
                Some(count) => count,
                None => {
                    let here = self.entries_in(before, directory)?.len();
                    counts.entry(directory.to_owned()).or_insert(here)
                }
            };
            if *count < MAX_CHAIN && is_of_its_session(&path, id) {
                *count += 1;
            } else {
                misplaced.push(path);
            }
        }
        Ok(misplaced)
    }

    /// Returns a tree with segments added at their paths and the paths `gone` removed. The segments may be objects that
    /// a partial clone has not fetched.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn edited(&self, root: ObjectId, segments: Vec<(String, ObjectId)>, gone: &[String]) -> Result<ObjectId> {
        let fail = |error: gix::Error| crate::git::gix_error("cannot edit the archive's tree", &error);
        // Detached, because the repository's editor would check that each object exists.
        let mut editor = self.repo.gix().edit_tree(root).map_err(fail)?.detach();
        for (path, segment_id) in segments {
            let parts = path.split('/');
            editor.upsert(parts, gix::object::tree::EntryKind::Blob, segment_id).map_err(fail)?;
        }
        for path in gone {
            editor.remove(path.split('/')).map_err(fail)?;
        }
        editor.write(|tree| Ok(self.repo.gix().write_object(tree)?.detach())).map_err(fail)
    }

    /// Returns the names and ids of the subtrees of a tree. Skips names that we would not give.
    fn subtrees(&self, tree_id: ObjectId, budget: &mut EntryBudget) -> Result<Vec<(String, ObjectId)>> {
        let is_wanted = |mode: gix::objs::tree::EntryMode, name: &str| {
            mode.is_tree() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(is_name_byte)
        };
        self.entries_of(tree_id, budget, is_wanted)
    }

    /// Returns the names and ids of the segments in a session's tree. Skips names that we would not give.
    fn files(&self, tree_id: ObjectId, budget: &mut EntryBudget) -> Result<Vec<(String, ObjectId)>> {
        let files = self.entries_of(tree_id, budget, |mode, name| mode.is_blob() && sequence(name).is_some())?;
        let is_its_name = |(name, id): &(String, ObjectId)| name.contains(&id.to_hex_with_len(12).to_string());
        Ok(files.into_iter().filter(is_its_name).collect())
    }

    fn entries_of(
        &self,
        tree_id: ObjectId,
        budget: &mut EntryBudget,
        is_wanted: impl Fn(gix::objs::tree::EntryMode, &str) -> bool,
    ) -> Result<Vec<(String, ObjectId)>> {
        let tree = self.repo.gix().find_tree(tree_id).map_err(unreadable)?;
        let mut entries = Vec::new();
        for entry in tree.iter() {
            let entry = entry.map_err(unreadable)?;
            budget.take()?;
            if let Ok(name) = entry.filename().to_str()
                && is_wanted(entry.mode(), name)
            {
                entries.push((name.to_owned(), entry.object_id()));
            }
        }
        Ok(entries)
    }

    /// Returns all paths and ids in the tree of `ref_name`, unchecked, in the order of paths; nothing if there is no
    /// such ref.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn listing(&self, ref_name: &str) -> Result<Vec<(String, ObjectId)>> {
        self.repo.tip(ref_name)?.map_or(Ok(Vec::new()), |tip| self.listing_of(tip.tree_id))
    }

    /// Returns all paths and ids in a tree, unchecked, in the order of paths.
    ///
    /// # Errors
    ///
    /// As [`Archive::each_path`].
    pub fn listing_of(&self, tree_id: ObjectId) -> Result<Vec<(String, ObjectId)>> {
        let mut listing = Vec::new();
        self.each_path(tree_id, |path, id| listing.push((path.to_owned(), id)))?;
        Ok(listing)
    }

    /// Visits all paths and ids in a tree, unchecked, in the order of paths.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read. [`Kind::Corrupt`] if there are more than
    /// [`MAX_ENTRIES`](crate::git::MAX_ENTRIES) entries.
    pub fn each_path(&self, tree_id: ObjectId, mut visit: impl FnMut(&str, ObjectId)) -> Result<()> {
        self.walk(tree_id, &mut String::new(), 0, &mut EntryBudget::new(), &mut visit)
    }

    fn walk(
        &self,
        tree_id: ObjectId,
        path: &mut String,
        depth: u32,
        budget: &mut EntryBudget,
        visit: &mut dyn FnMut(&str, ObjectId),
    ) -> Result<()> {
        let tree = self.repo.gix().find_tree(tree_id).map_err(unreadable)?;
        for entry in tree.iter() {
            let entry = entry.map_err(unreadable)?;
            budget.take()?;
            let length = path.len();
            path.push_str(&entry.filename().to_str_lossy());
            match (entry.mode().is_tree(), depth) {
                (true, 0 | 1) => {
                    path.push('/');
                    self.walk(entry.object_id(), path, depth + 1, budget, visit)?;
                }
                // A submodule entry names a commit that is not in this repository.
                (false, _) if entry.mode().is_blob() => visit(path, entry.object_id()),
                _ => {}
            }
            path.truncate(length);
        }
        Ok(())
    }

    /// Says whether the archive under a ref has a segment of a session, or with `None` any.
    pub fn lists(&self, ref_name: &str, session: &SessionKey, segment_id: Option<ObjectId>) -> bool {
        let entries = self.repo.tip(ref_name).and_then(|tip| self.entries(tip, &session_directory(session)));
        entries.is_ok_and(|entries| entries.iter().any(|(_, id)| segment_id.is_none_or(|wanted| *id == wanted)))
    }

    /// Returns the sequence numbers and ids of the segments in a session's directory, oldest first.
    pub(super) fn entries(&self, tip: Option<Tip>, directory: &str) -> Result<Vec<(u32, ObjectId)>> {
        tip.map_or_else(|| Ok(Vec::new()), |tip| self.entries_in(tip.tree_id, directory))
    }

    /// Returns the sequence numbers and ids of the segments in a directory of an archive tree, oldest first.
    fn entries_in(&self, tree_id: ObjectId, directory: &str) -> Result<Vec<(u32, ObjectId)>> {
        let root = self.repo.gix().find_tree(tree_id).map_err(unreadable)?;
        let Some(entry) = root.lookup_entry_by_path(directory).map_err(unreadable)? else { return Ok(Vec::new()) };
        let object = entry.object().map_err(unreadable)?;
        let Ok(tree) = object.try_into_tree() else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for entry in tree.iter() {
            let entry = entry.map_err(unreadable)?;
            let number = entry.filename().to_str().ok().and_then(sequence);
            entries.extend(number.map(|number| (number, entry.object_id())));
        }
        Ok(entries)
    }
}

fn unreadable(error: gix::Error) -> Error {
    crate::git::gix_error("cannot read the archive's tree", &error)
}

/// Says whether names in our trees may contain this byte.
pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.~%".contains(&byte)
}

/// Says whether `path` is a path that we would give to this segment of this session.
pub fn is_path_of(path: &str, session: &SessionKey, segment_id: ObjectId) -> bool {
    let name = path.strip_prefix(&session_directory(session)).and_then(|rest| rest.strip_prefix('/'));
    let suffix = format!("-{}.zst", segment_id.to_hex_with_len(12));
    name.is_some_and(|name| sequence(name).is_some() && name.ends_with(&suffix))
}

/// Returns the session of a path in the archive; `None` if the path does not name it in full, because the name was too
/// long.
pub fn session_of_path(path: &str) -> Option<SessionKey> {
    let key = SessionKey::of_file_name(path.split('/').nth(1)?)?;
    path.starts_with(&session_directory(&key)).then_some(key)
}

/// The highest sequence number that we give. No real session comes near it; higher numbers are ignored.
pub(super) const MAX_SEQUENCE: u32 = 9_999_999;

/// Returns the sequence number in a segment's file name.
fn sequence(name: &str) -> Option<u32> {
    let (digits, rest) = name.split_once('-')?;
    let is_ours = (6..=9).contains(&digits.len()) && rest.len() == 16 && rest.ends_with(".zst");
    if is_ours { digits.parse().ok() } else { None }
}

/// Returns the directory of a session in the archive's tree.
pub(super) fn session_directory(session: &SessionKey) -> String {
    let digest = Sha256::digest(format!("{}/{}", session.agent, session.id));
    format!("{}/{}", hex(&digest[..1]), session.file_name())
}
