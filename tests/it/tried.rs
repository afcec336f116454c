//! The README alone: wrong words on the command line help, and nothing is lost by one.

mod again;
mod answered;
mod found;
mod newcomer;
mod purge;
mod refused;
mod typed;
mod worded;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::purging::{purge, says};
use crate::sharing::{Team, line};
use crate::support::{Ran, Scratch};

/// A repository with two commits that have a conversation: `first-session` and `second-session`.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    for (number, name) in [(1, "first"), (2, "second")] {
        let session = scratch.session(&format!("{name}-session"));
        session.prompt(&format!("prompt {number}"));
        session.edits("a.txt", &format!("{number}\n"));
        session.commits(&format!("commit {number}"));
        session.hook("Stop");
    }
    scratch
}

#[track_caller]
fn told(ran: &Ran, code: i32, stderr: &str) {
    assert_eq!((ran.code, ran.stderr.as_str()), (code, stderr), "{ran:?}");
}

#[test]
fn only_what_install_docs_made_is_removed_by_it() {
    let scratch = Scratch::new();
    let prefix = scratch.root().join("prefix");
    let option = format!("--prefix={}", prefix.display());
    let foreign = prefix.join("share/man/man1/git-shiftlog-log.1");
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::create_dir_all(prefix.join("share/fish")).unwrap();
    fs::write(&foreign, "theirs\n").unwrap();
    let ran = scratch.shiftlog("install-docs", ["--uninstall", &option]);
    assert_eq!(ran.stdout, "nothing to do\n");
    let stays =
        |path: &Path| format!("warning: '{}' is not as this command has written it, and stays\n", path.display());
    assert_eq!(ran.stderr, stays(&foreign));
    // Neither it nor where a link leads is overwritten.
    let (link, end) = (prefix.join("share/man/man1/git-shiftlog-show.1"), prefix.join("share/fish/mine"));
    fs::write(&end, "mine\n").unwrap();
    std::os::unix::fs::symlink(&end, &link).unwrap();
    let ran = scratch.shiftlog("install-docs", [&option]);
    assert_eq!((ran.code, ran.stderr), (0, stays(&foreign) + &stays(&link)));
    let ran = scratch.shiftlog("install-docs", ["--uninstall", &option]);
    assert_eq!((ran.code, ran.stderr), (0, stays(&foreign) + &stays(&link)));
    assert_eq!(
        [&foreign, &end].map(|path| fs::read_to_string(path).unwrap()),
        ["theirs\n".to_owned(), "mine\n".to_owned()]
    );
    // What is as we would write it can be that of a package.
    let of_package = prefix.join("share/man/man1/git-shiftlog.1");
    fs::write(&of_package, fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("man/git-shiftlog.1")).unwrap())
        .unwrap();
    scratch.shiftlog("install-docs", [&option]);
    scratch.shiftlog("install-docs", ["--uninstall", &option]);
    assert!(of_package.exists());
    for path in [&foreign, &end, &link, &of_package] {
        fs::remove_file(path).unwrap();
    }
    scratch.shiftlog("install-docs", [&option]).ok();
    // A reader that goes away, as 'head' does, keeps nothing from being written down.
    scratch.shiftlog("install-docs", ["--uninstall", "-q", &option]).ok();
    let mut command = scratch.command("git", &scratch.top);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    assert!(!command.args(["shiftlog", "install-docs", "-v", &option]).stdout(full).status().unwrap().success());
    assert_eq!(scratch.shiftlog("install-docs", ["--uninstall", "-q", &option]).stderr, "");
    scratch.shiftlog("install-docs", ["-q", &option]).ok();
    // What another version has written is replaced.
    let (page, list) = (prefix.join("share/man/man1/git-shiftlog.1"), prefix.join("share/git-shiftlog/installed.json"));
    let digest =
        |path: &Path| scratch.run_in(&scratch.top, "sha256sum", [path]).ok().split(' ').next().unwrap().to_owned();
    let now = (digest(&page), fs::read(&page).unwrap());
    fs::write(&page, "of another version\n").unwrap();
    fs::write(&list, fs::read_to_string(&list).unwrap().replace(&now.0, &digest(&page))).unwrap();
    assert_eq!(scratch.shiftlog("install-docs", [&option]).stderr, "");
    assert_eq!(fs::read(&page).unwrap(), now.1);
    let changed = prefix.join("share/man/man5/gitshiftlog-format.5");
    fs::write(&changed, "mine\n").unwrap();
    let dry = scratch.shiftlog("install-docs", ["--uninstall", "-n", &option]);
    assert!(prefix.join("share/man/man1/git-shiftlog.1").exists());
    let ran = scratch.shiftlog("install-docs", ["--uninstall", &option]);
    assert_eq!(ran.stdout, dry.stdout, "it did what it said");
    let mut left = Vec::new();
    let mut directories = vec![prefix.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            directories.extend(entry.path().is_dir().then(|| entry.path()));
            left.push(entry.path().strip_prefix(&prefix).unwrap().to_str().unwrap().to_owned());
        }
    }
    left.sort();
    let expected =
        ["share", "share/fish", "share/man", "share/man/man1", "share/man/man5", "share/man/man5/gitshiftlog-format.5"];
    assert_eq!(left, expected, "folders that were there stay");
}

