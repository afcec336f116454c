//! What others do to our refs, locks that stay, and damage: no word is lost, and the way back is named.

mod locks;
mod objects;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Scratch, feed, skip};

const ARCHIVE: &str = "refs/shiftlog/sessions";
const NOTES: &str = "refs/notes/shiftlog";
const KEPT: [&str; 2] = ["refs/shiftlog/kept/notes/shiftlog", "refs/shiftlog/kept/sessions"];

/// Makes a repository with commits that have a conversation. Returns it with the commits and all that was said.
fn recorded(words: &[&str]) -> (Scratch, Vec<String>, String) {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let mut commits = Vec::new();
    for word in words {
        session.prompt(word);
        session.edits(&format!("{word}.txt"), word);
        commits.push(session.commits(word));
    }
    let text = session.text();
    (scratch, commits, text)
}

/// Drops every object that no ref reaches, as what rewrites history does in the end.
fn collect_garbage(scratch: &Scratch) {
    scratch.git(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]).ok();
    scratch.git(["gc", "-q", "--prune=now"]).ok();
}

fn listed(scratch: &Scratch, ref_name: &str) -> String {
    scratch.git(["ls-tree", "-r", ref_name]).ok()
}

/// Commits everything in the environment of session `s1`.
fn commit_with_stderr(scratch: &Scratch) -> String {
    commit_of(scratch, "s1")
}

fn commit_of(scratch: &Scratch, session_id: &str) -> String {
    scratch.git(["add", "-A"]).ok();
    let mut command = scratch.command("git", &scratch.top);
    command.env("CLAUDE_CODE_SESSION_ID", session_id).args(["commit", "-q", "-m", "next"]);
    let ran = feed(&mut command, b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    ran.stderr
}

fn object_file(scratch: &Scratch, id: &str) -> PathBuf {
    scratch.top.join(".git/objects").join(&id[..2]).join(&id[2..])
}

#[test]
fn what_a_rewrite_of_history_takes_from_the_archive_comes_back() {
    for way in ["moved", "deleted", "emptied"] {
        let (scratch, commits, text) = recorded(&["one", "two"]);
        let before = listed(&scratch, ARCHIVE);
        match way {
            "deleted" => drop(scratch.git(["update-ref", "-d", ARCHIVE]).ok()),
            _ => {
                let tree = match way {
                    "emptied" => scratch.git(["hash-object", "-t", "tree", "-w", "/dev/null"]).ok(),
                    _ => {
                        let entry = format!("040000 tree {}\tsub\n", scratch.id(&format!("{ARCHIVE}^{{tree}}")));
                        scratch.run_with_input("git", ["mktree"], entry.as_bytes()).ok()
                    }
                };
                let commit = scratch.git(["commit-tree", "-m", "rewritten", tree.trim()]).ok();
                scratch.git(["update-ref", ARCHIVE, commit.trim()]).ok();
            }
        }
        collect_garbage(&scratch);
        let checked = scratch.shiftlog("fsck", ["-q"]);
        let told = format!("lost-ref {ARCHIVE}: it was replaced or deleted\n");
        assert!(checked.code == 1 && checked.stdout.starts_with(&told), "{way}: {checked:?}");
        assert_eq!(scratch.raw("HEAD", &["--full"]), text, "{way}");
        assert!(!scratch.raw(&commits[0], &[]).is_empty(), "{way}");
        for line in before.lines() {
            assert!(listed(&scratch, ARCHIVE).contains(line), "{way}: {line}");
        }
        scratch.shiftlog("fsck", ["--repair", "-q"]);
        assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "", "{way}");
        scratch.assert_sound();
    }
}

#[test]
fn the_hook_joins_what_was_lost_before_it_writes() {
    let (scratch, commits, _) = recorded(&["one", "two"]);
    let before = listed(&scratch, ARCHIVE);
    scratch.git(["update-ref", "-d", ARCHIVE]).ok();
    let session = scratch.session("s2");
    session.prompt("three");
    session.edits("three.txt", "three");
    session.commits("three");
    let after = listed(&scratch, ARCHIVE);
    assert!(before.lines().all(|line| after.contains(line)), "{before}\n{after}");
    assert!(!scratch.raw(&commits[0], &[]).is_empty());
}

