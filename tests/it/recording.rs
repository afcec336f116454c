//! Which conversation a commit gets, and that it stays whole whatever Git does afterwards.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::{Scratch, Session};

#[test]
fn a_commit_by_the_agent_gets_one_record_through_the_tools_result() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("add a greeting");
    session.says("I will.");
    session.edits("greet.txt", "hi\n");
    let commit = session.commits("add greeting");
    let through_result = session.text();
    session.says("Done.");
    session.hook("Stop");
    let record = scratch.record(&commit);
    assert_eq!(record["prompt"], "add a greeting");
    assert_eq!((&record["turns"], &record["messages"]), (&json!(1), &json!(2)));
    assert_eq!(record["tokens"], json!({"input":30,"output":15,"cacheRead":0,"cacheWrite":0}));
    assert_eq!(scratch.raw("HEAD", &[]), through_result, "the result belongs to the commit, what follows does not");
    scratch.assert_sound();
}

#[test]
fn the_agents_hook_alone_records_the_same() {
    let scratch = Scratch::set_up();
    fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
    let session = scratch.session("s1");
    session.prompt("add a greeting");
    session.edits("greet.txt", "hi\n");
    let commit = session.commits("add greeting");
    let expected = session.text();
    session.says("Done.");
    session.hook("Stop");
    scratch.record(&commit);
    assert_eq!(scratch.raw("HEAD", &[]), expected);
}

/// The agent commits, and its tool call has not answered yet.
fn commit_whose_call_goes_on(session: &Session) -> String {
    session.prompt("add a greeting");
    session.edits("greet.txt", "hi\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -qam x" }));
    session.runs_commit(&["-m", "add greeting"])
}

#[test]
fn gits_hook_alone_records_and_the_result_follows_with_the_next_event() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let commit = commit_whose_call_goes_on(&session);
    assert_eq!(scratch.raw("HEAD", &[]), session.text(), "recorded while the tool still runs");
    session.answers("c1", &format!("[main {}] x", &commit[..7]));
    let expected = session.text();
    session.says("Done.");
    session.hook("Stop");
    scratch.record(&commit);
    assert_eq!(scratch.raw("HEAD", &[]), expected);
}

#[test]
fn a_result_that_is_written_after_the_turn_is_still_waited_for() {
    // With a quick model the hook for the end of the turn runs before the agent has written anything behind the call.
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("add a greeting");
    session.edits("greet.txt", "hi\n");
    let commit = session.runs_commit(&["-m", "add greeting"]);
    session.hook_for("PostToolUse", "c1");
    session.calls("c0", "Bash", &json!({ "command": "git diff" }));
    session.answers("c0", "+hi");
    session.hook("Stop");
    session.calls("c1", "Bash", &json!({ "command": "git commit -qam x" }));
    session.answers("c1", &format!("[main {}] x", &commit[..7]));
    let expected = session.text();
    session.says("Done.");
    session.hook("SessionEnd");
    scratch.record(&commit);
    assert_eq!(scratch.raw(&commit, &[]), expected);
}

#[test]
fn a_commit_elsewhere_leaves_a_result_that_is_waited_for() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let session = scratch.session("s1");
    let commit = commit_whose_call_goes_on(&session);
    scratch.git_in(&other, ["commit", "-q", "--allow-empty", "-m", "by hand"]).ok();
    session.answers("c1", &format!("[main {}] x", &commit[..7]));
    let expected = session.text();
    session.says("Done.");
    session.hook("Stop");
    assert_eq!(scratch.raw(&commit, &[]), expected);
    assert_eq!(scratch.records("other"), [] as [serde_json::Value; 0]);
}

