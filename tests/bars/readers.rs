//! What commands cost that read, and those that people wait for.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use super::ROUNDS;
use super::repositories::{many_notes, many_segments, one_by_one};
use super::sample::{Bar, Sample, compare, report, time};
use super::stage::{Stage, append, program};
use super::words::transcript;

/// Shows a short increment.
pub fn show() -> bool {
    let stage = Stage::new();
    let path = stage.home().join("s1.jsonl");
    append(&path, &transcript(4 << 10, &mut 7));
    stage.event("SessionStart", &path, 1);
    stage.run(stage.hook(1));
    let ours = || stage.command(&program("git-shiftlog-show"), &["HEAD"]);
    let pairs = compare(ROUNDS * 3, ours, || stage.git(&["notes", "--ref=shiftlog", "show", "HEAD"]));
    pairs.report("git-shiftlog-show HEAD", "git notes show HEAD", Bar::Ratio(1.0))
}

/// One new record comes from a server on the same disk, and one new commit by plain Git.
pub fn sync() -> bool {
    let (stage, count) = many_segments();
    let server = stage.home().join("server.git");
    let server = server.to_str().expect("UTF-8");
    stage.run(stage.git(&["clone", "-q", "--mirror", ".", server]));
    stage.run(stage.git(&["remote", "add", "origin", server]));
    let push = || stage.command(&program("git-shiftlog-sync"), &["push", "--all", "-q", "origin"]);
    let pull = || stage.command(&program("git-shiftlog-sync"), &["pull", "--all", "-q", "origin"]);
    stage.run(pull());
    let work = stage.home().join("work");
    let in_work = |mut command: Command| {
        command.current_dir(&work);
        command
    };
    stage.run(stage.git(&["clone", "-q", server, work.to_str().expect("UTF-8")]));
    stage.run(in_work(pull()));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let said = stage.home().join("said");
    for round in 0..ROUNDS / 6 {
        fs::write(&said, format!("{{\"type\":\"user\",\"round\":{round}}}\n")).expect("room");
        let session = format!("--session=round{round}");
        let file = format!("--transcript={}", said.display());
        stage.run(in_work(stage.command(&program("git-shiftlog-add"), &["-q", &session, &file])));
        stage.run(in_work(push()));
        stage.run(in_work(stage.git(&["commit", "-q", "--allow-empty", "-m", "round"])));
        stage.run(in_work(stage.git(&["push", "-q", "--no-verify", "origin", "main"])));
        theirs.push(time(stage.git(&["fetch", "-q", "origin", "main"])));
        ours.push(time(pull()));
    }
    let what = format!("sync pull of one record, {count} notes");
    let (ours, theirs) = (Sample::of_times(&ours), Sample::of_times(&theirs));
    report(&what, &ours, &theirs, "ms", "git fetch of one commit", Bar::None)
}

/// Nothing to do is the usual case: after each merge and pull. The repository has ten commits for each with a note.
pub fn remap() -> bool {
    let (stage, count) = many_segments();
    let ours = || stage.command(&program("git-shiftlog-remap"), &["-q"]);
    let first = time(ours()).as_secs_f64() * 1e3;
    // Four seconds for a hundred thousand, and no more for each where there are fewer.
    let (first, bar) = (Sample::one(first), Sample::one(4000.0 * count as f64 / 1e5));
    let what = format!("remap for the first time, {count} noted commits");
    let is_quick = report(&what, &first, &bar, "ms", "the bar", Bar::Ratio(1.0));
    let pairs = compare(ROUNDS / 6, ours, || stage.git(&["log", "--notes=shiftlog"]));
    pairs.report("remap, nothing to do", "git log --notes=shiftlog", Bar::None);
    let mut import = String::from("reset refs/heads/main\nfrom refs/heads/main^0\n");
    for number in 1..=9 * count {
        let time = 1_800_000_000 + number;
        import += &format!("commit refs/heads/main\ncommitter B <b@example.com> {time} +0000\ndata 5\nplain\n");
    }
    stage.feed(stage.git(&["fast-import", "--quiet", "--force"]), import.as_bytes());
    stage.run(stage.git(&["repack", "-a", "-d", "-q"]));
    stage.run(ours());
    let pairs = compare(ROUNDS, ours, || stage.git(&["status"]));
    let what = format!("remap, nothing to do, {} commits", 10 * count);
    pairs.report(&what, "git status of 1,000 files", Bar::Ratio(1.0)) && is_quick
}

