//! Qwen Code: parts as Gemini CLI has them in records as Claude Code has them; other ids of calls in hooks.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    come_back, fake_program, files_below, fixture, payload_tells, refuse_hostile_ids, run_hook, survive_cuts,
    survive_payloads, survive_settings, told,
};
use crate::support::Scratch;

const ID: &str = "34ee1580-9287-481d-8c27-9bd6ef5239ff";
const FILE: &str = ".qwen/settings.json";

fn transcripts() -> Vec<PathBuf> {
    let is_transcript = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    files_below(&fixture("qwen")).into_iter().filter(is_transcript).collect()
}

#[test]
fn every_session_parses_and_comes_back() {
    let paths = transcripts();
    assert_eq!(paths.len(), 2, "{paths:?}");
    let expected = snapbox::file!["../../data/qwen-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("qwen", &paths), expected);
    come_back("qwen", &paths);
    survive_cuts("qwen", &paths);
}

#[test]
fn what_was_taken_back_is_no_part_of_the_conversation_and_files_are_no_words() {
    let agent = shiftlog::agent::find("qwen").unwrap();
    let messages = agent.parse(&fs::read(fixture("qwen/taken-back.jsonl")).unwrap());
    let words = |is_abandoned: bool| -> Vec<String> {
        let messages = messages.iter().filter(|message| message.is_abandoned == is_abandoned);
        messages.map(|message| message.text()).filter(|text| !text.is_empty()).collect()
    };
    assert_eq!(words(true), ["And the oars blue", "They are blue."]);
    let kept = ["Paint it red", "It is red.", "And the oars green", "They are green.", "Like this picture", "Done."];
    assert_eq!(words(false), kept);
    let first = agent.parse(&fs::read(fixture(&format!("qwen/{ID}.jsonl"))).unwrap());
    assert_eq!(first[0].text(), "Moor the boat in @moor.ts");
}

#[test]
fn every_payload_is_survived_and_says_whose_it_is() {
    for path in files_below(&fixture("qwen/hooks")) {
        payload_tells(&path, "claude", "qwen", ID, "/home/dev/harbour");
    }
    survive_payloads("qwen", "qwen/hooks", |file| file.trim_end_matches(".json").to_owned());
}

#[test]
fn settings_keep_what_is_in_them() {
    let theirs = "{\n  // mine\n  \"model\": { \"name\": \"qwen3-coder\" },\n  \"hooks\": {\n    \"Stop\": [ { \"hooks\": \
                  [ { \"type\": \"command\", \"command\": \"say done\" } ] } ]\n  }\n}\n";
    survive_settings("qwen", FILE, &[theirs.to_owned(), "{}\n".to_owned()]);
}

/// A session that grows as Qwen Code writes it.
struct Session<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
}

impl<'s> Session<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        let folder = scratch.top.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let path = scratch.home().join(".qwen/projects").join(folder).join("chats").join(format!("{ID}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        Session { scratch, path }
    }

    fn write(&self, kind: &str, role: &str, part: &Value) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        let record = json!({ "uuid": "u", "parentUuid": null, "sessionId": ID, "timestamp": "2026-09-01T10:00:00.000Z",
            "type": kind, "cwd": self.scratch.top, "message": { "role": role, "parts": [part] } });
        writeln!(file, "{record}").unwrap();
    }

    fn hook(&self, event: &str, more: Value) {
        let mut payload = json!({ "session_id": ID, "transcript_path": self.path, "cwd": self.scratch.top,
            "hook_event_name": event });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(self.scratch, FILE, event, &payload);
    }

    fn prompt(&self, words: &str) {
        self.write("user", "user", &json!({ "text": words }));
        self.hook("UserPromptSubmit", json!({ "prompt": words }));
    }

    fn edits(&self, file: &str) {
        let args = json!({ "file_path": self.scratch.top.join(file), "content": "x\n" });
        let call = json!({ "functionCall": { "id": format!("write-{file}"), "name": "write_file", "args": args } });
        self.write("assistant", "model", &call);
    }

    /// Commits files in one tool call, which has another id in hooks.
    fn commits(&self, files: &[&str]) {
        files.iter().for_each(|file| self.edits(file));
        let args = json!({ "command": "make commits" });
        let call = json!({ "functionCall": { "id": "call_1", "name": "run_shell_command", "args": args } });
        self.write("assistant", "model", &call);
        let mut output = "a test passed\n".repeat(100);
        for file in files {
            self.scratch.commit(file, "x\n", file);
            let short_id = self.scratch.git(["rev-parse", "--short", "HEAD"]).ok();
            output += &format!("[main {}] {file}\n", short_id.trim());
        }
        let response = json!({ "id": "call_1", "name": "run_shell_command", "response": { "output": output } });
        self.write("tool_result", "user", &json!({ "functionResponse": response }));
        let more = json!({ "tool_name": "run_shell_command", "tool_input": args, "tool_use_id": "toolu_1795",
            "tool_response": { "llmContent": output, "returnDisplay": output } });
        self.hook("PostToolUse", more);
    }
}

