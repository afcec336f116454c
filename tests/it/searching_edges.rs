//! Searching at its edges: forged records, limits of `grep`, strings across lines, odd revisions, and time that runs out.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shiftlog::find::{self, Case, Increments, Limits, SearchOptions, Terms};
use shiftlog::git::{Range, Repository};
use shiftlog::record::{Query, Reader};

use crate::listing::on_terminal;
use crate::support::Scratch;

/// Records a transcript of prompts on a new commit.
fn prompts(scratch: &Scratch, session: &str, texts: &[&str]) -> String {
    let line =
        |text: &&str| json!({ "type": "user", "message": { "role": "user", "content": text } }).to_string() + "\n";
    let file = scratch.root().join("t.jsonl");
    fs::write(&file, texts.iter().map(line).collect::<String>()).unwrap();
    let commit = scratch.commit("n", &format!("{session}\n"), session);
    let option = format!("--session={session}");
    scratch.shiftlog("add", ["-q", &option, "--transcript", file.to_str().unwrap(), &commit]).ok();
    commit
}

/// Attaches a record to a commit, as somebody could push it.
fn forge(scratch: &Scratch, commit: &str, record: &Value) {
    scratch.git(["notes", "--ref=shiftlog", "append", "-m", &record.to_string(), commit]).ok();
}

#[test]
fn a_record_that_names_words_of_another_session_finds_none_of_them() {
    let scratch = Scratch::new();
    let commit = prompts(&scratch, "victim", &["the secret plan of the victim"]);
    let honest = scratch.shiftlog("grep", ["secret plan"]).ok();
    let mut record = scratch.record(&commit);
    scratch.commit("n", "later\n", "later");
    for (agent, session) in [("claude", "forger"), ("pi", "victim")] {
        (record["agent"], record["session"]) = (json!(agent), json!(session));
        forge(&scratch, "HEAD", &record);
    }
    let ran = scratch.shiftlog("grep", ["secret plan"]);
    assert_eq!((ran.code, ran.stdout), (0, honest), "the honest record stays found, and it alone");
    for forged in ["claude/forger", "pi/victim"] {
        assert!(ran.stderr.contains(&format!("a record of {forged} names words of another session")), "{}", ran.stderr);
    }
    let found = scratch.shiftlog("search", ["--json", "secret", "plan"]).ok();
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.contains("\"session\":\"victim\"") && found.contains(&commit), "{found}");
    assert_eq!(scratch.shiftlog("log", ["--format=%H", "-S", "secret plan"]).stdout, format!("{commit}\n"));
}

#[test]
fn a_session_whose_lines_a_newer_commit_has_too_is_not_listed_as_one_without_them() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("the needle");
    session.edits("a", "a\n");
    session.commits("one");
    session.prompt("more hay");
    session.edits("a", "b\n");
    session.commits("two");
    // A squash has both increments in one.
    let mut record = scratch.record("HEAD");
    record.as_object_mut().unwrap().remove("since");
    scratch.git(["commit", "-q", "--allow-empty", "-m", "squash"]).ok();
    forge(&scratch, "HEAD", &record);
    let place = |revision: &str| format!("{} claude/s1\n", &scratch.id(revision)[..7]);
    assert_eq!(scratch.shiftlog("grep", ["-l", "needle"]).ok(), place("HEAD"), "it is printed once");
    assert_eq!(scratch.shiftlog("grep", ["-L", "needle"]).ok(), place("HEAD~1"));
    assert_eq!(scratch.shiftlog("grep", ["-L", "hay"]).ok(), place("HEAD~2"));
}

