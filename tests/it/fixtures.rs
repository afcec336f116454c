//! Transcripts as agents write them, with made-up words: they parse, and they come back byte for byte.
//!
//! They are in `tests/data/agents`, a folder for each agent.

use std::fs;
use std::path::{Path, PathBuf};

use shiftlog::agent::{self, Agent as _};
use shiftlog::transcript::{Message, Part, Tally};

use crate::support::Scratch;

/// Returns the path of a file or folder of agents' data.
#[track_caller]
pub fn fixture(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents").join(path);
    assert!(path.exists(), "{}", path.display());
    path
}

pub fn transcripts(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "hooks") {
                found.extend(transcripts(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "jsonl") || path.ends_with("web-export.json") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn tally(messages: &[Message]) -> Tally {
    let mut tally = Tally::default();
    tally.add(messages);
    tally
}

#[test]
fn every_claude_transcript_parses() {
    let claude = agent::find("claude").unwrap();
    let paths = transcripts(&fixture("claude"));
    assert_eq!(paths.len(), 10, "{paths:?}");
    let told: Vec<String> = paths
        .iter()
        .map(|path| {
            let messages = claude.parse(&fs::read(path).unwrap());
            let tally = tally(&messages);
            let calls = messages
                .iter()
                .flat_map(|message| &message.parts)
                .filter(|part| matches!(part, Part::ToolCall(_)))
                .count();
            let output = tally.tokens().map_or(0, |tokens| tokens.output);
            let name = path.file_stem().unwrap().to_str().unwrap();
            let model = tally.model.as_deref().unwrap_or("-");
            format!(
                "{name}: turns {}, messages {}, calls {calls}, output {output}, {model}\n",
                tally.turns, tally.messages
            )
        })
        .collect();
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told.concat(), snapbox::file!["../data/claude-fixtures.txt"]);
}

#[test]
fn the_written_session_reads_as_it_was_meant() {
    let path = fixture("claude/projects/-home-dev-harbour/3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e.jsonl");
    let claude = agent::find("claude").unwrap();
    let messages = claude.parse(&fs::read(&path).unwrap());
    let prompts: Vec<String> = messages.iter().filter(|message| message.is_prompt()).map(Message::text).collect();
    assert_eq!(
        prompts,
        [
            "Round the tide heights to one decimal and commit that",
            "Who prints a height?",
            "Show feet beside metres",
            "Keep metres, and rename metres() to height()"
        ],
        "a slash command that asks the model nothing, an interruption and a summary are no prompts"
    );
    let taken_back: Vec<String> =
        messages.iter().filter(|message| message.is_abandoned && message.is_prompt()).map(Message::text).collect();
    assert_eq!(taken_back, ["Show feet beside metres"]);
    let notices: Vec<&Part> =
        messages.iter().flat_map(|message| &message.parts).filter(|part| matches!(part, Part::Notice(_))).collect();
    assert_eq!(notices.len(), 6, "{notices:?}");
    let of_command = ["/cost", "nothing so far"].map(|words| Part::Notice(words.into()));
    assert_eq!(notices[..2], of_command.each_ref(), "a command that asks the model nothing, and its output");
    assert_eq!(claude.sub_agents(&path).len(), 1);
    assert_eq!(claude.sub_agents(&path)[0].session_id, "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e.a1b2c3d4e5f60718");
}

/// Folders of Claude Code's projects, by working directory. Directories that do not exist on this machine are encoded as
/// they stand; one with more than 200 characters ends in a checksum.
const FOLDERS: &[(&str, &str)] = &[
    ("/home/dev/harbour", "-home-dev-harbour"),
    ("/Users/ann/tide tables (v1.5)", "-Users-ann-tide-tables--v1-5-"),
    ("/Users/ann/.config/harbour", "-Users-ann--config-harbour"),
    ("/home/ann/low_water.rs", "-home-ann-low-water-rs"),
    ("/home/ann/гавань", "-home-ann-------"),
    ("/home/ann/港", "-home-ann--"),
    ("/home/ann/at-🌊-sea", "-home-ann-at----sea"),
    ("C:\\Users\\ann\\sea", "C--Users-ann-sea"),
    ("c:\\Users\\ann\\sea", "c--Users-ann-sea"),
    ("/private/tmp/quay", "-private-tmp-quay"),
    (
        "/srv/breakwater00/breakwater01/breakwater02/breakwater03/breakwater04/breakwater05/breakwater06/breakwater07/breakwater08/breakwater09/breakwater10/breakwater11/breakwater12/breakwater13/breakwater14/breakwater15/breakwater16/breakwater17/breakwater18/breakwater19",
        "-srv-breakwater00-breakwater01-breakwater02-breakwater03-breakwater04-breakwater05-breakwater06-breakwater07-breakwater08-breakwater09-breakwater10-breakwater11-breakwater12-breakwater13-breakwater14--wz0rvy",
    ),
];

#[test]
fn project_folders_are_found_by_the_names_claude_gives_them() {
    let projects = tempfile::tempdir().unwrap();
    for (_, folder) in FOLDERS {
        let folder = projects.path().join("projects").join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("found.jsonl"), "{}\n").unwrap();
    }
    let claude = agent::claude_at(projects.path());
    for (directory, expected) in FOLDERS {
        let found = claude.recent(Path::new(directory), 0);
        let folder = found.first().map(|found| found.transcript.parent().unwrap().file_name().unwrap().to_owned());
        assert_eq!(folder.as_deref().and_then(|name| name.to_str()), Some(*expected), "{directory}");
    }
}

