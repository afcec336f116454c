//! What is stored of a transcript, however the agent writes it.

use std::fs;

use serde_json::json;

use crate::support::Scratch;

#[test]
fn a_compacted_and_a_rewound_transcript_read_back_as_they_were() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let first = session.text();
    // The agent rewrites its file: the first line stays, the rest is another.
    let head = first.lines().next().unwrap().to_owned();
    fs::write(&session.transcript, format!("{head}\n")).unwrap();
    session.says("compacted");
    session.edits("b.txt", "b\n");
    session.commits("two");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    assert_eq!(scratch.raw("HEAD~1", &["--full"]), first);
    let increment = scratch.raw("HEAD", &[]);
    assert_eq!(increment, session.text()[head.len() + 1..], "from where the files part");
    // And cut short without anything new, then going on.
    fs::write(&session.transcript, format!("{head}\n")).unwrap();
    scratch.commit("c.txt", "c\n", "by hand");
    session.says("after the rewind");
    session.edits("d.txt", "d\n");
    session.commits("three");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
}

#[test]
fn a_long_transcript_reads_back_as_it_was_however_the_agent_writes_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    (0..100).for_each(|number| session.says(&format!("{number} {}", "words ".repeat(2000))));
    session.edits("a.txt", "a\n");
    session.commits("long");
    let stored = session.text();
    assert!(stored.len() > 1 << 20);
    session.says("appended");
    session.edits("b.txt", "b\n");
    session.commits("appended");
    assert_eq!(scratch.raw("HEAD~1", &[]), stored);
    assert_eq!(scratch.raw("HEAD", &[]), session.text()[stored.len()..]);
    // In the middle of what is stored, and of the same length.
    let changed = session.text().replacen("50 words", "50 WORDS", 1);
    fs::write(&session.transcript, &changed).unwrap();
    session.says("changed");
    session.edits("c.txt", "c\n");
    session.commits("changed");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    // Another file of the same name, and a shorter one.
    let other = scratch.root().join("other.jsonl");
    fs::write(&other, changed.replacen("7 words", "7 WORDS", 1)).unwrap();
    fs::rename(&other, &session.transcript).unwrap();
    session.edits("d.txt", "d\n");
    session.commits("replaced");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    fs::write(&session.transcript, &stored[..=stored[..stored.len() / 3].rfind('\n').unwrap()]).unwrap();
    session.edits("e.txt", "e\n");
    session.commits("cut short");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    scratch.assert_sound();
}

#[test]
fn a_secret_is_in_no_note() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let says = |count| (0..count).for_each(|number| session.says(&format!("{number} {}", "words ".repeat(2000))));
    session.prompt("first");
    says(100);
    session.edits("a.txt", "a\n");
    session.commits("long");
    for round in ["b", "c", "d"] {
        let before = session.text().len();
        session.prompt(&format!("{round}: my token is {token}"));
        says(10);
        session.edits(&format!("{round}.txt"), "x\n");
        session.commits(round);
        let note = scratch.git(["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
        assert!(note.contains(&format!("{round}: my token is [REDACTED:github-token]")), "{note}");
        let expected = session.text()[before..].replace(&token, "[REDACTED:github-token]");
        assert_eq!(scratch.raw("HEAD", &[]), expected);
    }
}

#[test]
fn a_torn_last_line_waits_for_its_end() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    let complete = session.text();
    session.append(b"{\"type\":\"assistant\",\"mess");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "torn"]).ok();
    assert_eq!(scratch.raw("HEAD", &[]), complete);
    session.append(b"age\":{\"role\":\"assistant\",\"content\":\"whole\"}}\n");
    session.edits("b.txt", "b\n");
    session.commits("whole");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
}

#[test]
fn huge_lines_and_bytes_that_are_no_text_are_kept() {
    let scratch = Scratch::set_up();
    // Without optimisation, looking for secrets in so much takes longer than a hook has.
    scratch.git(["config", "shiftlog.hookTimeout", "120"]).ok();
    let session = scratch.session("s1");
    session.prompt("first");
    session.says(&"x".repeat(30 << 20));
    session.append(b"\xff\xfe not json \x00\x1b[31m\n");
    session.edits("a.txt", "a\n");
    session.commits("huge");
    let shown = scratch.shiftlog("show", ["--raw", "--full"]);
    assert!(shown.bytes == fs::read(&session.transcript).unwrap(), "byte for byte");
}

