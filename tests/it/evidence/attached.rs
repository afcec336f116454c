//! Evidence on commits: attaching, showing, dropping, and what other commands make of it.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::{Server, TOKEN, row};
use crate::mcp::Client;
use crate::support::Scratch;

const LOG: &str = "64.0 APEX_CODE,FINEST;SYSTEM,DEBUG\n\
    12:00:00.0 (200)|CODE_UNIT_STARTED|[EXTERNAL]|01q5|AccountTrigger on Account trigger event BeforeInsert\n\
    12:00:00.1 (1000000)|SOQL_EXECUTE_BEGIN|[3]|Aggregations:0|SELECT Id FROM Contact\n\
    12:00:00.1 (8000000)|SOQL_EXECUTE_END|[3]|Rows:7\n\
    12:00:00.2 (9200000)|FATAL_ERROR|System.NullPointerException: Attempt to de-reference a null object\n\
    \x20 Number of SOQL queries: 95 out of 100\n";
const ERROR: &str = "System.NullPointerException: Attempt to de-reference a null object (in AccountTrigger on Account \
                     trigger event BeforeInsert)";

/// A repository with a recorded commit.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("add a trigger");
    session.edits("a.cls", "x\n");
    session.commits("trigger");
    session.hook("SessionEnd");
    scratch
}

#[test]
fn an_agent_fetches_a_log_and_show_tells_its_first_exception() {
    let scratch = recorded();
    scratch.project();
    let id = "07L5g00000AbCdEFGH";
    let mut rows = vec![row(id, "Ada Lovelace")];
    rows[0]["LogLength"] = json!(LOG.len());
    let org = Server::start(move |request| match request.path.ends_with("/Body") {
        true => super::Reply::ok(LOG),
        false => super::answer_as_org(&rows, request),
    });
    scratch.logged_in(&org.url);
    let mut client = Client::opened(&scratch, &scratch.top, &[]);
    let answer = client.call("apex_logs_sync", json!({}))["structuredContent"].clone();
    let file = answer["saved"][0]["file"].as_str().unwrap();
    scratch.shiftlog("evidence", ["attach", "-q", "HEAD", file]).ok();
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    let expected = format!(
        "evidence 1 apex {id}, {} bytes, apexlogs/Ada_Lovelace_{id}.log\n  {ERROR}\n  limit: Number of SOQL queries 95 \
         of 100\n  slowest SOQL: 7 ms, 7 rows: SELECT Id FROM Contact\n",
        LOG.len()
    );
    assert!(shown.contains("> add a trigger") && shown.contains(&expected), "{shown}");
    scratch.shiftlog("export", ["--html", "-o", "page.html", "HEAD"]).ok();
    let page = fs::read_to_string(scratch.top.join("page.html")).unwrap();
    let told = format!("Evidence</span> apex {id}, {} bytes, apexlogs/Ada_Lovelace_{id}.log\n{ERROR}\n", LOG.len());
    assert_eq!(page.matches(&told).count(), 1, "{page}");
    let read = client.call("shiftlog_get_conversation", json!({ "commit_sha": "HEAD" }))["structuredContent"].clone();
    assert_eq!(read["evidence"][0].as_str().unwrap().lines().nth(1), Some(ERROR), "{read}");
}

