//! A database that is read while OpenCode writes it: what changes late, what cannot be read, and how long it may take.

use super::*;

#[test]
fn two_commits_in_one_turn_each_get_what_led_to_them() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let running = Running::new(&scratch);
    running.prompt("msg_01", "add a and b");
    running.commits("msg_02", "a.txt");
    running.commits("msg_03", "b.txt");
    running.idle();
    let (first, second) = (scratch.raw("HEAD~1", &[]), scratch.raw("HEAD", &[]));
    assert!(first.contains("a.txt") && !first.contains("b.txt"), "{first}");
    assert!(second.contains("b.txt") && second.contains("failed behind it"), "{second}");
}

// The fork of a session has the messages of its parent under new ids; its first commit got them once more.
#[test]
fn a_fork_does_not_tell_again_what_its_parent_said() {
    if !has_node() {
        return;
    }
    const FORK: &str = "ses_1bf8a86b1ffeNAd6lVyuFORKED";
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let running = Running::new(&scratch);
    running.prompt("msg_01", "add a");
    running.commits("msg_02", "a.txt");
    running.idle();
    for copy in [
        "INSERT INTO session SELECT ?1, project_id, NULL, slug, directory, title, version, time_created + 50,
            time_updated + 50 FROM session WHERE id = ?2",
        "INSERT INTO message SELECT 'msg_fork' || id, ?1, time_created, time_updated, data FROM message WHERE session_id = ?2",
        "INSERT INTO part SELECT 'prt_fork' || id, 'msg_fork' || message_id, ?1, time_created, time_updated, data FROM part
            WHERE session_id = ?2",
    ] {
        running.database.execute(copy, [FORK, ID]).unwrap();
    }
    running.message(FORK, "msg_61", &json!({ "role": "user" }), &[json!({ "type": "text", "text": "add b" })]);
    running.plugin(&json!([["chat.message", [{ "sessionID": FORK }, {}]]]));
    let edit = json!({ "type": "tool", "tool": "write", "callID": "w", "state": { "status": "completed",
        "input": { "filePath": scratch.top.join("b.txt"), "content": "b" }, "output": "ok" } });
    running.message(FORK, "msg_62", &json!({ "role": "assistant", "modelID": "m" }), &[edit]);
    scratch.commit("b.txt", "b", "b");
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["prompt"]], [FORK, "add b"], "{}", scratch.log());
    let own = scratch.raw("HEAD", &[]);
    assert!(own.contains("add b") && !own.contains("add a"), "{own}");
    let whole = scratch.raw("HEAD", &["--full"]);
    assert!(whole.contains("add b") && whole.contains("add a"), "{whole}");
    scratch.assert_sound();
}

