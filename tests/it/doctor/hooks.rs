//! Hooks that do nothing though our part is in them, and settings that cannot be edited: `doctor` names them, and what it
//! advises mends them.

use std::path::{Path, PathBuf};

use super::*;
use crate::setup::uses_config_hooks;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// What `doctor` says of the hook `post-commit`, and its advice.
fn told_of_hook(scratch: &Scratch) -> (String, Option<String>) {
    let told = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let mut lines = told.lines().skip_while(|line| !line.contains("  Git hook post-commit"));
    let found = lines.next().unwrap().to_owned();
    (found, lines.next().and_then(|line| line.strip_prefix("         fix: ")).map(str::to_owned))
}

/// A repository that is set up, its hook `post-commit`, and the text of that; `None` where hooks are in the config.
fn with_hook() -> Option<(Scratch, PathBuf, String)> {
    let scratch = Scratch::set_up();
    let hook = scratch.top.join(".git/hooks/post-commit");
    let text = fs::read_to_string(&hook).ok().filter(|_| !uses_config_hooks(&scratch))?;
    assert_eq!(told_of_hook(&scratch), ("ok       Git hook post-commit".to_owned(), None));
    Some((scratch, hook, text))
}

#[test]
fn a_hook_that_ends_before_our_part_is_a_problem_that_init_mends() {
    let Some((scratch, hook, text)) = with_hook() else { return };
    for line in ["exit 0", "exec true", "  exit", "exec other 2>&1"] {
        write(&hook, &text.replacen('\n', &format!("\n# mine\necho one\n{line}\n"), 1));
        let expected = format!("problem  Git hook post-commit: its line '{}' ends it before our part", line.trim());
        assert_eq!(told_of_hook(&scratch), (expected, Some("git shiftlog init".to_owned())), "{line}");
        let said = scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]).stdout;
        follow(&scratch, &said);
        assert_eq!(told_of_hook(&scratch).0, "ok       Git hook post-commit", "{line}");
        assert!(fs::read_to_string(&hook).unwrap().ends_with(&format!("# mine\necho one\n{line}\n")));
    }
    // Lines that end no script are none of that, and of others it is not known.
    write(&hook, &text.replacen('\n', "\n# exit 0\necho \"${0##*/}\" >>ran\n", 1));
    assert_eq!(told_of_hook(&scratch).0, "ok       Git hook post-commit");
    for line in ["test -t 1 || exit 0", ". ./others", "if test -t 1; then exit 0; fi", "set -e"] {
        write(&hook, &text.replacen('\n', &format!("\n{line}\n"), 1));
        let expected = format!(
            "note     Git hook post-commit: whether it gets to our part was not checked, since its line '{line}' can end it \
             before that"
        );
        assert_eq!(told_of_hook(&scratch).0, expected);
    }
    // A line that is a comment now runs nothing.
    write(&hook, &text.replace("\ntest", "\n# test"));
    assert_eq!(told_of_hook(&scratch).0, "problem  Git hook post-commit: not installed");
    // One that somebody has edited may run nothing either.
    for edited in [": test", "echo test", "false && test", "exit 0; test"] {
        write(&hook, &text.replace("\ntest", &format!("\n{edited}")));
        let expected = "problem  Git hook post-commit: our part of it was edited";
        assert_eq!(told_of_hook(&scratch), (expected.to_owned(), Some("git shiftlog init".to_owned())), "{edited}");
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        assert_eq!(fs::read_to_string(&hook).unwrap(), text, "{edited}");
    }
    // Where somebody's line stands among ours, 'init' leaves them alone, so they are to be removed by hand.
    let (push, push_text) =
        (hook.with_file_name("pre-push"), fs::read_to_string(hook.with_file_name("pre-push")).unwrap());
    let edited = push_text.replacen("\nif test -n", "\necho theirs\nif test -n", 1);
    write(&push, &edited);
    let told = scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]);
    let fix = format!("fix: remove our lines from '{}', then git shiftlog init", push.display());
    assert!(
        told.stdout.contains("Git hook pre-push: our part of it was edited") && told.stdout.contains(&fix),
        "{told:?}"
    );
    scratch.shiftlog("init", ["--agent=claude", "-q"]);
    assert_eq!(fs::read_to_string(&push).unwrap(), edited);
    write(&push, &push_text);
    // Nor is one ours that names another program.
    write(&hook, &text.replace("--hook", "--hooks"));
    let expected = "problem  Git hook post-commit: not installed";
    assert_eq!(told_of_hook(&scratch), (expected.to_owned(), Some("git shiftlog init".to_owned())));
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    assert_eq!(fs::read_to_string(&hook).unwrap(), text);
}

