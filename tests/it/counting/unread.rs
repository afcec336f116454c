//! Records that cannot be read, or that earlier versions have written.

use serde_json::Value;

use super::{answers, total, usage};
use crate::support::Scratch;

/// A repository with two recorded commits.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("one");
    for number in ["1", "2"] {
        session.prompt(number);
        answers(&session, &format!("msg_{number}"), "claude-opus-4-8", &usage());
        session.edits("a.txt", number);
        session.commits(number);
    }
    session.hook("SessionEnd");
    scratch
}

/// Changes the record of HEAD.
fn change(scratch: &Scratch, change: impl Fn(&mut Value)) {
    let mut record = scratch.record("HEAD");
    change(&mut record);
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &record.to_string(), "HEAD"]).ok();
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_the_sum_is_a_least_one() {
    let scratch = recorded();
    change(&scratch, |record| record["turns"] = (-5).into());
    let ran = scratch.shiftlog("stats", ["--json"]);
    let id = scratch.id("HEAD");
    let warning = format!("warning: the note of {id} has a record that cannot be read\n");
    assert_eq!((ran.code, &*ran.stderr), (1, &*warning), "{ran:?}");
    let told: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(told["uncounted"], true, "{told}");
    // A remark of a person is none.
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", "a remark", "HEAD"]).ok();
    assert_eq!(scratch.shiftlog("stats", ["--json"]).code, 0);
}

#[test]
fn with_words_the_time_is_counted_of_records_that_have_none() {
    let scratch = recorded();
    let whole = total(&scratch, &["--words"]);
    change(&scratch, |record| {
        record.as_object_mut().unwrap().remove("active");
        record["turns"] = 7.into();
    });
    let counted = total(&scratch, &["--words"]);
    for key in ["turns", "messages", "active"] {
        assert_eq!(counted[key], whole[key], "{key}: {counted}");
    }
}
