//! The bars: what we cost beside Git, measured in one run. `cargo bench` prints the ratios.
//!
//! Two commands run in turn, so that a noisy machine disturbs both alike; medians are compared. A ratio above its bar
//! is marked, and the exit code says so.

mod hostile;
mod kept;
mod redaction;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::kept::Kept;

/// How often each command runs.
const ROUNDS: usize = 60;

/// A bar: its name, and what measures it.
type Bar = (&'static str, fn() -> bool);

/// A repository with a home of its own.
struct Stage {
    root: tempfile::TempDir,
}

fn main() {
    // `cargo test --benches` runs this without `--bench`; a measurement is no test.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let bars: [Bar; 13] = [
        ("idle", idle_hook),
        ("busy", busy_hook),
        ("agents", agents),
        ("show", show),
        ("log", log),
        ("growth", growth),
        ("memory", memory),
        ("mcp", mcp),
        ("sync", sync),
        ("remap", remap),
        ("fsck", fsck),
        ("hostile", hostile::hostile),
        ("redaction", redaction::redaction),
    ];
    let installed = tempfile::tempdir().expect("a temporary directory");
    install(installed.path());
    // 'cargo bench -- log' measures one alone.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let chosen = bars.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name));
    let failed = chosen.filter(|(_, bar)| !bar()).count();
    drop(installed);
    if failed > 0 {
        println!("{failed} above the bar");
        std::process::exit(1);
    }
}

fn report(what: &str, ours: f64, theirs: f64, unit: &str, against: &str, bar: f64) -> bool {
    let ratio = ours / theirs;
    if bar.is_infinite() {
        println!("{what}: {ours:.2} {unit}, {against}: {theirs:.2} {unit}, ratio {ratio:.2}");
        return true;
    }
    let mark = if ratio <= bar { "" } else { "  ABOVE THE BAR" };
    println!("{what}: {ours:.2} {unit}, {against}: {theirs:.2} {unit}, ratio {ratio:.2} (bar {bar:.1}){mark}");
    ratio <= bar
}

/// Where the programs are installed for the measurement: copied, as `cargo install` does. A program that the linker has
/// just written lies in memory in smaller pieces, and starts a tenth later.
static INSTALLED: OnceLock<PathBuf> = OnceLock::new();

fn install(to: &Path) {
    let built = Path::new(env!("CARGO_BIN_EXE_git-shiftlog")).parent().expect("a directory");
    for entry in fs::read_dir(built).expect("programs").flatten() {
        let name = entry.file_name();
        if entry.path().is_file()
            && name.to_str().is_some_and(|name| name.starts_with("git-shiftlog") && !name.contains('.'))
        {
            fs::copy(entry.path(), to.join(name)).expect("room");
        }
    }
    INSTALLED.get_or_init(|| to.to_owned());
}

fn program(name: &str) -> PathBuf {
    INSTALLED.get().expect("they are installed").join(name)
}

impl Stage {
    fn new() -> Self {
        // In memory where there is such a place: what is measured is the programs, not the disk.
        let shm = Path::new("/dev/shm");
        let root = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
        let stage = Stage { root: root.expect("a temporary directory") };
        fs::create_dir_all(stage.top()).expect("a directory");
        stage.run(stage.git(&["init", "-q", "-b", "main", "."]));
        // Hooks of agents record only where somebody has set that up.
        fs::create_dir_all(stage.top().join(".git/shiftlog")).expect("a directory");
        fs::write(stage.top().join(".git/shiftlog/installed"), "{\"shiftlog\":1}\n").expect("room");
        stage.commit("start");
        stage
    }

