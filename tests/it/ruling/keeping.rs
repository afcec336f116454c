//! No words of a user's are lost in the store either, and what a command writes can be read again.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Stdio;

use serde_json::{Value, json};

use super::Home;
use crate::support::Ran;

impl Home {
    /// Gives the home a store with these rules and targets.
    fn with(rules: Value, targets: Value) -> Self {
        let home = Home::empty();
        let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": targets,
            "agents_md": { "paths": ["~/ws/AGENTS.md"] } });
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.write(".ai-agent/rules/style.md", "words of the store\n");
        home
    }

    pub(super) fn has_words(&self, words: &str) -> bool {
        self.scratch.run_in(&self.scratch.home(), "grep", ["-rqF", words, "."]).code == 0
    }
}

fn claude() -> Value {
    json!({ "instructions": ["claude"], "rules": [], "skills": [] })
}

#[test]
fn a_rule_that_an_imported_one_replaces_stays_in_the_backup() {
    let home = Home::with(json!([{ "id": "style" }]), claude());
    home.write(".gemini/GEMINI.md", "# Style\n\nsomething quite different\n");
    home.answered(&["import"], "2\n").ok();
    assert_eq!(home.read(".ai-agent/rules/style.md"), "# Style\n\nsomething quite different\n");
    assert!(home.has_words("words of the store"), "nothing else has them");
}

/// It got another number with each import.
#[test]
fn a_text_whose_name_a_file_of_no_rule_has_is_imported_once() {
    let home = Home::with(json!([{ "id": "style" }]), claude());
    home.write(".ai-agent/rules/testing.md", "no rule names this file\n");
    home.write(".gemini/GEMINI.md", "# Testing\n\nrun all of them\n");
    for _ in 0..3 {
        home.rules(&["import", "--yes"]).ok();
        let names = fs::read_dir(home.path(".ai-agent/rules")).unwrap().flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.filter(|name| name.to_string_lossy().contains("testing")).collect();
        names.sort();
        assert_eq!(names, ["gemini-testing.md", "testing.md"]);
    }
    assert_eq!(home.read(".ai-agent/rules/testing.md"), "no rule names this file\n");
}

#[test]
fn a_rule_that_is_adopted_again_leaves_its_former_text_in_the_backup() {
    let home = Home::with(json!([{ "id": "style" }]), claude());
    home.rules(&["sync"]).ok();
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace("words of the store", "other words"));
    home.rules(&["sync", "--adopt"]).ok();
    assert_eq!(home.read(".ai-agent/rules/style.md"), "other words\n");
    assert!(home.has_words("words of the store"));
}

#[test]
fn a_file_of_two_rules_goes_with_the_last_of_them() {
    let home = Home::with(json!([{ "id": "a", "file": "style.md" }, { "id": "b", "file": "style.md" }]), claude());
    home.rules(&["remove-rule", "a"]).ok();
    home.rules(&["sync"]).ok();
    assert!(home.read(".claude/CLAUDE.md").contains("words of the store"));
    home.rules(&["remove-rule", "b"]).ok();
    assert!(!home.is_there(".ai-agent/rules/style.md") && home.has_words("words of the store"));
}

#[test]
fn no_setting_ends_a_block_in_a_file_of_the_users() {
    let home = Home::with(json!([{ "id": "style" }]), json!({ "instructions": ["codex"], "rules": [], "skills": [] }));
    home.write("ws/AGENTS.md", "mine\n");
    let before = home.tree();
    let marker = "<!-- git-shiftlog rules: end -->";
    let ran = home.rules(&["set", "agents_md.header", marker]);
    assert_eq!((ran.code, ran.stderr.contains("cannot have a marker line")), (1, true), "{ran:?}");
    // Another program may have set it.
    let manifest = home.read(".ai-agent/manifest.json");
    home.write(
        ".ai-agent/manifest.json",
        &manifest.replace("\"paths\":", &format!("\"preamble\":\"{marker}\",\"paths\":")),
    );
    let ran = home.rules(&["sync"]);
    assert_eq!((ran.code, ran.stderr.contains("its text has a marker line")), (1, true), "{ran:?}");
    assert_eq!(home.tree(), before);
}

