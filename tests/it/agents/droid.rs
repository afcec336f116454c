//! Factory Droid: Claude-shaped hooks beside comments, payloads in two spellings, two names for a folder.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    come_back, fake_program, files_below, fixture, payload_tells, refuse_hostile_ids, run_hook, set_up_and_back,
    survive_cuts, survive_payloads, told,
};
use crate::support::Scratch;

const ID: &str = "052cb8d0-4616-488a-99fe-bfbbbe9429b3";
const FILE: &str = ".factory/hooks.json";
const SHARED: &str = ".factory/settings.json";

#[test]
fn every_session_parses_and_comes_back() {
    let paths =
        files_below(&fixture("droid")).into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let paths: Vec<PathBuf> = paths.collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    let expected = snapbox::file!["../../data/droid-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("droid", &paths), expected);
    come_back("droid", &paths);
    survive_cuts("droid", &paths);
}

#[test]
fn every_payload_is_survived_and_says_whose_it_is() {
    for path in files_below(&fixture("droid/hooks")) {
        payload_tells(&path, "claude", "droid", ID, "/home/dev/harbour");
    }
    survive_payloads("droid", "droid/hooks", |file| file.split(['-', '.']).nth(1).unwrap().to_owned());
}

#[test]
fn comments_and_hooks_of_others_stay() {
    let before = "{\n  // user comment must survive\n  \"model\": \"claude-sonnet-4-5\",\n  \"hooks\": {\n    \
                  \"claudeHooksImported\": true,\n    \
                  \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] } ], // trailing\n  },\n}\n";
    let text = set_up_and_back(&["--agent=droid", "--shared"], SHARED, &[(SHARED, before)]);
    for kept in ["// user comment must survive", "\"claudeHooksImported\": true", "say done", "// trailing"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    let fixture = fs::read_to_string(fixture("droid/settings-before.jsonc")).unwrap();
    set_up_and_back(&["--agent=droid", "--shared"], SHARED, &[(SHARED, &fixture)]);
    let shared = set_up_and_back(&["--agent=droid", "--shared"], SHARED, &[]);
    assert!(!shared.contains("/git-shiftlog"), "what a team commits names no path: {shared}");
}

#[test]
fn hooks_of_a_clone_stand_in_the_file_that_is_read_and_git_does_not_see_it() {
    // No hook runs from 'settings.local.json'; in 'hooks.json' the events are at the top.
    let own = "{\n  \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] } ]\n}\n";
    let text = set_up_and_back(&["--agent=droid"], FILE, &[(FILE, own)]);
    let hooks: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(hooks.pointer("/Stop/0/hooks/0/command").unwrap(), "say done");
    assert!(hooks.get("SessionStart").is_some() && hooks.get("hooks").is_none(), "{text}");
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=droid", "-q"]).ok();
    assert!(scratch.top.join(FILE).is_file());
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "");
}

/// A session that grows as Droid writes it.
struct Session<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
}

impl<'s> Session<'s> {
    fn new(scratch: &'s Scratch, folder: &str) -> Self {
        let folder = scratch.home().join(".factory/sessions").join(folder);
        fs::create_dir_all(&folder).unwrap();
        let session = Session { scratch, path: folder.join(format!("{ID}.jsonl")) };
        session.write(&json!({ "type": "session_start", "id": ID, "title": "x", "version": 2, "cwd": scratch.top }));
        session
    }

