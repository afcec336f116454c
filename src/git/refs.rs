//! Refs: reading them, listing branches, and moving our own by compare-and-swap.
//!
//! The one thing to read is [`Repository::update_ref`]: everything we store goes through it.

use std::time::Instant;

use gix::actor::Signature;
use gix::date::parse::TimeBuf;
use gix::refs::transaction::{LogChange, PreviousValue, RefEdit};

use super::fault::fault_point;
use super::kept::{Keep, kept_name};
use super::lock::{Waiting, held_up};
use super::ref_name::{REMOTES_PREFIX, Tip, full_name};
use super::sign::ARCHIVE_REF;
use super::{ObjectId, Repository, git, gix_error};
use crate::error::{Error, Kind, Result};

/// How often an edit is tried again after a missing object. 'git gc' moves objects, so one can be missing for a moment.
const MAX_MISSING: u32 = 5;

/// The author of the archive's commits, so that `git shortlog --all` does not count them as somebody's work. The
/// author of a record is the author of its notes commit.
pub(super) const ARCHIVIST: (&str, &str) = ("git-shiftlog", "shiftlog@localhost");

/// The result of merging two commits of a ref of ours.
#[derive(Clone, Copy, Debug)]
pub struct Merged {
    /// The merged tree.
    pub tree_id: ObjectId,
    /// Whether our commit becomes a parent. Not if its history holds purged words.
    pub joins_ours: bool,
    /// Whether their commit becomes a parent.
    pub joins_theirs: bool,
}

/// The trees that replace a ref and its history.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    /// The tree with only the parts that did not change.
    pub carried_tree_id: ObjectId,
    /// The whole new tree.
    pub tree_id: ObjectId,
}

/// A branch and the commit at its head.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The full ref name, such as `refs/heads/main`.
    pub full_name: String,
    /// The name as `git branch` prints it: `main`, `origin/main`.
    pub name: String,
    /// The commit at its head.
    pub commit_id: ObjectId,
}

impl Repository {
    /// Returns where `ref_name` points, or `None` if there is no such ref. In a clone without trees, those of the commit are
    /// fetched, all at once, unless [`Repository::stay_offline`] was called.
    ///
    /// # Errors
    ///
    /// [`Kind::Corrupt`] if the ref is broken, or names something that is no commit or is not here.
    pub fn tip(&self, ref_name: &str) -> Result<Option<Tip>> {
        full_name(ref_name)?;
        let fail = |error: gix::Error| damaged(ref_name, gix_error(format!("cannot read '{ref_name}'"), &error));
        let Some(mut reference) = self.gix().try_find_reference(ref_name).map_err(fail)? else { return Ok(None) };
        let commit = reference.peel_to_commit().map_err(fail)?;
        let tree_id = commit.tree_id().map_err(fail)?.detach();
        // A clone without trees has none of ours; what of it is missing is told by who reads it.
        if self.is_partial() && !self.has_object(tree_id) {
            let _ = self.fetch_absent(vec![tree_id]);
        }
        Ok(Some(Tip { commit_id: commit.id, tree_id }))
    }

    /// Returns the object that a ref names if it is here and is no commit: a tag, a tree or a blob.
    pub fn names_no_commit(&self, ref_name: &str) -> Option<ObjectId> {
        let reference = self.gix().try_find_reference(ref_name).ok()??;
        let id = reference.target().try_id()?.to_owned();
        let header = self.gix().find_header(id).ok()?;
        (header.kind() != gix::object::Kind::Commit).then_some(id)
    }

    /// Returns the names of the refs that start with `prefix`, sorted.
    pub fn ref_names(&self, prefix: &str) -> Vec<String> {
        let Ok(platform) = self.gix().references() else { return Vec::new() };
        let Ok(found) = platform.prefixed(prefix) else { return Vec::new() };
        found.flatten().map(|reference| reference.name().as_bstr().to_string()).collect()
    }

    /// Returns the refs that were fetched from remotes under one name: `notes`, `sessions` or `purged`.
    pub fn fetched_refs(&self, name: &str) -> Vec<String> {
        let refs = self.ref_names(REMOTES_PREFIX).into_iter();
        refs.filter(|ref_name| ref_name.rsplit('/').next() == Some(name)).collect()
    }

