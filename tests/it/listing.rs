//! What `log` looks like to somebody who reads it: at the widths that terminals have, and with words of all kinds.

use std::fs;

use crate::reading::{Talk, show};
use crate::sharing::line;
use crate::support::Scratch;

/// Runs `log` as on a terminal of this width.
pub fn log_at(scratch: &mut Scratch, columns: u32, args: &[&str]) -> String {
    on_terminal(scratch, columns, "log", args)
}

/// Runs a command as on a terminal of this width.
pub fn on_terminal(scratch: &mut Scratch, columns: u32, name: &str, args: &[&str]) -> String {
    scratch.env.insert("COLUMNS".into(), columns.to_string());
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    let listed = scratch.shiftlog(name, [&["--color=never"], args].concat());
    scratch.env.remove("COLUMNS");
    scratch.env.remove("GIT_PAGER_IN_USE");
    listed.ok()
}

#[test]
fn a_list_fits_the_terminal_whatever_is_written_in_it() {
    let mut scratch = Scratch::new();
    let prompts = [
        "Make the reconnect loop back off, and let it try again after a minute at most, with jitter, please",
        "再接続のループが待つようにしてください。最大で一分、ジッター付きでお願いします。ありがとうございます。",
        "👩\u{200d}👩\u{200d}👦 👩\u{200d}👩\u{200d}👦 👩\u{200d}👩\u{200d}👦 👩\u{200d}👩\u{200d}👦 👩\u{200d}👩\u{200d}👦 👩\u{200d}👩\u{200d}👦 👩\u{200d}👩\u{200d}👦 👩\u{200d}👩\u{200d}👦",
    ];
    for (number, prompt) in prompts.iter().enumerate() {
        scratch.commit("a.txt", &format!("{number}\n"), "next");
        let mut talk = Talk::new();
        talk.prompt(*prompt);
        talk.add(&scratch, &[&format!("--session=s{number}")]);
    }
    let id = |revision: &str| scratch.id(revision)[..7].to_owned();
    let [one, two, three] = [id("HEAD~2"), id("HEAD~1"), id("HEAD")];
    let plain = scratch.shiftlog("log", [""; 0]).ok();
    let row = |id: &str, words: &str| format!("{id} 2026-01-02 claude      1 {words}\n");
    let all = format!("{}{}{}", row(&three, prompts[2]), row(&two, prompts[1]), row(&one, prompts[0]));
    assert_eq!(plain, all, "where nobody looks, nothing is cut");
    let family = "👩\u{200d}👩\u{200d}👦";
    let expected = format!(
        "commit  date       agent    msgs summary or first prompt\n{}{}{}",
        row(&three, &format!("{} …", [family; 6].join(" "))),
        row(&two, "再接続のループが待つようにしてください。最大で…"),
        row(&one, "Make the reconnect loop back off, and let it t…")
    );
    assert_eq!(log_at(&mut scratch, 80, &[]), expected);
    let narrow = format!(
        "commit  msgs summary or first prompt\n{three}    1 {} …\n{two}    1 再接続のループが待つように…\n{one}    1 Make the reconnect loop ba…\n",
        [family; 3].join(" ")
    );
    assert_eq!(log_at(&mut scratch, 40, &[]), narrow);
    let wide = log_at(&mut scratch, 200, &[]);
    assert_eq!(wide.split_once('\n').unwrap().1, all, "there is room for all");
    assert_eq!(
        log_at(&mut scratch, 80, &["--format=%h %s", "-1"]),
        format!("{three} next\n"),
        "formats have no header"
    );
}

