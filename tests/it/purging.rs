//! What is promised about removing words for good: nothing keeps them, and nobody brings them back.

mod again;
mod anew;
mod both;
mod everything;
mod fetched;
mod killed;
mod packed;
mod squashed;

use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use crate::sharing::{Team, line};
use crate::support::{Ran, Scratch, Session, feed};

pub const SECRET: &str = "the-horse-is-called-Ferdinand";

/// Returns where a word stands: in any object, packed or loose, also within segments, and in our own files.
pub fn places(scratch: &Scratch, clone: &Path, word: &str) -> Vec<String> {
    let mut places = Vec::new();
    let listed = scratch.git_in(clone, ["cat-file", "--batch-all-objects", "--batch-check", "--unordered"]).ok();
    for object in listed.lines() {
        let (id, rest) = object.split_once(' ').unwrap();
        let kind = rest.split(' ').next().unwrap();
        let bytes = scratch.git_in(clone, ["cat-file", kind, id]).bytes;
        let body = shiftlog::archive::segment::decode(&bytes).map_or(bytes, |(_, body)| body);
        if String::from_utf8_lossy(&body).contains(word) {
            places.push(object.to_owned());
        }
    }
    let git_dir = PathBuf::from(scratch.git_in(clone, ["rev-parse", "--absolute-git-dir"]).ok().trim());
    let mut directories = vec![git_dir.join("shiftlog"), git_dir.join("logs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                directories.push(entry.path());
            } else if String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).contains(word) {
                places.push(entry.path().display().to_string());
            }
        }
    }
    places
}

/// Attaches a transcript of some lines to HEAD.
pub fn says(scratch: &Scratch, dir: &Path, session: &str, lines: &[&str]) {
    let text: String = lines.iter().map(|words| line(words)).collect();
    let file = scratch.root().join("said");
    fs::write(&file, text).unwrap();
    scratch.shiftlog_in(dir, "add", ["--transcript", file.to_str().unwrap(), "--session", session, "-q"]).ok();
}

/// A session that says the secret and commits.
pub fn begins(session: &Session<'_>) {
    session.hook("SessionStart");
    session.prompt(SECRET);
    session.edits("x", "1\n");
    session.commits("one");
}

/// Purges without asking, also what is everything in these small repositories.
pub fn purge(scratch: &Scratch, args: &[&str]) -> Ran {
    scratch.shiftlog("purge", [&["--all", "--yes"], args].concat())
}

pub fn text(lines: &[&str]) -> String {
    lines.iter().map(|words| line(words)).collect()
}

