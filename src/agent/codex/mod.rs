//! Codex CLI, its desktop app and its editor extension: rollouts, one JSON object a line.
//!
//! A rollout tells everything twice: what the person saw (`event_msg`) and what the model got and gave
//! (`response_item`). Prompts and answers are taken from the first where it is there, tools from the second.

mod approval;
mod calls;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json_borrow::Value;

use super::hooks::{Handler, HookFile, Layout, Shape};
use super::json::{self, at, field, list, number, string, text};
use super::place;
use super::{
    Agent, Ask, Content, Found, Parser, Payload, Permission, Recorded, Restoration, Sign, Wording, ask, payload, tool,
};
use crate::error::{Error, Result};
use crate::outside;
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

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

/// What Codex adds to the words of a person; a message that begins so was typed by nobody.
const NOISE: &[&str] = &[
    "<environment_context>",
    "<permissions instructions>",
    "<user_instructions>",
    "<turn_aborted>",
    "<collaboration_mode>",
    "<skills_instructions>",
    "<apps_instructions>",
    "# AGENTS.md instructions",
];
/// An editor puts what is open in front of the words.
const REQUEST: &str = "## My request for Codex:";

/// A rollout unpacks to so much at most.
const MAX_BYTES: u64 = 1 << 30;
const DAY_SECS: i64 = 24 * 60 * 60;

