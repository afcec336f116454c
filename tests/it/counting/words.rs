//! Counting answers in the recorded words.

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
