//! What others push costs readers no more than its size, and stops no capture.

use std::path::Path;

use serde_json::Value;

use crate::hostile::{encode, header, of_claude, record, run};
use crate::sharing::Team;
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

/// A forged segment: what is wrong, its parent from the record of the session, and what it keeps.
type Forged<'f> = (&'f str, Option<&'f dyn Fn(&Value) -> String>, i64);

#[test]
fn a_segment_that_keeps_what_is_not_before_it_stops_no_capture() {
    let parents: [Forged<'_>; 4] = [
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
        let note = of_claude(&record("s1", None, &forged, 107));
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

/// Makes a commit whose tree has `count` to the third entries, of four small objects. `name` gives the names at a depth.
fn bomb(scratch: &Scratch, dir: &Path, count: usize, name: impl Fn(usize, usize) -> String) -> String {
    let file = blob(scratch, dir, b"{\"shiftlog\":1}\n");
    let mut last = format!("100644 blob {file}");
    for depth in (0..3).rev() {
        let id = tree(scratch, dir, (0..count).map(|number| format!("{last}\t{}", name(depth, number))));
        last = format!("040000 tree {id}");
    }
    commit_of_tree(scratch, dir, last.rsplit(' ').next().unwrap())
}

#[test]
fn small_trees_that_name_each_other_many_times_are_left_out_and_told() {
    let team = Team::new();
    let (victim, attacker) = (team.clone_of("victim", &[]), team.clone_of("attacker", &[]));
    team.commit(&victim, "x", "1\n", "honest words");
    team.shiftlog(&victim, "sync", &["-q"]).ok();
    // 129 to the third are 2,146,689 paths.
    let any = bomb(&team.scratch, &attacker, 129, |depth, number| format!("{depth}{number:05}"));
    let file = blob(&team.scratch, &attacker, b"{\"shiftlog\":1}\n");
    let sessions = bomb(&team.scratch, &attacker, 129, |depth, number| match depth {
        0 => format!("{number:02x}"),
        1 => format!("claude~x{number}"),
        _ => format!("{number:06}-{}.zst", &file[..12]),
    });
    let notes = bomb(&team.scratch, &attacker, 129, |depth, number| match depth {
        0 | 1 => format!("{number:02x}"),
        _ => format!("{number:02x}{}", "0".repeat(34)),
    });
    for (name, commit) in
        [("refs/shiftlog/purged", &any), ("refs/shiftlog/sessions", &sessions), ("refs/notes/shiftlog", &notes)]
    {
        team.git(&attacker, &["push", "-q", "-f", "--no-verify", "origin", &format!("{commit}:{name}")]).ok();
    }
    let before = ["refs/notes/shiftlog^{tree}", "refs/shiftlog/sessions^{tree}"].map(|name| team.id(&victim, name));
    for (theirs, tracking) in
        [("refs/shiftlog/purged", "purged"), ("refs/shiftlog/sessions", "sessions"), ("refs/notes/shiftlog", "notes")]
    {
        let refspec = format!("+{theirs}:refs/shiftlog/remotes/origin/{tracking}");
        team.git(&victim, &["fetch", "-q", "origin", &refspec]).ok();
    }
    let logged = run(&team.scratch, &victim, &["log"]);
    assert!(logged.stdout.contains("honest words"), "our own notes are listed: {logged:?}");
    let told = "warning: the notes under 'refs/shiftlog/remotes/origin/notes' are left out: ";
    assert_eq!(logged.stderr.matches(told).count(), 1, "{logged:?}");
    for args in [&["show"][..], &["branches"], &["fsck"], &["remap"]] {
        let ran = run(&team.scratch, &victim, args);
        assert!(ran.code <= 1, "{args:?}: {ran:?}");
    }
    team.assert_said(&victim, "HEAD", &["honest words"]);
    let synced = team.shiftlog(&victim, "sync", &["pull", "--all"]);
    assert_eq!(synced.stderr.matches("with what is here, more than 2000000 paths").count(), 3, "{synced:?}");
    let after = ["refs/notes/shiftlog^{tree}", "refs/shiftlog/sessions^{tree}"].map(|name| team.id(&victim, name));
    assert_eq!(after, before, "nothing of it is joined");
    team.assert_said(&victim, "HEAD", &["honest words"]);
    team.shiftlog(&victim, "fsck", &["-q"]).ok();
}

#[test]
fn what_is_joined_is_counted_together_with_what_is_here() {
    let team = Team::new();
    let (victim, attacker) = (team.clone_of("victim", &[]), team.clone_of("attacker", &[]));
    team.commit(&victim, "x", "1\n", "honest words");
    team.shiftlog(&victim, "sync", &["-q"]).ok();
    let archive = "refs/shiftlog/sessions";
    let file = blob(&team.scratch, &attacker, b"{\"shiftlog\":1}\n");
    // Each has 1,103,439 paths, and none of the other's.
    let made = |letter: char| {
        let commit = bomb(&team.scratch, &attacker, 103, |depth, number| match depth {
            0 => format!("{letter}{number:02x}"),
            1 => format!("claude~x{number}"),
            _ => format!("{number:06}-{}.zst", &file[..12]),
        });
        team.git(&attacker, &["push", "-q", "-f", "--no-verify", "origin", &format!("{commit}:{archive}")]).ok();
        commit
    };
    // The first is in the victim's archive already.
    let first = made('a');
    team.git(&victim, &["fetch", "-q", "origin", &format!("+{archive}:refs/forged")]).ok();
    let listed = [archive, &first].map(|commit| team.git(&victim, &["ls-tree", commit]).ok()).concat();
    let both = tree(&team.scratch, &victim, listed.lines().map(str::to_owned));
    let ours = team.git(&victim, &["commit-tree", "-m", "x", "-p", archive, &both]).ok();
    team.git(&victim, &["update-ref", archive, ours.trim()]).ok();
    made('b');
    let synced = team.shiftlog(&victim, "sync", &["pull", "--all"]);
    assert!(synced.stderr.contains("with what is here, more than 2000000 paths"), "{synced:?}");
    assert_eq!(team.id(&victim, &format!("{archive}^{{tree}}")), both, "nothing of it is joined");
    team.assert_said(&victim, "HEAD", &["honest words"]);
}
