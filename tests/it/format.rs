//! A reader in Python that is made from gitshiftlog-format(5) alone reads every kind of session as our own does.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use shiftlog::archive::hex;

use crate::earlier::{document, transcript};
use crate::migrating::{attach, migrate};
use crate::purging::{SECRET, purge};
use crate::support::Scratch;

/// A session as the other reader reads it.
pub struct Foreign {
    record: Value,
    pub increment: Vec<u8>,
    session: PathBuf,
}

/// Reads the records of a commit with the reader in Python.
pub fn foreign(scratch: &Scratch, revision: &str) -> Vec<Foreign> {
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign_reader.py");
    let directory = scratch.root().join("foreign");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    let ran =
        scratch.run_in(&scratch.top, "python3", [reader.to_str().unwrap(), revision, directory.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let file = |number: usize, extension: &str| directory.join(format!("{number}.{extension}"));
    let read = |number: usize| {
        let record = fs::read(file(number, "record")).ok()?;
        Some(Foreign {
            record: serde_json::from_slice(&record).unwrap(),
            increment: fs::read(file(number, "increment")).unwrap(),
            session: file(number, "session"),
        })
    };
    (0..).map_while(read).collect()
}

/// Returns every row of both tables of a store.
fn rows(path: &Path) -> Vec<(String, Vec<u8>)> {
    let database = Connection::open(path).unwrap();
    let query = "SELECT id, data FROM blobs UNION ALL SELECT key, CAST(value AS BLOB) FROM meta ORDER BY 1";
    let mut statement = database.prepare(query).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Asserts that the other reader reads the same bytes of every record of a commit as `show --raw` prints. Returns the
/// sessions, in the order of the note.
#[track_caller]
pub fn assert_read_alike(scratch: &Scratch, revision: &str) -> Vec<String> {
    let read = foreign(scratch, revision);
    assert!(!read.is_empty(), "{revision} has records");
    let session = |each: &Foreign| each.record["session"].as_str().unwrap().to_owned();
    for each in &read {
        let option = format!("--session={}", session(each));
        let show = |options: &[&str]| {
            let ran = scratch.shiftlog("show", [&["--raw", &option], options, &[revision]].concat());
            assert_eq!(ran.code, 0, "{option}: {}", ran.stderr);
            ran.bytes
        };
        assert!(show(&[]) == each.increment, "the increment of {option}");
        let full = show(&["--full"]);
        if full.starts_with(b"SQLite format 3\0") {
            let ours = scratch.root().join("ours.db");
            fs::write(&ours, full).unwrap();
            assert_eq!(rows(&ours), rows(&each.session), "every row of {option}");
        } else {
            assert!(full == fs::read(&each.session).unwrap(), "the whole of {option}");
        }
    }
    read.iter().map(session).collect()
}

/// Records an agent's file on HEAD.
pub fn add(scratch: &Scratch, agent: &str, transcript: &Path, session: &str) {
    let (agent, session) = (format!("--agent={agent}"), format!("--session={session}"));
    // Some have spellings that no agent uses.
    scratch.shiftlog("add", ["-q", "--force", &agent, "--transcript", transcript.to_str().unwrap(), &session]).ok();
}

#[test]
fn the_page_is_enough_to_read_lines_with_sub_agents_and_several_records() {
    let scratch = Scratch::set_up();
    let (first, second) = (scratch.session("s1"), scratch.session("s2"));
    first.prompt("start");
    first.edits("a.txt", "a\n");
    assert_eq!(assert_read_alike(&scratch, &first.commits("one")), ["s1"]);

    let folder = first.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let words = "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"role\":\"user\",\"content\":\"find it\"}}\n";
    fs::write(folder.join("agent-a1b2.jsonl"), words).unwrap();
    second.prompt("my part");
    second.edits("b.txt", "b\n");
    first.prompt("go on");
    first.edits("a.txt", "b\n");
    let commit = first.commits("two");
    let mut sessions = assert_read_alike(&scratch, &commit);
    sessions.sort();
    assert_eq!(sessions, ["s1", "s1.a1b2", "s2"]);

    // As 'git notes merge -s cat_sort_uniq' leaves it.
    let note = scratch.git(["notes", "--ref=shiftlog", "show", &commit]).ok();
    let mut lines: Vec<&str> = note.lines().collect();
    lines.sort_unstable();
    let sorted = format!("{}\n\nsomebody's remark\n", lines.join("\n"));
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &sorted, &commit]).ok();
    assert_eq!(assert_read_alike(&scratch, &commit).len(), 3);
}

#[test]
fn the_page_is_enough_to_read_what_an_agent_was_told() {
    let scratch = Scratch::set_up();
    scratch.write("CLAUDE.md", "Use @docs/a.md");
    scratch.write("docs/a.md", "tabs\n");
    let session = scratch.session("s1");
    session.prompt("start");
    session.edits("a.txt", "a\n");
    foreign(&scratch, &session.commits("one"));
    let read = |entry: usize| fs::read_to_string(scratch.root().join(format!("foreign/0.rules.{entry}"))).unwrap();
    assert_eq!((read(0), read(1)), ("Use @docs/a.md".to_owned(), "tabs\n".to_owned()));
}

#[test]
fn the_page_is_enough_to_read_a_session_whose_file_was_rewritten() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    let one = session.commits("one");
    session.prompt("a wrong turn");
    session.edits("a.txt", "b\n");
    let two = session.commits("two");
    // The agent takes back what was said last, also some of what the first commit has.
    let text = session.text();
    let kept: String = text.split_inclusive('\n').take(2).collect();
    fs::write(&session.transcript, kept).unwrap();
    session.prompt("another way");
    session.edits("a.txt", "c\n");
    let three = session.commits("three");
    for commit in [&one, &two, &three] {
        assert_eq!(assert_read_alike(&scratch, commit), ["s1"]);
    }
    let header = |commit: &str| {
        let through = scratch.record(commit)["through"].as_str().unwrap().to_owned();
        let file = scratch.git(["cat-file", "blob", &through]).bytes;
        let length = u32::from_le_bytes(file[4..8].try_into().unwrap()) as usize;
        serde_json::from_slice::<Value>(&file[8..8 + length]).unwrap()
    };
    let kept = header(&three)["keep"].as_u64().unwrap();
    assert!(kept > 0 && kept < scratch.record(&one)["bytes"].as_u64().unwrap(), "a part of its parent stays");
}

