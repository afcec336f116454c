//! Each commit has what was said before it and after the one before, whatever comes between: calls that run at the same
//! time, other worktrees, scripts, people, a hook that is killed.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Scratch, Session};

/// Says what of `words` stands in the increment of a commit.
fn said<'w>(scratch: &Scratch, commit: &str, words: &[&'w str]) -> Vec<&'w str> {
    let text = scratch.shiftlog("show", ["--raw", commit]).stdout;
    words.iter().copied().filter(|word| text.contains(word)).collect()
}

fn worktree(scratch: &Scratch, name: &str) -> PathBuf {
    let path = scratch.root().join(name);
    scratch.git(["worktree", "add", "-q", "-b", name, path.to_str().unwrap()]).ok();
    path
}

/// A session commits in another working tree than the one it was started in.
fn commits_in(session: &Session<'_>, dir: &std::path::Path, message: &str) -> String {
    let call_id = format!("commit-{message}");
    session.calls(&call_id, "Bash", &json!({ "command": format!("git -C elsewhere commit -am '{message}'") }));
    let scratch = session.scratch;
    let run = |args: &[&str]| {
        let mut command = scratch.command("git", dir);
        assert!(command.env("CLAUDE_CODE_SESSION_ID", &session.id).args(args).status().unwrap().success());
    };
    fs::write(dir.join(message), message).unwrap();
    run(&["add", "-A"]);
    run(&["commit", "-q", "-m", message]);
    let commit = scratch.git_in(dir, ["rev-parse", "HEAD"]).ok().trim().to_owned();
    session.answers(&call_id, &format!("[x {}] {message}", &commit[..7]));
    session.hook_for("PostToolUse", &call_id);
    commit
}

#[test]
fn a_commit_in_another_worktree_has_its_own_words_when_one_here_follows() {
    let scratch = Scratch::set_up();
    let elsewhere = worktree(&scratch, "elsewhere");
    let session = scratch.session("s1");
    session.prompt("FIRST");
    let one = commits_in(&session, &elsewhere, "one");
    session.says("SECOND");
    session.edits("file", "x");
    let two = session.commits("two");
    session.says("THIRD");
    session.hook("Stop");
    let words = ["FIRST", "SECOND", "THIRD"];
    assert_eq!(said(&scratch, &one, &words), ["FIRST"], "{}", scratch.log());
    assert_eq!(said(&scratch, &two, &words), ["SECOND"]);
}

#[test]
fn a_call_that_ends_first_takes_nothing_from_the_one_that_commits() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    // The hooks of this session follow its calls.
    session.prompt("BEFORE");
    session.edits("a", "a");
    session.commits("zero");
    session.prompt("FIRST");
    session.edits("b", "b");
    session.calls("test", "Bash", &json!({ "command": "cargo test" }));
    session.calls("commit", "Bash", &json!({ "command": "git commit -qam one" }));
    let one = session.runs_commit(&["-m", "one"]);
    session.answers("test", "ok");
    session.try_hook_after("PostToolUse", "test", "cargo test");
    session.answers("commit", "DONE");
    session.try_hook_after("PostToolUse", "commit", "git commit -qam one");
    session.says("SECOND");
    session.edits("c", "c");
    let two = session.commits("two");
    let words = ["BEFORE", "FIRST", "DONE", "SECOND"];
    assert_eq!(said(&scratch, &one, &words), ["FIRST", "DONE"], "{}", scratch.log());
    assert_eq!(said(&scratch, &two, &words), ["SECOND"]);
}

#[test]
fn a_commit_that_a_script_makes_has_its_own_words() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("BEFORE");
    session.edits("a", "a");
    session.commits("zero");
    session.prompt("FIRST");
    session.edits("b", "b");
    session.calls("release", "Bash", &json!({ "command": "make release" }));
    let one = session.runs_commit(&["-m", "one"]);
    session.answers("release", "released");
    session.try_hook_after("PostToolUse", "release", "make release");
    session.says("SECOND");
    session.edits("c", "c");
    let two = session.commits("two");
    let words = ["BEFORE", "FIRST", "SECOND"];
    assert_eq!(said(&scratch, &one, &words), ["FIRST"], "{}", scratch.log());
    assert_eq!(said(&scratch, &two, &words), ["SECOND"]);
}

