//! Searching what was said: `grep`, `search`, and `log` with `-S` and `-G`.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Scratch, feed};

/// A repository with two commits of one session, and one of another.
fn recorded() -> Scratch {
    let mut scratch = Scratch::set_up();
    let session = scratch.session("3f6b1c9e-52d4");
    session.prompt("The reconnect loop hammers\nthe server. Make it back off.");
    session.says("I let the delay double.\nIt backs off up to a minute.");
    session.calls(
        "c1",
        "Edit",
        &json!({ "file_path": "reconnect.py", "old_string": "sleep(1)", "new_string": "delay *= 2  # back off\nsleep(delay)" }),
    );
    session.answers("c1", "the file says back off now");
    session.edits("reconnect.py", "sleep(delay)\n");
    session.commits("back off");
    scratch.env.insert("GIT_COMMITTER_DATE".into(), "2026-01-03T03:04:05Z".into());
    let session = scratch.session("3f6b1c9e-52d4");
    session.prompt("Add jitter, so that clients do not back off in step.");
    session.edits("reconnect.py", "sleep(delay * random())\n");
    session.commits("add jitter");
    let other = scratch.session("77aa-other");
    other.prompt("Write a test");
    other.says("A test of the loop: BACK OFF is checked.");
    other.edits("test.py", "assert True\n");
    other.commits("test it");
    drop((session, other));
    scratch
}

fn short(scratch: &Scratch, revision: &str) -> String {
    scratch.id(revision)[..7].to_owned()
}

#[test]
fn grep_prints_the_lines_that_match_newest_commit_first() {
    let scratch = recorded();
    let grep = |args: &[&str]| scratch.shiftlog("grep", args);
    let ids: Vec<String> = ["HEAD", "HEAD~1", "HEAD~2"].iter().map(|revision| short(&scratch, revision)).collect();
    let [test, jitter, first] = [0, 1, 2].map(|at| ids[at].as_str());
    let one = "claude/3f6b1c9e";
    assert_eq!(
        grep(&["back ?off"]).ok(),
        format!(
            "{jitter} {one}:1:prompt:1:Add jitter, so that clients do not back off in step.\n\
             {first} {one}:1:prompt:2:the server. Make it back off.\n\
             {first} {one}:1:Edit:3:delay *= 2  # back off\n\
             {first} {one}:1:Bash:1:git commit -am 'back off'\n"
        )
    );
    let folded = grep(&["-i", "--no-line-number", "--in=answers", "back ?off"]).ok();
    assert_eq!(folded, format!("{test} claude/77aa-oth:1:answer:A test of the loop: BACK OFF is checked.\n"));
    assert_eq!(
        grep(&["-in", "--column", "-w", "--in=answers", "off"]).ok().lines().last().unwrap(),
        format!("{first} {one}:1:answer:2:10:It backs off up to a minute.")
    );
    assert_eq!(grep(&["-l", "back off"]).ok(), format!("{jitter} {one}\n{first} {one}\n"));
    assert_eq!(grep(&["-L", "back off"]).ok(), format!("{test} claude/77aa-oth\n"));
    assert_eq!(grep(&["-c", "back off"]).ok(), format!("{jitter} {one}:1\n{first} {one}:3\n"));
    assert_eq!(grep(&["-c", "-m1", "back off", "HEAD~2"]).ok(), format!("{first} {one}:1\n"));
    let only = grep(&["-o", "--in=prompts", "-e", "back", "-e", "off", "HEAD~2"]).ok();
    assert_eq!(only, format!("{first} {one}:1:prompt:2:back\n{first} {one}:1:prompt:2:off\n"));
    assert_eq!(grep(&["-z", "-l", "jitter"]).ok(), format!("{jitter} {one}\0"));
    assert_eq!(grep(&["--tool=edit", "back"]).ok(), format!("{first} {one}:1:Edit:3:delay *= 2  # back off\n"));
    assert_eq!(
        grep(&["--in=results", "file says"]).ok(),
        format!("{first} {one}:1:result:1:the file says back off now\n")
    );
    assert_eq!(
        grep(&["--heading", "--break", "--in=prompts", "back off"]).ok(),
        format!(
            "{jitter} 2026-01-03 add jitter\n{one}\n1 prompt:1: Add jitter, so that clients do not back off in step.\n\n\
             {first} 2026-01-02 back off\n{one}\n1 prompt:2: the server. Make it back off.\n"
        )
    );
    let (quiet, none) = (grep(&["-q", "back"]), grep(&["back on"]));
    assert_eq!((quiet.code, quiet.stdout.as_str(), none.code, none.stdout.as_str()), (0, "", 1, ""));
    assert_eq!(none.stderr, "");
    let colored = grep(&["--color", "--in=prompts", "jitter"]).ok();
    assert!(colored.contains("\u{1b}[1m\u{1b}[31mjitter\u{1b}[0m"), "{colored:?}");
}

