//! Hooks that come at a bad moment: a document half written, a ref or our state locked, no room for files.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shiftlog::agent;
use shiftlog::capture::State;

use crate::support::{Scratch, feed};

const ID: &str = "T-019ca1ce-3ae2-7686-a41e-ccc078837f8a";

/// A thread of Amp, which is written anew with each message.
struct Thread {
    scratch: Scratch,
    path: PathBuf,
    messages: Vec<Value>,
}

impl Thread {
    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
        let threads = scratch.home().join(".local/share/amp/threads");
        fs::create_dir_all(&threads).unwrap();
        let thread = Thread { scratch, path: threads.join(format!("{ID}.json")), messages: Vec::new() };
        thread.hook("SessionStart", json!({}));
        thread
    }

    fn hook(&self, event: &str, more: Value) {
        let mut payload = json!({ "hook_event_name": event, "thread_id": ID, "cwd": self.scratch.top });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let ran = self.scratch.run_with_input("git-shiftlog--hook", ["amp", event], payload.to_string().as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    }

    fn says(&mut self, role: &str, content: Value) {
        self.messages.push(json!({ "role": role, "content": content }));
        let trees = json!([{ "uri": format!("file://{}", self.scratch.top.display()) }]);
        let thread = json!({ "v": self.messages.len(), "id": ID, "created": 1_772_241_173_221_u64,
            "messages": self.messages, "env": { "initial": { "trees": trees } } });
        fs::write(&self.path, thread.to_string()).unwrap();
    }

    /// Asks for a commit and makes it in a tool call; `disturb` says what is done before the hook of the call and after it.
    fn turn(&mut self, word: &str, is_answered_first: bool, disturb: impl FnOnce(&Self, &mut dyn FnMut())) {
        let prompt =
            json!([{ "type": "text", "text": format!("add {word}, please, with token=\"k9XrT2vQ8mZp4LwB7nYc\"") }]);
        self.says("user", prompt);
        self.hook("UserPromptSubmit", json!({}));
        let input = json!({ "cmd": format!("git commit -qm {word}") });
        let call = json!([{ "type": "tool_use", "complete": true, "id": word, "name": "Bash", "input": input }]);
        self.says("assistant", call);
        self.scratch.write(word, word);
        self.scratch.git(["add", word]).ok();
        let mut commit = self.scratch.command("git", &self.scratch.top);
        feed(commit.env("AGENT_THREAD_ID", ID).args(["commit", "-qm", word]), b"").ok();
        let output = format!("done with {word}");
        let run = json!({ "status": "done", "result": { "output": output, "exitCode": 0 } });
        let result = json!([{ "type": "tool_result", "toolUseID": word, "run": run }]);
        if is_answered_first {
            self.says("user", result.clone());
        }
        let more = json!({ "tool_name": "Bash", "tool_use_id": word, "tool_input": input, "status": "done",
            "tool_response": output });
        disturb(self, &mut || self.hook("PostToolUse", more.clone()));
        if !is_answered_first {
            self.says("user", result);
        }
        self.hook("Stop", json!({}));
    }

    /// Each of the last commits has its own turn and no other.
    #[track_caller]
    fn assert_each_has_its_turn(&self, words: &[&str]) {
        for (back, word) in words.iter().rev().enumerate() {
            let text = self.scratch.raw(&format!("HEAD~{back}"), &[]);
            let has =
                |other: &str| text.contains(&format!("add {other},")) && text.contains(&format!("done with {other}"));
            let of: Vec<&&str> = words.iter().filter(|other| has(other)).collect();
            let named: Vec<&&str> = words.iter().filter(|other| text.contains(&format!("add {other},"))).collect();
            assert_eq!((of, named), (vec![word], vec![word]), "{text}\n{}", self.scratch.log());
        }
        self.scratch.assert_sound();
    }
}