#[test]
fn a_graph_fits_the_terminal_too() {
    let mut scratch = Scratch::new();
    let add = |scratch: &Scratch, prompt: &str| {
        scratch.git(["commit", "-q", "--allow-empty", "-m", prompt]).ok();
        let mut talk = Talk::new();
        talk.prompt(prompt);
        talk.add(scratch, &[&format!("--session={}", prompt.len())]);
        scratch.id("HEAD")[..7].to_owned()
    };
    let first = add(&scratch, "Make the reconnect loop back off, and let it try again after a minute at most, please");
    scratch.git(["switch", "-q", "-c", "side"]).ok();
    let side = add(&scratch, "再接続のループが待つようにしてください。最大で一分、ジッター付きでお願いします。");
    scratch.git(["switch", "-q", "main"]).ok();
    let second = add(&scratch, "short");
    let at = |scratch: &mut Scratch, columns, color: &str| log_at(scratch, columns, &["--graph", "--branches", color]);
    let header = "  commit  date       agent    msgs summary or first prompt\n";
    let expected = format!(
        "{header}* {second} 2026-01-02 claude      1 short\n| * {side} 2026-01-02 claude      1 再接続のループが待つようにしてください。最…\n|/\n* {first} 2026-01-02 claude      1 Make the reconnect loop back off, and let it…\n"
    );
    let shown = at(&mut scratch, 80, "--color=never");
    assert_eq!(shown, expected);
    let narrow = at(&mut scratch, 40, "--color=never");
    assert!(narrow.ends_with(&format!("* {first}    1 Make the reconnect loop …\n")), "{narrow}");
    let colored = at(&mut scratch, 40, "--color=always");
    assert_eq!(shiftlog::outside::text(&colored), narrow, "colours take no room");
    assert!(colored.lines().nth(2).unwrap().ends_with("…\u{1b}[m"), "{colored}");
    scratch.env.remove("GIT_PAGER_IN_USE");
    assert!(scratch.shiftlog("log", ["--graph"]).ok().contains(" at most, please\n"), "elsewhere nothing is cut");
}

#[test]
fn branches_have_a_header_on_a_terminal_and_columns_whatever_their_names() {
    let mut scratch = Scratch::new();
    scratch.git(["branch", "日本語"]).ok();
    let mut talk = Talk::new();
    talk.prompt("Go on.");
    talk.add(&scratch, &[]);
    let id = scratch.id("HEAD")[..7].to_owned();
    let rows = format!("* main   {id}     1 2026-01-02\n  日本語 {id}     1 2026-01-02\n");
    assert_eq!(scratch.shiftlog("branches", [""; 0]).ok(), rows);
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    let shown = scratch.shiftlog("branches", ["--color=never"]).ok();
    assert_eq!(shown, format!("  branch head    convs newest\n{rows}"));
    assert!(!scratch.shiftlog("branches", ["--porcelain"]).ok().contains("convs"));
}

#[test]
fn a_branch_whose_name_begins_like_a_ref_keeps_its_whole_name() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Go on.");
    talk.add(&scratch, &[]);
    scratch.git(["update-ref", "refs/heads/refs/heads/x", "HEAD"]).ok();
    let listed = scratch.shiftlog("branches", [""; 0]).ok();
    let names: Vec<&str> = listed.lines().filter_map(|line| line[2..].split_whitespace().next()).collect();
    assert_eq!(names, ["main", "refs/heads/x"], "{listed}");
    scratch.git(["symbolic-ref", "HEAD", "refs/heads/refs/heads/y"]).ok();
    let ran = scratch.shiftlog("show", [""; 0]);
    assert_eq!(ran.stderr, "fatal: your current branch 'refs/heads/y' does not have any commits yet\n");
}

#[test]
fn a_list_asks_the_terminal_for_its_width() {
    let mut scratch = Scratch::new();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v script && command -v stty"]).code != 0 {
        crate::support::skip("no script(1) and stty(1) to make a terminal with");
        return;
    }
    let mut talk = Talk::new();
    talk.prompt("Make the reconnect loop back off, and let it try again after a minute at most, with jitter, please");
    talk.add(&scratch, &[]);
    scratch.env.insert("TERM".into(), "dumb".into());
    scratch.env.insert("GIT_PAGER".into(), "cat".into());
    let widths = |columns: usize, command: &str| {
        let command = format!("stty cols {columns}; git shiftlog {command}");
        let shown = scratch.run_in(&scratch.top, "script", ["-qec", &command, "/dev/null"]).ok();
        shown.lines().map(|line| line.trim_end().chars().count()).collect::<Vec<usize>>()
    };
    for columns in [40, 80, 120] {
        let widths = widths(columns, "log");
        assert_eq!((widths.len(), widths[1]), (2, columns));
    }
    scratch.commit("long.txt", "x\n", &"a long subject ".repeat(9));
    talk.add(&scratch, &["--session=another"]);
    for columns in [40, 80] {
        let widths = widths(columns, "search jitter HEAD~..");
        assert!(widths.len() == 2 && widths[0] == columns && widths[1] <= columns, "{widths:?}");
    }
}

