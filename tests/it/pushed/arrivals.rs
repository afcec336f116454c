//! Conversations go with a push that arrives, and with no other.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::sharing::Team;

/// Waits until the log of a clone has a line with these words.
fn logged(clone: &Path, words: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let log = fs::read_to_string(clone.join(".git/shiftlog/log")).unwrap_or_default();
        if log.contains(words) {
            return;
        }
        assert!(Instant::now() < until, "{words}: {log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The names of our refs on the server.
fn ours(team: &Team) -> String {
    team.git(&team.server, &["for-each-ref", "--format=%(refname)", "refs/notes", "refs/shiftlog"]).ok()
}

#[test]
fn a_push_that_another_hook_or_the_server_refuses_takes_nothing_along() {
    let team = Team::new();
    let clone = team.bare_clone("a", &[]);
    let hook = clone.join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nif test -e refuse; then echo 'a secret was found' >&2; exit 1; fi\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    team.shiftlog(&clone, "init", &["--agent=claude", "--share=all", "-q"]).ok();
    team.commit(&clone, "x", "1\n", "words that are mine");
    let push = |args: &[&str]| team.git(&clone, &[&["push", "-q", "origin"], args].concat());
    let nothing = "pushed nothing to origin: the push before it is not seen to have arrived";

    fs::write(clone.join("refuse"), "").unwrap();
    assert_ne!(push(&["main"]).code, 0);
    logged(&clone, nothing);
    assert_eq!(ours(&team), "");
    fs::remove_file(clone.join("refuse")).unwrap();
    fs::remove_file(clone.join(".git/shiftlog/log")).unwrap();

    team.refuse("true");
    assert_ne!(push(&["main"]).code, 0);
    logged(&clone, nothing);
    assert_eq!(ours(&team), "");
    fs::remove_file(team.server.join("hooks/update")).unwrap();

    push(&["main"]).ok();
    logged(&clone, "pushed 1 notes, 1 segments to origin");
    assert!(ours(&team).contains("refs/shiftlog/sessions\n"));

    // A server may take away at once what is pushed for review.
    fs::remove_file(clone.join(".git/shiftlog/log")).unwrap();
    let hook = team.server.join("hooks/post-receive");
    fs::write(&hook, "#!/bin/sh\ngit update-ref -d refs/for/main 2>/dev/null || true\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    team.commit(&clone, "x", "2\n", "more words of mine");
    push(&["HEAD:refs/for/main"]).ok();
    logged(&clone, "pushed 1 notes, 1 segments to origin");
}
