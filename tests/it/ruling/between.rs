//! What a user does between a command that was killed and the next one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::Home;

/// All points at which a command can be killed that takes at most this many steps.
fn points(steps: usize) -> impl Iterator<Item = String> {
    let numbered = (0..steps).flat_map(|number| ["step", "begun", "taken"].map(|at| format!("rules-{at}-{number}")));
    numbered.chain(["rules-stepped", "rules-registered"].map(str::to_owned))
}

/// A home whose store has a skill for Claude Code, as a copy or a link.
fn with_skill(mode: &str) -> Home {
    let home = Home::empty();
    home.write(".ai-agent/skills/review/SKILL.md", "theirs\n");
    home.write(".ai-agent/skills/review/notes.md", "words of the skill\n");
    home.write(".ai-agent/rules/a.md", "be kind\n");
    let skills = json!([{ "name": "claude", "sync_mode": mode, "conflict_strategy": "overwrite" }]);
    let targets = json!({ "instructions": [], "rules": ["cursor"], "skills": skills });
    let rule = json!({ "id": "a", "file": "a.md", "imported_from": "manual" });
    let manifest = json!({ "version": "1.0", "rules": [rule], "active_targets": targets });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    home
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// The skill in the store was emptied: what was to be removed was found through the link.
#[test]
fn a_link_in_the_place_of_a_directory_is_not_followed() {
    let mut killed = 0;
    for (mode, commands) in [("copy", [&["clean", "--yes"][..], &["sync"]]), ("symlink", [&["sync"], &["sync"]])] {
        for point in points(6) {
            for link in [".claude/skills/review", ".claude/skills", ".claude"] {
                let home = with_skill(mode);
                home.write(".claude/skills/review/SKILL.md", "my own review\n");
                if mode == "copy" {
                    home.rules(&["sync"]).ok();
                }
                if !home.killed(&point, commands[0]) {
                    continue;
                }
                killed += 1;
                let there = home.path(link);
                let aside = home.path("aside");
                if there.exists() || there.is_symlink() {
                    fs::rename(&there, &aside).unwrap();
                }
                fs::create_dir_all(there.parent().unwrap()).unwrap();
                let target = match link {
                    ".claude/skills/review" => ".ai-agent/skills/review",
                    ".claude/skills" => ".ai-agent/skills",
                    _ => ".ai-agent",
                };
                symlink(home.path(target), &there).unwrap();
                for command in [commands[1], &["clean", "--yes"]] {
                    home.rules(command);
                    for (file, text) in [("SKILL.md", "theirs\n"), ("notes.md", "words of the skill\n")] {
                        let there = fs::read_to_string(home.path(".ai-agent/skills/review").join(file));
                        assert_eq!(there.ok().as_deref(), Some(text), "{link} after {point}, then {command:?}");
                    }
                }
                let files = fs::read_dir(home.path(".ai-agent/skills/review")).unwrap().count();
                assert_eq!(files, 2, "{link} after {point}: nothing is written there");
                assert!(home.has_words("my own review"), "{link} after {point}");
            }
        }
    }
    assert!(killed > 40, "{killed} kills");
}

#[test]
fn nothing_is_written_through_a_link_to_a_folder_of_the_users() {
    let mut killed = 0;
    for point in points(9) {
        let home = with_skill("copy");
        if !home.killed(&point, &["sync"]) {
            continue;
        }
        killed += 1;
        home.write("mine/notes.txt", "mine\n");
        for link in [".claude/skills/review", ".cursor"] {
            let there = home.path(link);
            remove(&there);
            fs::create_dir_all(there.parent().unwrap()).unwrap();
            symlink(home.path("mine"), &there).unwrap();
        }
        home.rules(&["sync"]);
        home.rules(&["clean", "--yes"]);
        let names: Vec<_> = fs::read_dir(home.path("mine")).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["notes.txt"], "{point}");
    }
    assert!(killed > 20, "{killed} kills");
}

