//! The agents: where each keeps its files, how its hooks and transcripts are parsed.
//!
//! Read [`Agent`], then `pi`. A new agent is one file here, named below as a module and in [`ALL`]. The file has
//! everything that only this agent has, also the names of its events and tools and of the members of its payloads. An agent
//! knows its own files and the `transcript` room; it knows nothing of commits and notes.

mod aider;
mod amp;
mod antigravity;
mod ask;
mod branches;
mod claude;
mod cline;
mod codex;
mod continue_cli;
mod copilot;
mod cursor;
mod custom;
mod directory;
mod document;
mod droid;
mod gemini;
mod hooks;
mod instructions;
mod json;
mod opencode;
mod payload;
mod permission;
mod pi;
mod place;
mod prompt;
mod qwen;
mod settings;
mod sqlite;
mod tool;
mod vscode;
mod windsurf;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

pub use self::ask::Ask;
pub use self::custom::Definition;
pub use self::directory::directory;
pub use self::hooks::{Commands, Handler, HookFile, HookForm};
pub use self::instructions::{Choice, FilePatterns, HomeFolder, Instructions, Reach};
pub use self::payload::Payload;
pub use self::permission::Permission;
pub use self::place::FoundTranscript;
pub use self::place::path_of_uri;
pub use self::settings::{Edited, add_hooks, has_hooks, remove_earlier_hooks, remove_hooks};
use crate::error::{Error, Kind, Result};
use crate::transcript::Message;

/// All agents that are known, in the order in which messages list them.
pub const ALL: &[&dyn Agent] = &[
    &claude::Claude::INSTALLED,
    &codex::Codex,
    &gemini::Gemini,
    &copilot::Copilot,
    &vscode::VsCode,
    &opencode::OpenCode::ITSELF,
    &cursor::Cursor,
    &amp::Amp,
    &droid::Droid,
    &windsurf::Windsurf,
    &antigravity::Antigravity,
    &pi::Pi,
    &cline::Cline,
    &continue_cli::Continue,
    &qwen::Qwen,
    &opencode::OpenCode::KILO,
    &aider::Aider,
];

/// Returns Claude Code with its own files in `root` instead of where this user has them.
pub fn claude_at(root: &Path) -> impl Agent {
    claude::Claude::at(root)
}

/// The agents that the user has described.
static DEFINED: OnceLock<Vec<custom::Custom>> = OnceLock::new();

/// Makes agents known that the user has described. Only the first call of a process counts; a name that is in [`ALL`]
/// keeps its meaning.
pub fn define(definitions: impl FnOnce() -> Vec<Definition>) {
    DEFINED.get_or_init(|| definitions().into_iter().filter_map(custom::Custom::new).collect());
}

/// Returns all agents that are known: those of [`ALL`], then those that the user has described.
pub fn all() -> impl Iterator<Item = &'static dyn Agent> {
    let defined = DEFINED.get().into_iter().flatten().map(|agent| agent as &'static dyn Agent);
    ALL.iter().copied().chain(defined)
}

/// Returns the agent called `name`.
pub fn find(name: &str) -> Option<&'static dyn Agent> {
    all().find(|agent| agent.name() == name)
}

/// Returns the agent that somebody calls `name`.
///
/// # Errors
///
/// [`Kind::Usage`] if there is none.
pub fn named(name: &str) -> Result<&'static dyn Agent> {
    find(name).ok_or_else(|| {
        let known: Vec<&str> = all().map(Agent::name).collect();
        Error::new(Kind::Usage, format!("unknown agent '{name}'")).hint(format!("known agents: {}", known.join(", ")))
    })
}

/// Returns the agent that really runs a hook declared for the one called `name`: some run the hooks of others, too.
pub fn caller(name: &str, payload: &Payload) -> Option<&'static dyn Agent> {
    let is_described = !ALL.iter().any(|agent| agent.name() == name);
    let signed = ALL.iter().filter_map(|agent| Some((agent.recognizes(payload, name)?, *agent)));
    let writer = signed.max_by_key(|(sign, _)| *sign).map(|(_, agent)| agent).filter(|_| !is_described);
    writer.or_else(|| find(name))
}

/// How surely a payload identifies its agent, weakest first. If several agents match, the strongest match wins.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Recognition {
    /// Members that the agent writes, and another could.
    Manner,
    /// The transcript is where the agent has its own.
    Place,
    /// The agent's name, or a path that only this agent writes to.
    Name,
}

