//! Turning the notes of the earlier tools of this name into records and segments.
//!
//! Read [`plan`], then [`carry_out`]. An earlier tool stored the whole session on each of its commits. Here each
//! session is stored once, and the record of a commit is the increment since the commit before. The result does not
//! depend on who runs it, so two clones that migrate on their own agree.

mod store;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;

use crate::capture::State;
use crate::capture::process::Process;
use crate::capture::reading::Redaction;
use crate::capture::tracked::TrackedSession;
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Order, Range, Repository, Tip};
use crate::progress::Tell;
use crate::record::EARLIER_REF;
use crate::record::tombstone::Tombstones;
use crate::record::{Earlier, Note, Reader, Record, Unit, add_proven, redaction};
use crate::transcript::{SessionKey, Tokens};
use crate::{agent, notes};

/// The refs that keep the notes refs as they were before.
const BACKUP_PREFIX: &str = "refs/shiftlog/backup/";
/// How long one write may take, waiting for other processes.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a session counts as running after its last hook, whatever has become of its process.
const RECENT_SECS: i64 = 60 * 60;

/// A document of an earlier tool that can be migrated.
#[derive(Clone, Debug)]
struct Document {
    /// The commit whose note has the document.
    commit_id: ObjectId,
    /// The index in [`Migration::sources`] of its notes ref.
    source: usize,
    checksum: String,
    /// The length of the unpacked transcript.
    bytes: usize,
    time: Time,
    model: Option<String>,
    /// The tokens of the whole session up to this document.
    tokens: Option<Tokens>,
}

/// The documents of one session, in the order of their commits.
#[derive(Debug)]
pub struct Session {
    /// The session.
    pub key: SessionKey,
    documents: Vec<Document>,
}

impl Session {
    /// Returns the number of commits that have a document of the session.
    pub fn commits(&self) -> usize {
        self.documents.iter().map(|document| document.commit_id).collect::<HashSet<_>>().len()
    }
}

/// A backup of a notes ref.
#[derive(Debug)]
pub struct RefBackup {
    /// The notes ref.
    pub ref_name: String,
    /// The ref to create, which names the same commit.
    pub backup_name: String,
    commit_id: ObjectId,
}

/// A notes ref that documents are read from, and its tip.
#[derive(Debug)]
struct Source {
    ref_name: String,
    tip: Tip,
}

/// The plan of a migration.
#[derive(Debug, Default)]
pub struct Migration {
    /// The sessions to migrate.
    pub sessions: Vec<Session>,
    /// The backups to make.
    pub backups: Vec<RefBackup>,
    /// Other notes refs whose documents become records under ours; they are not changed.
    pub merged_refs: Vec<String>,
    /// The number of documents under our ref that were migrated before and have come back.
    pub repeated: usize,
    /// The documents and notes that are not migrated, and why.
    pub left: Vec<Error>,
    notes_ref: String,
    sources: Vec<Source>,
    /// The documents to remove from our notes, by commit, session and checksum.
    removed: HashSet<(ObjectId, SessionKey, String)>,
    /// The commits with a damaged note under our ref whose documents are all in its history.
    repaired: HashSet<ObjectId>,
    /// The position of each commit in history, oldest first.
    ranks: HashMap<ObjectId, usize>,
}

impl Migration {
    /// Says whether the notes would not change.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.removed.is_empty()
    }
}

/// The lock that is held from before [`plan`] until after [`carry_out`].
pub const LOCK: &str = "migrate.lock";

/// Returns the running sessions: only hooks may store more of them, since they know how far these are stored.
fn live_sessions(repo: &Repository) -> HashSet<SessionKey> {
    let is_recent = |live: &TrackedSession| Time::now().seconds - live.seen < RECENT_SECS;
    // The process that a hook found may have been a wrapper that ended.
    let is_live =
        |live: &TrackedSession| !live.is_over && (is_recent(live) || live.process.is_none_or(Process::is_alive));
    State::new(&repo.common_dir()).sessions().iter().filter(|live| is_live(live)).map(TrackedSession::key).collect()
}

