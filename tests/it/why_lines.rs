//! How lines are found: evidence, sub-agents, sessions that go on, and what makes it hard.

use std::fs;

use serde_json::{Value, json};

use crate::support::Scratch;
use crate::why::{objects, reconnect, told, why};

#[test]
fn each_kind_of_evidence_is_called_what_it_is() {
    let scratch = Scratch::set_up();
    let session = scratch.session("kinds");
    session.prompt("make some files");
    session.edits("a.txt", "first line\nsecond line\n");
    // What the edits do not do again: a person changes the text before the next edit.
    session.edits("b.txt", "moved_line(1)\n");
    session.calls("sh", "Bash", &json!({ "command": "cat >c.txt <<EOF\nfrom_a_command(2)\nEOF" }));
    session.answers("sh", "");
    scratch.write("a.txt", "first line\ntyped by somebody\nsecond   line\nmoved_line(1)\nfrom_a_command(2)\n}\n");
    scratch.write("d.txt", "an unrelated file\n");
    session.commits("all");
    let lines = told(&scratch, &["a.txt"]);
    assert_eq!(lines, ["replay/1", "path/", "replay/1", "moved/1", "shell/1", "path/"]);
    assert_eq!(told(&scratch, &["d.txt"]), ["commit/"]);
    assert_eq!(told(&scratch, &["README"]), ["none/"]);
    let moved = scratch.shiftlog("why", ["a.txt:4"]).ok();
    assert!(moved.contains("(the same line was written in another file: b.txt)\n"), "{moved}");
    assert_eq!(why(&scratch, &["a.txt:4"])[0]["otherPath"], "b.txt");
    let shell = scratch.shiftlog("why", ["a.txt:5"]).ok();
    assert!(
        shell.contains("Bash\n(a command has this line)\n") && shell.contains("    from_a_command(2)\n"),
        "{shell}"
    );
    let path = scratch.shiftlog("why", ["a.txt:2"]).ok();
    assert!(path.ends_with("--session=kinds -- a.txt\n"), "{path}");
    assert!(!path.contains("human"));
    let commit = scratch.shiftlog("why", ["d.txt:1"]).ok();
    assert!(commit.contains("(recorded with the commit)\n") && commit.contains("--session=kinds\n"), "{commit}");
}

#[test]
fn a_formatter_and_other_line_ends_take_nothing_away() {
    let scratch = Scratch::set_up();
    scratch.commit("f.c", "int main(void)\r\n{\r\n\treturn 0;\r\n}\r\n", "start f");
    let session = scratch.session("crlf");
    session.prompt("print something");
    let edit = json!({ "file_path": scratch.top.join("f.c"), "old_string": "{\n\treturn 0;", "new_string": "{\n\tputs( \"hi\" );\n\treturn 1;" });
    session.calls("e", "Edit", &edit);
    scratch.write("f.c", "int main(void)\r\n{\r\n    puts(\"hi\");\r\n    return 1;\r\n}");
    session.answers("e", "done");
    session.commits("print");
    assert_eq!(told(&scratch, &["f.c"]), ["none/", "none/", "replay/1", "replay/1", "none/"]);
}

#[test]
fn a_failed_call_and_a_branch_taken_back_wrote_nothing() {
    let scratch = Scratch::set_up();
    let session = scratch.session("failed");
    session.prompt("try it");
    let call = |id: &str, text: &str| {
        session.calls(id, "Write", &json!({ "file_path": scratch.top.join("x.txt"), "content": text }));
    };
    call("bad", "the_line_of_both()\n");
    let result = json!({ "type": "tool_result", "tool_use_id": "bad", "content": "no", "is_error": true });
    let record = json!({ "type": "user", "uuid": "e1", "sessionId": "failed", "timestamp": "2026-01-02T03:04:06Z",
        "message": { "role": "user", "content": [result] } });
    session.append(format!("{record}\n").as_bytes());
    session.prompt("once more");
    session.edits("x.txt", "the_line_of_both()\n");
    session.commits("x");
    assert_eq!(told(&scratch, &["x.txt"]), ["replay/2"]);
}

