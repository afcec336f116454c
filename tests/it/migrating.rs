//! `migrate` makes records of ours out of the notes of the earlier tools, and loses nothing.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::earlier::{document, transcript};
use crate::support::{Ran, Scratch, feed};

pub const FIRST_REF: &str = "refs/notes/claude-conversations";

/// A transcript of so many questions with their answers; a longer one continues a shorter.
pub fn talk(session: &str, questions: usize) -> String {
    (0..questions).map(|number| transcript(&format!("{session} asks question {number}"))).collect()
}

/// Attaches a note to a commit as `git notes` does.
pub fn attach(scratch: &Scratch, notes_ref: &str, revision: &str, note: &str) {
    let mut command = scratch.command("git", &scratch.top);
    command.args(["notes", "--ref", notes_ref, "add", "-f", "-F", "-", revision]);
    assert_eq!(feed(&mut command, note.as_bytes()).code, 0);
}

pub fn pretty(document: &Value) -> String {
    serde_json::to_string_pretty(document).unwrap()
}

pub fn migrate(scratch: &Scratch, options: &[&str]) -> Ran {
    scratch.shiftlog("migrate", options)
}

/// Makes commits, and for each a document of the whole session so far. Returns them with the transcripts.
pub fn one_session(scratch: &Scratch, notes_ref: &str, commits: usize) -> Vec<(String, String)> {
    let mut made = Vec::new();
    for number in 1..=commits {
        let commit = scratch.commit("a.txt", &format!("{number}\n"), &format!("change {number}"));
        let text = talk("old", number * 3);
        let mut document = document("old", &text);
        document["timestamp"] = format!("2026-01-02T03:0{number}:05Z").into();
        document["model"] = format!("claude-test-{number}").into();
        let note = if number % 2 == 0 { document.to_string() } else { pretty(&document) };
        attach(scratch, notes_ref, "HEAD", &note);
        made.push((commit, text));
    }
    made
}

pub fn refs(scratch: &Scratch) -> String {
    scratch.git(["for-each-ref"]).ok()
}