/// How it is asked headlessly.
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

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Rollout::default())
    }

    fn wording(&self, _: &[u8]) -> Wording {
        Wording::InOnePiece
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        let first = transcript.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        json::read_line(first, |record| string(meta(record)?, "id"))
    }

    fn is_rendered(&self, transcript: &Path) -> bool {
        transcript.extension().is_some_and(|extension| extension == "zst")
    }

    fn read(&self, transcript: &Path) -> Result<Vec<u8>> {
        use std::io::Read as _;
        let failed = |error| Error::io("read", transcript, error);
        let file = std::fs::File::open(transcript).map_err(failed)?;
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
        // If both are there the plain one is newer.
        found.sort_by_key(|path| self.is_rendered(path));
        found.into_iter().next()
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<Found> {
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
        let mut seen = HashSet::new();
        paths
            .filter(is_main)
            .filter_map(|path| Some(Found { session_id: id_of(&path)?, transcript: path }))
            .filter(|found| seen.insert(found.session_id.clone()))
            .collect()
    }

    fn sub_agents(&self, transcript: &Path) -> Vec<Found> {
        let (Some(session_id), Some(day)) = (id_of(transcript), transcript.parent()) else { return Vec::new() };
        let is_child = |path: &Path| {
            json::find_in_file(path, |record| {
                Some(string(meta(record)?, "parent_thread_id").is_some_and(|id| id == session_id))
            })
        };
        let others = place::entries(day).into_iter().filter(|path| path != transcript);
        let children = others.filter(|path| !self.is_rendered(path) && is_child(path) == Some(true));
        let named =
            |path: PathBuf| Some(Found { session_id: format!("{session_id}.{}", id_of(&path)?), transcript: path });
        children.filter_map(named).collect()
    }

    fn parent_session(&self, rollout: &Path) -> Option<String> {
        json::find_in_file(rollout, |record| Some(string(meta(record)?, "parent_thread_id")))?
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
            files.push((path, Content::Transcript(text.to_vec())));
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

    fn tools(&self) -> &'static tool::Words {
        &tool::Words {
            shells: &["local_shell", "shell_command", "exec_command", "functions.exec_command"],
            patchers: &["functions.apply_patch"],
            ..tool::NONE
        }
    }

    fn signs(&self, payload: &Payload, _: &str) -> Option<Sign> {
        let is_alike = || payload.has("turn_id") && payload.has("model");
        match payload.has_transcript_in("/.codex/") {
            true => Some(Sign::Place),
            false => is_alike().then_some(Sign::Manner),
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
            shape: Shape::Json(Layout::GROUPS),
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

/// Returns the session that a rollout's name tells: `rollout-<local time>-<uuid>.jsonl[.zst]`.
fn id_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?.strip_prefix("rollout-")?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    outside::is_plain_id(id).then(|| id.to_owned())
}

/// Returns where a rollout goes below `sessions`: it is named by the local time at which it was begun.
fn file_name(session_id: &str, transcript: &[u8]) -> Option<String> {
    let time = json::find(transcript, |record| meta(record).and_then(|meta| string(meta, "timestamp")))?;
    let begun: jiff::Timestamp = time.parse().ok()?;
    let local = begun.to_zoned(jiff::tz::TimeZone::system());
    Some(format!("{}-{session_id}.jsonl", local.strftime("%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S")))
}

/// Returns what a rollout's first record says of it, with or without an envelope.
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

/// What is known of a rollout so far.
#[derive(Default)]
struct Rollout {
    /// Whether prompts and answers are told as events.
    has_events: bool,
    model: Option<String>,
    /// The calls whose edits are known from their input.
    patches: HashSet<String>,
    /// The calls that the model has made.
    calls: HashSet<String>,
    /// Calls that run a program of the model's; events tell what the program called.
    programs: HashSet<String>,
}

impl Parser for Rollout {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        self.has_events |= json::lines(lines).any(|(_, line)| is_event_of_somebody(line));
        let mut messages: Vec<Message> = Vec::new();
        for (span, line) in json::lines(lines) {
            let read = json::read_line(line, |record| {
                let (kind, payload) = match (text(record, "type"), field(record, "payload")) {
                    (Some(kind), Some(payload)) => (kind, payload),
                    // Before there were envelopes.
                    (Some(_), None) => ("response_item", record),
                    _ => return None,
                };
                if kind == "event_msg" && text(payload, "type") == Some("thread_rolled_back") {
                    take_back(&mut messages, number(payload, "num_turns"));
                }
                let mut message = self.message(kind, payload, span)?;
                message.time = json::time(record, "timestamp");
                Some(message)
            });
            messages.extend(read);
        }
        messages
    }
}

/// Says, cheaply, whether a line is an event that tells a prompt or an answer.
fn is_event_of_somebody(line: &[u8]) -> bool {
    use bstr::ByteSlice as _;
    let head = &line[..line.len().min(512)];
    head.contains_str("event_msg")
        && ["\"user_message\"", "\"agent_message\"", "\"UserMessage\"", "\"AgentMessage\""]
            .iter()
            .any(|kind| head.contains_str(kind))
}

/// Marks the last turns as taken back.
fn take_back(messages: &mut [Message], turns: u64) {
    let mut left = turns;
    for message in messages.iter_mut().rev().filter(|message| !message.is_abandoned) {
        if left == 0 {
            break;
        }
        left -= u64::from(message.is_prompt());
        message.is_abandoned = true;
    }
}

impl Rollout {
    fn message(&mut self, kind: &str, payload: &Value<'_>, span: std::ops::Range<usize>) -> Option<Message> {
        let mut message = Message::new(Role::System, span);
        match kind {
            "turn_context" => {
                self.model = string(payload, "model").or_else(|| self.model.take());
                // An answer without words: so that the model is known even if the answer is in another increment.
                (message.role, message.model) = (Role::Assistant, self.model.clone());
                return Some(message);
            }
            "compacted" => message.parts.extend(string(payload, "message").map(Part::Notice)),
            "event_msg" => self.read_event(payload, &mut message),
            "response_item" => self.read_item(payload, &mut message),
            _ => return None,
        }
        if message.role == Role::Assistant {
            message.model.clone_from(&self.model);
        }
        (!message.parts.is_empty() || message.usage.is_some()).then_some(message)
    }

    fn read_event(&self, event: &Value<'_>, message: &mut Message) {
        match text(event, "type").unwrap_or_default() {
            "user_message" => {
                say(message, Role::User, text(event, "message").and_then(typed));
                let given = list(event, "images").iter().chain(list(event, "local_images")).filter_map(Value::as_str);
                message.parts.extend(given.map(|image| Part::Attachment(json::image(image))));
            }
            "agent_message" => say(message, Role::Assistant, string(event, "message")),
            "item_completed" => {
                let Some(item) = field(event, "item") else { return };
                let words = list(item, "content").iter().filter_map(|part| text(part, "text"));
                let words = words.collect::<Vec<_>>().join("\n");
                match text(item, "type").unwrap_or_default() {
                    "UserMessage" => say(message, Role::User, typed(&words)),
                    "AgentMessage" => say(message, Role::Assistant, Some(words)),
                    "ContextCompaction" => message.parts.push(Part::Notice("conversation compacted".into())),
                    "FileChange" => self.change(item, text(item, "id"), message),
                    "CommandExecution" if text(item, "id").is_some_and(|id| !self.calls.contains(id)) => {
                        message.role = Role::Assistant;
                        message.parts.extend(calls::execution(item));
                    }
                    _ => {}
                }
            }
            "token_count" => {
                message.role = Role::Assistant;
                message.usage = at(event, &["info", "last_token_usage"]).map(usage);
            }
            "turn_aborted" => message.parts.push(Part::Notice("interrupted by the user".into())),
            "thread_rolled_back" => message.parts.push(Part::Notice("taken back".into())),
            "context_compacted" => message.parts.push(Part::Notice("conversation compacted".into())),
            // The patch itself may be in a shell's command, where nobody finds it.
            "patch_apply_end" => self.change(event, text(event, "call_id"), message),
            _ => {}
        }
    }

    /// Reads the files that a call has changed, unless its input has told that.
    fn change(&self, told: &Value<'_>, call_id: Option<&str>, message: &mut Message) {
        let call_id = call_id.unwrap_or_default();
        if !self.patches.contains(call_id) {
            message.role = Role::Assistant;
            message.parts.push(Part::ToolCall(calls::change(told, call_id)));
        }
    }

    fn call(&mut self, message: &mut Message, call_id: String, name: Option<&str>, input: Option<&Value<'_>>) {
        let call = tool::call(call_id, name.unwrap_or_default(), input.map(Into::into).unwrap_or_default());
        if !call.edits.is_empty() {
            self.patches.insert(call.call_id.clone());
        }
        self.calls.insert(call.call_id.clone());
        message.role = Role::Assistant;
        message.parts.push(Part::ToolCall(call));
    }

    fn read_item(&mut self, item: &Value<'_>, message: &mut Message) {
        let call_id = || string(item, "call_id").or_else(|| string(item, "id")).unwrap_or_default();
        match text(item, "type").unwrap_or_default() {
            "message" if !self.has_events => {
                let words = list(item, "content").iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>();
                let words = words.join("\n");
                match text(item, "role") {
                    Some("user") => say(message, Role::User, typed(&words)),
                    Some("assistant") => say(message, Role::Assistant, Some(words)),
                    _ => {}
                }
            }
            "reasoning" => {
                let texts = list(item, "summary").iter().chain(list(item, "content"));
                let texts: Vec<&str> = texts.filter_map(|part| text(part, "text")).collect();
                message.role = Role::Assistant;
                if !texts.is_empty() {
                    message.parts.push(Part::Thinking(texts.join("\n")));
                }
            }
            "function_call" => {
                self.call(message, call_id(), text(item, "name"), field(item, "arguments"));
            }
            "custom_tool_call" if calls::is_program(item) => {
                self.programs.insert(call_id());
            }
            "custom_tool_call" => self.call(message, call_id(), text(item, "name"), field(item, "input")),
            "local_shell_call" => {
                self.call(message, call_id(), Some("local_shell"), field(item, "action"));
            }
            "custom_tool_call_output" if self.programs.contains(&call_id()) => {}
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let (text, is_error) = calls::output(field(item, "output").unwrap_or(&Value::Null));
                message.role = Role::User;
                message.parts.push(Part::ToolResult(ToolResult {
                    call_id: call_id(),
                    text,
                    is_error,
                    sub_agent: None,
                }));
            }
            _ => {}
        }
    }
}

fn say(message: &mut Message, role: Role, words: Option<String>) {
    message.role = role;
    message.parts.extend(words.filter(|words| !words.trim().is_empty()).map(Part::Text));
}

/// Returns what a person typed of a prompt.
fn typed(prompt: &str) -> Option<String> {
    let words = prompt.split_once(REQUEST).map_or(prompt, |(_, request)| request).trim();
    let is_noise = NOISE.iter().any(|tag| words.starts_with(tag));
    (!is_noise && !words.is_empty()).then(|| words.to_owned())
}

fn usage(usage: &Value<'_>) -> Tokens {
    let cached = number(usage, "cached_input_tokens");
    Tokens {
        input: number(usage, "input_tokens").saturating_sub(cached),
        output: number(usage, "output_tokens"),
        cache_read: cached,
        cache_write: 0,
    }
}
