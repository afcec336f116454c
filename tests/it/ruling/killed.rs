//! A command that was killed, and a store that somebody changes before the next one.

use std::fs;

use serde_json::json;

use super::Home;
use crate::support::feed;

/// A home in which a block, a whole file and a link to a skill stand where a user has files and a folder.
fn fresh() -> Home {
    let home = Home::empty();
    home.write(".ai-agent/rules/a.md", "# A\n\nbe kind\n");
    home.write(".ai-agent/skills/review/SKILL.md", "theirs\n");
    let skills = json!([{ "name": "claude", "sync_mode": "symlink", "conflict_strategy": "overwrite" }]);
    let targets = json!({ "instructions": ["claude"], "rules": ["cursor"], "skills": skills });
    let rule = json!({ "id": "a", "file": "a.md", "imported_from": "manual" });
    let manifest = json!({ "version": "1.0", "rules": [rule], "active_targets": targets });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    home.write(".claude/CLAUDE.md", "\u{feff}my own text\n");
    home.write(".claude/skills/review/SKILL.md", "my own review\n");
    home.write(".cursor/rules/a.mdc", "my own a\n");
    home
}

/// The registry of before the command counted again, though the files were those of after it: 'clean --force' then removed what
/// it had put back itself.
#[test]
fn a_store_that_changes_after_a_kill_costs_no_file_of_the_users() {
    let commands: [&[&str]; 5] =
        [&["sync"], &["import", "--yes"], &["reconfigure"], &["add-rule", "new"], &["clean", "--yes"]];
    let mut killed = 0;
    for command in commands {
        let run = |home: &Home, point: &str| {
            let mut process = home.scratch.command("git", &home.scratch.top);
            process.env("SHIFTLOG_FAULT", point).args(["shiftlog", "rules"]).args(command);
            feed(&mut process, if command == ["add-rule", "new"] { b"new words\n" } else { b"none\nnone\nnone\n" })
        };
        let whole = fresh();
        if command != ["sync"] {
            whole.rules(&["sync"]).ok();
        }
        run(&whole, "no such point").ok();
        let numbered = (0..30).map(|number| format!("rules-step-{number}"));
        for point in numbered.chain(["rules-backed-up", "rules-stored", "rules-stepped"].map(str::to_owned)) {
            let home = fresh();
            let before = home.tree();
            if command != ["sync"] {
                home.rules(&["sync"]).ok();
            }
            if run(&home, &point).code == 0 {
                continue;
            }
            killed += 1;
            let name = format!("{command:?} killed at {point}");
            let manifest = home.read(".ai-agent/manifest.json").replacen('{', "{ \"mine\": 1, ", 1);
            home.write(".ai-agent/manifest.json", &manifest);
            // It goes on with what was interrupted, or says that it does not.
            home.rules(&["sync"]);
            home.rules(&["sync"]).ok();
            assert!(home.read(".ai-agent/manifest.json").contains("\"mine\""), "{name}");
            home.rules(&["clean", "--yes", "--force"]).ok();
            assert_eq!(home.tree(), before, "{name}");
        }
    }
    assert!(killed > 25, "{killed} kills");
}

