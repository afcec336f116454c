//! Blocks of ours in files of a user's, and marker lines that are none of ours.

use std::fs;
use std::path::Path;

use super::Home;

const BEGIN: &str = "<!-- git-shiftlog rules: begin -->\n";
const END: &str = "<!-- git-shiftlog rules: end -->\n";

#[test]
fn lines_of_a_users_between_the_markers_stay() {
    let own = format!("above\n{BEGIN}words of mine\n{END}below\n");
    for (text, mode) in [(own.clone(), None), (format!("{BEGIN}words of mine\n"), None), (own, Some("whole"))] {
        let home = Home::new();
        home.write(".claude/CLAUDE.md", &text);
        home.write("ws/AGENTS.md", &text);
        if let Some(mode) = mode {
            let target = format!("{{ \"name\": \"claude\", \"mode\": \"{mode}\" }}");
            home.write(".ai-agent/manifest.json", &super::MANIFEST.replacen("\"claude\"", &target, 1));
        }
        let before = home.tree();
        home.rules(&["sync"]).ok();
        assert_eq!(home.rules(&["check"]).ok(), "");
        home.rules(&["add-rule", "new"]).ok();
        assert!(home.read("ws/AGENTS.md").ends_with(&text), "{}", home.read("ws/AGENTS.md"));
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before, "{text}");
    }
    let home = Home::new();
    home.write(".claude/CLAUDE.md", &format!("{BEGIN}words of mine\n{END}"));
    home.write(".ai-agent/manifest.json", "{\"version\":\"1.0\",\"rules\":[]}");
    let before = home.tree();
    assert!(home.rules(&["clean", "--yes"]).ok().contains("Nothing to clean"));
    assert_eq!(home.tree(), before);
}

/// Deletes the line that ends the block in a file.
fn open(home: &Home, path: &str) {
    home.write(path, &home.read(path).replace(END, ""));
}

#[test]
fn a_block_without_its_last_line_is_drift_and_goes_only_when_it_is_meant() {
    for is_known in [true, false] {
        for behind in ["", "and more of mine\n"] {
            for command in [&["sync", "--force"][..], &["clean", "--yes", "--force"]] {
                let home = Home::new();
                home.write(".claude/CLAUDE.md", "mine\n");
                home.rules(&["sync"]).ok();
                open(&home, ".claude/CLAUDE.md");
                let text = home.read(".claude/CLAUDE.md") + behind;
                home.write(".claude/CLAUDE.md", &text);
                if !is_known {
                    fs::remove_file(home.path(".ai-agent/shiftlog/registry.json")).unwrap();
                }
                let case = format!("{is_known} {behind:?} {command:?}");
                let checked = home.rules(&["check"]);
                assert_eq!(checked.code, 3, "{case}: {checked:?}");
                assert!(checked.stdout.contains("changed: ~/.claude/CLAUDE.md\n"), "{case}: {checked:?}");
                for refused in [&["sync"][..], &["sync", "--adopt"], &["clean", "--yes"]] {
                    let ran = home.rules(refused);
                    assert_eq!(ran.code, 3, "{case}: {ran:?}");
                    assert!((ran.stdout + &ran.stderr).contains("~/.claude/CLAUDE.md"), "{case}: it is told");
                    assert_eq!(home.read(".claude/CLAUDE.md"), text, "{case}");
                }
                home.rules(command).ok();
                if command[0] == "sync" {
                    assert_eq!(home.rules(&["check"]).ok(), "", "{case}");
                    home.rules(&["clean", "--yes"]).ok();
                }
                // Where the block ends is known by its digest alone.
                let expected = if is_known { format!("mine\n{behind}") } else { "mine\n".to_owned() };
                assert_eq!(home.read(".claude/CLAUDE.md"), expected, "{case}");
                let kept = home.scratch.run_in(&home.path(".ai-agent/backups"), "grep", ["-rl", "rules: begin", "."]);
                assert_eq!(kept.stdout.lines().count(), 1, "{case}: the file as it was is in the backup");
            }
        }
    }
}