    fn top(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.top()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("HOME", self.root.path()).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
        for (name, value) in [("NAME", "Bench"), ("EMAIL", "bench@example.com")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        command
    }

    fn git(&self, args: &[&str]) -> Command {
        self.command(Path::new("git"), args)
    }

    fn run(&self, mut command: Command) {
        assert!(command.status().expect("it runs").success(), "{command:?}");
    }

    fn output(&self, mut command: Command) -> String {
        let output = command.stdout(Stdio::piped()).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn commit(&self, message: &str) {
        self.run(self.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", message]));
    }

    fn feed(&self, mut command: Command, input: &[u8]) {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it runs");
        child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
        assert!(child.wait().expect("it ends").success());
    }

    /// Tells us about a session, as a hook of its agent does.
    fn event(&self, event: &str, transcript: &Path, session: usize) {
        self.event_of("claude", event, Some(transcript), &format!("s{session}"));
    }

    fn event_of(&self, agent: &str, event: &str, transcript: Option<&Path>, session: &str) {
        let (ids, top) = (["session_id", "conversation_id", "taskId"], self.top());
        let mut payload = json!({ "transcript_path": transcript, "cwd": top, "workspace_roots": [top] });
        ids.iter().for_each(|name| payload[name] = session.into());
        self.feed(self.command(&program("git-shiftlog--hook"), &[agent, event]), payload.to_string().as_bytes());
    }

    /// Prepares the yardstick of the hook.
    fn append_note(&self) -> Command {
        self.git(&["notes", "--ref=theirs", "append", "-m", "a note of one line", "HEAD"])
    }

    /// Prepares the hook that Git runs after a commit by this session.
    fn hook(&self, session: usize) -> Command {
        let mut command = self.command(&program("git-shiftlog--hook"), &["git", "post-commit"]);
        command.env("CLAUDE_CODE_SESSION_ID", format!("s{session}"));
        command
    }
}

fn time(mut command: Command) -> Duration {
    let started = Instant::now();
    let status = command.status().expect("it runs");
    let elapsed = started.elapsed();
    assert!(status.success(), "{command:?}");
    elapsed
}

fn median_millis(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// The times of two commands that are run side by side.
#[derive(Default)]
struct Pairs {
    ours: Vec<Duration>,
    theirs: Vec<Duration>,
}

impl Pairs {
    /// Runs both, now this one first, now the other: whoever is second finds caches warm.
    fn run(&mut self, ours: Command, theirs: Command) {
        if self.ours.len().is_multiple_of(2) {
            self.ours.push(time(ours));
            self.theirs.push(time(theirs));
        } else {
            self.theirs.push(time(theirs));
            self.ours.push(time(ours));
        }
    }

    /// Returns the medians in milliseconds.
    fn medians(self) -> (f64, f64) {
        (median_millis(self.ours), median_millis(self.theirs))
    }
}

/// Runs two commands side by side and returns the medians in milliseconds.
fn compare(rounds: usize, ours: impl Fn() -> Command, theirs: impl Fn() -> Command) -> (f64, f64) {
    let mut pairs = Pairs::default();
    (0..rounds).for_each(|_| pairs.run(ours(), theirs()));
    pairs.medians()
}

/// Returns about `bytes` of transcript: records with ids, words of a vocabulary of which few are used often, and tools'
/// output that repeats itself. `zstd -9` makes a fifth of 100 KB of it; of real sessions it makes a fifth to an eighth.
fn transcript(bytes: usize, seed: &mut u64) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text += &record(seed).to_string();
        text.push('\n');
    }
    text
}

/// Returns one line of it.
fn record(seed: &mut u64) -> Value {
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    };
    let syllables = ["re", "con", "st", "pro", "ma", "ti", "un", "ex", "lo", "da", "in", "ter"];
    let mut words = String::new();
    for _ in 0..20 + next() % 60 {
        let rank = next() % (1 << (3 + next() % 8));
        let syllable = |place: u64| syllables[((rank * 7 + place * 5) as usize % 12) ^ ((rank >> 3) as usize % 4)];
        words += &format!("{}{}{} ", syllable(0), syllable(1), if rank > 64 { syllable(2) } else { "" });
    }
    let path = format!("src/{}/{}.rs", syllables[(next() % 12) as usize], syllables[(next() % 12) as usize]);
    let (id, line) = (next(), next() % 400);
    let message = match next() % 3 {
        0 => json!({ "id": format!("msg_{:012x}", id >> 16), "role": "assistant", "model": "claude-bench",
            "content": [{ "type": "text", "text": words }], "usage": { "input_tokens": next() % 4000, "output_tokens": line } }),
        1 => json!({ "id": format!("msg_{:012x}", id >> 16), "role": "assistant", "model": "claude-bench",
            "content": [{ "type": "tool_use", "id": format!("toolu_{:012x}", id >> 16), "name": "Read",
                "input": { "file_path": format!("/home/dev/demo-app/{path}"), "offset": line } }] }),
        _ => {
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": format!("toolu_{:012x}", id >> 16),
            "content": (0..12).map(|n| format!("{:5}\u{2192}    let {} = self.{}(&{path:?})?;\n", line + n,
                &words[..12], &words[12..24])).collect::<String>() }] })
        }
    };
    json!({ "parentUuid": format!("{id:016x}-4b8a-9d0e"), "isSidechain": false, "userType": "external",
        "cwd": "/home/dev/demo-app", "sessionId": "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e", "version": "2.1.178", "gitBranch": "main",
        "type": message["role"], "message": message, "uuid": format!("{:016x}-4b8a-9d0e", id.rotate_left(9)),
        "timestamp": format!("2026-01-02T03:{:02}:{:02}.{:03}Z", line % 60, next() % 60, next() % 1000) })
}

fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("room");
}

fn idle_hook() -> bool {
    let stage = Stage::new();
    let ours = || stage.command(&program("git-shiftlog--hook"), &["git", "post-commit"]);
    let (ours, theirs) = compare(ROUNDS * 3, ours, || stage.git(&["rev-parse", "HEAD"]));
    report("post-commit hook, no live session", ours, theirs, "ms", "git rev-parse HEAD", 1.5)
}

fn busy_hook() -> bool {
    let stage = Stage::new();
    let (mut seed, mut pairs) = (7, Pairs::default());
    for round in 0..ROUNDS / 2 {
        let path = stage.root.path().join(format!("s{round}.jsonl"));
        fs::write(&path, transcript(2 << 20, &mut seed)).expect("room");
        stage.event("SessionStart", &path, round);
        stage.commit(&format!("before {round}"));
        stage.run(stage.hook(round));
        // The tool call that made the commit ends, and the turn goes on.
        stage.event("Stop", &path, round);
        append(&path, &transcript(100 << 10, &mut seed));
        stage.commit(&format!("round {round}"));
        pairs.run(stage.hook(round), stage.append_note());
        stage.event("SessionEnd", &path, round);
    }
    let recorded = stage.output(stage.git(&["notes", "--ref=shiftlog", "list"])).lines().count();
    assert_eq!(recorded, ROUNDS, "each commit was recorded");
    let what = "post-commit hook, 2 MB transcript, 100 KB new";
    let (ours, theirs) = pairs.medians();
    report(what, ours, theirs, "ms", "git notes append", 2.0)
}

/// Returns what another agent would write of a session, as long as that: a prompt, and what the model does. In a database
/// only the texts in its rows count. Texts and answers are longer than Claude Code's, so that there are about as many
/// messages as in a transcript of its of that length, which has more around each.
fn session_of(agent: &str, bytes: usize, seed: &mut u64) -> String {
    const TEXT_BYTES: usize = 900;
    let prompt = json!({ "role": "user", "content": [{ "type": "text", "text": format!("go on {seed:x}") }] });
    let (mut text, mut written) = (String::new(), 0);
    let mut message = prompt;
    while written < bytes {
        let record = in_form_of(agent, &format!("m{seed:x}"), &message);
        written += kept::bytes_of(agent, &record);
        text += &format!("{record}\n");
        message = self::record(seed)["message"].take();
        for member in ["text", "content"] {
            while let Some(words) = message["content"][0][member].as_str()
                && words.len() < TEXT_BYTES
            {
                let more = self::record(seed)["message"]["content"][0][member].take();
                message["content"][0][member] = format!("{words}{}", more.as_str().unwrap_or_default()).into();
            }
        }
    }
    text
}

