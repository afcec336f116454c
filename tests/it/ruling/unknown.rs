//! Generated files that the registry does not know: of the earlier tool, of a fresh clone, or after the registry was lost.

use std::fs;

use serde_json::{Value, json};

use super::Home;

impl Home {
    /// Says how often words are anywhere in the home: in files of agents, in the store, or in a backup.
    fn words(&self, words: &str) -> usize {
        self.scratch.run_in(&self.path("."), "grep", ["-rl", words, "."]).stdout.lines().count()
    }

    /// Makes the home one in which the earlier tool has written all files.
    fn by_the_earlier_tool() -> Home {
        let home = Home::new();
        home.rules(&["sync"]).ok();
        let script = "find . -type f -not -path './.ai-agent/*' -print0 \
                      | xargs -0 sed -i 's/^# Run: git shiftlog rules sync/# Run: python3 sync_agent_rules.py sync/'";
        home.scratch.run_in(&home.path("."), "sh", ["-c", script]).ok();
        fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
        home
    }
}

#[test]
fn edits_in_files_of_the_earlier_tool_are_kept_in_the_backup() {
    for command in [&["sync"][..], &["clean", "--yes"], &["reconfigure"]] {
        let home = Home::by_the_earlier_tool();
        let claude = home.read(".claude/CLAUDE.md");
        home.write(".claude/CLAUDE.md", &(claude + "an edit of mine\n"));
        home.write(".cursor/rules/gone.mdc", &(home.read(".cursor/rules/style.mdc") + "an edit of old\n"));
        home.write(".claude/skills/review/notes.md", "an edit of the skill\n");
        let ran = home.answered(command, "none\nnone\nnone\n");
        assert_eq!(ran.code, 0, "{command:?}: {ran:?}");
        for words in ["an edit of mine", "an edit of old", "an edit of the skill"] {
            assert_eq!(home.words(words), 1, "{command:?}: '{words}' is in the backup");
        }
        assert!(!home.is_there(".cursor/rules/gone.mdc"), "{command:?}");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.words("an edit of the skill"), 1, "it does not come back: it was generated");
        assert!(!home.is_there(".claude/skills/review"));
    }
}

#[test]
fn an_edit_in_a_fresh_clone_is_kept_in_the_backup() {
    let home = Home::new();
    let scratch = &home.scratch;
    scratch.write(".ai-agent/rules/build.md", "# Build\n\nmake it\n");
    scratch.write(".ai-agent/skills/deploy/SKILL.md", "how to deploy\n");
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "build" }],
        "active_targets": { "instructions": ["codex", "claude"], "skills": ["claude"] } });
    scratch.write(".ai-agent/manifest.json", &manifest.to_string());
    home.rules(&["sync", "--scope=repo"]).ok();
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "rules"]).ok();
    let meta = fs::read_to_string(scratch.top.join(".claude/skills/deploy/.sync-meta")).unwrap();
    assert_eq!(
        meta, "{\"source\":\".ai-agent/skills/deploy\",\"sync_mode\":\"copy\"}\n",
        "nothing of the author's home"
    );
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", ".", clone.to_str().unwrap()]).ok();
    let rules = |command: &str| scratch.shiftlog_in(&clone, "rules", [command, "--scope=repo"]);
    assert_eq!(rules("check").ok(), "", "what was committed is right in the clone, copied skills too");
    rules("sync").ok();
    assert_eq!(scratch.git_in(&clone, ["status", "--porcelain"]).ok(), "");
    fs::remove_dir_all(clone.join(".git/shiftlog/rules")).unwrap();

    let agents = fs::read_to_string(clone.join("AGENTS.md")).unwrap();
    fs::write(clone.join("AGENTS.md"), agents + "an edit of mine\n").unwrap();
    fs::write(clone.join(".claude/skills/deploy/SKILL.md"), "an edit of the skill\n").unwrap();
    rules("sync").ok();
    assert_eq!(scratch.git_in(&clone, ["status", "--porcelain"]).ok(), "", "the generated texts are back");
    for words in ["an edit of mine", "an edit of the skill"] {
        let found = scratch.run_in(&clone, "grep", ["-rl", words, ".git/shiftlog/rules/backups"]).ok();
        assert_eq!(found.lines().count(), 1, "{words}: {found}");
    }
}

