//! Pi: a tree of entries, one JSON object a line; the last one is where the conversation stands.
//!
//! Messages, tool calls and other entries were seen in data of real sessions; branches, usage and a commit only in
//! written data. The extension's events and where sessions are kept are from reference alone.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json_borrow::Value;

use super::hooks::{Commands, HookFile, HookForm};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, at, field, flag, list, number, string, text};
use super::place;
use super::{
    Agent, FoundTranscript, Parser, Permission, Recorded, Restoration, RestoredContent, Wording, permission, tool,
};
use crate::error::Result;
use crate::git::private;
use crate::outside;
use crate::transcript::{Message, Part, Role, Tokens, ToolResult};

/// Pi.
pub struct Pi;

/// The instruction files that it reads: one of each directory.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::path(OWN_FILES).first()];
const OWN_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md"];

impl Agent for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn title(&self) -> &'static str {
        "Pi"
    }

    fn is_installed(&self) -> bool {
        place::root("PI_CODING_AGENT_DIR", ".pi/agent").is_some_and(|root| root.is_dir()) || place::has_program("pi")
    }

    fn instructions(&self) -> Option<Instructions> {
        let home = HomeFolder::first(place::root("PI_CODING_AGENT_DIR", ".pi/agent"), ".pi/agent", OWN_FILES);
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: false })
    }

    fn instructions_above(&self) -> Option<FilePatterns> {
        Some(FilePatterns::path(OWN_FILES).first())
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(parse)
    }

    fn wording(&self, _: &[u8]) -> Wording {
        Wording::InLines
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        let first = transcript.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        json::read_line(first, |record| string(header(record)?, "id"))
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        let sessions = sessions().filter(|_| outside::is_plain_id(session_id))?;
        let is_it = |path: &PathBuf| id_of(path).as_deref() == Some(session_id);
        let in_folder = |folder: PathBuf| place::entries(&folder).into_iter().rfind(is_it);
        folders(&sessions, directory).into_iter().find_map(in_folder).or_else(|| {
            // It may have run elsewhere.
            place::entries(&sessions).into_iter().find_map(in_folder)
        })
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(sessions) = sessions() else { return Vec::new() };
        let recent = |folder: PathBuf| place::recent_entries(&folder, seconds, |name| id_of(name).is_some());
        let paths = folders(&sessions, directory).into_iter().flat_map(recent);
        let is_here = |path: &PathBuf| {
            let cwd = json::find_in_file(path, |record| string(header(record)?, "cwd"));
            cwd.is_some_and(|cwd| place::is_below(&cwd, directory))
        };
        let found = |path: PathBuf| Some(FoundTranscript { session_id: id_of(&path)?, transcript: path });
        paths.filter(is_here).filter_map(found).collect()
    }

    fn repeated_bytes(&self, transcript: &Path, deadline: Instant) -> Option<u64> {
        repeated_bytes(BufReader::new(private::open(transcript).ok()?), deadline)
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let Recorded { session_id, transcript, .. } = session;
        let Some(sessions) = sessions() else { return Ok(None) };
        let head = json::find(transcript, |record| {
            let head = header(record)?;
            Some((string(head, "timestamp")?, string(head, "cwd").unwrap_or_default()))
        });
        let Some((begun, cwd)) = head else { return Ok(None) };
        let Ok(begun) = begun.parse::<jiff::Timestamp>() else { return Ok(None) };
        let begun = begun.strftime("%Y-%m-%dT%H-%M-%S-%3fZ");
        let name = format!("{begun}_{session_id}.jsonl");
        let known =
            self.transcript(session_id, directory).filter(|path| Path::new(&cwd) == directory && path.is_file());
        let path = known.unwrap_or_else(|| sessions.join(folder_name(directory)).join(name));
        let Some(shown) = path.to_str().map(str::to_owned) else { return Ok(None) };
        let files = vec![(path, RestoredContent::Transcript(moved(transcript, &cwd, directory)))];
        let words = vec!["pi".to_owned(), "--session".to_owned(), shown];
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn permission(&self, worktree: &Path) -> Permission {
        let Some(path) = place::root("PI_CODING_AGENT_DIR", ".pi/agent").map(|root| root.join("trust.json")) else {
            return Permission::NotNeeded;
        };
        let folders = permission::read(&path).and_then(|folders| folders.as_object().cloned()).unwrap_or_default();
        match permission::nearest(&folders, worktree).map(|(_, trust)| trust.as_bool()) {
            Some(Some(true)) => Permission::Given(format!("by '{}'", path.display())),
            Some(Some(false)) => Permission::Missing {
                what: "it does not trust this project".into(),
                fix: "start 'pi' here and type '/trust'".into(),
            },
            _ => Permission::Unknown(
                "from release 0.79 on it runs extensions in trusted projects alone: '--approve', or '/trust' in 'pi'"
                    .into(),
            ),
        }
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HookFile {
            path: ".pi/extensions/shiftlog.ts",
            form: HookForm::Own(extension, false),
            handlers: &[],
            remark: None,
        }]
    }
}

