//! Commits that an agent makes in a tool call: they are recorded once, when the answer is there.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Scratch, Session};

/// Makes a session that has had a hook after a tool call: then one follows a commit, too.
fn session_with_tool_hooks(scratch: &Scratch) -> Session<'_> {
    let session = scratch.session("s1");
    session.prompt("look around");
    session.calls("look", "Bash", &json!({ "command": "ls" }));
    session.answers("look", "a.txt");
    session.hook_for("PostToolUse", "look");
    session.prompt("write it down");
    session
}

#[test]
fn a_commit_of_an_agent_is_recorded_once_with_its_answer() {
    let scratch = Scratch::set_up();
    let session = session_with_tool_hooks(&scratch);
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -am one" }));
    let objects = || scratch.git(["count-objects"]).ok().split(' ').next().unwrap().parse::<usize>().unwrap();
    let commit = session.runs_commit(&["-m", "one"]);
    let before = objects();
    assert_eq!((scratch.waiting(), scratch.git(["notes", "--ref=shiftlog", "list"]).stdout.len()), (1, 0));
    session.answers("c1", &format!("[main {}] one", &commit[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.waiting(), 0);
    assert!(objects() - before <= 10, "{} objects", objects() - before);
    assert_eq!(scratch.git(["rev-list", "--count", "refs/notes/shiftlog"]).ok(), "1\n", "one update of the notes");
    assert_eq!(scratch.git(["rev-list", "--count", "refs/shiftlog/sessions"]).ok(), "1\n");
    assert_eq!(scratch.raw(&commit, &[]), session.text());
}

#[test]
fn a_commit_whose_agent_never_reports_is_recorded_by_whoever_comes_next() {
    for next in ["show", "hook", "push"] {
        let scratch = Scratch::set_up();
        scratch.git(["init", "-q", "--bare", "../remote.git"]).ok();
        let session = session_with_tool_hooks(&scratch);
        session.edits("a.txt", "a\n");
        session.calls("c1", "Bash", &json!({ "command": "git commit -am one; kill -9 $PPID" }));
        let said = session.text();
        let commit = session.runs_commit(&["-m", "one"]);
        session.says("said after the commit");
        match next {
            "show" => drop(scratch.raw(&commit, &[])),
            "hook" => session.hook("UserPromptSubmit"),
            _ => drop(scratch.git(["push", "-q", "../remote.git", "main"]).ok()),
        }
        assert_eq!(scratch.waiting(), 0, "{next}");
        assert_eq!(scratch.records(&commit).len(), 1, "{next}: {}", scratch.log());
        if next != "hook" {
            assert_eq!(scratch.raw(&commit, &[]), said, "{next}: the commit ends where it was made");
        }
    }
}

/// Lets a session edit a file and begin the call `c1`, which makes two commits.
fn begins_two_commits(session: &Session<'_>) {
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -am one && echo b >b && git commit -am two" }));
}

/// Makes these commits.
fn makes_two_commits(session: &Session<'_>) -> (String, String) {
    let one = session.runs_commit(&["-m", "one"]);
    fs::write(session.dir.join("b.txt"), "b\n").unwrap();
    (one, session.runs_commit(&["-m", "two"]))
}

#[test]
fn commits_of_one_call_each_get_what_led_to_it_and_the_last_one_the_answer() {
    let scratch = Scratch::set_up();
    let session = session_with_tool_hooks(&scratch);
    begins_two_commits(&session);
    let before_answer = session.text();
    let (one, two) = makes_two_commits(&session);
    fs::write(scratch.top.join("c.txt"), "c\n").unwrap();
    let three = session.runs_commit(&["-m", "three"]);
    session.answers("c1", &format!("[main {}] one\n[main {}] two", &one[..7], &two[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.raw(&one, &[]), before_answer);
    assert_eq!(scratch.raw(&two, &[]), before_answer);
    assert_eq!(scratch.raw(&three, &[]), session.text());
    assert_eq!(scratch.record(&three)["prompt"], "look around");
    assert_eq!(scratch.waiting(), 0);
    // The words that several commits have count once.
    let counted = scratch.shiftlog("stats", ["--json"]).stdout;
    let total: Value = serde_json::from_str(counted.lines().last().unwrap()).unwrap();
    assert_eq!((&total["turns"], &total["coverage"]["recorded"]), (&json!(2), &json!(3)), "{counted}");

    // A later call has words of its own.
    session.calls("c2", "Bash", &json!({ "command": "git commit -am four" }));
    fs::write(scratch.top.join("d.txt"), "d\n").unwrap();
    let before = session.text().len();
    let four = session.runs_commit(&["-m", "four"]);
    session.answers("c2", &format!("[main {}] four", &four[..7]));
    session.hook_for("PostToolUse", "c2");
    assert!(session.text()[..before].contains("c2"));
    assert_eq!(scratch.record(&four)["turns"], 0);
    assert!(scratch.raw(&four, &[]).contains("git commit -am four"), "{}", scratch.log());
}

#[test]
fn commits_of_one_call_whose_hook_never_runs_each_get_what_led_to_it() {
    let scratch = Scratch::set_up();
    let session = session_with_tool_hooks(&scratch);
    begins_two_commits(&session);
    let said = session.text();
    let (one, two) = makes_two_commits(&session);
    for commit in [&one, &two] {
        assert_eq!(scratch.raw(commit, &[]), said, "{}", scratch.log());
        assert_eq!(scratch.record(commit)["turns"], 2);
    }
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn commits_of_one_call_each_have_the_words_of_sub_agents() {
    let scratch = Scratch::set_up();
    let session = session_with_tool_hooks(&scratch);
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let words = json!({ "type": "user", "isSidechain": true, "message": { "role": "user", "content": "find it" } });
    fs::write(folder.join("agent-a1b2.jsonl"), format!("{words}\n")).unwrap();
    begins_two_commits(&session);
    let (one, two) = makes_two_commits(&session);
    session.answers("c1", "DONE");
    session.hook_for("PostToolUse", "c1");
    for commit in [&one, &two] {
        let sessions: Vec<Value> = scratch.records(commit).iter().map(|record| record["session"].clone()).collect();
        assert_eq!(sessions, ["s1", "s1.a1b2"], "{}", scratch.log());
    }
}

#[test]
fn a_commit_that_is_amended_in_the_same_call_takes_its_conversation_along() {
    let scratch = Scratch::set_up();
    let session = session_with_tool_hooks(&scratch);
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -am one && git commit --amend -m better" }));
    let one = session.runs_commit(&["-m", "one"]);
    let amended = session.runs_commit(&["--amend", "-m", "better"]);
    session.answers("c1", &format!("[main {}] better", &amended[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.raw(&amended, &[]), session.text(), "{}", scratch.log());
    assert!(session.text().starts_with(&scratch.raw(&one, &[])));
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn an_agents_commit_is_recorded_wherever_head_is_and_however_it_got_there() {
    for (place, has_reflog) in [("main", true), ("detached", true), ("main", false), ("detached", false)] {
        let scratch = Scratch::set_up();
        if place == "detached" {
            scratch.git(["switch", "-q", "--detach"]).ok();
        }
        if !has_reflog {
            scratch.git(["config", "core.logAllRefUpdates", "false"]).ok();
            fs::remove_dir_all(scratch.top.join(".git/logs")).unwrap();
        }
        scratch.git(["pack-refs", "--all"]).ok();
        let session = scratch.session("s1");
        session.prompt("words");
        session.edits("x", "1");
        // A tool call tells that hooks follow tool calls, so that the next commit is left to one.
        session.hook_for("PostToolUse", "edit-x");
        session.commits("one");
        assert_eq!(scratch.record("HEAD")["session"], "s1", "{place}, reflog: {has_reflog}");
        assert_eq!(scratch.waiting(), 0, "{place}, reflog: {has_reflog}");
    }
}

#[test]
fn the_result_of_a_quiet_commit_is_recorded_where_no_hook_of_the_agent_runs() {
    // The agent is named by the environment or not, and writes the call before the commit is made or after it.
    for (is_named, is_late) in [(true, false), (false, false), (true, true)] {
        for is_linked in [false, true] {
            let told = format!("named: {is_named}, late: {is_late}, linked: {is_linked}");
            let scratch = Scratch::set_up();
            fs::remove_file(scratch.top.join(".claude/settings.local.json")).unwrap();
            let linked = scratch.root().join("linked");
            scratch.git(["worktree", "add", "-q", linked.to_str().unwrap()]).ok();
            let dir = if is_linked { linked } else { scratch.top.clone() };
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let folder = scratch.home().join(".claude/projects");
            let folder = folder.join(dir.to_str().unwrap().chars().map(plain).collect::<String>());
            fs::create_dir_all(&folder).unwrap();
            let transcript = folder.join("s1.jsonl");
            let session = Session { scratch: &scratch, id: "s1".into(), dir: dir.clone(), transcript };
            let begin = json!({ "type": "user", "cwd": dir, "sessionId": "s1", "timestamp": "2026-01-02T03:04:06Z",
                "message": { "role": "user", "content": "write it down" } });
            session.append(format!("{begin}\n").as_bytes());
            session.edits("a.txt", "a\n");
            let calls = || session.calls("c1", "Bash", &json!({ "command": "git add -A && git commit -q -m one" }));
            if !is_late {
                calls();
            }
            let commit = match is_named {
                true => session.runs_commit(&["-m", "one"]),
                false => {
                    scratch.git_in(&dir, ["add", "-A"]).ok();
                    scratch.git_in(&dir, ["commit", "-q", "-m", "one"]).ok();
                    scratch.git_in(&dir, ["rev-parse", "HEAD"]).ok().trim().to_owned()
                }
            };
            if is_late {
                calls();
            }
            session.answers("c1", "(no output)");
            let expected = session.text();
            session.says("Done.");
            scratch.shiftlog_in(&dir, "log", ["-n1"]).ok();
            assert_eq!(scratch.raw(&commit, &[]), expected, "{told}: {}", scratch.log());
        }
    }
}

#[test]
fn a_payload_that_is_cut_is_not_read_and_the_next_hook_makes_up_for_it() {
    let scratch = Scratch::set_up();
    let session = session_with_tool_hooks(&scratch);
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -am one" }));
    let commit = session.runs_commit(&["-m", "one"]);
    let states =
        || fs::read_dir(scratch.state().join("live")).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    let before: Vec<_> = states().collect();
    // The whole of it is a payload, and more than is read.
    let head = json!({ "session_id": "s1", "hook_event_name": "PostToolUse", "cwd": scratch.top }).to_string();
    let large = format!(
        "{{ echo '{head}'; head -c 268435456 /dev/zero | tr '\\0' ' '; }} | git-shiftlog--hook claude PostToolUse"
    );
    let ran = scratch.run_in(&scratch.top, "sh", ["-c", &large]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(scratch.log().contains("the payload did not end, or is too large"), "{}", scratch.log());
    assert_eq!(states().collect::<Vec<_>>(), before, "the session saw no hook");
    assert_eq!(scratch.waiting(), 1);
    session.answers("c1", &format!("[main {}] one", &commit[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.raw(&commit, &[]), session.text());
}
