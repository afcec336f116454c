//! Qwen Code: records much like Claude Code's, messages in parts like Gemini CLI's.
//!
//! Seen in sessions of the released program: prompts, thoughts, calls, results, tokens, hook payloads, taking up again.
//! Known from its source alone: rewinding, compression, notifications, transcripts of sub-agents.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json_borrow::Value;

use super::branches::{self, Node};
use super::claude::records;
use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, at, field, number, string, text};
use super::{
    Agent, FoundTranscript, Parser, Payload, Recognition, Recorded, Restoration, RestoredContent, place, tool,
};
use crate::error::Result;
use crate::outside;
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

/// Qwen Code.
pub struct Qwen;

const SHELL: Option<&str> = Some("run_shell_command");

const HANDLERS: &[Handler] = &[
    Handler { event: "SessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "UserPromptSubmit", matcher: None, timeout_secs: 10 },
    Handler { event: "PostToolUse", matcher: SHELL, timeout_secs: 30 },
    Handler { event: "PostToolUseFailure", matcher: SHELL, timeout_secs: 30 },
    Handler { event: "Stop", matcher: None, timeout_secs: 30 },
    Handler { event: "SubagentStop", matcher: None, timeout_secs: 30 },
    Handler { event: "PreCompact", matcher: None, timeout_secs: 10 },
    Handler { event: "SessionEnd", matcher: None, timeout_secs: 10 },
];

/// Where the contents of files begin that a prompt mentions.
const MENTIONED_FILES: &str = "--- Content from referenced files ---";

/// The instruction files that it reads, unless its settings name others.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::path(OWN_FILES)];
const OWN_FILES: &[&str] = &["QWEN.md", "AGENTS.md"];

impl Agent for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn title(&self) -> &'static str {
        "Qwen Code"
    }

    fn is_installed(&self) -> bool {
        root().is_some_and(|root| root.is_dir()) || place::has_program("qwen")
    }

    fn instructions(&self) -> Option<Instructions> {
        Some(Instructions {
            repo: INSTRUCTIONS,
            home: HomeFolder::all(place::root("QWEN_HOME", ".qwen"), ".qwen", OWN_FILES),
            has_imports: true,
        })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(parse)
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        records::session_id(transcript)
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        let projects = root().filter(|_| outside::is_plain_id(session_id))?.join("projects");
        let file = format!("chats/{session_id}.jsonl");
        let expected = projects.join(encode(directory)).join(&file);
        let others = || place::entries(&projects).into_iter().map(|folder| folder.join(&file));
        std::iter::once(expected).chain(others()).find(|path| path.is_file())
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(root) = root() else { return Vec::new() };
        // The folder's name is that of a directory; the records tell directories apart that differ in punctuation alone.
        let is_from_here =
            |path: &Path| records::first_string(path, "cwd").is_none_or(|cwd| place::is_below(&cwd, directory));
        let here = encode(directory);
        let is_near = |folder: &PathBuf| {
            let rest = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(&here));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let folders = place::entries(&root.join("projects")).into_iter().filter(is_near);
        let recent = folders.flat_map(|folder| place::recent_sessions(&folder.join("chats"), "jsonl", seconds));
        recent.filter(|found| is_from_here(&found.transcript)).collect()
    }

    fn sub_agents(&self, transcript: &Path) -> Vec<FoundTranscript> {
        let session_id = transcript.file_stem().and_then(|stem| stem.to_str());
        let project = transcript.parent().and_then(Path::parent);
        let (Some(session_id), Some(project)) = (session_id, project) else { return Vec::new() };
        let mut found = place::sessions_named(&project.join("subagents").join(session_id), "agent-", "jsonl");
        for sub_agent in &mut found {
            sub_agent.session_id = format!("{session_id}.{}", sub_agent.session_id.trim_start_matches("agent-"));
        }
        found
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let Recorded { session_id, transcript, sub_agents } = session;
        let Some(root) = root() else { return Ok(None) };
        let project = root.join("projects").join(encode(directory));
        // It refuses a session whose records say that they are from elsewhere.
        let moved = |text: &[u8]| RestoredContent::Transcript(records::moved(text, directory));
        let mut files = vec![(project.join(format!("chats/{session_id}.jsonl")), moved(transcript))];
        for (id, text) in sub_agents {
            files.push((project.join(format!("subagents/{session_id}/agent-{id}.jsonl")), moved(text)));
        }
        let words = ["qwen", "--resume", session_id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some(["qwen", "-i", prompt].map(str::to_owned).to_vec())
    }

    fn variables(&self) -> &'static [&'static str] {
        &["QWEN_CODE"]
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames { shells: &["run_shell_command"], ..tool::NONE }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        payload.has_transcript_in("/.qwen/projects/").then_some(Recognition::Place)
    }

    fn user_directory(&self) -> Option<PathBuf> {
        // Another directory of its own need not be called '.qwen'.
        place::home().filter(|_| place::variable("QWEN_HOME").is_none())
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HookFile {
            path: ".qwen/settings.json",
            form: HookForm::Json(Layout { is_millis: Some(true), is_named: true, ..Layout::GROUPS }),
            handlers: HANDLERS,
            remark: Some("Qwen Code runs a project's hooks only in a folder that it trusts"),
        }]
    }
}

