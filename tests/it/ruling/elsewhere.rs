//! Stores that were copied or moved, or that come from somebody else: what another place has written is not theirs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::Home;
use crate::mcp::Client;
use crate::support::Ran;

impl Home {
    /// Runs a command with another directory as the home.
    pub(super) fn rules_of(&self, home: &Path, args: &[&str]) -> Ran {
        self.rules(&[&["--home", home.to_str().unwrap()], args].concat())
    }

    /// Calls a tool of a server that has another directory as its home.
    fn call_at(&self, home: &Path, tool: &str, arguments: Value) -> Value {
        let mut command = self.scratch.command("git-shiftlog-mcp", home);
        command.env("HOME", home).arg("--name=sync-ai-rules");
        Client::of(command).call(tool, arguments)
    }

    pub(super) fn copy(&self, from: &Path, to: &str) -> std::path::PathBuf {
        let to = self.scratch.root().join(to);
        self.scratch.run_in(&self.scratch.root(), "cp", ["-a", from.to_str().unwrap(), to.to_str().unwrap()]).ok();
        to
    }

    /// Returns everything below a directory, and what it is.
    fn all(&self, top: &Path) -> String {
        let script = "find . -type d -printf '%p %y %m\\n' -o -printf '%p %y %m %T@ %l\\n' | sort; \
                      find . -type f -print | sort | xargs -r sha256sum";
        self.scratch.run_in(top, "sh", ["-c", script]).ok()
    }

    /// Returns the same without the store and without what links and copies say of where they come from.
    pub(super) fn written(&self, top: &Path) -> String {
        let script = "find . -path ./.ai-agent -prune -o -printf '%p %y %m\\n' | sort; \
                      find . -path ./.ai-agent -prune -o -type f ! -name .sync-meta -print | sort | xargs -r sha256sum";
        self.scratch.run_in(top, "sh", ["-c", script]).ok()
    }

    /// A home in which users' files and folders were replaced.
    fn synced() -> (Home, String) {
        let home = Home::new();
        home.write(".claude/CLAUDE.md", "mine\n");
        home.write(".cursor/rules/style.mdc", "my own style\n");
        home.write(".codex/skills/review/SKILL.md", "my own review\n");
        home.write(".claude/skills/review/SKILL.md", "another review\n");
        let before = home.written(&home.path(""));
        home.rules(&["sync"]).ok();
        (home, before)
    }
}

#[test]
fn a_copy_of_a_home_has_nothing_of_the_home_to_write() {
    for clean in [false, true] {
        for is_over_mcp in [false, true] {
            let (home, before) = Home::synced();
            let copy = home.copy(&home.path(""), "copy");
            let untouched = home.all(&home.path(""));
            if clean && is_over_mcp {
                let told = home.call_at(&copy, "sync_clean", json!({}));
                assert_ne!(told["isError"], true, "{told}");
            } else if clean {
                home.rules_of(&copy, &["clean", "--yes"]).ok();
            } else if is_over_mcp {
                for _ in 0..2 {
                    let told = home.call_at(&copy, "sync_rules", json!({}));
                    assert_ne!(told["isError"], true, "{told}");
                }
                home.call_at(&copy, "sync_reconfigure", json!({ "rule_targets": [], "skill_targets": [] }));
            } else {
                home.rules_of(&copy, &["sync"]).ok();
                assert_eq!(home.rules_of(&copy, &["check"]).ok(), "");
                let link = fs::read_link(copy.join(".codex/skills/review")).unwrap();
                assert_eq!(link, copy.join(".ai-agent/skills/review"), "it has its own store");
                home.rules_of(&copy, &["remove-rule", "style"]).ok();
            }
            assert_eq!(home.all(&home.path("")), untouched, "clean: {clean}, MCP: {is_over_mcp}");
            home.rules_of(&copy, &["clean", "--yes"]).ok();
            assert_eq!(home.all(&home.path("")), untouched, "clean: {clean}, MCP: {is_over_mcp}");
            assert_eq!(home.written(&copy), before, "and it has its own originals");
            home.rules(&["clean", "--yes"]).ok();
            assert_eq!(home.written(&home.path("")), before);
        }
    }
}

