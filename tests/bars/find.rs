//! What searching costs: `grep` beside a pipeline that unpacks the same segments, `search` beside `grep`, and the server's
//! search.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::ROUNDS;
use super::sample::{Bar, Pairs, Sample, report};
use super::stage::{Stage, program};
use super::words::transcript;

/// A word that is in few records.
const WORD: &str = "needlework";
/// How long a session is, in bytes.
const SESSION_BYTES: usize = 2 << 20;
/// A session has the word once in so many bytes.
const APART_BYTES: usize = 700 << 10;

/// Makes a repository with as many megabytes of transcripts as `SHIFTLOG_BENCH_WORDS` says, or 300: a commit, a note and a
/// segment for each session.
pub fn words() -> (Stage, usize) {
    let megabytes = std::env::var("SHIFTLOG_BENCH_WORDS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let stage = Stage::in_empty_home();
    let count = (megabytes << 20) / SESSION_BYTES;
    let mut seed = 17;
    let mut bodies = Vec::new();
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet", "--force"]).current_dir(stage.top()).stdin(Stdio::piped());
    let mut import = import.spawn().expect("it runs");
    let mut input = import.stdin.take().expect("a pipe");
    for number in 0..count {
        let mut body = String::new();
        while body.len() < SESSION_BYTES {
            let said = json!({ "role": "assistant", "model": "claude-bench",
                "content": [{ "type": "text", "text": format!("the {WORD} of part {number}") }] });
            let asked = json!({ "role": "user", "content": format!("go on with part {number}") });
            body += &format!("{}\n", json!({ "type": "user", "message": asked }));
            body += &format!("{}\n", json!({ "type": "assistant", "message": said }));
            body += &transcript(APART_BYTES, &mut seed);
        }
        let sha256 = shiftlog::archive::hex(&<sha2::Sha256 as sha2::Digest>::digest(&body));
        let header = shiftlog::archive::Header {
            shiftlog: 1,
            agent: "claude".into(),
            session: format!("s{number:06}"),
            parent: None,
            keep: 0,
            bytes: body.len() as u64,
            sha256: sha256.clone(),
            time: "2026-01-02T03:04:05Z".into(),
        };
        let file = shiftlog::archive::segment::encode(&header, body.as_bytes()).expect("it compresses");
        let mark = number + 1;
        write!(input, "blob\nmark :{mark}\ndata {}\n", file.len()).expect("it reads");
        input.write_all(&file).expect("it reads");
        input.write_all(b"\n").expect("it reads");
        bodies.push((sha256, body.len(), shiftlog_blob_id(&file)));
    }
    let mut rest = String::new();
    for number in 0..count {
        let time = 1_700_000_000 + 600 * number;
        rest += &format!(
            "commit refs/heads/main\nmark :{}\ncommitter B <b@example.com> {time} +0000\n",
            count + number + 1
        );
        rest += &format!("data 13\nnumber {number:06}\n");
    }
    rest += "commit refs/shiftlog/sessions\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for (number, (_, _, id)) in bodies.iter().enumerate() {
        let session = format!("s{number:06}");
        let digest = shiftlog::archive::hex(&<sha2::Sha256 as sha2::Digest>::digest(format!("claude/{session}"))[..1]);
        rest += &format!("M 644 :{} {digest}/claude~{session}/000000-{}.zst\n", number + 1, &id[..12]);
    }
    rest += "commit refs/notes/shiftlog\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for (number, (sha256, bytes, id)) in bodies.iter().enumerate() {
        let note = json!({ "shiftlog": 1, "agent": "claude", "session": format!("s{number:06}"),
            "time": "2026-01-02T03:04:05Z", "turns": 1, "messages": 1, "since": null, "through": id, "bytes": bytes,
            "sha256": sha256 })
        .to_string();
        rest += &format!("N inline :{}\ndata {}\n{note}\n", count + number + 1, note.len());
    }
    input.write_all(rest.as_bytes()).expect("it reads");
    drop(input);
    assert!(import.wait().expect("it ends").success());
    stage.run(stage.git(&["repack", "-a", "-d", "-q"]));
    // Until it has been done once, each command looks for records of rewritten commits for a while.
    stage.run(stage.command(&program("git-shiftlog-remap"), &["-q"]));
    let ids: String = bodies.iter().map(|(.., id)| format!("{id}\n")).collect();
    fs::write(stage.home().join("ids"), ids).expect("room");
    (stage, megabytes)
}

