//! Results of tool calls that agents write late, and the commits that they belong to.

use serde_json::json;

use crate::amended::speaks_and_commits;
use crate::support::{Ran, Scratch, Session, Staying};

/// Lets a session say something, change a file and amend in a call whose result is written after the hook.
fn amends_with_a_late_result(session: &Session<'_>, word: &str) -> String {
    session.prompt(word);
    session.says(&format!("{word}-SAID"));
    session.calls(word, "Bash", &json!({ "command": "git commit --amend" }));
    session.scratch.write("amended.txt", word);
    let amended = session.runs_commit(&["--amend", "-m", word]);
    session.hook_for("PostToolUse", word);
    session.answers(word, &format!("{word}-DONE"));
    amended
}

/// Returns those of some words that the conversation of a revision has.
pub fn said(scratch: &Scratch, revision: &str, words: &[&str]) -> Vec<String> {
    let text = scratch.shiftlog("show", ["--raw", revision]).stdout;
    words.iter().filter(|word| text.contains(**word)).map(|word| (*word).to_owned()).collect()
}

/// Lets a session that is known to run hooks after its calls say `WORD`, and begin the call `c`. Its process runs on.
fn begins_a_call(session: &Session<'_>, command: &str) -> Staying {
    session.prompt("zero");
    session.hook("PostToolUse");
    session.prompt("WORD");
    let process = session.stays();
    session.calls("c", "Bash", &json!({ "command": command }));
    process
}

#[test]
fn an_amend_in_a_later_turn_has_that_turn_although_its_result_is_late() {
    for is_carried_by_git in [true, false] {
        let scratch = Scratch::set_up();
        if !is_carried_by_git {
            scratch.git(["config", "notes.rewriteMode", "ignore"]).ok();
        }
        let session = scratch.session("s1");
        speaks_and_commits(&session, "one");
        session.hook("Stop");
        let amended = amends_with_a_late_result(&session, "WORD");
        session.hook("Stop");
        let words = ["one", "WORD-SAID", "WORD-DONE"];
        assert_eq!(said(&scratch, &amended, &words), words, "{}", scratch.log());
        speaks_and_commits(&session, "next");
        assert_eq!(said(&scratch, "HEAD", &["WORD", "next"]), ["next"]);
    }
}

#[test]
fn a_hook_that_is_killed_after_an_amend_leaves_its_turn_to_the_amended_commit() {
    for point in ["segment-written", "objects-written", "ref-moved", "archived", "recorded", "settled"] {
        let mut scratch = Scratch::set_up();
        speaks_and_commits(&scratch.session("s1"), "one");
        let session = scratch.session("s1");
        session.prompt("WORD");
        session.calls("c", "Bash", &json!({ "command": "git commit --amend" }));
        scratch.write("amended.txt", "x");
        let amended = session.runs_commit(&["--amend", "-m", "amended"]);
        session.answers("c", "DONE");
        scratch.env.insert("SHIFTLOG_FAULT".into(), point.into());
        scratch.session("s1").try_hook("PostToolUse", "c");
        scratch.env.remove("SHIFTLOG_FAULT");
        let session = scratch.session("s1");
        session.hook("Stop");
        speaks_and_commits(&session, "next");
        assert_eq!(said(&scratch, &amended, &["WORD", "DONE", "next"]), ["WORD", "DONE"], "{point}: {}", scratch.log());
        assert_eq!(said(&scratch, "HEAD", &["WORD", "DONE", "next"]), ["next"], "{point}: {}", scratch.log());
    }
}