#[test]
fn doctor_says_what_to_do_where_init_leaves_a_hook_alone() {
    let scratch = Scratch::new();
    let hook = scratch.top.join(".git/hooks/post-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/usr/bin/env python3\nprint()\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(scratch.top.join(".git/hooks/post-merge"), "#!/bin/sh\n").unwrap();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let doctor = || scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let said = doctor();
    let expected = "problem  Git hook post-commit: it is no shell script, so init leaves it alone\n         fix: have it run: \
                    test -x ";
    assert!(said.contains(expected), "{said}");
    let expected = "problem  Git hook post-merge: it is not executable, so Git does not run it and init leaves it alone\n         \
                    fix: chmod +x ";
    assert!(said.contains(expected), "{said}");
    // Who does that has nothing left to do.
    let line = said.split_once("have it run: ").unwrap().1.lines().next().unwrap();
    fs::write(&hook, format!("#!/usr/bin/env python3\nimport os\nos.system({})\n", json!(line))).unwrap();
    let expected = "note     Git hook post-commit: it runs 'git-shiftlog--hook' itself, which was not checked\n";
    assert!(doctor().contains(expected), "{}", doctor());
}

#[test]
fn doctor_does_not_complain_about_agents_that_nobody_chose() {
    let scratch = Scratch::set_up();
    fs::create_dir_all(scratch.home().join(".codex")).unwrap();
    let ran = scratch.shiftlog("doctor", ["--no-rehearsal"]);
    let expected = "note     Codex is on this machine and not set up here; 'git shiftlog init --agent=codex' does it\n";
    assert!(ran.stdout.contains(expected), "{ran:?}");
    let ran = scratch.shiftlog("doctor", ["--agent=codex"]);
    assert!(ran.stdout.contains("problem  Codex: its hooks are not set up\n"), "who asks is told: {ran:?}");
    let fresh = Scratch::new();
    fs::create_dir_all(fresh.home().join(".codex")).unwrap();
    let ran = fresh.shiftlog("doctor", ["--no-rehearsal"]);
    assert!(ran.stdout.contains("problem  Codex: its hooks are not set up\n"), "{ran:?}");
}

#[test]
fn prices_need_no_repository() {
    let scratch = Scratch::new();
    let ran = scratch.shiftlog_in(&scratch.root(), "prices", [""; 0]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, scratch.shiftlog("prices", [""; 0]).ok());
    let table = scratch.home().join("prices.tsv");
    fs::write(&table, "my-model\t2026-01-01\t1\t2\t0\t0\t0\n").unwrap();
    scratch.git(["config", "--global", "shiftlog.prices", "~/prices.tsv"]).ok();
    let of_model = |dir: &Path| scratch.shiftlog_in(dir, "prices", ["my-model"]);
    let (inside, outside) = (of_model(&scratch.top), of_model(&scratch.root()));
    assert_eq!((outside.code, outside.stdout), (inside.code, inside.stdout));
}

#[test]
fn wrong_words_are_told_in_words_that_help() {
    let scratch = recorded();
    let run = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        scratch.shiftlog(words[0], &words[1..])
    };
    for (words, code, stderr) in [
        ("export --html --markdown", 129, "error: options '--html' and '--markdown' cannot be used together\n"),
        ("export --html --session=zz HEAD", 1, "error: no session 'zz' recorded for HEAD\n"),
        ("show --session=zz HEAD", 1, "error: no session 'zz' recorded for this commit\n"),
        ("export --html HEAD -- src", 129, "error: unexpected path 'src': only revisions are taken\n"),
        ("verify HEAD -- src", 129, "error: unexpected path 'src': only revisions are taken\n"),
        ("summarise HEAD -- src", 129, "error: unexpected path 'src': only revisions are taken\n"),
        ("purge HEAD -- src", 129, "error: unexpected path 'src': only revisions are taken\n"),
        ("blame nosuch a.txt", 128, "fatal: bad revision 'nosuch'\n"),
        ("blame a.txt nosuch", 128, "fatal: bad revision 'nosuch'\n"),
        ("why a.txt 7", 128, "fatal: bad revision '7'\nhint: 'a.txt:7' names line 7\n"),
        ("web --port=99999", 129, "error: option '--port' expects a number from 0 to 65535\n"),
        ("purge HEAD --before=now", 129, "error: option '--before' cannot be used with <commit>\n"),
        ("scan --archive HEAD", 129, "error: '--archive' looks at every segment: it takes no revisions\n"),
        ("stats --depth=1", 129, "error: option '--depth' needs '--by=path'\n"),
        ("stats --lines --depth=1", 129, "error: option '--depth' needs '--by=path'\n"),
        ("evidence show t.log", 128, "fatal: bad revision 't.log'\n"),
        ("fsck --recount", 129, "error: option '--recount' needs '--repair'\n"),
        ("mcp --repo=/nosuch", 128, "fatal: '/nosuch' is not a directory\n"),
        (
            "mcp --toolset=foo",
            129,
            "error: unknown toolset 'foo'; it is conversations, index, logs, rules, auto or all\n",
        ),
    ] {
        let ran = run(words);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (code, "", stderr), "{words}");
    }
    let checked = run("fsck").ok();
    assert_eq!(run("fsck -n").ok(), checked, "to change nothing is what 'fsck' does");
    // Git's own words.
    let outside = format!("fatal: /etc: '/etc' is outside repository at '{}'\n", scratch.top.display());
    assert_eq!(scratch.git(["log", "--", "/etc"]).stderr, outside);
    for words in ["log -- /etc", "log --graph -- /etc", "grep x -- /etc", "stats -- /etc"] {
        told(&run(words), 128, &outside);
    }
    // As in Git, a negative number is no limit.
    let all = run("log --oneline").ok();
    for words in ["log --oneline -n-1", "log --oneline -n -1", "log --oneline --max-count=-1"] {
        assert_eq!(run(words).ok(), all, "{words}");
    }
    scratch.git(["config", "shiftlog.notesRef", "bad name"]).ok();
    let stderr = "fatal: bad value 'bad name' for shiftlog.notesRef: it is not a valid ref name\n\
                  hint: git config --show-origin --get shiftlog.notesRef\n";
    for words in ["log", "show", "fsck", "sync"] {
        told(&run(words), 128, stderr);
    }
    scratch.git(["config", "--unset", "shiftlog.notesRef"]).ok();
    let ran = scratch.shiftlog("show", ["--ref=bad name"]);
    told(&ran, 129, "error: 'bad name' is not a value for '--ref': it is not a valid ref name\n");
}

