//! A conversation as a value: messages with text, thinking, tool calls, results, model, usage and time.
//!
//! Read [`Message`] and [`Tally`]. Every agent's parser makes these values; the native bytes stay the truth, so a
//! message says where in them it stands. Nothing here knows Git or files.

mod about;
mod edited;
mod picture;
mod session;
pub(crate) mod shell;
mod tally;
mod texts;
mod tokens;
mod turn;

use std::ops::Range;

use bstr::ByteSlice as _;

pub use self::about::{WantedPaths, about};
pub use self::edited::EditedPath;
pub use self::picture::Picture;
pub use self::session::{SessionKey, short_ids};
pub use self::tally::{Before, LastAnswers, Tally, active_gap};
pub use self::tokens::{ModelUsage, Tokens, UsageSums};
pub use self::turn::{Turn, turn_numbers, turns};

/// Who speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// The person (or what their tools answer to the agent).
    User,
    /// The agent.
    Assistant,
    /// The agent's program: compaction, interruptions, errors.
    System,
}

/// One record of a transcript that says something.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// When, in seconds since the epoch.
    pub time: Option<i64>,
    /// The part of a second after that, in nanoseconds, where the transcript has it.
    pub time_nanos: u32,
    /// The model that answered.
    pub model: Option<String>,
    /// The id that all records of one answer share; usage counts once for it. One that begins with `@` is unique in its
    /// session alone.
    pub answer_id: Option<String>,
    /// The tokens that the answer has used so far.
    pub usage: Option<Tokens>,
    /// The provider's service tier, such as `fast`; `None` for the usual one.
    pub tier: Option<String>,
    /// Where the record stands in the transcript's bytes, its line end included.
    pub span: Range<usize>,
    /// Whether the record belongs to a branch of the conversation that was taken back.
    pub is_abandoned: bool,
    /// Whether the record belongs to a sub-agent whose words are mixed into this transcript.
    pub is_sidechain: bool,
}

impl Message {
    /// Returns a message that says nothing yet and stands at `span`.
    pub fn new(role: Role, span: Range<usize>) -> Self {
        Message {
            role,
            parts: Vec::new(),
            time: None,
            time_nanos: 0,
            model: None,
            answer_id: None,
            usage: None,
            tier: None,
            span,
            is_abandoned: false,
            is_sidechain: false,
        }
    }

    /// Says whether this is a prompt: words of the person, not a tool's answer.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User
            && !self.is_sidechain
            && self.parts.iter().any(|part| matches!(part, Part::Text(_) | Part::Attachment(_)))
    }

    /// Returns the texts of the text parts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the text of all text parts, joined by a line break.
    pub fn text(&self) -> String {
        self.texts().collect::<Vec<_>>().join("\n")
    }
}

/// How the notice begins that has what a person said while the agent was at work.
pub const REMARK_MARK: &str = "said meanwhile: ";

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words, in Markdown as a rule.
    Text(String),
    /// The model's thinking before an answer.
    Thinking(String),
    /// A tool that the agent called.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A part that is not text, such as an image.
    Attachment(Attachment),
    /// An event of the session: compacted, interrupted.
    Notice(String),
}

/// A part of a message that is not text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attachment {
    /// Its kind: `image`, a media type, or the name of a file.
    pub kind: String,
    /// The name of the file, else its media type, if that is known and not the kind.
    pub name: Option<String>,
    /// Its size in bytes, if the transcript has it.
    pub size_bytes: Option<u64>,
    /// The picture, if a page may show it.
    pub picture: Option<Picture>,
}

impl From<String> for Attachment {
    fn from(kind: String) -> Self {
        Attachment { kind, name: None, size_bytes: None, picture: None }
    }
}

impl From<&str> for Attachment {
    fn from(kind: &str) -> Self {
        kind.to_owned().into()
    }
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that its result refers to.
    pub call_id: String,
    /// The tool's name, as the agent spells it.
    pub name: String,
    /// The input as the agent gave it.
    pub input: serde_json::Value,
    /// The command line, if the tool is a shell.
    pub command: Option<String>,
    /// The files it changes.
    pub edits: Vec<Edit>,
}

/// A change to a file, as a tool call asks for it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Edit {
    /// The path as the agent gave it, usually absolute.
    pub path: String,
    /// The replaced text, if the tool names it.
    pub old: Option<String>,
    /// The new text, if the tool names it.
    pub new: Option<String>,
    /// The place that a patch names: the text behind `@@`, which is a line above the edit, or the numbers of lines.
    pub under: Option<String>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The answer as text.
    pub text: String,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// The sub-agent that did the work, if one did.
    pub sub_agent: Option<String>,
    /// The pictures that came with the text.
    pub pictures: Vec<Attachment>,
}

impl ToolResult {
    /// Returns the result of a call that no sub-agent made and that has no pictures.
    pub fn new(call_id: impl Into<String>, text: impl Into<String>, is_error: bool) -> Self {
        ToolResult { call_id: call_id.into(), text: text.into(), is_error, sub_agent: None, pictures: Vec::new() }
    }
}

/// Returns the length of the longest beginning of `bytes` that ends at a line end.
pub fn complete_lines(bytes: &[u8]) -> usize {
    bytes.rfind_byte(b'\n').map_or(0, |position| position + 1)
}

/// Adds a line end to a finished transcript whose last line has none.
pub fn end_last_line(bytes: &mut Vec<u8>) {
    if bytes.last().is_some_and(|byte| *byte != b'\n') {
        bytes.push(b'\n');
    }
}

/// Returns the ends of the lines of a text, one after the other; the last may be without a line end.
pub fn line_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    text.lines_with_terminator().scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    })
}

/// How many bytes are parsed at once where messages are not kept: parsed JSON takes many times as much memory.
pub const BLOCK_BYTES: usize = 64 << 10;

/// Cuts lines into blocks, each of whole lines. Only one with a single line is longer than [`BLOCK_BYTES`].
pub fn line_blocks(lines: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let near = lines.len().min(start + BLOCK_BYTES);
        let end = match complete_lines(&lines[start..near]) {
            0 => lines[near..].find_byte(b'\n').map_or(lines.len(), |rest| near + rest + 1),
            length => start + length,
        };
        let block = (start < end).then_some(start..end);
        start = end;
        block
    })
}

/// Returns the length of whole lines without the last of them.
pub fn without_last_line(lines: &[u8]) -> usize {
    complete_lines(lines.strip_suffix(b"\n").unwrap_or(lines))
}
