//! What each agent's file in the `agent` room promises: its transcripts read, its hooks record, its sessions go on.

mod aider;
mod amp;
mod anew;
mod antigravity;
mod claude;
mod cline;
pub mod codex;
mod continue_cli;
mod copilot;
mod cursor;
mod custom;
mod disturbed;
mod droid;
mod gemini;
mod opencode;
mod pi;
mod pipes;
mod qwen;
mod together;
mod vscode;
mod windsurf;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shiftlog::agent;
use shiftlog::transcript::{Part, Tally};

pub use crate::fixtures::fixture;
use crate::support::{Ran, Scratch, feed};

/// Says what an agent's parser finds in transcripts, a line each: counts, tools, tokens, model, first prompt.
pub fn told(name: &str, paths: &[PathBuf]) -> String {
    let agent = agent::find(name).unwrap();
    let line = |path: &PathBuf| {
        let messages = agent.parse(&agent.read(path).unwrap());
        let mut tally = Tally::default();
        tally.add(&messages);
        let calls = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::ToolCall(call) => Some(match (&call.command, call.edits.as_slice()) {
                (Some(command), _) => format!("{}: {}", call.name, command.lines().next().unwrap_or_default()),
                (None, []) => call.name.clone(),
                (None, edits) => {
                    let paths: Vec<&str> = edits.iter().map(|edit| edit.path.as_str()).collect();
                    format!("{} {}", call.name, paths.join(" "))
                }
            }),
            _ => None,
        });
        let calls: Vec<String> = calls.map(|call| format!("  {call}\n")).collect();
        let results = messages.iter().flat_map(|message| &message.parts);
        let results = results.filter(|part| matches!(part, Part::ToolResult(_))).count();
        let tokens = tally.tokens().unwrap_or_default();
        format!(
            "{}\n  session {}\n  turns {}, messages {}, results {results}, tokens {}+{}\n  model {}\n  prompt {}\n{}",
            path.file_name().unwrap().to_str().unwrap(),
            agent.session_id(&agent.read(path).unwrap()).as_deref().unwrap_or("-"),
            tally.turns,
            tally.messages,
            tokens.input,
            tokens.output,
            tally.model.as_deref().unwrap_or("-"),
            tally.prompt.as_deref().unwrap_or("-").replace('\n', " "),
            calls.concat()
        )
    };
    paths.iter().map(line).collect()
}

/// Asserts that a payload names this session and directory, and comes from this agent, whoever it was declared for.
#[track_caller]
pub fn payload_tells(payload: &Path, declared: &str, agent: &str, session: &str, directory: &str) {
    let payload = agent::Payload::parse(&fs::read(payload).unwrap());
    let caller = agent::caller(declared, &payload).unwrap().name();
    let found = (caller, payload.session_id(), payload.directory());
    assert_eq!(found, (agent, Some(session), Some(PathBuf::from(directory))));
}

/// Asserts that setting up twice is once, and that what was there comes back when it is undone. Returns the text of the
/// file that hooks were declared in.
#[track_caller]
pub fn set_up_and_back(options: &[&str], file: &str, there: &[(&str, &str)]) -> String {
    let scratch = Scratch::new();
    for (path, text) in there {
        scratch.write(path, text);
    }
    scratch.shiftlog("init", [&["-q"], options].concat()).ok();
    let text = fs::read_to_string(scratch.top.join(file)).unwrap();
    assert_eq!(scratch.shiftlog("init", options).ok(), "nothing to do\n");
    assert_eq!(fs::read_to_string(scratch.top.join(file)).unwrap(), text, "twice is once");
    scratch.shiftlog("deinit", ["-q"]).ok();
    for (path, text) in there {
        assert_eq!(&fs::read_to_string(scratch.top.join(path)).unwrap(), text, "{path}");
    }
    let is_ours = !there.iter().any(|(path, _)| *path == file);
    assert_eq!(scratch.top.join(file).exists(), !is_ours, "a file of ours goes");
    text
}

/// Asserts that stored sessions with ids that are no file names are not resumed, and that nothing is written for them.
#[track_caller]
pub fn refuse_hostile_ids(name: &str, transcript: &str) {
    let scratch = Scratch::new();
    let file = scratch.root().join("said");
    fs::write(&file, transcript).unwrap();
    let before = files_below(&scratch.home());
    for id in ["../../x", "-rf", "a/b", "a\u{1b}[31m", "T-../x", "/etc/x"] {
        let file = file.to_str().unwrap();
        let agent = format!("--agent={name}");
        let session = format!("--session={id}");
        scratch.shiftlog("add", ["-q", "--force", &agent, "--transcript", file, &session]).ok();
        let ran = scratch.shiftlog("resume", [&session]);
        assert!(ran.code != 0 && ran.stdout.is_empty(), "{id}: {ran:?}");
        assert_eq!(files_below(&scratch.home()), before, "{id}");
    }
}

/// Asserts that a parser takes transcripts that were cut anywhere.
pub fn survive_cuts(name: &str, paths: &[PathBuf]) {
    let agent = agent::find(name).unwrap();
    for path in paths {
        let lines = agent.read(path).unwrap();
        for cut in (0..lines.len()).step_by(211) {
            agent.parse(&lines[..cut]);
            agent.parse(&lines[cut..]);
        }
        agent.parse(&lines.iter().map(|byte| byte ^ 0x80).collect::<Vec<_>>());
    }
}