#[test]
fn a_branch_without_commits_has_nothing_that_could_be_found_clean() {
    let scratch = Scratch::empty(&[]);
    let stderr = "fatal: your current branch 'main' does not have any commits yet\n";
    for command in ["scan", "remap", "log", "show"] {
        told(&scratch.shiftlog(command, [""; 0]), 128, stderr);
    }
}

#[test]
fn adding_a_session_that_was_purged_says_what_became_of_it() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &["first", "second"]);
    purge(&scratch, &["--session=s"]).ok();
    for options in [&[][..], &["--dry-run"]] {
        let args = [&["--transcript", "../said", "--session", "s"], options].concat();
        told(
            &scratch.shiftlog("add", args),
            1,
            "warning: session claude/s was removed by 'git shiftlog purge', and is not recorded again\n",
        );
    }
}

#[test]
fn a_session_with_a_dot_in_its_id_is_said_to_be_a_sub_agent() {
    let scratch = Scratch::new();
    fs::write(scratch.root().join("said"), line("words")).unwrap();
    let warning = "warning: session claude/run.1 counts as a sub-agent of session run: its id has a dot in it\n";
    told(&scratch.shiftlog("add", ["-q", "--transcript", "../said", "--session", "run.1"]), 0, warning);
    told(&scratch.shiftlog("add", ["-q", "--transcript", "../said", "--session", "run-1"]), 0, "");
}