    /// Returns the refs that start with `prefix` with the ids that they hold. Reads no object; leaves symbolic refs out.
    pub fn ref_targets(&self, prefix: &str) -> Vec<(String, ObjectId)> {
        let Ok(platform) = self.gix().references() else { return Vec::new() };
        let Ok(found) = platform.prefixed(prefix) else { return Vec::new() };
        let target = |reference: gix::Reference<'_>| {
            let id = reference.target().try_id()?.to_owned();
            Some((reference.name().as_bstr().to_string(), id))
        };
        found.flatten().filter_map(target).collect()
    }

    /// Moves `ref_name` to a new commit with the tree that `edit` builds from the current one.
    ///
    /// `edit` gets the tip (or `None`) and returns the new tree, or `None` to leave the ref alone. It may run several
    /// times: when another process moved the ref meanwhile, everything starts again from what is there now, until
    /// `deadline`. The whole attempt is repeated, since `git gc` may remove an empty object directory under our feet.
    /// Returns whether the ref moved.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] when the deadline passes, [`Kind::Storage`] at once when the disk is full or read-only.
    pub fn update_ref(
        &self,
        ref_name: &str,
        message: &str,
        deadline: Instant,
        edit: impl FnMut(Option<Tip>) -> Result<Option<ObjectId>>,
    ) -> Result<bool> {
        self.move_ref(ref_name, message, deadline, edit, |tree_id, parents| {
            self.commit_tree(ref_name, message, tree_id, parents, deadline)
        })
    }

    /// Moves a ref as [`Repository::update_ref`] does, with an unsigned commit; see [`Repository::carry`].
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn carry_ref(
        &self,
        ref_name: &str,
        message: &str,
        deadline: Instant,
        edit: impl FnMut(Option<Tip>) -> Result<Option<ObjectId>>,
    ) -> Result<bool> {
        self.move_ref(ref_name, message, deadline, edit, |tree_id, parents| {
            self.carry(ref_name, message, tree_id, parents)
        })
    }

    fn move_ref(
        &self,
        ref_name: &str,
        message: &str,
        deadline: Instant,
        mut edit: impl FnMut(Option<Tip>) -> Result<Option<ObjectId>>,
        commit: impl Fn(ObjectId, &[ObjectId]) -> Result<ObjectId>,
    ) -> Result<bool> {
        self.attempt(ref_name, deadline, |tip| {
            let Some(tree_id) = edit(tip)? else { return Ok(false) };
            if tip.is_some_and(|tip| tip.tree_id == tree_id) {
                return Ok(false);
            }
            let parents: Vec<ObjectId> = tip.iter().map(|tip| tip.commit_id).collect();
            let commit_id = commit(tree_id, &parents)?;
            self.swap(ref_name, message, tip, Tip { commit_id, tree_id }, Keep::IfFollowed)?;
            Ok(true)
        })
    }

    /// Merges the commit `theirs` into `ref_name`. Returns whether the ref moved.
    ///
    /// `merge` gets both tips and that of their merge base, and returns the merged tree; it may run several times, as in
    /// [`Repository::update_ref`]. If we have nothing of our own, the ref moves to `theirs`. If `theirs` is in our history,
    /// nothing is done. The merge commit is never signed, because it only carries what others wrote.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn merge_ref(
        &self,
        ref_name: &str,
        theirs: ObjectId,
        message: &str,
        deadline: Instant,
        mut merge: impl FnMut(Option<Tip>, Tip, Option<Tip>) -> Result<Merged>,
    ) -> Result<bool> {
        let theirs = self.tip_of(theirs)?;
        self.attempt(ref_name, deadline, |ours| {
            let base = match ours {
                Some(ours) => self.merge_base(ours.commit_id, theirs.commit_id)?,
                None => None,
            };
            if base == Some(theirs.commit_id) {
                return Ok(false);
            }
            let merged = merge(ours, theirs, base.map(|base| self.tip_of(base)).transpose()?)?;
            let is_behind = base == ours.map(|ours| ours.commit_id);
            if merged.joins_theirs && merged.tree_id == theirs.tree_id && (is_behind || !merged.joins_ours) {
                self.swap(ref_name, message, ours, theirs, Keep::IfFollowed)?;
                return Ok(true);
            }
            let mut parents = Vec::new();
            parents.extend(ours.filter(|_| merged.joins_ours).map(|ours| ours.commit_id));
            parents.extend(merged.joins_theirs.then_some(theirs.commit_id));
            if parents.len() == 1
                && ours.is_some_and(|ours| parents[0] == ours.commit_id && ours.tree_id == merged.tree_id)
            {
                return Ok(false);
            }
            let commit_id = self.carry(ref_name, message, merged.tree_id, &parents)?;
            let new = Tip { commit_id, tree_id: merged.tree_id };
            self.swap(ref_name, message, ours, new, Keep::IfFollowed)?;
            Ok(true)
        })
    }

    /// Replaces a ref by a new commit without the ref's history. If `edit` returns `None`, the ref stays.
    ///
    /// Unchanged parts go into a first, unsigned commit; a second commit with the changes is signed if commits of the ref
    /// are.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn replace_ref(
        &self,
        ref_name: &str,
        message: &str,
        deadline: Instant,
        mut edit: impl FnMut(Tip) -> Result<Option<Replaced>>,
    ) -> Result<bool> {
        self.attempt(ref_name, deadline, |tip| {
            let Some(tip) = tip else { return Ok(false) };
            let Some(replaced) = edit(tip)? else { return Ok(false) };
            let carried = if self.signs(ref_name) { replaced.carried_tree_id } else { replaced.tree_id };
            let mut commit_id = self.carry(ref_name, message, carried, &[])?;
            if carried != replaced.tree_id {
                commit_id = self.commit_tree(ref_name, message, replaced.tree_id, &[commit_id], deadline)?;
            }
            self.swap(ref_name, message, Some(tip), Tip { commit_id, tree_id: replaced.tree_id }, Keep::IfThere)?;
            Ok(true)
        })
    }

    /// Points a ref at a commit, whatever it named before. For refs that only mirror a remote's.
    ///
    /// # Errors
    ///
    /// If the ref cannot be written.
    pub fn point_ref(&self, ref_name: &str, commit_id: ObjectId) -> Result<()> {
        let updated = git(["update-ref", ref_name, &commit_id.to_string()]).repository(self).capture().map(drop);
        updated.map_err(|error| self.error_of_update(ref_name, error))
    }

    /// Creates a ref that names a commit. Returns `false` if the ref exists; it is not changed then.
    ///
    /// # Errors
    ///
    /// If the ref cannot be written.
    pub fn create_ref(&self, ref_name: &str, message: &str, commit_id: ObjectId) -> Result<bool> {
        if self.tip(ref_name)?.is_some() {
            return Ok(false);
        }
        match self.swap(ref_name, message, None, self.tip_of(commit_id)?, Keep::IfThere) {
            // Another process has created it meanwhile.
            Err(_) if self.tip(ref_name)?.is_some() => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    /// Returns the tip that a ref would have if it named this commit.
    fn tip_of(&self, commit_id: ObjectId) -> Result<Tip> {
        Ok(Tip { commit_id, tree_id: self.commit(commit_id)?.tree_id })
    }

    /// Runs `edit` on the tip of a ref until it succeeds, fails with an error that a retry cannot mend, or `deadline` has
    /// passed. Waits for a lock as long as Git would.
    pub(super) fn attempt(
        &self,
        ref_name: &str,
        deadline: Instant,
        mut edit: impl FnMut(Option<Tip>) -> Result<bool>,
    ) -> Result<bool> {
        let names: Vec<String> = [ref_name.to_owned()].into_iter().chain(kept_name(ref_name)).collect();
        let mut waiting = Waiting::default();
        let mut attempt = 0;
        loop {
            self.discard_objects();
            let outcome = self.tip(ref_name).and_then(&mut edit);
            let error = match outcome {
                Ok(moved) => return Ok(moved),
                // 'git gc' removes empty directories and moves objects. The next attempt sees the ref as it is then.
                Err(error) if matches!(error.kind(), Kind::Busy | Kind::Missing) => error,
                Err(error) => return Err(error),
            };
            attempt += 1;
            let is_over = Instant::now() >= deadline;
            if error.kind() == Kind::Missing && (attempt > MAX_MISSING || is_over) {
                return Err(damaged(ref_name, error));
            }
            if let Some(held) = waiting.look(self, &names, is_over) {
                return Err(held_up(ref_name, &held));
            }
            if is_over {
                let message = format!("cannot update '{ref_name}': another process kept changing it");
                return Err(Error::new(Kind::Busy, message).because(error));
            }
            waiting.pause(self, attempt);
        }
    }

    /// Writes a commit for one of our refs, with the trees that are still in memory. Signs it if the configuration says so.
    pub(super) fn commit_tree(
        &self,
        ref_name: &str,
        message: &str,
        tree_id: ObjectId,
        parents: &[ObjectId],
        deadline: Instant,
    ) -> Result<ObjectId> {
        if self.signs(ref_name) {
            self.write_objects()?;
            return self.commit_signed(message, tree_id, parents, deadline);
        }
        self.carry(ref_name, message, tree_id, parents)
    }

    /// Writes an unsigned commit for one of our refs, with the trees that are still in memory. For records that were written
    /// before: our signature stands for what this process recorded.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`] when the disk is full or read-only.
    pub fn carry(&self, ref_name: &str, message: &str, tree_id: ObjectId, parents: &[ObjectId]) -> Result<ObjectId> {
        let mut by = self.signature();
        if ref_name == ARCHIVE_REF {
            (by.name, by.email) = (ARCHIVIST.0.into(), ARCHIVIST.1.into());
        }
        self.write_commit(&by, message, tree_id, parents)
    }

    /// Writes a commit with this author, with the trees that are still in memory.
    pub(super) fn write_commit(
        &self,
        by: &Signature,
        message: &str,
        tree_id: ObjectId,
        parents: &[ObjectId],
    ) -> Result<ObjectId> {
        let mut time = TimeBuf::default();
        let by = by.to_ref(&mut time);
        let commit = self.gix().new_commit_as(by, by, message, tree_id, parents.iter().copied());
        let commit_id = commit.map_err(|error| gix_error("cannot write a commit", &error))?.id;
        self.write_objects()?;
        fault_point("objects-written");
        Ok(commit_id)
    }

    /// Moves a ref to a commit if the ref still names `tip`, together with its second ref; see [`Keep`].
    pub(super) fn swap(&self, ref_name: &str, message: &str, tip: Option<Tip>, new: Tip, keep: Keep) -> Result<()> {
        let expected = match tip {
            Some(tip) => PreviousValue::MustExistAndMatch(tip.commit_id.into()),
            None => PreviousValue::MustNotExist,
        };
        // A reflog entry is one line; gix adds the line end.
        let message = message.lines().next().unwrap_or_default();
        // 'fsck --repair' uses the reflog to go back from a tip that a power cut has damaged.
        let log = LogChange {
            message: message.into(),
            force_create_reflog: kept_name(ref_name).is_some(),
            ..Default::default()
        };
        let edit = RefEdit::update_with_log(full_name(ref_name)?, new.commit_id, expected, log);
        let kept = self.kept_edit(ref_name, message, tip, new.tree_id, keep)?;
        fault_point("commit-written");
        self.move_refs([edit].into_iter().chain(kept))?;
        fault_point("ref-moved");
        Ok(())
    }

    /// Changes several refs in one transaction. Does not wait for locks.
    pub(super) fn move_refs(&self, edits: impl IntoIterator<Item = RefEdit>) -> Result<()> {
        let edits: Vec<RefEdit> = edits.into_iter().collect();
        let Some(first) = edits.first() else { return Ok(()) };
        let action = format!("cannot update '{}'", first.name.as_bstr());
        let (signature, mut time) = (self.signature(), TimeBuf::default());
        let at_once = gix::lock::acquire::Fail::Immediately;
        let transaction = self.gix().refs.transaction().prepare(edits, at_once, at_once);
        let moved = transaction.and_then(|transaction| transaction.commit(Some(signature.to_ref(&mut time))));
        moved.map(drop).map_err(|error| {
            let is_permanent = error.iter_errors().any(|source| {
                source.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() != std::io::ErrorKind::AlreadyExists)
            });
            let error = gix_error(action, &error);
            // A ref that has moved and a ref that is locked both mean that another process is writing.
            if error.kind() == Kind::Other && !is_permanent { Error::new(Kind::Busy, error.to_string()) } else { error }
        })
    }

    /// Returns the local branches, the remote-tracking ones, or both, sorted by ref name. Symbolic refs
    /// (`origin/HEAD`) and branches that name no commit are left out.
    ///
    /// # Errors
    ///
    /// If the refs cannot be listed.
    pub fn branches(&self, local: bool, remote: bool) -> Result<Vec<Branch>> {
        let mut branches = Vec::new();
        for (wanted, prefix) in [(local, "refs/heads/"), (remote, "refs/remotes/")] {
            if !wanted {
                continue;
            }
            for full_name in self.ref_names(prefix) {
                let Ok(Some(mut reference)) = self.gix().try_find_reference(full_name.as_str()) else { continue };
                if matches!(reference.target(), gix::refs::TargetRef::Symbolic(_)) {
                    continue;
                }
                let Ok(commit) = reference.peel_to_commit() else { continue };
                let name = full_name.strip_prefix(prefix).unwrap_or(&full_name).to_owned();
                branches.push(Branch { name, commit_id: commit.id, full_name });
            }
        }
        Ok(branches)
    }
}

/// Returns the error for a damaged ref of ours, with the command that repairs it.
fn damaged(ref_name: &str, error: Error) -> Error {
    if !matches!(error.kind(), Kind::Missing | Kind::Corrupt | Kind::Other) {
        return error;
    }
    Error::new(Kind::Corrupt, format!("'{ref_name}' is damaged"))
        .because(error.to_string())
        .hint("git shiftlog fsck --repair")
}
