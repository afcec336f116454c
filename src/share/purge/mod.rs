//! Removing words for good: from the archive, the notes, their history and reflogs, and from the object database.
//!
//! Read [`plan`], then [`carry_out`]. A session from which a part is taken is stored anew without it, so that what is
//! left still reads back and has a digest. What became of each segment is marked, see `tombstone`. What is to be done is
//! written down first, see `journal`: a purge that was killed is told, and finished by a later command.

mod journal;
mod live;
mod rewrite;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use self::journal::{carry_out, finish_interrupted, is_unfinished};
use crate::archive::{self, Archive, Header};
use crate::error::Result;
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::record::bars::Bars;
use crate::record::tombstone::{Became, Mark, Tombstones};
use crate::record::{EARLIER_REF, Earlier, Note, Record, Unit};
use crate::redact::Redactor;
use crate::transcript::SessionKey;

/// How long one write may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What to remove.
pub enum Target {
    /// What was said for these commits.
    Commits(Vec<ObjectId>),
    /// Sessions with this id, whole, with their sub-agents; nothing of them is stored any more.
    Session(String),
    /// What a redactor finds, wherever it stands; a placeholder takes its place.
    Matches(Redactor),
    /// What was said before, in seconds since the epoch.
    Before(i64),
    /// What others have removed; with `only_signed`, what somebody removed whose signature is good and trusted.
    Received {
        /// Whether marks without such a signature are left.
        only_signed: bool,
    },
}

/// Marks that came from one person at one time.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// How many segments they name that are here.
    pub segments: usize,
    /// The sessions that they name and that are here.
    pub sessions: Vec<String>,
    /// How many segments and sessions they name that are not here.
    pub elsewhere: usize,
    /// Whether they are accepted.
    pub is_taken: bool,
}

/// What is to go.
#[derive(Default)]
pub struct Plan {
    /// Segments of which nothing is left.
    pub dropped: usize,
    /// Segments from which a part goes, or that follow one.
    pub changed: usize,
    /// Notes that change.
    pub notes: usize,
    /// The sessions concerned.
    pub sessions: BTreeSet<SessionKey>,
    /// What others have removed, by who did: `removed by <name> on <date>`.
    pub received: BTreeMap<String, Received>,
    marks: Tombstones,
    /// Documents of earlier tools to remove, by commit.
    earlier_commits: HashSet<ObjectId>,
    earlier_before: Option<i64>,
    redactor: Option<Redactor>,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Purged {
    /// How many objects are gone.
    pub objects: usize,
    /// Objects that could not be removed.
    pub left: Vec<ObjectId>,
    /// Refs that are not ours and keep what ours had.
    pub other_refs: Vec<String>,
    /// Files of agents that still have the words.
    pub agent_files: Vec<PathBuf>,
    /// Remotes that had our refs.
    pub remotes: Vec<String>,
}

impl Plan {
    /// Says whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.dropped == 0 && self.changed == 0 && self.notes == 0 && !self.received.values().any(|from| from.is_taken)
    }
}

/// Marks of others by who made them, those that are accepted, and the sessions that those name.
type AcceptedMarks = (BTreeMap<String, Received>, Vec<Mark>, BTreeSet<SessionKey>);

pub(super) fn deadline() -> Instant {
    Instant::now() + TIMEOUT
}