#[test]
fn a_secret_goes_from_the_middle_of_a_session_and_the_rest_stays() {
    let scratch = Scratch::new();
    let first = format!("remember: {SECRET}");
    says(&scratch, &scratch.top, "s", &[&first, "second"]);
    scratch.commit("x", "1\n", "next");
    says(&scratch, &scratch.top, "s", &[&first, "second", "third"]);
    scratch.commit("x", "2\n", "last");
    says(&scratch, &scratch.top, "s", &[&first, "second", "third", "fourth"]);
    // Packed, loose, in the reflog, and pending.
    scratch.git(["gc", "-q"]).ok();
    says(&scratch, &scratch.top, "t", &[&format!("again: {SECRET}")]);
    scratch.git(["config", "core.logAllRefUpdates", "always"]).ok();
    assert!(places(&scratch, &scratch.top, SECRET).len() >= 3);
    let dry = scratch.shiftlog("purge", [&format!("--match={SECRET}"), "--dry-run"]).ok();
    let expected = "would remove 0 segments and change 4 segments and 3 notes\nsession claude/s\nsession claude/t\n";
    assert_eq!(dry, expected);
    assert!(!places(&scratch, &scratch.top, SECRET).is_empty(), "a dry run does nothing");
    purge(&scratch, &[&format!("--match={SECRET}")]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    let clean = "remember: [REDACTED:purged]";
    assert_eq!(scratch.raw("HEAD", &["--full", "--session=s"]), text(&[clean, "second", "third", "fourth"]));
    assert_eq!(scratch.raw("HEAD", &["--session=s"]), text(&["fourth"]));
    assert_eq!(scratch.raw("HEAD~1", &[]), text(&["third"]));
    assert_eq!(scratch.raw("HEAD~2", &[]), text(&[clean, "second"]));
    assert!(scratch.shiftlog("log", [""; 0]).ok().contains("remember: [REDACTED:purged]"), "the prompt is kept");
    scratch.shiftlog("fsck", ["-q"]).ok();
    scratch.assert_sound();
    // What comes after is added to what is left.
    scratch.commit("x", "3\n", "after");
    says(&scratch, &scratch.top, "s", &[clean, "second", "third", "fourth", "fifth"]);
    assert_eq!(scratch.raw("HEAD", &[]), text(&["fifth"]));
    assert_eq!(purge(&scratch, &[&format!("--match={SECRET}")]).code, 1, "there is nothing left to remove");
}

#[test]
fn the_conversation_of_a_commit_goes_and_what_follows_it_stays() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &["first"]);
    scratch.commit("x", "1\n", "next");
    says(&scratch, &scratch.top, "s", &["first", SECRET]);
    scratch.commit("x", "2\n", "last");
    says(&scratch, &scratch.top, "s", &["first", SECRET, "third"]);
    purge(&scratch, &["HEAD~1"]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    assert_eq!(scratch.shiftlog("show", ["HEAD~1"]).code, 1);
    assert_eq!(scratch.raw("HEAD", &[]), text(&["third"]));
    assert_eq!(scratch.raw("HEAD", &["--full"]), text(&["first", "third"]));
    scratch.shiftlog("fsck", ["-q"]).ok();
    scratch.assert_sound();
}

#[test]
fn commits_that_keep_all_their_words_keep_their_prompts() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &["first"]);
    scratch.commit("x", "1\n", "next");
    says(&scratch, &scratch.top, "s", &["first", SECRET]);
    scratch.commit("x", "2\n", "last");
    says(&scratch, &scratch.top, "s", &["first", SECRET, "third"]);
    let prompts = || scratch.shiftlog("log", ["--format=%(prompt)"]).ok();
    assert_eq!(prompts(), format!("third\n{SECRET}\nfirst\n"));
    purge(&scratch, &["HEAD~1"]).ok();
    assert_eq!(prompts(), "third\nfirst\n");
    scratch.commit("x", "3\n", "more");
    says(&scratch, &scratch.top, "s", &["first", "third", &format!("{SECRET} again"), "fourth"]);
    purge(&scratch, &["--match", "Ferdinand"]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
}

#[test]
fn a_session_goes_whole_and_is_not_stored_again() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt(SECRET);
    session.edits("x", "1\n");
    session.commits("one");
    session.says(&format!("more of {SECRET}"));
    let ran = purge(&scratch, &["--session=s1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("warning: the agent's own file still has the words: "), "{ran:?}");
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    session.prompt("and now?");
    session.edits("x", "2\n");
    session.commits("two");
    session.hook("SessionEnd");
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "it is not stored again");
    assert_eq!(scratch.shiftlog("show", ["HEAD"]).code, 1);
    assert_eq!(scratch.shiftlog("log", [""; 0]).ok(), "");
    let other = scratch.session("s2");
    other.prompt("another session");
    other.edits("x", "3\n");
    other.commits("three");
    assert_eq!(scratch.record("HEAD")["session"], "s2");
    scratch.assert_sound();
}

#[test]
fn a_live_session_goes_on_after_a_secret_was_taken_out() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt(&format!("use {SECRET}"));
    session.edits("x", "1\n");
    session.commits("one");
    purge(&scratch, &[&format!("--match={SECRET}")]).ok();
    session.prompt("go on");
    session.edits("x", "2\n");
    session.commits("two");
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    let expected = session.text().replace(SECRET, "[REDACTED:purged]");
    assert_eq!(scratch.raw("HEAD", &["--full"]), expected);
    scratch.shiftlog("fsck", ["-q"]).ok();
}