#[test]
fn grep_prints_the_lines_around_a_match_as_git_grep_does() {
    let scratch = Scratch::new();
    let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
    scratch.commit("text", text, "text");
    let record = json!({ "type": "user", "message": { "role": "user", "content": text.trim_end() } });
    let file = scratch.root().join("t.jsonl");
    fs::write(&file, format!("{record}\n")).unwrap();
    scratch.shiftlog("add", ["-q", "--session=s1", "--transcript", file.to_str().unwrap()]).ok();
    let commit = short(&scratch, "HEAD");
    for args in [
        &["-n", "o"][..],
        &["-n", "-C1", "o"],
        &["-n", "-A1", "-e", "two", "-e", "nine"],
        &["-n", "-B2", "eight"],
        &["-n", "-1", "five"],
        &["-n", "-i", "T"],
        &["-n", "-w", "six"],
        &["-n", "-F", "."],
        &["-n", "--column", "ve"],
        &["-c", "e"],
        &["-o", "-n", "-e", "e"],
        &["-n", "^t"],
        &["-n", "e$"],
        &["-n", "-m2", "e"],
        &["-n", "-A", "2147483647", "six"],
    ] {
        let ours = scratch.shiftlog("grep", args).stdout;
        let git = scratch.git([&["grep", "-E"], args, &["--", "text"]].concat()).stdout;
        let prefix = |line: &str| {
            let sign = if args[0] == "-c" { ":" } else { &line[4..5] };
            line.replacen(
                &format!("text{sign}"),
                &match args[0] {
                    "-c" => format!("{commit} claude/s1:"),
                    _ => format!("{commit} claude/s1{sign}1{sign}prompt{sign}"),
                },
                1,
            )
        };
        let expected: String =
            git.lines().map(|line| if line == "--" { "--\n".into() } else { prefix(line) + "\n" }).collect();
        assert_eq!(ours, expected, "{args:?}");
    }
    let count = |option: &str| scratch.shiftlog("grep", [option, "six"]).ok().lines().count();
    let most = usize::MAX;
    let counts = ["-A", "-B", "-C", "-"].map(|option| count(&format!("{option}{most}")));
    assert_eq!(counts, [5, 6, 10, 10], "no number is too large");
}

#[test]
fn names_stand_in_front_or_not_as_git_grep_has_it_and_a_lone_h_prints_the_usage() {
    let scratch = recorded();
    let grep = |args: &[&str]| scratch.shiftlog("grep", args);
    let with_names = grep(&["jitter,"]).ok();
    let without_names = "1:prompt:1:Add jitter, so that clients do not back off in step.\n";
    assert!(with_names.ends_with(without_names) && with_names.len() > without_names.len());
    for (args, expected) in [
        (&["-H", "jitter,"][..], with_names.as_str()),
        (&["-h", "jitter,"], without_names),
        (&["-H", "-h", "jitter,"], without_names),
        (&["-h", "-H", "jitter,"], &with_names),
        (&["--heading", "-h", "jitter,"], without_names),
        (&["-h", "-c", "jitter,"], "1\n"),
        (&["-hi", "JITTER,"], without_names),
    ] {
        assert_eq!(grep(args).ok(), expected, "{args:?}");
    }
    assert_eq!(grep(&["-h", "-l", "jitter,"]).ok(), grep(&["-l", "jitter,"]).ok(), "a name that is asked for");
    assert_eq!((grep(&["-h", "nothing at all"]).code, grep(&["-h", "-q", "jitter,"]).code), (1, 0));
    let usage = grep(&["-h"]);
    assert!(usage.code == 0 && usage.stdout.starts_with("usage: git shiftlog grep "), "{usage:?}");
    assert!(!usage.stdout.contains("Print this usage\n"));
}

