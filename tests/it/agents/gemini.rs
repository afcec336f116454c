//! Gemini CLI: chats whose lines replace each other, settings in milliseconds, and projects that have names.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::disturbed::with_our_lock;
use super::{
    assert_taken, come_back, command_for, fake_program, files_below, fixture, refuse_hostile_ids, run_command,
    run_hook, survive_payloads, survive_settings, texts, told,
};
use crate::support::Scratch;

const ID: &str = "b4c1f6d2-7e0a-4d3b-8c55-0f9e1a2b3c4d";
const NAME: &str = "session-2026-01-02T03-04-b4c1f6d2";

#[test]
fn every_chat_parses_and_comes_back() {
    let is_chat = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("session"));
    let paths: Vec<PathBuf> =
        files_below(&fixture("gemini")).into_iter().filter(|path| !path.ends_with("hooks")).collect();
    let paths: Vec<PathBuf> = paths.into_iter().filter(is_chat).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    let expected = snapbox::file!["../../data/gemini-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("gemini", &paths), expected);
    come_back("gemini", &paths);
}

#[test]
fn every_payload_is_survived() {
    survive_payloads("gemini", "gemini/hooks", |file| file.split(['-', '.']).next().unwrap().to_owned());
    assert_taken("gemini/hooks", ID, true);
}

#[test]
fn settings_of_every_age_keep_what_is_in_them() {
    let mut settings = texts(&[
        "gemini/settings-with-switch.json",
        "gemini/settings-with-hooks.json",
        "gemini/settings-without-hooks.json",
        "gemini/settings-with-servers.json",
    ]);
    settings
        .push("{\n  // mine\n  \"hooks\": { \"enabled\": true, \"disabled\": [\"fmt\"], \"Later\": [1] }\n}\n".into());
    survive_settings("gemini", ".gemini/settings.json", &settings);
}

#[test]
fn a_hook_has_a_name_and_milliseconds() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
    let settings: Value =
        serde_json::from_slice(&fs::read(scratch.top.join(".gemini/settings.json")).unwrap()).unwrap();
    let group = &settings["hooks"]["AfterTool"][0];
    assert_eq!(group["matcher"], "run_shell_command");
    assert_eq!(
        [&group["hooks"][0]["name"], &group["hooks"][0]["timeout"]],
        [&json!("shiftlog-AfterTool"), &json!(30000)]
    );
}

#[test]
fn hooks_and_the_server_share_one_file() {
    let scratch = Scratch::new();
    let args = ["--agent=gemini", "--mcp=gemini"];
    scratch.shiftlog("init", args).ok();
    let path = scratch.top.join(".gemini/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("AfterTool") && text.contains("mcpServers"), "{text}");
    for args in [&args[..], &args[..1], &args[..]] {
        assert_eq!(scratch.shiftlog("init", args).ok(), "nothing to do\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".gemini").exists());
}

/// A chat that grows as Gemini CLI writes it.
struct Chat<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
}

impl<'s> Chat<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        let root = scratch.home().join(".gemini");
        let chats = root.join("tmp/repo/chats");
        fs::create_dir_all(&chats).unwrap();
        fs::write(
            root.join("projects.json"),
            json!({ "projects": { scratch.top.to_str().unwrap(): "repo" } }).to_string(),
        )
        .unwrap();
        let chat = Chat { scratch, path: chats.join(format!("{NAME}.jsonl")) };
        chat.write(&json!({ "sessionId": ID, "startTime": "2026-01-02T03:04:20.000Z", "kind": "main" }));
        chat
    }

    fn write(&self, record: &Value) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{record}").unwrap();
    }

    fn prompt(&self, words: &str) {
        self.write(&json!({ "id": format!("u-{words}"), "type": "user", "content": [{ "text": words }] }));
        self.hook("BeforeAgent", json!({ "prompt": words }));
    }

    /// Edits a file and commits it; the call is written down when it is over, after its hook.
    fn commits(&self, name: &str, file: &str, rest: &str) {
        let edit = json!({ "id": format!("e-{name}"), "name": "write_file", "status": "success",
            "args": { "file_path": self.scratch.top.join(file), "content": name } });
        let mut answer = json!({ "id": format!("m-{name}"), "type": "gemini", "content": "On it", "model": "gemini-3-pro",
            "tokens": { "input": 100, "output": 10, "cached": 40, "thoughts": 5 }, "toolCalls": [edit] });
        self.write(&answer);
        self.scratch.write(file, name);
        self.scratch.git(["add", file]).ok();
        self.scratch.git(["commit", "-q", "-m", name]).ok();
        let output =
            format!("[main {}] {name}\nExit Code: {}", &self.scratch.id("HEAD")[..7], u8::from(!rest.is_empty()));
        let args = json!({ "command": format!("git commit -qm {name}{rest}") });
        self.hook(
            "AfterTool",
            json!({ "tool_name": "run_shell_command", "tool_input": args, "tool_response": { "llmContent": output } }),
        );
        let response = json!([{ "functionResponse": { "response": { "output": output } } }]);
        let call = json!({ "id": format!("c-{name}"), "name": "run_shell_command", "args": args, "status": "success",
            "result": response });
        answer["toolCalls"].as_array_mut().unwrap().push(call);
        self.write(&answer);
        self.write(&json!({ "$set": { "lastUpdated": "2026-01-02T03:05:00.000Z" } }));
    }

    fn hook(&self, event: &str, more: Value) {
        let mut payload = json!({ "session_id": ID, "transcript_path": self.path, "cwd": self.scratch.top,
            "hook_event_name": event });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(self.scratch, ".gemini/settings.json", event, &payload);
    }
}

