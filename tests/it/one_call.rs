//! Commits that one tool call makes, in whatever way: each has the words that led to the call, made for its own tree.

use serde_json::{Value, json};

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
            session.answers("call", "DONE");
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
