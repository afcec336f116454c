//! Commits that one tool call makes, in whatever way: each has the words that led to the call, made for its own tree.

use serde_json::{Value, json};

use crate::late_results::said;
use crate::support::{Ran, Scratch, Session};

/// Runs a command line as the agent's tool does.
fn runs(session: &Session<'_>, scratch: &Scratch, line: &str) {
    let mut shell = scratch.command("sh", &session.dir);
    Ran::of(shell.env("CLAUDE_CODE_SESSION_ID", "s1").args(["-ec", line]).output().unwrap()).ok();
}

fn subjects(scratch: &Scratch) -> Vec<String> {
    scratch.git(["log", "--format=%s", "--branches", "--not", "start"]).ok().lines().map(str::to_owned).collect()
}

#[test]
fn each_commit_of_a_call_has_what_led_to_it_however_it_was_made() {
    for (line, count) in [
        ("for n in a b c d; do git add $n; git commit -qm $n; done", 4),
        (
            "git add a; git commit -qm a; git commit -q --amend -m a2; git add b; git commit -qm b; git add c; git commit -qm c",
            3,
        ),
        (
            "git add a; git commit -qm a; git commit -q --amend -m a2; git commit -q --allow-empty -m empty; git add b; git commit -qm b",
            3,
        ),
        (
            "git switch -qc t; git add a; git commit -qm a; git switch -q main; git merge -q --no-ff -m merge t; git add b; git commit -qm b; git add c; git commit -qm c",
            4,
        ),
        ("git add a; git commit -qm a; git switch -qc t start; git add b; git commit -qm b", 2),
        (
            "git add a; git commit -qm a; git reset -q --soft HEAD~1; git add b; git commit -qm both; git add c; git commit -qm c",
            2,
        ),
    ] {
        for is_known_to_have_hooks in [true, false] {
            let scratch = Scratch::set_up();
            scratch.git(["tag", "start"]).ok();
            let session = scratch.session("s1");
            if is_known_to_have_hooks {
                session.prompt("look around");
                session.calls("look", "Bash", &json!({ "command": "ls" }));
                session.answers("look", "nothing");
                session.hook_for("PostToolUse", "look");
            }
            session.prompt("WANTED");
            for name in ["a", "b", "c", "d"] {
                session.edits(name, name);
            }
            session.calls("call", "Bash", &json!({ "command": line }));
            let said = session.text();
            runs(&session, &scratch, line);
            session.answers("call", "ENDED");
            session.hook_for("PostToolUse", "call");
            let why = format!("{line} (hooks: {is_known_to_have_hooks}):\n{}", scratch.log());
            let commits = scratch.git(["rev-list", "--branches", "--not", "start"]).ok();
            let commits: Vec<&str> = commits.lines().collect();
            assert_eq!(commits.len(), count, "{:?}\n{why}", subjects(&scratch));
            for commit in commits {
                let subject = scratch.git(["log", "-1", "--format=%s", commit]).ok();
                let records = scratch.records(commit);
                assert_eq!(records.len(), 1, "{subject}{why}");
                let raw = scratch.raw(commit, &[]);
                assert!(raw.starts_with(&said) && raw.len() <= session.text().len(), "{subject}{raw}\n{why}");
                let tree = scratch.git(["rev-parse", &format!("{commit}^{{tree}}")]).ok();
                let Value::String(made_for) = &records[0]["tree"] else { panic!("{subject}{why}") };
                assert_eq!(made_for, tree.trim(), "{subject}{why}");
            }
            assert_eq!(scratch.waiting(), 0, "{why}");
            let listed = scratch.shiftlog("log", ["--all"]).stdout;
            assert!(!listed.contains("(carried)") && !listed.contains("(no prompt)"), "{listed}{why}");
            let counted = scratch.shiftlog("stats", ["--json", "--all"]).stdout;
            let total: Value = serde_json::from_str(counted.lines().last().unwrap()).unwrap();
            assert_eq!(total["turns"], 1 + u64::from(is_known_to_have_hooks), "{counted}{why}");
        }
    }
}