/// Returns the id that Git gives a blob.
fn shiftlog_blob_id(file: &[u8]) -> String {
    let mut child = Command::new("git")
        .args(["hash-object", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("a pipe").write_all(file).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("an id").trim().to_owned()
}

/// Runs `git cat-file --batch | zstd -dc | grep -c`. The lines that Git puts between blobs are taken out on the way.
fn pipeline(stage: &Stage) -> Duration {
    let started = Instant::now();
    let ids = fs::File::open(stage.home().join("ids")).expect("it is there");
    let mut git = stage.git(&["cat-file", "--batch", "--buffer"]);
    let mut git = git.stdin(ids).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut rest = Command::new("sh");
    rest.args(["-c", "zstd -dc | grep -c \"$1\"", "sh", WORD]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut rest = rest.spawn().expect("it runs");
    let mut input = rest.stdin.take().expect("a pipe");
    let mut blobs = BufReader::with_capacity(1 << 20, git.stdout.take().expect("a pipe"));
    let (mut line, mut blob) = (String::new(), Vec::new());
    while blobs.read_line(&mut line).expect("a line") > 0 {
        let size: usize = line.trim().rsplit(' ').next().and_then(|size| size.parse().ok()).expect("a size");
        blob.resize(size + 1, 0);
        blobs.read_exact(&mut blob).expect("a blob");
        input.write_all(&blob[..size]).expect("it reads");
        line.clear();
    }
    drop(input);
    assert!(rest.wait().expect("it ends").success() && git.wait().expect("it ends").success());
    started.elapsed()
}

/// Searches for a word, case by case.
pub fn find() -> bool {
    let (stage, megabytes) = words();
    let grep = |args: &[&str]| stage.command(&program("git-shiftlog-grep"), args);
    let timed = |command: Command| super::sample::time(command);
    let mut pairs = Pairs::default();
    for _ in 0..ROUNDS / 6 {
        pairs.measure(|| timed(grep(&[WORD])), || pipeline(&stage));
    }
    let what = format!("grep of a word, {megabytes} MB");
    let mut is_fine = pairs.report(&what, "git cat-file | zstd -dc | grep -c", Bar::Ratio(0.5));
    let seconds = Sample::of_times(&(0..ROUNDS / 6).map(|_| timed(grep(&[WORD]))).collect::<Vec<_>>());
    let bar = Sample::one(250.0 * megabytes as f64 / 300.0);
    is_fine &= report(&what, &seconds, &bar, "ms", "the bar", Bar::Ratio(1.0));
    let mut pairs = Pairs::default();
    for _ in 0..ROUNDS / 6 {
        let search = stage.command(&program("git-shiftlog-search"), &[WORD]);
        pairs.measure(|| timed(search), || timed(grep(&["-i", WORD])));
    }
    is_fine &= pairs.report(&format!("search for a word, {megabytes} MB"), "grep -i of it", Bar::Ratio(1.3));
    let open = Sample::of_times(&[timed(grep(&["[0-9]{2,3}$"]))]);
    let per_gigabyte = Sample::one(open.median() * 1024.0 / megabytes as f64);
    is_fine &= report(
        "grep without a literal, a gigabyte",
        &per_gigabyte,
        &Sample::one(4000.0),
        "ms",
        "the bar",
        Bar::Ratio(1.0),
    );
    is_fine &= memory(grep(&[WORD]), &format!("grep of a word in {megabytes} MB"));
    is_fine & server(&stage, megabytes)
}

/// Measures the memory of a command. Pages of the mapped pack, which belong to the system's cache, do not count.
pub fn memory(mut command: Command, of: &str) -> bool {
    let mut child = command.spawn().expect("it runs");
    let mut peak_kib = 0u64;
    while child.try_wait().expect("it ends").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap_or_default();
        peak_kib = peak_kib.max(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    let peak = Sample::one(peak_kib as f64 / 1024.0);
    report(&format!("memory of its own, {of}"), &peak, &Sample::one(64.0), "MiB", "the bar", Bar::Ratio(1.0))
}

/// Asks the server, which stays, several times.
fn server(stage: &Stage, megabytes: usize) -> bool {
    let mut command = stage.command(&program("git-shiftlog-mcp"), &[]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut ask = |message: serde_json::Value| {
        let mut answer = String::new();
        writeln!(stdin, "{message}").expect("it reads");
        stdout.read_line(&mut answer).expect("it answers");
        assert!(answer.contains("result"), "{answer}");
        answer
    };
    let client =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "b", "version": "1" } });
    ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client }));
    let mut times = Vec::new();
    for number in 0..ROUNDS / 3 {
        let query = json!({ "query": format!("{WORD} of part {number}") });
        let started = Instant::now();
        let params = json!({ "name": "shiftlog_search", "arguments": query });
        let answer = ask(json!({ "jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params }));
        times.push(started.elapsed());
        assert!(answer.contains(WORD), "{answer}");
    }
    drop(stdin);
    child.wait().expect("it ends");
    let bar = Sample::one(300.0 * megabytes as f64 / 300.0);
    report(&format!("mcp, search in {megabytes} MB"), &Sample::of_times(&times), &bar, "ms", "the bar", Bar::Ratio(1.0))
}
