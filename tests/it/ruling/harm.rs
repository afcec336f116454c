//! Commands that are killed, that run at once, and that read what is hostile.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use bstr::ByteSlice as _;
use serde_json::{Value, json};

use super::Home;
use crate::corpus::measured;
use crate::support::{Ran, bin_dir};

#[test]
fn a_killed_command_leaves_each_file_old_or_new_and_the_next_finishes() {
    let mut points: Vec<String> =
        ["rules-backed-up", "half-written", "rules-stepped", "rules-registered"].map(str::to_owned).into();
    points.extend((0..20).map(|number| format!("rules-step-{number}")));
    let fresh = || {
        let home = Home::new();
        home.write(".cursor/rules/style.mdc", "mine\n");
        home.write(".claude/CLAUDE.md", "user's\n");
        home.write(".codex/skills/review/SKILL.md", "the user's own\n");
        home
    };
    let mut killed = 0;
    for point in points {
        let home = fresh();
        let before = home.tree();
        let killed_at = |words: &[&str]| {
            let mut command = home.scratch.command("git", &home.scratch.top);
            command.env("SHIFTLOG_FAULT", &point).args(["shiftlog", "rules"]).args(words).stderr(Stdio::null());
            Ran::of(command.output().unwrap()).code != 0
        };
        if !killed_at(&["add-rule", "new"]) {
            continue;
        }
        killed += 1;
        let style = home.read(".cursor/rules/style.mdc");
        assert!(style == "mine\n" || style.ends_with("four spaces\n"), "{point}: {style}");
        let claude = home.read(".claude/CLAUDE.md");
        assert!(claude.ends_with("user's\n"), "{point}: {claude}");
        home.rules(&["sync"]).ok();
        assert_eq!(home.rules(&["check"]).ok(), "", "{point}");
        let has_rule = home.is_there(".ai-agent/rules/new.md");
        assert_eq!(has_rule, home.read(".ai-agent/manifest.json").contains("\"new\""), "{point}");
        assert!(has_rule || point == "rules-backed-up", "{point}: what was begun is finished");
        killed_at(&["clean", "--yes"]);
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before, "{point}");
    }
    assert!(killed > 15, "{killed} points were met");
}

