//! `purge` typed by somebody who knows its manual page only.

use super::*;

/// Two clones, of which one has a commit with a conversation in two parts and another commit, and shares `what`; the other
/// one has the notes alone. Also returns the commits.
fn notes_alone(what: &str) -> (Team, PathBuf, PathBuf, String, String) {
    let team = Team::new();
    let (a, b) = (team.bare_clone("a", &[]), team.bare_clone("b", &[]));
    team.shiftlog(&a, "init", &["--agent=claude", &format!("--share={what}"), "-q"]).ok();
    team.shiftlog(&b, "init", &["--agent=claude", "--share=notes", "-q"]).ok();
    let commit = team.commit(&a, "x", "1\n", "words of a");
    let said = a.join(".git/said");
    fs::write(&said, line("words of a") + &line("the end of it")).unwrap();
    let args = ["--transcript", said.to_str().unwrap(), "--session", "words-of-a", "-q"];
    team.shiftlog(&a, "add", &[&["HEAD"], &args[..]].concat()).ok();
    let other = team.commit(&a, "x", "2\n", "more of a");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    assert!(team.git(&b, &["notes", "--ref=shiftlog", "show", &commit]).ok().contains("words of a"));
    (team, a, b, commit, other)
}

#[test]
fn a_note_goes_when_it_is_known_which_words_go_with_it() {
    for by in ["commit", "date", "range"] {
        let (team, _, b, commit, other) = notes_alone("all");
        let range = format!("{commit}~..{commit}");
        let (args, conversations) = match by {
            "commit" => (vec![commit.as_str()], "1 conversation"),
            "range" => (vec![range.as_str()], "1 conversation"),
            _ => (vec!["--before=now", "--all"], "2 conversations"),
        };
        let elsewhere = format!("the words of {conversations} are not here yet");
        let dry = team.shiftlog(&b, "purge", &[&args[..], &["--dry-run"]].concat());
        assert_eq!(dry.stderr, format!("warning: {elsewhere}; nothing is removed before they are\n"), "{by}");
        let hint = "hint: 'git shiftlog sync pull --all' fetches transcripts that others share";
        let early = team.shiftlog(&b, "purge", &[&args[..], &["--yes"]].concat());
        told(&early, 128, &format!("fatal: {elsewhere}\n{hint}\n"));
        let note = |commit: &str| team.git(&b, &["notes", "--ref=shiftlog", "show", commit]);
        assert_eq!(note(&commit).code, 0, "{by}");
        team.shiftlog(&b, "sync", &["pull", "--all", "-q"]).ok();
        team.shiftlog(&b, "purge", &[&args[..], &["--yes"]].concat()).ok();
        assert_ne!(note(&commit).code, 0, "{by}");
        assert_eq!(note(&other).code == 0, by != "date", "the other one stays: {by}");
        // Nobody brings the words back.
        team.shiftlog(&b, "sync", &["pull", "--all", "-q"]);
        assert_ne!(team.raw(&b, &commit).code, 0, "{by}");
        assert_eq!(team.raw(&b, &other).code == 0, by != "date", "{by}");
        let list = team.git(&b, &["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).stdout;
        assert!(!list.contains("words-of-a"), "{by}: {list}");
    }
}

#[test]
fn a_note_goes_although_nobody_shares_its_words() {
    let (team, _, b, commit, other) = notes_alone("notes");
    team.shiftlog(&b, "sync", &["pull", "--all", "-q"]).ok();
    let dry = team.shiftlog(&b, "purge", &["--dry-run", &commit]);
    let expected = "would remove 0 segments and change 0 segments and 1 note\n";
    assert!(dry.stdout.starts_with(expected) && dry.stderr.is_empty(), "{dry:?}");
    team.shiftlog(&b, "purge", &["--yes", &commit]).ok();
    let note = |commit: &str| team.git(&b, &["notes", "--ref=shiftlog", "show", commit]);
    assert_ne!(note(&commit).code, 0);
    note(&other).ok();
}

#[test]
fn purge_takes_ranges_and_helps_with_the_beginning_of_an_id() {
    let scratch = recorded();
    told(&purge(&scratch, &["--session=nosuch"]), 1, "error: nothing that is recorded matches\n");
    told(
        &purge(&scratch, &["--session=first"]),
        1,
        "error: nothing that is recorded matches\nhint: the whole id is needed: --session=first-session\n",
    );
    told(
        &purge(&scratch, &["--dry-run", "first-session", "HEAD~1..HEAD"]),
        129,
        "error: 'first-session' is a session\nhint: git shiftlog purge --session=first-session    # removes it\n",
    );
    assert_eq!(scratch.records("HEAD~1").len(), 1);
    let missing = purge(&scratch, &["HEAD~2..nosuch"]);
    told(&missing, 128, "fatal: bad revision 'HEAD~2..nosuch'\n");
    told(&purge(&scratch, &["HEAD~2..HEAD~2"]), 1, "error: no conversation recorded for HEAD~2..HEAD~2\n");
    told(
        &scratch.shiftlog("purge", ["--yes", "HEAD~2.."]),
        128,
        "fatal: refusing to remove everything that is recorded here\n\
         hint: 'git shiftlog purge --all' with the same options does it\n",
    );
    purge(&scratch, &["HEAD~1..HEAD"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0);
    assert_eq!(scratch.records("HEAD~1").len(), 1, "only what the range has");
}

/// The next push replaced nothing of it, and nothing said so.
#[test]
fn what_a_remote_keeps_under_earlier_settings_is_told_with_what_removes_it() {
    for (key, value, refs) in [
        ("shiftlog.push", "notes", "refs/shiftlog/sessions"),
        ("shiftlog.push", "none", "refs/notes/shiftlog refs/shiftlog/sessions"),
        ("shiftlog.notesRef", "other", "refs/notes/shiftlog"),
        ("shiftlog.sessionsRemote", "elsewhere", "refs/shiftlog/sessions"),
    ] {
        let team = Team::new();
        let a = team.clone_of("a", &[]);
        team.commit(&a, "x", "1\n", "words of a");
        team.commit(&a, "x", "2\n", "other words");
        team.says(&a, "HEAD", "secret words");
        team.git(&a, &["push", "-q", "--no-verify"]).ok();
        team.shiftlog(&a, "sync", &["-q"]).ok();
        team.git(&a, &["config", key, value]).ok();
        team.scratch.git(["init", "-q", "--bare", "../elsewhere.git"]).ok();
        team.git(&a, &["remote", "add", "elsewhere", "../elsewhere.git"]).ok();
        let removed = team.shiftlog(&a, "purge", &["--yes", "--session=secret-words"]);
        assert_eq!(removed.code, 0, "{key}={value}: {removed:?}");
        let command = format!("git push --delete origin {refs}");
        let hint = format!("hint: {command}    # removes what everybody has shared there\n");
        assert!(removed.stderr.contains(&hint), "{key}={value}: {}", removed.stderr);
        let all = "hint: git shiftlog sync push --all origin    # replaces what 'origin' has, and shares all that is recorded here\n";
        assert_eq!(removed.stderr.contains(all), key == "shiftlog.push", "{key}={value}: {}", removed.stderr);
        let replaces = removed.stderr.contains("git shiftlog sync push origin    # replaces what 'origin' has");
        assert_eq!(replaces, value != "none", "{key}={value}: {}", removed.stderr);
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        team.git(&a, &words).ok();
        if replaces {
            team.shiftlog(&a, "sync", &["push", "-q", "origin"]).ok();
        }
        let left = team.scratch.run_in(&team.server, "git", ["for-each-ref", "--format=%(refname)"]).ok();
        for name in refs.split(' ') {
            assert!(!left.lines().any(|there| there == name), "{key}={value}: {left}");
        }
        team.scratch.run_in(&team.server, "git", ["gc", "-q", "--prune=now"]).ok();
        let found = crate::purging::places(&team.scratch, &team.server, "secret words");
        assert_eq!(found, [""; 0], "{key}={value}");
    }
}

#[test]
fn a_second_purge_before_the_push_names_the_remote_again() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.commit(&a, "x", "1\n", "words of a");
    team.says(&a, "HEAD", "secret words");
    team.says(&a, "HEAD", "other secrets");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let hint = "hint: git shiftlog sync push origin    # replaces what 'origin' has\n";
    for session in ["secret-words", "other-secrets"] {
        let removed = team.shiftlog(&a, "purge", &["--yes", &format!("--session={session}")]);
        assert!(removed.code == 0 && removed.stderr.contains(hint), "{session}: {removed:?}");
    }
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
    for words in ["secret words", "other secrets"] {
        assert_eq!(crate::purging::places(&team.scratch, &team.server, words), [""; 0]);
    }
}

#[test]
fn a_purge_in_json_counts_what_an_interrupted_one_had_to_remove() {
    let mut scratch = recorded();
    scratch.env.insert("SHIFTLOG_FAULT".into(), "purge-journalled".into());
    assert_ne!(purge(&scratch, &["HEAD"]).code, 0);
    scratch.env.remove("SHIFTLOG_FAULT");
    let finished = scratch.shiftlog("purge", ["--json", "--received", "--yes"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    let told: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert!(told["objects"].as_u64() > Some(0), "{told}");
}

#[test]
fn a_list_of_what_was_written_that_cannot_be_read_is_told_by_doctor_and_its_fix_fixes_it() {
    let scratch = recorded();
    let list = scratch.state().join("installed");
    fs::write(&list, "{\"shiftlog\"").unwrap();
    assert_eq!(scratch.shiftlog("init", ["--agent=claude"]).code, 128);
    let checked = scratch.shiftlog("doctor", ["--no-rehearsal"]);
    assert_eq!(checked.code, 1);
    let found = checked.stdout.lines().skip_while(|line| !line.starts_with("problem  the list of what")).nth(1);
    let fix = found.and_then(|line| line.trim().strip_prefix("fix: ")).unwrap_or_else(|| panic!("{checked:?}"));
    scratch.run_in(&scratch.top, "sh", ["-c", fix]).ok();
    assert!(!scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout.contains("the list of what"));
    assert_eq!(scratch.shiftlog("deinit", ["-q"]).code, 0);
}

#[test]
fn damage_of_the_notes_is_told_once() {
    let scratch = recorded();
    let tip = scratch.git(["rev-parse", "refs/notes/shiftlog^{tree}"]).ok();
    let (head, rest) = tip.trim().split_at(2);
    fs::remove_file(scratch.top.join(".git/objects").join(head).join(rest)).unwrap();
    let checked = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    assert_eq!(checked.matches("problem  the last records: ").count(), 1, "{checked}");
}

/// The copy had the words, and a push sent them.
#[test]
fn a_copy_of_a_purged_transcript_is_not_recorded_unless_somebody_insists() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("the word is hunter2");
    session.edits("a.txt", "1\n");
    session.commits("one");
    session.hook("Stop");
    let copy = scratch.root().join("copy.jsonl");
    let beginning = fs::read_to_string(&session.transcript).unwrap();
    fs::write(&copy, beginning.split_inclusive('\n').take(1).collect::<String>()).unwrap();
    scratch.shiftlog("purge", ["--match=hunter2", "--yes"]).ok();
    let option = format!("--transcript={}", copy.display());
    let refused = scratch.shiftlog("add", ["--session=s1", &option]);
    assert_eq!(refused.code, 128, "{refused:?}");
    let why = "words of session claude/s1 were removed by 'git shiftlog purge', and this transcript may have them";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    assert_eq!(scratch.shiftlog("grep", ["hunter2"]).stdout, "");
    // The file of which hooks have told is known.
    session.prompt("go on");
    let own = format!("--transcript={}", session.transcript.display());
    scratch.shiftlog("add", ["--session=s1", &own]).ok();
    assert_eq!(scratch.shiftlog("grep", ["hunter2"]).stdout, "");
    scratch.shiftlog("add", ["--session=s1", &option, "--force"]).ok();
}

/// All of the session is gone there.
#[test]
fn a_colleague_who_has_received_a_purge_brings_nothing_back() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.commit(&a, "x", "1\n", "words of a");
    team.says(&a, "HEAD", "secret words");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.shiftlog(&a, "purge", &["--yes", "--match=secret words"]).ok();
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.shiftlog(&b, "sync", &["pull", "-q"]);
    team.shiftlog(&b, "purge", &["--received", "--yes"]).ok();
    assert_eq!(crate::purging::places(&team.scratch, &b, "secret words"), [""; 0]);
    let copy = team.scratch.root().join("copy");
    fs::write(&copy, line("secret words")).unwrap();
    let option = format!("--transcript={}", copy.display());
    let refused = team.shiftlog(&b, "add", &["--session=secret-words", &option]);
    assert_eq!(refused.code, 128, "{refused:?}");
    assert_eq!(crate::purging::places(&team.scratch, &b, "secret words"), [""; 0]);
}

/// Nothing tells how much of it was recorded.
#[test]
fn a_transcript_that_was_added_by_hand_is_not_added_again_after_a_purge() {
    let scratch = Scratch::new();
    let file = scratch.root().join("said");
    fs::write(&file, line("the word is hunter2")).unwrap();
    let add = |args: &[&str]| {
        let option = format!("--transcript={}", file.display());
        scratch.shiftlog("add", [&["--session=s-a", &*option], args].concat())
    };
    add(&["-q"]).ok();
    scratch.shiftlog("purge", ["--match=hunter2", "--yes"]).ok();
    assert_eq!(add(&[]).code, 128);
    fs::write(&file, line("the word is hunter2") + &line("and more")).unwrap();
    assert_eq!(add(&[]).code, 128);
    assert_eq!(scratch.shiftlog("grep", ["hunter2"]).stdout, "");
}

/// The advice was to delete what others had shared.
#[test]
fn a_remote_that_has_nothing_of_what_was_purged_is_left_alone() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    let b = team.bare_clone("b", &[]);
    team.shiftlog(&b, "init", &["--agent=claude", "-q"]).ok();
    team.commit(&a, "x", "1\n", "words of a");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    team.commit(&b, "y", "1\n", "other");
    team.says(&b, "HEAD", "secret words");
    let removed = team.shiftlog(&b, "purge", &["--yes", "--session=secret-words"]);
    assert!(removed.code == 0 && !removed.stderr.contains("origin"), "{removed:?}");
}

#[test]
fn a_purge_that_is_finished_later_tells_what_has_the_words_and_doctor_tells_that_it_is_not() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    team.commit(&a, "x", "1\n", "words of a");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.scratch.env.insert("SHIFTLOG_FAULT".into(), "purge-journalled".into());
    assert_ne!(team.shiftlog(&a, "purge", &["--all", "--yes", "HEAD"]).code, 0);
    team.scratch.env.remove("SHIFTLOG_FAULT");
    let checked = team.shiftlog(&a, "doctor", &["--no-rehearsal"]);
    let problem = "problem  a purge: it was interrupted, and nothing is pushed until it is finished\n         fix: git shiftlog fsck\n";
    assert!(checked.stdout.contains(problem), "{}", checked.stdout);
    let finished = team.shiftlog(&a, "fsck", &[]);
    let hint = "hint: git shiftlog sync push origin    # replaces what 'origin' has\n";
    assert!(finished.stderr.contains(hint), "{}", finished.stderr);
    assert!(!team.shiftlog(&a, "doctor", &["--no-rehearsal"]).stdout.contains("a purge"));
}

