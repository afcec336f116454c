//! aider: chats in Markdown, one after the other in a file of the repository, and commits that aider makes itself.
//!
//! Several chats share one file. The path of a chat is the path of this file followed by the chat's id, and the id is the
//! time at which the chat began. aider has no hooks; it writes its commits into the file, where `import` finds them.
//!
//! Seen in files of the released program: prompts, answers, applied edits, commits, chats that restore the one before.
//! The numbers of tokens that aider prints are rounded, so a record has none.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bstr::ByteSlice as _;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::json;

use super::{Agent, FoundTranscript, Parser, place, tool};
use crate::error::{Error, Kind, Result};
use crate::outside;
use crate::transcript::{Message, Part, Role, ToolResult};

/// aider.
pub struct Aider;

/// The file with the chats, at the top of a working tree.
const FILE: &str = ".aider.chat.history.md";
/// A longer file is not read at a commit.
const MAX_BYTES: u64 = 64 << 20;
/// How long a chat goes on at most.
const LONGEST_SECS: i64 = 3 * 24 * 60 * 60;
/// The words before the time at which a chat began.
const HEAD: &str = "# aider chat started at ";

impl Agent for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn title(&self) -> &'static str {
        "aider"
    }

    fn is_installed(&self) -> bool {
        place::has_program("aider")
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Reader::default())
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        Some(id_of(&began(transcript.lines().find(|line| began(line).is_some())?)?))
    }

    fn is_rendered(&self, transcript: &Path) -> bool {
        transcript.parent().is_some_and(|file| file.ends_with(FILE))
    }

    fn lines_that_stay(&self, lines: &[u8]) -> usize {
        lines.len()
    }

    fn read_until(&self, transcript: &Path, _: Option<Instant>) -> Result<Vec<u8>> {
        let read = |path: &Path| place::read(path).map_err(|error| Error::io("read", path, error));
        let (Some(file), Some(id)) = (transcript.parent(), transcript.file_name()) else { return read(transcript) };
        if !self.is_rendered(transcript) {
            return read(transcript);
        }
        let text = content(file)
            .ok_or_else(|| Error::new(Kind::Unsupported, format!("cannot read the chats in '{}'", file.display())))?;
        let chat = chats(&text).into_iter().find(|chat| id == id_of(&chat.began).as_str());
        let chat = chat.ok_or_else(|| Error::new(Kind::Missing, format!("there is no chat '{}'", id.display())))?;
        let chat = &text[chat.span];
        // A line that is being written is left for later.
        Ok(chat[..chat.rfind_byte(b'\n').map_or(0, |end| end + 1)].to_vec())
    }

    fn is_written_since(&self, transcript: &Path, seconds: i64) -> bool {
        transcript.parent().is_some_and(|file| place::is_written_since(file, seconds))
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        let file = directory.join(FILE);
        let text = content(&file).filter(|_| outside::is_plain_id(session_id))?;
        chats(&text).iter().any(|chat| id_of(&chat.began) == session_id).then(|| file.join(session_id))
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let file = directory.join(FILE);
        let text = Some(&file).filter(|file| place::is_written_since(file, seconds)).and_then(|file| content(file));
        let Some(text) = text else { return Vec::new() };
        let mut chats = chats(&text);
        // A clock that was set back gives an id twice; nobody could tell such chats apart.
        let mut ids = HashSet::new();
        chats.retain(|chat| ids.insert(id_of(&chat.began)));
        // A file that is copied or checked out is new, whatever is in it.
        let is_old = |chat: &Chat| seconds_of(chat.began).is_none_or(|began| began < seconds - LONGEST_SECS);
        chats.retain(|chat| seconds <= 0 || !is_old(chat));
        // A chat was over when the next one began.
        let ends = chats.iter().skip(1).map(|next| seconds_of(next.began)).chain([None]);
        let recent = chats.iter().zip(ends).filter(|(_, end)| end.is_none_or(|end| end >= seconds));
        let found = recent.map(|(chat, _)| id_of(&chat.began));
        found.map(|session_id| FoundTranscript { transcript: file.join(&session_id), session_id }).collect()
    }
}

/// Returns the content of the file with the chats; `None` if it is not a regular file, or too large for a conversation.
fn content(file: &Path) -> Option<Vec<u8>> {
    file.symlink_metadata().ok().filter(|file| file.is_file() && file.len() <= MAX_BYTES)?;
    place::read(file).ok()
}

/// A chat in the file.
struct Chat {
    /// When it began, in local time, as the file has it.
    began: DateTime,
    span: Range<usize>,
}

/// Returns the chats in a file, oldest first. Text before the first chat is left out.
fn chats(text: &[u8]) -> Vec<Chat> {
    let mut chats: Vec<Chat> = Vec::new();
    let mut at = 0;
    for line in text.lines_with_terminator() {
        if let Some(began) = began(line) {
            if let Some(last) = chats.last_mut() {
                last.span.end = at;
            }
            // Two that began in the same second have one id, and are one chat.
            if chats.last().is_none_or(|last| last.began != began) {
                chats.push(Chat { began, span: at..text.len() });
            }
        }
        at += line.len();
    }
    if let Some(last) = chats.last_mut() {
        last.span.end = text.len();
    }
    chats
}

