//! What Git's users are used to: what the options mean, and what helps after a slip.

use std::fs;

use shiftlog::command;

use crate::support::{Ran, Scratch};

/// The first words of summaries of commands that only read.
const READING: &[&str] = &["Check", "Count", "Find", "List", "Look", "Print", "Read", "Serve", "Show"];
/// The first words of options with which a command that reads does more.
const CHANGING: &[&str] =
    &["Delete", "Fix", "Keep", "Purge", "Remove", "Repair", "Save", "Sign", "Store", "Update", "Write"];

/// Returns the first word of a text.
fn first_word(text: &str) -> &str {
    text.split([' ', ',']).next().unwrap_or_default()
}

/// Says whether a command changes something, by its own words.
fn changes_something(listed: &command::Listed) -> bool {
    let options = (listed.options)();
    let help = |arg: &clap::Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
    // 'export' writes the files that it is asked for, as 'git archive' does, and nothing else.
    if listed.name == "export" {
        return false;
    }
    !READING.contains(&first_word(listed.summary))
        || options.get_arguments().any(|arg| CHANGING.contains(&first_word(&help(arg))))
}

/// The options that say in which format a command prints.
const FORMATS: &[&str] = &[
    "--count",
    "--csv",
    "--format",
    "--incremental",
    "--json",
    "--line-porcelain",
    "--name-only",
    "--oneline",
    "--porcelain",
    "--raw",
    "-L",
];
/// Other options whose help begins with 'Print': they say how much or what of it, in any format.
const AMOUNTS: &[&str] = &[
    "--after-context",
    "--before-context",
    "--break",
    "--column",
    "--context",
    "--dry-run",
    "--heading",
    "--line-number",
    "--max-count",
    "--no-cut",
    "--no-decorate",
    "--no-line-number",
    "--only-matching",
    "--print",
    "--quiet",
    "--verbose",
    "-H",
];
/// Of these the last counts, as in Git: `git log --oneline --format=...`, `git blame --porcelain --line-porcelain`.
const LAST_COUNTS: &[&[&str]] = &[&["--oneline", "--format"], &["--porcelain", "--line-porcelain", "--incremental"]];

#[test]
fn formats_that_exclude_each_other_are_refused_with_both_names() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    session.commits("one");
    for listed in command::ALL {
        let command = shiftlog::cli::prepared((listed.options)());
        let mut formats = Vec::new();
        for arg in command.get_arguments() {
            let long = arg.get_long().map(|name| format!("--{name}"));
            let Some(name) = long.or_else(|| arg.get_short().map(|name| format!("-{name}"))) else { continue };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let is_known = FORMATS.contains(&name.as_str()) || AMOUNTS.contains(&name.as_str()) || name == "-h";
            assert!(is_known || first_word(&help) != "Print", "{}: what is {name}? {help}", listed.name);
            if FORMATS.contains(&name.as_str()) && first_word(&help) == "Print" {
                formats.push(name);
            }
        }
        let typed = |name: &str| match (listed.name, name) {
            ("show", "--format") => "--format=medium".to_owned(),
            (_, "--format") => "--format=%h".to_owned(),
            (_, name) => name.to_owned(),
        };
        for (at, one) in formats.iter().enumerate() {
            for other in formats[..at].iter().chain(&formats[at + 1..]) {
                let is_last =
                    LAST_COUNTS.iter().any(|set| set.contains(&one.as_str()) && set.contains(&other.as_str()));
                let mut words = vec![typed(one), typed(other)];
                if is_last {
                    let file = if listed.name == "log" { "HEAD" } else { "a.txt" };
                    words.extend((listed.name == "why").then(|| "-L1,1".to_owned()));
                    words.push(file.to_owned());
                    let both = scratch.shiftlog(listed.name, &words).ok();
                    let alone = scratch.shiftlog(listed.name, &words[1..]).ok();
                    assert_eq!(both, alone, "{} {words:?}", listed.name);
                    continue;
                }
                let ran = scratch.shiftlog(listed.name, &words);
                let told =
                    |one: &str, other: &str| format!("error: options '{one}' and '{other}' cannot be used together\n");
                assert_eq!(ran.code, 129, "{} {words:?}: {ran:?}", listed.name);
                assert!(
                    [told(one, other), told(other, one)].contains(&ran.stderr),
                    "{} {words:?}: {ran:?}",
                    listed.name
                );
            }
        }
    }
}