/// Returns a message of Claude Code's as another agent would write it.
fn in_form_of(agent: &str, id: &str, message: &Value) -> Value {
    let part = &message["content"][0];
    let words = part["text"].as_str().unwrap_or_default();
    let answer = part["content"].as_str().unwrap_or_default();
    let (role, content) = (&message["role"], &message["content"]);
    match (agent, role.as_str(), part["type"].as_str()) {
        ("codex", Some("user"), Some("text")) => {
            json!({ "type": "event_msg", "payload": { "type": "user_message", "message": words } })
        }
        ("codex", _, Some("text")) => {
            json!({ "type": "event_msg", "payload": { "type": "agent_message", "message": words } })
        }
        ("codex", _, Some("tool_use")) => json!({ "type": "response_item", "payload": { "type": "function_call",
            "call_id": id, "name": "read_file", "arguments": part["input"].to_string() } }),
        ("codex", ..) => json!({ "type": "response_item", "payload": { "type": "function_call_output",
            "call_id": id, "output": answer } }),
        ("gemini", Some("user"), Some("text")) => json!({ "id": id, "type": "user", "content": [{ "text": words }] }),
        ("gemini", ..) => json!({ "id": id, "type": "gemini", "content": words, "toolCalls": [{ "id": id,
            "name": "read_file", "args": part["input"], "resultDisplay": answer }] }),
        ("copilot", Some("user"), Some("text")) => json!({ "type": "user.message", "data": { "content": words } }),
        ("copilot", ..) => json!({ "type": "assistant.message", "data": { "content": format!("{words}{answer}") } }),
        ("droid" | "pi" | "continue", ..) => {
            json!({ "type": "message", "id": id, "message": { "role": role, "content": content } })
        }
        _ => json!({ "role": role, "content": content }),
    }
}

/// The hook after a commit again, with the transcripts of other agents: lines that are appended, documents that are
/// written anew each time, and databases.
fn agents() -> bool {
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
        let recorded = stage.output(stage.git(&["notes", "--ref=shiftlog", "list"])).lines().count();
        assert_eq!(recorded, ROUNDS, "each commit was recorded");
        let what = format!("post-commit hook, 2 MB of {agent}, 100 KB new");
        let (ours, theirs) = pairs.medians();
        is_fine &= report(&what, ours, theirs, "ms", "git notes append", 2.0);
    }
    is_fine
}

fn show() -> bool {
    let stage = Stage::new();
    let path = stage.root.path().join("s1.jsonl");
    append(&path, &transcript(4 << 10, &mut 7));
    stage.event("SessionStart", &path, 1);
    stage.run(stage.hook(1));
    let ours = || stage.command(&program("git-shiftlog-show"), &["HEAD"]);
    let (ours, theirs) = compare(ROUNDS * 3, ours, || stage.git(&["notes", "--ref=shiftlog", "show", "HEAD"]));
    report("git-shiftlog-show HEAD", ours, theirs, "ms", "git notes show HEAD", 1.0)
}

