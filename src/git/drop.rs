//! Removing objects for good: what no ref reaches any more, loose or packed.

use bstr::ByteSlice as _;

use super::{ObjectId, Repository, git};
use crate::error::{Error, Result};

impl Repository {
    /// Removes a ref, if it is there.
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
        // The newest entry is always kept; it names where the ref was before.
        git(["reflog", "delete", &format!("{ref_name}@{{0}}")]).repository(self).capture().map(drop)
    }

    /// Returns the objects that these commits reach and that no ref does.
    ///
    /// # Errors
    ///
    /// If `git rev-list` fails.
    pub fn only_reachable_from(&self, tips: &[ObjectId]) -> Result<Vec<ObjectId>> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = tips.iter().map(|id| format!("{id}\n")).collect();
        let list = |args: &[&str], input: String| {
            let output = git(args).repository(self).input(input.into_bytes()).capture()?;
            let id = |line: &[u8]| self.parse_id(&line.fields().next()?.to_str_lossy());
            Ok::<_, Error>(output.lines().filter_map(id).collect::<Vec<ObjectId>>())
        };
        let found = list(&["rev-list", "--objects", "--missing=allow-any", "--stdin", "--not", "--all"], input)?;
        if found.is_empty() {
            return Ok(found);
        }
        // Between histories that have nothing in common, the first list may have what both share.
        let ours: String = self
            .ref_names("refs/notes/")
            .into_iter()
            .chain(self.ref_names("refs/shiftlog/"))
            .map(|name| name + "\n")
            .collect();
        let kept = if ours.is_empty() {
            Vec::new()
        } else {
            list(&["rev-list", "--objects", "--missing=allow-any", "--stdin"], ours)?
        };
        let kept: std::collections::HashSet<ObjectId> = kept.into_iter().collect();
        Ok(found.into_iter().filter(|id| !kept.contains(id)).collect())
    }

    /// Removes objects from this repository, and returns those that are still there: in a pack that is to be kept, or in
    /// a repository whose objects this one borrows.
    ///
    /// Where one is packed, everything is packed again by Git; other objects that no ref reaches stay as loose ones.
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

    /// Writes the commit-graph file again, if there is one: it may name commits that are gone.
    fn renew_commit_graph(&self) -> Result<()> {
        let info = self.gix().objects.store_ref().path().join("info");
        let (file, chain) = (info.join("commit-graph"), info.join("commit-graphs"));
        if !file.exists() && !chain.exists() {
            return Ok(());
        }
        // It is a cache; the new one takes the place of both forms.
        let _ = std::fs::remove_file(file);
        let _ = std::fs::remove_dir_all(chain);
        git(["commit-graph", "write", "--reachable"]).repository(self).capture().map(drop)
    }

    fn unlink(&self, ids: &[ObjectId]) -> Result<()> {
        let objects = self.gix().objects.store_ref().path().to_owned();
        for id in ids {
            let hex = id.to_string();
            let path = objects.join(&hex[..2]).join(&hex[2..]);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path, error));
                }
                _ => {}
            }
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
