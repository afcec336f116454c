//! Reading past sessions and comparing them with what the archive has.

use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use twox_hash::XxHash3_64;

use super::activity::Trace;
use super::claims::Past;
use super::find::Stored;
use super::noted::Noted;
use super::{Fate, Source};
use crate::agent::{Agent, FoundTranscript};
use crate::archive::Archive;
use crate::capture::State;
use crate::capture::fork::{COMMAND_TIMEOUT, repeated_purged};
use crate::capture::progress::Progress;
use crate::capture::reading::{Reading, Redaction, SessionContext};
use crate::capture::segment_end::SegmentEnd;
use crate::capture::sessions::is_going_on;
use crate::capture::tracked::TrackedSession;
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::record::foreign_marks::ForeignMarks;
use crate::record::redaction;
use crate::record::tombstone::Tombstones;
use crate::transcript::{SessionKey, complete_lines, end_last_line};

/// A transcript that has not grown for so long is finished, also if its last line has no end.
const QUIET_SECS: i64 = 60 * 60;

/// Reads sessions and lays them beside what the archive has.
pub struct Loader<'a, 'r> {
    archive: Archive<'r>,
    state: State,
    redaction: Redaction,
    purged: Tombstones,
    /// What stands in the place of segments that were removed.
    replaced: HashSet<ObjectId>,
    /// The sessions of which others have removed words.
    removed_by_others: HashSet<SessionKey>,
    noted: &'a Noted,
    repo: &'r Repository,
    now: i64,
}

/// A session that has been read, without its words.
pub struct Loaded {
    pub agent: &'static dyn Agent,
    pub worktree: PathBuf,
    pub sources: Vec<Source>,
    pub live: Option<TrackedSession>,
    /// Set if it is left alone.
    pub fate: Option<Fate>,
}

impl<'a, 'r> Loader<'a, 'r> {
    /// Makes one that has read nothing yet.
    pub fn new(repo: &'r Repository, noted: &'a Noted) -> Result<Self> {
        let purged = Tombstones::read(repo)?;
        let replaced = purged.segments.values().filter_map(|became| repo.parse_id(became.became.as_deref()?)).collect();
        Ok(Loader {
            archive: Archive::new(repo),
            state: State::new(&repo.common_dir()),
            // Without it nothing can be stored; better to know before anything is read.
            redaction: Rc::new(Ok(redaction::redactor(repo)?)),
            removed_by_others: ForeignMarks::read(repo, &purged).sessions(repo),
            purged,
            replaced,
            noted,
            repo,
            now: Time::now().seconds,
        })
    }

    /// Reads a session with its sub-agents; `None` if it is not to come back, cannot be read or has no message.
    pub fn load(&mut self, stored: &Stored, problems: &mut Vec<Error>) -> Option<(Past, Loaded)> {
        let key = SessionKey::new(stored.agent.name(), &stored.found.session_id);
        if self.purged.bars(&key) {
            return None;
        }
        let live = self.state.session(&key);
        let (mut traces, mut sources) = (Vec::new(), Vec::new());
        let own = [stored.found.clone()].into_iter();
        for found in own.chain(stored.agent.sub_agents(&stored.found.transcript)) {
            match self.source(stored.agent, &found, &key, live.as_ref()) {
                Ok(Some((trace, source))) => {
                    traces.push(trace);
                    sources.push(source);
                }
                Ok(None) if sources.is_empty() => return None,
                Ok(None) => {}
                Err(error) if sources.is_empty() => {
                    problems.push(error);
                    return None;
                }
                Err(error) => problems.push(error),
            }
        }
        let fate = if live.as_ref().is_some_and(|live| is_going_on(live, self.now)) {
            Some(Fate::GoingOn)
        } else if live.is_none() && (sources.iter().any(|source| self.is_purged(source)) || self.repeats_purged(stored))
        {
            Some(Fate::Purged)
        } else if live.is_none() && sources.iter().any(|source| self.removed_by_others.contains(&source.key)) {
            Some(Fate::PurgedByOthers)
        } else {
            None
        };
        let past = Past::new(key, stored.directory.clone(), stored.worktree.clone(), traces);
        Some((past, Loaded { agent: stored.agent, worktree: stored.worktree.clone(), sources, live, fate }))
    }

    /// Reads a transcript; `None` if it has no message, as a file that no agent has written, and was never stored.
    fn source(
        &self,
        agent: &'static dyn Agent,
        found: &FoundTranscript,
        owner: &SessionKey,
        live: Option<&TrackedSession>,
    ) -> Result<Option<(Trace, Source)>> {
        let key = SessionKey::new(&owner.agent, &found.session_id);
        let mut bytes = agent.read(&found.transcript)?;
        let (length, check) = (bytes.len(), XxHash3_64::oneshot(&bytes));
        let messages = agent.parse(&bytes);
        let newest = self.archive.newest(&key)?;
        if messages.is_empty() && newest.is_none() {
            return Ok(None);
        }
        let trace = Trace::of(&messages);
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
            newest,
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
        Ok(Some((trace, source)))
    }

    /// Returns how far a session is stored and recorded, from the archive and the notes if our own state does not know.
    fn recovered(&self, key: &SessionKey, progress: Progress) -> Result<Progress> {
        if progress.stored != SegmentEnd::default() {
            return Ok(progress);
        }
        let archived = Progress::archived(&self.archive, key)?;
        let newest = archived.stored.segment.as_deref().and_then(|hex| self.archive.repo().parse_id(hex));
        let Some(newest) = newest else { return Ok(progress) };
        let ends = self.noted.recorded.get(key).map_or(&[][..], Vec::as_slice);
        Ok(Progress { recorded: SegmentEnd::last_recorded(&self.archive, key, newest, ends), ..archived })
    }

    fn compare(&self, agent: &'static dyn Agent, source: &mut Source, bytes: Vec<u8>) -> Result<()> {
        let (archive, redaction) = (&self.archive, &self.redaction);
        let context = SessionContext { archive, agent, key: &source.key, redaction, purged: None, deadline: None };
        let mut reading = Reading::of_bytes(context, &source.progress, bytes)?;
        source.recorded = reading.position(&source.progress.recorded)?;
        let (kept, end) = (reading.kept(), reading.end());
        source.has_news = kept < end && reading.survey(&SegmentEnd::default(), kept, end)?.until > kept;
        Ok(())
    }

    /// Says whether a session repeats another one of which words were removed for good.
    fn repeats_purged(&self, stored: &Stored) -> bool {
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        repeated_purged(&self.state, stored.agent, &stored.found.transcript, deadline).is_some()
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