#[test]
fn n_is_dry_run_in_every_command_that_changes_something() {
    for listed in command::ALL {
        let options = (listed.options)();
        let short = options.get_arguments().find(|arg| arg.get_short() == Some('n'));
        let names = |arg: &clap::Arg| {
            let aliases = arg.get_visible_aliases().unwrap_or_default().into_iter().map(str::to_owned);
            arg.get_long().map(str::to_owned).into_iter().chain(aliases).collect::<Vec<_>>()
        };
        let names = short.map(names).unwrap_or_default();
        let is_dry_run = names.iter().any(|name| name == "dry-run");
        assert_eq!(is_dry_run, changes_something(listed), "{}: -n is {names:?}", listed.name);
        // 'grep' and 'blame' have the options of 'git grep' and 'git blame'.
        let is_gits = [("grep", "line-number"), ("blame", "show-number")]
            .iter()
            .any(|(name, option)| listed.name == *name && names == [*option]);
        let is_known = names.is_empty() || names == ["max-count"] || is_gits;
        assert!(is_dry_run || is_known, "{}: -n is {names:?}", listed.name);
    }
    let changing: Vec<&str> =
        command::ALL.iter().filter(|listed| changes_something(listed)).map(|listed| listed.name).collect();
    for name in
        ["init", "deinit", "add", "import", "sync", "remap", "migrate", "purge", "fsck", "scan", "summarise", "logs"]
    {
        assert!(changing.contains(&name), "{name} changes something, as its words must say: {changing:?}");
    }
    let scratch = Scratch::new();
    scratch.write(
        "t.jsonl",
        "{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
    );
    let ran = scratch.shiftlog("add", ["-n", "--transcript=t.jsonl"]).ok();
    assert_eq!(
        ran,
        format!("would record session claude/s on {} from a transcript of 72 bytes\n", &scratch.id("HEAD")[..7])
    );
    assert_eq!(scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok(), "");
}

