//! Conversations follow their change at once where Git says which commits a new one was made of, and nowhere else.

mod merges;
mod parts;

use std::fs;

use serde_json::json;

use crate::support::{Scratch, kept_in};

/// Returns the sessions that are recorded on a revision, sorted.
pub fn sessions(scratch: &Scratch, revision: &str) -> Vec<String> {
    let records = scratch.records(revision);
    let mut ids: Vec<String> = records.iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

pub const NOBODY: [&str; 0] = [];

/// Lets a session that ends then write a file and commit it.
pub fn talked_about(scratch: &Scratch, id: &str, path: &str, text: &str) -> String {
    let session = scratch.session(id);
    session.prompt(&format!("write {path}"));
    session.edits(path, text);
    let commit = session.commits(&format!("{id} on {path}"));
    session.hook("SessionEnd");
    commit
}

/// On `topic` four commits with conversations, of which the first and the third change what `main` changes too.
fn diverged(scratch: &Scratch) {
    scratch.commit("shared", "start\n", "shared");
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    talked_about(scratch, "first", "shared", "first\n");
    talked_about(scratch, "second", "own", "second\n");
    talked_about(scratch, "third", "shared", "third\n");
    talked_about(scratch, "fourth", "other", "fourth\n");
    scratch.git(["switch", "-q", "main"]).ok();
    talked_about(scratch, "upstream", "shared", "upstream\n");
}

#[test]
fn a_commit_that_a_rebase_skips_gives_its_conversation_to_no_other() {
    for mode in ["concatenate", "overwrite", "cat_sort_uniq", "ignore"] {
        for copies in [true, false] {
            let scratch = Scratch::set_up();
            diverged(&scratch);
            scratch.git(["config", "notes.rewriteMode", mode]).ok();
            if copies {
                scratch.git(["config", "notes.rewriteRef", "refs/notes/*"]).ok();
            }
            scratch.git(["switch", "-q", "topic"]).ok();
            let upstream = scratch.records("main");
            assert_eq!(scratch.git(["rebase", "-q", "main"]).code, 1, "there is a conflict");
            assert_eq!(scratch.git(["rebase", "--skip"]).code, 1, "and another");
            scratch.git(["rebase", "--skip"]).ok();
            assert_eq!(scratch.records("main"), upstream, "{mode} {copies}: the upstream's commit was there before");
            assert_eq!(sessions(&scratch, "topic~1"), ["second"], "{mode} {copies}: the third was left out");
            assert_eq!(sessions(&scratch, "topic"), ["fourth"]);
            scratch.assert_sound();
        }
    }
}

#[test]
fn a_commit_without_a_conversation_stays_so_when_another_is_skipped_onto_it() {
    let scratch = Scratch::set_up();
    scratch.commit("shared", "start\n", "shared");
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    talked_about(&scratch, "first", "shared", "first\n");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("shared", "upstream\n", "nobody talked about it");
    scratch.git(["rebase", "-q", "main", "topic"]);
    scratch.git(["rebase", "--skip"]).ok();
    assert_eq!(sessions(&scratch, "main"), NOBODY);
    assert_eq!(scratch.id("topic"), scratch.id("main"));
}

#[test]
fn a_commit_whose_change_is_there_already_gives_its_conversation_to_no_neighbour() {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    talked_about(&scratch, "first", "a", "a\n");
    talked_about(&scratch, "second", "b", "b\n");
    talked_about(&scratch, "third", "c", "c\n");
    scratch.git(["switch", "-q", "main"]).ok();
    // By other steps, so that no patch id says that it is the same.
    scratch.commit("b", "x\n", "half of it");
    scratch.commit("b", "b\n", "the other half");
    scratch.git(["rebase", "-q", "main", "topic"]).ok();
    assert_eq!(scratch.git(["log", "--format=%s", "main..topic"]).ok(), "third on c\nfirst on a\n");
    assert_eq!(sessions(&scratch, "topic~1"), ["first"]);
    assert_eq!(sessions(&scratch, "topic"), ["third"]);
}

/// Runs an interactive rebase whose list a `sed` script edits.
fn rebase_with(scratch: &Scratch, script: &str, onto: &str) -> crate::support::Ran {
    let editor = format!("GIT_EDITOR=: GIT_SEQUENCE_EDITOR=\"sed -i -e '{script}'\"");
    scratch.run_in(&scratch.top, "sh", ["-c", &format!("{editor} git rebase -q -i {onto}")])
}

#[test]
fn what_is_melded_keeps_all_conversations_beside_one_that_is_skipped() {
    for abbreviates in ["true", "false"] {
        let scratch = Scratch::set_up();
        diverged(&scratch);
        scratch.git(["config", "rebase.abbreviateCommands", abbreviates]).ok();
        scratch.git(["switch", "-q", "topic"]).ok();
        let script = "s/^[a-z]* \\(.*fourth on other\\)$/PLACE \\1/;/third/{h;d};/PLACE/{s/PLACE/fixup/;G}";
        assert_eq!(rebase_with(&scratch, script, "main").code, 1, "the first has a conflict");
        assert_eq!(scratch.git(["rebase", "--skip"]).code, 1, "and the third");
        scratch.git(["rebase", "--skip"]).ok();
        assert_eq!(scratch.git(["log", "--format=%s", "main..topic"]).ok(), "second on own\n");
        assert_eq!(sessions(&scratch, "topic"), ["fourth", "second"], "abbreviated: {abbreviates}");
        assert_eq!(sessions(&scratch, "main"), ["upstream"]);
    }
}

#[test]
fn an_amended_commit_gets_what_a_lock_kept_from_the_one_before() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "2"]).ok();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let first = session.runs_commit(&["-m", "first"]);
    scratch.git(["commit", "-q", "--amend", "-m", "reworded"]).ok();
    let second = scratch.id("HEAD");
    scratch.git(["commit", "-q", "--amend", "-m", "reworded again"]).ok();
    let expected = session.text();
    session.prompt("something else");
    fs::remove_file(&lock).unwrap();
    assert_eq!(scratch.raw("HEAD", &[]), expected, "log: {}", scratch.log());
    for commit in [first, second] {
        assert_eq!(sessions(&scratch, &commit), ["s1"]);
    }
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn a_rebase_under_a_lock_is_made_up_for_by_the_next_command() {
    let scratch = Scratch::set_up();
    diverged(&scratch);
    scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
    scratch.git(["switch", "-q", "topic"]).ok();
    assert_eq!(scratch.git(["rebase", "-q", "main"]).code, 1);
    assert_eq!(scratch.git(["rebase", "--skip"]).code, 1);
    let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
    fs::write(&lock, "").unwrap();
    let ran = scratch.git(["rebase", "--skip"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("the rewritten commits are kept in '"), "{ran:?}");
    let kept = kept_in(&ran.stderr);
    assert!(kept.exists(), "{ran:?}");
    assert_eq!(sessions(&scratch, "topic"), NOBODY);
    fs::remove_file(&lock).unwrap();
    scratch.shiftlog("log", ["-n1"]).ok();
    assert_eq!(sessions(&scratch, "topic"), ["fourth"]);
    assert_eq!(sessions(&scratch, "topic~1"), ["second"]);
    assert_eq!(sessions(&scratch, "main"), ["upstream"]);
    assert!(!kept.exists());
}

/// On `topic` three commits, of which the first and the last were talked about; `main` has moved on.
pub fn branched(scratch: &Scratch) {
    scratch.commit("shared", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "shared");
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    talked_about(scratch, "first", "shared", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    scratch.commit("silent", "x\n", "nobody talked about it");
    talked_about(scratch, "last", "own", "own\n");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("shared", "one\n2\n3\n4\n5\n6\n7\n8\n9\n", "main moves on");
}

#[test]
fn a_pick_has_its_conversation_at_once_and_nobody_elses() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    let bystander = scratch.session("bystander");
    bystander.prompt("I only watch");
    scratch.git(["cherry-pick", "topic~2", "topic~1", "topic"]).ok();
    assert_eq!(sessions(&scratch, "HEAD~2"), ["first"]);
    assert_eq!(sessions(&scratch, "HEAD~1"), NOBODY);
    assert_eq!(scratch.records("HEAD"), scratch.records("topic"), "the very record");
    assert_eq!(scratch.shiftlog("remap", [""; 0]).ok(), "", "nothing is left to do");
    scratch.git(["-c", "core.logAllRefUpdates=false", "switch", "-q", "-c", "again", "main~3"]).ok();
    fs::remove_file(scratch.top.join(".git/logs/HEAD")).unwrap();
    scratch.git(["-c", "core.logAllRefUpdates=false", "cherry-pick", "topic"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["last"], "without a reflog too");
    scratch.assert_sound();
}

#[test]
fn a_pick_needs_no_live_session_to_carry() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    scratch.lose_state();
    scratch.git(["cherry-pick", "topic"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["last"]);
}

/// Picks a commit whose change is in conflict with `main`, and ends the pick as `end` says.
fn pick_with_conflict(scratch: &Scratch, pick: &[&str], end: &[&str]) {
    scratch.commit("shared", "1\n2\n3\n4\n5\n6\n7\n8\nIX\n", "a conflict");
    assert_eq!(scratch.git([&["cherry-pick"], pick].concat()).code, 1, "there is a conflict");
    scratch.write("shared", "one\n2\n3\n4\n5\n6\n7\n8\nnine (IX)\n");
    scratch.git(["add", "shared"]).ok();
    scratch.git(end).ok();
}

#[test]
fn a_pick_that_needed_work_has_its_conversation_at_once() {
    let ways: [(&[&str], &[&str]); 3] = [
        (&["topic~2"], &["cherry-pick", "--continue"]),
        (&["topic~2"], &["commit", "-q", "-m", "in other words"]),
        (&["-x", "topic~2"], &["commit", "-q", "--no-edit"]),
    ];
    for (pick, end) in ways {
        let scratch = Scratch::set_up();
        branched(&scratch);
        // Each commit of the harness has the same author and time; real ones differ.
        scratch.git(["switch", "-q", "topic"]).ok();
        let dates = "GIT_AUTHOR_DATE=\"2026-01-05T00:00:$(printf %02d $(git rev-list --count $GIT_COMMIT))Z\"; export GIT_AUTHOR_DATE";
        let filter =
            ["-c", &format!("git -c core.hooksPath=/dev/null filter-branch -f --env-filter '{dates}' main~1..topic")];
        scratch.run_in(&scratch.top, "sh", filter).ok();
        scratch.shiftlog("remap", ["-q"]).ok();
        scratch.git(["switch", "-q", "main"]).ok();
        assert_eq!(sessions(&scratch, "topic~2"), ["first"], "the history is made");
        pick_with_conflict(&scratch, pick, end);
        assert_eq!(sessions(&scratch, "HEAD"), ["first"], "{pick:?} {end:?}: {}", scratch.log());
    }
}

#[test]
fn a_pick_that_may_be_of_several_commits_gets_none() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    // The harness gives all commits the same author and time, and these two the same subject.
    scratch.git(["switch", "-q", "topic"]).ok();
    talked_about(&scratch, "first", "shared", "1\n2\n3\n4\n5\n6\n7\n8\nnine!\n");
    scratch.git(["switch", "-q", "main"]).ok();
    pick_with_conflict(&scratch, &["topic~3"], &["cherry-pick", "--continue"]);
    assert_eq!(sessions(&scratch, "HEAD"), NOBODY, "no guess");
}

/// A commit that the branch had got before gave its conversation a second time, and a purge of the squash removed it there.
#[test]
fn a_pick_under_a_lock_is_made_up_for_by_the_next_command() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
    let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
    fs::write(&lock, "").unwrap();
    let ran = scratch.git(["cherry-pick", "topic"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("the rewritten commits are kept in '"), "{ran:?}");
    fs::remove_file(&lock).unwrap();
    assert!(scratch.shiftlog("show", ["HEAD"]).ok().contains("write own"));
    assert_eq!(sessions(&scratch, "HEAD"), ["last"]);
}

#[test]
fn each_part_of_a_commit_that_a_rebase_split_keeps_the_conversation() {
    let scratch = Scratch::set_up();
    talked_about(&scratch, "before", "z", "z\n");
    let session = scratch.session("s1");
    session.prompt("both");
    session.edits("a", "a\n");
    session.edits("b", "b\n");
    session.commits("both");
    session.hook("SessionEnd");
    talked_about(&scratch, "after", "c", "c\n");
    rebase_with(&scratch, "s/^pick \\(.*both\\)$/edit \\1/", "HEAD~3").ok();
    scratch.git(["reset", "-q", "HEAD~1"]).ok();
    for path in ["a", "unrelated", "b"] {
        scratch.commit(path, &format!("{path}\n"), &format!("{path} alone"));
    }
    scratch.git(["rebase", "--continue"]).ok();
    let subjects = scratch.git(["log", "--format=%s", "-5"]).ok();
    assert_eq!(subjects, "after on c\nb alone\nunrelated alone\na alone\nbefore on z\n");
    let expected: [&[&str]; 5] = [&["after"], &["s1"], &[], &["s1"], &["before"]];
    for (number, expected) in expected.iter().enumerate() {
        assert_eq!(sessions(&scratch, &format!("HEAD~{number}")), *expected, "HEAD~{number}");
    }
}

#[test]
fn a_new_commit_at_a_stop_of_a_rebase_gets_nothing_of_the_commit_that_is_edited() {
    // Git takes the edited commit over as it is, or copies it.
    for (is_copied, by_agent) in [(false, false), (false, true), (true, false), (true, true)] {
        let told = format!("copied: {is_copied}, by an agent: {by_agent}");
        let scratch = Scratch::set_up();
        talked_about(&scratch, "before", "z", "z\n");
        talked_about(&scratch, "edited", "a", "a\n");
        talked_about(&scratch, "after", "c", "c\n");
        let copy = if is_copied { "1s/^pick/reword/;" } else { "" };
        let editor = "GIT_EDITOR='sh -c \"echo reworded >\\$0\"'";
        let todo = format!("GIT_SEQUENCE_EDITOR=\"sed -i -e '{copy}2s/^pick/edit/'\"");
        scratch.run_in(&scratch.top, "sh", ["-c", &format!("{editor} {todo} git rebase -q -i HEAD~3")]).ok();
        if by_agent {
            let session = scratch.session("newcomer");
            session.prompt("a file more");
            session.edits("new", "new\n");
            session.calls("c1", "Bash", &json!({ "command": "git commit -m new; git rebase --continue" }));
            session.runs_commit(&["-m", "new"]);
            scratch.git(["rebase", "--continue"]).ok();
            session.answers("c1", "done");
            session.hook_for("PostToolUse", "c1");
        } else {
            scratch.commit("new", "new\n", "new");
            scratch.git(["rebase", "--continue"]).ok();
        }
        assert_eq!(scratch.git(["log", "--format=%s", "-3"]).ok(), "after on c\nnew\nedited on a\n", "{told}");
        let newcomer: &[&str] = if by_agent { &["newcomer"] } else { &[] };
        let expected: [&[&str]; 4] = [&["after"], newcomer, &["edited"], &["before"]];
        for (number, expected) in expected.iter().enumerate() {
            let revision = format!("HEAD~{number}");
            assert_eq!(sessions(&scratch, &revision), *expected, "{told}: {revision}: {}", scratch.log());
        }
    }
}

#[test]
fn a_commit_that_is_amended_at_a_stop_of_a_rebase_keeps_its_conversation_whatever_it_changes_then() {
    for is_copied in [false, true] {
        let scratch = Scratch::set_up();
        talked_about(&scratch, "before", "z", "z\n");
        talked_about(&scratch, "edited", "a", "a\n");
        let copy = if is_copied { "1{h;d};2{s/^pick/edit/;G}" } else { "2s/^pick/edit/" };
        rebase_with(&scratch, copy, "HEAD~2").ok();
        scratch.write("more", "more\n");
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "--amend", "--no-edit"]).ok();
        scratch.git(["rebase", "--continue"]).ok();
        let edited = scratch.git(["log", "--format=%H", "-1", "--", "more"]).ok();
        assert_eq!(sessions(&scratch, edited.trim()), ["edited"], "copied: {is_copied}: {}", scratch.log());
    }
}