    fn write(&self, record: &Value) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{record}").unwrap();
    }

    fn says(&self, role: &str, content: Value) {
        self.write(&json!({ "type": "message", "id": "d", "timestamp": "2026-09-01T10:00:00.000Z",
            "message": { "role": role, "content": content } }));
    }

    fn hook(&self, event: &str, more: Value) {
        // With a tilde, as the vendor's pages have it.
        let home = self.scratch.home();
        let path = format!("~/{}", self.path.strip_prefix(home).unwrap().display());
        let mut payload = json!({ "sessionId": ID, "transcriptPath": path, "cwd": self.scratch.top,
            "permissionMode": "auto-low", "hookEventName": event });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(self.scratch, FILE, event, &payload);
    }

    fn prompt(&self, words: &str) {
        self.says("user", json!([{ "type": "text", "text": words }, { "type": "text", "text": "Contents of a.txt" }]));
    }

    fn edits(&self, file: &str) {
        let input = json!({ "file_path": self.scratch.top.join(file), "content": "x\n" });
        self.says(
            "assistant",
            json!([{ "type": "tool_use", "id": format!("{file}-1"), "name": "Create", "input": input }]),
        );
    }

    /// Commits a file in a tool call; what comes behind the commit may fail.
    fn commits(&self, file: &str, rest: &str) {
        self.edits(file);
        let input = json!({ "command": format!("git commit -qm {file}{rest}") });
        self.says("assistant", json!([{ "type": "tool_use", "id": file, "name": "Execute", "input": input }]));
        self.scratch.commit(file, "x\n", file);
        let said = format!("exit {}", u8::from(!rest.is_empty()));
        self.says("user", json!([{ "type": "tool_result", "tool_use_id": file, "content": said }]));
        self.hook("PostToolUse", json!({ "tool_name": "Execute", "tool_input": input, "tool_response": said }));
    }
}

#[test]
fn a_day_with_droid_is_recorded_and_its_session_goes_on() {
    for is_old in [false, true] {
        let scratch = Scratch::new();
        scratch.shiftlog("init", ["--agent=droid", "-q"]).ok();
        let top = scratch.top.to_str().unwrap();
        let newer = top.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let folder = if is_old { top.replace('/', "-") } else { newer };
        let session = Session::new(&scratch, &folder);
        session.hook("SessionStart", json!({ "source": "startup" }));
        session.prompt("add a");
        session.hook("UserPromptSubmit", json!({ "prompt": "add a" }));
        session.commits("a.txt", " && false");
        session.hook("Stop", json!({ "stopHookActive": false }));
        session.prompt("add b");
        session.hook("UserPromptSubmit", json!({ "prompt": "add b" }));
        session.commits("b.txt", "");
        session.says("assistant", json!([{ "type": "text", "text": "Done." }]));
        session.hook("Stop", json!({ "stopHookActive": false }));
        session.hook("SessionEnd", json!({ "reason": "other" }));
        let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
        assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
        assert_eq!([&first["agent"], &first["session"]], ["droid", ID]);
        assert!(scratch.raw("HEAD~1", &[]).contains("exit 1"), "the result of the call is with its commit");

        let stored = scratch.raw("HEAD", &["--full"]).into_bytes();
        assert!(fs::read(&session.path).unwrap().starts_with(&stored), "byte for byte");
        fs::remove_file(&session.path).unwrap();
        if !is_old {
            fs::remove_dir_all(scratch.home().join(".factory")).unwrap();
        }
        let script = format!("cp \"$HOME/.factory/sessions/{folder}/$2.jsonl\" \"$HOME/found\"\n");
        fake_program(&scratch, "droid", &script);
        let printed = scratch.shiftlog("resume", ["--print"]).ok();
        assert!(printed.ends_with(&format!("run droid --resume {ID} in {top}\n")), "{printed}");
        scratch.shiftlog("resume", Vec::<&str>::new()).ok();
        assert_eq!(fs::read(scratch.home().join("found")).unwrap(), stored);
        scratch.assert_sound();
    }
}

#[test]
fn a_session_without_hooks_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = Session::new(&scratch, &scratch.top.to_str().unwrap().replace('/', "-"));
    session.prompt("add a");
    session.edits("a.txt");
    scratch.commit("a.txt", "one\n", "add a");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    scratch.commit("c.txt", "by hand\n", "nothing new was said");
    assert_eq!(scratch.records("HEAD").len(), 0);
}

#[test]
fn a_hostile_session_id_is_no_file_name() {
    let text =
        json!({ "type": "message", "message": { "role": "user", "content": [{ "type": "text", "text": "x" }] } });
    refuse_hostile_ids("droid", &format!("{text}\n"));
}
