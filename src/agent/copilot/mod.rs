//! GitHub Copilot CLI: a directory for each session, a hook file that is ours alone.
//!
//! How its events read is in `events`. VS Code runs the same hook file; the payload tells which of them it is. Seen in
//! real data: events with prompts, answers, tool calls and a change of the model. Known from its reference alone: hook
//! payloads, compaction, abort, shutdown, sub-agents, and that a session resumes from a copy of its directory.

pub(super) mod events;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::claude::Claude;
use super::hooks::{Commands, Handler, HookFile, HookForm};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, string, text};
use super::place;
use super::{
    Agent, Ask, FoundTranscript, Parser, Payload, Permission, Recognition, Recorded, Restoration, RestoredContent,
    Wording, ask, payload, permission,
};
use crate::error::Result;
use crate::outside;

/// Copilot CLI.
pub struct Copilot;

/// No event before a tool: there a hook that fails denies the tool.
const HANDLERS: &[Handler] = &[
    Handler { event: "sessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "userPromptSubmitted", matcher: None, timeout_secs: 10 },
    Handler { event: "postToolUse", matcher: Some(SHELLS), timeout_secs: 30 },
    Handler { event: "postToolUseFailure", matcher: None, timeout_secs: 30 },
    Handler { event: "agentStop", matcher: None, timeout_secs: 30 },
    Handler { event: "preCompact", matcher: None, timeout_secs: 10 },
    Handler { event: "sessionEnd", matcher: None, timeout_secs: 10 },
];
/// The shells of Copilot CLI and of VS Code.
const SHELLS: &str = "[Bb]ash|[Pp]ower[Ss]hell|run_in_terminal|runInTerminal|runTerminalCommand";

/// The file with hooks that Copilot CLI and VS Code both run.
pub(super) const HOOK_FILE: HookFile = HookFile {
    path: ".github/hooks/shiftlog.json",
    form: HookForm::Own(hooks, false),
    handlers: HANDLERS,
    remark: None,
};

/// How it is asked headlessly.
const ASK: Ask = Ask {
    name: "copilot",
    program: "copilot",
    words: &["-s", "--no-ask-user", "-p"],
    is_on_stdin: false,
    ..ask::PLAIN
};

/// The instruction files that it reads. Those that are for some paths count whether or not they were needed.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::edited(&[
    ".github/copilot-instructions.md",
    ".github/instructions/**/*.instructions.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
])];

impl Agent for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn title(&self) -> &'static str {
        "GitHub Copilot CLI"
    }

    fn is_installed(&self) -> bool {
        root().is_some_and(|root| root.is_dir()) || place::has_program("copilot")
    }

    fn instructions(&self) -> Option<Instructions> {
        let files = &["copilot-instructions.md", "instructions/**/*.instructions.md"];
        Some(Instructions { repo: INSTRUCTIONS, home: HomeFolder::all(root(), ".copilot", files), has_imports: false })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(events::Events::default())
    }

    fn wording(&self, _: &[u8]) -> Wording {
        Wording::InOnePiece
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        events::session_id(transcript)
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let sessions = root().filter(|_| outside::is_plain_id(session_id))?.join("session-state");
        // The first releases had no directories.
        let places = [sessions.join(session_id).join("events.jsonl"), sessions.join(format!("{session_id}.jsonl"))];
        places.into_iter().find(|path| path.is_file())
    }

    fn fullest(&self, reported: PathBuf, session_id: &str) -> PathBuf {
        // A sub-agent's hooks have an id of their own, and the transcript of the session that started it.
        let folder = reported.parent().and_then(Path::file_name);
        let is_of_another = reported.ends_with("events.jsonl") && folder.is_some_and(|folder| folder != session_id);
        if is_of_another { PathBuf::new() } else { reported }
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(root) = root() else { return Vec::new() };
        let is_from_here = |path: &Path| {
            let cwd = json::find_in_file(path, |event| string(events::context(event)?, "cwd"));
            cwd.is_some_and(|cwd| place::is_below(&cwd, directory))
        };
        let found = place::entries(&root.join("session-state")).into_iter().filter_map(|folder| {
            let session_id = folder.file_name()?.to_str()?.to_owned();
            Some(FoundTranscript { session_id, transcript: folder.join("events.jsonl") })
        });
        let is_wanted = |found: &FoundTranscript| {
            place::is_written_since(&found.transcript, seconds) && is_from_here(&found.transcript)
        };
        found.filter(is_wanted).collect()
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let id = session.session_id;
        let Some(root) = root().filter(|_| outside::is_plain_id(id)) else { return Ok(None) };
        let folder = root.join("session-state").join(id);
        let files = vec![
            (folder.join("events.jsonl"), RestoredContent::Transcript(session.transcript.to_vec())),
            (
                folder.join("workspace.yaml"),
                RestoredContent::Once(workspace(id, session.transcript, directory).into_bytes()),
            ),
        ];
        let words = vec!["copilot".to_owned(), format!("--resume={id}")];
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn session_of_environment(&self) -> Option<String> {
        std::env::var("COPILOT_AGENT_SESSION_ID").ok().filter(|id| outside::is_plain_id(id))
    }

    fn ask(&self) -> Option<&'static Ask> {
        Some(&ASK)
    }

    fn variables(&self) -> &'static [&'static str] {
        &["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"]
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some(["copilot", "-i", prompt].map(str::to_owned).to_vec())
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys { input: &["toolArgs"], ..payload::NONE }
    }

    fn recognizes(&self, payload: &Payload, declared: &str) -> Option<Recognition> {
        // Claude Code always names the transcript; Copilot CLI runs its hooks, but tells a time instead.
        let is_without_transcript = || {
            declared == Claude::INSTALLED.name()
                && ["hook_event_name", "session_id", "timestamp"].into_iter().all(|key| payload.has(key))
                && !payload.has("transcript_path")
        };
        const OWN: &[&str] = &[
            "toolArgs",
            "tool_result.result_type",
            "tool_result.resultType",
            "toolResult.result_type",
            "toolResult.resultType",
        ];
        let is_alike = || OWN.iter().any(|key| payload.has(key)) || is_without_transcript();
        match payload.has_transcript_in("/.copilot/session-state/") {
            true => Some(Recognition::Place),
            false => is_alike().then_some(Recognition::Manner),
        }
    }

    fn permission(&self, worktree: &Path) -> Permission {
        let Some(path) = root().map(|root| root.join("config.json")) else { return Permission::NotNeeded };
        let Some(config) = permission::read(&path) else {
            return Permission::Unknown(format!(
                "it runs them in folders that it trusts, and '{}' names none",
                path.display()
            ));
        };
        let lists = ["trusted_folders", "trustedFolders"].iter().filter_map(|key| config.get(key)?.as_array());
        match lists.into_iter().any(|list| permission::is_in(list, worktree)) {
            true => Permission::Given(format!("by trusted folders in '{}'", path.display())),
            false => Permission::Missing {
                what: "it runs hooks only in folders that it trusts, and this is none".into(),
                fix: "start 'copilot' here and trust the folder".into(),
            },
        }
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HOOK_FILE]
    }
}

