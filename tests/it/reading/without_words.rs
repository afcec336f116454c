//! Notes whose words are not here.

use super::*;

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
        let warning = "warning: words of 1 session are not here\n";
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
