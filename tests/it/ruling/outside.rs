//! Files outside of the home: whose they are, and that they come back.

use std::fs;

use super::Home;
use crate::support::Ran;

/// A home whose `AGENTS.md` is outside of it, with text of the user's at first.
fn outside() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let file = home.scratch.root().join("out/AGENTS.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "the user's own\n").unwrap();
    let manifest =
        super::MANIFEST.replacen("\"cursor\",\n      \"codex\",", "{\"name\":\"cursor\",\"mode\":\"whole\"},", 1);
    home.write(".ai-agent/manifest.json", &manifest.replace("~/ws/AGENTS.md", file.to_str().unwrap()));
    home.rules(&["sync"]).ok();
    assert!(fs::read_to_string(&file).unwrap().starts_with("# Generated"), "the whole file is generated");
    (home, file)
}

#[test]
fn a_file_outside_that_the_home_that_was_copied_has_written_is_left_alone() {
    let (home, file) = outside();
    let copy = home.copy(&home.path(""), "copy");
    let written = fs::read(&file).unwrap();
    for command in [&["sync"][..], &["add-rule", "new"], &["sync", "--force"], &["clean", "--yes"]] {
        let ran = home.rules_of(&copy, command);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(fs::read(&file).unwrap(), written, "{command:?}");
    }
    let told = home.rules_of(&copy, &["sync"]).ok();
    assert_eq!(told.matches("nobody has written down who generated").count(), 1, "it says so once: {told}");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "the user's own\n");
}

#[test]
fn what_was_outside_comes_back_though_the_generated_file_is_gone() {
    for is_folder in [false, true] {
        let (home, file) = outside();
        fs::remove_file(&file).unwrap();
        if is_folder {
            fs::remove_dir(file.parent().unwrap()).unwrap();
        }
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(fs::read_to_string(&file).unwrap(), "the user's own\n");
    }
}

#[test]
fn a_block_outside_that_the_home_that_was_copied_has_written_is_left_alone() {
    let (home, file) = outside();
    home.rules(&["clean", "--yes"]).ok();
    home.write(".ai-agent/manifest.json", &home.read(".ai-agent/manifest.json").replace("whole", "block"));
    home.rules(&["sync"]).ok();
    let copy = home.copy(&home.path(""), "copy");
    let written = fs::read(&file).unwrap();
    for command in [&["add-rule", "new"][..], &["clean", "--yes"]] {
        home.rules_of(&copy, command).ok();
        assert_eq!(fs::read(&file).unwrap(), written, "{command:?}");
    }
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "the user's own\n");
}

#[test]
fn a_home_that_was_moved_keeps_what_it_has_written_outside() {
    for has_edit in [false, true] {
        let (home, file) = outside();
        let moved = home.scratch.root().join("moved");
        fs::rename(home.path(""), &moved).unwrap();
        if has_edit {
            let text = fs::read_to_string(&file).unwrap() + "an edit of mine\n";
            fs::write(&file, text).unwrap();
        }
        let written = fs::read(&file).unwrap();
        home.rules_of(&moved, &["sync"]).ok();
        assert_eq!(fs::read(&file).unwrap(), written);
        home.rules_of(&moved, &["clean", "--yes"]).ok();
        let expected = if has_edit { written } else { b"the user's own\n".to_vec() };
        assert_eq!(fs::read(&file).unwrap(), expected, "edited: {has_edit}");
    }
}

#[test]
fn a_command_that_was_interrupted_is_finished_outside_too() {
    for fault in ["rules-backed-up", "rules-step-0", "rules-step-9", "rules-stepped", "rules-registered"] {
        let (home, file) = outside();
        home.rules(&["clean", "--yes"]).ok();
        home.write(".ai-agent/skills/review/.git/config", "a skill can be a repository\n");
        fs::remove_file(&file).unwrap();
        fs::remove_dir(file.parent().unwrap()).unwrap();
        let mut command = home.scratch.command("git", &home.scratch.top);
        command.env("SHIFTLOG_FAULT", fault).args(["shiftlog", "rules", "sync"]);
        assert_ne!(Ran::of(command.output().unwrap()).code, 0, "{fault}");
        home.rules(&["sync"]).ok();
        assert_eq!(home.rules(&["check"]).ok(), "", "{fault}");
        assert!(home.is_there(".claude/skills/review/.git/config"), "{fault}");
        home.rules(&["clean", "--yes"]).ok();
        assert!(!file.parent().unwrap().exists(), "{fault}");
    }
}

/// What was interrupted was set aside, and its file outside stayed as it was for good.
#[test]
fn a_command_that_was_interrupted_waits_until_its_settings_can_be_read() {
    for fault in ["rules-step-0", "rules-step-4", "rules-stepped"] {
        let (home, file) = outside();
        home.rules(&["clean", "--yes"]).ok();
        let before = fs::read(&file).unwrap();
        assert!(home.killed(fault, &["sync"]));
        let manifest = home.read(".ai-agent/manifest.json");
        home.write(".ai-agent/manifest.json", &manifest[1..]);
        let told = home.rules(&["clean", "--yes"]);
        assert!(told.code != 0 && told.stderr.contains("manifest.json'"), "{fault}: {}", told.stderr);
        home.write(".ai-agent/manifest.json", &manifest);
        home.rules(&["sync"]).ok();
        assert_ne!(fs::read(&file).unwrap(), before, "{fault}");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(fs::read(&file).unwrap(), before, "{fault}");
    }
}