#[test]
fn git_filter_repo_loses_no_word_whatever_it_does() {
    let probe = Scratch::new();
    if probe.git(["filter-repo", "--version"]).code != 0 {
        skip("git filter-repo is not installed; the rewrite by plumbing is tried in any case");
        return;
    }
    let forms: &[&[&str]] = &[
        &["--path", "one.txt"],
        &["--path-rename", "one.txt:first.txt"],
        &["--strip-blobs-bigger-than", "10"],
        &["--invert-paths", "--path", "one.txt"],
        &["--subdirectory-filter", "sub"],
        &["--message-callback", "return message + b'!'"],
        &["--name-callback", "return b'Somebody'"],
        &["--replace-refs", "delete-no-add"],
    ];
    for form in forms {
        let (scratch, _, text) = recorded(&["one", "two", "sub/three"]);
        let before = listed(&scratch, ARCHIVE);
        scratch.git([&["filter-repo", "--force"], *form].concat()).ok();
        scratch.shiftlog("fsck", ["--repair", "-q"]);
        assert_eq!(before, listed(&scratch, ARCHIVE), "{form:?}");
        let last = before.lines().last().unwrap().split_whitespace().nth(2).unwrap();
        let words = scratch.git(["cat-file", "blob", last]);
        assert_eq!(words.code, 0, "{form:?}");
        assert!(!text.is_empty());
        scratch.assert_sound();
    }
}

#[test]
fn refs_that_name_trees_make_git_neither_fail_nor_talk() {
    let (scratch, ..) = recorded(&["one", "two"]);
    for name in KEPT {
        assert_eq!(scratch.git(["cat-file", "-t", name]).ok(), "tree\n", "{name}");
    }
    scratch.git(["init", "-q", "--bare", "../mirror.git"]).ok();
    let commands: &[&[&str]] = &[
        &["gc", "-q"],
        &["fsck", "--strict", "--no-progress"],
        &["for-each-ref", "--sort=committerdate"],
        &["log", "--all", "--oneline", "--graph"],
        &["commit-graph", "write", "--reachable", "--no-progress"],
        &["push", "-q", "--mirror", "--no-verify", "../mirror.git"],
        &["clone", "-q", "--mirror", ".", "../clone.git"],
        &["pack-refs", "--all"],
        &["rev-list", "--all", "--objects", "--count"],
        &["branch", "--contains", "HEAD"],
        &["fetch", "-q", "../mirror.git", "main"],
        &["repack", "-adbq"],
    ];
    for args in commands {
        let ran = scratch.git(*args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "git {args:?}");
    }
    // The refs are packed now.
    let session = scratch.session("s2");
    session.prompt("after packing");
    session.edits("b.txt", "b");
    session.commits("after packing");
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
    assert_eq!(scratch.id(KEPT[1]), scratch.id(&format!("{ARCHIVE}^{{tree}}")), "moved with the archive");
    assert_eq!(scratch.id(KEPT[0]), scratch.id(&format!("{NOTES}^{{tree}}")), "moved with the notes");
}

/// Fetches everybody's notes as a common recipe does it, from a server that has those of the first commit alone.
fn forced_fetch(scratch: &Scratch, commits: &[String]) {
    let server = scratch.root().join("server.git");
    let _ = fs::remove_dir_all(&server);
    let _ = fs::remove_dir_all(scratch.root().join("other"));
    let server = server.to_str().unwrap();
    scratch.git(["clone", "-q", "--bare", ".", server]).ok();
    let other = scratch.root().join("other");
    scratch.git(["clone", "-q", server, other.to_str().unwrap()]).ok();
    scratch.git_in(&other, ["notes", "--ref=shiftlog", "add", "-m", "of somebody else", &commits[0]]).ok();
    scratch.git_in(&other, ["push", "-q", "-f", "origin", "refs/notes/*"]).ok();
    scratch.git(["fetch", "-q", server, "+refs/notes/*:refs/notes/*"]).ok();
}

#[test]
fn a_forced_fetch_of_all_notes_drops_no_record() {
    let (scratch, commits, text) = recorded(&["one", "two"]);
    forced_fetch(&scratch, &commits);
    assert_eq!(scratch.records(&commits[1]).len(), 0, "the fetch has replaced our notes");
    assert_eq!(scratch.raw(&commits[1], &["--full"]), text, "the next command joins them again");
    assert_eq!(scratch.records(&commits[1]).len(), 1);
    let note = scratch.git(["notes", "--ref=shiftlog", "show", &commits[0]]).ok();
    assert!(note.contains("of somebody else") && note.contains("\"shiftlog\":1"), "{note}");
    // So does a commit's hook.
    forced_fetch(&scratch, &commits);
    let session = scratch.session("s2");
    session.prompt("three");
    session.edits("three.txt", "three");
    session.commits("three");
    assert_eq!(scratch.records(&commits[1]).len(), 1);
    scratch.assert_sound();
}

