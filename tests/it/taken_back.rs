//! Commits that `git reset` took back and whose changes other commits make again: their conversations go along.

use std::fs;

use serde_json::json;

use crate::amended::speaks_and_commits;
use crate::late_results::said;
use crate::support::{Ran, Scratch, Session};

const WORDS: [&str; 3] = ["FIRST", "SECOND", "THIRD"];

/// Lets a session say something and run `git` with `steps` in one call.
fn runs(session: &Session<'_>, word: &str, steps: &[&[&str]]) {
    session.prompt(word);
    session.calls(word, "Bash", &json!({ "command": "git reset --soft HEAD~2 && git commit" }));
    let process = session.stays();
    for step in steps {
        let mut git = session.scratch.command("git", &session.dir);
        Ran::of(git.env("CLAUDE_CODE_SESSION_ID", &session.id).args(*step).output().unwrap()).ok();
    }
    session.answers(word, "it is done");
    session.hook_for("PostToolUse", word);
    drop(process);
    session.hook("Stop");
}

/// Returns a repository in which a session has made two commits, of `FIRST.txt` and `SECOND.txt`.
fn two_commits() -> Scratch {
    let scratch = Scratch::set_up();
    scratch.commit("base.txt", "x", "base");
    let session = scratch.session("s1");
    speaks_and_commits(&session, "FIRST");
    speaks_and_commits(&session, "SECOND");
    scratch
}

#[test]
fn a_session_that_squashes_its_commits_by_hand_takes_their_conversations_along() {
    let ways: [&[&[&str]]; 4] = [
        &[&["reset", "-q", "--soft", "HEAD~2"], &["commit", "-m", "squashed"]],
        &[&["reset", "-q", "--soft", "HEAD~1"], &["commit", "--amend", "-m", "squashed"]],
        &[&["reset", "-q", "HEAD~1"], &["reset", "-q", "HEAD~1"], &["add", "."], &["commit", "-m", "squashed"]],
        &[&["reset", "-q", "--soft", "HEAD~2"], &["switch", "-q", "-c", "other"], &["commit", "-m", "squashed"]],
    ];
    for (number, steps) in ways.into_iter().enumerate() {
        let scratch = two_commits();
        runs(&scratch.session("s1"), "THIRD", steps);
        assert_eq!(said(&scratch, "HEAD", &WORDS), WORDS, "way {number}: {}", scratch.log());
        assert_eq!(scratch.records("HEAD")[0]["turns"], 3, "way {number}");
    }
}

#[test]
fn a_squash_by_hand_takes_conversations_along_where_no_hook_sees_the_tool_call() {
    let scratch = two_commits();
    scratch.session("s1").hook("SessionEnd");
    let other = scratch.session("s2");
    other.prompt("THIRD");
    scratch.git(["reset", "-q", "--soft", "HEAD~2"]).ok();
    other.edits("THIRD.txt", "3");
    other.runs_commit(&["-m", "squashed"]);
    assert_eq!(said(&scratch, "HEAD", &WORDS), WORDS, "{}", scratch.log());
}

#[test]
fn a_commit_that_is_split_by_hand_gives_its_conversation_to_each_part() {
    let scratch = two_commits();
    let session = scratch.session("s1");
    let one_and_one: &[&[&str]] = &[
        &["reset", "-q", "HEAD~2"],
        &["add", "SECOND.txt"],
        &["commit", "-m", "second"],
        &["add", "FIRST.txt"],
        &["commit", "-m", "first"],
    ];
    runs(&session, "THIRD", one_and_one);
    assert_eq!(said(&scratch, "HEAD~1", &WORDS[..2]), ["SECOND"], "{}", scratch.log());
    assert_eq!(said(&scratch, "HEAD", &WORDS), ["FIRST", "THIRD"], "{}", scratch.log());
}

