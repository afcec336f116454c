//! Transcripts that are written anew after a purge: by the agent, or by `git shiftlog resume` elsewhere.

use super::*;
use crate::importing::Past;

/// Each line differs then from what is stored, and comparing them would store the words again.
#[test]
fn a_transcript_that_is_written_anew_brings_nothing_back_of_what_was_purged() {
    for what in ["--match=Ferdinand", "HEAD", "--session=s1"] {
        let scratch = Scratch::set_up();
        let past = Past::new(&scratch, "s1");
        let session = &past.0;
        begins(session);
        purge(&scratch, &[what]).ok();
        let before = session.text();
        let anew = before.replace("\"sessionId\"", "\"movedTo\":\"elsewhere\",\"sessionId\"");
        assert_ne!(anew, before);
        fs::write(&session.transcript, anew).unwrap();
        session.prompt("and go on");
        session.edits("x", "2\n");
        session.commits("two");
        session.prompt("once more");
        session.edits("x", "3\n");
        session.commits("three");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what}");
        let is_said = scratch.shiftlog("show", ["HEAD"]).stdout.contains("once more");
        assert_eq!(
            is_said,
            what != "--session=s1",
            "{what}: what comes later is recorded, unless the whole session was removed"
        );
        assert!(scratch.log().contains("claude/s1"), "{what}: the log says that something was left out");
    }
}
