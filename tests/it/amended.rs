//! Conversations stay with their commits through an amend, a rebase and a pick.

use std::fs;

use serde_json::{Value, json};

use crate::carrying::{sessions, talked_about};
use crate::support::{Scratch, Session};

#[test]
fn amending_keeps_the_conversation_and_adds_to_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.commits("first");
    session.prompt("again, better");
    session.edits("a.txt", "aa\n");
    session.calls("c2", "Bash", &json!({ "command": "git commit --amend" }));
    let amended = session.runs_commit(&["--amend", "-m", "first, better"]);
    session.answers("c2", &format!("[main {}] first, better", &amended[..7]));
    session.hook_for("PostToolUse", "c2");
    let record = scratch.record("HEAD");
    assert_eq!((&record["since"], &record["turns"], &record["prompt"]), (&json!(null), &json!(2), &json!("first")));
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
}

#[test]
fn an_amend_without_anything_new_keeps_the_record_even_under_overwrite() {
    for mode in ["concatenate", "overwrite", "cat_sort_uniq", "ignore"] {
        let scratch = Scratch::set_up();
        scratch.git(["config", "notes.rewriteRef", "refs/notes/*"]).ok();
        scratch.git(["config", "notes.rewriteMode", mode]).ok();
        let session = scratch.session("s1");
        session.prompt("first");
        session.edits("a.txt", "a\n");
        session.commits("first");
        let before = scratch.record("HEAD");
        scratch.git(["commit", "-q", "--amend", "-m", "reworded"]).ok();
        assert_eq!(scratch.record("HEAD"), before, "{mode}");
    }
}

#[test]
fn what_a_person_wrote_in_a_note_survives_an_amend_byte_for_byte() {
    let remark = "Reviewed by hand:\n\n    if x:\n        a()\n    else:\n        a()\n\nDone.\n    a()\n";
    for mode in ["", "concatenate", "overwrite", "ignore"] {
        let scratch = Scratch::set_up();
        if !mode.is_empty() {
            scratch.git(["config", "notes.rewriteMode", mode]).ok();
        }
        let session = scratch.session("s1");
        session.prompt("first");
        session.edits("a.txt", "a\n");
        session.commits("first");
        scratch.run_with_input("git", ["notes", "--ref=shiftlog", "append", "-F", "-"], remark.as_bytes()).ok();
        let note = || scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
        let assert_kept = |what: &str| {
            let note = note();
            let is_once = note.matches("Reviewed").count() == 1 && note.matches("Done").count() == 1;
            assert!(is_once && note.contains(&format!("\n\n{remark}")), "{mode}: {what}: {note}");
        };
        assert_kept("as Git wrote it");
        session.prompt("again, better");
        session.edits("a.txt", "aa\n");
        session.calls("c2", "Bash", &json!({ "command": "git commit --amend" }));
        let amended = session.runs_commit(&["--amend", "-m", "better"]);
        assert_kept("amended by the session");
        session.answers("c2", &format!("[main {}] better", &amended[..7]));
        session.hook_for("PostToolUse", "c2");
        assert_kept("recorded to the end");
        let records = note().lines().filter(|line| line.starts_with('{')).collect::<Vec<_>>().join("\n");
        assert_eq!(serde_json::from_str::<Value>(&records).unwrap()["turns"], 2, "{mode}: {}", note());
        scratch.git(["commit", "-q", "--amend", "-m", "reworded"]).ok();
        assert_kept("amended by hand");
    }
}

/// Returns the prompts that the records of a revision begin with, sorted.
fn prompts(scratch: &Scratch, revision: &str) -> Vec<String> {
    let records = scratch.records(revision);
    let mut prompts: Vec<String> =
        records.iter().filter_map(|record| record["prompt"].as_str().map(str::to_owned)).collect();
    prompts.sort();
    prompts
}

