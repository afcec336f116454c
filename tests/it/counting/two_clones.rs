//! One session that two clones go on with in different ways, and records without words.

use std::path::PathBuf;

use serde_json::json;

use super::{answers, objects, total, usage};
use crate::support::Scratch;

/// Two branches from a commit: `ours` was made here, `theirs` in a clone to which the transcript was copied, and all notes and
/// words are here. If `is_recorded`, the common beginning is recorded on a commit before both.
fn continued_twice(is_recorded: bool) -> (Scratch, PathBuf) {
    let scratch = Scratch::set_up();
    let session = scratch.session("long");
    session.prompt("the beginning");
    answers(&session, "msg_common", "claude-opus-4-8", &usage());
    session.edits("common.txt", "words\n");
    if is_recorded {
        session.commits("common");
    }
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", ".", clone.to_str().unwrap()]).ok();
    for name in ["notes/shiftlog", "shiftlog/sessions"] {
        scratch.git_in(&clone, ["fetch", "-q", "origin", &format!("+refs/{name}*:refs/{name}*")]).ok();
    }
    let beginning = session.text();
    scratch.shiftlog_in(&clone, "init", ["--agent=claude", "-q"]).ok();
    scratch.git_in(&clone, ["switch", "-q", "-c", "theirs"]).ok();
    scratch.git(["switch", "-q", "-c", "ours"]).ok();
    let copied = scratch.session_in("long", &clone);
    let go_on = |session: &crate::support::Session<'_>, name: &str| {
        session.prompt(&format!("go on with {name}"));
        answers(session, &format!("msg_{name}"), "claude-opus-4-8", &usage());
        std::fs::write(session.dir.join(format!("{name}.txt")), "words\n").unwrap();
        session.calls(
            name,
            "Write",
            &json!({ "file_path": session.dir.join(format!("{name}.txt")), "content": "words\n" }),
        );
        session.answers(name, "done");
        session.commits(&format!("add {name}"));
        session.hook("SessionEnd");
    };
    go_on(&session, "ours");
    // The transcript of the clone is another file with the same beginning.
    std::fs::write(&copied.transcript, &beginning).unwrap();
    go_on(&copied, "theirs");
    scratch.git(["fetch", "-q", clone.to_str().unwrap(), "+refs/heads/theirs:refs/heads/theirs"]).ok();
    let from = format!("{}", clone.display());
    scratch.git(["remote", "add", "origin", &from]).ok();
    scratch.shiftlog("sync", ["pull", "-q"]);
    (scratch, clone)
}

#[test]
fn the_common_beginning_counts_once_and_both_ends_count() {
    for is_recorded in [true, false] {
        let (scratch, _) = continued_twice(is_recorded);
        for name in ["ours", "theirs"] {
            assert_eq!(scratch.records(name).len(), 1, "{name} has its record");
        }
        for options in [&["--branches"][..], &["--branches", "--words"]] {
            let all = total(&scratch, options);
            assert_eq!((&all["turns"], &all["cost"]), (&json!(3), &json!("0.16125")), "{is_recorded} {options:?}");
        }
        for key in ["commit", "branch", "author", "day", "path", "session", "model"] {
            let groups = objects(&scratch, &["--branches", &format!("--by={key}")]);
            let turns: u64 = groups.iter().take(groups.len() - 1).map(|group| group["turns"].as_u64().unwrap()).sum();
            assert_eq!(turns, 3, "{key}");
        }
        let page = scratch.shiftlog("export", ["--html", "ours", "theirs"]).ok();
        let turns = if is_recorded { "<li>2 turns</li>" } else { "<li>3 turns</li>" };
        assert!(page.contains(turns), "{is_recorded}: {page}");
    }
}

/// A message of a person, as a line of a transcript.
fn line(words: &str) -> String {
    let message = json!({ "role": "user", "content": words });
    let record = json!({ "type": "user", "uuid": words, "timestamp": "2026-01-02T03:04:06Z", "message": message });
    format!("{record}\n")
}

/// A session that two clones have continued, each recorded by hand: here with `two` on the second commit; in the clone with
/// `theirs`, which was fetched; and then with `two` and `four` on the third commit.
fn recorded_by_hand(theirs: &str) -> Scratch {
    let scratch = Scratch::set_up();
    let file = scratch.root().join("t.jsonl");
    let add = |top: &std::path::Path, name: &str, words: &[&str]| {
        std::fs::write(top.join(name), "words\n").unwrap();
        scratch.git_in(top, ["add", name]).ok();
        scratch.git_in(top, ["commit", "-q", "-m", name]).ok();
        std::fs::write(&file, words.iter().map(|words| line(words)).collect::<String>()).unwrap();
        let transcript = format!("--transcript={}", file.display());
        scratch.shiftlog_in(top, "add", [&transcript, "--session=long", "-q"]).ok();
    };
    add(&scratch.top, "first", &["one"]);
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", ".", clone.to_str().unwrap()]).ok();
    for name in ["notes/shiftlog", "shiftlog/sessions"] {
        scratch.git_in(&clone, ["fetch", "-q", "origin", &format!("+refs/{name}*:refs/{name}*")]).ok();
    }
    scratch.git_in(&clone, ["switch", "-q", "-c", "theirs"]).ok();
    add(&scratch.top, "second", &["one", "two"]);
    add(&clone, "third", &["one", theirs]);
    scratch.git(["remote", "add", "origin", &clone.display().to_string()]).ok();
    scratch.shiftlog("sync", ["pull", "-q"]);
    add(&scratch.top, "fourth", &["one", "two", "four"]);
    scratch
}

