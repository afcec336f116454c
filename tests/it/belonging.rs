//! Whose conversation a commit gets where more than one answer seems possible.

use std::fs;

use serde_json::json;

use crate::support::Scratch;

/// Returns the sessions that are recorded on a revision, sorted.
fn sessions(scratch: &Scratch, revision: &str) -> Vec<String> {
    let records = scratch.records(revision);
    let mut ids: Vec<String> = records.iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn a_commit_of_other_files_leaves_the_session_to_the_commit_of_its_own() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write the parser");
    session.edits("parser.rs", "fn parse() {}\n");
    let unrelated = scratch.commit("notes.txt", "mine\n", "a human's");
    assert_eq!(scratch.records(&unrelated).len(), 0, "the agent has not touched that file");
    let own = scratch.commit("parser.rs", "fn parse() {}\n", "the parser");
    assert_eq!(scratch.record(&own)["prompt"], "write the parser");
    assert_eq!(scratch.raw(&own, &[]), session.text());
}

#[test]
fn a_session_that_only_talked_still_gets_the_commit_that_was_made_for_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("how do I sort this?");
    session.says("With sort(1).");
    let commit = scratch.commit("sorted.txt", "a\nb\n", "sort it");
    assert_eq!(sessions(&scratch, &commit), ["s1"]);
}

#[test]
fn a_commit_with_an_empty_message_is_new_work() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("save it");
    session.edits("a.txt", "a\n");
    let by_agent = session.runs_commit(&["--allow-empty-message", "-m", ""]);
    assert_eq!(sessions(&scratch, &by_agent), ["s1"]);
    session.prompt("again");
    session.edits("a.txt", "aa\n");
    scratch.git(["commit", "-q", "-a", "--allow-empty-message", "-m", ""]).ok();
    assert_eq!(scratch.record("HEAD")["prompt"], "again");
    // The agent's own hook must see it too.
    fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
    session.prompt("once more");
    session.edits("a.txt", "aaa\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit --allow-empty-message -m ''" }));
    let commit = session.runs_commit(&["--allow-empty-message", "-m", ""]);
    session.answers("c1", &format!("[main {}]", &commit[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.record(&commit)["prompt"], "once more");
}

/// Makes a branch `side` that differs from `main` in another file, or in the same one.
fn diverged(scratch: &Scratch, path: &str) {
    scratch.git(["switch", "-q", "-c", "side"]).ok();
    scratch.commit(path, "side\n", "on the side");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("main.txt", "main\n", "on main");
}

#[test]
fn a_merge_belongs_to_the_agent_that_made_it() {
    for (path, has_hook) in [("side.txt", true), ("main.txt", true), ("side.txt", false), ("main.txt", false)] {
        let scratch = Scratch::set_up();
        diverged(&scratch, path);
        if !has_hook {
            fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
            fs::remove_file(scratch.top.join(".git/hooks/post-merge")).unwrap();
        }
        let session = scratch.session("s1");
        session.prompt("merge the side branch");
        session.calls("c1", "Bash", &json!({ "command": "git merge side" }));
        let merge = |args: &[&str]| {
            let mut command = scratch.command("git", &scratch.top);
            command.env("CLAUDE_CODE_SESSION_ID", "s1").args(args);
            command.output().unwrap()
        };
        if !merge(&["merge", "--no-edit", "side"]).status.success() {
            scratch.write("main.txt", "both\n");
            assert!(merge(&["commit", "-q", "-a", "--no-edit"]).status.success());
        }
        let merged = scratch.id("HEAD");
        session.answers("c1", "Merge made by the 'ort' strategy.");
        session.hook_for("PostToolUse", "c1");
        let expected = session.text();
        session.says("Merged.");
        session.hook("Stop");
        assert_eq!(scratch.git(["rev-list", "--count", "--merges", "HEAD^!"]).ok(), "1\n");
        assert_eq!(scratch.record(&merged)["prompt"], "merge the side branch", "{path}, hook: {has_hook}");
        assert_eq!(scratch.raw(&merged, &[]), expected);
        session.prompt("now something else");
        session.edits("next.txt", "x\n");
        session.commits("the next commit");
        assert_eq!(scratch.record("HEAD")["prompt"], "now something else");
    }
}

#[test]
fn a_merge_by_hand_and_a_merge_that_was_fetched_get_no_session() {
    let scratch = Scratch::set_up();
    diverged(&scratch, "side.txt");
    scratch.git(["switch", "-q", "-c", "merged"]).ok();
    scratch.git(["merge", "-q", "--no-edit", "side"]).ok();
    scratch.git(["switch", "-q", "main"]).ok();
    let session = scratch.session("s1");
    session.prompt("I only watch");
    scratch.git(["merge", "-q", "--no-edit", "side"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0, "a person merged");
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    let mut command = scratch.command("git", &scratch.top);
    command.env("CLAUDE_CODE_SESSION_ID", "s1").args(["merge", "-q", "--ff-only", "merged"]);
    assert!(command.output().unwrap().status.success());
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.records("HEAD").len(), 0, "the merge was there");
}

#[test]
#[cfg(target_os = "linux")]
fn a_worktree_whose_path_is_no_text_records() {
    use std::os::unix::ffi::OsStrExt as _;

    let scratch = Scratch::set_up();
    let name = std::ffi::OsStr::from_bytes(b"w\xff\xfe");
    let other = scratch.root().join(name);
    let mut command = scratch.command("git", &scratch.top);
    assert!(command.args(["worktree", "add", "-q", "-b", "other"]).arg(&other).output().unwrap().status.success());
    let session = scratch.session_in("s1", &other);
    assert_eq!(scratch.log(), "", "nothing failed");
    for number in 1..=2 {
        session.prompt(&format!("step {number}"));
        let path = other.join("a.txt");
        session.calls("w", "Write", &json!({ "file_path": path.to_string_lossy(), "content": "a" }));
        fs::write(&path, format!("{number}\n")).unwrap();
        let commit = session.commits(&format!("step {number}"));
        assert_eq!(scratch.record(&commit)["prompt"], format!("step {number}"), "{}", scratch.log());
    }
    assert_eq!(scratch.raw("other~1", &[]) + &scratch.raw("other", &[]), session.text());
    // A person's commit there belongs to the session that worked there, and to no worktree beside it.
    session.prompt("talk");
    scratch.commit("main.txt", "main\n", "in the main worktree");
    assert_eq!(scratch.records("main").len(), 0);
    fs::write(other.join("b.txt"), "b\n").unwrap();
    scratch.git_in(&other, ["add", "b.txt"]).ok();
    scratch.git_in(&other, ["commit", "-q", "-m", "by hand"]).ok();
    assert_eq!(sessions(&scratch, "other"), ["s1"]);
    assert!(!scratch.log().contains("warning"), "{}", scratch.log());
}
