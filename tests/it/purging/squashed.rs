//! What a record that was joined from several keeps when the words of one of them are purged.

use serde_json::{Value, json};

use super::purge;
use crate::support::Scratch;

/// The names of the files that a record tells of.
fn files(record: &Value) -> Vec<&str> {
    record["edits"].as_array().into_iter().flatten().filter_map(|edited| edited["path"].as_str()).collect()
}

#[test]
fn a_squash_names_no_file_of_the_purged_words_and_counts_those_that_stay() {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("long");
    for (prompt, name) in [("one", "a.txt"), ("two", "plan-to-leave.txt"), ("three", "c.txt")] {
        session.prompt(prompt);
        session.edits(name, "words\n");
        session.commits(&format!("commit {prompt}"));
    }
    session.hook("SessionEnd");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "all"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    let before = scratch.record("main");
    assert_eq!(files(&before), ["a.txt", "c.txt", "plan-to-leave.txt"]);
    let last = scratch.record("topic");
    purge(&scratch, &["topic~1"]).ok();
    let after = scratch.record("main");
    assert_eq!(files(&after), ["a.txt", "c.txt"]);
    assert_eq!((&before["turns"], &after["turns"]), (&json!(3), &json!(2)));
    let used = |record: &Value| record["tokens"]["input"].as_u64().unwrap();
    assert!(used(&after) < used(&before) && used(&after) > 0, "{after}");
    let kept = scratch.record("topic");
    let counts = |record: &Value| ["edits", "turns", "messages", "tokens", "prompt"].map(|key| record[key].clone());
    assert_eq!(counts(&kept), counts(&last), "a record whose own words stay is as it was");
    let noted = scratch.git(["log", "-p", "refs/notes/shiftlog"]).ok();
    assert!(!noted.contains("plan-to-leave"), "{noted}");
    scratch.assert_sound();
}
