//! Archiving an increment and recording it on commits; keeping it in a pending file if that fails.
//!
//! Read [`Recorder::record_increment`]. `agent_hook` and `commit` call it for hooks, with what `new_words` finds in transcripts;
//! `catch_up` calls it for pending files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::State;
use super::increment::Increment;
use super::pending::{self, Capture, Pending};
use super::progress::Progress;
use super::put_aside::{put_aside, with_pending_hint};
use super::reading::{Extent, Reading, Redaction, SessionContext};
use super::segment_end::SegmentEnd;
use super::state::Lock;
use super::tracked::TrackedSession;
use crate::agent::Agent;
use crate::archive::Archive;
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Record, add_proven, redaction};
use crate::transcript::SessionKey;

/// The default of `shiftlog.hookTimeout`, in seconds.
pub(super) const HOOK_TIMEOUT_SECS: i64 = 5;

/// How long a command waits for the lock.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// What a recorder did, for the caller to report.
#[derive(Debug, Default)]
pub struct Report {
    /// The sessions recorded, with their commits.
    pub recorded: Vec<(ObjectId, SessionKey)>,
    /// What failed, and where the words are kept.
    pub warnings: Vec<Error>,
}

/// Writes records, within a deadline.
pub struct Recorder<'r> {
    pub(crate) repo: &'r Repository,
    pub(crate) archive: Archive<'r>,
    pub(crate) state: State,
    pub(crate) notes_ref: String,
    pub(crate) deadline: Instant,
    pub(crate) report: Report,
    pub(crate) redaction: Redaction,
    /// The purged sessions and segments, which must not be stored again.
    pub(super) purged: Tombstones,
    /// Whether pending files could not be stored: then all later words are kept in pending files too, behind them.
    pub(super) is_blocked: bool,
    /// The sessions (`agent/session`) with a pending file that did not fit into the time: their later words must wait
    /// behind it.
    pub(super) waiting: BTreeSet<String>,
    /// The sessions (`agent/session`) of which something was put aside while the present commit or pending file was stored: words
    /// for the next one must wait.
    pub(super) newly_aside: BTreeSet<String>,
    /// The pending file that is being stored: what is left of it keeps its place before later ones.
    pub(super) place: Option<PathBuf>,
    /// The records of increments that it has written, or kept for the next command, each with its commit.
    pub(super) written: Vec<(ObjectId, Record)>,
    lock: Option<Lock>,
    /// Why nothing may be stored now: there is no lock, a purge was interrupted, or the purge marks cannot be read. Our state
    /// is then not changed.
    hindrance: Option<Error>,
}

impl<'r> Recorder<'r> {
    /// Makes a recorder whose deadline is `time_limit` from now. Waits for the lock, at most for `lock_limit`.
    pub(super) fn open(repo: &'r Repository, notes_ref: &str, time_limit: Duration, lock_limit: Duration) -> Self {
        let deadline = Instant::now() + time_limit;
        let state = State::new(&repo.common_dir());
        // The limit of a hook is shorter.
        let lock_deadline = deadline.min(Instant::now() + lock_limit);
        if repo.is_shared_with_group() {
            state.share_with_group();
        }
        let (lock, hindrance) = match repo.within_lock_wait(lock_deadline, |until| state.lock(until)) {
            Ok(lock) => (Some(lock), state.interrupted_purge()),
            Err(error) => (None, Some(error)),
        };
        Recorder { deadline, lock, ..Self::without_lock(repo, notes_ref, hindrance) }
    }

    /// Makes a recorder that has no lock, to see what is recorded. Writes nothing.
    pub(super) fn without_lock(repo: &'r Repository, notes_ref: &str, hindrance: Option<Error>) -> Self {
        // Without the purge marks, purged words could be stored again.
        let (purged, hindrance) = match Tombstones::read(repo) {
            Ok(purged) => (purged, hindrance),
            Err(error) => (Tombstones::default(), hindrance.or(Some(error))),
        };
        Recorder {
            repo,
            archive: Archive::new(repo),
            state: State::new(&repo.common_dir()),
            notes_ref: notes_ref.to_owned(),
            deadline: Instant::now(),
            report: Report::default(),
            redaction: Rc::new(redaction::redactor(repo)),
            purged,
            is_blocked: false,
            waiting: BTreeSet::new(),
            newly_aside: BTreeSet::new(),
            place: None,
            written: Vec::new(),
            lock: None,
            hindrance,
        }
    }

