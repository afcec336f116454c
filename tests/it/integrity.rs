//! What `git shiftlog fsck` finds, and what it puts right.

use std::fs;
use std::path::Path;

use crate::sharing::{Team, line};
use crate::support::{Scratch, feed};

/// Removes an object from a repository, as a damaged disk does.
pub fn lose(team: &Team, clone: &Path, id: &str) {
    team.git(clone, &["unpack-objects", "-q"]);
    let file = clone.join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(file).unwrap();
}

pub fn segment(team: &Team, clone: &Path) -> String {
    let listed = team.git(clone, &["ls-tree", "-r", "--object-only", "refs/shiftlog/sessions"]).ok();
    listed.lines().next().unwrap().to_owned()
}

#[test]
fn a_sound_repository_has_nothing_to_tell() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.commit(&a, "x", "1\n", "words");
    team.says(&a, "HEAD", "more words");
    team.git(&a, &["commit", "-q", "--amend", "-m", "again"]).ok();
    let ran = team.shiftlog(&a, "fsck", &[]).ok();
    let expected = "checked 2 notes, 4 records, 2 segments: 0 problems\n1 note on a commit that no ref reaches\n";
    assert_eq!(ran, expected);
    let listed = team.shiftlog(&a, "fsck", &["--porcelain"]).ok();
    assert_eq!(listed, format!("unreachable {}\n", team.id(&a, "HEAD@{1}")));
}

#[test]
fn a_segment_that_is_gone_is_found_and_fetched_again() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let id = segment(&team, &a);
    lose(&team, &a, &id);
    let ran = team.shiftlog(&a, "fsck", &["-q"]);
    let expected = format!("missing-segment {id} claude/words: object '{id}' is missing\n");
    assert_eq!((ran.code, ran.stdout), (1, expected));
    let refs = team.git(&a, &["for-each-ref"]).ok();
    let planned = team.shiftlog(&a, "fsck", &["--repair", "-n", "-q"]);
    let would = "would fetch again what origin has\n";
    let missing = format!("missing-segment {id} claude/words: object '{id}' is missing\n");
    assert_eq!((planned.code, planned.stdout), (1, format!("{would}{missing}")));
    assert_eq!(team.git(&a, &["for-each-ref"]).ok(), refs, "nothing was fetched or written");
    assert_ne!(team.git(&a, &["cat-file", "-e", &id]).code, 0);
    let ran = team.shiftlog(&a, "fsck", &["--repair"]).ok();
    assert_eq!(ran, "fetched again what origin has\nchecked 1 note, 1 record, 1 segment: 0 problems\n");
    team.assert_said(&a, "HEAD", &["words"]);
}

#[test]
fn a_session_that_no_remote_has_is_stored_anew_from_the_agents_own_file() {
    let scratch = Scratch::new();
    let session = scratch.session("s1");
    let project: String =
        scratch.top.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let store = scratch.home().join(".claude/projects").join(project);
    fs::create_dir_all(&store).unwrap();
    let transcript = store.join("s1.jsonl");
    drop(session);
    let add = |text: &str| {
        fs::write(&transcript, text).unwrap();
        scratch.shiftlog("add", ["--session", "s1", "-q"]).ok();
    };
    add(&line("first"));
    scratch.commit("x", "1\n", "second");
    add(&format!("{}{}", line("first"), line("second")));
    let before = (scratch.raw("HEAD~1", &[]), scratch.raw("HEAD", &[]));
    let listed = scratch.git(["ls-tree", "-r", "--object-only", "refs/shiftlog/sessions"]).ok();
    for id in listed.lines() {
        fs::remove_file(scratch.top.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    }
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).code, 1);
    let would = "would store session claude/s1 anew from the agent's own file";
    let planned = scratch.shiftlog("fsck", ["--repair", "--dry-run"]);
    assert!(planned.code == 1 && planned.stdout.starts_with(&format!("{would}\n")), "{planned:?}");
    let first = |option: &str| {
        let ran = scratch.shiftlog("fsck", ["--repair", "-nq", option]);
        ran.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(first("--porcelain"), format!("planned {would}"));
    assert_eq!(first("--json"), format!("{{\"version\":1,\"planned\":\"{would}\"}}"));
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).code, 1, "nothing was repaired");
    let ran = scratch.shiftlog("fsck", ["--repair"]);
    assert!(ran.stdout.starts_with("stored session claude/s1 anew from the agent's own file\n"), "{ran:?}");
    assert_eq!((scratch.raw("HEAD~1", &[]), scratch.raw("HEAD", &[])), before, "each commit has its own words again");
    // A file that is not what was recorded proves nothing.
    let scratch = Scratch::new();
    let store = scratch.home().join(".claude/projects").join(
        scratch
            .top
            .to_str()
            .unwrap()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect::<String>(),
    );
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("s1.jsonl"), line("first")).unwrap();
    scratch.shiftlog("add", ["--session", "s1", "-q"]).ok();
    let id = scratch.git(["ls-tree", "-r", "--object-only", "refs/shiftlog/sessions"]).ok();
    fs::remove_file(scratch.top.join(".git/objects").join(&id[..2]).join(id[2..].trim())).unwrap();
    fs::write(store.join("s1.jsonl"), line("other")).unwrap();
    assert_eq!(scratch.shiftlog("fsck", ["--repair", "-q"]).code, 1);
}

