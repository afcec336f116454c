//! Which instruction files are found, and which are not read.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use super::*;
use crate::agent;

struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Tree { root: tempfile::tempdir().unwrap() };
        for folder in ["repo", "home/.claude"] {
            fs::create_dir_all(tree.root.path().join(folder)).unwrap();
        }
        for (path, text) in files {
            let path = tree.root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn find(&self, agent: &str, directory: &str, edited: &[&str]) -> Vec<String> {
        let mut instructions = agent::find(agent).unwrap().instructions().unwrap();
        // Not the home directory of whoever runs the tests.
        instructions.home = HomeFolder::all(Some(self.root.path().join("home/.claude")), ".claude", &["CLAUDE.md"]);
        let top = self.root.path().join("repo");
        let directory = top.join(directory);
        let edited = edited.iter().map(|path| (*path).to_owned()).collect();
        let (directory, instructions) = (Some(directory.as_path()), &instructions);
        let search = Search { top: &top, directory, edited: &edited, instructions, names: &[], above: None };
        self.found(search)
    }

    fn found(&self, search: Search<'_>) -> Vec<String> {
        let found = find(search).into_iter().map(|found| match (found.root, found.content) {
            (Root::Repo, Content::Text(_)) => found.path,
            (Root::Home, Content::Text(_)) => format!("~/{}", found.path),
            (_, Content::Left(why)) => format!("{}: {why}", found.path),
        });
        found.collect()
    }
}

#[test]
fn each_agent_reads_its_own_files_from_the_top_to_where_it_works() {
    let files = [
        "repo/AGENTS.md",
        "repo/CLAUDE.md",
        "repo/GEMINI.md",
        "repo/.cursor/rules/a/style.mdc",
        "repo/.claude/rules/tests.md",
        "repo/sub/AGENTS.md",
        "repo/sub/AGENTS.override.md",
        "repo/other/CLAUDE.md",
        "repo/other/GEMINI.md",
        "home/.claude/CLAUDE.md",
    ];
    let tree = Tree::new(&files.map(|path| (path, path)));
    let home = "~/.claude/CLAUDE.md";
    assert_eq!(tree.find("claude", "sub", &[]), [home, "CLAUDE.md", ".claude/rules/tests.md"]);
    assert_eq!(
        tree.find("claude", "", &["other/deep/a.rs"]),
        [home, "CLAUDE.md", ".claude/rules/tests.md", "other/CLAUDE.md"]
    );
    assert_eq!(tree.find("codex", "sub", &["other/a.rs"]), [home, "AGENTS.md", "sub/AGENTS.override.md"]);
    assert_eq!(tree.find("gemini", "", &["other/a.rs"]), [home, "GEMINI.md", "other/GEMINI.md"]);
    assert_eq!(
        tree.find("cursor", "sub", &[]),
        [home, ".cursor/rules/a/style.mdc", "AGENTS.md", "sub/AGENTS.md", "CLAUDE.md"]
    );
    fs::remove_file(tree.root.path().join("repo/CLAUDE.md")).unwrap();
    assert_eq!(tree.find("claude", "", &[]), [home, "AGENTS.md", ".claude/rules/tests.md"], "AGENTS.md instead");
    assert!(agent::find("aider").unwrap().instructions().is_none());
}

#[test]
fn files_above_the_working_tree_count_where_they_are_below_home_and_import_nothing_from_there() {
    let tree = Tree::new(&[
        ("home/CLAUDE.md", "@private.md"),
        ("home/private.md", "no"),
        ("home/ws/CLAUDE.md", "x"),
        ("home/ws/repo/CLAUDE.md", "@../../private.md"),
        ("home/ws/other/CLAUDE.md", "x"),
        ("CLAUDE.md", "x"),
    ]);
    let home = tree.root.path().join("home");
    let top = home.join("ws/repo");
    let instructions = Instructions { home: Vec::new(), ..agent::find("claude").unwrap().instructions().unwrap() };
    let above = agent::find("claude").unwrap().instructions_above().map(|place| (place, home.as_path()));
    let edited = BTreeSet::new();
    let search = Search { top: &top, directory: None, edited: &edited, instructions: &instructions, names: &[], above };
    assert_eq!(tree.found(search), ["~/CLAUDE.md", "~/ws/CLAUDE.md", "CLAUDE.md"]);
    let elsewhere = tree.root.path().join("repo");
    assert_eq!(tree.found(Search { top: &elsewhere, ..search }), Vec::<String>::new());
}