#[test]
fn lines_that_no_commit_has_are_found_in_the_session_that_goes_on() {
    let scratch = Scratch::set_up();
    let session = scratch.session("going-on");
    session.prompt("start it");
    session.edits("new.txt", "one\n");
    session.commits("one");
    session.prompt("go on, the key is AKIAIOSFODNN7EXAMPLF");
    session.says("A second line.");
    session.replaces("two", "new.txt", "one\n", "one\nthe_second_line()\n");
    let found = why(&scratch, &["new.txt:2"]);
    assert_eq!(
        (&found[0]["evidence"], &found[0]["turn"], &found[0]["live"]),
        (&json!("replay"), &json!(2), &json!(true))
    );
    assert_eq!((&found[0]["final"], &found[0]["commit"]), (&json!(null), &json!(null)));
    let shown = scratch.shiftlog("why", ["new.txt:2"]).ok();
    assert!(shown.contains("not committed yet\n") && shown.ends_with("git shiftlog status\n"), "{shown}");
    assert!(shown.contains("> go on") && !shown.contains("AKIAIOSFODNN7EXAMPLF"), "without secrets: {shown}");
    assert_eq!(told(&scratch, &["new.txt"]), ["replay/1", "replay/2"]);
    // A buffer that is not saved.
    let ran = scratch.run_with_input(
        "git",
        ["shiftlog", "why", "--json", "--contents=-", "new.txt:3"],
        b"one\ntyped\nthe_second_line()\n",
    );
    assert_eq!(objects(ran)[0]["turn"], 2);
    let ran = scratch.run_with_input(
        "git",
        ["shiftlog", "why", "--contents=-", "new.txt:2"],
        b"one\ntyped\nthe_second_line()\n",
    );
    assert!(ran.stdout.contains("no recorded edit has this line, but the session edited this file"), "{ran:?}");
}

#[test]
fn an_edit_that_an_earlier_commit_recorded_is_found() {
    let scratch = Scratch::set_up();
    let session = scratch.session("two-files");
    session.prompt("write both");
    session.edits("a.txt", "the_line_of_a()\n");
    session.edits("b.txt", "the_line_of_b()\n");
    session.runs_commit(&["-m", "a", "--", "a.txt"]);
    // Without its state, the second commit does not get the record of the first one, too.
    std::fs::remove_dir_all(scratch.top.join(".git/shiftlog/live")).unwrap();
    session.prompt("now b");
    session.says("Of course.");
    session.commits("b");
    let found = why(&scratch, &["b.txt:1"]);
    assert_eq!(
        (&found[0]["evidence"], &found[0]["turn"], &found[0]["full"]),
        (&json!("replay"), &json!(1), &json!(true))
    );
    let shown = scratch.shiftlog("why", ["b.txt:1"]).ok();
    let words: Vec<&str> = shown.lines().last().unwrap().split(' ').skip(2).collect();
    assert!(scratch.shiftlog(words[0], &words[1..]).ok().contains("> write both"), "{shown}");
}