#[test]
fn an_archive_that_was_set_back_gets_its_segments_again() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "first");
    let old = team.id(&a, "refs/shiftlog/sessions");
    team.says(&a, "HEAD", "second");
    team.git(&a, &["update-ref", "refs/shiftlog/sessions", &old]).ok();
    // An archive of an earlier version is kept nowhere else.
    team.git(&a, &["update-ref", "-d", "refs/shiftlog/kept/sessions"]).ok();
    team.git(&a, &["reflog", "expire", "--expire=all", "refs/shiftlog/sessions"]).ok();
    let ran = team.shiftlog(&a, "fsck", &["-q"]);
    assert!(ran.stdout.starts_with("unarchived-segment ") && ran.stdout.lines().count() == 1, "{ran:?}");
    team.shiftlog(&a, "fsck", &["--repair", "-q"]).ok();
    team.git(&a, &["-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now"]).ok();
    team.assert_said(&a, "HEAD", &["first", "second"]);
}

#[test]
fn a_record_that_stock_git_overwrote_comes_back() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.commit(&a, "x", "1\n", "of the commit");
    let before = team.id(&a, "refs/notes/shiftlog");
    team.says(&a, "HEAD~1", "of its parent");
    let after = team.id(&a, "refs/notes/shiftlog");
    // 'git notes append' that read the ref before the record was written, and wrote it after.
    team.git(&a, &["update-ref", "refs/notes/shiftlog", &before]).ok();
    team.git(&a, &["notes", "--ref=shiftlog", "append", "-m", "a remark"]).ok();
    let tree = team.id(&a, "refs/notes/shiftlog^{tree}");
    let message = "Notes added by 'git notes append'";
    let racing = team.git(&a, &["commit-tree", &tree, "-p", &after, "-m", message]).ok();
    team.git(&a, &["update-ref", "refs/notes/shiftlog", racing.trim()]).ok();
    assert_eq!(team.raw(&a, "HEAD~1").code, 1, "it is lost");
    let ran = team.shiftlog(&a, "fsck", &["-q"]);
    assert_eq!(ran.stdout, format!("lost-record {}: 1 of them\n", team.id(&a, "HEAD~1")));
    team.shiftlog(&a, "fsck", &["--repair", "-q"]).ok();
    team.assert_said(&a, "HEAD~1", &["of its parent"]);
    team.assert_said(&a, "HEAD", &["of the commit"]);
    // What a person removes stays removed.
    team.git(&a, &["notes", "--ref=shiftlog", "remove", "HEAD", "HEAD~1"]).ok();
    team.shiftlog(&a, "fsck", &["-q"]).ok();
}