#[test]
fn a_commit_of_a_sub_agent_has_its_own_answer() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("delegate");
    session.calls("task", "Task", &json!({ "prompt": "commit it" }));
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("agent-a1b2.jsonl");
    let words = "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"role\":\"user\",\"content\":\"commit it\"}}\n";
    fs::write(&path, words).unwrap();
    fs::write(scratch.top.join("helper.txt"), "by a helper\n").unwrap();
    let commit = session.runs_commit(&["-m", "by a helper"]);
    session.hook_for("PostToolUse", "c1");
    let content =
        json!([{ "type": "tool_result", "tool_use_id": "c1", "content": format!("[main {}] x", &commit[..7]) }]);
    let answer = json!({ "type": "user", "isSidechain": true, "message": { "role": "user", "content": content } });
    let expected = format!("{words}{answer}\n");
    fs::write(&path, &expected).unwrap();
    session.answers("task", "The helper is done.");
    session.says("Done.");
    session.hook("Stop");
    assert_eq!(scratch.raw(&commit, &["--session=s1.a1b2"]), expected);
}

#[test]
fn the_result_is_found_behind_secrets_of_other_lengths() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let commit = commit_whose_call_goes_on(&session);
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    session.says(&format!("{token} and {token}"));
    session.answers("c1", &format!("[main {}] x with {token}", &commit[..7]));
    let expected = session.text();
    session.says(&format!("Done with {token}."));
    session.hook("Stop");
    assert_eq!(scratch.raw("HEAD", &[]), expected.replace(&token, "[REDACTED:github-token]"));
}

#[test]
fn both_hooks_at_once_give_one_record() {
    for _ in 0..5 {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt("add a greeting");
        session.edits("greet.txt", "hi\n");
        session.calls("c1", "Bash", &json!({ "command": "git commit -qam x" }));
        fs::rename(scratch.top.join(".git/hooks/post-commit"), scratch.root().join("kept")).unwrap();
        let commit = session.runs_commit(&["-m", "add greeting"]);
        session.answers("c1", &format!("[main {}] x", &commit[..7]));
        let expected = session.text();
        std::thread::scope(|scope| {
            scope.spawn(|| session.hook_for("PostToolUse", "c1"));
            let git_hook = || scratch.run_in(&scratch.top, "sh", [scratch.root().join("kept")]);
            scope.spawn(git_hook);
            scope.spawn(git_hook);
        });
        session.hook("Stop");
        scratch.record(&commit);
        assert_eq!(scratch.raw("HEAD", &[]), expected);
    }
}

#[test]
fn a_failing_chain_after_the_commit_still_counts() {
    let scratch = Scratch::set_up();
    fs::remove_file(scratch.top.join(".git/hooks/post-commit")).unwrap();
    let session = scratch.session("s1");
    session.prompt("commit and test");
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -qam x && false" }));
    let commit = session.runs_commit(&["-m", "x"]);
    session.answers("c1", "Exit code 1");
    session.hook_for("PostToolUseFailure", "c1");
    scratch.record(&commit);
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
}

#[test]
fn increments_of_one_session_do_not_overlap_and_are_together_the_session() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let mut commits = Vec::new();
    for number in 0..5 {
        session.prompt(&format!("step {number}"));
        session.edits("a.txt", &format!("{number}\n"));
        commits.push(session.commits(&format!("step {number}")));
    }
    let increments: String = commits.iter().map(|commit| scratch.raw(commit, &[])).collect();
    assert_eq!(increments, session.text());
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    for (number, commit) in commits.iter().enumerate() {
        assert_eq!(scratch.record(commit)["prompt"], format!("step {number}"));
        assert_eq!(scratch.record(commit)["turns"], 1);
    }
}

