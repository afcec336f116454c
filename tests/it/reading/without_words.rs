//! Notes whose words are not here, and words that no note names.

use std::fs;

use super::*;
use crate::sharing::line;

#[test]
fn a_note_without_words_says_that_its_author_kept_them() {
    let team = Team::new();
    let a = team.bare_clone("a", &[]);
    team.shiftlog(&a, "init", &["--agent=claude", "--share", "-q"]).ok();
    team.says(&a, "HEAD", "words of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.bare_clone("b", &[]);
    team.shiftlog(&b, "init", &["--agent=claude", "--share", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let shown = team.shiftlog(&b, "show", &[]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "nobody has it: {shown:?}");
    assert!(shown.stdout.ends_with("\n[transcript not shared by its author]\n\n> words of a\n\n"), "{shown:?}");
    let document = team.shiftlog(&b, "show", &["--format=markdown"]).ok();
    assert!(document.contains("\n- note: transcript not shared by its author\n"), "{document}");
    let checked = team.shiftlog(&b, "fsck", &[]);
    assert_eq!(
        checked.stdout,
        "checked 1 note, 1 record, 0 segments: 0 problems\nthe words of 1 record are not here\n"
    );
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
    let turn = team.shiftlog(&b, "show", &["--turn=1"]);
    let message = "error: cannot show turns of HEAD: transcript not shared by its author\n";
    assert_eq!((turn.code, turn.stdout.as_str(), turn.stderr.as_str()), (1, "", message));
    let about = team.shiftlog(&b, "show", &["--", "a.txt"]);
    assert_eq!((about.code, about.stdout.as_str(), about.stderr.as_str()), (1, "", message));
    for command in ["grep", "search"] {
        let found = team.shiftlog(&b, command, &["words"]);
        let warning = "warning: words of 1 record are not here\n";
        assert_eq!((found.code, found.stderr.as_str()), (1, warning), "nobody has them: {command}");
    }
    let raw = team.shiftlog(&b, "show", &["--raw"]);
    assert_eq!(
        (raw.code, raw.stdout.as_str(), raw.stderr.as_str()),
        (1, "", "warning: transcript not shared by its author\n")
    );
    // Now the author shares them.
    team.shiftlog(&a, "init", &["--agent=claude", "--share=all", "-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let shown = team.shiftlog(&b, "show", &[]);
    assert!(shown.code == 0 && shown.stdout.contains("\n[transcript not fetched]\n"), "{shown:?}");
    let hint = "hint: 'git shiftlog sync pull --all' fetches transcripts that others share\n";
    assert_eq!(shown.stderr, hint);
    assert_eq!(team.shiftlog(&b, "fsck", &[]).stderr, hint);
    let turn = team.shiftlog(&b, "show", &["--turn=1"]).stderr;
    assert_eq!(turn, format!("error: cannot show turns of HEAD: transcript not fetched\n{hint}"));
    assert_eq!(team.shiftlog(&b, "show", &["--", "a.txt"]).stderr, turn);
    assert!(team.shiftlog(&b, "grep", &["words"]).stderr.ends_with(hint), "the author shares them");
    team.shiftlog(&b, "sync", &["pull", "--all", "-q"]).ok();
    team.assert_said(&b, "HEAD", &["words of a"]);
    // What was here once and is not any more is damage.
    team.git(&b, &["update-ref", "-d", "refs/shiftlog/remotes/origin/sessions"]);
    let entries = team.git(&b, &["ls-tree", "-r", "refs/shiftlog/sessions"]).ok();
    let segment = entries.split_whitespace().nth(2).unwrap().to_owned();
    let object = b.join(".git/objects").join(&segment[..2]).join(&segment[2..]);
    std::fs::remove_file(object).unwrap();
    let shown = team.shiftlog(&b, "show", &[]);
    assert!(shown.code == 1 && shown.stdout.contains("' is missing]\n"), "{shown:?}");
}

#[test]
fn a_note_without_words_says_so_where_transcripts_come_from_a_url() {
    let team = Team::new();
    let words = team.scratch.root().join("words.git");
    let words = words.to_str().unwrap();
    team.scratch.git(["init", "-q", "--bare", words]).ok();
    let a = team.bare_clone("a", &[]);
    team.shiftlog(&a, "init", &["--agent=claude", "--share", "-q"]).ok();
    team.says(&a, "HEAD", "words of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.clone_of("b", &[]);
    team.git(&b, &["config", "shiftlog.sessionsRemote", words]).ok();
    team.says(&b, "HEAD", "words of b");
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let c = team.clone_of("c", &[]);
    team.git(&c, &["config", "shiftlog.sessionsRemote", words]).ok();
    team.shiftlog(&c, "sync", &["-q"]).ok();
    let shown = team.shiftlog(&c, "show", &[]);
    assert!(shown.stdout.contains("words of b"), "{shown:?}");
    assert!(shown.stdout.contains("\n[transcript not shared by its author]\n"), "the URL was asked: {shown:?}");
}

#[test]
fn every_reader_says_how_many_records_lack_their_words() {
    let team = Team::new();
    let a = team.bare_clone("a", &[]);
    team.shiftlog(&a, "init", &["--agent=claude", "--share", "-q"]).ok();
    let mut said = String::new();
    for words in ["one", "two", "three"] {
        fs::write(a.join("x"), words).unwrap();
        team.git(&a, &["add", "x"]).ok();
        team.git(&a, &["commit", "-q", "-m", words]).ok();
        said += &line(words);
        fs::write(a.join(".git/said"), &said).unwrap();
        team.shiftlog(&a, "add", &["--transcript=.git/said", "--session=s1", "-q"]).ok();
    }
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.bare_clone("b", &[]);
    team.shiftlog(&b, "init", &["--agent=claude", "--share", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let hint = "hint: 'git shiftlog sync pull --all' fetches transcripts that others share\n";
    for (why, hint) in [("transcript not shared by its author", ""), ("transcript not fetched", hint)] {
        let warning = format!("warning: words of 3 records are not here\n{hint}");
        for (command, code) in [("scan", 0), ("grep", 1), ("search", 1)] {
            let args: &[&str] = if command == "scan" { &[] } else { &["nothing-like-it"] };
            let ran = team.shiftlog(&b, command, args);
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (code, "", warning.clone()), "{command}");
        }
        let shown = team.shiftlog(&b, "show", &["s1"]);
        let earlier = "the words of 2 earlier records of this session are not here either";
        assert!(shown.stdout.contains(&format!("\n[{why}; {earlier}]\n")), "{shown:?}");
        assert!(!team.shiftlog(&b, "show", &["HEAD"]).stdout.contains(earlier), "a commit is shown alone");
        for path in ["[conversation][HEAD][messages][0][text]", "[conversation][HEAD][messages]"] {
            let got = team.shiftlog(&b, "get", &[path]);
            let expected = format!("error: the messages of HEAD are not here: {why}\n{hint}");
            assert_eq!((got.code, got.stdout.as_str(), got.stderr), (1, "", expected), "{path}");
        }
        let whole = team.shiftlog(&b, "get", &["[conversation][HEAD]"]).ok();
        assert!(whole.contains(&format!("\"note\":\"{why}\"")), "{whole}");
        // Now the author shares them.
        team.shiftlog(&a, "init", &["--agent=claude", "--share=all", "-q"]).ok();
        team.shiftlog(&a, "sync", &["-q"]).ok();
        team.shiftlog(&b, "sync", &["-q"]).ok();
    }
    team.shiftlog(&b, "sync", &["pull", "--all", "-q"]).ok();
    let ran = team.shiftlog(&b, "scan", &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn words_of_which_a_part_is_lost_are_not_called_clean() {
    let scratch = Scratch::new();
    let file = scratch.root().join("said");
    let mut said = String::new();
    for words in ["one", "two"] {
        scratch.commit("x", words, words);
        said += &line(words);
        fs::write(&file, &said).unwrap();
        scratch.shiftlog("add", ["--session=s1", "-q", "--transcript", file.to_str().unwrap()]).ok();
    }
    let segment = scratch.record("HEAD~")["through"].as_str().unwrap().to_owned();
    fs::remove_file(scratch.top.join(".git/objects").join(&segment[..2]).join(&segment[2..])).unwrap();
    let ran = scratch.shiftlog("scan", [""; 0]);
    let short = &scratch.id("HEAD~")[..7];
    let told = format!("warning: not all words of claude/s1 on {short} are here: ");
    assert!(ran.code == 0 && ran.stderr.starts_with(&told) && ran.stderr.lines().count() == 1, "{ran:?}");
}

#[test]
fn words_that_came_after_the_last_fetch_of_words_are_not_fetched_and_nothing_is_missing() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    let b = team.bare_clone("b", &[]);
    let adds = |session: &str, said: &str| {
        fs::write(a.join("x"), said).unwrap();
        team.git(&a, &["add", "x"]).ok();
        team.git(&a, &["commit", "-q", "-m", session]).ok();
        fs::write(a.join(".git/said"), said).unwrap();
        team.shiftlog(&a, "add", &["--transcript=.git/said", &format!("--session={session}"), "-q"]).ok();
        team.git(&a, &["push", "-q", "--no-verify"]).ok();
        team.shiftlog(&a, "sync", &["-q"]).ok();
    };
    adds("first", &line("one"));
    team.shiftlog(&b, "init", &["--agent=claude", "--share", "-q"]).ok();
    team.git(&b, &["fetch", "-q"]).ok();
    team.shiftlog(&b, "sync", &["pull", "--all", "-q"]).ok();
    adds("first", &(line("one") + &line("two")));
    adds("second", &line("three"));
    let hint = "hint: 'git shiftlog sync pull --all' fetches transcripts that others share\n";
    let reads = |how: &str, of_fsck: &str| {
        for commit in ["HEAD~", "HEAD"] {
            let shown = team.shiftlog(&b, "show", &[commit]);
            assert_eq!((shown.code, shown.stderr.as_str()), (0, hint), "{how} {commit}: {}", shown.stdout);
            assert!(shown.stdout.contains("\n[transcript not fetched]\n"), "{how} {commit}: {}", shown.stdout);
            let exported = team.shiftlog(&b, "export", &["--markdown", &format!("{commit}^!")]);
            assert_eq!(
                (exported.code, exported.stderr.contains("damaged")),
                (0, false),
                "{how} {commit}: {exported:?}"
            );
            assert!(exported.stdout.contains("transcript not fetched"), "{how} {commit}: {exported:?}");
            let resumed = team.shiftlog(&b, "resume", &["-n", "--worktree", commit]);
            assert!(
                resumed.stderr.ends_with(&format!(": transcript not fetched\n{hint}")),
                "{how} {commit}: {resumed:?}"
            );
        }
        let why = team.shiftlog(&b, "why", &["x:1"]);
        assert_eq!((why.code, why.stderr.ends_with(hint)), (0, true), "{how}: {why:?}");
        let checked = team.shiftlog(&b, "fsck", &[]);
        assert_eq!((checked.code, checked.stderr.as_str()), (0, of_fsck), "{how}: {checked:?}");
    };
    let unjoined = "hint: fetched notes are checked once 'git shiftlog sync pull' has joined them\n";
    team.git(&b, &["pull", "-q"]).ok();
    reads("after git pull", unjoined);
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    reads("after sync pull", hint);
    team.shiftlog(&b, "sync", &["pull", "--all", "-q"]).ok();
    let shown = team.shiftlog(&b, "show", &["first"]);
    assert!(shown.code == 0 && shown.stderr.is_empty() && shown.stdout.contains("two"), "{shown:?}");
}

#[test]
fn a_session_that_no_commit_has_is_told_as_such() {
    let scratch = Scratch::set_up();
    let session = scratch.session("0b5e5500-aaaa");
    session.prompt("never committed");
    session.says("Then not.");
    session.hook("SessionEnd");
    scratch.shiftlog("import", ["-q"]);
    let expected = "no commit has session claude/0b5e5500-aaaa, which is in the archive\n\
                    hint: 'git shiftlog grep --unrecorded --session=0b5e5500-aaaa .' prints what it says\n";
    for (command, name) in
        [("show", "0b5e5500"), ("show", "claude/0b5e5500-aaaa"), ("resume", "0b5e5500-aaaa"), ("export", "0b5e")]
    {
        let ran = scratch.shiftlog(command, if command == "export" { vec!["--html", name] } else { vec![name] });
        assert!(ran.code != 0 && ran.stderr.ends_with(expected), "{command}: {ran:?}");
    }
    let said = scratch.shiftlog("grep", ["--unrecorded", "--session=0b5e5500-aaaa", "."]).ok();
    assert!(said.contains("never committed"), "{said}");
}