/// Lets a session say something, change a file and commit it.
pub fn speaks_and_commits(session: &Session<'_>, word: &str) {
    session.prompt(word);
    session.edits(&format!("{word}.txt"), word);
    session.commits(word);
}

/// Lets a session say something, change a file and, in one call, run `git` with `steps` and amend.
fn speaks_and_amends(session: &Session<'_>, word: &str, steps: &[&[&str]]) {
    session.prompt(word);
    session.edits(&format!("{word}.txt"), word);
    session.calls(word, "Bash", &json!({ "command": "git commit --amend" }));
    for step in steps {
        session.scratch.git(*step).ok();
    }
    session.runs_commit(&["--amend", "-m", word]);
    session.answers(word, &format!("amended for {word}"));
    session.hook_for("PostToolUse", word);
    session.says("Done.");
    session.hook("Stop");
}

/// Makes Git run none of its hooks. It copies notes all the same.
fn hide_git_hooks(scratch: &Scratch) {
    scratch.git(["config", "notes.rewriteRef", "refs/notes/*"]).ok();
    for name in ["post-commit", "post-rewrite"] {
        fs::remove_file(scratch.top.join(".git/hooks").join(name)).unwrap();
    }
}

#[test]
fn a_session_that_amends_an_earlier_commit_of_its_own_is_recorded_there() {
    for has_git_hooks in [true, false] {
        for is_on_branch in [false, true] {
            let told = format!("Git's hooks: {has_git_hooks}, on a branch: {is_on_branch}");
            let scratch = Scratch::set_up();
            if !has_git_hooks {
                hide_git_hooks(&scratch);
            }
            scratch.commit("base.txt", "x", "base");
            let session = scratch.session("s1");
            if is_on_branch {
                scratch.git(["switch", "-q", "-c", "feature"]).ok();
            }
            speaks_and_commits(&session, "one");
            if is_on_branch {
                scratch.git(["switch", "-q", "main"]).ok();
            }
            speaks_and_commits(&session, "two");
            let back: &[&[&str]] = match is_on_branch {
                true => &[&["switch", "-q", "feature"]],
                false => &[&["reset", "-q", "--soft", "HEAD~1"]],
            };
            speaks_and_amends(&session, "three", back);
            // What the reset took back is in the amended commit, so that one record goes through all three.
            let expected: &[&str] = if is_on_branch { &["one", "three"] } else { &["one"] };
            assert_eq!(prompts(&scratch, "HEAD"), expected, "{told}: {}", scratch.log());
            let result_count = scratch.raw("HEAD", &[]).matches("amended for three").count();
            assert_eq!(result_count, 1, "{told}: the result of the call belongs to it");
            speaks_and_commits(&session, "four");
            assert_eq!(prompts(&scratch, "HEAD"), ["four"], "{told}");
            assert_eq!(scratch.waiting(), 0);
        }
    }
}

#[test]
fn a_session_that_amends_the_commit_of_another_is_recorded_there_without_gits_hooks() {
    let scratch = Scratch::set_up();
    hide_git_hooks(&scratch);
    speaks_and_commits(&scratch.session("s1"), "one");
    let session = scratch.session("s2");
    speaks_and_amends(&session, "two", &[]);
    assert_eq!(prompts(&scratch, "HEAD"), ["one", "two"], "{}", scratch.log());
    speaks_and_commits(&session, "three");
    assert_eq!(prompts(&scratch, "HEAD"), ["three"]);
}

#[test]
fn a_call_that_amends_and_then_commits_has_its_turn_at_both() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    speaks_and_commits(&session, "one");
    session.prompt("two");
    session.edits("two.txt", "two");
    session.calls("both", "Bash", &json!({ "command": "git commit --amend --no-edit; git commit -m next" }));
    let amended = session.runs_commit(&["--amend", "--no-edit"]);
    scratch.write("next.txt", "next");
    let next = session.runs_commit(&["-m", "next"]);
    session.answers("both", "DONE");
    session.hook_for("PostToolUse", "both");
    assert_eq!(scratch.record(&amended)["turns"], 2, "{}", scratch.log());
    assert_eq!(prompts(&scratch, &next), ["two"]);
    assert!(scratch.raw(&next, &[]).contains("DONE"));
}