#[test]
fn skills_and_files_that_are_in_the_store_already_are_not_mixed_with_what_init_takes_in() {
    let home = Home::empty();
    home.write(".ai-agent/skills/review/SKILL.md", "of the store\n");
    home.write(".ai-agent/skills/review/only.md", "of the store\n");
    home.write(".ai-agent/rules/style.md", "of the store\n");
    home.write(".codex/skills/review/SKILL.md", "of codex\n");
    home.write(".codex/skills/review/more.md", "of codex\n");
    home.write(".claude/CLAUDE.md", "# Style\n\nfour spaces\n");
    let before = home.tree();
    home.rules(&["init", "--yes"]).ok();
    assert_eq!(home.read(".ai-agent/skills/review/SKILL.md"), "of the store\n");
    assert!(!home.is_there(".ai-agent/skills/review/more.md"));
    assert_eq!(home.read(".ai-agent/skills-archived/codex-review/more.md"), "of codex\n");
    assert_eq!(home.read(".ai-agent/rules/style.md"), "of the store\n");
    assert!(home.read(".claude/CLAUDE.md").contains("four spaces"), "the agent is still told");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn a_manifest_or_a_rule_that_is_kept_elsewhere_is_written_there() {
    let home = Home::with(json!([{ "id": "style" }]), claude());
    for (file, there) in [("manifest.json", "dotfiles/manifest.json"), ("rules/style.md", "dotfiles/style.md")] {
        let file = home.path(".ai-agent").join(file);
        home.write(there, &fs::read_to_string(&file).unwrap());
        fs::remove_file(&file).unwrap();
        symlink(home.path(there), &file).unwrap();
    }
    home.rules(&["set", "agents_md.header", "# H"]).ok();
    home.rules(&["sync"]).ok();
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace("words", "more words"));
    home.rules(&["sync", "--adopt"]).ok();
    assert!(home.read("dotfiles/manifest.json").contains("\"# H\""));
    assert_eq!(home.read("dotfiles/style.md"), "more words of the store\n");
    assert!(home.path(".ai-agent/manifest.json").is_symlink() && home.path(".ai-agent/rules/style.md").is_symlink());
}

#[test]
fn rules_that_are_no_list_are_refused() {
    let home = Home::with(json!({ "id": "style" }), claude());
    let ran = home.rules(&["add-rule", "x"]);
    assert_eq!((ran.code, ran.stderr.contains("'rules' is not a list")), (1, true), "{ran:?}");
    assert!(!home.is_there(".ai-agent/rules/x.md"));
    let home = Home::with(Value::Null, claude());
    home.rules(&["add-rule", "x"]).ok();
    assert!(home.rules(&["status"]).ok().contains("  x (from manual)"));
}