    /// Returns the recorded sessions and the failures. Releases the lock.
    pub fn finish(self) -> Report {
        self.report
    }

    /// Releases the lock, so that hooks can run during long work. Each write may take until `deadline`.
    pub(crate) fn release_lock(&mut self, deadline: Instant) {
        (self.lock, self.hindrance) = (None, None);
        self.deadline = deadline;
    }

    /// Says whether this recorder holds the lock.
    pub(super) fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns why nothing may be stored now, if that is so.
    pub(super) fn hindrance(&self) -> Option<Error> {
        self.hindrance.as_ref().map(|error| Error::new(error.kind(), error.to_string()))
    }

    /// Adds a failure to the log and to the report.
    pub(super) fn warn(&mut self, error: Error) {
        self.state.log(&format!("warning: {error}"));
        self.report.warnings.push(error);
    }

    /// Opens an agent's transcript with the recorder's deadline; see [`Reading::open`].
    pub(super) fn reading(
        &self,
        agent: &'static dyn Agent,
        key: &SessionKey,
        progress: &Progress,
        path: &Path,
        extent: Extent,
    ) -> Result<Reading<'r>> {
        let context = SessionContext { deadline: Some(self.deadline), ..self.context(agent, key) };
        Reading::open(context, progress, path, extent)
    }

    /// Returns the data for reading a session's transcript, without a deadline.
    pub(super) fn context<'s>(&'s self, agent: &'static dyn Agent, key: &'s SessionKey) -> SessionContext<'s, 'r> {
        let (archive, redaction, purged) = (&self.archive, &self.redaction, Some(&self.purged));
        SessionContext { archive, agent, key, redaction, purged, deadline: None }
    }

    /// Says whether the words of a session must wait behind earlier ones that are in a pending file.
    pub(super) fn must_wait(&self, key: &SessionKey) -> bool {
        self.is_blocked || self.waiting.contains(&key.to_string())
    }

    /// Begins with a commit or a pending file: what was put aside before comes before its words.
    pub(super) fn begin(&mut self, place: Option<PathBuf>) {
        self.waiting.append(&mut self.newly_aside);
        self.place = place;
    }

    /// Returns the path for a new pending file.
    pub(super) fn pending_path(&self) -> PathBuf {
        self.place.as_deref().map_or_else(|| pending::new_path(&self.state, ""), pending::path_behind)
    }

    /// Archives an increment, then records it on its commits. If that fails, keeps it in a pending file and warns.
    ///
    /// The archive is written before the note that names its segments: a crash in between leaves no note without words.
    pub(super) fn record_increment(&mut self, increment: &mut Increment<'_>, progress: &mut Progress) {
        // `store` changes both, even if it then fails to update the archive's ref.
        let (kept, stored) = (increment.reading.kept_bytes(), progress.stored.clone());
        if self.must_wait(&increment.key) {
            let error = Error::new(Kind::Busy, format!("{} waits for an earlier capture", increment.key));
            let warning = put_aside(&self.pending_path(), self.redaction.is_ok(), increment, progress, kept, error);
            return self.state.log(&format!("warning: {}", warning.unwrap_or_else(|unkept| unkept)));
        }
        let outcome = self.archive_increment(increment, progress).and_then(|record| {
            let Some(record) = record else { return Ok(()) };
            self.write_or_keep(record, &increment.commit_ids, &progress.stored)?;
            self.set_recorded(increment, progress);
            Ok(())
        });
        if let Err(error) = outcome {
            let kept = if progress.stored == stored { kept } else { progress.stored.bytes };
            let warning = put_aside(&self.pending_path(), self.redaction.is_ok(), increment, progress, kept, error);
            match &warning {
                Ok(_) => self.newly_aside.insert(increment.key.to_string()),
                // The file of its commit must stay, or the words would go to the next one.
                Err(_) => self.waiting.insert(increment.key.to_string()),
            };
            self.warn(warning.unwrap_or_else(|unkept| unkept));
        }
    }

    /// Adds a record to the notes of commits. If that fails, keeps it in a pending file and warns. `stored` is the end of what the
    /// archive has of its session.
    ///
    /// # Errors
    ///
    /// If it cannot be kept either.
    pub(super) fn write_or_keep(&mut self, record: Record, commit_ids: &[ObjectId], stored: &SegmentEnd) -> Result<()> {
        self.written.extend(commit_ids.iter().map(|commit_id| (*commit_id, record.clone())));
        match self.write_record(&record, commit_ids) {
            Ok(()) => Ok(()),
            Err(error) => self.keep_record(record, commit_ids, stored, error),
        }
    }

    /// Keeps a record that could not be written in a pending file, and warns.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    pub(super) fn keep_record(
        &mut self,
        record: Record,
        commit_ids: &[ObjectId],
        stored: &SegmentEnd,
        why: Error,
    ) -> Result<()> {
        let since = SegmentEnd { segment: record.since.clone(), ..SegmentEnd::default() };
        let capture = Capture::new(&record.key(), commit_ids, stored.clone(), since);
        let capture = Capture { record: Some(Box::new(record)), ..capture };
        let path = self.pending_path();
        pending::write(&path, &Pending::Capture(capture), b"")?;
        self.warn(with_pending_hint(why, &path));
        Ok(())
    }

    /// Archives an increment, records it on its commits, and updates `progress`.
    ///
    /// # Errors
    ///
    /// If it cannot be stored; `progress` then says how much of it was.
    pub(super) fn try_record(&mut self, increment: &mut Increment<'_>, progress: &mut Progress) -> Result<()> {
        let Some(record) = self.archive_increment(increment, progress)? else { return Ok(()) };
        self.write_record(&record, &increment.commit_ids)?;
        self.set_recorded(increment, progress);
        Ok(())
    }

    /// Archives an increment. Returns the record for its commits; `None` if it has no commits, nothing new, or its
    /// session was purged.
    fn archive_increment(&mut self, increment: &mut Increment<'_>, progress: &mut Progress) -> Result<Option<Record>> {
        if let Some(error) = self.hindrance() {
            return Err(error);
        }
        if self.purged.bars(&increment.key) {
            return Ok(None);
        }
        let (kept, kept_bytes) = (increment.reading.kept(), increment.reading.kept_bytes());
        increment.reading.store(&self.archive, progress, increment.until, self.deadline)?;
        // The agent has rewritten its file, so the recorded words behind this position are no longer in the transcript.
        if kept_bytes < progress.recorded.bytes {
            (progress.recorded.bytes, progress.recorded.raw) = (kept_bytes, Some(kept));
        }
        crate::git::fault_point("archived");
        let is_new = progress.stored.segment.is_some() && progress.stored.segment != increment.since.segment;
        if increment.commit_ids.is_empty() || !is_new {
            return Ok(None);
        }
        self.record_of(increment, &progress.stored).map(Some)
    }

    /// Returns the record of an increment that ends at `stored`.
    pub(super) fn record_of(&self, increment: &Increment<'_>, stored: &SegmentEnd) -> Result<Record> {
        let tally = &increment.survey.tally;
        Ok(Record {
            edits: increment.edits(self.repo),
            model: tally.model.as_ref().or(increment.model.as_ref()).cloned(),
            time: Time::now().to_rfc3339(),
            since: increment.since.segment.clone(),
            through: stored.segment.clone().unwrap_or_default(),
            bytes: stored.bytes,
            sha256: increment.reading.stored_sha256(&self.archive)?,
            rules: increment.rules.clone(),
            ..Record::of(&increment.key, tally)
        })
    }

    /// Adds a record to the notes of commits.
    ///
    /// # Errors
    ///
    /// As [`notes::edit`].
    pub(super) fn write_record(&mut self, record: &Record, commit_ids: &[ObjectId]) -> Result<()> {
        self.write_records(std::slice::from_ref(record), commit_ids)
    }

    /// Adds records to the notes of commits, all at once.
    ///
    /// # Errors
    ///
    /// As [`notes::edit`].
    pub(super) fn write_records(&mut self, records: &[Record], commit_ids: &[ObjectId]) -> Result<()> {
        let (Some(first), Some(record)) = (commit_ids.first(), records.first()) else { return Ok(()) };
        let message = format!("shiftlog: {} on {}\n", record.key(), first.to_hex_with_len(12));
        notes::edit(self.repo, &self.notes_ref, &message, self.deadline, |editor| {
            for commit_id in commit_ids {
                let old = editor.get(*commit_id)?;
                let mut note = Note::parse_unjoined(old.as_deref().unwrap_or_default());
                let tree = self.repo.commit(*commit_id).ok().map(|commit| commit.tree_id.to_string());
                for record in records {
                    // What the note has of this session is of the same commit, perhaps before it was amended.
                    let is_before =
                        |known: &&Record| known.key() == record.key() && record.since.as_ref() == Some(&known.through);
                    let amended: Vec<String> =
                        note.records().filter(is_before).filter_map(|known| known.tree.clone()).collect();
                    add_proven(self.repo, &mut note, Record { tree: tree.clone(), ..record.clone() });
                    note.forget_joined(&amended);
                }
                let new = note.to_bytes();
                if old.as_deref() != Some(&new[..]) {
                    editor.replace(*commit_id, &new)?;
                }
            }
            Ok(())
        })?;
        crate::git::fault_point("recorded");
        for (commit_id, record) in commit_ids.iter().flat_map(|id| records.iter().map(move |record| (id, record))) {
            self.state.log(&format!("recorded {} on {commit_id}, {} bytes", record.key(), record.bytes));
            self.report.recorded.push((*commit_id, record.key()));
        }
        Ok(())
    }

    /// Marks everything that is stored as recorded.
    fn set_recorded(&self, increment: &mut Increment<'_>, progress: &mut Progress) {
        progress.recorded = progress.stored.clone();
        progress.set_before(Some(increment.survey.tally.end()));
        increment.reading.set_recorded(progress);
        progress.size_and_mtime = increment.size_and_mtime.filter(|_| increment.until == increment.reading.end());
    }

    /// Takes over how far sessions are recorded from the note of the commit before, if a process was killed after it had
    /// written that note and before it wrote our state. Otherwise the next commit would get the same words once more.
    pub(super) fn take_over_records(&self, parent_id: ObjectId, sessions: &mut [TrackedSession]) -> Result<()> {
        let Some(note) = notes::get(self.repo, &self.notes_ref, parent_id)? else { return Ok(()) };
        for record in Note::parse_unjoined_for_showing(&note).records() {
            // A record may have been joined with the one of this session that it goes on from. One that goes on from other
            // segments, such as those that took the place of purged ones, is not ours.
            let has_it = |end: &SegmentEnd| {
                let (since, through) = (record.since.as_deref(), self.repo.parse_id(&record.through));
                through.is_some_and(|through| end.is_within(&self.archive, &record.key(), since, through))
            };
            let goes_on = |live: &&mut TrackedSession| {
                let recorded = &live.progress.recorded;
                live.key() == record.key() && (recorded.segment == record.since || has_it(recorded))
            };
            let Some(live) = sessions.iter_mut().find(goes_on) else { continue };
            let archived = Progress::archived(&self.archive, &record.key())?;
            // Anyone can write a record, but it ends where our archive ends.
            if archived.stored.segment.as_ref() == Some(&record.through) {
                let recorded = archived.stored.clone();
                live.progress = Progress { recorded, ..archived };
            }
        }
        Ok(())
    }

    /// Restores `progress` from the archive and the notes if our state on disk was lost.
    ///
    /// Costs one tree lookup for a session that the archive does not have, which is the usual case. Otherwise reads
    /// every note.
    pub(super) fn recover_progress(&mut self, key: &SessionKey, progress: &mut Progress) {
        // After a purge, nothing that is stored can stand for a known position in the agent's file.
        if progress.stored.segment.is_some() || progress.stored.raw.is_some() {
            return;
        }
        let Ok(Progress { stored, .. }) = Progress::archived(&self.archive, key) else { return };
        if stored.segment.is_none() {
            return;
        }
        progress.stored = stored;
        progress.set_before(None);
        let mut recorded = Vec::new();
        for entry in notes::list(self.repo, &self.notes_ref).unwrap_or_default() {
            let Ok(note) = notes::read(self.repo, entry.note_blob_id) else { continue };
            let note = Note::parse_unjoined(&note);
            recorded.extend(note.records().filter(|record| record.key() == *key).map(SegmentEnd::of_record));
        }
        let newest = progress.stored.segment.as_deref().and_then(|hex| self.repo.parse_id(hex));
        if let Some(newest) = newest {
            progress.recorded = SegmentEnd::last_recorded(&self.archive, key, newest, &recorded);
        }
    }
}
