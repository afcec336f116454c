//! Sharing: bringing what others recorded, joining it to ours, and pushing what they have not.
//!
//! Read [`Syncer::sync`]. A merge is a union: records are never removed by it, whatever the other side has removed.
//! Fetch and push are Git's own; a push holds only if the remote is where it was when we looked, so nobody's words are
//! ever overwritten.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::state::write_private;
use super::tombstone::{self, Tombstones};
use super::{Note, State, Unit, purge};
use crate::archive::{self, Archive};
use crate::error::{Error, Kind, Result};
use crate::git::{Asking, Fetch, ObjectId, Push, Repository};
use crate::notes::{self, Resolved, Versions};

/// How often a push is tried when others are faster.
const MAX_ATTEMPTS: u32 = 40;
/// How many times as long as for a ref of our own to wait before the next: a push takes longer than an edit.
const PUSH_BACKOFF: u32 = 8;
/// How long one merge may take while other processes keep moving the same ref.
const MERGE_TIMEOUT: Duration = Duration::from_secs(20);

/// What of a repository is shared.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// Notes: summaries without transcripts.
    Notes,
    /// Notes and transcripts.
    All,
}

/// What to do with a remote.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What to fetch and join to ours.
    pub pull: Level,
    /// What to push. What is pushed is fetched first.
    pub push: Level,
    /// Whether to say only what would be done.
    pub is_dry_run: bool,
}

/// How much came or went.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Amount {
    /// Notes that are new or have more in them.
    pub notes: usize,
    /// Segments that were not there.
    pub segments: usize,
}

/// What was done with a remote.
#[derive(Debug, Default)]
pub struct Synced {
    /// What came and was new to us.
    pub received: Amount,
    /// What went and was new to the remote.
    pub sent: Amount,
    /// Refs that the remote does not take, and why.
    pub refused: Vec<Error>,
    /// What a dry run would do.
    pub would: Vec<String>,
    /// Whether others have removed words for good that were here.
    pub has_purged: bool,
}

impl Level {
    /// Returns what is pushed to a remote: `shiftlog.<remote>.push`, then `shiftlog.push`, then nothing.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`] for a value that is none.
    pub fn of(repo: &Repository, remote: &str) -> Result<Self> {
        let own = format!("shiftlog.{remote}.push");
        let value = repo.config_string(&own).or_else(|| repo.config_string("shiftlog.push"));
        match value.as_deref() {
            None | Some("none" | "false" | "no" | "off" | "") => Ok(Level::None),
            Some("notes") => Ok(Level::Notes),
            Some("all") => Ok(Level::All),
            Some(other) => Err(Error::new(Kind::Usage, format!("bad value '{other}' for shiftlog.push"))
                .hint("it is 'none', 'notes' or 'all'")),
        }
    }
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
    /// Where the remote's is kept.
    tracking: String,
    what: What,
}

impl Shared {
    fn fetch(&self, there: ObjectId) -> Fetch {
        Fetch { ref_name: self.name.clone(), commit_id: there, tracking: self.tracking.clone() }
    }
}

/// What a shared ref holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum What {
    Notes,
    Sessions,
    Purged,
}

impl<'r> Syncer<'r> {
    /// Makes one for the notes under `notes_ref`.
    pub fn new(repo: &'r Repository, notes_ref: &str, asking: Asking) -> Self {
        Syncer { repo, notes_ref: notes_ref.to_owned(), asking }
    }

    /// Fetches, merges and pushes as planned; starts again when another was faster.
    ///
    /// Transcripts go to and come from `shiftlog.sessionsRemote` if that is set.
    ///
    /// # Errors
    ///
    /// If the remote cannot be reached, or never stands still. What has been fetched by then is merged.
    pub fn sync(&self, remote: &str, plan: Plan) -> Result<Synced> {
        let mut synced = Synced::default();
        let elsewhere = self.repo.config_string("shiftlog.sessionsRemote").filter(|other| other != remote);
        // The words go first: a note whose words are not there yet is worse than words without a note.
        if let Some(other) = &elsewhere
            && plan.pull.max(plan.push) == Level::All
        {
            self.sync_refs(other, &[What::Purged, What::Sessions], plan, &mut synced)?;
        }
        let all = [What::Purged, What::Sessions, What::Notes];
        let without_words = [What::Purged, What::Notes];
        let whats = if elsewhere.is_some() { &without_words[..] } else { &all[..] };
        self.sync_refs(remote, whats, plan, &mut synced)?;
        Ok(synced)
    }

