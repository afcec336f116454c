//! Every kind of repository is recorded into, or refused in one line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::sharing::line;
use crate::storage::add;
use crate::support::{Scratch, feed};

/// Records a commit in a repository and reads it back with us and with stock Git.
pub fn works(scratch: &Scratch) {
    let session = scratch.session("s1");
    session.prompt("works here too");
    session.edits("here.txt", "x\n");
    let commit = session.commits("works");
    assert_eq!(scratch.record(&commit)["prompt"], "works here too");
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
    assert_eq!(scratch.shiftlog("log", ["--format=%H", "-n1"]).ok().trim(), commit);
    assert!(scratch.git(["log", "-1", "--notes=shiftlog"]).ok().contains("works here too"));
    scratch.assert_sound();
}

#[test]
fn a_sha256_repository_works() {
    let scratch = Scratch::with(&["--object-format=sha256"]);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    works(&scratch);
    assert_eq!(scratch.id("HEAD").len(), 64);
    let session = scratch.session("s1");
    session.edits("more.txt", "x\n");
    session.commits("more");
    scratch.git(["commit", "-q", "--amend", "-m", "reworded"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
}

#[test]
fn a_repository_without_commits_works() {
    let scratch = Scratch::empty(&[]);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let ran = scratch.shiftlog("log", [""; 0]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (128, "fatal: your current branch 'main' does not have any commits yet\n")
    );
    assert_eq!(scratch.shiftlog("branches", [""; 0]).ok(), "");
    works(&scratch);
}

#[test]
fn a_detached_head_and_a_missing_identity_work() {
    let mut scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "--detach"]).ok();
    for name in ["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE"] {
        scratch.env.remove(name);
    }
    let ran = add(&scratch, "s0", &line("nobody"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        scratch.git(["log", "-1", "--format=%cn <%ce>", "refs/notes/shiftlog"]).ok(),
        "git-shiftlog <shiftlog@localhost>\n"
    );
    scratch.env.insert("GIT_COMMITTER_NAME".into(), "C O Mitter".into());
    scratch.env.insert("GIT_COMMITTER_EMAIL".into(), "c@example.com".into());
    works(&scratch);
}

#[test]
fn a_bare_repository_can_be_read_and_added_to() {
    let scratch = Scratch::set_up();
    works(&scratch);
    let bare = scratch.root().join("bare.git");
    scratch.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]).ok();
    scratch
        .git(["push", "-q", "--no-verify", bare.to_str().unwrap(), "refs/notes/shiftlog", "refs/shiftlog/sessions"])
        .ok();
    let raw = scratch.shiftlog_in(&bare, "show", ["--raw"]).ok();
    assert_eq!(raw, scratch.raw("HEAD", &[]));
    assert_eq!(scratch.shiftlog_in(&bare, "log", ["--oneline"]).ok().lines().count(), 1);
    let mut command = scratch.command("git", &bare);
    command.args(["shiftlog", "add", "-q", "--transcript=-", "--session=bare"]);
    assert_eq!(feed(&mut command, line("into the bare one").as_bytes()).code, 0);
    assert_eq!(scratch.shiftlog_in(&bare, "show", ["--raw", "--session=bare"]).ok(), line("into the bare one"));
    scratch.shiftlog_in(&bare, "init", ["--agent=claude", "-q"]).ok();
    scratch.git_in(&bare, ["fsck", "--strict"]).ok();
}

#[test]
fn a_submodule_records_into_its_own_repository() {
    let scratch = Scratch::new();
    let inner = Scratch::new();
    let url = inner.top.to_str().unwrap();
    scratch.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]).ok();
    scratch.git(["commit", "-q", "-m", "add sub"]).ok();
    let sub = scratch.top.join("sub");
    scratch.shiftlog_in(&sub, "init", ["--agent=claude", "-q"]).ok();
    let session = scratch.session_in("s1", &sub);
    session.prompt("inside");
    session.edits("inside.txt", "x\n");
    session.commits("inside");
    assert_eq!(scratch.shiftlog_in(&sub, "show", ["--raw"]).ok(), session.text());
    assert_eq!(scratch.shiftlog("show", ["HEAD"]).code, 1);
}

#[test]
fn a_linked_worktree_shares_notes_and_archive() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let session = scratch.session_in("s1", &other);
    session.prompt("over there");
    session.edits("o.txt", "o\n");
    session.commits("over there");
    assert_eq!(scratch.raw("other", &[]), session.text());
    assert_eq!(scratch.shiftlog_in(&other.join("."), "log", ["--oneline"]).ok().lines().count(), 1);
    fs::create_dir_all(other.join("deep/down")).unwrap();
    assert_eq!(scratch.shiftlog_in(&other.join("deep/down"), "show", ["--raw"]).ok(), session.text());
}

#[test]
fn a_reftable_repository_is_refused_in_one_line() {
    let scratch = Scratch::empty(&["--ref-format=reftable"]);
    let ran = scratch.shiftlog("log", [""; 0]);
    assert_eq!(ran.code, 128);
    assert!(ran.stderr.starts_with("fatal: '") && ran.stderr.contains("reftable"), "{}", ran.stderr);
}

#[test]
fn the_environment_and_config_on_the_command_line_are_honoured() {
    let scratch = Scratch::set_up();
    works(&scratch);
    let elsewhere = scratch.root();
    let git_dir = scratch.top.join(".git");
    let mut command = scratch.command("git", &elsewhere);
    command.env("GIT_DIR", &git_dir).env("GIT_WORK_TREE", &scratch.top).args(["shiftlog", "show", "--raw"]);
    assert_eq!(feed(&mut command, b"").ok(), scratch.raw("HEAD", &[]));
    let mut command = scratch.command("git", &elsewhere);
    command.args(["-C", "repo", "-c", "shiftlog.notesRef=refs/notes/nothing", "shiftlog", "log"]);
    assert_eq!(feed(&mut command, b"").ok(), "", "git -c reaches us");
    let mut command = scratch.command("git", &scratch.top);
    command.env("GIT_NOTES_REF", "refs/notes/nothing").args(["shiftlog", "log"]);
    assert_eq!(feed(&mut command, b"").ok(), "");
    assert_eq!(scratch.shiftlog("log", ["--ref=nothing"]).ok(), "");
}

#[test]
fn a_shared_repository_stays_writable_for_the_group() {
    let scratch = Scratch::with(&["--shared=group"]);
    assert_eq!(add(&scratch, "s1", &line("for all of us")).code, 0);
    let id = scratch.git(["rev-parse", "refs/shiftlog/sessions"]).ok();
    let dir = scratch.top.join(".git/objects").join(&id[..2]);
    assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o070, 0o070);
}
