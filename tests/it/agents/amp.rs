//! Amp: a plugin in place of hooks, threads that are documents, and a server that no hook asks.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    come_back, fake_program, files_below, fixture, payload_tells, refuse_hostile_ids, set_up_and_back, survive_cuts,
    survive_payloads, told,
};
use crate::support::{Scratch, feed, skip};

const ID: &str = "T-019ca1ce-3ae2-7686-a41e-ccc078837f8a";
const FILE: &str = ".amp/plugins/shiftlog.ts";

#[test]
fn every_thread_parses_and_comes_back() {
    let paths = files_below(&fixture("amp/threads"));
    assert_eq!(paths.len(), 2, "{paths:?}");
    let expected = snapbox::file!["../../data/amp-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("amp", &paths), expected);
    come_back("amp", &paths);
    survive_cuts("amp", &paths);
}

#[test]
fn every_payload_is_survived_and_says_whose_it_is() {
    for path in files_below(&fixture("amp/hooks")) {
        payload_tells(&path, "amp", "amp", ID, "/home/dev/harbour");
    }
    survive_payloads("amp", "amp/hooks", |_| "PostToolUse".to_owned());
}

#[test]
fn the_plugin_is_a_file_of_its_own_and_decides_nothing() {
    let text = set_up_and_back(&["--agent=amp"], FILE, &[(".amp/settings.json", "{ // mine\n}\n")]);
    assert!(text.starts_with("// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now\n"), "{text}");
    assert!(!text.contains("tool.call"), "an answer to it decides whether a tool may run");
    let shared = set_up_and_back(&["--agent=amp", "--shared"], FILE, &[]);
    assert!(shared.contains("const program = \"git-shiftlog--hook\";\n"), "{shared}");
    let scratch = Scratch::new();
    scratch.write(FILE, "// somebody's own\n");
    scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
    assert_eq!(fs::read_to_string(scratch.top.join(FILE)).unwrap(), "// somebody's own\n");
}

const DRIVER: &str = r#"
import plugin from "./shiftlog.mjs";
const handlers = new Map();
plugin({ on: (event, handler) => handlers.set(event, handler) });
const [event, value, context] = process.argv.slice(2);
if (handlers.get(event)(JSON.parse(value), JSON.parse(context)) !== undefined) throw new Error("it answers");
"#;

/// Lets the plugin hear of something as Amp does, and waits for what it starts.
#[track_caller]
fn tell(scratch: &Scratch, event: &str, value: &Value, context: &Value) {
    let plugin = fs::read_to_string(scratch.top.join(FILE)).unwrap();
    assert!(plugin.contains("child.unref();\n"), "Amp does not wait for it");
    let dir = scratch.root().join("plugin");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("shiftlog.mjs"), plugin.replace("child.unref();\n", "\n")).unwrap();
    fs::write(dir.join("driver.mjs"), DRIVER).unwrap();
    let driver = dir.join("driver.mjs");
    let args = [driver.to_str().unwrap(), event, &value.to_string(), &context.to_string()].map(str::to_owned);
    let ran = feed(scratch.command("node", &scratch.top).args(args), b"");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{event}");
}

fn has_node() -> bool {
    let has = std::process::Command::new("node").arg("--version").output().is_ok();
    if !has {
        skip("no node to run the plugin with");
    }
    has
}

/// A thread that is written anew each time, as Amp did while it kept threads here.
struct Thread<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
    messages: Vec<Value>,
}