#[test]
fn a_late_result_follows_its_commit_through_a_rebase_of_the_same_call() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    for word in ["one", "two", "three"] {
        speaks_and_commits(&session, word);
    }
    session.prompt("WORD");
    session.calls("c", "Bash", &json!({ "command": "git commit --fixup HEAD~1 && git rebase -i --autosquash HEAD~3" }));
    scratch.write("two.txt", "more");
    session.runs_commit(&["--fixup", "HEAD~1"]);
    scratch.git(["-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "HEAD~3"]).ok();
    session.hook_for("PostToolUse", "c");
    session.answers("c", "DONE");
    session.says("AFTER");
    session.hook("Stop");
    assert_eq!(said(&scratch, "HEAD~1", &["WORD", "DONE"]), ["WORD", "DONE"], "{}", scratch.log());
    speaks_and_commits(&session, "next");
    assert_eq!(said(&scratch, "HEAD", &["WORD", "DONE", "AFTER"]), ["AFTER"]);
}

#[test]
fn a_late_result_follows_its_commit_through_an_amend_by_hand() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("WORD");
    session.edits("a.txt", "a");
    session.calls("c", "Bash", &json!({ "command": "git commit" }));
    session.runs_commit(&["-m", "one"]);
    session.hook_for("PostToolUse", "c");
    scratch.git(["commit", "-q", "--amend", "-m", "reworded"]).ok();
    session.answers("c", "DONE");
    session.hook("Stop");
    assert_eq!(said(&scratch, "HEAD", &["WORD", "DONE"]), ["WORD", "DONE"], "{}", scratch.log());
}

#[test]
fn a_commit_elsewhere_whose_words_are_all_late_adds_nothing_to_the_commit_here() {
    for is_in_worktree in [true, false] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        speaks_and_commits(&session, "one");
        if is_in_worktree {
            let other = scratch.root().join("other");
            scratch.git(["worktree", "add", "-q", "-b", "topic", other.to_str().unwrap()]).ok();
            std::fs::write(other.join("two.txt"), "two").unwrap();
            let (id, transcript) = (session.id.clone(), session.transcript.clone());
            Session { scratch: &scratch, id, dir: other, transcript }.runs_commit(&["-m", "two"]);
        } else {
            scratch.git(["checkout", "-q", "-b", "topic"]).ok();
            scratch.write("two.txt", "two");
            session.runs_commit(&["-m", "two"]);
            scratch.git(["checkout", "-q", "-"]).ok();
        }
        // The agent writes the call and its result after the hook.
        session.hook_for("PostToolUse", "c");
        session.calls("c", "Bash", &json!({ "command": "git commit # WORD" }));
        session.answers("c", "DONE");
        session.hook("Stop");
        session.hook("SessionEnd");
        let words = ["one", "WORD", "DONE"];
        assert_eq!(said(&scratch, "topic", &words), words[1..], "{is_in_worktree}: {}", scratch.log());
        assert_eq!(said(&scratch, "HEAD", &words), words[..1], "{is_in_worktree}: {}", scratch.log());
    }
}

#[test]
fn a_commit_from_a_terminal_of_the_agents_takes_no_later_turn() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let later = |seconds: i64, text: &str| {
        let time = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        let message = json!({ "role": "user", "content": text });
        let record = json!({ "type": "user", "uuid": text, "sessionId": session.id, "timestamp": time.to_string(),
            "message": message });
        session.append(format!("{record}\n").as_bytes());
        session.hook("UserPromptSubmit");
    };
    session.prompt("FIRST");
    session.edits("a.txt", "a\n");
    session.hook("PostToolUse");
    session.hook("Stop");
    // The environment of the terminal names the session.
    let first = session.runs_commit(&["-m", "first"]);
    scratch.write("README", "mine");
    let mine = session.runs_commit(&["-m", "only mine"]);
    later(5, "SECOND");
    session.edits("a.txt", "b\n");
    session.hook("Stop");
    let second = session.runs_commit(&["-m", "second"]);
    session.hook("SessionEnd");
    for (commit, words) in [(first, vec!["FIRST"]), (mine, Vec::new()), (second, vec!["SECOND"])] {
        assert_eq!(said(&scratch, &commit, &["FIRST", "SECOND"]), words, "{}", scratch.log());
    }
}

#[test]
fn the_hook_of_another_session_leaves_a_commit_to_the_call_that_undoes_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let process = begins_a_call(&session, "git commit && git reset --soft HEAD~1 && git commit");
    scratch.write("a.txt", "a");
    let wrong = session.runs_commit(&["-m", "wrong"]);
    scratch.git(["reset", "-q", "--soft", "HEAD~1"]).ok();
    let right = session.runs_commit(&["-m", "right"]);
    let other: Ran = scratch.session("s2").try_hook("Stop", "");
    assert_eq!(other.code, 0);
    session.answers("c", "DONE");
    session.hook_for("PostToolUse", "c");
    drop(process);
    assert_ne!(wrong, right);
    assert_eq!(said(&scratch, &right, &["WORD", "DONE"]), ["WORD", "DONE"], "{}", scratch.log());
}

