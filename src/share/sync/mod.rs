//! Sharing: fetching from a remote, merging into our refs, and pushing.
//!
//! Read [`Syncer::sync`]. A merge is a union: it never removes a record. `git` fetches and pushes; a push succeeds only if
//! the remote's refs have not moved since they were listed, so nobody's data is overwritten.

mod exchange_lock;
mod foreseen;
mod join;
mod known;
mod level;
mod quiet;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

pub use self::exchange_lock::lock_against_exchanges;
use self::join::resolve;
pub use self::known::{Known, has_unjoined};
pub use self::level::Level;
pub use self::quiet::{has_news, push_quietly};
use super::check::{self, Holds};
use crate::archive::{self, Archive};
use crate::capture::{Lock, State};
use crate::error::{Error, Kind, Result};
use crate::git::{Asking, Fetch, KEPT_PREFIX, ObjectId, Push, REMOTES_PREFIX, Repository};
use crate::record::foreign_marks::ForeignMarks;
use crate::record::tombstone::{self, Tombstones};
use crate::record::{Note, Record, Unit, remember_words};
use crate::transcript::SessionKey;
use crate::{hex, notes};

/// All refs of ours but the notes.
const ALL: &str = "refs/shiftlog/*";
/// How often a push is tried when others are faster.
const MAX_ATTEMPTS: u32 = 40;
/// The factor by which to wait longer than for a local ref: a push takes longer than an edit.
const PUSH_BACKOFF: u32 = 8;
/// How long one merge may take while other processes keep moving the same ref.
const MERGE_TIMEOUT: Duration = Duration::from_secs(20);

/// How much to exchange with a remote, and in which direction.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// How much to fetch and merge.
    pub pull: Level,
    /// How much to push. The same refs are fetched first.
    pub push: Level,
    /// Whether only to list what would be done.
    pub is_dry_run: bool,
}

/// How much was fetched or pushed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Amount {
    /// New or extended notes.
    pub notes: usize,
    /// New segments.
    pub segments: usize,
}

/// The result of [`Syncer::sync`].
#[derive(Debug, Default)]
pub struct Synced {
    /// Numbers of what was new here.
    pub received: Amount,
    /// Numbers of what was new to the remote.
    pub sent: Amount,
    /// Whether purge marks were new to the remote.
    pub has_sent_marks: bool,
    /// Refs that the remote does not take, and why.
    pub refused: Vec<Error>,
    /// The actions of a dry run.
    pub would: Vec<String>,
    /// Whether transcripts were wanted, and the remote has notes and no transcripts.
    pub lacks_words: bool,
    /// Whether purge marks of others name something in our archive.
    pub has_purged: bool,
    /// Entries of fetched trees that were left out, and why.
    pub left_out: Vec<String>,
    /// Refs of the remote, put there by a push of all refs, that may keep what was purged here.
    pub kept: Vec<String>,
}

/// Shares the refs of one repository.
pub struct Syncer<'r> {
    repo: &'r Repository,
    notes_ref: String,
    asking: Asking,
}

/// A ref that is shared.
#[derive(Clone, Debug)]
struct Shared {
    name: String,
    /// The ref of ours to which the remote's is fetched.
    tracking: String,
    holds: Holds,
}

impl Shared {
    fn fetch(&self) -> Fetch {
        Fetch { ref_name: self.name.clone(), tracking: self.tracking.clone() }
    }
}

impl<'r> Syncer<'r> {
    /// Makes one for the notes under `notes_ref`.
    pub fn new(repo: &'r Repository, notes_ref: &str, asking: Asking) -> Self {
        Syncer { repo, notes_ref: notes_ref.to_owned(), asking }
    }

    /// Fetches, merges and pushes as planned; starts again when another clone was faster.
    ///
    /// Transcripts go to and come from `shiftlog.sessionsRemote` if that is set.
    ///
    /// # Errors
    ///
    /// If the remote cannot be reached, or other clones were faster each time: what was fetched by then is merged.
    /// [`Kind::Busy`] if a purge is running for long.
    pub fn sync(&self, remote: &str, plan: Exchange) -> Result<Synced> {
        let mut synced = Synced::default();
        let lock = if plan.is_dry_run { None } else { Some(exchange_lock::lock_for_exchange(self.repo)?) };
        let lock = lock.as_ref();
        let elsewhere = self.repo.config_string("shiftlog.sessionsRemote").filter(|other| other != remote);
        let mut complete = Vec::new();
        // Transcripts go first: segments without a note do less harm than a note without its segments.
        if let Some(other) = &elsewhere
            && plan.pull.max(plan.push) == Level::All
        {
            complete.push((
                other.as_str(),
                self.sync_refs(other, &[Holds::Marks, Holds::Sessions], plan, lock, &mut synced)?,
            ));
        }
        let all = [Holds::Marks, Holds::Sessions, Holds::Notes];
        let without_words = [Holds::Marks, Holds::Notes];
        let wanted = if elsewhere.is_some() { &without_words[..] } else { &all[..] };
        complete.push((remote, self.sync_refs(remote, wanted, plan, lock, &mut synced)?));
        if !plan.is_dry_run {
            // All notes that this brought must be here.
            complete.into_iter().for_each(|(remote, is_complete)| remember_words(self.repo, remote, is_complete));
        }
        Ok(synced)
    }

