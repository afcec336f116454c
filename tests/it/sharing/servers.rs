//! Servers that refuse, are away, were set back, break off or leave something out.

use super::*;

#[test]
fn a_server_that_refuses_our_archive_still_gets_the_notes() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.refuse("case \"$1\" in refs/heads/*|refs/notes/*) false;; esac");
    let synced = team.shiftlog(&a, "sync", &[]);
    assert_eq!(
        (synced.code, synced.stdout.as_str()),
        (1, "origin: received 0 notes, 0 segments; sent 1 note, 0 segments\n")
    );
    assert!(synced.stderr.starts_with("error: 'origin' does not take 'refs/shiftlog/sessions': "), "{synced:?}");
    // Another remote can have the words.
    let words = team.scratch.root().join("words.git");
    team.scratch.git(["init", "-q", "--bare", words.to_str().unwrap()]).ok();
    team.git(&a, &["remote", "add", "words", words.to_str().unwrap()]).ok();
    team.git(&a, &["config", "shiftlog.sessionsRemote", "words"]).ok();
    assert_eq!(
        team.shiftlog(&a, "sync", &["origin"]).ok(),
        "origin: received 0 notes, 0 segments; sent 0 notes, 1 segment\n"
    );
    assert_eq!(team.git(&words, &["for-each-ref", "--format=%(refname)"]).ok(), "refs/shiftlog/sessions\n");
}

#[test]
fn a_server_that_refuses_both_says_so_of_each() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.refuse("case \"$1\" in refs/heads/*) false;; esac");
    let told = team.shiftlog(&a, "sync", &[]).stderr;
    for name in ["refs/notes/shiftlog", "refs/shiftlog/sessions"] {
        assert!(told.contains(&format!("error: 'origin' does not take '{name}': hook declined\n")), "{told}");
    }
}

#[test]
fn a_remote_that_cannot_be_reached_is_one_line_and_loses_nothing() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    fs::rename(&team.server, team.server.with_extension("gone")).unwrap();
    let synced = team.shiftlog(&a, "sync", &[]);
    assert_eq!((synced.code, synced.stdout.as_str(), synced.stderr.lines().count()), (128, "", 1), "{synced:?}");
    assert!(synced.stderr.starts_with("fatal: 'git ls-remote' failed: "), "{synced:?}");
    team.assert_said(&a, "HEAD", &["words"]);
}

#[test]
fn a_remote_that_was_set_back_is_healed_by_the_next_sync() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.says(&a, "HEAD", "one");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let old = team.id(&team.server, "refs/notes/shiftlog");
    team.says(&a, "HEAD", "two");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.git(&team.server, &["update-ref", "refs/notes/shiftlog", &old]).ok();
    team.git(&team.server, &["update-ref", "-d", "refs/shiftlog/sessions"]).ok();
    team.says(&b, "HEAD", "three");
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    for clone in [&a, &b] {
        team.assert_said(clone, "HEAD", &["one", "two", "three"]);
    }
    let c = team.clone_of("c", &[]);
    team.shiftlog(&c, "sync", &["-q"]).ok();
    team.assert_said(&c, "HEAD", &["one", "two", "three"]);
}

