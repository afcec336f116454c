//! Pi: trees of entries, an extension that tells what happens, and resume by path.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use shiftlog::agent;

use super::{come_back, fake_program, files_below, fixture, refuse_hostile_ids, told};
use crate::support::{Scratch, skip};

const ID: &str = "0196a1b2-1111-7000-8000-0000000000aa";
const EXTENSION: &str = ".pi/extensions/shiftlog.ts";

#[test]
fn every_session_parses_and_comes_back() {
    let paths = files_below(&fixture("pi"));
    assert_eq!(paths.len(), 4, "{paths:?}");
    let expected = snapbox::file!["../../data/pi-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("pi", &paths), expected);
    come_back("pi", &paths);
}

#[test]
fn a_branch_that_was_left_is_taken_back() {
    let path = fixture("pi/a-branch-left.jsonl");
    let messages = agent::find("pi").unwrap().parse(&fs::read(path).unwrap());
    let is_abandoned: Vec<bool> = messages.iter().map(|message| message.is_abandoned).collect();
    assert_eq!(is_abandoned, [false, true, true, false]);
}

#[test]
fn the_extension_comes_and_goes_and_that_of_somebody_else_stays() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=pi", "-q"]).ok();
    assert!(scratch.top.join(EXTENSION).is_file());
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "", "what is private is not offered to be committed");
    assert_eq!(scratch.shiftlog("init", ["--agent=pi"]).ok(), "nothing to do\n");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".pi").exists());
    scratch.write(EXTENSION, "export default function () {}\n");
    let ran = scratch.shiftlog("init", ["--agent=pi"]);
    assert!(ran.stderr.contains("is not ours and is left alone"), "{ran:?}");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_to_string(scratch.top.join(EXTENSION)).unwrap(), "export default function () {}\n");
}

/// A session that grows as Pi writes it, with the extension run by Node.
struct Session<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
    last: String,
}

impl<'s> Session<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        let folder = format!("--{}--", scratch.top.to_str().unwrap().trim_start_matches('/').replace('/', "-"));
        let folder = scratch.home().join(".pi/agent/sessions").join(folder);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("2026-01-02T03-04-05-678Z_{ID}.jsonl"));
        let mut session = Session { scratch, path, last: String::new() };
        session.write(json!({ "type": "session", "version": 3, "id": ID, "timestamp": "2026-01-02T03:04:05.678Z",
            "cwd": scratch.top }));
        session.last = String::new();
        session
    }

    fn write(&mut self, record: Value) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{record}").unwrap();
        self.last = record["id"].as_str().unwrap().to_owned();
    }

    fn says(&mut self, id: &str, message: Value) {
        let parent = Some(&self.last).filter(|last| !last.is_empty());
        let record = json!({ "type": "message", "id": id, "parentId": parent, "message": message });
        self.write(record);
    }

    fn prompt(&mut self, words: &str) {
        self.says(&format!("u-{words}"), json!({ "role": "user", "content": [{ "type": "text", "text": words }] }));
    }

    fn calls(&mut self, id: &str, name: &str, arguments: &Value) {
        let call = json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments });
        self.says(
            &format!("a-{id}"),
            json!({ "role": "assistant", "model": "claude-test-1", "content": [call],
            "usage": { "input": 9, "output": 6, "cacheRead": 7, "cacheWrite": 0 } }),
        );
    }

    /// Edits a file and commits it; the result is written after the extension has heard of it.
    fn commits(&mut self, id: &str, file: &str, rest: &str) {
        self.calls(&format!("w-{id}"), "write", &json!({ "path": file, "content": id }));
        let input = json!({ "command": format!("git commit -qm {id}{rest}") });
        self.calls(id, "bash", &input);
        self.scratch.commit(file, id, id);
        let content = json!([{ "type": "text", "text": format!("exit {}", u8::from(!rest.is_empty())) }]);
        self.event("tool_result", json!({ "toolName": "bash", "toolCallId": id, "input": input, "content": content }));
        self.says(&format!("r-{id}"), json!({ "role": "toolResult", "toolCallId": id, "content": content }));
    }

    /// Runs what the extension does for an event.
    fn event(&self, name: &str, event: Value) {
        let root = self.scratch.root();
        fs::copy(self.scratch.top.join(EXTENSION), root.join("extension.mjs")).unwrap();
        let driver = "import extension from './extension.mjs';\n\
                      const [name, event, cwd, file] = process.argv.slice(2);\n\
                      const handlers = {};\n\
                      extension({ on: (name, handler) => { handlers[name] = handler; } });\n\
                      const ctx = { cwd, sessionManager: { getSessionFile: () => file } };\n\
                      const answer = await handlers[name](JSON.parse(event), ctx);\n\
                      if (answer !== undefined) throw new Error('it meddles');\n";
        fs::write(root.join("driver.mjs"), driver).unwrap();
        let args =
            ["driver.mjs", name, &event.to_string(), self.scratch.top.to_str().unwrap(), self.path.to_str().unwrap()];
        let ran = self.scratch.run_in(&root, "node", args);
        assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", ""), "{ran:?}");
    }
}

