//! `git shiftlog rules`: one store of rules and skills for agents.

mod adopting;
mod answers;
mod between;
mod blocks;
mod bounds;
mod elsewhere;
mod followed;
mod harm;
mod hostile;
mod in_the_way;
mod interrupted;
mod keeping;
mod killed;
mod leftovers;
mod losses;
mod marks;
mod meanwhile;
mod names;
mod nested;
mod outside;
mod places;
mod sharing;
mod unknown;
mod unreadable;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Ran, Scratch, feed};

/// A home with a store as the earlier tool makes it.
struct Home {
    scratch: Scratch,
}

const MANIFEST: &str = r##"{
  "version": "1.0",
  "updated": "2026-01-01",
  "imported_from": [
    "cursor"
  ],
  "active_targets": {
    "instructions": [
      "cursor",
      "codex",
      "claude",
      "gemini"
    ],
    "rules": [
      "cursor",
      "codex",
      "kiro"
    ],
    "skills": [
      "codex",
      {
        "name": "claude",
        "sync_mode": "copy",
        "conflict_strategy": "archive"
      }
    ]
  },
  "x-mine": "zwölf",
  "rules": [
    {
      "id": "style",
      "file": "style.md",
      "imported_from": "manual",
      "cursor": {
        "alwaysApply": true,
        "description": "How code looks"
      },
      "exclude": [
        "kiro"
      ]
    },
    {
      "id": "tests",
      "file": "tests.md"
    }
  ],
  "skills": {
    "shared_dir": "skills"
  },
  "agents_md": {
    "paths": [
      "~/ws/AGENTS.md"
    ]
  },
  "claude_md": {
    "paths": []
  }
}
"##;

impl Home {
    fn empty() -> Self {
        Home { scratch: Scratch::new() }
    }

