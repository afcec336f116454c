//! Conversations go with a push that arrives, and with no other.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::sharing::Team;

/// Waits until the log of a clone has a line with these words.
pub(super) fn logged(clone: &Path, words: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let log = fs::read_to_string(clone.join(".git/shiftlog/log")).unwrap_or_default();
        if log.contains(words) {
            return;
        }
        assert!(Instant::now() < until, "{words}: {log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The names of our refs on the server.
pub(super) fn ours(team: &Team) -> String {
    team.git(&team.server, &["for-each-ref", "--format=%(refname)", "refs/notes", "refs/shiftlog"]).ok()
}

#[test]
fn a_push_that_another_hook_or_the_server_refuses_takes_nothing_along() {
    let team = Team::new();
    let clone = team.bare_clone("a", &[]);
    let hook = clone.join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nif test -e refuse; then echo 'a secret was found' >&2; exit 1; fi\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    team.shiftlog(&clone, "init", &["--agent=claude", "--share=all", "-q"]).ok();
    team.commit(&clone, "x", "1\n", "words that are mine");
    let push = |args: &[&str]| team.git(&clone, &[&["push", "-q", "origin"], args].concat());
    let nothing = "pushed nothing to origin: the push before it is not seen to have arrived";

    fs::write(clone.join("refuse"), "").unwrap();
    assert_ne!(push(&["main"]).code, 0);
    logged(&clone, nothing);
    assert_eq!(ours(&team), "");
    fs::remove_file(clone.join("refuse")).unwrap();
    fs::remove_file(clone.join(".git/shiftlog/log")).unwrap();

    team.refuse("true");
    assert_ne!(push(&["main"]).code, 0);
    logged(&clone, nothing);
    assert_eq!(ours(&team), "");
    fs::remove_file(team.server.join("hooks/update")).unwrap();

    push(&["main"]).ok();
    logged(&clone, "pushed 1 notes, 1 segments to origin");
    assert!(ours(&team).contains("refs/shiftlog/sessions\n"));

    // A server may take away at once what is pushed for review.
    fs::remove_file(clone.join(".git/shiftlog/log")).unwrap();
    let hook = team.server.join("hooks/post-receive");
    fs::write(&hook, "#!/bin/sh\ngit update-ref -d refs/for/main 2>/dev/null || true\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    team.commit(&clone, "x", "2\n", "more words of mine");
    push(&["HEAD:refs/for/main"]).ok();
    logged(&clone, "pushed 1 notes, 1 segments to origin");
}

/// A push whose server waits until a file is there.
fn push_that_waits(team: &Team, clone: &Path) -> Child {
    let hook = team.server.join("hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\ntouch begun\nwhile test ! -e go; do sleep 0.02; done\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let push = team.scratch.command("git", clone).args(["push", "-q", "origin", "main"]).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !team.server.join("begun").exists() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
    push
}

#[test]
fn what_is_no_longer_shared_when_a_push_arrives_stays_here() {
    let none = ["config", "shiftlog.origin.push", "none"];
    for (program, args) in [("git-shiftlog-init", &["--no-share", "-q"][..]), ("git", &none)] {
        let team = Team::new();
        let clone = team.clone_of("a", &[]);
        team.commit(&clone, "x", "1\n", "words that are mine");
        let mut push = push_that_waits(&team, &clone);
        let ran = team.scratch.command(program, &clone).args(args).status().unwrap();
        assert!(ran.success(), "{program}");
        fs::write(team.server.join("go"), "").unwrap();
        assert!(push.wait().unwrap().success());
        logged(&clone, "pushed nothing to origin: nothing is shared with it now");
        assert_eq!(ours(&team), "", "{program}");
    }
}

#[test]
fn after_deinit_nothing_is_pushed_and_nothing_comes_back() {
    for options in [&["-q"][..], &["-q", "--purge-refs", "--yes"]] {
        let team = Team::new();
        let clone = team.clone_of("a", &[]);
        team.commit(&clone, "x", "1\n", "words that are mine");
        let mut push = push_that_waits(&team, &clone);
        team.shiftlog(&clone, "deinit", options).ok();
        fs::write(team.server.join("go"), "").unwrap();
        assert!(push.wait().unwrap().success());
        // The process that was to push has this clone open until it ends.
        let until = Instant::now() + Duration::from_secs(60);
        while is_used(&clone) {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(ours(&team), "", "{options:?}");
        assert_eq!(clone.join(".git/shiftlog").exists(), options.len() == 1, "{options:?}");
    }
}

/// Otherwise the remote gets what is removed here meanwhile, and nobody knows that it has it.
#[test]
fn what_removes_records_waits_for_a_push_in_the_background() {
    for args in [&["deinit", "-q", "--purge-refs", "--yes"][..], &["purge", "--match=mine", "--yes"]] {
        let team = Team::new();
        let clone = team.clone_of("a", &[]);
        team.commit(&clone, "x", "1\n", "words that are mine");
        team.refuse("case $1 in refs/heads/*) false ;; *) sleep 2; false ;; esac");
        team.git(&clone, &["push", "-q", "origin", "main"]).ok();
        let until = Instant::now() + Duration::from_secs(60);
        while !clone.join(".git/shiftlog/exchange.lock").exists() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(10));
        }
        let ran = team.shiftlog(&clone, args[0], &args[1..]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ours(&team).contains("refs/shiftlog/sessions"), "{args:?}: it has waited");
        if args[0] == "deinit" {
            assert!(!clone.join(".git/shiftlog").exists());
            assert_eq!(team.git(&clone, &["for-each-ref", "refs/notes", "refs/shiftlog"]).ok(), "");
        } else {
            assert!(ran.stderr.contains("hint: git shiftlog sync push origin "), "{ran:?}");
        }
    }
}

/// Git goes on after the process is killed that has started it, be that a sync or a push in the background.
#[test]
fn what_removes_records_waits_for_a_push_whose_process_was_killed() {
    for is_background in [false, true] {
        let team = Team::new();
        let clone = team.clone_of("a", &[]);
        team.commit(&clone, "x", "1\n", "words that are mine");
        let begun = team.server.join("begun");
        team.refuse("case $1 in refs/heads/*) false ;; *) touch begun; sleep 2; false ;; esac");
        let mut sync = None;
        match is_background {
            true => drop(team.git(&clone, &["push", "-q", "origin", "main"]).ok()),
            false => sync = Some(team.scratch.command("git-shiftlog-sync", &clone).arg("-q").spawn().unwrap()),
        }
        let until = Instant::now() + Duration::from_secs(60);
        while !begun.exists() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(10));
        }
        match &mut sync {
            Some(sync) => sync.kill().unwrap(),
            None => {
                drop(team.scratch.run_in(&clone, "pkill", ["-KILL", "-f", "git-shiftlog--hook git push-now origin"]))
            }
        }
        let ran = team.shiftlog(&clone, "purge", &["--match=mine", "--yes"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ours(&team).contains("refs/shiftlog/sessions"), "it has waited");
        sync.into_iter().for_each(|mut sync| drop(sync.wait()));
    }
}

#[test]
fn what_a_push_of_everything_sends_is_known_and_a_mirror_gets_what_is_shared() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.commit(&clone, "x", "1\n", "words that are mine");
    let mirror = team.scratch.root().join("mirror");
    team.scratch.git(["init", "-q", "--bare", mirror.to_str().unwrap()]).ok();
    let url = format!("file://{}", mirror.display());
    team.git(&clone, &["remote", "add", "--mirror=push", "copy", &url]).ok();
    team.git(&clone, &["push", "-q", "copy"]).ok();
    let ran = team.shiftlog(&clone, "purge", &["--match=mine", "--yes"]);
    assert!(ran.code == 0 && ran.stderr.contains("hint: git shiftlog sync push copy "), "{ran:?}");
    let ran = team.shiftlog(&clone, "sync", &["push", "copy"]);
    assert!(ran.code == 0 && !ran.stderr.contains("error"), "{ran:?}");
    let there = |name: &str| team.git(&mirror, &["rev-parse", name]).ok();
    assert_eq!(there("refs/shiftlog/sessions"), team.git(&clone, &["rev-parse", "refs/shiftlog/sessions"]).ok());
}

/// Says whether a process works in a directory.
fn is_used(directory: &Path) -> bool {
    let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.any(|process| fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == directory))
}

