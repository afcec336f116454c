//! The file `.sync-meta`, by which a copy of a skill is known: words in its place, its loss, and copies of which it is all there is.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::Home;
use crate::support::feed;

/// The skills that each agent gets, in this mode.
fn set_mode(home: &Home, agents: &[&str], mode: &str) {
    let skills: Vec<_> = agents.iter().map(|agent| json!({ "name": agent, "sync_mode": mode })).collect();
    let targets = json!({ "instructions": [], "rules": [], "skills": skills });
    home.write(".ai-agent/manifest.json", &json!({ "version": "1.0", "active_targets": targets }).to_string());
}

fn with_copy() -> Home {
    let home = Home::new();
    set_mode(&home, &["claude"], "copy");
    home.rules(&["sync"]).ok();
    home
}

const MARK: &str = ".claude/skills/review/.sync-meta";

#[test]
fn words_in_the_place_of_the_mark_are_kept() {
    for (words, mode) in
        ["copy", "symlink"].into_iter().flat_map(|mode| ["text", "member", "folder", "link"].map(|it| (it, mode)))
    {
        let home = with_copy();
        match words {
            "text" => home.write(MARK, "words of my own\n"),
            "member" => home.write(MARK, &home.read(MARK).replacen('{', "{\"note\":\"words of my own\",", 1)),
            "folder" => {
                fs::remove_file(home.path(MARK)).unwrap();
                home.write(&format!("{MARK}/x"), "words of my own\n");
            }
            _ => {
                fs::remove_file(home.path(MARK)).unwrap();
                symlink("/nowhere/words of my own", home.path(MARK)).unwrap();
            }
        }
        let is_there = || match words {
            "link" => home.tree().contains("words of my own"),
            _ => home.has_words("words of my own"),
        };
        set_mode(&home, &["claude"], mode);
        for args in [&["sync"][..], &["sync", "--adopt"], &["clean", "--yes"]] {
            let ran = home.rules(args);
            assert!(
                ran.code == 3 && ran.stderr.contains("changed since it was written"),
                "{words} {mode} {args:?}: {ran:?}"
            );
            assert!(is_there(), "{words} {mode} {args:?}");
        }
        home.rules(&["sync", "--force"]).ok();
        assert!(words == "link" || is_there(), "{words} {mode}: in a backup");
        home.rules(&["clean", "--yes"]).ok();
        assert!(!home.is_there(".claude/skills"), "{words} {mode}");
    }
}

#[test]
fn an_edit_is_adopted_from_no_copy_that_has_words_in_the_place_of_the_mark() {
    let home = Home::new();
    set_mode(&home, &["claude", "codex"], "copy");
    home.rules(&["sync"]).ok();
    for agent in [".claude", ".codex"] {
        home.write(&format!("{agent}/skills/review/SKILL.md"), "an edit\n");
    }
    home.write(".codex/skills/review/.sync-meta", "words of my own\n");
    let ran = home.rules(&["sync", "--adopt"]);
    assert!(ran.code == 3 && ran.stderr.contains("hint: nothing was written; no rule has a place"), "{ran:?}");
    assert!(home.has_words("words of my own") && home.has_words("an edit"));
    assert_ne!(home.read(".ai-agent/skills/review/SKILL.md"), "an edit\n");
}

