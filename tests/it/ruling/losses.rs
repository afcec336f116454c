//! What an earlier tool loses of a user's, and this one must not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Home, timeless};

#[test]
fn clean_brings_back_the_first_original_and_nothing_generated() {
    let home = Home::new();
    home.write(".cursor/rules/style.mdc", "mine\n");
    home.write(".claude/CLAUDE.md", "# Mine\n\nuser's words");
    home.write(".codex/skills/review/SKILL.md", "the user's own\n");
    let before = home.tree();
    for number in 0..3 {
        home.rules(&["sync"]).ok();
        home.rules(&["add-rule", &format!("r{number}")]).ok();
    }
    let backups = fs::read_dir(home.path(".ai-agent/backups")).unwrap().count();
    assert_eq!(backups, 1, "what we wrote is not backed up as if it were the user's");
    let listed = home.answered(&["clean"], "\n");
    assert!(listed.stdout.contains("  restore ~/.cursor/rules/style.mdc\n"), "{listed:?}");
    assert_eq!((listed.code, home.tree()), (0, before));
    let again = home.rules(&["clean", "--yes"]);
    assert_eq!(again.ok(), "Nothing to clean -- no generated files or managed skills found.\n");
    assert!(home.is_there(".ai-agent/rules/style.md"), "the store stays");
}

#[test]
fn a_backup_is_never_shared_and_has_absolute_paths() {
    let home = Home::new();
    let outside = home.scratch.root().join("elsewhere/AGENTS.md");
    fs::create_dir_all(outside.parent().unwrap()).unwrap();
    fs::write(&outside, "outside of the home\n").unwrap();
    home.write(".cursor/rules/tests.mdc", "mine\n");
    home.rules(&["sync"]).ok();
    home.rules(&["set", "agents_md.paths", outside.to_str().unwrap()]).ok();
    home.rules(&["sync"]).ok();
    home.rules(&["remove-rule", "style"]).ok();
    let mut ids: Vec<PathBuf> =
        fs::read_dir(home.path(".ai-agent/backups")).unwrap().map(|entry| entry.unwrap().path()).collect();
    ids.sort();
    assert_eq!(ids.len(), 3, "one for each command that replaced something: {ids:?}");
    let meta = |at: usize| -> Value { serde_json::from_slice(&fs::read(ids[at].join("meta.json")).unwrap()).unwrap() };
    assert_eq!((&meta(0)["command"], &meta(2)["command"]), (&json!("sync"), &json!("remove-rule")));
    let id = ids[0].file_name().unwrap().to_str().unwrap();
    let shape: String = id.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert_eq!(shape, "00000000T000000Z");
    assert_eq!(meta(0)["created"], ids[0].file_name().unwrap().to_str().unwrap());
    assert_eq!(meta(1)["files"][0]["path"], json!(outside));
    assert_eq!(fs::read_to_string(ids[0].join("files/.cursor/rules/tests.mdc")).unwrap(), "mine\n");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "outside of the home\n");
}

