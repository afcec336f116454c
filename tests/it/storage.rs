//! What storage promises: nothing lost when writers collide, crash or find no room; every kind of repository works.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use bstr::ByteSlice as _;
use serde_json::json;

use crate::support::{Scratch, feed, kept_in};

fn line(text: &str) -> String {
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": text } }))
}

/// Attaches a transcript by hand.
fn add(scratch: &Scratch, session: &str, text: &str) -> crate::support::Ran {
    let mut command = scratch.command("git", &scratch.top);
    command.args(["shiftlog", "add", "-q", "--transcript", "-", "--session", session]);
    feed(&mut command, text.as_bytes())
}

#[test]
fn twenty_four_writers_at_once_lose_nothing() {
    let scratch = Scratch::new();
    std::thread::scope(|scope| {
        for number in 0..24 {
            let scratch = &scratch;
            scope.spawn(move || {
                let ran = add(scratch, &format!("writer-{number}"), &line(&format!("words of {number}")));
                assert_eq!(ran.code, 0, "{ran:?}");
            });
        }
    });
    assert_eq!(scratch.records("HEAD").len(), 24, "a record of each writer");
    for number in 0..24 {
        let option = format!("--session=writer-{number}");
        assert_eq!(scratch.raw("HEAD", &["--full", &option]), line(&format!("words of {number}")));
    }
    scratch.assert_sound();
}

#[test]
fn where_there_can_be_no_lock_nothing_is_written_and_the_file_is_named() {
    let scratch = Scratch::new();
    let lock = scratch.state().join("lock");
    fs::create_dir_all(&lock).unwrap();
    let ran = add(&scratch, "w", &line("x"));
    assert_eq!(ran.code, 128, "{ran:?}");
    assert!(ran.stderr.starts_with(&format!("fatal: cannot open '{}'", lock.display())), "{ran:?}");
    assert_eq!(scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok(), "");
    fs::remove_dir(&lock).unwrap();
    assert_eq!(add(&scratch, "w", &line("x")).code, 0);
    assert_eq!(scratch.raw("HEAD", &[]), line("x"));
}

#[test]
fn a_crash_at_any_step_leaves_nothing_dangling_and_loses_nothing() {
    for point in ["segment-written", "objects-written", "commit-written", "ref-moved", "archived", "recorded"] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt("before the crash");
        session.edits("a.txt", "a\n");
        let mut command = scratch.command("git", &scratch.top);
        command.env("SHIFTLOG_FAULT", point).env("CLAUDE_CODE_SESSION_ID", "s1");
        scratch.git(["add", "-A"]).ok();
        let commit = command.args(["commit", "-q", "-m", "crash"]).output().unwrap();
        assert!(commit.status.success(), "{point}: a crash of ours is no failure of the commit");
        for record in scratch.records("HEAD") {
            let through = record["through"].as_str().unwrap();
            scratch.git(["cat-file", "-e", through]).ok();
            assert!(
                scratch.git(["rev-list", "--objects", "refs/shiftlog/sessions"]).ok().contains(through),
                "{point}: the archive is written before the note that names it"
            );
        }
        scratch.assert_sound();
        session.answers("c", "after the crash");
        session.edits("b.txt", "b\n");
        session.commits("next");
        assert_eq!(scratch.raw("HEAD", &["--full"]), session.text(), "{point}");
        assert!(scratch.shiftlog("show", ["HEAD"]).code == 0, "{point}");
        scratch.assert_sound();
    }
}

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
    assert!(ran.stderr.contains("hint: the session is kept in '"), "{}", ran.stderr);
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

