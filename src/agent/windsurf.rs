//! Windsurf (Devin Desktop): the steps of Cascade, one JSON object a line, without times or ids.
//!
//! Steps were seen in data of a real session; hooks' payloads only in data written after the vendor's pages. The file is
//! rewritten only at the end of a response, and a commit is recorded with that response. If one response makes several
//! commits, the last of them gets the conversation.

use std::path::{Path, PathBuf};

use serde_json_borrow::Value;

use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, field, flag, string, text};
use super::place;
use super::{Agent, Event, FoundTranscript, Parser, Payload, Recognition, payload, tool};
use crate::outside;
use crate::transcript::{Message, Part, Role, ToolResult};

/// Windsurf.
pub struct Windsurf;

const HANDLERS: &[Handler] = &[
    Handler { event: "pre_user_prompt", matcher: None, timeout_secs: 0 },
    Handler { event: "post_run_command", matcher: None, timeout_secs: 0 },
    Handler { event: "post_cascade_response_with_transcript", matcher: None, timeout_secs: 0 },
];

/// The members of a step that hold a tool's result, not its input.
const ANSWERS: &[&str] = &["output", "content", "exit_code"];
/// The members of a step that name a path.
const PLACES: &[&str] = &["cwd", "path", "search_directory", "search_path"];

/// The instruction files that it reads. Rules that are for some paths count whether or not they were needed.
const INSTRUCTIONS: &[FilePatterns] =
    &[FilePatterns::edited(&["AGENTS.md", ".windsurf/rules/**/*.md"]), FilePatterns::top(&[".windsurfrules"])];

impl Agent for Windsurf {
    fn name(&self) -> &'static str {
        "windsurf"
    }

    fn title(&self) -> &'static str {
        "Windsurf"
    }

    fn is_installed(&self) -> bool {
        let is_there = |home: PathBuf| home.join(".codeium/windsurf").is_dir() || home.join(".windsurf").is_dir();
        place::home().is_some_and(is_there) || place::has_program("windsurf")
    }

    fn instructions(&self) -> Option<Instructions> {
        let name = ".codeium/windsurf/memories";
        let home = HomeFolder::all(place::home().map(|home| home.join(name)), name, &["global_rules.md"]);
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: false })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Steps::default())
    }

    fn session_id(&self, _: &[u8]) -> Option<String> {
        None
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let path = folder().filter(|_| outside::is_plain_id(session_id))?.join(format!("{session_id}.jsonl"));
        path.is_file().then_some(path)
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(folder) = folder() else { return Vec::new() };
        let is_here = |path: &Path| {
            let place = |step: &Value<'_>| {
                let inner = field(step, text(step, "type")?)?;
                PLACES.iter().find_map(|key| text(inner, key)).map(place::path_or_uri)
            };
            json::find_in_file(path, place).is_some_and(|place| place::is_below(&place, directory))
        };
        let mut found = place::recent_sessions(&folder, "jsonl", seconds);
        found.retain(|found| outside::is_plain_id(&found.session_id) && is_here(&found.transcript));
        found
    }

    fn events(&self) -> &'static [(&'static str, Event)] {
        &[("post_run_command", Event::AfterTool), ("post_write_code", Event::AfterTool)]
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys {
            session: &["trajectory_id"],
            transcript: &["tool_info.transcript_path"],
            event: &["agent_action_name"],
            model: &["model_name"],
            input: &["tool_info"],
            ..payload::NONE
        }
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames { editors: &["write_code", "code_action"], command: &["command_line"], ..tool::NONE }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        match payload.has_transcript_in("/.windsurf/") {
            true => Some(Recognition::Place),
            false => payload.has("agent_action_name").then_some(Recognition::Manner),
        }
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        let layout = Layout { is_millis: None, ..Layout::FLAT };
        vec![HookFile { path: ".windsurf/hooks.json", form: HookForm::Json(layout), handlers: HANDLERS, remark: None }]
    }
}

fn folder() -> Option<PathBuf> {
    Some(place::home()?.join(".windsurf/transcripts"))
}

/// Counts the steps, so that each has an id.
#[derive(Default)]
struct Steps {
    count: usize,
}

impl Parser for Steps {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        for (span, line) in json::lines(lines) {
            self.count += 1;
            messages.extend(json::read_line(line, |step| {
                let mut message = Message::new(Role::Assistant, span);
                self.read(step, &mut message)?;
                (!message.parts.is_empty()).then_some(message)
            }));
        }
        messages
    }
}

impl Steps {
    fn read(&self, step: &Value<'_>, message: &mut Message) -> Option<()> {
        let kind = text(step, "type")?;
        // A record with neither belongs to another agent.
        let inner = field(step, kind).or_else(|| text(step, "status").map(|_| &Value::Null))?;
        let said = |key: &str| string(inner, key).filter(|words| !words.trim().is_empty()).map(Part::Text);
        match kind {
            "user_input" => {
                message.role = Role::User;
                message.parts.extend(said("user_response"));
            }
            "planner_response" => message.parts.extend(said("response")),
            kind => {
                let call_id = format!("step-{}", self.count);
                let mut input: serde_json::Value = inner.into();
                if let Some(input) = input.as_object_mut() {
                    input.retain(|key, _| !ANSWERS.contains(&key.as_str()));
                }
                message.parts.push(Part::ToolCall(tool::call(&*call_id, kind, input)));
                message.parts.extend(result(step, inner, call_id).map(Part::ToolResult));
            }
        }
        Some(())
    }
}

/// Returns the result of a tool, which is in the step of its call.
fn result(step: &Value<'_>, inner: &Value<'_>, call_id: String) -> Option<ToolResult> {
    let code = field(inner, "exit_code").and_then(Value::as_i64);
    let is_error = text(step, "status") == Some("error") || flag(inner, "user_rejected") || code.unwrap_or(0) != 0;
    let text = ["output", "content"].iter().find_map(|key| string(inner, key));
    let is_answered = text.is_some() || code.is_some() || is_error;
    is_answered.then(|| ToolResult::new(call_id, text.unwrap_or_default(), is_error))
}
