//! Recording goes on where an earlier tool stopped.

use serde_json::json;

use crate::earlier::document;
use crate::migrating::{FIRST_REF, assert_full, assert_whole, attach, migrate, one_session, segments, talk};
use crate::support::{Scratch, feed};

#[test]
fn recording_goes_on_where_the_earlier_tool_stopped() {
    let scratch = Scratch::new();
    let made = one_session(&scratch, "refs/notes/shiftlog", 2);
    migrate(&scratch, &[]).ok();
    let text = talk("old", 8);
    scratch.commit("a.txt", "more\n", "more");
    let mut command = scratch.command("git", &scratch.top);
    command.args(["shiftlog", "add", "-q", "--transcript=-", "--session=old"]);
    assert_eq!(feed(&mut command, text.as_bytes()).code, 0);
    assert_full(&scratch, "HEAD", "old", &text);
    assert_eq!(scratch.raw("HEAD", &[]), text[made[1].1.len()..]);
    assert_eq!(segments(&scratch).len(), 3);
}

#[test]
fn a_session_that_we_have_recorded_further_is_joined() {
    let scratch = Scratch::new();
    let made = one_session(&scratch, "refs/notes/shiftlog", 2);
    let text = talk("old", 8);
    let add = |scratch: &Scratch| {
        let mut command = scratch.command("git", &scratch.top);
        command.args(["shiftlog", "add", "-q", "--transcript=-", "--session=old"]);
        assert_eq!(feed(&mut command, text.as_bytes()).code, 0);
    };
    scratch.commit("a.txt", "more\n", "more");
    add(&scratch);
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    migrate(&scratch, &[]).ok();
    for (commit, text) in &made {
        assert_full(&scratch, commit, "old", text);
    }
    assert_eq!(scratch.raw(&made[1].0, &[]), made[1].1[made[0].1.len()..]);
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok(), note);
    assert_full(&scratch, "HEAD", "old", &text);
    assert_whole(&scratch);
    // On one commit, the longer has the shorter in it, and tells of its document.
    let scratch = Scratch::new();
    let made = one_session(&scratch, FIRST_REF, 1);
    add(&scratch);
    migrate(&scratch, &[]).ok();
    assert_eq!(scratch.record(&made[0].0)["bytes"], text.len());
    assert_full(&scratch, &made[0].0, "old", &text);
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
}

#[test]
fn a_session_that_is_going_on_is_left_until_it_is_over() {
    let scratch = Scratch::set_up();
    let session = scratch.session("live");
    session.prompt("make it back off");
    session.edits("net.rs", "retry();\n");
    let first = session.commits("back off");
    session.says("said after commit one");
    attach(&scratch, FIRST_REF, "HEAD", &document("live", &session.text()).to_string());
    let before = scratch.record(&first);
    let left = migrate(&scratch, &[]);
    let why = "the session is going on; run 'git shiftlog migrate' again when it is over";
    let commit = &first[..7];
    assert_eq!(left.code, 1, "{left:?}");
    assert_eq!(left.stderr, format!("error: session 'claude/live' on {commit} is left as it is: {why}\n"));
    assert_eq!(scratch.record(&first), before);
    session.prompt("and retry");
    session.edits("net.rs", "retry(2);\n");
    let second = session.commits("retry");
    assert_eq!(scratch.record(&second)["since"], before["through"]);
    let added = scratch.raw(&second, &[]);
    assert_eq!(added.matches("said after commit one").count(), 1, "{added}");
    session.hook("SessionEnd");
    migrate(&scratch, &[]).ok();
    for record in [scratch.record(&first), scratch.record(&second)] {
        assert!(record["tree"].is_string(), "{record}");
    }
    assert_eq!(scratch.raw(&second, &[]), added);
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
    assert_whole(&scratch);
}

#[test]
fn a_record_of_ours_keeps_its_tree_beside_a_document_of_the_same_words() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it back off");
    session.edits("net.rs", "retry();\n");
    let commit = session.commits("back off");
    session.hook("SessionEnd");
    let ours = scratch.record(&commit);
    let mut document = document("s1", &scratch.raw(&commit, &["--full"]));
    // It stands for the same words, and was made later.
    document["timestamp"] = "2099-01-02T03:04:05Z".into();
    attach(&scratch, FIRST_REF, "HEAD", &document.to_string());
    migrate(&scratch, &[]).ok();
    let mut joined = scratch.record(&commit);
    assert_eq!(joined.as_object_mut().unwrap().remove("earlier"), Some(json!([document["checksum"]])));
    assert!(ours["tree"].is_string());
    assert_eq!(joined, ours);
}