    fn new() -> Self {
        let home = Self::empty();
        home.write(".ai-agent/manifest.json", MANIFEST);
        home.write(".ai-agent/rules/style.md", "# Style\r\n\r\nfour spaces\r\n");
        home.write(".ai-agent/rules/tests.md", "# Tests\n\ntest first\n");
        home.write(".ai-agent/skills/review/SKILL.md", "how to review\n");
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.scratch.home().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn is_there(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    fn rules(&self, args: &[&str]) -> Ran {
        self.scratch.shiftlog("rules", args)
    }

    fn answered(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.scratch.command("git", &self.scratch.top);
        feed(command.args(["shiftlog", "rules"]).args(args), input.as_bytes())
    }

    /// Returns everything of the home but the store, and what it is. A directory has a new time with each file in it.
    fn tree(&self) -> String {
        let script = "find . -path ./.ai-agent -prune -o -type d -printf '%p %y %m\\n' -o -printf '%p %y %m %T@ %l\\n' | sort; \
                      find . -path ./.ai-agent -prune -o -type f -print | sort | xargs -r sha256sum";
        self.scratch.run_in(&self.scratch.home(), "sh", ["-c", script]).ok()
    }
}

/// Returns a generated text without the time in it.
fn timeless(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| if line.starts_with("# Last synced: 20") { "# Last synced: T\n" } else { line }).collect()
}

const HEAD: &str =
    "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: git shiftlog rules sync\n# Last synced: T\n";

#[test]
fn a_sync_writes_each_agents_files_byte_for_byte() {
    let home = Home::new();
    let ran = home.rules(&["sync"]);
    assert_eq!(ran.ok(), "  4 instruction targets, 3 rule targets, 2 skill targets synced.\n");
    let (style, tests) = ("# Style\n\nfour spaces\n", "# Tests\n\ntest first\n");
    let both = [HEAD, "", style, "", tests, ""].join("\n");
    assert_eq!(timeless(&home.read(".claude/CLAUDE.md")), both);
    assert_eq!(timeless(&home.read(".gemini/GEMINI.md")), both);
    assert_eq!(timeless(&home.read(".kiro/steering/conventions.md")), [HEAD, "", tests, ""].join("\n"));
    assert_eq!(
        timeless(&home.read(".codex/model-instructions.md")),
        [HEAD, "", "## Rule: style\n", style, "", "## Rule: tests\n", tests, ""].join("\n")
    );
    assert_eq!(
        timeless(&home.read(".cursor/rules/style.mdc")),
        format!("---\ndescription: \"How code looks\"\nalwaysApply: true\n---\n\n{HEAD}\n{style}")
    );
    assert_eq!(timeless(&home.read(".cursor/rules/tests.mdc")), format!("---\n---\n\n{HEAD}\n{tests}"));
    assert_eq!(
        timeless(&home.read("ws/AGENTS.md")),
        [HEAD, "# AGENTS Rules", "", "1. **style** -- How code looks", "2. **tests** -- test first", ""].join("\n")
    );
    let store = home.path(".ai-agent/skills/review");
    assert_eq!(fs::read_link(home.path(".codex/skills/review")).unwrap(), store);
    assert_eq!(home.read(".claude/skills/review/SKILL.md"), "how to review\n");
    let meta: Value = serde_json::from_str(&home.read(".claude/skills/review/.sync-meta")).unwrap();
    assert_eq!((&meta["source"], &meta["sync_mode"]), (&json!(store), &json!("copy")));
    let manifest = home.read(".ai-agent/manifest.json");
    let day: String = manifest.split("\"updated\": \"").nth(1).unwrap().chars().take(10).collect();
    assert_eq!(manifest, MANIFEST.replace("2026-01-01", &day), "unknown keys, their order and the form stay");
    assert_eq!(home.rules(&["check"]).ok(), "");
}

#[test]
fn init_takes_in_what_four_agents_have_and_says_what_it_moves() {
    let home = Home::empty();
    home.write(".cursor/rules/style.mdc", "---\ndescription: Looks\nalwaysApply: false\n---\n\nfour spaces\n");
    home.write(".codex/model-instructions.md", "before all\n\n# Review\n\nread twice\n");
    home.write(".claude/CLAUDE.md", "# Style\n\ntabs, and nothing else at all\n\n# Tests\n\n```\n# no heading\n```\n");
    home.write(".gemini/GEMINI.md", "# Tests\n\n```\n# no heading\n```\n");
    home.write(".codex/skills/review/SKILL.md", "review\n");
    let before = home.tree();
    assert_eq!(home.rules(&["sync"]).code, 1, "there is no store yet");
    let refused = home.answered(&["init"], "\n\n\n1\nn\n");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stdout.contains("become archived skills"), "{refused:?}");
    assert_eq!(home.tree(), before);
    let told = home.rules(&["init", "--yes"]).ok();
    assert!(
        told.contains("  ~/.codex/skills/review\n") && told.contains("  duplicate: tests (gemini), skipped\n"),
        "{told}"
    );
    let value: Value = serde_json::from_str(&home.rules(&["status", "--json"]).ok()).unwrap();
    let ids: Vec<&str> = value["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["style", "codex-preamble", "review", "tests"]);
    assert_eq!(value["rules"][0]["description"], "Looks");
    assert_eq!((&value["skills"], &value["archived_skills"]), (&json!(["review"]), &json!(["codex-review"])));
    assert!(home.read(".ai-agent/rules/codex-preamble.md").contains("before all"));
    assert!(home.read(".claude/CLAUDE.md").starts_with("# Generated"), "its text is in the store, so it is replaced");
    assert!(home.read(".claude/CLAUDE.md").contains("read twice"));
    assert_eq!(home.rules(&["init", "--yes"]).code, 1, "a second store is not made");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before, "the home is as it was");
}

#[test]
fn a_file_with_text_of_the_users_gets_a_block_and_keeps_the_text() {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine, without an end");
    home.rules(&["sync"]).ok();
    let text = home.read(".claude/CLAUDE.md");
    assert!(text.starts_with("<!-- git-shiftlog rules: begin -->\n# Generated"), "{text}");
    assert!(text.ends_with("<!-- git-shiftlog rules: end -->\nmine, without an end"), "{text}");
    home.write(".claude/CLAUDE.md", &format!("{text}\nand more\n"));
    home.rules(&["add-rule", "new"]).ok();
    assert!(home.read(".claude/CLAUDE.md").ends_with("mine, without an end\nand more\n"), "text around it is no drift");
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace("four", "five"));
    assert_eq!(home.rules(&["sync"]).code, 3, "text in it is");
    home.rules(&["sync", "--adopt"]).ok();
    assert!(home.read(".ai-agent/rules/style.md").contains("five spaces"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/CLAUDE.md"), "mine, without an end\nand more\n");
}

/// Writes a store with one rule, for two agents, into the repository.
fn write_rule_of_repository(scratch: &Scratch) {
    scratch.write(".ai-agent/rules/build.md", "# Build\n\nmake it\n");
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "build" }],
        "active_targets": { "instructions": ["cursor", "claude"], "rules": ["cursor"], "skills": [] } });
    scratch.write(".ai-agent/manifest.json", &manifest.to_string());
}

