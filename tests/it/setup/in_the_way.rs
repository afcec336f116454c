//! What stands where a file of ours should be: it is named and stays as it is, and all else is set up and taken back.

use std::path::PathBuf;

use super::*;
use crate::support::Ran;

fn in_time(scratch: &Scratch, words: &[&str]) -> Ran {
    let mut command = scratch.command("timeout", &scratch.top);
    Ran::of(command.args(["60", "git", "shiftlog"]).args(words).output().unwrap())
}

fn put(path: &Path, is_pipe: bool) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if is_pipe {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    } else {
        fs::create_dir_all(path.join("mine")).unwrap();
    }
}

fn take_away(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

const INIT: &[&str] = &["init", "--agent=claude", "--agent=cursor", "--mcp=vscode,gemini", "-q"];

#[test]
fn what_is_no_file_keeps_init_and_deinit_from_nothing_else() {
    let names = [
        ".claude/settings.local.json",
        ".cursor/hooks.json",
        ".vscode/mcp.json",
        ".git/hooks/post-commit",
        ".git/info/exclude",
    ];
    for is_pipe in [true, false] {
        for name in names {
            // Of hooks in the config no file is ours.
            if name.contains("hooks/post") && uses_config_hooks(&Scratch::new()) {
                continue;
            }
            // In the way from the start.
            let scratch = Scratch::new();
            let path = scratch.top.join(name);
            let _ = fs::remove_file(&path);
            put(&path, is_pipe);
            let before = shapes(&scratch);
            let ran = in_time(&scratch, INIT);
            let told =
                format!("error: cannot read '{}': it is not a regular file\nhint: it stays as it is; ", path.display());
            assert!(ran.code == 1 && ran.stderr.contains(&told), "{name}: {ran:?}");
            for other in names.iter().filter(|other| **other != name && !other.contains("hooks/post")) {
                let text = fs::read_to_string(scratch.top.join(other)).unwrap();
                assert!(text.contains("shiftlog"), "{name}: {other} is written");
            }
            assert!(!path.is_file(), "{name}");
            in_time(&scratch, &["doctor", "--no-rehearsal"]);
            assert_eq!(in_time(&scratch, &["deinit", "-q"]).code, 0, "{name}: nothing of ours is there");
            assert_eq!(shapes(&scratch), before, "{name}");
            // In the way later.
            let scratch = Scratch::new();
            let before = files(&scratch);
            scratch.git(["shiftlog"].iter().chain(INIT).copied().collect::<Vec<_>>()).ok();
            let path = scratch.top.join(name);
            fs::remove_file(&path).unwrap();
            put(&path, is_pipe);
            let told = told
                .replace(&told[told.find('\'').unwrap()..told.find("': it").unwrap()], &format!("'{}", path.display()));
            for _ in 0..2 {
                let ran = in_time(&scratch, &["deinit", "-q"]);
                assert!(ran.code == 1 && ran.stderr.contains(&told), "{name}: {ran:?}");
            }
            for other in names.iter().filter(|other| **other != name) {
                let text = fs::read_to_string(scratch.top.join(other)).unwrap_or_default();
                assert!(!text.contains("shiftlog"), "{name}: {other} is taken back");
            }
            take_away(&path);
            scratch.shiftlog("deinit", ["-q"]).ok();
            let mut before = before;
            before.remove(name);
            assert_eq!(files(&scratch), before, "{name}");
            assert!(!scratch.state().exists(), "{name}");
        }
    }
}

#[test]
fn a_file_that_does_not_parse_keeps_init_and_deinit_from_nothing_else() {
    let broken: [(&str, &[u8]); 4] = [
        (".claude/settings.local.json", b"{ \"hooks\": {"),
        (".cursor/hooks.json", b"{ \"hooks\": \xff }"),
        (".vscode/mcp.json", b"{ \"servers\": ["),
        (".gemini/settings.json", b"{ \"mcpServers\": {} }}"),
    ];
    let hook = ".git/hooks/post-commit";
    for (name, text) in broken {
        let scratch = Scratch::new();
        let has_hooks = !uses_config_hooks(&scratch);
        let is_ours = |name: &str| {
            fs::read(scratch.top.join(name)).is_ok_and(|text| String::from_utf8_lossy(&text).contains("shiftlog"))
        };
        let others = || broken.iter().map(|(other, _)| *other).filter(|other| *other != name);
        let path = scratch.top.join(name);
        let told = |command: &str| {
            let ran = in_time(&scratch, if command == "init" { INIT } else { &["deinit", "-q"] });
            let hint = format!("\nhint: it stays as it is; correct it, then 'git shiftlog {command}' does the rest\n");
            let error = format!("error: cannot edit '{}': it ", path.display());
            assert!(ran.code == 1 && ran.stderr.contains(&error) && ran.stderr.ends_with(&hint), "{name}: {ran:?}");
            assert_eq!(fs::read(&path).unwrap(), text, "{name}: it stays");
        };
        // Broken from the start.
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let before = files(&scratch);
        told("init");
        assert!(others().all(is_ours) && (!has_hooks || is_ours(hook)), "{name}: all else is set up");
        in_time(&scratch, &["deinit", "-q"]).ok();
        assert_eq!(files(&scratch), before, "{name}: nothing of ours is in it");
        // Broken later.
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_dir(path.parent().unwrap());
        let before = files(&scratch);
        in_time(&scratch, INIT).ok();
        let good = fs::read(&path).unwrap();
        fs::write(&path, text).unwrap();
        told("deinit");
        told("deinit");
        assert!(!others().any(is_ours) && !is_ours(hook) && !is_ours(".git/config"), "{name}: all else is taken back");
        fs::write(&path, good).unwrap();
        in_time(&scratch, &["deinit", "-q"]).ok();
        assert_eq!(files(&scratch), before, "{name}");
        assert!(!scratch.state().exists(), "{name}");
    }
}

/// Returns the files of a tree and what kinds they are of.
fn shapes(scratch: &Scratch) -> String {
    let script = "find . -path ./.git/objects -prune -o -path ./.git/shiftlog -prune -o -printf '%p %y %m\\n' | sort";
    scratch.run_in(&scratch.top, "sh", ["-c", script]).ok()
}

#[test]
fn a_file_in_the_place_of_a_directory_keeps_init_from_nothing_else() {
    let scratch = Scratch::new();
    let pipe: PathBuf = scratch.top.join(".vscode");
    put(&pipe, true);
    let before = shapes(&scratch);
    let ran = in_time(&scratch, INIT);
    let told =
        format!("error: cannot write '{}': '{}' is no directory\n", pipe.join("mcp.json").display(), pipe.display());
    assert!(ran.code == 1 && ran.stderr.contains(&told), "{ran:?}");
    assert!(
        scratch.top.join(".claude/settings.local.json").is_file()
            && scratch.top.join(".gemini/settings.json").is_file()
    );
    assert_eq!(in_time(&scratch, &["deinit", "-q"]).code, 0);
    assert_eq!(shapes(&scratch), before);
}

#[test]
fn the_config_comes_back_byte_for_byte() {
    for ending in
        ["[user]\n\tname = no newline at the end", "[notes \"shiftlog\"]\n", "; a remark\n[shiftlog]\n\n[core]\n", ""]
    {
        for share in [&[][..], &["--share=all"]] {
            let scratch = Scratch::new();
            scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
            let path = scratch.top.join(".git/config");
            let text = fs::read_to_string(&path).unwrap() + ending;
            fs::write(&path, &text).unwrap();
            let init = |agent| scratch.shiftlog("init", [&["-q", agent][..], share].concat()).ok();
            init("--agent=claude");
            assert_ne!(fs::read_to_string(&path).unwrap(), text);
            scratch.shiftlog("init", ["-q", "--agent=claude", "--no-git-hooks", "--share=notes"]).ok();
            init("--agent=gemini");
            scratch.shiftlog("deinit", ["-q"]).ok();
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{ending:?}");
            assert!(!scratch.state().exists() && !path.with_extension("lock").exists());
            // What somebody else has changed stays.
            init("--agent=claude");
            scratch.git(["config", "user.email", "me@example.com"]).ok();
            scratch.shiftlog("deinit", ["-q"]).ok();
            assert_eq!(scratch.git(["config", "--local", "user.email"]).ok(), "me@example.com\n");
            let left = fs::read_to_string(&path).unwrap();
            assert!(!left.contains("mergeStrategy") && !left.contains("refs/shiftlog"), "{left}");
        }
    }
}
