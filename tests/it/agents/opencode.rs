//! OpenCode and Kilo: sessions in a database or in small files, a plugin that forwards what happens, and resume by import.

mod database;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use shiftlog::agent::{self, Agent};

use super::{come_back, fake_program, files_below, fixture, survive_payloads, told};
use crate::format::assert_read_alike;
use crate::support::{Scratch, feed};

const ID: &str = "ses_1bf8a86b1ffeNAd6lVyuCurdUt";
const PLUGIN: &str = ".opencode/plugins/shiftlog.js";
const PLUGIN_OF_KILO: &str = ".kilo/plugins/shiftlog.js";

const TABLES: &str = "CREATE TABLE session(id text primary key, project_id text, parent_id text, slug text,
        directory text, title text, version text, time_created integer, time_updated integer);
    CREATE TABLE message(id text primary key, session_id text, time_created integer, time_updated integer, data text);
    CREATE TABLE part(id text primary key, message_id text, session_id text, time_created integer,
        time_updated integer, data text);";

fn opencode() -> &'static dyn Agent {
    agent::find("opencode").unwrap()
}

/// Makes a database of what an older release kept in files.
fn database_of(storage: &Path, path: &Path) -> PathBuf {
    let database = Connection::open(path).unwrap();
    database.execute_batch(TABLES).unwrap();
    let read = |file: &PathBuf| serde_json::from_slice::<Value>(&fs::read(file).unwrap()).unwrap();
    // What columns have is not in the data.
    let data = |value: &Value| {
        let mut data = value.as_object().unwrap().clone();
        ["id", "sessionID", "messageID"].iter().for_each(|key| drop(data.shift_remove(*key)));
        Value::Object(data).to_string()
    };
    for file in files_below(&storage.join("session")) {
        let info = read(&file);
        let text = |key: &str| info[key].as_str().unwrap();
        let [created, updated] = ["created", "updated"].map(|key| info["time"][key].as_i64().unwrap());
        let [id, project, slug] = ["id", "projectID", "slug"].map(text);
        let [directory, title, version] = ["directory", "title", "version"].map(text);
        let values = params![id, project, slug, directory, title, version, created, updated];
        database.execute("INSERT INTO session VALUES(?1, ?2, NULL, ?3, ?4, ?5, ?6, ?7, ?8)", values).unwrap();
    }
    for file in files_below(&storage.join("message")) {
        let message = read(&file);
        let (id, session) = (message["id"].as_str().unwrap(), message["sessionID"].as_str().unwrap());
        let created = message["time"]["created"].as_i64().unwrap();
        let values = params![id, session, created, data(&message)];
        database.execute("INSERT INTO message VALUES(?1, ?2, ?3, ?3, ?4)", values).unwrap();
        for file in files_below(&storage.join("part").join(id)) {
            let part = read(&file);
            let values = params![part["id"].as_str().unwrap(), id, session, created, data(&part)];
            database.execute("INSERT INTO part VALUES(?1, ?2, ?3, ?4, ?4, ?5)", values).unwrap();
        }
    }
    path.to_owned()
}

#[test]
fn every_session_parses_and_comes_back() {
    let (export, storage) = (fixture("opencode/export-v1.json"), fixture("opencode/storage"));
    let scratch = Scratch::new();
    let database = database_of(&storage, &scratch.root().join("opencode.db"));
    let stored = [&database, &storage].into_iter().flat_map(|store| [store.join(ID), store.join("ses_edit")]);
    let stored: Vec<PathBuf> = stored.collect();
    let expected = snapbox::file!["../../data/opencode-fixtures.txt"];
    let found = told("opencode", &[std::slice::from_ref(&export), &stored[..]].concat());
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(found, expected);

    come_back("opencode", std::slice::from_ref(&export));
    let export = fs::read(&export).unwrap();
    for (number, path) in stored.iter().enumerate() {
        let session = format!("--session=fixture-{number}");
        scratch.shiftlog("add", ["-q", "--agent=opencode", "--transcript", path.to_str().unwrap(), &session]).ok();
        let restored = scratch.shiftlog("show", ["--raw", "--full", &session]).bytes;
        assert_eq!(restored, opencode().native(&opencode().read(path).unwrap()).into_owned(), "{}", path.display());
        if path.ends_with(ID) {
            assert!(restored == export, "{} is what OpenCode exports", path.display());
        }
    }
    assert_eq!(assert_read_alike(&scratch, "HEAD").len(), stored.len());
    let empty = scratch.root().join("empty.db");
    Connection::open(&empty).unwrap().execute_batch(TABLES).unwrap();
    assert!(opencode().read(&empty.join(ID)).is_err(), "a database without the session");
    scratch.assert_sound();
}

