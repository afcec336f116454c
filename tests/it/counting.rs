//! `git shiftlog stats`: what recorded work has used. Each increment counts once, and no price is invented.

mod copies;
mod costs;
mod fetched_prices;
mod lines;
mod long;
mod much;
mod own_prices;
mod seen;
mod shorter;
mod tiers;
mod tools;
mod two_clones;
mod unread;
mod words;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Scratch, Session};

/// Usage of one answer: of a million dollars' parts, 53,750.
fn usage() -> Value {
    json!({ "input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 20_000,
        "cache_creation_input_tokens": 4000,
        "cache_creation": { "ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 3000 } })
}

/// Adds an answer of a model, written as two records of one id, as Claude Code does.
fn answers(session: &Session<'_>, id: &str, model: &str, usage: &Value) {
    for text in ["Well.", "So."] {
        let message = json!({ "id": id, "role": "assistant", "model": model, "usage": usage,
            "content": [{ "type": "text", "text": text }] });
        let record = json!({ "type": "assistant", "uuid": format!("{id}-{text}"), "sessionId": session.id,
            "timestamp": "2026-01-02T03:04:06Z", "message": message });
        session.append(format!("{record}\n").as_bytes());
    }
}

/// A session with an answer of Opus and two calls of a model without a price, and its commit.
pub fn work(scratch: &Scratch, name: &str) -> String {
    let session = scratch.session(name);
    session.prompt(&format!("make {name}"));
    answers(&session, &format!("msg_{name}"), "claude-opus-4-8", &usage());
    session.edits(&format!("{name}.txt"), "words\n");
    session.commits(&format!("add {name}"))
}

fn objects(scratch: &Scratch, args: &[&str]) -> Vec<Value> {
    let printed = scratch.shiftlog("stats", [&["--json"], args].concat()).ok();
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns all groups together, without what depends on how many commits there are.
fn total(scratch: &Scratch, args: &[&str]) -> Value {
    let mut total = objects(scratch, args).pop().unwrap();
    assert_eq!(total["total"], true);
    for key in ["commits", "coverage"] {
        total.as_object_mut().unwrap().remove(key);
    }
    total
}

#[test]
fn a_record_tells_the_tokens_of_each_model() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    let record = scratch.record("HEAD");
    let opus = json!({ "input": 1000, "output": 100, "cacheRead": 20_000, "cacheWrite": 4000, "cacheWriteLong": 3000 });
    let other = json!({ "input": 20, "output": 10, "cacheRead": 0, "cacheWrite": 0 });
    let expected =
        json!([{ "model": "claude-opus-4-8", "tokens": opus }, { "model": "claude-test-1", "tokens": other }]);
    assert_eq!(record["usage"], expected);
    assert_eq!((&record["tokens"]["input"], &record["tokens"]["cacheWriteLong"]), (&json!(1020), &json!(3000)));
    assert_eq!((&record["model"], &record["active"]), (&json!("claude-test-1"), &json!(0)));
    assert_eq!(record["edits"], json!([{ "path": "one.txt", "calls": 1, "added": 1, "removed": 0 }]));
    let head = scratch.shiftlog("show", ["HEAD"]).ok();
    assert!(head.contains(", tokens 1020 in, 110 out, 24000 cached, at least 0.05 USD by list prices\n"), "{head}");
    assert_eq!(scratch.shiftlog("log", ["--format=%(cost)"]).ok(), "at least 0.05\n");
    let page = scratch.shiftlog("export", ["--html"]).ok();
    assert!(page.contains("<li>at least 0.05 USD</li>"), "{page}");
    scratch.shiftlog("export", ["--html", "-o", "site/"]).ok();
    let index = std::fs::read_to_string(scratch.top.join("site/index.html")).unwrap();
    assert!(index.contains("<li>25.1k tokens</li><li>at least 0.05 USD</li>"), "{index}");
    // What somebody pays is nobody else's business.
    scratch.write("prices", "claude-test-1\t-\t100000\t100000\n");
    scratch.git(["config", "shiftlog.prices", "prices"]).ok();
    assert!(scratch.shiftlog("log", ["--format=%(cost)"]).ok().contains("3.05"), "the table is used");
    assert_eq!(scratch.shiftlog("export", ["--html"]).ok(), page);
}

#[test]
fn wide_names_stand_in_their_columns() {
    let mut scratch = Scratch::set_up();
    for (number, name) in ["山田太郎", "Bob", "김철수"].into_iter().enumerate() {
        scratch.env.insert("GIT_AUTHOR_NAME".into(), name.into());
        work(&scratch, &format!("n{number}"));
    }
    let table = scratch.shiftlog("stats", ["--by=author"]).ok();
    let rows: Vec<&str> = table.lines().skip(1).take(5).collect();
    let place = |row: &str, end: &str| {
        let before = &row[..row.find(end).unwrap() + end.len()];
        before.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum::<usize>()
    };
    let heads = place(rows[0], "commits");
    for row in &rows[1..4] {
        // Each has one commit.
        assert_eq!(place(row, " 1"), heads, "{table}");
    }
}

#[test]
fn what_was_used_is_told_by_agent_and_model() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    scratch.git(["commit", "-q", "--allow-empty", "-m", "by hand"]).ok();
    work(&scratch, "two");
    let expected = "\
4 commits, 2 with a record (50 %), 2 sessions, 2 turns
agent   model            commits  turns  input  output  cache read  written           cost
claude  claude-opus-4-8        2      0   2.0k     200       40.0k     8.0k           0.11
claude  claude-test-1          2      2     40      20           0        0        unknown
total                          2      2   2.0k     220       40.0k     8.0k  at least 0.11
no price known for claude-test-1
list prices of <day>, in US dollars, not what a subscription costs
";
    let expected = expected.replace("<day>", shiftlog::stats::Prices::listed().date());
    assert_eq!(scratch.shiftlog("stats", [""; 0]).ok(), expected);
    let chart = scratch.shiftlog("stats", ["--chart", "--by=day"]).ok();
    assert_eq!(chart, format!("2026-01-02  at least 0.11  {}\n", "=".repeat(53)));
    let csv = scratch.shiftlog("stats", ["--csv", "--model=opus"]).ok();
    assert_eq!(
        csv,
        "agent,model,commits,sessions,turns,messages,active,input,output,cacheRead,cacheWrite,cacheWriteLong,cost,atLeast\r\n\
         claude,claude-opus-4-8,2,2,0,0,0,2000,200,40000,8000,6000,0.1075,false\r\n"
    );
    let coverage = |args: &[&str]| scratch.shiftlog("stats", args).ok().lines().next().unwrap().to_owned();
    let line = "5 commits, 2 with a record of opus (40 %), 2 sessions, 0 turns";
    let third = scratch.session("three");
    third.prompt("make three");
    third.edits("three.txt", "words\n");
    third.commits("add three");
    assert_eq!(coverage(&["--model=opus"]), line, "the commits whose tokens are in the rows");
    let last = objects(&scratch, &["--model=opus"]).pop().unwrap();
    assert_eq!((&last["coverage"]["recorded"], &last["commits"]), (&json!(2), &json!(2)));
    assert_eq!(coverage(&["--session=three"]), "5 commits, 1 with a record (20 %), 1 session, 1 turn");
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    let unpriced = scratch.shiftlog("stats", ["--csv", "--model=test"]).ok();
    assert!(unpriced.ends_with(",,true\r\n"), "what has no price is no nought: {unpriced}");
    let plain = scratch.shiftlog("stats", ["--no-cost", "--by=agent"]).ok();
    assert_eq!(
        plain.lines().skip(1).collect::<Vec<_>>(),
        [
            "agent   commits  turns  input  output  cache read  written",
            "claude        2      2   2.0k     220       40.0k     8.0k"
        ]
    );
}

#[test]
fn without_a_record_nothing_is_counted() {
    let scratch = Scratch::set_up();
    let ran = scratch.shiftlog("stats", [""; 0]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", "error: no conversation recorded\n"));
    assert_eq!(scratch.shiftlog("stats", ["--by=mood"]).code, 129);
}

#[test]
fn groups_of_every_kind_add_up() {
    let scratch = Scratch::set_up();
    for name in ["one", "two"] {
        work(&scratch, name);
    }
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    work(&scratch, "three");
    let whole = objects(&scratch, &["--branches"]).pop().unwrap();
    for by in [
        "agent",
        "model",
        "author",
        "branch",
        "commit",
        "day",
        "week",
        "month",
        "session",
        "path",
        "day,model,branch,path",
    ] {
        let mut groups = objects(&scratch, &["--branches", &format!("--by={by}")]);
        assert_eq!(groups.pop().as_ref(), Some(&whole), "{by}");
        for key in ["turns", "messages", "active"] {
            let sum: u64 = groups.iter().map(|group| group[key].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), whole[key].as_u64(), "{key} by {by}");
        }
        for key in ["input", "output", "cacheRead", "cacheWrite"] {
            let sum: u64 = groups.iter().map(|group| group["tokens"][key].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), whole["tokens"][key].as_u64(), "{key} by {by}");
        }
        let cents: f64 = groups.iter().map(|group| group["cost"].as_str().unwrap().parse::<f64>().unwrap()).sum();
        assert!((cents - 0.16125).abs() < 1e-9, "cost by {by}: {cents}");
    }
    let branches = objects(&scratch, &["--branches", "--by=branch"]);
    let names: Vec<_> = branches.iter().filter_map(|group| group["by"]["branch"].as_str()).collect();
    assert_eq!(names, ["main", "topic"]);
    // As a forge squashes it.
    scratch.git(["branch", "-q", "-M", "topic", "gone"]).ok();
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--squash", "gone"]).ok();
    scratch.git(["commit", "-q", "-m", "The topic (#12)"]).ok();
    scratch.git(["branch", "-q", "-D", "gone"]).ok();
    let branches = objects(&scratch, &["--by=branch"]);
    let names: Vec<_> = branches.iter().filter_map(|group| group["by"]["branch"].as_str()).collect();
    assert_eq!(names, ["main", "#12"]);
}

#[test]
fn what_was_used_is_shared_among_the_files_that_were_changed() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make both");
    answers(&session, "msg_1", "claude-opus-4-8", &usage());
    session.edits("src/net/big.rs", "a\nb\nc\n");
    session.edits("src/small.rs", "a\n");
    // Neither a file outside of the repository nor a call that failed has changed anything here.
    session.calls("x", "Write", &json!({ "file_path": "/elsewhere/x.rs", "content": "a\n" }));
    session.answers("x", "done");
    session.calls(
        "y",
        "Edit",
        &json!({ "file_path": scratch.top.join("src/small.rs"), "old_string": "no", "new_string": "a\nb" }),
    );
    let result = json!({ "type": "tool_result", "tool_use_id": "y", "content": "not found", "is_error": true });
    let failed = json!({ "type": "user", "sessionId": "s1", "timestamp": "2026-01-02T03:04:06Z",
        "message": { "role": "user", "content": [result] } });
    session.append(format!("{failed}\n").as_bytes());
    session.commits("add both");
    session.prompt("tell me");
    answers(&session, "msg_2", "claude-opus-4-8", &usage());
    scratch.write("by_hand.txt", "a\n");
    session.commits("add by hand");
    let told = |args: &[&str]| -> Vec<(String, u64, u64, String)> {
        let groups = objects(&scratch, &[&["--model=opus"], args].concat());
        let (_, groups) = groups.split_last().unwrap();
        let row = |group: &Value| {
            let number = |value: &Value| value.as_u64().unwrap();
            let path = group["by"]["path"].as_str().unwrap().to_owned();
            (
                path,
                number(&group["tokens"]["input"]),
                number(&group["turns"]),
                group["cost"].as_str().unwrap().to_owned(),
            )
        };
        groups.iter().map(row).collect()
    };
    let expected = |path: &str, input, cost: &str| (path.to_owned(), input, 0, cost.to_owned());
    assert_eq!(
        told(&["--by=path"]),
        [
            expected("(none)", 1000, "0.05375"),
            expected("src/net/big.rs", 750, "0.0403125"),
            expected("src/small.rs", 250, "0.0134375")
        ]
    );
    assert_eq!(
        told(&["--by=path", "--depth=1"]),
        [expected("(none)", 1000, "0.05375"), expected("src/", 1000, "0.05375")]
    );
    assert_eq!(told(&["--by=path", "--depth=2"])[1], expected("src/net/", 750, "0.0403125"));
    let record = scratch.record("HEAD~1");
    let mut older = record.clone();
    older.as_object_mut().unwrap().remove("edits");
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &older.to_string(), "HEAD~1"]).ok();
    assert_eq!(told(&["--by=path"]), [expected("(none)", 2000, "0.1075")], "an earlier version told no files");
    assert_eq!(told(&["--by=path", "--words"]).len(), 3, "the words do");
    assert!(scratch.shiftlog("fsck", ["--repair", "--recount"]).ok().starts_with("counted 1 record again\n"));
    assert_eq!(scratch.record("HEAD~1"), record);
}