#[test]
fn a_list_says_what_stands_for_a_prompt_and_where_records_came_from() {
    let mut scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.answers("Nobody asked.");
    talk.add(&scratch, &[]);
    assert!(scratch.shiftlog("log", [""; 0]).ok().ends_with("   1 (no prompt) start\n"));
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    for name in ["one", "two"] {
        scratch.commit(&format!("{name}.txt"), "x\n", name);
        let mut talk = Talk::new();
        talk.prompt(format!("make {name}"));
        talk.add(&scratch, &[&format!("--session={name}")]);
    }
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("b.txt", "b\n", "meanwhile");
    scratch.env.insert("GIT_COMMITTER_DATE".into(), "2026-01-02T04:00:00Z".into());
    scratch.git(["cherry-pick", "topic~1"]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    assert!(scratch.shiftlog("log", ["-1"]).ok().ends_with(" make one (carried)\n"));
    assert!(show(&scratch, &[]).contains("\ncarried from another commit\n"), "{}", show(&scratch, &[]));
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
    scratch.git(["commit", "-q", "-m", "both"]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    assert!(
        scratch.shiftlog("log", ["-1"]).ok().ends_with(" (joined from 2)\n"),
        "{}",
        scratch.shiftlog("log", ["-1"]).ok()
    );
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v script && command -v stty"]).code == 0 {
        scratch.env.insert("TERM".into(), "dumb".into());
        scratch.env.insert("GIT_PAGER".into(), "cat".into());
        for log in ["log -1", "log --graph -1"] {
            let command = format!("stty cols 40; git shiftlog {log}");
            let shown = scratch.run_in(&scratch.top, "script", ["-qec", &command, "/dev/null"]).ok();
            assert!(shown.trim_end().ends_with(" (joined from 2)"), "{shown}");
        }
    } else {
        crate::support::skip("no script(1) and stty(1) to make a terminal with");
    }
    assert!(show(&scratch, &[]).contains("\njoined from the records of 2 commits\n"));
    assert!(!show(&scratch, &["topic"]).contains("carried"));
}

#[test]
fn commits_of_one_session_that_became_one_are_told_as_joined() {
    let mut scratch = Scratch::set_up();
    scratch.env.insert("GIT_SEQUENCE_EDITOR".into(), "sed -i -e '2,$s/^pick/fixup/'".into());
    let session = scratch.session("s1");
    for name in ["one", "two", "three"] {
        session.prompt(&format!("make {name}"));
        session.edits(&format!("{name}.txt"), "x\n");
        session.commits(name);
    }
    scratch.git(["branch", "apart"]).ok();
    scratch.git(["rebase", "-q", "-i", "HEAD~3"]).ok();
    let is_joined = |scratch: &Scratch| {
        let listed = scratch.shiftlog("log", ["-1"]).ok();
        assert!(listed.ends_with(" make one (joined from 3)\n"), "{listed}");
        let shown = show(scratch, &[]);
        assert!(shown.contains("\njoined from the records of 3 commits\n"), "{shown}");
    };
    assert_eq!(scratch.record("HEAD")["joinedTrees"].as_array().unwrap().len(), 2, "it is one record");
    is_joined(&scratch);
    scratch.git(["switch", "-q", "-c", "squashed", "apart~3"]).ok();
    scratch.commit("b.txt", "b\n", "meanwhile");
    scratch.git(["merge", "-q", "--squash", "apart"]).ok();
    scratch.git(["commit", "-q", "-m", "all"]).ok();
    is_joined(&scratch);
    // To amend it makes no fourth of them, also if the session has more to say.
    session.prompt("and four");
    session.edits("four.txt", "x\n");
    session.calls("amend", "Bash", &serde_json::json!({ "command": "git commit --amend --no-edit" }));
    session.runs_commit(&["--amend", "--no-edit"]);
    session.answers("amend", "[main 1234567] one");
    session.hook_for("PostToolUse", "amend");
    is_joined(&scratch);
    assert!(!scratch.shiftlog("log", ["apart"]).ok().contains('('), "those are as they were");
    scratch.assert_sound();
}

#[test]
fn an_amended_commit_is_not_told_as_joined() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make one");
    session.edits("one.txt", "x\n");
    session.commits("one");
    session.prompt("and two");
    session.edits("two.txt", "x\n");
    session.calls("amend", "Bash", &serde_json::json!({ "command": "git commit --amend --no-edit" }));
    session.runs_commit(&["--amend", "--no-edit"]);
    session.answers("amend", "[main 1234567] one");
    session.hook_for("PostToolUse", "amend");
    assert_eq!(scratch.record("HEAD")["turns"], 2);
    assert!(scratch.shiftlog("log", ["-1"]).ok().ends_with(" make one\n"));
}

