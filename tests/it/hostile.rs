//! A repository that somebody made to do harm: everything survives it, and prints nothing that a terminal would act on.

pub mod large;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::json;
use shiftlog::archive::{Header, hex, segment};

use crate::corpus;
use crate::sharing::Team;
use crate::support::{Ran, Scratch, feed};

/// What must never reach a terminal: escapes that set titles, links and the clipboard, that move the cursor or ask the
/// terminal; bidirectional overrides and zero-width characters.
const POISON: &str = "\u{1b}]0;title\u{7}\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{1b}P$q\u{1b}\\\u{9b}31m\r\u{8}\u{202e}\u{2066}\u{200b}\u{feff}\u{61c}\u{2028}\u{e0041}<script>alert(1)</script>";

/// A segment, with whatever header somebody wants to give it.
pub fn encode(header: &serde_json::Value, body: &[u8]) -> Vec<u8> {
    with_frame(header, &zstd::bulk::compress(body, 3).unwrap())
}

fn with_frame(header: &serde_json::Value, frame: &[u8]) -> Vec<u8> {
    let json = header.to_string().into_bytes();
    let mut file = 0x184D_2A50_u32.to_le_bytes().to_vec();
    file.extend(u32::try_from(json.len()).unwrap().to_le_bytes());
    file.extend(json);
    file.extend(frame);
    file
}

pub fn header(session: &str, parent: Option<&str>, keep: i64, bytes: i64) -> serde_json::Value {
    json!({ "shiftlog": 1, "agent": "claude", "session": session, "parent": parent, "keep": keep, "bytes": bytes,
        "sha256": "00".repeat(32), "time": POISON })
}

pub fn record(session: &str, since: Option<&str>, through: &str, bytes: i128) -> String {
    let number = if bytes > i128::from(u64::MAX) || bytes < 0 { bytes.to_string() } else { format!("{bytes}") };
    let line = json!({ "shiftlog": 1, "agent": format!("claude{POISON}"), "session": session, "model": POISON,
        "time": POISON, "prompt": format!("prompt {POISON}"), "turns": 3, "messages": u64::MAX,
        "tokens": { "input": u64::MAX, "output": u64::MAX, "cacheRead": u64::MAX, "cacheWrite": u64::MAX },
        "since": since, "through": through, "bytes": 0, "sha256": "x" });
    line.to_string().replace("\"bytes\":0", &format!("\"bytes\":{number}"))
}

/// The same record, of an agent that exists.
pub fn of_claude(record: &str) -> String {
    record.replace(&json!(format!("claude{POISON}")).to_string(), "\"claude\"")
}

/// The header of a segment of the agent that [`record`] names.
fn poisoned(mut header: serde_json::Value) -> serde_json::Value {
    header["agent"] = json!(format!("claude{POISON}"));
    header
}

struct Villain {
    scratch: Scratch,
    count: u32,
}

impl Villain {
    fn blob(&self, bytes: &[u8]) -> String {
        let ran = self.scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], bytes);
        ran.ok().trim().to_owned()
    }

    /// Attaches a note to a commit of its own.
    fn note(&mut self, bytes: &[u8]) {
        self.count += 1;
        self.scratch.git(["commit", "-q", "--allow-empty", "-m", &format!("number {} {POISON}", self.count)]).ok();
        let id = self.blob(bytes);
        self.scratch.git(["notes", "--ref=shiftlog", "add", "-C", &id]).ok();
    }
}

