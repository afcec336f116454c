//! Secrets stay out: of the object database, of what is put aside, of logs and state.

use std::collections::BTreeMap;
use std::fs;

use shiftlog::redact::{Redactor, Settings, expand};

use crate::support::{Scratch, Session};

/// Says how well the rules tell secrets from what looks like them, on a corpus of our own:
/// `cargo test --test it corpus -- --nocapture`.
#[test]
fn the_corpus_is_told_apart_with_a_recall_and_a_precision_of_98_percent() {
    let redactor = Redactor::new(&Settings::default()).unwrap();
    let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>();
    let secrets = lines(include_str!("../data/secrets.txt"));
    let (mut found, mut missed, mut kinds) = (0, Vec::new(), BTreeMap::new());
    for line in &secrets {
        let (rule, pattern) = line.split_once('\t').unwrap();
        let text = expand(pattern);
        *kinds.entry(rule).or_insert(0) += 1;
        if redactor.scan(text.as_bytes()).is_empty() {
            missed.push(format!("{rule}: {text}"));
        } else {
            found += 1;
        }
    }
    let look_alikes = lines(include_str!("../data/look-alikes.txt"));
    let mut wrong = Vec::new();
    for pattern in &look_alikes {
        let text = expand(pattern);
        wrong.extend(redactor.scan(text.as_bytes()).first().map(|(_, finding)| format!("{}: {text}", finding.rule)));
    }
    let recall = f64::from(found) / secrets.len() as f64;
    let precision = f64::from(found) / (f64::from(found) + wrong.len() as f64);
    println!(
        "{} secrets of {} kinds, {} look-alikes: recall {recall:.3} (bar 0.98), precision {precision:.3} (bar 0.98)",
        secrets.len(),
        kinds.len(),
        look_alikes.len()
    );
    missed.iter().for_each(|line| println!("missed {line}"));
    wrong.iter().for_each(|line| println!("wrong {line}"));
    assert!(kinds.len() >= 60 && look_alikes.len() >= 500, "the corpus is large enough to tell");
    assert!(recall >= 0.98 && precision >= 0.98, "missed {missed:#?}, wrong {wrong:#?}");
}

/// Asserts that a secret is nowhere under `.git`: not in a file, not in an object, not in a segment.
#[track_caller]
fn assert_nowhere(scratch: &Scratch, secret: &str) {
    let mut files = vec![scratch.top.join(".git")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert!(!contains(&fs::read(&path).unwrap_or_default(), secret), "it is in {}", path.display());
        }
    }
    let objects = scratch.git(["cat-file", "--batch-all-objects", "--batch-check"]).ok();
    for line in objects.lines() {
        let id = line.split(' ').next().unwrap();
        let object = scratch.git(["cat-file", "-p", id]).bytes;
        assert!(!contains(&object, secret), "it is in object {line}");
        if line.contains(" blob ") && object.starts_with(b"\x50\x2a\x4d\x18") {
            let plain = scratch.run_with_input("zstd", ["-dc"], &object);
            assert!(plain.code == 0 && !contains(&plain.bytes, secret), "it is in segment {id}");
        }
    }
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

fn zstd_is_missing() -> bool {
    std::process::Command::new("zstd").arg("--version").output().is_err()
}

/// A session that sees a secret and commits.
fn leak(session: &Session<'_>, secret: &str, name: &str) -> String {
    session.prompt(&format!("deploy {name} with {secret}"));
    session.calls("c1", "Bash", &serde_json::json!({ "command": format!("API_KEY='{secret}' ./deploy") }));
    session.answers("c1", &format!("{{\"token\":\"{secret}\"}}\n-----BEGIN"));
    session.edits(&format!("{name}.txt"), "x\n");
    session.commits(name)
}

#[test]
fn a_secret_reaches_neither_objects_nor_state_nor_log() {
    if zstd_is_missing() {
        return crate::support::skip("there is no zstd to unpack segments with");
    }
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let secret = expand("ghp_{a36}");
    let commit = leak(&session, &secret, "first");
    session.says(&format!("I used {secret}."));
    session.hook("Stop");
    let second = leak(&session, &expand("npm_{a36}"), "second");
    session.hook("SessionEnd");
    assert_nowhere(&scratch, &secret);
    assert_nowhere(&scratch, &expand("npm_{a36}"));
    assert_eq!(scratch.record(&commit)["prompt"], "deploy first with [REDACTED:github-token]");
    let stored = session
        .text()
        .replace(&secret, "[REDACTED:github-token]")
        .replace(&expand("npm_{a36}"), "[REDACTED:npm-token]");
    assert_eq!(scratch.raw(&second, &["--full"]), stored, "all else is as the agent wrote it");
    let increments = scratch.raw(&commit, &[]) + &scratch.raw(&second, &[]);
    assert_eq!(increments, stored, "increments line up although lengths differ");
    scratch.assert_sound();
}

#[test]
fn increments_line_up_after_state_is_lost() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let secret = expand("ghp_{a36}");
    let first = leak(&session, &secret, "first");
    session.hook("Stop");
    session.says(&format!("once more: {secret}"));
    session.hook("SessionEnd");
    scratch.lose_state();
    session.hook("SessionStart");
    let second = leak(&session, &secret, "second");
    session.hook("Stop");
    let stored = session.text().replace(&secret, "[REDACTED:github-token]");
    assert_eq!(scratch.raw(&second, &["--full"]), stored);
    assert_eq!(scratch.raw(&first, &[]) + &scratch.raw(&second, &[]), stored);
}

