//! Evidence whose text is stored in the archive: what is stored, and who reads it.

use std::fs;

use serde_json::{Value, json};

use super::TOKEN;
use crate::sharing::Team;
use crate::support::Scratch;

/// The evidence of a commit, as `--json` prints it.
pub fn evidence(scratch: &Scratch, revision: &str) -> Vec<Value> {
    let listed = scratch.shiftlog("evidence", ["--json", revision]).stdout;
    listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["evidence"].clone()).collect()
}

fn digest(scratch: &Scratch, text: &str) -> String {
    fs::write(scratch.root().join("digested"), text).unwrap();
    scratch.run_in(&scratch.root(), "sha256sum", ["digested"]).ok()[..64].to_owned()
}

#[test]
fn a_stored_text_has_no_secrets_and_is_read_without_its_file() {
    let scratch = Scratch::new();
    scratch.write("x.log", &format!("ok\nerror: refused {TOKEN} for it\nno line end"));
    scratch.shiftlog("evidence", ["attach", "-q", "--words", "x.log"]).ok();
    let clean = "ok\nerror: refused [REDACTED:salesforce-token] for it\nno line end";
    let one = evidence(&scratch, "HEAD")[0].clone();
    assert_eq!(
        (&one["size"], one["sha256"].as_str().unwrap()),
        (&json!(clean.len()), digest(&scratch, clean).as_str())
    );
    assert_eq!(one["id"].as_str().unwrap(), &one["sha256"].as_str().unwrap()[..12]);
    let blob = one["blob"].as_str().unwrap();
    let path = format!("/evidence~{}/000000-{}.zst", one["sha256"].as_str().unwrap(), &blob[..12]);
    let tree = scratch.git(["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).ok();
    assert!(tree.trim().ends_with(&path), "{tree}");
    fs::remove_file(scratch.top.join("x.log")).unwrap();
    assert_eq!(scratch.shiftlog("evidence", ["show"]).ok(), clean);
    assert!(scratch.shiftlog("show", ["--evidence=full"]).ok().contains("\n    no line end\n"));
    assert!(crate::purging::places(&scratch, &scratch.top, &TOKEN[20..60]).is_empty());
    scratch.shiftlog("fsck", [""; 0]).ok();
    scratch.assert_sound();
    // It is no session.
    assert_eq!(scratch.shiftlog("grep", ["--unrecorded", "refused"]).code, 1);
    assert_eq!(scratch.shiftlog("log", ["--json"]).ok().matches("\"sessions\":[]").count(), 1);
    // The other reader, made from the format page alone, reads the same.
    assert!(crate::format::foreign(&scratch, "HEAD").is_empty());
    assert_eq!(fs::read_to_string(scratch.root().join("foreign/evidence.0")).unwrap(), clean);
}

#[test]
fn a_text_comes_back_byte_for_byte() {
    let scratch = Scratch::new();
    let text = b"\x1b[31merror: red\x1b[0m\r\nz\xff\x00x\rprogress\n\xe2\x80\xaeend";
    fs::write(scratch.top.join("x.log"), text).unwrap();
    let shown = || scratch.command("git-shiftlog-evidence", &scratch.top).arg("show").output().unwrap().stdout;
    scratch.shiftlog("evidence", ["attach", "-q", "x.log"]).ok();
    assert_eq!(shown(), text, "from the file");
    assert_eq!(evidence(&scratch, "HEAD")[0]["error"], "error: red");
    scratch.shiftlog("evidence", ["attach", "-q", "--words", "x.log"]).ok();
    fs::remove_file(scratch.top.join("x.log")).unwrap();
    assert_eq!(shown(), text, "from the archive");
}

#[test]
fn a_file_that_is_attached_gets_its_words_later_and_large_ones_are_refused() {
    let scratch = Scratch::new();
    for text in [format!("error: {TOKEN}\n"), "error: plain\n".to_owned()] {
        scratch.write("x.log", &text);
        scratch.shiftlog("evidence", ["attach", "-q", "x.log"]).ok();
        let before = evidence(&scratch, "HEAD").len();
        scratch.shiftlog("evidence", ["attach", "-q", "--words", "x.log"]).ok();
        let after = evidence(&scratch, "HEAD");
        assert_eq!((after.len(), after.iter().filter(|one| one["blob"].is_null()).count()), (before, 0), "{after:?}");
        for words in [&["--words"][..], &[]] {
            let again = scratch.shiftlog("evidence", [&["attach"], words, &["x.log"]].concat());
            assert_eq!(again.code, 1, "{words:?}: {again:?}");
        }
    }
    let large = fs::File::create(scratch.top.join("large.log")).unwrap();
    large.set_len((32 << 20) + 1).unwrap();
    let ran = scratch.shiftlog("evidence", ["attach", "--words", "large.log"]);
    let told = "fatal: cannot store 'large.log': it is larger than 32 MiB\n";
    assert!(ran.code == 128 && ran.stderr.starts_with(told), "{ran:?}");
    scratch.shiftlog("evidence", ["attach", "-q", "large.log"]).ok();
}

#[test]
fn secrets_in_a_stored_text_are_found_and_a_lost_text_is_told() {
    let scratch = Scratch::new();
    scratch.write("x.log", &format!("one\nerror: {TOKEN}\n"));
    scratch.git(["config", "shiftlog.redact", "false"]).ok();
    scratch.shiftlog("evidence", ["attach", "-q", "--words", "x.log"]).ok();
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    let short = &scratch.id("HEAD")[..7];
    let ran = scratch.shiftlog("scan", [""; 0]);
    assert!(ran.code == 1 && ran.stdout.contains(&format!("{short} x.log:2: salesforce-token\n")), "{ran:?}");
    assert_eq!(scratch.shiftlog("scan", ["--fix", "--yes"]).code, 0);
    assert!(crate::purging::places(&scratch, &scratch.top, &TOKEN[20..60]).is_empty());
    assert_eq!(scratch.shiftlog("evidence", ["show"]).ok(), "one\nerror: [REDACTED:salesforce-token]\n");
    assert_eq!(scratch.shiftlog("scan", [""; 0]).ok(), "");
    // A line that names another text is told.
    let one = evidence(&scratch, "HEAD")[0].clone();
    let line = json!({ "shiftlog": 1, "evidence": "log", "id": "x", "size": 3, "sha256": "00", "name": "y.log",
        "blob": one["blob"] });
    scratch.git(["notes", "--ref=shiftlog", "append", "-m", &line.to_string()]).ok();
    let checked = scratch.shiftlog("fsck", [""; 0]);
    assert!(checked.code == 1 && checked.stdout.contains("wrong-record"), "{checked:?}");
    let shown = scratch.shiftlog("show", ["--evidence=full"]);
    assert!(shown.stdout.contains("is of another session"), "a text is shown under its own name alone: {shown:?}");
    scratch.git(["update-ref", "-d", "refs/shiftlog/sessions"]).ok();
    let blob = one["blob"].as_str().unwrap();
    let checked = scratch.shiftlog("fsck", [""; 0]);
    assert!(checked.stdout.contains(&format!("unarchived-segment {blob}")), "{checked:?}");
}

#[test]
fn a_colleague_reads_stored_texts_where_sessions_are_shared() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    fs::write(a.join("x.log"), "error: it broke\nand more\n").unwrap();
    let commit = team.commit(&a, "a.txt", "a\n", "one");
    team.shiftlog(&a, "evidence", &["attach", "-q", "--words", "HEAD", "x.log"]).ok();
    team.git(&a, &["push", "-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    assert_eq!(team.shiftlog(&b, "evidence", &["show", &commit, "1"]).ok(), "error: it broke\nand more\n");
    team.assert_sound(&b);
}
