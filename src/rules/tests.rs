//! The property of the room: whatever commands run on whatever home, `clean` restores the first tree exactly.
//!
//! A few sequences are in each run of the tests. `SHIFTLOG_RULES_SEQUENCES=5000 cargo test --lib rules::tests` tries so
//! many; one that fails prints its number, and `SHIFTLOG_RULES_FIRST=<number>` begins with it.

mod nested;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use serde_json::{Value, json};

use super::*;
use crate::git::date::Time;
use crate::managed::disk;

/// Sequences in each run of the tests.
const SEQUENCES: u64 = 60;

/// Numbers that are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    fn some(&mut self, items: &[&str]) -> Vec<String> {
        items.iter().filter(|_| self.below(2) == 0).map(|item| (*item).to_owned()).collect()
    }
}

/// Everything below a directory but the store: kind, mode, time and content.
fn tree(top: &Path, has_store: bool) -> Tree {
    let (mut found, mut directories) = (BTreeMap::new(), vec![top.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path == top.join(STORE) && !has_store {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            // A directory gets a new time with each file that is made in it.
            let time = if metadata.is_dir() { [0; 2] } else { [metadata.mtime(), metadata.mtime_nsec()] };
            let content = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if metadata.is_dir() {
                directories.push(path.clone());
                Vec::new()
            } else if metadata.is_file() && metadata.len() < 1 << 20 {
                // The mode may keep even its owner from reading it.
                fs::read(&path).unwrap_or_else(|_| b"unreadable".to_vec())
            } else {
                metadata.len().to_string().into_bytes()
            };
            found.insert(path.strip_prefix(top).unwrap().to_owned(), (metadata.mode(), time, content));
        }
    }
    found
}

const FILES: &[&str] = &[
    ".claude/CLAUDE.md",
    ".gemini/GEMINI.md",
    ".codex/model-instructions.md",
    ".codex/AGENTS.md",
    ".kiro/steering/conventions.md",
    ".kiro/steering/a.md",
    ".claude/rules/a.md",
    ".cursor/rules/a.mdc",
    ".cursor/rules/style.mdc",
    ".cursor/rules/mine.mdc",
    "ws/AGENTS.md",
    "ws/deep/AGENTS.md",
    "p/CLAUDE.md",
];
const SKILLS: &[&str] = &[
    ".claude/skills/s1",
    ".claude/skills/s2",
    ".cursor/skills/s1",
    ".codex/skills/s2",
    ".codex/skills/mine",
    ".agents/skills/s1",
    ".gemini/skills/s1",
    ".gemini/antigravity/skills/s1",
];
const STORED: &[&str] =
    &[".ai-agent/rules/a.md", ".ai-agent/rules/style.md", ".ai-agent/rules/b.md", ".ai-agent/skills/s1/SKILL.md"];
const TEXTS: &[&[u8]] = &[
    b"# One\n\none\n\n# Two\n\ntwo\n",
    b"no end",
    b"crlf\r\nlines\r\n",
    b"",
    b" \n",
    b"\xff\xfe no text",
    b"---\ndescription: a: b\nalwaysApply: false\n---\n\nbody\n",
    b"\xef\xbb\xbfwith a mark\n",
    b"above\n<!-- git-shiftlog rules: begin -->\nmine\n<!-- git-shiftlog rules: end -->\nbelow\n",
    b"<!-- git-shiftlog rules: begin -->\nmine, without an end\n",
    b"before\n\n# style\n\n```\n# no heading\n```\n",
];

fn put(path: &Path, bytes: &[u8], mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn make_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Makes all files and links below a directory old, each in its own way.
fn make_old(top: &Path) {
    for (number, path) in tree(top, true).into_keys().enumerate() {
        let seconds = 1_000_000_000 + i64::try_from(number).unwrap();
        disk::set_modified(&top.join(path), Some(disk::Modified { secs: seconds, nanos: 5 }));
    }
}

/// Fills a home with files, links and folders of a user's.
fn fill(home: &Path, random: &mut Random) {
    if random.one_in(8) {
        fs::create_dir_all(home.join("dot/claude")).unwrap();
        symlink("dot/claude", home.join(".claude")).unwrap();
    }
    for file in FILES {
        let path = home.join(file);
        if random.one_in(12) {
            // The names that a file has until it is written.
            let name = path.file_name().unwrap().to_str().unwrap();
            put(&path.with_file_name(format!(".{name}.shiftlog-new")), b"", 0o644);
        }
        match random.below(12) {
            0..5 => {}
            5..10 if random.one_in(25) => {
                // What cannot be read as a file: nobody may, it is too large, or it is a pipe.
                match random.below(3) {
                    0 => put(&path, b"unreadable\n", 0o000),
                    1 => {
                        put(&path, b"", 0o644);
                        fs::File::options().write(true).open(&path).unwrap().set_len(disk::MAX_FILE_BYTES + 1).unwrap();
                    }
                    _ => make_pipe(&path),
                }
            }
            5..10 => put(&path, random.pick::<&[u8]>(TEXTS), *random.pick(&[0o644, 0o600, 0o755, 0o444])),
            10 if random.one_in(3) => fs::create_dir_all(&path).unwrap(),
            10 => fs::create_dir_all(path.parent().unwrap()).unwrap(),
            _ => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                put(&home.join("elsewhere.md"), b"elsewhere\n", 0o644);
                let target = if random.one_in(4) { home.join("nowhere") } else { home.join("elsewhere.md") };
                symlink(target, &path).unwrap();
            }
        }
    }
    for skill in SKILLS {
        let path = home.join(skill);
        match random.below(10) {
            0..4 => {}
            4..8 => {
                put(&path.join("SKILL.md"), b"a skill\n", 0o644);
                put(&path.join("bin/run"), b"#!/bin/sh\n", 0o755);
                if random.one_in(2) {
                    symlink("SKILL.md", path.join("link")).unwrap();
                    fs::create_dir_all(path.join("empty")).unwrap();
                }
                if random.one_in(12) {
                    make_pipe(&path.join("pipe"));
                }
            }
            8 => put(&path, b"a file\n", 0o644),
            _ => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                symlink("/nonexistent/skill", &path).unwrap();
            }
        }
    }
}

