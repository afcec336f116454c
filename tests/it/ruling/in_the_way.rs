//! What stands where an agent's file should be: it is named and stays as it is, and all else is done.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::Home;
use super::unreadable::make_pipe;
use crate::mcp::Client;
use crate::support::feed;

const PLACES: &[&str] = &[".gemini/GEMINI.md", ".cursor/rules/style.mdc", ".codex/skills/review", "ws/AGENTS.md"];

fn stands(home: &Home, path: &str) -> bool {
    !home.path(path).symlink_metadata().unwrap().is_file()
}

#[test]
fn what_is_no_file_is_named_and_left_and_all_else_is_done() {
    for is_pipe in [true, false] {
        let home = Home::new();
        home.write(".claude/CLAUDE.md", "mine\n");
        let places = if is_pipe { PLACES } else { &PLACES[..2] };
        let put = |place: &&str| match is_pipe {
            true => make_pipe(&home.path(place)),
            false => fs::create_dir_all(home.path(place).join("mine")).unwrap(),
        };
        places.iter().for_each(put);
        let before = home.tree();
        for command in [&["sync"][..], &["add-rule", "new"], &["sync", "--force"]] {
            let ran = home.rules_in_time(command);
            assert_eq!(ran.code, 1, "{command:?}: {ran:?}");
            for place in places {
                let told = format!("error: '~/{place}' is no file, and is left as it is\n");
                assert!(ran.stderr.contains(&told), "{place}: {ran:?}");
                assert!(stands(&home, place), "{place}");
            }
            assert!(home.read(".claude/CLAUDE.md").contains("four spaces"), "{command:?}");
            assert!(home.is_there(".cursor/rules/tests.mdc") && home.is_there(".claude/skills/review/SKILL.md"));
        }
        assert!(home.read(".claude/CLAUDE.md").contains("# New"));
        let check = home.rules_in_time(&["check"]);
        assert_eq!((check.code, check.stdout.lines().count()), (3, places.len()), "{check:?}");
        assert!(check.stdout.contains("in the way: ~/.gemini/GEMINI.md\n"), "{check:?}");
        let mut command = home.scratch.command("git-shiftlog-mcp", &home.path(""));
        command.arg("--name=sync-ai-rules");
        let told = Client::of(command).call("sync_rules", json!({}));
        assert_eq!(told["isError"], true);
        assert!(told.to_string().contains("'~/.gemini/GEMINI.md' is no file, and is left as it is"), "{told}");
        home.rules_in_time(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before);
    }
}

#[test]
fn what_is_no_file_in_the_place_of_a_generated_one_keeps_nothing_else_from_being_taken_back() {
    for is_pipe in [true, false] {
        let home = Home::new();
        for path in [".gemini/GEMINI.md", ".claude/CLAUDE.md", ".cursor/rules/style.mdc"] {
            home.write(path, "mine\n");
        }
        let before = home.tree();
        home.rules(&["sync"]).ok();
        let place = home.path(".cursor/rules/style.mdc");
        fs::remove_file(&place).unwrap();
        if is_pipe {
            make_pipe(&place);
        } else {
            fs::create_dir_all(place.join("mine")).unwrap();
        }
        for number in 0..2 {
            let ran = home.rules_in_time(&["clean", "--yes"]);
            assert_eq!(ran.code, 1, "{ran:?}");
            assert!(
                ran.stderr.contains("error: '~/.cursor/rules/style.mdc' is no file, and is left as it is\nhint: "),
                "{ran:?}"
            );
            assert!(stands(&home, ".cursor/rules/style.mdc"));
            assert_eq!(home.read(".claude/CLAUDE.md"), "mine\n", "{number}");
        }
        let told: Value = serde_json::from_str(&home.rules(&["clean", "--yes", "--json"]).stdout).unwrap();
        assert_eq!(told["left"][0]["path"], json!(place));
        if is_pipe {
            fs::remove_file(&place).unwrap();
        } else {
            fs::remove_dir_all(&place).unwrap();
        }
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before);
    }
}

/// Moves an agent's folder elsewhere, and leaves a link in its place.
fn link_folder(home: &Home, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(home.path(".claude"), to).unwrap();
    symlink(to, home.path(".claude")).unwrap();
}