#[test]
fn a_full_disk_is_told_once_and_the_words_come_with_the_next_commit() {
    // A tmpfs of its own needs root; without it the test says that it proved nothing.
    let scratch = Scratch::set_up();
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
        assert!(ran.stderr.contains("warning: session claude/s1 is not stored"), "{}", ran.stderr);
        scratch.assert_sound();
        // Room again.
        std::process::Command::new("mount").args(["-o", "remount,size=64m"]).arg(&small).status().unwrap();
        session.edits("b.txt", "b\n");
        session.commits("room again");
        assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    }));
    std::process::Command::new("umount").arg("-l").arg(&small).status().unwrap();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
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

/// Records a commit in a repository and reads it back with us and with stock Git.
fn works(scratch: &Scratch) {
    let session = scratch.session("s1");
    session.prompt("works here too");
    session.edits("here.txt", "x\n");
    let commit = session.commits("works");
    assert_eq!(scratch.record(&commit)["prompt"], "works here too");
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
    assert_eq!(scratch.shiftlog("log", ["--format=%H", "-n1"]).ok().trim(), commit);
    assert!(scratch.git(["log", "-1", "--notes=shiftlog"]).ok().contains("works here too"));
    scratch.assert_sound();
}

#[test]
fn a_sha256_repository_works() {
    let scratch = Scratch::with(&["--object-format=sha256"]);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    works(&scratch);
    assert_eq!(scratch.id("HEAD").len(), 64);
    let session = scratch.session("s1");
    session.edits("more.txt", "x\n");
    session.commits("more");
    scratch.git(["commit", "-q", "--amend", "-m", "reworded"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
}

#[test]
fn a_repository_without_commits_works() {
    let scratch = Scratch::empty(&[]);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let ran = scratch.shiftlog("log", [""; 0]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (128, "fatal: your current branch 'main' does not have any commits yet\n")
    );
    assert_eq!(scratch.shiftlog("branches", [""; 0]).ok(), "");
    works(&scratch);
}

#[test]
fn a_detached_head_and_a_missing_identity_work() {
    let mut scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "--detach"]).ok();
    for name in ["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE"] {
        scratch.env.remove(name);
    }
    let ran = add(&scratch, "s0", &line("nobody"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        scratch.git(["log", "-1", "--format=%cn <%ce>", "refs/notes/shiftlog"]).ok(),
        "git-shiftlog <shiftlog@localhost>\n"
    );
    scratch.env.insert("GIT_COMMITTER_NAME".into(), "C O Mitter".into());
    scratch.env.insert("GIT_COMMITTER_EMAIL".into(), "c@example.com".into());
    works(&scratch);
}

#[test]
fn a_bare_repository_can_be_read_and_added_to() {
    let scratch = Scratch::set_up();
    works(&scratch);
    let bare = scratch.root().join("bare.git");
    scratch.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]).ok();
    scratch.git(["push", "-q", bare.to_str().unwrap(), "refs/notes/shiftlog", "refs/shiftlog/sessions"]).ok();
    let raw = scratch.shiftlog_in(&bare, "show", ["--raw"]).ok();
    assert_eq!(raw, scratch.raw("HEAD", &[]));
    assert_eq!(scratch.shiftlog_in(&bare, "log", ["--oneline"]).ok().lines().count(), 1);
    let mut command = scratch.command("git", &bare);
    command.args(["shiftlog", "add", "-q", "--transcript=-", "--session=bare"]);
    assert_eq!(feed(&mut command, line("into the bare one").as_bytes()).code, 0);
    assert_eq!(scratch.shiftlog_in(&bare, "show", ["--raw", "--session=bare"]).ok(), line("into the bare one"));
    scratch.shiftlog_in(&bare, "init", ["--agent=claude", "-q"]).ok();
    scratch.git_in(&bare, ["fsck", "--strict"]).ok();
}

