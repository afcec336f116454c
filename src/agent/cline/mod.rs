//! Cline: one JSON document per session, which is rewritten as a whole.
//!
//! Release 3 is a program of its own, seen in real data: `~/.cline/data/sessions/<id>/<id>.messages.json` with the messages,
//! `<id>.json` in the same folder with its directory, and hooks whose `taskId` is the id of a run, not of a session. Older
//! releases, which were editor extensions, have a list of messages in a folder for each task. Only documentation of them was
//! seen, so data in another form is skipped. How messages read is in `task`.

mod task;

use std::path::{Path, PathBuf};

use serde_json::json;
use serde_json_borrow::Value;

use self::task::{ITSELF, MESSAGES, Task};
use super::hooks::{Commands, HookFile, HookForm};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, field, string, text};
use super::place;
use super::{Agent, Event, FoundTranscript, Parser, Recorded, Restoration, RestoredContent, document, payload, tool};
use crate::error::{Error, Kind, Result};
use crate::outside;

/// Cline.
pub struct Cline;

/// The file of an older release's task that has all that was said.
const FILE: &str = "api_conversation_history.json";
/// The end of the name of the file with all messages of a session.
const ENDING: &str = ".messages.json";

/// The instruction files that it reads: its own, and those of others that it takes over.
const INSTRUCTIONS: &[FilePatterns] =
    &[FilePatterns::top(&[".clinerules", ".clinerules/**/*.md", ".cursorrules", ".windsurfrules", "AGENTS.md"])];

impl Agent for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn title(&self) -> &'static str {
        "Cline"
    }

    fn is_installed(&self) -> bool {
        let has_sessions = sessions().is_some_and(|sessions| sessions.is_dir());
        has_sessions || tasks().iter().any(|tasks| tasks.is_dir()) || place::has_program("cline")
    }

    fn instructions(&self) -> Option<Instructions> {
        let name = "Documents/Cline/Rules";
        let home = HomeFolder::all(place::home().map(|home| home.join(name)), name, &["**/*.md"]);
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: false })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Task::default())
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        let mut found = None;
        document::each(transcript, task::list_of(transcript), |record, _| {
            if field(record, "role").is_none() {
                found = string(record, "sessionId").or_else(|| found.take());
            }
        });
        found
    }

    fn is_rendered(&self, _: &Path) -> bool {
        true
    }

    fn list(&self) -> Option<&'static str> {
        Some(MESSAGES)
    }

    fn lines(&self, native: Vec<u8>) -> Vec<u8> {
        document::to_lines(&native, task::list_of(&native))
    }

    fn lines_that_stay(&self, lines: &[u8]) -> usize {
        let is_list = json::find(lines, |head| text(head, "list").map(|list| list == ITSELF)) == Some(true);
        document::lines_that_stay(lines, if is_list { ITSELF } else { MESSAGES })
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let folder = |root: PathBuf| root.join(session_id);
        let new = sessions().map(|root| folder(root).join(format!("{session_id}{ENDING}")));
        let old = tasks().into_iter().map(|root| folder(root).join(FILE));
        new.into_iter().chain(old).filter(|_| outside::is_plain_id(session_id)).find(|path| path.is_file())
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        // A task of an older release does not tell where it ran.
        let Some(sessions) = sessions() else { return Vec::new() };
        let found = place::entries(&sessions).into_iter().filter_map(|folder| {
            let session_id = folder.file_name()?.to_str()?.to_owned();
            let transcript = folder.join(format!("{session_id}{ENDING}"));
            (outside::is_plain_id(&session_id) && place::is_written_since(&transcript, seconds))
                .then_some(FoundTranscript { session_id, transcript })
        });
        found.filter(|found| has_run_in(&found.transcript, directory)).collect()
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let id = session.session_id;
        let Some(sessions) = sessions() else { return Ok(None) };
        if self.session_id(session.transcript).as_deref() != Some(id) {
            return Err(Error::new(Kind::Unsupported, "Cline takes up no session of a release before 3 from outside"));
        }
        let path = sessions.join(id).join(format!("{id}{ENDING}"));
        // It takes a companion without any of these for damaged, and the session for a new one.
        let begun = begun(session.transcript).unwrap_or_else(|| jiff::Timestamp::UNIX_EPOCH.to_string());
        let model = |key: &str, other: &str| model_info(session.transcript, key).unwrap_or_else(|| other.to_owned());
        let companion = json!({ "version": 1, "session_id": id, "source": "cli", "status": "completed", "exit_code": 0,
            "pid": 0, "provider": model("provider", "cline"), "model": model("id", "unknown"),
            "started_at": begun, "interactive": true, "enable_tools": true, "enable_spawn": true,
            "enable_teams": true, "cwd": directory, "workspace_root": directory, "messages_path": path });
        let files = vec![
            (path.clone(), RestoredContent::Transcript(self.native(session.transcript).into_owned())),
            (sessions.join(id).join(format!("{id}.json")), RestoredContent::Once(companion.to_string().into_bytes())),
        ];
        let words = ["cline", "--id", id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn events(&self) -> &'static [(&'static str, Event)] {
        &[
            ("TaskStart", Event::SessionStart),
            ("TaskResume", Event::SessionStart),
            ("TaskCancel", Event::SessionEnd),
            // The names of release 3 in payloads.
            ("agent_start", Event::SessionStart),
            ("tool_result", Event::AfterTool),
        ]
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys {
            session: &["sessionContext.rootSessionId", "taskId"],
            event: &["hookName"],
            model: &["model.slug"],
            call: &["tool_result.id"],
            input: &["tool_result.input", "parameters"],
            envelopes: &["postToolUse", "preToolUse"],
            ..payload::NONE
        }
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames {
            shells: &["run_commands"],
            editors: &["replace_in_file", "editor"],
            command: &["commands"],
            old: &["old_text"],
            new: &["new_text"],
            ..tool::NONE
        }
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        const REMARK: &str = "Cline runs hooks once they are enabled in its settings";
        let script = |path, text, remark| HookFile { path, form: HookForm::Own(text, true), handlers: &[], remark };
        vec![
            script(".clinerules/hooks/TaskStart", |commands| script_for(commands, "TaskStart"), Some(REMARK)),
            script(".clinerules/hooks/TaskResume", |commands| script_for(commands, "TaskResume"), None),
            script(".clinerules/hooks/PostToolUse", |commands| script_for(commands, "PostToolUse"), None),
            script(".clinerules/hooks/TaskComplete", |commands| script_for(commands, "TaskComplete"), None),
            script(".clinerules/hooks/TaskCancel", |commands| script_for(commands, "TaskCancel"), None),
        ]
    }
}

