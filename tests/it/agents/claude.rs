//! Claude Code: what nobody typed, and sessions that repeat the words of another.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Scratch, Session};

const PARENT: &str = "c6c6639f-9854-408f-9fdc-f1f993d96bc7";
const FORK: &str = "98c80e8e-1404-4b0e-a59e-f167dc2a56d6";

/// Says something into the transcript of a session, in a second of one minute.
fn line(session: &str, kind: &str, second: u32, content: Value) -> String {
    let record = json!({ "type": kind, "uuid": format!("u{second}"), "sessionId": session,
        "timestamp": format!("2026-11-22T18:51:{second:02}.000Z"), "message": { "role": kind, "content": content } });
    format!("{record}\n")
}

fn hook(scratch: &Scratch, session: &str, transcript: &PathBuf, event: &str, more: Value) {
    let mut payload =
        json!({ "session_id": session, "transcript_path": transcript, "cwd": scratch.top, "hook_event_name": event });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    super::run_hook(scratch, ".claude/settings.local.json", event, &payload);
}

#[test]
fn a_forked_session_does_not_repeat_the_words_of_its_parent_on_its_first_commit() {
    let scratch = Scratch::set_up();
    let folder = scratch.home().join(".claude/projects/x");
    fs::create_dir_all(&folder).unwrap();
    let (parent, fork) = (folder.join(format!("{PARENT}.jsonl")), folder.join(format!("{FORK}.jsonl")));
    let words = |session: &str| {
        let edit = json!([{ "type": "tool_use", "id": "e1", "name": "Write",
            "input": { "file_path": scratch.top.join("a.txt"), "content": "one" } }]);
        let result = json!([{ "type": "tool_result", "tool_use_id": "e1", "content": "done" }]);
        [
            line(session, "user", 10, "add a".into()),
            line(session, "assistant", 11, edit),
            line(session, "user", 12, result),
            line(session, "assistant", 13, json!([{ "type": "text", "text": "There is a now." }])),
        ]
        .concat()
    };
    fs::write(&parent, words(PARENT)).unwrap();
    hook(&scratch, PARENT, &parent, "SessionStart", json!({ "source": "startup" }));
    hook(&scratch, PARENT, &parent, "UserPromptSubmit", json!({ "prompt": "add a" }));
    scratch.commit("a.txt", "one", "add a");
    assert_eq!(scratch.record("HEAD")["session"], PARENT);

    // The fork begins with a record of its own; then come all records of the parent under its own id, as old as they are.
    let own = json!({ "type": "queue-operation", "operation": "enqueue", "timestamp": "2026-11-22T18:51:20.000Z",
        "sessionId": FORK });
    let edit = json!([{ "type": "tool_use", "id": "e2", "name": "Write",
        "input": { "file_path": scratch.top.join("b.txt"), "content": "two" } }]);
    let new = [line(FORK, "user", 21, "add b".into()), line(FORK, "assistant", 22, edit)].concat();
    fs::write(&fork, format!("{own}\n{}{new}", words(FORK))).unwrap();
    hook(&scratch, FORK, &fork, "SessionStart", json!({ "source": "fork" }));
    hook(&scratch, FORK, &fork, "UserPromptSubmit", json!({ "prompt": "add b" }));
    scratch.commit("b.txt", "two", "add b");
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["prompt"]], [FORK, "add b"]);
    assert_eq!([&record["turns"], &record["messages"]], [1, 1]);
    assert_eq!(scratch.raw("HEAD", &[]), new, "the increment is what the fork said itself");
    assert_eq!(scratch.raw("HEAD", &["--full"]), fs::read_to_string(&fork).unwrap(), "byte for byte");
    scratch.assert_sound();
}

#[test]
fn a_commit_of_a_sub_agent_has_its_own_answer_although_a_call_of_the_session_ends_first() {
    commit_of_a_sub_agent(false);
    commit_of_a_sub_agent(true);
}

