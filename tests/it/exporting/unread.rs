//! Exports of a clone with which only notes were shared.

use super::recorded;
use crate::support::Scratch;

#[test]
fn a_page_claims_nothing_of_a_conversation_that_is_not_here() {
    let scratch = recorded();
    let other = Scratch::empty(&[]);
    let from = scratch.top.to_str().unwrap();
    other.git(["remote", "add", "origin", from]).ok();
    other.git(["fetch", "-q", from, "main:refs/heads/work", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    for format in ["--html", "--markdown"] {
        let ran = other.shiftlog("export", [format, "work"]);
        let told = "warning: words of 1 conversation are not here\n\
                    hint: 'git shiftlog sync pull --all' fetches transcripts that others share\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (0, told), "{format}");
        assert!(!ran.stdout.contains("not in the conversation"), "{}", ran.stdout);
    }
    let page = other.shiftlog("export", ["--html", "-q", "work"]).ok();
    assert!(page.contains("three.rs") && page.contains("make three"), "{page}");
}