#[test]
fn a_forced_fetch_that_prunes_our_second_refs_drops_no_record() {
    let (scratch, commits, _) = recorded(&["one"]);
    let server = scratch.root().join("server.git");
    scratch.git(["clone", "-q", "--bare", ".", server.to_str().unwrap()]).ok();
    scratch.git(["push", "-q", "--no-verify", server.to_str().unwrap(), NOTES, ARCHIVE]).ok();
    let session = scratch.session("s2");
    let turn = |word: &str| {
        session.prompt(word);
        session.edits(&format!("{word}.txt"), word);
        session.commits(word)
    };
    let second = turn("two");
    let fetch = || {
        let refspecs = ["+refs/notes/*:refs/notes/*", "+refs/shiftlog/*:refs/shiftlog/*"];
        scratch.git([&["fetch", "-q", "--prune", server.to_str().unwrap()], &refspecs[..]].concat()).ok();
        assert_eq!(scratch.git(["for-each-ref", "refs/shiftlog/kept"]).ok(), "", "the fetch has pruned them");
    };
    fetch();
    assert_eq!(scratch.records(&second).len(), 0, "the fetch has replaced our notes");
    assert!(scratch.raw(&second, &[]).contains("two"), "the next command joins them again");
    // So does a commit's hook.
    fetch();
    let third = turn("three");
    fetch();
    assert!(!scratch.raw(&commits[0], &[]).is_empty());
    collect_garbage(&scratch);
    assert!(scratch.raw(&second, &[]).contains("two"));
    assert_eq!(scratch.raw(&third, &["--full"]), session.text());
    scratch.assert_sound();
}

#[test]
fn doctor_warns_of_a_fetch_that_replaces_our_notes() {
    let scratch = Scratch::set_up();
    scratch.git(["remote", "add", "origin", "../nowhere"]).ok();
    assert!(!scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout.contains("replaces our notes"));
    scratch.git(["config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]).ok();
    let told = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    assert!(
        told.contains("problem  remote.origin.fetch +refs/notes/*:refs/notes/*: a fetch replaces our notes"),
        "{told}"
    );
    let fix = told.lines().find_map(|line| line.trim().strip_prefix("fix: git config --unset")).unwrap().to_owned();
    scratch.run_in(&scratch.top, "sh", ["-c", &format!("git config --unset{fix}")]).ok();
    assert!(!scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout.contains("replaces our notes"));
    scratch.shiftlog("init", ["--agent=claude", "--share", "-q"]).ok();
    assert!(!scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout.contains("replaces our notes"));
}

#[test]
fn a_note_that_was_removed_by_hand_does_not_come_back() {
    let (scratch, commits, _) = recorded(&["one", "two"]);
    scratch.git(["notes", "--ref=shiftlog", "remove", &commits[0]]).ok();
    scratch.shiftlog("log", [""; 0]).ok();
    let session = scratch.session("s2");
    session.prompt("three");
    session.edits("three.txt", "three");
    session.commits("three");
    assert_eq!(scratch.records(&commits[0]).len(), 0);
    // Nor after the notes were pruned.
    scratch.git(["reset", "-q", "--hard", &commits[1]]).ok();
    collect_garbage(&scratch);
    scratch.git(["notes", "--ref=shiftlog", "prune"]).ok();
    let left = scratch.git(["notes", "--ref=shiftlog", "list"]).ok();
    scratch.shiftlog("fsck", ["--repair", "-q"]);
    scratch.shiftlog("log", [""; 0]).ok();
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "list"]).ok(), left);
}

#[test]
fn what_was_purged_is_not_kept() {
    let (scratch, commits, _) = recorded(&["one", "two"]);
    let segment = scratch.record(&commits[0])["through"].as_str().unwrap().to_owned();
    // The note is removed by hand, and only the kept tree still names it.
    let note = scratch.git(["notes", "--ref=shiftlog", "list", &commits[0]]).ok();
    scratch.git(["notes", "--ref=shiftlog", "remove", &commits[0]]).ok();
    scratch.shiftlog("purge", ["--all", "--session=s1", "--yes"]).ok();
    for id in [segment.as_str(), note.trim()] {
        assert_ne!(scratch.git(["cat-file", "-e", id]).code, 0, "{id} is gone");
    }
    scratch.shiftlog("fsck", ["--repair", "-q"]).ok();
    assert_eq!(listed(&scratch, ARCHIVE), "");
    // Also if the archive was lost when it was purged.
    let (scratch, commits, _) = recorded(&["one", "two"]);
    let segment = scratch.record(&commits[0])["through"].as_str().unwrap().to_owned();
    scratch.git(["update-ref", "-d", ARCHIVE]).ok();
    scratch.shiftlog("purge", ["--all", "--session=s1", "--yes"]).ok();
    assert_ne!(scratch.git(["cat-file", "-e", &segment]).code, 0);
    scratch.assert_sound();
}