#[test]
fn grep_stops_after_the_number_of_lines_that_was_asked_for() {
    let scratch = Scratch::new();
    let commit = prompts(&scratch, "s1", &["1\n2\nx\n3\n4\nx\n5\nx", "6\nx"]);
    let text = |args: &[&str]| {
        let ran = scratch.shiftlog("grep", [&["--no-line-number"], args].concat());
        let place = format!("{} claude/s1", &commit[..7]);
        ran.stdout.lines().map(|line| line.trim_start_matches(&place).to_owned()).collect::<Vec<_>>()
    };
    let git = |args: &[&str]| {
        fs::write(scratch.top.join("x"), "1\n2\nx\n3\n4\nx\n5\nx\n").unwrap();
        scratch.git([&["grep", "--no-index", "-h"], args, &["x", "--", "x"]].concat()).stdout
    };
    let last = |lines: &[String]| {
        let content = |line: &String| match line.as_str() {
            "--" => "--\n".to_owned(),
            line => line.rsplit([':', '-']).next().unwrap().to_owned() + "\n",
        };
        lines.iter().map(content).collect::<String>()
    };
    for args in [&["-m1", "-B2"][..], &["-m1", "-C1"], &["-m2", "-A1"], &["-m2", "-C1"], &["-m1"], &["-m2"]] {
        let found = text(&[args, &["x"]].concat());
        assert_eq!(last(&found), git(args), "{args:?}: {found:?}");
    }
    assert_eq!(text(&["-m4", "x"]).len(), 4, "over several messages");
    assert_eq!((text(&["-m-1", "x"]).len(), text(&["-c", "-m-1", "x"])), (4, vec![":4".to_owned()]));
    for option in ["-L", "-l", "-c", "-q"] {
        let ran = scratch.shiftlog("grep", [option, "-m0", "x"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{option}");
    }
}

#[test]
fn a_string_across_lines_chooses_the_commits_that_have_it() {
    let scratch = Scratch::new();
    let with = prompts(&scratch, "s1", &["the first line\nand the second"]);
    prompts(&scratch, "s2", &["the first line", "and the second"]);
    prompts(&scratch, "s3", &["and the second\nthe first line"]);
    let listed = |args: &[&str]| scratch.shiftlog("log", [&["--format=%H"], args].concat());
    assert_eq!(listed(&["-S", "line\nand the"]).ok(), format!("{with}\n"));
    assert_eq!(listed(&["-S", "first line"]).ok().lines().count(), 3);
    for option in ["-S", "-G"] {
        let ran = listed(&[option, ""]);
        assert_eq!((ran.code, ran.stderr), (129, format!("error: switch `{}' requires a value\n", &option[1..])));
    }
}

/// A repository with a merge whose parents follow each other, and a side that is older than what it was merged into. Every
/// commit has a record.
fn merged() -> Scratch {
    let mut scratch = Scratch::new();
    let mut hour = 0;
    let mut commit = |scratch: &mut Scratch, words: &[&str]| {
        hour += 1;
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            scratch.env.insert(name.into(), format!("2026-01-03T{hour:02}:00:00Z"));
        }
        scratch.git(words).ok();
    };
    let empty = |message: &'static str| ["commit", "-q", "--allow-empty", "-m", message];
    commit(&mut scratch, &empty("fix the loop"));
    scratch.git(["switch", "-q", "-c", "side"]).ok();
    commit(&mut scratch, &empty("side"));
    scratch.git(["switch", "-q", "-"]).ok();
    commit(&mut scratch, &["merge", "-q", "--no-ff", "-m", "merge of what follows", "side"]);
    scratch.git(["switch", "-q", "-c", "old"]).ok();
    commit(&mut scratch, &empty("old one"));
    scratch.git(["switch", "-q", "-"]).ok();
    commit(&mut scratch, &empty("fix a.b"));
    scratch.git(["switch", "-q", "old"]).ok();
    commit(&mut scratch, &empty("old two"));
    scratch.git(["switch", "-q", "-"]).ok();
    commit(&mut scratch, &["merge", "-q", "--no-ff", "-m", "merge of old", "old"]);
    let record = json!({ "shiftlog": 1, "agent": "claude", "session": "s", "time": "2026-01-02T03:04:05Z", "turns": 1,
        "messages": 1, "since": null, "through": "f".repeat(40), "bytes": 0, "sha256": "00" });
    for id in scratch.git(["rev-list", "HEAD"]).ok().lines() {
        forge(&scratch, id, &record);
    }
    scratch
}

#[test]
fn a_graph_has_both_parents_of_a_merge_and_begins_where_git_begins() {
    let scratch = merged();
    let as_git = |args: &[&str]| {
        let [ours, git] = ["shiftlog", "log"].map(|word| {
            let words = if word == "shiftlog" { &["shiftlog", "log"][..] } else { &["log"] };
            scratch.git([words, &["--graph", "--format=%s"], args].concat()).ok()
        });
        (ours, git)
    };
    let (ours, git) = as_git(&[]);
    assert_eq!(ours, git);
    let subjects = |graph: &str| {
        let subject =
            |line: &str| line.split_once("* ").map(|(_, text)| text.trim_start_matches(['|', '\\', ' ']).to_owned());
        graph.lines().filter_map(subject).collect::<Vec<_>>()
    };
    for count in ["-n2", "-n3", "-n4"] {
        let (ours, git) = as_git(&[count]);
        assert_eq!(subjects(&ours), subjects(&git), "{count}\n{ours}\n{git}");
    }
}

#[test]
fn revisions_mean_what_they_mean_to_git() {
    let scratch = merged();
    let same = |revisions: &[&str]| {
        let args = [&["log", "--format=%H"], revisions].concat();
        let git = scratch.git(&args);
        let ours = scratch.git([&["shiftlog"], args.as_slice()].concat());
        assert_eq!(ours.stdout, git.stdout, "{revisions:?}: {}", ours.stderr);
        assert!(ours.code == 0 && git.code == 0, "{revisions:?}: {}", ours.stderr);
    };
    for revision in
        [":/fix", ":/fix.*loop", "HEAD^{/fix}", "HEAD^{/fix a.b}", "HEAD^{/^fix the}..HEAD", ":/side..", "HEAD^@"]
    {
        same(&[revision]);
    }
    // Other parents than those in the commits.
    let (head, first) = (scratch.id("HEAD"), scratch.id(":/fix the loop"));
    scratch.git(["replace", "--graft", &head, &first]).ok();
    same(&["HEAD"]);
    scratch.git(["replace", "-d", &head]).ok();
    let grafts = scratch.top.join(".git/info/grafts");
    fs::create_dir_all(grafts.parent().unwrap()).unwrap();
    fs::write(&grafts, format!("{head} {first}\n")).unwrap();
    same(&["HEAD"]);
    fs::remove_file(&grafts).unwrap();
    // Two blobs whose ids begin alike.
    for number in ["number 290\n", "number 550\n"] {
        scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], number.as_bytes()).ok();
    }
    for args in [&["log", "a9be"][..], &["show", "a9be"], &["grep", "x", "a9be"]] {
        let ran = scratch.git([&["shiftlog"], args].concat());
        assert!(ran.stderr.contains("short object ID a9be is ambiguous"), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.code, 128, "{args:?}");
    }
}

