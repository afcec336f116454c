//! Homes that share one store by symbolic links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use super::Home;
use crate::support::Ran;

impl Home {
    /// A home with a store and another one that shares it, each with files of its own; and what the two are.
    fn two() -> (Home, PathBuf, [String; 2]) {
        let home = Home::new();
        let two = home.scratch.root().join("two");
        home.write(".claude/CLAUDE.md", "mine\n");
        home.write(".codex/skills/review/SKILL.md", "my own review\n");
        for (path, text) in [(".claude/CLAUDE.md", "theirs\n"), (".claude/skills/review/SKILL.md", "their review\n")] {
            fs::create_dir_all(two.join(path).parent().unwrap()).unwrap();
            fs::write(two.join(path), text).unwrap();
        }
        symlink(home.path(".ai-agent"), two.join(".ai-agent")).unwrap();
        let before = [home.written(&home.path("")), home.written(&two)];
        (home, two, before)
    }
}

#[test]
fn homes_that_share_a_store_each_have_their_own_originals() {
    for is_first in [true, false] {
        let (home, two, before) = Home::two();
        let one = home.path("");
        let (first, last) = if is_first { (&one, &two) } else { (&two, &one) };
        home.rules_of(first, &["sync"]).ok();
        let synced = home.written(first);
        home.rules_of(last, &["clean", "--yes"]).ok();
        home.rules_of(last, &["sync"]).ok();
        for base in [first, last] {
            assert_eq!(home.rules_of(base, &["check"]).ok(), "", "{}", base.display());
        }
        assert_eq!(home.written(first), synced, "each writes its own files alone");
        home.rules_of(first, &["add-rule", "new"]).ok();
        assert_eq!(home.rules_of(last, &["check"]).code, 3, "the rules are those of both");
        home.rules_of(last, &["clean", "--yes"]).ok();
        assert!(fs::read_to_string(first.join(".gemini/GEMINI.md")).unwrap().contains("# New"));
        home.rules_of(first, &["clean", "--yes"]).ok();
        assert_eq!([home.written(&one), home.written(&two)], before, "the first one first: {is_first}");
    }
}

