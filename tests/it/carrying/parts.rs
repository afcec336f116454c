//! A commit that makes a part of the changes of another one, and what only looks like one.

use super::*;

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