#[test]
fn words_and_notes_tell_the_same() {
    let scratch = Scratch::set_up();
    for name in ["one", "two"] {
        work(&scratch, name);
    }
    assert_eq!(total(&scratch, &["--words"]), total(&scratch, &[]));
    // A fork repeats an answer under another session.
    let session = scratch.session("fork");
    session.prompt("go on");
    answers(&session, "msg_one", "claude-opus-4-8", &usage());
    session.edits("fork.txt", "words\n");
    session.commits("add fork");
    assert_eq!(total(&scratch, &["--words", "--model=opus"])["cost"], "0.1075", "the answer counts once");
    assert_eq!(total(&scratch, &["--model=opus"])["cost"], "0.16125", "notes do not tell of answers");
}

/// An answer of two calls, which a commit cuts in two: its second record, which tells more, is written after the commit.
fn cut_answer(session: &Session<'_>, number: u32) {
    let id = format!("msg_{number}");
    let says = |tool: &str, output: u64| {
        let call = json!({ "type": "tool_use", "id": format!("{id}-{tool}"), "name": tool, "input": {} });
        let message = json!({ "id": id, "role": "assistant", "model": "claude-opus-4-8", "content": [call],
            "usage": { "input_tokens": 10, "output_tokens": output } });
        session.record("assistant", &message);
    };
    says("Bash", 61);
    session.scratch.write("a.txt", &id);
    let commit = session.runs_commit(&["-m", &id]);
    session.hook_for("PostToolUse", &format!("{id}-Bash"));
    says("Read", 161);
    session.answers(&format!("{id}-Bash"), &format!("[main {}] {id}", &commit[..7]));
    session.answers(&format!("{id}-Read"), "words");
}

