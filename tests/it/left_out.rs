//! A commit that has only a part of a change, or nothing of it, gets no conversation about it.

use crate::carrying::{NOBODY, sessions, talked_about};
use crate::support::Scratch;

/// Returns a file of fifteen lines, of which the first and the last are far enough apart to be taken alone.
fn two_hunks(first: &str, last: &str) -> String {
    format!("{first}\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n{last}\n")
}

#[test]
fn hunks_of_a_pick_without_a_commit_are_not_the_pick() {
    for reuses_message in [false, true] {
        let scratch = Scratch::set_up();
        scratch.commit("f", &two_hunks("1", "15"), "the file");
        scratch.git(["switch", "-q", "-c", "topic"]).ok();
        talked_about(&scratch, "both", "f", &two_hunks("one", "fifteen"));
        scratch.git(["switch", "-q", "main"]).ok();
        scratch.commit("g", "x\n", "main moves on");
        scratch.git(["cherry-pick", "-n", "topic"]).ok();
        scratch.write("f", &two_hunks("one", "15"));
        scratch.git(["add", "f"]).ok();
        let message: &[&str] = if reuses_message { &["--no-edit"] } else { &["-m", "the first hunk"] };
        scratch.git([&["commit", "-q"], message].concat()).ok();
        assert_eq!(sessions(&scratch, "HEAD"), NOBODY, "reuses the message: {reuses_message}");
        scratch.commit("f", &two_hunks("one", "fifteen"), "the other hunk");
        scratch.shiftlog("remap", ["-q"]).ok();
        scratch.shiftlog("log", [""; 0]).ok();
        for revision in ["HEAD", "HEAD~1"] {
            assert_eq!(sessions(&scratch, revision), NOBODY, "{revision}, reuses the message: {reuses_message}");
        }
    }
}

/// On `topic` a commit with a conversation that says nothing new on `main`, behind one that does.
fn made_superfluous(scratch: &Scratch) {
    scratch.commit("b", "start\n", "start of b");
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    talked_about(scratch, "first", "a", "a\n");
    talked_about(scratch, "second", "b", "b\n");
    scratch.git(["switch", "-q", "main"]).ok();
    // By other steps, so that no patch id says that it is the same.
    scratch.commit("b", "x\n", "half of it");
    scratch.commit("b", "b\n", "the other half");
}

#[test]
fn a_commit_that_becomes_empty_when_it_is_carried_leaves_its_conversation_behind() {
    for mode in ["concatenate", "overwrite", "cat_sort_uniq", "ignore"] {
        let scratch = Scratch::set_up();
        made_superfluous(&scratch);
        scratch.git(["config", "notes.rewriteRef", "refs/notes/*"]).ok();
        scratch.git(["config", "notes.rewriteMode", mode]).ok();
        scratch.git(["rebase", "-q", "--empty=keep", "main", "topic"]).ok();
        assert_eq!(scratch.git(["log", "--format=%s", "main..topic"]).ok(), "second on b\nfirst on a\n");
        assert_eq!(scratch.git(["diff", "topic~1", "topic"]).ok(), "");
        assert_eq!(
            (sessions(&scratch, "topic~1"), sessions(&scratch, "topic")),
            (vec!["first".into()], vec![]),
            "{mode}"
        );
    }
    for pick in [&["--keep-redundant-commits"][..], &["--keep-redundant-commits", "-x"]] {
        let scratch = Scratch::set_up();
        made_superfluous(&scratch);
        scratch.git([&["cherry-pick"], pick, &["topic"]].concat()).ok();
        assert_eq!(scratch.git(["diff", "HEAD~1", "HEAD"]).ok(), "");
        scratch.shiftlog("remap", ["-q"]).ok();
        assert_eq!(sessions(&scratch, "HEAD"), NOBODY, "{pick:?}");
    }
    let scratch = Scratch::set_up();
    made_superfluous(&scratch);
    let filter = "git rm -q --cached --ignore-unmatch a";
    let filter =
        format!("FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter '{filter}' main~2..topic");
    scratch.run_in(&scratch.top, "sh", ["-c", &filter]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    assert_eq!(scratch.git(["diff", "topic~2", "topic~1"]).ok(), "");
    assert_eq!((sessions(&scratch, "topic~1"), sessions(&scratch, "topic")), (vec![], vec!["second".into()]));
}

#[test]
fn a_commit_that_was_empty_from_the_beginning_keeps_its_conversation() {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("s1");
    session.prompt("start the build again");
    session.runs_commit(&["--allow-empty", "-m", "build"]);
    session.hook("SessionEnd");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("g", "x\n", "main moves on");
    scratch.git(["rebase", "-q", "main", "topic"]).ok();
    assert_eq!(sessions(&scratch, "topic"), ["s1"]);
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["cherry-pick", "--allow-empty", "topic"]).ok();
    assert_eq!(sessions(&scratch, "main"), ["s1"]);
}
