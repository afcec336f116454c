//! Homes that share one store by symbolic links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

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