#[test]
fn two_commits_in_one_tool_call_both_belong_to_the_session() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("two commits");
    session.calls("c1", "Bash", &json!({ "command": "git commit ... && git commit ..." }));
    scratch.write("a.txt", "a\n");
    let first = session.runs_commit(&["-m", "first"]);
    scratch.write("b.txt", "b\n");
    let second = session.runs_commit(&["-m", "second"]);
    let before_answer = session.text();
    session.answers("c1", &format!("[main {}] first\n[main {}] second", &first[..7], &second[..7]));
    session.hook_for("PostToolUse", "c1");
    session.hook("Stop");
    assert_eq!(scratch.raw(&first, &[]), before_answer, "{}", scratch.log());
    assert_eq!(scratch.raw(&second, &[]), session.text(), "{}", scratch.log());
    assert_eq!(scratch.record(&second)["prompt"], "two commits");
}

#[test]
fn a_commit_by_hand_gets_the_session_that_edited_its_files() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write it");
    session.edits("src/deep/a.txt", "a\n");
    session.hook("Stop");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "by hand"]).ok();
    assert_eq!(scratch.record("HEAD")["session"], "s1");
    let other = scratch.commit("b.txt", "mine\n", "nothing of the agent's");
    assert_eq!(scratch.records(&other).len(), 0, "nothing new was said");
}

#[test]
fn files_edited_through_a_symbolic_link_are_the_same_files() {
    let scratch = Scratch::set_up();
    let link = scratch.root().join("link");
    std::os::unix::fs::symlink(&scratch.top, &link).unwrap();
    let (session, bystander) = (scratch.session("s1"), scratch.session("bystander"));
    session.prompt("write it");
    bystander.prompt("watch");
    session.calls("t1", "Write", &json!({ "file_path": link.join("src/a.txt"), "content": "a" }));
    scratch.commit("src/a.txt", "a", "by hand");
    assert_eq!(scratch.record("HEAD")["session"], "s1");
}

