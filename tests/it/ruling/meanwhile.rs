//! Edits of a user's between what a command has seen and what it does, and commands that fail half-way.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use super::Home;

/// Returns a home in which Claude Code gets its instructions in this way, and has them.
fn synced(mode: &str) -> Home {
    let home = Home::empty();
    home.write(".ai-agent/rules/a.md", "# A\n\nfirst\n");
    let targets = json!({ "instructions": [{ "name": "claude", "mode": mode }], "rules": ["cursor"], "skills": [] });
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "a", "file": "a.md" }], "active_targets": targets });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    home.write(".claude/CLAUDE.md", "the original\n");
    home.write(".cursor/rules/a.mdc", "the original\n");
    home
}

/// A clean that was killed had forgotten the original of a file that the user edited then: the next one removed the file.
#[test]
fn an_edit_before_an_interrupted_clean_is_finished_leaves_the_original_known() {
    for (mode, path) in
        [("whole", ".claude/CLAUDE.md"), ("block", ".claude/CLAUDE.md"), ("block", ".cursor/rules/a.mdc")]
    {
        let home = synced(mode);
        let before = home.tree();
        home.rules(&["sync"]).ok();
        assert!(home.killed("rules-step-0", &["clean", "--yes"]));
        let edited = home.read(path).replace("first", "first, and words of mine");
        home.write(path, &edited);
        let ran = home.rules(&["clean", "--yes"]);
        assert_eq!(ran.code, 3, "{mode} {path}: {ran:?}");
        assert_eq!(home.read(path), edited, "{mode} {path}");
        home.rules(&["clean", "--yes", "--force"]).ok();
        assert_eq!(home.tree(), before, "{mode} {path}");
    }
}

#[test]
fn an_edit_before_an_interrupted_clean_is_finished_leaves_the_link_known_that_was_there() {
    let home = synced("whole");
    home.write("dot.md", "dot\n");
    fs::remove_file(home.path(".claude/CLAUDE.md")).unwrap();
    symlink("../dot.md", home.path(".claude/CLAUDE.md")).unwrap();
    home.rules(&["sync", "--force"]).ok();
    assert!(home.killed("rules-step-0", &["clean", "--yes"]));
    home.write(".claude/CLAUDE.md", &(home.read(".claude/CLAUDE.md") + "a word of mine\n"));
    assert_eq!(home.rules(&["clean", "--yes"]).code, 3);
    home.rules(&["clean", "--yes", "--force"]).ok();
    assert_eq!(fs::read_link(home.path(".claude/CLAUDE.md")).unwrap(), std::path::Path::new("../dot.md"));
}

/// The originals of a clean that was finished later are settled all the same.
#[test]
fn an_edit_after_an_interrupted_clean_has_put_the_file_back_is_the_users() {
    let home = synced("whole");
    home.rules(&["sync"]).ok();
    assert!(home.killed("rules-stepped", &["clean", "--yes"]));
    home.write(".claude/CLAUDE.md", "later words\n");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(
        (home.read(".claude/CLAUDE.md"), home.read(".cursor/rules/a.mdc")),
        ("later words\n".into(), "the original\n".into())
    );
    assert_eq!(
        home.rules(&["clean", "--yes"]).ok(),
        "Nothing to clean -- no generated files or managed skills found.\n"
    );
}

/// The steps that removed the copy were taken again through the link that has its place: the store lost the skill.
#[test]
fn a_copy_that_became_a_link_is_not_removed_through_it_when_the_steps_are_taken_again() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    let mut manifest: Value = serde_json::from_str(&home.read(".ai-agent/manifest.json")).unwrap();
    manifest["active_targets"]["skills"] = json!(["claude"]);
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    assert!(home.killed("rules-stepped", &["sync"]));
    home.rules(&["sync"]).ok();
    assert_eq!(home.read(".ai-agent/skills/review/SKILL.md"), "how to review\n");
    assert!(fs::read_link(home.path(".claude/skills/review")).is_ok());
    assert_eq!(home.rules(&["check"]).ok(), "");
}

