//! A second ref for each of ours, which names the tree that the first one had after our last write.
//!
//! What rewrites history (`git filter-repo`, BFG) rewrites or deletes every ref that names a commit, and a forced fetch
//! replaces notes. Neither touches a ref that names a tree. So what we stored stays reachable, and
//! [`Repository::lost_tree`] tells that it must be joined again.

use std::time::Instant;

use gix::refs::transaction::{PreviousValue, RefEdit};

use super::ref_name::full_name;
use super::sign::ARCHIVE_REF;
use super::{ObjectId, Order, Range, Repository, Tip};
use crate::error::Result;

/// The names of all of these refs begin so.
pub const KEPT_PREFIX: &str = "refs/shiftlog/kept/";

/// When the second ref moves together with the first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Keep {
    /// Unless the first has been replaced: what it had is still to be joined.
    IfFollowed,
    /// What it had is joined.
    Always,
    /// If there is one. What it had is meant to be gone.
    IfThere,
}

/// Returns the name of the second ref; `None` for a ref that needs none.
pub(super) fn kept_name(ref_name: &str) -> Option<String> {
    let name = match ref_name {
        ARCHIVE_REF | "refs/shiftlog/purged" => ref_name.strip_prefix("refs/shiftlog/")?,
        name if name.starts_with("refs/notes/") => name.strip_prefix("refs/")?,
        _ => return None,
    };
    Some(format!("{KEPT_PREFIX}{name}"))
}

impl Repository {
    /// Returns the tree that one of our refs had after our last write, if the ref has been replaced or deleted since.
    ///
    /// A ref that still has that state in its history was changed, not replaced: somebody who ran `git notes remove`
    /// meant it. Costs a look at two refs if nobody else has written, otherwise a walk back to our last write.
    ///
    /// # Errors
    ///
    /// As [`Repository::tip`].
    pub fn lost_tree(&self, ref_name: &str) -> Result<Option<ObjectId>> {
        Ok(self.lost_of(ref_name, self.tip(ref_name)?))
    }

    /// Joins the tree that was lost with a ref to what the ref has now. Returns whether the ref moved.
    ///
    /// `join` gets the tip and the lost tree and returns the tree to have; it may run several times, as in
    /// [`Repository::update_ref`].
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn rejoin_ref(
        &self,
        ref_name: &str,
        message: &str,
        deadline: Instant,
        mut join: impl FnMut(Option<Tip>, ObjectId) -> Result<ObjectId>,
    ) -> Result<bool> {
        self.attempt(ref_name, deadline, |tip| {
            let Some(lost) = self.lost_of(ref_name, tip) else { return Ok(false) };
            let tree_id = join(tip, lost)?;
            if tip.is_some_and(|tip| tip.tree_id == tree_id) {
                self.move_refs(self.kept_edit(ref_name, message, tip, tree_id, Keep::Always)?)?;
                return Ok(false);
            }
            let parents: Vec<ObjectId> = tip.iter().map(|tip| tip.commit_id).collect();
            // What is joined again can be anybody's.
            let commit_id = self.carry(message, tree_id, &parents)?;
            self.swap(ref_name, message, tip, Tip { commit_id, tree_id }, Keep::Always)?;
            Ok(true)
        })
    }

    /// Makes the second ref of one of ours name what the ref has now, whatever it named before.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn keep_ref(&self, ref_name: &str, deadline: Instant) -> Result<()> {
        self.attempt(ref_name, deadline, |tip| {
            if let Some(tip) = tip {
                let message = "shiftlog: keep what is there";
                self.move_refs(self.kept_edit(ref_name, message, Some(tip), tip.tree_id, Keep::Always)?)?;
            }
            Ok(false)
        })?;
        Ok(())
    }

    /// Removes the second ref of one of ours.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn forget_kept(&self, ref_name: &str) -> Result<()> {
        kept_name(ref_name).map_or(Ok(()), |name| self.delete_ref(&name))
    }

    /// Says whether a ref has a second one.
    pub fn is_kept(&self, ref_name: &str) -> bool {
        self.kept_tree(ref_name).is_some()
    }

    /// Returns the change of the second ref that goes with a change of the first from `tip` to a commit with `tree_id`.
    pub(super) fn kept_edit(
        &self,
        ref_name: &str,
        message: &str,
        tip: Option<Tip>,
        tree_id: ObjectId,
        keep: Keep,
    ) -> Result<Option<RefEdit>> {
        let Some(name) = kept_name(ref_name) else { return Ok(None) };
        let kept = self.kept_tree(ref_name);
        let stays = match keep {
            Keep::IfFollowed => kept.is_some_and(|kept| !self.follows(tip, kept)),
            Keep::IfThere => kept.is_none(),
            Keep::Always => false,
        };
        if stays || kept == Some(tree_id) {
            return Ok(None);
        }
        Ok(Some(RefEdit::update(full_name(&name)?, tree_id, PreviousValue::Any, message)))
    }

    fn lost_of(&self, ref_name: &str, tip: Option<Tip>) -> Option<ObjectId> {
        self.kept_tree(ref_name).filter(|kept| !self.follows(tip, *kept))
    }

    /// Returns the tree that the second ref names, if that is here.
    pub(super) fn kept_tree(&self, ref_name: &str) -> Option<ObjectId> {
        let reference = self.gix().try_find_reference(kept_name(ref_name)?.as_str()).ok()??;
        let tree_id = reference.target().try_id()?.to_owned();
        self.has_object(tree_id).then_some(tree_id)
    }

    /// Says whether the history of a tip has a commit with this tree.
    fn follows(&self, tip: Option<Tip>, tree_id: ObjectId) -> bool {
        let Some(tip) = tip else { return false };
        if tip.tree_id == tree_id {
            return true;
        }
        let range = Range { tips: vec![tip.commit_id], hidden: Vec::new() };
        let Ok(steps) = self.walk(&range, Order::AsFound) else { return false };
        let has_it = |commit_id| self.commit(commit_id).is_ok_and(|commit| commit.tree_id == tree_id);
        steps.map_while(Result::ok).any(|step| has_it(step.commit_id))
    }
}