#[test]
fn a_search_that_runs_out_of_time_says_how_far_it_came() {
    let scratch = Scratch::new();
    for number in 0..4 {
        prompts(&scratch, &format!("s{number}"), &["a needle in the hay"]);
    }
    let repo = Repository::open(&scratch.top).unwrap();
    let reader = Reader::new(&repo, None);
    let tips = repo.head().unwrap().commit_id.into_iter().collect();
    let query = Query { range: Range { tips, hidden: Vec::new() }, ..Query::default() };
    let plan = Increments::new(&reader, &query, false).unwrap();
    let terms = Terms::new(&["needle".to_owned()], &[], Case::Folded, 0.6).unwrap();
    let search = |seconds: u64| {
        let limits = Limits { threads: 2, deadline: Some(Instant::now() + Duration::from_secs(seconds)) };
        let options = SearchOptions { max_count: 9, limits, now: 0 };
        let found = find::search(&reader, &plan, &terms, options, &|| Ok(())).unwrap();
        (found.hits.len(), found.searched)
    };
    assert_eq!(search(0), (0, 0), "there was no time at all");
    assert_eq!(search(86_400), (4, 4), "there was time enough");
}

#[test]
fn a_question_of_many_words_is_answered_and_a_search_for_all_of_them_refused() {
    let scratch = Scratch::new();
    prompts(&scratch, "s1", &["a needle in the haystack"]);
    let words: Vec<String> = (0..10_000).map(|number| format!("word{number:05}")).collect();
    let ran = scratch.shiftlog("search", words.iter().map(String::as_str));
    assert_eq!((ran.code, ran.stderr.as_str()), (129, "error: more than 64 words to search for\n"));
    assert_eq!(scratch.shiftlog("search", vec!["needle"; 100]).code, 0, "the same word counts once");
    let question = format!("needle haystack {}", words.join(" "));
    assert!(question.len() > 100_000);
    let arguments = json!({ "query": question });
    let ask = |id: u32, method: &str, params: Value| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    };
    let client =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let input = ask(1, "initialize", client)
        + &ask(2, "tools/call", json!({ "name": "shiftlog_search", "arguments": arguments }));
    let ran = crate::support::feed(&mut scratch.command("git-shiftlog-mcp", &scratch.top), input.as_bytes());
    let answer: Value = serde_json::from_str(ran.stdout.lines().nth(1).unwrap()).unwrap();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(answer["result"]["structuredContent"], json!({ "matches": [] }), "it has too few of the words");
}

