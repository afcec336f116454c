//! Transcripts that are one document, written anew each time: what is stored, whatever becomes of the document.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Scratch, feed};

const ID: &str = "T-7b2c9d10-52d4-4b8a-9d0e-7a1f2c3b4d5e";

/// A thread of Amp's, in a file that its hooks name.
struct Document<'s> {
    scratch: &'s Scratch,
    path: PathBuf,
    messages: Vec<Value>,
    version: u32,
    is_pretty: bool,
}

impl<'s> Document<'s> {
    fn new(scratch: &'s Scratch, is_pretty: bool) -> Self {
        scratch.shiftlog("init", ["--agent=amp", "-q"]).ok();
        // Nothing here is about time, and a busy machine may need more of it.
        scratch.git(["config", "shiftlog.hookTimeout", "600"]).ok();
        let document =
            Document { scratch, path: scratch.root().join("thread.json"), messages: Vec::new(), version: 0, is_pretty };
        document.hook("SessionStart");
        document
    }

    fn hook(&self, event: &str) {
        let payload = json!({ "session_id": ID, "transcript_path": self.path, "cwd": self.scratch.top }).to_string();
        feed(self.scratch.command("git-shiftlog--hook", &self.scratch.top).args(["amp", event]), payload.as_bytes())
            .ok();
    }

    fn says(&mut self, words: &str) {
        let message =
            json!({ "role": "user", "messageId": self.messages.len(), "content": [{ "type": "text", "text": words }] });
        self.messages.push(message);
    }

    /// Adds the result of the tool call that made HEAD.
    fn answers(&mut self) {
        let result = json!({ "type": "tool_result", "toolUseID": format!("t{}", self.messages.len()),
            "run": { "status": "done", "result": { "output": self.scratch.id("HEAD"), "exitCode": 0 } } });
        self.messages.push(json!({ "role": "user", "messageId": self.messages.len(), "content": [result] }));
    }

    fn write(&mut self) -> String {
        self.version += 1;
        let document =
            json!({ "v": self.version, "id": ID, "messages": self.messages, "title": format!("t{}", self.version) });
        let text = if self.is_pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
        fs::write(&self.path, &text).unwrap();
        text
    }

    /// Writes it, makes a commit and checks what that has.
    fn commits(&mut self) {
        let text = self.write();
        let message = format!("commit {}", self.version);
        self.scratch.commit("a", &message, &message);
        assert_eq!(self.scratch.raw("HEAD", &["--full"]), text, "{}", self.scratch.log());
    }
}

#[test]
fn a_document_is_recorded_as_it_is_whatever_becomes_of_its_beginning() {
    for is_pretty in [false, true] {
        let scratch = Scratch::new();
        let mut thread = Document::new(&scratch, is_pretty);
        thread.says("the first words");
        thread.says("more words");
        thread.commits();
        thread.says("what is new");
        thread.commits();
        let new = scratch.raw("HEAD", &[]);
        assert!(new.contains("what is new") && !new.contains("more words"), "{new}");
        assert_eq!(scratch.record("HEAD")["messages"], 1);
        // Only what is around the list changes.
        thread.commits();
        // The agent has thought of something better to have been told.
        thread.messages[0]["content"][0]["text"] = "other first words".into();
        thread.says("after a change");
        thread.commits();
        thread.says("going on");
        thread.commits();
        assert_eq!(scratch.record("HEAD")["messages"], 1);
        // It goes back.
        thread.messages.truncate(2);
        thread.commits();
        thread.says("on another way");
        thread.commits();
        // Another release writes in another form.
        thread.is_pretty = !thread.is_pretty;
        thread.says("in another form");
        thread.commits();
        thread.says("in that form again");
        thread.commits();
        assert_eq!(scratch.record("HEAD")["messages"], 1);
        // Our own state is older than what is stored.
        let copy = scratch.back_up_state();
        thread.says("not in the copy");
        thread.commits();
        scratch.restore_state(&copy);
        thread.says("after a step back");
        thread.commits();
        // It is damaged.
        for file in scratch.state_files().iter().filter(|file| file.is_file()) {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }
        thread.hook("PostToolUse");
        thread.says("after some damage");
        thread.commits();
        // It is lost.
        scratch.lose_state();
        thread.hook("PostToolUse");
        thread.says("after a loss");
        thread.commits();
        scratch.assert_sound();
    }
}