#[test]
fn what_is_old_goes() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &[SECRET]);
    assert_eq!(purge(&scratch, &["--before=2000-01-01"]).code, 1);
    purge(&scratch, &["--before=now", "--all"]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
}

#[test]
fn a_date_that_git_refuses_removes_nothing() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &["words"]);
    for date in ["garbage", "", "lastmonth", "monday"] {
        let option = format!("--before={date}");
        assert_eq!(scratch.git(["reflog", "expire", "--dry-run", &format!("--expire={date}")]).code, 128, "{date:?}");
        for options in [&["--yes"][..], &["--yes", "--all"], &["--dry-run"]] {
            let ran = scratch.shiftlog("purge", [&[&option[..]], options].concat());
            assert_eq!(
                (ran.code, ran.stdout.as_str(), ran.stderr),
                (
                    128,
                    "",
                    format!(
                        "fatal: cannot read the date '{date}'\n\
                         hint: dates are written as for Git: 2026-11-20, yesterday, 2.weeks.ago\n"
                    )
                )
            );
        }
        for (name, option) in [("log", "--since"), ("log", "--until"), ("import", "--since")] {
            let ran = scratch.shiftlog(name, [&format!("{option}={date}")]);
            assert_eq!((ran.code, ran.stdout.as_str()), (128, ""), "{name} {option}={date}: {ran:?}");
        }
    }
    assert_eq!(scratch.raw("HEAD", &[]), text(&["words"]));
}

#[test]
fn secrets_that_were_stored_while_redaction_was_off_go() {
    let scratch = Scratch::new();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    says(&scratch, &scratch.top, "s", &[&format!("use {token} here")]);
    assert_eq!(scratch.shiftlog("scan", ["-q"]).code, 1);
    assert_eq!(scratch.shiftlog("scan", ["--fix", "-q"]).code, 128, "there is nobody to ask");
    let planned = scratch.shiftlog("scan", ["--fix", "--yes", "-qn"]);
    assert_eq!(planned.code, 1, "it is still there");
    assert!(planned.stdout.starts_with("would remove "), "{planned:?}");
    assert!(scratch.raw("HEAD", &[]).contains(&token));
    scratch.shiftlog("scan", ["--fix", "--yes", "-q"]).ok();
    assert_eq!(places(&scratch, &scratch.top, &token), Vec::<String>::new());
    scratch.shiftlog("scan", ["-q"]).ok();
    assert!(scratch.raw("HEAD", &[]).contains("use [REDACTED:github"), "{}", scratch.raw("HEAD", &[]));
}

#[test]
fn without_a_terminal_it_refuses_unless_it_is_told_so() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &["words"]);
    let ran = scratch.shiftlog("purge", ["--all", "HEAD"]);
    assert_eq!(ran.code, 128);
    assert!(ran.stdout.starts_with("would remove 1 segment "), "nothing is removed yet: {ran:?}");
    assert_eq!(ran.stderr, "fatal: refusing to purge without a terminal; use --yes\n");
    assert_eq!(scratch.raw("HEAD", &[]), text(&["words"]));
}

