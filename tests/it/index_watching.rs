//! What keeps the index up to date by itself: `git shiftlog index watch`, and `shiftlog.index=commit`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::index_scanning::{answers, arch, asked, install, project};
use crate::support::{Ran, Scratch};

/// A watcher, and what it prints.
struct Watching {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Watching {
    /// Starts a watcher and waits until it watches.
    fn start(scratch: &Scratch, args: &[&str]) -> Self {
        let mut command = scratch.command("git-shiftlog-index", &scratch.top);
        let mut child = command.arg("watch").args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut watching = Watching { child, stdout };
        watching.hear("watching ");
        watching
    }

    /// Waits for a line that begins so, and returns it.
    #[track_caller]
    fn hear(&mut self, beginning: &str) -> String {
        let mut heard = String::new();
        loop {
            let mut line = String::new();
            self.stdout.read_line(&mut line).unwrap();
            if line.starts_with(beginning) {
                return line;
            }
            assert!(!line.is_empty(), "it ended without '{beginning}': {heard}");
            heard += &line;
        }
    }

    /// Ends it by a signal, and returns how it ended.
    fn end(mut self, signal: &str) -> Ran {
        let kill = format!("kill -s {signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.stdout, &mut rest).unwrap();
        let mut ran = Ran::of(self.child.wait_with_output().unwrap());
        ran.stdout = rest;
        ran
    }
}

/// Puts a file in place in one step, so that it changes once.
fn put(scratch: &Scratch, path: &str, text: &str) {
    let (new, path) = (scratch.root().join("new"), scratch.top.join(path));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

/// Returns all that the agent was asked so far.
fn told(scratch: &Scratch) -> String {
    let paths = (0..).map(|n| scratch.home().join(format!("asked-{n}"))).take_while(|path| path.exists());
    paths.map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn memo(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(scratch.top.join(".memo").join(name)).unwrap_or_default()
}

#[test]
fn a_watcher_scans_when_files_change_and_tells_what_it_does() {
    let scratch = project();
    scratch.write(".gitignore", "target/\n*.log\n");
    fs::create_dir_all(scratch.top.join("empty")).unwrap();
    fs::create_dir_all(scratch.top.join("target/deep/deeper")).unwrap();
    let keep = format!("cp '{}' \"$HOME/status\"", scratch.top.join(".memo/status.json").display());
    install(&scratch, &format!("{keep}\n{}", answers(&json!({ "arch": arch("one") }))));
    let mut watching = Watching::start(&scratch, &["--debounce=0"]);
    watching.hear("wrote .memo/index/arch.json");
    assert!(told(&scratch).contains("--- file src/net.rs\n"), "what changed before counts too");
    let status: Value = serde_json::from_str(&fs::read_to_string(scratch.home().join("status")).unwrap()).unwrap();
    assert_eq!(status["status"], "analyzing");
    assert!(status["since"].as_str().unwrap().starts_with("20"), "{status}");
    assert_eq!(memo(&scratch, "watcher.lock"), format!("{}\n", watching.child.id()));
    let shown = scratch.shiftlog("index", ["status"]).ok();
    assert!(shown.contains(&format!("\nwatcher         running, process {}\n", watching.child.id())), "{shown}");
    let mut until = |part: &str| {
        while !told(&scratch).contains(part) {
            watching.hear("the index stays as it is");
        }
    };
    put(&scratch, "new/a/b/c.rs", "new();\n");
    until("--- file new/a/b/c.rs\nnew();\n");
    put(&scratch, "new/a/b/d.rs", "later();\n");
    until("--- file new/a/b/d.rs\nlater();\n");
    put(&scratch, "empty/e.rs", "filled();\n");
    until("--- file empty/e.rs\nfilled();\n");
    fs::rename(scratch.top.join("new/a"), scratch.top.join("new/moved")).unwrap();
    until("--- file new/moved/b/c.rs\n");
    put(&scratch, "new/moved/b/f.rs", "moved();\n");
    until("--- file new/moved/b/f.rs\n");
    fs::remove_file(scratch.top.join("src/net.rs")).unwrap();
    until("--- deleted src/net.rs\n");
    let ended = watching.end("TERM");
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    assert_eq!(
        (memo(&scratch, "status.json"), memo(&scratch, "watcher.lock")),
        ("{\"status\":\"idle\"}\n".into(), String::new())
    );
    let shown = scratch.shiftlog("index", ["status"]).ok();
    assert!(shown.contains("\nwatcher         none\n"), "{shown}");
}

#[test]
fn what_git_ignores_and_what_stays_the_same_starts_no_scan() {
    let scratch = project();
    scratch.write(".gitignore", "target/\n*.log\n");
    fs::create_dir_all(scratch.top.join("target/deep")).unwrap();
    install(&scratch, "echo '{}'");
    scratch.shiftlog("index", ["scan", "-q"]).ok();
    asked(&scratch);
    let mut watching = Watching::start(&scratch, &["--debounce=0"]);
    for (path, text) in [
        ("target/deep/x.rs", "x\n"),
        ("noise.log", "x\n"),
        ("src/net.rs", "fn retry() {}\n"),
        (".memo/index/mine.txt", "x\n"),
        ("src/last.rs", "last();\n"),
    ] {
        put(&scratch, path, text);
    }
    watching.hear("the index stays as it is");
    assert_eq!(watching.end("INT").code, 0);
    let mut turns = asked(&scratch);
    assert_eq!(turns.len(), 1, "{turns:#?}");
    let turn = turns.remove(0);
    let told: Vec<&str> = turn.lines().filter(|line| line.starts_with("--- file")).collect();
    assert_eq!(told, ["--- file src/last.rs"]);
}

#[test]
fn a_watcher_waits_until_files_rest_and_then_scans_once() {
    let scratch = project();
    install(&scratch, "echo '{}'");
    let mut watching = Watching::start(&scratch, &["--debounce=2"]);
    for number in 0..20 {
        put(&scratch, &format!("src/f{number}.rs"), "x\n");
    }
    watching.hear("the index stays as it is");
    let ended = watching.end("TERM");
    let turns = asked(&scratch);
    assert_eq!((turns.len(), ended.stdout.as_str()), (1, ""), "{turns:#?}");
    assert_eq!(turns[0].matches("--- file src/f").count(), 20);
    // With a long rest and a short limit, it is the limit that counts.
    let mut watching = Watching::start(&scratch, &["--debounce=86400", "--max-wait=1"]);
    put(&scratch, "src/net.rs", "limit();\n");
    watching.hear("the index stays as it is");
    assert_eq!(watching.end("TERM").code, 0);
}

#[test]
fn two_watchers_do_not_run_on_one_project() {
    let scratch = project();
    install(&scratch, "echo '{}'");
    let first = Watching::start(&scratch, &["--debounce=86400"]);
    let second = scratch.shiftlog("index", ["watch", "--debounce=0"]);
    let told = "fatal: another watcher is already running on this directory\n";
    assert_eq!((second.code, second.stderr.as_str()), (128, told));
    assert_eq!(memo(&scratch, "watcher.lock"), format!("{}\n", first.child.id()), "it keeps the name of the first");
    // One that was killed leaves no lock behind.
    first.end("KILL");
    let third = Watching::start(&scratch, &["--debounce=86400"]);
    assert_eq!(third.end("TERM").code, 0);
    fs::remove_file(scratch.top.join(".memo/watcher.lock")).unwrap();
    let target = scratch.root().join("mine");
    fs::write(&target, "mine\n").unwrap();
    std::os::unix::fs::symlink(&target, scratch.top.join(".memo/watcher.lock")).unwrap();
    let linked = scratch.shiftlog("index", ["watch"]);
    assert!(linked.code == 128 && linked.stderr.contains("watcher.lock' is a symbolic link"), "{linked:?}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
    let none = Scratch::new().shiftlog("index", ["watch"]);
    assert!(none.code == 1 && none.stderr.starts_with("error: Index not found: "), "{none:?}");
}

#[test]
fn a_change_during_a_scan_by_hand_is_scanned_by_the_watcher_after_it() {
    let scratch = project();
    let fifo = scratch.root().join("go");
    scratch.run_in(&scratch.root(), "mkfifo", ["go"]).ok();
    install(&scratch, &format!("[ $n = 0 ] && cat '{}' >/dev/null\necho '{{}}'", fifo.display()));
    let mut command = scratch.command("git-shiftlog-index", &scratch.top);
    let mut scan = command.args(["scan", "-q"]).stdout(Stdio::null()).spawn().unwrap();
    let go = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let mut watching = Watching::start(&scratch, &["--debounce=0"]);
    put(&scratch, "src/net.rs", "meanwhile();\n");
    // The watcher has looked by then.
    scratch.shiftlog("index", ["status"]).ok();
    drop(go);
    assert!(scan.wait().unwrap().success());
    watching.hear("the index stays as it is");
    let ended = watching.end("TERM");
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    let turns = asked(&scratch);
    assert_eq!(turns.len(), 2, "{turns:#?}");
    assert!(!turns[0].contains("meanwhile();") && turns[1].contains("meanwhile();"));
}

#[test]
fn a_watcher_writes_through_no_link_and_makes_no_directory_again() {
    for is_link in [true, false] {
        let scratch = project();
        install(&scratch, "echo '{}'");
        scratch.shiftlog("index", ["scan", "-q"]).ok();
        asked(&scratch);
        let mut watching = Watching::start(&scratch, &["--debounce=0"]);
        let (memo, mine) = (scratch.top.join(".memo"), scratch.root().join("mine"));
        fs::create_dir(&mine).unwrap();
        fs::rename(&memo, scratch.root().join("moved")).unwrap();
        if is_link {
            std::os::unix::fs::symlink(&mine, &memo).unwrap();
        }
        put(&scratch, "src/net.rs", "more();\n");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut watching.stdout, &mut rest).unwrap();
        let ran = Ran::of(watching.child.wait_with_output().unwrap());
        let told = match is_link {
            true => "error: .memo is a symbolic link, which is not followed\n",
            false => "error: Index not found: .memo/index; 'git shiftlog index init' makes one\n",
        };
        assert_eq!((ran.code, ran.stderr.as_str(), rest.as_str()), (1, told, ""));
        assert_eq!((memo.exists(), fs::read_dir(&mine).unwrap().count()), (is_link, 0));
        assert_eq!(asked(&scratch), [""; 0]);
    }
}

#[test]
fn a_signal_ends_a_watcher_the_scan_and_the_agent_and_a_failed_scan_does_not_end_it() {
    let scratch = project();
    let fifo = scratch.root().join("alive");
    scratch.run_in(&scratch.root(), "mkfifo", ["alive"]).ok();
    install(&scratch, "echo no quota >&2; exit 1");
    let mut watching = Watching::start(&scratch, &["--debounce=0"]);
    watching.hear("sending ");
    while !memo(&scratch, "status.json").contains("idle") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let script = format!("exec 3>'{}'; trap '' TERM; echo here >&3; sleep 60; echo agent >&3", fifo.display());
    install(&scratch, &script);
    put(&scratch, "src/net.rs", "next();\n");
    let mut alive = BufReader::new(fs::File::open(fifo).unwrap());
    let mut line = String::new();
    alive.read_line(&mut line).unwrap();
    assert!(memo(&scratch, "status.json").contains("\"analyzing\""));
    let ended = watching.end("TERM");
    line.clear();
    alive.read_line(&mut line).unwrap();
    assert_eq!(line, "", "the agent was ended before it could go on");
    assert_eq!((ended.code, memo(&scratch, "status.json").as_str()), (0, "{\"status\":\"idle\"}\n"), "{ended:?}");
    let told = "error: cannot ask codex: no quota\nwarning: the index stays as it is until files change again\n";
    assert!(ended.stderr.starts_with(told), "{ended:?}");
    assert_eq!(scratch.shiftlog("index", ["validate"]).ok(), "");
}

#[test]
fn a_commit_refreshes_the_index_in_the_background_only_if_that_is_set() {
    let mut scratch = project();
    scratch.git(["add", "."]).ok();
    scratch.git(["commit", "-q", "-m", "files"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    install(&scratch, &answers(&json!({ "arch": arch("one") })));
    let commit = |scratch: &Scratch, text: &str| {
        scratch.write("src/net.rs", text);
        scratch.run_until_nothing_runs(&scratch.top, &["git", "commit", "-q", "-a", "-m", text])
    };
    for value in [None, Some("never"), Some("true")] {
        if let Some(value) = value {
            scratch.git(["config", "shiftlog.index", value]).ok();
        }
        commit(&scratch, &format!("{value:?}\n")).ok();
        assert_eq!(asked(&scratch), [""; 0], "{value:?}");
    }
    scratch.git(["config", "shiftlog.index", "commit"]).ok();
    let ran = commit(&scratch, "told();\n");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "a hook says nothing");
    assert!(asked(&scratch).concat().contains("--- file src/net.rs\ntold();\n"));
    assert!(memo(&scratch, "index/arch.json").contains("\"one\""));
    assert!(scratch.log().contains("index: told codex of "), "{}", scratch.log());
    scratch.env.insert("SHIFTLOG_HOOK".into(), "off".into());
    commit(&scratch, "silent();\n").ok();
    scratch.env.remove("SHIFTLOG_HOOK");
    assert_eq!(asked(&scratch), [""; 0]);
    install(&scratch, "echo no quota >&2; exit 1");
    let ran = commit(&scratch, "failing();\n");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert!(scratch.log().contains("cannot ask codex: no quota"), "{}", scratch.log());
    fs::remove_dir_all(scratch.top.join(".memo")).unwrap();
    asked(&scratch);
    let ran = commit(&scratch, "without();\n");
    assert_eq!((ran.code, asked(&scratch).len()), (0, 0));
    assert!(!scratch.top.join(".memo").exists(), "no hook makes an index");
}

#[test]
fn a_commit_is_not_kept_waiting_and_commits_meanwhile_are_told_by_the_same_refresh() {
    let scratch = project();
    scratch.git(["add", "."]).ok();
    scratch.git(["commit", "-q", "-m", "files"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.git(["config", "shiftlog.index", "commit"]).ok();
    let fifo = scratch.root().join("go");
    scratch.run_in(&scratch.root(), "mkfifo", ["go"]).ok();
    install(&scratch, &format!("[ $n = 0 ] && cat '{}' >/dev/null\necho '{{}}'", fifo.display()));
    scratch.commit("src/net.rs", "first();\n", "first");
    // The agent waits for us; both commits are there before it answers.
    let go = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let second = scratch.run_until_nothing_runs(&scratch.top, &["git", "commit", "-q", "--allow-empty", "-m", "empty"]);
    second.ok();
    scratch.write("src/net.rs", "second();\n");
    let ran = scratch.run_until_nothing_runs(&scratch.top, &["git", "commit", "-q", "-a", "-m", "second"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "who finds another at work leaves word and ends");
    drop(go);
    while scratch.log().matches("index: told codex of").count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let turns = asked(&scratch);
    assert_eq!(turns.len(), 2, "{turns:#?}");
    assert!(turns[0].contains("first();") && turns[1].contains("second();") && !turns[1].contains("first();"));
}

#[test]
fn a_commit_during_a_scan_by_hand_is_told_by_that_scan() {
    let scratch = project();
    scratch.git(["add", "."]).ok();
    scratch.git(["commit", "-q", "-m", "files"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.git(["config", "shiftlog.index", "commit"]).ok();
    let fifo = scratch.root().join("go");
    scratch.run_in(&scratch.root(), "mkfifo", ["go"]).ok();
    install(&scratch, &format!("[ $n = 0 ] && cat '{}' >/dev/null\necho '{{}}'", fifo.display()));
    let mut command = scratch.command("git-shiftlog-index", &scratch.top);
    let mut scan = command.args(["scan", "-q"]).stdout(Stdio::null()).spawn().unwrap();
    let go = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    scratch.write("src/net.rs", "meanwhile();\n");
    let ran = scratch.run_until_nothing_runs(&scratch.top, &["git", "commit", "-q", "-a", "-m", "meanwhile"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    drop(go);
    assert!(scan.wait().unwrap().success());
    let turns = asked(&scratch);
    assert_eq!(turns.len(), 2, "{turns:#?}");
    assert!(!turns[0].contains("meanwhile();") && turns[1].contains("meanwhile();"));
    assert!(!scratch.top.join(".memo/.history/again").exists());
}