/// Makes five commits, each with a conversation of its own.
fn five_commits() -> (Scratch, Vec<String>) {
    let scratch = Scratch::set_up();
    let mut texts = Vec::new();
    for number in 1..=5 {
        let session = scratch.session(&format!("s{number}"));
        session.prompt(&format!("step {number}"));
        session.edits(&format!("f{number}.txt"), "x\n");
        session.commits(&format!("step {number}"));
        texts.push(session.text());
        session.hook("SessionEnd");
    }
    (scratch, texts)
}

#[test]
fn an_interactive_rebase_carries_every_conversation() {
    let (scratch, texts) = five_commits();
    let bystander = scratch.session("bystander");
    bystander.prompt("I only watch");
    let before = scratch.git(["log", "-1", "--format=%ct"]).ok();
    // Reorders 1 and 2, squashes 3 into them, fixes 5 up with 4.
    let todo = r#"sed -i -e 's/^pick \(.*step 1\)$/PLACE \1/' "$1"; one=$(grep PLACE "$1"); sed -i -e '/PLACE/d' "$1"
sed -i -e "/step 2/a pick ${one#PLACE }" -e 's/^pick \(.*step 3\)$/squash \1/' -e 's/^pick \(.*step 5\)$/fixup \1/' "$1""#;
    let script = scratch.root().join("todo.sh");
    fs::write(&script, todo).unwrap();
    let editor = format!("GIT_SEQUENCE_EDITOR='sh {}'", script.display());
    scratch.run_in(&scratch.top, "sh", ["-c", &format!("{editor} git rebase -q -i HEAD~5")]).ok();
    let subjects = scratch.git(["log", "--format=%s", "--reverse", "-3"]).ok();
    assert_eq!(subjects, "step 2\nstep 1\nstep 4\n", "before: {before}");
    let all = |revision: &str| {
        let mut sessions: Vec<String> =
            scratch.records(revision).iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
        sessions.sort();
        sessions
    };
    assert_eq!(all("HEAD~2"), ["s2"]);
    assert_eq!(all("HEAD~1"), ["s1", "s3"], "squashed");
    assert_eq!(all("HEAD"), ["s4", "s5"], "fixed up");
    assert_eq!(scratch.raw("HEAD", &["--session=s5"]), texts[4]);
    scratch.assert_sound();
}

#[test]
fn a_rebase_with_an_edit_stop_attaches_no_live_session() {
    let (scratch, _) = five_commits();
    let live = scratch.session("live");
    live.prompt("rebase it");
    let editor = "GIT_SEQUENCE_EDITOR=\"sed -i -e 's/^pick \\(.*step 4\\)$/edit \\1/'\"";
    scratch.run_in(&scratch.top, "sh", ["-c", &format!("{editor} git rebase -q -i HEAD~2")]);
    scratch.write("f4.txt", "edited\n");
    scratch.git(["commit", "-q", "-a", "--amend", "-m", "step 4, edited"]).ok();
    scratch.git(["rebase", "--continue"]).ok();
    assert_eq!(scratch.record("HEAD~1")["session"], "s4");
    assert_eq!(scratch.record("HEAD")["session"], "s5");
}

