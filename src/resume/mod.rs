//! Taking a session up again: which one, what of it is recorded, and how it gets back to where its agent looks for it.
//!
//! Read [`Chosen::find`] and [`Restore::plan`]. What the files are is each agent's business.

use std::path::{Path, PathBuf};

use crate::agent::{self, Agent, Content, Recorded, Restoration};
use crate::capture::State;
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Repository};
use crate::outside;
use crate::record::{Conversation, Reader, redaction};
use crate::transcript::{SessionKey, complete_lines, without_last_line};

/// What to do with a file of the agent's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// Write it: there is none, or one with a beginning of ours.
    Write(PathBuf, Vec<u8>),
    /// Leave it: it has all that we have, or more.
    Keep(PathBuf),
}

/// How a session is taken up again.
#[derive(Clone, Debug)]
pub struct Restore {
    /// What to do first.
    pub steps: Vec<Step>,
    /// The programs to run and their arguments; the last one is the agent.
    pub commands: Vec<Vec<String>>,
}

/// A session of a commit, whole.
#[derive(Debug)]
pub struct Chosen {
    /// What it said up to the commit.
    pub conversation: Conversation,
    /// The transcripts of its sub-agents, by their own ids.
    sub_agents: Vec<(String, Vec<u8>)>,
}

impl Chosen {
    /// Finds the session of a commit. `agent` and `session` choose where there are several.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if nothing is recorded or it is not clear which is meant; otherwise if the words are not all
    /// here.
    pub fn find(reader: &Reader<'_>, commit_id: ObjectId, agent: Option<&str>, session: Option<&str>) -> Result<Self> {
        let missing = |what: String| Error::new(Kind::Missing, what);
        let nothing = || missing(format!("no conversation recorded for {}", commit_id.to_hex_with_len(7)));
        let note = reader.note(commit_id)?.ok_or_else(nothing)?;
        let mut conversations = reader.conversations(&note, None, true)?;
        let is_wanted = |key: &SessionKey| {
            key.parent_id().is_none()
                && agent.is_none_or(|agent| key.agent == agent)
                && session.is_none_or(|session| key.id.starts_with(session))
        };
        let keys: Vec<&SessionKey> = conversations.iter().map(|each| &each.summary.key).collect();
        let wanted: Vec<usize> = (0..keys.len()).filter(|index| is_wanted(keys[*index])).collect();
        let chosen = match wanted.as_slice() {
            [one] => conversations.swap_remove(*one),
            [] => return Err(nothing()),
            several => {
                let names: Vec<String> = several.iter().map(|index| keys[*index].to_string()).collect();
                return Err(missing(format!("several sessions made this commit: {}", names.join(", ")))
                    .hint("'--session=<id>' chooses one"));
            }
        };
        let key = &chosen.summary.key;
        if let Some(problem) = chosen.problems.first() {
            return Err(Error::other(format!("session {key} is not all here")).because(problem.clone()));
        }
        let prefix = format!("{}.", key.id);
        let of_sub_agent = |each: Conversation| {
            let id = each.summary.key.id.strip_prefix(&prefix)?.to_owned();
            (each.summary.key.agent == key.agent && each.problems.is_empty()).then_some((id, each.bytes))
        };
        let sub_agents = conversations.into_iter().filter_map(of_sub_agent).collect();
        Ok(Chosen { conversation: chosen, sub_agents })
    }
}

impl Restore {
    /// Plans to take a session up again in `directory`.
    ///
    /// # Errors
    ///
    /// If its agent has no way, or `is_forced` would be needed to write over a transcript that is another one.
    pub fn plan(reader: &Reader<'_>, chosen: &Chosen, directory: &Path, is_forced: bool) -> Result<Self> {
        let key = chosen.conversation.summary.key.clone();
        let cannot = || Error::new(Kind::Unsupported, format!("cannot take up session {key} again"));
        let agent = agent::find(&key.agent).ok_or_else(cannot)?;
        // It becomes an argument, and a part of paths in the agent's store; so does the name of each sub-agent.
        let ids = std::iter::once(&key.id).chain(chosen.sub_agents.iter().map(|(id, _)| id));
        if !ids.into_iter().all(|id| outside::is_plain_id(id)) {
            return Err(cannot().because("its name is none that an agent gives"));
        }
        let transcript = &chosen.conversation.bytes;
        let session = Recorded { session_id: &key.id, transcript, sub_agents: &chosen.sub_agents };
        let Restoration { files, commands } = agent.restoration(session, directory)?.ok_or_else(cannot)?;
        let steps = files.into_iter().map(|(path, content)| step(reader, agent, path, content, is_forced));
        Ok(Restore { steps: steps.collect::<Result<_>>()?, commands })
    }

