//! Homes and repositories in one another, each with a store: each leaves what the other has written.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Home;

/// Returns the files that a home has written down, and what is in them.
fn written(top: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let registry = fs::read(top.join(".ai-agent/shiftlog/registry.json")).unwrap();
    let registry: Value = serde_json::from_slice(&registry).unwrap();
    let paths = registry["entries"].as_object().unwrap().keys().map(|path| top.join(path));
    let texts = paths.filter_map(|path| Some((path.clone(), fs::read(path).ok()?)));
    texts.collect()
}

fn assert_left(known: &[(PathBuf, Vec<u8>)], told: &str) {
    for (path, bytes) in known {
        let there = fs::read(path).unwrap_or_default();
        assert_eq!(String::from_utf8_lossy(&there), String::from_utf8_lossy(bytes), "{}: {told}", path.display());
    }
}

/// Returns all files and links of a home but for those of stores.
fn all(home: &Home) -> String {
    let script = "find . -name .ai-agent -prune -o ! -type d -printf '%p %y %m %T@ %l\\n' | sort; \
                  find . -name .ai-agent -prune -o -type f -print | sort | xargs -r sha256sum";
    home.scratch.run_in(&home.path(""), "sh", ["-c", script]).ok()
}

/// Makes a home with another in it. The settings of each name files of the other.
fn nested(text: &str) -> (Home, PathBuf) {
    let home = Home::new();
    let sub = home.path("sub");
    let manifest = |paths: String| {
        json!({ "version": "1.0", "rules": [{ "id": "style" }, { "id": "tests" }],
            "active_targets": { "instructions": ["cursor", "claude", "gemini"], "rules": ["cursor", "codex", "kiro"],
                "skills": [{ "name": "claude", "sync_mode": "copy" }, "codex"] },
            "agents_md": { "paths": paths.split(' ').collect::<Vec<_>>() } })
        .to_string()
    };
    let top = home.path("").display().to_string();
    let top = top.trim_end_matches('/');
    home.write(
        ".ai-agent/manifest.json",
        &manifest("~/ws ~/sub/AGENTS.md ~/sub/.claude/CLAUDE.md ~/*/.gemini/*.md".into()),
    );
    home.write(
        "sub/.ai-agent/manifest.json",
        &manifest(format!("~/AGENTS.md {top}/ws/AGENTS.md {top}/.claude/CLAUDE.md {top}/.gemini/GEMINI.md")),
    );
    for rule in ["style", "tests"] {
        home.write(&format!("sub/.ai-agent/rules/{rule}.md"), "of the home within\n");
    }
    home.write("sub/.ai-agent/skills/review/SKILL.md", "another review\n");
    fs::create_dir_all(home.path("ws")).unwrap();
    if !text.is_empty() {
        for path in
            ["ws/AGENTS.md", "sub/AGENTS.md", "sub/.claude/CLAUDE.md", ".claude/CLAUDE.md", "sub/.gemini/GEMINI.md"]
        {
            home.write(path, text);
        }
    }
    (home, sub)
}

#[test]
fn two_homes_in_one_another_leave_what_the_other_has_written() {
    for is_inner_first in [false, true] {
        for text in ["", "mine\n"] {
            for is_lost in [false, true] {
                let (home, sub) = nested(text);
                let before = all(&home);
                let (top, told) = (home.path(""), format!("inner first: {is_inner_first}, {text:?}, lost: {is_lost}"));
                let (one, other) = if is_inner_first { (&sub, &top) } else { (&top, &sub) };
                home.rules_of(one, &["sync"]).ok();
                let known = written(one);
                for command in
                    [&["sync"][..], &["add-rule", "new"], &["sync", "--force"], &["remove-rule", "style"], &["sync"]]
                {
                    let ran = home.rules_of(other, command);
                    assert_eq!(ran.code, 0, "{told}: {ran:?}");
                    assert_left(&known, &told);
                }
                let others = written(other);
                assert!(known.iter().all(|(path, _)| others.iter().all(|(other, _)| path != other)), "{told}");
                if is_lost {
                    // What is nearer to a store is that store's.
                    fs::remove_dir_all(top.join(".ai-agent/shiftlog")).unwrap();
                    home.rules(&["sync"]).ok();
                    assert_left(&written(&sub), &told);
                }
                home.rules_of(other, &["clean", "--yes"]).ok();
                home.rules_of(other, &["clean", "--yes"]).ok();
                if !is_lost {
                    assert_left(&known, &told);
                }
                let again = home.rules_of(one, &["sync"]).ok();
                assert!(!again.contains("changed"), "{told}: {again}");
                home.rules_of(one, &["clean", "--yes"]).ok();
                home.rules_of(other, &["clean", "--yes"]).ok();
                assert_eq!(all(&home), before, "{told}");
            }
        }
    }
}