/// Makes a store by hand, as a user of the earlier tool has it.
fn make_store(home: &Path, random: &mut Random) {
    let store = home.join(STORE);
    for (id, text) in [("a", "# A\n\nrule a\n"), ("style", "four spaces\r\n"), ("b", "no end")] {
        put(&store.join(format!("rules/{id}.md")), text.as_bytes(), 0o644);
    }
    for name in ["s1", "s2"] {
        put(&store.join(format!("skills/{name}/SKILL.md")), format!("skill {name}\n").as_bytes(), 0o644);
    }
    write_manifest(
        &store,
        random,
        json!([
            { "id": "a", "file": "a.md", "cursor": { "alwaysApply": true, "description": "it: \"a\"" } },
            { "id": "style", "exclude": ["kiro"] },
            { "id": "b", "cursor": { "globs": "*.rs", "alwaysApply": false } },
        ]),
    );
}

/// Says whether an earlier tool has written a file that nobody could find any more once no setting names its path.
fn has_unknown(home: &Path, place: &Place) -> bool {
    let registry = fs::read_to_string(place.state.join("registry.json")).unwrap_or_default();
    let is_known = |path: &Path| path.to_str().is_none_or(|path| registry.contains(path));
    tree(home, false).iter().any(|(path, (.., bytes))| generate::is_generated(bytes) && !is_known(path))
}

fn write_manifest(store: &Path, random: &mut Random, rules: Value) {
    let skill = |random: &mut Random, name: &str| json!({ "name": name, "sync_mode": random.pick(&["symlink", "copy"]), "conflict_strategy": random.pick(&["overwrite", "archive"]) });
    let skills: Vec<Value> = random.some(SKILL_TARGETS).iter().map(|name| skill(random, name)).collect();
    let instruction = |random: &mut Random, name: &str| match random.below(4) {
        0 => json!({ "name": name, "mode": "block" }),
        1 => json!({ "name": name, "mode": "whole" }),
        _ => json!(name),
    };
    let instructions: Vec<Value> =
        random.some(INSTRUCTION_TARGETS).iter().map(|name| instruction(random, name)).collect();
    let manifest = json!({
        "version": "1.0", "profile": random.pick(&["ai-sync", "ai-sync", "current"]),
        "active_targets": { "instructions": instructions, "rules": random.some(RULE_TARGETS), "skills": skills },
        "rules": rules, "agents_md": { "paths": ["~/ws/AGENTS.md"] }, "claude_md": { "paths": ["~/p/CLAUDE.md"] },
    });
    fs::write(store.join("manifest.json"), serde_json::to_string_pretty(&manifest).unwrap()).unwrap();
}