fn root() -> Option<PathBuf> {
    place::root("COPILOT_HOME", ".copilot")
}

/// Returns the text of the hook file.
fn hooks(commands: &Commands<'_>) -> String {
    let mut events = Map::new();
    for handler in HANDLERS {
        let mut hook = json!({ "type": "command" });
        if let Some(matcher) = handler.matcher {
            hook["matcher"] = matcher.into();
        }
        hook["bash"] = (commands.shell)(handler.event).into();
        hook["powershell"] = powershell(commands.program, handler.event).into();
        hook["timeoutSec"] = handler.timeout_secs.into();
        events.insert(handler.event.to_owned(), Value::Array(vec![hook]));
    }
    let text = serde_json::to_string_pretty(&json!({ "version": 1, "hooks": events })).unwrap_or_default();
    format!("{text}\n")
}

/// Returns the command line for PowerShell; it is silent where the program is not installed.
fn powershell(program: &str, event: &str) -> String {
    let program = program.replace('\'', "''");
    format!("if (Get-Command '{program}' -ErrorAction SilentlyContinue) {{ & '{program}' copilot {event} }}; exit 0")
}

/// Returns the text of the file that Copilot keeps beside the events of a session: the directory, as its picker shows it.
fn workspace(session_id: &str, transcript: &[u8], directory: &Path) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut lines = format!("id: {session_id}\ncwd: {}\n", quoted(&directory.to_string_lossy()));
    let add = |lines: &mut String, key: &str, value: &str| *lines += &format!("{key}: {}\n", quoted(value));
    if let Some(top) = directory.ancestors().find(|dir| dir.join(".git").exists()) {
        add(&mut lines, "git_root", &top.to_string_lossy());
    }
    json::find(transcript, |event| {
        let context = events::context(event)?;
        for (key, name) in [("repository", "repository"), ("branch", "branch"), ("host_type", "hostType")] {
            if let Some(value) = text(context, name) {
                add(&mut lines, key, value);
            }
        }
        Some(())
    });
    let times = || transcript.split(|byte| *byte == b'\n');
    let time = |line: &[u8]| json::read_line(line, |event| string(event, "timestamp"));
    let created = times().find_map(time);
    let updated = times().rev().find_map(time);
    for (key, time) in [("created_at", created), ("updated_at", updated)] {
        if let Some(time) = time.filter(|time| time.parse::<jiff::Timestamp>().is_ok()) {
            lines += &format!("{key}: {time}\n");
        }
    }
    lines
}