#[test]
fn an_export_replaces_no_device_and_no_pipe() {
    let scratch = recorded();
    let pipe = scratch.root().join("pipe");
    scratch.run_in(&scratch.root(), "mkfifo", [&pipe]).ok();
    for options in [&[][..], &["-f"]] {
        let args = [&["--html", "-o", pipe.to_str().unwrap()], options].concat();
        told(
            &scratch.shiftlog("export", args),
            128,
            &format!("fatal: '{}' is not a regular file\nhint: '-o -' writes to stdout\n", pipe.display()),
        );
        assert!(!fs::metadata(&pipe).unwrap().is_file(), "it is still there");
    }
}

#[test]
fn an_export_with_damaged_words_says_so() {
    let scratch = recorded();
    let through = scratch.record("HEAD")["through"].as_str().unwrap().to_owned();
    let object = scratch.top.join(format!(".git/objects/{}/{}", &through[..2], &through[2..]));
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&object, "damaged").unwrap();
    let ran = scratch.shiftlog("export", ["--markdown", "-q", "HEAD"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(
        ran.stderr,
        "warning: words of 1 conversation are damaged\n\
         hint: 'git shiftlog fsck' says which, and 'git shiftlog fsck --repair' restores what it can\n"
    );
}

#[test]
fn lines_of_a_file_are_not_shown_where_its_reading_was_recorded_before() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("look at the table");
    session.edits("a.txt", "1\n");
    session.calls("read-1", "Read", &json!({ "file_path": scratch.top.join("table") }));
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "in between"]).ok();
    session.answers("read-1", "first line of the table\nsecond line of the table\n");
    session.says("that is it");
    session.edits("a.txt", "2\n");
    session.commits("after");
    for args in [&["HEAD"][..], &["--format=markdown", "HEAD"]] {
        let shown = scratch.shiftlog("show", args).ok();
        assert!(shown.contains("that is it"), "{shown}");
        assert!(!shown.contains("line of the table"), "{shown}");
        assert!(shown.contains("answer to an earlier call: … 2 lines"), "{shown}");
    }
    let page = scratch.shiftlog("export", ["--html", "HEAD"]).ok();
    assert!(page.contains("<span class=\"about\">to an earlier call, 2 lines</span>"), "{page}");
    let whole = scratch.shiftlog("show", ["-vv", "HEAD"]).ok();
    assert!(whole.contains("second line of the table"), "nothing is out of reach: {whole}");
}

#[test]
fn facts_about_a_session_fit_a_narrow_terminal() {
    let mut scratch = recorded();
    let wide = scratch.shiftlog("show", ["HEAD"]).ok();
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "1".into());
    scratch.env.insert("COLUMNS".into(), "34".into());
    let narrow = scratch.shiftlog("show", ["--no-color", "HEAD"]).ok();
    let facts = |shown: &str| -> Vec<String> {
        let lines = shown.lines().skip_while(|line| !line.starts_with("session "));
        lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    assert!(facts(&wide).iter().any(|line| line.len() > 34), "{wide}");
    assert!(facts(&narrow).iter().all(|line| line.len() <= 34), "{narrow}");
    let joined = facts(&narrow).join("\n").replace(",\n  ", ", ");
    assert_eq!(joined, facts(&wide).join("\n"), "nothing is left out");
    let session = scratch.session("third");
    session.prompt("a third one with words that are much wider than such a narrow terminal");
    session.edits("b.txt", "b\n");
    let status = scratch.shiftlog("status", [""; 0]).ok();
    assert!(status.contains("third") && status.lines().all(|line| line.chars().count() <= 34), "{status}");
}

