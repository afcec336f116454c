//! Copilot CLI: payloads in two spellings, sessions whose transcript no payload names, resume from a directory.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    come_back, fake_program, files_below, fixture, payload_tells, refuse_hostile_ids, run_hook, set_up_and_back,
    survive_cuts, survive_payloads, told,
};
use crate::support::Scratch;

const ID: &str = "301561f1-558a-43e9-a144-82d3ca12ab62";
const OTHER: &str = "51535321-6f06-49d6-8ac9-2cb2400dc75f";
const FILE: &str = ".github/hooks/shiftlog.json";

#[test]
fn every_event_stream_parses_and_comes_back() {
    let paths =
        files_below(&fixture("copilot")).into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let paths: Vec<PathBuf> = paths.collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    let expected = snapbox::file!["../../data/copilot-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("copilot", &paths), expected);
    come_back("copilot", &paths);
    survive_cuts("copilot", &paths);
}

#[test]
fn every_payload_is_survived_and_says_whose_it_is() {
    for path in files_below(&fixture("copilot/hooks")) {
        payload_tells(&path, "copilot", "copilot", ID, "/home/dev/harbour");
        if path.file_name().unwrap().to_str().unwrap().starts_with("pascal-S") && !path.ends_with("pascal-Stop.json") {
            payload_tells(&path, "claude", "copilot", ID, "/home/dev/harbour");
        }
    }
    survive_payloads("copilot", "copilot/hooks", |file| file.split(['-', '.']).nth(1).unwrap_or_default().to_owned());
}

#[test]
fn setting_up_makes_one_file_and_leaves_those_of_others() {
    let other = r#"{ "version": 1, "hooks": { "preToolUse": [{ "type": "command", "bash": "./guard.sh" }] } }"#;
    let there = [(".github/hooks/other.json", other)];
    let text = set_up_and_back(&["--agent=copilot"], FILE, &there);
    assert_eq!(set_up_and_back(&["--agent=vscode"], FILE, &there), text, "VS Code runs the same file");
    assert_eq!(set_up_and_back(&["--agent=vscode", "--agent=copilot"], FILE, &there), text);
    assert!(!text.contains("preToolUse"), "a hook before a tool that fails denies the tool: {text}");
    let hooks: Value = serde_json::from_str(&text).unwrap();
    let hook = &hooks["hooks"]["postToolUse"][0];
    assert!(hook["bash"].as_str().unwrap().ends_with("copilot postToolUse || :"), "{hook}");
    assert!(hook["powershell"].as_str().unwrap().ends_with("copilot postToolUse }; exit 0"), "{hook}");
}

/// A session whose events grow as Copilot CLI writes them.
struct Session<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
}

impl<'s> Session<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        let folder = scratch.home().join(".copilot/session-state").join(ID);
        Session { scratch, path: folder.join("events.jsonl") }
    }

    fn start(&self) {
        fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        let context = json!({ "cwd": self.scratch.top, "gitRoot": self.scratch.top, "branch": "main: x",
            "repository": "dev/demo-app" });
        self.write("session.start", json!({ "sessionId": ID, "version": 1, "context": context }));
        self.write("session.model_change", json!({ "newModel": "claude-sonnet-4.5" }));
    }

    fn write(&self, kind: &str, data: Value) {
        let line = json!({ "type": kind, "data": data, "id": "e", "timestamp": "2026-07-25T12:35:00.000Z" });
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn hook(&self, event: &str, more: Value) {
        let mut payload = json!({ "sessionId": ID, "timestamp": 1_784_982_920_820_u64, "cwd": self.scratch.top });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(self.scratch, FILE, event, &payload);
    }

    fn prompt(&self, words: &str) {
        self.write("user.message", json!({ "content": words, "attachments": [] }));
        self.hook("userPromptSubmitted", json!({ "prompt": words }));
    }

    fn edits(&self, file: &str) {
        let arguments = json!({ "path": self.scratch.top.join(file), "file_text": "x\n" }).to_string();
        let request = json!({ "toolCallId": format!("{file}-1"), "name": "create", "arguments": arguments });
        self.write("assistant.message", json!({ "content": "", "toolRequests": [request] }));
    }

    /// Commits a file in a tool call; what comes behind the commit may fail.
    fn commits(&self, file: &str, rest: &str) {
        self.edits(file);
        let arguments = json!({ "command": format!("git add {file} && git commit -qm {file}{rest}") });
        let request = json!({ "toolCallId": file, "name": "bash", "arguments": arguments });
        self.write(
            "assistant.message",
            json!({ "content": "Committing.", "outputTokens": 42, "toolRequests": [request] }),
        );
        self.scratch.commit(file, "x\n", file);
        let code = u8::from(!rest.is_empty());
        let said = format!("done\n<exited with exit code {code}>");
        self.write(
            "tool.execution_complete",
            json!({ "toolCallId": file, "success": true, "result": { "content": said } }),
        );
        let (event, kind) = if code == 0 { ("postToolUse", "success") } else { ("postToolUseFailure", "failure") };
        self.hook(
            event,
            json!({ "toolName": "bash", "toolArgs": arguments.to_string(),
            "toolResult": { "resultType": kind, "textResultForLlm": said } }),
        );
    }
}

