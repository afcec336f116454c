//! Recording what agents did before anybody recorded it: the transcripts in their own stores, on the commits they made.
//!
//! Read [`plan`], which looks and writes nothing, and [`carry_out`]. Who made which commit is found out in [`claims`].

pub(crate) mod activity;
pub(crate) mod candidates;
pub mod claims;
pub(crate) mod shell;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use twox_hash::XxHash3_64;

use self::activity::Trace;
use self::candidates::Candidates;
use self::claims::{Attribution, Claim, Confidence, Evidence, Past, Texts};
use crate::agent::{Agent, Found};
use crate::archive::Archive;
use crate::capture::reading::{Reading, Redaction, Subject};
use crate::capture::recorder::{Recorder, Report};
use crate::capture::sessions::{is_going_on, new_live};
use crate::capture::state::{Live, Lock, Mark, Progress};
use crate::capture::{self, State};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository, Worktree};
use crate::notes;
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Reader, redaction};
use crate::transcript::{SessionKey, complete_lines};

/// How long the writes of one session may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long to wait for another import before saying so.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for a hook that is running.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A transcript that has not grown for so long is finished, also if its last line has no end.
const QUIET_SECS: i64 = 60 * 60;
/// How many directories below the top of a worktree are asked for.
const MAX_SUBDIRECTORIES: usize = 256;

/// What to look for.
pub struct Request<'a> {
    /// The agents whose stores are read.
    pub agents: &'a [&'static dyn Agent],
    /// Only sessions that were written since, in seconds since the epoch.
    pub since: i64,
    /// How sure it must be that a session belongs to a commit.
    pub least: Confidence,
}

/// What becomes of a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// It is recorded on commits; what was said after the last of them is archived.
    Recorded,
    /// No commit is its own, or those that are have it already: its words are archived.
    Archived,
    /// It is going on: its hooks record it.
    GoingOn,
    /// Something was removed from it for good, and would come back.
    Purged,
    /// Somebody else has stored or recorded it since it was looked at.
    Changed,
}

/// A commit that a session is recorded on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Link {
    /// The commit.
    pub commit_id: ObjectId,
    /// Why.
    pub evidence: Evidence,
}

/// A session with what becomes of it.
pub struct Planned {
    /// The session.
    pub key: SessionKey,
    /// What becomes of it.
    pub fate: Fate,
    /// Its commits, in the order it made them; only with [`Fate::Recorded`].
    pub links: Vec<Link>,
    agent: &'static dyn Agent,
    worktree: PathBuf,
    sources: Vec<Source>,
    /// What our own state had of it.
    live: Option<Live>,
}

/// A transcript: the session's own, or a sub-agent's.
struct Source {
    key: SessionKey,
    path: PathBuf,
    /// Its bytes as they were looked at; it can only have grown since.
    length: usize,
    check: u64,
    /// Whether its last line gets the end that it lacks.
    is_finished: bool,
    progress: Progress,
    /// The newest segment that the archive had.
    newest: Option<ObjectId>,
    /// How far commits have it.
    recorded: u64,
    has_news: bool,
    /// The ends of its parts, with their commits.
    ends: Vec<(u64, ObjectId)>,
}

/// What there is to do.
#[derive(Default)]
pub struct Plan {
    /// The sessions with something to do or to tell.
    pub sessions: Vec<Planned>,
    /// What could not be read.
    pub problems: Vec<Error>,
}

/// What was done.
#[derive(Default)]
pub struct Done {
    /// The sessions recorded, each with its commits.
    pub recorded: BTreeMap<SessionKey, BTreeSet<ObjectId>>,
    /// The sessions whose words alone were stored.
    pub archived: BTreeSet<SessionKey>,
    /// The sessions that were left alone because they are not any more what the plan saw.
    pub changed: BTreeSet<SessionKey>,
    /// Sessions that could not be stored.
    pub problems: Vec<Error>,
    /// What the recorder has to tell.
    pub report: Report,
}

/// Waits until no other process of this repository imports, and keeps others out while it is held.
///
/// A plan is only as good as what it was made from, so this is held from before [`plan`] until after [`carry_out`].
/// `tell` is called once if it takes long.
///
/// # Errors
///
/// If there can be no lock.
pub fn lock(repo: &Repository, tell: &mut dyn FnMut()) -> Result<Lock> {
    let state = State::new(&repo.common_dir());
    let mut has_told = false;
    loop {
        match state.lock_file("import.lock", Instant::now() + PATIENCE) {
            Err(error) if error.kind() == Kind::Busy => {}
            outcome => return outcome,
        }
        if !has_told {
            tell();
            has_told = true;
        }
    }
}

