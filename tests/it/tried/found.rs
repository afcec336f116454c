//! What readers, writers and those who share find in their way.

use serde_json::json;

use super::*;

/// A repository with two commits that have a conversation.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha-1");
    session.prompt("make one");
    session.edits("src/one.rs", "fn one() {}\n");
    session.commits("one");
    session.prompt("make two");
    session.edits("src/two.rs", "fn two() {}\n");
    session.commits("two");
    session.hook("Stop");
    scratch
}

#[test]
fn sharing_ends_as_it_began() {
    let scratch = Scratch::new();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let before = scratch.git(["config", "--local", "--list"]).ok();
    for end in ["--no-share", "--share=none"] {
        scratch.shiftlog("init", ["--agent=claude", "--share=all", "-q"]).ok();
        assert_ne!(scratch.git(["config", "--local", "--list"]).ok(), before);
        let ended = scratch.shiftlog("init", ["--agent=claude", end]).ok();
        assert!(ended.contains("config shiftlog.push -= all\n"), "{ended}");
        assert_eq!(scratch.git(["config", "--local", "--list"]).ok(), before, "{end}");
        assert_eq!(scratch.shiftlog("init", ["--agent=claude", end]).ok(), "nothing to do\n");
    }
    // What somebody else has set stays, and one of ours wins over it.
    scratch.git(["config", "shiftlog.push", "all"]).ok();
    assert_eq!(scratch.shiftlog("init", ["--agent=claude", "--no-share"]).ok(), "config shiftlog.push += none\n");
    for refused in ["--no-mcp", "--no-agent"] {
        let ran = scratch.shiftlog("init", [refused]);
        assert_eq!(ran.code, 129);
        assert!(ran.stderr.starts_with(&format!("error: '{refused}' would take nothing back\n")), "{}", ran.stderr);
        assert!(ran.stderr.contains("\nhint: 'git shiftlog deinit' takes back"), "{}", ran.stderr);
    }
}

#[test]
fn doctor_says_what_nobody_stops_and_what_is_not_fetched() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "--no-git-hooks", "-q"]).ok();
    let mirror = "no hook of ours stops 'git push --mirror', which takes conversations along";
    assert!(!scratch.shiftlog("doctor", [""; 0]).stdout.contains(mirror), "there is no remote");
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    assert!(scratch.shiftlog("doctor", [""; 0]).stdout.contains(mirror));
    scratch.shiftlog("init", ["--agent=claude", "--git-hooks", "-q"]).ok();
    assert!(!scratch.shiftlog("doctor", [""; 0]).stdout.contains(mirror));
    scratch.git(["remote", "remove", "origin"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "--share", "-q"]).ok();
    scratch.git(["remote", "add", "late", "/nowhere"]).ok();
    let lacks = "what others share by 'late' is not fetched; 'git shiftlog init --share=notes' sets it up";
    assert!(scratch.shiftlog("doctor", [""; 0]).stdout.contains(lacks));
    scratch.shiftlog("init", ["--agent=claude", "--share=notes", "-q"]).ok();
    assert!(!scratch.shiftlog("doctor", [""; 0]).stdout.contains(lacks));
}

