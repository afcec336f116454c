//! Messages in Git's words: the option that was typed, the repository that is not there, one thing or several.

use super::*;

#[test]
fn an_option_is_named_as_it_was_typed() {
    let scratch = recorded();
    let number = |name: &str| format!("error: option '{name}' expects a numerical value\n");
    for (args, name) in [
        (&["-n", "abc"][..], "-n"),
        (&["-nabc"], "-n"),
        (&["--max-count=abc"], "--max-count"),
        (&["--max-c=abc"], "--max-count"),
    ] {
        told(&scratch.shiftlog("log", args), 129, &number(name));
    }
    told(&scratch.shiftlog("grep", ["-A", "x", "prompt"]), 129, &number("-A"));
    let together = |one: &str, other: &str| format!("error: options '{one}' and '{other}' cannot be used together\n");
    told(&scratch.shiftlog("log", ["-z", "-p"]), 129, &together("-z", "-p"));
    told(&scratch.shiftlog("log", ["-z", "--patch"]), 129, &together("-z", "--patch"));
    told(&scratch.shiftlog("index", ["validate", "-y"]), 129, "error: option '-y' is not for 'validate'\n");
    told(&scratch.shiftlog("resume", ["--dry-run=x"]), 129, "error: option '--dry-run' takes no value\n");
    // Every letter, asked for a value that it does not get.
    for listed in shiftlog::command::ALL {
        let command = (listed.options)();
        let takes_word = |arg: &&clap::Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
        for letter in command.get_arguments().filter(takes_word).filter_map(clap::Arg::get_short) {
            let ran = scratch.shiftlog(listed.name, [format!("-{letter}")]);
            let expected = format!("error: option '-{letter}' requires a value\n");
            assert_eq!((ran.code, ran.stderr), (129, expected), "{}", listed.name);
        }
    }
}

#[test]
fn a_repository_that_is_not_there_is_told_as_git_tells_it() {
    let mut scratch = Scratch::new();
    let folder = scratch.root().join("folder");
    fs::create_dir(&folder).unwrap();
    let same = |scratch: &Scratch, case: &str| {
        let (ours, gits) =
            (scratch.run_in(&folder, "git-shiftlog-log", [""; 0]), scratch.run_in(&folder, "git", ["log"]));
        assert_eq!((ours.code, &ours.stderr), (gits.code, &gits.stderr), "{case}");
        assert!(ours.stderr.starts_with("fatal: "), "{case}: {ours:?}");
    };
    same(&scratch, "none");
    for place in ["/nonexistent", "../nonexistent", ".", "/dev/null/x", ""] {
        scratch.env.insert("GIT_DIR".into(), place.into());
        same(&scratch, &format!("GIT_DIR={place}"));
    }
    fs::write(scratch.root().join("file"), "gitdir: /nonexistent\n").unwrap();
    for place in ["../file", "../gitconfig"] {
        scratch.env.insert("GIT_DIR".into(), place.into());
        fs::write(scratch.root().join("gitconfig"), "[a]\nb = c\n").unwrap();
        same(&scratch, &format!("GIT_DIR={place}"));
    }
    scratch.env.remove("GIT_DIR");
    for text in ["gitdir: /nonexistent\n", "gitdir: elsewhere\n", "nonsense\n"] {
        fs::write(folder.join(".git"), text).unwrap();
        same(&scratch, text);
    }
    fs::remove_file(folder.join(".git")).unwrap();
    scratch.env.insert("GIT_COMMON_DIR".into(), "/nonexistent".into());
    same(&scratch, "GIT_COMMON_DIR");
}

#[test]
fn output_that_cannot_be_written_is_told_as_git_tells_it() {
    let scratch = recorded();
    let full = |words: &str| scratch.run_in(&scratch.top, "sh", ["-c", &format!("{words} >/dev/full")]);
    let gits = full("git branch");
    assert_eq!(gits.stderr, "fatal: write failure on standard output: No space left on device\n");
    let mut all: Vec<String> =
        ["git shiftlog -h", "git-shiftlog", "git shiftlog --version", "git shiftlog log", "git shiftlog show"]
            .map(str::to_owned)
            .to_vec();
    all.extend(shiftlog::command::ALL.iter().map(|listed| format!("git shiftlog {} -h", listed.name)));
    for words in all {
        told(&full(&words), gits.code, &gits.stderr);
    }
}