// Its shells run no Git hooks, and the hook after the call could not write our state: the words went to the next commit.
#[test]
fn a_commit_whose_hook_found_our_state_locked_is_recorded_by_the_next_hook() {
    for is_last in [false, true] {
        let scratch = Scratch::new();
        scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
        scratch.git(["config", "core.hooksPath", "/dev/null"]).ok();
        let chat = Chat::new(&scratch);
        chat.hook("SessionStart", json!({ "source": "startup" }));
        chat.prompt("add a");
        chat.commits("one", "a.txt", "");
        chat.hook("AfterAgent", json!({}));
        chat.prompt("add b");
        with_our_lock(&scratch, || chat.commits("two", "b.txt", ""));
        if !is_last {
            chat.hook("AfterAgent", json!({}));
            chat.prompt("add c");
        }
        chat.commits("three", "c.txt", "");
        chat.hook("AfterAgent", json!({}));
        let texts = ["HEAD~2", "HEAD~1", "HEAD"].map(|revision| scratch.raw(revision, &[]));
        // Another call in the same turn may get the result of the call before it.
        let names = if is_last { ["m-one", "m-two", "m-three"] } else { ["c-one", "c-two", "c-three"] };
        assert!(texts.iter().zip(names).all(|(text, name)| text.contains(name)), "{texts:?}");
        assert!(is_last || !texts[2].contains("c-two"), "{texts:?}");
        assert!(texts[1].contains("u-add b") && !texts[2].contains("u-add b"), "{texts:?}");
        scratch.assert_sound();
    }
}

/// Does what Gemini CLI does to find a session: the project's name, its marker, the id in the file.
fn fake_gemini(scratch: &Scratch) {
    let script = "here=$(pwd -P)\n\
                  slug=$(sed -n \"s|.*\\\"$here\\\": *\\\"\\([^\\\"]*\\)\\\".*|\\1|p\" \"$HOME/.gemini/projects.json\")\n\
                  test \"$(cat \"$HOME/.gemini/tmp/$slug/.project_root\")\" = \"$here\" || exit 1\n\
                  cp \"$(grep -l \"\\\"sessionId\\\": *\\\"$2\\\"\" \"$HOME/.gemini/tmp/$slug/chats\"/session-*)\" \"$HOME/found\"\n";
    fake_program(scratch, "gemini", script);
}