#[test]
fn cherry_pick_revert_and_merge_attach_no_live_session() {
    let (scratch, _) = five_commits();
    scratch.git(["switch", "-q", "-c", "side", "HEAD~3"]).ok();
    let live = scratch.session("live");
    live.prompt("busy");
    scratch.git(["cherry-pick", "main"]).ok();
    assert_eq!(scratch.records("HEAD"), scratch.records("main"), "what was said about the change, and no more");
    scratch.git(["revert", "--no-edit", "HEAD"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0);
    scratch.git(["merge", "-q", "--no-edit", "main"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0);
}

/// Lets a session run commands of Git in one tool call.
fn runs(session: &Session<'_>, call_id: &str, commands: &[&str]) {
    let line = commands.join(" && ");
    session.calls(call_id, "Bash", &json!({ "command": line }));
    for command in commands {
        let mut shell = session.scratch.command("sh", &session.dir);
        // A stop at a conflict is a failure.
        shell.args(["-c", command]).env("CLAUDE_CODE_SESSION_ID", &session.id).output().unwrap();
    }
    session.answers(call_id, &format!("answer to {call_id}"));
    let ran = session.try_hook_after("PostToolUse", call_id, &line);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
}

/// The command that begins a rebase whose list a `sed` script edits.
fn rebase(script: &str, onto: &str) -> String {
    format!("GIT_SEQUENCE_EDITOR=\"sed -i -e '{script}'\" git rebase -q -i {onto}")
}

/// Three commits, each with a conversation of its own: `before`, `edited`, `after`.
fn three_commits() -> Scratch {
    let scratch = Scratch::set_up();
    talked_about(&scratch, "before", "z", "z\n");
    talked_about(&scratch, "edited", "a", "a\n");
    talked_about(&scratch, "after", "c", "c\n");
    scratch
}

#[test]
fn a_session_that_commits_at_a_stop_of_a_rebase_and_continues_in_another_call_is_recorded_there() {
    const AMEND: &str = "git commit -q -a --amend --no-edit";
    const COMMIT: &str = "git add -A && git commit -q -m new";
    const CONTINUE: &str = "git rebase --continue";
    /// The script for the list, the calls, and the sessions of HEAD and the two commits before it.
    type Case = (&'static str, &'static [&'static [&'static str]], [&'static [&'static str]; 3]);
    let with_edited: &[&str] = &["edited", "s"];
    let cases: [Case; 8] = [
        ("2s/^pick/edit/", &[&[AMEND], &[CONTINUE]], [&["after"], with_edited, &["before"]]),
        ("2s/^pick/edit/", &[&["git add -A", CONTINUE]], [&["after"], with_edited, &["before"]]),
        ("2s/^pick/edit/", &[&[COMMIT], &[CONTINUE]], [&["after"], &["s"], &["edited"]]),
        (
            "2s/^pick/edit/",
            &[&["git reset -q --soft HEAD~1"], &[COMMIT], &[CONTINUE]],
            [&["after"], with_edited, &["before"]],
        ),
        ("2a break", &[&[COMMIT], &[CONTINUE]], [&["after"], &["s"], &["edited"]]),
        // The edited commit is a copy, not the one that was there.
        ("1{h;d};2{s/^pick/edit/;G}", &[&[AMEND], &[CONTINUE]], [&["after"], &["before"], with_edited]),
        // What is made at the stop is melded with the next commit.
        ("2s/^pick/edit/;3s/^pick/fixup/", &[&[AMEND], &[CONTINUE]], [&["after", "edited", "s"], &["before"], &[]]),
        ("2s/^pick/edit/;3s/^pick/fixup/", &[&["git add -A", CONTINUE]], [&["after", "edited", "s"], &["before"], &[]]),
    ];
    for (script, calls, expected) in cases {
        for is_started_by_it in [true, false] {
            let told = format!("{script}, {calls:?}, started by it: {is_started_by_it}");
            let scratch = three_commits();
            let begin = rebase(script, "HEAD~3");
            let session = scratch.session("s");
            if is_started_by_it {
                session.prompt("make it better");
                runs(&session, "begin", &[&begin]);
            } else {
                scratch.run_in(&scratch.top, "sh", ["-c", &begin]).ok();
                session.prompt("make it better");
            }
            // A commit that changes the files of the edited one counts as a part of it.
            let is_apart = calls[0] == [COMMIT];
            session.edits(if is_apart { "new" } else { "a" }, "aa\n");
            for (number, call) in calls.iter().enumerate() {
                runs(&session, &format!("call-{number}"), call);
            }
            assert!(!scratch.top.join(".git/rebase-merge").exists(), "{told}");
            for (number, expected) in expected.iter().enumerate() {
                let revision = format!("HEAD~{number}");
                assert_eq!(sessions(&scratch, &revision), *expected, "{told}: {revision}: {}", scratch.log());
            }
            speaks_and_commits(&session, "next");
            assert_eq!(prompts(&scratch, "HEAD"), ["next"], "{told}: its words are on one commit: {}", scratch.log());
            assert_eq!(scratch.waiting(), 0, "{told}");
            scratch.assert_sound();
        }
    }
}