    /// Returns whether all transcripts of the remote are here. Without a lock, nothing is fetched or pushed.
    fn sync_refs(
        &self,
        remote: &str,
        wanted: &[Holds],
        plan: Exchange,
        lock: Option<&Lock>,
        synced: &mut Synced,
    ) -> Result<bool> {
        let is_in =
            |holds: Holds, level: Level| level == Level::All || (level == Level::Notes && holds != Holds::Sessions);
        let wanted = wanted.iter().filter(|holds| is_in(**holds, plan.pull) || is_in(**holds, plan.push));
        let shared: Vec<Shared> = wanted.map(|holds| self.shared(remote, *holds)).collect();
        let wants_words = plan.pull == Level::All && shared.iter().any(|shared| shared.holds == Holds::Sessions);
        let names = shared.iter().map(|shared| shared.name.as_str()).chain([archive::REF, ALL]);
        let names: Vec<&str> = names.collect();
        let mut refused: Vec<String> = Vec::new();
        let mut theirs = self.repo.remote_refs(remote, &names, self.asking)?;
        if !Tombstones::read(self.repo)?.is_empty() {
            let is_copy = |name: &&String| name.starts_with(KEPT_PREFIX) || name.starts_with(REMOTES_PREFIX);
            synced.kept = theirs.iter().map(|(name, _)| name).filter(is_copy).cloned().collect();
        }
        let words = theirs.iter().find(|(name, _)| name == archive::REF).map(|(_, id)| *id);
        let has_notes = theirs.iter().any(|(name, _)| *name == self.notes_ref);
        synced.lacks_words = words.is_none() && has_notes && wants_words;
        let tracking = self.shared(remote, Holds::Sessions).tracking;
        let is_complete = words.is_none_or(|id| {
            shared.iter().any(|shared| shared.holds == Holds::Sessions)
                || matches!(self.repo.tip(&tracking), Ok(Some(tip)) if tip.commit_id == id)
        });
        for attempt in 0.. {
            let at = |name: &str| theirs.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
            if lock.is_some() {
                foreseen::settle(self.repo, remote, &shared, at)?;
            }
            self.fetch(remote, &shared, at, lock, synced)?;
            if !plan.is_dry_run {
                for shared in &shared {
                    if at(&shared.name).is_some() {
                        self.merge(remote, shared, synced)?;
                    }
                }
            }
            let bars = ForeignMarks::read(self.repo, &Tombstones::read(self.repo)?);
            let state = State::new(&self.repo.common_dir());
            let doubtful = bars.doubtful(self.repo, |session| state.is_begun_late(session))?;
            synced.has_purged = !doubtful.is_empty() || hides_ours(self.repo, &bars)?;
            let mut pushes = Vec::new();
            for shared in
                shared.iter().filter(|shared| is_in(shared.holds, plan.push) && !refused.contains(&shared.name))
            {
                let expected = match (at(&shared.name), lock) {
                    // A dry run has not fetched what has come to the remote since the last time. Nothing of it goes back.
                    (Some(_), None) => self.repo.tip(&shared.tracking)?.map(|tip| tip.commit_id),
                    (there, _) => there,
                };
                let outgoing = self.outgoing(shared, expected, (&bars, &doubtful))?;
                let Some(commit_id) = outgoing.filter(|id| Some(*id) != expected) else { continue };
                if let (None, Some(there)) = (lock, expected)
                    && self.repo.merge_base(commit_id, there)? == Some(commit_id)
                {
                    continue;
                }
                pushes.push(Push { ref_name: shared.name.clone(), commit_id, expected });
            }
            let Some(lock) = lock else {
                let line = |push: &Push| format!("push {} to {remote}", push.ref_name);
                synced.would.extend(pushes.iter().map(line));
                return Ok(is_complete);
            };
            if pushes.is_empty() {
                return Ok(is_complete);
            }
            let outcome = self.push(remote, &shared, &pushes, &names, lock)?;
            let mut is_contended = false;
            for push in &pushes {
                let shared = shared.iter().find(|shared| shared.name == push.ref_name);
                if outcome.now(&push.ref_name) == Some(push.commit_id) {
                    let Some(shared) = shared else { continue };
                    self.count_sent(shared, push, &mut synced.sent)?;
                    synced.has_sent_marks |= shared.holds == Holds::Marks;
                } else if outcome.now(&push.ref_name) != push.expected {
                    is_contended = true;
                } else if let (Err(_), Some(id)) = (&outcome.pushed, self.repo.missing_object(push.commit_id)) {
                    let why = format!("object {id}, which it names, is missing here");
                    let error = Error::other(format!("cannot push '{}' to '{remote}'", push.ref_name)).because(why);
                    synced.refused.push(error.hint("'git shiftlog fsck --repair' repairs what can be repaired"));
                    refused.push(push.ref_name.clone());
                } else if let Err(error) = &outcome.pushed {
                    let reason = foreseen::reason_of(error);
                    let error = Error::other(format!("'{remote}' does not take '{}'", push.ref_name)).because(reason);
                    let keep_apart = "git config shiftlog.sessionsRemote <remote>    # keeps transcripts elsewhere";
                    let is_archive = push.ref_name == archive::REF;
                    synced.refused.push(if is_archive { error.hint(keep_apart) } else { error });
                    refused.push(push.ref_name.clone());
                }
            }
            if !is_contended {
                return Ok(is_complete);
            }
            if attempt + 1 == MAX_ATTEMPTS {
                return Err(Error::new(Kind::Busy, format!("cannot push to '{remote}': others kept being faster"))
                    .hint("nothing is lost; 'git shiftlog sync' tries again"));
            }
            std::thread::sleep(crate::git::backoff(attempt) * PUSH_BACKOFF);
            theirs = self.repo.remote_refs(remote, &names, self.asking)?;
        }
        Ok(is_complete)
    }