#[test]
fn a_day_with_gemini_is_recorded_and_its_chat_goes_on() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
    let chat = Chat::new(&scratch);
    chat.hook("SessionStart", json!({ "source": "startup" }));
    chat.prompt("add a");
    chat.commits("one", "a.txt", " && false");
    chat.hook("AfterAgent", json!({}));
    chat.prompt("add b");
    chat.commits("two", "b.txt", "");
    chat.write(&json!({ "id": "done", "type": "gemini", "content": "Done", "model": "gemini-3-pro" }));
    chat.hook("AfterAgent", json!({}));
    chat.hook("SessionEnd", json!({ "reason": "exit" }));
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["model"], &first["session"]], ["gemini", "gemini-3-pro", ID]);
    assert_eq!(first["tokens"], json!({ "input": 60, "output": 15, "cacheRead": 40, "cacheWrite": 0 }));
    assert!(scratch.raw("HEAD~1", &[]).contains("Exit Code: 1"), "the result of the call is with its commit");

    let stored = scratch.raw("HEAD", &["--full"]).into_bytes();
    assert!(fs::read(&chat.path).unwrap().starts_with(&stored), "byte for byte");
    let root = scratch.home().join(".gemini");
    fs::remove_dir_all(&root).unwrap();
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("projects.json"), "{\"other\":1,\"projects\":{\"/elsewhere/repo\":\"repo\"}}").unwrap();
    fake_gemini(&scratch);
    let printed = scratch.shiftlog("resume", ["--print"]).ok();
    assert!(printed.ends_with(&format!("run gemini --resume {ID} in {}\n", scratch.top.display())), "{printed}");
    assert!(!root.join("tmp").exists(), "--print writes nothing");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read(scratch.home().join("found")).unwrap(), stored);
    assert!(root.join(format!("tmp/repo-1/chats/{NAME}.jsonl")).is_file(), "the other project keeps its name");
    let projects: Value = serde_json::from_slice(&fs::read(root.join("projects.json")).unwrap()).unwrap();
    let top = scratch.top.to_str().unwrap();
    assert_eq!(projects, json!({ "other": 1, "projects": { "/elsewhere/repo": "repo", top: "repo-1" } }));
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    scratch.assert_sound();
}

#[test]
fn an_amend_that_git_tells_no_hook_of_keeps_what_led_to_the_commit() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
    let chat = Chat::new(&scratch);
    let hook = |event: &str, more: Value| {
        let mut payload = json!({ "session_id": ID, "transcript_path": chat.path, "cwd": scratch.top,
            "hook_event_name": event });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run_hook(&scratch, ".gemini/settings.json", event, &payload);
    };
    // Git's hooks are hidden from its shell.
    let asked = |id: &str, prompt: &str, args: &[&str]| {
        chat.write(&json!({ "id": id, "type": "user", "content": [{ "text": prompt }] }));
        hook("BeforeAgent", json!({ "prompt": prompt }));
        scratch.git([&["-c", "core.hooksPath=", "commit", "-q", "--allow-empty"], args].concat()).ok();
        hook("AfterTool", json!({ "tool_name": "run_shell_command", "tool_input": { "command": "git commit" } }));
    };
    scratch.git(["-c", "core.hooksPath=", "commit", "-q", "--allow-empty", "-m", "start"]).ok();
    asked("u1", "first words", &["-m", "by Gemini"]);
    asked("u2", "second words", &["--amend", "-m", "amended once"]);
    asked("u3", "third words", &["--amend", "-m", "amended twice"]);
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    for words in ["first words", "second words", "third words"] {
        assert_eq!(shown.matches(words).count(), 1, "{words}: {shown}");
    }
    // A person amends on a terminal of theirs, where the hooks do not run either, and the session goes on.
    scratch
        .git(["-c", "core.hooksPath=", "commit", "-q", "--amend", "--allow-empty", "-m", "amended by a person"])
        .ok();
    hook("BeforeAgent", json!({ "prompt": "and now?" }));
    assert_eq!(scratch.shiftlog("show", ["HEAD"]).ok().matches(" words").count(), 3);
    scratch.assert_sound();
}

