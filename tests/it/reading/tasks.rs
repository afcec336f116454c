//! What a task is called, where a call has only its number.

use serde_json::json;

use crate::support::Scratch;

#[test]
fn a_task_keeps_its_name_in_later_commits_and_in_every_format() {
    let scratch = Scratch::set_up();
    let session = scratch.session("session-1");
    let run = |call: &str, tool: &str, input: serde_json::Value, answer: &str| {
        session.calls(call, tool, &input);
        session.answers(call, answer);
    };
    let update = |call: &str, status: &str| {
        run(call, "TaskUpdate", json!({ "taskId": "1", "status": status }), "Updated task #1 status");
    };
    session.prompt("make a list");
    run(
        "c",
        "TaskCreate",
        json!({ "subject": "Write it", "description": "x" }),
        "Task #1 created successfully: Write it",
    );
    session.prompt("begin");
    update("d", "in_progress");
    session.edits("a.txt", "a\n");
    session.commits("one");
    session.prompt("end");
    update("e", "completed");
    session.edits("a.txt", "b\n");
    session.commits("two");
    let updates = |args: &[&str]| -> Vec<String> {
        let shown = scratch.shiftlog("show", args).ok();
        shown.lines().filter(|line| line.contains("TaskUpdate")).map(|line| line.trim().to_owned()).collect()
    };
    assert_eq!(updates(&["HEAD~1"]), ["TaskUpdate [>] Write it"]);
    assert_eq!(updates(&["HEAD~1", "--turn=2"]), ["TaskUpdate [>] Write it"], "it was made in the first turn");
    assert_eq!(updates(&["HEAD"]), ["TaskUpdate [x] Write it"], "it was made before the last commit");
    let markdown = |args: &[&str]| updates(&[&["--format=markdown"], args].concat());
    assert_eq!(markdown(&["HEAD~1"]), [r"- **TaskUpdate** [>] Write it"]);
    assert_eq!(markdown(&["HEAD~1", "--turn=2"]), [r"- **TaskUpdate** [>] Write it"]);
    assert_eq!(markdown(&["HEAD"]), [r"- **TaskUpdate** [x] Write it"]);
    assert_eq!(markdown(&["session-1"]).len(), 2);
    let page = scratch.root().join("page.html");
    scratch.shiftlog("export", ["--html", "-o", page.to_str().unwrap(), "HEAD~1..HEAD"]).ok();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("☑ Write it") && !page.contains("☑ #1"), "a page knows it too: {page}");
}

#[test]
fn answers_that_only_confirm_calls_of_an_earlier_record_are_folded() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("commit, and mark it as done");
    session.edits("a.txt", "a\n");
    session.calls("commit", "Bash", &json!({ "command": "git commit -qm one" }));
    session.calls("list", "TodoWrite", &json!({ "todos": [{ "content": "commit", "status": "completed" }] }));
    session.calls("edit", "Edit", &json!({ "file_path": "b.txt", "old_string": "x", "new_string": "y" }));
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "one"]).ok();
    session.answers("commit", "committed");
    session.hook_for("PostToolUse", "commit");
    let confirmed = ["Todos have been modified successfully. Go on.", "The file b.txt has been updated successfully."];
    session.answers("list", confirmed[0]);
    session.answers("edit", confirmed[1]);
    session.prompt("and another");
    session.edits("c.txt", "c\n");
    session.commits("two");
    for format in ["--format=medium", "--format=markdown"] {
        let shown = scratch.shiftlog("show", [format]).ok();
        assert!(shown.contains("and another") && !shown.contains("successfully"), "{shown}");
        assert_eq!(shown.matches("answer to an earlier call: … 1 line (-v)").count(), 2, "{shown}");
        let whole = scratch.shiftlog("show", [format, "-v"]).ok();
        assert!(confirmed.iter().all(|text| whole.contains(text)), "{whole}");
    }
    let page = scratch.shiftlog("export", ["--html", "--no-patch", "-o", "-"]).ok();
    assert!(page.contains("to an earlier call, 1 line"), "{page}");
}
