//! Codex CLI, its desktop app and its editor extension: rollouts, one JSON object a line.
//!
//! A rollout tells everything twice: what the person saw (`event_msg`) and what the model got and gave
//! (`response_item`). Prompts and answers are taken from the first where it is there, tools from the second.

mod approval;
mod calls;
mod rollout;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json_borrow::Value;

use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, field, string, text};
use super::place;
use super::{
    Agent, Ask, FoundTranscript, Parser, Payload, Permission, Recognition, Recorded, Restoration, RestoredContent,
    Wording, ask, payload, tool,
};
use crate::error::{Error, Result};
use crate::git::private;
use crate::outside;

/// Codex.
pub struct Codex;

const HOOK_FILE: &str = ".codex/hooks.json";
const HANDLERS: &[Handler] = &[
    Handler { event: "SessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "UserPromptSubmit", matcher: None, timeout_secs: 10 },
    Handler { event: "PostToolUse", matcher: Some("^Bash$"), timeout_secs: 30 },
    Handler { event: "Stop", matcher: None, timeout_secs: 30 },
    Handler { event: "PreCompact", matcher: None, timeout_secs: 10 },
    // It allows no more, and warns at the start about more.
    Handler { event: "SessionEnd", matcher: None, timeout_secs: 3 },
];

/// A rollout unpacks to so much at most.
const MAX_BYTES: u64 = 1 << 30;
const DAY_SECS: i64 = 24 * 60 * 60;

/// The command line that runs one prompt without a terminal.
const ASK: Ask = Ask {
    name: "codex",
    program: "codex",
    // Its configuration names the provider, so it is read; servers and hooks of it have no part in an answer.
    words: &[
        "exec",
        "--sandbox",
        "read-only",
        "--skip-git-repo-check",
        "--ephemeral",
        "-c",
        "mcp_servers={}",
        "-c",
        "hooks={}",
        "-",
    ],
    ..ask::PLAIN
};

/// The instruction files that it reads: one of each directory.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::path(OWN_FILES).first()];
const OWN_FILES: &[&str] = &["AGENTS.override.md", "AGENTS.md"];

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn is_installed(&self) -> bool {
        root().is_some_and(|root| root.is_dir()) || place::has_program("codex")
    }

    fn instructions(&self) -> Option<Instructions> {
        Some(Instructions {
            repo: INSTRUCTIONS,
            home: HomeFolder::first(root(), ".codex", OWN_FILES),
            has_imports: false,
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(rollout::Rollout::default())
    }

    fn wording(&self, _: &[u8]) -> Wording {
        Wording::InOnePiece
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        let first = transcript.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        json::read_line(first, |record| {
            let (meta, parent) = (meta(record)?, text(meta(record)?, "parent_thread_id"));
            let id = string(meta, "id")?;
            Some(parent.map_or(id.clone(), |parent| format!("{parent}.{id}")))
        })
    }

    fn is_rendered(&self, transcript: &Path) -> bool {
        transcript.extension().is_some_and(|extension| extension == "zst")
    }

    fn read_until(&self, transcript: &Path, _: Option<Instant>) -> Result<Vec<u8>> {
        use std::io::Read as _;
        let failed = |error| Error::io("read", transcript, error);
        let file = private::open(transcript).map_err(failed)?;
        let mut bytes = Vec::new();
        if self.is_rendered(transcript) {
            let decoder = zstd::Decoder::new(file).map_err(failed)?;
            decoder.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        } else {
            file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        }
        Ok(bytes)
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let root = root().filter(|_| outside::is_plain_id(session_id))?;
        let is_it = |path: &PathBuf| id_of(path).is_some_and(|id| id == session_id);
        let days = days(&root, None).into_iter().chain([root.join("archived_sessions")]);
        let mut found: Vec<PathBuf> = days.flat_map(|day| place::entries(&day)).filter(is_it).collect();
        // If both are there the plain one is newer. Names begin with the time.
        found.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
        found.sort_by_key(|path| self.is_rendered(path));
        found.into_iter().next()
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(root) = root() else { return Vec::new() };
        let is_main = |path: &PathBuf| {
            let head = |path: &Path| {
                json::find_in_file(path, |record| {
                    let meta = meta(record)?;
                    Some((string(meta, "cwd"), is_sub_agent(meta)))
                })
            };
            let packed = || {
                let bytes = self.read(path).ok()?;
                json::find(&bytes, |record| meta(record).map(|meta| (string(meta, "cwd"), is_sub_agent(meta))))
            };
            let found = if self.is_rendered(path) { packed() } else { head(path) };
            found.is_some_and(|(cwd, is_sub)| !is_sub && cwd.is_some_and(|cwd| place::is_below(&cwd, directory)))
        };
        let mut folders = days(&root, Some(seconds));
        if seconds == 0 {
            folders.push(root.join("archived_sessions"));
        }
        let paths = folders.iter().flat_map(|day| place::recent_entries(day, seconds, |name| id_of(name).is_some()));
        let mut paths: Vec<PathBuf> = paths.collect();
        paths.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
        let mut seen = HashSet::new();
        paths
            .into_iter()
            .filter(is_main)
            .filter_map(|path| Some(FoundTranscript { session_id: id_of(&path)?, transcript: path }))
            .filter(|found| seen.insert(found.session_id.clone()))
            .collect()
    }

    fn sub_agents(&self, transcript: &Path) -> Vec<FoundTranscript> {
        let (Some(session_id), Some(day)) = (id_of(transcript), transcript.parent()) else { return Vec::new() };
        let is_child = |path: &Path| {
            json::find_in_file(path, |record| {
                Some(string(meta(record)?, "parent_thread_id").is_some_and(|id| id == session_id))
            })
        };
        let others = place::entries(day).into_iter().filter(|path| path != transcript);
        let children = others.filter(|path| !self.is_rendered(path) && is_child(path) == Some(true));
        let named = |path: PathBuf| {
            Some(FoundTranscript { session_id: format!("{session_id}.{}", id_of(&path)?), transcript: path })
        };
        children.filter_map(named).collect()
    }

    fn parent_session(&self, rollout: &Path) -> Option<String> {
        json::find_in_file(rollout, |record| Some(string(meta(record)?, "parent_thread_id")))?
    }

    fn forked_from(&self, rollout: &Path) -> Option<String> {
        json::find_in_file(rollout, |record| Some(string(meta(record)?, "forked_from_id")))?
    }

    fn restoration(&self, session: Recorded<'_>, _: &Path) -> Result<Option<Restoration>> {
        let Some(root) = root() else { return Ok(None) };
        let place = |id: &str, transcript: &[u8]| {
            let known = self.transcript(id, Path::new("")).filter(|path| path.starts_with(root.join("sessions")));
            let plain = known.map(|path| if self.is_rendered(&path) { path.with_extension("") } else { path });
            plain.or_else(|| Some(root.join("sessions").join(file_name(id, transcript)?)))
        };
        let mut files = Vec::new();
        let main = (session.session_id, session.transcript);
        for (id, text) in [main].into_iter().chain(session.sub_agents.iter().map(|(id, text)| (id.as_str(), &text[..])))
        {
            let Some(path) = place(id, text) else { return Ok(None) };
            files.push((path, RestoredContent::Transcript(text.to_vec())));
        }
        let words = ["codex", "resume", session.session_id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some(["codex", prompt].map(str::to_owned).to_vec())
    }

    fn session_of_environment(&self) -> Option<String> {
        std::env::var("CODEX_THREAD_ID").ok().filter(|id| outside::is_plain_id(id))
    }

    fn ask(&self) -> Option<&'static Ask> {
        Some(&ASK)
    }

    fn variables(&self) -> &'static [&'static str] {
        &["CODEX_THREAD_ID"]
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys { session: &["thread-id"], ..payload::NONE }
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames {
            shells: &["local_shell", "shell_command", "exec_command", "functions.exec_command"],
            patchers: &["functions.apply_patch"],
            ..tool::NONE
        }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        let is_alike = || payload.has("turn_id") && payload.has("model");
        match payload.has_transcript_in("/.codex/") {
            true => Some(Recognition::Place),
            false => is_alike().then_some(Recognition::Manner),
        }
    }

    fn permission(&self, worktree: &Path) -> Permission {
        let config = root().map(|root| root.join("config.toml"));
        let permission = config.map(|config| approval::permission(worktree, HOOK_FILE, HANDLERS.len(), &config));
        permission.unwrap_or(Permission::NotNeeded)
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HookFile {
            path: HOOK_FILE,
            form: HookForm::Json(Layout::GROUPS),
            handlers: HANDLERS,
            remark: Some("Codex runs its hooks once you have approved them: start 'codex' and type '/hooks'"),
        }]
    }
}

