//! What cannot be stored now waits, and the next command that can stores it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use bstr::ByteSlice as _;
use serde_json::json;

use crate::made::Made;
use crate::sharing::line;
use crate::support::{Scratch, feed, kept_in};

#[test]
fn a_lock_left_behind_puts_the_capture_aside_until_it_is_gone() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    let session = scratch.session("s1");
    session.prompt("locked out");
    session.edits("a.txt", "a\n");
    for name in ["notes/shiftlog", "shiftlog/sessions"] {
        let lock = scratch.top.join(".git/refs").join(format!("{name}.lock"));
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(&lock, "").unwrap();
    }
    scratch.git(["add", "-A"]).ok();
    let mut command = scratch.command("git", &scratch.top);
    command.env("CLAUDE_CODE_SESSION_ID", "s1").args(["commit", "-q", "-m", "locked"]);
    let ran = feed(&mut command, b"");
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("warning: cannot update 'refs/shiftlog/sessions'"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: what waits is noted in '"), "{}", ran.stderr);
    assert_eq!(scratch.records("HEAD").len(), 0);
    assert_eq!(scratch.waiting(), 1);
    let mode = kept_in(&ran.stderr).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it repeats what was said");
    let text = session.text();
    fs::remove_file(&session.transcript).unwrap();
    for name in ["notes/shiftlog", "shiftlog/sessions"] {
        fs::remove_file(scratch.top.join(".git/refs").join(format!("{name}.lock"))).unwrap();
    }
    assert_eq!(scratch.raw("HEAD", &[]), text, "the next command stores it, though the agent's file is gone");
    assert_eq!(scratch.waiting(), 0);
    scratch.assert_sound();
}

#[test]
fn a_commit_waits_for_the_home_that_has_its_transcript() {
    let scratch = Scratch::set_up();
    let mut session = scratch.session("s1");
    session.transcript = scratch.home().join(".claude/projects/app/s1.jsonl");
    fs::create_dir_all(session.transcript.parent().unwrap()).unwrap();
    session.hook("SessionStart");
    session.prompt("said at home");
    session.edits("a.txt", "a\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["-c", "shiftlog.hookTimeout=0", "commit", "-q", "-m", "add a"]);
    assert_eq!(scratch.waiting(), 1);
    // In another container there may be projects, though not this one.
    for missing in [".claude", ".claude/projects/app"] {
        let (home, away) = (scratch.home().join(missing), scratch.home().join("unmounted"));
        fs::rename(&home, &away).unwrap();
        let ran = scratch.shiftlog("log", [""; 0]);
        assert!(ran.stderr.starts_with("warning: a transcript cannot be read now: "), "{ran:?}");
        assert_eq!(scratch.waiting(), 1);
        fs::rename(&away, &home).unwrap();
    }
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
    assert_eq!(scratch.waiting(), 0);
    scratch.assert_sound();
}

#[test]
fn what_is_left_of_a_pending_commit_stays_before_those_that_came_later() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
    let commits = ["one", "two"].map(|word| {
        session.prompt(word);
        session.edits("a.txt", word);
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "-m", word]);
        scratch.id("HEAD")
    });
    scratch.git(["config", "--unset", "shiftlog.hookTimeout"]).ok();
    assert_eq!(scratch.waiting(), 2);
    // A hook tries the first, and has no time for the second.
    let pending = scratch.state().join("pending");
    let mut files: Vec<_> = fs::read_dir(&pending).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let away = scratch.root().join("away");
    fs::rename(&files[1], &away).unwrap();
    fs::create_dir_all(scratch.top.join(".git/refs/shiftlog")).unwrap();
    let lock = scratch.top.join(".git/refs/shiftlog/sessions.lock");
    fs::write(&lock, "").unwrap();
    session.hook("Stop");
    assert_eq!((scratch.waiting(), files[0].exists()), (1, false), "{}", scratch.log());
    fs::rename(&away, &files[1]).unwrap();
    fs::remove_file(&lock).unwrap();
    scratch.shiftlog("log", [""; 0]).ok();
    assert_eq!(scratch.raw(&commits[0], &[]) + &scratch.raw(&commits[1], &[]), session.text());
    assert_eq!(commits.map(|commit| scratch.record(&commit)["prompt"].clone()), ["one", "two"]);
}