/// Returns the time in the first line of a chat; `None` for any other line.
fn began(line: &[u8]) -> Option<DateTime> {
    line.strip_prefix(HEAD.as_bytes())?.to_str().ok()?.trim().parse().ok()
}

fn id_of(began: &DateTime) -> String {
    began.strftime("%Y-%m-%dT%H-%M-%S").to_string()
}

fn seconds_of(began: DateTime) -> Option<i64> {
    Some(began.to_zoned(TimeZone::system()).ok()?.timestamp().as_second())
}

/// Reads chats line by line.
#[derive(Default)]
struct Reader {
    model: Option<String>,
    time: Option<i64>,
    /// Whether a line was read that only aider writes. Text before such a line is not part of a message.
    is_chat: bool,
    /// Whether the present line is in a block of code, also one that a piece before has begun.
    is_code: bool,
}

/// The part of a chat that a line belongs to.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Block {
    Prompt,
    Answer,
}

impl Parser for Reader {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut messages: Vec<Message> = Vec::new();
        let mut open: Option<(Block, String)> = None;
        let mut at = 0;
        let close = |open: &mut Option<(Block, String)>, messages: &mut Vec<Message>| {
            let text = open.take().map(|(_, text)| text.trim().to_owned()).unwrap_or_default();
            match messages.last_mut() {
                Some(message) if !text.is_empty() => message.parts.push(Part::Text(text)),
                // It was opened for these words.
                Some(message) if message.parts.is_empty() => drop(messages.pop()),
                _ => {}
            }
        };
        for line in lines.lines_with_terminator() {
            let span = at..at + line.len();
            at = span.end;
            let text = line.to_str_lossy();
            let text = text.trim_end();
            self.is_code ^= text.starts_with("```");
            let printed = text.strip_prefix("> ").filter(|_| !self.is_code);
            if let Some(began) = began(line) {
                close(&mut open, &mut messages);
                (self.time, self.is_code, self.is_chat) = (seconds_of(began), false, true);
            } else if let Some(printed) = printed {
                close(&mut open, &mut messages);
                let message = self.printed(printed, span);
                self.is_chat |= message.is_some() || printed.starts_with("Tokens: ");
                messages.extend(message);
            } else {
                let typed = text.strip_prefix("#### ").filter(|_| !self.is_code);
                let block = if typed.is_some() { Block::Prompt } else { Block::Answer };
                self.is_chat |= typed.is_some();
                if !self.is_chat {
                    continue;
                }
                let is_first = open.as_ref().is_none_or(|(before, _)| *before != Block::Prompt);
                if let Some(command) = typed.filter(|typed| is_first && is_command(typed)) {
                    close(&mut open, &mut messages);
                    let mut message = self.message(Block::Prompt, span);
                    (message.role, message.parts) = (Role::System, vec![Part::Notice(command.to_owned())]);
                    messages.push(message);
                    continue;
                }
                if open.as_ref().is_none_or(|(before, _)| *before != block) {
                    if block == Block::Answer && text.is_empty() {
                        continue;
                    }
                    close(&mut open, &mut messages);
                    messages.push(self.message(block, span.clone()));
                    open = Some((block, String::new()));
                }
                if let (Some((_, said)), Some(message)) = (open.as_mut(), messages.last_mut()) {
                    said.push_str(typed.unwrap_or(text));
                    said.push('\n');
                    message.span.end = span.end;
                }
            }
        }
        close(&mut open, &mut messages);
        messages
    }
}

/// Says whether a typed line is a command to aider that says nothing to a model.
fn is_command(typed: &str) -> bool {
    const PROMPTS: &[&str] = &["ask", "code", "architect", "context"];
    let name = typed.strip_prefix('/').and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_name && !PROMPTS.contains(&name)
}

impl Reader {
    fn message(&self, block: Block, span: Range<usize>) -> Message {
        let role = if block == Block::Prompt { Role::User } else { Role::Assistant };
        let mut message = Message::new(role, span);
        message.time = self.time;
        message.model = self.model.clone().filter(|_| block == Block::Answer);
        message
    }

    /// Reads a line that aider printed, such as an edit, a commit, or the name of the model.
    fn printed(&mut self, text: &str, span: Range<usize>) -> Option<Message> {
        const MODELS: &[&str] = &["Model: ", "Main model: "];
        if let Some(model) = MODELS.iter().find_map(|words| text.strip_prefix(words)) {
            self.model = model.split_whitespace().next().map(str::to_owned);
            return None;
        }
        let mut message = self.message(Block::Answer, span);
        if let Some(path) = text.strip_prefix("Applied edit to ") {
            message.parts.push(Part::ToolCall(tool::call(path, "edit", json!({ "path": path }))));
            return Some(message);
        }
        let (id, subject) = text.strip_prefix("Commit ")?.split_once(' ')?;
        let is_id = id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let command = is_id.then(|| format!("git commit -m {}", outside::shell(subject)))?;
        message.parts.push(Part::ToolCall(tool::call(id, "shell", json!({ "command": command }))));
        message.parts.push(Part::ToolResult(ToolResult::new(id, text, false)));
        Some(message)
    }
}
