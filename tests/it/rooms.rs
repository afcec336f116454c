//! Each room uses only the rooms above it, and only a few know about gix and exit codes.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms by level, as `lib.rs` lists them.
const LEVELS: &[(&str, u8)] = &[
    ("error", 0),
    ("outside", 0),
    ("git", 1),
    ("transcript", 1),
    ("redact", 1),
    ("path", 1),
    ("notes", 2),
    ("archive", 2),
    ("agent", 2),
    ("record", 3),
    ("setup", 3),
    ("pretty", 4),
    ("cli", 5),
    ("mcp", 6),
    ("command", 7),
];

/// Rooms of one level that may use each other, and why.
const NEIGHBOURS: &[(&str, &str)] = &[
    // A segment names its session.
    ("archive", "transcript"),
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn rooms_use_only_those_above_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 40, "the sources are where they are expected");
    let level = |room: &str| LEVELS.iter().find(|(name, _)| *name == room).map(|(_, level)| *level);
    for file in files {
        let relative = file.strip_prefix(&src).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
        let room = first.trim_end_matches(".rs");
        let Some(own) = level(room) else { continue };
        let text = fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("crate::") {
            let used: String = text[at + 7..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if used == room || NEIGHBOURS.contains(&(room, used.as_str())) {
                continue;
            }
            if let Some(other) = level(&used) {
                assert!(other < own, "{} uses crate::{used}", relative.display());
            }
        }
        if !["git", "notes", "archive"].contains(&room) {
            assert!(!text.contains("gix::"), "{} names gix", relative.display());
        }
        if !["cli", "command"].contains(&room) {
            assert!(!text.contains("ExitCode"), "{} knows exit codes", relative.display());
        }
        // The git room takes the word off what 'git' says.
        if !["cli", "git"].contains(&room) {
            assert!(!text.contains("\"fatal"), "{} says 'fatal:'", relative.display());
        }
    }
}

#[test]
fn every_program_is_one_line_into_its_command() {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    for entry in fs::read_dir(bin).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let body: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
        assert_eq!(body.len(), 1, "{text}");
        assert!(body[0].starts_with("    shiftlog::command::") && body[0].ends_with("::run()"), "{text}");
    }
}
