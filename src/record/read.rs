//! Reading the records of a commit. The conversations that they name are read by `conversation`.
//!
//! Read [`Reader::note`]. Notes under our own ref, under refs fetched from remotes, and under the ref of an earlier
//! tool are merged.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::foreign_marks::ForeignMarks;
use super::tombstone::{Mark, Tombstones};
use super::{Hidden, Note, Summary, Unit};
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Order, REMOTES_PREFIX, Range, Repository};
use crate::notes;
use crate::transcript::SessionKey;

/// The notes ref of an earlier tool; read, never written.
pub(crate) const EARLIER_REF: &str = "refs/notes/claude-conversations";

/// How many commits of our notes ref are read to find whether a remote's notes are merged.
const MAX_UNPUSHED: usize = 64;

/// Reads the notes of a repository.
pub struct Reader<'r> {
    pub(super) repo: &'r Repository,
    refs: Vec<String>,
    /// Our own purge marks; fetched refs may still have what they name.
    purged: Tombstones,
    /// The purge marks of others: what they name is not shown.
    pub(super) bars: ForeignMarks,
    /// The segments in `bars`.
    pub(super) barred: HashSet<ObjectId>,
    /// What was wrong with fetched refs when [`Reader::noted`] listed them.
    unlisted: OnceLock<Vec<String>>,
}

/// The trees of the notes refs at one moment.
pub struct NoteTrees(Vec<Option<ObjectId>>);

impl<'r> Reader<'r> {
    /// Makes a reader of all notes refs, or of `notes_ref` alone.
    pub fn new(repo: &'r Repository, notes_ref: Option<&str>) -> Self {
        let refs = match notes_ref {
            Some(name) => vec![notes::expand_ref(name)],
            None => {
                let mut refs = vec![notes::DEFAULT_REF.to_owned(), EARLIER_REF.to_owned()];
                // A remote's ref may name something other than a commit; it is skipped.
                let has_notes = |name: &String| repo.tip(name).is_ok_and(|tip| tip.is_some());
                refs.extend(
                    repo.fetched_refs("notes").into_iter().filter(|name| has_notes(name) && !is_merged(repo, name)),
                );
                refs
            }
        };
        Self::with_refs(repo, refs)
    }

    /// Makes a reader of all notes refs where `notes_ref` is the usual one, and otherwise of `notes_ref` alone.
    pub fn beside(repo: &'r Repository, notes_ref: &str) -> Self {
        Self::new(repo, (notes_ref != notes::DEFAULT_REF).then_some(notes_ref))
    }

    /// Makes a reader of these refs.
    pub(crate) fn with_refs(repo: &'r Repository, refs: Vec<String>) -> Self {
        // Unreadable marks are ignored here; `fsck` reports them.
        let purged = Tombstones::read(repo).unwrap_or_default();
        let bars = ForeignMarks::read(repo, &purged);
        let barred = bars.segments();
        Reader { repo, refs, purged, bars, barred, unlisted: OnceLock::new() }
    }

    /// Returns the refs that are read.
    pub fn refs(&self) -> &[String] {
        &self.refs
    }

