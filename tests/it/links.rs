//! Links that lead out of a repository, what is left after the state was lost, and tracked files: `init` and `deinit`
//! change what is the repository's own, and say so where it goes to everybody.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::setup::uses_config_hooks;
use crate::support::Scratch;

mod hooks;

const THEIRS: &str = "{ \"model\": \"x\" }\n";

/// Every file below a directory with its text, a link with its target; our own state and Git's objects apart.
fn tree(top: &Path) -> BTreeMap<String, String> {
    let (mut found, mut directories) = (BTreeMap::new(), vec![top.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            if [".git/shiftlog", ".git/objects", ".git/index", ".git/logs"].contains(&name.as_str()) {
                continue;
            }
            let text = if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                directories.push(path);
                String::new()
            } else {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            };
            found.insert(name, text);
        }
    }
    found
}

/// Asserts that two trees have the same files with the same text; says which have not.
#[track_caller]
fn assert_same(after: &BTreeMap<String, String>, before: &BTreeMap<String, String>, what: &str) {
    let only = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| -> Vec<(String, String)> {
        let differs = |(name, text): &(&String, &String)| other.get(*name) != Some(*text);
        one.iter().filter(differs).map(|(name, text)| (name.clone(), text.clone())).collect()
    };
    assert_eq!(only(after, before), only(before, after), "{what}");
}

/// A repository and a directory beside it, which `link` in the repository leads to.
fn with_link(link: &str, target: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let other = scratch.root().join("other");
    fs::create_dir_all(other.join(".claude")).unwrap();
    fs::write(other.join(".claude/settings.local.json"), THEIRS).unwrap();
    let link = scratch.top.join(link);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(scratch.root().join(target), link).unwrap();
    (scratch, other)
}

#[test]
fn a_place_that_a_link_leads_to_is_not_changed_unasked() {
    for (link, target, named, real) in [
        (".claude", "../other/.claude", ".claude/settings.local.json", "other/.claude/settings.local.json"),
        // Also where nothing is yet, and where a folder on the way is the link.
        (".claude/settings.local.json", "other/new.json", ".claude/settings.local.json", "other/new.json"),
        (".claude", "other/nowhere", ".claude/settings.local.json", "other/nowhere/settings.local.json"),
    ] {
        let target = target.strip_prefix("../").unwrap_or(target);
        let (scratch, other) = with_link(link, target);
        let (before, before_here) = (tree(&other), tree(&scratch.top));
        let ran = scratch.shiftlog("init", ["--agent=claude", "-q"]);
        let (top, root) = (scratch.top.display(), scratch.root());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            ran.stderr,
            format!(
                "warning: '{top}/{named}' leads to '{}' outside this repository, and is left alone\n\
                 hint: 'git shiftlog init --yes' edits it there\n",
                root.join(real).display()
            )
        );
        assert_same(&tree(&other), &before, link);
        let exclude = fs::read_to_string(scratch.top.join(".git/info/exclude")).unwrap_or_default();
        assert!(!exclude.contains("settings.local"), "there is nothing to hide: {exclude}");
        scratch.shiftlog("deinit", ["-q"]).ok();
        assert_same(&tree(&scratch.top), &before_here, link);
        // Who agrees gets it, and gets it back.
        scratch.shiftlog("init", ["--agent=claude", "-q", "--yes"]).ok();
        let edited = fs::read_to_string(root.join(real)).unwrap();
        assert!(edited.contains("git-shiftlog--hook"), "{edited}");
        let set_up = tree(&other);
        let ran = scratch.shiftlog("init", ["--agent=claude"]);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("nothing to do\n", ""));
        let ran = scratch.shiftlog("deinit", ["-q"]);
        assert!(ran.stderr.ends_with("hint: 'git shiftlog deinit --yes' edits it there\n"), "{ran:?}");
        assert_same(&tree(&other), &set_up, "");
        scratch.shiftlog("deinit", ["-q", "--yes"]).ok();
        assert_same(&tree(&other), &before, &format!("{link}: byte for byte"));
    }
}

