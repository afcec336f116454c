//! What storage promises: nothing lost when writers collide, crash or find no room; every kind of repository works.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use serde_json::json;
use shiftlog::git::Repository;

use crate::repositories::works;
use crate::sharing::line;
use crate::support::{Scratch, feed};

/// Attaches a transcript by hand.
pub fn add(scratch: &Scratch, session: &str, text: &str) -> crate::support::Ran {
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
fn an_object_that_is_written_again_is_as_new_as_one_that_git_writes_again() {
    // 'git gc' deletes unreachable objects that are old, also while a commit that names one is being made.
    let scratch = Scratch::new();
    let repo = Repository::open(&scratch.top).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for is_open in [true, false] {
        let id = repo.write_blob(b"the same words").unwrap().to_string();
        let file = scratch.top.join(".git/objects").join(&id[..2]).join(&id[2..]);
        fs::File::open(&file).unwrap().set_modified(old).unwrap();
        // A file that cannot be opened is written anew.
        fs::set_permissions(&file, fs::Permissions::from_mode(if is_open { 0o444 } else { 0o000 })).unwrap();
        repo.write_blob(b"the same words").unwrap();
        assert!(fs::metadata(&file).unwrap().modified().unwrap() > old + Duration::from_secs(1_000_000), "{is_open}");
        scratch.git(["prune", "--expire=1.day.ago"]).ok();
        assert_eq!(scratch.git(["cat-file", "blob", &id]).ok(), "the same words");
    }
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
