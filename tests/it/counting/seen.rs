//! Tables and charts for people: what their head counts, and names that stay apart.

use serde_json::json;

use super::work;
use crate::reading::Talk;
use crate::support::Scratch;

#[test]
fn the_head_counts_merges_where_merges_are_asked_for() {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    work(&scratch, "one");
    scratch.git(["switch", "-q", "main"]).ok();
    let session = scratch.session("two");
    session.prompt("merge it");
    session.says("I merge.");
    session.calls("m", "Bash", &serde_json::json!({ "command": "git merge --no-ff topic" }));
    let mut merge = scratch.command("git", &scratch.top);
    merge.env("CLAUDE_CODE_SESSION_ID", "two").args(["merge", "-q", "--no-ff", "-m", "merge topic", "topic"]);
    assert!(merge.status().unwrap().success());
    session.answers("m", "merged");
    session.hook_for("PostToolUse", "m");
    session.hook("SessionEnd");
    scratch.record("HEAD");
    let head = |options: &[&str]| scratch.shiftlog("stats", options).ok().lines().next().unwrap_or_default().to_owned();
    assert!(head(&["--merges"]).starts_with("1 commit, 1 with a record (100 %)"), "{}", head(&["--merges"]));
    assert!(head(&[]).starts_with("2 commits, 1 with a record (50 %)"), "{}", head(&[]));
}

#[test]
fn long_names_are_cut_only_for_want_of_room_and_in_the_middle() {
    let scratch = Scratch::set_up();
    let session = scratch.session("one");
    session.prompt("write");
    let names = ["first", "other"].map(|name| format!("a/directory/with/a/long/name/and/more/below/it/{name}.rs"));
    names.iter().for_each(|name| session.edits(name, "words\n"));
    session.commits("add them");
    for form in [&["--by=path", "--chart"][..], &["--by=agent,path", "--chart"], &["--by=path", "--color=never"]] {
        let printed = scratch.shiftlog("stats", form).ok();
        names.iter().for_each(|name| assert!(printed.contains(name.as_str()), "{form:?}: {printed}"));
    }
    // On a terminal of 60 columns.
    let shell = "stty cols 60; git -c core.pager=cat shiftlog stats --by=path --chart";
    let ran = scratch.run_in(&scratch.top, "script", ["-qec", shell, "/dev/null"]);
    if ran.code != 0 {
        return crate::support::skip("no script(1)");
    }
    let rows: Vec<&str> = ran.stdout.lines().filter(|line| line.contains(".rs")).collect();
    assert_eq!(rows.len(), 2, "the ends of names are there: {}", ran.stdout);
    assert!(rows.iter().all(|row| row.contains('…')) && ran.stdout.contains("first.rs"), "{}", ran.stdout);
}

#[test]
fn the_names_of_a_group_are_cut_each_for_itself_and_a_key_counts_once() {
    let mut scratch = Scratch::new();
    for (number, author) in ["A Very Long Name Of An Author Indeed", "B"].into_iter().enumerate() {
        scratch.env.insert("GIT_AUTHOR_NAME".into(), author.into());
        scratch.commit(&format!("{number}.txt"), "x\n", author);
        let mut talk = Talk::new();
        talk.prompt("write");
        talk.add(&scratch, &[&format!("--session={number}")]);
    }
    let chart = scratch.shiftlog("stats", ["--chart", "--by=author,agent,model,session,agent", "--ascii"]).ok();
    assert_eq!(chart.lines().count(), 2, "{chart}");
    let agents = chart.lines().map(|line| line.split("claude  ").next().unwrap_or_default().chars().count());
    assert_eq!(agents.collect::<std::collections::HashSet<_>>().len(), 1, "{chart}");
    for line in chart.lines() {
        assert!(line.matches("claude  ").count() == 1 && line.chars().count() <= 80, "{chart}");
    }
}

#[test]
fn a_chart_of_days_has_those_without_work_and_a_format_has_what_is_asked_for() {
    let mut scratch = Scratch::new();
    for (day, tokens) in [("02", 1000), ("05", 500)] {
        scratch.env.insert("GIT_COMMITTER_DATE".into(), format!("2026-01-{day}T13:50:00Z"));
        scratch.env.insert("GIT_AUTHOR_DATE".into(), format!("2026-01-{day}T13:50:00Z"));
        scratch.commit(day, "x\n", day);
        let usage = json!({ "input_tokens": tokens, "output_tokens": 0 });
        let lines = [
            json!({ "type": "user", "uuid": "u", "message": { "role": "user", "content": "go" } }),
            json!({ "type": "assistant", "uuid": "a", "message": { "id": "m", "role": "assistant", "model": "nobody's",
                "content": [{ "type": "text", "text": "gone" }], "usage": usage } }),
        ];
        scratch.write("talk", &lines.map(|line| format!("{line}\n")).concat());
        scratch.shiftlog("add", ["-q", "--transcript=talk", &format!("--session=s{day}")]).ok();
    }
    let expected = "\
2026-01-02  1.0k  ============================================================
2026-01-03     0
2026-01-04     0
2026-01-05   500  ==============================
";
    assert_eq!(scratch.shiftlog("stats", ["--chart=days"]).ok(), expected);
    scratch.env.insert("LC_ALL".into(), "C.UTF-8".into());
    assert_eq!(scratch.shiftlog("stats", ["--chart=days", "--ascii"]).ok(), expected);
    assert!(scratch.shiftlog("stats", ["--chart", "--by=day"]).ok().contains("500  ██████████"), "bars of groups");
    let format = "--format=%(day) %(input) %(turns)%% [%(cost)] %(model)%(nothing)";
    let listed = scratch.shiftlog("stats", ["--by=day", format]).ok();
    assert_eq!(listed, "2026-01-02 1000 1% [] %(nothing)\n2026-01-05 500 1% [] %(nothing)\n");
    for wrong in [&["--chart=days", "--by=model"][..], &["--ascii"], &["--format=short"], &["--chart", "--json"]] {
        let ran = scratch.shiftlog("stats", wrong);
        assert_eq!((ran.code, ran.stdout.as_str()), (129, ""), "{wrong:?}: {ran:?}");
    }
}