#[test]
fn names_in_settings_stand_for_those_of_the_agent_and_lead_nowhere_else() {
    let tree = Tree::new(&[
        ("repo/GEMINI.md", "x"),
        ("repo/CONTEXT.md", "x"),
        ("repo/sub/CONTEXT.md", "x"),
        ("repo/sub/notes", "x"),
        ("home/.gemini/CONTEXT.md", "x"),
        ("home/.gemini/notes", "x"),
        ("outside.md", "x"),
    ]);
    let top = tree.root.path().join("repo");
    let gemini = agent::find("gemini").unwrap().instructions().unwrap();
    let home = HomeFolder::all(Some(tree.root.path().join("home/.gemini")), ".gemini", &["GEMINI.md"]);
    let instructions = Instructions { home, ..gemini };
    let names = ["CONTEXT.md", "notes", "../outside.md", "*.md", "..", "sub/notes"].map(str::to_owned);
    let (sub, edited) = (top.join("sub"), BTreeSet::new());
    let search = Search {
        top: &top,
        directory: Some(&sub),
        edited: &edited,
        instructions: &instructions,
        names: &names,
        above: None,
    };
    assert_eq!(tree.found(search), ["~/.gemini/CONTEXT.md", "CONTEXT.md", "sub/CONTEXT.md", "sub/notes"]);
}

#[test]
fn imports_are_followed_within_the_repository_and_the_agents_directory_and_end_in_a_circle() {
    let tree = Tree::new(&[
        ("repo/CLAUDE.md", "@docs/a.md @../outside.md @/etc/passwd @.env @missing.md"),
        ("repo/docs/a.md", "@b.md @../CLAUDE.md"),
        ("repo/docs/b.md", "@a.md"),
        ("repo/.env", "KEY=1"),
        ("outside.md", "no"),
        ("home/.claude/CLAUDE.md", "@own.md @.credentials.json @settings.json"),
        ("home/.claude/own.md", "mine"),
        ("home/.claude/.credentials.json", "{}"),
        ("home/.claude/settings.json", "{}"),
    ]);
    let expected = ["~/.claude/CLAUDE.md", "~/.claude/own.md", "CLAUDE.md", "docs/a.md", "docs/b.md", ".env: secret"];
    assert_eq!(tree.find("claude", "", &[]), expected);
    assert_eq!(tree.find("codex", "", &[]), ["~/.claude/CLAUDE.md"], "Codex has no imports");
    let long: Vec<(String, String)> = (0..9).map(|n| (format!("repo/{n}.md"), format!("@{}.md", n + 1))).collect();
    let mut files: Vec<(&str, &str)> = long.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("repo/CLAUDE.md", "@0.md"));
    let found = Tree::new(&files).find("claude", "", &[]);
    assert_eq!(found, ["CLAUDE.md", "0.md", "1.md", "2.md", "3.md", "4.md"], "five imports deep");
}

