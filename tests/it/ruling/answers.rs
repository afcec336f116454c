//! Answers to questions, and what is told.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::json;

use super::Home;
use crate::support::feed;

/// Answers were given to questions in their order: a rule that appeared meanwhile got the answer about another one.
#[test]
fn an_answer_is_about_the_rules_that_it_was_asked_for() {
    let home = Home::empty();
    home.write(".ai-agent/rules/x.md", "about apples and pears\n");
    home.write(".ai-agent/rules/y.md", "which nobody wants replaced\n");
    home.write(".ai-agent/skills/s1/SKILL.md", "s\n");
    let targets = json!({ "instructions": ["claude"], "rules": [], "skills": ["codex"] });
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "x" }, { "id": "y" }], "active_targets": targets });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    home.write(".claude/CLAUDE.md", "# x\nsomething quite different 12345\n");
    home.write(".codex/skills/s1/SKILL.md", "mine\n");
    let mut command = home.scratch.command("git", &home.scratch.top);
    command.args(["shiftlog", "rules", "import"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, mut questions) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
    // The second of the two rules 'x'.
    input.write_all(b"2\n").unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(b"Put the store's skills in their place? [Y/n] ") {
        assert_eq!(questions.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    home.write(".cursor/rules/y.mdc", "the text of cursor 98765\n");
    input.write_all(b"y\n1\n").unwrap();
    drop(input);
    questions.read_to_end(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&said));
    assert!(home.read(".ai-agent/rules/x.md").contains("12345"));
    assert_eq!(home.read(".ai-agent/rules/y.md"), "which nobody wants replaced\n");
    assert!(String::from_utf8_lossy(&said).contains("There are two rules 'y'"), "it is asked about");
}

#[test]
fn the_status_of_a_repository_has_the_day_of_its_last_sync() {
    let home = Home::new();
    home.scratch.write(".ai-agent/manifest.json", r#"{"version":"1.0","active_targets":{"instructions":["claude"]}}"#);
    let last = || home.rules(&["status", "--scope=repo"]).ok().lines().last().unwrap().to_owned();
    assert_eq!(last(), "  never");
    home.rules(&["sync", "--scope=repo"]).ok();
    assert!(last().starts_with("  20"), "{}", last());
}

#[test]
fn a_file_that_two_agents_have_by_a_link_is_said_to_be_one() {
    let home = Home::new();
    fs::create_dir_all(home.path(".gemini/skills")).unwrap();
    fs::remove_dir(home.path(".claude")).unwrap();
    symlink(".gemini", home.path(".claude")).unwrap();
    let targets = json!({ "instructions": [], "rules": [], "skills": ["claude", "gemini"] });
    home.write(
        ".ai-agent/manifest.json",
        &json!({ "version": "1.0", "rules": [], "active_targets": targets }).to_string(),
    );
    let told = home.rules(&["sync", "--follow"]).ok();
    let warning = "Warning: '~/.gemini/skills/review' has the text of another file already, by a symbolic link";
    assert!(told.contains(warning), "{told}");
}

#[test]
fn a_lock_that_is_a_link_makes_no_file_where_it_leads() {
    let home = Home::new();
    fs::create_dir_all(home.path(".ai-agent/shiftlog")).unwrap();
    symlink("../../made", home.path(".ai-agent/shiftlog/lock")).unwrap();
    assert_ne!(home.rules(&["sync"]).code, 0);
    assert!(!home.is_there("made"));
}

#[test]
fn a_backup_that_was_interrupted_leaves_no_unfinished_file() {
    let home = Home::new();
    home.write(".claude/CLAUDE.md", "mine\n");
    assert!(home.killed("file-written", &["sync"]));
    home.rules(&["sync"]).ok();
    let found = home.scratch.run_in(&home.path(".ai-agent"), "find", [".", "-name", ".tmp*"]).ok();
    assert_eq!(found, "");
}

/// The directory that `init` had made stayed: `deinit` found our files in it, and nobody else knew of it.
#[test]
fn a_directory_of_init_with_generated_files_goes_with_the_last_of_them() {
    for clean_is_first in [false, true] {
        let home = Home::new();
        let scratch = &home.scratch;
        scratch.write(".ai-agent/rules/r.md", "x\n");
        let manifest = r#"{"version":"1.0","active_targets":{"rules":["cursor"]},"rules":[{"id":"r"}]}"#;
        scratch.write(".ai-agent/manifest.json", manifest);
        scratch.shiftlog("init", ["--agent=cursor", "-q"]).ok();
        assert!(scratch.top.join(".cursor").is_dir());
        home.rules(&["sync", "--scope=repo"]).ok();
        let clean = || home.rules(&["clean", "--yes", "--scope=repo"]).ok();
        if clean_is_first {
            clean();
            scratch.shiftlog("deinit", ["-q"]).ok();
        } else {
            scratch.shiftlog("deinit", ["-q"]).ok();
            clean();
        }
        assert!(!scratch.top.join(".cursor").exists(), "clean first: {clean_is_first}");
    }
}

/// A file of which `init` takes nothing keeps its text: the agent is told it as before.
#[test]
fn a_file_of_which_nothing_was_taken_gets_a_block() {
    let home = Home::empty();
    home.write(".cursor/rules/a.mdc", "# A\n\nwords of cursor\n");
    home.write(".gemini/GEMINI.md", "# A\n\nother words, of gemini alone\n");
    let before = home.tree();
    home.rules(&["init", "--yes"]).ok();
    let text = home.read(".gemini/GEMINI.md");
    assert!(text.contains("words of cursor") && text.ends_with("# A\n\nother words, of gemini alone\n"), "{text}");
    home.rules(&["clean", "--yes"]).ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn where_nobody_answers_the_proposals_are_shown_and_nothing_is_done() {
    let home = Home::empty();
    home.write(".claude/CLAUDE.md", "mine\n");
    let run = |args: &[&str], input: &str| {
        let mut command = home.scratch.command("git", &home.scratch.top);
        feed(command.args(["shiftlog", "rules"]).args(args), input.as_bytes())
    };
    let planned = run(&["init", "--dry-run"], "");
    assert!(
        planned.code == 0 && planned.stderr.is_empty() && planned.stdout.contains("rule claude-preamble"),
        "{planned:?}"
    );
    assert!(!home.is_there(".ai-agent"));
    let ran = run(&["init"], "");
    let told = "> \nerror: nobody has answered\nhint: '--yes' takes the answers that are proposed\n";
    assert!(ran.code == 1 && ran.stderr.ends_with(told), "{ran:?}");
    run(&["init", "--yes"], "").ok();
    run(&["add-rule", "kind", "--file=-"], "be kind\n").ok();
    let ran = run(&["add-rule", "empty", "--file=-"], "");
    assert!(ran.code != 0 && ran.stderr.starts_with("error: standard input is empty\n"), "{ran:?}");
    assert_eq!(home.read(".ai-agent/rules/kind.md"), "be kind\n");
    run(&["sync"], "").ok();
    let ran = run(&["clean", "--force"], "");
    let told = "[Y/n] \nerror: nobody has answered\nhint: '--yes' does it without a question\n";
    assert!(ran.code == 1 && ran.stderr.ends_with(told), "{ran:?}");
}

#[test]
fn of_two_rules_none_is_replaced_where_nobody_answers() {
    let home = Home::empty();
    home.write(".ai-agent/rules/a.md", "about apples and pears\n");
    let targets = json!({ "instructions": [], "rules": ["kiro"], "skills": [] });
    let manifest =
        json!({ "version": "1.0", "profile": "current", "rules": [{ "id": "a" }], "active_targets": targets });
    home.write(".ai-agent/manifest.json", &manifest.to_string());
    home.write(".kiro/steering/a.md", "# Other\nsomething quite different 12345\n");
    let mut command = home.scratch.command("git", &home.scratch.top);
    let ran = feed(command.args(["shiftlog", "rules", "import"]), b"");
    assert!(ran.code == 1 && ran.stderr.contains("error: nobody has answered"), "{ran:?}");
    assert_eq!(home.read(".kiro/steering/a.md"), "# Other\nsomething quite different 12345\n");
}
