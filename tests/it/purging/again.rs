//! Attaching or importing again what was purged.

use super::*;
use crate::importing::Past;
use crate::purged_words::agents_file;

/// A session with a sub-agent that says the secret, both recorded on HEAD. Also returns the sub-agent's file.
fn with_sub_agent(scratch: &Scratch) -> PathBuf {
    let session = scratch.session("s1");
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("agent-a1.jsonl");
    let record = serde_json::json!({"type": "user", "isSidechain": true, "agentId": "a1", "sessionId": "s1", "uuid": "u1",
        "timestamp": "2026-06-16T15:43:13.511Z", "message": {"role": "user", "content": SECRET}});
    fs::write(&file, format!("{record}\n")).unwrap();
    session.prompt("ask a helper");
    session.edits("x", "1\n");
    session.commits("one");
    file
}

fn add(scratch: &Scratch, file: &Path, args: &[&str]) -> Ran {
    let option = format!("--transcript={}", file.display());
    scratch.shiftlog("add", [&[option.as_str()], args].concat())
}

#[test]
fn the_transcript_of_a_sub_agent_is_attached_as_the_sub_agents() {
    let scratch = Scratch::set_up();
    let file = with_sub_agent(&scratch);
    scratch.commit("y", "1\n", "two");
    let copy = scratch.root().join("copy.jsonl");
    let message = serde_json::json!({ "role": "user", "content": "and more" });
    let record = serde_json::json!({ "type": "user", "isSidechain": true, "message": message });
    let more = format!("{}{record}\n", fs::read_to_string(&file).unwrap());
    fs::write(&copy, &more).unwrap();
    assert_eq!(add(&scratch, &copy, &["--since=", "HEAD"]).code, 129);
    let ran = add(&scratch, &copy, &["-n"]).ok();
    assert!(ran.starts_with("would record session claude/s1.a1 on "), "{ran}");
    let session = agents_file(&scratch, "s1");
    let store = session.with_extension("").join("subagents");
    fs::create_dir_all(&store).unwrap();
    fs::write(&session, text(&["ask a helper"])).unwrap();
    fs::write(store.join("agent-a1.jsonl"), &more).unwrap();
    let ran = scratch.shiftlog("add", ["--session=s1.a1", "-n"]);
    assert!(ran.stdout.starts_with("would record session claude/s1.a1 on "), "{ran:?}");
    let ran = scratch.shiftlog("add", ["--session=s1.a2", "-n"]);
    assert!(ran.code == 128 && ran.stderr.contains("has no session 's1.a2'"), "{ran:?}");
}

#[test]
fn no_transcript_brings_a_purged_sub_agent_back() {
    for what in ["--session=s1.a1", "--match=Ferdinand"] {
        let scratch = Scratch::set_up();
        let file = with_sub_agent(&scratch);
        let ran = purge(&scratch, &[what]);
        let warning = format!("warning: the agent's own file still has the words: '{}'\n", file.display());
        assert!(ran.code == 0 && ran.stderr.contains(&warning), "{what}: {ran:?}");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
        for args in [&[][..], &["--session=other"], &["--session=other.a1"]] {
            let ran = add(&scratch, &file, args);
            assert_ne!(ran.code, 0, "{what} {args:?}: {ran:?}");
            let dry = add(&scratch, &file, &[args, &["-n"]].concat());
            assert_eq!((dry.code, &dry.stderr), (ran.code, &ran.stderr), "{what} {args:?}: -n says the same");
            assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what} {args:?}: {ran:?}");
        }
    }
}

#[test]
fn no_other_name_brings_a_purged_session_back() {
    for what in ["--session=s1", "--match=Ferdinand", "HEAD"] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt(SECRET);
        session.edits("x", "1\n");
        session.commits("one");
        purge(&scratch, &[what]).ok();
        let ran = add(&scratch, &session.transcript, &["--session=other"]);
        let why = "fatal: words of session claude/s1 were removed by 'git shiftlog purge', and this transcript may have them\n";
        assert_eq!(ran.stderr, format!("{why}hint: --force records it all the same\n"), "{what}");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what}");
        add(&scratch, &session.transcript, &["--session=other", "--force"]).ok();
    }
}

