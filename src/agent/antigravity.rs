//! Antigravity: the steps of a conversation, one JSON object a line.
//!
//! No data of a real session was seen: steps are as in data written after one good description, hooks and their payloads
//! as others measured them with releases 1.0.5 to 1.1.26, which differ in the events that they run. What it needs to go
//! on with a conversation is in a database of its own, which is not recorded.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde_json_borrow::Value;

use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, field, list, string, text};
use super::place;
use super::{Agent, FoundTranscript, Parser, Payload, Recognition, Recorded, Restoration, payload, prompt, tool};
use crate::error::{Error, Kind, Result};
use crate::outside;
use crate::transcript::{Message, Part, Role, ToolResult};

/// Antigravity.
pub struct Antigravity;

const HANDLERS: &[Handler] = &[
    Handler { event: "SessionStart", matcher: None, timeout_secs: 10 },
    // The first releases run hooks for nothing but tools: then the first tool tells that there is a session.
    Handler { event: "PostToolUse", matcher: Some("*"), timeout_secs: 30 },
    Handler { event: "Stop", matcher: None, timeout_secs: 30 },
];

const REQUEST: &str = "USER_REQUEST";
/// The tags of text that Antigravity adds to a prompt.
const NOISE: &[&str] = &["ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE"];
/// How it tells that another model was chosen.
const MODEL: &str = "`Model Selection` from ";

/// The files of a conversation, below its folder; only the first has all texts in full.
const LOGS: &[&str] = &["transcript_full.jsonl", "transcript.jsonl"];

/// The instruction files that it reads. Rules that are for some paths count whether or not they were needed.
const INSTRUCTIONS: &[FilePatterns] =
    &[FilePatterns::top(&["AGENTS.md", "GEMINI.md", ".agents/rules/**/*.md", ".agent/rules/**/*.md"])];

impl Agent for Antigravity {
    fn name(&self) -> &'static str {
        "antigravity"
    }

    fn title(&self) -> &'static str {
        "Antigravity"
    }

    fn is_installed(&self) -> bool {
        root().is_some_and(|root| root.is_dir()) || place::has_program("agy")
    }

    fn instructions(&self) -> Option<Instructions> {
        let home = HomeFolder::all(place::home().map(|home| home.join(".gemini")), ".gemini", &["GEMINI.md"]);
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: false })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(Steps::default())
    }

    fn session_id(&self, _: &[u8]) -> Option<String> {
        None
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let folder = root().filter(|_| outside::is_plain_id(session_id))?.join("brain").join(session_id);
        log_of(&folder)
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(root) = root() else { return Vec::new() };
        let is_here = |path: &PathBuf| {
            let ran = |record: &Value<'_>| list(record, "tool_calls").iter().find_map(directory_of);
            json::find_in_file(path, ran).is_some_and(|cwd| place::is_below(&cwd, directory))
        };
        let found = |folder: PathBuf| {
            let session_id = folder.file_name()?.to_str().filter(|id| outside::is_plain_id(id))?.to_owned();
            let transcript = log_of(&folder).filter(|path| place::is_written_since(path, seconds)).filter(is_here)?;
            Some(FoundTranscript { session_id, transcript })
        };
        place::entries(&root.join("brain")).into_iter().filter_map(found).collect()
    }

    fn restoration(&self, _: Recorded<'_>, _: &Path) -> Result<Option<Restoration>> {
        Err(Error::new(Kind::Unsupported, "Antigravity goes on only from a database of its own, which is not recorded")
            .hint("'git shiftlog show' prints what was said; give that to a new conversation"))
    }

    fn payload_keys(&self) -> &'static payload::Keys {
        &payload::Keys {
            session: &["conversationId"],
            input: &["args"],
            directory: &["Cwd"],
            roots: &["workspacePaths"],
            envelopes: &["toolCall"],
            ..payload::NONE
        }
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames {
            editors: &["replace_file_content", "multi_replace_file_content"],
            command: &["CommandLine"],
            path: &["TargetFile"],
            old: &["TargetContent"],
            new: &["CodeContent", "ReplacementContent"],
            changes: &["ReplacementChunks"],
            ..tool::NONE
        }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        payload.has_transcript_in("/.gemini/antigravity").then_some(Recognition::Place)
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HookFile {
            path: ".agents/hooks.json",
            form: HookForm::Json(Layout { member: Some("shiftlog"), groups_tools_only: true, ..Layout::GROUPS }),
            handlers: HANDLERS,
            remark: Some(
                "some releases of Antigravity run no hooks of a project; commits are then found by what it edited",
            ),
        }]
    }
}

fn root() -> Option<PathBuf> {
    Some(place::home()?.join(".gemini/antigravity-cli"))
}

/// Returns the transcript in the folder of a conversation.
fn log_of(folder: &Path) -> Option<PathBuf> {
    let logs = folder.join(".system_generated/logs");
    LOGS.iter().map(|name| logs.join(name)).find(|path| path.is_file())
}