/// It has the bytes that were to be removed, and was removed with them.
#[test]
fn a_skill_that_is_moved_to_the_place_of_its_copy_is_not_lost() {
    let mut killed = 0;
    for point in points(5) {
        let home = with_skill("copy");
        home.rules(&["sync"]).ok();
        if !home.killed(&point, &["clean", "--yes"]) {
            continue;
        }
        killed += 1;
        let (skill, copy) = (home.path(".ai-agent/skills/review"), home.path(".claude/skills/review"));
        remove(&copy);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::rename(&skill, &copy).unwrap();
        for command in [&["sync"][..], &["clean", "--yes"]] {
            home.rules(command);
            assert!(home.has_words("words of the skill"), "{point}, then {command:?}");
        }
    }
    assert!(killed > 5, "{killed} kills");
}

/// A directory that was gone when the command was killed was taken for one that it could not remove.
#[test]
fn empty_directories_of_the_users_stay() {
    let mut killed = 0;
    for point in points(12) {
        for (folders, file) in [(&["review/drafts"][..], Some("review/SKILL.md")), (&["review"], None)] {
            let home = with_skill("copy");
            fs::create_dir_all(home.path(".ai-agent/skills/review/drafts")).unwrap();
            for folder in folders {
                fs::create_dir_all(home.path(".claude/skills").join(folder)).unwrap();
            }
            if let Some(file) = file {
                home.write(&format!(".claude/skills/{file}"), "my own review\n");
            }
            let before = home.tree();
            home.rules(&["sync"]).ok();
            if home.killed(&point, &["clean", "--yes"]) {
                killed += 1;
                home.rules(&["clean", "--yes"]).ok();
                home.rules(&["clean", "--yes"]).ok();
                assert_eq!(home.tree(), before, "{point}, {folders:?}");
            }
        }
    }
    assert!(killed > 20, "{killed} kills");
    let home = with_skill("symlink");
    home.rules(&["sync"]).ok();
    assert!(home.killed("rules-stepped", &["clean", "--yes"]));
    fs::create_dir_all(home.path(".claude/skills")).unwrap();
    home.rules(&["clean", "--yes"]).ok();
    assert!(home.path(".claude/skills").is_dir(), "it was made anew");
}

#[test]
fn a_folder_that_the_user_moves_back_out_of_the_backup_is_the_users() {
    let mut moved = 0;
    for point in points(7).chain(["no such point".to_owned()]) {
        for command in [&["sync"][..], &["clean", "--yes"], &["clean", "--yes", "--force"]] {
            let home = with_skill("symlink");
            home.write(".claude/skills/review/SKILL.md", "my own review\n");
            let before = home.tree();
            home.killed(&point, &["sync"]);
            let (skill, backups) = (home.path(".claude/skills/review"), home.path(".ai-agent/backups"));
            let found =
                home.scratch.run_in(&home.path(".ai-agent"), "find", ["-path", "./backups/*", "-name", "review"]);
            let Some(kept) = found.ok().trim().strip_prefix("./backups/").map(|kept| backups.join(kept)) else {
                continue;
            };
            moved += 1;
            remove(&skill);
            fs::rename(kept, &skill).unwrap();
            home.rules(command);
            home.rules(command).ok();
            home.rules(&["clean", "--yes"]).ok();
            assert_eq!(home.tree(), before, "{point}, {command:?}");
        }
    }
    assert!(moved > 10, "{moved} times");
}

#[test]
fn a_directory_that_was_made_and_is_removed_again_is_made_again() {
    let mut killed = 0;
    for point in points(9) {
        let home = with_skill("copy");
        let before = home.tree();
        if !home.killed(&point, &["sync"]) {
            continue;
        }
        killed += 1;
        remove(&home.path(".cursor"));
        remove(&home.path(".claude/skills"));
        home.rules(&["sync"]);
        home.rules(&["sync"]).ok();
        assert!(home.is_there(".cursor/rules/a.mdc") && home.is_there(".claude/skills/review/SKILL.md"), "{point}");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before, "{point}");
    }
    assert!(killed > 20, "{killed} kills");
}