pub fn segments(scratch: &Scratch) -> Vec<String> {
    let listed = scratch.git(["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).stdout;
    listed.lines().map(str::to_owned).collect()
}

#[track_caller]
pub fn assert_full(scratch: &Scratch, commit: &str, session: &str, text: &str) {
    assert_eq!(scratch.raw(commit, &["--full", &format!("--session={session}")]), text);
}

#[track_caller]
pub fn assert_whole(scratch: &Scratch) {
    scratch.assert_sound();
    let fsck = scratch.shiftlog("fsck", [""; 0]);
    assert_eq!(fsck.code, 0, "{fsck:?}");
}

#[test]
fn a_session_that_stood_whole_on_each_commit_is_stored_once() {
    for notes_ref in ["refs/notes/shiftlog", FIRST_REF] {
        let scratch = Scratch::new();
        let made = one_session(&scratch, notes_ref, 4);
        let old = scratch.id(notes_ref);
        let list = |scratch: &Scratch| scratch.shiftlog("log", ["--format=%H %(agent) %(session) %(model)"]).ok();
        let before = list(&scratch);
        migrate(&scratch, &[]).ok();
        assert_eq!(list(&scratch), before, "the same sessions on the same commits");
        let mut since = Value::Null;
        let mut said = 0;
        for (number, (commit, text)) in made.iter().enumerate() {
            assert_full(&scratch, commit, "old", text);
            assert_eq!(scratch.raw(commit, &[]), text[said..], "an increment is what the commit added");
            let record = scratch.record(commit);
            assert_eq!(record["since"], since);
            let time = format!("2026-01-02T03:0{}:05Z", number + 1);
            assert_eq!(record["time"], time);
            let segment = scratch.git(["cat-file", "blob", record["through"].as_str().unwrap()]).bytes;
            let header = String::from_utf8_lossy(&segment).into_owned();
            assert!(header.contains(&format!("\"time\":\"{time}\"")), "captured then: {header}");
            assert_eq!(record["model"], format!("claude-test-{}", number + 1));
            assert_eq!((&record["turns"], &record["messages"]), (&json!(3), &json!(6)));
            assert_eq!(record["prompt"], format!("old asks question {}", number * 3));
            since = record["through"].clone();
            said = text.len();
        }
        assert_eq!(segments(&scratch).len(), 4, "each word once");
        assert_eq!(scratch.id(&notes_ref.replace("refs/", "refs/shiftlog/backup/")), old);
        assert_whole(&scratch);
    }
}

#[test]
fn what_is_migrated_already_is_left_alone() {
    let scratch = Scratch::new();
    one_session(&scratch, "refs/notes/shiftlog", 3);
    one_session(&scratch, FIRST_REF, 2);
    migrate(&scratch, &[]).ok();
    let before = refs(&scratch);
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
    assert_eq!(migrate(&scratch, &["--dry-run"]).ok(), "nothing to do\n");
    assert_eq!(refs(&scratch), before);
}

#[test]
fn a_dry_run_says_all_and_writes_nothing() {
    let scratch = Scratch::new();
    one_session(&scratch, "refs/notes/shiftlog", 2);
    one_session(&scratch, FIRST_REF, 1);
    let hook = scratch.top.join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\n\n# claudit-managed start\nclaudit sync push\n# claudit-managed end\n").unwrap();
    let count = || scratch.git(["count-objects"]).ok();
    let before = (refs(&scratch), count());
    let planned = migrate(&scratch, &["--dry-run"]).ok();
    assert_eq!((refs(&scratch), count()), before);
    assert!(!scratch.state().exists() && hook.exists());
    assert_eq!(migrate(&scratch, &["-n", "-q"]).ok(), planned, "a dry run that says nothing would be for nobody");
    assert_eq!(
        planned,
        format!(
            "keep refs/notes/shiftlog as refs/shiftlog/backup/notes/shiftlog\n\
             keep {FIRST_REF} as refs/shiftlog/backup/notes/claude-conversations\n\
             migrate session claude/old on 3 commits\n\
             leave {FIRST_REF}, whose sessions are under refs/notes/shiftlog as well\n\
             remove {}\n",
            hook.display()
        )
    );
    assert_eq!(migrate(&scratch, &[]).ok(), planned, "it did what it said");
    assert!(!hook.exists());
}

#[test]
fn quiet_says_nothing_when_it_is_done() {
    let scratch = Scratch::new();
    one_session(&scratch, "refs/notes/shiftlog", 1);
    let ran = migrate(&scratch, &["-q"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert_eq!(scratch.records("HEAD").len(), 1);
}

#[test]
fn several_sessions_foreign_lines_and_our_own_records_share_a_note() {
    let scratch = Scratch::new();
    let (one, two, ours) = (talk("one", 2), talk("two", 3), talk("ours", 1));
    let mut command = scratch.command("git", &scratch.top);
    command.args(["shiftlog", "add", "-q", "--transcript=-", "--session=ours"]);
    assert_eq!(feed(&mut command, ours.as_bytes()).code, 0);
    let record = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    let note = format!(
        "a human's remark\n{}\n{record}{}\n{{\"other\":\"tool\"}}\n",
        pretty(&document("one", &one)),
        document("two", &two)
    );
    attach(&scratch, "shiftlog", "HEAD", &note);
    migrate(&scratch, &[]).ok();
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    let lines: Vec<&str> = note.lines().collect();
    assert_eq!(lines[..3], ["a human's remark", record.trim(), "{\"other\":\"tool\"}"], "what is not theirs stays");
    assert_eq!(lines.len(), 5);
    for (session, text) in [("one", &one), ("two", &two), ("ours", &ours)] {
        assert_full(&scratch, "HEAD", session, text);
    }
    assert_whole(&scratch);
}

#[test]
fn a_transcript_can_be_repeated_cut_short_or_rewritten() {
    let scratch = Scratch::new();
    let long = talk("old", 4);
    let texts = [
        long.clone(),
        long.clone(),
        talk("old", 2),
        format!("{}{}", talk("old", 3), transcript("another way")),
        format!("{long}{}", transcript("the first way after all")),
        talk("other", 1),
    ];
    let mut commits = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        commits.push(scratch.commit("a.txt", &format!("{number}\n"), "change"));
        attach(&scratch, "shiftlog", "HEAD", &document("old", text).to_string());
    }
    migrate(&scratch, &[]).ok();
    for (commit, text) in commits.iter().zip(&texts) {
        assert_full(&scratch, commit, "old", text);
        assert!(text.ends_with(&scratch.raw(commit, &[])), "an increment is an end of it");
        assert_ne!(scratch.raw(commit, &[]), "", "no commit is left without words");
    }
    assert_eq!(scratch.record(&commits[0])["through"], scratch.record(&commits[1])["through"]);
    assert_eq!(scratch.raw(&commits[3], &[]), transcript("another way"), "only what the rewriting changed");
    assert_whole(&scratch);
}

#[test]
fn a_last_line_without_an_end_gets_one() {
    let scratch = Scratch::new();
    let text = talk("old", 2);
    attach(&scratch, "shiftlog", "HEAD", &document("old", text.trim_end()).to_string());
    migrate(&scratch, &[]).ok();
    assert_full(&scratch, "HEAD", "old", &text);
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
}

#[test]
fn the_first_tools_ref_stays_and_nothing_is_shown_twice() {
    let scratch = Scratch::new();
    let made = one_session(&scratch, FIRST_REF, 2);
    let before = scratch.id(FIRST_REF);
    let ran = migrate(&scratch, &[]);
    let line = format!("leave {FIRST_REF}, whose sessions are under refs/notes/shiftlog as well\n");
    assert!(ran.stdout.contains(&line), "{ran:?}");
    assert_eq!(scratch.id(FIRST_REF), before);
    let listed = scratch.shiftlog("log", ["--format=%H %(session)"]).ok();
    assert_eq!(listed, format!("{} old\n{} old\n", made[1].0, made[0].0));
    assert_eq!(scratch.shiftlog("show", [""; 0]).ok().matches("\nsession claude old").count(), 1);
    // The earlier tool is used once more, and Git carries its note and ours over an amended commit.
    let text = talk("old", 9);
    scratch.commit("a.txt", "more\n", "more");
    attach(&scratch, FIRST_REF, "HEAD", &pretty(&document("old", &text)));
    migrate(&scratch, &[]).ok();
    assert_full(&scratch, "HEAD", "old", &text);
    assert_eq!(scratch.raw("HEAD", &[]), text[made[1].1.len()..], "it goes on from what was migrated before");
    for name in [FIRST_REF, "refs/notes/shiftlog"] {
        scratch.git(["config", "--add", "notes.rewriteRef", name]).ok();
    }
    scratch.git(["commit", "-q", "--amend", "-m", "amended"]).ok();
    assert_eq!(scratch.shiftlog("show", [""; 0]).ok().matches("\nsession claude old").count(), 1);
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
    assert_whole(&scratch);
}

#[test]
fn a_backup_is_never_overwritten() {
    let scratch = Scratch::new();
    scratch.git(["update-ref", "refs/shiftlog/backup/notes/shiftlog", "HEAD"]).ok();
    let theirs = scratch.id("HEAD");
    one_session(&scratch, "refs/notes/shiftlog", 1);
    let old = scratch.id("refs/notes/shiftlog");
    migrate(&scratch, &[]).ok();
    assert_eq!(scratch.id("refs/shiftlog/backup/notes/shiftlog"), theirs);
    assert_eq!(scratch.id("refs/shiftlog/backup/notes/shiftlog-2"), old);
    // One that names the same commit is good as it is.
    scratch.git(["update-ref", "refs/notes/shiftlog", &old]).ok();
    scratch.git(["update-ref", "-d", "refs/shiftlog/kept/notes/shiftlog"]).ok();
    scratch.git(["reflog", "expire", "--expire=all", "refs/notes/shiftlog"]).ok();
    migrate(&scratch, &[]).ok();
    assert_eq!(scratch.git(["for-each-ref", "--format=%(refname)", "refs/shiftlog/backup"]).ok().lines().count(), 2);
}

#[test]
fn damaged_documents_and_those_of_unknown_agents_stay_and_are_named() {
    let scratch = Scratch::new();
    let mut wrong = document("wrong", &talk("wrong", 1));
    wrong["checksum"] = "sha256:00".into();
    let mut garbled = document("garbled", &talk("garbled", 1));
    garbled["transcript"] = "!!!".into();
    let mut unknown = document("unknown", "{}\n");
    unknown["agent"] = "somebody-else".into();
    let good = talk("good", 2);
    let left = [pretty(&wrong), garbled.to_string(), pretty(&unknown)];
    attach(&scratch, "shiftlog", "HEAD", &format!("{}\n{}\n", left.join("\n"), document("good", &good)));
    let ran = migrate(&scratch, &[]);
    assert_eq!(ran.code, 1);
    let short = scratch.git(["rev-parse", "--short", "HEAD"]).ok();
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let named =
        |session: &str, why: &str| format!("error: session '{session}' on {} is left as it is: {why}", short.trim());
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert_eq!(lines[0], named("claude/wrong", "the transcript does not match its checksum"));
    assert!(lines[1].starts_with(&named("claude/garbled", "the transcript of session 'garbled' is damaged")));
    assert_eq!(lines[2], named("somebody-else/unknown", "this version does not know agent 'somebody-else'"));
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    assert!(note.starts_with(&(left.join("\n") + "\n")), "byte for byte: {note}");
    assert_full(&scratch, "HEAD", "good", &good);
    let before = refs(&scratch);
    let again = migrate(&scratch, &[]);
    assert_eq!((again.code, again.stdout.as_str(), refs(&scratch)), (1, "nothing to do\n", before));
}

/// Leaves the note of HEAD as 'git notes merge -s cat_sort_uniq' does of two documents.
fn tear(scratch: &Scratch, documents: &[Value]) {
    let mut lines: Vec<String> =
        documents.iter().flat_map(|document| pretty(document).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.sort();
    lines.dedup();
    attach(scratch, "shiftlog", "HEAD", &lines.join("\n"));
}

#[test]
fn documents_that_a_merge_has_torn_are_taken_from_history_or_left() {
    let (one, two) = (talk("one", 2), talk("two", 2));
    let documents = [document("one", &one), document("two", &two)];
    let scratch = Scratch::new();
    for document in &documents {
        attach(&scratch, "shiftlog", "HEAD", &pretty(document));
    }
    tear(&scratch, &documents);
    migrate(&scratch, &[]).ok();
    assert_full(&scratch, "HEAD", "one", &one);
    assert_full(&scratch, "HEAD", "two", &two);
    assert_eq!(scratch.records("HEAD").len(), 2, "no shreds are left");
    assert_whole(&scratch);
    // Where history does not have one of them, nothing is taken away.
    let scratch = Scratch::new();
    attach(&scratch, "shiftlog", "HEAD", &pretty(&documents[0]));
    tear(&scratch, &documents);
    let before = refs(&scratch);
    let ran = migrate(&scratch, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "nothing to do\n"));
    assert!(ran.stderr.contains("is left as it is: a merge has torn its note"), "{ran:?}");
    assert_eq!(refs(&scratch), before);
}

#[test]
fn secrets_are_redacted_on_the_way() {
    let scratch = Scratch::new();
    let secret = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    for questions in 1..=2 {
        scratch.commit("a.txt", &format!("{questions}\n"), "change");
        let text = format!("{}{}", transcript(&format!("use {secret}")), talk("old", questions));
        attach(&scratch, "shiftlog", "HEAD", &document("old", &text).to_string());
    }
    migrate(&scratch, &[]).ok();
    let raw = scratch.raw("HEAD", &["--full"]);
    assert!(!raw.contains(&secret) && raw.contains("question 1"), "{raw}");
    assert_eq!(scratch.raw("HEAD", &[]), talk("old", 2)[talk("old", 1).len()..]);
    assert!(!scratch.git(["notes", "--ref=shiftlog", "show", "HEAD~1"]).ok().contains(&secret));
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n", "the document counts, not what is left of it");
    // A key whose end is not there cannot be told from what follows it.
    let text = format!("{}-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n", talk("key", 1));
    let note = document("key", &text).to_string();
    attach(&scratch, "shiftlog", "HEAD", &note);
    let ran = migrate(&scratch, &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("is left as it is: its last lines begin a secret that does not end there"), "{ran:?}");
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok().trim(), note);
    // Without a redactor nothing is stored.
    let scratch = Scratch::new();
    one_session(&scratch, "refs/notes/shiftlog", 1);
    scratch.git(["config", "shiftlog.redact", "perhaps"]).ok();
    let before = refs(&scratch);
    assert_ne!(migrate(&scratch, &[]).code, 0);
    assert_eq!(refs(&scratch), before);
}

#[test]
fn who_must_wait_for_another_migration_is_told() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.state()).unwrap();
    let held = fs::File::create(scratch.state().join("migrate.lock")).unwrap();
    held.lock().unwrap();
    let mut command = scratch.command("git", &scratch.top);
    command.args(["shiftlog", "migrate", "-q"]).stderr(Stdio::piped());
    let mut waiting = command.spawn().unwrap();
    let mut told = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(told, "warning: waiting for another 'git shiftlog migrate' in this repository\n");
    drop(held);
    assert!(waiting.wait().unwrap().success());
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let scratch = Scratch::new();
    let made = one_session(&scratch, "refs/notes/shiftlog", 3);
    let mut others = Vec::new();
    for number in 0..3 {
        let text = talk(&format!("other-{number}"), 2);
        scratch.commit("b.txt", &format!("{number}\n"), "other");
        attach(&scratch, FIRST_REF, "HEAD", &document(&format!("other-{number}"), &text).to_string());
        others.push((scratch.id("HEAD"), format!("other-{number}"), text));
    }
    let start = || {
        let mut command = scratch.command("git", &scratch.top);
        command.args(["shiftlog", "migrate", "-q"]).spawn().unwrap()
    };
    let mut running: Vec<_> = (0..4).map(|_| start()).collect();
    // Somebody writes notes meanwhile.
    scratch.git(["notes", "--ref=shiftlog", "append", "-m", "a remark", &made[1].0]).ok();
    for child in &mut running {
        assert!(child.wait().unwrap().success());
    }
    // What 'git notes' overwrites, it overwrites for everybody; the next run sees to it.
    migrate(&scratch, &["-q"]).ok();
    for (commit, text) in &made {
        assert_full(&scratch, commit, "old", text);
    }
    for (commit, session, text) in &others {
        assert_full(&scratch, commit, session, text);
    }
    assert!(scratch.git(["notes", "--ref=shiftlog", "show", &made[1].0]).ok().contains("a remark\n"));
    assert_eq!(segments(&scratch).len(), 6, "nothing is stored twice");
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
    assert_whole(&scratch);
}