/// Syncs texts as the earlier tool does: whole files, in its name, and what it replaces in a backup of its own. It makes no
/// directory here: nobody could tell that from one of the user's.
fn earlier_tool_syncs(home: &Path, now: Time) -> String {
    let work = Work::new(Place::of_home(home).unwrap(), Options::at(now)).unwrap();
    let changes = work.preview().map(|report| report.changes).unwrap_or_default();
    let backup = work.place.backups.join(format!("earlier-{}", now.seconds));
    let mut written = Vec::new();
    for report::Change { path, action, after, .. } in changes {
        if !matches!(action, "create" | "update") {
            continue;
        }
        let (Some(after), Ok(below)) = (after, path.strip_prefix(home)) else { continue };
        let is_in_the_way = path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file());
        if is_in_the_way || below.starts_with(STORE) || !path.parent().unwrap().is_dir() {
            continue;
        }
        let there = fs::read(&path).unwrap_or_default();
        if path.exists() && !generate::is_generated(&there) {
            let kept = backup.join("files").join(below);
            put(&kept, &there, path.metadata().unwrap().mode() & 0o7777);
            disk::set_modified(&kept, disk::modified(&path));
            put(&backup.join("meta.json"), b"{\"created\": \"20260101T000000Z\", \"command\": \"sync\"}", 0o644);
        }
        let text = block::split(&after).map_or(&after[..], |split| split.block);
        let text = text.replace("# Run: git shiftlog rules sync", "# Run: python3 sync_agent_rules.py sync");
        if fs::write(&path, text).is_ok() {
            written.push(below.to_owned());
        }
    }
    format!("the earlier tool writes {written:?}")
}