/// The event that a hook of an agent reports.
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

impl Event {
    /// Returns the event for an agent's name of it; an unknown name counts as [`Event::Alive`].
    pub fn of(name: &str) -> Self {
        // Those that several agents use. An agent may run a hook that was declared for another, so all names count.
        const COMMON: &[(&str, Event)] = &[
            ("SessionStart", Event::SessionStart),
            ("agentSpawn", Event::SessionStart),
            ("PostToolUse", Event::AfterTool),
            ("PostToolUseFailure", Event::AfterTool),
            ("PostToolBatch", Event::AfterTool),
            ("SessionEnd", Event::SessionEnd),
        ];
        let mut known = COMMON.iter().chain(ALL.iter().flat_map(|agent| agent.events()));
        known.find(|(known, _)| tool::is_same_name(known, name)).map_or(Event::Alive, |(_, event)| *event)
    }
}

/// A session as it is recorded. All ids in it are plain; see [`crate::outside::is_plain_id`].
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The session's id.
    pub session_id: &'a str,
    /// Its transcript as it is stored.
    pub transcript: &'a [u8],
    /// The transcripts of its sub-agents, by their own ids.
    pub sub_agents: &'a [(String, Vec<u8>)],
}

/// The files that are written and the commands that are run so that an agent resumes a session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Restoration {
    /// Files to write first: the session's transcript where the agent looks for it comes first.
    pub files: Vec<(PathBuf, Content)>,
    /// The programs to run then, one after the other, with their arguments; the last one is the agent. They run in the
    /// directory that was asked for.
    pub commands: Vec<Vec<String>>,
}

/// The content of a file that a restoration writes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// A transcript, which must not replace one that says more.
    Transcript(Vec<u8>),
    /// Something that is made from a transcript; one that is there stays.
    Once(Vec<u8>),
    /// An index of the agent's with our entry in it: replaces what is there.
    Index(Vec<u8>),
}

/// Reads a transcript piece by piece, and remembers what later pieces depend on.
pub trait Parser {
    /// Reads the next records. Tolerates unknown records and damaged lines, which are left out. The messages'
    /// [`Message::span`] counts from the beginning of `lines`, which are whole lines.
    fn parse(&mut self, lines: &[u8]) -> Vec<Message>;
}

impl<F: FnMut(&[u8]) -> Vec<Message>> Parser for F {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        self(lines)
    }
}

/// How a transcript stores the texts of messages. A search reads only the parts that can have the searched text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wording {
    /// A line is read without the others, and has the texts of its messages, with the escapes of JSON.
    InLines,
    /// A text is in one piece, with the escapes of JSON, but what a line means depends on other lines.
    InOnePiece,
    /// A text may be put together from several pieces.
    InPieces,
}

/// The notices that parsers word themselves. Their words are not in the transcript.
pub const OWN_NOTICES: &[&str] = &["conversation compacted", "interrupted by the user", "taken back"];

/// Names of tags whose contents a parser joins to one text, with a space between them. A pattern with a space can match that
/// text, but not the bytes of the line, so a search for it also reads lines that have one of these names.
pub const JOINED_MARKS: &[&str] = &["command-name", "bash-input"];

/// A coding agent.
pub trait Agent: Sync {
    /// The name in commands, configuration and records, such as `claude`.
    fn name(&self) -> &str;

    /// The name for people, such as `Claude Code`.
    fn title(&self) -> &str;

    /// Says whether the agent seems to be installed for this user.
    fn is_installed(&self) -> bool;

    /// Returns a parser that is at the beginning of a transcript, or of a part of one that begins at a line start.
    fn parser(&self) -> Box<dyn Parser>;

    /// Reads the records of a transcript, or of a part of one that begins at a line start.
    fn parse(&self, transcript: &[u8]) -> Vec<Message> {
        self.parser().parse(transcript)
    }

    /// Returns the content of a file before an edit, from the record of the edit's result, if the agent stores it.
    fn file_before(&self, record: &[u8]) -> Option<String> {
        let _ = record;
        None
    }

    /// Returns how the texts of messages stand in a transcript that begins like this. What the agent's program has put
    /// into a prompt, and the parser takes out, does not count as a part of the text.
    fn wording(&self, beginning: &[u8]) -> Wording {
        let _ = beginning;
        Wording::InPieces
    }

