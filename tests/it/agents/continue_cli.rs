//! Continue: one document per session, and no hooks: sessions are found when a commit is made.

use std::fs;

use serde_json::{Value, json};

use super::{come_back, files_below, fixture, refuse_hostile_ids, told};
use crate::support::Scratch;

const ID: &str = "2dbfd673-1111-4773-b5f3-9023894a7355";

#[test]
fn every_document_parses_and_comes_back() {
    let paths = files_below(&fixture("continue"));
    let expected = snapbox::file!["../../data/continue-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("continue", &paths), expected);
    come_back("continue", &paths);
}

fn turn(scratch: &Scratch, prompt: &str, file: &str) -> Vec<Value> {
    let input = json!({ "filepath": scratch.top.join(file), "content": prompt }).to_string();
    let call = json!({ "id": prompt, "type": "function", "function": { "name": "Write", "arguments": input } });
    let state = json!({ "toolCallId": prompt, "status": "done", "output": [{ "content": "written" }] });
    vec![
        json!({ "message": { "role": "user", "content": prompt } }),
        json!({ "message": { "role": "assistant", "content": "", "toolCalls": [call] }, "toolCallStates": [state] }),
    ]
}

#[test]
fn a_day_with_continue_is_recorded() {
    let scratch = Scratch::new();
    let ran = scratch.shiftlog("init", ["--agent=continue"]);
    assert!(ran.stderr.contains("Continue has no hooks; its sessions are looked for when a commit is made"), "{ran:?}");
    let folder = scratch.home().join(".continue/sessions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("sessions.json"), "[]").unwrap();
    let mut history = Vec::new();
    let mut write = |turn: Vec<Value>| {
        history.extend(turn);
        let document = json!({ "sessionId": ID, "title": history.len(), "workspaceDirectory": scratch.top,
            "history": history });
        let text = serde_json::to_string_pretty(&document).unwrap();
        fs::write(folder.join(format!("{ID}.json")), &text).unwrap();
        text
    };
    write(turn(&scratch, "add a", "a.txt"));
    scratch.commit("a.txt", "one\n", "add a");
    let text = write(turn(&scratch, "add b", "b.txt"));
    scratch.commit("b.txt", "two\n", "add b");
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["session"]], ["continue", ID]);
    assert_eq!(scratch.raw("HEAD", &["--full"]), text, "byte for byte");
    scratch.commit("c.txt", "by hand\n", "nothing new was said");
    assert_eq!(scratch.records("HEAD").len(), 0);
    let ran = scratch.shiftlog("resume", ["HEAD~1"]);
    assert!(ran.code == 128 && ran.stderr.contains("takes up no session from outside"), "{ran:?}");
    scratch.assert_sound();
}

#[test]
fn a_session_without_times_that_was_written_after_its_commit_is_imported() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "one\n");
    scratch.git(["add", "a.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "add a"]).ok();
    let arguments = json!({ "command": "git commit -m 'add a'" }).to_string();
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "Bash", "arguments": arguments } });
    let output = format!("[main {}] add a\n 1 file changed", &scratch.id("HEAD")[..7]);
    let state = json!({ "toolCallId": "c1", "status": "done", "output": [{ "content": output }] });
    let usage = json!({ "prompt_tokens": 110, "completion_tokens": 20, "model": "scripted-1" });
    let history = json!([
        { "message": { "role": "user", "content": "add a" } },
        { "message": { "role": "assistant", "content": "", "toolCalls": [call], "usage": usage }, "toolCallStates": [state] },
    ]);
    let folder = scratch.home().join(".continue/sessions");
    fs::create_dir_all(&folder).unwrap();
    let document = json!({ "sessionId": ID, "workspaceDirectory": scratch.top, "history": history });
    let path = folder.join(format!("{ID}.json"));
    fs::write(&path, document.to_string()).unwrap();
    // Only the file tells when the session was.
    let made: u64 = scratch.git(["log", "-1", "--format=%ct"]).ok().trim().parse().unwrap();
    let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(made + 60);
    fs::File::options().append(true).open(&path).unwrap().set_modified(written).unwrap();
    scratch.shiftlog("import", ["-q"]).ok();
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["model"], &record["prompt"]], [ID, "scripted-1", "add a"]);
    assert_eq!([&record["tokens"]["input"], &record["tokens"]["output"]], [110, 20]);
}

#[test]
fn a_hostile_id_is_no_file_name() {
    refuse_hostile_ids("continue", "{\"sessionId\":\"../../x\",\"history\":[]}\n", ".continue");
}