#[test]
fn a_record_that_a_joined_one_contains_is_not_lost() {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("s1");
    for name in ["one", "two"] {
        session.prompt(&format!("make {name}"));
        session.edits(&format!("{name}.txt"), "words\n");
        session.commits(&format!("add {name}"));
    }
    let notes = |args: &[&str]| scratch.git([&["notes", "--ref=shiftlog"], args].concat()).ok();
    let inner = notes(&["show", "HEAD"]);
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "both"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    let joined = notes(&["show", "HEAD"]);
    // The note had the record of the second commit, and a racing 'git notes append' has written the joined one over it.
    notes(&["add", "-f", "-m", &inner, "HEAD"]);
    let before = scratch.id("refs/notes/shiftlog");
    notes(&["add", "-f", "-m", &joined, "HEAD"]);
    notes(&["append", "-m", "a remark", "HEAD~1"]);
    let (tree, message) = (scratch.id("refs/notes/shiftlog^{tree}"), "Notes added by 'git notes append'");
    let racing = scratch.git(["commit-tree", &tree, "-p", &before, "-m", message]).ok();
    scratch.git(["update-ref", "refs/notes/shiftlog", racing.trim()]).ok();
    let ran = scratch.shiftlog("fsck", ["-q"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
}

#[test]
fn a_record_that_was_tampered_with_is_told() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    let note = team.git(&a, &["notes", "--ref=shiftlog", "show"]).ok();
    let bytes = format!("\"bytes\":{}", line("words").len());
    assert!(note.contains(&bytes), "{note}");
    team.git(&a, &["notes", "--ref=shiftlog", "add", "-f", "-m", &note.replace(&bytes, "\"bytes\":9")]).ok();
    let id = team.id(&a, "HEAD");
    let ran = team.shiftlog(&a, "fsck", &["--json"]);
    assert_eq!(ran.code, 1);
    let first: serde_json::Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["problem"], "wrong-record");
    assert_eq!((first["subject"].as_str(), first["session"].as_str()), (Some(&*id), Some("claude/words")));
    team.git(&a, &["notes", "--ref=shiftlog", "add", "-f", "-m", "{\"shiftlog\":1,\"agent\":7}"]).ok();
    let ran = team.shiftlog(&a, "fsck", &["-q"]);
    assert_eq!((ran.code, ran.stdout), (1, format!("bad-record {id}\n")));
}

#[test]
fn shared_notes_without_their_words_are_no_problem() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.bare_clone("b", &[]);
    team.shiftlog(&b, "sync", &["pull", "--notes-only", "-q"]).ok();
    let ran = team.shiftlog(&b, "fsck", &[]).ok();
    assert_eq!(ran, "checked 1 note, 1 record, 0 segments: 0 problems\nthe words of 1 record are not here\n");
}

#[test]
fn a_segment_under_a_foreign_name_gets_its_own() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    let id = segment(&team, &a);
    let index = a.join(".git/other-index");
    let git = |args: &[&str]| {
        let mut command = team.scratch.command("git", &a);
        let output = command.env("GIT_INDEX_FILE", &index).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let name = format!("aa/claude~other/000000-{}.zst", &id[..12]);
    git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},{name}")]);
    let tree = git(&["write-tree"]);
    let commit = git(&["commit-tree", &tree, "-m", "x"]);
    team.git(&a, &["update-ref", "refs/shiftlog/sessions", &commit]).ok();
    team.git(&a, &["update-ref", "-d", "refs/shiftlog/kept/sessions"]).ok();
    team.git(&a, &["reflog", "expire", "--expire=all", "refs/shiftlog/sessions"]).ok();
    let ran = team.shiftlog(&a, "fsck", &["-q"]);
    assert_eq!((ran.code, ran.stdout), (1, format!("wrong-path {id} claude/words: {name}\n")));
    team.shiftlog(&a, "fsck", &["--repair", "-q"]).ok();
    team.assert_said(&a, "HEAD", &["words"]);
}

