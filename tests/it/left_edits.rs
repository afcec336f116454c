//! What an agent edited in one turn, committed by a person in several commits: each has the conversation about it.

use serde_json::json;

use crate::late_results::said;
use crate::support::Scratch;

const WORDS: [&str; 2] = ["FIRST", "SECOND"];

/// Returns a repository with two files, and lets a session edit both, each in a turn of its own.
fn two_edits() -> Scratch {
    let scratch = Scratch::set_up();
    scratch.commit("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n", "f");
    scratch.commit("g.txt", "old\n", "g");
    let session = scratch.session("s1");
    session.prompt("FIRST");
    session.edits("f.txt", "one\n2\n3\n4\n5\n6\n7\neight\n");
    session.prompt("SECOND");
    session.edits("g.txt", "new\n");
    session.hook("Stop");
    scratch
}

fn commits(scratch: &Scratch, path: &str) {
    scratch.git(["add", path]).ok();
    scratch.git(["commit", "-q", "-m", path]).ok();
}

#[test]
fn each_commit_of_a_persons_two_has_the_conversation() {
    for is_over in [false, true] {
        let scratch = two_edits();
        if is_over {
            scratch.session("s1").hook("SessionEnd");
        }
        commits(&scratch, "f.txt");
        scratch.commit("mine.txt", "mine", "mine");
        commits(&scratch, "g.txt");
        for revision in ["HEAD", "HEAD~2"] {
            assert_eq!(said(&scratch, revision, &WORDS), WORDS, "{revision}: {}", scratch.log());
        }
        assert_eq!(scratch.records("HEAD~1").len(), 0, "a person's own commit in between");
        // Nothing is left, so that a later change of the file is the person's own.
        scratch.commit("g.txt", "newer\n", "newer");
        assert_eq!(scratch.records("HEAD").len(), 0);
        let counted = scratch.shiftlog("stats", ["--json"]).stdout;
        let total: serde_json::Value = serde_json::from_str(counted.lines().last().unwrap()).unwrap();
        assert_eq!((&total["total"], &total["turns"]), (&json!(true), &json!(2)), "{counted}");
    }
}

#[test]
fn a_file_that_is_committed_in_parts_has_the_conversation_at_each_part() {
    let scratch = two_edits();
    // The first of the two changed lines, as `git add -p` stages it.
    let blob = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], b"one\n2\n3\n4\n5\n6\n7\n8\n").ok();
    scratch.git(["update-index", "--cacheinfo", &format!("100644,{},f.txt", blob.trim())]).ok();
    scratch.git(["commit", "-q", "-m", "a part"]).ok();
    commits(&scratch, "f.txt");
    for revision in ["HEAD", "HEAD~1"] {
        assert_eq!(said(&scratch, revision, &WORDS), WORDS, "{revision}: {}", scratch.log());
    }
}

#[test]
fn what_an_agent_left_out_of_its_commit_has_its_conversation_when_a_person_commits_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("FIRST");
    session.edits("f.txt", "f");
    session.edits("g.txt", "g");
    session.calls("c", "Bash", &json!({ "command": "git commit f.txt" }));
    let mut git = scratch.command("git", &session.dir);
    git.env("CLAUDE_CODE_SESSION_ID", "s1").args(["commit", "-q", "-m", "f", "--", "f.txt"]);
    scratch.git(["add", "f.txt"]).ok();
    crate::support::Ran::of(git.output().unwrap()).ok();
    session.answers("c", "[main] f");
    session.hook_for("PostToolUse", "c");
    commits(&scratch, "g.txt");
    assert_eq!(said(&scratch, "HEAD", &WORDS), ["FIRST"], "{}", scratch.log());
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn an_edit_that_was_given_up_gives_no_commit_its_conversation() {
    let scratch = two_edits();
    commits(&scratch, "f.txt");
    scratch.git(["checkout", "-q", "--", "g.txt"]).ok();
    scratch.commit("g.txt", "a person wrote this\n", "mine");
    assert_eq!(scratch.records("HEAD").len(), 0, "{}", scratch.log());
}

#[test]
fn a_copy_of_left_edits_has_the_records_of_their_session_alone() {
    let scratch = two_edits();
    let other = scratch.session("s2");
    other.prompt("THIRD");
    other.edits("f.txt", "one\n2\n3\n4\n5\n6\n7\n8, they said\n");
    other.hook("Stop");
    commits(&scratch, "f.txt");
    commits(&scratch, "g.txt");
    assert_eq!(said(&scratch, "HEAD~1", &["FIRST", "THIRD"]), ["FIRST", "THIRD"], "{}", scratch.log());
    assert_eq!(said(&scratch, "HEAD", &["SECOND", "THIRD"]), ["SECOND"], "{}", scratch.log());
}

#[test]
fn a_change_of_the_mode_or_a_removal_takes_no_edit() {
    for autocrlf in ["false", "true"] {
        let scratch = Scratch::set_up();
        scratch.git(["config", "core.autocrlf", autocrlf]).ok();
        scratch.commit("f.txt", "1\r\n", "f");
        scratch.commit("g.txt", "1\r\n", "g");
        let session = scratch.session("s1");
        session.prompt("FIRST");
        session.edits("f.txt", "one\r\n");
        session.edits("g.txt", "one\r\n");
        session.hook("Stop");
        commits(&scratch, "f.txt");
        scratch.git(["update-index", "--chmod=+x", "f.txt"]).ok();
        scratch.git(["commit", "-q", "-m", "mode"]).ok();
        assert_eq!(scratch.records("HEAD").len(), 0, "{autocrlf}: {}", scratch.log());
        scratch.git(["rm", "-q", "--cached", "g.txt"]).ok();
        scratch.git(["commit", "-q", "-m", "removed"]).ok();
        assert_eq!(scratch.records("HEAD").len(), 0, "{autocrlf}: {}", scratch.log());
        commits(&scratch, "g.txt");
        assert_eq!(said(&scratch, "HEAD", &WORDS), ["FIRST"], "{autocrlf}: {}", scratch.log());
    }
}

#[test]
fn what_somebody_changes_after_the_commit_was_not_left_out_of_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("FIRST");
    session.edits("f.txt", "agent\n");
    session.calls("c", "Bash", &json!({ "command": "git commit -qam f; make test" }));
    session.runs_commit(&["-m", "f"]);
    // While the tests run, a person goes on with the file.
    std::thread::sleep(std::time::Duration::from_millis(20));
    scratch.write("f.txt", "person\n");
    session.answers("c", "ok");
    session.hook_for("PostToolUse", "c");
    session.hook("Stop");
    assert_eq!(said(&scratch, "HEAD", &["FIRST"]), ["FIRST"]);
    scratch.git(["commit", "-q", "-a", "-m", "a person's"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0, "{}", scratch.log());
}