/// The marks of others were fetched; until the user has accepted them they still keep words from being recorded that others
/// have removed.
#[test]
fn what_others_have_purged_is_not_imported_into_a_new_clone() {
    for what in ["--session=s1", "--match=Ferdinand"] {
        let team = Team::new();
        let a = team.clone_of("a", &[]);
        let past = Past::in_directory(&team.scratch, "s1", &a);
        let session = &past.0;
        begins(session);
        team.shiftlog(&a, "purge", &["--all", "--yes", what]).ok();
        team.git(&a, &["push", "-q", "--no-verify"]).ok();
        team.shiftlog(&a, "sync", &["-q"]).ok();
        fs::remove_dir_all(&a).unwrap();
        let a = team.clone_of("a", &[]);
        team.shiftlog(&a, "sync", &["pull", "-q", "--all"]).ok();
        let imported = team.shiftlog(&a, "import", &[]).ok();
        let left = "left session claude/s1 alone: others have purged words of it ('git shiftlog purge --received')\n";
        assert!(imported.contains(left), "{what}: {imported}");
        let ran = add(&team.scratch, &session.transcript, &[]);
        assert_eq!(places(&team.scratch, &a, SECRET), Vec::<String>::new(), "{what}: {ran:?}");
        let here = team.shiftlog(&a, "add", &["--transcript", session.transcript.to_str().unwrap()]);
        assert!(here.stderr.contains("were removed by others ('git shiftlog purge --received')"), "{what}: {here:?}");
        assert_eq!(places(&team.scratch, &a, SECRET), Vec::<String>::new(), "{what}");
        // The same after they were accepted.
        team.shiftlog(&a, "purge", &["--yes", "--received"]);
        let imported = team.shiftlog(&a, "import", &[]).ok();
        assert!(!imported.contains("others") && imported.contains("archived 0"), "{what}: {imported}");
        assert_eq!(places(&team.scratch, &a, SECRET), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn an_instruction_file_that_still_has_the_words_is_told_of() {
    let scratch = Scratch::set_up();
    scratch.write("CLAUDE.md", &format!("The word is {SECRET}.\n"));
    let session = scratch.session("s1");
    session.prompt("begin");
    session.edits("x", "1\n");
    session.commits("one");
    let ran = purge(&scratch, &[&format!("--match={SECRET}")]);
    assert!(ran.stderr.contains("warning: an instruction file or evidence had the words, too; "), "{ran:?}");
}

#[test]
fn who_removes_all_refs_is_told_that_purge_marks_go_too() {
    let scratch = Scratch::set_up();
    says(&scratch, &scratch.top, "s", &[SECRET]);
    let told = "warning: this also deletes the purge marks: a later import records purged words again if agents still have them\n";
    assert!(!scratch.shiftlog("deinit", ["-n", "--purge-refs"]).stderr.contains(told));
    purge(&scratch, &["HEAD"]).ok();
    let ran = scratch.shiftlog("deinit", ["-n", "--purge-refs"]);
    assert!(ran.stderr.contains(told), "{ran:?}");
}

#[test]
fn a_dry_run_tells_that_something_waits() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt(SECRET);
    session.edits("x", "1\n");
    fs::create_dir_all(scratch.top.join(".git/refs/notes")).unwrap();
    fs::write(scratch.top.join(".git/refs/notes/shiftlog.lock"), "").unwrap();
    session.commits("one");
    assert!(scratch.waiting() > 0);
    let ran = scratch.shiftlog("purge", ["-n", "--match=Ferdinand"]);
    assert!(
        ran.stderr.contains("warning: something waits to be stored, and a dry run does not look at it\n"),
        "{ran:?}"
    );
    assert_eq!(scratch.shiftlog("verify", ["-q"]).stderr, "");
}

/// A new clone knows nothing of a purge but the marks, and the agent's file is still there.
#[test]
fn a_session_that_goes_on_in_a_new_clone_publishes_nothing_of_what_was_purged() {
    for (what, share, first) in [
        ("--match=Ferdinand", "--share=all", &["sync", "pull", "--all", "-q"][..]),
        ("--match=Ferdinand", "--share=all", &[]),
        ("HEAD", "--share=notes", &[]),
        ("HEAD", "--share=notes", &["sync", "-q"]),
        ("--match=Ferdinand", "--share=all", &["sync"]),
        ("HEAD", "--share=all", &["sync", "pull", "--all"]),
        ("--match=Ferdinand", "--share=all", &["import", "-q"]),
    ] {
        let case = format!("{what} {share} {first:?}");
        let team = Team::new();
        let a = team.bare_clone("a", &[]);
        team.shiftlog(&a, "init", &["--agent=claude", share, "-q"]).ok();
        let past = Past::in_directory(&team.scratch, "s1", &a);
        let session = &past.0;
        begins(session);
        team.git(&a, &["push", "-q", "--no-verify"]).ok();
        team.shiftlog(&a, "sync", &["-q"]).ok();
        team.shiftlog(&a, "purge", &["--all", "--yes", what]).ok();
        team.shiftlog(&a, "sync", &["push", "-q"]).ok();
        team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
        assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new(), "{case}: before");
        fs::remove_dir_all(&a).unwrap();
        let a = team.bare_clone("a", &[]);
        team.shiftlog(&a, "init", &["--agent=claude", share, "-q"]).ok();
        if let Some((command, args)) = first.split_first() {
            team.shiftlog(&a, command, args).ok();
        }
        session.prompt("and go on");
        session.edits("x", "2\n");
        session.commits("two");
        team.git(&a, &["push", "-q", "--no-verify"]).ok();
        let synced = team.shiftlog(&a, "sync", &[]);
        assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new(), "{case}: {synced:?}");
        let hint = "others have removed words that are here; 'git shiftlog purge --received'";
        let is_here = !places(&team.scratch, &a, SECRET).is_empty();
        // What a fetch has brought is compared with the marks.
        assert!(!(is_here && first.first() == Some(&"sync")), "{case}");
        assert_eq!(synced.stderr.contains(hint), is_here, "{case}: {synced:?}");
        let purged = team.shiftlog(&a, "purge", &["--yes", "--received", "--all"]);
        assert_eq!(places(&team.scratch, &a, SECRET), Vec::<String>::new(), "{case}: {purged:?}");
        session.prompt("once more");
        session.edits("x", "3\n");
        session.commits("three");
        team.shiftlog(&a, "sync", &["-q"]).ok();
        for clone in [&a, &team.server] {
            assert_eq!(places(&team.scratch, clone, SECRET), Vec::<String>::new(), "{case}");
        }
        assert!(!places(&team.scratch, &a, "once more").is_empty(), "{case}: later words are recorded");
        team.shiftlog(&a, "purge", &["--yes", "--received", "--all"]);
        assert!(!places(&team.scratch, &a, "once more").is_empty(), "{case}: nobody has purged these");
    }
}