#[test]
fn the_result_of_a_call_that_commits_at_a_stop_of_a_rebase_is_on_the_commit() {
    let scratch = three_commits();
    let session = scratch.session("s");
    session.prompt("make it better");
    runs(&session, "begin", &[&rebase("2s/^pick/edit/", "HEAD~3")]);
    session.edits("a", "aa\n");
    runs(&session, "amend", &["git commit -q -a --amend --no-edit"]);
    runs(&session, "continue", &["git rebase --continue"]);
    let raw = scratch.raw("HEAD~1", &["--session=s"]);
    assert!(raw.contains("answer to amend") && !raw.contains("answer to continue"), "{raw}");
    assert_eq!(prompts(&scratch, "HEAD~1"), ["make it better", "write a"]);
}

#[test]
fn a_session_that_resolves_a_conflict_of_a_rebase_and_continues_is_recorded_on_what_came_of_it() {
    let ends: [&[&[&str]]; 3] = [
        &[&["git add -A", "git rebase --continue"]],
        &[&["git add -A"], &["git rebase --continue"]],
        &[&["git commit -q -a --no-edit"], &["git rebase --continue"]],
    ];
    for end in ends {
        let scratch = Scratch::set_up();
        scratch.commit("shared", "start\n", "shared");
        scratch.git(["switch", "-q", "-c", "topic"]).ok();
        talked_about(&scratch, "first", "shared", "first\n");
        talked_about(&scratch, "second", "own", "second\n");
        scratch.git(["switch", "-q", "main"]).ok();
        talked_about(&scratch, "upstream", "shared", "upstream\n");
        let session = scratch.session("s");
        session.prompt("rebase it");
        runs(&session, "begin", &["git rebase -q main topic"]);
        session.edits("shared", "both\n");
        for (number, call) in end.iter().enumerate() {
            runs(&session, &format!("call-{number}"), call);
        }
        assert_eq!(scratch.git(["log", "--format=%s", "main..topic"]).ok(), "second on own\nfirst on shared\n");
        assert_eq!(sessions(&scratch, "topic~1"), ["first", "s"], "{end:?}: {}", scratch.log());
        assert_eq!(sessions(&scratch, "topic"), ["second"], "{end:?}");
        assert_eq!(sessions(&scratch, "main"), ["upstream"], "{end:?}");
        speaks_and_commits(&session, "next");
        assert_eq!(prompts(&scratch, "HEAD"), ["next"], "{end:?}: {}", scratch.log());
    }
}

#[test]
fn a_session_that_resolves_two_conflicts_gives_each_commit_its_own_words() {
    let scratch = Scratch::set_up();
    scratch.commit("shared", "start\n", "shared");
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    scratch.commit("shared", "first\n", "first");
    scratch.commit("shared", "second\n", "second");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("shared", "upstream\n", "upstream");
    let session = scratch.session("s");
    session.prompt("rebase it");
    runs(&session, "begin", &["git rebase -q main topic"]);
    for word in ["one", "two"] {
        session.prompt(&format!("take {word}"));
        session.edits("shared", word);
        runs(&session, word, &["git add -A", "git rebase --continue"]);
    }
    assert_eq!(scratch.git(["log", "--format=%s", "main..topic"]).ok(), "second\nfirst\n");
    assert_eq!(prompts(&scratch, "topic~1"), ["rebase it"], "{}", scratch.log());
    assert_eq!(prompts(&scratch, "topic"), ["take two"], "{}", scratch.log());
}