#[test]
fn a_worktree_that_is_removed_after_a_push_from_it_shares_its_words() {
    for bare in [false, true] {
        let team = Team::new();
        let clone = team.clone_of("a", &[]);
        team.commit(&clone, "x", "1\n", "words of a worktree");
        let place = clone.with_file_name("place");
        team.git(&clone, &["worktree", "add", "-q", "-b", "topic", place.to_str().unwrap()]).ok();
        if bare {
            // Many keep a bare repository with nothing but linked worktrees.
            team.git(&clone, &["config", "core.bare", "true"]).ok();
        }
        // Git has the words of ours wait, so that the worktree is gone before they go.
        let hook = team.server.join("hooks/update");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\ncase $1 in refs/heads/*) ;; *) sleep 1;; esac\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        team.git(&place, &["push", "-q", "origin", "topic"]).ok();
        team.git(&clone, &["worktree", "remove", "--force", place.to_str().unwrap()]).ok();
        logged(&clone, "pushed 1 notes, 1 segments to origin");
        assert!(ours(&team).contains("refs/shiftlog/sessions\n"));
    }
}

#[test]
fn a_push_from_a_worktree_to_a_relative_address_shares_its_words() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.commit(&clone, "x", "1\n", "words of a worktree");
    let place = clone.parent().unwrap().join("deep/place");
    team.git(&clone, &["worktree", "add", "-q", "-b", "topic", place.to_str().unwrap()]).ok();
    // From the worktree, and from nowhere else.
    let name = team.server.file_name().unwrap().to_str().unwrap();
    team.git(&clone, &["config", "remote.origin.url", &format!("../../{name}")]).ok();
    team.git(&place, &["push", "-q", "origin", "topic"]).ok();
    logged(&clone, "pushed 1 notes, 1 segments to origin");
    assert!(ours(&team).contains("refs/shiftlog/sessions\n"));
}
