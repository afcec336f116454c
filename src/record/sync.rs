//! Sharing: bringing what others recorded, joining it to ours, and pushing what they have not.
//!
//! Read [`Syncer::sync`]. A merge is a union: records are never removed by it, whatever the other side has removed.
//! Fetch and push are Git's own; a push holds only if the remote is where it was when we looked, so nobody's words are
//! ever overwritten.

use std::time::{Duration, Instant};

use super::{Note, State, Unit};
use crate::archive::{self, Archive};
use crate::error::{Error, Kind, Result};
use crate::git::{Asking, ObjectId, Push, Repository};
use crate::notes::{self, Resolved, Versions};

/// How often a push is tried when others are faster.
const MAX_ATTEMPTS: u32 = 10;
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

/// What a shared ref holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum What {
    Notes,
    Sessions,
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
            self.sync_refs(other, &[What::Sessions], plan, &mut synced)?;
        }
        let both = [What::Sessions, What::Notes];
        let whats = if elsewhere.is_some() { &both[1..] } else { &both[..] };
        self.sync_refs(remote, whats, plan, &mut synced)?;
        Ok(synced)
    }

    fn sync_refs(&self, remote: &str, whats: &[What], plan: Plan, synced: &mut Synced) -> Result<()> {
        let is_in = |what: What, level: Level| level == Level::All || (level == Level::Notes && what == What::Notes);
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
                        self.merge(shared, &mut synced.received)?;
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
            std::thread::sleep(crate::git::backoff(attempt + 3));
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
        // A remote that is given by its URL has no name to keep its refs under.
        let directory = if self.repo.remotes().iter().any(|name| name == remote) {
            remote.to_owned()
        } else {
            format!("url-{:016x}", twox_hash::XxHash3_64::oneshot(remote.as_bytes()))
        };
        let (name, last) = match what {
            What::Notes => (self.notes_ref.as_str(), "notes"),
            What::Sessions => (archive::REF, "sessions"),
        };
        Shared { name: name.to_owned(), tracking: format!("refs/shiftlog/remotes/{directory}/{last}"), what }
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
        let mut wanted: Vec<&Shared> = Vec::new();
        for shared in shared {
            let there = at(&shared.name);
            let has_it = there.is_none() || self.repo.tip(&shared.tracking)?.map(|tip| tip.commit_id) == there;
            if !has_it {
                wanted.push(shared);
            }
        }
        if plan.is_dry_run {
            synced.would.extend(wanted.iter().map(|shared| format!("fetch {} from {remote}", shared.name)));
            return Ok(());
        }
        // Without its notes, a partial clone would ask for them one by one; words can wait until they are read.
        let is_partial = self.repo.is_partial();
        let rounds: &[(&[What], Option<&str>)] = if is_partial {
            &[(&[What::Notes], Some("--no-filter")), (&[What::Sessions], Some("--filter=blob:none"))]
        } else {
            &[(&[What::Notes, What::Sessions], None)]
        };
        for (whats, filter) in rounds {
            let wanted = wanted.iter().filter(|shared| whats.contains(&shared.what));
            let pairs: Vec<_> = wanted.map(|shared| (shared.name.clone(), shared.tracking.clone())).collect();
            if !pairs.is_empty() {
                self.repo.fetch_refs(remote, &pairs, *filter, self.asking)?;
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
        if self.repo.remote_refs(remote, &[&shared.name], self.asking)?.is_empty() {
            return Ok(());
        }
        self.repo.fetch_refs(remote, &[(shared.name, shared.tracking)], Some("--refetch"), self.asking)
    }

    /// Joins what was fetched to ours.
    fn merge(&self, shared: &Shared, received: &mut Amount) -> Result<()> {
        let Some(theirs) = self.repo.tip(&shared.tracking)? else { return Ok(()) };
        let before = self.repo.tip(&shared.name)?.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
        let deadline = Instant::now() + MERGE_TIMEOUT;
        match shared.what {
            What::Notes => {
                notes::merge(self.repo, &shared.name, theirs.commit_id, true, deadline, |versions| {
                    Ok(resolve(&versions))
                })?;
            }
            What::Sessions => {
                Archive::new(self.repo).merge(theirs.commit_id, deadline, |_| false)?;
            }
        }
        let after = self.repo.tip(&shared.name)?.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
        self.count(shared.what, before, after, received)
    }

    fn count_sent(&self, shared: &Shared, push: &Push, sent: &mut Amount) -> Result<()> {
        let tree =
            |id: Option<ObjectId>| id.map_or(Ok(self.repo.empty_tree_id()), |id| Ok(self.repo.commit(id)?.tree_id));
        self.count(shared.what, tree(push.expected)?, tree(Some(push.commit_id))?, sent)
    }

    fn count(&self, what: What, before: ObjectId, after: ObjectId, amount: &mut Amount) -> Result<()> {
        match what {
            What::Notes => amount.notes += notes::changed(self.repo, before, after)?.len(),
            What::Sessions => amount.segments += Archive::new(self.repo).added(before, after)?.len(),
        }
        Ok(())
    }
}

/// Says whether a push to `remote` has anything new, as far as is known here, without asking the remote.
///
/// # Errors
///
/// If a ref cannot be read.
pub fn has_news(repo: &Repository, notes_ref: &str, remote: &str, level: Level) -> Result<bool> {
    let pairs = [(notes_ref, "notes", Level::Notes), (archive::REF, "sessions", Level::All)];
    for (name, last, needed) in pairs {
        let tracking = format!("refs/shiftlog/remotes/{remote}/{last}");
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

/// Makes one note of two. Records are joined; of other lines, those go that one side has removed since both parted.
///
/// Whichever side has all of the other's stands byte for byte, so that clones which merge in turn come to rest.
fn resolve(versions: &Versions) -> Resolved {
    let parse = |bytes: &Option<Vec<u8>>| Note::parse(bytes.as_deref().unwrap_or_default());
    let (ours, theirs, base) = (parse(&versions.ours), parse(&versions.theirs), parse(&versions.base));
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
        versions.theirs.clone()
    } else if has_all(&ours) {
        versions.ours.clone()
    } else {
        Some(union.to_bytes())
    };
    Resolved { note: note.filter(|note| !note.is_empty()), bars_theirs: false }
}
