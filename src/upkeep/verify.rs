//! Verifying records: whether they are intact, who wrote them, and whether they were made for this commit.
//!
//! The writer of a record can differ from the one who brought it to a commit. A commit of the notes ref brings the lines
//! that none of its parents has for the same object. Merges, and commits that carry notes to rewritten commits, are not
//! signed.

use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};
use std::rc::Rc;

use bstr::{BStr, ByteSlice as _};

use super::origin::{Brought, Line, LineWriter, Search};
use crate::archive::Archive;
use crate::error::Result;
use crate::git::sign::{Signature, SignatureState};
use crate::git::{Commit, ObjectId, Order, Range, Repository, Tip};
use crate::notes;
use crate::record::{MAX_LINKS, Note, Record, Unit};
use crate::transcript::SessionKey;

/// The result for one record.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The commit.
    pub commit_id: ObjectId,
    /// The session.
    pub key: SessionKey,
    /// The problem with the record or its transcript; `None` if the transcript is complete and has the record's digest.
    pub problem: Option<String>,
    /// Whether the transcript is not in this repository, so that it cannot be checked.
    pub is_elsewhere: bool,
    /// The version of the record's format, if it is newer than this program; then the record is not checked.
    pub newer_version: Option<u64>,
    /// Whether the record was made for the tree of this commit; `None` if it names no tree.
    pub is_own_tree: Option<bool>,
    /// The commit of the notes ref that wrote the record; of several, the one with the best signature.
    pub written_by: Option<ObjectId>,
    /// The author of that commit, as `Name <address>`. Without a good signature, anyone can have written it.
    pub writer: String,
    /// The operation that dropped the history which named the writer, such as "a purge"; `None` if the writer is known.
    pub lost_writer: Option<&'static str>,
    /// Its signature.
    pub signature: Signature,
    /// The author of the notes commit that brought the record here, if it is not the writer; as `Name <address>`.
    pub carried_by: Option<String>,
}

/// The result for some commits.
#[derive(Debug, Default)]
pub struct Verification {
    /// The results for their records.
    pub records: Vec<Verified>,
    /// The commits whose notes were not verified whole, each with a description of the part that was not read.
    pub unread: Vec<(ObjectId, String)>,
}

/// Verifies the records of some commits under `notes_ref`, in the order given.
///
/// The history of the notes ref is read back to where these commits had no note. All of it is walked for the writers of
/// records without a good signature.
///
/// # Errors
///
/// If a note, or the history of its ref, cannot be read.
pub fn verify(repo: &Repository, notes_ref: &str, commit_ids: &[ObjectId]) -> Result<Verification> {
    let Some(tip) = repo.tip(notes_ref)? else { return Ok(Verification::default()) };
    let (mut noted, mut unread) = (Vec::new(), Vec::new());
    for commit_id in commit_ids {
        let bytes = notes::get_at(repo, tip.tree_id, *commit_id)?.unwrap_or_default();
        let lines = lines(&bytes);
        let note = Note::parse_unjoined_for_showing(&bytes);
        drop(bytes);
        unread.extend(note.unread().into_iter().map(|what| (*commit_id, what)));
        if note.records_of_all_versions().next().is_some() {
            noted.push((*commit_id, note, lines));
        }
    }
    let history = History::read(repo, &tip, &noted.iter().map(|(commit_id, ..)| *commit_id).collect())?;
    let mut verified = Vec::new();
    let mut transcripts = Transcripts { repo, problems: HashMap::new(), links: 0 };
    for (commit_id, note, lines) in &noted {
        let tree = repo.commit(*commit_id).ok().map(|commit| commit.tree_id.to_string());
        let mut search = Search::default();
        transcripts.links = 0;
        for unit in note.units() {
            let Some(record) = unit.record() else { continue };
            let newer_version = if let Unit::Newer(newer) = unit { Some(newer.version) } else { None };
            let (problem, is_elsewhere) = match newer_version {
                Some(_) => (None, false),
                None => transcripts.problem(record),
            };
            let own = unit.text().to_str_lossy().into_owned();
            let parts = lines.iter().filter(|(_, line)| *line == own);
            let origins =
                parts.map(|line| search.origin(&history.brought, &history.signatures, line)).collect::<Vec<_>>();
            let origin = origins.into_iter().flatten().min_by_key(|origin| origin.signature.state);
            let carried_by = origin.as_ref().and_then(|origin| history.carrier(*commit_id, &record.key(), origin));
            let lost_writer = origin.as_ref().and_then(|origin| history.lost_writer(origin.commit_id));
            let origin = origin.filter(|_| lost_writer.is_none());
            verified.push(Verified {
                commit_id: *commit_id,
                key: record.key(),
                problem,
                is_elsewhere,
                newer_version,
                is_own_tree: record.tree.as_ref().and_then(|made_for| Some(made_for == tree.as_ref()?)),
                written_by: origin.as_ref().map(|origin| origin.commit_id),
                writer: origin.as_ref().map_or_else(String::new, |origin| author(repo, origin.commit_id)),
                lost_writer,
                signature: origin.map_or_else(Signature::none, |origin| origin.signature),
                carried_by: carried_by.map(|id| author(repo, id)),
            });
        }
    }
    Ok(Verification { records: verified, unread })
}