#[test]
fn a_home_that_shares_a_store_can_be_moved() {
    let (home, two, before) = Home::two();
    home.rules(&["sync"]).ok();
    home.rules_of(&two, &["sync"]).ok();
    let moved = home.scratch.root().join("moved");
    fs::rename(&two, &moved).unwrap();
    home.rules_of(&moved, &["clean", "--yes"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!([home.written(&home.path("")), home.written(&moved)], before);
}

#[test]
fn what_was_interrupted_in_one_home_is_finished_in_that_home() {
    let (home, two, before) = Home::two();
    let mut command = home.scratch.command("git", &home.scratch.top);
    command.env("SHIFTLOG_FAULT", "rules-step-4").args(["shiftlog", "rules", "sync"]).stderr(Stdio::null());
    assert_ne!(Ran::of(command.output().unwrap()).code, 0);
    home.rules_of(&two, &["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.written(&home.path("")), before[0]);
    home.rules_of(&two, &["clean", "--yes"]).ok();
    assert_eq!(home.written(&two), before[1]);
}

/// Two homes, each with a file of its own, whose store is a third directory; the directory that has them all.
fn two_with_a_store_elsewhere() -> (Home, PathBuf) {
    let home = Home::new();
    let all = home.scratch.root().join("all");
    for name in ["a", "b"] {
        fs::create_dir_all(all.join(name).join(".claude")).unwrap();
        fs::write(all.join(name).join(".claude/CLAUDE.md"), format!("{name}'s own\n")).unwrap();
        symlink("../store", all.join(name).join(".ai-agent")).unwrap();
    }
    fs::rename(home.path(".ai-agent"), all.join("store")).unwrap();
    (home, all)
}

#[test]
fn homes_that_are_moved_together_with_their_store_each_take_their_own_back() {
    let (home, all) = two_with_a_store_elsewhere();
    let before = ["a", "b"].map(|name| home.written(&all.join(name)));
    for name in ["a", "b"] {
        home.rules_of(&all.join(name), &["sync"]).ok();
    }
    let moved = home.scratch.root().join("moved");
    fs::rename(&all, &moved).unwrap();
    for name in ["b", "a"] {
        home.rules_of(&moved.join(name), &["clean", "--yes"]).ok();
    }
    assert_eq!(["a", "b"].map(|name| home.written(&moved.join(name))), before);
}

#[test]
fn what_a_home_that_is_not_there_now_has_replaced_stays_its_own() {
    let (home, all) = two_with_a_store_elsewhere();
    let [a, b, away] = ["a", "b", "away"].map(|name| all.join(name));
    let before = [home.written(&a), home.written(&b)];
    home.rules_of(&a, &["sync"]).ok();
    fs::rename(&a, &away).unwrap();
    home.rules_of(&b, &["sync"]).ok();
    home.rules_of(&b, &["clean", "--yes"]).ok();
    fs::rename(&away, &a).unwrap();
    home.rules_of(&a, &["clean", "--yes"]).ok();
    assert_eq!([home.written(&a), home.written(&b)], before);
}

#[test]
fn a_registry_that_cannot_be_read_is_taken_by_no_other_home() {
    let (home, all) = two_with_a_store_elsewhere();
    let [a, b] = ["a", "b"].map(|name| all.join(name));
    let before = home.written(&b);
    home.rules_of(&a, &["sync"]).ok();
    fs::write(all.join("store/shiftlog/registry.json"), "{ half of it").unwrap();
    home.rules_of(&b, &["sync"]).ok();
    home.rules_of(&b, &["clean", "--yes"]).ok();
    assert_eq!(home.written(&b), before);
    assert_eq!(fs::read_to_string(all.join("store/shiftlog/registry.json")).unwrap(), "{ half of it");
}

#[test]
fn a_new_home_gets_nothing_of_one_that_is_gone() {
    let (home, all) = two_with_a_store_elsewhere();
    let [a, b, new] = ["a", "b", "new"].map(|name| all.join(name));
    for base in [&a, &b] {
        home.rules_of(base, &["sync"]).ok();
    }
    fs::remove_dir_all(&b).unwrap();
    // It may get the inode of the other.
    fs::create_dir_all(new.join(".claude")).unwrap();
    symlink("../store", new.join(".ai-agent")).unwrap();
    let before = home.written(&new);
    home.rules_of(&new, &["sync"]).ok();
    home.rules_of(&new, &["clean", "--yes"]).ok();
    assert_eq!(home.written(&new), before);
}

/// The registry is of this clone, and what is generated is committed by all.
#[test]
fn what_a_pull_has_brought_is_no_edit_though_a_rule_was_changed_since() {
    for then in ["sync", "clean"] {
        let home = Home::new();
        let repo = home.path("repo");
        fs::create_dir(&repo).unwrap();
        home.scratch.git_in(&repo, ["init", "-q", "-b", "main"]).ok();
        let targets = json!({ "instructions": ["codex", "claude"], "rules": ["cursor"], "skills": ["claude"] });
        let rules = json!([{ "id": "a", "file": "a.md" }]);
        let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": targets });
        home.write("repo/.ai-agent/manifest.json", &manifest.to_string());
        let sync =
            |dir: &Path, words: &[&str]| home.scratch.shiftlog_in(dir, "rules", [words, &["--scope=repo"]].concat());
        let writes = |dir: &Path, version: &str| {
            fs::create_dir_all(dir.join(".ai-agent/rules")).unwrap();
            fs::create_dir_all(dir.join(".ai-agent/skills/s")).unwrap();
            fs::write(dir.join(".ai-agent/rules/a.md"), format!("# Rule {version}\n")).unwrap();
            fs::write(dir.join(".ai-agent/skills/s/SKILL.md"), format!("skill {version}\n")).unwrap();
        };
        writes(&repo, "v1");
        sync(&repo, &["sync"]).ok();
        home.scratch.git_in(&repo, ["add", "-A"]).ok();
        home.scratch.git_in(&repo, ["commit", "-q", "-m", "v1"]).ok();
        let mate = home.path("mate");
        home.scratch.git_in(&repo, ["clone", "-q", ".", mate.to_str().unwrap()]).ok();
        writes(&mate, "v2");
        sync(&mate, &["sync"]).ok();
        home.scratch.git_in(&mate, ["commit", "-q", "-a", "-m", "v2"]).ok();
        home.scratch.git_in(&repo, ["pull", "-q", mate.to_str().unwrap(), "main"]).ok();
        if then == "sync" {
            writes(&repo, "v3");
            sync(&repo, &["sync"]).ok();
            assert!(fs::read_to_string(repo.join("AGENTS.md")).unwrap().contains("# Rule v3"));
            assert_eq!(fs::read_to_string(repo.join(".claude/skills/s/SKILL.md")).unwrap(), "skill v3\n");
            // An edit that nobody has committed is one.
            fs::write(repo.join("CLAUDE.md"), fs::read_to_string(repo.join("CLAUDE.md")).unwrap() + "edit\n").unwrap();
            writes(&repo, "v4");
            assert_eq!(sync(&repo, &["sync"]).code, 3);
        } else {
            sync(&repo, &["clean", "--yes"]).ok();
            assert!(!repo.join("AGENTS.md").exists() && !repo.join(".claude/skills/s").exists());
        }
    }
}

/// Makes a home with a repository in it.
fn with_repository() -> (Home, PathBuf) {
    let home = Home::new();
    let repo = home.path("repo");
    fs::create_dir(&repo).unwrap();
    home.scratch.git_in(&repo, ["init", "-q", "-b", "main"]).ok();
    (home, repo)
}

/// A text and a folder of a user's that are committed are no work of a pull, though a rule and the skill have changed.
#[test]
fn what_a_user_has_committed_in_the_place_of_ours_is_not_taken_for_ours() {
    let (home, repo) = with_repository();
    let targets = json!({ "instructions": [{ "name": "claude", "mode": "whole" }], "rules": [], "skills": ["claude"] });
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "a", "file": "a.md" }], "active_targets": targets });
    home.write("repo/.ai-agent/manifest.json", &manifest.to_string());
    home.write("repo/.ai-agent/rules/a.md", "# Rule\n");
    home.write("repo/.ai-agent/skills/s/SKILL.md", "skill\n");
    let rules = |words: &[&str]| home.scratch.shiftlog_in(&repo, "rules", [words, &["--scope=repo"]].concat());
    rules(&["sync"]).ok();
    home.write("repo/CLAUDE.md", "words of mine\n");
    fs::remove_file(repo.join(".claude/skills/s/.sync-meta")).unwrap();
    home.write("repo/.claude/skills/s/SKILL.md", "a skill of mine\n");
    home.scratch.git_in(&repo, ["add", "-A"]).ok();
    home.scratch.git_in(&repo, ["commit", "-q", "-m", "mine"]).ok();
    home.write("repo/.ai-agent/rules/a.md", "# Another rule\n");
    home.write("repo/.ai-agent/skills/s/SKILL.md", "another skill\n");
    for words in [&["sync"][..], &["clean", "--yes"]] {
        assert_eq!(rules(words).code, 3, "{words:?}");
        assert_eq!(home.read("repo/CLAUDE.md"), "words of mine\n", "{words:?}");
        assert_eq!(home.read("repo/.claude/skills/s/SKILL.md"), "a skill of mine\n", "{words:?}");
    }
}