fn root() -> Option<PathBuf> {
    place::variable("QWEN_RUNTIME_DIR").or_else(|| place::root("QWEN_HOME", ".qwen"))
}

/// Returns the name of the folder of the sessions that ran in a directory.
fn encode(directory: &Path) -> String {
    let plain = |unit: u16| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from);
    place::resolved(directory).to_string_lossy().encode_utf16().map(plain).collect()
}

fn parse(lines: &[u8]) -> Vec<Message> {
    let mut nodes = Vec::new();
    for (span, line) in json::lines(lines) {
        nodes.extend(json::read_line(line, |record| node(record, span)));
    }
    branches::messages(nodes)
}

fn node(record: &Value<'_>, span: Range<usize>) -> Option<Node> {
    let mut message = Message::new(Role::System, span);
    json::set_time(&mut message, record, "timestamp");
    let subtype = text(record, "subtype");
    let parts = at(record, &["message", "parts"]).and_then(Value::as_array).unwrap_or_default();
    match text(record, "type")? {
        // A timer or a message of the program itself comes in as if it were typed.
        "user" if subtype.is_some() => message.parts.extend(typed(parts).map(Part::Notice)),
        "user" => {
            message.role = Role::User;
            message.parts.extend(typed(parts).map(Part::Text));
            message.parts.extend(parts.iter().filter_map(attachment));
        }
        "assistant" => {
            message.role = Role::Assistant;
            message.model = string(record, "model");
            message.parts.extend(parts.iter().filter_map(said));
            message.usage = field(record, "usageMetadata").map(usage);
        }
        "tool_result" => {
            message.role = Role::User;
            message.parts.extend(parts.iter().filter_map(|part| result(part, record)));
        }
        "system" if subtype == Some("chat_compression") => {
            message.parts.push(Part::Notice("conversation compacted".into()));
        }
        "system" => {}
        _ => return None,
    }
    let (record_id, parent_id) = (string(record, "uuid"), string(record, "parentUuid"));
    Some(Node { message, record_id, parent_id, is_rewind: subtype == Some("rewind") })
}

/// Returns the typed part of a prompt, without the contents of mentioned files that follow it.
fn typed(parts: &[Value<'_>]) -> Option<String> {
    let texts = parts.iter().filter_map(|part| text(part, "text"));
    let typed: Vec<&str> = texts.take_while(|text| !text.trim_start().starts_with(MENTIONED_FILES)).collect();
    Some(typed.join("\n").trim().to_owned()).filter(|typed| !typed.is_empty())
}

fn attachment(part: &Value<'_>) -> Option<Part> {
    let data = field(part, "inlineData").or_else(|| field(part, "fileData"))?;
    Some(Part::Attachment(json::attachment(text(data, "mimeType").unwrap_or("file"), data)))
}

fn said(part: &Value<'_>) -> Option<Part> {
    if let Some(call) = field(part, "functionCall") {
        let input = field(call, "args").map(Into::into).unwrap_or_default();
        let name = text(call, "name").unwrap_or_default();
        return Some(Part::ToolCall(tool::call(string(call, "id").unwrap_or_default(), name, input)));
    }
    let words = string(part, "text").filter(|words| !words.trim().is_empty())?;
    Some(if json::flag(part, "thought") { Part::Thinking(words) } else { Part::Text(words) })
}

fn result(part: &Value<'_>, record: &Value<'_>) -> Option<Part> {
    let response = field(part, "functionResponse")?;
    let answer = field(response, "response")?;
    let texts = ["output", "error"].iter().filter_map(|key| text(answer, key));
    let status = at(record, &["toolCallResult", "status"]).and_then(Value::as_str);
    Some(Part::ToolResult(ToolResult::new(
        string(response, "id").unwrap_or_default(),
        texts.collect::<Vec<_>>().join("\n"),
        matches!(status, Some("error" | "cancelled")) || field(answer, "error").is_some(),
    )))
}

/// Returns the tokens of an answer. Of some models `candidatesTokenCount` has the thoughts in it and of others not: the
/// total always has.
fn usage(usage: &Value<'_>) -> Tokens {
    let (prompt, cached) = (number(usage, "promptTokenCount"), number(usage, "cachedContentTokenCount"));
    let output = number(usage, "candidatesTokenCount").max(number(usage, "totalTokenCount").saturating_sub(prompt));
    Tokens { input: prompt.saturating_sub(cached), output, cache_read: cached, ..Tokens::default() }
}