#[test]
fn what_a_home_has_let_go_and_the_home_within_has_written_stays() {
    for is_lost in [false, true] {
        let (home, sub) = nested("mine\n");
        let before = all(&home);
        home.rules(&["sync"]).ok();
        home.rules(&["clean", "--yes"]).ok();
        home.rules_of(&sub, &["sync"]).ok();
        let known = written(&sub);
        if is_lost {
            fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
        }
        for command in [&["clean", "--yes"][..], &["sync"], &["clean", "--yes", "--force"]] {
            home.rules(command).ok();
            assert_left(&known, &format!("{command:?} {is_lost}"));
        }
        home.rules_of(&sub, &["clean", "--yes"]).ok();
        assert_eq!(all(&home), before);
    }
}

#[test]
fn a_repository_leaves_what_a_repository_in_it_has_written() {
    let home = Home::new();
    let scratch = &home.scratch;
    let manifest = |paths: Value| {
        json!({ "version": "1.0", "rules": [{ "id": "a" }], "agents_md": { "paths": paths },
            "active_targets": { "instructions": ["codex"] } })
        .to_string()
    };
    let sub = scratch.top.join("sub");
    fs::create_dir_all(&sub).unwrap();
    scratch.git_in(&sub, ["init", "-q"]).ok();
    scratch.write(".ai-agent/rules/a.md", "of the repository around\n");
    scratch.write(".ai-agent/manifest.json", &manifest(json!(["AGENTS.md", "sub/AGENTS.md"])));
    scratch.write("sub/.ai-agent/rules/a.md", "of the repository within\n");
    scratch.write("sub/.ai-agent/manifest.json", &manifest(json!([])));
    let rules = |top: &Path, command: &[&str]| scratch.shiftlog_in(top, "rules", [command, &["--scope=repo"]].concat());
    let read = || fs::read_to_string(sub.join("AGENTS.md")).unwrap_or_default();
    for is_clone in [false, true] {
        rules(&sub, &["sync"]).ok();
        let text = read();
        assert!(text.contains("of the repository within"));
        if is_clone {
            // Nothing is written down in a fresh clone.
            fs::remove_dir_all(sub.join(".git/shiftlog")).unwrap();
        }
        for command in [&["sync"][..], &["sync", "--force"], &["clean", "--yes"]] {
            rules(&scratch.top, command).ok();
            assert_eq!(read(), text, "{command:?} {is_clone}");
        }
    }
    rules(&sub, &["clean", "--yes"]).ok();
    assert!(!sub.join("AGENTS.md").exists());
    rules(&scratch.top, &["sync"]).ok();
    let text = read();
    assert!(text.contains("of the repository around"));
    rules(&sub, &["sync"]).ok();
    rules(&sub, &["clean", "--yes"]).ok();
    assert_eq!(read(), text);
    rules(&scratch.top, &["clean", "--yes"]).ok();
    assert!(!sub.join("AGENTS.md").exists() && !scratch.top.join("AGENTS.md").exists());
}

#[test]
fn a_home_that_is_a_repository_has_two_scopes_that_leave_each_other_alone() {
    let home = Home::new();
    let top = home.path("");
    home.scratch.git_in(&top, ["init", "-q"]).ok();
    let files = || all(&home).lines().filter(|line| !line.contains("./.git/")).collect::<Vec<_>>().join("\n");
    let before = files();
    home.rules(&["sync"]).ok();
    let known = written(&top);
    let repository = |command: &[&str]| home.scratch.shiftlog_in(&top, "rules", [command, &["--scope=repo"]].concat());
    repository(&["sync"]).ok();
    assert_left(&known, "sync");
    assert!(home.is_there(".agents/skills/review"), "the repository's own");
    assert_eq!((home.rules(&["check"]).code, repository(&["check"]).code), (0, 0));
    home.rules(&["sync"]).ok();
    assert!(home.is_there(".agents/skills/review"));
    repository(&["clean", "--yes"]).ok();
    assert_left(&known, "clean");
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(files(), before);
}
