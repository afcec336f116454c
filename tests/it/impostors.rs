//! A record, or a segment, that takes the words of one session for those of another.

use crate::support::Scratch;

#[test]
fn a_segment_that_is_lost_in_the_middle_of_an_increment_is_told() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("first");
    session.edits("x", "1");
    session.commits("one");
    let known = scratch.git(["rev-parse", "refs/shiftlog/sessions"]).ok();
    session.prompt("lost words");
    session.hook("SessionEnd");
    let added = scratch.git(["diff-tree", "-r", known.trim(), "refs/shiftlog/sessions"]).ok();
    let lost = added.split_whitespace().nth(3).unwrap().to_owned();
    session.hook("SessionStart");
    session.prompt("last words");
    session.edits("x", "2");
    session.commits("two");
    assert_eq!(scratch.shiftlog("show", [] as [&str; 0]).code, 0);
    std::fs::remove_file(scratch.top.join(".git/objects").join(&lost[..2]).join(&lost[2..])).unwrap();
    let shown = scratch.shiftlog("show", [] as [&str; 0]);
    assert!(shown.stdout.contains("last words") && !shown.stdout.contains("lost words"), "{shown:?}");
    assert!(shown.code == 1 && shown.stdout.contains("bytes of the transcript are missing"), "{shown:?}");
}