#[test]
fn a_hook_that_no_shell_runs_is_a_problem() {
    let Some((scratch, hook, text)) = with_hook() else { return };
    let with_first = |first: &str| write(&hook, &text.replacen("#!/bin/sh\n", first, 1));
    for (first, what) in [
        ("#!/nonexistent/bash\n", "its interpreter '/nonexistent/bash' is not there"),
        ("#!/usr/bin/env nosuch-bash\n", "its interpreter 'nosuch-bash' is not there"),
        ("#!/bin/sh\r\n", "its first line ends with a carriage return, so its interpreter is not found"),
    ] {
        with_first(first);
        let expected = format!("problem  Git hook post-commit: {what}");
        let fix = format!("correct the first line of '{}'", hook.display());
        assert_eq!(told_of_hook(&scratch), (expected, Some(fix)), "{first}");
    }
    for first in ["#!/bin/sh -e\n", "#! /usr/bin/env sh\n", "#!/usr/bin/env -S FOO=1 sh -e\n"] {
        with_first(first);
        assert_eq!(told_of_hook(&scratch).0, "ok       Git hook post-commit", "{first}");
    }
    // One of another language: our lines go, and what is to be added to it is named.
    write(&hook, &(text.replacen("#!/bin/sh\n", "#!/usr/bin/env cat\n", 1) + "mine\n"));
    let expected = "problem  Git hook post-commit: it is no shell script, which our lines in it are for";
    assert_eq!(told_of_hook(&scratch), (expected.to_owned(), Some("git shiftlog init".to_owned())));
    let said = scratch.shiftlog("init", ["--agent=claude", "-q"]).stderr;
    assert!(said.contains("post-commit' is no shell script and is left alone; have it run: "), "{said}");
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/usr/bin/env cat\nmine\n");
    let (found, fix) = told_of_hook(&scratch);
    assert_eq!(found, "problem  Git hook post-commit: it is no shell script, so init leaves it alone");
    let line = fix.unwrap().strip_prefix("have it run: ").unwrap().to_owned();
    write(&hook, &format!("#!/usr/bin/env cat\n{line}\n"));
    let expected = "note     Git hook post-commit: it runs 'git-shiftlog--hook' itself, which was not checked";
    assert_eq!(told_of_hook(&scratch).0, expected);
    write(
        &hook,
        &format!("#!/usr/bin/env cat\n{}\n", line.replace("/git-shiftlog--hook", "/nonexistent/git-shiftlog--hook")),
    );
    assert_eq!(told_of_hook(&scratch).0, "problem  Git hook post-commit: names a program that is not there");
    let program = scratch.root().join("elsewhere/git-shiftlog--hook");
    write(&program, "#!/bin/sh\n");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let directory = line.split_once("/git-shiftlog--hook").unwrap().0.rsplit([' ', '\'']).next().unwrap();
    let line = line.replace(directory, program.parent().unwrap().to_str().unwrap());
    write(&hook, &format!("#!/usr/bin/env cat\n{line}\n"));
    assert_eq!(told_of_hook(&scratch).0, "problem  Git hook post-commit: names a program that is not executable");
}