    fn shared(&self, remote: &str, holds: Holds) -> Shared {
        let (name, last) = match holds {
            Holds::Notes => (self.notes_ref.as_str(), notes_name(&self.notes_ref)),
            Holds::Sessions => (archive::REF, "sessions".into()),
            Holds::Marks => (tombstone::REF, "purged".into()),
        };
        Shared { name: name.to_owned(), tracking: self.repo.tracking_ref(remote, &last), holds }
    }

    /// Fetches the refs that have moved on the remote.
    fn fetch(
        &self,
        remote: &str,
        shared: &[Shared],
        at: impl Fn(&str) -> Option<ObjectId>,
        lock: Option<&Lock>,
        synced: &mut Synced,
    ) -> Result<()> {
        let mut wanted: Vec<(Holds, Fetch)> = Vec::new();
        let known = Known::read(self.repo);
        for shared in shared {
            let Some(there) = at(&shared.name) else { continue };
            let has_it = matches!(self.repo.tip(&shared.tracking), Ok(Some(tip)) if tip.commit_id == there);
            if !has_it && !known.has(&shared.tracking, there) {
                wanted.push((shared.holds, shared.fetch()));
            }
        }
        let Some(lock) = lock else {
            synced.would.extend(wanted.iter().map(|(_, fetch)| format!("fetch {} from {remote}", fetch.ref_name)));
            return Ok(());
        };
        // In a partial clone, notes are fetched at once, not one by one on demand. Segments are fetched when they are read.
        let is_partial = self.repo.is_partial();
        let rounds: &[(&[Holds], Option<&str>)] = if is_partial {
            &[(&[Holds::Marks, Holds::Notes], Some("--no-filter")), (&[Holds::Sessions], Some("--filter=blob:none"))]
        } else {
            &[(&[Holds::Marks, Holds::Notes, Holds::Sessions], None)]
        };
        for (group, filter) in rounds {
            let wanted = wanted.iter().filter(|(holds, _)| group.contains(holds));
            let fetches: Vec<Fetch> = wanted.map(|(_, fetch)| fetch.clone()).collect();
            if !fetches.is_empty() {
                self.repo.fetch_refs(remote, &fetches, *filter, self.asking, lock)?;
            }
        }
        Ok(())
    }