#[test]
fn every_payload_is_survived() {
    survive_payloads("opencode", "opencode/hooks", |file| {
        if file.contains("idle") { "Stop".into() } else { "PostToolUse".into() }
    });
}

/// A session that OpenCode keeps in its database while it runs.
struct Running<'s> {
    scratch: &'s Scratch,
    database: Connection,
    now: i64,
}

impl<'s> Running<'s> {
    fn new(scratch: &'s Scratch) -> Self {
        Self::of("opencode", scratch)
    }

    fn of(agent: &str, scratch: &'s Scratch) -> Self {
        let path = scratch.home().join(format!(".local/share/{agent}/{agent}.db"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let database = Connection::open(path).unwrap();
        // What is written stays in the log beside it as long as OpenCode runs.
        database.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
        database.execute_batch(TABLES).unwrap();
        let now = jiff::Timestamp::now().as_millisecond();
        let running = Running { scratch, database, now };
        running.session(ID, None);
        running
    }

    fn path(scratch: &Scratch) -> PathBuf {
        scratch.home().join(".local/share/opencode/opencode.db")
    }

    fn session(&self, id: &str, parent: Option<&str>) {
        let values = params![id, parent, self.scratch.top.to_str().unwrap(), self.now];
        self.database
            .execute("INSERT INTO session VALUES(?1, 'p', ?2, 'calm-otter', ?3, 'Work', '1.18.4', ?4, ?4)", values)
            .unwrap();
    }

    /// Writes a message with its parts, or writes it anew.
    fn message(&self, session: &str, id: &str, info: &Value, parts: &[Value]) {
        let number: i64 = id.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap();
        let time = self.now + number;
        let mut info = info.clone();
        info["time"] = json!({ "created": time });
        let values = params![id, session, time, info.to_string()];
        self.database.execute("REPLACE INTO message VALUES(?1, ?2, ?3, ?3, ?4)", values).unwrap();
        for (index, part) in parts.iter().enumerate() {
            let values = params![format!("prt_{id}_{index}"), id, session, time, part.to_string()];
            self.database.execute("REPLACE INTO part VALUES(?1, ?2, ?3, ?4, ?4, ?5)", values).unwrap();
        }
    }

    fn prompt(&self, id: &str, words: &str) {
        let parts =
            [json!({ "type": "text", "text": words }), json!({ "type": "text", "text": "x", "synthetic": true })];
        self.message(ID, id, &json!({ "role": "user" }), &parts);
        self.plugin(&json!([["chat.message", [{ "sessionID": ID }, {}]]]));
    }

    /// Writes a step that edits a file and commits it; `output` is what the commit's call has answered, if it has.
    fn step(&self, id: &str, file: &str, output: Option<&str>) {
        let edit = json!({ "type": "tool", "tool": "write", "callID": format!("{id}w"), "state": { "status": "completed",
            "input": { "filePath": self.scratch.top.join(file), "content": id }, "output": "ok" } });
        let state = match output {
            Some(output) => json!({ "status": "completed", "input": { "command": "git commit" }, "output": output,
                "metadata": { "exit": 1 } }),
            None => json!({ "status": "running", "input": { "command": "git commit" } }),
        };
        let bash = json!({ "type": "tool", "tool": "bash", "callID": id, "state": state });
        let info =
            json!({ "role": "assistant", "modelID": "claude-sonnet-4-5", "tokens": { "input": 9, "output": 5 } });
        self.message(ID, id, &info, &[edit, bash]);
    }

    /// Commits in a tool call as the agent does: its hooks run before the answer is in the database.
    fn commits(&self, id: &str, file: &str) {
        self.step(id, file, None);
        self.scratch.commit(file, id, id);
        let call = json!({ "tool": "bash", "sessionID": ID, "callID": id });
        let args = json!({ "args": { "command": "git commit && false" } });
        let answer = json!({ "title": "git commit", "output": "failed behind it", "metadata": { "exit": 1 } });
        self.plugin(&json!([["tool.execute.before", [call, args]], ["tool.execute.after", [call, answer]]]));
        self.step(id, file, Some("failed behind it"));
    }

    fn plugin(&self, calls: &Value) {
        run_plugin(self.scratch, calls);
    }

    fn idle(&self) {
        self.plugin(&json!([["event", [{ "event": { "type": "session.idle", "properties": { "sessionID": ID } } }]]]));
    }
}

/// Calls the plugin as OpenCode does, and waits for the programs it starts. Returns what it told them.
fn run_plugin(scratch: &Scratch, calls: &Value) -> Vec<Value> {
    let folder = scratch.root().join("plugin");
    fs::create_dir_all(&folder).unwrap();
    let plugins = [PLUGIN, PLUGIN_OF_KILO].map(|plugin| scratch.top.join(plugin));
    fs::copy(plugins.iter().find(|path| path.is_file()).unwrap(), folder.join("shiftlog.mjs")).unwrap();
    let driver = r#"
        import child_process from "node:child_process"
        import { syncBuiltinESMExports } from "node:module"
        const children = []
        const spawn = child_process.spawn
        child_process.spawn = (...args) => {
            const child = spawn(...args)
            const told = { args: args[1] }
            const end = child.stdin.end.bind(child.stdin)
            child.stdin.end = (text) => { told.payload = JSON.parse(text); end(text) }
            children.push([child, told])
            return child
        }
        syncBuiltinESMExports()
        const [directory, calls] = JSON.parse(process.argv[2])
        const plugin = await import("./shiftlog.mjs")
        const hooks = []
        for (const factory of Object.values(plugin)) hooks.push(await factory({ directory }))
        for (const [name, args] of calls) for (const hook of hooks) await hook[name](...args)
        for (const [child] of children) {
            child.ref()
            await new Promise((done) => (child.exitCode === null ? child.on("exit", done).on("error", done) : done()))
        }
        console.log(JSON.stringify(children.map(([, told]) => told)))
    "#;
    fs::write(folder.join("driver.mjs"), driver).unwrap();
    let arguments = json!([scratch.top, calls]).to_string();
    let printed = scratch.run_in(&scratch.top, "node", [folder.join("driver.mjs").to_str().unwrap(), &arguments]).ok();
    serde_json::from_str(&printed).unwrap()
}

/// Says, loudly, if plugins cannot be run here.
fn has_node() -> bool {
    let has_node = std::process::Command::new("node").arg("--version").output().is_ok();
    if !has_node {
        crate::support::skip("there is no node");
    }
    has_node
}

#[test]
fn a_day_with_opencode_is_recorded_and_its_session_is_imported_again() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let running = Running::new(&scratch);
    running.plugin(
        &json!([["event", [{ "event": { "type": "session.created", "properties": { "info": { "id": ID } } } }]]]),
    );
    running.prompt("msg_01", "add a");
    running.commits("msg_02", "a.txt");
    running.idle();
    // It adds to a prompt what came of it, when that is long recorded.
    running.message(ID, "msg_01", &json!({ "role": "user", "summary": { "title": "An a" } }), &[]);
    running.prompt("msg_03", "add b");
    running.commits("msg_04", "b.txt");
    running.message(ID, "msg_05", &json!({ "role": "assistant" }), &[json!({ "type": "text", "text": "Done" })]);
    running.idle();
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"], "{}", scratch.log());
    assert_eq!([&first["turns"], &second["turns"]], [1, 1]);
    assert_eq!([&first["agent"], &first["model"], &first["session"]], ["opencode", "claude-sonnet-4-5", ID]);
    assert!(scratch.raw("HEAD~1", &[]).contains("failed behind it"), "the result of the call is with its commit");

    let whole = opencode().read(&Running::path(&scratch).join(ID)).unwrap();
    let whole: Value = serde_json::from_slice(&opencode().native(&whole)).unwrap();
    let stored = scratch.raw("HEAD", &["--full"]);
    let stored_value: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored_value["messages"], whole["messages"]);
    assert_eq!(stored_value["messages"][0]["info"]["summary"]["title"], "An a");