#[test]
fn what_is_attached_is_listed_shown_and_dropped() {
    let scratch = recorded();
    let before = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    scratch.write("out/test.log", "running 2 tests\ntest a ... ok\ntest b ... FAILED\n");
    let path = scratch.top.join("out/test.log");
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_323_045);
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    let evidence = |args: &[&str]| scratch.shiftlog("evidence", args);
    let none = evidence(&[]);
    assert_eq!((none.code, none.stderr.as_str()), (1, "error: no evidence attached to HEAD\n"));
    let planned = evidence(&["attach", "-n", "--kind=test", "out/test.log"]).ok();
    let short = &scratch.id("HEAD")[..7];
    assert_eq!(planned, format!("would attach test out/test.log to {short}\n  test b ... FAILED\n"));
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok(), before);
    let done = evidence(&["attach", "--kind=test", "--note=after the rename", "out/test.log"]).ok();
    assert_eq!(done, format!("attached test out/test.log to {short}\n  after the rename\n  test b ... FAILED\n"));
    let again = evidence(&["attach", "--kind=test", "HEAD", "out/test.log"]);
    assert_eq!(again.stderr, format!("warning: 'out/test.log' is attached to {short} already\n"));
    assert_eq!((again.code, again.stdout.as_str()), (1, ""));
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    let line = note.strip_prefix(&before).expect("the record is as it was");
    let sha256 = scratch.run_in(&scratch.top, "sha256sum", ["out/test.log"]).ok()[..64].to_owned();
    assert_eq!(
        line.trim_end(),
        format!(
            r#"{{"shiftlog":1,"evidence":"test","id":"{}","time":"2026-01-02T03:04:05Z","size":48,"sha256":"{sha256}","status":"failed","error":"test b ... FAILED","note":"after the rename","name":"out/test.log","blob":null}}"#,
            &sha256[..12]
        )
    );
    let listed = evidence(&["list", "HEAD"]).ok();
    let told =
        format!("evidence 1 test {}, 48 bytes, out/test.log\n  after the rename\n  test b ... FAILED\n", &sha256[..12]);
    assert_eq!(listed, told);
    let object: Value = serde_json::from_str(&evidence(&["--json"]).ok()).unwrap();
    assert_eq!(
        (&object["version"], &object["number"], &object["evidence"]["name"]),
        (&json!(1), &json!(1), &json!("out/test.log"))
    );
    for (command, key) in [("show", "conversation"), ("log", "sessions")] {
        let object: Value = serde_json::from_str(&scratch.shiftlog(command, ["--json"]).ok()).unwrap();
        assert!(object.get(key).is_some() && object["evidence"][0]["sha256"] == json!(sha256), "{object}");
    }
    assert_eq!(evidence(&["show"]).ok(), fs::read_to_string(&path).unwrap());
    let shown = scratch.shiftlog("show", ["--evidence=full"]).ok();
    assert!(shown.contains(&told) && shown.contains("\n    test a ... ok\n"), "{shown}");
    assert!(!scratch.shiftlog("show", ["--evidence=none"]).ok().contains("evidence 1"));
    // A text that has changed is not shown as what it was.
    scratch.write("out/test.log", "running 2 tests\ntest a ... ok\ntest b ... PASSED\n");
    let changed = evidence(&["show", "1"]);
    assert_eq!(
        (changed.code, changed.stderr.as_str()),
        (1, "error: cannot show 'out/test.log': the file has changed\n")
    );
    assert_eq!(evidence(&["show", "2"]).stderr, "error: HEAD has no evidence 2; it has 1\n");
    let dropped = evidence(&["drop", "HEAD", "1"]).ok();
    assert_eq!(dropped, format!("dropped test out/test.log of {short}\n"));
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok(), before, "nothing else has changed");
    for wrong in
        [&["attach"][..], &["attach", "HEAD"], &["drop", "HEAD"], &["list", "HEAD", "x"], &["show", "HEAD", "x"]]
    {
        assert_eq!(evidence(wrong).code, 129, "{wrong:?}");
    }
    assert_eq!(
        evidence(&["attach", "nothing.log"]).stderr,
        "fatal: cannot read 'nothing.log': there is no such file or commit\n"
    );
}

