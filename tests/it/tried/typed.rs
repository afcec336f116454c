//! What a user of Git types, and the short answer to what is not there.

use super::*;

#[test]
fn a_list_of_agents_is_refused_with_the_way_to_name_several() {
    let scratch = Scratch::new();
    let several = "error: 'claude,codex' is not a value for '--agent': give --agent=claude --agent=codex\n";
    for command in ["init", "doctor", "import"] {
        told(&scratch.shiftlog(command, ["--agent=claude,codex"]), 129, several);
    }
    for (command, option) in [("log", "--agent"), ("stats", "--agent"), ("grep", "--agent"), ("resume", "--as")] {
        let error = format!("error: 'claude,codex' is not a value for '{option}': it takes one name\n");
        told(&scratch.shiftlog(command, [&format!("{option}=claude,codex"), "x"]), 129, &error);
    }
}

#[test]
fn every_command_answers_a_wrong_option_with_its_synopsis_alone() {
    let scratch = Scratch::new();
    for listed in shiftlog::command::ALL {
        let name = listed.name;
        let usage = scratch.shiftlog(name, ["-h"]).ok();
        let (synopsis, _) = usage.split_once("\n\n").unwrap_or((&usage, ""));
        let told =
            format!("error: unknown option '--nosuch'\n{synopsis}\nhint: 'git shiftlog {name} -h' lists the options\n");
        let ran = scratch.shiftlog(name, ["--nosuch"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (129, "", told), "{name}");
    }
}

#[test]
fn files_are_scanned_outside_a_repository_too() {
    let scratch = Scratch::new();
    let outside = scratch.home();
    fs::write(outside.join("a.log"), "one\nsee ghp_16C7e42F292c6912E7710c838347Ae178B4a\n").unwrap();
    fs::write(outside.join("b.log"), "the password is PLUGH-1234\n").unwrap();
    for args in [&["--", "a.log", "b.log"][..], &["a.log", "b.log"]] {
        let ran = scratch.shiftlog_in(&outside, "scan", args);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (1, "a.log:2: github-token\n", ""),
            "{args:?}"
        );
    }
    let found = scratch.shiftlog_in(&outside, "scan", ["--json", "--", "a.log"]).stdout;
    assert_eq!(found, "{\"version\":1,\"file\":\"a.log\",\"line\":2,\"rule\":\"github-token\"}\n");
    assert_eq!(scratch.shiftlog_in(&outside, "scan", ["--", "b.log"]).code, 0);
    // The user's own settings hold there, too.
    scratch.git(["config", "--global", "shiftlog.redact.pattern", "plugh=PLUGH-[0-9]+"]).ok();
    assert_eq!(scratch.shiftlog_in(&outside, "scan", ["--", "b.log"]).stdout, "b.log:1: plugh\n");
    told(
        &scratch.shiftlog_in(&outside, "scan", ["--", "nosuch"]),
        128,
        "fatal: cannot read 'nosuch': No such file or directory\n",
    );
    for word in ["HEAD", "nosuch"] {
        told(
            &scratch.shiftlog_in(&outside, "scan", [word]),
            128,
            &format!(
                "fatal: cannot read '{word}': No such file or directory\n\
                 hint: outside a repository, only files are looked at\n"
            ),
        );
    }
    for args in [&["--archive"][..], &["--fix", "--", "a.log"], &[]] {
        let ran = scratch.shiftlog_in(&outside, "scan", args);
        told(&ran, 128, "fatal: not a git repository (or any of the parent directories): .git\n");
    }
}

#[test]
fn a_value_is_asked_for_in_a_repository_alone() {
    let scratch = Scratch::new();
    for command in ["get", "keys"] {
        for path in ["nosuch", "[conversation][HEAD]"] {
            let ran = scratch.shiftlog_in(&scratch.home(), command, [path]);
            told(&ran, 128, "fatal: not a git repository (or any of the parent directories): .git\n");
        }
    }
}

