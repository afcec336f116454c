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
        let dry = scratch.shiftlog("purge", ["-n", "--match=nothing such"]);
        let told = "warning: a purge was interrupted; 'git shiftlog fsck' finishes it\n";
        assert!(dry.stderr.contains(told), "{point}: {dry:?}");
        let reads = [&["show", "HEAD"][..], &["log"], &["branches"], &["stats"], &["grep", "harmless"]];
        for args in reads {
            let read = scratch.shiftlog(args[0], &args[1..]).stderr;
            let told = "warning: a purge was interrupted, or is running; 'git shiftlog fsck' finishes it\n";
            assert_eq!(read.matches(told).count(), 1, "{point} {args:?}: {read}");
        }
        let finished = match number % 4 {
            3 => purge(&scratch, &[&format!("--match={SECRET}")]),
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
    assert_ne!(team.shiftlog(&a, "purge", &["--all", "--yes", "HEAD"]).code, 0);
    team.scratch.env.remove("SHIFTLOG_FAULT");
    team.scratch.run_in(&a, "git-shiftlog--hook", ["git", "push-now", "origin"]).ok();
    let log = fs::read_to_string(a.join(".git/shiftlog/log")).unwrap();
    assert!(log.contains("pushed nothing: a purge was interrupted; 'git shiftlog sync' finishes it"), "{log}");
    assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new());
    assert!(!places(&team.scratch, &a, SECRET).is_empty(), "a hook finishes nothing behind the user's back");
}

#[test]
fn a_session_that_goes_on_before_a_killed_purge_is_finished_loses_no_word() {
    for point in FAULTS {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt(&format!("use {SECRET}"));
        session.edits("x", "1\n");
        session.commits("one");
        let mut killed = scratch.command("git-shiftlog-purge", &scratch.top);
        let killed = killed.args(["--yes", &format!("--match={SECRET}")]).env("SHIFTLOG_FAULT", point);
        assert_ne!(feed(killed, b"").code, 0, "{point}");
        session.prompt("go on");
        session.edits("x", "2\n");
        session.commits("two");
        session.says("and an answer");
        session.prompt("once more");
        session.edits("x", "3\n");
        session.commits("three");
        assert!(scratch.waiting() > 0, "{point}: nothing is stored meanwhile");
        let waiting = scratch.shiftlog("show", ["HEAD"]).stderr;
        assert!(waiting.contains("a purge was interrupted; 'git shiftlog fsck' finishes it"), "{point}: {waiting}");
        let finished = scratch.shiftlog("fsck", [""; 0]);
        assert!(finished.stderr.contains("it is finished now"), "{point}: {finished:?}");
        scratch.shiftlog("fsck", ["--repair"]).ok();
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{point}");
        let text = session.text().replace(SECRET, "[REDACTED:purged]");
        let words = [scratch.raw("HEAD~1", &[]), scratch.raw("HEAD", &[])];
        assert!(words[0].contains("go on") && !words[0].contains("once more"), "{point}: {}", words[0]);
        assert!(words[1].contains("once more") && !words[1].contains("go on"), "{point}: {}", words[1]);
        assert!(text.starts_with(&scratch.raw("HEAD", &["--full"])), "{point}");
        let checked = scratch.shiftlog("fsck", [""; 0]);
        assert_eq!((checked.code, checked.stderr.as_str(), scratch.waiting()), (0, "", 0), "{point}");
        scratch.assert_sound();
    }
}

#[test]
fn a_push_of_our_refs_is_stopped_while_a_purge_is_unfinished() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    says(&team.scratch, &a, "s", &[SECRET]);
    let mut killed = team.scratch.command("git-shiftlog-purge", &a);
    assert_ne!(feed(killed.args(["--all", "--yes", "HEAD"]).env("SHIFTLOG_FAULT", "purge-journalled"), b"").code, 0);
    let mirror = team.scratch.root().join("mirror.git");
    team.scratch.git(["init", "-q", "--bare", mirror.to_str().unwrap()]).ok();
    let pushed = team.git(&a, &["push", "-q", "--mirror", mirror.to_str().unwrap()]);
    assert_ne!(pushed.code, 0);
    assert!(pushed.stderr.contains("this push takes conversations along, and a purge was interrupted"), "{pushed:?}");
    assert_eq!(places(&team.scratch, &mirror, SECRET), Vec::<String>::new());
    team.git(&a, &["push", "-q"]).ok();
}
