//! `why` and `blame`: from a line to the turn that wrote it.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Ran, Scratch, Session};

impl Session<'_> {
    /// The agent replaces a text in a file with its own tool.
    pub fn replaces(&self, call_id: &str, path: &str, old: &str, new: &str) {
        let file = self.dir.join(path);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(old), "{old:?} is in {text:?}");
        self.calls(call_id, "Edit", &json!({ "file_path": file, "old_string": old, "new_string": new }));
        fs::write(&file, text.replacen(old, new, 1)).unwrap();
        self.answers(call_id, "done");
    }
}

/// Returns the objects of `--json`.
pub fn objects(ran: Ran) -> Vec<Value> {
    ran.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn why(scratch: &Scratch, args: &[&str]) -> Vec<Value> {
    objects(scratch.shiftlog("why", [&["--json"], args].concat()))
}

/// Returns the evidence and the turn of each line of a file, as `blame` has them: `replay/1`.
pub fn told(scratch: &Scratch, args: &[&str]) -> Vec<String> {
    let ran = scratch.shiftlog("blame", [&["--format=%(evidence)/%(turn)"], args].concat());
    assert!(ran.code == 0 || ran.code == 1, "{ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

/// A repository in which a session has made a file's loop back off, in two turns.
pub fn reconnect() -> Scratch {
    let scratch = Scratch::set_up();
    scratch.commit(
        "reconnect.py",
        "def run():\n    while not connect():\n        time.sleep(0.1)\n",
        "start reconnect",
    );
    let session = scratch.session("3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e");
    session.prompt("The loop hammers the server.\nMake it back off.");
    session.says("Doubling with jitter spreads the clients.");
    session.replaces(
        "t1",
        "reconnect.py",
        "    while not connect():\n        time.sleep(0.1)\n",
        "    delay = 1.0\n    while not connect():\n        time.sleep(delay)\n",
    );
    session.prompt("Cap it.");
    session.says("A cap keeps recovery quick.");
    session.replaces(
        "t2",
        "reconnect.py",
        "        time.sleep(delay)\n",
        "        time.sleep(delay)\n        delay = min(delay * 2, 60.0)\n",
    );
    session.commits("reconnect: back off");
    scratch
}

#[test]
fn a_line_leads_to_the_prompt_the_words_before_and_the_edit() {
    let scratch = reconnect();
    let short = &scratch.id("HEAD")[..7];
    let expected = format!(
        "reconnect.py:5\n\
         commit {short} 2026-01-02 A U Thor  reconnect: back off\n\
         session claude 3f6b1c9e, claude-test-1, turn 2 of 2, Edit\n\
         (this edit wrote the line)\n\
         \n\
         > Cap it.\n\
         \n  A cap keeps recovery quick.\n\
         \n\
         \x20            time.sleep(delay)\n\
         \x20 5 +        delay = min(delay * 2, 60.0)\n\
         \n\
         git shiftlog show {short} --session=3f6b1c9e --turn=2\n"
    );
    assert_eq!(scratch.shiftlog("why", ["reconnect.py:5"]).ok(), expected);
    let words: Vec<&str> = expected.lines().last().unwrap().split(' ').skip(2).collect();
    let shown = scratch.shiftlog(words[0], &words[1..]).ok();
    assert!(shown.contains("> Cap it.") && !shown.contains("hammers"), "the last line shows more: {shown}");
    let both = scratch.shiftlog("why", ["reconnect.py:3-5"]).ok();
    assert!(both.contains("reconnect.py:4\n") && both.contains("reconnect.py:5\n"), "{both}");
    assert!(both.contains("> The loop hammers the server.\n| Make it back off.\n"), "{both}");
    assert!(both.contains("reconnect.py:3\n") && both.contains("\nnot recorded\n"), "{both}");
}

#[test]
fn blame_has_the_columns_of_git_and_ours_between_them() {
    let scratch = reconnect();
    let git = scratch.git(["blame", "-w", "reconnect.py"]).ok();
    let ours = scratch.shiftlog("blame", ["reconnect.py"]).ok();
    let column = ["", "claude 3f6b1c9e 1", "", "claude 3f6b1c9e 1", "claude 3f6b1c9e 2"];
    let expected: String = git
        .lines()
        .zip(column)
        .map(|(line, column)| {
            let (id, rest) = line.split_once(' ').unwrap();
            format!("{id} {column:<17} {rest}\n")
        })
        .collect();
    assert_eq!(ours, expected);
    for options in [&["-l"][..], &["-s"], &["-e"], &["--date=short"], &["-L2,3"], &["-L", "4,+1"]] {
        let git = scratch.git([&["blame", "-w"], options, &["README"]].concat());
        let ours = scratch.shiftlog("blame", [options, &["README"]].concat());
        assert_eq!(ours.stdout, git.stdout, "without records it is what Git prints: {options:?}");
        assert_eq!(ours.code, if git.code == 0 { 1 } else { 128 });
        assert_eq!(ours.stderr, git.stderr, "{options:?}");
    }
}

#[test]
fn formats_for_programs_are_gits_with_lines_of_ours() {
    let scratch = reconnect();
    scratch.git(["mv", "reconnect.py", "with \"quotes\".py"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    for format in ["--porcelain", "--line-porcelain", "--incremental"] {
        let git = scratch.git(["blame", "-w", format, "with \"quotes\".py"]).ok();
        let ours = scratch.shiftlog("blame", [format, "with \"quotes\".py"]).ok();
        let without: Vec<&str> = ours.lines().filter(|line| !line.starts_with("shiftlog-")).collect();
        if format != "--incremental" {
            assert_eq!(without, git.lines().collect::<Vec<_>>(), "{format}");
        }
        let own: Vec<&str> = ours.lines().filter(|line| line.starts_with("shiftlog-turn")).collect();
        assert_eq!(own, ["shiftlog-turn 1", "shiftlog-turn 1", "shiftlog-turn 2"], "{format}: {ours}");
        assert!(ours.contains("shiftlog-evidence replay\n") && ours.contains("shiftlog-prompt Cap it.\n"), "{ours}");
    }
    // The groups together are those of Git, and each ends with the name of its file.
    let ours = scratch.shiftlog("blame", ["--incremental", "with \"quotes\".py"]).ok();
    let mut lines: Vec<usize> = Vec::new();
    for line in ours.lines().filter(|line| line.len() > 40 && line.as_bytes()[40] == b' ') {
        let numbers: Vec<usize> = line[41..].split(' ').map(|number| number.parse().unwrap()).collect();
        lines.extend(numbers[1]..numbers[1] + numbers[2]);
    }
    lines.sort_unstable();
    assert_eq!(lines, [1, 2, 3, 4, 5]);
    let groups = ours.matches("\nfilename ").count();
    assert_eq!(groups, ours.lines().filter(|line| line.len() > 40 && line.as_bytes()[40] == b' ').count());
}

#[test]
fn json_says_what_is_behind_each_block() {
    let scratch = reconnect();
    let found = why(&scratch, &["reconnect.py:5"]);
    assert_eq!(found.len(), 1);
    let object = &found[0];
    let commit = scratch.id("HEAD");
    assert_eq!(
        (&object["version"], &object["path"], &object["revision"]),
        (&json!(1), &json!("reconnect.py"), &Value::Null)
    );
    assert_eq!((&object["lines"], &object["final"]), (&json!([5]), &json!(commit)));
    assert_eq!((&object["turn"], &object["turns"], &object["evidence"]), (&json!(2), &json!(2), &json!("replay")));
    assert_eq!(object["call"], json!({ "id": "t2", "tool": "Edit", "index": 1 }));
    assert_eq!((&object["prompt"], &object["reasoning"]), (&json!("Cap it."), &json!("A cap keeps recovery quick.")));
    assert_eq!(object["edit"]["old"], "        time.sleep(delay)\n");
    // The message is that of `show --json`, and the span that of `show --raw`.
    let shown: Value = serde_json::from_str(&scratch.shiftlog("show", ["--json"]).ok()).unwrap();
    let message = usize::try_from(object["message"].as_u64().unwrap()).unwrap();
    assert_eq!(shown["conversation"][message]["parts"][0]["id"], "t2");
    let span: Vec<usize> = serde_json::from_value(object["span"].clone()).unwrap();
    assert!(scratch.raw("HEAD", &[])[span[0]..span[1]].contains("\"id\":\"t2\""));
    let format = "--format=%h %s %(agent) %(session) %(turn)/%(turns) %(evidence) %(lines) %(nope)%x41%%";
    assert_eq!(
        scratch.shiftlog("why", [format, "reconnect.py:5"]).ok(),
        format!(
            "{} reconnect: back off claude 3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e 2/2 replay 5 %(nope)A%\n",
            &commit[..7]
        )
    );
}

#[test]
fn lines_are_named_in_many_ways_and_a_file_of_that_name_wins() {
    let scratch = reconnect();
    let expected = why(&scratch, &["reconnect.py:4-5"]);
    for words in [
        &["reconnect.py#L4-L5"][..],
        &["@reconnect.py#L4-5"],
        &["-L4,5", "reconnect.py"],
        &["-L", "4,+2", "reconnect.py"],
        &["reconnect.py:4,5"],
        &["./reconnect.py:4-5"],
        &["--", "reconnect.py:4-5"],
    ] {
        assert_eq!(why(&scratch, words), expected, "{words:?}");
    }
    let at_head = |words: &[&str]| -> Vec<Value> {
        let mut found = why(&scratch, words);
        found.iter_mut().for_each(|object| object["revision"] = Value::Null);
        found
    };
    for words in [&["reconnect.py:4-5", "HEAD"][..], &["HEAD", "reconnect.py:4-5"], &["HEAD", "--", "reconnect.py:4-5"]]
    {
        assert_eq!(at_head(words), expected, "{words:?}");
    }
    assert_eq!(why(&scratch, &["reconnect.py:5:13"])[0]["lines"], json!([5]), "a column does not matter");
    for name in ["@types/x.ts", "@at.py", "#L3.py"] {
        scratch.write(name, &fs::read_to_string(scratch.top.join("reconnect.py")).unwrap());
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "-m", "another"]).ok();
        for address in [format!("{name}:5"), format!("{name}#L5"), format!("@{name}:5")] {
            // Nothing is recorded of these files.
            let ran = scratch.shiftlog("why", ["--json", &address]);
            let found: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!((&found["path"], &found["lines"]), (&json!(name), &json!([5])), "{address}");
        }
    }
    scratch.git(["mv", "reconnect.py", "odd.py:2"]).ok();
    scratch.git(["commit", "-q", "-m", "odd"]).ok();
    assert_eq!(why(&scratch, &["odd.py:2:5"])[0]["turn"], 2);
    let ran = scratch.shiftlog("why", ["odd.py:2"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (129, "error: no line is named\nhint: git shiftlog why <file>:<line>\n")
    );
    let inside = scratch.top.join("inside");
    fs::create_dir_all(&inside).unwrap();
    assert_eq!(objects(scratch.shiftlog_in(&inside, "why", ["--json", "../odd.py:2:5"]))[0]["turn"], 2);
}

#[test]
fn what_is_not_there_is_told_in_the_words_of_git() {
    let scratch = reconnect();
    let fatal = |args: &[&str], expected: &str| {
        let ran = scratch.shiftlog("why", args);
        assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.as_str()), (128, expected, ""), "{args:?}");
    };
    fatal(&["reconnect.py:50"], "fatal: file reconnect.py has only 5 lines\n");
    fatal(&["nothing.py:1"], "fatal: no such path 'nothing.py' in HEAD\n");
    fatal(&["reconnect.py:1", "nope"], "fatal: bad revision 'nope'\n");
    fatal(
        &["../elsewhere.py:1"],
        &format!("fatal: '../elsewhere.py' is outside repository at '{}'\n", scratch.top.display()),
    );
    let ran = scratch.shiftlog("why", ["README:1"]);
    assert_eq!((ran.code, ran.stdout.lines().last()), (1, Some("not recorded")));
    let bare = scratch.root().join("bare.git");
    scratch.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]).ok();
    scratch.git_in(
        &bare,
        ["fetch", "-q", "origin", "refs/notes/*:refs/notes/*", "refs/shiftlog/sessions:refs/shiftlog/sessions"],
    );
    let url = scratch.top.to_str().unwrap();
    scratch
        .git_in(
            &bare,
            ["fetch", "-q", url, "refs/notes/*:refs/notes/*", "refs/shiftlog/sessions:refs/shiftlog/sessions"],
        )
        .ok();
    let found = objects(scratch.shiftlog_in(&bare, "why", ["--json", "reconnect.py:5", "main"]));
    assert_eq!(found[0]["turn"], 2, "a bare repository needs a revision");
    assert_eq!(scratch.shiftlog_in(&bare, "why", ["reconnect.py:5"]).code, 128);
}