#[test]
fn a_repository_has_rules_of_its_own_that_a_build_can_check() {
    let home = Home::new();
    let scratch = &home.scratch;
    write_rule_of_repository(scratch);
    home.rules(&["sync", "--scope=repo"]).ok();
    let text = fs::read_to_string(scratch.top.join("AGENTS.md")).unwrap();
    let head = "# Generated from .ai-agent/ -- do not edit directly\n# Run: git shiftlog rules sync --scope=repo\n";
    assert!(text.starts_with(head) && text.contains("## Rule: build\n") && text.contains("make it"), "{text}");
    assert!(scratch.top.join("CLAUDE.md").is_file() && scratch.top.join(".cursor/rules/build.mdc").is_file());
    assert!(!home.is_there(".claude/CLAUDE.md"), "the home is not touched");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "rules"]).ok();
    assert!(!scratch.git(["ls-files"]).ok().contains("shiftlog/"), "what was written is remembered in .git");
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", ".", clone.to_str().unwrap()]).ok();
    let check = || scratch.shiftlog_in(&clone, "rules", ["check", "--scope=repo"]);
    assert_eq!(check().ok(), "");
    fs::write(clone.join(".ai-agent/rules/build.md"), "# Build\n\nmake it twice\n").unwrap();
    let found = check();
    assert_eq!((found.code, found.stdout.lines().count()), (3, 3), "{found:?}");
    assert!(found.stdout.contains("outdated: AGENTS.md\n"), "{found:?}");
    scratch.shiftlog_in(&clone, "rules", ["sync", "--scope=repo"]).ok();
    assert_eq!(check().ok(), "");
}

#[test]
fn files_of_a_repository_that_name_the_store_of_the_home_are_still_ours() {
    let home = Home::new();
    let scratch = &home.scratch;
    write_rule_of_repository(scratch);
    let before = scratch.git(["status", "--porcelain", "--untracked-files=all"]).ok();
    scratch.write("CLAUDE.md", "mine\n");
    home.rules(&["sync", "--scope=repo"]).ok();
    // As earlier versions wrote them.
    let names = ["AGENTS.md", "CLAUDE.md", ".cursor/rules/build.mdc"];
    let read = |name: &str| fs::read_to_string(scratch.top.join(name)).unwrap();
    let is_old = |name: &str| read(name).contains("# Generated from ~/.ai-agent/ -- do not edit directly\n");
    for name in names {
        let text = read(name);
        let old = text.replace("# Generated from .ai-agent/", "# Generated from ~/.ai-agent/");
        assert_ne!(old, text, "{name}");
        scratch.write(name, &old);
    }
    // Where it is known that they were written, and in a clone, where it is not.
    let registry = scratch.top.join(".git/shiftlog");
    for is_known in [true, false] {
        if !is_known {
            fs::remove_dir_all(&registry).unwrap();
        }
        assert_eq!(home.rules(&["check", "--scope=repo"]).ok(), "", "{is_known}");
        home.rules(&["sync", "--scope=repo"]).ok();
        assert!(names.into_iter().all(is_old), "no file changes for that line alone");
    }
    scratch.write("AGENTS.md", &read("AGENTS.md").replace("make it", "make it well"));
    assert_eq!(home.rules(&["sync", "--scope=repo"]).code, 3, "an edit in one is found");
    home.rules(&["sync", "--scope=repo", "--adopt"]).ok();
    assert!(read(".ai-agent/rules/build.md").contains("make it well"));
    let old: Vec<&str> = names.into_iter().filter(|name| is_old(name)).collect();
    assert_eq!(old, ["AGENTS.md"], "what changes anyway gets the line of today; this one has the new rule already");
    assert_eq!(home.rules(&["check", "--scope=repo"]).ok(), "");
    home.rules(&["clean", "--scope=repo", "--yes"]).ok();
    assert_eq!(read("CLAUDE.md"), "mine\n");
    fs::remove_file(scratch.top.join("CLAUDE.md")).unwrap();
    assert_eq!(scratch.git(["status", "--porcelain", "--untracked-files=all"]).ok(), before);
}