/// Finds the sessions of the past that ran in this repository, and which commits each has made.
///
/// Nothing is written. `tell` gets how many sessions of how many have been read.
///
/// # Errors
///
/// If history or the notes cannot be read, or the redactor's configuration cannot. A transcript that cannot be read is a
/// problem of the plan.
pub fn plan(
    repo: &Repository,
    notes_ref: &str,
    request: &Request<'_>,
    tell: &mut dyn FnMut(usize, usize),
) -> Result<Plan> {
    let mut worktrees = repo.worktrees();
    worktrees.sort_by_key(|worktree| std::cmp::Reverse(worktree.top.components().count()));
    let tops: Vec<PathBuf> = worktrees.iter().map(|worktree| worktree.top.clone()).collect();
    let known = Known::read(repo, notes_ref)?;
    let mut loader = Loader::new(repo, &known)?;
    let mut candidates = Candidates::new(repo, &worktrees);
    let (texts, candidates) = (Texts::default(), &mut candidates);
    let mut attribution = Attribution { repo, candidates, tops: &tops, known: &known.sessions, texts };
    let mut plan = Plan::default();
    let (mut pasts, mut loaded) = (Vec::new(), Vec::new());
    let found = find(request, &worktrees);
    for (number, store) in found.iter().enumerate() {
        tell(number, found.len());
        let Some((mut past, session)) = loader.load(store, &mut plan.problems) else { continue };
        attribution.candidates.reach(past.start().unwrap_or(i64::MAX))?;
        let recorded = known.commits.get(&past.key).into_iter().flatten();
        past.recorded = recorded.filter_map(|id| Some(attribution.candidates.get(*id)?.time)).collect();
        attribution.claim_surely(&mut past);
        pasts.push(past);
        loaded.push(session);
    }
    tell(found.len(), found.len());
    attribution.claim_by_subject(&mut pasts);
    Attribution::drop_copies(&mut pasts);
    attribution.claim_by_paths(&mut pasts);
    attribution.claim_by_time(&mut pasts);
    for (past, session) in pasts.into_iter().zip(loaded) {
        plan.sessions.extend(settle(past, session, request.least, &known));
    }
    Ok(plan)
}

/// A transcript in an agent's store, with where it was found.
struct Stored {
    agent: &'static dyn Agent,
    found: Found,
    directory: PathBuf,
    worktree: PathBuf,
}

/// Returns the transcripts of the sessions that ran in the worktrees, or right below their tops. The deepest directory
/// that has a session counts.
fn find(request: &Request<'_>, worktrees: &[Worktree]) -> Vec<Stored> {
    let mut stored = Vec::new();
    let mut seen = HashSet::new();
    for worktree in worktrees {
        // Which sessions ran in it at all is asked once.
        let mut ran_here = HashMap::new();
        let mut directories = subdirectories(&worktree.top);
        directories.push(worktree.top.clone());
        for directory in directories {
            for agent in request.agents {
                for found in agent.recent(&directory, request.since) {
                    let key = SessionKey::new(agent.name(), &found.session_id);
                    let ran_in = |directory: &Path| agent.ran_in(&found.transcript, directory) == Some(true);
                    let is_here = !seen.contains(&key)
                        && *ran_here.entry(key.clone()).or_insert_with(|| ran_in(&worktree.top))
                        && (directory == worktree.top || ran_in(&directory));
                    if is_here && seen.insert(key) {
                        let (directory, worktree) = (directory.clone(), worktree.top.clone());
                        stored.push(Stored { agent: *agent, found, directory, worktree });
                    }
                }
            }
        }
    }
    stored.sort_by(|a, b| (a.agent.name(), &a.found.session_id).cmp(&(b.agent.name(), &b.found.session_id)));
    stored
}

/// Returns the directories right below a top that belong to the same repository.
fn subdirectories(top: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(top).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut paths: Vec<PathBuf> = directories.map(|entry| entry.path()).collect();
    paths.retain(|path| !path.ends_with(".git") && !path.join(".git").exists());
    paths.sort();
    paths.truncate(MAX_SUBDIRECTORIES);
    paths
}

