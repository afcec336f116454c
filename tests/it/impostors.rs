//! A record, or a segment, that takes the words of one session for those of another.

use serde_json::{Value, json};

use crate::hostile::{encode, header};
use crate::support::{Scratch, feed};

/// Two sessions that commit in turn, and what a forged record needs to know of them.
struct TwoSessions {
    scratch: Scratch,
    s1: Value,
    s2: Value,
}

impl TwoSessions {
    fn new() -> Self {
        let scratch = Scratch::set_up();
        for (session, words) in [("s1", "words of the first"), ("s2", "words of the second")] {
            let session = scratch.session(session);
            session.prompt(words);
            session.edits("x", words);
            session.commits(words);
        }
        let (s1, s2) = (scratch.record("HEAD~"), scratch.record("HEAD"));
        TwoSessions { scratch, s1, s2 }
    }

    fn blob(&self, bytes: &[u8]) -> String {
        self.scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], bytes).ok().trim().to_owned()
    }

    /// A segment that calls itself one of the session `s1`, without words of its own, behind the segment of `s2`.
    fn behind_the_second(&self) -> String {
        let length = i64::try_from(self.s2["bytes"].as_u64().unwrap()).unwrap();
        self.blob(&encode(&header("s1", self.s2["through"].as_str(), length, 0), b""))
    }

    /// Adds a line to the note of a commit.
    fn note(&self, commit: &str, record: &Value) {
        self.scratch.git(["notes", "--ref=shiftlog", "append", "-m", &record.to_string(), commit]).ok();
    }
}

#[test]
fn a_record_that_names_the_words_of_another_session_shows_none_of_them() {
    let two = TwoSessions::new();
    let (scratch, own) = (&two.scratch, two.s1.clone());
    let behind = two.behind_the_second();
    for (what, since, through) in [
        ("its segments", Value::Null, two.s2["through"].clone()),
        ("its segments, after one of the session", own["through"].clone(), two.s2["through"].clone()),
        ("a segment behind them", Value::Null, json!(behind)),
        ("a segment behind them, after one of the session", own["through"].clone(), json!(behind)),
    ] {
        scratch.git(["commit", "-q", "--allow-empty", "-m", what]).ok();
        let forged = json!({ "shiftlog": 1, "agent": "claude", "session": "s1", "time": "2026-01-02T03:04:05Z",
            "turns": 1, "messages": 1, "since": since, "through": through,
            "bytes": two.s2["bytes"], "sha256": two.s2["sha256"] });
        two.note("HEAD", &forged);
        for options in [&[][..], &["--full"], &["--raw"], &["--raw", "--full"], &["--json"], &["--format=markdown"]] {
            let ran = scratch.shiftlog("show", options);
            assert!(!ran.stdout.contains("words of the second"), "{what}: {options:?}: {ran:?}");
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(ran.code == 1 && told.contains("is of another session"), "{what}: {options:?}: {ran:?}");
        }
        let found = scratch.shiftlog("grep", ["words of the second", "HEAD~..HEAD"]);
        assert_eq!(found.stdout, "", "{what}");
        assert!(found.stderr.contains("of another session"), "{what}: {found:?}");
        let verified = scratch.shiftlog("verify", ["HEAD"]);
        assert!(verified.code == 1 && verified.stdout.contains("of another session"), "{what}: {verified:?}");
    }
    let checked = scratch.shiftlog("fsck", [] as [&str; 0]);
    assert!(checked.stdout.contains("segments are of another session"), "{checked:?}");
    // A repair and a purge leave the other session alone.
    scratch.shiftlog("fsck", ["--repair"]);
    let purged = scratch.shiftlog("purge", ["--yes", "HEAD", "HEAD~", "HEAD~2", "HEAD~3"]);
    let told = "removing 0 segments and changing 0 segments and 2 notes\n";
    assert!(purged.code == 0 && purged.stdout.starts_with(told), "none of the session's own words goes: {purged:?}");
    assert_eq!(scratch.record("HEAD~4")["session"], "s2");
    assert!(scratch.raw("HEAD~4", &[]).contains("words of the second"), "the session itself is whole");
    assert!(scratch.raw("HEAD~5", &[]).contains("words of the first"), "and so is the other");
}

