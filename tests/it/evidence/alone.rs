//! Evidence on commits without a conversation: listed, shown, and carried over rewritten history.

use serde_json::{Value, json};

use crate::support::Scratch;

/// A commit with evidence alone, on top of one with nothing.
fn observed() -> Scratch {
    let scratch = Scratch::set_up();
    std::fs::write(scratch.top.join(".git/info/exclude"), "*.log\n").unwrap();
    scratch.commit("a.txt", "a\n", "make a");
    scratch.write("x.log", "error: it broke\n");
    scratch.shiftlog("evidence", ["attach", "-q", "--kind=test", "x.log"]).ok();
    scratch
}

fn names(scratch: &Scratch, revision: &str) -> Vec<Value> {
    let listed = scratch.shiftlog("evidence", ["--json", revision]).stdout;
    listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["evidence"]["name"].clone()).collect()
}

#[test]
fn log_and_show_tell_a_commit_that_has_evidence_alone() {
    let scratch = observed();
    let short = &scratch.id("HEAD")[..7];
    let listed = scratch.shiftlog("log", [""; 0]).ok();
    assert_eq!(listed, format!("{short} 2026-01-02 {:8} {:>4} (evidence) error: it broke\n", "-", 0));
    let object: Value = serde_json::from_str(&scratch.shiftlog("log", ["--json"]).ok()).unwrap();
    assert_eq!((&object["sessions"], &object["evidence"][0]["name"]), (&json!([]), &json!("x.log")));
    assert_eq!(scratch.shiftlog("log", ["--oneline"]).ok(), format!("{short} make a\n"));
    for narrow in [&["--agent=claude"][..], &["--session=s1"], &["-S", "broke"], &["--porcelain"]] {
        assert_eq!(scratch.shiftlog("log", narrow).stdout, "", "{narrow:?}");
    }
    // Beside a commit with a conversation; '-n' counts both.
    let session = scratch.session("s1");
    session.prompt("make b");
    session.edits("b.txt", "b\n");
    session.commits("make b");
    assert_eq!(scratch.shiftlog("log", [""; 0]).ok().lines().count(), 2);
    assert_eq!(scratch.shiftlog("log", ["-n1", "--skip=1", "--oneline"]).ok(), format!("{short} make a\n"));
    let shown = scratch.shiftlog("show", ["HEAD~2..HEAD"]).ok();
    assert!(shown.contains("> make b") && shown.contains("\n  error: it broke\n"), "{shown}");
    assert_eq!(scratch.shiftlog("show", ["HEAD~2..HEAD~1", "--evidence=none"]).code, 1);
    assert_eq!(scratch.shiftlog("stats", ["--json"]).code, 0);
}

#[test]
fn a_commit_that_has_evidence_alone_gets_a_page() {
    let scratch = observed();
    let export = |args: &[&str]| scratch.shiftlog("export", args);
    let page = export(&["--html", "-o-"]).ok();
    for part in [
        "<title>make a</title>",
        ">1 commit, no conversation recorded</p>",
        "x.log\nerror: it broke",
        "<code class=\"path\">a.txt</code>",
        "href=\"#c-",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!export(&["--html", "-o-", "--no-patch"]).ok().contains("a.txt"));
    let none = export(&["--markdown"]);
    let hint = "hint: 'git shiftlog log' lists the commits that have a conversation\n";
    assert_eq!((none.code, none.stderr), (1, format!("error: no conversation recorded for HEAD\n{hint}")));
    assert_eq!(export(&["--html", "-o-", "--session=s1"]).code, 1);
    assert_eq!(export(&["--html", "-o-", "HEAD~1"]).code, 1, "it has nothing");
    // Beside a commit with a conversation.
    let session = scratch.session("s1");
    session.prompt("make b");
    session.edits("b.txt", "b\n");
    session.commits("make b");
    let both = export(&["--html", "-o-", "HEAD~2.."]).ok();
    assert!(both.contains("make b") && both.contains("error: it broke") && both.contains("1 session, 2 commits"));
    export(&["--html", "-q", "-o", "out/", "HEAD~2.."]).ok();
    let name = format!("{}.html", scratch.id("HEAD~1"));
    let read = |name: &str| std::fs::read_to_string(scratch.top.join("out").join(name)).unwrap();
    assert!(read(&name).contains("error: it broke"));
    let index = read("index.html");
    assert!(index.contains(&format!("<a href=\"{name}\">make a</a>")), "{index}");
    assert!(index.contains("1 session, 1 turn, 2 commits"), "{index}");
}

#[test]
fn evidence_alone_is_carried_by_hooks_and_by_remap() {
    let scratch = observed();
    let log = [json!("x.log")];
    scratch.git(["commit", "-q", "--amend", "-m", "make a again"]).ok();
    assert_eq!(names(&scratch, "HEAD"), log, "after an amend: {}", scratch.log());
    scratch.git(["switch", "-q", "-c", "topic", "HEAD~1"]).ok();
    scratch.commit("b.txt", "b\n", "base");
    scratch.git(["cherry-pick", "main"]).ok();
    assert_eq!(names(&scratch, "HEAD"), log, "after a cherry-pick: {}", scratch.log());
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["rebase", "-q", "topic~1"]).ok();
    assert_eq!(names(&scratch, "main"), log, "after a rebase: {}", scratch.log());
    // Without hooks.
    scratch.git(["switch", "-q", "-c", "mailed", "topic~2"]).ok();
    scratch.commit("c.txt", "c\n", "other base");
    let patch = scratch.git(["format-patch", "--stdout", "-1", "topic"]).ok();
    std::fs::write(scratch.root().join("patch"), patch).unwrap();
    scratch.git(["am", "-q", scratch.root().join("patch").to_str().unwrap()]).ok();
    scratch.git(["notes", "--ref=shiftlog", "remove", "--ignore-missing", "HEAD"]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    assert_eq!(names(&scratch, "HEAD"), log, "after a remap");
    let again = scratch.shiftlog("remap", ["HEAD~2..HEAD"]).ok();
    assert!(!again.contains("carried"), "what is there is not carried again: {again}");
    // A conversation of the source is carried to a copy that has evidence of its own.
    let session = scratch.session("s1");
    session.prompt("make d");
    session.edits("d.txt", "d\n");
    let made = session.commits("make d");
    scratch.git(["switch", "-q", "-c", "copy", "HEAD~1"]).ok();
    scratch.commit("e.txt", "e\n", "third base");
    scratch.git(["cherry-pick", &made]).ok();
    scratch.git(["notes", "--ref=shiftlog", "remove", "--ignore-missing", "HEAD"]).ok();
    scratch.write("y.log", "error: two\n");
    scratch.shiftlog("evidence", ["attach", "-q", "HEAD", "y.log"]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    assert_eq!(
        (scratch.records("HEAD").len(), names(&scratch, "HEAD")),
        (2, vec![json!("y.log")]),
        "{}",
        scratch.log()
    );
    scratch.assert_sound();
}