#[test]
fn what_a_reset_threw_away_is_not_taken_along() {
    let scratch = two_commits();
    let session = scratch.session("s1");
    scratch.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
    speaks_and_commits(&session, "THIRD");
    fs::write(scratch.top.join("SECOND.txt"), "written anew").unwrap();
    runs(&session, "FOURTH", &[&["add", "SECOND.txt"], &["commit", "-m", "anew"]]);
    for revision in ["HEAD~1", "HEAD"] {
        assert_eq!(said(&scratch, revision, &WORDS[..2]), [""; 0], "{revision}: {}", scratch.log());
    }
}

#[test]
fn a_person_who_splits_a_commit_of_an_agent_keeps_its_conversation_at_each_part() {
    let scratch = Scratch::set_up();
    scratch.commit("base.txt", "x", "base");
    let session = scratch.session("s1");
    session.prompt("FIRST");
    session.edits("f.txt", "f");
    session.edits("g.txt", "g");
    session.commits("both");
    session.hook("SessionEnd");
    scratch.git(["reset", "-q", "HEAD~1"]).ok();
    for path in ["f.txt", "g.txt"] {
        scratch.git(["add", path]).ok();
        scratch.git(["commit", "-q", "-m", path]).ok();
        assert_eq!(scratch.records("HEAD").len(), 1, "{path}: {}", scratch.log());
    }
}

#[test]
fn a_squash_of_a_branch_after_a_reset_has_each_record_once() {
    let scratch = Scratch::set_up();
    scratch.commit("base.txt", "x", "base");
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("s1");
    for word in WORDS {
        speaks_and_commits(&session, word);
    }
    session.hook("SessionEnd");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["cherry-pick", "topic~1"]).ok();
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "all of topic"]).ok();
    let records = scratch.records("HEAD");
    assert_eq!((records.len(), &records[0]["turns"]), (1, &json!(3)), "{}", scratch.log());
}

