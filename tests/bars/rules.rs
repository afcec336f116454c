//! The cost of a sync with nothing to do and of the status, in a home with a thousand rules and two hundred skills.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::ROUNDS;
use super::sample::{Bar, compare};
use super::stage::{Stage, program};

const RULES: usize = 1000;
const SKILLS: usize = 200;
/// The agents that get skills. One of them gets copies.
const AGENTS: [&str; 5] = ["cursor", "codex", "claude", "gemini", "antigravity"];

/// Fills the store of a home.
fn store(home: &Path) {
    let store = home.join(".ai-agent");
    fs::create_dir_all(store.join("rules")).expect("a directory");
    let rule = |number: usize| {
        let text = format!("# Rule {number}\n\n{}", "Some words about how code looks in this place.\n".repeat(8));
        fs::write(store.join(format!("rules/rule-{number}.md")), text).expect("room");
        let cursor = json!({ "alwaysApply": true, "description": format!("rule {number}") });
        json!({ "id": format!("rule-{number}"), "cursor": cursor })
    };
    let rules: Vec<Value> = (0..RULES).map(rule).collect();
    for number in 0..SKILLS {
        let skill = store.join(format!("skills/skill-{number}"));
        fs::create_dir_all(skill.join("lib")).expect("a directory");
        fs::write(skill.join("SKILL.md"), "how it is done\n".repeat(40)).expect("room");
        fs::write(skill.join("lib/run.sh"), "#!/bin/sh\n".repeat(20)).expect("room");
    }
    let mode = |agent: &str| if agent == "claude" { "copy" } else { "symlink" };
    let skills = AGENTS.map(|agent| json!({ "name": agent, "sync_mode": mode(agent) }));
    let targets = json!({ "instructions": ["cursor", "codex", "claude", "gemini"],
        "rules": ["cursor", "codex", "kiro"], "skills": skills });
    let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": targets,
        "agents_md": { "paths": ["~/ws/AGENTS.md"] } });
    fs::write(store.join("manifest.json"), manifest.to_string()).expect("room");
}

/// Measures a sync beside `cat` of the files that it compares, and the status beside a program that does nothing.
///
/// A sync reads each file of the store and of the agents, since their times can lie; how long that takes is the machine's.
pub fn rules() -> bool {
    let stage = Stage::in_empty_home();
    store(stage.home());
    let ours = |word: &str| stage.command(&program("git-shiftlog"), &["rules", word]);
    stage.run(ours("sync"));
    let mut files = Vec::new();
    list(stage.home(), &mut files);
    files.retain(|path| !path.contains("/.ai-agent/shiftlog/"));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let what = |word: &str| format!("rules {word}, {RULES} rules and {SKILLS} skills, nothing to do");
    let pairs = compare(ROUNDS, || ours("sync"), || stage.command(Path::new("cat"), &files));
    let reads = format!("'cat' of the same {} files", files.len());
    let is_within = pairs.report(&what("sync"), &reads, Bar::Ratio(1.5));
    let pairs = compare(ROUNDS, || ours("status"), || stage.command(Path::new("true"), &[]));
    pairs.report(&what("status"), "a program that does nothing", Bar::Extra(20.0)) && is_within
}

/// Adds the files below a directory, without those to which links lead.
fn list(directory: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => list(&entry.path(), files),
            kind if kind.is_file() => files.push(entry.path().to_str().expect("a name").to_owned()),
            _ => {}
        }
    }
}