/// The same document in every spelling that comes back, and one that stays in one piece.
fn spellings(document: &Value) -> Vec<String> {
    let pretty = serde_json::to_string_pretty(document).unwrap();
    let wide: String = pretty
        .lines()
        .map(|line| {
            let text = line.trim_start_matches(' ');
            format!("{}{text}\n", " ".repeat(2 * (line.len() - text.len())))
        })
        .collect();
    vec![
        document.to_string(),
        format!("{document}\n"),
        pretty.clone(),
        format!("{pretty}\n"),
        wide,
        format!(" {pretty}"),
    ]
}

#[test]
fn the_page_is_enough_to_read_documents_in_every_spelling() {
    let odd = json!({ "text": "a \"b\" \\ { [ , : \u{e9} \u{2028}", "n": [1.5e300, -0.0, [], {}, [[]], null], "": {} });
    let documents = [
        (
            "amp",
            json!({ "id": "T-1", "messages": [{ "role": "user", "content": [{ "type": "text", "text": "x" }] }, odd], "v": {} }),
        ),
        ("cline", json!([{ "role": "user", "content": "x" }, odd])),
        ("continue", json!({ "history": [{ "message": { "role": "user", "content": "x" } }, odd], "title": [] })),
        (
            "gemini",
            json!({ "sessionId": "g", "messages": [{ "id": "1", "type": "user", "content": "x" }], "messages2": [] }),
        ),
        ("vscode", json!({ "version": 3, "requests": [{ "requestId": "1", "message": { "text": "x" } }, odd] })),
        ("cline", json!([])),
    ];
    let scratch = Scratch::new();
    let mut count = 0;
    for (agent, document) in &documents {
        for text in spellings(document) {
            let file = scratch.root().join(format!("{count}.json"));
            fs::write(&file, &text).unwrap();
            add(&scratch, agent, &file, &format!("d{count}"));
            count += 1;
        }
    }
    for (number, sessions) in foreign(&scratch, "HEAD").iter().enumerate() {
        let written = scratch.root().join(format!("{}.json", &sessions.record["session"].as_str().unwrap()[1..]));
        let (read, written) = (fs::read(&sessions.session).unwrap(), fs::read(written).unwrap());
        assert_eq!(String::from_utf8_lossy(&read), String::from_utf8_lossy(&written), "document {number}");
    }
    assert_eq!(assert_read_alike(&scratch, "HEAD").len(), count);
}