#[test]
fn a_transcript_that_comes_after_the_first_hooks_is_found_and_nothing_is_warned_of() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=copilot", "-q"]).ok();
    let session = Session::new(&scratch);
    session.hook("sessionStart", json!({ "source": "new" }));
    session.hook("userPromptSubmitted", json!({ "prompt": "add a" }));
    scratch.commit("b.txt", "by hand\n", "while nothing is written yet");
    session.start();
    session.write("user.message", json!({ "content": "add a", "attachments": [] }));
    session.edits("a.txt");
    scratch.commit("a.txt", "x\n", "by hand, too");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    assert_eq!(scratch.records("HEAD~1").len(), 0);
    assert!(!scratch.log().contains("warning"), "{}", scratch.log());
}

#[test]
fn a_hook_of_a_sub_agent_makes_no_session_of_its_own() {
    // It has an id of its own, and the transcript of the session that started it.
    const CHILD: &str = "2319acdb-7e52-4163-805a-301b4c328989";
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=copilot", "-q"]).ok();
    let session = Session::new(&scratch);
    session.hook("sessionStart", json!({ "source": "new" }));
    session.start();
    session.prompt("let somebody add a");
    session.edits("a.txt");
    session.hook("agentStop", json!({ "sessionId": CHILD, "transcriptPath": session.path, "stopReason": "end_turn" }));
    scratch.commit("a.txt", "x\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID, "the one record");
    session.hook("agentStop", json!({ "transcriptPath": session.path, "stopReason": "end_turn" }));
    session.hook("sessionEnd", json!({ "reason": "complete" }));
    scratch.assert_sound();
}

#[test]
fn tokens_are_those_of_each_request_and_no_shutdown_counts_them_again() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=copilot", "-q"]).ok();
    let session = Session::new(&scratch);
    session.start();
    session.hook("sessionStart", json!({ "source": "new" }));
    session.prompt("add a");
    let usage = json!({ "inputTokens": 1020, "outputTokens": 20, "cacheReadTokens": 900, "cacheWriteTokens": 7 });
    session.write("session.usage_record", json!({ "usage": usage }));
    session.edits("a.txt");
    scratch.commit("a.txt", "x\n", "add a");
    let expected = json!({ "input": 120, "output": 20, "cacheRead": 900, "cacheWrite": 7 });
    assert_eq!(scratch.record("HEAD")["tokens"], expected);
    let metrics = json!({ "scripted-1": { "requests": { "count": 1 }, "usage": usage } });
    session.write("session.shutdown", json!({ "shutdownType": "routine", "modelMetrics": metrics }));
    let whole = shiftlog::agent::find("copilot").unwrap().parse(&fs::read(&session.path).unwrap());
    let mut tally = shiftlog::transcript::Tally::default();
    tally.add(&whole);
    assert_eq!(serde_json::to_value(tally.tokens().unwrap()).unwrap(), expected);
}

#[test]
fn a_day_with_copilot_is_recorded_and_its_session_goes_on() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=copilot", "-q"]).ok();
    let session = Session::new(&scratch);
    session.hook("sessionStart", json!({ "source": "new" }));
    session.start();
    session.prompt("add a");
    session.commits("a.txt", " && false");
    session.hook("agentStop", json!({ "transcriptPath": session.path, "stopReason": "end_turn" }));
    session.prompt("add b");
    session.commits("b.txt", "");
    session.write("assistant.message", json!({ "content": "Done." }));
    session.hook("agentStop", json!({ "transcriptPath": session.path, "stopReason": "end_turn" }));
    session.hook("sessionEnd", json!({ "reason": "user_exit" }));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["model"], &first["session"]], ["copilot", "claude-sonnet-4.5", ID]);
    assert_eq!(first["tokens"]["output"], 42);
    assert!(scratch.raw("HEAD~1", &[]).contains("exit code 1"), "the result of the call is with its commit");

    let text = fs::read(&session.path).unwrap();
    let stored = scratch.raw("HEAD", &["--full"]).into_bytes();
    assert!(text.starts_with(&stored), "byte for byte");
    fs::remove_dir_all(scratch.home().join(".copilot")).unwrap();
    fake_program(
        &scratch,
        "copilot",
        "dir=\"$HOME/.copilot/session-state/${1#--resume=}\"\ncat \"$dir/events.jsonl\" >\"$HOME/found\"\n\
         cat \"$dir/workspace.yaml\" >\"$HOME/workspace\"\n",
    );
    let printed = scratch.shiftlog("resume", ["--print"]).ok();
    assert!(printed.ends_with(&format!("run copilot --resume={ID} in {}\n", scratch.top.display())), "{printed}");
    assert!(!scratch.home().join(".copilot").exists(), "--print writes nothing");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read(scratch.home().join("found")).unwrap(), stored);
    let top = scratch.top.display();
    let expected = format!(
        "id: {ID}\ncwd: \"{top}\"\ngit_root: \"{top}\"\nrepository: \"dev/demo-app\"\nbranch: \"main: x\"\n\
         created_at: 2026-07-25T12:35:00.000Z\nupdated_at: 2026-07-25T12:35:00.000Z\n"
    );
    assert_eq!(fs::read_to_string(scratch.home().join("workspace")).unwrap(), expected);
    scratch.assert_sound();
}