fn root() -> Option<PathBuf> {
    place::root("CODEX_HOME", ".codex")
}

/// Returns the folders with rollouts that can have been begun since `seconds`, a day early because they are named by
/// local time; all of them without it. Very old releases had no folders for days.
fn days(root: &Path, seconds: Option<i64>) -> Vec<PathBuf> {
    let sessions = root.join("sessions");
    let Some(seconds) = seconds.filter(|seconds| *seconds > 0) else {
        let years = place::entries(&sessions);
        let months = years.iter().flat_map(|year| place::entries(year));
        let days: Vec<PathBuf> = months.flat_map(|month| place::entries(&month)).filter(|day| day.is_dir()).collect();
        return days.into_iter().chain([sessions]).collect();
    };
    let now = jiff::Timestamp::now().as_second();
    // A session that goes on for weeks is known from its hooks.
    let first = (seconds - DAY_SECS).max(now - 60 * DAY_SECS);
    let days = (0..).map(|day| first + day * DAY_SECS).take_while(|day| *day <= now + DAY_SECS);
    let date = |day| Some(jiff::Timestamp::from_second(day).ok()?.to_zoned(jiff::tz::TimeZone::UTC).date());
    days.filter_map(date).map(|date| sessions.join(date.strftime("%Y/%m/%d").to_string())).collect()
}

/// Returns the session that a rollout's name tells: `rollout-<local time>-<uuid>[_<uuid>].jsonl[.zst]`. A thread that was
/// rewound goes on in another file, which has a second id in its name.
fn id_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?.strip_prefix("rollout-")?;
    let stem = stem.split('_').next()?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    outside::is_plain_id(id).then(|| id.to_owned())
}

/// Returns the path of a rollout below `sessions`, which is built from the local time at which the session began.
fn file_name(session_id: &str, transcript: &[u8]) -> Option<String> {
    let time = json::find(transcript, |record| meta(record).and_then(|meta| string(meta, "timestamp")))?;
    let begun: jiff::Timestamp = time.parse().ok()?;
    let local = begun.to_zoned(jiff::tz::TimeZone::system());
    Some(format!("{}-{session_id}.jsonl", local.strftime("%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S")))
}

/// Returns the metadata in a rollout's first record, with or without an envelope.
fn meta<'v>(record: &'v Value<'v>) -> Option<&'v Value<'v>> {
    match text(record, "type") {
        Some("session_meta") => field(record, "payload"),
        None if field(record, "record_type").is_none() => field(record, "id").map(|_| record),
        _ => None,
    }
}

fn is_sub_agent(meta: &Value<'_>) -> bool {
    text(meta, "thread_source") == Some("subagent") || text(meta, "parent_thread_id").is_some()
}
