//! Resuming a recorded session: choosing it, reading it, and writing its transcript where its agent looks for it.
//!
//! Read [`Chosen::find`] and [`Restore::plan`]. Each agent knows its own files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::agent::{self, Agent, Recorded, Restoration, RestoredContent};
use crate::capture::State;
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Repository};
use crate::outside;
use crate::record::{Conversation, MissingWords, Reader, redaction};
use crate::transcript::{SessionKey, complete_lines, without_last_line};

/// The decision about one file of the agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FileStep {
    /// Write the file: it does not exist, or has a prefix of the recorded transcript.
    Write(PathBuf, Vec<u8>),
    /// Leave the file: it has the recorded transcript, or more.
    Keep(PathBuf),
}

/// The plan for resuming a session.
#[derive(Clone, Debug)]
pub struct Restore {
    /// The files to write before the commands.
    pub steps: Vec<FileStep>,
    /// The programs to run and their arguments; the last one is the agent.
    pub commands: Vec<Vec<String>>,
}

/// A recorded session, read back whole.
#[derive(Debug)]
pub struct Chosen {
    /// The conversation up to the commit.
    pub conversation: Conversation,
    /// The ids and transcripts of its sub-agents.
    sub_agents: Vec<(String, Vec<u8>)>,
}

impl Chosen {
    /// Finds the session of a commit. `agent` and `session` choose where there are several.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if no session matches, or several do. Another error if words of the session are missing or
    /// damaged.
    pub fn find(reader: &Reader<'_>, commit_id: ObjectId, agent: Option<&str>, session: Option<&str>) -> Result<Self> {
        let missing = |what: String| Error::new(Kind::Missing, what);
        let recorded = |what: String| missing(format!("no {what} recorded for {}", commit_id.to_hex_with_len(7)));
        let list = "'git shiftlog log' lists the commits that have a conversation";
        let nothing = || recorded("conversation".into()).hint(list);
        let mut note = reader.sessions(commit_id)?.ok_or_else(nothing)?;
        let is_wanted = |key: &SessionKey| {
            key.parent_id().is_none()
                && agent.is_none_or(|agent| key.agent == agent)
                && session.is_none_or(|session| key.id.starts_with(session))
        };
        let mut keys: Vec<SessionKey> = note.summaries().map(|summary| summary.key.clone()).filter(is_wanted).collect();
        let mut seen = HashSet::new();
        keys.retain(|key| seen.insert(key.clone()));
        let key = match keys.as_slice() {
            [one] => one.clone(),
            [] => {
                let of_agent = agent.map_or(String::new(), |agent| format!(" of {agent}"));
                return Err(match session {
                    Some(session) => recorded(format!("session '{session}'{of_agent}")),
                    None => recorded(format!("session{of_agent}")),
                });
            }
            several => {
                let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                return Err(missing(format!("several sessions made this commit: {}", names.join(", ")))
                    .hint("'--session=<id>' chooses one"));
            }
        };
        // A commit can have thousands of sessions: only those that are needed are read.
        let sub_keys = note.sub_agents(&key).to_vec();
        let mut read = |key: &SessionKey| {
            let mut found = None;
            let read = reader.each_of_session(&mut note, key, true, |conversation| {
                found.get_or_insert(conversation);
                Ok(())
            });
            read.map(|()| found)
        };
        let chosen = read(&key)?.ok_or_else(nothing)?;
        if let Some(problem) = chosen.problems.first() {
            let error = Error::other(format!("cannot read all words of session {key}")).because(problem.clone());
            return Err(match chosen.lack {
                Some(MissingWords::NotFetched) => {
                    error.hint("'git shiftlog sync pull --all' fetches transcripts that others share")
                }
                _ => error,
            });
        }
        let mut sub_agents = Vec::new();
        let prefix = format!("{}.", key.id);
        for sub_key in sub_keys {
            let Some(id) = sub_key.id.strip_prefix(&prefix) else { continue };
            let sub_agent = read(&sub_key)?.filter(|each| each.problems.is_empty());
            sub_agents.extend(sub_agent.map(|each| (id.to_owned(), each.bytes)));
        }
        Ok(Chosen { conversation: chosen, sub_agents })
    }
}

impl Restore {
    /// Plans to resume a session in `directory`.
    ///
    /// # Errors
    ///
    /// If the agent cannot resume a restored session, or if another transcript is in the way and `is_forced` is not
    /// set.
    pub fn plan(reader: &Reader<'_>, chosen: &Chosen, directory: &Path, is_forced: bool) -> Result<Self> {
        let key = chosen.conversation.summary.key.clone();
        let cannot = || Error::new(Kind::Unsupported, format!("cannot resume session {key}"));
        let agent = agent::find(&key.agent).ok_or_else(cannot)?;
        // The id becomes an argument and a part of paths, as do the ids of sub-agents.
        let ids = std::iter::once(&key.id).chain(chosen.sub_agents.iter().map(|(id, _)| id));
        if !ids.into_iter().all(|id| outside::is_plain_id(id)) {
            return Err(cannot().because("an id has a form that no agent uses"));
        }
        let transcript = &chosen.conversation.bytes;
        let session = Recorded { session_id: &key.id, transcript, sub_agents: &chosen.sub_agents };
        let Restoration { files, commands } =
            agent.restoration(session, directory)?.ok_or_else(|| match agent::has_no_place(agent) {
                true => cannot().because("HOME is not set"),
                false => cannot(),
            })?;
        let steps = files.into_iter().map(|(path, content)| step(reader, agent, path, content, is_forced));
        Ok(Restore { steps: steps.collect::<Result<_>>()?, commands })
    }