/// Edits the journal so that the system seems to have been started anew since.
fn start_anew(home: &Home) {
    let journal = home.read(".ai-agent/shiftlog/journal.json");
    let mut journal: serde_json::Value = serde_json::from_str(&journal).unwrap();
    journal["boot"] = json!("another start");
    home.write(".ai-agent/shiftlog/journal.json", &journal.to_string());
}

#[test]
fn notes_that_are_lost_or_cannot_be_read_cost_nothing() {
    let mut killed = 0;
    for what in ["absent", "empty", "cut", "no UTF-8", "a directory", "a link"] {
        for number in 0..10 {
            let home = with_skill("copy");
            home.write(".claude/skills/review/SKILL.md", "my own review\n");
            home.write("elsewhere", "mine\n");
            let before = home.tree();
            if !home.killed(&format!("rules-step-{number}"), &["sync"]) {
                continue;
            }
            killed += 1;
            let notes = home.path(".ai-agent/shiftlog/journal-progress");
            let noted = fs::read(&notes).unwrap();
            fs::remove_file(&notes).unwrap();
            match what {
                "empty" => fs::write(&notes, "").unwrap(),
                "cut" => fs::write(&notes, &noted[..noted.len() / 2]).unwrap(),
                "no UTF-8" => fs::write(&notes, [0xff, 0xfe]).unwrap(),
                "a directory" => fs::create_dir(&notes).unwrap(),
                "a link" => symlink(home.path("elsewhere"), &notes).unwrap(),
                _ => {}
            }
            if ["empty", "cut", "no UTF-8"].contains(&what) {
                start_anew(&home);
            }
            home.rules(&["sync"]);
            home.rules(&["sync"]).ok();
            home.rules(&["clean", "--yes"]).ok();
            assert_eq!(home.tree(), before, "{what} at {number}");
        }
    }
    assert!(killed > 40, "{killed} kills");
}

/// The copy counted as the rest of one, and went with the user's words.
#[test]
fn an_edit_of_a_copy_that_was_to_become_a_link_is_not_lost() {
    let mut tried = 0;
    for (point, args) in points(9).flat_map(|point| ["sync", "clean"].map(|args| (point.clone(), args))) {
        let home = with_skill("copy");
        home.rules(&["sync"]).ok();
        let manifest = home.read(".ai-agent/manifest.json").replace("\"copy\"", "\"symlink\"");
        home.write(".ai-agent/manifest.json", &manifest);
        if !home.killed(&point, &["sync"]) {
            continue;
        }
        let path = home.path(".claude/skills/review");
        if path.is_symlink() || !path.join("SKILL.md").exists() {
            continue;
        }
        tried += 1;
        home.write(".claude/skills/review/SKILL.md", "theirs, and an hour of my work\n");
        for _ in 0..2 {
            home.rules(&[args, "--yes"][..if args == "clean" { 2 } else { 1 }]);
            assert!(home.has_words("an hour of my work"), "{point} {args}");
        }
        let last = home.rules(&["clean", "--yes", "--force"]);
        assert!(last.code == 0 && home.has_words("an hour of my work"), "{point} {args}: {last:?}");
    }
    assert!(tried > 4, "{tried}");
}

/// What was missing in the copy was removed from the store.
#[test]
fn a_copy_that_is_not_complete_is_not_taken_into_the_store() {
    let mut tried = 0;
    for (point, args) in
        points(9).flat_map(|point| [&["clean", "--yes"][..], &["sync"]].map(|args| (point.clone(), args)))
    {
        let home = with_skill("copy");
        home.rules(&["sync"]).ok();
        if args == ["sync"] {
            home.write(".ai-agent/skills/review/SKILL.md", "theirs, second edition\n");
            home.write(".ai-agent/skills/review/zz.md", "more\n");
        }
        let names = || {
            let entries = fs::read_dir(home.path(".ai-agent/skills/review")).unwrap().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            names
        };
        let before = names();
        if !home.killed(&point, args) || !home.path(".claude/skills/review/SKILL.md").exists() {
            continue;
        }
        tried += 1;
        home.write(".claude/skills/review/SKILL.md", "an hour of my work\n");
        for again in [&["sync"][..], &["sync", "--adopt"], &["sync"]] {
            home.rules(again);
            assert!(home.has_words("an hour of my work"), "{point} {args:?} {again:?}");
            assert_eq!(names(), before, "{point} {args:?} {again:?}: nothing goes from the store");
        }
    }
    assert!(tried > 4, "{tried}");
}

