//! Sessions that are longer than what is read at once.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use shiftlog::archive::{Header, hex, segment};

use super::total;
use crate::corpus;
use crate::hostile::large::maker;
use crate::support::Scratch;

/// Returns a prompt and so many answers, each with one token of output, and a text of so many bytes.
fn conversation(answers: usize, text_bytes: usize) -> String {
    let prompt = json!({ "type": "user", "message": { "role": "user", "content": "go on" } });
    let answer = |number: usize| {
        let text = "word ".repeat(text_bytes / 5);
        let message = json!({ "id": format!("msg_{number}"), "role": "assistant", "model": "claude-opus-4-8",
            "content": [{ "type": "text", "text": text }], "usage": { "input_tokens": 0, "output_tokens": 1 } });
        format!("{}\n", json!({ "type": "assistant", "uuid": number.to_string(), "message": message }))
    };
    format!("{prompt}\n") + &(0..answers).map(answer).collect::<String>()
}

/// Records a session on HEAD, stored in segments that end at these places, with this digest of it.
fn record(scratch: &Scratch, transcript: &str, ends: &[usize], sha256: &str) {
    let (mut parent, mut keep) = (None::<String>, 0);
    for end in ends.iter().copied().chain([transcript.len()]) {
        let body = &transcript.as_bytes()[keep..end];
        let header = Header {
            shiftlog: 1,
            agent: "claude".into(),
            session: "s".into(),
            parent: parent.take(),
            keep: keep as u64,
            bytes: body.len() as u64,
            sha256: sha256.into(),
            time: "2026-01-02T03:04:05Z".into(),
        };
        let file = segment::encode(&header, body).unwrap();
        parent = Some(scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], &file).ok().trim().to_owned());
        keep = end;
    }
    let record = json!({ "shiftlog": 1, "agent": "claude", "session": "s", "time": "2026-01-02T03:04:05Z", "turns": 1,
        "messages": 1, "tokens": { "input": 0, "output": 7, "cacheRead": 0, "cacheWrite": 0 }, "since": null,
        "through": parent, "bytes": keep, "sha256": sha256 });
    let blob = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], format!("{record}\n").as_bytes()).ok();
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-C", blob.trim()]).ok();
}

#[test]
fn a_line_counts_once_wherever_a_segment_ends() {
    let scratch = Scratch::new();
    let transcript = conversation(400, 1000);
    let sha256 = hex(&Sha256::digest(&transcript));
    let line_end = transcript.match_indices('\n').nth(3).unwrap().0;
    let length = transcript.len();
    for ends in [&[][..], &[length / 2], &[line_end + 1], &[line_end], &[9, 10, 11], &[length - 1], &[1, 300_000]] {
        record(&scratch, &transcript, ends, &sha256);
        let counted = total(&scratch, &["--words"]);
        let counts = ["turns", "messages"].map(|key| counted[key].as_u64());
        assert_eq!((counts, counted["tokens"]["output"].as_u64()), ([Some(1), Some(401)], Some(400)), "{ends:?}");
    }
    // Without a line end behind its last line, it is the same.
    let cut = transcript.trim_end();
    record(&scratch, cut, &[length / 2], &hex(&Sha256::digest(cut)));
    assert_eq!(total(&scratch, &["--words"])["tokens"]["output"], 400);
}

#[test]
fn words_that_are_not_those_of_their_digest_do_not_count() {
    let scratch = Scratch::new();
    let transcript = conversation(3, 10);
    record(&scratch, &transcript, &[200], &"0".repeat(64));
    let counted = scratch.shiftlog("stats", ["--json", "--words"]);
    assert_eq!(counted.stderr, "warning: words of 1 record are not here; notes count instead\n");
    assert!(counted.stdout.contains("\"output\":7,"), "{counted:?}");
}

#[test]
fn words_of_long_sessions_are_counted_with_little_of_them_in_memory() {
    let scratch = Scratch::new();
    let turns: usize = maker(&scratch).honest(2, 24 << 20).iter().map(|text| text.lines().count()).sum();
    let mut command = scratch.command("git-shiftlog-stats", &scratch.top);
    command.args(["--json", "--words"]);
    let (output, used) = corpus::measured(command, String::new());
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains(&format!("\"turns\":{turns},")), "{printed}");
    assert!(used.peak_kib < corpus::MAX_KIB / 2, "{} MiB", used.peak_kib >> 10);
}