#[test]
fn a_bad_value_of_the_config_is_fatal_as_in_git() {
    let scratch = Scratch::new();
    let why = |key: &str| format!("hint: git config --show-origin --get-all shiftlog.redact.{key}\n");
    for (setting, words, told_of) in [
        (
            "shiftlog.redact.pattern=(",
            "scan",
            "bad pattern for 'custom': unclosed group\n".to_owned() + &why("pattern"),
        ),
        ("shiftlog.redact.allow=(", "scan", "bad pattern for 'allow': unclosed group\n".to_owned() + &why("allow")),
        ("shiftlog.redact.personal=x", "scan", "bad value 'x' for 'shiftlog.redact.personal'\n".to_owned()),
        ("shiftlog.redact=x", "scan", "bad value 'x' for 'shiftlog.redact'\n".to_owned()),
        (
            "shiftlog.trustPurges=x",
            "purge --received",
            "bad value 'x' for shiftlog.trustPurges\nhint: it is 'all' or 'signed'\n".to_owned(),
        ),
    ] {
        let ran = scratch.git(["-c", setting, "shiftlog"].into_iter().chain(words.split(' ')));
        told(&ran, 128, &format!("fatal: {told_of}"));
    }
}

#[test]
fn a_session_is_resumed_by_its_id_alone() {
    let scratch = recorded();
    let ran = |args: &[&str]| scratch.shiftlog("resume", args);
    let named = ran(&["-n", "first-session"]).ok();
    assert_eq!(named, ran(&["-n", "--session=first-session", "HEAD~1"]).ok());
    assert_eq!(ran(&["-n", "first"]).ok(), named);
    told(&ran(&["-n", "nosuch"]), 128, "fatal: bad revision 'nosuch'\n");
}

#[test]
fn a_merge_without_a_conversation_leads_to_what_it_brought() {
    let scratch = recorded();
    scratch.git(["switch", "-q", "-c", "side", "HEAD~1"]).ok();
    scratch.git(["commit", "-q", "--allow-empty", "-m", "side"]).ok();
    scratch.git(["merge", "-q", "--no-edit", "main"]).ok();
    let hint = "hint: 'git shiftlog show HEAD^..HEAD' shows the conversations of what this merge brought\n";
    told(&scratch.shiftlog("show", [""; 0]), 1, &format!("error: no conversation recorded for HEAD\n{hint}"));
    assert!(scratch.shiftlog("show", ["HEAD^..HEAD"]).ok().contains("> prompt 2\n"));
}

#[test]
fn status_fits_a_narrow_terminal() {
    let mut scratch = Scratch::set_up();
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    scratch.env.insert("COLUMNS".into(), "40".into());
    let lines = |scratch: &Scratch| -> Vec<String> {
        scratch.shiftlog("status", [""; 0]).ok().lines().map(str::to_owned).collect()
    };
    assert_eq!(lines(&scratch), ["no session is going on here,", "  and nothing is left to record"]);
    let session = scratch.session("3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e");
    session.prompt("make the reconnect loop back off, and say in the log how long it waits");
    session.edits("a.txt", "a\n");
    let listed = lines(&scratch);
    assert!(listed.iter().all(|line| line.chars().count() <= 40), "{listed:#?}");
    assert_eq!(listed[..2], ["claude", "  3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e,"], "the id is whole");
}