#[test]
fn clean_offers_what_helps_where_generated_files_were_changed() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    home.write(".claude/CLAUDE.md", &home.read(".claude/CLAUDE.md").replace("four", "five"));
    let told = home.rules(&["clean", "--yes"]);
    let hint = "hint: nothing was removed; --force removes them and keeps a backup, 'git shiftlog rules sync --adopt' takes \
                changes into the rules first, where these have a place for them\n";
    assert!(told.code == 3 && told.stderr.ends_with(hint), "{told:?}");
    home.rules(&["sync", "--adopt"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there(".claude/CLAUDE.md") && home.read(".ai-agent/rules/style.md").contains("five"));
}

#[test]
fn a_copy_of_claude_md_has_the_rules_of_claude() {
    let home = Home::new();
    home.rules(&["add-rule", "no-claude", "--exclude=claude,agents-md"]).ok();
    fs::create_dir_all(home.path("p")).unwrap();
    home.rules(&["set", "claude_md.paths", "~/p/CLAUDE.md"]).ok();
    home.rules(&["sync"]).ok();
    assert_eq!(timeless(&home.read("p/CLAUDE.md")), timeless(&home.read(".claude/CLAUDE.md")));
    assert!(!home.read("p/CLAUDE.md").contains("No Claude") && home.read(".gemini/GEMINI.md").contains("No Claude"));
    assert!(!home.read("ws/AGENTS.md").contains("no-claude"));
    home.rules(&["set", "agents_md.preamble", "Words."]).ok();
    home.rules(&["sync", "--only=cursor"]).ok();
    assert!(
        timeless(&home.read("ws/AGENTS.md"))
            .ends_with("T\n\n# AGENTS Rules\n\nWords.\n\n1. **style** -- How code looks\n2. **tests** -- test first\n")
    );
}

#[test]
fn a_change_of_mode_cleans_up_the_other_kind() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    let meta: Value = serde_json::from_str(&home.read(".claude/skills/review/.sync-meta")).unwrap();
    let time = meta["synced_at"].as_str().unwrap();
    assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
    let modes = |codex: &str, claude: &str| {
        let mut manifest: Value = serde_json::from_str(&home.read(".ai-agent/manifest.json")).unwrap();
        manifest["active_targets"]["skills"] =
            json!([{ "name": "codex", "sync_mode": codex }, { "name": "claude", "sync_mode": claude }]);
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.rules(&["sync"]).ok();
    };
    modes("copy", "symlink");
    assert!(home.is_there(".codex/skills/review/.sync-meta"));
    let link = |path: &str| fs::read_link(home.path(path)).ok();
    assert_eq!(link(".codex/skills/review"), None);
    assert_eq!(link(".claude/skills/review"), Some(home.path(".ai-agent/skills/review")));
    modes("symlink", "copy");
    assert_eq!(link(".codex/skills/review"), Some(home.path(".ai-agent/skills/review")));
    assert!(home.is_there(".claude/skills/review/.sync-meta"));
    assert!(!home.is_there(".ai-agent/backups"), "what we wrote is no original");
    assert!(!home.is_there(".ai-agent/skills/review/.sync-meta"));
}

#[test]
fn status_has_its_sections() {
    let home = Home::new();
    let told = home.rules(&["status"]).ok();
    let titles: Vec<&str> = told.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        titles,
        ["Rules (2)", "Active Targets", "Skills (1)", "AGENTS.md Paths", "CLAUDE.md Paths", "Last Synced"]
    );
    assert!(told.contains("  style (from manual) [always] -- How code looks\n"), "{told}");
}
