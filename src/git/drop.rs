//! Deleting unreachable objects, loose or packed.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;

use super::{ObjectId, Repository, git, private};
use crate::error::{Error, Result};

/// How long the lock of a ref is waited for at most, where Git would wait longer.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(20);

/// The objects that [`Repository::unneeded`] finds.
pub struct Unneeded {
    /// The objects that may be deleted.
    pub gone: Vec<ObjectId>,
    /// The wanted blobs that the tips reach, and something else, too.
    pub held: HashSet<ObjectId>,
}

impl Repository {
    /// Deletes a ref, if it exists.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn delete_ref(&self, ref_name: &str) -> Result<()> {
        let deleted = git(["update-ref", "-d", ref_name]).repository(self).capture().map(drop);
        deleted.map_err(|error| self.error_of_update(ref_name, error))
    }

    /// Empties the reflog of a ref, if it has one. Waits for the lock of the ref as Git would.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`](crate::error::Kind::Busy) if the lock stays; else what Git says.
    pub fn forget_reflog(&self, ref_name: &str) -> Result<()> {
        if git(["reflog", "exists", ref_name]).repository(self).capture().is_err() {
            return Ok(());
        }
        self.wait_while_locked(ref_name, Instant::now() + MAX_LOCK_WAIT)?;
        git(["reflog", "expire", "--expire=all", "--rewrite", "--updateref", ref_name]).repository(self).capture()?;
        // 'expire' keeps the newest entry, which names the ref's previous commit.
        git(["reflog", "delete", &format!("{ref_name}@{{0}}")]).repository(self).capture().map(drop)
    }

    /// Returns objects that no ref, reflog or index reaches. Of these, the ones that the commits `tips` reach, the
    /// blobs for which `is_wanted` is true, and every tree and commit that names one of them. Also returns the wanted blobs that
    /// `tips` reach and that are still reached otherwise.
    ///
    /// Walks all reachable objects, and reads all unreachable ones.
    ///
    /// # Errors
    ///
    /// If Git cannot list the objects.
    pub fn unneeded(&self, tips: &[ObjectId], is_wanted: impl Fn(ObjectId, &[u8]) -> bool) -> Result<Unneeded> {
        let list = |args: &[&str], input: String| {
            let output = git(args).repository(self).input(input.into_bytes()).capture()?;
            let id = |line: &[u8]| self.parse_id(&line.fields().next()?.to_str_lossy());
            Ok::<_, Error>(output.lines().filter_map(id).collect::<Vec<ObjectId>>())
        };
        let everything = ["rev-list", "--objects", "--missing=allow-any", "--all", "--reflog", "--indexed-objects"];
        let needed: HashSet<ObjectId> = list(&everything, String::new())?.into_iter().collect();
        let (mut gone, mut held): (HashSet<ObjectId>, HashSet<ObjectId>) = Default::default();
        if !tips.is_empty() {
            let input: String = tips.iter().map(|id| format!("{id}\n")).collect();
            let reached = list(&["rev-list", "--objects", "--missing=allow-any", "--stdin"], input)?;
            let (needed, unneeded): (Vec<_>, Vec<_>) = reached.into_iter().partition(|id| needed.contains(id));
            // Git has the empty tree in any repository.
            gone.extend(unneeded.into_iter().filter(|id| *id != self.empty_tree_id()));
            let is_held = |id: &ObjectId| {
                let object = self.gix().find_object(*id);
                object.is_ok_and(|object| object.kind == gix::object::Kind::Blob && is_wanted(*id, &object.data))
            };
            held.extend(needed.into_iter().filter(is_held));
        }
        let all = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)", "--unordered"];
        let mut holders: Vec<(ObjectId, Vec<ObjectId>)> = Vec::new();
        for id in list(&all, String::new())?.into_iter().filter(|id| !needed.contains(id)) {
            let Ok(object) = self.gix().find_object(id) else { continue };
            match object.kind {
                gix::object::Kind::Blob if is_wanted(id, &object.data) => {
                    gone.insert(id);
                }
                gix::object::Kind::Tree => {
                    let entries = gix::objs::TreeRefIter::from_bytes(&object.data, id.kind()).flatten();
                    holders.push((id, entries.map(|entry| entry.oid.to_owned()).collect()));
                }
                gix::object::Kind::Commit => {
                    if let Ok(commit) = self.commit(id) {
                        holders.push((id, [commit.parent_ids, vec![commit.tree_id]].concat()));
                    }
                }
                _ => {}
            }
        }
        // A tree or commit that names a deleted object would make 'git fsck' fail.
        loop {
            let more: Vec<ObjectId> = holders
                .iter()
                .filter(|(id, names)| !gone.contains(id) && names.iter().any(|name| gone.contains(name)))
                .map(|(id, _)| *id)
                .collect();
            if more.is_empty() {
                break;
            }
            gone.extend(more);
        }
        Ok(Unneeded { gone: gone.into_iter().collect(), held })
    }

    /// Deletes objects from this repository. Returns those that remain: in a pack with a `.keep` file, in a repository
    /// whose objects this one borrows, or all where they are precious.
    ///
    /// If one of them is packed, what else is in that pack is packed again.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed, or Git cannot pack.
    pub fn drop_objects(&self, ids: &[ObjectId]) -> Result<Vec<ObjectId>> {
        if self.has_precious_objects() {
            return self.still_here(ids);
        }
        self.unlink(ids)?;
        let mut left = self.still_here(ids)?;
        if !left.is_empty() {
            self.pack_without(&left)?;
            // A 'git gc' beside it may have made them loose.
            self.unlink(ids)?;
            left = self.still_here(ids)?;
        }
        self.renew_commit_graph()?;
        Ok(left)
    }

    /// Writes the commit-graph file again, if there is one: it may name deleted commits.
    fn renew_commit_graph(&self) -> Result<()> {
        let info = self.objects_directory().join("info");
        let (file, chain) = (info.join("commit-graph"), info.join("commit-graphs"));
        if !file.exists() && !chain.exists() {
            return Ok(());
        }
        // It is a cache; the new file replaces both forms.
        let _ = std::fs::remove_file(file);
        let _ = std::fs::remove_dir_all(chain);
        git(["commit-graph", "write", "--reachable"]).repository(self).capture().map(drop)
    }

    fn unlink(&self, ids: &[ObjectId]) -> Result<()> {
        let objects = self.objects_directory();
        for id in ids {
            let hex = id.to_string();
            let path = objects.join(&hex[..2]).join(&hex[2..]);
            private::remove(&path)?;
        }
        Ok(())
    }

    fn still_here(&self, ids: &[ObjectId]) -> Result<Vec<ObjectId>> {
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        // In a partial clone, asking for a missing object would fetch it.
        let output =
            git(["--no-lazy-fetch", "cat-file", "--batch-check"]).repository(self).input(input.clone().into_bytes());
        let output = match output.capture() {
            Ok(output) => output,
            // Git knows the option since 2.45.
            Err(_) => git(["cat-file", "--batch-check"]).repository(self).input(input.into_bytes()).capture()?,
        };
        let here = |line: &[u8]| {
            let is_here = !line.ends_with(b" missing");
            self.parse_id(&line.fields().next()?.to_str_lossy()).filter(|_| is_here)
        };
        Ok(output.lines().filter_map(here).collect())
    }
}