/// A sub-agent commits while the session waits for the commit; `is_written` says that the session's own call has its answer
/// when the hook for it runs.
fn commit_of_a_sub_agent(is_written: bool) {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("delegate, and wait");
    session.calls("wait", "Bash", &json!({ "command": "until git log; do sleep 1; done" }));
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("agent-a1b2.jsonl");
    let words = "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"role\":\"user\",\"content\":\"commit it\"}}\n";
    fs::write(&path, words).unwrap();
    fs::write(scratch.top.join("helper.txt"), "by a helper\n").unwrap();
    let commit = session.runs_commit(&["-m", "by a helper"]);
    let own = format!("There is {commit}.");
    if is_written {
        session.answers("wait", &own);
    }
    session.hook_for("PostToolUse", "wait");
    if !is_written {
        session.answers("wait", &own);
    }
    let answer = format!("[main {}] by a helper", &commit[..7]);
    let more = json!({ "agent_id": "a1b2", "tool_name": "Bash", "tool_use_id": "c1",
        "tool_input": { "command": "git commit" }, "tool_response": { "stdout": answer } });
    hook(&scratch, "s1", &session.transcript, "PostToolUse", more);
    let content = json!([{ "type": "tool_result", "tool_use_id": "c1", "content": answer }]);
    let answer = json!({ "type": "user", "isSidechain": true, "message": { "role": "user", "content": content } });
    let expected = format!("{words}{answer}\n");
    fs::write(&path, &expected).unwrap();
    session.says("Done.");
    session.hook("Stop");
    assert_eq!(scratch.raw(&commit, &["--session=s1.a1b2"]), expected, "{}", scratch.log());
}

#[test]
fn what_a_session_says_of_a_commit_of_its_sub_agent_is_not_the_answer_to_that() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("delegate it");
    session.calls("task", "Task", &json!({ "description": "commit", "prompt": "commit it" }));
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("agent-a1b2.jsonl");
    let words = "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"role\":\"user\",\"content\":\"commit it\"}}\n";
    fs::write(&path, words).unwrap();
    fs::write(scratch.top.join("helper.txt"), "by a helper\n").unwrap();
    let commit = session.runs_commit(&["-m", "by a helper"]);
    let answer = format!("[main {}] by a helper", &commit[..7]);
    // The sub-agent's answer is written after the hook for it, and after that the session's own, which names the commit.
    let more = json!({ "agent_id": "a1b2", "tool_name": "Bash", "tool_use_id": "c1",
        "tool_input": { "command": "git commit" }, "tool_response": { "stdout": answer } });
    hook(&scratch, "s1", &session.transcript, "PostToolUse", more);
    let content = json!([{ "type": "tool_result", "tool_use_id": "c1", "content": answer }]);
    let record = json!({ "type": "user", "isSidechain": true, "message": { "role": "user", "content": content } });
    let expected = format!("{words}{record}\n");
    session.answers("task", &format!("It is committed as {commit}."));
    fs::write(&path, &expected).unwrap();
    session.hook_for("PostToolUse", "task");
    session.says("Done.");
    session.hook("Stop");
    session.hook("SessionEnd");
    assert_eq!(scratch.raw(&commit, &["--session=s1.a1b2"]), expected, "{}", scratch.log());
}

/// Runs the hooks of a session whose agent writes nothing until `at`, and returns the transcript.
fn writes_late(scratch: &Scratch, at: &str) -> String {
    let session = scratch.session("s1");
    let path = session.transcript.clone();
    let aside = path.with_extension("aside");
    let hook = |event: &str, call_id: &str| {
        let is_late = path.exists() && event != at;
        if is_late {
            fs::rename(&path, &aside).unwrap();
        }
        session.hook_for(event, call_id);
        if is_late {
            fs::rename(&aside, &path).unwrap();
        }
    };
    session.calls("c1", "Bash", &json!({ "command": "git commit" }));
    fs::remove_file(&path).unwrap();
    fs::write(scratch.top.join("a.txt"), "one\n").unwrap();
    let commit = session.runs_commit(&["-m", "add a"]);
    hook("PostToolUse", "c1");
    let records = [
        json!({ "type": "user", "message": { "role": "user", "content": "add a" } }),
        json!({ "type": "assistant", "message": { "role": "assistant", "model": "m", "content": [
            { "type": "tool_use", "id": "c1", "name": "Bash", "input": { "command": "git commit" } }] } }),
        json!({ "type": "user", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "c1", "content": format!("[main {}] add a", &commit[..7]) }] } }),
    ];
    fs::write(&path, records.map(|record| format!("{record}\n")).concat()).unwrap();
    hook("Stop", "");
    hook("SessionEnd", "");
    session.text()
}

#[test]
fn a_session_that_writes_its_first_words_after_the_commit_is_recorded_on_it() {
    for at in ["Stop", "SessionEnd"] {
        let scratch = Scratch::set_up();
        let words = writes_late(&scratch, at);
        assert_eq!(scratch.raw("HEAD", &[]), words, "{at}: {}", scratch.log());
        assert_eq!(scratch.record("HEAD")["prompt"], "add a");
    }
}

