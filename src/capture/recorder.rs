//! Writing: storing what a session said and recording it on a commit, or putting it aside when that fails.
//!
//! Read [`Recorder::record_stretch`]: every word that is kept goes through it. What hooks do is in `hook`, what was put
//! aside is stored by `catch_up`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::State;
use super::aside::{Stretch, kept_at, leave_unread, put_aside};
use super::pending::{self, Capture, Pending};
use super::reading::{Extent, MAX_LINE_BYTES, Reading, Redaction, Subject};
use super::state::{Live, Lock, Mark, Open, Progress, stamp};
use crate::agent::{self, Agent};
use crate::archive::Archive;
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Record, add_proven, redaction};
use crate::transcript::SessionKey;

/// How long a hook may take unless `shiftlog.hookTimeout` says otherwise, in seconds.
pub const HOOK_TIMEOUT_SECS: i64 = 5;

/// How long a command waits for other commands and hooks.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// What a recorder did, for the caller to tell.
#[derive(Debug, Default)]
pub struct Report {
    /// The sessions recorded, with their commits.
    pub recorded: Vec<(ObjectId, SessionKey)>,
    /// What could not be done, and where the words are kept meanwhile.
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
    /// What was removed for good and is not stored again.
    purged: Tombstones,
    /// Whether something that was put aside earlier could not be stored: what comes later must wait behind it.
    pub(super) is_blocked: bool,
    /// The sessions of which something waits that takes too long now, as `agent/session`; what they say later must wait
    /// behind it.
    pub(super) waiting: BTreeSet<String>,
    lock: Option<Lock>,
    /// Why there is no lock: then nothing is stored and our state is not changed.
    hindrance: Option<Error>,
}

impl<'r> Recorder<'r> {
    /// Makes a recorder that has `time_limit`, and waits for other hooks and commands to finish.
    pub(super) fn open(repo: &'r Repository, notes_ref: &str, time_limit: Duration) -> Self {
        let deadline = Instant::now() + time_limit;
        let state = State::new(&repo.common_dir());
        // Hooks have their own limit, which is less.
        let lock_deadline = deadline.min(Instant::now() + LOCK_TIMEOUT);
        let (lock, hindrance) = match repo.within_lock_wait(lock_deadline, |until| state.lock(until)) {
            Ok(lock) => (Some(lock), None),
            Err(error) => (None, Some(error)),
        };
        // What was removed for good is not stored again only where the marks can be read.
        let (purged, hindrance) = match Tombstones::read(repo) {
            Ok(purged) => (purged, hindrance),
            Err(error) => (Tombstones::default(), hindrance.or(Some(error))),
        };
        Recorder {
            repo,
            archive: Archive::new(repo),
            state,
            notes_ref: notes_ref.to_owned(),
            deadline,
            report: Report::default(),
            redaction: Rc::new(redaction::redactor(repo)),
            purged,
            is_blocked: false,
            waiting: BTreeSet::new(),
            lock,
            hindrance,
        }
    }

    /// Returns what was done.
    pub fn finish(self) -> Report {
        self.report
    }

    /// Lets other hooks go on while long work is done; each write may take until `deadline`.
    pub(crate) fn let_others_in(&mut self, deadline: Instant) {
        (self.lock, self.hindrance) = (None, None);
        self.deadline = deadline;
    }

    /// Returns why nothing can be stored now, if our lock could not be had.
    pub(super) fn hindrance(&self) -> Option<Error> {
        self.hindrance.as_ref().map(|error| Error::new(error.kind(), error.to_string()))
    }

    /// Notes a failure in the log and in the report.
    pub(super) fn warn(&mut self, error: Error) {
        self.state.log(&format!("warning: {error}"));
        self.report.warnings.push(error);
    }

