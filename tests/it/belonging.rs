//! Whose conversation a commit gets where more than one answer seems possible.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::resume::place;
use crate::support::{Scratch, Session, feed};

/// Returns the sessions that are recorded on a revision, sorted.
fn sessions(scratch: &Scratch, revision: &str) -> Vec<String> {
    let records = scratch.records(revision);
    let mut ids: Vec<String> = records.iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn a_commit_of_other_files_leaves_the_session_to_the_commit_of_its_own() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write the parser");
    session.edits("parser.rs", "fn parse() {}\n");
    let unrelated = scratch.commit("notes.txt", "mine\n", "a human's");
    assert_eq!(scratch.records(&unrelated).len(), 0, "the agent has not touched that file");
    let own = scratch.commit("parser.rs", "fn parse() {}\n", "the parser");
    assert_eq!(scratch.record(&own)["prompt"], "write the parser");
    assert_eq!(scratch.raw(&own, &[]), session.text());
}

#[test]
fn a_session_that_only_talked_still_gets_the_commit_that_was_made_for_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("how do I sort this?");
    session.says("With sort(1).");
    let commit = scratch.commit("sorted.txt", "a\nb\n", "sort it");
    assert_eq!(sessions(&scratch, &commit), ["s1"]);
}

#[test]
fn a_commit_with_an_empty_message_is_new_work() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("save it");
    session.edits("a.txt", "a\n");
    let by_agent = session.runs_commit(&["--allow-empty-message", "-m", ""]);
    assert_eq!(sessions(&scratch, &by_agent), ["s1"]);
    session.prompt("again");
    session.edits("a.txt", "aa\n");
    scratch.git(["commit", "-q", "-a", "--allow-empty-message", "-m", ""]).ok();
    assert_eq!(scratch.record("HEAD")["prompt"], "again");
    // The agent's own hook must see it too.
    fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
    session.prompt("once more");
    session.edits("a.txt", "aaa\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit --allow-empty-message -m ''" }));
    let commit = session.runs_commit(&["--allow-empty-message", "-m", ""]);
    session.answers("c1", &format!("[main {}]", &commit[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.record(&commit)["prompt"], "once more");
}

/// Makes a branch `side` that differs from `main` in another file, or in the same one.
fn diverged(scratch: &Scratch, path: &str) {
    scratch.git(["switch", "-q", "-c", "side"]).ok();
    scratch.commit(path, "side\n", "on the side");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("main.txt", "main\n", "on main");
}

#[test]
fn a_bisection_that_nobody_has_ended_hides_no_session() {
    let scratch = Scratch::set_up();
    (0..4).for_each(|n| {
        scratch.git(["commit", "-q", "--allow-empty", "-m", &format!("old {n}")]).ok();
    });
    scratch.git(["bisect", "start", "HEAD", "HEAD~3"]).ok();
    let session = scratch.session("hunt");
    session.prompt("find it");
    session.edits("a.txt", "a\n");
    session.commits("found on the way");
    assert_eq!(sessions(&scratch, "HEAD"), ["hunt"]);
    scratch.git(["checkout", "-q", "main"]).ok();
    session.prompt("go on");
    session.edits("b.txt", "b\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "by hand"]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["hunt"]);
    let reverted = scratch.id("HEAD");
    scratch.git(["revert", "--no-edit", &reverted]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), [""; 0], "a revert is nobody's new work");
}

#[test]
fn a_merge_belongs_to_the_agent_that_made_it() {
    for (path, has_hook) in [("side.txt", true), ("main.txt", true), ("side.txt", false), ("main.txt", false)] {
        let scratch = Scratch::set_up();
        diverged(&scratch, path);
        if !has_hook {
            fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
            fs::remove_file(scratch.top.join(".git/hooks/post-merge")).unwrap();
        }
        let session = scratch.session("s1");
        session.prompt("merge the side branch");
        session.calls("c1", "Bash", &json!({ "command": "git merge side" }));
        let merge = |args: &[&str]| {
            let mut command = scratch.command("git", &scratch.top);
            command.env("CLAUDE_CODE_SESSION_ID", "s1").args(args);
            command.output().unwrap()
        };
        if !merge(&["merge", "--no-edit", "side"]).status.success() {
            scratch.write("main.txt", "both\n");
            assert!(merge(&["commit", "-q", "-a", "--no-edit"]).status.success());
        }
        let merged = scratch.id("HEAD");
        session.answers("c1", "Merge made by the 'ort' strategy.");
        session.hook_for("PostToolUse", "c1");
        let expected = session.text();
        session.says("Merged.");
        session.hook("Stop");
        assert_eq!(scratch.git(["rev-list", "--count", "--merges", "HEAD^!"]).ok(), "1\n");
        assert_eq!(scratch.record(&merged)["prompt"], "merge the side branch", "{path}, hook: {has_hook}");
        assert_eq!(scratch.raw(&merged, &[]), expected);
        session.prompt("now something else");
        session.edits("next.txt", "x\n");
        session.commits("the next commit");
        assert_eq!(scratch.record("HEAD")["prompt"], "now something else");
    }
}

#[test]
fn a_merge_by_hand_and_a_merge_that_was_fetched_get_no_session() {
    let scratch = Scratch::set_up();
    diverged(&scratch, "side.txt");
    scratch.git(["switch", "-q", "-c", "merged"]).ok();
    scratch.git(["merge", "-q", "--no-edit", "side"]).ok();
    scratch.git(["switch", "-q", "main"]).ok();
    let session = scratch.session("s1");
    session.prompt("I only watch");
    scratch.git(["merge", "-q", "--no-edit", "side"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0, "a person merged");
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    let mut command = scratch.command("git", &scratch.top);
    command.env("CLAUDE_CODE_SESSION_ID", "s1").args(["merge", "-q", "--ff-only", "merged"]);
    assert!(command.output().unwrap().status.success());
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.records("HEAD").len(), 0, "the merge was there");
}

#[test]
#[cfg(target_os = "linux")]
fn a_worktree_whose_path_is_no_text_records() {
    use std::os::unix::ffi::OsStrExt as _;

    let scratch = Scratch::set_up();
    let name = std::ffi::OsStr::from_bytes(b"w\xff\xfe");
    let other = scratch.root().join(name);
    let mut command = scratch.command("git", &scratch.top);
    assert!(command.args(["worktree", "add", "-q", "-b", "other"]).arg(&other).output().unwrap().status.success());
    let session = scratch.session_in("s1", &other);
    assert_eq!(scratch.log(), "", "nothing failed");
    for number in 1..=2 {
        session.prompt(&format!("step {number}"));
        let path = other.join("a.txt");
        session.calls("w", "Write", &json!({ "file_path": path.to_string_lossy(), "content": "a" }));
        fs::write(&path, format!("{number}\n")).unwrap();
        let commit = session.commits(&format!("step {number}"));
        assert_eq!(scratch.record(&commit)["prompt"], format!("step {number}"), "{}", scratch.log());
    }
    assert_eq!(scratch.raw("other~1", &[]) + &scratch.raw("other", &[]), session.text());
    // A person's commit there belongs to the session that worked there, and to no worktree beside it.
    session.prompt("talk");
    scratch.commit("main.txt", "main\n", "in the main worktree");
    assert_eq!(scratch.records("main").len(), 0);
    fs::write(other.join("b.txt"), "b\n").unwrap();
    scratch.git_in(&other, ["add", "b.txt"]).ok();
    scratch.git_in(&other, ["commit", "-q", "-m", "by hand"]).ok();
    assert_eq!(sessions(&scratch, "other"), ["s1"]);
    assert!(!scratch.log().contains("warning"), "{}", scratch.log());
}

/// Lets a session of Claude Code that was started in `dir`, where none of our hooks runs, say something.
fn started_in<'s>(scratch: &'s Scratch, id: &str, dir: &std::path::Path) -> Session<'s> {
    let transcript = place(scratch, dir, id);
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let cwd = json!({ "type": "summary", "cwd": dir });
    fs::write(&transcript, format!("{cwd}\n")).unwrap();
    Session { scratch, id: id.to_owned(), dir: dir.to_owned(), transcript }
}

