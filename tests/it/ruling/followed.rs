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
            let before = home.tree();
            symlink("dot/claude", home.path(".claude")).unwrap();
            home.rules(&["sync", "--follow"]).ok();
            fs::rename(home.path("dot"), home.path("dots")).unwrap();
            relink(&home, "dots/claude");
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

/// A home where `.claude` leads to `dot/claude`, which has a text of the user's, and is followed.
fn with_link() -> Home {
    let home = of_claude("whole", "copy");
    home.write("dot/claude/CLAUDE.md", "mine\n");
    symlink("dot/claude", home.path(".claude")).unwrap();
    home.rules(&["sync", "--follow"]).ok();
    home
}

fn relink(home: &Home, to: &str) {
    fs::remove_file(home.path(".claude")).unwrap();
    symlink(to, home.path(".claude")).unwrap();
}

/// It was taken for the folder that was moved, and `clean` removed what the other home had written.
#[test]
fn a_link_to_what_another_home_has_written_makes_it_not_ours() {
    for commands in [&["sync"][..], &["sync", "--force", "--follow"], &["sync", "--adopt"], &["clean", "--yes"]] {
        let home = with_link();
        let other = home.path("other");
        home.write("other/.ai-agent/manifest.json", &home.read(".ai-agent/manifest.json"));
        home.write("other/.ai-agent/rules/style.md", &home.read(".ai-agent/rules/style.md"));
        home.write("other/.ai-agent/skills/review/SKILL.md", &home.read(".ai-agent/skills/review/SKILL.md"));
        home.rules_of(&other, &["sync"]).ok();
        let files = ["other/.claude/CLAUDE.md", "other/.claude/skills/review/SKILL.md", ".ai-agent/rules/style.md"];
        let before = files.map(|file| home.read(file));
        fs::rename(home.path("dot"), home.path("away")).unwrap();
        relink(&home, "other/.claude");
        home.rules(commands);
        home.rules(&["clean", "--yes"]);
        assert_eq!(files.map(|file| home.read(file)), before, "{commands:?}");
        home.rules_of(&other, &["clean", "--yes"]).ok();
        assert!(!home.is_there("other/.claude/CLAUDE.md"));
    }
}

/// An editor, or `sed -i`, writes a new file and renames it over the link.
#[test]
fn an_edit_that_replaces_a_followed_link_is_an_edit() {
    let home = of_claude("whole", "copy");
    home.write("dot/CLAUDE.md", "mine\n");
    fs::create_dir(home.path(".claude")).unwrap();
    symlink("../dot/CLAUDE.md", home.path(".claude/CLAUDE.md")).unwrap();
    home.rules(&["sync", "--follow"]).ok();
    let text = home.read("dot/CLAUDE.md").replace("four spaces", "five spaces");
    fs::remove_file(home.path(".claude/CLAUDE.md")).unwrap();
    home.write(".claude/CLAUDE.md", &text);
    assert_eq!(home.rules(&["sync"]).code, 3);
    assert_eq!(home.read(".claude/CLAUDE.md"), text);
    home.rules(&["sync", "--adopt"]).ok();
    assert!(home.read(".ai-agent/rules/style.md").contains("five spaces"));
    // An edit of the file that is no link any more is looked for there.
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace("five spaces", "six spaces"));
    home.rules(&["sync", "--adopt"]).ok();
    assert!(home.read(".ai-agent/rules/style.md").contains("six spaces"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(["dot/CLAUDE.md", ".claude/CLAUDE.md"].map(|file| home.read(file)), ["mine\n", "mine\n"]);
}

#[test]
fn a_text_of_a_followed_folder_that_is_away_comes_back_when_the_folder_does() {
    for comes_back_elsewhere in [false, true] {
        let home = with_link();
        fs::rename(home.path("dot"), home.path("away")).unwrap();
        for _ in 0..2 {
            let ran = home.rules(&["clean", "--yes"]);
            assert!(ran.code == 1 && ran.stderr.contains("was in a directory that is away"), "{ran:?}");
            assert!(!home.is_there("dot"));
        }
        if comes_back_elsewhere {
            relink(&home, "away/claude");
        } else {
            fs::rename(home.path("away"), home.path("dot")).unwrap();
        }
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.read(".claude/CLAUDE.md"), "mine\n");
        assert!(!home.is_there(".claude/skills"));
    }
}