#[test]
fn a_step_that_ends_after_its_commit_is_not_told_again_with_the_next_commit() {
    if !has_node() {
        return;
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let running = Running::new(&scratch);
    let none = json!({ "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } });
    let beginning = json!({ "role": "assistant", "modelID": "claude-sonnet-4-5", "cost": 0, "tokens": none });
    running.prompt("msg_01", "add a");
    let call = |state: Value| json!({ "type": "tool", "tool": "bash", "callID": "c", "state": state });
    let words = json!({ "type": "text", "text": "I commit it." });
    let begun = call(json!({ "status": "running", "input": { "command": "git commit" } }));
    running.message(ID, "msg_02", &beginning, &[words.clone(), begun]);
    scratch.commit("a.txt", "a", "first");
    let answered = call(json!({ "status": "completed", "input": { "command": "git commit" }, "output": "made it",
        "metadata": { "exit": 0 } }));
    running.message(ID, "msg_02", &beginning, &[words.clone(), answered.clone()]);
    let call = json!({ "tool": "bash", "sessionID": ID, "callID": "c", "args": { "command": "git commit" } });
    let after = json!([call, { "output": "made it", "metadata": {} }]);
    running.plugin(&json!([["tool.execute.after", after]]));
    // Only now the step ends.
    let end = json!({ "type": "step-finish", "reason": "tool-calls" });
    let over = json!({ "role": "assistant", "modelID": "claude-sonnet-4-5", "cost": 0.5,
        "tokens": { "input": 9, "output": 5 }, "finish": "tool-calls" });
    running.message(ID, "msg_02", &over, &[words, answered, end]);
    running.message(ID, "msg_03", &over, &[json!({ "type": "text", "text": "It is there." })]);
    running.idle();
    running.prompt("msg_04", "add b");
    running.commits("msg_05", "b.txt");
    running.idle();
    let (first, second) = (scratch.raw("HEAD~1", &[]), scratch.raw("HEAD", &[]));
    assert!(first.contains("I commit it.") && first.contains("made it"), "{first}: {}", scratch.log());
    assert!(!second.contains("I commit it.") && second.contains("It is there."), "{second}");
    let whole = opencode().read(&Running::path(&scratch).join(ID)).unwrap();
    let stored: Value = serde_json::from_str(&scratch.raw("HEAD", &["--full"])).unwrap();
    let exported: Value = serde_json::from_slice(&opencode().native(&whole)).unwrap();
    assert_eq!(stored["messages"], exported["messages"]);
    let message = &stored["messages"][1];
    assert_eq!([&message["info"]["finish"], &message["info"]["tokens"]["input"]], [&json!("tool-calls"), &json!(9)]);
    assert_eq!(message["parts"].as_array().unwrap().len(), 3);
    scratch.assert_sound();
}

#[test]
fn half_a_character_does_not_take_a_message_with_it() {
    let scratch = Scratch::new();
    let running = Running::new(&scratch);
    running.message(ID, "msg_01", &json!({ "role": "user" }), &[json!({ "type": "text", "text": "keep this X" })]);
    running.database.execute(r#"UPDATE part SET data = replace(data, 'X', '\ud83d')"#, []).unwrap();
    scratch.shiftlog("add", ["-q", "--agent=opencode", "--session", ID]).ok();
    assert_eq!(scratch.record("HEAD")["prompt"], "keep this \u{fffd}");
    // Nor does it keep the others from being exported, or a value that is nested too deep.
    let query = "UPDATE message SET data = '{\"summary\":{\"title\":\"kept\"},' || substr(data, 2)";
    running.database.execute(query, []).unwrap();
    let deep = format!("{}{}", "[".repeat(124), "]".repeat(124));
    let values =
        params!["prt_x", "msg_01", ID, format!("{{\"type\":\"text\",\"text\":\"x\",\"id\":null,\"x\":{deep}}}")];
    running.database.execute("INSERT INTO part VALUES(?1, ?2, ?3, 1, 1, ?4)", values).unwrap();
    let lines = opencode().read(&Running::path(&scratch).join(ID)).unwrap();
    let export = String::from_utf8(opencode().native(&lines).into_owned()).unwrap();
    assert!(export.contains("\"title\": \"kept\"") && export.contains("keep this \u{fffd}"), "{export}");
    assert!(!export.contains("shiftlog"), "{export}");
}

#[test]
fn a_database_that_cannot_be_read_is_no_empty_session_and_one_at_rest_gets_no_files_beside_it() {
    let scratch = Scratch::new();
    let running = Running::new(&scratch);
    running.message(ID, "msg_01", &json!({ "role": "user" }), &[json!({ "type": "text", "text": "one" })]);
    drop(running);
    let path = Running::path(&scratch);
    let beside = || files_below(path.parent().unwrap());
    assert_eq!(beside(), std::slice::from_ref(&path), "the last that leaves takes the log with it");
    scratch.shiftlog("add", ["-q", "--agent=opencode", "--session", ID]).ok();
    assert_eq!(beside(), std::slice::from_ref(&path));
    assert!(opencode().read(&path.join("ses_other")).is_err());
    let mut bytes = fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[100..half].fill(0xff);
    fs::write(&path, bytes).unwrap();
    assert!(opencode().read(&path.join(ID)).is_err());
}

#[test]
fn a_summary_that_is_added_to_a_prompt_later_goes_to_the_end() {
    let scratch = Scratch::new();
    let running = Running::new(&scratch);
    let words = |words: &str| json!({ "type": "text", "text": words });
    let user = json!({ "role": "user" });
    running.message(ID, "msg_01", &user, &[words("add a"), words("please")]);
    running.step("msg_02", "a.txt", Some("done"));
    let path = Running::path(&scratch).join(ID);
    let before = opencode().read(&path).unwrap();
    running.message(ID, "msg_01", &json!({ "role": "user", "summary": { "title": "a file" } }), &[]);
    let lines = opencode().read(&path).unwrap();
    let known = opencode().lines_that_stay(&before);
    assert_eq!(lines[..known].as_bstr(), before[..known].as_bstr(), "only the last line changes");
    assert!(String::from_utf8_lossy(&opencode().native(&lines)).contains("\"title\": \"a file\""));
}

#[test]
fn what_opencode_changes_in_older_messages_is_recorded_with_the_next_commit() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let running = Running::new(&scratch);
    let says = |id: &str| {
        let words = format!("{id} {}", "words and words ".repeat(2000));
        running.message(ID, id, &json!({ "role": "user" }), &[json!({ "type": "text", "text": words })]);
    };
    let hook = |event: &str| {
        let payload = json!({ "session_id": ID, "cwd": scratch.top }).to_string();
        feed(scratch.command("git-shiftlog--hook", &scratch.top).args(["opencode", event]), payload.as_bytes()).ok();
    };
    let path = Running::path(&scratch).join(ID);
    let commit = |id: &str| {
        says(id);
        scratch.commit("a", id, id);
        assert!(scratch.raw("HEAD", &[]).contains(id), "{}", scratch.log());
        let whole = opencode().read(&path).unwrap();
        assert_eq!(scratch.raw("HEAD", &["--full"]), String::from_utf8_lossy(&opencode().native(&whole)));
    };
    let change = |id: &str| {
        let query = "UPDATE part SET data = replace(data, ?1, 'msg_98') WHERE message_id = ?1";
        running.database.execute(query, [id]).unwrap();
    };
    (10..30).for_each(|number| says(&format!("msg_{number}")));
    hook("UserPromptSubmit");
    commit("msg_30");
    commit("msg_31");
    assert_eq!(scratch.record("HEAD")["messages"], 1, "the last message is not told again");
    change("msg_11");
    commit("msg_32");
    hook("SessionEnd");
    change("msg_13");
    scratch.commit("a", "by hand again", "by hand");
    assert_eq!(scratch.records("HEAD"), [0; 0], "it is over");
    let query = "UPDATE session SET time_updated = time_updated + 3600000 WHERE id = ?1";
    running.database.execute(query, [ID]).unwrap();
    commit("msg_35");
    running.database.execute("UPDATE session SET time_updated = time_created", []).unwrap();
    commit("msg_36");
    hook("SessionEnd");
    hook("UserPromptSubmit");
    commit("msg_37");
    scratch.assert_sound();
}

#[test]
fn what_was_purged_does_not_come_back_when_the_last_message_changes() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let running = Running::new(&scratch);
    let says = |id: &str, words: &str| {
        running.message(ID, id, &json!({ "role": "user" }), &[json!({ "type": "text", "text": words })]);
    };
    let payload = json!({ "session_id": ID, "cwd": scratch.top }).to_string();
    says("msg_1", "an embarrassing question");
    says("msg_2", "a second one");
    let hook = ["opencode", "UserPromptSubmit"];
    feed(scratch.command("git-shiftlog--hook", &scratch.top).args(hook), payload.as_bytes()).ok();
    scratch.commit("a", "1", "first");
    says("msg_3", "a third");
    says("msg_4", "a fourth, half");
    scratch.commit("a", "2", "second");
    scratch.shiftlog("purge", ["--yes", "HEAD~1"]).ok();
    assert!(!scratch.raw("HEAD", &["--full"]).contains("embarrassing"));
    says("msg_4", "a fourth, whole");
    says("msg_5", "a fifth");
    scratch.commit("a", "3", "third");
    let all = scratch.raw("HEAD", &["--full"]);
    assert!(!all.contains("embarrassing"), "{all}");
    for (words, count) in [("a third", 1), ("a fourth, whole", 1), ("a fourth, half", 0), ("a fifth", 1)] {
        assert_eq!(all.matches(words).count(), count, "{words}: {all}");
    }
    scratch.assert_sound();
}

#[test]
fn a_session_that_is_too_large_is_told_of_once_and_not_read() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let running = Running::new(&scratch);
    let words = json!({ "type": "text", "text": "make it" });
    running.message(ID, "msg_01", &json!({ "role": "user" }), &[words]);
    running.step("msg_02", "a.txt", Some("done"));
    let path = Running::path(&scratch).join(ID);
    let is_too_large = || opencode().stored_bytes(&path).unwrap() > 256 << 20;
    assert!(!is_too_large() && opencode().stored_bytes(&path).unwrap() > 100);
    // A view, so that there need not be such a file.
    let view = "ALTER TABLE part RENAME TO parts;
        CREATE VIEW part AS SELECT * FROM parts UNION ALL
            SELECT 'prt_z', 'msg_02', session_id, 0, 0, zeroblob(300000000) FROM parts GROUP BY session_id";
    running.database.execute_batch(view).unwrap();
    assert!(is_too_large());
    let commits = |text: &str| {
        scratch.write("a.txt", text);
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "-m", text])
    };
    let ran = commits("1");
    assert_eq!(ran.code, 0);
    let why = "it has more than 256 MiB, and nothing more of it is recorded";
    assert_eq!(ran.stderr, format!("warning: the transcript of opencode/{ID} is not recorded to its end: {why}\n"));
    assert_eq!(scratch.records("HEAD").len(), 0);
    assert_eq!(commits("2").stderr, "", "once is enough");
    // When it has become shorter, it is recorded.
    running.database.execute_batch("DROP VIEW part; ALTER TABLE parts RENAME TO part").unwrap();
    running.step("msg_04", "a.txt", Some("done"));
    commits("3").ok();
    assert_eq!(scratch.record("HEAD")["session"], ID);
}

