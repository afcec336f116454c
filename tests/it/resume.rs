//! What `git shiftlog resume` promises: the session where the agent looks for it, and nothing of anybody's written over.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::sharing::line;
use crate::support::{Ran, Scratch};

/// Returns where Claude Code looks for a session that runs in a directory.
pub fn place(scratch: &Scratch, directory: &Path, session: &str) -> PathBuf {
    let name = directory.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    scratch.home().join(".claude/projects").join(name).join(format!("{session}.jsonl"))
}

/// Puts an agent in place that says where it was started, with what, and which transcript it found there.
fn fake_agent(scratch: &Scratch) {
    let program = scratch.root().join("bin/claude");
    let script = "#!/bin/sh\ndir=$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')\n\
                  echo \"$@ in $(pwd -P)\" >\"$HOME/started\"\n\
                  cp \"$HOME/.claude/projects/$dir/$2.jsonl\" \"$HOME/found\" && test -z \"$GIT_DIR\"\n";
    fs::remove_file(&program).unwrap();
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

fn text(scratch: &Scratch, cwd: &Path, words: &[&str]) -> String {
    let record = |words: &&str| {
        let said = format!("{words} \"cwd\":\"{}\"", scratch.top.display());
        json!({ "type": "user", "cwd": cwd, "message": { "role": "user", "content": said } }).to_string() + "\n"
    };
    words.iter().map(record).collect()
}

fn add(scratch: &Scratch, session: &str, text: &str) {
    let file = scratch.root().join("said");
    fs::write(&file, text).unwrap();
    scratch.shiftlog("add", ["--transcript", file.to_str().unwrap(), "--session", session, "-q"]).ok();
}

fn resume(scratch: &Scratch, args: &[&str]) -> Ran {
    scratch.shiftlog("resume", args)
}

#[test]
fn without_a_home_that_is_what_is_told() {
    let mut scratch = Scratch::new();
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["one"]));
    scratch.env.remove("HOME");
    let told = |ran: Ran| (ran.code, ran.stderr.lines().next().unwrap_or_default().to_owned());
    let expected = "fatal: cannot look for session 's2' of Claude Code: HOME is not set";
    assert_eq!(told(scratch.shiftlog("add", ["--session=s2"])), (128, expected.to_owned()));
    let expected = "fatal: cannot resume session claude/s1: HOME is not set";
    assert_eq!(told(resume(&scratch, &["-n"])), (128, expected.to_owned()));
    // A variable of the agent's takes its place.
    scratch.env.insert("CLAUDE_CONFIG_DIR".to_owned(), scratch.root().join("elsewhere").to_str().unwrap().to_owned());
    assert_eq!(told(scratch.shiftlog("add", ["--session=s2"])).1, "fatal: Claude Code has no session 's2'");
    resume(&scratch, &["-n"]).ok();
}

#[test]
fn a_session_goes_on_where_its_agent_finds_it() {
    let scratch = Scratch::new();
    let first = text(&scratch, &scratch.top, &["one"]);
    add(&scratch, "s1", &first);
    let old = scratch.id("HEAD");
    scratch.commit("x", "1\n", "next");
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["one", "two"]));
    fake_agent(&scratch);
    let file = place(&scratch, &scratch.top, "s1");
    let printed = resume(&scratch, &["--print", "HEAD~1"]).ok();
    let top = scratch.top.display();
    let expected = format!(
        "check out {}\nwrite {}, {} bytes\nrun claude --resume s1 in {top}\n",
        &old[..7],
        file.display(),
        first.len()
    );
    assert_eq!(printed, expected);
    assert!(!file.exists(), "it was only said");
    resume(&scratch, &["HEAD~1"]).ok();
    assert_eq!(scratch.id("HEAD"), old);
    assert_eq!(fs::read_to_string(scratch.home().join("started")).unwrap(), format!("--resume s1 in {top}\n"));
    assert_eq!(fs::read_to_string(scratch.home().join("found")).unwrap(), first, "byte for byte");
}

