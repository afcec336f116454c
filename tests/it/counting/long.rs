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

/// Records a session of an agent on HEAD, stored in segments that end at these places, with this digest of it.
fn record(scratch: &Scratch, agent: &str, transcript: &str, ends: &[usize], sha256: &str) {
    let (mut parent, mut keep) = (None::<String>, 0);
    for end in ends.iter().copied().chain([transcript.len()]) {
        let body = &transcript.as_bytes()[keep..end];
        let header = Header {
            shiftlog: 1,
            agent: agent.into(),
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
    let record = json!({ "shiftlog": 1, "agent": agent, "session": "s", "time": "2026-01-02T03:04:05Z", "turns": 1,
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
        record(&scratch, "claude", &transcript, ends, &sha256);
        let counted = total(&scratch, &["--words"]);
        let counts = ["turns", "messages"].map(|key| counted[key].as_u64());
        assert_eq!((counts, counted["tokens"]["output"].as_u64()), ([Some(1), Some(401)], Some(400)), "{ends:?}");
    }
    // Without a line end behind its last line, it is the same.
    let cut = transcript.trim_end();
    record(&scratch, "claude", cut, &[length / 2], &hex(&Sha256::digest(cut)));
    assert_eq!(total(&scratch, &["--words"])["tokens"]["output"], 400);
}

#[test]
fn words_that_are_not_those_of_their_digest_do_not_count() {
    let scratch = Scratch::new();
    let transcript = conversation(3, 10);
    record(&scratch, "claude", &transcript, &[200], &"0".repeat(64));
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

#[test]
fn what_only_the_whole_transcript_tells_is_counted_from_it() {
    let long = "a long line of a log ".repeat(4_000);
    let amp_message = |number: usize| {
        let role = ["user", "assistant"][number % 2];
        json!({ "role": role, "messageId": number, "content": [{ "type": "text", "text": format!("words {number}") }] })
    };
    let amp = json!({ "id": "T-1", "messages": (0..1_000).map(amp_message).collect::<Vec<_>>() });
    // The spelling of a document that is stored as it is.
    let amp = serde_json::to_string_pretty(&amp).unwrap().replace("  ", "\t");
    let codex = |kind: &str, payload: serde_json::Value| format!("{}\n", json!({ "type": kind, "payload": payload }));
    let prompt = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": long }] });
    let codex = codex("response_item", prompt)
        + &codex("event_msg", json!({ "type": "user_message", "message": long }))
        + &codex("event_msg", json!({ "type": "agent_message", "message": "Done." }));
    let code = "# one\n#### no prompt\n".repeat(8_000);
    let aider = format!(
        "# aider chat started at 2026-09-01 10:00:00\n\n#### moor the boat\n\nSo:\n\n```md\n{code}```\n\n#### go on\n\nDone.\n"
    );
    let gemini = |number: usize| {
        let answer = json!({ "id": "g1", "type": "gemini", "content": "so ".repeat(3_000 + number) });
        format!("{answer}\n")
    };
    let asked = json!({ "id": "g0", "type": "user", "content": [{ "text": "go on" }] });
    let gemini = format!("{asked}\n") + &(0..20).map(gemini).collect::<String>();
    let claude = |number: usize| {
        let role = ["user", "assistant"][number % 2];
        json!({ "type": role, "message": { "role": role, "content": format!("words {number}") } })
    };
    let claude = json!({ "loglines": (0..1_000).map(claude).collect::<Vec<_>>() });
    let claude = serde_json::to_string_pretty(&claude).unwrap();
    for (agent, transcript, turns, messages) in [
        ("amp", amp, 500, 1_000),
        ("codex", codex, 1, 2),
        ("aider", aider, 2, 4),
        ("gemini", gemini, 1, 2),
        ("claude", claude, 500, 1_000),
    ] {
        assert!(transcript.len() > 100_000);
        let scratch = Scratch::new();
        std::fs::write(scratch.top.join("session"), &transcript).unwrap();
        let agent_name = format!("--agent={agent}");
        scratch.shiftlog("add", ["-q", &agent_name, "--session=s", "--force", "--transcript=session"]).ok();
        let captured = total(&scratch, &[]);
        let counts = ["turns", "messages"].map(|key| captured[key].as_u64());
        assert_eq!(counts, [Some(turns), Some(messages)], "captured of {agent}");
        record(&scratch, agent, &transcript, &[transcript.len() / 2], &hex(&Sha256::digest(&transcript)));
        let counted = total(&scratch, &["--words"]);
        let counts = ["turns", "messages"].map(|key| counted[key].as_u64());
        assert_eq!(counts, [Some(turns), Some(messages)], "{agent}");
    }
}

#[test]
fn a_long_document_is_counted_as_a_whole_and_stored_in_segments() {
    let scratch = Scratch::new();
    // Numbers: what says the same again and again is not read.
    let mut next = 1_u64;
    let mut number = || {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{next} ")
    };
    let message = |at: usize| {
        let text = (0..3_000).map(|_| number()).collect::<String>();
        let role = ["user", "assistant"][at % 2];
        json!({ "role": role, "messageId": at, "content": [{ "type": "text", "text": text }] })
    };
    let document = json!({ "id": "T-1", "messages": (0..180).map(message).collect::<Vec<_>>() });
    let document = serde_json::to_string_pretty(&document).unwrap().replace("  ", "\t");
    std::fs::write(scratch.top.join("session"), document).unwrap();
    scratch.shiftlog("add", ["-q", "--agent=amp", "--session=s", "--transcript=session", "--force"]).ok();
    assert_eq!(total(&scratch, &[])["turns"], 90);
    let segments = scratch.git(["ls-tree", "-r", "--object-only", "refs/shiftlog/sessions"]).ok();
    assert_eq!(segments.lines().count(), 2, "10 MB are two segments");
}

#[test]
fn texts_that_look_like_many_values_are_counted() {
    let scratch = Scratch::new();
    let transcript = conversation(2_400, 3_000).replace("word word word ", "word, {word} [ ");
    record(&scratch, "claude", &transcript, &[], &hex(&Sha256::digest(&transcript)));
    assert_eq!(total(&scratch, &["--words"])["tokens"]["output"], 2_400);
}

#[test]
fn answers_cost_together_as_much_as_one_by_one() {
    let scratch = Scratch::new();
    let answer = |number: usize, usage: serde_json::Value| {
        let message =
            json!({ "id": format!("m{number}"), "role": "assistant", "model": "own", "content": [], "usage": usage });
        format!("{}\n", json!({ "type": "assistant", "timestamp": "2026-01-02T03:04:05Z", "message": message }))
    };
    let tokens = |input: u64, read: u64, written: u64, long: u64| {
        json!({ "input_tokens": input, "output_tokens": 0, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written, "cache_creation": { "ephemeral_1h_input_tokens": long } })
    };
    std::fs::write(scratch.top.join("own.tsv"), "own\t-\t1\t1\t-\t2\t4\t1000\t10\t10\t-\t20\t40\n").unwrap();
    let counted = |usages: &[serde_json::Value]| {
        let lines = usages.iter().enumerate().map(|(number, usage)| answer(number, usage.clone()));
        let transcript: String = lines.collect();
        record(&scratch, "claude", &transcript, &[], &hex(&Sha256::digest(&transcript)));
        total(&scratch, &["--words", "--prices=own.tsv"])
    };
    // More that is kept for an hour than is kept, input above the bound, and a price that nobody knows.
    let usages = [tokens(1, 0, 10, 30), tokens(1, 0, 30, 0), tokens(900, 0, 0, 0), tokens(2_000, 0, 0, 0)];
    let cost = |counted: &serde_json::Value| counted["cost"].as_str().unwrap().parse::<f64>().unwrap();
    let one_by_one: f64 = usages.iter().map(|usage| cost(&counted(std::slice::from_ref(usage)))).sum();
    assert!((cost(&counted(&usages)) - one_by_one).abs() < 1e-9, "{one_by_one}");
    let unpriced = counted(&[tokens(0, 5, 0, 0), tokens(1, 0, 0, 0)]);
    assert_eq!((&unpriced["unpriced"], &unpriced["atLeast"]), (&json!(["own"]), &json!(true)), "{unpriced}");
}