#[test]
fn each_part_of_a_split_commit_has_the_session_that_edited_it() {
    let scratch = Scratch::set_up();
    scratch.commit("base.txt", "x", "base");
    let (one, two) = (scratch.session("s1"), scratch.session("s2"));
    one.prompt("FIRST");
    one.edits("f.txt", "f");
    two.prompt("SECOND");
    two.edits("g.txt", "g");
    scratch.git(["add", "."]).ok();
    scratch.git(["commit", "-q", "-m", "both"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 2);
    scratch.git(["reset", "-q", "HEAD~1"]).ok();
    for (path, word) in [("f.txt", "FIRST"), ("g.txt", "SECOND")] {
        scratch.git(["add", path]).ok();
        scratch.git(["commit", "-q", "-m", path]).ok();
        assert_eq!(said(&scratch, "HEAD", &WORDS), [word], "{path}: {}", scratch.log());
    }
}

#[test]
fn a_squash_of_commits_with_left_edits_has_each_turn_once() {
    let scratch = Scratch::set_up();
    scratch.commit("base.txt", "x", "base");
    let (one, two) = (scratch.session("s1"), scratch.session("s2"));
    one.prompt("FIRST");
    one.edits("f.txt", "f");
    scratch.git(["add", "f.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "f"]).ok();
    two.prompt("OTHER");
    two.edits("g.txt", "g");
    one.prompt("SECOND");
    one.edits("g.txt", "gg");
    one.edits("n.txt", "n");
    scratch.git(["add", "g.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "g"]).ok();
    runs(&one, "THIRD", &[&["reset", "-q", "HEAD~2"], &["add", "."], &["commit", "-m", "squashed"]]);
    let records = scratch.records("HEAD");
    assert_eq!(records.len(), 2, "one of each session: {records:?}");
    let own = records.iter().find(|record| record["session"] == "s1").unwrap();
    assert_eq!(own["turns"], 3, "{records:?}");
}

/// What a person types behind "!" is below the agent's process, and no hook of a tool call follows.
#[test]
fn a_commit_made_anew_behind_the_agent_keeps_its_conversation_though_no_hook_follows() {
    let ways: [&[&[&str]]; 4] = [
        &[&["reset", "-q", "--soft", "HEAD~2"], &["commit", "-m", "in one"]],
        &[&["reset", "-q", "HEAD~2"], &["add", "."], &["commit", "-m", "in one"]],
        &[&["reset", "-q", "--soft", "HEAD~2"], &["commit", "-m", "in one"], &["commit", "--amend", "-m", "reworded"]],
        &[&["reset", "-q", "--soft", "HEAD~1"], &["commit", "-m", "better"]],
    ];
    for (number, steps) in ways.into_iter().enumerate() {
        let scratch = two_commits();
        let session = scratch.session("s1");
        session.says("Both are done.");
        session.hook("Stop");
        let process = session.stays();
        for step in steps {
            let mut git = scratch.command("git", &scratch.top);
            Ran::of(git.env("CLAUDE_CODE_SESSION_ID", "s1").args(*step).output().unwrap()).ok();
        }
        drop(process);
        scratch.shiftlog("log", [""; 0]).ok();
        let expected = if number == 3 { &WORDS[1..2] } else { &WORDS[..2] };
        assert_eq!(said(&scratch, "HEAD", &WORDS), expected, "way {number}: {}", scratch.log());
    }
}

#[test]
fn a_commit_made_anew_in_a_linked_worktree_keeps_its_conversation_when_another_one_stores_it() {
    let scratch = Scratch::set_up();
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]).ok();
    let session = scratch.session_in("s1", &linked);
    speaks_and_commits(&session, "FIRST");
    session.says("It is done.");
    session.hook("Stop");
    let process = session.stays();
    for step in [&["reset", "-q", "--soft", "HEAD~1"][..], &["commit", "-m", "better"]] {
        let mut git = scratch.command("git", &linked);
        Ran::of(git.env("CLAUDE_CODE_SESSION_ID", "s1").args(step).output().unwrap()).ok();
    }
    drop(process);
    scratch.shiftlog("log", ["topic"]).ok();
    assert_eq!(said(&scratch, "topic", &WORDS), WORDS[..1], "{}", scratch.log());
}

/// With another change in it: only `-C` tells that it is the same commit.
#[test]
fn a_commit_made_with_the_message_of_one_that_was_taken_back_keeps_its_conversation() {
    for reuses in [true, false] {
        let scratch = two_commits();
        let session = scratch.session("s2");
        session.hook("SessionEnd");
        scratch.git(["reset", "-q", "HEAD~1"]).ok();
        fs::write(scratch.top.join("SECOND.txt"), "written otherwise\n").unwrap();
        scratch.git(["add", "."]).ok();
        let message = if reuses { ["-C", "ORIG_HEAD"] } else { ["-m", "another"] };
        let mut git = scratch.command("git", &scratch.top);
        git.env("GIT_COMMITTER_DATE", "2090-01-01T00:00:00Z").args(["commit", "-q"]).args(message);
        Ran::of(git.output().unwrap()).ok();
        let expected = if reuses { &WORDS[1..2] } else { &[] };
        assert_eq!(said(&scratch, "HEAD", &WORDS), expected, "{reuses}: {}", scratch.log());
    }
}

/// A script that always uses the same message, within one second.
#[test]
fn the_same_author_time_and_message_by_chance_bring_no_conversation() {
    let scratch = two_commits();
    let date = scratch.git(["log", "-1", "--format=%aI"]).ok();
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    for (path, committed) in [("SECOND.txt", date.trim()), ("other.txt", "2090-01-01T00:00:00Z")] {
        fs::write(scratch.top.join(path), "written otherwise\n").unwrap();
        scratch.git(["add", "."]).ok();
        let mut git = scratch.command("git", &scratch.top);
        git.envs([("GIT_AUTHOR_DATE", date.trim()), ("GIT_COMMITTER_DATE", committed)]);
        Ran::of(git.args(["commit", "-q", "-m", "SECOND"]).output().unwrap()).ok();
        assert_eq!(said(&scratch, "HEAD", &WORDS), [""; 0], "{path}: {}", scratch.log());
    }
}
