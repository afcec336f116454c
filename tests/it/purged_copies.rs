//! Copies of our history under other names keep purged words: a purge names them.

use crate::amended::speaks_and_commits;
use crate::support::Scratch;

#[test]
fn a_purge_names_what_still_has_the_words() {
    let notes = "refs/notes/shiftlog";
    let sessions = "refs/shiftlog/sessions";
    let ways: [(&[&str], &str); 7] = [
        (&["branch", "copy", notes], "'refs/heads/copy'"),
        (&["branch", "copy", sessions], "'refs/heads/copy'"),
        (&["tag", "copy", sessions], "'refs/tags/copy'"),
        (&["tag", "-a", "-m", "x", "copy", notes], "'refs/tags/copy'"),
        (&["update-ref", "refs/backup/copy", notes], "'refs/backup/copy'"),
        (&["tag", "copy", "refs/shiftlog/sessions^{tree}"], "'refs/tags/copy'"),
        (&["checkout", "-q", sessions], "'HEAD'"),
    ];
    for (way, name) in ways {
        let scratch = Scratch::set_up();
        scratch.commit("base.txt", "x", "base");
        speaks_and_commits(&scratch.session("s1"), "hunter2");
        scratch.git(way).ok();
        // The copy is older than our refs.
        speaks_and_commits(&scratch.session("s2"), "harmless");
        let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
        assert_eq!(ran.code, 1, "{way:?}: {ran:?}");
        assert!(ran.stderr.contains(&format!("error: {name} still has the removed words\n")), "{way:?}: {ran:?}");
    }
}

#[test]
fn once_a_copy_is_gone_the_next_purge_removes_what_was_left_and_says_so() {
    let scratch = Scratch::set_up();
    scratch.commit("base.txt", "x", "base");
    speaks_and_commits(&scratch.session("s1"), "hunter2");
    scratch.git(["branch", "copy", "refs/notes/shiftlog"]).ok();
    let note = scratch.git(["notes", "--ref=shiftlog", "list", "HEAD"]).ok();
    assert_eq!(scratch.shiftlog("purge", ["--yes", "--match=hunter2"]).code, 1);
    assert_eq!(scratch.git(["cat-file", "-e", note.trim()]).code, 0, "the copy has it");
    scratch.git(["branch", "-D", "copy"]).ok();
    let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
    let told = "warning: what an earlier purge had left is removed now: ";
    assert!(ran.stderr.starts_with(told) && ran.stderr.contains("nothing else that is recorded matches"), "{ran:?}");
    assert_ne!(scratch.git(["cat-file", "-e", note.trim()]).code, 0, "it is gone");
}

#[test]
fn a_copy_without_the_words_is_not_named() {
    let scratch = Scratch::set_up();
    scratch.commit("base.txt", "x", "base");
    speaks_and_commits(&scratch.session("s1"), "harmless");
    scratch.git(["branch", "copy", "refs/notes/shiftlog"]).ok();
    speaks_and_commits(&scratch.session("s2"), "hunter2");
    let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]).ok();
    assert!(!ran.contains("still has"), "{ran}");
    assert!(scratch.git(["rev-parse", "--verify", "copy"]).code == 0);
}