#[test]
fn hooks_in_the_users_settings_record_in_each_working_tree_that_is_set_up_and_in_no_other() {
    let scratch = Scratch::new();
    let settings = scratch.home().join(".gemini/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let before = "{\n   \"ui\": { \"theme\" : \"Dark\" }\n}\n";
    fs::write(&settings, before).unwrap();
    let dry = scratch.shiftlog("init", ["--agent=gemini", "--global", "--dry-run"]).ok();
    assert!(dry.contains(&format!("edit {}\n", settings.display())), "{dry}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), before, "--dry-run writes nothing");
    scratch.shiftlog("init", ["--agent=gemini", "--global", "-q"]).ok();
    let with_hooks = fs::read_to_string(&settings).unwrap();
    assert!(with_hooks.contains("AfterTool") && with_hooks.contains("\"theme\" : \"Dark\""), "{with_hooks}");
    assert!(!scratch.top.join(".gemini").exists(), "nothing in the working tree");
    assert_eq!(scratch.shiftlog("init", ["--agent=gemini"]).ok(), "nothing to do\n");
    let told = scratch.shiftlog("doctor", ["--agent=gemini"]).ok();
    let place = format!("ok       Gemini CLI: hooks in .gemini/settings.json of '{}'\n", scratch.home().display());
    assert!(told.starts_with(&place), "{told}");

    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", linked.to_str().unwrap()]).ok();
    let other = scratch.root().join("other");
    scratch.git(["init", "-q", other.to_str().unwrap()]).ok();
    let chat = Chat::new(&scratch);
    // Git's hooks are hidden from its shell.
    let quiet = |directory: &PathBuf, message: &str| {
        let args = ["-c", "core.hooksPath=", "commit", "-q", "--allow-empty", "-m", message];
        scratch.git_in(directory, args).ok();
    };
    for directory in [&linked, &other] {
        let hook = |event: &str, more: Value| {
            let mut payload = json!({ "session_id": ID, "transcript_path": chat.path, "cwd": directory,
                "hook_event_name": event });
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let command = command_for(&scratch, settings.to_str().unwrap(), event);
            let ran = run_command(&scratch, &command, &payload);
            assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", ""), "{event}");
        };
        chat.write(&json!({ "id": "u1", "type": "user", "content": [{ "text": "commit it" }] }));
        quiet(directory, "start");
        hook("BeforeAgent", json!({ "prompt": "commit it" }));
        quiet(directory, "by Gemini");
        hook("AfterTool", json!({ "tool_name": "run_shell_command", "tool_input": { "command": "git commit" } }));
    }
    let records = |directory: &PathBuf| scratch.git_in(directory, ["notes", "--ref=shiftlog", "show", "HEAD"]);
    let record: Value = serde_json::from_str(&records(&linked).ok()).unwrap();
    assert_eq!([&record["session"], &record["prompt"]], [ID, "commit it"], "{}", scratch.log());
    assert_ne!(records(&other).code, 0, "nobody has set up that repository");
    assert!(!other.join(".git/shiftlog").exists());

    let left = scratch.shiftlog("deinit", ["-q"]);
    assert!(left.stderr.contains("run in other repositories too, and are left alone"), "{left:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), with_hooks, "nobody has agreed to that");
    scratch.shiftlog("deinit", ["-q", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&settings).unwrap(), before, "byte for byte");
}

#[test]
fn hooks_of_an_agent_that_was_started_above_a_working_tree_record_in_the_one_that_its_tools_name() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "--global", "-q"]).ok();
    let settings = scratch.home().join(".gemini/settings.json");
    let chat = Chat::new(&scratch);
    let hook = |event: &str, more: Value| {
        let mut payload = json!({ "session_id": ID, "transcript_path": chat.path, "cwd": scratch.root(),
            "hook_event_name": event });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let command = command_for(&scratch, settings.to_str().unwrap(), event);
        let ran = run_command(&scratch, &command, &payload);
        assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", ""), "{event}");
    };
    chat.write(&json!({ "id": "u1", "type": "user", "content": [{ "text": "add a" }] }));
    hook("BeforeAgent", json!({ "prompt": "add a" }));
    scratch.write("a.txt", "a\n");
    let input = json!({ "file_path": scratch.top.join("a.txt"), "content": "a\n" });
    hook("AfterTool", json!({ "tool_name": "write_file", "tool_input": input }));
    scratch.git(["add", "a.txt"]).ok();
    scratch.git(["-c", "core.hooksPath=", "commit", "-q", "-m", "add a"]).ok();
    let input = json!({ "command": "cd repo && git commit -q -m 'add a'" });
    hook("AfterTool", json!({ "tool_name": "run_shell_command", "tool_input": input }));
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["prompt"]], [ID, "add a"], "{}", scratch.log());
}

