//! The agents: where each keeps its files, how its hooks and transcripts are parsed.
//!
//! Read [`Agent`], then `droid`. A new agent is one file here, named below as a module and in [`ALL`]. The file has
//! everything that only this agent has, also the names of its events and tools and of the members of its payloads. An agent
//! knows its own files and the `transcript` room; it knows nothing of commits and notes.

// One for each agent.
mod aider;
mod amp;
mod antigravity;
mod claude;
mod cline;
mod codex;
mod continue_cli;
mod copilot;
mod cursor;
mod custom;
mod droid;
mod gemini;
mod opencode;
mod pi;
mod qwen;
mod vscode;
mod windsurf;

// What agents have: hooks and their settings files, payloads, tools, instruction files, a way to ask and to resume.
mod ask;
mod event;
mod hooks;
mod instructions;
mod payload;
mod permission;
mod restoration;
mod settings;
mod tool;

// For reading what agents write: places of files, lines of JSON, documents, databases, prompts, branches.
mod branches;
mod directory;
mod document;
mod json;
mod place;
mod prompt;
mod sqlite;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

pub use self::ask::Ask;
pub use self::custom::Definition;
pub use self::directory::directory;
pub use self::document::is_whole;
pub use self::event::Event;
pub use self::hooks::{Commands, Handler, HookFile, HookForm};
pub use self::instructions::{Choice, FilePatterns, HomeFolder, Instructions, Reach};
pub use self::payload::Payload;
pub use self::permission::Permission;
pub use self::place::FoundTranscript;
pub use self::place::path_of_uri;
pub use self::restoration::{Recorded, Restoration, RestoredContent};
pub(crate) use self::settings::parse as parse_settings;
pub use self::settings::{Edited, add_hooks, has_hooks, narrowed, remove_earlier_hooks, remove_hooks};
pub use self::sqlite::limit_waits;
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

/// Adds the agents that the user has described, except those named as one of [`ALL`]. Only a process's first call counts.
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

/// Says whether nothing tells where an agent keeps its files: `HOME` is not set, nor a variable of the agent's that would take its
/// place.
pub fn has_no_place(agent: &dyn Agent) -> bool {
    place::home().is_none() && agent.instructions().is_none_or(|instructions| instructions.home.is_empty())
}

/// Returns the agent called `name`, for a name that the user typed.
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

/// Returns the agent that really runs a hook, which was declared for the agent called `name`: some run the hooks of others.
pub fn caller(name: &str, payload: &Payload) -> Option<&'static dyn Agent> {
    let is_described = !ALL.iter().any(|agent| agent.name() == name);
    let signed = ALL.iter().filter_map(|agent| Some((agent.recognizes(payload, name)?, *agent)));
    let writer = signed.max_by_key(|(sign, _)| *sign).map(|(_, agent)| agent).filter(|_| !is_described);
    writer.or_else(|| find(name))
}

/// How surely a payload identifies its agent, weakest first. If several agents match, the strongest match wins.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Recognition {
    /// The payload has members that this agent writes, but other agents could write too.
    Manner,
    /// The transcript is in the directory of this agent.
    Place,
    /// The payload has the agent's name, or a path that only this agent uses.
    Name,
}

/// Parses a transcript piece by piece, and keeps the state that later pieces depend on.
///
/// Of some agents the messages still depend on where the pieces end: a document that is stored in one piece is read only as a
/// whole, and an agent that writes a message again as it grows has one more message for each piece. Only if each line can be parsed
/// alone ([`Wording::InLines`]) do any pieces have the same messages, but for [`Message::is_abandoned`].
pub trait Parser {
    /// Parses the next records. Leaves out unknown records and damaged lines. `lines` are whole lines; [`Message::span`]
    /// counts from their beginning.
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
    /// Each line can be parsed alone, and contains the texts of its messages, with the escapes of JSON.
    InLines,
    /// Each text is in one piece, with the escapes of JSON, but the meaning of a line depends on other lines.
    InOnePiece,
    /// A text may be in several pieces.
    InPieces,
}

/// The notice for an interruption by the user.
pub const INTERRUPTED: &str = "interrupted by the user";

/// The notices whose words come from our parsers. Transcripts do not contain these words.
pub const OWN_NOTICES: &[&str] = &["conversation compacted", INTERRUPTED, "taken back"];

/// Names of tags whose contents a parser joins to one text, with a space between them. A pattern with a space can match
/// that text, but not the bytes of the line. A search for such a pattern therefore also parses lines with one of these
/// names.
pub const JOINED_MARKS: &[&str] = &["command-name", "bash-input"];

/// A coding agent.
pub trait Agent: Sync {
    /// Returns the name in commands, configuration and records, such as `claude`.
    fn name(&self) -> &str;

    /// Returns the name for people, such as `Claude Code`.
    fn title(&self) -> &str;

