//! What the hooks cost that find something to record, or nothing.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::ROUNDS;
use super::home;
use super::kept::Kept;
use super::sample::{Bar, Pairs, Sample, compare, report};
use super::stage::{Stage, append, program};
use super::words::{session_of, transcript};

/// The hook after a commit to which no session belongs.
pub fn idle_hook() -> bool {
    let stage = Stage::new();
    let ours = || stage.command(&program("git-shiftlog--hook"), &["git", "post-commit"]);
    let pairs = compare(ROUNDS * 3, ours, || stage.git(&["rev-parse", "HEAD"]));
    pairs.report("post-commit hook, no live session", "git rev-parse HEAD", Bar::Ratio(1.5))
}

/// The same hook in a home with two thousand old sessions, beside one without any: several agents', and one's alone.
pub fn old_sessions() -> bool {
    let (empty, several) = (Stage::in_empty_home(), Stage::new());
    let one = Stage::in_empty_home();
    home::leave(&one, "claude", 2000);
    let hook = |stage: &Stage| stage.command(&program("git-shiftlog--hook"), &["git", "post-commit"]);
    let mut is_fine = true;
    for (stage, whose) in [(&several, "several agents"), (&one, "one agent")] {
        let pairs = compare(ROUNDS * 2, || hook(stage), || hook(&empty));
        let what = format!("post-commit hook, 2,000 old sessions of {whose}");
        is_fine &= pairs.report(&what, "the same without any", Bar::Extra(3.0));
    }
    is_fine
}

/// The same hook with a hundred sessions going on in the working tree, each with something new to say that is not about
/// the commit.
pub fn live_sessions() -> bool {
    let (idle, busy) = (Stage::in_empty_home(), Stage::in_empty_home());
    for number in 0..100 {
        let path = busy.home().join(format!("s{number}.jsonl"));
        fs::write(&path, transcript(4 << 10, &mut (number as u64 + 1))).expect("room");
        busy.event("SessionStart", &path, number);
    }
    let hook = |stage: &Stage| stage.command(&program("git-shiftlog--hook"), &["git", "post-commit"]);
    let pairs = compare(ROUNDS, || hook(&busy), || hook(&idle));
    pairs.report("post-commit hook, 100 live sessions", "the same without any", Bar::Extra(3.0))
}

/// The hook after a commit by a session of Claude Code.
pub fn busy_hook() -> bool {
    let stage = Stage::new();
    let (mut seed, mut pairs) = (7, Pairs::default());
    for round in 0..ROUNDS / 2 {
        let path = stage.home().join(format!("s{round}.jsonl"));
        fs::write(&path, transcript(2 << 20, &mut seed)).expect("room");
        stage.event("SessionStart", &path, round);
        stage.commit(&format!("before {round}"));
        stage.run(stage.hook(round));
        // The tool call that made the commit ends, and the turn goes on.
        let id = stage.output(stage.git(&["rev-parse", "--short=7", "HEAD"]));
        let content = json!([{ "type": "tool_result", "tool_use_id": "call", "content": format!("[main {}] before", id.trim()) }]);
        append(&path, &format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": content } })));
        stage.event("Stop", &path, round);
        append(&path, &transcript(100 << 10, &mut seed));
        stage.commit(&format!("round {round}"));
        pairs.run(stage.hook(round), stage.append_note());
        stage.event("SessionEnd", &path, round);
    }
    assert_eq!(stage.recorded(), ROUNDS, "each commit was recorded");
    pairs.report("post-commit hook, 2 MB transcript, 100 KB new", "git notes append", Bar::Ratio(2.5))
}

/// The hook after a commit again, with the transcripts of other agents: lines that are appended, documents that are
/// written anew each time, and databases.
pub fn agents() -> bool {
    let mut is_fine = true;
    let lines = ["codex", "gemini", "copilot", "droid", "pi"];
    for agent in lines.into_iter().chain(["amp", "continue", "cline", "cursor", "opencode"]) {
        let stage = Stage::new();
        let (mut seed, mut pairs) = (7, Pairs::default());
        for round in 0..ROUNDS / 2 {
            let id = format!("T-s{round}");
            let kept = Kept::of(agent, &stage, &id);
            // Gemini CLI says in the first line whose file it is.
            let head = json!({ "sessionId": "3f6b1c9e", "startTime": "2026-01-02T03:04:05Z", "kind": "main" });
            let mut text = if agent == "gemini" { format!("{head}\n") } else { String::new() };
            text += &session_of(agent, 2 << 20, &mut seed);
            kept.write(&text, 0);
            stage.event_of(agent, "SessionStart", kept.path(), &id);
            stage.commit(&format!("before {round}"));
            stage.run(stage.hook(round));
            stage.event_of(agent, "Stop", kept.path(), &id);
            let old = text.len();
            text += &session_of(agent, 100 << 10, &mut seed);
            kept.write(&text, old);
            stage.commit(&format!("round {round}"));
            pairs.run(stage.hook(round), stage.append_note());
            // What was written a moment ago may be written again without a trace, and is read once more.
            std::thread::sleep(Duration::from_millis(30));
            stage.event_of(agent, "SessionEnd", kept.path(), &id);
            kept.remove();
        }
        let recorded = stage.recorded();
        assert_eq!(recorded, ROUNDS, "each commit was recorded");
        let what = format!("post-commit hook, 2 MB of {agent}, 100 KB new");
        let bar = if lines.contains(&agent) { 2.5 } else { 8.0 };
        is_fine &= pairs.report(&what, "git notes append", Bar::Ratio(bar));
    }
    is_fine
}

/// How much fifty commits over one session add to the repository.
pub fn growth() -> bool {
    let stage = Stage::new();
    let path = stage.home().join("s1.jsonl");
    let mut seed = 11;
    append(&path, "");
    stage.event("SessionStart", &path, 1);
    for round in 0..50 {
        append(&path, &transcript((10 << 20) / 50, &mut seed));
        stage.commit(&format!("round {round}"));
        stage.run(stage.hook(1));
    }
    let list = stage.output(stage.git(&["rev-list", "--objects", "refs/shiftlog/sessions", "refs/notes/shiftlog"]));
    let size = |id: &str| {
        fs::metadata(stage.top().join(".git/objects").join(&id[..2]).join(&id[2..]))
            .map_or(0, |metadata| metadata.len())
    };
    let grown: u64 = list.lines().filter_map(|line| line.split(' ').next()).map(size).sum();
    let whole = zstd::encode_all(fs::File::open(&path).expect("it is there"), 9).expect("it compresses").len();
    let what = "growth, 50 commits over a 10 MB session";
    let (grown, whole) = (Sample::one(grown as f64 / 1e6), Sample::one(whole as f64 / 1e6));
    report(what, &grown, &whole, "MB", "zstd -9 of it all", Bar::Ratio(2.2))
}

/// How much memory the capture of a long session takes.
pub fn memory() -> bool {
    let stage = Stage::new();
    let path = stage.home().join("s1.jsonl");
    let mut seed = 13;
    for _ in 0..20 {
        append(&path, &transcript(10 << 20, &mut seed));
    }
    stage.event("SessionStart", &path, 1);
    let mut command = stage.hook(1);
    let mut child = command.spawn().expect("it runs");
    let mut peak_kib = 0u64;
    while child.try_wait().expect("it ends").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
        peak_kib = peak_kib.max(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(stage.recorded(), 1, "it was recorded");
    let peak = Sample::one(peak_kib as f64 / 1024.0);
    report("memory, 200 MB transcript captured", &peak, &Sample::one(64.0), "MiB", "the bar", Bar::Ratio(1.0))
}
