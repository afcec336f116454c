//! What an agent is told of a line, and of words, beside what it needs.

use serde_json::{Value, json};

use super::Client;
use crate::support::{Scratch, Session};

/// A repository whose file's second line one edit has written, and what the agent and the person did after it.
fn changed(message: &str, after: impl Fn(&Session<'_>)) -> Scratch {
    let scratch = Scratch::set_up();
    scratch.commit("old.py", "one()\ntwo()\n", "start");
    let session = scratch.session("s1");
    session.prompt("Please do it.");
    session.says("Doubling with jitter spreads the load over time. But a minute is long.");
    session.replaces("t1", "old.py", "two()", "two(jitter=True)");
    after(&session);
    session.commits(message);
    drop(session);
    scratch
}

fn why(scratch: &Scratch, arguments: Value) -> Value {
    Client::legacy(scratch).found("shiftlog_why", arguments)["found"][0].clone()
}

#[test]
fn a_check_is_a_command_that_checks_and_its_end_is_told_as_far_as_it_is_known() {
    let runs = |session: &Session<'_>, number: usize, command: &str, output: Option<&str>| {
        let id = format!("c{number}");
        session.calls(&id, "Bash", &json!({ "command": command }));
        if let Some(output) = output {
            session.answers(&id, output);
        }
    };
    let scratch = changed("cap", |session| {
        runs(session, 0, "cargo test", Some("test result: FAILED. 1 passed; 2 failed"));
        runs(session, 1, "git commit -m 'make the test build pass'", Some("ok"));
        runs(session, 2, "ls tests/", Some("a.rs"));
        runs(session, 3, "cat src/check.rs", Some("fn check() {}"));
    });
    assert_eq!(why(&scratch, json!({ "path": "old.py", "line": 2 }))["checks"], json!(["cargo test: failed"]));
    let scratch = changed("cap", |session| {
        runs(session, 0, "npx tsc", Some(""));
        runs(session, 1, "python3 -m pytest -q | tail -1", Some("3 passed in 0.1s"));
        runs(session, 2, "cargo clippy", None);
    });
    assert_eq!(
        why(&scratch, json!({ "path": "old.py", "line": 2 }))["checks"],
        json!(["npx tsc: no error told", "python3 -m pytest -q | tail -1: passed", "cargo clippy: not known"])
    );
    let scratch = changed("cap", |session| {
        session.calls("c", "Bash", &json!({ "command": "make test" }));
        let result =
            json!({ "type": "tool_result", "tool_use_id": "c", "content": "Exit code 2\nno", "is_error": true });
        session.record("user", &json!({ "role": "user", "content": [result] }));
    });
    assert_eq!(why(&scratch, json!({ "path": "old.py", "line": 2 }))["checks"], json!(["make test: failed, exit 2"]));
}

#[test]
fn what_the_message_of_the_commit_says_and_thanks_are_left_out() {
    let message = "two: add jitter\n\nDoubling with jitter spreads\nthe load over time.";
    let scratch = changed(message, |session| {
        session.prompt("Thanks.");
        session.prompt("No, the cap must be 60.");
        session.prompt("ok, now push");
    });
    let found = why(&scratch, json!({ "path": "old.py", "line": 2 }));
    assert_eq!(found["reasoning"], "But a minute is long.");
    assert_eq!(found["laterPrompts"], json!(["No, the cap must be 60."]));
}