#[test]
fn a_pattern_that_does_not_parse_stores_nothing_until_it_is_mended() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    scratch.git(["config", "shiftlog.redact.pattern", "ticket=("]).ok();
    session.prompt("see ticket T-4711");
    session.edits("a.txt", "x\n");
    let commit = session.commits("first");
    assert_eq!(scratch.records(&commit).len(), 0, "nothing is stored");
    assert!(scratch.log().contains("cannot redact secrets: bad pattern for 'ticket'"), "{}", scratch.log());
    assert_ne!(scratch.waiting(), 0);
    assert_nowhere(&scratch, "T-4711");
    let told = scratch.shiftlog("show", ["HEAD"]);
    assert_eq!(told.code, 1);
    assert!(told.stderr.contains("bad pattern for 'ticket'"), "{told:?}");

    scratch.git(["config", "shiftlog.redact.pattern", r"ticket=T-\d+"]).ok();
    let shown = scratch.shiftlog("show", ["--raw", "HEAD"]).ok();
    assert!(shown.contains("see ticket [REDACTED:ticket]"), "{shown}");
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn what_is_put_aside_holds_no_secret_either() {
    if zstd_is_missing() {
        return crate::support::skip("there is no zstd to unpack segments with");
    }
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let secret = expand("ghp_{a36}");
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    let lock = scratch.top.join(".git/refs/shiftlog/sessions.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let commit = leak(&session, &secret, "first");
    assert_ne!(scratch.waiting(), 0);
    assert_nowhere(&scratch, &secret);
    fs::remove_file(&lock).unwrap();
    scratch.git(["config", "--unset", "shiftlog.hookTimeout"]).ok();
    session.hook("Stop");
    assert_eq!(scratch.raw(&commit, &["--full"]), session.text().replace(&secret, "[REDACTED:github-token]"));
    assert_nowhere(&scratch, &secret);
}

#[test]
fn redaction_is_off_only_when_somebody_says_so() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let secret = expand("ghp_{a36}");
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    let commit = leak(&session, &secret, "first");
    session.hook("Stop");
    assert_eq!(scratch.raw(&commit, &["--full"]), session.text());
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]);
    assert!(doctor.stdout.contains("problem  redaction of secrets: it is switched off"), "{doctor:?}");
    scratch.git(["config", "shiftlog.redact", "offf"]).ok();
    leak(&session, &secret, "second");
    assert!(scratch.log().contains("bad value 'offf' for 'shiftlog.redact'"), "{}", scratch.log());
}

#[test]
fn five_thousand_secrets_in_twenty_megabytes_are_all_taken_out_in_one_hook() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("read the dump");
    let mut dump = String::new();
    let filler = "the quick brown fox reads the log of the build ".repeat(85);
    for number in 0..5000 {
        let secret = expand(&format!("ghp_{{a32}}{number:04}"));
        let line = serde_json::json!({ "type": "user", "uuid": format!("d{number}"), "message": { "role": "user",
            "content": [{ "type": "tool_result", "tool_use_id": "t", "content": format!("{filler}\n{secret}\n") }] } });
        dump += &format!("{line}\n");
    }
    assert!(dump.len() > 20_000_000);
    session.append(dump.as_bytes());
    session.edits("a.txt", "x\n");
    let commit = session.commits("first");
    let stored = scratch.raw(&commit, &["--full"]);
    assert_eq!(stored.matches("[REDACTED:github-token]").count(), 5000);
    assert!(!stored.contains("ghp_"));
}

#[test]
fn scan_tells_where_secrets_are_but_not_what_they_are() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let secret = expand("ghp_{a36}");
    let clean = leak(&session, &secret, "first");
    session.hook("Stop");
    assert_eq!(scratch.shiftlog("scan", ["--branches"]).code, 0, "what was redacted is clean");
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    let commit = leak(&session, &secret, "second");
    session.hook("SessionEnd");
    let short = &commit[..7];
    let found = scratch.shiftlog("scan", ["HEAD"]);
    assert_eq!(
        (found.code, found.stdout.as_str()),
        (
            1,
            &*format!(
                "{short} note:1: github-token\n{short} claude/s1:1: github-token\n{short} claude/s1:2: github-token\n\
             {short} claude/s1:3: github-token\n"
            )
        ),
        "{found:?}"
    );
    let json = scratch.shiftlog("scan", ["--json", "HEAD"]);
    assert_eq!(json.stdout.lines().count(), 4);
    assert!(json.stdout.starts_with(&format!("{{\"version\":1,\"commit\":\"{commit}\",\"line\":1,")), "{json:?}");
    assert_eq!(scratch.shiftlog("scan", [&clean]).code, 0, "a range that ends before it is clean");
    let archive = scratch.shiftlog("scan", ["--archive"]);
    assert!(archive.code == 1 && archive.stdout.contains(" claude/s1:1: github-token"), "{archive:?}");
    fs::write(scratch.top.join("notes.txt"), format!("one\n{secret}\n")).unwrap();
    let file = scratch.shiftlog("scan", ["--", "notes.txt"]);
    assert_eq!((file.code, file.stdout.as_str()), (1, "notes.txt:2: github-token\n"));
    assert_eq!(scratch.shiftlog("scan", ["-q", "HEAD"]).stdout, "");
    let rules = scratch.shiftlog("scan", ["--list-rules"]).ok();
    assert!(rules.lines().count() >= 200, "{rules}");
    assert_eq!(scratch.shiftlog("scan", ["--list"]).stdout, rules, "a prefix of the option is enough");
}
