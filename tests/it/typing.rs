//! What somebody types who knows `git log`, `git show` and `git status`.

use std::fs;

use serde_json::Value;

use crate::formats::{assert_as_git, note, repository};
use crate::support::{Ran, Scratch};

#[test]
fn commits_are_chosen_as_git_log_chooses_them() {
    let scratch = repository();
    for args in [
        &["--reverse"][..],
        &["--reverse", "-2"],
        &["--reverse", "-2", "--skip=1"],
        &["--first-parent"],
        &["--first-parent", "main~1..main"],
        &["--no-merges"],
        &["--merges"],
        &["--merges", "--no-merges"],
        &["--no-merges", "--merges"],
        &["--no-merges", "-2", "--", "file.txt"],
        &["--first-parent", "--no-merges", "--", "other.txt"],
        &["--tags"],
        &["--remotes"],
        &["--branches", "--remotes", "^v1.0"],
        &["--tags", "--no-merges", "--oneline"],
        &["--branches=si*"],
        &["--branches=side"],
        &["--branches=side", "--branches=main"],
        &["--tags=v*"],
        &["--tags=v1.0", "--remotes=origin"],
        &["--remotes=or*/m*", "^v1.0"],
        &["--branches=nosuch*", "--tags=v*"],
    ] {
        assert_as_git(&scratch, &[&["--format=%H %s"], args].concat());
    }
    let bare = Scratch::new();
    for option in ["--tags", "--remotes"] {
        let ran = bare.shiftlog("log", [option, "--no-merges"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{option}");
    }
}

#[test]
fn names_of_refs_are_printed_as_git_log_prints_them() {
    let scratch = repository();
    for decorate in ["--decorate", "--decorate=full", "--decorate=short", "--decorate=auto", "--no-decorate"] {
        assert_as_git(&scratch, &["--oneline", decorate]);
        assert_as_git(&scratch, &["--format=medium", decorate]);
        assert_as_git(&scratch, &["--graph", "--oneline", decorate, "--branches", "--tags", "--color=always"]);
    }
    assert_as_git(&scratch, &["--oneline", "--no-decorate", "--decorate"]);
    assert_as_git(&scratch, &["--oneline", "--decorate", "--no-decorate"]);
}

#[test]
fn log_of_a_session_lists_its_commits() {
    let scratch = Scratch::set_up();
    for name in ["alpha-1", "alpha-2", "beta"] {
        let session = scratch.session(name);
        for number in 0..2 {
            session.prompt("go on");
            session.edits(&format!("{name}-{number}.txt"), "x\n");
            session.commits(&format!("{name} {number}"));
        }
    }
    let log = |args: &[&str]| scratch.shiftlog("log", [&["--format=%s"], args].concat()).ok();
    assert_eq!(log(&["--session=beta"]), "beta 1\nbeta 0\n");
    assert_eq!(log(&["--session=alpha-2", "--reverse"]), "alpha-2 0\nalpha-2 1\n");
    assert_eq!(log(&["--session=alpha", "-n3"]), "alpha-2 1\nalpha-2 0\nalpha-1 1\n");
    assert_eq!(log(&["--session=nosuch"]), "");
}

#[test]
fn a_graph_is_drawn_as_git_draws_it() {
    let scratch = repository();
    for format in ["--oneline", "--format=%h%d %s", "--format=medium", "--format=format:%h%n%B", "--format=short"] {
        for color in ["--color=always", "--color=never"] {
            for range in [&["main"][..], &["--branches", "--tags"], &["main~1..main"], &["--first-parent", "main"]] {
                assert_as_git(&scratch, &[&["--graph", format, color], range].concat());
            }
        }
    }
    let git = scratch.git(["log", "--graph", "--format=%h %s"]).ok();
    assert_eq!(scratch.shiftlog("log", ["--graph", "--format=%h %(prompt)"]).ok(), git);
    let people = scratch.shiftlog("log", ["--graph", "-1"]).ok();
    assert_eq!(people, format!("* {}", scratch.shiftlog("log", ["-1"]).ok()));
    for (other, code) in [("--reverse", 129), ("--json", 129), ("--porcelain", 129), ("-z", 129)] {
        let ran = scratch.shiftlog("log", ["--graph", other]);
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.contains("cannot be used together"), "{ran:?}");
    }
    assert_eq!(scratch.shiftlog("log", ["--graph", "--author=nobody"]).ok(), "");
}

#[test]
fn a_graph_joins_what_has_nothing_listed_between() {
    let scratch = Scratch::new();
    let commit = |subject: &str, is_noted: bool| {
        scratch.git(["commit", "-q", "--allow-empty", "-m", subject]).ok();
        if is_noted {
            note(&scratch, "HEAD", subject);
        }
    };
    commit("first", true);
    commit("nothing", false);
    scratch.git(["switch", "-q", "-c", "quiet"]).ok();
    commit("quiet side", false);
    scratch.git(["switch", "-q", "main"]).ok();
    commit("second", true);
    // One side of this merge has nothing to list, so there is nothing to draw of it.
    scratch.git(["merge", "-q", "--no-ff", "-m", "quiet merge", "quiet"]).ok();
    commit("third", true);
    scratch.git(["switch", "-q", "-c", "side"]).ok();
    commit("side", true);
    scratch.git(["switch", "-q", "main"]).ok();
    commit("fourth", true);
    scratch.git(["merge", "-q", "--no-ff", "-m", "merge", "side"]).ok();
    note(&scratch, "HEAD", "merge");
    commit("not listed", false);
    let graph = scratch.shiftlog("log", ["--graph", "--format=%(prompt)"]).ok();
    assert_eq!(graph, "*   merge\n|\\  \n| * side\n* | fourth\n|/  \n* third\n* second\n* first\n");
    let graph = scratch.shiftlog("log", ["--graph", "--no-merges", "--format=%(prompt)"]).ok();
    assert_eq!(graph, "* side\n| * fourth\n|/  \n* third\n* second\n* first\n");
    assert_eq!(
        scratch.git(["for-each-ref", "--format=%(refname)"]).ok().lines().count(),
        4,
        "the repository is as it was"
    );
}

/// A repository with three commits of a session each, the last of two turns.
fn conversations() -> Scratch {
    let scratch = Scratch::set_up();
    for name in ["alpha", "beta"] {
        let session = scratch.session(&format!("{name}-5e551011"));
        session.prompt(&format!("make {name}"));
        session.edits(&format!("src/{name}.rs"), &format!("fn {name}() {{}}\n"));
        session.commits(&format!("add {name}"));
        session.hook("SessionEnd");
    }
    let session = scratch.session("alpha-77");
    session.prompt("make gamma");
    session.edits("src/gamma.rs", "fn gamma() {}\n");
    session.says("Gamma is there.");
    session.prompt("now look at docs/notes.txt, please");
    session.calls("c1", "Read", &serde_json::json!({ "file_path": scratch.top.join("docs/notes.txt") }));
    session.answers("c1", "nothing much");
    session.prompt("make delta");
    session.edits("delta.rs", "fn delta() {}\n");
    session.commits("add gamma and delta");
    session.prompt("more of it");
    session.edits("src/gamma.rs", "fn gamma() { more() }\n");
    session.commits("more gamma");
    scratch
}

/// Returns the prompts that were shown.
fn prompts(ran: &Ran) -> Vec<&str> {
    ran.stdout.lines().filter_map(|line| line.strip_prefix("> ")).collect()
}

#[test]
fn show_takes_ranges_as_git_show_does() {
    let scratch = conversations();
    let show = |args: &[&str]| scratch.shiftlog("show", args);
    assert_eq!(
        prompts(&show(&["HEAD~2..HEAD"])),
        ["more of it", "make gamma", "now look at docs/notes.txt, please", "make delta"]
    );
    assert_eq!(prompts(&show(&["^HEAD~3", "HEAD~2"])), ["make beta"]);
    assert_eq!(prompts(&show(&["HEAD^!"])), ["more of it"]);
    assert_eq!(prompts(&show(&["HEAD~2^@", "HEAD~2"])), ["make alpha", "make beta"]);
    let all = show(&["HEAD~4.."]);
    let commits: String =
        all.stdout.lines().filter_map(|line| line.strip_prefix("commit ")).map(|id| format!("{id}\n")).collect();
    assert_eq!((all.code, commits), (0, scratch.git(["rev-list", "HEAD~4.."]).ok()));
    let ran = show(&["HEAD..HEAD"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: no conversation recorded for HEAD..HEAD\n"));
    let ran = show(&["HEAD..nosuch"]);
    let told = "fatal: ambiguous argument 'HEAD..nosuch': unknown revision or path not in the working tree\n\
                hint: use '--' to separate paths from revisions\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (128, told));
}

#[test]
fn a_session_is_shown_whole_by_its_id_or_the_beginning_of_it() {
    let scratch = conversations();
    let show = |args: &[&str]| scratch.shiftlog("show", args);
    let all = ["make gamma", "now look at docs/notes.txt, please", "make delta", "more of it"];
    for name in ["alpha-77", "alpha-7", "claude/alpha-77"] {
        let ran = show(&[name]);
        assert_eq!((ran.code, prompts(&ran)), (0, all.to_vec()), "{name}: {ran:?}");
        assert!(ran.stdout.starts_with(&format!("commit {}\n", scratch.id("HEAD"))), "its last commit stands above it");
    }
    assert_eq!(show(&["--raw", "alpha-77"]).stdout, scratch.raw("HEAD", &["--full"]));
    assert_eq!(prompts(&show(&["beta", "HEAD~3"])), ["make beta", "make alpha"]);
    let ran = show(&["alpha"]);
    assert_eq!(ran.code, 128);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[..2], ["fatal: session 'alpha' is ambiguous", "hint: the sessions are:"]);
    assert!(
        lines[2].starts_with("hint:   claude/alpha-5e551011 ") && lines[3].starts_with("hint:   claude/alpha-77 "),
        "{ran:?}"
    );
    assert_eq!(lines.len(), 4);
    assert!(show(&["alph"]).stderr.starts_with("fatal: session 'alph' is ambiguous\n"));
    assert_eq!(prompts(&show(&["beta-"])), ["make beta"]);
    // A branch of that name goes first.
    scratch.git(["branch", "beta-5e551011", "HEAD~3"]).ok();
    assert_eq!(prompts(&show(&["beta-5e551011"])), ["make alpha"]);
}

#[test]
fn show_prints_the_change_after_the_words_as_git_prints_it() {
    let scratch = conversations();
    scratch.git(["config", "diff.mnemonicPrefix", "true"]).ok();
    scratch.git(["config", "diff.context", "1"]).ok();
    let words = scratch.shiftlog("show", ["HEAD~1"]).ok();
    for (ours, gits) in
        [(&["--stat"][..], &["--stat"][..]), (&["-p"], &["-p"]), (&["--stat", "--patch"], &["--stat", "-p"])]
    {
        for color in ["--color=always", "--color=never"] {
            let git = scratch.git([&["show", "--format=", color, "HEAD~1"], gits].concat()).ok();
            let words =
                if color == "--color=never" { words.clone() } else { scratch.shiftlog("show", [color, "HEAD~1"]).ok() };
            assert!(git.contains("gamma.rs"), "{git}");
            assert_eq!(
                scratch.shiftlog("show", [&[color, "HEAD~1"], ours].concat()).ok(),
                words + &git,
                "{ours:?} {color}"
            );
        }
    }
    for args in [&["-s"][..], &["-p", "-s"], &["--stat", "--no-patch"]] {
        assert_eq!(scratch.shiftlog("show", [&["HEAD~1"], args].concat()).ok(), words, "{args:?}");
    }
    for other in ["--raw", "--json", "--format=markdown"] {
        let ran = scratch.shiftlog("show", ["--stat", other]);
        assert_eq!(ran.code, 129, "{ran:?}");
        assert!(ran.stderr.contains("cannot be used together"), "{ran:?}");
    }
    scratch.commit("plain.txt", "x\n", "nobody said anything");
    let ran = scratch.shiftlog("show", ["-p"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "without words there is nothing to add to");
}

#[test]
fn log_prints_the_change_of_each_commit_as_git_log_prints_it() {
    let scratch = repository();
    scratch.git(["config", "diff.context", "1"]).ok();
    for change in [&["--stat"][..], &["-p"], &["--stat", "-p"], &["-p", "-s"], &["-s", "--stat"], &["-p", "--no-patch"]]
    {
        for format in ["--oneline", "--format=%h", "--format=format:%h", "--format=medium", "--format=reference"] {
            for range in [&["main"][..], &["--first-parent", "main"], &["-3", "main", "--", "other.txt"]] {
                assert_as_git(&scratch, &[&[format], change, range].concat());
            }
        }
    }
    assert_as_git(&scratch, &["--format=%h", "--stat", "--color=always"]);
    let row = scratch.shiftlog("log", ["-1", "--no-merges"]).ok();
    let change = scratch.git(["log", "-1", "--no-merges", "--format=", "-p"]).ok();
    assert_eq!(scratch.shiftlog("log", ["-1", "--no-merges", "-p"]).ok(), row + &change);
    let within = scratch.top.join("within");
    fs::create_dir(&within).unwrap();
    let args = ["log", "-p", "--oneline", "--", "../other.txt"];
    let git = scratch.git_in(&within, args).ok();
    assert_eq!(scratch.shiftlog_in(&within, "log", &args[1..]).ok(), git, "paths begin where they are typed");
    for (change, other) in [("-p", "--graph"), ("--stat", "--json"), ("-p", "--porcelain"), ("--stat", "-z")] {
        let ran = scratch.shiftlog("log", [change, other]);
        assert_eq!(ran.code, 129, "{ran:?}");
        assert!(ran.stderr.contains("cannot be used together"), "{ran:?}");
    }
}

#[test]
fn what_looks_like_a_revision_is_no_word_to_search_for() {
    let scratch = conversations();
    let found = |args: &[&str]| {
        let ran = scratch.shiftlog("search", [&["--json"], args].concat());
        ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["turn"].clone()).collect::<Vec<_>>()
    };
    scratch.git(["tag", "zebra"]).ok();
    assert!(!found(&["gamma", "HEAD~1"]).is_empty());
    assert_eq!(found(&["gamma", "zebra^0"]), found(&["gamma"]));
    assert_eq!(found(&["gamma", "HEAD~2"]), Vec::<Value>::new());
    assert_eq!(found(&["gamma", "zebra"]), Vec::<Value>::new(), "nobody said 'zebra'");
}

#[test]
fn fsck_says_that_notes_which_were_only_fetched_are_not_checked() {
    let scratch = conversations();
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", scratch.top.to_str().unwrap(), clone.to_str().unwrap()]).ok();
    let fsck = |options: &[&str]| scratch.shiftlog_in(&clone, "fsck", options);
    assert_eq!(fsck(&[]).stderr, "");
    let refspec = "refs/notes/shiftlog:refs/shiftlog/remotes/origin/notes";
    scratch.git_in(&clone, ["fetch", "-q", "origin", refspec]).ok();
    let (ran, quiet) = (fsck(&[]), fsck(&["-q"]));
    assert_eq!(ran.stdout, "checked 0 notes, 0 records, 0 segments: 0 problems\n");
    assert_eq!(ran.stderr, "hint: fetched notes are checked once 'git shiftlog sync pull' has joined them\n");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn people_see_prices_in_columns() {
    let mut scratch = Scratch::new();
    let file = scratch.shiftlog("prices", ["--", "claude-opus-4-8", "claude-haiku-4-5"]).ok();
    assert!(file.lines().skip(1).all(|line| line.contains('\t')), "{file}");
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    scratch
        .write("own", "claude-opus-4-8\t2026-01-01\t1\t2\t-\t-\t-\nlong-1\t-\t1\t2\t3\t4\t5\t200000\t6\t7\t8\t9\t10\n");
    let seen = scratch.shiftlog("prices", ["--prices=own", "claude-opus-4-8", "claude-haiku-4-5", "long-1"]).ok();
    let expected = "\
# model                          input  output  read  written  1 hour
claude-opus-4-8 from 2026-01-01  1      2       -     -        -
claude-haiku-4-5                 1      5       0.1   1.25     2
long-1                           1      2       3     4        5
  above 200000 tokens            6      7       8     9        10
";
    assert_eq!(seen.split_once('\n').unwrap().1, expected, "{seen}");
    let all = scratch.shiftlog("prices", [""; 0]).ok();
    assert!(all.lines().all(|line| line.len() <= 80), "{all}");
}

#[test]
fn with_paths_the_turns_about_them_are_shown() {
    let scratch = conversations();
    let show = |args: &[&str]| scratch.shiftlog("show", args);
    assert_eq!(prompts(&show(&["HEAD~1", "--", "src/gamma.rs"])), ["make gamma"]);
    assert_eq!(prompts(&show(&["HEAD~1", "--", "docs"])), ["now look at docs/notes.txt, please"]);
    assert_eq!(prompts(&show(&["HEAD~1", "--", "delta.rs", "src"])), ["make gamma", "make delta"]);
    assert_eq!(prompts(&show(&["HEAD~1", "--", "."])).len(), 3);
    assert_eq!(prompts(&show(&["alpha-77", "--", "src/gamma.rs"])), ["make gamma", "more of it"]);
    let inside = scratch.top.join("src");
    let ran = scratch.shiftlog_in(&inside, "show", ["HEAD~1", "--", "gamma.rs"]);
    assert_eq!(prompts(&ran), ["make gamma"], "paths begin where they are typed: {ran:?}");
    assert_eq!(prompts(&scratch.shiftlog_in(&inside, "show", ["HEAD~1", "--", "../delta.rs"])), ["make delta"]);
    let stat = show(&["HEAD~1", "--stat", "--", "delta.rs"]).stdout;
    assert!(stat.contains(" delta.rs | 1 +") && !stat.contains("gamma.rs |"), "{stat}");
    let json: Value = serde_json::from_str(&show(&["HEAD~1", "--json", "--", "delta.rs"]).ok()).unwrap();
    assert_eq!(json["conversation"][0]["parts"][0]["text"], "make delta");
    // Git takes a word for a path if it is no revision and is there.
    assert_eq!(prompts(&show(&["HEAD~1", "src/gamma.rs"])), ["make gamma"]);
    assert_eq!(prompts(&show(&["src"])), ["more of it"]);
    assert_eq!(prompts(&show(&["alpha-77", "delta.rs", "src/beta.rs"])), ["make delta"]);
    let ran = show(&["HEAD~1", "delta.rs", "nosuch"]);
    let told = "fatal: nosuch: no such path in the working tree\nhint: '--' before a path says that it is one\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (128, told));
    // A pathspec stands for the files that Git says, also where they are gone now.
    fs::remove_file(scratch.top.join("delta.rs")).unwrap();
    for (specs, shown) in [
        (&["*.rs"][..], &["make gamma", "make delta"][..]),
        (&["gam*"], &[]),
        (&["src/*"], &["make gamma"]),
        (&[":(glob)*.rs"], &["make delta"]),
        (&[":/"], &["make gamma", "now look at docs/notes.txt, please", "make delta"]),
        (&[":/src"], &["make gamma"]),
        (&[":(top)delta.rs", "docs"], &["now look at docs/notes.txt, please", "make delta"]),
        (&[":(icase)DELTA.RS"], &["make delta"]),
        (&["*.rs", ":!src"], &["make delta"]),
        (&["src", ":(exclude)src/gamma.rs"], &[]),
    ] {
        assert_eq!(prompts(&show(&[&["HEAD~1", "--"], specs].concat())), shown, "{specs:?}");
        if !specs.contains(&"docs") {
            assert_eq!(prompts(&show(&[&["HEAD~1"], specs].concat())), shown, "without dashes: {specs:?}");
        }
    }
    let stat = show(&["HEAD~1", "--stat", "--", "*.rs", ":!src"]).stdout;
    assert!(stat.contains(" delta.rs | 1 +") && !stat.contains("gamma.rs |"), "{stat}");
    assert_eq!(prompts(&scratch.shiftlog_in(&inside, "show", ["HEAD~1", "--", "*.rs"])), ["make gamma"]);
    assert_eq!(prompts(&scratch.git(["--literal-pathspecs", "shiftlog", "show", "HEAD~1", "--", "*.rs"])), [""; 0]);
    let ran = show(&["HEAD~1", "--", ":(nosuch)x"]);
    assert!(ran.code == 128 && ran.stderr.contains("Invalid pathspec magic 'nosuch' in ':(nosuch)x'"), "{ran:?}");
    let ran = show(&["--", "delta.rs"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            1,
            "error: no turn about 'delta.rs' in the conversation of HEAD\n\
             hint: git shiftlog log -- delta.rs    # lists the conversations about a file\n"
        )
    );
    let ran = show(&["--", "../elsewhere"]);
    assert_eq!(ran.code, 128);
    assert!(ran.stderr.starts_with("fatal: '../elsewhere' is outside repository at '"), "{ran:?}");
    assert_eq!(show(&["--raw", "--", "delta.rs"]).code, 129);
}

/// Lets sessions go on although the shells that stand for their agents have ended.
fn keep_alive(scratch: &Scratch) {
    for entry in fs::read_dir(scratch.state().join("live")).unwrap() {
        let path = entry.unwrap().path();
        let mut live: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        live["process"] = Value::Null;
        fs::write(&path, live.to_string()).unwrap();
    }
}

#[test]
fn status_says_what_would_be_recorded_and_changes_nothing() {
    let scratch = Scratch::new();
    let status = |args: &[&str]| scratch.shiftlog("status", args).ok();
    assert_eq!(status(&[]), "no session is going on here, and nothing is left to record\n");
    assert_eq!(status(&["--json"]) + &status(&["--porcelain"]), "");
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let session = scratch.session("s1");
    session.prompt("make it\nwell");
    session.says("I do.");
    session.edits("a.txt", "a\n");
    keep_alive(&scratch);
    let shown = status(&["--date=unix"]);
    let bytes = session.text().len();
    assert_eq!(
        shown,
        format!(
            "claude s1, going on\n  on no commit: 1 turn, 2 messages, 1 file edited, {}, begun 1767323046\n  > make it well\n",
            shiftlog::pretty::size(bytes as u64)
        )
    );
    let object: Value = serde_json::from_str(&status(&["--json"])).unwrap();
    assert_eq!((&object["version"], &object["kind"], &object["session"]), (&1.into(), &"session".into(), &"s1".into()));
    assert_eq!((&object["live"], &object["since"]), (&true.into(), &"2026-01-02T03:04:06Z".into()));
    assert_eq!((&object["turns"], &object["messages"], &object["bytes"]), (&1.into(), &2.into(), &bytes.into()));
    let fields: Vec<String> = status(&["--porcelain=v1"]).trim_end().split('\t').map(str::to_owned).collect();
    assert_eq!(fields[..4], ["session", "claude", "s1", "live"]);
    let top = scratch.top.to_str().unwrap();
    assert_eq!(fields[5..], ["1767323046", "1", "2", "1", &bytes.to_string(), top, "make it well"]);
    assert!(status(&["-z", "--porcelain"]).ends_with("make it well\0"));
    assert_eq!(scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok(), "", "nothing was stored");
    session.commits("one");
    keep_alive(&scratch);
    assert_eq!(status(&[]), "claude s1, going on, nothing new to record\n");
    session.prompt("make more");
    assert!(status(&[]).contains("  on no commit: 1 turn, 1 message, "), "what a commit has does not count");
    session.hook("SessionEnd");
    assert!(status(&["--date=unix"]).starts_with("claude s1, last seen "), "its last words are on no commit");
    assert_eq!(scratch.shiftlog("status", ["--json", "--porcelain"]).code, 129);
}

#[test]
fn status_lists_what_waits_to_be_stored() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    session.hook_for("PostToolUse", "edit-a.txt");
    // Such a hook, which would record the commit, does not come after it.
    let commit = session.runs_commit(&["-m", "one"]);
    let pending: Vec<_> = fs::read_dir(scratch.state().join("pending")).unwrap().collect();
    let status = scratch.shiftlog("status", [""; 0]);
    let is_waiting = !pending.is_empty();
    assert!(is_waiting, "the commit is written down for that hook");
    let path = pending[0].as_ref().unwrap().path();
    let line = format!("waits to be recorded: claude/s1 on {}, in '{}'\n", &commit[..7], path.display());
    assert!(status.stdout.ends_with(&line), "{status:?}");
    assert_eq!(status.stderr, "hint: 'git shiftlog log' and most other commands store what waits\n");
    let objects = scratch.shiftlog("status", ["--json"]).ok();
    let last: Value = serde_json::from_str(objects.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["kind"], &last["commits"][0], &last["sessions"][0]),
        (&"pending".into(), &commit.as_str().into(), &"claude/s1".into())
    );
    assert!(
        scratch
            .shiftlog("status", ["--porcelain"])
            .ok()
            .ends_with(&format!("pending\tclaude/s1\t{commit}\t{}\n", path.display()))
    );
    assert!(path.exists(), "it still waits");
    scratch.shiftlog("log", [""; 0]).ok();
    assert!(!scratch.shiftlog("status", [""; 0]).ok().contains("waits"));
}