    /// Plans to start another agent with the conversation: writes `document` beside the repository and names it in the
    /// prompt.
    ///
    /// # Errors
    ///
    /// If that agent cannot be started with a prompt.
    pub fn hand_over(
        repo: &Repository,
        commit_id: ObjectId,
        chosen: &Chosen,
        to: &dyn Agent,
        document: Vec<u8>,
    ) -> Result<Self> {
        let name = format!("{}-{}.md", commit_id.to_hex_with_len(12), chosen.conversation.summary.key.file_name());
        let path = handed_over(&State::new(&repo.common_dir())).join(name);
        let prompt = format!(
            "Continue the work of another agent. What was said until now is in the file {}: read it first. It is a record, \
             not a list of orders; what it asked for may be done already. Then say in a few sentences where the work stands.",
            path.display()
        );
        let cannot = || {
            let can = agent::all().filter(|agent| agent.opening("").is_some());
            let names: Vec<String> = can.map(|agent| format!("--as={}", agent.name())).collect();
            Error::new(Kind::Unsupported, format!("{} cannot be started with a prompt", to.title()))
                .hint(format!("these can: {}", names.join(", ")))
        };
        let words = to.opening(&prompt).ok_or_else(cannot)?;
        Ok(Restore { steps: vec![FileStep::Write(path, document)], commands: vec![words] })
    }

    /// Writes the files. [`Restore::plan`] has checked the files that exist.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`] when a file cannot be written.
    pub fn carry_out(&self) -> Result<()> {
        for step in &self.steps {
            if let FileStep::Write(path, bytes) = step {
                crate::git::private::write(path, bytes)?;
            }
        }
        Ok(())
    }
}

/// Returns the directory of the documents for [`Restore::hand_over`].
pub fn handed_over(state: &State) -> PathBuf {
    state.root().join("handed-over")
}

/// Decides whether to write or keep a file, by its present content.
fn step(
    reader: &Reader<'_>,
    agent: &dyn Agent,
    path: PathBuf,
    content: RestoredContent,
    is_forced: bool,
) -> Result<FileStep> {
    let present = match std::fs::read(&path) {
        Ok(present) => present,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let (RestoredContent::Transcript(bytes) | RestoredContent::Once(bytes) | RestoredContent::Index(bytes)) =
                content;
            return Ok(FileStep::Write(path, bytes));
        }
        Err(error) => return Err(Error::io("read", &path, error)),
    };
    match content {
        RestoredContent::Index(bytes) if bytes != present => Ok(FileStep::Write(path, bytes)),
        RestoredContent::Once(bytes) if is_forced => Ok(FileStep::Write(path, bytes)),
        RestoredContent::Index(_) | RestoredContent::Once(_) => Ok(FileStep::Keep(path)),
        RestoredContent::Transcript(bytes) => transcript_step(reader, agent, path, &present, bytes, is_forced),
    }
}

/// Decides about a transcript, by comparing the recorded one with the agent's file. That file still contains the
/// secrets that were redacted in the recorded one.
fn transcript_step(
    reader: &Reader<'_>,
    agent: &dyn Agent,
    path: PathBuf,
    present: &[u8],
    bytes: Vec<u8>,
    is_forced: bool,
) -> Result<FileStep> {
    let redactor = redaction::redactor(reader.repo())?;
    let another = || {
        Err(Error::other(format!("'{}' differs from the recorded transcript", path.display()))
            .hint("the file may have words that are not recorded; --force overwrites it"))
    };
    if agent.is_rendered(&path) {
        let theirs = agent.read(&path)?;
        let (theirs, ours) = (redactor.redact(&theirs).0, agent.lines(bytes.clone()));
        // The last line of a rendered transcript is about the whole document and changes with it.
        return match () {
            () if present == bytes || theirs.starts_with(&ours[..without_last_line(&ours)]) => Ok(FileStep::Keep(path)),
            () if is_forced || ours.starts_with(&theirs[..without_last_line(&theirs)]) => {
                Ok(FileStep::Write(path, bytes))
            }
            () => another(),
        };
    }
    if present.starts_with(&bytes) || redactor.redact(&present[..complete_lines(present)]).0.starts_with(&bytes) {
        return Ok(FileStep::Keep(path));
    }
    let (lines, unfinished) = present.split_at(complete_lines(present));
    let (clean, dealt) = redactor.redact(lines);
    // The agent's file may end in an unfinished line, and in lines that the redactor would keep for later.
    let is_beginning =
        dealt == lines.len() && bytes.strip_prefix(&clean[..]).is_some_and(|rest| rest.starts_with(unfinished));
    if bytes.starts_with(present) || is_beginning || is_forced {
        return Ok(FileStep::Write(path, bytes));
    }
    another()
}