/// What notes say already.
struct Known {
    /// The sessions on each commit, wherever they are read from.
    sessions: HashMap<ObjectId, HashSet<SessionKey>>,
    /// The commits that each session is on.
    commits: HashMap<SessionKey, Vec<ObjectId>>,
    /// How far our own notes have each session.
    recorded: HashMap<SessionKey, Mark>,
}

impl Known {
    fn read(repo: &Repository, notes_ref: &str) -> Result<Self> {
        let reader = Reader::new(repo, (notes_ref != notes::DEFAULT_REF).then_some(notes_ref));
        let mut sessions = HashMap::new();
        let mut commits: HashMap<SessionKey, Vec<ObjectId>> = HashMap::new();
        for (commit_id, blob_ids) in reader.noted()? {
            let note = reader.note_of_blobs(&blob_ids)?;
            let keys: HashSet<SessionKey> = note.summaries().into_iter().map(|summary| summary.key).collect();
            keys.iter().for_each(|key| commits.entry(key.clone()).or_default().push(commit_id));
            if !keys.is_empty() {
                sessions.insert(commit_id, keys);
            }
        }
        let mut recorded: HashMap<SessionKey, Mark> = HashMap::new();
        for entry in notes::list(repo, notes_ref)? {
            let note = Note::parse(&notes::read(repo, entry.note_blob_id)?);
            for record in note.records() {
                let mark = recorded.entry(record.key()).or_default();
                if record.bytes > mark.bytes {
                    *mark = Mark { segment: Some(record.through.clone()), bytes: record.bytes, raw: None };
                }
            }
        }
        Ok(Known { sessions, commits, recorded })
    }
}

/// Reads sessions and lays them beside what the archive has.
struct Loader<'a, 'r> {
    archive: Archive<'r>,
    state: State,
    redaction: Redaction,
    purged: Tombstones,
    /// What stands in the place of segments that were removed.
    replaced: HashSet<ObjectId>,
    known: &'a Known,
    repo: &'r Repository,
    now: i64,
}

/// A session that has been read, without its words.
struct Loaded {
    agent: &'static dyn Agent,
    worktree: PathBuf,
    sources: Vec<Source>,
    live: Option<Live>,
    /// Set if it is left alone.
    fate: Option<Fate>,
}

impl<'a, 'r> Loader<'a, 'r> {
    fn new(repo: &'r Repository, known: &'a Known) -> Result<Self> {
        let purged = Tombstones::read(repo)?;
        let replaced = purged.segments.values().filter_map(|became| repo.parse_id(became.became.as_deref()?)).collect();
        Ok(Loader {
            archive: Archive::new(repo),
            state: State::new(&repo.common_dir()),
            // Without it nothing can be stored; better to know before anything is read.
            redaction: Rc::new(Ok(redaction::redactor(repo)?)),
            purged,
            replaced,
            known,
            repo,
            now: Time::now().seconds,
        })
    }

    fn load(&mut self, stored: &Stored, problems: &mut Vec<Error>) -> Option<(Past, Loaded)> {
        let key = SessionKey::new(stored.agent.name(), &stored.found.session_id);
        if self.purged.bars(&key) {
            return None;
        }
        let live = self.state.session(&key);
        let (mut traces, mut sources) = (Vec::new(), Vec::new());
        let own = [stored.found.clone()].into_iter();
        for found in own.chain(stored.agent.sub_agents(&stored.found.transcript)) {
            match self.source(stored.agent, &found, &key, live.as_ref()) {
                Ok((trace, source)) => {
                    traces.push(trace);
                    sources.push(source);
                }
                Err(error) if sources.is_empty() => {
                    problems.push(error);
                    return None;
                }
                Err(error) => problems.push(error),
            }
        }
        let fate = if live.as_ref().is_some_and(|live| is_going_on(live, self.now)) {
            Some(Fate::GoingOn)
        } else if live.is_none() && sources.iter().any(|source| self.is_purged(source)) {
            Some(Fate::Purged)
        } else {
            None
        };
        let past = Past::new(key, stored.directory.clone(), stored.worktree.clone(), traces);
        Some((past, Loaded { agent: stored.agent, worktree: stored.worktree.clone(), sources, live, fate }))
    }