#[test]
fn a_commit_whose_transcript_was_deleted_says_so() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.hook("SessionStart");
    session.prompt("said in vain");
    session.edits("a.txt", "a\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["-c", "shiftlog.hookTimeout=0", "commit", "-q", "-m", "add a"]);
    assert_eq!(scratch.waiting(), 1);
    fs::remove_file(&session.transcript).unwrap();
    let ran = scratch.shiftlog("log", [""; 0]);
    let expected = "warning: the transcript of claude/s1 was deleted before it could be stored\n";
    assert!(ran.stderr.contains(expected), "{ran:?}");
    assert_eq!(scratch.waiting(), 0);
    assert!(!scratch.shiftlog("log", [""; 0]).stderr.contains("was deleted"), "once");
}

#[test]
fn a_sub_agent_that_was_put_aside_does_not_overlap_afterwards() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    let session = scratch.session("s1");
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let mut commits = Vec::new();
    for (number, word) in ["one", "two", "three"].iter().enumerate() {
        session.prompt(word);
        let mut words = fs::read_to_string(folder.join("agent-x.jsonl")).unwrap_or_default();
        words += &line(word);
        fs::write(folder.join("agent-x.jsonl"), words).unwrap();
        session.edits("a.txt", word);
        let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
        if number == 1 {
            fs::write(&lock, "").unwrap();
        }
        commits.push(session.runs_commit(&["-m", word]));
        let _ = fs::remove_file(&lock);
    }
    let increments: Vec<String> = commits.iter().map(|commit| scratch.raw(commit, &["--session=s1.x"])).collect();
    assert_eq!(increments, [line("one"), line("two"), line("three")]);
}

/// Keeps others from storing anything while it is there.
struct Locked(Vec<PathBuf>);

impl Locked {
    fn new(scratch: &Scratch) -> Self {
        let lock = |name| scratch.top.join(".git/refs").join(name);
        let locks = Locked(["notes/shiftlog.lock", "shiftlog/sessions.lock"].map(lock).into());
        for lock in &locks.0 {
            fs::create_dir_all(lock.parent().unwrap()).unwrap();
            fs::write(lock, "").unwrap();
        }
        locks
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.iter().for_each(|lock| fs::remove_file(lock).unwrap());
    }
}

#[test]
fn one_bad_pending_file_does_not_keep_the_others_waiting() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    let locked = Locked::new(&scratch);
    let words = ["one", "two", "three"];
    let sessions = words.map(|word| scratch.session(word));
    let kept = sessions.each_ref().map(|session| {
        session.prompt(&session.id);
        session.edits(&session.id, "x");
        kept_in(&session.tries_to_commit(&["-m", "next"]).stderr)
    });
    fs::write(&kept[0], "nonsense\n").unwrap();
    let unknown = fs::read_to_string(&kept[1]).unwrap().replace("claude", "nobody");
    fs::write(&kept[1], unknown).unwrap();
    drop(locked);
    let shown = scratch.shiftlog("show", ["--raw"]);
    assert_eq!(shown.stdout, sessions[2].text(), "{shown:?}");
    for path in &kept[..2] {
        assert!(shown.stderr.contains(path.to_str().unwrap()), "{} is told of: {shown:?}", path.display());
    }
    let again = scratch.shiftlog("show", ["--raw"]);
    assert!(again.stderr.is_empty(), "what cannot be stored is told of once: {again:?}");
}

#[test]
fn only_the_notes_locked_puts_only_the_note_aside() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    let session = scratch.session("s1");
    session.prompt("half locked");
    session.edits("a.txt", "a\n");
    let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    session.runs_commit(&["-m", "locked"]);
    assert_eq!(scratch.waiting(), 1);
    let stored = scratch.git(["ls-tree", "-r", "--format=%(objectname)", "refs/shiftlog/sessions"]).ok();
    let segment = scratch.git(["cat-file", "blob", stored.trim()]).bytes;
    let (_, words) = shiftlog::archive::segment::decode(&segment).unwrap();
    assert_eq!(words.as_bstr(), session.text().as_str(), "the archive has the words already");
    fs::remove_file(&lock).unwrap();
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
}