#[test]
fn a_turn_that_is_about_another_path_is_told_apart_from_one_that_is_not_there() {
    let scratch = recorded();
    let session = scratch.session("third-session");
    session.prompt("make three");
    session.edits("three.txt", "3\n");
    session.prompt("make four");
    session.edits("four.txt", "4\n");
    session.commits("three and four");
    let shown = scratch.shiftlog("show", ["--turn=2", "HEAD", "--", "four.txt"]).ok();
    assert!(shown.contains("> make four") && !shown.contains("> make three"), "{shown}");
    let hint = |path: &str| format!("hint: git shiftlog log -- {path}    # lists the conversations about a file\n");
    for (turn, path, what) in [
        ("1", "four.txt", "turn 1 of the conversation of HEAD is not about 'four.txt'"),
        ("2", "three.txt", "turn 2 of the conversation of HEAD is not about 'three.txt'"),
        ("2", "a.txt", "turn 2 of the conversation of HEAD is not about 'a.txt'"),
        ("1..2", "a.txt", "turns 1..2 of the conversation of HEAD are not about 'a.txt'"),
        ("2..", "three.txt", "turns 2.. of the conversation of HEAD are not about 'three.txt'"),
    ] {
        let ran = scratch.shiftlog("show", [&format!("--turn={turn}"), "HEAD", "--", path]);
        assert_eq!(ran.stdout, "", "--turn={turn} -- {path}");
        told(&ran, 1, &format!("error: {what}\n{}", hint(path)));
    }
    let none = "error: the conversation of HEAD has no such turn\n";
    told(&scratch.shiftlog("show", ["--turn=7", "HEAD", "--", "four.txt"]), 1, none);
}

#[test]
fn a_beginning_of_an_id_of_four_characters_that_no_other_session_has_names_it() {
    let scratch = Scratch::set_up();
    for (id, file) in [("x7a4b8-one", "one.txt"), ("x7a4c9-two", "two.txt")] {
        let session = scratch.session(id);
        session.prompt(&format!("make {file}"));
        session.edits(file, "1\n");
        session.commits(file);
    }
    let whole = scratch.shiftlog("show", ["x7a4b8-one"]).ok();
    for beginning in ["x7a4b", "x7a4b8", "claude/x7a4b"] {
        assert_eq!(scratch.shiftlog("show", [beginning]).ok(), whole, "{beginning}");
    }
    let ran = scratch.shiftlog("show", ["x7a4"]);
    assert!(ran.stderr.starts_with("fatal: session 'x7a4' is ambiguous\n"), "{ran:?}");
    let ran = scratch.shiftlog("show", ["x7a"]);
    assert!(ran.stderr.starts_with("fatal: ambiguous argument 'x7a'"), "{ran:?}");
    // The name of an agent is no id.
    assert!(scratch.shiftlog("show", ["cl"]).stderr.starts_with("fatal: ambiguous argument 'cl'"));
}

#[test]
fn a_beginning_of_several_options_names_two_of_them() {
    let scratch = Scratch::new();
    let ran = scratch.shiftlog("show", ["--t"]);
    let said = ran.stderr.lines().next().unwrap_or_default();
    assert_eq!((ran.code, said), (129, "error: ambiguous option: t (could be --turn or --thinking)"));
}

#[test]
fn a_prefix_is_printed_without_dots() {
    let scratch = Scratch::new();
    let below = scratch.top.join("below");
    fs::create_dir(&below).unwrap();
    std::os::unix::fs::symlink(scratch.home(), below.join("link")).unwrap();
    for (prefix, place) in [("../x", scratch.top.join("x")), ("link/../y", scratch.root().join("y"))] {
        let prefix = format!("--prefix={prefix}");
        let printed = scratch.shiftlog_in(&below, "install-docs", [&prefix, "-v"]).ok();
        assert!(!printed.contains("/../"), "{printed}");
        assert!(place.join("share/man/man1/git-shiftlog.1").is_file(), "{prefix}");
    }
}

#[test]
fn a_dry_run_says_how_much_deinit_would_remove() {
    let scratch = recorded();
    let dry = scratch.shiftlog("deinit", ["-n", "--purge-refs"]).ok();
    let refs = dry.lines().filter(|line| line.starts_with("delete ")).count();
    let amount = format!("these are {refs} refs with 4 segments of transcripts and the notes of 2 commits");
    assert_eq!(dry.lines().last(), Some(amount.as_str()), "{dry}");
}