/// `/branch` of Claude Code puts nothing in front of what it copies; each record says which one it is a copy of.
#[test]
fn a_branch_of_a_session_brings_nothing_back_of_what_was_purged() {
    for what in ["--match=Ferdinand", "HEAD", "--session=s1"] {
        let scratch = Scratch::set_up();
        let past = Past::new(&scratch, "s1");
        let session = &past.0;
        begins(session);
        purge(&scratch, &[what]).ok();
        let fork = Past::new(&scratch, "s2").0;
        let copied = session.text().replace(
            "\"sessionId\":\"s1\"",
            "\"sessionId\":\"s2\",\"forkedFrom\":{\"sessionId\":\"s1\",\"messageUuid\":\"u1\"}",
        );
        assert!(copied.contains("forkedFrom"));
        fork.append(copied.as_bytes());
        let added = add(&scratch, &fork.transcript, &["HEAD"]);
        assert!(added.stderr.contains("words of session claude/s1 were removed"), "{what}: {added:?}");
        fork.hook("SessionStart");
        fork.prompt("another way");
        fork.edits("x", "2\n");
        fork.commits("two");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what}");
        assert!(scratch.raw("HEAD", &["--full"]).contains("another way"), "{what}");
        scratch.shiftlog("import", ["--yes"]);
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what}: import");
    }
}