    /// Says whether the agent seems to be installed for this user.
    fn is_installed(&self) -> bool;

    /// Returns a parser for a transcript, or for a part of one that begins at a line start.
    fn parser(&self) -> Box<dyn Parser>;

    /// Parses a transcript, or a part of one that begins at a line start.
    fn parse(&self, transcript: &[u8]) -> Vec<Message> {
        self.parser().parse(transcript)
    }

    /// Returns the content of a file before an edit, if the agent stores it in `record`, which has the result of the edit.
    fn file_before(&self, record: &[u8]) -> Option<String> {
        let _ = record;
        None
    }

    /// Returns how a transcript that begins with `beginning` stores the texts of messages. A text does not include what the
    /// agent's program adds to a prompt, if the parser removes it.
    fn wording(&self, beginning: &[u8]) -> Wording {
        let _ = beginning;
        Wording::InPieces
    }

    /// Says whether a transcript that begins with `beginning` is counted in pieces of a few lines when it is captured, one
    /// after the other, by one parser. If not, as much of it as possible is parsed at once.
    fn is_counted_in_pieces(&self, beginning: &[u8]) -> bool {
        self.wording(beginning) == Wording::InLines
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

    /// Returns the id of the session that a transcript belongs to, if its records contain the id. For the transcript of a
    /// sub-agent that names its session, this is `<session>.<sub-agent>`.
    fn session_id(&self, transcript: &[u8]) -> Option<String>;

    /// Says whether each tool call gets a result, also a call that failed, was refused or was interrupted.
    fn answers_each_call(&self) -> bool {
        false
    }

    /// Says whether a transcript is something else than a file of lines that only grows, such as a document or a part of a
    /// database. [`Agent::read`] converts it to such lines.
    fn is_rendered(&self, transcript: &Path) -> bool {
        let _ = transcript;
        false
    }

    /// Returns the member that holds the messages, if a transcript is one JSON document that the agent rewrites as a whole.
    /// The name is empty if the document itself is the list of messages. `None` for other agents.
    fn list(&self) -> Option<&'static str> {
        None
    }

    /// Converts the bytes of a file for which [`Agent::is_rendered`] holds to lines. The first lines do not change
    /// while the session grows.
    fn lines(&self, native: Vec<u8>) -> Vec<u8> {
        match self.list() {
            Some(list) => document::to_lines(&native, list),
            None => native,
        }
    }

