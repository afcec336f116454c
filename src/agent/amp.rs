//! Amp: threads that are documents, and a plugin in place of hooks.
//!
//! Since spring 2026 threads live on Amp's server, and the files here are stubs or absent. A hook asks no server: only
//! [`Agent::fetch`] does, for a person. Seen in real data: threads with prompts, thinking, tool calls and results, and
//! usage. Known from its reference alone: the plugin's events, the shape of an export, what continues a thread.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json_borrow::Value;

use super::hooks::{Commands, Handler, HookFile, HookForm};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, at, field, flag, list, number, string, text};
use super::place;
use super::{Agent, Ask, FoundTranscript, Parser, Recorded, Restoration, ask, document, payload, tool};
use crate::error::{Error, Kind, Result};
use crate::git::private;
use crate::outside;
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

/// Amp.
pub struct Amp;

/// The member of a thread that holds its messages.
const LIST: &str = "messages";
/// The largest thread that is read or fetched, in bytes.
const MAX_BYTES: u64 = 256 << 20;

const HANDLERS: &[Handler] = &[
    Handler { event: "SessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "UserPromptSubmit", matcher: None, timeout_secs: 10 },
    Handler { event: "PostToolUse", matcher: None, timeout_secs: 30 },
    Handler { event: "Stop", matcher: None, timeout_secs: 30 },
];

/// How it is asked headlessly.
const ASK: Ask = Ask { name: "amp", program: "amp", words: &["-x"], model_option: None, ..ask::PLAIN };

/// The instruction files that it reads: one of each directory.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::edited(OWN_FILES).first()];
const OWN_FILES: &[&str] = &["AGENTS.md", "AGENT.md", "CLAUDE.md"];

impl Agent for Amp {
    fn name(&self) -> &'static str {
        "amp"
    }

    fn title(&self) -> &'static str {
        "Amp"
    }

    fn is_installed(&self) -> bool {
        threads().is_some_and(|threads| threads.is_dir()) || place::has_program("amp")
    }

    fn instructions(&self) -> Option<Instructions> {
        let mut home = HomeFolder::all(place::config().map(|config| config.join("amp")), ".config/amp", &["AGENTS.md"]);
        home.extend(HomeFolder::all(place::config(), ".config", &["AGENTS.md"]));
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: true })
    }

    fn instructions_above(&self) -> Option<FilePatterns> {
        Some(FilePatterns::path(OWN_FILES).first())
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(parse)
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        let mut id = None;
        document::each(transcript, LIST, |record, _| {
            if field(record, LIST).is_some() {
                id = string(record, "id");
            }
        });
        id
    }

    fn is_rendered(&self, transcript: &Path) -> bool {
        transcript.extension().is_some_and(|extension| extension == "json")
    }

    fn list(&self) -> Option<&'static str> {
        Some(LIST)
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let path = threads().filter(|_| outside::is_plain_id(session_id))?.join(format!("{session_id}.json"));
        read(&path).is_some_and(|thread| has_messages(&thread)).then_some(path)
    }

    fn fetch(&self, session_id: &str) -> Result<Option<Vec<u8>>> {
        if !session_id.starts_with("T-") || !outside::is_plain_id(session_id) {
            return Ok(None);
        }
        let failed = |reason: &dyn std::fmt::Display| {
            Error::new(Kind::Missing, format!("cannot get '{session_id}' from Amp's server"))
                .because(reason.to_string())
        };
        let mut export = Command::new("amp");
        export.args(["threads", "export", session_id]).stdin(Stdio::null()).stdout(Stdio::piped());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
            export.env_remove(name);
        }
        let mut child = export.spawn().map_err(|error| failed(&error))?;
        let mut thread = Vec::new();
        if let Some(output) = child.stdout.take() {
            output.take(MAX_BYTES).read_to_end(&mut thread).map_err(|error| failed(&error))?;
        }
        let status = child.wait().map_err(|error| failed(&error))?;
        if !status.success() || self.session_id(&thread).as_deref() != Some(session_id) {
            return Err(failed(&"'amp threads export' gave no such thread"));
        }
        Ok(Some(self.lines(thread)))
    }

    fn recent(&self, _: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(threads) = threads() else { return Vec::new() };
        let mut found = place::recent_sessions(&threads, "json", seconds);
        found.retain(|found| found.session_id.starts_with("T-"));
        found
    }

    fn ran_in(&self, transcript: &Path, directory: &Path) -> Option<bool> {
        json::read_line(&read(transcript)?, |thread| {
            let trees = at(thread, &["env", "initial"]).map(|initial| list(initial, "trees")).unwrap_or_default();
            let mut paths = trees.iter().filter_map(|tree| place::path_of_uri(text(tree, "uri")?));
            (!list(thread, LIST).is_empty()).then(|| paths.any(|path| place::is_below(&path, directory)))
        })
    }

    fn restoration(&self, session: Recorded<'_>, _: &Path) -> Result<Option<Restoration>> {
        let id = session.session_id;
        if !id.starts_with("T-") || !outside::is_plain_id(id) {
            return Ok(None);
        }
        // The server has it.
        let words = ["amp", "threads", "continue", id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files: Vec::new(), commands: vec![words] }))
    }

    fn session_of_environment(&self) -> Option<String> {
        let is_other = std::env::var("AGENT").is_ok_and(|agent| agent != "amp");
        std::env::var("AGENT_THREAD_ID").ok().filter(|id| !is_other && id.starts_with("T-") && outside::is_plain_id(id))
    }

    fn ask(&self) -> Option<&'static Ask> {
        Some(&ASK)
    }

    fn variables(&self) -> &'static [&'static str] {
        &["AGENT_THREAD_ID"]
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys { session: &["thread_id"], ..payload::NONE }
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HookFile {
            path: ".amp/plugins/shiftlog.ts",
            form: HookForm::Own(plugin, false),
            handlers: HANDLERS,
            remark: Some(
                "Amp loads plugins when it starts; older releases want PLUGINS=all in the environment for that",
            ),
        }]
    }
}