#[test]
fn a_path_of_the_manifest_in_the_home_that_was_copied_is_left_alone() {
    let home = Home::new();
    let file = home.path("ws/AGENTS.md");
    home.rules(&["set", "agents_md.paths", file.to_str().unwrap()]).ok();
    home.rules(&["sync"]).ok();
    let copy = home.copy(&home.path(""), "copy");
    let untouched = home.all(&home.path(""));
    for command in [&["sync"][..], &["add-rule", "new"], &["sync", "--force"], &["clean", "--yes"], &["clean", "--yes"]]
    {
        let ran = home.rules_of(&copy, command);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(home.all(&home.path("")), untouched, "{command:?}");
    }
    assert!(home.rules_of(&copy, &["sync"]).stdout.contains("ws/AGENTS.md"), "it says so");
}

#[test]
fn a_copy_of_a_repository_has_nothing_of_the_repository_to_write() {
    let home = Home::new();
    let scratch = &home.scratch;
    scratch.write(".ai-agent/rules/a.md", "# A\n\nfirst\n");
    let manifest = |rules: Value| {
        json!({ "version": "1.0", "rules": rules,
            "active_targets": { "instructions": ["cursor", "claude", "gemini"], "rules": ["cursor"], "skills": [] } })
    };
    scratch.write(".ai-agent/manifest.json", &manifest(json!([{ "id": "a" }])).to_string());
    home.rules(&["sync", "--scope=repo"]).ok();
    let copy = home.copy(&scratch.top, "copy");
    let untouched = home.all(&scratch.top);
    let none = json!({ "version": "1.0", "rules": [] });
    for text in [manifest(json!([{ "id": "a" }])), manifest(json!([])), none] {
        fs::write(copy.join(".ai-agent/manifest.json"), text.to_string()).unwrap();
        scratch.shiftlog_in(&copy, "rules", ["sync", "--scope=repo"]).ok();
        assert_eq!(home.all(&scratch.top), untouched, "{text}");
    }
    assert!(!copy.join("CLAUDE.md").exists() && !copy.join(".cursor/rules").exists(), "its own are taken back");
}

#[test]
fn a_home_that_was_moved_keeps_its_originals() {
    for has_synced in [false, true] {
        let (home, before) = Home::synced();
        let moved = home.scratch.root().join("moved");
        fs::rename(home.path(""), &moved).unwrap();
        fs::create_dir(home.path("")).unwrap();
        if has_synced {
            home.rules_of(&moved, &["sync"]).ok();
            assert_eq!(home.rules_of(&moved, &["check"]).ok(), "");
        }
        home.rules_of(&moved, &["clean", "--yes"]).ok();
        assert_eq!(home.written(&moved), before, "synced: {has_synced}");
        assert_eq!(fs::read_dir(home.path("")).unwrap().count(), 0);
    }
}

