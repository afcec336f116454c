//! Files behind links that are followed, and what the user or an earlier tool has done there.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::Home;

/// A home of which Claude gets a text and a skill.
fn of_claude(mode: &str, skill_mode: &str) -> Home {
    let home = Home::new();
    let targets = json!({ "instructions": [{ "name": "claude", "mode": mode }], "rules": [],
        "skills": [{ "name": "claude", "sync_mode": skill_mode, "conflict_strategy": "overwrite" }] });
    let rules = json!([{ "id": "style", "file": "style.md" }]);
    let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": targets });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    fs::remove_dir(home.path(".claude")).unwrap();
    home
}

#[test]
fn a_folder_that_the_user_renames_and_links_anew_is_ours_there() {
    for (mode, skill_mode) in [("whole", "symlink"), ("whole", "copy"), ("block", "copy")] {
        for commands in [&["sync"][..], &["sync", "--follow"], &[]] {
            let home = of_claude(mode, skill_mode);
            home.write("dot/claude/CLAUDE.md", "mine\n");
            home.write("dot/claude/skills/review/SKILL.md", "my own\n");
            let relink = |to: &str| {
                let _ = fs::remove_file(home.path(".claude"));
                symlink(to, home.path(".claude")).unwrap();
            };
            let before = home.tree();
            relink("dot/claude");
            home.rules(&["sync", "--follow"]).ok();
            fs::rename(home.path("dot"), home.path("dots")).unwrap();
            relink("dots/claude");
            if !commands.is_empty() {
                home.rules(commands).ok();
                assert_eq!(home.rules(&["check"]).ok(), "", "{mode} {skill_mode} {commands:?}");
            }
            home.rules(&["clean", "--yes"]).ok();
            fs::rename(home.path("dots"), home.path("dot")).unwrap();
            fs::remove_file(home.path(".claude")).unwrap();
            assert_eq!(home.tree(), before, "{mode} {skill_mode} {commands:?}");
        }
    }
}

#[test]
fn an_edit_behind_a_link_is_taken_into_the_store() {
    let home = of_claude("whole", "copy");
    fs::create_dir_all(home.path("dot/skills")).unwrap();
    fs::create_dir(home.path(".claude")).unwrap();
    home.write("dot/CLAUDE.md", "");
    symlink("../dot/CLAUDE.md", home.path(".claude/CLAUDE.md")).unwrap();
    symlink("../dot/skills", home.path(".claude/skills")).unwrap();
    home.rules(&["sync", "--follow"]).ok();
    let text = home.read("dot/CLAUDE.md");
    home.write("dot/CLAUDE.md", &text.replace("four spaces", "five spaces"));
    home.write("dot/skills/review/SKILL.md", "how to review twice\n");
    assert_eq!(home.rules(&["sync"]).code, 3);
    home.rules(&["sync", "--adopt"]).ok();
    assert!(home.read(".ai-agent/rules/style.md").contains("five spaces"));
    assert_eq!(home.read(".ai-agent/skills/review/SKILL.md"), "how to review twice\n");
    assert_eq!(home.rules(&["check"]).ok(), "");
}

#[test]
fn what_an_earlier_tool_has_replaced_behind_a_link_comes_back() {
    let home = of_claude("whole", "symlink");
    for (path, text) in [("CLAUDE.md", "mine\n"), ("skills/review/SKILL.md", "my own\n")] {
        home.write(&format!(".ai-agent/backups/20250101T000000Z/files/.claude/{path}"), text);
    }
    home.write(".ai-agent/backups/20250101T000000Z/meta.json", r#"{"created": "20250101T000000Z", "command": "sync"}"#);
    fs::create_dir_all(home.path("dot/skills")).unwrap();
    fs::create_dir(home.path(".claude")).unwrap();
    let head = "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: python3 sync_agent_rules.py sync\n";
    home.write("dot/CLAUDE.md", &format!("{head}# Last synced: 2025-01-02T03:04:07Z\n\n\nfour spaces\n"));
    symlink("../dot/CLAUDE.md", home.path(".claude/CLAUDE.md")).unwrap();
    symlink("../dot/skills", home.path(".claude/skills")).unwrap();
    symlink(home.path(".ai-agent/skills/review"), home.path("dot/skills/review")).unwrap();
    home.rules(&["sync", "--follow"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read("dot/CLAUDE.md"), "mine\n");
    assert_eq!(home.read("dot/skills/review/SKILL.md"), "my own\n");
    assert!(!home.path("dot/skills/review").is_symlink() && home.path(".claude/skills").is_symlink());
}