#[test]
fn the_head_of_a_session_says_how_its_tests_ended_and_what_failed() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it work");
    for (id, output) in
        [("t1", "test result: FAILED. 1 passed; 1 failed"), ("t2", "test result: ok. 2 passed; 0 failed")]
    {
        session.calls(id, "Bash", &json!({ "command": "cd app && cargo test 2>&1 | tail -3" }));
        session.answers(id, output);
    }
    session.calls("t3", "Bash", &json!({ "command": "npm run build" }));
    let result = json!([{ "type": "tool_result", "tool_use_id": "t3", "content": "exit code 2", "is_error": true }]);
    session.record("user", &json!({ "role": "user", "content": result }));
    session.edits("a.rs", "x\n");
    session.commits("work");
    let head = |args: &[&str]| {
        let shown = scratch.shiftlog("show", args).ok();
        let head = shown.lines().skip_while(|line| !line.starts_with("session ")).skip(2);
        head.take_while(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(head(&[]), ["2 test runs, the last passed", "1 command failed: npm run build"]);
    assert_eq!(head(&["--turn=1"]), [""; 0], "a part says nothing of the whole");
}

#[test]
fn a_file_with_a_very_long_path_can_be_attached_and_is_listed() {
    let scratch = Scratch::new();
    let mut directory = scratch.top.clone();
    // Each byte becomes three.
    (0..17).for_each(|_| directory.push(std::ffi::OsStr::from_bytes(&[0xff; 200])));
    fs::create_dir_all(&directory).unwrap();
    let long = "\u{1f980}".repeat(300);
    let limits: String = (0..4).map(|n| format!("  {n}{long}: 9 out of 10\n")).collect();
    let log = format!(
        "64.0 APEX_CODE,FINEST\n12:00:00.0 (1)|CODE_UNIT_STARTED|[EXTERNAL]|{long}\n\
         12:00:00.0 (2)|FATAL_ERROR|[{}]|{long}\n{limits}",
        "7".repeat(20_000)
    );
    fs::write(directory.join("x.log"), log).unwrap();
    let attach = || scratch.shiftlog_in(&directory, "evidence", ["attach", "-q", "--note", &long, "x.log"]);
    attach().ok();
    let listed = scratch.shiftlog("evidence", ["list"]).ok();
    assert!(listed.contains(", x.log\n"), "{listed}");
    assert_eq!(attach().code, 1, "it is there");
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok().lines().count(), 1);
}

#[test]
fn a_commit_without_a_conversation_can_have_evidence() {
    let scratch = Scratch::new();
    scratch.write("x.log", "error: it broke\n");
    scratch.shiftlog("evidence", ["attach", "-q", "x.log"]).ok();
    let shown = scratch.shiftlog("show", [""; 0]).ok();
    assert!(shown.starts_with("commit ") && shown.contains("\n  error: it broke\n"), "{shown}");
    let object: Value = serde_json::from_str(&scratch.shiftlog("show", ["--json"]).ok()).unwrap();
    assert_eq!(object["evidence"][0]["error"], "error: it broke");
    assert_eq!(scratch.shiftlog("show", ["--evidence=none"]).code, 1);
    let mut client = Client::opened(&scratch, &scratch.top, &[]);
    let short = &scratch.id("HEAD")[..7];
    let path = format!("[commit][{short}][evidence]");
    let refused = client.refused("shiftlog_get_conversation", json!({ "commit_sha": "HEAD" }));
    assert_eq!(
        refused,
        format!(
            "no conversation recorded for {short}, but evidence of what was observed; read it with shiftlog_get_value \
             and the path {path}"
        )
    );
    let value = client.call("shiftlog_get_value", json!({ "path": path }))["structuredContent"]["value"].clone();
    let value: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
    assert_eq!((&value[0]["name"], &value[0]["error"]), (&json!("x.log"), &json!("error: it broke")));
    scratch.shiftlog("fsck", [""; 0]).ok();
    scratch.assert_sound();
}

#[test]
fn a_commit_before_one_with_evidence_alone_is_priced_as_by_itself() {
    let scratch = recorded();
    let prices = scratch.root().join("prices.tsv");
    fs::write(&prices, "claude-test-1\t-\t1000\t1000\n").unwrap();
    scratch.git(["config", "shiftlog.prices", prices.to_str().unwrap()]).ok();
    scratch.commit("b.txt", "b\n", "more");
    scratch.write("x.log", "error: it broke\n");
    scratch.shiftlog("evidence", ["attach", "-q", "x.log"]).ok();
    let alone = scratch.shiftlog("show", ["HEAD~1"]).ok();
    assert!(alone.contains(" USD"), "{alone}");
    let both = scratch.shiftlog("show", ["HEAD", "HEAD~1"]).ok();
    assert!(both.ends_with(&alone), "{both}");
}