/// Nobody knew any more who had written it.
#[test]
fn a_file_outside_that_the_settings_name_no_more_after_a_kill_comes_back() {
    for fault in ["rules-step-2", "rules-stepped", "rules-registered"] {
        let (home, file) = outside();
        home.rules(&["clean", "--yes"]).ok();
        let before = fs::read(&file).unwrap();
        assert!(home.killed(fault, &["sync"]));
        let manifest = home.read(".ai-agent/manifest.json");
        home.write(".ai-agent/manifest.json", &manifest.replace(file.to_str().unwrap(), "~/ws/AGENTS.md"));
        home.rules(&["sync"]);
        home.rules(&["clean", "--yes"]);
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(fs::read(&file).unwrap(), before, "{fault}");
    }
}

#[test]
fn what_was_outside_comes_back_without_the_registry() {
    for is_block in [false, true] {
        for is_synced in [false, true] {
            for is_named in [false, true] {
                let (home, file) = outside();
                if is_block {
                    home.rules(&["clean", "--yes"]).ok();
                    home.write(
                        ".ai-agent/manifest.json",
                        &home.read(".ai-agent/manifest.json").replace("whole", "block"),
                    );
                    home.rules(&["sync"]).ok();
                }
                home.rules(&["add-rule", "new"]).ok();
                fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
                if is_synced {
                    home.rules(&["remove-rule", "style"]).ok();
                    assert!(!fs::read_to_string(&file).unwrap().contains("style"), "it is ours");
                }
                if !is_named {
                    let manifest = home.read(".ai-agent/manifest.json");
                    home.write(".ai-agent/manifest.json", &manifest.replace(file.to_str().unwrap(), "~/ws/AGENTS.md"));
                }
                home.rules(&["clean", "--yes"]).ok();
                let text = fs::read_to_string(&file).unwrap();
                assert_eq!(text, "the user's own\n", "block: {is_block}, synced: {is_synced}, named: {is_named}");
            }
        }
    }
}

#[test]
fn a_clean_without_the_registry_that_was_interrupted_is_finished_outside_too() {
    for fault in
        ["rules-backed-up", "rules-step-0", "rules-step-4", "rules-step-6", "rules-stepped", "rules-registered"]
    {
        let (home, file) = outside();
        fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
        let mut command = home.scratch.command("git", &home.scratch.top);
        command.env("SHIFTLOG_FAULT", fault).args(["shiftlog", "rules", "clean", "--yes"]);
        assert_ne!(Ran::of(command.output().unwrap()).code, 0, "{fault}");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(fs::read_to_string(&file).unwrap(), "the user's own\n", "{fault}");
        assert!(!home.is_there(".claude/CLAUDE.md"), "{fault}");
    }
}

#[test]
fn a_backup_that_came_from_elsewhere_proves_nothing() {
    let (home, file) = outside();
    let written = fs::read(&file).unwrap();
    // The same home out of an archive: all is as it was, but other directories.
    let moved = home.scratch.root().join("moved");
    fs::rename(home.path(""), &moved).unwrap();
    home.copy(&moved, home.path("").file_name().unwrap().to_str().unwrap());
    fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
    let kept =
        home.scratch.run_in(&home.path(".ai-agent/backups"), "find", [".", "-path", "*outside*", "-type", "f"]).ok();
    for kept in kept.lines() {
        fs::write(home.path(".ai-agent/backups").join(kept), "forged\n").unwrap();
    }
    for command in [&["sync"][..], &["sync", "--force"], &["clean", "--yes"], &["clean", "--yes", "--force"]] {
        let told = home.rules(command).ok();
        assert_eq!(fs::read(&file).unwrap(), written, "{command:?}");
        assert!(told.contains("nobody has written down who generated"), "{command:?}: {told}");
    }
}

#[test]
fn a_file_outside_that_was_given_back_and_that_another_home_has_written_stays() {
    let (home, file) = outside();
    let other = home.copy(&home.path(""), "other");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "the user's own\n");
    fs::remove_dir_all(other.join(".ai-agent/shiftlog")).unwrap();
    home.rules_of(&other, &["sync"]).ok();
    let written = fs::read(&file).unwrap();
    assert!(written.starts_with(b"# Generated"));
    for is_lost in [false, true] {
        if is_lost {
            fs::remove_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
        }
        for command in [&["clean", "--yes"][..], &["sync"], &["clean", "--yes", "--force"]] {
            home.rules(command).ok();
            assert_eq!(fs::read(&file).unwrap(), written, "{command:?} {is_lost}");
        }
    }
    home.rules_of(&other, &["clean", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "the user's own\n");
}