#[test]
fn links_out_pipes_and_large_files_are_named_and_not_read() {
    let tree = Tree::new(&[("repo/AGENTS.md", "x"), ("outside.md", "no")]);
    let top = tree.root.path().join("repo");
    for (target, link) in [
        ("../outside.md", "CLAUDE.md"),
        ("AGENTS.md", "CLAUDE.local.md"),
        ("nowhere.md", ".claude/CLAUDE.md"),
        ("/etc", ".claude/rules"),
    ] {
        fs::create_dir_all(top.join(link).parent().unwrap()).unwrap();
        symlink(target, top.join(link)).unwrap();
    }
    assert_eq!(tree.find("claude", "", &[]), ["CLAUDE.md: link", "CLAUDE.local.md"]);
    fs::create_dir_all(tree.root.path().join("private")).unwrap();
    fs::write(tree.root.path().join("private/of-mine.md"), "no").unwrap();
    fs::remove_file(top.join(".claude/rules")).unwrap();
    symlink("../../private", top.join(".claude/rules")).unwrap();
    assert_eq!(tree.find("claude", "", &[]), ["CLAUDE.md: link", "CLAUDE.local.md"], "names are private too");
    fs::remove_file(top.join("CLAUDE.md")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(top.join("CLAUDE.md")).status().unwrap().success());
    fs::remove_file(top.join("CLAUDE.local.md")).unwrap();
    File::create(top.join("CLAUDE.local.md")).unwrap().set_len(100 << 20).unwrap();
    assert_eq!(tree.find("claude", "", &[]), ["CLAUDE.md: kind", "CLAUDE.local.md: size"]);
}

#[test]
fn an_imported_link_that_leads_out_is_named_but_nothing_below_a_directory_that_does() {
    let tree = Tree::new(&[("repo/CLAUDE.md", "@link.md @folder/own.md @real.md\n"), ("repo/real.md", "here\n")]);
    fs::create_dir(tree.root.path().join("private")).unwrap();
    fs::write(tree.root.path().join("private/own.md"), "secret\n").unwrap();
    let top = tree.root.path().join("repo");
    symlink("../private/own.md", top.join("link.md")).unwrap();
    symlink("../private", top.join("folder")).unwrap();
    assert_eq!(tree.find("claude", "", &[]), ["CLAUDE.md", "link.md: link", "real.md"]);
}

#[test]
fn names_that_no_record_can_have_are_told_without_their_odd_letters() {
    use std::os::unix::ffi::OsStrExt as _;

    let tree = Tree::new(&[("repo/.claude/rules/a\nb.md", "a\n"), ("repo/.claude/rules/c.md", "c\n")]);
    let odd = std::ffi::OsStr::from_bytes(b"\xff.md");
    // Not every file system has such names.
    let has_odd = fs::write(tree.root.path().join("repo/.claude/rules").join(odd), "x\n").is_ok();
    let found = tree.find("claude", "", &[]);
    let expected = [".claude/rules/a\u{fffd}b.md: name", ".claude/rules/c.md", ".claude/rules/\u{fffd}.md: name"];
    assert_eq!(found, expected[..expected.len() - usize::from(!has_odd)]);
}

#[test]
fn there_is_an_end_to_files_and_bytes() {
    let names: Vec<String> = (0..200).map(|n| format!("repo/.claude/rules/{n:03}.md")).collect();
    let many = Tree::new(&names.iter().map(|path| (path.as_str(), "x")).collect::<Vec<_>>());
    let found = many.find("claude", "", &[]);
    let left = found.iter().filter(|name| name.ends_with(": number")).count();
    assert_eq!((found.len(), left), (MAX_ENTRIES, MAX_ENTRIES - MAX_FILES));
    let text = "x".repeat(MAX_FILE_BYTES);
    let large = Tree::new(&names[..6].iter().map(|path| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let left = large.find("claude", "", &[]).iter().filter(|name| name.ends_with(": size")).count();
    assert_eq!(left, 2, "four of them make a megabyte");
}

#[test]
fn every_list_of_an_agent_names_relative_paths_that_stay_below() {
    let mut count = 0;
    for instructions in agent::ALL.iter().filter_map(|agent| agent.instructions()) {
        let of_repo = instructions.repo.iter().flat_map(|place: &FilePatterns| place.patterns);
        let of_home = instructions.home.iter().flat_map(|folder| folder.patterns);
        for pattern in of_repo.chain(of_home) {
            count += 1;
            let is_plain = Path::new(pattern).components().all(|part| matches!(part, Component::Normal(_)));
            assert!(is_plain && pattern.matches("/*").count() <= 2, "{pattern}");
        }
    }
    assert!(count > 40);
}
