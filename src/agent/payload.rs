//! What an agent's hook gets on standard input, read as leniently as agents write it.

use std::path::PathBuf;

use serde_json::Value;

use super::tool;

/// A hook's payload: a JSON object whose keys differ in spelling from agent to agent.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    value: Value,
}

/// The keys for each meaning, in the order to try them; agents.md, section 1.1.
const SESSION: &[&str] = &[
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "thread-id",
    "trajectory_id",
    "taskId",
];
const TRANSCRIPT: &[&str] = &["transcript_path", "transcriptPath", "agent_transcript_path", "session_path"];
const EVENT: &[&str] = &["hook_event_name", "hookEventName", "hookName", "agent_action_name"];
const MODEL: &[&str] = &["model", "model_name", "model_id"];
const CALL: &[&str] = &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "callID"];
const INPUT: &[&str] = &["tool_input", "toolInput", "toolArgs", "parameters", "args", "tool_info"];
const DIRECTORY: &[&str] = &["cwd", "workdir", "dir_path", "directory", "Cwd"];
const RESPONSE: &[&str] = &[
    "tool_response",
    "toolResponse",
    "tool_result",
    "toolResult",
    "tool_output",
    "output",
    "result",
    "error",
    "error_message",
];
/// Objects that some agents put everything about a tool call into.
const ENVELOPES: &[&str] = &["postToolUse", "preToolUse", "toolCall"];

impl Payload {
    /// Reads a payload; bytes that are no JSON object give an empty one.
    ///
    /// Takes UTF-8 with or without a byte order mark, UTF-16 in both orders, and raw control characters in strings.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = decode(bytes);
        let value = serde_json::from_str(&text).or_else(|_| serde_json::from_str(&escape_controls(&text)));
        Payload { value: value.ok().filter(Value::is_object).unwrap_or_default() }
    }

    fn string(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.get(key)?.as_str()).filter(|text| !text.is_empty())
    }

    /// Returns a member, also where everything about a tool call is in an object of its own.
    fn get(&self, key: &str) -> Option<&Value> {
        let inside = || ENVELOPES.iter().find_map(|envelope| self.value.get(envelope)?.get(key));
        self.value.get(key).or_else(inside)
    }

    /// Returns the id of the session.
    pub fn session_id(&self) -> Option<&str> {
        self.string(SESSION)
    }

    /// Returns the path of the transcript; a leading `~` is expanded.
    pub fn transcript(&self) -> Option<PathBuf> {
        let inside = || self.value.get("tool_info")?.get("transcript_path")?.as_str();
        self.string(TRANSCRIPT).or_else(inside).filter(|path| !path.is_empty()).map(expand_home)
    }

    /// Returns the directory the agent works in.
    pub fn directory(&self) -> Option<PathBuf> {
        let roots = ["workspace_roots", "workspaceRoots", "workspacePaths"];
        let first_root = || roots.iter().find_map(|key| self.value.get(key)?.get(0)?.as_str());
        let of_tool = || DIRECTORY.iter().find_map(|key| self.input()?.get(key)?.as_str());
        let found = [self.string(&["cwd"]), of_tool(), first_root()];
        found.into_iter().flatten().find(|path| !path.is_empty()).map(without_slash).map(expand_home)
    }

    /// Returns the model that answers, if the payload tells it.
    pub fn model(&self) -> Option<&str> {
        self.string(MODEL).or_else(|| self.value.get("model")?.get("slug")?.as_str())
    }

    /// Returns the event's name, if the payload tells it.
    pub fn event(&self) -> Option<&str> {
        self.string(EVENT)
    }

    /// Returns the id of the tool call that just ended.
    pub fn call_id(&self) -> Option<&str> {
        self.string(CALL)
    }

    /// Returns the input of the tool that just ran.
    fn input(&self) -> Option<&Value> {
        INPUT.iter().find_map(|key| self.get(key))
    }

    /// Returns the command line that the tool ran, if the payload has one.
    fn command(&self) -> Option<String> {
        let at_top = || self.string(&["command", "cmd"]).map(str::to_owned);
        match self.input() {
            // Some agents give the input as JSON in a string.
            Some(Value::String(text)) => tool::command_line(&serde_json::from_str(text).unwrap_or_default()),
            Some(input) => tool::command_line(input),
            None => None,
        }
        .or_else(at_top)
    }

    /// Says whether the payload tells what the tool was called with.
    pub fn tells_input(&self) -> bool {
        self.input().is_some() || self.command().is_some()
    }

    /// Says whether the command that the tool ran may have made a commit, by its words.
    pub fn may_commit(&self) -> bool {
        const WORDS: &[&str] = &["commit", "merge", "rebase", "cherry-pick", "revert", "pull", "am"];
        self.command().is_some_and(|command| {
            command.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| WORDS.contains(&word))
        })
    }

    /// Returns the name of the agent whose way of writing payloads this is, if it is unmistakable.
    pub fn dialect(&self, declared: &str) -> Option<&'static str> {
        let path = self.string(TRANSCRIPT).unwrap_or_default().replace('\\', "/");
        let has = |key: &str| self.value.get(key).is_some();
        let is_in = |part: &str| path.contains(part);
        let result_has =
            |key: &str| ["tool_result", "toolResult"].iter().any(|name| self.value[name].get(key).is_some());
        // Claude Code always names the transcript; Copilot CLI runs its hooks, but tells a time instead.
        let is_without_transcript = || {
            declared == "claude"
                && has("hook_event_name")
                && has("session_id")
                && has("timestamp")
                && !has("transcript_path")
        };
        let is_vscode_call = || self.call_id().is_some_and(|id| id.contains("__vscode-"));
        let agents = [
            ("cursor", has("cursor_version") || is_in("/.cursor/")),
            ("vscode", is_in("GitHub.copilot-chat") || is_in("/workspaceStorage/") || is_vscode_call()),
            (
                "copilot",
                is_in("/.copilot/session-state/")
                    || result_has("result_type")
                    || result_has("resultType")
                    || has("toolArgs")
                    || is_without_transcript(),
            ),
            ("codex", is_in("/.codex/") || (has("turn_id") && has("model"))),
            ("droid", is_in("/.factory/")),
            ("antigravity", is_in("/.gemini/antigravity")),
            ("gemini", is_in("/.gemini/tmp/")),
            ("windsurf", is_in("/.windsurf/") || has("agent_action_name")),
            ("claude", is_in("/.claude/projects/")),
        ];
        agents.into_iter().find_map(|(name, is_it)| is_it.then_some(name))
    }

    /// Says whether what the tool answered mentions `word`.
    pub fn response_mentions(&self, word: &str) -> bool {
        RESPONSE.iter().filter_map(|key| self.get(key)).any(|response| mentions(response, word, 16))
    }
}

