//! A second ref for each of ours, which names the tree of the first one after our last write.
//!
//! What rewrites history (`git filter-repo`, BFG) rewrites or deletes every ref that names a commit, and a forced fetch
//! replaces notes. Neither touches a ref that names a tree. So our data stays reachable, and [`Repository::lost_tree`]
//! returns the tree that must be merged back. A forced fetch of all our refs replaces the second ones, too, where a remote has
//! them; then the reflog tells what was there, as long as Git keeps it.

use std::time::Instant;

use bstr::ByteSlice as _;
use gix::refs::transaction::{PreviousValue, RefEdit};

use super::head::end_of;
use super::ref_name::{Tip, full_name};
use super::sign::ARCHIVE_REF;
use super::walk::{Order, Range};
use super::{ObjectId, Repository};
use crate::error::Result;

/// The prefix of these refs.
pub const KEPT_PREFIX: &str = "refs/shiftlog/kept/";

/// When the second ref is updated together with the first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Keep {
    /// Unless something else has replaced the first ref: then the kept tree must still be merged back.
    IfFollowed,
    /// Always: the kept tree has been merged.
    Always,
    /// Only if a second ref exists: the user has removed data on purpose, and the kept tree must lose it, too.
    IfThere,
}

/// Returns the name of the second ref of one of ours; `None` for a ref that needs none.
pub(super) fn kept_name(ref_name: &str) -> Option<String> {
    let name = match ref_name {
        ARCHIVE_REF | "refs/shiftlog/purged" => ref_name.strip_prefix("refs/shiftlog/")?,
        name if name.starts_with("refs/notes/") => name.strip_prefix("refs/")?,
        _ => return None,
    };
    Some(format!("{KEPT_PREFIX}{name}"))
}

impl Repository {
    /// Returns the names of the notes refs that we have ever written, whatever is configured now. A ref may be gone.
    pub fn written_notes_refs(&self) -> Vec<String> {
        let kept = self.ref_names(&format!("{KEPT_PREFIX}notes/"));
        kept.iter().filter_map(|name| Some(format!("refs/{}", name.strip_prefix(KEPT_PREFIX)?))).collect()
    }

    /// Returns the tree of one of our refs after our last write, if the ref has been replaced or deleted since.
    ///
    /// If that tree is still in the history of the ref, the ref was only changed, for example by `git notes remove`. Reads
    /// two refs if nobody else has written, otherwise walks back to our last write.
    ///
    /// # Errors
    ///
    /// As [`Repository::tip`].
    pub fn lost_tree(&self, ref_name: &str) -> Result<Option<ObjectId>> {
        Ok(self.lost_of(ref_name, self.tip(ref_name)?))
    }

    /// Merges the lost tree of a ref back into the ref. Returns whether the ref moved.
    ///
    /// `join` gets the tip and the lost tree and returns the merged tree; it may run several times, as in
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
            // The restored notes can be other people's, so this is not signed.
            let commit_id = self.carry(ref_name, message, tree_id, &parents)?;
            self.swap(ref_name, message, tip, Tip { commit_id, tree_id }, Keep::Always)?;
            Ok(true)
        })
    }

    /// Sets the second ref of one of ours to the ref's present tree.
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

    /// Deletes the second ref of one of ours.
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

    /// Returns the update of the second ref for a move of the first from `tip` to a commit with `tree_id`, if it needs one.
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
        let wanted = match keep {
            // After this write, the reflog no longer tells what was lost before.
            Keep::IfFollowed => Some(self.lost_of(ref_name, tip).unwrap_or(tree_id)),
            Keep::IfThere => kept.map(|_| tree_id),
            Keep::Always => Some(tree_id),
        };
        let Some(wanted) = wanted.filter(|wanted| kept != Some(*wanted)) else { return Ok(None) };
        Ok(Some(RefEdit::update(full_name(&name)?, wanted, PreviousValue::Any, message)))
    }

    fn lost_of(&self, ref_name: &str, tip: Option<Tip>) -> Option<ObjectId> {
        let is_lost = |tree_id: &ObjectId| !self.follows(tip, *tree_id);
        self.kept_tree(ref_name).filter(is_lost).or_else(|| self.logged_tree(ref_name, tip).filter(is_lost))
    }

    /// Returns the tree after our last write as the reflog of the ref tells it, if somebody else has moved the ref since: where
    /// our refs are fetched onto themselves, a fetch replaces the second ref, too, or prunes it. Reads the end of the reflog if
    /// nobody has.
    fn logged_tree(&self, ref_name: &str, tip: Option<Tip>) -> Option<ObjectId> {
        kept_name(ref_name)?;
        let path = self.common_dir().join("logs").join(ref_name);
        let is_ours = |line: &[u8]| line.contains_str("\tshiftlog: ");
        let new_id = |line: &[u8]| self.parse_id(&line.fields().nth(1)?.to_str_lossy());
        let end = end_of(&path).ok()?;
        let last = end.lines().next_back().filter(|last| is_ours(last));
        if last.is_some_and(|last| new_id(last) == tip.map(|tip| tip.commit_id)) {
            return None;
        }
        let log = super::private::read_whole(&path).ok()?;
        let commit_id = new_id(log.lines().rfind(|line| is_ours(line))?)?;
        self.commit(commit_id).ok().map(|commit| commit.tree_id)
    }

    /// Returns the tree that the second ref names, if the repository has it.
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
