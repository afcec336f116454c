//! Locks that stay, refs that cannot be made, and files of killed hooks.

use super::*;

#[test]
fn a_lock_that_stays_holds_no_commit_up_and_is_named() {
    for name in [&[ARCHIVE, NOTES, "packed-refs"][..], &KEPT].concat() {
        let (scratch, ..) = recorded(&["one"]);
        scratch.git(["pack-refs", "--all"]).ok();
        // Git would wait for ever, and a hook for an hour.
        scratch.git(["config", "core.filesRefLockTimeout", "-1"]).ok();
        scratch.git(["config", "core.packedRefsTimeout", "-1"]).ok();
        scratch.git(["config", "shiftlog.hookTimeout", "3600"]).ok();
        let session = scratch.session("s2");
        session.prompt("locked out");
        session.edits("a.txt", "a");
        let lock = scratch.top.join(".git").join(format!("{name}.lock"));
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        scratch.git(["add", "-A"]).ok();
        scratch.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "next"]).ok();
        fs::write(&lock, "").unwrap();
        // Git itself waits for the lock of packed refs when it removes a ref.
        let mut hook = scratch.command("sh", &scratch.top);
        hook.env("CLAUDE_CODE_SESSION_ID", "s2").arg(".git/hooks/post-commit");
        let ran = feed(&mut hook, b"");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        let told = ran.stderr;
        assert!(told.contains(&format!("the lock '{}' is there", lock.display())), "{name}: {told}");
        assert!(told.contains(&format!("rm '{}'", lock.display())), "{name}: {told}");
        assert_eq!(scratch.waiting(), 1, "{name}");
        fs::remove_file(&lock).unwrap();
        assert_eq!(scratch.raw("HEAD", &["--full"]), session.text(), "{name}");
        assert_eq!(scratch.waiting(), 0, "{name}");
    }
}

#[test]
fn a_ref_that_cannot_be_made_is_not_tried_again_and_again() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "3600"]).ok();
    let session = scratch.session("s1");
    session.prompt("in the way");
    session.edits("a.txt", "a");
    // A file stands where a directory would have to be.
    let file = scratch.top.join(".git/refs/shiftlog");
    fs::write(&file, "").unwrap();
    let told = commit_with_stderr(&scratch);
    assert!(told.contains("hint: what waits is noted in"), "{told}");
    fs::remove_file(&file).unwrap();
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
}

#[test]
fn whoever_does_not_get_our_lock_changes_nothing() {
    let (scratch, ..) = recorded(&["one"]);
    scratch.git(["config", "shiftlog.hookTimeout", "3600"]).ok();
    let session = scratch.session("s2");
    session.prompt("while another holds it");
    session.edits("a.txt", "a");
    session.hook("UserPromptSubmit");
    let refs = || scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok();
    let before = refs();
    let path = scratch.state().join("lock");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.lock().unwrap();
    let told = commit_of(&scratch, "s2");
    assert!(told.contains(&format!("another process holds the lock '{}'", path.display())), "{told}");
    assert_eq!(scratch.waiting(), 1);
    assert_eq!(refs(), before);
    scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
    for (command, args) in
        [("add", &["--transcript", "../s1.jsonl", "--session=other"][..]), ("add", &["--session=s1"])]
    {
        let ran = scratch.shiftlog(command, args);
        assert_eq!(ran.code, 128, "{ran:?}");
    }
    assert_eq!(refs(), before);
    drop(file);
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn what_a_killed_hook_was_writing_is_no_session() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("the only one");
    let before = scratch.state_files();
    let ghost = scratch.root().join("ghost.jsonl");
    fs::copy(&session.transcript, &ghost).unwrap();
    let payload = json!({ "session_id": "ghost", "transcript_path": ghost, "cwd": scratch.top });
    let mut hook = scratch.command("git-shiftlog--hook", &scratch.top);
    hook.env("SHIFTLOG_FAULT", "file-written").args(["claude", "SessionStart"]);
    assert_ne!(feed(&mut hook, payload.to_string().as_bytes()).code, 0, "it is killed");
    let left: Vec<PathBuf> = scratch.state_files().into_iter().filter(|path| !before.contains(path)).collect();
    let [unfinished] = &left[..] else { panic!("{left:?}") };
    let commit = scratch.commit("a.txt", "a", "by hand");
    assert_eq!(scratch.record(&commit)["session"], "s1", "{}", scratch.log());
    assert!(unfinished.exists(), "somebody may be writing it now");
    scratch.run_in(&scratch.top, "touch", ["-d", "2 hours ago", unfinished.to_str().unwrap()]).ok();
    scratch.session("s2");
    assert!(!unfinished.exists(), "swept when a session starts");
}

#[test]
fn words_that_a_lock_kept_back_come_before_later_ones_when_it_goes_meanwhile() {
    // The lock goes while the hook runs: before it has tried the words of the first commit, or between the two.
    for wait in [0, 120, 160, 180, 200, 220, 260, 400] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt("zero");
        session.edits("a.txt", "zero");
        session.commits("zero");
        scratch.git(["config", "shiftlog.hookTimeout", "0"]).ok();
        let commit = |word: &str| {
            session.prompt(word);
            session.edits("a.txt", word);
            scratch.git(["add", "-A"]).ok();
            scratch.git(["commit", "-q", "-m", word]);
            scratch.id("HEAD")
        };
        let first = commit("one");
        let lock = scratch.top.join(".git").join(format!("{ARCHIVE}.lock"));
        session.record("user", &json!({ "role": "user", "content": "two" }));
        scratch.git(["config", "--unset", "shiftlog.hookTimeout"]).ok();
        scratch.write("a.txt", "two");
        scratch.git(["add", "-A"]).ok();
        fs::write(&lock, "").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(wait));
                fs::remove_file(&lock).unwrap();
            });
            scratch.git(["commit", "-q", "-m", "two"]);
        });
        scratch.shiftlog("log", [""; 0]).ok();
        let prompts = [first.as_str(), "HEAD"].map(|commit| scratch.record(commit)["prompt"].clone());
        assert_eq!(prompts, ["one", "two"], "after {wait} ms");
    }
}