#[test]
fn an_archive_of_an_earlier_version_is_kept_by_init_and_by_fsck() {
    for (command, option) in [("init", "--agent=claude"), ("fsck", "--repair")] {
        let (scratch, ..) = recorded(&["one"]);
        for name in KEPT {
            scratch.git(["update-ref", "-d", name]).ok();
        }
        scratch.shiftlog(command, [option, "-q"]).ok();
        assert_eq!(scratch.id(KEPT[1]), scratch.id(&format!("{ARCHIVE}^{{tree}}")), "{command}");
        assert_eq!(scratch.id(KEPT[0]), scratch.id(&format!("{NOTES}^{{tree}}")), "{command}");
    }
}

#[test]
fn a_damaged_ref_is_named_and_goes_back_to_what_is_whole() {
    for ref_name in [ARCHIVE, NOTES] {
        for what in ["commit", "tree", "file"] {
            let (scratch, commits, text) = recorded(&["one", "two", "three"]);
            let tip = scratch.id(ref_name);
            match what {
                "commit" => fs::remove_file(object_file(&scratch, &tip)).unwrap(),
                "tree" => {
                    let tree = scratch.id(&format!("{tip}^{{tree}}"));
                    fs::remove_file(object_file(&scratch, &tree)).unwrap();
                }
                _ => fs::write(scratch.top.join(".git").join(ref_name), "").unwrap(),
            }
            let case = format!("{ref_name}: {what}");
            let session = scratch.session("s2");
            session.prompt("while it is damaged");
            session.edits("d.txt", "d");
            let mut command = scratch.command("git", &scratch.top);
            scratch.git(["add", "-A"]).ok();
            command.env("CLAUDE_CODE_SESSION_ID", "s2").args(["commit", "-q", "-m", "damaged"]);
            let ran = feed(&mut command, b"");
            assert_eq!(ran.code, 0, "{case}: {ran:?}");
            assert!(
                ran.stderr.contains("hint: git shiftlog fsck --repair"),
                "{case}: {}\n{}",
                ran.stderr,
                scratch.log()
            );
            assert_eq!(scratch.waiting(), 1, "{case}");
            let checked = scratch.shiftlog("fsck", [""; 0]);
            assert_eq!(checked.code, 1, "{case}: {checked:?}");
            assert!(checked.stdout.contains(&format!("damaged-ref {ref_name}: ")), "{case}: {checked:?}");
            let repaired = scratch.shiftlog("fsck", ["--repair"]);
            assert_eq!(
                (repaired.code, repaired.stderr.as_str(), scratch.waiting()),
                (0, "", 0),
                "{case}: {repaired:?}"
            );
            let again = scratch.shiftlog("fsck", ["--repair"]);
            assert_eq!(again.code, 0, "{case}: {again:?}");
            assert_eq!(scratch.raw("HEAD", &[]), session.text(), "{case}");
            assert!(!scratch.raw(&commits[1], &[]).is_empty(), "{case}");
            if (ref_name, what) != (NOTES, "tree") {
                assert_eq!(scratch.raw(&commits[2], &["--full"]), text, "{case}");
            }
            scratch.assert_sound();
        }
    }
}

#[test]
fn what_we_keep_is_for_its_owner_or_for_the_group_that_shares_the_repository() {
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("mine");
    session.edits("a.txt", "a");
    session.commits("mine");
    let is_for = |scratch: &Scratch, directory: u32, file: u32| {
        let mut paths = scratch.state_files();
        assert!(paths.len() > 5, "{paths:?}");
        paths.push(scratch.state());
        for path in paths {
            let expected = if path.is_dir() { directory } else { file };
            assert_eq!(mode(&path), expected, "{}", path.display());
        }
    };
    is_for(&scratch, 0o700, 0o600);
    let scratch = Scratch::with(&["--shared=group"]);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = scratch.session("s1");
    session.prompt("ours");
    session.edits("a.txt", "a");
    session.commits("ours");
    is_for(&scratch, 0o2770, 0o660);
    // One that becomes a shared one later.
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("ours");
    session.edits("a.txt", "a");
    session.commits("ours");
    scratch.git(["config", "core.sharedRepository", "group"]).ok();
    session.prompt("more");
    is_for(&scratch, 0o2770, 0o660);
}

#[test]
fn reflogs_of_our_refs_have_a_line_for_each_move() {
    let (scratch, ..) = recorded(&["one", "two"]);
    for name in [ARCHIVE, NOTES] {
        let log = fs::read_to_string(scratch.top.join(".git/logs").join(name)).unwrap();
        assert!(log.lines().count() >= 2 && log.lines().all(|line| line.contains("\tshiftlog: ")), "{log:?}");
    }
}
