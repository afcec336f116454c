//! Repositories with much in them: no command needs much memory, and what is left out is told.
//!
//! The programs are those in `$SHIFTLOG_INSTALLED`, if that is set: what is installed does this several times as fast as a debug
//! build.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{assert_harmless, run_from};
use crate::corpus;
use crate::support::{Ran, Scratch, bin_dir};

fn run(scratch: &Scratch, dir: &Path, args: &[&str]) -> Ran {
    let programs = std::env::var_os("SHIFTLOG_INSTALLED").map_or_else(bin_dir, PathBuf::from);
    run_from(&programs, scratch, dir, args)
}

/// Returns what makes a corpus in a repository.
pub fn maker(scratch: &Scratch) -> corpus::Maker {
    let env = scratch.env.clone();
    let git = move |top: &Path| {
        let mut command = Command::new("git");
        command.current_dir(top).env_clear().envs(&env);
        command
    };
    corpus::Maker::new(scratch.top.clone(), Box::new(git))
}

/// Makes a case of the corpus.
fn made(name: &str) -> Scratch {
    let (_, make) = corpus::CASES.iter().find(|case| case.0 == name).unwrap();
    let scratch = Scratch::new();
    make(&maker(&scratch));
    scratch
}

/// Tries reading commands on a fourth of the corpus.
fn try_fourth(number: usize) {
    for (name, _) in corpus::CASES.iter().skip(number).step_by(4) {
        let scratch = made(name);
        for args in &corpus::COMMANDS[..corpus::TRIED] {
            println!("{name}: {args:?}");
            assert_harmless(&format!("{name}: {args:?}"), &run(&scratch, &scratch.top, args));
        }
    }
}

#[test]
fn no_command_needs_much_memory_on_the_first_fourth_of_the_corpus() {
    try_fourth(0);
}

#[test]
fn no_command_needs_much_memory_on_the_second_fourth_of_the_corpus() {
    try_fourth(1);
}

#[test]
fn no_command_needs_much_memory_on_the_third_fourth_of_the_corpus() {
    try_fourth(2);
}

#[test]
fn no_command_needs_much_memory_on_the_last_fourth_of_the_corpus() {
    try_fourth(3);
}

#[test]
fn long_messages_of_several_sessions_are_searched_one_after_the_other() {
    let scratch = made("two messages of 30 MiB");
    for args in [&["mcp"][..], &["search", "another"], &["grep", "-i", "x"]] {
        assert_harmless(&format!("{args:?}"), &run(&scratch, &scratch.top, args));
    }
}

#[test]
fn what_is_too_large_is_told() {
    for (name, args, told) in [
        ("a note of a million lines", &["log"][..], "the note is too large: lines left out: 995904"),
        ("a note of 600,000 records", &["show"], "the note is too large: lines left out: "),
        ("a note of 200 MiB in one line", &["log"], "cannot be read"),
        ("a note of 200 MiB in one line", &["show"], "cannot be read"),
        ("a session id of 40 MiB", &["show"], "the note is too large: lines left out: 1"),
        ("a header of 60 KiB", &["show"], "the header is longer than the file"),
        ("60 MiB of small messages", &["show", "--json"], "it is too large for what is stored of it"),
        ("60 MiB of small messages", &["get", "[conversation][HEAD]"], "the conversation is too long for one answer"),
        ("a line of ten million values", &["show"], "only the first 0 of "),
        ("4,000 records of one large segment", &["show"], "it is too large for what is stored of it"),
        ("200 sessions of 8 MiB that are stored in a few bytes", &["grep", "zzz"], "sessions left out: "),
        ("2,000 records of 8,000 segments that keep a half", &["grep", "zzz"], "sessions left out: "),
        (
            "2,000 records of 8,000 segments that keep a half",
            &["verify"],
            "it was not read: the note names too many segments",
        ),
        ("a million turns in little more than a megabyte", &["show"], "it is too large for what is stored of it"),
        ("4,000 sessions of 300 messages", &["export", "--html"], " conversations too large to be shown whole"),
        ("5,000 segments that keep nothing", &["fsck"], "the transcript does not match its digest"),
    ] {
        let scratch = made(name);
        let ran = run(&scratch, &scratch.top, args);
        assert!(ran.code != 0, "{name}: {args:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(told), "{name}: {args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_session_that_is_too_large_to_read_is_not_called_damaged_or_missing() {
    let scratch = made("60 MiB of small messages");
    let limit = "at most 32 MiB are read, and 16 bytes more for each one that is stored";
    let large = |then: &str| format!("warning: words of 1 record are too large to be read here ({limit}); {then}\n");
    for (args, told) in [
        (&["stats", "--words"][..], large("notes count instead")),
        (&["stats", "--tools"], large("what they called is not counted")),
        (
            &["export", "--html", "-o", "page.html"],
            format!(
                "warning: 1 conversation too large to be shown whole; {limit}\n\
                 hint: 'git shiftlog show --raw' prints all of it\n"
            ),
        ),
    ] {
        let ran = run(&scratch, &scratch.top, args);
        assert!(ran.stderr.contains(&told), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("damaged") && !ran.stderr.contains("not here"), "{args:?}: {}", ran.stderr);
    }
    // No commit has it.
    scratch.git(["notes", "--ref=shiftlog", "remove", "HEAD"]).ok();
    let ran = run(&scratch, &scratch.top, &["stats", "--unrecorded"]);
    let told = large("they are not counted").replace("record", "session");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
}

#[test]
fn what_is_large_and_honest_is_read_whole() {
    let scratch = Scratch::new();
    let maker = maker(&scratch);
    let texts = maker.honest(200, 100 << 10);
    assert_eq!(scratch.raw("HEAD", &[]), texts.concat(), "a commit with 200 sessions");
    let shown = scratch.shiftlog("show", ["--json"]).ok();
    assert_eq!(shown.lines().count(), 200);
    let texts = maker.honest(1, 60 << 20);
    assert_eq!(scratch.raw("HEAD", &["--full"]), texts.concat(), "a session of 60 MiB");
    let shown = scratch.shiftlog("show", ["--json"]).ok();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["conversation"].as_array().unwrap().len(), texts[0].lines().count());
}