#[test]
fn a_link_is_not_written_through_unless_that_is_asked_for() {
    let home = Home::new();
    home.write("dotfiles/CLAUDE.md", "in a repository of dotfiles\n");
    fs::create_dir_all(home.path(".claude")).unwrap();
    symlink("../dotfiles/CLAUDE.md", home.path(".claude/CLAUDE.md")).unwrap();
    let before = home.tree();
    let ran = home.rules(&["sync"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "error: '~/.claude/CLAUDE.md' is a symbolic link; --follow writes to where it leads\n")
    );
    assert_eq!(home.read("dotfiles/CLAUDE.md"), "in a repository of dotfiles\n");
    assert!(home.read(".gemini/GEMINI.md").contains("four spaces"), "all else is written");
    home.rules(&["sync", "--follow"]).ok();
    assert!(home.read("dotfiles/CLAUDE.md").ends_with("in a repository of dotfiles\n"));
    assert!(home.read("dotfiles/CLAUDE.md").contains("four spaces"));
    assert!(fs::read_link(home.path(".claude/CLAUDE.md")).is_ok());
    home.rules(&["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
    home.rules(&["sync", "--force"]).ok();
    assert!(fs::read_link(home.path(".claude/CLAUDE.md")).is_err(), "the link itself is replaced");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before, "and comes back");
}

#[test]
fn a_target_that_is_not_chosen_any_more_leaves_nothing_behind() {
    let home = Home::new();
    home.write(".gemini/GEMINI.md", "");
    home.rules(&["sync"]).ok();
    let ran = home.answered(&["reconfigure"], "3\nall\nnone\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(home.is_there(".claude/CLAUDE.md") && !home.is_there("ws/AGENTS.md"));
    assert_eq!(home.read(".gemini/GEMINI.md"), "", "it is as it was");
    assert!(!home.is_there(".codex/skills/review") && !home.is_there(".claude/skills/review"));
    let value: Value = serde_json::from_str(&home.rules(&["status", "--json"]).ok()).unwrap();
    assert_eq!(value["active_targets"]["instructions"], json!(["claude"]));
    let ran = home.answered(&["reconfigure"], "1\n");
    assert_eq!(ran.code, 1, "at the end of input the answer is no: {ran:?}");
}

#[test]
fn an_edit_of_a_generated_file_is_never_overwritten() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    let edited = home.read(".claude/CLAUDE.md").replace("test first", "test first\nand last");
    home.write(".claude/CLAUDE.md", &edited);
    home.rules(&["set", "agents_md.header", "# Other"]).ok();
    for command in [&["sync"][..], &["clean", "--yes"], &["add-rule", "x"], &["sync", "--only=claude"]] {
        let ran = home.rules(command);
        assert_eq!(ran.code, 3, "{command:?}: {ran:?}");
        assert!(ran.stderr.contains("'~/.claude/CLAUDE.md': changed since it was written"), "{ran:?}");
        assert_eq!(home.read(".claude/CLAUDE.md"), edited);
        assert!(!home.read("ws/AGENTS.md").contains("# Other"), "nothing else is written either");
        assert!(!home.is_there(".ai-agent/rules/x.md"));
    }
    let check = home.rules(&["check"]);
    assert_eq!(check.code, 3);
    assert!(check.stdout.starts_with("changed: ~/.claude/CLAUDE.md\n"), "{check:?}");
    home.rules(&["sync", "--adopt"]).ok();
    assert_eq!(home.read(".ai-agent/rules/tests.md"), "# Tests\n\ntest first\nand last\n");
    assert!(home.read(".gemini/GEMINI.md").contains("and last"), "all agents have it now");
    home.write(".gemini/GEMINI.md", "something else\n");
    assert_eq!(home.rules(&["sync", "--adopt"]).code, 3, "this is in no rule");
    home.rules(&["sync", "--force"]).ok();
    assert!(home.read(".gemini/GEMINI.md").contains("and last"));
    let kept = home.scratch.run_in(&home.path(".ai-agent/backups"), "grep", ["-r", "something else"]).ok();
    assert!(kept.contains(".gemini/GEMINI.md"), "{kept}");
}

#[test]
fn words_in_the_first_lines_of_a_generated_file_are_an_edit() {
    let (run, synced) = ("# Run: git shiftlog rules sync\n", "# Last synced: 20");
    for (line, words) in [(run, "# Run: my note\n"), (synced, "# Last synced: MY NOTE keep me, 20")] {
        let home = Home::new();
        home.write("ws/AGENTS.md", "mine\n");
        home.rules(&["sync"]).ok();
        for path in [".claude/CLAUDE.md", ".cursor/rules/style.mdc", "ws/AGENTS.md"] {
            let text = home.read(path);
            home.write(path, &text.replace(line, words));
            for command in [&["add-rule", "new"][..], &["sync", "--adopt"], &["clean", "--yes"]] {
                assert_eq!(home.rules(command).code, 3, "{path}: {words}");
                assert!(home.read(path).contains(words), "{path}");
            }
            home.write(path, &text);
        }
        assert_eq!(home.rules(&["check"]).ok(), "");
    }
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let home = Home::new();
    home.write(".codex/skills/review/x", "x\n");
    let whole = || home.scratch.run_in(&home.scratch.home(), "sh", ["-c", "find . -printf '%p %T@ %s\\n' | sort"]).ok();
    let before = whole();
    let commands: &[&[&str]] = &[
        &["sync"],
        &["add-rule", "x"],
        &["remove-rule", "style"],
        &["set", "agents_md.header", "x"],
        &["archive-skill", "review"],
        &["import", "--yes"],
        &["clean", "--yes"],
        &["reconfigure", "--yes"],
    ];
    for command in commands {
        home.rules(&[*command, &["--dry-run"]].concat()).ok();
        assert_eq!(whole(), before, "{command:?}");
    }
    for command in ["status", "check", "diff"] {
        home.rules(&[command]);
        assert_eq!(whole(), before, "{command}");
    }
    let ran = home.rules(&["sync", "-n"]).ok();
    assert!(ran.contains("  create  ~/.claude/CLAUDE.md\n") && ran.ends_with(" synced. (dry-run)\n"), "{ran}");
    let diff = home.rules(&["diff"]).ok();
    assert!(
        diff.contains("--- /dev/null\n+++ ~/.kiro/steering/conventions.md\n@@ -0,0 +1,9 @@\n+# Generated"),
        "{diff}"
    );
}

#[test]
fn no_name_writes_outside_and_a_batch_is_checked_before_anything_moves() {
    let home = Home::new();
    home.write(".ai-agent/skills/other/SKILL.md", "other\n");
    let before = home.tree();
    for id in ["../../x", "a/b", "", "-x", ".x", "a b"] {
        let ran = home.rules(&["add-rule", "--", id]);
        assert_eq!(ran.code, 1, "{id}: {ran:?}");
        assert!(ran.stderr.starts_with("error: invalid rule name '"), "{ran:?}");
    }
    let ran = home.rules(&["archive-skill", "review", "../rules"]);
    assert!(ran.code == 1 && home.is_there(".ai-agent/skills/review"), "{ran:?}");
    let ran = home.rules(&["archive-skill", "review", "nosuch"]);
    let directory = home.path(".ai-agent/skills");
    assert_eq!(ran.stderr, format!("error: skill 'nosuch' not found in {}\n", directory.display()));
    assert!(home.is_there(".ai-agent/skills/review"));
    assert_eq!(home.tree(), before);
    home.rules(&["archive-skill", "review", "other"]).ok();
    assert_eq!(home.rules(&["archive-skill", "--list"]).ok(), "other\nreview\n");
    assert!(!home.is_there(".codex/skills/review"));
    home.write(".ai-agent/skills/review/SKILL.md", "new\n");
    assert_eq!(home.rules(&["archive-skill", "review"]).stderr, "error: skill 'review' already exists in archive\n");
    assert_eq!(home.rules(&["restore-skill", "review", "other"]).code, 1);
    home.rules(&["restore-skill", "other"]).ok();
    assert_eq!(home.read(".codex/skills/other/SKILL.md"), "other\n");
    let errors = [
        (&["add-rule", "style"][..], "rule 'style' already exists"),
        (&["remove-rule", "nosuch"], "rule 'nosuch' not found in manifest"),
        (
            &["set", "x", "y"],
            "unsupported key 'x'. Supported: agents_md.header, agents_md.paths, agents_md.preamble, claude_md.paths",
        ),
    ];
    for (command, error) in errors {
        let ran = home.rules(command);
        assert_eq!((ran.code, ran.stderr), (1, format!("error: {error}\n")), "{command:?}");
    }
    assert_eq!(home.rules(&["frobnicate"]).code, 129);
}

#[test]
fn a_missing_rule_file_stops_a_sync_before_it_begins() {
    let home = Home::new();
    fs::remove_file(home.path(".ai-agent/rules/tests.md")).unwrap();
    let before = home.tree();
    let ran = home.rules(&["sync"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: cannot read rule 'tests': "), "{ran:?}");
    assert_eq!(home.tree(), before);
}

#[test]
fn the_time_alone_never_rewrites_a_file_and_the_earlier_tool_may_have_written_it() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    let theirs = |text: &str| {
        let text = text.replace("# Run: git shiftlog rules sync", "# Run: python3 sync_agent_rules.py sync");
        timeless(&text).replace("# Last synced: T", "# Last synced: 2020-01-01T00:00:00Z")
    };
    for path in [".claude/CLAUDE.md", ".cursor/rules/style.mdc", "ws/AGENTS.md"] {
        let text = theirs(&home.read(path));
        home.write(path, &text);
    }
    let before = home.tree();
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["sync"]).ok();
    assert_eq!(home.tree(), before);
    // The earlier tool has synced a rule that was changed since; that is no edit of the user's.
    let text = home.read(".claude/CLAUDE.md").replace("test first", "from the earlier tool");
    home.write(".claude/CLAUDE.md", &text);
    home.rules(&["sync"]).ok();
    assert!(home.read(".claude/CLAUDE.md").contains("test first"));
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there(".claude/CLAUDE.md") && !home.is_there("ws"));
}

