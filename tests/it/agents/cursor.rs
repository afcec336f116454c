//! Cursor: transcripts of lines, databases of blobs, a file of hooks that one wrong word voids, and resume of databases.

use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use md5::Md5;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use shiftlog::agent::{self, Agent, Payload};

use super::{come_back, fake_program, files_below, fixture, run_hook, survive_payloads, told};
use crate::support::Scratch;

const ID: &str = "7d0f4c1e-2b3a-4c5d-8e9f-001122334455";
const HOOKS: &str = ".cursor/hooks.json";

fn cursor() -> &'static dyn Agent {
    agent::find("cursor").unwrap()
}

/// Every row of both tables of a chat's database.
fn rows(path: &Path) -> Vec<(String, Vec<u8>)> {
    let database = Connection::open(path).unwrap();
    let tables = "SELECT id, data FROM blobs UNION ALL SELECT key, CAST(value AS BLOB) FROM meta ORDER BY 1";
    let mut statement = database.prepare(tables).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn every_transcript_parses_and_comes_back() {
    let lines = [format!("cursor/agent-transcripts/{ID}.jsonl"), "cursor/many-tools.jsonl".into()];
    let lines = lines.map(|path| fixture(&path));
    let elsewhere = Scratch::new();
    let mut chat = Chat::of_command_line(&elsewhere);
    chat.say("user", &[("text", json!({ "text": "<user_info>\nOS: linux\n</user_info>" }))]);
    chat.say("user", &[("text", json!({ "text": "<user_query>\ncommit the oars\n</user_query>" }))]);
    let call = json!({ "toolCallId": "k1", "toolName": "Shell", "args": { "command": "git commit -am 'oars'" } });
    chat.say("assistant", &[("reasoning", json!({ "text": "both of them" })), ("tool-call", call)]);
    let result = json!({ "toolCallId": "k1", "toolName": "Shell", "result": "[main 0a25aaa] oars" });
    chat.say("tool", &[("tool-result", result)]);
    chat.say("assistant", &[("text", json!({ "text": "They are in." }))]);
    // Cursor drops roots that another one has taken the place of.
    let (database, children) = chat.store.as_ref().unwrap();
    let earlier = "DELETE FROM blobs WHERE hex(substr(data, 1, 2)) = '0A20' AND length(data) < ?1";
    assert_eq!(database.execute(earlier, [i64::try_from(children.len()).unwrap()]).unwrap(), 4);
    let store = Chat::path(&elsewhere);
    let found = told("cursor", &[&lines[..], std::slice::from_ref(&store)].concat());
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(found, snapbox::file!["../../data/cursor-fixtures.txt"]);
    come_back("cursor", &lines);

    let scratch = Scratch::new();
    scratch.shiftlog("add", ["-q", "--agent=cursor", "--transcript", store.to_str().unwrap()]).ok();
    assert_eq!(scratch.record("HEAD")["session"], ID, "the chat knows its id");
    let restored = scratch.root().join("restored.db");
    fs::write(&restored, scratch.shiftlog("show", ["--raw", "--full"]).bytes).unwrap();
    assert_eq!(rows(&restored), rows(&store), "every row of both tables");
}

#[test]
fn every_payload_is_survived() {
    survive_payloads("cursor", "cursor/hooks", |file| {
        if file.starts_with("claude-format") {
            return "PostToolUse".into();
        }
        file.trim_start_matches("windows-").split(['-', '.']).next().unwrap().to_owned()
    });
    for entry in fs::read_dir(fixture("cursor/hooks")).unwrap().flatten() {
        let payload = Payload::parse(&fs::read(entry.path()).unwrap());
        let is_windows = entry.file_name().to_str().unwrap().starts_with("windows-");
        let directory = if is_windows { "c:/Users/dev/harbour" } else { "/home/dev/harbour" };
        let caller = agent::caller("cursor", &payload).map(Agent::name);
        let found = (payload.session_id(), payload.directory(), caller, payload.model());
        let expected = (Some(ID), Some(directory.into()), Some("cursor"), Some("claude-4.5-sonnet"));
        assert_eq!(found, expected, "{:?}", entry.path());
    }
}

/// A chat of the command line or of the editor, as it grows.
struct Chat<'s> {
    scratch: &'s Scratch,
    /// The transcript of lines.
    lines: PathBuf,
    /// The database and the root's children, if it is of the command line.
    store: Option<(Connection, Vec<u8>)>,
}