/// Runs one random command. Returns what it was, for people. `is_edited` says that generated files were edited.
fn step(home: &Path, random: &mut Random, now: Time, is_edited: bool) -> String {
    // It would overwrite edits.
    if !is_edited && random.one_in(9) {
        return earlier_tool_syncs(home, now);
    }
    let mut options = Options::at(now);
    options.is_dry_run = random.one_in(5);
    options.is_forced = random.one_in(4);
    options.follows = random.one_in(3);
    options.adopts = random.one_in(6);
    if random.one_in(5) {
        options.only = Some((*random.pick(&["claude", "cursor", "codex", "kiro", "gemini"])).to_owned());
    }
    let is_dry_run = options.is_dry_run;
    let shown = format!("{options:?}");
    let work = Work::new(Place::of_home(home).unwrap(), options).unwrap();
    let before = tree(home, true);
    let targets = Targets {
        instructions: Some(random.some(INSTRUCTION_TARGETS)),
        rules: Some(random.some(RULE_TARGETS)),
        skills: Some(random.some(SKILL_TARGETS)),
    };
    let id = (*random.pick(&["a", "b", "style", "new", "mine", "../../x"])).to_owned();
    let names = random.some(&["s1", "s2", "claude-s1", "codex-mine", "mine"]);
    let (word, outcome) = match random.below(14) {
        0..3 => ("sync", work.sync()),
        3 => {
            let exclude = random.some(&["codex", "claude", "agents-md"]);
            let text = random.one_in(2).then(|| "given\n".to_owned());
            ("add-rule", work.add_rule(&NewRule { id, text, exclude, is_always_applied: true, ..NewRule::default() }))
        }
        4 => ("remove-rule", work.remove_rule(&id)),
        5 => {
            let paths =
                ["~/ws", "~/ws/**/AGENTS.md, ~/p/*.md", "", "~/none/*", "~/.claude/skills/s1", "~/.ai-agent/x.md"];
            let key = *random.pick(&["agents_md.paths", "claude_md.paths", "agents_md.header"]);
            ("set", work.set(key, random.pick::<&str>(&paths)))
        }
        6 => ("reconfigure", work.reconfigure(&targets)),
        7 => ("archive-skill", work.archive_skills(&names)),
        8 => ("restore-skill", work.restore_skills(&names)),
        9 => {
            let choice = *random.pick(&[Choice::First, Choice::Second, Choice::Both]);
            ("import", work.import(&mut |_, _| choice).map(|(report, _)| report))
        }
        10 => {
            let profile = *random.pick(&[None, Some("current"), Some("ai-sync")]);
            ("init", work.init(&targets, profile, &mut |_, _| Choice::First).map(|(report, _)| report))
        }
        11 => ("clean", work.clean()),
        12 if work.place.manifest().exists() => {
            let before: Value = serde_json::from_slice(&fs::read(work.place.manifest()).unwrap()).unwrap();
            write_manifest(&work.place.store(), random, before["rules"].clone());
            if has_unknown(home, &work.place) {
                let mut manifest: Value = serde_json::from_slice(&fs::read(work.place.manifest()).unwrap()).unwrap();
                ["agents_md", "claude_md"].iter().for_each(|key| manifest[*key] = before[*key].clone());
                fs::write(work.place.manifest(), manifest.to_string()).unwrap();
            }
            return "manifest edited".into();
        }
        _ => ("status", work.overview().map(|_| Report::default())),
    };
    let told =
        format!("{word} {shown}: {:?}", outcome.as_ref().map(|report| &report.drift).map_err(ToString::to_string));
    if let Ok(report) = outcome.as_ref()
        && !is_edited
    {
        assert_eq!(report.drift, [], "nobody has edited anything: {told}");
    }
    if is_dry_run {
        assert_eq!(tree(home, true), before, "a dry run writes nothing: {told}");
    }
    // A file of a user's where a directory should be keeps no command from all other places.
    if outcome.as_ref().is_err_and(|error| !error.to_string().ends_with("Not a directory")) {
        let outside = |tree: BTreeMap<PathBuf, _>| {
            tree.into_iter().filter(|(path, _)| !path.starts_with(STORE)).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(outside(tree(home, true)), outside(before), "what fails changes nothing: {told}");
    }
    told
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Copies a home as it is, to beside it.
fn copy(home: &Path, beside: &Path) {
    assert!(std::process::Command::new("cp").arg("-a").args([home, beside]).status().unwrap().success());
}

type Tree = BTreeMap<PathBuf, (u32, [i64; 2], Vec<u8>)>;

fn assert_same(expected: &Tree, left: &Tree) {
    let differ: Vec<&PathBuf> =
        expected.keys().chain(left.keys()).filter(|path| expected.get(*path) != left.get(*path)).collect();
    let told = |path: &&PathBuf| format!("{path:?}: {:?}, {:?}", expected.get(*path), left.get(*path));
    assert!(differ.is_empty(), "{}", differ.iter().map(told).collect::<Vec<_>>().join("\n"));
}

#[test]
fn clean_restores_the_first_tree_after_any_commands_on_any_home() {
    let first = number("SHIFTLOG_RULES_FIRST").unwrap_or(1);
    let count = number("SHIFTLOG_RULES_SEQUENCES").unwrap_or(SEQUENCES);
    for seed in first..first + count {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (home, beside) = (root.join("home"), root.join("beside"));
        fs::create_dir(&home).unwrap();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        fill(&home, &mut random);
        make_old(&home);
        let expected = tree(&home, false);
        if random.one_in(3) {
            fs::create_dir_all(home.join(STORE)).unwrap();
        } else {
            make_store(&home, &mut random);
        }
        if random.one_in(5) {
            // The copy beside shares it then.
            fs::rename(home.join(STORE), root.join("shared")).unwrap();
            symlink(root.join("shared"), home.join(STORE)).unwrap();
        }
        let mut told = Vec::new();
        let length = 1 + random.below(9);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for at in 0..length {
                let now = Time { seconds: 1_767_323_047 + i64::try_from(at).unwrap(), offset: 0 };
                told.push(step(&home, &mut random, now, false));
            }
            copy(&home, &beside);
            let copied = tree(&beside, true);
            let work =
                Work::new(Place::of_home(&home).unwrap(), Options::at(Time { seconds: 1_767_400_000, offset: 0 }))
                    .unwrap();
            let report = work.clean().unwrap();
            assert_eq!(report.drift, []);
            assert_same(&expected, &tree(&home, false));
            assert_eq!(work.clean().unwrap().changes, [], "there is nothing left to clean");
            assert_same(&copied, &tree(&beside, true));
            // The copy takes back what is its own.
            let cleaned = tree(&home, true);
            let work = Work { place: Place::of_home(&beside).unwrap(), ..work };
            for outcome in [work.sync(), work.clean()] {
                told.push(format!("beside: {outcome:?}"));
                assert_same(&cleaned, &tree(&home, true));
            }
        }));
        assert!(outcome.is_ok(), "sequence {seed}:\n{}", told.join("\n"));
    }
}

