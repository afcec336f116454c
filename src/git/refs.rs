//! Refs: reading them, listing branches, and moving our own by compare-and-swap.
//!
//! The one thing to read is [`Repository::update_ref`]: everything we store goes through it.

use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use gix::refs::transaction::{PreviousValue, RefEdit};

use super::{ObjectId, Repository, git, gix_error};
use crate::error::{Error, Kind, Result};

/// Where one of our refs points before an edit.
#[derive(Clone, Copy, Debug)]
pub struct Tip {
    /// The commit the ref names.
    pub commit_id: ObjectId,
    /// The tree of that commit.
    pub tree_id: ObjectId,
}

/// What a merge makes of two sides.
#[derive(Clone, Copy, Debug)]
pub struct Merged {
    /// The tree with what both have.
    pub tree_id: ObjectId,
    /// Whether our history may be a parent. Not if it holds what has been removed for good.
    pub joins_ours: bool,
    /// Whether theirs may be.
    pub joins_theirs: bool,
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
    /// Whether it is a remote-tracking branch.
    pub is_remote: bool,
}

/// Ends the process, as if it had been killed, when the environment asks for it at this point.
///
/// Only in builds with debug assertions; a release build does nothing here. Tests use it to prove that a crash
/// between any two steps of a write loses nothing.
pub fn fault_point(name: &str) {
    if has_fault(name) {
        std::process::abort();
    }
}

/// Says whether the environment asks for something to go wrong at this point; never in a release build.
pub fn has_fault(name: &str) -> bool {
    cfg!(debug_assertions) && std::env::var_os("SHIFTLOG_FAULT").is_some_and(|wanted| wanted == name)
}

/// Returns text as the full name of a ref, by Git's rules for those.
fn full_name(text: &str) -> Result<gix::refs::FullName> {
    gix::refs::FullName::try_from(text)
        .map_err(|_| Error::new(Kind::Usage, format!("'{text}' is not a valid ref name")))
}

/// Says whether text can be the full name of a ref.
pub fn is_ref_name(text: &str) -> bool {
    full_name(text).is_ok()
}

impl Repository {
    /// Returns where `ref_name` points, or `None` if there is no such ref.
    ///
    /// # Errors
    ///
    /// If the ref is broken or names something without a tree.
    pub fn tip(&self, ref_name: &str) -> Result<Option<Tip>> {
        let fail = |error: gix::Error| gix_error(format!("cannot read '{ref_name}'"), &error);
        let Some(mut reference) = self.gix().try_find_reference(ref_name).map_err(fail)? else { return Ok(None) };
        let commit = reference.peel_to_commit().map_err(fail)?;
        let tree_id = commit.tree_id().map_err(fail)?.detach();
        Ok(Some(Tip { commit_id: commit.id, tree_id }))
    }

    /// Returns the names of the refs that start with `prefix`, sorted.
    pub fn ref_names(&self, prefix: &str) -> Vec<String> {
        let Ok(platform) = self.gix().references() else { return Vec::new() };
        let Ok(found) = platform.prefixed(prefix) else { return Vec::new() };
        found.flatten().map(|reference| reference.name().as_bstr().to_string()).collect()
    }

