//! Records and segments that a newer version of the format made: shown as far as they are known, and kept as they stand.

use std::fs;

use serde_json::{Value, json};

use crate::format::{add, foreign};
use crate::support::{Ran, Scratch, feed};

/// A repository whose only recorded commit has a record of version 2, made of one of version 1 by `change`.
fn newer(change: impl FnOnce(&Scratch, &mut Value)) -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it back off");
    session.edits("a.txt", "a\n");
    session.says("it does");
    session.commits("one");
    let mut record = scratch.record("HEAD");
    record["shiftlog"] = json!(2);
    record["mood"] = json!({ "z": 1, "a": [2] });
    change(&scratch, &mut record);
    put(&scratch, &format!("{record}\n"));
    scratch
}

fn put(scratch: &Scratch, note: &str) {
    let blob = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], note.as_bytes()).ok();
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-C", blob.trim()]).ok();
}

const NOTICE: &str =
    "recorded by a newer version of git-shiftlog (format 2); what this version does not know of it is left out";

/// Asks the server for the conversation of HEAD.
fn asked(scratch: &Scratch) -> Value {
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "shiftlog_get_conversation", "arguments": { "commit_sha": "HEAD" } } }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": { "name": "shiftlog_list_conversations", "arguments": {} } }),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let answers = scratch.run_with_input("git-shiftlog-mcp", [""; 0], input.as_bytes()).ok();
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: u32| &answers.iter().find(|answer| answer["id"] == id).unwrap()["result"]["structuredContent"];
    json!({ "get": of(2), "list": of(3) })
}

#[test]
fn a_record_of_a_newer_version_is_shown_and_said_to_be_one() {
    let scratch = newer(|_, _| {});
    let shown = scratch.shiftlog("show", [""; 0]).ok();
    assert!(shown.contains(&format!("\n[{NOTICE}]\n")) && shown.contains("\n> make it back off\n"), "{shown}");
    let markdown = scratch.shiftlog("show", ["--format=markdown"]).ok();
    assert!(markdown.contains("newer version") && markdown.contains("> make it back off"), "{markdown}");
    let raw = scratch.shiftlog("show", ["--raw"]);
    assert_eq!((raw.code, raw.stderr.as_str()), (0, format!("warning: {NOTICE}\n").as_str()));
    assert_eq!(raw.stdout, fs::read_to_string(scratch.root().join("s1.jsonl")).unwrap(), "all of its words");
    let object: Value = serde_json::from_str(&scratch.shiftlog("show", ["--json"]).stdout).unwrap();
    assert_eq!((&object["recordVersion"], &object["prompt"]), (&json!(2), &json!("make it back off")));

    let log = scratch.shiftlog("log", [""; 0]);
    assert_eq!((log.code, log.stderr.as_str()), (0, format!("warning: some of these were {NOTICE}\n").as_str()));
    assert!(log.stdout.contains("claude") && log.stdout.ends_with("make it back off\n"), "{}", log.stdout);
    let listed: Value = serde_json::from_str(&scratch.shiftlog("log", ["--json"]).stdout).unwrap();
    assert_eq!(listed["sessions"][0]["recordVersion"], 2);
    let branches = scratch.shiftlog("branches", ["--porcelain"]).ok();
    assert!(branches.contains("\t*\t1\t"), "{branches}");

    let get = |path: &str| scratch.shiftlog("get", [path]).ok();
    assert_eq!(get("[commit][HEAD][records][0][shiftlog]"), "2\n");
    assert_eq!(get("[commit][HEAD][records][0][mood]"), "{\"z\":1,\"a\":[2]}\n", "all of the record");
    assert_eq!(get("[conversation][HEAD][note]"), format!("\"{NOTICE}\"\n"));
    assert_eq!(get("[conversation][HEAD][messages][0][text]"), "\"make it back off\"\n");
    let answers = asked(&scratch);
    assert_eq!(answers["get"]["note"], NOTICE);
    assert!(answers["get"]["transcript"].as_str().unwrap().contains("make it back off"), "{answers}");
    assert_eq!(answers["list"]["conversations"].as_array().unwrap().len(), 1);

    let fsck = scratch.shiftlog("fsck", [""; 0]);
    assert_eq!(fsck.code, 0, "{fsck:?}");
    assert!(fsck.stdout.ends_with("not checked, recorded by a newer version of git-shiftlog: 1\n"), "{}", fsck.stdout);
    let verify = scratch.shiftlog("verify", [""; 0]);
    assert_eq!((verify.code, verify.stderr.as_str()), (1, ""), "nobody can say that it is intact");
    assert!(verify.stdout.contains("claude/s1 newer (format 2; "), "{}", verify.stdout);
    let verified: Value = serde_json::from_str(&scratch.shiftlog("verify", ["--json"]).stdout).unwrap();
    assert_eq!((&verified["state"], &verified["ownTree"]), (&json!("newer"), &json!(true)));
    let read = foreign(&scratch, "HEAD");
    assert_eq!(String::from_utf8_lossy(&read[0].increment), raw.stdout, "the other reader reads it as well");
}