#[test]
fn grep_tells_programs_what_it_has_found() {
    let scratch = recorded();
    let lines = scratch.shiftlog("grep", ["--json", "--in=calls", "back off", "HEAD~2"]).ok();
    let object: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        object,
        json!({ "version": 1, "commit": scratch.id("HEAD~2"), "agent": "claude", "session": "3f6b1c9e-52d4", "turn": 1,
            "message": 2, "part": "call", "tool": "Edit", "line": 3, "column": 15, "text": "delay *= 2  # back off",
            "submatches": [[14, 22]], "time": "2026-01-02T03:04:06Z", "author": "A U Thor" })
    );
    let shown: Value = serde_json::from_str(&scratch.shiftlog("show", ["--json", "HEAD~2"]).ok()).unwrap();
    assert_eq!(shown["conversation"][2]["parts"][0]["tool"], "Edit", "the number leads to the message");
    let turn = scratch.shiftlog("show", ["HEAD~1", "--session=3f6b1c9e", "--turn=1"]).ok();
    assert!(turn.contains("> Add jitter"), "{turn}");
}

#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let scratch = Scratch::new();
    let file = scratch.root().join("t.jsonl");
    for number in 0..40 {
        let commit = scratch.commit("n", &format!("{number}\n"), &format!("number {number}"));
        let lines: String = (0..number + 1)
            .map(|line| format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": format!("word {line} of {number}") } })))
            .collect();
        fs::write(&file, lines).unwrap();
        let session = format!("--session=s{number}");
        scratch.shiftlog("add", ["-q", &session, "--transcript", file.to_str().unwrap(), &commit]).ok();
    }
    let alone = scratch.shiftlog("grep", ["--threads=1", "word .* of"]).ok();
    assert_eq!(alone.lines().count(), 820);
    for threads in ["--threads=2", "--threads=8"] {
        assert!(scratch.shiftlog("grep", [threads, "word .* of"]).ok() == alone, "{threads}");
        let first = scratch.shiftlog("grep", [threads, "-m1", "-o", "of 3."]).ok();
        assert_eq!(first, scratch.shiftlog("grep", ["--threads=1", "-m1", "-o", "of 3."]).ok());
        let ranked = scratch.shiftlog("search", [threads, "word", "7"]).ok();
        assert_eq!(ranked, scratch.shiftlog("search", ["--threads=1", "word", "7"]).ok());
    }
}

