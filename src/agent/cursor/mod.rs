//! Cursor: the editor and its command line, which keep the same chat in different ways.
//!
//! Both write a transcript of lines, without times, models and what tools answered. The command line also has a database
//! for each chat, and only a chat with a database can be resumed. If there is a database, it is recorded; see `store`.
//!
//! Seen in real data: the transcript of lines. Only in written data: the database, the hooks' payloads. From reference
//! alone: which events the hooks' file may have, the folders of the chats. Not read: the editor's `state.vscdb`, which is
//! gigabytes for all projects at once and holds little that the transcript of lines does not.

mod messages;
mod names;
mod pieces;
mod store;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use md5::{Digest as _, Md5};
use rusqlite::Connection;

use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::place;
use super::{
    Agent, Ask, Event, FoundTranscript, Parser, Payload, Recognition, Recorded, Restoration, RestoredContent, ask,
    payload, settings, sqlite, tool,
};
use crate::error::{Error, Kind, Result};
use crate::hex::hex;
use crate::outside;

/// Cursor.
pub struct Cursor;

const HANDLERS: &[Handler] = &[
    Handler { event: "sessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "beforeSubmitPrompt", matcher: None, timeout_secs: 10 },
    Handler { event: "postToolUse", matcher: Some("Shell"), timeout_secs: 30 },
    Handler { event: "postToolUseFailure", matcher: Some("Shell"), timeout_secs: 30 },
    Handler { event: "afterShellExecution", matcher: None, timeout_secs: 30 },
    Handler { event: "stop", matcher: None, timeout_secs: 30 },
    Handler { event: "sessionEnd", matcher: None, timeout_secs: 10 },
];

/// The events that Cursor knows; one that it does not know makes it leave out the whole file, without a word.
const EVENTS: &[&str] = &[
    "sessionStart",
    "sessionEnd",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "beforeSubmitPrompt",
    "stop",
    "subagentStart",
    "subagentStop",
    "preCompact",
    "beforeShellExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "afterFileEdit",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "workspaceOpen",
];

const HOOKS: &str = ".cursor/hooks.json";
const STORE: &str = "store.db";

/// How it is asked headlessly.
const ASK: Ask = Ask {
    name: "cursor",
    program: "cursor-agent",
    words: &["--output-format", "text", "--mode", "ask", "--trust", "-p"],
    is_on_stdin: false,
    ..ask::PLAIN
};

/// The instruction files that it reads; `CLAUDE.md` only in its command line. Rules that are for some paths count
/// whether or not they were needed. Those of its settings are in no file.
const INSTRUCTIONS: &[FilePatterns] = &[
    FilePatterns::edited(&[".cursor/rules/**/*.mdc", "AGENTS.md"]),
    FilePatterns::top(&["CLAUDE.md", ".cursorrules"]),
];

impl Agent for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn title(&self) -> &'static str {
        "Cursor"
    }

    fn is_installed(&self) -> bool {
        roots().iter().any(|root| root.is_dir()) || ["cursor", "cursor-agent"].into_iter().any(place::has_program)
    }

    fn instructions(&self) -> Option<Instructions> {
        Some(Instructions {
            repo: INSTRUCTIONS,
            home: HomeFolder::all(roots().into_iter().next(), ".cursor", &["rules/**/*.mdc"]),
            has_imports: false,
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(messages::parse)
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        store::chat_id(transcript)
    }

    fn is_rendered(&self, transcript: &Path) -> bool {
        transcript.extension().is_some_and(|extension| extension == "db")
    }

    fn lines(&self, native: Vec<u8>) -> Vec<u8> {
        let read = |database: Connection| store::read(&database, None);
        store::from_bytes(&native).and_then(read).unwrap_or(native)
    }

    fn native<'t>(&self, transcript: &'t [u8]) -> Cow<'t, [u8]> {
        store::to_bytes(transcript).map_or(Cow::Borrowed(transcript), Cow::Owned)
    }

    fn lines_that_stay(&self, lines: &[u8]) -> usize {
        store::lines_that_stay(lines)
    }

    fn rewrites_last_lines(&self) -> bool {
        true
    }

    fn read_until(&self, transcript: &Path, deadline: Option<Instant>) -> Result<Vec<u8>> {
        if self.is_rendered(transcript) {
            store::read(&sqlite::open(transcript)?, deadline)
        } else {
            place::read(transcript).map_err(|error| Error::io("read", transcript, error))
        }
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        if !outside::is_plain_id(session_id) {
            return None;
        }
        let of_project = |root: &PathBuf| {
            let expected = root.join("projects").join(project_name(directory));
            let others = place::entries(&root.join("projects"));
            [expected].into_iter().chain(others).find_map(|project| transcript_in(&project, session_id))
        };
        stored(session_id).or_else(|| roots().iter().find_map(of_project))
    }

    fn fullest(&self, reported: PathBuf, session_id: &str) -> PathBuf {
        stored(session_id).unwrap_or(reported)
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let mut found: Vec<FoundTranscript> = Vec::new();
        let mut add = |session_id: Option<&str>, transcript: PathBuf, is_written: bool| {
            let Some(id) = session_id.filter(|id| is_written && outside::is_plain_id(id)) else { return };
            if !found.iter().any(|found| found.session_id == id) {
                found.push(FoundTranscript { session_id: id.to_owned(), transcript });
            }
        };
        for root in roots() {
            for chat in place::entries(&root.join("chats").join(folder_name(directory))) {
                let store = chat.join(STORE);
                let is_written = sqlite::is_written_since(&store, seconds);
                add(chat.file_name().and_then(|name| name.to_str()), store, is_written);
            }
            let project = root.join("projects").join(project_name(directory));
            for entry in place::entries(&project.join("agent-transcripts")) {
                let id = entry.file_stem().and_then(|stem| stem.to_str());
                let path = id.and_then(|id| transcript_in(&project, id));
                let Some(path) = path.filter(|path| place::is_written_since(path, seconds)) else { continue };
                add(id, id.and_then(stored).unwrap_or(path), true);
            }
        }
        found
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let id = session.session_id;
        let Some(home) = place::home().filter(|_| outside::is_plain_id(id)) else { return Ok(None) };
        let Some(bytes) = store::to_bytes(session.transcript) else {
            let words = "Cursor takes up only chats of its command line, and this one is from the editor";
            return Err(Error::new(Kind::Unsupported, words)
                .hint(format!("'git shiftlog show --full --session={id}' has the words for a new chat")));
        };
        let store = home.join(".cursor/chats").join(folder_name(directory)).join(id).join(STORE);
        let words = ["cursor-agent", "--resume", id].map(str::to_owned).to_vec();
        // Beside another file, what a log holds would be taken for a part of that.
        let [_, log] = sqlite::files(&store);
        if log.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(Error::new(Kind::Busy, format!("'{}' is in use", store.display()))
                .hint(format!("the chat is still there: {}", words.join(" "))));
        }
        Ok(Some(Restoration { files: vec![(store, RestoredContent::Transcript(bytes))], commands: vec![words] }))
    }

    fn ask(&self) -> Option<&'static Ask> {
        Some(&ASK)
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some(["cursor-agent", prompt].map(str::to_owned).to_vec())
    }

    fn variables(&self) -> &'static [&'static str] {
        &["CURSOR_AGENT"]
    }

    fn events(&self) -> &'static [(&'static str, Event)] {
        &[("afterShellExecution", Event::AfterTool), ("afterFileEdit", Event::AfterTool)]
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys { session: &["conversation_id"], model: &["model_id"], ..payload::NONE }
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames {
            shells: &["run_terminal_cmd"],
            editors: &["search_replace", "edit_notebook"],
            path: &["target_file", "target_notebook"],
            ..tool::NONE
        }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        (payload.has("cursor_version") || payload.has_transcript_in("/.cursor/")).then_some(Recognition::Name)
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        let layout = Layout { version: Some(1), ..Layout::FLAT };
        vec![HookFile { path: HOOKS, form: HookForm::Json(layout), handlers: HANDLERS, remark: None }]
    }

    fn obstacle(&self, settings: &str) -> Option<String> {
        let value = settings::read(settings).ok()?;
        let because = |reason: String| Some(format!("Cursor leaves out all of '{HOOKS}': {reason}"));
        if let Some(version) = value.get("version").filter(|version| **version != 1) {
            return because(format!("its version is {version}, not 1"));
        }
        let events = value.get("hooks")?.as_object()?;
        if let Some(unknown) = events.keys().find(|event| !EVENTS.contains(&event.as_str())) {
            return because(format!("it does not know the event '{unknown}'"));
        }
        let with_address = events.iter().find(|(_, list)| settings::commands(list).any(|line| line.contains("://")));
        with_address.and_then(|(event, _)| because(format!("a command of '{event}' has a URL in it")))
    }
}