/// Lets such a session commit everything in a repository.
fn commits_in(session: &Session<'_>, repository: &std::path::Path, message: &str) -> String {
    let scratch = session.scratch;
    session.calls(message, "Bash", &json!({ "command": format!("cd {}; git commit", repository.display()) }));
    let there =
        Session { scratch, id: session.id.clone(), dir: repository.into(), transcript: session.transcript.clone() };
    let commit = there.runs_commit(&["--allow-empty", "-m", message]);
    session.answers(message, &format!("[main {}] {message}", &commit[..7]));
    commit
}

#[test]
fn an_agent_that_was_started_above_the_repository_is_found_by_its_environment() {
    let scratch = Scratch::set_up();
    let session = started_in(&scratch, "s1", &scratch.root());
    session.append(b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"from above\"}}\n");
    session.edits("repo/a.txt", "a\n");
    let first = commits_in(&session, &scratch.top, "first");
    let through_result = session.text();
    session.append(b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"go on\"}}\n");
    let second = commits_in(&session, &scratch.top, "second");
    assert_eq!(scratch.record(&first)["prompt"], "from above");
    assert_eq!(scratch.raw(&first, &[]), through_result, "with the result of the call, as for any other");
    assert_eq!(scratch.record(&second)["prompt"], "go on");
    let by_hand = scratch.commit("b.txt", "b\n", "a human's");
    assert_eq!(scratch.records(&by_hand).len(), 0);
}

