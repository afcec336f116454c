//! Counting answers in the recorded words.

use serde_json::json;

use super::{answers, total, usage};
use crate::support::Scratch;

#[test]
fn an_answer_that_goes_on_after_a_commit_counts_once_in_every_range() {
    let scratch = Scratch::set_up();
    let session = scratch.session("one");
    session.prompt("one");
    answers(&session, "msg_cut", "claude-opus-4-8", &usage());
    session.edits("a.txt", "words\n");
    session.commits("first");
    answers(&session, "msg_cut", "claude-opus-4-8", &usage());
    session.prompt("two");
    answers(&session, "msg_new", "claude-opus-4-8", &usage());
    session.edits("b.txt", "words\n");
    session.commits("second");
    session.hook("SessionEnd");
    for range in ["HEAD", "HEAD~1", "HEAD~1..HEAD"] {
        let noted = total(&scratch, &[range]);
        assert_eq!(total(&scratch, &["--words", range])["tokens"], noted["tokens"], "{range}");
    }
    assert_eq!(total(&scratch, &["--words", "HEAD~1..HEAD"])["tokens"]["cacheWrite"], 4000);
}

#[test]
fn what_a_fork_repeats_of_its_session_counts_once() {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha-1");
    session.prompt("one");
    answers(&session, "msg_one", "claude-opus-4-8", &usage());
    session.edits("a.txt", "words\n");
    session.commits("first");
    session.hook("SessionEnd");
    let once = total(&scratch, &["--words"]);
    let fork = scratch.session("beta-2");
    fork.append(session.text().replace("alpha-1", "beta-2").as_bytes());
    fork.prompt("two");
    answers(&fork, "msg_two", "claude-opus-4-8", &usage());
    fork.edits("b.txt", "words\n");
    fork.commits("second");
    fork.hook("SessionEnd");
    let both = total(&scratch, &["--words"]);
    for (key, own) in [("turns", 1), ("messages", 3)] {
        assert_eq!(both[key].as_u64(), once[key].as_u64().map(|before| before + own), "{key}: {both}");
    }
    // Another session that says the same repeats nothing.
    let other = scratch.session("gamma-3");
    other.prompt("one");
    answers(&other, "msg_three", "claude-opus-4-8", &usage());
    other.edits("c.txt", "words\n");
    other.commits("third");
    other.hook("SessionEnd");
    assert_eq!(total(&scratch, &["--words"])["turns"].as_u64(), both["turns"].as_u64().map(|before| before + 1));
}

#[test]
fn work_goes_on_between_two_records_of_a_session() {
    let scratch = Scratch::new();
    let line = |minute: u32, second: u32| {
        let role = ["user", "assistant"][second as usize % 2];
        let time = format!("2026-01-02T03:{minute:02}:{second:02}Z");
        let message = json!({ "role": role, "content": format!("words {minute} {second}") });
        format!("{}\n", json!({ "type": role, "timestamp": time, "sessionId": "s", "message": message }))
    };
    let mut text = String::new();
    // A pause is no work.
    for (number, times) in [[(0, 0), (0, 31)], [(1, 30), (1, 45)], [(20, 0), (20, 7)]].into_iter().enumerate() {
        text.extend(times.map(|(minute, second)| line(minute, second)));
        std::fs::write(scratch.top.join("said"), &text).unwrap();
        scratch.commit(&format!("{number}.txt"), "x\n", "work");
        scratch.shiftlog("add", ["-q", "--session=s", "--transcript=said"]).ok();
    }
    for words in [&[][..], &["--words"]] {
        assert_eq!(total(&scratch, words)["active"], 31 + 59 + 15 + 7, "{words:?}");
        // The first of them is not among those that count.
        let last = [words, &["HEAD~2.."]].concat();
        assert_eq!(total(&scratch, &last)["active"], 59 + 15 + 7, "{words:?}");
    }
}