#[test]
fn what_the_earlier_tool_left_is_taken_over_with_its_first_original() {
    let home = Home::new();
    let generated = "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: x\n# Last synced: x\n\n\nold\n";
    home.write(".claude/CLAUDE.md", generated);
    home.write(".cursor/rules/gone.mdc", &format!("---\n---\n\n{generated}"));
    home.write(".cursor/rules/mine.mdc", "---\n---\nmine\n");
    fs::create_dir_all(home.path(".codex/skills")).unwrap();
    symlink(home.path(".ai-agent/skills/gone"), home.path(".codex/skills/gone")).unwrap();
    symlink("/elsewhere", home.path(".codex/skills/theirs")).unwrap();
    home.write(".ai-agent/backups/20250101T000000Z/files/.claude/CLAUDE.md", "the user's first\n");
    home.write(".ai-agent/backups/20250102T000000Z/files/.claude/CLAUDE.md", generated);
    home.rules(&["sync"]).ok();
    assert!(home.read(".claude/CLAUDE.md").contains("four spaces"));
    assert!(!home.is_there(".cursor/rules/gone.mdc") && !home.is_there(".codex/skills/gone"));
    assert!(home.is_there(".cursor/rules/mine.mdc") && home.is_there(".codex/skills/theirs"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "the user's first\n");
}

#[test]
fn front_matter_is_yaml_whatever_a_description_says() {
    let home = Home::new();
    home.rules(&["add-rule", "q", "--description", "say \"hi\"\nalwaysApply: false"]).ok();
    let text = home.read(".cursor/rules/q.mdc");
    let expected = "---\ndescription: \"say \\\"hi\\\"\\nalwaysApply: false\"\nalwaysApply: true\n---\n";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(home.read(".ai-agent/rules/q.md"), "# Q\n\nTODO: Add rule content.\n");
}

#[test]
fn a_pattern_that_fits_nothing_is_told_and_a_folder_gets_its_file() {
    let home = Home::new();
    fs::create_dir_all(home.path("ws/one")).unwrap();
    home.rules(&["set", "agents_md.paths", "~/ws/*, ~/none/*"]).ok();
    fs::create_dir_all(home.path("p")).unwrap();
    home.rules(&["set", "claude_md.paths", "~/p"]).ok();
    let told = home.rules(&["sync"]).ok();
    assert!(told.starts_with("    Warning: glob '~/none/*' matched no files\n"), "{told}");
    assert!(home.is_there("ws/one/AGENTS.md") && home.is_there("p/CLAUDE.md"));
    home.rules(&["set", "agents_md.paths", "~/.ai-agent/x.md"]).ok();
    assert_eq!(home.rules(&["sync"]).code, 1, "the store is not a place for it");
}

#[test]
fn text_before_the_first_heading_and_headings_in_fences_are_taken_in_whole() {
    let home = Home::empty();
    home.write(
        ".codex/model-instructions.md",
        "said first\n\n# Review\n\n```sh\n# no heading\nls\n```\n\nread twice\n",
    );
    home.rules(&["init", "--yes"]).ok();
    let read = |id: &str| home.read(&format!(".ai-agent/rules/{id}.md"));
    assert!(read("codex-preamble").contains("said first"));
    let review = read("review");
    assert!(review.contains("```sh\n# no heading\nls\n```") && review.contains("read twice"), "{review}");
    assert_eq!(fs::read_dir(home.path(".ai-agent/rules")).unwrap().count(), 2);
}

#[test]
fn init_says_which_folders_of_skills_it_moves_asks_and_keeps_them() {
    let home = Home::empty();
    home.write(".codex/skills/review/SKILL.md", "one review\n");
    home.write(".claude/skills/review/SKILL.md", "another review\n");
    let before = home.tree();
    let refused = home.answered(&["init"], "\n\n\nn\n");
    assert!(refused.stdout.contains("  ~/.codex/skills/review\n"), "{refused:?}");
    assert_eq!((refused.code, home.tree()), (1, before.clone()));
    let told = home.rules(&["init", "--yes"]).ok();
    assert!(told.contains("  ~/.codex/skills/review\n") && told.contains("  ~/.claude/skills/review\n"), "{told}");
    let script = "grep -rhF review .ai-agent --include=SKILL.md | sort -u";
    let kept = home.scratch.run_in(&home.scratch.home(), "sh", ["-c", script]).ok();
    assert_eq!(kept, "another review\none review\n", "the words of both are in the store");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

/// Somebody puts a file with a block of ours, and text of theirs, in the place of one that is ours as a whole.
#[test]
fn text_beside_a_block_in_the_place_of_a_whole_file_of_ours_is_the_users() {
    for (command, mode) in [("sync", None), ("sync", Some("whole")), ("clean", None), ("clean --force", None)] {
        let home = Home::new();
        let claude = match mode {
            Some(mode) => json!({ "name": "claude", "mode": mode }),
            None => json!("claude"),
        };
        let targets = json!({ "instructions": [claude, "gemini"], "rules": [], "skills": [] });
        let rules = json!([{ "id": "first", "file": "first.md" }]);
        let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": targets });
        home.write(".ai-agent/rules/first.md", "# First\n");
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.write(".gemini/GEMINI.md", "words of gemini\n");
        home.rules(&["sync"]).ok();
        home.write(".claude/CLAUDE.md", &(home.read(".gemini/GEMINI.md") + "and words of claude\n"));
        let words: Vec<&str> = command.split(' ').chain(["--yes"]).collect();
        home.rules(&words).ok();
        let case = format!("{command} {mode:?}");
        if command == "sync" {
            let text = home.read(".claude/CLAUDE.md");
            assert_eq!(mode.is_none(), text.ends_with("words of gemini\nand words of claude\n"), "{case}: {text}");
            assert_eq!(home.rules(&["check"]).ok(), "", "{case}");
            home.rules(&["clean", "--yes"]).ok();
        }
        assert_eq!(home.read(".claude/CLAUDE.md"), "words of gemini\nand words of claude\n", "{case}");
    }
}
