//! Skills whose names no skill can have, and other things of the earlier tool that are left as they are.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use super::{Home, MANIFEST};

#[test]
fn links_to_skills_whose_names_no_skill_can_have_stay() {
    let home = Home::new();
    for name in ["my skill", "_priv"] {
        home.write(&format!(".ai-agent/skills/{name}/SKILL.md"), "mine\n");
        fs::create_dir_all(home.path(".codex/skills")).unwrap();
        symlink(home.path(".ai-agent/skills").join(name), home.path(".codex/skills").join(name)).unwrap();
        let meta = format!("{{\"source\":\"{}\"}}", home.path(".ai-agent/skills").join(name).display());
        home.write(&format!(".claude/skills/{name}/.sync-meta"), &meta);
        home.write(&format!(".claude/skills/{name}/SKILL.md"), "mine\n");
    }
    symlink(home.path(".ai-agent/skills/gone skill"), home.path(".codex/skills/gone skill")).unwrap();
    let ran = home.rules(&["sync"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for name in ["my skill", "_priv"] {
        assert!(ran.stdout.contains(&format!("skill '{name}' is left out")), "{ran:?}");
        for directory in [".codex/skills", ".claude/skills"] {
            assert_eq!(home.read(&format!("{directory}/{name}/SKILL.md")), "mine\n");
        }
    }
    assert!(!home.is_there(".codex/skills/gone skill"), "one that leads nowhere goes");
    assert_eq!(home.rules(&["check"]).ok(), "");
    home.rules(&["clean", "--yes"]).ok();
    assert!(home.is_there(".codex/skills/my skill") && home.is_there(".claude/skills/_priv/SKILL.md"));
    assert!(!home.is_there(".codex/skills/review"));
}

#[test]
fn numbers_that_are_not_ours_are_written_as_they_were_read() {
    let home = Home::new();
    let numbers = "\"x-numbers\": [\n    12345678901234567890123,\n    100000000000000000000,\n    -0,\n    1e400,\n    1.50\n  ],\n  \"x-mine\"";
    let manifest = MANIFEST.replace("\"x-mine\"", numbers);
    home.write(".ai-agent/manifest.json", &manifest);
    home.rules(&["sync"]).ok();
    home.rules(&["set", "agents_md.header", "# H"]).ok();
    assert!(home.read(".ai-agent/manifest.json").contains(numbers), "{}", home.read(".ai-agent/manifest.json"));
}

#[test]
fn a_file_with_an_odd_name_in_one_skill_keeps_no_command_from_all_others() {
    let home = Home::new();
    home.write(".ai-agent/skills/odd/SKILL.md", "odd\n");
    let odd = home.path(".ai-agent/skills/odd").join(std::ffi::OsStr::from_bytes(b"caf\xe9.md"));
    fs::write(odd, "words\n").unwrap();
    let ran = home.rules(&["sync"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("'~/.ai-agent/skills/odd' is left as it is"), "{ran:?}");
    assert!(home.is_there(".claude/skills/review/SKILL.md") && home.is_there(".codex/skills/odd"));
    assert!(!home.is_there(".claude/skills/odd"));
    fs::rename(home.path(".ai-agent/skills/odd"), home.path("odd")).unwrap();
    home.rules(&["sync"]).ok();
    let odd = home.path(".claude/skills/review").join(std::ffi::OsStr::from_bytes(b"caf\xe9.md"));
    fs::write(&odd, "words\n").unwrap();
    for command in [&["add-rule", "new"][..], &["clean", "--yes"]] {
        let ran = home.rules(command);
        assert!(ran.code == 0 && ran.stdout.contains("'~/.claude/skills/review' is left as it is"), "{ran:?}");
    }
    assert!(!home.is_there(".claude/CLAUDE.md") && odd.exists());
    fs::remove_file(odd).unwrap();
    home.rules(&["clean", "--yes"]).ok();
    assert!(!home.is_there(".claude/skills") && !home.is_there(".codex/skills"));
}

#[test]
fn a_clean_without_a_store_says_that_it_knows_nothing() {
    let home = Home::new();
    home.rules(&["sync"]).ok();
    fs::remove_dir_all(home.path(".ai-agent")).unwrap();
    let told = home.rules(&["clean", "--yes"]).ok();
    assert!(told.contains("what it had written is not known") && told.contains("nothing else is known"), "{told}");
    assert!(home.is_there(".claude/CLAUDE.md"));
}
