//! Commands that are killed, that run at once, and that read what is hostile.

use std::fs;
use std::process::Stdio;

use bstr::ByteSlice as _;
use serde_json::Value;

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
    assert!(ran.stderr.contains(".kiro/steering/conventions.md'"), "{ran:?}");
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