#[test]
fn a_commit_that_its_own_call_undid_leaves_its_words_to_the_one_made_instead() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("BEFORE");
    session.edits("a", "a");
    session.commits("zero");
    session.prompt("FIRST");
    session.edits("b", "b");
    session.calls("both", "Bash", &json!({ "command": "git commit -m x; git reset --soft HEAD~1; git commit -m y" }));
    session.runs_commit(&["-m", "x"]);
    scratch.git(["reset", "-q", "--soft", "HEAD~1"]).ok();
    let commit = session.runs_commit(&["-m", "y"]);
    session.answers("both", "DONE");
    session.hook_for("PostToolUse", "both");
    assert_eq!(said(&scratch, &commit, &["BEFORE", "FIRST", "DONE"]), ["FIRST", "DONE"], "{}", scratch.log());
}

#[test]
fn commits_of_people_in_eight_worktrees_at_once_are_all_recorded() {
    let scratch = Scratch::set_up();
    let worktrees: Vec<PathBuf> = (0..8).map(|number| worktree(&scratch, &format!("tree{number}"))).collect();
    for (number, dir) in worktrees.iter().enumerate() {
        let session = scratch.session_in(&format!("s{number}"), dir);
        session.prompt(&format!("PROMPT{number}"));
        session.edits("file", &"text\n".repeat(20_000));
        session.hook("Stop");
        scratch.git_in(dir, ["add", "-A"]).ok();
    }
    let commit = |(number, dir): (usize, &PathBuf)| {
        let mut command = scratch.command("git", dir);
        command.args(["commit", "-q", "-m", &format!("of {number}")]).stderr(Stdio::null()).spawn().unwrap()
    };
    let running: Vec<_> = worktrees.iter().enumerate().map(commit).collect();
    running.into_iter().for_each(|mut commit| assert!(commit.wait().unwrap().success()));
    // What waited for the others is stored by whoever comes next, from wherever that is.
    scratch.shiftlog("log", [""; 0]);
    let words: Vec<String> = (0..8).map(|number| format!("PROMPT{number}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for number in 0..8 {
        assert_eq!(said(&scratch, &format!("tree{number}"), &words), [words[number]], "{}", scratch.log());
    }
}

#[test]
fn a_persons_commit_that_was_left_alone_stays_alone() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("please improve f");
    session.calls("look", "Bash", &json!({ "command": "ls" }));
    session.answers("look", "f g");
    session.try_hook_after("PostToolUse", "look", "ls");
    session.edits("other", "1");
    session.hook("PostToolUse");
    scratch.write("f", "by hand\n");
    scratch.git(["add", "f"]).ok();
    scratch.git(["commit", "-q", "-m", "by hand"]).ok();
    let by_hand = scratch.id("HEAD");
    assert_eq!(scratch.records(&by_hand), [] as [serde_json::Value; 0]);
    session.edits("f", "agent\n");
    session.try_hook_after("PostToolUse", "edit-f", "ls");
    session.hook("Stop");
    assert_eq!(scratch.records(&by_hand), [] as [serde_json::Value; 0], "{}", scratch.log());
    let own = session.commits("own");
    assert_eq!(said(&scratch, &own, &["please improve f"]), ["please improve f"]);
}

#[test]
fn a_persons_commit_between_two_calls_is_not_the_next_calls_whatever_that_runs() {
    for command in ["git commit -m two", "git am mail", "git log --grep=commit"] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt("FIRST");
        session.edits("a", "a");
        let one = session.commits("one");
        // Nothing of the session waits, so `post-commit` finds it and has nothing to record.
        let by_hand = scratch.commit("by-hand", "x", "by hand");
        session.says("SECOND");
        session.calls("next", "Bash", &json!({ "command": command }));
        session.answers("next", "nothing happened");
        session.try_hook_after("PostToolUse", "next", command);
        session.edits("b", "b");
        let two = session.commits("three");
        let words = ["FIRST", "SECOND"];
        assert_eq!(said(&scratch, &by_hand, &words), [] as [&str; 0], "{command}: {}", scratch.log());
        assert_eq!(said(&scratch, &one, &words), ["FIRST"]);
        assert_eq!(said(&scratch, &two, &words), ["SECOND"], "{command}");
    }
}