#[test]
fn two_commands_at_once_wait_for_each_other() {
    let home = Home::new();
    let children: Vec<_> = (0..6)
        .map(|number| {
            let mut command = home.scratch.command("git", &home.scratch.top);
            command.args(["shiftlog", "rules", "add-rule", &format!("r{number}")]).stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let value: Value = serde_json::from_str(&home.rules(&["status", "--json"]).ok()).unwrap();
    assert_eq!(value["rules"].as_array().unwrap().len(), 8, "{value}");
    assert_eq!(home.rules(&["check"]).ok(), "");
}

#[test]
fn of_two_commands_that_make_a_store_one_does() {
    for _ in 0..4 {
        let home = Home::empty();
        home.write(".claude/CLAUDE.md", "# Style\n\nfour spaces\n");
        let children: Vec<_> = (0..2)
            .map(|_| {
                let mut command = home.scratch.command("git", &home.scratch.top);
                command.args(["shiftlog", "rules", "init", "--yes"]).stdout(Stdio::null()).stderr(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        let codes: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect();
        assert_eq!(codes.iter().sum::<i32>(), 1, "one makes it, the other finds it: {codes:?}");
        let value: Value = serde_json::from_str(&home.rules(&["status", "--json"]).ok()).unwrap();
        assert_eq!(value["rules"].as_array().unwrap().len(), 1, "{value}");
    }
}

#[test]
fn one_place_that_cannot_be_written_keeps_no_command_from_the_others() {
    let home = Home::new();
    home.write(".kiro/steering", "a file, where a directory should be\n");
    let before = home.tree();
    let ran = home.rules(&["sync"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("'~/.kiro/steering' is in the place of a directory"), "{ran:?}");
    assert!(home.read(".claude/CLAUDE.md").contains("four spaces"), "the others are written");
    home.rules(&["sync", "--only=claude"]).ok();
    home.rules(&["set", "agents_md.header", "# Other"]).ok();
    home.answered(&["reconfigure"], "all\n1\nall\n").ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn a_hostile_manifest_does_no_harm() {
    let home = Home::new();
    let rules: Vec<String> = (0..580_000).map(|number| format!(r#"{{"id":"a{number}","file":"b.md"}}"#)).collect();
    for text in [
        "[".repeat(1_000_000),
        "{".repeat(20_000_000),
        r#"{"rules":[{"id":"../x"}]}"#.to_owned(),
        "null".to_owned(),
        "\0".repeat(100 << 20),
        format!(r#"{{"rules":[{}]}}"#, rules.join(",")),
        format!(r#"{{"x":[{}[]],"rules":[]}}"#, "[],".repeat(5_000_000)),
    ] {
        home.write(".ai-agent/manifest.json", &text);
        for command in ["status", "sync", "check"] {
            let mut program = home.scratch.command(bin_dir().join("git-shiftlog"), &home.scratch.top);
            program.args(["rules", command]);
            let (output, used) = measured(program, String::new());
            assert_eq!(output.status.code(), Some(1), "{command}: {}", output.stderr.as_bstr());
            assert!(used.peak_kib < 128 << 10, "{command} of {} bytes: {} KiB", text.len(), used.peak_kib);
        }
        assert_eq!(fs::metadata(home.path(".ai-agent/manifest.json")).unwrap().len(), text.len() as u64);
    }
    // What would be too large to be read again is not written.
    home.write(".ai-agent/manifest.json", super::MANIFEST);
    let long = "d".repeat(100_000);
    for number in 0..30 {
        let ran = home.rules(&["add-rule", &format!("r{number}"), "--description", &long]);
        if ran.code != 0 {
            assert!(
                (15..25).contains(&number) && ran.stderr.contains("the manifest is too large"),
                "{number}: {ran:?}"
            );
            assert!(!home.is_there(&format!(".ai-agent/rules/r{number}.md")));
            break;
        }
        assert!(number < 25, "some manifest is too large");
    }
    home.rules(&["status"]).ok();
}

#[test]
fn what_was_begun_is_finished_however_much_it_is() {
    let home = Home::new();
    for number in 0..3 {
        home.write(&format!(".ai-agent/skills/review/{number}.txt"), &"a line of a long file\n".repeat(400_000));
    }
    let before = home.tree();
    let mut command = home.scratch.command("git", &home.scratch.top);
    command.env("SHIFTLOG_FAULT", "rules-step-3").args(["shiftlog", "rules", "sync"]).stderr(Stdio::null());
    assert_ne!(Ran::of(command.output().unwrap()).code, 0);
    home.rules(&["sync"]).ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

/// A manifest of a repository with one rule, whose instructions Claude gets.
fn manifest_of_repository(rule: &str) -> String {
    json!({ "version": "1.0", "rules": [{ "id": rule }],
        "active_targets": { "instructions": [{ "name": "claude", "mode": "whole" }], "rules": [], "skills": [] } })
    .to_string()
}

#[test]
fn what_rules_have_replaced_in_a_repository_outlasts_the_refs() {
    let home = Home::new();
    let scratch = &home.scratch;
    scratch.shiftlog("init", ["--yes", "--agent=claude"]).ok();
    scratch.write("CLAUDE.md", "precious\n");
    scratch.write(".ai-agent/rules/build.md", "make it\n");
    scratch.write(".ai-agent/manifest.json", &manifest_of_repository("build"));
    home.rules(&["sync", "--scope=repo"]).ok();
    let ran = scratch.shiftlog("deinit", ["--purge-refs", "--yes"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("shiftlog/rules' stays, with files that rules have replaced"),
        "{ran:?}"
    );
    home.rules(&["clean", "--scope=repo", "--yes"]).ok();
    assert_eq!(fs::read_to_string(scratch.top.join("CLAUDE.md")).unwrap(), "precious\n");
}

#[test]
fn no_command_changes_what_links_of_a_repository_lead_to_elsewhere() {
    let home = Home::new();
    let scratch = &home.scratch;
    let out = scratch.root().join("out");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("build.md"), "somebody's\n").unwrap();
    scratch.write(".ai-agent/manifest.json", &manifest_of_repository("build"));
    scratch.write(".ai-agent/skills/evil/SKILL.md", "---\nname: evil\n---\nevil\n");
    symlink(&out, scratch.top.join(".ai-agent/rules")).unwrap();
    symlink(&out, scratch.top.join(".ai-agent/skills-archived")).unwrap();
    for command in [&["remove-rule", "build"][..], &["archive-skill", "evil"], &["sync"], &["clean", "--yes"]] {
        home.rules(&[command, &["--scope=repo"]].concat());
        let names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["build.md"], "{command:?}");
    }
    let ran = home.rules(&["remove-rule", "build", "--scope=repo"]);
    assert!(ran.code == 1 && ran.stderr.contains("by a symbolic link"), "{ran:?}");
    assert_eq!(fs::read_to_string(out.join("build.md")).unwrap(), "somebody's\n");
}
