//! Files that are being written, folders that cannot go yet, and commands that were interrupted.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::process::Stdio;

use super::Home;
use crate::support::{Ran, bin_dir, copy_program};

impl Home {
    /// Runs a command that ends at a point. Returns whether it was met.
    pub(super) fn killed(&self, point: &str, words: &[&str]) -> bool {
        let mut command = self.scratch.command("git", &self.scratch.top);
        command.env("SHIFTLOG_FAULT", point).args(["shiftlog", "rules"]).args(words);
        Ran::of(command.stdout(Stdio::null()).stderr(Stdio::null()).output().unwrap()).code != 0
    }
}

/// Names that files have until they are written.
const UNFINISHED: &[&str] = &[
    ".ai-agent/.manifest.json.shiftlog-new",
    ".claude/.CLAUDE.md.shiftlog-new",
    ".claude/.CLAUDE.md.shiftlog-new-2",
    ".codex/skills/.review.shiftlog-new",
    ".cursor/rules/.style.mdc.shiftlog-new",
    ".gemini/.GEMINI.md.shiftlog-new",
];

#[test]
fn a_users_file_stays_that_has_the_name_of_a_file_that_is_being_written() {
    let fresh = || {
        let home = Home::new();
        UNFINISHED.iter().for_each(|path| home.write(path, "mine\n"));
        home.write(".claude/CLAUDE.md", "the user's\n");
        home
    };
    let home = fresh();
    let before = home.tree();
    home.rules(&["sync"]).ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    UNFINISHED.iter().for_each(|path| assert_eq!(home.read(path), "mine\n", "{path}"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
    // What a command that was killed has left goes, and nothing else.
    let commands = [
        (&["sync"][..], ".ai-agent/.manifest.json.shiftlog-new-2"),
        (&["clean", "--yes"], ".claude/.CLAUDE.md.shiftlog-new-3"),
    ];
    for (command, left) in commands {
        let home = fresh();
        let before = home.tree();
        if command[0] == "clean" {
            home.rules(&["sync"]).ok();
        }
        assert!(home.killed("half-written", command), "{command:?}");
        assert!(home.is_there(left), "{command:?}");
        home.rules(&["sync"]).ok();
        assert!(!home.is_there(left), "{command:?}");
        UNFINISHED.iter().for_each(|path| assert_eq!(home.read(path), "mine\n", "{path}"));
        home.rules(&["clean", "--yes"]).ok();
        assert_eq!(home.tree(), before, "{command:?}");
    }
}

#[test]
fn a_folder_of_ours_that_was_not_empty_goes_when_it_is() {
    let home = Home::new();
    let before = home.tree();
    home.rules(&["sync"]).ok();
    let files = [".kiro/steering/mine.md", ".gemini/deep/mine.md", ".codex/skills/mine/SKILL.md"];
    files.iter().for_each(|file| home.write(file, "mine\n"));
    home.rules(&["clean", "--yes"]).ok();
    files.iter().for_each(|file| assert_eq!(home.read(file), "mine\n"));
    let nothing = "Nothing to clean -- no generated files or managed skills found.\n";
    assert_eq!(home.rules(&["clean", "--yes"]).ok(), nothing);
    files.iter().for_each(|file| assert_eq!(home.read(file), "mine\n"));
    for path in [".kiro/steering/mine.md", ".gemini/deep/mine.md", ".codex/skills/mine/SKILL.md"] {
        fs::remove_file(home.path(path)).unwrap();
    }
    fs::remove_dir(home.path(".gemini/deep")).unwrap();
    fs::remove_dir(home.path(".codex/skills/mine")).unwrap();
    assert_eq!(home.rules(&["clean", "--yes", "--dry-run"]).ok(), nothing);
    assert!(home.is_there(".kiro/steering"));
    assert_eq!(home.rules(&["clean", "--yes"]).ok(), nothing);
    assert_eq!(home.tree(), before);
}

#[test]
fn an_init_that_was_killed_is_finished_by_the_next_command() {
    let mut killed = 0;
    for number in 0..20 {
        for next in [&["sync"][..], &["init", "--yes"], &["add-rule", "more"]] {
            let home = Home::empty();
            home.write(".claude/CLAUDE.md", "# Style\n\nfour spaces\n\n# Tests\n\ntest first\n");
            home.write(".codex/skills/review/SKILL.md", "review\n");
            let before = home.tree();
            if !home.killed(&format!("rules-step-{number}"), &["init", "--yes"]) {
                continue;
            }
            killed += 1;
            // A hint names what helps.
            if !home.is_there(".ai-agent/manifest.json") {
                let told = home.rules(&["sync", "--dry-run"]);
                assert_eq!(told.code, 1);
                assert!(
                    told.stderr.ends_with("hint: 'git shiftlog rules sync' finishes what was interrupted\n"),
                    "{told:?}"
                );
            }
            let ran = home.rules(next);
            let is_late = next[0] == "init" && ran.stderr.starts_with("error: there is a store already");
            assert!(ran.code == 0 || is_late, "{number} {next:?}: {ran:?}");
            assert_eq!(home.rules(&["check"]).ok(), "", "{number} {next:?}");
            assert!(home.read(".ai-agent/manifest.json").contains("\"tests\""));
            home.rules(&["clean", "--yes"]).ok();
            assert_eq!(home.tree(), before, "{number} {next:?}");
        }
    }
    assert!(killed > 20, "{killed} kills");
}

#[test]
fn a_damaged_journal_says_what_to_do_and_no_unfinished_file_stays_in_the_store() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    home.write(".ai-agent/shiftlog/.tmp-a1B2c3", "half of a registry");
    home.write(".ai-agent/shiftlog/journal.json", "{ half of it");
    let ran = home.rules(&["sync"]);
    let path = home.path(".ai-agent/shiftlog/journal.json");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with(&format!("error: cannot read '{}': ", path.display())), "{ran:?}");
    let hint = "hint: if you move the file away, what was interrupted is not finished, and the next command goes on without it\n";
    assert!(ran.stderr.ends_with(hint), "{ran:?}");
    fs::remove_file(path).unwrap();
    home.rules(&["sync"]).ok();
    assert!(!home.is_there(".ai-agent/shiftlog/.tmp-a1B2c3"));
}