/// Makes the repository.
fn villain() -> Villain {
    let mut scratch = Scratch::new();
    scratch.env.insert("GIT_AUTHOR_NAME".into(), format!("A{}", POISON.replace(['\r', '\u{8}'], "")));
    let mut villain = Villain { scratch, count: 0 };
    let transcript = format!(
        "{}\n{}\n{}\nnot JSON {POISON}\n\u{feff}\u{0}\n",
        json!({ "type": "user", "message": { "role": "user", "content": POISON } }),
        json!({ "type": "assistant", "message": { "role": "assistant", "model": POISON, "content": [
            { "type": "text", "text": format!("# {POISON}\n[a](http://evil{POISON})<b>") }, { "type": "thinking", "thinking": POISON },
            { "type": "tool_use", "id": "1", "name": POISON, "input": { "command": POISON, "file_path": format!("../../{POISON}"),
                "old_string": POISON, "new_string": "x", "content": POISON } }] } }),
        json!({ "type": "user", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "1", "content": POISON, "is_error": true }] } }),
    );
    let whole = |agent: &str, session: &str| Header {
        shiftlog: 1,
        agent: agent.into(),
        session: session.into(),
        parent: None,
        keep: 0,
        bytes: transcript.len() as u64,
        sha256: hex(&<sha2::Sha256 as sha2::Digest>::digest(&transcript)),
        time: "2026-01-02T03:04:05Z".into(),
    };
    let segment_of = |agent: &str, session: &str| {
        villain.blob(&segment::encode(&whole(agent, session), transcript.as_bytes()).unwrap())
    };
    let poison = segment_of(&format!("claude{POISON}"), POISON);
    let parsed = segment_of("claude", "poison");
    villain.note(record(POISON, None, &poison, 10).as_bytes());
    villain.note(of_claude(&record("poison", None, &parsed, 10)).as_bytes());
    villain.note(record("poison", None, &poison, 10).as_bytes());
    // A bomb, and a chain of bombs that are each small enough.
    let zeros = vec![0; 32 << 20];
    let frame = zstd::bulk::compress(&zeros, 3).unwrap();
    let bomb = villain.blob(&with_frame(&poisoned(header("bomb", None, 0, 1 << 40)), &frame));
    villain.note(record("bomb", None, &bomb, 1 << 40).as_bytes());
    let big = villain.blob(&encode(&poisoned(header("bomb", None, 0, (300 << 20) - 1)), &vec![0; (300 << 20) - 1]));
    villain.note(record("bomb", None, &big, 1 << 40).as_bytes());
    let mut parent = villain.blob(&with_frame(&poisoned(header("chain", None, 0, 32 << 20)), &frame));
    for number in 1..8_i64 {
        let keep = number * (32 << 20);
        parent = villain.blob(&with_frame(&poisoned(header("chain", Some(&parent), keep, 32 << 20)), &frame));
    }
    villain.note(record("chain", None, &parent, 1 << 40).as_bytes());
    // A header that claims four gigabytes, and one that claims to keep what is not there.
    let mut claims = encode(&poisoned(header("claims", None, 0, 5)), b"five\n");
    claims[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let claims = villain.blob(&claims);
    villain.note(record("claims", None, &claims, 5).as_bytes());
    let first = villain.blob(&encode(&poisoned(header("keeps", None, 0, 5)), b"four\n"));
    for (keep, bytes) in [(1 << 60, 5), (i64::MAX, i64::MAX), (-1, 5), (0, -5), (3, 5)] {
        let keeps = villain.blob(&encode(&poisoned(header("keeps", Some(&first), keep, bytes)), b"five\n"));
        villain.note(record("keeps", Some(&keeps), &keeps, 5).as_bytes());
    }
    // Segments that are none.
    let head = villain.scratch.id("HEAD");
    let tree = villain.scratch.id("HEAD^{tree}");
    for through in [&head, &tree, "../../x", "", &"0".repeat(40), &"f".repeat(4000), &villain.blob(b"text")] {
        villain.note(record("none", Some(through), through, -1).as_bytes());
    }
    // Notes that are hard to read.
    villain.note(format!("{}{}", "[".repeat(200_000), "{\"a\":".repeat(200_000)).as_bytes());
    villain.note(&[&b"{\"shiftlog\":1,\"agent\":\""[..], &[0xff, 0xfe, 0], b"\"}"].concat());
    villain.note(record(POISON, None, &poison, i128::MAX).as_bytes());
    let many: String = (0..4_000).map(|number| record(&format!("m{number}"), Some("a"), "b", 1) + "\n").collect();
    villain.note(many.as_bytes());
    let same: String = (0..4_000).map(|number| record("same", Some(&format!("a{number}")), "b", 1) + "\n").collect();
    villain.note(same.as_bytes());
    // Evidence, and what looks like it.
    let observed = |name: &str, more: serde_json::Value| {
        let mut line = json!({ "shiftlog": 1, "evidence": format!("log{POISON}"), "id": format!("id{POISON}"), "time": POISON,
            "size": u64::MAX, "sha256": "00".repeat(32), "status": POISON, "error": format!("error {POISON}"),
            "triage": [POISON, POISON], "note": POISON, "name": name });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let names = ["../../private", "/etc/passwd", POISON, "", ".git/config", "-x"];
    let lines: Vec<String> = names
        .iter()
        .map(|name| observed(name, json!({})))
        .chain(
            [&poison, &bomb, &tree, "../x", ""]
                .map(|blob| observed("x", json!({ "id": blob, "blob": blob, "size": 3 }))),
        )
        .chain([observed("x", json!({ "size": -1 })), observed("x", json!({ "triage": POISON }))])
        .collect();
    villain.note(lines.join("\n").as_bytes());
    // A document of an earlier tool that unpacks to half a gigabyte.
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    (0..512).for_each(|_| std::io::Write::write_all(&mut packer, &zeros[..1 << 20]).unwrap());
    let packed = <base64::engine::GeneralPurpose as base64::Engine>::encode(
        &base64::engine::general_purpose::STANDARD,
        packer.finish().unwrap(),
    );
    let earlier = json!({ "version": 1, "session_id": POISON, "timestamp": POISON, "message_count": 3, "checksum": "sha256:00",
        "transcript": packed, "agent": POISON, "model": POISON });
    villain.note(earlier.to_string().as_bytes());
    // Entries of the notes tree that are trees and symbolic links, and refs that name no commit.
    let note_tree = villain.scratch.git(["ls-tree", "refs/notes/shiftlog"]).ok();
    villain.count += 1;
    villain.scratch.git(["commit", "-q", "--allow-empty", "-m", "x"]).ok();
    let first = villain.scratch.id("HEAD");
    let second = villain.scratch.id("HEAD~1");
    let kept: String =
        note_tree.lines().filter(|line| !line.contains(&second)).map(|line| format!("{line}\n")).collect();
    let entries = format!("{kept}040000 tree {tree}\t{first}\n120000 blob {claims}\t{second}\n");
    let made = villain.scratch.run_with_input("git", ["mktree"], entries.as_bytes()).ok();
    let commit = villain.scratch.git(["commit-tree", made.trim(), "-p", "refs/notes/shiftlog", "-m", "x"]).ok();
    villain.scratch.git(["update-ref", "refs/notes/shiftlog", commit.trim()]).ok();
    villain.scratch.git(["update-ref", "refs/shiftlog/remotes/evil/notes", &claims]).ok();
    villain.scratch.git(["update-ref", "refs/shiftlog/remotes/worse/notes", &tree]).ok();
    villain.scratch.git(["update-ref", "refs/shiftlog/remotes/tag/sessions", commit.trim()]).ok();
    // An archive with names of its own.
    let names = format!("100644 blob {poison}\t..%2F..%2Fx\n100644 blob {bomb}\t\u{1b}[31m\n");
    let inner = villain.scratch.run_with_input("git", ["mktree"], names.as_bytes()).ok();
    let outer = format!("040000 tree {}\tclaude~x\n", inner.trim());
    let outer = villain.scratch.run_with_input("git", ["mktree"], outer.as_bytes()).ok();
    let root = format!("040000 tree {}\taa\n100644 blob {big}\tstray\n", outer.trim());
    let root = villain.scratch.run_with_input("git", ["mktree"], root.as_bytes()).ok();
    let archive = villain.scratch.git(["commit-tree", root.trim(), "-m", "x"]).ok();
    villain.scratch.git(["update-ref", "refs/shiftlog/sessions", archive.trim()]).ok();
    villain
}

/// Collects every string of a JSON value, those of JSON in a string too.
fn strings(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => {
            if let Ok(inner @ (serde_json::Value::Object(_) | serde_json::Value::Array(_))) = serde_json::from_str(text)
            {
                strings(&inner, found);
            }
            found.push(text.clone());
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
            found.push(key.clone());
            strings(value, found);
        }),
        _ => {}
    }
}

