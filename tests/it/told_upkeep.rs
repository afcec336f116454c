//! Texts of instruction files are shared, checked, scanned and purged as conversations are.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::purging::{places, purge};
use crate::sharing::Team;
use crate::support::Scratch;
use crate::told::{exclude, names, rules, works};

#[test]
fn a_purged_record_takes_along_the_texts_that_nobody_else_names() {
    let scratch = Scratch::set_up();
    for path in ["CLAUDE.md", "CLAUDE.local.md"] {
        exclude(&scratch, path);
    }
    scratch.write("CLAUDE.md", "for everybody\n");
    scratch.write("CLAUDE.local.md", "about the wedding\n");
    let session = scratch.session("s1");
    let one = works(&session, "one");
    scratch.write("CLAUDE.local.md", "about nothing\n");
    let two = works(&session, "two");
    assert_eq!(places(&scratch, &scratch.top, "about the wedding").len(), 1);
    let ran = purge(&scratch, &[&one]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("removing 3 segments and changing 1 segment"), "{}", ran.stdout);
    assert!(places(&scratch, &scratch.top, "about the wedding").is_empty());
    assert_eq!(scratch.records(&one).len(), 0);
    let shown = scratch.shiftlog("rules", ["show", &two]).ok();
    assert!(shown.contains("    for everybody\n") && shown.contains("    about nothing\n"), "{shown}");
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");

    // The same text may be stored again, also within the second: it is in the working tree.
    scratch.write("CLAUDE.local.md", "about the wedding\n");
    let three = works(&session, "three");
    assert_eq!(names(&scratch, &three), ["CLAUDE.md", "CLAUDE.local.md"]);
    assert!(scratch.shiftlog("rules", ["show", &three]).ok().contains("about the wedding"));
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
}

#[test]
fn a_match_is_purged_from_instruction_files_and_nothing_tells_of_the_old_text() {
    let scratch = Scratch::set_up();
    exclude(&scratch, "CLAUDE.local.md");
    scratch.write("CLAUDE.local.md", "call Ferdinand at noon\n");
    let session = scratch.session("s1");
    let commit = works(&session, "one");
    let before = rules(&scratch, &commit)[0].clone();
    let ran = purge(&scratch, &["--match=Ferdinand"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(places(&scratch, &scratch.top, "Ferdinand").is_empty());
    let after = rules(&scratch, &commit)[0].clone();
    for key in ["text", "sha256", "bytes"] {
        assert_ne!(before[key], after[key], "{key}");
    }
    let shown = scratch.shiftlog("rules", ["show"]).ok();
    assert!(shown.contains("    call [REDACTED:purged] at noon\n"), "{shown}");
    let tree = scratch.git(["ls-tree", "-r", "refs/shiftlog/sessions"]).ok();
    assert!(!tree.contains(before["sha256"].as_str().unwrap()), "the digest of the old text is gone, too: {tree}");
    assert!(places(&scratch, &scratch.top, before["sha256"].as_str().unwrap()).is_empty());
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
    scratch.assert_sound();
    // A file name is a place for words, too.
    scratch.write(".claude/rules/Ferdinand.md", "who he is\n");
    exclude(&scratch, ".claude/rules");
    let commit = works(&session, "two");
    assert_eq!(purge(&scratch, &["--match=Ferdinand"]).code, 0);
    assert!(!scratch.record(&commit).to_string().contains("Ferdinand"));
    assert!(scratch.shiftlog("rules", ["show", &commit]).ok().contains("    who he is\n"), "the digests in it stay");
}

#[test]
fn secrets_that_were_stored_in_instruction_files_are_found_and_removed() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let scratch = Scratch::set_up();
    exclude(&scratch, "CLAUDE.local.md");
    scratch.write("CLAUDE.local.md", &format!("one\ntoken: {secret}\n"));
    scratch.git(["config", "shiftlog.redact", "false"]).ok();
    let session = scratch.session("s1");
    let commit = works(&session, "one");
    let two = works(&session, "two");
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    for revision in [&commit, &two] {
        let ran = scratch.shiftlog("scan", [revision]);
        assert_eq!(ran.code, 1);
        let found: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("CLAUDE.local.md:2: ")).collect();
        assert_eq!(found.len(), 1, "a text is looked at once: {}", ran.stdout);
        assert!(found[0].starts_with(&revision[..7]), "{}", ran.stdout);
    }
    assert_eq!(scratch.shiftlog("scan", ["--archive", "-q"]).code, 1);
    assert_eq!(scratch.shiftlog("scan", ["--fix", "--yes", &commit]).code, 0);
    assert!(places(&scratch, &scratch.top, secret).is_empty());
    assert_eq!(scratch.shiftlog("scan", [&commit]).ok(), "");
}

