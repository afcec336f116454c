//! Two people purge different words of one session before either knows of it.

use crate::purging::{SECRET, places, says};
use crate::sharing::Team;

#[test]
fn what_two_people_purge_at_the_same_time_is_gone_for_both() {
    let matches = |word: &str| format!("--match={word}");
    let (secret, yakword) = (matches(SECRET), matches("Yakword"));
    let both = format!("{SECRET} and Yakword");
    // What the first and the second purge, and the words that stay.
    let cases: [(&str, &str, &[&str]); 5] = [
        (&secret, &yakword, &["harmless"]),
        ("HEAD~1", &yakword, &["harmless"]),
        (&secret, "HEAD~1", &["harmless"]),
        ("--session=s", &yakword, &[]),
        ("HEAD~1", "HEAD", &[]),
    ];
    for (first, second, stays) in cases {
        let case = format!("{first} and {second}");
        let team = Team::new();
        team.scratch.commit("x", "1\n", "one");
        team.scratch.commit("x", "2\n", "two");
        team.scratch.git(["push", "-q", "--no-verify", team.server.to_str().unwrap(), "HEAD:main"]).ok();
        let (a, b, c) = (team.clone_of("a", &[]), team.clone_of("b", &[]), team.clone_of("c", &[]));
        team.git(&a, &["checkout", "-q", "HEAD~1"]).ok();
        says(&team.scratch, &a, "s", &[&both]);
        team.git(&a, &["checkout", "-q", "-"]).ok();
        says(&team.scratch, &a, "s", &[&both, "harmless"]);
        for clone in [&a, &b, &c] {
            team.shiftlog(clone, "sync", &["-q"]).ok();
        }
        team.shiftlog(&a, "purge", &["--yes", first]).ok();
        team.shiftlog(&b, "purge", &["--yes", second]).ok();
        team.shiftlog(&a, "sync", &["push", "-q"]).ok();
        team.shiftlog(&b, "sync", &["-q"]);
        assert_eq!(places(&team.scratch, &a, SECRET), [""; 0], "{case}: before the marks are taken");
        team.shiftlog(&b, "purge", &["--received", "--yes", "--all"]).ok();
        for clone in [&b, &a] {
            team.shiftlog(clone, "sync", &["-q"]);
        }
        team.shiftlog(&a, "purge", &["--received", "--yes", "--all"]).ok();
        for clone in [&a, &b, &c] {
            team.shiftlog(clone, "sync", &["-q"]);
        }
        team.shiftlog(&c, "purge", &["--received", "--yes", "--all"]).ok();
        for clone in [&c, &a, &b, &c] {
            team.shiftlog(clone, "sync", &["-q"]);
        }
        team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
        for clone in [&a, &b, &c, &team.server] {
            for word in [SECRET, "Yakword"] {
                assert_eq!(places(&team.scratch, clone, word), [""; 0], "{case}: {word} in {}", clone.display());
            }
        }
        for clone in [&a, &b, &c] {
            if !stays.is_empty() {
                team.assert_said(clone, "HEAD", stays);
            }
            team.shiftlog(clone, "fsck", &["-q"]).ok();
        }
    }
}
