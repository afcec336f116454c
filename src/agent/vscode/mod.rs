//! Copilot Chat in VS Code: two stores of conversations, and the hook file of Copilot CLI.
//!
//! Read `chat` for how both stores read. VS Code runs `.github/hooks/shiftlog.json` as Copilot CLI does, and its payloads
//! tell that it is VS Code. Seen in real data: payloads around a tool call, event streams, the chat store as a document and
//! as a log of changes. Known from its reference alone: the other events, and how the chat store's log cuts and removes.

mod chat;
mod request;
mod requests;

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use serde_json::Value;

use super::hooks::HookFile;
use super::instructions::{FilePatterns, Instructions};
use super::place;
use super::{Agent, FoundTranscript, Parser, Payload, Recognition, Recorded, Restoration, copilot, tool};
use crate::error::{Error, Kind, Result};
use crate::outside;

/// Copilot Chat in VS Code.
pub struct VsCode;

/// The member of a conversation that holds its requests.
const LIST: &str = "requests";
/// The folder of the transcripts that hooks name, in the storage of a workspace.
const TRANSCRIPTS: &str = "GitHub.copilot-chat/transcripts";
/// The folder of chats in the storage of a workspace.
const CHATS: &str = "chatSessions";
/// The folder of chats of windows without a workspace.
const EMPTY_WINDOW_CHATS: &str = "globalStorage/emptyWindowChatSessions";

/// The instruction files that it reads, unless its settings say otherwise.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::top(&[
    ".github/copilot-instructions.md",
    ".github/instructions/**/*.instructions.md",
    "AGENTS.md",
])];

impl Agent for VsCode {
    fn name(&self) -> &'static str {
        "vscode"
    }

    fn title(&self) -> &'static str {
        "Copilot Chat in VS Code"
    }

    fn is_installed(&self) -> bool {
        users().iter().any(|user| user.join("globalStorage/github.copilot-chat").is_dir())
    }

    fn instructions(&self) -> Option<Instructions> {
        Some(Instructions { repo: INSTRUCTIONS, home: Vec::new(), has_imports: false })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(chat::Chat::default())
    }

    fn is_counted_in_pieces(&self, _: &[u8]) -> bool {
        // All that is new in a request has the place of its last change: in small pieces, that is near its own.
        true
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        chat::session_id(transcript)
    }

    fn is_rendered(&self, transcript: &Path) -> bool {
        transcript.extension().is_some_and(|extension| extension == "json")
    }

    fn list(&self) -> Option<&'static str> {
        Some(LIST)
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        if !outside::is_plain_id(session_id) {
            return None;
        }
        let in_workspace = |workspace: PathBuf| {
            let folders = [(TRANSCRIPTS, "jsonl"), (CHATS, "jsonl"), (CHATS, "json")];
            let paths = folders.map(|(folder, end)| workspace.join(folder).join(format!("{session_id}.{end}")));
            paths.into_iter().find(|path| path.is_file())
        };
        let without_folder = |user: PathBuf| {
            let paths = ["jsonl", "json"].map(|end| user.join(EMPTY_WINDOW_CHATS).join(format!("{session_id}.{end}")));
            paths.into_iter().find(|path| path.is_file())
        };
        workspaces_of(directory)
            .into_iter()
            .find_map(in_workspace)
            .or_else(|| all_workspaces().into_iter().find_map(in_workspace))
            .or_else(|| users().into_iter().find_map(without_folder))
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        workspaces_of(directory).iter().flat_map(|workspace| recent_in(workspace, seconds)).collect()
    }

    fn restoration(&self, session: Recorded<'_>, _: &Path) -> Result<Option<Restoration>> {
        if !outside::is_plain_id(session.session_id) {
            return Ok(None);
        }
        // It writes its own list of chats when it ends, and drops what is not complete in its eyes.
        Err(Error::new(Kind::Unsupported, format!("{} takes up no chat from outside", self.title()))
            .hint(format!("git shiftlog show --full --session={} --format=markdown", session.session_id)))
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames {
            shells: &["run_in_terminal", "runTerminalCommand"],
            editors: &["insert_edit_into_file", "replace_string_in_file", "multi_replace_string_in_file"],
            ..tool::NONE
        }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        let is_in = |part| payload.has_transcript_in(part);
        let is_its_call = || payload.call_id().is_some_and(|id| id.contains("__vscode-"));
        (is_in("GitHub.copilot-chat") || is_in("/workspaceStorage/") || is_its_call()).then_some(Recognition::Name)
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![copilot::HOOK_FILE]
    }
}

/// Returns the directories in which editions of VS Code keep what belongs to this user.
fn users() -> Vec<PathBuf> {
    const EDITIONS: &[&str] = &["Code", "Code - Insiders", "VSCodium"];
    const SERVERS: &[&str] = &[".vscode-server", ".vscode-server-insiders"];
    let home = place::home();
    let editions = if cfg!(target_os = "macos") {
        home.as_ref().map(|home| home.join("Library/Application Support"))
    } else {
        place::config()
    };
    let local = editions.into_iter().flat_map(|dir| EDITIONS.iter().map(move |edition| dir.join(edition).join("User")));
    let remote =
        home.into_iter().flat_map(|home| SERVERS.iter().map(move |server| home.join(server).join("data/User")));
    local.chain(remote).collect()
}

/// Returns the storage of all workspaces.
fn all_workspaces() -> Vec<PathBuf> {
    users().iter().flat_map(|user| place::entries(&user.join("workspaceStorage"))).collect()
}

/// Returns the storage of the workspaces whose folder is `directory` or below it.
fn workspaces_of(directory: &Path) -> Vec<PathBuf> {
    let is_of = |workspace: &PathBuf| folder(workspace).is_some_and(|folder| place::is_below(&folder, directory));
    all_workspaces().into_iter().filter(is_of).collect()
}

/// Returns the folder that a workspace's storage is for.
fn folder(workspace: &Path) -> Option<String> {
    let text = place::read(&workspace.join("workspace.json")).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    let uri = value.get("folder")?.as_str()?;
    if let Some(rest) = uri.strip_prefix("vscode-remote://") {
        // What another machine serves is a path of this one only if this one serves it.
        let is_server = |part: &std::ffi::OsStr| part.as_encoded_bytes().starts_with(b".vscode-server");
        let path = &rest[rest.find('/').filter(|_| workspace.iter().any(is_server))?..];
        return place::path_of_uri(&format!("file://{path}"));
    }
    place::path_of_uri(uri)
}

/// Returns the chats that were written lately in a workspace. If a chat has a transcript for hooks, that is returned.
fn recent_in(workspace: &Path, seconds: i64) -> Vec<FoundTranscript> {
    let streams = place::recent_sessions(&workspace.join(TRANSCRIPTS), "jsonl", seconds);
    let is_streamed = |chat: &FoundTranscript| {
        let is_named = || {
            let text = place::read(&chat.transcript).unwrap_or_default();
            streams.iter().any(|stream| text.contains_str(&stream.session_id))
        };
        streams.iter().any(|stream| stream.session_id == chat.session_id) || (!streams.is_empty() && is_named())
    };
    let chats =
        ["jsonl", "json"].into_iter().flat_map(|end| place::recent_sessions(&workspace.join(CHATS), end, seconds));
    let chats: Vec<FoundTranscript> = chats.filter(|chat| !is_streamed(chat)).collect();
    streams.into_iter().chain(chats).collect()
}