/// Lets a session write files and begin a call.
fn begins(session: &Session<'_>, prompt: &str, files: &[&str], line: &str) {
    session.prompt(prompt);
    for name in files {
        session.edits(name, prompt);
    }
    session.calls(&call_of(prompt), "Bash", &json!({ "command": line }));
}

/// The id of the call that follows a prompt.
fn call_of(prompt: &str) -> String {
    format!("call-{}", prompt.to_lowercase())
}

fn ends(session: &Session<'_>, prompt: &str) {
    session.answers(&call_of(prompt), "ENDED");
    session.hook_for("PostToolUse", &call_of(prompt));
}

/// Returns the prompts among ONE and TWO that the records of a commit have.
fn prompts(scratch: &Scratch, revision: &str) -> Vec<String> {
    said(scratch, revision, &["ONE", "TWO"])
}

#[test]
fn a_commit_of_a_call_also_has_what_an_earlier_turn_said_of_its_files() {
    for has_hooks in [true, false] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        let ended = |prompt: &str| match has_hooks {
            true => ends(&session, prompt),
            false => session.answers(&call_of(prompt), "ENDED"),
        };
        begins(&session, "ONE", &["a", "b"], "git add a; git commit -qm a");
        runs(&session, &scratch, "git add a; git commit -qm a");
        ended("ONE");
        let line = "git add c; git commit -qm c; git add b; git commit -qm b";
        begins(&session, "TWO", &["c"], line);
        runs(&session, &scratch, line);
        ended("TWO");
        assert_eq!(prompts(&scratch, "HEAD"), ["ONE", "TWO"], "{has_hooks}: {}", scratch.log());
        assert_eq!(prompts(&scratch, "HEAD~1"), ["TWO"], "{has_hooks}: {}", scratch.log());
        assert_eq!(prompts(&scratch, "HEAD~2"), ["ONE"], "{has_hooks}: {}", scratch.log());
    }
}

#[test]
fn what_a_call_amends_has_an_earlier_turn_and_what_it_then_commits_has_its_own() {
    for has_hooks in [true, false] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        begins(&session, "ONE", &["a"], "git add a; git commit -qm a");
        runs(&session, &scratch, "git add a; git commit -qm a");
        if has_hooks {
            ends(&session, "ONE");
        } else {
            session.answers(&call_of("ONE"), "ENDED");
        }
        let line = "git add b; git commit -q --amend -m ab; git add c; git commit -qm c";
        begins(&session, "TWO", &["b", "c"], line);
        runs(&session, &scratch, line);
        ends(&session, "TWO");
        assert_eq!(prompts(&scratch, "HEAD"), ["TWO"], "{has_hooks}: {}", scratch.log());
        assert_eq!(prompts(&scratch, "HEAD~1"), ["ONE", "TWO"], "{has_hooks}: {}", scratch.log());
    }
}

#[test]
fn commits_of_a_call_that_cannot_be_recorded_at_once_get_its_words_later() {
    for has_hooks in [true, false] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        let line = "for n in a b c; do git add $n; git commit -qm $n; done";
        if has_hooks {
            begins(&session, "ZERO", &["z"], "ls");
            ends(&session, "ZERO");
        }
        begins(&session, "ONE", &["a", "b", "c"], line);
        let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        std::fs::write(&lock, "").unwrap();
        runs(&session, &scratch, line);
        ends(&session, "ONE");
        assert!(scratch.waiting() > 0);
        std::fs::remove_file(&lock).unwrap();
        scratch.shiftlog("log", [] as [&str; 0]);
        assert_eq!(scratch.waiting(), 0, "{}", scratch.log());
        for revision in ["HEAD", "HEAD~1", "HEAD~2"] {
            assert_eq!(prompts(&scratch, revision), ["ONE"], "{revision}, {has_hooks}: {}", scratch.log());
        }
    }
}

