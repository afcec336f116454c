//! The JSON payload that an agent passes to its hooks on standard input. Agents spell keys differently, and some write JSON
//! that is not strict; both are read.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{json, tool};
use crate::transcript::shell;

/// How many words of a command are looked at for paths.
const MAX_WORDS: usize = 200;

/// A hook's payload: a JSON object whose keys differ in spelling from agent to agent.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    value: Value,
}

/// The keys of a payload by what they mean, in the order to try them. `tool_info.cwd` is the member `cwd` of `tool_info`.
pub struct Keys {
    /// The session's id.
    pub session: &'static [&'static str],
    /// The path of its transcript.
    pub transcript: &'static [&'static str],
    /// The name of the event.
    pub event: &'static [&'static str],
    /// The model that answers.
    pub model: &'static [&'static str],
    /// The directory that the session works in.
    pub cwd: &'static [&'static str],
    /// The id of a tool call.
    pub call: &'static [&'static str],
    /// The arguments of a tool call.
    pub input: &'static [&'static str],
    /// Within the arguments of a tool call: the directory that the tool runs in.
    pub directory: &'static [&'static str],
    /// The result of a tool call.
    pub response: &'static [&'static str],
    /// Lists of the directories that are open in the agent; the first directory counts.
    pub roots: &'static [&'static str],
    /// Objects that hold all members about a tool call.
    pub envelopes: &'static [&'static str],
}

/// No keys: for an agent that uses only common ones.
pub const NONE: Keys = Keys {
    session: &[],
    transcript: &[],
    event: &[],
    model: &[],
    cwd: &[],
    call: &[],
    input: &[],
    directory: &[],
    response: &[],
    roots: &[],
    envelopes: &[],
};