#[test]
fn an_agent_that_works_in_another_repository_is_found_by_its_environment() {
    let scratch = Scratch::set_up();
    let inner = scratch.top.join("inner");
    scratch.git(["init", "-q", "-b", "main", "inner"]).ok();
    let initialised = scratch.shiftlog_in(&inner, "init", ["--agent=claude", "-q"]);
    assert_eq!(initialised.code, 0, "{initialised:?}");
    scratch.git_in(&inner, ["commit", "-q", "--allow-empty", "-m", "start"]).ok();
    // It runs in the outer repository, as in a superproject, and its hooks report there.
    let session = scratch.session("s1");
    let transcript = place(&scratch, &scratch.top, "s1");
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let session = Session {
        scratch: &scratch,
        id: "s1".into(),
        dir: scratch.top.clone(),
        transcript: {
            drop(session);
            transcript
        },
    };
    session.prompt("change the inner one");
    session.edits("inner/a.txt", "a\n");
    let commit = commits_in(&session, &inner, "inner");
    session.hook_for("PostToolUse", "inner");
    let note = scratch.git_in(&inner, ["notes", "--ref=shiftlog", "show", &commit]).ok();
    assert!(note.contains("change the inner one"), "{note}");
}

#[test]
fn an_agent_that_another_one_started_is_recorded_alone() {
    let scratch = Scratch::set_up();
    let id = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000";
    let folder = scratch.home().join(".codex/sessions/2026/01/02");
    fs::create_dir_all(&folder).unwrap();
    let meta = json!({ "timestamp": "2026-01-02T03:04:05Z", "type": "session_meta",
        "payload": { "id": id, "cwd": scratch.root() } });
    let said = json!({ "timestamp": "2026-01-02T03:04:06Z", "type": "event_msg",
        "payload": { "type": "user_message", "message": "let another one do it" } });
    fs::write(folder.join(format!("rollout-2026-01-02T03-04-05-{id}.jsonl")), format!("{meta}\n{said}\n")).unwrap();
    let commits = |session: &str| {
        let mut command = scratch.command("git", &scratch.top);
        command.env("CLAUDE_CODE_SESSION_ID", session).env("CODEX_THREAD_ID", id);
        command.args(["commit", "-q", "--allow-empty", "-m", "done"]);
        assert!(command.output().unwrap().status.success());
    };
    let inner = scratch.session("inner");
    inner.prompt("do it");
    commits("inner");
    assert_eq!(sessions(&scratch, "HEAD"), ["inner"], "the one that is known here");
    commits("nobody");
    assert_eq!(sessions(&scratch, "HEAD"), [id], "it can be found, if it is the only one");
}

