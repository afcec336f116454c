//! What others push costs readers no more than its size, and stops no capture.

use std::path::Path;

use serde_json::Value;

use crate::hostile::{encode, header, record};
use crate::support::{Scratch, feed};

/// Writes an object and returns its id.
fn blob(scratch: &Scratch, dir: &Path, bytes: &[u8]) -> String {
    feed(scratch.command("git", dir).args(["hash-object", "-w", "--stdin"]), bytes).ok().trim().to_owned()
}

/// Makes a tree from lines of `git ls-tree`.
fn tree(scratch: &Scratch, dir: &Path, lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.map(|line| line + "\n").collect();
    feed(scratch.command("git", dir).args(["mktree", "--missing"]), lines.as_bytes()).ok().trim().to_owned()
}

fn commit_of_tree(scratch: &Scratch, dir: &Path, tree: &str) -> String {
    scratch.git_in(dir, ["commit-tree", "-m", "x", tree]).ok().trim().to_owned()
}

/// Puts a blob into the archive behind the segments of the only session there.
fn put_behind(scratch: &Scratch, id: &str) {
    let archive = "refs/shiftlog/sessions";
    let listed = scratch.git(["ls-tree", "-r", "--name-only", archive]).ok();
    let (directory, _) = listed.lines().next().unwrap().rsplit_once('/').unwrap();
    let path = format!("{directory}/000099-{}.zst", &id[..12]);
    let index = scratch.top.join(".git/forged-index");
    let git = |args: &[&str]| {
        let mut command = scratch.command("git", &scratch.top);
        feed(command.env("GIT_INDEX_FILE", &index).args(args), b"").ok().trim().to_owned()
    };
    git(&["read-tree", archive]);
    git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},{path}")]);
    let commit = commit_of_tree(scratch, &scratch.top, &git(&["write-tree"]));
    scratch.git(["update-ref", archive, &commit]).ok();
}

#[test]
fn a_segment_that_keeps_what_is_not_before_it_stops_no_capture() {
    let parents: [(&str, Option<&dyn Fn(&Value) -> String>, i64); 4] = [
        ("it keeps a part of nothing", None, 100),
        ("its parent is named in another hash", Some(&|_| "ab".repeat(32)), 100),
        ("its parent is a word", Some(&|_| "a-word".into()), 100),
        ("its parent is shorter", Some(&|record| record["through"].as_str().unwrap().into()), 1 << 40),
    ];
    for (what, parent, keep) in parents {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt("first words");
        session.edits("x", "1\n");
        session.commits("one");
        let parent = parent.map(|parent| parent(&scratch.record("HEAD")));
        let forged = encode(&header("s1", parent.as_deref(), keep, 7), b"forged\n");
        let forged = blob(&scratch, &scratch.top, &forged);
        put_behind(&scratch, &forged);
        scratch.lose_state();
        session.hook("SessionStart");
        session.prompt("second words");
        session.edits("x", "2\n");
        session.commits("two");
        session.hook("SessionEnd");
        assert!(!scratch.log().contains("panicked"), "{what}: {}", scratch.log());
        assert_eq!(scratch.waiting(), 0, "{what}: {}", scratch.log());
        let said = scratch.raw("HEAD", &["--full"]);
        assert!(said.contains("first words") && said.contains("second words"), "{what}: {said}");
        // A record names it, too.
        scratch.git(["commit", "-q", "--allow-empty", "-m", "three"]).ok();
        let note = record("s1", None, &forged, 107);
        feed(
            scratch.command("git", &scratch.top).args(["notes", "--ref=shiftlog", "add", "-f", "-F", "-"]),
            note.as_bytes(),
        )
        .ok();
        for args in [
            &["show"][..],
            &["show", "--full"],
            &["show", "--raw"],
            &["show", "--json"],
            &["log"],
            &["verify", "HEAD"],
            &["resume", "--print"],
            &["purge", "--dry-run", "--match=nothing"],
            &["fsck"],
            &["fsck", "--repair"],
            &["remap"],
        ] {
            let ran = scratch.shiftlog(args[0], &args[1..]);
            assert!((0..=128).contains(&ran.code) && ran.code != 101, "{what}: {args:?}: {ran:?}");
            assert!(!ran.stderr.contains("panicked"), "{what}: {args:?}: {ran:?}");
        }
        let shown = scratch.shiftlog("show", ["--full"]);
        assert!(shown.code == 1 && shown.stdout.contains("[segment "), "{what}: it is told: {shown:?}");
    }
}

#[test]
fn a_newest_segment_that_is_none_stops_no_capture() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first words");
    session.edits("x", "1\n");
    session.commits("one");
    put_behind(&scratch, &blob(&scratch, &scratch.top, b"no segment\n"));
    scratch.lose_state();
    session.hook("SessionStart");
    session.prompt("second words");
    session.edits("x", "2\n");
    session.commits("two");
    assert_eq!(scratch.waiting(), 0, "{}", scratch.log());
    let said = scratch.raw("HEAD", &["--full"]);
    assert!(said.contains("first words") && said.contains("second words"), "{said}");
}
