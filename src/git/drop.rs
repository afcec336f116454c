//! Deleting unreachable objects, loose or packed.

use std::collections::HashSet;

use bstr::ByteSlice as _;

use super::{ObjectId, Repository, git, private};
use crate::error::{Error, Result};

impl Repository {
    /// Deletes a ref, if it exists.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn delete_ref(&self, ref_name: &str) -> Result<()> {
        git(["update-ref", "-d", ref_name]).repository(self).capture().map(drop)
    }

    /// Empties the reflog of a ref, if it has one.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn forget_reflog(&self, ref_name: &str) -> Result<()> {
        if git(["reflog", "exists", ref_name]).repository(self).capture().is_err() {
            return Ok(());
        }
        git(["reflog", "expire", "--expire=all", "--rewrite", "--updateref", ref_name]).repository(self).capture()?;
        // 'expire' keeps the newest entry, which names the ref's previous commit.
        git(["reflog", "delete", &format!("{ref_name}@{{0}}")]).repository(self).capture().map(drop)
    }

    /// Returns objects that no ref, reflog or index reaches. Of these, the ones that the commits `tips` reach, the
    /// blobs for which `is_wanted` is true, and every tree and commit that names one of them.
    ///
    /// Walks all reachable objects, and reads all unreachable ones.
    ///
    /// # Errors
    ///
    /// If Git cannot list the objects.
    pub fn unneeded(&self, tips: &[ObjectId], is_wanted: impl Fn(ObjectId, &[u8]) -> bool) -> Result<Vec<ObjectId>> {
        let list = |args: &[&str], input: String| {
            let output = git(args).repository(self).input(input.into_bytes()).capture()?;
            let id = |line: &[u8]| self.parse_id(&line.fields().next()?.to_str_lossy());
            Ok::<_, Error>(output.lines().filter_map(id).collect::<Vec<ObjectId>>())
        };
        let everything = ["rev-list", "--objects", "--missing=allow-any", "--all", "--reflog", "--indexed-objects"];
        let needed: HashSet<ObjectId> = list(&everything, String::new())?.into_iter().collect();
        let mut gone: HashSet<ObjectId> = HashSet::new();
        if !tips.is_empty() {
            let input: String = tips.iter().map(|id| format!("{id}\n")).collect();
            let reached = list(&["rev-list", "--objects", "--missing=allow-any", "--stdin"], input)?;
            gone.extend(reached.into_iter().filter(|id| !needed.contains(id)));
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
        Ok(gone.into_iter().collect())
    }

    /// Deletes objects from this repository. Returns those that remain: in a pack with a `.keep` file, or in a repository
    /// whose objects this one borrows.
    ///
    /// If one of them is packed, Git packs everything again; other unreachable objects become loose.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed, or `git repack` fails.
    pub fn drop_objects(&self, ids: &[ObjectId]) -> Result<Vec<ObjectId>> {
        self.unlink(ids)?;
        let mut left = self.still_here(ids)?;
        if !left.is_empty() {
            git(["repack", "-A", "-d", "-q"]).repository(self).capture()?;
            self.unlink(ids)?;
            left = self.still_here(ids)?;
        }
        self.renew_commit_graph()?;
        Ok(left)
    }

    /// Writes the commit-graph file again, if there is one: it may name deleted commits.
    fn renew_commit_graph(&self) -> Result<()> {
        let info = self.gix().objects.store_ref().path().join("info");
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
        let objects = self.gix().objects.store_ref().path().to_owned();
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
