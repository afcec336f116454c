//! A commit that makes a part of the changes of another one, and what only looks like one.

use super::*;
use crate::support::Ran;

/// Makes a commit of two files in a session, on the branch `topic`, and goes back to `main`.
fn two_files_on_a_branch(scratch: &Scratch) {
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("s1");
    session.prompt("both");
    session.edits("a", "a\n");
    session.edits("b", "b\n");
    session.commits("both");
    session.hook("SessionEnd");
    scratch.git(["switch", "-q", "main"]).ok();
}

#[test]
fn a_part_of_a_pick_without_a_commit_has_the_conversation() {
    let scratch = Scratch::set_up();
    two_files_on_a_branch(&scratch);
    scratch.git(["cherry-pick", "-n", "topic"]).ok();
    scratch.git(["rm", "-q", "-f", "b"]).ok();
    scratch.git(["commit", "-q", "-m", "a alone"]).ok();
    scratch.shiftlog("show", ["HEAD"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["s1"]);
}

#[test]
fn a_change_that_is_not_of_the_pick_alone_is_no_part_of_it() {
    for (path, text) in [("c", "c\n"), ("a", "a\nmore\n")] {
        let scratch = Scratch::set_up();
        two_files_on_a_branch(&scratch);
        scratch.git(["checkout", "-q", "topic", "--", "a"]).ok();
        fs::write(scratch.top.join(path), text).unwrap();
        scratch.git(["add", path]).ok();
        scratch.git(["commit", "-q", "-m", "a and another"]).ok();
        scratch.shiftlog("show", ["HEAD"]);
        assert_eq!(sessions(&scratch, "HEAD"), NOBODY, "{path}");
    }
}

/// Makes a commit of some files of `topic`, with more options, on a branch of its own.
fn takes(scratch: &Scratch, files: &[&str], options: &[&str]) {
    scratch.git(["switch", "-q", "-c", "taken", "main"]).ok();
    scratch.git([&["checkout", "-q", "topic", "--"], files].concat()).ok();
    scratch.git([&["commit", "-q", "-m", "taken"], options].concat()).ok();
}

#[test]
fn what_two_people_do_by_chance_is_no_part() {
    let is_part = |text: &str, options: &[&str], date: &str| {
        let mut scratch = Scratch::set_up();
        scratch.git(["switch", "-q", "-c", "topic"]).ok();
        let session = scratch.session("s1");
        session.prompt("both");
        session.edits("a", text);
        session.edits("b", "b\n");
        session.commits("both");
        session.hook("SessionEnd");
        scratch.env.insert("GIT_COMMITTER_DATE".into(), date.into());
        takes(&scratch, &["a"], &[&["--date", date], options].concat());
        scratch.shiftlog("show", ["HEAD"]);
        !sessions(&scratch, "HEAD").is_empty()
    };
    let later = "2027-02-03T04:05:06Z";
    assert!(is_part("a\n", &[], later));
    assert!(!is_part("", &[], later), "an empty file");
    assert!(!is_part("a\n", &["--author=Another <another@example.com>"], later), "of another author");
    assert!(!is_part("a\n", &[], "2000-02-03T04:05:06Z"), "made before it");
}

#[test]
fn a_part_of_what_was_picked_and_reverted_is_new_work() {
    let scratch = Scratch::set_up();
    two_files_on_a_branch(&scratch);
    scratch.git(["cherry-pick", "topic"]).ok();
    scratch.git(["revert", "--no-edit", "HEAD"]).ok();
    fs::write(scratch.top.join("a"), "a\n").unwrap();
    scratch.git(["add", "a"]).ok();
    scratch.git(["commit", "-q", "-m", "again", "--date=2027-02-03T04:05:06Z"]).ok();
    scratch.shiftlog("show", ["HEAD"]);
    assert_eq!(sessions(&scratch, "HEAD"), NOBODY);
}

#[test]
fn each_part_of_a_commit_that_was_divided_by_hand_has_the_conversation() {
    let scratch = Scratch::set_up();
    two_files_on_a_branch(&scratch);
    scratch.git(["switch", "-q", "topic"]).ok();
    scratch.git(["reset", "-q", "HEAD~"]).ok();
    for file in ["a", "b"] {
        scratch.git(["add", file]).ok();
        scratch.git(["commit", "-q", "-m", file]).ok();
    }
    scratch.shiftlog("show", ["HEAD~"]).ok();
    assert_eq!(sessions(&scratch, "HEAD~"), ["s1"]);
    scratch.shiftlog("show", ["HEAD"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["s1"]);
    // Reverted and made again by hand it is new work.
    scratch.git(["revert", "--no-edit", "HEAD"]).ok();
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "topic"]).ok();
    fs::write(scratch.top.join("b"), "b\n").unwrap();
    scratch.git(["add", "b"]).ok();
    scratch.git(["commit", "-q", "-m", "again", "--date=2026-02-03T04:05:06Z"]).ok();
    scratch.shiftlog("show", ["HEAD"]);
    assert_eq!(sessions(&scratch, "HEAD"), NOBODY);
}

