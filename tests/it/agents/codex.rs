//! Codex: rollouts in every form they have had, hooks that wait for approval, and resume by file name.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{come_back, fake_program, files_below, fixture, run_hook, survive_payloads, told};
use crate::support::Scratch;

const ID: &str = "019ed11e-aeff-7173-9228-5b048d95c933";

fn rollouts() -> Vec<PathBuf> {
    let names = |path: &PathBuf| path.file_name().is_some_and(|name| name != "session_index.jsonl");
    let of_rollout = |path: &PathBuf| path.to_str().is_some_and(|path| path.contains(".jsonl"));
    let found = files_below(&fixture("codex"));
    found.into_iter().filter(|path| names(path) && of_rollout(path)).collect()
}

#[test]
fn every_rollout_parses_and_comes_back() {
    let paths = rollouts();
    assert_eq!(paths.len(), 7, "{paths:?}");
    let expected = snapbox::file!["../../data/codex-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("codex", &paths), expected);
    come_back("codex", &paths);
}

#[test]
fn every_payload_is_survived() {
    survive_payloads("codex", "codex/hooks", |file| file.split(['-', '.']).next().unwrap().to_owned());
}

/// A rollout that grows as Codex writes it.
pub struct Thread<'s> {
    scratch: &'s Scratch,
    pub path: PathBuf,
}

impl<'s> Thread<'s> {
    pub fn new(scratch: &'s Scratch, id: &str) -> Self {
        let day = scratch.home().join(".codex/sessions/2026/06/16");
        fs::create_dir_all(&day).unwrap();
        let thread = Thread { scratch, path: day.join(format!("rollout-2026-06-16T11-48-29-{id}.jsonl")) };
        thread.write("session_meta", json!({ "id": id, "timestamp": "2026-06-16T15:48:29.567Z", "cwd": scratch.top }));
        thread.write("turn_context", json!({ "model": "gpt-5.1-codex" }));
        thread
    }

    pub fn write(&self, kind: &str, payload: Value) {
        let line = json!({ "timestamp": "2026-06-16T15:48:30.000Z", "type": kind, "payload": payload });
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    pub fn prompt(&self, words: &str) {
        self.write("response_item", json!({ "type": "message", "role": "user", "content": [{ "text": words }] }));
        self.write("event_msg", json!({ "type": "user_message", "message": words }));
    }

    /// Edits a file and commits it in a tool call; what comes behind the commit may fail.
    pub fn commits(&self, call: &str, file: &str, rest: &str) {
        let patch = format!("*** Begin Patch\n*** Add File: {file}\n+{call}\n*** End Patch\n");
        self.write(
            "response_item",
            json!({ "type": "custom_tool_call", "call_id": format!("{call}p"),
            "name": "apply_patch", "input": patch }),
        );
        self.scratch.write(file, &format!("{call}\n"));
        self.scratch.git(["add", file]).ok();
        self.scratch.git(["commit", "-q", "-m", call]).ok();
        let arguments = json!({ "cmd": format!("git commit -qm {call}{rest}") }).to_string();
        self.write(
            "response_item",
            json!({ "type": "function_call", "name": "exec_command", "call_id": call,
            "arguments": arguments }),
        );
        let output = format!("Process exited with code {}\nOutput:\n", u8::from(!rest.is_empty()));
        self.write("response_item", json!({ "type": "function_call_output", "call_id": call, "output": output }));
        self.hook(
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_use_id": call,
            "tool_input": { "command": format!("git commit -qm {call}{rest}") }, "tool_response": output }),
        );
    }

    pub fn hook(&self, event: &str, more: Value) {
        let mut payload = json!({ "session_id": ID, "turn_id": "t1", "transcript_path": self.path,
            "cwd": self.scratch.top, "hook_event_name": event, "model": "gpt-5.1-codex" });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(self.scratch, ".codex/hooks.json", event, &payload);
    }
}

