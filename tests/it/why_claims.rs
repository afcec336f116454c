//! `why` and `blame` as `git blame`: options, ranges, words, and where nothing is recorded.

use std::fs;

use crate::support::Scratch;
use crate::why::{reconnect, told};

#[test]
fn what_is_not_recorded_looks_as_git_prints_it() {
    let scratch = Scratch::set_up();
    for number in 1..=11 {
        let lines = (1..=number).map(|line| format!("line {line}\n")).collect::<String>();
        scratch.commit("old.txt", &lines, &format!("line {number}"));
    }
    scratch.git(["mv", "old.txt", "new.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    scratch.commit(
        "new.txt",
        &format!("{}changed\n", fs::read_to_string(scratch.top.join("new.txt")).unwrap()),
        "more",
    );
    for options in [
        &[][..],
        &["-n"],
        &["-f"],
        &["-n", "-f", "-l"],
        &["-s", "-n"],
        &["-e"],
        &["--root"],
        &["-b", "HEAD~4..HEAD"],
        &["HEAD~4..HEAD"],
        &["^HEAD~4", "HEAD~1"],
        &["^HEAD~4"],
        &["-L2,5", "HEAD~1"],
    ] {
        let args = [&["-w"][..], options, &["--", "new.txt"]].concat();
        let ours = scratch.shiftlog("blame", &args);
        let git = scratch.git([&["blame"][..], &args].concat());
        assert_eq!((ours.code, git.code), (1, 0), "{args:?}: {ours:?} {git:?}");
        assert_eq!(ours.stdout, git.stdout, "{args:?}");
    }
    scratch.git(["config", "blame.blankBoundary", "true"]).ok();
    scratch.git(["config", "blame.showEmail", "true"]).ok();
    let ours = scratch.shiftlog("blame", ["HEAD~4..HEAD", "--", "new.txt"]).stdout;
    assert_eq!(ours, scratch.git(["blame", "HEAD~4..HEAD", "--", "new.txt"]).ok());
    let rows = scratch.shiftlog("blame", ["-z", "new.txt"]).stdout;
    assert_eq!(rows.replace('\0', "\n"), scratch.shiftlog("blame", ["new.txt"]).stdout);
    assert_eq!((rows.matches('\0').count(), rows.matches('\n').count()), (12, 0));
}

#[test]
fn a_boundary_explains_only_what_its_edits_wrote() {
    let scratch = reconnect();
    let session = scratch.session("later");
    session.prompt("say when it is done");
    session.edits("other.txt", "x\n");
    scratch
        .write("reconnect.py", &format!("{}# done\n", fs::read_to_string(scratch.top.join("reconnect.py")).unwrap()));
    session.commits("later");
    scratch.commit("reconnect.py", "def run():\n    pass\n    while not connect():\n# done\n", "typed");
    // Line 1 is older than the boundary, whose session did not write it; line 3 is of a commit that is left out, too.
    assert_eq!(told(&scratch, &["HEAD~1..HEAD", "--", "reconnect.py"]), ["none/", "none/", "none/", "none/"]);
    assert_eq!(told(&scratch, &["HEAD~2..HEAD", "--", "reconnect.py"])[3], "commit/");
}

#[test]
fn words_that_do_not_tell_what_is_meant_are_refused() {
    let scratch = reconnect();
    scratch.write("main", "a file\n");
    scratch.git(["branch", "reconnect.py"]).ok();
    scratch.git(["add", "main"]).ok();
    scratch.git(["commit", "-q", "-m", "a file called main"]).ok();
    scratch.git(["branch", "-f", "reconnect.py"]).ok();
    let refused = |args: &[&str]| {
        let ran = scratch.shiftlog(args[0], &args[1..]);
        assert_eq!((ran.code, ran.stdout.as_str()), (129, ""), "{args:?}: {ran:?}");
        ran.stderr.lines().next().unwrap().to_owned()
    };
    assert_eq!(refused(&["blame", "main", "reconnect.py"]), "error: 'main' is both a revision and a file");
    assert_eq!(scratch.shiftlog("blame", ["main", "--", "reconnect.py"]).code, 0);
    assert_eq!(scratch.shiftlog("blame", ["main", "main"]).code, 1, "there is only one reading");
    for address in [":2:1", ":2", "#L2", "@:2"] {
        assert_eq!(refused(&["why", address]), format!("error: no file is named in '{address}'"));
    }
    assert_eq!(
        refused(&["blame", "main...HEAD~1", "--", "reconnect.py"]),
        "error: more than one revision to begin with"
    );
    assert_eq!(
        refused(&["blame", "-z", "--porcelain", "reconnect.py"]),
        "error: '-z' and '--porcelain' cannot be used together"
    );
    assert_eq!(refused(&["blame", "--reverse", "HEAD~1..HEAD", "reconnect.py"]), "error: unknown option '--reverse'");
    let entries = scratch.shiftlog("why", ["-z", "reconnect.py:2-5"]).ok();
    assert_eq!(entries.matches("\n\0reconnect.py:").count(), 2, "between three entries: {entries}");
}
