//! Fetched refs while we push.
//!
//! Git moves them when a push has arrived. A `git fetch` of the user's that runs meanwhile and has seen the pushed refs on
//! the remote would want to move them, too, and fail because it is too late. So they are moved before the push begins, and
//! moved back if it does not arrive.

use std::path::PathBuf;

use super::{Shared, Syncer};
use crate::capture::{Lock, State};
use crate::error::{Error, Result};
use crate::git::{ObjectId, Push, Repository, fault_point, private};
use crate::hex;

/// The result of a push.
pub(super) struct Outcome {
    /// Git's message if it did not push all refs.
    pub pushed: Result<()>,
    /// The refs of the remote afterwards.
    pub after: Vec<(String, ObjectId)>,
}

impl Outcome {
    /// Returns what a ref of the remote names now.
    pub(super) fn now(&self, name: &str) -> Option<ObjectId> {
        self.after.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }
}

impl Syncer<'_> {
    /// Pushes refs, and looks at those of the remote with these `names` if that fails.
    ///
    /// # Errors
    ///
    /// If a fetched ref cannot be moved, or if the refs of the remote cannot be listed.
    pub(super) fn push(
        &self,
        remote: &str,
        shared: &[Shared],
        pushes: &[Push],
        names: &[&str],
        lock: &Lock,
    ) -> Result<Outcome> {
        let foreseen = Foreseen::begin(self.repo, remote, shared, pushes)?;
        let pushed = self.repo.push_refs(remote, pushes, self.asking, lock);
        // Servers report a lost race in different words, so the refs are listed again.
        let after = match &pushed {
            Ok(()) => Ok(pushes.iter().map(|push| (push.ref_name.clone(), push.commit_id)).collect()),
            Err(_) => self.repo.remote_refs(remote, names, self.asking),
        };
        let has_arrived =
            |push: &Push| after.iter().flatten().any(|(name, id)| *name == push.ref_name && *id == push.commit_id);
        foreseen.end(has_arrived)?;
        Ok(Outcome { pushed, after: after? })
    }
}

/// Returns why a push failed. Git's line names the first ref that the remote did not take, which is not the only one.
pub(super) fn reason_of(error: &Error) -> String {
    let told = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let of_ref = told.split_once(" -> ").and_then(|(_, rest)| rest.split_once(" (")?.1.strip_suffix(')'));
    of_ref.map_or_else(|| told.clone(), str::to_owned)
}

/// Returns what a ref names, whether or not it can be read.
fn named(repo: &Repository, ref_name: &str) -> Option<ObjectId> {
    repo.ref_targets(ref_name).into_iter().find(|(name, _)| name == ref_name).map(|(_, id)| id)
}

/// Takes back what a killed push foresaw: fetched refs that name another commit than the refs of the remote do are removed, and
/// fetched anew.
pub(super) fn settle(
    repo: &Repository,
    remote: &str,
    shared: &[Shared],
    at: impl Fn(&str) -> Option<ObjectId>,
) -> Result<()> {
    if !is_unsure(repo, remote) {
        return Ok(());
    }
    for shared in shared {
        if named(repo, &shared.tracking) != at(&shared.name) {
            repo.delete_ref(&shared.tracking)?;
        }
    }
    private::remove(&mark(repo, remote))
}

/// Says whether a push to a remote was killed, so that the fetched refs tell what may not have arrived.
pub(super) fn is_unsure(repo: &Repository, remote: &str) -> bool {
    mark(repo, remote).exists()
}

/// The file that is there while a push to a remote is under way.
fn mark(repo: &Repository, remote: &str) -> PathBuf {
    State::new(&repo.common_dir()).root().join(format!("foreseen-{}", hex::xxh3(remote.as_bytes())))
}

/// Fetched refs that were moved before what they name is on the remote.
struct Foreseen<'p> {
    repo: &'p Repository,
    remote: &'p str,
    /// Each push with the fetched ref, and what that named before.
    moved: Vec<(&'p Push, String, Option<ObjectId>)>,
}

impl<'p> Foreseen<'p> {
    /// Moves the refs. One that is locked, as by a fetch, stays and keeps no push from beginning.
    fn begin(repo: &'p Repository, remote: &'p str, shared: &[Shared], pushes: &'p [Push]) -> Result<Self> {
        private::write(&mark(repo, remote), b"")?;
        let mut foreseen = Foreseen { repo, remote, moved: Vec::new() };
        for push in pushes {
            let Some(shared) = shared.iter().find(|shared| shared.name == push.ref_name) else { continue };
            let before = named(repo, &shared.tracking);
            let _ = repo.point_ref(&shared.tracking, push.commit_id);
            foreseen.moved.push((push, shared.tracking.clone(), before));
        }
        fault_point("push-foreseen");
        Ok(foreseen)
    }

    /// Moves back what has not arrived. If that fails, the mark stays.
    fn end(self, has_arrived: impl Fn(&Push) -> bool) -> Result<()> {
        let back = self.moved.iter().map(|(push, tracking, before)| match before {
            // A fetch of the user's may have moved it back meanwhile.
            _ if has_arrived(push) => self.repo.point_ref(tracking, push.commit_id),
            Some(before) => self.repo.point_ref(tracking, *before),
            None => self.repo.delete_ref(tracking),
        });
        back.fold(Ok(()), Result::and)?;
        private::remove(&mark(self.repo, self.remote))
    }
}