#[test]
fn secrets_of_a_text_do_not_get_into_the_note() {
    let scratch = Scratch::new();
    scratch.write("x.log", &format!("ok\nerror: refused {TOKEN} for it\n"));
    scratch.shiftlog("evidence", ["attach", "-q", "--note", &format!("with {TOKEN}"), "x.log"]).ok();
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    assert_eq!(note.matches("[REDACTED:salesforce-token]").count(), 2, "{note}");
    assert!(!note.contains(&TOKEN[20..40]));
}

#[test]
fn the_first_half_of_a_secret_does_not_get_into_the_note() {
    let scratch = Scratch::new();
    // What is told of a line has 240 characters, and a remark 500: wherever the secret begins, no half of it is told.
    for before in [100, 136, 180, 216, 238] {
        scratch.write("x.log", &format!("error: {}{TOKEN}\n", "x ".repeat((before - 7) / 2)));
        let remark = format!("{}{TOKEN}", "x ".repeat((before + 260) / 2));
        scratch.shiftlog("evidence", ["attach", "-q", "--note", &remark, "x.log"]).ok();
        let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
        assert!(!note.contains(&TOKEN[..6]), "{before}: {note}");
        let log = format!(
            "64.0 APEX_CODE,FINEST\n12:00:00.0 (1)|CODE_UNIT_STARTED|[EXTERNAL]|{0}{TOKEN}\n\
             12:00:00.0 (2)|SOQL_EXECUTE_BEGIN|[3]|Aggregations:0|SELECT {0}{TOKEN}\n\
             12:00:00.0 (3)|SOQL_EXECUTE_END|[3]|Rows:1\n12:00:00.0 (4)|FATAL_ERROR|{0}{TOKEN}\n  \
             {0}{TOKEN}: 99 out of 100\n",
            "x ".repeat(before / 2)
        );
        scratch.write("apex.log", &log);
        scratch.shiftlog("evidence", ["attach", "-q", "apex.log"]).ok();
        let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
        assert!(note.contains("slowest SOQL") && !note.contains(&TOKEN[..6]), "{before}: {note}");
    }
}

#[test]
fn a_file_is_found_whatever_its_name_is() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new();
    let odd = std::ffi::OsStr::from_bytes(b"a\xff.log");
    fs::write(scratch.top.join(odd), "error: odd\n").unwrap();
    let action = std::ffi::OsStr::new("attach");
    let attach = |words: &[&std::ffi::OsStr]| scratch.shiftlog("evidence", [&[action], words].concat());
    assert!(attach(&[odd]).ok().ends_with("\n  error: odd\n"));
    scratch.write("HEAD", "error: mine\n");
    let [head, dashes] = ["HEAD", "--"].map(std::ffi::OsStr::new);
    let ambiguous = attach(&[head]);
    assert!(ambiguous.code == 128 && ambiguous.stderr.contains("both revision and filename\nhint: use '--'"));
    assert!(attach(&[dashes, head]).ok().ends_with("\n  error: mine\n"));
    assert_eq!(attach(&[head, dashes, head]).code, 1, "it is attached already");
    assert_eq!(attach(&[head, head, dashes, head]).code, 129);
    // Nobody writes into it, and nobody waits.
    scratch.run_in(&scratch.top, "mkfifo", ["pipe"]).ok();
    let told = "fatal: cannot read 'pipe': it is not a file\n";
    assert_eq!(attach(&["pipe".as_ref()]).stderr, told);
    let line = json!({ "shiftlog": 1, "evidence": "log", "id": "x", "sha256": "00", "name": "pipe" });
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &line.to_string()]).ok();
    let shown = scratch.shiftlog("evidence", ["show"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (1, "error: cannot show 'pipe': the file has changed\n"));
}