/// Finds out what is to go. New segments are written already, but nothing reaches them.
///
/// Costs a read of every note, and of every segment for what must be looked for in the words.
///
/// # Errors
///
/// If a note or a segment cannot be read.
pub fn plan(repo: &Repository, notes_ref: &str, target: Target) -> Result<Plan> {
    let archive = Archive::new(repo);
    let mut plan = Plan::default();
    let mut wanted: HashSet<ObjectId> = HashSet::new();
    match &target {
        Target::Received { only_signed } => {
            let (received, taken, sessions) = received(repo, *only_signed)?;
            plan.received = received;
            plan.sessions = sessions;
            for mark in taken {
                match mark {
                    Mark::Segment(id) => drop(wanted.insert(id)),
                    Mark::Session(name) => drop(plan.marks.sessions.insert(name)),
                }
            }
        }
        Target::Commits(commit_ids) => {
            for commit_id in commit_ids {
                plan.earlier_commits.insert(*commit_id);
                let note = notes::get(repo, notes_ref, *commit_id)?.unwrap_or_default();
                for record in Note::parse(&note).records_of_all_versions() {
                    let parse = |hex: &str| repo.parse_id(hex);
                    let Some(through) = parse(&record.through) else { continue };
                    let since = record.since.as_deref().and_then(parse);
                    let (links, _) = archive.chain(through, since);
                    wanted.extend(links.iter().map(|link| link.segment_id).filter(|id| Some(*id) != since));
                }
            }
        }
        Target::Session(id) => {
            let known =
                archive.listing(archive::REF)?.into_iter().filter_map(|(path, _)| archive::session_of_path(&path));
            let noted = noted_sessions(repo, notes_ref)?;
            for key in known.chain(noted) {
                if key.id == *id || key.parent_id() == Some(id) {
                    plan.marks.sessions.insert(key.file_name());
                }
            }
        }
        Target::Before(time) => plan.earlier_before = Some(*time),
        Target::Matches(_) => {}
    }
    let mut by_session: BTreeMap<String, Vec<ObjectId>> = BTreeMap::new();
    for (path, segment_id) in archive.listing(archive::REF)? {
        let session = path.rsplit_once('/').map(|(directory, _)| directory.to_owned()).unwrap_or_default();
        by_session.entry(session).or_default().push(segment_id);
    }
    for segment_ids in by_session.values() {
        let is_wanted = |segment_id: ObjectId, header: &Header| match &target {
            Target::Commits(_) => wanted.contains(&segment_id),
            Target::Session(_) => plan.marks.bars(&SessionKey::new(&header.agent, &header.session)),
            Target::Before(time) => Time::parse_rfc3339(&header.time).is_some_and(|at| at.seconds < *time),
            Target::Received { .. } => {
                wanted.contains(&segment_id) || plan.marks.bars(&SessionKey::new(&header.agent, &header.session))
            }
            Target::Matches(_) => false,
        };
        let redactor = if let Target::Matches(redactor) = &target { Some(redactor) } else { None };
        let outcome = rewrite::rewrite(repo, segment_ids, is_wanted, redactor)?;
        plan.dropped += outcome.dropped;
        plan.changed += outcome.changed;
        plan.sessions.extend(outcome.session.filter(|_| outcome.dropped + outcome.changed > 0));
        plan.marks.segments.extend(outcome.became);
    }
    if let Target::Received { .. } = target {
        // What is not here may still come from somebody.
        for segment_id in wanted {
            plan.marks.segments.entry(segment_id).or_insert_with(Became::nothing);
        }
    }
    if let Target::Matches(redactor) = target {
        plan.redactor = Some(redactor);
    }
    for name in [notes_ref, EARLIER_REF] {
        for entry in notes::list(repo, name)? {
            let bytes = notes::read(repo, entry.note_blob_id)?;
            plan.notes += usize::from(plan.changed_note(repo, entry.annotated_id, &bytes).is_some());
        }
    }
    Ok(plan)
}

