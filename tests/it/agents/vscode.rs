//! Copilot Chat in VS Code: event streams and chat stores, and hooks that are declared for Copilot CLI.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use shiftlog::agent;
use shiftlog::transcript::Part;

use super::disturbed::assert_linear;
use super::{
    come_back, files_below, fixture, payload_tells, refuse_hostile_ids, run_hook, survive_cuts, survive_payloads, told,
};
use crate::support::Scratch;

const ID: &str = "48eb5d32-e8f9-4528-b791-92cec0da9dce";
const FILE: &str = ".github/hooks/shiftlog.json";

#[test]
fn every_conversation_parses_and_comes_back() {
    let is_transcript = |path: &PathBuf| {
        !path.ends_with("workspace.json") && !path.components().any(|part| part.as_os_str() == "hooks")
    };
    let paths: Vec<PathBuf> = files_below(&fixture("vscode")).into_iter().filter(is_transcript).collect();
    assert_eq!(paths.len(), 13, "{paths:?}");
    let expected = snapbox::file!["../../data/vscode-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("vscode", &paths), expected);
    come_back("vscode", &paths);
    survive_cuts("vscode", &paths);
}

#[test]
fn every_payload_is_survived_and_says_whose_it_is() {
    for path in files_below(&fixture("vscode/hooks")) {
        payload_tells(&path, "copilot", "vscode", ID, "/home/dev/harbour");
        payload_tells(&path, "claude", "vscode", ID, "/home/dev/harbour");
    }
    survive_payloads("copilot", "vscode/hooks", |file| file.split(['-', '.']).next().unwrap().to_owned());
}

/// Returns the storage of a workspace whose folder is the working tree.
fn workspace(scratch: &Scratch) -> PathBuf {
    let workspace = scratch.home().join(".config/Code/User/workspaceStorage/d4434f90293af27444dac2819d099c6a");
    fs::create_dir_all(workspace.join("chatSessions")).unwrap();
    fs::create_dir_all(workspace.join("GitHub.copilot-chat/transcripts")).unwrap();
    let folder = scratch.top.to_str().unwrap().replace("repo", "%72epo");
    fs::write(workspace.join("workspace.json"), json!({ "folder": format!("file://{folder}") }).to_string()).unwrap();
    workspace
}

fn append(path: &PathBuf, line: &Value) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[test]
fn a_day_in_vs_code_is_recorded_as_such() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=vscode", "-q"]).ok();
    let path = workspace(&scratch).join("GitHub.copilot-chat/transcripts").join(format!("{ID}.jsonl"));
    let write = |kind: &str, data: Value| {
        append(&path, &json!({ "type": kind, "data": data, "timestamp": "2026-05-24T19:13:31.000Z" }));
    };
    let hook = |event: &str, name: &str, more: Value| {
        let mut payload = json!({ "timestamp": "2026-05-24T19:13:31.786Z", "session_id": ID, "transcript_path": path,
            "hook_event_name": name, "cwd": scratch.top });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(&scratch, FILE, event, &payload);
    };
    let commits = |file: &str, rest: &str| {
        let command = json!({ "command": format!("git commit -qm {file}{rest}") });
        let edit = json!({ "filePath": scratch.top.join(file), "content": "x\n" }).to_string();
        let requests = json!([
            { "toolCallId": format!("{file}-1"), "name": "create_file", "arguments": edit },
            { "toolCallId": file, "name": "run_in_terminal", "arguments": command.to_string() }
        ]);
        write("assistant.message", json!({ "content": "Committing.", "toolRequests": requests }));
        scratch.commit(file, "x\n", file);
        write("tool.execution_complete", json!({ "toolCallId": file, "success": rest.is_empty() }));
        hook(
            "postToolUse",
            "PostToolUse",
            json!({ "tool_name": "run_in_terminal", "tool_input": command,
            "tool_response": "", "tool_use_id": format!("{file}__vscode-1779649961509") }),
        );
    };
    hook("sessionStart", "SessionStart", json!({ "source": "new" }));
    write("session.start", json!({ "sessionId": ID, "vscodeVersion": "1.119.0" }));
    write("user.message", json!({ "content": "add a" }));
    hook("userPromptSubmitted", "UserPromptSubmit", json!({ "prompt": "add a" }));
    commits("a.txt", " && false");
    hook("agentStop", "Stop", json!({ "stop_hook_active": false }));
    write("user.message", json!({ "content": "add b" }));
    hook("userPromptSubmitted", "UserPromptSubmit", json!({ "prompt": "add b" }));
    commits("b.txt", "");
    hook("agentStop", "Stop", json!({ "stop_hook_active": false }));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &second["session"]], ["vscode", ID], "though the hooks are declared for Copilot CLI");
    scratch.assert_sound();

    let ran = scratch.shiftlog("resume", Vec::<&str>::new());
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        format!(
            "fatal: Copilot Chat in VS Code takes up no chat from outside\n\
             hint: git shiftlog show --full --session={ID} --format=markdown\n"
        )
    );
    assert!(
        scratch.shiftlog("show", ["--full", &format!("--session={ID}"), "--format=markdown"]).ok().contains("add b")
    );
}