/// Adds words to a file that is there, be it generated or not. What else is done makes it harder to know whose it is.
fn edit(home: &Path, random: &mut Random, words: &str) -> Option<String> {
    let file = match random.below(6) {
        0..2 => format!("{}/SKILL.md", random.pick(SKILLS)),
        2 => (*random.pick(STORED)).to_owned(),
        _ => (*random.pick(FILES)).to_owned(),
    };
    let path = home.join(&file);
    if !path.metadata().ok()?.is_file() || path.metadata().ok()?.len() > disk::MAX_FILE_BYTES {
        return None;
    }
    let text = fs::read(&path).ok()?;
    let is_taken_over = random.one_in(3);
    let text = match is_taken_over {
        true => text.replace("# Run: git shiftlog rules sync", "# Run: python3 sync_agent_rules.py sync"),
        false => text,
    };
    let is_opened = random.one_in(4);
    let text = if is_opened { text.replace(block::END, "") } else { text };
    fs::write(&path, [&text, words.as_bytes(), b"\n"].concat()).unwrap();
    let is_lost = random.one_in(4);
    if is_lost {
        let _ = fs::remove_file(home.join(STORE).join("shiftlog/registry.json"));
    }
    Some(format!(
        "{file} edited, as by the earlier tool: {is_taken_over}, without ends of blocks: {is_opened}, registry lost: {is_lost}"
    ))
}

#[test]
fn words_that_somebody_has_added_are_in_a_file_the_store_or_a_backup_after_any_commands() {
    let first = number("SHIFTLOG_RULES_FIRST").unwrap_or(1);
    let count = number("SHIFTLOG_RULES_SEQUENCES").unwrap_or(SEQUENCES);
    for seed in first..first + count {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        fill(&home, &mut random);
        make_store(&home, &mut random);
        let (mut told, mut added) = (Vec::new(), Vec::new());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for at in 0..3 + random.below(9) {
                let words = format!("words {seed} {at}.");
                let edited = if random.one_in(2) { edit(&home, &mut random, &words) } else { None };
                if let Some(edited) = edited {
                    told.push(edited);
                    added.push(words);
                    continue;
                }
                let now = Time { seconds: 1_767_323_047 + i64::try_from(at).unwrap(), offset: 0 };
                told.push(step(&home, &mut random, now, true));
                let all = tree(&home, true);
                let has = |words: &&String| all.values().any(|(.., content)| content.contains_str(words.as_str()));
                let lost: Vec<&String> = added.iter().filter(|words| !has(words)).collect();
                assert!(lost.is_empty(), "{lost:?}");
            }
        }));
        assert!(outcome.is_ok(), "sequence {seed}:\n{}", told.join("\n"));
    }
}

#[test]
fn a_second_sync_writes_nothing_and_a_check_agrees() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    make_store(&home, &mut Random(7));
    let at =
        |seconds: i64| Work::new(Place::of_home(&home).unwrap(), Options::at(Time { seconds, offset: 0 })).unwrap();
    at(1_767_323_047).sync().unwrap();
    let first = tree(&home, true);
    assert_eq!(at(1_767_323_999).preview().unwrap().changes, []);
    assert_eq!(at(1_767_323_999).sync().unwrap().changes, []);
    assert_eq!(tree(&home, true), first, "only the time has changed");
}