/// Returns the directory that a tool call ran in.
fn directory_of(call: &Value<'_>) -> Option<String> {
    let args: serde_json::Value = field(call, "args")?.into();
    plainly(args).get("Cwd")?.as_str().map(str::to_owned)
}

/// Returns the arguments of a call. In the shorter transcript each of them is JSON in a string.
fn plainly(args: serde_json::Value) -> serde_json::Value {
    let serde_json::Value::Object(mut args) = args else { return args };
    let inner = |value: &serde_json::Value| serde_json::from_str::<serde_json::Value>(value.as_str()?).ok();
    let inners: Vec<Option<serde_json::Value>> = args.values().map(inner).collect();
    if inners.iter().all(Option::is_some) {
        args.values_mut().zip(inners.into_iter().flatten()).for_each(|(value, inner)| *value = inner);
    }
    args.into()
}

/// The state of parsing a conversation.
#[derive(Default)]
struct Steps {
    model: Option<String>,
    /// The calls that have no answer yet: their ids and the tools' names.
    open: VecDeque<(String, String)>,
}

impl Parser for Steps {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        for (span, line) in json::lines(lines) {
            messages.extend(json::read_line(line, |step| {
                let mut message = Message::new(Role::System, span);
                json::set_time(&mut message, step, "created_at");
                self.read(step, &mut message)?;
                Some(message)
            }));
        }
        messages
    }
}

impl Steps {
    fn read(&mut self, step: &Value<'_>, message: &mut Message) -> Option<()> {
        let content = text(step, "content").unwrap_or_default();
        match (text(step, "source")?, text(step, "type")?) {
            (_, "USER_INPUT") => {
                self.model = chosen_model(content).or_else(|| self.model.take());
                message.role = Role::User;
                let typed = prompt::inside(content, REQUEST).map(str::to_owned);
                let typed = typed.unwrap_or_else(|| prompt::without(content, NOISE));
                message.parts.extend(Some(typed).filter(|typed| !typed.is_empty()).map(Part::Text));
            }
            (_, "PLANNER_RESPONSE") => self.read_answer(step, content, message),
            ("MODEL", kind) => {
                let is_of = |(_, name): &(String, String)| name.eq_ignore_ascii_case(kind);
                let position = self.open.iter().position(is_of).unwrap_or(0);
                // In an increment the call can be in the one before.
                let (call_id, _) = self.open.remove(position).unwrap_or_default();
                let is_error = text(step, "status").is_some_and(|status| status.eq_ignore_ascii_case("error"));
                let text = content.to_owned();
                message.role = Role::User;
                message.parts.push(Part::ToolResult(ToolResult::new(call_id, text, is_error)));
            }
            _ => return None,
        }
        (!message.parts.is_empty()).then_some(())
    }

    fn read_answer(&mut self, step: &Value<'_>, content: &str, message: &mut Message) {
        message.role = Role::Assistant;
        message.model.clone_from(&self.model);
        message.parts.extend(string(step, "thinking").filter(|text| !text.is_empty()).map(Part::Thinking));
        message.parts.extend(Some(content.to_owned()).filter(|text| !text.trim().is_empty()).map(Part::Text));
        // What was not answered by now never will be.
        self.open.clear();
        for (number, call) in list(step, "tool_calls").iter().enumerate() {
            let call_id = format!("{}.{number}", json::number(step, "step_index"));
            let name = text(call, "name").unwrap_or_default();
            let args = field(call, "args").map(Into::into).unwrap_or_default();
            message.parts.push(Part::ToolCall(tool::call(&*call_id, name, plainly(args))));
            self.open.push_back((call_id, name.to_owned()));
        }
    }
}

/// Returns the model that a prompt says was chosen.
fn chosen_model(content: &str) -> Option<String> {
    let (_, change) = content.split_once(MODEL)?;
    let (_, model) = change.lines().next()?.split_once(" to ")?;
    let model = model.split(". ").next().unwrap_or(model).trim_end_matches('.');
    (!model.is_empty()).then(|| model.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_json_in_strings_are_read() {
        let step = r#"{"source":"MODEL","type":"PLANNER_RESPONSE","step_index":2,"tool_calls":[{"name":"run_command","args":{"CommandLine":"\"git commit\"","Cwd":"\"/repo\"","WaitMsBeforeAsync":"5000"}}]}"#;
        let messages = Antigravity.parse(step.as_bytes());
        let Some(Part::ToolCall(call)) = messages.first().and_then(|message| message.parts.first()) else {
            panic!("there is a call: {messages:?}");
        };
        assert_eq!(call.command.as_deref(), Some("git commit"));
    }

    #[test]
    fn the_model_is_what_was_chosen_last() {
        let change = "changed setting `Model Selection` from None to Gemini 3.5 Flash (High). No need to mention it.";
        assert_eq!(chosen_model(change).as_deref(), Some("Gemini 3.5 Flash (High)"));
        assert_eq!(chosen_model("change the model"), None);
    }
}
