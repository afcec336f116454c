//! What the user's own Git sees of a push of ours.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::arrivals::{logged, ours};
use crate::sharing::Team;

fn fetched(team: &Team, clone: &std::path::Path) -> String {
    team.git(clone, &["for-each-ref", "--format=%(refname) %(objectname)", "refs/shiftlog/remotes"]).ok()
}

/// A fetch that has seen the pushed refs on the remote, and wants to move what Git is about to move, fails.
#[test]
fn a_fetch_during_a_push_of_ours_has_none_of_our_refs_to_move() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.commit(&clone, "x", "1\n", "first words");
    team.git(&clone, &["push", "-q", "--no-verify", "origin", "main"]).ok();
    team.shiftlog(&clone, "sync", &[]).ok();
    team.commit(&clone, "x", "2\n", "second words");
    let hook = team.server.join("hooks/post-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let seen = team.scratch.root().join("seen");
    let fetch = "env -i PATH=\"$PATH\" HOME=\"$HOME\" git -C";
    let (clone_path, seen_path) = (clone.display(), seen.display());
    fs::write(&hook, format!("#!/bin/sh\n{fetch} '{clone_path}' fetch --dry-run origin >>'{seen_path}' 2>&1\n"))
        .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let sent = team.shiftlog(&clone, "sync", &[]).ok();
    assert_eq!(sent, "origin: received 0 notes, 0 segments; sent 1 note, 1 segment\n");
    let seen = fs::read_to_string(seen).unwrap();
    assert!(!seen.contains("shiftlog") && !seen.contains("fatal"), "{seen}");
}

#[test]
fn a_push_that_does_not_arrive_leaves_the_fetched_refs_as_they_were() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.refuse("test \"$1\" = refs/shiftlog/sessions");
    for (number, has_notes) in [false, true].into_iter().enumerate() {
        team.commit(&clone, "x", &format!("{number}\n"), &format!("words {number}"));
        let before = fetched(&team, &clone);
        assert_eq!(before.contains("/notes "), has_notes, "{before}");
        assert_ne!(team.shiftlog(&clone, "sync", &[]).code, 0);
        let after = fetched(&team, &clone);
        assert!(after.contains("/notes ") && !after.contains("/sessions "), "{after}");
    }
    fs::remove_file(team.server.join("hooks/update")).unwrap();
    let sent = team.shiftlog(&clone, "sync", &[]).ok();
    assert!(sent.ends_with("; sent 0 notes, 2 segments\n"), "{sent}");
}

#[test]
fn what_a_killed_push_may_not_have_sent_is_sent_with_the_next() {
    let mut team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.commit(&clone, "x", "1\n", "words");
    team.scratch.env.insert("SHIFTLOG_FAULT".into(), "push-foreseen".into());
    assert_ne!(team.shiftlog(&clone, "sync", &[]).code, 0);
    team.scratch.env.remove("SHIFTLOG_FAULT");
    assert_eq!(ours(&team), "");
    team.git(&clone, &["push", "-q", "origin", "main"]).ok();
    logged(&clone, "pushed 1 notes, 1 segments to origin");
    assert!(ours(&team).contains("refs/shiftlog/sessions\n"));
    // Killed once more, and the words get there otherwise: the next exchange ends it.
    let marks = || {
        let state = fs::read_dir(clone.join(".git/shiftlog")).unwrap().flatten();
        state.filter(|entry| entry.file_name().to_string_lossy().starts_with("foreseen-")).count()
    };
    team.commit(&clone, "x", "2\n", "more words");
    team.scratch.env.insert("SHIFTLOG_FAULT".into(), "push-foreseen".into());
    assert_ne!(team.shiftlog(&clone, "sync", &[]).code, 0);
    team.scratch.env.remove("SHIFTLOG_FAULT");
    assert_eq!(marks(), 1);
    team.git(&clone, &["push", "-q", "--no-verify", "origin", "refs/notes/shiftlog", "refs/shiftlog/sessions"]).ok();
    assert_eq!(
        team.shiftlog(&clone, "sync", &[]).ok(),
        "origin: received 0 notes, 0 segments; sent 0 notes, 0 segments\n"
    );
    assert_eq!(marks(), 0);
}

#[test]
fn options_of_the_users_pushes_are_not_sent_with_ours() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.commit(&clone, "x", "1\n", "words");
    team.git(&clone, &["config", "push.pushOption", "ci.skip"]).ok();
    team.git(&clone, &["push", "-q", "--no-verify", "--no-push-option", "origin", "main"]);
    let sent = team.shiftlog(&clone, "sync", &[]).ok();
    assert_eq!(sent, "origin: received 0 notes, 0 segments; sent 1 note, 1 segment\n");
}

#[test]
fn a_push_into_the_repository_itself_shares_nothing() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.commit(&clone, "x", "1\n", "words");
    team.git(&clone, &["push", "-q", ".", "main:release"]).ok();
    let later = team.commit(&clone, "x", "2\n", "more words");
    team.git(&clone, &["push", "-q", "origin", "main"]).ok();
    logged(&clone, "pushed 2 notes, 2 segments to origin");
    assert!(!fetched(&team, &clone).contains("/url-"), "{later}");
}
