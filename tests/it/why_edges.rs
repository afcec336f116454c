//! `why` and `blame` where it is easy to go wrong: odd files, odd repositories, sub-agents, and what others claim.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use crate::support::{Ran, Scratch};
use crate::why::{objects, reconnect, told, why};

#[test]
fn odd_names_and_odd_bytes_are_no_hindrance() {
    let scratch = Scratch::set_up();
    let session = scratch.session("odd");
    session.prompt("make odd files");
    let names = ["with space.txt", "with\nnewline.txt", "with \"quotes\".txt", "naïve.txt", "-dash.txt", "a:12"];
    for name in names {
        session.edits(name, "the_line_of_it()\n{}");
    }
    fs::write(scratch.top.join(OsStr::from_bytes(b"latin\xe9.txt")), b"caf\xe9 is no UTF-8\nplain_line()\n").unwrap();
    session.commits("odd");
    for name in names {
        assert_eq!(told(&scratch, &["--", name]), ["replay/1", "replay/1"], "{name:?}");
    }
    let latin = OsStr::from_bytes(b"latin\xe9.txt");
    let ran =
        Ran::of(scratch.command("git", &scratch.top).args(["shiftlog", "blame", "-s"]).arg(latin).output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.bytes.ends_with(b"1) caf\xe9 is no UTF-8\n") || ran.bytes.windows(4).any(|w| w == b"caf\xe9"),
        "{ran:?}"
    );
    fs::write(scratch.top.join("binary"), [0, 159, 146, 150, 10]).unwrap();
    scratch.git(["add", "binary"]).ok();
    scratch.git(["commit", "-q", "-m", "binary"]).ok();
    assert!(scratch.shiftlog("blame", ["binary"]).code <= 1);
}

#[test]
fn worktrees_other_hashes_and_shallow_clones_are_repositories_too() {
    let scratch = Scratch::with(&["--object-format=sha256"]);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "-b", "other", linked.to_str().unwrap()]).ok();
    let session = scratch.session_in("linked", &linked);
    session.prompt("work in a linked worktree");
    session.edits("src/new.txt", "one_line()\n");
    session.commits("linked");
    let found = objects(scratch.shiftlog_in(&linked, "why", ["--json", "src/new.txt:1"]));
    assert_eq!((&found[0]["evidence"], &found[0]["turn"]), (&json!("replay"), &json!(1)));
    let found = objects(scratch.shiftlog("why", ["--json", "src/new.txt:1", "other"]));
    assert_eq!(found[0]["evidence"], "replay", "seen from another worktree");

    let scratch = crate::why::reconnect();
    let shallow = scratch.root().join("shallow");
    let url = format!("file://{}", scratch.top.display());
    scratch.git(["clone", "-q", "--depth=1", &url, shallow.to_str().unwrap()]).ok();
    let lines = |dir: &std::path::Path| scratch.shiftlog_in(dir, "blame", ["--format=%(evidence)", "reconnect.py"]);
    assert_eq!(lines(&shallow).code, 1, "the notes have not been fetched");
    let refs = "refs/notes/shiftlog:refs/notes/shiftlog";
    scratch.git_in(&shallow, ["fetch", "-q", "origin", refs]).ok();
    let without_words = lines(&shallow);
    assert_eq!(without_words.stdout.lines().collect::<Vec<_>>(), ["commit"; 5], "{without_words:?}");
    let short = scratch.git(["rev-parse", "--short", "HEAD"]).ok();
    let hint = "hint: 'git shiftlog sync pull --all' fetches transcripts that others share\n";
    assert_eq!(without_words.stderr, format!("warning: transcript not fetched: {short}{hint}"));
    let why = scratch.shiftlog_in(&shallow, "why", ["reconnect.py:1"]);
    assert!(why.stdout.contains("\n(transcript not fetched)\n"), "{why:?}");
    assert_eq!(why.stderr, hint, "what is said there is not said twice");
    scratch.git_in(&shallow, ["fetch", "-q", "origin", "refs/shiftlog/sessions:refs/shiftlog/sessions"]).ok();
    let with_words = lines(&shallow).stdout;
    assert!(with_words.lines().all(|line| line != "commit" && line != "none"), "{with_words}");
    assert_eq!(scratch.git(["submodule", "--quiet", "add", "./", "sub"]).code, 128, "submodules need a remote");
}

