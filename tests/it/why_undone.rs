//! `why` and `blame` where edits were undone, or made within one second.

use serde_json::{Value, json};

use crate::support::Scratch;
use crate::why::{told, why};
use crate::why_claims::{call, prompt, record};

const BASE: &str = "one()\ntwo()\nthree()\n";
const RETYPED: &str = "one()\nthe_retyped_line()\ntwo()\nthree()\n";

#[test]
fn an_edit_that_a_command_took_back_is_no_proof_of_a_line_that_somebody_typed_later() {
    for (command, evidence) in [
        ("git checkout -- f.txt", "commit/"),
        ("make test || git restore .", "commit/"),
        ("git reset -q --hard", "commit/"),
        ("git checkout -- README", "replay/1"),
        ("git restore --staged f.txt", "replay/1"),
    ] {
        let scratch = Scratch::set_up();
        scratch.commit("f.txt", BASE, "base");
        let session = scratch.session("s1");
        session.prompt("try it");
        session.replaces("e", "f.txt", "one()\n", "one()\nthe_retyped_line()\n");
        session.calls("r", "Bash", &json!({ "command": command }));
        scratch.run_in(&scratch.top, "sh", ["-c", command]);
        session.answers("r", "");
        scratch.write("f.txt", RETYPED);
        session.commits("typed by somebody");
        assert_eq!(told(&scratch, &["f.txt"])[1], evidence, "{command}");
    }
}

#[test]
fn a_command_of_the_person_takes_edits_back_and_what_is_edited_again_is_found() {
    let scratch = Scratch::set_up();
    scratch.commit("f.txt", BASE, "base");
    let session = scratch.session("s1");
    session.prompt("try it");
    session.replaces("e1", "f.txt", "one()\n", "one()\nthe_retyped_line()\n");
    session.replaces("e2", "f.txt", "three()\n", "three()\nonly_tried()\n");
    session.prompt("<bash-input>git checkout -- f.txt</bash-input><bash-stdout></bash-stdout>");
    scratch.git(["checkout", "-q", "--", "f.txt"]).ok();
    session.prompt("once more");
    session.replaces("e3", "f.txt", "one()\n", "one()\nthe_retyped_line()\n");
    scratch.write("f.txt", &format!("{RETYPED}only_tried()\n"));
    session.commits("half of it again");
    assert_eq!(told(&scratch, &["f.txt"]), ["none/", "replay/2", "none/", "none/", "path/"]);
}

/// Returns an edit with its result, at a time.
fn edit_at(scratch: &Scratch, time: &str, id: &str, old: &str, new: &str) -> String {
    let input = json!({ "file_path": scratch.top.join("f.txt"), "old_string": old, "new_string": new });
    let result =
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "done" }] });
    let result = json!({ "type": "user", "message": result });
    let called: Value = serde_json::from_str(&call(id, "Edit", &input, scratch.top.to_str().unwrap())).unwrap();
    let timed = |mut record: Value| {
        record["timestamp"] = format!("2026-01-02T03:04:{time}Z").into();
        format!("{record}\n")
    };
    timed(called) + &timed(result)
}

#[test]
fn a_line_that_another_session_wrote_again_after_it_was_undone_is_of_that_session() {
    let scratch = Scratch::set_up();
    scratch.commit("f.txt", BASE, "base");
    scratch.commit("f.txt", RETYPED, "retyped");
    let (old, new) = ("one()\ntwo()", "one()\nthe_retyped_line()\ntwo()");
    record(&scratch, "s1", &(prompt("first") + &edit_at(&scratch, "05", "a", old, new)));
    record(&scratch, "s2", &(prompt("second") + &edit_at(&scratch, "09", "b", old, new)));
    let found = &why(&scratch, &["f.txt:2"])[0];
    assert_eq!((&found["evidence"], &found["session"]), (&json!("replay"), &json!("s2")), "{found}");
}

#[test]
fn edits_of_two_sessions_within_a_second_are_made_in_their_order() {
    for (first, second) in [("05.100", "05.900"), ("05.1000001", "05.1000002"), ("05.9", "06")] {
        for names in [["s1", "s2"], ["s2", "s1"]] {
            let scratch = Scratch::set_up();
            scratch.commit("f.txt", "start_of_it()\n", "base");
            scratch.commit("f.txt", "end_of_it()\n", "both");
            let one = edit_at(&scratch, first, "a", "start_of_it()", "middle_of_it()");
            let other = edit_at(&scratch, second, "b", "middle_of_it()", "end_of_it()");
            record(&scratch, names[0], &(prompt("first") + &one));
            record(&scratch, names[1], &(prompt("second") + &other));
            assert_eq!(told(&scratch, &["f.txt"]), ["replay/1"], "{first} {second} {names:?}");
        }
    }
}