#[test]
fn what_was_there_before_comes_back_without_the_registry() {
    let home = Home::new();
    home.write("dotfiles/CLAUDE.md", "in a repository of dotfiles\n");
    home.write(".codex/skills/review", "a file of mine\n");
    fs::create_dir_all(home.path(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../dotfiles/CLAUDE.md", home.path(".claude/CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("/elsewhere", home.path(".claude/skills/review")).unwrap();
    home.write("ws/other", "no agent's\n");
    let before = home.tree();
    home.rules(&["sync", "--force"]).ok();
    assert!(fs::read_link(home.path(".claude/CLAUDE.md")).is_err());
    // What the user makes of a generated file later is no original.
    home.write(".gemini/GEMINI.md", "other words\n");
    home.rules(&["sync", "--force"]).ok();
    fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
    let told = home.rules(&["clean", "--yes"]).ok();
    assert!(told.contains("nobody has written down what was there before"), "{told}");
    // Which directories were made nobody knows.
    let files = |tree: &str| tree.lines().filter(|line| !line.contains(" d ")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(files(&home.tree()), files(&before), "{told}");
}

#[test]
fn clean_lists_the_copied_skills_of_a_fresh_clone() {
    let home = Home::new();
    let scratch = &home.scratch;
    scratch.write(".ai-agent/skills/deploy/SKILL.md", "how to deploy\n");
    let manifest = json!({ "version": "1.0", "rules": [], "active_targets": { "skills": ["claude"] } });
    scratch.write(".ai-agent/manifest.json", &manifest.to_string());
    home.rules(&["sync", "--scope=repo"]).ok();
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "rules"]).ok();
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", ".", clone.to_str().unwrap()]).ok();
    let told = scratch.shiftlog_in(&clone, "rules", ["clean", "--yes", "--scope=repo"]).ok();
    assert!(told.contains("remove  .claude/skills/deploy\n"), "{told}");
    assert!(!clone.join(".claude/skills/deploy").exists());
}

#[test]
fn a_block_whose_line_ends_were_changed_goes_as_a_whole() {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine\n");
    home.rules(&["sync"]).ok();
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace('\n', "\r\n"));
    assert_eq!(home.rules(&["check"]).ok(), "", "the words are those that were written");
    home.rules(&["add-rule", "new"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md").matches("rules: begin").count(), 1);
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "mine\r\n");
}

#[test]
fn what_the_earlier_tool_has_written_is_found_after_the_settings_name_it_no_more() {
    let home = Home::by_the_earlier_tool();
    assert!(home.is_there("ws/AGENTS.md"));
    home.write("ws/AGENTS.md", &(home.read("ws/AGENTS.md") + "an edit of mine\n"));
    home.rules(&["set", "agents_md.paths", "~/other/AGENTS.md"]).ok();
    assert!(home.is_there("ws/AGENTS.md"), "it goes with the next command that takes files back");
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there("ws/AGENTS.md") && !home.is_there("other/AGENTS.md"));
    assert_eq!(home.words("an edit of mine"), 1, "it is in the backup");
}

#[test]
fn a_backup_of_what_was_given_back_is_not_put_over_what_came_later() {
    let home = Home::new();
    home.write(
        ".ai-agent/manifest.json",
        &super::MANIFEST.replacen("\"claude\",", "{\"name\":\"claude\",\"mode\":\"whole\"},", 1),
    );
    let claude = ".claude/CLAUDE.md";
    home.write(claude, "first\n");
    home.rules(&["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    home.write(claude, "second\n");
    home.rules(&["sync"]).ok();
    assert!(home.read(claude).starts_with("# Generated"));
    fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(claude), "second\n");
    // Now the earlier tool writes there, and keeps what it replaces.
    home.write(
        claude,
        "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: python3 sync_agent_rules.py sync\n\nrules\n",
    );
    home.write(".ai-agent/backups/20990101T000000Z/files/.claude/CLAUDE.md", "third\n");
    home.write(
        ".ai-agent/backups/20990101T000000Z/meta.json",
        "{\"created\": \"20990101T000000Z\", \"command\": \"sync\"}",
    );
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(claude), "third\n");
}

#[test]
fn a_backup_is_not_put_over_a_file_that_a_user_has_taken_back() {
    let home = Home::new();
    let claude = ".claude/CLAUDE.md";
    home.write(claude, "first\n");
    home.rules(&["sync"]).ok();
    // The user takes the block out, and from then on the file is theirs.
    home.write(claude, "second\n");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(claude), "second\n");
    home.write(
        claude,
        "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: python3 sync_agent_rules.py sync\n\nrules\n",
    );
    home.write(".ai-agent/backups/20990101T000000Z/files/.claude/CLAUDE.md", "second\n");
    home.write(".ai-agent/backups/20990101T000000Z/meta.json", "{}");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(claude), "second\n");
}