fn threads() -> Option<PathBuf> {
    Some(place::data()?.join("amp/threads"))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    private::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn has_messages(thread: &[u8]) -> bool {
    json::read_line(thread, |thread| Some(!list(thread, LIST).is_empty())).unwrap_or(false)
}

fn parse(lines: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    document::each(lines, LIST, |record, span| messages.extend(message(record, span)));
    messages
}

fn message(record: &Value<'_>, span: std::ops::Range<usize>) -> Option<Message> {
    let mut message = Message::new(Role::System, span);
    let usage = field(record, "usage");
    for (of, key) in [(usage, "timestamp"), (field(record, "meta"), "sentAt")] {
        if let Some(of) = of.filter(|of| json::time(of, key).is_some()) {
            json::set_time(&mut message, of, key);
        }
    }
    message.is_sidechain = text(record, "parentToolUseId").is_some();
    message.role = match text(record, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::System,
    };
    message.parts = list(record, "content").iter().filter_map(|block| part(block, message.role)).collect();
    if message.role == Role::Assistant {
        message.model = usage.and_then(|usage| string(usage, "model"));
        message.answer_id = field(record, "messageId").and_then(Value::as_u64).map(|id| format!("@{id}"));
        message.usage = usage.map(tokens);
        if at(record, &["state", "type"]).and_then(|kind| kind.as_str()) == Some("cancelled") {
            message.parts.push(Part::Notice(super::INTERRUPTED.into()));
        }
    }
    (!message.parts.is_empty() || message.usage.is_some()).then_some(message)
}

fn part(block: &Value<'_>, role: Role) -> Option<Part> {
    Some(match (text(block, "type")?, role) {
        ("summary", _) => Part::Notice("conversation compacted".into()),
        ("text", Role::System) => Part::Notice(string(block, "text")?),
        ("text", _) => {
            Part::Text(string(block, "text").map(|words| words.trim().to_owned()).filter(|w| !w.is_empty())?)
        }
        ("thinking", _) => Part::Thinking(string(block, "thinking").filter(|words| !words.is_empty())?),
        ("tool_use", _) => {
            let input = field(block, "input").map(Into::into).unwrap_or_default();
            Part::ToolCall(tool::call(string(block, "id").unwrap_or_default(), text(block, "name")?, input))
        }
        ("tool_result", _) => {
            let run = field(block, "run").unwrap_or(&Value::Null);
            let (text, is_error) = answer(run);
            let call_id = string(block, "toolUseID").unwrap_or_default();
            Part::ToolResult(ToolResult::new(call_id, text, is_error))
        }
        ("image", _) => Part::Attachment(json::attachment("image", block)),
        _ => return None,
    })
}

/// Returns a tool's answer, and whether the tool failed.
fn answer(run: &Value<'_>) -> (String, bool) {
    const TEXT: &[&str] = &["output", "content", "diff", "message"];
    let words = |value: &Value<'_>| match value {
        Value::Null => None,
        Value::Str(words) => Some(words.to_string()),
        value => {
            TEXT.iter().find_map(|key| string(value, key)).or_else(|| Some(serde_json::Value::from(value).to_string()))
        }
    };
    let result = field(run, "result");
    let said = result.and_then(words).or_else(|| field(run, "error").and_then(words)).unwrap_or_default();
    let code = result.and_then(|result| field(result, "exitCode")).and_then(Value::as_i64).unwrap_or(0);
    let status = text(run, "status").unwrap_or("done");
    (said, code != 0 || !matches!(status, "done" | "in-progress") || flag(run, "isError"))
}

