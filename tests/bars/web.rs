//! How long a browser waits for pages of the server. These bars are times, not ratios: a person waits for them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use super::ROUNDS;
use super::pages;
use super::repositories::many_notes;
use super::sample::{Bar, Sample, report};
use super::stage::{Stage, program};

/// A running server, and the cookie of a browser.
struct Served {
    child: Child,
    /// What it prints: a server whose reader has gone would end.
    _lines: BufReader<ChildStdout>,
    port: u16,
    cookie: String,
}

impl Served {
    /// Starts a server and goes through its link.
    fn start(stage: &Stage) -> Self {
        let mut command = stage.command(&program("git-shiftlog-web"), &["--no-browser", "--idle=1"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let mut link = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        lines.read_line(&mut link).expect("a link");
        let address = link.trim().strip_prefix("http://127.0.0.1:").expect("a link");
        let (port, token) = address.split_once('/').expect("a path");
        let (port, cookie) = (port.parse().expect("a number"), String::new());
        let mut served = Served { child, _lines: lines, port, cookie };
        let (_, entered) = served.get(&format!("/{token}"));
        let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        served.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        served
    }

    /// Asks for a page; returns how long its first byte took, and what came.
    fn get(&self, target: &str) -> (Duration, String) {
        let started = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}", self.port, self.cookie);
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).expect("it reads");
        let mut bytes = vec![0];
        stream.read_exact(&mut bytes).expect("it answers");
        let first = started.elapsed();
        stream.read_to_end(&mut bytes).expect("the rest");
        (first, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Measures how long the first byte of a page takes.
    fn measure(&self, target: &str) -> Sample {
        let ask = |_| {
            let (first, page) = self.get(target);
            assert!(page.starts_with("HTTP/1.1 200 "), "{target}: {}", page.lines().next().unwrap_or_default());
            first
        };
        Sample::of_times(&(0..ROUNDS / 6).map(ask).collect::<Vec<_>>())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts servers, and asks for the overview and a session.
pub fn web() -> bool {
    let stage = many_notes();
    // Until it has been done once, each command looks for records of rewritten commits for a while.
    stage.run(stage.command(&program("git-shiftlog-remap"), &["-q"]));
    let begin = |_| {
        let started = Instant::now();
        let served = Served::start(&stage);
        let entered = started.elapsed();
        let (first, page) = served.get("/");
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        (entered, entered + first)
    };
    let (entered, opened): (Vec<_>, Vec<_>) = (0..ROUNDS / 6).map(begin).unzip();
    let within =
        |what: &str, ours: &Sample, bar: f64| report(what, ours, &Sample::one(bar), "ms", "the bar", Bar::Ratio(1.0));
    let is_up = within("web, start to first byte", &Sample::of_times(&entered), 50.0);
    // Both bars: the start, and the overview.
    let is_open = within("web, start to overview at 10,000 commits", &Sample::of_times(&opened), 200.0);
    let overview = Served::start(&stage).measure("/");
    let is_listed = within("web, overview at 10,000 commits", &overview, 150.0);
    drop(stage);
    let stage = pages::stage();
    let session = Served::start(&stage).measure("/s/claude/s1");
    within("web, first byte of a session of 10 MB", &session, 150.0) && is_up && is_open && is_listed
}