#[test]
fn a_reflog_that_has_the_words_is_told_until_its_entry_is_deleted() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt(SECRET);
    session.edits("x", "1\n");
    session.commits("one");
    scratch.git(["checkout", "-q", "refs/notes/shiftlog"]).ok();
    scratch.git(["checkout", "-q", "main"]).ok();
    let ran = purge(&scratch, &["--session=s1"]);
    let told = "error: 'HEAD@{1}' still has the removed words\nhint: git reflog delete --rewrite 'HEAD@{1}'\n";
    assert!(ran.code == 1 && ran.stderr.contains(told), "{ran:?}");
    assert_ne!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    scratch.git(["reflog", "delete", "--rewrite", "HEAD@{1}"]).ok();
    let again = purge(&scratch, &["--session=s1"]);
    assert!(again.code == 0 && again.stderr.contains("what an earlier purge had left is removed now"), "{again:?}");
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
}

/// Claude Code copies the words into another file, under another id.
#[test]
fn a_fork_brings_nothing_back_of_what_was_purged() {
    let ways = ["--match=Ferdinand", "HEAD", "--session=s1"];
    // What keeps the words from being stored at once.
    let hindrances = [None, Some(["shiftlog.redact.pattern", "x=("]), Some(["shiftlog.hookTimeout", "0"])];
    for (what, hindrance) in ways.into_iter().flat_map(|what| hindrances.map(|hindrance| (what, hindrance))) {
        let scratch = Scratch::set_up();
        let past = Past::new(&scratch, "s1");
        let session = &past.0;
        begins(session);
        let words = session.text();
        if hindrance.is_none() {
            // As the agent does after a month.
            fs::remove_file(&session.transcript).unwrap();
        }
        purge(&scratch, &[what]).ok();
        let fork = Past::new(&scratch, "s2").0;
        let begun = serde_json::json!({ "type": "mode", "mode": "normal", "sessionId": "s2", "timestamp": "2026-01-02T04:00:00Z" });
        let copied = words.replace("\"sessionId\":\"s1\"", "\"sessionId\":\"s2\"");
        fork.append(format!("{begun}\n{copied}").as_bytes());
        let before = fork.text().len();
        if let Some([key, value]) = hindrance {
            fork.hook("SessionStart");
            scratch.git(["config", key, value]).ok();
            // Its words so far are kept for later.
            fork.hook("SessionEnd");
        }
        fork.hook("SessionStart");
        fork.prompt("another way");
        fork.edits("x", "2\n");
        let new = fork.text()[before..].replace("2026-01-02T03:04:06Z", "2026-01-02T04:00:01Z");
        fs::write(&fork.transcript, fork.text()[..before].to_owned() + &new).unwrap();
        fork.commits("two");
        if let Some([key, _]) = hindrance {
            assert_eq!(scratch.records("HEAD").len(), 0);
            scratch.git(["config", "--unset", key]).ok();
            scratch.shiftlog("show", ["HEAD"]).ok();
        }
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what}");
        assert!(scratch.raw("HEAD", &["--full"]).contains("another way"), "{what}");
        scratch.shiftlog("fsck", [""; 0]).ok();
        let added = add(&scratch, &fork.transcript, &["HEAD~1"]);
        assert!(added.stderr.contains("words of session claude/s1 were removed"), "{what}: {added:?}");
        // It was settled long ago, and goes on.
        fork.hook("SessionEnd");
        for entry in fs::read_dir(scratch.state().join("settled")).into_iter().flatten().flatten() {
            fs::File::options()
                .append(true)
                .open(entry.path())
                .unwrap()
                .set_modified(std::time::SystemTime::UNIX_EPOCH)
                .unwrap();
        }
        scratch.session("s3").hook("SessionEnd");
        fork.hook("SessionStart");
        fork.prompt("and another");
        fork.edits("x", "4\n");
        fork.commits("three");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what}");
        assert!(scratch.raw("HEAD", &[]).contains("and another"), "{what}");
    }
}