    drop(running);
    fs::remove_dir_all(scratch.home().join(".local")).unwrap();
    let script = "case \"$1\" in import) cp \"$2\" \"$HOME/imported\" ;; -s) echo \"$2\" >\"$HOME/found\" ;; esac\n";
    fake_program(&scratch, "opencode", script);
    let file = scratch.home().join(format!(".local/share/git-shiftlog/{ID}.json"));
    let printed = scratch.shiftlog("resume", ["--print"]).ok();
    let top = scratch.top.display();
    let runs = format!("run opencode import {} in {top}\nrun opencode -s {ID} in {top}\n", file.display());
    assert!(printed.ends_with(&runs), "{printed}");
    assert!(!scratch.home().join(".local").exists(), "--print writes nothing");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read_to_string(scratch.home().join("imported")).unwrap(), stored);
    assert_eq!(fs::read_to_string(scratch.home().join("found")).unwrap(), format!("{ID}\n"));
    scratch.assert_sound();
}

#[test]
fn a_day_with_kilo_is_recorded_as_one_with_opencode_and_under_its_own_name() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=kilo", "-q"]).ok();
    assert!(!scratch.top.join(".opencode").exists());
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "");
    let running = Running::of("kilo", &scratch);
    running.prompt("msg_01", "add a");
    running.commits("msg_02", "a.txt");
    running.idle();
    let record = scratch.record("HEAD");
    assert_eq!([&record["agent"], &record["prompt"], &record["session"]], ["kilo", "add a", ID], "{}", scratch.log());
    assert!(scratch.raw("HEAD", &[]).contains("failed behind it"), "the result of the call is with its commit");
    drop(running);
    fs::remove_dir_all(scratch.home().join(".local")).unwrap();
    fake_program(&scratch, "kilo", "case \"$1\" in -s) echo \"$2\" >\"$HOME/found\" ;; esac\n");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read_to_string(scratch.home().join("found")).unwrap(), format!("{ID}\n"));
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".kilo").exists());
    scratch.assert_sound();
}