#[test]
fn words_that_are_stored_again_after_those_of_another_clone_count_once() {
    for theirs in ["", "three and many more words than the other clone has"] {
        // Of the last segments of both clones, the one with the greater id counts as the last.
        let goes_on_from_theirs =
            |scratch: &Scratch| scratch.record("HEAD")["since"] != scratch.record("HEAD~1")["through"];
        let scratch =
            ('a'..='t').map(|letter| recorded_by_hand(&format!("{theirs}{letter}"))).find(goes_on_from_theirs);
        let scratch = scratch.expect("one of twenty goes on from the segment of the clone");
        assert_eq!(scratch.record("HEAD")["turns"], 2, "and has 'two' once more");
        for options in [&["HEAD"][..], &["--words", "HEAD"], &["HEAD", "^HEAD~2"]] {
            let all = if options.len() > 1 && options[1] == "^HEAD~2" { 2 } else { 3 };
            assert_eq!(total(&scratch, options)["turns"], all, "{theirs}: {options:?}");
        }
        let clone = scratch.root().join("clone");
        scratch.git(["fetch", "-q", clone.to_str().unwrap(), "+refs/heads/theirs:refs/heads/theirs"]).ok();
        assert_eq!(total(&scratch, &["--branches"])["turns"], 4, "{theirs}");
        // A clone of the notes alone cannot know, and says so.
        let other = scratch.root().join("notes");
        scratch.git(["clone", "-q", "--no-local", ".", other.to_str().unwrap()]).ok();
        scratch.git_in(&other, ["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
        let ran = scratch.shiftlog_in(&other, "stats", ["--by=agent"]);
        let told = match theirs {
            "" => "warning: 1 part of a record is not counted: its words are not here\n",
            _ => "warning: 1 record may count words that another record counts too; its transcript is not here\n",
        };
        assert_eq!((ran.code, ran.stderr.as_str()), (0, told), "{theirs}: {}", ran.stdout);
    }
}

#[test]
fn a_squash_of_one_end_has_the_beginning_that_the_other_end_goes_on_from() {
    let (scratch, _) = continued_twice(true);
    scratch.git(["switch", "-q", "-c", "squashed", "ours~2"]).ok();
    scratch.git(["merge", "-q", "--squash", "ours"]).ok();
    // The other end is older.
    let mut commit = scratch.command("git", &scratch.top);
    commit.env("GIT_COMMITTER_DATE", "2037-01-01T00:00:00Z").args(["commit", "-q", "-m", "all of it"]);
    assert!(commit.status().unwrap().success());
    let (notes, words) = (&["squashed", "theirs", "^theirs~1"][..], &["--words", "squashed", "theirs", "^theirs~1"]);
    assert_eq!(total(&scratch, notes)["turns"], 3);
    assert_eq!(total(&scratch, words)["tokens"], total(&scratch, notes)["tokens"]);
}

#[test]
fn where_only_notes_are_shared_nothing_counts_twice_without_a_word() {
    let (scratch, _) = continued_twice(false);
    let bare = scratch.root().join("notes");
    scratch.git(["clone", "-q", "--no-local", ".", bare.to_str().unwrap()]).ok();
    scratch.git_in(&bare, ["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    let ran = scratch.shiftlog_in(&bare, "stats", ["--by=agent", "origin/ours", "origin/theirs"]);
    let told = "warning: 1 record is not counted, although it may have words that no other record has; its transcript is not here\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told), "{}", ran.stdout);
    assert!(ran.stdout.contains("at least 2 turns"), "{}", ran.stdout);
    assert!(ran.stdout.contains("at least 0.11"), "{}", ran.stdout);
    let json = scratch.shiftlog_in(&bare, "stats", ["--json", "origin/ours", "origin/theirs"]).stdout;
    let sum: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!((&sum["uncounted"], &sum["atLeast"]), (&json!(true), &json!(true)));
    // Each alone is whole.
    let ran = scratch.shiftlog_in(&bare, "stats", ["--by=agent", "origin/ours"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // Pages say the same, once, with the reason.
    let ran = scratch.shiftlog_in(&bare, "export", ["--html", "-o", "site/", "origin/ours", "origin/theirs"]);
    assert_eq!(ran.stderr.matches(told).count(), 1, "{}", ran.stderr);
    let page = |name: &str| std::fs::read_to_string(bare.join("site").join(name)).unwrap();
    assert!(page("index.html").contains("at least 2 turns"), "{}", page("index.html"));
    let session = page("claude~long.html");
    assert!(session.contains("<li>at least 2 turns</li>") && session.contains("no other record has"), "{session}");
}