#[test]
fn a_day_with_qwen_code_is_recorded_and_its_session_goes_on() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=qwen", "-q"]).ok();
    let session = Session::new(&scratch);
    session.hook("SessionStart", json!({ "source": "startup" }));
    session.prompt("add a");
    session.commits(&["a.txt"]);
    session.hook("Stop", json!({}));
    session.prompt("add b and c");
    session.commits(&["b.txt", "c.txt"]);
    session.hook("Stop", json!({}));
    session.hook("SessionEnd", json!({ "reason": "other" }));
    assert_eq!(scratch.record("HEAD~2")["prompt"], "add a");
    assert!(scratch.raw("HEAD~2", &[]).contains("] a.txt"), "the result of the call is with its commit");
    assert_eq!(scratch.record("HEAD~1")["prompt"], "add b and c");
    assert!(scratch.raw("HEAD", &[]).contains("] c.txt"));

    let stored = scratch.raw("HEAD", &["--full"]).into_bytes();
    assert!(fs::read(&session.path).unwrap().starts_with(&stored), "byte for byte");
    fs::remove_file(&session.path).unwrap();
    fake_program(&scratch, "qwen", "cp \"$HOME\"/.qwen/projects/*/chats/\"$2\".jsonl \"$HOME/found\"\n");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read(scratch.home().join("found")).unwrap(), stored);
    scratch.assert_sound();
}

#[test]
fn a_session_without_hooks_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = Session::new(&scratch);
    session.write("user", "user", &json!({ "text": "add a" }));
    session.edits("a.txt");
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!([&scratch.record("HEAD")["agent"], &scratch.record("HEAD")["session"]], ["qwen", ID]);
}

#[test]
fn a_hostile_session_id_is_no_file_name() {
    let record = json!({ "type": "user", "message": { "role": "user", "parts": [{ "text": "x" }] } });
    refuse_hostile_ids("qwen", &format!("{record}\n"));
}

#[test]
fn what_a_session_read_of_older_commits_puts_no_words_on_them() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.commit("h.txt", "by hand\n", "by a person");
    let short_id = scratch.git(["rev-parse", "--short", "HEAD"]).ok();
    let session = Session::new(&scratch);
    session.write("user", "user", &json!({ "text": "what was done here?" }));
    let call = json!({ "id": "call_1", "name": "run_shell_command", "args": { "command": "cat notes.txt" } });
    session.write("assistant", "model", &json!({ "functionCall": call }));
    let output = format!("[main {}] by a person\n* [{}] too", short_id.trim(), short_id.trim());
    let response = json!({ "id": "call_1", "name": "run_shell_command", "response": { "output": output } });
    session.write("tool_result", "user", &json!({ "functionResponse": response }));
    session.edits("a.txt");
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.records("HEAD~1").len(), 0, "{}", scratch.log());
    assert_eq!(scratch.record("HEAD")["session"], ID);
}

#[test]
fn a_session_in_a_repository_below_this_one_is_not_recorded_here() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let nested = scratch.top.join("vendor/lib");
    fs::create_dir_all(&nested).unwrap();
    scratch.git(["init", "-q", nested.to_str().unwrap()]).ok();
    let name: String = nested.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let chats = scratch.home().join(".qwen/projects").join(name).join("chats");
    fs::create_dir_all(&chats).unwrap();
    let record = json!({ "uuid": "u", "parentUuid": null, "sessionId": ID, "timestamp": "2026-09-01T10:00:00.000Z",
        "type": "user", "cwd": nested, "message": { "role": "user", "parts": [{ "text": "PRIVATE" }] } });
    fs::write(chats.join(format!("{ID}.jsonl")), format!("{record}\n")).unwrap();
    scratch.commit("a.txt", "by hand\n", "by hand");
    assert_eq!(scratch.records("HEAD").len(), 0, "{}", scratch.log());
}