#[test]
fn nothing_is_written_that_is_too_large_to_be_read_again() {
    let home = Home::with(json!([{ "id": "style" }]), claude());
    let before = home.tree();
    let long = home.scratch.root().join("long.md");
    fs::write(&long, "x".repeat(17 << 20)).unwrap();
    let ran = home.rules(&["add-rule", "long", "--file", long.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stderr.contains("too large")), (1, true), "{ran:?}");
    fs::write(&long, "x".repeat(9 << 20)).unwrap();
    home.rules(&["add-rule", "one", "--file", long.to_str().unwrap()]).ok();
    // Each can be read, but not the file that has both.
    let ran = home.rules(&["add-rule", "two", "--file", long.to_str().unwrap()]);
    assert_eq!(
        (ran.code, ran.stderr.contains("the rules have more than 16777216 bytes together")),
        (1, true),
        "{ran:?}"
    );
    assert!(!home.is_there(".ai-agent/rules/two.md"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn what_a_user_writes_after_a_command_was_killed_comes_back_and_not_what_was_there_before() {
    let home = Home::with(json!([{ "id": "style" }]), json!({ "instructions": [], "rules": ["cursor"], "skills": [] }));
    home.write(".cursor/rules/style.mdc", "first\n");
    let mut command = home.scratch.command("git", &home.scratch.top);
    command.env("SHIFTLOG_FAULT", "rules-step-0").args(["shiftlog", "rules", "sync"]).stderr(Stdio::null());
    assert_ne!(Ran::of(command.output().unwrap()).code, 0);
    home.write(".cursor/rules/style.mdc", "second\n");
    let before = home.tree();
    home.rules(&["sync"]).ok();
    assert!(home.read(".cursor/rules/style.mdc").contains("words of the store"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn half_a_backup_is_no_original() {
    let home = Home::with(json!([{ "id": "style" }]), claude());
    home.write(".claude/CLAUDE.md", "mine, and more of it\n");
    home.rules(&["sync"]).ok();
    // A command that was killed while it wrote its backup has left a part of the file, and no list.
    home.write(".ai-agent/backups/20200101T000000Z/files/.claude/CLAUDE.md", "mine,");
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace("mine, and more of it\n", ""));
    let text = home.read(".claude/CLAUDE.md");
    let block = text.lines().filter(|line| !line.starts_with("<!--")).collect::<Vec<_>>().join("\n");
    home.write(".claude/CLAUDE.md", &(block + "\n"));
    fs::remove_file(home.path(".ai-agent/shiftlog/registry.json")).unwrap();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "mine, and more of it\n");
}

#[test]
fn a_backup_is_nobody_elses_to_read() {
    let home = Home::with(json!([{ "id": "style" }]), json!({ "instructions": [], "rules": ["cursor"], "skills": [] }));
    home.write(".cursor/rules/style.mdc", "mine\n");
    fs::set_permissions(home.path(".cursor"), fs::Permissions::from_mode(0o700)).unwrap();
    home.rules(&["sync"]).ok();
    let backup = fs::read_dir(home.path(".ai-agent/backups")).unwrap().next().unwrap().unwrap();
    assert_eq!(backup.metadata().unwrap().permissions().mode() & 0o077, 0);
}

#[test]
fn a_copy_of_a_skill_has_what_links_out_of_it_lead_to() {
    let skills = json!([{ "name": "claude", "sync_mode": "copy" }]);
    let home = Home::with(json!([]), json!({ "instructions": [], "rules": [], "skills": skills }));
    home.write("dotfiles/review/SKILL.md", "how to review\n");
    home.write("dotfiles/review/lib/list.md", "a list\n");
    home.write("dotfiles/shared/deep/words.md", "shared words\n");
    fs::create_dir_all(home.path(".ai-agent/skills")).unwrap();
    // The folder is a link, a folder in it is one, a file in it is one, and one stays inside.
    symlink("../../dotfiles/review", home.path(".ai-agent/skills/review")).unwrap();
    symlink("../shared", home.path("dotfiles/review/shared")).unwrap();
    symlink("../shared/deep/words.md", home.path("dotfiles/review/words.md")).unwrap();
    symlink("lib/list.md", home.path("dotfiles/review/list.md")).unwrap();
    let long = "n".repeat(250);
    home.write(&format!("dotfiles/review/{long}"), "a long name\n");
    let before = home.tree();
    home.rules(&["sync"]).ok();
    let copy = |path: &str| home.read(&format!(".claude/skills/review/{path}"));
    assert_eq!((copy("SKILL.md").as_str(), copy("lib/list.md").as_str()), ("how to review\n", "a list\n"));
    assert_eq!(
        (copy("shared/deep/words.md").as_str(), copy("words.md").as_str()),
        ("shared words\n", "shared words\n")
    );
    assert_eq!(fs::read_link(home.path(".claude/skills/review/list.md")).unwrap().to_str(), Some("lib/list.md"));
    assert_eq!(copy(&long), "a long name\n");
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.write("dotfiles/shared/deep/words.md", "other words\n");
    assert_eq!(home.rules(&["check"]).code, 3);
    home.rules(&["sync"]).ok();
    assert_eq!(copy("shared/deep/words.md"), "other words\n");
    home.write("dotfiles/shared/deep/words.md", "shared words\n");
    home.rules(&["clean", "--yes"]).ok();
    let without_times =
        |tree: String| tree.lines().filter(|line| !line.contains("words.md")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_times(home.tree()), without_times(before));
    // A link to a folder that it is in would have no end.
    symlink("..", home.path("dotfiles/review/loop")).unwrap();
    assert_eq!(home.rules(&["sync"]).code, 1);
}

#[test]
fn a_pattern_writes_to_no_file_that_is_no_markdown() {
    let home = Home::with(json!([{ "id": "style" }]), json!({ "instructions": ["codex"], "rules": [], "skills": [] }));
    home.write("ws/picture.png", "\u{1}PNG");
    home.write("ws/notes.md", "notes\n");
    fs::create_dir_all(home.path("ws/one")).unwrap();
    home.rules(&["set", "agents_md.paths", "~/ws/*"]).ok();
    let told = home.rules(&["sync"]).ok();
    assert!(told.contains("    Warning: glob '~/ws/*' also matched files that are no Markdown (1)\n"), "{told}");
    assert_eq!(home.read("ws/picture.png"), "\u{1}PNG");
    assert!(home.read("ws/notes.md").contains("**style**") && home.is_there("ws/one/AGENTS.md"));
}

#[test]
fn what_was_a_text_for_one_setting_can_be_a_skill_for_the_next() {
    let targets = |skills: Value| json!({ "instructions": ["codex"], "rules": [], "skills": skills });
    for (mode, users) in [("symlink", None), ("copy", None), ("symlink", Some("mine\n")), ("copy", Some("mine\n"))] {
        let home = Home::with(json!([{ "id": "style" }]), targets(json!([])));
        home.write(".ai-agent/skills/review/SKILL.md", "review\n");
        if let Some(users) = users {
            home.write(".claude/skills/review", users);
        }
        let before = home.tree();
        home.rules(&["set", "agents_md.paths", "~/.claude/skills/review"]).ok();
        home.rules(&["sync"]).ok();
        assert!(home.read(".claude/skills/review").contains("**style**"));
        let mut manifest: Value = serde_json::from_str(&home.read(".ai-agent/manifest.json")).unwrap();
        manifest["active_targets"] = targets(json!([{ "name": "claude", "sync_mode": mode }]));
        manifest["agents_md"] = json!({});
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.rules(&["sync"]).ok();
        assert_eq!(home.read(".claude/skills/review/SKILL.md"), "review\n", "{mode} {users:?}");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before, "{mode} {users:?}");
    }
}

#[test]
fn a_backup_that_is_gone_keeps_nobody_from_cleaning() {
    let targets = json!({ "instructions": [], "rules": ["cursor"], "skills": ["claude"] });
    let home = Home::with(json!([{ "id": "style" }]), targets);
    home.write(".ai-agent/skills/review/SKILL.md", "review\n");
    home.write(".claude/skills/review/SKILL.md", "mine\n");
    home.write(".cursor/rules/style.mdc", "mine\n");
    home.rules(&["sync"]).ok();
    fs::remove_dir_all(home.path(".ai-agent/backups")).unwrap();
    let ran = home.rules(&["clean", "--yes"]);
    assert!(ran.code == 1 && ran.stderr.contains("is gone") && ran.stderr.contains("hint: --force removes"), "{ran:?}");
    assert!(home.is_there(".cursor/rules/style.mdc"));
    let told = home.rules(&["clean", "--yes", "--force"]).ok();
    assert!(told.contains("    Warning: the backup of '~/.cursor/rules/style.mdc' is gone\n"), "{told}");
    assert!(!home.is_there(".cursor/rules/style.mdc") && !home.is_there(".claude/skills/review"));
}

/// The earlier tool makes a copy where ours has made a link, and the user edits the copy.
#[test]
fn an_edit_of_a_copy_of_the_earlier_tool_in_the_place_of_a_link_is_kept() {
    for args in [&["sync"][..], &["clean", "--yes"]] {
        let home = Home::new();
        let manifest = |mode: &str| {
            json!({ "version": "1.0", "rules": [],
                "active_targets": { "skills": [{ "name": "claude", "sync_mode": mode }] } })
        };
        home.write(".ai-agent/manifest.json", &manifest("symlink").to_string());
        home.rules(&["sync"]).ok();
        home.write(".ai-agent/manifest.json", &manifest("copy").to_string());
        let copy = home.path(".claude/skills/review");
        fs::remove_file(&copy).unwrap();
        let source = home.path(".ai-agent/skills/review");
        let meta = json!({ "source": source, "synced_at": "2026-11-28T00:00:00Z", "sync_mode": "copy" });
        home.write(".claude/skills/review/.sync-meta", &meta.to_string());
        home.write(".claude/skills/review/SKILL.md", "how to review, and an hour of my work\n");
        home.rules(args).ok();
        assert!(home.has_words("an hour of my work"), "{args:?}");
        home.rules(&["clean", "--yes"]).ok();
        assert!(home.has_words("an hour of my work") && !copy.exists(), "{args:?}");
    }
}

/// A link that a user puts in the place of a text comes back.
#[test]
fn a_link_that_is_replaced_with_force_comes_back() {
    let own = [".claude/CLAUDE.md", ".cursor/rules/style.mdc"];
    for had_text in [false, true] {
        let home = Home::new();
        if had_text {
            home.write(own[0], "my own text\n");
        }
        home.rules(&["sync"]).ok();
        for name in own {
            fs::remove_file(home.path(name)).unwrap();
            std::os::unix::fs::symlink("/nowhere/of-my-own", home.path(name)).unwrap();
        }
        assert_eq!(home.rules(&["sync"]).code, 1, "{had_text}");
        home.rules(&["sync", "--force"]).ok();
        assert!(!home.path(own[0]).is_symlink());
        home.rules(&["clean", "--yes"]).ok();
        for name in own {
            let there = fs::read_link(home.path(name)).unwrap_or_default();
            assert_eq!(there.to_str(), Some("/nowhere/of-my-own"), "{had_text} {name}");
        }
        assert!(!had_text || home.has_words("my own text"));
    }
}

/// The mode of each skill, in a home with nothing else.
fn set_mode(home: &Home, mode: &str) {
    let skills = json!([{ "name": "claude", "sync_mode": mode }]);
    let targets = json!({ "instructions": [], "rules": [], "skills": skills });
    home.write(".ai-agent/manifest.json", &json!({ "version": "1.0", "active_targets": targets }).to_string());
}

/// Neither tool's user has edited the copy, so there is nothing to ask.
#[test]
fn a_copy_that_the_earlier_tool_has_written_since_is_no_edit() {
    for args in [&["sync"][..], &["clean", "--yes"]] {
        let home = Home::new();
        set_mode(&home, "copy");
        home.rules(&["sync"]).ok();
        let source = home.path(".ai-agent/skills/review").display().to_string();
        let meta = format!(r#"{{"source": "{source}", "synced_at": "2026-11-28T00:00:00Z", "sync_mode": "copy"}}"#);
        home.write(".claude/skills/review/.sync-meta", &meta);
        home.write(".claude/skills/review/SKILL.md", "the second text\n");
        home.write(".ai-agent/skills/review/SKILL.md", "the third text\n");
        home.rules(args).ok();
        assert!(home.has_words("the second text"), "nobody knows whether it is an edit");
        home.rules(&["sync"]).ok();
        assert_eq!(home.read(".claude/skills/review/SKILL.md"), "the third text\n", "{args:?}");
        home.rules(&["clean", "--yes"]).ok();
        assert!(!home.is_there(".claude/skills/review"), "{args:?}");
    }
}

#[test]
fn an_edit_of_a_copy_is_adopted_when_the_copy_becomes_a_link() {
    let home = Home::new();
    set_mode(&home, "copy");
    home.rules(&["sync"]).ok();
    home.write(".claude/skills/review/SKILL.md", "an hour of my work\n");
    set_mode(&home, "symlink");
    assert_eq!(home.rules(&["sync"]).code, 3);
    home.rules(&["sync", "--adopt"]).ok();
    assert!(home.path(".claude/skills/review").is_symlink());
    assert_eq!(home.read(".claude/skills/review/SKILL.md"), "an hour of my work\n");
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".ai-agent/skills/review/SKILL.md"), "an hour of my work\n");
}