#[test]
fn deinit_of_another_repository_takes_hooks_out_of_the_users_settings_only_with_consent() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "--global", "-q"]).ok();
    let settings = scratch.home().join(".gemini/settings.json");
    let with_hooks = fs::read_to_string(&settings).unwrap();
    let other = scratch.root().join("other");
    scratch.git(["init", "-q", other.to_str().unwrap()]).ok();
    let ours = |args: &[&str]| scratch.run_in(&other, "git-shiftlog", args);
    ours(&["init", "-q", "--agent=gemini"]).ok();
    assert!(!other.join(".gemini").exists(), "the hooks run there already");
    ours(&["deinit", "-q"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), with_hooks);
    ours(&["deinit", "-q", "--yes"]).ok();
    assert!(!fs::read_to_string(&settings).unwrap_or_default().contains("git-shiftlog--hook"));
}

/// The second file that `gemini --resume` leaves in another minute: the session goes on in the first.
fn stub(chat: &Chat<'_>) -> PathBuf {
    let stub = chat.path.with_file_name("session-2026-01-02T03-40-b4c1f6d2.jsonl");
    let head = json!({ "sessionId": ID, "startTime": "2026-01-02T03:40:31.000Z", "kind": "main" });
    let context = json!({ "id": "x", "type": "user", "content": [{ "text": "<session_context>x</session_context>" }] });
    fs::write(&stub, format!("{head}\n{}\n", json!({ "$set": { "messages": [context] } }))).unwrap();
    stub
}

#[test]
fn a_session_that_was_taken_up_again_is_found_in_the_file_with_its_words() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
    let chat = Chat::new(&scratch);
    chat.write(&json!({ "id": "u1", "type": "user", "content": [{ "text": "add a" }] }));
    let stub = stub(&chat);
    // Its first hook names the stub, the others the file in which it goes on.
    run_hook(
        &scratch,
        ".gemini/settings.json",
        "SessionStart",
        &json!({ "session_id": ID, "transcript_path": stub, "cwd": scratch.top, "source": "resume" }),
    );
    scratch.commit("a.txt", "one", "by a person");
    assert_eq!([&scratch.record("HEAD")["session"], &scratch.record("HEAD")["prompt"]], [ID, "add a"]);
}

#[test]
fn a_session_without_hooks_is_found_in_the_file_with_its_words() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let chat = Chat::new(&scratch);
    stub(&chat);
    let edit = json!({ "id": "e", "name": "write_file", "status": "success",
        "args": { "file_path": scratch.top.join("a.txt"), "content": "one" } });
    chat.write(&json!({ "id": "u1", "type": "user", "content": [{ "text": "add a" }] }));
    chat.write(&json!({ "id": "m1", "type": "gemini", "content": "On it", "toolCalls": [edit] }));
    scratch.commit("a.txt", "one", "add a");
    assert_eq!([&scratch.record("HEAD")["session"], &scratch.record("HEAD")["prompt"]], [ID, "add a"]);
}

#[test]
fn a_document_of_an_older_release_is_found_and_goes_on() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
    let digest: String =
        Sha256::digest(scratch.top.to_str().unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
    let chats = scratch.home().join(".gemini/tmp").join(digest).join("chats");
    fs::create_dir_all(&chats).unwrap();
    let edit = json!({ "id": "e", "name": "write_file", "status": "success",
        "args": { "file_path": scratch.top.join("a.txt"), "content": "one" } });
    let mut document = json!({ "sessionId": ID, "startTime": "2026-01-02T03:04:20.000Z", "messages": [
        { "id": "1", "type": "user", "content": "add a" },
        { "id": "2", "type": "gemini", "content": "Done", "model": "gemini-2.5-pro", "toolCalls": [edit] } ] });
    let path = chats.join(format!("{NAME}.json"));
    fs::write(&path, serde_json::to_string_pretty(&document).unwrap()).unwrap();
    scratch.commit("a.txt", "one", "add a");
    assert_eq!([&scratch.record("HEAD")["session"], &scratch.record("HEAD")["prompt"]], [ID, "add a"]);
    let more = json!({ "id": "3", "type": "user", "content": "and b" });
    document["messages"].as_array_mut().unwrap().push(more);
    let text = serde_json::to_string_pretty(&document).unwrap();
    fs::write(&path, &text).unwrap();
    scratch.commit("b.txt", "two", "add b");
    assert_eq!(scratch.record("HEAD")["prompt"], "and b");
    assert_eq!(scratch.raw("HEAD", &["--full"]), text);
    fs::remove_dir_all(scratch.home().join(".gemini")).unwrap();
    fake_gemini(&scratch);
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read_to_string(scratch.home().join("found")).unwrap(), text);
}