#[test]
fn what_a_user_wrote_between_two_commands_of_which_one_was_killed_comes_back() {
    let home = Home::new();
    let style = ".cursor/rules/style.mdc";
    home.write(style, "first\n");
    let mut command = home.scratch.command("git", &home.scratch.top);
    command.env("SHIFTLOG_FAULT", "rules-backed-up").args(["shiftlog", "rules", "sync"]);
    assert!(!command.output().unwrap().status.success());
    home.write(style, "second\n");
    home.rules(&["sync"]).ok();
    fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(style), "second\n");
}

/// The earlier tool has written a text where the settings named one; then a skill comes there.
#[test]
fn a_text_of_the_earlier_tool_in_the_place_of_a_skill_is_not_taken_for_a_users() {
    for (mode, own) in [("symlink", ""), ("copy", ""), ("symlink", "my own words\n")] {
        let home = Home::new();
        if !own.is_empty() {
            home.write(".claude/skills/review", own);
        }
        home.rules(&["set", "claude_md.paths", "~/.claude/skills/review"]).ok();
        home.rules(&["sync"]).ok();
        assert!(home.read(".claude/skills/review").contains("four spaces"));
        // Nobody has written down that it is ours.
        fs::remove_file(home.path(".ai-agent/shiftlog/registry.json")).unwrap();
        let mut manifest: Value = serde_json::from_str(&home.read(".ai-agent/manifest.json")).unwrap();
        let skills = json!([{ "name": "claude", "sync_mode": mode }]);
        manifest["active_targets"] = json!({ "instructions": [], "rules": [], "skills": skills });
        manifest["claude_md"] = json!({});
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.rules(&["sync"]).ok();
        assert!(home.is_there(".claude/skills/review/SKILL.md"), "{mode}");
        home.rules(&["clean", "--yes"]).ok();
        let left = fs::read_to_string(home.path(".claude/skills/review")).unwrap_or_default();
        assert_eq!(left, own, "{mode}");
    }
}

/// In turns: the earlier tool replaces a file with a block of ours, ours gives the user's text back, the earlier tool replaces that.
#[test]
fn a_file_with_a_block_of_ours_in_a_backup_of_the_earlier_tool_is_no_original() {
    for own in ["mine\n", ""] {
        let home = Home::new();
        if own.is_empty() {
            // A block without any text of the user's.
            let mut manifest: Value = serde_json::from_str(&home.read(".ai-agent/manifest.json")).unwrap();
            manifest["active_targets"]["instructions"] = json!([{ "name": "gemini", "mode": "block" }]);
            home.write(".ai-agent/manifest.json", &manifest.to_string());
        } else {
            home.write(".gemini/GEMINI.md", own);
        }
        let left = || fs::read_to_string(home.path(".gemini/GEMINI.md")).unwrap_or_default();
        home.rules(&["sync"]).ok();
        let replace = |number: &str| {
            let kept = format!(".ai-agent/backups/2030010{number}_000000/files/.gemini/GEMINI.md");
            home.write(&kept, &home.read(".gemini/GEMINI.md"));
            let text = "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: python3 sync_agent_rules.py sync\n\nold\n";
            home.write(".gemini/GEMINI.md", text);
        };
        replace("1");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(left(), own);
        home.rules(&["sync"]).ok();
        replace("2");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(left(), own);
    }
}

/// By hand, or by the earlier tool.
#[test]
fn a_text_that_is_back_is_no_edit() {
    for args in [&["check"][..], &["sync"], &["clean", "--yes"]] {
        let home = Home::new();
        home.rules(&["init", "--yes"]);
        for path in [".claude/CLAUDE.md", ".cursor/rules/style.mdc"] {
            home.write(path, "mine\n");
        }
        home.rules(&["sync"]).ok();
        for path in [".claude/CLAUDE.md", ".cursor/rules/style.mdc"] {
            home.write(path, "mine\n");
        }
        let ran = home.rules(args);
        let is_checked = args == ["check"];
        assert_eq!((ran.code, ran.stderr.as_str()), (if is_checked { 3 } else { 0 }, ""), "{args:?}: {ran:?}");
        assert!(!is_checked || ran.stdout.contains("outdated: ~/.claude/CLAUDE.md\n"), "{ran:?}");
        home.rules(&["sync"]).ok();
        assert!(home.read(".claude/CLAUDE.md").contains("four spaces"));
        home.rules(&["clean", "--yes"]).ok();
        for path in [".claude/CLAUDE.md", ".cursor/rules/style.mdc"] {
            assert_eq!(home.read(path), "mine\n", "{args:?}");
        }
    }
}