#[test]
fn a_colleague_reads_the_texts_and_a_lost_one_is_fetched_again() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    let scratch = &team.scratch;
    fs::write(a.join("CLAUDE.md"), "for the team\n").unwrap();
    let session = scratch.session_in("s1", &a);
    let commit = works(&session, "one");
    team.git(&a, &["push", "-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let expected = "CLAUDE.md, 13 bytes, claude\n\n    for the team\n\n";
    assert_eq!(team.shiftlog(&b, "rules", &["show", &commit]).ok(), expected);

    let note = team.git(&a, &["notes", "--ref=shiftlog", "show", &commit]).ok();
    let record: Value = serde_json::from_str(note.trim()).unwrap();
    let id = record["rules"][0]["text"].as_str().unwrap().to_owned();
    team.git(&a, &["unpack-objects", "-q"]);
    fs::remove_file(a.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    let ran = team.shiftlog(&a, "fsck", &["-q"]);
    assert_eq!(ran.code, 1);
    let sha256 = record["rules"][0]["sha256"].as_str().unwrap();
    assert_eq!(ran.stdout, format!("missing-segment {id} rules/{sha256}: object '{id}' is missing\n"));
    let ran = team.shiftlog(&a, "rules", &["show", &commit]);
    assert_eq!((ran.code, ran.stdout.contains("is missing]")), (1, true), "{}", ran.stdout);
    team.shiftlog(&a, "fsck", &["--repair", "-q"]);
    assert_eq!(team.shiftlog(&a, "fsck", &["-q"]).ok(), "");
    assert_eq!(team.shiftlog(&a, "rules", &["show", &commit]).ok(), expected);

    // The next recording needs no copy of a text that came from a colleague.
    let session = scratch.session_in("s2", &b);
    works(&session, "two");
    let tree = team.git(&b, &["ls-tree", "-r", "refs/shiftlog/sessions"]).ok();
    assert_eq!(tree.matches("/rules~").count(), 1, "{tree}");

    // What one removes, others bar.
    team.shiftlog(&a, "sync", &["-q"]).ok();
    assert_eq!(team.shiftlog(&a, "purge", &["--yes", "--match=for the team"]).code, 0);
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.shiftlog(&b, "sync", &["pull", "-q"]);
    let shown = team.shiftlog(&b, "rules", &["show", &commit]).stdout;
    assert!(!shown.contains("    for the team"), "{shown}");
}

#[test]
fn who_gets_only_notes_is_told_which_files_there_were() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    fs::write(a.join("CLAUDE.md"), "for the team\n").unwrap();
    let session = team.scratch.session_in("s1", &a);
    let commit = works(&session, "one");
    // Our hook would push the notes as well, in the background.
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.git(&a, &["push", "-q", "--no-verify", "origin", "refs/notes/shiftlog"]).ok();
    let b = team.clone_of("b", &[]);
    team.git(&b, &["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    assert!(team.shiftlog(&b, "show", &[&commit]).stdout.contains("told: CLAUDE.md\n"));
    assert_eq!(team.shiftlog(&b, "fsck", &["-q"]).ok(), "", "a remote may have the rest");
}

/// Which of two sessions of one commit counted was decided by their random names, and not the same way in each command.
#[test]
fn of_two_sessions_of_a_commit_both_count_whatever_their_names() {
    for names in [["a", "b"], ["b", "a"]] {
        let scratch = Scratch::set_up();
        scratch.write("CLAUDE.md", "one\n");
        scratch.write("pkg/CLAUDE.md", "two\n");
        let before = works(&scratch.session("zero"), "before");
        let top = scratch.session(names[0]);
        top.prompt("begin");
        top.edits("top.txt", "top\n");
        let below = scratch.session_in(names[1], &scratch.top.join("pkg"));
        below.prompt("go on");
        below.edits("below.txt", "below\n");
        let both = below.commits("both");
        let told: BTreeSet<usize> =
            scratch.records(&both).iter().map(|record| record["rules"].as_array().unwrap().len()).collect();
        assert_eq!(told, [1, 2].into(), "the sessions were told different files");
        let after = works(&scratch.session("last"), "after");
        let log = || scratch.shiftlog("log", ["--rules-changed", "--format=%s"]).ok();
        assert_eq!(log(), "both\n", "{names:?}");
        let diff = |one: &str, other: &str| scratch.shiftlog("rules", ["diff", one, other]);
        let differs = diff(&before, &both);
        assert_eq!((differs.code, differs.stdout.matches("\n+two\n").count()), (1, 1), "{differs:?}");
        assert_eq!(diff(&both, &after).ok(), "", "{names:?}");
        assert!(!scratch.shiftlog("show", [&after]).ok().contains(" since "), "{names:?}");
        assert_eq!(
            scratch.shiftlog("show", [&both]).ok().matches("pkg/CLAUDE.md added since ").count(),
            1,
            "{names:?}"
        );
        // A commit beside it is compared with the one before it in its own history.
        scratch.git(["checkout", "-q", "-b", "side", &before]).ok();
        works(&scratch.session("side"), "side");
        assert_eq!(scratch.shiftlog("log", ["--rules-changed", "--format=%s", "--all"]).ok(), "both\n", "{names:?}");
    }
}