#[test]
fn a_connection_that_is_cut_anywhere_loses_nothing_and_the_next_sync_goes_on() {
    let team = Team::new();
    let Some(daemon) = Daemon::start(&team.scratch) else { return };
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    let direct = format!("git://127.0.0.1:{}/server.git", daemon.port);
    let mut words = Vec::new();
    let mut cut = 0;
    for (round, limit) in [50, 300, 600, 900, 1200, 1500, 2000, 3000].into_iter().enumerate() {
        words.push(format!("words {round} of a"));
        team.says(&a, "HEAD", &words[words.len() - 1]);
        let way = format!("git://127.0.0.1:{}/server.git", daemon.cut_after(limit));
        team.git(&a, &["remote", "set-url", "origin", &way]).ok();
        let ran = team.shiftlog(&a, "sync", &[]);
        assert!([0, 1, 128].contains(&ran.code), "{ran:?}");
        cut += usize::from(ran.code != 0);
        let said: Vec<&str> = words.iter().map(String::as_str).collect();
        team.assert_said(&a, "HEAD", &said);
    }
    assert!(cut >= 2, "some of these were cut");
    team.git(&a, &["remote", "set-url", "origin", &direct]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["remote", "set-url", "origin", &direct]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let said: Vec<&str> = words.iter().map(String::as_str).collect();
    team.assert_said(&b, "HEAD", &said);
    team.assert_sound(&b);
    team.assert_sound(&team.server);
}

#[test]
fn what_a_server_leaves_out_is_noticed_and_fetched_the_next_time() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    let mut tips = Vec::new();
    for words in ["first", "second"] {
        team.says(&a, "HEAD", words);
        team.shiftlog(&a, "sync", &["-q"]).ok();
        if words == "first" {
            team.shiftlog(&b, "sync", &["-q"]).ok();
        }
        tips.push(team.git(&b, &["for-each-ref", "refs/shiftlog", "refs/notes"]).ok());
    }
    let liar = team.scratch.root().join("bin/liar");
    let blobless = "git rev-list --objects --stdin | cut -d' ' -f1 | git cat-file --batch-check | grep -v ' blob ' |\n\
                    cut -d' ' -f1 | git pack-objects --stdout -q\n";
    fs::write(&liar, format!("#!/bin/sh\n{blobless}")).unwrap();
    fs::set_permissions(&liar, fs::Permissions::from_mode(0o755)).unwrap();
    // Git takes this from a command line and from nowhere in the repository.
    let server = format!("git -c uploadpack.packObjectsHook={} upload-pack", liar.display());
    team.git(&b, &["config", "remote.origin.uploadpack", &server]).ok();
    let ran = team.shiftlog(&b, "sync", &["pull"]);
    assert_eq!(ran.code, 128, "{ran:?}");
    assert_eq!(
        team.git(&b, &["for-each-ref", "refs/shiftlog", "refs/notes"]).ok(),
        tips[0],
        "no ref names what is not here"
    );
    team.git(&b, &["config", "--unset", "remote.origin.uploadpack"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.assert_said(&b, "HEAD", &["first", "second"]);
    team.assert_sound(&b);
}

#[test]
fn a_clone_without_trees_reads_what_a_plain_fetch_brought() {
    let team = Team::new();
    team.git(&team.server, &["config", "uploadpack.allowFilter", "true"]).ok();
    team.git(&team.server, &["config", "uploadpack.allowAnySHA1InWant", "true"]).ok();
    let a = team.clone_of("a", &[]);
    for number in 0..3 {
        team.commit(&a, "x", &format!("{number}\n"), &format!("words {number}"));
    }
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let clone = team.clone_of("treeless", &["--filter=tree:0"]);
    team.git(&clone, &["fetch", "-q"]).ok();
    let log = team.shiftlog(&clone, "log", &[]);
    assert_eq!((log.code, log.stdout.lines().count(), log.stderr.as_str()), (0, 3, ""), "{log:?}");
    team.assert_said(&clone, "HEAD~1", &["words 1"]);
    team.commit(&clone, "x", "4\n", "words of the clone");
    assert!(team.shiftlog(&clone, "sync", &[]).ok().ends_with("sent 1 note, 1 segment\n"));
    team.shiftlog(&clone, "fsck", &["-q"]).ok();
}

#[test]
fn fsck_speaks_of_fetched_notes_and_not_of_transcripts_that_are_here() {
    let team = Team::new();
    let [_, b] = team.clones_after("words of a");
    team.commit(&b, "y", "1\n", "words of b");
    team.git(&b, &["fetch", "-q"]).ok();
    let told = team.shiftlog(&b, "fsck", &[]);
    let hint = "hint: fetched notes are checked once 'git shiftlog sync pull' has joined them\n";
    assert_eq!((told.code, told.stderr.as_str()), (0, hint), "{told:?}");
}
