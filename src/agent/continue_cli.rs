//! Continue (`cn` and its editor extensions): one JSON document per session, which is rewritten as a whole.
//!
//! The document was seen in data of real sessions. It has no times; answers tell model and tokens since release 1.5. There
//! is no hook that we install: a session is found when a commit is made. Asked headlessly (`cn -p`), it writes the document
//! after its answer, when a commit that it made is already there; then the next commit or an import finds it. It takes up a
//! document that is put into its folder as a copy: `cn --fork <id>`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json_borrow::Value;

use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, at, field, list, number, string, text};
use super::place;
use super::{Agent, FoundTranscript, Parser, Recorded, Restoration, RestoredContent, document, tool};
use crate::error::Result;
use crate::outside;
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

/// Continue.
pub struct Continue;

/// The member of a document that holds the messages.
const HISTORY: &str = "history";
/// The name of the file with the list of all sessions, without its extension.
const INDEX: &str = "sessions";

/// The instruction files that it reads.
const INSTRUCTIONS: &[FilePatterns] = &[
    FilePatterns::top(&["AGENTS.md", "AGENT.md", "CLAUDE.md"]).first(),
    FilePatterns::top(&[".continue/rules/**/*.md"]),
];

impl Agent for Continue {
    fn name(&self) -> &'static str {
        "continue"
    }

    fn title(&self) -> &'static str {
        "Continue"
    }

    fn is_installed(&self) -> bool {
        folder().is_some_and(|folder| folder.is_dir()) || place::has_program("cn")
    }

    fn instructions(&self) -> Option<Instructions> {
        let root = place::root("CONTINUE_GLOBAL_DIR", ".continue");
        let home = HomeFolder::all(root, ".continue", &["rules/**/*.md"]);
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: false })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(parse)
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        member(transcript, "sessionId")
    }

    fn is_rendered(&self, _: &Path) -> bool {
        true
    }

    fn list(&self) -> Option<&'static str> {
        Some(HISTORY)
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let path = folder().filter(|_| outside::is_plain_id(session_id))?.join(format!("{session_id}.json"));
        path.is_file().then_some(path)
    }

    fn recent(&self, _: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(folder) = folder() else { return Vec::new() };
        let mut found = place::recent_sessions(&folder, "json", seconds);
        found.retain(|found| found.session_id != INDEX && outside::is_plain_id(&found.session_id));
        found
    }

    fn restoration(&self, session: Recorded<'_>, _: &Path) -> Result<Option<Restoration>> {
        let id = session.session_id;
        let Some(folder) = folder().filter(|_| id != INDEX) else { return Ok(None) };
        let native = self.native(session.transcript).into_owned();
        let files = vec![(folder.join(format!("{id}.json")), RestoredContent::Transcript(native))];
        let words = ["cn", "--fork", id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn ran_in(&self, transcript: &Path, directory: &Path) -> Option<bool> {
        let document = place::read(transcript).ok()?;
        json::read_line(&document, |document| {
            Some(place::is_below(&place::path_or_uri(text(document, "workspaceDirectory")?), directory))
        })
    }
}

fn folder() -> Option<PathBuf> {
    Some(place::root("CONTINUE_GLOBAL_DIR", ".continue")?.join("sessions"))
}

/// Returns a member of a document, in its lines or in itself.
fn member(transcript: &[u8], key: &str) -> Option<String> {
    let mut found = None;
    document::each(transcript, HISTORY, |record, _| {
        if field(record, "message").is_none() {
            found = string(record, key).or_else(|| found.take());
        }
    });
    found
}

fn parse(transcript: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    document::each(transcript, HISTORY, |record, span| {
        if let Some(inner) = field(record, "message") {
            messages.extend(read(record, inner, span));
        }
    });
    messages
}

fn read(record: &Value<'_>, inner: &Value<'_>, span: Range<usize>) -> Option<Message> {
    let mut message = Message::new(Role::User, span);
    match text(inner, "role")? {
        "user" => message.parts.extend(said(inner)),
        "thinking" => {
            message.role = Role::Assistant;
            message.parts.extend(string(inner, "content").filter(|words| !words.is_empty()).map(Part::Thinking));
        }
        "assistant" => {
            message.role = Role::Assistant;
            message.parts.extend(said(inner));
            for call in list(inner, "toolCalls") {
                let name = at(call, &["function", "name"]).and_then(Value::as_str).unwrap_or_default();
                let input = at(call, &["function", "arguments"]).map(Into::into).unwrap_or_default();
                message.parts.push(Part::ToolCall(tool::call(string(call, "id").unwrap_or_default(), name, input)));
            }
            message.parts.extend(list(record, "toolCallStates").iter().filter_map(result).map(Part::ToolResult));
            if let Some(usage) = field(inner, "usage").filter(|usage| usage.is_object()) {
                let (input, output) = (number(usage, "prompt_tokens"), number(usage, "completion_tokens"));
                message.usage = Some(Tokens { input, output, ..Tokens::default() });
                message.model = string(usage, "model");
            }
        }
        "tool" => {
            let call_id = string(inner, "toolCallId").unwrap_or_default();
            let result = ToolResult::new(call_id, json::content(inner), false);
            message.parts.push(Part::ToolResult(result));
        }
        _ => return None,
    }
    (!message.parts.is_empty()).then_some(message)
}

fn said(inner: &Value<'_>) -> Option<Part> {
    Some(json::content(inner)).filter(|words| !words.trim().is_empty()).map(Part::Text)
}

/// Returns the text of a tool's result; `None` if the call is still running.
fn result(state: &Value<'_>) -> Option<ToolResult> {
    let status = text(state, "status")?;
    let is_error = matches!(status, "errored" | "canceled");
    if !is_error && status != "done" {
        return None;
    }
    let texts: Vec<&str> = list(state, "output").iter().filter_map(|item| json::text(item, "content")).collect();
    let call_id = string(state, "toolCallId").unwrap_or_default();
    Some(ToolResult::new(call_id, texts.join("\n"), is_error))
}