fn author(repo: &Repository, commit_id: ObjectId) -> String {
    repo.commit(commit_id)
        .map_or_else(|_| String::new(), |commit| format!("{} <{}>", commit.author.name, commit.author.email))
}

/// The transcripts that records name.
struct Transcripts<'r> {
    repo: &'r Repository,
    /// The problem of each by its last segment and its session, because many records can name it.
    problems: HashMap<(ObjectId, SessionKey), Option<String>>,
    /// How many segments were read for the note.
    links: usize,
}

impl Transcripts<'_> {
    /// Returns the problem with a record's transcript, and whether the transcript is not here.
    fn problem(&mut self, record: &Record) -> (Option<String>, bool) {
        let Some(through) = self.repo.parse_id(&record.through) else {
            return (Some(format!("'{}' is no object id", record.through)), false);
        };
        if !self.repo.has_object(through) && !self.repo.is_partial() {
            return (None, true);
        }
        let key = record.key();
        let archive = Archive::new(self.repo).only(&key);
        let at = (through, key.clone());
        if !self.problems.contains_key(&at) {
            if self.links > MAX_LINKS {
                return (Some("it was not read: the note names too many segments".to_owned()), false);
            }
            let contents = archive.transcript(through);
            self.links += contents.links;
            self.problems.insert(at.clone(), contents.problems.into_iter().next());
        }
        if let Some(Some(problem)) = self.problems.get(&at) {
            return (Some(problem.clone()), false);
        }
        let is_it = archive
            .header(through)
            .is_ok_and(|header| header.sha256 == record.sha256 && header.total_bytes() == record.bytes);
        ((!is_it).then(|| "the record tells of another transcript than its segments hold".to_owned()), false)
    }
}

/// Returns the lines of the records of a note, within the limits of readers.
fn lines(note: &[u8]) -> HashSet<Line> {
    let line = |unit: &Unit| Some((unit.record()?.key(), unit.text().to_str_lossy().into_owned()));
    Note::parse_unjoined_for_showing(note).units().iter().filter_map(line).collect()
}

/// A commit of the notes ref.
struct Writing {
    commit_id: ObjectId,
    tree_id: ObjectId,
    /// The trees of its parents.
    parents: Vec<ObjectId>,
}

impl Writing {
    fn of(repo: &Repository, commit: &Commit) -> Result<Self> {
        let parents = commit.parent_ids.iter().map(|parent| Ok(repo.commit(*parent)?.tree_id));
        Ok(Writing { commit_id: commit.commit_id, tree_id: commit.tree_id, parents: parents.collect::<Result<_>>()? })
    }