/// An edit is one though it is committed: where the rules are as they were, and where edits are to be taken into the store.
#[test]
fn an_edit_that_is_committed_is_still_an_edit() {
    let (home, repo) = with_repository();
    let targets = json!({ "instructions": ["claude"], "rules": [], "skills": ["claude"] });
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "a", "file": "a.md" }], "active_targets": targets });
    home.write("repo/.ai-agent/manifest.json", &manifest.to_string());
    home.write("repo/.ai-agent/rules/a.md", "# Rule\n");
    home.write("repo/.ai-agent/skills/s/SKILL.md", "skill\n");
    let rules = |words: &[&str]| home.scratch.shiftlog_in(&repo, "rules", [words, &["--scope=repo"]].concat());
    rules(&["sync"]).ok();
    for path in ["CLAUDE.md", ".claude/skills/s/SKILL.md"] {
        let text = fs::read_to_string(repo.join(path)).unwrap();
        fs::write(repo.join(path), text + "an edit\n").unwrap();
    }
    home.scratch.git_in(&repo, ["add", "-A"]).ok();
    home.scratch.git_in(&repo, ["commit", "-q", "-m", "mine"]).ok();
    let stays = |words: &[&str]| {
        assert_eq!(rules(words).code, 3, "{words:?}");
        for path in ["CLAUDE.md", ".claude/skills/s/SKILL.md"] {
            assert!(fs::read_to_string(repo.join(path)).unwrap().ends_with("an edit\n"), "{words:?}: {path}");
        }
    };
    stays(&["clean", "--yes"]);
    home.write("repo/.ai-agent/rules/a.md", "# Another rule\n");
    home.write("repo/.ai-agent/skills/s/SKILL.md", "another skill\n");
    stays(&["sync", "--adopt"]);
    rules(&["sync"]).ok();
    assert!(fs::read_to_string(repo.join("CLAUDE.md")).unwrap().contains("# Another rule"));
}

