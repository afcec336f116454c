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
fn a_hostile_id_is_no_file_name() {
    refuse_hostile_ids("continue", "{\"sessionId\":\"../../x\",\"history\":[]}\n", ".continue");
}