#[test]
fn the_plugin_tells_of_people_and_shells_alone() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let event =
        |kind: &str, properties: Value| json!(["event", [{ "event": { "type": kind, "properties": properties } }]]);
    let call = |session: &str, tool: &str| json!({ "tool": tool, "sessionID": session, "callID": "c1" });
    let told = run_plugin(
        &scratch,
        &json!([
            event("session.created", json!({ "info": { "id": "ses_child", "parentID": ID } })),
            ["chat.message", [{ "sessionID": "ses_child" }, {}]],
            ["tool.execute.after", [call(ID, "read"), {}]],
            ["tool.execute.before", [call("ses_child", "bash"), { "args": { "command": "ls", "workdir": "sub" } }]],
            ["tool.execute.after", [call("ses_child", "bash"), { "output": "a" }]],
            event("session.idle", json!({ "sessionID": "ses_child" })),
            event("session.idle", json!({})),
            ["event", [{}]],
            ["event", []],
            ["tool.execute.after", [null, null]],
        ]),
    );
    let payload = json!({ "hook_event_name": "PostToolUse", "session_id": ID, "cwd": scratch.top.join("sub"),
        "tool_name": "bash", "tool_use_id": "c1", "tool_input": { "command": "ls", "workdir": "sub" },
        "tool_response": { "output": "a" } });
    assert_eq!(told, [json!({ "args": ["opencode", "PostToolUse"], "payload": payload })]);
}