/// Returns a hook's script. Cline waits until the script has read its input and has printed an answer.
fn script_for(commands: &Commands<'_>, event: &str) -> String {
    let command = (commands.shell)(event);
    format!(
        "#!/bin/sh\n\
         # Made by 'git shiftlog init', removed by 'git shiftlog deinit': tells git-shiftlog which task makes a commit.\n\
         {{ {command}; }} >/dev/null 2>&1\n\
         cat >/dev/null\n\
         echo '{{\"cancel\":false}}'\n"
    )
}

/// Returns where sessions of release 3 are kept.
fn sessions() -> Option<PathBuf> {
    Some(place::home()?.join(".cline/data/sessions"))
}

/// Says whether a session ran in a directory or below it, according to the file with its directory.
fn has_run_in(transcript: &Path, directory: &Path) -> bool {
    let name = transcript.file_name().and_then(|name| name.to_str()?.strip_suffix(ENDING)).unwrap_or_default();
    let companion = place::read(&transcript.with_file_name(format!("{name}.json"))).unwrap_or_default();
    let cwd = json::read_line(&companion, |companion| string(companion, "cwd"));
    cwd.is_some_and(|cwd| place::is_below(&cwd, directory))
}

/// Returns when the first message was written.
fn begun(transcript: &[u8]) -> Option<String> {
    let mut begun = None;
    document::each(transcript, MESSAGES, |record: &Value<'_>, _| begun = begun.or_else(|| json::time(record, "ts")));
    Some(jiff::Timestamp::from_second(begun?).ok()?.to_string())
}

/// Returns a member of `modelInfo`, from the first message that has it.
fn model_info(transcript: &[u8], key: &str) -> Option<String> {
    let mut found = None;
    document::each(transcript, MESSAGES, |record: &Value<'_>, _| {
        let named = || json::at(record, &["modelInfo", key])?.as_str().filter(|name| !name.is_empty());
        found = found.take().or_else(|| named().map(str::to_owned));
    });
    found
}

/// Returns where tasks of older releases are kept: for each editor that it may run in, and without one.
fn tasks() -> Vec<PathBuf> {
    const EDITORS: &[&str] = &["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
    let Some(home) = place::home() else { return Vec::new() };
    let supports = [place::config().unwrap_or_default(), home.join("Library/Application Support")];
    let users = supports.iter().flat_map(|support| EDITORS.iter().map(move |editor| support.join(editor).join("User")));
    let users = users.chain([home.join(".vscode-server/data/User")]);
    let tasks = users.map(|user| user.join("globalStorage/saoudrizwan.claude-dev/tasks"));
    tasks.chain([home.join(".cline/data/tasks")]).collect()
}