#[test]
fn a_commit_whose_own_hook_did_nothing_takes_no_words_of_the_next_one() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("ZERO");
    session.edits("a", "a");
    session.commits("zero");
    session.says("FIRST");
    session.edits("b", "b");
    session.calls("one", "Bash", &json!({ "command": "git commit -m one" }));
    let one = session.runs_commit(&["-m", "one"]);
    // A command stores what the commit has left; then the hook of the call finds our lock taken, and does nothing.
    scratch.shiftlog("log", ["--oneline"]).ok();
    session.answers("one", "done");
    for (name, words) in [("c", "SECOND"), ("d", "THIRD")] {
        session.says(words);
        session.edits(name, name);
        session.commits(name);
    }
    let words = ["ZERO", "FIRST", "SECOND", "THIRD"];
    assert_eq!(said(&scratch, &one, &words), ["FIRST"], "{}", scratch.log());
    assert_eq!(said(&scratch, "HEAD~1", &words), ["SECOND"]);
    assert_eq!(said(&scratch, "HEAD", &words), ["THIRD"]);
}

#[test]
fn a_result_that_another_sessions_commit_took_along_is_not_awaited_again() {
    let scratch = Scratch::set_up();
    let elsewhere = worktree(&scratch, "elsewhere");
    let (session, other) = (scratch.session("s1"), scratch.session_in("s2", &elsewhere));
    for session in [&session, &other] {
        session.prompt("ZERO");
        session.edits("a", &session.id);
        session.commits("zero");
    }
    session.says("FIRST");
    session.edits("b", "b");
    session.calls("one", "Bash", &json!({ "command": "git commit -m one" }));
    let one = session.runs_commit(&["-m", "one"]);
    scratch.shiftlog("log", ["--oneline"]).ok();
    session.answers("one", &format!("[main {}] one", &one[..7]));
    // Before the hook of that call gets our lock, another session commits.
    other.edits("c", "c");
    other.commits("other");
    session.hook_for("PostToolUse", "one");
    session.says("SECOND");
    session.edits("d", "d");
    let two = session.commits("two");
    let words = ["ZERO", "FIRST", "SECOND"];
    assert_eq!(said(&scratch, &one, &words), ["FIRST"], "{}", scratch.log());
    assert_eq!(said(&scratch, &two, &words), ["SECOND"]);
}

#[test]
fn a_commit_that_waits_for_another_session_awaits_no_result_twice() {
    let scratch = Scratch::set_up();
    let (session, mut other) = (scratch.session("s1"), scratch.session("s2"));
    let (there, away) = (scratch.root().join("there"), scratch.root().join("away"));
    fs::create_dir_all(&there).unwrap();
    other.transcript = there.join("s2.jsonl");
    other.prompt("OTHER");
    session.prompt("ZERO");
    session.edits("a", "a");
    session.commits("zero");
    session.says("FIRST");
    session.edits("b", "b");
    session.calls("one", "Bash", &json!({ "command": "git commit -m one" }));
    let one = session.runs_commit(&["-m", "one"]);
    session.answers("one", "done");
    // The other session cannot be read now, so this commit is looked at once more.
    fs::rename(&there, &away).unwrap();
    session.hook_for("PostToolUse", "one");
    assert_eq!(scratch.waiting(), 1, "{}", scratch.log());
    scratch.shiftlog("log", ["--oneline"]).ok();
    session.says("SECOND");
    session.edits("d", "d");
    let two = session.commits("two");
    fs::rename(&away, &there).unwrap();
    let words = ["ZERO", "FIRST", "SECOND", "OTHER"];
    assert_eq!(said(&scratch, &one, &words), ["FIRST"], "{}", scratch.log());
    assert_eq!(said(&scratch, &two, &words), ["SECOND"]);
}

#[test]
fn a_session_that_amends_the_commit_of_another_is_recorded_beside_it() {
    let scratch = Scratch::set_up();
    let first = scratch.session("first");
    first.prompt("FIRST");
    first.edits("f", "1");
    first.commits("one");
    let second = scratch.session("second");
    second.prompt("SECOND");
    second.edits("g", "2");
    second.hook_for("PostToolUse", "edit-g");
    second.calls("amend", "Bash", &json!({ "command": "git commit --amend --no-edit" }));
    second.runs_commit(&["--amend", "--no-edit"]);
    second.answers("amend", "amended");
    second.hook_for("PostToolUse", "amend");
    second.hook("Stop");
    assert_eq!(said(&scratch, "HEAD", &["FIRST", "SECOND"]), ["FIRST", "SECOND"], "{}", scratch.log());
}

