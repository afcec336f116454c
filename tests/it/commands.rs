//! The manners of the commands: exit codes, voices, odd names, closed pipes, large repositories.

mod log;

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Ran, Scratch, bin_dir, copy_program, feed};

/// A repository with three recorded commits, one of them on a branch of its own.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    for (number, name) in ["alpha", "beta"].iter().enumerate() {
        let session = scratch.session(name);
        session.prompt(&format!("make {name}"));
        session.says(&format!("Here is `{name}`."));
        session.edits(&format!("src/{name}.rs"), &format!("fn {name}() {{}}\n"));
        session.commits(&format!("add {name} {number}"));
        session.hook("SessionEnd");
    }
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    let session = scratch.session("gamma");
    session.prompt("make gamma");
    session.edits("gamma.rs", "fn gamma() {}\n");
    session.commits("add gamma");
    scratch
}

#[test]
fn show_prints_the_conversation_for_people_and_for_programs() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write `greet`\nplease");
    session.calls(
        "c1",
        "Edit",
        &json!({ "file_path": "greet.rs", "old_string": "a\nb\nc\n", "new_string": "a\nB\nc\n" }),
    );
    session.answers("c1", &(1..=20).map(|n| format!("line {n}\n")).collect::<String>());
    session.edits("greet.rs", "fn greet() {}\n");
    session.commits("greet");
    let shown = scratch.shiftlog("show", [""; 0]).ok();
    let commit = scratch.id("HEAD");
    let expected = format!(
        "commit {commit}\nAuthor: A U Thor <author@example.com>\nDate:   Fri Jan 2 03:04:05 2026 +0000\n\n    greet\n\n\
         session claude s1, claude-test-1\n1 turn, 1 message, [..], tokens 30 in, 15 out, 0 cached\n\n\
         turn 1, 03:04\n> write `greet`\n| please\n\n  Edit greet.rs\n     a\n    -b\n    +B\n     c\n\n\
         \x20 Write greet.rs\n    +fn greet() {{}}\n\n  Bash git commit -am 'greet'\n    [main {short}] greet\n\n",
        short = &commit[..7]
    );
    snapbox::assert_data_eq!(shown, snapbox::Data::from(expected));
    let full = scratch.shiftlog("show", ["--tool-output=full"]).ok();
    assert!(full.contains("    line 20\n"));
    let none = scratch.shiftlog("show", ["--tool-output=none"]).ok();
    assert!(!none.contains("line 1\n") && none.contains("  Edit greet.rs"));
    assert!(!scratch.shiftlog("show", ["--no-tools"]).ok().contains("greet.rs"));
    assert!(scratch.shiftlog("show", ["--no-tools", "--tools"]).ok().contains("greet.rs"), "the last one wins");
    let object: Value = serde_json::from_str(&scratch.shiftlog("show", ["--json"]).ok()).unwrap();
    assert_eq!((&object["version"], &object["session"], &object["messages"]), (&json!(1), &json!("s1"), &json!(1)));
    assert_eq!(object["conversation"][0]["parts"][0]["text"], "write `greet`\nplease");
    let document = scratch.shiftlog("show", ["--format=markdown"]).ok();
    assert!(
        document.starts_with("# greet\n\n- commit: `") && document.contains("\n> write `greet`\n> please\n"),
        "{document}"
    );
    assert!(document.contains("- **Bash** `git commit -am 'greet'`"), "{document}");
}