#[test]
fn an_agent_that_is_not_there_changes_nothing() {
    let mut scratch = Scratch::new();
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["one"]));
    scratch.commit("x", "1\n", "next");
    let path = scratch.env["PATH"].clone();
    let without: Vec<_> = std::env::split_paths(&path).filter(|directory| !directory.join("claude").exists()).collect();
    scratch.env.insert("PATH".into(), std::env::join_paths(without).unwrap().into_string().unwrap());
    let before = scratch.git(["for-each-ref"]).ok();
    for args in [&["HEAD~1"][..], &["HEAD~1", "--worktree"]] {
        let ran = resume(&scratch, args);
        assert_eq!(ran.code, 128);
        assert!(ran.stderr.starts_with("fatal: cannot start 'claude': it is not on PATH\nhint: "), "{ran:?}");
    }
    assert_eq!(scratch.git(["symbolic-ref", "HEAD"]).ok(), "refs/heads/main\n", "the branch is still checked out");
    assert_eq!(scratch.git(["for-each-ref"]).ok(), before);
    assert_eq!(scratch.git(["worktree", "list"]).ok().lines().count(), 1);
    assert!(!place(&scratch, &scratch.top, "s1").exists());
    // The plan can be followed elsewhere.
    let planned = resume(&scratch, &["--print", "HEAD~1"]);
    assert!(planned.code == 1 && planned.stdout.contains("run claude --resume s1"), "{planned:?}");
    assert!(planned.stderr.starts_with("error: cannot start 'claude': it is not on PATH\nhint: "), "{planned:?}");
}

#[test]
fn the_way_back_from_a_checkout_is_told() {
    let scratch = Scratch::new();
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["one"]));
    let old = scratch.id("HEAD")[..7].to_owned();
    scratch.commit("x", "1\n", "next");
    let new = scratch.id("HEAD")[..7].to_owned();
    fake_agent(&scratch);
    let ran = resume(&scratch, &["HEAD~1"]);
    assert_eq!(ran.stderr, format!("hint: HEAD is now at {old}; 'git switch main' goes back\n"));
    assert_eq!(resume(&scratch, &[]).stderr, "", "nothing is checked out");
    scratch.git(["checkout", "-q", "--detach", "main"]).ok();
    let ran = resume(&scratch, &["HEAD~1"]);
    assert_eq!(ran.stderr, format!("hint: HEAD is now at {old}; 'git switch --detach {new}' goes back\n"));
}

#[test]
fn in_a_new_worktree_the_records_are_of_that_place() {
    let scratch = Scratch::new();
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["one"]));
    fake_agent(&scratch);
    scratch.write("x", "not committed\n");
    scratch.git(["add", "x"]).ok();
    let other = scratch.root().join("other");
    resume(&scratch, &[&format!("--worktree={}", other.display())]).ok();
    let found = fs::read_to_string(scratch.home().join("found")).unwrap();
    assert_eq!(found, text(&scratch, &other, &["one"]), "what was said of the old place stays as it was said");
    assert_eq!(scratch.git_in(&other, ["rev-parse", "HEAD"]).ok().trim(), scratch.id("HEAD"));
    assert_eq!(resume(&scratch, &[&format!("--worktree={}", other.display())]).code, 128, "it is there already");
    resume(&scratch, &["--worktree"]).ok();
    assert!(scratch.root().join(format!("repo-{}", &scratch.id("HEAD")[..7])).is_dir());
}

#[test]
fn a_transcript_that_says_more_is_never_written_over() {
    let scratch = Scratch::new();
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["one", "two"]));
    fake_agent(&scratch);
    let file = place(&scratch, &scratch.top, "s1");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let more = text(&scratch, &scratch.top, &["one", "two", "three"]);
    fs::write(&file, &more).unwrap();
    resume(&scratch, &[]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), more);
    fs::write(&file, text(&scratch, &scratch.top, &["one"])).unwrap();
    resume(&scratch, &[]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), text(&scratch, &scratch.top, &["one", "two"]), "less is completed");
    fs::write(&file, "{\"precious\": \"and no line end\"}").unwrap();
    assert_eq!(resume(&scratch, &[]).code, 128, "an unfinished line counts too");
    fs::write(&file, line("another")).unwrap();
    let ran = resume(&scratch, &[]);
    assert_eq!(ran.code, 128);
    assert!(ran.stderr.contains("differs from the recorded transcript\nhint: "), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), line("another"));
    resume(&scratch, &["--force"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), text(&scratch, &scratch.top, &["one", "two"]));
}

#[test]
fn the_agents_own_file_with_its_secrets_counts_as_ours() {
    let scratch = Scratch::new();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let own = text(&scratch, &scratch.top, &[&format!("use {token}"), "two"]);
    add(&scratch, "s1", &own);
    fake_agent(&scratch);
    let file = place(&scratch, &scratch.top, "s1");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, &own).unwrap();
    resume(&scratch, &[]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), own, "nobody's secret is taken from them");
}