#[test]
fn a_parent_that_was_put_back_behind_its_child_is_found_there() {
    let scratch = Scratch::new();
    let add = |text: &str| {
        let file = scratch.root().join("said");
        fs::write(&file, text).unwrap();
        scratch.shiftlog("add", ["--transcript", file.to_str().unwrap(), "--session=s", "-q"]).ok();
    };
    add(&line("first"));
    scratch.commit("x", "1\n", "second");
    add(&format!("{}{}", line("first"), line("second")));
    let listed = scratch.git(["ls-tree", "-r", "refs/shiftlog/sessions"]).ok();
    let kept: Vec<&str> = listed.lines().filter(|line| !line.contains("/000000-")).collect();
    let index = scratch.root().join("other-index");
    let git = |args: &[&str]| {
        let mut command = scratch.command("git", &scratch.top);
        let output = command.env("GIT_INDEX_FILE", &index).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    for entry in kept {
        let (about, path) = entry.split_once('\t').unwrap();
        let id = about.split(' ').nth(2).unwrap();
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},{path}")]);
    }
    let commit = git(&["commit-tree", &git(&["write-tree"]), "-m", "x"]);
    scratch.git(["update-ref", "refs/shiftlog/sessions", &commit]).ok();
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).code, 1);
    scratch.shiftlog("fsck", ["--repair", "-q"]).ok();
    scratch.shiftlog("fsck", ["-q"]).ok();
    scratch.shiftlog("purge", ["--yes", "--match=first"]).ok();
    scratch.shiftlog("fsck", ["-q"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--full"]), format!("{}{}", line("[REDACTED:purged]"), line("second")));
}

/// Makes a repository with four commits that have a conversation, and nothing of our refs in packs.
pub fn four_commits() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    for word in ["one", "two", "three", "four"] {
        session.prompt(word);
        session.edits(&format!("{word}.txt"), word);
        session.commits(word);
    }
    scratch
}

pub fn remove_object(scratch: &Scratch, id: &str) {
    fs::remove_file(scratch.top.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
}

#[test]
fn a_ref_whose_tip_can_be_read_keeps_all_it_has_when_an_old_commit_is_missing() {
    for (ref_name, kept) in [
        ("refs/notes/shiftlog", "refs/shiftlog/kept/notes/shiftlog"),
        ("refs/shiftlog/sessions", "refs/shiftlog/kept/sessions"),
    ] {
        for has_reflog in [true, false] {
            let case = format!("{ref_name}, reflog: {has_reflog}");
            let scratch = four_commits();
            // As in a clone that fetched the ref: nothing else names its tree.
            scratch.git(["update-ref", "-d", kept]).ok();
            if !has_reflog {
                fs::remove_file(scratch.top.join(".git/logs").join(ref_name)).unwrap();
            }
            let (tip, tree) = (scratch.id(ref_name), scratch.id(&format!("{ref_name}^{{tree}}")));
            remove_object(&scratch, &scratch.id(&format!("{ref_name}~2")));
            let said = format!("what '{ref_name}' has at {tip}, without history that cannot be read\n");
            let planned = scratch.shiftlog("fsck", ["--repair", "-n", "-q"]);
            assert!(planned.stdout.contains(&format!("would keep {said}")), "{case}: {planned:?}");
            assert_eq!(scratch.id(ref_name), tip, "{case}");
            let repaired = scratch.shiftlog("fsck", ["--repair", "-q"]);
            assert!(repaired.code == 0 && repaired.stdout.contains(&format!("kept {said}")), "{case}: {repaired:?}");
            assert_eq!(scratch.id(&format!("{ref_name}^{{tree}}")), tree, "{case}: nothing is lost");
            let count = scratch.git(["rev-list", "--count", ref_name]).ok();
            assert_eq!(count.trim() == "1", !has_reflog, "{case}: what the reflog has of the history stays");
            assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "", "{case}");
            scratch.git(["gc", "-q"]).ok();
            scratch.assert_sound();
        }
    }
}

