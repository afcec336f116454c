//! Purged words are still in the agents' own files: nothing of ours stores them again from there.

use std::fs;

use crate::purging::{SECRET, places, purge, says, text};
use crate::sharing::{Team, line};
use crate::support::{Scratch, Session};

/// The agent's own file of a session, where Claude Code has it.
pub fn agents_file(scratch: &Scratch, session: &str) -> std::path::PathBuf {
    let project: String =
        scratch.top.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let store = scratch.home().join(".claude/projects").join(project);
    fs::create_dir_all(&store).unwrap();
    store.join(format!("{session}.jsonl"))
}

/// Says something and commits it.
fn goes_on(session: &Session<'_>, number: u32, words: &str) -> String {
    session.prompt(words);
    session.edits("x", &format!("{number}\n"));
    session.commits(&format!("number {number}"))
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
fn a_session_whose_state_is_lost_goes_on_without_its_purged_words() {
    // Either the marks or our own files name the session.
    for lost in [&["live", "settled"][..], &["live", "settled", "purged"]] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        goes_on(&session, 1, "harmless");
        goes_on(&session, 2, &format!("use {SECRET}"));
        goes_on(&session, 3, "more");
        purge(&scratch, &["HEAD~1"]).ok();
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
        for name in lost {
            let _ = fs::remove_dir_all(scratch.state().join(name));
        }
        session.hook("SessionStart");
        goes_on(&session, 4, "what the lost state leaves out");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{lost:?}");
        assert!(scratch.log().contains("claude/s1: words of it were purged"), "{}", scratch.log());
        goes_on(&session, 5, "fifth words");
        goes_on(&session, 6, "sixth words");
        for (revision, words) in [("HEAD~1", "fifth words"), ("HEAD", "sixth words")] {
            let raw = scratch.raw(revision, &[]);
            assert!(raw.contains(words), "{lost:?}: {raw}: {}", scratch.log());
        }
        assert!(!scratch.raw("HEAD", &[]).contains("fifth words"), "each commit has its own words");
        let whole = scratch.raw("HEAD", &["--full"]);
        assert!(whole.contains("harmless") && whole.contains("more") && !whole.contains(SECRET), "{whole}");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{lost:?}");
        scratch.shiftlog("fsck", ["-q"]).ok();
    }
}

#[test]
fn a_session_goes_on_in_a_second_clone_without_what_was_purged_in_the_first() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    let session = team.scratch.session_in("s1", &a);
    goes_on(&session, 1, "harmless");
    goes_on(&session, 2, &format!("use {SECRET}"));
    goes_on(&session, 3, "more");
    team.shiftlog(&a, "purge", &["--yes", "HEAD~1"]).ok();
    team.git(&a, &["push", "-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    team.shiftlog(&b, "purge", &["--received", "--yes"]).ok();
    assert_eq!(places(&team.scratch, &b, SECRET), Vec::<String>::new());
    let session = team.scratch.session_in("s1", &b);
    goes_on(&session, 4, "what the second clone leaves out");
    assert_eq!(places(&team.scratch, &b, SECRET), Vec::<String>::new());
    goes_on(&session, 5, "fifth words");
    assert_eq!(places(&team.scratch, &b, SECRET), Vec::<String>::new());
    let raw = team.raw(&b, "HEAD").stdout;
    assert!(raw.contains("fifth words"), "{raw}");
    // A session that nobody purged is stored whole.
    let other = team.scratch.session_in("s2", &b);
    goes_on(&other, 6, "of another session");
    assert!(team.raw(&b, "HEAD").stdout.contains("of another session"));
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

#[test]
fn an_id_that_matches_stays_so_that_the_other_words_are_found() {
    let scratch = Scratch::set_up();
    let session = scratch.session("hunter2");
    session.prompt("the password is hunter2");
    session.edits("a.txt", "1\n");
    session.commits("one");
    session.hook("Stop");
    scratch.shiftlog("purge", ["--match=hunter2", "--yes"]).ok();
    let record = scratch.record("HEAD");
    assert_eq!(
        (&record["session"], &record["prompt"]),
        (&"hunter2".into(), &"the password is [REDACTED:purged]".into())
    );
    let said = scratch.raw("HEAD", &[]);
    assert!(said.contains("the password is [REDACTED:purged]") && !said.contains("is hunter2"), "{said}");
    // A pattern may match digests and names of keys as well.
    scratch.shiftlog("purge", ["--match=[0-9a-f]{3}|prompt", "--yes"]).ok();
    let again = scratch.record("HEAD");
    assert_eq!((&again["session"], &again["tree"]), (&record["session"], &record["tree"]));
    assert!(scratch.raw("HEAD", &[]).contains("REDACTED"));
    scratch.assert_sound();
}