/// Ten thousand commits, each with a note.
fn many_notes() -> Stage {
    let stage = Stage::new();
    let mut import = String::new();
    for number in 1..=10_000 {
        let time = 1_700_000_000 + number;
        import += &format!("commit refs/heads/main\nmark :{number}\ncommitter B <b@example.com> {time} +0000\n");
        import += &format!("data 12\nnumber {number:05}\n");
    }
    import += "commit refs/notes/shiftlog\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for number in 1..=10_000 {
        let note = json!({ "shiftlog": 1, "agent": "claude", "session": format!("3f6b1c9e-52d4-4b8a-9d0e-{number:012}"), "model": "claude-bench",
            "time": "2026-01-02T03:04:05Z", "prompt": format!("make the reconnect loop number {number} back off"), "turns": 3, "messages": 12,
            "tokens": { "input": 1840, "output": 5120, "cacheRead": 90111, "cacheWrite": 7710 }, "since": null,
            "through": format!("{number:040x}"), "bytes": 18324, "sha256": format!("{number:064x}") }).to_string();
        import += &format!("N inline :{number}\ndata {}\n{note}\n", note.len());
    }
    stage.feed(stage.git(&["fast-import", "--quiet", "--force"]), import.as_bytes());
    stage
}

/// Commits with a note and a segment each; as many as `SHIFTLOG_BENCH_NOTES` says, or ten thousand.
fn many_segments() -> (Stage, usize) {
    let count = std::env::var("SHIFTLOG_BENCH_NOTES").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let stage = Stage::new();
    let (mut blobs, mut sums) = (Vec::new(), Vec::new());
    for number in 0..count {
        let body = format!(
            "{}\n",
            json!({ "type": "user", "message": { "role": "user", "content": format!("words {number}") } })
        );
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
        blobs.extend(format!("blob\nmark :{}\ndata {}\n", number + 1, file.len()).into_bytes());
        blobs.extend(file);
        blobs.push(b'\n');
        sums.push((sha256, body.len()));
    }
    let marks = stage.root.path().join("marks");
    let export = format!("--export-marks={}", marks.display());
    stage.feed(stage.git(&["fast-import", "--quiet", &export]), &blobs);
    let marks = fs::read_to_string(marks).expect("marks");
    let mut ids: Vec<(usize, &str)> = marks
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(mark, id)| (mark[1..].parse().expect("a number"), id))
        .collect();
    ids.sort_unstable();
    let mut import = String::new();
    for number in 1..=count {
        let time = 1_500_000_000 + 600 * number;
        import += &format!("commit refs/heads/main\nmark :{number}\ncommitter B <b@example.com> {time} +0000\n");
        import += &format!("data 13\nnumber {number:06}\nM 644 inline file{}\ndata 7\n{number:06}\n\n", number % 1000);
    }
    import += "commit refs/shiftlog/sessions\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for (number, id) in &ids {
        let session = format!("s{:06}", number - 1);
        let digest = shiftlog::archive::hex(&<sha2::Sha256 as sha2::Digest>::digest(format!("claude/{session}"))[..1]);
        import += &format!("M 644 {id} {digest}/claude~{session}/000000-{}.zst\n", &id[..12]);
    }
    import += "commit refs/notes/shiftlog\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for ((number, id), (sha256, bytes)) in ids.iter().zip(&sums) {
        let note = json!({ "shiftlog": 1, "agent": "claude", "session": format!("s{:06}", number - 1),
            "time": "2026-01-02T03:04:05Z", "turns": 1, "messages": 1, "since": null, "through": id, "bytes": bytes,
            "sha256": sha256 })
        .to_string();
        import += &format!("N inline :{number}\ndata {}\n{note}\n", note.len());
    }
    stage.feed(stage.git(&["fast-import", "--quiet", "--force"]), import.as_bytes());
    stage.run(stage.git(&["reset", "-q", "--hard"]));
    stage.run(stage.git(&["repack", "-a", "-d", "-q"]));
    (stage, count)
}