#[test]
fn a_prompt_that_was_cut_when_it_was_recorded_ends_with_an_ellipsis() {
    let scratch = Scratch::new();
    let long = "x".repeat(300);
    for prompt in ["short", &long] {
        scratch.commit("a.txt", prompt, "next");
        let mut talk = Talk::new();
        talk.prompt(prompt);
        talk.add(&scratch, &[&format!("--session=of-{}", prompt.len())]);
    }
    let cut = format!("{}…", "x".repeat(200));
    let listed = scratch.shiftlog("log", [""; 0]).ok();
    let words: Vec<&str> = listed.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(words, [cut.as_str(), "short"]);
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", "--no-local", ".", clone.to_str().unwrap()]).ok();
    scratch.git_in(&clone, ["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    let shown = scratch.shiftlog_in(&clone, "show", [""; 0]);
    assert!(shown.stdout.ends_with(&format!("\n[transcript not fetched]\n\n> {cut}\n\n")), "{shown:?}");
    let document = scratch.shiftlog_in(&clone, "show", ["--format=markdown"]).ok();
    assert!(document.ends_with(&format!("\n> {cut}\n")), "{document}");
    let shown = scratch.shiftlog_in(&clone, "show", ["HEAD~1"]);
    assert!(shown.stdout.ends_with("\n> short\n\n"), "{shown:?}");
}

#[test]
fn a_table_of_costs_fits_the_terminal_and_keeps_the_cost() {
    let mut scratch = Scratch::set_up();
    let tokens =
        serde_json::json!({"input":2_064_458,"output":4_585_538,"cacheRead":207_956_998,"cacheWrite":11_408_550});
    let record = serde_json::json!({"shiftlog":1,"agent":"claude","session":"s","model":"claude-opus-4-8",
        "time":"2026-01-01T00:00:00Z","prompt":"x","turns":323,"messages":2601,"tokens":tokens,"since":null,
        "through":"00".repeat(20),"bytes":1,"sha256":""});
    scratch.git(["notes", "--ref=shiftlog", "add", "-m", &record.to_string()]).ok();
    let whole = scratch.shiftlog("stats", [""; 0]).ok();
    assert!(whole.contains("  cache read  written  "), "nothing is left out elsewhere: {whole}");
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    for (columns, left_out) in [(200, 0), (80, 2), (60, 4), (40, 6)] {
        scratch.env.insert("COLUMNS".into(), columns.to_string());
        let table = scratch.shiftlog("stats", ["--color=never"]).ok();
        assert!(table.lines().all(|line| line.len() <= columns), "{columns}: {table}");
        let lines: Vec<&str> = table.lines().filter(|line| line.ends_with("cost")).collect();
        let heads = ["cost", "output", "input", "commits", "turns", "cache read", "written"];
        let shown = heads.iter().filter(|head| lines[0].contains(**head)).count();
        assert!(shown >= heads.len() - left_out, "{columns}: {table}");
    }
}

#[test]
fn tables_of_numbers_fit_the_terminal() {
    let mut scratch = Scratch::set_up();
    for number in 0..2 {
        let session = scratch.session(&format!("{number}f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e"));
        session.prompt("make it");
        session.edits(&format!("source/of/the/project/with/a/long/name-{number}.txt"), "1\n2\n3\n");
        session.commits(&format!("commit {number}"));
        session.hook("Stop");
    }
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    for columns in [40, 60, 80] {
        scratch.env.insert("COLUMNS".into(), columns.to_string());
        for args in [
            &[][..],
            &["--by=session"],
            &["--by=session,model,agent"],
            &["--by=path"],
            &["--by=session", "--chart"],
            &["--lines"],
            &["--lines", "--survival", "--by=session"],
            &["--lines", "--by=path"],
            &["--tools"],
            &["--tools", "--by=session"],
            &["--words", "--by=session,commit"],
        ] {
            let told = scratch.shiftlog("stats", [&["--color=never"], args].concat()).ok();
            let wide: Vec<&str> = told.lines().filter(|line| line.chars().count() > columns).collect();
            assert_eq!(wide, [""; 0], "{args:?} at {columns}:\n{told}");
        }
    }
    scratch.env.remove("COLUMNS");
    scratch.env.remove("GIT_PAGER_IN_USE");
    let told = scratch.shiftlog("stats", ["--lines", "--by=session"]).ok();
    assert!(told.contains("\n0f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e "), "where nobody looks, nothing is cut: {told}");
}

#[test]
fn z_ends_each_entry_with_nul_for_people_too() {
    let scratch = Scratch::set_up();
    for number in [1, 2] {
        let session = scratch.session(&format!("s{number}"));
        session.prompt("make it");
        session.edits("a.txt", &format!("{number}\n"));
        session.commits(&format!("commit {number}"));
    }
    for number in [3, 4] {
        scratch.session(&format!("s{number}")).prompt("go on");
    }
    let run = |name: &str, args: &[&str]| scratch.shiftlog(name, args).ok();
    for (name, args) in [
        ("log", &[][..]),
        ("log", &["--porcelain"]),
        ("log", &["--json"]),
        ("log", &["--format=tformat:%h"]),
        ("branches", &[]),
        ("stats", &[]),
        ("grep", &["make"]),
        ("search", &["make"]),
        ("status", &["--date=iso"]),
        ("status", &["--porcelain"]),
        ("blame", &["a.txt"]),
    ] {
        let with = run(name, &[&["-z"], args].concat());
        let without = run(name, args);
        assert!(with.ends_with('\0') && !with.ends_with("\n\0"), "{name} {args:?}: {with:?}");
        assert_eq!(with.replace('\0', "\n"), without, "{name} {args:?}");
    }
}

#[test]
fn tokens_that_nobody_counted_are_not_told_as_none() {
    let scratch = Scratch::new();
    let file = scratch.root().join("said");
    fs::write(&file, line("no answer, so no tokens")).unwrap();
    scratch.shiftlog("add", ["--session=s1", "-q", "--transcript", file.to_str().unwrap()]).ok();
    let listed = scratch.shiftlog("log", ["--format=%(turns)|%(tokens:input)|%(tokens:output)|%(cost)"]).ok();
    assert_eq!(listed, "1|||\n");
}

#[test]
fn names_of_branches_are_cut_where_the_terminal_is_narrow() {
    let mut scratch = Scratch::set_up();
    scratch.git(["branch", "feature/with-a-name-that-somebody-took-great-care-to-make-long"]).ok();
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    scratch.env.insert("COLUMNS".into(), "50".into());
    let told = scratch.shiftlog("branches", ["--color=never"]).ok();
    assert!(told.lines().all(|line| line.chars().count() <= 50) && told.contains('…'), "{told}");
    scratch.env.remove("COLUMNS");
    scratch.env.remove("GIT_PAGER_IN_USE");
    assert!(scratch.shiftlog("branches", [""; 0]).ok().contains("to-make-long "), "elsewhere nothing is cut");
}