#[test]
fn an_object_directory_that_cannot_be_written_puts_the_capture_aside() {
    // Root writes through permissions, so a file stands where each object directory would have to be made.
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("no room");
    session.edits("a.txt", "a\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "no room"]).ok();
    let objects = scratch.top.join(".git/objects");
    let blocked: Vec<_> =
        (0..=255).map(|byte| objects.join(format!("{byte:02x}"))).filter(|dir| !dir.exists()).collect();
    blocked.iter().for_each(|dir| fs::write(dir, "").unwrap());
    let existing = fs::read_dir(&objects).unwrap().flatten().filter(|entry| entry.path().is_dir()).count();
    assert!(existing < 20, "almost every object has nowhere to go");
    let ran = scratch.run_in(&scratch.top, "sh", [".git/hooks/post-commit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    blocked.iter().for_each(|dir| fs::remove_file(dir).unwrap());
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
    scratch.assert_sound();
}

/// Runs something while the Git directory of a repository is on a disk of two megabytes, whose root it gets. A tmpfs needs
/// root; without it the test says that it proved nothing.
fn on_a_small_disk(scratch: &Scratch, run: impl FnOnce(&std::path::Path)) {
    let git_dir = scratch.top.join(".git");
    let small = scratch.root().join("small");
    fs::create_dir_all(&small).unwrap();
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&small).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        super::support::skip("cannot mount a tmpfs here");
        return;
    }
    let copied =
        std::process::Command::new("cp").arg("-a").arg(format!("{}/.", git_dir.display())).arg(&small).status();
    fs::rename(&git_dir, scratch.root().join("old")).unwrap();
    fs::write(&git_dir, format!("gitdir: {}\n", small.display())).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        assert!(copied.unwrap().success());
        run(&small);
    }));
    std::process::Command::new("umount").arg("-l").arg(&small).status().unwrap();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn words_for_which_a_disk_has_no_room_are_told_once_and_come_to_their_own_commit() {
    let scratch = Scratch::set_up();
    // On a busy machine, redacting six megabytes may take longer than a hook usually may.
    scratch.git(["config", "shiftlog.hookTimeout", "600"]).ok();
    on_a_small_disk(&scratch, |small| {
        let session = scratch.session("s1");
        session.prompt("fill it up");
        // Text that does not compress.
        let mut seed = 7u64;
        let mut noise = String::new();
        while noise.len() < 6 << 20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            noise.push_str(&format!("{:016x}", seed >> 3 ^ seed << 17));
        }
        session.says(&noise);
        let ran = session.try_hook("Stop", "");
        assert_eq!(ran.code, 0);
        session.edits("a.txt", "a\n");
        scratch.git(["add", "-A"]).ok();
        let mut command = scratch.command("git", &scratch.top);
        command.env("CLAUDE_CODE_SESSION_ID", "s1").args(["commit", "-q", "-m", "full"]);
        let ran = feed(&mut command, b"");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(kept_in(&ran.stderr).metadata().unwrap().len() < 4096, "the name of the transcript has room");
        scratch.assert_sound();
        // Room again.
        std::process::Command::new("mount").args(["-o", "remount,size=64m"]).arg(small).status().unwrap();
        session.edits("b.txt", "b\n");
        session.commits("room again");
        let (whole, text) = (scratch.raw("HEAD", &["--full"]), session.text());
        // The result of the last call may still come with the session's end. `assert_eq` would print six megabytes.
        assert!(text.starts_with(&whole), "{} bytes of {}: {}", whole.len(), text.len(), scratch.log());
        assert!(whole.contains("room again"));
        assert!(scratch.raw("HEAD~1", &[]).contains("fill it up"), "{}", scratch.log());
        assert!(!scratch.raw("HEAD", &[]).contains("fill it up"));
        assert_eq!(scratch.waiting(), 0);
    });
}

