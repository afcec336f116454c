//! A command that was interrupted in a home that is then moved or copied.

use std::fs;
use std::path::PathBuf;

use super::Home;

/// A home with files, a link and folders of a user's where agents get files.
fn fresh() -> (Home, String) {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine\n");
    home.write(".cursor/rules/style.mdc", "my own style\n");
    home.write(".codex/skills/review/SKILL.md", "my own review\n");
    home.write(".claude/skills/review/SKILL.md", "another review\n");
    home.write(".gemini/GEMINI.md", "mine, too\n");
    // Links that are made before the command is killed.
    home.write(".ai-agent/skills/linked/SKILL.md", "a skill\n");
    let before = home.written(&home.path(""));
    (home, before)
}

/// Moves a home elsewhere: as one directory, or as a copy of which the original is gone.
fn go(home: &Home, is_copied: bool) -> PathBuf {
    let moved = home.scratch.root().join("moved");
    if is_copied {
        home.copy(&home.path(""), "moved");
        fs::remove_dir_all(home.path("")).unwrap();
    } else {
        fs::rename(home.path(""), &moved).unwrap();
    }
    moved
}

#[test]
fn what_was_interrupted_before_a_move_is_finished_or_named_and_clean_restores() {
    let mut killed = 0;
    for is_copied in [false, true] {
        for command in [&["sync"][..], &["clean", "--yes"]] {
            for next in ["sync", "clean"] {
                for number in (0..40).step_by(if next == "sync" { 3 } else { 1 }) {
                    let (home, before) = fresh();
                    if command[0] == "clean" {
                        home.rules(&["sync"]).ok();
                    }
                    if !home.killed(&format!("rules-step-{number}"), command) {
                        break;
                    }
                    killed += 1;
                    let point = format!("copied: {is_copied}, {command:?}, {number}, then {next}");
                    let moved = go(&home, is_copied);
                    let words = if next == "sync" { &["sync"][..] } else { &["clean", "--yes"] };
                    let ran = home.rules_of(&moved, words);
                    if is_copied {
                        assert_eq!(ran.code, 1, "{point}: {ran:?}");
                        let told = "rules sync' writes all of it again, 'git shiftlog rules clean' takes back";
                        assert!(ran.stderr.contains("is not finished here") && ran.stderr.contains(told), "{ran:?}");
                        home.rules_of(&moved, words).ok();
                    } else {
                        assert_eq!(ran.code, 0, "{point}: {ran:?}");
                    }
                    if next == "sync" {
                        assert_eq!(home.rules_of(&moved, &["check"]).ok(), "", "{point}");
                    }
                    let ran = home.rules_of(&moved, &["clean", "--yes"]);
                    assert_eq!(ran.code, 0, "{point}: {ran:?}");
                    assert_eq!(home.written(&moved), before, "{point}");
                }
            }
        }
    }
    assert!(killed > 60, "{killed} kills");
}

#[test]
fn a_repository_that_was_moved_finishes_what_was_interrupted() {
    let home = Home::new();
    let scratch = &home.scratch;
    scratch.write(".ai-agent/rules/a.md", "# A\n\nfirst\n");
    scratch.write("CLAUDE.md", "mine\n");
    let manifest =
        r#"{"version":"1.0","rules":[{"id":"a"}],"active_targets":{"instructions":["codex","claude","gemini"]}}"#;
    scratch.write(".ai-agent/manifest.json", manifest);
    assert!(home.killed("rules-step-1", &["sync", "--scope=repo"]));
    let moved = scratch.root().join("moved");
    fs::rename(&scratch.top, &moved).unwrap();
    scratch.shiftlog_in(&moved, "rules", ["sync", "--scope=repo"]).ok();
    assert_eq!(scratch.shiftlog_in(&moved, "rules", ["check", "--scope=repo"]).ok(), "");
    scratch.shiftlog_in(&moved, "rules", ["clean", "--yes", "--scope=repo"]).ok();
    assert_eq!(fs::read_to_string(moved.join("CLAUDE.md")).unwrap(), "mine\n");
    assert!(!moved.join("GEMINI.md").exists() && !scratch.top.exists());
}