#[test]
fn of_two_sessions_in_one_worktree_each_commit_gets_the_right_one() {
    let scratch = Scratch::set_up();
    let (one, two) = (scratch.session("one"), scratch.session("two"));
    one.prompt("do a");
    two.prompt("do b");
    one.edits("a.txt", "a\n");
    two.edits("b.txt", "b\n");
    scratch.git(["add", "a.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "a"]).ok();
    assert_eq!(scratch.record("HEAD")["session"], "one");
    scratch.git(["add", "b.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "b"]).ok();
    assert_eq!(scratch.record("HEAD")["session"], "two");

    one.prompt("more a");
    two.prompt("more b");
    one.edits("a.txt", "aa\n");
    two.edits("b.txt", "bb\n");
    scratch.git(["commit", "-q", "-a", "-m", "both"]).ok();
    let mut sessions: Vec<_> = scratch.records("HEAD").iter().map(|record| record["session"].clone()).collect();
    sessions.sort_by_key(ToString::to_string);
    assert_eq!(sessions, ["one", "two"], "both made it");

    one.prompt("talk");
    two.prompt("talk");
    let commit = scratch.commit("c.txt", "c\n", "nobody's");
    assert_eq!(scratch.records(&commit).len(), 0, "two could have made it: nobody can tell");
}

#[test]
fn the_process_of_the_agent_tells_who_ran_the_commit() {
    let scratch = Scratch::set_up();
    let bystander = scratch.session("bystander");
    bystander.prompt("watch");
    let hook = super::support::bin_dir().join("git-shiftlog--hook");
    let transcript = scratch.root().join("actor.jsonl");
    fs::write(&transcript, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"act\"}}\n").unwrap();
    let payload = json!({ "session_id": "actor", "transcript_path": transcript, "cwd": scratch.top }).to_string();
    let script = format!(
        "echo '{payload}' | {hook} claude SessionStart; echo x >x.txt; git add x.txt; git commit -q -m acted; :",
        hook = hook.display()
    );
    let ran = scratch.run_in(&scratch.top, scratch.root().join("bin/claude").to_str().unwrap(), ["-c", &script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(scratch.record("HEAD")["session"], "actor");
}

#[test]
fn sessions_in_two_worktrees_stay_apart() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let (here, there) = (scratch.session("here"), scratch.session_in("there", &other));
    here.prompt("here");
    there.prompt("there");
    fs::write(other.join("o.txt"), "o\n").unwrap();
    scratch.git_in(&other, ["add", "o.txt"]).ok();
    scratch.git_in(&other, ["commit", "-q", "-m", "there"]).ok();
    assert_eq!(scratch.record("other")["session"], "there");
    let commit = scratch.commit("h.txt", "h\n", "here");
    assert_eq!(scratch.record(&commit)["session"], "here");
}

#[test]
fn a_commit_in_another_worktree_belongs_to_the_session_that_ran_it() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let session = scratch.session("s1");
    session.prompt("fix it over there");
    fs::write(other.join("o.txt"), "o\n").unwrap();
    let mut command = scratch.command("git", &scratch.top);
    command.args(["-C", other.to_str().unwrap(), "add", "o.txt"]).output().unwrap();
    let mut command: Command = scratch.command("git", &scratch.top);
    command.env("CLAUDE_CODE_SESSION_ID", "s1");
    command.args(["-C", other.to_str().unwrap(), "commit", "-qm", "over there"]).output().unwrap();
    assert_eq!(scratch.record("other")["session"], "s1");
}

#[test]
fn a_transcript_without_hooks_is_found_in_the_agents_own_store() {
    let scratch = Scratch::set_up();
    let name: String =
        scratch.top.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = scratch.home().join(".claude/projects").join(name);
    fs::create_dir_all(&folder).unwrap();
    let edit = json!({ "type": "assistant", "cwd": scratch.top, "message": { "role": "assistant", "content": [
        { "type": "tool_use", "id": "t", "name": "Write", "input": { "file_path": scratch.top.join("f.txt"), "content": "f" } } ] } });
    fs::write(folder.join("lone.jsonl"), format!("{edit}\n")).unwrap();
    // Another directory whose folder has the same name: 'repo' beside 'repo', told apart by what the records say.
    let other = edit.to_string().replace(&format!("\"cwd\":{}", json!(scratch.top)), "\"cwd\":\"/somewhere/else\"");
    assert!(other.contains("/somewhere/else"));
    fs::write(folder.join("other.jsonl"), format!("{other}\n")).unwrap();
    scratch.commit("f.txt", "f", "found");
    assert_eq!(scratch.record("HEAD")["session"], "lone");
}

#[test]
fn a_linked_worktree_finds_sessions_in_the_store_too() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let name: String =
        other.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = scratch.home().join(".claude/projects").join(name);
    fs::create_dir_all(&folder).unwrap();
    let edit = json!({ "type": "assistant", "cwd": other, "message": { "role": "assistant", "content": [
        { "type": "tool_use", "id": "t", "name": "Write", "input": { "file_path": other.join("f.txt"), "content": "f" } } ] } });
    fs::write(folder.join("lone.jsonl"), format!("{edit}\n")).unwrap();
    fs::write(other.join("f.txt"), "f").unwrap();
    scratch.git_in(&other, ["add", "f.txt"]).ok();
    scratch.git_in(&other, ["commit", "-q", "-m", "found"]).ok();
    assert_eq!(scratch.record("other")["session"], "lone");
}

#[test]
fn the_first_hook_of_a_session_claims_no_old_commit() {
    // An agent that comes into a repository in the middle of its session once got the newest commit there.
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("look around");
    scratch.lose_state();
    session.hook_for("PostToolUse", "t1");
    assert_eq!(scratch.records("HEAD").len(), 0);
    // And one that goes to another worktree got the newest commits of that.
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    fs::write(other.join("o.txt"), "o\n").unwrap();
    scratch.git_in(&other, ["add", "o.txt"]).ok();
    scratch.git_in(&other, ["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "a human's"]).ok();
    let moved =
        Session { scratch: &scratch, id: "s1".into(), dir: other.clone(), transcript: session.transcript.clone() };
    moved.hook_for("PostToolUse", "t2");
    assert_eq!(scratch.records("other").len(), 0);
}

#[test]
fn a_commit_by_hand_while_a_tool_runs_stays_without_a_record() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("do something");
    session.edits("a.txt", "a\n");
    session.commits("mine");
    session.calls("t1", "Bash", &json!({ "command": "sleep 100" }));
    let commit = scratch.commit("b.txt", "b\n", "a human's");
    session.answers("t1", "");
    let ran = session.try_hook_after("PostToolUse", "t1", "sleep 100");
    assert_eq!(ran.code, 0);
    assert_eq!(scratch.records(&commit).len(), 0);
}

#[test]
fn a_prompt_that_speaks_of_a_tag_is_kept_whole() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("<ide_selection>noise</ide_selection>what does <system-reminder> mean, and a < b?");
    session.edits("a.txt", "a\n");
    let commit = session.commits("x");
    assert_eq!(scratch.record(&commit)["prompt"], "what does <system-reminder> mean, and a < b?");
}

#[test]
fn sub_agents_are_sessions_of_their_own() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("delegate");
    session.edits("a.txt", "a\n");
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let words = "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"role\":\"user\",\"content\":\"find it\"}}\n";
    fs::write(folder.join("agent-a1b2.jsonl"), words).unwrap();
    let commit = session.commits("delegated");
    let sessions: Vec<_> = scratch.records(&commit).iter().map(|record| record["session"].clone()).collect();
    assert_eq!(sessions, ["s1", "s1.a1b2"]);
    assert_eq!(scratch.raw("HEAD", &["--session=s1.a1b2"]), words);
}

#[test]
fn sub_agents_of_older_releases_lie_beside_their_session() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("delegate");
    session.edits("a.txt", "a\n");
    let folder = session.transcript.parent().unwrap();
    let words = |session: &str| json!({ "type": "user", "isSidechain": true, "sessionId": session, "message": { "role": "user", "content": "x" } });
    fs::write(folder.join("agent-mine.jsonl"), format!("{}\n", words("s1"))).unwrap();
    fs::write(folder.join("agent-other.jsonl"), format!("{}\n", words("s2"))).unwrap();
    let commit = session.commits("delegated");
    let sessions: Vec<_> = scratch.records(&commit).iter().map(|record| record["session"].clone()).collect();
    assert_eq!(sessions, ["s1", "s1.mine"]);
}

#[test]
fn words_of_an_ended_session_are_archived_and_still_belong_to_the_next_commit() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write it");
    session.edits("a.txt", "a\n");
    session.says("bye");
    let text = session.text();
    session.hook("SessionEnd");
    fs::remove_file(&session.transcript).unwrap();
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "later"]).ok();
    assert_eq!(scratch.raw("HEAD", &[]), text, "the agent has deleted its file, the archive has the words");
}

#[test]
fn a_session_that_was_killed_is_archived_when_another_starts() {
    let scratch = Scratch::set_up();
    let session = scratch.session("killed");
    session.prompt("before the crash");
    scratch.session("next");
    let listed = scratch.git(["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).ok();
    assert!(listed.contains("claude~killed/000000-"), "{listed}");
}

#[test]
fn a_session_killed_before_its_commit_was_extended_is_counted_whole() {
    let scratch = Scratch::set_up();
    let session = scratch.session("killed");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit" }));
    let commit = session.runs_commit(&["-m", "one"]);
    session.answers("c1", &format!("[main {}] one", &commit[..7]));
    session.says("Committed.");
    // No hook of its own runs any more; another session archives what is left, and the next commit closes it.
    scratch.session("next");
    scratch.commit("b.txt", "b\n", "by hand");
    assert_eq!(scratch.raw(&commit, &[]), session.text());
    assert_eq!(scratch.record(&commit)["messages"], 2, "the prompt and the last answer");
}