impl<'s> Chat<'s> {
    fn of_editor(scratch: &'s Scratch) -> Self {
        let folder = scratch.top.to_str().unwrap().trim_start_matches('/').replace(['/', '.'], "-");
        let folder = scratch.home().join(".cursor/projects").join(folder).join("agent-transcripts").join(ID);
        fs::create_dir_all(&folder).unwrap();
        Chat { scratch, lines: folder.join(format!("{ID}.jsonl")), store: None }
    }

    fn of_command_line(scratch: &'s Scratch) -> Self {
        let path = Self::path(scratch);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let database = Connection::open(path).unwrap();
        let tables =
            "CREATE TABLE blobs(id text primary key,data blob);CREATE TABLE meta(key text primary key,value text);";
        database.execute_batch(tables).unwrap();
        Chat { store: Some((database, Vec::new())), ..Self::of_editor(scratch) }
    }

    fn path(scratch: &Scratch) -> PathBuf {
        let folder = hex(&Md5::digest(scratch.top.to_str().unwrap()));
        scratch.home().join(".cursor/chats").join(folder).join(ID).join("store.db")
    }

    /// Adds a message in each form that this chat has.
    fn say(&mut self, role: &str, parts: &[(&str, Value)]) {
        let lines: Vec<&Value> =
            parts.iter().map(|(_, part)| part).filter(|part| part["type"] != "tool-result").collect();
        if role != "tool" {
            let record = json!({ "role": role, "message": { "content": lines } });
            let text = fs::read_to_string(&self.lines).unwrap_or_default();
            fs::write(&self.lines, format!("{text}{record}\n")).unwrap();
        }
        let Some((database, children)) = &mut self.store else { return };
        let content: Vec<Value> = parts
            .iter()
            .map(|(kind, part)| {
                let mut part = part.clone();
                part["type"] = json!(kind);
                part
            })
            .collect();
        let insert = |data: &[u8]| {
            let id = hex(&Sha256::digest(data));
            database.execute("INSERT OR IGNORE INTO blobs VALUES(?1, ?2)", params![id, data]).unwrap();
            id
        };
        let data = json!({ "role": role, "content": content }).to_string();
        insert(data.as_bytes());
        children.extend(b"\x0a\x20");
        children.extend(Sha256::digest(&data));
        // The earlier roots stay where they are.
        let root = insert(children);
        let meta =
            json!({ "agentId": ID, "latestRootBlobId": root, "name": "Work", "createdAt": 1_786_000_000_000i64 });
        let meta = hex(meta.to_string().as_bytes());
        database.execute("REPLACE INTO meta VALUES('0', ?1)", [meta]).unwrap();
    }

    fn prompt(&mut self, words: &str) {
        let words = format!("<user_query>\n{words}\n</user_query>");
        self.say("user", &[("text", json!({ "type": "text", "text": words }))]);
        self.hook("beforeSubmitPrompt", json!({ "prompt": words }));
    }

    /// Edits a file and commits it in a tool call; what comes behind the commit fails. Both hooks of a call run.
    fn commits(&mut self, call: &str, file: &str) {
        let input = json!({ "path": self.scratch.top.join(file), "contents": call });
        let write = json!({ "type": "tool_use", "name": "Write", "input": input, "toolName": "Write", "args": input });
        let input = json!({ "command": format!("git commit -qm {call} && false") });
        let shell = json!({ "type": "tool_use", "name": "Shell", "input": input, "toolCallId": call, "toolName": "Shell",
            "args": input });
        self.say("assistant", &[("tool-call", write), ("tool-call", shell)]);
        self.scratch.commit(file, call, call);
        let output = "failed behind it";
        self.hook("afterShellExecution", json!({ "command": input["command"], "output": output, "cwd": null }));
        let result = json!({ "type": "tool-result", "toolCallId": call, "toolName": "Shell", "result": output });
        self.say("tool", &[("tool-result", result)]);
        let more = json!({ "tool_name": "Shell", "tool_use_id": call, "tool_input": input, "cwd": self.scratch.top,
            "error_message": output });
        self.hook("postToolUseFailure", more);
    }