impl<'s> Thread<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        let threads = scratch.home().join(".local/share/amp/threads");
        fs::create_dir_all(&threads).unwrap();
        Thread { scratch, path: threads.join(format!("{ID}.json")), messages: Vec::new() }
    }

    fn text(&self) -> String {
        let tree = json!({ "uri": format!("file://{}", self.scratch.top.display()) });
        let thread = json!({ "v": self.messages.len(), "id": ID, "created": 1_772_241_173_221_u64,
            "messages": self.messages, "env": { "initial": { "trees": [tree] } }, "title": "x" });
        serde_json::to_string_pretty(&thread).unwrap()
    }

    fn says(&mut self, role: &str, content: Value) {
        let mut message = json!({ "role": role, "messageId": self.messages.len(), "content": content });
        if role == "assistant" {
            message["usage"] = json!({ "model": "claude-opus-4-6", "inputTokens": 3, "outputTokens": 5 });
        }
        self.messages.push(message);
        fs::write(&self.path, self.text()).unwrap();
    }

    fn prompt(&mut self, words: &str) {
        self.says("user", json!([{ "type": "text", "text": words }]));
    }

    fn edits(&mut self, file: &str) {
        let input = json!({ "path": self.scratch.top.join(file), "content": "x\n" });
        self.says(
            "assistant",
            json!([{ "type": "tool_use", "id": format!("{file}-1"), "name": "create_file", "input": input }]),
        );
    }

    /// Commits a file in a tool call; what comes behind the commit may fail.
    fn commits(&mut self, file: &str, rest: &str) {
        self.edits(file);
        let input = json!({ "cmd": format!("git commit -qm {file}{rest}") });
        self.says("assistant", json!([{ "type": "tool_use", "id": file, "name": "Bash", "input": input }]));
        self.scratch.commit(file, "x\n", file);
        let code = u8::from(!rest.is_empty());
        let run = json!({ "status": "done", "result": { "output": format!("exit {code}"), "exitCode": code } });
        self.says("user", json!([{ "type": "tool_result", "toolUseID": file, "run": run }]));
        let value = json!({ "tool": "Bash", "toolUseID": file, "input": input, "status": "done", "output": "x" });
        tell(self.scratch, "tool.result", &value, &json!({ "thread": { "id": ID } }));
    }
}

#[test]
fn a_day_with_amp_is_recorded_and_its_thread_goes_on() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
    let mut thread = Thread::new(&scratch);
    let of_event = json!({ "thread": { "id": ID } });
    tell(&scratch, "session.start", &of_event, &json!({}));
    thread.prompt("add a");
    tell(&scratch, "agent.start", &json!({}), &of_event);
    thread.commits("a.txt", " && false");
    tell(&scratch, "agent.end", &json!({ "status": "done", "messages": [] }), &of_event);
    thread.prompt("add b");
    thread.commits("b.txt", "");
    thread.says("assistant", json!([{ "type": "text", "text": "Done." }]));
    tell(&scratch, "agent.end", &of_event, &json!({}));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["model"], &first["session"]], ["amp", "claude-opus-4-6", ID]);
    assert!(scratch.raw("HEAD~1", &[]).contains("exit 1"), "the result of the call is with its commit");
    scratch.assert_sound();

    fs::remove_dir_all(scratch.home().join(".local")).unwrap();
    fake_program(&scratch, "amp", "echo \"$*\" >\"$HOME/found\"\n");
    let printed = scratch.shiftlog("resume", ["--print"]).ok();
    assert!(printed.ends_with(&format!("run amp threads continue {ID} in {}\n", scratch.top.display())), "{printed}");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read_to_string(scratch.home().join("found")).unwrap(), format!("threads continue {ID}\n"));
    assert!(!scratch.home().join(".local/share/amp").exists(), "the server has the thread");
}

#[test]
fn the_plugin_lets_no_error_out() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
    let path = scratch.top.join(FILE);
    let text = fs::read_to_string(&path).unwrap();
    let start = text.find("const program = ").unwrap();
    let end = start + text[start..].find('\n').unwrap();
    fs::write(&path, format!("{}const program = \"/nowhere/at-all\";{}", &text[..start], &text[end..])).unwrap();
    for value in [json!({}), json!(null), json!({ "thread": { "id": ID } }), json!({ "thread": 1, "output": [5] })] {
        for event in ["session.start", "agent.start", "tool.result", "agent.end"] {
            tell(&scratch, event, &value, &json!({ "thread": { "id": ID } }));
        }
    }
}

fn add(scratch: &Scratch, id: &str) -> crate::support::Ran {
    scratch.shiftlog("add", ["--agent=amp", &format!("--session={id}"), "-q"])
}

#[test]
fn a_thread_on_the_server_is_fetched_for_a_person_and_never_for_a_hook() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
    let mut thread = Thread::new(&scratch);
    thread.prompt("add a");
    thread.edits("a.txt");
    let text = thread.text();
    fs::remove_file(&thread.path).unwrap();
    let export = scratch.root().join("export");
    fs::write(&export, &text).unwrap();
    let script = format!("echo \"$* $GIT_DIR\" >>\"$HOME/asked\"\ncat '{}'\n", export.display());
    fake_program(&scratch, "amp", &script);
    let payload = json!({ "hook_event_name": "SessionStart", "thread_id": ID, "cwd": scratch.top });
    scratch.run_with_input("git-shiftlog--hook", ["amp", "SessionStart"], payload.to_string().as_bytes());
    scratch.commit("a.txt", "x\n", "add a");
    let payload = json!({ "hook_event_name": "Stop", "thread_id": ID, "cwd": scratch.top });
    scratch.run_with_input("git-shiftlog--hook", ["amp", "Stop"], payload.to_string().as_bytes());
    assert_eq!(scratch.records("HEAD").len(), 0);
    assert!(!scratch.home().join("asked").exists(), "no hook asks the server");
    add(&scratch, ID).ok();
    assert_eq!(scratch.record("HEAD")["prompt"], "add a");
    assert_eq!(fs::read_to_string(scratch.home().join("asked")).unwrap(), format!("threads export {ID} \n"));
    assert_eq!(scratch.raw("HEAD", &["--full"]), text, "byte for byte");
    for other in ["T-019ca1ce-0000-7686-a41e-ccc078837f8a", "T-../x", "--help", "x"] {
        assert_ne!(add(&scratch, other).code, 0, "{other}: another thread, or none at all");
    }
}