#[test]
fn an_answer_that_a_commit_cuts_in_two_counts_once() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    (0..3).for_each(|number| cut_answer(&session, number));
    session.hook("Stop");
    session.hook("SessionEnd");
    let used = |args: &[&str]| {
        let total = total(&scratch, args);
        (total["tokens"]["input"].as_u64().unwrap(), total["tokens"]["output"].as_u64().unwrap())
    };
    assert_eq!(scratch.records("HEAD~1").len(), 1);
    assert_eq!(used(&[]), (30, 483));
    assert_eq!(used(&["--words"]), (30, 483));
    let told = scratch.shiftlog("fsck", ["--repair", "--recount"]).ok();
    assert_eq!(used(&[]), (30, 483), "{told}");
}

#[test]
fn an_answer_between_two_records_that_were_added_counts_once() {
    let scratch = Scratch::set_up();
    let path = scratch.root().join("said.jsonl");
    let add = |output: u64| {
        let call = json!({ "type": "tool_use", "id": output.to_string(), "name": "Read", "input": {} });
        let message = json!({ "id": "msg", "role": "assistant", "model": "claude-opus-4-8", "content": [call],
            "usage": { "input_tokens": 10, "output_tokens": output } });
        let line = json!({ "type": "assistant", "uuid": output.to_string(), "sessionId": "s1",
            "timestamp": "2026-01-02T03:04:06Z", "message": message });
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, format!("{before}{line}\n")).unwrap();
        scratch.git(["commit", "-q", "--allow-empty", "-m", "work"]).ok();
        scratch.shiftlog("add", ["-q", "--session=s1", "--transcript", path.to_str().unwrap()]).ok();
    };
    add(61);
    add(161);
    for args in [&[][..], &["--words"]] {
        let tokens = &total(&scratch, args)["tokens"];
        assert_eq!((&tokens["input"], &tokens["output"]), (&json!(10), &json!(161)), "{args:?}");
    }
    let record = scratch.record("HEAD");
    let mut older = record.clone();
    older["tokens"] = json!({ "input": 10, "output": 161 });
    older.as_object_mut().unwrap().remove("active");
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &older.to_string(), "HEAD"]).ok();
    assert!(scratch.shiftlog("fsck", ["--repair", "--recount"]).ok().starts_with("counted 1 record again\n"));
    assert_eq!(scratch.record("HEAD"), record);
}