#[test]
fn a_session_that_writes_the_answer_alone_after_its_last_hook_gets_that_too() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    fs::write(scratch.top.join("a.txt"), "one\n").unwrap();
    let commit = session.runs_commit(&["-m", "add a"]);
    session.hook_for("PostToolUse", "c1");
    session.prompt("add a");
    session.calls("c1", "Bash", &json!({ "command": "git commit" }));
    session.hook("SessionEnd");
    let words = session.text();
    assert_eq!(scratch.raw("HEAD", &[]), words, "{}", scratch.log());
    session.answers("c1", &format!("[main {}] add a", &commit[..7]));
    scratch.shiftlog("show", ["HEAD"]).ok();
    assert_eq!(scratch.raw("HEAD", &[]), session.text(), "{}", scratch.log());
}

#[test]
fn a_session_that_writes_its_first_words_after_its_last_hook_is_recorded_by_the_next_command_or_commit() {
    let scratch = Scratch::set_up();
    let words = writes_late(&scratch, "never");
    assert_ne!(scratch.git(["notes", "--ref=shiftlog", "show", "HEAD"]).code, 0);
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    assert!(shown.contains("> add a"), "{shown}");
    assert_eq!(scratch.raw("HEAD", &[]), words, "{}", scratch.log());

    let scratch = Scratch::set_up();
    let words = writes_late(&scratch, "never");
    scratch.commit("b.txt", "two", "by a person");
    assert_eq!(scratch.raw("HEAD~1", &[]), words, "{}", scratch.log());
    assert_ne!(scratch.git(["notes", "--ref=shiftlog", "show", "HEAD"]).code, 0);
}

#[test]
fn what_a_person_runs_with_an_exclamation_mark_is_no_prompt_but_is_found() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("<bash-input>git add -A && make check</bash-input>");
    session.prompt("<bash-stdout>the jitter is checked</bash-stdout><bash-stderr></bash-stderr>");
    session.prompt("now write a");
    session.edits("a.txt", "one\n");
    session.commits("add a");
    let record = scratch.record("HEAD");
    assert_eq!([&record["prompt"], &record["turns"]], [&json!("now write a"), &json!(1)]);
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    assert!(
        shown.contains("-- ! git add -A && make check\n") && shown.contains("-- the jitter is checked\n"),
        "{shown}"
    );
    for pattern in ["! git add", "make check", "jitter is"] {
        let found = scratch.shiftlog("grep", ["--in=notices", "-c", "-e", pattern]).ok();
        assert!(found.trim_end().ends_with(":1"), "{pattern}: {found}");
    }
}

/// Says what Claude Code writes for a command of the user, and what it tells the model then, if that is anything.
fn types(session: &Session<'_>, name: &str, args: &str, expansion: &str) {
    let args = if args.is_empty() { String::new() } else { format!("\n<command-args>{args}</command-args>") };
    session.prompt(&format!("<command-message>{name}</command-message>\n<command-name>/{name}</command-name>{args}"));
    if !expansion.is_empty() {
        let message = json!({ "role": "user", "content": [{ "type": "text", "text": expansion }] });
        let record = json!({ "type": "user", "isMeta": true, "sessionId": session.id, "message": message,
            "timestamp": "2026-01-02T03:04:06Z" });
        session.append(format!("{record}\n").as_bytes());
    }
}

/// A session with three turns, of which the second is an ordinary one.
fn with_commands(scratch: &Scratch) -> Session<'_> {
    let session = scratch.session("s1");
    types(&session, "model", "", "");
    types(&session, "fix-issue", "42 and mind the cap", "Please fix the issue with this number.\nRead it first.");
    session.edits("a.txt", "one\n");
    session.prompt("now write b");
    session.edits("b.txt", "two\n");
    types(&session, "deploy", "", "Deploy the branch.");
    session.edits("c.txt", "three\n");
    session.commits("add all");
    session
}