#[test]
fn an_agents_folder_that_became_a_link_is_named_and_the_other_agents_are_served() {
    for is_outside in [false, true] {
        for is_synced in [false, true] {
            let home = Home::new();
            home.write(".claude/CLAUDE.md", "mine\n");
            home.write(".gemini/GEMINI.md", "mine\n");
            home.write(".claude/skills/review/SKILL.md", "my own\n");
            home.rules(&["sync"]).ok();
            let to = if is_outside { home.scratch.root().join("out/claude") } else { home.path("dotfiles/claude") };
            link_folder(&home, &to);
            let written = fs::read(to.join("CLAUDE.md")).unwrap();
            let ran = home.rules(&["add-rule", "new"]);
            let told = "error: '~/.claude' is a symbolic link; --follow writes to where it leads\n";
            assert_eq!((ran.code, ran.stderr.as_str()), (1, told));
            assert!(home.read(".gemini/GEMINI.md").contains("# New"), "the others are written");
            assert_eq!(fs::read(to.join("CLAUDE.md")).unwrap(), written);
            if is_synced {
                home.rules(&["sync", "--follow"]).ok();
                assert!(fs::read_to_string(to.join("CLAUDE.md")).unwrap().contains("# New"));
                assert_eq!(home.rules(&["check"]).ok(), "");
                home.rules(&["sync"]).ok();
                home.rules(&["clean", "--yes"]).ok();
            } else {
                let ran = home.rules(&["clean", "--yes"]);
                assert_eq!(ran.code, 1, "{ran:?}");
                let told = "error: '~/.claude' has become a symbolic link, and what was written below it stays\nhint: --follow ";
                assert!(ran.stderr.starts_with(told) && ran.stderr.lines().count() == 2, "{ran:?}");
                assert_eq!(fs::read(to.join("CLAUDE.md")).unwrap(), written);
                assert_eq!(home.read(".gemini/GEMINI.md"), "mine\n", "the others are taken back");
                home.rules(&["clean", "--yes", "--follow"]).ok();
            }
            assert_eq!(fs::read_to_string(to.join("CLAUDE.md")).unwrap(), "mine\n", "{is_outside} {is_synced}");
            assert_eq!(fs::read_to_string(to.join("skills/review/SKILL.md")).unwrap(), "my own\n");
            assert_eq!(fs::read_dir(to.join("skills")).unwrap().count(), 1);
            assert_eq!(home.rules(&["clean", "--yes"]).code, 0, "nothing is left to say");
        }
    }
}

#[test]
fn a_link_to_a_folder_that_never_was_ours_is_written_only_when_asked_and_comes_back() {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine\n");
    home.rules(&["sync"]).ok();
    fs::remove_dir_all(home.path(".claude")).unwrap();
    home.write("dotfiles/claude/CLAUDE.md", "another\n");
    fs::create_dir(home.path("dotfiles/claude/skills")).unwrap();
    symlink("dotfiles/claude", home.path(".claude")).unwrap();
    assert_eq!(home.rules(&["sync"]).code, 1);
    assert_eq!(home.read("dotfiles/claude/CLAUDE.md"), "another\n");
    home.rules(&["sync", "--follow"]).ok();
    assert!(home.read("dotfiles/claude/CLAUDE.md").contains("four spaces"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read("dotfiles/claude/CLAUDE.md"), "another\n");
    assert!(home.is_there("dotfiles/claude/skills"), "it is the user's");
}

#[test]
fn no_folder_of_ours_stays_outside_of_a_home_that_was_moved() {
    for mode in ["copy", "symlink"] {
        let home = Home::new();
        let manifest = super::MANIFEST.replace("\"sync_mode\": \"copy\"", &format!("\"sync_mode\": \"{mode}\""));
        home.write(".ai-agent/manifest.json", &manifest);
        let out = home.scratch.root().join("dot/claude");
        fs::create_dir_all(&out).unwrap();
        fs::remove_dir_all(home.path(".claude")).unwrap();
        symlink(&out, home.path(".claude")).unwrap();
        for is_synced in [false, true] {
            home.rules(&["sync", "--follow"]).ok();
            assert!(out.join("skills/review/SKILL.md").is_file());
            let moved = home.scratch.root().join("moved");
            fs::rename(home.path(""), &moved).unwrap();
            if is_synced {
                home.rules_of(&moved, &["sync"]).ok();
                assert_eq!(home.rules_of(&moved, &["check"]).ok(), "");
            }
            home.rules_of(&moved, &["clean", "--yes"]).ok();
            assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "{mode}, synced: {is_synced}");
            fs::rename(&moved, home.path("")).unwrap();
        }
    }
}

