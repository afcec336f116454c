//! The sessions that can explain the lines of one commit: those that are recorded on it, or those that are running.

use std::ops::ControlFlow;
use std::time::Instant;

use super::MAX_FILE_BYTES;
use super::session_work::{Befores, Change, EditKind, SessionWork};
use crate::agent;
use crate::capture::{self, Spoken};
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::record::{MissingWords, NoteTrees, Reader, Words};
use crate::redact::Redactor;
use crate::transcript::SessionKey;

/// How much of a transcript is looked through for the directory that the session ran in.
const HEAD_BYTES: usize = 1 << 20;

/// The sessions of a commit.
#[derive(Debug, Default)]
pub struct Source {
    /// The work of each session; that of sub-agents stands after that of their session.
    pub sessions: Vec<SessionWork>,
    /// The names of all recorded sessions.
    pub keys: Vec<SessionKey>,
    /// Descriptions of missing or damaged words.
    pub problems: Vec<String>,
    /// The reason if a session has no words although nothing is damaged.
    pub lack: Option<MissingWords>,
    /// Whether words are left out because there are too many to read here.
    pub is_too_large: bool,
    /// Whether a session has more before what was read: an earlier commit has it.
    pub has_more_before: bool,
}

impl Source {
    /// Reads the sessions of a commit, whose note is in one of the `trees`: what it recorded, or with `is_whole` all of
    /// them up to the commit. Also returns files as edits have found them, of those that are called by one of the
    /// `names`.
    ///
    /// # Errors
    ///
    /// If the note cannot be read.
    pub fn of_commit(
        reader: &Reader<'_>,
        trees: Option<&NoteTrees>,
        commit_id: ObjectId,
        is_whole: bool,
        redactor: Option<&Redactor>,
        names: [&str; 2],
    ) -> Result<(Self, Befores)> {
        let (mut source, mut befores) = (Source::default(), Befores::new());
        let note = trees.map_or_else(|| reader.note(commit_id), |trees| reader.note_in(trees, commit_id))?;
        let Some(note) = note else { return Ok((source, befores)) };
        source.problems.extend_from_slice(note.problems());
        reader.each_conversation(&note, None, is_whole, Words::Shown, |mut conversation| {
            if let Some(redactor) = redactor {
                conversation.redact(redactor);
            }
            let summary = conversation.summary;
            source.has_more_before |= !is_whole && summary.since.is_some();
            source.lack = source.lack.or(conversation.lack);
            source.is_too_large |= conversation.is_too_large;
            if conversation.lack.is_none() {
                source.problems.append(&mut conversation.problems);
            }
            source.keys.push(summary.key.clone());
            let model = summary.only_model().map(str::to_owned);
            let mut work = SessionWork::of(summary.key, model, conversation.messages);
            (work.since, work.through) = (summary.since, summary.through);
            work.directory = directory(&conversation.bytes);
            if conversation.lack.is_some() {
                // The record counts what is not here.
                work.turns = usize::try_from(summary.turns).unwrap_or(usize::MAX);
            }
            work.is_beyond_record = is_whole && work.since.is_some();
            befores.extend(befores_of(source.sessions.len(), &mut work, &conversation.bytes, names));
            source.sessions.push(work);
            Ok(ControlFlow::Continue(()))
        })?;
        // Some name people.
        if let Some(redactor) = redactor {
            let clean = |problem: &mut String| *problem = redactor.without_secrets(problem).into_owned();
            source.problems.iter_mut().for_each(clean);
        }
        Ok((source, befores))
    }

    /// Reads the sessions that go on in this worktree, from their transcripts, without secrets. Also returns files as
    /// [`Source::of_commit`] does.
    pub fn of_worktree(repo: &Repository, deadline: Instant, names: [&str; 2]) -> (Self, Befores) {
        let (mut source, mut befores) = (Source::default(), Befores::new());
        for Spoken { key, model, words } in capture::spoken(repo, deadline) {
            match words {
                Ok(words) => {
                    let messages = agent::find(&key.agent).map_or_else(Vec::new, |agent| agent.parse(&words));
                    let mut work = SessionWork::of(key.clone(), model, messages);
                    work.is_live = true;
                    work.directory = directory(&words);
                    befores.extend(befores_of(source.sessions.len(), &mut work, &words, names));
                    source.sessions.push(work);
                    source.keys.push(key);
                }
                Err(error) => source.problems.push(format!("{key} cannot be read: {error}")),
            }
        }
        (source, befores)
    }
}

/// Returns the files with some names as the edits of a session have found them, from the words that it was read from.
/// An edit that writes such a file whole gets the text that it replaces.
fn befores_of(at: usize, work: &mut SessionWork, words: &[u8], names: [&str; 2]) -> Befores {
    let Some(agent) = agent::find(&work.key.agent) else { return Befores::new() };
    let is_named = |change: &Change| change.edit.path.rsplit('/').next().is_some_and(|name| names.contains(&name));
    let mut befores = Befores::new();
    for (number, call) in work.calls.iter_mut().enumerate().filter(|(_, call)| call.changes.iter().any(is_named)) {
        let record = call.result.clone().and_then(|span| words.get(span));
        let before = record.and_then(|record| agent.file_before(record));
        let is_known = |before: &String| !before.is_empty() && before.len() as u64 <= MAX_FILE_BYTES;
        let Some(before) = before.filter(is_known) else { continue };
        for change in call.changes.iter_mut().filter(|change| change.kind == EditKind::Write && is_named(change)) {
            change.edit.old.get_or_insert_with(|| before.clone());
        }
        befores.insert((at, number), before);
    }
    befores
}

/// Returns the directory that a session ran in. Agents that write it down do so early, and often.
fn directory(words: &[u8]) -> Option<String> {
    agent::directory(&words[..words.len().min(HEAD_BYTES)])
}
