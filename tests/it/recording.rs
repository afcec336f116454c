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
    session.answers("c1", &format!("[main {}] first\n[main {}] second", &first[..7], &second[..7]));
    session.hook_for("PostToolUse", "c1");
    session.hook("Stop");
    scratch.record(&first);
    scratch.record(&second);
    assert_eq!(scratch.raw(&first, &[]) + &scratch.raw(&second, &[]), session.text());
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

#[test]
fn a_compacted_and_a_rewound_transcript_read_back_as_they_were() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let first = session.text();
    // The agent rewrites its file: the first line stays, the rest is another.
    let head = first.lines().next().unwrap().to_owned();
    fs::write(&session.transcript, format!("{head}\n")).unwrap();
    session.says("compacted");
    session.edits("b.txt", "b\n");
    session.commits("two");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    assert_eq!(scratch.raw("HEAD~1", &["--full"]), first);
    let increment = scratch.raw("HEAD", &[]);
    assert_eq!(increment, session.text()[head.len() + 1..], "from where the files part");
    // And cut short without anything new, then going on.
    fs::write(&session.transcript, format!("{head}\n")).unwrap();
    scratch.commit("c.txt", "c\n", "by hand");
    session.says("after the rewind");
    session.edits("d.txt", "d\n");
    session.commits("three");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
}

#[test]
fn a_long_transcript_reads_back_as_it_was_however_the_agent_writes_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    (0..100).for_each(|number| session.says(&format!("{number} {}", "words ".repeat(2000))));
    session.edits("a.txt", "a\n");
    session.commits("long");
    let stored = session.text();
    assert!(stored.len() > 1 << 20);
    session.says("appended");
    session.edits("b.txt", "b\n");
    session.commits("appended");
    assert_eq!(scratch.raw("HEAD~1", &[]), stored);
    assert_eq!(scratch.raw("HEAD", &[]), session.text()[stored.len()..]);
    // In the middle of what is stored, and of the same length.
    let changed = session.text().replacen("50 words", "50 WORDS", 1);
    fs::write(&session.transcript, &changed).unwrap();
    session.says("changed");
    session.edits("c.txt", "c\n");
    session.commits("changed");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    // Another file of the same name, and a shorter one.
    let other = scratch.root().join("other.jsonl");
    fs::write(&other, changed.replacen("7 words", "7 WORDS", 1)).unwrap();
    fs::rename(&other, &session.transcript).unwrap();
    session.edits("d.txt", "d\n");
    session.commits("replaced");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    fs::write(&session.transcript, &stored[..=stored[..stored.len() / 3].rfind('\n').unwrap()]).unwrap();
    session.edits("e.txt", "e\n");
    session.commits("cut short");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    scratch.assert_sound();
}

#[test]
fn a_secret_is_in_no_note() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let says = |count| (0..count).for_each(|number| session.says(&format!("{number} {}", "words ".repeat(2000))));
    session.prompt("first");
    says(100);
    session.edits("a.txt", "a\n");
    session.commits("long");
    for round in ["b", "c", "d"] {
        let before = session.text().len();
        session.prompt(&format!("{round}: my token is {token}"));
        says(10);
        session.edits(&format!("{round}.txt"), "x\n");
        session.commits(round);
        let note = scratch.git(["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
        assert!(note.contains(&format!("{round}: my token is [REDACTED:github-token]")), "{note}");
        let expected = session.text()[before..].replace(&token, "[REDACTED:github-token]");
        assert_eq!(scratch.raw("HEAD", &[]), expected);
    }
}

#[test]
fn a_torn_last_line_waits_for_its_end() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    let complete = session.text();
    session.append(b"{\"type\":\"assistant\",\"mess");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "torn"]).ok();
    assert_eq!(scratch.raw("HEAD", &[]), complete);
    session.append(b"age\":{\"role\":\"assistant\",\"content\":\"whole\"}}\n");
    session.edits("b.txt", "b\n");
    session.commits("whole");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
}