/// One new record comes from a server on the same disk, and one new commit by plain Git.
fn sync() -> bool {
    let (stage, count) = many_segments();
    let server = stage.root.path().join("server.git");
    let server = server.to_str().expect("UTF-8");
    stage.run(stage.git(&["clone", "-q", "--mirror", ".", server]));
    stage.run(stage.git(&["remote", "add", "origin", server]));
    let push = || stage.command(&program("git-shiftlog-sync"), &["push", "--all", "-q", "origin"]);
    let pull = || stage.command(&program("git-shiftlog-sync"), &["pull", "--all", "-q", "origin"]);
    stage.run(pull());
    let work = stage.root.path().join("work");
    let in_work = |mut command: Command| {
        command.current_dir(&work);
        command
    };
    stage.run(stage.git(&["clone", "-q", server, work.to_str().expect("UTF-8")]));
    stage.run(in_work(pull()));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let said = stage.root.path().join("said");
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
    report(&what, median_millis(ours), median_millis(theirs), "ms", "git fetch of one commit", f64::INFINITY)
}

/// Nothing to do is the usual case: after each merge and pull. The repository has ten commits for each with a note.
fn remap() -> bool {
    let (stage, count) = many_segments();
    let ours = || stage.command(&program("git-shiftlog-remap"), &["-q"]);
    let first = time(ours()).as_secs_f64() * 1e3;
    let (log, git_log) = compare(ROUNDS / 6, ours, || stage.git(&["log", "--notes=shiftlog"]));
    println!("remap for the first time, {count} noted commits: {first:.2} ms");
    let is_fine = report("remap, nothing to do", log, git_log, "ms", "git log --notes=shiftlog", f64::INFINITY);
    let mut import = String::from("reset refs/heads/main\nfrom refs/heads/main^0\n");
    for number in 1..=9 * count {
        let time = 1_800_000_000 + number;
        import += &format!("commit refs/heads/main\ncommitter B <b@example.com> {time} +0000\ndata 5\nplain\n");
    }
    stage.feed(stage.git(&["fast-import", "--quiet", "--force"]), import.as_bytes());
    stage.run(stage.git(&["repack", "-a", "-d", "-q"]));
    stage.run(ours());
    let (ours, theirs) = compare(ROUNDS, ours, || stage.git(&["status"]));
    let what = format!("remap, nothing to do, {} commits", 10 * count);
    report(&what, ours, theirs, "ms", "git status of 1,000 files", 1.0) && is_fine
}

fn fsck() -> bool {
    let (stage, count) = many_segments();
    let ours = || stage.command(&program("git-shiftlog-fsck"), &["-q"]);
    let (ours, theirs) = compare(ROUNDS / 10, ours, || stage.git(&["fsck", "--no-progress"]));
    let what = format!("fsck, {count} noted commits");
    report(&what, ours, theirs, "ms", "git fsck", f64::INFINITY)
}

fn log() -> bool {
    let stage = many_notes();
    let ours = || stage.command(&program("git-shiftlog-log"), &["main"]);
    let (ours, theirs) = compare(ROUNDS / 3, ours, || stage.git(&["log", "--notes=shiftlog", "main"]));
    report("git-shiftlog-log, 10,000 noted commits", ours, theirs, "ms", "git log --notes=shiftlog", 1.0)
}

fn growth() -> bool {
    let stage = Stage::new();
    let path = stage.root.path().join("s1.jsonl");
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
    report(what, grown as f64 / 1e6, whole as f64 / 1e6, "MB", "zstd -9 of it all", 2.2)
}

fn memory() -> bool {
    let stage = Stage::new();
    let path = stage.root.path().join("s1.jsonl");
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
    let recorded = stage.output(stage.git(&["notes", "--ref=shiftlog", "list"])).lines().count();
    assert_eq!(recorded, 1, "it was recorded");
    report("memory, 200 MB transcript captured", peak_kib as f64 / 1024.0, 64.0, "MiB", "the bar", 1.0)
}

/// These two bars are times, not ratios: an agent waits for them.
fn mcp() -> bool {
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
    let has_started = report("mcp, start to first reply", median_millis(first), 20.0, "ms", "the bar", 1.0);
    report("mcp, list_conversations at 10,000 notes, p50", median_millis(lists), 5.0, "ms", "the bar", 1.0)
        && has_started
}
