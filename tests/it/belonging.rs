//! Whose conversation a commit gets where more than one answer seems possible.

use std::fs;

use serde_json::json;

use crate::support::Scratch;

/// Returns the sessions that are recorded on a revision, sorted.
fn sessions(scratch: &Scratch, revision: &str) -> Vec<String> {
    let records = scratch.records(revision);
    let mut ids: Vec<String> = records.iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn a_commit_of_other_files_leaves_the_session_to_the_commit_of_its_own() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write the parser");
    session.edits("parser.rs", "fn parse() {}\n");
    let unrelated = scratch.commit("notes.txt", "mine\n", "a human's");
    assert_eq!(scratch.records(&unrelated).len(), 0, "the agent has not touched that file");
    let own = scratch.commit("parser.rs", "fn parse() {}\n", "the parser");
    assert_eq!(scratch.record(&own)["prompt"], "write the parser");
    assert_eq!(scratch.raw(&own, &[]), session.text());
}

#[test]
fn a_session_that_only_talked_still_gets_the_commit_that_was_made_for_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("how do I sort this?");
    session.says("With sort(1).");
    let commit = scratch.commit("sorted.txt", "a\nb\n", "sort it");
    assert_eq!(sessions(&scratch, &commit), ["s1"]);
}

#[test]
fn a_commit_with_an_empty_message_is_new_work() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("save it");
    session.edits("a.txt", "a\n");
    let by_agent = session.runs_commit(&["--allow-empty-message", "-m", ""]);
    assert_eq!(sessions(&scratch, &by_agent), ["s1"]);
    session.prompt("again");
    session.edits("a.txt", "aa\n");
    scratch.git(["commit", "-q", "-a", "--allow-empty-message", "-m", ""]).ok();
    assert_eq!(scratch.record("HEAD")["prompt"], "again");
    // The agent's own hook must see it too.
    fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
    session.prompt("once more");
    session.edits("a.txt", "aaa\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit --allow-empty-message -m ''" }));
    let commit = session.runs_commit(&["--allow-empty-message", "-m", ""]);
    session.answers("c1", &format!("[main {}]", &commit[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.record(&commit)["prompt"], "once more");
}