#[test]
fn the_page_is_enough_to_read_a_document_that_grows() {
    let scratch = Scratch::new();
    let file = scratch.root().join("thread.json");
    for turn in 1..4 {
        let messages: Vec<Value> = (0..turn)
            .map(|number| json!({ "role": "user", "content": [{ "type": "text", "text": number.to_string() }] }))
            .collect();
        let document = json!({ "id": "T-1", "updated": turn, "messages": messages, "last": turn });
        fs::write(&file, serde_json::to_string_pretty(&document).unwrap()).unwrap();
        scratch.commit("a.txt", &turn.to_string(), "turn");
        add(&scratch, "amp", &file, "T-1");
        assert_eq!(assert_read_alike(&scratch, "HEAD"), ["T-1"]);
    }
    let increment = String::from_utf8(foreign(&scratch, "HEAD").remove(0).increment).unwrap();
    assert_eq!(increment.lines().count(), 2, "the last message, and what is around them: {increment}");
}

#[test]
fn the_page_is_enough_to_read_a_session_of_opencode() {
    let scratch = Scratch::new();
    let storage = scratch.root().join("storage");
    let write = |path: String, value: &Value| {
        let path = storage.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    write("session/p/ses_1.json".into(), &json!({ "id": "ses_1", "title": "Work" }));
    for (id, summary) in [("msg_1", json!({ "title": "caf\u{e9}", "diffs": [] })), ("msg_2", json!({ "title": "b" }))] {
        let info = json!({ "id": id, "role": "user", "summary": summary, "time": { "created": 1 } });
        write(format!("message/ses_1/{id}.json"), &info);
        write(format!("part/{id}/prt_{id}.json"), &json!({ "id": format!("prt_{id}"), "type": "text", "text": "x" }));
    }
    // An answer gets its end after a commit, so it is stored in several lines.
    let (ids, end) = (json!({ "id": "msg_3", "role": "assistant" }), json!({ "finish": "stop", "cost": 0.5 }));
    let time = json!({ "time": { "created": 2, "completed": 9 } });
    let (usual, early) = ([&ids, &time, &end], [&end, &ids, &time]);
    for (number, order) in [usual, early].into_iter().enumerate() {
        let id = format!("msg_{}", 3 + number);
        let members = order.into_iter().flat_map(|part| part.as_object().unwrap().clone());
        let mut info: serde_json::Map<String, Value> = members.collect();
        info.insert("id".into(), id.clone().into());
        write(format!("message/ses_1/{id}.json"), &Value::Object(info));
        for (part, kind) in ["text", "step-finish", "text", "step-finish"].into_iter().enumerate() {
            write(
                format!("part/{id}/prt_{part}.json"),
                &json!({ "id": format!("prt_{part}"), "type": kind, "text": "y" }),
            );
        }
    }
    add(&scratch, "opencode", &storage.join("ses_1"), "ses_1");
    assert_eq!(assert_read_alike(&scratch, "HEAD"), ["ses_1"]);
    let session = fs::read(&foreign(&scratch, "HEAD")[0].session).unwrap();
    let session: Value = serde_json::from_slice(&session).unwrap();
    assert_eq!(session["messages"][0]["info"]["summary"]["title"], "caf\u{e9}");
    assert_eq!(session.get("shiftlog"), None);
    let answers = &session["messages"].as_array().unwrap()[2..];
    assert_eq!(answers.len(), 2, "one message for each answer: {answers:?}");
    for (answer, first) in answers.iter().zip(["id", "finish"]) {
        assert_eq!(answer["parts"].as_array().unwrap().len(), 4);
        assert_eq!(answer["info"].as_object().unwrap().keys().next().unwrap(), first, "the order of its members");
    }
}

#[test]
fn the_page_is_enough_to_read_an_export_of_opencode_that_has_members_like_our_marks() {
    let scratch = Scratch::new();
    let message = json!({ "info": { "id": "m", "role": "user" }, "parts": [{ "type": "text", "text": "x" }] });
    let mut marked = message.clone();
    marked["shiftlog"] = json!("continues");
    let own = json!({ "summaries": { "m": { "title": "not ours" } } });
    for (number, export) in [
        json!({ "info": { "id": "s" }, "messages": [message, marked] }),
        json!({ "info": { "id": "s" }, "messages": [message], "shiftlog": own }),
    ]
    .iter()
    .enumerate()
    {
        let file = scratch.root().join("export.json");
        fs::write(&file, serde_json::to_string_pretty(export).unwrap()).unwrap();
        scratch.commit("a.txt", &number.to_string(), "turn");
        add(&scratch, "opencode", &file, &format!("s{number}"));
        assert_eq!(assert_read_alike(&scratch, "HEAD"), [format!("s{number}")]);
        assert_eq!(fs::read(&foreign(&scratch, "HEAD")[0].session).unwrap(), fs::read(&file).unwrap());
    }
}

#[test]
fn the_page_is_enough_to_read_a_store() {
    let scratch = Scratch::new();
    let path = scratch.root().join("store.db");
    let database = Connection::open(&path).unwrap();
    let tables =
        "CREATE TABLE blobs(id text primary key,data blob);CREATE TABLE meta(key text primary key,value text);";
    database.execute_batch(tables).unwrap();
    let insert = |data: &[u8]| -> Vec<u8> {
        let digest = Sha256::digest(data).to_vec();
        database.execute("INSERT INTO blobs VALUES(?1, ?2)", params![hex(&digest), data]).unwrap();
        digest
    };
    let mut root = Vec::new();
    for text in ["one", "two", "three"] {
        let message = json!({ "role": "user", "content": text, "caf\u{e9}": "\u{2028}" });
        root.extend([&b"\x0a\x20"[..], &insert(message.to_string().as_bytes())].concat());
    }
    root.extend([b"\x0a\x20", &root.clone()[2..34]].concat());
    let binary = insert(b"\x00\xff some text that can be read \x01\n\"{");
    let ours = insert(br#"{"shiftlog":"blob","data":["not ours"]}"#);
    let node = insert(&[b"\x12\x40", &binary[..], &ours[..]].concat());
    root.extend([b"\x1a\x20", &node[..], b"\x22\x08the rest"].concat());
    let root = insert(&root);
    let meta = json!({ "agentId": "chat-1", "latestRootBlobId": hex(&root), "name": "Work" }).to_string();
    database.execute("INSERT INTO meta VALUES('0', ?1)", [hex(meta.as_bytes())]).unwrap();
    database.execute("INSERT INTO meta VALUES('plain', 'no hex')", []).unwrap();
    drop(database);
    add(&scratch, "cursor", &path, "chat-1");
    assert_eq!(assert_read_alike(&scratch, "HEAD"), ["chat-1"]);
    assert_eq!(rows(&foreign(&scratch, "HEAD")[0].session), rows(&path), "every row that the agent had");
}

#[test]
fn the_page_is_enough_to_read_an_old_note_whose_words_were_purged() {
    let scratch = Scratch::set_up();
    scratch.write("CLAUDE.md", &format!("{SECRET}, as I said"));
    let (first, second) = (scratch.session("s1"), scratch.session("s2"));
    first.prompt(&format!("remember: {SECRET}"));
    first.edits("a.txt", "a\n");
    let mut commits = vec![first.commits("one")];
    first.prompt("go on");
    first.edits("a.txt", "b\n");
    commits.push(first.commits("two"));
    second.prompt("my part");
    second.edits("a.txt", "c\n");
    commits.push(second.commits("three"));
    let note = |commit: &String| scratch.git(["notes", "--ref=shiftlog", "show", commit]).ok();
    let notes: Vec<String> = commits.iter().map(note).collect();
    purge(&scratch, &[&format!("--match={SECRET}")]).ok();
    purge(&scratch, &["--session=s2"]).ok();
    // As a colleague has them who has not heard of it.
    for (commit, before) in commits.iter().zip(&notes) {
        scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", before, commit]).ok();
        assert_eq!(note(commit), *before);
    }
    assert_eq!(assert_read_alike(&scratch, &commits[0]), ["s1"]);
    let told = fs::read_to_string(scratch.root().join("foreign/0.rules.0")).unwrap();
    assert_eq!(told, "[REDACTED:purged], as I said");
    assert_eq!(assert_read_alike(&scratch, &commits[1]), ["s1"]);
    assert_eq!(foreign(&scratch, &commits[2]).len(), 0, "nothing is left of the session");
}

#[test]
fn the_page_is_enough_to_read_documents_of_earlier_tools() {
    let scratch = Scratch::new();
    let texts = ["one question", "another question"].map(transcript);
    let documents = [document("old", &texts[0]), document("older", &texts[1])];
    let pretty = serde_json::to_string_pretty(&documents[0]).unwrap();
    attach(&scratch, "refs/notes/shiftlog", "HEAD", &format!("a remark\n{pretty}\n"));
    attach(&scratch, "refs/notes/claude-conversations", "HEAD", &documents[1].to_string());
    let read = || {
        foreign(&scratch, "HEAD");
        let file = |number: usize| fs::read_to_string(scratch.root().join(format!("foreign/earlier.{number}"))).ok();
        (0..).map_while(file).collect::<Vec<_>>()
    };
    assert_eq!(read(), texts);
    migrate(&scratch, &[]).ok();
    assert_eq!(read(), Vec::<String>::new(), "they are records now");
    assert_eq!(assert_read_alike(&scratch, "HEAD").len(), 2);
}