#[test]
fn reading_a_database_ends_in_time() {
    let scratch = Scratch::new();
    let database = database_of(&fixture("opencode/storage"), &scratch.root().join("opencode.db"));
    let path = database.join(ID);
    let later = Instant::now() + Duration::from_secs(600);
    assert!(opencode().read_until(&path, Some(later)).unwrap() == opencode().read(&path).unwrap());
    let late = opencode().read_until(&path, Some(Instant::now())).unwrap_err();
    assert_eq!(late.kind(), shiftlog::error::Kind::Busy);
}

// Each query waited a second for itself, so that a commit took as long as a hook may.
#[test]
fn a_database_that_is_held_is_waited_for_once() {
    let scratch = Scratch::new();
    let file = scratch.root().join("opencode.db");
    let path = database_of(&fixture("opencode/storage"), &file).join(ID);
    let holder = Connection::open(&file).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let read = || assert_eq!(opencode().read(&path).unwrap_err().kind(), shiftlog::error::Kind::Busy);
    let begin = Instant::now();
    read();
    let (first, begin) = (begin.elapsed(), Instant::now());
    (0..10).for_each(|_| read());
    let later = begin.elapsed();
    assert!(later < first, "ten more took {later:?}, the first {first:?}");
    holder.execute_batch("ROLLBACK").unwrap();
    opencode().read(&path).unwrap();
}
