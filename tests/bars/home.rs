//! A home that was lived in: what several agents left of old sessions, in the places where a hook looks for new ones.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use md5::{Digest as _, Md5};
use sha2::Sha256;

use super::kept::{Kept, hex};
use super::stage::Stage;

/// How many sessions each agent left. Together they are two thousand.
const SESSIONS: [(&str, usize); 9] = [
    ("claude", 600),
    ("codex", 500),
    ("gemini", 200),
    ("copilot", 200),
    ("amp", 150),
    ("cursor", 150),
    ("droid", 100),
    ("continue", 80),
    ("opencode", 20),
];

/// Puts two thousand sessions of several agents into the home of a stage. All of them ran in its working tree.
pub fn furnish(stage: &Stage) {
    for (agent, count) in SESSIONS {
        leave(stage, agent, count);
    }
}

/// Puts old sessions of one agent into the home of a stage.
pub fn leave(stage: &Stage, agent: &str, count: usize) {
    let top = stage.top().canonicalize().expect("it is there");
    let name = top.to_str().expect("UTF-8");
    let slug: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    for number in 0..count {
        let id = format!("3f6b1c9e-52d4-4b8a-9d0e-{number:012}");
        let (month, day) = (number % 9 + 1, number % 28 + 1);
        let path = match agent {
            "claude" => format!(".claude/projects/{slug}/{id}.jsonl"),
            "codex" => format!(".codex/sessions/2026/{month:02}/{day:02}/rollout-2026-01-02T03-04-05-{id}.jsonl"),
            "gemini" => format!(".gemini/tmp/{}/chats/session-{id}.jsonl", hex(&Sha256::digest(name))),
            "copilot" => format!(".copilot/session-state/{id}/events.jsonl"),
            "amp" => format!(".local/share/amp/threads/T-{id}.json"),
            "cursor" => format!(".cursor/chats/{}/{id}/store.db", hex(&Md5::digest(name))),
            "droid" => format!(".factory/sessions/{slug}/{id}.jsonl"),
            "continue" => format!(".continue/sessions/{id}.json"),
            // A row in a database, with a time of long ago.
            _ => {
                Kept::of(agent, stage, &id);
                continue;
            }
        };
        let text = format!("{{\"sessionId\":\"{id}\",\"cwd\":\"{name}\"}}\n");
        write_old(&stage.home().join(path), &text, number);
    }
}

/// Writes a file, two months ago and some seconds.
fn write_old(path: &Path, text: &str, seconds: usize) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, text).expect("room");
    let age = Duration::from_secs(60 * 24 * 60 * 60 + seconds as u64);
    let file = File::options().append(true).open(path).expect("it is there");
    file.set_modified(SystemTime::now() - age).expect("it is ours");
}
