//! `why` and `blame` against what a transcript claims, and as `git blame` where nothing is recorded.

use std::fs;

use serde_json::{Value, json};

use crate::support::Scratch;
use crate::why::{reconnect, told, why};

/// Returns a line of a transcript in which the agent calls a tool.
pub fn call(id: &str, tool: &str, input: &Value, directory: &str) -> String {
    let part = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
    let message = json!({ "role": "assistant", "content": [part] });
    format!("{}\n", json!({ "type": "assistant", "uuid": id, "cwd": directory, "message": message }))
}

pub fn prompt(text: &str) -> String {
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": text } }))
}

/// Records a transcript on the last commit.
pub fn record(scratch: &Scratch, session: &str, text: &str) {
    let transcript = scratch.root().join(format!("{session}.jsonl"));
    fs::write(&transcript, text).unwrap();
    let (session, said) = (format!("--session={session}"), format!("--transcript={}", transcript.display()));
    scratch.shiftlog("add", ["-q", &session, &said]).ok();
}

#[test]
fn an_edit_of_a_file_elsewhere_is_no_edit_of_this_one() {
    let write = |id: &str, path: &str, directory: &str| {
        call(id, "Write", &json!({ "file_path": path, "content": "the_same_line()\n" }), directory)
    };
    for (path, directory, evidence) in [
        ("/srv/project/src/a.txt", "/srv/project", "replay/1"),
        ("/srv/project/src/a.txt", "/srv/project/docs", "replay/1"),
        ("/tmp/other/src/a.txt", "/srv/project", "moved/1"),
        ("/src/a.txt", "/srv/project", "moved/1"),
    ] {
        let scratch = Scratch::set_up();
        scratch.commit("src/a.txt", "the_same_line()\n", "typed by somebody, or by the agent");
        record(&scratch, "s1", &(prompt("write it") + &write("w", path, directory)));
        assert_eq!(told(&scratch, &["src/a.txt"]), [evidence], "{path} in {directory}");
    }
    // A session that goes on in this working tree.
    let scratch = Scratch::set_up();
    let session = scratch.session("going-on");
    session.prompt("write it elsewhere");
    let elsewhere = scratch.root().join("elsewhere/src/a.txt");
    session.calls("w", "Write", &json!({ "file_path": elsewhere, "content": "the_same_line()\n" }));
    session.answers("w", "done");
    scratch.commit("src/a.txt", "one()\n", "start");
    scratch.write("src/a.txt", "one()\nthe_same_line()\n");
    let found = why(&scratch, &["src/a.txt:2"]);
    assert_eq!((&found[0]["evidence"], &found[0]["live"]), (&json!("moved"), &json!(true)), "{found:?}");
}

#[test]
fn very_many_edits_and_very_long_ones_are_answered() {
    let scratch = Scratch::set_up();
    let top = scratch.top.to_str().unwrap().to_owned();
    let file = format!("{top}/many.txt");
    let long = |name: &str| (0..40_000).map(|number| format!("{name}_{number}();\n")).collect::<String>();
    let mut text = (0..20_000).map(|number| prompt(&format!("turn {number}"))).collect::<String>();
    for number in 0..10_000 {
        let input =
            json!({ "file_path": file, "old_string": "never_there()", "new_string": "the_line();\nthe_next();\n" });
        text += &call(&format!("many-{number}"), "Edit", &input, &top);
    }
    // Two texts that have no line in common take the longest to compare.
    let input = json!({ "file_path": file, "old_string": long("before"), "new_string": long("after") });
    text += &call("long", "Edit", &input, &top);
    text +=
        &call("last", "Edit", &json!({ "file_path": file, "old_string": "", "new_string": "only_here();\n" }), &top);
    let trivial = "}\n".repeat(20_000);
    scratch.commit("many.txt", &format!("{}{trivial}only_here();\n", "the_line();\nthe_next();\n".repeat(500)), "many");
    record(&scratch, "s1", &text);
    let lines = told(&scratch, &["many.txt"]);
    assert_eq!((lines[0].as_str(), lines[21_000].as_str()), ("path/", "text/20000"), "{:?}", &lines[..3]);
    assert!(lines[1000..21_000].iter().all(|line| line == "path/"));
    let given_up = json!(["the edits of a large file were not done again, only compared"]);
    for line in [1, 21_001] {
        assert_eq!(why(&scratch, &[&format!("many.txt:{line}")])[0]["problems"], given_up, "line {line}");
    }
    let objects = crate::why::objects(scratch.shiftlog("blame", ["--json", "-L1,1", "many.txt"]));
    assert_eq!(objects[0]["problems"], given_up);
    let shown = scratch.shiftlog("why", ["many.txt:1-2"]).ok();
    assert!(shown.contains("\n(several edits have these lines, and it is not known which wrote them)\n"), "{shown}");
    let shown = scratch.shiftlog("why", ["many.txt:1001"]).ok();
    assert!(shown.contains("\n(no recorded edit has this line, but the session edited this file)\n"), "{shown}");
}