#[test]
fn nobody_brings_back_what_was_purged() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    says(&team.scratch, &a, "s", &[SECRET, "harmless"]);
    says(&team.scratch, &a, "t", &["something else"]);
    for clone in [&a, &b] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    // The colleague records more, on the same commit, before hearing of it.
    says(&team.scratch, &b, "u", &["of the colleague"]);
    team.shiftlog(&a, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
    assert_eq!(places(&team.scratch, &a, SECRET), Vec::<String>::new());
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    assert_eq!(places(&team.scratch, &a, SECRET), Vec::<String>::new(), "pushing does not fetch it again");
    // The server drops it with its own gc.
    team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
    assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new());
    let synced = team.shiftlog(&b, "sync", &[]);
    assert!(synced.stderr.contains("'git shiftlog purge --received' lists them and does it here"), "{synced:?}");
    team.shiftlog(&b, "purge", &["--received", "--yes"]).ok();
    assert_eq!(places(&team.scratch, &b, SECRET), Vec::<String>::new());
    for clone in [&a, &b, &a, &b] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
    assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new());
    for clone in [&a, &b] {
        assert_eq!(places(&team.scratch, clone, SECRET), Vec::<String>::new());
        team.assert_said(clone, "HEAD", &["[REDACTED:purged]", "harmless", "something else", "of the colleague"]);
        team.shiftlog(clone, "fsck", &["-q"]).ok();
        team.assert_sound(clone);
    }
    let heads = [&a, &b].map(|clone| team.id(clone, "refs/notes/shiftlog"));
    assert_eq!(heads[0], heads[1], "clones come to rest");
}

#[test]
fn what_a_push_of_all_refs_left_on_the_server_is_named_with_what_removes_it() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    says(&team.scratch, &a, "s", &[SECRET]);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&a, &["push", "-q", "--no-verify", "--mirror", "origin"]).ok();
    team.shiftlog(&a, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
    let synced = team.shiftlog(&a, "sync", &["push"]);
    let hint = synced.stderr.lines().find_map(|line| line.strip_prefix("hint: git push ")).unwrap_or_default();
    assert!(synced.stderr.contains("'origin' may still have what was purged"), "{synced:?}");
    team.git(&a, &[&["push", "-q"], &hint.split(' ').collect::<Vec<_>>()[..]].concat()).ok();
    team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
    assert_eq!(places(&team.scratch, &team.server, SECRET), Vec::<String>::new());
    assert!(!team.shiftlog(&a, "sync", &["push"]).stderr.contains("may still have"));
}

#[test]
fn a_colleague_who_still_has_it_and_pushes_first_does_not_bring_it_back() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    says(&team.scratch, &a, "s", &[SECRET]);
    for clone in [&a, &b] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    team.shiftlog(&a, "purge", &["--all", "--yes", "--session=s"]).ok();
    says(&team.scratch, &b, "u", &["of the colleague"]);
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.assert_said(&a, "HEAD", &["of the colleague"]);
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.assert_said(&b, "HEAD", &["of the colleague"]);
    let c = team.clone_of("c", &[]);
    team.shiftlog(&c, "sync", &["-q"]).ok();
    assert_eq!(places(&team.scratch, &c, SECRET), Vec::<String>::new());
    team.assert_said(&c, "HEAD", &["of the colleague"]);
}

/// Where a purge can be killed, in the order of its steps.
const FAULTS: &[&str] = &[
    "purge-journalled",
    "purge-marked",
    "purge-archived",
    "purge-noted",
    "purge-unfetched",
    "purge-unlinked",
    "purge-dropped",
];