    /// Converts the lines of a whole transcript to the agent's own form: the reverse of [`Agent::lines`].
    fn native<'t>(&self, transcript: &'t [u8]) -> Cow<'t, [u8]> {
        match self.list() {
            Some(_) if document::is_lines(transcript) => document::from_lines(transcript).into(),
            _ => transcript.into(),
        }
    }

    /// Returns the length of those lines of [`Agent::lines`] that later messages do not change: all lines, or all but
    /// the last.
    fn lines_that_stay(&self, lines: &[u8]) -> usize {
        document::lines_that_stay(lines, self.list().unwrap_or_default())
    }

    /// Says whether transcripts can be documents or parts of databases, the last lines of which change in place while
    /// the session grows.
    fn rewrites_last_lines(&self) -> bool {
        self.list().is_some()
    }

    /// Returns how many bytes a transcript has in the agent's own file or database, without reading them; `None` if that is
    /// unknown.
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

    /// Reads a transcript as lines. Only a database is read no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// If it cannot be read; [`Kind::Busy`] if the deadline passes.
    fn read_until(&self, transcript: &Path, deadline: Option<Instant>) -> Result<Vec<u8>> {
        let _ = deadline;
        let bytes = place::read(transcript).map_err(|error| Error::io("read", transcript, error))?;
        Ok(if self.is_rendered(transcript) { self.lines(bytes) } else { bytes })
    }

    /// Says whether a session in a database may have been written after the second `seconds` (epoch). This must be cheap:
    /// changes that add no message may be missed.
    fn is_written_since(&self, transcript: &Path, seconds: i64) -> bool {
        let _ = (transcript, seconds);
        true
    }

    /// Returns the path of a session's transcript, if the agent's store has it. The agent ran in `directory`.
    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf>;

    /// Asks the agent's service for a session that its store on this machine does not have, and returns it as lines; `None`
    /// if there is no such service. The network may be slow, so no hook calls this.
    ///
    /// # Errors
    ///
    /// If the service does not answer, or does not have this session.
    fn fetch(&self, session_id: &str) -> Result<Option<Vec<u8>>> {
        let _ = session_id;
        Ok(None)
    }

    /// Returns the transcript to record for a session whose hooks name the file `reported`: the agent may have another file
    /// with more of the session. Returns an empty path if `reported` belongs to another session.
    fn fullest(&self, reported: PathBuf, session_id: &str) -> PathBuf {
        let _ = session_id;
        reported
    }

    /// Returns the transcripts of sessions that ran in `directory` or below it and were written since `seconds` (epoch).
    /// If only a whole transcript shows where its session ran, it is returned, too, and [`Agent::ran_in`] checks it.
    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript>;

    /// Says whether the session of a found transcript ran in `directory` or below it; `None` if the transcript does not
    /// show that yet. Any other answer never changes.
    fn ran_in(&self, transcript: &Path, directory: &Path) -> Option<bool> {
        let _ = (transcript, directory);
        Some(true)
    }

    /// Returns the transcripts of a session's sub-agents. `transcript` is the session's own.
    fn sub_agents(&self, transcript: &Path) -> Vec<FoundTranscript> {
        let _ = transcript;
        Vec::new()
    }

    /// Returns the id of the session that started the sub-agent with this transcript; `None` if it is not a sub-agent's.
    fn parent_session(&self, transcript: &Path) -> Option<String> {
        let _ = transcript;
        None
    }

    /// Returns the id of the session that a transcript says it was forked from; `None` if it says nothing of that.
    fn forked_from(&self, transcript: &Path) -> Option<String> {
        let _ = transcript;
        None
    }

    /// Returns how many bytes at the beginning of a transcript repeat the session that it was forked from; `None` if it
    /// repeats nothing, or if `deadline` passes first.
    fn repeated_bytes(&self, transcript: &Path, deadline: Instant) -> Option<u64> {
        let _ = (transcript, deadline);
        None
    }

    /// Returns the files and commands that resume a session in `directory`; `None` if the agent gives no session such
    /// an id.
    ///
    /// # Errors
    ///
    /// If the agent cannot resume sessions; the message says what to do instead.
    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let _ = (session, directory);
        Err(Error::new(Kind::Unsupported, format!("{} takes up no session from outside", self.title())))
    }

    /// Returns how the agent is asked a question without a terminal, if that is possible.
    fn ask(&self) -> Option<&'static Ask> {
        None
    }

    /// Returns the command line that starts the agent with a prompt, for the user to continue.
    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        let _ = prompt;
        None
    }

    /// Returns the id of the session that runs this process, from the environment that the agent gives its children.
    fn session_of_environment(&self) -> Option<String> {
        None
    }

    /// Returns the environment variables that show a process that the agent runs it.
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the names of events that only this agent uses, without those that mean [`Event::Alive`].
    fn events(&self) -> &'static [(&'static str, Event)] {
        &[]
    }

    /// Returns the keys that only this agent uses in the payloads of its hooks.
    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::NONE
    }

    /// Returns the names that only this agent uses for tools and for members of their inputs.
    fn tools(&self) -> &'static tool::ToolNames {
        &tool::NONE
    }

    /// Returns how surely a payload comes from this agent, whichever agent the hook was `declared` for; `None` if it
    /// does not.
    fn recognizes(&self, payload: &Payload, declared: &str) -> Option<Recognition> {
        let _ = (payload, declared);
        None
    }

    /// Returns which instruction files the agent reads without being asked to; `None` if that is unknown.
    fn instructions(&self) -> Option<Instructions> {
        None
    }

    /// Returns the instruction files that the agent also reads in the directories above a working tree.
    fn instructions_above(&self) -> Option<FilePatterns> {
        None
    }

    /// Returns the names of instruction files that the agent's settings set in place of the usual ones.
    fn instruction_names(&self, worktree: &Path) -> Vec<String> {
        let _ = worktree;
        Vec::new()
    }

    /// Returns the files that declare hooks; empty if the agent has no hooks.
    ///
    /// `is_shared` asks for the files that a team commits; otherwise for those that are private to the clone, if there are any.
    fn hook_files(&self, is_shared: bool) -> Vec<HookFile> {
        let _ = is_shared;
        Vec::new()
    }

    /// Returns the user's directory in which the agent also reads [`hook_files`](Agent::hook_files), wherever it is started;
    /// `None` if it has no such directory.
    fn user_directory(&self) -> Option<PathBuf> {
        None
    }

    /// Says whether the agent runs the hooks of a working tree, as far as the agent's own files show that.
    fn permission(&self, worktree: &Path) -> Permission {
        let _ = worktree;
        let remark = self.hook_files(false).iter().find_map(|file| file.remark);
        remark.map_or(Permission::NotNeeded, |remark| Permission::Unknown(remark.to_owned()))
    }

    /// Says whether the agent, started in a linked working tree, also runs the private hooks of the main one.
    fn runs_hooks_of_main_worktree(&self) -> bool {
        false
    }

    /// Returns the reason why the agent runs no hook of its settings file, if the text of the file shows one.
    fn obstacle(&self, settings: &str) -> Option<String> {
        let _ = settings;
        None
    }
}

#[cfg(test)]
mod tests;