#[test]
fn a_clone_whose_copy_of_the_remote_is_damaged_too_gets_it_again() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    for (number, words) in ["one", "two", "three"].into_iter().enumerate() {
        team.commit(&a, "x", &format!("{number}\n"), words);
    }
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let lost = team.id(&b, "refs/notes/shiftlog~2");
    for pack in fs::read_dir(b.join(".git/objects/pack")).unwrap().flatten() {
        let aside = b.join(".git").join(pack.file_name());
        fs::rename(pack.path(), &aside).unwrap();
        if aside.extension().is_some_and(|extension| extension == "pack") {
            let bytes = fs::read(&aside).unwrap();
            feed(team.scratch.command("git", &b).args(["unpack-objects", "-q"]), &bytes).ok();
        }
    }
    fs::remove_file(b.join(".git/objects").join(&lost[..2]).join(&lost[2..])).unwrap();
    let repaired = team.shiftlog(&b, "fsck", &["--repair", "-q"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    let copy = "refs/shiftlog/remotes/origin/notes";
    let removed = format!("removed '{copy}', a damaged copy of what a remote has\n");
    assert!(repaired.stdout.contains(&removed), "{repaired:?}");
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.git(&b, &["cat-file", "-e", &lost]).ok();
    for (revision, words) in [("HEAD", "three"), ("HEAD~", "two"), ("HEAD~2", "one")] {
        team.assert_said(&b, revision, &[words]);
    }
    team.assert_sound(&b);
}

#[test]
fn only_a_ref_of_which_nothing_can_be_read_is_removed_and_its_reflog_is_kept() {
    let scratch = four_commits();
    let name = "refs/notes/shiftlog";
    scratch.git(["update-ref", "-d", "refs/shiftlog/kept/notes/shiftlog"]).ok();
    let ids = scratch.git(["rev-list", name]).ok();
    let trees: Vec<String> = ids.lines().map(|id| scratch.id(&format!("{id}^{{tree}}"))).collect();
    for tree in &trees {
        remove_object(&scratch, tree);
    }
    let repaired = scratch.shiftlog("fsck", ["--repair", "-q"]);
    let file = scratch.state().join("reflog-of-refs-notes-shiftlog");
    let said = format!("removed '{name}', of which nothing can be read; its reflog is in '{}'\n", file.display());
    assert!(repaired.stdout.contains(&said), "{repaired:?}");
    let log = fs::read_to_string(&file).unwrap();
    assert!(ids.lines().all(|id| log.contains(id)), "{log}");
    scratch.assert_sound();
}

#[test]
fn a_pending_file_that_is_junk_is_moved_out_of_the_way() {
    let scratch = four_commits();
    let pending = scratch.state().join("pending");
    fs::create_dir_all(&pending).unwrap();
    fs::write(pending.join("junk"), "no words of ours\n").unwrap();
    // A newer version may know what to do with this.
    fs::write(pending.join("newer"), "{\"shiftlog\":2}\n").unwrap();
    scratch.shiftlog("log", [""; 0]);
    let (file, aside) = (pending.join("junk.told"), scratch.state().join("junk-1-junk.told"));
    let would = format!("would move '{}' to '{}': it is no capture\n", file.display(), aside.display());
    assert!(scratch.shiftlog("fsck", ["--repair", "-nq"]).stdout.starts_with(&would));
    assert!(file.exists() && !aside.exists());
    let ran = scratch.shiftlog("fsck", ["--repair", "-q"]);
    let left = format!("pending {}\n", pending.join("newer.told").display());
    assert_eq!((ran.code, ran.stdout), (1, would.replace("would move", "moved") + &left));
    assert_eq!(fs::read(aside).unwrap(), b"no words of ours\n");
}

#[test]
fn verify_fails_where_it_has_not_read_all_of_a_note() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    let id = session.commits("one");
    let note = scratch.git(["notes", "--ref=shiftlog", "show", &id]).ok();
    let put = |text: &str| {
        let file = scratch.root().join("note");
        std::fs::write(&file, text).unwrap();
        scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-F", file.to_str().unwrap(), &id]).ok();
        scratch.shiftlog("verify", ["HEAD"])
    };
    assert_eq!(put(&format!("{note}\na remark\n")).code, 0);
    let torn = &note.trim_end()[..note.len() - 20];
    let beside = put(&format!("{note}\n{torn}\n"));
    assert_eq!((beside.code, beside.stdout.contains(" intact, ")), (1, true), "{beside:?}");
    let told = format!("warning: the note of {id} is not verified whole: it has a record that cannot be read\n");
    assert_eq!(beside.stderr, told);
    let alone = put(&format!("{torn}\n"));
    assert_eq!((alone.code, alone.stdout.as_str(), alone.stderr.as_str()), (1, "", told.as_str()));
    let lines: String = (0..5000).map(|number| format!("line {number}\n")).collect();
    let many = put(&format!("{note}\n{lines}{}", note.replace("\"session\":\"s1\"", "\"session\":\"forged\"")));
    assert_eq!(many.code, 1, "{many:?}");
    assert!(many.stderr.contains("is not verified whole: the note is too large: lines left out: "), "{many:?}");
    assert_eq!(scratch.shiftlog("verify", ["-q", "HEAD"]).code, 1);
}
