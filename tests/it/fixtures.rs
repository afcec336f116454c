//! Real and written transcripts of agents: they parse, and they come back byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shiftlog::agent::{self, Agent as _};
use shiftlog::transcript::{Message, Part, Tally};

use crate::support::Scratch;

pub fn fixtures() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures");
    if path.is_dir() {
        return Some(path);
    }
    super::support::skip(&format!("no fixtures at {}", path.display()));
    None
}

fn transcripts(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "hooks") {
                found.extend(transcripts(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "jsonl")
            || path.ends_with("simonw_web_export_session.json")
        {
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
    let Some(fixtures) = fixtures() else { return };
    let claude = agent::find("claude").unwrap();
    let paths = transcripts(&fixtures.join("claude-code"));
    assert!(paths.len() >= 16, "{paths:?}");
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
    let Some(fixtures) = fixtures() else { return };
    let path =
        fixtures.join("claude-code/written/projects/-home-dev-demo-app/3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e.jsonl");
    let claude = agent::find("claude").unwrap();
    let messages = claude.parse(&fs::read(&path).unwrap());
    let prompts: Vec<String> = messages.iter().filter(|message| message.is_prompt()).map(Message::text).collect();
    assert_eq!(
        prompts,
        [
            "Add a greet() helper and commit it",
            "Now look for callers",
            "Use the old name instead",
            "Rename greet() to hello()"
        ],
        "noise of slash commands, interruptions and summaries is no prompt"
    );
    let taken_back: Vec<String> =
        messages.iter().filter(|message| message.is_abandoned && message.is_prompt()).map(Message::text).collect();
    assert_eq!(taken_back, ["Use the old name instead"]);
    let notices: Vec<&Part> =
        messages.iter().flat_map(|message| &message.parts).filter(|part| matches!(part, Part::Notice(_))).collect();
    assert_eq!(notices.len(), 4, "{notices:?}");
    assert_eq!(claude.sub_agents(&path).len(), 1);
    assert_eq!(claude.sub_agents(&path)[0].session_id, "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e.a1b2c3d4e5f60718");
}

#[test]
fn project_folders_are_found_by_the_names_claude_gives_them() {
    let Some(fixtures) = fixtures() else { return };
    let vectors = fs::read(fixtures.join("claude-code/written/project-dir-encoding.json")).unwrap();
    let vectors: Value = serde_json::from_slice(&vectors).unwrap();
    let projects = tempfile::tempdir().unwrap();
    for vector in vectors.as_array().unwrap() {
        let folder = projects.path().join("projects").join(vector["dir"].as_str().unwrap());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("found.jsonl"), "{}\n").unwrap();
    }
    let claude = agent::claude_at(projects.path());
    for vector in vectors.as_array().unwrap() {
        // Directories that do not exist on this machine are encoded as they stand.
        let cwd = Path::new(vector["cwd"].as_str().unwrap());
        let found = claude.recent(cwd, 0);
        let folder = found.first().map(|found| found.transcript.parent().unwrap().file_name().unwrap().to_owned());
        assert_eq!(folder.as_deref().and_then(|name| name.to_str()), vector["dir"].as_str(), "{vector}");
    }
}

#[test]
fn every_transcript_of_every_agent_restores_byte_for_byte() {
    let Some(fixtures) = fixtures() else { return };
    let scratch = Scratch::new();
    let paths = transcripts(&fixtures);
    assert!(paths.len() > 40, "{}", paths.len());
    for (number, path) in paths.iter().enumerate() {
        let session = format!("--session=fixture-{number}");
        scratch.shiftlog("add", ["-q", "--transcript", path.to_str().unwrap(), &session]).ok();
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
fn a_real_session_replayed_through_the_hooks_is_read_back() {
    let Some(fixtures) = fixtures() else { return };
    let scratch = Scratch::set_up();
    let text = fs::read_to_string(fixtures.join("claude-code/collected/example-claude-code.jsonl")).unwrap();
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
    let Some(fixtures) = fixtures() else { return };
    let scratch = Scratch::set_up();
    for entry in fs::read_dir(fixtures.join("claude-code/written/hooks")).unwrap().flatten() {
        let name = entry.file_name().to_str().unwrap().to_owned();
        let event = name.split(['-', '.']).next().unwrap().to_owned();
        let payload =
            fs::read_to_string(entry.path()).unwrap().replace("/home/dev/demo-app", scratch.top.to_str().unwrap());
        let ran = scratch.run_with_input("git-shiftlog--hook", ["claude", &event], payload.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{name}: {ran:?}");
    }
    assert_eq!(scratch.records("HEAD").len(), 0, "none of them made a commit");
}