/// A link of one agent's file leads to the file of another; the earlier tool writes through it.
#[test]
fn a_text_of_the_earlier_tool_for_another_agent_is_no_edit() {
    for args in [&["clean", "--yes"][..], &["sync", "--follow"]] {
        let home = Home::new();
        home.write("shared.md", "mine\n");
        fs::create_dir_all(home.path(".gemini")).unwrap();
        std::os::unix::fs::symlink("../shared.md", home.path(".gemini/GEMINI.md")).unwrap();
        home.rules(&["sync", "--follow"]).ok();
        assert!(home.read("shared.md").contains("four spaces"));
        let head = "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: python3 sync_agent_rules.py sync\n";
        home.write("shared.md", &format!("---\nalwaysApply: true\n---\n\n{head}\nof the rule alone\n"));
        home.rules(args).ok();
        assert!(home.words("of the rule alone") > 0, "nobody knows whether it is an edit");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.read("shared.md"), "mine\n", "{args:?}");
    }
}

/// What is in the store or in a skill is not generated, however its text begins and whatever backups there are.
#[test]
fn a_text_of_the_store_or_of_a_skill_that_looks_generated_is_not() {
    let home = Home::new();
    let targets = json!({ "instructions": ["claude"], "rules": ["cursor"],
        "skills": [{ "name": "claude", "sync_mode": "copy", "conflict_strategy": "overwrite" }] });
    home.write(
        ".ai-agent/manifest.json",
        &json!({ "version": "1.0", "rules": [], "active_targets": targets }).to_string(),
    );
    home.rules(&["sync"]).ok();
    let generated = "# Generated from ~/.ai-agent/ -- do not edit directly\nwords of a rule\n";
    home.write("generated.md", generated);
    home.rules(&["add-rule", "x", &format!("--file={}", home.path("generated.md").display())]).ok();
    home.write(".ai-agent/skills/review/SKILL.md", generated);
    home.rules(&["sync"]).ok();
    // Both are adopted, which puts what they were into a backup.
    for path in [".cursor/rules/x.mdc", ".claude/skills/review/SKILL.md"] {
        home.write(path, &(home.read(path) + "more words\n"));
    }
    home.rules(&["sync", "--adopt"]).ok();
    let store = [".ai-agent/rules/x.md", ".ai-agent/skills/review/SKILL.md"].map(|path| (path, home.read(path)));
    assert!(store.iter().all(|(_, text)| text.contains("more words")), "{store:?}");
    for command in [&["clean", "--yes"][..], &["clean", "--yes"], &["sync"]] {
        home.rules(command).ok();
        for (path, text) in &store {
            assert_eq!(home.read(path), *text, "{command:?}: {path}");
        }
    }
}

/// A skill behind a link that is followed comes back though ours was removed, or its folder was away.
#[test]
fn a_skill_of_a_followed_folder_comes_back() {
    for (mode, is_away) in [("symlink", false), ("copy", false), ("symlink", true)] {
        let home = Home::new();
        let targets = json!({ "instructions": [], "rules": [],
            "skills": [{ "name": "claude", "sync_mode": mode, "conflict_strategy": "overwrite" }] });
        home.write(".ai-agent/manifest.json", &json!({ "version": "1.0", "active_targets": targets }).to_string());
        home.write("ext/review/SKILL.md", "my own\n");
        let _ = fs::remove_dir_all(home.path(".claude/skills"));
        fs::create_dir_all(home.path(".claude")).unwrap();
        std::os::unix::fs::symlink("../ext", home.path(".claude/skills")).unwrap();
        home.rules(&["sync", "--follow"]).ok();
        if is_away {
            fs::rename(home.path("ext"), home.path("away")).unwrap();
            home.rules(&["clean", "--yes"]);
            fs::rename(home.path("away"), home.path("ext")).unwrap();
        } else if mode == "copy" {
            fs::remove_dir_all(home.path("ext/review")).unwrap();
        } else {
            fs::remove_file(home.path("ext/review")).unwrap();
        }
        home.rules(&["clean", "--yes", "--follow"]).ok();
        assert_eq!(home.read("ext/review/SKILL.md"), "my own\n", "{mode} {is_away}");
    }
}
