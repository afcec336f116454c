//! Which commits `log` lists, in which order and form.

use super::*;

#[test]
fn log_lists_what_the_range_and_the_options_choose() {
    let scratch = recorded();
    let log = |args: &[&str]| scratch.shiftlog("log", [&["--format=%s"], args].concat()).ok();
    assert_eq!(log(&[]), "add gamma\nadd beta 1\nadd alpha 0\n");
    assert_eq!(log(&["main"]), "add beta 1\nadd alpha 0\n");
    assert_eq!(log(&["main.."]), "add gamma\n");
    assert_eq!(log(&["^main", "topic"]), "add gamma\n");
    assert_eq!(log(&["main...topic"]), "add gamma\n");
    assert_eq!(log(&["HEAD^!"]), "add gamma\n");
    assert_eq!(log(&["-n", "1"]), "add gamma\n");
    assert_eq!(log(&["-n1", "--skip=1"]), "add beta 1\n");
    assert_eq!(log(&["--max-count=1", "--no-max-count", "main"]), "add beta 1\nadd alpha 0\n");
    assert_eq!(log(&["--max=1"]), "add gamma\n", "a unique prefix is enough");
    assert_eq!(log(&["--grep=^add (al|ga)"]), "add gamma\nadd alpha 0\n");
    assert_eq!(log(&["--author=author@example"]).lines().count(), 3);
    assert_eq!(log(&["--author=nobody"]), "");
    assert_eq!(log(&["--agent=claude"]).lines().count(), 3);
    assert_eq!(log(&["--agent=codex"]), "");
    assert_eq!(log(&["--model=test-1"]).lines().count(), 3);
    assert_eq!(log(&["--since=2026-01-01"]).lines().count(), 3);
    assert_eq!(log(&["--until=2025-12-31"]), "");
    assert_eq!(log(&["--", "src"]), "add beta 1\nadd alpha 0\n");
    assert_eq!(log(&["src/alpha.rs"]), "add alpha 0\n");
    assert_eq!(log(&["--", ":(glob)*.rs"]), "add gamma\n");
    scratch.git(["switch", "-q", "main"]).ok();
    assert_eq!(log(&["--all"]).lines().count(), 3);
    assert_eq!(log(&["--branches"]).lines().count(), 3);
    let inside = scratch.top.join("src");
    assert_eq!(scratch.shiftlog_in(&inside, "log", ["--format=%s", "--", "alpha.rs"]).ok(), "add alpha 0\n");
    assert_eq!(scratch.shiftlog("list", ["--format=%s", "-n1"]).ok(), "add beta 1\n", "'list' is another word");
}