#[test]
fn leaving_changes_nothing_of_the_repository_that_a_link_leads_to() {
    let scratch = Scratch::set_up();
    let set_up = tree(&scratch.top);
    let other = scratch.root().join("other");
    scratch.git(["init", "-q", other.to_str().unwrap()]).ok();
    symlink(scratch.top.join(".claude"), other.join(".claude")).unwrap();
    for options in [&["-q"][..], &["-q", "--yes"]] {
        let ran = scratch.shiftlog_in(&other, "deinit", options);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            ran.stderr,
            format!(
                "warning: '{}/.claude/settings.local.json' leads to '{}/.claude/settings.local.json' outside this \
                 repository, and is left alone\n",
                other.display(),
                scratch.top.display()
            ),
        );
        assert_same(&tree(&scratch.top), &set_up, &format!("{options:?}"));
    }
    // A file that is ours alone, and nothing was written down here.
    scratch.shiftlog("init", ["--agent=opencode", "-q"]).ok();
    let set_up = tree(&scratch.top);
    symlink(scratch.top.join(".opencode"), other.join(".opencode")).unwrap();
    let ran = scratch.shiftlog_in(&other, "deinit", ["-q", "--yes"]);
    assert_eq!(ran.stderr.matches("outside this repository, and is left alone\n").count(), 2, "{ran:?}");
    assert_same(&tree(&scratch.top), &set_up, "a file of ours");
    // A folder of its own was set up, and then somebody put a link in its place: what was written down is not there.
    fs::remove_file(other.join(".claude")).unwrap();
    scratch.shiftlog_in(&other, "init", ["--agent=claude", "-q"]).ok();
    fs::remove_dir_all(other.join(".claude")).unwrap();
    symlink(scratch.top.join(".claude"), other.join(".claude")).unwrap();
    scratch.shiftlog_in(&other, "deinit", ["-q", "--yes"]).ok();
    assert_same(&tree(&scratch.top), &set_up, "");
    assert!(!other.join(".git/hooks/post-commit").exists(), "its own hooks are gone");
}

#[test]
fn a_link_between_two_worktrees_is_one_file() {
    let scratch = Scratch::new();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    fs::create_dir(scratch.top.join(".claude")).unwrap();
    symlink(scratch.top.join(".claude"), other.join(".claude")).unwrap();
    let before = tree(&scratch.top);
    scratch.shiftlog_in(&other, "init", ["--agent=claude", "-q"]).ok();
    assert!(scratch.top.join(".claude/settings.local.json").is_file());
    assert_eq!(scratch.shiftlog("init", ["--agent=claude"]).ok(), "nothing to do\n");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_same(&tree(&scratch.top), &before, "");
    assert!(other.join(".claude").is_symlink());
}

#[test]
fn what_init_made_is_known_when_its_own_record_is_lost() {
    let scratch = Scratch::new();
    scratch.write(".gemini/settings.json", "{\n  \"model\": \"x\"\n}\n");
    let before = tree(&scratch.top);
    let agents = ["claude", "cursor", "gemini", "opencode", "copilot", "codex", "amp", "pi", "cline", "windsurf"];
    let mut options: Vec<String> = agents.iter().map(|agent| format!("--agent={agent}")).collect();
    options.extend(["-q".to_owned(), "--mcp=vscode,opencode,codex".to_owned()]);
    scratch.git(["remote", "add", "origin", "../nowhere"]).ok();
    let config = || fs::read_to_string(scratch.top.join(".git/config")).unwrap();
    let config_before = config();
    scratch.shiftlog("init", &options).ok();
    scratch.git(["config", "--add", "notes.rewriteRef", "refs/notes/mine"]).ok();
    let set_up = tree(&scratch.top);
    scratch.lose_state();
    let dry = scratch.shiftlog("deinit", ["--dry-run"]).ok();
    assert_same(&tree(&scratch.top), &set_up, "a dry run changes nothing");
    assert_eq!(scratch.shiftlog("deinit", [""; 0]).ok(), dry, "it did what it said");
    scratch.git(["config", "--unset", "notes.rewriteRef", "refs/notes/mine"]).ok();
    let lines = |text: String| text.lines().filter(|line| !line.starts_with("[notes")).map(str::to_owned).collect();
    let (after, expected): (Vec<String>, Vec<String>) = (lines(config()), lines(config_before));
    assert_eq!(after, expected);
    let without_config = |mut files: BTreeMap<String, String>| {
        files.remove(".git/config");
        files
    };
    assert_same(&without_config(tree(&scratch.top)), &without_config(before), "");
    assert_eq!(scratch.shiftlog("deinit", [""; 0]).ok(), "nothing to do\n");
}

#[test]
fn what_a_user_wrote_beside_our_parts_stays_when_the_record_is_lost() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "--agent=opencode", "-q"]).ok();
    let hook = scratch.top.join(".git/hooks/post-commit");
    fs::write(&hook, fs::read_to_string(&hook).unwrap() + "echo mine\n").unwrap();
    let plugin = fs::read_dir(scratch.top.join(".opencode/plugins")).unwrap().next().unwrap().unwrap().path();
    fs::write(&plugin, fs::read_to_string(&plugin).unwrap() + "// mine\n").unwrap();
    scratch.lose_state();
    let ran = scratch.shiftlog("deinit", ["-q"]);
    assert!(ran.stderr.contains("was changed since it was made, and stays"), "{ran:?}");
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\necho mine\n");
    assert!(fs::read_to_string(&plugin).unwrap().ends_with("// mine\n"));
    assert!(!scratch.top.join(".git/hooks/pre-push").exists());
    assert!(!scratch.top.join(".claude").exists());
}