fn tokens(usage: &Value<'_>) -> Tokens {
    Tokens {
        input: number(usage, "inputTokens"),
        output: number(usage, "outputTokens"),
        cache_read: number(usage, "cacheReadInputTokens"),
        cache_write: number(usage, "cacheCreationInputTokens"),
        ..Tokens::default()
    }
}

/// Returns the plugin. It leaves the decision about tool calls alone, waits for nothing and lets no error out.
fn plugin(commands: &Commands<'_>) -> String {
    PLUGIN.replace("PROGRAM", &serde_json::Value::from(commands.program).to_string())
}

const PLUGIN: &str = r#"// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// Keeps the conversation beside the commits that it leads to. Made by 'git shiftlog init', removed by 'git shiftlog deinit'.
import { spawn } from "node:child_process";

const program = PROGRAM;
const MAX_ANSWER = 16384;
// One after the other, so that what happened first comes first.
let queue = Promise.resolve();

function tell(event, payload) {
  const run = () =>
    new Promise((done) => {
      try {
        const child = spawn(program, ["amp", event], { stdio: ["pipe", "ignore", "ignore"], detached: true });
        child.on("error", done);
        child.on("close", done);
        child.stdin.on("error", () => {});
        child.stdin.end(JSON.stringify(payload));
        child.unref();
      } catch {
        done();
      }
    });
  queue = queue.then(run, run);
}

function report(name, event, ctx, more) {
  try {
    const thread = event?.thread?.id ?? ctx?.thread?.id ?? event?.threadID;
    if (!thread) return;
    tell(name, { hook_event_name: name, thread_id: thread, cwd: process.cwd(), ...more?.() });
  } catch {
    // An agent must not notice.
  }
}

function answer(output) {
  const text = typeof output === "string" ? output : JSON.stringify(output ?? "");
  return text.slice(0, MAX_ANSWER);
}

export default function (amp) {
  const on = (event, name, more) => {
    try {
      amp.on(event, (value, ctx) => report(name, value, ctx, more && (() => more(value))));
    } catch {
      // A release that does not have the event.
    }
  };
  on("session.start", "SessionStart");
  on("agent.start", "UserPromptSubmit");
  on("tool.result", "PostToolUse", (value) => ({
    cwd: value.input?.cwd ?? process.cwd(),
    tool_use_id: value.toolUseID,
    tool_name: value.tool,
    tool_input: value.input,
    status: value.status,
    tool_response: answer(value.output),
  }));
  on("agent.end", "Stop");
}
"#;
