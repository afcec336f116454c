//! Importing past sessions: recording the transcripts in the agents' own stores on the commits that they made.
//!
//! Read [`plan`], which writes nothing, then [`carry_out`] in `store`. [`claims`] finds the commits of each session.

pub(crate) mod activity;
pub(crate) mod candidates;
pub mod claims;
mod content;
mod find;
mod load;
mod noted;
mod store;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::candidates::Candidates;
use self::claims::{Attribution, Claim, Confidence, Past, Reason};
use self::load::{Loaded, Loader};
use self::noted::Noted;
pub use self::store::carry_out;
use self::texts::Texts;
use crate::agent::Agent;
use crate::capture::progress::Progress;
use crate::capture::recorder::Report;
use crate::capture::tracked::TrackedSession;
use crate::error::{Error, Result};
use crate::git::private::modified_secs;
use crate::git::{ObjectId, Repository};
use crate::progress::Tell;
use crate::transcript::SessionKey;

/// How long a session without times is assumed to have lasted before its last write.
const LONGEST_SECS: i64 = 60 * 24 * 60 * 60;

/// What to look for.
pub struct Request<'a> {
    /// The agents whose stores are read.
    pub agents: &'a [&'static dyn Agent],
    /// Only sessions that were written since, in seconds since the epoch.
    pub since: i64,
    /// The least confidence for recording a session on a commit.
    pub least: Confidence,
}

/// What the import does with a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// Record it on commits, and archive what was said after the last of them.
    Recorded,
    /// Only archive it: no commit is its own, or its commits have a record already.
    Archived,
    /// Leave it: it is running, and its hooks record it.
    GoingOn,
    /// Leave it: words of it were purged, and would come back.
    Purged,
    /// Leave it: others have purged words of it, and the user has not said what is to become of it here.
    PurgedByOthers,
    /// Leave it: another process has stored or recorded it since the plan was made.
    Changed,
}

/// A commit that a session is recorded on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Link {
    /// The commit.
    pub commit_id: ObjectId,
    /// Why.
    pub reason: Reason,
}

/// A session and its fate.
pub struct Planned {
    /// The session.
    pub key: SessionKey,
    /// Its fate.
    pub fate: Fate,
    /// Its commits, in the order it made them; only with [`Fate::Recorded`].
    pub links: Vec<Link>,
    agent: &'static dyn Agent,
    worktree: PathBuf,
    sources: Vec<Source>,
    /// Its state when the plan was made.
    live: Option<TrackedSession>,
}

/// A transcript: the session's own, or a sub-agent's.
struct Source {
    key: SessionKey,
    path: PathBuf,
    /// Its length when the plan was made; it can only have grown since.
    length: usize,
    check: u64,
    /// Whether a missing line end is added to its last line.
    is_finished: bool,
    progress: Progress,
    /// The newest segment that the archive had.
    newest: Option<ObjectId>,
    /// The position up to which commits have it.
    recorded: u64,
    has_news: bool,
    /// The ends of its parts, with their commits.
    ends: Vec<(u64, ObjectId)>,
}

/// The plan of an import.
#[derive(Default)]
pub struct Import {
    /// The sessions to import or to report.
    pub sessions: Vec<Planned>,
    /// The transcripts that could not be read.
    pub problems: Vec<Error>,
}

/// The result of an import.
#[derive(Default)]
pub struct Done {
    /// The sessions recorded, each with its commits.
    pub recorded: BTreeMap<SessionKey, BTreeSet<ObjectId>>,
    /// The sessions that were only archived.
    pub archived: BTreeSet<SessionKey>,
    /// The sessions that were left because they changed since the plan was made.
    pub changed: BTreeSet<SessionKey>,
    /// Sessions that could not be stored.
    pub problems: Vec<Error>,
    /// The report of the recorder.
    pub report: Report,
}

/// The lock that is held from before [`plan`] until after [`carry_out`], so that two imports do not plan the same.
pub const LOCK: &str = "import.lock";