/// Returns the directory with the sessions of all projects, or with the sessions themselves.
fn sessions() -> Option<PathBuf> {
    let below = || Some(place::root("PI_CODING_AGENT_DIR", ".pi/agent")?.join("sessions"));
    place::variable("PI_CODING_AGENT_SESSION_DIR").or_else(below)
}

/// Returns the folders that can hold sessions of a directory or of one below it.
fn folders(sessions: &Path, directory: &Path) -> Vec<PathBuf> {
    let name = folder_name(&place::resolved(directory));
    let start = name.trim_end_matches('-').trim_start_matches('-').to_owned();
    let is_wanted = |folder: &PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.trim_start_matches('-').starts_with(&start)
    };
    let below = place::entries(sessions).into_iter().filter(is_wanted);
    std::iter::once(sessions.to_owned()).chain(below).collect()
}

fn folder_name(directory: &Path) -> String {
    let path = directory.to_string_lossy();
    let path = path.strip_prefix(['/', '\\']).unwrap_or(&path);
    format!("--{}--", path.replace(['/', '\\', ':'], "-"))
}

/// Returns the session that a file's name tells: `<time>_<id>.jsonl`.
fn id_of(path: &Path) -> Option<String> {
    let (_, id) = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.split_once('_')?;
    outside::is_plain_id(id).then(|| id.to_owned())
}

fn header<'v>(record: &'v Value<'v>) -> Option<&'v Value<'v>> {
    (text(record, "type") == Some("session")).then_some(record)
}

/// Returns the length of what a transcript repeats of the session that its first record names as the one that it was forked
/// from: the entries that are older than that record. `None` if it repeats nothing.
fn repeated_bytes(mut transcript: impl BufRead, deadline: Instant) -> Option<u64> {
    let (mut begun, mut at, mut end) = (None, 0, None);
    let mut line = Vec::new();
    while Instant::now() < deadline {
        line.clear();
        match transcript.read_until(b'\n', &mut line).ok()? {
            0 => return end,
            length => at += length as u64,
        }
        let time = |record: &Value<'_>| text(record, "timestamp")?.parse::<jiff::Timestamp>().ok();
        match begun {
            None => {
                let first =
                    |record: &Value<'_>| time(header(record)?).filter(|_| text(record, "parentSession").is_some());
                begun = Some(json::read_line(&line, first)?);
            }
            Some(begun) if json::read_line(&line, time).is_some_and(|time| time < begun) => end = Some(at),
            Some(_) => return end,
        }
    }
    None
}

/// Returns a transcript as if it had been made in `directory`: its first record says where.
fn moved(transcript: &[u8], cwd: &str, directory: &Path) -> Vec<u8> {
    let end = transcript.iter().position(|byte| *byte == b'\n').unwrap_or(transcript.len());
    let quoted = |text: &str| format!("\"cwd\":{}", serde_json::Value::from(text));
    let (old, new) = (quoted(cwd), quoted(&directory.to_string_lossy()));
    let head = bstr::ByteSlice::replacen(&transcript[..end], old, new, 1);
    [&head, &transcript[end..]].concat()
}