#[test]
fn a_hook_that_is_edited_by_hand_stops_a_mirror_and_without_any_it_is_said() {
    let scratch = recorded();
    scratch.git(["init", "-q", "--bare", "../mirror.git"]).ok();
    let published = || scratch.git(["ls-remote", "../mirror.git"]).ok().contains("shiftlog");
    if !crate::setup::uses_config_hooks(&scratch) {
        let hook = scratch.top.join(".git/hooks/pre-push");
        let executable = |path: &Path, text: &str| {
            fs::write(path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for shell in ["#!/bin/sh\n", "#!/usr/bin/env python3\n"] {
            let _ = fs::remove_file(&hook);
            if shell.ends_with("sh\n") {
                fs::create_dir_all(scratch.top.join("tools")).unwrap();
                executable(&scratch.top.join("tools/pre-push"), shell);
                scratch.git(["add", "tools"]).ok();
                std::os::unix::fs::symlink("../../tools/pre-push", &hook).unwrap();
            } else {
                executable(&hook, shell);
            }
            let said = scratch.shiftlog("init", ["--agent=claude"]).stderr;
            let line = said.lines().find(|line| line.contains("pre-push")).unwrap();
            let line = line.split_once("add this line to that file: ").or_else(|| line.split_once("have it run: "));
            let (_, line) = line.unwrap_or_else(|| panic!("{said}"));
            let text = match shell.ends_with("sh\n") {
                true => format!("{shell}{line}\n"),
                false => format!("{shell}import subprocess, sys\nsys.exit(subprocess.call(['sh', '-c', {line:?}]))\n"),
            };
            fs::write(&hook, text).unwrap();
            let ran = scratch.git(["push", "--mirror", "../mirror.git"]);
            assert!(ran.code != 0 && ran.stderr.contains("takes conversations along"), "{shell}{line}: {ran:?}");
            assert!(!published());
        }
        fs::remove_file(&hook).unwrap();
    }
    scratch.git(["remote", "add", "--mirror=push", "origin", "../mirror.git"]).ok();
    let left = scratch.shiftlog("deinit", [""; 0]);
    assert!(left.stderr.contains("warning: a push to the mirror 'origin' takes what is recorded along\n"), "{left:?}");
    let doctor = scratch.shiftlog("doctor", [""; 0]).stdout;
    assert!(doctor.contains("problem  mirror 'origin': a push to it takes conversations along"), "{doctor}");
    assert!(!doctor.contains("is stopped"), "{doctor}");
}

#[test]
fn variables_and_options_that_name_the_repository_mean_what_they_mean_in_git() {
    let mut scratch = recorded();
    let source = scratch.top.join("src");
    for words in [&["log", "-1"][..], &["grep", "make"], &["show", "HEAD"], &["blame", "two.rs"]] {
        let named = [&["--git-dir=../.git", "--work-tree=..", "shiftlog"][..], words].concat();
        let plain = [&["shiftlog"][..], words].concat();
        let named = scratch.git_in(&source, named);
        assert_eq!((named.code, named.stdout), (0, scratch.git_in(&source, plain).ok()), "{words:?}: {}", named.stderr);
    }
    scratch.env.insert("GIT_DIR".into(), scratch.top.join(".git").display().to_string());
    scratch.env.insert("GIT_WORK_TREE".into(), scratch.top.display().to_string());
    let (outside, top) = (scratch.home(), scratch.top.clone());
    for words in [&["blame", "src/two.rs"][..], &["why", "src/two.rs:1"], &["show", "HEAD", "--", "src/two.rs"]] {
        let words = [&["shiftlog"][..], words].concat();
        let there = scratch.git_in(&outside, &words);
        assert_eq!((there.code, there.stdout), (0, scratch.git_in(&top, &words).ok()), "{words:?}: {}", there.stderr);
    }
}

#[test]
fn options_of_log_mean_what_they_mean_in_git_or_say_what_does() {
    let scratch = recorded();
    let ours = scratch.shiftlog("log", ["--oneline", "--no-abbrev-commit"]).ok();
    assert_eq!(ours, scratch.git(["log", "--oneline", "--no-abbrev-commit", "-2"]).ok());
    scratch.git(["config", "log.abbrevCommit", "true"]).ok();
    let ours = scratch.shiftlog("log", ["--format=medium", "--no-abbrev-commit", "-1"]).ok();
    assert!(ours.starts_with(&format!("commit {}\n", scratch.id("HEAD"))), "{ours}");
    for option in ["--stat", "--patch"] {
        let ran = scratch.shiftlog("log", ["--graph", option]);
        let error = format!("error: options '--graph' and '{option}' cannot be used together\n");
        let hint = format!("hint: 'git shiftlog log {option}' prints the same commits without a graph\n");
        assert_eq!((ran.code, ran.stderr), (129, error + &hint));
    }
    assert!(scratch.git(["shiftlog", "lgo"]).stderr.contains("the most similar command is: git shiftlog log"));
}

#[test]
fn what_is_no_place_for_pages_and_no_transcript_is_refused() {
    let scratch = recorded();
    let ran = scratch.shiftlog("export", ["--html", "-o", ".git/", "HEAD"]);
    assert_eq!(ran.code, 128);
    assert!(ran.stderr.contains("is in a directory of Git"), "{}", ran.stderr);
    assert!(!scratch.top.join(".git/index.html").exists());
    let ran = scratch.shiftlog("add", ["--transcript=/dev/zero", "--session=x"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (128, "fatal: '/dev/zero' is not a regular file\nhint: --transcript=- reads standard input\n")
    );
    let ran = scratch.shiftlog("purge", ["-y", "alpha-1"]);
    assert_eq!(ran.code, 128);
    assert!(ran.stderr.contains("\nhint: git shiftlog purge --session=alpha-1    # removes that session\n"), "{ran:?}");
}

#[test]
fn sub_agents_are_added_with_their_session() {
    let scratch = Scratch::set_up();
    scratch.commit("a", "a\n", "a");
    let of = |agent: Option<&str>, text: &str| {
        let mut record = json!({ "type": "user", "uuid": text, "sessionId": "s1", "cwd": scratch.top,
            "timestamp": "2026-01-02T03:04:05Z", "message": { "role": "user", "content": text } });
        if let Some(id) = agent {
            (record["isSidechain"], record["agentId"]) = (json!(true), json!(id));
        }
        format!("{record}\n")
    };
    let folder = scratch.root().join("s1/subagents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("agent-a1b2.jsonl"), of(Some("a1b2"), "look into it")).unwrap();
    let file = scratch.root().join("s1.jsonl");
    fs::write(&file, of(None, "have somebody look into it")).unwrap();
    scratch.shiftlog("add", ["--transcript", file.to_str().unwrap(), "--session", "s1", "-q", "HEAD"]).ok();
    let ids: Vec<String> = scratch.records("HEAD").iter().map(|one| one["session"].as_str().unwrap().into()).collect();
    assert_eq!(ids, ["s1", "s1.a1b2"]);
    assert!(scratch.shiftlog("show", ["--full", "-vv"]).ok().contains("look into it"));
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
}

#[test]
fn names_that_statistics_print_have_no_secret() {
    let scratch = crate::exporting::secrets::planted();
    for options in [&["--by=agent,model"][..], &["--by=model", "--json"], &["--by=branch,model", "--csv"], &["--tools"]]
    {
        let ran = scratch.shiftlog("stats", options);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        crate::exporting::secrets::assert_clean(&(ran.stdout + &ran.stderr), &format!("{options:?}"));
    }
}

#[test]
fn commits_stand_behind_their_turns_although_secrets_were_removed() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    let session = scratch.session("alpha-1");
    let tokens: String = (0..200).map(|at| format!("ghp_16C7e42F292c6912E7710c838347Ae17{at:04} ")).collect();
    for (number, words) in [(1, tokens.as_str()), (2, "second"), (3, "third")] {
        session.prompt(&format!("prompt {number} {words}"));
        session.edits("a.txt", &format!("{number}\n"));
        session.commits(&format!("commit {number}"));
    }
    session.hook("Stop");
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    let page = scratch.shiftlog("export", ["--html", "--full", "alpha-1"]).ok();
    let main = &page[page.find("<main").unwrap()..];
    let places: Vec<usize> = (1..=3)
        .flat_map(|number| [format!("prompt {number}"), format!(">commit {number}<")])
        .map(|words| main.find(&words).unwrap_or_else(|| panic!("{words}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}