    fn sync_refs(&self, remote: &str, whats: &[What], plan: Plan, synced: &mut Synced) -> Result<()> {
        let is_in = |what: What, level: Level| level == Level::All || (level == Level::Notes && what != What::Sessions);
        let wanted = whats.iter().filter(|what| is_in(**what, plan.pull) || is_in(**what, plan.push));
        let shared: Vec<Shared> = wanted.map(|what| self.shared(remote, *what)).collect();
        let names: Vec<&str> = shared.iter().map(|shared| shared.name.as_str()).collect();
        let mut refused: Vec<String> = Vec::new();
        let mut theirs = self.repo.remote_refs(remote, &names, self.asking)?;
        for attempt in 0.. {
            let at = |name: &str| theirs.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
            self.fetch(remote, &shared, at, plan, synced)?;
            if !plan.is_dry_run {
                for shared in &shared {
                    if at(&shared.name).is_some() {
                        self.merge(shared, &mut synced.received, &mut synced.has_purged)?;
                    }
                }
            }
            let mut pushes = Vec::new();
            for shared in
                shared.iter().filter(|shared| is_in(shared.what, plan.push) && !refused.contains(&shared.name))
            {
                let Some(ours) = self.repo.tip(&shared.name)? else { continue };
                let expected = at(&shared.name);
                if expected != Some(ours.commit_id) {
                    pushes.push(Push { ref_name: shared.name.clone(), commit_id: ours.commit_id, expected });
                }
            }
            if plan.is_dry_run {
                let line = |push: &Push| format!("push {} to {remote}", push.ref_name);
                synced.would.extend(pushes.iter().map(line));
                return Ok(());
            }
            if pushes.is_empty() {
                return Ok(());
            }
            let outcome = self.repo.push_refs(remote, &pushes, self.asking);
            // What servers say when another was faster differs; where their refs are tells it.
            let after = match &outcome {
                Ok(()) => pushes.iter().map(|push| (push.ref_name.clone(), push.commit_id)).collect(),
                Err(_) => self.repo.remote_refs(remote, &names, self.asking)?,
            };
            let now = |name: &str| after.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
            let mut is_contended = false;
            for push in &pushes {
                let shared = shared.iter().find(|shared| shared.name == push.ref_name);
                if now(&push.ref_name) == Some(push.commit_id) {
                    let Some(shared) = shared else { continue };
                    self.count_sent(shared, push, &mut synced.sent)?;
                    self.repo.point_ref(&shared.tracking, push.commit_id)?;
                } else if now(&push.ref_name) != push.expected {
                    is_contended = true;
                } else if let Err(error) = &outcome {
                    let reason =
                        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
                    let error = Error::other(format!("'{remote}' does not take '{}'", push.ref_name)).because(reason);
                    synced.refused.push(self.advised(error, push));
                    refused.push(push.ref_name.clone());
                }
            }
            if !is_contended {
                return Ok(());
            }
            if attempt + 1 == MAX_ATTEMPTS {
                return Err(Error::new(Kind::Busy, format!("cannot push to '{remote}': others kept being faster"))
                    .hint("nothing is lost; 'git shiftlog sync' tries again"));
            }
            std::thread::sleep(crate::git::backoff(attempt) * PUSH_BACKOFF);
            theirs = self.repo.remote_refs(remote, &names, self.asking)?;
        }
        Ok(())
    }

    fn advised(&self, error: Error, push: &Push) -> Error {
        if push.ref_name == archive::REF {
            error.hint("git config shiftlog.sessionsRemote <remote>    # keeps transcripts elsewhere")
        } else {
            error
        }
    }

    fn shared(&self, remote: &str, what: What) -> Shared {
        let (name, last) = match what {
            What::Notes => (self.notes_ref.as_str(), notes_name(&self.notes_ref)),
            What::Sessions => (archive::REF, "sessions".into()),
            What::Purged => (tombstone::REF, "purged".into()),
        };
        Shared { name: name.to_owned(), tracking: tracking_ref(self.repo, remote, &last), what }
    }

    /// Fetches what the remote has and we have not.
    fn fetch(
        &self,
        remote: &str,
        shared: &[Shared],
        at: impl Fn(&str) -> Option<ObjectId>,
        plan: Plan,
        synced: &mut Synced,
    ) -> Result<()> {
        let mut wanted: Vec<(What, Fetch)> = Vec::new();
        let known = Known::read(self.repo);
        for shared in shared {
            let Some(there) = at(&shared.name) else { continue };
            let has_it = self.repo.tip(&shared.tracking)?.is_some_and(|tip| tip.commit_id == there);
            if !has_it && !known.has(&shared.tracking, there) {
                wanted.push((shared.what, shared.fetch(there)));
            }
        }
        if plan.is_dry_run {
            synced.would.extend(wanted.iter().map(|(_, fetch)| format!("fetch {} from {remote}", fetch.ref_name)));
            return Ok(());
        }
        // Without its notes, a partial clone would ask for them one by one; words can wait until they are read.
        let is_partial = self.repo.is_partial();
        let rounds: &[(&[What], Option<&str>)] = if is_partial {
            &[(&[What::Purged, What::Notes], Some("--no-filter")), (&[What::Sessions], Some("--filter=blob:none"))]
        } else {
            &[(&[What::Purged, What::Notes, What::Sessions], None)]
        };
        for (whats, filter) in rounds {
            let wanted = wanted.iter().filter(|(what, _)| whats.contains(what));
            let fetches: Vec<Fetch> = wanted.map(|(_, fetch)| fetch.clone()).collect();
            if !fetches.is_empty() {
                self.repo.fetch_refs(remote, &fetches, *filter, self.asking)?;
            }
        }
        Ok(())
    }