/// A sync program leaves files out that begin with a dot, `git clean -X` those that are ignored.
#[test]
fn a_copy_whose_mark_is_gone_is_written_again() {
    for is_new in [false, true] {
        let home = with_copy();
        fs::remove_file(home.path(MARK)).unwrap();
        if is_new {
            home.write(".ai-agent/skills/review/SKILL.md", "new words\n");
            home.write(".ai-agent/skills/review/more.md", "more\n");
        }
        home.rules(&["sync"]).ok();
        assert!(home.is_there(MARK), "{is_new}");
        let skill = |top: &str| home.read(&format!("{top}/skills/review/SKILL.md"));
        assert_eq!(skill(".claude"), skill(".ai-agent"));
        assert_eq!(home.rules(&["check"]).ok(), "");
        // With an edit as well, it can be a folder of the user's.
        fs::remove_file(home.path(MARK)).unwrap();
        home.write(".claude/skills/review/SKILL.md", "an edit\n");
        for args in [&["sync"][..], &["sync", "--adopt"]] {
            assert_eq!(home.rules(args).code, 3);
        }
        home.rules(&["sync", "--force"]).ok();
        assert!(home.has_words("an edit"));
        home.rules(&["clean", "--yes"]).ok();
        assert!(!home.is_there(".claude/skills"));
    }
}

#[test]
fn a_folder_of_that_name_in_a_skill_is_copied_nowhere() {
    let home = Home::new();
    home.write(".ai-agent/skills/review/.sync-meta/x", "words\n");
    set_mode(&home, &["claude"], "copy");
    home.rules(&["sync"]).ok();
    assert!(home.path(MARK).is_file());
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there(".claude/skills") && home.is_there(".ai-agent/skills/review/.sync-meta/x"));
}

/// The name of an unfinished file can be that of a file of the skill.
#[test]
fn a_file_of_a_skill_is_not_taken_for_an_unfinished_one() {
    let mut killed = 0;
    for number in 0..12 {
        let home = Home::new();
        home.write(".ai-agent/skills/review/.SKILL.md.shiftlog-new", "left by an editor\n");
        set_mode(&home, &["claude"], "copy");
        let mut command = home.scratch.command("git", &home.scratch.top);
        command.env("SHIFTLOG_FAULT", format!("rules-taken-{number}")).args(["shiftlog", "rules", "sync"]);
        killed += usize::from(feed(&mut command, b"").code != 0);
        home.rules(&["sync"]).ok();
        assert_eq!(home.read(".claude/skills/review/.SKILL.md.shiftlog-new"), "left by an editor\n", "{number}");
        assert_eq!(home.rules(&["check"]).ok(), "");
    }
    assert!(killed > 4, "{killed}");
}

/// The user's own folder, which has such a file, too: it was a copy in another home.
#[test]
fn a_folder_with_a_mark_of_another_store_that_the_user_moves_back_is_the_users() {
    let home = Home::new();
    let mark = r#"{"source":"/home/other/.ai-agent/skills/review","sync_mode":"copy"}"#;
    home.write(MARK, mark);
    home.write(".claude/skills/review/SKILL.md", "mine\n");
    set_mode(&home, &["claude"], "copy");
    home.rules(&["sync"]).ok();
    let backup = fs::read_dir(home.path(".ai-agent/backups")).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(home.path(".claude/skills/review")).unwrap();
    fs::rename(backup.join("files/.claude/skills/review"), home.path(".claude/skills/review")).unwrap();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!((home.read(MARK).as_str(), home.read(".claude/skills/review/SKILL.md").as_str()), (mark, "mine\n"));
}

/// By hand: there is nothing to ask.
#[test]
fn a_link_that_is_back_in_the_place_of_a_skill_is_no_edit() {
    for mode in ["copy", "symlink"] {
        let home = Home::new();
        home.write("own/SKILL.md", "mine\n");
        fs::create_dir_all(home.path(".claude/skills")).unwrap();
        symlink("../../own", home.path(".claude/skills/review")).unwrap();
        set_mode(&home, &["claude"], mode);
        for args in [&["clean", "--yes"][..], &["sync"]] {
            home.rules(&["sync"]).ok();
            let path = home.path(".claude/skills/review");
            if mode == "copy" {
                fs::remove_dir_all(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            symlink("../../own", &path).unwrap();
            home.rules(args).ok();
            home.rules(&["clean", "--yes"]).ok();
            assert_eq!(fs::read_link(&path).unwrap().to_str(), Some("../../own"), "{mode} {args:?}");
        }
    }
}
