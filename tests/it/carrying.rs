//! Conversations follow their change at once where Git says which commits a new one was made of, and nowhere else.

use std::fs;

use crate::support::Scratch;

/// Returns the sessions that are recorded on a revision, sorted.
pub fn sessions(scratch: &Scratch, revision: &str) -> Vec<String> {
    let records = scratch.records(revision);
    let mut ids: Vec<String> = records.iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

const NOBODY: [&str; 0] = [];

/// Lets a session that ends then write a file and commit it.
fn talked_about(scratch: &Scratch, id: &str, path: &str, text: &str) -> String {
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
            if !copies {
                scratch.git(["config", "--unset-all", "notes.rewriteRef"]).ok();
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
    let editor = format!("GIT_SEQUENCE_EDITOR=\"sed -i -e '{script}'\"");
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
    scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
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
    let left: Vec<_> = fs::read_dir(scratch.state().join("pending")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
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
    let kept = fs::read_dir(scratch.state().join("pending")).unwrap().flatten().next().unwrap().path();
    assert!(ran.stderr.contains(&format!("the rewritten commits are kept in '{}'", kept.display())), "{ran:?}");
    assert_eq!(sessions(&scratch, "topic"), NOBODY);
    fs::remove_file(&lock).unwrap();
    scratch.shiftlog("log", ["-n1"]).ok();
    assert_eq!(sessions(&scratch, "topic"), ["fourth"]);
    assert_eq!(sessions(&scratch, "topic~1"), ["second"]);
    assert_eq!(sessions(&scratch, "main"), ["upstream"]);
    assert!(!kept.exists());
}