#[test]
fn a_longer_record_made_of_another_session_does_not_take_the_place_of_the_honest_one() {
    let two = TwoSessions::new();
    // It calls itself a segment of s2, but has all words of s1 and more.
    let length = two.s1["bytes"].as_i64().unwrap();
    let longer = two.blob(&encode(&header("s2", two.s1["through"].as_str(), length, 5), b"more\n"));
    let mut forged = two.s1.clone();
    (forged["through"], forged["bytes"]) = (json!(longer), json!(length + 5));
    two.note("HEAD~", &forged);
    let shown = two.scratch.shiftlog("show", ["HEAD~"]);
    assert!(shown.stdout.contains("words of the first"), "{shown:?}");
    assert!(shown.stdout.contains("is of another session"), "{shown:?}");
}

#[test]
fn a_newest_segment_of_another_session_is_not_built_upon() {
    let two = TwoSessions::new();
    let scratch = &two.scratch;
    let s2 = scratch.session("s2");
    // It stands in the archive where the newest segment of s2 should be, and has all its words.
    let length = two.s2["bytes"].as_i64().unwrap();
    let mut header = header("s1", two.s2["through"].as_str(), length, 0);
    header["sha256"] = two.s2["sha256"].clone();
    let forged = two.blob(&encode(&header, b""));
    let listed = scratch.git(["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).ok();
    let directory = listed.lines().find_map(|path| Some(path.rsplit_once('/')?.0).filter(|path| path.ends_with("~s2")));
    let index = scratch.top.join(".git/forged-index");
    let git = |args: &[&str]| {
        let mut command = scratch.command("git", &scratch.top);
        feed(command.env("GIT_INDEX_FILE", &index).args(args), b"").ok().trim().to_owned()
    };
    git(&["read-tree", "refs/shiftlog/sessions"]);
    let path = format!("{}/000099-{}.zst", directory.unwrap(), &forged[..12]);
    git(&["update-index", "--add", "--cacheinfo", &format!("100644,{forged},{path}")]);
    let commit = git(&["commit-tree", "-m", "forged", &git(&["write-tree"])]);
    git(&["update-ref", "refs/shiftlog/sessions", &commit]);
    scratch.lose_state();
    s2.hook("SessionStart");
    s2.prompt("later words");
    s2.edits("x", "later");
    s2.commits("later");
    assert_eq!(scratch.waiting(), 0, "{}", scratch.log());
    assert_eq!(scratch.raw("HEAD", &["--full"]), s2.text(), "{}", scratch.log());
}

#[test]
fn a_segment_that_is_lost_in_the_middle_of_an_increment_is_told() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("x", "1");
    session.commits("one");
    let known = scratch.git(["rev-parse", "refs/shiftlog/sessions"]).ok();
    session.prompt("lost words");
    session.hook("SessionEnd");
    let added = scratch.git(["diff-tree", "-r", known.trim(), "refs/shiftlog/sessions"]).ok();
    let lost = added.split_whitespace().nth(3).unwrap().to_owned();
    session.hook("SessionStart");
    session.prompt("last words");
    session.edits("x", "2");
    session.commits("two");
    assert_eq!(scratch.shiftlog("show", [] as [&str; 0]).code, 0);
    std::fs::remove_file(scratch.top.join(".git/objects").join(&lost[..2]).join(&lost[2..])).unwrap();
    let shown = scratch.shiftlog("show", [] as [&str; 0]);
    assert!(shown.stdout.contains("last words") && !shown.stdout.contains("lost words"), "{shown:?}");
    assert!(shown.code == 1 && shown.stdout.contains("bytes of the transcript are missing"), "{shown:?}");
}