#[test]
fn wrong_input_is_answered_with_what_helps() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let first = |ran: &Ran| ran.stderr.lines().next().unwrap_or_default().to_owned();
    let cases: &[(&str, &[&str], i32, &str)] = &[
        ("log", &["--format"], 129, "error: option '--format' requires a value"),
        ("log", &["--json=yes"], 129, "error: option '--json' takes no value"),
        ("show", &["--tool-output=lots"], 129, "error: 'lots' is not a value for '--tool-output': none, short, full"),
        ("show", &["--session="], 129, "error: option '--session' requires a value"),
        ("purge", &["--session="], 129, "error: option '--session' requires a value"),
        ("add", &["--session="], 129, "error: option '--session' requires a value"),
        ("log", &["--model="], 129, "error: option '--model' requires a value"),
        ("log", &["--agent=hal"], 129, "error: unknown agent 'hal'"),
        ("log", &["--ref=nosuch"], 0, "warning: there is no notes ref 'refs/notes/nosuch'"),
        ("show", &["--ref=nosuch"], 1, "warning: there is no notes ref 'refs/notes/nosuch'"),
        ("fsck", &["--ref=nosuch"], 0, "warning: there is no notes ref 'refs/notes/nosuch'"),
        ("verify", &["--ref=nosuch"], 1, "warning: there is no notes ref 'refs/notes/nosuch'"),
        ("remap", &["--ref=nosuch"], 0, "warning: there is no notes ref 'refs/notes/nosuch'"),
        ("resume", &["-n", "--ref=nosuch"], 1, "warning: there is no notes ref 'refs/notes/nosuch'"),
        ("evidence", &["--ref=nosuch"], 1, "warning: there is no notes ref 'refs/notes/nosuch'"),
        ("log", &["--format=nosuch"], 128, "fatal: invalid --pretty format: nosuch"),
        ("sync", &["push", "origin", "x"], 129, "error: unexpected argument 'x'"),
        ("sync", &["nosuch"], 128, "fatal: no such remote 'nosuch'"),
        ("purge", &[], 129, "error: name a commit, or give --session, --match, --secrets, --before or --received"),
        (
            "purge",
            &["--secrets", "--received"],
            129,
            "error: options '--secrets' and '--received' cannot be used together",
        ),
        ("log", &["-n", "many"], 129, "error: option '-n' expects a numerical value"),
        ("sync", &["push", "pull"], 129, "error: 'pull' and 'push' cannot be used together"),
        ("log", &["-5x"], 129, "error: option '-5x' expects a numerical value"),
        ("log", &["--porcelain=v9"], 129, "error: 'v9' is not a value for '--porcelain': v1"),
        ("show", &["--turn=x"], 129, "error: 'x' is not a value for '--turn': <n>, <n>..<m>, <n>.. or ..<m>"),
        ("branches", &["--sort=x"], 129, "error: 'x' is not a value for '--sort': refname, conversations or date"),
        (
            "grep",
            &["--in=foo", "x"],
            129,
            "error: 'foo' is not a value for '--in': prompts, answers, thinking, calls, results, notices or all",
        ),
        (
            "show",
            &["--format=markdown", "--stat"],
            129,
            "error: options '--format=markdown' and '--stat' cannot be used together",
        ),
        ("why", &[], 129, "error: no file is named"),
        ("blame", &[], 129, "error: no file is named"),
        ("purge", &["--match=("], 128, "fatal: '(' is not a regular expression: unclosed group"),
        ("show", &["README"], 1, "error: no turn about 'README' in the conversation of HEAD"),
        ("show", &["README", "--"], 128, "fatal: bad revision 'README'"),
        ("show", &[""], 128, "fatal: ambiguous argument '': unknown revision or path not in the working tree"),
        ("add", &["--transcript=nosuch"], 128, "fatal: cannot read 'nosuch': No such file or directory"),
        ("scan", &["--", "nosuch"], 128, "fatal: cannot read 'nosuch': No such file or directory"),
        ("resume", &["--agent=hal"], 129, "error: unknown agent 'hal'"),
        ("stats", &["--agent=hal"], 129, "error: unknown agent 'hal'"),
        (
            "stats",
            &["--by=x"],
            129,
            "error: 'x' is not a value for '--by': agent, model, author, branch, commit, day, week, month, session, \
             path",
        ),
        ("why", &["--since=garbage", "a.txt:1"], 128, "fatal: cannot read the date 'garbage'"),
        ("blame", &["--since=garbage", "a.txt"], 128, "fatal: cannot read the date 'garbage'"),
        ("log", &["@{u}"], 128, "fatal: no upstream configured for branch 'main'"),
        ("show", &["@{u}"], 128, "fatal: no upstream configured for branch 'main'"),
        ("show", &["main@{99}"], 128, "fatal: log for 'main' only has 2 entries"),
        ("prices", &["nosuch"], 1, "error: no price known for 'nosuch'"),
        (
            "export",
            &["--html", "-o", "no/such.html"],
            128,
            "fatal: cannot write 'no/such.html': No such file or directory",
        ),
        ("get", &["x"], 129, "error: 'x' is not a path: unexpected character 'x' at position 0"),
        ("keys", &[""], 129, "error: '' is not a path: empty path"),
        ("get", &["[commit][nosuch]"], 1, "error: no commit matches nosuch"),
        ("sync", &["--notes-only", "--all"], 129, "error: options '--notes-only' and '--all' cannot be used together"),
        ("sync", &[""], 129, "error: the name of the remote is empty"),
        ("grep", &["--tool=", "x"], 129, "error: option '--tool' requires a value"),
        ("log", &["--format=%C(foo)%h", "--color=always"], 128, "fatal: 'git log' failed: invalid color value: foo"),
        // As the value of another option it is none.
        ("grep", &["-e", "--merge"], 1, ""),
        // With Git it is another one than '--merges'.
        ("log", &["--merge"], 129, "error: unknown option '--merge'"),
        ("log", &["--abbrev=x"], 129, "error: option '--abbrev' expects a numerical value"),
    ];
    for (name, args, code, message) in cases {
        let ran = scratch.shiftlog(name, *args);
        assert_eq!((ran.code, first(&ran).as_str()), (*code, *message), "{name} {args:?}: {ran:?}");
    }
    let short = &scratch.id("HEAD")[..7];
    for path in ["nosuch.txt", "."] {
        let ran = scratch.shiftlog("blame", ["HEAD", "--", path]);
        assert!(
            ran.stderr.starts_with("fatal: no such path '") && ran.stderr.ends_with(&format!("' in {short}\n")),
            "{ran:?}"
        );
    }
    let ran = scratch.shiftlog("log", ["--ref=nosuch"]);
    assert_eq!(ran.stderr.lines().count(), 2, "that nothing is recorded here is not true: {ran:?}");
    for (args, what) in [
        (&["--session=nosuch"][..], "no session 'nosuch'"),
        (&["--agent=codex"], "no session of codex"),
        (&["--agent=codex", "--session=s"], "no session 's' of codex"),
    ] {
        let ran = scratch.shiftlog("resume", args);
        assert_eq!((ran.code, first(&ran)), (1, format!("error: {what} recorded for {short}")));
    }
    assert_eq!(scratch.shiftlog("prices", ["nosuch"]).stdout, "", "no table without rows");
    let ran = scratch.shiftlog("get", ["[commit][nosuch]"]);
    assert!(ran.stderr.ends_with("\nhint: 'git shiftlog log' lists the commits that have a conversation\n"), "{ran:?}");
    let hint = |name: &str, args: &[&str]| scratch.shiftlog(name, args).stderr.lines().nth(1).unwrap().to_owned();
    assert_eq!(hint("show", &["README"]), "hint: git shiftlog log -- README    # lists the conversations about a file");
    assert_eq!(
        hint("show", &["HEAD:a.txt"]),
        "hint: git shiftlog show HEAD -- a.txt    # shows the turns about a file"
    );
    assert_eq!(hint("sync", &["nosuch"]), "hint: git remote add <name> <url>");
    assert!(hint("log", &["--agent=hal"]).starts_with("hint: known agents: claude, "));
    assert_eq!(hint("keys", &["x"]), "hint: git shiftlog get '[conversation][HEAD][messages][0][text]'");
    scratch.git(["remote", "add", "upstream", "/nowhere"]).ok();
    assert_eq!(hint("sync", &["nosuch"]), "hint: the remotes are: upstream");
    for word in ["foo", "diff", "x"] {
        let ran = scratch.git(["shiftlog", word]);
        assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "a guess far off helps nobody: {ran:?}");
    }
    let unborn = Scratch::empty(&[]);
    for words in ["show", "log", "resume", "summarise", "verify", "purge HEAD", "add --transcript=x"] {
        let ran = unborn.git(format!("shiftlog {words}").split(' '));
        let message = "fatal: your current branch 'main' does not have any commits yet\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (128, message), "{words}");
    }
}

