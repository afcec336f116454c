//! Purged words that a plain `git fetch` brings back, and remotes of which nothing is known.

use super::*;

fn reached(team: &Team, clone: &Path) -> bool {
    let ids = team.git(clone, &["rev-list", "--objects", "--all"]).ok();
    places(&team.scratch, clone, "zorgon").iter().any(|object| ids.contains(object.split(' ').next().unwrap()))
}

/// Records the word in a session that is not called like it.
fn says_the_customer(team: &Team, clone: &Path) {
    let file = clone.join(".git/said");
    fs::write(&file, line("the customer is zorgon")).unwrap();
    let option = format!("--transcript={}", file.display());
    team.shiftlog(clone, "add", &["-q", "--session=s1", &option]).ok();
    fs::remove_file(&file).unwrap();
}

#[test]
fn what_a_plain_fetch_brings_back_is_removed_again() {
    for command in [&["purge", "--match=zorgon", "--yes"][..], &["fsck"]] {
        let team = Team::new();
        let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
        says_the_customer(&team, &a);
        team.git(&a, &["push", "-q", "--no-verify"]).ok();
        team.shiftlog(&a, "sync", &["-q"]).ok();
        team.shiftlog(&a, "purge", &["--match=zorgon", "--yes"]).ok();
        assert!(!reached(&team, &a));
        team.git(&b, &["pull", "-q"]).ok();
        team.commit(&b, "y", "1\n", "news of somebody else");
        team.git(&b, &["push", "-q", "--no-verify"]).ok();
        team.shiftlog(&b, "sync", &["-q"]).ok();
        team.git(&a, &["fetch", "-q"]).ok();
        assert!(reached(&team, &a), "a fetch does not ask us");
        let ran = team.shiftlog(&a, command[0], &command[1..]);
        let told = "warning: words that were purged had been fetched again, and are removed now: ";
        assert!(ran.code == 0 && ran.stderr.contains(told), "{ran:?}");
        assert!(ran.stderr.contains("hint: git shiftlog sync push origin "), "{ran:?}");
        assert!(!reached(&team, &a));
        team.git(&a, &["merge", "-q", "--ff-only", "origin/main"]).ok();
        assert!(team.shiftlog(&a, "log", &[]).ok().contains("news of somebody else"), "what came with it stays");
        team.shiftlog(&a, "sync", &["-q"]).ok();
        assert_eq!(places(&team.scratch, &a, "zorgon"), [""; 0]);
    }
}

#[test]
fn a_remote_of_which_nothing_is_known_is_named() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.shiftlog(&a, "init", &["--no-share", "-q"]).ok();
    says_the_customer(&team, &a);
    team.git(&a, &["push", "-q", "--mirror", "--no-verify"]).ok();
    let ran = team.shiftlog(&a, "purge", &["--match=zorgon", "--yes"]);
    let hint = "hint: git ls-remote origin \"refs/notes/*\" \"refs/shiftlog/*\"    # lists what a push without our hook has put there\n";
    assert!(ran.code == 0 && ran.stderr.contains(hint), "{ran:?}");
}