/// The user's folder has the same file that ours had, and what ours was to become is not written into it.
#[test]
fn a_folder_in_the_place_of_a_copy_that_was_being_updated_gets_nothing_of_ours() {
    for scope in ["--scope=home", "--scope=repo"] {
        let mut tried = 0;
        for point in points(6) {
            let home = with_skill("copy");
            let top = if scope == "--scope=repo" { home.scratch.top.clone() } else { home.scratch.home() };
            if scope == "--scope=repo" {
                fs::rename(home.path(".ai-agent"), top.join(".ai-agent")).unwrap();
            }
            home.rules(&["sync", scope]).ok();
            let folder = top.join(".claude/skills/review");
            assert!(folder.join("SKILL.md").exists(), "{scope}");
            fs::write(top.join(".ai-agent/skills/review/SKILL.md"), "theirs, second edition\n").unwrap();
            fs::write(top.join(".ai-agent/skills/review/new.md"), "more\n").unwrap();
            if !home.killed(&point, &["sync", scope]) {
                continue;
            }
            if fs::rename(&folder, top.join("aside")).is_err() {
                continue;
            }
            tried += 1;
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("SKILL.md"), "theirs\n").unwrap();
            home.rules(&["sync", scope]);
            home.rules(&["sync", scope]);
            let names: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
            assert_eq!(names, ["SKILL.md"], "{scope} {point}");
            assert_eq!(fs::read_to_string(folder.join("SKILL.md")).unwrap(), "theirs\n", "{scope} {point}");
            home.rules(&["clean", "--yes", scope]);
            assert_eq!(fs::read_to_string(folder.join("SKILL.md")).unwrap(), "theirs\n", "{scope} {point}");
        }
        assert!(tried > 2, "{scope}: {tried}");
    }
}

/// What our folder has until it gets its mark can be told from a user's.
#[test]
fn a_folder_without_our_mark_in_which_a_user_puts_something_gets_nothing_of_ours() {
    let mut tried = 0;
    for point in points(9) {
        let home = with_skill("copy");
        home.write(".claude/skills/review/SKILL.md", "my own review\n");
        if !home.killed(&point, &["sync"]) {
            continue;
        }
        let folder = home.path(".claude/skills/review");
        if !folder.is_dir() || folder.join(".sync-meta").exists() || folder.join("SKILL.md").exists() {
            continue;
        }
        tried += 1;
        home.write(".claude/skills/review/mine.txt", "mine\n");
        home.rules(&["sync"]);
        home.rules(&["sync"]);
        let names: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["mine.txt"], "{point}");
        home.rules(&["clean", "--yes", "--force"]).ok();
        assert_eq!(home.read(".claude/skills/review/SKILL.md"), "my own review\n", "{point}");
        assert!(home.has_words("mine"), "{point}");
    }
    assert!(tried > 0);
}

#[test]
fn a_store_whose_folder_of_rules_is_a_link_is_made() {
    let home = Home::empty();
    home.write("kept/rules/.keep", "");
    home.write(".gemini/GEMINI.md", "# Mine\n\nrun all\n");
    fs::create_dir_all(home.path(".ai-agent")).unwrap();
    symlink(home.path("kept/rules"), home.path(".ai-agent/rules")).unwrap();
    let before = home.tree();
    home.rules(&["init", "--yes"]).ok();
    assert_eq!(home.read("kept/rules/mine.md"), "# Mine\n\nrun all\n");
    home.rules(&["clean", "--yes"]).ok();
    let after: String =
        home.tree().split_inclusive('\n').filter(|line| !line.contains("./kept/rules/mine.md")).collect();
    assert_eq!(after, before);
}