#[test]
fn uncommitted_changes_and_unclear_wishes_are_told() {
    let scratch = Scratch::new();
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["one"]));
    add(&scratch, "s2", &text(&scratch, &scratch.top, &["two"]));
    scratch.commit("x", "1\n", "next");
    scratch.write("x", "changed\n");
    fake_agent(&scratch);
    let ran = resume(&scratch, &["HEAD~1"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with("error: several sessions made this commit: claude/s1, claude/s2\nhint: "),
        "{ran:?}"
    );
    for dry in [&["--session=s2", "HEAD~1"][..], &["--session=s2", "-n", "HEAD~1"]] {
        let ran = resume(&scratch, dry);
        assert_eq!((ran.code, ran.stdout.as_str()), (128, ""));
        assert!(ran.stderr.starts_with("fatal: there are uncommitted changes\nhint: "), "{ran:?}");
    }
    resume(&scratch, &["--session=s2", "-n", "--force", "HEAD~1"]).ok();
    assert!(!scratch.home().join("started").exists());
    assert_eq!(resume(&scratch, &["HEAD"]).code, 1, "nothing is recorded there");
    assert_eq!(resume(&scratch, &["--agent=codex", "HEAD~1"]).code, 1);
}

#[test]
fn a_hostile_session_never_gets_out_of_the_agents_store() {
    let scratch = Scratch::new();
    fake_agent(&scratch);
    for id in ["--dangerously", "../../x", "/etc/x", "a\u{1b}[31m", "..", &"x".repeat(3000)] {
        let file = scratch.root().join("said");
        fs::write(&file, text(&scratch, &scratch.top, &["one"])).unwrap();
        scratch.shiftlog("add", ["--transcript", file.to_str().unwrap(), &format!("--session={id}"), "-q"]).ok();
        let ran = resume(&scratch, &[&format!("--session={id}")]);
        // One with a dot may be a sub-agent's, which is not taken up by itself.
        let is_refused = ran.stderr.starts_with("fatal: cannot resume session claude/");
        assert!(is_refused || ran.stderr.starts_with("error: no session '"), "{ran:?}");
        assert!(!ran.stderr.contains('\u{1b}'));
        scratch.git(["notes", "--ref=shiftlog", "remove"]).ok();
    }
    assert!(!scratch.home().join(".claude/projects").exists() && !scratch.home().join("started").exists());
}

/// Returns the document that `resume --print` would write.
fn handed_over(printed: &str) -> PathBuf {
    let path = printed.split_once("write ").and_then(|(_, rest)| rest.split_once(", "));
    path.unwrap_or_else(|| panic!("no document is named: {printed}")).0.into()
}

#[test]
fn another_agent_is_started_with_the_conversation_as_a_document() {
    let scratch = Scratch::new();
    add(&scratch, "s1", &text(&scratch, &scratch.top, &["sing \u{1b}[31mgoddess"]));
    let printed = resume(&scratch, &["--as=codex", "--print"]).stdout;
    let path = handed_over(&printed);
    assert!(path.starts_with(&scratch.top) && printed.contains("run codex '"), "{printed}");
    assert!(!path.exists(), "--print writes nothing");
    let program = scratch.root().join("bin/codex");
    fs::write(&program, "#!/bin/sh\necho \"$#:$1\" >\"$HOME/started\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    resume(&scratch, &["--as=codex"]).ok();
    let started = fs::read_to_string(scratch.home().join("started")).unwrap();
    assert!(started.starts_with("1:Continue ") && started.contains(path.to_str().unwrap()), "{started}");
    let document = fs::read_to_string(&path).unwrap();
    assert!(document.contains("> sing ") && !document.contains('\u{1b}'), "nothing a terminal acts on: {document}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "only for its owner");
    let ran = resume(&scratch, &["--as=hal"]);
    assert_eq!(ran.code, 129);
    assert!(ran.stderr.starts_with("error: unknown agent 'hal'\nhint: known agents: claude, codex,"), "{}", ran.stderr);
    let ran = resume(&scratch, &["--as=hal", "--worktree=."]);
    assert_eq!(ran.code, 129, "before anything else is looked at: {}", ran.stderr);
    scratch.shiftlog("purge", ["--all", "--yes", "--session=s1"]).ok();
    assert!(!path.exists(), "it goes with what it repeats");
}

#[test]
fn a_document_that_is_handed_over_has_no_secret() {
    let scratch = Scratch::new();
    let said = text(&scratch, &scratch.top, &["my token is ghp_16C7e42F292c6912E7710c838347Ae178B4a"]);
    crate::earlier::attach(&scratch, "shiftlog", &crate::earlier::document("s1", &said).to_string());
    let program = scratch.root().join("bin/codex");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = handed_over(&resume(&scratch, &["--as=codex", "--print"]).ok());
    resume(&scratch, &["--as=codex"]).ok();
    let document = fs::read_to_string(path).unwrap();
    assert!(document.contains("my token is [REDACTED:") && !document.contains("ghp_"), "{document}");
}
