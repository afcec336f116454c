//! A named pipe in an agent's store: nothing waits for it.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use shiftlog::agent;

use crate::importing::{Past, sessions};
use crate::support::{Ran, Scratch};

/// Where the agents look for sessions, and for what is said of them.
const PIPES: &[&str] = &[
    ".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-019ed11e-aeff-7173-9228-5b048d95c933.jsonl",
    ".gemini/tmp/p/.project_root",
    ".gemini/tmp/p/chats/session-a.json",
    ".copilot/session-state/a/events.jsonl",
    ".config/Code/User/workspaceStorage/w/workspace.json",
    ".local/share/opencode/opencode.db",
    ".local/share/opencode/storage/session/p/s.json",
    ".local/share/kilo/storage/session/p/s.json",
    ".cursor/chats/p/c/store.db",
    ".local/share/amp/threads/T-a.json",
    ".factory/sessions/p/a.jsonl",
    ".windsurf/transcripts/a.jsonl",
    ".gemini/antigravity-cli/brain/a/.system_generated/logs/transcript_full.jsonl",
    ".pi/agent/sessions/p/a.jsonl",
    ".cline/data/sessions/a/a.json",
    ".continue/sessions/a.json",
    ".qwen/projects/p/chats/a.jsonl",
];

/// Makes a pipe, and writes to it whenever somebody opens it for reading, so that who waits for it gets something.
fn fed_pipe(path: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let path = path.to_owned();
    std::thread::spawn(move || {
        while let Ok(mut pipe) = fs::OpenOptions::new().write(true).open(&path) {
            let _ = pipe.write_all(b"{}\n");
        }
    });
}

#[test]
fn no_agent_reads_a_pipe_as_a_session() {
    let directory = tempfile::tempdir().unwrap();
    for agent in agent::ALL {
        for name in ["a.jsonl", "a.json", "a.jsonl.zst", "a.md", "store.db", "state.vscdb"] {
            let folder = directory.path().join(agent.name());
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(name);
            fed_pipe(&path);
            let what = format!("{}: {name}", agent.name());
            let error = agent.read(&path).map(drop).expect_err(&what).to_string();
            assert!(error.contains("is not a regular file"), "{what}: {error}");
            assert_ne!(agent.ran_in(&path, &folder), Some(false), "{what}: nothing is known of it");
            assert_eq!(agent.parent_session(&path), None, "{what}");
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            assert_eq!(agent.repeated_bytes(&path, deadline), None, "{what}");
        }
    }
}

#[test]
fn a_pipe_beside_sessions_keeps_none_of_them_from_being_imported() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("one"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    past.commits(202, "a");
    let home = scratch.home();
    let pipes = PIPES.iter().map(|path| home.join(path));
    let beside = [past.0.transcript.with_file_name("s2.jsonl"), scratch.top.join(".aider.chat.history.md")];
    for pipe in pipes.chain(beside) {
        fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    }
    let mut import = scratch.command("timeout", &scratch.top);
    Ran::of(import.args(["60", "git", "shiftlog", "import"]).output().unwrap()).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["s1"]);
}