#[test]
fn an_option_for_changes_that_only_git_has_is_answered_with_the_way_to_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let hint = |name: &str, option: &str| {
        let ran = scratch.shiftlog(name, [option]);
        assert_eq!(ran.code, 129, "{ran:?}");
        assert!(ran.stderr.lines().count() <= 3, "the usage is one line: {ran:?}");
        let way = |line: &str| Some(line.strip_prefix("hint: '")?.strip_suffix("' prints what Git has")?.to_owned());
        ran.stderr.lines().find_map(way)
    };
    for option in ["--name-only", "--shortstat", "--name-status", "-b"] {
        for name in ["log", "show"] {
            let way = hint(name, option).expect("Git has this option");
            let (ran, git) = (scratch.run_in(&scratch.top, "sh", ["-c", &way]), scratch.git([name, option, "-1"]));
            assert_eq!((ran.code, ran.stdout), (0, git.stdout), "{way}");
        }
    }
    assert!(scratch.shiftlog("log", ["--name-only"]).stderr.ends_with("' prints what Git has\n"));
    let nosuch = ["--nosuch", "--output", "--topo-ordre", "-y"];
    assert!(nosuch.iter().all(|option| hint("log", option).is_none()), "no way leads to these");
    for option in ["--follow", "-g", "-L1,2:a.txt", "--topo-order", "--cherry-pick"] {
        let ran = scratch.shiftlog("log", [option]);
        let way = format!("git log --format=%H --no-patch {option} ... | xargs -r git shiftlog show");
        let told = format!("'{way}' shows the commits that Git finds\n");
        assert!(ran.code == 129 && ran.stderr.ends_with(&told), "{ran:?}");
    }
    for name in ["log", "show"] {
        for option in ["--output=a.txt", "--outp=a.txt"] {
            assert_eq!(hint(name, option), None);
            assert_eq!(
                fs::read_to_string(scratch.top.join("a.txt")).unwrap(),
                "a\n",
                "an option that is refused writes nothing"
            );
        }
    }
    assert_eq!(hint("branches", "--name-only"), None);
    let quoted = scratch.shiftlog("log", ["-L/a b/,+1:a.txt"]);
    assert!(quoted.stderr.contains(" --no-patch '-L/a b/,+1:a.txt' ... | xargs"), "{quoted:?}");
    let empty = Scratch::new();
    for option in ["--nosuch", "--bogus=3"] {
        let ran = empty.shiftlog("log", [option]);
        assert!(ran.code == 129 && !ran.stderr.contains("git log"), "{ran:?}");
    }
}

