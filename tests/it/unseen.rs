//! Commits of which no hook of an agent, or no hook at all, has told: the next command finds what the session says of them.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Ran, Scratch, Session};

/// A repository in which hooks of another agent are set up.
fn without_hooks() -> Scratch {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
    scratch
}

/// A session in the store of Claude Code that was started in a directory.
fn stored<'s>(scratch: &'s Scratch, id: &str, dir: &Path) -> Session<'s> {
    let mut session = scratch.session_in(id, dir);
    let folder = dir.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    session.transcript = scratch.home().join(".claude/projects").join(folder).join(format!("{id}.jsonl"));
    fs::create_dir_all(session.transcript.parent().unwrap()).unwrap();
    session
}

/// Commits everything now, with no hook of Git. Returns the commit.
fn commit_hidden(scratch: &Scratch, message: &str) -> String {
    commit_now(scratch, &scratch.top, &["-c", "core.hooksPath="], message)
}

/// Commits everything in a worktree, by the clock of now. Returns the commit.
fn commit_now(scratch: &Scratch, dir: &Path, options: &[&str], message: &str) -> String {
    commit_with(scratch, dir, options, &["-m", message])
}

fn commit_with(scratch: &Scratch, dir: &Path, options: &[&str], args: &[&str]) -> String {
    let now = format!("@{} +0000", std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs());
    scratch.git_in(dir, ["add", "-A"]).ok();
    let mut command = scratch.command("git", dir);
    command.env("GIT_COMMITTER_DATE", now).args(options).args(["commit", "-q"]).args(args);
    Ran::of(command.output().unwrap()).ok();
    scratch.git_in(dir, ["rev-parse", "HEAD"]).ok().trim().to_owned()
}

fn told(commit: &str, message: &str) -> String {
    format!("[main {}] {message}\n 1 file changed", &commit[..7])
}

#[test]
fn a_session_without_hooks_gets_the_result_of_its_commit_by_the_next_command() {
    let scratch = without_hooks();
    let session = stored(&scratch, "s1", &scratch.top);
    session.prompt("make it polite");
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -m polite" }));
    // Nothing tells which process this is.
    let commit = commit_now(&scratch, &scratch.top, &[], "polite");
    let before = scratch.record(&commit)["bytes"].clone();
    scratch.shiftlog("log", ["-1"]).ok();
    assert_eq!(scratch.record(&commit)["bytes"], before, "the result is not there yet");
    session.answers("c1", &told(&commit, "polite"));
    let through_result = session.text();
    session.says("It is polite now.");
    scratch.shiftlog("log", ["-1"]).ok();
    assert_eq!(scratch.record(&commit)["bytes"], through_result.len(), "{}", scratch.log());
    assert_eq!(scratch.raw(&commit, &[]), through_result);
    scratch.assert_sound();
}

#[test]
fn what_a_session_reads_of_a_commit_that_a_person_made_is_no_result_of_it() {
    let scratch = without_hooks();
    let session = stored(&scratch, "s1", &scratch.top);
    session.prompt("write it");
    session.edits("a.txt", "a\n");
    let said = session.text();
    let commit = commit_now(&scratch, &scratch.top, &[], "by a person");
    session.calls("c1", "Bash", &json!({ "command": "git log --oneline" }));
    session.answers("c1", &format!("{} by a person", &commit[..7]));
    scratch.shiftlog("log", ["-1"]).ok();
    assert_eq!(scratch.raw(&commit, &[]), said);
}