#[test]
fn a_submodule_records_into_its_own_repository() {
    let scratch = Scratch::new();
    let inner = Scratch::new();
    let url = inner.top.to_str().unwrap();
    scratch.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]).ok();
    scratch.git(["commit", "-q", "-m", "add sub"]).ok();
    let sub = scratch.top.join("sub");
    scratch.shiftlog_in(&sub, "init", ["--agent=claude", "-q"]).ok();
    let session = scratch.session_in("s1", &sub);
    session.prompt("inside");
    session.edits("inside.txt", "x\n");
    session.commits("inside");
    assert_eq!(scratch.shiftlog_in(&sub, "show", ["--raw"]).ok(), session.text());
    assert_eq!(scratch.shiftlog("show", ["HEAD"]).code, 1);
}

#[test]
fn a_linked_worktree_shares_notes_and_archive() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let session = scratch.session_in("s1", &other);
    session.prompt("over there");
    session.edits("o.txt", "o\n");
    session.commits("over there");
    assert_eq!(scratch.raw("other", &[]), session.text());
    assert_eq!(scratch.shiftlog_in(&other.join("."), "log", ["--oneline"]).ok().lines().count(), 1);
    fs::create_dir_all(other.join("deep/down")).unwrap();
    assert_eq!(scratch.shiftlog_in(&other.join("deep/down"), "show", ["--raw"]).ok(), session.text());
}

#[test]
fn a_reftable_repository_is_refused_in_one_line() {
    let scratch = Scratch::empty(&["--ref-format=reftable"]);
    let ran = scratch.shiftlog("log", [""; 0]);
    assert_eq!(ran.code, 128);
    assert!(ran.stderr.starts_with("fatal: '") && ran.stderr.contains("reftable"), "{}", ran.stderr);
}

#[test]
fn the_environment_and_config_on_the_command_line_are_honoured() {
    let scratch = Scratch::set_up();
    works(&scratch);
    let elsewhere = scratch.root();
    let git_dir = scratch.top.join(".git");
    let mut command = scratch.command("git", &elsewhere);
    command.env("GIT_DIR", &git_dir).env("GIT_WORK_TREE", &scratch.top).args(["shiftlog", "show", "--raw"]);
    assert_eq!(feed(&mut command, b"").ok(), scratch.raw("HEAD", &[]));
    let mut command = scratch.command("git", &elsewhere);
    command.args(["-C", "repo", "-c", "shiftlog.notesRef=refs/notes/nothing", "shiftlog", "log"]);
    assert_eq!(feed(&mut command, b"").ok(), "", "git -c reaches us");
    let mut command = scratch.command("git", &scratch.top);
    command.env("GIT_NOTES_REF", "refs/notes/nothing").args(["shiftlog", "log"]);
    assert_eq!(feed(&mut command, b"").ok(), "");
    assert_eq!(scratch.shiftlog("log", ["--ref=nothing"]).ok(), "");
}

#[test]
fn a_shared_repository_stays_writable_for_the_group() {
    let scratch = Scratch::with(&["--shared=group"]);
    assert_eq!(add(&scratch, "s1", &line("for all of us")).code, 0);
    let id = scratch.git(["rev-parse", "refs/shiftlog/sessions"]).ok();
    let dir = scratch.top.join(".git/objects").join(&id[..2]);
    assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o070, 0o070);
}

