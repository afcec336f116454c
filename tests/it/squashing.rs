//! The commit that `git merge --squash` leads to has the conversations of the commits in it, and of no others.

use crate::carrying::{NOBODY, branched, sessions};
use crate::support::Scratch;

#[test]
fn a_squash_has_all_conversations_of_its_commits_at_once() {
    for message in [&["--no-edit"][..], &["-m", "all of topic"]] {
        for is_behind in [false, true] {
            let scratch = Scratch::set_up();
            branched(&scratch);
            if is_behind {
                scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
            }
            let bystander = scratch.session("bystander");
            bystander.prompt("I only watch");
            scratch.git(["merge", "-q", "--squash", "topic"]).ok();
            scratch.git([&["commit", "-q"], message].concat()).ok();
            assert_eq!(sessions(&scratch, "HEAD"), ["first", "last"], "{message:?}, behind: {is_behind}");
            assert_eq!(scratch.raw("HEAD", &["--session=last"]), scratch.raw("topic", &[]));
            scratch.commit("later", "x\n", "something else");
            assert_eq!(sessions(&scratch, "HEAD"), ["bystander"], "a squash is over once it is committed");
        }
    }
}

#[test]
fn a_squash_has_no_conversation_of_a_commit_that_was_picked_before() {
    for is_reverted in [false, true] {
        let scratch = Scratch::set_up();
        branched(&scratch);
        scratch.git(["cherry-pick", "topic~2"]).ok();
        assert_eq!(sessions(&scratch, "HEAD"), ["first"]);
        if is_reverted {
            scratch.git(["revert", "--no-edit", "HEAD"]).ok();
        }
        scratch.git(["merge", "-q", "--squash", "topic"]).ok();
        scratch.git(["commit", "-q", "-m", "the rest of topic"]).ok();
        // What was taken back comes again with the squash.
        let expected: &[&str] = if is_reverted { &["first", "last"] } else { &["last"] };
        assert_eq!(sessions(&scratch, "HEAD"), expected, "reverted: {is_reverted}");
        scratch.shiftlog("log", ["-1"]).ok();
        assert_eq!(sessions(&scratch, "HEAD"), expected, "reverted: {is_reverted}, after remap");
    }
}

#[test]
fn a_squash_with_a_conflict_has_its_conversations_at_once() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    scratch.commit("shared", "1\n2\n3\n4\n5\n6\n7\n8\nIX\n", "a conflict");
    assert_eq!(scratch.git(["merge", "-q", "--squash", "topic~2"]).code, 1, "there is a conflict");
    scratch.write("shared", "one\n2\n3\n4\n5\n6\n7\n8\nnine (IX)\n");
    scratch.git(["commit", "-q", "-a", "-m", "one of topic"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["first"]);
}

#[test]
fn a_squash_in_two_commits_gives_each_its_part() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["reset", "-q", "--", "own"]).ok();
    scratch.git(["commit", "-q", "-m", "a part"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["first"]);
    scratch.git(["add", "own"]).ok();
    scratch.git(["commit", "-q", "-m", "the rest"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["last"]);
}

#[test]
fn a_squash_that_was_given_up_gives_nothing_to_the_next_commit() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["reset", "-q", "--hard"]).ok();
    scratch.write("shared", "mine\n");
    scratch.write("silent", "mine\n");
    scratch.write("own", "mine\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "the same files, other words"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), NOBODY);
    scratch.git(["merge", "-q", "--squash", "topic~2"]);
    scratch.git(["reset", "-q", "--hard"]).ok();
    scratch.commit("unrelated", "x\n", "other files");
    assert_eq!(sessions(&scratch, "HEAD"), NOBODY);
}

#[test]
fn a_squash_in_a_linked_worktree_is_its_own() {
    let scratch = Scratch::set_up();
    branched(&scratch);
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", "-b", "there", other.to_str().unwrap()]).ok();
    scratch.git_in(&other, ["merge", "-q", "--squash", "topic"]).ok();
    scratch.commit("unrelated", "x\n", "in the other worktree");
    assert_eq!(sessions(&scratch, "HEAD"), NOBODY);
    scratch.git_in(&other, ["commit", "-q", "-m", "squashed there"]).ok();
    assert_eq!(sessions(&scratch, "there"), ["first", "last"]);
}
