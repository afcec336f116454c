//! Two people purge different words of one session before either knows of it, and words that are not recorded yet.

use std::path::{Path, PathBuf};

use crate::purging::{SECRET, places, purge, says};
use crate::sharing::Team;
use crate::support::Scratch;

#[test]
fn what_two_people_purge_at_the_same_time_is_gone_for_both() {
    let matches = |word: &str| format!("--match={word}");
    let (secret, yakword) = (matches(SECRET), matches("Yakword"));
    let both = format!("{SECRET} and Yakword");
    // What the first and the second purge, and the words that stay.
    let cases: [(&str, &str, &[&str]); 5] = [
        (&secret, &yakword, &["harmless"]),
        ("HEAD~1", &yakword, &["harmless"]),
        (&secret, "HEAD~1", &["harmless"]),
        ("--session=s", &yakword, &[]),
        ("HEAD~1", "HEAD", &[]),
    ];
    for (first, second, stays) in cases {
        let case = format!("{first} and {second}");
        let team = Team::new();
        team.scratch.commit("x", "1\n", "one");
        team.scratch.commit("x", "2\n", "two");
        team.scratch.git(["push", "-q", "--no-verify", team.server.to_str().unwrap(), "HEAD:main"]).ok();
        let (a, b, c) = (team.clone_of("a", &[]), team.clone_of("b", &[]), team.clone_of("c", &[]));
        team.git(&a, &["checkout", "-q", "HEAD~1"]).ok();
        says(&team.scratch, &a, "s", &[&both]);
        team.git(&a, &["checkout", "-q", "-"]).ok();
        says(&team.scratch, &a, "s", &[&both, "harmless"]);
        for clone in [&a, &b, &c] {
            team.shiftlog(clone, "sync", &["-q"]).ok();
        }
        team.shiftlog(&a, "purge", &["--all", "--yes", first]).ok();
        team.shiftlog(&b, "purge", &["--all", "--yes", second]).ok();
        team.shiftlog(&a, "sync", &["push", "-q"]).ok();
        team.shiftlog(&b, "sync", &["-q"]);
        assert_eq!(places(&team.scratch, &a, SECRET), [""; 0], "{case}: before the marks are taken");
        team.shiftlog(&b, "purge", &["--received", "--yes", "--all"]).ok();
        for clone in [&b, &a] {
            team.shiftlog(clone, "sync", &["-q"]);
        }
        team.shiftlog(&a, "purge", &["--received", "--yes", "--all"]).ok();
        for clone in [&a, &b, &c] {
            team.shiftlog(clone, "sync", &["-q"]);
        }
        team.shiftlog(&c, "purge", &["--received", "--yes", "--all"]).ok();
        for clone in [&c, &a, &b, &c] {
            team.shiftlog(clone, "sync", &["-q"]);
        }
        team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
        for clone in [&a, &b, &c, &team.server] {
            for word in [SECRET, "Yakword"] {
                assert_eq!(places(&team.scratch, clone, word), [""; 0], "{case}: {word} in {}", clone.display());
            }
        }
        for clone in [&a, &b, &c] {
            if !stays.is_empty() {
                team.assert_said(clone, "HEAD", stays);
            }
            team.shiftlog(clone, "fsck", &["-q"]).ok();
        }
    }
}

/// What an agent has said since the last commit is recorded with the next one.
#[test]
fn matches_that_are_not_recorded_yet_are_told_of() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt(SECRET);
    session.edits("x", "1\n");
    session.commits("one");
    session.prompt(&format!("again {SECRET}"));
    let warning = "warning: session claude/s1 has matches that are not recorded yet, and its next commit will have them; \
                   run this again after that commit\n";
    let option = format!("--match={SECRET}");
    for args in [&["-n", &option][..], &[&option]] {
        let ran = purge(&scratch, args);
        assert!(ran.code == 0 && ran.stderr.contains(warning), "{args:?}: {ran:?}");
    }
    let ran = purge(&scratch, &[&option]);
    assert!(ran.code != 0 && ran.stderr.contains(warning), "nothing that is recorded matches: {ran:?}");
    session.edits("x", "2\n");
    session.commits("two");
    let ran = purge(&scratch, &[&option]);
    assert!(ran.code == 0 && !ran.stderr.contains("not recorded yet"), "{ran:?}");
    assert_eq!(places(&scratch, &scratch.top, SECRET), [""; 0]);

    // A sub-agent that was started since.
    let own = session.transcript.with_extension("").join("subagents/agent-a1.jsonl");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    let line = serde_json::json!({"type": "user", "isSidechain": true, "agentId": "a1", "sessionId": "s1", "uuid": "x",
        "message": {"role": "user", "content": format!("of a sub-agent: {SECRET}")}});
    std::fs::write(&own, format!("{line}\n")).unwrap();
    let ran = purge(&scratch, &["-n", &option]);
    assert!(ran.stderr.contains(&warning.replace("claude/s1", "claude/s1.a1")), "{ran:?}");

    // A session that no hook has told of yet, and that the next commit would find.
    let unseen = scratch.session("s2");
    unseen.record("user", &serde_json::json!({"role": "user", "content": SECRET}));
    let ran = purge(&scratch, &["-n", &option]);
    assert!(ran.stderr.contains(&warning.replace("claude/s1", "claude/s2")), "{ran:?}");

    // A session that is purged as a whole is recorded no more.
    purge(&scratch, &["--session=s1"]).ok();
    session.prompt(SECRET);
    let ran = purge(&scratch, &["-n", &option]);
    assert!(!ran.stderr.contains("claude/s1"), "{ran:?}");
}