/// An edit is adopted though a pull has brought other files since.
#[test]
fn an_edit_is_adopted_after_a_pull() {
    let (home, repo) = with_repository();
    let git = |dir: &Path, words: &[&str]| home.scratch.git_in(dir, words).ok();
    let rules = json!([{ "id": "a", "file": "a.md" }, { "id": "b", "file": "b.md" }]);
    let targets = json!({ "instructions": ["claude"], "rules": ["cursor"], "skills": [] });
    let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": targets });
    home.write("repo/.ai-agent/manifest.json", &manifest.to_string());
    home.write("repo/.ai-agent/rules/a.md", "# Rule a\n");
    home.write("repo/.ai-agent/rules/b.md", "# Rule b\n");
    let sync = |dir: &Path, words: &[&str]| home.scratch.shiftlog_in(dir, "rules", [words, &["--scope=repo"]].concat());
    sync(&repo, &["sync"]).ok();
    git(&repo, &["add", "-A"]);
    git(&repo, &["commit", "-q", "-m", "one"]);
    let mate = home.path("mate");
    git(&repo, &["clone", "-q", ".", mate.to_str().unwrap()]);
    fs::write(mate.join(".ai-agent/rules/a.md"), "# Rule a of a mate\n").unwrap();
    sync(&mate, &["sync"]).ok();
    git(&mate, &["commit", "-q", "-a", "-m", "two"]);
    let edited = repo.join(".cursor/rules/b.mdc");
    fs::write(&edited, fs::read_to_string(&edited).unwrap() + "an edit\n").unwrap();
    git(&repo, &["pull", "-q", mate.to_str().unwrap(), "main"]);
    assert_eq!(sync(&repo, &["sync"]).code, 3);
    sync(&repo, &["sync", "--adopt"]).ok();
    assert_eq!(home.read("repo/.ai-agent/rules/b.md"), "# Rule b\nan edit\n");
    assert!(home.read("repo/CLAUDE.md").contains("an edit"));
}

/// Of two rules with one file, different edits are not both adopted.
#[test]
fn two_edits_of_one_file_are_not_adopted() {
    let home = Home::new();
    let targets = json!({ "instructions": [], "rules": ["cursor"], "skills": [] });
    let rules = json!([{ "id": "a", "file": "a.md" }, { "id": "b", "file": "a.md" }]);
    let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": targets });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    home.write(".ai-agent/rules/a.md", "# Rule\n");
    home.rules(&["sync"]).ok();
    let edit = |id: &str, words: &str| {
        let path = format!(".cursor/rules/{id}.mdc");
        home.write(&path, &(home.read(&path) + words));
    };
    edit("a", "one\n");
    edit("b", "another\n");
    assert_eq!(home.rules(&["sync", "--adopt"]).code, 3);
    assert!(
        home.read(".cursor/rules/a.mdc").ends_with("one\n") && home.read(".cursor/rules/b.mdc").ends_with("another\n")
    );
    home.write(".cursor/rules/b.mdc", &home.read(".cursor/rules/b.mdc").replace("another", "one"));
    home.rules(&["sync", "--adopt"]).ok();
    assert_eq!(home.read(".ai-agent/rules/a.md"), "# Rule\none\n");
}