    /// Returns the repository.
    pub fn repo(&self) -> &'r Repository {
        self.repo
    }

    /// Returns the note of a commit, merged from all refs, or `None` if there is none.
    ///
    /// A note that an earlier tool's merge has damaged is repaired from the history of its ref.
    ///
    /// # Errors
    ///
    /// If a notes tree or a note cannot be read.
    pub fn note(&self, commit_id: ObjectId) -> Result<Option<Note>> {
        self.merged_note(commit_id, |number| notes::get(self.repo, &self.refs[number], commit_id))
    }

    /// Returns the trees of the notes refs, for reading the notes of many commits; `None` if one of them cannot be read.
    pub fn trees(&self) -> Option<NoteTrees> {
        let tips: Result<Vec<_>> = self.refs.iter().map(|name| self.repo.tip(name)).collect();
        Some(NoteTrees(tips.ok()?.into_iter().map(|tip| tip.map(|tip| tip.tree_id)).collect()))
    }

    /// Returns the note of a commit as [`Reader::note`] does, from trees that were read before.
    ///
    /// # Errors
    ///
    /// As [`Reader::note`].
    pub fn note_in(&self, trees: &NoteTrees, commit_id: ObjectId) -> Result<Option<Note>> {
        self.merged_note(commit_id, |number| match trees.0[number] {
            Some(tree_id) => notes::get_at(self.repo, tree_id, commit_id),
            None => Ok(None),
        })
    }

    /// Merges the notes of a commit; `get` returns the one under the ref with a number.
    fn merged_note(&self, commit_id: ObjectId, get: impl Fn(usize) -> Result<Option<Vec<u8>>>) -> Result<Option<Note>> {
        let mut merged: Option<Note> = None;
        for (number, name) in self.refs.iter().enumerate() {
            let note = match get(number) {
                Ok(None) => continue,
                Ok(Some(bytes)) => self.parsed(&bytes),
                // A damaged ref of a remote must not hide the notes of the other refs.
                Err(error) if is_damage(&error) && self.refs.len() > 1 => {
                    Note::unreadable(format!("the note under '{name}' cannot be read: {error}"))
                }
                Err(error) => return Err(error),
            };
            let mut note = self.repaired(note, name, commit_id);
            self.purged.apply(self.repo, &mut note);
            match &mut merged {
                Some(merged) => merged.merge_lines(&note),
                // Not merged into an empty note: the first note can be large and is usually the only one.
                None => merged = Some(note),
            }
        }
        Ok(merged.map(|note| {
            let mut note = self.with_proven_joins(note);
            note.drop_migrated();
            self.without_contained_records(note)
        }))
    }

    /// Returns the commits that have a note, each with its note blobs. Reads trees only.
    ///
    /// A ref of a remote that cannot be listed is left out, and [`Reader::problems`] says so.
    ///
    /// # Errors
    ///
    /// If a notes tree of our own cannot be read.
    pub fn noted(&self) -> Result<HashMap<ObjectId, Vec<ObjectId>>> {
        let mut noted: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        let mut problems = Vec::new();
        for name in &self.refs {
            let entries = match notes::list(self.repo, name) {
                // A damaged ref of a remote must not hide the notes of the other refs.
                Err(error) if name.starts_with(REMOTES_PREFIX) && is_damage(&error) => {
                    problems.push(format!("the notes under '{name}' are left out: {error}"));
                    continue;
                }
                entries => entries?,
            };
            for entry in entries {
                let blobs = noted.entry(entry.annotated_id).or_default();
                if !blobs.contains(&entry.note_blob_id) {
                    blobs.push(entry.note_blob_id);
                }
            }
        }
        let _ = self.unlisted.set(problems);
        Ok(noted)
    }

    /// Returns the problems of fetched refs that [`Reader::noted`] found.
    pub fn problems(&self) -> &[String] {
        self.unlisted.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the note merged from these blobs. For listing: damaged notes are not repaired.
    ///
    /// # Errors
    ///
    /// If a blob cannot be read.
    pub fn note_of_blobs(&self, blob_ids: &[ObjectId]) -> Result<Note> {
        let blobs = blob_ids.iter().map(|blob_id| notes::read(self.repo, *blob_id)).collect::<Result<Vec<_>>>()?;
        Ok(self.note_of(blobs.iter().map(Vec::as_slice)))
    }

    /// Returns the note merged from the contents of these blobs.
    pub(super) fn note_of<'b>(&self, blobs: impl Iterator<Item = &'b [u8]>) -> Note {
        let mut notes = blobs.map(|bytes| {
            let mut note = self.parsed(bytes);
            self.purged.apply(self.repo, &mut note);
            note
        });
        let mut merged = notes.next().unwrap_or_default();
        notes.for_each(|note| merged.merge_lines(&note));
        // Only records of one session can be joined, which reads the archive.
        let mut sessions = HashSet::new();
        if !merged.records().all(|record| sessions.insert(record.key())) {
            merged = self.with_proven_joins(merged);
        }
        merged.drop_migrated();
        merged
    }

    /// Parses a note without joining records, and hides the records that purge marks of others name.
    fn parsed(&self, bytes: &[u8]) -> Note {
        let mut note = Note::parse_unjoined_for_showing(bytes);
        if self.bars.is_empty() {
            return note;
        }
        let mut hidden: Vec<(SessionKey, String, Mark)> = Vec::new();
        let mut removed = Vec::new();
        note.retain(|unit| {
            if let Some(evidence) = unit.evidence() {
                let mark = self.bars.of_evidence(self.repo, &evidence);
                let is_barred = mark.is_some();
                removed.extend(mark.map(|mark| evidence.removed(self.bars.removed_by(self.repo, &mark))));
                return !is_barred;
            }
            let mark = match unit {
                Unit::Earlier(document, _) => self.bars.of_session(&document.key()),
                unit => unit.record().and_then(|record| self.bars.of_record(self.repo, record)),
            };
            let Some(mark) = mark else { return true };
            hidden.extend(Summary::of(unit).map(|summary| (summary.key, summary.time, mark)));
            false
        });
        note.removed_evidence = removed;
        for (key, time, mark) in hidden {
            note.hide(Hidden { key, time, removed_by: self.bars.removed_by(self.repo, &mark) });
        }
        note
    }

    /// Returns a note, repaired from the history of its ref if a merge has damaged it and the history has it whole.
    pub(crate) fn repaired(&self, note: Note, notes_ref: &str, commit_id: ObjectId) -> Note {
        if !note.is_damaged() {
            return note;
        }
        let mut repaired = note.without_units();
        for bytes in notes::earlier_contents(self.repo, notes_ref, commit_id).unwrap_or_default() {
            let earlier = Note::parse_for_showing(&bytes);
            if !earlier.is_damaged() {
                repaired.merge(&earlier);
            }
        }
        // Records that were added after the damage are whole.
        for unit in note.units().iter().filter(|unit| !matches!(unit, Unit::Foreign(_))) {
            repaired.add_unit(unit.clone());
        }
        if repaired.has_conversation() { repaired } else { note }
    }
}

/// Says whether an error is about what the repository holds.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), Kind::Corrupt | Kind::Missing)
}

/// Says whether our notes descend from those fetched to `name`: then all of them are joined to ours, and records that
/// we have removed since must not be read from there. Looks back [`MAX_UNPUSHED`] commits; reading a merged ref once
/// more does no harm.
fn is_merged(repo: &Repository, name: &str) -> bool {
    let (Ok(Some(ours)), Ok(Some(theirs))) = (repo.tip(notes::DEFAULT_REF), repo.tip(name)) else { return false };
    let range = Range { tips: vec![ours.commit_id], hidden: Vec::new() };
    let Ok(steps) = repo.walk(&range, Order::NewestFirst) else { return false };
    steps.take(MAX_UNPUSHED).flatten().any(|step| step.commit_id == theirs.commit_id)
}