/// Reads everything there is.
pub fn fsck() -> bool {
    let (stage, count) = many_segments();
    let ours = || stage.command(&program("git-shiftlog-fsck"), &["-q"]);
    let pairs = compare(ROUNDS / 10, ours, || stage.git(&["fsck", "--no-progress"]));
    pairs.report(&format!("fsck, {count} noted commits"), "git fsck", Bar::None)
}

/// Lists all commits with a conversation, then five of those that change one file: Git has a commit-graph with
/// changed-path filters for that.
pub fn log() -> bool {
    let stage = many_notes();
    // Until it has been done once, each command looks for records of rewritten commits for a while.
    let settle = |stage: &Stage| stage.run(stage.command(&program("git-shiftlog-remap"), &["-q"]));
    settle(&stage);
    let ours = || stage.command(&program("git-shiftlog-log"), &["main"]);
    let pairs = compare(ROUNDS / 3, ours, || stage.git(&["log", "--notes=shiftlog", "main"]));
    let is_fine = pairs.report("git-shiftlog-log, 10,000 noted commits", "git log --notes=shiftlog", Bar::Ratio(1.1));
    let (stage, count) = many_segments();
    settle(&stage);
    let mut is_quick = true;
    for graph in ["no commit-graph", "a commit-graph"] {
        let five = ["-n", "5", "main", "--", "file7"];
        let ours = || stage.command(&program("git-shiftlog-log"), &five);
        let pairs = compare(ROUNDS / 3, ours, || stage.git(&[&["log"], &five[..]].concat()));
        let what = format!("git-shiftlog-log -n 5 -- path, {count} noted commits, {graph}");
        is_quick &= pairs.report(&what, "git log -n 5 -- path", Bar::Ratio(2.0));
        stage.run(stage.git(&["commit-graph", "write", "--reachable", "--changed-paths"]));
    }
    is_fine && is_quick
}

/// Counts what ten thousand commits have used.
pub fn stats() -> bool {
    let stage = many_notes();
    stage.run(stage.command(&program("git-shiftlog-remap"), &["-q"]));
    let ours = || stage.command(&program("git-shiftlog-stats"), &["main"]);
    let pairs = compare(ROUNDS / 3, ours, || stage.command(&program("git-shiftlog-log"), &["main"]));
    pairs.report("git-shiftlog-stats, 10,000 noted commits", "git-shiftlog-log", Bar::Ratio(1.2))
}

/// Verifies twenty of many commits, whose notes were written one after the other.
pub fn verify() -> bool {
    let (stage, count) = one_by_one();
    let ours = || stage.command(&program("git-shiftlog-verify"), &["-q", "main~20..main"]);
    let theirs = || stage.git(&["log", "--notes=shiftlog", "main~20..main"]);
    // Nothing is signed here, so that no other program is measured. A record without a signature is no failure.
    let pairs = compare(ROUNDS / 6, ours, theirs);
    pairs.report(&format!("verify of 20 of {count} noted commits"), "git log --notes of these", Bar::None)
}

/// These two bars are times, not ratios: an agent waits for them.
pub fn mcp() -> bool {
    let stage = many_notes();
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } } });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "shiftlog_list_conversations", "arguments": { "limit": 20 } } });
    let (mut first, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS / 6 {
        let mut command = stage.command(&program("git-shiftlog-mcp"), &[]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().expect("it runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut stdout = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        let mut ask = |message: &serde_json::Value| {
            let mut answer = String::new();
            writeln!(stdin, "{message}").expect("it reads");
            std::io::BufRead::read_line(&mut stdout, &mut answer).expect("it answers");
            assert!(answer.contains("result"), "{answer}");
        };
        ask(&opening);
        first.push(started.elapsed());
        for _ in 0..6 {
            let started = Instant::now();
            ask(&call);
            lists.push(started.elapsed());
        }
        drop(stdin);
        child.wait().expect("it ends");
    }
    let first = Sample::of_times(&first);
    let is_quick = report("mcp, start to first reply", &first, &Sample::one(20.0), "ms", "the bar", Bar::Ratio(1.0));
    let (what, lists) = ("mcp, list_conversations at 10,000 notes", Sample::of_times(&lists));
    report(what, &lists, &Sample::one(5.0), "ms", "the bar", Bar::Ratio(1.0)) && is_quick
}
