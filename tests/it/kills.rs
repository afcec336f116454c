//! Processes of ours that are killed at random moments: no word is lost, and what was begun is finished by the next.
//!
//! A few rounds are in each run of the tests. `SHIFTLOG_KILL_ROUNDS=1000 cargo test --release --test it kills::` makes so
//! many, a fifth of them for each program; a round that fails prints after which delay it was killed.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::importing::Past;
use crate::migrating::one_session;
use crate::setup::files;
use crate::support::Scratch;

/// Rounds for each program unless the environment says otherwise.
const ROUNDS: u64 = 2;
const PROGRAMS: u64 = 5;

fn rounds() -> u64 {
    let wanted = std::env::var("SHIFTLOG_KILL_ROUNDS").ok().and_then(|value| value.parse::<u64>().ok());
    wanted.map_or(ROUNDS, |wanted| wanted.div_ceil(PROGRAMS))
}

/// A number that differs from call to call.
fn random(limit: u64) -> u64 {
    let nanos = u64::from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos());
    (nanos ^ u64::from(std::process::id())).wrapping_mul(0x9e37_79b9_7f4a_7c15) % limit.max(1)
}

/// Runs a program and kills it, with all that it has started, at a random moment of as long as it has taken before.
/// Returns after how long, or `None` if it ended by itself.
fn kill(command: &mut Command, longest: &mut Duration) -> Option<Duration> {
    let started = Instant::now();
    let delay = Duration::from_micros(random(u64::try_from(longest.as_micros()).unwrap()));
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    while started.elapsed() < delay {
        if child.try_wait().unwrap().is_some() {
            *longest = started.elapsed().max(Duration::from_millis(2));
            return None;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status().unwrap();
    let ended = child.wait().unwrap();
    if ended.success() {
        *longest = started.elapsed().max(Duration::from_millis(2));
        return None;
    }
    // What could not be reached in this time may be reached in a longer one.
    *longest += *longest / 8;
    Some(delay)
}

/// Removes the locks that a killed process has left, as our messages say and Git's do.
fn remove_locks(scratch: &Scratch) -> usize {
    fn locks(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                locks(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "lock") {
                found.push(path);
            }
        }
    }
    let git_dir = scratch.top.join(".git");
    let mut found: Vec<PathBuf> =
        ["packed-refs.lock", "config.lock", "gc.pid.lock"].map(|name| git_dir.join(name)).into();
    found.retain(|path| path.exists());
    // 'git reflog expire' locks the ref and its log.
    for directory in ["refs", "logs", "objects"] {
        locks(&git_dir.join(directory), &mut found);
    }
    found.iter().for_each(|path| fs::remove_file(path).unwrap());
    found.len()
}

#[track_caller]
fn assert_whole(scratch: &Scratch, case: &str) {
    let fsck = scratch.shiftlog("fsck", [""; 0]);
    assert_eq!(fsck.code, 0, "{case}: {fsck:?}");
    let fsck = scratch.git(["fsck", "--strict", "--no-dangling"]);
    assert_eq!((fsck.code, fsck.stderr.as_str()), (0, ""), "{case}");
}

#[test]
fn a_killed_hook_loses_no_word() {
    let mut longest = Duration::from_millis(30);
    for round in 0..rounds() {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        for number in 0..3 {
            session.prompt(&format!("round {round} question {number}"));
            session.edits("a.txt", &format!("{round} {number}\n"));
            scratch.git(["add", "-A"]).ok();
            scratch.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "killed"]).ok();
            let mut hook = scratch.command("sh", &scratch.top);
            hook.env("CLAUDE_CODE_SESSION_ID", "s1").arg(".git/hooks/post-commit");
            let killed = kill(&mut hook, &mut longest);
            let locks = remove_locks(&scratch);
            let case = format!("killed after {killed:?}, {locks} locks left\n{}", scratch.log());
            session.answers("c", "afterwards");
            session.edits("b.txt", &format!("{round} {number}\n"));
            let commit = session.commits("next");
            assert_eq!(scratch.raw(&commit, &["--full"]), session.text(), "{case}");
            assert_whole(&scratch, &case);
        }
    }
}

#[test]
fn a_killed_init_is_undone_exactly() {
    let mut longest = Duration::from_millis(60);
    for _ in 0..rounds() {
        let scratch = Scratch::new();
        scratch.write(".claude/settings.local.json", "{\n  // mine\n  \"model\": \"x\"\n}\n");
        fs::write(scratch.top.join(".git/hooks/post-merge"), "#!/bin/sh\necho mine\n").unwrap();
        let before = files(&scratch);
        let mut init = scratch.command("git", &scratch.top);
        init.args(["shiftlog", "init", "--agent=claude", "--agent=cursor", "--mcp", "-q"]);
        let killed = kill(&mut init, &mut longest);
        remove_locks(&scratch);
        scratch.shiftlog("deinit", ["-q"]).ok();
        assert_eq!(files(&scratch), before, "killed after {killed:?}");
    }
}