#[test]
fn secrets_that_were_stored_as_they_are_are_not_printed() {
    let scratch = Scratch::set_up();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap());
    let lines = (0..8).map(|line| format!("MIIEowIBAAKCAQEAx7Zq{line}LkQ9vT2yR5nW8pS1dF4gH6jK0lZ3xC7vB9nM2qW\n"));
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----\n", lines.collect::<String>());
    let top = scratch.top.to_str().unwrap().to_owned();
    scratch.git(["config", "shiftlog.redact", "false"]).ok();
    scratch.commit("a.py", "one()\n", "start");
    scratch.commit("a.py", "load(key)\n", "load");
    let thought =
        json!({ "role": "assistant", "content": [{ "type": "text", "text": format!("I use {secret} then.") }] });
    let input = json!({ "file_path": format!("{top}/a.py"), "old_string": format!("one()\n# {secret}"), "new_string": "load(key)" });
    let said = prompt(&format!("The token is {secret}, my key\n{key}and go."))
        + &format!("{}\n", json!({ "type": "assistant", "message": thought }))
        + &call("w", "Edit", &input, &top)
        + &call(
            "sh",
            "Bash",
            &json!({ "command": format!("TOKEN={secret} cat >b.py <<E\nfrom_a_command()\nE") }),
            &top,
        );
    record(&scratch, "s1", &said);
    scratch.commit("b.py", "from_a_command()\n", "command");
    record(&scratch, "s2", &said);
    let has_secret = |text: &str| text.contains("ghp_a1") || text.contains("MIIEow");
    assert!(has_secret(&scratch.shiftlog("show", ["HEAD"]).ok()), "it is stored as it is");
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    for args in [
        &["why", "--full", "a.py:1"][..],
        &["why", "--json", "a.py:1"],
        &["why", "--format=%(prompt)", "a.py:1"],
        &["why", "--porcelain", "a.py:1"],
        &["why", "--full", "b.py:1"],
        &["why", "--json", "b.py:1"],
        &["blame", "--json", "a.py"],
        &["blame", "--line-porcelain", "a.py"],
        &["blame", "--incremental", "a.py"],
        &["blame", "--format=%(prompt)", "a.py"],
    ] {
        let ran = scratch.shiftlog(args[0], &args[1..]).ok();
        assert!(ran.contains("[REDACTED:") && !has_secret(&ran), "{args:?}: {ran}");
    }
}

