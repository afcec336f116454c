//! Copies of our history under other names keep purged words: a purge names them.

use crate::amended::speaks_and_commits;
use crate::purging::places;
use crate::support::{Ran, Scratch};

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

/// Returns a repository with a commit whose conversation alone has the secret.
fn with_a_secret() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("hunter2");
    session.edits("x", "1\n");
    session.commits("one");
    scratch
}

/// Returns the words after "hint: " of the first hint.
fn hint_of(ran: &Ran) -> String {
    let hint = ran.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_else(|| panic!("{ran:?}"));
    hint.split("    #").next().unwrap().to_owned()
}

/// Types a line into a shell.
fn type_in(scratch: &Scratch, line: &str) {
    Ran::of(scratch.command("sh", &scratch.top).args(["-c", line]).output().unwrap()).ok();
}

/// Purges, and does what the hints say, until nothing is left. Returns the names that still had the words, in order.
fn purged_by_hints(scratch: &Scratch) -> Vec<String> {
    let mut named = Vec::new();
    loop {
        let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
        if ran.code == 0 {
            return named;
        }
        let told = |line: &'_ str| line.split_once(" still ha").map(|(name, _)| name.to_owned());
        let name = ran.stderr.lines().find_map(told);
        named.push(name.unwrap_or_else(|| panic!("{ran:?}")).trim_start_matches("error: ").to_owned());
        assert!(named.len() < 9, "{named:?}");
        type_in(scratch, hint_of(&ran).split("then: ").last().unwrap());
    }
}

/// A merge of our refs into a branch by mistake.
#[test]
fn a_merge_of_our_refs_that_was_taken_back_is_told_of_until_its_reflog_is_gone() {
    for of in ["refs/notes/shiftlog", "refs/shiftlog/sessions"] {
        let scratch = with_a_secret();
        scratch.git(["merge", "-q", "--allow-unrelated-histories", "-m", "oops", of]).ok();
        scratch.commit("more.txt", "x", "on top of it");
        scratch.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
        let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        let told = "error: 'HEAD@{2}' and 1 more of this reflog still have the removed words\n\
                    hint: keep what you need of it, then: git reflog delete --rewrite 'HEAD@{2}' 'HEAD@{1}'\n";
        assert!(ran.stderr.contains(told), "{ran:?}");
        purged_by_hints(&scratch);
        assert_eq!(places(&scratch, &scratch.top, "hunter2"), Vec::<String>::new(), "{of}");
        scratch.assert_sound();
    }
}

#[test]
fn the_hint_of_a_branch_that_has_merged_our_refs_takes_no_work_away() {
    let scratch = with_a_secret();
    scratch.git(["merge", "-q", "--allow-unrelated-histories", "-m", "oops", "refs/notes/shiftlog"]).ok();
    scratch.commit("work.txt", "my work", "real work");
    scratch.git(["tag", "v1"]).ok();
    let merge = scratch.git(["rev-parse", "--short", "HEAD~1"]).ok();
    let merge = merge.trim();
    let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let hint =
        format!("'{merge}' has merged them; make it name commits without that merge, and keep what else that changed");
    let told = format!(
        "error: 'refs/heads/main' still has the removed words\nhint: {hint}\n\
         error: 'refs/tags/v1' still has the removed words\nhint: {hint}\n"
    );
    assert!(ran.stderr.contains(&told), "{ran:?}");
    scratch.git(["rebase", "-q", "--onto", &format!("{merge}^"), merge, "main"]).ok();
    scratch.git(["tag", "-f", "v1", "main"]).ok();
    purged_by_hints(&scratch);
    assert_eq!(scratch.git(["show", "v1:work.txt"]).ok(), "my work");
    assert_eq!(scratch.git(["log", "--format=%s", "v1"]).ok(), "real work\none\nstart\n");
    assert_eq!(places(&scratch, &scratch.top, "hunter2"), Vec::<String>::new());
    scratch.assert_sound();
}

/// The history that the copy has is none of ours any more.
#[test]
fn a_copy_from_before_an_earlier_purge_is_told() {
    let scratch = with_a_secret();
    scratch.git(["branch", "copy", "refs/shiftlog/sessions"]).ok();
    speaks_and_commits(&scratch.session("s2"), "other");
    scratch.shiftlog("purge", ["--yes", "--session=s2"]).ok();
    let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
    let told = "error: 'refs/heads/copy' still has the removed words\nhint: git branch -D copy\n";
    assert!(ran.code == 1 && ran.stderr.contains(told), "{ran:?}");
    purged_by_hints(&scratch);
    assert_eq!(places(&scratch, &scratch.top, "hunter2"), Vec::<String>::new());
}

#[test]
fn a_copy_as_the_branch_that_is_checked_out_is_not_deleted_by_its_hint() {
    let scratch = with_a_secret();
    scratch.git(["checkout", "-q", "-b", "copy", "refs/notes/shiftlog"]).ok();
    let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
    assert!(
        ran.stderr.contains("error: 'refs/heads/copy' still has the removed words\nhint: git branch -D copy\n"),
        "{ran:?}"
    );
}

/// Each worktree has a HEAD and a reflog of its own.
#[test]
fn what_another_worktree_has_is_told() {
    let scratch = with_a_secret();
    let linked = scratch.root().join("linked");
    let linked = linked.to_str().unwrap();
    scratch.git(["worktree", "add", "-q", "--detach", linked, "refs/notes/shiftlog"]).ok();
    let ran = scratch.shiftlog("purge", ["--yes", "--match=hunter2"]);
    assert!(ran.stderr.contains("error: 'worktrees/linked/HEAD' still has the removed words\n"), "{ran:?}");
    scratch.git(["-C", linked, "checkout", "-q", "-b", "other", "main"]).ok();
    let named = purged_by_hints(&scratch);
    assert_eq!(named, ["'worktrees/linked/HEAD@{1}'"], "the entry is told once");
    assert_eq!(places(&scratch, &scratch.top, "hunter2"), Vec::<String>::new());
}