#[test]
fn a_hook_that_is_killed_moves_no_words_to_another_commit() {
    for point in ["left", "told", "segment-written", "objects-written", "ref-moved", "archived", "recorded"] {
        let mut scratch = Scratch::set_up();
        let commit = |scratch: &Scratch, name: &str| {
            scratch.write(name, name);
            scratch.git(["add", "-A"]).ok();
            scratch.git(["commit", "-q", "-m", name]);
            scratch.id("HEAD")
        };
        let prompt = |scratch: &Scratch, text: &str| {
            let session = scratch.session("s1");
            session.prompt(text);
            session.hook("Stop");
        };
        prompt(&scratch, "ZERO");
        let zero = commit(&scratch, "zero");
        prompt(&scratch, "ONE");
        scratch.env.insert("SHIFTLOG_FAULT".into(), point.into());
        let one = commit(&scratch, "one");
        scratch.env.remove("SHIFTLOG_FAULT");
        prompt(&scratch, "TWO");
        let two = commit(&scratch, "two");
        for (commit, word) in [(zero, "ZERO"), (one, "ONE"), (two, "TWO")] {
            assert_eq!(said(&scratch, &commit, &["ZERO", "ONE", "TWO"]), [word], "{point}: {}", scratch.log());
        }
    }
}

#[test]
fn an_agents_hook_that_is_killed_records_nothing_twice() {
    for point in ["segment-written", "objects-written", "ref-moved", "archived", "recorded", "settled"] {
        let mut scratch = Scratch::set_up();
        let first = scratch.session("s1");
        first.prompt("ZERO");
        first.edits("ZERO", "0");
        let zero = first.commits("zero");
        let (id, dir, transcript) = (first.id.clone(), first.dir.clone(), first.transcript.clone());
        let commit = |scratch: &Scratch, word: &str| {
            let session = Session { scratch, id: id.clone(), dir: dir.clone(), transcript: transcript.clone() };
            session.says(word);
            session.edits(word, word);
            session.calls(&word.to_lowercase(), "Bash", &json!({ "command": "git commit" }));
            let commit = session.runs_commit(&["-m", word]);
            // The result stands behind the length that the commit notes, and may come with the next one.
            session.answers(&word.to_lowercase(), "done");
            commit
        };
        let hook = |scratch: &Scratch, call_id: &str| {
            let session = Session { scratch, id: id.clone(), dir: dir.clone(), transcript: transcript.clone() };
            session.try_hook_after("PostToolUse", call_id, "git commit");
        };
        let one = commit(&scratch, "ONE");
        scratch.env.insert("SHIFTLOG_FAULT".into(), point.into());
        hook(&scratch, "one");
        scratch.env.remove("SHIFTLOG_FAULT");
        let two = commit(&scratch, "TWO");
        hook(&scratch, "two");
        for (commit, word) in [(zero, "ZERO"), (one, "ONE"), (two, "TWO")] {
            assert_eq!(said(&scratch, &commit, &["ZERO", "ONE", "TWO"]), [word], "{point}: {}", scratch.log());
        }
    }
}

#[test]
fn what_was_removed_stays_away_however_long_its_session_rests() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("REMOVED");
    session.edits("a", "a");
    session.commits("one");
    scratch.shiftlog("purge", ["--all", "--yes", "HEAD"]).ok();
    session.hook("SessionEnd");
    for path in scratch.state_files().iter().filter(|path| path.is_file()) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    // Who begins another session sweeps what is old.
    scratch.session("s2").hook("SessionEnd");
    session.prompt("LATER");
    session.edits("b", "b");
    let commit = session.commits("two");
    assert_eq!(said(&scratch, &commit, &["REMOVED", "LATER"]), ["LATER"], "{}", scratch.log());
}

#[test]
fn a_commit_says_so_where_nothing_can_be_kept() {
    let scratch = Scratch::set_up();
    scratch.lose_state();
    // Whoever runs the tests may be allowed to write anywhere; into a file that is no directory nobody can.
    fs::write(scratch.state(), "").unwrap();
    scratch.write("a", "a");
    scratch.git(["add", "-A"]).ok();
    let commit = scratch.git(["commit", "-q", "-m", "one"]);
    assert_eq!(commit.code, 0);
    assert!(commit.stderr.starts_with("warning: "), "{commit:?}");
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("problem  what is being recorded: "), "{doctor:?}");
}