#[test]
fn evidence_of_a_newer_version_is_shown_and_said_to_be_one() {
    let scratch = Scratch::set_up();
    scratch.commit("a.txt", "a\n", "one");
    let line = r#"{"shiftlog":2,"evidence":"ci","id":"x","error":"it broke","triage":7,"blob":null,"mood":[1]}"#;
    put(&scratch, &format!("{line}\n"));
    let shown = scratch.shiftlog("show", [""; 0]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(
        shown.stdout.contains(&format!("evidence 1 ci x, 0 bytes, \n  [{NOTICE}]\n  it broke\n")),
        "{}",
        shown.stdout
    );
    let object: Value = serde_json::from_str(&scratch.shiftlog("evidence", ["--json"]).ok()).unwrap();
    assert_eq!((&object["evidence"]["recordVersion"], &object["evidence"]["id"]), (&json!(2), &json!("x")), "{object}");
    let fsck = scratch.shiftlog("fsck", [""; 0]);
    assert_eq!(fsck.code, 0, "{fsck:?}");
    assert!(fsck.stdout.ends_with("not checked, recorded by a newer version of git-shiftlog: 1\n"), "{}", fsck.stdout);
    assert_eq!(foreign(&scratch, "HEAD").len(), 0, "the other reader takes it for no record");
    scratch.git(["commit", "-q", "--amend", "-m", "again"]).ok();
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok(), format!("{line}\n"), "it is carried unchanged");
}

#[test]
fn of_a_newer_record_in_another_shape_is_shown_what_is_left() {
    let scratch = newer(|_, record| {
        let keys = record.as_object_mut().unwrap();
        keys.shift_remove("through");
        record["turns"] = json!("many");
        record["tokens"] = json!([1]);
    });
    let shown = scratch.shiftlog("show", [""; 0]);
    assert_eq!(shown.code, 1, "its words are not to be had");
    assert!(shown.stdout.contains(NOTICE) && shown.stdout.contains("\n> make it back off\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("only a newer version of git-shiftlog can find its words"), "{}", shown.stdout);
    assert!(scratch.shiftlog("log", [""; 0]).stdout.contains("make it back off"));
    assert_eq!(asked(&scratch)["list"]["conversations"].as_array().unwrap().len(), 1);
    assert_eq!(scratch.shiftlog("fsck", [""; 0]).code, 0);
}

/// Stores a segment of version 2 behind the one that a record ends with, and lets the record end with it.
fn with_newer_segment(scratch: &Scratch, record: &mut Value) {
    let header = json!({ "shiftlog": 2, "agent": "claude", "session": "s1", "before": record["through"] }).to_string();
    let mut file = 0x184D_2A50_u32.to_le_bytes().to_vec();
    file.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    let segment = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], &file).ok();
    let segment = segment.trim();
    let listing = scratch.git(["ls-tree", "-r", "refs/shiftlog/sessions"]).ok();
    let path = listing.trim().rsplit('\t').next().unwrap().rsplit_once('/').unwrap().0.to_owned();
    let entry = format!("100644 {segment} 0\t{path}/000001-{}.zst\n", &segment[..12]);
    let index = scratch.root().join("index");
    let git = |args: &[&str], input: &str| -> Ran {
        let mut command = scratch.command("git", &scratch.top);
        feed(command.env("GIT_INDEX_FILE", &index).args(args), input.as_bytes())
    };
    git(&["read-tree", "refs/shiftlog/sessions"], "").ok();
    git(&["update-index", "--add", "--index-info"], &entry).ok();
    let tree = git(&["write-tree"], "").ok();
    let parent = scratch.id("refs/shiftlog/sessions");
    let commit = git(&["commit-tree", "-m", "newer", "-p", &parent, tree.trim()], "").ok();
    scratch.git(["update-ref", "refs/shiftlog/sessions", commit.trim()]).ok();
    record["through"] = json!(segment);
}