#[test]
fn log_speaks_in_four_voices() {
    let scratch = recorded();
    let commit = scratch.id("HEAD");
    let short = &commit[..7];
    assert_eq!(scratch.shiftlog("log", ["-n1"]).ok(), format!("{short} 2026-01-02 claude      1 make gamma\n"));
    assert_eq!(scratch.shiftlog("log", ["-n1", "--oneline"]).ok(), format!("{short} add gamma\n"));
    let format =
        "--format=%H|%h|%an|%ae|%ad|%ct|%s|%(agent)|%(model)|%(session)|%(messages)|%(turns)|%(prompt)|%(nope)|%x41%%";
    assert_eq!(
        scratch.shiftlog("log", ["-n1", format]).ok(),
        format!(
            "{commit}|{short}|A U Thor|author@example.com|Fri Jan 2 03:04:05 2026 +0000|1767323045|add gamma|claude|\
             claude-test-1|gamma|1|1|make gamma|%(nope)|A%\n"
        )
    );
    let git = scratch
        .git(["log", "-3", "--format=%H %h %T %P %an %ae %ad %aI %as %at %cn %ce %cd %cI %cs %ct %s %B %b"])
        .ok();
    let ours =
        scratch.shiftlog("log", ["--format=%H %h %T %P %an %ae %ad %aI %as %at %cn %ce %cd %cI %cs %ct %s %B %b"]).ok();
    assert_eq!(ours, git, "the short placeholders mean what they mean to Git");
    assert_eq!(scratch.shiftlog("log", ["--format=format:%s"]).ok(), "add gamma\nadd beta 1\nadd alpha 0");
    assert_eq!(scratch.shiftlog("log", ["-z", "--format=%s"]).ok(), "add gamma\0add beta 1\0add alpha 0\0");
    assert_eq!(
        scratch.shiftlog("log", ["-n1", "--porcelain"]).ok(),
        format!("{commit}\t1767323045\tclaude\tgamma\tclaude-test-1\t1\t1\t20\t10\tmake gamma\n")
    );
    let object: Value = serde_json::from_str(&scratch.shiftlog("log", ["-n1", "--json"]).ok()).unwrap();
    assert_eq!(object["version"], 1);
    assert_eq!(object["commit"], commit);
    assert_eq!(object["sessions"][0]["session"], "gamma");
    assert_eq!(object["sessions"][0]["tokens"], json!({"input":20,"output":10,"cacheRead":0,"cacheWrite":0}));
    for date in ["iso", "short", "unix", "rfc", "raw", "iso-strict", "format:%Y/%m", "default"] {
        let option = format!("--date={date}");
        let git = scratch.git(["log", "-1", "--format=%ad", &option]).ok();
        assert_eq!(scratch.shiftlog("log", ["-n1", "--format=%ad", &option]).ok(), git, "{date}");
    }
}

#[test]
fn ten_thousand_noted_commits_are_listed_in_gits_order() {
    let scratch = many(10_000);
    let git = scratch.git(["rev-list", "many"]).ok();
    assert!(scratch.shiftlog("log", ["--format=%H", "many"]).ok() == git);
    assert_eq!(
        scratch.shiftlog("log", ["--format=%(prompt)", "-n2", "--skip=9998", "many"]).ok(),
        "prompt 1\nprompt 0\n"
    );
    let branches = scratch.shiftlog("branches", ["--porcelain"]).ok();
    assert!(branches.contains("\t10000\t1700009999\n"), "{branches}");
}

#[test]
fn a_number_alone_is_a_count_as_in_git_log() {
    let scratch = recorded();
    let all = scratch.shiftlog("log", ["--format=%H"]).ok();
    assert!(all.lines().count() > 1, "there is more than one");
    let first: String = all.lines().take(1).map(|line| format!("{line}\n")).collect();
    assert_eq!(scratch.shiftlog("log", ["-1", "--format=%H"]).ok(), first);
    assert_eq!(scratch.shiftlog("log", ["-n5", "-1", "--format=%H"]).ok(), first, "the last one wins");
    assert_eq!(scratch.shiftlog("log", ["-99", "--format=%H"]).ok(), all);
    assert_eq!(scratch.shiftlog("log", ["-1x"]).code, 129);
    assert_eq!(scratch.shiftlog("log", ["--", "-1"]).ok(), "", "behind the dashes it is a path");
}

#[test]
fn a_path_is_looked_for_only_as_far_as_is_wanted() {
    let scratch = recorded();
    let all = scratch.shiftlog("log", ["--format=%H", "--", "."]).ok();
    assert!(all.lines().count() > 1, "there is more than one");
    assert_eq!(scratch.shiftlog("log", ["-1", "--format=%H", "--", "."]).ok(), format!("{}\n", &all[..40]));
    let second: Vec<&str> = all.lines().skip(1).take(1).collect();
    let listed = scratch.shiftlog("log", ["-1", "--skip=1", "--format=%H", "--", "."]).ok();
    assert_eq!(listed.lines().collect::<Vec<_>>(), second);
    assert_eq!(scratch.shiftlog("log", ["-50", "--format=%H", "--", "."]).ok(), all);
    let ran = scratch.shiftlog("log", ["-1", "--", ":(nonsense)x"]);
    assert_eq!(ran.code, 128, "{ran:?}");
    assert!(ran.stderr.starts_with("fatal: 'git rev-list' failed: "), "{ran:?}");
}
