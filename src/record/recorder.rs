//! Writing: storing what a session said and recording it on a commit, or putting it aside when that fails.
//!
//! Read [`Recorder::record_stretch`]: every word that is kept goes through it. What hooks do is in `hook`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::capture::{Ahead, Known, MAX_LINE_BYTES, Reading, Redaction, Survey};
use super::pending::{self, Capture, Elsewhere};
use super::state::{Live, Lock, Mark, Open, Progress, stamp};
use super::tombstone::Tombstones;
use super::{Note, Record, State, kept, redaction, short_prompt};
use crate::agent::{self, Agent};
use crate::archive::Archive;
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::transcript::SessionKey;

/// How long a hook may take unless `shiftlog.hookTimeout` says otherwise, in seconds.
pub const HOOK_TIMEOUT_SECS: i64 = 5;

/// How long storing what is pending may take before the caller's own work.
const PENDING_SHARE: Duration = Duration::from_millis(200);

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
    pub(super) repo: &'r Repository,
    pub(super) archive: Archive<'r>,
    pub(super) state: State,
    pub(super) notes_ref: String,
    pub(super) deadline: Instant,
    pub(super) report: Report,
    redaction: Redaction,
    pub(super) ahead: Option<Ahead>,
    /// What was removed for good and is not stored again.
    purged: Tombstones,
    lock: Option<Lock>,
    /// Why there is no lock: then nothing is stored and our state is not changed.
    hindrance: Option<Error>,
}

/// What to attach to a commit by hand.
#[derive(Debug)]
pub struct Addition {
    /// The session.
    pub key: SessionKey,
    /// The transcript's bytes.
    pub transcript: Vec<u8>,
    /// The segment that the increment begins after; `None` for where the session was last recorded.
    pub since: Option<ObjectId>,
}

/// A stretch of a transcript to record.
pub(super) struct Stretch<'a> {
    pub key: SessionKey,
    pub reading: Reading<'a>,
    /// The agent's own file, if there is one.
    pub transcript: Option<PathBuf>,
    /// What its file was like before it was read; see [`Progress::stamp`].
    pub stamp: Option<(u64, u64)>,
    /// The model, where the transcript does not tell it.
    pub model: Option<String>,
    /// What it holds.
    pub survey: Survey,
    /// Where it begins.
    pub since: Mark,
    /// Where it ends, in the agent's file.
    pub until: u64,
    /// The commits to record it on; none if the words are only to be kept.
    pub commit_ids: Vec<ObjectId>,
}

impl<'r> Recorder<'r> {
    /// Makes a recorder, waits for other hooks to finish, and stores what is pending.
    pub fn new(repo: &'r Repository, notes_ref: &str) -> Self {
        Self::with_ahead(repo, notes_ref, None)
    }

    /// Does the same; `ahead` knows something of the transcripts already.
    pub fn with_ahead(repo: &'r Repository, notes_ref: &str, ahead: Option<Ahead>) -> Self {
        let seconds = repo.config_integer("shiftlog.hookTimeout").unwrap_or(HOOK_TIMEOUT_SECS).clamp(0, 3600);
        let deadline = Instant::now() + Duration::from_secs(seconds.unsigned_abs());
        let state = State::new(&repo.common_dir());
        let (lock, hindrance) = match repo.within_lock_wait(deadline, |until| state.lock(until)) {
            Ok(lock) => (Some(lock), None),
            Err(error) => (None, Some(error)),
        };
        let redaction = Arc::new(redaction::redactor(repo));
        if let Some(ahead) = &ahead {
            ahead.redact_with(&redaction);
        }
        let mut recorder = Recorder {
            repo,
            archive: Archive::new(repo),
            state,
            notes_ref: notes_ref.to_owned(),
            deadline,
            report: Report::default(),
            redaction,
            ahead,
            purged: Tombstones::read(repo).unwrap_or_default(),
            lock,
            hindrance,
        };
        if let Some(error) = recorder.hindrance() {
            // Who has something to store is told when that fails.
            recorder.state.log(&format!("warning: {error}"));
            return recorder;
        }
        match kept::rejoin(repo, notes_ref, deadline) {
            Ok(joined) => joined.iter().for_each(|name| recorder.state.log(&format!("joined again what '{name}' had"))),
            Err(error) => recorder.state.log(&format!("warning: {error}")),
        }
        // A lock that stays must not use up the time for what is new.
        recorder.deadline = deadline.min(Instant::now() + PENDING_SHARE);
        if let Err(error) = recorder.store_pending() {
            recorder.warn(error);
        }
        recorder.deadline = deadline;
        recorder
    }