#[test]
fn a_partial_clone_fetches_all_that_is_searched_at_once() {
    let scratch = Scratch::new();
    // More than gix could open packs, if each came in one of its own.
    for number in 0..40 {
        prompts(&scratch, &format!("s{number}"), &[&format!("a needle in hay {number}")]);
    }
    for setting in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        scratch.git(["config", setting, "true"]).ok();
    }
    let clone = scratch.root().join("clone");
    let url = format!("file://{}", scratch.top.display());
    let (clone_path, refs) = (clone.to_str().unwrap(), ["refs/notes/shiftlog", "refs/shiftlog/sessions"]);
    scratch.git(["clone", "-q", "--filter=blob:none", &url, clone_path]).ok();
    let specs = refs.map(|name| format!("{name}:{name}"));
    scratch.git_in(&clone, ["fetch", "-q", "--filter=blob:none", "origin", &specs[0], &specs[1]]).ok();
    let packs = || {
        let files = fs::read_dir(clone.join(".git/objects/pack")).unwrap().flatten();
        files.filter(|file| file.path().extension().is_some_and(|extension| extension == "pack")).count()
    };
    let before = packs();
    let found = scratch.shiftlog_in(&clone, "grep", ["-c", "needle"]);
    assert_eq!((found.code, found.stdout.lines().count()), (0, 40), "{}", found.stderr);
    assert!(packs() < before + 10, "not a fetch for each note and segment: {} after {before}", packs());
}

#[test]
fn the_line_of_a_hit_fits_the_terminal() {
    let mut scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("look");
    session.says(&format!(
        "{} the needlework is here {}",
        "words before it ".repeat(40),
        "\u{6f6e}\u{6c50} behind it ".repeat(40)
    ));
    session.edits("a.txt", "a\n");
    session.commits("one");
    for columns in [40, 80, 200] {
        let shown = on_terminal(&mut scratch, columns, "search", &["needlework"]);
        let line = shown.lines().find(|line| line.starts_with("    ")).expect("a hit");
        assert!(line.contains("needlework"), "{columns}: {line}");
        let width = unicode_width::UnicodeWidthStr::width(line);
        assert!(width <= columns as usize && width + 40 >= columns as usize, "{columns}: {width}: {line}");
    }
    // Scripts get more of it.
    assert!(scratch.shiftlog("search", ["needlework"]).ok().lines().any(|line| line.chars().count() > 250));
}

#[test]
fn a_transcript_of_nothing_but_turns_is_searched_up_to_a_limit() {
    let scratch = Scratch::new();
    let texts: Vec<String> = (0..50_010).map(|number| format!("needle {number}")).collect();
    prompts(&scratch, "many", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let ran = scratch.shiftlog("search", ["needle"]);
    assert!(ran.stdout.contains("needle"), "{ran:?}");
    let told = "the transcript of claude/many has more than 50000 turns; the rest is not searched";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let tools = scratch.shiftlog("stats", ["--tools"]);
    assert!(tools.code == 1 && !tools.stderr.contains("too large"), "so many are read: {tools:?}");
}
