//! What rules cost in a home with a thousand of them and two hundred skills: a sync with nothing to do, and the status.

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

/// Measures both commands beside a program that does nothing.
pub fn rules() -> bool {
    let stage = Stage::in_empty_home();
    store(stage.home());
    let ours = |word: &str| stage.command(&program("git-shiftlog"), &["rules", word]);
    stage.run(ours("sync"));
    let mut is_within = true;
    for (word, bar) in [("sync", 50.0), ("status", 20.0)] {
        let pairs = compare(ROUNDS, || ours(word), || stage.command(Path::new("true"), &[]));
        let what = format!("rules {word}, {RULES} rules and {SKILLS} skills, nothing to do");
        is_within &= pairs.report(&what, "a program that does nothing", Bar::Extra(bar));
    }
    is_within
}