#[test]
fn a_day_with_codex_is_recorded_and_its_thread_goes_on() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
    let thread = Thread::new(&scratch, ID);
    thread.hook("SessionStart", json!({ "source": "startup" }));
    thread.prompt("add a");
    thread.hook("UserPromptSubmit", json!({ "prompt": "add a" }));
    thread.commits("one", "a.txt", " && false");
    thread.hook("Stop", json!({}));
    thread.prompt("add b");
    thread.hook("UserPromptSubmit", json!({ "prompt": "add b" }));
    thread.commits("two", "b.txt", "");
    thread.write("event_msg", json!({ "type": "agent_message", "message": "Done" }));
    thread.hook("Stop", json!({}));
    thread.hook("SessionEnd", json!({ "reason": "other" }));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["model"], &first["session"]], ["codex", "gpt-5.1-codex", ID]);
    assert!(scratch.raw("HEAD~1", &[]).contains("exited with code 1"), "the result of the call is with its commit");

    let text = fs::read(&thread.path).unwrap();
    let stored = scratch.raw("HEAD", &["--full"]).into_bytes();
    assert!(text.starts_with(&stored), "byte for byte");
    fs::remove_dir_all(scratch.home().join(".codex")).unwrap();
    fake_program(&scratch, "codex", "cp \"$HOME\"/.codex/sessions/*/*/*/rollout-*-\"$2\".jsonl \"$HOME/found\"\n");
    let printed = scratch.shiftlog("resume", ["--print"]).ok();
    assert!(printed.ends_with(&format!("run codex resume {ID} in {}\n", scratch.top.display())), "{printed}");
    assert!(!scratch.home().join(".codex").exists(), "--print writes nothing");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read(scratch.home().join("found")).unwrap(), stored);
    scratch.assert_sound();
}

/// Says how many tokens a thread has used in all; `used` are input, cached input and output of the last answer.
fn count(thread: &Thread<'_>, total: [u64; 3], used: [u64; 3]) {
    let usage = |[input, cached, output]: [u64; 3]| json!({ "input_tokens": input, "cached_input_tokens": cached, "output_tokens": output });
    let info = json!({ "total_token_usage": usage(total), "last_token_usage": usage(used) });
    thread.write("event_msg", json!({ "type": "token_count", "info": info }));
}

fn used(scratch: &Scratch, args: &[&str]) -> [u64; 3] {
    let printed = scratch.shiftlog("stats", [&["--json", "--no-cost"], args].concat()).ok();
    let total: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    ["input", "cacheRead", "output"].map(|name| total["tokens"][name].as_u64().unwrap())
}

#[test]
fn an_answer_whose_tokens_are_told_again_counts_once() {
    let scratch = Scratch::new();
    let thread = Thread::new(&scratch, ID);
    thread.prompt("add a");
    count(&thread, [1000, 500, 10], [1000, 500, 10]);
    count(&thread, [1000, 500, 10], [1000, 500, 10]);
    count(&thread, [2000, 1000, 20], [1000, 500, 10]);
    let path = thread.path.to_str().unwrap();
    let add = || scratch.shiftlog("add", ["-q", "--agent=codex", "--transcript", path]).ok();
    add();
    for words in [&[][..], &["--words"]] {
        assert_eq!(used(&scratch, words), [1000, 1000, 20], "{words:?}");
    }
    // The next turn, which is in another record, begins with the same event.
    scratch.git(["commit", "-q", "--allow-empty", "-m", "more"]).ok();
    count(&thread, [2000, 1000, 20], [1000, 500, 10]);
    thread.prompt("add b");
    count(&thread, [2300, 1100, 25], [300, 100, 5]);
    add();
    for words in [&[][..], &["--words"]] {
        assert_eq!(used(&scratch, words), [1200, 1100, 25], "{words:?}");
    }
    // A fork has the words of its thread under another id.
    let fork = Thread::new(&scratch, "019ed11e-b0a1-7bb2-8a0e-0d1c2b3a4f5e");
    fs::copy(&thread.path, &fork.path).unwrap();
    count(&fork, [2400, 1100, 26], [100, 0, 1]);
    scratch.git(["commit", "-q", "--allow-empty", "-m", "fork"]).ok();
    let path = fork.path.to_str().unwrap();
    scratch.shiftlog("add", ["-q", "--agent=codex", "--transcript", path, "--session=fork"]).ok();
    assert_eq!(used(&scratch, &["--words"]), [1300, 1100, 26]);
}

