//! Windsurf: steps that are written when a response has ended, and hooks that hardly say where they run.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    assert_taken, come_back, files_below, fixture, refuse_hostile_ids, run_hook, survive_payloads, survive_settings,
    told,
};
use crate::support::Scratch;

const ID: &str = "traj-2f6d1c";

#[test]
fn every_transcript_parses_and_comes_back() {
    let paths = files_below(&fixture("windsurf/transcripts"));
    let expected = snapbox::file!["../../data/windsurf-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("windsurf", &paths), expected);
    come_back("windsurf", &paths);
}

#[test]
fn every_payload_is_survived() {
    survive_payloads("windsurf", "windsurf/hooks", |file| file.split(['-', '.']).next().unwrap().to_owned());
    assert_taken("windsurf/hooks", ID, false);
}

#[test]
fn hooks_of_others_stay() {
    let theirs = "{\"hooks\":{\"pre_run_command\":[{\"command\":\"guard.sh\",\"show_output\":true}],\"post_run_command\":\
                  [{\"command\":\"log.sh\"}]},\"later\":[1]}";
    survive_settings("windsurf", ".windsurf/hooks.json", &[theirs.into()]);
}

/// A conversation of which nothing is written until a response has ended.
struct Cascade<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
    steps: String,
}

impl Cascade<'_> {
    fn step(&mut self, kind: &str, inner: Value) {
        self.steps += &format!("{}\n", json!({ "status": "done", "type": kind, kind: inner }));
    }

    fn hook(&self, action: &str, info: Value) {
        let payload = json!({ "agent_action_name": action, "trajectory_id": ID, "model_name": "Unknown",
            "tool_info": info });
        run_hook(self.scratch, ".windsurf/hooks.json", action, &payload);
    }

    fn responds(&mut self, prompt: &str, file: &str, rest: &str) {
        self.hook("pre_user_prompt", json!({ "user_prompt": prompt }));
        self.step("user_input", json!({ "user_response": prompt }));
        let path = format!("file://{}", self.scratch.top.join(file).display());
        self.step("code_action", json!({ "path": path, "new_content": prompt, "original_content": "" }));
        self.scratch.commit(file, prompt, prompt);
        let command = format!("git commit -qm x{rest}");
        self.hook("post_run_command", json!({ "command_line": command, "cwd": self.scratch.top }));
        let output = format!("[main {}] {prompt}", &self.scratch.id("HEAD")[..7]);
        self.step(
            "run_command",
            json!({ "command": command, "cwd": self.scratch.top, "output": output,
            "exit_code": u8::from(!rest.is_empty()) }),
        );
        self.step("planner_response", json!({ "response": "Done" }));
        fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        fs::write(&self.path, &self.steps).unwrap();
        self.hook("post_cascade_response_with_transcript", json!({ "transcript_path": self.path }));
    }
}

#[test]
fn a_day_with_windsurf_is_recorded() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=windsurf", "-q"]).ok();
    let path = scratch.home().join(format!(".windsurf/transcripts/{ID}.jsonl"));
    let mut cascade = Cascade { scratch: &scratch, path, steps: String::new() };
    cascade.responds("add a", "a.txt", " && false");
    cascade.responds("add b", "b.txt", "");
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["session"]], ["windsurf", ID]);
    assert!(scratch.raw("HEAD~1", &[]).contains("\"exit_code\":1"), "the result of the call is with its commit");
    let stored = scratch.raw("HEAD", &["--full"]);
    assert!(cascade.steps.starts_with(&stored), "byte for byte");
    let ran = scratch.shiftlog("resume", Vec::<&str>::new());
    assert!(ran.code == 128 && ran.stderr.contains("takes up no session from outside"), "{ran:?}");
    scratch.assert_sound();
}

#[test]
fn a_conversation_without_hooks_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=windsurf", "-q"]).ok();
    let folder = scratch.home().join(".windsurf/transcripts");
    fs::create_dir_all(&folder).unwrap();
    for (id, top) in [("here", scratch.top.to_str().unwrap()), ("elsewhere", "/elsewhere")] {
        let step = json!({ "type": "code_action", "code_action": { "path": format!("file://{top}/a.txt") } });
        let prompt = json!({ "type": "user_input", "user_input": { "user_response": "add a" } });
        fs::write(folder.join(format!("{id}.jsonl")), format!("{prompt}\n{step}\n")).unwrap();
    }
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], "here");
}

#[test]
fn a_hostile_id_is_no_file_name() {
    refuse_hostile_ids("windsurf", "{\"type\":\"planner_response\"}\n");
}