/// Finds the documents under `notes_ref`, under the ref of the first tool, and under `others`. Writes nothing.
///
/// Unpacks each document once. `tell` gets how many notes are read.
///
/// # Errors
///
/// If a note or history cannot be read.
pub fn plan(repo: &Repository, notes_ref: &str, others: &[String], tell: Tell<'_>) -> Result<Migration> {
    let mut plan = Migration { notes_ref: notes_ref.to_owned(), ..Migration::default() };
    let mut found: BTreeMap<SessionKey, Vec<Document>> = BTreeMap::new();
    let names = [notes_ref, EARLIER_REF].into_iter().chain(others.iter().map(String::as_str));
    for name in names {
        let is_known = plan.sources.iter().any(|source| source.ref_name == name);
        if let Some(tip) = repo.tip(name)?.filter(|_| !is_known) {
            plan.sources.push(Source { ref_name: name.to_owned(), tip });
            plan.add_documents(repo, &mut found, tell)?;
        }
    }
    let commit_ids = found.values().flatten().map(|document| document.commit_id).collect();
    plan.ranks = ranks(repo, &commit_ids)?;
    for (key, mut documents) in found {
        documents.sort_by_key(|document| (plan.rank(document.commit_id), document.time, document.bytes));
        plan.sessions.push(Session { key, documents });
    }
    plan.add_backups(repo)?;
    Ok(plan)
}

impl Migration {
    fn rank(&self, commit_id: ObjectId) -> usize {
        self.ranks.get(&commit_id).copied().unwrap_or(usize::MAX)
    }

    /// Adds the documents of the last source.
    fn add_documents(
        &mut self,
        repo: &Repository,
        found: &mut BTreeMap<SessionKey, Vec<Document>>,
        tell: Tell<'_>,
    ) -> Result<()> {
        let source = self.sources.len() - 1;
        let (name, tip) = (self.sources[source].ref_name.clone(), self.sources[source].tip);
        let is_ours = name == self.notes_ref;
        let purged = Tombstones::read(repo)?;
        let live = live_sessions(repo);
        let commit_ids: BTreeSet<ObjectId> =
            notes::list(repo, &name)?.into_iter().map(|entry| entry.annotated_id).collect();
        let count = commit_ids.len();
        for (number, commit_id) in commit_ids.into_iter().enumerate() {
            tell("Reading notes", number, count);
            let bytes = notes::get_at(repo, tip.tree_id, commit_id)?.unwrap_or_default();
            if !bytes.contains_str("checksum") {
                continue;
            }
            let original = Note::parse(&bytes);
            let note = repaired(repo, &name, commit_id, Cow::Borrowed(&original));
            if original.is_damaged() && !is_whole(&original, &note) {
                self.leave(repo, commit_id, None, "a merge has torn its note, and history does not have all of it");
                continue;
            }
            let own =
                if is_ours { Cow::Borrowed(&*note) } else { Cow::Owned(own_note(repo, &self.notes_ref, commit_id)?) };
            for unit in note.units() {
                let Unit::Earlier(document, _) = unit else { continue };
                let (key, checksum) = (document.key(), document.checksum.clone());
                let is_done = own.records().any(|record| record.key() == key && record.earlier.contains(&checksum));
                // A purged session is not migrated.
                if purged.bars(&key) || (is_done && !is_ours) {
                    continue;
                }
                if is_done {
                    self.repeated += 1;
                } else if let Err(error) = add_document(repo, commit_id, source, document, &live, found) {
                    self.leave(repo, commit_id, Some(&key), error);
                    continue;
                }
                if is_ours {
                    self.removed.insert((commit_id, key, checksum));
                } else if !self.merged_refs.contains(&name) {
                    self.merged_refs.push(name.clone());
                }
            }
            if is_ours && original.is_damaged() && self.removed.iter().any(|(id, ..)| *id == commit_id) {
                self.repaired.insert(commit_id);
            }
        }
        Ok(())
    }

    fn leave(
        &mut self,
        repo: &Repository,
        commit_id: ObjectId,
        key: Option<&SessionKey>,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) {
        let commit = repo.abbreviate(commit_id);
        let what = match key {
            Some(key) => format!("session '{key}' on {commit} is left as it is"),
            None => format!("the note of {commit} is left as it is"),
        };
        self.left.push(Error::other(what).because(why));
    }

