//! What the README shows is what the programs print.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;

use crate::support::{Scratch, bin_dir};
use crate::told::works;

/// Returns what stands below each command in a text: commands begin with `$ `.
fn printed(text: &str) -> Vec<(&str, &str)> {
    let commands = format!("\n{text}").match_indices("\n$ ").map(|(at, _)| at).collect::<Vec<_>>();
    let end_of = |number: usize| commands.get(number + 1).map_or(text.len(), |at| at.saturating_sub(1));
    let part = |(number, at): (usize, &usize)| text[*at..end_of(number)].split_once('\n').unwrap_or_default();
    commands.iter().enumerate().map(part).map(|(command, output)| (command, output.trim())).collect()
}

#[test]
fn the_readme_shows_what_its_demonstration_prints() {
    let mut scratch = Scratch::new();
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The programs are built already.
    let installed = scratch.root().join("installed");
    fs::create_dir(&installed).unwrap();
    symlink(bin_dir(), installed.join("bin")).unwrap();
    let cargo = scratch.root().join("bin/cargo");
    fs::write(&cargo, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    scratch.env.insert("CARGO_INSTALL_ROOT".into(), installed.display().to_string());
    let path = format!("{}:{}", scratch.root().join("bin").display(), std::env::var("PATH").unwrap());
    scratch.env.insert("PATH".into(), path);
    let shown = scratch.run_in(&scratch.top, "sh", [project.join("tests/demo.sh")]).ok();
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let example = readme.split("```console\n").nth(1).unwrap().split("```\n").next().unwrap();
    let (shown, example) = (printed(&shown), printed(example));
    assert!(example.len() >= 3, "{example:#?}");
    for (command, output) in example {
        let found = shown.iter().find(|(other, _)| *other == command).map(|(_, output)| *output);
        assert_eq!(found, Some(output), "{command}");
    }
}

#[test]
fn the_pictures_of_the_readme_are_there_and_no_others() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let mut named: Vec<&str> = readme.split(['"', '(', ')']).filter(|word| word.ends_with(".png")).collect();
    named.sort_unstable();
    assert!(named.len() >= 12, "{named:?}");
    let files = fs::read_dir(project.join(".github")).unwrap().map(|entry| entry.unwrap().file_name());
    let files = files.map(|name| format!(".github/{}", name.to_str().unwrap())).filter(|name| name.ends_with(".png"));
    let mut files: Vec<String> = files.collect();
    files.sort();
    assert_eq!(files, named, "tests/browser/pages.py makes them");
}

#[test]
fn the_readme_shows_what_is_told_of_rules() {
    let scratch = Scratch::set_up();
    let manifest = json!({
        "version": "1.0", "updated": "2026-11-23",
        "active_targets": {
            "instructions": ["cursor", "codex", "claude", "gemini"], "rules": ["cursor", "codex", "kiro"],
            "skills": [{ "name": "claude", "sync_mode": "symlink", "conflict_strategy": "archive" }],
        },
        "rules": [
            { "id": "style", "cursor": { "alwaysApply": true, "description": "How code looks" } },
            { "id": "tests", "imported_from": "claude", "cursor": { "alwaysApply": true } },
        ],
        "agents_md": { "paths": ["~/ws/AGENTS.md"] },
    });
    let store = scratch.home().join(".ai-agent");
    fs::create_dir_all(store.join("skills/review")).unwrap();
    fs::write(store.join("manifest.json"), manifest.to_string()).unwrap();
    scratch.write("CLAUDE.md", "Be brief.\n");
    scratch.write(".claude/rules/tests.md", "# Tests\n\nTest what you change.\n");
    let session = scratch.session("s1");
    let before = works(&session, "one");
    scratch.write(".claude/rules/tests.md", "# Tests\n\nWrite the test first.\n");
    works(&session, "two");
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let example = readme.split("```console\n").nth(2).unwrap().split("```\n").next().unwrap();
    let example = printed(example);
    assert_eq!(example.len(), 3, "{example:#?}");
    for (command, output) in example {
        let shown = scratch.run_in(&scratch.top, "sh", ["-c", command.trim_start_matches("$ ")]).stdout;
        assert_eq!(shown.trim(), output.replace("1d5d34d", &before[..7]), "{command}");
    }
}