#[test]
fn a_warning_about_lost_words_names_the_commit() {
    let scratch = crate::why::reconnect();
    let through = scratch.record("HEAD")["through"].as_str().unwrap().to_owned();
    fs::remove_file(scratch.top.join(".git/objects").join(&through[..2]).join(&through[2..])).unwrap();
    let short = scratch.git(["rev-parse", "--short", "HEAD"]).ok();
    for name in ["blame", "why"] {
        let ran = scratch.shiftlog(name, ["-L1,5", "reconnect.py"]);
        let told: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
        assert!(!told.is_empty(), "{ran:?}");
        assert!(told.iter().all(|line| line.ends_with(&format!("(commit {})", short.trim()))), "{ran:?}");
    }
}

#[test]
fn an_edit_of_a_sub_agent_has_its_task_and_the_prompt_that_sent_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first something else");
    session.prompt("let a helper write it");
    session.calls("task", "Task", &json!({ "prompt": "write helper.txt" }));
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let file = scratch.top.join("helper.txt");
    let record = |kind: &str, content: Value| {
        let message = json!({ "role": kind, "content": content });
        let time = "2026-01-02T03:04:06Z";
        format!("{}\n", json!({ "type": kind, "isSidechain": true, "timestamp": time, "message": message }))
    };
    let input = json!({ "file_path": file, "content": "written_by_a_helper()\n" });
    let words = [
        record("user", json!("write helper.txt")),
        record("assistant", json!([{ "type": "text", "text": "I write it." }])),
        record("assistant", json!([{ "type": "tool_use", "id": "w1", "name": "Write", "input": input }])),
    ];
    fs::write(folder.join("agent-a1b2.jsonl"), words.concat()).unwrap();
    fs::write(&file, "written_by_a_helper()\n").unwrap();
    session.answers("task", "The helper is done.");
    session.commits("helper");
    let found = why(&scratch, &["helper.txt:1"]);
    let (prompt, task) = (&found[0]["prompt"], &found[0]["task"]);
    assert_eq!((prompt, task), (&json!("let a helper write it"), &json!("write helper.txt")));
    assert_eq!((&found[0]["session"], &found[0]["evidence"]), (&json!("s1.a1b2"), &json!("replay")));
    let shown = scratch.shiftlog("why", ["helper.txt:1"]).ok();
    assert!(shown.contains("> let a helper write it\n\n> write helper.txt\n\n  I write it.\n"), "{shown}");
    let words: Vec<&str> = shown.lines().last().unwrap().split(' ').skip(2).collect();
    let more = scratch.shiftlog(words[0], &words[1..]).ok();
    assert!(more.contains("written_by_a_helper()"), "the last line shows more: {words:?} {more}");
}

/// It is no prompt, and can be the reason for an edit, or correct it.
#[test]
fn what_the_person_said_meanwhile_is_with_the_edits_behind_it_and_corrects_those_before() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write the parser");
    session.edits("first.txt", "first_try()\n");
    let said = json!({ "type": "attachment", "uuid": "u9", "sessionId": "s1", "timestamp": "2026-01-02T03:04:06Z",
        "attachment": { "type": "queued_command", "commandMode": "prompt", "prompt": "no regular expressions, please" } });
    session.append(format!("{said}\n").as_bytes());
    session.edits("second.txt", "second_try()\n");
    session.commits("parser");
    session.prompt("and the printer");
    session.edits("third.txt", "third_try()\n");
    session.commits("printer");
    let said = |path: &str| why(&scratch, &[path])[0]["saidMeanwhile"].clone();
    assert_eq!(said("second.txt:1"), json!("no regular expressions, please"));
    assert_eq!((said("first.txt:1"), said("third.txt:1")), (Value::Null, Value::Null));
    let shown = scratch.shiftlog("why", ["second.txt:1"]).ok();
    assert!(shown.contains("> write the parser\n\n> said meanwhile: no regular expressions, please\n"), "{shown}");
    let mut client = crate::mcp::Client::legacy(&scratch);
    let mut ask = |path: &str| client.found("shiftlog_why", json!({ "path": path, "line": 1 }))["found"][0].clone();
    assert_eq!(ask("second.txt")["saidMeanwhile"], json!("no regular expressions, please"));
    let first = ask("first.txt");
    assert_eq!(first["laterPrompts"][0], json!("no regular expressions, please"), "{first}");
}