#[test]
fn sub_agents_are_sessions_of_their_own() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
    let chat = Chat::new(&scratch);
    chat.hook("SessionStart", json!({ "source": "startup" }));
    chat.prompt("add a");
    let sub_agents = chat.path.with_file_name(ID);
    fs::create_dir_all(&sub_agents).unwrap();
    let said = format!(
        "{}\n{}\n",
        json!({ "sessionId": "sub1", "kind": "subagent" }),
        json!({ "id": "s", "type": "gemini", "content": "looked around" })
    );
    fs::write(sub_agents.join("sub1.jsonl"), &said).unwrap();
    chat.commits("one", "a.txt", "");
    chat.hook("AfterAgent", json!({}));
    let records = scratch.records("HEAD");
    let sessions: Vec<&str> = records.iter().map(|record| record["session"].as_str().unwrap()).collect();
    assert!(sessions.contains(&ID) && sessions.contains(&&*format!("{ID}.sub1")), "{sessions:?}");
    fs::remove_dir_all(scratch.home().join(".gemini")).unwrap();
    fake_gemini(&scratch);
    scratch.shiftlog("resume", ["--session", ID]).ok();
    let restored = scratch.home().join(".gemini/tmp/repo/chats").join(ID).join("sub1.jsonl");
    assert_eq!(fs::read_to_string(restored).unwrap(), said);
}

#[test]
fn hostile_names_get_nowhere() {
    for id in [ID, "../../x"] {
        let head = json!({ "sessionId": id, "startTime": "2026-01-02T03:04:20.000Z" });
        refuse_hostile_ids("gemini", &format!("{head}\n"));
    }
    let scratch = Scratch::new();
    let root = scratch.home().join(".gemini");
    fs::create_dir_all(&root).unwrap();
    let projects = json!({ "projects": { scratch.top.to_str().unwrap(): "../../x" } });
    fs::write(root.join("projects.json"), projects.to_string()).unwrap();
    let file = scratch.root().join("said");
    fs::write(&file, json!({ "sessionId": ID, "startTime": "2026-01-02T03:04:20.000Z" }).to_string()).unwrap();
    scratch.shiftlog("add", ["-qf", "--agent=gemini", "--transcript", file.to_str().unwrap()]).ok();
    let ran = scratch.shiftlog("resume", Vec::<&str>::new());
    assert!(ran.code == 128 && ran.stderr.contains("no proper name"), "{ran:?}");
    for odd in ["no JSON", "{\"projects\":[]}"] {
        fs::write(root.join("projects.json"), odd).unwrap();
        let ran = scratch.shiftlog("resume", Vec::<&str>::new());
        assert!(ran.code == 128 && ran.stderr.contains("projects.json"), "{ran:?}");
        assert_eq!(fs::read_to_string(root.join("projects.json")).unwrap(), odd, "it is not replaced");
    }
    assert_eq!(files_below(&root), [root.join("projects.json")]);
}

#[test]
fn a_chat_that_does_not_name_itself_is_not_taken_up() {
    let scratch = Scratch::new();
    let file = scratch.root().join("said.jsonl");
    fs::write(&file, json!({ "id": "1", "type": "user", "content": "hello" }).to_string()).unwrap();
    scratch.shiftlog("add", ["-q", "--agent=gemini", "--transcript", file.to_str().unwrap()]).ok();
    let ran = scratch.shiftlog("resume", Vec::<&str>::new());
    let expected = "fatal: the transcript does not tell that it is session said\nhint: ";
    assert!(ran.code == 128 && ran.stderr.starts_with(expected), "{ran:?}");
}