#[test]
fn a_transcript_deleted_before_the_commit_is_no_failure() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    fs::remove_file(&session.transcript).unwrap();
    let log_before = scratch.log().lines().count();
    scratch.write("a.txt", "a\n");
    let commit = session.runs_commit(&["-m", "lost"]);
    assert_eq!(scratch.records(&commit).len(), 0);
    let log = scratch.log();
    let added: Vec<&str> = log.lines().skip(log_before).collect();
    assert!(added.iter().any(|line| line.contains("cannot read the transcript")), "{added:?}");
}

#[test]
fn lost_state_costs_no_words_and_no_overlap() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    session.commits("one");
    scratch.lose_state();
    session.prompt("second");
    session.edits("b.txt", "b\n");
    session.commits("two");
    assert_eq!(scratch.raw("HEAD~1", &[]) + &scratch.raw("HEAD", &[]), session.text());
}

#[test]
fn forty_commits_store_a_session_once() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    for number in 0..40 {
        session.prompt(&format!("step {number}"));
        session.says(&"words ".repeat(500));
        session.edits("a.txt", &format!("{number}\n"));
        session.commits(&format!("step {number}"));
    }
    let listed = scratch.git(["ls-tree", "-r", "--format=%(objectname)", "refs/shiftlog/sessions"]).ok();
    let mut joined = Vec::new();
    let zstd = |id: &str| {
        let blob = scratch.run_in(&scratch.top, "git", ["cat-file", "blob", id]).bytes;
        zstd::stream::decode_all(&blob[..]).unwrap()
    };
    listed.lines().for_each(|id| joined.extend(zstd(id)));
    assert!(joined == session.text().as_bytes(), "each word is in exactly one segment, and plain zstd reads them");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    scratch.assert_sound();
}

#[test]
fn a_last_line_without_a_line_end_is_taken_when_the_session_is_over() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("a.txt", "a\n");
    let text = session.text();
    fs::write(&session.transcript, text.trim_end()).unwrap();
    session.hook("SessionEnd");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "by hand"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--full"]), text);
    scratch.commit("z", "z\n", "another");
    assert_eq!(scratch.records("HEAD").len(), 0, "nothing is new");
    // Taken up again, it goes on behind that line.
    fs::write(&session.transcript, &text).unwrap();
    session.hook("SessionStart");
    session.says("going on");
    session.edits("b.txt", "b\n");
    session.commits("two");
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    scratch.assert_sound();
}

#[test]
fn a_transcript_that_is_added_by_hand_is_not_read_into_memory() {
    let scratch = Scratch::set_up();
    let line = |number: usize| {
        let content = format!("{number} {}", "words that somebody said ".repeat(1300));
        json!({ "type": "user", "uuid": number.to_string(), "sessionId": "s9", "timestamp": "2026-01-02T03:04:05Z",
            "message": { "role": "user", "content": content } })
        .to_string()
    };
    let text = (0..1200).map(line).collect::<Vec<_>>().join("\n");
    scratch.write("s9.jsonl", &text);
    let mut command = scratch.command(crate::support::bin_dir().join("git-shiftlog-add"), &scratch.top);
    command.args(["--transcript=s9.jsonl"]);
    let (output, used) = crate::corpus::measured(command, String::new());
    assert!(output.status.success(), "{output:?}");
    // With the code of a debug build. As a whole and as it is stored, it would take three times as much.
    let (needed, length) = (used.peak_kib, text.len() as u64 >> 10);
    assert!(needed < 64 << 10, "{needed} KiB for a transcript of {length} KiB");
    // The last line has no end, and counts.
    assert_eq!(scratch.shiftlog("show", ["--raw", "--full"]).ok(), text + "\n");
}

#[test]
fn sub_agents_of_a_transcript_that_was_copied_under_another_name_are_those_of_its_session() {
    let scratch = Scratch::new();
    let line = |text: &str| {
        let message = json!({ "role": "user", "content": text });
        format!("{}\n", json!({ "type": "user", "sessionId": "s1", "message": message }))
    };
    let folder = scratch.root().join("copy/subagents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(scratch.root().join("copy.jsonl"), line("ask a helper")).unwrap();
    fs::write(folder.join("agent-abc.jsonl"), line("look around")).unwrap();
    scratch.shiftlog("add", ["-q", "--transcript=../copy.jsonl"]).ok();
    let mut ids: Vec<String> =
        scratch.records("HEAD").iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    assert_eq!(ids, ["s1", "s1.abc"]);
    scratch.shiftlog("purge", ["--session=s1", "--all", "-y"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0, "both are gone");
}