#[test]
fn a_crash_anywhere_is_made_good_by_the_next_run() {
    let build = || {
        let scratch = Scratch::new();
        let made = one_session(&scratch, "refs/notes/shiftlog", 3);
        attach(&scratch, FIRST_REF, "HEAD~2", &document("other", &talk("other", 2)).to_string());
        (scratch, made)
    };
    let trees = |scratch: &Scratch| {
        ["refs/notes/shiftlog", "refs/shiftlog/sessions"].map(|name| scratch.id(&format!("{name}^{{tree}}")))
    };
    let (undisturbed, _) = build();
    migrate(&undisturbed, &[]).ok();
    let points = [
        "migrate-kept",
        "segment-written",
        "archived",
        "migrate-stored",
        "objects-written",
        "commit-written",
        "ref-moved",
    ];
    for point in points {
        let (scratch, made) = build();
        let mut command = scratch.command("git", &scratch.top);
        command.env("SHIFTLOG_FAULT", point).args(["shiftlog", "migrate", "-q"]);
        assert_ne!(feed(&mut command, b"").code, 0, "{point}");
        for (commit, text) in &made {
            assert_full(&scratch, commit, "old", text);
        }
        migrate(&scratch, &[]).ok();
        assert_eq!(trees(&scratch), trees(&undisturbed), "as if nothing had happened: {point}");
        assert_whole(&scratch);
    }
}