#[test]
fn a_long_answer_is_priced_exactly_with_its_words() {
    let scratch = Scratch::set_up();
    let prices = scratch.root().join("prices.tsv");
    std::fs::write(&prices, "claude-test-1\t-\t1\t1\nlong-1\t-\t1\t1\t1\t-\t-\t200000\t2\t2\t2\n").unwrap();
    scratch.git(["config", "shiftlog.prices", prices.to_str().unwrap()]).ok();
    let session = scratch.session("s1");
    session.prompt("make a");
    answers(&session, "msg_1", "long-1", &json!({ "input_tokens": 150_000 }));
    answers(&session, "msg_2", "long-1", &json!({ "input_tokens": 250_000 }));
    session.edits("a.txt", "words\n");
    session.commits("add a");
    let cost = |args: &[&str]| {
        let total = total(&scratch, &[&["--model=long"], args].concat());
        (total["cost"].as_str().unwrap().to_owned(), total["atLeast"].as_bool().unwrap())
    };
    assert_eq!(cost(&[]), ("0.40".to_owned(), true));
    assert_eq!(cost(&["--words"]), ("0.65".to_owned(), false));
    let shown = scratch.shiftlog("stats", ["--by=agent"]).ok();
    assert!(shown.ends_with(" and your own, in US dollars, not what a subscription costs\n"), "{shown}");
    std::fs::write(&prices, "long-1\t-\tone\t1\n").unwrap();
    let ran = scratch.shiftlog("stats", [""; 0]);
    let told = format!("error: cannot use '{}': line 1 is no price\n", prices.display());
    assert_eq!((ran.code, ran.stderr), (129, told.clone()));
    let warned = scratch.shiftlog("show", ["--no-tools"]);
    assert_eq!((warned.code, warned.stderr), (0, told.replace("error:", "warning:")), "show tells costs, too");
    for name in ["branches", "search"] {
        assert_eq!(
            scratch.shiftlog(name, ["make"].into_iter().filter(|_| name == "search")).stderr,
            "",
            "{name} has none"
        );
    }
}

