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
    assert_eq!(scratch.record("HEAD")["agent"], "codex");
    let live = fs::read_dir(scratch.state().join("live")).unwrap().count();
    assert_eq!(live, 1, "one session, whatever hook it came by");
    let ran = run_command(&scratch, "git-shiftlog--hook nobody Stop", &payload);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
}
