//! Factory Droid: hooks and records much like Claude Code's.
//!
//! A companion beside each transcript has the tokens of the whole session; it is not recorded, so a record has none. Seen in
//! real data: records with prompts, tool calls and results, the companion, hook payloads, and that hooks run from
//! `settings.json` and `hooks.json`. Known from its reference alone: payloads in the other spelling, compaction.

use std::path::{Path, PathBuf};

use serde_json_borrow::Value;

use super::claude::{encode_directory, records};
use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, field, string, text};
use super::place;
use super::{
    Agent, Ask, FoundTranscript, Parser, Payload, Recognition, Recorded, Restoration, RestoredContent, Wording, ask,
    prompt,
};
use crate::error::Result;
use crate::outside;
use crate::transcript::{Message, Part, Role};

/// Droid.
pub struct Droid;

const HANDLERS: &[Handler] = &[
    Handler { event: "SessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "UserPromptSubmit", matcher: None, timeout_secs: 10 },
    Handler { event: "PostToolUse", matcher: Some("Execute|Bash"), timeout_secs: 30 },
    Handler { event: "Stop", matcher: None, timeout_secs: 30 },
    Handler { event: "PreCompact", matcher: None, timeout_secs: 10 },
    Handler { event: "SessionEnd", matcher: None, timeout_secs: 10 },
];

/// The tags of text that is added to a prompt, those of Claude Code.
const NOISE: &[&str] = &[
    "system-reminder",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-args",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
];

/// How it is asked headlessly.
const ASK: Ask =
    Ask { name: "droid", program: "droid", words: &["exec", "-o", "text"], is_on_stdin: false, ..ask::PLAIN };

/// The instruction files that it reads.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::edited(&["AGENTS.md"])];

impl Agent for Droid {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn title(&self) -> &'static str {
        "Factory Droid"
    }

    fn is_installed(&self) -> bool {
        root().is_some_and(|root| root.is_dir()) || place::has_program("droid")
    }

    fn instructions(&self) -> Option<Instructions> {
        Some(Instructions {
            repo: INSTRUCTIONS,
            home: HomeFolder::all(root(), ".factory", &["AGENTS.md"]),
            has_imports: false,
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(parse)
    }

    fn wording(&self, _: &[u8]) -> Wording {
        Wording::InLines
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        json::find(transcript, |record| string(record, "id").filter(|_| is_begin(record)))
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        let sessions = root().filter(|_| outside::is_plain_id(session_id))?.join("sessions");
        let file = format!("{session_id}.jsonl");
        let expected = folders(&sessions, directory).into_iter().chain([sessions.clone()]);
        let others = || place::entries(&sessions).into_iter();
        let find = |folder: PathBuf| Some(folder.join(&file)).filter(|path| path.is_file());
        expected.into_iter().find_map(find).or_else(|| others().find_map(find))
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(root) = root() else { return Vec::new() };
        let sessions = root.join("sessions");
        let is_from_here = |path: &Path| {
            let cwd = json::find_in_file(path, |record| string(record, "cwd").filter(|_| is_begin(record)));
            cwd.is_some_and(|cwd| place::is_below(&cwd, directory))
        };
        let [folder, older] = folders(&sessions, directory);
        let older = Some(older).filter(|older| *older != folder);
        let places = std::iter::once(folder).chain(older).chain([sessions]);
        let found = places.flat_map(|folder| place::recent_sessions(&folder, "jsonl", seconds));
        let mut found: Vec<FoundTranscript> = found.collect();
        found.retain(|found| is_from_here(&found.transcript));
        found
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let id = session.session_id;
        let Some(root) = root().filter(|_| outside::is_plain_id(id)) else { return Ok(None) };
        let sessions = root.join("sessions");
        let [folder, older] = folders(&sessions, directory);
        let file = format!("{id}.jsonl");
        // Where an older release has a folder for the directory, the session goes on in it.
        let folder = if !folder.is_dir() && older.is_dir() { older } else { folder };
        let path = self.transcript(id, directory).filter(|path| path.starts_with(&folder)).unwrap_or(folder.join(file));
        let files = vec![(path, RestoredContent::Transcript(records::moved(session.transcript, directory)))];
        let words = ["droid", "--resume", id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn ask(&self) -> Option<&'static Ask> {
        Some(&ASK)
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some(["droid", prompt].map(str::to_owned).to_vec())
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        payload.has_transcript_in("/.factory/").then_some(Recognition::Place)
    }

    fn hook_files(&self, is_shared: bool) -> Vec<HookFile> {
        // It reads no hooks from 'settings.local.json'.
        let (path, member) =
            if is_shared { (".factory/settings.json", Some("hooks")) } else { (".factory/hooks.json", None) };
        vec![HookFile {
            path,
            form: HookForm::Json(Layout { member, ..Layout::GROUPS }),
            handlers: HANDLERS,
            remark: Some("Droid reads its hooks when it starts"),
        }]
    }
}

fn root() -> Option<PathBuf> {
    Some(place::home()?.join(".factory"))
}

/// Returns the folders that transcripts of sessions in `directory` can be in, in the newer and in the older spelling.
fn folders(sessions: &Path, directory: &Path) -> [PathBuf; 2] {
    let directory = place::resolved(directory).to_string_lossy().into_owned();
    [encode_directory(&directory), directory.replace('/', "-")].map(|name| sessions.join(name))
}

fn is_begin(record: &Value<'_>) -> bool {
    text(record, "type") == Some("session_start")
}

fn parse(lines: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (span, line) in json::lines(lines) {
        messages.extend(json::read_line(line, |record| message(record, span)));
    }
    messages
}

fn message(record: &Value<'_>, span: std::ops::Range<usize>) -> Option<Message> {
    let mut message = Message::new(Role::System, span);
    json::set_time(&mut message, record, "timestamp");
    match text(record, "type")? {
        "message" => {
            let inner = field(record, "message")?;
            message.parts = records::parts(field(inner, "content").unwrap_or(&Value::Null), record);
            match text(inner, "role")? {
                "user" => {
                    message.role = Role::User;
                    keep_prompt(&mut message.parts);
                }
                "assistant" => {
                    message.role = Role::Assistant;
                    let model = ["model", "modelId"].iter().find_map(|key| string(inner, key));
                    message.model = model.or_else(|| string(record, "model"));
                    message.parts.retain(|part| !matches!(part, Part::Text(words) if words.trim().is_empty()));
                }
                _ => return None,
            }
        }
        "compaction_state" => message.parts.push(Part::Notice("conversation compacted".into())),
        _ => return None,
    }
    (!message.parts.is_empty()).then_some(message)
}

/// Keeps only the typed text of a prompt, its first non-empty one. Later texts are contents of mentioned files.
fn keep_prompt(parts: &mut Vec<Part>) {
    let mut has_words = false;
    parts.retain_mut(|part| match part {
        Part::Text(words) => {
            *words = prompt::without(words, NOISE);
            let is_first = !words.is_empty() && !has_words;
            has_words |= is_first;
            is_first
        }
        _ => true,
    });
}