#[test]
fn a_document_that_is_cut_for_two_commits_goes_on_from_there() {
    for is_pretty in [false, true] {
        let mut scratch = Scratch::new();
        // No hook tells that a call has ended.
        scratch.env.insert("AGENT_THREAD_ID".into(), ID.into());
        let mut thread = Document::new(&scratch, is_pretty);
        for number in 0..5 {
            thread.says(&format!("turn {number}"));
            thread.commits();
            thread.answers();
            thread.says(&format!("done {number}"));
        }
        for (number, revision) in ["HEAD~4", "HEAD~3", "HEAD~2", "HEAD~1"].into_iter().enumerate() {
            let said = scratch.raw(revision, &[]);
            assert!(said.contains(&format!("turn {number}")) && said.contains(&scratch.id(revision)), "{said}");
            assert_eq!(said.contains(&format!("done {}", number.wrapping_sub(1))), number > 0, "{said}");
        }
        scratch.assert_sound();
    }
}

/// Returns a long document, with a commit.
fn long(scratch: &Scratch) -> Document<'_> {
    let mut thread = Document::new(scratch, false);
    for number in 0..2000 {
        thread.says(&format!("{number} {}", "words and words ".repeat(30)));
    }
    thread.commits();
    thread
}

#[test]
fn a_long_document_that_changes_in_place_is_recorded_as_it_is() {
    let scratch = Scratch::new();
    let mut thread = long(&scratch);
    for number in 0..3 {
        thread.says(&format!("new {number}"));
        thread.commits();
        assert_eq!(scratch.record("HEAD")["messages"], 1);
    }
    thread.messages[1000]["content"][0]["text"] = "other words".into();
    thread.says("after a change");
    thread.commits();
    // Words of the same length are not seen at once.
    thread.messages[500]["content"][0]["text"] = format!("005 {}", "words and words ".repeat(30)).into();
    thread.says("after another change");
    thread.commits();
    thread.messages[500]["content"][0]["text"] = format!("050 {}", "words and words ".repeat(30)).into();
    thread.commits();
    thread.says("going on");
    thread.commits();
    assert_eq!(scratch.record("HEAD")["messages"], 1);
    scratch.assert_sound();
}

#[test]
fn what_a_hook_stored_that_was_killed_before_it_wrote_that_down_is_not_stored_again() {
    for point in ["archived", "recorded"] {
        let scratch = Scratch::new();
        let mut thread = long(&scratch);
        thread.says("two");
        let text = thread.write();
        scratch.write("b", "2");
        scratch.git(["add", "b"]).ok();
        let mut commit = scratch.command("git", &scratch.top);
        commit.env("SHIFTLOG_FAULT", point).args(["commit", "-q", "-m", "two"]);
        assert!(commit.output().unwrap().status.success());
        thread.hook("Stop");
        thread.says("three");
        thread.commits();
        assert_eq!(scratch.raw("HEAD~1", &["--full"]), text, "{point}");
        for revision in ["HEAD~1", "HEAD"] {
            assert_eq!(scratch.record(revision)["messages"], 1, "{point}: {}", scratch.log());
        }
    }
}

#[test]
fn hooks_at_the_same_moment_store_a_document_once() {
    let scratch = Scratch::new();
    let mut thread = long(&scratch);
    thread.says("two");
    let text = thread.write();
    std::thread::scope(|scope| {
        let thread = &thread;
        (0..4).for_each(|_| drop(scope.spawn(|| thread.hook("Stop"))));
        scratch.commit("b", "2", "two");
    });
    assert_eq!(scratch.raw("HEAD", &["--full"]), text);
    assert_eq!(scratch.record("HEAD")["messages"], 1);
    thread.says("three");
    thread.commits();
    assert_eq!(scratch.record("HEAD")["messages"], 1);
}

#[test]
fn what_was_removed_for_good_from_a_document_stays_away_while_it_goes_on() {
    for (is_pretty, is_one_turn) in [(false, true), (false, false), (true, true)] {
        let scratch = Scratch::new();
        let mut thread = Document::new(&scratch, is_pretty);
        thread.says("the horse is called Ferdinand");
        thread.commits();
        if !is_one_turn {
            thread.says("yes, Ferdinand");
            thread.commits();
        }
        scratch.shiftlog("purge", ["--yes", "--match=Ferdinand"]).ok();
        for number in 0..2 {
            thread.says(&format!("going on {number}"));
            let text = thread.write();
            scratch.commit("a", &format!("{number}"), "after");
            assert_eq!(scratch.raw("HEAD", &["--full"]), text.replace("Ferdinand", "[REDACTED:purged]"));
            assert_eq!(scratch.record("HEAD")["messages"], 1, "{}", scratch.log());
        }
        scratch.shiftlog("fsck", ["-q"]).ok();
    }
}