// The agent rewrites its document in place; what the hook saw of it passed for a conversation that keeps nothing.
#[test]
fn a_document_that_is_just_written_is_read_later() {
    let half = |text: &str| text[..200].to_owned();
    let none = |_: &str| String::new();
    let without_messages = |_: &str| format!("{{\"v\":1,\"id\":\"{ID}\",\"messages\":[]}}");
    let nothing_known = |_: &str| "{}".to_owned();
    for cut in [&half as &dyn Fn(&str) -> String, &none, &without_messages, &nothing_known] {
        let mut thread = Thread::new();
        thread.turn("a", false, |_, hook| hook());
        thread.turn("b", false, |_, hook| hook());
        thread.turn("c", false, |thread, hook| {
            let whole = fs::read_to_string(&thread.path).unwrap();
            fs::write(&thread.path, cut(&whole)).unwrap();
            hook();
            fs::write(&thread.path, whole).unwrap();
        });
        thread.turn("d", false, |_, hook| hook());
        thread.assert_each_has_its_turn(&["a", "b", "c", "d"]);
    }
}

// The text in the pending file is redacted, so that what the next capture compares differs from what an earlier one saw.
#[test]
fn a_document_that_waited_for_the_archive_is_not_told_again_with_the_next_commit() {
    for is_answered_first in [true, false] {
        let mut thread = Thread::new();
        thread.turn("a", false, |_, hook| hook());
        thread.turn("b", is_answered_first, |thread, hook| {
            let lock = thread.scratch.top.join(".git/refs/shiftlog/sessions.lock");
            fs::write(&lock, "").unwrap();
            hook();
            fs::remove_file(&lock).unwrap();
        });
        thread.turn("c", false, |_, hook| hook());
        thread.turn("d", false, |_, hook| hook());
        thread.assert_each_has_its_turn(&["a", "b", "c", "d"]);
    }
}

#[test]
fn a_hook_that_may_write_no_file_still_exits_in_silence() {
    let scratch = Scratch::set_up();
    let payload = json!({ "session_id": "s1", "cwd": scratch.top, "hook_event_name": "SessionStart" });
    let script = "ulimit -f 0; exec git-shiftlog--hook claude SessionStart";
    let ran = scratch.run_with_input("sh", ["-c", script], payload.to_string().as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

// Its pending file was called stored although no commit was found, and the words went to the next commit.
#[test]
fn a_commit_whose_objects_are_elsewhere_waits_for_them() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("kept elsewhere");
    session.edits("a.txt", "a\n");
    session.hook("PostToolUse");
    scratch.git(["add", "-A"]).ok();
    let (elsewhere, objects) = (scratch.root().join("elsewhere"), scratch.top.join(".git/objects"));
    fs::create_dir(&elsewhere).unwrap();
    let mut commit = scratch.command("git", &scratch.top);
    commit.env("CLAUDE_CODE_SESSION_ID", "s1").env("GIT_OBJECT_DIRECTORY", &elsewhere);
    feed(commit.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects).args(["commit", "-qm", "a"]), b"").ok();
    session.hook("Stop");
    let from = elsewhere.join(".");
    scratch.run_in(&scratch.top, "cp", ["-R", from.to_str().unwrap(), objects.to_str().unwrap()]).ok();
    assert!(scratch.raw("HEAD", &[]).contains("kept elsewhere"), "{}", scratch.log());
    scratch.assert_sound();
}

/// Holds our lock, as another process of ours does, while `act` runs.
pub fn with_our_lock(scratch: &Scratch, act: impl FnOnce()) {
    let lock = State::new(&scratch.top.join(".git")).lock(Instant::now() + Duration::from_secs(60)).unwrap();
    act();
    drop(lock);
}

/// Asserts that reading a long transcript costs not much more than reading its parts.
#[track_caller]
pub fn assert_linear(agent_name: &str, transcript: impl Fn(usize) -> Vec<u8>) {
    const PARTS: usize = 20;
    let agent = agent::find(agent_name).unwrap();
    let (part, whole) = (transcript(1000), transcript(1000 * PARTS));
    let count = |text: &[u8]| agent.parse(text).len();
    let begin = Instant::now();
    let in_parts: usize = (0..PARTS).map(|_| count(&part)).sum();
    let (parts, begin) = (begin.elapsed(), Instant::now());
    assert_eq!(count(&whole), in_parts, "the same messages");
    let took = begin.elapsed();
    assert!(took < parts * 5, "the whole took {took:?}, its parts {parts:?}");
}