#[test]
fn every_transcript_of_every_agent_restores_byte_for_byte() {
    let scratch = Scratch::new();
    let mut paths = transcripts(&fixture(""));
    assert!(paths.len() > 40, "{}", paths.len());
    // Whoever has other transcripts at hand may try them too.
    if let Some(more) = std::env::var_os("SHIFTLOG_TEST_TRANSCRIPTS") {
        paths.extend(transcripts(Path::new(&more)));
    }
    for (number, path) in paths.iter().enumerate() {
        let session = format!("--session=fixture-{number}");
        // Whatever it is taken for, it is kept as it is.
        scratch.shiftlog("add", ["-q", "--force", "--transcript", path.to_str().unwrap(), &session]).ok();
        let restored = scratch.shiftlog("show", ["--raw", "--full", &session]).bytes;
        let mut expected = fs::read(path).unwrap();
        if expected.last() != Some(&b'\n') {
            // A file given by hand is finished; its last line gets its end.
            expected.push(b'\n');
        }
        assert!(restored == expected, "{}", path.display());
    }
    scratch.assert_sound();
}

#[test]
fn a_long_session_replayed_through_the_hooks_is_read_back() {
    let scratch = Scratch::set_up();
    let text = fs::read_to_string(fixture("claude/many-tools.jsonl")).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let session = scratch.session("replayed");
    let mut commits = Vec::new();
    for (number, part) in lines.chunks(10).enumerate() {
        session.append(part.concat().as_bytes());
        session.hook("UserPromptSubmit");
        scratch.write("work.txt", &format!("{number}\n"));
        let commit = session.runs_commit(&["-m", &format!("part {number}")]);
        session.hook_for("PostToolUse", "none");
        commits.push(commit);
    }
    session.hook("Stop");
    session.hook("SessionEnd");
    assert_eq!(commits.len(), 4);
    assert_eq!(scratch.raw("HEAD", &["--full"]), text, "byte for byte");
    let increments: String = commits.iter().map(|commit| scratch.raw(commit, &[])).collect();
    assert_eq!(increments, text);
    let shown = scratch.shiftlog("show", ["--tool-output=none", &commits[0]]).ok();
    assert!(shown.contains("session claude replayed"), "{shown}");
    scratch.assert_sound();
}

#[test]
fn every_hook_payload_of_claude_is_survived() {
    let scratch = Scratch::set_up();
    for entry in fs::read_dir(fixture("claude/hooks")).unwrap().flatten() {
        let name = entry.file_name().to_str().unwrap().to_owned();
        let event = name.split(['-', '.']).next().unwrap().to_owned();
        let payload =
            fs::read_to_string(entry.path()).unwrap().replace("/home/dev/harbour", scratch.top.to_str().unwrap());
        let ran = scratch.run_with_input("git-shiftlog--hook", ["claude", &event], payload.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{name}: {ran:?}");
    }
    assert_eq!(scratch.records("HEAD").len(), 0, "none of them made a commit");
}