/// One removes a whole commit, the other a word of that commit: what comes before it is nobody's to remove.
#[test]
fn what_comes_before_a_commit_that_two_people_purge_stays() {
    let team = Team::new();
    team.scratch.commit("x", "1\n", "one");
    team.scratch.commit("x", "2\n", "two");
    team.scratch.git(["push", "-q", "--no-verify", team.server.to_str().unwrap(), "HEAD:main"]).ok();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.git(&a, &["checkout", "-q", "HEAD~1"]).ok();
    says(&team.scratch, &a, "s", &["harmless"]);
    team.git(&a, &["checkout", "-q", "-"]).ok();
    says(&team.scratch, &a, "s", &["harmless", "Yakword"]);
    for clone in [&a, &b] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    team.shiftlog(&a, "purge", &["--yes", "HEAD"]).ok();
    team.shiftlog(&b, "purge", &["--yes", "--match=Yakword"]).ok();
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]);
    team.assert_said(&b, "HEAD~1", &["harmless"]);
    team.shiftlog(&b, "purge", &["--received", "--yes", "--all"]).ok();
    for clone in [&b, &a, &b] {
        team.shiftlog(clone, "sync", &["-q"]);
    }
    for clone in [&a, &b] {
        team.assert_said(clone, "HEAD~1", &["harmless"]);
        assert_eq!(places(&team.scratch, clone, "Yakword"), [""; 0]);
    }
}