    /// Fetches all transcripts of a remote once more, also those that we should have: some are missing here.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn fetch_again(&self, remote: &str) -> Result<()> {
        let shared = self.shared(remote, What::Sessions);
        let theirs = self.repo.remote_refs(remote, &[&shared.name], self.asking)?;
        let Some((_, there)) = theirs.first() else { return Ok(()) };
        self.repo.fetch_refs(remote, &[shared.fetch(*there)], Some("--refetch"), self.asking)
    }

    /// Joins what was fetched to ours.
    fn merge(&self, shared: &Shared, received: &mut Amount, has_purged: &mut bool) -> Result<()> {
        let Some(theirs) = self.repo.tip(&shared.tracking)? else { return Ok(()) };
        let before = self.repo.tip(&shared.name)?.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
        let deadline = Instant::now() + MERGE_TIMEOUT;
        if shared.what == What::Purged {
            // Should this end before our refs have been rewritten, the next sync must know.
            let unapplied = State::new(&self.repo.common_dir()).root().join("received");
            let was_unapplied = unapplied.exists();
            write_private(&unapplied, b"")?;
            if tombstone::merge(self.repo, theirs.commit_id, deadline)? || was_unapplied {
                purge::apply_received(self.repo, &self.notes_ref)?;
                *has_purged = true;
            }
            return std::fs::remove_file(&unapplied).map_err(|error| Error::io("remove", &unapplied, error));
        }
        let purged = Tombstones::read(self.repo)?;
        match shared.what {
            What::Purged => {}
            What::Notes => {
                let takes_all = purged.is_empty();
                notes::merge(self.repo, &shared.name, theirs.commit_id, takes_all, deadline, |versions| {
                    Ok(resolve(self.repo, &purged, versions))
                })?;
            }
            What::Sessions => {
                let is_barred = |path: &str, id: ObjectId| {
                    purged.segments.contains_key(&id)
                        || archive::session_of_path(path).is_some_and(|session| purged.bars(&session))
                };
                Archive::new(self.repo).merge(theirs.commit_id, deadline, is_barred)?;
            }
        }
        let after = self.repo.tip(&shared.name)?.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
        self.count(shared.what, before, after, received)
    }

    fn count_sent(&self, shared: &Shared, push: &Push, sent: &mut Amount) -> Result<()> {
        // What was there may be gone here, after a purge.
        let tree = |id: Option<ObjectId>| match id.filter(|id| self.repo.has_object(*id)) {
            Some(id) => Ok(self.repo.commit(id)?.tree_id),
            None => Ok::<_, Error>(self.repo.empty_tree_id()),
        };
        self.count(shared.what, tree(push.expected)?, tree(Some(push.commit_id))?, sent)
    }

    fn count(&self, what: What, before: ObjectId, after: ObjectId, amount: &mut Amount) -> Result<()> {
        match what {
            What::Notes => amount.notes += notes::changed(self.repo, before, after)?.len(),
            What::Sessions => amount.segments += Archive::new(self.repo).added(before, after)?.len(),
            What::Purged => {}
        }
        Ok(())
    }
}

/// Returns the ref under which a ref of a remote is kept.
fn tracking_ref(repo: &Repository, remote: &str, last: &str) -> String {
    // A remote that is given by its URL has no name to keep its refs under.
    if repo.remotes().iter().any(|name| name == remote) {
        format!("refs/shiftlog/remotes/{remote}/{last}")
    } else {
        format!("refs/shiftlog/remotes/url-{:016x}/{last}", twox_hash::XxHash3_64::oneshot(remote.as_bytes()))
    }
}

/// Returns the last part of the name under which a remote's notes are kept. Only what belongs to our own notes is read
/// beside them.
fn notes_name(notes_ref: &str) -> Cow<'static, str> {
    if notes_ref == notes::DEFAULT_REF {
        "notes".into()
    } else {
        format!("notes-{:016x}", twox_hash::XxHash3_64::oneshot(notes_ref.as_bytes())).into()
    }
}

