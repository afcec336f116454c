//! Purged words are still in the agents' own files: nothing of ours stores them again from there.

use std::fs;

use crate::purging::{SECRET, places, purge, says, text};
use crate::sharing::{Team, line};
use crate::support::Scratch;

/// The agent's own file of a session, where Claude Code has it.
fn agents_file(scratch: &Scratch, session: &str) -> std::path::PathBuf {
    let project: String =
        scratch.top.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let store = scratch.home().join(".claude/projects").join(project);
    fs::create_dir_all(&store).unwrap();
    store.join(format!("{session}.jsonl"))
}

#[test]
fn a_repair_stores_no_session_anew_of_which_words_were_purged() {
    for keeps_state in [true, false] {
        let scratch = Scratch::new();
        let words = ["first", SECRET, "third", "fourth"];
        for number in 1..=words.len() {
            scratch.commit("x", &format!("{number}\n"), "next");
            says(&scratch, &scratch.top, "s1", &words[..number]);
        }
        fs::write(agents_file(&scratch, "s1"), text(&words)).unwrap();
        purge(&scratch, &["HEAD~2"]).ok();
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
        let record = scratch.record("HEAD");
        let last = record["through"].as_str().unwrap();
        scratch.git(["unpack-objects", "-q"]);
        fs::remove_file(scratch.top.join(".git/objects").join(&last[..2]).join(&last[2..])).unwrap();
        if !keeps_state {
            scratch.lose_state();
        }
        let ran = scratch.shiftlog("fsck", ["--repair"]);
        assert!(!ran.stdout.contains("stored session"), "{ran:?}");
        assert_eq!(ran.code, 1, "the words of the last commit stay lost: {ran:?}");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "state: {keeps_state}");
        assert_eq!(scratch.raw("HEAD~1", &["--full"]), text(&["first", "third"]));
    }
}

#[test]
fn a_journal_that_cannot_be_read_stays_and_blocks_the_push() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", SECRET);
    let journal = a.join(".git/shiftlog/purging");
    let id = team.id(&a, "HEAD");
    let broken = [
        "{\"segments\":5}".to_owned(),
        "{}".to_owned(),
        String::new(),
        "some words\n".to_owned(),
        format!("{id}\nsome words\n"),
        "{\"notes_ref\":\"refs/notes/shiftlog\",\"tips\":[\"some words\"]}".to_owned(),
    ];
    for text in broken {
        fs::write(&journal, &text).unwrap();
        for args in [&["sync", "push"][..], &["fsck"], &["purge", "--received", "--yes"], &["purge", "--yes", "HEAD"]] {
            let ran = team.shiftlog(&a, args[0], &args[1..]);
            assert_ne!(ran.code, 0, "{text:?} {args:?}: {ran:?}");
            assert!(ran.stderr.contains("a purge was interrupted, and its journal '"), "{text:?} {args:?}: {ran:?}");
            assert!(ran.stderr.contains("shiftlog/purging' cannot be read"), "{text:?} {args:?}: {ran:?}");
            assert_eq!(fs::read_to_string(&journal).unwrap(), text, "{args:?}: it stays");
        }
        team.scratch.run_in(&a, "git-shiftlog--hook", ["git", "push-now", "origin"]).ok();
        assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new(), "{text:?}");
    }
    // The form of an earlier version, and no journal at all, are as before.
    fs::write(&journal, format!("{id}\n")).unwrap();
    let ran = team.shiftlog(&a, "fsck", &[]);
    assert!(ran.stderr.contains("a purge was interrupted; it is finished now"), "{ran:?}");
    assert!(!journal.exists());
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    assert_eq!(team.raw(&a, "HEAD").stdout, line(SECRET));
}
