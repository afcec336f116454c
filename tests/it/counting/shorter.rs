//! A transcript that its agent made shorter: what is gone from the file is still in the record that has it.

use std::fs;

use serde_json::json;

use super::{answers, total, usage};
use crate::support::{Scratch, Session};

/// Says a prompt with an answer and a file, and commits.
fn turn(session: &Session<'_>, name: &str) {
    session.prompt(&format!("please make {name}"));
    answers(session, &format!("msg_{name}"), "claude-opus-4-8", &usage());
    session.edits(&format!("{name}.txt"), "words\n");
    session.commits(&format!("add {name}"));
}

/// A branch `topic` with two commits of one session. After the first one its agent kept only the first prompt.
fn rewound(scratch: &Scratch) -> Session<'_> {
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("long");
    turn(&session, "alpha");
    let head = session.text().lines().next().unwrap().to_owned();
    fs::write(&session.transcript, format!("{head}\n")).unwrap();
    turn(&session, "beta");
    session.hook("SessionEnd");
    session
}

#[test]
fn a_squash_shows_and_counts_the_turns_that_are_gone_from_the_file() {
    let scratch = Scratch::set_up();
    rewound(&scratch);
    let once = total(&scratch, &["--branches"]);
    assert_eq!((&once["turns"], &once["cost"]), (&json!(2), &json!("0.1075")));
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "all of topic"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    for chosen in [&["main"][..], &["--branches"], &["main", "topic~1"], &["topic", "topic~1"]] {
        assert_eq!(total(&scratch, chosen), once, "{chosen:?}");
        assert_eq!(total(&scratch, &[chosen, &["--words"]].concat()), once, "{chosen:?} with their words");
    }
    let shown = scratch.shiftlog("show", ["main"]).ok();
    assert!(shown.contains("add alpha") && shown.contains("please make beta"), "{shown}");
    let page = scratch.shiftlog("export", ["--html", "main"]).ok();
    assert!(page.contains("alpha.txt") && page.contains("please make beta"), "{page}");
    assert!(page.contains("<li>2 turns</li>") && page.contains("<li>at least 0.11 USD</li>"), "{page}");
    // Nothing joins them when the note is written again, for an amended commit.
    let records = scratch.records("main");
    assert_eq!(records.len(), 2, "{records:?}");
    let id = scratch.id("main");
    scratch.git(["commit", "-q", "--amend", "-m", "all of topic, again"]).ok();
    assert_ne!(scratch.id("main"), id);
    assert_eq!(scratch.records("main"), records);
}

#[test]
fn what_a_commit_gets_after_the_file_became_shorter_is_beside_what_it_has() {
    let scratch = Scratch::set_up();
    let session = scratch.session("long");
    turn(&session, "alpha");
    let head = session.text().lines().next().unwrap().to_owned();
    fs::write(&session.transcript, format!("{head}\n")).unwrap();
    session.prompt("please make beta");
    let file = session.transcript.to_str().unwrap().to_owned();
    scratch.shiftlog("add", ["--transcript", &file, "HEAD"]).ok();
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    assert!(shown.contains("alpha.txt") && shown.contains("please make beta"), "{shown}");
    assert_eq!(total(&scratch, &[])["turns"], 2);
}

#[test]
fn a_record_by_hand_begins_where_the_shorter_file_was_recorded_up_to() {
    let scratch = Scratch::set_up();
    let session = rewound(&scratch);
    let last = scratch.record("HEAD");
    for option in [None, last["through"].as_str()] {
        scratch.lose_state();
        let name = if option.is_some() { "delta" } else { "gamma" };
        session.record("user", &json!({ "role": "user", "content": format!("please make {name}") }));
        scratch.commit(&format!("{name}.txt"), "words\n", name);
        let file = format!("--transcript={}", session.transcript.display());
        let since = option.map(|segment| format!("--since={segment}"));
        scratch.shiftlog("add", [Some(file), since].into_iter().flatten().collect::<Vec<_>>()).ok();
        let record = scratch.record("HEAD");
        assert_eq!(record["since"], last["through"], "{record}");
        assert_eq!(record["turns"], if option.is_some() { 2 } else { 1 }, "{record}");
    }
    // From a segment that has more than the file keeps of it.
    let first = scratch.record("HEAD~3")["through"].as_str().unwrap().to_owned();
    session.record("user", &json!({ "role": "user", "content": "please make epsilon" }));
    scratch.commit("epsilon.txt", "words\n", "epsilon");
    let file = format!("--transcript={}", session.transcript.display());
    scratch.shiftlog("add", [file, format!("--since={first}")]).ok();
    assert_eq!(scratch.record("HEAD")["turns"], 4, "all but the prompt that the file still begins with");
    assert_eq!(total(&scratch, &["--branches"])["turns"], 5, "each counts once");
}
