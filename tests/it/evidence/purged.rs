//! Evidence is purged with its commit, by words, by time, and as others have purged it.

use std::fs;

use super::words::evidence;
use crate::purging::{places, purge};
use crate::sharing::Team;
use crate::support::Scratch;

fn attach(scratch: &Scratch, args: &[&str]) {
    scratch.shiftlog("evidence", [&["attach", "-q"], args].concat()).ok();
}

#[test]
fn a_commit_loses_its_evidence_and_the_text_and_others_keep_theirs() {
    let scratch = Scratch::new();
    fs::write(scratch.top.join(".git/info/exclude"), "*.log\n").unwrap();
    scratch.write("x.log", "error: about the wedding\n");
    scratch.write("y.log", "error: the cake\n");
    scratch.write("z.log", "error: other\n");
    attach(&scratch, &["--words", "x.log"]);
    attach(&scratch, &["y.log"]);
    let first = scratch.id("HEAD");
    // A copy has the same evidence, and some of its own.
    scratch.commit("a", "1\n", "next");
    attach(&scratch, &["--words", "x.log", "z.log"]);
    let planned = scratch.shiftlog("purge", ["-n", &first]).ok();
    assert_eq!(
        planned,
        "would remove 1 segment and change 0 segments and 2 notes\nevidence log x.log\nevidence log y.log\n"
    );
    let ran = purge(&scratch, &[&first]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for words in ["about the wedding", "the cake"] {
        assert!(places(&scratch, &scratch.top, words).is_empty(), "{words}");
    }
    assert!(evidence(&scratch, &first).is_empty());
    assert_eq!(scratch.shiftlog("evidence", ["show", "HEAD", "1"]).ok(), "error: other\n");
    let ran = scratch.shiftlog("evidence", ["attach", "--words", "x.log"]);
    let told = "fatal: cannot attach 'x.log': its text was removed with 'git shiftlog purge'\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (128, told));
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
    scratch.assert_sound();
    // By its digest.
    let sha256 = evidence(&scratch, "HEAD")[0]["sha256"].as_str().unwrap().to_owned();
    assert_eq!(purge(&scratch, &[&format!("--session={sha256}")]).code, 0);
    assert!(places(&scratch, &scratch.top, "error: other").is_empty() && evidence(&scratch, "HEAD").is_empty());
}

#[test]
fn a_match_goes_from_the_text_and_the_line_and_nothing_tells_of_the_old_text() {
    let scratch = Scratch::new();
    scratch.write("Ferdinand.log", "call Ferdinand\nerror: Ferdinand is late\n");
    attach(&scratch, &["--words", "--note=ask Ferdinand", "Ferdinand.log"]);
    let before = evidence(&scratch, "HEAD")[0].clone();
    let ran = purge(&scratch, &["--match=Ferdinand"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(places(&scratch, &scratch.top, "Ferdinand").is_empty());
    assert!(places(&scratch, &scratch.top, before["sha256"].as_str().unwrap()).is_empty(), "the digest is gone, too");
    let after = evidence(&scratch, "HEAD")[0].clone();
    assert_eq!(after["note"], "ask [REDACTED:purged]");
    assert_eq!(after["id"].as_str().unwrap(), &after["sha256"].as_str().unwrap()[..12]);
    let text = scratch.shiftlog("evidence", ["show"]).ok();
    assert_eq!(text, "call [REDACTED:purged]\nerror: [REDACTED:purged] is late\n");
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
    // Words that are also keys of the line, or digits of its digest.
    for pattern in ["log", "error", "[0-9a-f]"] {
        assert_eq!(purge(&scratch, &[&format!("--match={pattern}"), "--all"]).code, 0, "{pattern}");
        let left = evidence(&scratch, "HEAD");
        assert_eq!(left.len(), 1, "{pattern}: {}", scratch.git(["notes", "--ref=shiftlog", "show"]).ok());
        assert_eq!(left[0]["evidence"], "log");
        assert_eq!(scratch.shiftlog("evidence", ["show"]).code, 0, "{pattern}");
    }
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
}

#[test]
fn evidence_goes_by_the_time_at_which_its_text_was_written() {
    let scratch = Scratch::new();
    for (name, seconds) in [("old.log", 1_700_000_000), ("new.log", 1_790_000_000)] {
        scratch.write(name, &format!("error: {name}\n"));
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().write(true).open(scratch.top.join(name)).unwrap().set_modified(time).unwrap();
        attach(&scratch, &["--words", name]);
    }
    let ran = purge(&scratch, &["--before=2025-01-01T00:00:00Z"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(places(&scratch, &scratch.top, "error: old.log").is_empty());
    let left = evidence(&scratch, "HEAD");
    assert_eq!((left.len(), left[0]["name"].as_str()), (1, Some("new.log")));
    assert_eq!(scratch.shiftlog("evidence", ["show"]).ok(), "error: new.log\n");
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
}

#[test]
fn purged_evidence_does_not_come_back_and_is_hidden_where_others_have_it() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    fs::write(a.join("x.log"), "error: about the wedding\n").unwrap();
    fs::write(a.join("y.log"), "error: the cake\n").unwrap();
    let commit = team.commit(&a, "a.txt", "a\n", "one");
    team.shiftlog(&a, "evidence", &["attach", "-q", "--words", "HEAD", "x.log"]).ok();
    team.shiftlog(&a, "evidence", &["attach", "-q", "HEAD", "y.log"]).ok();
    team.git(&a, &["push", "-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    assert_eq!(team.shiftlog(&a, "purge", &["--all", "--yes", &commit]).code, 0);
    // The remote and the colleague still have it; the colleague goes on.
    fs::write(b.join("z.log"), "error: more\n").unwrap();
    team.shiftlog(&b, "evidence", &["attach", "-q", &commit, "z.log"]).ok();
    team.shiftlog(&b, "sync", &["push", "-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    for words in ["about the wedding", "the cake"] {
        let ours = team.shiftlog(&a, "show", &[&commit, "--evidence=full"]).ok();
        assert!(!ours.contains(words) && ours.contains("error: more"), "{ours}");
    }
    team.shiftlog(&b, "sync", &["pull", "-q"]);
    let theirs = team.shiftlog(&b, "show", &[&commit, "--evidence=full"]).stdout;
    assert!(!theirs.contains("wedding") && !theirs.contains("cake"), "{theirs}");
    assert_eq!(team.shiftlog(&b, "purge", &["--yes", "--received", "--all"]).code, 0);
    for words in ["about the wedding", "the cake"] {
        assert!(places(&team.scratch, &b, words).is_empty(), "{words}");
    }
    team.assert_sound(&b);
}