#[test]
fn two_links_to_a_folder_that_gets_another_name_are_both_known() {
    let home = of_claude("whole", "copy");
    let manifest = home.read(".ai-agent/manifest.json");
    let with_path = manifest.replacen('{', r#"{"claude_md": {"paths": ["~/p/CLAUDE.md"]}, "#, 1);
    home.write(".ai-agent/manifest.json", &with_path);
    home.write("dot/claude/CLAUDE.md", "mine\n");
    for link in [".claude", "p"] {
        symlink("dot/claude", home.path(link)).unwrap();
    }
    home.rules(&["sync", "--follow"]);
    fs::rename(home.path("dot/claude"), home.path("dot/other")).unwrap();
    relink(&home, "dot/other");
    fs::remove_file(home.path("p")).unwrap();
    symlink("dot/other", home.path("p")).unwrap();
    home.rules(&["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read("dot/other/CLAUDE.md"), "mine\n");
}

/// The next command wrote the originals to where the folder had been.
#[test]
fn a_clean_that_was_killed_goes_on_where_a_followed_folder_is_now() {
    for fault in ["rules-backed-up", "rules-begun-0", "rules-taken-0"] {
        let home = of_claude("whole", "symlink");
        home.write("dot/claude/CLAUDE.md", "mine\n");
        symlink("dot/claude", home.path(".claude")).unwrap();
        home.rules(&["sync", "--follow"]).ok();
        home.killed(fault, &["clean", "--yes"]);
        fs::rename(home.path("dot"), home.path("dots")).unwrap();
        relink(&home, "dots/claude");
        home.rules(&["clean", "--yes"]);
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.read("dots/claude/CLAUDE.md"), "mine\n", "{fault}");
        assert!(!home.path("dots/claude/skills/review").is_symlink(), "{fault}");
        assert!(!home.is_there("dot"), "{fault}");
    }
}

/// The text of the first folder was forgotten, and that of the second one put in its place.
#[test]
fn a_folder_that_comes_back_after_another_was_followed_gets_its_own_text() {
    let home = with_link();
    home.write("dot2/claude/CLAUDE.md", "of the second\n");
    fs::rename(home.path("dot"), home.path("away")).unwrap();
    relink(&home, "dot2/claude");
    home.rules(&["sync", "--follow"]);
    assert!(!home.is_there("dot"));
    fs::rename(home.path("away"), home.path("dot")).unwrap();
    relink(&home, "dot/claude");
    home.rules(&["sync", "--follow"]).ok();
    home.rules(&["clean", "--yes", "--follow"]).ok();
    let texts = ["dot/claude/CLAUDE.md", "dot2/claude/CLAUDE.md"].map(|file| home.read(file));
    assert_eq!(texts, ["mine\n", "of the second\n"]);
}

/// An editor replaces a link in a folder that is followed itself.
#[test]
fn an_edit_that_replaces_a_link_in_a_followed_folder_is_an_edit() {
    let home = of_claude("block", "copy");
    home.write("n.md", "mine\n");
    fs::create_dir_all(home.path("dot/claude")).unwrap();
    symlink("dot/claude", home.path(".claude")).unwrap();
    symlink("../../n.md", home.path("dot/claude/CLAUDE.md")).unwrap();
    home.rules(&["sync", "--follow"]).ok();
    let text = home.read("n.md").replace("four spaces", "five spaces");
    fs::remove_file(home.path("dot/claude/CLAUDE.md")).unwrap();
    home.write("dot/claude/CLAUDE.md", &text);
    assert_eq!(home.rules(&["sync", "--follow"]).code, 3);
    home.rules(&["sync", "--adopt", "--follow"]).ok();
    assert!(home.read(".ai-agent/rules/style.md").contains("five spaces"));
    home.rules(&["clean", "--yes", "--follow"]).ok();
    assert_eq!(["n.md", "dot/claude/CLAUDE.md"].map(|file| home.read(file)), ["mine\n", "mine\n"]);
}