#[test]
fn leaving_leaves_no_file_in_our_own_directory() {
    let scratch = Scratch::set_up();
    scratch.shiftlog("deinit", ["-q"]).ok();
    let left: Vec<PathBuf> = scratch.state_files();
    assert_eq!(left, Vec::<PathBuf>::new());
    assert!(!scratch.state().exists());
}

#[test]
fn a_tracked_file_with_settings_is_not_edited_without_a_word() {
    let scratch = Scratch::new();
    scratch.write(".claude/settings.local.json", THEIRS);
    scratch.write(".cursor/mcp.json", "{ \"mcpServers\": {} }\n");
    scratch.git(["add", "-f", ".claude", ".cursor"]).ok();
    scratch.git(["commit", "-q", "-m", "settings of everybody"]).ok();
    let told = "warning: '.claude/settings.local.json' is tracked: our lines in it go to everybody once committed\n";
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q"]);
    assert_eq!(ran.stderr, told);
    assert_eq!(scratch.shiftlog("init", ["--agent=claude", "-q"]).stderr, "", "it is said when it is done");
    let ran = scratch.shiftlog("init", ["--agent=claude", "--mcp=cursor", "-q"]);
    assert_eq!(ran.stderr, told.replace(".claude/settings.local.json", ".cursor/mcp.json"));
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "");
    // A folder that leads to another one of the same working tree.
    scratch.git(["mv", ".claude", "ours"]).ok();
    symlink(Path::new("ours"), scratch.top.join(".claude")).unwrap();
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q"]);
    assert_eq!(ran.stderr, told);
    let text = fs::read_to_string(scratch.top.join("ours/settings.local.json")).unwrap();
    assert!(
        !text.contains(scratch.root().to_str().unwrap()) && text.contains("command -v git-shiftlog--hook"),
        "{text}"
    );
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_to_string(scratch.top.join("ours/settings.local.json")).unwrap(), THEIRS);
}

#[test]
fn a_users_settings_that_are_a_link_to_nothing_are_such_a_link_again_after_deinit() {
    for is_known in [true, false] {
        let scratch = Scratch::new();
        let (settings, dots) = (scratch.home().join(".gemini"), scratch.home().join("dots"));
        fs::create_dir_all(&settings).unwrap();
        fs::create_dir_all(&dots).unwrap();
        // A link that leads to another one.
        symlink("../dots/gemini.json", settings.join("settings.json")).unwrap();
        symlink(".gemini.json", dots.join("gemini.json")).unwrap();
        let before = [tree(&settings), tree(&dots)];
        scratch.shiftlog("init", ["-q", "-y", "--global", "--agent=gemini"]).ok();
        assert!(fs::read_to_string(dots.join(".gemini.json")).unwrap().contains("git-shiftlog--hook"));
        assert!(settings.join("settings.json").is_symlink() && dots.join("gemini.json").is_symlink());
        if !is_known {
            scratch.lose_state();
        }
        scratch.shiftlog("deinit", ["-q", "-y"]).ok();
        let after = [tree(&settings), tree(&dots)];
        after.iter().zip(&before).for_each(|(after, before)| assert_same(after, before, "the home directory"));
    }
}

#[test]
fn settings_of_two_agents_that_are_links_to_one_file_get_the_hooks_of_both() {
    for (options, [one, other], names) in [
        (&["--global"][..], [".gemini/settings.json", ".qwen/settings.json"], ["gemini", "qwen"]),
        (&[], [".claude/settings.local.json", ".gemini/settings.json"], ["claude", "gemini"]),
    ] {
        let scratch = Scratch::new();
        let base = if options.is_empty() { scratch.top.clone() } else { scratch.home() };
        let file = base.join("dots/agents.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, THEIRS).unwrap();
        for link in [one, other] {
            fs::create_dir_all(base.join(link).parent().unwrap()).unwrap();
            symlink("../dots/agents.json", base.join(link)).unwrap();
        }
        let before = tree(&base);
        let agents = names.map(|name| format!("--agent={name}"));
        let init =
            |wanted: &[&str]| scratch.shiftlog("init", [&["-y", "--no-git-hooks"], options, wanted].concat()).ok();
        init(&[&agents[0], &agents[1]]);
        let text = fs::read_to_string(&file).unwrap();
        for name in names {
            assert!(text.contains(&format!("git-shiftlog--hook {name} ")), "{name}: {text}");
        }
        for again in [&[agents[0].as_str(), &agents[1]][..], &[&agents[1]], &[&agents[0]]] {
            init(again);
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{again:?}");
        }
        scratch.shiftlog("deinit", ["-q", "-y"]).ok();
        assert_same(&tree(&base), &before, names[0]);
    }
}
