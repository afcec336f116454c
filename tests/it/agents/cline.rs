//! Cline: a script for each event, and a document that is a list.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use shiftlog::agent;
use shiftlog::transcript::{Message, Part};

use super::{assert_taken, come_back, refuse_hostile_ids, run_command, survive_payloads};
use crate::support::Scratch;

const ID: &str = "1786000000000";
const EVENTS: &[&str] = &["TaskStart", "TaskResume", "PostToolUse", "TaskComplete", "TaskCancel"];

#[test]
fn every_payload_is_survived() {
    survive_payloads("cline", "cline/hooks", |_| "PostToolUse".into());
    assert_taken("cline/hooks", ID, true);
}

#[test]
fn a_task_reads_the_same_with_tools_in_words_and_in_records() {
    let environment = json!({ "type": "text", "text": "<environment_details>\n# Files\n</environment_details>" });
    let marked = json!([
        { "role": "user", "content": [{ "type": "text", "text": "<task>\nadd a\n</task>" }, environment] },
        { "role": "assistant", "content": [{ "type": "text", "text":
            "On it\n<execute_command>\n<command>git commit -qm x</command>\n</execute_command>" }] },
        { "role": "user", "content": [{ "type": "text", "text": "[execute_command for 'git commit'] Result:" },
            { "type": "text", "text": "[main 4e1c2aa] x" }, environment] },
        { "role": "user", "content": [{ "type": "text", "text": "[ERROR] You did not use a tool" }] },
    ]);
    let recorded = json!([
        { "role": "user", "content": [{ "type": "text", "text": "<task>\nadd a\n</task>" }, environment] },
        { "role": "assistant", "content": [{ "type": "text", "text": "On it" },
            { "type": "tool_use", "id": "c", "name": "execute_command", "input": { "command": "git commit -qm x" } }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": "[main 4e1c2aa] x" }] },
    ]);
    for task in [marked, recorded] {
        let messages = agent::find("cline").unwrap().parse(task.to_string().as_bytes());
        let prompts: Vec<String> = messages.iter().filter(|each| each.is_prompt()).map(Message::text).collect();
        assert_eq!(prompts, ["add a"]);
        let parts: Vec<&Part> = messages.iter().flat_map(|message| &message.parts).collect();
        let [_, Part::Text(said), Part::ToolCall(call), Part::ToolResult(result)] = parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!((&**said, call.command.as_deref()), ("On it", Some("git commit -qm x")));
        assert_eq!((&result.call_id, result.text.trim()), (&call.call_id, "[main 4e1c2aa] x"));
    }
}

#[test]
fn a_task_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("api_conversation_history.json");
    fs::write(&path, json!([{ "role": "user", "content": "hello" }]).to_string()).unwrap();
    come_back("cline", &[path]);
}

fn script(scratch: &Scratch, event: &str) -> PathBuf {
    scratch.top.join(".clinerules/hooks").join(event)
}

/// Runs a hook's script as Cline does, and asserts that it lets Cline go on.
fn hook(scratch: &Scratch, event: &str, more: &Value) {
    let mut payload = json!({ "hookName": event, "taskId": ID, "workspaceRoots": [scratch.top] });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let ran = run_command(scratch, script(scratch, event).to_str().unwrap(), &payload);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "{\"cancel\":false}\n", ""), "{ran:?}");
}

#[test]
fn a_day_with_cline_is_recorded() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=cline", "-q"]).ok();
    let folder = scratch.home().join(".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks").join(ID);
    fs::create_dir_all(&folder).unwrap();
    let mut said: Vec<Value> = Vec::new();
    let write = |said: &[Value]| {
        fs::write(folder.join("api_conversation_history.json"), json!(said).to_string()).unwrap();
    };
    for (name, rest) in [("one", " && false"), ("two", "")] {
        let tag = if name == "one" { "task" } else { "feedback" };
        said.push(json!({ "role": "user", "content": format!("<{tag}>\nadd {name}\n</{tag}>") }));
        write(&said);
        hook(&scratch, if name == "one" { "TaskStart" } else { "TaskResume" }, &json!({}));
        let file = format!("{name}.txt");
        let calls = json!([
            { "type": "tool_use", "id": format!("w-{name}"), "name": "write_to_file", "input": { "path": file, "content": "x" } },
            { "type": "tool_use", "id": name, "name": "execute_command", "input": { "command": "git commit" } }]);
        said.push(json!({ "role": "assistant", "content": calls }));
        write(&said);
        scratch.commit(&file, name, name);
        let output = format!("[main {}] exit {}", &scratch.id("HEAD")[..7], u8::from(!rest.is_empty()));
        let parameters = json!({ "command": format!("git commit -qm {name}{rest}") });
        let call =
            json!({ "toolName": "execute_command", "parameters": parameters, "result": output, "success": false });
        hook(&scratch, "PostToolUse", &json!({ "postToolUse": call }));
        let result = json!([{ "type": "tool_result", "tool_use_id": name, "content": output }]);
        said.push(json!({ "role": "user", "content": result }));
        write(&said);
        hook(&scratch, "TaskComplete", &json!({}));
    }
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add one", "add two"]);
    assert_eq!([&first["agent"], &first["session"]], ["cline", ID]);
    assert!(scratch.raw("HEAD~1", &[]).contains("exit 1"), "the result of the call is with its commit");
    assert_eq!(scratch.raw("HEAD", &["--full"]), json!(said).to_string(), "byte for byte");
    let ran = scratch.shiftlog("resume", Vec::<&str>::new());
    assert!(ran.code == 128 && ran.stderr.contains("takes up no session of a release before 3"), "{ran:?}");
    scratch.assert_sound();
}