/// Says whether a push to `remote` has anything new, as far as is known here, without asking the remote.
///
/// # Errors
///
/// If a ref cannot be read.
pub fn has_news(repo: &Repository, notes_ref: &str, remote: &str, level: Level) -> Result<bool> {
    let pairs = [(notes_ref, notes_name(notes_ref), Level::Notes), (archive::REF, "sessions".into(), Level::All)];
    for (name, last, needed) in pairs {
        let tracking = tracking_ref(repo, remote, &last);
        let ours = repo.tip(name)?.map(|tip| tip.commit_id);
        if level >= needed && ours.is_some() && ours != repo.tip(&tracking)?.map(|tip| tip.commit_id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Does with a remote what its hook asks for: pushes, and writes to the log what came of it.
pub fn push_quietly(repo: &Repository, notes_ref: &str, remote: &str) {
    let state = State::new(&repo.common_dir());
    let pushed = Level::of(repo, remote).and_then(|level| {
        let plan = Plan { pull: Level::None, push: level, is_dry_run: false };
        Syncer::new(repo, notes_ref, Asking::Never).sync(remote, plan)
    });
    match pushed {
        Ok(synced) => {
            state.log(&format!("pushed {} notes, {} segments to {remote}", synced.sent.notes, synced.sent.segments));
            synced.refused.iter().for_each(|error| state.log(&format!("warning: {error}")));
        }
        Err(error) => state.log(&format!("warning: cannot push to {remote}: {error}")),
    }
}

/// Where remotes' refs were when they were joined to ours for the last time before something was removed for good.
///
/// To fetch them once more would bring back what was removed; they are pushed over instead.
#[derive(Default)]
pub struct Known {
    tips: BTreeSet<(String, String)>,
}

impl Known {
    /// Reads what was written down.
    pub fn read(repo: &Repository) -> Self {
        let text = std::fs::read_to_string(Self::file(repo)).unwrap_or_default();
        let pair = |line: &str| line.split_once(' ').map(|(name, hex)| (name.to_owned(), hex.to_owned()));
        Known { tips: text.lines().filter_map(pair).collect() }
    }

    /// Adds where a ref is that repeats a remote's.
    pub fn add(&mut self, tracking: &str, commit_id: ObjectId) {
        self.tips.insert((tracking.to_owned(), commit_id.to_string()));
    }

    /// Writes it down.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`] when the disk is full or read-only.
    pub fn write(&self, repo: &Repository) -> Result<()> {
        let text: String = self.tips.iter().map(|(name, hex)| format!("{name} {hex}\n")).collect();
        write_private(&Self::file(repo), text.as_bytes())
    }

    fn has(&self, tracking: &str, commit_id: ObjectId) -> bool {
        self.tips.contains(&(tracking.to_owned(), commit_id.to_string()))
    }

    fn file(repo: &Repository) -> std::path::PathBuf {
        State::new(&repo.common_dir()).root().join("joined")
    }
}

/// Joins to ours what was fetched and not joined yet.
///
/// # Errors
///
/// As [`Repository::merge_ref`].
pub fn join_fetched(repo: &Repository, notes_ref: &str) -> Result<()> {
    let syncer = Syncer::new(repo, notes_ref, Asking::Never);
    for remote in repo.remotes() {
        for what in [What::Purged, What::Sessions, What::Notes] {
            syncer.merge(&syncer.shared(&remote, what), &mut Amount::default(), &mut false)?;
        }
    }
    Ok(())
}

/// Makes one note of two. Records are joined; of other lines, those go that one side has removed since both parted.
///
/// Whichever side has all of the other's stands byte for byte, so that clones which merge in turn come to rest.
///
/// What was removed for good is taken out of theirs.
fn resolve(repo: &Repository, purged: &Tombstones, mut versions: Versions) -> Resolved {
    let parse = |bytes: &Option<Vec<u8>>| Note::parse(bytes.as_deref().unwrap_or_default());
    let (ours, mut theirs, base) = (parse(&versions.ours), parse(&versions.theirs), parse(&versions.base));
    let bars_theirs = purged.apply(repo, &mut theirs);
    if bars_theirs {
        versions.theirs = Some(theirs.to_bytes());
    }
    let mut union = ours.clone();
    union.merge(&theirs);
    let is_removed = |unit: &Unit| {
        matches!(unit, Unit::Foreign(_))
            && base.units().contains(unit)
            && !(ours.units().contains(unit) && theirs.units().contains(unit))
    };
    union.retain(|unit| !is_removed(unit));
    let has_all = |side: &Note| {
        union.units().len() == side.units().len() && union.units().iter().all(|unit| side.units().contains(unit))
    };
    let note = if has_all(&theirs) {
        versions.theirs
    } else if has_all(&ours) {
        versions.ours
    } else {
        Some(union.to_bytes())
    };
    Resolved { note: note.filter(|note| !note.is_empty()), bars_theirs }
}