// Codex leaves a server behind that is the parent of what every later session runs.
#[test]
fn a_server_that_an_agent_leaves_behind_is_nobodys_commit() {
    let scratch = Scratch::set_up();
    let editor = scratch.session("editor");
    editor.prompt("write it");
    editor.edits("x.txt", "x\n");
    let hook = crate::support::bin_dir().join("git-shiftlog--hook");
    let transcript = scratch.root().join("served.jsonl");
    fs::write(&transcript, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"serve\"}}\n").unwrap();
    let payload = json!({ "session_id": "served", "transcript_path": transcript, "cwd": scratch.top }).to_string();
    let script = format!(
        "echo '{payload}' | {hook} claude SessionStart; git add x.txt; git commit -q -m edited; :",
        hook = hook.display()
    );
    let program = scratch.root().join("bin/claude");
    let ran = scratch.run_in(&scratch.top, program.to_str().unwrap(), ["-c", &script, "app-server"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(sessions(&scratch, "HEAD"), ["editor"]);
}

#[test]
fn a_variable_that_an_agent_left_behind_long_ago_names_nobody() {
    let scratch = Scratch::set_up();
    let session = started_in(&scratch, "s1", &scratch.root());
    session.says("That was yesterday.");
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(24 * 60 * 60);
    fs::File::options().write(true).open(&session.transcript).unwrap().set_modified(yesterday).unwrap();
    scratch.write("a.txt", "a\n");
    let here = Session {
        scratch: &scratch,
        id: "s1".into(),
        dir: scratch.top.clone(),
        transcript: session.transcript.clone(),
    };
    let commit = here.runs_commit(&["-m", "by hand, in that terminal"]);
    assert_eq!(sessions(&scratch, &commit), Vec::<String>::new());
}

#[test]
fn of_the_sessions_of_one_process_the_one_in_the_worktree_of_the_commit_has_made_it() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let hook = crate::support::bin_dir().join("git-shiftlog--hook");
    let begin = |id: &str, directory: &Path| {
        let transcript = scratch.root().join(format!("{id}.jsonl"));
        let said = json!({ "type": "user", "message": { "role": "user", "content": format!("talk of {id}") } });
        fs::write(&transcript, format!("{said}\n")).unwrap();
        let payload = json!({ "session_id": id, "transcript_path": transcript, "cwd": directory });
        format!("cd {} && echo '{payload}' | {} claude SessionStart; ", directory.display(), hook.display())
    };
    let commit = |directory: &Path, file: &str| {
        format!("cd {} && echo x >{file} && git add {file} && git commit -q -m {file}; ", directory.display())
    };
    let end = |id: &str| {
        let payload = json!({ "session_id": id, "cwd": scratch.top });
        format!("echo '{payload}' | {} claude SessionEnd; ", hook.display())
    };
    // The session in the other worktree was heard of last. One that has ended does nothing more.
    let script = begin("c-over", &scratch.top)
        + &end("c-over")
        + &begin("a-here", &scratch.top)
        + &begin("b-there", &other)
        + &commit(&scratch.top, "here")
        + &commit(&other, "there");
    let agent = scratch.root().join("bin/claude");
    assert_eq!(scratch.run_in(&scratch.top, agent.to_str().unwrap(), ["-c", &script]).code, 0);
    assert_eq!(sessions(&scratch, "HEAD"), ["a-here"]);
    assert_eq!(sessions(&scratch, "other"), ["b-there"]);
}

#[test]
fn a_commit_under_an_action_of_somebody_s_own_is_new_work() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let under = |args: &[&str]| {
        let mut command = scratch.command("git", &scratch.top);
        command.env("GIT_REFLOG_ACTION", "our tool: step 1").args(args);
        assert!(command.output().unwrap().status.success(), "{args:?}");
    };
    session.prompt("write it");
    session.edits("a.txt", "a\n");
    scratch.git(["add", "a.txt"]).ok();
    under(&["commit", "-q", "-m", "by a tool\n\nwith more lines"]);
    assert_eq!(scratch.record("HEAD")["prompt"], "write it");
    // What a tool takes from elsewhere or moves to is none.
    session.prompt("go on");
    session.edits("a.txt", "aa\n");
    let mut old = scratch.command("git", &scratch.top);
    old.env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z").args(["commit-tree", "-p", "HEAD", "-m", "old", "HEAD^{tree}"]);
    let old = String::from_utf8(old.output().unwrap().stdout).unwrap();
    under(&["cherry-pick", "--allow-empty", old.trim()]);
    let picked = scratch.id("HEAD");
    under(&["reset", "-q", "--soft", "HEAD~1"]);
    under(&["merge", "-q", "--ff-only", &picked]);
    assert_eq!(scratch.records("HEAD").len(), 0, "{}", scratch.log());
    // The agent's own hook sees the commit where Git's does not run.
    fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
    session.calls("c1", "Bash", &json!({ "command": "make release" }));
    session.hook("Stop");
    scratch.git(["add", "a.txt"]).ok();
    under(&["commit", "-q", "-m", "released"]);
    session.answers("c1", "done");
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.record("HEAD")["prompt"], "go on");
}