#[test]
fn what_a_branch_the_index_or_a_stash_needs_is_never_dropped() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &[SECRET]);
    // The note's own blob, three times, as a file of the user's.
    let note = scratch.git(["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    scratch.commit("exported.json", &note, "an export");
    scratch.write("stashed", &note.replace('}', "} "));
    scratch.git(["add", "stashed"]).ok();
    scratch.git(["stash", "-q"]).ok();
    let blob = scratch.git(["notes", "--ref=shiftlog", "list", "HEAD~1"]).ok();
    let segment = scratch.git(["ls-tree", "-r", "--object-only", "refs/shiftlog/sessions"]).ok();
    scratch.git(["update-index", "--add", "--cacheinfo", &format!("100644,{},staged", segment.trim())]).ok();
    let ran = purge(&scratch, &[&format!("--match={SECRET}")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = "warning: removed words stay in 2 objects that a commit, the index, a stash or a reflog has\n";
    assert!(ran.stderr.contains(told), "{ran:?}");
    scratch.git(["cat-file", "-e", blob.trim()]).ok();
    scratch.git(["commit", "-q", "-m", "staged"]).ok();
    scratch.git(["stash", "show", "-p"]).ok();
    scratch.assert_sound();
}

#[test]
fn a_copy_of_our_notes_under_another_name_is_told() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &[SECRET]);
    scratch.git(["update-ref", "refs/notes/backup", "refs/notes/shiftlog"]).ok();
    let ran = purge(&scratch, &[&format!("--match={SECRET}")]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains(
            "error: 'refs/notes/backup' still has the removed words\nhint: git update-ref -d refs/notes/backup\n"
        ),
        "{ran:?}"
    );
    scratch.git(["update-ref", "-d", "refs/notes/backup"]).ok();
    purge(&scratch, &["--received"]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
}

#[test]
fn what_was_fetched_and_never_joined_goes_too() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    says(&team.scratch, &a, "s", &[SECRET]);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["fetch", "-q"]).ok();
    team.shiftlog(&a, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    assert!(!places(&team.scratch, &b, SECRET).is_empty());
    team.shiftlog(&b, "purge", &["--received", "--yes"]).ok();
    assert_eq!(places(&team.scratch, &b, SECRET), Vec::<String>::new());
    team.assert_sound(&b);
}

#[test]
fn a_kept_pack_is_told_until_it_may_go() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &[SECRET]);
    scratch.git(["repack", "-a", "-d", "-q"]).ok();
    let pack = fs::read_dir(scratch.top.join(".git/objects/pack")).unwrap().flatten().map(|entry| entry.path());
    let pack = pack.into_iter().find(|path| path.extension().is_some_and(|name| name == "pack")).unwrap();
    fs::write(pack.with_extension("keep"), "").unwrap();
    assert_eq!(purge(&scratch, &[&format!("--match={SECRET}")]).code, 1);
    assert_eq!(purge(&scratch, &["--received"]).code, 1, "it is still there");
    fs::remove_file(pack.with_extension("keep")).unwrap();
    purge(&scratch, &["--received"]).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
}

#[test]
fn a_live_session_of_a_colleague_goes_on_after_the_marks_have_come() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    let session = team.scratch.session_in("live", &b);
    session.prompt(&format!("use {SECRET}"));
    session.edits("x", "1\n");
    session.commits("one");
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&a, "purge", &["--yes", &format!("--match={SECRET}")]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    // A lock in the way: the marks have come, and our refs are not rewritten yet.
    let lock = b.join(".git/refs/notes/shiftlog.lock");
    fs::write(&lock, "").unwrap();
    assert_eq!(team.shiftlog(&b, "sync", &["-q"]).code, 128);
    fs::remove_file(&lock).unwrap();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    session.prompt("go on");
    session.edits("x", "2\n");
    session.commits("two");
    team.shiftlog(&b, "fsck", &["-q"]).ok();
    team.shiftlog(&b, "fsck", &["--repair", "-q"]).ok();
    team.shiftlog(&b, "purge", &["--received", "--yes"]).ok();
    team.shiftlog(&b, "fsck", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.git(&team.server, &["gc", "-q", "--prune=now"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    for clone in [&a, &b, &team.server] {
        assert_eq!(places(&team.scratch, clone, SECRET), Vec::<String>::new(), "{}", clone.display());
    }
    assert!(team.raw(&b, "HEAD").stdout.contains("go on"));
}

#[test]
fn sub_agents_are_told_with_their_session() {
    let scratch = Scratch::new();
    for name in ["s", "s.a1", "s.b2", "t", "u.c3"] {
        let mut talk = crate::reading::Talk::new();
        talk.prompt(format!("I am {name}."));
        talk.add(&scratch, &[&format!("--session={name}")]);
    }
    let told = scratch.shiftlog("purge", ["--dry-run", "HEAD"]).ok();
    let sessions: Vec<&str> = told.lines().skip(1).collect();
    assert_eq!(sessions, ["session claude/s and 2 sub-agents", "session claude/t", "session claude/u.c3"]);
}