#[test]
fn what_a_person_does_at_a_stop_of_a_rebase_is_given_to_no_session_that_looks_on() {
    for (script, commands) in [
        ("2s/^pick/edit/", &["git commit -q -a --amend --no-edit", "git rebase --continue"][..]),
        ("2s/^pick/edit/", &["git add -A", "git rebase --continue"]),
        ("2a break", &["git commit -q -a -m new", "git rebase --continue"]),
    ] {
        for is_looked_at in [true, false] {
            let scratch = three_commits();
            scratch.run_in(&scratch.top, "sh", ["-c", &rebase(script, "HEAD~3")]).ok();
            let session = scratch.session("s");
            session.prompt("what does it look like?");
            scratch.write("a", "aa\n");
            for command in commands {
                scratch.run_in(&scratch.top, "sh", ["-c", command]).ok();
                if is_looked_at {
                    runs(&session, command, &["git log | grep commit"]);
                }
            }
            runs(&session, "look", &["git log --oneline | grep -v commit; git status"]);
            for number in 0..4 {
                let found = sessions(&scratch, &format!("HEAD~{number}"));
                assert!(!found.contains(&"s".to_owned()), "{commands:?} {number}: {found:?}: {}", scratch.log());
            }
        }
    }
}

#[test]
fn a_commit_that_a_person_amends_after_a_break_of_a_rebase_keeps_its_conversation() {
    // Git tells its hook only what the commit was before the break.
    for script in ["2a break", "1{h;d};2{G;s/$/\\nbreak/}", "2s/^pick/reword/;2a break"] {
        let scratch = three_commits();
        scratch.run_in(&scratch.top, "sh", ["-c", &rebase(script, "HEAD~3")]).ok();
        let subject = scratch.git(["log", "-1", "--format=%s"]).ok();
        scratch.write("more", "more\n");
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "--amend", "--no-edit"]).ok();
        scratch.git(["rebase", "--continue"]).ok();
        let amended = scratch.git(["log", "--format=%H", "-1", "--", "more"]).ok();
        let expected: String = subject.split_whitespace().next().unwrap().to_owned();
        assert_eq!(sessions(&scratch, amended.trim()), [expected], "{script}: {}", scratch.log());
        assert_eq!(sessions(&scratch, "HEAD"), ["after"]);
    }
    let scratch = three_commits();
    scratch
        .git(["rebase", "-q", "-x", "git commit -q --amend --no-edit --author=\"X <x@example.com>\"", "HEAD~3"])
        .ok();
    for (number, expected) in ["after", "edited", "before"].iter().enumerate() {
        assert_eq!(sessions(&scratch, &format!("HEAD~{number}")), [*expected], "a command amended: {}", scratch.log());
    }
}

#[test]
fn a_session_that_aborts_a_rebase_has_its_words_on_no_commit_of_it() {
    let scratch = three_commits();
    let session = scratch.session("s");
    session.prompt("try it");
    runs(&session, "begin", &[&rebase("2s/^pick/edit/", "HEAD~3")]);
    session.edits("a", "aa\n");
    runs(&session, "give-up", &["git commit -q -a --amend --no-edit", "git rebase --abort"]);
    for (number, expected) in ["after", "edited", "before"].iter().enumerate() {
        assert_eq!(sessions(&scratch, &format!("HEAD~{number}")), [*expected], "{}", scratch.log());
    }
    speaks_and_commits(&session, "next");
    assert_eq!(prompts(&scratch, "HEAD"), ["try it"], "{}", scratch.log());
}