/// Makes three clones that have a session with both words, of two commits.
fn three_clones() -> (Team, [PathBuf; 3]) {
    let team = Team::new();
    team.scratch.commit("x", "1\n", "one");
    team.scratch.commit("x", "2\n", "two");
    team.scratch.git(["push", "-q", "--no-verify", team.server.to_str().unwrap(), "HEAD:main"]).ok();
    let clones = ["a", "b", "c"].map(|name| team.clone_of(name, &[]));
    let [a, ..] = &clones;
    let first = format!("{SECRET} and Yakword");
    team.git(a, &["checkout", "-q", "HEAD~1"]).ok();
    says(&team.scratch, a, "s", &[&first]);
    team.git(a, &["checkout", "-q", "-"]).ok();
    says(&team.scratch, a, "s", &[&first, "harmless Gnuword"]);
    for clone in &clones {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    (team, clones)
}

/// Asserts that no command finds a word in a clone.
fn assert_hidden(team: &Team, clone: &Path, word: &str, when: &str) {
    let found = team.shiftlog(clone, "grep", &[word]);
    assert_eq!((found.code, found.stdout.as_str()), (1, ""), "{when}: {found:?}");
    for revision in ["HEAD", "HEAD~1"] {
        let shown = team.shiftlog(clone, "show", &[revision]).stdout;
        assert!(!shown.contains(word), "{when}: {shown}");
    }
}

#[test]
fn what_a_third_person_passes_on_brings_no_purged_words_back() {
    let (team, [a, b, c]) = three_clones();
    let two = team.scratch.root().join("two.git");
    team.git(&a, &["clone", "-q", "--bare", ".", two.to_str().unwrap()]).ok();
    team.shiftlog(&a, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.shiftlog(&c, "sync", &["-q"]);
    team.shiftlog(&c, "purge", &["--received", "--yes", "--all"]).ok();
    team.shiftlog(&c, "sync", &["-q"]);
    team.assert_said(&c, "HEAD", &["harmless Gnuword"]);
    for clone in [&b, &c] {
        team.git(clone, &["remote", "add", "two", two.to_str().unwrap()]).ok();
    }
    team.shiftlog(&c, "sync", &["push", "two", "-q"]).ok();
    team.shiftlog(&b, "purge", &["--yes", "--match=Yakword"]).ok();
    team.shiftlog(&b, "sync", &["pull", "two", "-q"]);
    assert_hidden(&team, &b, "Yakword", "after the pull");
    team.shiftlog(&b, "purge", &["--received", "--yes", "--all"]).ok();
    assert_hidden(&team, &b, SECRET, "after the marks are taken");
    team.assert_said(&b, "HEAD", &["harmless Gnuword"]);
    for clone in [&b, &c] {
        team.shiftlog(clone, "sync", &["two", "-q"]);
    }
    team.shiftlog(&c, "purge", &["--received", "--yes", "--all"]).ok();
    for clone in [&c, &b] {
        team.shiftlog(clone, "sync", &["two", "-q"]);
    }
    team.git(&two, &["gc", "-q", "--prune=now"]).ok();
    for clone in [&b, &c, &two] {
        for word in [SECRET, "Yakword"] {
            assert_eq!(places(&team.scratch, clone, word), [""; 0], "{word} in {}", clone.display());
        }
    }
}

#[test]
fn a_second_purge_of_one_of_two_brings_no_purged_words_back() {
    // Whether the first fetches what the second has done before it purges again.
    for fetches in [false, true] {
        let (team, [a, b, c]) = three_clones();
        team.shiftlog(&a, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
        team.shiftlog(&b, "purge", &["--yes", "--match=Yakword"]).ok();
        team.shiftlog(&a, "sync", &["push", "-q"]).ok();
        team.shiftlog(&b, "sync", &["pull", "-q"]);
        team.shiftlog(&b, "purge", &["--received", "--yes", "--all"]).ok();
        if fetches {
            team.shiftlog(&b, "sync", &["-q"]);
        }
        team.shiftlog(&a, "purge", &["--yes", "--match=Gnuword"]).ok();
        team.shiftlog(&a, "sync", &["-q"]);
        assert_hidden(&team, &a, "Gnuword", "after the second purge");
        team.shiftlog(&b, "sync", &["-q"]);
        assert_hidden(&team, &b, "Yakword", "after the second purge");
        for _ in 0..3 {
            for clone in [&b, &a, &c] {
                team.shiftlog(clone, "purge", &["--received", "--yes", "--all"]);
                team.shiftlog(clone, "sync", &["-q"]);
            }
        }
        team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
        for clone in [&a, &b, &c, &team.server] {
            for word in [SECRET, "Yakword", "Gnuword"] {
                assert_eq!(places(&team.scratch, clone, word), [""; 0], "{fetches}: {word} in {}", clone.display());
            }
        }
        for clone in [&a, &b, &c] {
            team.shiftlog(clone, "fsck", &["-q"]).ok();
        }
    }
}

/// Words that wait for a lock are stored behind what a purge has put in the place of the words before them.
#[test]
fn what_waits_while_a_purge_is_interrupted_is_stored_after_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt(&format!("first {SECRET}"));
    session.edits("x", "1\n");
    session.commits("one");
    let lock = scratch.top.join(".git/refs/shiftlog/sessions.lock");
    std::fs::write(&lock, "").unwrap();
    session.prompt("precious words");
    session.edits("x", "2\n");
    session.commits("two");
    let ran = purge(&scratch, &[&format!("--match={SECRET}")]);
    assert_ne!(ran.code, 0, "{ran:?}");
    std::fs::remove_file(&lock).unwrap();
    scratch.shiftlog("fsck", [""; 0]);
    assert!(scratch.shiftlog("show", ["HEAD"]).ok().contains("precious words"), "{}", scratch.log());
    // The session goes on as if nothing had been.
    session.prompt("more words");
    session.edits("x", "3\n");
    session.commits("three");
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    assert!(shown.contains("more words") && !shown.contains("precious"), "{shown}{}", scratch.log());
    assert_eq!(places(&scratch, &scratch.top, SECRET), [""; 0]);
    scratch.shiftlog("fsck", ["-q"]).ok();
}

/// A commit keeps the prompt of its own words, though the words before it went with what others have purged.
#[test]
fn a_commit_after_a_purge_of_others_keeps_its_prompt() {
    let team = Team::new();
    let scratch = &team.scratch;
    scratch.git(["remote", "add", "origin", team.server.to_str().unwrap()]).ok();
    scratch.shiftlog("init", ["--agent=claude", "--share=all", "-q"]).ok();
    let session = scratch.session("s1");
    session.prompt(SECRET);
    session.edits("x", "1\n");
    session.commits("one");
    session.says("the tail");
    session.hook("SessionEnd");
    scratch.git(["push", "-q", "--no-verify", "origin", "HEAD"]).ok();
    scratch.shiftlog("sync", ["-q"]).ok();
    let b = team.clone_of("b", &[]);
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.shiftlog(&b, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    session.prompt("goes on");
    session.edits("x", "2\n");
    let commit = session.commits("two");
    scratch.shiftlog("sync", ["-q"]);
    scratch.shiftlog("purge", ["--received", "--yes", "--all"]).ok();
    let record = scratch.record(&commit);
    assert_eq!(
        (&record["prompt"], &record["turns"]),
        (&serde_json::json!("goes on"), &serde_json::json!(1)),
        "{record}"
    );
}