#[test]
fn a_file_is_followed_where_it_was_renamed_and_one_that_is_gone_is_said_to_be() {
    let scratch = changed("add jitter", |_| {});
    let commit = scratch.id("HEAD");
    scratch.git(["mv", "old.py", "new.py"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    scratch.commit("new.py", "one()\ntwo(jitter=True)\nthree()\n", "more");
    let asked = json!({ "path": "old.py", "line": 2, "revision": commit });
    let then = why(&scratch, asked.clone());
    assert_eq!(
        (&then["stillThere"], &then["fileNow"], &then["fileChangesSince"]),
        (&json!(true), &json!("new.py"), &json!(2)),
        "{then}"
    );
    let now = why(&scratch, json!({ "path": "new.py", "line": 2 }));
    assert_eq!((&now["fileChangesSince"], &now["fileNow"]), (&json!(2), &Value::Null), "{now}");
    let mut client = Client::legacy(&scratch);
    let read = json!({ "commit_sha": commit });
    let hit = client.found("shiftlog_search", json!({ "query": "jitter" }))["matches"][0].clone();
    assert_eq!(hit["filesDeletedSince"], Value::Null, "it has another name: {hit}");
    assert_eq!(client.found("shiftlog_get_conversation", read.clone())["filesDeletedSince"], Value::Null);
    scratch.git(["rm", "-q", "new.py"]).ok();
    scratch.git(["commit", "-q", "-m", "remove"]).ok();
    let gone = why(&scratch, asked);
    assert_eq!(
        (&gone["stillThere"], &gone["fileDeleted"], &gone["fileChangesSince"]),
        (&json!(false), &json!(true), &json!(3)),
        "{gone}"
    );
    let hit = client.found("shiftlog_search", json!({ "query": "jitter" }))["matches"][0].clone();
    assert_eq!(hit["filesDeletedSince"], 1, "{hit}");
    assert_eq!(client.found("shiftlog_get_conversation", read)["filesDeletedSince"], 1);
}

#[test]
fn an_answer_about_many_edits_keeps_to_the_budget_and_counts_the_others() {
    let scratch = Scratch::set_up();
    let text = |name: &str| (0..30).map(|number| format!("{name}_number_{number}()\n")).collect::<String>();
    scratch.commit("many.py", &text("old"), "start");
    let session = scratch.session("s1");
    for number in 0..30 {
        session.prompt(&format!("{number}: {}", "説明文です。".repeat(20)));
        let (old, new) = (format!("old_number_{number}()"), format!("new_number_{number}()"));
        session.replaces(&format!("t{number}"), "many.py", &old, &new);
    }
    session.commits("all of it");
    let mut client = Client::legacy(&scratch);
    let answer = client.found("shiftlog_why", json!({ "path": "many.py", "line": 1, "end_line": 30 }));
    let text = answer.to_string();
    let tokens = |text: &str| {
        text.bytes().filter(u8::is_ascii).count().div_ceil(4) + text.chars().filter(|c| !c.is_ascii()).count()
    };
    assert!(tokens(&text) <= 500, "{} tokens: {text}", tokens(&text));
    let count = answer["found"].as_array().unwrap().len();
    let note = answer["note"].as_str().unwrap();
    assert!(count > 1 && note.contains(&format!("{} more edits wrote these lines", 30 - count)), "{count}: {note}");
    let hit = client.found("shiftlog_search", json!({ "query": "説明文です" }))["matches"][0].clone();
    assert!(tokens(hit["excerpt"].as_str().unwrap()) <= 80, "{hit}");
}

#[test]
fn what_cannot_be_meant_is_refused_in_plain_words() {
    let scratch = changed("add jitter", |_| {});
    let mut client = Client::legacy(&scratch);
    let unknown = client.refused("shiftlog_search", json!({ "query": "jitter", "agent": "cluade" }));
    assert!(unknown.contains("cluade") && unknown.contains("agent"), "{unknown}");
    for query in ["", " ", "\t\n"] {
        let blank = client.refused("shiftlog_search", json!({ "query": query }));
        assert_eq!(blank, "invalid arguments: query must not be empty");
    }
    for (tool, name, arguments) in [
        ("shiftlog_search", "path", json!({ "query": "jitter", "path": "a\0" })),
        ("shiftlog_why", "path", json!({ "path": "old\0.py", "line": 2 })),
        ("shiftlog_why", "revision", json!({ "path": "old.py", "line": 2, "revision": "HEAD\0" })),
        ("shiftlog_get_conversation", "commit_sha", json!({ "commit_sha": "\0" })),
    ] {
        assert_eq!(client.refused(tool, arguments), format!("invalid arguments: {name} has a NUL character"));
    }
}

#[test]
fn the_prompt_of_a_turn_that_an_earlier_commit_began_is_told_with_that_commit() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("Fix both bugs, the cap and the jitter.");
    session.edits("a.txt", "first_bug()\n");
    let first = session.commits("first");
    session.edits("b.txt", "second_bug()\n");
    session.commits("second");
    let found = why(&scratch, json!({ "path": "b.txt", "line": 1 }));
    assert_eq!(
        found["prompt"],
        format!("continues {}: Fix both bugs, the cap and the jitter.", &first[..7]),
        "{found}"
    );
    let found = why(&scratch, json!({ "path": "a.txt", "line": 1 }));
    assert_eq!(found["prompt"], "Fix both bugs, the cap and the jitter.", "{found}");
}

#[test]
fn a_correction_that_the_next_commit_recorded_is_told() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("Cap it.");
    session.edits("a.txt", "cap(30)\n");
    session.commits("first");
    scratch.commit("b.txt", "unrelated\n", "of nobody");
    session.prompt("No, the cap must be sixty seconds.");
    session.prompt("And leave the jitter alone.");
    session.edits("c.txt", "jitter()\n");
    session.commits("second");
    let found = why(&scratch, json!({ "path": "a.txt", "line": 1 }));
    let later = json!(["No, the cap must be sixty seconds.", "And leave the jitter alone."]);
    assert_eq!(found["laterPrompts"], later, "{found}");
    assert_eq!(why(&scratch, json!({ "path": "c.txt", "line": 1 })).get("laterPrompts"), None);
}