    fn hook(&self, event: &str, more: Value) {
        let mut payload = json!({ "session_id": ID, "conversation_id": ID, "hook_event_name": event,
            "cursor_version": "3.22.7", "workspace_roots": [self.scratch.top], "model": "claude-4.5-sonnet",
            "transcript_path": self.lines });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(self.scratch, HOOKS, event, &payload);
    }

    /// Two prompts with a commit each.
    fn day(&mut self) {
        self.hook("sessionStart", json!({}));
        self.prompt("add a");
        self.commits("one", "a.txt");
        self.hook("stop", json!({ "status": "completed" }));
        self.prompt("add b");
        self.commits("two", "b.txt");
        let done = json!({ "type": "text", "text": "Done.\n\n[REDACTED]" });
        self.say("assistant", &[("text", done)]);
        self.hook("stop", json!({ "status": "completed" }));
        self.hook("sessionEnd", json!({ "reason": "completed" }));
        let (first, second) = (self.scratch.record("HEAD~1"), self.scratch.record("HEAD"));
        assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"], "{}", self.scratch.log());
        assert_eq!([&first["turns"], &second["turns"]], [1, 1], "both hooks of a call record it once");
        assert_eq!([&first["agent"], &first["model"], &first["session"]], ["cursor", "claude-4.5-sonnet", ID]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_day_with_the_command_line_is_recorded_and_its_chat_goes_on() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=cursor", "-q"]).ok();
    let mut chat = Chat::of_command_line(&scratch);
    chat.day();
    assert!(scratch.raw("HEAD~1", &[]).contains("failed behind it"), "the result of the call is with its commit");
    let root = chat.store.as_ref().map(|(_, children)| hex(&Sha256::digest(children))).unwrap();
    drop(chat);

    let path = Chat::path(&scratch);
    fs::remove_dir_all(scratch.home().join(".cursor")).unwrap();
    fake_program(
        &scratch,
        "cursor-agent",
        &format!("test \"$*\" = '--resume {ID}' && cp '{}' \"$HOME/found\"\n", path.display()),
    );
    let printed = scratch.shiftlog("resume", ["--print"]).ok();
    let top = scratch.top.display();
    assert!(printed.starts_with(&format!("write {}, ", path.display())), "{printed}");
    assert!(printed.ends_with(&format!("run cursor-agent --resume {ID} in {top}\n")), "{printed}");
    assert!(!scratch.home().join(".cursor").exists(), "--print writes nothing");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    let found = rows(&scratch.home().join("found"));
    assert!(found.iter().all(|(id, data)| id == "0" || *id == hex(&Sha256::digest(data))), "each blob has its name");
    let meta = found.iter().find(|(key, _)| key == "0").map(|(_, value)| String::from_utf8_lossy(value).into_owned());
    let last = found.iter().filter(|(_, data)| data.starts_with(b"\x0a\x20")).map(|(id, _)| id.clone());
    assert_eq!(last.collect::<Vec<_>>(), [root.as_str()], "only the last root is needed");
    assert!(meta.unwrap().contains(&hex(root.as_bytes())), "and it is found");
    // A second time there is nothing to write.
    assert!(scratch.shiftlog("resume", ["--print"]).ok().starts_with(&format!("keep {}\n", path.display())));
    scratch.assert_sound();
}

#[test]
fn a_chat_that_went_on_elsewhere_is_brought_up_to_date_and_one_that_says_more_stays() {
    let scratch = Scratch::new();
    let mut chat = Chat::of_command_line(&scratch);
    let words = |text: &str| [("text", json!({ "type": "text", "text": text }))];
    let path = Chat::path(&scratch);
    let add = || scratch.shiftlog("add", ["-q", "--agent=cursor", "--transcript", path.to_str().unwrap()]);
    crate::support::copy_program("/bin/sh", &scratch.root().join("bin/cursor-agent"));
    let printed = || scratch.shiftlog("resume", ["--print"]);
    chat.say("user", &words("one"));
    chat.say("assistant", &words("two"));
    let earlier = fs::read(&path).unwrap();
    chat.say("user", &words("three"));
    add().ok();
    chat.say("assistant", &words("four"));
    assert!(printed().ok().starts_with("keep "), "it says more");
    fs::write(&path, earlier).unwrap();
    assert!(printed().ok().starts_with("write "), "it is a beginning of what is recorded");
    fs::write(path.with_file_name("store.db-wal"), "x").unwrap();
    let ran = printed();
    assert!(ran.stderr.contains("is in use") && ran.stderr.contains("the chat is still there"), "{}", ran.stderr);
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let mut other = Chat::of_command_line(&scratch);
    other.say("user", &words("something else"));
    assert!(printed().stderr.contains("differs from the recorded transcript"));
    assert!(scratch.shiftlog("resume", ["--print", "--force"]).ok().starts_with("write "));
}

#[test]
fn a_secret_in_a_chat_goes_and_the_names_of_its_blobs_are_right_again() {
    let scratch = Scratch::new();
    let mut chat = Chat::of_command_line(&scratch);
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    chat.say("user", &[("text", json!({ "text": format!("use {secret} for it") }))]);
    // What is not JSON may hold one too.
    let (database, children) = chat.store.as_mut().unwrap();
    let binary = [b"\x08\x01\x12\x30\xff\xfe", secret.as_bytes(), b"\x00"].concat();
    database.execute("INSERT INTO blobs VALUES(?1, ?2)", params![hex(&Sha256::digest(&binary)), binary]).unwrap();
    children.extend(b"\x12\x20");
    children.extend(Sha256::digest(&binary));
    chat.say("assistant", &[("text", json!({ "text": "Done" }))]);
    let path = Chat::path(&scratch);
    scratch.shiftlog("add", ["-q", "--agent=cursor", "--transcript", path.to_str().unwrap()]).ok();
    let restored = scratch.root().join("restored.db");
    fs::write(&restored, scratch.shiftlog("show", ["--raw", "--full"]).bytes).unwrap();
    let found = rows(&restored);
    assert_eq!(found.len(), 5, "three messages, a root, the table with its name: {found:?}");
    for (id, data) in found.iter().filter(|(id, _)| id != "0") {
        assert!(!bstr::ByteSlice::contains_str(&data[..], &secret), "{data:?}");
        assert_eq!(*id, hex(&Sha256::digest(data)));
    }
    let read = |path: &Path| cursor().parse(&cursor().read(path).unwrap()).len();
    assert_eq!(read(&restored), read(&path), "it reads as before");
}

#[test]
fn a_day_with_the_editor_is_recorded_and_cannot_be_taken_up_again() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=cursor", "-q"]).ok();
    let mut chat = Chat::of_editor(&scratch);
    chat.day();
    let text = fs::read_to_string(&chat.lines).unwrap();
    assert!(text.starts_with(&scratch.raw("HEAD", &["--full"])), "byte for byte");
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    assert!(!shown.contains("[REDACTED]") && !shown.contains("user_query"), "{shown}");
    fs::remove_dir_all(scratch.home().join(".cursor")).unwrap();
    let ran = scratch.shiftlog("resume", Vec::<&str>::new());
    assert_eq!((ran.code, ran.stdout.as_str()), (128, ""));
    let expected = format!(
        "fatal: Cursor takes up only chats of its command line, and this one is from the editor\n\
         hint: 'git shiftlog show --full --session={ID}' has the words for a new chat\n"
    );
    assert_eq!(ran.stderr, expected);
    assert!(!scratch.home().join(".cursor").exists());
    scratch.assert_sound();
}

#[test]
fn a_chat_without_hooks_is_found_when_a_commit_is_made() {
    for is_editor in [true, false] {
        let scratch = Scratch::new();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let mut chat = if is_editor { Chat::of_editor(&scratch) } else { Chat::of_command_line(&scratch) };
        chat.say("user", &[("text", json!({ "type": "text", "text": "add a" }))]);
        let input = json!({ "path": scratch.top.join("a.txt"), "contents": "a" });
        let write = json!({ "type": "tool_use", "name": "Write", "input": input, "toolName": "Write", "args": input });
        chat.say("assistant", &[("tool-call", write)]);
        scratch.commit("a.txt", "a", "add a");
        assert_eq!(scratch.record("HEAD")["session"], ID);
        assert_eq!(
            scratch.raw("HEAD", &[]).contains("\"shiftlog\":\"store\""),
            chat.store.is_some(),
            "the fuller form"
        );
        scratch.commit("c.txt", "by hand\n", "nothing new was said");
        assert_eq!(scratch.records("HEAD").len(), 0);
    }
}

#[test]
fn hooks_of_others_stay_and_what_voids_the_file_is_told() {
    let before = fs::read_to_string(fixture("cursor/hooks-before.json")).unwrap();
    let unknown = before.replace("\"afterFileEdit\"", "\"afterCoffee\"");
    for (text, is_warned) in [(before, false), (unknown, true)] {
        let scratch = Scratch::new();
        scratch.write(HOOKS, &text);
        let ran = scratch.shiftlog("init", ["--agent=cursor", "-q"]);
        assert_eq!(ran.stderr.contains("it does not know the event 'afterCoffee'"), is_warned, "{}", ran.stderr);
        let after: Value = serde_json::from_str(&fs::read_to_string(scratch.top.join(HOOKS)).unwrap()).unwrap();
        assert_eq!(after["version"], 1);
        for event in ["afterFileEdit", "afterCoffee", "stop"] {
            let foreign: Value = serde_json::from_str::<Value>(&text).unwrap()["hooks"][event][0].clone();
            assert_eq!(after["hooks"][event][0], foreign, "{event}");
        }
        assert!(!after.to_string().contains("://"), "a URL would void the file");
        assert_eq!(scratch.shiftlog("init", ["--agent=cursor"]).ok(), "nothing to do\n");
        scratch.shiftlog("deinit", ["-q"]).ok();
        assert_eq!(fs::read_to_string(scratch.top.join(HOOKS)).unwrap(), text);
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=cursor", "-q"]).ok();
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "", "nothing shows up in the user's status");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".cursor").exists());
}