    /// Plans a backup of our notes ref and of each ref that has documents.
    fn add_backups(&mut self, repo: &Repository) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        for source in &self.sources {
            if source.ref_name != self.notes_ref && !self.merged_refs.contains(&source.ref_name) {
                continue;
            }
            let commit_id = source.tip.commit_id;
            let name = free_name(repo, &source.ref_name, commit_id)?;
            self.backups.extend(name.map(|backup_name| RefBackup {
                ref_name: source.ref_name.clone(),
                backup_name,
                commit_id,
            }));
        }
        Ok(())
    }

    /// Reads the transcript of a document again, from the note at the time of planning.
    fn transcript(&self, repo: &Repository, key: &SessionKey, document: &Document) -> Result<Vec<u8>> {
        let source = &self.sources[document.source];
        let bytes = notes::get_at(repo, source.tip.tree_id, document.commit_id)?.unwrap_or_default();
        let note = repaired(repo, &source.ref_name, document.commit_id, Cow::Owned(Note::parse(&bytes)));
        let found = note.units().iter().find_map(|unit| match unit {
            Unit::Earlier(found, _) if found.key() == *key && found.checksum == document.checksum => Some(found),
            _ => None,
        });
        let found = found.ok_or_else(|| {
            let commit = repo.abbreviate(document.commit_id);
            Error::new(Kind::Busy, format!("cannot read session '{key}' on {commit}: its note has changed meanwhile"))
        })?;
        found.transcript().map(|(transcript, _)| transcript)
    }
}

/// Adds a document to those of its session, unless `found` has it.
///
/// # Errors
///
/// The reason why the document cannot be migrated.
fn add_document(
    repo: &Repository,
    commit_id: ObjectId,
    source: usize,
    document: &Earlier,
    live: &HashSet<SessionKey>,
    found: &mut BTreeMap<SessionKey, Vec<Document>>,
) -> Result<()> {
    let key = document.key();
    if live.contains(&key) {
        return Err(Error::other("the session is going on; run 'git shiftlog migrate' again when it is over"));
    }
    let mut known = found.get(&key).into_iter().flatten();
    if !known.any(|known| known.commit_id == commit_id && known.checksum == document.checksum) {
        let document = checked(repo, commit_id, source, document)?;
        found.entry(key).or_default().push(document);
    }
    Ok(())
}

/// Returns the note of a commit, repaired from the history of its ref if it is damaged.
fn repaired<'n>(repo: &Repository, ref_name: &str, commit_id: ObjectId, note: Cow<'n, Note>) -> Cow<'n, Note> {
    if !note.is_damaged() {
        return note;
    }
    Cow::Owned(Reader::with_refs(repo, Vec::new()).repaired(note.into_owned(), ref_name, commit_id))
}

fn own_note(repo: &Repository, notes_ref: &str, commit_id: ObjectId) -> Result<Note> {
    Ok(Note::parse(&notes::get(repo, notes_ref, commit_id)?.unwrap_or_default()))
}

/// Says whether a repaired note has every document of which the damaged note has fragments.
fn is_whole(damaged: &Note, repaired: &Note) -> bool {
    if repaired.is_damaged() {
        return false;
    }
    let has = |line: &[u8]| {
        repaired.units().iter().any(|unit| match unit {
            Unit::Earlier(document, _) => line.contains_str(&document.checksum),
            unit => {
                unit.record().is_some_and(|record| record.earlier.iter().any(|checksum| line.contains_str(checksum)))
            }
        })
    };
    damaged.units().iter().all(|unit| match unit {
        Unit::Foreign(line) => !line.starts_with(b"\"checksum\"") || has(line),
        _ => true,
    })
}

/// Returns a document for the plan, if it is whole and its agent is known.
fn checked(repo: &Repository, commit_id: ObjectId, source: usize, document: &Earlier) -> Result<Document> {
    let key = document.key();
    if agent::find(&key.agent).is_none() {
        return Err(Error::new(Kind::Unsupported, format!("this version does not know agent '{}'", key.agent)));
    }
    let (transcript, problem) = document.transcript()?;
    if let Some(problem) = problem {
        return Err(Error::new(Kind::Corrupt, problem));
    }
    if transcript.is_empty() || key.id.is_empty() {
        return Err(Error::new(Kind::Corrupt, "its transcript or its session id is empty"));
    }
    let committed = || repo.commit(commit_id).map(|commit| commit.committer.time).unwrap_or_default();
    Ok(Document {
        commit_id,
        source,
        checksum: document.checksum.clone(),
        bytes: transcript.len(),
        time: Time::parse_rfc3339(&document.timestamp).unwrap_or_else(committed),
        model: document.model.clone().filter(|model| !model.is_empty()),
        tokens: document.tokens(),
    })
}

