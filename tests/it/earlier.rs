//! Notes of the earlier tools of this name are read everywhere a note is read.

use std::io::Write as _;

use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Scratch, feed};

pub fn document(session: &str, text: &str) -> Value {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "version": 1, "session_id": session, "timestamp": "2026-01-02T03:04:05Z", "project_path": "/home/dev/harbour",
        "git_branch": "main", "message_count": 2, "checksum": format!("sha256:{digest}"),
        "transcript": base64::engine::general_purpose::STANDARD.encode(packed.finish().unwrap()),
        "model": "claude-test-0",
        "effort": { "turns": 1, "input_tokens": 7, "output_tokens": 9, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 2 },
    })
}

pub fn transcript(prompt: &str) -> String {
    let user = json!({ "type": "user", "message": { "role": "user", "content": prompt } });
    let answer = json!({ "type": "assistant", "message": { "role": "assistant", "content": [{ "type": "text", "text": "yes" }] } });
    format!("{user}\n{answer}\n")
}

pub fn attach(scratch: &Scratch, notes_ref: &str, note: &str) {
    let mut command = scratch.command("git", &scratch.top);
    command.args(["notes", "--ref", notes_ref, "add", "-f", "-F", "-", "HEAD"]);
    assert_eq!(feed(&mut command, note.as_bytes()).code, 0);
}

#[test]
fn a_document_of_an_earlier_tool_is_read_pretty_printed_or_not() {
    let text = transcript("an old question");
    let document = document("old", &text);
    for note in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
        for notes_ref in ["refs/notes/shiftlog", "refs/notes/claude-conversations"] {
            let scratch = Scratch::new();
            attach(&scratch, notes_ref, &note);
            assert_eq!(scratch.raw("HEAD", &[]), text);
            let shown = scratch.shiftlog("show", [""; 0]).ok();
            assert!(shown.contains("session claude old, claude-test-0\n1 turn, 2 messages"), "{shown}");
            assert!(shown.contains("> an old question"), "{shown}");
            let listed = scratch.shiftlog("log", ["--format=%(agent) %(session) %(messages) %(tokens:output)"]).ok();
            assert_eq!(listed, "claude old 2 9\n");
        }
    }
}

#[test]
fn our_record_and_an_earlier_document_live_in_one_note() {
    let scratch = Scratch::set_up();
    let text = transcript("an old question");
    attach(&scratch, "shiftlog", &serde_json::to_string_pretty(&document("old", &text)).unwrap());
    let session = scratch.session("new");
    session.prompt("a new question");
    session.edits("a.txt", "a\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "--amend", "-m", "both"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--session=old"]), text);
    assert_eq!(scratch.raw("HEAD", &["--session=new"]), session.text());
    assert_eq!(scratch.raw("HEAD", &["--session=n"]), session.text(), "a unique beginning is enough");
}

#[test]
fn documents_shredded_by_a_merge_are_put_together_from_history() {
    let scratch = Scratch::new();
    let (one, two) = (transcript("one"), transcript("two"));
    let pretty = |session: &str, text: &str| serde_json::to_string_pretty(&document(session, text)).unwrap();
    attach(&scratch, "shiftlog", &pretty("one", &one));
    scratch.git(["update-ref", "refs/notes/other", "refs/notes/shiftlog"]).ok();
    attach(&scratch, "other", &pretty("two", &two));
    // Sorted lines of both, as 'git notes merge -s cat_sort_uniq' leaves them.
    let mut lines: Vec<String> = [pretty("one", &one), pretty("two", &two)]
        .iter()
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines.sort();
    lines.dedup();
    attach(&scratch, "shiftlog", &lines.join("\n"));
    let tree = scratch.git(["rev-parse", "refs/notes/shiftlog^{tree}"]).ok();
    let merge = scratch
        .git(["commit-tree", tree.trim(), "-p", "refs/notes/shiftlog", "-p", "refs/notes/other", "-m", "merged"])
        .ok();
    scratch.git(["update-ref", "refs/notes/shiftlog", merge.trim()]).ok();
    assert_eq!(scratch.raw("HEAD", &["--session=one"]), one);
    assert_eq!(scratch.raw("HEAD", &["--session=two"]), two);
    let mut listed: Vec<String> = scratch.shiftlog("log", ["--json"]).ok().lines().map(str::to_owned).collect();
    let listed: Value = serde_json::from_str(&listed.remove(0)).unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "what is shown is listed too");
    // What is recorded after the damage is there too.
    let ours = transcript("ours");
    let mut command = scratch.command("git", &scratch.top);
    command.args(["shiftlog", "add", "-q", "--transcript=-", "--session=ours"]);
    assert_eq!(feed(&mut command, ours.as_bytes()).code, 0);
    assert_eq!(scratch.raw("HEAD", &["--session=ours"]), ours);
    assert_eq!(scratch.raw("HEAD", &["--session=one"]), one);
}

#[test]
fn a_damaged_transcript_is_told_and_never_hidden() {
    let scratch = Scratch::new();
    let mut wrong = document("old", &transcript("x"));
    wrong["checksum"] = "sha256:00".into();
    attach(&scratch, "shiftlog", &wrong.to_string());
    let ran = scratch.shiftlog("show", [""; 0]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("[the transcript does not match its checksum]") && ran.stdout.contains("> x"),
        "{}",
        ran.stdout
    );
    wrong["transcript"] = "!!!".into();
    attach(&scratch, "shiftlog", &wrong.to_string());
    let ran = scratch.shiftlog("show", [""; 0]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("[the transcript of session 'old' is damaged"), "{}", ran.stdout);
}
