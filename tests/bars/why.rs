//! What it costs to ask why a line is as it is, beside reading the words and beside the blame that it needs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::ROUNDS;
use super::repositories::many_segments;
use super::sample::{Bar, Pairs, compare};
use super::stage::{Stage, program};
use super::words::transcript;

/// How many commits change the file.
pub const COMMITS: usize = 90;
/// How many lines it has.
const LINES: usize = 2000;

/// A file of two thousand lines that ninety recorded commits have changed, the last of them with a session of 4 MB.
pub fn stage() -> Stage {
    let stage = Stage::in_empty_home();
    let mut lines: Vec<String> =
        (0..LINES).map(|number| format!("    let value_{number} = start({number});")).collect();
    let file = stage.top().join("file.rs");
    let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    fs::write(&file, text(&lines)).expect("room");
    stage.run(stage.git(&["add", "file.rs"]));
    stage.commit("base");
    for number in 0..COMMITS {
        let place = number * 20 % (LINES - 20);
        let old = text(&lines[place..place + 10]);
        for line in &mut lines[place..place + 10] {
            *line = format!("{line} // {number}");
        }
        let new = text(&lines[place..place + 10]);
        let bytes = if number + 1 == COMMITS { 4 << 20 } else { 44 << 10 };
        let mut words = transcript(bytes, &mut (number as u64 + 1));
        let message = |role: &str, content: serde_json::Value| {
            let (id, time) = (format!("{role}{number}"), "2026-01-02T04:00:00Z");
            format!(
                "{}\n",
                json!({ "type": role, "uuid": id, "timestamp": time, "message": { "role": role, "content": content } })
            )
        };
        words += &message("user", json!("change some lines"));
        let input = json!({ "file_path": file, "old_string": old, "new_string": new });
        words += &message("assistant", json!([{ "type": "tool_use", "id": "t", "name": "Edit", "input": input }]));
        let path = stage.home().join("said.jsonl");
        fs::write(&path, words).expect("room");
        fs::write(&file, text(&lines)).expect("room");
        stage.run(stage.git(&["add", "file.rs"]));
        stage.commit(&format!("change {number}"));
        let (session, said) = (format!("--session=s{number}"), format!("--transcript={}", path.display()));
        stage.run(stage.command(&program("git-shiftlog-add"), &["-q", &session, &said]));
    }
    stage.run(stage.git(&["gc", "-q"]));
    stage.run(stage.command(&program("git-shiftlog-remap"), &["-q"]));
    stage
}

/// Asks for one line of the last commit, and for all lines.
pub fn why() -> bool {
    let stage = stage();
    let line = ((COMMITS - 1) * 20 % (LINES - 20) + 5).to_string();
    let address = format!("file.rs:{line}");
    let turn = stage.output(stage.command(&program("git-shiftlog-why"), &["--format=%(evidence)", &address]));
    assert_eq!(turn, "replay\n", "the line is found");
    let range = format!("-L{line},{line}");
    let ours = || stage.command(&program("git-shiftlog-why"), &[&address]);
    // The words have to be read, and that is nearly all that it costs.
    let pairs = compare(ROUNDS / 2, ours, || stage.command(&program("git-shiftlog-show"), &["--json", "HEAD"]));
    let is_quick = pairs.report("git-shiftlog-why of a line, session of 4 MB", "git-shiftlog-show", Bar::Ratio(1.3));
    let pairs = compare(ROUNDS / 2, ours, || stage.git(&["blame", "-w", &range, "file.rs"]));
    let mut is_quick = pairs.report("the same", "git blame -w -L", Bar::Extra(15.0)) && is_quick;
    let found = stage.output(stage.command(&program("git-shiftlog-blame"), &["--format=%(evidence)", "file.rs"]));
    assert_eq!(found.matches("replay").count(), COMMITS * 10, "all lines are found");
    let ours = || stage.command(&program("git-shiftlog-blame"), &["file.rs"]);
    let pairs = compare(ROUNDS / 6, ours, || stage.git(&["blame", "-w", "file.rs"]));
    let what = format!("git-shiftlog-blame of {LINES} lines, {COMMITS} recorded commits");
    is_quick &= pairs.report(&what, "git blame -w", Bar::Ratio(2.0));
    // No call can be named where the notes came without the words, so that this goes to the session.
    let clone = stage.home().join("clone");
    let in_clone = |mut command: Command| {
        command.current_dir(&clone);
        command
    };
    stage.run(stage.git(&["clone", "-q", "--no-local", ".", "../clone"]));
    stage.run(in_clone(stage.git(&["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"])));
    let to_turn = in_clone(stage.command(&program("git-shiftlog-blame"), &["--format=%(session) %(turn)", "file.rs"]));
    let found = stage.output(to_turn);
    let sessions = found.lines().filter(|line| line.starts_with('s')).collect::<Vec<_>>();
    assert_eq!(sessions.len(), COMMITS * 10, "all sessions are found");
    assert!(sessions.iter().all(|line| line.ends_with(' ')), "no turn is known without the words");
    let ours = || in_clone(stage.command(&program("git-shiftlog-blame"), &["file.rs"]));
    let pairs = compare(ROUNDS / 6, ours, || in_clone(stage.git(&["blame", "-w", "file.rs"])));
    is_quick &= pairs.report("the same, to the session", "git blame -w", Bar::Ratio(1.3));
    let mut pairs = Pairs::default();
    for _ in 0..ROUNDS / 6 {
        let ours = stage.command(&program("git-shiftlog-blame"), &["--incremental", "file.rs"]);
        let theirs = stage.git(&["blame", "-w", "--incremental", "file.rs"]);
        pairs.measure(|| until_first_line(ours), || until_first_line(theirs));
    }
    pairs.report("the first group of blame --incremental", "git blame -w --incremental", Bar::Ratio(1.1)) && is_quick
}

/// Asks for a line in a history of ten thousand commits that all have a note.
pub fn far() -> bool {
    let (stage, count) = many_segments();
    stage.run(stage.command(&program("git-shiftlog-remap"), &["-q"]));
    let ours = || stage.command(&program("git-shiftlog-why"), &["file7:1"]);
    let pairs = compare(ROUNDS / 6, ours, || stage.git(&["blame", "-w", "-L1,1", "file7"]));
    pairs.report(&format!("git-shiftlog-why of a line, {count} noted commits"), "git blame -w -L", Bar::Extra(15.0))
}

/// Returns how long a command takes to print its first line.
fn until_first_line(mut command: Command) -> Duration {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    lines.read_line(&mut String::new()).expect("a line");
    let elapsed = started.elapsed();
    std::io::copy(&mut lines, &mut std::io::sink()).expect("the rest");
    child.wait().expect("it ends");
    elapsed
}