/// A session of release 3, whose documents grow as Cline writes them.
struct Session<'s> {
    scratch: &'s Scratch,
    messages: Vec<Value>,
}

const NEW_ID: &str = "1795372535418_k9og2";

impl<'s> Session<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        let session = Session { scratch, messages: Vec::new() };
        fs::create_dir_all(session.path().parent().unwrap()).unwrap();
        let companion = json!({ "version": 1, "session_id": NEW_ID, "cwd": scratch.top, "model": "scripted-1" });
        fs::write(session.path().with_file_name(format!("{NEW_ID}.json")), companion.to_string()).unwrap();
        session
    }

    fn path(&self) -> PathBuf {
        self.scratch.home().join(".cline/data/sessions").join(NEW_ID).join(format!("{NEW_ID}.messages.json"))
    }

    fn document(&self) -> String {
        json!({ "version": 1, "updated_at": self.messages.len(), "agent": "lead", "sessionId": NEW_ID,
            "messages": self.messages, "system_prompt": "You are Cline." })
        .to_string()
    }

    fn says(&mut self, role: &str, content: Value) {
        let second = 1_795_372_536_000_u64 + 1000 * self.messages.len() as u64;
        let mut message = json!({ "id": format!("m{second}"), "role": role, "content": content, "ts": second });
        if role == "assistant" {
            message["modelInfo"] = json!({ "id": "scripted-1", "provider": "openai-compatible" });
            message["metrics"] =
                json!({ "inputTokens": 110, "outputTokens": 20, "cacheReadTokens": 100, "cacheWriteTokens": 0 });
        }
        self.messages.push(message);
        fs::write(self.path(), self.document()).unwrap();
    }

    /// Its hooks name a run, and in it the session.
    fn hook(&self, event: &str, name: &str, more: &Value) {
        let mut payload = json!({ "taskId": "conv_1", "sessionContext": { "rootSessionId": NEW_ID }, "hookName": name,
            "workspaceRoots": [self.scratch.top], "agent_id": "agent_1", "parent_agent_id": null });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook(self.scratch, event, &payload);
    }

    /// A prompt, a file, a commit by a tool, the tool's result.
    fn turn(&mut self, name: &str) {
        let prompt = format!("<user_input mode=\"act\">add {name}</user_input>");
        self.says("user", json!([{ "type": "text", "text": prompt }]));
        self.hook("TaskStart", "agent_start", &json!({}));
        let file = format!("{name}.txt");
        let edit = json!({ "type": "tool_use", "id": format!("e-{name}"), "name": "editor",
            "input": { "path": file, "new_text": name } });
        self.says("assistant", json!([{ "type": "text", "text": "On it." }, edit]));
        let input = json!({ "commands": [format!("git add {file} && git commit -m {name}")] });
        let call = json!({ "type": "tool_use", "id": name, "name": "run_commands", "input": input });
        self.says("assistant", json!([call]));
        self.scratch.commit(&file, name, name);
        let output = json!([{ "query": "git commit", "success": true,
            "result": format!("[main {}] {name}", &self.scratch.id("HEAD")[..7]) }]);
        let result = json!({ "id": name, "name": "run_commands", "input": input, "output": output });
        self.hook("PostToolUse", "tool_result", &json!({ "tool_result": result }));
        self.says("user", json!([{ "type": "tool_result", "tool_use_id": name, "content": output }]));
        self.says("assistant", json!([{ "type": "text", "text": format!("There is {name} now.") }]));
        self.hook("TaskComplete", "agent_end", &json!({}));
    }
}