#[test]
fn hostile_counts_are_cut_and_told() {
    let scratch = Scratch::set_up();
    let id = work(&scratch, "one");
    let mut record = scratch.record(&id);
    record["active"] = json!(u64::MAX);
    record["session"] = json!("=HYPERLINK(\"x\"),\u{1b}[31m");
    record["usage"] = json!([{ "model": "claude-opus-4-8", "tokens": { "input": u64::MAX, "output": u64::MAX } }]);
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &record.to_string(), &id]).ok();
    work(&scratch, "two");
    let shown = scratch.shiftlog("stats", ["--by=session"]).ok();
    assert!(
        shown.contains("\nsome counts are too large to add up, and are cut\n") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    let cut = total(&scratch, &[]);
    assert_eq!((&cut["cut"], &cut["atLeast"]), (&json!(true), &json!(true)));
    let csv = scratch.shiftlog("stats", ["--by=session", "--csv"]).ok();
    assert!(csv.contains("\r\n\"'=HYPERLINK(\"\"x\"\"),\",1,1,"), "{csv}");
    // Rounding such a count to hours ended the program.
    assert!(shown.contains(", 5124095576030431 h active\n"), "{shown}");
}

#[test]
fn older_records_are_counted_again() {
    let scratch = Scratch::set_up();
    let commit = work(&scratch, "one");
    let record = scratch.record(&commit);
    let mut older = record.clone();
    let keys = older.as_object_mut().unwrap();
    keys.remove("usage");
    keys.remove("active");
    keys.remove("edits");
    keys["tokens"].as_object_mut().unwrap().remove("cacheWriteLong");
    // Another clone, in which an earlier version wrote the record.
    let other = Scratch::empty(&[]);
    let from = scratch.top.to_str().unwrap();
    other.git(["fetch", "-q", from, "main:refs/heads/work", "refs/shiftlog/sessions:refs/shiftlog/sessions"]).ok();
    other.git(["notes", "--ref=shiftlog", "add", "-m", &older.to_string(), &commit]).ok();
    assert_eq!(total(&other, &["work"])["unpriced"], json!(["claude-test-1"]), "the record has one model");
    assert_eq!(other.shiftlog("fsck", ["--recount"]).code, 129, "nothing is changed without --repair");
    let told = other.shiftlog("fsck", ["--repair", "--recount"]).ok();
    assert!(told.starts_with("counted 1 record again\n"), "{told}");
    assert_eq!(other.record(&commit), record);
    let again = other.shiftlog("fsck", ["--repair", "--recount"]).ok();
    assert!(again.starts_with("checked "), "{again}");
}