    fn source(
        &self,
        agent: &'static dyn Agent,
        found: &Found,
        owner: &SessionKey,
        live: Option<&Live>,
    ) -> Result<(Trace, Source)> {
        let key = SessionKey::new(&owner.agent, &found.session_id);
        let mut bytes = agent.read(&found.transcript)?;
        let (length, check) = (bytes.len(), XxHash3_64::oneshot(&bytes));
        let trace = Trace::of(&agent.parse(&bytes));
        let is_quiet = trace.end.is_none_or(|end| end < self.now - QUIET_SECS);
        let is_finished = live.is_none_or(|live| live.is_over) && is_quiet;
        if is_finished {
            end_last_line(&mut bytes);
        }
        let progress = match live {
            Some(live) if key == *owner => live.progress.clone(),
            Some(live) => live.sub_agents.get(&key.id).cloned().unwrap_or_default(),
            None => Progress::default(),
        };
        let mut source = Source {
            newest: self.archive.newest(&key)?,
            progress: self.recovered(&key, progress)?,
            key,
            path: found.transcript.clone(),
            length,
            check,
            is_finished,
            recorded: 0,
            has_news: complete_lines(&bytes) > 0,
            ends: Vec::new(),
        };
        if source.progress != Progress::default() {
            self.compare(agent, &mut source, bytes)?;
        }
        Ok((trace, source))
    }

    /// Returns how far a session is stored and recorded, from the archive and the notes if our own state does not know.
    fn recovered(&self, key: &SessionKey, progress: Progress) -> Result<Progress> {
        if progress.stored != Mark::default() {
            return Ok(progress);
        }
        let Some(newest) = self.archive.newest(key)? else { return Ok(progress) };
        let bytes = self.archive.header(newest)?.total_bytes();
        let stored = Mark { segment: Some(newest.to_string()), bytes, raw: None };
        let recorded = self.known.recorded.get(key).cloned().unwrap_or_default();
        Ok(Progress { stored, recorded, ..Progress::default() })
    }

    fn compare(&self, agent: &'static dyn Agent, source: &mut Source, bytes: Vec<u8>) -> Result<()> {
        let (archive, redaction) = (&self.archive, &self.redaction);
        let subject = Subject { archive, agent, key: &source.key, redaction, deadline: None };
        let mut reading = Reading::of_bytes(subject, &source.progress, bytes)?;
        source.recorded = reading.position(&source.progress.recorded)?;
        let (kept, end) = (reading.kept(), reading.end());
        source.has_news = kept < end && reading.survey(kept, end)?.until > kept;
        Ok(())
    }

    /// Says whether words of a transcript were removed for good: they would be stored again with all that follows them.
    fn is_purged(&self, source: &Source) -> bool {
        if self.state.is_purged(&source.key) {
            return true;
        }
        let newest = source.progress.stored.segment.as_deref().and_then(|hex| self.repo.parse_id(hex));
        let Some(newest) = newest.filter(|_| !self.replaced.is_empty()) else { return false };
        let (links, _) = self.archive.chain(newest, None);
        links.iter().any(|link| self.replaced.contains(&link.segment_id))
    }
}

fn end_last_line(bytes: &mut Vec<u8>) {
    if bytes.last().is_some_and(|byte| *byte != b'\n') {
        bytes.push(b'\n');
    }
}

/// Decides what becomes of a session, and cuts its transcripts; `None` if there is nothing to do.
fn settle(past: Past, loaded: Loaded, least: Confidence, known: &Known) -> Option<Planned> {
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
        let is_recorded = known.sessions.get(&claim.commit_id).is_some_and(|sessions| sessions.contains(&key));
        // What commits have already is not cut again.
        let has_words = sources.first().is_some_and(|own| end_in(0, claim) > own.recorded);
        claim.evidence.confidence() >= least && !is_recorded && has_words
    };
    let mut claims: Vec<Claim> = claims.iter().filter(is_new).cloned().collect();
    claims.sort_by_key(|claim| (end_in(0, claim), claim.time, claim.commit_id));
    for (number, source) in sources.iter_mut().enumerate() {
        let ends = claims.iter().map(|claim| (end_in(number, claim), claim.commit_id));
        source.ends = ends.filter(|(end, _)| *end > source.recorded).collect();
    }
    let links: Vec<Link> =
        claims.iter().map(|claim| Link { commit_id: claim.commit_id, evidence: claim.evidence }).collect();
    if !links.is_empty() {
        return planned(Fate::Recorded, links, sources);
    }
    if sources.iter().any(|source| source.has_news) {
        return planned(Fate::Archived, links, sources);
    }
    None
}