    /// Fetches a ref of a remote again with all its objects, also those that we should have, because some are missing.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn fetch_again(&self, remote: &str, holds: Holds) -> Result<()> {
        let shared = self.shared(remote, holds);
        let theirs = self.repo.remote_refs(remote, &[&shared.name], self.asking)?;
        if theirs.is_empty() {
            return Ok(());
        }
        let lock = exchange_lock::lock_for_exchange(self.repo)?;
        self.repo.fetch_refs(remote, &[shared.fetch()], Some("--refetch"), self.asking, &lock)
    }

    /// Checks a fetched ref and merges it into ours. Purge marks are not merged; they stay in the fetched ref.
    fn merge(&self, remote: &str, shared: &Shared, synced: &mut Synced) -> Result<()> {
        let Some(theirs) = self.checked(remote, shared, &mut synced.left_out)? else { return Ok(()) };
        let before = self.repo.tip(&shared.name)?.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
        let deadline = Instant::now() + MERGE_TIMEOUT;
        let purged = Tombstones::read(self.repo)?;
        match shared.holds {
            Holds::Marks => {}
            Holds::Notes => {
                let takes_all = purged.is_empty();
                let mut is_any_left_out = false;
                notes::merge(self.repo, &shared.name, theirs, takes_all, deadline, |versions| {
                    let (resolved, is_left_out) = resolve(self.repo, &purged, versions);
                    is_any_left_out |= is_left_out;
                    Ok(resolved)
                })?;
                if is_any_left_out {
                    let what = "notes with more lines than are read";
                    synced.left_out.push(format!("left out of '{}' of {remote}: {what}", shared.name));
                }
            }
            Holds::Sessions => {
                let foreign = ForeignMarks::read(self.repo, &purged);
                let is_barred = |path: &str, id| purged.bars_path(path, id) || foreign.replaces_purged(id);
                Archive::new(self.repo).merge(theirs, deadline, is_barred)?;
            }
        }
        let after = self.repo.tip(&shared.name)?.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
        self.count(shared.holds, before, after, &mut synced.received)
    }

    /// Returns the commit to merge: the fetched one, or a copy of it without misfits.
    fn checked(&self, remote: &str, shared: &Shared, left_out: &mut Vec<String>) -> Result<Option<ObjectId>> {
        if let Some(named) = self.repo.names_no_commit(&shared.tracking) {
            left_out.push(format!("left out '{}' of {remote}: it names no commit", shared.name));
            Known::add(self.repo, [(shared.tracking.clone(), named)])?;
            self.repo.delete_ref(&shared.tracking)?;
            return Ok(None);
        }
        let Some(theirs) = self.repo.tip(&shared.tracking)? else { return Ok(None) };
        let known = self.repo.tip(&shared.name)?.map(|tip| tip.commit_id);
        let check = check::fetched(self.repo, shared.holds, theirs.commit_id, known.as_slice())?;
        let Some(clean) = check.clean else { return Ok(Some(theirs.commit_id)) };
        left_out.extend(check.bad.iter().map(|bad| format!("left out of '{}' of {remote}: {bad}", shared.name)));
        // The remote still has the bad commit; it must not be fetched again.
        Known::add(self.repo, [(shared.tracking.clone(), theirs.commit_id)])?;
        self.repo.point_ref(&shared.tracking, clean)?;
        self.repo.forget_reflog(&shared.tracking)?;
        // 'git gc' deletes the objects: another process may be adding a file with the same bytes at this moment.
        Ok(Some(clean))
    }

    /// Returns the commit to push to a ref that names `there` on the remote; `None` if there is nothing to push.
    ///
    /// Leaves out the segments and records that purge marks of others name, and those of [`ForeignMarks::doubtful`]. If our tree
    /// has any of them, a new commit without them is pushed, and not our history.
    fn outgoing(&self, shared: &Shared, there: Option<ObjectId>, removed: Removed<'_>) -> Result<Option<ObjectId>> {
        let Some(ours) = self.repo.tip(&shared.name)? else { return Ok(None) };
        let theirs = there.and(self.repo.tip(&shared.tracking)?);
        if shared.holds == Holds::Marks {
            return theirs.map_or(Ok(Some(ours.commit_id)), |theirs| tombstone::joined(self.repo, ours, theirs));
        }
        if removed.0.is_empty() {
            return Ok(Some(ours.commit_id));
        }
        let base = theirs.map_or(self.repo.empty_tree_id(), |theirs| theirs.tree_id);
        let tree_id = match shared.holds {
            Holds::Sessions => self.segments_without(base, ours.tree_id, removed)?,
            _ => self.notes_without(base, ours.tree_id, removed)?,
        };
        match tree_id {
            None => Ok(Some(ours.commit_id)),
            Some(tree_id) if theirs.is_some_and(|theirs| theirs.tree_id == tree_id) => Ok(None),
            Some(tree_id) => {
                let parents: Vec<ObjectId> = theirs.iter().map(|theirs| theirs.commit_id).collect();
                self.repo.carry(&shared.name, "shiftlog: without what was removed\n", tree_id, &parents).map(Some)
            }
        }
    }

    /// Returns the archive tree `base` with the segments of `ours` that no mark names; `None` if marks name none of them.
    fn segments_without(&self, base: ObjectId, ours: ObjectId, removed: Removed<'_>) -> Result<Option<ObjectId>> {
        let (archive, (bars, doubtful)) = (Archive::new(self.repo), removed);
        let doubtful: HashSet<&ObjectId> = doubtful.values().flatten().collect();
        let mut new = archive.added(base, ours)?;
        let count = new.len();
        new.retain(|(path, id)| !bars.name_path(path, *id) && !doubtful.contains(id));
        if new.len() == count { Ok(None) } else { archive.edited(base, new, &[]).map(Some) }
    }

    /// Does the same for notes.
    fn notes_without(&self, base: ObjectId, ours: ObjectId, removed: Removed<'_>) -> Result<Option<ObjectId>> {
        let (bars, doubtful) = removed;
        let is_barred =
            |record: &Record| doubtful.contains_key(&record.key()) || bars.of_increment(self.repo, record).is_some();
        let mut outgoing = Vec::new();
        let mut is_hit = false;
        for annotated_id in notes::changed(self.repo, base, ours)? {
            let note = |tree_id| -> Result<Note> {
                Ok(Note::parse_unjoined_for_showing(
                    &notes::get_at(self.repo, tree_id, annotated_id)?.unwrap_or_default(),
                ))
            };
            let (theirs, mut ours) = (note(base)?, note(ours)?);
            // Marks cannot be applied to a note that is too large for readers; it is not pushed.
            if !theirs.problems().is_empty() || !ours.problems().is_empty() {
                is_hit = true;
                continue;
            }
            let count = ours.units().len();
            ours.retain(|unit| match unit {
                Unit::Earlier(document, _) => bars.of_session(&document.key()).is_none(),
                unit => !unit.record().is_some_and(is_barred),
            });
            is_hit |= ours.units().len() != count;
            let mut union = theirs.clone();
            union.merge_lines(&ours);
            if union != theirs {
                outgoing.push((annotated_id, union.to_bytes()));
            }
        }
        if !is_hit {
            return Ok(None);
        }
        notes::tree_with(self.repo, base, &outgoing).map(Some)
    }

    fn count_sent(&self, shared: &Shared, push: &Push, sent: &mut Amount) -> Result<()> {
        // After a purge, the remote's old commit may be missing here; or it was no commit.
        let old = push.expected.and_then(|id| self.repo.commit(id).ok());
        let before = old.map_or(self.repo.empty_tree_id(), |old| old.tree_id);
        self.count(shared.holds, before, self.repo.commit(push.commit_id)?.tree_id, sent)
    }

    fn count(&self, holds: Holds, before: ObjectId, after: ObjectId, amount: &mut Amount) -> Result<()> {
        match holds {
            Holds::Notes => amount.notes += notes::changed(self.repo, before, after)?.len(),
            Holds::Sessions => amount.segments += Archive::new(self.repo).added(before, after)?.len(),
            Holds::Marks => {}
        }
        Ok(())
    }
}