#[test]
fn a_hostile_chat_id_is_no_file_name() {
    let scratch = Scratch::new();
    let file = scratch.root().join("said");
    let last = json!({ "shiftlog": "store", "blobs": [[["Ci=", 7]]], "meta": [{ "key": "0", "hex": ["{}", 9] }] });
    for text in [
        "{\"role\":\"user\",\"content\":\"x\"}\n{\"shiftlog\":\"store\",\"blobs\":[],\"meta\":[]}\n",
        &format!("{last}\n"),
    ] {
        fs::write(&file, text).unwrap();
        for (number, id) in ["../../x", "-rf", "a/b", "a\u{1b}[31m"].into_iter().enumerate() {
            let file = file.to_str().unwrap();
            let id = format!("{id}{number}");
            let _ = scratch.shiftlog("add", ["-q", "--agent=cursor", "--transcript", file, &format!("--session={id}")]);
            let ran = scratch.shiftlog("resume", [format!("--session={id}")]);
            assert!(ran.code != 0 && ran.stdout.is_empty(), "{id}: {ran:?}");
            assert_eq!(files_below(&scratch.home().join(".cursor")), Vec::<PathBuf>::new(), "{id}");
        }
    }
}

#[test]
fn runs_of_names_are_ranges_and_come_back() {
    let scratch = Scratch::new();
    let mut chat = Chat::of_command_line(&scratch);
    let say =
        |chat: &mut Chat<'_>, words: &str| chat.say("user", &[("text", json!({ "type": "text", "text": words }))]);
    (0..3).for_each(|number| say(&mut chat, &format!("prompt {number}")));
    let path = Chat::path(&scratch);
    (3..5).for_each(|number| say(&mut chat, &format!("prompt {number}")));
    // A message that is there twice is one line.
    say(&mut chat, "prompt 1");
    // So are several, of which the first follows what was named last.
    ["prompt 2", "prompt 3", "prompt 0"].into_iter().for_each(|words| say(&mut chat, words));
    say(&mut chat, "prompt 5");
    let lines = cursor().read(&path).unwrap();
    assert!(
        lines.contains_str(r#""blobs":[[{"named":[[0,5],[1,2],[2,3],[3,4],[0,1],[5,6]]}]]"#),
        "{}",
        lines.as_bstr()
    );
    assert_eq!(cursor().lines(cursor().native(&lines).into_owned()).as_bstr(), lines.as_bstr());
}

#[test]
fn what_stands_in_the_log_of_a_chat_alone_is_recorded() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=cursor", "-q"]).ok();
    let mut chat = Chat::of_command_line(&scratch);
    let (database, _) = chat.store.as_ref().unwrap();
    database.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
    // The file itself is old, and stays as it is.
    let file = fs::File::options().append(true).open(Chat::path(&scratch)).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    drop(file);
    chat.day();
}
