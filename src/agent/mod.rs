//! The agents: where each one lives, what its hooks say, how its transcripts read.
//!
//! Read [`Agent`], then `claude`. A new agent is one file here and one line in [`ALL`]. An agent knows its own files
//! and the `transcript` room; it knows nothing of commits and notes.

mod claude;
mod payload;
mod settings;

use std::path::{Path, PathBuf};

pub use self::payload::Payload;
pub use self::settings::{Edited, Handler, add_hooks, has_hooks, remove_earlier_hooks, remove_hooks};
use crate::transcript::Message;

/// All agents that are known.
pub const ALL: &[&dyn Agent] = &[&claude::Claude::HERE];

/// Returns Claude Code with its own files in `root` instead of where this user has them.
pub fn claude_at(root: &Path) -> impl Agent {
    claude::Claude::at(root)
}

/// Returns the agent called `name`.
pub fn find(name: &str) -> Option<&'static dyn Agent> {
    ALL.iter().copied().find(|agent| agent.name() == name)
}

/// What a hook of an agent reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A session begins, or is taken up again.
    SessionStart,
    /// A tool ran, successfully or not.
    AfterTool,
    /// A session is over.
    SessionEnd,
    /// Anything else that shows the session is alive: a prompt, the end of a turn, a compaction.
    Alive,
}

/// A transcript found in the agent's own store.
#[derive(Clone, Debug)]
pub struct Found {
    /// The session's id.
    pub session_id: String,
    /// Where its transcript is.
    pub transcript: PathBuf,
}

/// What it takes to take a session up again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Restoration {
    /// The session's transcript where the agent looks for it, and then those of its sub-agents.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The program and its arguments, to be run in the directory that was asked for.
    pub words: Vec<String>,
}

/// A coding agent.
pub trait Agent: Sync {
    /// The name in commands, configuration and records, such as `claude`.
    fn name(&self) -> &'static str;

    /// The name for people, such as `Claude Code`.
    fn title(&self) -> &'static str;

    /// Says whether the agent seems to be installed for this user.
    fn is_installed(&self) -> bool;

    /// Reads the records of a transcript, or of a part of one that begins at a line start.
    ///
    /// Tolerates unknown records and damaged lines, which are left out.
    fn parse(&self, transcript: &[u8]) -> Vec<Message>;

    /// Returns the id of the session that a transcript belongs to, as its records tell it.
    fn session_id(&self, transcript: &[u8]) -> Option<String>;

    /// Says what an event of the agent's hooks means; unknown events count as [`Event::Alive`].
    fn event(&self, name: &str) -> Event;

    /// Returns the transcript of a session, if the agent's store has it. `directory` is where the agent ran.
    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf>;

    /// Returns the transcripts of sessions that ran in `directory` and were written since `seconds` (epoch).
    fn recent(&self, directory: &Path, seconds: i64) -> Vec<Found>;

    /// Returns the transcripts of the sub-agents of a session, by the path of the session's own.
    fn sub_agents(&self, transcript: &Path) -> Vec<Found>;

    /// Returns what takes a session up again in `directory`; sub-agents by their own ids. `None` if the agent has no way
    /// to, or could not have given the session this id.
    fn restoration(
        &self,
        session_id: &str,
        directory: &Path,
        transcript: &[u8],
        sub_agents: &[(String, Vec<u8>)],
    ) -> Option<Restoration>;

    /// Returns the id of the session that runs this process, from the environment the agent gives its children.
    fn session_of_environment(&self) -> Option<String>;

    /// Returns the file that hooks are declared in, below the top of a working tree.
    ///
    /// `is_shared` means the file that a team commits; otherwise it is private to the clone.
    fn settings_file(&self, is_shared: bool) -> &'static str;

    /// Returns the hooks that the agent should run.
    fn handlers(&self) -> &'static [Handler];
}