/// Returns a request of the chat store that edits a file, complete.
fn request(scratch: &Scratch, number: u64, words: &str, file: &str) -> Value {
    let arguments = json!({ "filePath": scratch.top.join(file), "content": "x\n" }).to_string();
    let call = json!({ "id": format!("call_{number}"), "name": "create_file", "arguments": arguments });
    json!({ "requestId": format!("request_{number}"), "timestamp": 1_779_649_961_000_u64, "modelId": "copilot/gpt-4.1",
        "message": { "text": words }, "response": [{ "value": "Done." }],
        "result": { "metadata": { "toolCallRounds": [{ "response": "Done.", "toolCalls": [call] }] } } })
}

#[test]
fn a_chat_without_hooks_is_found_in_the_store_when_a_commit_is_made() {
    for end in ["jsonl", "json"] {
        let scratch = Scratch::new();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let path = workspace(&scratch).join("chatSessions").join(format!("{ID}.{end}"));
        let (one, two) = (request(&scratch, 1, "add a", "a.txt"), request(&scratch, 2, "add b", "b.txt"));
        let document = |requests: Value| {
            let text = serde_json::to_string_pretty(&json!({ "version": 3, "requests": requests, "sessionId": ID }));
            fs::write(&path, text.unwrap()).unwrap();
        };
        if end == "json" {
            document(json!([one]));
        } else {
            append(&path, &json!({ "kind": 0, "v": { "version": 3, "sessionId": ID, "requests": [] } }));
            append(&path, &json!({ "kind": 2, "k": ["requests"], "v": [one] }));
        }
        scratch.commit("a.txt", "x\n", "add a");
        let first = scratch.record("HEAD");
        assert_eq!([&first["prompt"], &first["model"], &first["agent"]], ["add a", "gpt-4.1", "vscode"], "{end}");
        if end == "json" {
            document(json!([one, two]));
        } else {
            append(&path, &json!({ "kind": 2, "k": ["requests"], "v": [two] }));
            append(&path, &json!({ "kind": 1, "k": ["requests", 1, "modelState"], "v": { "value": 1 } }));
        }
        scratch.commit("b.txt", "x\n", "add b");
        let second = scratch.record("HEAD");
        assert_eq!([&second["prompt"], &second["turns"], &second["messages"]], [&json!("add b"), &json!(1), &json!(2)]);
        scratch.commit("c.txt", "by hand\n", "nothing new was said");
        assert_eq!(scratch.records("HEAD").len(), 0, "{end}");
        let stored = scratch.shiftlog("show", ["--raw", "--full", "HEAD~1"]).bytes;
        assert!(stored == fs::read(&path).unwrap(), "{end}: byte for byte");
        scratch.assert_sound();
    }
}

#[test]
fn reading_many_requests_or_changes_takes_time_in_proportion() {
    let request =
        |number: usize| json!({ "requestId": format!("r{number}"), "message": { "text": "x" }, "response": [] });
    assert_linear("vscode", |count| {
        let requests: Vec<Value> = (0..count).map(request).collect();
        json!({ "sessionId": "s", "requests": requests }).to_string().into_bytes()
    });
    assert_linear("vscode", |count| {
        let whole = json!({ "kind": 0, "v": { "sessionId": "s", "requests": [] } });
        let added = (0..count).map(|number| json!({ "kind": 2, "k": ["requests"], "v": [request(number)] }));
        let changed = (0..count).map(|number| {
            json!({ "kind": 1, "k": ["requests", number, "response"], "v": [{ "value": format!("said {number}") }] })
        });
        let lines = std::iter::once(whole).chain(added).chain(changed);
        lines.map(|line| format!("{line}\n")).collect::<String>().into_bytes()
    });
}

#[test]
fn a_chat_that_hooks_tell_is_not_recorded_a_second_time_from_the_store() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let workspace = workspace(&scratch);
    let stream = workspace.join("GitHub.copilot-chat/transcripts").join(format!("{ID}.jsonl"));
    let edit = json!({ "filePath": scratch.top.join("a.txt"), "content": "x\n" }).to_string();
    let calls = json!([{ "toolCallId": "1", "name": "create_file", "arguments": edit }]);
    append(&stream, &json!({ "type": "session.start", "data": { "sessionId": ID } }));
    append(&stream, &json!({ "type": "user.message", "data": { "content": "add a" } }));
    append(&stream, &json!({ "type": "assistant.message", "data": { "content": "", "toolRequests": calls } }));
    let mut one = request(&scratch, 1, "add a", "a.txt");
    one["result"]["metadata"]["sessionId"] = ID.into();
    append(&workspace.join("chatSessions/331fed7f.jsonl"), &json!({ "kind": 0, "v": { "requests": [one] } }));
    scratch.commit("a.txt", "x\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
}

