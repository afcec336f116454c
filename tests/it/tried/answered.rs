//! Answers that did not say what somebody needed to know.

use serde_json::Value;

use super::*;

#[test]
fn a_purge_answers_in_json_whatever_it_finds_and_in_a_dry_run() {
    let scratch = recorded();
    let object = |args: &[&str], code: i32| -> Value {
        let ran = scratch.shiftlog("purge", args);
        assert_eq!(ran.code, code, "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let planned = object(&["-n", "--json", "HEAD"], 0);
    assert_eq!((&planned["dryRun"], &planned["notes"], planned.get("objects")), (&json!(true), &json!(1), None));
    for args in [&["--json", "--match=no such words", "--yes"][..], &["--json", "--received", "--yes"]] {
        let nothing = object(args, 1);
        assert_eq!((&nothing["notes"], &nothing["objects"]), (&json!(0), &json!(0)), "{nothing}");
    }
    assert_eq!(object(&["-n", "--json", "--received"], 1)["received"], json!([]));
    let gone = object(&["--json", "--yes", "--all", "--before=now"], 0);
    assert!(gone["objects"].as_u64() > Some(0) && gone["dryRun"] == false, "{gone}");
    let removed = "nothing is recorded here; what was, 'git shiftlog purge' has removed";
    told(&scratch.shiftlog("log", [""; 0]), 0, &format!("hint: {removed}\n"));
}

#[test]
fn a_push_says_that_it_has_sent_a_purge_and_who_receives_one_need_not_send_it_again() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.commit(&a, "x", "1\n", "words of a");
    team.commit(&a, "x", "2\n", "more words of a");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let removed = team.shiftlog(&a, "purge", &["--yes", "HEAD"]);
    assert!(removed.stderr.contains("git shiftlog sync push origin    # replaces what 'origin' has"), "{removed:?}");
    let sent = team.shiftlog(&a, "sync", &["push"]).ok();
    assert!(sent.ends_with(", and what a purge has marked\n"), "{sent}");
    let again = team.shiftlog(&a, "sync", &["push"]).ok();
    assert!(!again.contains("purge"), "{again}");
    team.shiftlog(&b, "sync", &["pull", "-q"]);
    let received = team.shiftlog(&b, "purge", &["--received", "--yes"]);
    assert_eq!(received.code, 0, "{received:?}");
    assert!(!received.stderr.contains("sync push"), "the remote has nothing of it: {received:?}");
}

#[test]
fn a_model_is_found_though_another_one_answered_last() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("begin");
    let answer = json!({ "type": "assistant", "sessionId": "s1", "message": { "role": "assistant", "id": "m1",
        "model": "other-model-9", "usage": { "input_tokens": 5, "output_tokens": 7 }, "content": [{ "type": "text", "text": "so" }] } });
    session.append(format!("{answer}\n").as_bytes());
    session.edits("a.txt", "1\n");
    session.commits("two models");
    for model in ["other-model", "claude-test"] {
        let listed = scratch.shiftlog("log", [&format!("--model={model}"), "--format=%s"]).ok();
        assert_eq!(listed, "two models\n", "{model}");
    }
    assert_eq!(scratch.shiftlog("log", ["--model=nobody"]).ok(), "");
}

