//! A dry run says what would be done, and writes nothing at all.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::Scratch;

/// A repository in which every command has something to do: conversations with a secret and with the word 'apple', a commit
/// that was rewritten behind our back, one whose session waits, a session in the agent's store, a lost segment, a remote.
fn with_work() -> Scratch {
    let scratch = Scratch::set_up();
    scratch.git(["init", "-q", "--bare", "../server.git"]).ok();
    scratch.git(["remote", "add", "origin", "../server.git"]).ok();
    scratch.git(["config", "shiftlog.push", "all"]).ok();
    for (number, word) in ["apple", "pear", "plum"].into_iter().enumerate() {
        let session = scratch.session(&format!("s{number}"));
        session.prompt(&format!("an {word}, please"));
        session.edits(&format!("{word}.txt"), word);
        session.commits(word);
        session.says("Done.");
        session.hook("SessionEnd");
    }
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    fs::write(
        scratch.root().join("secret"),
        json!({ "type": "user", "message": { "role": "user",
        "content": format!("use {token} here") } })
        .to_string()
            + "\n",
    )
    .unwrap();
    let secret = scratch.root().join("secret");
    let secret = secret.to_str().unwrap();
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    scratch.shiftlog("add", ["HEAD~1", "--session=secret", "--transcript", secret, "-q"]).ok();
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    // Rewritten where no hook runs.
    scratch.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "--amend", "-m", "reworded"]).ok();
    let waiting = scratch.session("waiting");
    waiting.prompt("one more apple");
    waiting.edits("more.txt", "more");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["-c", "shiftlog.hookTimeout=0", "commit", "-q", "-m", "more"]).ok();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let folder: String = scratch.top.to_str().unwrap().chars().map(plain).collect();
    let folder = scratch.home().join(".claude/projects").join(folder);
    fs::create_dir_all(&folder).unwrap();
    let said = json!({ "type": "user", "cwd": scratch.top, "sessionId": "past", "timestamp": "2026-01-01T00:00:00Z",
        "message": { "role": "user", "content": "long ago" } });
    fs::write(folder.join("past.jsonl"), format!("{said}\n")).unwrap();
    scratch
}

/// Every file below a directory with its bytes, and every directory.
fn tree(top: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut directories) = (Vec::new(), vec![top.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().flatten() {
            let is_dir = entry.file_type().unwrap().is_dir();
            directories.extend(is_dir.then(|| entry.path()));
            found.push((entry.path(), if is_dir { Vec::new() } else { fs::read(entry.path()).unwrap() }));
        }
    }
    found.sort();
    found
}

#[test]
fn a_dry_run_writes_nothing() {
    let scratch = with_work();
    let secret = scratch.root().join("secret");
    let commands: [&[&str]; 17] = [
        &["purge", "-n", "HEAD~3"],
        &["purge", "-n", "--session=s0"],
        &["purge", "-n", "--match=apple"],
        &["purge", "-n", "--secrets"],
        &["purge", "-n", "--before=2100-01-01"],
        &["purge", "-n", "--received"],
        &["scan", "--fix", "-n", "--archive"],
        &["remap", "-n"],
        &["import", "-n", "--min-confidence=low"],
        &["migrate", "-n"],
        &["fsck", "--repair", "-n"],
        &["add", "-n", "--session=other", "--transcript", secret.to_str().unwrap()],
        &["sync", "-n"],
        &["deinit", "-n"],
        &["resume", "-n", "HEAD~3"],
        &["resume", "-n", "--as=codex", "HEAD~3"],
        &["init", "-n", "--share=all", "--agent=claude"],
    ];
    let before = tree(&scratch.top);
    for is_damaged in [false, true] {
        let before = match is_damaged {
            false => before.clone(),
            true => {
                let segment = scratch.record("HEAD~3")["through"].as_str().unwrap().to_owned();
                let object = scratch.top.join(".git/objects").join(&segment[..2]).join(&segment[2..]);
                fs::remove_file(object).unwrap();
                tree(&scratch.top)
            }
        };
        for command in commands {
            let ran = scratch.shiftlog(command[0], &command[1..]);
            // The words of a damaged session are not handed on.
            assert!(ran.code <= 1 || is_damaged && command[0] == "resume", "{command:?}: {ran:?}");
            let after = tree(&scratch.top);
            let new: Vec<&PathBuf> = after.iter().filter(|file| !before.contains(file)).map(|(name, _)| name).collect();
            assert!(after == before, "{command:?}, damaged: {is_damaged}: {new:?}: {ran:?}");
        }
    }
}

#[test]
fn a_purge_says_the_same_before_it_writes() {
    for target in [&["--match=apple"][..], &["--secrets"], &["--session=s0"], &["HEAD~3"]] {
        let scratch = with_work();
        scratch.shiftlog("log", [""; 0]);
        let said = |options: &[&str]| scratch.shiftlog("purge", [target, options].concat()).ok();
        let counts = |text: &str| text.split(|c: char| !c.is_ascii_digit()).collect::<Vec<_>>().join(" ");
        let planned = said(&["--dry-run"]);
        let done = said(&["--yes", "--json"]);
        let done: serde_json::Value = serde_json::from_str(&done).unwrap();
        let expected = format!("{} {} {}", done["dropped"], done["changed"], done["notes"]);
        let planned = counts(planned.lines().next().unwrap());
        assert_eq!(planned.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{target:?}");
    }
}