#[test]
fn stock_git_can_copy_append_merge_prune_and_collect() {
    let scratch = Scratch::set_up();
    works(&scratch);
    let text = scratch.raw("HEAD", &[]);
    let notes = |args: &[&str]| scratch.git([&["notes", "--ref=shiftlog"], args].concat()).ok();
    let copy = scratch.git(["commit-tree", "HEAD^{tree}", "-m", "copy"]).ok();
    notes(&["copy", "HEAD", copy.trim()]);
    assert_eq!(scratch.raw(copy.trim(), &[]), text, "a copied note is a note");
    notes(&["append", "-m", "a remark of mine", "HEAD"]);
    assert_eq!(scratch.raw("HEAD", &[]), text);
    scratch.git(["gc", "--quiet", "--prune=now"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--full"]), text, "packed");

    // Two clones note the same commit; stock Git merges line by line.
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", ".", clone.to_str().unwrap()]).ok();
    scratch
        .git_in(
            &clone,
            ["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog", "refs/shiftlog/*:refs/shiftlog/*"],
        )
        .ok();
    let mut command = scratch.command("git", &clone);
    command.args(["shiftlog", "add", "-q", "--transcript=-", "--session=theirs"]);
    assert_eq!(feed(&mut command, line("theirs").as_bytes()).code, 0);
    assert_eq!(add(&scratch, "mine", &line("mine")).code, 0);
    scratch.git(["fetch", "-q", clone.to_str().unwrap(), "refs/notes/shiftlog:refs/notes/theirs"]).ok();
    for strategy in ["union", "cat_sort_uniq"] {
        scratch.git(["update-ref", "refs/notes/try", "refs/notes/shiftlog"]).ok();
        scratch.git(["notes", "--ref=try", "merge", "-q", "-s", strategy, "refs/notes/theirs"]).ok();
        let listed = scratch.shiftlog("log", ["--ref=try", "--format=%(session)", "-n1"]).ok();
        let mut sessions: Vec<&str> = listed.trim().split(',').collect();
        sessions.sort_unstable();
        assert_eq!(sessions, ["mine", "s1", "theirs"], "{strategy}");
    }
    notes(&["prune"]);
    assert_eq!(scratch.raw("HEAD", &["--session=s1"]), text);
    scratch.assert_sound();
}

#[test]
fn notes_with_any_fanout_are_found() {
    let scratch = Scratch::new();
    let mut import = String::from("commit refs/heads/many\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n");
    for number in 1..600 {
        import += &format!(
            "commit refs/heads/many\ncommitter A <a@example.com> {} +0000\ndata 1\nx\n",
            1_700_000_000 + number
        );
    }
    let mut command = scratch.command("git", &scratch.top);
    assert_eq!(feed(command.args(["fast-import", "--quiet"]), import.as_bytes()).code, 0);
    let ids = scratch.git(["rev-list", "many"]).ok();
    let record = |number: usize| {
        json!({"shiftlog":1,"agent":"claude","session":format!("s{number}"),"time":"2026-01-01T00:00:00Z","turns":1,
            "messages":1,"since":null,"through":"00".repeat(20),"bytes":1,"sha256":""})
    };
    // git fast-import chooses a fanout for that many notes; a few more come flat, by hand, in a mixed tree.
    let mut import =
        String::from("commit refs/notes/shiftlog\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n");
    for (number, id) in ids.lines().enumerate() {
        let note = record(number).to_string();
        import += &format!("N inline {id}\ndata {}\n{note}\n", note.len());
    }
    let mut command = scratch.command("git", &scratch.top);
    assert_eq!(feed(command.args(["fast-import", "--quiet"]), import.as_bytes()).code, 0);
    assert!(scratch.git(["ls-tree", "refs/notes/shiftlog"]).ok().contains("040000 tree"), "there is fanout");
    assert_eq!(scratch.shiftlog("log", ["--format=%H", "many"]).ok(), ids);
    assert_eq!(add(&scratch, "flat", &line("flat")).code, 0);
    let listed = scratch.git(["notes", "--ref=shiftlog", "list"]).ok();
    assert_eq!(listed.lines().count(), 601, "stock Git finds all of them after our edit");
    assert_eq!(scratch.shiftlog("log", ["--format=%(session)"]).ok(), "flat\n");
    scratch.assert_sound();
}

#[test]
fn a_missing_segment_is_shown_as_a_gap() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let mut commits = Vec::new();
    for number in 0..3 {
        session.prompt(&format!("step {number}"));
        session.edits("a.txt", &format!("{number}\n"));
        commits.push(session.commits(&format!("step {number}")));
    }
    let through = scratch.record(&commits[1])["through"].as_str().unwrap().to_owned();
    let object = scratch.top.join(".git/objects").join(&through[..2]).join(&through[2..]);
    let kept = fs::read(&object).unwrap();
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(&object).unwrap();
    let shown = scratch.shiftlog("show", ["--full", &commits[2]]);
    assert_eq!(shown.code, 1);
    assert!(shown.stdout.contains("step 2") && shown.stdout.contains("is missing"), "{}", shown.stdout);
    assert_eq!(scratch.shiftlog("show", [&commits[0]]).code, 0, "a lost segment costs only itself");
    fs::write(&object, kept).unwrap();
    assert_eq!(scratch.raw(&commits[2], &["--full"]), session.text());
}

#[test]
fn a_transcript_that_is_not_what_its_digest_says_is_told() {
    let scratch = Scratch::new();
    let body = line("not what it was");
    let header = shiftlog::archive::Header {
        shiftlog: 1,
        agent: "claude".into(),
        session: "s1".into(),
        parent: None,
        keep: 0,
        bytes: body.len() as u64,
        sha256: "00".repeat(32),
        time: "2026-01-02T03:04:05Z".into(),
    };
    let file = shiftlog::archive::segment::encode(&header, body.as_bytes()).unwrap();
    let through = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], &file).ok();
    let record = json!({ "shiftlog": 1, "agent": "claude", "session": "s1", "time": "2026-01-02T03:04:05Z", "turns": 1, "messages": 1,
        "since": null, "through": through.trim(), "bytes": body.len(), "sha256": "00".repeat(32) });
    scratch.git(["notes", "--ref=shiftlog", "add", "-m", &record.to_string(), "HEAD"]).ok();
    let shown = scratch.shiftlog("show", ["--full"]);
    assert_eq!(shown.code, 1);
    assert!(shown.stdout.contains("[the transcript does not match the digest in segment"), "{}", shown.stdout);
    let raw = scratch.shiftlog("show", ["--raw", "--full"]);
    assert_eq!((raw.code, raw.stdout.as_str()), (1, body.as_str()), "the bytes are shown all the same");
    assert!(raw.stderr.starts_with("warning: the transcript does not match the digest in segment"), "{}", raw.stderr);
}