/// Asserts that transcripts are stored and come back as the agent wrote them.
pub fn come_back(name: &str, paths: &[PathBuf]) {
    let scratch = Scratch::new();
    for (number, path) in paths.iter().enumerate() {
        let session = format!("--session=fixture-{number}");
        let agent = format!("--agent={name}");
        scratch.shiftlog("add", ["-q", &agent, "--transcript", path.to_str().unwrap(), &session]).ok();
        let restored = scratch.shiftlog("show", ["--raw", "--full", &session]).bytes;
        let mut expected = fs::read(path).unwrap();
        let agent = agent::find(name).unwrap();
        if path.extension().is_some_and(|extension| extension == "zst") {
            expected = agent.read(path).unwrap();
        }
        if !agent.is_rendered(path) && expected.last() != Some(&b'\n') {
            // A file given by hand is finished; its last line gets its end.
            expected.push(b'\n');
        }
        assert!(restored == expected, "{}", path.display());
    }
    crate::format::assert_read_alike(&scratch, "HEAD");
    scratch.assert_sound();
}

/// Returns the command line that is set up for an event of an agent, from its file of JSON.
pub fn command_for(scratch: &Scratch, file: &str, event: &str) -> String {
    let path = scratch.top.join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let settings: Value = serde_json::from_str(&text).unwrap();
    let list = ["hooks", "shiftlog"].iter().find_map(|member| settings[member].get(event));
    let list = list.or_else(|| settings.get(event)).unwrap_or_else(|| panic!("no hook for {event} in {text}"));
    let hooks = list.as_array().unwrap().iter().flat_map(|each| match each.get("hooks") {
        Some(hooks) => hooks.as_array().unwrap().clone(),
        None => vec![each.clone()],
    });
    let commands = hooks.filter_map(|hook| {
        let command = ["command", "bash"].iter().find_map(|key| hook.get(key)?.as_str())?;
        command.contains("git-shiftlog--hook").then(|| command.to_owned())
    });
    let commands: Vec<String> = commands.collect();
    assert_eq!(commands.len(), 1, "one hook of ours for {event}: {text}");
    commands[0].clone()
}

/// Runs the hook that is set up for an event the way agents do: through a shell, with a payload on standard input.
///
/// The shell has the agent's name, and stays the parent of the hook.
#[track_caller]
pub fn run_hook(scratch: &Scratch, file: &str, event: &str, payload: &Value) {
    let ran = run_command(scratch, &command_for(scratch, file, event), payload);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "a hook exits 0 and prints nothing: {ran:?}");
}

/// Runs a command line as an agent runs its hooks.
pub fn run_command(scratch: &Scratch, command: &str, payload: &Value) -> Ran {
    let script = format!("{command}; exit $?");
    let mut shell = scratch.command(scratch.root().join("bin/claude"), &scratch.top);
    feed(shell.args(["-c", &script]), payload.to_string().as_bytes())
}

/// Runs every payload of a directory of fixtures through the hook program; each must pass in silence.
pub fn survive_payloads(name: &str, dir: &str, mut event_of: impl FnMut(&str) -> String) {
    let scratch = Scratch::set_up();
    for entry in fs::read_dir(fixture(dir)).unwrap().flatten() {
        let file = entry.file_name().to_str().unwrap().to_owned();
        let payload = fs::read(entry.path()).unwrap();
        let payload = bstr::ByteSlice::replace(&payload[..], "/home/dev/harbour", scratch.top.to_str().unwrap());
        let ran = scratch.run_with_input("git-shiftlog--hook", [name, &event_of(&file)], &payload);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{file}: {ran:?}");
    }
    assert_eq!(scratch.records("HEAD").len(), 0, "none of them made a commit");
}

/// Asserts that the session and the directory are found in every payload of a directory of fixtures. Where a payload
/// names no directory, the process has it.
pub fn assert_taken(dir: &str, session: &str, has_directory: bool) {
    for entry in fs::read_dir(fixture(dir)).unwrap().flatten() {
        let payload = agent::Payload::parse(&fs::read(entry.path()).unwrap());
        assert_eq!(payload.session_id(), Some(session), "{}", entry.path().display());
        let directory = payload.directory();
        assert!(!has_directory || directory == Some("/home/dev/harbour".into()), "{}", entry.path().display());
    }
}

/// Asserts that what stands in an agent's file stays there when hooks are added, comes back byte for byte when they are
/// taken out, and that adding them twice changes nothing.
pub fn survive_settings(name: &str, file: &str, texts: &[String]) {
    let agent = format!("--agent={name}");
    for text in texts {
        let scratch = Scratch::new();
        scratch.write(file, text);
        scratch.shiftlog("init", [&agent, "-q"]).ok();
        let edited = fs::read_to_string(scratch.top.join(file)).unwrap();
        assert!(edited.contains("git-shiftlog--hook"), "{edited}");
        for word in text.split(['"', '\n']).map(str::trim).filter(|word| !word.contains(['{', '}', '[', ']'])) {
            assert!(edited.contains(word), "{word} is gone: {edited}");
        }
        assert_eq!(scratch.shiftlog("init", [&agent]).ok(), "nothing to do\n");
        scratch.shiftlog("deinit", ["-q"]).ok();
        assert_eq!(fs::read_to_string(scratch.top.join(file)).unwrap(), *text);
    }
    let scratch = Scratch::new();
    scratch.shiftlog("init", [&agent, "-q"]).ok();
    assert!(scratch.top.join(file).is_file());
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "", "what is private is not offered to be committed");
    assert_eq!(scratch.shiftlog("init", [&agent]).ok(), "nothing to do\n");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(Path::new(file).components().next().unwrap()).exists());
}

/// Returns the texts of fixtures.
pub fn texts(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| fs::read_to_string(fixture(path)).unwrap()).collect()
}

/// Puts a program in place of an agent: a shell script.
pub fn fake_program(scratch: &Scratch, name: &str, script: &str) {
    let program = scratch.root().join("bin").join(name);
    let _ = fs::remove_file(&program);
    fs::write(&program, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the files below a directory, sorted.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}
