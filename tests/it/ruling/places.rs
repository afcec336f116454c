//! Where agents' files are: the places of today, and those of the earlier tool.

use serde_json::Value;

use super::{HEAD, Home, timeless};

fn profile(home: &Home) -> Value {
    let manifest: Value = serde_json::from_str(&home.read(".ai-agent/manifest.json")).unwrap();
    manifest["profile"].clone()
}

#[test]
fn a_new_store_uses_the_places_of_today_unless_those_of_the_earlier_tool_are_in_use() {
    let home = Home::empty();
    home.write(".codex/AGENTS.md", "# Review\n\nread twice\n");
    home.write(".claude/CLAUDE.md", "# Style\n\nfour spaces\n");
    home.write(".claude/rules/rust.md", "---\npaths: \"*.rs\"\n---\n\nno unwrap\n");
    home.write(".gemini/GEMINI.md", "# Names\n\nsay what it is\n");
    home.write(".kiro/steering/product.md", "---\ninclusion: always\n---\n\nwhat it is for\n");
    home.write(".cursor/rules/tests.mdc", "---\nalwaysApply: true\n---\n\ntest first\n");
    home.write(".agents/skills/review/SKILL.md", "review\n");
    let before = home.tree();
    home.rules(&["init", "--yes"]).ok();
    assert_eq!(profile(&home), "current");
    let value: Value = serde_json::from_str(&home.rules(&["status", "--json"]).ok()).unwrap();
    let ids: Vec<&str> = value["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["tests", "review", "style", "rust", "names", "product"], "each agent's own are taken in");
    let all = ["test first", "read twice", "four spaces", "no unwrap", "say what it is", "what it is for"];
    for file in [".codex/AGENTS.md", ".gemini/GEMINI.md"] {
        assert!(all.iter().all(|words| home.read(file).contains(words)), "{file}: {}", home.read(file));
    }
    assert_eq!(
        timeless(&home.read(".claude/rules/rust.md")),
        format!("---\npaths: \"*.rs\"\n---\n\n{HEAD}\nno unwrap\n")
    );
    let kiro = home.read(".kiro/steering/rust.md");
    assert!(kiro.starts_with("---\ninclusion: fileMatch\nfileMatchPattern: [\"*.rs\"]\n---\n\n# Generated"), "{kiro}");
    assert!(home.is_there(".claude/rules/style.md") && home.is_there(".kiro/steering/names.md"));
    assert_eq!(timeless(&home.read(".claude/CLAUDE.md")), format!("{HEAD}\n"), "its words are not said twice");
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["sync"]).ok();
    home.rules(&["add-rule", "pace"]).ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);

    for (file, expected) in [(".codex/model-instructions.md", Value::Null), (".ai-agent/rules/x.md", Value::Null)] {
        let home = Home::empty();
        home.write(file, "words\n");
        home.rules(&["init", "--yes"]).ok();
        assert_eq!(profile(&home), expected, "{file}");
    }
    let home = Home::empty();
    home.rules(&["init", "--yes", "--profile=ai-sync"]).ok();
    assert_eq!(profile(&home), Value::Null);
    let home = Home::new();
    home.rules(&["sync"]).ok();
    assert_eq!(profile(&home), Value::Null, "a store of the earlier tool keeps its places");
}

#[test]
fn what_codex_has_at_places_of_both_profiles_is_taken_in_or_told() {
    let home = Home::empty();
    home.write(".codex/AGENTS.md", "# Review\n\nread twice\n");
    home.write(".codex/skills/x/SKILL.md", "x\n");
    let told = home.rules(&["init", "--yes"]).ok();
    assert_eq!(profile(&home), "current");
    assert_eq!(home.read(".ai-agent/rules/review.md"), "# Review\n\nread twice\n");
    assert!(told.contains("'~/.codex/skills/x' is left out: the profile 'current' has another place for it"), "{told}");

    let home = Home::empty();
    home.write(".codex/AGENTS.md", "# Review\n\nread twice\n");
    home.write(".codex/model-instructions.md", "# Tests\n\ntest first\n");
    let told = home.rules(&["init", "--yes"]).ok();
    assert_eq!(profile(&home), Value::Null);
    assert!(
        told.contains("'~/.codex/AGENTS.md' is left out: the profile 'ai-sync' has another place for it"),
        "{told}"
    );
}

#[test]
fn words_that_a_user_adds_to_claude_md_are_not_replaced() {
    let home = Home::empty();
    home.write(".claude/CLAUDE.md", "# Style\n\nfour spaces\n");
    home.rules(&["init", "--yes"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    home.write(".claude/CLAUDE.md", "# Style\n\nfour spaces\n\nand new words\n");
    let before = home.tree();
    home.rules(&["sync"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "# Style\n\nfour spaces\n\nand new words\n");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}