#[test]
fn a_hook_with_nothing_to_do_does_nothing() {
    let scratch = Scratch::set_up();
    let before = scratch.state_files();
    let ran = scratch.run_in(&scratch.top, "sh", [".git/hooks/post-commit"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert_eq!(scratch.state_files(), before, "it has not even taken its lock");
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

#[test]
fn an_entry_of_a_reflog_is_one_line() {
    let scratch = Scratch::new();
    scratch.git(["config", "core.logAllRefUpdates", "always"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = scratch.session("s1");
    session.prompt("one");
    session.edits("a.txt", "a\n");
    session.commits("one");
    for name in ["refs/notes/shiftlog", "refs/shiftlog/sessions"] {
        let log = fs::read_to_string(scratch.top.join(".git/logs").join(name)).unwrap();
        let entries = scratch.git(["reflog", "show", name]).ok().lines().count();
        assert_eq!(log.lines().count(), entries, "{log:?}");
        assert!(log.lines().all(|line| line.contains("\tshiftlog: ")), "{log:?}");
    }
}

#[test]
fn the_archive_is_nobodys_work() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("one");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let authors = |name: &str| {
        let authors = scratch.git(["log", "--format=%cn", name]).ok();
        authors.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(authors("refs/shiftlog/sessions"), ["git-shiftlog".to_owned()].into());
    assert_eq!(authors("refs/notes/shiftlog"), authors("HEAD"), "who wrote a record is told");
    let excluded = ["--exclude=refs/shiftlog/*", "--exclude=refs/notes/*", "--all", "--format=%s"];
    assert_eq!(scratch.git([&["log"], &excluded[..]].concat()).ok(), scratch.git(["log", "--format=%s"]).ok());
}
