//! Files that are too large to be read, and what is no regular file.

use std::fs;
use std::path::Path;

use super::Home;
use crate::support::Ran;

/// Makes a file too large to be read.
fn grow(path: &Path) {
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap()
        .set_len((16 << 20) + 1)
        .unwrap();
}

pub(super) fn make_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
}

impl Home {
    /// Runs a command that may not wait for ever.
    pub(super) fn rules_in_time(&self, words: &[&str]) -> Ran {
        let mut command = self.scratch.command("timeout", &self.scratch.top);
        Ran::of(command.args(["60", "git", "shiftlog", "rules"]).args(words).output().unwrap())
    }

    /// Returns the sizes of the files in backups that are larger than a file that is read.
    fn large_in_backups(&self) -> usize {
        let kept =
            self.scratch.run_in(&self.path(".ai-agent/backups"), "find", [".", "-size", "+16383k", "-type", "f"]);
        kept.ok().lines().count()
    }
}

#[test]
fn a_generated_file_that_has_become_too_large_is_an_edit_and_goes_to_the_backup_unread() {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine\n");
    let before = home.tree();
    home.rules(&["sync"]).ok();
    let files = [".claude/CLAUDE.md", ".gemini/GEMINI.md", ".cursor/rules/style.mdc", ".claude/skills/review/large"];
    let grow_all = || files.iter().for_each(|file| grow(&home.path(file)));
    grow_all();
    for command in [&["sync"][..], &["sync", "--adopt"], &["check"], &["clean", "--yes"]] {
        let ran = home.rules(command);
        assert_eq!(ran.code, 3, "{command:?}: {ran:?}");
        let large = |file: &&str| home.path(file).metadata().unwrap().len() > 16 << 20;
        assert!(files.iter().all(large), "{command:?}");
    }
    home.rules(&["sync", "--force"]).ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    assert!(home.read(".gemini/GEMINI.md").contains("four spaces"));
    assert_eq!(home.large_in_backups(), 4, "nothing is lost");
    grow_all();
    home.rules(&["clean", "--yes", "--force"]).ok();
    assert_eq!(home.tree(), before);
    assert_eq!(home.large_in_backups(), 8, "nothing is lost");
}

#[test]
fn nothing_waits_for_a_named_pipe() {
    for file in ["lock", "journal.json", "registry.json"] {
        let home = Home::new();
        let path = home.path(".ai-agent/shiftlog").join(file);
        make_pipe(&path);
        // Where nothing was written, there is nothing to lock for.
        let clean = Some(&["clean", "--yes"][..]).filter(|_| file != "lock");
        for command in [&["sync"][..], &["add-rule", "new"]].into_iter().chain(clean) {
            let ran = home.rules_in_time(command);
            assert_eq!(ran.code, 1, "{file} {command:?}: {ran:?}");
            assert!(ran.stderr.contains(&format!("'{}'", path.display())), "{file} {command:?}: {ran:?}");
        }
        home.rules_in_time(&["status"]).ok();
        fs::remove_file(path).unwrap();
        home.rules(&["sync"]).ok();
    }
    let home = Home::empty();
    home.write(".claude/CLAUDE.md", "# Style\n\nfour spaces\n");
    home.write(".codex/skills/good/SKILL.md", "good\n");
    home.write(".codex/skills/odd/SKILL.md", "odd\n");
    make_pipe(&home.path(".codex/skills/odd/pipe"));
    let before = home.tree();
    let told = home.rules_in_time(&["init", "--yes"]).ok();
    assert!(told.contains("  skill good\n") && told.contains("  skill odd is left out: '"), "{told}");
    assert!(!home.is_there(".ai-agent/skills/odd") && home.is_there(".codex/skills/odd/pipe"));
    home.rules_in_time(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
    // In the way of a skill of the store it is moved to the backup, as any folder.
    let home = Home::new();
    for agent in [".codex", ".claude"] {
        make_pipe(&home.path(agent).join("skills/review/pipe"));
    }
    let before = home.tree();
    home.rules_in_time(&["sync"]).ok();
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules_in_time(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn a_manifest_that_cannot_be_read_keeps_nothing_from_coming_back_that_is_written_down() {
    for damage in ["text", "directory", "bytes", "large", "pipe"] {
        let home = Home::new();
        home.write(".claude/CLAUDE.md", "mine\n");
        home.write(".codex/skills/review/SKILL.md", "my own\n");
        home.write("ws/AGENTS.md", "mine, too\n");
        let before = home.tree();
        home.rules(&["sync"]).ok();
        let manifest = home.path(".ai-agent/manifest.json");
        fs::remove_file(&manifest).unwrap();
        match damage {
            "text" => fs::write(&manifest, "{ \"version\": ").unwrap(),
            "directory" => fs::create_dir(&manifest).unwrap(),
            "bytes" => fs::write(&manifest, b"\xff\xfe").unwrap(),
            "large" => grow(&manifest),
            _ => make_pipe(&manifest),
        }
        for _ in 0..2 {
            let ran = home.rules_in_time(&["clean", "--yes"]);
            assert_eq!(ran.code, 1, "{damage}: {ran:?}");
            let named = format!("'{}'", manifest.display());
            let why =
                "; files that only the settings name were not looked for\nhint: put the manifest right, or remove it";
            assert!(ran.stderr.contains(&named) && ran.stderr.contains(why), "{damage}: {ran:?}");
            assert_eq!(home.tree(), before, "{damage}");
            assert!(manifest.symlink_metadata().is_ok(), "it is the user's");
        }
    }
}