#[test]
fn what_a_session_claims_is_not_taken_for_what_it_did() {
    let scratch = Scratch::set_up();
    scratch.commit("real.txt", "one_of_the_base()\n", "base");
    let transcript = scratch.root().join("claims.jsonl");
    let mut text = format!(
        "{}\n",
        json!({ "type": "user", "uuid": "u", "message": { "role": "user", "content": "\u{1b}[31mred\u{202e}" } })
    );
    let mut claim = |id: &str, path: &str, old: &str, new: &str| {
        let input = json!({ "file_path": path, "old_string": old, "new_string": new });
        let part = json!({ "type": "tool_use", "id": id, "name": "Edit", "input": input });
        let record = json!({ "type": "assistant", "uuid": id, "message": { "role": "assistant", "content": [part] } });
        text += &format!("{record}\n");
    };
    // An edit of what never was there, of a file outside, and of the file itself by a way around.
    let real = scratch.top.join("real.txt");
    let real = real.to_str().unwrap();
    claim("never", real, "never_was_there()\n", "typed_by_somebody()\n");
    claim("outside", "/etc/../../real.txt", "", "typed_by_somebody()\n");
    claim("deep", &format!("{}/../../../x/real.txt", scratch.top.display()), "", "typed_by_somebody()\n");
    for number in 0..3000 {
        claim(&format!("many-{number}"), real, "one_of_the_base()\n", "one_of_the_base()\none_of_the_base()\n");
    }
    fs::write(&transcript, text).unwrap();
    scratch.commit("real.txt", "one_of_the_base()\ntyped_by_somebody()\nanother_line()\n", "typed");
    let said = format!("--transcript={}", transcript.display());
    scratch.shiftlog("add", ["-q", "--session=../../x\u{1b}[31m", "--agent=claude", &said]).ok();
    let ran = scratch.shiftlog("blame", ["--format=%(evidence)", "real.txt"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines, ["none", "text", "path"], "no replay: {ran:?}");
    assert!(ran.stderr.contains("warning: the edits of a large file were not done again"), "{ran:?}");
    for command in [
        &["why", "real.txt:2"][..],
        &["why", "--porcelain", "real.txt:2"],
        &["blame", "real.txt"],
        &["why", "--json", "real.txt:2"],
    ] {
        let ran = scratch.shiftlog(command[0], &command[1..]);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'), "{command:?}: {ran:?}");
    }
    assert!(!scratch.root().join("x").exists());
}

#[test]
fn words_that_were_purged_explain_nothing_any_more() {
    let scratch = crate::why::reconnect();
    scratch.shiftlog("purge", ["--all", "--yes", "HEAD"]).ok();
    let ran = scratch.shiftlog("why", ["reconnect.py:5"]);
    assert_eq!((ran.code, ran.stdout.lines().last()), (1, Some("not recorded")), "{ran:?}");
}

#[test]
fn a_commit_of_many_sessions_names_the_one_that_wrote_the_line() {
    let scratch = Scratch::set_up();
    let file = scratch.top.join("many.txt");
    let lines: Vec<String> = (0..40).map(|number| format!("line_of_session({number})\n")).collect();
    scratch.commit("many.txt", &lines.concat(), "many");
    for (number, line) in lines.iter().enumerate() {
        let old = lines[..number].concat();
        let input = match number {
            0 => json!({ "file_path": file, "content": line }),
            _ => {
                json!({ "file_path": file, "old_string": lines[number - 1], "new_string": format!("{}{line}", lines[number - 1]) })
            }
        };
        assert_eq!(old.lines().count(), number);
        let part = json!({ "type": "tool_use", "id": format!("c{number}"), "name": "Edit", "input": input });
        let record = json!({ "type": "assistant", "uuid": "a", "timestamp": format!("2026-01-02T02:{number:02}:00Z"),
            "message": { "role": "assistant", "content": [part] } });
        let transcript = scratch.root().join("one.jsonl");
        fs::write(&transcript, format!("{record}\n")).unwrap();
        let (session, said) = (format!("--session=s{number:02}"), format!("--transcript={}", transcript.display()));
        scratch.shiftlog("add", ["-q", &session, &said]).ok();
    }
    let found = scratch.shiftlog("blame", ["--format=%(session) %(call) %(evidence)", "many.txt"]).ok();
    let expected: Vec<String> = (0..40).map(|number| format!("s{number:02} c{number} replay")).collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn purged_words_of_a_running_session_are_not_told() {
    let scratch = Scratch::set_up();
    scratch.commit("a.txt", "one\n", "start");
    let session = scratch.session("s1");
    session.prompt("the first");
    session.edits("a.txt", "one\ntwo\n");
    session.commits("two");
    session.prompt("REMOVED words");
    session.edits("a.txt", "one\ntwo\nthree\n");
    let told = || scratch.shiftlog("why", ["a.txt:3"]).stdout;
    assert!(told().contains("REMOVED words"), "{}", told());
    scratch.shiftlog("purge", ["-y", "--all", "--session=s1"]).ok();
    assert!(!told().contains("REMOVED"), "{}", told());
}

#[test]
fn a_link_is_its_own_text_and_a_pipe_is_nothing() {
    let scratch = Scratch::set_up();
    std::os::unix::fs::symlink("/dev/zero", scratch.top.join("link")).unwrap();
    scratch.git(["add", "link"]).ok();
    scratch.git(["commit", "-q", "-m", "a link"]).ok();
    assert_eq!(scratch.shiftlog("why", ["link:1"]).code, 1);
    assert_eq!(scratch.shiftlog("blame", ["link"]).code, 1);
    fs::remove_file(scratch.top.join("link")).unwrap();
    scratch.run_in(&scratch.top, "mkfifo", ["link"]).ok();
    assert_eq!(scratch.shiftlog("why", ["link:1"]).code, 128);
}

#[test]
fn a_file_that_was_renamed_twice_is_large_or_of_a_replaced_commit_is_explained() {
    let scratch = reconnect();
    scratch.git(["mv", "reconnect.py", "one.py"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    scratch.git(["mv", "one.py", "two.py"]).ok();
    scratch.git(["commit", "-q", "-m", "rename again"]).ok();
    assert_eq!(told(&scratch, &["two.py"])[1..], ["replay/1", "none/", "replay/1", "replay/2"]);
    let replaced = scratch.id("HEAD~2");
    let other = scratch.git(["commit-tree", "-p", "HEAD~3", "-m", "another subject", "HEAD~2^{tree}"]).ok();
    scratch.git(["replace", &replaced, other.trim()]).ok();
    let shown = scratch.shiftlog("why", ["two.py:5"]).ok();
    assert!(shown.contains("another subject") && shown.contains("turn 2 of 2"), "{shown}");
    let lines: String = (0..100_000).map(|number| format!("line {number} of a large file\n")).collect();
    scratch.commit("large.txt", &lines, "large");
    let session = scratch.session("large");
    session.prompt("change one");
    session.replaces("t", "large.txt", "line 70000 of a large file", "changed by the session");
    session.commits("change one");
    let ran = scratch.shiftlog("why", ["--format=%(evidence)/%(turn)", "large.txt:70001"]);
    assert_eq!(ran.stdout, "text/1\n", "{ran:?}");
    assert!(ran.stderr.contains("the edits of a large file were not done again"), "{}", ran.stderr);
}

#[test]
fn lines_that_no_commit_has_are_explained_with_a_date_that_ends_the_search() {
    let scratch = reconnect();
    let text = fs::read_to_string(scratch.top.join("reconnect.py")).unwrap();
    scratch.write("reconnect.py", &format!("{text}typed()\n"));
    let since = "--since=2030-01-01";
    assert_eq!(why(&scratch, &[since, "reconnect.py:6"])[0]["evidence"], "path");
    assert_eq!(told(&scratch, &[since, "reconnect.py"]).last().unwrap(), "path/");
}