#[test]
fn a_commit_amended_under_a_lock_keeps_its_conversation_even_if_the_lock_stops_git() {
    for (is_ended, copies) in [(true, false), (true, true), (false, false), (false, true)] {
        let scratch = Scratch::set_up();
        if copies {
            // Git copies notes before it runs its hook for rewritten commits, and ends there.
            scratch.git(["config", "notes.rewriteRef", "refs/notes/*"]).ok();
        }
        let session = scratch.session("s1");
        session.prompt("first");
        session.edits("a.txt", "a\n");
        session.commits("first");
        let first = session.text();
        if is_ended {
            session.hook("SessionEnd");
        } else {
            session.prompt("second");
            session.edits("a.txt", "aa\n");
        }
        let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
        fs::write(&lock, "").unwrap();
        for (text, has_note) in [("b\n", true), ("c\n", false)] {
            scratch.write("a.txt", text);
            let ran = scratch.git(["commit", "-q", "-a", "--amend", "-m", text]);
            let code = if copies && has_note { 128 } else { 0 };
            assert_eq!(ran.code, code, "ended: {is_ended}, copies: {copies}: {ran:?}");
            assert!(ran.stderr.contains("the rewritten commits are kept in '"), "{ran:?}");
        }
        assert_eq!(scratch.git(["log", "-1", "--format=%s"]).ok(), "c\n", "the commit is made all the same");
        fs::remove_file(&lock).unwrap();
        let expected = if is_ended { first } else { session.text() };
        let told = format!("ended: {is_ended}, copies: {copies}: {}", scratch.log());
        assert_eq!(scratch.raw("HEAD", &["--full"]), expected, "{told}");
        assert!(sessions(&scratch, "HEAD").iter().all(|id| id == "s1"), "{:?}", scratch.records("HEAD"));
        assert_eq!(scratch.raw("HEAD", &[]), expected, "each word once: {:?}", scratch.records("HEAD"));
        assert_eq!(scratch.waiting(), 0);
    }
}

#[test]
fn a_rebase_that_melds_commits_under_a_lock_ends_well_and_loses_no_conversation() {
    let scratch = Scratch::set_up();
    talked_about(&scratch, "first", "a", "a\n");
    talked_about(&scratch, "second", "b", "b\n");
    talked_about(&scratch, "third", "c", "c\n");
    let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
    fs::write(&lock, "").unwrap();
    let ran = rebase_with(
        &scratch,
        "s/^pick \\(.*second on b\\)$/fixup \\1/;s/^pick \\(.*third on c\\)$/reword \\1/",
        "HEAD~3",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("the rewritten commits are kept in '"), "{ran:?}");
    assert_eq!(scratch.git(["log", "--format=%s", "-2"]).ok(), "third on c\nfirst on a\n");
    fs::remove_file(&lock).unwrap();
    scratch.shiftlog("log", ["-n1"]).ok();
    assert_eq!(sessions(&scratch, "HEAD~1"), ["first", "second"], "{}", scratch.log());
    assert_eq!(sessions(&scratch, "HEAD"), ["third"]);
    assert_eq!(scratch.waiting(), 0);
}