/// Stores the sessions of a plan and records them on their commits, each through the same path as a hook.
///
/// A session that somebody else has recorded since is left alone. One that fails is a problem, and the others go on. What has been done when this is ended early stays, and is
/// not done again. `tell` gets how many sessions of how many are done.
pub fn carry_out(repo: &Repository, notes_ref: &str, plan: &Plan, tell: &mut dyn FnMut(usize, usize)) -> Done {
    let mut done = Done::default();
    let mut recorder = capture::recorder(repo, notes_ref);
    for (number, planned) in plan.sessions.iter().enumerate() {
        tell(number, plan.sessions.len());
        recorder.let_others_in(Instant::now() + TIMEOUT);
        if !matches!(planned.fate, Fate::Recorded | Fate::Archived) {
            continue;
        }
        let before = recorder.report.recorded.len();
        match import(&mut recorder, planned) {
            Ok(Outcome::More) => drop(done.archived.insert(planned.key.clone())),
            Ok(Outcome::Nothing) => {}
            Ok(Outcome::Changed) => drop(done.changed.insert(planned.key.clone())),
            Err(error) => {
                done.problems.push(Error::other(format!("session {}", planned.key)).because(error.to_string()))
            }
        }
        let commit_ids: BTreeSet<ObjectId> = recorder.report.recorded[before..].iter().map(|(id, _)| *id).collect();
        if !commit_ids.is_empty() {
            done.archived.remove(&planned.key);
            done.recorded.insert(planned.key.clone(), commit_ids);
        }
    }
    tell(plan.sessions.len(), plan.sessions.len());
    done.report = recorder.finish();
    done
}

/// What storing a session came to.
enum Outcome {
    /// The archive has more than before.
    More,
    /// It has the same as before.
    Nothing,
    /// It was not tried: the session is not any more what the plan saw.
    Changed,
}

/// Stores one session, and brings our own state up to date.
fn import(recorder: &mut Recorder<'_>, planned: &Planned) -> Result<Outcome> {
    // From the second look on, no hook comes in between.
    let _lock = recorder.state.lock(Instant::now() + LOCK_TIMEOUT)?;
    let before = recorder.state.session(&planned.key);
    if before != planned.live || has_changed(recorder, planned)? {
        return Ok(Outcome::Changed);
    }
    let path = planned.sources.first().map(|source| source.path.clone()).unwrap_or_default();
    let mut live = before.clone().unwrap_or_else(|| {
        let mut live = new_live(&planned.key, path);
        (live.is_over, live.worktree) = (true, Some(planned.worktree.clone()));
        live
    });
    let mut has_more = false;
    let mut outcome = Ok(());
    for source in &planned.sources {
        let progress = match source.key == planned.key {
            true => &mut live.progress,
            false => live.sub_agents.entry(source.key.id.clone()).or_default(),
        };
        if progress.stored == Mark::default() {
            *progress = source.progress.clone();
        }
        let stored = progress.stored.clone();
        outcome = outcome.and_then(|()| import_source(recorder, planned.agent, source, progress));
        has_more |= progress.stored.segment != stored.segment;
    }
    // What was recorded before a failure must be known next time.
    if recorder.state.session(&planned.key) == before {
        if before.is_some() { recorder.state.update(&live)? } else { recorder.state.save_imported(&live)? }
    }
    outcome.map(|()| if has_more { Outcome::More } else { Outcome::Nothing })
}

/// Says whether the archive has another end of a session than it had, or its commits have records of it by now.
fn has_changed(recorder: &Recorder<'_>, planned: &Planned) -> Result<bool> {
    for source in &planned.sources {
        if recorder.archive.newest(&source.key)? != source.newest {
            return Ok(true);
        }
    }
    for link in &planned.links {
        let note = notes::get(recorder.repo, &recorder.notes_ref, link.commit_id)?.unwrap_or_default();
        if Note::parse(&note).records().any(|record| record.key() == planned.key) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn import_source(
    recorder: &mut Recorder<'_>,
    agent: &dyn Agent,
    source: &Source,
    progress: &mut Progress,
) -> Result<()> {
    let mut bytes = agent.read(&source.path)?;
    let is_same = bytes.get(..source.length).is_some_and(|start| XxHash3_64::oneshot(start) == source.check);
    if !is_same {
        return Err(Error::other(format!("'{}' has changed meanwhile", source.path.display())));
    }
    if source.is_finished && bytes.len() == source.length {
        end_last_line(&mut bytes);
    }
    recorder.record_parts(&source.key, bytes, &source.ends, progress)
}
