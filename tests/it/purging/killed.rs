//! A purge that was killed.

use super::*;

#[test]
fn a_purge_that_was_killed_is_told_and_finished_by_the_next_command() {
    for (number, point) in FAULTS.iter().enumerate() {
        let mut scratch = Scratch::new();
        scratch.git(["config", "core.logAllRefUpdates", "always"]).ok();
        says(&scratch, &scratch.top, "s", &[SECRET]);
        scratch.commit("x", "1\n", "next");
        says(&scratch, &scratch.top, "s", &[SECRET, "harmless"]);
        says(&scratch, &scratch.top, "t", &["another session"]);
        scratch.git(["gc", "-q"]).ok();
        let remote = scratch.root().join("remote.git");
        scratch.git(["init", "-q", "--bare", remote.to_str().unwrap()]).ok();
        scratch.git(["remote", "add", "origin", remote.to_str().unwrap()]).ok();
        scratch.env.insert("SHIFTLOG_FAULT".into(), (*point).into());
        assert_ne!(purge(&scratch, &[&format!("--match={SECRET}")]).code, 0, "{point}");
        scratch.env.remove("SHIFTLOG_FAULT");
        let repeats = |path: &PathBuf| path.is_file() && fs::read(path).unwrap().contains_str(SECRET);
        assert!(!scratch.state_files().iter().any(repeats), "{point}: the pattern is a secret too");
        let finished = match number % 3 {
            0 => scratch.shiftlog("sync", ["push", "--all"]),
            1 => scratch.shiftlog("fsck", [""; 0]),
            _ => scratch.shiftlog("purge", ["--received", "--yes"]),
        };
        assert_eq!(finished.code, 0, "{point}: {finished:?}");
        assert!(finished.stderr.contains("warning: a purge was interrupted; it is finished now: "), "{finished:?}");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{point}");
        assert_eq!(places(&scratch, &remote, SECRET), Vec::<String>::new(), "{point}");
        let clean = "[REDACTED:purged]";
        assert_eq!(scratch.raw("HEAD", &["--full", "--session=s"]), text(&[clean, "harmless"]), "{point}");
        assert_eq!(scratch.raw("HEAD", &["--session=t"]), text(&["another session"]), "{point}");
        assert_eq!(scratch.raw("HEAD~1", &[]), text(&[clean]), "{point}");
        let again = scratch.shiftlog("fsck", [""; 0]);
        assert_eq!((again.code, again.stderr.as_str()), (0, ""), "{point}: it is told once");
        scratch.assert_sound();
    }
}

#[test]
fn a_purge_that_was_killed_before_it_began_has_done_nothing() {
    let mut scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &[SECRET]);
    scratch.env.insert("SHIFTLOG_FAULT".into(), "purge-planned".into());
    assert_ne!(purge(&scratch, &["HEAD"]).code, 0);
    scratch.env.remove("SHIFTLOG_FAULT");
    assert_eq!(scratch.raw("HEAD", &[]), text(&[SECRET]));
    let checked = scratch.shiftlog("fsck", [""; 0]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
}

#[test]
fn a_push_by_itself_sends_nothing_while_a_purge_is_unfinished() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    says(&team.scratch, &a, "s", &[SECRET]);
    team.scratch.env.insert("SHIFTLOG_FAULT".into(), "purge-journalled".into());
    assert_ne!(team.shiftlog(&a, "purge", &["--yes", "HEAD"]).code, 0);
    team.scratch.env.remove("SHIFTLOG_FAULT");
    team.scratch.run_in(&a, "git-shiftlog--hook", ["git", "push-now", "origin"]).ok();
    let log = fs::read_to_string(a.join(".git/shiftlog/log")).unwrap();
    assert!(log.contains("pushed nothing: a purge was interrupted; 'git shiftlog sync' finishes it"), "{log}");
    assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new());
    assert!(!places(&team.scratch, &a, SECRET).is_empty(), "a hook finishes nothing behind the user's back");
}