    /// Returns the objects whose notes differ from those of every parent.
    fn changed(&self, repo: &Repository, wanted: Option<&BTreeSet<ObjectId>>) -> Result<BTreeSet<ObjectId>> {
        let mut written: Option<BTreeSet<ObjectId>> = None;
        let nothing = [repo.empty_tree_id()];
        let parents = if self.parents.is_empty() { &nothing[..] } else { &self.parents };
        for parent in parents {
            let changed = match wanted {
                Some(wanted) => notes::changed_among(repo, *parent, self.tree_id, wanted)?,
                None => notes::changed(repo, *parent, self.tree_id)?,
            };
            written = Some(match written {
                None => changed.into_iter().collect(),
                Some(written) => changed.into_iter().filter(|id| written.contains(id)).collect(),
            });
        }
        Ok(written.unwrap_or_default())
    }
}

/// Returns what made a commit that has records of others without the history that names their writers; `None` for other
/// commits.
fn dropped_history(commit: &Commit) -> Option<&'static str> {
    let begins = |beginning: &str| commit.message.starts_with(beginning.as_bytes());
    match commit.parent_ids.is_empty() {
        true if begins("shiftlog: purge\n") => Some("a purge"),
        true if begins("shiftlog: remove entries that do not belong here\n") => Some("a repair"),
        _ if begins("shiftlog: without what was removed\n") => Some("a purge"),
        _ if begins("shiftlog: the tree of ") || begins("shiftlog: join what was lost\n") => Some("a repair"),
        _ => None,
    }
}

/// Returns the session that a commit of the notes ref says it records: `shiftlog: <session> on <commit>`.
fn session_of(message: &BStr) -> Option<String> {
    let subject = message.lines().next()?.to_str().ok()?.strip_prefix("shiftlog: ")?;
    let (session, commit) = subject.strip_prefix("summary of ").unwrap_or(subject).rsplit_once(" on ")?;
    commit.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| session.to_owned())
}

/// Which commits of a notes ref brought which lines.
struct History<'r> {
    repo: &'r Repository,
    brought: HashMap<Line, Vec<Brought>>,
    /// For each commit and session, the commits of the notes ref that brought a line, newest first.
    bringers: HashMap<(ObjectId, SessionKey), Vec<ObjectId>>,
    signatures: HashMap<ObjectId, Signature>,
    /// Commits that brought records of others, with what made them.
    without_writers: HashMap<ObjectId, &'static str>,
}

impl<'r> History<'r> {
    /// Reads the history of the notes of the wanted commits: first back to where none of them had a note, which is
    /// enough if the writers' signatures are good. The writers of other lines are looked for in the whole history.
    fn read(repo: &'r Repository, tip: &Tip, wanted: &BTreeSet<ObjectId>) -> Result<Self> {
        let (brought, bringers, signatures, without_writers) = Default::default();
        let mut history = History { repo, brought, bringers, signatures, without_writers };
        let mut seen = HashSet::new();
        let mut next = BinaryHeap::from([(i64::MAX, tip.commit_id)]);
        while let Some((_, commit_id)) = next.pop() {
            if !seen.insert(commit_id) {
                continue;
            }
            let commit = repo.commit(commit_id)?;
            let writing = Writing::of(repo, &commit)?;
            history.without_writers.extend(dropped_history(&commit).map(|what| (commit_id, what)));
            for annotated_id in writing.changed(repo, Some(wanted))? {
                history.add(&writing, annotated_id)?;
            }
            for (parent_id, tree_id) in commit.parent_ids.iter().zip(&writing.parents) {
                if !notes::changed_among(repo, repo.empty_tree_id(), *tree_id, wanted)?.is_empty() {
                    next.push((repo.commit(*parent_id)?.committer.time.seconds, *parent_id));
                }
            }
        }
        history.sign()?;
        let unsettled = history.unsettled();
        if unsettled.is_empty() {
            history.prefer_writers();
            return Ok(history);
        }
        // These lines may have been written earlier, or for other commits. Commits that recorded other sessions are
        // skipped. The whole history is walked, because a commit can have any date.
        let range = Range { tips: vec![tip.commit_id], hidden: Vec::new() };
        for step in repo.walk(&range, Order::NewestFirst)? {
            let commit = repo.commit(step?.commit_id)?;
            if session_of(commit.message.as_bstr()).is_some_and(|session| !unsettled.contains(&session)) {
                continue;
            }
            let writing = Writing::of(repo, &commit)?;
            history.without_writers.extend(dropped_history(&commit).map(|what| (commit.commit_id, what)));
            for annotated_id in writing.changed(repo, None)? {
                if !seen.contains(&commit.commit_id) || !wanted.contains(&annotated_id) {
                    history.add(&writing, annotated_id)?;
                }
            }
        }
        history.sign()?;
        history.prefer_writers();
        Ok(history)
    }