#[test]
fn a_session_with_sub_agents_goes_by_a_short_name() {
    let scratch = Scratch::set_up();
    let id = "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e";
    let session = scratch.session(id);
    session.prompt("look for jitter, then write it");
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let words = json!({ "type": "user", "isSidechain": true, "message": { "role": "user", "content": "list jitter" } });
    fs::write(folder.join("agent-a1b2c3d4e5f6a7b8.jsonl"), format!("{words}\n")).unwrap();
    session.edits("a.txt", "jitter\n");
    session.commits("jitter");
    let short = scratch.id("HEAD")[..7].to_owned();
    let raw = |name: &str| scratch.shiftlog("show", ["--raw", &format!("--session={name}"), "HEAD"]).ok();
    assert_eq!(raw("3f6b1c9e"), raw(id), "the beginning of a session's id is none of its sub-agents");
    for name in ["3f6b1c9e.a1b2c3d4", "3f6b.a1", "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e."] {
        assert_eq!(raw(name), format!("{words}\n"), "{name}");
    }
    assert_eq!(scratch.shiftlog("show", ["--raw", "3f6b1c9e.a1b2"]).ok(), format!("{words}\n"));
    let alone = scratch.shiftlog("show", ["--session=3f6b.a1", "HEAD"]).ok();
    assert!(
        alone.contains(&format!("\nsub-agent claude {id}.a1b2c3d4e5f6a7b8\n{} bytes", words.to_string().len() + 1)),
        "{alone}"
    );
    let blamed = scratch.shiftlog("blame", ["a.txt"]).ok();
    assert!(blamed.contains(" claude 3f6b1c9e 1 ("), "{blamed}");
    let why = scratch.shiftlog("why", ["a.txt:1"]).ok();
    assert!(why.contains("session claude 3f6b1c9e, ") && why.contains(" --session=3f6b1c9e --turn=1\n"), "{why}");
    let found = scratch.shiftlog("grep", ["jitter", "--in=prompts"]).ok();
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with(&format!("{short} claude/3f6b1c9e:1:"))), "{found}");
    assert!(lines.iter().all(|line| !line.contains("3f6b1c9e-")), "{found}");
    let found = scratch.shiftlog("search", ["jitter"]).ok();
    let heads: Vec<&str> = found.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(heads.iter().any(|head| head.ends_with(" claude/3f6b1c9e turn 1: jitter")), "{found}");
    assert!(heads.iter().any(|head| head.ends_with(" claude/3f6b1c9e.a1b2c3d4: jitter")), "{found}");
    for name in ["3f6b1c9e", "3f6b.a1b2"] {
        let listed = scratch.shiftlog("log", ["--format=%h", &format!("--session={name}")]).ok();
        assert_eq!(listed, format!("{short}\n"), "{name}");
    }
}

#[test]
fn grep_of_log_matches_lines_of_messages_as_in_git() {
    let scratch = recorded();
    scratch.git(["commit", "-q", "--amend", "-m", "a subject\non two lines\n\nThe reason,\nin the body."]).ok();
    for pattern in ["reason", "^in the body", "subject on", "^on two", "commit 1", "prompt", "body.$", "lines$"] {
        let grep = format!("--grep={pattern}");
        let gits = scratch.git(["log", "HEAD~2..", "--format=%H", "-E", &grep]).ok();
        assert_eq!(scratch.shiftlog("log", ["--format=%H", &grep]).ok(), gits, "{pattern}");
    }
}

#[test]
fn a_wrong_word_is_told_before_anything_is_shown() {
    let scratch = recorded();
    let hint = "hint: use '--' to separate paths from revisions\n";
    let neither = |word: &str| {
        format!("fatal: ambiguous argument '{word}': unknown revision or path not in the working tree\n{hint}")
    };
    for (args, stderr) in [
        (&["HEAD", "nosuch", "HEAD~1"][..], neither("nosuch")),
        (&["HEAD", "89e"], neither("89e")),
        (&["HEAD", "nosuch", "--"], "fatal: bad revision 'nosuch'\n".to_owned()),
    ] {
        let ran = scratch.shiftlog("show", args);
        assert_eq!(ran.stdout, "", "{args:?}");
        told(&ran, 128, &stderr);
    }
}

