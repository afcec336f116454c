//! Copies of a commit, squashes with their sources, and squashes that overlap: what they share counts once.

use serde_json::json;

use super::{answers, objects, total, usage};
use crate::support::Scratch;

/// A branch `topic` with three commits of one session, each with a prompt and an answer, and what they come to.
fn topic() -> Scratch {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("long");
    for (number, name) in ["a", "b", "c"].iter().enumerate() {
        session.prompt(&format!("make {name}"));
        answers(&session, &format!("msg_{number}"), "claude-opus-4-8", &usage());
        session.edits(&format!("{name}.txt"), "words\n");
        session.commits(&format!("add {name}"));
    }
    session.hook("SessionEnd");
    scratch
}

#[test]
fn copies_of_a_commit_change_no_total() {
    let scratch = topic();
    let once = total(&scratch, &["--branches"]);
    assert_eq!((&once["turns"], &once["cost"]), (&json!(3), &json!("0.16125")));
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["cherry-pick", "topic~1"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    assert!(!scratch.records("HEAD").is_empty(), "the record was carried");
    assert_eq!(total(&scratch, &["--branches"]), once, "after a cherry-pick");
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "all of topic"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    assert_eq!(scratch.record("HEAD")["turns"], 3, "the records were joined");
    assert_eq!(total(&scratch, &["--branches"]), once, "after a squash, beside its sources");
    assert_eq!(total(&scratch, &["main"]), once, "without them");
    scratch.git(["commit", "-q", "--amend", "-m", "amended"]).ok();
    assert_eq!(total(&scratch, &["--branches"]), once, "after an amend");
    // Two clones that both have all notes join them in either order.
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", "--mirror", ".", clone.to_str().unwrap()]).ok();
    scratch.git(["fetch", "-q", clone.to_str().unwrap(), "refs/notes/shiftlog:refs/notes/theirs"]).ok();
    let note = scratch.git(["notes", "--ref=theirs", "show", "topic"]).ok();
    scratch.git(["notes", "--ref=theirs", "add", "-f", "-m", &format!("{note}{note}"), "topic"]).ok();
    let ours = scratch.id("refs/notes/shiftlog");
    scratch.git(["notes", "--ref=theirs", "merge", "-q", "-s", "union", &ours]).ok();
    scratch.git(["notes", "--ref=shiftlog", "merge", "-q", "-s", "union", "theirs~1"]).ok();
    for name in ["--ref=shiftlog", "--ref=theirs"] {
        assert_eq!(total(&scratch, &[name, "--branches"]), once, "after a merge of notes: {name}");
    }
}

/// Makes two branches at `main` whose squashed commits overlap: `left` has the first two commits of `topic`, `right` the last two.
fn squash_both(scratch: &Scratch) {
    scratch.git(["branch", "first", "topic~1"]).ok();
    for (name, start, whole) in [("left", "main", "first"), ("right", "topic~2", "topic")] {
        scratch.git(["switch", "-q", "-c", name, start]).ok();
        scratch.git(["merge", "-q", "--squash", whole]).ok();
        scratch.git(["commit", "-q", "-m", &format!("all of {whole}")]).ok();
        scratch.shiftlog("remap", ["-q"]);
    }
    scratch.git(["rebase", "-q", "--onto", "main", "topic~2", "right"]).ok();
    for name in ["left", "right"] {
        assert_eq!(scratch.record(name)["turns"], 2, "the records of {name} were joined");
        assert_eq!(scratch.id(&format!("{name}~1")), scratch.id("main"));
    }
}

#[test]
fn what_two_squashes_share_counts_once() {
    let scratch = topic();
    let once = total(&scratch, &["--branches"]);
    assert_eq!((&once["turns"], &once["cost"]), (&json!(3), &json!("0.16125")));
    squash_both(&scratch);
    let all = [&["--branches"][..], &["left", "right"], &["left", "right", "topic~2"], &["left", "topic~1..topic"]];
    for chosen in all {
        assert_eq!(total(&scratch, chosen), once, "{chosen:?}");
        assert_eq!(total(&scratch, &[chosen, &["--words"]].concat()), once, "{chosen:?} with their words");
    }
    for key in ["commit", "branch", "day", "path", "session", "model", "author,path"] {
        let by = format!("--by={key}");
        let groups = objects(&scratch, &[&by, "left", "right"]);
        let turns: u64 = groups.iter().take(groups.len() - 1).map(|group| group["turns"].as_u64().unwrap()).sum();
        assert_eq!(turns, 3, "{by}");
    }
    let paths = objects(&scratch, &["--by=path", "left", "right"]);
    let named: Vec<_> = paths.iter().filter_map(|group| group["by"]["path"].as_str()).collect();
    assert_eq!((named.len(), named.contains(&"a.txt"), named.contains(&"c.txt")), (3, true, true), "{named:?}");
    let tools = scratch.shiftlog("stats", ["--tools", "--csv", "--by=agent", "left", "right"]).ok();
    assert!(tools.contains("claude,Write,3,0\r\n"), "{tools}");
}

#[test]
fn what_only_words_could_tell_is_left_out_and_told() {
    let scratch = topic();
    squash_both(&scratch);
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", "--no-local", ".", clone.to_str().unwrap()]).ok();
    scratch.git_in(&clone, ["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    // Where only notes are shared, a source beside the squashes tells what they share.
    let counted = |chosen: &[&str]| {
        let ran = scratch.shiftlog_in(&clone, "stats", [&["--csv", "--by=agent", "--no-cost"], chosen].concat());
        let turns = ran.stdout.lines().nth(1).unwrap().split(',').nth(3).unwrap().to_owned();
        (ran.code, turns, ran.stderr)
    };
    let sides = ["origin/left", "origin/right"];
    assert_eq!(counted(&[&sides[..], &["origin/topic~2"]].concat()), (0, "3".into(), String::new()));
    let told = "warning: 1 part of a record is not counted: its words are not here\n";
    let all = [&sides[..], &["origin/topic~2..origin/topic~1"]].concat();
    assert_eq!(counted(&all), (0, "2".into(), told.into()));
}

#[test]
fn the_page_of_a_session_counts_a_squash_and_its_sources_once() {
    let scratch = topic();
    let alone = scratch.shiftlog("export", ["--html", "long"]).ok();
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "all of topic"]).ok();
    scratch.shiftlog("remap", ["-q"]);
    assert_eq!(scratch.record("HEAD")["turns"], 3, "the records were joined");
    let facts =
        |page: &str| page.split_once("<ul class=\"facts\">").unwrap().1.split_once("</ul>").unwrap().0.to_owned();
    assert!(facts(&alone).contains("<li>3 turns</li>") && facts(&alone).contains("0.16 USD"), "{alone}");
    for args in [&["--html", "--full", "main"][..], &["--html", "topic~2", "topic~1", "topic", "main"]] {
        assert_eq!(facts(&scratch.shiftlog("export", args).ok()), facts(&alone), "{args:?}");
    }
    scratch.shiftlog("export", ["--html", "-o", "site/", "topic~3..topic", "main"]).ok();
    let index = std::fs::read_to_string(scratch.top.join("site/index.html")).unwrap();
    assert!(index.contains("1 session, 3 turns, 4 commits"), "{index}");
}