#[test]
fn nothing_is_written_in_a_directory_of_gits_whatever_it_is_called() {
    let home = Home::new();
    let git = |args: &[&str]| home.scratch.git_in(&home.path(""), args.iter().copied()).ok();
    fs::create_dir_all(home.path("ws")).unwrap();
    git(&["init", "-q", "--separate-git-dir=ws/separate", "ws/top"]);
    git(&["init", "-q", "--bare", "ws/bare"]);
    git(&["-C", "ws/top", "commit", "-q", "--allow-empty", "-m", "x"]);
    git(&["-C", "ws/top", "worktree", "add", "-q", "../linked"]);
    symlink(home.path("ws/separate"), home.path("ws/link")).unwrap();
    let places =
        ["separate", "separate/hooks", "separate/worktrees/linked", "bare", "bare/objects/AGENTS.md", "link/info"];
    let shape = || {
        let script = "find ws/separate ws/bare | sort";
        home.scratch.run_in(&home.path(""), "sh", ["-c", script]).ok()
    };
    let before = shape();
    for place in places {
        let path = format!("~/ws/{place}");
        let ran = home.rules(&["set", "agents_md.paths", &path, "--follow"]);
        let told = format!("error: '{path}' is in a directory of Git's\n");
        assert_eq!((ran.code, ran.stderr.as_str()), (1, told.as_str()), "{place}");
        // A manifest that somebody has written by hand.
        let manifest = super::MANIFEST.replace("~/ws/AGENTS.md", &path);
        home.write(".ai-agent/manifest.json", &manifest);
        for command in [&["sync"][..], &["sync", "--follow", "--force"]] {
            let ran = home.rules(command);
            assert_eq!((ran.code, ran.stderr.as_str()), (1, told.as_str()), "{place} {command:?}");
            assert_eq!(shape(), before, "{place} {command:?}");
        }
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(shape(), before, "{place}");
    }
    // With a pattern the rest is written.
    home.write(".ai-agent/manifest.json", &super::MANIFEST.replace("~/ws/AGENTS.md", "~/ws/*"));
    fs::remove_file(home.path("ws/link")).unwrap();
    let told = home.rules(&["sync"]).ok();
    assert!(told.contains("glob '~/ws/*' also matched places where nothing is written (2)"), "{told}");
    assert!(home.is_there("ws/top/AGENTS.md") && home.is_there("ws/linked/AGENTS.md"));
    assert_eq!(shape(), before);
}

#[test]
fn a_file_in_the_place_of_a_directory_above_is_named() {
    let home = Home::new();
    home.write(".claude/skills", "mine\n");
    let told = "'~/.claude/skills' is in the place of a directory";
    for args in [&["check"][..], &["sync", "--dry-run"], &["sync"], &["sync", "--json"]] {
        let ran = home.rules(args);
        assert_ne!(ran.code, 0, "{args:?}: {ran:?}");
        assert!((ran.stderr.clone() + &ran.stdout).contains(told), "{args:?}: {ran:?}");
        assert_eq!(home.read(".claude/skills"), "mine\n");
    }
    // A folder of the user's is to come back there.
    fs::remove_file(home.path(".claude/skills")).unwrap();
    home.write(".claude/skills/review/SKILL.md", "my own\n");
    home.rules(&["sync"]).ok();
    fs::remove_dir_all(home.path(".claude/skills")).unwrap();
    home.write(".claude/skills", "mine\n");
    for args in [&["clean", "--dry-run"][..], &["clean", "--yes"], &["clean", "--yes"]] {
        let ran = home.rules(args);
        assert!(ran.code == 1 && ran.stderr.contains(told), "{args:?}: {ran:?}");
        assert_eq!(home.read(".claude/skills"), "mine\n");
    }
    fs::remove_file(home.path(".claude/skills")).unwrap();
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.read(".claude/skills/review/SKILL.md"), "my own\n");
}