    /// Returns what was done.
    pub fn finish(self) -> Report {
        self.report
    }

    /// Lets other hooks go on while long work is done; each write may take until `deadline`.
    pub(super) fn let_others_in(&mut self, deadline: Instant) {
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

    /// Reads what a session said since it was last recorded on a commit; `None` if that is nothing.
    ///
    /// # Errors
    ///
    /// If the transcript cannot be read.
    pub(super) fn news(&mut self, live: &mut Live) -> Result<Option<Stretch<'static>>> {
        // Most sessions that are known have nothing new; their files are not even opened.
        let agent = agent::named(&live.agent)?;
        let recorded = live.progress.recorded.raw.filter(|raw| *raw > 0 && !agent.is_rendered(&live.transcript));
        if recorded.is_some_and(|recorded| live.transcript.metadata().is_ok_and(|file| file.len() == recorded)) {
            return Ok(None);
        }
        let key = live.key();
        // To make lines of a document costs more than to look at its file.
        let stamp = if agent.is_rendered(&live.transcript) { stamp(&live.transcript) } else { None };
        if stamp.is_some() && stamp == live.progress.stamp {
            return Ok(None);
        }
        let has_hooks = live.process.is_some();
        let news = self.unrecorded(key, agent, &live.transcript, &mut live.progress, has_hooks)?;
        live.progress.stamp = stamp.filter(|_| news.is_none());
        Ok(news.map(|stretch| Stretch { model: live.model.clone(), stamp, ..stretch }))
    }