#[test]
fn a_thread_without_a_plugin_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let mut thread = Thread::new(&scratch);
    fs::write(Path::new(&thread.path).with_file_name("T-1.json"), "{\"id\":\"T-1\",\"messages\":[]}").unwrap();
    thread.prompt("add a");
    thread.edits("a.txt");
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    scratch.commit("c.txt", "by hand\n", "nothing new was said");
    assert_eq!(scratch.records("HEAD").len(), 0);
}

#[test]
fn a_thread_from_elsewhere_is_looked_at_once() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let mut thread = Thread::new(&scratch);
    let threads = scratch.home().join(".local/share/amp/threads");
    let other = |id: &str, tree: &str, words: &[&str]| {
        let messages: Vec<Value> = words
            .iter()
            .map(|words| json!({ "role": "user", "content": [{ "type": "text", "text": words }] }))
            .collect();
        let text = json!({ "id": id, "messages": messages, "env": { "initial": { "trees": [{ "uri": tree }] } } });
        fs::write(threads.join(format!("{id}.json")), text.to_string()).unwrap();
    };
    let here = format!("file://{}", scratch.top.display());
    other("T-elsewhere", "file:///home/dev/other", &["far away"]);
    other("T-new", &here, &[]);
    thread.prompt("add a");
    thread.edits("a.txt");
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    // What is known is not asked again, and who had nothing to say can still say it.
    other("T-elsewhere", &here, &["not so far"]);
    other("T-new", &here, &["look at b.txt"]);
    scratch.commit("b.txt", "two\n", "add b");
    let recorded: Vec<Value> = scratch.records("HEAD").iter().map(|record| record["session"].clone()).collect();
    assert_eq!(recorded, ["T-new"]);
    // Without our state it is looked at again.
    scratch.lose_state();
    scratch.commit("c.txt", "three\n", "add c");
    assert_eq!(scratch.record("HEAD")["session"], "T-elsewhere");
}

#[test]
fn what_is_known_of_a_thread_ends_when_something_else_is_stored_for_it() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
    let thread = scratch.root().join(format!("{ID}.json"));
    let document = |words: &str, count: usize| {
        let message = |number: usize| json!({ "role": "user", "messageId": number, "content": [{ "type": "text", "text": format!("{words} {number}") }] });
        json!({ "v": count, "id": ID, "messages": (0..count).map(message).collect::<Vec<_>>() }).to_string()
    };
    let hook = |event: &str| {
        let payload = json!({ "session_id": ID, "transcript_path": thread, "cwd": scratch.top }).to_string();
        feed(scratch.command("git-shiftlog--hook", &scratch.top).args(["amp", event]), payload.as_bytes()).ok();
    };
    fs::write(&thread, document("words", 6)).unwrap();
    hook("SessionStart");
    scratch.commit("a", "1", "one");
    hook("Stop");
    // Somebody attaches another form of the same thread by hand, and then the thread goes on as it was.
    let other = scratch.root().join("other.json");
    fs::write(&other, document("other", 9)).unwrap();
    let session = format!("--session={ID}");
    scratch.shiftlog("add", ["HEAD", "--agent=amp", "-q", &session, "--transcript", other.to_str().unwrap()]).ok();
    fs::write(&thread, document("words", 8)).unwrap();
    scratch.commit("b", "2", "two");
    assert_eq!(scratch.records("HEAD").len(), 1, "{}", scratch.log());
    scratch.shiftlog("fsck", [] as [&str; 0]).ok();
    let whole = scratch.raw("HEAD", &["--full"]);
    assert!((0..8).all(|number| whole.contains(&format!("words {number}"))), "{whole}");
}

#[test]
fn a_hostile_thread_id_is_no_argument() {
    refuse_hostile_ids(
        "amp",
        "{\"id\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}\n",
    );
}