#[test]
fn a_home_is_one_by_whatever_path() {
    let (home, before) = Home::synced();
    let link = home.scratch.root().join("link");
    symlink(home.path(""), &link).unwrap();
    home.rules_of(&link, &["sync"]).ok();
    home.rules_of(&link, &["add-rule", "new"]).ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["sync"]).ok();
    home.rules_of(&link, &["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.written(&home.path("")), before);
}

#[test]
fn a_home_whose_path_has_dots_keeps_its_registry() {
    let (home, before) = Home::synced();
    let dotted = home.scratch.root().join("elsewhere/..").join(home.path("").file_name().unwrap());
    fs::create_dir(home.scratch.root().join("elsewhere")).unwrap();
    let told = home.rules_of(&dotted, &["add-rule", "new"]).ok();
    assert!(!told.contains("Warning"), "{told}");
    let mut command = home.scratch.command("git", &home.scratch.root());
    command.args(["shiftlog", "rules", "sync", "--home"]).arg(home.path("").file_name().unwrap());
    assert_eq!(Ran::of(command.output().unwrap()).code, 0, "a relative one");
    home.rules_of(&dotted, &["clean", "--yes"]).ok();
    assert_eq!(home.written(&home.path("")), before);
}

#[test]
fn a_path_of_the_manifest_may_call_the_home_by_another_name() {
    let home = Home::new();
    let link = home.scratch.root().join("link");
    symlink(home.path(""), &link).unwrap();
    let before = home.written(&home.path(""));
    let path = link.join("ws/AGENTS.md");
    home.write(".ai-agent/manifest.json", &super::MANIFEST.replace("~/ws/AGENTS.md", path.to_str().unwrap()));
    for by in [&link, &home.path("")] {
        for _ in 0..3 {
            home.rules_of(by, &["sync"]).ok();
            assert!(home.read("ws/AGENTS.md").contains("**style**"));
            assert_eq!(home.rules_of(by, &["check"]).ok(), "");
        }
    }
    home.rules_of(&link, &["clean", "--yes"]).ok();
    assert_eq!(home.written(&home.path("")), before);
}

#[test]
fn a_registry_that_somebody_else_has_written_leads_nowhere() {
    let forged = |home: &Home, base: Option<&Path>, version: u32| {
        let victim = home.scratch.root().join("victim");
        fs::create_dir_all(&victim).unwrap();
        fs::write(victim.join("there.md"), "theirs\n").unwrap();
        let kept = home.path(".ai-agent/backups/1/files/evil");
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        fs::write(&kept, "#!/bin/sh\nevil\n").unwrap();
        let entry = |kept: &Path| {
            json!({ "owned": "whole", "target": "claude", "digest": "",
                "original": { "kind": "file", "kept": kept, "mode": 0o755 } })
        };
        home.write("secret", "secret words\n");
        let mut entries = serde_json::Map::new();
        for path in ["new.md", "there.md", "bin/git"].map(|name| victim.join(name)) {
            entries.insert(path.to_str().unwrap().into(), entry(&kept));
        }
        for path in [".bashrc", ".local/bin/git", ".claude/settings.json", "../victim/up.md", ".ai-agent/rules/x.md"] {
            let path = if version == 1 { home.path(path) } else { path.into() };
            entries.insert(path.to_str().unwrap().into(), entry(&kept));
        }
        let secret = home.path("secret");
        entries.insert(home.path("taken.md").to_str().unwrap().into(), entry(&secret));
        entries.insert(home.path("up.md").to_str().unwrap().into(), entry(&kept.join("../../../../../secret")));
        let mut registry = json!({ "version": version, "entries": entries, "directories": [victim] });
        if let Some(base) = base {
            registry["base"] = json!(base);
        }
        home.write(".ai-agent/shiftlog/registry.json", &registry.to_string());
        victim
    };
    for version in [1, 2] {
        for is_own in [false, true] {
            for is_over_mcp in [false, true] {
                let home = Home::new();
                let base = if is_own { home.path("") } else { "/nosuch/home".into() };
                let victim = forged(&home, Some(&base), version);
                let untouched = home.all(&victim);
                let ran = if is_over_mcp {
                    home.call_at(&home.path(""), "sync_rules", json!({}))["isError"] == true
                } else {
                    home.rules(&["sync"]).code != 0
                };
                assert!(!ran, "{version} {is_own} {is_over_mcp}");
                home.rules(&["clean", "--yes"]).ok();
                assert_eq!(home.all(&victim), untouched, "{version} {is_own} {is_over_mcp}");
                for path in
                    [".bashrc", ".local/bin/git", ".claude/settings.json", ".ai-agent/rules/x.md", "taken.md", "up.md"]
                {
                    assert!(!home.is_there(path), "{path}: {version} {is_own} {is_over_mcp}");
                }
            }
        }
    }
    let home = Home::new();
    forged(&home, None, 1);
    assert!(home.rules(&["sync"]).stdout.contains("came from elsewhere"), "it says what it leaves");
    assert!(!home.rules(&["sync"]).stdout.contains("came from elsewhere"), "once");
}

#[test]
fn a_registry_that_somebody_else_has_written_removes_nothing_of_a_users() {
    for owned in ["whole", "block"] {
        let home = Home::new();
        home.rules(&["sync"]).ok();
        // Its digests fit.
        let script = "printf 'my words\\n' | sha256sum | cut -c-64 | tr -d '\\n'";
        let digest = home.scratch.run_in(&home.path(""), "sh", ["-c", script]).ok();
        let path = ".ai-agent/shiftlog/registry.json";
        let mut registry: Value = serde_json::from_str(&home.read(path)).unwrap();
        for file in ["notes/diary.md", "notes.mdc", ".claude/agents/mine.md", ".claude/CLAUDE.md", "ws/other/AGENTS.md"]
        {
            home.write(file, "my words\n");
            registry["entries"][file] =
                json!({ "owned": owned, "target": "kiro", "digest": digest, "original": { "kind": "absent" } });
        }
        home.write(path, &registry.to_string());
        let told = home.rules(&["sync"]).ok();
        assert!(told.contains("'~/notes/diary.md' any more; it is left as it is"), "{told}");
        home.rules(&["clean", "--yes", "--force"]).ok();
        for file in ["notes/diary.md", "notes.mdc", ".claude/agents/mine.md"] {
            assert_eq!(home.read(file), "my words\n", "{owned}");
        }
        // Where agents have files of ours, it is in the backup, if it goes.
        let found = home.scratch.run_in(&home.path(""), "grep", ["-rl", "my words", "."]).ok();
        for file in [".claude/CLAUDE.md", "ws/other/AGENTS.md"] {
            assert!(found.lines().any(|line| line.ends_with(file)), "{owned} {file}: {found}");
        }
    }
}

#[test]
fn a_registry_of_before_is_that_of_the_home_that_it_is_in() {
    let (home, before) = Home::synced();
    let path = ".ai-agent/shiftlog/registry.json";
    let mut registry: Value = serde_json::from_str(&home.read(path)).unwrap();
    // As version 1 was: absolute paths, and no base.
    let top = home.path("");
    let mut entries = serde_json::Map::new();
    for (name, entry) in registry["entries"].as_object().unwrap() {
        let mut entry = entry.clone();
        if let Some(kept) = entry["original"]["kept"].as_str() {
            entry["original"]["kept"] = json!(top.join(".ai-agent/backups").join(kept));
        }
        entries.insert(top.join(name).to_str().unwrap().into(), entry);
    }
    registry["entries"] = entries.into();
    registry["version"] = json!(1);
    registry.as_object_mut().unwrap().remove("base");
    let directories = registry["directories"].as_array().unwrap().iter();
    registry["directories"] = directories.map(|path| json!(top.join(path.as_str().unwrap()))).collect();
    home.write(path, &registry.to_string());
    let copy = home.copy(&top, "copy");
    let untouched = home.all(&top);
    home.rules_of(&copy, &["sync"]).ok();
    home.rules_of(&copy, &["clean", "--yes"]).ok();
    assert_eq!(home.all(&top), untouched);
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.written(&top), before);
}