/// Says what of an output a terminal would act on.
fn unsafe_text(text: &str) -> Vec<char> {
    let is_unsafe = |c: &char| match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    };
    text.chars().filter(is_unsafe).collect()
}

#[track_caller]
fn assert_harmless(what: &str, ran: &Ran) {
    assert!([0, 1, 128].contains(&ran.code), "{what}: {} {}", ran.code, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
    assert_eq!(unsafe_text(&ran.stdout), [], "{what}: {}", ran.stdout);
    assert_eq!(unsafe_text(&ran.stderr), [], "{what}: {}", ran.stderr);
}

/// Runs a command, within a bound of memory.
pub fn run(scratch: &Scratch, dir: &std::path::Path, args: &[&str]) -> Ran {
    run_from(&crate::support::bin_dir(), scratch, dir, args)
}

/// Runs a command of the programs in a directory, within a bound of memory.
pub fn run_from(programs: &std::path::Path, scratch: &Scratch, dir: &std::path::Path, args: &[&str]) -> Ran {
    let (name, args) = args.split_first().unwrap();
    let program = programs.join(format!("git-shiftlog-{name}"));
    let mut command = scratch.command(program, dir);
    command.args(args);
    let input = if *name == "mcp" { corpus::questions() } else { String::new() };
    let (output, used) = corpus::measured(command, input);
    let corpus::Used { peak_kib, cpu_secs } = used;
    let needs = format!("{peak_kib} KiB and {cpu_secs} s of processor time");
    // The code of a debug build is resident, too, and many times as large. 'cargo bench -- hostile' measures the other one.
    let is_debug = cfg!(debug_assertions) && programs == crate::support::bin_dir();
    let code_kib = if is_debug { 24 << 10 } else { 0 };
    assert!(peak_kib <= corpus::MAX_KIB + code_kib, "{name} {args:?} used {needs} in {}", dir.display());
    Ran::of(output)
}

#[test]
fn a_hostile_repository_does_no_harm() {
    let villain = villain();
    commands_survive(&villain);
    a_remote_is_survived(&villain);
    the_server_survives(&villain);
}

#[test]
fn a_chain_of_a_hundred_thousand_segments_is_not_followed_to_its_end() {
    let scratch = Scratch::new();
    let mut importer = scratch.command("git", &scratch.top);
    importer.args(["fast-import", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut importer = importer.spawn().unwrap();
    let (mut stdin, stdout) = (importer.stdin.take().unwrap(), importer.stdout.take().unwrap());
    let (mut stdout, mut parent) = (BufReader::new(stdout), None::<String>);
    for number in 0..100_000_i64 {
        let segment = encode(&header("long", parent.as_deref(), number, 1), b"\n");
        let data = format!("blob\nmark :1\ndata {}\n", segment.len());
        stdin.write_all(&[data.as_bytes(), &segment, b"\nget-mark :1\n"].concat()).unwrap();
        let mut id = String::new();
        stdout.read_line(&mut id).unwrap();
        parent = Some(id.trim().to_owned());
    }
    drop(stdin);
    assert!(importer.wait().unwrap().success());
    let through = parent.unwrap();
    let note = of_claude(&record("long", None, &through, 100_000));
    let mut villain = Villain { scratch, count: 0 };
    villain.note(note.as_bytes());
    let since = villain.scratch.id("HEAD");
    for args in
        [&["show", "--full"][..], &["show", "--json"], &["log"], &["fsck"], &["resume", "--print"], &["verify", &since]]
    {
        assert_harmless(&format!("{args:?}"), &run(&villain.scratch, &villain.scratch.top, args));
    }
    let shown = run(&villain.scratch, &villain.scratch.top, &["show", "--full"]);
    assert!(shown.stdout.contains("has no end") || shown.stderr.contains("has no end"), "{shown:?}");
}

#[test]
fn a_line_without_end_costs_little_and_keeps_nothing_before_it_from_being_recorded() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("before");
    session.append(b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"");
    (0..90).for_each(|_| session.append(&[b'a'; 1 << 20]));
    session.append(b"\"}}\n");
    session.prompt("after");
    scratch.write("file", "x");
    scratch.git(["add", "file"]).ok();
    scratch.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "x"]).ok();
    let ran = run(&scratch, &scratch.top, &["-hook", "git", "post-commit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(scratch.raw("HEAD", &[]).lines().count(), 1, "{}", scratch.log());
    assert!(scratch.log().contains("a line is too long"), "{}", scratch.log());
    let told = "the transcript of claude/s1 is not recorded to its end: a line has more than 40 MiB";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert!(scratch.shiftlog("status", [""; 0]).stdout.contains("a line has more than 40 MiB"));
    let again = scratch.git(["commit", "-q", "--allow-empty", "-m", "y"]);
    assert_eq!(again.stderr, "", "it is told once");
}

fn commands_survive(villain: &Villain) {
    let scratch = &villain.scratch;
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["log"],
        vec!["log", "--oneline", "--all"],
        vec!["log", "--json"],
        vec!["log", "--porcelain"],
        vec!["log", "--format=%h %an %s %(agent) %(model) %(session) %(prompt) %(time) %(messages) %(tokens:input)"],
        vec!["branches"],
        vec!["branches", "--json"],
        vec!["fsck"],
        vec!["fsck", "--json", "--unreachable"],
        vec!["fsck", "--porcelain"],
        vec!["verify", "HEAD"],
        vec!["verify", "--json", "HEAD"],
        vec!["scan", "--branches"],
        vec!["scan", "--archive"],
        vec!["remap", "--dry-run"],
        vec!["purge", "--dry-run", "--match=x"],
        vec!["keys", "[conversation][HEAD]"],
        vec!["get", "[commit][HEAD][records]"],
        vec!["import", "--dry-run"],
        vec!["migrate", "--dry-run"],
        vec!["init", "--dry-run", "--agent=claude"],
        vec!["doctor"],
    ];
    let revisions: Vec<String> = (0..=villain.count).map(|number| format!("HEAD~{number}")).collect();
    for revision in &revisions {
        for options in [&["--full", "--tool-output=full"][..], &["--json"], &["--format=markdown"]] {
            commands.push([&["show"], options, &[revision.as_str()]].concat());
        }
        commands.push(vec!["show", "--evidence=full", revision]);
        commands.push(vec!["evidence", revision]);
        commands.push(vec!["evidence", "--json", revision]);
        commands.push(vec!["evidence", "show", revision]);
        commands.push(vec!["export", "--html", revision]);
        commands.push(vec!["resume", "--print", revision]);
        commands.push(vec!["resume", "--print", "--as=codex", revision]);
        commands.push(vec!["summarise", "--agent=claude", revision]);
    }
    let log = run(scratch, &scratch.top, &["log", "-n", "3"]);
    assert_eq!(log.stdout.lines().count(), 3, "there is something to read: {log:?}");
    for command in &commands {
        let ran = run(scratch, &scratch.top, command);
        assert_harmless(&format!("{command:?}"), &ran);
    }
}

fn a_remote_is_survived(villain: &Villain) {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "harmless");
    let url = format!("file://{}", villain.scratch.top.display());
    team.git(&a, &["remote", "add", "evil", &url]).ok();
    team.git(&a, &["fetch", "-q", "evil"]).ok();
    for args in [&["sync", "pull", "--all", "evil"][..], &["sync", "--all", "evil"], &["log"], &["show"], &["fsck"]] {
        assert_harmless(&format!("{args:?}"), &run(&team.scratch, &a, args));
    }
    team.assert_said(&a, "HEAD", &["harmless"]);
    let files: Vec<_> = fs::read_dir(team.scratch.root()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!files.iter().any(|name| name == "x"), "nothing was written outside: {files:?}");
}