fn has_node() -> bool {
    let has = std::process::Command::new("node").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !has {
        skip("there is no node to run the extension");
    }
    has
}

#[test]
fn a_day_with_pi_is_recorded_and_its_session_goes_on() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=pi", "-q"]).ok();
    let mut session = Session::new(&scratch);
    session.event("session_start", json!({}));
    session.prompt("add a");
    session.event("agent_start", json!({}));
    session.event("tool_result", json!({ "toolName": "read" }).clone());
    session.commits("one", "a.txt", " && false");
    session.event("agent_end", json!({}));
    session.prompt("add b");
    session.event("agent_start", json!({}));
    session.commits("two", "b.txt", "");
    session.event("agent_end", json!({}));
    session.event("session_shutdown", json!({}));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["model"], &first["session"]], ["pi", "claude-test-1", ID]);
    assert!(scratch.raw("HEAD~1", &[]).contains("exit 1"), "the result of the call is with its commit");

    let stored = scratch.raw("HEAD", &["--full"]).into_bytes();
    assert!(fs::read(&session.path).unwrap().starts_with(&stored), "byte for byte");
    fs::remove_dir_all(scratch.home().join(".pi")).unwrap();
    fake_program(&scratch, "pi", "test \"$1\" = --session && cp \"$2\" \"$HOME/found\"\n");
    let printed = scratch.shiftlog("resume", ["--print"]).ok();
    assert!(printed.contains(&format!("run pi --session {}", session.path.display())), "{printed}");
    assert!(!scratch.home().join(".pi").exists(), "--print writes nothing");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read(scratch.home().join("found")).unwrap(), stored);

    let other = scratch.root().join("other");
    scratch.shiftlog("resume", [&format!("--worktree={}", other.display())]).ok();
    let found = fs::read_to_string(scratch.home().join("found")).unwrap();
    assert!(found.lines().next().unwrap().contains(other.to_str().unwrap()), "{found}");
    scratch.assert_sound();
}

#[test]
fn a_session_without_the_extension_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let mut session = Session::new(&scratch);
    session.prompt("add a");
    session.calls("w", "write", &json!({ "path": "a.txt", "content": "one" }));
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
}

#[test]
fn a_hostile_id_is_no_file_name() {
    let head = json!({ "type": "session", "id": "../../x", "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/x" });
    refuse_hostile_ids("pi", &format!("{head}\n"));
}

#[test]
fn a_forked_session_does_not_repeat_the_words_of_its_parent_on_its_first_commit() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let parent = Session::new(&scratch).path;
    let line = |id: &str, time: &str, message: Value| {
        let record = json!({ "type": "message", "id": id, "timestamp": time, "message": message });
        format!("{record}\n")
    };
    let user = |words: &str| json!({ "role": "user", "content": [{ "type": "text", "text": words }] });
    let edit = |file: &str| {
        json!({ "role": "assistant", "model": "claude-test-1", "content": [{ "type": "toolCall", "id": file,
            "name": "write", "arguments": { "path": scratch.top.join(file), "content": file } }] })
    };
    let first =
        [line("1", "2026-01-02T03:05:00.000Z", user("add a")), line("2", "2026-01-02T03:05:01.000Z", edit("a.txt"))]
            .concat();
    let mut file = fs::OpenOptions::new().append(true).open(&parent).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    scratch.commit("a.txt", "a.txt", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);

    let fork = "01a210e8-cda8-72a3-bfd1-902f708486a2";
    let header = json!({ "type": "session", "version": 3, "id": fork, "timestamp": "2026-01-02T03:06:00.000Z",
        "cwd": scratch.top, "parentSession": parent });
    let own =
        [line("3", "2026-01-02T03:06:01.000Z", user("add b")), line("4", "2026-01-02T03:06:02.000Z", edit("b.txt"))]
            .concat();
    let path = parent.with_file_name(format!("2026-01-02T03-06-00-000Z_{fork}.jsonl"));
    fs::write(&path, format!("{header}\n{first}{own}")).unwrap();
    scratch.commit("b.txt", "b.txt", "add b");
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["prompt"]], [fork, "add b"]);
    assert_eq!(scratch.raw("HEAD", &[]), own);
    assert_eq!(scratch.raw("HEAD", &["--full"]), fs::read_to_string(&path).unwrap(), "byte for byte");
}
