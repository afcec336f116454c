//! Antigravity: steps in order, a bundle of hooks, and nothing to go on from.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{come_back, fixture, refuse_hostile_ids, run_hook, survive_settings, told};
use crate::support::Scratch;

const ID: &str = "5f2c7a10-2222-4d3b-8c55-0f9e1a2b3c4d";

#[test]
fn every_transcript_parses_and_comes_back() {
    let path = fixture("antigravity/transcript_full.jsonl");
    let expected = snapbox::file!["../../data/antigravity-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("antigravity", std::slice::from_ref(&path)), expected);
    come_back("antigravity", &[path]);
}

#[test]
fn bundles_of_others_stay() {
    let theirs = "{\n  \"lint\": {\n    \"Stop\": [{ \"command\": \"make lint\" }]\n  },\n  \"off\": { \"enabled\": false }\n}\n";
    survive_settings("antigravity", ".agents/hooks.json", &[theirs.into()]);
}

#[test]
fn only_hooks_for_tools_stand_in_groups() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=antigravity", "-q"]).ok();
    let text = fs::read(scratch.top.join(".agents/hooks.json")).unwrap();
    let hooks: Value = serde_json::from_slice(&text).expect("it is strict JSON, or none of them is loaded");
    let bundle = &hooks["shiftlog"];
    assert_eq!(bundle["PostToolUse"][0]["matcher"], "*");
    assert_eq!(bundle["PostToolUse"][0]["hooks"][0]["timeout"], 30);
    assert_eq!([&bundle["Stop"][0]["type"], &bundle["SessionStart"][0]["type"]], ["command", "command"]);
}

/// A conversation that grows as Antigravity writes it.
struct Conversation<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
}

impl<'s> Conversation<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        let logs = scratch.home().join(".gemini/antigravity-cli/brain").join(ID).join(".system_generated/logs");
        fs::create_dir_all(&logs).unwrap();
        Conversation { scratch, path: logs.join("transcript_full.jsonl") }
    }

    fn step(&self, source: &str, kind: &str, more: Value) {
        let mut step = json!({ "step_index": 0, "source": source, "type": kind, "status": "DONE" });
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{step}").unwrap();
    }

    fn prompt(&self, words: &str) {
        let change = "<USER_SETTINGS_CHANGE>\nchanged setting `Model Selection` from None to Gemini 3.5 Flash (High).\n\
                      </USER_SETTINGS_CHANGE>";
        let content = format!("<USER_REQUEST>\n{words}\n</USER_REQUEST>\n{change}");
        self.step("USER_EXPLICIT", "USER_INPUT", json!({ "content": content }));
    }

    fn calls(&self, name: &str, args: &Value) {
        self.step(
            "MODEL",
            "PLANNER_RESPONSE",
            json!({ "content": "On it", "tool_calls": [{ "name": name, "args": args }] }),
        );
    }

    fn commits(&self, name: &str, file: &str, rest: &str) {
        let args = json!({ "TargetFile": self.scratch.top.join(file), "CodeContent": name });
        self.calls("write_to_file", &args);
        self.step("MODEL", "CODE_ACTION", json!({ "content": "Created" }));
        self.hook("PostToolUse", json!({ "toolCall": { "name": "write_to_file", "args": args } }));
        let args = json!({ "CommandLine": format!("git commit -qm {name}{rest}"), "Cwd": self.scratch.top });
        self.calls("run_command", &args);
        self.scratch.commit(file, name, name);
        let output = format!(
            "The command {}.\n[main {}]",
            if rest.is_empty() { "completed" } else { "failed" },
            &self.scratch.id("HEAD")[..7]
        );
        self.step("MODEL", "RUN_COMMAND", json!({ "content": output }));
        self.hook("PostToolUse", json!({ "toolCall": { "name": "run_command", "args": args }, "error": "" }));
    }

    fn hook(&self, event: &str, more: Value) {
        let mut payload = json!({ "conversationId": ID, "transcriptPath": self.path,
            "workspacePaths": [self.scratch.top] });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(self.scratch, ".agents/hooks.json", event, &payload);
    }
}

#[test]
fn a_day_with_antigravity_is_recorded() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=antigravity", "-q"]).ok();
    let conversation = Conversation::new(&scratch);
    conversation.prompt("add a");
    conversation.commits("one", "a.txt", " && false");
    conversation.hook("Stop", json!({}));
    conversation.prompt("add b");
    conversation.commits("two", "b.txt", "");
    conversation.hook("Stop", json!({}));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["model"], &first["session"]], ["antigravity", "Gemini 3.5 Flash (High)", ID]);
    assert!(scratch.raw("HEAD~1", &[]).contains("The command failed"), "the result of the call is with its commit");
    assert!(fs::read_to_string(&conversation.path).unwrap().starts_with(&scratch.raw("HEAD", &["--full"])));
    let ran = scratch.shiftlog("resume", Vec::<&str>::new());
    assert!(
        ran.code == 128 && ran.stderr.contains("a database of its own") && ran.stderr.contains("hint: "),
        "{ran:?}"
    );
    scratch.assert_sound();
}

#[test]
fn a_conversation_without_hooks_is_found_by_where_it_ran_commands() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=antigravity", "-q"]).ok();
    let conversation = Conversation::new(&scratch);
    conversation.prompt("add a");
    conversation.calls("run_command", &json!({ "CommandLine": "ls", "Cwd": scratch.top }));
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
}

#[test]
fn a_hostile_id_is_no_file_name() {
    refuse_hostile_ids("antigravity", "{\"source\":\"MODEL\",\"type\":\"PLANNER_RESPONSE\"}\n");
}