#[test]
fn a_plugin_is_silent_where_the_program_is_gone() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "--shared", "-q"]).ok();
    let text = fs::read_to_string(scratch.top.join(PLUGIN)).unwrap();
    assert!(text.contains("\"git-shiftlog--hook\""), "what a team commits names no path of this machine: {text}");
    fs::write(scratch.top.join(PLUGIN), text.replace("git-shiftlog--hook", "git-shiftlog--gone")).unwrap();
    let told = run_plugin(&scratch, &json!([["chat.message", [{ "sessionID": ID }, {}]]]));
    assert_eq!(told.len(), 1);
}

#[test]
fn the_plugin_comes_and_goes_and_a_foreign_one_stays() {
    let scratch = Scratch::new();
    let path = scratch.top.join(PLUGIN);
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    assert!(path.is_file());
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "", "nothing shows up in the user's status");
    assert_eq!(scratch.shiftlog("init", ["--agent=opencode"]).ok(), "nothing to do\n");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".opencode").exists());
    scratch.write(PLUGIN, "export const Mine = async () => ({})\n");
    let ran = scratch.shiftlog("init", ["--agent=opencode", "-q"]);
    assert!(ran.stderr.contains("is not ours and is left alone"), "{}", ran.stderr);
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), "export const Mine = async () => ({})\n");
}

#[test]
fn a_session_that_no_plugin_told_of_is_found_when_a_commit_is_made() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let running = Running::new(&scratch);
    running.session("ses_child", Some(ID));
    let words = json!({ "type": "text", "text": "look around" });
    running.message("ses_child", "msg_11", &json!({ "role": "user" }), &[words]);
    running.message(ID, "msg_01", &json!({ "role": "user" }), &[json!({ "type": "text", "text": "add a" })]);
    running.step("msg_02", "a.txt", Some("done"));
    scratch.commit("a.txt", "msg_02", "add a");
    let sessions: Vec<Value> = scratch.records("HEAD").into_iter().map(|record| record["session"].clone()).collect();
    assert_eq!(sessions, [json!(ID), json!(format!("{ID}.ses_child"))], "with its sub-agent: {}", scratch.log());
    scratch.commit("c.txt", "by hand\n", "nothing new was said");
    assert_eq!(scratch.records("HEAD").len(), 0);
}

#[test]
fn a_session_in_files_of_an_older_release_is_found() {
    let old = fixture("opencode/storage");
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let storage = scratch.home().join(".local/share/opencode/storage");
    for path in files_below(&old) {
        let text = fs::read_to_string(&path).unwrap().replace("/home/dev/harbour", scratch.top.to_str().unwrap());
        let copy = storage.join(path.strip_prefix(&old).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        // Its times are of the year in which it was written.
        fs::write(copy, text.replace("17860000", "18860000")).unwrap();
    }
    scratch.commit("a.txt", "a\n", "the fix");
    assert_eq!(scratch.record("HEAD")["session"], ID);
    assert_eq!(scratch.record("HEAD")["prompt"], "commit the sails");
}

#[test]
fn a_hostile_session_id_is_no_file_name() {
    let scratch = Scratch::new();
    let file = scratch.root().join("said.json");
    fs::write(&file, "{\"info\":{\"id\":\"x\"},\"shiftlog\":7,\"messages\":[{\"info\":3}]}").unwrap();
    for id in ["../../x", "-rf", "a/b", "a\u{1b}[31m"] {
        let file = file.to_str().unwrap();
        scratch
            .shiftlog("add", ["-q", "-f", "--agent=opencode", "--transcript", file, &format!("--session={id}")])
            .ok();
        let ran = scratch.shiftlog("resume", [format!("--session={id}")]);
        assert!(ran.code != 0 && ran.stdout.is_empty(), "{id}: {ran:?}");
        assert_eq!(files_below(&scratch.home().join(".local")), Vec::<PathBuf>::new(), "{id}");
        assert_ne!(scratch.shiftlog("add", ["-q", "--agent=opencode", &format!("--session={id}")]).code, 0, "{id}");
    }
    assert!(opencode().transcript("../opencode.db", Path::new("/")).is_none());
}