/// Returns the positions of commits in history: parents before children, otherwise by time. Commits that the repository
/// lacks have none.
fn ranks(repo: &Repository, commit_ids: &BTreeSet<ObjectId>) -> Result<HashMap<ObjectId, usize>> {
    let tips: Vec<ObjectId> = commit_ids.iter().copied().filter(|id| repo.commit(*id).is_ok()).collect();
    let mut steps = HashMap::new();
    let mut waiting_children: HashMap<ObjectId, usize> = HashMap::new();
    for step in repo.walk(&Range { tips: tips.clone(), hidden: Vec::new() }, Order::NewestFirst)? {
        let step = step?;
        for parent in &step.parent_ids {
            *waiting_children.entry(*parent).or_default() += 1;
        }
        steps.insert(step.commit_id, step);
    }
    let mut ready: BinaryHeap<(Option<i64>, ObjectId)> = tips
        .iter()
        .filter(|id| !waiting_children.contains_key(*id))
        .filter_map(|id| Some((steps.get(id)?.time, *id)))
        .collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some((_, commit_id)) = ready.pop() {
        order.push(commit_id);
        for parent in &steps[&commit_id].parent_ids {
            let (Some(step), Some(count)) = (steps.get(parent), waiting_children.get_mut(parent)) else { continue };
            *count -= 1;
            if *count == 0 {
                ready.push((step.time, *parent));
            }
        }
    }
    Ok(order.into_iter().rev().enumerate().map(|(rank, commit_id)| (commit_id, rank)).collect())
}

/// Returns an unused name for the backup of a ref; `None` if there is a backup that names this commit.
fn free_name(repo: &Repository, ref_name: &str, commit_id: ObjectId) -> Result<Option<String>> {
    let first = format!("{BACKUP_PREFIX}{}", ref_name.strip_prefix("refs/").unwrap_or(ref_name));
    for number in 1.. {
        let name = if number == 1 { first.clone() } else { format!("{first}-{number}") };
        match repo.tip(&name)? {
            None => return Ok(Some(name)),
            Some(tip) if tip.commit_id == commit_id => return Ok(None),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Carries out a plan: backups, then the archive, then the notes. After a crash in between, no note lacks its words,
/// and the next run uses what is stored. Returns the documents and notes that were not migrated, and why.
///
/// # Errors
///
/// If a ref cannot be written, a document has changed since planning, or there is no redactor.
pub fn carry_out(repo: &Repository, mut plan: Migration, tell: Tell<'_>) -> Result<Vec<Error>> {
    let redaction: Redaction = Rc::new(Ok(redaction::redactor(repo)?));
    for backup in &plan.backups {
        let message = format!("shiftlog: {} before migrating\n", backup.ref_name);
        if !repo.create_ref(&backup.backup_name, &message, backup.commit_id)? {
            return Err(Error::new(Kind::Busy, format!("another process has created '{}'", backup.backup_name)));
        }
    }
    crate::git::fault_point("migrate-kept");
    let mut records: BTreeMap<ObjectId, Vec<Record>> = BTreeMap::new();
    let sessions = std::mem::take(&mut plan.sessions);
    let mut known = store::known_increments(repo, &plan, &sessions)?;
    let count = sessions.len();
    for (number, session) in sessions.into_iter().enumerate() {
        tell("Storing sessions", number, count);
        let known = known.remove(&session.key).unwrap_or_default();
        for (commit_id, record) in store::store(repo, &mut plan, &session, known, &redaction)? {
            records.entry(commit_id).or_default().push(record);
        }
    }
    crate::git::fault_point("migrate-stored");
    let touched: BTreeSet<ObjectId> =
        records.keys().copied().chain(plan.removed.iter().map(|removed| removed.0)).collect();
    let message = "shiftlog: migrate notes of an earlier tool\n";
    // Anyone can have written the documents, so the records made of them are not signed.
    notes::carry(repo, &plan.notes_ref, message, Instant::now() + TIMEOUT, |editor| {
        for commit_id in &touched {
            let old = editor.get(*commit_id)?;
            let mut note = Note::parse_unjoined(old.as_deref().unwrap_or_default());
            if plan.repaired.contains(commit_id) {
                note = repaired(repo, &plan.notes_ref, *commit_id, Cow::Owned(note)).into_owned();
            }
            let name = |document: &Earlier| (*commit_id, document.key(), document.checksum.clone());
            note.retain(|unit| match unit {
                Unit::Earlier(document, _) => !plan.removed.contains(&name(document)),
                _ => true,
            });
            records.get(commit_id).into_iter().flatten().for_each(|record| add_proven(repo, &mut note, record.clone()));
            let new = note.to_bytes();
            if old.as_deref() != Some(&new[..]) {
                editor.replace(*commit_id, &new)?;
            }
        }
        Ok(())
    })?;
    Ok(plan.left)
}