#[test]
fn nothing_is_fetched() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    let expected = scratch.shiftlog("stats", [""; 0]).ok();
    // A network of its own, in which nobody is.
    let ran = scratch.run_in(&scratch.top, "unshare", ["-rn", "git", "shiftlog", "stats"]);
    assert_eq!(ran.ok(), expected);
    let listed = scratch.run_in(&scratch.top, "unshare", ["-rn", "git", "shiftlog", "prices", "claude-opus-4-8"]).ok();
    assert!(listed.ends_with("\nclaude-opus-4-8\t-\t5\t25\t0.5\t6.25\t10\n"), "{listed}");
}

#[test]
fn prices_tell_what_holds_for_a_model() {
    let scratch = Scratch::new();
    let all = scratch.shiftlog("prices", [""; 0]).ok();
    assert!(all.starts_with("# prices of ") && all.lines().count() > 100);
    let ran = scratch.shiftlog("prices", ["anthropic/claude-opus-4.8", "no-such-model"]);
    let hint = "hint: 'git shiftlog prices' lists the models with a price\n";
    assert_eq!((ran.code, ran.stderr), (1, format!("error: no price known for 'no-such-model'\n{hint}")));
    let part = scratch.shiftlog("prices", ["Opus-4-8"]);
    assert_eq!(part.stderr.lines().last(), Some("hint: there are prices for claude-opus-4-8, fast/claude-opus-4-8"));
    assert!(ran.stdout.ends_with("\nclaude-opus-4-8\t-\t5\t25\t0.5\t6.25\t10\n"), "{}", ran.stdout);
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/prices.py");
    scratch.run_in(&scratch.top, "python3", [tool.to_str().unwrap(), "--check"]).ok();
}