#[test]
fn a_call_that_only_shows_a_commit_of_a_person_did_not_make_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    speaks_and_commits(&session, "one");
    session.prompt("WORD");
    session.edits("later.txt", "later");
    session.hook("PostToolUse");
    scratch.write("mine.txt", "mine");
    scratch.git(["add", "mine.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "mine"]).ok();
    let shown = scratch.git(["log", "-1", "--oneline"]).ok();
    session.calls("c", "Bash", &json!({ "command": "git log -1 --oneline" }));
    session.answers("c", &shown);
    let payload = json!({ "session_id": session.id, "transcript_path": session.transcript, "cwd": session.dir,
        "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c",
        "tool_input": { "command": "git log -1 --oneline" }, "tool_response": { "stdout": shown } });
    let ran = scratch.run_with_input("git-shiftlog--hook", ["claude", "PostToolUse"], payload.to_string().as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    session.hook("Stop");
    assert!(scratch.records("HEAD").is_empty(), "{}", scratch.log());
    speaks_and_commits(&session, "next");
    assert_eq!(said(&scratch, "HEAD", &["WORD"]), ["WORD"]);
}

/// A session of Amp, which keeps each conversation in one document and tells its calls by its own plugin.
struct Thread<'a> {
    scratch: &'a Scratch,
    messages: Vec<serde_json::Value>,
}

const THREAD: &str = "T-019ca1ce-3ae2-7686-a41e-ccc078837f8a";

impl<'a> Thread<'a> {
    fn new(scratch: &'a Scratch) -> Self {
        scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
        Thread { scratch, messages: Vec::new() }
    }

    fn writes(&mut self, role: &str, content: &serde_json::Value) {
        self.messages.push(json!({ "role": role, "content": [content] }));
        let tree = format!("file://{}", self.scratch.top.display());
        let whole = json!({ "v": 1, "id": THREAD, "created": 1_772_241_173_221_i64, "messages": self.messages,
            "env": { "initial": { "trees": [{ "uri": tree }] } } });
        let path = self.scratch.home().join(format!(".local/share/amp/threads/{THREAD}.json"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, whole.to_string()).unwrap();
    }

    fn hook(&self, event: &str, more: &serde_json::Value) {
        let mut payload = json!({ "hook_event_name": event, "thread_id": THREAD, "cwd": self.scratch.top });
        payload.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let ran = self.scratch.run_with_input("git-shiftlog--hook", ["amp", event], payload.to_string().as_bytes());
        ran.ok();
    }

    fn prompt(&mut self, word: &str) {
        self.writes("user", &json!({ "type": "text", "text": word }));
        self.hook("UserPromptSubmit", &json!({}));
    }

    /// Commits in a call whose result is written after the hook.
    fn commits(&mut self, word: &str) {
        self.writes(
            "assistant",
            &json!({ "type": "tool_use", "complete": true, "id": word, "name": "Bash", "input": { "cmd": "git commit" } }),
        );
        self.commits_by_hand(word);
        let call = json!({ "tool_name": "Bash", "tool_use_id": word, "tool_input": { "cmd": "git commit" },
            "status": "done", "tool_response": word });
        self.hook("PostToolUse", &call);
        let result = json!({ "status": "done", "result": { "output": format!("{word}-DONE"), "exitCode": 0 } });
        self.writes("user", &json!({ "type": "tool_result", "toolUseID": word, "run": result }));
    }

    /// Commits in a terminal below the agent.
    fn commits_by_hand(&self, word: &str) {
        self.scratch.write(&format!("{word}.txt"), word);
        self.scratch.git(["add", &format!("{word}.txt")]).ok();
        let mut git = self.scratch.command("git", &self.scratch.top);
        Ran::of(git.env("AGENT_THREAD_ID", THREAD).args(["commit", "-q", "-m", word]).output().unwrap()).ok();
    }
}

#[test]
fn the_next_prompt_of_a_document_is_not_that_of_the_commit_before() {
    let scratch = Scratch::new();
    let mut thread = Thread::new(&scratch);
    thread.hook("SessionStart", &json!({}));
    let words = ["ONE", "TWO", "THREE"];
    for word in words {
        thread.prompt(&format!("{word}-SAID"));
        thread.commits(word);
    }
    thread.hook("Stop", &json!({}));
    let all: Vec<String> = words.iter().flat_map(|word| [format!("{word}-SAID"), format!("{word}-DONE")]).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for (revision, index) in [("HEAD~2", 0), ("HEAD~1", 2), ("HEAD", 4)] {
        assert_eq!(said(&scratch, revision, &all), all[index..index + 2], "{revision}: {}", scratch.log());
    }
}

#[test]
fn a_commit_from_a_terminal_below_an_agent_without_times_gets_no_later_prompt() {
    let scratch = Scratch::new();
    let mut thread = Thread::new(&scratch);
    thread.hook("SessionStart", &json!({}));
    thread.prompt("ONE-SAID");
    thread.commits("ONE");
    thread.hook("Stop", &json!({}));
    thread.commits_by_hand("mine");
    thread.prompt("TWO-SAID");
    thread.writes("assistant", &json!({ "type": "text", "text": "TWO-ANSWER" }));
    thread.hook("Stop", &json!({}));
    thread.commits("TWO");
    thread.hook("Stop", &json!({}));
    let words = ["ONE-SAID", "TWO-SAID", "TWO-ANSWER"];
    for (revision, expected) in [("HEAD~2", &words[..1]), ("HEAD~1", &[]), ("HEAD", &words[1..])] {
        assert_eq!(said(&scratch, revision, &words), expected, "{revision}: {}", scratch.log());
    }
}

#[test]
fn the_second_commit_of_a_long_call_gets_the_late_result_of_that_call() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let process = begins_a_call(&session, "git commit -m one; make test; git commit -m two");
    scratch.write("one.txt", "1");
    session.runs_commit(&["-m", "one"]);
    scratch.write("two.txt", "2");
    let second = session.runs_commit(&["-m", "two"]);
    session.hook_for("PostToolUse", "c");
    // The messages of a session are an hour apart and later than any commit of the test.
    session.answers("c", "DONE");
    session.hook("Stop");
    drop(process);
    speaks_and_commits(&session, "next");
    assert_eq!(said(&scratch, &second, &["DONE"]), ["DONE"], "{}", scratch.log());
    assert_eq!(said(&scratch, "HEAD", &["DONE", "next"]), ["next"], "{}", scratch.log());
}

#[test]
fn a_late_result_before_the_next_prompt_goes_to_the_commit_that_it_names() {
    let scratch = Scratch::new();
    let mut thread = Thread::new(&scratch);
    thread.hook("SessionStart", &json!({}));
    thread.prompt("ONE-SAID");
    let call =
        json!({ "type": "tool_use", "complete": true, "id": "c", "name": "Bash", "input": { "cmd": "git commit" } });
    thread.writes("assistant", &call);
    thread.commits_by_hand("first");
    thread.commits_by_hand("second");
    let second = scratch.id("HEAD");
    // The hook does not name the call.
    thread
        .hook("PostToolUse", &json!({ "tool_name": "Bash", "tool_input": { "cmd": "git commit" }, "status": "done" }));
    let output = format!("[main {}] second DONE", &second[..7]);
    let run = json!({ "status": "done", "result": { "output": output, "exitCode": 0 } });
    thread.writes("user", &json!({ "type": "tool_result", "toolUseID": "c", "run": run }));
    thread.prompt("TWO-SAID");
    thread.commits("third");
    thread.hook("Stop", &json!({}));
    let words = ["ONE-SAID", "DONE", "TWO-SAID"];
    assert_eq!(said(&scratch, &second, &words[1..]), ["DONE"], "{}", scratch.log());
    assert_eq!(said(&scratch, "HEAD", &words[..2]).len(), 1, "its own result alone: {}", scratch.log());
    assert_eq!(said(&scratch, "HEAD", &words[2..]), ["TWO-SAID"], "{}", scratch.log());
}