/// The purge marks of others, and the segments that they leave in doubt; see [`ForeignMarks::doubtful`].
type Removed<'m> = (&'m ForeignMarks, &'m HashMap<SessionKey, Vec<ObjectId>>);

/// Says whether purge marks of others name something in our archive.
fn hides_ours(repo: &Repository, bars: &ForeignMarks) -> Result<bool> {
    if bars.is_empty() {
        return Ok(false);
    }
    let here = Archive::new(repo).listing(archive::REF)?;
    Ok(here.iter().any(|(path, id)| bars.name_path(path, *id)))
}

/// Returns the last part of the name of the ref to which a remote's notes are fetched: `notes` for the usual notes ref, so
/// that only those are read together with ours.
pub fn notes_name(notes_ref: &str) -> Cow<'static, str> {
    if notes_ref == notes::DEFAULT_REF {
        "notes".into()
    } else {
        format!("notes-{}", hex::xxh3(notes_ref.as_bytes())).into()
    }
}

/// Merges everything that was fetched and is not merged yet.
///
/// # Errors
///
/// As [`Repository::merge_ref`].
pub fn join_fetched(repo: &Repository, notes_ref: &str) -> Result<()> {
    let syncer = Syncer::new(repo, notes_ref, Asking::Never);
    for remote in repo.remotes() {
        for holds in [Holds::Marks, Holds::Sessions, Holds::Notes] {
            syncer.merge(&remote, &syncer.shared(&remote, holds), &mut Synced::default())?;
        }
    }
    Ok(())
}