/// A command said that all is done though the manifest had changed, and a file was left that no command could use.
#[test]
fn a_change_of_the_manifest_before_an_interrupted_command_is_finished_is_told() {
    let home = synced("block");
    assert!(home.killed("rules-step-1", &["add-rule", "new"]));
    let manifest = home.read(".ai-agent/manifest.json").replace("\"version\"", "\"x-mine\":1,\"version\"");
    home.write(".ai-agent/manifest.json", &manifest);
    let ran = home.rules(&["sync"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("'~/.ai-agent/manifest.json' has changed meanwhile"), "{ran:?}");
    assert_eq!(home.read(".ai-agent/manifest.json"), manifest);
    assert_eq!(home.read(".claude/CLAUDE.md"), "the original\n", "what the manifest does not have is not written");
    home.rules(&["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "the original\n");
}

/// An edit around a block was reported as an edit in it from then on.
#[test]
fn text_beside_a_block_that_was_added_before_an_interrupted_sync_is_finished_is_no_drift() {
    let home = synced("block");
    home.rules(&["sync"]).ok();
    home.write(".ai-agent/rules/a.md", "# A\n\nsecond\n");
    for point in ["rules-step-0", "rules-stepped"] {
        assert!(home.killed(point, &["sync"]), "{point}");
        home.write(".claude/CLAUDE.md", &(home.read(".claude/CLAUDE.md") + "more\n"));
        home.rules(&["sync"]).ok();
        assert!(home.read(".claude/CLAUDE.md").contains("second"), "{point}");
        home.write(".ai-agent/rules/a.md", "# A\n\nsecond, and third\n");
    }
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "the original\nmore\nmore\n");
}

/// The registry forgot the files that were written before the step that failed, and nothing but force brought the originals back.
#[test]
fn files_that_were_written_before_the_store_could_not_be_are_known() {
    let home = Home::empty();
    home.write(".ai-agent/rules/r.md", "hi\n");
    home.write(".ai-agent/skills/s1/SKILL.md", "s\n");
    home.write(".claude/skills/s1/SKILL.md", "mine\n");
    home.write("ws/AGENTS.md", "mine\n");
    let skills = json!([{ "name": "claude", "conflict_strategy": "archive" }]);
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "r", "file": "r.md" }], "agents_md": { "paths": ["~/ws/AGENTS.md"] },
        "active_targets": { "instructions": ["cursor"], "rules": [], "skills": skills } });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    let before = home.tree();
    // Anything that makes the archive impossible to write.
    home.write(".ai-agent/skills-archived", "");
    assert_eq!(home.rules(&["sync"]).code, 1);
    assert!(home.read("ws/AGENTS.md").contains("# Generated"));
    fs::remove_file(home.path(".ai-agent/skills-archived")).unwrap();
    home.rules(&["set", "agents_md.paths", "~/other/AGENTS.md"]).ok();
    home.rules(&["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn a_block_that_is_found_again_where_the_settings_name_nothing_any_more_is_no_edit() {
    let home = Home::new();
    home.write("ws/AGENTS.md", "mine\n");
    home.rules(&["sync"]).ok();
    fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
    home.rules(&["set", "agents_md.paths", "~/other/AGENTS.md"]).ok();
    home.rules(&["sync"]).ok();
    assert_eq!(home.read("ws/AGENTS.md"), "mine\n");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read("ws/AGENTS.md"), "mine\n");
}

/// A sync made the file that the user had removed again, and a clean left it with no bytes.
#[test]
fn a_file_that_the_user_has_removed_with_their_text_does_not_stay_empty() {
    let home = synced("block");
    home.rules(&["sync"]).ok();
    fs::remove_file(home.path(".claude/CLAUDE.md")).unwrap();
    home.rules(&["sync"]).ok();
    assert!(home.read(".claude/CLAUDE.md").contains("first"));
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there(".claude/CLAUDE.md"));
}

#[test]
fn a_script_that_has_become_executable_in_the_store_is_so_in_its_copies() {
    let home = Home::new();
    home.write(".ai-agent/skills/review/run.sh", "#!/bin/sh\n");
    home.rules(&["sync"]).ok();
    let set = |path: &str, mode| fs::set_permissions(home.path(path), fs::Permissions::from_mode(mode)).unwrap();
    let copy = ".claude/skills/review/run.sh";
    let mode = || fs::metadata(home.path(copy)).unwrap().permissions().mode() & 0o777;
    set(".ai-agent/skills/review/run.sh", 0o755);
    assert_eq!(home.rules(&["check"]).code, 3);
    home.rules(&["sync"]).ok();
    assert_eq!(mode(), 0o755);
    set(copy, 0o700);
    assert_eq!(home.rules(&["check"]).ok(), "", "who else may read it is the user's to say");
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there(".claude/skills/review"));
}

/// The text was in the earlier tool's backup alone.
#[test]
fn text_beside_a_block_comes_back_after_the_earlier_tool_has_replaced_the_file() {
    for is_synced in [true, false] {
        let home = synced("block");
        home.rules(&["sync"]).ok();
        let with_words = home.read(".claude/CLAUDE.md") + "later words\n";
        home.write(".claude/CLAUDE.md", &with_words);
        home.write(".ai-agent/backups/20300101T000000Z/files/.claude/CLAUDE.md", &with_words);
        let meta = r#"{"created": "20300101T000000Z", "command": "sync"}"#;
        home.write(".ai-agent/backups/20300101T000000Z/meta.json", meta);
        let head =
            "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: ~/.ai-agent/sync_agent_rules.py sync\n";
        home.write(".claude/CLAUDE.md", &format!("{head}# Last synced: 2030-01-01T00:00:00Z\n\n\n# A\n\nfirst\n\n"));
        if is_synced {
            home.rules(&["sync"]).ok();
            assert!(
                home.read(".claude/CLAUDE.md").ends_with("the original\nlater words\n"),
                "{}",
                home.read(".claude/CLAUDE.md")
            );
        }
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.read(".claude/CLAUDE.md"), "the original\nlater words\n", "synced: {is_synced}");
    }
}