#[test]
fn a_pager_that_is_not_there_is_fatal_as_in_git() {
    let mut scratch = Scratch::set_up();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v script"]).code != 0 {
        crate::support::skip("no script(1) to make a terminal with");
        return;
    }
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    session.commits("one");
    scratch.env.insert("TERM".into(), "xterm".into());
    scratch.env.insert("GIT_PAGER".into(), "nosuch".into());
    let on_a_terminal = |command: &str| scratch.run_in(&scratch.top, "script", ["-qec", command, "/dev/null"]);
    for name in ["log", "show"] {
        // Git itself would page before our program does.
        let (git, ours) = (on_a_terminal(&format!("git {name}")), on_a_terminal(&format!("git-shiftlog-{name}")));
        assert_eq!((git.code, ours.code), (128, 128), "{git:?}\n{ours:?}");
        let told = "error: cannot run nosuch: No such file or directory\r\nfatal: unable to execute pager 'nosuch'\r\n";
        assert_eq!((git.stdout.as_str(), ours.stdout.as_str()), (told, told));
    }
}

#[test]
fn one_wrong_value_is_answered_without_the_list_of_options() {
    let scratch = Scratch::new();
    for args in
        [&["--format=short"][..], &["--turn"], &["--full=3"], &["--session="], &["--turn=1", "--raw"], &["--turn=x"]]
    {
        let ran = scratch.shiftlog("show", args);
        assert_eq!((ran.code, ran.stderr.lines().count()), (129, 1), "{ran:?}");
    }
    let ran = scratch.shiftlog("show", ["--nosuch"]);
    assert!(ran.code == 129 && ran.stderr.contains("\nusage: git shiftlog show "), "{ran:?}");
}

#[test]
fn ids_are_as_short_as_git_makes_them() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    session.commits("one");
    let id = scratch.id("HEAD");
    for options in [
        &["--format=medium", "--abbrev-commit"][..],
        &["--format=fuller", "--abbrev=9"],
        &["--format=medium", "--abbrev-commit", "--abbrev=12"],
        &["--oneline", "--abbrev=20"],
        &["--oneline", "--no-abbrev"],
        &["--format=%h %p", "--abbrev=5"],
        &["--pretty=format:%Cred%h%Creset -%C(yellow)%d%Creset %s", "--abbrev-commit"],
    ] {
        let git = scratch.git([&["log", "-1"], options].concat()).ok();
        assert_eq!(scratch.shiftlog("log", [&["-1"], options].concat()).ok(), git, "{options:?}");
    }
    for (option, length) in [("--abbrev=12", 12), ("--no-abbrev", 40), ("--abbrev=99", 40), ("--abbrev", 7)] {
        let line = scratch.shiftlog("log", [option]).ok();
        assert_eq!(line.split(' ').next(), Some(&id[..length]), "{option}");
        let drawn = scratch.shiftlog("log", ["--graph", option]).ok();
        assert_eq!(drawn, format!("* {line}"), "{option}");
    }
    // The objects of another repository count, too.
    let borrowing = scratch.root().join("borrowing");
    scratch.git(["clone", "-q", "--shared", ".", borrowing.to_str().unwrap()]).ok();
    scratch.git_in(&borrowing, ["fetch", "-q", "origin", "refs/notes/*:refs/notes/*"]).ok();
    let line = scratch.shiftlog_in(&borrowing, "log", ["--abbrev=12"]).ok();
    assert_eq!(line.split(' ').next(), Some(&id[..12]));
}

#[test]
fn formats_that_git_names_are_those_of_git() {
    let scratch = Scratch::set_up();
    for (number, message) in ["one", "two\n\nWith a body\n\n  of two parts\n", "three"].iter().enumerate() {
        let session = scratch.session(&format!("s{number}"));
        session.prompt("make it");
        session.edits(&format!("{number}.txt"), "x\n");
        session.commits(message);
    }
    let compare = |range: &str| {
        for format in ["oneline", "short", "medium", "full", "fuller", "reference"] {
            let option = format!("--format={format}");
            let git = scratch.git(["log", &option, "--no-color", range]).ok();
            let ours = scratch.shiftlog("log", [&option, range]).ok();
            assert_eq!(ours, git, "{format} {range}");
        }
    };
    compare("-3");
    scratch.git(["switch", "-q", "-c", "side", "HEAD~1"]).ok();
    scratch.commit("side.txt", "x\n", "on the side");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--no-edit", "side"]).ok();
    fs::write(
        scratch.top.join("t.jsonl"),
        "{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
    )
    .unwrap();
    scratch.shiftlog("add", ["-q", "--transcript=t.jsonl", "HEAD"]).ok();
    compare("-1");
}