#[test]
fn evidence_is_kept_by_all_that_handles_notes() {
    let scratch = recorded();
    scratch.write("one.log", "error: one\n");
    scratch.write("two.log", "error: two\n");
    fs::write(scratch.top.join(".git/info/exclude"), "*.log\n").unwrap();
    scratch.shiftlog("evidence", ["attach", "-q", "one.log", "two.log"]).ok();
    let names = |revision: &str| {
        let listed = scratch.shiftlog("evidence", ["--json", revision]).stdout;
        let names = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["evidence"]["name"].clone());
        let mut names: Vec<String> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names("HEAD"), ["one.log", "two.log"]);
    scratch.shiftlog("fsck", [""; 0]).ok();
    scratch.shiftlog("scan", [""; 0]).ok();
    // Amended, cherry-picked, rebased.
    scratch.git(["commit", "-q", "--amend", "-m", "trigger again"]).ok();
    assert_eq!(names("HEAD"), ["one.log", "two.log"], "after an amend: {}", scratch.log());
    scratch.git(["switch", "-q", "-c", "topic", "HEAD~1"]).ok();
    scratch.commit("b.txt", "b\n", "base");
    scratch.git(["cherry-pick", "main"]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    assert_eq!(names("HEAD"), ["one.log", "two.log"], "after a cherry-pick: {}", scratch.log());
    // Joined with what another clone has.
    let remote = scratch.root().join("remote.git");
    scratch.git(["init", "-q", "--bare", remote.to_str().unwrap()]).ok();
    scratch.git(["remote", "add", "origin", remote.to_str().unwrap()]).ok();
    scratch.git(["push", "-q", "origin", "main", "topic"]).ok();
    scratch.git(["-c", "shiftlog.push=notes", "shiftlog", "sync", "push", "-q"]).ok();
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", remote.to_str().unwrap(), clone.to_str().unwrap()]).ok();
    fs::write(clone.join("three.log"), "error: three\n").unwrap();
    scratch.shiftlog_in(&clone, "sync", ["pull", "-q"]).ok();
    scratch.shiftlog_in(&clone, "evidence", ["attach", "-q", "origin/main", "three.log"]).ok();
    scratch.shiftlog_in(&clone, "evidence", ["drop", "-q", "origin/main", "1"]).ok();
    scratch.git_in(&clone, ["-c", "shiftlog.push=notes", "shiftlog", "sync", "push", "-q"]).ok();
    scratch.write("four.log", "error: four\n");
    scratch.shiftlog("evidence", ["attach", "-q", "main", "four.log"]).ok();
    scratch.shiftlog("sync", ["pull", "-q"]).ok();
    let joined = names("main");
    assert!(joined.contains(&"three.log".to_owned()) && joined.contains(&"four.log".to_owned()), "{joined:?}");
    assert_eq!(joined.len(), 3, "what was dropped stays away: {joined:?}");
    scratch.assert_sound();
}

#[test]
fn a_name_of_somebody_else_leads_nowhere() {
    let scratch = Scratch::new();
    fs::write(scratch.root().join("private"), "secret\n").unwrap();
    std::os::unix::fs::symlink(scratch.root().join("private"), scratch.top.join("link")).unwrap();
    let sha256 = scratch.run_in(&scratch.root(), "sha256sum", ["private"]).ok()[..64].to_owned();
    for name in ["../private", "link", scratch.root().join("private").to_str().unwrap()] {
        let line = json!({ "shiftlog": 1, "evidence": "log", "id": "x", "size": 7, "sha256": sha256, "name": name });
        scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &line.to_string()]).ok();
        let shown = scratch.shiftlog("evidence", ["show"]);
        assert_eq!((shown.code, shown.stdout.as_str()), (1, ""), "{name}: {shown:?}");
        assert!(!scratch.shiftlog("show", ["--evidence=full"]).stdout.contains("secret"));
    }
    let escape = json!({ "shiftlog": 1, "evidence": "log\u{1b}[31m", "id": "x\n", "error": "\u{202e}e\u{1b}]0;x\u{7}", "name": "n" });
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &escape.to_string()]).ok();
    for ran in [scratch.shiftlog("show", [""; 0]), scratch.shiftlog("evidence", [""; 0])] {
        assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{ran:?}");
    }
}