/// Says what a log of changes tells: prompts, texts and calls.
fn say(lines: &[Value]) -> Vec<String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let messages = agent::find("vscode").unwrap().parse(text.as_bytes());
    let part = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::ToolCall(call) => Some(format!("{} {}", call.name, call.command.clone().unwrap_or_default())),
        Part::ToolResult(result) => Some(format!("= {}", result.text)),
        Part::Notice(text) => Some(format!("({text})")),
        _ => None,
    };
    messages
        .iter()
        .flat_map(|message| {
            let mark = if message.is_abandoned { "taken back: " } else { "" };
            message.parts.iter().filter_map(part).map(move |text| format!("{mark}{text}"))
        })
        .collect()
}

#[test]
fn a_log_of_changes_is_played_again() {
    let asked = |id: &str, words: &str| json!({ "requestId": id, "message": { "text": words }, "response": [] });
    let call = json!({ "id": "c", "name": "run_in_terminal", "arguments": "{\"command\":\"make\"}" });
    let result = json!({ "metadata": { "toolCallRounds": [{ "response": "Made.", "toolCalls": [call] }],
        "toolCallResults": { "c": { "content": [{ "value": "ok" }] } } } });
    let shown = json!({ "kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": "u",
        "toolSpecificData": { "kind": "terminal", "commandLine": { "original": "make" } } });
    let log = [
        json!({ "kind": 0, "v": { "requests": [asked("1", "one")] } }),
        json!({ "kind": 2, "k": ["requests", 0, "response"], "v": [{ "value": "Ma" }, shown] }),
        json!({ "kind": 1, "k": ["requests", 0, "response", 0, "value"], "v": "Made." }),
        json!({ "kind": 2, "k": ["requests"], "v": [asked("2", "two")] }),
        json!({ "kind": 2, "k": ["requests"], "i": 1, "v": [asked("3", "three")] }),
        json!({ "kind": 1, "k": ["requests", 1, "isCanceled"], "v": true }),
    ];
    let expected = ["one", "Made.", "run_in_terminal make", "taken back: two", "three", "(interrupted by the user)"];
    assert_eq!(say(&log), expected);
    let complete = json!({ "kind": 1, "k": ["requests", 0, "result"], "v": result });
    let whole = [&log[..], std::slice::from_ref(&complete)].concat();
    assert_eq!(say(&whole)[..4], ["one", "Made.", "run_in_terminal make", "= ok"], "the rounds have it best");
    // An increment that begins in the middle does not know the prompt.
    assert_eq!(say(std::slice::from_ref(&complete)), ["Made.", "run_in_terminal make", "= ok"]);
    let later = json!({ "kind": 1, "k": ["requests", 7, "result"], "v": result });
    assert_eq!(say(&[log[3].clone(), later]), ["two", "Made.", "run_in_terminal make", "= ok"]);
    // In pieces nothing is told twice.
    let mut parser = agent::find("vscode").unwrap().parser();
    let calls = |messages: Vec<shiftlog::transcript::Message>| {
        let parts = messages.into_iter().flat_map(|message| message.parts);
        parts.filter(|part| !matches!(part, Part::ToolResult(_))).count()
    };
    let told = calls(parser.parse(log.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes()));
    assert_eq!((told, calls(parser.parse(format!("{complete}\n").as_bytes()))), (6, 0));
    let hostile = json!({ "kind": 1, "k": ["requests", u64::MAX, "response", u64::MAX], "v": 1 });
    let deep = json!({ "kind": 1, "k": (vec![json!("requests"); 100_000]), "v": 1 });
    let path = [vec![json!("requests"), json!(0)], vec![json!("x"); 100_000]].concat();
    let deeper = json!({ "kind": 1, "k": path, "v": 1 });
    assert_eq!(
        say(&[log[0].clone(), hostile, deep, deeper, json!({ "kind": 2, "k": [1] }), json!({ "kind": 1, "k": [] })]),
        ["one"]
    );
}

#[test]
fn a_hostile_chat_id_is_no_file_name() {
    refuse_hostile_ids(
        "vscode",
        "{\"kind\":0,\"v\":{\"requests\":[{\"requestId\":\"1\",\"message\":{\"text\":\"x\"}}]}}\n",
    );
}