fn mentions(value: &Value, word: &str, depth: u32) -> bool {
    match value {
        Value::String(text) => text.contains(word),
        Value::Array(values) if depth > 0 => values.iter().any(|value| mentions(value, word, depth - 1)),
        Value::Object(map) if depth > 0 => map.values().any(|value| mentions(value, word, depth - 1)),
        _ => false,
    }
}

/// Takes the slash off a Windows path that was made of a URL: `/c:/Users`.
fn without_slash(path: &str) -> &str {
    match path.as_bytes() {
        [b'/', drive, b':', b'/', ..] if drive.is_ascii_alphabetic() => &path[1..],
        _ => path,
    }
}

fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// Returns bytes as text: UTF-8, or UTF-16 where a byte order mark or the zero byte beside the first `{` says so.
fn decode(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [first, 0, ..] if *first != 0 => utf16(bytes, u16::from_le_bytes),
        [0, second, ..] if *second != 0 => utf16(bytes, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Returns the text with control characters inside strings escaped, which strict JSON wants.
fn escape_controls(text: &str) -> String {
    use std::fmt::Write as _;
    let (mut escaped, mut is_string, mut is_escape) = (String::with_capacity(text.len()), false, false);
    for c in text.chars() {
        if is_string && c < ' ' {
            let _ = write!(escaped, "\\u{:04x}", c as u32);
            is_escape = false;
            continue;
        }
        match c {
            '"' if !is_escape => is_string = !is_string,
            _ => {}
        }
        is_escape = is_string && c == '\\' && !is_escape;
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_payload_is_read_in_every_encoding_agents_use() {
        let text = r#"{"session_id":"s1","cwd":"/дом","tool_response":{"stdout":["[main 4e1c2aa] x"]}}"#;
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let with_mark = [&[0xef, 0xbb, 0xbf], text.as_bytes()].concat();
        for bytes in [text.as_bytes(), &utf16, &with_mark] {
            let payload = Payload::parse(bytes);
            assert_eq!(payload.session_id(), Some("s1"));
            assert_eq!(payload.directory(), Some("/дом".into()));
            assert!(payload.response_mentions("4e1c2aa"));
        }
        assert_eq!(Payload::parse(b"{\"sessionId\":\"a\nb\"}").session_id(), Some("a\nb"), "a raw line break");
        let windows = Payload::parse(br#"{"workspace_roots":["/c:/Users/dev/app"]}"#);
        assert_eq!(windows.directory(), Some("c:/Users/dev/app".into()));
        assert_eq!(Payload::parse(br#"{"transcript_path":""}"#).transcript(), None, "an empty path is no path");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_give_some_payload(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Payload::parse(&bytes).session_id();
        }
    }
}