    fn unrecorded(
        &mut self,
        key: SessionKey,
        agent: &'static dyn Agent,
        transcript: &Path,
        progress: &mut Progress,
        has_hooks: bool,
    ) -> Result<Option<Stretch<'static>>> {
        self.recover_progress(&key, progress);
        let ahead = self.ahead.as_ref().and_then(|ahead| ahead.take(transcript));
        let is_ahead = ahead.is_some();
        let (mut stretch, is_granted) = self.stretch_of(&key, agent, transcript, progress, ahead)?;
        if stretch.is_none() && is_granted && has_hooks {
            // The whole is looked at when its hooks tell that the turn is over.
            progress.is_granted = true;
        } else if stretch.is_none() && is_ahead && agent.is_rendered(transcript) {
            // Whether nothing is new only a look at the whole document tells.
            stretch = self.stretch_of(&key, agent, transcript, progress, None)?.0;
        }
        Ok(stretch.map(|stretch| Stretch { transcript: Some(transcript.to_owned()), ..stretch }))
    }

    /// Returns what a transcript says beyond what is recorded, if that is something, and whether its beginning was taken for
    /// granted.
    fn stretch_of(
        &self,
        key: &SessionKey,
        agent: &'static dyn Agent,
        transcript: &Path,
        progress: &Progress,
        known: Option<Known>,
    ) -> Result<(Option<Stretch<'static>>, bool)> {
        if known.is_some() && agent.is_rendered(transcript) {
            // While the other thread reads it, what recording it will ask for is brought near.
            let _ = self.archive.newest(key);
            let _ = notes::get(self.repo, &self.notes_ref, self.repo.null_id());
        }
        let reading = Reading::open(&self.archive, agent, key, &self.redaction, progress, transcript, known)?;
        let is_granted = reading.is_granted();
        Ok((self.stretch(key.clone(), reading, progress.recorded.clone(), u64::MAX)?, is_granted))
    }

    /// Returns the stretch from a mark to the end of a transcript, or to `limit`; `None` if it is empty.
    fn stretch<'a>(
        &self,
        key: SessionKey,
        mut reading: Reading<'a>,
        since: Mark,
        limit: u64,
    ) -> Result<Option<Stretch<'a>>> {
        let (from, end) = (reading.position(&since)?, reading.end().min(limit));
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
        if let Some(mut news) = self.news(live)? {
            self.record_stretch(&mut news, &mut live.progress);
        }
        self.record_sub_agents(None, live)
    }

    /// Records the sub-agents of a session, each as a session of its own; without a commit they are only archived.
    pub(super) fn record_sub_agents(&mut self, commit_id: Option<ObjectId>, live: &mut Live) -> Result<()> {
        let agent = agent::named(&live.agent)?;
        for found in agent.sub_agents(&live.transcript) {
            let key = SessionKey::new(&live.agent, &found.session_id);
            let progress = live.sub_agents.entry(found.session_id).or_default();
            match self.unrecorded(key, agent, &found.transcript, progress, false) {
                Ok(Some(mut stretch)) => {
                    stretch.commit_ids.extend(commit_id);
                    self.record_stretch(&mut stretch, progress);
                }
                Ok(None) => {}
                Err(error) => self.warn(error),
            }
        }
        Ok(())
    }

    /// Stores a stretch, then records it on its commits; what cannot be stored is put aside.
    ///
    /// The archive is written before the note that names it: a crash in between leaves nothing dangling.
    pub(super) fn record_stretch(&mut self, stretch: &mut Stretch<'_>, progress: &mut Progress) {
        let before = progress.stored.clone();
        let kept = stretch.reading.kept_bytes();
        match self.try_record(stretch, progress) {
            Ok(true) => {}
            Err(error) if stretch.reading.prove() => {
                // What was stored before the failure need not be kept a second time.
                let from = if progress.stored == before {
                    Mark { bytes: kept.min(before.bytes), raw: None, ..before }
                } else {
                    progress.stored.clone()
                };
                let error = self.put_aside(stretch, from, error);
                self.warn(error);
            }
            Ok(false) | Err(_) => self.record_anew(stretch, progress),
        }
    }

    /// Records a document that turned out to begin otherwise than it did.
    fn record_anew(&mut self, stretch: &Stretch<'_>, progress: &mut Progress) {
        let Some(transcript) = &stretch.transcript else { return };
        let again = agent::named(&stretch.key.agent)
            .and_then(|agent| self.unrecorded(stretch.key.clone(), agent, transcript, progress, false));
        match again {
            Ok(Some(mut again)) => {
                again.model.clone_from(&stretch.model);
                again.commit_ids.clone_from(&stretch.commit_ids);
                self.record_stretch(&mut again, progress);
            }
            Ok(None) => {}
            Err(error) => self.warn(error),
        }
    }

    /// Stores a stretch and records it; `false` if it turned out not to be what there is.
    fn try_record(&mut self, stretch: &mut Stretch<'_>, progress: &mut Progress) -> Result<bool> {
        if let Some(error) = self.hindrance() {
            return Err(error);
        }
        if self.purged.bars(&stretch.key) {
            return Ok(true);
        }
        let (kept, kept_bytes) = (stretch.reading.kept(), stretch.reading.kept_bytes());
        if !stretch.reading.store(&self.archive, progress, stretch.until, self.deadline)? {
            return Ok(false);
        }
        // What commits have beyond that is not part of the transcript any more.
        if kept_bytes < progress.recorded.bytes {
            (progress.recorded.bytes, progress.recorded.raw) = (kept_bytes, Some(kept));
        }
        crate::git::fault_point("archived");
        let Some(through) = progress.stored.segment.clone().filter(|_| !stretch.commit_ids.is_empty()) else {
            return Ok(true);
        };
        if Some(&through) == stretch.since.segment.as_ref() {
            return Ok(true);
        }
        let tally = &stretch.survey.tally;
        let record = Record {
            shiftlog: 1,
            agent: stretch.key.agent.clone(),
            session: stretch.key.id.clone(),
            model: tally.model.as_ref().or(stretch.model.as_ref()).cloned(),
            time: Time::now().to_rfc3339(),
            prompt: tally.prompt.as_deref().and_then(short_prompt),
            summary: None,
            summary_time: None,
            turns: tally.turns,
            messages: tally.messages,
            tokens: tally.tokens(),
            since: stretch.since.segment.clone(),
            through,
            bytes: progress.stored.bytes,
            sha256: stretch.reading.stored_sha256(&self.archive)?,
            tree: None,
            earlier: Vec::new(),
            other: serde_json::Map::new(),
        };
        let message = format!("shiftlog: {} on {}\n", stretch.key, stretch.commit_ids[0].to_hex_with_len(12));
        notes::edit(self.repo, &self.notes_ref, &message, self.deadline, |editor| {
            for commit_id in &stretch.commit_ids {
                let old = editor.get(*commit_id)?;
                let mut note = Note::parse(old.as_deref().unwrap_or_default());
                let tree = self.repo.commit(*commit_id).ok().map(|commit| commit.tree_id.to_string());
                note.add(Record { tree, ..record.clone() });
                let new = note.to_bytes();
                if old.as_deref() != Some(&new[..]) {
                    editor.replace(*commit_id, &new)?;
                }
            }
            Ok(())
        })?;
        crate::git::fault_point("recorded");
        progress.recorded = progress.stored.clone();
        progress.stamp = stretch.stamp.filter(|_| stretch.until == stretch.reading.end());
        for commit_id in &stretch.commit_ids {
            self.state.log(&format!("recorded {} on {commit_id}, {} bytes", stretch.key, progress.stored.bytes));
            self.report.recorded.push((*commit_id, stretch.key.clone()));
        }
        Ok(true)
    }

    /// Stores a transcript whole, and records its parts on commits: each goes from the end of the one before to its own
    /// end, a line end of the transcript.
    ///
    /// What is archived already is not cut any more: a part that ends in it ends with it.
    ///
    /// # Errors
    ///
    /// If it cannot be stored; what has been recorded by then stays, and `progress` knows it.
    pub(super) fn record_parts(
        &mut self,
        key: &SessionKey,
        transcript: Vec<u8>,
        ends: &[(u64, ObjectId)],
        progress: &mut Progress,
    ) -> Result<()> {
        let agent = agent::named(&key.agent)?;
        let mut reading = Reading::of_bytes(&self.archive, agent, key, &self.redaction, progress, transcript)?;
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

    /// Keeps what could not be stored in a file, and returns what to tell the user.
    fn put_aside(&mut self, stretch: &mut Stretch<'_>, from: Mark, error: Error) -> Error {
        let mut capture = Capture {
            shiftlog: 1,
            agent: stretch.key.agent.clone(),
            session: stretch.key.id.clone(),
            commits: stretch.commit_ids.iter().map(ToString::to_string).collect(),
            from: from.clone(),
            transcript: None,
        };
        let bytes = match &stretch.transcript {
            // What cannot be redacted is written nowhere.
            Some(path) if self.redaction.is_err() => {
                capture.transcript = Some(Elsewhere { path: path.clone(), until: stretch.until });
                Ok(Vec::new())
            }
            _ => stretch.reading.position(&from).and_then(|start| stretch.reading.bytes(start, stretch.until)),
        };
        match bytes.and_then(|bytes| pending::keep(&self.state, &capture, &bytes)) {
            Ok(path) => error
                .hint(format!("the session is kept in '{}'; the next git shiftlog command stores it", path.display())),
            Err(second) => Error::other(format!(
                "session {} is not stored: {error}; nor could it be put aside: {second}",
                stretch.key
            ))
            .hint("it is stored with the next commit if the agent still has its transcript then"),
        }
    }

    /// Stores what earlier commands had to put aside, oldest first. Stops at the first that still cannot be stored.
    ///
    /// # Errors
    ///
    /// What stands in the way.
    fn store_pending(&mut self) -> Result<()> {
        for path in pending::list(&self.state) {
            match self.store_one(&path) {
                Ok(()) => self.state.log(&format!("stored '{}'", path.display())),
                Err(error) if matches!(error.kind(), Kind::Busy | Kind::Storage) => return Err(error),
                // What can never be stored must not keep the others waiting.
                Err(error) => self.warn(Error::other(format!("cannot store '{}'", path.display())).because(error)),
            }
        }
        Ok(())
    }

    fn store_one(&mut self, path: &Path) -> Result<()> {
        let (capture, bytes) = pending::read(path)?;
        let key = SessionKey::new(&capture.agent, &capture.session);
        let agent = agent::named(&capture.agent)?;
        // What is known of a sub-agent stands with its session.
        let owner = key.parent_id().map_or_else(|| key.clone(), |parent| SessionKey::new(&key.agent, parent));
        let mut live = self.state.session(&owner);
        let mut unknown = Progress::default();
        let progress = match &mut live {
            Some(live) if owner == key => &mut live.progress,
            Some(live) => live.sub_agents.entry(key.id.clone()).or_default(),
            None => &mut unknown,
        };
        self.recover_progress(&key, progress);
        if let Some(elsewhere) = &capture.transcript {
            // Where the agent has deleted its file meanwhile, nothing is left to store.
            if elsewhere.path.exists() {
                let reading =
                    Reading::open(&self.archive, agent, &key, &self.redaction, progress, &elsewhere.path, None)?;
                let stretch = self.stretch(key, reading, progress.recorded.clone(), elsewhere.until)?;
                self.store_stretch(stretch, &capture, progress)?;
            } else {
                self.state.log(&format!("warning: '{}' is gone before it could be stored", elsewhere.path.display()));
            }
            return self.stored(live.as_ref(), path);
        }
        let mut transcript = match capture.from.segment.as_deref().and_then(|hex| self.repo.parse_id(hex)) {
            Some(segment_id) => self.archive.transcript(segment_id).bytes(),
            None => Vec::new(),
        };
        transcript.truncate(usize::try_from(capture.from.bytes).unwrap_or(usize::MAX));
        transcript.extend(bytes);
        let reading = Reading::of_bytes(&self.archive, agent, &key, &self.redaction, progress, transcript)?;
        let stretch = self.stretch(key, reading, progress.recorded.clone(), u64::MAX)?;
        self.store_stretch(stretch, &capture, progress)?;
        self.stored(live.as_ref(), path)
    }

    fn store_stretch(
        &mut self,
        stretch: Option<Stretch<'_>>,
        capture: &Capture,
        progress: &mut Progress,
    ) -> Result<()> {
        let Some(mut stretch) = stretch else { return Ok(()) };
        stretch.commit_ids.extend(capture.commits.iter().filter_map(|hex| self.repo.parse_id(hex)));
        self.try_record(&mut stretch, progress).map(drop)
    }

    /// Writes down that a pending file is stored, and removes it.
    fn stored(&self, live: Option<&Live>, path: &Path) -> Result<()> {
        if let Some(live) = live {
            self.state.save(live)?;
        }
        std::fs::remove_file(path).map_err(|error| Error::io("remove", path, error))
    }

    /// Finds out how far a session is stored and recorded when our own state does not know it.
    ///
    /// Costs one tree lookup for a session that the archive does not have, which is the usual case; otherwise every
    /// note is read.
    fn recover_progress(&mut self, key: &SessionKey, progress: &mut Progress) {
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
    /// `has_next` says that another commit has been made meanwhile, which gets what comes behind the result.
    ///
    /// # Errors
    ///
    /// If the transcript cannot be read.
    pub(super) fn catch_up(
        &mut self,
        live: &mut Live,
        is_turn_over: bool,
        has_next: bool,
    ) -> Result<Option<Stretch<'static>>> {
        let mut news = self.news(live)?;
        let Some(Open { commit, call }) = live.open.clone() else { return Ok(news) };
        // Where it is to be cut only the document tells that there is.
        if news.as_mut().is_some_and(|stretch| !stretch.reading.prove()) {
            news = self.news(live)?;
        }
        let short_id = commit.get(..7).unwrap_or(&commit);
        let is_the_one = |answer: &&super::capture::Answer| match &call {
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
        self.news(live)
    }

    /// Looks at what a commit took for granted; if it is not what it was, the next commit gets it anew.
    pub(super) fn look_again(&mut self, live: &mut Live) -> Result<()> {
        match self.news(live)? {
            Some(stretch) if !stretch.reading.is_same() => live.progress.forget_beginning(),
            _ => live.progress.is_granted = false,
        }
        Ok(())
    }

    /// Returns HEAD if it is an amended form of `commit_id`: another commit whose note ends with the same segment.
    fn amended_since(&self, commit_id: ObjectId, key: &SessionKey, through: Option<&str>) -> Option<ObjectId> {
        let head = self.repo.head().ok()?.commit_id.filter(|head| *head != commit_id)?;
        let note = notes::get(self.repo, &self.notes_ref, head).ok()??;
        let has_it =
            Note::parse(&note).records().any(|record| record.key() == *key && Some(&*record.through) == through);
        has_it.then_some(head)
    }

    /// Attaches a transcript to a commit by hand.
    ///
    /// # Errors
    ///
    /// If the agent is unknown, the transcript has no complete line, or it cannot be stored.
    pub fn add(&mut self, commit_id: ObjectId, addition: Addition) -> Result<bool> {
        let agent = agent::named(&addition.key.agent)?;
        let mut live = self.state.session(&addition.key);
        let mut progress = live.as_ref().map(|live| live.progress.clone()).unwrap_or_default();
        self.recover_progress(&addition.key, &mut progress);
        let mut transcript = addition.transcript;
        if transcript.last().is_some_and(|byte| *byte != b'\n') && live.is_none() {
            // A file given by hand is finished; only a live one can have a line that is still being written.
            transcript.push(b'\n');
        }
        let reading = Reading::of_bytes(&self.archive, agent, &addition.key, &self.redaction, &progress, transcript)?;
        let since = match addition.since {
            Some(since) => {
                let bytes = self.archive.header(since)?.total_bytes();
                Mark { segment: Some(since.to_string()), bytes, raw: None }
            }
            None => progress.recorded.clone(),
        };
        if reading.end() == 0 {
            return Err(Error::new(Kind::Missing, "the transcript is empty"));
        }
        let before = self.report.recorded.len();
        if let Some(mut stretch) = self.stretch(addition.key, reading, since, u64::MAX)? {
            stretch.commit_ids.push(commit_id);
            self.try_record(&mut stretch, &mut progress)?;
        }
        if let Some(live) = &mut live {
            live.progress = progress;
            self.state.save(live)?;
        }
        Ok(self.report.recorded.len() > before)
    }
}