    /// Says what dropped the history of the records that a commit brought.
    fn lost_writer(&self, commit_id: ObjectId) -> Option<&'static str> {
        let is_signed =
            self.signatures.get(&commit_id).is_some_and(|signature| signature.state != SignatureState::None);
        self.without_writers.get(&commit_id).copied().filter(|_| !is_signed)
    }

    /// Forgets commits that brought records of others, where another commit brought the same record.
    fn prefer_writers(&mut self) {
        let mut lists = std::mem::take(&mut self.brought);
        for list in lists.values_mut() {
            if list.iter().any(|brought| self.lost_writer(brought.commit_id).is_none()) {
                list.retain(|brought| self.lost_writer(brought.commit_id).is_none());
            }
        }
        self.brought = lists;
    }

    /// Returns the sessions of lines without a good signature: the commit they were carried from may have one.
    fn unsettled(&self) -> HashSet<String> {
        let is_good = |brought: &Brought| {
            self.signatures.get(&brought.commit_id).is_some_and(|signature| signature.state == SignatureState::Good)
        };
        let unsettled = self.brought.iter().filter(|(_, brought)| !brought.iter().any(is_good));
        unsettled.map(|((key, _), _)| key.to_string()).collect()
    }

    /// Adds the lines that a notes commit brought to one note.
    fn add(&mut self, writing: &Writing, annotated_id: ObjectId) -> Result<()> {
        let lines_at = |tree_id: ObjectId| -> Result<HashSet<Line>> {
            let note = notes::get_at(self.repo, tree_id, annotated_id)?;
            Ok(lines(note.as_deref().unwrap_or_default()))
        };
        let now = lines_at(writing.tree_id)?;
        let mut before = HashSet::new();
        for parent in &writing.parents {
            before.extend(lines_at(*parent)?);
        }
        let mut gone: HashMap<&SessionKey, Vec<Line>> = HashMap::new();
        for line in before.iter().filter(|line| !now.contains(*line)) {
            gone.entry(&line.0).or_default().push(line.clone());
        }
        let gone: HashMap<&SessionKey, Rc<Vec<Line>>> =
            gone.into_iter().map(|(key, lines)| (key, Rc::new(lines))).collect();
        for line in now.iter().filter(|line| !before.contains(*line)) {
            let instead_of = gone.get(&line.0).cloned().unwrap_or_default();
            let brought = Brought { commit_id: writing.commit_id, instead_of };
            self.bringers.entry((annotated_id, line.0.clone())).or_default().push(writing.commit_id);
            self.brought.entry(line.clone()).or_default().push(brought);
        }
        Ok(())
    }

    fn sign(&mut self) -> Result<()> {
        let commits = self.brought.values().flatten().map(|brought| brought.commit_id);
        let unknown: BTreeSet<ObjectId> = commits.filter(|id| !self.signatures.contains_key(id)).collect();
        self.signatures.extend(self.repo.signatures(&unknown.into_iter().collect::<Vec<_>>())?);
        Ok(())
    }

    /// Returns the commit that brought a session's lines to an object, if it is not the writer.
    fn carrier(&self, annotated_id: ObjectId, key: &SessionKey, origin: &LineWriter) -> Option<ObjectId> {
        let bringers = self.bringers.get(&(annotated_id, key.clone()))?;
        if bringers.contains(&origin.commit_id) { None } else { bringers.first().copied() }
    }
}