#[test]
fn huge_lines_and_bytes_that_are_no_text_are_kept() {
    let scratch = Scratch::set_up();
    // Without optimisation, looking for secrets in so much takes longer than a hook has.
    scratch.git(["config", "shiftlog.hookTimeout", "120"]).ok();
    let session = scratch.session("s1");
    session.prompt("first");
    session.says(&"x".repeat(30 << 20));
    session.append(b"\xff\xfe not json \x00\x1b[31m\n");
    session.edits("a.txt", "a\n");
    session.commits("huge");
    let shown = scratch.shiftlog("show", ["--raw", "--full"]);
    assert!(shown.bytes == fs::read(&session.transcript).unwrap(), "byte for byte");
}

#[test]
fn a_transcript_deleted_before_the_commit_is_no_failure() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    fs::remove_file(&session.transcript).unwrap();
    let log_before = scratch.log().lines().count();
    scratch.write("a.txt", "a\n");
    let commit = session.runs_commit(&["-m", "lost"]);
    assert_eq!(scratch.records(&commit).len(), 0);
    let log = scratch.log();
    let added: Vec<&str> = log.lines().skip(log_before).collect();
    assert!(added.iter().any(|line| line.contains("cannot read the transcript")), "{added:?}");
}

#[test]
fn lost_state_costs_no_words_and_no_overlap() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.commits("one");
    scratch.lose_state();
    session.prompt("second");
    session.edits("b.txt", "b\n");
    session.commits("two");
    assert_eq!(scratch.raw("HEAD~1", &[]) + &scratch.raw("HEAD", &[]), session.text());
}

#[test]
fn forty_commits_store_a_session_once() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    for number in 0..40 {
        session.prompt(&format!("step {number}"));
        session.says(&"words ".repeat(500));
        session.edits("a.txt", &format!("{number}\n"));
        session.commits(&format!("step {number}"));
    }
    let listed = scratch.git(["ls-tree", "-r", "--format=%(objectname)", "refs/shiftlog/sessions"]).ok();
    let mut joined = Vec::new();
    let zstd = |id: &str| {
        let blob = scratch.run_in(&scratch.top, "git", ["cat-file", "blob", id]).bytes;
        zstd::stream::decode_all(&blob[..]).unwrap()
    };
    listed.lines().for_each(|id| joined.extend(zstd(id)));
    assert!(joined == session.text().as_bytes(), "each word is in exactly one segment, and plain zstd reads them");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    scratch.assert_sound();
}

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

#[test]
fn two_commits_of_one_call_get_a_record_each_and_the_last_one_the_answer() {
    let scratch = Scratch::set_up();
    let session = session_with_tool_hooks(&scratch);
    session.edits("a.txt", "a\n");
    session.calls("c1", "Bash", &json!({ "command": "git commit -am one && echo b >b && git commit -am two" }));
    let before_answer = session.text();
    let one = session.runs_commit(&["-m", "one"]);
    fs::write(scratch.top.join("b.txt"), "b\n").unwrap();
    let two = session.runs_commit(&["-m", "two"]);
    session.answers("c1", &format!("[main {}] one\n[main {}] two", &one[..7], &two[..7]));
    session.hook_for("PostToolUse", "c1");
    assert_eq!(scratch.raw(&one, &[]), before_answer);
    assert_eq!(scratch.raw(&two, &[]), session.text()[before_answer.len()..]);
    assert_eq!(scratch.waiting(), 0);
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
fn a_last_line_without_a_line_end_is_taken_when_the_session_is_over() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    let text = session.text();
    fs::write(&session.transcript, text.trim_end()).unwrap();
    session.hook("SessionEnd");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "by hand"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--full"]), text);
    scratch.commit("z", "z\n", "another");
    assert_eq!(scratch.records("HEAD").len(), 0, "nothing is new");
    // Taken up again, it goes on behind that line.
    fs::write(&session.transcript, &text).unwrap();
    session.hook("SessionStart");
    session.says("going on");
    session.edits("b.txt", "b\n");
    session.commits("two");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    scratch.assert_sound();
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