#[test]
fn a_segment_of_a_newer_version_is_a_gap_and_no_damage() {
    let scratch = newer(with_newer_segment);
    let shown = scratch.shiftlog("show", [""; 0]);
    assert_eq!(shown.code, 1, "its words are not to be had");
    assert!(shown.stdout.contains(NOTICE) && shown.stdout.contains("\n> make it back off\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("a segment of format 2, which a newer version"), "{}", shown.stdout);
    let archive = scratch.id("refs/shiftlog/sessions");
    let fsck = scratch.shiftlog("fsck", ["--repair"]);
    assert_eq!(fsck.code, 0, "{fsck:?}");
    assert!(fsck.stdout.ends_with("not checked, recorded by a newer version of git-shiftlog: 2\n"), "{}", fsck.stdout);
    let purge = scratch.shiftlog("purge", ["--yes", "--session=s1"]);
    assert!(purge.code == 128 && purge.stderr.contains("cannot purge segment"), "{purge:?}");
    assert_eq!(scratch.id("refs/shiftlog/sessions"), archive, "neither repaired nor purged");
    assert_eq!(scratch.record("HEAD")["shiftlog"], 2);
}

#[test]
fn a_record_of_a_newer_version_is_kept_and_carried_as_it_stands() {
    let scratch = newer(|_, _| {});
    let line = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    let file = scratch.root().join("other.jsonl");
    fs::write(&file, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n").unwrap();
    add(&scratch, "claude", &file, "s1");
    add(&scratch, "claude", &file, "s2");
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    assert!(note.contains(&line) && note.lines().count() == 3, "no record joins it: {note}");
    scratch.git(["commit", "-q", "--amend", "-m", "amended"]).ok();
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    assert!(note.contains(&line) && note.lines().count() >= 3, "{note}");
}

#[test]
fn remap_carries_a_record_of_a_newer_version() {
    let mut scratch = newer(|_, _| {});
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    // As after a pull request was merged with rebase.
    scratch.env.insert("GIT_COMMITTER_DATE".into(), "2026-01-02T04:00:00Z".into());
    scratch.git(["checkout", "-q", "-b", "other", "HEAD~1"]).ok();
    scratch.git(["-c", "core.hooksPath=/dev/null", "cherry-pick", "main"]).ok();
    scratch.git(["notes", "--ref=shiftlog", "remove", "--ignore-missing", "HEAD"]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok(), note);
}

#[test]
fn a_purged_session_goes_from_records_of_newer_versions_too() {
    let scratch = newer(|_, _| {});
    scratch.shiftlog("purge", ["--all", "--yes", "--session=s1"]).ok();
    assert_eq!(scratch.shiftlog("show", [""; 0]).code, 1);
    let notes = scratch.git(["notes", "--ref=shiftlog", "list"]).ok();
    assert_eq!(notes, "", "nothing is left of it");

    let scratch = newer(|_, _| {});
    scratch.shiftlog("purge", ["--all", "--yes", "--match=back off"]).ok();
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    assert!(!note.contains("back off") && note.contains("\"mood\":{\"z\":1,\"a\":[2]}"), "{note}");
    let shown = scratch.shiftlog("show", ["--raw"]);
    assert!(shown.code == 0 && shown.stdout.contains("it does") && !shown.stdout.contains("back off"), "{shown:?}");
}