#[test]
fn a_session_without_hooks_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = Session::new(&scratch);
    session.start();
    session.write("user.message", json!({ "content": "add a" }));
    session.edits("a.txt");
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    scratch.commit("c.txt", "by hand\n", "nothing new was said");
    assert_eq!(scratch.records("HEAD").len(), 0);
}

#[test]
fn a_session_that_was_started_above_the_repository_is_named_by_the_environment_of_its_shell() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = Session::new(&scratch);
    fs::create_dir_all(session.path.parent().unwrap()).unwrap();
    session.write("session.start", json!({ "sessionId": ID, "version": 1, "context": { "cwd": scratch.root() } }));
    session.write("user.message", json!({ "content": "add a" }));
    scratch.write("a.txt", "one\n");
    scratch.git(["add", "a.txt"]).ok();
    let mut command = scratch.command("git", &scratch.top);
    let ran = command.env("COPILOT_AGENT_SESSION_ID", ID).args(["commit", "-q", "-m", "add a"]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    let said = format!("[main {}] add a", &scratch.id("HEAD")[..7]);
    session
        .write("tool.execution_complete", json!({ "toolCallId": "1", "success": true, "result": { "content": said } }));
    assert!(scratch.raw("HEAD", &[]).contains(&said), "the next command completes the record");
}

/// Runs hooks and then a commit in one process of the agent, whose shell names the second session: the first one has written
/// its transcript before its hooks run, the second one after, or never. Returns the repository.
fn two_in_one_process(is_written: bool) -> Scratch {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=copilot", "-q"]).ok();
    let session = Session::new(&scratch);
    session.start();
    session.write("user.message", json!({ "content": "add a" }));
    let other = scratch.home().join(".copilot/session-state").join(OTHER);
    for (name, id) in [("first", ID), ("second", OTHER)] {
        let payload = json!({ "sessionId": id, "timestamp": 1_784_982_920_820_u64, "cwd": scratch.top, "prompt": "x" });
        fs::write(scratch.root().join(name), payload.to_string()).unwrap();
    }
    let text = fs::read_to_string(&session.path).unwrap().replace(ID, OTHER).replace("add a", "add b");
    fs::write(scratch.root().join("events"), text).unwrap();
    scratch.write("b.txt", "b\n");
    scratch.git(["add", "b.txt"]).ok();
    let script = "git-shiftlog--hook copilot userPromptSubmitted <../first; \
         git-shiftlog--hook copilot userPromptSubmitted <../second; \
         if test $1 = true; then mkdir -p \"$2\" && cp ../events \"$2/events.jsonl\"; fi; git commit -q -m 'add b'; exit $?";
    let mut agent = scratch.command(scratch.root().join("bin/claude"), &scratch.top);
    agent.env("COPILOT_AGENT_SESSION_ID", OTHER).args(["-c", script, "copilot", &is_written.to_string()]).arg(&other);
    assert!(agent.status().unwrap().success());
    scratch
}

#[test]
fn the_next_session_of_one_process_gets_its_commit_although_its_transcript_came_after_its_hooks() {
    let scratch = two_in_one_process(true);
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["prompt"]], [OTHER, "add b"], "{}", scratch.log());
}

#[test]
fn the_result_of_a_commit_that_a_sub_agent_made_is_awaited_by_the_session_that_has_a_transcript() {
    let scratch = two_in_one_process(false);
    assert_eq!(scratch.record("HEAD")["session"], ID, "{}", scratch.log());
    let session = Session::new(&scratch);
    let said = format!("[main {}] add b", &scratch.id("HEAD")[..7]);
    session
        .write("tool.execution_complete", json!({ "toolCallId": "1", "success": true, "result": { "content": said } }));
    session.hook("agentStop", json!({ "transcriptPath": session.path }));
    assert!(scratch.raw("HEAD", &[]).contains(&said), "{}", scratch.log());
}

#[test]
fn a_repository_made_anew_at_the_same_place_does_not_get_the_sessions_of_the_old_one() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = Session::new(&scratch);
    session.start();
    session.write("user.message", json!({ "content": "add a" }));
    session.edits("a.txt");
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().append(true).open(&session.path).unwrap().set_modified(before).unwrap();
    if fs::metadata(scratch.top.join(".git")).unwrap().created().is_err() {
        return crate::support::skip("this file system does not tell when a directory was made");
    }
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.records("HEAD").len(), 0, "it was written an hour before there was the repository");
}

#[test]
fn a_hostile_session_id_is_no_directory() {
    refuse_hostile_ids("copilot", "{\"type\":\"user.message\",\"data\":{\"content\":\"x\"}}\n");
}