#[test]
fn lines_that_a_session_left_for_a_later_commit_are_found_in_its_record() {
    let mut scratch = Scratch::set_up();
    let later = |scratch: &mut Scratch, minute: usize| {
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            scratch.env.insert(name.into(), format!("2026-01-02T03:{minute:02}:00Z"));
        }
    };
    let commit = |scratch: &Scratch, path: &str| {
        scratch.git(["add", path]).ok();
        scratch.git(["commit", "-q", "-m", path]).ok();
        scratch.id("HEAD")
    };
    later(&mut scratch, 5);
    let session = scratch.session("two");
    session.prompt("write two files");
    session.edits("a.txt", "the first file\n");
    session.edits("b.txt", "the second file\n}\nof the session\n");
    session.edits("c.txt", "one half\nanother half\n");
    scratch.write("c.txt", "one half\n");
    scratch.git(["add", "c.txt"]).ok();
    let first = commit(&scratch, "a.txt");
    later(&mut scratch, 6);
    scratch.write("b.txt", "the second file\n}\nof the session\ntyped by somebody\n");
    let second = commit(&scratch, "b.txt");
    assert_eq!(scratch.records(&second).len(), 0, "nothing new was said");
    assert_eq!(told(&scratch, &["b.txt"]), ["moved/1", "moved/1", "moved/1", "none/"]);
    let shown = scratch.shiftlog("why", ["b.txt:1"]).ok();
    assert!(shown.contains("(an edit that another commit recorded has this line)\n"), "{shown}");
    let command = shown.lines().last().unwrap();
    assert_eq!(command, format!("git shiftlog show {} --session=two --turn=1", &first[..12]));
    let args: Vec<&str> = command.split(' ').skip(2).collect();
    assert!(scratch.shiftlog(args[0], &args[1..]).ok().contains("of the session"));
    let object = &why(&scratch, &["b.txt:1"])[0];
    assert_eq!((&object["via"], &object["final"]), (&json!([first]), &json!(second)));
    assert_eq!(object["prompt"], "write two files");
    let lines = scratch.shiftlog("blame", ["--porcelain", "b.txt"]).ok();
    assert!(lines.contains(&format!("shiftlog-evidence moved\nshiftlog-via {first}\n")), "{lines}");
    // The other half of a file, of which the commit with the record has one.
    scratch.write("c.txt", "one half\nanother half\n");
    assert_eq!(told(&scratch, &["c.txt"]), ["replay/1", "text/1"], "the session goes on");
    commit(&scratch, "c.txt");
    assert_eq!(told(&scratch, &["c.txt"]), ["replay/1", "moved/1"]);
    // What was edited before the file was changed by others explains nothing that comes after.
    scratch.write("c.txt", "changed by others\n");
    later(&mut scratch, 7);
    commit(&scratch, "c.txt");
    scratch.write("c.txt", "another half\n");
    later(&mut scratch, 8);
    commit(&scratch, "c.txt");
    assert_eq!(told(&scratch, &["c.txt"]), ["none/"]);
}