#[test]
fn a_block_without_its_first_line_is_drift_and_the_users_words_behind_it_stay() {
    for marker in ["one", "both"] {
        for edit in ["", "test last"] {
            for command in [&["sync", "--force"][..], &["clean", "--yes", "--force"]] {
                let home = Home::new();
                home.write(".claude/CLAUDE.md", "mine 1\nmine 2\n");
                home.rules(&["sync"]).ok();
                let mut text = home.read(".claude/CLAUDE.md").replace(BEGIN, "") + "precious new words\n";
                if marker == "both" {
                    text = text.replace(END, "");
                }
                if !edit.is_empty() {
                    text = text.replace("test first", edit);
                }
                home.write(".claude/CLAUDE.md", &text);
                let case = format!("{marker} {edit:?} {command:?}");
                for refused in
                    [&["check"][..], &["sync"], &["sync", "--adopt"], &["add-rule", "new"], &["clean", "--yes"]]
                {
                    let ran = home.rules(refused);
                    assert_eq!(ran.code, 3, "{case} {refused:?}: {ran:?}");
                    assert_eq!(home.read(".claude/CLAUDE.md"), text, "{case} {refused:?}");
                }
                home.rules(command).ok();
                if command[0] == "sync" {
                    assert_eq!(home.rules(&["check"]).ok(), "", "{case}");
                    home.rules(&["clean", "--yes"]).ok();
                }
                // Where the block ends is known by its digest alone.
                let added = if edit.is_empty() { "precious new words\n" } else { "" };
                assert_eq!(home.read(".claude/CLAUDE.md"), format!("mine 1\nmine 2\n{added}"), "{case}");
                let backups = home.path(".ai-agent/backups");
                let kept = home.scratch.run_in(&backups, "grep", ["-rl", "precious new words", "."]);
                assert_eq!(kept.stdout.lines().count(), 1, "{case}: the file as it was is in the backup");
            }
        }
    }
}

#[test]
fn a_committed_block_without_its_first_line_is_drift() {
    let home = Home::new();
    let scratch = &home.scratch;
    scratch.write(".ai-agent/rules/build.md", "# Build\n\nmake it\n");
    let manifest =
        "{\"version\":\"1.0\",\"rules\":[{\"id\":\"build\"}],\"active_targets\":{\"instructions\":[\"codex\"]}}";
    scratch.write(".ai-agent/manifest.json", manifest);
    scratch.write("AGENTS.md", "mine\n");
    home.rules(&["sync", "--scope=repo"]).ok();
    let path = scratch.top.join("AGENTS.md");
    let text = fs::read_to_string(&path).unwrap().replace(BEGIN, "") + "precious new words\n";
    fs::write(&path, &text).unwrap();
    assert_eq!(home.rules(&["sync", "--scope=repo"]).code, 3);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    home.rules(&["sync", "--scope=repo", "--force"]).ok();
    assert!(fs::read_to_string(&path).unwrap().ends_with(&format!("{END}mine\nprecious new words\n")));
}

#[test]
fn an_edited_first_line_of_a_block_is_an_edit() {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine\n");
    home.rules(&["sync"]).ok();
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace("# Generated", "# Made"));
    for command in [&["sync"][..], &["clean", "--yes"]] {
        assert_eq!(home.rules(command).code, 3);
    }
    home.rules(&["sync", "--force"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md").matches(BEGIN).count(), 1);
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "mine\n");
    assert!(!Path::new(&home.path(".claude/rules")).exists());
}

/// In a file it would be taken for the end of a block.
#[test]
fn a_rule_with_a_marker_line_behind_a_byte_order_mark_is_refused() {
    let home = Home::new();
    home.write(".ai-agent/rules/tests.md", &format!("# First\n\u{feff}{END}behind\n"));
    let ran = home.rules(&["sync"]);
    assert!(ran.code == 1 && ran.stderr.contains("has a marker line of a block of ours"), "{ran:?}");
}

/// The user has put text above the file, and with it above the byte order mark, or has lost the block's first line.
#[test]
fn a_block_below_text_of_the_users_is_known_without_its_first_line_and_behind_a_byte_order_mark() {
    for is_marked in [true, false] {
        let home = Home::new();
        let mine = if is_marked { "\u{feff}mine\n" } else { "mine\n" };
        home.write(".claude/CLAUDE.md", mine);
        home.rules(&["sync"]).ok();
        let below = home.read(".claude/CLAUDE.md");
        let below = if is_marked { below } else { below.replace(BEGIN, "") };
        let text = format!("above\n{below}");
        home.write(".claude/CLAUDE.md", &text);
        if is_marked {
            home.rules(&["sync"]).ok();
            assert_eq!(home.read(".claude/CLAUDE.md"), text, "one block");
        } else {
            for refused in [&["check"][..], &["sync"], &["clean", "--yes"]] {
                assert_eq!(home.rules(refused).code, 3, "{refused:?}");
            }
        }
        home.rules(&["clean", "--yes", "--force"]).ok();
        assert_eq!(home.read(".claude/CLAUDE.md"), format!("above\n{mine}"));
    }
}
