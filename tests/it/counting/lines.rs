//! The lines that commits add, by who wrote them.

use super::*;

/// Two sessions of two agents' models, a line typed by a person, a line that is moved, and one that a command writes.
fn lines_of_many() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make a");
    session.edits("a.txt", "first line of it\nsecond line of it\nthird line of it\n\n");
    session.calls("c", "Bash", &json!({ "command": "cat >c.txt <<E\na line of a command\nE" }));
    scratch.write("c.txt", "a line of a command\n");
    session.answers("c", "");
    scratch.write("by_hand.txt", "somebody typed this\nand this as well\n");
    scratch.write("generated.txt", "made by a program\n");
    scratch.write(".git/info/attributes", "generated.txt linguist-generated\n");
    session.commits("add a");
    session.hook("SessionEnd");
    let session = scratch.session("s2");
    session.prompt("make b");
    session.edits("a.txt", "first line of it\nanother second line\nthird line of it\n\n");
    session.edits("b.txt", "written into b at first\n");
    scratch.git(["rm", "-q", "--cached", "-f", "--ignore-unmatch", "b.txt"]).ok();
    std::fs::rename(scratch.top.join("b.txt"), scratch.top.join("moved.txt")).unwrap();
    session.commits("add b");
    scratch
}

#[test]
fn the_lines_of_commits_are_told_by_who_wrote_them_and_whether_they_are_still_there() {
    let scratch = lines_of_many();
    let table = scratch.shiftlog("stats", ["--lines", "--survival", "--by=session", "HEAD~2.."]).ok();
    let expected = "\
2 commits, 9 lines added, 5 of them recorded (56 %), 8 written by calls, 8 still there (89 %)
session  commits  written  added  recorded  moved  shell  other  left  share
s1             1        4      5         4      0      1      0     4   80 %
(none)         1        0      2         0      0      0      2     2  100 %
s2             1        4      2         1      1      0      0     2  100 %
total          2        8      9         5      1      1      2     8   89 %
";
    assert_eq!(table, expected);
    let csv = scratch.shiftlog("stats", ["--lines", "--csv", "--agent=claude", "HEAD~2.."]).ok();
    let expected =
        "agent,model,commits,added,recorded,moved,shell,other,written\r\nclaude,claude-test-1,2,7,5,1,1,0,8\r\n";
    assert_eq!(csv, expected);
    let whole = objects(&scratch, &["--lines", "--survival"]).pop().unwrap();
    for by in ["agent", "model", "author", "branch", "commit", "day", "week", "month", "session", "path"] {
        let mut groups = objects(&scratch, &["--lines", "--survival", &format!("--by={by}")]);
        assert_eq!(groups.pop().as_ref(), Some(&whole), "{by}");
        for key in ["written", "added", "recorded", "moved", "shell", "other", "left"] {
            let sum: u64 = groups.iter().map(|group| group[key].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), whole[key].as_u64(), "{key} by {by}");
        }
    }
    let only = objects(&scratch, &["--lines", "--by=path", "HEAD~2..", "--", "c.txt"]);
    assert_eq!((only.len(), &only[0]["by"]["path"], &only[0]["shell"]), (2, &json!("c.txt"), &json!(1)));
    let without: Vec<_> =
        objects(&scratch, &["--lines", "--by=path", "--exclude=c.txt", "--exclude=*/a.txt", "HEAD~2.."]);
    let names: Vec<&str> = without.iter().filter_map(|group| group["by"]["path"].as_str()).collect();
    assert!(names.contains(&"a.txt") && names.contains(&"moved.txt") && !names.contains(&"c.txt"), "{names:?}");
    // A file that was renamed since has its lines still.
    scratch.git(["mv", "a.txt", "renamed.txt"]).ok();
    scratch.git(["rm", "-q", "by_hand.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    let later = objects(&scratch, &["--lines", "--survival", "--by=session", "HEAD~3.."]);
    let left = |session: &str| {
        let group = later.iter().find(|group| group["by"]["session"] == session).unwrap();
        group["left"].as_u64().unwrap()
    };
    assert_eq!((left("s1"), left("s2"), left("(none)")), (4, 2, 0));
    for wrong in [&["--survival"][..], &["--lines", "--chart"], &["--lines", "--words"], &["--exclude=a"]] {
        assert_eq!(scratch.shiftlog("stats", wrong).code, 129, "{wrong:?}");
    }
    let nothing = scratch.shiftlog("stats", ["--lines", "HEAD..HEAD"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (1, "error: no commit adds lines\n"));
}

// The record of a sub-agent does not tell the model that answered last.
#[test]
fn lines_of_a_sub_agent_count_for_its_model() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("delegate it");
    let folder = session.transcript.with_extension("").join("subagents");
    std::fs::create_dir_all(&folder).unwrap();
    let input = json!({ "file_path": scratch.top.join("helper.txt"), "content": "written by a helper\n" });
    let call = json!({ "type": "tool_use", "id": "w", "name": "Write", "input": input });
    let message = json!({ "id": "msg", "role": "assistant", "model": "claude-haiku-4-5", "content": [call],
        "usage": { "input_tokens": 10, "output_tokens": 5 } });
    let result =
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "w", "content": "done" }] });
    let line = |kind: &str, message: &Value| {
        let time = "2026-01-02T03:04:06Z";
        format!("{}\n", json!({ "type": kind, "isSidechain": true, "timestamp": time, "message": message }))
    };
    std::fs::write(folder.join("agent-a1b2.jsonl"), line("assistant", &message) + &line("user", &result)).unwrap();
    scratch.write("helper.txt", "written by a helper\n");
    session.commits("add helper");
    let groups = objects(&scratch, &["--lines", "--by=model", "HEAD^!"]);
    assert_eq!(
        (&groups[0]["by"]["model"], &groups[0]["recorded"]),
        (&json!("claude-haiku-4-5"), &json!(1)),
        "{groups:?}"
    );
}

#[test]
fn lines_whose_words_are_not_here_count_as_not_recorded() {
    let scratch = lines_of_many();
    let other = Scratch::empty(&[]);
    let from = scratch.top.to_str().unwrap();
    other.git(["fetch", "-q", from, "main:refs/heads/work", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    // Nothing says here that a file is generated: attributes of a clone stay there.
    let ran = other.shiftlog("stats", ["--lines", "--json", "work~2..work"]);
    let total: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&total["added"], &total["other"], &total["recorded"]), (&json!(10), &json!(10), &json!(0)), "{ran:?}");
    let warning = "warning: not all words of 2 commits are here; what they lack counts as not recorded\n";
    assert_eq!(ran.stderr, warning);
}