#[test]
fn what_a_person_typed_before_the_agent_wrote_the_file_is_not_the_agents() {
    let scratch = Scratch::set_up();
    let session = scratch.session("whole");
    session.prompt("write it");
    session.edits("a.txt", "written first\nand second\n");
    let before = "written first\ntyped by somebody\nand second\n";
    let after = "written first\ntyped by somebody\nand second\nwritten last\n";
    session.calls("w", "Write", &json!({ "file_path": scratch.top.join("a.txt"), "content": after }));
    let result = json!({ "type": "tool_result", "tool_use_id": "w", "content": "done" });
    let record = json!({ "type": "user", "uuid": "r1", "sessionId": "whole", "timestamp": "2026-01-02T03:04:06Z",
        "toolUseResult": { "originalFile": before }, "message": { "role": "user", "content": [result] } });
    session.append(format!("{record}\n").as_bytes());
    scratch.write("a.txt", after);
    session.commits("a");
    let calls: Vec<String> = why(&scratch, &["-L", "1,4", "a.txt"])
        .iter()
        .flat_map(|block| {
            let call = block["call"]["id"].as_str().unwrap_or("nobody").to_owned();
            block["lines"].as_array().unwrap().iter().map(move |line| format!("{line} {call}")).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(calls, ["1 edit-a.txt", "3 edit-a.txt", "4 w", "2 nobody"]);
}

#[test]
fn the_records_of_rewritten_history_still_explain_their_lines() {
    let scratch = reconnect();
    let is_known = |what: &str| {
        assert_eq!(told(&scratch, &["reconnect.py"]), ["none/", "replay/1", "none/", "replay/1", "replay/2"], "{what}")
    };
    is_known("as it was committed");
    scratch.git(["commit", "-q", "--amend", "-m", "amended"]).ok();
    is_known("amended");
    scratch.git(["switch", "-q", "-c", "other", "HEAD~1"]).ok();
    scratch.commit("other.txt", "x\n", "other");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["rebase", "-q", "other"]).ok();
    is_known("rebased");
    scratch.git(["switch", "-q", "-c", "squashed", "other"]).ok();
    scratch.git(["merge", "-q", "--squash", "main"]).ok();
    scratch.git(["commit", "-q", "-m", "squash"]).ok();
    is_known("squashed: what carries records over is asked first");
    scratch.git(["mv", "reconnect.py", "renamed.py"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    assert_eq!(told(&scratch, &["renamed.py"])[4], "replay/2");
}

#[test]
fn revisions_to_ignore_are_looked_through() {
    let scratch = reconnect();
    let text = fs::read_to_string(scratch.top.join("reconnect.py")).unwrap();
    let id = scratch.commit("reconnect.py", &text.replace("delay", "pause"), "rename a variable");
    assert_eq!(told(&scratch, &["reconnect.py"])[4], "none/");
    assert_ne!(told(&scratch, &["--ignore-rev", &id, "reconnect.py"])[4], "none/");
    scratch.commit(".git-blame-ignore-revs", &format!("{id}\n"), "ignore");
    assert_ne!(told(&scratch, &["reconnect.py"])[4], "none/");
    assert_eq!(told(&scratch, &["--no-ignore-revs", "reconnect.py"])[4], "none/");
    scratch.write(".git-blame-ignore-revs", "this is no id\n");
    let ran = scratch.shiftlog("blame", ["reconnect.py"]);
    assert!(ran.stderr.starts_with("warning: '.git-blame-ignore-revs' is not used: "), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 5, "{ran:?}");
}

#[test]
fn a_line_of_a_turn_that_an_earlier_commit_began_has_the_prompt_of_that_turn() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("Fix both bugs;\none commit each.");
    session.edits("a.txt", "first_bug()\n");
    let first = session.commits("first");
    session.edits("b.txt", "second_bug()\n");
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    session.calls("task", "Task", &json!({ "prompt": "write helper.txt" }));
    let record = |kind: &str, content: Value| {
        let message = json!({ "role": kind, "content": content });
        let time = "2026-01-02T03:04:06Z";
        format!("{}\n", json!({ "type": kind, "isSidechain": true, "timestamp": time, "message": message }))
    };
    let input = json!({ "file_path": scratch.top.join("helper.txt"), "content": "written_by_a_helper()\n" });
    let words = [
        record("user", json!("write helper.txt")),
        record("assistant", json!([{ "type": "tool_use", "id": "w1", "name": "Write", "input": input }])),
        record("user", json!([{ "type": "tool_result", "tool_use_id": "w1", "content": "done" }])),
    ];
    fs::write(folder.join("agent-a1b2.jsonl"), words.concat()).unwrap();
    scratch.write("helper.txt", "written_by_a_helper()\n");
    session.answers("task", "The helper is done.");
    session.commits("second");
    session.prompt("Another turn.");
    session.edits("c.txt", "of_another_turn()\n");
    session.commits("third");
    let told = format!("continues {}: Fix both bugs; one commit each.\n", &first[..7]);
    let shown = scratch.shiftlog("why", ["b.txt:1"]).ok();
    assert!(shown.contains(&format!("\n\n{told}\n")), "{shown}");
    let of_helper = scratch.shiftlog("why", ["helper.txt:1"]).ok();
    assert!(of_helper.contains(&format!("\n\n{told}\n> write helper.txt\n")), "{of_helper}");
    for file in ["b.txt", "helper.txt"] {
        let found = &why(&scratch, &[&format!("{file}:1")])[0];
        let (prompt, continues) = (&found["prompt"], &found["continues"]);
        assert_eq!((prompt, continues), (&json!("Fix both bugs; one commit each."), &json!(first)), "{found}");
        let lines = scratch.shiftlog("blame", ["--porcelain", file]).ok();
        let headers = format!("\nshiftlog-continues {first}\nshiftlog-prompt Fix both bugs; one commit each.\n");
        assert!(lines.contains(&headers), "{lines}");
        let line = scratch.shiftlog("why", ["--format=%(continues) %(prompt)", &format!("{file}:1")]).ok();
        assert_eq!(line, format!("{first} Fix both bugs; one commit each.\n"));
    }
    for (file, prompt) in [("a.txt", "Fix both bugs;\none commit each."), ("c.txt", "Another turn.")] {
        let found = &why(&scratch, &[&format!("{file}:1")])[0];
        assert_eq!((&found["prompt"], found.get("continues")), (&json!(prompt), None), "{found}");
    }
}