/// Returns what others have removed, by who did, the marks that are accepted, and the sessions that those name.
fn received(repo: &Repository, only_signed: bool) -> Result<AcceptedMarks> {
    let bars = Bars::read(repo, &Tombstones::read(repo)?);
    let listing = Archive::new(repo).listing(archive::REF)?;
    let segments: HashSet<ObjectId> = listing.iter().map(|(_, id)| *id).collect();
    let sessions: HashSet<String> =
        listing.iter().filter_map(|(path, _)| Some(archive::session_of_path(path)?.file_name())).collect();
    let all: Vec<Mark> = bars.marks().cloned().collect();
    let mut received: BTreeMap<String, Received> = BTreeMap::new();
    let (mut taken, mut named) = (Vec::new(), BTreeSet::new());
    for (mark, maker) in bars.makers(repo, &all)? {
        let from = received.entry(maker.to_string()).or_default();
        match &mark {
            Mark::Segment(id) if segments.contains(id) => from.segments += 1,
            Mark::Session(name) if sessions.contains(name) => from.sessions.push(name.clone()),
            _ => from.elsewhere += 1,
        }
        from.is_taken = !only_signed || maker.is_trusted();
        if from.is_taken {
            // Their words can be in an agent's file here although no segment of ours has them.
            named.extend(bars.sessions_of(repo, &mark));
            taken.push(mark);
        }
    }
    Ok((received, taken, named))
}

/// Returns the sessions that records name.
fn noted_sessions(repo: &Repository, notes_ref: &str) -> Result<Vec<SessionKey>> {
    let mut sessions = Vec::new();
    for name in [notes_ref, EARLIER_REF] {
        for entry in notes::list(repo, name)? {
            let note = Note::parse(&notes::read(repo, entry.note_blob_id)?);
            sessions.extend(note.units().iter().filter_map(Unit::key));
        }
    }
    Ok(sessions)
}

impl Plan {
    /// Returns what a note is to be; `None` if it stays as it is.
    fn changed_note(&self, repo: &Repository, commit_id: ObjectId, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut note = Note::parse_lines(bytes);
        let mut has_changed = false;
        let before: HashMap<(SessionKey, String), Record> =
            note.records().map(|record| ((record.key(), record.time.clone()), record.clone())).collect();
        if self.marks.apply(repo, &mut note) {
            has_changed = true;
            // Here it is known what the prompt and the summary were, and what of them may stay.
            note.map_records(|mut record| {
                let before = before.get(&(record.key(), record.time.clone()));
                if let Some(before) = before.filter(|_| record.prompt.is_none() && self.redactor.is_some()) {
                    record.prompt.clone_from(&before.prompt);
                    record.summary.clone_from(&before.summary);
                    record.summary_time.clone_from(&before.summary_time);
                }
                Some(record)
            });
        }
        let is_kept = |unit: &Unit| match unit {
            Unit::Earlier(document, _) => {
                let is_old = |time: i64| Time::parse_rfc3339(&document.timestamp).is_some_and(|at| at.seconds < time);
                !self.earlier_commits.contains(&commit_id) && !self.earlier_before.is_some_and(is_old)
            }
            _ => true,
        };
        let count = note.units().len();
        note.retain(is_kept);
        has_changed |= note.units().len() != count;
        let mut after = note.to_bytes();
        if let Some(redactor) = &self.redactor {
            let mut redacted = Note::default();
            for unit in note.units() {
                match unit {
                    Unit::Earlier(document, text) => {
                        let unit = without_matches(document, text, redactor);
                        has_changed |= unit.is_some();
                        redacted.add_unit(unit.unwrap_or_else(|| Unit::Earlier(document.clone(), text.clone())));
                    }
                    unit => redacted.add_unit(unit.clone()),
                }
            }
            let lines = redacted.to_bytes();
            let (clean, dealt) = redactor.redact(&lines);
            let clean = [&clean[..], &lines[dealt..]].concat();
            has_changed |= clean != lines;
            after = clean;
        }
        has_changed.then_some(after)
    }
}

/// Returns a document of an earlier tool without what a redactor finds in its transcript; `None` if it finds nothing.
fn without_matches(document: &Earlier, text: &[u8], redactor: &Redactor) -> Option<Unit> {
    let (transcript, _) = document.transcript().ok()?;
    let (clean, dealt) = redactor.redact(&transcript);
    let clean = [&clean[..], &transcript[dealt..]].concat();
    if clean == transcript {
        return None;
    }
    let (document, text) = document.with_transcript(text, &clean)?;
    Some(Unit::Earlier(Box::new(document), text.into()))
}