#[test]
fn where_nothing_is_recorded_the_way_on_is_told() {
    let scratch = recorded();
    let list = "hint: 'git shiftlog log' lists the commits that have a conversation\n";
    let commit = scratch.git(["rev-parse", "--short", "HEAD~2"]).ok();
    for (command, name) in [("show", "HEAD~2"), ("summarise", "HEAD~2"), ("resume", commit.trim())] {
        let expected = format!("error: no conversation recorded for {name}\n{list}");
        told(&scratch.shiftlog(command, ["HEAD~2"]), 1, &expected);
    }
    let team = Team::new();
    let clone = team.bare_clone("b", &[]);
    let ran = team.shiftlog(&clone, "log", &[]);
    assert_eq!(ran.stdout, "");
    let both = "'git shiftlog sync pull' fetches what others share, 'git shiftlog doctor' says whether your sessions will be \
                recorded";
    told(&ran, 0, &format!("hint: nothing is recorded here yet; {both}\n"));
    team.git(&clone, &["remote", "remove", "origin"]).ok();
    let alone = "hint: nothing is recorded here yet; 'git shiftlog doctor' says whether sessions will be\n";
    told(&team.shiftlog(&clone, "log", &[]), 0, alone);
    for quiet in [&["--json"][..], &["--format=%h"], &["HEAD"], &["--tags"]] {
        told(&team.shiftlog(&clone, "log", quiet), 0, "");
    }
    told(&scratch.shiftlog("log", ["--session=nosuch"]), 0, "");
}

#[test]
fn a_wrong_range_pattern_or_path_is_told_in_our_words() {
    let scratch = recorded();
    let range = "hint: -L <start>,<end>, -L <start>,+<count> or -L :<function>\n";
    told(
        &scratch.shiftlog("blame", ["-L", "x", "a.txt"]),
        129,
        &format!("error: 'x' is not a range of lines\n{range}"),
    );
    told(&scratch.shiftlog("why", ["-Lx,y", "a.txt"]), 129, &format!("error: 'x,y' is not a range of lines\n{range}"));
    told(&scratch.shiftlog("blame", ["-L", "9,9", "a.txt"]), 128, "fatal: file a.txt has only 1 line\n");
    let unborn = Scratch::empty(&[]);
    for (command, word) in [("why", "a.txt:1"), ("blame", "a.txt")] {
        let ran = unborn.shiftlog(command, [word]);
        told(&ran, 128, "fatal: your current branch 'main' does not have any commits yet\n");
    }
    let why = "'(' is not a regular expression: unclosed group";
    for (command, option) in [("log", "--author=("), ("stats", "--grep=("), ("purge", "--match=("), ("log", "-G(")] {
        told(&scratch.shiftlog(command, [option]), 128, &format!("fatal: {why}\n"));
    }
    told(&scratch.shiftlog("purge", ["--match=", "--yes"]), 129, "error: option '--match' requires a value\n");
    let paths = "hint: git shiftlog get '[conversation][HEAD][messages][0][text]'\n\
                 hint: 'git shiftlog get --help' lists what a path can begin with\n";
    for command in ["get", "keys"] {
        told(&scratch.shiftlog(command, [""; 0]), 129, &format!("error: no path is named\n{paths}"));
    }
    let ran = scratch.shiftlog("add", ["--session=first"]);
    let whole = "hint: the whole id is needed; 'git shiftlog status' lists the sessions that are going on here\n";
    told(&ran, 128, &format!("fatal: Claude Code has no session 'first'\n{whole}"));
}

#[test]
fn install_docs_tells_only_of_what_it_changes() {
    let scratch = Scratch::new();
    let prefix = scratch.root().join("prefix");
    let option = format!("--prefix={}", prefix.display());
    let writes = |args: &[&str]| -> Vec<String> {
        let text = scratch.shiftlog("install-docs", [args, &["-v"]].concat()).ok();
        text.lines().filter(|line| line.starts_with("write ") || *line == "nothing to do").map(str::to_owned).collect()
    };
    let dry = writes(&[&option, "-n"]);
    assert!(!prefix.exists());
    assert_eq!(writes(&[&option]), dry);
    assert_eq!(writes(&[&option]), ["nothing to do"]);
    let page = prefix.join("share/man/man1/git-shiftlog-log.1");
    fs::remove_file(&page).unwrap();
    let expected = [format!("write {}", page.display())];
    assert_eq!(writes(&[&option, "-n"]), expected);
    assert_eq!(writes(&[&option]), expected);
    assert!(fs::read_to_string(&page).unwrap().starts_with(".Dd"));
}