/// Returns the extension that tells our program what happens.
fn extension(commands: &Commands<'_>) -> String {
    let program = serde_json::Value::from(commands.program);
    format!(
        r#"// Made by 'git shiftlog init', removed by 'git shiftlog deinit': tells git-shiftlog which session makes a commit.
import {{ spawn }} from "node:child_process";
import {{ basename }} from "node:path";

const program = {program};

// Whatever goes wrong here is nobody's trouble but git-shiftlog's.
function tell(event, ctx, more) {{
  return new Promise((done) => {{
    try {{
      const file = ctx.sessionManager.getSessionFile();
      if (!file) return done();
      const id = basename(file, ".jsonl").replace(/^[^_]*_/, "");
      const payload = {{ hook_event_name: event, session_id: id, transcript_path: file, cwd: ctx.cwd, ...more }};
      const options = {{ cwd: ctx.cwd, stdio: ["pipe", "ignore", "ignore"], timeout: 30000 }};
      const child = spawn(program, ["pi", event], options);
      child.on("error", () => done());
      child.on("close", () => done());
      child.stdin.on("error", () => {{}});
      child.stdin.end(JSON.stringify(payload));
    }} catch {{
      done();
    }}
  }});
}}

export default function (pi) {{
  pi.on("session_start", (_, ctx) => tell("SessionStart", ctx));
  pi.on("agent_start", (_, ctx) => tell("UserPromptSubmit", ctx));
  pi.on("tool_result", (event, ctx) => {{
    if (event.toolName !== "bash") return;
    const {{ toolName: tool_name, toolCallId: tool_use_id, input: tool_input, content: tool_response }} = event;
    return tell("PostToolUse", ctx, {{ tool_name, tool_use_id, tool_input, tool_response }});
  }});
  pi.on("agent_end", (_, ctx) => tell("Stop", ctx));
  pi.on("session_shutdown", (_, ctx) => tell("SessionEnd", ctx));
}}
"#
    )
}

/// A record with its place in the tree; not all of them say something.
struct Node {
    id: Option<String>,
    parent_id: Option<String>,
    message: Option<Message>,
}

fn parse(transcript: &[u8]) -> Vec<Message> {
    let mut nodes = Vec::new();
    for (span, line) in json::lines(transcript) {
        nodes.extend(json::read_line(line, |record| {
            let mut message = Message::new(Role::System, span);
            json::set_time(&mut message, record, "timestamp");
            read(record, &mut message);
            let message = (!message.parts.is_empty()).then_some(message);
            Some(Node { id: string(record, "id"), parent_id: string(record, "parentId"), message })
        }));
    }
    mark_abandoned(&mut nodes);
    nodes.into_iter().filter_map(|node| node.message).collect()
}

/// Marks entries that are not ancestors of the last one as abandoned. Entries about the session itself may have any parent.
fn mark_abandoned(nodes: &mut [Node]) {
    let places: HashMap<String, usize> =
        nodes.iter().enumerate().filter_map(|(place, node)| Some((node.id.clone()?, place))).collect();
    let Some(mut place) = nodes.iter().rposition(|node| node.message.is_some()) else { return };
    let mut followed = vec![false; nodes.len()];
    while !std::mem::replace(&mut followed[place], true) {
        let parent = nodes[place].parent_id.as_ref().and_then(|id| places.get(id));
        match parent {
            Some(parent) => place = *parent,
            None => break,
        }
    }
    // Before there were trees, entries had no parents.
    let is_in_tree = |node: &Node| node.id.is_some() && node.parent_id.is_some();
    let is_tree = nodes.iter().any(is_in_tree);
    for (node, is_followed) in nodes.iter_mut().zip(followed) {
        let is_words = |part: &Part| !matches!(part, Part::Notice(_));
        if let Some(message) = node.message.as_mut().filter(|message| message.parts.iter().any(is_words)) {
            message.is_abandoned = is_tree && !is_followed;
        }
    }
}