#[test]
fn a_hook_of_a_sub_agent_leaves_the_sessions_transcript_alone() {
    // Such a hook names the session that started the sub-agent, with the sub-agent's own rollout.
    const CHILD: &str = "019ed11e-b0a1-7bb2-8a0e-0d1c2b3a4f5e";
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
    let thread = Thread::new(&scratch, ID);
    thread.hook("SessionStart", json!({ "source": "startup" }));
    thread.prompt("let somebody add a");
    thread.hook("UserPromptSubmit", json!({ "prompt": "let somebody add a" }));
    let child = Thread::new(&scratch, CHILD);
    let head = json!({ "timestamp": "2026-06-16T15:48:31.000Z", "type": "session_meta", "payload": { "id": CHILD,
        "parent_thread_id": ID, "thread_source": "subagent", "timestamp": "2026-06-16T15:48:31.000Z", "cwd": scratch.top } });
    fs::write(&child.path, format!("{head}\n")).unwrap();
    child.prompt("add a");
    let of_child = json!({ "transcript_path": child.path, "agent_id": CHILD, "agent_type": "default" });
    child.hook("UserPromptSubmit", of_child);
    // In its shell, the environment names the sub-agent.
    scratch.write("a.txt", "one\n");
    scratch.git(["add", "a.txt"]).ok();
    let mut commit = scratch.command("git", &scratch.top);
    let ran = commit.env("CODEX_THREAD_ID", CHILD).args(["commit", "-q", "-m", "one"]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    thread.hook("Stop", json!({}));
    let records = scratch.records("HEAD");
    let told: Vec<_> = records.iter().map(|record| [&record["session"], &record["prompt"]]).collect();
    let sub_agent = format!("{ID}.{CHILD}");
    assert_eq!(told, [[ID, "let somebody add a"], [&sub_agent, "add a"]]);
    let session = format!("--session={ID}");
    let stored = scratch.raw("HEAD", &["--full", &session]);
    assert!(fs::read_to_string(&thread.path).unwrap().starts_with(&stored), "byte for byte");
    scratch.assert_sound();
}

#[test]
fn what_a_program_of_the_model_called_is_recorded_instead_of_the_program() {
    // Newer models have one tool, which runs their JavaScript. Hooks tell the ids of the calls in it.
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
    let thread = Thread::new(&scratch, ID);
    thread.hook("SessionStart", json!({ "source": "startup" }));
    let item = |item: Value| thread.write("event_msg", json!({ "type": "item_completed", "item": item }));
    let program = |call: &str, input: &str| {
        let call = json!({ "type": "custom_tool_call", "call_id": call, "name": "exec", "input": input });
        thread.write("response_item", call);
    };
    let answered = |call: &str| {
        let output = json!([{ "type": "input_text", "text": "Script completed" }]);
        thread.write("response_item", json!({ "type": "custom_tool_call_output", "call_id": call, "output": output }));
    };
    item(json!({ "type": "UserMessage", "id": "u", "content": [{ "type": "text", "text": "add a" }] }));
    thread.hook("UserPromptSubmit", json!({ "prompt": "add a" }));
    program("call_1", "const r = await tools.apply_patch(\"...\"); text(r);");
    let path = scratch.top.join("a.txt");
    let changes = json!({ path.to_str().unwrap(): { "type": "add", "content": "a\n" } });
    item(json!({ "type": "FileChange", "id": "exec-1", "changes": changes, "status": "completed" }));
    answered("call_1");
    let commit = scratch.commit("a.txt", "a\n", "by hand");
    assert_eq!(scratch.record(&commit)["session"], ID, "it has edited the file");
    program("call_2", "const r = await tools.exec_command({\"cmd\": \"git commit\"}); text(r.output);");
    scratch.git(["commit", "-q", "--allow-empty", "-m", "by the agent"]).ok();
    let output = format!("[main {}] by the agent\n", &scratch.id("HEAD")[..7]);
    let command = ["/bin/bash", "-lc", "git commit --allow-empty -m 'by the agent'"];
    thread.hook(
        "PostToolUse",
        json!({ "tool_name": "Bash", "tool_use_id": "exec-2", "tool_input": { "command": command[2] },
            "tool_response": output }),
    );
    item(json!({ "type": "CommandExecution", "id": "exec-2", "command": command, "aggregated_output": output,
        "exit_code": 0 }));
    let expected = fs::read_to_string(&thread.path).unwrap();
    answered("call_2");
    thread.hook("Stop", json!({}));
    assert!(expected.ends_with(&scratch.raw("HEAD", &[])), "through the result of the call");
    assert!(scratch.raw("HEAD", &[]).contains(&output[..output.len() - 1]));
    let shown = scratch.shiftlog("show", ["HEAD~1", "HEAD"]).ok();
    assert!(shown.contains("git commit --allow-empty") && !shown.contains("tools.exec_command"), "{shown}");
}

// Its second file was taken for another session, which nobody has started.
#[test]
fn a_thread_that_was_rewound_and_goes_on_in_another_file_is_the_same_session() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
    let first = Thread::new(&scratch, ID);
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y/%m/%d").to_string();
    let day = scratch.home().join(".codex/sessions").join(today);
    fs::create_dir_all(&day).unwrap();
    let names = [
        format!("rollout-2026-06-16T11-48-29-{ID}.jsonl"),
        format!("rollout-2026-06-16T12-00-00-{ID}_01a208cd-a44f-7170-a6c0-5954ebdae9b1.jsonl"),
    ];
    for name in &names {
        fs::copy(&first.path, day.join(name)).unwrap();
    }
    fs::remove_file(&first.path).unwrap();
    for (name, file) in names.iter().zip(["a.txt", "b.txt"]) {
        let thread = Thread { scratch: &scratch, path: day.join(name) };
        thread.prompt(&format!("add {file}"));
        let patch = format!("*** Begin Patch\n*** Add File: {file}\n+one\n*** End Patch\n");
        thread.write(
            "response_item",
            json!({ "type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": patch }),
        );
    }
    scratch.commit("b.txt", "one\n", "add b");
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["prompt"]], [ID, "add b.txt"], "the newest file of one session");
}