#[test]
fn what_was_archived_without_a_commit_goes_to_the_next_one() {
    for is_pretty in [false, true] {
        let mut scratch = Scratch::new();
        scratch.env.insert("AGENT_THREAD_ID".into(), ID.into());
        let mut thread = Document::new(&scratch, is_pretty);
        thread.says("the first words");
        thread.says(&"long ".repeat(100));
        thread.commits();
        thread.says("said at the end");
        thread.write();
        thread.hook("SessionEnd");
        thread.commits();
        assert_eq!(scratch.record("HEAD")["messages"], 1, "{}", scratch.log());
        assert!(scratch.raw("HEAD", &[]).contains("said at the end"));
        // It goes back behind what commits have, and ends there.
        thread.messages.truncate(1);
        thread.write();
        thread.hook("SessionEnd");
        thread.says("on another way");
        thread.commits();
        assert!(scratch.raw("HEAD", &[]).contains("on another way"));
        thread.says("and on");
        thread.commits();
        assert_eq!(scratch.record("HEAD")["messages"], 1);
        scratch.assert_sound();
    }
}

#[test]
fn what_was_removed_for_good_before_a_commit_stays_away_from_it() {
    for is_pretty in [false, true] {
        let mut scratch = Scratch::new();
        scratch.env.insert("AGENT_THREAD_ID".into(), ID.into());
        let mut thread = Document::new(&scratch, is_pretty);
        thread.says("the horse is called Ferdinand");
        thread.says("what a name");
        let text = thread.write();
        thread.hook("SessionEnd");
        scratch.shiftlog("purge", ["--yes", "--match=Ferdinand"]).ok();
        scratch.commit("a", "1", "by hand");
        assert_eq!(scratch.raw("HEAD", &["--full"]), text.replace("Ferdinand", "[REDACTED:purged]"));
        thread.says("going on");
        let text = thread.write();
        scratch.commit("a", "2", "going on");
        assert_eq!(scratch.raw("HEAD", &["--full"]), text.replace("Ferdinand", "[REDACTED:purged]"));
        scratch.shiftlog("fsck", ["-q"]).ok();
    }
}

#[test]
fn what_could_not_be_stored_is_stored_by_the_next_command_as_it_is() {
    for is_changed in [false, true] {
        let scratch = Scratch::new();
        let mut thread = long(&scratch);
        scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
        let lock = scratch.top.join(".git/refs/shiftlog/sessions.lock");
        fs::write(&lock, "").unwrap();
        if is_changed {
            thread.messages[500]["content"][0]["text"] = format!("005 {}", "words and words ".repeat(30)).into();
        }
        thread.says("new");
        let text = thread.write();
        scratch.commit("a", "new", "new");
        assert!(scratch.git(["notes", "--ref=shiftlog", "show", "HEAD"]).code != 0, "the archive was locked");
        fs::remove_file(lock).unwrap();
        thread.hook("Stop");
        assert_eq!(scratch.raw("HEAD", &["--full"]), text, "{}", scratch.log());
        let reached = scratch.git(["rev-list", "--objects", "refs/shiftlog/sessions"]).ok();
        let through = scratch.record("HEAD")["through"].as_str().unwrap().to_owned();
        assert!(reached.contains(&through), "{}", scratch.log());
        thread.says("going on");
        thread.commits();
        scratch.assert_sound();
    }
}

#[test]
fn a_document_that_was_changed_is_cut_for_two_commits_all_the_same() {
    let mut scratch = Scratch::new();
    scratch.env.insert("AGENT_THREAD_ID".into(), ID.into());
    let mut thread = long(&scratch);
    thread.messages[500]["content"][0]["text"] = format!("005 {}", "words and words ".repeat(30)).into();
    thread.answers();
    thread.says("of the second");
    thread.commits();
    assert!(scratch.raw("HEAD", &[]).contains("of the second"), "{}", scratch.log());
    assert!(!scratch.raw("HEAD~", &[]).contains("of the second"), "{}", scratch.log());
    scratch.assert_sound();
}