#[test]
fn a_linked_folder_of_an_agent_need_not_have_the_folders_below_it() {
    let home = Home::new();
    fs::create_dir_all(home.path("dot/claude")).unwrap();
    fs::create_dir_all(home.path("dot/kiro")).unwrap();
    fs::remove_dir(home.path(".claude")).unwrap();
    symlink("dot/claude", home.path(".claude")).unwrap();
    symlink("dot/kiro", home.path(".kiro")).unwrap();
    let before = home.tree();
    assert!(home.killed("rules-step-9", &["sync", "--follow"]));
    home.rules(&["sync", "--follow"]).ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    assert!(home.is_there("dot/claude/skills/review/SKILL.md") && home.is_there("dot/kiro/steering/conventions.md"));
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
    // One that leads nowhere still does.
    fs::remove_dir(home.path("dot/kiro")).unwrap();
    let ran = home.rules(&["sync", "--follow"]);
    let told = "error: '~/.kiro' is a symbolic link that leads nowhere\n\
                hint: make what it leads to, or remove it, and run the command again\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, told));
}

#[test]
fn a_link_that_was_followed_is_followed_after_the_home_was_moved() {
    let home = Home::new();
    let dotfiles = home.scratch.root().join("dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    fs::write(dotfiles.join("CLAUDE.md"), "mine\n").unwrap();
    fs::create_dir_all(home.path(".claude")).unwrap();
    symlink(dotfiles.join("CLAUDE.md"), home.path(".claude/CLAUDE.md")).unwrap();
    home.rules(&["sync", "--follow"]).ok();
    let moved = home.scratch.root().join("moved");
    fs::rename(home.path(""), &moved).unwrap();
    home.rules_of(&moved, &["sync"]).ok();
    assert_eq!(home.rules_of(&moved, &["check"]).ok(), "");
    home.rules_of(&moved, &["clean", "--yes"]).ok();
    assert_eq!(fs::read_to_string(dotfiles.join("CLAUDE.md")).unwrap(), "mine\n");
}

/// Only the next command removed it, and forgot it where it could not.
#[test]
fn an_unfinished_file_that_cannot_be_removed_goes_when_it_can() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    home.write(".ai-agent/rules/style.md", "# Style\n\nfive spaces\n");
    // Root may remove everything, and so another user does it, who can get here.
    let program = home.scratch.root().join("git-shiftlog-rules");
    copy_program(bin_dir().join("git-shiftlog-rules"), &program);
    let is_root = chown(home.path(""), Some(12345), Some(23456)).is_ok();
    fs::set_permissions(home.scratch.root(), fs::Permissions::from_mode(0o755)).unwrap();
    let rules = |words: &[&str], point: &str| {
        let mut command = home.scratch.command(if is_root { "setpriv" } else { "env" }, &home.scratch.root());
        if is_root {
            home.scratch.run_in(&home.path(""), "chown", ["-hR", "12345:23456", "."]).ok();
            command.args(["--reuid=12345", "--regid=23456", "--clear-groups"]);
        }
        command.arg(&program).args(words).env("SHIFTLOG_FAULT", point);
        Ran::of(command.output().unwrap())
    };
    let left = || {
        fs::read_dir(home.path(".cursor/rules"))
            .unwrap()
            .flatten()
            .any(|it| it.path().ends_with(".style.mdc.shiftlog-new"))
    };
    fs::remove_file(home.path(".cursor/rules/style.mdc")).unwrap();
    assert_ne!(rules(&["sync", "--only=cursor"], "half-written").code, 0);
    assert!(left());
    let mode = |mode| fs::set_permissions(home.path(".cursor/rules"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let ran = rules(&["sync"], "");
    assert!(ran.code != 0 && ran.stderr.contains(".style.mdc.shiftlog-new': "), "{ran:?}");
    mode(0o700);
    rules(&["sync"], "").ok();
    assert!(!left());
}

#[test]
fn what_root_writes_in_a_users_home_is_the_users() {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine\n");
    home.write(".codex/skills/review/SKILL.md", "my own\n");
    // Only root may give files away.
    if chown(home.path(""), Some(12345), Some(23456)).is_err() {
        return;
    }
    let give = |home: &Home| {
        home.scratch.run_in(&home.path(""), "chown", ["-hR", "12345:23456", "."]).ok();
    };
    let of_others = |home: &Home| {
        let find = [".", "!", "-uid", "12345", "-o", "!", "-gid", "23456"];
        home.scratch.run_in(&home.path(""), "find", find).ok()
    };
    give(&home);
    for command in [&["sync"][..], &["add-rule", "new"], &["archive-skill", "review"], &["clean", "--yes"]] {
        home.rules(command).ok();
        assert_eq!(of_others(&home), "", "{command:?}");
    }
    let home = Home::empty();
    home.write(".claude/CLAUDE.md", "# Style\n\nmine\n");
    give(&home);
    home.rules(&["init", "--yes"]).ok();
    assert_eq!(of_others(&home), "");
}
