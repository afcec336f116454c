//! What `git commit`, `git commit --amend` and `git rebase` cost with our hooks, beside the same without any hook.

use std::fs;
use std::time::Duration;

use super::ROUNDS;
use super::sample::{Bar, Pairs, time};
use super::stage::{Stage, append};
use super::words::transcript;

/// No hook at all.
const NO_HOOKS: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];

/// A commit that an agent makes, and the agent's own hook behind it, which records it.
pub fn agent_commit() -> bool {
    let stage = Stage::new();
    stage.set_up();
    let empty = format!("core.hooksPath={}", stage.empty_hooks());
    let (mut seed, mut commits, mut shells, mut hooks) = (7, Pairs::default(), Pairs::default(), Pairs::default());
    for round in 0..ROUNDS {
        // A session of two megabytes, which has a record of most of them.
        let session = format!("s{round}");
        let path = stage.home().join(format!("{session}.jsonl"));
        let commit = |options: &[&str]| {
            let mut command = stage.git(&[options, &["commit", "-q", "--allow-empty", "-m", "by an agent"]].concat());
            command.env("CLAUDE_CODE_SESSION_ID", &session);
            command
        };
        fs::write(&path, transcript(2 << 20, &mut seed)).expect("room");
        stage.event("SessionStart", &path, round);
        stage.event("PostToolUse", &path, round);
        stage.run(commit(&[]));
        stage.event("PostToolUse", &path, round);
        append(&path, &transcript(100 << 10, &mut seed));
        commits.run(commit(&[]), commit(&NO_HOOKS));
        shells.run(commit(&["-c", &empty]), commit(&NO_HOOKS));
        // The hook finds the commit at HEAD, as it does where an agent makes one.
        stage.run(commit(&[]));
        let recorded = stage.recorded();
        hooks.run(stage.event_command("claude", "PostToolUse", Some(&path), &session), stage.append_note());
        assert!(stage.recorded() > recorded, "each commit was recorded");
        stage.event("SessionEnd", &path, round);
    }
    shells.report("agent's commit, a shell hook that does nothing", "git commit without hooks", Bar::None);
    let is_quick = commits.report("agent's commit", "git commit without hooks", Bar::Extra(2.0));
    hooks.report("the agent's hook that records it, 100 KB new", "git notes append", Bar::Ratio(2.5)) && is_quick
}

/// An amend of a commit that has a record.
pub fn amend() -> bool {
    let stage = Stage::new();
    stage.set_up();
    let path = stage.home().join("s1.jsonl");
    let mut seed = 7;
    append(&path, &transcript(20 << 10, &mut seed));
    stage.event("SessionStart", &path, 1);
    let record = || {
        append(&path, &transcript(1 << 10, &mut seed));
        stage.commit("recorded");
        stage.run(stage.hook(1));
        // The answer of the tool call goes with it.
        stage.event("Stop", &path, 1);
    };
    let amend = |options: &[&str]| {
        let rest = ["commit", "-q", "--amend", "--allow-empty", "-m", "amended"];
        time(stage.git(&[options, &rest].concat()))
    };
    let record = std::cell::RefCell::new(record);
    let mut pairs = Pairs::default();
    for _ in 0..ROUNDS {
        let measure = |options: &[&str]| {
            record.borrow_mut()();
            amend(options)
        };
        pairs.measure(|| measure(&[]), || measure(&NO_HOOKS));
    }
    pairs.report("amend of a recorded commit", "the same without hooks", Bar::Extra(5.0))
}

/// A rebase of 200 commits of which 50 have a record.
pub fn rebase() -> bool {
    let stage = Stage::new();
    stage.set_up();
    let empty = format!("core.hooksPath={}", stage.empty_hooks());
    let path = stage.home().join("s1.jsonl");
    let mut seed = 7;
    append(&path, &transcript(20 << 10, &mut seed));
    stage.event("SessionStart", &path, 1);
    stage.run(stage.git(&["checkout", "-q", "-b", "topic"]));
    for number in 0..200 {
        fs::write(stage.top().join(format!("file{number}")), "words\n").expect("room");
        stage.run(stage.git(&["add", "."]));
        stage.commit(&format!("number {number}"));
        if number % 4 == 0 {
            // The first answer in it is taken for that of the commit before.
            append(&path, &transcript(8 << 10, &mut seed));
            stage.run(stage.hook(1));
            stage.event("Stop", &path, 1);
        }
    }
    assert_eq!(stage.recorded(), 50, "each fourth was recorded");
    stage.event("SessionEnd", &path, 1);
    stage.run(stage.git(&["checkout", "-q", "main"]));
    stage.commit("upstream");
    let rebase = |options: &[&str]| -> Duration {
        stage.run(stage.git(&["checkout", "-q", "-B", "work", "topic"]));
        time(stage.git(&[options, &["rebase", "-q", "main"]].concat()))
    };
    let (mut hooks, mut shells) = (Pairs::default(), Pairs::default());
    for _ in 0..ROUNDS / 10 {
        hooks.measure(|| rebase(&[]), || rebase(&NO_HOOKS));
        shells.measure(|| rebase(&["-c", &empty]), || rebase(&NO_HOOKS));
    }
    let what = "rebase of 200 commits with shell hooks that do nothing";
    shells.report(what, "the same without hooks", Bar::None);
    hooks.report("rebase of 200 commits, 50 recorded", "the same without hooks", Bar::Ratio(1.15))
}