#[test]
fn what_waits_for_a_transcript_that_cannot_be_read_says_what_helps() {
    let scratch = recorded();
    let session = scratch.session("s1");
    session.prompt("begin");
    session.edits("b.txt", "1\n");
    let away = scratch.root().join("away");
    fs::rename(&session.transcript, &away).unwrap();
    fs::create_dir(&session.transcript).unwrap();
    scratch.git(["add", "b.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "waits"]).ok();
    let how = "make the transcript readable, or delete it, and run 'git shiftlog log'";
    let status = scratch.shiftlog("status", [""; 0]);
    assert!(status.stderr.contains(&format!("hint: {how}\n")), "{status:?}");
    let doctor = scratch.shiftlog("doctor", [""; 0]);
    let cause = format!("could not be stored yet: cannot read the transcript '{}'", session.transcript.display());
    assert!(doctor.stdout.contains(&cause) && doctor.stdout.contains(&format!("fix: {how}\n")), "{doctor:?}");
    let fsck = scratch.shiftlog("fsck", [""; 0]);
    assert!(fsck.stderr.contains("hint: 'git shiftlog doctor' says why something is pending\n"), "{fsck:?}");
    fs::remove_dir(&session.transcript).unwrap();
    fs::rename(&away, &session.transcript).unwrap();
    assert!(scratch.shiftlog("log", ["-1", "--format=%s"]).ok().starts_with("waits\n"));
}

#[test]
fn an_option_of_gits_keeps_its_value_in_the_hint() {
    let scratch = recorded();
    for option in ["-U5", "-C50", "--dirstat=lines", "--diff-filter=A"] {
        let ran = scratch.shiftlog("log", [option]);
        assert!(ran.stderr.contains(&format!(" --stdin {option}' prints what Git has\n")), "{ran:?}");
    }
    let ran = scratch.shiftlog("log", ["--graph", "-2x"]);
    assert!(ran.stderr.starts_with("error: option '-2x' expects a numerical value\n"), "{ran:?}");
}

#[test]
fn settings_with_a_byte_order_mark_are_told_as_such_and_stay() {
    let scratch = Scratch::new();
    scratch.write(".claude/settings.local.json", "\u{feff}{}\n");
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q"]);
    assert!(ran.stderr.contains("it begins with a byte order mark (U+FEFF), which JSON does not allow"), "{ran:?}");
    assert_eq!(fs::read_to_string(scratch.top.join(".claude/settings.local.json")).unwrap(), "\u{feff}{}\n");
}

#[test]
fn a_line_at_the_boundary_of_a_shallow_clone_may_be_older() {
    let scratch = recorded();
    let whole = scratch.shiftlog("why", ["a.txt:1"]).ok();
    let url = format!("file://{}", scratch.top.display());
    let clone = scratch.root().join("shallow");
    scratch.git(["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]).ok();
    let older = "(may be older: history before this commit was not looked at)\n";
    let shallow = scratch.shiftlog_in(&clone, "why", ["a.txt:1"]);
    assert!(shallow.stdout.contains(older) && !whole.contains(older), "{shallow:?}");
}

#[test]
fn a_purge_of_words_leaves_the_format_of_the_transcript() {
    let scratch = recorded();
    let session = scratch.session("s1");
    session.prompt("what the user said: a message of Zebrafish");
    session.says("The text has a type.");
    session.edits("b.txt", "1\n");
    session.commits("all words");
    for word in ["message", "user", "type", "content", "text", "role", "assistant", "tool_use"] {
        scratch.shiftlog("purge", [&format!("--match={word}"), "--yes"]);
        let shown = scratch.shiftlog("show", [""; 0]).ok();
        assert!(
            shown.contains("Zebrafish") && shown.contains("Write b.txt") && shown.contains("has a "),
            "{word}: {shown}"
        );
    }
    let said = scratch.shiftlog("show", [""; 0]).ok();
    assert!(!["user said", "a message", "a type"].iter().any(|words| said.contains(words)), "{said}");
    for pattern in ["e", "[aeiou]", "[a-m]", ".{3}", "x?"] {
        let ran = scratch.shiftlog("purge", [&format!("--match={pattern}"), "--yes"]);
        assert_eq!(ran.code, 128, "{pattern}: {ran:?}");
    }
}

#[test]
fn a_purge_knows_the_notes_ref_that_it_is_to_clean_and_cleans_the_others() {
    let scratch = recorded();
    let ran = scratch.shiftlog("purge", ["--ref=shiftlgo", "--match=prompt 1", "--yes"]);
    told(&ran, 128, "fatal: there is no notes ref 'refs/notes/shiftlgo'\n");
    scratch.git(["notes", "--ref=team", "add", "-m", "a remark", "HEAD"]).ok();
    scratch.shiftlog("purge", ["--ref=team", "--match=prompt 1", "--yes"]).ok();
    assert!(!scratch.git(["notes", "--ref=shiftlog", "show", "HEAD~"]).ok().contains("prompt 1"));
    assert_eq!(scratch.git(["notes", "--ref=team", "show", "HEAD"]).ok(), "a remark\n");
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
    // The empty tree is in each repository.
    scratch.shiftlog("purge", ["--before=now", "--all", "--yes"]).ok();
    let session = scratch.session("again");
    session.prompt("two words");
    session.edits("c.txt", "1\n");
    session.commits("again");
    scratch.shiftlog("purge", ["--match=two words", "--yes"]).ok();
}

#[test]
fn another_notes_ref_that_has_what_was_recorded_is_named() {
    let scratch = recorded();
    scratch.git(["config", "shiftlog.notesRef", "other"]).ok();
    let hint =
        "hint: nothing is recorded in 'refs/notes/other'; '--ref=refs/notes/shiftlog' reads what is in that ref\n";
    told(&scratch.shiftlog("log", [""; 0]), 0, hint);
    assert_eq!(scratch.shiftlog("log", ["--ref=refs/notes/shiftlog"]).ok().lines().count(), 2);
}

/// It stood in the transcript, and no command showed it.
#[test]
fn what_a_person_says_while_the_agent_works_is_shown_and_begins_no_turn() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    let queued = |mode: &str, words: &str| {
        json!({ "type": "attachment", "uuid": words, "sessionId": "s1", "timestamp": "2026-01-02T03:04:06Z",
            "attachment": { "type": "queued_command", "commandMode": mode, "prompt": words } })
    };
    session.append(format!("{}\n", queued("prompt", "leave the billing table alone")).as_bytes());
    session.append(format!("{}\n", queued("task-notification", "a task has ended")).as_bytes());
    session.edits("a.txt", "1\n");
    session.commits("one");
    session.prompt("and now the rest");
    session.edits("a.txt", "2\n");
    session.commits("two");
    let shown = scratch.shiftlog("show", ["HEAD~1"]).ok();
    assert!(shown.contains("-- said meanwhile: leave the billing table alone\n"), "{shown}");
    assert!(!shown.contains("a task has ended"), "{shown}");
    assert_eq!(scratch.shiftlog("grep", ["-c", "billing"]).ok().lines().count(), 1);
    let log = scratch.shiftlog("log", ["--format=%s %(turns)"]).ok();
    assert_eq!(log, "two 1\none 1\n");
}

/// What a search of the vendor's own found, documents, and kinds of blocks that nobody knew were left out unseen.
#[test]
fn each_block_of_a_message_is_shown_or_named() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let document =
        json!({ "type": "document", "title": "plan.txt", "source": { "type": "text", "data": "first the roof" } });
    session.record("user", &json!({ "role": "user", "content": [{ "type": "text", "text": "build" }, document] }));
    let found = json!([{ "type": "web_search_result", "title": "Roofs", "url": "https://example.com/roofs" }]);
    let printed = json!({ "type": "code_execution_result", "stdout": "42 tiles", "stderr": "", "return_code": 0 });
    let broken = json!({ "type": "code_execution_result", "stdout": "", "stderr": "too few tiles", "return_code": 1 });
    let failed = json!({ "type": "web_search_tool_result_error", "error_code": "max_uses_exceeded" });
    let answer = |id: &str, kind: &str, content: &Value| json!({ "type": kind, "tool_use_id": id, "content": content });
    let call = |id: &str, kind: &str, name: &str| json!({ "type": kind, "id": id, "name": name, "input": { "query": "roofs" } });
    session.record(
        "assistant",
        &json!({ "role": "assistant", "content": [
        call("t1", "server_tool_use", "web_search"), answer("t1", "web_search_tool_result", &found),
        call("t2", "server_tool_use", "code_execution"), answer("t2", "code_execution_tool_result", &printed),
        call("t3", "mcp_tool_use", "web_search"), answer("t3", "web_search_tool_result", &failed),
        call("t4", "server_tool_use", "code_execution"), answer("t4", "code_execution_tool_result", &broken),
        { "type": "hologram", "light": "blue" }, { "type": "text", "text": "done" },
    ] }),
    );
    session.edits("a.txt", "1\n");
    session.commits("one");
    let shown = scratch.shiftlog("show", ["-v"]).ok();
    for words in [
        "first the roof",
        "https://example.com/roofs",
        "42 tiles",
        "too few tiles",
        "max_uses_exceeded",
        "hologram",
        "done",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn what_is_nearly_right_is_answered_with_the_right_words() {
    let scratch = recorded();
    for (command, args, code, told) in [
        ("statsu", &[][..], 1, "hint: the most similar commands are: git shiftlog stats, status\n"),
        ("show", &["-3"], 129, "hint: 'git shiftlog show HEAD~3..' shows the last 3 commits\n"),
        ("show", &["-n1"], 129, "hint: 'git shiftlog show HEAD' shows the last commit\n"),
        ("why", &["a", "b", "c"], 129, "error: too many words: one file, and revisions before it\n"),
        ("search", &["apple", "nosuch..HEAD"], 128, "fatal: bad revision 'nosuch..HEAD'\n"),
        ("search", &["apple", "HEAD...nosuch"], 128, "fatal: bad revision 'HEAD...nosuch'\n"),
        ("sync", &["pul"], 128, "hint: git shiftlog sync pull\n"),
        ("sync", &["pushh"], 128, "hint: git shiftlog sync push\n"),
        ("sync", &["nowhere"], 128, "fatal: no such remote 'nowhere'\nhint: git remote add <name> <url>\n"),
    ] {
        let ran = scratch.git([&["shiftlog", command], args].concat());
        assert!(ran.code == code && ran.stderr.ends_with(told), "{command} {args:?}: {ran:?}");
    }
    // Two dots between words of a text are no range.
    assert_eq!(scratch.shiftlog("search", ["this..that"]).stderr, "");
}