fn read(record: &Value<'_>, message: &mut Message) {
    match text(record, "type").unwrap_or_default() {
        "message" => {
            if let Some(inner) = field(record, "message") {
                read_message(inner, message);
                message.answer_id = string(record, "id").filter(|_| message.usage.is_some());
            }
        }
        "compaction" | "compactionSummary" => message.parts.push(Part::Notice("conversation compacted".into())),
        _ => {}
    }
}

fn read_message(inner: &Value<'_>, message: &mut Message) {
    match text(inner, "role").unwrap_or_default() {
        "user" => {
            message.role = Role::User;
            message.parts = parts(inner);
        }
        "assistant" => {
            message.role = Role::Assistant;
            message.model = string(inner, "model");
            message.usage = field(inner, "usage").map(usage);
            message.parts = parts(inner);
            message.parts.extend(string(inner, "errorMessage").map(Part::Notice));
        }
        "toolResult" => {
            let call_id = string(inner, "toolCallId").unwrap_or_default();
            let (text, is_error) = (json::content(inner), flag(inner, "isError"));
            message.role = Role::User;
            message.parts.push(Part::ToolResult(ToolResult::new(call_id, text, is_error)));
        }
        // What the person ran by hand, for the model to see.
        "bashExecution" => {
            let call_id = format!("typed-{}", message.span.start);
            let is_error = at(inner, &["exitCode"]).and_then(Value::as_i64).unwrap_or(0) != 0;
            let text = string(inner, "output").unwrap_or_default();
            message.role = Role::User;
            message.parts.push(Part::ToolCall(tool::call(&*call_id, "bash", inner.into())));
            message.parts.push(Part::ToolResult(ToolResult::new(call_id, text, is_error)));
        }
        _ => {}
    }
}

fn parts(inner: &Value<'_>) -> Vec<Part> {
    if let Some(words) = string(inner, "content") {
        return Some(words).filter(|words| !words.trim().is_empty()).map(Part::Text).into_iter().collect();
    }
    let part = |part: &Value<'_>| {
        Some(match text(part, "type")? {
            "text" => Part::Text(string(part, "text").filter(|words| !words.trim().is_empty())?),
            "thinking" => Part::Thinking(string(part, "thinking").filter(|words| !words.is_empty())?),
            "image" => Part::Attachment(json::attachment(text(part, "mimeType").unwrap_or("image"), part)),
            "toolCall" => {
                let input = field(part, "arguments").map(Into::into).unwrap_or_default();
                Part::ToolCall(tool::call(
                    string(part, "id").unwrap_or_default(),
                    text(part, "name").unwrap_or_default(),
                    input,
                ))
            }
            _ => return None,
        })
    };
    list(inner, "content").iter().filter_map(part).collect()
}

fn usage(usage: &Value<'_>) -> Tokens {
    Tokens {
        input: number(usage, "input"),
        output: number(usage, "output"),
        cache_read: number(usage, "cacheRead"),
        cache_write: number(usage, "cacheWrite"),
        told_cost: field(usage, "cost").and_then(|cost| json::dollars(cost, "total")),
        ..Tokens::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_in_folders_called_by_their_directory() {
        assert_eq!(folder_name(Path::new("/home/dev/demo-app")), "--home-dev-demo-app--");
        assert_eq!(id_of(Path::new("/x/2026-03-31T10-10-00-000Z_0196-a.jsonl")).as_deref(), Some("0196-a"));
        assert_eq!(id_of(Path::new("/x/2026_../../x.jsonl")), None);
    }

    #[test]
    fn only_the_first_record_is_moved() {
        let text = b"{\"type\":\"session\",\"cwd\":\"/a\"}\n{\"cwd\":\"/a\"}\n";
        let expected = b"{\"type\":\"session\",\"cwd\":\"/b\"}\n{\"cwd\":\"/a\"}\n";
        assert_eq!(moved(text, "/a", Path::new("/b")), expected);
    }
}
