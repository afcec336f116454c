//! Several agents at once, and agents that run each other's hooks.

use std::fs;

use serde_json::json;

use super::codex::Thread;
use super::{run_command, run_hook};
use crate::support::Scratch;

const THREAD: &str = "019ed11e-aeff-7173-9228-5b048d95c933";

#[test]
fn two_agents_at_once_each_get_the_commits_they_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "--agent=codex", "-q"]).ok();
    let (claude, codex) = (scratch.session("s1"), Thread::new(&scratch, THREAD));
    codex.hook("SessionStart", json!({}));
    claude.prompt("write a");
    claude.hook("UserPromptSubmit");
    codex.prompt("write b");
    codex.hook("UserPromptSubmit", json!({}));
    codex.commits("b", "b.txt", "");
    claude.edits("a.txt", "a\n");
    scratch.commit("a.txt", "a\n", "a, by hand");
    claude.hook("Stop");
    codex.hook("Stop", json!({}));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["agent"], &first["prompt"]], ["codex", "write b"]);
    assert_eq!([&second["agent"], &second["prompt"]], ["claude", "write a"]);
    scratch.assert_sound();
}

#[test]
fn the_payload_decides_which_agent_runs_a_hook_and_both_ways_are_one_record() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "--agent=codex", "-q"]).ok();
    let thread = Thread::new(&scratch, THREAD);
    let payload = json!({ "session_id": THREAD, "turn_id": "t1", "model": "m", "transcript_path": thread.path,
        "cwd": scratch.top });
    for file in [".codex/hooks.json", ".claude/settings.local.json"] {
        run_hook(&scratch, file, "SessionStart", &payload);
    }
    thread.prompt("add a");
    thread.write(
        "response_item",
        json!({ "type": "custom_tool_call", "call_id": "p", "name": "apply_patch",
        "input": "*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch\n" }),
    );
    scratch.commit("a.txt", "a\n", "a");
    for file in [".codex/hooks.json", ".claude/settings.local.json"] {
        run_hook(&scratch, file, "PostToolUse", &payload);
    }
    assert_eq!(scratch.record("HEAD")["agent"], "codex", "the only record: one session, whatever hook it came by");
    let ran = run_command(&scratch, "git-shiftlog--hook nobody Stop", &payload);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
}

#[test]
fn an_agent_that_walks_into_a_repository_that_nobody_set_up_leaves_nothing_there() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("words of this repository");
    let other = scratch.root().join("other");
    scratch.git(["init", "-q", other.to_str().unwrap()]).ok();
    let payload = json!({ "session_id": "s1", "transcript_path": session.transcript, "cwd": other });
    run_hook(&scratch, ".claude/settings.local.json", "UserPromptSubmit", &payload);
    scratch.git_in(&other, ["commit", "-q", "--allow-empty", "-m", "there"]).ok();
    run_hook(&scratch, ".claude/settings.local.json", "PostToolUse", &payload);
    assert_eq!(scratch.git_in(&other, ["for-each-ref", "refs/notes", "refs/shiftlog"]).ok(), "");
    assert!(!other.join(".git/shiftlog").exists());
}

#[test]
fn a_variable_that_leaked_from_another_agent_hides_nobody() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("commit what is there");
    session.hook("UserPromptSubmit");
    let mut shell = scratch.command(scratch.root().join("bin/claude"), &scratch.top);
    shell.env("CODEX_THREAD_ID", THREAD).args(["-c", "git commit -q --allow-empty -m x; exit $?"]);
    assert!(shell.status().unwrap().success());
    assert_eq!(scratch.record("HEAD")["session"], "s1");
}

#[test]
fn a_hook_file_of_ours_that_was_edited_keeps_the_edit() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=copilot", "-q"]).ok();
    let path = scratch.top.join(".github/hooks/shiftlog.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut edited: serde_json::Value = serde_json::from_str(&text).unwrap();
    edited["hooks"]["sessionStart"].as_array_mut().unwrap().push(json!({ "type": "command", "bash": "./mine.sh" }));
    fs::write(&path, edited.to_string()).unwrap();
    let ran = scratch.shiftlog("init", ["--agent=copilot"]);
    assert!(ran.stderr.contains("was changed since it was made, and is left alone"), "{ran:?}");
    scratch.shiftlog("deinit", ["-q"]).ok();
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.contains("./mine.sh") && !left.contains("--hook"), "{left}");
}

#[test]
fn a_hook_does_not_wait_for_an_agent_that_keeps_its_pipe_open() {
    let scratch = Scratch::set_up();
    let mut hook = scratch.command("git-shiftlog--hook", &scratch.top);
    let mut child = hook.args(["claude", "Stop"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    // The pipe stays open until the hook has ended.
    let pipe = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(pipe);
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.top.join(".claude")).unwrap();
    let link = scratch.top.join(".claude/settings.local.json");
    std::os::unix::fs::symlink("../../dotfile.json", &link).unwrap();
    scratch.shiftlog("init", ["--agent=claude", "-q", "--yes"]).ok();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(scratch.root().join("dotfile.json")).unwrap().contains("git-shiftlog--hook"));
}
