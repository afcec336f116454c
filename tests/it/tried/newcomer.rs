//! What a new user meets: dates with a slip of the finger, pushes in other words, and what is left after a removal.

use super::*;

#[test]
fn a_purge_says_which_date_it_understood_and_takes_none_that_is_not_whole() {
    let scratch = recorded();
    for date in
        ["2026", "0", "31/11/2026", "2026-11-27 25:00", "2026-11-27 04:57:05 garbage", "2 dyas ago", "2026-02-30"]
    {
        for options in [&["--yes", "--all"][..], &["--dry-run"]] {
            let ran = scratch.shiftlog("purge", [&[&format!("--before={date}")[..]], options].concat());
            let hint = "hint: dates are written as for Git: 2026-11-20, yesterday, 2.weeks.ago\n";
            told(&ran, 128, &format!("fatal: cannot read the date '{date}'\n{hint}"));
            assert_eq!(ran.stdout, "");
        }
    }
    let ran = scratch.shiftlog("purge", ["-n", "--before=2099-12-31 23:30"]).ok();
    assert!(ran.starts_with("captured before 2099-12-31 23:30: would remove 4 segments and change "), "{ran}");
    let ran = scratch.shiftlog("purge", ["-n", "--before=2000-01-01T10:00:00+0200"]);
    told(&ran, 1, "error: nothing was captured before 2000-01-01 08:00\n");
    let object = scratch.shiftlog("purge", ["--before=now", "--all", "--yes"]).ok();
    assert!(object.starts_with("captured before now: removing 4 segments "), "{object}");
    assert!(object.ends_with(" gone from this repository\n"), "{object}");
}

#[test]
fn conversations_leave_in_no_other_form() {
    let team = Team::new();
    let clone = team.bare_clone("a", &[]);
    team.shiftlog(&clone, "init", &["--agent=claude", "-q"]).ok();
    team.commit(&clone, "x", "1\n", "words that are mine");
    let git = |args: &[&str]| team.git(&clone, args);
    git(&["push", "-q", "origin", "main"]).ok();
    let listed = git(&["ls-tree", "-r", "--object-only", "refs/shiftlog/sessions"]).ok();
    let segment = listed.trim();
    git(&["tag", "-a", "-m", "x", "notes", "refs/notes/shiftlog"]).ok();
    git(&["tag", "-a", "-m", "x", "twice", "notes"]).ok();
    git(&["tag", "segment", segment]).ok();
    git(&["tag", "-a", "-m", "x", "told", segment]).ok();
    git(&["tag", "tree", "refs/shiftlog/sessions^{tree}"]).ok();
    git(&["switch", "-q", "-c", "joined"]).ok();
    git(&["merge", "-q", "--allow-unrelated-histories", "-m", "join", "refs/notes/shiftlog"]).ok();
    git(&["commit", "-q", "--allow-empty", "-m", "and on"]).ok();
    for name in ["notes", "twice", "segment", "told", "tree", "joined"] {
        let ran = git(&["push", "origin", name]);
        assert!(
            ran.stderr.starts_with("error: this push takes conversations along, and sharing is off\n"),
            "{name}: {ran:?}"
        );
    }
    assert_ne!(git(&["push", "origin", "--tags"]).code, 0);
    // Notes are allowed, and words are not.
    for (name, code) in [("notes", 0), ("joined", 0), ("segment", 1), ("told", 1), ("tree", 1)] {
        assert_eq!(git(&["-c", "shiftlog.push=notes", "push", "-q", "origin", name]).code, code, "{name}");
    }
    // A history of its own is no history of ours.
    git(&["switch", "-q", "--orphan", "alone"]).ok();
    git(&["commit", "-q", "--allow-empty", "-m", "alone"]).ok();
    git(&["tag", "-a", "-m", "x", "v1"]).ok();
    git(&["push", "-q", "origin", "alone", "v1", ":notes"]).ok();
}

#[test]
fn deinit_says_that_a_mirror_would_publish_what_stays() {
    let scratch = recorded();
    told(&scratch.shiftlog("deinit", ["-q"]), 0, "");
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let stays = "warning: what is recorded stays, and 'git push --mirror' then publishes it; \
                 'git shiftlog deinit --purge-refs' removes it\n";
    let planned = scratch.shiftlog("deinit", ["-n"]);
    assert_eq!((planned.code, planned.stderr.as_str()), (0, stays));
    told(&scratch.shiftlog("deinit", ["-q"]), 0, stays);
    let empty = Scratch::set_up();
    empty.git(["remote", "add", "origin", "/nowhere"]).ok();
    told(&empty.shiftlog("deinit", ["-q"]), 0, "");
}