#[test]
fn a_journal_that_somebody_else_has_written_leads_nowhere() {
    let home = Home::new();
    let base = home.path("").canonicalize().unwrap();
    let victim = home.scratch.root().join("victim");
    fs::create_dir_all(&victim).unwrap();
    fs::write(victim.join("AGENTS.md"), "theirs\n").unwrap();
    let untouched = home.all(&victim);
    let (pwned, up) = (victim.join("pwned"), base.join("../victim/pwned"));
    let write = |path: &Path| json!({ "step": "write", "path": path, "content": "ZXZpbAo=", "mode": 0o755, "before": "absent" });
    let cases = [
        ("/proc/self/cwd".as_ref(), write("../victim/pwned".as_ref())),
        ("/proc/self/cwd".as_ref(), write(&base.join("notes"))),
        (base.as_path(), write("../victim/pwned".as_ref())),
        (base.as_path(), write(&pwned)),
        (base.as_path(), write(&up)),
        (base.as_path(), write(&base.join(".git/hooks/pre-commit"))),
        (base.as_path(), json!({ "step": "make_directory", "path": victim.join("new") })),
        (base.as_path(), json!({ "step": "move", "from": victim.join("AGENTS.md"), "to": base.join("taken") })),
    ];
    for (named, step) in cases {
        let registry = json!({ "version": 2, "base": named, "entries": {}, "directories": [victim] });
        let journal = json!({ "base": named, "steps": [step], "registry": registry, "previous": registry });
        home.write(".ai-agent/shiftlog/journal.json", &journal.to_string());
        let mut command = home.scratch.command("git", &base);
        let ran = Ran::of(command.args(["shiftlog", "rules", "sync"]).output().unwrap());
        assert!(ran.code == 1 && ran.stderr.contains("is not finished"), "{journal}: {ran:?}");
        assert_eq!(home.all(&victim), untouched, "{journal}");
        assert!(!home.is_there("notes") && !home.is_there(".git") && !home.is_there("taken"), "{journal}");
        home.rules(&["sync"]).ok();
    }
}

#[test]
fn a_command_that_was_interrupted_is_not_finished_by_a_copy() {
    let home = Home::new();
    let mut command = home.scratch.command("git", &home.scratch.top);
    command.env("SHIFTLOG_FAULT", "rules-step-3").args(["shiftlog", "rules", "sync"]);
    assert_ne!(Ran::of(command.output().unwrap()).code, 0);
    let copy = home.copy(&home.path(""), "copy");
    let untouched = home.all(&home.path(""));
    let ran = home.rules_of(&copy, &["sync"]);
    assert!(ran.code == 1 && ran.stderr.contains("is not finished here"), "{ran:?}");
    home.rules_of(&copy, &["sync"]).ok();
    assert_eq!(home.rules_of(&copy, &["check"]).ok(), "");
    assert_eq!(home.all(&home.path("")), untouched);
}