#[test]
fn export_of_a_merge_without_a_conversation_leads_to_what_it_brought() {
    let scratch = recorded();
    scratch.git(["switch", "-q", "-c", "side", "HEAD~1"]).ok();
    scratch.git(["commit", "-q", "--allow-empty", "-m", "side"]).ok();
    let none = "error: no conversation recorded for HEAD\n";
    let list = "hint: 'git shiftlog log' lists the commits that have a conversation\n";
    told(&scratch.shiftlog("export", ["--html"]), 1, &format!("{none}{list}"));
    scratch.git(["merge", "-q", "--no-edit", "main"]).ok();
    for format in ["--html", "--markdown"] {
        let brought = format!(
            "hint: 'git shiftlog export {format} HEAD^..HEAD' writes the conversations of what this merge brought\n"
        );
        told(&scratch.shiftlog("export", [format]), 1, &format!("{none}{brought}"));
        assert!(scratch.shiftlog("export", [format, "HEAD^..HEAD"]).ok().contains("prompt 2"));
    }
}

#[test]
fn resume_names_the_agents_that_can_start_with_a_document() {
    let scratch = recorded();
    let can = shiftlog::agent::ALL.iter().filter(|agent| agent.opening("").is_some());
    let page = shiftlog::cli::PAGES.iter().find(|page| page.name == "git-shiftlog-resume").unwrap().source();
    let option = page.split_once(".It Fl -as ").unwrap().1.split_once(".It ").unwrap().0;
    let in_page = |name: &str| option.split([' ', '\n']).any(|word| word == name);
    let names: Vec<String> = can
        .map(|agent| {
            assert!(in_page(agent.name()), "the manual names {}", agent.name());
            format!("--as={}", agent.name())
        })
        .collect();
    assert!(names.contains(&"--as=codex".to_owned()) && names.len() < shiftlog::agent::ALL.len());
    let expected = format!("fatal: Amp cannot be started with a prompt\nhint: these can: {}\n", names.join(", "));
    told(&scratch.shiftlog("resume", ["--as=amp", "-n"]), 128, &expected);
}

#[test]
fn one_thing_is_one_and_several_are_several() {
    let scratch = recorded();
    for number in [1, 2] {
        scratch.git(["commit", "-q", "--amend", "-m", &format!("amended {number}")]).ok();
    }
    let noted = |number: usize| {
        let told = scratch.shiftlog("fsck", [""; 0]).ok();
        let line = told.lines().find(|line| line.contains("no ref reaches")).unwrap_or_default().to_owned();
        assert!(line.starts_with(&format!("{number} note")), "{told}");
        line
    };
    assert_eq!(noted(2), "2 notes on commits that no ref reaches");
    scratch.git(["branch", "back", &scratch.id("HEAD@{1}")]).ok();
    assert_eq!(noted(1), "1 note on a commit that no ref reaches");
    assert_eq!(shiftlog::pretty::size(1), "1 byte");
}

#[test]
fn an_option_is_taken_back_however_it_was_typed() {
    let scratch = recorded();
    let run = |args: &[&str]| scratch.shiftlog("log", args).ok();
    let (all, one) = (run(&["--oneline"]), run(&["--oneline", "-1"]));
    assert_ne!(all, one);
    for args in [
        &["--max-count=1", "--no-max-count"][..],
        &["--max-count", "1", "--no-max-count"],
        &["--max-c=1", "--no-max-count"],
        &["-n1", "--no-max-count"],
        &["-n", "1", "--no-max-count"],
        &["-1", "--no-max-count"],
        &["-pn1", "--no-max-count", "--no-patch"],
        &["-1", "--no-max"],
        &["--after=2100-01-01", "--no-since"],
        &["--since=2100-01-01", "--no-after"],
        &["--since", "2100-01-01", "--no-sin"],
        &["--graph", "--no-gra"],
        &["--gra", "--no-graph"],
        &["--json", "--no-jso"],
        &["-z", "-p", "--no-pat", "-1", "--no-max-count"],
    ] {
        let expected = if args.contains(&"-z") { all.replace('\n', "\0") } else { all.clone() };
        assert_eq!(run(&[&["--oneline"], args].concat()), expected, "{args:?}");
    }
    assert_eq!(run(&["--color", "--no-colo", "--oneline"]), all);
    assert_eq!(run(&["--no-max-count", "-1", "--oneline"]), one, "the last one counts");
    // The value of another option stays, whatever it looks like.
    assert_eq!(run(&["--grep", "commit 1", "--no-max-count", "--oneline"]), run(&["--grep=commit 1", "--oneline"]));
    let ran = scratch.shiftlog("stats", ["--no-co"]);
    assert!(ran.stderr.is_empty() || ran.stderr.starts_with("error: ambiguous option: no-co "), "{ran:?}");
    told(&scratch.shiftlog("purge", ["--secrets", "--no-sec", "-n"]), 129, &scratch.shiftlog("purge", [""; 0]).stderr);
}