/// The keys that several agents use; those of one agent are in its own file.
const COMMON: Keys = Keys {
    session: &["session_id", "sessionId"],
    transcript: &["transcript_path", "transcriptPath", "agent_transcript_path", "session_path"],
    event: &["hook_event_name", "hookEventName"],
    model: &["model"],
    cwd: &["cwd"],
    call: &["tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "callID"],
    input: &["tool_input", "toolInput"],
    directory: &["cwd", "workdir", "dir_path", "directory"],
    response: &[
        "tool_response",
        "toolResponse",
        "tool_result",
        "toolResult",
        "tool_output",
        "output",
        "result",
        "error",
        "error_message",
    ],
    roots: &["workspace_roots", "workspaceRoots"],
    envelopes: &[],
};

/// Returns keys of all agents, the common ones first: an agent may run hooks that were declared for another, so the
/// agent is unknown before the payload is read.
fn all(choose: fn(&'static Keys) -> &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    let own = super::ALL.iter().flat_map(move |agent| choose(agent.payload_keys()));
    choose(&COMMON).iter().chain(own).copied()
}

impl Payload {
    /// Reads a payload; bytes that are no JSON object give an empty one.
    ///
    /// Takes UTF-8 with or without a byte order mark, UTF-16 in both orders, raw control characters and halves of characters
    /// in strings.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = decode(bytes);
        let value = json::parse(&text).or_else(|| json::parse(&escape_controls(&text)));
        Payload { value: value.filter(Value::is_object).unwrap_or_default() }
    }

    /// Says whether the payload has no member.
    pub fn is_empty(&self) -> bool {
        self.value.is_null()
    }

    /// Returns the first text that is not empty.
    fn string(&self, choose: fn(&'static Keys) -> &'static [&'static str]) -> Option<&str> {
        all(choose).find_map(|key| self.get(key)?.as_str().filter(|text| !text.is_empty()))
    }

    /// Returns a member of the payload, or of the object that holds all members about the tool call.
    fn get(&self, key: &str) -> Option<&Value> {
        let inside = || all(|keys| keys.envelopes).find_map(|envelope| self.value.get(envelope)?.get(key));
        self.member(key).or_else(inside)
    }

    /// Returns a member, or a member of a member.
    fn member(&self, key: &str) -> Option<&Value> {
        key.split('.').try_fold(&self.value, |value, name| value.get(name))
    }

    /// Says whether the payload has a member, or a member of a member: `toolResult.resultType`.
    pub fn has(&self, key: &str) -> bool {
        self.member(key).is_some()
    }

    /// Says whether the path of the transcript has `part` in it.
    pub fn has_transcript_in(&self, part: &str) -> bool {
        self.string(|keys| keys.transcript).is_some_and(|path| path.replace('\\', "/").contains(part))
    }

    /// Returns the id of the session.
    pub fn session_id(&self) -> Option<&str> {
        self.string(|keys| keys.session)
    }

    /// Returns the id of the sub-agent whose hook this is; `None` if it is the session's own.
    pub fn sub_agent(&self) -> Option<&str> {
        // An agent that always names itself is no sub-agent if it says that no agent has started it.
        if self.value.get("parent_agent_id").is_some_and(Value::is_null) {
            return None;
        }
        self.get("agent_id")?.as_str().filter(|id| !id.is_empty())
    }

    /// Returns the path of the transcript; a leading `~` is expanded.
    pub fn transcript(&self) -> Option<PathBuf> {
        self.string(|keys| keys.transcript).map(expand_home)
    }

    /// Returns the directory the agent works in.
    pub fn directory(&self) -> Option<PathBuf> {
        let first_root = || all(|keys| keys.roots).find_map(|key| self.value.get(key)?.get(0)?.as_str());
        let of_tool = || all(|keys| keys.directory).find_map(|key| self.input()?.get(key)?.as_str());
        let of_session = self.string(|keys| keys.cwd);
        let found = [of_session, of_tool(), first_root()];
        found.into_iter().flatten().find(|path| !path.is_empty()).map(without_slash).map(expand_home)
    }

    /// Returns the model that answers, if the payload tells it.
    pub fn model(&self) -> Option<&str> {
        self.string(|keys| keys.model)
    }

    /// Returns the event's name, if the payload tells it.
    pub fn event(&self) -> Option<&str> {
        self.string(|keys| keys.event)
    }

    /// Returns the id of the tool call that just ended.
    pub fn call_id(&self) -> Option<&str> {
        self.string(|keys| keys.call)
    }

    /// Returns the input of the tool that just ran.
    fn input(&self) -> Option<&Value> {
        all(|keys| keys.input).find_map(|key| self.get(key))
    }

    /// Returns the command line that the tool ran, if the payload has one.
    fn command(&self) -> Option<String> {
        let text = |key: &&str| self.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let at_top = || ["command", "cmd"].iter().find_map(text);
        match self.input() {
            // Some agents give the input as JSON in a string.
            Some(Value::String(text)) => tool::command_line(&serde_json::from_str(text).unwrap_or_default()),
            Some(input) => tool::command_line(input),
            None => None,
        }
        .or_else(at_top)
    }

    /// Returns the paths that the tool call names: absolute ones, and directories that its command changes to, seen from
    /// `directory`.
    pub fn places(&self, directory: &Path) -> Vec<PathBuf> {
        let texts = self.input().and_then(Value::as_object).into_iter().flat_map(Map::values).filter_map(Value::as_str);
        let named = texts.filter(|text| text.starts_with('/')).map(PathBuf::from);
        let command = self.command().unwrap_or_default();
        let is_between = |c: char| c.is_whitespace() || ";&|()'\"=".contains(c);
        let words: Vec<&str> = command.split(is_between).filter(|word| !word.is_empty()).take(MAX_WORDS).collect();
        let is_place = |at: usize| at > 0 && ["cd", "-C"].contains(&words[at - 1]);
        let places = words.iter().enumerate().filter(|(at, word)| word.starts_with('/') || is_place(*at));
        named.chain(places.map(|(_, word)| directory.join(expand_home(word)))).collect()
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

    /// Returns how many times the command that the tool ran runs `git commit`, and does not only name it.
    pub fn commit_count(&self) -> usize {
        self.command().map_or(0, |command| shell::commits_in(&command).len())
    }

    /// Says whether the command that the tool ran runs `git rebase --continue`.
    pub fn continues_rebase(&self) -> bool {
        let has = |words: &[String], word: &str| words.iter().any(|known| known == word);
        let continues = |words: &Vec<String>| {
            let program = words.first().and_then(|program| program.rsplit('/').next());
            program == Some("git") && has(words, "rebase") && has(words, "--continue")
        };
        self.command().is_some_and(|command| shell::commands_in(&command).iter().any(continues))
    }

    /// Says whether what the tool answered mentions `word`.
    pub fn response_mentions(&self, word: &str) -> bool {
        self.response_has(|text| text.contains(word))
    }

    /// Says whether the tool answered, as `git commit` does, that it made the commit whose id begins with `id`:
    /// `[main 4e1c2aa] subject`.
    pub fn response_reports_commit(&self, id: &str) -> bool {
        let is_rest = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()).starts_with("] ");
        self.response_has(|text| text.match_indices(id).any(|(at, _)| is_rest(&text[at + id.len()..])))
    }

    /// Returns how many commands in what the tool answered say, as `git commit` does, that they made a commit or had nothing to
    /// commit.
    pub fn told_commits(&self) -> usize {
        let count = Cell::new(0);
        self.response_has(|text| {
            count.set(count.get() + text.lines().filter(|line| tells_of_commit(line)).count());
            false
        });
        count.get()
    }

    fn response_has(&self, is_it: impl Fn(&str) -> bool) -> bool {
        all(|keys| keys.response).filter_map(|key| self.get(key)).any(|response| has_text(response, &is_it, 16))
    }
}

/// Says whether `git commit` prints such a line: `[main 4e1c2aa] subject`, or that there was nothing to commit.
fn tells_of_commit(line: &str) -> bool {
    const NOTHING: [&str; 3] = ["nothing to commit", "nothing added to commit", "no changes added to commit"];
    let has_id = || {
        let id = line.strip_prefix('[')?.split_once("] ")?.0.rsplit(' ').next()?;
        Some(id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    NOTHING.iter().any(|nothing| line.starts_with(nothing)) || has_id() == Some(true)
}

/// Says whether a value has a text that is wanted.
fn has_text(value: &Value, is_it: &impl Fn(&str) -> bool, depth: u32) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::Array(values) if depth > 0 => values.iter().any(|value| has_text(value, is_it, depth - 1)),
        Value::Object(map) if depth > 0 => map.values().any(|value| has_text(value, is_it, depth - 1)),
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
        let halved = br#"{"session_id":"s1","tool_response":"cut \ud83d"}"#;
        assert_eq!(Payload::parse(halved).session_id(), Some("s1"), "half an emoji");
        let windows = Payload::parse(br#"{"workspace_roots":["/c:/Users/dev/app"]}"#);
        assert_eq!(windows.directory(), Some("c:/Users/dev/app".into()));
        assert_eq!(Payload::parse(br#"{"transcript_path":""}"#).transcript(), None, "an empty path is no path");
    }

    #[test]
    fn a_call_names_where_it_works() {
        let places = |input: &str| {
            let payload = format!("{{\"tool_input\":{input}}}");
            Payload::parse(payload.as_bytes()).places(Path::new("/over"))
        };
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(places(r#"{"file_path":"/over/app/a.txt","content":"a/b"}"#), paths(&["/over/app/a.txt"]));
        let command = r#"{"command":"cd app && git -C \"/srv/b\" commit -m x; (cd ../c)"}"#;
        assert_eq!(places(command), paths(&["/over/app", "/srv/b", "/over/../c"]));
        assert_eq!(places(r#"{"command":"ls -la"}"#), paths(&[]));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_give_some_payload(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Payload::parse(&bytes).session_id();
        }
    }
}