#[test]
fn two_clones_that_migrate_on_their_own_agree() {
    let trees = |scratch: &Scratch| {
        one_session(scratch, "refs/notes/shiftlog", 3);
        migrate(scratch, &[]).ok();
        ["refs/notes/shiftlog", "refs/shiftlog/sessions"].map(|name| scratch.id(&format!("{name}^{{tree}}")))
    };
    assert_eq!(trees(&Scratch::new()), trees(&Scratch::new()));
}

#[test]
fn a_document_that_comes_back_is_taken_out_again() {
    let scratch = Scratch::new();
    let made = one_session(&scratch, "refs/notes/shiftlog", 1);
    let old = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    migrate(&scratch, &[]).ok();
    let new = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    attach(&scratch, "shiftlog", "HEAD", &format!("{new}{old}"));
    assert_eq!(scratch.shiftlog("show", [""; 0]).ok().matches("\nsession claude old").count(), 1);
    let said = migrate(&scratch, &[]).ok();
    assert!(said.contains("remove 1 document that had been migrated\n"), "{said}");
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show"]).ok(), new);
    assert_full(&scratch, &made[0].0, "old", &made[0].1);
}

#[test]
fn every_kind_of_repository_is_migrated() {
    for options in [&["--object-format=sha256"][..], &["--bare"][..]] {
        let is_bare = options == ["--bare"];
        let scratch = if is_bare { Scratch::new() } else { Scratch::with(options) };
        let made = one_session(&scratch, "refs/notes/shiftlog", 2);
        let top = if is_bare {
            let bare = scratch.root().join("bare.git");
            scratch.git(["clone", "-q", "--mirror", ".", bare.to_str().unwrap()]).ok();
            bare
        } else {
            scratch.top.clone()
        };
        scratch.shiftlog_in(&top, "migrate", [""; 0]).ok();
        let raw = scratch.shiftlog_in(&top, "show", ["--raw", "--full", &made[1].0]).ok();
        assert_eq!(raw, made[1].1);
    }
}

#[test]
fn what_was_removed_for_good_does_not_come_back() {
    let scratch = Scratch::new();
    let made = one_session(&scratch, "refs/notes/shiftlog", 2);
    migrate(&scratch, &[]).ok();
    scratch.shiftlog("purge", ["--all", "--session=old", "--yes"]);
    attach(&scratch, FIRST_REF, &made[1].0, &document("old", &made[1].1).to_string());
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
    assert_eq!(scratch.shiftlog("show", ["--raw", "--full"]).stdout, "");
}
