//! What `git shiftlog index scan` promises: an agent is asked about what has changed, and a valid index or none takes the
//! place of the old one.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Ran, Scratch};

/// Puts an agent in place that keeps what it is asked in `$HOME/asked-<number>` and goes on with a script, which knows the
/// number as `$n`. What the script prints is the answer.
pub fn install(scratch: &Scratch, script: &str) {
    let program = scratch.root().join("bin/codex");
    let _ = fs::remove_file(&program);
    let count = "n=$(ls \"$HOME\" | grep -c asked-); cat >\"$HOME/asked-$n\"";
    fs::write(&program, format!("#!/bin/sh\n{count}\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns an agent's line that answers with JSON.
pub fn answers(value: &Value) -> String {
    format!("cat <<'E'\n{value}\nE")
}

pub fn arch(name: &str) -> Value {
    json!({ "modules": [{ "name": name, "description": "d", "interfaces": "i" }], "relationships": "none" })
}

/// Makes a repository with an index and some files, and names the agent that is asked.
pub fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.git(["config", "shiftlog.indexAgent", "codex"]).ok();
    scratch.shiftlog("index", ["init", "-q"]).ok();
    scratch.write("src/net.rs", "fn retry() {}\n");
    scratch.write("src/main.rs", "fn main() {}\n");
    scratch
}

/// Returns what the agent was asked, by turns, and forgets it.
pub fn asked(scratch: &Scratch) -> Vec<String> {
    let paths = (0..).map(|n| scratch.home().join(format!("asked-{n}"))).take_while(|path| path.exists());
    let paths: Vec<_> = paths.collect();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    paths.iter().for_each(|path| fs::remove_file(path).unwrap());
    texts
}

pub fn scan(scratch: &Scratch, args: &[&str]) -> Ran {
    scratch.shiftlog("index", [&["scan"], args].concat())
}

fn module(scratch: &Scratch) -> Option<String> {
    let ran = scratch.shiftlog("index", ["get", "[arch][modules][0][name]"]);
    (ran.code == 0).then(|| ran.stdout.trim().trim_matches('"').to_owned())
}

/// Returns all files of the index and their bytes, and those of the project.
pub fn files(scratch: &Scratch) -> Vec<(String, Vec<u8>)> {
    let listed = scratch.run_in(&scratch.top, "find", [".", "-path", "./.git", "-prune", "-o", "-type", "f", "-print"]);
    let mut paths: Vec<String> = listed.ok().lines().map(str::to_owned).collect();
    paths.retain(|path| !path.starts_with("./.memo/.history"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(scratch.top.join(&path)).unwrap())).collect()
}

#[test]
fn an_agent_is_asked_about_changed_files_and_its_answer_becomes_the_index() {
    let scratch = project();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    scratch.write(".gitignore", "*.log\n");
    scratch.write("noise.log", "never sent\n");
    scratch.write("config.ini", &format!("password = {token}\n"));
    fs::write(scratch.top.join("image"), b"\x89PNG\0\0").unwrap();
    symlink("/etc/passwd", scratch.top.join("link")).unwrap();
    install(&scratch, &answers(&json!({ "arch": arch("one") })));
    assert!(scratch.shiftlog("index", ["status"]).ok().contains("\nlast scan       never\n"));
    let planned = scan(&scratch, &["-n"]).ok();
    assert!(planned.starts_with("would send 6 files and the index, "), "{planned}");
    assert!(planned.contains(" to the provider of codex in 1 question\n  .gitignore\n  README\n"), "{planned}");
    assert_eq!(asked(&scratch), [""; 0], "a plan asks nobody");
    let told = scan(&scratch, &[]).ok();
    assert_eq!(told, format!("sending {}\nwrote .memo/index/arch.json\n", &planned.lines().next().unwrap()[11..]));
    let first = asked(&scratch);
    assert_eq!(first.len(), 1);
    for part in [
        "\n--- index arch\n{\"modules\":[],",
        "\n--- file src/net.rs\nfn retry() {}\n",
        "--- changed image, not text\n",
    ] {
        assert!(first[0].contains(part), "{part}: {}", first[0]);
    }
    for absent in ["never sent", "root:", &token, scratch.top.to_str().unwrap()] {
        assert!(!first[0].contains(absent), "{absent}: {}", first[0]);
    }
    assert_eq!(module(&scratch).as_deref(), Some("one"));
    assert_eq!(fs::read_to_string(scratch.top.join(".memo/index/issues.json")).unwrap(), "{\"issues\": []}\n");
    assert_eq!(scratch.git(["status", "--porcelain", ".memo"]).ok(), "?? .memo/\n");
    scratch.git(["add", "."]).ok();
    let staged = scratch.git(["diff", "--cached", "--name-only"]).ok();
    assert!(!staged.contains(".history") && staged.contains(".memo/index/arch.json"), "{staged}");
    assert_eq!(scan(&scratch, &[]).ok(), "nothing to do\n", "what is staged is as it was");
    assert_eq!(asked(&scratch), [""; 0]);
    scratch.write("src/net.rs", "fn back_off() {}\n");
    fs::remove_file(scratch.top.join("src/main.rs")).unwrap();
    let status = scratch.shiftlog("index", ["status"]).ok();
    assert!(status.contains("Z, 2 files have changed since\n"), "{status}");
    let object: Value = serde_json::from_str(&scratch.shiftlog("index", ["status", "--json"]).ok()).unwrap();
    assert_eq!(object["changed"], 2);
    install(&scratch, &answers(&json!({ "arch": arch("zwei für \u{202e}"), "stories": { "stories": [] } })));
    let told = scan(&scratch, &["-q"]).ok();
    assert!(told.starts_with("sending 2 files and the index") && told.lines().count() == 1, "{told}");
    let second = asked(&scratch).concat();
    assert!(second.contains("--- deleted src/main.rs\n--- file src/net.rs\nfn back_off() {}\n=== "), "{second}");
    assert!(second.contains("{\"modules\":[{\"name\":\"one\",") && !second.contains("--- file README"), "{second}");
    assert_eq!(module(&scratch).as_deref(), Some("zwei für \\u202e"));
    install(&scratch, "echo '{}'");
    scratch.write("src/net.rs", "fn net() {}\n");
    assert!(scan(&scratch, &[]).ok().ends_with("\nthe index stays as it is\n"));
    assert_eq!(scan(&scratch, &[]).ok(), "nothing to do\n");
    assert_eq!(scratch.shiftlog("index", ["validate"]).ok(), "");
}

#[test]
fn files_that_hold_secrets_are_not_sent_and_not_named() {
    let scratch = project();
    for path in [".env", ".netrc", ".ssh/config", "deploy/server.key", "secrets.yaml", "sub/.env.local"] {
        scratch.write(path, "hunter2 is short\n");
    }
    scratch.write("src/tokens.rs", "fn tokens() {}\n");
    scratch.git(["add", "-A"]).ok();
    install(&scratch, "echo '{}'");
    let planned = scan(&scratch, &["-n"]).ok();
    scan(&scratch, &[]).ok();
    let question = asked(&scratch).concat();
    for told in [&planned, &question] {
        assert!(told.contains("src/tokens.rs"), "a source file may have the word in its name: {told}");
        for absent in ["hunter2", ".env", ".netrc", ".ssh", "server.key", "secrets.yaml"] {
            assert!(!told.contains(absent), "{absent}: {told}");
        }
    }
}

#[test]
fn files_that_do_not_fit_into_a_question_are_told_in_the_next_one() {
    let scratch = project();
    // Each byte of this text becomes three in UTF-8.
    let text: Vec<u8> = (0..6_000).flat_map(|_| [0xe4, b'\n', b'a']).collect();
    for number in 0..12 {
        fs::write(scratch.top.join(format!("latin{number}.txt")), &text).unwrap();
    }
    install(&scratch, "echo '{}'");
    scan(&scratch, &[]).ok();
    let question = asked(&scratch);
    for number in 0..12 {
        let name = format!("--- file latin{number}.txt\n");
        assert_eq!(question.iter().filter(|question| question.contains(&name)).count(), 1, "{name}");
    }
    assert_eq!(scan(&scratch, &[]).ok(), "nothing to do\n");
}

#[test]
fn a_wrong_answer_is_sent_back_with_its_errors_until_it_fits() {
    let scratch = project();
    let script = format!(
        "case $n in 0) echo 'I cannot do that.';; 1) echo '{{\"arch\": {{\"modules\": 1}}, \"README\": \"mine\"}}';; *) {}\n;; esac",
        answers(&json!({ "arch": arch("third") }))
    );
    install(&scratch, &script);
    scan(&scratch, &[]).ok();
    let turns = asked(&scratch);
    assert_eq!(turns.len(), 3);
    assert!(turns[1].starts_with(&turns[0]) && turns[2].starts_with(&turns[0]), "the question stands in each");
    assert!(turns[1].contains("\n- the answer is not one JSON object: expected value"), "{}", turns[1]);
    assert!(turns[1].ends_with("\nYour last answer was:\nI cannot do that.\n\n"), "{}", turns[1]);
    for error in [
        "- 'README' is none of the files that may change: arch, interface, stories, issues\n",
        "- arch.json: key 'relationships' is missing\n- arch.json: [modules]: expected array, got number\n",
    ] {
        assert!(turns[2].contains(error), "{}", turns[2]);
    }
    assert_eq!(module(&scratch).as_deref(), Some("third"));
    assert_eq!(fs::read_to_string(scratch.top.join("README")).unwrap(), "hello\n");
}

#[test]
fn an_agent_that_answers_badly_dies_hangs_or_writes_elsewhere_changes_nothing() {
    let scratch = project();
    let before = files(&scratch);
    let elsewhere = "echo x >README; mkdir -p .memo/index; echo x >.memo/index/arch.json; echo x >../README";
    let cases = [
        (
            "echo '{\"arch\": {}}'",
            "error: no valid index in 5 answers of codex: arch.json: key 'modules' is missing\n",
            5,
        ),
        (
            "echo '{\"../README\": \"x\"}'",
            "error: no valid index in 5 answers of codex: '../README' is none of the files",
            5,
        ),
        ("echo no quota >&2; exit 3", "error: cannot ask codex: no quota\n", 1),
        ("kill -s KILL $$", "error: cannot ask codex: it gave no answer\n", 1),
        ("exec sleep 60", "error: cannot ask codex: no answer within 1 second\n", 1),
        (":", "error: cannot ask codex: it gave no answer\n", 1),
    ];
    for (script, message, turns) in cases {
        install(&scratch, &format!("{elsewhere}\n{script}"));
        // Only the agent that hangs is not waited for.
        let ran = scan(&scratch, if script.contains("sleep") { &["--timeout=1"] } else { &[] });
        assert!(ran.code == 1 && ran.stderr.starts_with(message), "{script}: {ran:?}");
        assert_eq!(asked(&scratch).len(), turns, "{script}");
        assert_eq!(files(&scratch), before, "{script}");
    }
    install(&scratch, &format!("{elsewhere}\n{}", answers(&json!({ "arch": arch("good") }))));
    scan(&scratch, &[]).ok();
    let changed: Vec<String> =
        files(&scratch).into_iter().filter(|file| !before.contains(file)).map(|(path, _)| path).collect();
    assert_eq!(changed, ["./.memo/index/arch.json"], "what it wrote in its own directory is gone");
    assert_eq!(module(&scratch).as_deref(), Some("good"));
}

#[test]
fn what_an_agent_says_of_its_failure_is_told_without_secrets() {
    let scratch = project();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    install(&scratch, &format!("echo 'refused: {token}' >&2; exit 1"));
    let ran = scan(&scratch, &[]);
    assert!(ran.code == 1 && ran.stderr.starts_with("error: cannot ask codex: refused: [REDACTED:"), "{ran:?}");
    assert!(!ran.stderr.contains(&token[4..]), "{ran:?}");
    // Nor does a commit write it into the log.
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.git(["config", "shiftlog.index", "commit"]).ok();
    scratch.run_until_nothing_runs(&scratch.top, &["git", "commit", "-q", "--allow-empty", "-m", "x"]).ok();
    assert!(scratch.log().contains("cannot ask codex: refused: [REDACTED:"), "{}", scratch.log());
    assert!(!scratch.log().contains(&token[4..]), "{}", scratch.log());
}

#[test]
fn many_files_are_asked_about_folder_by_folder_and_the_index_is_replaced_as_a_whole() {
    let scratch = project();
    for folder in ["a", "b"] {
        for number in 0..70 {
            scratch.write(&format!("{folder}/f{number}.txt"), "x\n");
        }
    }
    let first = answers(&json!({ "arch": arch("first") }));
    install(&scratch, &format!("case $n in 0) {first}\n;; *) echo no >&2; exit 1;; esac"));
    let failed = scan(&scratch, &[]);
    assert!(failed.code == 1 && failed.stdout.contains(" in 2 questions\n"), "{failed:?}");
    let told = "error: cannot ask codex: no\nhint: 1 of 2 questions are answered; the next scan goes on after them\n";
    assert_eq!(failed.stderr, told);
    let turns = asked(&scratch);
    assert_eq!(turns.len(), 2);
    assert!(turns[0].contains("--- file a/f69.txt") && !turns[0].contains("--- file b/"), "{}", turns[0]);
    assert!(turns[1].contains("--- file b/f0.txt") && turns[1].contains("--- file src/net.rs"), "{}", turns[1]);
    assert!(turns[1].contains("\"name\":\"first\""), "the second question has the answer to the first");
    assert_eq!(module(&scratch), None, "the answer to the first question alone is no new index");
    install(&scratch, &answers(&json!({ "stories": { "stories": [] } })));
    assert!(scan(&scratch, &[]).ok().contains(" in 1 question\n"));
    assert_eq!(asked(&scratch), [turns[1].clone()], "the question that was not answered is asked again");
    assert_eq!(scan(&scratch, &[]).ok(), "nothing to do\n");
    assert_eq!(module(&scratch).as_deref(), Some("first"));
}

#[test]
fn answers_that_wait_are_used_only_for_the_index_that_was_asked_about() {
    let scratch = project();
    for folder in ["a", "b"] {
        for number in 0..70 {
            scratch.write(&format!("{folder}/f{number}.txt"), "x\n");
        }
    }
    let first = answers(&json!({ "arch": arch("first") }));
    let fails = format!("case $n in 0) {first}\n;; *) echo no >&2; exit 1;; esac");
    install(&scratch, &fails);
    assert_eq!(scan(&scratch, &[]).code, 1);
    asked(&scratch);
    // Somebody writes into the index before the next scan.
    let mine = json!({ "stories": [], "mine": 1 });
    fs::write(scratch.top.join(".memo/index/stories.json"), mine.to_string()).unwrap();
    install(&scratch, &fails);
    let again = scan(&scratch, &[]);
    assert!(again.code == 1 && again.stdout.contains(" in 2 questions\n"), "{again:?}");
    asked(&scratch);
    assert_eq!(fs::read_to_string(scratch.top.join(".memo/index/stories.json")).unwrap(), mine.to_string());
    // The files that were not told of are gone: the answer that waits is all there is.
    fs::remove_dir_all(scratch.top.join("b")).unwrap();
    fs::remove_dir_all(scratch.top.join("src")).unwrap();
    install(&scratch, "echo no >&2; exit 1");
    let planned = scan(&scratch, &["-n"]).ok();
    assert_eq!(planned, "would put in place what an earlier scan was answered\n");
    assert_eq!(module(&scratch), None);
    assert_eq!(scan(&scratch, &[]).ok(), "wrote .memo/index/arch.json\n");
    assert_eq!((asked(&scratch).len(), module(&scratch).as_deref()), (0, Some("first")));
    assert_eq!(scan(&scratch, &[]).ok(), "nothing to do\n");
}

#[test]
fn a_scan_that_dies_at_any_step_leaves_a_whole_index_and_the_next_one_ends_it() {
    for (fault, is_decided) in [
        ("index-answered", false),
        ("index-staged", false),
        ("index-complete", true),
        ("index-kept", true),
        ("index-moved", true),
    ] {
        let mut scratch = project();
        let new =
            json!({ "arch": arch("new"), "stories": { "stories": [{ "title": "t", "tags": [], "content": "c" }] } });
        install(&scratch, &answers(&new));
        scratch.env.insert("SHIFTLOG_FAULT".into(), fault.into());
        assert_ne!(scan(&scratch, &[]).code, 0);
        scratch.env.remove("SHIFTLOG_FAULT");
        assert_eq!(scratch.shiftlog("index", ["validate"]).ok(), "", "{fault}: each file is whole");
        assert_eq!(asked(&scratch).len(), 1);
        install(&scratch, "echo '{}'");
        scan(&scratch, &[]).ok();
        assert_eq!(asked(&scratch).len(), usize::from(!is_decided), "{fault}: what was complete is not asked again");
        assert_eq!(module(&scratch).as_deref(), is_decided.then_some("new"), "{fault}");
        let stories = scratch.shiftlog("index", ["keys", "[stories][stories]"]).ok();
        assert_eq!(stories, if is_decided { "0\n" } else { "" }, "{fault}: all files or none");
        let left = ["next", "staged"].map(|name| scratch.top.join(".memo/.history").join(name).exists());
        assert_eq!(left, [false; 2], "{fault}");
    }
}

#[test]
fn earlier_versions_of_the_index_are_kept_and_not_without_end() {
    let scratch = project();
    for number in 0..13 {
        scratch.write("src/net.rs", &format!("// {number}\n"));
        install(&scratch, &answers(&json!({ "arch": arch(&format!("m{number}")) })));
        scan(&scratch, &["-q"]).ok();
    }
    let mut kept: Vec<_> =
        fs::read_dir(scratch.top.join(".memo/.history")).unwrap().map(|entry| entry.unwrap().path()).collect();
    kept.retain(|path| path.is_dir());
    kept.sort();
    assert_eq!(kept.len(), 10);
    let last = fs::read_to_string(kept.last().unwrap().join("arch.json")).unwrap();
    assert!(last.contains("\"m11\""), "the newest copy is the one before the present index: {last}");
}

#[test]
fn links_and_changes_meanwhile_are_refused() {
    let scratch = project();
    install(&scratch, &answers(&json!({ "arch": arch("new") })));
    let target = scratch.root().join("mine.json");
    fs::write(&target, "{\"issues\": []}").unwrap();
    let link = |path: &str| {
        let path = scratch.top.join(path);
        let _ = fs::remove_file(&path);
        symlink(&target, path).unwrap();
    };
    link(".memo/index/issues.json");
    let ran = scan(&scratch, &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: index file issues.json is a symbolic link\n"));
    fs::remove_file(scratch.top.join(".memo/index/issues.json")).unwrap();
    link(".memo/.history/lock");
    let ran = scan(&scratch, &[]);
    assert!(ran.code == 1 && ran.stderr.contains(".memo/.history/lock' is a symbolic link"), "{ran:?}");
    fs::remove_dir_all(scratch.top.join(".memo/.history")).unwrap();
    symlink(scratch.root(), scratch.top.join(".memo/.history")).unwrap();
    let ran = scan(&scratch, &[]);
    assert!(ran.code == 1 && ran.stderr.contains(".memo/.history is a symbolic link"), "{ran:?}");
    assert_eq!(asked(&scratch), [""; 0], "nobody was asked");
    assert_eq!(fs::read_to_string(&target).unwrap(), "{\"issues\": []}");
    fs::remove_file(scratch.top.join(".memo/.history")).unwrap();
    let stories = scratch.top.join(".memo/index/stories.json");
    let mine = json!({ "stories": [], "mine": 1 });
    install(&scratch, &format!("echo '{mine}' >'{}'\n{}", stories.display(), answers(&json!({ "arch": arch("new") }))));
    let ran = scan(&scratch, &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: the index was changed while codex was asked\n"));
    assert_eq!((module(&scratch), fs::read_to_string(&stories).unwrap()), (None, format!("{mine}\n")));
}

#[test]
fn what_a_checkout_has_put_into_the_history_is_not_taken_for_an_answer() {
    let scratch = project();
    install(&scratch, &answers(&json!({ "arch": arch("own") })));
    let (index, history) = (scratch.top.join(".memo/index"), scratch.top.join(".memo/.history"));
    let stories = fs::read_to_string(index.join("stories.json")).unwrap();
    fs::create_dir_all(history.join("next")).unwrap();
    symlink("/etc/passwd", history.join("next/stories.json")).unwrap();
    fs::write(history.join("next/issues.json"), "{\"issues\": 1}").unwrap();
    // Reading one of these would not end.
    symlink("/dev/zero", history.join("scanned.json")).unwrap();
    symlink("/dev/zero", history.join("answered.json")).unwrap();
    assert!(scratch.shiftlog("index", ["status"]).ok().contains("\nlast scan       never\n"));
    scan(&scratch, &["-q"]).ok();
    assert_eq!(fs::read_to_string(index.join("stories.json")).unwrap(), stories);
    assert!(!index.join("stories.json").symlink_metadata().unwrap().is_symlink());
    assert_eq!(scratch.shiftlog("index", ["validate"]).ok(), "");
    assert_eq!(module(&scratch).as_deref(), Some("own"));
    assert!(!history.join("next").exists() && !history.join("scanned.json").symlink_metadata().unwrap().is_symlink());
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let texts = ["arch", "interface", "stories", "issues"].map(|root| read(&index.join(format!("{root}.json"))));
    let scanned: Value = serde_json::from_str(&read(&history.join("scanned.json"))).unwrap();
    let broken = ["{}"; 4];
    let waiting = json!({ "before": texts, "texts": broken, "scanned": { "files": scanned["files"] } });
    fs::write(history.join("answered.json"), waiting.to_string()).unwrap();
    assert_eq!(scan(&scratch, &[]).ok(), "nothing to do\n");
    assert_eq!(scratch.shiftlog("index", ["validate"]).ok(), "");
}

#[test]
fn a_tree_that_cannot_be_written_is_not_asked_about() {
    let scratch = project();
    install(&scratch, &answers(&json!({ "arch": arch("new") })));
    let top = &scratch.top;
    let mount = |words: &[&str]| {
        std::process::Command::new("mount").args(words).arg(top).arg(top).output().is_ok_and(|ran| ran.status.success())
    };
    if !mount(&["-o", "bind"]) || !mount(&["-o", "remount,bind,ro"]) {
        let _ = std::process::Command::new("umount").arg(top).status();
        crate::support::skip("cannot mount read-only here");
        return;
    }
    let (scanned, made) = (scan(&scratch, &[]), scratch.shiftlog("index", ["init", "--path=src"]));
    let read = scratch.shiftlog("index", ["get", "[arch]"]);
    std::process::Command::new("umount").arg(top).status().unwrap();
    assert_eq!((scanned.code, made.code, read.code), (1, 128, 0), "{scanned:?}\n{made:?}");
    assert!(scanned.stderr.to_lowercase().contains("read-only"), "{scanned:?}");
    assert_eq!(asked(&scratch), [""; 0]);
}

#[test]
fn one_scan_runs_at_a_time_and_who_is_asked_follows_the_option_and_the_config() {
    let scratch = project();
    let fifo = scratch.root().join("go");
    scratch.run_in(&scratch.root(), "mkfifo", ["go"]).ok();
    install(&scratch, &format!("cat '{}' >/dev/null\n{}", fifo.display(), answers(&json!({ "arch": arch("one") }))));
    let mut command = scratch.command("git-shiftlog-index", &scratch.top);
    let mut first = command.args(["scan", "-q"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    // Opening it waits for the agent of the first scan.
    let go = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let second = scan(&scratch, &[]);
    drop(go);
    let told = "fatal: another scan is already running on this directory\n";
    assert_eq!((second.code, second.stderr.as_str()), (128, told));
    assert!(first.wait().unwrap().success());
    assert_eq!(module(&scratch).as_deref(), Some("one"));
    let unknown = scan(&scratch, &["--agent=hal"]);
    assert!(
        unknown.code == 129 && unknown.stderr.starts_with("error: cannot ask agent 'hal'\nhint: known: claude"),
        "{unknown:?}"
    );
    let outside = Ran::of(scratch.command("git-shiftlog-index", Path::new("/")).arg("scan").output().unwrap());
    assert_eq!((outside.code, &outside.stderr[..27]), (128, "fatal: not a git repository"), "{outside:?}");
    let bare = Scratch::new();
    let none = scan(&bare, &[]);
    assert!(none.code == 1 && none.stderr.starts_with("error: Index not found: .memo/index; "), "{none:?}");
    assert!(!bare.top.join(".memo").exists());
}
