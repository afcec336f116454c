//! The bounds of `git shiftlog index scan`: how large an answer may be, and what an agent writes that has tools.

use std::fs;

use serde_json::json;

use crate::index_scanning::{answers, arch, asked, files, install, project, scan};

#[test]
fn an_answer_that_leaves_no_room_for_files_is_refused() {
    let scratch = project();
    for folder in ["a", "b"] {
        for number in 0..70 {
            scratch.write(&format!("{folder}/f{number}.txt"), "x\n");
        }
    }
    let before = files(&scratch);
    let large = "{\"stories\":{\"stories\":[{\"title\":\"t\",\"tags\":[],\"content\":\"%0300000d\"}]}}";
    install(&scratch, &format!("printf '{large}' 0"));
    let ran = scan(&scratch, &[]);
    let told = "error: no valid index in 5 answers of codex: the index is too large: the four files together have 300";
    assert!(ran.code == 1 && ran.stderr.starts_with(told), "{ran:?}");
    assert_eq!((asked(&scratch).len(), files(&scratch)), (5, before));
    // It is told so, and each file gets into a question with its text.
    let rest = answers(&json!({ "arch": arch("small") }));
    install(&scratch, &format!("case $n in 0) printf '{large}' 0;; *) {rest}\n;; esac"));
    let told = scan(&scratch, &[]).ok();
    assert!(told.contains(" in 2 questions\n"), "{told}");
    let turns = asked(&scratch);
    assert_eq!(turns.len(), 3, "one question is repeated");
    assert!(turns[1].contains("\n- the index is too large: "), "{}", turns[1]);
    for number in 0..70 {
        let file = format!("--- file b/f{number}.txt\nx\n");
        assert!(turns[2].contains(&file), "{file}: {}", turns[2]);
    }
    assert_eq!(scan(&scratch, &[]).ok(), "nothing to do\n");
}

#[test]
fn files_that_change_while_an_agent_is_asked_are_named() {
    let scratch = project();
    scratch.git(["add", "src"]).ok();
    let top = scratch.top.display().to_string();
    let elsewhere = format!("cd '{top}'; echo x >>src/net.rs; rm src/main.rs; echo x >new; echo x >.memo/mine");
    for (ending, code) in [("echo '{}'", 0), ("echo no >&2; exit 1", 1)] {
        scratch.git(["checkout", "-q", "--", "src"]).ok();
        scratch.write("seen", ending);
        let _ = fs::remove_file(scratch.top.join("new"));
        install(&scratch, &format!("{elsewhere}\n{ending}"));
        let ran = scan(&scratch, &[]);
        let told =
            "warning: 3 files changed while codex was asked, by it or by somebody else: new, src/main.rs, src/net.rs\n";
        assert!(ran.code == code && ran.stderr.contains(told), "{ran:?}");
    }
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.git(["config", "shiftlog.index", "commit"]).ok();
    for ending in ["echo '{}'", "echo no >&2; exit 1"] {
        install(&scratch, &format!("echo x >>'{top}/src/net.rs'\n{ending}"));
        scratch.run_until_nothing_runs(&scratch.top, &["git", "commit", "-q", "--allow-empty", "-m", "x"]).ok();
        let told = "1 file changed while codex was asked, by it or by somebody else: src/net.rs";
        assert!(scratch.log().contains(told), "{}", scratch.log());
        fs::remove_file(scratch.top.join(".git/shiftlog/log")).unwrap();
    }
    install(&scratch, "echo '{}'");
    let quiet = scan(&scratch, &[]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""), "of an agent that only answers nothing is told");
}