#[test]
fn a_session_that_has_ended_gets_no_commit_of_a_terminal_it_once_opened() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("FIRST");
    session.edits("a", "a");
    session.commits("one");
    session.says("TAIL");
    session.hook("SessionEnd");
    scratch.write("b", "by hand");
    // The variable that names the session has stayed behind.
    let commit = session.runs_commit(&["-m", "by hand"]);
    assert_eq!(scratch.records(&commit), [] as [serde_json::Value; 0], "{}", scratch.log());
}

#[test]
fn what_a_session_said_last_is_kept_although_its_end_left_no_time() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("WORDS");
    scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
    session.hook("SessionEnd");
    scratch.git(["config", "--unset", "shiftlog.hookTimeout"]).ok();
    scratch.shiftlog("log", [""; 0]);
    let archive = scratch.git(["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).ok();
    assert!(archive.contains("claude~s1/000000-"), "{archive}: {}", scratch.log());
}

#[test]
fn a_session_that_takes_long_keeps_no_other_waiting() {
    let scratch = Scratch::set_up();
    let long = scratch.session("long");
    long.prompt("LONG");
    (0..16).for_each(|_| long.says(&"a word and another ".repeat(60_000)));
    scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
    long.hook("SessionEnd");
    scratch.git(["config", "--unset", "shiftlog.hookTimeout"]).ok();
    let short = scratch.session("short");
    short.prompt("SHORT");
    short.edits("a", "a");
    short.hook("Stop");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "one"]);
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]);
    assert!(note.stdout.contains("\"session\":\"short\""), "{note:?} {}", scratch.log());
}

#[test]
fn nothing_is_stored_while_it_cannot_be_read_what_was_removed() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("REMOVED");
    session.edits("a", "a");
    session.commits("one");
    scratch.shiftlog("purge", ["--all", "--yes", "--session=s1"]).ok();
    let tree = scratch.id("refs/shiftlog/purged^{tree}");
    let object = scratch.top.join(".git/objects").join(&tree[..2]).join(&tree[2..]);
    let bytes = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    session.prompt("LATER");
    session.edits("b", "b");
    session.commits("two");
    let archive = || scratch.git(["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).stdout;
    assert!(!archive().contains("claude~s1/"), "{}: {}", archive(), scratch.log());
    // What waits is looked at when the marks are there again.
    fs::write(&object, bytes).unwrap();
    scratch.shiftlog("log", [""; 0]);
    assert!(!archive().contains("claude~s1/"), "{}: {}", archive(), scratch.log());
}

#[test]
fn a_number_that_somebody_gave_to_a_segment_leaves_room_for_ours() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("FIRST");
    session.edits("a", "a");
    session.commits("one");
    let listed = || scratch.git(["ls-tree", "-r", "refs/shiftlog/sessions"]).ok();
    let entry = listed().lines().next().unwrap().to_owned();
    let (id, path) = entry.split_once(" blob ").unwrap().1.split_once('\t').unwrap();
    let directory = path.rsplit_once('/').unwrap().0;
    let index = scratch.root().join("index");
    let git = |args: &[&str]| {
        let mut command = scratch.command("git", &scratch.top);
        crate::support::Ran::of(command.env("GIT_INDEX_FILE", &index).args(args).output().unwrap()).ok()
    };
    git(&["read-tree", "refs/shiftlog/sessions"]);
    let forged = format!("100644,{id},{directory}/999999999-{}.zst", &id[..12]);
    git(&["update-index", "--add", "--cacheinfo", &forged]);
    let tree = git(&["write-tree"]);
    let commit = git(&["commit-tree", "-m", "x", "-p", "refs/shiftlog/sessions", tree.trim()]);
    git(&["update-ref", "refs/shiftlog/sessions", commit.trim()]);
    session.prompt("SECOND");
    session.edits("b", "b");
    session.commits("two");
    scratch.shiftlog("fsck", ["--repair"]);
    let fsck = scratch.shiftlog("fsck", [""; 0]);
    assert_eq!(fsck.code, 0, "{fsck:?}\n{}", listed());
    assert_eq!(said(&scratch, "HEAD", &["FIRST", "SECOND"]), ["SECOND"]);
    assert!(listed().contains("/000001-"), "{}", listed());
}