/// A link in the place of our own file is written through if the user asks for that, and stays.
#[test]
fn a_link_in_the_place_of_a_text_of_ours_is_followed_when_asked_and_stays() {
    for (args, had_text) in [("", false), ("--force", false), ("", true), ("--force", true)] {
        let home = Home::new();
        if had_text {
            home.write(".claude/CLAUDE.md", "first\n");
        }
        home.rules(&["sync"]).ok();
        home.write("dotfiles/claude.md", "another\n");
        fs::remove_file(home.path(".claude/CLAUDE.md")).unwrap();
        symlink("../dotfiles/claude.md", home.path(".claude/CLAUDE.md")).unwrap();
        let words: Vec<&str> = ["sync", "--follow"].into_iter().chain(args.split_whitespace()).collect();
        for _ in 0..2 {
            home.rules(&words).ok();
            assert!(home.path(".claude/CLAUDE.md").is_symlink(), "{words:?}");
            assert!(home.read("dotfiles/claude.md").contains("four spaces"), "{words:?}");
            assert_eq!(home.rules(&["check"]).ok(), "");
        }
        home.rules(&["clean", "--yes"]).ok();
        assert!(home.path(".claude/CLAUDE.md").is_symlink(), "{words:?}");
        assert_eq!(home.read("dotfiles/claude.md"), "another\n", "{words:?}");
        assert!(!had_text || home.has_words("first\n"), "it is in a backup");
    }
}

#[test]
fn a_file_in_the_place_of_the_archive_is_named() {
    let home = Home::new();
    let skills = json!([{ "name": "claude", "sync_mode": "copy", "conflict_strategy": "archive" }]);
    let targets = json!({ "instructions": [], "rules": [], "skills": skills });
    home.write(".ai-agent/manifest.json", &json!({ "version": "1.0", "active_targets": targets }).to_string());
    home.write(".claude/skills/review/SKILL.md", "my own\n");
    home.write(".ai-agent/skills-archived", "a file\n");
    let ran = home.rules(&["sync"]);
    let told = "error: '~/.ai-agent/skills-archived' is in the place of a directory\n";
    assert!(ran.code == 1 && ran.stderr.starts_with(told), "{ran:?}");
    assert_eq!(home.read(".claude/skills/review/SKILL.md"), "my own\n");
    fs::remove_file(home.path(".ai-agent/skills-archived")).unwrap();
    home.rules(&["sync"]).ok();
    assert_eq!(home.read(".ai-agent/skills-archived/claude-review/SKILL.md"), "my own\n");
}

#[test]
fn a_path_below_a_file_that_is_wanted_no_more_is_written_by_the_next_sync() {
    let home = Home::new();
    for path in ["~/p/x.md", "~/p/x.md/CLAUDE.md"] {
        let paths = json!({ "paths": [path] });
        let targets = json!({ "instructions": ["claude"], "rules": [], "skills": [] });
        let manifest =
            json!({ "version": "1.0", "rules": [{ "id": "style" }], "active_targets": targets, "claude_md": paths });
        home.write(".ai-agent/manifest.json", &manifest.to_string());
        home.rules(&["sync"]).ok();
    }
    let told = home.rules(&["sync"]).ok();
    assert!(!told.contains("Warning") && home.read("p/x.md/CLAUDE.md").contains("four spaces"), "{told}");
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there("p"));
}

/// Moves a generated text to another directory, and leaves a link in its place.
fn move_to_dotfiles(home: &Home) {
    fs::create_dir(home.path("dotfiles")).unwrap();
    fs::rename(home.path(".claude/CLAUDE.md"), home.path("dotfiles/claude.md")).unwrap();
    symlink("../dotfiles/claude.md", home.path(".claude/CLAUDE.md")).unwrap();
}

/// As programs for dotfiles do.
#[test]
fn a_text_of_ours_that_was_moved_and_linked_is_ours_where_it_is() {
    for (is_edited, had_text) in [(false, true), (false, false), (true, false)] {
        let home = Home::new();
        if had_text {
            home.write(".claude/CLAUDE.md", "first\n");
        }
        home.rules(&["sync"]).ok();
        move_to_dotfiles(&home);
        if is_edited {
            home.write("dotfiles/claude.md", &home.read("dotfiles/claude.md").replace("four", "five"));
            let ran = home.rules(&["sync", "--follow"]);
            assert!(ran.code == 3 && ran.stderr.contains("'~/dotfiles/claude.md': changed since"), "{ran:?}");
            assert!(home.read("dotfiles/claude.md").contains("five spaces"));
            continue;
        }
        assert!(!home.rules(&["sync", "--follow"]).ok().contains("Warning"));
        home.rules(&["clean", "--yes"]).ok();
        assert!(home.path(".claude/CLAUDE.md").is_symlink());
        let left = fs::read_to_string(home.path("dotfiles/claude.md")).unwrap_or_default();
        assert_eq!(left, if had_text { "first\n" } else { "" });
    }
}

