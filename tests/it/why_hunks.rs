//! `why` where one call has made several edits.

use std::fs;

use serde_json::{Value, json};

use crate::support::Scratch;
use crate::why::why;

#[test]
fn all_edits_of_a_call_that_have_some_of_the_lines_are_shown() {
    let scratch = Scratch::set_up();
    let base: Vec<String> = (0..40).map(|number| format!("line_{number}()\n")).collect();
    scratch.commit("f.txt", &base.concat(), "base");
    let session = scratch.session("s1");
    session.prompt("change all tens");
    let edits: Vec<Value> = (0..8)
        .map(|number| {
            let old = format!("line_{}()\n", 5 * number);
            json!({ "old_string": old, "new_string": format!("{old}after_{number}()\n") })
        })
        .collect();
    session.calls("m", "MultiEdit", &json!({ "file_path": scratch.top.join("f.txt"), "edits": edits }));
    let after =
        |number: usize| if number.is_multiple_of(5) { format!("after_{}()\n", number / 5) } else { String::new() };
    let text: String = base.iter().enumerate().map(|(number, line)| format!("{line}{}", after(number))).collect();
    fs::write(scratch.top.join("f.txt"), text).unwrap();
    session.answers("m", "done");
    session.commits("tens");
    let shown = scratch.shiftlog("why", ["f.txt:1-9"]).ok();
    let expected =
        "\n> change all tens\n\n     line_0()\n  2 +after_0()\n\n     line_5()\n  8 +after_1()\n\ngit shiftlog";
    assert!(shown.contains(expected), "{shown}");
    let shown = scratch.shiftlog("why", ["f.txt:1-48"]).ok();
    assert!(
        shown.contains(" 26 +after_4()\n\n… 3 more edits (--full)\n\ngit shiftlog") && !shown.contains("after_5"),
        "{shown}"
    );
    let shown = scratch.shiftlog("why", ["--full", "f.txt:1-48"]).ok();
    assert!(shown.contains(" 44 +after_7()\n") && !shown.contains("more edits"), "{shown}");
    let found = why(&scratch, &["f.txt:1-9"]);
    let edits = found.iter().find(|found| found["evidence"] == "replay").unwrap()["edits"].clone();
    let edit = |old: &str, new: &str, line: usize| json!({ "old": old, "new": format!("{old}{new}"), "lines": [line] });
    assert_eq!(edits, json!([edit("line_0()\n", "after_0()\n", 2), edit("line_5()\n", "after_1()\n", 8)]));
    assert!(why(&scratch, &["f.txt:2"])[0].get("edits").is_none(), "there is one");
}

#[test]
fn what_is_left_out_of_a_long_edit_is_marked() {
    let scratch = Scratch::set_up();
    let base: String = (1..=40).map(|number| format!("old {number}\n")).collect();
    scratch.commit("f.txt", &base, "base");
    let session = scratch.session("s1");
    session.prompt("renew it");
    let new: String = (1..=40).map(|number| format!("new {number}\n")).collect();
    session.edits("f.txt", &new);
    session.commits("renew");
    let shown = scratch.shiftlog("why", ["f.txt:20"]).ok();
    let near = |number: usize| if number == 20 { "  20 +new 20\n".into() } else { format!("     +new {number}\n") };
    let near: String = (17..=23).map(near).collect();
    assert!(shown.contains(&near), "{shown}");
    assert_eq!(shown.matches(" more lines (--full)\n").count(), 2, "{shown}");
    let whole = scratch.shiftlog("why", ["--full", "f.txt:20"]).ok();
    assert!(whole.contains("+new 1\n") && whole.contains("+new 40\n") && !whole.contains("--full"), "{whole}");
}