#[test]
fn a_killed_migration_is_finished_by_the_next() {
    let mut longest = Duration::from_millis(100);
    for _ in 0..rounds() {
        let scratch = Scratch::new();
        let made = one_session(&scratch, "refs/notes/shiftlog", 4);
        let mut migrate = scratch.command("git", &scratch.top);
        let killed = kill(migrate.args(["shiftlog", "migrate", "-q"]), &mut longest);
        let locks = remove_locks(&scratch);
        let case = format!("killed after {killed:?}, {locks} locks left");
        for (commit, text) in &made {
            assert_eq!(scratch.raw(commit, &["--full", "--session=old"]), *text, "before the next: {case}");
        }
        scratch.shiftlog("migrate", ["-q"]).ok();
        for (commit, text) in &made {
            assert_eq!(scratch.raw(commit, &["--full", "--session=old"]), *text, "{case}");
        }
        assert_eq!(scratch.shiftlog("migrate", [""; 0]).ok(), "nothing to do\n", "{case}");
        assert_whole(&scratch, &case);
    }
}

#[test]
fn a_killed_import_is_finished_by_the_next() {
    let mut longest = Duration::from_millis(150);
    for _ in 0..rounds() {
        let scratch = Scratch::new();
        let mut made = Vec::new();
        for number in 0..4 {
            let past = Past::new(&scratch, &format!("s{number}"));
            let minute = 200 + number * 10;
            past.at(minute, |session| session.prompt(&format!("question {number}")));
            past.at(minute + 1, |session| session.edits(&format!("{number}.txt"), "x\n"));
            let commit = past.commits(minute + 2, &format!("commit {number}"));
            made.push((commit, past.text()));
        }
        let mut import = scratch.command("git", &scratch.top);
        let killed = kill(import.args(["shiftlog", "import", "-q"]), &mut longest);
        let locks = remove_locks(&scratch);
        let case = format!("killed after {killed:?}, {locks} locks left\n{}", scratch.log());
        let again = scratch.shiftlog("import", ["-q"]);
        assert!(again.code <= 1, "{case}: {again:?}");
        for (commit, text) in &made {
            assert_eq!(scratch.raw(commit, &["--full"]), *text, "{case}");
        }
        assert_whole(&scratch, &case);
    }
}

#[test]
fn a_killed_purge_is_finished_by_the_next_and_takes_nothing_else() {
    let mut longest = Duration::from_millis(200);
    for _ in 0..rounds() {
        let scratch = Scratch::set_up();
        let mut kept = Vec::new();
        for number in 0..2 {
            for id in ["keep", "drop"] {
                let session = scratch.session(id);
                session.prompt(&format!("{id} {number}"));
                session.edits(&format!("{id}.txt"), &format!("{number}\n"));
                let commit = session.commits(&format!("{id} {number}"));
                if id == "keep" {
                    kept.push((commit, session.text()));
                }
                session.hook("SessionEnd");
            }
        }
        let listed = scratch.git(["ls-tree", "-r", "refs/shiftlog/sessions"]).ok();
        let words: Vec<&str> = listed
            .lines()
            .filter(|line| line.contains("claude~drop"))
            .map(|line| line.split_whitespace().nth(2).unwrap())
            .collect();
        assert!(!words.is_empty());
        let args = ["shiftlog", "purge", "--session=drop", "--yes"];
        let mut purge = scratch.command("git", &scratch.top);
        let killed = kill(purge.args(args), &mut longest);
        let locks = remove_locks(&scratch);
        let again = scratch.git(args);
        // It is done already, or done now.
        assert!(again.code <= 1, "{again:?}, killed after {killed:?}");
        let case = format!("killed after {killed:?}, {locks} locks left, then {again:?}\n{}", scratch.log());
        let checked = scratch.shiftlog("fsck", [""; 0]);
        assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "nothing is left to be done: {case}");
        for id in &words {
            assert_ne!(scratch.git(["cat-file", "-e", id]).code, 0, "{id} is still there: {case}");
        }
        for (commit, text) in &kept {
            assert_eq!(scratch.raw(commit, &["--full", "--session=keep"]), *text, "{case}");
        }
        assert_whole(&scratch, &case);
    }
}
