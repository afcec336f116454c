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
