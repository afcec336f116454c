//! Edits in generated files that are taken into the store.

use std::fs;

use serde_json::{Value, json};

use super::{Home, timeless};

impl Home {
    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path}: {text}");
        self.write(path, &text.replace(from, to));
    }

    fn manifest(&self) -> Value {
        serde_json::from_str(&self.read(".ai-agent/manifest.json")).unwrap()
    }

    /// Returns the backups that have a text.
    fn kept(&self, text: &str) -> String {
        self.scratch.run_in(&self.path(".ai-agent/backups"), "grep", ["-r", "-l", text]).stdout
    }
}

#[test]
fn an_edit_of_agents_md_becomes_header_preamble_and_descriptions() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    home.edit("ws/AGENTS.md", "# AGENTS Rules\n", "# Our rules\n\nRead all of them.\n");
    home.edit("ws/AGENTS.md", "** -- test first", "** -- Tests come first");
    assert_eq!(home.rules(&["sync"]).code, 3, "without being asked for, nothing is taken");
    home.rules(&["sync", "--adopt"]).ok();
    let manifest = home.manifest();
    assert_eq!(manifest["agents_md"]["header"], "# Our rules");
    assert_eq!(manifest["agents_md"]["preamble"], "Read all of them.");
    assert_eq!(manifest["rules"][1]["cursor"], json!({ "description": "Tests come first" }));
    assert!(home.read(".cursor/rules/tests.mdc").starts_with("---\ndescription: \"Tests come first\"\n---\n"));
    let list = "# Our rules\n\nRead all of them.\n\n1. **style** -- How code looks\n2. **tests** -- Tests come first\n";
    assert!(timeless(&home.read("ws/AGENTS.md")).ends_with(&format!("T\n\n{list}")));
    assert_eq!(home.rules(&["check"]).ok(), "");

    let text = home.read("ws/AGENTS.md").replace("1. **style** -- How code looks\n", "");
    home.write("ws/AGENTS.md", &(text + "\nAnd one more thing.\n"));
    home.rules(&["sync", "--adopt"]).ok();
    let manifest = home.manifest();
    assert_eq!(manifest["rules"][0]["exclude"], json!(["kiro", "agents-md"]));
    assert_eq!(manifest["agents_md"]["preamble"], "Read all of them.\n\nAnd one more thing.");
    assert!(home.read("ws/AGENTS.md").ends_with("And one more thing.\n\n1. **tests** -- Tests come first\n"));
    assert!(home.kept("2. .*Tests come first").contains("/ws/AGENTS.md"), "the text as it was edited is kept");
    assert!(home.read(".claude/CLAUDE.md").contains("four spaces"), "other files still have the rule");

    home.write("ws/AGENTS.md", &(home.read("ws/AGENTS.md") + "2. **nosuch** -- no rule\n"));
    let before = home.tree();
    let ran = home.rules(&["sync", "--adopt"]);
    assert_eq!((ran.code, home.tree()), (3, before), "the store has no such rule: {ran:?}");
}

#[test]
fn an_edit_of_a_copied_skill_gets_to_the_store_and_to_all_agents() {
    let home = Home::new();
    let text = home.read(".ai-agent/manifest.json");
    let copies =
        text.replace("      \"codex\",\n      {", "      { \"name\": \"gemini\", \"sync_mode\": \"copy\" },\n      {");
    assert_ne!(copies, text);
    home.write(".ai-agent/manifest.json", &copies);
    home.write(".ai-agent/skills/review/old.md", "old\n");
    home.rules(&["sync"]).ok();
    let copy = |path: &str| format!(".claude/skills/review/{path}");
    home.write(&copy("SKILL.md"), "how to review twice\n");
    home.write(&copy("more/notes.md"), "notes\n");
    fs::remove_file(home.path(&copy("old.md"))).unwrap();
    assert_eq!(home.rules(&["sync"]).code, 3);
    let told = home.rules(&["sync", "--adopt", "--dry-run"]).ok();
    assert!(told.contains("  update  ~/.ai-agent/skills/review/SKILL.md\n"), "{told}");
    assert_eq!(home.read(".ai-agent/skills/review/SKILL.md"), "how to review\n", "a dry run writes nothing");
    home.rules(&["sync", "--adopt"]).ok();
    for place in [".ai-agent", ".gemini", ".claude"] {
        let read = |path: &str| home.read(&format!("{place}/skills/review/{path}"));
        assert_eq!((read("SKILL.md").as_str(), read("more/notes.md").as_str()), ("how to review twice\n", "notes\n"));
        assert!(!home.is_there(&format!("{place}/skills/review/old.md")), "{place}");
    }
    assert!(!home.is_there(".ai-agent/skills/review/.sync-meta"));
    assert!(home.kept("^old$").contains("/.ai-agent/skills/review/old.md"), "the skill as it was is kept");
    assert_eq!(home.rules(&["check"]).ok(), "");

    home.write(&copy("SKILL.md"), "of claude\n");
    home.write(".gemini/skills/review/SKILL.md", "of gemini\n");
    let before = home.tree();
    assert_eq!(home.rules(&["sync", "--adopt"]).code, 3, "two copies say different things");
    assert_eq!(home.tree(), before);
    home.write(".gemini/skills/review/SKILL.md", "of claude\n");
    home.rules(&["sync", "--adopt"]).ok();
    assert_eq!(home.read(".ai-agent/skills/review/SKILL.md"), "of claude\n", "both say the same");

    home.write(&copy("SKILL.md"), "edited\n");
    home.write(".ai-agent/skills/review/SKILL.md", "changed in the store\n");
    assert_eq!(home.rules(&["sync", "--adopt"]).code, 3, "the store has changed too");
    assert_eq!(home.read(".ai-agent/skills/review/SKILL.md"), "changed in the store\n");
}

#[test]
fn an_edit_of_front_matter_and_words_at_the_end_of_a_file_are_taken() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    home.edit(".cursor/rules/style.mdc", "alwaysApply: true\n", "alwaysApply: false\nglobs: *.rs, *.toml\n");
    home.write(".claude/CLAUDE.md", &(home.read(".claude/CLAUDE.md") + "Say what failed.\n"));
    home.rules(&["sync", "--adopt"]).ok();
    let cursor = json!({ "alwaysApply": false, "description": "How code looks", "globs": "*.rs, *.toml" });
    assert_eq!(home.manifest()["rules"][0]["cursor"], cursor);
    assert_eq!(home.read(".ai-agent/rules/tests.md"), "# Tests\n\ntest first\n\nSay what failed.\n");
    assert!(home.read(".gemini/GEMINI.md").contains("Say what failed."), "all agents have it now");
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.edit(".cursor/rules/style.mdc", "globs: ", "mine: x\nglobs: ");
    assert_eq!(home.rules(&["sync", "--adopt"]).code, 3, "the manifest has no place for such a key");
    assert!(home.read(".cursor/rules/style.mdc").contains("mine: x"));
}