    /// Plans to start another agent with what a session said: a document, which is kept beside the repository.
    ///
    /// # Errors
    ///
    /// If that agent cannot be started with words.
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
        let cannot = || Error::new(Kind::Unsupported, format!("{} cannot be started with words", to.title()));
        let words = to.opening(&prompt).ok_or_else(cannot)?;
        Ok(Restore { steps: vec![Step::Write(path, document)], commands: vec![words] })
    }

    /// Writes the files. Those of others in the way have been looked at by [`Restore::plan`].
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`] when a file cannot be written.
    pub fn carry_out(&self) -> Result<()> {
        for step in &self.steps {
            if let Step::Write(path, bytes) = step {
                crate::capture::state::write_private(path, bytes)?;
            }
        }
        Ok(())
    }
}

/// Returns the directory with the documents that other agents were started with.
pub fn handed_over(state: &State) -> PathBuf {
    state.root().join("handed-over")
}

/// Decides about a file by what is there.
fn step(reader: &Reader<'_>, agent: &dyn Agent, path: PathBuf, content: Content, is_forced: bool) -> Result<Step> {
    let there = match std::fs::read(&path) {
        Ok(there) => there,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let (Content::Transcript(bytes) | Content::Once(bytes) | Content::Index(bytes)) = content;
            return Ok(Step::Write(path, bytes));
        }
        Err(error) => return Err(Error::io("read", &path, error)),
    };
    match content {
        Content::Index(bytes) if bytes != there => Ok(Step::Write(path, bytes)),
        Content::Once(bytes) if is_forced => Ok(Step::Write(path, bytes)),
        Content::Index(_) | Content::Once(_) => Ok(Step::Keep(path)),
        Content::Transcript(bytes) => transcript_step(reader, agent, path, &there, bytes, is_forced),
    }
}

/// Compares a transcript that we have with what is there. The agent's own file still has what was redacted before it was
/// stored.
fn transcript_step(
    reader: &Reader<'_>,
    agent: &dyn Agent,
    path: PathBuf,
    there: &[u8],
    bytes: Vec<u8>,
    is_forced: bool,
) -> Result<Step> {
    let redactor = redaction::redactor(reader.repo())?;
    let another = || {
        Err(Error::other(format!("'{}' is another transcript than the one recorded", path.display()))
            .hint("it may say more; --force writes over it"))
    };
    if agent.is_rendered(&path) {
        let theirs = agent.read(&path)?;
        let (theirs, ours) = (redactor.redact(&theirs).0, agent.lines(bytes.clone()));
        // What comes last in such lines is about the whole, and changes with it.
        return match () {
            () if there == bytes || theirs.starts_with(&ours[..without_last_line(&ours)]) => Ok(Step::Keep(path)),
            () if is_forced || ours.starts_with(&theirs[..without_last_line(&theirs)]) => Ok(Step::Write(path, bytes)),
            () => another(),
        };
    }
    if there.starts_with(&bytes) || redactor.redact(&there[..complete_lines(there)]).0.starts_with(&bytes) {
        return Ok(Step::Keep(path));
    }
    let (lines, unfinished) = there.split_at(complete_lines(there));
    let (clean, dealt) = redactor.redact(lines);
    // A line that is not finished yet counts too, and so does what a redactor would wait with.
    let is_beginning =
        dealt == lines.len() && bytes.strip_prefix(&clean[..]).is_some_and(|rest| rest.starts_with(unfinished));
    if bytes.starts_with(there) || is_beginning || is_forced {
        return Ok(Step::Write(path, bytes));
    }
    another()
}