#[test]
fn what_several_commits_have_is_printed_once_and_filters_are_those_of_log() {
    let scratch = recorded();
    scratch.git(["switch", "-q", "-c", "picked", "HEAD~3"]).ok();
    scratch.git(["cherry-pick", "main~2"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    scratch.git(["merge", "-q", "--squash", "main"]);
    let listed = scratch.shiftlog("log", ["--all", "--format=%h"]).ok();
    assert_eq!(listed.lines().count(), 4, "the picked commit has the conversation too: {listed}");
    let found = scratch.shiftlog("grep", ["--all", "hammers"]).ok();
    assert_eq!(found.lines().count(), 1, "{found}");
    let found = scratch.shiftlog("search", ["--all", "hammers"]).ok();
    assert_eq!(found.lines().count(), 2, "{found}");
    scratch.git(["checkout", "-q", "-f", "main"]).ok();
    for filter in [
        &["main~1"][..],
        &["HEAD~1..HEAD"],
        &["--author=nobody"],
        &["--author=Thor"],
        &["--since=2026-01-03T00:00:00Z"],
        &["--until=2026-01-02T23:00:00Z"],
        &["--agent=codex"],
        &["--session=77aa"],
        &["--model=test-1"],
        &["--grep=jitter"],
        &["--first-parent", "--no-merges"],
        &["--", "test.py"],
        &["--", "reconnect.py"],
    ] {
        let listed = scratch.shiftlog("log", [&["--format=%h"], filter].concat()).ok();
        let found = scratch.shiftlog("grep", [&["-l", ""], filter].concat()).stdout;
        let commits: String = found.lines().map(|line| format!("{}\n", line.split(' ').next().unwrap())).collect();
        assert_eq!(commits, listed, "{filter:?}");
    }
    let ran = scratch.shiftlog("grep", ["--agent=nonsense", "x"]);
    assert_eq!((ran.code, ran.stderr.lines().next()), (129, Some("error: unknown agent 'nonsense'")));
}

#[test]
fn log_lists_the_commits_whose_conversation_has_a_string() {
    let scratch = recorded();
    let log = |args: &[&str]| scratch.shiftlog("log", [&["--format=%s"], args].concat()).ok();
    assert_eq!(log(&["-Sback off"]), "add jitter\nback off\n");
    assert_eq!(log(&["-S", "back off", "-n1"]), "add jitter\n");
    assert_eq!(log(&["-Sback off", "--skip=1"]), "back off\n");
    assert_eq!(log(&["-Sback off", "-n0"]), "");
    assert_eq!(log(&["-Sback.off"]), "");
    assert_eq!(log(&["-Gback.off$"]), "back off\n");
    assert_eq!(log(&["-Gdelay|BACK", "--reverse"]), "back off\nadd jitter\ntest it\n");
    assert_eq!(log(&["-Sback off", "--since=2026-01-03T00:00:00Z"]), "add jitter\n");
    assert_eq!(scratch.shiftlog("log", ["-Sa", "-Gb"]).code, 129);
    // Both commits have the words, not only the newest.
    scratch.git(["switch", "-q", "-c", "picked", "HEAD~3"]).ok();
    scratch.git(["cherry-pick", "main~2"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    assert_eq!(log(&["-Shammers", "--all"]), "back off\nback off\n");
}

#[test]
fn search_ranks_turns_by_their_words() {
    let scratch = recorded();
    let search = |args: &[&str]| scratch.shiftlog("search", args);
    let found = search(&["reconnect", "server"]).ok();
    let first = short(&scratch, "HEAD~2");
    assert_eq!(
        found,
        format!("{first} 2026-01-02 claude/3f6b1c9e turn 1: back off\n    prompt: the server. Make it back off.\n")
            .replace("the server. Make it back off.", "The reconnect loop hammers")
    );
    let objects = search(&["--json", "back", "off"]).ok();
    let objects: Vec<Value> = objects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 3, "{objects:#?}");
    assert_eq!(objects[0]["part"], "prompt", "what a person said counts most");
    assert!(objects.windows(2).all(|pair| pair[0]["score"].as_f64() >= pair[1]["score"].as_f64()));
    assert_eq!(search(&["back", "off", "BACK"]).ok().lines().count(), 2, "a capital letter counts");
    assert_eq!(search(&["back off", "--not=jitter", "--not=test"]).ok().lines().count(), 2);
    assert_eq!(search(&["jit*", "prompt:clients"]).ok().lines().count(), 2);
    assert_eq!(search(&["-n1", "back"]).ok().lines().count(), 2);
    let heads = |args: &[&str]| search(args).stdout.lines().step_by(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(heads(&["--in=prompts", "delay"]), [""; 0], "only the answer has it");
    assert_eq!(heads(&["--in=prompts,answers", "delay"]), heads(&["answer:delay"]));
    assert_eq!(search(&["--in=nothing", "delay"]).code, 129);
    assert_eq!(search(&["jitter", "HEAD~2..HEAD~1"]).ok().lines().count(), 2);
    let none = search(&["jitter", "minute"]);
    assert_eq!((none.code, none.stdout.as_str()), (1, ""), "both words, but in different turns");
    assert_eq!(search(&["jitter", "--", "test.py"]).code, 1);
    let wrong = search(&["--"]);
    assert_eq!((wrong.code, wrong.stderr.as_str()), (129, "error: there is no word to search for\n"));
}

#[test]
fn secrets_of_others_are_not_found_and_cannot_be_guessed() {
    let scratch = Scratch::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap());
    scratch.git(["config", "shiftlog.redact", "false"]).ok();
    let file = scratch.root().join("t.jsonl");
    let record =
        json!({ "type": "user", "message": { "role": "user", "content": format!("the token is {secret} today") } });
    fs::write(&file, format!("{record}\n")).unwrap();
    scratch.shiftlog("add", ["-q", "--session=s1", "--transcript", file.to_str().unwrap()]).ok();
    assert_eq!(scratch.shiftlog("grep", ["ghp_a1"]).code, 0, "it is stored as it is");
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    let told = scratch.shiftlog("grep", ["the token is"]).ok();
    assert!(told.contains("the token is [REDACTED:") && !told.contains("ghp_a1"), "{told}");
    for (right, wrong) in [
        ("ghp_a1B2", "ghp_a1B3"),
        // What is shown for the secret must not be shown only to those who guess.
        ("ghp_a1B2|REDACTED", "ghp_a1B3|REDACTED"),
        ("token is (ghp_a1|zzz)", "token is (ghp_a2|zzz)"),
        ("(ghp_a1B2|today)", "(ghp_a1B3|today)"),
    ] {
        for option in ["-c", "-l", "-L", "--json", "-i"] {
            let (right, wrong) = (scratch.shiftlog("grep", [option, right]), scratch.shiftlog("grep", [option, wrong]));
            assert_eq!((right.code, right.stdout, right.stderr), (wrong.code, wrong.stdout, wrong.stderr));
        }
        let listed = |pattern: &str| scratch.shiftlog("log", ["-G", pattern]).stdout;
        assert_eq!(listed(right), listed(wrong));
    }
    let searched = |word: &str| scratch.shiftlog("search", ["token", word]);
    assert_eq!((searched("ghp_a1*").code, searched(&secret).code, searched("redacted").code), (1, 1, 1));
    assert_eq!(searched("today").code, 0);
}

#[test]
fn what_was_purged_is_not_found() {
    let scratch = recorded();
    assert_eq!(scratch.shiftlog("grep", ["hammers"]).code, 0);
    assert_eq!(scratch.shiftlog("search", ["hammers"]).code, 0);
    scratch.shiftlog("purge", ["--session=3f6b1c9e-52d4", "--yes"]).ok();
    for args in [&["grep", "hammers"][..], &["grep", "--unrecorded", "hammers"], &["search", "hammers"]] {
        let ran = scratch.git([&["shiftlog"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(scratch.shiftlog("grep", ["BACK OFF"]).code, 0, "the other session is still there");
    let left = scratch.run_in(&scratch.top, "grep", ["-r", "hammers", ".git"]);
    assert_eq!(left.stdout, "", "no index keeps the word");
}

#[test]
fn sessions_that_no_commit_has_are_found_when_asked_for() {
    let scratch = recorded();
    let session = scratch.session("walked-away");
    session.prompt("an idea that was never committed");
    session.hook("SessionEnd");
    assert_eq!(scratch.shiftlog("grep", ["--all", "never committed"]).code, 1);
    let found = scratch.shiftlog("grep", ["--unrecorded", "never committed"]).ok();
    assert_eq!(found, "- claude/walked-a:1:prompt:1:an idea that was never committed\n");
    assert_eq!(scratch.shiftlog("grep", ["--unrecorded", "hammers"]).code, 1, "a commit has it");
    assert_eq!(scratch.shiftlog("grep", ["--unrecorded", "x", "HEAD"]).code, 129);
}

#[test]
fn hostile_words_and_patterns_do_no_harm() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1\u{1b}[2J");
    session.prompt("needle \u{1b}]0;title\u{7}\u{202e}reversed");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let found = scratch.shiftlog("grep", ["needle"]).ok();
    assert!(
        found.ends_with("needle ]0;titlereversed\n") && !found.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{found:?}"
    );
    let object = scratch.shiftlog("grep", ["--json", "needle"]).ok();
    assert!(!object.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{object:?}");
    assert_eq!(scratch.shiftlog("grep", ["(a*)*needle"]).code, 0);
    for (bad, why) in [
        ("(", "unclosed group"),
        ("a)(b", "unopened group"),
        ("[z-a]", "invalid character class range, the start must be <= the end"),
    ] {
        let ran = scratch.shiftlog("grep", [bad]);
        assert_eq!((ran.code, ran.stderr), (128, format!("fatal: '{bad}' is not a regular expression: {why}\n")));
    }
    for pattern in ["(?:a{1000}){1000}".to_owned(), "x*".repeat(2000)] {
        for command in [&["grep", &pattern][..], &["log", "-G", &pattern]] {
            let ran = scratch.shiftlog(command[0], &command[1..]);
            assert_eq!((ran.code, ran.stderr.as_str()), (128, "fatal: pattern too large\n"), "{}", command[0]);
        }
    }
    assert_eq!(scratch.shiftlog("grep", ["-F", &"x".repeat(100_000)]).code, 1);
    assert_eq!(scratch.shiftlog("grep", [""; 0]).code, 129);
    assert_eq!(scratch.shiftlog("grep", ["-e", "-needle"]).code, 1);
    assert_eq!(scratch.shiftlog("grep", ["--in=prompts,nonsense", "x"]).code, 129);
}

#[test]
fn words_that_are_missing_are_told_and_the_rest_is_searched() {
    let scratch = recorded();
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", "--no-local", ".", clone.to_str().unwrap()]).ok();
    scratch.git_in(&clone, ["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    let ran = scratch.shiftlog_in(&clone, "grep", ["hammers"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert_eq!(
        ran.stderr,
        "warning: words of 3 records are not here\nhint: 'git shiftlog sync pull --all' fetches transcripts that others share\n"
    );
    scratch.git_in(&clone, ["fetch", "-q", "origin", "refs/shiftlog/sessions:refs/shiftlog/sessions"]).ok();
    let expected = scratch.shiftlog("grep", ["back"]).ok();
    assert_eq!(scratch.shiftlog_in(&clone, "grep", ["back"]).ok(), expected);
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]).ok();
    assert_eq!(scratch.shiftlog_in(&linked, "grep", ["back"]).ok(), expected);
    let bare = scratch.root().join("bare.git");
    scratch.git(["clone", "-q", "--mirror", ".", bare.to_str().unwrap()]).ok();
    assert_eq!(scratch.shiftlog_in(&bare, "grep", ["back"]).ok(), expected);
}

#[test]
fn a_reader_of_matches_that_goes_away_is_met_with_silence() {
    let scratch = Scratch::new();
    let file = scratch.root().join("t.jsonl");
    let lines: String = (0..5000)
        .map(|line| format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": format!("word {line} {}", "x".repeat(80)) } })))
        .collect();
    fs::write(&file, lines).unwrap();
    for number in 0..4 {
        let commit = scratch.commit("n", &format!("{number}\n"), "n");
        let session = format!("--session=s{number}");
        scratch.shiftlog("add", ["-q", &session, "--transcript", file.to_str().unwrap(), &commit]).ok();
    }
    let mut command = scratch.command("git", &scratch.top);
    let mut child =
        command.args(["shiftlog", "grep", "word"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    let _ = child.stdout.take().unwrap().read(&mut first);
    let output = child.wait_with_output().unwrap();
    assert_eq!((String::from_utf8_lossy(&output.stderr).as_ref(), output.status.code()), ("", Some(141)));
    let mut command = scratch.command("sh", &scratch.top);
    let ran = feed(command.args(["-c", "git shiftlog grep word | head -n1"]), b"");
    assert_eq!((ran.stderr.as_str(), ran.stdout.lines().count()), ("", 1));
}