    /// Returns a text that every line with a prompt contains, if there is one. Used only if lines are parsed independently.
    fn prompt_mark(&self) -> Option<&'static str> {
        None
    }

    /// Says, cheaply, whether a line that contains [`Agent::prompt_mark`] may be a prompt.
    fn may_be_prompt(&self, line: &[u8]) -> bool {
        let _ = line;
        true
    }

    /// Returns the id of the session that a transcript belongs to, as its records tell it.
    fn session_id(&self, transcript: &[u8]) -> Option<String>;

    /// Says whether each call of a tool gets a result, also one that failed, was refused or was interrupted.
    fn answers_each_call(&self) -> bool {
        false
    }

    /// Says whether the agent keeps a transcript in another form than a file of lines that only grows. Then it is
    /// [`Agent::read`] that makes such lines of it.
    fn is_rendered(&self, transcript: &Path) -> bool {
        let _ = transcript;
        false
    }

    /// Returns the member that holds the messages, for an agent whose transcript is one JSON document that is rewritten as a
    /// whole; empty if the document is the list of messages. `None` for other agents.
    fn list(&self) -> Option<&'static str> {
        None
    }

    /// Returns the bytes of a file for which [`Agent::is_rendered`] holds as lines. The first lines stay unchanged while the
    /// session grows.
    fn lines(&self, native: Vec<u8>) -> Vec<u8> {
        match self.list() {
            Some(list) => document::to_lines(&native, list),
            None => native,
        }
    }

    /// Returns a whole transcript as the agent had it: the opposite of [`Agent::lines`].
    fn native<'t>(&self, transcript: &'t [u8]) -> Cow<'t, [u8]> {
        match self.list() {
            Some(_) if document::is_lines(transcript) => document::from_lines(transcript).into(),
            _ => transcript.into(),
        }
    }

    /// Returns the length of those lines of [`Agent::lines`] that later messages do not change: all, or all but the last.
    fn lines_that_stay(&self, lines: &[u8]) -> usize {
        document::lines_that_stay(lines, self.list().unwrap_or_default())
    }

    /// Returns how many bytes the agent's own file has for a transcript, or its database has for a session, without reading
    /// them; `None` if that is unknown.
    fn stored_bytes(&self, transcript: &Path) -> Option<u64> {
        transcript.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
    }

    /// Reads a transcript as lines.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn read(&self, transcript: &Path) -> Result<Vec<u8>> {
        self.read_until(transcript, None)
    }

    /// Reads a transcript as lines. Reading a database ends at `deadline`.
    ///
    /// # Errors
    ///
    /// If it cannot be read; [`Kind::Busy`] if the deadline passes.
    fn read_until(&self, transcript: &Path, deadline: Option<Instant>) -> Result<Vec<u8>> {
        let _ = deadline;
        let bytes = std::fs::read(transcript).map_err(|error| Error::io("read", transcript, error))?;
        Ok(if self.is_rendered(transcript) { self.lines(bytes) } else { bytes })
    }

    /// Says whether a session that is no file may have been written after the second `seconds` (epoch). Cheap:
    /// changes that add no message may be missed.
    fn is_written_since(&self, transcript: &Path, seconds: i64) -> bool {
        let _ = (transcript, seconds);
        true
    }

    /// Returns the transcript of a session, if the agent's store has it. `directory` is where the agent ran.
    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf>;

    /// Asks the agent for a session that its store on this machine does not have, and returns it as lines; `None` if the
    /// agent has no such service. The network may be slow, so no hook calls this.
    ///
    /// # Errors
    ///
    /// If the service does not answer, or does not have this session.
    fn fetch(&self, session_id: &str) -> Result<Option<Vec<u8>>> {
        let _ = session_id;
        Ok(None)
    }

    /// Returns the transcript to record for a session whose hooks name the file `reported`: an agent may keep another one that has
    /// more of the session. Returns an empty path if `reported` belongs to another session.
    fn fullest(&self, reported: PathBuf, session_id: &str) -> PathBuf {
        let _ = session_id;
        reported
    }

    /// Returns the transcripts of sessions that ran in `directory` or below it and were written since `seconds` (epoch).
    /// Where that takes reading all of a transcript, [`Agent::ran_in`] tells whether it did.
    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript>;

    /// Says whether the session of a found transcript ran in `directory` or below it; `None` if the transcript does not say
    /// that yet. An answer never changes afterwards.
    fn ran_in(&self, transcript: &Path, directory: &Path) -> Option<bool> {
        let _ = (transcript, directory);
        Some(true)
    }

    /// Returns the transcripts of the sub-agents of a session, by the path of the session's own.
    fn sub_agents(&self, transcript: &Path) -> Vec<FoundTranscript> {
        let _ = transcript;
        Vec::new()
    }

    /// Returns the id of the session that started a sub-agent, by the sub-agent's transcript; `None` for any other.
    fn parent_session(&self, transcript: &Path) -> Option<String> {
        let _ = transcript;
        None
    }

    /// Returns the length of what a transcript repeats at its beginning of the session that it was forked from; `None` if it
    /// repeats nothing, or if that is not known at `deadline`.
    fn repeated_bytes(&self, transcript: &Path, deadline: Instant) -> Option<u64> {
        let _ = (transcript, deadline);
        None
    }

    /// Returns what takes a session up again in `directory`; `None` if the agent could not have given it this id.
    ///
    /// # Errors
    ///
    /// If the agent has no way to: the message says what to do instead.
    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let _ = (session, directory);
        Err(Error::new(Kind::Unsupported, format!("{} takes up no session from outside", self.title())))
    }

    /// Returns how the agent is asked a question headlessly, if it can be.
    fn ask(&self) -> Option<&'static Ask> {
        None
    }

    /// Returns the words that start the agent with a prompt, for a person to go on with.
    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        let _ = prompt;
        None
    }

    /// Returns the id of the session that runs this process, from the environment the agent gives its children.
    fn session_of_environment(&self) -> Option<String> {
        None
    }

    /// Returns the environment variables by which the agent's children know that it runs them.
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the names of events that this agent alone has, as far as they mean more than that a session is alive.
    fn events(&self) -> &'static [(&'static str, Event)] {
        &[]
    }

    /// Returns the keys that this agent alone has in its hooks' payloads.
    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::NONE
    }

    /// Returns the names that only this agent uses for tools and for members of their inputs.
    fn tools(&self) -> &'static tool::ToolNames {
        &tool::NONE
    }

    /// Returns how surely a payload is this agent's, whichever agent its hook was `declared` for; `None` if not at all.
    fn recognizes(&self, payload: &Payload, declared: &str) -> Option<Recognition> {
        let _ = (payload, declared);
        None
    }

    /// Returns which instruction files the agent reads by itself; `None` if that is not known.
    fn instructions(&self) -> Option<Instructions> {
        None
    }

    /// Returns the instruction files that the agent also reads in the directories above a working tree.
    fn instructions_above(&self) -> Option<FilePatterns> {
        None
    }

    /// Returns the names that the agent's settings give to instruction files instead of the usual ones; none if they give
    /// no such names.
    fn instruction_names(&self, worktree: &Path) -> Vec<String> {
        let _ = worktree;
        Vec::new()
    }

    /// Returns the files that hooks are declared in; none if the agent has no hooks.
    ///
    /// `is_shared` means the files that a team commits; otherwise those private to the clone, if there are such.
    fn hook_files(&self, is_shared: bool) -> Vec<HookFile> {
        let _ = is_shared;
        Vec::new()
    }

    /// Returns the directory of the user in which the agent reads the same [`hook_files`](Agent::hook_files) too, and whose
    /// hooks it runs wherever it is started. `None` if it has no such directory.
    fn user_directory(&self) -> Option<PathBuf> {
        None
    }

    /// Says whether the agent runs the hooks of a working tree, as far as its own files tell.
    fn permission(&self, worktree: &Path) -> Permission {
        let _ = worktree;
        let remark = self.hook_files(false).iter().find_map(|file| file.remark);
        remark.map_or(Permission::NotNeeded, |remark| Permission::Unknown(remark.to_owned()))
    }

    /// Says whether the agent, started in a linked working tree, also runs the hooks of the main one.
    fn runs_hooks_of_main_worktree(&self) -> bool {
        false
    }

    /// Returns what keeps the agent from running any hook of its file, as far as the file's text tells.
    fn obstacle(&self, settings: &str) -> Option<String> {
        let _ = settings;
        None
    }
}

#[cfg(test)]
mod tests;