#[test]
fn a_fork_that_is_recorded_and_stays_is_named() {
    let scratch = Scratch::set_up();
    let past = Past::new(&scratch, "s1");
    let session = &past.0;
    begins(session);
    let fork = Past::new(&scratch, "s2").0;
    fork.append(session.text().replace("\"sessionId\":\"s1\"", "\"sessionId\":\"s2\"").as_bytes());
    fork.hook("SessionStart");
    fork.prompt("another way");
    fork.edits("x", "2\n");
    fork.commits("two");
    let warning = |copy: &str, of: &str| {
        let why = format!("session claude/{copy} begins as claude/{of} does, and may have the same words");
        format!("warning: {why}; 'git shiftlog purge --session={copy}' removes it\n")
    };
    for args in [&["-n", "--session=s1"][..], &["-n", "HEAD~1"]] {
        let ran = scratch.shiftlog("purge", args);
        assert_eq!((ran.code, ran.stderr), (0, warning("s2", "s1")), "{args:?}");
    }
    let told = purge(&scratch, &["--session=s2", "-n"]);
    assert_eq!(told.stderr, warning("s1", "s2"));
    let told = scratch.shiftlog("purge", ["-n", "--json", "--session=s1"]).ok();
    assert!(told.contains(r#""copies":["claude/s2"]"#), "{told}");
    assert_eq!(scratch.shiftlog("purge", ["-n", "--match=Ferdinand"]).stderr, "", "a pattern reaches both");
    assert!(purge(&scratch, &["--session=s1"]).stderr.starts_with(&warning("s2", "s1")));
    assert_ne!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    purge(&scratch, &["--session=s2"]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
}

#[test]
fn the_parent_of_a_sub_agent_that_is_purged_is_named() {
    let scratch = Scratch::set_up();
    with_sub_agent(&scratch);
    let ran = scratch.shiftlog("purge", ["-n", "--session=s1.a1"]);
    let warning = "warning: session claude/s1 keeps the task of its sub-agent claude/s1.a1, and the answer; \
                   'git shiftlog purge --session=s1' removes it\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (0, warning));
    assert_eq!(scratch.shiftlog("purge", ["-n", "--all", "--session=s1"]).stderr, "");
}

#[test]
fn a_pattern_finds_a_line_within_a_message() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt(&format!("the first line\n{SECRET}\nthe last line"));
    session.edits("x", "1\n");
    session.commits("one");
    purge(&scratch, &[&format!("--match=^{SECRET}$")]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    let left = scratch.raw("HEAD", &[]);
    assert!(left.contains("the first line") && left.contains("the last line"), "{left}");
    for pattern in ["^the first", "line$"] {
        purge(&scratch, &[&format!("--match={pattern}")]).ok();
    }
    let left = scratch.raw("HEAD", &[]);
    assert!(!left.contains("first line") && !left.contains("last line"), "{left}");
}

/// Git's own advice helps, whichever ref is locked.
#[test]
fn a_lock_that_was_left_behind_is_named_with_what_helps() {
    for name in ["refs/notes/shiftlog", "refs/shiftlog/sessions", "refs/shiftlog/purged"] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt(SECRET);
        session.edits("x", "1\n");
        session.commits("one");
        let lock = scratch.top.join(".git").join(format!("{name}.lock"));
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(&lock, "").unwrap();
        for _ in 0..2 {
            let ran = purge(&scratch, &["--session=s1"]);
            let told = format!("fatal: cannot update '{name}': the lock '{}' is there\n", lock.display());
            let hint = format!("hint: if no git process is running, remove it: rm '{}'\n", lock.display());
            assert!(ran.stderr.contains(&told) && ran.stderr.contains(&hint), "{name}: {ran:?}");
        }
        fs::remove_file(&lock).unwrap();
        let ran = purge(&scratch, &["--session=s1"]);
        assert!(ran.stderr.contains("a purge was interrupted; it is finished now"), "{name}: {ran:?}");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{name}");
    }
}

/// Else what is left would be stored under new ids, which no mark names.
#[test]
fn who_has_not_taken_the_marks_of_others_purges_no_other_part_of_the_session() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    says(&team.scratch, &a, "s", &[SECRET, "harmless", "Yakword"]);
    for clone in [&a, &b] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    team.shiftlog(&a, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]);
    for args in [&["--match=Yakword"][..], &["HEAD"], &["-n", "--match=Yakword"]] {
        let ran = team.shiftlog(&b, "purge", &[&["--yes"], args].concat());
        let told = "others have removed words of session claude/s, and this would store them again\n";
        assert!(ran.code != 0 && ran.stderr.contains(told), "{args:?}: {ran:?}");
    }
    team.shiftlog(&b, "purge", &["--received", "--yes"]).ok();
    team.shiftlog(&b, "purge", &["--match=Yakword", "--yes"]).ok();
    for clone in [&b, &a, &b] {
        team.shiftlog(clone, "sync", &["-q"]);
    }
    team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
    for clone in [&b, &team.server] {
        for word in [SECRET, "Yakword"] {
            assert_eq!(places(&team.scratch, clone, word), Vec::<String>::new(), "{word}");
        }
    }
    assert_eq!(places(&team.scratch, &a, SECRET), Vec::<String>::new());
    team.assert_said(&b, "HEAD", &["[REDACTED:purged]", "harmless"]);
}