#[test]
fn a_slash_command_is_a_prompt_with_a_turn_of_its_own() {
    let scratch = Scratch::set_up();
    with_commands(&scratch);
    let record = scratch.record("HEAD");
    assert_eq!([&record["prompt"], &record["turns"]], [&json!("/fix-issue 42 and mind the cap"), &json!(3)]);
    let log = scratch.shiftlog("log", ["-1"]).ok();
    assert!(log.contains("/fix-issue 42 and mind the cap"), "{log}");
    let shown = scratch.shiftlog("show", ["-vv", "HEAD"]).ok();
    let lines =
        ["> /fix-issue 42 and mind the cap", "-- /model", "-- Please fix the issue with this number.", "> /deploy"];
    assert!(lines.iter().all(|line| shown.lines().any(|shown| shown.trim() == *line)), "{shown}");
    let document = scratch.shiftlog("show", ["--format=markdown", "HEAD"]).ok();
    assert!(document.contains("/fix-issue 42 and mind the cap"), "{document}");
    let second = scratch.shiftlog("show", ["--turn=2", "HEAD"]).ok();
    assert!(second.contains("> now write b") && !second.contains("/deploy"), "{second}");
    for (file, prompt) in [("a.txt", "/fix-issue 42 and mind the cap"), ("b.txt", "now write b"), ("c.txt", "/deploy")]
    {
        let why = scratch.shiftlog("why", [&format!("{file}:1")]).ok();
        assert!(why.contains(prompt), "{file}: {why}");
    }
    scratch.assert_sound();
}

#[test]
fn the_words_of_slash_commands_are_found_in_their_turns() {
    let scratch = Scratch::set_up();
    with_commands(&scratch);
    let turns = |words: &[&str]| {
        let found = scratch.shiftlog("grep", [&["--json"][..], words].concat()).ok();
        let of_line = |line: &str| {
            let found: Value = serde_json::from_str(line).unwrap();
            (found["turn"].as_u64().unwrap(), found["part"].as_str().unwrap().to_owned())
        };
        found.lines().map(of_line).collect::<Vec<_>>()
    };
    let prompt = |turn| vec![(turn, "prompt".to_owned())];
    let notice = |turn| vec![(turn, "notice".to_owned())];
    assert_eq!(turns(&["mind"]), prompt(1));
    assert_eq!(turns(&["fix-issue 42 and"]), prompt(1), "across the passages of the record");
    assert_eq!(turns(&["-i", "FIX-ISSUE 42"]), prompt(1));
    assert_eq!(turns(&["write b"]), prompt(2));
    assert_eq!(turns(&["^/deploy$"]), prompt(3));
    assert_eq!(turns(&["--in=notices", "Read it"]), notice(1));
    assert_eq!(turns(&["Deploy the branch"]), notice(3));
    assert_eq!(turns(&["^/model"]), notice(0));
    let found = scratch.shiftlog("search", ["cap", "fix", "issue"]).ok();
    assert!(found.contains("/fix-issue 42 and mind the cap"), "{found}");
    let found = scratch.shiftlog("log", ["-S", "issue 42 and mind", "--format=%s"]).ok();
    assert_eq!(found.trim(), "add all");
}

#[test]
fn commands_of_local_records_and_of_the_model_begin_no_turn() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write a");
    let local = |content: &str| {
        let record = json!({ "type": "system", "subtype": "local_command", "content": content, "sessionId": "s1",
            "timestamp": "2026-01-02T03:04:06Z" });
        session.append(format!("{record}\n").as_bytes());
    };
    local("<command-name>/rename</command-name><command-args>the jitter table</command-args>");
    local("<local-command-stdout>It has a name now.</local-command-stdout>");
    let text = "<command-message>tides</command-message><command-name>/tides</command-name>";
    let record = json!({ "type": "user", "sourceToolUseID": "t1", "sessionId": "s1", "timestamp": "2026-01-02T03:04:06Z",
        "message": { "role": "user", "content": text } });
    session.append(format!("{record}\n").as_bytes());
    session.edits("a.txt", "one\n");
    session.commits("add a");
    assert_eq!(scratch.record("HEAD")["turns"], 1);
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    let lines = ["-- /rename the jitter table", "-- It has a name now.", "-- /tides"];
    assert!(lines.iter().all(|line| shown.lines().any(|shown| shown.trim() == *line)), "{shown}");
}

#[test]
fn half_an_emoji_in_a_payload_does_not_lose_its_commit() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("add a");
    session.edits("a.txt", "one\n");
    // The process is another one, and no variable names the session: only the payload does.
    let payload = format!(
        "{{\"session_id\":\"s2\",\"transcript_path\":{},\"cwd\":{},\"prompt\":\"cut \\ud83d\"}}",
        json!(session.transcript),
        json!(scratch.top)
    );
    let ran = scratch.run_with_input("git-shiftlog--hook", ["claude", "UserPromptSubmit"], payload.as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(!scratch.log().contains("names no session"), "{}", scratch.log());
}