#[test]
fn a_person_who_commits_in_a_terminal_of_the_agents_gets_no_words_of_an_earlier_call() {
    for (has_hooks, runs_after) in [(true, "late"), (true, "never"), (true, "soon"), (false, "never")] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        if has_hooks {
            begins(&session, "ZERO", &["z"], "ls");
            ends(&session, "ZERO");
        }
        begins(&session, "ONE", &["a"], "git add a; git commit -qm a");
        runs(&session, &scratch, "git add a; git commit -qm a");
        if runs_after == "soon" {
            // The agent writes the result when the hook has run.
            session.hook_for("PostToolUse", &call_of("ONE"));
        }
        session.answers(&call_of("ONE"), "ENDED");
        if runs_after == "late" {
            session.hook_for("PostToolUse", &call_of("ONE"));
        }
        runs(&session, &scratch, "echo mine >mine; git add mine; git commit -qm mine");
        begins(&session, "TWO", &["b"], "git add b; git commit -qm b");
        runs(&session, &scratch, "git add b; git commit -qm b");
        ends(&session, "TWO");
        session.hook("Stop");
        let why = format!("{has_hooks}, {runs_after}: {}", scratch.log());
        assert_eq!(prompts(&scratch, "HEAD"), ["TWO"], "{why}");
        assert_eq!(prompts(&scratch, "HEAD~1"), [] as [&str; 0], "{why}");
        assert_eq!(prompts(&scratch, "HEAD~2"), ["ONE"], "{why}");
    }
}

#[test]
fn a_person_who_commits_while_a_call_runs_gets_no_words_and_takes_none_from_it() {
    for has_hooks in [true, false] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        if has_hooks {
            begins(&session, "ZERO", &["z"], "ls");
            ends(&session, "ZERO");
        }
        begins(
            &session,
            "ONE",
            &["a", "b"],
            "git add a; git commit -qm a; git add b; git commit -qm b; git log --oneline",
        );
        runs(&session, &scratch, "git add a; git commit -qm a");
        let mine = scratch.commit("mine", "mine", "mine");
        runs(&session, &scratch, "git add b; git commit -qm b");
        let listed = scratch.git(["log", "--oneline"]).ok();
        session.answers(&call_of("ONE"), &listed);
        session.hook_for("PostToolUse", &call_of("ONE"));
        session.hook("Stop");
        let (one, two) = (scratch.id("HEAD~2"), scratch.id("HEAD"));
        let why = format!("{has_hooks}: {}", scratch.log());
        assert_eq!(scratch.records(&mine).len(), 0, "{why}");
        assert_eq!(prompts(&scratch, &one), ["ONE"], "{why}");
        assert_eq!(prompts(&scratch, &two), ["ONE"], "{why}");
    }
}

#[test]
fn of_two_calls_that_were_made_at_once_all_commits_have_the_words() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    begins(&session, "ZERO", &["z"], "ls");
    ends(&session, "ZERO");
    session.prompt("ONE");
    for name in ["a", "b", "c", "d"] {
        session.edits(name, name);
    }
    let lines = [
        "git add a; git commit -qm a; git add b; git commit -qm b",
        "git add c; git commit -qm c; git add d; git commit -qm d",
    ];
    for (number, line) in lines.iter().enumerate() {
        session.calls(&format!("c{number}"), "Bash", &json!({ "command": line }));
    }
    for (number, line) in lines.iter().enumerate() {
        runs(&session, &scratch, line);
        session.answers(&format!("c{number}"), "ENDED");
        session.hook_for("PostToolUse", &format!("c{number}"));
    }
    for revision in ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3"] {
        assert_eq!(prompts(&scratch, revision), ["ONE"], "{revision}: {}", scratch.log());
    }
}