#[test]
fn what_is_not_recorded_looks_as_git_prints_it() {
    let scratch = Scratch::set_up();
    for number in 1..=11 {
        let lines = (1..=number).map(|line| format!("line {line}\n")).collect::<String>();
        scratch.commit("old.txt", &lines, &format!("line {number}"));
    }
    scratch.git(["mv", "old.txt", "new.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    scratch.commit(
        "new.txt",
        &format!("{}changed\n", fs::read_to_string(scratch.top.join("new.txt")).unwrap()),
        "more",
    );
    for options in [
        &[][..],
        &["-n"],
        &["-f"],
        &["-n", "-f", "-l"],
        &["-s", "-n"],
        &["-e"],
        &["--root"],
        &["-b", "HEAD~4..HEAD"],
        &["HEAD~4..HEAD"],
        &["^HEAD~4", "HEAD~1"],
        &["^HEAD~4"],
        &["-L2,5", "HEAD~1"],
    ] {
        let args = [&["-w"][..], options, &["--", "new.txt"]].concat();
        let ours = scratch.shiftlog("blame", &args);
        let git = scratch.git([&["blame"][..], &args].concat());
        assert_eq!((ours.code, git.code), (1, 0), "{args:?}: {ours:?} {git:?}");
        assert_eq!(ours.stdout, git.stdout, "{args:?}");
    }
    scratch.git(["config", "blame.blankBoundary", "true"]).ok();
    scratch.git(["config", "blame.showEmail", "true"]).ok();
    let ours = scratch.shiftlog("blame", ["HEAD~4..HEAD", "--", "new.txt"]).stdout;
    assert_eq!(ours, scratch.git(["blame", "HEAD~4..HEAD", "--", "new.txt"]).ok());
    let rows = scratch.shiftlog("blame", ["-z", "new.txt"]).stdout;
    assert_eq!(rows.replace('\0', "\n"), scratch.shiftlog("blame", ["new.txt"]).stdout);
    assert_eq!((rows.matches('\0').count(), rows.matches('\n').count()), (12, 0));
}

#[test]
fn a_boundary_explains_only_what_its_edits_wrote() {
    let scratch = reconnect();
    let session = scratch.session("later");
    session.prompt("say when it is done");
    session.edits("other.txt", "x\n");
    scratch
        .write("reconnect.py", &format!("{}# done\n", fs::read_to_string(scratch.top.join("reconnect.py")).unwrap()));
    session.commits("later");
    scratch.commit("reconnect.py", "def run():\n    pass\n    while not connect():\n# done\n", "typed");
    // Line 1 is older than the boundary, whose session did not write it; line 3 is of a commit that is left out, too.
    assert_eq!(told(&scratch, &["HEAD~1..HEAD", "--", "reconnect.py"]), ["none/", "none/", "none/", "none/"]);
    assert_eq!(told(&scratch, &["HEAD~2..HEAD", "--", "reconnect.py"])[3], "commit/");
}

#[test]
fn words_that_do_not_tell_what_is_meant_are_refused() {
    let scratch = reconnect();
    scratch.write("main", "a file\n");
    scratch.git(["branch", "reconnect.py"]).ok();
    scratch.git(["add", "main"]).ok();
    scratch.git(["commit", "-q", "-m", "a file called main"]).ok();
    scratch.git(["branch", "-f", "reconnect.py"]).ok();
    let refused = |args: &[&str]| {
        let ran = scratch.shiftlog(args[0], &args[1..]);
        assert_eq!((ran.code, ran.stdout.as_str()), (129, ""), "{args:?}: {ran:?}");
        ran.stderr.lines().next().unwrap().to_owned()
    };
    assert_eq!(refused(&["blame", "main", "reconnect.py"]), "error: 'main' is both a revision and a file");
    assert_eq!(scratch.shiftlog("blame", ["main", "--", "reconnect.py"]).code, 0);
    assert_eq!(scratch.shiftlog("blame", ["main", "main"]).code, 1, "there is only one reading");
    for address in [":2:1", ":2", "#L2", "@:2"] {
        assert_eq!(refused(&["why", address]), format!("error: no file is named in '{address}'"));
    }
    for address in ["reconnect.py:0", "reconnect.py:0-2", "reconnect.py#L0"] {
        assert_eq!(refused(&["why", address]), format!("error: lines begin with 1, not with 0 as in '{address}'"));
    }
    assert_eq!(
        refused(&["blame", "main...HEAD~1", "--", "reconnect.py"]),
        "error: more than one revision to begin with"
    );
    assert_eq!(
        refused(&["blame", "-z", "--porcelain", "reconnect.py"]),
        "error: options '-z' and '--porcelain' cannot be used together"
    );
    assert_eq!(refused(&["blame", "--reverse", "HEAD~1..HEAD", "reconnect.py"]), "error: unknown option '--reverse'");
    let entries = scratch.shiftlog("why", ["-z", "reconnect.py:2-5"]).ok();
    assert_eq!(entries.matches("\n\0reconnect.py:").count(), 2, "between three entries: {entries}");
}

/// A rollout of Codex in a directory, with a prompt.
struct Rollout(String);

impl Rollout {
    fn new(directory: &std::path::Path) -> Self {
        let mut rollout = Rollout(String::new());
        rollout.says("session_meta", &json!({ "id": "s1", "cwd": directory }));
        rollout.says("event_msg", &json!({ "type": "user_message", "message": "do it" }));
        rollout
    }

    fn says(&mut self, kind: &str, payload: &Value) {
        let record = json!({ "timestamp": "2026-01-02T03:04:06Z", "type": kind, "payload": payload });
        self.0 += &format!("{record}\n");
    }

    fn patches(&mut self, hunks: &str) {
        let input = format!("*** Begin Patch\n{hunks}*** End Patch\n");
        let call = json!({ "type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": input });
        self.says("response_item", &call);
    }

    fn answers(&mut self, output: &str) {
        let output = json!({ "type": "custom_tool_call_output", "call_id": "c1", "output": output });
        self.says("response_item", &output);
    }

    fn is_recorded(&self, scratch: &Scratch) {
        let transcript = scratch.root().join("rollout.jsonl");
        fs::write(&transcript, &self.0).unwrap();
        let said = format!("--transcript={}", transcript.display());
        scratch.shiftlog("add", ["-q", "--agent=codex", "--session=s1", &said]).ok();
    }
}

#[test]
fn a_patch_that_was_refused_or_failed_wrote_nothing() {
    let outputs = [
        "patch rejected by user",
        "apply_patch verification failed: Failed to find expected lines in f",
        "aborted by user after 3.2s",
        "execution error: no such directory",
    ];
    let is_told = [false, true];
    for (output, is_told) in outputs.into_iter().flat_map(|output| is_told.map(|is_told| (output, is_told))) {
        let scratch = Scratch::set_up();
        scratch.commit("f", "import os\nend line\n", "base");
        let mut rollout = Rollout::new(&scratch.top);
        rollout.patches("*** Update File: f\n@@\n import os\n+import functools\n end line\n");
        if is_told {
            let event = json!({ "type": "patch_apply_end", "call_id": "c1", "success": false, "status": "declined" });
            rollout.says("event_msg", &event);
        }
        // An event tells it whatever the words of the result are.
        let output = if is_told { "no" } else { output };
        rollout.answers(output);
        scratch.commit("f", "import os\nimport functools\nend line\n", "typed by somebody");
        rollout.is_recorded(&scratch);
        let lines = told(&scratch, &["f"]);
        assert!(!lines[1].starts_with("replay"), "{output}: {lines:?}");
        let shown = scratch.shiftlog("show", ["-v"]).ok();
        assert!(shown.contains(&format!("    ! {output}\n")), "{shown}");
    }
}

#[test]
fn a_relative_path_of_a_session_in_a_subdirectory_is_no_file_elsewhere() {
    let scratch = Scratch::set_up();
    for directory in ["pkg/a", "pkg/b"] {
        scratch.commit(&format!("{directory}/src/m.py"), "first_line = 0\nlast_line = 2\n", "base");
    }
    let mut rollout = Rollout::new(&scratch.top.join("pkg/b"));
    rollout.patches("*** Update File: src/m.py\n@@\n first_line = 0\n+shared_line = 1\n last_line = 2\n");
    rollout.answers("Success.");
    for directory in ["pkg/a", "pkg/b"] {
        scratch.write(&format!("{directory}/src/m.py"), "first_line = 0\nshared_line = 1\nlast_line = 2\n");
    }
    scratch.git(["commit", "-qam", "both"]).ok();
    rollout.is_recorded(&scratch);
    assert_eq!(told(&scratch, &["pkg/b/src/m.py"])[1], "replay/1");
    assert_eq!(told(&scratch, &["pkg/a/src/m.py"])[1], "moved/1");
    let new = "other_line = 1\nlast_line = 2";
    let edit = json!({ "file_path": "src/m.py", "old_string": "last_line = 2", "new_string": new });
    let directory = scratch.top.join("pkg/b");
    scratch.write("pkg/a/src/m.py", "first_line = 0\nother_line = 1\nlast_line = 2\n");
    scratch.git(["commit", "-qam", "one"]).ok();
    let text = prompt("do it") + &call("e", "Edit", &edit, directory.to_str().unwrap());
    record(&scratch, "s2", &text);
    assert_eq!(told(&scratch, &["pkg/a/src/m.py"])[1], "moved/1", "a relative path of Claude Code");
}

#[test]
fn an_edit_that_was_interrupted_is_not_done_again() {
    let stopped = prompt("[Request interrupted by user for tool use]");
    let went_on = prompt("do something else");
    // Where the transcript ends with the call, its result may follow.
    for (after, evidence) in [(&*stopped, "text/1"), (&*went_on, "text/1"), ("", "replay/1")] {
        let scratch = Scratch::set_up();
        let file = scratch.top.join("f.txt");
        scratch.commit("f.txt", "start_line()\n", "base");
        let new = "start_line()\nnever_applied()";
        let input = json!({ "file_path": file, "old_string": "start_line()", "new_string": new });
        scratch.commit("f.txt", "start_line()\nnever_applied()\n", "typed by somebody");
        let edit = call("e", "Edit", &input, scratch.top.to_str().unwrap());
        record(&scratch, "s1", &(prompt("do it") + &edit + after));
        assert_eq!(told(&scratch, &["f.txt"])[1], evidence, "{after}");
    }
}

#[test]
fn a_line_with_a_secret_is_found_in_the_edit_from_which_it_was_taken() {
    let scratch = Scratch::set_up();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap());
    let session = scratch.session("s1");
    session.prompt("write the settings");
    session.edits("settings.py", &format!("first_setting = 1\ntoken = \"{secret}\"\nlast_setting = 3\n"));
    session.commits("settings");
    assert_eq!(told(&scratch, &["settings.py"]), ["replay/1", "text/1", "replay/1"]);
    let found = &why(&scratch, &["settings.py:2"])[0];
    assert_eq!(found["prompt"], "write the settings", "{found}");
    let lines = scratch.shiftlog("stats", ["--lines"]).ok();
    assert!(!lines.contains("ghp_a1"), "{lines}");
}
