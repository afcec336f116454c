//! Purged words are still in the agents' own files: nothing of ours stores them again from there.

use std::fs;

use crate::purging::{SECRET, places};
use crate::sharing::{Team, line};

#[test]
fn a_journal_that_cannot_be_read_stays_and_blocks_the_push() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", SECRET);
    let journal = a.join(".git/shiftlog/purging");
    let id = team.id(&a, "HEAD");
    let broken = [
        "{\"segments\":5}".to_owned(),
        "{}".to_owned(),
        String::new(),
        "some words\n".to_owned(),
        format!("{id}\nsome words\n"),
        "{\"notes_ref\":\"refs/notes/shiftlog\",\"tips\":[\"some words\"]}".to_owned(),
    ];
    for text in broken {
        fs::write(&journal, &text).unwrap();
        for args in [&["sync", "push"][..], &["fsck"], &["purge", "--received", "--yes"], &["purge", "--yes", "HEAD"]] {
            let ran = team.shiftlog(&a, args[0], &args[1..]);
            assert_ne!(ran.code, 0, "{text:?} {args:?}: {ran:?}");
            assert!(ran.stderr.contains("a purge was interrupted, and its journal '"), "{text:?} {args:?}: {ran:?}");
            assert!(ran.stderr.contains("shiftlog/purging' cannot be read"), "{text:?} {args:?}: {ran:?}");
            assert_eq!(fs::read_to_string(&journal).unwrap(), text, "{args:?}: it stays");
        }
        team.scratch.run_in(&a, "git-shiftlog--hook", ["git", "push-now", "origin"]).ok();
        assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new(), "{text:?}");
    }
    // The form of an earlier version, and no journal at all, are as before.
    fs::write(&journal, format!("{id}\n")).unwrap();
    let ran = team.shiftlog(&a, "fsck", &[]);
    assert!(ran.stderr.contains("a purge was interrupted; it is finished now"), "{ran:?}");
    assert!(!journal.exists());
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    assert_eq!(team.raw(&a, "HEAD").stdout, line(SECRET));
}