#[test]
fn a_day_with_cline_3_is_recorded_and_its_session_goes_on() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=cline", "-q"]).ok();
    let mut session = Session::new(&scratch);
    session.turn("one");
    session.turn("two");
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add one", "add two"]);
    assert_eq!([&first["agent"], &first["session"], &first["model"]], ["cline", NEW_ID, "scripted-1"]);
    assert_eq!(first["tokens"]["cacheRead"].as_u64().map(|tokens| tokens % 100), Some(0));
    let shown = scratch.shiftlog("show", ["HEAD~1"]).ok();
    let short = &scratch.id("HEAD~1")[..7];
    assert!(shown.contains(&format!("[main {short}] one")), "the result of its own commit: {shown}");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.document(), "byte for byte");

    fs::remove_dir_all(scratch.home().join(".cline")).unwrap();
    super::fake_program(
        &scratch,
        "cline",
        "test \"$1\" = --id && dir=\"$HOME/.cline/data/sessions/$2\" && cp \"$dir/$2.messages.json\" \"$HOME/found\" &&\n\
         grep -q \"$(pwd -P)\" \"$dir/$2.json\"\n",
    );
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read_to_string(scratch.home().join("found")).unwrap(), session.document());
    // Cline takes a session for a new one, and writes over it, where one of these is not there.
    let companion = scratch.home().join(".cline/data/sessions").join(NEW_ID).join(format!("{NEW_ID}.json"));
    let companion: Value = serde_json::from_slice(&fs::read(companion).unwrap()).unwrap();
    for key in ["session_id", "source", "started_at", "status", "provider", "model", "cwd", "workspace_root"] {
        assert_ne!(companion[key].as_str().unwrap_or_default(), "", "{key}");
    }
    assert!(companion["pid"].is_i64());
    scratch.assert_sound();
}

#[test]
fn a_session_of_cline_3_is_found_without_hooks_in_its_own_directory_alone() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let mut session = Session::new(&scratch);
    session.says("user", json!([{ "type": "text", "text": "<user_input mode=\"act\">add a</user_input>" }]));
    let edit =
        json!({ "type": "tool_use", "id": "e", "name": "editor", "input": { "path": "a.txt", "new_text": "one" } });
    session.says("assistant", json!([edit]));
    scratch.commit("a.txt", "one", "add a");
    assert_eq!([&scratch.record("HEAD")["session"], &scratch.record("HEAD")["prompt"]], [NEW_ID, "add a"]);
    let other = Scratch::new();
    other.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let mut elsewhere = other.command("git", &other.top);
    elsewhere.env("HOME", scratch.home()).args(["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    crate::support::Ran::of(elsewhere.output().unwrap()).ok();
    assert_eq!(other.records("HEAD").len(), 0);
    let name = scratch.root().join("x.messages.json");
    fs::write(&name, session.document()).unwrap();
    other.shiftlog("add", ["-q", "--agent=cline", "--transcript", name.to_str().unwrap()]).ok();
    assert_eq!(other.record("HEAD")["session"], NEW_ID, "the document names its session, whatever its file is called");
}

#[test]
fn scripts_come_and_go_and_those_of_others_stay() {
    let scratch = Scratch::new();
    scratch.write(".clinerules/hooks/TaskStart", "#!/bin/sh\necho mine\n");
    let ran = scratch.shiftlog("init", ["--agent=cline"]);
    assert!(ran.stderr.contains("TaskStart' is not ours and is left alone"), "{ran:?}");
    for event in &EVENTS[1..] {
        let mode = script(&scratch, event).metadata().unwrap().permissions().mode();
        assert_ne!(mode & 0o100, 0, "{event} can be run");
    }
    scratch.shiftlog("init", ["--agent=cline", "-q"]).ok();
    scratch.shiftlog("deinit", ["-q"]).ok();
    let left = super::files_below(&scratch.top.join(".clinerules"));
    assert_eq!(left, [script(&scratch, "TaskStart")]);
    assert_eq!(fs::read_to_string(&left[0]).unwrap(), "#!/bin/sh\necho mine\n");
}

#[test]
fn a_file_of_rules_leaves_no_place_for_scripts() {
    let scratch = Scratch::new();
    scratch.write(".clinerules", "be kind\n");
    let ran = scratch.shiftlog("init", ["--agent=cline"]);
    assert!(ran.code == 0 && ran.stderr.contains("there is no place for hooks of Cline"), "{ran:?}");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_to_string(scratch.top.join(".clinerules")).unwrap(), "be kind\n");
}

#[test]
fn a_script_lets_cline_go_on_where_the_program_is_gone() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=cline", "-q"]).ok();
    let path = script(&scratch, "PostToolUse");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("git-shiftlog--hook", "gone")).unwrap();
    hook(&scratch, "PostToolUse", &json!({ "postToolUse": { "result": "x".repeat(1 << 20) } }));
}

#[test]
fn a_hostile_id_is_no_file_name() {
    refuse_hostile_ids("cline", "[{\"role\":\"user\",\"content\":\"x\"}]\n");
}