    /// Reads what a session said since it was last recorded on a commit; `None` if that is nothing. What stands behind
    /// `limit` bytes of a file of lines is left for later.
    ///
    /// # Errors
    ///
    /// If the transcript cannot be read, or not within the deadline.
    pub(super) fn news(&mut self, live: &mut Live, limit: Option<u64>) -> Result<Option<Stretch<'r>>> {
        // Most sessions that are known have nothing new; their files are not even opened.
        let agent = agent::named(&live.agent)?;
        let is_rendered = agent.is_rendered(&live.transcript);
        let recorded = live.progress.recorded.raw.filter(|raw| *raw > 0 && !is_rendered);
        if limit.is_some_and(|limit| recorded.is_some_and(|recorded| recorded >= limit)) {
            // A later commit has it.
            return Ok(None);
        }
        if recorded.is_some_and(|recorded| live.transcript.metadata().is_ok_and(|file| file.len() == recorded)) {
            return Ok(None);
        }
        // Converting a document to lines costs more than looking at its file.
        let stamp = if is_rendered { stamp(&live.transcript) } else { None };
        if stamp.is_some() && stamp == live.progress.stamp {
            return Ok(None);
        }
        let extent = match limit.filter(|limit| !is_rendered && live.progress.stored.raw <= Some(*limit)) {
            Some(limit) => Extent::Until(limit),
            None if live.is_over => Extent::Over,
            None => Extent::Complete,
        };
        let key = SessionKey::new(&live.agent, &live.session);
        let news = self.unrecorded(key, agent, &live.transcript, extent, &mut live.progress)?;
        live.progress.stamp = stamp.filter(|_| news.is_none());
        Ok(news.map(|stretch| Stretch { model: live.model.clone(), stamp, ..stretch }))
    }

    fn unrecorded(
        &mut self,
        key: SessionKey,
        agent: &'static dyn Agent,
        path: &Path,
        extent: Extent,
        progress: &mut Progress,
    ) -> Result<Option<Stretch<'r>>> {
        self.recover_progress(&key, progress);
        let reading = self.reading(agent, &key, progress, path, extent)?;
        let stretch = self.stretch(key, reading, progress.recorded.clone())?;
        Ok(stretch.map(|stretch| Stretch { transcript: Some(path.to_owned()), ..stretch }))
    }

    /// Lays an agent's transcript beside the archive, within the deadline.
    pub(super) fn reading(
        &self,
        agent: &'static dyn Agent,
        key: &SessionKey,
        progress: &Progress,
        path: &Path,
        extent: Extent,
    ) -> Result<Reading<'r>> {
        let subject = Subject { deadline: Some(self.deadline), ..self.subject(agent, key) };
        Reading::open(subject, progress, path, extent)
    }

    /// Returns what a session's transcript is read with, without a deadline.
    pub(super) fn subject<'s>(&'s self, agent: &'static dyn Agent, key: &'s SessionKey) -> Subject<'s, 'r> {
        Subject { archive: &self.archive, agent, key, redaction: &self.redaction, deadline: None }
    }

    /// Returns the stretch from a mark to the end of a transcript; `None` if it is empty.
    pub(super) fn stretch<'a>(
        &self,
        key: SessionKey,
        mut reading: Reading<'a>,
        since: Mark,
    ) -> Result<Option<Stretch<'a>>> {
        let (from, end) = (reading.position(&since)?, reading.end());
        let survey = reading.survey(from, end)?;
        let until = survey.until;
        if end.saturating_sub(until) >= MAX_LINE_BYTES {
            self.state.log(&format!("warning: {key}: a line is too long; nothing is recorded from it on"));
        }
        let stretch = Stretch {
            key,
            reading,
            transcript: None,
            stamp: None,
            model: None,
            survey,
            since,
            until,
            commit_ids: Vec::new(),
        };
        Ok((until > from).then_some(stretch))
    }

    /// Archives what a session said and no commit has, so that it survives the agent's own files.
    pub(super) fn archive_session(&mut self, live: &mut Live) -> Result<()> {
        match self.news(live, None) {
            Ok(Some(mut news)) => self.record_stretch(&mut news, &mut live.progress),
            Ok(None) => {}
            Err(error) if error.kind() == Kind::Busy => {
                let error = leave_unread(&self.state, live.key(), &live.transcript, &live.progress, None, error);
                self.warn(error);
            }
            Err(error) => return Err(error),
        }
        self.record_sub_agents(None, live)
    }

    /// Records the sub-agents of a session, each as a session of its own; without a commit they are only archived.
    pub(super) fn record_sub_agents(&mut self, commit_id: Option<ObjectId>, live: &mut Live) -> Result<()> {
        let agent = agent::named(&live.agent)?;
        for found in agent.sub_agents(&live.transcript) {
            let key = SessionKey::new(&live.agent, &found.session_id);
            let progress = live.sub_agents.entry(found.session_id).or_default();
            let extent = if live.is_over { Extent::Over } else { Extent::Complete };
            match self.unrecorded(key.clone(), agent, &found.transcript, extent, progress) {
                Ok(Some(mut stretch)) => {
                    stretch.commit_ids.extend(commit_id);
                    self.record_stretch(&mut stretch, progress);
                }
                Ok(None) => {}
                Err(error) if error.kind() == Kind::Busy && commit_id.is_some() => {
                    let error = leave_unread(&self.state, key, &found.transcript, progress, commit_id, error);
                    self.warn(error);
                }
                Err(error) => self.warn(error),
            }
        }
        Ok(())
    }

    /// Stores a stretch, then records it on its commits; what cannot be stored is put aside.
    ///
    /// The archive is written before the note that names it: a crash in between leaves nothing dangling.
    pub(super) fn record_stretch(&mut self, stretch: &mut Stretch<'_>, progress: &mut Progress) {
        // Storing moves this on, even if the archive's ref then cannot be moved.
        let (kept, stored) = (stretch.reading.kept_bytes(), progress.stored.clone());
        if self.is_blocked || self.waiting.contains(&stretch.key.to_string()) {
            let error = Error::new(Kind::Busy, format!("{} waits for an earlier capture", stretch.key));
            let error = put_aside(&self.state, self.redaction.is_ok(), stretch, progress, kept, error);
            return self.state.log(&format!("warning: {error}"));
        }
        let outcome = self.archive_stretch(stretch, progress).and_then(|record| {
            let Some(record) = record else { return Ok(()) };
            self.write_record(&record, &stretch.commit_ids).or_else(|error| {
                let capture = Capture { record: Some(Box::new(record)), ..stretch.capture(progress.stored.clone()) };
                let path = pending::keep(&self.state, &Pending::Capture(capture), b"")?;
                self.warn(kept_at(error, &path));
                Ok(())
            })?;
            self.set_recorded(stretch, progress);
            Ok(())
        });
        if let Err(error) = outcome {
            let kept = if progress.stored == stored { kept } else { progress.stored.bytes };
            let error = put_aside(&self.state, self.redaction.is_ok(), stretch, progress, kept, error);
            self.warn(error);
        }
    }

    /// Archives a stretch, records it on its commits, and brings `progress` up to date with both.
    ///
    /// # Errors
    ///
    /// If it cannot be stored; `progress` then tells how much of it was.
    pub(super) fn try_record(&mut self, stretch: &mut Stretch<'_>, progress: &mut Progress) -> Result<()> {
        let Some(record) = self.archive_stretch(stretch, progress)? else { return Ok(()) };
        self.write_record(&record, &stretch.commit_ids)?;
        self.set_recorded(stretch, progress);
        Ok(())
    }

    /// Puts a stretch into the archive; returns what is to be recorded on its commits, if there are such.
    fn archive_stretch(&mut self, stretch: &mut Stretch<'_>, progress: &mut Progress) -> Result<Option<Record>> {
        if let Some(error) = self.hindrance() {
            return Err(error);
        }
        if self.purged.bars(&stretch.key) {
            return Ok(None);
        }
        let (kept, kept_bytes) = (stretch.reading.kept(), stretch.reading.kept_bytes());
        stretch.reading.store(&self.archive, progress, stretch.until, self.deadline)?;
        // What commits have beyond that is not part of the transcript any more.
        if kept_bytes < progress.recorded.bytes {
            (progress.recorded.bytes, progress.recorded.raw) = (kept_bytes, Some(kept));
        }
        crate::git::fault_point("archived");
        let is_new = progress.stored.segment.is_some() && progress.stored.segment != stretch.since.segment;
        if stretch.commit_ids.is_empty() || !is_new {
            return Ok(None);
        }
        self.record_of(stretch, &progress.stored).map(Some)
    }

    /// Returns the record of a stretch that ends where `stored` says.
    pub(super) fn record_of(&self, stretch: &Stretch<'_>, stored: &Mark) -> Result<Record> {
        let tally = &stretch.survey.tally;
        Ok(Record {
            model: tally.model.as_ref().or(stretch.model.as_ref()).cloned(),
            time: Time::now().to_rfc3339(),
            since: stretch.since.segment.clone(),
            through: stored.segment.clone().unwrap_or_default(),
            bytes: stored.bytes,
            sha256: stretch.reading.stored_sha256(&self.archive)?,
            ..Record::of(&stretch.key, tally)
        })
    }

    /// Adds a record to the notes of commits.
    ///
    /// # Errors
    ///
    /// As [`notes::edit`].
    pub(super) fn write_record(&mut self, record: &Record, commit_ids: &[ObjectId]) -> Result<()> {
        let Some(first) = commit_ids.first() else { return Ok(()) };
        let message = format!("shiftlog: {} on {}\n", record.key(), first.to_hex_with_len(12));
        notes::edit(self.repo, &self.notes_ref, &message, self.deadline, |editor| {
            for commit_id in commit_ids {
                let old = editor.get(*commit_id)?;
                let mut note = Note::parse_lines(old.as_deref().unwrap_or_default());
                let tree = self.repo.commit(*commit_id).ok().map(|commit| commit.tree_id.to_string());
                add_proven(self.repo, &mut note, Record { tree, ..record.clone() });
                let new = note.to_bytes();
                if old.as_deref() != Some(&new[..]) {
                    editor.replace(*commit_id, &new)?;
                }
            }
            Ok(())
        })?;
        crate::git::fault_point("recorded");
        for commit_id in commit_ids {
            self.state.log(&format!("recorded {} on {commit_id}, {} bytes", record.key(), record.bytes));
            self.report.recorded.push((*commit_id, record.key()));
        }
        Ok(())
    }

    /// Notes in `progress` that commits have everything that is stored.
    fn set_recorded(&self, stretch: &Stretch<'_>, progress: &mut Progress) {
        progress.recorded = progress.stored.clone();
        progress.stamp = stretch.stamp.filter(|_| stretch.until == stretch.reading.end());
    }

    /// Stores a transcript whole, and records its parts on commits: each goes from the end of the one before to its own
    /// end, a line end of the transcript.
    ///
    /// What is archived already is not cut any more: a part that ends in it ends with it.
    ///
    /// # Errors
    ///
    /// If it cannot be stored; what has been recorded by then stays, and `progress` knows it.
    pub(crate) fn record_parts(
        &mut self,
        key: &SessionKey,
        transcript: Vec<u8>,
        ends: &[(u64, ObjectId)],
        progress: &mut Progress,
    ) -> Result<()> {
        let agent = agent::named(&key.agent)?;
        let mut reading = Reading::of_bytes(self.subject(agent, key), progress, transcript)?;
        let (kept, end) = (reading.kept(), reading.end());
        let mut parts: BTreeMap<u64, Vec<ObjectId>> = BTreeMap::from([(end, Vec::new())]);
        for (until, commit_id) in ends {
            parts.entry((*until).clamp(kept, end)).or_default().push(*commit_id);
        }
        for (until, commit_ids) in parts {
            let since = progress.recorded.clone();
            let from = if commit_ids.is_empty() { reading.kept() } else { reading.position(&since)? };
            let survey = reading.survey(from, until)?;
            let until = survey.until;
            let key = key.clone();
            let mut stretch =
                Stretch { key, reading, transcript: None, stamp: None, model: None, survey, since, until, commit_ids };
            if until > from {
                self.try_record(&mut stretch, progress)?;
            }
            reading = stretch.reading;
        }
        Ok(())
    }

    /// Finds out how far a session is stored and recorded when our own state does not know it.
    ///
    /// Costs one tree lookup for a session that the archive does not have, which is the usual case; otherwise every
    /// note is read.
    pub(super) fn recover_progress(&mut self, key: &SessionKey, progress: &mut Progress) {
        if progress.stored.segment.is_some() {
            return;
        }
        let Ok(Some(newest)) = self.archive.newest(key) else { return };
        let Ok(header) = self.archive.header(newest) else { return };
        progress.stored = Mark { segment: Some(newest.to_string()), bytes: header.total_bytes(), raw: None };
        for entry in notes::list(self.repo, &self.notes_ref).unwrap_or_default() {
            let Ok(note) = notes::read(self.repo, entry.note_blob_id) else { continue };
            for record in Note::parse(&note).records().filter(|record| record.key() == *key) {
                if record.bytes > progress.recorded.bytes {
                    progress.recorded = Mark { segment: Some(record.through.clone()), bytes: record.bytes, raw: None };
                }
            }
        }
    }

    /// Reads what a session said since it was last recorded; first extends the record of its last commit through the
    /// result of the tool call that made it, once the transcript has that. What is left is returned.
    ///
    /// `is_turn_over` says that the result must be there by now; then the first result counts if nothing tells which
    /// is the right one.
    ///
    /// `has_next` says that another commit has been made meanwhile, which gets what comes behind the result. `limit` is as in
    /// [`Recorder::news`].
    ///
    /// # Errors
    ///
    /// If the transcript cannot be read.
    pub(super) fn catch_up(
        &mut self,
        live: &mut Live,
        is_turn_over: bool,
        has_next: bool,
        limit: Option<u64>,
    ) -> Result<Option<Stretch<'r>>> {
        let news = self.news(live, limit)?;
        let Some(Open { commit, call }) = live.open.clone() else { return Ok(news) };
        let short_id = commit.get(..7).unwrap_or(&commit);
        let is_the_one = |answer: &&crate::capture::reading::Answer| match &call {
            Some(call) => answer.call_id == *call,
            None => answer.text.contains(short_id),
        };
        let answers = news.iter().flat_map(|news| &news.survey.answers);
        let answer = answers.clone().find(is_the_one).or_else(|| answers.clone().next().filter(|_| is_turn_over));
        let until = answer.map(|answer| answer.end);
        if until.is_some() || is_turn_over {
            live.open = None;
        }
        let (Some(until), Some(commit_id)) = (until, self.repo.parse_id(&commit)) else { return Ok(news) };
        let Some(mut stretch) = news else { return Ok(None) };
        // What has been archived since cannot be cut in the middle of a segment; it goes with the commit. A transcript
        // that ends with something about the whole better stays in one piece.
        let is_whole = !has_next && agent::named(&live.agent)?.is_rendered(&live.transcript);
        let until = if is_whole { stretch.until } else { until.max(stretch.reading.kept()) };
        stretch.commit_ids.push(commit_id);
        stretch.commit_ids.extend(self.amended_since(commit_id, &stretch.key, stretch.since.segment.as_deref()));
        if stretch.until > until {
            let from = stretch.reading.position(&stretch.since)?;
            stretch.survey = stretch.reading.survey(from, until)?;
            stretch.until = until;
        }
        // It continues the record that is there, and so becomes one with it.
        self.record_stretch(&mut stretch, &mut live.progress);
        self.news(live, limit)
    }

    /// Returns HEAD if it is an amended form of `commit_id`: another commit whose note ends with the same segment.
    fn amended_since(&self, commit_id: ObjectId, key: &SessionKey, through: Option<&str>) -> Option<ObjectId> {
        let head = self.repo.head().ok()?.commit_id.filter(|head| *head != commit_id)?;
        let note = notes::get(self.repo, &self.notes_ref, head).ok()??;
        let has_it =
            Note::parse(&note).records().any(|record| record.key() == *key && Some(&*record.through) == through);
        has_it.then_some(head)
    }
}