#[test]
fn words_wait_for_their_own_commit_where_a_full_disk_keeps_not_even_a_name() {
    let scratch = Scratch::set_up();
    on_a_small_disk(&scratch, |small| {
        let session = scratch.session("s1");
        session.prompt("FIRST");
        session.edits("a.txt", "a\n");
        session.hook_for("PostToolUse", "edit-a.txt");
        session.calls("one", "Bash", &json!({ "command": "git commit -m one" }));
        let one = session.runs_commit(&["-m", "one"]);
        assert_eq!(scratch.waiting(), 1, "the commit is left to the agent's hook");
        session.answers("one", "done");
        let filler = small.join("filler");
        let mut full = fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut full, &[b'x'; 4096]).is_ok() {}
        drop(full);
        assert_eq!(session.try_hook("PostToolUse", "one").code, 0);
        fs::remove_file(filler).unwrap();
        session.says("SECOND");
        session.edits("b.txt", "b\n");
        let two = session.commits("two");
        let (one, two) = (scratch.raw(&one, &[]), scratch.raw(&two, &[]));
        assert!(one.contains("FIRST") && !one.contains("SECOND"), "{}", scratch.log());
        assert!(two.contains("SECOND") && !two.contains("FIRST"));
        assert_eq!(scratch.waiting(), 0);
        scratch.assert_sound();
    });
}

#[test]
fn a_read_only_repository_can_be_read_and_breaks_no_hook() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.commits("first");
    let text = session.text();
    session.prompt("second");
    session.edits("b.txt", "b\n");
    let git_dir = scratch.top.join(".git");
    let bind = |options: &str| {
        std::process::Command::new("mount")
            .args(["-o", options])
            .arg(&git_dir)
            .arg(&git_dir)
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !bind("bind") || !bind("remount,bind,ro") {
        super::support::skip("cannot mount read-only here");
        return;
    }
    let shown = scratch.shiftlog("show", ["--raw", "--full"]);
    let listed = scratch.shiftlog("log", ["--oneline"]);
    let remapped = scratch.shiftlog("remap", [""; 0]);
    let hook = scratch.run_in(&scratch.top, "sh", [".git/hooks/post-commit"]);
    let event = session.try_hook("Stop", "");
    std::process::Command::new("umount").arg(&git_dir).status().unwrap();
    assert_eq!(shown.ok(), text);
    assert_eq!(listed.ok().lines().count(), 1);
    assert_eq!(remapped.code, 1, "{remapped:?}");
    assert!(remapped.stderr.to_lowercase().contains("read-only"), "{remapped:?}");
    assert_eq!((hook.code, hook.stdout.as_str()), (0, ""), "{hook:?}");
    assert_eq!((event.code, event.stdout.as_str()), (0, ""), "{event:?}");
}

#[test]
fn a_note_that_was_put_aside_keeps_its_own_end_and_follows_an_amended_commit() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let calls = |id: &str| session.calls(id, "Bash", &json!({ "command": "git commit" }));
    session.prompt("first");
    session.edits("a.txt", "a\n");
    calls("c1");
    let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let one = session.runs_commit(&["-m", "one"]);
    let amended = session.runs_commit(&["--amend", "-m", "better"]);
    session.answers("c1", &format!("[main {}] one", &one[..7]));
    let said = session.text();
    // What is said before the note can be written belongs to the next commit.
    session.says("much later");
    session.edits("b.txt", "b\n");
    calls("c2");
    let two = session.runs_commit(&["-m", "two"]);
    fs::remove_file(&lock).unwrap();
    assert_eq!(scratch.raw(&amended, &[]), said);
    assert!(said.starts_with(&scratch.raw(&one, &[])), "the commit before it was amended has them, too");
    assert_eq!(scratch.raw(&two, &[]), session.text()[said.len()..]);
    assert_eq!(scratch.waiting(), 0);
    scratch.assert_sound();
}

#[test]
fn a_capture_that_was_overtaken_still_ends_where_it_ended() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    let session = scratch.session("s1");
    session.prompt("one");
    session.edits("a.txt", "a");
    let locked = Locked::new(&scratch);
    let kept = kept_in(&session.tries_to_commit(&["-m", "one"]).stderr);
    let (one, said) = (scratch.id("HEAD"), session.text());
    drop(locked);
    // It comes back after all of the session was recorded on a later commit.
    let elsewhere = scratch.root().join("elsewhere");
    fs::rename(&kept, &elsewhere).unwrap();
    scratch.lose_state();
    session.prompt("two");
    session.edits("b.txt", "b");
    let two = session.runs_commit(&["-m", "two"]);
    assert_eq!(scratch.raw(&two, &[]), session.text());
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::rename(&elsewhere, &kept).unwrap();
    assert_eq!(scratch.raw(&one, &[]), said);
    assert_eq!(scratch.raw(&two, &[]), session.text(), "what was recorded later stays as it was");
    scratch.assert_sound();
}