#[test]
fn a_text_of_ours_that_was_moved_and_linked_is_taken_back_where_it_is() {
    for (args, had_text) in [("clean --yes --follow", true), ("sync --follow", true), ("clean --yes --follow", false)] {
        let home = Home::new();
        if had_text {
            home.write(".claude/CLAUDE.md", "first\n");
        }
        home.rules(&["sync"]).ok();
        move_to_dotfiles(&home);
        if args.starts_with("sync") {
            // The agent gets nothing any more.
            let mut manifest: Value = serde_json::from_str(&home.read(".ai-agent/manifest.json")).unwrap();
            manifest["active_targets"]["instructions"] = json!([]);
            home.write(".ai-agent/manifest.json", &manifest.to_string());
        } else {
            let ran = home.rules(&["clean", "--yes"]);
            let told =
                "error: '~/.claude/CLAUDE.md' has become a symbolic link, and what was written stays where it leads\n";
            assert!(ran.code == 1 && ran.stderr.contains(told), "{ran:?}");
        }
        home.rules(&args.split(' ').collect::<Vec<_>>()).ok();
        assert!(home.path(".claude/CLAUDE.md").is_symlink(), "{args}");
        let left = fs::read_to_string(home.path("dotfiles/claude.md")).unwrap_or_default();
        assert_eq!(left, if had_text { "first\n" } else { "" }, "{args}");
        assert!(home.rules(&["clean", "--yes"]).code == 0, "{args}");
    }
}

/// A command that follows a link is killed, and the user edits the file.
#[test]
fn what_is_followed_is_known_where_it_is_though_not_all_steps_were_taken() {
    for point in 0..4 {
        let home = Home::new();
        home.write(".claude/CLAUDE.md", "first\n");
        home.rules(&["sync"]).ok();
        move_to_dotfiles(&home);
        home.write(".ai-agent/rules/style.md", "six spaces\n");
        let mut command = home.scratch.command("git", &home.scratch.top);
        command.env("SHIFTLOG_FAULT", format!("rules-step-{point}")).args(["shiftlog", "rules", "sync", "--follow"]);
        feed(&mut command, b"");
        let edited = home.read("dotfiles/claude.md").replace("spaces", "blanks");
        home.write("dotfiles/claude.md", &edited);
        let ran = home.rules(&["sync"]);
        assert_ne!(ran.code, 0, "{point}: {ran:?}");
        assert_eq!(home.read("dotfiles/claude.md"), edited, "{point}: the edit stays");
        home.rules(&["sync", "--force", "--follow"]).ok();
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.read("dotfiles/claude.md"), "first\n", "{point}");
        assert!(home.has_words("blanks"), "{point}: in a backup");
    }
}

#[test]
fn what_is_back_in_the_place_of_a_link_that_was_followed_is_ours_there() {
    let cases = [("file", "whole", "copy"), ("file", "block", "copy"), ("directory", "whole", "copy")];
    let skills = [("directory", "block", "copy"), ("directory", "whole", "symlink")];
    for (what, mode, skill_mode) in cases.into_iter().chain(skills) {
        let home = Home::new();
        home.write(".claude/CLAUDE.md", "mine\n");
        home.write(".claude/skills/review/SKILL.md", "my own\n");
        let targets = json!({ "instructions": [{ "name": "claude", "mode": mode }], "rules": [],
            "skills": [{ "name": "claude", "sync_mode": skill_mode, "conflict_strategy": "overwrite" }] });
        home.write(".ai-agent/manifest.json", &json!({ "version": "1.0", "active_targets": targets }).to_string());
        let (before, case) = (home.tree(), format!("{what} {mode} {skill_mode}"));
        home.rules(&["sync"]).ok();
        fs::create_dir(home.path("dotfiles")).unwrap();
        let (here, there) = match what {
            "file" => (home.path(".claude/CLAUDE.md"), home.path("dotfiles/claude.md")),
            _ => (home.path(".claude"), home.path("dotfiles/claude")),
        };
        fs::rename(&here, &there).unwrap();
        symlink(&there, &here).unwrap();
        home.rules(&["sync", "--follow"]).ok();
        fs::remove_file(&here).unwrap();
        fs::rename(&there, &here).unwrap();
        fs::remove_dir(home.path("dotfiles")).unwrap();
        home.rules(&["sync"]).ok();
        assert_eq!(home.rules(&["check"]).ok(), "", "{case}");
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before, "{case}");
    }
}