/// A part of a file in a backup was taken for what was there before.
#[test]
fn a_backup_that_was_not_finished_is_none() {
    let home = fresh();
    let before = home.tree();
    assert!(home.killed("rules-backing-up", &["sync"]));
    let backups = || {
        let entries = fs::read_dir(home.path(".ai-agent/backups")).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert!(matches!(&backups()[..], [one] if one.starts_with('.')), "{:?}", backups());
    // Nothing was done, so that nothing is interrupted.
    home.rules(&["sync", "--dry-run"]).ok();
    assert_eq!(home.rules(&["check"]).code, 3);
    let copied = home.scratch.root().join("copied");
    home.copy(&home.path(""), "copied");
    home.rules_of(&copied, &["clean", "--yes"]).ok();
    assert!(fs::read_dir(copied.join(".ai-agent/backups")).unwrap().next().is_none(), "a clean leaves no copy");
    // Nobody else's folder goes with it.
    home.write(".ai-agent/backups/.shiftlog-unfinished-mine/note.txt", "mine\n");
    home.rules(&["sync"]).ok();
    assert_eq!(home.read(".ai-agent/backups/.shiftlog-unfinished-mine/note.txt"), "mine\n");
    fs::remove_dir_all(home.path(".ai-agent/backups/.shiftlog-unfinished-mine")).unwrap();
    assert!(matches!(&backups()[..], [one] if home.is_there(&format!(".ai-agent/backups/{one}/meta.json"))));
    fs::remove_file(home.path(".ai-agent/shiftlog/registry.json")).unwrap();
    home.rules(&["clean", "--yes", "--force"]).ok();
    assert_eq!(home.tree(), before);
}

/// What a user had was in a backup alone, and no command brought it back.
#[test]
fn what_was_replaced_comes_back_whatever_becomes_of_what_replaced_it() {
    let mut tried = 0;
    // A file with a block is the user's; where it is removed, it stays so.
    for (change, paths) in [
        ("removed", [".cursor/rules/a.mdc", ".claude/skills/review"]),
        ("edited", [".claude/CLAUDE.md", ".cursor/rules/a.mdc"]),
    ] {
        for path in paths {
            let numbered = (0..14).map(|number| format!("rules-step-{number}"));
            for point in numbered.chain(["rules-stepped", "rules-registered"].map(str::to_owned)) {
                let home = fresh();
                let before = home.tree();
                if !home.killed(&point, &["sync"]) {
                    continue;
                }
                let file = home.path(path);
                let is_ours =
                    if file.is_symlink() { true } else { file.is_file() && home.read(path).contains("enerated") };
                if !is_ours {
                    continue;
                }
                tried += 1;
                let name = format!("{path} {change} after a kill at {point}");
                match change {
                    "removed" => fs::remove_file(&file).unwrap(),
                    _ => home.write(path, &home.read(path).replace("be kind", "be kinder")),
                }
                if change == "edited" {
                    assert_ne!(home.rules(&["sync"]).code, 0, "{name}");
                    assert_eq!(home.rules(&["sync"]).code, 3, "{name}");
                    assert!(home.read(path).contains("be kinder"), "{name}");
                }
                home.rules(&["clean", "--yes", "--force"]);
                home.rules(&["clean", "--yes", "--force"]).ok();
                assert_eq!(home.tree(), before, "{name}");
            }
        }
    }
    assert!(tried > 12, "{tried} tries");
}

/// What was there comes back if ours was removed, and stays away if the user has removed it itself. The next command cannot see
/// the difference at the path.
#[test]
fn a_file_that_is_removed_after_a_kill_comes_back_only_if_it_was_ours() {
    let mut tried = [0; 2];
    for (command, next) in [(&["sync"][..], &["sync"][..]), (&["clean", "--yes"], &["clean", "--yes"])] {
        for path in [".cursor/rules/a.mdc", ".claude/skills/review"] {
            let numbered = (0..14).flat_map(|number| ["step", "begun", "taken"].map(|at| (number, at)));
            let points = numbered.map(|(number, at)| format!("rules-{at}-{number}"));
            for point in points.chain(["rules-stepped", "rules-registered"].map(str::to_owned)) {
                let home = fresh();
                let before = home.tree();
                if command != ["sync"] {
                    home.rules(&["sync"]).ok();
                }
                let file = home.path(path);
                if !home.killed(&point, command) || !home.is_there(path) {
                    continue;
                }
                let is_ours = file.is_symlink() || file.is_file() && home.read(path).contains("enerated");
                match file.is_dir() && !file.is_symlink() {
                    true => fs::remove_dir_all(&file).unwrap(),
                    false => fs::remove_file(&file).unwrap(),
                }
                tried[usize::from(is_ours)] += 1;
                let name = format!("{path} removed after {command:?} was killed at {point}, ours: {is_ours}");
                home.rules(next);
                home.rules(&["clean", "--yes"]).ok();
                let is_expected = |line: &&str| is_ours || !line.contains(&format!("./{path}"));
                let expected: String = before.split_inclusive('\n').filter(is_expected).collect();
                // While a step is taken nobody knows yet, and then nothing is lost.
                let is_in_doubt = !point.contains("-step") && !point.ends_with("ed");
                assert!(home.tree() == expected || is_in_doubt && home.tree() == before, "{name}: {:?}", home.tree());
            }
        }
    }
    assert!(tried[0] > 20 && tried[1] > 20, "{tried:?}");
}

#[test]
fn a_folder_that_a_user_makes_after_a_kill_gets_nothing_of_ours() {
    let mut tried = 0;
    for point in (0..8).flat_map(|number| ["step", "begun", "taken"].map(|at| format!("rules-{at}-{number}"))) {
        let home = Home::empty();
        home.write(".ai-agent/skills/review/SKILL.md", "theirs\n");
        let skills = json!([{ "name": "claude", "sync_mode": "copy", "conflict_strategy": "overwrite" }]);
        let targets = json!({ "instructions": [], "rules": [], "skills": skills });
        let manifest = json!({ "version": "1.0", "rules": [], "active_targets": targets });
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.write("elsewhere/SKILL.md", "my own review\n");
        fs::create_dir_all(home.path(".claude/skills")).unwrap();
        let skill = home.path(".claude/skills/review");
        std::os::unix::fs::symlink(home.path("elsewhere"), &skill).unwrap();
        let before = home.tree();
        if !home.killed(&point, &["sync"]) || fs::symlink_metadata(&skill).is_ok() {
            continue;
        }
        tried += 1;
        home.write(".claude/skills/review/NOTES.md", "mine\n");
        home.rules(&["sync"]);
        let told = home.rules(&["sync"]);
        assert_eq!(told.code, 3, "{point}: {}", told.stderr);
        let there: Vec<_> = fs::read_dir(&skill).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(there, ["NOTES.md"], "{point}");
        fs::remove_dir_all(&skill).unwrap();
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before, "{point}");
    }
    assert!(tried > 1, "{tried} tries");
}