#[test]
fn a_key_that_cannot_sign_is_told_with_what_does_without() {
    let scratch = Scratch::set_up();
    for (name, value) in [("commit.gpgSign", "true"), ("gpg.program", "false")] {
        scratch.git(["config", name, value]).ok();
    }
    let session = scratch.session("s1");
    session.prompt("words");
    session.edits("x", "1\n");
    session.runs_commit(&["--no-gpg-sign", "-m", "one"]);
    let fix = "git config shiftlog.sign false";
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    assert!(doctor.contains(&format!("fix: git shiftlog log    # if signing fails: {fix}\n")), "{doctor}");
    scratch.write("said", &line("words"));
    let ran = scratch.shiftlog("add", ["--transcript=said", "--session=s2"]);
    assert!(ran.code == 128 && ran.stderr.contains(&format!("hint: {fix}    # stores records without")), "{ran:?}");
    let ran = scratch.shiftlog("log", [""; 0]);
    assert!(ran.stderr.contains(fix), "{ran:?}");
    scratch.git(["config", "shiftlog.sign", "false"]).ok();
    scratch.shiftlog("log", [""; 0]).ok();
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn a_directory_for_temporary_files_that_is_gone_stops_no_command() {
    let mut scratch = recorded();
    let gone = scratch.root().join("gone");
    let installed = scratch.shiftlog("install-docs", ["--dry-run"]).ok();
    scratch.env.insert("TMPDIR".into(), gone.to_str().unwrap().to_owned());
    for (name, args) in [
        ("blame", &["a.txt"][..]),
        ("why", &["a.txt:1"]),
        ("log", &["-p"]),
        ("log", &["--graph"]),
        ("show", &["-p"]),
        ("show", &["--stat"]),
        ("stats", &["--lines"]),
        ("export", &["--html"]),
        ("doctor", &[]),
        ("install-docs", &["--dry-run"]),
        ("add", &["--help"]),
    ] {
        let ran = scratch.shiftlog(name, args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name} {args:?}: {}", ran.stdout);
        assert!(!gone.exists(), "{name} {args:?} made it");
    }
    // It asks the shells for their folders, each with a temporary home; a shell that cannot be asked counts as not there.
    assert_eq!(scratch.shiftlog("install-docs", ["--dry-run"]).ok(), installed);
}

#[test]
fn a_session_that_was_purged_and_goes_on_is_told_not_to_be_recorded() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("one");
    session.edits("x", "1\n");
    session.commits("one");
    scratch.shiftlog("purge", ["--all", "--session=s1", "--yes"]).ok();
    session.prompt("two");
    session.edits("x", "2\n");
    session.hook("Stop");
    let told = "removed by purge: not recorded again";
    let status = scratch.shiftlog("status", [""; 0]).ok();
    assert!(status.starts_with("claude s1, ") && status.contains(told) && !status.contains("on no commit"), "{status}");
    let object: serde_json::Value = serde_json::from_str(&scratch.shiftlog("status", ["--json"]).ok()).unwrap();
    assert_eq!((&object["problem"], &object["turns"], &object["bytes"]), (&json!(told), &json!(0), &json!(0)));
    session.commits("two");
    assert_eq!(scratch.records("HEAD").len(), 0, "so it is");
}

#[test]
fn sharing_sets_up_no_agent_that_was_not_chosen() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home().join(".codex")).unwrap();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    for option in ["--share", "--share=all", "--no-share"] {
        let steps = scratch.shiftlog("init", [option]).ok();
        assert!(!steps.contains("codex") && !scratch.top.join(".codex").exists(), "{option}: {steps}");
    }
    scratch.shiftlog("init", ["-q"]).ok();
    assert!(scratch.top.join(".codex").exists(), "without an option, all agents that are installed");
}

#[test]
fn files_trees_and_stashes_in_the_place_of_a_commit_are_told_from_what_is_not_there() {
    let scratch = recorded();
    scratch.git(["tag", "v1"]).ok();
    for command in ["why", "blame"] {
        let ran = scratch.shiftlog(command, ["v1:a.txt:1"]);
        let hint = format!("hint: git shiftlog {command} v1 a.txt:1    # asks about the file of that commit\n");
        told(&ran, 128, &format!("fatal: no such path in the working tree: 'v1:a.txt:1'\n{hint}"));
    }
    let bare = scratch.root().join("bare.git");
    scratch.git(["clone", "-q", "--mirror", ".", bare.to_str().unwrap()]).ok();
    let ran = scratch.shiftlog_in(&bare, "why", ["HEAD:a.txt:1"]);
    assert!(ran.stderr.contains("\nhint: git shiftlog why HEAD a.txt:1 "), "{ran:?}");
    scratch.shiftlog_in(&bare, "why", ["HEAD", "a.txt:1"]).ok();
    scratch.git(["tag", "-a", "-m", "x", "of-tree", "HEAD^{tree}"]).ok();
    scratch.git(["tag", "of-blob", "HEAD:a.txt"]).ok();
    for (name, kind) in [("of-tree", "tree"), ("of-blob", "blob"), ("HEAD:a.txt", "blob"), ("HEAD:", "tree")] {
        for command in ["log", "show", "verify"] {
            let ran = scratch.shiftlog(command, [name]);
            let message = format!("'{name}' names a {kind}, not a commit\n");
            let is_told = ran.stderr.contains(&message) && !ran.stderr.contains("''");
            assert!(ran.code == 128 && is_told, "{command} {name}: {ran:?}");
        }
    }
    scratch.write("a.txt", "changed\n");
    scratch.git(["stash", "-q"]).ok();
    let hint = "hint: 'git shiftlog log' lists the commits that have a conversation\n";
    told(
        &scratch.shiftlog("show", ["stash@{0}"]),
        1,
        &format!("error: no conversation recorded for stash@{{0}}\n{hint}"),
    );
}

#[test]
fn a_session_is_named_by_four_characters_or_its_whole_id() {
    let scratch = recorded();
    for name in ["f", "fir", "claude/fir"] {
        let ran = scratch.shiftlog("show", [name]);
        assert!(ran.code == 128 && ran.stderr.contains(&format!("'{name}'")), "{name}: {ran:?}");
    }
    for name in ["firs", "claude/firs"] {
        assert!(scratch.shiftlog("show", [name]).ok().contains("prompt 1"), "{name}");
    }
    let session = scratch.session("s1");
    session.prompt("whole");
    session.edits("b.txt", "1\n");
    session.commits("of s1");
    assert!(scratch.shiftlog("show", ["s1"]).ok().contains("whole"));
}