#[test]
fn several_commits_are_shown_in_turn_and_missing_ones_are_told() {
    let scratch = recorded();
    let ran = scratch.shiftlog("show", ["--no-tools", "HEAD", "HEAD~3", "HEAD~1"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr,
        "error: no conversation recorded for HEAD~3\n\
         hint: 'git shiftlog log' lists the commits that have a conversation\n"
    );
    assert!(ran.stdout.contains("> make gamma") && ran.stdout.contains("> make beta"));
    let ran = scratch.shiftlog("show", ["--session=nope"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: no session 'nope' recorded for this commit\n"));
    let ran = scratch.shiftlog("show", ["no-such-revision"]);
    let told = "fatal: ambiguous argument 'no-such-revision': unknown revision or path not in the working tree\n\
                hint: use '--' to separate paths from revisions\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (128, told));
    let ran = scratch.shiftlog("show", ["no-such-revision", "--"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (128, "fatal: bad revision 'no-such-revision'\n"));
}

#[test]
fn branches_count_shared_history_for_each() {
    let scratch = recorded();
    let (main, topic) = (scratch.id("main"), scratch.id("topic"));
    assert_eq!(
        scratch.shiftlog("branches", [""; 0]).ok(),
        format!("  main  {}     2 2026-01-02\n* topic {}     3 2026-01-02\n", &main[..7], &topic[..7])
    );
    assert_eq!(
        scratch.shiftlog("branches", ["--porcelain"]).ok(),
        format!("refs/heads/main\t{main}\t-\t2\t1767323045\nrefs/heads/topic\t{topic}\t*\t3\t1767323045\n")
    );
    let names = |args: &[&str]| {
        let output = scratch.shiftlog("branches", [&["--json"], args].concat()).ok();
        output
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&["--sort=conversations"]), ["topic", "main"]);
    assert_eq!(names(&["--sort=-conversations"]), ["main", "topic"]);
    assert_eq!(names(&["--sort", "-refname"]), ["topic", "main"]);
    assert_eq!(names(&["--contains=topic"]), ["topic"]);
    assert_eq!(names(&["--contains", "main"]), ["main", "topic"]);
    let clone = scratch.root().join("clone");
    scratch.git(["clone", "-q", ".", clone.to_str().unwrap()]).ok();
    let remote = scratch.shiftlog_in(&clone, "branches", ["-r", "--porcelain"]).ok();
    assert_eq!(
        remote.lines().map(|line| line.split('\t').next().unwrap()).collect::<Vec<_>>(),
        ["refs/remotes/origin/main", "refs/remotes/origin/topic"]
    );
    assert_eq!(scratch.shiftlog_in(&clone, "branches", ["-a", "-z", "--porcelain"]).ok().matches('\0').count(), 3);
    // More branches than bits in a word.
    for number in 0..70 {
        scratch.git(["branch", &format!("b{number:02}"), if number % 2 == 0 { "main" } else { "topic" }]).ok();
    }
    let counts = scratch.shiftlog("branches", ["--porcelain"]).ok();
    for line in counts.lines().filter(|line| line.starts_with("refs/heads/b")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let expected = if fields[1] == main { "2" } else { "3" };
        assert_eq!(fields[3], expected, "{line}");
    }
}

#[test]
fn a_program_alone_in_its_directory_runs_the_one_that_git_finds() {
    let scratch = Scratch::new();
    let alone = scratch.root().join("alone");
    fs::create_dir_all(&alone).unwrap();
    copy_program(bin_dir().join("git-shiftlog-show"), &alone.join("git-shiftlog-show"));
    let program = alone.join("git-shiftlog-show");
    let ran = scratch.run_in(&scratch.top, program.to_str().unwrap(), ["-h"]);
    assert_eq!(ran.ok(), scratch.shiftlog("show", ["-h"]).ok());
}

#[test]
fn links_serve_as_well_as_programs() {
    let scratch = Scratch::new();
    let (programs, links) = (scratch.root().join("libexec"), scratch.root().join("links"));
    fs::create_dir_all(&programs).unwrap();
    fs::create_dir_all(&links).unwrap();
    for name in ["git-shiftlog", "git-shiftlog--hook"] {
        copy_program(bin_dir().join(name), &programs.join(name));
        std::os::unix::fs::symlink(programs.join(name), links.join(name)).unwrap();
    }
    for listed in shiftlog::command::ALL {
        std::os::unix::fs::symlink("git-shiftlog", links.join(format!("git-shiftlog-{}", listed.name))).unwrap();
    }
    let path = format!("{}:{}", links.display(), std::env::var("PATH").unwrap());
    let run = |words: &[&str]| {
        let mut command = scratch.command("env", &scratch.top);
        Ran::of(command.env("PATH", &path).args(words).output().unwrap())
    };
    run(&["git", "shiftlog", "init", "--agent=claude", "-q"]).ok();
    let settings = fs::read_to_string(scratch.top.join(".claude/settings.local.json")).unwrap();
    assert!(settings.contains(programs.join("git-shiftlog--hook").to_str().unwrap()), "{settings}");
    let session = scratch.session("s1");
    session.prompt("make links");
    session.edits("links.rs", "fn links() {}\n");
    session.commits("links");
    let expected = scratch.shiftlog("show", [""; 0]).ok();
    assert!(expected.contains("> make links\n"), "{expected}");
    assert_eq!(run(&["git", "shiftlog", "show"]).ok(), expected);
    assert_eq!(run(&["git-shiftlog", "show"]).ok(), expected);
    assert_eq!(run(&["git-shiftlog-show"]).ok(), expected);
    for listed in shiftlog::command::ALL {
        let name = format!("git-shiftlog-{}", listed.name);
        let usage = run(&[&name, "-h"]).ok();
        assert_eq!(usage, scratch.shiftlog(listed.name, ["-h"]).ok(), "{name}");
    }
    assert_eq!(run(&["git-shiftlog-doctor", "-q"]).ok(), "", "nothing is wrong, and recording works");
    let docs = ["--dry-run", "--prefix=/usr"];
    assert_eq!(run(&["git-shiftlog-install-docs", docs[0], docs[1]]).ok(), scratch.shiftlog("install-docs", docs).ok());
}

#[test]
fn wrong_usage_exits_129_and_a_missing_repository_128() {
    let scratch = Scratch::new();
    let outside = scratch.root();
    for name in ["log", "show", "branches", "add", "doctor", "init", "deinit", "install-docs"] {
        let ran = scratch.shiftlog(name, ["--frobnicate"]);
        assert_eq!(ran.code, 129, "{name}");
        let synopsis = scratch.shiftlog(name, ["-h"]).ok();
        let (synopsis, _) = synopsis.split_once("\n\n").unwrap();
        assert_eq!(
            ran.stderr,
            format!(
                "error: unknown option '--frobnicate'\n{synopsis}\nhint: 'git shiftlog {name} -h' lists the options\n"
            )
        );
        if name != "install-docs" {
            let ran = scratch.shiftlog_in(&outside, name, if name == "add" { vec!["--transcript=-"] } else { vec![] });
            assert_eq!(
                (ran.code, ran.stderr.as_str()),
                (128, "fatal: not a git repository (or any of the parent directories): .git\n"),
                "{name}"
            );
        }
    }
    let ran = scratch.shiftlog("doctor", ["extra"]);
    assert_eq!(ran.code, 129);
    assert!(ran.stderr.starts_with("error: unexpected argument 'extra'\nusage: "), "{}", ran.stderr);
    let ran = scratch.shiftlog("log", ["--date=nonsense"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (128, "fatal: unknown date format nonsense\n"));
    let ran = scratch.shiftlog("log", ["--json", "--porcelain"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (129, "error: options '--json' and '--porcelain' cannot be used together\n")
    );
    let ran = scratch.shiftlog("add", [""; 0]);
    assert_eq!((ran.code, ran.stderr.as_str()), (129, "error: one of --transcript and --session is needed\n"));
    scratch.git(["branch", "README"]).ok();
    let ran = scratch.shiftlog("log", ["README"]);
    assert_eq!(ran.code, 128);
    assert!(
        ran.stderr.starts_with("fatal: ambiguous argument 'README': both revision and filename\n"),
        "{}",
        ran.stderr
    );
    let ran = scratch.shiftlog("log", ["nothing-there"]);
    assert!(
        ran.stderr.starts_with(
            "fatal: ambiguous argument 'nothing-there': unknown revision or path not in the working tree\n"
        ),
        "{}",
        ran.stderr
    );
    assert_eq!(scratch.shiftlog("log", ["--", "nothing-there"]).code, 0);
}

#[test]
fn the_dispatcher_lists_suggests_and_runs_what_it_finds() {
    let scratch = Scratch::new();
    let usage = scratch.git(["shiftlog", "-h"]).ok();
    assert!(
        usage.starts_with("usage: git shiftlog [-h] [--version] <command> [<args>]\n")
            && usage.contains("   show          Show the conversation of a commit\n")
    );
    let bare = scratch.git(["shiftlog"]);
    assert_eq!((bare.code, bare.stdout), (1, usage));
    assert_eq!(
        scratch.git(["shiftlog", "--version"]).ok(),
        concat!("git-shiftlog version ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let ran = scratch.git(["shiftlog", "shwo"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr,
        "error: 'shwo' is not a git shiftlog command; see 'git shiftlog -h'\nhint: the most similar command is: git shiftlog show\n"
    );
    let own = scratch.root().join("bin/git-shiftlog-hello");
    fs::write(&own, "#!/bin/sh\necho \"hello $*\"\nexit 7\n").unwrap();
    fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = scratch.git(["shiftlog", "hello", "a b"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, "hello a b\n"));
    assert_eq!(scratch.git(["shiftlog", "../../bin/true"]).code, 1);
}

/// Makes a branch `many` of noted commits.
fn many(count: usize) -> Scratch {
    let scratch = Scratch::new();
    let mut import = String::new();
    for number in 0..count {
        import += &format!(
            "commit refs/heads/many\nmark :{}\ncommitter A <a@example.com> {} +0000\ndata 9\nnumber {:02}\n",
            number + 1,
            1_700_000_000 + number,
            number % 100
        );
    }
    import += "commit refs/notes/shiftlog\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n";
    for number in 0..count {
        let note = json!({"shiftlog":1,"agent":"claude","session":format!("s{}", number % 50),"time":"2026-01-01T00:00:00Z",
            "prompt":format!("prompt {number}"),"turns":1,"messages":2,"since":null,"through":"00".repeat(20),"bytes":1,"sha256":""});
        let note = note.to_string();
        import += &format!("N inline :{}\ndata {}\n{note}\n", number + 1, note.len());
    }
    let mut command = scratch.command("git", &scratch.top);
    assert_eq!(feed(command.args(["fast-import", "--quiet"]), import.as_bytes()).code, 0);
    scratch
}

#[test]
fn a_reader_that_goes_away_is_met_with_silence() {
    let scratch = many(3000);
    for args in [&["log", "many"][..], &["log", "--json", "many"], &["branches", "--json"]] {
        let mut command = scratch.command("git", &scratch.top);
        let mut child =
            command.arg("shiftlog").args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        let _ = child.stdout.take().unwrap().read(&mut first);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert!(matches!(output.status.code(), Some(0 | 141)), "{args:?}: {:?}", output.status);
    }
    let mut command = scratch.command("sh", &scratch.top);
    command.args(["-c", "git shiftlog log many | head -n1; echo ${PIPESTATUS:-}"]);
    assert_eq!(feed(&mut command, b"").stderr, "");
}

#[test]
fn odd_names_do_no_harm() {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "zwölf/ünïcode"]).ok();
    let session = scratch.session("s1");
    session.prompt("\u{1b}[31mred\u{202e}desrever\u{7}");
    let name = "dir with space/\u{1b}odd\n\"name\".txt";
    session.edits(name, "x\n");
    session.commits("\u{1b}]0;title\u{7}subject");
    let shown = scratch.shiftlog("show", [""; 0]).ok();
    let listed = scratch.shiftlog("log", [""; 0]).ok();
    for text in [&shown, &listed, &scratch.shiftlog("show", ["--format=markdown"]).ok()] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        assert!(text.contains("reddesrever") && !text.contains("[31m"), "{text:?}");
    }
    assert_eq!(scratch.shiftlog("log", ["--format=%H", "--", name]).ok().lines().count(), 1);
    assert!(scratch.shiftlog("branches", [""; 0]).ok().contains("* zwölf/ünïcode "));
    assert_eq!(scratch.raw("HEAD", &[]), session.text());
}

#[test]
fn colours_come_when_asked_for_and_obey_the_config() {
    let scratch = recorded();
    let first = |args: &[&str]| scratch.git([&["-c", "color.ui=always", "shiftlog", "log", "-n1"], args].concat()).ok();
    assert!(first(&[]).starts_with("\u{1b}[33m"), "color.ui is honoured");
    assert!(!first(&["--color=never"]).contains('\u{1b}'));
    assert!(!first(&["--color", "--no-color"]).contains('\u{1b}'), "it is not the config that counts then");
    assert!(!first(&["--color", "--no-color", "--color=auto"]).contains('\u{1b}'), "no terminal");
    let red = scratch.git(["-c", "color.shiftlog.commit=red bold", "shiftlog", "log", "-n1", "--color"]).ok();
    assert!(red.starts_with("\u{1b}[1m\u{1b}[31m"), "{red:?}");
    assert!(!scratch.shiftlog("log", ["--json", "--color=always"]).ok().contains('\u{1b}'), "JSON has no colours");
}

#[test]
fn a_terminal_gets_gits_pager() {
    let mut scratch = recorded();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v script"]).code != 0 {
        super::support::skip("no script(1) to make a terminal with");
        return;
    }
    scratch.env.insert("GIT_PAGER".into(), "sed -e s/^/paged:/".into());
    scratch.env.insert("TERM".into(), "xterm".into());
    let ran = scratch.run_in(&scratch.top, "script", ["-qec", "git shiftlog log -n1", "/dev/null"]);
    let first = ran.stdout.lines().nth(1).unwrap();
    assert!(first.starts_with("paged:\u{1b}[33m"), "{ran:?}");
    let ran = scratch.run_in(&scratch.top, "script", ["-qec", "git shiftlog show HEAD~3", "/dev/null"]);
    let told: Vec<&str> = ran.stdout.lines().map(str::trim_end).collect();
    let expected = [
        "error: no conversation recorded for HEAD~3",
        "hint: 'git shiftlog log' lists the commits that have a conversation",
    ];
    assert_eq!((ran.code, told), (1, expected.to_vec()), "an error alone is not paged");
}

#[test]
fn a_transcript_is_added_by_hand_once() {
    let scratch = Scratch::new();
    let file = scratch.root().join("t.jsonl");
    let line = |text: &str| {
        format!(
            "{}\n",
            json!({ "type": "user", "sessionId": "by-hand", "message": { "role": "user", "content": text } })
        )
    };
    fs::write(&file, line("one")).unwrap();
    let path = file.to_str().unwrap();
    let done = scratch.shiftlog("add", ["--transcript", path]).ok();
    assert_eq!(done, format!("recorded session claude/by-hand on {}\n", &scratch.id("HEAD")[..7]));
    let before = scratch.id("refs/notes/shiftlog");
    for options in [&["--transcript", path][..], &["-n", "--transcript", path]] {
        let again = scratch.shiftlog("add", options);
        assert_eq!(
            (again.code, again.stdout.as_str(), again.stderr.as_str()),
            (1, "", "warning: session claude/by-hand has nothing that is not recorded yet\n")
        );
    }
    assert_eq!(scratch.id("refs/notes/shiftlog"), before, "recording twice changes nothing");
    let first = scratch.record("HEAD");
    scratch.commit("a.txt", "a\n", "next");
    fs::write(&file, line("one") + &line("two")).unwrap();
    assert!(scratch.shiftlog("add", ["-n", "--transcript", path]).ok().starts_with("would record session"));
    scratch.shiftlog("add", ["-q", "--transcript", path]).ok();
    assert_eq!(scratch.raw("HEAD", &[]), line("two"), "it begins where the session was last recorded");
    assert_eq!(scratch.record("HEAD")["since"], first["through"]);
    let store = scratch.home().join(".claude/projects/-somewhere");
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("stored.jsonl"), line("from the store")).unwrap();
    scratch.shiftlog("add", ["-q", "HEAD~1", "--session=stored"]).ok();
    assert_eq!(scratch.raw("HEAD~1", &["--session=stored"]), line("from the store"));
    let ran = scratch.shiftlog("add", ["--session=../../etc/passwd"]);
    let told = "fatal: Claude Code has no session '../../etc/passwd'\n\
                hint: the whole id is needed; 'git shiftlog status' lists the sessions that are going on here\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (128, told));
}

#[test]
fn a_screen_gets_no_escapes_of_a_transcript_and_a_pipe_gets_all() {
    let mut scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.append("{\"type\":\"user\",\"text\":\"\u{1b}[2J\u{202e}x\"}\n".as_bytes());
    session.prompt("something");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let text = session.text();
    assert_eq!(scratch.raw("HEAD", &[]), text, "a pipe gets the bytes");
    // What a pager shows ends on a screen too; Git says so in this variable.
    scratch.env.insert("GIT_PAGER_IN_USE".into(), "true".into());
    let shown = scratch.shiftlog("show", ["--raw"]).ok();
    assert_eq!(shown, text.replace("\u{1b}[2J", "").replace('\u{202e}', ""));
}

#[test]
fn a_repository_of_somebody_else_opens_as_the_environment_allows() {
    let scratch = recorded();
    if scratch.run_in(&scratch.top, "chown", ["-R", "12345", "."]).code != 0 {
        super::support::skip("cannot give a repository to somebody else");
        return;
    }
    let plain = scratch.shiftlog("log", [""; 0]);
    assert_eq!(plain.code, 128, "{plain:?}");
    assert!(plain.stderr.contains("dubious ownership"), "{plain:?}");
    let top = scratch.top.to_str().unwrap();
    // Its configuration counts as it does for Git.
    let config = scratch.top.join(".git/config");
    fs::write(&config, fs::read_to_string(&config).unwrap() + "[remote \"origin\"]\n\turl = /nowhere\n").unwrap();
    let ran = scratch.git(["-c", "safe.directory=*", "shiftlog", "sync", "-n"]);
    assert!(ran.code == 128 && ran.stderr.contains("'/nowhere'"), "{ran:?}");
    for (value, is_allowed) in [("*", true), (top, true), ("/nowhere", false), ("", false)] {
        let passed_on = format!("safe.directory={value}");
        let by_option = scratch.git(["-c", &passed_on, "shiftlog", "log", "--format=%H"]);
        let mut command = scratch.command("git-shiftlog-log", &scratch.top);
        command.args(["--format=%H"]).env("GIT_CONFIG_COUNT", "1");
        command.env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", value);
        let by_count = feed(&mut command, b"");
        for ran in [by_option, by_count] {
            assert_eq!((ran.code == 0, !ran.stdout.is_empty()), (is_allowed, is_allowed), "{value}: {ran:?}");
        }
    }
}

#[test]
fn a_repository_without_its_working_tree_is_read_as_git_reads_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("something");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let nowhere = scratch.root().join("nowhere");
    scratch.git(["config", "core.worktree", nowhere.to_str().unwrap()]).ok();
    let ran = scratch.shiftlog("log", ["--format=%s"]).ok();
    assert_eq!(ran, scratch.git(["log", "-1", "--format=%s"]).ok());
    assert!(scratch.shiftlog("show", ["HEAD"]).ok().contains("> something"));
}
