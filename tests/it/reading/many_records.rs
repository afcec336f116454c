//! Notes with many records, as a squash of many sessions has.

use serde_json::json;

use crate::support::Scratch;

/// A note with a record of the session `long`, one within it, and `copies` records of each of `sessions` other sessions, whose
/// words are not here.
fn with_records(sessions: usize, copies: usize) -> Scratch {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("long");
    for name in ["one", "two"] {
        session.prompt(&format!("make {name}"));
        session.edits(&format!("{name}.txt"), "words\n");
        session.commits(&format!("add {name}"));
    }
    let inner = scratch.record("HEAD");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "both"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    let mut lines = vec![scratch.record("HEAD").to_string(), inner.to_string()];
    for number in 0..sessions * copies {
        let mut other = inner.clone();
        other["session"] = json!(format!("s{}", number / copies));
        for (key, salt) in [("since", 1), ("through", 2)] {
            other[key] = json!(format!("{:040x}", number * 10 + salt));
        }
        lines.push(other.to_string());
    }
    let file = scratch.root().join("note");
    std::fs::write(&file, lines.join("\n")).unwrap();
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-F", file.to_str().unwrap()]).ok();
    scratch
}

#[test]
fn a_record_within_another_is_not_shown_twice_in_a_note_of_many_sessions() {
    let scratch = with_records(100, 2);
    let shown = scratch.shiftlog("show", ["--json", "--session=long"]);
    assert_eq!((shown.code, shown.stdout.lines().count()), (0, 1), "{}", shown.stderr);
}

#[test]
fn a_note_with_too_many_records_of_a_session_says_what_that_means() {
    let scratch = with_records(1, 70);
    let shown = scratch.shiftlog("show", ["--json", "--session=long"]);
    let told = "warning: the note has too many records of one session to compare them: words may be shown twice\n";
    assert_eq!((shown.code, shown.stdout.lines().count()), (1, 2), "{}", shown.stderr);
    assert!(shown.stderr.contains(told), "{}", shown.stderr);
}