#[test]
fn commits_of_which_git_told_no_hook_are_recorded_by_the_next_command() {
    let scratch = without_hooks();
    let session = stored(&scratch, "s1", &scratch.root());
    session.prompt("make three commits");
    session.edits("repo/a.txt", "a\n");
    let first = commit_hidden(&scratch, "first");
    session.calls("c1", "Bash", &json!({ "command": "git commit -m first" }));
    session.answers("c1", &told(&first, "first"));
    let through_first = session.text();
    scratch.write("b.txt", "b\n");
    let second = commit_hidden(&scratch, "second");
    scratch.write("c.txt", "c\n");
    let third = commit_hidden(&scratch, "third");
    session.calls("c2", "Bash", &json!({ "command": "git commit -m second && git commit -m third" }));
    session.answers("c2", &[told(&second, "second"), told(&third, "third")].join("\n"));
    let through_third = session.text();
    session.says("All three are there.");
    let reader = stored(&scratch, "s2", &scratch.top);
    reader.prompt("what was done?");
    reader.calls("c3", "Bash", &json!({ "command": "git log --oneline" }));
    reader.answers("c3", &format!("{} third\n{} second", &third[..7], &second[..7]));

    scratch.shiftlog("log", ["-1"]).ok();
    assert_eq!(scratch.record(&first)["prompt"], "make three commits", "{}", scratch.log());
    assert_eq!(scratch.raw(&first, &[]), through_first);
    for commit in [&second, &third] {
        assert_eq!(scratch.record(commit)["session"], "s1", "one command has made both");
        assert_eq!(scratch.raw(commit, &["--full"]), through_third);
    }
    let notes = scratch.git(["rev-parse", "refs/notes/shiftlog"]).ok();
    scratch.shiftlog("show", ["HEAD"]).ok();
    assert_eq!(scratch.git(["rev-parse", "refs/notes/shiftlog"]).ok(), notes, "once is enough");
    scratch.assert_sound();
}

#[test]
fn what_led_to_a_commit_that_was_amended_out_of_sight_is_on_the_one_in_its_place() {
    let scratch = without_hooks();
    let session = stored(&scratch, "s1", &scratch.top);
    session.prompt("commit it, then amend");
    session.edits("a.txt", "a\n");
    let first = commit_hidden(&scratch, "first");
    session.calls("c1", "Bash", &json!({ "command": "git commit -m first" }));
    session.answers("c1", &told(&first, "first"));
    let amended = commit_with(&scratch, &scratch.top, &["-c", "core.hooksPath="], &["--amend", "-m", "amended"]);
    session.calls("c2", "Bash", &json!({ "command": "git commit --amend -m amended" }));
    session.answers("c2", &told(&amended, "amended"));
    scratch.shiftlog("log", ["-1"]).ok();
    assert_eq!(scratch.record(&amended)["prompt"], "commit it, then amend", "{}", scratch.log());
    assert_eq!(scratch.raw(&amended, &[]), session.text());
    assert_eq!(scratch.records(&first).len(), 0);
}

#[test]
fn a_session_that_is_written_after_the_first_look_is_found_by_the_next_command() {
    let scratch = without_hooks();
    scratch.write("a.txt", "a\n");
    let commit = commit_hidden(&scratch, "late");
    scratch.shiftlog("log", ["-1"]);
    assert_eq!(scratch.records(&commit).len(), 0);
    let session = stored(&scratch, "s1", &scratch.top);
    session.prompt("commit it");
    session.calls("c1", "Bash", &json!({ "command": "git commit -m late" }));
    session.answers("c1", &told(&commit, "late"));
    scratch.shiftlog("log", ["-1"]).ok();
    assert_eq!(scratch.record(&commit)["prompt"], "commit it");
}

#[test]
fn nothing_is_looked_for_where_nobody_has_set_up_anything() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "a\n");
    let commit = commit_hidden(&scratch, "quiet");
    let session = stored(&scratch, "s1", &scratch.top);
    session.prompt("commit it");
    session.calls("c1", "Bash", &json!({ "command": "git commit -m quiet" }));
    session.answers("c1", &told(&commit, "quiet"));
    scratch.shiftlog("log", ["-1"]);
    assert_eq!(scratch.records(&commit).len(), 0);
}

#[test]
fn a_commit_of_which_git_told_no_hook_is_found_from_another_worktree() {
    let scratch = without_hooks();
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", linked.to_str().unwrap()]).ok();
    let session = stored(&scratch, "s1", &linked);
    session.prompt("commit it there");
    session.edits("a.txt", "a\n");
    let commit = commit_now(&scratch, &linked, &["-c", "core.hooksPath="], "there");
    session.calls("c1", "Bash", &json!({ "command": "git commit -m there" }));
    session.answers("c1", &told(&commit, "there"));
    scratch.shiftlog("log", ["-1"]);
    assert_eq!(scratch.record(&commit)["prompt"], "commit it there", "{}", scratch.log());
    assert_eq!(scratch.record(&commit)["edits"][0]["path"], "a.txt");
}