/// Runs the hook after a shell command of a session, with what the command has printed.
fn after_command(session: &Session<'_>, event: &str, command: &str, printed: &str) {
    let payload = json!({ "session_id": session.id, "transcript_path": session.transcript, "cwd": session.dir,
        "hook_event_name": event, "tool_name": "Bash", "tool_use_id": "c", "tool_input": { "command": command },
        "tool_response": { "stdout": printed } });
    let script = format!("git-shiftlog--hook claude {event}; exit $?");
    let claude = session.scratch.root().join("bin/claude");
    let ran = feed(session.scratch.command(claude, &session.dir).args(["-c", &script]), payload.to_string().as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn a_call_that_tells_of_another_commit_or_of_none_has_not_made_the_one_that_no_hook_saw() {
    for (command, printed) in [
        ("git commit -m nothing || true", "On branch main\nnothing to commit, working tree clean\n"),
        ("git commit -m more", "Changes not staged for commit:\n\nno changes added to commit (use \"git add\")\n"),
        ("git add y; git commit -m y", ""),
    ] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt("make y");
        session.edits("y.txt", "1\n");
        // As an editor commits.
        scratch.write("p.txt", "1\n");
        scratch.git(["add", "p.txt"]).ok();
        scratch.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "a person's"]).ok();
        let of_person = scratch.id("HEAD");
        session.calls("c", "Bash", &json!({ "command": command }));
        let printed = match printed {
            "" => format!("[main {}] y\n 1 file changed\n", &session.runs_commit(&["-m", "y"])[..7]),
            printed => printed.to_owned(),
        };
        session.answers("c", &printed);
        after_command(&session, "PostToolUse", command, &printed);
        session.hook("Stop");
        assert_eq!(scratch.records(&of_person).len(), 0, "{command}: {}", scratch.log());
        if command.ends_with('y') {
            assert_eq!(sessions(&scratch, "HEAD"), ["s1"]);
        }
    }
}