/// What a person types behind "!" is below the agent's process, and its commit gets the words of the answer before it.
#[test]
fn a_change_that_is_picked_behind_the_agent_has_its_conversation_beside_the_last_answer() {
    let ways: [&[&[&str]]; 4] = [
        &[&["cherry-pick", "-n", "topic"]],
        &[&["checkout", "topic", "--", "a", "b"]],
        &[&["checkout", "topic", "--", "a"]],
        &[&["restore", "--source=topic", "--staged", "--worktree", "b"]],
    ];
    for (way, steps) in ways.into_iter().enumerate() {
        for reads in ["show", "log"] {
            let scratch = Scratch::set_up();
            two_files_on_a_branch(&scratch);
            let session = scratch.session("s2");
            session.prompt("what is on topic?");
            session.says("Two files are.");
            session.edits("c", "c\n");
            session.commits("c");
            session.says("They are a and b.");
            session.hook("Stop");
            let process = session.stays();
            let commit = [&["commit", "-q", "-m", "picked"][..]];
            for step in steps.iter().copied().chain(commit) {
                let mut git = scratch.command("git", &scratch.top);
                // A copy of the same second may be the source.
                git.envs([("CLAUDE_CODE_SESSION_ID", "s2"), ("GIT_COMMITTER_DATE", "2090-01-01T00:00:00Z")]);
                Ran::of(git.args(step).output().unwrap()).ok();
            }
            drop(process);
            scratch.shiftlog(reads, [""; 0]).ok();
            assert_eq!(sessions(&scratch, "HEAD"), ["s1", "s2"], "way {way}, {reads}: {}", scratch.log());
            assert_eq!(sessions(&scratch, "HEAD~1"), ["s2"], "way {way}, {reads}");
            assert_eq!(sessions(&scratch, "topic"), ["s1"], "way {way}, {reads}");
        }
    }
}

/// The same change elsewhere is no source of what an agent has done, though a second commit has no prompt of its own.
#[test]
fn a_change_that_an_agent_made_gets_no_other_conversation_though_another_commit_makes_it() {
    let scratch = Scratch::set_up();
    two_files_on_a_branch(&scratch);
    let session = scratch.session("s2");
    session.prompt("write c, then a and b, each in a commit");
    for (call, paths) in [("c1", &["c"][..]), ("c2", &["a", "b"])] {
        session.calls(call, "Bash", &json!({ "command": format!("make {paths:?}; git add . && git commit -m again") }));
        for path in paths {
            fs::write(scratch.top.join(path), format!("{path}\n")).unwrap();
        }
        scratch.git(["add", "."]).ok();
        let process = session.stays();
        let mut git = scratch.command("git", &scratch.top);
        git.envs([("CLAUDE_CODE_SESSION_ID", "s2"), ("GIT_COMMITTER_DATE", "2090-01-01T00:00:00Z")]);
        Ran::of(git.args(["commit", "-q", "-m", "again"]).output().unwrap()).ok();
        session.answers(call, "done");
        session.hook_for("PostToolUse", call);
        drop(process);
    }
    session.hook("Stop");
    assert_eq!(scratch.record("HEAD")["turns"], 0, "{:?}", scratch.records("HEAD"));
    for reads in ["show", "log"] {
        scratch.shiftlog(reads, [""; 0]).ok();
        assert_eq!(sessions(&scratch, "HEAD"), ["s2"], "{reads}");
    }
}