/// Returns the size of all files in a directory of the repository.
fn size_of(scratch: &Scratch, directory: &str) -> u64 {
    let files = scratch.run_in(&scratch.top, "find", [directory, "-type", "f", "-printf", "%s\n"]).ok();
    files.lines().map(|size| size.parse::<u64>().unwrap()).sum()
}

/// Lets a session make twenty commits while the lock of the archive stays. Returns the commits with what was said until
/// then, the first of them made before there was a lock.
fn commits_behind_a_lock(scratch: &Scratch, session: &crate::support::Session<'_>) -> Vec<(String, String)> {
    scratch.git(["config", "core.filesRefLockTimeout", "0"]).ok();
    session.prompt("begin");
    session.edits("a.txt", "0");
    let mut commits = vec![(session.commits("0"), session.text())];
    fs::write(scratch.top.join(".git/refs/shiftlog/sessions.lock"), "").unwrap();
    let mut random = Made::new(18);
    for number in 1..=20 {
        let words: Vec<String> = (0..3000).map(|_| random.run('L', 6)).collect();
        session.prompt(&format!("{number} {}", words.join(" ")));
        session.edits("a.txt", &number.to_string());
        commits.push((session.commits(&number.to_string()), session.text()));
    }
    commits
}

#[test]
fn what_waits_behind_a_lock_is_kept_once_and_comes_to_its_own_commits() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let objects = size_of(&scratch, ".git/objects");
    let commits = commits_behind_a_lock(&scratch, &session);
    let said = session.text().len() as u64;
    let kept = size_of(&scratch, ".git/shiftlog");
    assert!(kept < said * 3 / 2, "{kept} bytes wait for {said} bytes that were said");
    let objects = size_of(&scratch, ".git/objects") - objects;
    assert!(objects < said / 4, "{objects} bytes of objects were made in vain for {said} bytes that were said");
    fs::remove_file(scratch.top.join(".git/refs/shiftlog/sessions.lock")).unwrap();
    scratch.shiftlog("log", ["-n1"]).ok();
    // The result of the last commit follows it with the next hook of the session.
    session.hook("Stop");
    for pair in commits.windows(2) {
        let ((_, before), (commit, text)) = (&pair[0], &pair[1]);
        assert_eq!(scratch.raw(commit, &[]), text[before.len()..], "{commit}: {}", scratch.log());
    }
    assert_eq!(scratch.raw("HEAD", &["--full"]), commits[20].1);
    assert_eq!(scratch.waiting(), 0, "{}", scratch.log());
    scratch.assert_sound();
}

#[test]
fn a_reader_answers_while_another_process_holds_the_lock() {
    let mut scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.commits("first");
    session.prompt("second");
    session.edits("a.txt", "aa\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["-c", "shiftlog.hookTimeout=0", "commit", "-q", "-m", "second"]).ok();
    assert_eq!(scratch.waiting(), 1);
    let text = session.text();
    drop(session);
    scratch.git(["config", "core.filesRefLockTimeout", "0"]).ok();
    let lock = fs::OpenOptions::new().write(true).open(scratch.state().join("lock")).unwrap();
    lock.lock().unwrap();
    // Whoever waits is killed.
    scratch.env.insert("SHIFTLOG_FAULT".into(), "lock-awaited".into());
    for (name, args) in [("show", &["HEAD~1"][..]), ("log", &[]), ("grep", &["first"]), ("stats", &[])] {
        let ran = scratch.shiftlog(name, args);
        assert!(ran.code == 0 && !ran.stdout.is_empty(), "{name}: {ran:?}");
    }
    assert!(scratch.shiftlog("show", ["HEAD~1"]).ok().contains("first"));
    scratch.env.remove("SHIFTLOG_FAULT");
    assert_eq!(scratch.waiting(), 1, "it is left to whoever can store it");
    lock.unlock().unwrap();
    assert!(text.ends_with(&scratch.raw("HEAD", &[])), "{}", scratch.log());
    assert_eq!(scratch.waiting(), 0);
}