#[test]
fn settings_of_one_agent_that_cannot_be_edited_are_a_problem_that_names_them() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "--agent=cursor", "-q"]).ok();
    let path = scratch.top.join(".claude/settings.local.json");
    let of_claude = || {
        let told = scratch.shiftlog("doctor", ["--no-rehearsal"]);
        assert_eq!(told.code, 1, "{told:?}");
        let lines: Vec<&str> = told.stdout.lines().skip_while(|line| !line.contains("  Claude Code")).take(2).collect();
        lines.join("\n")
    };
    fs::write(&path, "{ \"hooks\": {").unwrap();
    let told = of_claude();
    assert!(
        told.starts_with(&format!(
            "problem  Claude Code: cannot edit '{}': it does not parse at line 1",
            path.display()
        )),
        "{told}"
    );
    let fix = "\n         fix: correct the file or move it away, then git shiftlog init --agent=claude";
    assert!(told.ends_with(fix), "{told}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let told = of_claude();
    assert_eq!(told, format!("problem  Claude Code: cannot read '{}': it is not a regular file{fix}", path.display()));
    fs::remove_dir(&path).unwrap();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("// mine\n{text}")).unwrap();
    let expected = format!(
        "problem  Claude Code: Claude Code reads no settings that have comments or are no JSON\n         fix: edit '{}'",
        path.display()
    );
    assert_eq!(of_claude(), expected);
}

#[test]
fn a_hook_that_an_agent_runs_for_fewer_tools_is_a_problem_and_init_mends_it() {
    let scratch = Scratch::set_up();
    let path = scratch.top.join(".claude/settings.local.json");
    let made = fs::read_to_string(&path).unwrap();
    let mut whole: serde_json::Value = serde_json::from_str(&made).unwrap();
    let matcher =
        whole.pointer("/hooks/PostToolUse/0/matcher").and_then(|matcher| matcher.as_str()).unwrap().to_owned();
    let write = |settings: &serde_json::Value| fs::write(&path, settings.to_string()).unwrap();
    let problems = || scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
    // More tools are no harm.
    for wider in ["*", "", &format!("Edit|{matcher}")] {
        whole["hooks"]["PostToolUse"][0]["matcher"] = wider.into();
        write(&whole);
        assert_eq!(problems(), "", "{wider}");
        scratch.shiftlog("init", ["--quiet"]).ok();
        assert_eq!(fs::read_to_string(&path).unwrap(), whole.to_string());
    }
    whole["hooks"]["PostToolUse"][0]["matcher"] = "Edit".into();
    write(&whole);
    let told = problems();
    let wanted = "problem  Claude Code: its hook for PostToolUse is run for the tools 'Edit' alone\n";
    assert!(told.starts_with(wanted), "{told}");
    follow(&scratch, &told);
    assert_eq!(problems(), "");
    let mended: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(mended, serde_json::from_str::<serde_json::Value>(&made).unwrap());
}

#[test]
fn hooks_of_two_agents_in_one_file_have_a_matcher_each() {
    let scratch = Scratch::empty(&[]);
    write(&scratch.top.join(".claude/settings.local.json"), "{}\n");
    fs::create_dir_all(scratch.top.join(".qwen")).unwrap();
    let linked = scratch.top.join(".qwen/settings.json");
    std::os::unix::fs::symlink("../.claude/settings.local.json", linked).unwrap();
    let init = || scratch.shiftlog("init", ["--agent=claude", "--agent=qwen", "-q"]).ok();
    init();
    let path = scratch.top.join(".claude/settings.local.json");
    let made = fs::read_to_string(&path).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&made).unwrap();
    let of_tools = settings["hooks"]["PostToolUse"].as_array().unwrap();
    assert!(of_tools.len() == 2 && of_tools[0]["matcher"] != of_tools[1]["matcher"], "{made}");
    init();
    assert_eq!(fs::read_to_string(&path).unwrap(), made);
    let told = scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
    assert!(!told.contains("alone"), "{told}");
}