#[test]
fn a_thread_without_approved_hooks_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y/%m/%d").to_string();
    let thread = Thread::new(&scratch, ID);
    let day = scratch.home().join(".codex/sessions").join(today);
    fs::create_dir_all(&day).unwrap();
    let path = day.join(thread.path.file_name().unwrap());
    fs::rename(&thread.path, &path).unwrap();
    let thread = Thread { scratch: &scratch, path };
    thread.prompt("add a");
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n";
    thread.write(
        "response_item",
        json!({ "type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": patch }),
    );
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    scratch.commit("c.txt", "by hand\n", "nothing new was said");
    assert_eq!(scratch.records("HEAD").len(), 0);
}

#[test]
fn hooks_that_the_user_has_approved_stay_where_and_what_they_are() {
    let before = fs::read_to_string(fixture("codex/hooks-before.json")).unwrap();
    let scratch = Scratch::new();
    scratch.write(".codex/hooks.json", &before);
    let ran = scratch.shiftlog("init", ["--agent=codex"]);
    assert!(ran.stderr.contains("warning: Codex runs its hooks once you have approved them"), "{ran:?}");
    let after = fs::read_to_string(scratch.top.join(".codex/hooks.json")).unwrap();
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (old, new) = (parse(&before), parse(&after));
    for (event, groups) in old["hooks"].as_object().unwrap() {
        let kept = &new["hooks"][event].as_array().unwrap()[..groups.as_array().unwrap().len()];
        assert_eq!(kept, groups.as_array().unwrap(), "approval goes by file, event and position: {event}");
    }
    for (event, limit) in [("SessionEnd", 3), ("Stop", 30)] {
        let ours = new["hooks"][event].as_array().unwrap().last().unwrap();
        assert_eq!(ours["hooks"][0]["timeout"], limit, "{event}");
    }
    let again = scratch.shiftlog("init", ["--agent=codex"]);
    assert_eq!(
        (again.stdout.as_str(), again.stderr.as_str()),
        ("nothing to do\n", ""),
        "ours keep their approval, too"
    );
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_to_string(scratch.top.join(".codex/hooks.json")).unwrap(), before);
}

#[test]
fn a_hostile_thread_id_is_no_file_name() {
    let scratch = Scratch::new();
    let file = scratch.root().join("said");
    fs::write(&file, "{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\",\"timestamp\":\"2026-06-16T15:48:29Z\"}}\n")
        .unwrap();
    for id in ["../../x", "-rf", "a/b", "a\u{1b}[31m"] {
        let file = file.to_str().unwrap();
        scratch.shiftlog("add", ["-qf", "--agent=codex", "--transcript", file, &format!("--session={id}")]).ok();
        let ran = scratch.shiftlog("resume", [format!("--session={id}")]);
        assert!(ran.code != 0 && ran.stdout.is_empty(), "{id}: {ran:?}");
        assert_eq!(files_below(&scratch.home().join(".codex")), Vec::<PathBuf>::new(), "{id}");
    }
}