    /// Returns the refs that start with `prefix` and what they name, as it stands there: no object is read. Symbolic refs
    /// are left out.
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
        mut edit: impl FnMut(Option<Tip>) -> Result<Option<ObjectId>>,
    ) -> Result<bool> {
        self.attempt(ref_name, deadline, |tip| {
            let Some(tree_id) = edit(tip)? else { return Ok(false) };
            if tip.is_some_and(|tip| tip.tree_id == tree_id) {
                return Ok(false);
            }
            let parents: Vec<ObjectId> = tip.iter().map(|tip| tip.commit_id).collect();
            let commit_id = self.commit_tree(message, tree_id, &parents, deadline)?;
            self.swap(ref_name, message, tip, commit_id)?;
            Ok(true)
        })
    }

    /// Moves `ref_name` so that it has what the commit `theirs` has beside its own. Returns whether it moved.
    ///
    /// `merge` gets both tips and that of their merge base, and returns the tree to have; it may run several times, as
    /// in [`Repository::update_ref`]. Where nothing of our own is left to keep, the ref just moves to `theirs`; where
    /// ours has all of theirs already, `merge` is not asked.
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
                self.swap(ref_name, message, ours, theirs.commit_id)?;
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
            let commit_id = self.commit_tree(message, merged.tree_id, &parents, deadline)?;
            self.swap(ref_name, message, ours, commit_id)?;
            Ok(true)
        })
    }

    /// Puts a signed commit in the place of the one that `git` has just made on our ref without a signature, where ours
    /// are signed. `message` begins that commit's message.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn sign_tip(&self, ref_name: &str, message: &str, deadline: Instant) -> Result<bool> {
        if !self.signs() {
            return Ok(false);
        }
        self.attempt(ref_name, deadline, |tip| {
            let Some(tip) = tip else { return Ok(false) };
            let commit = self.commit(tip.commit_id)?;
            if !commit.message.starts_with(message.as_bytes()) {
                return Ok(false);
            }
            let text = commit.message.to_str_lossy();
            let signed = self.commit_tree(&text, commit.tree_id, &commit.parent_ids, deadline)?;
            self.swap(ref_name, &text, Some(tip), signed)?;
            Ok(true)
        })
    }

    /// Moves `ref_name` to a commit with a tree but without parents: what the ref reached before is no longer reached.
    /// `None` leaves it alone.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn replace_ref(
        &self,
        ref_name: &str,
        message: &str,
        deadline: Instant,
        mut edit: impl FnMut(Tip) -> Result<Option<ObjectId>>,
    ) -> Result<bool> {
        self.attempt(ref_name, deadline, |tip| {
            let Some(tip) = tip else { return Ok(false) };
            let Some(tree_id) = edit(tip)? else { return Ok(false) };
            let commit_id = self.commit_tree(message, tree_id, &[], deadline)?;
            self.swap(ref_name, message, Some(tip), commit_id)?;
            Ok(true)
        })
    }

    /// Points a ref at a commit, wherever it was: for a ref that only repeats what another repository has.
    ///
    /// # Errors
    ///
    /// If the ref cannot be written.
    pub fn point_ref(&self, ref_name: &str, commit_id: ObjectId) -> Result<()> {
        git(["update-ref", ref_name, &commit_id.to_string()]).repository(self).capture().map(drop)
    }

    /// Makes a ref that names a commit. Returns whether it did: one that is there is left alone.
    ///
    /// # Errors
    ///
    /// If the ref cannot be written.
    pub fn create_ref(&self, ref_name: &str, message: &str, commit_id: ObjectId) -> Result<bool> {
        if self.tip(ref_name)?.is_some() {
            return Ok(false);
        }
        match self.swap(ref_name, message, None, commit_id) {
            // Somebody was faster.
            Err(_) if self.tip(ref_name)?.is_some() => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    /// Returns the tip that a ref would have if it named this commit.
    fn tip_of(&self, commit_id: ObjectId) -> Result<Tip> {
        Ok(Tip { commit_id, tree_id: self.commit(commit_id)?.tree_id })
    }

    /// Returns a best common ancestor of two commits, or `None` if they have none.
    ///
    /// # Errors
    ///
    /// If history cannot be read.
    pub fn merge_base(&self, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
        if one == other {
            return Ok(Some(one));
        }
        let base = self.gix().merge_base(one, other);
        base.map(|base| base.map(|id| id.detach())).map_err(|error| gix_error("cannot find a merge base", &error))
    }

    /// Runs `edit` on the tip of a ref until it succeeds, fails for good, or `deadline` has passed.
    fn attempt(
        &self,
        ref_name: &str,
        deadline: Instant,
        mut edit: impl FnMut(Option<Tip>) -> Result<bool>,
    ) -> Result<bool> {
        let mut attempt = 0;
        loop {
            self.discard_objects();
            let outcome = self.tip(ref_name).and_then(&mut edit);
            let error = match outcome {
                Ok(moved) => return Ok(moved),
                // A missing file is gc's doing; see above. Both it and a moved ref are gone on the next attempt.
                Err(error) if matches!(error.kind(), Kind::Busy | Kind::Missing) => error,
                Err(error) => return Err(error),
            };
            attempt += 1;
            if Instant::now() >= deadline || (error.kind() == Kind::Missing && attempt > 8) {
                return Err(Error::new(
                    Kind::Busy,
                    format!("cannot update '{ref_name}': another process kept changing it"),
                )
                .because(error));
            }
            std::thread::sleep(backoff(attempt));
        }
    }

    /// Makes a commit of our own and writes it with everything it names. It is signed if the configuration says so.
    fn commit_tree(
        &self,
        message: &str,
        tree_id: ObjectId,
        parents: &[ObjectId],
        deadline: Instant,
    ) -> Result<ObjectId> {
        if self.signs() {
            self.write_objects()?;
            return self.commit_signed(message, tree_id, parents, deadline);
        }
        let fail = |error: gix::Error| gix_error("cannot write a commit", &error);
        let (name, email) = self.committer();
        let time = now();
        let signature = gix::actor::SignatureRef { name: name.as_bstr(), email: email.as_bstr(), time: &time };
        let parents = parents.iter().copied();
        let commit = self.gix().new_commit_as(signature, signature, message, tree_id, parents).map_err(fail)?;
        self.write_objects()?;
        fault_point("objects-written");
        Ok(commit.id)
    }

    /// Moves a ref to a commit, if it still is where `tip` says.
    fn swap(&self, ref_name: &str, message: &str, tip: Option<Tip>, commit_id: ObjectId) -> Result<()> {
        let fail = |error: gix::Error| gix_error(format!("cannot update '{ref_name}'"), &error);
        let (name, email) = self.committer();
        let time = now();
        let signature = gix::actor::SignatureRef { name: name.as_bstr(), email: email.as_bstr(), time: &time };
        let expected = match tip {
            Some(tip) => PreviousValue::MustExistAndMatch(tip.commit_id.into()),
            None => PreviousValue::MustNotExist,
        };
        // An entry of a reflog is one line, which gix ends itself.
        let line = message.lines().next().unwrap_or_default();
        let edit = RefEdit::update(full_name(ref_name)?, commit_id, expected, line);
        fault_point("commit-written");
        self.gix().edit_references_as(Some(edit), Some(signature)).map_err(|error| {
            let error = fail(error);
            // Losing the race and meeting a lock look alike to the caller: somebody else is writing.
            if error.kind() == Kind::Other { Error::new(Kind::Busy, error.to_string()) } else { error }
        })?;
        fault_point("ref-moved");
        Ok(())
    }

    /// Returns the local branches, the remote-tracking ones, or both, sorted by ref name. Symbolic refs
    /// (`origin/HEAD`) and branches that name no commit are left out.
    ///
    /// # Errors
    ///
    /// If the refs cannot be listed.
    pub fn branches(&self, local: bool, remote: bool) -> Result<Vec<Branch>> {
        let mut branches = Vec::new();
        for (wanted, prefix, is_remote) in [(local, "refs/heads/", false), (remote, "refs/remotes/", true)] {
            if !wanted {
                continue;
            }
            for full_name in self.ref_names(prefix) {
                let Ok(Some(mut reference)) = self.gix().try_find_reference(full_name.as_str()) else { continue };
                if matches!(reference.target(), gix::refs::TargetRef::Symbolic(_)) {
                    continue;
                }
                let Ok(commit) = reference.peel_to_commit() else { continue };
                let name = full_name.trim_start_matches(prefix).to_owned();
                branches.push(Branch { name, commit_id: commit.id, full_name, is_remote });
            }
        }
        Ok(branches)
    }
}

/// Returns the present moment as a commit header has it.
fn now() -> String {
    format!("{} +0000", super::date::Time::now().seconds)
}

/// Returns how long to wait before an attempt: growing, and different in each process so that writers spread out.
pub fn backoff(attempt: u32) -> Duration {
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let jitter = u64::from(nanos ^ std::process::id().wrapping_mul(0x9e37_79b9)) % 1000;
    let ceiling_micros = 2_000u64 << attempt.min(6);
    Duration::from_micros(ceiling_micros / 2 + ceiling_micros * jitter / 2000)
}