fn the_server_survives(villain: &Villain) {
    let mut input = String::new();
    let mut ask = |id: u32, method: &str, params: serde_json::Value| {
        input += &format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    };
    ask(
        1,
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
    );
    ask(2, "tools/call", json!({ "name": "shiftlog_list_conversations", "arguments": { "limit": 50 } }));
    ask(3, "resources/list", json!({}));
    for number in 0..villain.count {
        let arguments = json!({ "commit_sha": format!("HEAD~{number}") });
        ask(10 + number, "tools/call", json!({ "name": "shiftlog_get_conversation", "arguments": arguments }));
    }
    let ran = feed(&mut villain.scratch.command("git-shiftlog-mcp", &villain.scratch.top), input.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().count() as u32, 3 + villain.count, "everything is answered: {}", ran.stderr);
    assert_eq!(unsafe_text(&ran.stdout), []);
    let mut has_read = false;
    for line in ran.stdout.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_ne!(answer["error"]["code"], -32603, "{line}");
        has_read |= answer["result"]["structuredContent"]["transcript"].is_string();
        // What a client makes of it must be harmless too.
        let mut texts = Vec::new();
        strings(&answer, &mut texts);
        texts.iter().for_each(|text| assert_eq!(unsafe_text(text), [], "{text}"));
    }
    assert!(has_read, "there is something to read");
}