/// Finds past sessions that ran in this repository, and the commits of each. Writes nothing.
///
/// `tell` gets the number of sessions read so far and their total.
///
/// # Errors
///
/// If history or the notes cannot be read, or the redactor's configuration cannot. A transcript that cannot be read is a
/// problem of the plan.
pub fn plan(repo: &Repository, notes_ref: &str, request: &Request<'_>, tell: Tell<'_>) -> Result<Import> {
    let mut worktrees = repo.worktrees();
    worktrees.sort_by_key(|worktree| std::cmp::Reverse(worktree.top.components().count()));
    let tops: Vec<PathBuf> = worktrees.iter().map(|worktree| worktree.top.clone()).collect();
    let noted = Noted::read(repo, notes_ref)?;
    let mut loader = Loader::new(repo, &noted)?;
    let mut candidates = Candidates::new(repo, &worktrees);
    let (texts, candidates) = (Texts::default(), &mut candidates);
    let mut attribution = Attribution { repo, candidates, tops: &tops, noted: &noted.sessions, texts };
    let mut plan = Import::default();
    let (mut pasts, mut loaded) = (Vec::new(), Vec::new());
    let found = find::find(request, &worktrees);
    for (number, store) in found.iter().enumerate() {
        tell("Reading sessions", number, found.len());
        let Some((mut past, session)) = loader.load(store, &mut plan.problems) else { continue };
        attribution.candidates.reach(past.start().unwrap_or_else(|| begun_after(&store.found.transcript)))?;
        let recorded = noted.commits.get(&past.key).into_iter().flatten();
        past.recorded = recorded.filter_map(|id| Some(attribution.candidates.get(*id)?.time)).collect();
        attribution.claim_surely(&mut past);
        pasts.push(past);
        loaded.push(session);
    }
    attribution.claim_by_subject(&mut pasts);
    Attribution::drop_copies(&mut pasts);
    attribution.claim_by_paths(&mut pasts);
    attribution.claim_by_time(&mut pasts);
    for (past, session) in pasts.into_iter().zip(loaded) {
        plan.sessions.extend(settle(past, session, request.least, &noted));
    }
    Ok(plan)
}

/// Returns a time before the start of a session, from the modification time of its transcript. For agents that write no
/// times.
fn begun_after(transcript: &Path) -> i64 {
    modified_secs(transcript).map_or(i64::MAX, |written| written - LONGEST_SECS)
}

/// Decides the fate of a session and divides its transcripts into parts; `None` if there is nothing to do.
fn settle(past: Past, loaded: Loaded, least: Confidence, noted: &Noted) -> Option<Planned> {
    let Loaded { agent, worktree, mut sources, live, fate } = loaded;
    let Past { key, traces, claims, .. } = past;
    let planned =
        |fate, links, sources| Some(Planned { key: key.clone(), fate, links, agent, worktree, sources, live });
    if let Some(fate) = fate {
        return planned(fate, Vec::new(), Vec::new());
    }
    let end_in = |number: usize, claim: &Claim| match claim.answer {
        Some((trace, end)) if trace == number => end,
        _ => traces[number].end_at(claim.time),
    };
    let is_new = |claim: &&Claim| {
        let is_recorded = noted.sessions.get(&claim.commit_id).is_some_and(|sessions| sessions.contains(&key));
        // Words that commits have already are not recorded again.
        let has_words = sources.first().is_some_and(|own| end_in(0, claim) > own.recorded);
        claim.reason.confidence() >= least && !is_recorded && has_words
    };
    let mut claims: Vec<Claim> = claims.iter().filter(is_new).cloned().collect();
    claims.sort_by_key(|claim| (end_in(0, claim), claim.time, claim.commit_id));
    for (number, source) in sources.iter_mut().enumerate() {
        let ends = claims.iter().map(|claim| (end_in(number, claim), claim.commit_id));
        source.ends = ends.filter(|(end, _)| *end > source.recorded).collect();
    }
    let links: Vec<Link> =
        claims.iter().map(|claim| Link { commit_id: claim.commit_id, reason: claim.reason }).collect();
    if !links.is_empty() {
        return planned(Fate::Recorded, links, sources);
    }
    if sources.iter().any(|source| source.has_news) {
        return planned(Fate::Archived, links, sources);
    }
    None
}