#[test]
fn a_home_and_a_repository_in_it_leave_what_the_other_has_written() {
    let home = Home::new();
    let top = home.path("ws/proj");
    fs::create_dir_all(&top).unwrap();
    home.scratch.git_in(&top, ["init", "-q"]).ok();
    home.write("ws/proj/.ai-agent/rules/build.md", "# Build\n\nmake it\n");
    let manifest = r#"{"version":"1.0","rules":[{"id":"build"}],"active_targets":{"instructions":["codex","claude"]}}"#;
    home.write("ws/proj/.ai-agent/manifest.json", manifest);
    let rules = |args: &[&str]| home.scratch.shiftlog_in(&top, "rules", args);
    for mode in ["", "an own line\n"] {
        if !mode.is_empty() {
            home.write("ws/proj/AGENTS.md", mode);
        }
        rules(&["sync", "--scope=repo"]).ok();
        let written = home.read("ws/proj/AGENTS.md");
        home.rules(&["set", "agents_md.paths", "~/ws/*/AGENTS.md"]).ok();
        let synced = home.rules(&["sync"]);
        assert_eq!(synced.code, 0, "{synced:?}");
        assert!(
            synced.stderr.contains("AGENTS.md'; it stays") || synced.stdout.contains("AGENTS.md'; it stays"),
            "{synced:?}"
        );
        assert_eq!(home.read("ws/proj/AGENTS.md"), written);
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.read("ws/proj/AGENTS.md"), written);
        rules(&["clean", "--yes", "--scope=repo"]).ok();
        assert_eq!(fs::read_to_string(top.join("AGENTS.md")).unwrap_or_default(), mode);
    }
    // And the other way round.
    home.rules(&["sync"]).ok();
    let written = home.read("ws/proj/AGENTS.md");
    rules(&["sync", "--scope=repo"]);
    assert_eq!(home.read("ws/proj/AGENTS.md"), written);
    rules(&["clean", "--yes", "--scope=repo"]).ok();
    assert_eq!(home.read("ws/proj/AGENTS.md"), written);
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read("ws/proj/AGENTS.md"), "an own line\n");
}

#[test]
fn words_in_the_place_of_a_copied_skills_own_file_are_an_edit() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    let meta = ".claude/skills/review/.sync-meta";
    assert!(home.is_there(meta), "it is a copy");
    home.write(meta, "words of mine\n");
    let ran = home.rules(&["sync"]);
    assert_eq!((ran.code, home.read(meta)), (3, "words of mine\n".to_owned()), "{ran:?}");
    home.rules(&["sync", "--force"]).ok();
    let kept = home.scratch.run_in(&home.path(".ai-agent/backups"), "grep", ["-rl", "words of mine", "."]);
    assert_eq!(kept.stdout.lines().count(), 1);
}

#[test]
fn a_copy_of_a_skill_whose_update_was_interrupted_is_no_edit_in_a_copied_home() {
    let mut killed = 0;
    for number in 0..12 {
        let home = Home::new();
        let skills = serde_json::json!([{ "name": "claude", "sync_mode": "copy" }]);
        let targets = serde_json::json!({ "instructions": [], "rules": [], "skills": skills });
        let manifest = serde_json::json!({ "version": "1.0", "active_targets": targets });
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.write(".ai-agent/skills/review/bin/run", "run\n");
        home.rules(&["sync"]).ok();
        fs::remove_dir_all(home.path(".ai-agent/skills/review/bin")).unwrap();
        home.write(".ai-agent/skills/review/SKILL.md", "another\n");
        home.write(".ai-agent/skills/review/doc/text", "text\n");
        if !home.killed(&format!("rules-begun-{number}"), &["sync"]) {
            break;
        }
        killed += 1;
        let copy = home.copy(&home.path(""), "copy");
        assert_eq!(home.rules_of(&copy, &["sync"]).code, 1, "{number}");
        home.rules_of(&copy, &["sync"]).ok();
        assert_eq!(home.rules_of(&copy, &["check"]).ok(), "", "{number}");
    }
    assert!(killed > 4, "{killed} kills");
}