#[test]
fn notes_that_were_fetched_and_not_joined_are_named_by_what_does_not_look_at_them() {
    let team = Team::new();
    let [_, b] = team.clones_after("words of a");
    team.git(&b, &["-c", "core.hooksPath=/dev/null", "pull", "-q"]).ok();
    team.git(&b, &["fetch", "-q"]).ok();
    let verified = team.shiftlog(&b, "verify", &["HEAD"]);
    let hint = "hint: fetched notes are verified once 'git shiftlog sync pull' has joined them\n";
    assert_eq!((verified.code, verified.stderr.as_str()), (1, &*format!("error: no record on these commits\n{hint}")));
    let planned = team.shiftlog(&b, "purge", &["-n", "HEAD"]);
    let hint = "hint: 'git shiftlog sync pull' joins the notes that were fetched; a dry run does not look at them\n";
    assert!(planned.code == 1 && planned.stderr.ends_with(hint), "{}", planned.stderr);
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    assert_eq!(team.shiftlog(&b, "verify", &["HEAD"]).code, 0);
    assert_eq!(team.shiftlog(&b, "purge", &["-n", "HEAD"]).code, 0);
}

/// The fix took everything out of what a mirror fetches.
#[test]
fn a_mirror_goes_on_mirroring_after_the_fix_of_doctor() {
    let team = Team::new();
    let url = team.server.to_str().unwrap();
    team.scratch.git(["clone", "-q", "--mirror", url, "../mirror.git"]).ok();
    let mirror = team.scratch.root().join("mirror.git");
    team.shiftlog(&mirror, "init", &["--agent=claude", "-q"]);
    let doctor = || team.shiftlog(&mirror, "doctor", &["--no-rehearsal"]).stdout;
    let told = doctor();
    let found = told.lines().skip_while(|line| !line.contains("remote.origin.fetch +refs/*:refs/*")).nth(1);
    let fix = found.and_then(|line| line.trim().strip_prefix("fix: ")).unwrap_or_else(|| panic!("{told}"));
    team.scratch.run_in(&mirror, "sh", ["-c", fix]).ok();
    assert!(!doctor().contains("refs/*:refs/*"), "{}", doctor());
    team.scratch.run_in(&team.server, "git", ["branch", "new"]).ok();
    team.scratch.run_in(&team.server, "git", ["update-ref", "refs/notes/shiftlog", "HEAD"]).ok();
    team.scratch.run_in(&mirror, "git", ["fetch", "-q"]).ok();
    let refs = team.scratch.run_in(&mirror, "git", ["for-each-ref", "--format=%(refname)"]).ok();
    assert!(refs.contains("refs/heads/new\n") && !refs.contains("refs/notes/shiftlog"), "{refs}");
}

#[test]
fn commits_of_the_archive_are_nobodys_work_also_after_a_purge_and_a_merge() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.commit(&a, "x", "1\n", "words of a");
    team.commit(&b, "y", "1\n", "words of b");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.commit(&b, "y", "2\n", "more of b");
    team.shiftlog(&b, "purge", &["-y", "HEAD"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.commit(&a, "x", "2\n", "more of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    for clone in [&a, &b] {
        let authors = team.git(clone, &["log", "--format=%an", "refs/shiftlog/sessions"]).ok();
        assert!(authors.lines().all(|author| author == "git-shiftlog"), "{authors}");
    }
}