/// It was not ours, and nothing was fetched from there.
#[test]
fn a_remote_that_a_push_of_the_users_has_filled_is_named() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.allowMirror", "true"]).ok();
    let session = scratch.session("s1");
    session.prompt(SECRET);
    session.edits("x", "1\n");
    session.commits("one");
    let server = scratch.root().join("mirror.git");
    scratch.git(["init", "-q", "--bare", server.to_str().unwrap()]).ok();
    scratch.git(["remote", "add", "mirror", server.to_str().unwrap()]).ok();
    scratch.git(["push", "-q", "--mirror", "mirror"]).ok();
    let ran = purge(&scratch, &["--session=s1"]);
    let way =
        "hint: git push --delete mirror refs/notes/shiftlog refs/shiftlog/sessions    # removes what everybody has";
    assert!(ran.stderr.contains(way), "{ran:?}");
}

/// A rollout of Codex names the one that it was forked from, and nothing tells how much it repeats.
#[test]
fn a_fork_of_codex_brings_nothing_back_of_what_was_purged() {
    use crate::agents::codex::Thread;
    for what in ["--match=Ferdinand", "HEAD", "--session=one"] {
        let scratch = Scratch::set_up();
        scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
        let parent = Thread::new(&scratch, "one");
        parent.prompt(SECRET);
        scratch.commit("x", "1\n", "one");
        add(&scratch, &parent.path, &["--agent=codex", "--session=one"]).ok();
        purge(&scratch, &[what]).ok();
        let fork = Thread::new(&scratch, "two");
        let text = fs::read_to_string(&fork.path).unwrap().replacen(
            "\"id\":\"two\"",
            "\"forked_from_id\":\"one\",\"id\":\"two\"",
            1,
        );
        assert!(text.contains("forked_from_id"));
        fs::write(&fork.path, text).unwrap();
        fork.prompt(SECRET);
        let added = add(&scratch, &fork.path, &["--agent=codex", "--session=two"]);
        assert!(added.stderr.contains("words of session codex/one were removed"), "{what}: {added:?}");
        scratch.shiftlog("import", ["--yes"]);
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "{what}");
    }
}