/// Returns the directories that can hold chats.
fn roots() -> Vec<PathBuf> {
    let home = place::home().map(|home| home.join(".cursor"));
    place::variable("CURSOR_CONFIG_DIR").into_iter().chain(home).collect()
}

/// Returns the database of a chat, wherever it ran.
fn stored(session_id: &str) -> Option<PathBuf> {
    let roots = if outside::is_plain_id(session_id) { roots() } else { Vec::new() };
    let folders = roots.into_iter().flat_map(|root| place::entries(&root.join("chats")));
    folders.map(|folder| folder.join(session_id).join(STORE)).find(|store| store.is_file())
}

/// Returns the transcript of a chat in a project's folder; in some releases each chat has its own folder.
fn transcript_in(project: &Path, session_id: &str) -> Option<PathBuf> {
    let folder = project.join("agent-transcripts");
    let file = format!("{session_id}.jsonl");
    [folder.join(session_id).join(&file), folder.join(&file)].into_iter().find(|path| path.is_file())
}

/// Returns the name of the folder with the databases of the chats that ran in `directory`.
fn folder_name(directory: &Path) -> String {
    hex(&Md5::digest(place::resolved(directory).as_os_str().as_encoded_bytes()))
}

/// Returns the name of the folder with the transcripts of the chats that ran in `directory`.
fn project_name(directory: &Path) -> String {
    let path = place::resolved(directory);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    path.to_string_lossy().trim_start_matches('/').chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_as_cursor_names_them() {
        let directory = Path::new("/home/dev/demo-app");
        assert_eq!(folder_name(directory), "61d88df0c8f6b65b888854d114a52601");
        assert_eq!(project_name(directory), "home-dev-demo-app");
        assert_eq!(project_name(Path::new("/home/dev/my.app (2)")), "home-dev-my-app--2-");
    }

    #[test]
    fn what_makes_cursor_leave_out_a_file_is_told() {
        let obstacle = |text: &str| Cursor.obstacle(text);
        assert_eq!(obstacle(r#"{"version":1,"hooks":{"stop":[{"command":"./notify.sh"}]}}"#), None);
        for (text, word) in [
            (r#"{"version":1,"hooks":{"stop":[],"onCoffee":[]}}"#, "'onCoffee'"),
            (r#"{"version":1,"hooks":{"stop":[{"command":"curl https://example.com"}]}}"#, "URL"),
            (r#"{"version":2,"hooks":{}}"#, "version is 2"),
        ] {
            assert!(obstacle(text).is_some_and(|told| told.contains(word)), "{text}");
        }
    }
}
