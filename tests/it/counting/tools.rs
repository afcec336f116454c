//! The calls of tools, and the sessions that no commit has.

use super::*;

#[test]
fn calls_are_counted_by_tool_with_those_that_failed() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.calls("x", "Bash", &json!({ "command": "cargo test" }));
    session.answers("x", "test result: ok");
    session.edits("a.txt", "a\n");
    session.calls(
        "y",
        "Edit",
        &json!({ "file_path": scratch.top.join("a.txt"), "old_string": "no", "new_string": "b" }),
    );
    // The answer of a call may be recorded with the next commit.
    session.commits("add a");
    let result = json!({ "type": "tool_result", "tool_use_id": "y", "content": "not found", "is_error": true });
    let failed = json!({ "type": "user", "sessionId": "s1", "timestamp": "2026-01-02T03:04:06Z",
        "message": { "role": "user", "content": [result] } });
    session.append(format!("{failed}\n").as_bytes());
    session.prompt("go on");
    session.edits("b.txt", "b\n");
    session.commits("add b");
    let counted = objects(&scratch, &["--tools", "--by=agent"]);
    let group = |tool: &str, calls: u64, failed: u64| json!({ "version": 1, "by": { "agent": "claude", "tool": tool }, "calls": calls, "failed": failed });
    let total = json!({ "version": 1, "total": true, "calls": 6, "failed": 1, "takenBack": 0, "interrupted": 0 });
    assert_eq!(counted, [group("Bash", 3, 0), group("Write", 2, 0), group("Edit", 1, 1), total]);
    let table = scratch.shiftlog("stats", ["--tools", "--by=commit", "--csv"]).ok();
    let [newer, older] = [scratch.id("HEAD"), scratch.id("HEAD~1")];
    let expected = [
        format!("{newer},Bash,1,0"),
        format!("{newer},Write,1,0"),
        format!("{older},Bash,2,0"),
        format!("{older},Write,1,0"),
        format!("{older},Edit,1,1"),
    ];
    let mut rows: Vec<&str> = table.lines().skip(1).collect();
    let mut wanted: Vec<&str> = expected.iter().map(String::as_str).collect();
    rows.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(rows, wanted);
    assert_eq!(
        scratch.shiftlog("stats", ["--tools", "--by=session"]).ok(),
        "6 calls, 1 of them failed (17 %)\nsession  tool   calls  failed  share\ns1       Bash       3       0    0 %\n\
         s1       Write      2       0    0 %\ns1       Edit       1       1  100 %\n"
    );
    assert_eq!(scratch.shiftlog("stats", ["--tools", "--by=path"]).code, 129);
    let none = scratch.shiftlog("stats", ["--tools", "--model=another"]);
    assert_eq!((none.code, none.stderr.as_str()), (1, "error: no call of a tool recorded\n"));
}

#[test]
fn interruptions_and_prompts_that_were_taken_back_are_counted() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.calls("x", "Bash", &json!({ "command": "make" }));
    let interruption = json!([{ "type": "text", "text": "[Request interrupted by user for tool use]" }]);
    let record = json!({ "type": "user", "sessionId": "s1", "message": { "role": "user", "content": interruption } });
    session.append(format!("{record}\n{record}\n").as_bytes());
    session.edits("a.txt", "a\n");
    session.commits("add a");
    let whole = objects(&scratch, &["--tools"]).pop().unwrap();
    assert_eq!((&whole["interrupted"], &whole["takenBack"]), (&json!(2), &json!(0)));
    let table = scratch.shiftlog("stats", ["--tools"]).ok();
    assert!(table.starts_with("3 calls, 0 of them failed (0 %), 2 interruptions\n"), "{table}");
}

#[test]
fn what_no_commit_has_counts_if_it_is_asked_for() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    let before = total(&scratch, &[]);
    let session = scratch.session("idle");
    session.prompt("how would you do it?");
    answers(&session, "msg_idle", "claude-opus-4-8", &usage());
    session.hook("SessionEnd");
    assert_eq!(total(&scratch, &[]), before, "nobody asked for it");
    let whole = total(&scratch, &["--unrecorded"]);
    let number = |value: &Value, key: &str| value[key].as_u64().unwrap();
    assert_eq!(number(&whole, "turns"), number(&before, "turns") + 1);
    assert_eq!(number(&whole["tokens"], "input"), number(&before["tokens"], "input") + 1000);
    assert_eq!((&before["cost"], &whole["cost"]), (&json!("0.05375"), &json!("0.1075")));
    let mut groups = objects(&scratch, &["--unrecorded", "--by=author,commit,branch,session"]);
    groups.pop();
    let idle = groups.iter().find(|group| group["by"]["session"] == "idle").expect("a group of it");
    assert_eq!(idle["by"], json!({ "author": "(none)", "commit": "(none)", "branch": "(none)", "session": "idle" }));
    assert_eq!((&idle["commits"], &idle["sessions"]), (&json!(0), &json!(1)));
    assert_eq!(total(&scratch, &["--unrecorded", "--session=one"])["cost"], "0.05375");
    assert_eq!(scratch.shiftlog("stats", ["--unrecorded", "--author=A"]).code, 129);
    // Its commit has it: now it counts there, once.
    session.edits("idle.txt", "words\n");
    session.commits("add idle");
    assert_eq!(total(&scratch, &["--unrecorded", "--model=opus"])["cost"], total(&scratch, &["--model=opus"])["cost"]);
}

#[test]
fn a_session_that_made_little_use_of_the_cache_is_marked() {
    let scratch = Scratch::set_up();
    work(&scratch, "warm");
    let session = scratch.session("cold");
    session.prompt("make it");
    answers(
        &session,
        "msg_cold",
        "claude-opus-4-8",
        &json!({ "input_tokens": 1000, "output_tokens": 10, "cache_read_input_tokens": 400 }),
    );
    session.edits("cold.txt", "words\n");
    session.commits("add cold");
    let table = scratch.shiftlog("stats", ["--by=session", "--no-cost"]).ok();
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("cold").contains(" 400* ") && !row("warm").contains('*'), "{table}");
    assert!(table.contains("\n* less than half of what was read came from the cache\n"), "{table}");
    assert!(!scratch.shiftlog("stats", ["--no-cost"]).ok().contains('*'));
}
